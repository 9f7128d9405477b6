// The views of a report, one at a time, and what is compressed in them.
(() => {
  const { $, $$, announce, make } = shapelog;
  const index = JSON.parse($("#index").textContent);
  const title = document.title;

  // Payloads and details that are compressed.
  const unpacked = new Map();
  const unpack = (name) => {
    if (!unpacked.has(name)) {
      const packed = document.getElementById(name);
      if (!packed) return Promise.reject(new Error("it is not in this page"));
      if (!window.DecompressionStream) return Promise.reject(new Error("this browser is too old to unpack it"));
      const bytes = Uint8Array.from(atob(packed.textContent.trim()), (character) => character.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
      unpacked.set(name, new Response(stream).text());
    }
    return unpacked.get(name);
  };

  // Characters that are invisible, or that hide or reorder the text around them, as escapes: in payloads as everywhere else in the page.
  const UNSAFE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u2800\u{1d159}\ufff9-\ufffb\ud800-\udfff\p{Default_Ignorable_Code_Point}]/gu;
  const escaped = (character) => {
    const code = character.codePointAt(0);
    const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${mark}${code.toString(16).padStart(width, "0")}`;
  };

  const readable = (text) => text.replace(UNSAFE, escaped);

  // Code of an opened payload in colors, as [text, class]; what is long stays plain.
  const PYTHON = /(#[^\n]*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b|\b(\d[\w.]*)/g;
  const JSON_TEXT = /(\b\B)|("(?:[^"\\\n]|\\.)*")|\b(true|false|null)\b|(-?\b\d[\d.eE+-]*)/g;
  const CLASSES = ["hc", "hs", "hk", "hn"];
  const LONGEST = 200000;
  const parts = (text) => {
    const pattern = /^\s*[[{]/.test(text) ? JSON_TEXT : /^\s*(?:class|def|import|from|@|#|async_compile)\b|\n\s*(?:def|import) \w/.test(text) ? PYTHON : null;
    if (!pattern || text.length > LONGEST) return [[text, ""]];
    const found = [];
    let at = 0;
    for (const match of text.matchAll(pattern)) {
      const kind = match.slice(1).findIndex((part) => part !== undefined);
      found.push([text.slice(at, match.index), ""], [match[0], CLASSES[kind]]);
      at = match.index + match[0].length;
    }
    return [...found, [text.slice(at), ""]];
  };

  const save = (name, text) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    announce(`Saved as ${name}`);
  };

  const withButtons = (root) => {
    $$("button.save", root).forEach((button) => { button.hidden = false; });
    $$("button.open", root).forEach((button) => {
      button.hidden = false;
      if (document.getElementById(button.dataset.chunk)) button.setAttribute("aria-expanded", "false");
      else button.replaceWith(make("span", "left out to keep the page small (--embed all includes it)", "dim small"));
    });
  };
  const enhance = (root) => { shapelog.enhance(root); withButtons(root); };

  const pages = () => $$("main > .page");
  const frames = () => $$("main > .frame");
  const links = $$("nav a");

  const arrived = async (name) => {
    let target = document.getElementById(name);
    const owner = target ? target.closest("main > .page") : document.getElementById(index.inside[name] || "");
    if (owner && owner.dataset.chunk) {
      const template = make("template");
      try {
        template.innerHTML = await unpack(owner.dataset.chunk);
        const article = template.content.getElementById(owner.id); // others may be compressed with it
        article.hidden = owner.hidden;
        owner.replaceWith(article);
        enhance(article);
      } catch (error) {
        owner.append(make("p", `The details could not be unpacked: ${error.message}`, "alert"));
        delete owner.dataset.chunk;
      }
      target = document.getElementById(name);
    }
    return target;
  };

  // Shows a part of a page that has no name of its own.
  const goTo = async (name, part) => {
    if (location.hash.slice(1).split("?")[0] !== name) { location.hash = `#${name}`; await new Promise((done) => { setTimeout(done, 50); }); }
    for (let around = part; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    $$(".target").forEach((other) => other.classList.remove("target"));
    part.classList.add("target");
    part.tabIndex = -1;
    part.focus({ preventScroll: true });
    part.scrollIntoView({ block: "start" });
  };

  const route = async (moves) => {
    let name = location.hash.slice(1).split("?")[0]; // the rest is what address.js keeps
    try { name = decodeURIComponent(name); } catch { /* then it names nothing */ }
    name = index.aliases[name] || name;
    if (name === "main") return;
    const asked = location.hash.split("?")[0];
    const target = (name && await arrived(name)) || $("#overview");
    if (location.hash.split("?")[0] !== asked) return; // it took a while, and another part was asked for since
    const page = target.closest("main > .page");
    pages().forEach((other) => { other.hidden = other !== page; });
    $$(".target").forEach((other) => other.classList.remove("target"));
    const part = page.classList.contains("frame") ? "frames" : page.id;
    links.forEach((link) => { if (link.hash === `#${part}`) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current"); });
    const current = $(".top nav [aria-current]");
    if (current) current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.offsetLeft - 60; // on a phone
    const heading = $("h1", page);
    document.title = page.id === "overview" ? title : `${heading.textContent} · ${title}`;
    for (let around = target; around && around !== page; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    if (target === page) {
      window.scrollTo(0, 0);
    } else {
      target.classList.add("target");
      target.scrollIntoView({ block: "start" });
    }
    if (moves) {
      const place = target === page ? page : target.tagName === "DETAILS" ? $("summary", target) : target;
      if (!place.hasAttribute("tabindex") && place.tagName !== "SUMMARY") place.tabIndex = -1;
      place.focus({ preventScroll: true });
    }
  };

  // The tables of the page Frames, filtered by text, kinds and rules.
  const filter = $("#filter");
  const listed = ["all-frames", "all-recompiles"].map((name) => document.getElementById(name)).filter(Boolean).map((table) => {
    const rows = table.tHead.nextElementSibling.hasAttribute("data-kinds") ? [...table.tBodies] : [...table.tBodies[0].rows];
    const texts = (row) => [row.textContent, ...$$("[title]", row).map((part) => part.title)].join(" ").toLowerCase();
    return { table, rows: rows.map((row) => ({ row, text: texts(row) })) };
  });
  const sift = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = (name) => $$(`input[name="${name}"]:checked`).map((box) => box.value);
    const [kinds, rules] = [chosen("kind"), chosen("rule")];
    const has = (list, wanted) => !wanted.length || wanted.some((item) => (list || "").split(" ").includes(item));
    const shown = listed.map(({ table, rows }) => {
      rows.forEach(({ row, text }) => {
        row.hidden = !(words.every((word) => text.includes(word)) && has(row.dataset.kinds, kinds) && has(row.dataset.rules, rules));
      });
      table.dispatchEvent(new Event("shapelog:rows"));
      return rows.filter(({ row }) => !row.hidden).length;
    });
    $("#shown").textContent = words.length || kinds.length || rules.length ? `${shown[0]} of ${listed[0].rows.length} functions` : "";
    $("#nothing").hidden = shown.some(Boolean);
    listed.forEach(({ table }, place) => { (table.closest(".block") || table.closest(".scroll")).classList.toggle("beyond", !shown[place]); });
  };
  const clearFilter = () => {
    filter.value = "";
    $$(".filters input:checked").forEach((box) => { box.checked = false; });
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    filter.focus();
  };

  const step = (by) => {
    const all = frames();
    if (!all.length) return;
    const now = all.findIndex((page) => !page.hidden);
    const next = now < 0 ? 0 : Math.min(all.length - 1, Math.max(0, now + by));
    location.hash = `#${all[next].id}`;
  };

  // A compilation that is opened is in the address, so that a reload, or a link to it, opens it again.
  document.addEventListener("click", (event) => {
    const summary = event.target.closest("details.compile > summary");
    if (!summary) return;
    const details = summary.parentElement;
    try { history.replaceState(history.state, "", `#${details.open ? details.closest(".page").id : details.id}`); } catch { /* as in address.js */ }
  });

  withButtons(document);
  if (filter) {
    filter.addEventListener("input", sift);
    $("#nothing button").addEventListener("click", clearFilter);
    $$(".filters input[type=\"checkbox\"]").forEach((box) => box.addEventListener("change", sift));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "o") location.hash = "#overview";
  });
  let closed = [];
  window.addEventListener("beforeprint", () => { closed = $$("main > .page:not([hidden]) details:not([open])"); closed.forEach((details) => { details.open = true; }); });
  window.addEventListener("afterprint", () => { closed.forEach((details) => { details.open = false; }); });
  window.addEventListener("hashchange", () => route(true));
  route(false);
  Object.assign(shapelog, { arrived, goTo, parts, readable, save, unpack, withButtons });
})();
