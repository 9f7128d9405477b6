"""Two runs side by side in a terminal: the answer and the totals first, then the frames by the size of the change."""

import re
from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from shapelog.grouping import grouped
from shapelog.report.compare import Comparison, FrameChange
from shapelog.report.export_changes import ExportChanges
from shapelog.report.frame_changes import CauseChange, Counts, DimChange, DynamicSince, Effect
from shapelog.report.results import Cell, Column, Finding
from shapelog.report.same_changes import across_ranks, ranks_of
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import EFFECT_COLORS, READABLE, TextPage
from shapelog.rules import RULES, Remedy
from shapelog.text import (
    one_line,
    plural,
    seconds_as_printed,
    seconds_from_to,
    seconds_in_column,
    seconds_or_unknown,
    shorten,
    some_in_width,
)

_DIMS = {
    (DynamicSince.NEVER, DynamicSince.FIRST): "dynamic from the first compilation on (was static)",
    (DynamicSince.LATER, DynamicSince.FIRST): "dynamic from the first compilation on (was from a later one)",
    (DynamicSince.NEVER, DynamicSince.LATER): "dynamic from a later compilation on (was static)",
    (DynamicSince.FIRST, DynamicSince.LATER): "dynamic from a later compilation on (was from the first)",
    (DynamicSince.LATER, DynamicSince.NEVER): "static (was dynamic from a later compilation on)",
    (DynamicSince.FIRST, DynamicSince.NEVER): "static (was dynamic from the first compilation on)",
}
# The most lines that the value of a setting takes.
_VALUE = 2
# Of a longer list, the trace's reader keeps the first entries and how many more there are.
_LIST = re.compile(r"([^\s,]+(?:,[^\s,]+)+)(?: and (\d{1,18}) more)?")
_WORDS = {Effect.BETTER: "better", Effect.WORSE: "worse", Effect.MIXED: "mixed", Effect.SAME: "changed"}


def render_comparison(comparison: Comparison, options: Options) -> bytes:
    page = TextPage(options)
    _head(page, comparison)
    _totals(page, comparison)
    _exports(page, comparison.exports)
    for title, note, frames in (
        ("Frames that changed", "lost graphs first, then the largest change", comparison.changed),
        ("Only in the second run", "", tuple(item for item in comparison.new if item.is_changed)),
        ("Only in the first run", "", tuple(item for item in comparison.gone if item.is_changed)),
    ):
        _frames(page, title, note, frames)
    _left(page, comparison)
    _unchanged(page, comparison)
    _settings(page, comparison)
    return page.bytes()


def _head(page: TextPage, comparison: Comparison) -> None:
    traces = comparison.before.trace, comparison.after.trace
    names = [shorten(one_line(name), max(20, page.width // 2 - 3)) for name in comparison.names]
    versions = {trace.torch_version or trace.version_guess for trace in traces}  # where they differ, there is a note
    version = f"  torch {versions.pop()}" if len(versions) == 1 else ""
    page.line((names[0], "bold"), " → ", (names[1], "bold"), (version, "dim"))
    page.blank()
    style = f"bold {EFFECT_COLORS[comparison.outcome]}" if comparison.outcome is not Effect.SAME else "bold"
    page.headline(comparison.headline, style)
    for note in comparison.notes:
        page.line((note, "dim"), indent=2)


def _totals(page: TextPage, comparison: Comparison) -> None:
    was, now = comparison.was, comparison.now
    one, other = comparison.exports.was, comparison.exports.now
    rows: list[tuple[Cell | Text, ...]] = []
    if not comparison.is_of_exports:
        fewer = "" if comparison.lost_graphs else "green"
        rows += [
            _total("compilations", was.compiles, now.compiles, fewer),
            _total("recompilations", was.recompiles, now.recompiles, fewer),
            _total("limit hits", was.limit_hits, now.limit_hits),
            _total("failures", was.failures, now.failures),
            _total("places with graph breaks", was.breaks, now.breaks),
        ]
    if was.cached or now.cached:
        rows.append(_total("from a compile cache", was.cached, now.cached, ""))
    if not comparison.exports.is_empty:
        rows += [
            _total("exports", one.number, other.number, "", ""),
            _total("failed exports", one.failed, other.failed),
            _total("problems in exports", one.problems, other.problems),
        ]
    spent = [seconds_in_column(side.seconds) if side.seconds else "not recorded" for side in (was, now)]
    difference = seconds_as_printed(now.seconds, in_column=True) - seconds_as_printed(was.seconds, in_column=True)
    change = f"{'+' if difference > 0 else '-'}{seconds_in_column(abs(difference))}"
    if not comparison.is_of_exports:
        rows.append(("seconds", *spent, change if spent[0] != spent[1] and was.seconds and now.seconds else ""))
    page.blank()
    page.table((Column(""), Column("before", True), Column("after", True), Column("difference", True)), rows)


def _total(name: str, before: int | None, after: int | None, fewer: str = "green", more: str = "red") -> tuple[Cell | Text, ...]:
    """One row, with a color for fewer and for more: what is no gain, as compiles that were lost, gets none."""
    change = after - before if before is not None and after is not None else 0
    style = fewer if change < 0 else more
    known = [name, *("not recorded" if number is None else str(number) for number in (before, after))]
    dim = "dim" if not before and not after else ""
    return (*(Text(word, style=dim) for word in known), Text(f"{change:+d}" if change else "", style=style))


def _exports(page: TextPage, exports: ExportChanges) -> None:
    """The problems that went and those that came, each with its line; what came with what to do."""
    if exports.went or exports.came:
        page.heading("Exports", "resolved problems first, then new ones")
    for item in page.listed(exports.went, "problem"):
        _problem(page, "gone", "green" if exports.effect is Effect.BETTER else "", item)
    for item in page.listed(exports.came, "problem"):
        _problem(page, "new", "red", item)
        page.remedy(Remedy(item.rule, item.remedy), 6, (item.rule.code,))


def _problem(page: TextPage, what: str, style: str, item: Finding) -> None:
    where = f"  {item.place.short}" if item.place else ""
    sentence = shorten(one_line(item.sentence), 2 * page.width)
    page.line((f"{what:<6}", style), (f"{item.rule.code} {item.rule.name}", "dim"), f"  {sentence}", (where, "dim"), indent=2)
    if item.code:
        page.line((f"| {shorten(one_line(item.code), page.width - 8)}", "dim"), indent=6)


def _settings(page: TextPage, comparison: Comparison) -> None:
    if comparison.settings:
        page.heading("Settings that differ", "as recorded with the first compilation of each run")
    alone = [item for item in comparison.settings if not item.is_in_both and not page.verbose]
    for item in page.listed(comparison.settings[: len(comparison.settings) - len(alone)], "setting"):
        before, after = (_value(page, value) for value in (item.before, item.value))
        page.line((f"{item.name}: ", "bold"), f"{before} → {after}", indent=2)
    if alone:
        page.line((f"{plural(len(alone), 'setting')} of only one of the two versions, shown with --verbose", "dim"), indent=2)


def _value(page: TextPage, value: str) -> str:
    """The value of a setting; of a long list how many entries it has, of a long text its ends, unless all is asked for."""
    room = _VALUE * page.width
    if page.verbose or len(value) <= room:
        return value or "not set"
    if listed := _LIST.fullmatch(value):
        return f"{listed[1].count(',') + 1 + int(listed[2] or 0)} entries (shown with --verbose)"
    return shorten(one_line(value), room)


def _place(item: FrameChange) -> str:
    frame = item.code.first
    where = f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame.file else "code unknown"
    if item.before and item.after and item.before.first.line != frame.line:
        where += f" (was at line {item.before.first.line})"
    called = frame.called_at if frame.is_library else None
    return f"{where}, called at {called.file.rsplit('/', 1)[-1]}:{called.line}" if called else where


def _frame_line(page: TextPage, members: Sequence[FrameChange], tail: str, mark: tuple[str, str] = ("", "")) -> None:
    item = members[0]
    head = Text.assemble((f"{mark[0]:<7}  " if mark[0] else "", mark[1]), (one_line(item.title), "bold"), f"  {one_line(_place(item))}")
    ranks = ranks_of(members)
    head.append(f"  {shorten(ranks, 40)}" if ranks else "", style="dim")
    fits = cell_len(head.plain) + cell_len(tail) + 4 <= page.width
    page.text(head.append(f"  {tail}", style="dim") if fits else head, 2)
    if not fits:
        page.line((tail, "dim"), indent=4)


def _times(members: Sequence[FrameChange]) -> str:
    was, now = (sum(getattr(member, side).seconds for member in members) for side in ("was", "now"))
    spent = {"matched": seconds_from_to(was, now), "new": seconds_or_unknown(now), "gone": seconds_or_unknown(was)}
    return spent[members[0].kind]


def _frames(page: TextPage, title: str, note: str, frames: Sequence[FrameChange]) -> None:
    groups = across_ranks(frames)
    if not groups:
        return
    page.heading(title, note)
    for members in page.listed(groups, "frame"):
        item = members[0]
        _frame_line(
            page, members, _times(members), (_WORDS[item.effect], EFFECT_COLORS[item.effect]) if item.kind == "matched" else ("", "")
        )
        for fact in item.facts:
            page.line(shorten(one_line(fact if item.kind == "matched" else fact.partition(", ")[2]), 4 * page.width), indent=4)
        _breaks(page, item)
        _dims(page, item.dims)
        causes = item.causes if page.verbose else [cause for cause in item.causes if cause.before != cause.after]
        _causes(page, causes, item.lost_graph)


def _breaks(page: TextPage, item: FrameChange) -> None:
    """Graph breaks that came or went, each with its line. Where compiled code was lost, those that went with it are no gain."""
    for change in page.listed(item.breaks, "graph break", 4):
        what, style = ("new graph break", "red") if change.is_new else ("graph break gone", "" if item.lost_graph else "green")
        where = f" ({change.location.short})" if change.location else ""
        page.line((f"{what}{where}", style), f": {shorten(one_line(change.words), 2 * page.width)}", indent=4)
        if change.place and change.place.code:
            page.line((f"| {shorten(one_line(change.place.code.strip()), page.width - 8)}", "dim"), indent=6)


def _causes(page: TextPage, causes: Sequence[CauseChange], is_lost: bool) -> None:
    """Those of one rule and count together. Where compiled code was lost, causes that went with it are no gain."""
    by_change: dict[tuple[str, int, int], list[str]] = {}
    for cause in causes:
        by_change.setdefault((cause.code, cause.before, cause.after), []).append(one_line(cause.axis))
    rows = []
    # What the other columns and the gaps leave; where that is too little, the table gives the names a line of their own.
    taken = max((len(f"{code} {RULES[code].name}{before} → {plural(after, 'time')} each") for code, before, after in by_change), default=0)
    room = page.width - taken - 8
    room = room if room >= READABLE else page.width - 6
    for (code, before, after), names in by_change.items():
        style = "red" if after > before else "green" if after < before and not is_lost else ""
        listed = " ".join(names) if page.verbose else some_in_width(names, room, " ")
        each = " each" if len(names) > 1 else ""
        counts = Text(f"{before} → {plural(after, 'time')}{each}", style=style)
        rows.append((Text(f"{code} {RULES[code].name}", style="dim"), counts, Text(listed, style="cyan")))
    page.table((Column(""), Column(""), Column("", is_wide=True)), rows, 4, "cause")


def _dims(page: TextPage, dims: Sequence[DimChange]) -> None:
    by_change: dict[tuple[DynamicSince, DynamicSince], list[str]] = {}
    for item in dims:
        by_change.setdefault((item.before, item.after), []).append(one_line(item.axis))
    for change, names in by_change.items():
        listed = " ".join(names) if page.verbose else some_in_width(names, 2 * page.width, " ")
        page.line(f"{_DIMS[change]}: ", (listed, "cyan"), indent=4)


def _left(page: TextPage, comparison: Comparison) -> None:
    """What still recompiles in the second run and why, a row for each remedy; each remedy once."""
    recompiling = (item for item in comparison.frames if item.now.recompiles or item.now.limit_hits)
    groups = across_ranks(item for item in recompiling if any(cause.after for cause in item.causes))
    if not groups:
        return
    page.heading("Still recompiling", "in the second run, with remedies")
    groups.sort(key=lambda members: -sum(member.now.recompiles for member in members))
    shown_for: dict[Remedy, str] = {}
    for members in page.listed(groups, "frame"):
        item = members[0]
        _frame_line(page, members, _recompiles(item.now))
        for own in grouped((cause for cause in item.causes if cause.after), lambda cause: (cause.code, cause.remedy)).values():
            code, remedy = own[0].code, own[0].remedy
            names = [one_line(cause.axis) + (f" ×{cause.after}" if cause.after > 1 else "") for cause in own if cause.axis]
            listed = ", ".join(names) if page.verbose else some_in_width(names, page.width)
            page.line((f"{code} {own[0].rule.name}", "yellow"), (f"  {listed}" if listed else "", "cyan"), indent=4)
            if remedy in shown_for:
                page.line((f"→ as for {shown_for[remedy]}", "dim"), indent=6)
            else:
                page.remedy(remedy, 6, (code,))
                shown_for[remedy] = f"{code} of {shorten(one_line(item.title), 60)}"


def _recompiles(counts: Counts) -> str:
    refused = f", {counts.limit_hits} refused" if counts.limit_hits else ""
    failed = f", {counts.failures} failed" if counts.failures else ""
    return plural(counts.recompiles, "recompilation") + refused + failed


def _unchanged(page: TextPage, comparison: Comparison) -> None:
    groups = across_ranks(comparison.unchanged)
    if not groups:
        return
    if page.verbose:
        page.heading("Unchanged")
        for members in groups:
            _frame_line(page, members, f"{members[0].verdict}  {_times(members)}")
        return
    counts = Counter(one_line(members[0].title) for members in groups)
    names = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items())
    page.blank()
    page.line((f"Unchanged: {plural(len(groups), 'frame')}", "bold"), (f"  {shorten(names, 2 * page.width)}", "dim"))
