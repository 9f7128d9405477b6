"""Tracebacks of IPython, rich and pytest are read as those of Python."""

from pathlib import Path

import pytest

from shapelog import load
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
