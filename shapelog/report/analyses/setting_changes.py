"""Which settings did the program change between compilations?"""

from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.details.run_settings import changed_settings
from shapelog.report.results import Column, Table

_COLUMNS = Column("from"), Column("setting"), Column("before"), Column("after", is_wide=True)
_MOST = 200


def analyze(explained: Explanations) -> Iterator[Table]:
    found = tuple(changed_settings(explained.trace))
    rows = tuple((item.compile.label, item.setting.name, item.setting.before, item.setting.value) for item in found)
    if rows:
        note = f"the first {_MOST} of {len(rows):,} changes" if len(rows) > _MOST else ""
        yield Table("setting_changes", "Settings that were changed between compilations", _COLUMNS, rows[:_MOST], note)
