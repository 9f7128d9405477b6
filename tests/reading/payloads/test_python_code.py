"""Code that somebody else wrote has a tree or none, and Python's warnings about it reach nobody."""

import ast
import warnings
from collections.abc import Iterator

import pytest

from shapelog.reading.payloads.compiler_messages import compiler_message
from shapelog.reading.payloads.guards.expressions import parse
from shapelog.reading.payloads.python_code import line_tree, module_tree, syntax_tree


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("code", [r're.match("\d", name)', "1in sizes", r'{"\]": 1or 0}'])
def test_code_that_python_warns_of_has_a_tree_without_a_warning(code: str) -> None:
    assert syntax_tree(code) is not None
    assert line_tree(f"if {code}:").body
    assert isinstance(module_tree(code), ast.Module)
    assert parse(code).text == code


def test_python_would_warn_of_such_code() -> None:
    with pytest.raises((SyntaxWarning, SyntaxError, DeprecationWarning)):
        ast.parse(r'"\d"')


@pytest.mark.parametrize("text", ["if", "f(", "a\0b", "(" * 5000, "1" * 20_000])
def test_what_is_no_python_or_too_long_has_no_tree(text: str) -> None:
    assert syntax_tree(text) is None
    assert line_tree(text).body == []


def test_the_text_of_an_exception_is_read_without_a_warning() -> None:
    text = (
        r"Fake tensors\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function f(): got RuntimeError('no \d in it')"
    )
    message = compiler_message(text.replace("\\n", "\n"))
    assert r"RuntimeError: no \d in it" in message.explanation
