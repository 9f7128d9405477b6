"""The ranks of a job in a terminal: what all have in common in a few lines, then what differs, and where first."""

from typing import TYPE_CHECKING

from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import capitalized, one_line, plural, rank_list, shorten, some

if TYPE_CHECKING:
    from shapelog.distributed.agreement import ComparedProperty
    from shapelog.distributed.compare_ranks import RankReport

# The most groups of ranks that are shown of each property.
_GROUPS = 6
# The most sizes that are named where nothing else differs.
_SIZES = 3


def ranks_heading(page: TextPage, ranks: "RankReport", has_times: bool) -> None:
    page.heading("Ranks", f"{rank_list(ranks.numbers)} (identical behavior is {_shown_once(has_times)})")
    if ranks.missing:
        page.line(("missing: ", "yellow"), f"{rank_list(ranks.missing)} left no trace", indent=2)
    if ranks.unread:
        page.line(("not read: ", "yellow"), f"the trace of {rank_list(ranks.unread)} could not be read (see Health)", indent=2)


def ranks_alike(page: TextPage, ranks: "RankReport", has_times: bool) -> None:
    """One line where nothing but sizes differs, and one for these."""
    page.blank()
    page.line((f"{capitalized(rank_list(ranks.numbers))} behave the same", "bold"), f": {_shown_once(has_times)}")
    sizes = [f"{item.axis} of {item.title} at {item.label}" for item in ranks.sizes]
    if sizes:
        page.line((f"sizes differ: {some(sizes, _SIZES)}{'' if page.verbose else '; --verbose has the tables'}", "dim"), indent=2)


def _shown_once(has_times: bool) -> str:
    return "shown once, with summed times" if has_times else "shown once"


def what_ranks_share(page: TextPage, ranks: "RankReport") -> None:
    """What all have in common, then the groups of those that differ."""
    same = [item for item in ranks.properties if item.is_known and not item.differs]
    shared = "; ".join(f"{item.title} ({item.groups[0].words})" for item in same if not item.unknown)
    if shared:
        page.line(("same on all ranks: ", "green"), shared, indent=2)
    for item in same:
        if item.unknown:
            page.line(("same: ", "green"), f"{item.title} ({item.groups[0].words}) on {rank_list(item.groups[0].ranks)}", indent=2)
    divided: dict[object, list[ComparedProperty]] = {}
    for item in ranks.properties:
        if item.differs:
            divided.setdefault((tuple(group.ranks for group in item.groups), item.unknown, item.note), []).append(item)
    for items in divided.values():
        _differ(page, items)
    unknown = [item for item in ranks.properties if not item.is_known]
    for item in unknown if page.verbose else ():
        page.line((f"{item.title}: {item.note}", "dim"), indent=2)
    if unknown and not page.verbose:
        names = ", ".join(item.title for item in unknown)
        page.line((f"not recorded: {names} (see --verbose for how to record them)", "dim"), indent=2)


def _differ(page: TextPage, items: "list[ComparedProperty]") -> None:
    """Properties that divide ranks in the same way, together."""
    first = items[0]
    titles = ", ".join(item.title for item in items)
    page.line(("differ: ", "yellow"), titles, (f"  {first.note}" if first.note else "", "dim"), indent=2)
    most = max(_GROUPS, page.limit) if page.limit else len(first.groups)
    rows = [
        (rank_list(group.ranks), "; ".join(item.groups[index].words for item in items)) for index, group in enumerate(first.groups[:most])
    ]
    rows += [(rank_list(first.unknown), "not recorded")] if first.unknown else []
    width = min(max(len(name) for name, _ in rows), page.width // 3)
    for name, words in rows:
        page.line((f"{shorten(name, width):<{width}}", "bold"), f"  {one_line(words)}", indent=6)
    if len(first.groups) > most:
        rest = sum(len(group.ranks) for group in first.groups[most:])
        page.line((f"… {plural(len(first.groups) - most, 'more group')} of {plural(rest, 'rank')}, shown with --limit 0", "dim"), indent=6)
