"""Trace → every recompile explained: facts → differences → causes → nearest entry → verdict. The way in to this folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from shapelog.display import in_notebook
from shapelog.errors import DATA_LOSS, INFO, Problem
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, function_of, resumed_by
from shapelog.model.frame import Frame, Function
from shapelog.model.ids import parse_compile_id
from shapelog.model.trace import Trace
from shapelog.reading.payloads.properties import GRAD_MODE, INFERENCE_MODE, VALUE, Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.backends import new_backend_each_time, with_backend
from shapelog.recompiles.before_breaks import with_changes_before_breaks, with_changes_in_other_parts
from shapelog.recompiles.causes import Cause, Differences, EntryDifference
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.nearest_entry import (
    MOST_COMPARED,
    Entries,
    entries_outside_trace,
    is_what_marks_are_for,
    nearest,
    with_both_modes,
    with_shared_failures,
    without_replaced,
)
from shapelog.recompiles.objects_in_turn import with_objects_in_turn
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.changed_state import changed_state
from shapelog.recompiles.reuse.graph_reuse import GraphReuse
from shapelog.recompiles.reuse.obstacles import marks_act
from shapelog.recompiles.reuse.refused_calls import complete_refused
from shapelog.recompiles.similar_graphs import Group, groups_of
from shapelog.recompiles.verdict import CHANGES_STATE, blocking_rule, stays_static, verdict_of, verdict_of_outcome, verdict_without_graphs
from shapelog.rules import UNEXPLAINED, Verdict
from shapelog.text import cut, one_line, plural, some

# The entries that a sentence names.
_MOST_NAMED, _MOST_OTHERS = 3, 4

# Training with gradients, and evaluation without, as ``_mode`` has them.
# A line that computes a loss, by PyTorch's names of it: `F.cross_entropy(`, `nn.functional.mse_loss(`, `self.loss_fn(`.
_LOSS = re.compile(r"\b(?:\w*cross_entropy\w*|\w*loss\w*|kl_div)\(")
_BOTH_MODES = frozenset(((True, True), (False, False)))

_AFTER_FAILURE = Cause(
    codes=("SL403",),
    source=Source(),
    prop=Property(Kind.FAILURE),
    axis="failed before",
    before="",
    after="",
    size_related=False,
    sentence="no earlier compilation left a cache entry (each failed, or hit a graph break before its first operation), "
    "so PyTorch tried again",
    place=None,
    named_by_pytorch=False,
    own_remedy="fix the earlier failure or graph break, which is reported separately",
)

_OTHER_OBJECT = Cause(
    codes=("SL323",),
    source=Source(),
    prop=Property(Kind.COMPILED_OBJECT),
    axis="compiled object",
    before="",
    after="",
    size_related=False,
    sentence="no cache entry of this code was checked: this compiled object has its own (isolate_recompiles), or the others were dropped",
    place=None,
    named_by_pytorch=False,
)


class Explanations(NamedTuple):
    """A trace with every recompile explained, and what more than one analysis asks about it.

    ``compared`` is what separates the call of a compile from each entry that it was compared with. ``unexplained_frames`` are frames
    that could not be explained, each of which is a problem.
    """

    trace: Trace
    differences: Differences
    reuse: GraphReuse
    recompiles: tuple[Recompile, ...]
    groups: tuple[Group, ...]
    problems: tuple[Problem, ...]
    unexplained_frames: frozenset[Frame]
    by_frame: Mapping[Frame, tuple[Recompile, ...]]
    compared: Mapping[Compile, tuple[EntryDifference, ...]]

    def __repr__(self) -> str:
        return f"<Explanations of {plural(len(self.recompiles), 'recompilation')} in {cut(one_line(self.trace.name), 80)}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def facts(self) -> FactTable:
        return self.differences.table

    def of_frame(self, frame: Frame) -> tuple[Recompile, ...]:
        return self.by_frame.get(frame, ())


def explain_trace(trace: Trace, debug: bool = False) -> Explanations:
    """Explain each frame; one that cannot be explained becomes a problem, or raises with ``debug``."""
    differences = Differences()
    reuse = GraphReuse(differences)
    reasons = _reasons_of(trace)
    trained = _trained_functions(trace)
    by_frame: dict[Frame, tuple[Recompile, ...]] = {}
    compared: dict[Compile, tuple[EntryDifference, ...]] = {}
    problems: list[Problem] = []
    unexplained: set[Frame] = set()
    for frame in trace.frames:
        try:
            found, left_out = _explain_frame(frame, reuse, reasons, trained, compared)
            by_frame[frame] = found if trace.version.reads_sources else tuple(map(_without_list, found))
        except Exception as error:
            if debug:
                raise
            unexplained.add(frame)
            text = f"frame {frame.label} ({frame.name}) could not be explained ({type(error).__name__}: {error})"
            problems.append(Problem("analysis-failed", text, trace.name, severity=DATA_LOSS))
            continue
        if left_out > 0:
            named = f"frame {frame.label} ({frame.name})"
            text = f"{named}: a call was compared with {MOST_COMPARED} of {MOST_COMPARED + left_out} earlier cache entries"
            problems.append(Problem("many-entries", text, trace.name, severity=INFO))

    by_frame = with_objects_in_turn(with_changes_in_other_parts(with_changes_before_breaks(by_frame)))

    def serves(frame: Frame, entry: Compile, call: Compile) -> bool:
        return frame in unexplained or reuse.guards_hold(entry, call)

    return Explanations(
        trace=trace,
        differences=differences,
        reuse=reuse,
        recompiles=tuple(item for found in by_frame.values() for item in found),
        groups=tuple(group for rank in trace.ranks for group in groups_of(rank.frames, serves)),
        problems=tuple(problems),
        unexplained_frames=frozenset(unexplained),
        by_frame=by_frame,
        compared=compared,
    )


class _Reasons(NamedTuple):
    """Whether a trace has recompile reasons at all, and whether its version writes them for every compile that had an entry to check."""

    are_there: bool
    are_always_written: bool


def _reasons_of(trace: Trace) -> _Reasons:
    """From torch 2.6 on a recompile without reasons had no entry to check.

    But a damaged trace may have lost them, and a text log has none but those at the recompile limit, unless they were asked for.
    """
    with_reasons = {compile.outcome for compile in trace.compiles if compile.has_reasons_record}
    is_whole = not any(problem.severity == DATA_LOSS for problem in trace.problems)
    are_logged = Outcome.COMPILED in with_reasons or not trace.is_text
    return _Reasons(bool(with_reasons), trace.version.at_least(6) and is_whole and are_logged)


def _trained_functions(trace: Trace) -> frozenset[Function]:
    """The functions of which a part has a backward graph, those that call them, and those that these call and that break the graph: all
    of them compiled, since what is not may run in one mode here and in another there.

    Where such a caller failed to compile, or its graph broke, whatever it passes a tensor that requires grad is compiled by itself, and
    runs as it does. What ran with gradients before a loss of which they were computed is trained as well, and so is what has a tensor
    that got a gradient: dynamic backward graphs are made with the forward graph, and so do not show that they ran. In a program that has
    any of these, or a module in training mode with gradients and in the other one without, so does what takes tensors that they compute.
    """
    firsts = ((frame, next((compile for compile in frame.compiles if compile.backward), None)) for frame in trace.frames)
    compiled = {frame.function for frame in trace.frames}
    trained = compiled.intersection(
        [function for frame, first in firsts if first for function in (frame.function, *_callers(frame, first))]
    ).union(_made_for_losses(trace), _with_new_gradients(trace))
    if trained or any(len(set(map(_mode, frame.entries)) & _BOTH_MODES) > 1 for frame in trace.frames):
        trained = trained.union(_with_recorded_tensors(trace))
    broken = {frame.function for frame in trace.frames if resumed_by(frame.name) or any(compile.breaks for compile in frame.compiles)}
    failed = {frame.function for frame in trace.frames if any(compile.outcome is Outcome.FAILED for compile in frame.compiles)}
    in_parts = trained & (failed | broken)
    called = [
        frame
        for frame in trace.frames
        if not (trained if frame.function in broken else in_parts).isdisjoint(_callers(frame, frame.compiles[0]))
        and (frame.function in broken or _takes_gradients(frame))
    ]
    return frozenset(trained).union([frame.function for frame in called])


def _made_for_losses(trace: Trace) -> Iterator[Function]:
    """The functions that ran with gradients before one that has a backward graph, which some backends make none of, or that computes a
    loss took a tensor that autograd recorded.
    """
    last: dict[tuple[int | None, object], int] = {}
    for frame in trace.frames:
        recorded = (item for item in frame.entries if any(tensor.has_history for tensor in item.inputs))
        orders = [item.order for item in recorded if item.backward or (_has_gradients(item) and _computes_loss(item))]
        if orders:
            place = frame.rank, frame.process
            last[place] = max(*orders, last.get(place, -1))
    for frame in trace.frames if last else ():
        end = last.get((frame.rank, frame.process), -1)
        if len(frame.entries) > 1 and any(item.order < end and _has_gradients(item) for item in frame.entries):
            yield frame.function


def _computes_loss(compile: Compile) -> bool:
    return compile.graph is not None and any(_LOSS.search(line.code) for line in compile.graph.user_lines)


def _with_new_gradients(trace: Trace) -> Iterator[Function]:
    """The functions that ran with gradients and took a tensor, such as a weight, that had a gradient only later: a backward pass ran."""
    for frame in trace.frames:
        without: set[Source] = set()
        for compile in frame.entries if len(frame.entries) > 1 else ():
            if any(item.has_grad and item.source in without for item in compile.inputs):
                yield frame.function
                break
            if _has_gradients(compile):
                without.update(item.source for item in compile.inputs if item.requires_grad and not item.has_grad)


def _with_recorded_tensors(trace: Trace) -> Iterator[Function]:
    """The functions that ran with gradients on a tensor which autograd had recorded."""
    for frame in trace.frames:
        if any(_has_gradients(item) and any(tensor.has_history for tensor in item.inputs) for item in frame.entries):
            yield frame.function


def _mode(compile: Compile) -> tuple[object, object]:
    """Whether the modules of a compile were in training mode, None without any, and whether gradients were on."""
    facts = compile.guards.facts if compile.guards else {}
    flags = [str(fact) == "True" for (source, prop), fact in facts.items() if prop == VALUE and source.endswith(".training")]
    return any(flags) if flags else None, facts.get((Source(), GRAD_MODE))


def _has_gradients(compile: Compile) -> bool:
    """Whether gradients were on, and an input requires grad."""
    facts = compile.guards.facts if compile.guards and any(item.requires_grad for item in compile.inputs) else {}
    return facts.get((Source(), GRAD_MODE)) is True


def _takes_gradients(frame: Frame) -> bool:
    """Whether it was passed a tensor that requires grad."""
    return any(item.requires_grad and not item.source.is_registered for compile in frame.entries for item in compile.inputs)


def _callers(frame: Frame, compile: Compile) -> list[Function]:
    """The functions that the call of a compile came through."""
    return [(frame.rank, frame.process, line.file, function_of(line.name)) for line in compile.stack.frames[:-1]]


def _runs_in_both_modes(frame: Frame, table: FactTable) -> bool:
    """Whether a function runs with gradients and without: it has a backward graph, which some backends make none of, or a mode came back.

    In inference mode, which has graphs of its own, gradients are off as well: there it shows if calls with gradients came back, for which
    an input requires grad.
    """
    modes, inference_modes = (table.values(frame, (Source(), prop)) for prop in (GRAD_MODE, INFERENCE_MODE))
    if len(inference_modes) > 1:
        with_gradients = [mode for mode, _ in groupby(map(_has_gradients, frame.entries))]
        came_back = with_gradients.count(True) > 1
    else:
        came_back = len(modes) > len(set(modes))
    return came_back or any(compile.backward for compile in frame.compiles)


def _explain_frame(
    frame: Frame,
    reuse: GraphReuse,
    reasons: _Reasons,
    trained: frozenset[Function],
    compared: dict[Compile, tuple[EntryDifference, ...]],
) -> tuple[tuple[Recompile, ...], int]:
    """The recompiles of a frame, and the largest number of entries that one of them was not compared with.

    ``trained`` are functions that run with gradients as a whole: so does each part of one that a graph break separates.
    What separates each from the entries that it was compared with is added to ``compared``, as far as the entries are known.
    """
    found: list[Recompile] = []
    reuse.differences.table.note(frame)
    entries, labels = Entries(), set[str]()
    backend = new_backend_each_time(frame, reuse.differences)
    in_both_modes = frame.function in trained or _runs_in_both_modes(frame, reuse.differences.table)
    for index, compile in enumerate(frame.compiles):
        outside = entries_outside_trace(labels, compile) if entries.are_bare else []
        labels.add(compile.label.partition("#")[0])
        is_silent = compile.outcome is Outcome.COMPILED and not compile.has_reasons_record
        if entries and is_silent and compile.guards_span and reasons.are_always_written:
            compared[compile] = ()
            found.append(_explain_other_object(frame, compile))
        elif outside:
            named = [*(entries.compared_with(compile, reuse.differences.table) if entries else ()), *outside]
            separating = without_replaced([reuse.differences.between(entry, compile) for entry in named])
            compared[compile] = () if _lacks_later_entries(compile) else separating
            found.append(_explain_without_entries(frame, compile, separating, reuse))
        elif compile.outcome is Outcome.LIMIT and not entries and not compile.has_reasons_record:
            continue  # the cache was full, but nothing of its entries is recorded
        elif index:
            differences = reuse.differences
            earlier = with_shared_failures(
                [differences.between(entry, compile) for entry in entries.compared_with(compile, differences.table)]
            )
            checked, earlier = len(earlier), without_replaced(earlier) if entries.are_bare else earlier
            compared[compile] = tuple(with_both_modes(with_backend(earlier, backend), compile, in_both_modes))
            item = _explain_compile(frame, compile, compared[compile], reuse, reasons.are_there)
            found.append(item._replace(entries_checked=checked) if item.entries_checked else item)
        if compile.outcome is Outcome.COMPILED:
            entries.add(compile)
    return tuple(found), entries.left_out


def _without_list(item: Recompile) -> Recompile:
    """The same before torch 2.7, which reads no list of sources: ints and parameters cannot be marked, so that the code has to change."""
    if item.verdict is not Verdict.MARKING or not any(map(_needs_list, item.causes)):
        return item
    causes = tuple(cause._replace(own_verdict=Verdict.CODE) if _needs_list(cause) else cause for cause in item.causes)
    return item._replace(verdict=Verdict.CODE, causes=causes, served_by=None)


def _needs_list(cause: Cause) -> bool:
    """Whether a mark removes it only by way of the list of sources: no function marks an int or a parameter."""
    return cause.is_int or "SL106" in cause.codes


def _explain_other_object(frame: Frame, compile: Compile) -> Recompile:
    """A compile for which PyTorch checked no entry, though there are some."""
    return Recompile(
        compile=compile,
        frame=frame,
        nearest=None,
        causes=(_OTHER_OBJECT,),
        consequences=(),
        entries_checked=0,
        verdict=verdict_of_outcome(compile) or _OTHER_OBJECT.verdict,
    )


def _explain_without_entries(frame: Frame, compile: Compile, differences: tuple[EntryDifference, ...], reuse: GraphReuse) -> Recompile:
    """A recompile of which PyTorch's own words are all that is known; they name one failed guard of each entry."""
    best = nearest([item for item in differences if marks_act(item)] or differences, compile)
    outside = [item.entry.label for item in differences if item.entry.order < 0]
    names = some(outside, _MOST_NAMED) if compile.names_entries else "earlier entries"
    why = f"for {names}, only the first failed guard is recorded"
    why += _of_other_entries(differences, best, with_labels=compile.names_entries)
    is_cut = _lacks_later_entries(compile)
    if is_cut:
        why += "; those of later entries, which may be dynamic already, are missing"
    causes, consequences = (best.causes, best.consequences) if best else ((), ())
    line = reuse.pinned_ints.pinning_line(frame, best) if best else ""
    fixed = f"marking does not help: {line}" if line else stays_static(frame, best, compile, reuse) if best and marks_act(best) else ""
    verdict, blocking = verdict_of_outcome(compile), "SL201" if fixed else ""
    if verdict is None and best is not None and reuse.serves(frame, best, compile):
        verdict, blocking = (Verdict.UNEXPLAINED, UNEXPLAINED.code) if is_cut else (Verdict.MARKING, blocking)
    elif verdict is None and fixed:
        verdict = Verdict.JUSTIFIED
    return Recompile(
        compile=compile,
        frame=frame,
        nearest=None,
        causes=causes,
        consequences=consequences,
        entries_checked=0,
        verdict=verdict or verdict_without_graphs(causes),
        unexplained_because=why,
        why_not_markable=f"{fixed}; {why}" if fixed else why,
        blocking_rule=blocking,
    )


def _lacks_later_entries(compile: Compile) -> bool:
    """Whether the reasons of a compile, newest entry first, begin with an older one than the last: the message was cut off."""
    named = [identity.compile for reason in compile.reasons if (identity := parse_compile_id(reason.entry)) is not None]
    return bool(named) and max(named) + 1 < compile.id.compile


def _of_other_entries(differences: tuple[EntryDifference, ...], best: EntryDifference | None, with_labels: bool) -> str:
    """``; other entries: 4/5, 4/3: x had 2 items and now has a different number``: those that failed for another reason."""
    known = {cause.axis for cause in best.causes} if best else set()
    found = grouped(
        (item for item in differences if item.causes and not known.intersection(cause.axis for cause in item.causes)),
        lambda item: item.causes[0].sentence,
    )
    shown = [
        f"{some([item.entry.label for item in members], _MOST_NAMED)}: {sentence}" if with_labels else sentence
        for sentence, members in found.items()
    ]
    return f"; other entries: {some(shown, _MOST_OTHERS, '; ')}" if shown else ""


def _explain_compile(
    frame: Frame, compile: Compile, differences: tuple[EntryDifference, ...], reuse: GraphReuse, has_reasons: bool
) -> Recompile:
    best = nearest(differences, compile)
    if best is None:
        return Recompile(
            compile=compile,
            frame=frame,
            nearest=None,
            causes=() if differences else (_AFTER_FAILURE,),
            consequences=(),
            entries_checked=len(differences),
            verdict=verdict_of_outcome(compile) or (Verdict.UNEXPLAINED if differences else Verdict.JUSTIFIED),
            unexplained_because=_what_is_missing(compile, has_reasons) if differences else "",
        )
    verdict, served_by = verdict_of(frame, compile, best, differences, reuse)
    marked = [item for item in differences if (_may_be_reused(item, differences) if compile.is_refused else item.entry is served_by)]
    served = nearest(marked, compile)
    best = served if served and is_what_marks_are_for(served, best) else best
    code, why = blocking_rule(frame, best, compile, reuse) if verdict in (Verdict.JUSTIFIED, Verdict.CODE) else ("", "")
    if compile.is_refused and (line := reuse.pinned_ints.pinning_line(frame, best)):
        code, why = "SL201", f"marking does not help: {line}"
    if verdict is Verdict.JUSTIFIED and (changed := changed_state(best, compile, why)):
        one, other = (compile, best.entry) if changed.is_later else (best.entry, compile)
        verdict, code, why = Verdict.CODE, "SL204", f"{CHANGES_STATE}{changed.name} in {one.label} and not in {other.label}"
    return Recompile(
        compile=compile,
        frame=frame,
        nearest=best.entry,
        causes=best.causes,
        consequences=best.consequences,
        entries_checked=len(differences),
        verdict=verdict,
        served_by=served_by,
        why_not_markable=why,
        blocking_rule=code,
    )


def _may_be_reused(item: EntryDifference, differences: Sequence[EntryDifference]) -> bool:
    """Whether marks act on all that separates a refused call from an entry, as far as its reasons have it."""
    known = complete_refused(item, differences)
    return known is not None and marks_act(known)


def _what_is_missing(compile: Compile, has_reasons: bool) -> str:
    """What the trace lacks, where no cause is found. ``has_reasons``: whether it has recompile reasons at all."""
    if compile.reasons and compile.guards is None:
        return "the recorded reasons do not cover every cache entry, and its guards are not recorded"
    if not compile.has_reasons_record and compile.guards is None:
        return "neither a recompile reason nor guards are recorded for it"
    if not has_reasons:
        return (
            "no recompile reasons are recorded, and every recorded guard holds: something that is not recorded changed "
            "(grad mode or other global state, the backend, an object's identity), or this is a different compiled object"
        )
    if not compile.has_reasons_record:
        return "no reason was recorded, and no guard is known to fail: this is a different compiled object, or a record was lost"
    if not compile.reasons:
        return compile.metrics.lost_reasons or "no reason is recorded for it"
    return "the recorded reasons name no earlier cache entry that is recorded"
