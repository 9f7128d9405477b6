// The search of the whole page. Each entry is [where it leads, title, details, kind]; headings of the views are taken from the page.
(() => {
  const { $, $$, arrived, make, unpack } = shapelog;
  const search = $("#search");
  const results = $("#results");
  const MOST = 40;
  let entries = null;
  let words = [];
  let found = [];
  let at = -1;

  // The words of an element; what is apart in it only by its look is apart here, too.
  const wordsOf = (element) => {
    const pieces = [...element.childNodes].map((node) => node.textContent.trim().replace(/\s+/g, " ")).filter(Boolean);
    return pieces.join(pieces.length > 1 && pieces.length === element.children.length ? " · " : " ");
  };
  // Headings outside of the pages of frames: their view, their text, and the first words below them.
  const headings = () => $$("main > .page:not(.frame, #rules) :is(h1, h2, h3)").filter((heading) => !heading.closest(".suggestion, .card")).map((heading) => {
    const owner = heading.parentElement.closest("[id]"); // a view, or a part of one with a name of its own
    const view = $$("nav a").find((link) => link.hash === `#${heading.closest(".page").id}`);
    const below = heading.nextElementSibling;
    const text = below && below.matches("p, .lead") ? wordsOf(below).slice(0, 240) : "";
    return { where: owner.id, title: wordsOf(heading), text, kind: view ? view.firstChild.textContent.trim() : "section", heading };
  });
  const prepared = (entry) => ({ ...entry, key: entry.title.toLowerCase(), all: `${entry.title} ${entry.text} ${entry.kind}`.toLowerCase() });
  const load = async () => {
    if (entries) return;
    const packed = JSON.parse(await unpack("search-index")).map(([where, title, text, kind]) => ({ where, title, text, kind }));
    entries = [...packed, ...headings()].map(prepared);
  };

  // The best title first: the same, one that begins with it, one that contains it; then details that contain it, whole before in part;
  // then all words apart from each other, in a title before in details.
  const isWhole = (text, query) => {
    for (let place = text.indexOf(query); place >= 0; place = text.indexOf(query, place + 1)) if (!/\w/.test(text[place + query.length] || "")) return true;
    return false;
  };
  const rank = (entry, query) => {
    if (entry.key === query) return 0;
    if (entry.key.startsWith(query)) return 1;
    if (entry.key.includes(query)) return 2;
    if (entry.all.includes(query)) return isWhole(entry.all, query) ? 3 : 4;
    return words.every((word) => entry.key.includes(word)) ? 5 : 6;
  };
  const matching = (query) => entries
    .filter((entry) => words.every((word) => entry.all.includes(word)))
    .map((entry, place) => [rank(entry, query), place, entry])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .map((item) => item[2]);

  // A text with the words that were looked for marked; of a long one the part around the first.
  const marked = (element, text) => {
    const low = text.toLowerCase();
    const first = Math.min(...words.map((word) => low.indexOf(word)).filter((place) => place >= 0), text.length);
    let from = first < text.length && first > 60 ? text.lastIndexOf(" ", first - 30) + 1 : 0;
    if (from) element.append("… ");
    while (from < text.length) {
      const next = words.map((word) => [low.indexOf(word, from), word.length]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0] || b[1] - a[1])[0];
      if (!next) break;
      element.append(text.slice(from, next[0]), make("mark", text.slice(next[0], next[0] + next[1])));
      from = next[0] + next[1];
    }
    element.append(text.slice(from));
    return element;
  };

  const close = () => { results.hidden = true; search.setAttribute("aria-expanded", "false"); search.removeAttribute("aria-activedescendant"); at = -1; };
  const look = (query) => { words = query.toLowerCase().split(/\s+/).filter(Boolean); document.dispatchEvent(new CustomEvent("shapelog:search", { detail: words })); };
  const clear = () => { search.value = ""; look(""); close(); search.blur(); };
  const select = (position) => {
    at = found.length ? (position + found.length) % found.length : -1;
    [...results.children].forEach((item, number) => {
      item.setAttribute("aria-selected", String(number === at));
      if (number === at) { search.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); }
    });
  };
  const follow = (entry) => {
    clear();
    if (entry.heading) shapelog.goTo(entry.where, entry.heading);
    else if (location.hash === `#${entry.where}`) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = `#${entry.where}`;
  };
  const option = (entry, number) => {
    const item = make("li");
    item.id = `result-${number}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(make("span", entry.kind, "kind"), marked(make("span", undefined, "title"), entry.title), marked(make("span", undefined, "dim"), entry.text));
    item.addEventListener("mousedown", (event) => { event.preventDefault(); follow(entry); });
    return item;
  };
  const show = async () => {
    look(search.value);
    if (!words.length) { close(); return; }
    const asked = search.value;
    try { await load(); } catch { entries = headings().map(prepared); }
    if (search.value !== asked) return;
    const all = matching(asked.trim().toLowerCase());
    found = all.slice(0, MOST);
    results.replaceChildren(...found.map(option));
    const note = all.length ? (all.length > MOST ? `${all.length - MOST} more: add a word` : "") : "Nothing found";
    if (note) { const last = make("li", note, "dim"); last.setAttribute("role", "option"); last.setAttribute("aria-disabled", "true"); results.append(last); }
    results.hidden = false;
    search.setAttribute("aria-expanded", "true");
    select(0);
  };

  search.addEventListener("focus", () => { load().catch(() => {}); });
  search.addEventListener("input", show);
  search.addEventListener("blur", close);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); select(at + 1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); select(at - 1); }
    else if (event.key === "Enter" && found[at] && !results.hidden) { event.preventDefault(); follow(found[at]); }
    else if (event.key === "Escape") clear();
  });

  // #compile-0-3?record=guards opens the records of the compilation at this one.
  const toRecord = async () => {
    const [name, query] = shapelog.keep.now();
    const record = query.get("record");
    const compile = record && await arrived(name);
    const row = compile && $$(".records tr[data-record]", compile).find((item) => item.dataset.record === record);
    if (row) shapelog.goTo(name, row);
  };
  window.addEventListener("hashchange", () => setTimeout(toRecord));
  toRecord();
})();
