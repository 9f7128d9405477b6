"""A verification in a terminal: whether it helped, then predicted against measured, in all and by frame."""

from rich.text import Text

from shapelog.advice.paste_formats import effect_of
from shapelog.report.results import Cell, Column, location_of
from shapelog.report.verification import FrameProof, Verification
from shapelog.reporters import Options
from shapelog.reporters.terminal.advice import what_to_set
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import capitalized, compilations, one_line, plural, seconds

_COLUMNS = Column("", is_wide=True), Column("before", True), Column("predicted", True), Column("measured", True)


def render_verification(verification: Verification, options: Options) -> bytes:
    page = TextPage(options)
    _verdict(page, verification)
    page.blank()
    what_to_set(page, verification.advice)
    page.blank()
    _totals(page, verification)
    _frames(page, verification)
    if verification.notes:
        page.heading("Not as predicted")
    for note in verification.notes:
        page.line(note, indent=2)
    if found := verification.next_advice:
        page.heading("More to mark", f"by the second run: {effect_of(found)}")
        what_to_set(page, found)
    return page.bytes()


def _verdict(page: TextPage, found: Verification) -> None:
    outcome, qualified = found.outcome
    if found.helped:
        before, now = found.advice.before, found.comparison.now
        surety = _surety(found)
        after = compilations(now.compiles, now.limit_hits) if before.limit_hits or now.limit_hits else str(now.compiles)
        change = f": {compilations(before.compiles, before.limit_hits)} became {after}, {surety}{qualified}"
        page.line((outcome, "bold yellow" if qualified else "bold green"), change)
        if found.slower:
            page.line(capitalized(found.slower))
        page.line(f"Compile time: {found.timing}")
    else:
        page.line((outcome, "bold red"), f": {'; '.join(found.faults)}")


def _surety(found: Verification) -> str:
    after = found.advice.after
    if not found.is_exact:
        least = f"{after.compiles} to " if found.more else ""
        return f"{least}{compilations(after.compiles + found.more, after.limit_hits)} predicted"
    of_these = " compilations" if after.limit_hits else ""
    return f"as predicted ({_range(after.compiles, found.more)}{of_these})" if found.more else "exactly as predicted"


def _totals(page: TextPage, found: Verification) -> None:
    advice, now = found.advice, found.comparison.now
    hits = max(0, advice.before.limit_hits - advice.after.limit_hits) if advice.after.may_reach_limit else 0  # as many as before
    rows: list[tuple[Cell | Text, ...]] = [
        (
            "compilations",
            advice.before.compiles,
            _range(advice.after.compiles, found.more),
            _measured(now.compiles, 0 <= now.compiles - advice.after.compiles <= advice.after.at_most - advice.after.total),
        ),
        (
            "limit hits",
            advice.before.limit_hits,
            _range(advice.after.limit_hits, hits),
            "?" if now.limit_hits is None else now.limit_hits,
        ),
        (
            "compile time",
            str(advice.before.seconds),
            str(advice.after.seconds),
            _measured(seconds(now.seconds), found.seconds_hold),
        ),
        ("command time", seconds(found.first.seconds), "", seconds(found.second.seconds)),
    ]
    page.table(_COLUMNS, rows)


def _range(least: int, more: int) -> str:
    return f"{least} to {least + more}" if more else str(least)


def _measured(measured: int | str, is_predicted: bool) -> Text:
    return Text(str(measured), style="green" if is_predicted else "yellow")


def _frames(page: TextPage, found: Verification) -> None:
    differing = [item for item in found.frames if page.verbose or item.before != item.measured or not item.is_exact]
    if differing:
        page.heading("By frame", "compilations and limit hits")
        page.table(_COLUMNS, [_row(item) for item in differing], noun="frame")
    same = len(found.frames) - len(differing)
    if same:
        page.line((f"{plural(same, 'frame')} unchanged, as predicted", "dim"), indent=2)


def _row(item: FrameProof) -> tuple[Cell | Text, ...]:
    place = location_of(item.change.code.first)
    name = Text.assemble((one_line(item.change.title), "bold"), (one_line(f"  {place.short}") if place else "", "dim"))
    predicted = None if item.predicted is None else _range(item.predicted, item.more)
    return name, item.before, predicted, _measured(item.measured, item.is_exact)
