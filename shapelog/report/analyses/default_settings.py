"""Which settings of PyTorch are not at their defaults?"""

from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.details.default_settings import DEFAULTS, non_default_settings, setting_words
from shapelog.report.results import Column, Finding, Table
from shapelog.text import plural, rank_list


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    found = non_default_settings(explained.trace)
    if not found:
        return
    of_ranks = any(item.ranks for item in found)
    columns = (Column("setting"), Column("default"), *([Column("ranks")] if of_ranks else []), Column("value", is_wide=True))
    rows = [
        (
            item.name,
            setting_words(item.default),
            *((rank_list(item.ranks) if item.ranks else "all",) if of_ranks else ()),
            setting_words(item.value),
        )
        for item in found
    ]
    note = f"recorded at the first compilation; covers {plural(len(DEFAULTS), 'setting')} whose default is the same in torch 2.6 to 2.15"
    yield Table("settings", "Settings that are not at their defaults", columns, tuple(rows), note)
