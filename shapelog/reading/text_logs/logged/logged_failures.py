"""The failures of a log, each once, and the compiles that failed: a text may have one with its stack, logged and quoted."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN, split_entry
from shapelog.reading.text_logs import versions
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.failures.failure import failure, failure_of_backward
from shapelog.reading.text_logs.failures.failure_text import FailureText
from shapelog.reading.text_logs.failures.nameless import warned_failure
from shapelog.reading.text_logs.failures.raised import cells_with_exceptions
from shapelog.reading.text_logs.failures.stacks import innermost_code
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.logged.checked_entries import newest_checked
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile
from shapelog.reading.text_logs.logged.logged_compiles import LoggedCompiles
from shapelog.reading.text_logs.message_kinds import OF_BACKWARD
from shapelog.reading.text_logs.messages.limit_text import limits
from shapelog.reading.text_logs.messages.reason_lines import is_reason
from shapelog.reading.text_logs.messages.recompile_text import RecompileText, recompiles

# Failures that others are compared with, and exceptions without a stack that are kept until the end.
_MOST_QUOTED = 100
# Torch 2.6 and later, under ``torch.compiler.set_stance("fail_on_recompile")``.
_FORBIDDEN = "Detected recompile when"
# Where PyTorch logs an exception only if the backward graph cannot be compiled ahead of its use (torch 2.1 and later).
_OF_AOT_AUTOGRAD = "_functorch/_aot_autograd/"
_OF_ITSELF = re.compile(r"^Guard (?:failed on the same frame|check failed)[^\n]*?:\s+(\d{1,9}/\d{1,9}): ")
_UNCONVERTED = "T CONVERT "  # WON'T, or WONT before 2.0


class LoggedFailures:
    """Takes the messages with exceptions. Those without a stack are held until all of the log is read."""

    def __init__(
        self, compiles: LoggedCompiles, contents: LogContents, recompile: Callable[[Head, RecompileText, bool], LoggedCompile | None]
    ) -> None:
        self._compiles = compiles
        self._contents = contents
        self._recompile = recompile
        self._failures: list[tuple[FailureText, LoggedCompile]] = []
        self._quoted: list[tuple[FailureText, int]] = []
        self._warned: tuple[Head, FailureText, int] | None = None

    def take(self, head: Head, lines: list[str], rank: int | None) -> Iterator[list[str]]:
        """One message of PyTorch's, or a text of no head, with its rank; what of it is about no failure is given back.

        Old versions write the time without fractions, so that several failures may have the same head.
        """
        cells = cells_with_exceptions(lines[0]) if head == Head() else []
        starts = [at for at, line in enumerate(lines) if at and _UNCONVERTED in line]
        for part in ([cell] for cell in cells) if cells else (lines[begin:end] for begin, end in pairwise((0, *starts, len(lines)))):
            if not self._take_one(head, part, rank):
                yield part

    def note_warning(self, head: Head, text: str) -> None:
        """A warning, which may be all that a text has of a failure."""
        if failed := warned_failure(text):
            self._warned = head, failed, self._compiles.line

    def finish(self) -> None:
        """Take what somebody quotes, now that it is known what the text has of it as PyTorch wrote it, and else what it was warned of."""
        for failed, line in self._quoted:
            self._compiles.line = line
            self._fail(Head(), failed)
        if self._warned and self._contents.has_only_symbols:
            head, failed, self._compiles.line = self._warned
            self._fail(head, failed)

    def _take_one(self, head: Head, lines: list[str], rank: int | None) -> bool:
        """Whether it is a failure."""
        refused = [at for at, line in enumerate(lines) if _FORBIDDEN in line]
        if refused:
            for at, (begin, end) in zip(refused, pairwise((0, *refused[1:], len(lines))), strict=True):
                self._forbidden(head, lines[begin:end], at - begin)
            return True
        is_of_backward = OF_BACKWARD.match(lines[0]) is not None or _OF_AOT_AUTOGRAD in head.place
        found = failure(lines, is_logged=bool(head.place)) or (failure_of_backward(lines) if is_of_backward else None)
        if found is None or (found.is_at_limit and found.is_quoted and found.is_mentioned and head == Head()):
            return found is not None
        found = found._replace(is_of_backward=is_of_backward)
        of = self._named(Head(rank=rank), found) if head == Head() else head
        is_alone = (
            found.is_quoted and not found.is_at_limit and head == Head() and not of.compile and self._compiles.compile_of(of, "") is None
        )
        if is_alone and len(self._quoted) < _MOST_QUOTED:
            self._quoted.append((found, self._compiles.line))  # the traceback may follow
        else:
            self._fail(of, found)
        return True

    def _named(self, head: Head, found: FailureText) -> Head:
        """A head with the compile that the message names as one whose own guards failed, where the log has it."""
        own = _OF_ITSELF.search(found.message)
        named = head._replace(compile=own[1]) if own else head
        return named if own and self._compiles.known(named) else head

    def _fail(self, head: Head, found: FailureText) -> None:
        """A compile that failed; or more of the failure of one, which is repeated without its stack."""
        refused = self._compiles.refused(head, found.code) if found.is_at_limit else None
        known = None if refused or head.compile else self._repeated(found, head.rank)
        if known is not None:
            if known.failure is not None and known.failure.is_lost_violation:
                known.failure = known.failure._replace(type=found.type, message=found.message)
            if known.failure is not None and (known.failure.is_unnamed or found.is_unnamed):
                known.failure = known.failure.completed(found)
                known.code = known.code if known.code.name else known.failure.code
            else:
                is_cut = known.failure is not None and found.completes(known.failure)
                known.failure = known.failure if found.is_quoted and not is_cut else found
            return
        self._contents.failures += 1
        self._compiles.know(found.code.file)
        for item in _forbidden_in(found):
            latest = self._compiles.compile_of(head, "")
            if latest is None or not latest.reasons or latest.code != item.code:  # else the log has it above
                self._recompile(head, item, True)
        reasons = next((item.reasons for item in limits(found.text.split("\n")) if item.reasons), ()) if found.is_at_limit else ()
        frame, newest = newest_checked(reasons)
        if frame and not refused and not head.compile:
            head = head._replace(compile=f"{frame}/{max(1 + newest, int(found.limit or 0))}")
        begins = "" if not head.compile or found.is_of_backward else "limit" if found.is_at_limit and reasons else "failure"
        known = refused or self._compiles.compile_of(head, begins)
        is_below = known is not None and known.line > self._compiles.line and not (found.is_violation and known.has_symbols_alone)
        if known is not None and not head.compile and (_differ(known.code.name, found.code.name) or is_below):
            known = None  # of another function, or one that began below what somebody quotes
        compile = known or self._compiles.unnumbered(head, found.code, is_recompile=False)
        if not compile.code.name:
            compile.code = found.code
        if found.is_at_limit:
            self._contents.signs.update(versions.of_text(found.text))
            _note_limit(compile, found)
            if reasons and not compile.reasons:
                self._compiles.write_reasons(compile, reasons)
            compile.failure = None if "convert_frame" in head.place else found  # that one was caught
        elif compile.failure is None or len(found.text) > len(compile.failure.text):
            compile.failure = found
            compile.names_failure = bool(head.compile) and not found.is_of_backward
        if len(self._failures) < _MOST_QUOTED:
            self._failures.append((found, compile))

    def _repeated(self, found: FailureText, rank: int | None) -> LoggedCompile | None:
        """The compile whose failure it is that the log has once more, one of them without a stack or a message."""
        same = [
            compile
            for known, compile in self._failures
            if known.is_same(found)
            and self._compiles.may_be_of(compile, rank)
            and (known.is_quoted or found.is_quoted or known.is_announced or known.is_lost_violation or known.is_lost or found.is_lost)
        ]
        is_any = len(same) > 1 and any(compile.failure and compile.failure.is_lost for compile in same)
        return same[0] if same and not is_any else None

    def _forbidden(self, head: Head, lines: list[str], at: int) -> None:
        """A recompile that the stance ``fail_on_recompile`` forbids: it raised an error, whose message begins in the line ``at``."""
        for item in recompiles(lines[at:]):
            code = item.code if item.code.name else innermost_code(lines[:at])
            compile = self._recompile(head, item._replace(code=code), any(split_entry(text)[0] for text in item.reasons))
            if compile is not None:
                self._contents.failures += 1
                compile.failure = FailureText(RECOMPILE_FORBIDDEN, lines[at].strip(), code, "\n".join(lines))


def _differ(name: str, other: str) -> bool:
    """Whether both functions are known and differ; code after a graph break has the name of its function within its own."""
    return bool(name and other) and name != other and f"_in_{name}_at_" not in other and f"_in_{other}_at_" not in name


def _forbidden_in(found: FailureText) -> Iterable[RecompileText]:
    """The recompile that an exception is about, which may be quoted with nothing but its reason."""
    if found.type != "RecompileError":
        return ()
    reason = found.message.strip()
    return (RecompileText(found.code, (reason,)),) if is_reason(reason) else recompiles(reason.split("\n"))


def forbids_recompile(lines: list[str]) -> bool:
    """Whether a message is about a recompile that a stance of the program forbids."""
    return any(_FORBIDDEN in line for line in lines)


def _note_limit(compile: LoggedCompile, found: FailureText) -> None:
    """Note which limit a call hit, unless the warning has shown it."""
    if found.is_accumulated:
        compile.accumulated_limit = compile.accumulated_limit or found.limit
    else:
        compile.limit_value = compile.limit_value or found.limit
    compile.limit = compile.limit or f"{'accumulated_' if found.is_accumulated else ''}recompile_limit reached"
