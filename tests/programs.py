"""Programs whose compiled function is called at lines that a trace names."""

import json
from pathlib import Path
from typing import Any

import make
from make import compile as compiled
from payload_text import size_mismatch

from shapelog.reading.payloads.source_names import without_locals

LIBRARY = "/opt/python3.11/lib/python3.11/site-packages"
DYNAMO = [
    {"line": 1166, "name": "compile_wrapper", "filename": f"{LIBRARY}/torch/_dynamo/eval_frame.py", "loc": "result = fn(*args, **kwargs)"},
    {"line": 2628, "name": "__call__", "filename": f"{LIBRARY}/torch/_dynamo/convert_frame.py", "loc": "result = self._inner_convert("},
]


def line_of(text: str, part: str) -> int:
    """The number of the first line that begins with ``part``, blanks aside."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith(part))


def recorded(path: Path, text: str, call: str, name: str = "f", definition: str = "@torch.compile", **more: Any) -> bytes:
    """A trace of a program at ``path``: the function ``name`` recompiled once because dim 0 of x was 8 and then 3.

    ``call`` is how the line that called it begins, ``definition`` the first line of the function.
    """
    stack = [
        {"line": line_of(text, call), "name": "<module>", "filename": str(path), "loc": text.splitlines()[line_of(text, call) - 1].strip()}
    ]
    return recorded_at(path, line_of(text, definition), [*stack, *more.pop("between", [])], name, **more)


def recorded_at(path: Path, line: int, stack: list[dict[str, Any]], name: str = "f", source: str = "L['x']", **more: Any) -> bytes:
    where: dict[str, Any] = {"name": name, "file": str(path), "line": line, **more}
    version = where.pop("version", "2.13.0+cpu")
    first = compiled("0/0", make.tensor(8, 16, source=source), **where)
    second = compiled(
        "0/1", make.tensor(3, 16, source=source), reasons=[size_mismatch("0/0", 8, 3, name=without_locals(source))], dynamic=[0], **where
    )
    whole = json.dumps([*stack, *DYNAMO]).encode()
    first = first.replace(b'"filename": 1', b'"filename": "<stdin>"')
    return make.trace(first, second.replace(b'"stack": []', b'"stack": ' + whole), version=version)
