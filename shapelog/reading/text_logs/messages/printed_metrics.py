"""The metrics of compiles as PyTorch prints them, ``CompilationMetrics(compile_id='0/1', ...)`` → the fields of their records.

TORCH_LOGS=all prints those of each compile, and ``torch._dynamo.utils.get_compilation_metrics()`` returns them. The class is that of
torch/_dynamo/utils.py, whose fields are those of the record ``compilation_metrics``.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson

from shapelog.reading.payloads.python_code import without_warnings
from shapelog.reading.records import SETTINGS
from shapelog.reading.text_logs.messages.logged_code import LoggedCode

_BEGIN = re.compile(r"\bCompilationMetrics\((?=\w{1,40}=)")
# A text, which pprint writes in several pieces; a list, a tuple or a set of texts.
_TEXT = r"""(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*")"""
_TEXTS = rf"{_TEXT}(?:\s+{_TEXT})*"
_LIST = rf"[\[{{(]\s*(?:{_TEXTS}(?:\s*,\s*{_TEXTS})*\s*,?\s*)?[\]}})]"
_NUMBER = r"-?\d{1,18}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?"
_FIELD = re.compile(rf"\b(?P<name>[a-z]\w{{0,60}})=(?P<value>None|True|False|set\(\)|{_NUMBER}|{_TEXTS}|{_LIST})(?=\s*[,)])")


def printed_metrics(text: str) -> Iterator[dict[str, Any]]:
    """The fields of each compile in a message, of those that hold numbers or texts and are whole."""
    begins = [*(found.end() for found in _BEGIN.finditer(text)), len(text)]
    for begin, end in pairwise(begins):
        with without_warnings():
            fields = {found["name"]: _value(found["value"]) for found in _FIELD.finditer(text, begin, end)}
        yield {name: value for name, value in fields.items() if value is not None and (name not in SETTINGS or _is_json(value))}


def code_of(fields: dict[str, Any]) -> LoggedCode:
    """The code that was compiled."""
    name, file, line = (fields.get(key) for key in ("co_name", "co_filename", "co_firstlineno"))
    return LoggedCode(str(name or ""), str(file or ""), line if type(line) is int else 0)


def _value(text: str) -> Any:
    """A number, a text, or a list of texts; None for what is none of these, or damaged."""
    if text in ("None", "set()"):
        return [] if text == "set()" else None
    try:
        value = ast.literal_eval(f"({text})" if text[0] in "'\"" else text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if isinstance(value, str):
        return _encodable(value)
    return [_encodable(item) for item in sorted(value)] if isinstance(value, (set, list, tuple)) else value


def _encodable(text: str) -> str:
    """The same without halves of surrogate pairs, which JSON cannot have."""
    return text.encode("utf-8", "replace").decode()


def _is_json(value: Any) -> bool:
    try:
        return isinstance(orjson.loads(value), dict)
    except orjson.JSONDecodeError:
        return False
