// What if: adds up the replayed costs of the suggestions that are ticked. The page has the costs; nothing is estimated here.
(() => {
  const { $, $$, announce, keep } = shapelog;
  const block = $("#what-if-data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const panel = $("#what-if");
  const boxes = $$("input[name=\"what-if\"]", panel);
  const LONGEST = 20000;
  const [COMPILES, HITS, MORE, LEAST, MOST] = [0, 1, 2, 3, 4];
  const every = new Set(data.ticks.flat());
  const nothing = new Set();

  // A cost is [compiles, limit hits, up to how many more, seconds from, to (null without an upper end)].
  const sum = (costs) => costs.reduce((all, cost) => all.map((value, place) => (value === null || cost[place] === null ? null : value + cost[place])), [0, 0, 0, 0, 0]);
  const costOf = ([conditions, costs], chosen) => {
    const held = conditions.map((needed, place) => (needed.every((item) => chosen.has(item)) ? place : -1)).filter((place) => place >= 0);
    return costs[held.join(",")];
  };
  const costOfRow = (row, chosen) => sum(row.map((place) => costOf(data.outcomes[place], chosen)));
  const costOfRun = (chosen) => sum([data.others, ...data.outcomes.map((outcome) => costOf(outcome, chosen))]);

  // Times as the rest of the page writes them.
  const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]];
  const seconds = (value) => {
    const whole = Math.round(value);
    if (whole < 60) return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(1)} s`;
    const [size, name, part, small] = UNITS.find((unit) => whole >= unit[0]);
    const rest = Math.floor((whole % size) / part);
    return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${small}` : ""}`;
  };
  const range = (least, most) => {
    if (most === null) return `at least ${seconds(least)}`;
    const [low, high] = [seconds(least), seconds(most)];
    if (low === high) return low;
    return `${high.endsWith(" s") && !high.includes(" min") ? low.replace(/ s$/, "") : low}–${high}`;
  };
  const number = (least, more) => (more ? `${least}–${least + more}` : String(least));
  const counted = (compiles, hits, more) => [compiles || more || !hits ? number(compiles, more) : "", hits ? `${hits} refused` : ""].filter(Boolean).join(" + ");

  const gauge = (svg, before, least, most) => {
    const share = (value) => `${before ? Math.min(100, (100 * value) / before) : 0}%`;
    $(".range", svg).setAttribute("width", share(most === null ? before : most));
    $(".now", svg).setAttribute("width", share(least));
  };
  const figure = (name, before, text, least, most) => {
    const shown = document.getElementById(name);
    if (!shown) return;
    shown.textContent = text;
    gauge($("svg.gauge", shown.closest("li")), before, least, most);
    shown.closest("li").classList.toggle("better", most !== null && most < before);
  };

  const before = costOfRun(nothing);
  const rows = $$(".by-frame tbody tr", panel).map((element, place) => ({ element, own: data.rows[place], before: costOfRow(data.rows[place], nothing) }));

  const showRun = (chosen) => {
    const cost = costOfRun(chosen);
    figure("wi-compiles", before[COMPILES], number(cost[COMPILES], cost[MORE]), cost[COMPILES], cost[COMPILES] + cost[MORE]);
    const mostHits = cost[MORE] ? Math.max(before[HITS], cost[HITS]) : cost[HITS];
    figure("wi-limit", before[HITS], number(cost[HITS], mostHits - cost[HITS]), cost[HITS], mostHits);
    figure("wi-seconds", before[LEAST], range(cost[LEAST], cost[MOST]), cost[LEAST], cost[MOST]);
    return cost;
  };
  const showRow = (row, chosen) => {
    const cost = costOfRow(row.own, chosen);
    $(".total", row.element).textContent = counted(cost[COMPILES], cost[HITS], cost[MORE]);
    $(".total", row.element).classList.toggle("better", cost[COMPILES] + cost[HITS] < row.before[COMPILES] + row.before[HITS]);
    const time = $(".time", row.element);
    if (!time) return;
    time.textContent = range(cost[LEAST], cost[MOST]);
    time.classList.toggle("better", cost[MOST] !== null && cost[MOST] < row.before[LEAST]);
    gauge($("svg.gauge", row.element), row.before[LEAST], cost[LEAST], cost[MOST]);
  };

  const saved = (compiles, hits, isSure, isChosen) => {
    const calls = hits ? `${isChosen ? "avoids" : "avoid"} ${hits} refused ${hits === 1 ? "call" : "calls"}` : "";
    const made = compiles ? `${isChosen ? "saves" : "save"} ${isSure ? "" : "up to "}${compiles}` : "";
    return `${isChosen ? "" : "would "}${[made, calls].filter(Boolean).join(" and ")}`;
  };

  // What a box changes where all others stay as they are.
  const effect = (place, chosen) => {
    const own = data.ticks[place];
    const [without, together] = [new Set(chosen), new Set(chosen)];
    own.forEach((item) => { without.delete(item); together.add(item); });
    const costs = data.outcomes.map((outcome) => [costOf(outcome, without), costOf(outcome, together)]);
    const [compiles, hits] = [COMPILES, HITS].map((part) => costs.reduce((all, [one, other]) => all + one[part] - other[part], 0));
    const isSure = costs.every(([one, other]) => one[MORE] === other[MORE]);
    if (compiles + hits > 0) return saved(compiles + Math.min(0, hits), Math.max(0, hits), isSure, boxes[place].checked);
    const missing = new Set();
    data.outcomes.forEach(([conditions]) => conditions.forEach((needed) => {
      if (needed.some((item) => own.includes(item))) needed.filter((item) => !together.has(item)).forEach((item) => missing.add(item));
    }));
    const names = boxes.filter((box, other) => data.ticks[other].some((item) => missing.has(item))).map((box) => (box.value === "rest" ? "the rest" : box.value));
    if (!names.length) return "no effect alone";
    return `needs ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
  };
  const showEffects = (chosen) => boxes.forEach((box, place) => {
    const text = $(".effect", box.closest("li"));
    text.textContent = effect(place, chosen);
    text.classList.toggle("none", !/save|avoid/.test(text.textContent));
  });

  // The text to paste, as shapelog suggest-dynamic writes it.
  const unique = (pairs) => [...new Map(pairs).entries()];
  const shell = (value) => (value.match(/[!`]+|[^!`]+/g) || []).map((part) => (/[!`]/.test(part[0]) ? `'${part}'` : `"${part.replace(/\\(?=[\\"$\n]|$)|["$]/g, "\\$&")}"`)).join("");
  const python = (entries, code) => {
    const lines = [];
    if (entries.length) {
      lines.push("import torch.compiler", "", "# before the first compiled call");
      const list = entries.length === 1 ? entries[0][1] : ["\",\".join(", "    (", ...entries.map((entry) => `        ${entry[1]},`), "    )", ")"].join("\n");
      lines.push(`torch.compiler.config.dynamic_sources = ${list}`);
    }
    if (code.length) {
      lines.push(...(entries.length ? ["", data.or_in_code] : ["import torch._dynamo", ""]));
      const byHeading = new Map();
      code.forEach((item) => {
        const [heading, ...own] = item[entries.length ? 0 : 1];
        byHeading.set(heading, [...(byHeading.get(heading) || []), ...own]);
      });
      byHeading.forEach((own, heading) => lines.push(heading, ...new Set(own)));
    }
    return lines.join("\n");
  };
  // An entry is [text, literal of Python], and where one expression stands for several of them [text, literal, expression, its literal].
  const counts = (entries) => entries.reduce((all, entry) => all.set(entry[2], (all.get(entry[2]) || 0) + 1), new Map());
  const inAll = counts(data.entries.flat());
  const listed = (entries) => {
    const own = counts(entries);
    const [all, short] = [entries, entries.map((entry) => (entry[2] && own.get(entry[2]) === inAll.get(entry[2]) ? entry.slice(2) : entry))]
      .map((items) => unique([...data.already, ...items.map((item) => item.slice(0, 2))]));
    const [long, brief] = [all, short].map((items) => items.map((item) => item[0]).join(",").length);
    return long > data.long_list && brief * 2 < long ? short : all;
  };
  const written = (chosen, format) => {
    const places = [...chosen].sort((a, b) => a - b);
    const added = places.flatMap((place) => data.entries[place]);
    const entries = added.length ? listed(added) : [];
    const code = places.map((place) => data.code[place]).filter((item) => item.length);
    const value = entries.map((entry) => entry[0]).join(",");
    const text = { shell: value && `export ${data.variable}=${shell(value)}`, value, python: python(entries, code) }[format];
    if (!text) return "# nothing is ticked";
    return text.length > LONGEST ? `# ${entries.length} entries: run shapelog suggest-dynamic with --format shell, env, or python to print them` : text;
  };
  const formats = $$("input[name=\"wi-format\"]", panel);
  const format = () => formats.find((box) => box.checked).value;
  const showText = (chosen) => { $(".paste pre code", panel).textContent = written(chosen, format()); };

  const chosenNow = () => new Set(boxes.flatMap((box, place) => (box.checked ? data.ticks[place] : [])));
  const show = () => {
    const chosen = chosenNow();
    const cost = showRun(chosen);
    rows.forEach((row) => showRow(row, chosen));
    showEffects(chosen);
    showText(chosen);
    return cost;
  };
  const changed = () => {
    const cost = show();
    announce(`${number(cost[COMPILES], cost[MORE])} compilations, ${range(cost[LEAST], cost[MOST])}`);
    keep.write("advice");
  };
  const tickAll = (value) => { boxes.forEach((box) => { box.checked = value; }); changed(); };

  boxes.forEach((box) => { box.hidden = false; box.checked = true; box.addEventListener("change", changed); });
  $$(".with-js", panel).forEach((element) => { element.hidden = false; });
  $("#wi-all", panel).addEventListener("click", () => tickAll(true));
  $("#wi-none", panel).addEventListener("click", () => tickAll(false));
  formats.forEach((box, place) => {
    box.checked = place === 0;
    box.addEventListener("change", () => { showText(chosenNow()); keep.write("advice"); });
  });
  show();
  keep.add("advice", "off", () => {
    const off = boxes.filter((box) => !box.checked).map((box) => box.value);
    return off.length === boxes.length ? "all" : off.join(" ");
  }, (value) => {
    const off = value.split(" ");
    boxes.forEach((box) => { box.checked = value !== "all" && !off.includes(box.value); });
    show();
  });
  keep.add("advice", "format", () => (formats[0].checked ? "" : format()), (value) => {
    formats.forEach((box, place) => { box.checked = value ? box.value === value : place === 0; });
    if (!formats.some((box) => box.checked)) formats[0].checked = true;
    showText(chosenNow());
  });
})();
