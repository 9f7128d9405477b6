"""Warnings of the compiler about no single compile: as Python prints them, as PyTorch logs them, and what kernels assert."""

import re
from collections.abc import Iterable

from shapelog.reading.payloads.python_tracebacks import exception_chain
from shapelog.reading.payloads.source_names import GENERATED

_PARTS = (
    r"(?:_dynamo|_inductor|_functorch[./\\](?:_aot_autograd|partitioners)|_library|_export|export|_higher_order_ops|_subclasses"
    r"|fx[./\\]experimental)"
)
# The place in front of what PyTorch logs.
_OF_COMPILER = re.compile(rf"(?:\S{{0,400}}[/\\])?torch[./\\]{_PARTS}\b")
_PLACE = r"\.py:\d{1,9}: "
PRINTED = (
    rf"[/\\]torch[/\\]{_PARTS}[\w/\\]{{0,100}}{_PLACE}\w{{0,40}}Warning: "
    rf"|{_PLACE}\w{{0,40}}Warning: (?![^\n]{{0,300}}?\b(?:switch to|favor of) `?torch\.(?:compile|export)\b)"
    r"[^\n]{0,300}?\b(?:torch\.(?:compile|export|_dynamo|_inductor)|during export)\b"
)
# A kernel that Inductor made for a GPU, once for each thread that met it.
ASSERTED = rf"{GENERATED}[\w/\\]{{0,100}}{_PLACE}\w{{1,200}}: block: \["
_BEHIND_PLACE = re.compile(
    rf"^.{{0,600}}?{_PLACE}(?:\w{{0,40}}Warning: ?|\w{{1,200}}: block: \[[^\]]{{0,80}}\], thread: \[[^\]]{{0,80}}\] )?"
)
_TRACEBACK = "Traceback (most recent call last):"
_CPP_STACK = re.compile(r"For C\+\+ stack trace, run with \S{1,80}")
_MOST_LINES = 12


def is_of_compiler(place: str) -> bool:
    """Whether PyTorch logged a message in a file of the compiler: ``torch/_inductor/utils.py:1953``, ``torch._inductor.utils``."""
    return _OF_COMPILER.match(place) is not None


def warning_goes_on(lines: list[str], text: str) -> bool:
    """Whether a line without a head goes on with a warning that Python printed: its lines up to that of its code, which is indented."""
    if not text.strip() or lines[-1][:1].isspace() or len(lines) > _MOST_LINES:
        return False
    return text[:1].isspace() or not _BEHIND_PLACE.sub("", lines[0]).strip()


def warning_text(lines: Iterable[str]) -> str:
    """The words of a warning in one line, and the exception that is logged with it."""
    text = "\n".join(lines)
    words, heading, _ = text.partition(_TRACEBACK)
    first, *more = words.split("\n")
    begin = _BEHIND_PLACE.match(first)
    own = [first[begin.end() :] if begin else first, *(line for line in more if not begin or not line[:1].isspace())]
    raised = next(reversed(exception_chain(text)), None) if heading else None
    error = f"{raised.type}: {raised.message}".removesuffix(": ") if raised else ""
    return ": ".join(filter(None, (" ".join(_CPP_STACK.sub("", " ".join(own)).split()).rstrip(":"), error)))


def without_place(line: str) -> str:
    """A line without the place at which Python prints a warning."""
    return _BEHIND_PLACE.sub("", line) if "Warning: " in line else line
