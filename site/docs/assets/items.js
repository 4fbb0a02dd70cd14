// The page of an item: the other models' answers, loaded forty at a time when they are asked for.
"use strict";
(() => {
  const { make } = window.deerstalker;
  const place = document.querySelector(".ds-answers");
  if (!place || place.dataset.shards === "0") return;
  const count = Number(place.dataset.shards);
  const text = (words, kind) => make("p", { class: `ds-text ${kind}`, dir: "auto", text: words });
  const vote = ([judge, kind, score, lost, marks, reply]) => {
    const who = { human: "person", author: "author, not human", rule: "rule" }[kind];
    const said = score === null ? `unreadable: ${lost}` : score === 1 ? "right" : score === 0 ? "wrong" : score.toFixed(2);
    const line = make("li", {}, make("b", {}, who || make("bdi", { text: judge })), " ", make("span", { class: "ds-vote", text: said }));
    if (marks) {
      const parts = Object.entries(marks).map(([name, ok]) => `${name.replace("is_", "").replace("_correct", "")} ${ok ? "right" : "wrong"}`);
      line.append(" ", make("small", { text: parts.join(", ") }));
    }
    if (reply) line.append(make("q", { dir: "auto", text: reply }));
    return line;
  };
  const answer = ([slug, model, condition, tier, epoch, score, failure, words, why, votes]) => {
    const name = make("a", { href: `../../models/${slug}.html` }, make("bdi", { text: model }));
    const about = `${condition}${epoch ? `, repeat ${epoch + 1}` : ""} · ${tier}`;
    const head = make("h3", {}, name, " ", make("span", { class: "ds-score", text: score === null ? "–" : (100 * score).toFixed(0) }), " ", make("small", { text: about }));
    const article = make("article", { class: "ds-answer" }, head);
    if (failure) article.append(make("p", { class: "ds-key", text: `no answer: ${failure}` }));
    if (words) article.append(text(words, ""));
    if (why) article.append(text(why, "ds-why"));
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
  };
  more.addEventListener("click", load);
  search.addEventListener("input", show);
  disputed.addEventListener("change", show);
  load();
})();
