"""Before and after as a page: what went, what came, each with its cause, the totals, and two timelines on one axis."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.report.compare import Comparison, FrameChange
from shapelog.report.frame_changes import CauseChange, DynamicSince, Effect
from shapelog.report.results import Location, location_of
from shapelog.report.same_changes import across_ranks, ranks_of
from shapelog.report.verification import Verification
from shapelog.reporters import Options
from shapelog.reporters.html.runs.run_page import page, run_environment
from shapelog.reporters.html.timeline import timeline
from shapelog.text import measured, seconds, seconds_as_printed, seconds_from_to, seconds_or_unknown

# Cards and rows of a page; what is left out is counted.
_MAX_FRAMES = 200
_MAX_CAUSES = 60
_MINUS = "\N{MINUS SIGN}"
# The kinds of the report's colors that stand for better and worse.
EFFECT_KINDS = {Effect.BETTER: "marking", Effect.WORSE: "failed", Effect.MIXED: "code", Effect.SAME: "first"}
SINCE_WORDS = {
    DynamicSince.NEVER: "static",
    DynamicSince.LATER: "dynamic from a later compilation on",
    DynamicSince.FIRST: "dynamic from the first on",
}


class Total(NamedTuple):
    """One figure of both runs as text, its change (``-11``), the kind of its color, and both as shares of the larger one in percent."""

    name: str
    before: str
    after: str
    change: str
    kind: str
    shares: tuple[float, float]


class FrameCard(NamedTuple):
    """Frames that changed in the same way, one for each rank of ``ranks`` ("" where there is one process)."""

    anchor: str
    change: FrameChange
    place: Location | None
    title: str
    ranks: str
    times: str
    kind: str


class Proof(NamedTuple):
    """A frame of a verification: compilations and limit hits before, as predicted and as measured."""

    title: str
    place: Location | None
    before: int
    predicted: str
    measured: int
    is_exact: bool


def render_comparison(comparison: Comparison, options: Options) -> bytes:
    return _render(comparison, None, options)


def render_verification(verification: Verification, options: Options) -> bytes:
    """The page of a comparison, which begins with what was predicted and what was measured."""
    return _render(verification.comparison, verification, options)


def _render(comparison: Comparison, verification: Verification | None, options: Options) -> bytes:
    reports = comparison.before, comparison.after
    templates = run_environment((report.trace for report in reports), options)
    sections = {
        "changed": comparison.changed,
        "new": tuple(item for item in comparison.new if item.is_changed),
        "gone": tuple(item for item in comparison.gone if item.is_changed),
    }
    cards: dict[str, list[FrameCard]] = {}
    anchors: dict[object, str] = {}
    for name, frames in sections.items():
        groups = across_ranks(frames)
        cards[name] = [_card(f"{name}-{number}", members) for number, members in enumerate(groups[:_MAX_FRAMES], 1)]
        for number, members in enumerate(groups, 1):
            _point(anchors, members, f"{name}-{number}" if number <= _MAX_FRAMES else "timelines")
    _point(anchors, comparison.unchanged, "unchanged")
    _point(anchors, (item for item in comparison.frames if item.kind != "matched" and not item.is_changed), "timelines")
    templates.globals["anchors"] = anchors
    charts = [timeline(report, options.with_source, [other]) for report, other in (reports, reports[::-1])]
    return page(
        templates,
        "runs/comparison.html.j2",
        comparison=comparison,
        verification=verification,
        proofs=_proofs(verification) if verification else (),
        names=comparison.names,
        versions=[report.trace.torch_version or report.trace.version_guess for report in reports],
        totals=_totals(comparison),
        has_common_code=any(item.kind == "matched" for item in comparison.frames),
        went=[item for item in comparison.causes if item.after < item.before][:_MAX_CAUSES],
        came=[item for item in comparison.causes if item.after > item.before][:_MAX_CAUSES],
        stayed=[item for item in comparison.causes if item.after == item.before][:_MAX_CAUSES],
        cards=cards,
        unchanged=[_card(f"unchanged-{number}", members) for number, members in enumerate(across_ranks(comparison.unchanged), 1)][
            :_MAX_FRAMES
        ],
        left=_left(comparison),
        charts=charts,
        kind=EFFECT_KINDS[comparison.outcome],
        since=SINCE_WORDS,
        most=_MAX_FRAMES,
    )


def _point(anchors: dict[object, str], members: Iterable[FrameChange], anchor: str) -> None:
    """Bars of the timelines lead to the card of their frame."""
    for code in (code for item in members for code in (item.before, item.after) if code):
        for frame in code.frames:
            anchors[frame] = anchor
            anchors.update(dict.fromkeys(frame.compiles, anchor))


def _card(anchor: str, members: Sequence[FrameChange]) -> FrameCard:
    item = members[0]
    was, now = (sum(getattr(member, side).seconds for member in members) for side in ("was", "now"))
    return FrameCard(
        anchor=anchor,
        change=item,
        place=location_of(item.code.first),
        title=item.title,
        ranks=ranks_of(members),
        times={"matched": seconds_from_to(was, now), "new": seconds_or_unknown(now), "gone": seconds_or_unknown(was)}[item.kind],
        kind=EFFECT_KINDS[item.effect],
    )


def _totals(comparison: Comparison) -> list[Total]:
    was, now = comparison.was, comparison.now
    lost = bool(comparison.lost_graphs)
    found = []
    if not comparison.is_of_exports:
        found = [
            _total("compilations", was.compiles, now.compiles, is_neutral=lost),
            _total("recompilations", was.recompiles, now.recompiles, is_neutral=lost),
            _total("recompile limit hits", was.limit_hits, now.limit_hits),
            _total("failed compilations", was.failures, now.failures),
            _total("places with graph breaks", was.breaks, now.breaks),
        ]
    if was.cached or now.cached:
        found.append(_total("from a compile cache", was.cached, now.cached, is_neutral=True))
    if not comparison.exports.is_empty:
        one, other = comparison.exports.was, comparison.exports.now
        found += [
            _total("exports", one.number, other.number, is_neutral=True)._replace(kind=""),
            _total("failed exports", one.failed, other.failed),
            _total("problems in exports", one.problems, other.problems),
        ]
    if comparison.is_of_exports:
        return found
    change = seconds_as_printed(now.seconds) - seconds_as_printed(was.seconds)
    found.append(
        Total(
            name="compile time",
            before=measured(was.seconds) or "not recorded",
            after=measured(now.seconds) or "not recorded",
            change=f"{'+' if change > 0 else _MINUS}{seconds(abs(change))}" if change and was.seconds and now.seconds else "",
            kind="",
            shares=_shares(was.seconds, now.seconds),
        )
    )
    return found


def _total(name: str, before: int | None, after: int | None, is_neutral: bool = False) -> Total:
    """What is no gain, as compilations that were lost, gets no color."""
    change = after - before if before is not None and after is not None else 0
    kind = "failed" if change > 0 else "marking" if change < 0 and not is_neutral else ""
    shares = (0.0, 0.0) if before is None or after is None else _shares(before, after)
    words = ["not recorded" if number is None else str(number) for number in (before, after)]
    return Total(
        name=name, before=words[0], after=words[1], change=f"{change:+d}".replace("-", _MINUS) if change else "", kind=kind, shares=shares
    )


def _shares(before: float, after: float) -> tuple[float, float]:
    most = max(before, after)
    return (100 * before / most, 100 * after / most) if most else (0.0, 0.0)


def _left(comparison: Comparison) -> list[CauseChange]:
    """Causes that recompile in the second run, or failed there, the most frequent first."""
    return sorted((item for item in comparison.causes if item.after), key=lambda item: -item.after)[:_MAX_CAUSES]


def _proofs(found: Verification) -> list[Proof]:
    proofs = []
    for item in found.frames:
        predicted = "" if item.predicted is None else str(item.predicted)
        if item.predicted is not None and item.more:
            predicted = f"{item.predicted} to {item.predicted + item.more}"
        proofs.append(
            Proof(
                title=item.change.title,
                place=location_of(item.change.code.first),
                before=item.before,
                predicted=predicted,
                measured=item.measured,
                is_exact=item.is_exact,
            )
        )
    return proofs[:_MAX_FRAMES]
