"""``compare(before, after)`` → Comparison: what a change did to the compiles of a program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapelog.advice.compile_seconds import RUN_TO_RUN
from shapelog.grouping import grouped
from shapelog.model.cache_uses import cache_uses
from shapelog.model.code_matching import Code, Pair, match
from shapelog.model.compile import Outcome
from shapelog.model.exports import ExportResult
from shapelog.model.trace import Trace
from shapelog.reading.payloads.cache_keys import MISS
from shapelog.report.break_changes import BreakChange, break_changes
from shapelog.report.details.cache_remedies import cache_problem
from shapelog.report.details.metric_fields import SettingChange
from shapelog.report.details.run_settings import settings_of_runs
from shapelog.report.details.vllm_passes import vllm_words
from shapelog.report.export_changes import ExportChanges, export_changes
from shapelog.report.frame_changes import (
    CauseChange,
    Counts,
    DimChange,
    Effect,
    Gain,
    Loss,
    RunSide,
    break_facts,
    cause_changes,
    counted,
    dim_changes,
    dim_facts,
    facts_of,
    gains_and_losses,
    instead,
    merged,
    side_of,
    summed,
)
from shapelog.report.report import Report
from shapelog.report.results import Headline
from shapelog.text import enumerated, plural, rank_list, seconds

_MOST_CACHE_NOTES = 3


@dataclass(frozen=True, slots=True, eq=False)
class FrameChange:
    """One code before and after; ``before`` or ``after`` is None where that trace does not have it.

    ``causes`` are those of either side, also the ones with the same count; ``breaks`` those that one side alone has. ``part_of`` is the
    title of the code, there in both traces, that a new or gone one is a piece of, "" where there is none. ``facts`` are sentences about
    it, what is worse first.
    """

    before: Code | None
    after: Code | None
    was: Counts
    now: Counts
    causes: tuple[CauseChange, ...]
    dims: tuple[DimChange, ...]
    breaks: tuple[BreakChange, ...]
    gains: tuple[Gain, ...]
    losses: tuple[Loss, ...]
    part_of: str
    facts: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """One sentence, without the frame's name."""
        return "; ".join((*self.facts, *dim_facts(self.dims), *break_facts(self.breaks)))

    @property
    def code(self) -> Code:
        """The code as it is now, or as it was where it is gone."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def title(self) -> str:
        """The most telling name: that of a compile which failed has no class."""
        known = [code for code in (self.after, self.before) if code]
        return next((code.title for code in known if not code.has_bare_title), self.code.title)

    @property
    def kind(self) -> str:
        """``matched``, ``new`` or ``gone``."""
        return "new" if self.before is None else "gone" if self.after is None else "matched"

    @property
    def effect(self) -> Effect:
        if self.gains and self.losses:
            return Effect.MIXED
        return Effect.BETTER if self.gains else Effect.WORSE if self.losses else Effect.SAME

    @property
    def lost_graph(self) -> bool:
        """Whether code that was compiled before runs eagerly or in pieces now, at least in some calls."""
        return self.kind != "new" and any(loss is not Loss.COMPILES for loss in self.losses)

    @property
    def is_unfinished(self) -> bool:
        """Whether the later run ended while it was compiled."""
        compiles = [compile for frame in (self.after.frames if self.after else ()) for compile in frame.compiles]
        return any(compile.outcome is Outcome.UNFINISHED for compile in compiles)

    @property
    def is_only_broken(self) -> bool:
        """Whether all of it is still compiled, but in more pieces."""
        return self.lost_graph and {*self.losses} <= {Loss.BREAKS, Loss.COMPILES}

    @property
    def is_fresh(self) -> bool:
        """Whether it is new, and no piece of code that was there before."""
        return self.kind == "new" and not self.part_of

    @property
    def is_changed(self) -> bool:
        """Whether anything but the time it took is another; a lone frame without compiled code changes nothing."""
        differs = bool(self.gains or self.losses or self.dims or self.breaks)
        if self.kind != "matched" or differs:
            return differs
        one, other = ((side.compiles, side.recompiles, side.failures) for side in (self.was, self.now))
        return one != other or any(cause.before != cause.after for cause in self.causes)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two runs of a program. ``frames`` are ordered by the size of the change, lost graphs first; ``causes`` are those of all frames
    together; ``exports`` is what became of calls of ``torch.export``; ``settings`` are versions and settings of PyTorch that the runs began
    with and that differ; ``notes`` are what else differs, and what makes the comparison less sure; ``paths`` are the directories that were
    given as the runs, "" for none.
    """

    before: Report
    after: Report
    frames: tuple[FrameChange, ...]
    causes: tuple[CauseChange, ...]
    was: Counts
    now: Counts
    outcome: Effect
    headline: Headline
    notes: tuple[str, ...]
    exports: ExportChanges
    settings: tuple[SettingChange, ...] = ()
    paths: tuple[str, str] = ("", "")

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two runs: the directory that the user gave, else the name of the trace."""
        before, after = self.paths
        return before or self.before.trace.name, after or self.after.trace.name

    @property
    def changed(self) -> tuple[FrameChange, ...]:
        """Frames of both traces that differ in more than time."""
        return tuple(item for item in self.frames if item.kind == "matched" and item.is_changed)

    @property
    def unchanged(self) -> tuple[FrameChange, ...]:
        return tuple(item for item in self.frames if item.kind == "matched" and not item.is_changed)

    @property
    def new(self) -> tuple[FrameChange, ...]:
        return tuple(item for item in self.frames if item.kind == "new")

    @property
    def gone(self) -> tuple[FrameChange, ...]:
        return tuple(item for item in self.frames if item.kind == "gone")

    @property
    def is_of_exports(self) -> bool:
        """Whether exports are all that there is in the two runs."""
        return not self.frames and not self.exports.is_empty

    @property
    def lost_graphs(self) -> tuple[FrameChange, ...]:
        """Frames where compiled code was lost, so that fewer compiles of theirs are no gain."""
        return tuple(item for item in self.frames if item.lost_graph)


def compare(before: Report, after: Report, paths: tuple[str, str] = ("", "")) -> Comparison:
    """What changed from one run to another, frames matched by their code. Times decide nothing: two runs of one program differ in them."""
    old = [_is_unrecorded(report.trace) for report in (before, after)]
    by_frame = [{item.frame: item for item in report.frames} for report in (before, after)]
    pairs = match(before.trace, after.trace)
    sides = {pair: (side_of(pair.before, before, by_frame[0], old[0]), side_of(pair.after, after, by_frame[1], old[1])) for pair in pairs}
    breaks = _breaks(pairs, any(old))
    matched = {pair: _change(*sides[pair], breaks[pair]) for pair in pairs if pair.before and pair.after}
    frames = tuple(matched.get(pair) or _change(*sides[pair], breaks[pair], matched[pair.owner] if pair.owner else None) for pair in pairs)
    was = summed([item.was for item in frames], old[0])
    now = summed([item.now for item in frames], old[1])
    is_loaded = _is_loaded(after, now) and was.compiles > 0
    of_frames, exports = Effect.SAME if is_loaded else _outcome(frames, was, now), export_changes(before, after)
    outcome = _together(of_frames, exports.effect)
    settings = settings_of_runs(before.trace, after.trace)
    found = _loaded_headline(was) if is_loaded else _headline(frames, was, now, of_frames)
    pieces = [sum(part.compiled for part in report.trace.vllm) for report in (before, after)]
    if of_frames is Effect.SAME and not is_loaded and pieces[0] != pieces[1]:
        found = Headline(f"vLLM compiled {plural(pieces[1], 'piece')} instead of {pieces[0]}", found.rest)
    return Comparison(
        before=before,
        after=after,
        frames=tuple(sorted(frames, key=_importance)),
        causes=merged(cause for item in frames for cause in item.causes),
        was=was,
        now=now,
        outcome=outcome,
        headline=_with_exports(found, exports, outcome, bool(frames)),
        notes=tuple(_notes(before, after, settings, was.cached, now.cached)),
        exports=exports,
        settings=settings,
        paths=paths,
    )


def _is_unrecorded(trace: Trace) -> bool:
    """Whether it was written by a torch version (2.4 or older) that records neither graph breaks nor the recompile limit."""
    return not trace.shows_limit_hits


def _breaks(pairs: Sequence[Pair], is_unrecorded: bool) -> dict[Pair, tuple[BreakChange, ...]]:
    """The graph breaks of each pair that came or went; where one trace records none at all, that is not known."""
    codes = [tuple(code.frames if code and not is_unrecorded else () for code in (pair.before, pair.after)) for pair in pairs]
    return dict(zip(pairs, break_changes(codes), strict=True))


def _change(before: RunSide, after: RunSide, breaks: tuple[BreakChange, ...], owner: FrameChange | None = None) -> FrameChange:
    if before.code and after.code:
        gains, losses = gains_and_losses(before, after, breaks)
        facts = facts_of(before, after, gains, losses)
    else:
        gains, losses, fact = _lone(before, after, owner)
        facts = (fact,)
        breaks = breaks if after.code or owner else ()  # code that nothing calls anymore may break as before
    return FrameChange(
        before=before.code,
        after=after.code,
        was=before.counts,
        now=after.counts,
        causes=cause_changes(before, after),
        dims=dim_changes(before, after),
        breaks=breaks,
        gains=gains,
        losses=losses,
        part_of=owner.title if owner else "",
        facts=facts,
    )


def _lone(before: RunSide, after: RunSide, owner: FrameChange | None) -> tuple[tuple[Gain, ...], tuple[Loss, ...], str]:
    """Code that one trace alone has. A piece of code that both have was split off, or is part of its graph again."""
    counts = after.counts if after.code else before.counts
    failed = f" and {counted(counts.failures, 'failed compilation')}" if counts.failures else ""
    made = counted(counts.compiles, "compilation") + failed
    if after.code:
        ended = ((Loss.LIMIT, counts.limit_hits), (Loss.FAILURES, counts.failures), (Loss.COMPILES, counts.compiles))
        gains = (Gain.CODE,) if counts.compiles and not owner else ()
        verdict = f"only in the second run, {made}" + (f": split off from {owner.title}" if owner else "")
        return gains, tuple(loss for loss, number in ended if number), verdict
    if not counts.compiles:
        return (), (), "only in the first run, without compiled code"
    if owner and owner.now.compiles and not owner.lost_graph:
        return (Gain.COMPILES,), (), f"only in the first run, {made}: now part of {owner.title}, or no longer called"
    return (), (Loss.CODE,), f"only in the first run, {made}: not called, renamed, or no longer compiled"


def _importance(item: FrameChange) -> tuple[float, ...]:
    was, now = item.was, item.now
    return (
        -float(item.lost_graph and item.kind == "matched"),
        -float(abs(now.compiles - was.compiles) + abs(now.failures - was.failures)),
        -float(sum(abs(cause.after - cause.before) for cause in item.causes) + len(item.dims) + len(item.breaks)),
        -abs(now.seconds - was.seconds) if item.is_changed else 0.0,
        item.code.first.compiles[0].order,
    )


def _outcome(frames: tuple[FrameChange, ...], was: Counts, now: Counts) -> Effect:
    """New code that belongs to nothing before is compared with nothing, so it is neither better nor worse; gone code may be a loss."""
    fresh = [item for item in frames if item.is_fresh]
    known = [item for item in frames if not item.is_fresh]
    gains = any(item.gains for item in known)
    losses = any(item.losses for item in known) or any(set(item.losses) - {Loss.COMPILES} for item in fresh)
    is_compiled = any(item.now.compiles for item in fresh)
    if gains and losses:
        return Effect.MIXED
    if losses:  # what is gone may have come back under another name
        only_gone = is_compiled and all(item.kind == "gone" for item in known if item.losses)
        return Effect.MIXED if only_gone else Effect.WORSE
    if gains:
        return Effect.MIXED if is_compiled and now.compiles > was.compiles else Effect.BETTER
    return Effect.MIXED if is_compiled else Effect.SAME


def _together(*effects: Effect) -> Effect:
    found = {*effects} - {Effect.SAME}
    return Effect.MIXED if len(found) > 1 else next(iter(found), Effect.SAME)


def _with_exports(found: Headline, exports: ExportChanges, outcome: Effect, has_frames: bool) -> Headline:
    """The answer about frames, where there are any, then what became of exports."""
    if exports.is_empty or (has_frames and not exports.facts):
        return found
    if not exports.facts:
        return Headline("No difference", exports.sameness)
    of_frames = (found.rest or found.subject[:1].lower() + found.subject[1:],) if has_frames else ()
    subject = "Neither better nor worse" if outcome is Effect.SAME else outcome.value.capitalize()
    return Headline(subject, "; ".join((*of_frames, *exports.facts)))


def _is_loaded(report: Report, counts: Counts) -> bool:
    """Whether nothing was compiled because vLLM loaded all of it ready-made."""
    parts = report.trace.vllm
    return bool(parts) and all(part.is_cached for part in parts) and not counts.compiles and not counts.failures


def _loaded_headline(was: Counts) -> Headline:
    return Headline(f"vLLM loaded everything from its cache in the second run ({counted(was.compiles, 'compilation')} in the first)")


def _headline(frames: tuple[FrameChange, ...], was: Counts, now: Counts, outcome: Effect) -> Headline:
    """The answer in one sentence."""
    if not was.compiles and not now.compiles:
        same = Headline("No difference", "nothing was compiled in either run")
        return same if outcome is Effect.SAME else Headline("Worse", "compilation now fails")
    if not was.compiles:
        first = f"othing was compiled in the first run, {counted(now.compiles, 'compilation')} in the second"
        return Headline("Better", f"n{first}") if outcome is Effect.BETTER else Headline(f"N{first}")
    if not now.compiles:
        lost = [item for item in frames if item.lost_graph and item.kind == "matched"]
        why = f": {'; '.join(_lost(lost))}" if lost else ""
        return Headline("Worse", f"nothing is compiled anymore ({counted(was.compiles, 'compilation')} before){why}")
    if all(item.kind != "matched" for item in frames):
        return Headline("No code was compiled in both runs, so there is nothing to compare")
    if outcome is Effect.SAME:
        return _same(frames, was, now)
    return Headline(outcome.value.capitalize(), "; ".join(_balance(frames, was, now)))


def _balance(frames: tuple[FrameChange, ...], was: Counts, now: Counts) -> Iterator[str]:
    """What is better and what is worse, lost graphs first."""
    lost = [item for item in frames if item.lost_graph and item.kind == "matched"]
    yield from _lost(lost)
    no_gain = " (not an improvement where compiled code was lost)" if lost and now.compiles < was.compiles else ""
    yield instead(was.compiles, now.compiles, "compilation") + no_gain
    if now.compiles < was.compiles and now.cached == was.cached and 0 < RUN_TO_RUN * was.seconds < now.seconds:
        yield f"they took {seconds(now.seconds)} instead of {seconds(was.seconds)}"
    if was.recompiles and not lost and not any(cause.after for item in frames for cause in item.causes):
        yield "no recompilations remain"
    if None not in (was.limit_hits, now.limit_hits) and bool(was.limit_hits) != bool(now.limit_hits):
        yield f"the recompile limit is {'now hit' if now.limit_hits else 'no longer hit'}"
    gone = [item for item in frames if item.kind == "gone" and item.losses]
    if gone:
        yield f"{_names(gone)} {'is' if len(gone) == 1 else 'are'} gone"
    new = [item for item in frames if item.is_fresh and item.losses]
    if new:
        yield f"{_names(new)} {'is' if len(new) == 1 else 'are'} new"
    effects = [item.effect for item in frames if item.kind == "matched"]
    if Effect.BETTER in effects and Effect.WORSE in effects:
        yield f"{counted(effects.count(Effect.BETTER), 'frame')} better, {effects.count(Effect.WORSE)} worse"


def _lost(frames: list[FrameChange]) -> Iterator[str]:
    """Which frames run eagerly in some calls, and which only in more pieces."""
    eager = [item for item in frames if not item.is_only_broken]
    broken = [item for item in frames if item.is_only_broken]
    if eager:
        yield f"{_names(eager)} lost compiled code"
    if broken:
        yield f"more graph breaks in {_names(broken)}"


def _names(frames: list[FrameChange]) -> str:
    """The first titles, each once however many ranks have it."""
    titles = list(dict.fromkeys(item.title for item in frames))
    return ", ".join(titles[:2]) + (f" and {len(titles) - 2} more" if len(titles) > 2 else "")


def _same(frames: tuple[FrameChange, ...], was: Counts, now: Counts) -> Headline:
    changed = sum(item.is_changed for item in frames)
    if changed:
        number = instead(was.compiles, now.compiles, "compilation")
        return Headline("Neither better nor worse", f"{number}, but {counted(changed, 'frame')} changed")
    why = ", for the same reasons" if now.recompiles else ""
    return Headline("No difference", f"{counted(now.compiles, 'compilation')} in both runs{why}")


def _notes(before: Report, after: Report, settings: tuple[SettingChange, ...], *cached: int) -> Iterator[str]:
    """What else differs between the runs, and what keeps the comparison from being sure."""
    one, other = before.trace, after.trace
    versions = [trace.torch_version or trace.version_guess for trace in (one, other)]
    if versions[0] != versions[1]:
        yield f"torch version differs: {versions[0]} before, {versions[1]} after"
    old = [when for trace, when in ((one, "first"), (other, "second")) if _is_unrecorded(trace)]
    if old:
        runs = "either run" if len(old) == 2 else f"the {old[0]} run"
        yield f"torch 2.5 and older record neither graph breaks nor recompile limit hits, so they are not known for {runs}"
    listed = {item.name.rpartition(".")[2] for item in settings}
    for name in one.config._fields:
        values = [getattr(trace.config, name) for trace in (one, other)]
        if name not in listed and values[0] != values[1] and None not in values:
            yield f"setting differs: {name} {values[0] or 'empty'} before, {values[1] or 'empty'} after"
    yield from _rank_notes(one, other)
    unknown = [sum(export.result is ExportResult.UNKNOWN for export in trace.exports) for trace in (one, other)]
    if any(unknown):
        without = f"{plural(unknown[0], 'export')} before and {unknown[1]} after without a recorded result"
        yield f"{without}: record with TORCH_DTRACE instead of TORCH_TRACE"
    vllm = [vllm_words(trace.vllm) if trace.vllm else "nothing" for trace in (one, other)]
    if vllm[0] != vllm[1]:
        yield f"vLLM: {vllm[0]} before; {vllm[1]} after"
    yield from _log_notes(one, other)
    yield from _cache_notes(one, other)
    if cached[0] != cached[1]:
        yield f"{cached[0]} compilations before and {cached[1]} after came from a compile cache, so the times are not comparable"
    for report, when in ((before, "first"), (after, "second")):
        if any(problem.severity == "data loss" for problem in report.problems):
            yield f"the trace of the {when} run lost data (see shapelog report), so compilations may be missing from it"


def _rank_notes(before: Trace, after: Trace) -> Iterator[str]:
    """Which ranks only one run has, and which part of them is compared."""
    ranks = [{number for rank in trace.ranks for number in trace.represented_ranks(rank.number)} for trace in (before, after)]
    for own, when in ((ranks[0] - ranks[1], "first"), (ranks[1] - ranks[0], "second")):
        if own and before.rank_count + after.rank_count > 2:
            yield f"{rank_list(own)} only in the {when} run"
    for trace, when in ((before, "first"), (after, "second")):
        if trace.covered_ranks < trace.rank_count:
            compared = f"{trace.covered_ranks:,} of {trace.rank_count:,} ranks are compared"
            yield f"in the {when} run, {compared}; together they cover every cause found on any rank"


def _log_notes(before: Trace, after: Trace) -> Iterator[str]:
    """What only the text log of one run has, which the other run may have had and not logged."""
    held = [frozenset[str]().union(*(log.artifacts for log in trace.text_logs)) for trace in (before, after)]
    for own, others, when in ((held[0], held[1], "first"), (held[1], held[0], "second")):
        if others and own - others:
            yield f"only the log of the {when} run has {enumerated(sorted(own - others))}; the other may have left them out"


def _cache_notes(before: Trace, after: Trace) -> Iterator[str]:
    """Settings and versions that kept the second run from entries of the first for the same graphs, most frequent first."""
    missed = [use for use in cache_uses(after, before).uses if use.is_of_other_run and use.event.result == MISS]
    problems = [(use.event.cache, problem) for use in missed if (problem := cache_problem(use))]
    found = grouped(problems, lambda item: (item[0], item[1].remedy or item[1].reason))
    for (cache, _), members in sorted(found.items(), key=lambda item: -len(item[1]))[:_MOST_CACHE_NOTES]:
        problem = members[0][1]
        missing = (
            f"{cache}: {plural(len(members), 'lookup')} of the second run found no entry of the first for other reasons than the graph"
        )
        yield f"{missing}: {problem.reason}" + (f"; {problem.remedy}" if problem.remedy else "")
