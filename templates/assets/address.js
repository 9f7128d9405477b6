// What is chosen in a view is kept in the address, #advice?off=A2, so that a reload, or a link to it, shows the same again.
shapelog.keep = (() => {
  const { $ } = shapelog;
  const kept = [];
  const now = () => {
    const [name, query] = location.hash.slice(1).split("?");
    return [name, new URLSearchParams(query || "")];
  };
  // Each item is {view, key, read, show}: read gives a text, "" for what the page shows at first, and show takes it back.
  const write = (view) => {
    const page = document.getElementById(view);
    if (!page || page.hidden) return;
    const query = new URLSearchParams();
    kept.filter((item) => item.view === view && item.read()).forEach((item) => query.set(item.key, item.read()));
    const shown = [...query].length ? `#${view}?${query}` : `#${view}`;
    const [name] = now();
    if (shown === location.hash || (name !== view && shown === `#${view}`)) return;
    try { history.replaceState(history.state, "", shown); } catch { /* a page inside of another may have no address */ }
  };
  const read = () => {
    const [name, query] = now();
    const own = kept.filter((item) => item.view === name);
    if ([...query].length) own.forEach((item) => { if (item.read() !== (query.get(item.key) || "")) item.show(query.get(item.key) || ""); });
    else if (own.length) write(name);
  };
  window.addEventListener("hashchange", read);

  // The filter of the page Frames, and the order of each table with a name: "all-frames 2 up".
  const filter = $("#filter");
  const boxes = [...document.querySelectorAll(".filters input[type=\"checkbox\"]")];
  const changed = (input) => input.dispatchEvent(new Event("input", { bubbles: true }));
  const keep = (view, key, reads, show) => { kept.push({ view, key, read: reads, show }); };
  if (filter) {
    keep("frames", "find", () => filter.value.trim(), (value) => { filter.value = value; changed(filter); });
    for (const name of ["kind", "rule"]) {
      const own = boxes.filter((box) => box.name === name);
      keep("frames", name, () => own.filter((box) => box.checked).map((box) => box.value).join(" "), (value) => {
        const chosen = value.split(" ");
        own.forEach((box) => { box.checked = chosen.includes(box.value); });
        changed(filter);
      });
    }
    const table = (id) => {
      const heads = [...document.querySelectorAll(`#${id} thead th`)];
      const reads = () => heads.map((head, column) => (head.hasAttribute("aria-sort") ? `${column + 1} ${head.getAttribute("aria-sort")}` : "")).join("");
      const first = reads();
      keep("frames", id.replace("all-", "sort-"), () => (reads() === first ? "" : reads()), (wanted) => {
        const value = wanted || first;
        const head = heads[Number.parseInt(value, 10) - 1];
        const button = head && head.querySelector("button");
        if (!button) return;
        for (let click = 0; click < 2 && reads() !== value; click += 1) button.click();
      });
      heads.forEach((head) => head.addEventListener("click", () => write("frames")));
    };
    ["all-frames", "all-recompiles"].forEach(table);
    filter.addEventListener("input", () => write("frames"));
    boxes.forEach((box) => box.addEventListener("change", () => write("frames")));
    read();
  }
  return { add: (...item) => { keep(...item); read(); }, write, now };
})();
