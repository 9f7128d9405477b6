"""Which code does PyTorch run eagerly from some call on, because that call ran no tensor operation?"""

from collections.abc import Callable
from typing import Any

import make
import pytest
from make import artifact, static_sizes, tensor, trace
from make import compile as compiled
from recorded import report_of

from shapelog.model.compile import Outcome
from shapelog.report.analyses.skipped_code import analyze
from shapelog.report.results import Finding

# What PyTorch 2.13 and 2.6 write of a call without a tensor operation.
NEW = {"guards": "", "graph": "", "guard_count": None, "has_guarded_code": True}
OLD = NEW | {"has_guarded_code": False}


def found(*records: bytes) -> list[Finding]:
    return [item for item in analyze(make.explain(trace(*records))) if isinstance(item, Finding)]


@pytest.mark.parametrize("metrics", [NEW, OLD])
def test_the_entries_of_a_function_with_such_a_call_are_no_longer_used(metrics: dict[str, object]) -> None:
    (finding,) = found(static_sizes(10, 12), compiled("0/2", tensor(12, 8), reasons=["0/1: mode == 'a'"], **metrics))
    assert (finding.rule.code, finding.compile) == ("SL404", "0/2")
    assert finding.sentence == "f runs in eager mode since a call ran no tensor operation: its 2 cache entries are no longer used"
    assert finding.notes == ("in that call, mode was 'a' and has changed",)
    assert finding.remedy.startswith("set torch._dynamo.config.allow_empty_graphs = True")


def test_a_first_call_without_one_leaves_the_function_to_eager_mode() -> None:
    (finding,) = found(compiled("0/0", tensor(10, 8), **NEW))
    assert finding.sentence == "f ran no tensor operation in its first call, so PyTorch runs it in eager mode from then on"
    assert (make.load(trace(compiled("0/0", tensor(10, 8), **NEW))).compiles[0].outcome, finding.notes) == (Outcome.SKIPPED, ())


def test_what_takes_no_tensor_or_goes_on_after_a_graph_break_need_not_compute_anything() -> None:
    rest = compiled("1/0", tensor(10, 8), name="torch_dynamo_resume_in_f_at_6", **NEW)
    assert found(compiled("0/0", **NEW), rest) == []


def test_a_function_that_is_given_up_for_a_graph_break_is_not_one() -> None:
    broken = artifact("dynamo_graph_break_reason", "Graph break in user code at /srv/app/model.py:6\nReason: print", id="0/0")
    assert found(broken, compiled("0/0", tensor(10, 8), **OLD)) == []


def test_a_call_that_failed_has_its_own_finding() -> None:
    assert found(static_sizes(10), compiled("0/1", tensor(12, 8), **NEW, fail_type="Unsupported", fail_reason="no")) == []


def test_a_version_without_the_setting_gets_no_advice_to_set_it() -> None:
    made = make.explain(trace(compiled("0/0", tensor(10, 8), **OLD), version="2.6.0"))
    (finding,) = (item for item in analyze(made) if isinstance(item, Finding))
    assert finding.remedy == "leave the compiled call out where there is nothing to compute"


def test_a_recording_that_lost_its_entries_this_way() -> None:
    (found,) = [item for item in report_of("causes/dict_types_and_kwargs.log.gz").findings if item.rule.code == "SL404"]
    assert (found.compile, found.notes) == ("0/1", ("in that call, kw no longer contains 'scale'",))


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
