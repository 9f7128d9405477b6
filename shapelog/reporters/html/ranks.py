"""The ranks of a job on the page: what all did alike, what differs and where first, and tables of sizes and times."""

from typing import TYPE_CHECKING, NamedTuple

from shapelog.report.report import Report
from shapelog.report.results import Finding, Table
from shapelog.rules import Section
from shapelog.text import plural, rank_list

if TYPE_CHECKING:
    from shapelog.distributed.agreement import ComparedProperty

TABLES = ("ranks", "rank_sizes", "collective_parity", "rank_seconds", "rank_runtimes")
# So many groups of ranks are told of each property.
_GROUPS = 12


class RankRow(NamedTuple):
    """One respect: the ranks of each group with what they have in common; ``more`` counts groups that are left out."""

    respect: "ComparedProperty"
    groups: tuple[tuple[str, str], ...]
    more: int


class RanksView(NamedTuple):
    """``lead`` says which ranks were read, ``full`` which of them the other pages are about, ``same`` what all of them did alike.

    ``unknown`` are respects that nothing is known of.
    """

    number: int
    lead: str
    missing: str
    unread: str
    full: str
    findings: tuple[Finding, ...]
    same: tuple[tuple[str, str], ...]
    differing: tuple[RankRow, ...]
    unknown: "tuple[ComparedProperty, ...]"
    tables: tuple[Table, ...]


def ranks_view(report: Report) -> RanksView | None:
    """None where the trace holds fewer than two ranks."""
    ranks = report.ranks
    if ranks is None:
        return None
    same = [item for item in ranks.properties if item.is_known and not item.differs]
    return RanksView(
        number=len(ranks.ranks),
        lead=rank_list(ranks.numbers),
        missing=rank_list(ranks.missing) if ranks.missing else "",
        unread=rank_list(ranks.unread) if ranks.unread else "",
        full=_full(report),
        findings=tuple(item for item in report.findings if item.rule.section is Section.RANKS),
        same=tuple(
            (f"{item.title}{f' ({rank_list(item.groups[0].ranks)})' if item.unknown else ''}", item.groups[0].words) for item in same
        ),
        differing=tuple(_row(item) for item in ranks.properties if item.differs),
        unknown=tuple(item for item in ranks.properties if not item.is_known),
        tables=tuple(table for name in TABLES if (table := report.table(name))),
    )


def _full(report: Report) -> str:
    """Which ranks of a large job the rest of the page is about."""
    trace = report.trace
    if not trace.representatives:
        return ""
    others = trace.rank_count - trace.covered_ranks
    rest = f"; {plural(others, 'rank')} with the same causes in other numbers are compared here only" if others else ""
    return (
        f"Frames, compiles and times are told of {rank_list(trace.representatives)} in full, which stand for all that did the same{rest}."
    )


def _row(item: "ComparedProperty") -> RankRow:
    groups = [(rank_list(group.ranks), group.words) for group in item.groups[:_GROUPS]]
    if item.unknown:
        groups.append((rank_list(item.unknown), "not recorded"))
    return RankRow(item, tuple(groups), max(0, len(item.groups) - _GROUPS))
