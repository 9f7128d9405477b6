"""What many jobs have in common, and what is worse since a date."""

import gzip
from datetime import datetime, timedelta, timezone
from pathlib import Path

import make
import pytest
from fleets import LATE, put, trace, write
from recorded import FIXTURES

from shapelog.errors import ShapelogError
from shapelog.tables.files import Form
from shapelog.tables.fleet import Fleet, fleet

pytest.importorskip("duckdb", reason="duckdb is not installed")
forms = pytest.mark.parametrize("form", ["csv", "parquet"])
BETWEEN = datetime(2026, 11, 10, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _needs_pyarrow(request: pytest.FixtureRequest) -> None:
    if "parquet" in request.node.name:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def reported(folder: Path, *traces: bytes, form: Form = "csv", since: datetime | None = None) -> Fleet:
    """The fleet of jobs with these traces."""
    sources = [put(folder / f"job{number}", data) for number, data in enumerate(traces)]
    write(folder / "out", *sources, form=form)
    return fleet(folder / "out", since)


@forms
def test_the_same_cause_in_several_jobs_is_one(form: Form, tmp_path: Path) -> None:
    found = reported(tmp_path, trace(8, 12), trace(8, 12, 16, seconds=2.0), trace(8), form=form)
    (cause,) = found.causes
    assert (cause.code, cause.axis, cause.jobs, cause.functions, cause.recompiles, cause.seconds) == ("SL101", "x.size[0]", 2, 1, 3, 5.0)
    assert (found.totals.jobs, found.totals.compiles, found.totals.recompiles, found.totals.seconds) == (3, 6, 3, 9.0)
    assert (found.totals.first, found.totals.last) == (datetime(2026, 11, 1, 12, tzinfo=timezone.utc),) * 2


def test_both_formats_give_the_same_report(tmp_path: Path) -> None:
    traces = trace(8, 12), trace(8, 12, 16, start=LATE), trace(8, 12, name="g\n,\"'", **make.FAILED), b"nothing"
    one = reported(tmp_path / "csv", *traces, form="csv", since=BETWEEN)
    other = reported(tmp_path / "parquet", *traces, form="parquet", since=BETWEEN)
    assert len(one.failures) == 1
    assert [len(found.unreadable) for found in (one, other)] == [1, 1]
    assert one._replace(folder="", unreadable=()) == other._replace(folder="", unreadable=())


@forms
def test_advice_is_ranked_by_what_it_saves_over_all_jobs(form: Form, tmp_path: Path) -> None:
    cheap, costly = trace(8, 12, name="often"), trace(8, 12, name="once", line=9, seconds=2.5)
    found = reported(tmp_path, cheap, cheap, cheap, costly, form=form)
    assert [(item.function, item.jobs, item.compiles, item.seconds) for item in found.advice] == [("often", 3, 3, 3.0), ("once", 1, 1, 2.5)]
    assert found.advice[0].text == "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    assert {item.kind for item in found.advice} == {"mark as dynamic"}


@forms
def test_before_torch_2_8_advice_is_a_line_of_python(form: Form, tmp_path: Path) -> None:
    data = make.trace(make.static_sizes(10, 12, 14), version="2.6.0")
    (item,) = reported(tmp_path, data, form=form).advice
    assert item.text == "mark dim 0 of x as dynamic: torch._dynamo.mark_dynamic(x, 0)"


def test_code_changes_are_advice_too(tmp_path: Path) -> None:
    changes = "0/0: tensor 'x' dtype mismatch. expected Float, actual Double"
    data = make.trace(
        make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", make.tensor(8, 16, dtype="torch.float64"), reasons=[changes])
    )
    (item,) = reported(tmp_path, data, data).advice
    assert (item.kind, item.code, item.what, item.jobs, item.confidence) == ("code change", "SL301", "x.dtype", 2, None)


@forms
def test_marks_that_remove_the_same_compilations_are_one_suggestion(form: Form, tmp_path: Path) -> None:
    calls = [make.compile(f"0/{n}", *(make.tensor(size, 16, source=f"L['{name}']") for name in "xy")) for n, size in enumerate((8, 9, 10))]
    (item,) = reported(tmp_path, make.trace(*calls), form=form).advice
    assert (item.what, item.compiles, item.seconds) == ("x, y", 2, 2.0)
    assert item.text.endswith("mark dim 0 of y as dynamic: add L['x']:0,L['y']:0 to TORCH_COMPILE_DYNAMIC_SOURCES")


def test_a_recompilation_with_two_causes_and_one_remedy_is_counted_once(tmp_path: Path) -> None:
    first = (make.tensor(8, 16), make.tensor(8, 16, source="L['y']"))
    second = tuple(make.tensor(8, 16, source=source, dtype="torch.float64") for source in ("L['x']", "L['y']"))
    data = make.trace(make.compile("0/0", *first), make.compile("0/1", *second))
    (item,) = reported(tmp_path, data).advice
    assert (item.what, item.compiles, item.seconds) == ("x.dtype, y.dtype", 1, 1.0)


def test_a_job_that_could_not_be_read_is_listed_and_counts_nowhere(tmp_path: Path) -> None:
    found = reported(tmp_path, trace(8, 12), b"no trace")
    (item,) = found.unreadable
    assert "not a torch.compile trace" in item.error
    assert (found.totals.jobs, found.totals.unreadable, found.totals.ranks) == (1, 1, 1)


@forms
def test_a_function_that_recompiles_more_since_a_date_is_worse(form: Form, tmp_path: Path) -> None:
    found = reported(tmp_path, trace(8), trace(8), trace(8, 12, 16, start=LATE), form=form, since=BETWEEN).since
    assert found is not None
    assert (found.before.jobs, found.before.recompiles, found.after.jobs, found.after.recompiles) == (2, 0.0, 1, 2.0)
    (item,) = found.regressions
    assert (item.function, item.jobs_before, item.jobs_after) == ("f", 2, 1)
    assert (item.recompiles_before, item.recompiles_after, item.seconds_before, item.seconds_after) == (0.0, 2.0, 1.0, 3.0)
    assert (item.added_seconds, item.cause_code, item.cause_axis, item.is_new) == (2.0, "SL101", "x.size[0]", True)


def test_directories_of_the_code_make_no_difference(tmp_path: Path) -> None:
    before, after = trace(8, file="/ci/1/model.py"), trace(8, 12, file="/ci/2/model.py", start=LATE)
    found = reported(tmp_path, before, after, since=BETWEEN).since
    assert found is not None
    assert [item.function for item in found.regressions] == ["f"]


@pytest.mark.parametrize(("seconds", "is_worse"), [(1.3, False), (1.4, False), (1.6, True)])
def test_more_seconds_are_worse_beyond_what_two_runs_differ_by(seconds: float, is_worse: bool, tmp_path: Path) -> None:
    found = reported(tmp_path, trace(8), trace(8, seconds=seconds, start=LATE), since=BETWEEN).since
    assert found is not None
    assert bool(found.regressions) is is_worse  # 0.4 seconds more are not worth a line


def test_new_failures_are_worse_and_new_functions_are_not(tmp_path: Path) -> None:
    failing = make.trace(make.compile("0/0", make.tensor(8, 16), start_time=LATE, **make.FAILED))
    new = trace(8, 12, name="new", start=LATE)
    found = reported(tmp_path, trace(8), failing, new, since=BETWEEN).since
    assert found is not None
    assert [(item.function, item.failures_before, item.failures_after) for item in found.regressions] == [("f", 0.0, 1.0)]


def test_what_is_better_or_the_same_is_no_regression(tmp_path: Path) -> None:
    found = reported(tmp_path, trace(8, 12, 16), trace(8, 12, start=LATE), since=BETWEEN).since
    assert found is not None
    assert found.regressions == ()


def test_jobs_without_a_time_are_counted_and_left_out(tmp_path: Path) -> None:
    lines = "V1120 [0/1] Recompiling function f in /srv/app/model.py:5\n    triggered by the following guard failure(s):\n"
    text = f"{lines}    - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 3\n"
    found = reported(tmp_path, trace(8), text.encode(), since=BETWEEN).since
    assert found is not None
    assert (found.before.jobs, found.after.jobs, found.undated) == (1, 0, 1)


def test_a_date_after_or_before_every_job_compares_nothing(tmp_path: Path) -> None:
    for number, when in enumerate((BETWEEN - timedelta(days=90), BETWEEN + timedelta(days=90))):
        found = reported(tmp_path / str(number), trace(8, 12), since=when).since
        assert found is not None
        assert found.regressions == ()


def test_the_name_of_a_folder_is_no_pattern_and_no_sql(tmp_path: Path) -> None:
    found = reported(tmp_path / "it's [a] *?{x}", trace(8, 12))
    assert found.totals.recompiles == 1


def test_a_damaged_file_is_named_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    reported(tmp_path, trace(8, 12), form="parquet")
    (path,) = (tmp_path / "out" / "causes").rglob("part-0.parquet")
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(ShapelogError, match=r"cannot read these tables: .*part-0\.parquet") as error:
        fleet(tmp_path / "out")
    assert "\n" not in str(error.value)


def test_tables_without_a_job_are_refused(tmp_path: Path) -> None:
    write(tmp_path, form="csv")
    with pytest.raises(ShapelogError, match="there is no job in these tables yet"):
        fleet(tmp_path)


def test_only_unreadable_jobs_make_a_report_of_their_errors(tmp_path: Path) -> None:
    found = reported(tmp_path, b"no trace", b"nor this")
    assert (found.totals.jobs, len(found.unreadable), found.causes, found.advice) == (0, 2, (), ())


@forms
def test_exports_that_failed_for_one_reason_are_one(form: Form, tmp_path: Path) -> None:
    exports = [gzip.decompress((FIXTURES / f"real/2.13/export_{name}.log.gz").read_bytes()) for name in ("violation", "good", "violation")]
    found = reported(tmp_path, *exports, trace(8), form=form)
    assert (found.totals.exports, found.totals.failed_exports, found.totals.compiles) == (3, 2, 1)
    (failed,) = found.exports
    assert (failed.code, failed.jobs, failed.often, failed.line) == ("SL601", 2, 2, 91)
    assert failed.message == "failed: the code restricts sizes that dynamic_shapes declares as dynamic"
    assert failed.remedy


@forms
def test_exports_that_fail_more_often_since_a_date_are_worse(form: Form, tmp_path: Path) -> None:
    good, failed = (gzip.decompress((FIXTURES / f"real/2.13/export_{name}.log.gz").read_bytes()) for name in ("good", "violation"))
    earlier = good.replace(b"V1123 ", b"V1102 ")
    noon = datetime.now(timezone.utc).replace(month=11, day=12, hour=12)
    since = noon if noon < datetime.now(timezone.utc) - timedelta(days=12) else noon.replace(year=noon.year - 1)
    found = reported(tmp_path / "worse", earlier, failed, form=form, since=since).since
    assert found is not None
    (item,) = found.export_regressions
    assert (item.line, item.jobs_before, item.jobs_after, item.failed_before, item.failed_after, item.code) == (91, 1, 1, 0.0, 1.0, "SL601")
    assert (item.message or "").startswith("failed: the code restricts sizes")
    assert (found.compared, found.exports_compared, found.regressions) == (0, 1, ())
    found = reported(tmp_path / "same", earlier, good, form=form, since=since).since
    assert found is not None
    assert (found.exports_compared, found.export_regressions) == (1, ())
