// A payload that is opened: its versions in the other compilations of the frame, two of them compared, and each as a file.
(() => {
  const { $, $$, announce, copy, make, parts, readable, save, unpack } = shapelog;

  const titleOf = (row) => row.cells[0].firstChild.textContent.trim();
  const versionOf = (row, label, place) => {
    const button = $("button.open", row);
    return { label, place, row, chunk: button?.dataset.chunk, file: button?.dataset.file, note: button ? "" : $("td > .dim:not(.without-js)", row)?.textContent };
  };
  // The payloads with the title of this one, of all compilations of the frame in their order; those left out have a note in place of a chunk.
  const versionsOf = (row) => {
    const compiles = row.closest("details.compile") ? $$("details.compile", row.closest("article")) : [];
    return compiles.length ? compiles.flatMap((compile) => {
      const label = $(".label", compile).textContent;
      const rows = $$(".records > tbody > tr:not(.opened)", compile).filter((other) => titleOf(other) === titleOf(row));
      return rows.map((other, place) => versionOf(other, rows.length > 1 ? `${label} (${place + 1} of ${rows.length})` : label, place));
    }) : [versionOf(row, "", 0)];
  };

  const PROGRAM = /^\s*(?:#[^\n]*\n\s*)*(?:import \w|from [\w.]+ import |def \w+\(|class (?:\w+|<lambda>)[(:])/;
  const CPP = /^\s*(?:\/\/[^\n]*\n\s*)*#(?:include|pragma|define)\b/;
  const suffixOf = (text) => {
    if (/^\s*[[{]/.test(text)) return textDiff.isJson(text) ? ".json" : textDiff.isJson(text.split("\n", 1)[0]) ? ".jsonl" : ".txt";
    return CPP.test(text) ? ".cpp" : PROGRAM.test(text) ? ".py" : ".txt";
  };
  const fileName = (version, text) => version.file + suffixOf(text);
  const pressed = (label, action) => {
    const button = make("button", label);
    button.type = "button";
    button.addEventListener("click", () => action(button));
    return button;
  };
  const codeOf = (text, label) => {
    const [pre, code] = [make("pre"), make("code")];
    for (const [part, kind] of parts(readable(text))) if (part) code.append(kind ? make("span", part, kind) : part);
    pre.tabIndex = 0;
    pre.setAttribute("aria-label", label);
    pre.append(code);
    return pre;
  };

  const panelOf = (row) => {
    const title = titleOf(row);
    const versions = versionsOf(row);
    let now = versions.findIndex((version) => version.row === row);
    let other = null; // what it is compared with
    let shown; // as `content` makes it
    let asked = 0;
    const panel = make("div", undefined, "payload");
    const bar = make("div", undefined, "versions");
    const heading = make("p", undefined, "which");
    const place = make("div", undefined, "shown");
    panel.setAttribute("role", "group");

    // The neighbor with the payload at the same place among those of its title: a forward and a backward have one each.
    const neighbor = (by) => {
      for (let index = now + by; versions[index]; index += by) if (versions[index].place === versions[now].place) return index;
      return -1;
    };
    const turns = [-1, 1].map((by) => pressed("", () => { const next = neighbor(by); if (next >= 0) show(next, other); }));
    turns.forEach((button, side) => button.setAttribute("aria-keyshortcuts", "[]"[side]));
    const select = make("select");
    select.append(new Option("nothing", ""), ...versions.map((version, index) => new Option(version.label, index)));
    const label = make("label", "Compare with ");
    label.append(select);
    select.addEventListener("change", () => show(now, select.value === "" ? null : Number(select.value)));
    const actions = [pressed("Copy", (button) => copy(readable(shown.text), button)), pressed("Download", () => save(shown.name, shown.text))];

    const drawBar = () => {
      turns.forEach((button, side) => {
        const index = neighbor(side ? 1 : -1);
        button.disabled = index < 0;
        button.textContent = `${side ? "next" : "previous"}: ${index < 0 ? "none" : versions[index].label}`;
      });
      [...select.options].slice(1).forEach((option, index) => {
        const isSame = index !== now && versions[now].chunk && versions[index].chunk === versions[now].chunk;
        option.textContent = versions[index].label + (isSame ? ", the same text" : versions[index].chunk ? "" : ", left out");
        option.hidden = option.disabled = index === now;
      });
      select.value = other === null ? "" : String(other);
    };
    const drawHeading = (pair) => {
      heading.replaceChildren(make("b", title));
      if (versions.length > 1) pair.forEach((index, side) => heading.append(side ? " and " : " of ", make("b", versions[index].label)));
      panel.setAttribute("aria-label", `Payload: ${heading.textContent}`);
    };
    // What is drawn, and the text that the buttons copy and save, under its name; "" hides them.
    const content = (drawn, text = "", name = "") => ({ drawn, text, name });
    const leftOut = (index) => make("p", `The ${title} of ${versions[index].label}: ${versions[index].note}`, "alert quiet");

    const compare = (pair, texts) => {
      const sides = texts.map(textDiff.linesOf);
      const rows = textDiff.compared(...sides);
      const names = pair.map((index, side) => fileName(versions[index], texts[side]));
      if (!rows) {
        const found = make("p", `They differ in more than ${textDiff.MOST_DIFFERENT.toLocaleString("en")} lines, too many to compare here. `, "alert quiet");
        found.append(...pair.flatMap((index, side) => [pressed(`Download ${names[side]}`, () => save(names[side], texts[side])), " "]));
        return content([found]);
      }
      const count = rows.filter((item) => item.kind !== "same").length;
      if (!count) return content([make("p", "The same text.", "dim")], texts[0], names[0]);
      const box = make("div", undefined, "scroll");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", `${title}: ${pair.map((index) => versions[index].label).join(" and ")} side by side`);
      box.append(textDiff.table(rows, sides, pair.map((index) => versions[index].label), () => box.focus()));
      const drawn = [make("p", `${count.toLocaleString("en")} ${count === 1 ? "line differs" : "lines differ"}`, "dim small"), box];
      return content(drawn, textDiff.unified(rows, sides, names), `${names.join("-")}.diff`);
    };
    const contentOf = async (pair) => {
      const missing = pair.filter((index) => !versions[index].chunk);
      if (missing.length) return content(missing.map(leftOut));
      const texts = await Promise.all(pair.map((index) => unpack(versions[index].chunk)));
      return pair.length > 1 ? compare(pair, texts) : content([codeOf(texts[0], title)], texts[0], fileName(versions[pair[0]], texts[0]));
    };

    // Shows a version, or what is different in another: the earlier of both is on the left.
    const show = async (index, against) => {
      const turn = asked += 1;
      now = index;
      other = against === index ? null : against;
      const pair = other === null ? [now] : [now, other].sort((a, b) => a - b);
      let found;
      try { found = await contentOf(pair); } catch (error) { found = content([make("p", `It could not be unpacked: ${error.message}`, "alert")]); }
      if (turn !== asked) return; // another version was asked for since
      shown = found;
      const focused = document.activeElement;
      const [isInside, isGone] = [panel.contains(focused), place.contains(focused)];
      drawBar();
      drawHeading(pair);
      place.replaceChildren(...shown.drawn);
      actions.forEach((button, number) => {
        button.hidden = !shown.name;
        button.dataset.text = button.textContent = `${number ? "Download" : "Copy"}${shown.name.endsWith(".diff") ? " diff" : ""}`;
      });
      if (isGone || (isInside && focused.disabled)) ($("[tabindex]", place) || select).focus();
      if (isInside) announce(heading.textContent);
    };

    bar.append(heading);
    if (versions.length > 1) bar.append(...turns, label);
    bar.append(...actions);
    panel.append(bar, place);
    panel.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target === select || !"[]".includes(event.key)) return;
      turns["[]".indexOf(event.key)].click();
    });
    show(now, null);
    return panel;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.open, button.save");
    if (!button) return;
    if (button.classList.contains("save")) {
      unpack(button.dataset.chunk).then((text) => save(button.dataset.file, text), (error) => announce(`Could not be saved: ${error.message}`));
      return;
    }
    const row = button.closest("tr");
    const opens = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(opens));
    button.firstChild.textContent = opens ? "Close" : "Open";
    if (!opens) { row.nextElementSibling.remove(); return; }
    const [opened, cell] = [make("tr", undefined, "opened"), make("td")];
    cell.colSpan = row.cells.length;
    cell.append(panelOf(row));
    opened.append(cell);
    row.after(opened);
  });
})();
