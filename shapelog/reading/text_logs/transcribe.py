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
from shapelog.reading.payloads.guards.comments import split_comment
from shapelog.reading.payloads.pgo_state import parse as parse_code_state
from shapelog.reading.payloads.python_tracebacks import stack_lines
from shapelog.reading.payloads.recompile_reasons import parse as parse_reason
from shapelog.reading.payloads.recompile_reasons import split_entry
from shapelog.reading.records import StackFrame
from shapelog.reading.text_logs import versions
from shapelog.reading.text_logs.bare_reasons import BareReasons, bare_reasons
from shapelog.reading.text_logs.captures import BACKWARD_PASS, cache_misses
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.failures import is_exception_alone, names_exception
from shapelog.reading.text_logs.lines.log_lines import Head, log_runs, rank_in
from shapelog.reading.text_logs.lines.signs import has_sign
from shapelog.reading.text_logs.lines.surroundings import is_fence, is_heading, is_progress, without_launcher
from shapelog.reading.text_logs.logged_breaks import LoggedBreaks
from shapelog.reading.text_logs.logged_compiles import LoggedCompile, LoggedCompiles, newest_checked
from shapelog.reading.text_logs.logged_failures import LoggedFailures, forbids_recompile
from shapelog.reading.text_logs.logged_guards import LoggedGuards
from shapelog.reading.text_logs.logged_warnings import warning_text
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
from shapelog.reading.text_logs.messages import (
    UNKNOWN_CODE,
    LimitText,
    LoggedCode,
    RecompileText,
    inductor_messages,
    is_left_open,
    limits,
    recompiled_code,
    recompiles,
    without_cut_end,
)
from shapelog.reading.text_logs.open_message import MOST_LINES, OpenMessage
from shapelog.reading.text_logs.printed_metrics import printed_metrics
from shapelog.reading.text_logs.summaries import profiled_recompiles
from shapelog.reading.text_logs.transcript import Transcript

_LINE_BY_LINE = (MessageKind.SYMBOLS, MessageKind.START, MessageKind.OTHER)
# The lines above the heading of a stack that may have the message of an exception, or above an exception those of its stack.
_MOST_ABOVE, _MOST_IN_MESSAGE = 200, 6
# Of a text that somebody pasted, which is read line by line.
_LINES_OF_PASTE = 5_000
# Limits that sentences mention, which are kept until the warning itself follows.
_MOST_MENTIONED = 100
# Reasons without their messages that are kept until the end, and those of messages that they are compared with.
_MOST_BARE = 10_000
# The recompiles that are looked at to tell the version; all of a log are of one.
_ENOUGH_FOR_VERSION = 100
# Messages of which each is one event.
_COPIED = (MessageKind.RECOMPILES, MessageKind.GUARDS, MessageKind.GRAPH, MessageKind.BREAK, MessageKind.LIMIT)
_ABOVE_EXCEPTIONS = (MessageKind.RECOMPILES, MessageKind.LIMIT)
# How a text has none of the reasons that PyTorch writes below each recompilation.
_ENDS, _LEAVES_OUT = "the log ends before its reasons", "the log leaves out its reasons"
_GRAPH_BEGIN = re.compile(r"^\s*(?:.*?\s)?(?=class GraphModule\(torch\.nn\.Module\):)")
_FORWARD_GRAPH = re.compile(r"^ *===== Forward graph \d")
_MADE_BY_DYNAMO = re.compile(r"===== __compiled_fn_")
_IN_GRAPH = re.compile(r"# File: (?P<file>.+?):(?P<line>\d{1,9}) in (?P<name>\S+?), code: ?(?P<code>.*)")
_START = re.compile(r"start (?:tracing|compiling) (?P<name>\S+)(?: (?P<file>.+):(?P<line>\d{1,9}))?(?:, stack \(.*)?\s*$")
_IN_TEXT = re.compile(r"\[(?P<id>!?\d{1,9}/\d{1,9}(?:_\d{1,9})?)\] (?=Re-recording|[Ss]kipping)")
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
        self._logged_guards = LoggedGuards(self._compiles, self.contents)
        self._logged_failures = LoggedFailures(self._compiles, self.contents, self._recompile)
        self._mentioned: list[tuple[LimitText, int]] = []
        self._captured: dict[tuple[int, str], None] = {}
        self._bare: list[tuple[BareReasons, int]] = []
        self._reasons: set[tuple[str, str]] = set()
        self._messages: set[int] = set()
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
        for item, line in self._bare:
            if not item.is_said:
                self._compiles.line = line
                self._take_bare(item)
        mentions = [pair for pair in self._mentioned if not pair[0].is_mentioned]
        explained = {mention.setting for mention, _ in mentions if mention.reasons}
        for mention, line in {_what_failed(mention): (mention, line) for mention, line in mentions}.values():
            if mention.reasons or mention.setting not in explained:
                self._compiles.line = line
                self._take_limit(Head(), mention)
        self._take_changes()
        self._logged_failures.finish()
        for item, line in self._bare:
            if item.is_said:
                self._compiles.line = line
                self._take_bare(item)
        self._graph_breaks.finish()

    def _take_changes(self) -> None:
        """What became dynamic, where the text has nothing else: guards show more, as do PyTorch's own reasons."""
        if not self.contents.has_only_warnings:
            return
        for head, line, reasons in self._logged_guards.changes.recompiles():
            self._compiles.line = line
            known = self._compiles.known(head)
            if known is None:
                self._recompile(head, RecompileText(UNKNOWN_CODE, reasons), shows_version=False)
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
        if head is None or not _is_exact(head) or message.kind not in _COPIED:
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

    def _recompiles(self, head: Head, lines: list[str]) -> None:
        if forbids_recompile(lines):
            self._failures_of(head, lines)
            return
        items = list(recompiles(lines))
        for item in dict.fromkeys(items) if _is_exact(head) else items:
            if head == Head() and not item.reasons and item.is_mentioned:
                continue
            if item.suggested:
                self.contents.signs.add(versions.SUGGESTION)
            self.contents.suggested.update(dict.fromkeys(filter(None, item.suggested.split(","))))
            compile = self._recompile(head, item)
            if compile is not None and not item.reasons:
                compile.lost_reasons = _ENDS if self._is_end else _LEAVES_OUT

    def _recompile(self, head: Head, item: RecompileText, shows_version: bool = True) -> LoggedCompile | None:
        """The compile that it is, None where the log had it already."""
        self._compiles.know(item.code.file)
        if shows_version and self.contents.messages["recompiles"] < _ENOUGH_FOR_VERSION:
            self.contents.signs.update(versions.of_reasons(item.reasons))
        frame, newest = newest_checked(item.reasons)
        if not head.compile and frame:  # a line that lost its head still names the entries that were checked
            head = head._replace(compile=f"{frame}/{1 + newest}")
        self._know_reasons(item.reasons, head.compile, item.code.name)
        compile = (
            self._compiles.compile_of(head, "reasons", item.code, names_entries=bool(item.reasons))
            if head.compile
            else self._compiles.unnumbered(head, item.code)
        )
        if compile is None or (compile.reasons and not item.is_whole):
            return None
        self.contents.messages["recompiles"] += bool(item.reasons)
        self._compiles.name(compile, item.code)
        self._compiles.write_reasons(compile, item.reasons)
        return compile

    def _limit(self, head: Head, lines: list[str]) -> None:
        self.contents.signs.update(versions.of_text("\n".join(lines)))
        is_rest = is_cut_off(MessageKind.LIMIT, lines[0])
        for item in limits(lines):
            is_mention = head == Head() and not item.code.name and not is_rest
            if item.is_mentioned and head == Head() and not item.reasons:
                continue
            self.contents.signs.update(() if is_mention else versions.of_reasons(item.reasons))
            if is_mention:
                if len(self._mentioned) < _MOST_MENTIONED and not self.contents.limits:  # the warning itself may follow
                    self._mentioned.append((item, self._compiles.line))
            else:
                known = next((limit.reasons for limit, _ in self._mentioned if limit.setting == item.setting and limit.reasons), ())
                self._take_limit(head, item if item.reasons else item._replace(reasons=known))
                self._mentioned = [pair for pair in self._mentioned if pair[0].setting != item.setting]

    def _take_limit(self, head: Head, item: LimitText) -> None:
        self.contents.limits += 1
        self._compiles.know(item.code.file)
        frame, newest = newest_checked(item.reasons)
        if not head.compile and frame:
            head = head._replace(compile=f"{frame}/{max(1 + newest, int(item.limit or 0))}")
        self._know_reasons(item.reasons, head.compile)
        compile = self._compiles.compile_of(head, "limit", item.code) if head.compile else None
        compile = compile or self._compiles.unnumbered(head, item.code, is_recompile=False)
        self._compiles.name(compile, item.code)
        compile.limit = f"{item.setting} reached" + (f" ({item.limit})" if item.limit else "")
        compile.limit_value = "" if "accumulated" in item.setting else item.limit
        if item.reasons and not compile.reasons:
            self._compiles.write_reasons(compile, item.reasons)
        elif item.is_cut and not compile.reasons:
            compile.lost_reasons = _ENDS if self._is_end else _LEAVES_OUT

    def _bare_reason(self, head: Head, lines: list[str]) -> None:
        """Reasons that somebody pasted without their messages, which may follow."""
        for item in bare_reasons(lines):
            if item.is_checked or len(self._bare) >= _MOST_BARE:
                self._take_bare(item)
            else:
                self._bare.append((item, self._compiles.line))

    def _take_bare(self, item: BareReasons) -> None:
        """The recompilation of reasons alone, unless the text has them once more, as in a summary, or before and after a change."""
        if item.is_said and not self.contents.has_only_warnings:
            return
        is_named = bool(item.code.name or split_entry(item.reasons[0])[0])
        if is_named and {(item.compile or item.code.name, _guard_of(reason)) for reason in item.reasons} <= self._reasons:
            return
        self._recompile(Head(compile=item.compile), RecompileText(item.code, item.reasons), shows_version=not item.is_checked)

    def _know_reasons(self, reasons: Iterable[str], *of: str) -> None:
        """Note the reasons of a compile, as the text may have them once more, alone; ``of`` are its id and its function."""
        if len(self._reasons) < _MOST_BARE:
            self._reasons |= {(name, _guard_of(reason)) for reason in reasons for name in ("", *of)}

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

    def _graph(self, head: Head, lines: list[str]) -> None:
        parts: list[list[str]] = []
        for line in lines:
            if line.strip() == "TRACED GRAPH":
                parts.append([])
            elif parts:
                parts[-1].append(line)
        if not parts and (cut := self._compiles.known(head)):
            cut.lost_graph = True
        for part in parts:
            if not part or not _MADE_BY_DYNAMO.search(part[0]) or "pre insert" in part[0]:
                continue
            begin = next((at for at, line in enumerate(part) if "class GraphModule" in line), None)
            compile = self._compiles.compile_of(head, "graph") if begin is not None else None
            if compile is None or begin is None:
                continue
            self.contents.messages["graph_code"] += 1
            payload = "\n".join([_GRAPH_BEGIN.sub("", part[begin]), *part[begin + 1 :]]).rstrip() + "\n"
            self._name_by_graph(compile, payload)
            self._compiles.start(compile)
            compile.has_graph = True
            sizes = {"symbols": ["s"]} if '"Sym(' in payload else {}
            self._compiles.write(compile, {"dynamo_output_graph": {"sizes": sizes}}, payload)

    def _graph_after_autograd(self, head: Head, lines: list[str]) -> None:
        """Which compile it is of, and of which function. Its inputs have no names of sources, so sizes are not taken from it."""
        compile = self._compiles.compile_of(head, "") if any(map(_FORWARD_GRAPH.search, lines)) else None
        if compile is not None:
            self.contents.messages["aot_graphs"] += 1
            self._name_by_graph(compile, "\n".join(lines))
            self._compiles.start(compile)

    def _name_by_graph(self, compile: LoggedCompile, graph: str) -> None:
        """The function of a compile that nothing else names, where all of its operations are in one, or in one that breaks the graph."""
        places = list(_IN_GRAPH.finditer(graph))
        for found in places:
            self._compiles.know(found["file"])
        broken = self._graph_breaks.functions_of(compile)
        named = [found for found in places if not broken or (found["file"], found["name"]) in broken]
        if not compile.code.name and len({(found["file"], found["name"]) for found in named}) == 1:
            first = named[0]
            compile.code = LoggedCode(first["name"], first["file"], int(first["line"]))

    def _breaks(self, head: Head, lines: list[str]) -> None:
        self._graph_breaks.take(head, lines)

    def _explanation(self, head: Head, lines: list[str]) -> None:
        self._graph_breaks.take_explanation(head, lines)

    def _profile(self, head: Head, lines: list[str]) -> None:
        """The report of ``torch._dynamo.utils.CompileProfiler``: the recompiles of each function."""
        self.contents.has_profile = True
        self._graph_breaks.take_profile(head, lines)
        for item in profiled_recompiles(lines):
            self._recompile(head, item)

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
        """A warning of the compiler, which is kept as it is."""
        if text := warning_text(lines):
            self.contents.messages["warnings"] += 1
            self._compiles.write(None, {"artifact": {"name": INDUCTOR_MESSAGE, "encoding": "string"}}, text)


def _is_exact(head: Head) -> bool:
    """Whether a head has a process, a compile and a millisecond, in which no other message has the same words."""
    return bool(head.process and head.compile) and "." in head.time


def _what_failed(limit: LimitText) -> tuple[str, ...]:
    """The setting, and what the last reason is about: a warning that names no function may be repeated with other values."""
    if not limit.reasons:
        return (limit.setting,)
    reason = parse_reason(limit.reasons[-1])
    return limit.setting, reason.source or reason.text, str(reason.prop)


def _guard_of(reason: str) -> str:
    """A reason without its line of code and its stack, which a person may leave out."""
    return split_comment(reason.partition("\n")[0].strip())[0]


_HANDLERS: dict[MessageKind, Callable[[Transcriber, Head, list[str]], None]] = {
    MessageKind.RECOMPILES: Transcriber._recompiles,
    MessageKind.LIMIT: Transcriber._limit,
    MessageKind.BARE_REASON: Transcriber._bare_reason,
    MessageKind.CAPTURE: Transcriber._captures,
    MessageKind.GUARDS: Transcriber._guards,
    MessageKind.GRAPH: Transcriber._graph,
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
