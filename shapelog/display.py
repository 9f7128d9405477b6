"""What a notebook shows of a result of any layer."""

from importlib import import_module

# How many rows a table has there.
_LIMIT = 12


def in_notebook(kind: str, result: object) -> str:
    """A result as a fragment of HTML; ``kind`` is its name in the table of formats, which no layer below the reporters imports."""
    reporters = import_module("shapelog.reporters")
    fragment: bytes = reporters.renderer(kind, "notebook")(result, reporters.Options(limit=_LIMIT))
    return fragment.decode()
