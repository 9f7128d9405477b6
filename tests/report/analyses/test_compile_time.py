"""Where did compile time go: which phase, first compiles or recompiles?"""

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.report.analyses.compile_time import analyze
from shapelog.report.results import Table

TIMES = {
    "aot_autograd_cumulative_compile_time_us": 6_000_000,
    "inductor_cumulative_compile_time_us": 4_000_000,
    "inductor_code_gen_cumulative_compile_time_us": 1_000_000,
}


def table(recording: bytes) -> Table:
    (found,) = analyze(make.explain(recording))
    assert isinstance(found, Table)
    return found


def test_each_phase_is_shown_without_those_inside_of_it() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), seconds=10.0, **TIMES), make.compile("0/1", make.tensor(12, 8), seconds=2.0))
    rows = {row[0]: row[1:] for row in table(made).rows}
    assert rows == {
        "Dynamo": (4.0, 2.0, 6.0),
        "AOTAutograd": (2.0, 0.0, 2.0),
        "Inductor": (3.0, 0.0, 3.0),
        "code generation": (1.0, 0.0, 1.0),
        "all": (10.0, 2.0, 12.0),
    }


def test_a_backward_that_was_compiled_later_counts_to_its_forward() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), seconds=3.0))
    body = {"compile_id": "0/0", "is_forward": False, "entire_frame_compile_time_s": 1.5}
    made += make.record("bwd_compilation_metrics", body, id="0/0")
    rows = {row[0]: row[1:] for row in table(made).rows}
    assert (rows["backward"], rows["all"]) == ((1.5, 0.0, 1.5), (4.5, 0.0, 4.5))


def test_what_restarts_lost_is_noted() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), dynamo_time_before_restart_s=0.25))
    assert "0.25 s" in table(made).note
    assert table(make.trace(make.compile("0/0", make.tensor(10, 8)))).note == ""


def test_hits_and_misses_of_the_caches_are_noted() -> None:
    made = make.trace()
    for name in ("fx_graph_cache_miss", "aotautograd_cache_hit"):
        made += make.artifact(name, "{}", id="0/0")
    assert table(made + make.compile("0/0", make.tensor(10, 8))).note == "FX graph cache: 1 miss; AOTAutograd cache: 1 hit"


def test_a_trace_without_times_has_no_table() -> None:
    assert list(analyze(make.explain(make.trace(make.compile("0/0", make.tensor(10, 8), seconds=0.0))))) == []


@pytest.mark.parametrize("name", RECORDED)
def test_the_phases_add_up(name: str) -> None:
    report = report_of(name)
    found = report.table("time")
    if found is None:
        assert report.summary.seconds == 0
        return
    *phases, total = found.rows
    assert total[0] == "all"
    assert total[3] == pytest.approx(report.summary.seconds)
    for column in (1, 2, 3):
        assert sum(row[column] for row in phases) == pytest.approx(total[column], abs=0.02)  # type: ignore[misc]


def test_the_time_of_a_backend_without_phases_is_the_backends() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), seconds=3.0, backend_compile_time_s=1.0))
    rows = {row[0]: row[1:] for row in table(made).rows}
    assert rows == {"Dynamo": (2.0, 0.0, 2.0), "backend": (1.0, 0.0, 1.0), "all": (3.0, 0.0, 3.0)}
