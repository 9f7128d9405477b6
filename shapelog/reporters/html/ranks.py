"""What the page of the ranks of a job shows in addition to their comparison."""

from shapelog.report.report import Report
from shapelog.text import plural, rank_list

TABLES = ("ranks", "rank_sizes", "collective_parity", "rank_seconds", "rank_runtimes")


def ranks_in_full(report: Report) -> str:
    """Which ranks of a large job the rest of the page is about, "" where it is all of them."""
    trace = report.trace
    if report.ranks is None or not trace.representatives:
        return ""
    others = trace.rank_count - trace.covered_ranks
    rest = f"; {plural(others, 'rank')} with the same causes in other numbers are compared here only" if others else ""
    return (
        f"Frames, compiles and times are told of {rank_list(trace.representatives)} in full, which stand for all that did the same{rest}."
    )
