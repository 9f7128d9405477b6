"""What a person left out of an exception, or a page broke in it, is taken from the rest of the text."""

import re
from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.failures.failure import failure
from shapelog.report.report import Report, analyze
from shapelog.report.results import Finding
from shapelog.reporters.json.report import report_data

RAISED = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:"
TRITON = "RuntimeError: Cannot find a working triton installation."
TOO_LONG = "torch._dynamo.exc.InternalTorchDynamoError: attempting to assign a gradient of size '[27264000]' to a tensor of size '[218]'"


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def failures(text: str, folder: Path) -> list[Finding]:
    return [item for item in report_of(text, folder).findings if item.rule.code in ("SL203", "SL403")]


@pytest.mark.parametrize("dots", [" ...", " …", "\n...", "..."])
def test_an_error_that_is_left_out_is_the_one_above(dots: str, tmp_path: Path) -> None:
    (found,) = failures(f"The next error:\n\n{TRITON}\n{RAISED}{dots}\n\nOn Windows, it always fails.\n", tmp_path)
    assert found.sentence.endswith(f"failed to compile in the backend inductor: {TRITON}")
    assert found.remedy.startswith("install Triton")


@pytest.mark.parametrize("dots", [" ...", "", ":", ": …"])
def test_a_message_that_is_left_out_is_where_its_class_has_it(dots: str, tmp_path: Path) -> None:
    text = f"Import fails with `ImportError: cannot import name 'Language' from 'triton.x'`, followed by `{RAISED} ImportError{dots}`."
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("in the backend inductor: ImportError: cannot import name 'Language' from 'triton.x'")


def test_an_assertion_without_a_message_has_its_statement(tmp_path: Path) -> None:
    stack = (
        'Traceback (most recent call last):\n  File "/v/torch/_inductor/scheduler.py", line 638, in f\n    assert isinstance(node, Base)\n'
    )
    (found,) = failures(f'{stack}{RAISED}\nAssertionError: \n\nSet TORCH_LOGS="+dynamo" for more\n', tmp_path)
    assert found.sentence.endswith("AssertionError: assert isinstance(node, Base)")


@pytest.mark.parametrize("above", ["We saw this:", "ValueError: of the program itself"])
def test_an_exception_without_a_message_has_none_of_the_program(above: str) -> None:
    found = failure([above, "torch._dynamo.exc.Unsupported: call_method f", "torch._dynamo.exc.InternalTorchDynamoError"])
    assert found is not None
    assert "ValueError" not in found.message


def test_an_exception_without_a_message_has_that_of_its_cause(tmp_path: Path) -> None:
    stack = 'Traceback (most recent call last):\n  File "/v/x/_ops.py", line 60, in __call__\n    return op()\n'
    text = (
        f"torchdynamo.convert_frame: [ERROR] WON'T CONVERT f ./bench.py line 350 \ndue to: \n{stack}RuntimeError: sizes differ\n\n"
        f"The above exception was the direct cause of the following exception:\n\n{stack}torchdynamo.exc.TorchRuntimeError\n\n"
        'from user code:\n   File "./bench.py", line 351, in f\n    return mod(x)\n'
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence == "f failed to compile: RuntimeError: sizes differ"
    assert found.place is not None
    assert found.place.line == 351


@pytest.mark.parametrize(
    "below",
    [
        "",
        " Please ensure that both\n are the same size",
        "\n```\n- a list of more words than the terminal is wide, with other errors\n```bash\n",
    ],
)
@pytest.mark.parametrize("columns", [80, 93])
def test_a_terminal_that_fills_its_lines_with_blanks_breaks_none_for_good(columns: int, below: str, tmp_path: Path) -> None:
    frames = [
        '  File "/env/lib/python3.9/site-packages/torch/_subclasses/meta_utils.py", line 307, in meta_tensor',
        "    base = self.meta_tensor(",
    ]
    lines = [*frames, *frames, *frames]
    broken = [line[at : at + columns].ljust(columns) for line in lines for at in range(0, len(line), columns)]
    message = [TOO_LONG[at : at + columns] for at in range(0, len(TOO_LONG), columns)]
    text = "\n".join([*broken, *message]) + below
    (found,) = failures(text, tmp_path)
    assert "attempting to assign a gradient of size '[27264000]' to a tensor of size '[218]'" in found.sentence


def test_a_table_with_blanks_at_its_end_keeps_its_rows(tmp_path: Path) -> None:
    """The rows of a CompileProfiler are as wide as each other, too."""
    rows = [
        "'f' (a.py:3)                                     2  len(x) == 3     ",
        "                                                    len(x) == 4     ",
    ]
    head = [
        "Function                                 Recompiles  Recompile Reasons",
        "---------------------------------------  ----------  -----------------",
    ]
    report = report_of("\n".join(["Torchdynamo Profiler Report", *head, *rows]), tmp_path)
    assert sum(len(frame.compiles) for rank in report.trace.ranks for frame in rank.frames) == 3


@pytest.mark.parametrize("margin", ["", "    "])
def test_a_message_that_a_docstring_broke_twice_is_whole(margin: str, tmp_path: Path) -> None:
    lines = [
        "TorchRuntimeError: Dynamo failed to run FX node with fake tensors:",
        "call_function silu(...): Expected all tensors in the given list to be XLA",
        "tensors. Element at index 0 is not an XLA tensor. Got: XLAFloatType",
    ]
    text = "It fails in propagation:\n\n" + "".join(f"{margin}{line}\n" for line in lines) + "\nThat names one operator.\n"
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("to be XLA tensors. Element at index 0 is not an XLA tensor. Got: XLAFloatType")


def test_a_violation_that_export_raises_is_about_the_declaration(tmp_path: Path) -> None:
    text = (
        "torch._dynamo.exc.UserError: Constraints violated (L)!\n"
        "  - You marked L as dynamic but your code specialized it to be a constant (64).\n"
    )
    (found,) = failures(text, tmp_path)
    assert found.sentence.endswith("torch.export failed: L is declared as dynamic, but the code fixes it to 64")
    assert found.remedy.startswith("declare it as Dim.AUTO or with this size, or change the line that requires a fixed size")


@pytest.mark.parametrize("error", ["AssertionError: Device npu not supported", "RuntimeError: Unsupported device type: npu"])
def test_a_device_that_the_backend_lacks_is_no_error_of_the_compiler(error: str, tmp_path: Path) -> None:
    (found,) = failures(f"{RAISED}\n{error}\n", tmp_path)
    assert found.remedy.startswith("use a backend that supports the device npu")


@pytest.mark.parametrize(("begin", "end"), [("2. **Warning**: `", "`"), ('- "', '"'), ("* `", "`."), ("", "")])
def test_a_message_in_a_list_has_no_mark_of_its_quotation(begin: str, end: str, tmp_path: Path) -> None:
    report = report_of(f"1. slow\n{begin}skipping cudagraphs due to mutated inputs{end}\n3. strides\n", tmp_path)
    (found,) = (item for item in report.findings if item.rule.code == "SL503")
    assert found.sentence.endswith("mutated inputs")


@pytest.mark.parametrize("call", ["call_function mul(FakeTensor(8, 4), FakeTensor(2*s0, 4))", "call_method mul(...)"])
def test_an_operation_on_fake_tensors_is_named_once_and_its_arguments_are_to_be_looked_at(call: str, tmp_path: Path) -> None:
    (found,) = failures(f"torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors:\n  {call}\n", tmp_path)
    assert found.sentence.endswith(f"(running an operation on fake tensors): {call.partition(' ')[2]} failed")
    assert found.remedy.startswith("check the inputs of this operation")


@pytest.mark.parametrize(
    "error",
    [
        "TorchRuntimeError: Failed running call_function f(*(1,), **{}):\nsizes differ",
        "InternalTorchDynamoError: KeyError: 3",
        "Unsupported: call_method f",
    ],
)
def test_an_exception_alone_lacks_its_line(error: str, tmp_path: Path) -> None:
    (alone,) = failures(f"torch._dynamo.exc.{error}\n", tmp_path)
    assert alone.notes == ('the line is not in this text: add the traceback, with what is below "from user code:"',)
    (whole,) = failures(f'torch._dynamo.exc.{error}\n\nfrom user code:\n   File "a.py", line 3, in f\n    g(x)\n', tmp_path)
    assert not whole.notes


def test_an_error_of_the_backend_needs_no_line(tmp_path: Path) -> None:
    (found,) = failures(f"{RAISED}\n{TRITON}\n", tmp_path)
    assert not found.notes


def test_a_builtin_of_python_that_torch_2_4_raised_about_has_no_advice_in_its_title(tmp_path: Path) -> None:
    what = (
        "Graph break due to unsupported Python builtin _warnings.warn. Please file an issue on GitHub so the team can add support for it."
    )
    (found,) = failures(f"torch._dynamo.exc.Unsupported: {what}\n", tmp_path)
    assert found.sentence.endswith("(tracing the code): Unsupported builtin _warnings.warn")


def test_an_overwritten_output_that_a_compilation_met_is_one_failure(tmp_path: Path) -> None:
    said = "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
    said += 'Stack trace: File "/v/...\n'
    text = f"torch._dynamo.exc.InternalTorchDynamoError: {said}\n## Related\n\n- a.md: nternalTorchDynamoError: {said}"
    report = report_of(text, tmp_path)
    assert [item.rule.code for item in report.findings if item.rule.code in ("SL403", "SL508")] == ["SL403"]
    alone = report_of(said, tmp_path)
    assert [item.rule.code for item in alone.findings if item.rule.code in ("SL403", "SL508")] == ["SL508"]


OF_RECOMPILES = "V1127 00:30:36.300000 9334 torch/_dynamo/guards.py:3508] [{}/{}] [__recompiles] "
AT_LIMIT = (
    "W1127 00:30:37.300000 9334 torch/_dynamo/convert_frame.py:906] [1/8] torch._dynamo hit config.recompile_limit (8)\n"
    "W1127 00:30:37.300000 9334 torch/_dynamo/convert_frame.py:906] [1/8]    function: 'g' (/srv/train.py:9)\n"
    "W1127 00:30:37.300000 9334 torch/_dynamo/convert_frame.py:906] [1/8]    last reason: 1/7: L['k'] == 4\n"
)


def test_no_sentence_is_about_the_trace(tmp_path: Path) -> None:
    lines = ("Recompiling function f in /srv/train.py:5", "    triggered by the following guard failure(s):")
    reason = "    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5"
    log = (
        "".join(f"{OF_RECOMPILES.format(0, 1)}{line}\n" for line in (*lines, reason))
        + f"{OF_RECOMPILES.format(2, 1)}{lines[0]}\n"
        + AT_LIMIT
    )
    path = tmp_path / "run.txt"
    path.write_text(log, encoding="utf-8")
    data = str(report_data(analyze(load(path), debug=True)))
    assert "Estimated by replaying" in data
    assert re.findall(r"[^']*\b(?:in the|the|this) trace\b[^']*", data) == []
