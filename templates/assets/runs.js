// The filter of a page about several runs: causes, functions and runs in which all words occur; the timelines show the same.
(() => {
  const { $, $$, keep } = shapelog;
  const search = $("#search");
  const found = $("#found");
  const items = $$("table.changes tbody tr, #proof tbody tr, article.change, #unchanged li, table.trend tbody")
    .filter((item) => !item.parentElement.closest("article.change"))
    .map((item) => ({ item, text: item.textContent.toLowerCase() }));
  const sections = [...new Set(items.map(({ item }) => item.closest("section")))];

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    items.forEach(({ item, text }) => { item.hidden = !words.every((word) => text.includes(word)); });
    sections.forEach((section) => { section.hidden = items.every(({ item }) => item.hidden || !section.contains(item)); });
    found.textContent = words.length ? `${items.filter(({ item }) => !item.hidden).length} of ${items.length} found` : "";
    document.dispatchEvent(new CustomEvent("shapelog:search", { detail: words }));
  };
  search.addEventListener("input", () => { show(); keep.write("main"); });
  search.addEventListener("keydown", (event) => { if (event.key === "Escape") { search.value = ""; show(); keep.write("main"); search.blur(); } });
  keep.add("main", "find", () => search.value.trim(), (value) => { search.value = value; show(); });
})();
