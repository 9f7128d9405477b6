"""PyTorch's texts about breaks and failures in their parts, as torch 2.4 to 2.15 write them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION, MOVE_OPERATOR, WRAPPED, compiler_message
from shapelog.reading.payloads.error_titles import in_words
from shapelog.reading.payloads.python_tracebacks import exception_chain, user_stack
from shapelog.reading.records import StackFrame

PRINT = """Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`
      with argument types ['str'].
  Hint: Avoid calling builtin `print`.
  Hint: Please report an issue to PyTorch.

  Developer debug context: builtin print [<class 'ConstantVariable'>] False

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html
"""
STACK = """
User code traceback:
  File "/srv/app/train.py", line 40, in main
    step(batch)
  File "/srv/app/model.py", line 7, in forward
    print(x.shape)
    ^^^^^^^^^^^^^^

Traceback (most recent call last):
  File "/opt/torch/_dynamo/symbolic_convert.py", line 1, in wrapper
    return inner_fn(self, inst)
"""
BREAK = f"Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: {{}}{PRINT}{STACK}"


@pytest.mark.parametrize("head", ["", "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n"])
def test_a_break_has_title_explanation_hints_page_and_the_users_lines(head: str) -> None:
    found = compiler_message(BREAK.format(head))
    assert found.title == "Failed to trace builtin operator"
    assert found.explanation == "Dynamo does not know how to trace builtin operator `print` with argument types ['str']."
    assert found.hints == ("Avoid calling builtin `print`.", "Please report an issue to PyTorch.")
    assert found.specific_hints == ("Avoid calling builtin `print`.",)
    assert (found.number, found.url) == ("GB0059", "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html")
    assert found.stack == (
        StackFrame("/srv/app/train.py", 40, "main", "step(batch)"),
        StackFrame("/srv/app/model.py", 7, "forward", "print(x.shape)", "print(x.shape)"),
    )


def test_a_setting_in_a_hint_is_where_it_can_be_set() -> None:
    text = PRINT.replace("Avoid calling builtin `print`.", "Set torch._dynamo.trace_autograd_ops=True")
    assert compiler_message(text).hints[0] == "Set torch._dynamo.config.trace_autograd_ops = True"


def test_a_break_met_while_another_was_handled_adds_its_hints() -> None:
    other = "\n*** While handling this graph break, another graph break occurred: ***\n\ngraph break in loop\n  Hint: Unroll it.\n"
    found = compiler_message(PRINT + other)
    assert found.title == "Failed to trace builtin operator"
    assert found.hints == ("Avoid calling builtin `print`.", "Please report an issue to PyTorch.", "Unroll it.")
    assert (found.is_in_loop, compiler_message(PRINT).is_in_loop) == (True, False)
    site = "https://meta-pytorch.github.io/compile-graph-break-site"
    number = f"\n For more details about this graph break, please visit: {site}/gb/gb7000.html\n"
    explained = compiler_message(f"{PRINT}{other.replace('  Hint', '  Explanation: It is skipped.' + chr(10) + '  Hint')}{number}")
    assert explained.explanation == f"{compiler_message(PRINT).explanation.rstrip('.')}. Then graph break in loop (GB7000): It is skipped."


@pytest.mark.parametrize(
    ("text", "title", "hints"),
    [
        ("Unsupported: Tensor.item", "Unsupported: Tensor.item", ()),
        ("Graph break in user code at a.py:1\nReason: Unsupported: Tensor.item\n", "Tensor.item", ()),
        (
            "dynamic shape operator: aten.nonzero.default; to enable, set torch._dynamo.config.capture_dynamic_output_shape_ops = True",
            "dynamic shape operator: aten.nonzero.default",
            ("Set torch._dynamo.config.capture_dynamic_output_shape_ops = True",),
        ),
        ("backend='mine' raised:\nRuntimeError: boom\nmore", "backend='mine' raised: RuntimeError: boom", ()),
        (
            "Failed running call_function <built-in function matmul>(*(FakeTensor(..., size=(3, 4)), 1), **{}):\nsizes differ: [3, 4]",
            "matmul failed: sizes differ: [3, 4]",
            (),
        ),
        ("Failed running call_method view(*(FakeTensor(..., size=(3,)), 2), **{}):\nshape is invalid", "view failed: shape is invalid", ()),
        (
            "Failed running call_function <function linear at 0x7f3e>(*(FakeTensor(..., size=(3,)),), **{}):\nno",
            "linear failed: no",
            (),
        ),
        (
            "Constraints violated (L['x'].size()[0])! For more information, run with TORCH_LOGS.\n  - Not all values are valid.",
            "Constraints violated (L['x'].size()[0]): Not all values are valid.",
            (),
        ),
        ("", "", ()),
    ],
)
def test_older_texts_have_a_title_and_the_advice_that_is_in_them(text: str, title: str, hints: tuple[str, ...]) -> None:
    found = compiler_message(text)
    assert (found.title, found.hints) == (title, hints)


@pytest.mark.parametrize("address", ["https://evil.example/gb0059.html", "https://meta-pytorch.github.io.evil.example/gb/gb1.html", "x"])
def test_only_pages_of_pytorch_are_addresses(address: str) -> None:
    assert compiler_message(f"a\n\n For more details about this graph break, please visit: {address}\n").url == ""


def test_the_chain_of_exceptions_begins_with_the_first_that_was_raised() -> None:
    first = 'Traceback (most recent call last):\n  File "/srv/app/backend.py", line 3, in mine\n    raise ValueError("no")\nValueError: no'
    own = "torch._dynamo.exc.BackendCompilerFailed: backend raised:\nValueError: no"
    second = f'Traceback (most recent call last):\n  File "/opt/torch/x.py", line 1, in call\n{own}'
    chain = exception_chain(f"{first}\n\nThe above exception was the direct cause of the following exception:\n\n{second}")
    assert [(item.type, item.message) for item in chain] == [
        ("ValueError", "no"),
        ("BackendCompilerFailed", "backend raised: ValueError: no"),
    ]
    assert chain[0].stack == (StackFrame("/srv/app/backend.py", 3, "mine", 'raise ValueError("no")'),)
    assert exception_chain("no traceback") == ()


@given(
    st.text()
    | st.text(alphabet='\n :"FileHntExplaio^,1')
    | st.just(BREAK).flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end]))
)
def test_any_text_is_taken_apart(text: str) -> None:
    found = compiler_message(text)
    assert "\n" not in found.title
    assert all(hint.strip() for hint in found.hints)
    assert user_stack(text) == found.stack
    exception_chain(text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>", "a float could not stay dynamic, so its value became a constant"),
        ("<class 'torch._dynamo.exc.RestartOfTomorrow'>", "RestartOfTomorrow"),
        ("builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False", "Dynamo cannot trace the builtin print"),
        ("builtin: mod [<class 'torch._dynam", "Dynamo cannot trace the builtin mod"),
        ("Tensor.item", "Tensor.item"),
    ],
)
def test_classes_of_pytorch_are_put_in_words(line: str, words: str) -> None:
    assert in_words(line) == words


def test_a_title_is_what_was_met_and_not_the_advice_before_it() -> None:
    found = compiler_message("Consider annotating your code using torch._check*(). Could not guard on data-dependent expression Eq(u0, 2)")
    assert (found.title, found.hints) == (
        "Could not guard on data-dependent expression Eq(u0, 2)",
        ("Consider annotating your code using torch._check*()",),
    )


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("torch._dynamo.exc.ObservedKeyError: ConstantVariable(str: 'k')", "KeyError", "'k'"),
        ("torch._dynamo.exc.ObservedKeyError: raised exception KeyError('k')", "KeyError", "'k'"),
        ("torch._dynamo.exc.ObservedTypeError: ConstantVariable(str: 'no len()')", "TypeError", "no len()"),
        ("torch._dynamo.exc.ObservedNameErrorError: raised exception NameError('name')", "NameError", "name"),
        ("torch._dynamo.exc.ObservedValueError: raised exception ValueError('a', 3)", "ValueError", "'a', 3"),
        ("torch._dynamo.exc.ObservedException: what", "ObservedException", "what"),
        ("ValueError: raised exception", "ValueError", "raised exception"),
    ],
)
def test_an_exception_of_the_users_code_has_its_own_name(line: str, kind: str, message: str) -> None:
    (raised,) = exception_chain(f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{line}')
    assert (raised.type, raised.message) == (kind, message)
    assert raised.is_observed == ("Observed" in line and kind != "ObservedException")


@pytest.mark.parametrize(
    ("context", "title"),
    [
        ("raised exception ValueError('too long')", "Observed exception: ValueError: too long"),
        ("raised exception ValueError([ConstantVariable(str: 'too long')])", "Observed exception: ValueError: too long"),
        ("raised exception KeyError('k')", "Observed exception: KeyError: 'k'"),
        ("raised exception AttributeError([\"no attribute 'w'\"])", "Observed exception: AttributeError: no attribute 'w'"),
        ("raised exception StopIteration()", "Observed exception: StopIteration"),
        ("raised exception from f(x)", "Observed exception"),
    ],
)
def test_an_exception_that_no_code_handles_is_named_by_its_context(context: str, title: str) -> None:
    text = f"Observed exception\n  Explanation: Dynamo found no exception handler.\n\n  Developer debug context: {context}\n"
    assert compiler_message(text).title == title


def test_the_error_of_an_operation_on_fake_tensors_comes_before_its_arguments() -> None:
    operation = "call_function <built-in function matmul>(*(FakeTensor(..., size=(3, 4)), 1), **{})"
    text = "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
    found = compiler_message(f"{text}{operation}: got RuntimeError('sizes differ: [3, 4].')\n")
    assert found.explanation == f"RuntimeError: sizes differ: [3, 4]. (on fake tensors, from {operation})"
    assert found.operation_error == "RuntimeError: sizes differ: [3, 4]."


def test_a_class_statement_is_to_be_moved_out_of_compiled_code() -> None:
    """PyTorch's hints are about what kept the break from being handled."""
    text = (
        "Invalid call to __build_class__\n  Explanation: None\n  Hint: It may be possible to write Dynamo tracing rules\n"
        "*** While handling this graph break, another graph break occurred: ***\n\ngraph break in a context\n  Explanation: None\n"
        "  Hint: Move the offending context manager(s) to outside the compiled region.\n"
    )
    assert compiler_message(text).hints == ("Define the class at module level.",)


def test_an_operator_that_takes_no_symbolic_bool_has_the_branch_that_it_needs() -> None:
    """PyTorch has the error in the context alone."""
    text = (
        "TypeError when making fake tensor call\n  Explanation: \n  Hint: Your code may result in an error when running in eager.\n\n"
        "  Developer debug context: TypeError <built-in function attend>: attend(): argument 'is_causal' must be bool, not SymBool\n"
    )
    found = compiler_message(text)
    assert (found.explanation, found.takes_no_symbol) == ("attend(): argument 'is_causal' must be bool, not SymBool", True)
    (hint,) = found.hints
    assert hint.startswith("Write `is_causal=True if ... else False`")
    other = compiler_message(text.replace("SymBool", "Tensor"))
    assert (other.takes_no_symbol, len(other.hints)) == (False, 1)


@pytest.mark.parametrize(
    ("arguments", "is_symbolic"), [("FakeTensor, NoneType, bool, list", True), ("FakeTensor, tuple, bool, str", False)]
)
def test_interpolate_takes_a_size_that_is_symbolic_and_no_scale(arguments: str, is_symbolic: bool) -> None:
    text = (
        "TypeError when making fake tensor call\n  Explanation: \n  Hint: Your code may result in an error when running in eager.\n\n"
        "  Developer debug context: TypeError <function interpolate at 0x7f14>: upsample_bilinear2d() received an invalid combination of "
        f"arguments - got ({arguments}), but expected one of:\n"
    )
    found = compiler_message(text)
    (hint,) = found.hints
    assert hint.startswith("Pass interpolate `size=(h * scale, w * scale)`") is is_symbolic
    assert found.takes_no_symbol is is_symbolic


def test_the_stack_in_cpp_is_no_part_of_an_error() -> None:
    stack = (
        "\\nException raised from check at /pytorch/c10/TensorImpl.cpp:340 (most recent call first):\\nframe #0: c10::Error::Error() + 0x9d"
    )
    text = "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
    found = compiler_message(f"{text}call_function f(*(), **{{}}): got RuntimeError('Cannot call numel(){stack}')\n")
    assert found.explanation == "RuntimeError: Cannot call numel() (on fake tensors, from call_function f(*(), **{}))"


def test_the_operation_that_failed_on_fake_tensors_is_the_title_of_torch_2_7() -> None:
    call = "call_function <built-in function matmul>(*(FakeTensor(..., size=(4, 5)), FakeTensor(..., size=(6, 5))), **{})"
    text = f"Dynamo failed to run FX node with fake tensors: {call}: got RuntimeError('sizes differ.')\n\nfrom user code:\n"
    assert compiler_message(text).title == "matmul failed: RuntimeError: sizes differ."


def test_objects_are_named_without_their_addresses() -> None:
    found = compiler_message("Skip `<function log at 0x7fb3d590c720>`\n  Explanation: It is <a.B object at 0x1f>.\n  Hint: Keep 0x10.\n")
    assert found[:3] == ("Skip `<function log>`", "It is <a.B object>.", ("Keep 0x10.",))


def test_the_guard_that_rejects_its_own_call_is_no_part_of_the_title() -> None:
    bug = "Guard failed on the same frame it was created. This is a bug - please create an issue."
    found = compiler_message(f"{bug}Guard fail reason: 0/1: 2 <= x.size()[0]  # return x")
    assert (found.title, found.explanation) == (bug, "Guard fail reason: 0/1: 2 <= x.size()[0]  # return x")
    assert found.is_bug


X = "L['x'].size()[0]"


@pytest.mark.parametrize("heading", ["", "Graph break in user code at a.py:1\n"])
def test_a_break_needs_no_line_above_its_reason(heading: str) -> None:
    """As where the first line of a message was not copied."""
    why = "Graph break due to unsupported builtin flash.PyCapsule.fwd. This function is either a Python builtin or a third-party extension."
    assert compiler_message(f"{heading}Reason: Unsupported: {why}").title == "Unsupported builtin flash.PyCapsule.fwd"


@pytest.mark.parametrize("fix", ["_n = Dim('_n', max=64)", "_n = Dim('_n"])
def test_a_suggested_fix_that_a_text_cuts_is_none(fix: str) -> None:
    condition = (
        "  - Not all values of n = L['x'].size()[1] in the specified range n <= 1024 satisfy the generated guard L['x'].size()[1] <= 64."
    )
    found = compiler_message(f"Constraints violated (n)!\n{condition}\n\nSuggested fixes:\n  {fix}")
    assert (f"Suggested fixes: {fix}" in found.hints) is fix.endswith(")")


def test_a_function_of_an_extension_is_known_by_what_pybind_calls_it() -> None:
    """A page has taken away the blank in front of the sentence, and the advice."""
    name = "ops.pybind11_detail_function_record_v1_system_libstdcpp_gxx_abi_1xxx_use_cxx11_abi_1.quantize"
    found = compiler_message(f"Dynamo does not know how to trace the builtin `{name}.`This function is either a Python builtin or another.")
    assert found.title == "Unsupported builtin ops.quantize"
    (hint,) = found.hints
    assert hint.startswith("Make a custom operator of this function")


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("builtins.__import__", ["call"]),
        ("time.time", ["call"]),
        ("_warnings.warn", ["call"]),
        ("fused.PyCapsule.quantize", ["wrap"]),
        ("None.pybind11_object.__new__", ["wrap"]),
        ("fused.quantize", ["file", "wrap"]),
        ("<unknown module>.C.quantize", ["file", "wrap"]),
        ("<unknown module>.Random.random", ["call", "wrap"]),
        ("<unknown module>.list.append", ["call"]),
    ],
)
def test_advice_about_a_builtin_is_that_for_its_kind(name: str, hints: list[str]) -> None:
    """The text is that of an exception of torch 2.5."""
    kinds = {
        "call": "Call this function of Python outside the compiled code, and pass what it returns.",
        "file": "If it is a Python builtin, please file an issue on GitHub so the PyTorch team can add support for it",
        "wrap": "If it is a third-party C/C++ Python extension, please either wrap it into a custom operator or use allow_in_graph.",
    }
    what = f"Graph break due to unsupported builtin {name}. This function is either a Python builtin or a third-party extension."
    text = f"{what} {kinds['file']} and see the next case for a workaround. {kinds['wrap']}\n\nfrom user code:\n"
    text += '   File "/srv/a.py", line 3, in f\n    if random.random() < mod.quantize(x):\n'
    found = compiler_message(text)
    assert found.title == f"Unsupported builtin {name}"
    assert [hint.rstrip(".") for hint in found.hints] == [kinds[hint].rstrip(".") for hint in hints]
    assert len(found.specific_hints) == len(hints) - hints.count("file")
    newer = f"Attempted to call a function\n  Explanation: Dynamo does not know how to trace the builtin `{name}.` This is one.\n"
    newer += f"  Hint: {kinds['file']}.\n  Hint: {kinds['wrap']}\n\n{text[text.index('from user code') :]}"
    assert ["call" if hint == kinds["call"] else "wrap" for hint in compiler_message(newer).specific_hints] == (
        ["wrap"] if "PyCapsule" in name or "pybind" in name else [hint for hint in hints if hint != "file"]
    )


@pytest.mark.parametrize(
    "text",
    [
        "'skip function graph_break in file /opt/torch/_dynamo/decorators.py'",
        "call_function graph_break in skip_files /opt/torch/_dynamo/decorators.py",
    ],
)
def test_a_graph_that_the_code_breaks_on_purpose_has_the_hint_of_newer_versions(text: str) -> None:
    assert compiler_message(text).hints == ("Remove the `torch._dynamo.graph_break()` call.",)


@pytest.mark.parametrize(
    ("module", "name", "file", "hint"),
    [
        ("torch.optim.adam", "Adam.step", "torch/optim/lr_scheduler.py", WRAPPED),
        ("torch.optim.lr_scheduler", "StepLR.step", "torch/optim/lr_scheduler.py", "Call `StepLR.step` outside of the compiled function."),
        ("", "CyclicLR.step", "torch/optim/lr_scheduler.py", "Call `CyclicLR.step` outside of the compiled function."),
        ("torch.random", "seed", "torch/random.py", "Avoid calling it."),
        ("lib.step", "step", "lib/other.py", "Avoid calling it."),
    ],
)
def test_a_function_of_pytorch_that_is_not_traced_is_accepted_or_called_elsewhere(module: str, name: str, file: str, hint: str) -> None:
    """Where a scheduler wraps the step of an optimizer, the user compiles the very function that PyTorch's hint is to avoid."""
    path = f"/opt/venv/lib/python3.11/site-packages/{file}"
    context = f"module: {module}, qualname: {name}, " if module else f"qualname: {name}, name: step, filename: `{path}`, "
    text = "Attempted to call function marked as skipped\n  Explanation: It should not be traced.\n  Hint: Avoid calling it.\n\n"
    text += f"  Developer debug context: {context}skip reason: file is force-skipped ({path})\n"
    assert compiler_message(text).hints == (hint,)


@pytest.mark.parametrize(
    ("named", "given", "guard", "title"),
    [
        (X, f"{X} <= 10", f"2 <= {X} and {X} <= 7", "dim 0 of x is marked with max=10, but the code only allows 2 to 7: set max=7"),
        (X, f"3 <= {X} <= 10", f"{X} < 8", "dim 0 of x is marked with min=3 and max=10, but the code only allows 2 to 7: set max=7"),
        (X, f"4 <= {X}", f"8 <= {X}", "dim 0 of x is marked with min=4, but the code only allows 8 or more: set min=8"),
        (
            "batch",
            "batch <= 128",
            f"{X} <= 64",
            "dim 0 of x (batch) is declared with max=128, but the code only allows 2 to 64: set max=64",
        ),
    ],
)
def test_a_range_that_the_code_narrows_has_the_one_to_set(named: str, given: str, guard: str, title: str) -> None:
    text = (
        f"Constraints violated ({named})! For more information, run with TORCH_LOGS.\n  - Not all values of {named} = {X} in the specified"
    )
    assert compiler_message(f"{text} range {given} satisfy the generated guard {guard}").title == title


def test_the_hint_of_dynamo_below_a_condition_is_no_part_of_it() -> None:
    text = f"Constraints violated ({X})!\n  - Not all values of {X} = {X} in the specified range {X} <= 9 satisfy the generated guard "
    hint = "\n\n\nYou can suppress this exception and fall back to eager by setting:\n    import torch._dynamo\n"
    found = compiler_message(f"{text}3 <= {X} and {X} <= 9{hint}")
    assert found.title == "dim 0 of x is marked with max=9, but the code only allows 3 to 9: set min=3"


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        (f"Ne(Mod({X}, {X} - 1), 0)", "n % (n - 1) != 0"),
        (f"Eq(Mod({X}, 8), 0)", "n % 8 == 0"),
        (f"Eq({X}, L['self']._modules['lin']._parameters['weight'].size()[1])", "n == self.lin.weight.size()[1]"),
        (f"{X} % 8 == 0", "n % 8 == 0"),
        (f"Ne(Min(2, {X}), L['k'])", "Ne(Min(2, n), k)"),
    ],
)
def test_a_guard_on_a_declared_dim_has_its_name_and_is_written_as_code(guard: str, words: str) -> None:
    text = f"Constraints violated (n)!\n  - Not all values of n = {X} in the specified range n <= 64 satisfy the generated guard {guard}"
    found = compiler_message(text)
    assert found.title == f"dim 0 of x (n) is declared as dynamic, but the code only accepts sizes with {words}"


@pytest.mark.parametrize("guard", [f"{X} <= 2", f"{X} < 3", f"2 <= {X} and {X} <= 2"])
def test_a_range_with_one_size_is_no_range(guard: str) -> None:
    text = f"Constraints violated (n)!\n  - Not all values of n = {X} in the specified range n <= 8 satisfy the generated guard {guard}."
    assert compiler_message(text).title == "dim 0 of x (n) is declared as dynamic, but the code fixes it to 2"


@pytest.mark.parametrize(
    ("below", "explanation"),
    [
        ("  it was wrapped (reason: None)\n", "Skip calling f since it was wrapped (reason: None)"),
        ("  Hint: Do.\n", "Skip calling f since"),
        ("  File x\n", "Skip calling f since"),
        ("it goes on\n", "Skip calling f since"),
    ],
)
def test_an_explanation_may_be_wrapped_within_a_sentence(below: str, explanation: str) -> None:
    assert compiler_message(f"Skipped\n  Explanation: Skip calling f since\n{below}").explanation == explanation


def test_conditions_of_several_dims_are_kept_apart() -> None:
    """The forms are those of torch 2.2."""
    text = (
        "Constraints violated (rows, width)! For more information, run with TORCH_LOGS=dynamic.\n"
        "  - The values of width = L['y'].size()[1] and depth = L['x'].size()[2] must always be equal.\n"
        "  - Not all values of width = L['y'].size()[1] in the specified range satisfy the generated guard Ne(L['y'].size()[1], 8).\n"
        "  - Not all values of rows = L['x'].size()[0] in the specified range satisfy the generated guard L['x'].size()[0] <= 32.\n"
        "  - Not all values of width = L['y'].size()[1] in the specified range satisfy the generated guard L['y'].size()[1] >= 8.\n"
    )
    assert compiler_message(text).title.split("; ") == [
        "dim 1 of y (width) is declared with a range that includes 8, which the code treats apart: set min=9",
        "dim 0 of x (rows) is declared as dynamic, but the code only allows 2 to 32: set max=32",
        "dim 1 of y (width) is declared as dynamic, but the code only allows 8 or more: set min=8",
        "the code requires that dim 1 of y equals dim 2 of x",
    ]


def test_conditions_on_one_dim_are_one_sentence() -> None:
    text = "".join(
        f"  - Not all values of n = {X} in the specified range n <= 64 satisfy the generated guard {guard}.\n"
        for guard in (f"{X} % 8 == 0", f"{X} <= 32", f"{X} % 3 == 1", f"{X} % 8 == 0")
    )
    assert compiler_message(f"Constraints violated (n)!\n{text}").title == (
        "dim 0 of x (n) is declared as dynamic, but the code only accepts sizes with "
        "n % 8 == 0 and n % 3 == 1; dim 0 of x (n) is declared with max=64, but the code only allows 2 to 32: set max=32"
    )


@pytest.mark.parametrize("condition", ["", f"- Not all values of n = {X} in the specified range satisfy the generated guard {X} <= 2.\n"])
@pytest.mark.parametrize("words", ["generated for n = L['x'].size()[0]", "for n = L['x'].size()[0]"])
def test_a_dim_for_which_the_guards_have_one_solution_is_fixed(condition: str, words: str) -> None:
    text = f"Constraints violated (n)!\n{condition}  - solving the guards {words} resulted in a specialized value of 1.\n"
    assert compiler_message(text).title == "dim 0 of x is declared as dynamic, but the code fixes it to 1"


def test_many_conditions_are_read_in_linear_time() -> None:
    text = "- Not all values of x = L['x'].size()[0] in the specified range x <= 4 satisfy "
    started = time.perf_counter()
    compiler_message(f"Constraints violated (x)!\n{text * 400}")
    assert time.perf_counter() - started < 2


def test_a_guard_about_two_sizes_gives_no_range() -> None:
    text = f"Constraints violated ({X})! For more information, run with TORCH_LOGS.\n  - Not all values of {X} = {X} in the specified range"
    found = compiler_message(f"{text} {X} <= 10 satisfy the generated guard {X} <= L['y'].size()[0]")
    assert found.title == "dim 0 of x is marked as dynamic, but the code only accepts sizes with x.size()[0] <= y.size()[0]"


@pytest.mark.parametrize("front", ["", "backend='inductor' raised:\nLoweringException: ", "LoweringException: "])
def test_the_operator_that_could_not_be_lowered_is_named(front: str) -> None:
    text = f"{front}RuntimeError: no strides\n  target: aten.embedding.default\n  args[0]: TensorBox(StorageBox(\n  ))\n"
    assert compiler_message(text).title.endswith("RuntimeError: no strides (while lowering aten.embedding.default)")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "TypeError: call() \ntakes 1 positional argument but 4 were given",
            "TypeError: call() takes 1 positional argument but 4 were given",
        ),
        ("TypeError: call()\ntakes 1 positional argument", "TypeError: call()"),
        ("LoweringException: KeyError: \n  target: aten.add", "LoweringException: KeyError: target: aten.add"),
        ("a failed call \nTraceback of it", "a failed call"),
    ],
)
def test_a_sentence_that_a_page_wrapped_after_a_blank_is_whole(text: str, title: str) -> None:
    assert compiler_message(text).title == title


WORKER = "SubprocException: An exception occurred in a subprocess:\n\nTraceback (most recent call last):\n"
WORKER_STACK = '  File "/lib/torch/_inductor/compile_worker/subproc_pool.py", line 337, in do_job\n    result = job()\n'


@pytest.mark.parametrize("front", ["", "backend='inductor' raised:\n"])
@pytest.mark.parametrize("below", ["", "\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"])
@pytest.mark.parametrize(
    ("raised", "named"),
    [
        ("RuntimeError: Failed to find C compiler.", "RuntimeError: Failed to find C compiler."),
        (
            "triton.compiler.errors.CompilationError: at 3:4:\n  x = tl.load(p)\n      ^",
            "Triton cannot compile `x = tl.load(p)`, line 3 of a kernel",
        ),
        ("", LOST_EXCEPTION),
    ],
)
def test_what_a_worker_of_inductor_raised_is_in_the_title(front: str, below: str, raised: str, named: str) -> None:
    title = compiler_message(f"{front}{WORKER}{WORKER_STACK}{raised}{below if raised else ''}").title
    assert title == f"{front.strip()} SubprocException: An exception occurred in a subprocess: {named}".strip()


@pytest.mark.parametrize(
    ("below", "title"),
    [
        ("no_grad mode and its base has been modified", "RuntimeError: A view was created in no_grad mode and its base has been modified"),
        ("triton/driver.py: Utils.get_device", "RuntimeError: A view was created in"),
        ("target: aten.mm", "RuntimeError: A view was created in"),
        ("  in no other line", "RuntimeError: A view was created in"),
    ],
)
def test_a_first_line_that_a_person_wrapped_goes_on_with_words(below: str, title: str) -> None:
    assert compiler_message(f"RuntimeError: A view was created in\n{below}").title == title


@pytest.mark.parametrize(
    ("explanation", "context", "whole"),
    [
        (
            "Only functions in python.",
            "partial(<function f.<locals>.g at 0x7a20>, n=1)",
            "Only functions in python: partial(<function f.<locals>.g>, n=1)",
        ),
        ("Does not trace `g`.", "<function g at 0x7a20>", "Does not trace `g`."),
        (
            "torch.* ops that return a non-Tensor cannot be traced",
            "example_value type: str; op: call_function; target: <function name_of at 0x7a20>",
            "torch.* ops that return a non-Tensor cannot be traced: <function name_of>",
        ),
        ("Not supported.", "<class 'torch._dynamo.variables.x'>", "Not supported."),
        ("Not supported.", "call_method TensorVariable() item", "Not supported."),
    ],
)
def test_the_object_that_only_the_context_has_is_in_the_explanation(explanation: str, context: str, whole: str) -> None:
    text = f"can't handle it\n  Explanation: {explanation}\n  Hint: Move it\n\n  Developer debug context: {context}\n"
    assert compiler_message(text).explanation == whole


@pytest.mark.parametrize("file", ["...", '"/srv/cut_at_the_ma', "/srv/a.py,"])
def test_a_frame_may_have_lost_its_file_or_the_end_of_that(file: str) -> None:
    (last,) = compiler_message(f"no\n\nFX node stack trace:\n  File {file} line 13, in f\n    y = x.t() * w\n").stack
    assert last == StackFrame(file.strip('",'), 13, "f", "y = x.t() * w")


@pytest.mark.parametrize(
    ("operator", "helps"), [("_ctc_loss.Tensor", False), ("linalg_lstsq.default", False), ("masked_select.default", True)]
)
def test_the_setting_for_sizes_that_depend_on_data_is_no_help_for_an_operator_without_a_kernel_for_it(operator: str, helps: bool) -> None:
    setting = "Enable tracing of dynamic shape operators with `torch._dynamo.config.capture_dynamic_output_shape_ops = True`"
    text = (
        "Graph break in user code at model.py:6\nGraph Break Reason: Dynamic shape operator\n"
        f"  Explanation: Operator `aten.{operator}`'s output shape depends on input Tensor data.\n  Hint: {setting}\n"
        f"\n  Developer debug context: aten.{operator}\n"
    )
    assert compiler_message(text).hints == ((setting,) if helps else (MOVE_OPERATOR,))


def test_the_word_that_a_cut_left_of_a_hint_is_none() -> None:
    assert compiler_message("Observed exception\n  Explanation: Dynamo found no handler.\n  Hint: Dynamo").hints == ()


def test_a_break_while_an_instruction_was_traced_is_named_by_it_where_the_text_has_no_more() -> None:
    what = "Encountered graph break when attempting to trace CALL_KW"
    text = f"Graph Break Reason: {what}\n{{}}  Hint: Report an issue.\n  Developer debug context: app.Kind"
    assert compiler_message(text.format("")).title == f"{what}: app.Kind"
    assert compiler_message(text.format("\nUnsupported call\n")).title == "Unsupported call"


@pytest.mark.parametrize("name", ["Explanation", "Hint"])
def test_a_single_word_is_what_a_cut_left_of_a_text(name: str) -> None:
    found = compiler_message(f"Unsupported call\n  {name}: Attempted")
    assert (found.title, found.explanation, found.hints) == ("Unsupported call", "", ())


@pytest.mark.parametrize("front", ["...  ", "\u2026 ", "  "])
def test_what_an_operation_raised_is_known_where_the_explanation_is_left_out(front: str) -> None:
    text = f"RuntimeError when making fake tensor call\n{front}got ModuleNotFoundError(\"No module named 'flash_config'\")"
    assert compiler_message(text).title == "ModuleNotFoundError: No module named 'flash_config'"


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("Unsupported Tensor.backward() call\n  Hint: This graph break is fundamental.", "Compile the forward pass and the loss"),
        ("Skip calling `torch.compiler.disable()`d function", "Remove the call of torch.compiler.disable"),
        ("Skip calling `torch.compiler.disable()`d function\n  Hint: Remove the `torch.compiler.disable` call", "Remove the `torch"),
    ],
)
def test_a_break_that_a_title_is_enough_for_has_a_hint(text: str, begin: str) -> None:
    (hint,) = compiler_message(text).hints
    assert hint.startswith(begin)
