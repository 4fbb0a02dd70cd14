// Tables that can be sorted, filtered and kept as CSV. The table itself is whole without this file, and reads well.
// State is in the address, so that a view can be sent to others. DataTables would do it in 190 kB; the page has 400.
"use strict";
(() => {
  const { make, showPart } = window.deerstalker;
  const PLAIN = "table[data-plain]", BOARD = "table[data-board]";
  const FIRST = 200; // rows of a board that are drawn until more are asked for; board.css names the same number
  const number = (text) => {
    const found = text.replace(/−/g, "-").match(/-?[\d.]+(?:e-?\d+)?/);
    return found ? parseFloat(found[0]) : null;
  };
  const shown = (cell) => (cell.firstChild && cell.classList.contains("ds-name")
    ? cell.querySelector("bdi, a").textContent : (cell.childNodes[0] || cell).textContent.trim() || cell.textContent.trim());

  class Table {
    constructor(table, place) {
      this.table = table;
      this.prefix = place ? `t${place}.` : "";
      this.body = table.tBodies[0];
      this.heads = [...table.tHead.rows[0].cells];
      this.keys = this.heads.map((head) => head.dataset.sort || "");
      this.rows = [...this.body.rows].map((row, order) => ({ row, order, place: order, texts: [...row.cells].map(shown) }));
      this.kept = new Map();
      this.parts = new Map();
      this.fresh();
      this.sorted = ""; // as the page came
      this.addSorting();
      this.addTools();
      this.read();
      this.show();
    }

    fresh() { this.state = { sort: "", find: "", from: "", to: "", part: "", rows: "", only: {}, show: null }; }
    column(key) { return this.keys.indexOf(key); }

    addSorting() {
      this.heads.forEach((head, n) => {
        const key = this.keys[n];
        if (!key) return;
        const button = make("button", { type: "button", class: "ds-sort" });
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const down = this.numeric(n) && key !== "rank" ? key : `${key}.up`;
          const other = down === key ? `${key}.up` : key;
          this.state.sort = this.state.sort === down ? other : this.state.sort === other ? "" : down;
          this.write();
        });
      });
    }

    numeric(n) {
      const filled = this.rows.filter(({ texts }) => texts[n] && texts[n] !== "–").slice(0, 20);
      return filled.length > 0 && filled.every(({ texts }) => /^[+−-]?[\d.]/.test(texts[n]) && !/^\d{4}-\d\d/.test(texts[n]));
    }

    addTools() {
      const tools = this.tools = make("div", { class: "ds-tools", role: "search", "aria-label": "This table" });
      this.search = this.field("Search", make("input", { type: "search" }), "find");
      this.choices = {};
      const picks = { tier: "Tier", open: "Weights", reasoning: "Reasoning", category: "Category", band: "Difficulty" };
      for (const [key, name] of Object.entries(picks)) this.addChoice(key, name, (row) => row.texts[this.column(key)]);
      if (this.table.matches(BOARD)) {
        this.addParts();
        this.addChoice("maker", "Maker", (row) => row.row.querySelector(".ds-name small bdi").textContent);
        this.from = this.field("Run from", make("input", { type: "date" }), "from");
        this.to = this.field("Run until", make("input", { type: "date" }), "to");
        this.addColumns();
      }
      this.csv = make("button", { type: "button", text: "CSV of this view" });
      this.csv.addEventListener("click", () => this.save());
      this.clear = make("button", { type: "button", text: "Clear" });
      this.clear.addEventListener("click", () => { this.fresh(); this.write(); });
      this.count = make("span", { class: "ds-count", role: "status", "aria-live": "polite" });
      tools.append(this.csv, this.clear, this.count);
      const frame = this.table.closest(".ds-scroll") || this.table;
      frame.before(tools);
      if (this.table.matches(BOARD) && this.rows.length > FIRST) this.addMore(frame);
    }

    addMore(frame) {
      this.more = make("button", { type: "button", class: "ds-all" });
      this.more.addEventListener("click", () => { this.state.rows = "all"; this.write(); });
      frame.after(this.more);
    }

    field(name, input, key) {
      input.addEventListener("input", () => { this.state[key] = input.value; this.write(); });
      this.tools.append(make("label", {}, make("span", { text: name }), input));
      return input;
    }

    addChoice(key, name, of) {
      if (key !== "maker" && this.column(key) < 0) return;
      const values = [...new Set(this.rows.map(of))].filter(Boolean).sort();
      if (values.length < 2) return;
      const select = make("select", {}, make("option", { value: "", text: "all" }));
      for (const value of values) select.append(make("option", { value, text: value.slice(0, 60) }));
      select.addEventListener("change", () => { this.state.only[key] = select.value; this.write(); });
      this.tools.append(make("label", {}, make("span", { text: name }), select));
      this.choices[key] = { select, of };
    }

    // Parts of the items: their figures are fetched when one is chosen.
    addParts() {
      const { kind, names } = this.table.dataset;
      const listed = JSON.parse(names || "[]");
      if (!listed.length) return;
      this.kind = kind;
      this.files = new Map(listed);
      const select = make("select", {}, make("option", { value: "", text: "all items" }));
      for (const [name] of listed) select.append(make("option", { value: name, text: name.replace(/_/g, " ") }));
      select.addEventListener("change", () => { this.state.part = select.value; this.write(); });
      this.tools.append(make("label", {}, make("span", { text: kind === "genre" ? "Genre" : "Category" }), select));
      this.partSelect = select;
    }

    // The document of a part once it is here, null for all items, undefined while it is on its way.
    part() {
      const name = this.state.part;
      if (!name) return null;
      if (!this.parts.has(name)) {
        this.parts.set(name, undefined);
        fetch(`${this.table.dataset.parts}/${this.files.get(name)}.json`)
          .then((reply) => { if (!reply.ok) throw new Error(reply.status); return reply.json(); })
          .then((found) => { this.parts.set(name, found); this.show(); })
          .catch((error) => {
            this.parts.delete(name);
            if (this.state.part !== name) return; // another was chosen since
            this.state.part = "";
            this.write();
            this.count.textContent = `${name.replace(/_/g, " ")} could not be loaded (${error.message}); a web server is needed.`;
          });
      }
      return this.parts.get(name);
    }

    showPart() {
      const part = this.part();
      if (part === undefined || part === (this.showing || null)) return;
      this.showing = part;
      showPart(this, part);
      for (const entry of this.rows) entry.texts = [...entry.row.cells].map(shown);
      this.sorted = null;
    }

    addColumns() {
      const box = make("details", { class: "ds-columns" }, make("summary", { text: "Columns" }));
      const list = make("div");
      this.boxes = {};
      this.heads.forEach((head, n) => {
        const key = this.keys[n];
        if (!key || ["rank", "model", "score"].includes(key)) return;
        const input = make("input", { type: "checkbox" });
        input.addEventListener("change", () => {
          this.state.show = Object.keys(this.boxes).filter((name) => this.boxes[name].checked);
          this.write();
        });
        list.append(make("label", {}, input, make("span", { text: head.textContent.trim() })));
        this.boxes[key] = input;
      });
      box.append(list);
      this.tools.append(box);
      this.usual = this.keys.filter((key, n) => key && !this.heads[n].classList.contains("ds-opt"));
      this.sheet = new CSSStyleSheet();
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
      this.table.classList.add(this.mark = `ds-t${document.adoptedStyleSheets.length}`);
    }

    read() {
      const found = new URLSearchParams(location.search);
      const get = (name) => found.get(this.prefix + name) || "";
      for (const name of ["sort", "find", "from", "to", "rows"]) this.state[name] = get(name);
      for (const key of Object.keys(this.choices)) this.state.only[key] = get(key);
      const part = this.files ? get(this.kind) : "";
      this.state.part = this.files?.has(part) ? part : "";
      const columns = found.get(`${this.prefix}columns`);
      this.state.show = columns === null ? null : columns.split(",").filter((key) => this.keys.includes(key));
      if (this.column(this.state.sort.replace(/\.up$/, "")) < 0) this.state.sort = "";
    }

    write() {
      const found = new URLSearchParams(location.search);
      const put = (name, value) => (value ? found.set(this.prefix + name, value) : found.delete(this.prefix + name));
      for (const name of ["sort", "find", "from", "to", "rows"]) put(name, this.state[name]);
      for (const key of Object.keys(this.choices)) put(key, this.state.only[key]);
      if (this.files) put(this.kind, this.state.part);
      if (this.state.show) found.set(`${this.prefix}columns`, this.state.show.join(","));
      else found.delete(`${this.prefix}columns`);
      const query = found.toString();
      history.replaceState(null, "", (query ? `?${query}` : location.pathname) + location.hash);
      carry();
      this.show();
    }

    passes(entry) {
      const { find, from, to, only } = this.state; // not `q`: the theme opens its own search on that
      const day = entry.texts[this.column("date")] || "";
      if (find && !entry.row.cells[Math.max(this.column("model"), this.column("item"), 0)].textContent.toLowerCase()
        .includes(find.toLowerCase())) return false;
      if ((from && day < from) || (to && day > to)) return false;
      return Object.entries(this.choices).every(([key, { of }]) => !only[key] || of(entry) === only[key]);
    }

    ordered() {
      const [key, up] = this.state.sort.split(".");
      const n = this.column(key);
      if (!key || n < 0) return [...this.rows].sort((a, b) => a.place - b.place);
      const value = this.numeric(n) ? (row) => number(row.texts[n]) : (row) => row.texts[n].toLowerCase();
      const sign = up ? 1 : -1;
      const empty = (x) => x === null || x === "" || x === "–";
      return [...this.rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (empty(x) || empty(y)) return empty(x) - empty(y) || a.place - b.place;
        return (x < y ? -sign : x > y ? sign : 0) || a.place - b.place;
      });
    }

    show() {
      const { sort, only, part } = this.state;
      this.showPart();
      const rows = this.view = this.ordered().filter((entry) => this.passes(entry));
      const drawn = this.more && this.state.rows !== "all" ? rows.slice(0, FIRST) : rows;
      const kept = new Set(drawn);
      this.rows.forEach((entry) => { entry.row.hidden = !kept.has(entry); });
      this.table.classList.add("ds-ready");
      if (sort !== this.sorted) this.body.append(...this.ordered().map(({ row }) => row));
      this.sorted = sort;
      this.heads.forEach((head, n) => {
        if (!this.keys[n]) return;
        const mine = sort.replace(/\.up$/, "") === this.keys[n];
        if (mine) head.setAttribute("aria-sort", sort.endsWith(".up") ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      });
      this.search.value = this.state.find;
      for (const [key, { select }] of Object.entries(this.choices)) select.value = only[key] || "";
      if (this.partSelect) this.partSelect.value = part;
      if (this.from) { this.from.value = this.state.from; this.to.value = this.state.to; }
      if (this.boxes) this.showColumns();
      const all = `${this.rows.length} ${this.rows.length === 1 ? "row" : "rows"}`;
      const many = rows.length === this.rows.length ? all : `${rows.length} of ${all}`;
      const narrowed = part ? `, ${part.replace(/_/g, " ")} only` : "";
      const loading = part !== "" && this.showing?.name !== part;
      this.table.ariaBusy = String(loading);
      this.csv.disabled = loading;
      const first = drawn.length < rows.length ? `, the first ${FIRST} shown` : "";
      this.count.textContent = loading ? "Loading…" : many + narrowed + first;
      if (this.more) {
        this.more.hidden = !first;
        this.more.textContent = `Show all ${rows.length} rows`;
      }
    }

    showColumns() {
      const wanted = new Set(this.state.show || this.usual), rules = [];
      this.heads.forEach((head, n) => {
        const key = this.keys[n];
        if (!this.boxes[key]) return;
        this.boxes[key].checked = wanted.has(key);
        const usual = this.usual.includes(key);
        if (usual !== wanted.has(key)) rules.push(`.${this.mark} tr > :nth-child(${n + 1}) { display: ${usual ? "none" : "revert"} !important; }`);
      });
      // One rule a column in a style sheet of the page: a thousand rows need not be touched.
      this.sheet.replaceSync(rules.join("\n"));
    }

    save() {
      const wanted = this.boxes ? new Set([...(this.state.show || this.usual), "rank", "model", "score"]) : null;
      const columns = this.keys.map((key, n) => n).filter((n) => this.keys[n] && (!wanted || wanted.has(this.keys[n])));
      const part = this.state.part;
      const lines = [columns.map((n) => this.heads[n].textContent.trim()).concat(part ? [this.kind] : [])];
      for (const { row } of this.view) lines.push(columns.map((n) => this.full(row.cells[n])).concat(part ? [part] : []));
      const text = lines.map((cells) => cells.map(CSV).join(",")).join("\r\n");
      const url = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv;charset=utf-8" }));
      const link = make("a", { href: url, download: `${document.title.split(" - ")[0]}.csv` });
      link.click();
      URL.revokeObjectURL(url);
    }

    full(cell) {
      if (cell.classList.contains("ds-name")) return shown(cell);
      const small = [...cell.querySelectorAll("small")].map((part) => part.textContent.trim());
      const first = [...cell.childNodes].filter((part) => part.nodeName !== "SMALL").map((part) => part.textContent).join("").trim();
      return small.length ? `${first} (${small.join("; ")})` : first;
    }
  }

  // A spreadsheet takes a cell that begins so for a formula, and would run what a model's name says.
  const CSV = (text) => {
    const minus = text.replace(/−/g, "-").replace(/\s+/g, " ");
    const safe = /^ *[=+\-@\t\r]/.test(minus) && !/^[+-]?[\d.]+( \([+-]?[\d. to+-]*\))?$/.test(minus) ? `'${minus}` : minus;
    return `"${safe.replace(/"/g, '""')}"`;
  };

  // A link to the same board in another language takes the view along.
  const carry = () => document.querySelectorAll("a[data-carry]").forEach((link) => {
    link.search = location.search;
  });
  carry();

  const start = () => [...document.querySelectorAll(`${BOARD}, ${PLAIN}`)].forEach((table, place) => new Table(table, place));
  start();
})();
