"""A fleet in a terminal: what is worse and what to do first, hostile names harmless, nothing wider than the terminal."""

from datetime import datetime, timezone
from pathlib import Path

import make
import pytest
from fleets import LATE, put, trace, write
from recorded import FIXTURES
from rich.cells import cell_len

from shapelog.reporters import Options
from shapelog.reporters.terminal.fleet import render_fleet
from shapelog.tables.fleet import ExportRegression, Fleet, JobsSide, Since, fleet
from shapelog.text import UNSAFE

pytest.importorskip("duckdb", reason="duckdb is not installed")
BETWEEN = datetime(2026, 11, 10, tzinfo=timezone.utc)
HOSTILE = "f\x1b[2J\u202e\n[red]x"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    where = tmp_path_factory.mktemp("fleet")
    jobs = [
        put(where / "before", trace(8)),
        put(where / "after", trace(8, 12, 16, start=LATE)),
        put(where / "hostile", trace(8, 12, name=HOSTILE, file=HOSTILE)),
        put(where / "failed", make.trace(make.compile("0/0", make.tensor(8, 16), name="g", line=9, **make.FAILED))),
        where / "none",
    ]
    write(where / "out", *jobs, form="csv")
    return fleet(where / "out", BETWEEN)._replace(folder="out")


def shown(found: Fleet, width: int = 100, limit: int = 6) -> str:
    return render_fleet(found, Options(width=width, limit=limit)).decode()


def section(text: str, title: str) -> list[str]:
    return text[text.index(f"\n{title}") + 1 :].split("\n\n")[0].splitlines()[1:]


def test_the_totals_come_first(found: Fleet) -> None:
    lines = shown(found).splitlines()
    assert lines[0] == "4 jobs in out  2026-11-01 12:00 to 2026-11-20 12:00  1 more could not be read"
    assert lines[1] == "6 compilations (7.00 s), including 3 recompilations (3.00 s); 1 failed"
    assert not lines[2]


def test_a_regression_has_what_it_was_what_it_is_and_why(found: Fleet) -> None:
    lines = section(shown(found, 140), "Worse since 2026-11-10 00:00 UTC")
    assert lines[-1].split("  ")[-1] == "SL101 x.size[0] new"
    assert "0.0 → 2.0" in lines[-1]
    assert "+2.00" in lines[-1]


def test_advice_has_the_text_to_type(found: Fleet) -> None:
    lines = section(shown(found, 140), "What would save most")
    assert lines[0] == "  2.00 s  f model.py:5  2 compilations in 1 job  mark as dynamic, high confidence"
    assert lines[1] == "    → SL101: mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"


def test_a_failure_and_an_unreadable_job_have_their_reason(found: Fleet) -> None:
    assert section(shown(found), "Failed and refused compilations")[-1].split() == ["1", "1", "g", "model.py:9", "no"]
    assert "no such file or directory" in " ".join(section(shown(found), "Jobs that could not be read"))


def test_a_refused_call_is_called_that(found: Fleet) -> None:
    """As everywhere else, whatever PyTorch wrote about it."""
    refused = found.failures[0]._replace(outcome="limit", message="Dynamo recompile limit exceeded")
    lines = section(shown(found._replace(failures=(refused,))), "Failed and refused compilations")
    assert lines[-1].endswith("refused: recompile limit reached")


def test_without_jobs_on_both_sides_there_is_nothing_to_compare(found: Fleet) -> None:
    nothing, some = JobsSide(0, 0, 0.0, 0.0), JobsSide(2, 2, 1.0, 1.0)
    for before, after, words in ((some, nothing, "no job began since then"), (nothing, some, "no job began before then")):
        assert words in shown(found._replace(since=Since(BETWEEN, before, after, 3, 0, (), 0, ())))
    better = shown(found._replace(since=Since(BETWEEN, some, some, 0, 1, (), 2, ())))
    assert "compared 1 function and the exports of 2 files: none is worse" in better


def test_exports_that_fail_more_often_have_their_error(found: Fleet) -> None:
    some = JobsSide(2, 2, 1.0, 1.0)
    item = ExportRegression("/srv/export.py", 91, 2, 2, 0.25, 1.0, "SL601", "failed: the code restricts sizes", "fix the line")
    lines = shown(found._replace(since=Since(BETWEEN, some, some, 0, 0, (), 1, (item,))), 140).splitlines()
    assert "  export.py:91  exports that fail: 25% → 100%  failed: the code restricts sizes  SL601" in lines


def test_names_are_whole_where_there_is_little_room(found: Fleet) -> None:
    cause = found.causes[0]._replace(function="ConditionalModel.forward", file="/srv/app/conditional_model.py", line=300)
    text = shown(found._replace(causes=(cause,)), 80)
    assert "\n    longest in: ConditionalModel.forward conditional_model.py:300\n" in text


@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_wider_than_the_terminal_and_no_name_harms_it(found: Fleet, width: int) -> None:
    text = shown(found, width)
    assert not UNSAFE.search(text)
    assert "[red]x" in text
    assert all(cell_len(line) <= width for line in text.splitlines())


def test_lists_are_cut_and_may_be_shown_whole(found: Fleet, tmp_path: Path) -> None:
    assert "more cause" not in shown(found, limit=0)
    many = found._replace(causes=found.causes * 9)
    assert "… 3 more causes, shown with --limit 0" in shown(many)


def test_exports_are_counted_and_failed_ones_listed(tmp_path: Path) -> None:
    write(tmp_path / "out", *(FIXTURES / f"real/2.13/export_{name}.log.gz" for name in ("good", "data_dependent")), form="csv")
    text = shown(fleet(tmp_path / "out")._replace(folder="out"))
    assert text.splitlines()[1:3] == ["2 exports; 1 failed", ""]
    assert section(text, "Failed exports")[:2] == [
        "  exports.py:70  1 export in 1 job",
        "    stopped at a data-dependent expression: n > 4",
    ]
    assert "compilation" not in text
