"""Logs of the levels that people ask PyTorch for: ``TORCH_LOGS=+dynamo`` has guards and no reasons, ``TORCH_LOGS=all`` metrics."""

import re
from pathlib import Path

import pytest

from shapelog import load
from shapelog.model.compile import Outcome
from shapelog.model.trace import Trace
from shapelog.recompiles.explain import explain_trace
from shapelog.rules import Verdict

LOGS = Path(__file__).parents[3] / "fixtures" / "text_logs" / "2.13"
# What the trace of the same run has.
RECOMPILES = [
    ("0/1", ("SL101",), Outcome.COMPILED),
    ("0/2", ("SL311",), Outcome.COMPILED),
    ("1/1", ("SL301",), Outcome.COMPILED),
    ("3/1", ("SL301",), Outcome.COMPILED),
    ("4/1", ("SL315",), Outcome.COMPILED),
    ("4/2", ("SL315",), Outcome.COMPILED),
    ("4/3", ("SL315",), Outcome.LIMIT),
]
AT = "torch/_utils_internal.py:129]"


@pytest.mark.parametrize("level", ["dynamo", "all"])
def test_a_log_has_the_causes_that_the_trace_has(level: str) -> None:
    found = explain_trace(load(LOGS / f"debug_levels_{level}.txt.gz"), debug=True).recompiles
    assert [(item.compile.label, item.codes, item.compile.outcome) for item in found] == RECOMPILES


def test_metrics_have_the_version_and_the_times() -> None:
    trace = load(LOGS / "debug_levels_all.txt.gz")
    assert trace.torch_version == "2.13.0+cpu"
    assert all(compile.seconds > 0 for compile in trace.compiles if compile.outcome is Outcome.COMPILED)
    assert "no guards or graphs" in trace.what_is_missing[0]


def test_the_log_of_dynamo_has_the_line_of_the_call_and_no_failure_that_is_none() -> None:
    trace = load(LOGS / "debug_levels_dynamo.txt.gz")
    (added, *_) = trace.frames
    callers = [caller for compile in added.compiles if (caller := added.caller(compile))]
    assert [(caller.line, caller.code) for caller in callers] == [
        *[(39, "add(torch.ones(size, 3), True)")] * 2,
        (40, "add(torch.ones(4, 3), False)"),
    ]
    assert not any(compile.outcome is Outcome.FAILED for compile in trace.compiles)


def test_dynamo_has_each_graph_break_twice_which_is_one() -> None:
    trace = load(LOGS / "debug_levels_dynamo.txt.gz")
    assert [len(compile.breaks) for compile in trace.frames[1].compiles] == [1, 1]


def read(tmp_path: Path, *lines: str) -> Trace:
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    return load(tmp_path / "run.log")


def metrics(id: str, *fields: str, attempt: str = "") -> str:
    known = f"compile_id='{id}', frame_key='1', co_name='f', co_filename='/srv/net.py', co_firstlineno=4"
    text = ", ".join((known, *fields, "pytorch_version='2.13.0+cpu'"))
    return f"I1128 01:11:47.109000 22353 {AT} [{id}{attempt}] CompilationMetrics({text})"


def start(id: str) -> str:
    place = "torch/_dynamo/symbolic_convert.py:5335]"
    return f"I1128 01:11:47.076000 22353 {place} [{id}] Step 1: torchdynamo start tracing f /srv/net.py:4"


COMPILED = ("has_guarded_code=True", "is_forward=True", "dynamo_cumulative_compile_time_us=2000")
REASON = """recompile_reason="0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6\""""


def test_a_reason_and_the_times_come_from_the_metrics(tmp_path: Path) -> None:
    trace = read(tmp_path, start("0/0"), metrics("0/0", *COMPILED), start("0/1"), metrics("0/1", *COMPILED, REASON))
    (recompile,) = explain_trace(trace, debug=True).recompiles
    assert recompile.codes == ("SL101",)
    assert recompile.compile.seconds == 0.002


def test_ids_that_start_again_after_a_reset_are_other_compiles(tmp_path: Path) -> None:
    run = (start("0/0"), metrics("0/0", *COMPILED), start("0/1"), metrics("0/1", *COMPILED, REASON))
    trace = read(tmp_path, *run, *run)
    assert [compile.outcome for compile in trace.compiles] == [Outcome.COMPILED] * 4
    assert len(explain_trace(trace, debug=True).recompiles) == 2


def test_a_compile_that_does_not_end_is_another_where_its_id_begins_with_another_function(tmp_path: Path) -> None:
    """As one without an operation, which leaves no guards, before a call of torch._dynamo.reset()."""
    ended = metrics("0/0", *COMPILED).replace("co_name='f'", "co_name='other'")
    trace = read(tmp_path, start("0/0"), start("0/0").replace("tracing f", "tracing other"), ended)
    assert {frame.name: [compile.label for compile in frame.compiles] for frame in trace.frames} == {"f": ["0/0"], "other": ["0/0#2"]}


def test_a_restart_and_the_backward_pass_belong_to_their_compile(tmp_path: Path) -> None:
    backward = metrics("0/0", "is_forward=False", "dynamo_cumulative_compile_time_us=None", "backward_cumulative_compile_time_us=5000")
    trace = read(tmp_path, start("0/0"), start("0/0_1"), metrics("0/0", *COMPILED, attempt="_1"), backward)
    (compile,) = trace.compiles
    assert compile.attempts == 2
    assert len(compile.backward) == 1


def test_the_exception_of_a_compile_that_failed_follows_its_metrics(tmp_path: Path) -> None:
    failed = metrics("0/0", "fail_type='Unsupported'", "fail_reason='Data-dependent branching'", "is_forward=True")
    stack = ("Traceback (most recent call last):", '  File "/srv/run.py", line 9, in <module>', "    f(x)")
    trace = read(tmp_path, start("0/0"), failed, *stack, "torch._dynamo.exc.Unsupported: Data-dependent branching")
    (compile,) = trace.compiles
    assert compile.outcome is Outcome.FAILED
    assert "Data-dependent branching" in compile.error


def test_the_metrics_of_a_compile_that_failed_have_its_exception_as_a_string(tmp_path: Path) -> None:
    reason = "fail_type='BackendCompilerFailed', fail_reason=\"backend='mine' raised:\\nRuntimeError: exploded\""
    stack = "stack_trace=['Traceback (most recent call last):\\n  File \"/srv/be.py\", line 4, in mine\\n    raise RuntimeError\\n']"
    raised = 'Traceback (most recent call last):\n  File "/srv/be.py", line 4, in mine\n    raise RuntimeError\n'
    raised += "torch._dynamo.exc.BackendCompilerFailed: backend='mine' raised:\nRuntimeError: exploded\n"
    trace = read(tmp_path, start("0/0"), metrics("0/0", reason, "has_guarded_code=False", stack), raised, "step 1 done")
    ((compile,),) = (frame.compiles for frame in trace.frames)
    assert (compile.label, compile.outcome.value, compile.metrics.fail_type) == ("0/0", "failed", "BackendCompilerFailed")


def test_a_compile_that_was_refused_never_began(tmp_path: Path) -> None:
    text = "Dynamo recompile limit exceeded\\n  Explanation: Dynamo attempted to recompile the code object too many times"
    refused = metrics("0/1", "fail_type='Unsupported'", f"fail_reason='{text}'", REASON)
    trace = read(tmp_path, start("0/0"), metrics("0/0", *COMPILED), refused)
    assert [compile.outcome for compile in trace.compiles] == [Outcome.COMPILED, Outcome.LIMIT]


def test_metrics_that_a_program_prints_need_no_log(tmp_path: Path) -> None:
    """``print(get_compilation_metrics())``, and the same by pprint, which puts each field on a line."""
    first, second = (metrics(id, *COMPILED, *more).partition("CompilationMetrics(")[2] for id, more in (("0/0", ()), ("0/1", (REASON,))))
    line = f"[CompilationMetrics({first}, CompilationMetrics({second}]"
    wrapped = re.sub(r", (?=\w+=)", ",\n                    ", line).replace(" mismatch at", ' "\n                    "mismatch at')
    for printed in (line, wrapped.replace(", CompilationMetrics", ",\n CompilationMetrics")):
        trace = read(tmp_path, "step 1 done", printed, "step 2 done")
        (recompile,) = explain_trace(trace, debug=True).recompiles
        assert recompile.codes == ("SL101",)


def test_a_log_of_guards_does_not_show_that_no_entry_was_checked(tmp_path: Path) -> None:
    """From torch 2.6 on a trace does: it has the reasons of every compile that was compared with an entry."""
    tensor = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{}], stride=[1])"
    lines = []
    for number, size in enumerate((4, 6)):
        head = f"V1128 01:11:47.{number}00000 22353 torch/_dynamo/guards.py:4483] [0/{number}] [__guards]"
        manager = "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"
        tree = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", manager, f"| | +- TENSOR_MATCH: {tensor.format(size)}")
        lines += [start(f"0/{number}"), *(f"{head} {line}" for line in tree)]
    (recompile,) = explain_trace(read(tmp_path, *lines), debug=True).recompiles
    assert recompile.codes == ("SL101",)


@pytest.mark.parametrize("end", [40, 90, 200, 260])
def test_metrics_may_be_cut_off(tmp_path: Path, end: int) -> None:
    text = metrics("0/0", *COMPILED).partition("] ")[2]
    trace = read(tmp_path, start("0/0"), f"I1128 01:11:47.109000 22353 {AT} {text.partition('] ')[2][:end]}")
    assert [compile.label for compile in trace.compiles] == ["0/0"]


@pytest.mark.parametrize(
    "field",
    [
        r"stack_trace=['\x']",
        r"fail_reason='\ud800 \N{none}'",
        r"graph_node_shapes='\ud800'",
        "restart_reasons={'b', 'a'}",
        "dynamo_config='{1'",
        "stack_trace=[" + "'a' " * 100,
        "stack_trace=[" + "'a', " * 100 + "x",
    ],
)
def test_fields_may_be_damaged(tmp_path: Path, field: str) -> None:
    trace = read(tmp_path, start("0/0"), metrics("0/0", field, *COMPILED))
    (compile,) = trace.compiles
    assert (compile.seconds, trace.problems) == (0.002, ())


def test_guards_alone_show_that_a_compile_is_dynamic_and_on_which_branch(tmp_path: Path) -> None:
    tensor = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{}], stride=[1])"
    manager = "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"
    line = "  # if x.size()[0] <= 30:  # srv/net.py:8 in g (_dynamo/variables/tensor.py:2606 in evaluate_expr)"
    shapes = ([], [f"+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 30{line}"], [f"+- LAMBDA_GUARD: 31 <= L['x'].size()[0]{line}"])
    reasons = ([], ["0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20"], [])
    reasons[2][:] = [f"0/1: 2 <= x.size()[0] <= 30{line}", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 40"]
    lines = []
    for number, (conditions, failed) in enumerate(zip(shapes, reasons, strict=True)):
        head = f"V1128 01:11:47.{number}00000 22353 torch/_dynamo/guards.py:4483] [0/{number}]"
        lines += [f"{head} [__recompiles] Recompiling function g in /srv/net.py:4"] if failed else []
        lines += [f"{head} [__recompiles]     - {reason}" for reason in failed]
        size = tensor.format("None" if number else "10")
        tree = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", manager, f"| | +- TENSOR_MATCH: {size}", *conditions)
        lines += [f"{head} [__guards] {part}" for part in tree]
    _, last = explain_trace(read(tmp_path, *lines), debug=True).recompiles
    assert last.compile.is_dynamic
    assert last.verdict is Verdict.JUSTIFIED
    assert last.codes[0] == "SL204"
