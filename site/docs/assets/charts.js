// Charts that answer to a pointer. The drawing in the page is whole without this file; the library behind it weighs
// 0.3 MB, so it is fetched when a reader reaches for a chart, and the drawing gives way to the same one, alive.
"use strict";
(() => {
  const { make } = window.deerstalker;
  const here = new URL(".", document.currentScript.src);
  let library = null;
  const load = () => {
    library ??= new Promise((done, failed) => {
      const script = make("script", { src: new URL("../charts/vega.js", here).href });
      script.addEventListener("load", () => done(window.vegaEmbed));
      script.addEventListener("error", () => { library = null; failed(new Error("the library")); });
      document.head.append(script);
    });
    return library;
  };

  const wake = async (figure, button, status) => {
    if (figure.dataset.state) return;
    figure.dataset.state = "loading";
    status.textContent = "Loading…";
    const drawing = figure.querySelector(".ds-drawing");
    try {
      const [embed, reply] = await Promise.all([load(), fetch(figure.dataset.chart)]);
      if (!reply.ok) throw new Error(reply.status);
      const place = make("div", { class: "ds-live" });
      drawing.after(place);
      drawing.hidden = true;
      const dark = document.body.dataset.mdColorScheme === "slate";
      const chart = await reply.json();
      if (place.clientWidth < 500) chart.padding.right = 30; // room for names, which a narrow screen has not
      const { view } = await embed(place, chart, { actions: false, renderer: "svg", tooltip: { theme: dark ? "dark" : "light" } });
      // What the drawing says to those who do not see it, the live one says too.
      const said = drawing.querySelector("svg").getAttribute("aria-label");
      place.querySelectorAll("[role^=graphics]").forEach((mark) => mark.removeAttribute("role"));
      Object.entries({ role: "img", "aria-label": said }).forEach(([name, value]) => place.querySelector("svg").setAttribute(name, value));
      await view.runAsync();
      figure.dataset.state = "live";
      status.textContent = "";
      button.remove();
    } catch (error) {
      drawing.hidden = false;
      figure.querySelector(".ds-live")?.remove();
      delete figure.dataset.state;
      status.textContent = `The chart could not be brought alive (${error.message}); a web server is needed.`;
    }
  };

  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const button = make("button", { type: "button", text: "Show figures under the pointer" });
    const status = make("span", { class: "ds-count", role: "status", "aria-live": "polite" });
    figure.append(make("div", { class: "ds-tools" }, button, status));
    const start = () => wake(figure, button, status);
    button.addEventListener("click", start);
    // A pointer that rests on the drawing asks for it as well; one that passes by does not.
    let rest = 0;
    const drawing = figure.querySelector(".ds-drawing");
    drawing.addEventListener("pointerenter", () => { rest = setTimeout(start, 250); });
    drawing.addEventListener("pointerleave", () => clearTimeout(rest));
  }
})();
