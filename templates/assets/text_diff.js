// Two texts line by line: which lines are the same, changed, gone or new, as a table and as a unified diff.
const textDiff = (() => {
  const { make, parts, readable } = shapelog;
  // Lines that differ, of both texts together: memory and time grow with their square.
  const MOST_DIFFERENT = 6000;
  // Lines that are the same around each difference, and rows that are drawn at a time.
  const CONTEXT = 3;
  const MOST_ROWS = 1000;
  // What a line of a graph or of guards is about: the first name in it.
  const NAME = /^\W*\w*/;

  // Longer lines that are JSON are compared item by item.
  const LONGEST_JSON = 100;
  const isJson = (text) => { try { JSON.parse(text); return true; } catch { return false; } };
  const indented = (json) => {
    let depth = 0;
    const start = () => `\n${"  ".repeat(depth)}`;
    return json.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],]\s*/g, (part) => {
      if (part[0] === "\"" || (part.length > 1 && /[}\]]$/.test(part))) return part;
      if ("{[".includes(part[0])) { depth += 1; return part[0] + start(); }
      if (part[0] === ",") return part[0] + start();
      depth -= 1;
      return start() + part[0];
    });
  };
  const linesOf = (text) => text.split("\n").flatMap((line) => (line.length > LONGEST_JSON && /^\s*[[{]/.test(line) && isJson(line) ? indented(line).split("\n") : [line]));

  const commonStart = (one, other) => {
    let size = 0;
    while (size < one.length && size < other.length && one[size] === other[size]) size += 1;
    return size;
  };
  const commonEnd = (one, other, start) => {
    let size = 0;
    while (size < Math.min(one.length, other.length) - start && one[one.length - 1 - size] === other[other.length - 1 - size]) size += 1;
    return size;
  };

  // How far each diagonal gets with 0, 1, 2, ... differences, until the end of both is reached; null where `most` are not enough.
  // This is the greedy algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986). Diagonal 2 * i - d is at index i.
  const reached = (one, other, most) => {
    const found = [];
    for (let d = 0; d <= most; d += 1) {
      const [now, before] = [new Int32Array(d + 1), found[d - 1]];
      found.push(now);
      for (let i = 0; i <= d; i += 1) {
        const diagonal = 2 * i - d;
        let x = d === 0 ? 0 : isDown(before, i, d) ? before[i] : before[i - 1] + 1;
        while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
        now[i] = x;
        if (x >= one.length && x - diagonal >= other.length) return found;
      }
    }
    return null;
  };
  // Whether the best way to the diagonal at index i takes an item of the other list.
  const isDown = (before, i, d) => i === 0 || (i !== d && before[i - 1] < before[i]);

  // The pairs [i, j] of equal items in a shortest edit of one list into the other; null where more than `most` items differ.
  const matched = (one, other, most = MOST_DIFFERENT) => {
    const start = commonStart(one, other);
    const end = commonEnd(one, other, start);
    const steps = reached(one.slice(start, one.length - end), other.slice(start, other.length - end), most);
    if (!steps) return null;
    const pairs = [];
    for (let offset = 1; offset <= end; offset += 1) pairs.push([one.length - offset, other.length - offset]);
    let [x, y] = [one.length - end - start, other.length - end - start];
    for (let d = steps.length - 1; d >= 0; d -= 1) {
      const i = (x - y + d) / 2;
      const down = d > 0 && isDown(steps[d - 1], i, d);
      const from = d === 0 ? 0 : down ? steps[d - 1][i] : steps[d - 1][i - 1] + 1;
      while (x > from) { x -= 1; y -= 1; pairs.push([start + x, start + y]); }
      if (down) y -= 1; else x -= 1;
    }
    for (let index = start - 1; index >= 0; index -= 1) pairs.push([index, index]);
    return pairs.reverse();
  };

  // Calls `same` with each pair, and `between` with the ranges before, between and after them.
  const walk = (one, other, pairs, same, between) => {
    let [i, j] = [0, 0];
    for (const [a, b] of [...pairs, [one.length, other.length]]) {
      if (a > i || b > j) between(i, a, j, b);
      if (a < one.length && b < other.length) same(a, b);
      [i, j] = [a + 1, b + 1];
    }
  };

  // The rows { kind, left, right } of two lists of lines, which are indexes, -1 for none; null where too much differs. Lines that differ
  // and begin with the same name share a row.
  const compared = (one, other) => {
    const pairs = matched(one, other);
    if (!pairs) return null;
    const rows = [];
    walk(one, other, pairs, (left, right) => rows.push({ kind: "same", left, right }), (i, a, j, b) => {
      const [names, others] = [one.slice(i, a), other.slice(j, b)].map((lines) => lines.map((line) => NAME.exec(line)[0]));
      walk(names, others, matched(names, others) || [], (left, right) => rows.push({ kind: "changed", left: i + left, right: j + right }), (c, d, e, f) => {
        for (let left = c; left < d; left += 1) rows.push({ kind: "gone", left: i + left, right: -1 });
        for (let right = e; right < f; right += 1) rows.push({ kind: "new", left: -1, right: j + right });
      });
    });
    return rows;
  };

  // [rows that are shown, rows that are the same and folded], in turns. A few lines are not worth a fold.
  const folded = (rows) => {
    const near = new Uint8Array(rows.length);
    rows.forEach((row, index) => { if (row.kind !== "same") near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1); });
    const endOf = (at) => {
      let end = at;
      while (end < rows.length && near[end] === near[at]) end += 1;
      return end;
    };
    for (let at = 0; at < rows.length; at = endOf(at)) if (!near[at] && endOf(at) - at <= CONTEXT) near.fill(1, at, endOf(at));
    const found = [];
    for (let at = 0; at < rows.length;) {
      const end = near[at] ? endOf(at) : at;
      const next = end < rows.length ? endOf(end) : end;
      found.push([rows.slice(at, end), rows.slice(end, next)]);
      at = next;
    }
    return found;
  };

  // Each line as a list of [text, class]: a string may span several.
  const byLine = (text) => {
    const lines = [[]];
    for (const [part, kind] of parts(text)) {
      part.split("\n").forEach((piece, index) => {
        if (index) lines.push([]);
        if (piece) lines.at(-1).push([piece, kind]);
      });
    }
    return lines;
  };
  // What two lines do not have in common, as [start, end] of each. Characters of two halves stay whole.
  const changes = (one, other) => {
    const isHalf = (text, at) => /[\udc00-\udfff]/.test(text[at] || "");
    let start = commonStart(one, other);
    if (isHalf(one, start) || isHalf(other, start)) start -= 1;
    let end = commonEnd(one, other, start);
    if (isHalf(one, one.length - end) || isHalf(other, other.length - end)) end -= 1;
    return [[start, one.length - end], [start, other.length - end]];
  };
  const put = (where, found, from, to) => {
    let at = 0;
    for (const [text, kind] of found) {
      const piece = text.slice(Math.max(0, from - at), Math.max(0, to - at));
      at += text.length;
      if (piece) where.append(kind ? make("span", piece, kind) : piece);
    }
  };
  const cells = (line, number, [start, end]) => {
    if (!line) return [make("td", "", "no"), make("td", "", "none")];
    const cell = make("td", undefined, "text");
    put(cell, line, 0, start);
    const mark = make("mark");
    put(mark, line, start, end);
    if (end > start) cell.append(mark);
    put(cell, line, end, Infinity);
    return [make("td", String(number), "no"), cell];
  };
  const whole = (line) => line.map(([text]) => text).join("");

  // The table of a comparison. `names` head its two sides; `focus` is called after rows were unfolded by a button that is gone then.
  const table = (rows, sides, names, focus) => {
    const lines = sides.map((side) => byLine(readable(side.join("\n"))));
    const drawn = ({ kind, left, right }) => {
      const [one, other] = [lines[0][left], lines[1][right]];
      const marks = kind === "changed" ? changes(whole(one), whole(other)) : [[0, 0], [0, 0]];
      const item = make("tr", undefined, kind);
      item.append(...cells(one, left + 1, marks[0]), ...cells(other, right + 1, marks[1]));
      return item;
    };
    const button = (label, rowsOf) => {
      const [item, cell, opener] = [make("tr", undefined, "skipped"), make("td"), make("button", label)];
      opener.type = "button";
      cell.colSpan = 4;
      cell.append(opener);
      item.append(cell);
      opener.addEventListener("click", () => { item.replaceWith(...rowsOf()); focus(); });
      return item;
    };
    const some = (items) => {
      const found = items.slice(0, MOST_ROWS).map((item) => (item.hidden ? button(lineCount(item.hidden.length), () => some(item.hidden)) : drawn(item)));
      const rest = items.slice(MOST_ROWS);
      if (rest.length) found.push(button(`Show more: ${rest.length.toLocaleString("en")} rows are left`, () => some(rest)));
      return found;
    };
    const found = make("table", undefined, "diff");
    const columns = make("colgroup");
    columns.append(make("col", undefined, "no"), make("col"), make("col", undefined, "no"), make("col"));
    const head = found.createTHead().insertRow();
    names.forEach((name) => {
      const cell = make("th", name);
      cell.scope = "col";
      cell.colSpan = 2;
      head.append(cell);
    });
    found.prepend(columns);
    found.createTBody().append(...some(folded(rows).flatMap(([shown, hidden]) => (hidden.length ? [...shown, { hidden }] : shown))));
    return found;
  };
  const lineCount = (count) => `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"} the same`;

  // The same as text that `patch` takes, without the rows that are folded.
  const unified = (rows, [one, other], names) => {
    const found = [`--- ${names[0]}`, `+++ ${names[1]}`];
    for (const [shown] of folded(rows)) {
      if (!shown.length) continue;
      const [lefts, rights] = ["left", "right"].map((side) => shown.map((row) => row[side]).filter((index) => index >= 0));
      const at = (indexes) => `${indexes.length ? indexes[0] + 1 : 0},${indexes.length}`;
      found.push(`@@ -${at(lefts)} +${at(rights)} @@`);
      let added = [];
      for (const { kind, left, right } of shown) {
        if (kind === "same") { found.push(...added, ` ${one[left]}`); added = []; continue; }
        if (left >= 0) found.push(`-${one[left]}`);
        if (right >= 0) added.push(`+${other[right]}`);
      }
      found.push(...added);
    }
    return `${found.join("\n")}\n`;
  };

  return { compared, isJson, linesOf, MOST_DIFFERENT, table, unified };
})();
