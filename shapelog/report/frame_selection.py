"""A report on some of the frames, as if the others had not been compiled."""

from collections.abc import Collection
from dataclasses import replace

from shapelog.model.code_matching import file_of
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.rank_summary import RankSummary
from shapelog.model.trace import Trace
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.report import Report, report_on


def select_frames(report: Report, wanted: str, debug: bool = False) -> Report:
    """The report on the frames that ``wanted`` matches, without any frame where it matches none.

    It is the label of a frame, or a part of its title or name; a number is always a label. The health remains that of the whole trace.
    """
    chosen = frozenset(frame for frame in report.trace.frames if _matches(frame, wanted))
    selected = report_on(_explanations_of(report.explained, chosen), debug)
    return selected._replace(frames=tuple(item for item in report.frames if item.frame in chosen))


def _matches(frame: Frame, wanted: str) -> bool:
    if wanted == frame.label or wanted.isdigit():
        return wanted == frame.label
    return wanted in frame.name or any(wanted in title for title in (frame.title, *frame.titles_of(frame.compiles)))


def _explanations_of(explained: Explanations, chosen: Collection[Frame]) -> Explanations:
    compiles = frozenset(compile for frame in chosen for compile in frame.compiles)
    return explained._replace(
        trace=_trace_of(explained.trace, chosen),
        recompiles=tuple(item for item in explained.recompiles if item.frame in chosen),
        groups=tuple(found for group in explained.groups for found in [_group_of(group, compiles)] if found.members),
    )


def _group_of(group: Group, compiles: Collection[Compile]) -> Group:
    members = tuple(member for member in group.members if member in compiles)
    return Group(members, group.partial)


def _trace_of(trace: Trace, chosen: Collection[Frame]) -> Trace:
    codes = {(file_of(frame.file), frame.line, frame.name) for frame in chosen}
    return replace(
        trace,
        ranks=tuple(replace(rank, frames=tuple(item for item in rank.frames if item in chosen), executed=()) for rank in trace.ranks),
        summarized=tuple(item._replace(ranks=tuple(_rank_of(rank, codes) for rank in item.ranks)) for item in trace.summarized),
    )


def _rank_of(rank: RankSummary, codes: Collection[tuple[str, int, str]]) -> RankSummary:
    kept = [(step, spent) for step, spent in zip(rank.steps, rank.spent, strict=True) if step.code[:3] in codes]
    labels = {step.label for step, _ in kept}
    return rank._replace(
        steps=tuple(step for step, _ in kept),
        spent=tuple(spent for _, spent in kept),
        executed=None,
        parity=tuple((label, parity) for label, parity in rank.parity if label in labels),
        frames=len({step.code for step, _ in kept}),
    )
