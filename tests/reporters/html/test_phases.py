"""The bars of the phases add up to the compile time, and are drawn where times were recorded."""

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.report.phases import ALL, phase_seconds
from shapelog.reporters import Options
from shapelog.reporters.html.phases import phases_of
from shapelog.reporters.html.render import render


@pytest.mark.parametrize("name", RECORDED[::5])
def test_the_bars_are_those_of_the_table_and_none_is_too_long(name: str) -> None:
    report = report_of(name)
    found, table = phases_of(report), report.table("time")
    rows = {row[0]: row[3] for row in table.rows} if table else {}
    assert {bar.name: bar.seconds for bar in found.bars} == {name: spent for name, spent in rows.items() if name != ALL and spent}
    if found.bars:
        assert max(bar.first + bar.again for bar in found.bars) == pytest.approx(100)
        assert sum(bar.share for bar in found.bars) == pytest.approx(100, abs=1)
        assert found.first_seconds + found.again_seconds == pytest.approx(rows[ALL])


def test_every_phase_is_explained() -> None:
    assert all(bar.words for bar in phases_of(report_of("real/demo.log.gz")).bars)


def test_the_last_phase_is_the_sum() -> None:
    *parts, every = phase_seconds(report_of("real/demo.log.gz").explained)
    assert every.name == ALL
    assert every.total == pytest.approx(sum(part.total for part in parts))


def test_without_a_compile_there_is_no_chart() -> None:
    report = make.report(make.trace())
    assert phases_of(report).bars == ()
    assert 'id="phases"' not in render(report, Options()).decode()
