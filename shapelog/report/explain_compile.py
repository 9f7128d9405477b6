"""One compile explained in full: every earlier entry it was compared with, what differs in guards and graph, PyTorch's own words."""

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

from shapelog.advice.advise import advise
from shapelog.advice.remedies import Remedies
from shapelog.errors import ShapelogError
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.ids import parse_typed_id
from shapelog.model.trace import Trace
from shapelog.reading.payloads.graphs import Graph
from shapelog.reading.payloads.guards.leaves import Fact
from shapelog.reading.payloads.properties import Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import AutomaticDynamic
from shapelog.recompiles.became_dynamic import newly_dynamic
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.explain import Explanations, explain_trace
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.similar import similar
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.analyses import failures
from shapelog.report.details.requirements import Requirements, requirements_of
from shapelog.report.results import Finding
from shapelog.rules import Verdict
from shapelog.text import rank_list, some

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_OBJECTS = frozenset((Kind.ID, Kind.TYPE))
_MOST_IDS = 12
_DELETED = re.compile(r";  (?:\w+ = )+None$")


class GuardChange(NamedTuple):
    """A fact that two entries check differently; "" on the side that does not check it. Static dims are numbers."""

    source: Source
    prop: str
    before: str
    after: str


class CompileExplanation(NamedTuple):
    """One compile. ``recompile`` is None for the first compile of a frame; ``others`` holds the entries that were not the nearest.

    ``guard_changes`` are against the nearest entry. ``remedies`` are those of the run.
    """

    trace: Trace
    remedies: Remedies
    frame: Frame
    compile: Compile
    recompile: Recompile | None
    others: tuple[EntryDifference, ...]
    guard_changes: tuple[GuardChange, ...]
    guards_only_before: int
    guards_only_after: int
    is_similar: bool
    group: Group | None

    @property
    def others_with_id(self) -> tuple[str, ...]:
        """The labels of compiles of the same process with this id, after or before ids started again from 0."""
        plain = self.compile.id._replace(generation=1)
        same = (item for frame in self.trace.frames for item in frame.compiles if frame.process == self.frame.process)
        return tuple(
            item.label
            for item in same
            if item.id._replace(generation=1) == plain and item.rank == self.compile.rank and item is not self.compile
        )

    @property
    def nearest(self) -> Compile | None:
        """The nearest earlier entry; None for a first compile, and where the trace has none."""
        return self.recompile.nearest if self.recompile else None

    @property
    def has_other_objects(self) -> bool:
        """Whether a guard is about an object, and both entries want another one."""
        one, other = (entry.guards if entry else None for entry in (self.nearest, self.compile))
        if one is None or other is None:
            return False
        objects = (key for key in one.facts.keys() & other.facts.keys() if key[1].kind in _OBJECTS)
        return any(one.facts[key] != other.facts[key] for key in objects)

    @property
    def has_graphs(self) -> bool:
        """Whether the graphs of both are recorded."""
        return bool(self.nearest and self.nearest.graph and self.compile.graph)

    @property
    def newly_dynamic(self) -> tuple[AutomaticDynamic, ...]:
        """What became dynamic in this compile, and was not from the start."""
        return newly_dynamic(self.frame, self.compile)

    @property
    def requirements(self) -> Requirements | None:
        """What a call has to have for this entry to serve it; None where its guards are not recorded."""
        return requirements_of(self.compile)

    @property
    def graph_diff(self) -> tuple[str, ...]:
        """Against the nearest entry, unified, without context beyond two lines; made when asked for."""
        one, other = self.nearest, self.compile
        if one is None or one.graph is None or other.graph is None:
            return ()
        return tuple(difflib.unified_diff(graph_lines(one.graph), graph_lines(other.graph), one.label, other.label, lineterm="", n=2))


def costliest_first(explained: Explanations, rank: int | None = None, process: int | None = None) -> list[tuple[Frame, Compile]]:
    """The recompiles, of one rank or process where that is given, by the seconds that they took; all compiles where nothing recompiled."""
    trace = explained.trace
    recompiles = [(item.frame, item.compile) for item in explained.recompiles]
    first = [(frame, compile) for frame in trace.frames for compile in frame.compiles if not compile.is_refused]
    for found in recompiles, first:
        own = [(frame, compile) for frame, compile in found if rank in (None, frame.rank) and process in (None, frame.process)]
        if own:
            return sorted(own, key=lambda pair: -trace.seconds(pair[1]))
    return []


def explain_compile(trace: Trace, label: str, rank: int | None = None, process: int | None = None) -> CompileExplanation:
    """The explanation of the compile that ``label`` names, ``2/3``, ``2/3#2`` or ``[2/3]``. Raises ShapelogError when there is none, or
    several.
    """
    frame, compile = _find(trace, label, rank, process)
    explained = explain_trace(trace)
    return explanation_of(explained, advise(explained).remedies, frame, compile)


def explanation_of(explained: Explanations, remedies: Remedies, frame: Frame, compile: Compile) -> CompileExplanation:
    """The explanation of a compile of a trace that was explained already."""
    recompile = next((item for item in explained.of_frame(frame) if item.compile is compile), None)
    nearest = recompile.nearest if recompile else None
    changes, before, after = _guard_changes(nearest, compile) if nearest else ((), 0, 0)
    if recompile and recompile.verdict is Verdict.FAILED:
        remedies = remedies.with_errors(failures.of_errors(item for item in failures.analyze(explained) if isinstance(item, Finding)))
    return CompileExplanation(
        trace=explained.trace,
        remedies=remedies,
        frame=frame,
        compile=compile,
        recompile=recompile,
        others=tuple(item for item in explained.compared.get(compile, ()) if item.entry is not nearest),
        guard_changes=changes,
        guards_only_before=before,
        guards_only_after=after,
        is_similar=bool(nearest and similar(nearest, compile)),
        group=next((group for group in explained.groups if any(member is compile for member in group.members)), None),
    )


def _find(trace: Trace, label: str, rank: int | None, process: int | None) -> tuple[Frame, Compile]:
    wanted = parse_typed_id(label)
    if wanted is None:
        raise ShapelogError(f"{label!r} is not a compile id; expected for example 2/3 (frame 2, compile 3), !0/2/3, or 2/3#2 after a reset")
    found = [
        (frame, compile)
        for owner in trace.ranks
        if rank in (None, owner.number) and process in (None, owner.process)
        for frame in owner.frames
        for compile in frame.compiles
        if compile.id == wanted
    ]
    numbers = [owner.number for owner in trace.ranks if owner.number is not None]
    numbers += [one.number for item in trace.summarized for one in item.ranks]
    if rank is not None and rank not in numbers:
        known = rank_list(numbers) if numbers else "no ranks"
        raise ShapelogError(f"{trace.name}: no rank {rank}; the trace has {known}")
    if not found:
        others = [one.number for item in trace.summarized for one in item.ranks if any(step.label == str(wanted) for step in one.steps)]
        if others:
            raise ShapelogError(f"{trace.name}: {rank_list(others)} have a compilation {label}; choose one: --rank {others[0]}")
        same = [compile for compile in trace.compiles if compile.id.frame == wanted.frame and compile.id.autograd == wanted.autograd]
        ids = f"frame {wanted.frame} has {some_ids(same)}" if same else f"ids: {some_ids(trace.compiles)}"
        raise ShapelogError(f"{trace.name}: no compilation {label}; {ids}")
    if len(found) > 1:
        ranks = [frame.rank for frame, _ in found if frame.rank is not None]
        if len(set(ranks)) == len(found):
            raise ShapelogError(f"{trace.name}: {rank_list(ranks)} have a compilation {label}; choose one: --rank {ranks[0]}")
        processes = ", ".join(str(frame.process) for frame, _ in found)
        raise ShapelogError(f"{trace.name}: several processes have a compilation {label} ({processes}); choose one with --process")
    return found[0]


def some_ids(compiles: Iterable[Compile]) -> str:
    """``0/0 0/1 1/0``, of many the first, "none" without any; an id that several ranks have is named once."""
    return some(list(dict.fromkeys(compile.label for compile in compiles)), _MOST_IDS, " ") or "none"


def _guard_changes(entry: Compile, compile: Compile) -> tuple[tuple[GuardChange, ...], int, int]:
    """Facts that both check with another value, by source; and how many sources only one of them looks at."""
    one, other = entry.guards, compile.guards
    if one is None or other is None:
        return (), 0, 0
    changed = []
    for source, prop in [key for key, value in one.facts.items() if other.facts.get(key, value) != value]:
        before, after = (_shown(prop, tree.facts[source, prop], tree.types.get(source)) for tree in (one, other))
        if before != after:
            changed.append(GuardChange(source, str(prop), before, after))
    before_sources = {source for source, _ in one.facts}
    after_sources = {source for source, _ in other.facts}
    shapes_before = {item.expression for item in one.shapes}
    shapes_after = {item.expression for item in other.shapes}
    changed.extend(GuardChange(Source(), "shape guard", text, "") for text in sorted(shapes_before - shapes_after))
    changed.extend(GuardChange(Source(), "shape guard", "", text) for text in sorted(shapes_after - shapes_before))
    return tuple(changed), len(before_sources - after_sources), len(after_sources - before_sources)


def _shown(prop: Property, value: Fact, of_type: str | None) -> str:
    """Of a type or an object, which is guarded by its address, the name of the type instead, where the guards have that."""
    return of_type or "object" if prop.kind in _OBJECTS else str(value)


def graph_lines(graph: Graph) -> list[str]:
    """What two graphs are compared by: inputs with their types, then statements, without addresses and what is freed."""
    heads = [f"{item.name}: {item.annotation}" for item in graph.placeholders]
    return heads + [_ADDRESS.sub("0x…", _DELETED.sub("", text)) for text in graph.statements]
