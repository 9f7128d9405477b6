"use strict";
// What every page with a script has. Everything is in the HTML already: scripts only find, sort, copy, unpack and remember.
const shapelog = (() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const status = $("#status");

  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const announce = (text) => { status.textContent = ""; requestAnimationFrame(() => { status.textContent = text; }); };
  const stored = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("shapelog-theme");
      if (value) localStorage.setItem("shapelog-theme", value); else localStorage.removeItem("shapelog-theme");
    } catch { /* a page opened from disk may have no storage */ }
    return null;
  };

  const copy = async (text, button) => {
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch {
      const area = make("textarea", text, "hidden");
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    announce(done ? "Copied" : "Could not copy");
    const before = button.dataset.text ?? (button.dataset.text = button.textContent);
    button.textContent = done ? "Copied" : "Select it manually";
    setTimeout(() => { button.textContent = before; }, 1600);
  };

  const sortable = (table) => {
    if (table.rows.length < 4) return; // there is no order in which to see so few
    $$("thead th", table).forEach((head, column) => {
      const button = make("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
        $$("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        // A row, or rows that belong together, which the first is about.
        const value = (part) => { const cell = (part.rows ? part.rows[0] : part).cells[column]; return cell.dataset.value ?? cell.textContent.trim(); };
        const compared = (a, b) => {
          const [x, y] = [value(a), value(b)];
          const numbers = x !== "" && y !== "" && !Number.isNaN(Number(x)) && !Number.isNaN(Number(y));
          return numbers ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
        };
        $$("tr.opened", table).forEach((row) => row.remove());
        const [body, ...more] = table.tBodies;
        (more.length ? table : body).append(...[...(more.length ? table.tBodies : body.rows)].sort((a, b) => (up ? compared(a, b) : compared(b, a))));
        table.dispatchEvent(new Event("shapelog:rows"));
      });
    });
  };

  // A long table begins with its first rows; a button shows as many more, or all. What a filter hides does not count.
  const folding = (table) => {
    const size = Number(table.dataset.first);
    const parts = () => [...(table.tBodies.length > 1 ? table.tBodies : table.tBodies[0].rows)];
    let most = size;
    const button = make("button", undefined, "unfold");
    button.type = "button";
    const draw = () => {
      const shown = parts().filter((part) => !part.hidden);
      parts().forEach((part) => part.classList.remove("beyond"));
      shown.slice(most).forEach((part) => part.classList.add("beyond"));
      const left = shown.length - most;
      button.hidden = left <= 0;
      button.textContent = size >= 50 && left > size ? `Show ${size} more of ${shown.length}` : `Show all ${shown.length}`;
    };
    button.addEventListener("click", () => {
      const first = parts().find((part) => part.classList.contains("beyond"));
      const all = parts().filter((part) => !part.hidden).length;
      most = size >= 50 && all - most > size ? most + size : all;
      draw();
      if (button.hidden && first) { first.tabIndex = -1; first.focus(); }
    });
    table.addEventListener("shapelog:rows", draw);
    (table.closest(".scroll") || table).after(button);
    draw();
  };

  // What scripts add to a part of the page that is new in the document.
  const enhance = (root) => {
    $$("table.sortable", root).forEach(sortable);
    $$("table[data-first]", root).forEach(folding);
    $$("a[data-to]", root).forEach((link) => { link.href = `#${link.dataset.to}`; }); // with what address.js keeps
    $$("button.copier[hidden]", root).forEach((button) => { button.hidden = false; });
  };

  const themes = ["", "light", "dark"];
  const theme = $("#theme");
  const paint = (value) => {
    if (value) document.documentElement.dataset.theme = value; else delete document.documentElement.dataset.theme;
    theme.textContent = { light: "☀", dark: "☾" }[value] || "◐";
    theme.setAttribute("aria-label", `Colors: ${value || "system"}`);
  };

  document.documentElement.classList.add("js");
  $$(".tools, .filters, .keys").forEach((element) => { element.hidden = false; });
  enhance(document);
  paint(themes.includes(stored()) ? stored() : "");
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "") + 1) % themes.length];
    stored(next);
    paint(next);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copier");
    if (button) copy($("pre", button.parentElement).textContent, button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    $("#search").focus();
  });
  return { $, $$, announce, copy, enhance, make };
})();
