"""A report as rows: what they hold, and that they add up to the report."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import make
import pytest
from fleets import EARLY, trace
from payload_text import size_mismatch
from recorded import FIXTURES, RECORDED, report_of

from shapelog.model.load import load
from shapelog.model.trace import Trace
from shapelog.reading.inputs import select
from shapelog.report.report import Report, analyze
from shapelog.rules import RULES, Verdict
from shapelog.tables.rows import Rows, rows_of, unreadable
from shapelog.tables.schema import NO_RANK, TABLES, columns

MANY = 18  # ranks, more than are read in full


def rows(report: Report) -> Rows:
    return rows_of(report, "job", "/traces/job")


def total(seconds: Iterable[float | None]) -> float:
    """Of those that are known."""
    return math.fsum(filter(None, seconds))


def large_job(folder: Path, *traces: bytes) -> Trace:
    from shapelog.distributed.large_jobs import ReadOptions, load_large_job

    for rank, data in enumerate(traces):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_bytes(data)
    return load_large_job(select(str(folder)), ReadOptions())


@pytest.mark.parametrize("name", RECORDED)
def test_the_rows_of_a_recorded_trace_add_up_to_its_report(name: str) -> None:
    report = report_of(name)
    found, summary = rows(report), report.summary
    (job,) = found["jobs"]
    assert list(found) == list(TABLES)
    assert len(found["compiles"]) == len(report.trace.compiles)
    assert len(found["recompiles"]) == len(report.recompiles)
    assert (job.compiles, job.recompiles, job.failures, job.limit_hits) == (
        sum(row.compiles for row in found["frames"]),
        sum(row.recompiles for row in found["frames"]),
        sum(row.failures for row in found["frames"]),
        sum(row.limit_hits for row in found["frames"]),
    )
    assert math.isclose(job.seconds, total(row.seconds for row in found["frames"]), abs_tol=1e-9)
    assert math.isclose(job.recompile_seconds, total(row.recompile_seconds for row in found["frames"]), abs_tol=1e-9)
    for verdict, column in ((Verdict.MARKING, "marking_seconds"), (Verdict.CODE, "code_seconds")):
        assert math.isclose(summary.part(verdict).seconds, total(getattr(row, column) for row in found["frames"]), abs_tol=1e-9)


@pytest.mark.parametrize("name", RECORDED)
def test_every_value_of_a_recorded_trace_is_of_the_type_of_its_column(name: str) -> None:
    for table, members in rows(report_of(name)).items():
        for column in columns(table):
            values = {type(getattr(row, column.name)) for row in members}
            allowed = {column.kind, *((type(None),) if column.is_nullable else ()), *((str,) if column.kind is str else ())}
            assert {str if issubclass(kind, str) else kind for kind in values} <= allowed, (table, column.name)


@pytest.mark.parametrize("name", RECORDED)
def test_causes_share_the_seconds_of_their_recompilation(name: str) -> None:
    found = rows(report_of(name))
    for item in found["recompiles"]:
        causes = [row for row in found["causes"] if row[:5] == item[:5]]
        assert [row.number for row in causes] == list(range(item.causes))
        assert not causes or math.isclose(total(row.seconds for row in causes), item.seconds or 0.0, abs_tol=1e-9)
        assert all(RULES[row.code].name == row.rule for row in causes)


def test_a_recompilation_has_its_answer() -> None:
    (item,) = rows(make.report(make.small_trace()))["recompiles"]
    assert (item.job, item.rank, item.compile_id, item.frame, item.function) == ("job", NO_RANK, "0/1", "0", "f")
    assert (item.verdict, item.code, item.nearest, item.called_line) == ("avoidable by marking", "SL101", "0/0", 20)
    assert "mark dim 0 of x as dynamic" in item.remedy


def test_a_cause_has_the_property_and_a_pattern_to_group_by() -> None:
    (item,) = rows(make.report(make.small_trace()))["causes"]
    assert (item.axis, item.axis_pattern, item.before, item.after, item.is_size_related) == ("x.size[0]", "x.size[*]", "8", "3", True)


def test_a_job_starts_with_its_first_compilation_in_utc() -> None:
    (job,) = rows(make.report(trace(8, 12, start=EARLY)))["jobs"]
    assert job.started.isoformat() == "2026-11-01T12:00:00+00:00"


def test_a_job_without_such_a_time_starts_with_its_first_record() -> None:
    report = make.report(make.small_trace())
    assert rows(report)["jobs"][0].started is None
    (job,) = rows_of(report, "job", "/traces/job", modified=EARLY)["jobs"]
    assert f"{job.started.astimezone():%Y-%m-%d %H:%M:%S}" == "2025-11-20 08:27:33"


@pytest.mark.parametrize("start", [1e17, 0, None, "soon"])
def test_a_time_that_no_clock_shows_is_none(start: object) -> None:
    (job,) = rows(make.report(make.trace(make.compile("0/0", make.tensor(8, 16), start_time=start))))["jobs"]
    assert job.started is None


def test_graph_breaks_failures_and_collectives_have_rows() -> None:
    collective = make.with_collectives(make.compile("0/0", make.tensor(8, 16)), ["all_reduce_", "wait_tensor", "all_gather_into_tensor"])
    found = rows(make.report(make.trace(collective, make.compile("1/0", make.tensor(8, 16), name="g", line=9, **make.FAILED))))
    assert [(row.position, row.operation) for row in found["collectives"]] == [(0, "all_reduce"), (1, "all_gather_into_tensor")]
    (failure,) = found["failures"]
    assert (failure.function, failure.outcome, failure.type, failure.message) == ("g", "failed", "Unsupported", "no")
    demo = rows(report_of("real/demo.log.gz"))
    assert demo["jobs"][0].graph_breaks == len(demo["graph_breaks"]) == 3
    assert all(row.reason and row.place_line for row in demo["graph_breaks"])


def test_a_suggestion_has_what_to_type() -> None:
    (item,) = rows(make.report(make.small_trace()))["suggestions"]
    assert (item.name, item.dims, item.entries, item.compiles_saved) == ("x", "0", "L['x']:0", 1)
    assert item.python.startswith("torch._dynamo.mark_dynamic(x, 0)")


def totals(found: Rows) -> Sequence[object]:
    return (
        [len(found[table]) for table in ("compiles", "recompiles", "causes", "frames", "failures", "collectives")],
        [row.rank for row in found["frames"]],
        [row[:11] for row in found["compiles"]],
        [(row.rank, row.code, row.axis, row.verdict, row.before, row.after) for row in found["causes"]],
    )


def test_every_rank_of_a_large_job_has_the_rows_that_reading_it_in_full_gives(tmp_path: Path) -> None:
    again = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0])
    failed = make.compile("1/0", make.tensor(8, 16), name="g", line=9, **make.FAILED)
    first = make.with_collectives(make.compile("0/0", make.tensor(8, 16)), ["all_reduce_"])
    kinds = (make.trace(first, again), make.trace(first), make.trace(first, again, failed))
    traces = [kinds[rank % 3] for rank in range(MANY)]
    summarized = rows(analyze(large_job(tmp_path, *traces)))
    in_full = rows(analyze(make.load_ranks(*traces)))
    for found in (summarized, in_full):
        for table in found.values():
            table.sort(key=lambda row: (getattr(row, "rank", 0), getattr(row, "compile_id", "")))
    assert any(row.is_summarized for row in summarized["compiles"])
    assert not any(row.is_summarized for row in in_full["compiles"])
    assert totals(summarized) == totals(in_full)
    one, other = summarized["jobs"][0], in_full["jobs"][0]
    assert (one.ranks, one.compiles, one.recompiles, one.failures) == (other.ranks, other.compiles, other.recompiles, other.failures)


def test_an_unreadable_job_is_one_row_with_its_error() -> None:
    found = unreadable("job", "/traces/job", "no such file")
    assert [len(found[table]) for table in TABLES] == [1] + [0] * (len(TABLES) - 1)
    assert (found["jobs"][0].status, found["jobs"][0].error, found["jobs"][0].started) == ("unreadable", "no such file", None)


def test_seconds_that_a_text_log_lacks_are_null_and_so_are_their_sums() -> None:
    report = analyze(load(select(str(FIXTURES / "text_logs/2.13/g_limit.txt.gz"))))
    found = rows(report)
    (job,) = found["jobs"]
    assert (job.seconds, job.recompile_seconds, job.saved_seconds_least, job.saved_seconds_most) == (None,) * 4
    for table in ("compiles", "recompiles", "causes", "frames", "suggestions"):
        assert {row.seconds for row in found[table]} == {None}


@pytest.mark.parametrize(
    ("name", "result", "codes"),
    [
        ("export_good", "exported", ""),
        ("export_data_dependent", "failed", "SL602"),
        ("export_missing_kernel", "failed", "SL604"),
        ("export_violation", "failed", "SL601"),
    ],
)
def test_an_export_is_a_row_with_what_became_of_it(name: str, result: str, codes: str) -> None:
    found = rows(report_of(f"real/2.13/{name}.log.gz"))
    (job,) = found["jobs"]
    assert job.exports == len(found["exports"]) == 1
    item = found["exports"][0]
    assert (item.result, item.export) == (result, "1")
    assert codes in item.codes
    assert bool(item.failures) == bool(item.error) == bool(item.remedy) == (result == "failed")
    assert bool(item.ranges) == (result == "exported")
