// Linked panes: the line under the pointer or with the focus, and everything that it is linked with.
(() => {
  "use strict";
  const tokens = (text) => (text || "").split(" ").filter(Boolean);
  const lines = (box) => [...box.querySelectorAll("li[data-linked]")];
  const linked = (line, box) => {
    const wanted = new Set(tokens(line.dataset.linked));
    return lines(box).filter((other) => tokens(other.dataset.own).some((token) => wanted.has(token)));
  };

  function light(line, follow) {
    const box = line.closest(".panes");
    box.querySelectorAll(".lit, .origin").forEach((other) => other.classList.remove("lit", "origin"));
    line.classList.add("lit", "origin");
    const own = new Set(tokens(line.dataset.own));
    const same = lines(line.closest(".pane")).filter((other) => tokens(other.dataset.own).some((token) => own.has(token)));
    const found = linked(line, box);
    [...same, ...found].forEach((other) => other.classList.add("lit"));
    if (!follow) return;
    box.querySelectorAll(".pane").forEach((pane) => {
      const first = found.find((other) => pane.contains(other));
      const list = pane.querySelector("ol");
      if (first && pane !== line.closest(".pane")) list.scrollTop = first.offsetTop - list.offsetTop - list.clientHeight / 3;
    });
  }

  // One line of each pane can be reached with Tab; the arrow keys move on from there.
  function ready(box) {
    if (box.dataset.ready) return;
    box.dataset.ready = "yes";
    box.querySelectorAll(".pane").forEach((pane) => lines(pane).forEach((line, number) => { line.tabIndex = number ? -1 : 0; }));
  }

  function focus(line) {
    lines(line.closest(".pane")).forEach((other) => { other.tabIndex = other === line ? 0 : -1; });
    line.focus();
  }

  document.addEventListener("toggle", (event) => {
    if (event.target.matches && event.target.matches("details.provenance[open]")) event.target.querySelectorAll(".panes").forEach(ready);
  }, true);
  document.addEventListener("pointerover", (event) => {
    const line = event.target.closest(".panes li[data-linked]");
    if (line) light(line, false);
  });
  document.addEventListener("click", (event) => {
    const line = event.target.closest(".panes li[data-linked]");
    if (line) focus(line);
  });
  document.addEventListener("focusin", (event) => {
    const line = event.target.closest(".panes li[data-linked]");
    if (line) light(line, true);
  });
  document.addEventListener("keydown", (event) => {
    const line = event.target.closest(".panes li[data-linked]");
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const pane = line.closest(".pane");
    const mine = lines(pane);
    const panes = [...pane.parentElement.querySelectorAll(".pane")];
    const aside = (step) => {
      const next = panes[panes.indexOf(pane) + step];
      return next && linked(line, next)[0];
    };
    const target = {
      ArrowDown: () => mine[mine.indexOf(line) + 1],
      ArrowUp: () => mine[mine.indexOf(line) - 1],
      ArrowRight: () => aside(1),
      ArrowLeft: () => aside(-1),
    }[event.key];
    if (!target) return;
    event.preventDefault();
    const other = target();
    if (other) focus(other);
  });
})();
