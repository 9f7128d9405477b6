"""Frame by frame: what each was compiled for, what varies in it, and its recompiles."""

from collections.abc import Sequence

from rich.text import Text

from shapelog.model.compile import Outcome
from shapelog.model.frame import Frame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.shape_table import ShapeCell, ShapeTable, State
from shapelog.report.merge_ranks import MergedFrame, merged_frames
from shapelog.report.report import Axis, FrameReport, Report
from shapelog.report.results import Location
from shapelog.reporters.terminal.diagnostic import id_words
from shapelog.reporters.terminal.text_page import COLORS, TextPage, first
from shapelog.rules import UNEXPLAINED, Remedy, Verdict
from shapelog.text import LEAST_SECONDS, measured, one_line, plural, plural_noun, seconds, shorten

_MARKS = {State.DYNAMIC: ("~", "cyan"), State.SPECIALIZED: ("!", "magenta"), State.STATIC: ("", ""), State.ABSENT: ("", "dim")}
# The most sizes of parameters that are listed of one recompilation: those of another module are all others.
_PARAMETERS = 3
FRAMES = "Frames"
_LEGEND = "12 static   ~12 dynamic   !12 was symbolic, then specialized   12* kept it from using an earlier entry"


def all_frames(page: TextPage, report: Report) -> None:
    """Every frame with its recompilations, the same ones of several ranks once."""
    shown = [item for item in merged_frames(report) if not all(compile.is_capture for compile in item.first.frame.compiles)]
    if not shown:
        return
    page.heading(FRAMES, "by avoidable compile time")
    multi = report.trace.rank_count > 1
    shown_remedies: set[Remedy] = set()
    for merged in page.listed(shown, "frame"):
        item = merged.first
        _frame_head(page, merged, multi)
        _axes(page, merged.axes, page.limit, shown_remedies)
        if page.verbose:
            quoted: set[str] = set()
            for entry in item.recompiles:
                _recompile(page, entry, 4, quoted)
        else:
            _notes(page, item)


def one_frame(page: TextPage, report: Report, item: FrameReport) -> None:
    """A frame alone, as ``--frame`` asks for it: with the size of everything in each compile."""
    _frame_head(page, MergedFrame((item,), report.trace), report.trace.rank_count > 1)
    frame = item.frame
    if frame.called_at:
        page.line((f"called at {frame.called_at.file}:{frame.called_at.line}  {frame.called_at.code}", "dim"), indent=4)
    _axes(page, item.axes, 0 if page.verbose else 12, set())
    _shape_table(page, item.shapes)
    if item.recompiles:
        page.heading("Recompilations")
    quoted: set[str] = set()
    for entry in item.recompiles:
        _recompile(page, entry, 2, quoted)
        page.remedy(report.remedies.of_recompile(entry), 4, entry.codes)


def _place(file: str, line: int) -> str:
    return Location(file, line).short if file else "code unknown"


def _frame_head(page: TextPage, merged: MergedFrame, multi: bool) -> None:
    item = merged.first
    frame = item.frame
    called = frame.called_at
    where = _place(frame.file, frame.line)
    if called and frame.is_library:
        where += f", called at {_place(called.file, called.line)}"
    rank = f"{merged.owner}  " if multi else ""
    number = f"  frame {frame.shown_label}" if frame.shown_label else ""
    page.line((rank, "dim"), (frame.title, "bold"), f"  {where}", (number, "dim"), indent=2)
    compiles = [compiled for member in merged.members for compiled in member.compiles]
    each = " on each" if len(merged.members) > 1 or any(compiled.weight > 1 for compiled in compiles) else ""
    parts: list[str | tuple[str, str]] = [f"{_made(frame)}{each} {measured(merged.seconds)}".rstrip()]
    for verdict in Verdict:
        members = [entry for entry in item.recompiles if entry.verdict is verdict]
        if members:
            spent = sum(compiled.seconds for compiled in compiles if compiled.recompile and compiled.recompile.verdict is verdict)
            parts.extend(
                (" · ", (f"{len(members)} {verdict.short}", COLORS[verdict]), f" {seconds(spent)}" if spent >= LEAST_SECONDS else "")
            )
    page.line(*parts, indent=4)


def _made(frame: Frame) -> str:
    """``3 compilations``; of code that was never compiled, how often that failed."""
    failed = sum(compile.outcome is Outcome.FAILED for compile in frame.compiles)
    return (
        f"{failed} failed {plural_noun(failed, 'compilation')}"
        if failed and not frame.entries
        else plural(len(frame.entries), "compilation")
    )


def _notes(page: TextPage, item: FrameReport) -> None:
    """What keeps marking from removing some of the recompiles, each reason once."""
    notes: dict[str, list[str]] = {}
    for entry in item.recompiles:
        if entry.why_not_markable:
            notes.setdefault(entry.why_not_markable, []).append(entry.compile.reference)
    for reason, labels in notes.items():
        page.line((f"{shorten(' '.join(labels), 40)}: ", "dim"), reason, indent=6)


def _axes(page: TextPage, axes: Sequence[Axis], limit: int, shown_remedies: set[Remedy]) -> None:
    """Each axis with its values, codes and remedies; ``shown_remedies`` are those that are shown above already."""
    listed = first(axes, limit)
    width = min(max((len(one_line(axis.name)) for axis in listed), default=0), page.width // 2)
    for axis in listed:
        name = shorten(one_line(axis.name), width)
        codes = " ".join(rule.code for rule in axis.rules)
        room = max(12, page.width - 6 - width - len(codes) - 6)
        gap = ", " if any(" " in value for value in axis.values) else " "
        values = shorten(gap.join(one_line(value) for value in axis.values), room)
        page.line((f"{name:<{width}}", "bold cyan"), f"  {values}" if values else "", (f"  {codes}", "dim"), indent=6)
        for remedy in axis.remedies:
            if remedy not in shown_remedies:
                shown_remedies.add(remedy)
                page.remedy(remedy, 8, [rule.code for rule in axis.rules])
    page.more(len(axes) - len(listed), "axis", 6)


def _where(cause: Cause, quoted: set[str]) -> str:
    """The place of a cause, with the code where that is not ``quoted`` above already."""
    if cause.place is None:
        return ""
    place = Location(cause.place.file, cause.place.line).short
    code = f"  {cause.place.code}" if cause.place.code and place not in quoted else ""
    quoted.add(place)
    return f"{place}{code}"


def _recompile(page: TextPage, item: Recompile, indent: int, quoted: set[str]) -> None:
    against = f" against {item.nearest.reference}" if item.nearest else ""
    spent = measured(item.compile.seconds)
    page.line((id_words(item.compile), "bold"), against, "  ", (item.verdict.short, COLORS[item.verdict]), f"  {spent}", indent=indent)
    parameters = [cause for cause in item.causes if "SL106" in cause.codes]
    left_out = set(parameters[1:]) if page.verbose and len(parameters) > _PARAMETERS else set()  # the axes above have them all
    shown = [cause for cause in item.causes if cause not in left_out]
    for number, cause in enumerate(shown):
        page.line((" ".join(cause.codes), "dim"), f" {cause.sentence}", indent=indent + 2)
        if left_out and cause == parameters[0]:
            page.line((f"and {plural(len(left_out), 'more size')} of parameters changed", "dim"), indent=indent + 4)
        is_last_there = cause.place and (number + 1 == len(shown) or shown[number + 1].place != cause.place)
        if is_last_there and (where := _where(cause, quoted)):
            page.line((f"at {where}", "dim"), indent=indent + 4)
    if not item.causes:
        page.line((UNEXPLAINED.code, "dim"), f" {UNEXPLAINED.name}: {item.unexplained_because}", indent=indent + 2)
    if item.why_not_markable:
        page.line(item.why_not_markable, indent=indent + 2)


def _shape_table(page: TextPage, table: ShapeTable) -> None:
    """One row a source and dim, one column a compile; rows that never vary are left out unless all is asked for."""
    rows = [row for row in table.rows if page.verbose or not row.is_constant]
    if not rows:
        page.line(("No size or int varied or was symbolic in this frame.", "dim"), indent=2)
        return
    left = len(table.rows) - len(rows)
    notes = [f"{left} constant rows left out, shown with --verbose"] if left else []
    notes += [f"{table.left_out} more rows left out"] if table.left_out else []
    page.heading("Shapes", "; ".join(notes))
    labels = [compile.reference for compile in table.compiles]
    longest = max(len(one_line(row.name)) for row in rows)
    name_width = min(longest, max(16, page.width // 2))
    cell_width = max(5, *(len(label) for label in labels), *(len(cell.value) + 2 for row in rows for cell in row.cells))
    fit = max(1, (page.width - 2 - name_width) // (cell_width + 1))
    for start in range(0, len(labels), fit):
        part = slice(start, start + fit)
        head = Text(f"{'':<{name_width}}").append("".join(f" {label:>{cell_width}}" for label in labels[part]), style="bold")
        page.text(head, 2)
        for row in rows:
            line = Text(f"{shorten(one_line(row.name), name_width):<{name_width}}")
            for cell in row.cells[part]:
                line.append(" ").append_text(_shape_cell(cell, cell_width))
            page.text(line, 2)
    page.line((_LEGEND, "dim"), indent=2)


def _shape_cell(cell: ShapeCell, width: int) -> Text:
    mark, style = _MARKS[cell.state]
    text = f"{mark}{one_line(cell.value)}{'*' if cell.is_violated else ''}" if cell.state is not State.ABSENT else "·"
    return Text(f"{text:>{width}}", style=f"bold {style}".strip() if cell.is_violated else style)
