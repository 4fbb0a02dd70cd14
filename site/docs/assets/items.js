// The page of an item: the other models' answers, loaded forty at a time when they are asked for.
"use strict";
(() => {
  const { make, visible } = window.deerstalker;
  const place = document.querySelector(".ds-answers");
  if (!place || place.dataset.shards === "0") return;
  const count = Number(place.dataset.shards), most = Number(place.dataset.most);
  const heads = (place.dataset.heads || "").split("|");
  const points = (share) => (share === null ? "–" : most === 1 ? (100 * share).toFixed(0) : (most * share).toFixed(2));
  const text = (words, kind) => make("p", { class: `ds-text ${kind}`, dir: "auto", text: words });
  const vote = ([judge, kind, score, lost, marks, reply]) => {
    const who = { human: "person", author: "author, not human", rule: "rule" }[kind];
    const said = score === null ? `unreadable: ${lost}` : score === 1 ? "right" : score === 0 ? "wrong" : score.toFixed(2);
    const line = make("li", {}, make("b", {}, who || make("bdi", { text: judge })), " ", make("span", { class: "ds-vote", text: said }));
    if (marks) {
      const word = (name, ok) => (name.startsWith("step_") ? (ok ? "found" : "missed") : ok ? "right" : "wrong");
      const parts = Object.entries(marks).map(([name, ok]) => `${name.replace("is_", "").replace("_correct", "").replace("_", " ")} ${word(name, ok)}`);
      line.append(" ", make("small", { text: parts.join(", ") }));
    }
    if (reply) line.append(make("q", { dir: "auto", text: reply }));
    return line;
  };
  const note = ([name, words, tail]) => {
    const line = make("p", { class: "ds-text", dir: "auto" }, ...(name ? [make("b", { text: name }), " "] : []), visible(words));
    if (tail) line.append(" ", make("small", { text: tail }));
    return line;
  };
  const cell = (about, ...inside) => make("td", { role: "cell", ...about }, ...inside);
  const turn = ([n, asked, got, mark, notes]) => make("tr", { role: "row", class: mark ? "ds-clue" : null },
    cell({ class: "ds-num", text: n }), cell({ dir: "auto", text: asked }),
    cell({}, visible(got), ...(mark ? [" ", make("span", { class: "ds-tag", text: mark })] : [])), cell({}, ...notes.map(note)));
  // A game's table is made when it is opened: eight games of thirty turns are a long page.
  const game = (turns) => {
    const box = make("details", { class: "ds-more" }, make("summary", { text: `Turn by turn: ${turns.length}` }));
    box.addEventListener("toggle", () => {
      if (box.querySelector("table")) return;
      const head = heads.map((name, n) => make("th", { scope: "col", role: "columnheader", class: n ? null : "ds-num", text: name }));
      const table = make("table", { class: "ds-table ds-turns", role: "table" }, make("caption", { class: "ds-hidden", text: "Turn by turn" }),
        make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...head)), make("tbody", { role: "rowgroup" }, ...turns.map(turn)));
      box.append(make("div", { class: "ds-scroll", role: "region", "aria-label": "Turn by turn", tabindex: "0" }, table));
    });
    return box;
  };
  const answer = ([slug, model, condition, tier, epoch, score, failure, words, why, votes, parts, turns]) => {
    const name = make("a", { href: `../../models/${slug}.html` }, make("bdi", { text: model }));
    const others = Object.entries(parts || {}).map(([what, share]) => `${what} ${points(share)} · `).join("");
    const about = `${others}${condition.replaceAll(";", "; ")}${epoch ? `, repeat ${epoch + 1}` : ""} · ${tier}`;
    const head = make("h3", {}, name, " ", make("span", { class: "ds-score", text: points(score) }), " ", make("small", { text: about }));
    const article = make("article", { class: "ds-answer" }, head);
    if (failure) article.append(make("p", { class: "ds-key", text: `no answer: ${failure}` }));
    if (words) article.append(text(words, ""));
    if (why) article.append(text(why, "ds-why"));
    if (turns && turns.length) article.append(game(turns));
    if (votes.length) article.append(make("ul", { class: "ds-votes" }, ...votes.map(vote)));
    return article;
  };

  let next = 0, rows = [], shown = 0;
  const seen = new Set();
  place.replaceChildren();
  const search = make("input", { type: "search" });
  const disputed = make("input", { type: "checkbox" });
  const status = make("span", { class: "ds-count", role: "status", "aria-live": "polite" });
  const more = make("button", { type: "button", text: "Load answers" });
  const tools = make("div", { class: "ds-tools", role: "search", "aria-label": "Answers" },
    make("label", {}, make("span", { text: "Model" }), search),
    make("label", { class: "ds-check" }, disputed, make("span", { text: "only where the votes differ" })), status);
  place.before(tools);
  place.after(make("p", { class: "ds-more-answers" }, more));
  const differs = (row) => new Set(row[9].map((v) => v[2])).size > 1;
  const passes = (row) => row[1].toLowerCase().includes(search.value.toLowerCase()) && (!disputed.checked || differs(row));
  const show = () => {
    const kept = rows.filter(passes);
    place.replaceChildren(...kept.map(answer));
    status.textContent = `${kept.length} of ${rows.length} loaded answers`;
    more.hidden = next >= count;
    more.textContent = `Load more (${count - next} of ${count} parts left)`;
  };
  const load = async () => {
    const number = next;
    if (seen.has(number)) return;
    seen.add(number);
    place.ariaBusy = "true";
    try {
      const reply = await fetch(`${place.dataset.base}-${number}.json`);
      if (!reply.ok) throw new Error(`${reply.status}`);
      rows = rows.concat((await reply.json()).rows);
      next += 1;
      show();
    } catch (error) {
      seen.delete(number);
      status.textContent = `Part ${number + 1} could not be loaded (${error.message}). These pages need to be read from a web server.`;
      more.textContent = "Try again";
    }
    place.ariaBusy = "false";
  };
  more.addEventListener("click", load);
  search.addEventListener("input", show);
  disputed.addEventListener("change", show);
  load();
})();
