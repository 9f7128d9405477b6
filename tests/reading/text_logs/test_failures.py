"""Exceptions of the compiler are found wherever a person or a program repeats them, each failure once."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.advice.remedies import Remedies
from shapelog.errors import ShapelogError
from shapelog.reading.text_logs.failures.failure import failure
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

FAILED = ("SL203", "SL403")
TRITON = "RuntimeError: Cannot find a working triton installation."
TOO_OLD = "RuntimeError: Found Tesla P100 which is too old to be supported by the triton GPU compiler, which is used as the backend."
CONDITION = (
    "Not all values of RelaxedUnspecConstraint(L['x'].size()[0]) are valid because L['x'].size()[0] was inferred to be a constant (8)."
)
STACK = 'Traceback (most recent call last):\n  File "/srv/train.py", line 50, in step\n    model(x)\n'
LIMIT = (
    "W1126 16:03:16.529497 77 torch/_dynamo/convert_frame.py:844] [1/8] torch._dynamo hit config.cache_size_limit (8)\n"
    "W1126 16:03:16.529497 77 torch/_dynamo/convert_frame.py:844] [1/8]    function: 'f' (/srv/a.py:4)\n"
    "W1126 16:03:16.529497 77 torch/_dynamo/convert_frame.py:844] [1/8]    last reason: 1/0: tensor 'L['x']' size mismatch at index 0. "
    "expected 16, actual 64\n"
)
IPYTHON = (
    "\n---------------------------------------------------------------------------\n"
    "CacheLimitExceeded                        Traceback (most recent call last)\n"
    "Cell In[21], line 5\n      3 results = []\n----> 5     result = train()\n\nCell In[20], line 20, in train()\n     17 a = 1\n"
    "---> 20 f(x)\n"
)


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def failures(text: str, folder: Path) -> list[Finding]:
    return [item for item in report_of(text, folder).findings if item.rule.code in FAILED]


@pytest.mark.parametrize(
    "line",
    [
        "Training fails with `torch._dynamo.exc.Unsupported: call_method split`. How do I fix this?",
        "[Help] \u201ctorch._dynamo.exc.Unsupported: call_method split\u201d",
        '[Help] \u201ctorch._dynamo.exc.Unsupported: call_method split"',
        "[Bug] It's broken: torch._dynamo.exc.Unsupported: call_method split",
        '{"level": "error", "error": "torch._dynamo.exc.Unsupported: call_method split", "step": 3}',
        "  - Error type: torch._dynamo.exc.Unsupported\n  - Error message: call_method split",
    ],
)
def test_an_exception_among_other_words_is_a_failure(line: str, tmp_path: Path) -> None:
    (found,) = failures(f"Hello,\n\n{line}\n\nThanks\n", tmp_path)
    assert found.sentence.endswith("failed to compile in Dynamo (tracing the code): call_method split")


@pytest.mark.parametrize(
    "line",
    [
        "Should I catch torch._dynamo.exc.Unsupported or is there another way?",
        "    except torch._dynamo.exc.Unsupported: pass",
        "Unsupported: this file format",
        "UserWarning: # This may lead to\n  'torch._dynamo.exc.UserError: Constraints violated.' Supply the other argument.",
    ],
)
def test_the_name_of_an_exception_is_no_failure(line: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of(f"{line}\n", tmp_path)


def test_a_failure_counts_once_that_is_quoted_above_its_traceback(tmp_path: Path) -> None:
    text = f"[Bug] I see torch._dynamo.exc.Unsupported: call_method split ...\n\nHere:\n{STACK}"
    text += "torch._dynamo.exc.Unsupported: call_method split [Foo()]\n\nfrom user code:\n"
    text += '  File "/srv/net.py", line 7, in forward\n    x.split()\n'
    (found,) = failures(text, tmp_path)
    assert found.frame is not None
    assert found.frame.title == "forward"
    assert found.place is not None
    assert str(found.place) == "/srv/net.py:7"


def test_two_failures_with_other_messages_are_two(tmp_path: Path) -> None:
    quoted = (f"It fails with `torch._dynamo.exc.Unsupported: call_method {name}`.\n\n" for name in ("split", "flip"))
    assert len(failures("".join(quoted), tmp_path)) == 2


def test_the_fields_of_an_error_report_are_one_failure_with_its_inner_exception(tmp_path: Path) -> None:
    message = f"backend='inductor' raised:\n{TRITON}\n\nSet TORCH_LOGS=\"+dynamo\" for more information\n\n"
    toast = f"torch._dynamo.exc.BackendCompilerFailed 216 Sampler\nsome text\n{message}"
    fields = f"- **Exception Type:** torch._dynamo.exc.BackendCompilerFailed\n- **Exception Message:** {message}"
    stack = '  File "D:\\run.py", line 328, in execute\n    get(obj)\n  File "D:\\Lib\\site-packages\\torch\\x.py", line 9, in x\n'
    stack = f"## Stack Trace\n```\n{stack}```\n"
    for text in (toast, fields, f"{toast}# Error Report\n{fields}"):
        (found,) = failures(text, tmp_path)
        assert found.sentence.endswith(f"failed to compile in the backend inductor: {TRITON}")
    (found,) = failures(f"{toast}# Error Report\n{fields}{stack}", tmp_path)
    assert str(found.place) == "D:/run.py:328"


@pytest.mark.parametrize(
    ("inner", "notes"),
    [
        ('  File "/srv/ops.py", line 9, in g\n    y()\n', ("reached from /srv/net.py:7  return x @ self.w",)),
        ('  File "/srv/net.py", line 9, in g\n    y()\n', ()),
        ('  File "/lib/python3.11/site-packages/torch/nn/x.py", line 9, in g\n    y()\n', ()),
    ],
)
def test_the_line_that_leads_to_another_file_is_named(inner: str, notes: tuple[str, ...], tmp_path: Path) -> None:
    (found,) = failures(f"torch._dynamo.exc.Unsupported: call_function Foo\n\nfrom user code:\n{FRAME}{inner}", tmp_path)
    assert found.notes == notes


REPORT = (
    "# Error Report\n- **Node Type:** Sampler\n- **Exception Type:** {}\n- **Exception Message:** {}\n## Stack Trace\n\n"
    '  File "D:\\run.py", line 328, in execute\n    get(obj)\n\n  File "D:\\Lib\\site-packages\\torch\\{}", line 36, in x\n    y()\n\n'
)


@pytest.mark.parametrize("kind", ["ImportError", "RuntimeError", "sympy.SympifyError"])
def test_a_report_may_name_an_exception_of_any_class_of_the_compiler(kind: str, tmp_path: Path) -> None:
    (found,) = failures(REPORT.format(kind, "cannot import name 'x'", "_inductor\\runtime\\hints.py"), tmp_path)
    assert found.sentence.endswith(": cannot import name 'x'")
    assert str(found.place) == "D:/run.py:328"


@pytest.mark.parametrize("file", ["_dynamo\\eval_frame.py", "nn\\modules\\module.py"])
def test_a_report_about_an_exception_of_the_program_is_no_failure(file: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        failures(REPORT.format("torch.OutOfMemoryError", "Allocation on device", file), tmp_path)


def test_a_condition_on_a_mark_counts_without_its_heading_and_once_with_it(tmp_path: Path) -> None:
    headed = (
        "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])! For more information\n"
    )
    for text in (f"[Bug]: version 2: {CONDITION}\n", f"[Bug]: {CONDITION}\n\n{STACK}{headed}- {CONDITION}\n"):
        (found,) = failures(text, tmp_path)
        assert (found.rule.code, found.message and found.message.title) == (
            "SL203",
            "dim 0 of x is marked as dynamic, but the code fixes it to 8",
        )


def test_an_operation_that_fails_on_fake_tensors_is_a_failure_of_dynamo(tmp_path: Path) -> None:
    lines = "                RuntimeError: Failed running call_module self_fc(*(FakeTensor(..., size=(1, 512)),), **{}):\n"
    (found,) = failures(f"{lines}                Please convert all Tensors to FakeTensors first\n", tmp_path)
    assert found.sentence.endswith(
        "(running an operation on fake tensors): self_fc failed: Please convert all Tensors to FakeTensors first"
    )


def test_a_value_of_the_data_has_its_line_and_its_own_remedy(tmp_path: Path) -> None:
    asked = "Could not guard on data-dependent expression Eq(u0, 1)"
    error = (
        f"torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: {asked} (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\n"
    )
    (found,) = failures(f"{STACK}{error}Caused by: if n == 1:  # srv/net.py:7 in forward (_dynamo/x.py:12 in y)\n", tmp_path)
    assert found.sentence.endswith(f": {asked}")
    assert str(found.place) == "srv/net.py:7"
    assert "torch._check" in found.remedy


def test_a_logged_stack_that_begins_within_a_chain_is_a_failure(tmp_path: Path) -> None:
    head = "W0317 14:27:33.399000 26412 site-packages\\torch\\_dynamo\\convert_frame.py:1125] "
    lines = ("The above exception was the direct cause of the following exception:", "", *STACK.splitlines()[:2])
    (found,) = failures("".join(f"{head}{line}\n" for line in lines), tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")


def test_an_exception_of_python_below_the_heading_of_lowering_is_the_one() -> None:
    found = failure(["Error from lowering", *STACK.splitlines(), "AssertionError: Found <class 'X'>"], is_logged=True)
    assert found is not None
    assert (found.type, found.message) == ("LoweringException", "AssertionError: Found <class 'X'>")


@pytest.mark.parametrize("end", ["", "\n\nCacheLimitExceeded: cache_size_limit reached\n"])
def test_a_limit_whose_exception_follows_is_one_that_raised(end: str, tmp_path: Path) -> None:
    report = report_of(LIMIT + IPYTHON + end, tmp_path)
    (found,) = (item for item in report.findings if item.rule.code == "SL401")
    assert "; the call raised an error; the last reason: dim 0 of x changed from 16 to 64" in found.sentence
    assert len(report.trace.compiles) == 1


OPERATION = (
    "torch._dynamo.exc.TorchRuntimeError: Failed running call_function <built-in method matmul>(*(FakeTensor(..., size=(4, 5)),), **{}):\n"
    "sizes do not fit: [4, 5] X [6, 5].\n\nfrom user code:\n"
)
FRAME = '   File "/srv/net.py", line 7, in forward\n    return x @ self.w\n'


@pytest.mark.parametrize(
    "above", ["", STACK, "Cell In[7], line 3\n----> 3 out = model(x)\n\nFile ~/torch/_dynamo/utils.py:2536\n-> 2536     raise e\n\n"]
)
def test_the_message_of_an_exception_goes_on_in_its_next_lines(above: str, tmp_path: Path) -> None:
    above = f"TorchRuntimeError                         Traceback (most recent call last)\n{above}" if above.startswith("Cell") else above
    (found,) = failures(f"{above}{OPERATION}{FRAME}\nSet TORCH_LOGS\n", tmp_path)
    assert found.sentence.startswith("forward failed to compile")
    assert found.sentence.endswith("matmul failed: sizes do not fit: [4, 5] X [6, 5].")
    assert str(found.place) == "/srv/net.py:7"


def test_a_joined_line_ends_the_name_of_a_function_where_its_code_begins(tmp_path: Path) -> None:
    text = f"torch._dynamo.exc.Unsupported: call_method split {OPERATION[-16:]}{FRAME}Set TORCHDYNAMO_VERBOSE=1 for the stack"
    (found,) = failures(f"{' '.join(text.split())}\n", tmp_path)
    assert found.sentence == "forward failed to compile in Dynamo (tracing the code): call_method split"
    assert found.message is not None
    assert (str(found.place), found.message.stack[-1].code) == ("/srv/net.py:7", "return x @ self.w")


@pytest.mark.parametrize(
    ("message", "limits"),
    [
        (
            "Dynamo attempted to recompile the code object too many times, exceeding the\nrecompile_limit (currently set to\n1024)\n",
            ("2048",),
        ),
        ("  forward  net.py:819\n", ()),
    ],
)
def test_the_limit_is_that_of_the_message_or_unknown(message: str, limits: tuple[str, ...], tmp_path: Path) -> None:
    text = f"FailOnRecompileLimitHit: Hard failure due to fullgraph=True\n{message}"
    (step,) = next_steps(collect_alerts(report_of(text, tmp_path), Repository("nowhere")))
    assert [item.rpartition(" ")[2] for item in step.text] == list(limits)


ASKED = "Could not guard on data-dependent expression"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            f"Tried to use data-dependent value. Please look.  {ASKED} Eq(u4, 0) (unhinted: Eq(u4, 0)).  (Size-like symbols: u4)\n",
            f"{ASKED} Eq(u4, 0)",
        ),
        (f"I get {ASKED} False (unhinted: Ne(Mod(u0, (s1//8)), 0)).\n", f"{ASKED} Ne(Mod(u0, (s1//8)), 0)"),
        (
            "Could not extract specialized integer from data-dependent expression u0 (unhinted: u0).  (Size-like symbols: none)\n",
            "Could not extract specialized integer from data-dependent expression u0",
        ),
        (
            "  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a\n"
            "    constant (8). If you're using mark_dynamic,\n    either remove it.\n",
            "dim 0 of x is marked as dynamic, but the code fixes it to 8",
        ),
        (
            "torch.fx.experimental.symbolic_shapes.ConstraintViolationError:\n77 not in range [8, 16]\n",
            "a size of 77 is outside of the range that is marked or declared, 8 to 16",
        ),
        ("# TorchRuntimeError: The sizes must match\n", "The sizes must match"),
        ("# It fails (Unsupported: hasattr ListVariable (to))\n", "hasattr ListVariable (to)"),
        ("The error is: torch._dynamo.exc.BackendCompilerFailed RuntimeError: no triton\n", "RuntimeError: no triton"),
    ],
)
def test_a_message_without_its_exception_is_a_failure(text: str, title: str, tmp_path: Path) -> None:
    (found,) = failures(f"Hello,\n\n{text}\nThanks\n", tmp_path)
    assert found.message is not None
    assert found.message.title == title


def test_a_guard_that_fails_for_its_own_call_is_a_bug_of_pytorch(tmp_path: Path) -> None:
    reason = "Guard fail reason: 5/0: tensor 'self.w' size mismatch at index 1. expected 25, actual 27"
    (found,) = failures(f"[ERROR] Phase 2: Guard failed on the same frame it was created. This is a bug.{reason}\n", tmp_path)
    assert found.message is not None
    assert found.message.is_bug
    assert found.message.explanation == reason


def test_a_mark_that_is_contradicted_on_wrapped_lines_is_one_failure(tmp_path: Path) -> None:
    text = (
        "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated\n(L['x'].size()[0])! For more information\n"
    )
    text += "E0628 14:08:08.614000 1614 torch/_guards.py:368] [0/0] - You marked L['x'].size()[0] as dynamic\n"
    text += (
        "but your code specialized it to be a constant (9). If you're using mark_dynamic, either remove\nit or use maybe_mark_dynamic.\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("dim 0 of x is marked as dynamic, but the code fixes it to 9")
    assert found.message is not None
    assert found.message.hints == ()
    assert found.remedy.startswith("use torch._dynamo.maybe_mark_dynamic, or change the line that requires a fixed size, which TORCH_LOGS")


@pytest.mark.parametrize("before", ["", "- ", "[ERROR] ", "[05:45:15.150] [ERROR] Error in Phase 1 (Encoding): ", "2026-01-01 12:00:00: "])
def test_the_title_of_what_is_explained_may_be_behind_words_of_a_program(before: str, tmp_path: Path) -> None:
    text = f"{before}Data-dependent branching\n  Explanation: Detected a branch.\n  Hint: Use `torch.cond`.\n\nfrom user code:\n"
    (found,) = failures(f"{text}{FRAME}", tmp_path)
    assert found.message is not None
    assert found.message.title == "Data-dependent branching"
    assert (found.message.explanation, found.message.hints) == ("Detected a branch.", ("Use `torch.cond`.",))
    assert str(found.place) == "/srv/net.py:7"


@pytest.mark.parametrize(
    ("end", "place"),
    [('  File "/srv/net.py", line 1', "/srv/net.py:7"), ('  File "/srv/net.py", line 19, in g\n', "/srv/net.py:19")],
)
def test_a_line_number_that_may_be_cut_is_no_place(end: str, place: str, tmp_path: Path) -> None:
    text = f"torch._dynamo.exc.Unsupported: call_function Foo\n\nfrom user code:\n{FRAME}    x = g(x)\n{end}"
    (found,) = failures(text, tmp_path)
    assert str(found.place) == place


@pytest.mark.parametrize("line", [f"What does '{ASKED}' mean?", "Unsupported: call me", "Some sizes are not in range [1, 2]"])
def test_words_about_a_message_are_no_failure(line: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of(f"{line}\n", tmp_path)


SIZE = "tensor 'x' size mismatch at index 1. expected 128, actual 131"


@pytest.mark.parametrize(
    "text",
    [
        f"why do I get torch._dynamo hit config.recompile_limit (8) function: 'f' (/srv/a.py:4) last reason: 0/7: {SIZE} in eval?\n",
        f"   last reason: 0/7: {SIZE}.\n",
        f"RecompileLimitExceeded: cache_size_limit reached\nlast reason: 0/7: {SIZE}\n",
    ],
)
def test_the_last_reason_is_read_wherever_it_is(text: str, tmp_path: Path) -> None:
    report = report_of(text, tmp_path)
    (found,) = (item for item in report.findings if item.rule.code == "SL401")
    assert found.sentence.endswith("; the last reason: dim 1 of x changed from 128 to 131")
    assert found.compile == "0/8"


def test_an_operation_that_failed_on_fake_tensors_is_known_without_the_class_of_the_exception(tmp_path: Path) -> None:
    """What a program prints of an exception that it caught."""
    call = "call_function <built-in function iadd>(*(FakeTensor(..., size=(2,)), FakeTensor(..., device='meta', size=(2,))), **{})"
    text = f"Compilation failed: Dynamo failed to run FX node with fake tensors: {call}: got RuntimeError('two devices')\n\n"
    text += 'from user code:\n   File "/srv/flow.py", line 67, in forward\n    log_det += ld\n'
    (found,) = failures(text, tmp_path)
    assert (
        found.sentence
        == "forward failed to compile in Dynamo (running an operation on fake tensors): iadd failed: RuntimeError: two devices"
    )
    assert str(found.place) == "/srv/flow.py:67"


def test_the_line_of_the_last_reason_is_the_place_of_the_limit(tmp_path: Path) -> None:
    head = "W1126 16:03:16.529497 77 torch/_dynamo/convert_frame.py:844] [1/8]"
    text = f"{head} torch._dynamo hit config.recompile_limit (8)\n{head}    function: 'f' (/srv/a.py:4)\n"
    text += f"{head}    last reason: 1/7: s.k == 2      # s.k += 1  # srv/a.py:9 in f\n"
    (found,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL401")
    assert (str(found.place), found.code) == ("/srv/a.py:9", "s.k += 1")


def test_the_guard_that_failed_is_read_where_a_stance_forbids_to_recompile(tmp_path: Path) -> None:
    text = "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: 'a.py', function name: 'f', line number: 3\n"
    text += "Failed on the following precompiled guards: \n\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- LAMBDA_GUARD: L['n'] == 4\n"
    text += "GuardDebugInfo(\nresult=0,\nverbose_code_parts=[\"L['n'] == 4\"],\nnum_guards_executed=1)\n"
    (found,) = failures(text, tmp_path)
    assert "the int n was 4 and has changed" in found.sentence


@pytest.mark.parametrize("number", [2, 5])
def test_each_recompilation_that_a_stance_forbids_has_its_own_message(number: int, tmp_path: Path) -> None:
    message = "RuntimeError: Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: 'a.py', function name: 'f{}', "
    text = "".join(f"{message.format(at)}line number: 3\n" for at in range(number))
    (tmp_path / "log.txt").write_text(text)
    refused = [compile for frame in load(tmp_path / "log.txt").frames for compile in frame.compiles if compile.is_forbidden]
    assert [compile.metrics.fail_reason.count("Detected") for compile in refused] == [1] * number
    assert [compile.metrics.code_name for compile in refused] == [f"f{at}" for at in range(number)]
    assert all(f"'f{at}'" in compile.metrics.fail_reason for at, compile in enumerate(refused))


GUARD = "E1121 16:47:58.615000 2714600 torch/_guards.py:283] [0/0] "
NOT_MADE = "".join(
    f"{GUARD}{line}\n" for line in ("Error while creating guard:", "Name: ''", "    Source: shape_env", "    Create Function: SHAPE_ENV")
)
SYMBOLS = "I0123 20:39:08.557000 2714600 torch/fx/experimental/symbolic_shapes.py:5106] [0/0] "


def test_a_mark_that_a_title_has_as_contradicted_and_its_guards_are_one_failure(tmp_path: Path) -> None:
    (found,) = failures(f"# {CONDITION}\n\nThis is the log:\n{NOT_MADE}", tmp_path)
    assert (found.rule.code, found.compile) == ("SL203", "0/0")
    assert found.sentence.endswith("dim 0 of x is marked as dynamic, but the code fixes it to 8")


def test_guards_that_could_not_be_made_are_about_the_size_that_the_log_has_as_fixed(tmp_path: Path) -> None:
    text = (
        f"{SYMBOLS}create_symbol s0 = 4 for L['a'].size()[0] [2, 10] at srv/mark.py:6 in fn (_dynamo/variables/builder.py:2710 in f), for\n"
    )
    text += f"{SYMBOLS}set_replacement s0 = 4 (range_refined_to_singleton) VR[4, 4]\n"
    text += f"{SYMBOLS}eval Eq(s0, 4) [guard added] at srv/mark.py:6 in fn (_subclasses/fake_impls.py:785 in infer_size), for\n"
    (found,) = failures(text + NOT_MADE, tmp_path)
    assert found.sentence.endswith("dim 0 of a is marked as dynamic, but the code fixes it to 4")
    assert str(found.place) == "srv/mark.py:6"
    (cut,) = failures(text + NOT_MADE[: NOT_MADE.index("Create Function") - len(GUARD)], tmp_path)
    assert (cut.sentence, cut.place) == (found.sentence, found.place)
    (alone,) = failures(NOT_MADE, tmp_path)
    assert alone.rule.code == "SL403"
    assert "PyTorch could not make the guards on sizes" in alone.sentence


@pytest.mark.parametrize("filler", ["", "loss 0.25\n" * 2_000, "x" * 3_000 + "\n"])
@pytest.mark.parametrize(
    ("printed", "title"),
    [
        ("Error compiling model: AttributeError: 'NoneType' object has no attribute 'shape'", "AttributeError: 'NoneType' object"),
        ("NotImplementedError: CatVariable() is not\na constant", "NotImplementedError: CatVariable() is not"),
        ("Compilation failed: call_function cat in skip files", "Compilation failed: call_function cat"),
    ],
)
def test_what_a_program_prints_of_an_exception_above_the_users_stack_is_a_failure(
    printed: str, title: str, filler: str, tmp_path: Path
) -> None:
    below = '   File "/srv/run.py", line 4, in forward\n    return x.cat()\n'
    text = f"{filler}step 3\n{printed}\n\nfrom user code:\n{below}"
    (found,) = failures(text, tmp_path)
    assert f"forward failed to compile: {title}" in found.sentence
    assert str(found.place) == "/srv/run.py:4"


def test_words_above_a_stack_that_is_no_stack_are_no_failure() -> None:
    assert failure(["This error is", "", "from user code:", "", "look there"]) is None


MISSING = "torch._dynamo.exc.InternalTorchDynamoError: AttributeError: 'DynamicCache' object has no attribute 'key_cache'\n"
OWN_FRAME = '  File "/srv/run.py", line 8, in __len__\n    return len(self.key_cache)\n'
IN_TORCH = '  File "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", line 1931, in __getattr__\n    raise AttributeError(\n'


def test_the_stack_above_an_exception_is_its_own_where_the_heading_is_lost(tmp_path: Path) -> None:
    (found,) = failures(f"step 3\n    if truth_fn(mod):\n{OWN_FRAME}{IN_TORCH}{MISSING}", tmp_path)
    assert str(found.place) == "/srv/run.py:8"
    (other,) = failures(f"{OWN_FRAME}done\n{MISSING}", tmp_path)
    assert other.place is None


def test_a_stack_below_an_exception_has_its_place_if_it_comes_to_the_compiler(tmp_path: Path) -> None:
    report = f"- Exception Message: {MISSING}\n## Stack Trace\n```\n{OWN_FRAME}"
    (cut,) = failures(f"{report}```\n", tmp_path)
    assert cut.place is None
    (whole,) = failures(f"{report}{IN_TORCH}```\n", tmp_path)
    assert str(whole.place) == "/srv/run.py:8"


def test_the_line_that_a_value_of_the_data_was_needed_for_is_read_behind_other_words(tmp_path: Path) -> None:
    text = (
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(1, u6)\n\n"
        "consider using data-dependent friendly APIs such as guard_or_false and statically_known_true"
        "Caused by: (_meta_registrations.py:2449 in pick_memory_format)\n"
    )
    (found,) = failures(text, tmp_path)
    assert str(found.place) == "_meta_registrations.py:2449"


@pytest.mark.parametrize(
    ("below", "place"),
    [
        ("Caused by: y = f(x);  x = None  # <eval_with_key>.7:23 in forward (lib/observer.py:12 in forward)\n", ("lib/observer.py", 12)),
        ("Caused by: y = f(x)  # /srv/a.py:3 in forward (lib/observer.py:12 in forward)\n", ("/srv/a.py", 3)),
        (
            "Potential framework code culprit (scroll up for full backtrace):\n"
            '  File "/srv/test_max.py", line 4, in forward\n    return max(x.shape[0], y.shape[0])\n\nFor more information, run with\n',
            ("/srv/test_max.py", 4),
        ),
    ],
)
def test_the_line_that_a_value_of_the_data_was_needed_for_is_no_generated_one(below: str, place: tuple[str, int], tmp_path: Path) -> None:
    error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)"
    (found,) = failures(f"{error} (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\n{below}", tmp_path)
    assert found.place is not None
    assert (found.place.file, found.place.line) == place


def test_a_condition_that_symbolic_shapes_could_not_decide_is_a_failure_where_the_log_ends(tmp_path: Path) -> None:
    head = "E0213 09:47:01.172000 7 torch/fx/experimental/recording.py:299] "
    text = (
        f"{head}failed while running evaluate_expr(*(Ne(u0, 8), None), **{{'fx_node': False}})\n{head}Traceback (most recent call last):\n"
    )
    (found,) = failures(f'{text}{head}  File "/usr/lib/python3.10/runpy.py", line 196, in main\n', tmp_path)
    assert found.sentence.endswith(": Could not guard on data-dependent expression Ne(u0, 8)")


@pytest.mark.parametrize(
    "first", ["torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n", "torch._inductor.exc.InductorError: "]
)
def test_the_line_that_triton_cannot_compile_is_in_the_title(first: str, tmp_path: Path) -> None:
    kernel = "def triton_(in_ptr0, XBLOCK : tl.constexpr):\n    tmp0 = tl.load(in_ptr0 + (x0), None)\n    tmp1 = tmp0.to(tl.float32)\n"
    text = f"{first}CompilationError: at 8:11:\n{kernel}           ^\n\nSet TORCH_LOGS for more\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("Triton cannot compile `tmp1 = tmp0.to(tl.float32)`, line 8 of a kernel")
    assert "update PyTorch and Triton" in found.remedy


def test_a_text_that_names_an_object_among_others_of_its_class_is_one_of_each_instance(tmp_path: Path) -> None:
    hit = LIMIT.partition("    last reason")[0]
    for value, words in (("'blocks.6.attn.weight'", "each instance needs its own graph"), ("'reflect'", "move the value out")):
        report = report_of(f"{hit}    last reason: 1/7: self.key == {value}\n", tmp_path)
        (found,) = (item for item in report.findings if item.rule.code == "SL401")
        assert words in found.remedy


def test_the_class_of_an_exception_may_be_printed_as_python_writes_it(tmp_path: Path) -> None:
    text = (
        "## Exception summary\n\n<class 'torch._dynamo.exc.UserError'>: Constraints violated (batch)! For more information, run with "
        "TORCH_LOGS=\"+dynamic\".\n  - Not all values of batch = L['x'].size()[0] in the specified range satisfy the generated guard "
        "L['x'].size()[0] != 1.\n\nThe error above occurred when calling torch.export.export.\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("is declared with a range that includes 1, which always has a graph of its own: set min=2")
    assert found.remedy.startswith("declare this range")


def test_a_range_and_a_fixed_size_have_a_remedy_that_covers_both(tmp_path: Path) -> None:
    text = (
        'torch._dynamo.exc.UserError: Constraints violated (seq)! For more information, run with TORCH_LOGS="+dynamic".\n'
        "  - Not all values of seq = L['x'].size()[1] in the specified range satisfy the generated guard "
        "4 <= L['x'].size()[1] and L['x'].size()[1] <= 512\n"
        "  - You marked batch as dynamic but your code specialized it to be a constant (8). If you're using mark_dynamic, remove it.\n"
    )
    (found,) = failures(text, tmp_path)
    assert "the code fixes it to 8; dim 1 of x (seq)" in found.sentence
    assert found.remedy.startswith("declare each with the range or size that the code allows, or as Dim.AUTO")
    (alone,) = failures(text.partition("  - You marked")[0], tmp_path)
    assert alone.remedy.startswith("declare this range")


def test_a_violation_within_the_exception_of_another_program_is_of_an_export(tmp_path: Path) -> None:
    text = (
        "> RuntimeError: Internal error: failed to export submodule 'attention_1': Constraints violated (d_7)!\n"
        ">   - Not all values of d_7 = L['key'].size()[2] in the specified range satisfy the generated guard\n"
        ">     16 <= L['key'].size()[2] and L['key'].size()[2] <= IntInfinity()\n"
        "> Suggested fixes:\n>   d_7 = Dim('d_7', min=16)\n"
    )
    (found,) = failures(text, tmp_path)
    assert (
        found.sentence == "torch.export failed: dim 2 of key (d_7) is declared as dynamic, but the code only allows 16 or more: set min=16"
    )
    assert found.message.hints == ("Suggested fixes: d_7 = Dim('d_7', min=16)",)


@pytest.mark.parametrize("end", ["\n", "\n\n"])
def test_a_page_may_put_empty_lines_between_conditions(end: str, tmp_path: Path) -> None:
    text = "Constraints violated (n)!\nNot all values of n = L['x'].size()[0] in the specified range n <= 128 are valid "
    (found,) = failures(f"{text}because n was inferred to be a constant (3).\n".replace("\n", end), tmp_path)
    assert found.sentence == "torch.export failed: dim 0 of x (n) is declared as dynamic, but the code fixes it to 3"


def test_dims_that_have_to_be_equal_need_one_dim(tmp_path: Path) -> None:
    text = (
        'torch._dynamo.exc.UserError: Constraints violated (n)! For more information, run with TORCH_LOGS="+dynamic".\n'
        "  - The values of n = L['y'].size()[0] and m = L['x'].size()[1] must always be equal.\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("the code requires that dim 0 of y equals dim 1 of x")
    assert found.remedy.startswith("declare both as the same Dim")


def test_a_size_that_is_fixed_to_one_calls_for_a_larger_example(tmp_path: Path) -> None:
    text = (
        "  - Not all values of n = L['x'].size()[0] in the specified range n <= 9 are valid because n was inferred to be a constant (1).\n"
    )
    (found,) = failures(f"{text}\nSuggested fixes:\n  n = None  # 1\n", tmp_path)
    assert found.remedy.startswith("export with an example input whose size is 2 or more")


def test_the_name_of_a_logger_is_no_exception(tmp_path: Path) -> None:
    report = report_of(f"{LIMIT}> torch._dynamo.convert_frame: [WARNING] To log all\n> torch._dynamo.conv\n", tmp_path)
    assert [item.rule.code for item in report.findings if item.rule.code in (*FAILED, "SL401")] == ["SL401"]


def test_the_parts_of_a_message_are_read_that_a_program_indents_below_its_own_line(tmp_path: Path) -> None:
    lines = (
        "  Explanation: Dynamo can only handle functions defined in python",
        "  Hint: Move usage of this function out of `torch.compile` region",
        "",
        "from user code:",
        '   File "/srv/a.py", line 5, in f',
        "    g(x)",
    )
    below = "".join(f"{' ' * 20}{line}".rstrip() + "\n" for line in lines)
    (found,) = failures(f"10:03:49 ERROR step={{'width': 64}} can't handle functions not implemented in python\n{below}", tmp_path)
    assert found.message is not None
    assert found.message.title == "Dynamo can only handle functions defined in python"
    assert found.message.hints == ("Move usage of this function out of `torch.compile` region",)
    assert str(found.place) == "/srv/a.py:5"


def test_a_function_that_is_kept_from_compiling_on_purpose_is_not_to_be_kept_from_it_again(tmp_path: Path) -> None:
    (found,) = failures("torch._dynamo.exc.Unsupported: Skip calling `torch.compiler.disable()`d function\n", tmp_path)
    assert found.remedy == "compile without fullgraph=True, or remove torch.compiler.disable from the function that is called"


@pytest.mark.parametrize("blank", [" ", "\n"])
def test_the_same_in_a_sentence_that_somebody_wrapped(blank: str, tmp_path: Path) -> None:
    text = (
        f"It failed with `torch._dynamo.exc.Unsupported: Skip inlining{blank}torch.compiler.disable()'d function`: each block is whole.\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.message is not None
    assert found.message.title == "Skip inlining torch.compiler.disable()'d function"
    assert found.remedy == "compile without fullgraph=True, or remove torch.compiler.disable from the function that is called"


def test_a_link_alone_is_no_better_hint_than_what_is_known_of_the_error(tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.Unsupported: Operator does not support running with fake tensors\n  Explanation:\n"
        "  Hint: see https://docs.google.com/document/d/1GgvOe7C8 for how to fix\n\n"
        "  Developer debug context: unsupported operator: _C.rotary_embedding.default\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.remedy == "give the operator a fake implementation, with torch.library.register_fake"
    assert found.message is not None
    assert found.message.specific_hints == ()


def test_a_view_that_autograd_may_not_change_is_no_error_of_dynamo(tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: A view was created in\nno_grad mode and its base or another view of "
        "its base has been modified inplace\nwith grad mode enabled.\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.remedy.startswith("write into this view in the grad mode in which it was made")


def test_all_conditions_below_a_heading_that_is_cut_off_count(tmp_path: Path) -> None:
    line = "  - Not all values of {0} = L['x'].size()[{1}] in the specified range satisfy the generated guard L['x'].size()[{1}] <= {2}.\n"
    text = line.format("n", 0, 16) + line.format("m", 1, 32)
    found, _ = failures(f"{text}Suggested fixes:\n  n = Dim('n', max=16)\n\nLater:\n\n{line.format('k', 2, 64)}", tmp_path)
    assert ("dim 0 of x" in found.sentence, "dim 1 of x" in found.sentence, "dim 2" in found.sentence) == (True, True, False)


def test_a_printed_class_and_message_are_an_exception(tmp_path: Path) -> None:
    """As ``print(type(error), error)`` has them."""
    (found,) = failures("<class 'torch._dynamo.exc.Unsupported'> Observed exception\n  Explanation: no handler.\n", tmp_path)
    assert found.message is not None
    assert (found.message.title, found.message.explanation) == ("Observed exception", "no handler.")


def test_the_context_of_a_joined_message_ends_at_the_stack(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.Unsupported: Observed exception Developer debug context: raised exception ValueError('odd') from user code: "
    (found,) = failures(f'{text}File ".../model.p...\n', tmp_path)
    assert found.message is not None
    assert found.message.title == "Observed exception: ValueError: odd"


def test_an_exception_of_the_users_code_is_named_as_the_code_raises_it(tmp_path: Path) -> None:
    (found,) = failures("torch._dynamo.exc.ObservedAttributeError: 'Net' object has no attribute 'w'\n\nSo it fails.\n", tmp_path)
    assert found.sentence.endswith(": AttributeError: 'Net' object has no attribute 'w'")


def test_an_operation_on_fake_tensors_is_named_that_a_function_wraps(tmp_path: Path) -> None:
    call = "call_function <Wrapped method <original pow>>(*(FakeTensor(..., size=(1,)), 2), **{})"
    text = f"torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: {call}: got AttributeError('no pow')\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(": pow failed: AttributeError: no pow")


def test_a_line_of_inductor_is_not_one_of_dynamo(tmp_path: Path) -> None:
    text = "E1213 17:31:51.629000 37 torch/fx/experimental/recording.py:299] [0/0] "
    lines = (
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)",
        "",
        "Caused by: (_inductor/lowering.py:1014 in squeeze)",
    )
    (alert,) = collect_alerts(report_of("".join(f"{text}{line}\n" for line in lines), tmp_path), Repository()).alerts
    assert "Inductor stopped at _inductor/lowering.py:1014" in alert.notes


def test_the_parts_of_a_message_that_is_indented_as_a_whole_are_read(tmp_path: Path) -> None:
    lines = (
        "torch._dynamo.exc.Unsupported: can't handle functions not implemented in python",
        "  Explanation: Dynamo can only handle functions defined in python",
        "  Hint: Move usage of this function out of `torch.compile` region",
        "",
        "from user code:",
        '   File "/srv/a.py", line 5, in f',
    )
    text = "".join(f"E               {line}".rstrip() + "\n" for line in lines)
    (found,) = failures(f"test_causal\n>               raise e from e.__cause__\n--\n{text}", tmp_path)
    message = found.message
    assert message is not None
    assert message.explanation == "Dynamo can only handle functions defined in python"
    assert message.hints == ("Move usage of this function out of `torch.compile` region",)
    assert str(found.place) == "/srv/a.py:5"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("RuntimeError: Compiler: cl is not found.", "install the C++ compiler cl"),
        ("RuntimeError: Failed to find C compiler. Please specify via CC environment variable.", "install a C compiler"),
        (TRITON, "install Triton for this version"),
        (
            "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler' (/lib/triton/compiler.py)",
            "install the version of",
        ),
        ("ImportError: cannot import name 'Language' from 'triton.backends.compiler'", "install the version of Triton that belongs"),
        ("ModuleNotFoundError: No module named 'triton.ops'", "install the version of Triton that belongs"),
        ("AttributeError: module 'triton.language' has no attribute 'ml'", "install the version of Triton that belongs"),
        ("ImportError: cannot import name 'run' from 'backend'", "this is an error in the compiler"),
        (TOO_OLD, 'compile this code with backend="aot_eager", leave it uncompiled'),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/tmp/torchinductor_me/triton/0/a.llir.tmp'", "keep the cache directory"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'aarch64-linux-gnu-gcc-12'", "install the compiler aarch64-"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'settings'", "this is an error in the compiler"),
        ("AssertionError: libcuda.so cannot found!", "let the linker find libcuda.so"),
        ("OSError: [Errno 28] No space left on device", "this is an error of the disk"),
        ("OSError: [Errno 5] Input/output error", "this is an error of the disk"),
        ("RuntimeError: PassManager::run failed", "change the version of Triton"),
        ("CantSplit: 4*s77 // 2", "this is an error in the compiler, with a size that is symbolic"),
    ],
)
def test_what_inductor_cannot_find_is_to_be_installed(error: str, remedy: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._inductor.exc.InductorError: {error}\n\nSet TORCH_LOGS for more\n", tmp_path)
    assert found.remedy.startswith(remedy)
    assert " failed to compile in Inductor: " in found.sentence


@pytest.mark.parametrize("between", ["", "\u2026\n", "\nCommand:\ng++ main.cpp -o main.so\n\nOutput:\n"])
def test_the_error_of_the_cpp_compiler_is_shown_where_its_heading_is_left_out(between: str, tmp_path: Path) -> None:
    error = "/tmp/me/c2x.cpp: In function 'void kernel()':\n/tmp/me/c2x.cpp:14:53: error: no matching function for call to 'f(int)'\n"
    heading = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCppCompileError: C++ compile error\n"
    (found,) = failures(f"{heading}{between}{error}", tmp_path)
    assert found.sentence.endswith("CppCompileError: C++ compile error: no matching function for call to 'f(int)'")


@pytest.mark.parametrize(
    "text",
    [
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n",
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:\ng++ /tmp/main.cpp -O3 -D CPU\n",
        "    # E   torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n    # E   CppCompileError: C++ compile error\n",
    ],
)
def test_the_output_of_the_cpp_compiler_is_asked_for_where_a_text_leaves_it_out(text: str, tmp_path: Path) -> None:
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(": CppCompileError: C++ compile error")
    assert found.remedy.startswith("add the log lines that follow, with what the C++ compiler printed")


@pytest.mark.parametrize("sentence", ['It fails: "line 139, in check\n', 'I get " File "F:\\a.py", line 1, in check\n'])
def test_the_end_of_a_quotation_of_several_lines_is_no_part_of_the_message(sentence: str, tmp_path: Path) -> None:
    (found,) = failures(f'{sentence}torch._inductor.exc.InductorError: RuntimeError: Compiler: cl is not found."\n', tmp_path)
    assert found.sentence.endswith("RuntimeError: Compiler: cl is not found.")
    (own,) = failures('torch._inductor.exc.InductorError: KeyError: "a"\n', tmp_path)
    assert own.sentence.endswith('KeyError: "a"')


@pytest.mark.parametrize(
    "note",
    [
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch).",
        'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information',
    ],
)
@pytest.mark.parametrize("front", ["", "(VllmWorker TP0 pid=15) ERROR 08-27 05:54:20 [multiproc_executor.py:602] "])
def test_a_stack_above_what_pytorch_advises_is_that_of_a_failure(note: str, front: str, tmp_path: Path) -> None:
    outer = '  File "/srv/rope.py", line 84, in wrapper\n    update(self)\n'
    stack = f'{outer}  File "/srv/rope.py", line 69, in update\n    if n > 3:\n\n{note}\n'
    (found,) = failures("".join(f"{front}{line}\n" for line in stack.splitlines()), tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")
    assert str(found.place) == "/srv/rope.py:69"
    in_library = stack.replace("/srv/", "/venv/lib/python3.12/site-packages/transformers/")
    report = report_of(f"{front}{in_library}", tmp_path)
    found_alerts = collect_alerts(report, Repository())
    (alert,) = found_alerts.alerts
    assert alert.notes == ("Dynamo stopped at transformers/rope.py:69: if n > 3:",)
    (step,) = next_steps(found_alerts)
    assert step.title == "Find and fix the error: its exception is missing from the log"
    with pytest.raises(ShapelogError):
        report_of(f"{front}{note}\n", tmp_path)


@pytest.mark.parametrize("margin", ["   ", "       "])
def test_the_stack_behind_the_sign_of_pytest_is_read(margin: str, tmp_path: Path) -> None:
    lines = (
        "torch._dynamo.exc.InternalTorchDynamoError: RecursionError: maximum recursion depth exceeded",
        "",
        "from user code:",
        '   File "/srv/utils.py", line 520, in f',
        "    tensor = g()",
        '  File "/srv/utils.py", line 545, in g',
        "    return make()",
    )
    text = "".join(f"E{margin}{line}".rstrip() + "\n" for line in lines)
    (found,) = failures(f"## Failure\n```\n{text}```\n", tmp_path)
    assert str(found.place) == "/srv/utils.py:545"


def test_an_exception_without_a_stack_that_caused_another_begins_the_chain(tmp_path: Path) -> None:
    text = (
        "Output:\ntorch._dynamo.exc.Unsupported: Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break.\n\n\n"
        f"The above exception was the direct cause of the following exception:\n\n{STACK}"
        "torch._dynamo.exc.Unsupported: Graph break under GenericContextWrappingVariable\n"
    )
    (found,) = failures(text, tmp_path)
    assert [(item.type, item.message) for item in found.exceptions] == [
        ("Unsupported", "Call to `torch._dynamo.graph_break()`"),
        ("Unsupported", "Graph break under GenericContextWrappingVariable"),
    ]


def test_another_error_of_code_without_a_name_is_another_failure(tmp_path: Path) -> None:
    first = "torch._dynamo.exc.Unsupported: hasattr TensorVariable k"
    other = "torch._dynamo.exc.InternalTorchDynamoError: 'SymNodeVariable' object has no attribute 'value'"
    found = collect_alerts(report_of(f"FAILED a.py::a - {first}\nFAILED a.py::b - {other}\n", tmp_path), Repository()).alerts
    assert [alert.messages[0].title for alert in found] == [
        "hasattr TensorVariable k",
        "'SymNodeVariable' object has no attribute 'value'",
    ]
    assert found[0].helps != found[1].helps


def test_errors_that_differ_in_numbers_are_one_failure(tmp_path: Path) -> None:
    texts = [f"FAILED a.py::a - torch._dynamo.exc.Unsupported: call_method {number}\n" for number in (10, 20)]
    assert len(collect_alerts(report_of("".join(texts), tmp_path), Repository()).alerts) == 1


def test_a_line_of_a_library_that_is_the_place_is_not_named_once_more(tmp_path: Path) -> None:
    line = 'File "/lib/python3.12/dist-packages/torch/nn/attention/flex_attention.py", line 1645, in _wrapper'
    text = f"torch._dynamo.exc.Unsupported: call of a builtin\n\nfrom user code:\n   {line}\n"
    (alert,) = collect_alerts(report_of(text, tmp_path), Repository()).alerts
    assert (alert.source_line and alert.source_line.line, alert.notes) == (1645, ())


def test_what_is_asked_of_a_value_of_the_data_has_no_notes_behind_an_operation(tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.TorchRuntimeError: Failed running call_module observer(*(FakeTensor(..., size=(512,)),), **{}):\n"
        "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("observer failed: Could not guard on data-dependent expression Eq(u0, 1)")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("torch._dynamo.exc.Unsupported:\ncall_method split from user code", "call_method split from user code"),
        ("    torch._inductor.exc.InductorError: AssertionError:\n        node is gone\n", "AssertionError: node is gone"),
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='mine' raised:\nRuntimeError: set up failed:\nno device\n",
            "backend='mine' raised: RuntimeError: set up failed: no device",
        ),
    ],
)
def test_a_message_may_begin_or_go_on_below_a_line_that_ends_with_a_colon(text: str, title: str, tmp_path: Path) -> None:
    (found,) = failures(f"It fails:\n\n```\n{text}\n```\nThanks\n", tmp_path)
    assert found.message is not None
    assert found.message.title == title


@pytest.mark.parametrize(
    "text",
    [
        "---------\nInductorError                             Traceback (most recent call last)\nCell In[6], line 1\n----> 1 model(x)\n",
        "FAILED [0.07s] test_x.py::T::test_y - torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n",
    ],
)
def test_an_exception_that_only_its_heading_names_is_missing(text: str, tmp_path: Path) -> None:
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")
    assert found.own_remedy.startswith("add the log lines up to the exception")


@pytest.mark.parametrize("line", ["STEP next: ok", "done", "loss 0.5", "epoch 3 of 10: 12 s"])
def test_a_line_of_the_program_below_a_cut_exception_is_not_the_error_of_the_backend(line: str, tmp_path: Path) -> None:
    (found,) = failures(f"STEP one: BackendCompilerFailed: backend='bad' raised:\n{line}\n", tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")


@pytest.mark.parametrize("error", ["OutOfResources: shared memory", "AssertionError:", "E   my.own.Error: no kernel"])
def test_the_error_of_a_backend_is_the_line_below_that_names_it(error: str, tmp_path: Path) -> None:
    (found,) = failures(f"STEP one: BackendCompilerFailed: backend='bad' raised:\n{error}\n", tmp_path)
    assert error.removeprefix("E   ").rstrip(":") in found.sentence


def test_words_of_an_exception_in_a_cell_of_a_table_end_with_their_quotation(tmp_path: Path) -> None:
    (found,) = failures("| `unbacked` | `Could not guard on data-dependent expression Ne(128*u0, 0)` (a layer) |\n", tmp_path)
    assert found.sentence.endswith("failed to compile: Could not guard on data-dependent expression Ne(128*u0, 0)")


def test_functions_that_were_not_converted_in_the_same_second_are_two_failures(tmp_path: Path) -> None:
    head = "[2023-12-04 03:58:40,{}] torch._dynamo.convert_frame: [WARNING] "
    first = ("WON'T CONVERT <resume in near> /srv/net.py line 120 ", "due to: ", "Traceback (most recent call last):", '  File "/srv/x.py"')
    error = ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", "FileNotFoundError: 'ldconfig'", "")
    second = ("WON'T CONVERT <listcomp> /srv/net.py line 126 ", "due to: ")
    lines = [f"{head.format(327)}{line}\n" for line in (*first, *error)] + [f"{head.format(492)}{line}\n" for line in second]
    one, other = failures("".join(lines), tmp_path)
    assert (one.sentence, str(one.place)) == (
        "<resume in near> failed to compile in the backend inductor: FileNotFoundError: 'ldconfig'",
        "/srv/net.py:120",
    )
    assert (other.sentence, str(other.place)) == ("<listcomp> failed to compile: the exception is missing from the log", "/srv/net.py:126")


ON_ONE_LINE = "Failed running call_function <built-in function mul>(*(FakeTensor(..., size=(1, s3)), 2), **{}):"


def test_an_operation_and_its_error_may_be_on_one_line(tmp_path: Path) -> None:
    """As where a page joined them; that a size is followed by a bracket and a colon ends nothing."""
    text = (
        f'torch._dynamo.exc.TorchRuntimeError: {ON_ONE_LINE} got (4): no\n\nfrom user code:\n   File "/srv/a.py", line 4, in f\n    x * 2\n'
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("mul failed: got (4): no")


def test_the_stack_of_an_operation_is_that_of_the_user(tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function <built-in function mul>"
        "(*(FakeTensor(..., size=(3,)), FakeTensor(..., size=(4,))), **{}): got RuntimeError('sizes differ')\n\n"
        'FX node stack trace:\n  File "/srv/main.py", line 9, in g\n    f(x)\n  File "/srv/net.py", line 13, in f\n    x * y\n'
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("mul failed: RuntimeError: sizes differ")
    assert str(found.place) == "/srv/net.py:13"


CPP = """torch._inductor.exc.InductorError: CppCompileError: C++ compile error

Command:
g++ /tmp/a.cpp -shared -fPIC -o /tmp/a.so

Output:
{output}

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
"""


@pytest.mark.parametrize(
    ("output", "error", "remedy"),
    [
        ("/tmp/a.cpp: In function 'void kernel()':\n/tmp/a.cpp:57:46: error: 'tmp12' was not declared", "'tmp12' was not declared", None),
        (
            "Microsoft (R) C/C++\nC:/t/a.h(3): fatal error C1083: Cannot open include file: 'omp.h': No such file or directory",
            "fatal error C1083: Cannot open include file: 'omp.h': No such file or directory",
            "install what the header omp.h belongs to",
        ),
        (
            "/tmp/a.cpp:1:10: fatal error: Python.h: No such file or directory",
            "fatal error: Python.h: No such file or directory",
            "install what the header Python.h belongs to",
        ),
        (
            "/tmp/a.cpp:2:10: fatal error: 'omp.h' file not found\n1 error generated.",
            "fatal error: 'omp.h' file not found",
            "install what the header omp.h belongs to",
        ),
        ("/usr/bin/ld: cannot find -lgomp\ncollect2: error: ld returned 1 exit status", "ld: cannot find -lgomp", "install the library"),
    ],
)
def test_what_the_compiler_of_cpp_printed_is_the_error(output: str, error: str, remedy: str | None, tmp_path: Path) -> None:
    (finding,) = failures(CPP.format(output=output), tmp_path)
    assert finding.message is not None
    assert finding.message.title == f"CppCompileError: C++ compile error: {error}"
    assert finding.own_remedy.startswith(remedy or "this is an error in the compiler")


def test_an_operator_that_cannot_be_lowered_failed_in_inductor(tmp_path: Path) -> None:
    (finding,) = failures("torch._inductor.exc.LoweringException: AssertionError: \n  target: aten.embedding.default\n", tmp_path)
    assert finding.sentence.endswith("failed to compile in Inductor: AssertionError (while lowering aten.embedding.default)")


@pytest.mark.parametrize("between", ["", "\n  "])
def test_an_entry_that_does_not_accept_its_own_call_has_the_guard(between: str, tmp_path: Path) -> None:
    words = "Guard failed on the same frame it was created. This is a bug - please create an issue."
    (finding,) = failures(f"  AssertionError: {words}{between}Guard fail reason: 0/0: modes(0).count == 5\n", tmp_path)
    assert finding.message is not None
    assert finding.message.explanation == "Guard fail reason: 0/0: modes(0).count == 5"


@pytest.mark.parametrize(
    "front", ["AssertionError: ", "[rank0]: AssertionError: ", f"{STACK}AssertionError: ", "2025-10-08 01:02:03,004 ERROR "]
)
@pytest.mark.parametrize("between", [" ", "\n"])
def test_so_it_has_as_old_versions_write_it(front: str, between: str, tmp_path: Path) -> None:
    (finding,) = failures(f"{front}Guard check failed: 0/0:{between}len(modes(0).operators) == 29\n", tmp_path)
    assert finding.message is not None
    assert (finding.message.title, finding.message.is_bug) == ("Guard check failed", True)
    assert finding.message.explanation == "Guard fail reason: 0/0: len(modes(0).operators) == 29"


def test_the_guard_may_be_without_the_entry(tmp_path: Path) -> None:
    (finding,) = failures("E   AssertionError: Guard check failed: L['args'][1].size()[0] == 3\n", tmp_path)
    assert finding.message is not None
    assert finding.message.explanation == "Guard fail reason: L['args'][1].size()[0] == 3"


@pytest.mark.parametrize("quoted", ["", "f failed: "])
def test_the_compile_failed_that_the_message_names(quoted: str, tmp_path: Path) -> None:
    head = "V1128 01:11:47.100000 22353 torch/_dynamo/guards.py:5396] [{0}/1] [__recompiles] "
    lines = ("Recompiling function {1} in /srv/train.py:5", "    triggered by the following guard failure(s):", "    - {0}/0: L['k'] == 4")
    logged = "".join(f"{head}{line}\n".format(frame, name) for frame, name in enumerate("fg") for line in lines)
    words = "Guard failed on the same frame it was created. This is a bug - please create an issue."
    trace = report_of(f"{logged}{quoted}AssertionError: {words}Guard fail reason: 0/1: L['k'] == 5\n", tmp_path).trace
    outcomes = {frame.name: [compile.outcome.value for compile in frame.compiles] for frame in trace.frames}
    assert outcomes == {"f": ["compiled", "failed"], "g": ["compiled", "compiled"]}


def test_failures_of_functions_without_names_are_no_recompilations(tmp_path: Path) -> None:
    error = (
        "  File \"/srv/be.py\", line 4, in mine\n    raise RuntimeError\ntorch._dynamo.exc.BackendCompilerFailed: backend='mine' raised:\n"
    )
    text = "".join(f"Traceback (most recent call last):\n{error}RuntimeError: exploded {at}\n\nstep {at}\n" for at in range(2))
    report = report_of(text, tmp_path)
    assert [[compile.outcome.value for compile in frame.compiles] for frame in report.trace.frames] == [["failed"], ["failed"]]
    assert not report.recompiles


def test_what_is_quoted_above_a_compile_is_not_its_failure(tmp_path: Path) -> None:
    head = "V1128 01:11:47.100000 22353 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    logged = f"{head}Recompiling function f in /srv/train.py:5\n{head}    - 0/0: L['k'] == 4\n"
    report = report_of(f"STEP 1: InternalTorchDynamoError: ValueError: no such guard\n{logged}", tmp_path)
    outcomes = [[compile.outcome.value for compile in frame.compiles] for frame in report.trace.frames]
    assert sorted(outcomes) == [["compiled", "compiled"], ["failed"]]


def test_notes_between_the_stacks_of_one_error_make_no_second_failure(tmp_path: Path) -> None:
    user = '  File "/srv/eagle.py", line 41, in f\n    x[i] = c\n'
    text = (
        "torch._dynamo.exc.UserError: Could not guard on data-dependent expression Eq(u7 - 1, 1) (unhinted: Eq(u7 - 1, 1)).\n\n"
        f"User Stack (most recent call last):\n  (snipped, see stack below for prefix)\n{user}\n"
        "For C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\nFor more information about this error, see: "
        f"https://pytorch.org/docs/main/generated/exportdb/index.html\n\nfrom user code:\n {user}"
    )
    (finding,) = failures(text, tmp_path)
    assert finding.sentence.endswith("Could not guard on data-dependent expression Eq(u7 - 1, 1)")


@pytest.mark.parametrize("limit", ["cache_size_limit", "accumulated_cache_size_limit"])
def test_an_old_error_about_the_limit_is_that_of_the_warning(limit: str, tmp_path: Path) -> None:
    report = report_of(f"{LIMIT}{STACK}torch._dynamo.exc.Unsupported: {limit} reached\n", tmp_path)
    assert [(item.rule.code, "the call raised an error" in item.sentence) for item in report.findings] == [("SL401", True)]


@pytest.mark.parametrize(
    ("stack", "place"),
    [
        ("Cell In[1], line 10\n      8 y = 1\n---> 10 f(x)\n", "Cell In[1]:10"),
        ("Cell In [1], line 10\n---> 10 f(x)\n", "Cell In [1]:10"),
        ("Input In [3], in <cell line: 5>()\n      4 y = 1\n----> 5 f(x)\n", "Input In [3]:5"),
        ("<ipython-input-3-1f22> in <module>\n----> 5 f(x)\n\n2 frames\n", "<ipython-input-3-1f22>:5"),
        ("Cell In[1], line 10\n---> 10 f(x)\n\nCell In[2], line 3, in f(x)\n      2 #\n----> 3 return g(x)\n", "Cell In[2]:3"),
        ("Cell In[1], line 10\n---> 10 f(x)\n\nFile ~/srv/net.py:12, in f(x)\n     11 #\n---> 12 return g(x)\n", "~/srv/net.py:12"),
        ("~/srv/net.py in f(x)\n     11 #\n---> 12 return g(x)\n", "~/srv/net.py:12"),
    ],
)
@pytest.mark.parametrize(
    "library",
    [
        "File ~/lib/python3.10/site-packages/torch/_dynamo/eval_frame.py:663, in g(*args)\n    661 try:\n--> 663     raise e\n",
        "/usr/lib/python3.8/dist-packages/torch/_dynamo/eval_frame.py in g(a)\n--> 663     raise e\n",
    ],
)
def test_the_place_of_a_failure_in_a_notebook_is_the_innermost_line_of_the_program(
    stack: str, place: str, library: str, tmp_path: Path
) -> None:
    heading = "---------------------------\nInductorError                     Traceback (most recent call last)\n"
    (finding,) = failures(f"{heading}{stack}\n{library}\nInductorError: CppCompileError: no compiler\n", tmp_path)
    assert finding.sentence.endswith("CppCompileError: no compiler")
    assert str(finding.place) == place


_CONTRADICTED = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])!"


@pytest.mark.parametrize(
    "condition",
    [
        "You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (5).",
        "Not all values of RelaxedUnspecConstraint(L['x'].size()[0]) are valid because L['x'].size()[0] was inferred to be a constant (5).",
    ],
)
def test_what_shows_the_line_that_contradicts_a_mark_is_named_where_the_text_does_not_have_it(condition: str, tmp_path: Path) -> None:
    (finding,) = failures(f"{STACK}{_CONTRADICTED}\n  - {condition}\n", tmp_path)
    assert finding.remedy.endswith('the line that requires a fixed size, which TORCH_LOGS="+dynamic" shows')
    user = '\n\nUser stack:\n  File "/srv/a.py", line 4, in f\n    return x.view(5)\n'
    (finding,) = failures(f"{STACK}{_CONTRADICTED}\n  - {condition}{user}", tmp_path)
    assert str(finding.place) == "/srv/a.py:4"
    assert finding.remedy.endswith("the line that requires a fixed size")


@pytest.mark.parametrize("mark", ["", "`"])
def test_each_cell_of_a_table_has_a_failure_of_its_own(mark: str, tmp_path: Path) -> None:
    errors = ("BackendCompilerFailed: backend='mine' raised: ValueError: a", "InternalTorchDynamoError: KeyError: 'b'")
    cells = " | ".join(f"{mark}torch._dynamo.exc.{error}{mark}" for error in errors)
    found = failures(f"| model | CPU | GPU |\n|---|---|---|\n| resnet | {cells} |\n", tmp_path)
    assert [item.message.title for item in found if item.message] == ["backend='mine' raised: ValueError: a", "KeyError: 'b'"]
    (alone,) = failures(f"| model | CPU | |\n|---|---|---|\n| resnet | {mark}torch._dynamo.exc.{errors[1]}{mark} | again |\n", tmp_path)
    assert alone.sentence.endswith("KeyError: 'b'")


@pytest.mark.parametrize("heading", ["", "Hello,\n\n", STACK])
@pytest.mark.parametrize("error", [TRITON, TOO_OLD, TRITON.replace("RuntimeError", "torch._inductor.exc.TritonMissing")])
def test_that_triton_is_missing_is_known_by_its_words(heading: str, error: str, tmp_path: Path) -> None:
    (found,) = failures(f"{heading}{error}\n\nSet TORCH_LOGS for more\n", tmp_path)
    assert found.sentence.endswith(f"failed to compile: {error.partition(': ')[2]}")
    assert str(found.place) == ("/srv/train.py:50" if heading == STACK else "None")


@pytest.mark.parametrize("between", ["\n", " ", " [rank0]: "])
def test_a_rank_in_a_joined_message_is_no_part_of_it(between: str, tmp_path: Path) -> None:
    (found,) = failures(f"[rank0]: torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:{between}{TRITON}\n", tmp_path)
    assert found.sentence.endswith(f"in the backend inductor: {TRITON}")


OVERWRITTEN = (
    "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
    'Stack trace: File "/srv/a.py", line 9, in f\n    y = rotate(x)\n  File "/srv/a.py", line 7, in rotate\n    self.cos = x.cos(). '
    "To prevent overwriting, clone the tensor outside of torch.compile() or call torch.compiler.cudagraph_mark_step_begin()\n"
)


@pytest.mark.parametrize("error", ["torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: ", "torch._inductor.exc.InductorError: "])
def test_a_compile_that_reads_what_a_cuda_graph_has_overwritten_names_its_line(error: str, tmp_path: Path) -> None:
    (found,) = failures(f"{error}{OVERWRITTEN}", tmp_path)
    assert found.sentence.endswith("accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run.")
    assert (str(found.place), found.remedy[:15], found.notes) == ("/srv/a.py:7", "clone() outputs", ())
    read = 'from user code:\n   File "/srv/a.py", line 4, in rotate\n    if self.cos.device != x.device:\n'
    (found,) = failures(f"{error}{OVERWRITTEN}\n{read}", tmp_path)
    assert str(found.place) == "/srv/a.py:4"
    assert found.notes[:1] == ("the output was made at a.py:7  self.cos = x.cos()",)


@pytest.mark.parametrize("below", ["", "\n```\nAny help is welcome."])
def test_a_logged_traceback_that_is_cut_is_a_failure(below: str, tmp_path: Path) -> None:
    head = "W1024 01:17:10.936000 140 torch/_dynamo/convert_frame.py:1009] "
    text = f'{head}Traceback (most recent call last):\n{head}  File "/lib/torch/_dynamo/convert_frame.py", line 948, in __call__\n'
    (found,) = failures(f"Hello\n```\n{text}{head}    result = self._inner_conv{below}", tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")


def test_a_logged_traceback_of_something_else_is_no_failure(tmp_path: Path) -> None:
    head = "W1024 01:17:10.936000 140 torch/distributed/elastic/agent.py:9] "
    text = f'{head}Traceback (most recent call last):\n{head}  File "/lib/torch/distributed/elastic/agent.py", line 4, in run\n'
    limit = LIMIT.replace("W1126", "W1025")
    assert not failures(f"{text}{head}    result = self._run(\n{limit}", tmp_path)


def test_an_exception_whose_quotes_a_page_escaped_is_a_failure(tmp_path: Path) -> None:
    (found,) = failures(f"Hello,\n\nbackend=&#39;inductor&#39; raised:\n{TRITON}\n", tmp_path)
    assert found.sentence.endswith(f"in the backend inductor: {TRITON}")


@pytest.mark.parametrize("sign", ["", "# ", "//  "])
@pytest.mark.parametrize("wrap", [" are valid", " valid because", " was inferred"])
def test_a_condition_that_a_person_wrapped_has_its_value(wrap: str, sign: str, tmp_path: Path) -> None:
    condition = CONDITION.replace(wrap, f"\n      {wrap.strip()}", 1)
    heading = "Constraints violated (L['x'].size()[0])!\n    For more information, run with TORCH_LOGS=\"+dynamic\"."
    text = f"The error shows:\n\n{heading}\n- {condition}"
    (found,) = failures("".join(f"{sign}{line}\n" for line in f"{text}\n\nWhere is it?".split("\n")), tmp_path)
    assert found.sentence.endswith("dim 0 of x is marked as dynamic, but the code fixes it to 8")


@pytest.mark.parametrize("mark", ["`", '"'])
def test_a_violated_constraint_in_a_cell_is_a_failure_of_its_own(mark: str, tmp_path: Path) -> None:
    rows = (
        "| mode | failure |\n|---|---|\n"
        f"| backed | {mark}ConstraintViolationError: Constraints violated (L['start'].size()[0]){mark} in `available_memory` |\n"
        f"| unbacked | {mark}Could not guard on data-dependent expression Ne(128*u0, 0){mark} (the layer) |\n"
    )
    first, second = failures(rows, tmp_path)
    assert first.sentence.endswith("dim 0 of start cannot be dynamic in the way it is marked or declared")
    assert second.sentence.endswith("Could not guard on data-dependent expression Ne(128*u0, 0)")


_NOTEBOOK = (
    "---------------------------------------\n{}          Traceback (most recent call last)\n"
    "[<ipython-input-9-61da>](https://localhost:8080/#) in <cell line: 5>()\n      3 \n----> 5 model(x)\n\n21 frames\n"
    "[/usr/lib/python3.10/dist-packages/torch/_dynamo/eval_frame.py](https://localhost:8080/#) in _call(self)\n"
    "-> 1518     return self._call_impl(*args)\n   15"
)


@pytest.mark.parametrize(
    ("kind", "quoted"),
    [
        ("InternalTorchDynamoError", '# "InternalTorchDynamoError: no source" when using `torch.compile`'),
        ("Unsupported", "It ends with `torch._dynamo.exc.Unsupported: no source`."),
        (
            "InternalTorchDynamoError",
            '```\n  File "/usr/lib/python3.10/dist-packages/sam.py", line 9, in f\n    g()\nInternalTorchDynamoError: no source\n```',
        ),
    ],
)
@pytest.mark.parametrize("is_above", [True, False])
def test_a_quoted_exception_is_that_of_the_notebook_that_lost_its_message(kind: str, quoted: str, is_above: bool, tmp_path: Path) -> None:
    parts = (quoted, f"```\n{_NOTEBOOK.format(kind)}\n```")
    (found,) = failures("\n\n".join(parts if is_above else parts[::-1]) + "\n", tmp_path)
    assert found.sentence.endswith(": no source")
    assert str(found.place) == "<ipython-input-9-61da>:5"


def test_one_quoted_exception_is_not_that_of_two_that_are_lost(tmp_path: Path) -> None:
    lost = "\n\n".join(f"```\n{_NOTEBOOK.format('Unsupported').replace('-9-', f'-{number}-')}\n```" for number in (3, 4))
    assert (
        len({str(item.place) for item in failures(f"{lost}\n\nThey end with `torch._dynamo.exc.Unsupported: no source`.\n", tmp_path)}) == 3
    )


@pytest.mark.parametrize("title", ["# `torch._dynamo.exc.Unsupported: no source`", "torch._dynamo.exc.Unsupported: no source"])
def test_the_users_stack_alone_is_that_of_the_exception_in_the_title(title: str, tmp_path: Path) -> None:
    stack = 'from user code:\n   File "/srv/gen.py", line 84, in next_token\n    logits = model(x)\n'
    stack += '  File "/srv/net.py", line 107, in forward\n'
    (found,) = failures(f"{title}\n\nI compile it.\n\n```bash\n{stack}```\n", tmp_path)
    assert found.sentence == "next_token failed to compile in Dynamo (tracing the code): no source"
    assert str(found.place) == "/srv/net.py:107"


def test_the_users_stack_alone_is_a_failure(tmp_path: Path) -> None:
    (found,) = failures('```\nfrom user code:\n   File "/srv/gen.py", line 84, in next_token\n    logits = model(x)\n```\n', tmp_path)
    assert found.sentence == "next_token failed to compile: the exception is missing from the log"


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("n <= 512 satisfy the generated guard {} != 512", "which the code treats apart: set max=511"),
        ("n <= 512 satisfy the generated guard Ne(512, {})", "which the code treats apart: set max=511"),
        ("8 <= n and n <= 512 satisfy the generated guard {} != 8", "which the code treats apart: set min=9"),
        ("n <= 512 satisfy the generated guard {} != 100", "which the code treats apart: no one range has all sizes but this one"),
        ("satisfy the generated guard {} != 1", "which always has a graph of its own: set min=2"),
    ],
)
def test_a_size_that_the_code_treats_apart_is_left_out_of_the_range(condition: str, remedy: str, tmp_path: Path) -> None:
    name = "L['args'][1]['ids'].size()[1]"
    text = 'torch._dynamo.exc.UserError: Constraints violated (n)! For more information, run with TORCH_LOGS="+dynamic".\n'
    text += f"  - Not all values of n = {name} in the specified range {condition.format(name)}.\n\nAnd it doesn'"
    (found,) = failures(text, tmp_path)
    size = "".join(filter(str.isdigit, condition.partition("guard")[2]))
    assert found.sentence.endswith(f"dim 1 of args[1]['ids'] (n) is declared with a range that includes {size}, {remedy}")
    assert found.remedy.startswith("declare this range")


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("'NoneType' object has no attribute 'shape'", "'NoneType' object has no attribute 'shape'"),
        ("'inline in skipfiles: A.b | c'", "inline in skipfiles: A.b | c"),
        ("\"skip function f in file '/srv/a.py'\"", "skip function f in file '/srv/a.py'"),
        ("'skip function f in file '/srv/a.py''", "skip function f in file '/srv/a.py'"),
    ],
)
def test_quotes_of_the_first_and_the_last_word_are_not_those_of_the_message(message: str, title: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._dynamo.exc.InternalTorchDynamoError: {message}\n", tmp_path)
    assert found.message is not None
    assert found.message.title == title


@pytest.mark.parametrize("module", ["torch/_export/__init__.py", "torch/export/_trace.py", "torch/_dynamo/eval_frame.py"])
def test_an_error_of_an_export_may_have_lost_its_message(module: str, tmp_path: Path) -> None:
    frame = f"[/usr/lib/python3.10/dist-packages/{module}](https://localhost:8080/#) in export(f, args, kwargs"
    (found,) = failures(f"UserError                      Traceback (most recent call last)\n{frame}\n", tmp_path)
    assert found.sentence.endswith(": the exception is missing from the log")


def test_an_error_of_a_program_is_none(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of(
            "UserError                      Traceback (most recent call last)\n/usr/lib/python3.10/site-packages/cli/_export.py in f(x)\n",
            tmp_path,
        )


def test_what_a_message_asks_to_use_behind_a_comma_is_the_help(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.UserError: This operator is not supported at the moment, Please use cond to explicitly capture it\n"
    (found,) = failures(text, tmp_path)
    assert found.message is not None
    assert found.message.hints == ("Please use cond to explicitly capture it",)


@pytest.mark.parametrize(("failing", "compiles"), [("step", 3), ("forward", 2)])
def test_an_exception_is_not_that_of_another_function_that_was_compiled_before(failing: str, compiles: int, tmp_path: Path) -> None:
    head = "V1103 02:48:08.805986 34281 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]"
    resumed = "torch_dynamo_resume_in_forward_at_9"
    text = f"{head} Recompiling function {resumed} in /srv/net.py:9\n{head}     - 0/0: tensor 'x' rank mismatch. expected 2, actual 3\n"
    error = f'Unsupported: Data-dependent branching\n\nfrom user code:\n   File "/srv/net.py", line 12, in {failing}\n    if x:\n'
    report = report_of(f"{text}\nTraceback (most recent call last):\ntorch._dynamo.exc.{error}", tmp_path)
    assert sum(len(frame.compiles) for frame in report.trace.frames) == compiles


def test_a_forbidden_recompilation_may_be_quoted_with_its_reason_alone(tmp_path: Path) -> None:
    text = "At size 32, Dynamo threw `RecompileError: tensor 'states' size mismatch at index 1. expected 16, actual 32`!\n"
    report = report_of(text, tmp_path)
    (found,) = (item for item in report.findings if item.rule.code in FAILED)
    assert found.sentence.endswith("which the program forbids (error_on_recompile): dim 1 of states changed from 16 to 32")


@pytest.mark.parametrize("quoted", ["RecompileError: {0}\n", "{1}", "f failed: RecompileError: {0}\n{1}"])
def test_a_forbidden_recompilation_that_is_logged_above_its_exception_is_one(quoted: str, tmp_path: Path) -> None:
    head = "V1127 00:30:36.300000 9334 torch/_dynamo/guards.py:3508] [0/1] [__recompiles] "
    recompiling = "Recompiling function f in /srv/train.py:5"
    reason = "    - 0/0: tensor 'x' dtype mismatch. expected Float, actual Double"
    below = "    triggered by the following guard failure(s):"
    stack = 'Traceback (most recent call last):\n  File "/srv/train.py", line 20, in <module>\n    f(x)\n'
    raised = f"{stack}torch._dynamo.exc.RecompileError: {recompiling}\n{below}\n{reason}\n"
    text = f"{head}{recompiling}\n{head}{below}\n{head}{reason}\n{quoted.format(recompiling, raised)}"
    report = report_of(text, tmp_path)
    (frame,) = report.trace.frames
    assert [(compile.label, compile.outcome.value) for compile in frame.compiles] == [("0/0", "compiled"), ("0/1", "failed")]


def test_all_commands_have_the_same_remedy_for_a_recompilation_that_is_forbidden_without_a_reason(tmp_path: Path) -> None:
    report = report_of("torch._dynamo.exc.RecompileError: Recompiling function forward in /srv/net.py:389\n", tmp_path)
    (found,) = (item for item in report.findings if item.rule.code in FAILED)
    (recompile,) = report.recompiles
    assert found.remedy == Remedies(report.trace.version).of_recompile(recompile).text
    assert "TORCH_LOGS=recompiles" in found.remedy


_OF_DATA = "torch._dynamo.exc.UserError: Could not guard on data-dependent expression Eq(256*u0, 256) (unhinted: Eq(256*u0, 256))."
_CUT_STACK = (
    'File "/srv/track.py", line 415, in inference\n    q = self.decoder(x)\n  File "/srv/query.py", line 150, in forward\n'
    '    q = self.memory(q)\n  File "/srv/mha.py", line 51, in forward\n    q = q + self.mha(q)\n'
)


@pytest.mark.parametrize(
    "note", ["\nFor C++ stack trace, run with TORC", "\nFor C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\n"]
)
@pytest.mark.parametrize("title", ["", f"# {_OF_DATA}\n\n### Error logs\n\n"])
def test_the_stack_that_ends_a_message_about_a_value_of_the_data_has_its_place(title: str, note: str, tmp_path: Path) -> None:
    (found,) = failures(f"{title}```python\n....\n{_CUT_STACK}{note}", tmp_path)
    assert found.sentence.endswith("Could not guard on data-dependent expression Eq(256*u0, 256)" if title else "is missing from the log")
    assert str(found.place) == "/srv/mha.py:51"


@pytest.mark.parametrize("mark", ["`", '"'])
def test_a_violation_that_a_sentence_quotes_names_its_dim(mark: str, tmp_path: Path) -> None:
    text = f"Either a direct error {mark}ConstraintViolationError: Constraints violated (L['x'].size()[1])!{mark} when marked, or others.\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(": dim 1 of x cannot be dynamic in the way it is marked or declared")


@pytest.mark.parametrize(("argument", "is_symbolic"), [("s0 >= 1043", True), ("TensorBox(StorageBox(x[s0]))", False), ("1043", False)])
def test_a_symbol_among_the_arguments_of_an_operator_may_be_why_it_fails(argument: str, is_symbolic: bool, tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "LoweringException: AttributeError: 'GreaterThan' object has no attribute 'get_size'\n"
        f"  target: aten.full.default\n  args[0]: [1]\n  args[1]: {argument}\n"
    )
    (found,) = failures(text, tmp_path)
    assert ("compile this code with dynamic=False" in found.remedy) is is_symbolic


@pytest.mark.parametrize("end", ["", "RuntimeError: other\n"])
def test_of_a_chain_that_a_text_cuts_the_exception_that_is_there_is_the_error(end: str, tmp_path: Path) -> None:
    """That one was raised outside of the compiler, such as by Triton."""
    text = (
        'Traceback (most recent call last):\n  File "/srv/triton/language/semantic.py", line 759, in cast\n    assert allowed\n'
        "AssertionError: fp8e4nv data type is not supported on CUDA arch < 89\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/srv/torch/_dynamo/output_graph.py", line 1446, in _call_user_compiler\n'
        f"    compiled_fn = compiler_fn(gm, self.example_inputs())\n{end}"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(": other" if end else ": fp8e4nv data type is not supported on CUDA arch < 89")
    assert found.remedy.startswith("this GPU has no fp8e4nv: use a dtype that it has")


@pytest.mark.parametrize("name", ["positions", "emb"])
def test_a_size_that_only_the_heading_of_a_violation_names_is_named(name: str, tmp_path: Path) -> None:
    text = (
        f"ConstraintViolationError: Constraints violated (L['embeds'].size()[0], L['{name}'].size()[0])\n"
        "You marked L['embeds'].size()[0] as dynamic but your code specialized it to be a constant (32768)\n"
    )
    (found,) = report_of(text, tmp_path).findings
    fixed = "dim 0 of embeds is marked as dynamic, but the code fixes it to 32768"
    assert found.sentence.endswith(f"{fixed}; dim 0 of {name} cannot be dynamic in the way it is marked or declared")


def test_a_violation_of_another_program_is_none(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of("torch is fine, but I get ConstraintViolationError: duplicate key value from the database.\n", tmp_path)


def test_a_cut_failure_of_another_function_is_its_own(tmp_path: Path) -> None:
    first = "WON'T CONVERT f /srv/a.py line 3 \ndue to: \nTraceback (most recent call last):\n"
    first += '  File "/pytorch/torch/_ops.py", line 60, in __call__\n    return self._op()\nRuntimeError: sizes differ\n'
    found = failures(f"{first}==========\nWON'T CONVERT g /srv/b.py line 122 \ndue to: \nTraceback (most recent call last):\n", tmp_path)
    assert [str(item.place) for item in found] == ["/srv/a.py:3", "/srv/b.py:122"]


def test_a_cell_of_a_table_may_have_the_class_of_the_backends_exception_behind_a_sign(tmp_path: Path) -> None:
    cells = [f"`BackendCompilerFailed > RuntimeError: {what}`" for what in ("two devices, tpu:N and cpu!", "during an FX trace")]
    found = failures("".join(f"| compile | {cell} | 1 |\n" for cell in cells), tmp_path)
    assert [item.sentence.partition("backend: ")[2] for item in found] == [cell[25:-1] for cell in cells]


RAISED = "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True."


@pytest.mark.parametrize("below", ["", "\n\nOther words follow.\n", "\n```\n\nIt is slow.\n"])
@pytest.mark.parametrize("between", ["", "\n", "```\n\n```\n"])
def test_an_exception_below_the_warning_of_a_limit_is_of_the_same_call(between: str, below: str, tmp_path: Path) -> None:
    findings = report_of(f"The limit:\n{LIMIT}{between}{RAISED}{below}", tmp_path).findings
    (found,) = (item for item in findings if item.rule.code == "SL401")
    assert "at 1/8; the call raised an error; the last reason: dim 0 of x" in found.sentence


def test_an_exception_that_a_program_logged_and_that_is_quoted_with_its_class_is_one_failure(tmp_path: Path) -> None:
    message = "'NoneType' object has no attribute 'make_guard'"
    logged = f'11-18 ERROR [run.py:7] {message}\nfrom user code:\n   File "/srv/a.py", line 3, in f\n    return g(x)\n'
    (found,) = failures(f"{logged}\n```\n\n```\ntorch._dynamo.exc.InternalTorchDynamoError: {message}\n```\nHelp!", tmp_path)
    assert found.sentence.endswith(f"Dynamo (internal error): {message}")
    assert str(found.place) == "/srv/a.py:3"
    assert len(failures(f"{logged}\n```\n\n```\ntorch._dynamo.exc.InternalTorchDynamoError: KeyError: 'b'\n```\nHelp!", tmp_path)) == 2


def test_an_exception_in_the_message_of_another_is_no_second_failure(tmp_path: Path) -> None:
    worker = "SubprocException: An exception occurred in a subprocess:"
    head = "E0226 19:58:00.945000 125 torch/_inductor/select_algorithm.py:2820] [0/19] "
    logged = f"{head}torch._inductor.compile_worker.subproc_pool.{worker}\n{head}Traceback (most recent call last):"
    (found,) = failures(f"```\ntorch._inductor.exc.InductorError: {worker}\n```\n\n```\n{logged}\n```\n", tmp_path)
    assert found.compile == "0/19"


def test_a_violation_whose_exception_is_lost_asks_for_it(tmp_path: Path) -> None:
    heading = "ConstraintViolationError                  Traceback (most recent call last)\n"
    (found,) = failures(f"{'-' * 75}\n{heading}File /lib/torch/export/_trace.py:1798, in f(x)\n-> 1798     g(x)\n", tmp_path)
    assert found.remedy.startswith("add the log lines up to the exception")


@pytest.mark.parametrize("above", ["", "It writes\n\n", "> "])
@pytest.mark.parametrize(
    ("error", "title"),
    [
        ("InductorError: RuntimeError: Failed to find C compiler.", "RuntimeError: Failed to find C compiler."),
        ("LoweringException: ValueError: a\n  target: aten.mm.default", "ValueError: a (while lowering aten.mm.default)"),
        ("LoweringException: ValueError: an a. \n  target: aten.mm.default", "ValueError: an a. (while lowering aten.mm.default)"),
    ],
)
def test_an_exception_of_inductor_without_its_module_is_a_failure(error: str, title: str, above: str, tmp_path: Path) -> None:
    (found,) = failures(f"{above}{error}\n\nand stops.", tmp_path)
    assert found.sentence.endswith(f"failed to compile in Inductor: {title}")


@pytest.mark.parametrize("below", ["", " ``` The crash occurs later.", " Set TORCHDYNAMO_VERBOSE=1 for more"])
def test_the_stack_of_a_violation_on_one_line_has_its_place(below: str, tmp_path: Path) -> None:
    condition = "You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (8)."
    frames = 'File "srv/a.py", line 23, in forward h = self.m( ... File "srv/b.py", line 2, in run q = x.view(8)'
    raised = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])!"
    (found,) = failures(f"It crashes. ``` {raised} - {condition} User stack: {frames}{below}\n", tmp_path)
    assert (str(found.place), found.message.stack[-1].code) == ("srv/b.py:2", "q = x.view(8)")


@pytest.mark.parametrize("front", ["# ", "Title: ", "\u2192 it RAISED ", "> ", "**Error**: "])
def test_an_error_of_inductor_is_one_wherever_its_name_is(front: str, tmp_path: Path) -> None:
    (found,) = failures(f"{front}InductorError: AssertionError: pass_fds not supported on Windows.\n\nwords\n", tmp_path)
    assert found.sentence.endswith("failed to compile in Inductor: AssertionError: pass_fds not supported on Windows.")


def test_a_word_of_another_program_is_no_error_of_inductor(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        failures("the class InductorError: see below\nsensors.InductorError: 3 of 4\n", tmp_path)


@pytest.mark.parametrize("front", ["", "Torchdynamo: [ERROR] "])
@pytest.mark.parametrize("line", ["WONT CONVERT f /srv/a.py 99  ", "WONT CONVERT f /srv/a.py     99\n100     0 LOAD_CONST   1 (2.0)"])
def test_a_function_that_torchdynamo_before_2_0_did_not_convert_is_named(line: str, front: str, tmp_path: Path) -> None:
    (found,) = failures(f"I see\n\n{front}{line}\n\nand then no trace.\n", tmp_path)
    assert (found.sentence, str(found.place)) == ("f failed to compile: the exception is missing from the log", "/srv/a.py:99")


LOST_MARGIN = """backend='inductor' raised:
CompilationError: at 3:7:
def triton_(in_ptr0, XBLOCK : tl.constexpr):
x0 = tl.program_id(0)
tmp1 = tmp0.to(tl.float32)
^

Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information
"""


@pytest.mark.parametrize("front", ["", "SamplerCustom\n", "BackendCompilerFailed: "])
def test_a_kernel_without_its_margin_has_the_line_that_triton_stopped_at(front: str, tmp_path: Path) -> None:
    (found,) = failures(front + LOST_MARGIN, tmp_path)
    assert found.sentence.endswith("in the backend inductor: Triton cannot compile `tmp1 = tmp0.to(tl.float32)`, line 3 of a kernel")


@pytest.mark.parametrize("first", ["def triton_(in_ptr0, XBLOCK : tl.constexpr):\n", ""])
def test_of_a_kernel_that_ends_before_its_caret_the_number_of_the_line_is_named(first: str, tmp_path: Path) -> None:
    (found,) = failures(f"backend='inductor' raised:\nCompilationError: at 8:11:\n{first}xnumel = 256\nx0 = xindex\n", tmp_path)
    assert found.sentence.endswith("Triton cannot compile a kernel: it stopped at line 8, which is cut off here")
    assert found.remedy.startswith("add the rest of this message")


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("Dynamic control flow is not supported at the moment. Please use functorch.experimental.control_flow.cond", "Replace the branch"),
        ("'inline in skipfiles: Net.scope | helper /usr/lib/python3.10/contextlib.py, skipped'", "Enter Net.scope outside"),
        ("'skip function scope in file /usr/lib/python3.11/contextlib.py'", "Enter scope outside"),
        (
            "torch.* op returned non-Tensor\n  Explanation: torch.* ops that return a non-Tensor cannot be traced\n\n"
            "  Developer debug context: example_value type: str; op: call_function; target: <function get_device_name at 0x7f4597f651c0>\n",
            "Call get_device_name outside",
        ),
        ("Unsupported builtin None.SemLock.acquire", "Take this lock outside"),
    ],
)
def test_advice_fits_what_the_code_does(message: str, hint: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._dynamo.exc.Unsupported: {message}\n", tmp_path)
    assert found.message is not None
    assert [text[: len(hint)] for text in found.message.hints] == [hint]


@pytest.mark.parametrize("end", ["  Fil", '  File "/a/b.py', '  File "/a/b.py", line 12', "  "])
def test_a_stack_that_the_text_cuts_is_not_taken_for_a_whole_one(end: str, tmp_path: Path) -> None:
    stack = f'from user code:\n   File "/a/net.py", line 4, in forward\n    y = self.block(x)\n{end}'
    (found,) = failures(f"torch._dynamo.exc.Unsupported: no such thing\n\n{stack}", tmp_path)
    assert ("the traceback ends here in this text: the line that fails is further down" in found.notes) is (end.strip() != "")


def test_what_inductor_needs_is_to_be_installed(tmp_path: Path) -> None:
    (found,) = failures("torch._inductor.exc.LoweringException: AssertionError: requires jinja2\n  target: aten.addmm.default\n", tmp_path)
    assert found.remedy.startswith("install jinja2")


def test_an_error_below_an_export_is_one_of_the_export_where_the_text_ends_early(tmp_path: Path) -> None:
    error = "RuntimeError: It appears that you're trying to get a value out of symbolic int/float whose value is data-dependent"
    stack = '  File "/srv/run.py", line 64, in <module>\n    ep = torch.export.export(model, args=())\n'
    library = '  File "/lib/python3.10/site-packages/torch/{}.py", line 270, in export\n    call()\n'
    inside = "".join(library.format(name) for name in ("export/__init__", "_export/__init__", "_dynamo/eval_frame"))
    text = (
        f"torch._dynamo.exc.TorchRuntimeError: Failed running call_function empty(*((32,),), **{{}}):\n{error}\n\n"
        f"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n{stack}{inside}"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.startswith("torch.export failed")


def test_tensors_of_two_devices_are_to_be_moved_to_one(tmp_path: Path) -> None:
    error = "Unhandled FakeTensor Device Propagation for aten.index_select.default, found two different devices cpu, cuda:0"
    call = "call_method index_select(*(FakeTensor(..., size=(8, 4)), 0), **{})"
    words = f'Dynamo failed to run FX node with fake tensors: {call}: got RuntimeError("{error}")'
    (found,) = failures(f"torch._dynamo.exc.TorchRuntimeError: {words}\n", tmp_path)
    assert found.remedy.startswith("move these tensors to one device")


def test_a_rule_of_a_report_is_no_message_of_a_backend(tmp_path: Path) -> None:
    (found,) = failures(f"E   backend='inductor' raised:\n{'=' * 30} 1 failed in 3s {'=' * 30}\n", tmp_path)
    assert found.sentence.endswith("the exception is missing from the log")


EXPLAINED = (
    "  Explanation: Dynamo does not know how to trace builtin operator `print` with\n               argument types ['str']\n  ...\n"
    'from user code:\n   File "/srv/a.py", line 5, in f\n    print("hi")\n'
)


@pytest.mark.parametrize("above", ["", "The error:\n\n"])
@pytest.mark.parametrize("bullet", ["", "- ", "* "])
def test_the_line_above_an_explanation_is_its_title(bullet: str, above: str, tmp_path: Path) -> None:
    (found,) = failures(f"{above}{bullet}Failed to trace builtin operator\n{EXPLAINED}", tmp_path)
    assert found.sentence.endswith("(tracing the code): Failed to trace builtin operator")
    assert found.message.explanation == "Dynamo does not know how to trace builtin operator `print` with argument types ['str']"


@pytest.mark.parametrize("above", ["", "What I see:\n", "SamplerCustom\n", "It fails when I run this.\n"])
def test_another_line_above_an_explanation_is_no_title(above: str, tmp_path: Path) -> None:
    (found,) = failures(above + EXPLAINED, tmp_path)
    assert found.sentence.endswith(": Dynamo does not know how to trace builtin operator `print` with argument types ['str']")


@pytest.mark.parametrize("unhinted", ["", " (unhinted: Eq(i0, 0))"])
def test_what_torch_2_0_asked_of_a_value_of_the_data_is_in_the_words_of_later_versions(unhinted: str, tmp_path: Path) -> None:
    message = (
        "It appears that you're trying to get a value out of symbolic int/float whose value is data-dependent (and thus we do not know the "
        f"true value.)  The expression we were trying to evaluate is Eq(i0, 0){unhinted}.  Scroll up to see where each originally occurred."
    )
    (found,) = failures(f"torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: {message}\n", tmp_path)
    assert found.sentence.endswith(": Could not guard on data-dependent expression Eq(i0, 0)")
    assert found.remedy.startswith("assert what always holds of this value with torch._check")


@pytest.mark.parametrize(
    "compiler",
    ["/usr/bin/gcc", "x86_64-linux-gnu-gcc-12", "C:\\\\triton\\\\runtime\\\\tcc\\\\tcc.exe", "C:\\\\Build Tools (x86)\\\\cl.EXE"],
)
def test_a_compiler_that_failed_is_named_without_its_arguments(compiler: str, tmp_path: Path) -> None:
    command = ", ".join(f"'{part}'" for part in (compiler, "/tmp/a/main.c", "-O3", "-shared", "-lcuda", "-I/usr/include/python3.11"))
    error = f"CalledProcessError: Command '[{command}]' returned non-zero exit status 1."
    (found,) = failures(f"torch._inductor.exc.InductorError: {error}\n", tmp_path)
    assert found.sentence.endswith(f": CalledProcessError: Command '['{compiler}', …]' returned non-zero exit status 1.")
    assert found.remedy.startswith(f"look at what {compiler.rpartition('/')[2].rpartition(chr(92))[2]} printed above this error")


def test_a_command_that_the_end_of_the_text_cuts_is_shown_without_its_arguments(tmp_path: Path) -> None:
    stack = '  File "/v/site-packages/triton/runtime/build.py", line 70, in _build\n  File "subprocess.py", line 413, in check_call\n'
    command = "['/usr/bin/gcc', '/tmp/a/main.c', '-O3', '-shared', '-fPIC', '-l"
    raised = f"torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCalledProcessError: Command '{command}"
    (found,) = failures(f"{stack}{raised}", tmp_path)
    assert found.sentence.endswith(": CalledProcessError: Command '['/usr/bin/gcc', …")
    assert found.remedy.startswith("look at what gcc printed above this error")
    assert found.place is None


def test_an_operation_that_a_person_left_out_has_its_error(tmp_path: Path) -> None:
    error = "Dynamo failed to run FX node with fake tensors: ... got RuntimeError('no engine')"
    (found,) = failures(f"`Error in Phase 1: {error}`\n", tmp_path)
    assert found.sentence.endswith("(running an operation on fake tensors): RuntimeError: no engine")


def test_what_dynamo_calls_an_error_of_its_own_is_not_to_be_fixed(tmp_path: Path) -> None:
    (found,) = failures("torch._dynamo.exc.InternalTorchDynamoError: TypeError: cannot create weak reference\n", tmp_path)
    assert found.remedy.startswith("Dynamo calls this an error of its own: update PyTorch, or ")


@pytest.mark.parametrize(
    ("path", "package"), [("site-packages/depyf/patched.py", "depyf"), ("site-packages/sympy/core/basic.py", ""), ("app/patched.py", "")]
)
@pytest.mark.parametrize("user", ["", '\nfrom user code:\n   File "/v/site-packages/app/model.py", line 5, in forward\n    x.float()\n'])
def test_a_package_that_dynamo_calls_is_named_where_it_raises(path: str, package: str, user: str, tmp_path: Path) -> None:
    stack = '  File "/v/site-packages/torch/_dynamo/output_graph.py", line 1071, in f\n    log(gm)\n'
    stack += f'  File "/v/{path}", line 34, in patched\n    scope[name]\n'
    (found,) = failures(
        f"Traceback (most recent call last):\n{stack}torch._dynamo.exc.InternalTorchDynamoError: KeyError: f\n{user}", tmp_path
    )
    named = f"{package} raises this while Dynamo compiles (patched.py:34): use a version of {package} that fits this PyTorch"
    assert (named in found.remedy) == bool(package)


TOO_LARGE = (
    "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nOutOfResources: out of resource: shared memory\n\n"
    'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n'
)


@pytest.mark.parametrize("form", ["{!r}", "{{'message': {!r}, 'text': 'a\\n'}}", "> {{'message': {!r}", "Result(error={!r})", "[{!r}"])
@pytest.mark.parametrize("text", [TOO_LARGE, TOO_LARGE.replace("'", '"'), f"it's:\n{TOO_LARGE}"])
def test_an_exception_that_a_program_printed_as_a_string_has_its_lines(text: str, form: str, tmp_path: Path) -> None:
    (found,) = failures(form.format(text.replace('"inductor"', "'inductor'")) + "\n", tmp_path)
    assert found.sentence.endswith("in the backend inductor: OutOfResources: out of resource: shared memory")


def test_a_string_whose_end_is_cut_off_has_its_lines(tmp_path: Path) -> None:
    (found,) = failures(f"{TOO_LARGE!r}"[:-60] + "\n", tmp_path)
    assert found.sentence.endswith("in the backend inductor: OutOfResources: out of resource: shared memory")


def test_an_exception_without_a_message_asks_for_what_failed(tmp_path: Path) -> None:
    text = 'torch._dynamo.exc.TorchRuntimeError: \n\nfrom user code:\n   File "/srv/a.py", line 5, in f\n    scores += mask\n'
    (found,) = failures(text, tmp_path)
    assert (str(found.place), found.remedy) == (
        "/srv/a.py:5",
        'run it with TORCH_LOGS="+dynamo", which shows the operation that failed and why',
    )


def test_the_step_about_a_failure_of_a_backend_begins_with_the_error(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nValueError: a\n"
    (step,) = next_steps(collect_alerts(report_of(text, tmp_path), Repository()))
    assert step.title == "Fix the error: ValueError: a"


@pytest.mark.parametrize(
    ("exception", "title"),
    [
        ("RuntimeError: no kernel for this", "no kernel for this"),
        ("torch._inductor.exc.InductorError: AssertionError: odd", "AssertionError: odd"),
        ("", "the exception is missing from the log"),
    ],
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_an_exception_of_the_backward_graph_alone_leaves_the_compile_whole(
    is_whole: bool, exception: str, title: str, tmp_path: Path
) -> None:
    head = "W0815 22:53:17.219000 9155 torch/_functorch/_aot_autograd/graph_compile.py:2122] [0/0] "
    lines = [
        "failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed",
        "Traceback (most recent call last):",
        '  File "/opt/torch/_functorch/_aot_autograd/graph_compile.py", line 1773, in aot_stage2_autograd',
        "    compiled_bw_func = aot_config.bw_compiler(",
        exception,
    ]
    if not is_whole and exception.startswith("torch."):
        lines = lines[2:]
    report = report_of("".join(f"{head}{line}\n" for line in lines), tmp_path)
    (found,) = report.findings
    assert found.sentence == f"the backward graph of a function not named in the log failed to compile ahead of its use: {title}"
    assert (report.summary.failures, report.summary.compiles) == (0, 1)


def test_the_lost_exception_of_a_backward_graph_is_not_one_that_is_quoted(tmp_path: Path) -> None:
    head = "W0815 22:53:17.219000 9155 torch/_functorch/_aot_autograd/jit_compile_runtime_wrappers.py:551] [0/0] "
    text = (
        "It fails with `torch._dynamo.exc.Unsupported: call_method split`.\n\n"
        f"{head}failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed\n{head}Traceback (most"
    )
    sentences = {item.sentence for item in report_of(text, tmp_path).findings}
    assert {words.rpartition(": ")[2] for words in sentences} == {"call_method split", "the exception is missing from the log"}


def test_a_guard_that_could_not_be_made_counts_where_the_log_ends(tmp_path: Path) -> None:
    (found,) = failures("E0317 07:53:56.045000 2265 torch/_guards.py:283] [14/1] Error while creating guard:\n", tmp_path)
    assert found.sentence.endswith("error while creating a guard: the exception is missing from the log")


def test_the_symbols_of_a_log_are_those_of_the_export_that_failed(tmp_path: Path) -> None:
    """Whichever comes first; what fixed a size is shown, at PyTorch's own line where the log has no other."""
    symbols = (
        "create_symbol s5 = 64 for L['mask'].size()[1] [16, 400]\n"
        "eval Eq(s5, 64) [guard added] (_ops.py:910 in decompose)\nset_replacement s5 = 64 (range_refined_to_singleton) VR[64, 64]\n"
    )
    violated = "Constraints violated (n)!\n  - You marked n as dynamic but your code specialized it to be a constant (64)."
    text = f"torch._dynamo.exc.UserError: {violated}\n\nThe log:\n\n{symbols}"
    report = report_of(text, tmp_path)
    assert [compile.label for compile in report.trace.compiles] == ["0/0"]
    shown = " ".join(render(report, Options()).decode().split())
    assert "mask.size()[1] 64 " in shown
    assert "_ops.py:910 in decompose (framework)" in shown


def test_a_size_that_is_equal_to_another_is_fixed_by_a_later_guard(tmp_path: Path) -> None:
    """Torch 2.7 and older write what a guard does before the guard itself."""
    text = (
        "create_symbol s0 = 2 for L['i'].size()[0] [2, int_oo]\ncreate_symbol s1 = 2 for L['x'].size()[0] [2, int_oo]\n"
        "set_replacement s1 = s0 (solve) VR[2, int_oo]\neval Eq(s0, s1) [guard added] at srv/a.py:21 in g\n"
        "set_replacement s0 = 2 (range_refined_to_singleton) VR[2, 2]\neval Eq(s0, 2) [guard added] at srv/b.py:475 in f\n"
    )
    shown = " ".join(render(report_of(text, tmp_path), Options()).decode().split())
    assert "i.size()[0] 2 b.py:475 by a guard" in shown


@pytest.mark.parametrize("end", ["", "For more information about this error, see: https://pytorch.org/x.html#dynamic-shapes-validation\n"])
def test_a_declaration_that_does_not_fit_the_inputs_is_an_error_of_the_export(end: str, tmp_path: Path) -> None:
    error = (
        "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs[0]` is a list, but `dynamic_shapes[0]` is a dict"
    )
    (found,) = failures(f"torch._dynamo.exc.UserError: {error}\n{end}", tmp_path)
    assert found.sentence == f"torch.export failed: {error}"
    assert found.remedy.startswith("give dynamic_shapes the structure of the inputs")
    assert found.notes == ()


@pytest.mark.parametrize(
    ("error", "help"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/tmp/torchinductor_root/ab'", "in which this user may write"),
        (r"PermissionError: [WinError 5] Access is denied: 'C:\\Temp\\torchinductor_me\\ab'", "in which this user may write"),
        (
            r"FileExistsError: [WinError 183] It is there: 'C:\\Temp\\torchinductor_me\\.6.tmp' -> 'C:\\Temp\\torchinductor_me\\4b'",
            "replaces",
        ),
        ("ImportError: dlopen(/tmp/a.main.so, 0x0002): symbol not found in flat namespace '___kmpc_barrier'", "install OpenMP"),
        ("ImportError: dlopen(/tmp/a.main.so, 0x0002): Library not loaded: @rpath/libomp.dylib", "install OpenMP"),
        ("ImportError: /tmp/a.main.so: undefined symbol: __kmpc_fork_call", "install OpenMP"),
        ("AttributeError: type object 'CompiledKernel' has no attribute 'launch_enter_hook'", "the version of Triton that belongs"),
        ("PermissionError: [WinError 5] Access is denied", "Windows did not start a program"),
        ("CUDACompileError: nvcc fatal : Unsupported gpu architecture 'compute_103a'", "update Triton and the CUDA toolkit"),
        (
            "PTXASError: PTXAS error\n`ptxas` stderr:\nptxas fatal : Value 'sm_121a' is not defined for option 'gpu-name'",
            "update Triton and",
        ),
        ("ModuleNotFoundError: No module named 'triton'", "install the version of Triton"),
        ("No module named 'triton_npu'", "install the module triton_npu"),
        ("RuntimeError: Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture", "call this code once before the capture"),
        ("InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')", "install a C++ compiler"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "use smaller inputs or batches"),
    ],
)
def test_what_an_error_of_the_machine_asks_for_is_its_help(error: str, help: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._inductor.exc.InductorError: {error}\n", tmp_path)
    assert found.remedy.startswith(help) or help in found.remedy


def test_the_error_of_a_worker_is_that_of_the_compile(tmp_path: Path) -> None:
    text = (
        "torch._inductor.exc.InductorError: SubprocException: An exception occurred in a subprocess:\n\nName=triton_poi_fused_0\n"
        f"{STACK}RuntimeError: PassManager::run failed\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("An exception occurred in a subprocess: RuntimeError: PassManager::run failed")


def test_what_an_operator_that_takes_functions_met_goes_on_below_an_empty_line(tmp_path: Path) -> None:
    text = (
        f"{STACK}torch._dynamo.exc.UncapturedHigherOrderOpError: This operator doesn't work. Got graph break/error:\n\n"
        "Encountered aliasing during higher order op tracing\n  Higher Order Operator: torch.cond\n"
        "  Explanation: Higher order ops do not support aliasing.\n  Hint: Please open an issue.\n\nfrom user code:\n"
        '   File "/srv/a.py", line 6, in f\n    torch.cond(p, a, b)\n'
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.startswith("f failed to compile in Dynamo (tracing an operator that takes functions): ")
    assert "Encountered aliasing" in found.sentence


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (
            "".join(
                f"[2024-02-29 19:44:37,740] [43/0] torch._guards: [ERROR] {line}\n"
                for line in ("Error while creating guard:", "Name: \"L['self']\"", "    Source: local", "    Create Function: NN_MODULE")
            ),
            "add the log lines up to the exception: they name the error",
        ),
        (
            'This makes the check fail with "Guard failed on the same frame it was created."\n',
            "add the rest of this message: it names the guard that rejects the very call that it was made for",
        ),
    ],
)
def test_what_is_missing_of_a_failure_of_guards_is_asked_for(text: str, remedy: str, tmp_path: Path) -> None:
    (found,) = failures(text, tmp_path)
    assert found.remedy == remedy


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_warning_that_follows_a_stack_that_is_cut_is_no_exception(between: str, tmp_path: Path) -> None:
    logged = "W1128 04:19:33.088000 18795 torch/_dynamo/convert_frame.py:1280] "
    lines = (
        "WON'T CONVERT f /srv/a.py line 5",
        "due to:",
        "Traceback (most recent call last):",
        '  File "/lib/torch/_dynamo/x.py", line 2, in g',
    )
    below = "/lib/torch/_inductor/compile_fx.py:321: UserWarning: TensorFloat32 tensor cores are not enabled.\n  warnings.warn(\n"
    (found,) = failures("".join(f"{logged}{line}\n" for line in lines) + between + below, tmp_path)
    assert found.sentence == "f failed to compile: the exception is missing from the log"


def test_words_below_a_stack_that_is_cut_are_no_exception(tmp_path: Path) -> None:
    text = 'Traceback (most recent call last):\n  File "/srv/test_export.py", line 3, in test_it\n    ep = export(f)\n'
    text += '  File "/lib/torch/export/__init__.py", line 273, in export\n    return _export(\n  File "/lib/tor\n\nBest regards\n'
    with pytest.raises(ShapelogError):
        failures(text, tmp_path)


def test_a_warning_in_the_middle_of_a_stack_is_no_exception(tmp_path: Path) -> None:
    begin, end = STACK.rstrip("\n").rsplit("\n", 1)
    text = f"{begin}\n/lib/torch/_inductor/compile_fx.py:321: UserWarning: not enabled.\n{end}\ntorch._dynamo.exc.Unsupported: call of g\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("failed to compile in Dynamo (tracing the code): call of g")


def test_an_exception_above_a_cut_traceback_asks_for_the_line(tmp_path: Path) -> None:
    chain = "The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
    (found,) = failures(
        f'torch._dynamo.exc.Unsupported: op of no tensor\n\n{chain}  File "/usr/lib/python3.12/process.py", line 314, in', tmp_path
    )
    assert found.notes == ('the line is not in this text: add the traceback, with what is below "from user code:"',)


@pytest.mark.parametrize("front", ["triton.compiler.errors.", "InductorError\n", ""])
@pytest.mark.parametrize("kernel", ["triton_poi_fused_cos_0", "my_kernel"])
def test_what_triton_raised_about_a_kernel_of_inductor_is_a_failure_without_more(front: str, kernel: str, tmp_path: Path) -> None:
    text = f'{front}CompilationError: at 1:0:\ndef {kernel}(a):\n^\nValueError("type fp8e4nv not supported in this architecture")\n'
    if kernel == "my_kernel":
        with pytest.raises(ShapelogError):
            failures(text, tmp_path)
    else:
        (found,) = failures(text, tmp_path)
        assert "failed to compile in Inductor: " in found.sentence


def test_a_program_may_indent_the_title_of_a_break(tmp_path: Path) -> None:
    (found,) = failures("Original exception:\n Op of no tensor\n  Explanation: It has none.\n\nfrom user code:\n    y = f(x)\n", tmp_path)
    assert found.sentence.endswith(": Op of no tensor")


def test_what_a_lowering_asserted_is_its_message(tmp_path: Path) -> None:
    lowering = (
        '  File "/lib/python3.12/site-packages/torch/_inductor/lowering.py", line 9, in embedding\n    assert not sparse\n           ^^^\n'
    )
    text = f"{lowering}torch._inductor.exc.LoweringException: AssertionError: \n  target: aten.embedding.default\n  args[0]: 3\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("Inductor: AssertionError: assert not sparse (while lowering aten.embedding.default)")


def test_what_torch_onnx_sums_up_is_the_error_of_the_export(tmp_path: Path) -> None:
    steps = (
        "Failed to export the model with torch.export. This is step 1/3 of exporting the model to ONNX. Next steps:\n- Modify the model."
    )
    (found,) = failures(
        f"TorchExportError: {steps}\n\n## Exception summary\n\n<class 'KeyError'>: 'no user 501'\n\n(See above.)\n", tmp_path
    )
    assert found.sentence == "torch.export failed: KeyError: 'no user 501'"
    assert found.remedy.startswith("fix this error; until then there is no exported program")


def test_a_stack_of_compiled_code_without_its_heading_is_a_call_that_failed(tmp_path: Path) -> None:
    stack = 'File "/tmp/torchinductor_me/ab/cab.py", line 9, in call\n    buf = aten.f(x)\n'
    (found,) = failures(f"Then we see:\n```\n{stack}RuntimeError: x is not aligned\n```\nIt did not recompile.\n", tmp_path)
    assert found.sentence == "compiled code raised an error when it ran: x is not aligned"


@pytest.mark.parametrize(("name", "kernel"), [("triton_", "a kernel"), ("triton_poi_fused_cos_0", "the kernel triton_poi_fused_cos_0")])
def test_a_kernel_that_triton_cannot_compile_is_named(name: str, kernel: str, tmp_path: Path) -> None:
    text = f"InductorError: CompilationError: at 2:4:\ndef {name}(in_ptr0, XBLOCK : tl.constexpr):\n    x0 = a\n    ^\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(f"Triton cannot compile `x0 = a`, line 2 of {kernel}")


@pytest.mark.parametrize(("below", "named"), [("", "triton_poi_fu…"), ("def triton_poi_fu(in_ptr0):\n", "triton_poi_fu")])
def test_a_kernel_without_the_exception_is_named(below: str, named: str, tmp_path: Path) -> None:
    head = "E0305 20:23:38.890000 755 torch/_inductor/runtime/triton_heuristics.py:533] "
    text = "".join(f"{head}{line}\n" for line in ("Triton compilation failed: triton_poi_fu", *below.splitlines()))
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith(f"failed to compile: Triton failed on the kernel {named}: the exception is missing from the log")
    (whole,) = failures(f"{text}torch._inductor.exc.InductorError: RuntimeError: no ptxas\n", tmp_path)
    assert whole.sentence.endswith("failed to compile in Inductor: RuntimeError: no ptxas")


@pytest.mark.parametrize(
    "text",
    [
        'I count operations, and get this error: "RuntimeError: {first} {rest}. No." What can I do?\n',
        "It raises:\n```\nRuntimeError: {first}\n{rest}. No.\n```\n",
    ],
)
def test_a_trace_of_a_compiled_function_may_be_quoted_or_wrapped(text: str, tmp_path: Path) -> None:
    words = {"first": "Detected that you are using FX to torch.jit.trace", "rest": "a dynamo-optimized function"}
    (found,) = failures(text.format(**words), tmp_path)
    assert found.sentence == f"torch.compile or torch.export raised an error: {words['first']} {words['rest']}. No."
    assert "model._orig_mod" in found.remedy


def test_what_pytorch_notes_below_a_message_is_no_part_of_it_on_one_line(tmp_path: Path) -> None:
    note = 'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information You can suppress this exception by setting: x = True'
    (found,) = failures(f"Sampler backend='inductor' raised: FileNotFoundError: no file: 'k.ttir' {note}\n", tmp_path)
    assert found.sentence.endswith(": FileNotFoundError: no file: 'k.ttir'")


@pytest.mark.parametrize(("length", "help"), [(259, "keep the cache directory"), (260, "259 characters that Windows allows")])
def test_a_path_that_is_too_long_for_windows_is_the_cause(length: int, help: str, tmp_path: Path) -> None:
    path = "C:\\Temp\\torchinductor_me\\triton\\0\\".ljust(length, "k").replace("\\", "\\\\")
    (found,) = failures(f"backend='inductor' raised:\nFileNotFoundError: [Errno 2] No such file or directory: '{path}'\n", tmp_path)
    assert help in found.remedy


@pytest.mark.parametrize(("raised", "error"), [("KeyError(arg.value)", "KeyError: shape"), ("InternalTorchDynamoError(str(e))", "shape")])
def test_an_internal_error_has_the_class_that_the_stack_raises(raised: str, error: str, tmp_path: Path) -> None:
    stack = f'  File "/lib/torch/_dynamo/variables/dicts.py", line 199, in getitem_const\n    raise {raised}\n'
    (found,) = failures(f"{stack}torch._dynamo.exc.InternalTorchDynamoError: shape\n", tmp_path)
    assert found.sentence.endswith(f"failed to compile in Dynamo (internal error): {error}")


def test_what_the_backward_pass_may_not_write_into_is_to_be_copied(tmp_path: Path) -> None:
    error = "AssertionError: Found an input to the backward that was mutated during the backward pass. This is not supported"
    (found,) = failures(f"torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n{error}\n", tmp_path)
    assert found.remedy.startswith("clone() what the backward pass takes")


def test_an_exception_of_the_traced_code_whose_chain_is_cut_lacks_the_exception(tmp_path: Path) -> None:
    stack = '  File "/lib/torch/_dynamo/exc.py", line 366, in raise_observed_exception\n    raise observed_exception_map[exc_type]\n'
    chain = "During handling of the above exception, another exception occurred:\n\nTraceback"
    (found,) = failures(f"{stack}torch._dynamo.exc.ObservedKeyError\n\n{chain}", tmp_path)
    assert found.sentence.endswith(": KeyError in the code that is traced; the exception is missing from the log")
    assert found.remedy.startswith("add the log lines up to the exception")


@pytest.mark.parametrize(
    ("expression", "what"), [("u0 < 3", "guard on"), ("Eq(u0, 3)", "guard on"), ("u0", "extract specialized integer from")]
)
def test_a_warning_about_a_value_of_the_data_is_a_failure_where_the_text_has_nothing_else(
    expression: str, what: str, tmp_path: Path
) -> None:
    head = "1016 20:59:43.115859 3588 torch/fx/experimental/symbolic_shapes.py:6061] "
    symbol = f"I{head}create_unbacked_symint u0 [-int_oo, int_oo] (_subclasses/fake_impls.py:390 in local_scalar_dense)\n"
    warning = f"W{head}failed during evaluate_expr({expression}, hint={{}}, size_oblivious=False, forcing_spec=False\n"
    (found,) = failures(symbol + warning.format(None), tmp_path)
    assert found.sentence.endswith(f"Could not {what} data-dependent expression {expression}")
    assert not failures(warning.format(True), tmp_path)
    assert not failures(f"{warning.format(None)}{LIMIT}", tmp_path)


def test_a_kernel_without_a_configuration_is_a_failure_without_a_class(tmp_path: Path) -> None:
    error = "No valid triton configs. OutOfMemoryError: out of resource: k Required: 9 Hardware limit:8 Reducing block sizes may help."
    (found,) = failures(f"It fails with\n```\n{error}\n```\n", tmp_path)
    assert found.sentence.endswith(f"failed to compile in Inductor: {error}")
    assert "more registers or shared memory" in found.remedy
    (found,) = failures(f"RuntimeError: {error}\n", tmp_path)
    assert found.sentence.endswith(error)
    with pytest.raises(ShapelogError):  # of one choice among several
        report_of(f"Runtime error during autotuning: \n{error}. \nIgnoring this choice.\n", tmp_path)


@pytest.mark.parametrize(("message", "more"), [("-7/2", " (assert p >= 0, p)"), ("-7/2 is odd", "")])
def test_a_value_alone_has_what_was_asserted(message: str, more: str, tmp_path: Path) -> None:
    stack = '  File "/opt/torch/utils/_sympy/functions.py", line 488, in eval\n    assert p >= 0, p\n           ^^^^^^\n'
    (found,) = failures(f"{stack}torch._inductor.exc.InductorError: AssertionError: {message}\n\nSet TORCHDYNAMO_VERBOSE=1\n", tmp_path)
    assert found.sentence.endswith(f"AssertionError: {message}{more}")


def test_a_line_that_a_backend_stopped_at_is_none_of_dynamo(tmp_path: Path) -> None:
    error = (
        "GuardOnDataDependentSymNode: Could not guard on data-dependent expression u2 <= 0 (unhinted: u2 <= 0).  (Size-like symbols: u2)"
    )
    culprit = (
        "Potential framework code culprit (scroll up for full backtrace):\n"
        '  File "/opt/site-packages/torch/_decomp/decompositions.py", line 9, in norm\n    if M <= 0:\n'
    )
    report = report_of(f"torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n{error}\n\n{culprit}", tmp_path)
    (alert,) = collect_alerts(report, Repository()).alerts
    assert alert.sentence.endswith("GuardOnDataDependentSymNode: Could not guard on data-dependent expression u2 <= 0")
    assert alert.notes == ("the backend stopped at _decomp/decompositions.py:9: if M <= 0:",)


def test_the_advice_for_framework_code_is_part_of_the_message(tmp_path: Path) -> None:
    error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 0)"
    culprit = '  File "/opt/site-packages/torch/_refs/linalg.py", line 9, in norm\n    if x.numel() == 0:\n'
    text = (
        f"{error} (unhinted: Eq(u0, 0)).  (Size-like symbols: u0)\n\n"
        "ATTENTION: guard_size_oblivious would fix the error, evaluating expression to False.\n"
        "Maybe you need to add guard_size_oblivious to framework code, see doc below for more guidance.\n\n"
        f'Potential framework code culprit (scroll up for full backtrace):\n{culprit}\nUser Stack (most recent call last):\n  File "/srv/ex'
    )
    (found,) = failures(text, tmp_path)
    assert str(found.place) == "/opt/site-packages/torch/_refs/linalg.py:9"


def test_the_wrapper_around_a_function_of_a_library_is_passed_over(tmp_path: Path) -> None:
    frames = (("torch/_dynamo/external_utils.py", "inner", "return fn(*args)"), ("accelerate/hooks.py", "new_forward", "output = f(x)"))
    stack = "".join(f'  File "/opt/site-packages/{file}", line 9, in {name}\n    {code}\n' for file, name, code in frames)
    (found,) = failures(f"torch._dynamo.exc.Unsupported: call_method split\n\nfrom user code:\n{stack}", tmp_path)
    assert found.sentence.startswith("new_forward failed to compile in Dynamo")


@pytest.mark.parametrize("is_cut", [False, True])
def test_an_error_may_be_copied_from_a_cell_as_an_object(is_cut: bool, tmp_path: Path) -> None:
    stack = '  File \\"/srv/flux.py\\", line 442, in forward\n    h = self.norm(h)\n'
    error = f"TypeError: argument 'dtype' must be \\\"torch.dtype\\\"\n\nfrom user code:\n{stack}"
    ipython = "InternalTorchDynamoError                  Traceback (most recent call last)\nCell In[5], line 3\n----> 3 f(x)\n"
    rest = "" if is_cut else f'",\n\t"stack": "{"-" * 75}\n{ipython}\nInternalTorchDynamoError: {error}"\n}}'
    (found,) = failures(f'It fails:\n{{\n\t"name": "InternalTorchDynamoError",\n\t"message": "{error}{rest}', tmp_path)
    assert found.sentence == "forward failed to compile in Dynamo (internal error): TypeError: argument 'dtype' must be \"torch.dtype\""
    assert str(found.place) == "/srv/flux.py:442"


def test_the_advice_about_loggers_is_the_help(tmp_path: Path) -> None:
    advice = "To avoid graph breaks caused by logger in compile-mode, it is recommended to add methods to config.ignore_logger_methods"
    report = report_of(f"torch._dynamo.exc.Unsupported: Logger not supported for non-export cases. {advice}\n", tmp_path)
    (alert,) = collect_alerts(report, Repository()).alerts
    assert alert.sentence.endswith("(tracing the code): Logger not supported for non-export cases")
    assert alert.helps == (advice,)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("call_function UserDefinedObjectVariable(BlockMask) [TensorVariable()] {}", "a call of an object of the class BlockMask"),
        ("call_method UserDefinedObjectVariable(list_iterator) __iter__ () {}", "a call of list_iterator.__iter__()"),
    ],
)
def test_the_call_of_an_object_is_named(title: str, words: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._dynamo.exc.Unsupported: {title}\n", tmp_path)
    assert found.sentence.endswith(f"(tracing the code): {words}")


def test_an_operation_whose_error_is_cut_has_the_class_that_the_stack_raises(tmp_path: Path) -> None:
    stack = (
        'Traceback (most recent call last):\n  File "/opt/torch/_subclasses/fake_tensor.py", line 9, in validate\n    raise ValueError(\n'
    )
    call = "call_function <built-in method randint_like of type object at 0x72>(*(FakeTensor(..., size=(64,"
    text = f"{stack}torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: {call}"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("randint_like failed: ValueError: ...")


@pytest.mark.parametrize(
    "begin", ["TorchExportError: Failed to export the model with torch.export.\n\n## Exception summary\n\n<class '{}'>: {}", "{}: {}"]
)
def test_what_stops_an_export_is_no_failed_compile(begin: str, tmp_path: Path) -> None:
    words = "Could not guard on data-dependent expression Ne(u0, 7) (unhinted: Ne(u0, 7)).  (Size-like symbols: none)"
    named = begin.format("torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode", words)
    end = "" if "Exception summary" in begin else "The error above occurred when calling torch.export.export. If you would\n"
    text = f"{named}\n\nCaused by: (_ops.py:9 in __call__)\nFor C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\n\n{end}"
    (found,) = failures(text, tmp_path)
    assert found.sentence == "torch.export failed: Could not guard on data-dependent expression Ne(u0, 7)"


@pytest.mark.parametrize(
    "text",
    [
        "It raised\n`InductorError: LoweringException: GuardOnDataDependentSymNode: Could not\nguard on Eq(u0, 1)`. So do not.\n",
        "step 3 RAISED InductorError: GuardOnDataDependentSymNode: Could not\n    guard on Eq(u0, 1)\n",
    ],
)
def test_an_error_that_a_person_wrapped_within_its_sentence_is_whole(text: str, tmp_path: Path) -> None:
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("GuardOnDataDependentSymNode: Could not guard on Eq(u0, 1)")
    assert found.remedy.startswith("assert what always holds of u")


@pytest.mark.parametrize("begin", ["ValueError: no kernel\n\n", ""], ids=["whole", "cut"])
def test_a_traceback_ends_where_a_recompilation_or_the_limit_is_reported(begin: str, tmp_path: Path) -> None:
    """Lines that have lost their heads."""
    reason = "tensor 'x' size mismatch at index 0. expected {}, actual {}"
    below = (
        f"Recompiling function f in /srv/model.py:5\n    triggered by the following guard failure(s):\n    - 0/0: {reason.format(3, 4)}\n"
        f"torch._dynamo hit config.recompile_limit (8)\n   function: 'g' (/srv/model.py:9)\n   last reason: 1/7: {reason.format(5, 6)}\n"
    )
    report = report_of(f"{STACK}{begin}{below}", tmp_path)
    assert [item.codes for item in report.recompiles] == [("SL101",), ("SL101",)]
    assert report.summary.limit_hits == 1


def test_the_end_of_a_message_with_two_stacks_lacks_the_exception(tmp_path: Path) -> None:
    line = '  File "/srv/model.py", line 13, in forward\n    if n > 3:\n'
    above = f"User Stack (most recent call last):\n  (snipped, see stack below for prefix)\n{line}\n"
    text = f"{above}For C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1\n\nfrom user code:\n {line}\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence == "forward failed to compile: the exception is missing from the log"


@pytest.mark.parametrize(
    ("error", "begins", "ends"),
    [
        ("UserError: Constraints violated", "torch.export failed: Constraints violated", ""),
        (
            'UserError: Constraints violated (batch)! For more information, run with TORCH_LOGS="+dynamic".',
            "torch.export failed: batch cannot",
            "",
        ),
        (
            "ConstraintViolationError: Constraints violated (L['x'].size()[0])! For more information, run with TORCH_LOGS=\"+dynamic\".",
            "a function not named in the log failed to compile: dim 0 of x cannot be dynamic",
            "; or use torch._dynamo.maybe_mark_dynamic",
        ),
    ],
)
def test_the_conditions_that_a_violation_lacks_are_asked_for(error: str, begins: str, ends: str, tmp_path: Path) -> None:
    module = "torch._dynamo.exc" if error.startswith("User") else "torch.fx.experimental.symbolic_shapes"
    (found,) = failures(f"It raises\n\n{module}.{error}\n\nWhy?\n", tmp_path)
    assert found.sentence.startswith(begins)
    assert found.remedy == f"add the rest of this message: it names each size, and what the code does with it{ends}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "{}: Could not guard on data-dependent expression\nEq(u0, 1) (unhinted: Eq(u0, 1)).\n",
            "guard on data-dependent expression Eq(u0, 1)",
        ),
        ("| export | `{}: Could not guard on Eq(u0, 1)` |\n", "guard on Eq(u0, 1)"),
        ("    {}: Could not extract specialized integer\n    from data-dependent expression u0\n", "extract specialized integer from"),
        (
            '    "asks: `{}: Could not "\n    "guard on data-dependent expression u8 < 0` at "\n',
            "guard on data-dependent expression u8 < 0",
        ),
        ("{}: Eq(8*u0, 0)\n", "Eq(8*u0, 0)"),
    ],
)
def test_what_cannot_be_decided_needs_no_module(text: str, error: str, tmp_path: Path) -> None:
    (found,) = failures(text.format("GuardOnDataDependentSymNode"), tmp_path)
    assert error in found.sentence
    assert found.remedy.startswith("keep u0 in a tensor" if "integer" in error else "assert what always holds of u")


def test_what_may_be_raised_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of("Raises:\n    GuardOnDataDependentSymNode: If the expression has unbacked symbols.\n", tmp_path)


def test_what_could_not_be_lowered_may_be_quoted_in_a_sentence(tmp_path: Path) -> None:
    (found,) = failures("It raises\n`LoweringException: TypeError: object() takes no arguments` while generating the kernel.\n", tmp_path)
    assert found.sentence.endswith("failed to compile in Inductor: TypeError: object() takes no arguments")
    with pytest.raises(ShapelogError):  # of another compiler
        report_of("It is the `LoweringException: cannot convert with TypeVar element B` of before.\n", tmp_path)


def test_a_kernel_that_autotuning_leaves_out_is_no_failure(tmp_path: Path) -> None:
    stack = '  File "/opt/torch/_inductor/runtime/triton_heuristics.py", line 608, in _make_launchers\n    raise RuntimeError(f"No")\n'
    error = "No valid triton configs. OutOfMemoryError: out of resource: k Required: 9 Hardware limit:8"
    assert failures(f"{stack}RuntimeError: {error}\n", tmp_path)
    with pytest.raises(ShapelogError, match="max-autotune left out"):
        report_of(f"{stack}RuntimeError: {error}\nRuntime error during autotuning: \n{error}. \nIgnoring this choice.\n", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "{}OutOfMemoryError: out of resource: k Required: 9 Hardware limit: 8 Reducing block sizes or `num_stages` may help.\n",
        "`{}OutOfMemoryError: out of resource: k Required: 9 Hardware limit: 8 Reducing block sizes or `num_stages` may help.` now\n",
        "{}\nOutOfMemoryError: out of resource: k\nRequired: 9 Hardware limit: 8\nReducing block sizes or `num_stages` may help.\n",
    ],
)
def test_what_a_kernel_needs_is_whole(text: str, tmp_path: Path) -> None:
    (found,) = failures(text.format("torch._inductor.exc.InductorError: RuntimeError: No valid triton configs. "), tmp_path)
    needs = "out of resource: k Required: 9 Hardware limit: 8 Reducing block sizes or `num_stages` may help."
    assert found.sentence.endswith(f"No valid triton configs. OutOfMemoryError: {needs}")


def test_the_tests_in_a_summary_failed_each_with_its_own_error(tmp_path: Path) -> None:
    line = "FAILED tests/test_op.py::test_op[1-a b] - AssertionError: expected size 2==2, stride 64=={} at dim=0\n"
    first, second = failures(line.format(8) + line.format(16), tmp_path)
    assert first.sentence == "compiled code raised an error when it ran: a tensor has stride 64 instead of 8 in dim 0"
    assert second.sentence.endswith("stride 64 instead of 16 in dim 0")


@pytest.mark.parametrize("begin", ["Unsupported: No such builtin\n", " No such builtin\n"])
def test_a_line_without_its_file_is_shown(begin: str, tmp_path: Path) -> None:
    text = f"{begin}  Explanation: Dynamo does not know it.\n  Hint: Avoid it.\n\nfrom user code:\n    x = x + complex(2.0, 0.0)\n"
    (found,) = failures(text, tmp_path)
    assert found.notes == ("at this line, whose file is not in the text: x = x + complex(2.0, 0.0)",)
    assert "No such builtin" in found.sentence


@pytest.mark.parametrize("file", ["_inductor/graph.py", "fx/experimental/symbolic_shapes.py"])
def test_a_stack_of_ipython_may_lack_its_heading(file: str, tmp_path: Path) -> None:
    stack = f"File ~/lib/site-packages/torch/{file}:604, in rebind(n)\n    601     continue\n--> 604 if u1.node.hint is not None:\n\n"
    (found,) = failures(f"It is\n{stack}AttributeError: 'float' object has no attribute 'node'\n\nWhile executing %item\n", tmp_path)
    assert "'float' object has no attribute 'node'" in found.sentence
    with pytest.raises(ShapelogError, match="paste the text up to the exception"):
        report_of(f"It is\n{stack}", tmp_path)


def test_a_mark_that_begins_a_cut_quotation_is_no_part_of_the_message(tmp_path: Path) -> None:
    (found,) = failures("I get torch._dynamo.exc.Unsupported: 'inline in skipfiles: Adder.add | call_function\n", tmp_path)
    assert found.sentence.endswith(": inline in skipfiles: Adder.add | call_function")


def test_code_that_dynamo_does_not_convert_runs_in_eager_mode(tmp_path: Path) -> None:
    """PyTorch logs these words where it goes on after an error, and raises others."""
    path = tmp_path / "run.txt"
    head = "W0711 17:08:34.348000 76404 torch/_dynamo/convert_frame.py:1280] "
    path.write_text(
        f"{head}WON'T CONVERT f /srv/app/model.py line 209\n{head}due to:\n{head}Traceback (most recent call last):\n", encoding="utf-8"
    )
    report = analyze(load(path), debug=True)
    (step,) = next_steps(collect_alerts(report, Repository()))
    assert step.saving.eager == (Eager.ALL,)


@pytest.mark.parametrize("least", [320, 322])
def test_a_suggested_range_that_is_declared_already_is_no_fix(least: int, tmp_path: Path) -> None:
    """The guard is about a remainder, which no range has."""
    text = (
        "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (h)!\n"
        "  - Not all values of h = L['x'].size()[2] in the specified range 320 <= h <= 7680 satisfy the generated guard "
        "Ne(Mod(((L['x'].size()[2] - 1)//2), 2), 0).\n\n"
        f"Suggested fixes:\n  h = Dim('h', min={least}, max=7680)\n"
    )
    (found,) = failures(text, tmp_path)
    is_declared = least == 320
    assert bool(found.message.hints) is not is_declared
    assert found.remedy.startswith("PyTorch suggests the range that is declared already: declare a multiple") is is_declared


def test_a_method_of_tensors_that_an_array_has_not_needs_a_tensor(tmp_path: Path) -> None:
    call = "call_function <Wrapped method <original div>>(*(FakeTensor(..., size=(4,)), 2), **{})"
    error = f"torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: {call}: got AttributeError"
    (found,) = failures(f"""{error}("'ndarray' object has no attribute 'div'")\n""", tmp_path)
    assert "convert this NumPy array to a tensor" in found.own_remedy


def test_what_dynamo_met_first_has_its_hints_in_an_error_that_follows_from_it(tmp_path: Path) -> None:
    (finding,) = failures(
        "torch._dynamo.exc.Unsupported: Call to `torch._dynamo.graph_break()`\n  Explanation: A user asked for it.\n"
        "  Hint: Remove the `torch._dynamo.graph_break()` call.\n\n"
        f"The above exception was the direct cause of the following exception:\n\n{STACK}"
        "torch._dynamo.exc.Unsupported: Graph break under GenericContextWrappingVariable\n"
        "  Explanation: Attempted to graph break in an active context manager.\n  Hint: Move the context manager out.\n",
        tmp_path,
    )
    assert finding.message is not None
    assert finding.message.title == "Graph break under GenericContextWrappingVariable"
    assert finding.message.hints == ("Remove the `torch._dynamo.graph_break()` call.", "Move the context manager out.")


def test_a_backend_that_takes_one_graph_needs_code_without_breaks(tmp_path: Path) -> None:
    error = "torch._dynamo.exc.BackendCompilerFailed: AssertionError: VllmBackend can only be called once"
    (finding,) = failures(f"{STACK}{error}\n", tmp_path)
    assert finding.own_remedy.startswith("this backend compiles one graph: remove the graph breaks")


def test_a_stack_that_somebody_shortened_names_its_innermost_place(tmp_path: Path) -> None:
    (finding,) = failures(
        "torch._dynamo.exc.Unsupported: call_method split\n\nfrom user code:\n"
        "  models/net.py:444 layer(x)\n  ops/cots.py:27 _hook\n    f(x)\n",
        tmp_path,
    )
    assert finding.notes == ("at ops/cots.py:27",)
