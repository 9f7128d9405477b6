"""Which compiles failed, and at which stage?"""

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import make
import pytest
from dimensions import DIMENSIONS
from payload_text import size_mismatch
from recorded import report_of

from shapelog import load
from shapelog.model.compile import Outcome
from shapelog.recompiles.explain import explain_trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.analyses.failures import analyze
from shapelog.report.next_steps import next_steps
from shapelog.report.report import report_on
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding, Location

REAL = Path(__file__).parents[3] / "fixtures" / "real"


def found(recording: bytes) -> list[Finding]:
    return [item for item in analyze(make.explain(recording)) if isinstance(item, Finding)]


def failed(kind: str, reason: str, traceback: str = "", **more: object) -> Finding:
    made = make.trace()
    if traceback:
        made += make.artifact("dynamo_error", traceback, id="0/0")
    made += make.compile("0/0", make.tensor(10, 8), guards="", fail_type=kind, fail_reason=reason, **more)
    (finding,) = found(made)
    return finding


def test_a_failure_is_shown_with_its_first_line_and_place() -> None:
    finding = failed("Unsupported", "no such builtin\n  more", fail_user_frame_filename="/srv/app/model.py", fail_user_frame_lineno=7)
    assert (finding.rule.code, finding.compile, finding.place) == ("SL403", "0/0", Location("/srv/app/model.py", 7))
    assert finding.sentence == "f failed to compile in Dynamo (tracing the code): no such builtin"
    assert finding.details == (("type", "Unsupported"),)


def test_a_failure_inside_a_library_is_placed_at_the_line_that_called_it() -> None:
    library = "/env/lib/python3.11/site-packages/torch/_prims_common/wrappers.py"
    inside = f'File "{library}", line 504, in call\n    fn()\n'
    stack = f'from user code:\n   File "/srv/app/model.py", line 7, in f\n    torch._refs.abs(x)\n  {inside}'
    finding = failed("Unsupported", "skipped", stack, fail_user_frame_filename=library, fail_user_frame_lineno=504)
    assert finding.place == Location("/srv/app/model.py", 7)


def test_what_breaks_the_graph_of_an_operator_that_takes_functions_is_the_failure() -> None:
    reason = (
        "This higher order operator doesn't work unless it is captured completely with torch.compile. Got graph break/error:\n\n"
        "HOP: Unsafe side effect\n  Explanation: Mutating a variable from outside the scope of this HOP is not supported.\n"
    )
    finding = failed("UncapturedHigherOrderOpError", reason)
    assert finding.sentence == "f failed to compile in Dynamo (tracing an operator that takes functions): HOP: Unsafe side effect"
    assert finding.own_remedy.startswith("return this value from the function that the operator takes")
    other = failed("UncapturedHigherOrderOpError", reason.replace("HOP: Unsafe side effect", "A graph break"))
    assert other.own_remedy.endswith("torch.compiler.disable does not help in them")


@pytest.mark.parametrize(
    ("title", "code", "begins"),
    [
        ("Observed exception: ValueError: not enough values to unpack", "a, b = [1]", "most likely this line raises without torch.compile"),
        ("Observed exception: ValueError: odd", 'raise ValueError("odd")', "check this before the compiled call"),
        ("Dynamic shape operator (no meta kernel)", "torch.linalg.lstsq(a, b)", "move this operator out of the compiled code"),
        ("Unsupported functorch tracing attempt", "torch.func.grad(f)(x)", "compile the transformed function as a whole"),
    ],
)
def test_what_pytorch_met_has_a_remedy_of_its_own(title: str, code: str, begins: str) -> None:
    reason = f"{title}\n  Explanation: Operator `op` does not have a meta kernel that supports dynamic output shapes\n"
    reason = reason if "meta" in title else f"{title}\n  Explanation: It is.\n"
    stack = f'\nfrom user code:\n   File "/srv/app/model.py", line 7, in f\n    {code}\n'
    assert failed("Unsupported", reason + stack).own_remedy.startswith(begins)


def test_what_an_older_version_has_of_an_operator_that_takes_functions_names_it() -> None:
    begin = "doesn't work unless it is captured completely with torch.compile."
    undecided = "Could not guard on data-dependent expression u0 > 0"
    reason = f"while_loop {begin} Got Consider annotating your code using torch._check*(). {undecided} (unhinted: u0 > 0)."
    finding = failed("UncapturedHigherOrderOpError", reason)
    assert finding.sentence.endswith(f"functions): while_loop cannot be captured: {undecided}")
    finding = failed("UncapturedHigherOrderOpError", f"Cond {begin} Scroll up to find out what causes the graph break.")
    assert finding.own_remedy.startswith("look for the exception that PyTorch raised before")


def test_a_module_that_is_created_in_compiled_code_is_not_asked_for_the_call_at_which_it_stopped() -> None:
    reason = "Uninitialized nn.Module\n  Explanation: Attempted to trace an uninitialized nn.Module.\n  Hint: Ensure that it has called it."
    stack = 'from user code:\n   File "/srv/app/model.py", line 7, in __init__\n    super().__init__()\n'
    finding = failed("Unsupported", reason, stack)
    assert finding.own_remedy.startswith("create the module before the compiled call")
    assert finding.message
    assert finding.message.hints == ()


def test_an_output_whose_size_depends_on_the_data_is_to_be_captured() -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/env/lib/python3.11/site-packages/torch/_subclasses/fake_impls.py", line 9, in nonzero\n'
        "    raise DynamicOutputShapeException(func)\n"
        "torch._subclasses.fake_tensor.DynamicOutputShapeException: aten.nonzero.default\n"
    )
    finding = failed("Unsupported", "Backend compiler exception", traceback)
    assert finding.own_remedy.startswith("set torch._dynamo.config.capture_dynamic_output_shape_ops = True")


def test_without_a_place_of_its_own_it_is_that_of_the_frame() -> None:
    assert failed("Unsupported", "no").place == Location("/srv/app/model.py", 5)


def test_a_mark_that_the_code_contradicts_has_a_rule_of_its_own() -> None:
    reason = "You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (4)."
    assert failed("ConstraintViolationError", reason).rule.code == "SL203"


@pytest.mark.parametrize(
    ("traceback", "stage"),
    [
        ('File "/opt/torch/_inductor/codegen/cpp.py", line 3, in emit\nC++ compile error', "code generation"),
        ('File "/opt/torch/_functorch/aot_autograd.py", line 3\nFile "/opt/torch/_inductor/lowering.py", line 4', "Inductor"),
        ('File "/opt/torch/_functorch/aot_autograd.py", line 3, in run', "AOTAutograd"),
        ('File "/srv/ml/backend.py", line 3, in bad', "the backend inductor"),
    ],
)
def test_the_stage_of_the_backend_is_the_deepest_in_the_traceback(traceback: str, stage: str) -> None:
    finding = failed("BackendCompilerFailed", "backend='inductor' raised:\nRuntimeError: boom", traceback)
    assert finding.sentence.endswith(f" failed to compile in {stage}: RuntimeError: boom")


@pytest.mark.parametrize(
    ("backend", "traceback", "other"),
    [
        ("inductor", 'File "/opt/torch/_functorch/aot_autograd.py", line 3\nFile "/opt/torch/_inductor/lowering.py", line 4', "aot_eager"),
        ("inductor", 'File "/opt/torch/_functorch/aot_autograd.py", line 3, in run', "eager"),
        ("aot_eager", "", "eager"),
    ],
)
def test_a_backend_that_runs_what_failed_is_not_the_way_out(backend: str, traceback: str, other: str) -> None:
    """``aot_eager`` runs AOTAutograd as well."""
    finding = failed("BackendCompilerFailed", f"backend='{backend}' raised:\nAssertionError: 3 not in VR[2, 2]", traceback)
    assert f'compile this code with backend="{other}"' in finding.own_remedy


@pytest.mark.parametrize(
    ("raised", "begins"),
    [
        ("ImportError: Please install apache-tvm to use the tvm backend", "install what the backend tvm needs"),
        ("ModuleNotFoundError: No module named 'tvm'", "install what the backend tvm needs"),
        ("ImportError: cannot import name 'relay' from 'tvm'", "the backend tvm raises this: fix or update it"),
        ("RuntimeError: ImportError", "the backend tvm raises this: fix or update it"),
    ],
)
def test_a_backend_that_cannot_import_what_it_needs_is_no_error_in_the_compiler(raised: str, begins: str) -> None:
    assert failed("BackendCompilerFailed", f"backend='tvm' raised:\n{raised}").remedy.startswith(begins)


@pytest.mark.parametrize(
    ("file", "help"),
    [
        ("/srv/ml/backend.py", "fix this backend, which raises the error at backend.py:3"),
        ("/lib/python3.11/subprocess.py", "the backend mine raises this: fix or update it"),
        ("C:\\Python311\\Lib\\subprocess.py", "the backend mine raises this: fix or update it"),
        ("D:\\app\\Lib\\site-packages\\triton\\backend.py", "the backend mine raises this: fix or update it"),
    ],
)
def test_a_backend_of_the_program_that_raises_an_error_is_to_be_fixed(file: str, help: str) -> None:
    raised = "torch._dynamo.exc.BackendCompilerFailed: backend='mine' raised:\nRuntimeError: boom\n"
    called = '  File "/opt/torch/_dynamo/output_graph.py", line 9, in call_user_compiler\n    compiled_fn = compiler_fn(gm)\n'
    traceback = f'Traceback (most recent call last):\n{called}  File "{file}", line 3, in mine\n    raise RuntimeError("boom")\n{raised}'
    assert failed("BackendCompilerFailed", "backend='mine' raised:\nRuntimeError: boom", traceback).remedy.startswith(help)


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (
            "Please turn it off using torch._dynamo.config.optimize_ddp=False. Note that",
            "set torch._dynamo.config.optimize_ddp=False, which",
        ),
        ("set torch._inductor.config.triton.cudagraphs = False", "set torch._inductor.config.triton.cudagraphs = False, which"),
        ("you must set a variable: CUBLAS_WORKSPACE_CONFIG=:4096:8 or another", "set CUBLAS_WORKSPACE_CONFIG=:4096:8, which"),
        ("Set CUBLAS_WORKSPACE_CONFIG=:4096:8. More at a page", "set CUBLAS_WORKSPACE_CONFIG=:4096:8, which"),
        ("Set TORCH_LOGS=+dynamo and torch._dynamo.config.suppress_errors = True", "this is an error in the compiler"),
        ("No valid triton configs. OutOfMemoryError: out of resource: shared memory, Required: 112800", "a kernel needs more registers or"),
        ("No valid triton configs.\nOutOfMemoryError: out of resource: triton_per_fused", "a kernel needs more registers or"),
    ],
)
def test_an_error_of_a_backend_may_name_the_way_out(error: str, begins: str) -> None:
    assert failed("BackendCompilerFailed", f"backend='inductor' raised:\nRuntimeError: {error}").remedy.startswith(begins)


def test_a_mark_takes_both_ends_of_a_range() -> None:
    help = failed("InternalTorchDynamoError", "AssertionError: not simple sympy type <class 'NoneType'>: None").remedy
    assert help.startswith("pass both min= and max= to mark_dynamic")


def test_the_optimizer_of_ddp_is_named_where_it_called_the_backend() -> None:
    error = "backend='compile_fn' raised:\nAssertionError: Node view_3 was invalid, but is output"
    assert "torch._dynamo.config.optimize_ddp = False" in failed("BackendCompilerFailed", error).remedy


def test_a_failure_without_a_message_is_reported_as_such() -> None:
    assert "no message was recorded" in failed("Unsupported", "").sentence


def test_a_compile_that_the_trace_cuts_off_is_shown() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    made += make.record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 0}]}, id="0/1")
    (finding,) = found(made)
    assert finding.compile == "0/1"
    assert "still being compiled when the trace ended" in finding.sentence


def test_a_compile_at_the_end_of_a_file_that_is_cut_off_may_go_on_in_the_rest(tmp_path: Path) -> None:
    start = make.record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 0}]}, id="0/1")
    path = tmp_path / "trace.log"
    graph = make.record("dynamo_output_graph", {"sizes": {}}, id="0/1", payload="class GraphModule:\n    def forward(self): ...")
    path.write_bytes(make.trace(make.compile("0/0", make.tensor(10, 8)), start, graph)[:-10])
    (finding,) = (item for item in analyze(explain_trace(load(path))) if isinstance(item, Finding))
    assert finding.sentence.endswith("the process exited or was killed, or a file is cut off")
    assert finding.remedy.startswith("read the whole file if this is a part of it; otherwise let the process finish")


def test_the_end_of_each_rank_counts_where_ranks_share_a_process_id() -> None:
    """In containers, every process may have the id 1."""
    start = make.record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 0}]}, id="0/1")
    refused = make.trace(start, make.compile("1/0", make.tensor(10, 8), name="g"), make.compile("1/1", make.tensor(12, 8), name="g"))
    trace = make.load_ranks(make.trace(make.compile("0/0", make.tensor(10, 8)), start), refused)
    first, second = (item.sentence for item in analyze(explain_trace(trace)) if isinstance(item, Finding))
    assert "still being compiled when the trace ended" in first
    assert "was abandoned" in second


def test_a_compile_whose_id_another_process_used_in_the_same_file_is_no_failure() -> None:
    """Records of torch 2.4 name no process, so the end of one of two compilations may be with the other."""
    explained = explain_trace(load(REAL / "2.4" / "r_fork_shared.log.gz"))
    cut_off = [item for frame in explained.trace.frames for item in frame.compiles if item.was_cut_off]
    assert {item.outcome for item in cut_off} >= {Outcome.UNFINISHED}
    assert not any(item.did_not_finish for item in cut_off)
    assert not [item for item in analyze(explained) if isinstance(item, Finding)]


def test_a_good_compile_and_a_refused_one_are_no_failures() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)), make.compile("0/1", make.tensor(12, 8)))
    assert found(made + make.refused("0/2", "0/1: tensor 'x' size mismatch at index 0. expected 12, actual 13")) == []


def test_a_size_outside_of_the_range_of_a_mark_is_named() -> None:
    reason = "You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (1)."
    first = make.compile("0/0", make.tensor(4, 8), symbols=[("s0", 4, "L['x'].size()[0]")]).replace(b"[2, int_oo]", b"[2, 16]")
    small = make.compile("0/1", make.tensor(1, 8, dynamo_dynamic_indices=[0]), fail_type="ConstraintViolationError", fail_reason=reason)
    (finding,) = found(make.trace(first, small))
    assert finding.sentence == "f failed to compile: dim 0 of x is marked with a range of 2 to 16, but this call passed size 1"


def test_what_became_dynamic_in_a_compilation_that_failed_is_a_note() -> None:
    (finding,) = [item for item in report_of("lab/int_drives_python.log.gz").findings if item.rule.code == "SL403"]
    assert finding.notes == ("level became dynamic before the failure (2 → 3)",)


def test_another_number_of_dims_before_a_failure_is_no_size_that_became_dynamic() -> None:
    """PyTorch records the sizes and then the strides."""
    made = make.trace(make.compile("0/0", make.tensor()))
    for new in ("(3,)", "(1,)"):
        args = {"name": "L['x']", "dim_changed": "all", "reason": "dimensionality change", "cached": "()", "new": new, "compile_id": "0/1"}
        event = {"name": "automatic_dynamic", "ph": "i", "args": args, "ts": 1, "tid": 0, "pid": 0}
        made += make.record("chromium_event", {}, json.dumps(event, indent=0), id="0/1")
    (finding,) = found(made + make.compile("0/1", make.tensor(3), **make.FAILED))
    assert finding.notes == ("x had another number of dimensions before the failure (() → (3,))",)


def test_an_int_that_a_line_formats_is_to_be_kept_constant() -> None:
    """Its second value made it symbolic, and then no text can be made of it."""

    def remedy(line: str, name: str = "L['k']") -> str:
        arguments = {"name": name, "dim_changed": "scalar", "reason": "scalar change", "cached": "2", "new": "3"}
        event = json.dumps({"name": "automatic_dynamic", "args": arguments}, indent=0)
        reason = f'BUILD_STRING type error\n\nfrom user code:\n   File "{make.MODEL}", line 6, in f\n    {line}\n'
        second = make.compile("0/1", make.tensor(4, 8), **{**make.FAILED, "fail_reason": reason})
        made = make.trace(make.int_values(2), second, make.record("chromium_event", {}, event, id="0/1"))
        (finding,) = found(made)
        return finding.remedy

    expected = "move this line out of the compiled code, or compile with dynamic=False, which keeps k constant (one graph per value)"
    assert remedy('return {f"h{k}": x}') == remedy('return {"h%d" % k: x}') == expected
    of_range = remedy("return sum(x[i % 4] for i in r)", "L['r'].stop")
    assert of_range == expected.replace(" k ", " r.stop ")
    assert remedy("return x[r.stop]", "L['r'].stop").startswith("rewrite the line where Dynamo stops")
    assert remedy('raise ValueError("odd")').startswith("check this before the compiled call and raise there: ")
    assert remedy("return other(x, k)").startswith(
        "rewrite the line where Dynamo stops, or, without fullgraph=True, wrap it in a function with"
    )


def test_a_number_of_numpy_that_the_backend_does_not_take_is_to_be_one_of_python() -> None:
    reason = (
        "Backend compiler exception\n  Explanation: Backend compiler `aot_eager` failed with aten._local_scalar_dense.default\n\n"
        "    While executing %wrapped_item : [num_users=1] = call_function[target=torch._dynamo.utils.wrapped_item](args = (%l_n_,))\n"
        f'    Original traceback:\n      File "{make.MODEL}", line 6, in f\n        return x[:n]\n                 ^\n'
    )
    (finding,) = found(make.trace(make.compile("0/0", make.tensor(4, 8), **{**make.FAILED, "fail_reason": reason})))
    assert finding.sentence == "f failed to compile in the backend: Backend compiler exception"
    assert finding.place is not None
    assert finding.place.line == 6
    assert finding.remedy == "pass a Python number in place of the NumPy one: int(n) or float(n) before the call"


@pytest.mark.parametrize(("id", "remedy"), [("0/0", "compile this code with dynamic=False"), ("!0/1/0", "without compiled autograd")])
def test_an_operator_without_symbolic_sizes_is_not_called_with_wrong_arguments(id: str, remedy: str) -> None:
    reason = (
        "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
        "call_function f(*(), **{}): got RuntimeError('Cannot call numel() on tensor with symbolic sizes/strides')\n"
    )
    made = make.compile(id, make.tensor(10, 8), guards="", fail_type="TorchRuntimeError", fail_reason=reason)
    assert [remedy in item.remedy for item in make.report(make.trace(made)).findings if item.rule.code == "SL403"] == [True]


def test_the_failures_of_a_real_program_are_shown_by_stage() -> None:
    stages = [item.sentence.split(" failed to compile in ")[1].split(": ")[0] for item in report_of("real/2.6/l_failures.log.gz").findings]
    assert sum(stage.startswith("the backend ") for stage in stages) == 3
    assert stages.count("Dynamo (running an operation on fake tensors)") == 1


def test_a_constraint_violation_of_a_real_program() -> None:
    codes = [item.rule.code for item in report_of("real/2.6/i_marks.log.gz").findings]
    assert codes == ["SL203"] * 4


def test_a_forbidden_recompilation_names_what_varied_and_is_removed_by_a_mark() -> None:
    text = f"Recompiling function f in {make.MODEL}:5\n    triggered by the following guard failure(s):\n    - {size_mismatch('0/0', 8, 9)}"
    fields = {"fail_type": "RecompileError", "fail_reason": text, "seconds": 0.0}
    report = make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", reasons=None, is_started=False, **fields)))
    (finding,) = [item for item in report.findings if item.rule.code == "SL403"]
    assert finding.sentence.endswith("which the program forbids (error_on_recompile): dim 0 of x changed from 8 to 9")
    assert finding.remedy == "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    assert report.advice is not None
    assert (report.advice.env, report.advice.before.forbidden, report.advice.after.forbidden) == ("L['x']:0", 1, 0)
    (step,) = next_steps(collect_alerts(report, Repository("nowhere")))
    assert (step.title, step.saving.failed) == ("Mark dim 0 of x as dynamic", 1)


def test_a_range_that_the_code_narrows_is_to_be_marked() -> None:
    size = "L['x'].size()[0]"
    reason = f"Constraints violated ({size})!\n  - Not all values of {size} = {size} in the specified range {size} <= 10"
    finding = failed("ConstraintViolationError", f"{reason} satisfy the generated guard 2 <= {size} and {size} <= 7")
    assert finding.sentence.endswith("dim 0 of x is marked with max=10, but the code only allows 2 to 7: set max=7")
    assert finding.remedy == "mark this range, or change the line that requires it"


def test_a_bug_of_pytorch_is_to_be_reported() -> None:
    bug = "Guard failed on the same frame it was created. This is a bug - please create an issue.Guard fail reason: 0/0: 2 <= x.size()[0]"
    assert failed("AssertionError", bug).remedy.startswith(
        "report this bug to PyTorch; until then, keep what the guard names from changing"
    )


def test_a_function_that_may_not_be_traced_is_to_be_called_before() -> None:
    found = failed("AssertionError", "Attempt to trace forbidden callable <function mark_dynamic at 0x7f1b7d8ce0c0>")
    assert found.remedy == "call mark_dynamic before the compiled code is called, not in it"


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        (
            "Can't cache HigherOrderOperator: wrap",
            "declare the operator wrap as cacheable if the functions that it calls read nothing but their inputs",
        ),
        ("something new", "remove what PyTorch names"),
    ],
)
def test_a_cache_that_may_not_be_bypassed_is_the_error(reason: str, remedy: str) -> None:
    found = failed("BackendCompilerFailed", f"backend='inductor' raised:\nBypassAOTAutogradCache: {reason}")
    assert found.remedy == f"{remedy}, or compile without torch._functorch.config.strict_autograd_cache, which makes this an error"


def lines_run(recording: bytes) -> int:
    """How many lines of the analysis, and of what it calls in the package, run."""
    explained = make.explain(recording)
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return line

    sys.settrace(lambda frame, event, argument: line if "/shapelog/re" in frame.f_code.co_filename.replace("\\", "/") else None)
    try:
        report_on(explained)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize(
    "name",
    [
        "failures of one function",
        "calls of one function outside of the range of a mark",
        "recompiles of one function that the program forbids",
    ],
)
def test_the_failures_of_one_function_are_not_compared_with_each_other(name: str) -> None:
    once, twice, fourfold = (lines_run(DIMENSIONS[name](50 * times)) for times in (1, 2, 4))
    assert fourfold - twice < 2.3 * (twice - once)


def test_a_backward_graph_that_fails_ahead_of_its_use_leaves_the_compile_whole() -> None:
    raised = 'Traceback (most recent call last):\n  File "/srv/torch/_functorch/bw.py", line 2, in bw\nRuntimeError: no kernel for this\n'
    made = make.trace(make.artifact("eager_compile_backwards_failure", raised, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (finding,) = found(made)
    assert finding.rule.code == "SL405"
    assert finding.sentence == "the backward graph of f failed to compile ahead of its use: no kernel for this"
    (frame,) = make.explain(made).trace.frames
    assert frame.compiles[0].outcome is Outcome.COMPILED
    alerts = collect_alerts(report_on(make.explain(made)), Repository())
    assert ([item.kinds for item in alerts.alerts], next_steps(alerts)) == ([frozenset()], ())


def test_a_line_that_formats_an_int_did_not_raise_while_the_int_was_constant() -> None:
    """``len(f"{level}")``: Dynamo stops there once the int is symbolic; without torch.compile, it never raises."""
    findings = report_of("lab/int_drives_python.log.gz").findings
    (found,) = (item for item in findings if item.rule.code == "SL403")
    assert found.remedy.startswith("move this line out of the compiled code, or compile with dynamic=False, which keeps level constant")
