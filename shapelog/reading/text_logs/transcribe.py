"""A text log → a trace with the records that PyTorch would have written for what the log holds.

A log is read once. Each message belongs to a compile, by the id in front of it; where old versions write none, by the function that it
names. What a log does not hold (times, graphs or guards that were not logged) is in no record.
"""

import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson

from shapelog.reading.payloads.pgo_state import parse as parse_code_state
from shapelog.reading.payloads.recompile_reasons import parse as parse_reason
from shapelog.reading.payloads.recompile_reasons import split_entry
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.log_lines import Head, log_runs
from shapelog.reading.text_logs.messages import (
    AddedText,
    Code,
    FailureText,
    PinnedText,
    Place,
    RecompileText,
    SymbolText,
    TrackedText,
    explained_breaks,
    failure,
    limits,
    profiled_recompiles,
    recompiles,
    symbolic,
)
from shapelog.reading.text_logs.transcript import Transcript

# Kinds of messages. Lines of the others are read by themselves.
(
    _RECOMPILES,
    _GUARDS,
    _GRAPH,
    _BREAK,
    _LIMIT,
    _FAILURE,
    _STATE,
    _BARE_REASON,
    _EXPLANATION,
    _PROFILE,
    _SYMBOLS,
    _OTHER,
) = range(12)
_LINE_BY_LINE = (_SYMBOLS, _OTHER)
_WITH_REASONS = (_RECOMPILES, _LIMIT, _PROFILE)
_BY_ARTIFACT = {
    "recompiles": _RECOMPILES,
    "recompiles_verbose": _RECOMPILES,
    "guards": _GUARDS,
    "graph_code": _GRAPH,
    "graph_breaks": _BREAK,
}
_ID = re.compile(r"(?:!(?P<autograd>\d+))?/?(?:(?P<frame>\d+)/(?P<compile>\d+))?(?:_(?P<attempt>\d+))?")
_SYMBOLIC_WORDS = (
    "create_symbol ",
    "create_unbacked_",
    "eval ",
    "set_replacement ",
    "_update_var_to_range ",
    "track_symint ",
    "create_env",
    "runtime_assert ",
)
# Frequent lines that nothing is taken from, and kinds of messages of one line.
_IGNORED = ("Skipping guard ", "lru_cache_stats ", "produce_guards", "marking ", "eval_")
# One of these is in each text that begins a message, but for a reason that begins with the id of an entry.
_WORDS = (
    "ompil", "dynamo", "torch.", "Error", "Limit", "last reason", "function: ", "raceback", "raph break", "raph Break", "GuardFail",
    "Profiler", "mismatch", "GUARD", "+- ", "check_", "create_", "set_repl", "_update_var", "track_sym", "guard", "tensor size=",
    "fully dynamic",
)  # fmt: skip
_REASON = re.compile(r"^\W{0,9}\d{1,9}/\d{1,9}: ", re.M)
# What begins a message, in the order in which it is tried; and what may follow on lines that have no head.
_BEGINS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (
        _LIMIT,
        re.compile(
            r"dynamo hit (?:config\.|recompilation|$)|^\s*function: '?.*'? \(.*:\d+\)\s*$|^\s*last reason: "
            r"|^\s*(?:Recompile|Cache)LimitExceeded: "
        ),
    ),
    (
        _FAILURE,
        re.compile(
            r"Traceback \(most recent call last\)|WON'T CONVERT |Error while creating guard"
            r"|^\s*(?:\w+ +)?(?:torch\.(?:_dynamo|_inductor|fx)\.[\w.]+|ConstraintViolationError|BackendCompilerFailed"
            r"|InternalTorchDynamoError|TorchRuntimeError|FailOnRecompileLimitHit|RecompileError)(?:: |$)"
        ),
    ),
    (_EXPLANATION, re.compile(r"^\s*Graph Break Count: \d+\s*$")),
    (_PROFILE, re.compile(r"^\s*Torchdynamo Profiler Report\s*$")),
    (_RECOMPILES, re.compile(r"Recompiling function \S+|Detected recompile when torch\.compile stance")),
    (
        _BREAK,
        re.compile(
            r"^\s*Graph break from `"
            r"|^\s*Graph [Bb]reak(?: \([^()]*\))?(?: in user code at |: from user code at:|: .* from user code at)"
        ),
    ),
    (
        _BARE_REASON,
        re.compile(
            r"GuardFail\(reason=|^\W*\d{1,9}/\d{1,9}: \S"
            r"|^\W*tensor '.+?' (?:size|strides?|rank|dtype|requires_grad|dispatch key set|Tensor device index) mismatch"
        ),
    ),
    (_GUARDS, re.compile(r"^\s*(?:TREE_GUARD_MANAGER:|(?:\| )*\+- \w|[A-Z_]+: check_tensor\()")),
    (_STATE, re.compile(r"^\s*(?:hash\(\w+\))?\S.*:\d{1,9}:[\w<>.]+:\s*$")),
    (
        _SYMBOLS,
        re.compile(
            r"^\s*(?:create_symbol|create_unbacked_\w+|(?:eval|runtime_assert) .* \[guard added\]|set_replacement|_update_var_to_range"
            r"|track_symint|create_env)"
        ),
    ),
)
_ANY_BEGIN = re.compile(
    r"Recompiling function |Detected recompile|torch\._dynamo|dynamo hit|Error: |Hit: |LimitExceeded|^\s*function: |^\W*\d+/\d+: "
    r"|^\s*last reason: |Traceback \(|Graph [Bb]reak|GuardFail\(|tensor '|TREE_GUARD|\+- |check_tensor\("
    r"|:\d{1,9}:[\w<>.]+:\s*$"
    r"|Profiler Report|torch\._inductor|torch\.fx|create_|set_repl|_update_var|track_sym|guard added"
)
_CONTINUES = {
    _RECOMPILES: re.compile(r"\s*(?:triggered by|guard \d+ fail|- |User stack trace|\^|~)|\s*File \"| {4,}\S|\S+\d\s*$|\s*\w[^.]{0,60}$"),
    _LIMIT: re.compile(
        r"\s*(?:config\.|function: |(?:last )?reasons?:|To log all|[Tt]o diagnose|See http|- |expected )| {3,}\S|\S+ (?:==|is) "
        r"|\S+ rank mismatch"
    ),
    _EXPLANATION: re.compile(r"\s|$|Op Count|Break Reasons"),
    _PROFILE: re.compile(r""),
    _BREAK: re.compile(r"\s*(?:(?:Graph Break )?Reason:|User code traceback|Explanation|Hint|Developer|For more)|\s+\S|\s*$"),
    _GUARDS: re.compile(r"\s*(?:(?:\| )*\+- |\| |[A-Z_]+: check_tensor\(|RootGuardManager|Guard latency|$)"),
    _STATE: re.compile(
        r"\s*\S.*: (?:tensor size=|scalar |fully dynamic|auto unset|unusual)|\s*(?:hash\(\w+\))?\S.*:\d{1,9}:[\w<>.]+:\s*$"
        r"|PGO detected"
    ),
}
_FAILURE_GOES_ON = re.compile(
    r"\s|$|from user code|Set TORCH|You can suppress|Explanation|Hint|Developer|For more|The above exception|During handling|Traceback \("
    r"|Reason:|triggered by|Recompiling function|due to:|torch\.|E  |\w*Error|\w+: "
)
_MOST_FAILURE_LINES, _MOST_OPEN_LINES = 2_000, 200_000
_IN_TREE = re.compile(r"\s*(?:\| ?)*\+- \w")
_LISTED = re.compile(
    r"\s*(?:[A-Z_]+: )?((?:check_tensor\(|___\w+\(|__nn_module_guard_|(?:not )?hasattr\(|len\(|[LG]\[|utils_device|str\(|not [LG_]"
    r"|-?\d+ <=? [LG(]|list\(|(?:Eq|Ne)\().*)"
)
_GRAPH_BEGIN = re.compile(r"^\s*(?:.*?\s)?(?=class GraphModule\(torch\.nn\.Module\):)")
_MADE_BY_DYNAMO = re.compile(r"===== __compiled_fn_")
_IN_GRAPH = re.compile(r"# File: (?P<file>.+?):(?P<line>\d{1,9}) in (?P<name>\S+?), code: ?(?P<code>.*)")
_DUPLICATE = re.compile(r"^(Graph break) \([^()]*\) (?=in user code at)")
_TENSOR = re.compile(
    r"check_tensor\((?P<source>.*?), (?P<type>[\w.]+), DispatchKeySet\(.*?\), torch\.(?P<dtype>\w+), device=.*?, "
    r"requires_grad=(?P<grad>True|False)"
)
_QUOTED_REASON = re.compile(
    r"GuardFail\(reason=(?P<quote>['\"])(?P<reason>.*?)(?P=quote), "
    r"orig_code=<code object (?P<name>\S+)(?: at \w+)?(?:, file \"(?P<file>[^\"]*)\", line (?P<line>\d+))?"
)
_MOST_KNOWN_FILES = 2_000
_UNKNOWN = Code()
# Process ids have seven digits at most; before torch 2.6 lines hold the id of a thread, which has more.
_LARGEST_PROCESS_ID = 1 << 22


@dataclass(slots=True, eq=False)
class _Message:
    """Lines that were written at once."""

    head: Head | None
    kind: int
    number: int
    lines: list[str] = field(default_factory=list)
    has_raised: bool = False


@dataclass(slots=True, eq=False)
class _Compile:
    """What is known so far of one compile. ``ids`` is None until one without an id gets one; what is written meanwhile waits.

    One that ``is_implied`` is not in the log, but its cache entry was checked.
    """

    ids: dict[str, int] | None
    process: int
    time: str
    line: int
    attempt: int = 0
    code: Code = field(default_factory=Code)
    reasons: bool = False
    started: bool = False
    has_env: bool = False
    has_guards: bool = False
    has_graph: bool = False
    limit: str | None = None
    limit_value: str = ""
    failure: FailureText | None = None
    values: dict[str, str] = field(default_factory=dict)
    tensors: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    pinned: dict[str, None] = field(default_factory=dict)
    waiting_pins: list[PinnedText] = field(default_factory=list)
    last_guard: Place | None = None
    waiting: list[tuple[dict[str, Any], str | None, int]] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    is_implied: bool = False
    is_closed: bool = False

    def number(self, text: str) -> int | str:
        """A size or stride as a number, where it is one or a symbol that had one; else as it is written."""
        known = self.values.get(text, text)
        return int(known) if re.fullmatch(r"-?\d{1,18}", known) else text

    @property
    def is_over(self) -> bool:
        return self.has_guards or self.limit is not None or self.failure is not None


def transcribe(chunks: Iterable[bytes]) -> tuple[BinaryIO, LogContents]:
    """A temporary file without a name that holds the trace, and what the log holds; none of it where the chunks are those of a trace."""
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
    contents = Transcriber(file).read(chunks)
    file.flush()
    return file, contents


class Transcriber:
    """Writes a trace from the lines of a log. Time is linear in the log, memory in the number of its compiles."""

    def __init__(self, file: BinaryIO) -> None:
        self.contents = LogContents()
        self._out = Transcript(file)
        self._open: dict[tuple[int, int | None], _Message] = {}
        self._last: _Message | None = None
        self._current: dict[tuple[int, str], _Compile] = {}
        self._latest: dict[int, _Compile] = {}
        self._numbers: dict[tuple[int, Code], int] = {}
        self._ranks: dict[int, int] = {}
        self._aliases: dict[int, int] = {}
        self._all: list[_Compile] = []
        self._files: dict[str, None] = {}
        self._broken: dict[Code, _Compile] = {}
        self._largest_frame = -1
        self._line = 0
        self._names: dict[tuple[int, int], Code] = {}

    @property
    def size(self) -> int:
        """How many bytes of a trace were written."""
        return self._out.size

    def read(self, chunks: Iterable[bytes]) -> LogContents:
        """Take a whole log."""
        for head, lines, number in log_runs(chunks):
            self._line = number
            if head is None:
                self._take_plain_lines(lines, number)
            else:
                self._take(head, lines, number)
            self._line = number + len(lines) - 1
        for message in self._open.values():
            self._finish(message)
        for compile in self._all:
            self._close(compile, is_end=True)
        self._write_unnumbered()
        self.contents.lines = self._line
        return self.contents

    def _take(self, head: Head, lines: list[str], number: int) -> None:
        """Lines with one head: a message, or more of one, or (without an artifact) several messages of a line each."""
        key = head.process, head.rank
        message = self._open.get(key)
        for at, text in enumerate(lines):
            if message is None or message.head is not head or (message.kind in _LINE_BY_LINE and not head.artifact):
                if message is not None:
                    self._finish(message)
                message = self._open[key] = _Message(head, _kind_in(head, text), number + at)
            if message.kind == _SYMBOLS:
                self._take_symbolic(head, text)
            elif message.kind != _OTHER:
                if len(message.lines) < _MOST_OPEN_LINES:
                    message.lines += lines[at:]
                break
            elif head.artifact:
                break
        self._last = message

    def _take_plain_lines(self, lines: list[str], number: int) -> None:
        """Lines without a head. Most are a program's own, and nothing in them looks like PyTorch's."""
        at = 0
        while at < len(lines) and self._last is not None:
            self._take_plain(lines[at], number + at)
            at += 1
        text = "\n".join(lines[at:])
        if any(map(text.__contains__, _WORDS)) or _REASON.search(text):
            for later in range(at, len(lines)):
                self._take_plain(lines[later], number + later)

    def _take_plain(self, text: str, number: int) -> None:
        """A line without a head: it goes on with the last message, begins one, or is the program's own."""
        message = self._last
        begins = bool(_ANY_BEGIN.search(text[:2000]))
        if message is not None and message.kind == _FAILURE and _failure_goes_on(message, text):
            message.lines.append(text)
            return
        kind = _kind_of(text) if begins else _OTHER
        if message is not None and message.kind in _CONTINUES:
            goes_on = kind == _OTHER and _CONTINUES[message.kind].match(text)
            if goes_on or kind == message.kind or (kind == _BARE_REASON and message.kind in _WITH_REASONS):
                message.lines.append(text)
                return
        if message is not None:
            self._end_plain(message)
        if kind == _SYMBOLS:
            self._take_symbolic(Head(), text)
        elif kind != _OTHER:
            self._last = self._open[-1, None] = _Message(None, kind, number, [text])

    def _end_plain(self, message: _Message) -> None:
        self._last = None
        if message.head is None and self._open.get((-1, None)) is message:
            del self._open[-1, None]
            self._finish(message)

    def _finish(self, message: _Message) -> None:
        if not message.lines:
            return
        lines, message.lines = message.lines, []
        head = message.head or Head()
        handler = _HANDLERS.get(message.kind)
        if handler is not None:
            self._line, line = message.number, self._line
            handler(self, head, lines)
            self._line = line

    # --- compiles

    def _compile_of(self, head: Head, begins: str, code: Code = _UNKNOWN) -> _Compile | None:
        """The compile that a message belongs to; None where its head names none and none is in progress.

        ``begins`` is what the message begins ("reasons", "env", "graph", "guards", "limit" or ""): where the compile of that id has that
        already, its id came again.
        """
        found = _ID.fullmatch(head.compile) if head.compile else None
        if found is None or (found["frame"] is None and found["autograd"] is None):
            latest = self._latest.get(self._process(head)) or next(reversed(self._latest.values()), None)
            return latest if latest is not None and not latest.is_over else None
        process = self._process(head)
        key = process, head.compile.partition("_")[0]
        attempt = int(found["attempt"] or 0)
        compile = self._current.get(key)
        if compile is not None and _comes_again(compile, begins, attempt):
            self._close(compile)
            compile = None
        if compile is None:
            ids = {}
            if found["frame"] is not None:
                ids = {"frame_id": int(found["frame"]), "frame_compile_id": int(found["compile"])}
                self._largest_frame = max(self._largest_frame, ids["frame_id"])
            if found["autograd"] is not None:
                ids["compiled_autograd_id"] = int(found["autograd"])
            if begins == "reasons" and ids.get("frame_compile_id") == 1:
                self._add_first(key, ids, head, code)
            compile = self._new(ids, head, key)
            compile.attempt = attempt
            compile.code = self._names.get((process, ids.get("frame_id", -1)), _UNKNOWN)
        elif attempt > compile.attempt:
            compile.attempt = attempt
            compile.values.clear()
            compile.tensors.clear()
            compile.sources.clear()
            compile.pinned.clear()
            compile.waiting_pins.clear()
            compile.has_graph = False
        self._latest.pop(process, None)  # the last one comes last
        self._latest[process] = compile
        return compile

    def _process(self, head: Head) -> int:
        """The process that wrote a line: its id, minus its rank less one where only that is known, else that of the line before."""
        number = head.process if head.process <= _LARGEST_PROCESS_ID else 0  # before torch 2.6 that of a thread
        if head.rank is not None and self._ranks.get(number, head.rank) != head.rank:
            number = 0  # containers number their processes alike
        if not number and head.rank is not None:
            number = -head.rank - 1
        if not number:
            number = next(reversed(self._latest), 0)
        elif number not in self._latest and 0 in self._latest and len(self._latest) == 1:
            self._aliases[number] = 0  # the lines before have lost their heads
        number = self._aliases.get(number, number)
        if head.rank is not None:
            self._ranks.setdefault(number, head.rank)
        return number

    def _new(self, ids: dict[str, int] | None, head: Head, key: tuple[int, str] | None) -> _Compile:
        process = self._process(head)
        latest = self._latest.get(process)
        if latest is not None and latest.limit is not None:  # its metrics come before those of the next
            self._close(latest)
        compile = _Compile(ids, process, head.time, self._line)
        self._all.append(compile)
        self._latest[process] = compile
        if key is not None:
            self._current[key] = compile
        return compile

    def _add_first(self, key: tuple[int, str], ids: dict[str, int], head: Head, code: Code) -> None:
        """The first compile of a frame, where only the second is in the log: it was made, as its cache entry was checked."""
        first = key[0], f"{key[1].rpartition('/')[0]}/0"
        known = self._current.get(first)
        last = self._current.get(key)
        if known is None or (last is not None and known.line < last.line):
            compile = self._new({**ids, "frame_compile_id": 0}, head, first)
            compile.code, compile.is_implied = code, True
            self._start(compile)

    def _unnumbered(self, head: Head, code: Code, is_recompile: bool = True) -> _Compile:
        """The next compile of a function, in a log that writes no ids. One that is a recompile has an entry that was made before."""
        key = self._process(head), code
        if key not in self._numbers:
            self._numbers[key] = 0
            first = self._new(None, head, None)
            first.code, first.is_implied = code, is_recompile
            if not is_recompile:
                return first
        self._numbers[key] += 1
        compile = self._new(None, head, None)
        compile.code = code
        return compile

    def _write_unnumbered(self) -> None:
        frames: dict[tuple[int, Code], list[int]] = {}
        for compile in self._all:
            if compile.ids is not None:
                continue
            frame = frames.setdefault((compile.process, compile.code), [self._largest_frame + 1 + len(frames), 0])
            number = max(frame[1], int(compile.limit_value or 0))  # the cache was full
            compile.ids = {"frame_id": frame[0], "frame_compile_id": number}
            frame[1] = number + 1
            for header, payload, line in compile.waiting:
                if payload is not None and header.get("artifact", {}).get("name") == "recompile_reasons":
                    payload = _with_entries(payload, compile.ids)
                self._write(compile, header, payload, line)

    def _write(self, compile: _Compile, header: dict[str, Any], payload: str | None = None, line: int = 0) -> None:
        if compile.ids is None:
            compile.waiting.append((header, payload, line or self._line))
            return
        rank = self._ranks.get(compile.process)
        known = {"rank": rank} if rank is not None else {}
        self._out.add(
            {**header, **known, **compile.ids, "attempt": compile.attempt},
            payload,
            process=abs(compile.process),
            time=compile.time,
            line=line or self._line,
        )

    def _start(self, compile: _Compile) -> None:
        if not compile.started:
            compile.started = True
            stack = [{"filename": compile.code.file, "line": compile.code.line, "name": compile.code.name}] if compile.code.name else []
            self._write(compile, {"dynamo_start": {"stack": stack}})

    def _close(self, compile: _Compile, is_end: bool = False) -> None:
        """Write how a compile ended, as far as the log shows it."""
        if compile.is_closed:
            return
        compile.is_closed = True
        code = compile.code
        metrics: dict[str, Any] = {}
        if code.name:
            metrics |= {"co_name": code.name, "co_filename": code.file, "co_firstlineno": code.line}
        if compile.limit is not None:
            metrics |= {"fail_type": "RecompileLimitExceeded", "fail_reason": compile.limit}
            if compile.limit_value:
                metrics["dynamo_config"] = f'{{"recompile_limit": {compile.limit_value}}}'
            if compile.failure is not None:
                metrics["fail_type"] = compile.failure.type
        else:
            self._start(compile)
            self._write_pins(compile, None)
            if compile.listed and not compile.has_guards:
                compile.has_guards = True
                self._write(compile, {"dynamo_guards": {}}, orjson.dumps([{"code": guard} for guard in compile.listed]).decode())
            if compile.failure is not None:
                metrics |= {"fail_type": compile.failure.type, "fail_reason": compile.failure.message}
                metrics |= {"has_guarded_code": False, "is_forward": True}
                self._write(compile, {"artifact": {"name": "dynamo_error", "encoding": "string"}}, compile.failure.text)
            elif compile.has_guards or compile.is_implied or not self.contents.messages["guards"]:
                metrics["has_guarded_code"] = True
            elif not is_end or self._latest.get(compile.process) is not compile:  # the log may end before its guards
                metrics["has_guarded_code"] = False
        self._write(compile, {"compilation_metrics": metrics})

    # --- messages

    def _recompiles(self, head: Head, lines: list[str]) -> None:
        for item in recompiles(lines):
            if item.suggested:
                self.contents.signs.add("2.8 or newer")
            self.contents.suggested.update(dict.fromkeys(filter(None, item.suggested.split(","))))
            self._recompile(head, item)

    def _recompile(self, head: Head, item: RecompileText) -> None:
        self._know(item.code.file)
        self._note_version(item.reasons)
        entry = next((split_entry(reason)[0] for reason in item.reasons if split_entry(reason)[0]), "")
        if not head.compile and entry:
            # a line that lost its head still names the entries that were checked
            head = head._replace(compile=f"{entry.rpartition('/')[0]}/{1 + max(_number(reason) for reason in item.reasons)}")
        compile = self._compile_of(head, "reasons", item.code) if head.compile else self._unnumbered(head, item.code)
        if compile is None or (compile.reasons and not item.is_whole):
            return
        self.contents.messages["recompiles"] += 1
        if item.code.name:
            compile.code = item.code
            if compile.ids is not None and "frame_id" in compile.ids:
                self._names[compile.process, compile.ids["frame_id"]] = item.code
        compile.reasons = True
        reasons = list(item.reasons)
        if compile.ids is not None and not entry:
            reasons = _entries_named(reasons, compile.ids)
        self._write_reasons(compile, reasons)

    def _write_reasons(self, compile: _Compile, reasons: list[str]) -> None:
        self._write(compile, {"artifact": {"name": "recompile_reasons", "encoding": "json"}}, orjson.dumps(reasons).decode())

    def _limit(self, head: Head, lines: list[str]) -> None:
        for item in limits(lines):
            if item.setting:
                self.contents.signs.add("2.6 or 2.7" if item.setting.startswith("cache") else "2.8 or newer")
            self._know(item.code.file)
            entry = next((name for name, _ in map(split_entry, item.reasons) if name), "")
            if not head.compile and entry:
                newest = max(int(item.limit or 0) - 1, *map(_number, item.reasons))
                head = head._replace(compile=f"{entry.rpartition('/')[0]}/{1 + newest}")
            compile = self._compile_of(head, "limit") if head.compile else self._unnumbered(head, item.code, is_recompile=False)
            if compile is None:
                continue
            self.contents.limits += 1
            compile.code = item.code if item.code.name else compile.code
            compile.limit = f"{item.setting} reached" + (f" ({item.limit})" if item.limit else "")
            compile.limit_value = "" if "accumulated" in item.setting else item.limit
            if item.reasons and not compile.reasons:
                compile.reasons = True
                self._note_version(item.reasons)
                reasons = list(item.reasons)
                if compile.ids is not None and not entry:
                    reasons = _entries_named(reasons, compile.ids)
                self._write_reasons(compile, reasons)

    def _bare_reason(self, head: Head, lines: list[str]) -> None:
        """Reasons that somebody pasted alone."""
        for line in lines:
            quoted = _QUOTED_REASON.search(line)
            code = Code(quoted["name"], quoted["file"] or "", int(quoted["line"] or 0)) if quoted else Code()
            reason = quoted["reason"] if quoted else line.strip().lstrip("-*> ").rstrip(" .")
            if parse_reason(reason).family != "other":
                self._recompile(Head(), RecompileText(code, (reason,)))

    def _guards(self, head: Head, lines: list[str]) -> None:
        begin = next((at for at, line in enumerate(lines) if "TREE_GUARD_MANAGER" in line or "+- RootGuardManager" in line), -1)
        tree = lines[begin:] if begin >= 0 else [line.strip() for line in lines if _IN_TREE.match(line)]
        if not tree:
            self._list_guards(head, [found[1] for line in lines if (found := _LISTED.match(line))])
            return
        payload, kind = "\n".join(["", *tree]), "dynamo_cpp_guards_str"
        compile = self._compile_of(head, "guards")
        if compile is None:
            return
        self.contents.messages["guards"] += 1
        self._start(compile)
        self._describe_inputs(compile, payload)
        self._write(compile, {kind: {}}, payload)
        compile.has_guards = True
        if "framelocals_idx" in payload:
            self.contents.signs.add("2.8 or newer")

    def _list_guards(self, head: Head, guards: list[str]) -> None:
        """Guards of torch 2.3 and older, one on a line, each perhaps a message of its own."""
        compile = self._compile_of(head, "") if guards else None
        if compile is None and guards:
            compile = self._unnumbered(head, _UNKNOWN, is_recompile=False)
        if compile is not None:
            self.contents.messages["guards"] += 1
            self._start(compile)
            compile.listed += guards

    def _describe_inputs(self, compile: _Compile, guards: str) -> None:
        """The tensors that a compile was called with: sizes from ``track_symint``, all else from the guards."""
        for number, found in enumerate(_TENSOR.finditer(guards)):
            tracked = compile.tensors.get(found["source"])
            if tracked is None:
                continue
            sizes, strides = ([compile.number(tracked[key]) for key in sorted(tracked) if key[0] == part] for part in ("size", "stride"))
            describes = {"describer_id": len(self._all), "id": number}
            tensor = {
                **describes,
                "size": sizes,
                "stride": strides,
                "dtype": f"torch.{found['dtype']}",
                "requires_grad": found["grad"] == "True",
                "is_parameter": found["type"].rpartition(".")[2] == "Parameter",
                "storage_offset": compile.number(tracked.get(("", 0), "0")),
            }
            self._write(compile, {"describe_tensor": tensor})
            self._write(compile, {"describe_source": {**describes, "source": found["source"]}})

    def _graph(self, head: Head, lines: list[str]) -> None:
        parts: list[list[str]] = []
        for line in lines:
            if line.strip() == "TRACED GRAPH":
                parts.append([])
            elif parts:
                parts[-1].append(line)
        for part in parts:
            if not part or not _MADE_BY_DYNAMO.search(part[0]) or "pre insert" in part[0]:
                continue
            begin = next((at for at, line in enumerate(part) if "class GraphModule" in line), None)
            compile = self._compile_of(head, "graph") if begin is not None else None
            if compile is None or begin is None:
                continue
            self.contents.messages["graph_code"] += 1
            payload = "\n".join([_GRAPH_BEGIN.sub("", part[begin]), *part[begin + 1 :]]).rstrip() + "\n"
            self._name_by_graph(compile, payload)
            self._start(compile)
            compile.has_graph = True
            sizes = {"symbols": ["s"]} if '"Sym(' in payload else {}
            self._write(compile, {"dynamo_output_graph": {"sizes": sizes}}, payload)

    def _name_by_graph(self, compile: _Compile, graph: str) -> None:
        """The function of a compile that nothing else names, where all of its operations are in one."""
        places = list(_IN_GRAPH.finditer(graph))
        for found in places:
            self._know(found["file"])
        if not compile.code.name and len({(found["file"], found["name"]) for found in places}) == 1:
            first = places[0]
            compile.code = Code(first["name"], first["file"], int(first["line"]))

    def _break(self, head: Head, lines: list[str]) -> None:
        compile = self._compile_of(head, "") if head.compile else None
        text = _DUPLICATE.sub(r"\1 ", "\n".join(lines))
        if compile is None:
            *_, found = (None, *re.finditer(r'File "(.*)", line (\d+), in (\S+)', text))
            code = Code(found[3], found[1], int(found[2])) if found else _UNKNOWN
            compile = self._broken.get(code)
            if compile is None:
                compile = self._broken[code] = self._unnumbered(head, code, is_recompile=False)
        self.contents.messages["graph_breaks"] += 1
        self._start(compile)
        self._write(compile, {"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}}, text.rstrip() + "\n")

    def _explanation(self, head: Head, lines: list[str]) -> None:
        """What ``torch._dynamo.explain`` prints: the graph breaks of one call."""
        for item in explained_breaks(lines):
            text = f"Graph break in user code at {item.place.file}:{item.place.line}\nGraph Break Reason: {item.reason}\n"
            text += f'User code traceback:\n  File "{item.place.file}", line {item.place.line}, in {item.place.name}\n'
            self._break(head, text.split("\n"))

    def _profile(self, head: Head, lines: list[str]) -> None:
        """The report of ``torch._dynamo.utils.CompileProfiler``: the recompiles of each function."""
        for item in profiled_recompiles(lines):
            self._recompile(head, item)

    def _failure(self, head: Head, lines: list[str]) -> None:
        found = failure(lines)
        if found is None:
            return
        self.contents.failures += 1
        self._know(found.code.file)
        for item in recompiles(found.message.split("\n")) if found.type == "RecompileError" else ():
            self._recompile(head, item)
        compile = self._compile_of(head, "") or self._unnumbered(head, found.code, is_recompile=False)
        if not compile.code.name:
            compile.code = found.code
        if found.is_at_limit:
            compile.limit = compile.limit or "recompile_limit reached"
            compile.failure = found
        elif compile.failure is None or len(found.text) > len(compile.failure.text):
            compile.failure = found

    def _state(self, head: Head, lines: list[str]) -> None:
        """The state of profile-guided optimization, as its page in the documentation shows it."""
        text = "\n".join(f"  {line.strip()}" if ": " in line.strip() else line.strip() for line in lines)
        state = parse_code_state(text)
        if not any(entry.states for entry in state.entries):
            return
        self.contents.messages["code state"] += 1
        first = state.entries[0]
        compile = self._unnumbered(head, Code(first.name, first.file, first.line), is_recompile=False)
        self._write(compile, {"artifact": {"name": "put_local_code_state", "encoding": "string"}}, text)

    def _take_symbolic(self, head: Head, text: str) -> None:
        """One line of ``symbolic_shapes.py``."""
        if text.startswith("create_env"):
            compile = self._compile_of(head, "env")
            if compile is not None:
                self.contents.messages["dynamic"] += 1
                compile.has_env = True
                self._start(compile)
            return
        found = None if text.endswith("[statically known]") else symbolic(text)
        if found is None:
            return
        compile = self._compile_of(head, "")
        if compile is None:
            compile = self._unnumbered(head, _UNKNOWN, is_recompile=False)
        self.contents.messages["dynamic"] += 1
        if isinstance(found, TrackedText):
            compile.tensors.setdefault(found.source, {})[found.part, found.dim] = found.value
            return
        self._start(compile)
        if isinstance(found, SymbolText):
            compile.values[found.symbol] = found.value
            kind = "create_symbol" if found.source else "create_unbacked_symbol"
            body = {"symbol": found.symbol, "val": found.value, "vr": found.range, "source": found.source}
            compile.sources.setdefault(found.symbol, []).append(found.source)
            self._write(compile, {kind: {**body, **self._stack(found.place)}})
        elif isinstance(found, AddedText):
            compile.last_guard = found.place
            self._write(compile, {"guard_added": {"expr": found.expression, **self._stack(found.place)}})
            pinned = found.pinned
            if pinned is not None and pinned.symbol not in compile.pinned:
                compile.pinned[pinned.symbol] = None
                compile.waiting_pins.append(pinned)
            self._write_pins(compile, found.place)
        elif found.symbol not in compile.pinned:
            compile.pinned[found.symbol] = None
            compile.waiting_pins.append(found)
            if compile.last_guard is not None:  # torch 2.8 and later write the guard first
                self._write_pins(compile, compile.last_guard)

    def _write_pins(self, compile: _Compile, place: Place | None) -> None:
        """Symbols that became a number, with the line of the guard that did it."""
        pins, compile.waiting_pins = compile.waiting_pins, []
        for pin in pins:
            body = {"symbol": pin.symbol, "sources": compile.sources.get(pin.symbol, []), "value": pin.value, "reason": pin.reason}
            self._write(compile, {"symbolic_shape_specialization": {**body, **self._stack(place)}})

    def _stack(self, place: Place | None) -> dict[str, Any]:
        if place is None:
            return {"user_stack": []}
        file = next((known for known in self._files if known.endswith(f"/{place.file}")), place.file)
        return {"user_stack": [{"filename": file, "line": place.line, "name": place.name, "loc": place.code}]}

    def _know(self, file: str) -> None:
        if file and len(self._files) < _MOST_KNOWN_FILES:
            self._files[file] = None

    def _note_version(self, reasons: Iterable[str]) -> None:
        signs = self.contents.signs
        for reason in reasons:
            if not split_entry(reason)[0]:
                signs.add("2.5 or older")
            elif "L['" in reason.partition("  # ")[0]:
                signs.add("2.6 or 2.7")
            elif parse_reason(reason).source:
                signs.add("2.8 or newer")
            if "User stack trace:" in reason:
                signs.add("2.13 or newer")


def _kind_in(head: Head, text: str) -> int:
    """The kind of a message, by its artifact or its first line."""
    known = _BY_ARTIFACT.get(head.artifact)
    if known is not None:
        return known
    if text.startswith(_SYMBOLIC_WORDS):
        return _SYMBOLS
    return _OTHER if text.startswith(_IGNORED) else _kind_of(text)


def _kind_of(text: str) -> int:
    return next((kind for kind, pattern in _BEGINS if pattern.search(text[:4000])), _OTHER)


def _failure_goes_on(message: _Message, text: str) -> bool:
    """Whether a line without a head belongs to a traceback: the exception and its message follow the stack."""
    if len(message.lines) >= _MOST_FAILURE_LINES:
        return False
    if not message.has_raised:
        message.has_raised = bool(text.strip()) and not text[:1].isspace()
        return True
    return bool(_FAILURE_GOES_ON.match(text))


def _comes_again(compile: _Compile, begins: str, attempt: int) -> bool:
    """Whether a message belongs to another compile of the same id, made after ids started again."""
    if attempt < compile.attempt and begins != "limit":
        return True
    is_restart = attempt > compile.attempt
    if begins == "reasons":
        return compile.reasons or compile.started
    if begins == "env":
        return not is_restart and (compile.has_env or compile.has_guards)
    if begins == "graph":
        return compile.has_guards or (compile.has_graph and not is_restart)
    return begins == "guards" and compile.has_guards


def _entries_named(reasons: list[str], ids: dict[str, int]) -> list[str]:
    """Reasons with the entries that they are about, where the version writes none: the newest entry was checked first."""
    frame, newest = ids.get("frame_id", 0), ids.get("frame_compile_id", 0) - 1
    return [f"{frame}/{max(0, newest - at)}: {reason}" for at, reason in enumerate(reasons)]


def _with_entries(payload: str, ids: dict[str, int]) -> str:
    reasons = orjson.loads(payload)
    return payload if any(split_entry(reason)[0] for reason in reasons) else orjson.dumps(_entries_named(reasons, ids)).decode()


def _number(reason: str) -> int:
    """The number of the compile in ``2/3: ...``."""
    digits = split_entry(reason)[0].rpartition("/")[2]
    return int(digits) if digits else 0


_HANDLERS: dict[int, Callable[[Transcriber, Head, list[str]], None]] = {
    _RECOMPILES: Transcriber._recompiles,
    _LIMIT: Transcriber._limit,
    _BARE_REASON: Transcriber._bare_reason,
    _GUARDS: Transcriber._guards,
    _GRAPH: Transcriber._graph,
    _BREAK: Transcriber._break,
    _FAILURE: Transcriber._failure,
    _STATE: Transcriber._state,
    _EXPLANATION: Transcriber._explanation,
    _PROFILE: Transcriber._profile,
}
