// A board on a part of its items: the rows' figures are put in place of those of all items, and back again.
"use strict";
(() => {
  const { make } = window.deerstalker;
  // What a run is and what it cost is the same on every part of the items; other columns have no figure for a part.
  const LASTING = new Set(["model", "cost", "tokens", "date", "released", "open", "reasoning", "jury", "tier"]);
  const points = (share) => (100 * share).toFixed(1);
  const FIGURES = {
    rank: ({ best_rank: best, worst_rank: worst }) => (best === null ? ["–"]
      : [make("b", { text: best }), ...(worst === best ? [] : [make("span", { text: `–${worst}` })])]),
    score: (row) => [points(row.value)],
    low: (row) => [`${points(row.low)}–${points(row.high)}`],
    n: (row) => [String(row.n)],
  };

  const placed = ([low, high], share) => `${(100 * (Math.min(Math.max(100 * share, low), high) - low) / (high - low)).toFixed(2)}%`;
  const plot = (scale, row, name) => {
    const [left, right, at] = [row.low, row.high, row.value].map((share) => placed(scale, share));
    const said = `${name}: ${points(row.value)} points; 95 percent interval ${points(row.low)} to ${points(row.high)} on items like these`;
    return make("div", { class: "ds-plot", role: "img", "aria-label": said },
      make("i", { class: "thin", style: `left:${left};width:${(parseFloat(right) - parseFloat(left)).toFixed(2)}%` }),
      make("i", { class: "point", style: `left:${at}` }));
  };

  // Keeps what stood in a cell before the first change, so that it can be put back.
  const put = (kept, cell, content) => {
    if (!kept.has(cell)) kept.set(cell, [[...cell.childNodes], cell.dataset.low, cell.dataset.high]);
    cell.replaceChildren(...content);
  };
  const restore = (kept) => {
    for (const [cell, [nodes, low, high]] of kept) {
      cell.replaceChildren(...nodes);
      if (low !== undefined) Object.assign(cell.dataset, { low, high });
    }
    kept.clear();
  };

  // Show `part`, a document of the site's API, in the rows of a table; null: all items again.
  const show = ({ heads, keys, rows, kept }, part) => {
    restore(kept);
    rows.forEach((entry) => { entry.place = entry.order; });
    if (!part) return;
    const known = new Map(part.rows.map((row, place) => [row.submission_id, { row, place }]));
    const axis = heads.find((head) => head.classList.contains("ds-axis-cell"))?.querySelector(".ds-axis");
    if (axis) put(kept, axis, part.ticks.map((tick) => make("span", { style: `left:${placed(part.scale, tick / 100)}`, text: tick })));
    for (const entry of rows) {
      const found = known.get(entry.row.dataset.run);
      entry.place = found ? found.place : rows.length + entry.order;
      keys.forEach((key, n) => {
        const cell = entry.row.cells[n];
        if (cell.classList.contains("ds-plot-cell")) {
          put(kept, cell, found ? [plot(part.scale, found.row, part.name)] : []);
          [cell.dataset.low, cell.dataset.high] = part.scale;
        } else if (key && !LASTING.has(key)) put(kept, cell, found && FIGURES[key] ? FIGURES[key](found.row) : ["–"]);
      });
    }
  };
  window.deerstalker.showPart = show;
})();
