"""Large jobs: summaries by workers, the choice of representative ranks, and that every file is accounted for."""

import json
import os
import pickle
import re
import signal
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import make
import pytest
from click.testing import CliRunner, Result
from payload_text import size_mismatch

import shapelog
from shapelog.cli.main import cli
from shapelog.distributed import large_jobs
from shapelog.distributed.executor import Executor, LostTask
from shapelog.distributed.large_jobs import FileResult, ReadOptions, Task, choose_representatives, load_large_job, read_file
from shapelog.distributed.summarize import all_ranks
from shapelog.errors import ShapelogError
from shapelog.model.rank_summary import RankSummary
from shapelog.model.trace import Trace
from shapelog.reading.inputs import MAX_RANKS_IN_FULL, InputOptions, is_large, select, select_files
from shapelog.reading.trace_files import TraceFile
from shapelog.recompiles.explain import explain_trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.merge_ranks import merged_findings, merged_frames
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.render import render as page
from shapelog.reporters.json.report import report_data
from shapelog.reporters.terminal.report import render

pytestmark = pytest.mark.slow

FIRST = make.compile("0/0", make.tensor(8, 16))
AGAIN = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0])
REFUSED = {"fail_type": "RecompileLimitExceeded", "fail_reason": "recompile_limit reached", "co_name": "forward", "co_firstlineno": 12}
LIMIT = make.recompile_reasons(size_mismatch("0/0", 8, 32), id="0/2") + make.metrics("0/2", co_filename=make.MODEL, **REFUSED)
OPTIONS = ReadOptions(Executor("processes", 2))


def written(folder: Path, *traces: bytes) -> Path:
    for number, data in enumerate(traces):
        (folder / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log").write_bytes(data)
    return folder


def one_by_one(
    executor: Executor, call: Callable[[Task], FileResult], tasks: Iterable[Task], **_: object
) -> Iterator[tuple[Task, FileResult | LostTask]]:
    """In this process what workers do, with tasks and results pickled."""
    for task in tasks:
        yield task, pickle.loads(pickle.dumps(call(pickle.loads(pickle.dumps(task)))))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_jobs, "gather", one_by_one)


def load_summarized(folder: Path, options: ReadOptions = OPTIONS) -> Trace:
    return load_large_job(select(str(folder)), options)


def in_full(folder: Path) -> Report:
    from shapelog.model.load import load

    return analyze(load(select(str(folder))), debug=True)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def of_sizes(*lengths: int) -> bytes:
    return make.trace(make.static_sizes(*lengths))


def identical(count: int) -> list[bytes]:
    return [make.trace(FIRST, AGAIN)] * count


def test_identical_ranks_are_shown_once_and_all_counted(here: None, tmp_path: Path) -> None:
    trace = load_summarized(written(tmp_path, *identical(19), make.trace(FIRST)))
    report = analyze(trace, debug=True)
    assert [rank.number for rank in trace.ranks] == [0, 19]
    assert trace.representatives == {0: tuple(range(19)), 19: (19,)}
    assert (report.summary.compiles, report.summary.recompiles, report.summary.frames) == (39, 19, 20)
    assert report.ranks is not None
    assert report.ranks.numbers == tuple(range(20))
    assert [item.owner for item in merged_frames(report)] == ["ranks 0-18", "rank 19"]
    assert (trace.rank_count, trace.covered_ranks) == (20, 20)
    assert trace.notes[-1] == (
        "20 ranks are compared; the frames and recompilations of ranks 0 and 19 are shown in full, and each of the others compiled "
        "the same for the same reasons"
    )


@pytest.mark.parametrize(
    "traces",
    [
        identical(6),
        [*identical(4), make.trace(FIRST), make.trace(FIRST, AGAIN, LIMIT), make.trace(FIRST, AGAIN, LIMIT)],
        [of_sizes(8, 16, 24), of_sizes(8, 24, 16), of_sizes(8, 16), of_sizes(8, 16, 24, 32), of_sizes(4, 8, 12)],
        [make.with_collectives(make.trace(FIRST), ["all_reduce_", "wait_tensor"]), *identical(3)],
        [make.trace(FIRST), b"", make.trace(FIRST)],
    ],
    ids=["identical", "limits", "sizes", "collectives", "empty"],
)
def test_a_summarized_job_has_the_report_of_one_read_in_full(here: None, tmp_path: Path, traces: list[bytes]) -> None:
    whole = report_data(in_full(written(tmp_path, *traces)))
    short = report_data(analyze(load_summarized(tmp_path), debug=True))
    for part in ("summary", "ranks", "tables", "findings"):
        _close(short[part], whole[part])
    for name in ("compiles", "predicted_compiles", "seconds", "predicted_seconds", "env"):
        _close(short["advice"][name], whole["advice"][name])
    assert _books(short) == _books(whole)


def _books(data: Any) -> list[tuple[str, int, int, int]]:
    return sorted(
        (item["name"], item["bytes"], sum(item["records"].values()), item["unreadable_bytes"]) for item in data["health"]["files"]
    )


def _close(one: Any, other: Any) -> None:
    """Equal but for the order in which seconds were added, and findings that are shown once."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _close(one[key], other[key])
    elif isinstance(one, float):
        assert one == pytest.approx(other)
    elif isinstance(one, list):
        distinct = [item for index, item in enumerate(other) if not isinstance(item, dict) or item not in other[:index]]
        assert len(one) == len(distinct)
        for left, right in zip(one, distinct, strict=True):
            _close(left, right)
    else:
        assert one == other


def test_two_runs_of_a_job_that_are_read_as_one_count_twice(here: None, tmp_path: Path) -> None:
    """Rank 0 did one thing in the first run and another in the second, so another rank represents the second."""
    written(tmp_path, *identical(18))
    for number in range(18):
        data = make.trace(FIRST) if number != 3 else of_sizes(8, 16)
        (tmp_path / f"dedicated_log_torch_trace_rank_{number}_zyxwvuts.log").write_bytes(data)
    whole = analyze(build_all(tmp_path), debug=True)
    trace = load_large_job(select(str(tmp_path), InputOptions("all")), OPTIONS)
    report = analyze(trace, debug=True)
    assert [rank.number for rank in trace.ranks] == [0, 1, 3]
    assert trace.representatives == {0: tuple(range(18)), 1: tuple(number for number in range(18) if number != 3), 3: (3,)}
    assert (trace.rank_count, trace.covered_ranks, len(trace.accounts)) == (36, 36, 36)
    assert report.summary.compiles == whole.summary.compiles == 18 * 2 + 17 + 2
    assert report.summary.recompiles == whole.summary.recompiles == 19
    assert report.summary.seconds == pytest.approx(whole.summary.seconds)


def build_all(folder: Path) -> Trace:
    from shapelog.model.load import load

    return load(select(str(folder), InputOptions("all")))


def test_runs_that_no_rank_can_represent_are_noted(here: None, tmp_path: Path) -> None:
    written(tmp_path, of_sizes(8, 16), *identical(17))
    (tmp_path / "dedicated_log_torch_trace_rank_0_zyxwvuts.log").write_bytes(of_sizes(8, 16, 24))
    trace = load_large_job(select(str(tmp_path), InputOptions("all")), OPTIONS)
    assert (trace.rank_count, trace.covered_ranks, len(trace.ranks)) == (19, 18, 2)
    assert trace.notes[-1].startswith("1 more rank compiled in another order, or more or less often")


def test_many_runs_of_few_ranks_are_read_in_full(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"dedicated_log_torch_trace_rank_{number % 2}_run{number:05}.log").write_bytes(make.trace(FIRST))
    selection = select(str(tmp_path), InputOptions("all"))
    assert len(selection.files) == 20
    assert not is_large([selection])


def test_each_account_balances_and_problems_keep_their_lines(here: None, tmp_path: Path) -> None:
    damaged = make.trace(FIRST, AGAIN).replace(b'"describe_tensor"', b'"describe_ten\nsor"', 1)
    trace = load_summarized(written(tmp_path, *identical(17), damaged, damaged[:-700]))
    assert all(item.balances for item in trace.accounts)
    assert sum(item.size for item in trace.accounts) == sum(file.stat().st_size for file in tmp_path.iterdir())
    expected = {(problem.file, problem.line) for problem in trace.problems}
    assert {(problem.file, problem.line) for problem in in_full(tmp_path).problems} == expected
    assert expected


def test_a_file_that_is_not_a_trace_is_a_problem_and_its_rank_is_unread(here: None, tmp_path: Path) -> None:
    report = analyze(load_summarized(written(tmp_path, *identical(17), b"\x1f\x8bcut", b"no trace at all\n" * 9)), debug=True)
    messages = {problem.file[26:33]: problem.message for problem in report.problems}
    assert messages["rank_17"].startswith("nothing of it can be read; the gzip data ends early")
    assert messages["rank_18"].startswith("not a torch.compile trace (plain text")
    assert report.ranks is not None
    assert len(report.ranks.numbers) == 17
    assert (report.ranks.unread, report.ranks.missing) == ((17, 18), ())


def test_a_missing_file_is_named_and_the_rest_is_reported(here: None, tmp_path: Path) -> None:
    selection = select(str(written(tmp_path, *identical(18))))
    (tmp_path / "dedicated_log_torch_trace_rank_5_abcdefgh.log").unlink()
    report = analyze(load_large_job(selection, OPTIONS), debug=True)
    assert report.trace.unread == (5,)
    assert report.ranks is not None
    assert (report.ranks.unread, report.ranks.missing, len(report.ranks.numbers)) == ((5,), (), 17)
    assert [problem.code for problem in report.problems] == ["unreadable-file"]
    shown = render(report, Options(width=200)).decode()
    assert "not read: the trace of rank 5 could not be read" in shown
    assert "dedicated_log_torch_trace_rank_5_abcdefgh.log is not read: it no longer exists" in shown
    assert "the trace of rank 5 could not be read" in page(report, Options()).decode()


def test_if_no_file_can_be_read_the_error_names_the_first(here: None, tmp_path: Path) -> None:
    selection = select(str(written(tmp_path, *identical(17))))
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(ShapelogError, match=r"rank_0_abcdefgh\.log: it no longer exists; nor can the other 16 files be read"):
        load_large_job(selection, OPTIONS)


def test_every_cause_of_the_job_is_on_a_rank_that_is_read_in_full(here: None, tmp_path: Path) -> None:
    """Each rank has a number of compiles of its own, and one alone has another cause."""
    odd = make.trace(FIRST, make.compile("0/1", make.tensor(8, 24), reasons=[size_mismatch("0/0", 16, 24, dim=1)], dynamic=[1]))
    traces = [of_sizes(*range(8, 8 + 8 * (count + 1), 8)) for count in range(24)]
    trace = load_summarized(written(tmp_path, *traces[:20], odd, *traces[20:]))
    assert len(trace.ranks) <= MAX_RANKS_IN_FULL
    assert 20 in {rank.number for rank in trace.ranks}  # the odd one
    assert 24 in {rank.number for rank in trace.ranks}  # that which compiled most
    report = analyze(trace, debug=True)
    assert report.summary.compiles == sum(range(1, 25)) + 2
    assert trace.covered_ranks < trace.rank_count == 25
    assert trace.notes[-1].endswith("all their causes occur on a rank that is shown")
    assert report.advice is not None
    assert report.advice.scope == f"on {trace.covered_ranks} of 25 ranks"
    assert f"estimated on {trace.covered_ranks} of 25 ranks" in render(report, Options(width=200)).decode()


def test_there_are_at_most_as_many_representatives_as_ranks_read_in_full(here: None, tmp_path: Path) -> None:
    """Every rank has code that no other has."""
    traces = [make.trace(make.compile("0/0", make.tensor(8, 16), line=100 + number)) for number in range(40)]
    ranks = [rank for number, data in enumerate(traces) for rank in _summaries(number, data)]
    assert len({rank.steps for rank in ranks}) == 40
    assert len(choose_representatives(ranks)) == MAX_RANKS_IN_FULL
    assert choose_representatives(ranks[:1]) == [[0]]
    assert choose_representatives([]) == []


def _summaries(number: int, data: bytes) -> Iterator[RankSummary]:
    trace = make.load_ranks(data, make.trace(FIRST), numbers=(number, 99))
    yield all_ranks(explain_trace(trace))[0]


def test_alerts_name_all_their_ranks(here: None, tmp_path: Path) -> None:
    found = collect_alerts(analyze(load_summarized(written(tmp_path, *identical(20))), debug=True), Repository("nowhere"))
    assert [alert.ranks for alert in found.alerts] == [tuple(range(20))] * len(found.alerts)
    assert found.alerts


def test_findings_name_the_represented_ranks(here: None, tmp_path: Path) -> None:
    report = analyze(load_summarized(written(tmp_path, *[make.trace(FIRST, AGAIN, LIMIT)] * 18, make.trace(FIRST))), debug=True)
    owners = {item.rule.code: owner for item, owner in merged_findings(report.findings, report.trace)}
    assert (owners["SL401"], owners["SL701"]) == ("ranks 0-17", "")
    assert report.summary.limit_hits == 18


def test_a_small_job_is_read_in_full_and_a_large_one_by_workers(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.mkdir()
    large.mkdir()
    written(small, *identical(MAX_RANKS_IN_FULL))
    written(large, *identical(MAX_RANKS_IN_FULL + 1))
    assert [len(_json("report", str(folder))["trace"]["ranks"]) for folder in (small, large)] == [MAX_RANKS_IN_FULL, 1]
    assert len(_json("report", str(small), "--executor", "processes:2")["trace"]["ranks"]) == 1
    many = [str(file) for file in sorted(large.iterdir())]
    (rank,) = _json("report", *many)["trace"]["ranks"]
    assert rank["stands_for"] == list(range(MAX_RANKS_IN_FULL + 1))
    assert _json("suggest-dynamic", str(large))["compiles"] == 2 * (MAX_RANKS_IN_FULL + 1)


def _json(*arguments: str) -> Any:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_explain_reads_the_rank_that_it_is_asked_about(here: None, tmp_path: Path) -> None:
    folder = str(written(tmp_path, *identical(17), make.trace(FIRST, AGAIN, LIMIT)))
    explained = run("explain", folder, "0/1", "--rank", "7", "--width", "200")
    assert explained.exit_code == 0
    assert "read dedicated_log_torch_trace_rank_7_abcdefgh.log alone" in explained.output
    assert "ranks 0 and 17 have a compilation 0/1; choose one: --rank 0" in run("explain", folder, "0/1", "--width", "200").output


def test_explain_names_the_ranks_of_a_compile_that_no_rank_in_full_has(here: None, tmp_path: Path) -> None:
    traces = [of_sizes(*range(8, 8 + 8 * (count + 1), 8)) for count in range(40)]
    traces.append(make.trace(make.static_sizes(8, frame=7)))
    refused = run("explain", str(written(tmp_path, *traces)), "7/0")
    assert "rank 40 have a compilation 7/0; choose one: --rank 40" in refused.output
    assert run("explain", str(tmp_path), "7/0", "--rank", "40").exit_code == 0


def test_an_archive_of_many_ranks_is_unpacked_rank_by_rank(here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "job.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, data in enumerate(identical(20)):
            archive.writestr(f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log", data)
    most = 0
    before = large_jobs.read_file

    def counted(task: Task) -> FileResult:
        nonlocal most
        most = max(most, len(os.listdir(os.path.dirname(task.address))))
        return before(task)

    monkeypatch.setattr(large_jobs, "read_file", counted)
    monkeypatch.setattr(large_jobs, "gather", lambda executor, call, tasks, note: ((task, call(task)) for task in tasks))
    assert _json("report", str(packed))["trace"]["ranks"][0]["stands_for"] == list(range(20))
    assert most == 1


def test_ranks_at_a_url_are_fetched_by_workers(here: None) -> None:
    system = pytest.importorskip("fsspec").filesystem("memory")
    for number, data in enumerate(identical(18)):
        system.pipe_file(f"/folding/dedicated_log_torch_trace_rank_{number}_abcdefgh.log", data)
    try:
        seen: list[str] = []
        trace = load_url("memory://folding", seen)
        assert trace.representatives == {0: tuple(range(18))}
        assert all(address.startswith("memory://") for address in seen)
        assert len(seen) == 18
    finally:
        system.rm("/folding", recursive=True)


def load_url(url: str, seen: list[str]) -> Trace:
    def gather(
        executor: Executor, call: Callable[[Task], FileResult], tasks: Iterable[Task], **_: object
    ) -> Iterator[tuple[Task, FileResult | LostTask]]:
        for task in tasks:
            seen.append(task.address)
            yield task, call(task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_jobs, "gather", gather)
        return load_large_job(select(url), OPTIONS)


def test_progress_ends_with_all_ranks(here: None, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    load_summarized(written(tmp_path, *identical(17)), ReadOptions(Executor("processes"), progress=lambda *item: steps.append(item)))
    total = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert steps[-2:] == [("17 of 17 ranks", total, total), ("", total, -1)]
    assert len(steps) == 18


def test_a_rank_whose_worker_dies_is_named_and_the_others_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_jobs, "read_file", dies_at_three)
    report = analyze(load_summarized(written(tmp_path, *identical(18))), debug=True)
    (problem,) = report.problems
    assert (problem.code, problem.file) == ("unreadable-file", "dedicated_log_torch_trace_rank_3_abcdefgh.log")
    assert re.search(r"kill|died", problem.message)
    assert report.trace.unread == (3,)
    assert report.ranks is not None
    assert len(report.ranks.numbers) == 17


def dies_at_three(task: Task) -> FileResult:
    if task.rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return read_file(task)


def test_the_summary_of_a_rank_is_small(here: None, tmp_path: Path) -> None:
    """Payloads remain in the file."""
    data = make.trace(FIRST, AGAIN, make.artifact("inductor_output_code", "x = 1\n" * 50_000))
    (file,) = written(tmp_path, data).iterdir()
    assert len(pickle.dumps(read_file(Task(0, str(file), file.name, 0, len(data), None, False)))) < 8_000 < len(data)


def test_the_page_of_a_large_job_does_not_grow_with_its_ranks(here: None, tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()
    written(few, *identical(20))
    written(many, *identical(120))
    lengths = [len(page(analyze(load_summarized(folder)), Options())) for folder in (few, many)]
    assert lengths[1] - lengths[0] < 20_000


def test_ranks_named_twice_are_one(here: None, tmp_path: Path) -> None:
    """Two nodes that both count from 0 on, or two runs of a job."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    written(one, *identical(10))
    written(other, *[make.trace(FIRST)] * 10)
    ranks = all_ranks(explain_trace(load_large_job(select_files([*one.iterdir(), *other.iterdir()]), OPTIONS)))
    assert [rank.number for rank in ranks] == list(range(10))
    assert {(len(rank.steps), rank.processes) for rank in ranks} == {(2, 2)}


def test_files_without_a_rank_are_read_here(here: None, tmp_path: Path) -> None:
    written(tmp_path, *identical(17))
    helper = tmp_path / "dedicated_log_torch_trace_zyxwvuts.log"
    helper.write_bytes(make.trace(FIRST))
    trace = load_large_job(select_files(sorted(tmp_path.iterdir())), OPTIONS)
    assert [rank.number for rank in trace.ranks] == [0, None]
    assert TraceFile(helper, helper.name).rank is None


def test_from_python_a_large_job_is_read_here_or_by_workers(tmp_path: Path) -> None:
    written(tmp_path, *identical(MAX_RANKS_IN_FULL + 1))
    here, workers = shapelog.load(tmp_path), shapelog.load(tmp_path, executor="processes:2")
    assert here.representatives == workers.representatives == {0: tuple(range(MAX_RANKS_IN_FULL + 1))}
    assert here.rank_count == workers.rank_count == MAX_RANKS_IN_FULL + 1
    with pytest.raises(ShapelogError, match="is no executor"):
        shapelog.load(tmp_path, executor="threads")


def test_a_large_job_without_one_trace_is_refused_in_one_line(here: None, tmp_path: Path) -> None:
    written(tmp_path, *[b"no trace at all\n"] * 17)
    with pytest.raises(
        ShapelogError, match=r"rank_0_abcdefgh\.log: not a torch\.compile trace .*; nor can the other 16 files be read"
    ) as refused:
        load_large_job(select_files(sorted(tmp_path.iterdir())), OPTIONS)
    assert "\n" not in str(refused.value)


def test_a_damaged_member_of_an_archive_is_a_problem_of_its_rank_and_its_room_is_used_once(here: None, tmp_path: Path) -> None:
    packed = tmp_path / "job.zip"
    data = make.trace(FIRST, AGAIN)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for number in range(18):
            archive.writestr(f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log", data)
        at = archive.getinfo("dedicated_log_torch_trace_rank_7_abcdefgh.log").header_offset
    content = bytearray(packed.read_bytes())
    content[at + 30 + 45 + len(data) // 2] ^= 1
    packed.write_bytes(content)
    trace = load_large_job(select(str(packed), InputOptions(max_bytes=18 * len(data) + 10)), OPTIONS)
    assert {problem.file for problem in trace.problems if problem.code == "damaged-archive"} == {
        "dedicated_log_torch_trace_rank_7_abcdefgh.log"
    }
    assert trace.rank_count == 18
