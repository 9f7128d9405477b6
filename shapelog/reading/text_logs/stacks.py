"""The frames of tracebacks, as Python and as IPython write them."""

import re
from collections.abc import Callable, Iterable, Iterator

from shapelog.reading.payloads.compiler_messages import stack_lines
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.reading.text_logs.messages import UNKNOWN_CODE, LoggedCode

# ``Cell In[1], line 10``, ``Input In [3], in <cell line: 5>()``, ``<ipython-input-3-1f> in f(x)``, ``File ~/a.py:5, in f(x)``,
# ``~/a.py in f(x)``.
_HEADING = re.compile(
    r"^(?:(?P<cell>(?:Cell |Input )?In ?\[\d{1,9}\])(?:, line \d{1,9})?|(?P<old><ipython-input-[\w-]{1,40}>)"
    r"|File (?P<file>[^\s\"].*?):(?P<at>\d{1,9})|(?P<path>(?:[~/]|[A-Z]:\\)\S*\.py))"
    r"(?:,? in (?P<name><[^<>]*>|[\w.]+(?:<\w+>[\w.]*)*).*)?$"
)
_ARROW = re.compile(r"^-{1,20}> ?(?P<line>\d{1,9}) ?(?P<code>.*)$")


def innermost_code(lines: Iterable[str], is_other: Callable[[str], bool] = is_library) -> LoggedCode:
    """The function of the innermost line of a traceback whose file is not one of those that ``is_other`` names."""
    own = next((frame for frame in reversed(frames_in(lines)) if not is_other(frame.file)), None)
    return LoggedCode(own.name, own.file, own.line) if own else UNKNOWN_CODE


def frames_in(lines: Iterable[str]) -> list[StackFrame]:
    """The frames of all stacks in some lines."""
    lines = list(lines)
    found = [frame for line in lines for frame in stack_lines([line])] or list(_of_ipython(lines))
    return [frame._replace(file=frame.file.replace("\\", "/")) for frame in found]


def _of_ipython(lines: Iterable[str]) -> Iterator[StackFrame]:
    """Those of IPython: a heading for each, and an arrow in front of the line."""
    heading: re.Match[str] | None = None
    for line in lines:
        if found := _HEADING.match(line):
            heading = found
        elif heading and (arrow := _ARROW.match(line)):
            file = heading["cell"] or heading["old"] or heading["file"] or heading["path"]
            yield StackFrame(file, int(arrow["line"]), heading["name"] or "<module>", arrow["code"].strip())
            heading = None
