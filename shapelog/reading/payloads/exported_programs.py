"""What ``torch.export`` writes: the program, printed, with the ranges of its symbols, and of one that failed the graph up to that line.

The program ends with (torch 2.4 to 2.15)::

    Range constraints: {s31: VR[0, 64], u3: VR[3, int_oo]}

A graph, whole or not, has a comment above the operations of each line of code (``torch.fx.graph``)::

    # File: /srv/app/model.py:28 in forward, code: if n > 4:
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.reading.records import StackFrame

_RANGES = re.compile(r"^Range constraints: \{(.*)\}\s*$", re.M)
_RANGE = re.compile(r"(\w+): (?:VR|ValueRanges\()?(\[[^\]]*\])")
_COMMENT = re.compile(r"^\s*# File: (.*?):(\d{1,18}) in (\S+?)(?:, code: (.*))?$", re.M)
_OPERATION = re.compile(r"^\s+\w+(?:: *\"[^\"]*\")? = (torch\.ops\.[\w.]+)\(", re.M)


class Range(NamedTuple):
    """The values that a symbol may have, both ends included; None where there is no end."""

    least: int | None
    most: int | None

    def __str__(self) -> str:
        if self.least is not None and self.least == self.most:
            return f"exactly {self.least}"
        if self.most is None:
            return "any" if self.least is None else f"{self.least} or more"
        return f"{self.most} or less" if self.least is None else f"{self.least} to {self.most}"


def parse_range(text: str) -> Range:
    """``[2, int_oo]`` as a range; an end that is no int is open."""
    ends = [part.strip() for part in text.strip("[] ").split(",")]
    return Range(_end(ends[0]), _end(ends[1] if len(ends) > 1 else ""))


def _end(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None


def range_constraints(program: str) -> dict[str, Range]:
    """The range of each symbol that an exported program lists at its end; {} where it lists none."""
    lists = _RANGES.findall(program)
    return {name: parse_range(text) for name, text in _RANGE.findall(lists[-1])} if lists else {}


def lines_of(graph: str) -> Iterator[StackFrame]:
    """The lines of code that the operations of a graph come from, in order."""
    for found in _COMMENT.finditer(graph):
        yield StackFrame(found[1], int(found[2]), found[3], found[4] or "")


def last_line(graph: str) -> StackFrame | None:
    """The line of code that the last operations of a graph come from."""
    return next(iter(deque(lines_of(graph), maxlen=1)), None)


def last_operation(graph: str) -> str:
    """The last operator that a graph calls, such as ``mylib.count.default``; "" without one."""
    names = _OPERATION.findall(graph)
    return names[-1].removeprefix("torch.ops.") if names else ""


def line_of_operation(graph: str, operator: str) -> StackFrame | None:
    """The line of code whose operations include the first call of an operator such as ``mylib.count.default``."""
    at = graph.find(f"torch.ops.{operator}(")
    return last_line(graph[:at]) if at >= 0 else None


def last_condition(graph: str) -> str:
    """The expression that the last operation of a graph computes, such as ``u0 > 4``; "" where that is a tensor."""
    lines = [line for line in graph.splitlines() if line.strip()]
    found = re.match(r"\s+\w+: *\"Sym\((.*)\)\" = ", lines[-1]) if lines else None
    return found[1] if found else ""
