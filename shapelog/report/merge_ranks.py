"""What is the same on several ranks, once: their frames, groups of similar graphs, and findings."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.report import Axis, FrameReport, Report
from shapelog.report.results import Finding
from shapelog.rules import Section
from shapelog.text import rank_list, without_addresses


@dataclass(frozen=True, slots=True, eq=False)
class MergedFrame:
    """One frame as one rank or several had it: the same code with the same compiles, causes and values; the first represents all.

    ``trace`` has the ranks that the members represent.
    """

    members: tuple[FrameReport, ...]
    trace: Trace

    @property
    def first(self) -> FrameReport:
        return self.members[0]

    @property
    def seconds(self) -> float:
        """Of all members together, and of the ranks that they represent."""
        return math.fsum(compile.seconds for item in self.members for compile in item.compiles)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """With the values of all members."""
        columns = zip(*(item.axes for item in self.members), strict=True)
        return tuple(axes[0]._replace(values=tuple(dict.fromkeys(value for axis in axes for value in axis.values))) for axes in columns)

    @property
    def owner(self) -> str:
        """``ranks 0-7``, ``process 4242`` outside of a distributed run."""
        return rank_label((item.frame for item in self.members), self.trace)


def merged_frames(report: Report, with_values: bool = False) -> tuple[MergedFrame, ...]:
    """The frames of a report in their order, those that are the same on several ranks once; ``with_values``: the values as well."""
    if report.ranks is None:
        return tuple(MergedFrame((item,), report.trace) for item in report.frames)
    found = grouped(report.frames, lambda item: _key(item, with_values) if item.frame.rank is not None else item.frame)
    return tuple(MergedFrame(tuple(sorted(members, key=lambda item: item.frame.rank or 0)), report.trace) for members in found.values())


def _key(item: FrameReport, with_values: bool) -> Hashable:
    from shapelog.model.code_matching import file_of  # one rank does without it

    frame = item.frame
    return (
        (file_of(frame.file), frame.line, frame.name, frame.title, frame.label),
        tuple((compile.label, compile.outcome, compile.is_dynamic) for compile in frame.compiles),
        tuple(
            (
                without_addresses(axis.name),
                tuple(map(without_addresses, axis.values)) if with_values else (),
                axis.rules,
                tuple(item.rule for item in axis.remedies),
            )
            for axis in item.axes
        ),
        tuple(
            (entry.compile.label, entry.verdict, entry.codes, without_addresses(entry.why_not_markable), entry.unexplained_because)
            for entry in item.recompiles
        ),
    )


def merged_groups(groups: Iterable[Group]) -> list[tuple[Group, ...]]:
    """Groups of similar graphs whose members have the same labels on several ranks, together."""

    def key(group: Group) -> Hashable:
        if group.members[0].rank is None:
            return group.members
        labels = tuple((member.label, member.is_dynamic) for member in group.members)
        return labels, group.converged.label if group.converged else ""

    return [tuple(members) for members in grouped(groups, key).values()]


def merged_findings(findings: Iterable[Finding], trace: Trace) -> list[tuple[Finding, str]]:
    """Each finding once, with the ranks it is about where several have it; "" where one process alone does."""
    found: dict[Hashable, list[Finding]] = {}
    for number, item in enumerate(findings):
        is_of_rank = item.frame and item.frame.rank is not None
        shared = item.rule.code, without_addresses(item.sentence), item.compile, item.place, item.details
        found.setdefault(shared if is_of_rank else number, []).append(item)
    return [(members[0], _owner(members, trace)) for members in found.values()]


def _owner(members: list[Finding], trace: Trace) -> str:
    first, is_of_job = members[0].frame, members[0].rule.section is Section.RANKS
    is_shared = len(members) > 1 or (first is not None and not is_of_job and bool(trace.representatives))
    return rank_label((item.frame for item in members if item.frame), trace) if is_shared else ""


def rank_label(frames: Iterable[Frame | Compile], trace: Trace | None = None) -> str:
    """The ranks that frames or compiles are of, and those that they represent in ``trace``; or their process."""
    listed = list(frames)
    numbers = [frame.rank for frame in listed if frame.rank is not None]
    if trace:
        numbers = [number for rank in numbers for number in trace.represented_ranks(rank)]
    return rank_list(numbers) if numbers else f"process {listed[0].process}"
