"""Which compiled code runs without CUDA graphs, and for which are they recorded again?"""

import make
import pytest
from recorded import report_of

from shapelog.report.analyses.cuda_graphs import analyze
from shapelog.report.report import Report
from shapelog.report.results import Finding, Location, Table

SKIPPED = (
    'skipping cudagraphs due to mutated inputs (1 instances). Found from :\n   File "/app/serve.py", line 17, in step\n    cache[pos] = k'
)
HEAD = "V1105 09:11:30.030000 4242 torch/_inductor/{}] {}"
LOG = [
    HEAD.format("utils.py:1250", "[0/0] [__cudagraphs] skipping cudagraphs due to mutated inputs (1 instances). Found from : "),
    HEAD.format("utils.py:1250", '[0/0] [__cudagraphs]    File "/app/serve.py", line 17, in step'),
    HEAD.format("utils.py:1250", "[0/0] [__cudagraphs]     cache[pos] = k"),
    "step 1 of 300",
    HEAD.format("cudagraph_trees.py:2300", "[__cudagraphs] [0/0] Re-recording function=forward, mode=FORWARD, reason=static input moved."),
    HEAD.format("cudagraph_trees.py:2300", "[__cudagraphs] [0/0] Re-recording function=forward, mode=FORWARD, reason=static input moved."),
    "w.py:5: UserWarning: CUDAGraph supports dynamic shapes by recording a new graph for each size. We have observed 9 distinct sizes.",
    "    warnings.warn(text)",
    HEAD.format("graph.py:1002", "[0/0] [__perf_hints] Using FallbackKernel: aten.sort.values_stable"),
    HEAD.format("graph.py:1002", "[0/0] [__perf_hints] Using FallbackKernel: aten.sort.values_stable"),
]


def findings(report: Report) -> list[Finding]:
    return [item for item in report.findings if item.rule.code in ("SL503", "SL504")]


def test_the_reason_in_the_metrics_is_a_finding_with_its_line_and_a_remedy() -> None:
    recorded = make.trace(make.compile("0/0", make.tensor(8, 16), cudagraph_skip_reason=SKIPPED))
    (finding,) = (item for item in analyze(make.explain(recorded)) if isinstance(item, Finding))
    assert (finding.rule.code, finding.compile, finding.place) == ("SL503", "0/0", Location("/app/serve.py", 17))
    assert finding.sentence == "f runs without CUDA graphs: mutated inputs (1 instances)"
    assert "mark_static_address" in finding.remedy


def test_a_reason_that_is_not_known_gets_the_remedy_of_its_rule() -> None:
    recorded = make.trace(
        make.compile("0/0", make.tensor(8, 16), cudagraph_skip_reason="skipping cudagraphs due to complex memory overlap")
    )
    (finding,) = (item for item in analyze(make.explain(recorded)) if isinstance(item, Finding))
    assert finding.remedy == finding.rule.remedy


def test_a_compile_without_such_a_message_has_no_finding() -> None:
    assert list(analyze(make.explain(make.small_trace()))) == []


@pytest.fixture
def logged(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_text("\n".join(LOG) + "\n", encoding="utf-8")
    return report_of(path)


def test_a_text_log_has_each_message_with_the_compile_that_it_names(logged: Report) -> None:
    assert sorted((item.rule.code, item.compile, item.sentence) for item in findings(logged)) == [
        ("SL503", "0/0", "compiled code runs without CUDA graphs: mutated inputs (1 instances)"),
        ("SL504", "", "compiled code has recorded CUDA graphs for 9 input sizes"),
        ("SL504", "0/0", "the CUDA graph of forward was recorded again twice: static input moved"),
    ]


def test_hints_about_speed_are_counted(logged: Report) -> None:
    table = logged.table("performance_hints")
    assert isinstance(table, Table)
    assert table.rows == (("Using FallbackKernel: aten.sort.values_stable", 2),)


@pytest.mark.parametrize(("keys", "sizes"), [(("10", "13", "(16, 3)", "10"), 3), (("10", "13", "10"), 0)])
def test_a_graph_for_each_of_many_sizes_is_counted_where_only_the_recordings_are_logged(
    keys: tuple[str, ...], sizes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_text("".join(f"recording cudagraph tree for symint key {key}\n" for key in keys), encoding="utf-8")
    wanted = [f"compiled code has recorded CUDA graphs for {sizes} input sizes"] if sizes else []
    assert [finding.sentence for finding in findings(report_of(path))] == wanted


@pytest.mark.parametrize(
    ("keys", "remedy"), [(("8", "9", "10"), "pass the number that grows with each call as a tensor"), (("8", "16", "32"), "pad inputs")]
)
def test_graphs_for_ints_in_a_row_are_those_of_a_number_that_counts_up(
    keys: tuple[str, ...], remedy: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_text("".join(f"Recording cudagraph tree for symint key {key}\n" for key in keys), encoding="utf-8")
    (finding,) = findings(report_of(path))
    assert finding.own_remedy.startswith(remedy)


@pytest.mark.parametrize(
    "found", [". Found from : .../serve.py, line 7, in f", '\nFound from File ".../serve.py", line 7, in f\n    n = x.item()']
)
def test_the_place_may_be_shortened_or_on_the_next_line(found: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_text(f"skipping cudagraphs due to incompatible op aten._local_scalar_dense.default{found}\n", encoding="utf-8")
    report = report_of(path)
    (finding,) = findings(report)
    assert finding.place is not None
    assert (finding.place.file, finding.place.line) == (".../serve.py", 7)
    assert finding.own_remedy.startswith("leave the number in a tensor")
    assert report.table("performance_hints") is None


def test_an_input_that_moved_is_an_error_and_each_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "run.txt"
    path.write_text(
        "static input data pointer changed.\ninput name: primals_2. data pointer changed from 140 to 141. "
        'input stack trace:   File "/srv/a.py", line 16, in forward\n    return self.linear(x)\n\n'
        "input name: primals_3. data pointer changed from 1 to 2. "
        'input stack trace:   File "/srv/a.py", line 25, in forward\n    self.static.add_(1)\n',
        encoding="utf-8",
    )
    (found,) = findings(report_of(path))
    assert found.sentence == (
        "the CUDA graph of compiled code could not be run again: static input data pointer changed (primals_2 and primals_3 at a.py:25)"
    )
    assert found.place == Location("/srv/a.py", 16)
