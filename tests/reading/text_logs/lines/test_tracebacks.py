"""Tracebacks of IPython, rich and pytest are read as those of Python."""

import json
from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.lines import tracebacks
from shapelog.reading.text_logs.lines.tracebacks import as_python_prints
from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

TORCH = "/opt/lib/python3.11/site-packages/torch"
PLAIN = f"""Traceback (most recent call last):
  File "/srv/train.py", line 28, in <module>
    main()
  File "/srv/train.py", line 21, in run
    return model(x)
  File "{TORCH}/_dynamo/eval_frame.py", line 1177, in compile_wrapper
    raise e.with_traceback(
torch._dynamo.exc.Unsupported: Data-dependent branching
  Explanation: Detected data-dependent branching.
  Hint: Use torch.cond to express dynamic control flow.

from user code:
   File "/srv/net.py", line 15, in forward
    if x.sum() > 0:

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
"""
MESSAGE = PLAIN[PLAIN.index("Unsupported") :]
IPYTHON = f"""---------------------------------------------------------------------------
Unsupported                               Traceback (most recent call last)
File /srv/train.py:28
     24 def test_it():
     25     run()
---> 28 main()

File /srv/train.py:21, in Trainer.fit.<locals>.run(self, **options)
     19 def run():
   (...)    20     x = 1
---> 21     return model(x)

File {TORCH}/_dynamo/eval_frame.py:1177, in _TorchDynamoContext.__call__.<locals>.compile_wrapper(*args, **kwargs)
   1175         cur_exn = cur_exn.__cause__
-> 1177     raise e.with_traceback(
   1178         None

{MESSAGE}"""


def answer(text: str, folder: Path) -> str:
    file = folder / "log.txt"
    file.write_text(text)
    return render(analyze(load(file)), Options()).decode()


def of_python(text: str) -> str:
    """A text without the module of the exception, which other programs leave out."""
    return text.replace("torch._dynamo.exc.Uns", "Uns")


def test_a_stack_of_ipython_is_one_of_python() -> None:
    _, _, found = as_python_prints(IPYTHON).partition("\n")
    assert found == of_python(PLAIN)


@pytest.mark.parametrize("form", [IPYTHON, "".join(f"    {line}\n" for line in IPYTHON.split("\n"))])
def test_the_answer_is_that_of_the_traceback_of_python(form: str, tmp_path: Path) -> None:
    assert answer(form, tmp_path) == answer(PLAIN, tmp_path)


@pytest.mark.parametrize(
    ("heading", "frame"),
    [
        ("Cell In[3], line 5", '"Cell In[3]", line 5, in <module>'),
        ("Input In [3], in <cell line: 5>()", '"Input In [3]", line 5, in <module>'),
        ("<ipython-input-3-1f> in run(x)", '"<ipython-input-3-1f>", line 5, in run'),
        ("~/srv/a.py in <lambda>(x)", '"~/srv/a.py", line 5, in <lambda>'),
        ("File ~/srv/a.py:5, in f.<locals>.<lambda>(x)", '"~/srv/a.py", line 5, in <lambda>'),
        (r"File C:\srv\a.py:5, in f(x)", r'"C:\srv\a.py", line 5, in f'),
    ],
)
def test_each_form_of_ipython_names_a_file_a_line_and_a_function(heading: str, frame: str) -> None:
    text = f"ValueError       Traceback (most recent call last)\n{heading}\n      4 a\n----> 5 b()\n\nValueError: no\n"
    assert as_python_prints(text) == f"Traceback (most recent call last):\n  File {frame}\n    b()\nValueError: no\n"


def test_what_ends_before_its_exception_is_left_as_it_is() -> None:
    text = "ValueError       Traceback (most recent call last)\nCell In[3], line 5\n----> 5 b()\n"
    assert as_python_prints(text) == text
    assert as_python_prints(f"{text}{IPYTHON}").startswith(text)


def test_the_rank_in_front_of_a_stack_of_ipython_is_kept() -> None:
    text = "".join(f"[rank1]: {line}\n" for line in IPYTHON.split("\n")[1:])
    assert as_python_prints(text).startswith('[rank1]: Traceback (most recent call last):\n[rank1]:   File "/srv/train.py", line 28')


def test_a_failure_in_a_notebook_is_shown_at_the_line_where_dynamo_stopped(tmp_path: Path) -> None:
    inner = '   File "<ipython-input-2-17>", line 15, in forward\n    y = g(x)\n  File "<ipython-input-2-17>", line 10, in g\n    h()\n'
    text = IPYTHON.replace('   File "/srv/net.py", line 15, in forward\n    if x.sum() > 0:\n', inner)
    assert "--> <ipython-input-2-17>:10\n" in answer(text, tmp_path)


def rows(*texts: str) -> str:
    return "".join(f"\u2502 {text:<76} \u2502\n" for text in texts)


RULE = "\u2500"
TOP = f"\u256d{RULE * 21} Traceback (most recent call last) {RULE * 22}\u256e\n"
BOTTOM = f"\u2570{RULE * 78}\u256f\n"
RICH = (
    TOP
    + rows(
        *("/srv/train.py:28 in <module>", "", "  27 # here", "\u2771 28 main()", "  29", ""),
        *("/srv/train.py:21 in run", "", "  20 \u2502   x = 1", "\u2771 21 \u2502   return model(x)", ""),
        *(f"{TORCH}/_dynamo/eval_frame.py:1177", "in compile_wrapper", ""),
        *("   1176 \u2502   \u2502   if a:", "\u2771 1177 \u2502   \u2502   \u2502   raise e.with_traceback("),
    )
    + BOTTOM
    + MESSAGE
)


def test_a_box_of_rich_is_a_stack_of_python() -> None:
    assert as_python_prints(RICH) == of_python(PLAIN)


def test_the_answer_for_a_box_of_rich_is_that_of_the_traceback_of_python(tmp_path: Path) -> None:
    assert answer(RICH, tmp_path) == answer(PLAIN, tmp_path)


def test_code_that_the_box_has_broken_is_no_place() -> None:
    text = (
        TOP
        + rows("/srv/a.py:2 in f", "", "  1 # a long", "comment", "\u2771 2 g()", "  3 # one more", "line", "in _:3")
        + BOTTOM
        + "KeyError: 1\n"
    )
    assert [line for line in as_python_prints(text).split("\n") if "File" in line] == [
        '  File "/srv/a.py", line 2, in f',
        '  File "<cell>", line 3, in _',
    ]


def test_code_without_a_file_is_a_cell_or_inside_of_a_library() -> None:
    text = TOP + rows("in run:2", "", f"{TORCH}/fx/graph_module.py:5 in f", "", "\u2771 5 g()", "in _:3") + BOTTOM + "AssertionError: no\n"
    assert 'File "<cell>", line 2, in run' in as_python_prints(text)
    assert 'File "<string>", line 3, in _' in as_python_prints(text)


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        (f"ValueError: {'a' * 62} \nbcdefgh", f"ValueError: {'a' * 62} bcdefgh"),
        (f"ValueError: see \n{'a' * 80}\nbcd", f"ValueError: see {'a' * 80}bcd"),
        (f"ValueError: {'a' * 62}\nError in op: f", ""),
        (f"ValueError: {'a' * 62}\nTORCH_LOGS", f"ValueError: {'a' * 62} TORCH_LOGS"),
        (f"ValueError: {'a' * 62}\n2026-01-01 10:00:00 next line", ""),
        (f"ValueError: {'a' * 62}\n  Hint: none", ""),
        (f"ValueError: {'a' * 30}\nb", ""),
    ],
)
def test_a_line_that_rich_broke_below_its_box_is_whole_again(message: str, whole: str) -> None:
    assert as_python_prints(TOP + rows("/srv/a.py:1 in f") + BOTTOM + message).endswith(f"in f\n{whole or message}")


PRINTED = "".join(f"E   {line}\n" for line in PLAIN[PLAIN.index("torch._dynamo.exc") :].split("\n"))
PYTEST_SHORT = (
    "_____ test_it _____\n/srv/train.py:28: in <module>\n    main()\n/srv/train.py:21: in run\n    return model(x)\n"
    f"           ^^^^^^^^\n{TORCH}/_dynamo/eval_frame.py:1177: in compile_wrapper\n    raise e.with_traceback(\n{PRINTED}"
)
PYTEST_LONG = (
    "_____ test_it _____\n\n>   main()\n\n/srv/train.py:28: \n_ _ _ _ _ _ \n\nx = 1\n\n"
    "    def run(x):\n        def other():\n>       return model(x)\n               ^^^^^^^^\n\n/srv/train.py:21: \n_ _ _ _ _ _ \n\n"
    "    def compile_wrapper(*args):\n>       raise e.with_traceback(\n            None)\n"
    f"{PRINTED.replace('E   ', 'E       ')}\n{TORCH}/_dynamo/eval_frame.py:1177: Unsupported\n"
)


@pytest.mark.parametrize("text", [PYTEST_SHORT, PYTEST_LONG])
def test_a_test_that_failed_has_a_traceback_of_python(text: str) -> None:
    _, _, found = as_python_prints(text).partition("_____ test_it _____\n")
    assert found.strip() == PLAIN.strip()


@pytest.mark.parametrize("text", [PYTEST_SHORT, PYTEST_LONG])
@pytest.mark.parametrize("color", ["", "\x1b[31m"])
def test_the_answer_for_a_test_that_failed_is_that_of_the_traceback_of_python(text: str, color: str, tmp_path: Path) -> None:
    summary = (
        f"{TORCH}/_dynamo/eval_frame.py:1177: torch._dynamo.exc.Unsupported: Data-dep...\n== short test summary info ==\n"
        "FAILED test_a.py::test_it - torch._dynamo.exc.Unsupported: Data-dep...\n== 1 failed in 2.0s ==\n"
    )
    colored = "".join(f"{color}{line}\n" for line in (text + summary).split("\n"))
    assert answer(colored, tmp_path) == answer(PLAIN, tmp_path)


def test_exceptions_that_pytest_sums_up_alone_are_left() -> None:
    text = "== short test summary info ==\nFAILED test_a.py::test_it - torch._dynamo.exc.Unsupported: no\n"
    assert as_python_prints(text) == text


def test_what_a_test_printed_is_above_its_exception() -> None:
    text = f"___ test_it ___\n{PLAIN}--- Captured stderr call ---\nhello\n=== 1 failed ===\n"
    assert as_python_prints(f"{text}E   \n") == f"--- Captured stderr call ---\nhello\n___ test_it ___\n{PLAIN}=== 1 failed ===\nE   \n"


@pytest.mark.parametrize(
    "text",
    [
        "    def test_it():\n>       assert f() == 3\nE       assert 2 == 3\nE        +  where 2 = f()\n\ntest_a.py:4: AssertionError\n",
        "/srv/a.py:5: in f\n    g()\nand no more\nMODE   E\n",
    ],
)
def test_what_pytest_prints_of_no_exception_stays(text: str) -> None:
    assert as_python_prints(f"{text}\nE   \n") == f"{text}\nE   \n"


def test_many_lines_that_may_begin_a_traceback_take_linear_time() -> None:
    starts = ("/srv/a.py:5: in f\n    g()\n", ">   f()\n", TOP, "ValueError    Traceback (most recent call last)\n")
    text = "".join(start * 4_000 for start in starts)
    assert as_python_prints(f"{text}E   \n") == f"{text}E   \n"


@pytest.mark.parametrize("module", ["", "trainer.errors."])
def test_the_exception_that_a_failure_caused_has_a_module(module: str, tmp_path: Path) -> None:
    chain = "\nThe above exception was the direct cause of the following exception:\n\n"
    outer = f'Traceback (most recent call last):\n  File "/srv/main.py", line 3, in step\n    fit()\n{module}TrainError: step 3\n'
    assert "raised: TrainError, at main.py:3" in answer(f"{PLAIN}{chain}{outer}", tmp_path)


def test_a_traceback_right_below_another_one_is_of_its_own(tmp_path: Path) -> None:
    other = 'Traceback (most recent call last):\n  File "/srv/other.py", line 3, in f\n    g()\nRuntimeError: no\n'
    assert answer(other + PLAIN, tmp_path) == answer(PLAIN, tmp_path)


@pytest.mark.parametrize("lead", ["    ", "[rank0]: ", "(EngineCore_0 pid=12) "])
@pytest.mark.parametrize("form", [IPYTHON, RICH, PYTEST_SHORT, PYTEST_LONG])
def test_what_is_in_front_of_each_line_changes_no_answer(form: str, lead: str, tmp_path: Path) -> None:
    text = "".join(f"{lead}{line}\n" for line in form.split("\n"))
    assert answer(f"hello\n\n{text}", tmp_path) == answer(PLAIN, tmp_path).replace("on rank 0", "")


def test_a_page_has_written_the_signs_of_a_test_as_entities(tmp_path: Path) -> None:
    assert answer(PYTEST_LONG.replace(">", "&gt;").replace('"', "&quot;"), tmp_path) == answer(PLAIN, tmp_path)


def test_a_box_in_the_column_of_a_logger_is_read_with_its_message(tmp_path: Path) -> None:
    box = "".join(f"{' ' * 20}{line:<100}\n" for line in RICH.split("\n"))
    text = f"[10:00:00] ERROR    Training failed{' ' * 80}train.py:5\n{box}           INFO     cleaning up{' ' * 80}train.py:9\n"
    assert answer(text, tmp_path) == answer(PLAIN, tmp_path)


def test_the_traceback_in_a_report_of_torchrun_has_its_margin(tmp_path: Path) -> None:
    field = PLAIN.strip().replace("\n", "\n  ")
    text = f"[0]:\n  time      : 2026-01-01\n  traceback : {field}\n  \n{'=' * 60}\n"
    assert answer(text, tmp_path) == answer(PLAIN, tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        {"event": "failed", "exception": PLAIN},
        {"message": "failed", "exc_info": PLAIN},
        {"message": "failed", "error": {"type": "Unsupported", "stack_trace": PLAIN}},
        {"text": f"failed\n{PLAIN}", "record": {"message": "failed"}},
        {"message": f"failed\n{PLAIN}", "exc_info": PLAIN},
    ],
)
@pytest.mark.parametrize("above", ["", "starting\n"])
def test_the_traceback_in_a_field_of_its_own_is_below_the_message(entry: dict[str, object], above: str, tmp_path: Path) -> None:
    lines = ({"message": "epoch 1"}, {"message": "epoch 2"}, entry, {"message": "end"})
    assert answer(above + "".join(f"{json.dumps(line)}\n" for line in lines), tmp_path) == answer(PLAIN, tmp_path)


LOGURU = f"""Traceback (most recent call last):

  File "/srv/train.py", line 28, in <module>
    main()
    \u2514 <function main at 0x7f>

> File "/srv/train.py", line 21, in run
    return model(x)
           \u2502     \u2514 tensor([1.,
           \u2502               2.])
           \u2514 Model()
  File "{TORCH}/_dynamo/eval_frame.py", line 1177, in compile_wrapper
    raise e.with_traceback(

"""


@pytest.mark.parametrize("values", [True, False])
def test_a_traceback_of_loguru_is_one_of_python(values: bool) -> None:
    named = [line for line in LOGURU.split("\n") if values or (line.strip() and not line.startswith(("    \u2514", "           ")))]
    text = "\n".join(named).strip() + "\n"
    found = as_python_prints(f"{text}{PLAIN[PLAIN.index('torch._dynamo.exc') :]}")
    assert found == PLAIN


@pytest.mark.parametrize("margin", ["  ", ""])
def test_a_stack_of_compiled_code_without_its_heading_is_a_traceback(margin: str) -> None:
    generated = '  File "/tmp/torchinductor_me/ab/cab.py", line 9, in call\n    buf = aten.f(x)\n'
    rest = f'{margin}File "{TORCH}/_ops.py", line 84, in __call__\n    return self._op(x)\n'
    text = f"Then we see:\n{generated}{rest}"
    assert as_python_prints(f"{text}RuntimeError: not aligned\n").startswith("Then we see:\nTraceback (most recent call last):\n  File")
    for other in ("", "torch._dynamo.exc.Unsupported: f\n", "and so on\n"):
        assert as_python_prints(f"{text}{other}") == f"{text}{other}"
    assert as_python_prints(f"{rest}RuntimeError: not aligned\n") == f"{rest}RuntimeError: not aligned\n"


def test_marks_below_the_code_of_a_traceback_stay() -> None:
    text = PLAIN.replace("    return model(x)\n", "    return model(x)\n           ^^^^^^^^\n")
    assert as_python_prints(f"{text}\n> File \n") == f"{text}\n> File \n"


def test_the_frames_of_a_stack_without_an_exception_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once more from each of them: the time would grow with the square of their number."""
    looked = []
    down_to = tracebacks._down_to
    monkeypatch.setattr(tracebacks, "_down_to", lambda *given, **more: looked.append(given[2]) or down_to(*given, **more))
    text = "File /opt/torch/_dynamo/x.py:12, in f(x)\n     11 a\n---> 12 b\n     13 c\n\n" * 100
    assert as_python_prints(text) == text
    assert looked == [0]
