"""What a notebook shows of a result of any layer, and makes of it."""

from importlib import import_module
from typing import Any

# How many rows a table has there.
_LIMIT = 12


def in_notebook(kind: str, result: object) -> str:
    """A result as a fragment of HTML; ``kind`` is its name in the table of formats, which no layer below the reporters imports."""
    reporters = import_module("shapelog.reporters")
    fragment: bytes = reporters.renderer(kind, "notebook")(result, reporters.Options(limit=_LIMIT))
    return fragment.decode()


def in_memory(form: str, result: object, job: str) -> Any:
    """A report as tables: ``form`` is a function of ``tables.in_memory``, which no layer below the tables imports."""
    return getattr(import_module("shapelog.tables.in_memory"), form)(result, job)
