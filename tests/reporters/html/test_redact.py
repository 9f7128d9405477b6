"""Texts of a page that is to be shared: no line of code, and no directory."""

from pathlib import Path

import pytest

import shapelog
from shapelog.reporters.html.redact import Redaction, redaction_of, without_stack

DEMO = Path(__file__).parents[3] / "fixtures" / "real" / "demo.log.gz"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /srv/app/model.py:12", "at …/model.py:12"),
        (r"at C:\app\model.py:12", "at …/model.py:12"),
        (r"at \\host\share\model.py", "at …/model.py"),
        ("file:///srv/model.py", "…/model.py"),
        ("model.py:12  return secret", "model.py:12"),
        ("failed in y = x.sum(0)", "failed in [code]"),
        ("src/app/model.py", "…/model.py"),
        ("2/3 of 4", "2/3 of 4"),
        ("a/b", "a/b"),
    ],
)
def test_code_and_directories_are_replaced(text: str, shown: str) -> None:
    assert Redaction(("y = x.sum(0)",), ("src/app/",))(text) == shown


def test_the_lines_and_directories_of_a_trace_come_longest_first() -> None:
    found = redaction_of(shapelog.load(DEMO))
    assert found.lines
    assert found.folders
    for texts in (found.lines, found.folders):
        assert list(texts) == sorted(texts, key=lambda text: (-len(text), text))
        assert min(map(len, texts)) >= 6


def test_the_stack_that_pytorch_appends_to_a_message_is_removed() -> None:
    assert without_stack('Dynamic slicing\nUser stack trace:\n  File "/a/b.py", line 3, in f\n    return x') == "Dynamic slicing"
