"""Which code does PyTorch run eagerly from some call on, because that call ran no tensor operation?"""

from collections.abc import Callable
from typing import Any

import make
import pytest
from command_line import call
from make import compile as compiled
from make import static_sizes, tensor, trace
from recorded import report_of

from shapelog.model.compile import Outcome
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.analyses.skipped_code import analyze
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.interruptions import InterruptionKind, interruptions
from shapelog.report.next_steps import next_steps
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding
from shapelog.reporters import Options, renderer

# What torch 2.8 and later write of a call without a tensor operation, and 2.6 of any call that is skipped.
EMPTY = {"guards": "", "graph": "", "guard_count": None, "ir_count": 3, "has_guarded_code": True}
OLD = {"guards": "", "graph": "", "guard_count": None, "has_guarded_code": False}


def found(*records: bytes) -> list[Finding]:
    return [item for item in analyze(make.explain(trace(*records))) if isinstance(item, Finding)]


def test_the_entries_of_a_function_with_such_a_call_are_no_longer_used() -> None:
    (finding,) = found(static_sizes(10, 12), compiled("0/2", tensor(12, 8), reasons=["0/1: mode == 'a'"], **EMPTY))
    assert (finding.rule.code, finding.compile) == ("SL404", "0/2")
    assert finding.sentence == "f runs eagerly after a call that ran no tensor operation"
    assert finding.notes == ("its 2 cache entries are unused; in that call, mode was 'a' and has changed",)
    assert finding.remedy.startswith("set torch._dynamo.config.allow_empty_graphs = True")


def test_a_first_call_without_one_leaves_the_function_to_eager_mode() -> None:
    (finding,) = found(compiled("0/0", tensor(10, 8), **EMPTY))
    assert finding.sentence == "f runs eagerly because its first call ran no tensor operation"
    assert (make.load(trace(compiled("0/0", tensor(10, 8), **EMPTY))).compiles[0].outcome, finding.notes) == (Outcome.SKIPPED, ())


def test_entries_without_an_operation_are_no_loss() -> None:
    """As of a hook of a library that does nothing but what breaks the graph: a call with an entry of its own is one more compilation."""
    hook = {"name": "make_inputs_require_grads", "file": "/opt/venv/lib/python3.11/site-packages/transformers/utils.py"}
    assert found(compiled("0/0", tensor(10, 8), **hook, graph_op_count=0), compiled("0/1", tensor(10, 8), **hook, **EMPTY)) == []
    (finding,) = found(compiled("0/0", tensor(10, 8), **hook, graph_op_count=1), compiled("0/1", tensor(10, 8), **hook, **EMPTY))
    assert finding.notes == ("its cache entry is unused",)


def test_what_takes_no_tensor_or_goes_on_after_a_graph_break_need_not_compute_anything() -> None:
    rest = compiled("1/0", tensor(10, 8), name="torch_dynamo_resume_in_f_at_6", **EMPTY)
    assert found(compiled("0/0", **EMPTY), rest) == []


@pytest.mark.parametrize("metrics", [OLD, EMPTY | {"ir_count": None}])
def test_a_call_that_did_not_come_to_its_end_was_skipped_for_something_else(metrics: dict[str, object]) -> None:
    """A graph break in a loop, for one."""
    skipped = compiled("0/0", tensor(10, 8), **metrics)
    assert found(skipped) == []
    assert make.load(trace(skipped)).compiles[0].outcome is Outcome.SKIPPED


def test_a_call_that_failed_has_its_own_finding() -> None:
    assert found(static_sizes(10), compiled("0/1", tensor(12, 8), **EMPTY, fail_type="Unsupported", fail_reason="no")) == []


def test_a_check_can_fail_on_it() -> None:
    made = trace(*(compiled(f"{number}/0", tensor(10, 8), name=f"f{number}", **EMPTY) for number in range(2)))
    assert call("check", "-", stdin=made).exit_code == 0
    done = call("check", "-", "--fail-on", "skipped", stdin=made)
    assert done.exit_code == 1
    assert "2 skipped functions" in done.stdout


def test_it_is_a_step_and_a_card_that_the_page_leads_to() -> None:
    report = make.report(trace(compiled("0/0", tensor(10, 8), **EMPTY)))
    alerts = collect_alerts(report, Repository("nowhere"))
    (step,) = next_steps(alerts)
    assert (step.title, step.saving.eager) == ("Keep f compiled when a call runs no tensor operation", (Eager.ALL,))
    assert step.text == ("torch._dynamo.config.allow_empty_graphs = True",)
    assert [item.kind for item in interruptions(alerts)] == [InterruptionKind.SKIPPED]
    page = renderer("report", "html")(report, Options()).decode()
    assert 'href="#skipped-cards"' in page
    assert 'id="skipped-cards"' in page


def test_a_recording_that_lost_its_entries_this_way() -> None:
    (found,) = [item for item in report_of("causes/dict_types_and_kwargs.log.gz").findings if item.rule.code == "SL404"]
    assert (found.compile, found.notes) == ("0/1", ("its cache entry is unused; in that call, kw no longer contains 'scale'",))


@pytest.mark.torch
@pytest.mark.parametrize("allowed", [False, True])
def test_torch_does_not_use_the_entries_any_more_but_with_the_setting(allowed: bool) -> None:
    torch = pytest.importorskip("torch")
    calls: list[str] = []

    def backend(graph: Callable[..., Any], _: object) -> Callable[..., Any]:
        def run(*args: object) -> Any:
            calls.append(f"{len(args)} inputs")
            return graph.forward(*args)  # type: ignore[attr-defined]

        return run

    def scale(x: Any, mode: str) -> Any:
        return x * 2 if mode == "on" else x

    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_empty_graphs=allowed):
        compiled_scale = torch.compile(scale, backend=backend)
        for mode in ("on", "on", "off"):
            compiled_scale(torch.ones(3), mode)
        calls.clear()
        compiled_scale(torch.ones(3), "on")
    assert len(calls) == allowed
