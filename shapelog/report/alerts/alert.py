"""What a CI system shows: recompiles of each piece of code by cause, limits, failures and graph breaks, placed in the repository."""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository, SourceLine
from shapelog.report.weighted import WeightedCompile, weighted_compiles
from shapelog.rules import AlertKind, Level, Remedy, Rule
from shapelog.text import file_name, how_often, names_of, some

# The compiles that a sentence names, and the calls that are asked for the lines that make them.
_LABELS, _MOST_CALLS = 4, 32
# What differs from run to run and from machine to machine: addresses and ids, lines, and the directories of a file.
_FLEETING = re.compile(r"0x[0-9a-fA-F]+|\d{6,}|(?<=\bline )\d+|(?:(?<=[\s`\"(])|^)(?:[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])+")


class Occurrence(NamedTuple):
    """One time that it happened: the compile and its frame, the ranks that this represents, and the number of its process in the run.

    ``kinds`` are what this one is with regard to the rule.
    """

    frame: Frame
    compile: Compile
    ranks: tuple[int, ...]
    process: int
    seconds: float
    kinds: frozenset[AlertKind]

    @property
    def times(self) -> int:
        """On how many ranks; each of them once."""
        return len(self.ranks) or 1


class RelatedLine(NamedTuple):
    """Another line that has to do with an alert, why it has, and the line itself, "" where the trace does not have it."""

    place: SourceLine
    text: str
    code: str = ""


class Rest(NamedTuple):
    """Of recompiles that need different things: the ids of others, what to do about them, and the ids of those that the alert's remedy is
    for, such as those that marking removes.

    Of calls that were refused at the recompile limit for several reasons: the same for those of another one, and the ids of the first.

    ``because`` is what the remedy is about where the alert is about something else, ``task changed as well``; "" otherwise.
    """

    remedy: Remedy
    labels: tuple[str, ...]
    removed: tuple[str, ...]
    because: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Alert:
    """One rule about one piece of code, with everything that ``occurrences`` have in common.

    ``cell`` is the place of the line in a cell of a notebook, "" for one in a file. ``why`` is what changed, without the code that was
    recompiled; "" where the rule is about something else.

    ``axes`` are the properties that changed together, each time the same; () where the rule is about none; ``subjects`` are these as a
    title names them. ``codes`` are all codes of its causes. ``titles`` are the names of the code, one for each class for which it was
    compiled these times. ``sentence`` is what happened, ``facts`` has each different cause once, ``remedy`` is what to do.
    ``source_line`` is the user's line, None where no file is known; ``snippet`` is that line as code, ``marked`` the part of it that the
    alert is about. ``fingerprint`` is made of the file, the name of the code, the rule and the property, never of a line or a compile id.
    ``messages`` are what PyTorch wrote, ``exceptions`` those that it raised; ``notes`` are why marking does not remove some of it,
    ``rest`` is what to do about that.
    """

    rule: Rule
    codes: tuple[str, ...]
    level: Level
    code: Code
    axes: tuple[str, ...]
    titles: tuple[str, ...]
    sentence: str
    facts: tuple[str, ...]
    remedy: Remedy
    source_line: SourceLine | None
    snippet: str
    related: tuple[RelatedLine, ...]
    occurrences: tuple[Occurrence, ...]
    fingerprint: str
    marked: str = ""
    messages: tuple[CompilerMessage, ...] = ()
    exceptions: tuple[RaisedException, ...] = ()
    notes: tuple[str, ...] = ()
    rest: Rest | None = None
    subjects: tuple[str, ...] = ()
    why: str = ""
    cell: str = ""

    @property
    def title(self) -> str:
        """The names in words."""
        return names_of(self.titles)

    @property
    def call(self) -> RelatedLine | None:
        """The line that calls the code, None where the trace does not have it."""
        return next((line for line in self.related if line.code), None)

    @property
    def other_calls(self) -> int:
        """How many other lines made calls that it is about, as far as the first of these show."""
        asked = self.occurrences[:_MOST_CALLS]
        found = {(called.file, called.line) for item in asked if (called := item.frame.caller(item.compile))}
        return max(0, len(found) - 1)

    @property
    def helps(self) -> tuple[str, ...]:
        """What to do, most specific first; with the code of the rule that it comes from where that is not the alert's own.

        Of recompiles that need different things, those that marking removes come first, unless the sentence begins with one for which
        the rule itself has the remedy. Hints of PyTorch that are about this very place replace what the rule recommends.
        """
        specific = dict.fromkeys(hint for message in self.messages for hint in message.specific_hints)
        general = dict.fromkeys(hint for message in self.messages for hint in message.hints if hint not in specific)
        own = [_with_rule(self.remedy, self.rule)]
        if self.rest:
            removed, others = (some(labels, _LABELS) for labels in (self.rest.removed, self.rest.labels))
            because = f"{self.rest.because}: " if self.rest.because else ""
            own = [
                ": ".join(filter(None, (removed, own[0]))),
                f"{others or 'the others'}: {because}{_with_rule(self.rest.remedy, self.rule)}",
            ]
            if self.rest.remedy.rule is self.rule and self.occurrences[0].compile.shown_label in self.rest.labels:
                own.reverse()
        return (*(specific or own), *general)

    @property
    def limit_message(self) -> CompilerMessage | None:
        """What PyTorch wrote about the recompile limit, which is the same each time; ``helps`` is about this very code."""
        found = (item.compile.failure for item in self.occurrences if item.compile.outcome is Outcome.LIMIT)
        return next((message for message in found if message.hints), None) if AlertKind.LIMIT in self.kinds else None

    @property
    def pytorch_messages(self) -> tuple[CompilerMessage, ...]:
        """Everything that PyTorch wrote about it."""
        return (*self.messages, *filter(None, [self.limit_message]))

    @property
    def axis(self) -> str:
        """The first of the properties, "" without any."""
        return self.axes[0] if self.axes else ""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """(rule code, property): what identifies the alerts of one code in every run; each is in one alert only, but for errors."""
        return tuple((self.rule.code, axis) for axis in dict.fromkeys(map(stable_text, self.axes or ("",))))

    @property
    def kinds(self) -> frozenset[AlertKind]:
        return frozenset[AlertKind]().union(*(occurrence.kinds for occurrence in self.occurrences))

    @property
    def seconds(self) -> float:
        return math.fsum(occurrence.seconds for occurrence in self.occurrences)

    @property
    def count(self) -> int:
        return sum(occurrence.times for occurrence in self.occurrences)

    @property
    def labels(self) -> tuple[str, ...]:
        """The ids of its compiles; () where it is about an export, which has none."""
        return tuple(dict.fromkeys(occurrence.compile.label for occurrence in self.occurrences if occurrence.compile.label))

    @property
    def shown_labels(self) -> tuple[str, ...]:
        """The same for people: without those that a text log does not have."""
        return tuple(dict.fromkeys(filter(None, (occurrence.compile.shown_label for occurrence in self.occurrences))))

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({rank for occurrence in self.occurrences for rank in occurrence.ranks}))


def stable_text(axis: str) -> str:
    """The name of a property without what differs from run to run or on another machine."""
    return _FLEETING.sub("$", axis)


@dataclass(frozen=True, slots=True, eq=False)
class Alerts:
    """A report with its pieces of code and their alerts, worst and most expensive first. Processes that run the same code share them.

    ``processes`` has the number of a frame's process: process ids come again, in each container the same. ``identities`` are the same
    for a code in every run.
    """

    report: Report
    repository: Repository
    codes: tuple[Code, ...]
    alerts: tuple[Alert, ...]
    processes: Mapping[Frame, int]
    identities: Mapping[Code, tuple[str, ...]]

    def weight(self, process: int) -> int:
        """How many ranks a process represents."""
        trace = self.report.trace
        return trace.rank_weight(trace.ranks[process].number)

    def compiles(self, code: Code) -> tuple[WeightedCompile, ...]:
        return weighted_compiles(self.report.explained, code.frames)

    def occurrence(self, item: WeightedCompile, kinds: frozenset[AlertKind], seconds: float | None = None) -> Occurrence:
        """``seconds`` None are those of the compile on all the ranks that its own represents."""
        return Occurrence(
            frame=item.frame,
            compile=item.compile,
            ranks=item.ranks,
            process=self.processes[item.frame],
            seconds=item.seconds if seconds is None else seconds,
            kinds=kinds,
        )


def level_of(rule: Rule, occurrences: Iterable[Occurrence]) -> Level:
    """The worst level of what happened, or that of the rule."""
    levels = {kind.level for item in occurrences for kind in item.kinds} or {rule.level}
    return next(level for level in Level if level in levels)


def how_many_times(occurrences: Iterable[Occurrence], more: int = 0) -> str:
    """``twice``: how often it happened on all ranks, and ``more`` times."""
    return how_often(sum(occurrence.times for occurrence in occurrences) + more)


def exception_lines(chain: tuple[RaisedException, ...], shown: str) -> Iterator[str]:
    """``RuntimeError: no kernel, at model.py:7``: what began the failure, and where the chain passes through the user's code.

    The last of a chain is what the failure itself is reported as, so that only its line is shown; so is one that ``shown`` names already.
    """
    for number, item in enumerate(chain):
        own = [line for line in item.stack if not is_library(line.file)]
        is_first = number == 0 and item.message != chain[-1].message and not (item.message and item.message in shown)
        if own or is_first:
            where = f"at {file_name(own[-1].file)}:{own[-1].line}" if own else ""
            words = f"{item.type}{f': {item.message}' if item.message else ''}" if is_first else item.type
            yield f"{words}, {where}" if where else words


def digest(*parts: str) -> str:
    """A fingerprint: 32 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _with_rule(remedy: Remedy, rule: Rule) -> str:
    """The remedy with the code of the rule that it comes from, where that is another one."""
    return remedy.text if remedy.rule is rule else f"{remedy.text} ({remedy.rule.code})"
