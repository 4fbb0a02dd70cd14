// Up to four models of a board in pairs: from the joint draws that its ranks are made of or, where the jury's scores are
// the scores, from the items. The choice is in the address; where there is none, a board's first rows are chosen.
"use strict";
(() => {
  const { make } = window.deerstalker;
  const place = document.querySelector(".ds-compare");
  if (!place) return;
  const api = place.dataset.api, MOST = 4, FIRST = 2, FULL = 65535;
  const get = async (path) => {
    const reply = await fetch(api + path);
    if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
    return reply.json();
  };
  const draws = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
  };
  // Points of 100, or grades.
  const figure = (share) => (board.most === 1 ? (100 * share).toFixed(1) : (board.most * share).toFixed(2));
  const signed = (share) => `${share < 0 ? "−" : "+"}${figure(Math.abs(share))}`;
  // The quantile of the inverted distribution function, as leaderboard/compare.py takes it.
  const quantile = (sorted, q) => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  const difference = (a, b) => {
    const found = Float64Array.from(a, (x, n) => (x - b[n]) / FULL).sort();
    return { mean: found.reduce((x, y) => x + y, 0) / found.length, low: quantile(found, 0.025), high: quantile(found, 0.975) };
  };
  const settled = () => board.clusters.length > 0;
  const average = (values) => values.reduce((x, y) => x + y, 0) / values.length;
  const shared = (a, b) => a.scores.map((x, n) => [x, b.scores[n]]).filter(([x, y]) => x !== null && y !== null);
  // One end of the interval, as paired_mean() of evaluators/means.py takes it: the variance is that of sums over stories.
  const limit = (lead, sign) => {
    if (board.t === null) return sign;
    const mean = average(lead), sums = new Map();
    lead.forEach((x, n) => sums.set(board.clusters[n], (sums.get(board.clusters[n]) || 0) + x - mean));
    const count = sums.size, squares = [...sums.values()].reduce((total, x) => total + x * x, 0);
    const error = Math.max(Math.sqrt((count / (count - 1)) * squares) / lead.length, 1 / count);
    return Math.max(-1, Math.min(1, mean + sign * board.t * error));
  };
  const ends = (a, b) => {
    const less = (x, y) => x.map((value, n) => (value - y[n]) / 1000);
    return { low: less(a.low, b.high), high: less(a.high, b.low), both: shared(a, b).map(([x, y]) => (x - y) / 1000) };
  };
  const pair = (a, b) => {
    if (!settled()) return { like: difference(a.like, b.like), these: difference(a.these, b.these) };
    const { low, high, both } = ends(a, b);
    if (!both.length) return { like: null, these: null };
    const mean = average(both);
    return { like: { mean, low: limit(low, -1), high: limit(high, 1) }, these: { mean, low: average(low), high: average(high) } };
  };
  const exact = (d) => Math.abs(d.high - d.low) < 1e-9;
  const said = (d) => (d === null ? "–" : signed(d.mean) + (exact(d) ? "" : ` (${signed(d.low)} to ${signed(d.high)})`));
  const verdict = (d) => (d === null ? "no item has both" : d.low > 0 ? "better" : d.high < 0 ? "worse" : "cannot be told apart");
  const ask = new URLSearchParams(location.search);
  let chosen = (ask.get("m") || "").split(",").filter(Boolean).slice(0, MOST), board = null;
  const loaded = new Map();
  const boards = make("select"), models = make("input", { list: "ds-models", autocomplete: "off" });
  const known = make("datalist", { id: "ds-models" });
  const list = make("ul", { class: "ds-chosen" }), result = make("div"), status = make("p", { class: "ds-key", role: "status", "aria-live": "polite" });
  const add = make("button", { type: "button", text: "Add" });

  const keep = () => {
    const found = new URLSearchParams();
    if (board) found.set("board", board.section.key);
    if (chosen.length) found.set("m", chosen.join(","));
    history.replaceState(null, "", `?${found}`);
  };
  const row = (id) => board.rows.find((r) => r.submission_id === id);
  const head = (...names) => make("thead", {}, make("tr", {}, ...names.map(([name, kind]) => make("th", { scope: "col", class: kind || null, text: name }))));

  // What was asked for last is shown, also where the answer to an older wish comes later.
  let asked = 0;
  const begin = () => { place.ariaBusy = "true"; return asked += 1; };
  const done = () => { place.ariaBusy = "false"; };
  const show = async () => {
    const mine = begin();
    keep();
    list.replaceChildren(...chosen.map((id) => {
      const remove = make("button", { type: "button", "aria-label": `Remove ${row(id).model}`, text: "×" });
      remove.addEventListener("click", () => { chosen = chosen.filter((other) => other !== id); show(); });
      return make("li", {}, make("a", { href: `models/${row(id).slug}.html` }, make("bdi", { text: row(id).model })), " ", remove);
    }));
    add.disabled = chosen.length >= MOST;
    if (chosen.length < 2) {
      result.replaceChildren();
      status.textContent = chosen.length ? "Add another model." : "Add two models or more.";
      done();
      return;
    }
    status.textContent = "Loading…";
    try {
      const missing = chosen.filter((id) => !loaded.has(id));
      for (const found of await Promise.all(missing.map((id) => get(`compare/${board.section.key}/${id}.json`)))) {
        const side = (values) => (values.length ? values : found.scores);
        const drawn = { like: draws(found.like), these: draws(found.these) };
        loaded.set(found.submission_id, { ...found, ...drawn, low: side(found.low), high: side(found.high) });
      }
      if (mine !== asked) return;
      status.textContent = "";
      result.replaceChildren(pairs(), ...items());
    } catch (error) {
      if (mine !== asked) return;
      status.textContent = `The draws could not be loaded (${error.message}).`;
    }
    done();
  };

  const unit = () => (board.most === 1 ? "points" : `grades from 0 to ${board.most}`);
  const pairs = () => {
    const body = make("tbody");
    chosen.forEach((first, n) => chosen.slice(n + 1).forEach((second) => {
      const [a, b] = [loaded.get(first), loaded.get(second)];
      const { like, these } = pair(a, b), both = shared(a, b);
      const won = both.filter(([x, y]) => x > y).length, lost = both.filter(([x, y]) => x < y).length;
      body.append(make("tr", {},
        make("th", { scope: "row", class: "ds-name" }, make("bdi", { text: row(first).model }), make("small", { text: "minus" }), make("bdi", { text: row(second).model })),
        make("td", { class: "ds-num ds-like", text: said(like) }), make("td", { class: "ds-num", text: said(these) }),
        make("td", { text: verdict(like) }), make("td", { class: "ds-num", text: both.length ? `${won}` : "–" }),
        make("td", { class: "ds-num", text: both.length ? `${lost}` : "–" }), make("td", { class: "ds-num", text: both.length ? `${both.length - won - lost}` : "–" })));
    }));
    const table = make("table", { class: "ds-table ds-pairs" }, make("caption", { class: "ds-hidden", text: `Paired differences in ${unit()}, with 95 % intervals` }),
      head(["Pair"], ["Items like these", "ds-num"], ["These items", "ds-num"], ["So the first is"], ["Won", "ds-num"], ["Lost", "ds-num"], ["Tied", "ds-num"]), body);
    return make("div", { class: "ds-scroll", role: "region", "aria-label": "Paired differences", tabindex: "0" }, table);
  };

  const items = () => {
    if (!board.items.length) return [];
    const all = board.items.map((item, k) => ({ item, page: board.pages[k], scores: chosen.map((id) => loaded.get(id).scores[k]) }));
    const spread = ({ scores }) => { const s = scores.filter((x) => x !== null); return s.length > 1 ? Math.max(...s) - Math.min(...s) : -1; };
    if (!all.some((entry) => spread(entry) > 0)) return [];
    const body = make("tbody");
    const fill = (order) => {
      const sorted = [...all].sort(order).filter((entry) => spread(entry) > 0).slice(0, 200);
      body.replaceChildren(...sorted.map(({ item, page, scores }) => make("tr", {},
        make("th", { scope: "row" }, make("a", { href: `${board.item_pages}/${page}.html`, text: item })),
        ...scores.map((s) => make("td", { class: "ds-num", text: s === null ? "–" : board.most === 1 ? (s / 10).toFixed(0) : figure(s / 1000) })))));
    };
    const heads = [make("th", { scope: "col", text: "Item" })];
    chosen.forEach((id, n) => {
      const button = make("button", { type: "button", class: "ds-sort" }, make("bdi", { text: row(id).model.slice(0, 40) }));
      const cell = make("th", { scope: "col", class: "ds-num" }, button);
      button.addEventListener("click", () => {
        const up = cell.getAttribute("aria-sort") === "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        fill((x, y) => (up ? 1 : -1) * ((x.scores[n] ?? -1) - (y.scores[n] ?? -1)));
      });
      heads.push(cell);
    });
    fill((x, y) => spread(y) - spread(x));
    const table = make("table", { class: "ds-table ds-plain" }, make("caption", { text: `Items on which they differ, in ${unit()}` }), make("thead", {}, make("tr", {}, ...heads)), body);
    return [make("div", { class: "ds-scroll", role: "region", "aria-label": "Items on which they differ", tabindex: "0" }, table)];
  };

  const choose = async (key) => {
    begin();
    const found = await get(`compare/${key}.json`);
    if (key !== boards.value) return;
    board = found;
    loaded.clear();
    chosen = chosen.filter((id) => row(id));
    if (!chosen.length) chosen = board.rows.slice(0, FIRST).map((r) => r.submission_id);
    known.replaceChildren(...board.rows.map((r) => make("option", { value: r.model, label: figure(r.score) })));
    await show();
  };
  const fail = (error) => {
    status.textContent = `Nothing could be loaded (${error.message}). This page needs to be read from a web server.`;
    done();
  };
  const start = async () => {
    begin();
    const tools = make("div", { class: "ds-tools" }, make("label", {}, make("span", { text: "Board" }), boards), make("label", {}, make("span", { text: "Model" }), models, known), add);
    place.replaceChildren(tools, list, status, result);
    const index = await get("index.json");
    if (!index.sections.length) { status.textContent = "No board has two models that can be compared yet."; done(); return; }
    for (const s of index.sections) boards.append(make("option", { value: s.key, text: `${s.split} ${s.version}, ${s.condition}, ${s.jury}` }));
    const wanted = ask.get("board");
    boards.value = index.sections.some((s) => s.key === wanted) ? wanted : index.sections[0].key;
    boards.addEventListener("change", () => { chosen = []; choose(boards.value).catch(fail); });
    const put = () => {
      const found = board.rows.find((r) => r.model === models.value && !chosen.includes(r.submission_id));
      if (!found) { status.textContent = models.value ? "No other model of this board has that name." : ""; return; }
      if (chosen.length < MOST) chosen.push(found.submission_id);
      models.value = "";
      show();
    };
    add.addEventListener("click", put);
    models.addEventListener("keydown", (event) => { if (event.key === "Enter") put(); });
    await choose(boards.value);
  };
  start().catch(fail);
})();
