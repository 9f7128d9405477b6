"""Tracebacks as IPython, rich, pytest and exception groups print them → as Python prints them, which is all that is read further on."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shapelog.reading.text_logs.lines.surroundings import as_printed, is_fence, without_launcher

HEADING = "Traceback (most recent call last):"
_HEADS = re.compile(r"Traceback \(most recent call last\)")
# How far a traceback is looked for its end, or a function for its first line.
_MOST_LINES, _MOST_ABOVE, _MOST_IN_MESSAGE = 4_000, 400, 200

# ``Cell In[1], line 10``, ``Input In [3], in <cell line: 5>()``, ``<ipython-input-3-1f> in f(x)``, ``File ~/a.py:5, in f(x)``,
# ``~/a.py in f(x)``, and below it the line with an arrow in front.
_OF_IPYTHON = re.compile(r"(?P<type>\w{1,80}) {2,200}Traceback \(most recent call last\)$")
IN_FILE = re.compile(
    r"(?:(?P<cell>(?:Cell |Input )?In ?\[\d{1,9}\])(?:, line (?P<row>\d{1,9}))?|(?P<old><ipython-input-[\w-]{1,40}>)"
    r"|File (?P<file>[^\s\"].{0,1000}?):(?P<line>\d{1,9})|(?P<path>(?:[~/]|[A-Z]:\\)\S{0,1000}\.py))"
    r"(?:,? in (?P<name><[^<>]{1,80}>|\w[\w.]{0,400}(?:<\w{1,40}>[\w.]{0,400}){0,9}).*)?$"
)
ARROW = re.compile(r"-{1,20}> ?(?P<line>\d{1,9}) ?(?P<code>.*)$")


class _Frame(NamedTuple):
    """A line of a traceback: its file, its number, its function, and its code where that is there."""

    file: str
    line: str
    name: str
    code: str = ""

    @property
    def as_printed(self) -> list[str]:
        """As Python prints it."""
        at = f'  File "{self.file}", line {self.line}, in {self.name}'
        return [at, f"    {self.code}"] if self.code else [at]


class _Part(NamedTuple):
    """Some lines as Python prints them, in place of those from ``begin`` to ``end``."""

    begin: int
    end: int
    lines: Sequence[str]


def as_python_prints(text: str) -> str:
    """A text with its tracebacks as Python prints them."""
    readers = [reader for sign, reader in _READERS if sign in text]
    if not readers:
        return text
    raw = text.split("\n")
    printed = list(map(as_printed, raw))
    lines = list(map(without_launcher, printed))
    written: list[str] = []
    at = 0
    while at < len(lines):
        part = next(filter(None, (reader(lines, at) for reader in readers)), None)
        if part is None:
            written.append(raw[at])
            at += 1
        else:
            lead = printed[at].removesuffix(lines[at].lstrip())
            written += (f"{lead}{line}" for line in part.lines)
            at = part.end
    return "\n".join(written)


def frame_of_ipython(place: re.Match[str], arrow: re.Match[str] | None) -> _Frame:
    """A frame by the heading that IPython gives it, and the line below with an arrow."""
    file = place["cell"] or place["old"] or place["file"] or place["path"]
    line = arrow["line"] if arrow else place["row"] or place["line"] or "0"
    name = (place["name"] or "").rpartition(".")[2]  # without what the function is in, as Python names it
    is_module = not name or name.startswith("<cell line")
    return _Frame(file, line, "<module>" if is_module else name, arrow["code"].strip() if arrow else "")


def _of_ipython(lines: Sequence[str], at: int) -> _Part | None:
    heading = _OF_IPYTHON.match(lines[at].strip())
    if heading is None:
        return None
    margin = len(lines[at]) - len(lines[at].lstrip())
    raised = re.compile(rf"(?:\w{{1,80}}\.){{0,8}}{heading['type']}(?::|$)")
    frames: list[_Frame] = []
    place: re.Match[str] | None = None
    for end in range(at + 1, min(len(lines), at + _MOST_LINES)):
        line = lines[end][margin:]
        if raised.match(line):
            last = [frame_of_ipython(place, None)] if place else []
            return _Part(at, end, [HEADING, *(text for frame in (*frames, *last) for text in frame.as_printed)])
        if _HEADS.search(line) or is_fence(line):
            break
        if found := IN_FILE.match(line):
            frames += [frame_of_ipython(place, None)] if place else []
            place = found
        elif place and (arrow := ARROW.match(line)):
            frames.append(frame_of_ipython(place, arrow))
            place = None
    return None


_READERS: tuple[tuple[str, Callable[[Sequence[str], int], _Part | None]], ...] = (("  Traceback (most", _of_ipython),)
