"""What is the same on all ranks of a job, which differ, and where first?"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from shapelog.model.compile import Outcome
from shapelog.model.frame import Frame
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table, location_of
from shapelog.rules import RULES
from shapelog.text import rank_list, seconds, seconds_in_column

if TYPE_CHECKING:
    from shapelog.distributed.agreement import ComparedProperty
    from shapelog.distributed.compare_ranks import RankReport, Spread
    from shapelog.distributed.divergence import Divergence
    from shapelog.model.rank_summary import RankSummary

_DIVERGENCE, _SIZE, _COLLECTIVES = RULES["SL701"], RULES["SL702"], RULES["SL703"]
# The most compiles whose times differ that are shown.
_SPREADS = 12
_AXES = 8
# The most runs of numbers that fit into a column.
_NARROW = 4
# Below this, compile times differ by chance.
_WIDE = 0.05
# A rank that ends this many seconds before the last is shown; from an hour count on it may belong to another run.
_SOON, _LONG = 1.0, 12 * 3600.0


def analyze(explained: Explanations) -> "Iterator[Finding | Table | RankReport]":
    if explained.trace.rank_count < 2:  # most traces are of one, and do without what only jobs need
        return
    from shapelog.distributed.compare_ranks import compare_ranks
    from shapelog.distributed.summarize import all_ranks

    ranks = all_ranks(explained)
    if len(ranks) < 2:
        return
    report = compare_ranks(ranks, explained.trace.unread, explained.trace.is_text)
    yield report
    yield from _findings(report, explained)
    yield _agreement(report)
    yield _overview(report)
    yield from _tables(report)


def _findings(report: "RankReport", explained: Explanations) -> Iterator[Finding]:
    if report.divergence:
        first = report.divergence.sides[0]
        frame = _frame(explained, first.ranks, first.label)
        since = _since(report.divergence, report.numbers)
        yield Finding(_DIVERGENCE, f"{since}{report.divergence.sentence}", first.label, location_of(frame), frame=frame)
    varied = [item for item in report.sizes if item.recompiled and not item.is_dynamic]
    if varied and not report.has_collectives_on:
        sentence = "; ".join(item.sentence for item in varied[:_AXES])
        more = f"; and {len(varied) - _AXES} more" if len(varied) > _AXES else ""
        old = "" if explained.trace.version.at_least(6) else "; this torch has no compiler collectives yet"
        details = tuple((item.axis, f"made {rank_list(item.recompiled)} recompile") for item in varied[:_AXES])
        frame = _frame(explained, varied[0].recompiled, varied[0].label)
        yield Finding(
            rule=_SIZE,
            sentence=f"{sentence}{more}{old}",
            compile=varied[0].label,
            place=location_of(frame),
            details=details,
            frame=frame,
        )
    for item in report.mismatches:
        frame = _frame(explained, item.sides[0][1], item.label)
        yield Finding(_COLLECTIVES, item.sentence, item.label, location_of(frame), frame=frame)


def _since(divergence: "Divergence", ranks: Sequence[int]) -> str:
    compared = sorted(number for side in divergence.sides for number in side.ranks)
    who = "the ranks" if len(compared) == len(ranks) else rank_list(compared)
    if not divergence.position:
        return f"{who} differ from the first compilation on: "
    which = "compilation" if divergence.position == 1 else f"{divergence.position} compilations"
    return f"{who} agree on the first {which}; then "


def _frame(explained: Explanations, ranks: Iterable[int], label: str) -> Frame | None:
    """The frame of a compile on the first of some ranks."""
    wanted = set(ranks)
    found = (frame for frame in explained.trace.frames if frame.rank in wanted and any(item.label == label for item in frame.compiles))
    return next(found, None)


def _agreement(report: "RankReport") -> Table:
    rows = tuple((item.title, _verdict(item, len(report.ranks)), _groups(item), item.note) for item in report.properties)
    missing = f"{rank_list(report.missing)} left no trace; " if report.missing else ""
    missing += f"{rank_list(report.unread)} could not be read; " if report.unread else ""
    columns = (Column("property"), Column("ranks"), Column("value", is_wide=True), Column("note", is_wide=True))
    return Table("rank_agreement", "What ranks have in common", columns, rows, f"{missing}{rank_list(report.numbers)} read")


def _verdict(item: "ComparedProperty", ranks: int) -> str:
    if not item.is_known:
        return "not recorded"
    known = ranks - len(item.unknown)
    if item.differs:
        return f"{len(item.groups)} groups"
    return f"same on all {ranks}" if known == ranks else f"same on {known} of {ranks}"


def _groups(item: "ComparedProperty") -> str:
    if not item.differs:
        return item.groups[0].words if item.groups else ""
    known = "; ".join(f"{rank_list(group.ranks)}: {group.words}" for group in item.groups)
    return known + (f"; {rank_list(item.unknown)}: not recorded" if item.unknown else "")


def _overview(report: "RankReport") -> Table:
    """One row for ranks with as many compiles that end in the same one."""
    from shapelog.distributed.compare_ranks import slow_words

    early = dict(report.early)
    members_of: dict[tuple[int, int, int, int, str], list[RankSummary]] = {}
    for rank in report.ranks:
        again = sum(step.is_recompile and step.outcome == Outcome.COMPILED.value for step in rank.steps)
        compiled = sum(step.outcome == Outcome.COMPILED.value for step in rank.steps)
        failed = sum(step.outcome in (Outcome.FAILED.value, Outcome.UNFINISHED.value) for step in rank.steps)
        skipped = len(rank.steps) - compiled - failed  # or refused at the recompile limit
        last = rank.steps[-1] if rank.steps else None
        ended = f"{last.reference} {last.title}{'' if last.outcome == Outcome.COMPILED.value else f' ({last.outcome})'}" if last else "none"
        members_of.setdefault((compiled, again, failed, skipped, ended), []).append(rank)
    members = sorted(members_of.items(), key=lambda pair: pair[1][0].number)
    has_skipped = any(skipped for (_, _, _, skipped, _), _ in members)
    ends = [_before(max(early.get(rank.number, 0.0) for rank in ranks)) for _, ranks in members]
    rows = [
        (
            rank_list((rank.number for rank in ranks), _NARROW),
            compiled,
            again,
            failed,
            *((skipped,) if has_skipped else ()),
            _range([rank.seconds for rank in ranks]),
            last,
            *((end,) if any(ends) else ()),
        )
        for ((compiled, again, failed, skipped, last), ranks), end in zip(members, ends, strict=True)
    ]
    names = ("compiles", "recompiles", "failed", *(("no code",) if has_skipped else ()), "seconds")
    columns = [Column("ranks"), *(Column(name, True) for name in names), Column("last compile", is_wide=True)]
    columns += [Column("ends earlier", True)] if any(ends) else []
    forked = [rank.number for rank in report.ranks if rank.processes > 1]
    notes = [f"several processes wrote as {rank_list(forked)}; the one with the most compilations is compared"] if forked else []
    notes += filter(None, (slow_words(report), *_early_words(report)))
    return Table("ranks", "Compilations of each rank", tuple(columns), tuple(rows), "; ".join(notes))


def _range(spent: list[float]) -> str:
    if not any(spent):
        return ""
    low, high = seconds_in_column(min(spent)), seconds_in_column(max(spent))
    return low if low == high else f"{low} to {high}"


def _before(value: float) -> str:
    return "" if value < _SOON else seconds(value) if value < _LONG else "12 hours or more"


def _early_words(report: "RankReport") -> Iterator[str]:
    """Ranks whose trace ends much earlier than that of the last one."""
    from shapelog.distributed.compare_ranks import MUCH_EARLIER

    early = [number for number, value in report.early if MUCH_EARLIER <= value < _LONG]
    other = [number for number, value in report.early if value >= _LONG]
    if early:
        yield f"{rank_list(early)} wrote nothing in the last minute or longer: finished, hung, killed, or nothing left to compile"
    if other:
        yield f"{rank_list(other)} ended at least 12 hours before the last rank: possibly part of another run"


def _tables(report: "RankReport") -> Iterator[Table]:
    if report.sizes:
        yield _sizes(report)
    if report.parity:
        from shapelog.distributed.collective_order import parity_words

        columns = (Column("compile"), Column("ranks"), Column("generated code", is_wide=True))
        rows = tuple((label, rank_list(ranks), parity_words(item.difference, item.missing_waits)) for label, item, ranks in report.parity)
        yield Table("collective_parity", "Collectives: generated code compared with the schedule", columns, rows)
    wide = [item for item in report.compile_spread if item.width >= _WIDE][:_SPREADS]
    if wide:
        yield _spreads("rank_seconds", "Compile time across ranks (seconds)", wide, 1.0)
    if any(item.slowest[1] for item in report.runtime_spread):
        yield _spreads("rank_runtimes", "Graph run time estimated by Inductor (milliseconds)", report.runtime_spread, 1000.0)


def _sizes(report: "RankReport") -> Table:
    columns = (Column("compile"), Column("code"), Column("axis"), Column("sizes", is_wide=True), Column("recompiled"), Column("dynamic"))
    rows = tuple(
        (
            item.label,
            item.title,
            item.axis,
            item.words(),
            rank_list(item.recompiled) if item.recompiled else "",
            "yes" if item.is_dynamic else "no",
        )
        for item in report.sizes
    )
    return Table("rank_sizes", "Sizes that differ across ranks in one compilation", columns, rows)


def _spreads(name: str, title: str, spreads: "Iterable[Spread]", factor: float) -> Table:
    """The fastest and the slowest rank of each compile, in seconds times ``factor``."""
    names = ("fastest", "rank", "median", "slowest", "on rank", "spread")
    columns = (Column("compile"), Column("code", is_wide=True), *(Column(name, True) for name in names))
    rows = tuple(
        (
            item.label,
            item.title,
            item.fastest[1] * factor,
            item.fastest[0],
            item.median * factor,
            item.slowest[1] * factor,
            item.slowest[0],
            item.width * factor,
        )
        for item in spreads
    )
    return Table(name, title, columns, rows)
