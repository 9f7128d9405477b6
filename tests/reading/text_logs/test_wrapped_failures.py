"""Exceptions whose parts a person wrapped, quoted or cut: operations on fake tensors, violated constraints, kernels, names."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.report.alerts.alert import Alert
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding

FAILED = ("SL203", "SL403")
WRAPPED = """Dynamo failed to run FX node with fake tensors:{blank}call_function <built-in method conv3d of type object at 0x7f14>(
   *(FakeTensor(..., size=(1, s0, s1, s1)),
     Parameter(FakeTensor(..., size=(45, 3, 1, 7, 7), requires_grad=True)), None, (1, 2, 2)),
   **{{}}
 ): got RuntimeError(
   'expected 3 channels,
    but got 1 channel'
 )
"""
GUARD = "Not all values of W = L['I'].size()[3] in the specified range 64 <= W <= 128 satisfy the generated guard {}.\n"
KERNEL = "E0305 20:23:38.866000 747 site-packages/torch/_inductor/runtime/triton_heuristics.py:533] [0/0] "
IN_KERNEL = (
    "Triton compilation failed: triton_poi_fused_0",
    "def triton_poi_fused_0(in_ptr0, XBLOCK : tl.constexpr):",
    "    tmp0 = tl.load(in_ptr0 + (x0), xmask)",
)
STOPPED = (
    "at 2:11:",
    "def triton_poi_fused_0(in_ptr0, XBLOCK : tl.constexpr):",
    "    tmp0 = tl.load(in_ptr0 + (x0), xmask)",
    "           ^",
    "type fp8e4nv not supported",
)
STACK = (
    "Traceback (most recent call last):",
    '  File "/opt/site-packages/torch/_inductor/runtime/triton_heuristics.py", line 531, in _precompile_config',
    "    binary = triton.compile(*compile_args, **compile_kwargs)",
)


def found_in(text: str, folder: Path) -> list[Finding]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return [item for item in analyze(load(path), debug=True).findings if item.rule.code in FAILED]


def alerts_in(text: str, folder: Path) -> list[Alert]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return collect_alerts(analyze(load(path), debug=True), Repository()).alerts


@pytest.mark.parametrize("blank", [" ", "\n", "\n "])
@pytest.mark.parametrize("before", ["", "[FAIL] net_18: ", "torch._dynamo.exc.TorchRuntimeError: "])
def test_an_operation_on_fake_tensors_may_be_on_several_lines(before: str, blank: str, tmp_path: Path) -> None:
    (found,) = found_in(f"Log:\n\n```\n{before}{WRAPPED.format(blank=blank)}```\n", tmp_path)
    assert found.sentence.endswith(": conv3d failed: RuntimeError: expected 3 channels, but got 1 channel")


def test_such_an_operation_is_whole_in_an_explanation_too(tmp_path: Path) -> None:
    lines = WRAPPED.format(blank=" ").replace("\n ", "\n     ")
    (found,) = found_in(f"torch._dynamo.exc.TorchRuntimeError: error when making fake tensor call\n  Explanation: {lines}", tmp_path)
    assert found.sentence.endswith(": RuntimeError: expected 3 channels, but got 1 channel")


def test_words_about_such_a_failure_are_none(tmp_path: Path) -> None:
    (found,) = alerts_in(
        "Fix the error 'Dynamo failed to run FX node with fake tensors' of the model\n\n"
        "UserWarning: Dynamo does not know how to trace the builtin `m.f.` This function is a builtin.\n",
        tmp_path,
    )
    assert found.rule.code == "SL501"


@pytest.mark.parametrize("below", ["", "\nDuring handling of the above exception, another exception occurred:\n\n"])
def test_a_condition_is_read_without_the_heading_and_with_what_pytorch_suggests(below: str, tmp_path: Path) -> None:
    conditions = "".join(f"  - {GUARD.format(f'W // {size} == 0')}" for size in (2, 4))
    (found,) = found_in(f"{conditions}Suggested fixes:\n  _W = Dim('_W', min=1, max=2)\n  W = 64*_W\n{below}", tmp_path)
    assert found.sentence.endswith(
        "dim 3 of I (W) is declared as dynamic, but the code only accepts sizes with W // 2 == 0 and W // 4 == 0"
    )
    assert found.message is not None
    assert found.message.hints == ("Suggested fixes: _W = Dim('_W', min=1, max=2); W = 64*_W",)


@pytest.mark.parametrize(("name", "remedy"), [("dx = L['x'].size()[0]", "Dim.AUTO"), ("L['x'].size()[0] = L['x'].size()[0]", "maybe_mark")])
def test_a_condition_on_a_size_without_a_limit_has_its_own_remedy(name: str, remedy: str, tmp_path: Path) -> None:
    text = f"ConstraintViolationError: Constraints violated (x)!\n  - Not all values of {name} in the specified range "
    (found,) = found_in(
        f"{text}{name.partition(' =')[0]} <= 9223372036854775806 satisfy the generated guard Ne(Mod(s0, s0 - 1), 0).\n", tmp_path
    )
    assert found.sentence.endswith(" as dynamic, but the code only accepts sizes with s0 % (s0 - 1) != 0")
    assert remedy in found.remedy


def test_the_cell_below_a_condition_is_the_same_failure(tmp_path: Path) -> None:
    text = (
        "  - Not all values of b = L['x'].size()[0] in the specified range b <= 32 are valid because b was inferred to be a constant (1).\n"
    )
    text += "\nSuggested fixes:\n  b = None  # 1\n\nDuring handling of the above exception, another exception occurred:\n\n"
    text += "UserError                                 Traceback (most recent call last)\nCell In[1], line 48\n"
    text += "---> 48     so_path = torch._export.aot_compile(\n\n"
    text += "File /opt/torch/_export/__init__.py:1143, in aot_compile(f)\n   1139     constraints = _process(f)\n"
    (found,) = found_in(text, tmp_path)
    assert found.sentence.endswith("dim 0 of x (b) is declared as dynamic, but the code fixes it to 1")
    assert found.remedy.startswith("export with an example input whose size is 2 or more there")


def test_a_mark_in_a_sentence_may_have_its_value_on_the_next_line(tmp_path: Path) -> None:
    marked = "`ConstraintViolationError: You marked L['ids'].size()[0] as dynamic but your code specialized it to be a constant"
    (found,) = found_in(f"A run with 512 tokens hit\n{marked}\n(512)` while creating guards.\n", tmp_path)
    assert found.sentence.endswith("dim 0 of ids is marked as dynamic, but the code fixes it to 512")


@pytest.mark.parametrize("value", [" (6)", ""])
@pytest.mark.parametrize(
    ("begin", "between", "end"),
    [
        ('**Error pattern:** "', " ", '."'),
        ("        # sample happened to be\n        # (", "\n        # ", ") \u2014 because it reads the size"),
        ("raised an error:\n\n        ", "\n        ", "\n\n    That was in every call.\n"),
    ],
)
def test_a_mark_that_is_quoted_without_its_exception_is_found(begin: str, between: str, end: str, value: str, tmp_path: Path) -> None:
    marked = f"You marked L['ids'].size()[1] as dynamic but your code{between}specialized it to be a constant{value}"
    (found,) = found_in(f"{begin}{marked}{end}\n", tmp_path)
    assert found.sentence.endswith(f"dim 1 of ids is marked as dynamic, but the code fixes it to {'6' if value else 'one value'}")


def test_a_stack_right_below_a_violated_constraint_is_the_user_s(tmp_path: Path) -> None:
    marked = "ConstraintViolationError: You marked L['a'][0].size()[2] as dynamic but your\ncode specialized it to be a constant (1024).\n"
    (found,) = found_in(f'{marked}  File "dc1d/ops.py", line 184, in interpolate\n    x0 = xg.reshape(\n', tmp_path)
    assert str(found.place) == "dc1d/ops.py:184"
    assert found.sentence.startswith("interpolate failed")


def test_a_name_alone_is_one_that_was_declared(tmp_path: Path) -> None:
    (found,) = found_in(
        "Constraints violated (seq)!\n  - You marked seq as dynamic but your code specialized it to be a constant (4).\n", tmp_path
    )
    assert found.sentence.endswith("seq is declared as dynamic, but the code fixes it to 4")
    assert "Dim.AUTO" in found.remedy


def test_a_name_that_is_cut_is_no_message(tmp_path: Path) -> None:
    stack = 'Traceback (most recent call last):\n  File "/srv/train.py", line 5, in run\n    step(x)\n'
    stack += (
        '  File "/opt/site-packages/torch/_dynamo/convert_frame.py", line 458, in _compile\n    raise InternalTorchDynamoError() from e\n'
    )
    (found,) = found_in(f"{stack}torch._dynamo.exc.InternalT", tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")
    assert str(found.place) == "/srv/train.py:5"
    assert not found.details or found.details[0][1] != "InternalT"


@pytest.mark.parametrize("is_raised", [False, True])
def test_a_kernel_that_triton_could_not_compile_is_a_failure_once(is_raised: bool, tmp_path: Path) -> None:
    logged = (*IN_KERNEL, "metadata: {'device': 0}", *STACK, f"triton.compiler.errors.CompilationError: {STOPPED[0]}", *STOPPED[1:])
    text = "".join(f"{KERNEL}{line}\n" for line in logged)
    if is_raised:
        text += "\n".join((*STACK, f"torch._inductor.exc.InductorError: CompilationError: {STOPPED[0]}", *STOPPED[1:], ""))
    (found,) = found_in(text, tmp_path)
    assert found.sentence.endswith(
        "Triton cannot compile `tmp0 = tl.load(in_ptr0 + (x0), xmask)`, line 2 of the kernel triton_poi_fused_0: type fp8e4nv not supported"
    )


def test_a_kernel_without_its_exception_is_a_failure(tmp_path: Path) -> None:
    (found,) = found_in("".join(f"{KERNEL}{line}\n" for line in IN_KERNEL), tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")


@pytest.mark.parametrize(
    ("line", "title"),
    [
        (
            '"Dynamo does not know how to trace method `extend` of class `list`"',
            "Dynamo does not know how to trace method `extend` of class `list`",
        ),
        ("\u8b66\u544a\u300cDynamo does not know how to trace the builtin `_h.sha1.`\u300d\u3002", "Unsupported builtin _h.sha1"),
        ("- Dynamo does not know how to trace builtin operator `print`.", "Dynamo does not know how to trace builtin operator `print`"),
    ],
)
def test_the_explanation_of_a_break_counts_where_nothing_else_is_a_break_or_failure(line: str, title: str, tmp_path: Path) -> None:
    (found,) = alerts_in(f"An error:\n{line}\n", tmp_path)
    assert (found.rule.code, title in found.sentence) == ("SL501", True)
    (found,) = alerts_in(f"An error:\n{line}\n\ntorch._dynamo.exc.Unsupported: call_method split\n", tmp_path)
    assert found.rule.code == "SL403"


def test_the_error_of_an_operation_takes_the_place_of_the_title_that_all_of_them_have(tmp_path: Path) -> None:
    call = "call_method view(*(FakeTensor(..., size=(s27, 24)), -1, 5), **{})"
    text = "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node "
    (found,) = found_in(f"{text}with fake tensors: {call}: got RuntimeError(\"shape '[-1, 5]' is invalid\")\n", tmp_path)
    assert found.sentence.endswith("(running an operation on fake tensors): RuntimeError: shape '[-1, 5]' is invalid")
    assert found.message is not None
    assert found.message.explanation == f"from {call}"


@pytest.mark.parametrize("between", [". ", ", "])
def test_advice_in_the_words_of_an_exception_is_given_once(between: str, tmp_path: Path) -> None:
    words = f"This operator is not supported at the moment{between}Please use torch.cond to explicitly capture the control flow"
    (found,) = found_in(f'torch._dynamo.exc.UserError: {words}.\n\nSet TORCH_LOGS="+dynamo" for more\n', tmp_path)
    assert found.sentence.endswith(": This operator is not supported at the moment")
    assert found.message is not None
    assert found.message.hints == ("Please use torch.cond to explicitly capture the control flow",)


@pytest.mark.parametrize("blank", [" ", "\n"])
def test_what_an_export_cannot_decide_may_be_wrapped_and_has_the_call_below_it(blank: str, tmp_path: Path) -> None:
    text = (
        f"<class 'torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode'>: Could not guard on{blank}"
        "data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n"
        "consider using data-dependent friendly APIs such as guard_or_false.\nThe following call raised this error:\n"
        '  File "...\\tts\\mask.py", line 440, in safe_mask\n    if bool(has_any.all()):\n'
    )
    (found,) = found_in(text, tmp_path)
    assert found.sentence == "safe_mask failed to compile: Could not guard on data-dependent expression Eq(u0, 1)"
    assert found.place is not None
    assert found.place.line == 440


def test_the_checks_that_an_export_asks_for_are_the_help(tmp_path: Path) -> None:
    text = (
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression u0 > 2 "
        "(unhinted: u0 > 2).  (Size-like symbols: none)\n\nconsider using data-dependent friendly APIs such as guard_or_false.\n\n"
        'The following call raised this error:\n  File "/srv/net.py", line 8, in forward\n    if n > 2:\n\n'
        "To fix the error, insert one of the following checks before this call:\n  1. torch._check(n > 2)\n  2. torch._check(n <= 2)\n\n"
        "(These suggested fixes were derived by replacing `u0` with n in u0 > 2 and its negation.)\n"
    )
    (found,) = found_in(text, tmp_path)
    assert found.message is not None
    assert found.message.hints == ("Before this line, call torch._check(n > 2) or torch._check(n <= 2), whichever always holds",)


def test_an_operation_on_several_lines_whose_error_the_text_cuts_has_what_is_left_of_it(tmp_path: Path) -> None:
    tensors = "*(GradTrackingTensor(lvl=3, value=\n    FakeTensor(..., size=(1,))\n), 2.0), **{}"
    error = 'got RuntimeError(\'is_inference() INTERNAL ASSERT FAILED at "a.cpp":66, please report a bug. Please use the dispatcher'
    text = f"TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function <built-in function mul>({tensors}): {error}"
    (found,) = found_in(text, tmp_path)
    assert found.sentence.endswith(
        ': mul failed: RuntimeError: is_inference() INTERNAL ASSERT FAILED at "a.cpp":66, please report a bug. Please use the dispatcher'
    )
    assert found.remedy.startswith("this is a bug in PyTorch")
    assert not found.message.hints


METAL = (
    "    #include <c10/metal/utils.h>",
    "    kernel void generated_kernel(",
    "        device float* out_ptr0,",
    "    ) {",
    "        auto tmp9 = in_ptr1[r0_0];",
    "    }",
)
METAL_ERROR = (
    " with program_source:2120:29: error: use of undeclared identifier 'r0_0'",
    "        auto tmp9 = in_ptr1[r0_0];",
    "                            ^",
    "program_source:2121:21: error: use of undeclared identifier 'tmp0'",
)


@pytest.mark.parametrize("front", ["torch._inductor.exc.InductorError: ", ""])
@pytest.mark.parametrize("is_cut", [False, True])
def test_what_metal_cannot_compile_is_its_first_error(front: str, is_cut: bool, tmp_path: Path) -> None:
    text = "\n".join((f"{front}SyntaxError: failed to compile ", *METAL, *(() if is_cut else METAL_ERROR), ""))
    (found,) = found_in(f"It prints\n```\n{text}```\n", tmp_path)
    error = "" if is_cut else ": use of undeclared identifier 'r0_0'"
    assert found.sentence.endswith(f"failed to compile in Inductor: Metal cannot compile a kernel{error}")
    assert found.remedy.startswith('update PyTorch, which made this kernel; until then, compile this code with backend="aot_eager"')


def test_the_arguments_of_an_operation_may_be_tensors_of_torch_func(tmp_path: Path) -> None:
    """PyTorch writes them over several lines."""
    argument = "GradTrackingTensor(lvl=1, value=\n    FakeTensor(..., size=({}, 32000),\n               requires_grad=True)\n)"
    call = f"call_function <built-in method matmul of type object at 0x7cf8>(*({argument.format('s0')}, {argument.format(4096)}), **{{}})"
    (found,) = found_in(f"TorchRuntimeError: Failed running {call}:\na and b must have same reduction dim\n", tmp_path)
    assert found.sentence.endswith("matmul failed: a and b must have same reduction dim")


@pytest.mark.parametrize("front", ["Unsupported ", "torch._dynamo.exc.Unsupported: ", ""])
@pytest.mark.parametrize(
    ("operator", "remedy"),
    [
        ("aten._transformer_encoder_layer_fwd.default", "call torch.backends.mha.set_fastpath_enabled(False)"),
        ("aten.quantize_per_tensor.default", "leave this operator of PyTorch out of the compiled code"),
        ("mylib.op.default", "give the operator a fake implementation"),
    ],
)
def test_an_operator_that_has_no_fake_implementation_is_named(front: str, operator: str, remedy: str, tmp_path: Path) -> None:
    text = "Operator does not support running with fake tensors\n\n  Developer debug context: unsupported operator: "
    (found,) = found_in(f"{front}{text}{operator}\n", tmp_path)
    assert found.sentence.endswith(f"Operator does not support running with fake tensors: {operator}")
    assert found.remedy.startswith(remedy)


def test_what_compiled_autograd_does_not_take_is_run_without_it(tmp_path: Path) -> None:
    text = '  File "/srv/torch/autograd/graph.py", line 829, in _engine_run_backward\n    return run_backward(\n'
    (found,) = found_in(f"{text}NotImplementedError: TorchDispatchMode not yet implemented for compiled autograd. \n", tmp_path)
    assert found.remedy.startswith("do not use compiled autograd for this backward pass")


def test_what_metal_printed_below_a_kernel_is_known_without_the_kernel(tmp_path: Path) -> None:
    (found,) = found_in("\n".join((*METAL[2:], *METAL_ERROR, "")), tmp_path)
    assert found.sentence.endswith("in Inductor: Metal cannot compile a kernel: use of undeclared identifier 'r0_0'")


def test_another_source_that_failed_to_compile_is_none_of_inductor(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        found_in("SyntaxError: failed to compile \n    #include <vector>\n", tmp_path)
