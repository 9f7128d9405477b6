"""A piece of code that alerts are about: its titles, its lines, and what a baseline knows it by."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.code_matching import Code
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.alert import Alerts, Occurrence, RelatedLine, digest, stable_text
from shapelog.report.repository_paths import SourceLine
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import Rule
from shapelog.text import file_name, shorten

_LONGEST_CODE = 60


class AlertLines(NamedTuple):
    """The line of an alert, None where no file is known, the same as code, and the others that have to do with it."""

    source_line: SourceLine | None
    snippet: str
    related: tuple[RelatedLine, ...]


class AlertedCode(NamedTuple):
    """A piece of code with its compiles, and what all alerts about it have in common."""

    found: Alerts
    code: Code
    compiles: tuple[WeightedCompile, ...]

    def titles(self, items: Iterable[Occurrence | WeightedCompile]) -> list[str]:
        """The title of the code, once for each class for which it was compiled these times."""
        titles = (
            [self.code.title] if frame.title == frame.name else frame.titles_of(item.compile for item in own)
            for frame, own in grouped(items, lambda item: item.frame).items()
        )
        return list(dict.fromkeys(chain.from_iterable(titles)))

    def is_own(self, file: str) -> bool:
        """Whether a place lies in the file of this code. Guards shorten paths to their last two parts.

        Code that a text does not name may lie in any file of the user's.
        """
        own = self.code.first.file.replace("\\", "/")
        if self.found.report.trace.is_text and not own:
            return not is_library(file)
        return not self.code.first.is_library and (own == file or own.endswith(f"/{file}"))

    def lines(self, title: str, occurrences: Sequence[Occurrence], source_line: SourceLine | None, snippet: str) -> AlertLines:
        """The lines of an alert; its own is where the code begins or is called, of a library the call first, where no other is known."""
        first, called = self.code.first, self.called(occurrences)
        own = self.found.repository.source_line(first.file, first.line)
        call = self.found.repository.source_line(called.file, called.line) if called else None
        lines = [RelatedLine(own, f"{title} begins here")] if own and own.line else []  # a text may have the file alone
        if call and called and call.line:
            lines.append(RelatedLine(call, f"{title} is called here", called.code))
        if first.is_library:
            lines.reverse()
        chosen = source_line or (lines[0].place if lines else own)
        if source_line is None and chosen:  # that of code without a file, as PyTorch generates it
            snippet = ""
        if not snippet and called and chosen == call:
            snippet = called.code
        return AlertLines(chosen, snippet.strip(), tuple(line for line in lines if line.place != chosen))

    def fingerprint(self, rule: Rule, axes: Sequence[str] = ()) -> str:
        """What a baseline knows an alert by, in every run."""
        return digest(*self.found.identities[self.code], rule.code, stable_text(axes[0]) if axes else "")

    def called(self, occurrences: Sequence[Occurrence]) -> StackFrame | None:
        """The line that calls this code."""
        first = self.code.first
        frame, compile = occurrences[0].frame, occurrences[0].compile
        called = frame.caller(compile)
        if called is None and (first.is_library or (frame.has_only_one_caller if compile.is_refused else not compile.stack.frames)):
            # A refused call has no stack, and may be another line's, as one whose stack does not have the line.
            return (frame.last_caller_before(compile) if compile.is_refused else None) or first.called_at
        return called


def stopped_at(line: StackFrame, stopped: str = "Dynamo") -> str:
    """The line of a library on which Inductor or what has ``stopped`` did so; the place of the alert is that of the call."""
    file = file_name(line.file) if line.file.startswith("<") else "/".join(line.file.rsplit("/", 2)[-2:])
    place = f"{file}:{line.line}"
    code = shorten(line.code.strip(), _LONGEST_CODE)
    compiler = "Inductor" if "_inductor/" in line.file.replace("\\", "/") else stopped
    return f"{compiler} stopped at {place}{f': {code}' if code else ''}"
