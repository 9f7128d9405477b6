"""A verification in a terminal: whether it helped, then predicted against measured, in all and by frame."""

from rich.text import Text

from shapelog.report.verification import FrameProof, Verification
from shapelog.reporters import Options
from shapelog.reporters.terminal.advice_summary import what_to_set
from shapelog.reporters.terminal.text_page import TextPage, first
from shapelog.text import one_line, plural, seconds


def render_verification(verification: Verification, options: Options) -> bytes:
    page = TextPage(options)
    _verdict(page, verification)
    page.blank()
    what_to_set(page, verification.advice)
    page.blank()
    _totals(page, verification)
    _frames(page, verification, options)
    _notes(page, verification)
    return page.bytes()


def _verdict(page: TextPage, found: Verification) -> None:
    if found.helped:
        before, now = found.advice.before, found.comparison.now
        surety = (
            "exactly as predicted" if found.is_exact else f"{_events(found.advice.after.compiles, found.advice.after.limit_hits)} predicted"
        )
        after = _events(now.compiles, now.limit_hits) if before.limit_hits or now.limit_hits else str(now.compiles)
        change = f": {_events(before.compiles, before.limit_hits)} became {after}, {surety}"
        page.line(("It helped", "bold green"), change)
    else:
        page.line(("It did not help", "bold red"), f": {'; '.join(found.faults)}")


def _events(compiles: int, limit_hits: int | None) -> str:
    return plural(compiles, "compile") + (f" and {plural(limit_hits, 'limit hit')}" if limit_hits else "")


def _totals(page: TextPage, found: Verification) -> None:
    advice, now = found.advice, found.comparison.now
    hits = str(now.limit_hits) if now.limit_hits is not None else "?"
    rows: list[tuple[str | Text, ...]] = [
        ("compiles", str(advice.before.compiles), str(advice.after.compiles), _measured(now.compiles, advice.after.compiles)),
        ("limit hits", str(advice.before.limit_hits), str(advice.after.limit_hits), hits),
        ("seconds of compiling", seconds(advice.before.seconds), seconds(advice.after.seconds), seconds(now.seconds)),
        ("seconds of the command", seconds(found.first.seconds), "", seconds(found.second.seconds)),
    ]
    page.table(("", "before", "predicted", "measured"), rows, (False, True, True, True), (True, False, False, False))


def _measured(measured: int, predicted: int | None) -> Text:
    return Text(str(measured), style="green" if measured == predicted else "yellow")


def _frames(page: TextPage, found: Verification, options: Options) -> None:
    differing = [item for item in found.frames if options.verbose or item.before != item.measured or not item.is_exact]
    shown = first(differing, options.limit)
    if shown:
        page.heading("By frame", "compiles and limit hits")
        rows = [_row(item) for item in shown]
        page.table(("", "before", "predicted", "measured"), rows, (False, True, True, True), (True, False, False, False))
    page.more(len(differing) - len(shown), "frame")
    same = len(found.frames) - len(differing)
    if same:
        page.line((f"{plural(same, 'frame')} as before, as predicted", "dim"), indent=2)


def _row(item: FrameProof) -> tuple[str | Text, ...]:
    first = item.change.code.first
    where = f"  {first.file.rsplit('/', 1)[-1]}:{first.line}" if first.file else ""
    predicted = "" if item.predicted is None else str(item.predicted)
    name = Text.assemble((one_line(item.change.title), "bold"), (one_line(where), "dim"))
    return name, str(item.before), predicted, _measured(item.measured, item.predicted)


def _notes(page: TextPage, found: Verification) -> None:
    if found.notes:
        page.heading("Not as predicted")
        for note in found.notes:
            page.line(note, indent=2)
