"""The graph breaks of a log, each once, and the compiles that they belong to.

PyTorch writes a break that an exception of the backend caused up to three times (``unimplemented_with_warning`` in
``torch/_dynamo/exc.py``): the exception with its stack, a warning, and the break itself. The first two count where the third is missing.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import message_of_break
from shapelog.reading.payloads.python_tracebacks import user_stack
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.lines.joined import joined_parts
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile
from shapelog.reading.text_logs.logged.logged_compiles import UNKNOWN, LoggedCompiles
from shapelog.reading.text_logs.message_kinds import is_of_item
from shapelog.reading.text_logs.messages.breaks import (
    ABOVE_STACK_OF_ITEM,
    announced_break,
    break_text,
    each_break,
    has_cut_stack,
    place_of_break,
    quoted_break,
    skipped_function,
    skips_function,
)
from shapelog.reading.text_logs.messages.logged_code import LoggedCode
from shapelog.reading.text_logs.messages.summaries import counted_breaks, explained_breaks, profiled_breaks

_MOST_PROFILED, _MOST_HELD, _MOST_RECENT = 1_000, 1_000, 64
# Above a stack that begins in the compiled function, with the heading of torch 2.5 and 2.6; those of torch 2.8 and later begin outside.
_OLD_STACK = re.compile(r".* from user code at:|Reason: ")
_STACK = "User code traceback:"
_FRAME = re.compile(r'File "(.*)", line (\d{1,9}), in ([^\s,]+)')
_EXPLAINED = re.compile(r"^\s*Explanation: (\S.*)", re.M)
_UNSUPPORTED_CALL = re.compile(r"(Unsupported \S+ call)$", re.M)
# What Dynamo raises where it skips a function, which then runs in eager mode.
_LEFT_TO_PYTHON = "Unsupported"
# A sentence that breaks off where a log ends: long enough that a name of a function alone is none.
_CUT_SENTENCE = re.compile(r"(?:^|\n|\. )((?:(?!\. )[^\n]){60,}(?<![.)\]'\"`\s]))\s*$")


class _Held(NamedTuple):
    """A break that another message may have, too: where that has ``words``, or is one of the same compile or function at all."""

    head: Head
    text: str
    code: LoggedCode
    compile: LoggedCompile | None
    line: int
    words: str = ""


class LoggedBreaks:
    """Takes the messages about graph breaks. Some are held until all of the log is read; what is only quoted counts where nothing else
    in it is a break or a failure.
    """

    def __init__(self, compiles: LoggedCompiles, contents: LogContents) -> None:
        self._compiles = compiles
        self._contents = contents
        self._without_id: dict[LoggedCode, LoggedCompile] = {}
        self._texts: dict[LoggedCompile, list[str]] = {}
        self._places: set[tuple[LoggedCompile, LoggedCode]] = set()
        self._recent: deque[str] = deque(maxlen=_MOST_RECENT)
        self._held: list[_Held] = []
        self._quoted: dict[str, int] = {}

    def take(self, head: Head, lines: Sequence[str]) -> None:
        """One message of PyTorch's, which may have several breaks."""
        if head == Head() and (quoted := quoted_break(lines[0])):
            if len(self._quoted) < _MOST_HELD:
                self._quoted.setdefault(quoted, self._compiles.line)
            return
        for part in each_break(lines):
            if any(map(str.strip, part)):  # not the cut head of a line
                self._take_one(head, part)

    def take_explanation(self, head: Head, lines: list[str]) -> None:
        """What ``torch._dynamo.explain`` prints: the graph breaks of one call."""
        found, counted = list(explained_breaks(lines)), counted_breaks(lines)
        self._contents.counted_breaks = max(self._contents.counted_breaks, counted)
        if counted.breaks and not found:
            self._take_one(head, ["Graph break: "])
        for item in found:
            if item.place is None:
                self._take_one(head, [f"Graph break: {item.reason}"])
                continue
            text = f"Graph break in user code at {item.place.file}:{item.place.line}\nGraph Break Reason: {item.reason}\n"
            text += f'User code traceback:\n  File "{item.place.file}", line {item.place.line}, in {item.place.name}\n'
            text += f"    {item.place.code}\n" if item.place.code else ""
            if head.compile:  # "COMPILING GRAPH due to", in which Dynamo has the break once more
                compile, title = self._compiles.compile_of(head, ""), item.reason.partition("\n")[0]
                self._hold(_Held(head=head, text=text, code=_innermost(text), compile=compile, line=self._compiles.line, words=title))
            else:
                self._take_one(head, text.split("\n"))

    def take_profile(self, head: Head, lines: list[str]) -> None:
        """Those in the report of ``torch._dynamo.utils.CompileProfiler``."""
        for reason, count in profiled_breaks(lines):
            for _ in range(min(count, _MOST_PROFILED)):
                self._take_one(head, [f"Graph break: {reason}"])

    def functions_of(self, compile: LoggedCompile) -> set[tuple[str, str]]:
        """The file and the name of each function in the stacks of the breaks of a compile, the compiled one among them."""
        return {(found[1], found[3]) for text in self._texts.get(compile, ()) for found in _FRAME.finditer(text)}

    def finish(self) -> None:
        """Take what was held and no other message has."""
        for item in sorted(self._held, key=lambda item: not item.words):
            if not self._is_known(item):
                self._compiles.line = item.line
                self._write(item.head, item.text, item.code, item.compile)
        if not self._contents.messages["graph_breaks"] and not self._contents.failures:
            for quoted, line in self._quoted.items():
                self._compiles.line = line
                self._write(Head(), quoted, UNKNOWN, None)

    def _take_one(self, head: Head, lines: Sequence[str]) -> None:
        compile = self._compiles.compile_of(head, "") if head.compile else None
        parts = [part for line in lines for part in joined_parts(line)]
        if (announced := announced_break("\n".join(parts))) is not None:
            if compile is not None:
                self._compiles.name(compile, announced.code)
            self._hold(_Held(head, announced.text, announced.code, compile, self._compiles.line))
            return
        parts[:0] = ABOVE_STACK_OF_ITEM if is_of_item(head, parts[0]) else ()
        text = break_text("\n".join(parts))
        skipped = skipped_function("\n".join(parts))
        if compile is not None and skipped.name:
            self._compiles.name(compile, skipped)
        stack = user_stack(text) if compile is not None and not compile.code.name and any(map(_OLD_STACK.match, lines)) else ()
        if stack and compile is not None:
            self._compiles.name(compile, LoggedCode(stack[0].name, stack[0].file, stack[0].line))
        is_warning = head.compile and not head.artifact
        explained = (_EXPLAINED.search(text) or _UNSUPPORTED_CALL.match(text)) if is_warning else None
        if explained:
            self._hold(_Held(head=head, text=text, code=_innermost(text), compile=compile, line=self._compiles.line, words=explained[1]))
            return
        self._write(head, text, _innermost(text), compile, skips=skips_function("\n".join(parts)))

    def _hold(self, item: _Held) -> None:
        if item.compile is not None:
            self._compiles.start(item.compile)  # before those that follow
        if len(self._held) < _MOST_HELD:
            self._held.append(item)

    def _write(self, head: Head, text: str, code: LoggedCode, compile: LoggedCompile | None, skips: bool = False) -> None:
        text = _whole(text, self._recent)
        self._recent.append(text)
        if compile is None:
            compile = self._without_id.get(code)
            if compile is None:
                compile = self._without_id[code] = self._compiles.unnumbered(head, code, is_recompile=False)
        self._contents.messages["graph_breaks"] += 1
        if skips:
            file, number = place_of_break(text)
            metrics = {"fail_type": _LEFT_TO_PYTHON, "fail_reason": message_of_break(text), "has_guarded_code": False}
            compile.skipped = {**metrics, **({"fail_user_frame_filename": file, "fail_user_frame_lineno": number} if file else {})}
        self._compiles.start(compile)
        self._compiles.write(compile, {"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}}, text.rstrip() + "\n")
        if code != UNKNOWN:
            self._places.add((compile, code))
        if len(self._texts) < _MOST_HELD:
            self._texts.setdefault(compile, []).append(text)

    def _is_known(self, item: _Held) -> bool:
        """Whether another message has this break, too. A compile breaks once at a line, as another one goes on behind it."""
        if item.compile is not None:
            return (item.compile, item.code) in self._places or _have(self._texts.get(item.compile, ()), item.words)
        same = (compile for code, compile in self._without_id.items() if (code.name, code.file) == (item.code.name, item.code.file))
        return any(_have(self._texts.get(compile, ()), item.words) for compile in same)


def _have(texts: Iterable[str], words: str) -> bool:
    return any(words in text for text in texts)


def _whole(text: str, others: Iterable[str]) -> str:
    """The words of a break, which go on as those of another one where the log ends within a sentence that both have."""
    last = _CUT_SENTENCE.search(text) if not _FRAME.search(text) else None
    rests = (other.partition(last[1])[2] for other in others) if last else ()
    return text.rstrip() + next((rest for rest in rests if rest[:1].strip()), "").partition(_STACK)[0]


def _innermost(text: str) -> LoggedCode:
    """The function of the innermost line of the user's stack, where that is all of it; that of PyTorch's own may be below it."""
    *_, found = (None, *_FRAME.finditer(text.partition("\nTraceback (most recent call last):\n")[0]))
    return LoggedCode(found[3], found[1], int(found[2])) if found and not has_cut_stack(text, found[1], found[2]) else UNKNOWN
