"use strict";
// The page works by mouse and by keyboard; whatever changes is sent at once, one request after the other.
const form = document.getElementById("label");
const token = document.querySelector("meta[name=desk-token]").content;
const began = performance.now();
let sending = Promise.resolve();

function go(place) { location.assign(`/?at=${place}`); }
for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => go(button.dataset.go));

if (form) {
  const fields = [...form.querySelectorAll("fieldset")];
  const notes = document.getElementById("notes");
  const said = document.getElementById("said");
  const place = Number(form.dataset.place);
  let now = Math.max(0, fields.findIndex((f) => !f.querySelector(":checked")));
  const show = () => fields.forEach((f, n) => f.classList.toggle("now", n === now));
  const move = (step) => { now = Math.min(fields.length - 1, Math.max(0, now + step)); show(); fields[now].scrollIntoView({ block: "nearest" }); };

  function state() {
    const values = {};
    for (const f of fields) { const on = f.querySelector(":checked"); if (on) values[f.dataset.field] = Number(on.value); }
    return { place, values, notes: notes.value, seconds: (performance.now() - began) / 1000 };
  }
  function save(act) {
    const body = JSON.stringify({ ...state(), act });
    sending = sending.then(() => fetch("/save", { method: "POST", body, headers: { "Content-Type": "application/json", "X-Desk-Token": token } }))
      .then(async (answer) => {
        const text = await answer.json();
        if (!answer.ok) throw new Error(text.error);
        said.textContent = "saved";
        form.dataset.saved = String(Number(form.dataset.saved || 0) + 1);
        return text;
      }).catch((error) => { said.textContent = `NOT SAVED: ${error.message}`; return null; });
    return sending;
  }
  async function act(name) {
    if (name === "back") { await save("open"); go(Math.max(0, place - 1)); return; }
    const answer = await save(name);
    if (answer) go(answer.next);
  }
  function choose(value) {
    const input = fields[now].querySelector(`input[value="${value}"]`);
    if (!input) return;
    input.checked = true;
    save("open");
    move(1);
  }
  form.addEventListener("change", (event) => {
    const at = fields.indexOf(event.target.closest("fieldset"));
    if (at >= 0) { now = at; show(); }
    save("open");
  });
  notes.addEventListener("input", () => save("open"));
  for (const button of form.querySelectorAll("[data-act]")) button.addEventListener("click", () => act(button.dataset.act));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === notes) { if (event.key === "Escape") notes.blur(); return; }
    if (event.target.closest("button, summary") && event.key === "Enter") return;
    const mark = fields[now].dataset.kind === "mark";
    const keys = {
      y: () => mark && choose("1"), n: () => mark && choose("0"), j: () => move(1), k: () => move(-1),
      s: () => act("skipped"), u: () => act("back"), Enter: () => act("done"), "/": () => notes.focus(),
    };
    const level = !mark && /^[0-9]$/.test(event.key) && fields[now].querySelectorAll("input")[Number(event.key)];
    if (level) { event.preventDefault(); choose(level.value); } else if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  show();
}
