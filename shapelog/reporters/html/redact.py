"""What is removed from a page that is to be shared: code, payloads and absolute paths."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.comments import place_of, split_comment
from shapelog.text import one_line

# A path that starts at a root: /a/b.py, C:\a\b.py, \\host\share\b.py, file:///a/b.py.
_PATH = re.compile(r"(?:file://|(?<![\w./\\<]))(?:[A-Za-z]:)?[/\\]{1,2}(?:[^\s/\\'\"`<>|:;,(){}\[\]]+[/\\])+")
_STACK = re.compile(r"\nUser stack trace:.*|^\s*File \"[^\"]*\", line \d+.*$(?:\n    .*)?", re.S | re.M)
_SHORTEST = 6
# What follows a place and two spaces is its line of code, whatever it looks like.
_QUOTED = re.compile(r"(:\d+)  \S.*", re.S)
# What could be a name or a list of names is not treated as a line of code.
_NAMES = re.compile(r"[\w\s.,]*")


@dataclass(frozen=True, slots=True)
class Redaction:
    """The code lines and directories of one trace, and what takes their place. Lines of fewer than six characters could be any text."""

    lines: tuple[str, ...]
    folders: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """The text without a code line of the trace and without the directories of an absolute path."""
        if len(text) < _SHORTEST:
            return text
        text = _QUOTED.sub(r"\1", text)
        for line in self.lines:
            if line in text:
                text = text.replace(line, "[code]")
        for folder in self.folders:
            if folder in text:
                text = text.replace(folder, "…/")
        return _PATH.sub("…/", text)


def redaction_of(trace: Trace) -> Redaction:
    """What must not be shown of this trace; longest first, so that no part of a longer one is left."""
    lines: set[str] = set()
    files: set[str] = set()
    for compile in trace.compiles:
        stacks = [compile.stack]
        stacks += [item.user_stack for item in compile.symbols]
        stacks += [item.user_stack for item in compile.specializations]
        for found in (item for stack in stacks for item in stack.frames):
            lines.add(found.code.strip())
            files.add(found.file)
        graph = compile.graph
        if graph:
            lines.update(item.code.strip() for item in graph.user_lines)
            files.update(item.file for item in graph.user_lines)
        for reason in compile.reasons:
            if reason.place:
                lines.add(reason.place.code.strip())
        tree = compile.guards
        if tree:
            comments = {guard.comment for guard in tree.guards} | {guard.comment for guard in tree.shapes}
            lines.update(place.code.strip() for place in map(place_of, comments) if place)
    for found in (line for export in trace.exports for line in export.code_lines):
        lines.add(found.code.strip())
        files.add(found.file)
    files.update(frame.file for frame in trace.frames)
    folders = {file[: max(file.rfind("/"), file.rfind("\\")) + 1] for file in files}
    code = {line for line in lines if not _NAMES.fullmatch(line)}
    return Redaction(_longest_first(code | set(map(one_line, code))), _longest_first(folders))


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted((text for text in texts if len(text) >= _SHORTEST), key=lambda text: (-len(text), text)))


def without_stack(text: str) -> str:
    """PyTorch's text without the code, places and stacks that it appends to them."""
    return split_comment(_STACK.sub("", text))[0].strip()
