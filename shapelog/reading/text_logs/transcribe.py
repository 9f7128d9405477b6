"""A text log → a trace with the records that PyTorch would have written for what the log holds.

A log is read once. Each message belongs to a compile, by the id in front of it; where old versions write none, by the function that it
names. What a log does not hold (times, graphs or guards that were not logged) is in no record.
"""

import re
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import BinaryIO

from shapelog.reading.payloads.cuda_graphs import INDUCTOR_MESSAGE, cuda_graph_message
from shapelog.reading.payloads.pgo_state import parse as parse_code_state
from shapelog.reading.payloads.python_tracebacks import stack_lines
from shapelog.reading.records import StackFrame
from shapelog.reading.text_logs import versions
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.failures.raised import is_exception_alone, names_exception
from shapelog.reading.text_logs.lines.log_lines import Head, log_runs, rank_in
from shapelog.reading.text_logs.lines.signs import has_sign
from shapelog.reading.text_logs.lines.surroundings import is_fence, is_heading, is_progress, without_launcher
from shapelog.reading.text_logs.logged.logged_breaks import LoggedBreaks
from shapelog.reading.text_logs.logged.logged_compiles import LoggedCompiles
from shapelog.reading.text_logs.logged.logged_failures import LoggedFailures, forbids_recompile
from shapelog.reading.text_logs.logged.logged_graphs import LoggedGraphs
from shapelog.reading.text_logs.logged.logged_guards import LoggedGuards
from shapelog.reading.text_logs.logged.logged_recompiles import LoggedRecompiles
from shapelog.reading.text_logs.message_kinds import (
    MessageKind,
    follows_stack,
    heads_user_stack,
    is_cut_off,
    is_exception,
    is_frame,
    is_in_stack,
    kind_of,
    kind_of_plain,
    title_in,
    titles_break,
)
from shapelog.reading.text_logs.messages.captures import BACKWARD_PASS, cache_misses
from shapelog.reading.text_logs.messages.inductor_text import inductor_messages
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode
from shapelog.reading.text_logs.messages.logged_warnings import warning_text
from shapelog.reading.text_logs.messages.printed_metrics import printed_metrics
from shapelog.reading.text_logs.messages.reason_lines import is_left_open, without_cut_end, without_dots
from shapelog.reading.text_logs.messages.recompile_text import RecompileText, recompiled_code
from shapelog.reading.text_logs.open_message import MOST_LINES, OpenMessage
from shapelog.reading.text_logs.transcript import Transcript

_LINE_BY_LINE = (MessageKind.SYMBOLS, MessageKind.START, MessageKind.OTHER)
# The lines above the heading of a stack that may have the message of an exception, or above an exception those of its stack.
_MOST_ABOVE, _MOST_IN_MESSAGE = 200, 6
# Of a text that somebody pasted, which is read line by line.
_LINES_OF_PASTE = 5_000
# A warning that a text cuts; fewer words may begin several ones.
_LONGER_THAN_WORDS = 40
# Messages of which each is one event.
_COPIED = (MessageKind.RECOMPILES, MessageKind.GUARDS, MessageKind.GRAPH, MessageKind.BREAK, MessageKind.LIMIT)
_ABOVE_EXCEPTIONS = (MessageKind.RECOMPILES, MessageKind.LIMIT)
_START = re.compile(r"start (?:tracing|compiling) (?P<name>\S+)(?: (?P<file>.+):(?P<line>\d{1,9}))?(?:, stack \(.*)?\s*$")
_IN_TEXT = re.compile(r"\[(?P<id>!?\d{1,9}/\d{1,9}(?:_\d{1,9})?)\] (?=Re-recording|[Ss]kipping)")
_RECOMPILATION = re.compile(r"(?P<frame>\d{1,9})/[1-9]\d{0,9}(?:_\d{1,9})?$")
_EXPLAINED = re.compile(r"\s*Explanation: \S")


def transcribe(chunks: Iterable[bytes]) -> tuple[BinaryIO, LogContents]:
    """A temporary file without a name that holds the trace, and what the log holds; both are empty for text of another kind."""
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
    contents = Transcriber(file).read(chunks)
    file.flush()
    return file, contents


class Transcriber:
    """Writes a trace from the lines of a log. Time is linear in the log, memory in the number of its compiles."""

    def __init__(self, file: BinaryIO) -> None:
        self.contents = LogContents()
        self._compiles = LoggedCompiles(Transcript(file), self.contents)
        self._open: dict[tuple[int, int | None], OpenMessage] = {}
        self._plain: dict[int | None, OpenMessage] = {}  # without heads, one of each rank
        self._last: OpenMessage | None = None
        self._above: deque[tuple[int, str]] = deque(maxlen=_MOST_ABOVE)
        self._graph_breaks = LoggedBreaks(self._compiles, self.contents)
        self._graphs = LoggedGraphs(self._compiles, self.contents, self._graph_breaks)
        self._logged_guards = LoggedGuards(self._compiles, self.contents)
        self._recompiles = LoggedRecompiles(self._compiles, self.contents)
        self._logged_failures = LoggedFailures(self._compiles, self.contents, self._recompiles.add)
        self._captured: dict[tuple[int, str], None] = {}
        self._messages: set[int] = set()
        self._warnings: deque[str] = deque(maxlen=_MOST_ABOVE)
        self._warned: dict[tuple[int, int | None, str], tuple[Head, int]] = {}  # of each frame, its last recompilation, and the line
        self._is_end = False
        self._rank: int | None = None  # of the message without a head that is taken

    def read(self, chunks: Iterable[bytes]) -> LogContents:
        """Take a whole log."""
        for head, lines, number, raw, ranks in log_runs(chunks, lambda: self._last is None and self.contents.lines > _LINES_OF_PASTE):
            self._compiles.line = number
            if head is None:
                for at, printed in enumerate(lines):
                    if is_progress(raw[at], printed):
                        continue
                    text = without_launcher(printed)
                    if self._last is not None or has_sign(raw[at]) or (text != printed and has_sign(text)):
                        rank = ranks[at] if ranks else None
                        self._take_plain(text, number + at, rank_in(printed.removesuffix(text)) if rank is None else rank)
                    self._above.append((number + at, text))
            else:
                self._take(head, lines, number)
            self.contents.lines = number + len(lines) - 1
        for message in sorted((*self._open.values(), *self._plain.values()), key=lambda message: message.number):
            self._finish(message, is_end=message is self._last)
        self._take_held()
        self._compiles.line = self.contents.lines
        self._compiles.finish()
        return self.contents

    def _take_held(self) -> None:
        """What somebody quotes or mentions, now that it is known what the text has of it as PyTorch wrote it."""
        above = [text for _, text in self._above]
        self._recompiles.finish_bare(are_quoted=False)
        self._recompiles.finish_limits(above)
        self._take_changes()
        self._logged_failures.finish()
        self._recompiles.finish_bare(are_quoted=True, text=above)
        self._recompiles.take_retold(above)
        self._graph_breaks.finish()
        self._take_warned()
        self._logged_guards.finish()

    def _take_warned(self) -> None:
        """The recompilations that warnings name, where the text has nothing else: their reasons can be logged."""
        if self.contents.has_only_warnings:
            for head, line in self._warned.values():
                self._compiles.line = line
                if compile := self._compiles.compile_of(head, ""):
                    self._compiles.start(compile)

    def _take_changes(self) -> None:
        """What became dynamic, where the text has nothing else: guards show more, as do PyTorch's own reasons."""
        if not self.contents.has_only_warnings:
            return
        for head, line, reasons in self._logged_guards.changes.recompiles():
            self._compiles.line = line
            known = self._compiles.known(head)
            if known is None:
                self._recompiles.add(head, RecompileText(UNKNOWN_CODE, reasons), shows_version=False)
            elif not known.reasons:
                self.contents.messages["recompiles"] += 1
                self._compiles.write_reasons(known, reasons)

    def _take(self, head: Head, lines: list[str], number: int) -> None:
        """Lines with one head: a message, or more of one, or (without an artifact) several messages of a line each."""
        key = head.process, head.rank
        message = self._open.get(key)
        for at, text in enumerate(lines):
            self._compiles.line = number + at
            if message is None or head not in (message.head, message.also) or (message.kind in _LINE_BY_LINE and not head.artifact):
                kind = kind_of(head, text)
                if kind in (MessageKind.OTHER, MessageKind.WARNING) and titles_break(text, "".join(lines[at + 1 : at + 2])):
                    kind = MessageKind.BREAK
                if message is not None:
                    if message.kind is kind and not head.compile and is_cut_off(kind, text):  # another head, but no new message
                        message.also = head
                        message.lines += lines[at:]
                        break
                    self._finish(message)
                message = OpenMessage(head, kind, number + at, self._damaged(head, kind, text))
                self._last = self._open[key] = message
                message.begin(text)
                while self._plain:
                    self._finish(self._plain.pop(next(iter(self._plain))))
            if message.kind is MessageKind.SYMBOLS:
                self._compiles.line = number + at
                self._logged_guards.take_symbols(head, text)
            elif message.kind is MessageKind.START:
                self._start(head, text)
            elif message.kind is not MessageKind.OTHER:
                if len(message.lines) < MOST_LINES:
                    message.lines += lines[at:]
                break
            elif head.artifact:
                break
        self._last = message

    def _damaged(self, head: Head, kind: MessageKind, text: str) -> list[str]:
        """The first lines of a message that goes on with ``text``, where they have lost their heads, or the process in them."""
        last = self._last
        if last is None or last.kind is not kind or not is_cut_off(kind, text):
            return []
        if last.head is not None and (last.head.process or last.head.compile not in ("", head.compile)):
            return []
        if last.head is None:
            return self._plain.pop(last.rank).lines if self._plain.get(last.rank) is last else []
        key = 0, last.head.rank
        return self._open.pop(key).lines if self._open.get(key) is last else []

    def _take_plain(self, text: str, number: int, rank: int | None) -> None:
        """A line without a head: it goes on with the last message, begins one, or is the program's own."""
        if rank is not None and self._last is not None and self._last.head is None and self._last.rank != rank:
            self._last = self._plain.get(rank)  # ranks may write in turns
        kind, message = kind_of_plain(text), self._last
        if message is not None:
            if message.takes(text, kind) if not is_fence(text) else message.has_fenced_stack:
                message.lines.append(text)
                return
            message.ends_block = is_fence(text)
            self._last = None
            if self._plain.get(message.rank) is message:
                self._finish(self._plain.pop(message.rank))
        if kind is MessageKind.SYMBOLS:
            self._compiles.line = number
            self._logged_guards.take_symbols(Head(), text)
        elif kind is not MessageKind.OTHER:
            above = self._message_above(number) if heads_user_stack(text) else []
            if kind is MessageKind.FAILURE:
                self._finish_warnings()
                above = self._title_above(text) or (self._stack_above(number) if follows_stack(text) else above)
            is_quoted = kind is MessageKind.FAILURE and (names_exception(text) or heads_user_stack(text))
            message = OpenMessage(None, kind, number - len(above), [*above, text], has_raised=is_quoted, rank=rank)
            if before := self._plain.pop(rank, None):
                self._finish(before)
            self._last = self._plain[rank] = message
            message.begin(text, is_exception=kind is MessageKind.FAILURE and is_exception_alone(text))
        elif self.contents.stated is None:
            self.contents.stated = versions.stated_in(text)

    def _finish_warnings(self) -> None:
        """Take the messages above an exception that may be its cause, which PyTorch writes as a whole."""
        for key in [key for key, message in self._open.items() if message.kind in _ABOVE_EXCEPTIONS]:
            self._finish(self._open.pop(key))
        for rank in [rank for rank, message in self._plain.items() if message.kind in _ABOVE_EXCEPTIONS]:
            self._finish(self._plain.pop(rank))

    def _message_above(self, number: int) -> list[str]:
        """The message of an exception in the lines right above one, of which the last names its class, or else is all of it."""
        lines: list[str] = []
        for at, text in islice(reversed(self._above), _MOST_IN_MESSAGE):
            if at != number - len(lines) - 1 or is_fence(text) or (lines and lines[0].strip() and not text.strip()):
                break
            if is_heading(text) and not is_exception(text):
                break
            lines.insert(0, text)
        own = next((at for at in range(len(lines) - 1, -1, -1) if is_exception(lines[at])), None)
        own = own if own is not None else next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), len(lines))
        return lines[own:]

    def _title_above(self, text: str) -> list[str]:
        """The title in the line right above one that explains it."""
        title = title_in(self._above[-1][1], text) if self._above else ""
        return [title] if title else []

    def _stack_above(self, number: int) -> list[str]:
        """The stack above a line, perhaps with an empty line between, where it has lost its heading."""
        lines: list[str] = []
        for at, text in reversed(self._above):
            if at != number - len(lines) - 1 or not (is_in_stack(text) or (not lines and not text.strip())):
                break
            lines.insert(0, text)
        return lines if any(map(is_frame, lines)) else []

    def _finish(self, message: OpenMessage, is_end: bool = False) -> None:
        """Take what a message holds, without what is cut off where the text, or an excerpt in it, ends in it."""
        lines, message.lines = message.lines, []
        self._is_end = is_end or message.ends_block
        at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip(" `")), -1)
        has_reasons = message.kind in (MessageKind.RECOMPILES, MessageKind.LIMIT)
        if has_reasons:
            lines = [without_dots(line) for line in lines]
        if lines and ((is_end and (has_reasons or recompiled_code(lines[at]).file)) or (has_reasons and is_left_open(lines[at]))):
            lines[at] = without_cut_end(lines[at])
        if message.head and message.head.time and message.head.place.startswith("torch."):
            self.contents.signs.add(versions.DATED)
        if lines and not self._is_copy(message, lines):
            line, self._compiles.line, self._rank = self._compiles.line, message.number, message.rank
            _HANDLERS[message.kind](self, message.head or Head(), lines)
            self._compiles.line = line

    def _is_copy(self, message: OpenMessage, lines: list[str]) -> bool:
        """Whether a text has the same message of the same process and millisecond once more, as where somebody pasted it twice."""
        head = message.head
        if head is None or not head.is_exact or message.kind not in _COPIED:
            return False
        copied = hash((head, *filter(str.strip, lines)))
        is_known = copied in self._messages
        self._messages.add(copied)
        return is_known

    def _start_and_stack(self, head: Head, lines: list[str]) -> None:
        self._start(head, lines[0], tuple(stack_lines(lines[1:])))

    def _start(self, head: Head, text: str, callers: Sequence[StackFrame] = ()) -> None:
        """The line with which Dynamo begins, if ``dynamo`` itself is logged, and the stack that it may have."""
        found = _START.search(text)
        if found is None or not head.compile:
            return
        code = LoggedCode(found["name"], found["file"] or "", int(found["line"] or 0))
        compile = self._compiles.compile_of(head, "another" if self._compiles.is_of_another(head, code) else "start")
        if compile is not None:
            self._compiles.know(code.file)
            self._compiles.name(compile, code)
            self._compiles.start(compile, callers)

    def _recompiles_of(self, head: Head, lines: list[str]) -> None:
        if forbids_recompile(lines):
            self._failures_of(head, lines)
        else:
            self._recompiles.take(head, lines, self._is_end)

    def _limits(self, head: Head, lines: list[str]) -> None:
        self._recompiles.take_limits(head, lines, self._is_end)

    def _bare_reasons(self, head: Head, lines: list[str]) -> None:
        self._recompiles.take_bare(lines)

    def _captures(self, head: Head, lines: list[str]) -> None:
        """Messages of compiled autograd, each of which is one capture of the backward pass; the first one is no recompile."""
        for found in cache_misses(lines):
            if found.number and (head.process, found.number) in self._captured:
                continue  # what PyTorch gives as a list has the earlier ones again
            self._captured[head.process, found.number] = None
            self.contents.messages["compiled_autograd"] += 1
            is_first = found.is_first and not self._compiles.knows(head, BACKWARD_PASS)
            compile = self._compiles.unnumbered(head, BACKWARD_PASS, is_recompile=not is_first)
            compile.is_implied = True
            if not is_first:
                self._compiles.write_reasons(compile, (found.reason,))

    def _guards(self, head: Head, lines: list[str]) -> None:
        self._logged_guards.take(head, lines)

    def _graphs_of(self, head: Head, lines: list[str]) -> None:
        self._graphs.take(head, lines)

    def _graph_after_autograd(self, head: Head, lines: list[str]) -> None:
        self._graphs.take_after_autograd(head, lines)

    def _breaks(self, head: Head, lines: list[str]) -> None:
        self._graph_breaks.take(head, lines)

    def _explanation(self, head: Head, lines: list[str]) -> None:
        self._graph_breaks.take_explanation(head, lines)

    def _profile(self, head: Head, lines: list[str]) -> None:
        """The report of ``torch._dynamo.utils.CompileProfiler``: the recompiles of each function."""
        self.contents.has_profile = True
        self._graph_breaks.take_profile(head, lines)
        self._recompiles.take_profile(head, lines)

    def _failures_of(self, head: Head, lines: list[str]) -> None:
        for others in self._logged_failures.take(head, lines, self._rank):
            if any(map(_EXPLAINED.match, others)):
                self._breaks(head, others)
            at = next((at for at, line in enumerate(others) if "output of CUDAGraphs that has been" in line), None)
            if at is not None:  # Inductor raises a RuntimeError
                self._inductor(head, others[at:])

    def _metrics(self, head: Head, lines: list[str]) -> None:
        for fields in printed_metrics("\n".join(lines)):
            if self._compiles.take_metrics(head, fields):
                self.contents.messages["metrics"] += 1
                self.contents.messages["recompiles"] += bool(fields.get("recompile_reason"))

    def _state(self, head: Head, lines: list[str]) -> None:
        """The state of profile-guided optimization, as its page in the documentation shows it."""
        text = "\n".join(f"  {line.strip()}" if ": " in line.strip() else line.strip() for line in lines)
        state = parse_code_state(text)
        if not any(entry.states for entry in state.entries):
            return
        self.contents.messages["code state"] += 1
        self.contents.signs.add(versions.CODE_STATE)
        first = state.entries[0]
        compile = self._compiles.unnumbered(head, LoggedCode(first.name, first.file, first.line), is_recompile=False)
        self._compiles.write(compile, {"artifact": {"name": "put_local_code_state", "encoding": "string"}}, text)

    def _inductor(self, head: Head, lines: list[str]) -> None:
        """What Inductor wrote about CUDA graphs or speed. PyTorch has no record for most of it, so this is one of our own."""
        for text in inductor_messages(lines):
            named = _IN_TEXT.match(text)  # at run time, the message itself names the compile
            owner = named["id"] if named else head.compile
            compile = self._compiles.compile_of(head._replace(compile=owner), "") if owner else None
            if compile is not None:
                self._compiles.start(compile)
            body = text[named.end() :] if named else text
            self.contents.messages["cudagraphs" if head.artifact == "cudagraphs" or cuda_graph_message(body) else "perf_hints"] += 1
            self._compiles.write(compile, {"artifact": {"name": INDUCTOR_MESSAGE, "encoding": "string"}}, body)

    def _warning(self, head: Head, lines: list[str]) -> None:
        """A warning of the compiler, which is kept as it is; where a text ends in it, it is another one that begins with the same words."""
        if text := warning_text(lines):
            if self._is_end and len(text) > _LONGER_THAN_WORDS:
                text = next((known for known in self._warnings if known.startswith(text)), text)
            self._warnings.append(text)
            self._logged_failures.note_warning(head, text)
            if named := _RECOMPILATION.match(head.compile):
                self._warned[head.process, head.rank, named["frame"]] = head, self._compiles.line
            self.contents.messages["warnings"] += 1
            self._compiles.write(None, {"artifact": {"name": INDUCTOR_MESSAGE, "encoding": "string"}}, text)


_HANDLERS: dict[MessageKind, Callable[[Transcriber, Head, list[str]], None]] = {
    MessageKind.RECOMPILES: Transcriber._recompiles_of,
    MessageKind.LIMIT: Transcriber._limits,
    MessageKind.BARE_REASON: Transcriber._bare_reasons,
    MessageKind.CAPTURE: Transcriber._captures,
    MessageKind.GUARDS: Transcriber._guards,
    MessageKind.GRAPH: Transcriber._graphs_of,
    MessageKind.AOT_GRAPH: Transcriber._graph_after_autograd,
    MessageKind.BREAK: Transcriber._breaks,
    MessageKind.FAILURE: Transcriber._failures_of,
    MessageKind.METRICS: Transcriber._metrics,
    MessageKind.START_AND_STACK: Transcriber._start_and_stack,
    MessageKind.STATE: Transcriber._state,
    MessageKind.EXPLANATION: Transcriber._explanation,
    MessageKind.PROFILE: Transcriber._profile,
    MessageKind.INDUCTOR: Transcriber._inductor,
    MessageKind.WARNING: Transcriber._warning,
}
