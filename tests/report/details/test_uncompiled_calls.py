"""Whether calls that were not compiled ran in eager mode or raised an error."""

import json
from collections.abc import Callable
from types import FunctionType
from typing import Any

import make
import pytest

import shapelog
from shapelog.model.trace import Trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.details.uncompiled_calls import Eager, Fate, fate_of, fates
from shapelog.report.next_steps import next_steps
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import Saving, StepKind, saving_words

BREAK = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: no\nUser code traceback:\n"
SUPPRESSED, NOT_SUPPRESSED = ({"dynamo_config": json.dumps({"suppress_errors": value})} for value in (True, False))


def failed(label: str = "0/0", **more: Any) -> bytes:
    return make.compile(label, make.tensor(8), **{**make.FAILED, **more})


def fates_in(trace: Trace) -> list[Fate]:
    return [fate_of(frame, compile) for frame in trace.frames for compile in frame.compiles if compile.outcome.value in ("failed", "limit")]


@pytest.mark.parametrize(
    ("made", "fates"),
    [
        ((failed(),), [Fate.UNKNOWN]),
        ((failed(), make.artifact("dynamo_graph_break_reason", BREAK, id="0/0")), [Fate.EAGER]),
        ((failed(), make.artifact("dynamo_graph_break_reason", BREAK.replace("no", "other"), id="0/0")), [Fate.UNKNOWN]),
        ((failed(), failed("0/1")), [Fate.RAISED, Fate.UNKNOWN]),
        ((failed(), make.compile("0/1", make.tensor(9))), [Fate.RAISED]),
        ((make.compile("0/0", make.tensor(9)), failed("0/1")), [Fate.UNKNOWN]),
        ((failed(fail_type="BackendCompilerFailed"),), [Fate.UNKNOWN]),
        ((failed(fail_type="BackendCompilerFailed", **NOT_SUPPRESSED),), [Fate.RAISED]),
        ((failed(fail_type="BackendCompilerFailed", **SUPPRESSED),), [Fate.EAGER]),
        ((failed(fail_type="UserError", **NOT_SUPPRESSED),), [Fate.UNKNOWN]),
        ((failed(fail_type="RecompileError"),), [Fate.RAISED]),
        ((failed(fail_type="UserError", fail_reason="Constraints violated (batch)! For more information, ..."),), [Fate.RAISED]),
        ((failed(fail_type="UserError", fail_reason="Constraints violated (L['x'].size()[0])!"),), [Fate.UNKNOWN]),
        ((make.compile("0/0", make.tensor(8)), make.refused("0/1")), [Fate.EAGER]),
    ],
)
def test_what_became_of_a_call_is_as_far_as_the_trace_shows_it(made: tuple[bytes, ...], fates: list[Fate]) -> None:
    assert fates_in(make.load(make.trace(*made))) == fates


def test_calls_that_raised_are_counted_and_those_in_eager_mode_are_not() -> None:
    trace = make.load(make.trace(failed(), failed("0/1"), failed("1/0", name="torch_dynamo_resume_in_f_at_7")))
    items = [(frame, compile, 3) for frame in trace.frames for compile in frame.compiles]
    assert fates(items) == (3, (Eager.OR_RAISED,))
    broken = make.artifact("dynamo_graph_break_reason", BREAK, id="0/0")
    for name, eager in (("f", Eager.ALL), ("torch_dynamo_resume_in_f_at_7", Eager.RESUMED)):
        trace = make.load(make.trace(failed(name=name), broken))
        assert fates([(trace.frames[0], trace.frames[0].compiles[0], 1)]) == (0, (eager,))


@pytest.mark.parametrize(
    ("saving", "words"),
    [
        (Saving(raised=1), "1 call no longer raises"),
        (Saving(raised=2, eager=(Eager.ALL,)), "2 calls no longer raise; others no longer run eagerly"),
        (Saving(eager=(Eager.OR_RAISED,)), "calls no longer run eagerly or raise an error"),
        (Saving(eager=(Eager.RESUMED,)), "the code after the graph break no longer runs eagerly"),
        (Saving(raised=1, is_unsure=True), "1 call may no longer raise"),
        (Saving(eager=(Eager.LIMIT,), is_unsure=True), "calls beyond the recompile limit may no longer run eagerly"),
        (Saving(2, 2, eager=(Eager.LIMIT,)), "saves 2 compilations; calls beyond the recompile limit no longer run eagerly"),
    ],
)
def test_a_saving_is_what_calls_gain(saving: Saving, words: str) -> None:
    assert saving_words(saving) == words


def test_each_call_that_the_limit_made_raise_is_counted() -> None:
    refused = [make.refused(f"0/{number}").replace(b'"Unsupported"', b'"FailOnRecompileLimitHit"') for number in (1, 2, 3)]
    found = collect_alerts(make.report(make.trace(make.compile("0/0", make.tensor(8)), *refused)), Repository())
    (step,) = (step for step in next_steps(found) if step.kind is StepKind.LIMIT)
    assert (step.saving.refused, step.saving.raised, step.saving.eager) == (3, 3, ())


@pytest.mark.torch
def test_calls_did_what_the_trace_is_taken_to_show() -> None:
    torch: Any = pytest.importorskip("torch")

    def loop(x: Any, breaks: bool) -> Any:
        for _ in range(2):
            x = x.sin()
            if breaks:
                print(end="")
        return x

    def backend(graph: object, inputs: object) -> None:
        raise RuntimeError("no")

    def outcomes(name: str, flags: tuple[bool, ...], **how: Any) -> list[str]:
        torch._dynamo.reset()
        own = FunctionType(loop.__code__.replace(co_name=name), globals())
        with shapelog.record() as recording:
            compiled: Callable[..., Any] = torch.compile(own, **how)
            raised = [_raises(compiled, torch.ones(3 + number), flag) for number, flag in enumerate(flags)]
        return [*(str(item) for item in raised), *(item.name for item in fates_in(recording.trace))]

    assert outcomes("left", (True, True), backend="eager") == ["False", "False", "EAGER"]
    assert outcomes("later", (False, True, False), backend="eager") == ["False", "False", "False", "EAGER"]
    assert outcomes("full", (True, True, False), backend="eager", fullgraph=True) == ["True", "True", "False", "RAISED", "RAISED"]
    assert outcomes("bad", (False, False), backend=backend) == ["True", "True", "RAISED", "RAISED"]


def _raises(call: Callable[..., Any], *arguments: object) -> bool:
    try:
        call(*arguments)
    except Exception:
        return True
    return False
