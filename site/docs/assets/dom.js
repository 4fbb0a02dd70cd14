// What the other scripts make elements with: text is always text, and what cannot be seen in it is spelled out.
"use strict";
(() => {
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, JOINERS = "\u200c\u200d\n";
  const code = (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  const visible = (text) => String(text).replace(HIDDEN, (c) => (JOINERS.includes(c) ? c : code(c)));
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") element.textContent = visible(value);
      else if (value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  // The theme's search is a dialog without a name.
  document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search the site");
  // The theme lets wide tables of prose move sideways; those who have no pointer must be able to move them, too.
  window.addEventListener("load", () => document.querySelectorAll(".md-typeset__scrollwrap").forEach((place) => {
    const said = { tabindex: "0", role: "region", "aria-label": place.querySelector("th")?.textContent || "Table" };
    for (const [name, value] of Object.entries(said)) place.setAttribute(name, value);
  }));
  window.deerstalker = { make, visible };
})();
