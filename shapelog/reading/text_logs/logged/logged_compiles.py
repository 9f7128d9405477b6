"""The compiles of a log: which one a message belongs to, and the records that are written of it."""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from shapelog.reading.kinds import BACKWARD_FAILURE
from shapelog.reading.payloads.recompile_reasons import NO_REASON, refused_at_limit, split_entry
from shapelog.reading.records import StackFrame
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.failures.failure_text import FailureText
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.logged.checked_entries import entries_named, with_entries
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile, comes_again
from shapelog.reading.text_logs.messages.logged_code import LoggedCode, LoggedLine
from shapelog.reading.text_logs.messages.printed_metrics import code_of
from shapelog.reading.text_logs.messages.symbol_text import AddedText
from shapelog.reading.text_logs.transcript import Transcript

_ID = re.compile(r"(?:!(?P<autograd>\d{1,18}))?/?(?:(?P<frame>\d{1,18})/(?P<compile>\d{1,18}))?(?:_(?P<attempt>\d{1,18}))?")
_MOST_KNOWN_FILES = 2_000
# Runs of which a text has excerpts.
_MOST_RUNS = 20
# Messages before the first compile, which wait for it.
_MOST_EARLY = 1_000
UNKNOWN = LoggedCode()
# Process ids have seven digits at most; before torch 2.6 lines hold the id of a thread, which has more.
_LARGEST_PROCESS_ID = 1 << 22


class LoggedCompiles:
    """All compiles of a log, and where their records are written. ``line`` is the line of the log that is read."""

    def __init__(self, out: Transcript, contents: LogContents) -> None:
        self.line = 0
        self._out = out
        self._contents = contents
        self._current: dict[tuple[int, str], LoggedCompile] = {}
        self._latest: dict[int, LoggedCompile] = {}
        self._numbers: dict[tuple[int, LoggedCode], int] = {}
        self._ranks: dict[int, int] = {}
        self._of_rank: dict[int, int] = {}
        self._aliases: dict[int, int] = {}
        self._all: list[LoggedCompile] = []
        self._files: dict[str, None] = {}
        self._names: dict[tuple[int, int], LoggedCode] = {}
        self._others: dict[tuple[int, int], list[LoggedCode]] = {}
        self._keys: dict[tuple[int, int], list[tuple[int, str]]] = {}
        self._frames: set[tuple[int, int]] = set()
        self._entries: set[tuple[int, str]] = set()
        self._early: list[tuple[dict[str, Any], str | None, int]] = []  # records of no compile, before the first one
        self._newest: dict[tuple[int, int], tuple[int, str]] = {}
        self._is_new_run = False
        self._largest_frame = -1
        self._ids_have_guards = False

    def __len__(self) -> int:
        return len(self._all)

    def finish(self) -> None:
        """Write how the compiles ended that are still open, and all of those that the log gives no id."""
        self._name_as_other_ranks()
        for compile in self._all:
            self._close(compile, is_end=True)
        self._write_unnumbered()
        self._write_early(0)

    def _name_as_other_ranks(self) -> None:
        """Name the function of a compile, where the log is cut there, as another rank has it for the same compile."""
        named: dict[frozenset[tuple[str, int]], set[LoggedCode]] = {}
        unnamed: list[tuple[frozenset[tuple[str, int]], LoggedCompile]] = []
        for compile in self._all:
            if not compile.ids or compile.process not in self._ranks:
                continue
            ids = frozenset(compile.ids.items())
            if compile.code.name:
                named.setdefault(ids, set()).add(compile.code)
            elif not compile.is_closed:
                unnamed.append((ids, compile))
        for ids, compile in unnamed:
            if len(codes := named.get(ids, set())) == 1:
                (compile.code,) = codes

    def compile_of(self, head: Head, begins: str, code: LoggedCode = UNKNOWN, names_entries: bool = True) -> LoggedCompile | None:
        """The compile that a message belongs to; None where its head names none and none is in progress.

        ``begins`` is what the message begins ("start", "another", "reasons", "env", "graph", "guards", "metrics", "limit", "failure" or
        ""): where the compile has that already, or cannot have it, its id came again. ``names_entries`` is False for the reasons of a
        recompile that are not in the log.
        """
        found = _ID.fullmatch(head.compile) if head.compile else None
        if found is None or (found["frame"] is None and found["autograd"] is None):
            latest = self._latest.get(self._process(head)) or next(reversed(self._latest.values()), None)
            return latest if latest is not None and not latest.is_over else None
        process = self._process(head)
        key = process, head.compile.partition("_")[0]
        attempt = int(found["attempt"] or 0)
        if found["frame"] is not None and code.name:
            self._start_again(key, int(found["frame"]), head, code, begins)
        compile = self._current.get(key)
        left_entry = begins == "failure" and compile is not None and self._left_entry(compile)
        is_again = compile is not None and (left_entry or comes_again(compile, begins, attempt))
        if compile is not None and is_again:
            self._close(compile)
            compile = None
        if compile is None:
            ids = {}
            if found["frame"] is not None:
                ids = {"frame_id": int(found["frame"]), "frame_compile_id": int(found["compile"])}
                self._largest_frame = max(self._largest_frame, ids["frame_id"])
            if found["autograd"] is not None:
                ids["compiled_autograd_id"] = int(found["autograd"])
            frame = process, ids.get("frame_id", -1)
            starts_over = self._starts_over(frame, ids.get("frame_compile_id", 0), head.time)
            self._is_new_run |= starts_over and not is_again and begins not in ("", "limit")
            if begins == "reasons" and (ids.get("frame_compile_id") == 1 or not (names_entries or frame in self._frames)):
                self._add_first(key, ids, head, code)
            self._frames.add(frame)
            if ids.get("frame_compile_id") == 0:  # ids may have started again, with another function
                self._names.pop((process, ids["frame_id"]), None)
            compile = self._new(ids, head, key)
            compile.attempt = attempt
            compile.code = self._names.get((process, ids.get("frame_id", -1)), UNKNOWN)
        elif attempt > compile.attempt:
            compile.begin_again(attempt)
        self._latest.pop(process, None)  # the last one comes last
        self._latest[process] = compile
        return compile

    def _starts_over(self, frame: tuple[int, int], number: int, time: str) -> bool:
        """Whether a compile has a lower number than one of its frame that the log has before it."""
        newest, when = self._newest.get(frame, (-1, ""))
        is_over = number < newest and "" < when <= time
        if is_over or number > newest:
            self._newest[frame] = number, time
        return is_over

    def known(self, head: Head) -> LoggedCompile | None:
        """The compile of the id in a head, where the log had it before."""
        return self._current.get((self._process(head), head.compile.partition("_")[0]))

    def is_of_another(self, head: Head, code: LoggedCode) -> bool:
        """Whether the compile of the id in a head began with another function, as one that leaves no graph does not end in the log."""
        known = self.known(head)
        return known is not None and known.started and _is_another(known.code, code)

    def may_be_of(self, compile: LoggedCompile, rank: int | None) -> bool:
        """Whether a compile is of a rank, or one of the two is not known."""
        return rank is None or self._ranks.get(compile.process, rank) == rank

    def refused(self, head: Head, code: LoggedCode) -> LoggedCompile | None:
        """The last compile of a process, where it hit the recompile limit and no exception followed yet."""
        latest = self._latest.get(self._process(head))
        is_same = latest is not None and (not code.name or not latest.code.name or latest.code.name == code.name)
        return latest if latest is not None and is_same and latest.limit is not None and latest.failure is None else None

    def _process(self, head: Head) -> int:
        """The process that wrote a line: its id; where only its rank is known, the last one of that, or minus it less one; else that of
        the line before."""
        number = head.process if head.process <= _LARGEST_PROCESS_ID else 0  # before torch 2.6 that of a thread
        if head.rank is not None and self._ranks.get(number, head.rank) != head.rank:
            number = 0  # processes of different containers have the same numbers
        if not number and head.rank is not None:
            number = self._of_rank.get(head.rank, -head.rank - 1)
        if not number:
            number = next(reversed(self._latest), 0)
        elif number not in self._latest and 0 in self._latest and len(self._latest) == 1:
            self._aliases[number] = 0  # the lines before have lost their heads
        number = self._aliases.get(number, number)
        if head.rank is not None:
            self._ranks.setdefault(number, head.rank)
            self._of_rank[head.rank] = number
        return number

    def _new(self, ids: dict[str, int] | None, head: Head, key: tuple[int, str] | None) -> LoggedCompile:
        process = self._process(head)
        latest = self._latest.get(process)
        if latest is not None and (latest.limit is not None or latest.printed or latest.skipped):  # its metrics come before the next
            self._close(latest)
        compile = LoggedCompile(ids, process, head.time, self.line, begins_run=self._is_new_run)
        self._is_new_run = False
        self._all.append(compile)
        self._latest[process] = compile
        self._write_early(process)
        if key is not None:
            self._entries.discard(key)  # of a run of ids before this one
            self._current[key] = compile
            self._keys.setdefault((key[0], (ids or {}).get("frame_id", -1)), []).append(key)
        return compile

    def _add_first(self, key: tuple[int, str], ids: dict[str, int], head: Head, code: LoggedCode) -> None:
        """The first compile of a frame, where only the second is in the log: it was made, as its cache entry was checked."""
        first = key[0], f"{key[1].rpartition('/')[0]}/0"
        known = self._current.get(first)
        last = self._current.get(key)
        if known is None or known.names_failure or (last is not None and known.line <= last.line):  # a failure leaves no entry
            if known is not None:  # what ends it comes before the next one of that id begins
                self._close(known)
            compile = self._new({**ids, "frame_compile_id": 0}, head, first)
            compile.code, compile.is_implied = code, True
            self.start(compile)

    def _start_again(self, key: tuple[int, str], frame: int, head: Head, code: LoggedCode, begins: str) -> None:
        """Where the id of a frame was that of another function: the text has an excerpt of another run. It has a first compile, too, unless
        it begins with the recompile limit.

        A function that comes back does not begin a third run: processes may write in turns, without their numbers.
        """
        known = self._names.get((key[0], frame), UNKNOWN)
        others = self._others.setdefault((key[0], frame), [])
        if not _is_another(known, code) or len(others) >= _MOST_RUNS or not all(_is_another(other, code) for other in others):
            return
        others.append(known)
        has_first = False
        for earlier in self._keys.pop((key[0], frame), ()):
            if compile := self._current.pop(earlier, None):
                self._close(compile)
                has_first = has_first or (compile.ids or {}).get("frame_compile_id") == 0
        self._newest.pop((key[0], frame), None)
        if begins == "limit":
            self._is_new_run = True
        else:
            self._is_new_run = not has_first  # else the first one shows by itself that ids began again
            self._add_first(key, {"frame_id": frame}, head, code)
        self._names[key[0], frame] = code

    def unnumbered(self, head: Head, code: LoggedCode, is_recompile: bool = True) -> LoggedCompile:
        """The next compile of a function, in a log that writes no ids. One that is a recompile has an entry that was made before."""
        process = self._process(head)
        if code.name and not code.file:  # cut off
            code = next((known for of, known in reversed(self._numbers) if of == process and known.name == code.name), code)
        key = process, code
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

    def knows(self, head: Head, code: LoggedCode) -> bool:
        """Whether a function already has a compile without an id."""
        return (self._process(head), code) in self._numbers

    def _write_unnumbered(self) -> None:
        numbers: dict[tuple[int, LoggedCode, int], int] = {}  # how many compiles a function has in a process
        frames: dict[tuple[LoggedCode, int], int] = {}  # the same number on all ranks
        # How many failures and lists of guards of a process are of a function that is not named, each perhaps of another one.
        lost: dict[int, int] = {}
        for compile in self._all:
            if compile.ids is not None or (self._largest_frame >= 0 and compile.has_symbols_alone):
                continue  # symbols of fake tensors that the program makes itself, where the log has ids for those of compiles
            is_lost = not compile.code.name and not compile.reasons and (compile.failure is not None or compile.has_guards)
            if is_lost:
                lost[compile.process] = lost.get(compile.process, 0) + 1
            code = compile.code, lost[compile.process] if is_lost else 0
            frame = frames.setdefault(code, self._largest_frame + 1 + len(frames))
            key = compile.process, *code
            number = max(numbers.get(key, 0), int(compile.limit_value or 0))  # the cache was full
            compile.ids = {"frame_id": frame, "frame_compile_id": number}
            numbers[key] = number + 1
            for header, payload, line in compile.waiting:
                if number == 1:  # there is one entry
                    header.get("compilation_metrics", {}).pop("assumes_entries", None)
                if payload is not None and header.get("artifact", {}).get("name") == "recompile_reasons":
                    payload = with_entries(payload, compile)
                self.write(compile, header, payload, line)

    def write(self, compile: LoggedCompile | None, header: dict[str, Any], payload: str | None = None, line: int = 0) -> None:
        """Write a record of a compile, or of none; that of one without an id waits until all ids of the log are known."""
        if compile is None:
            if not self._latest and len(self._early) < _MOST_EARLY:
                self._early.append((header, payload, line or self.line))
                return
            process = next(reversed(self._latest), 0)
            self._out.add(header, payload, process=abs(process), time="", line=line or self.line)
            return
        if compile.ids is None:
            compile.waiting.append((header, payload, line or self.line))
            return
        rank = self._ranks.get(compile.process)
        known = {"rank": rank} if rank is not None else {}
        known |= {"begins_run": True} if compile.begins_run else {}
        self._out.add(
            {**header, **known, **compile.ids, "attempt": compile.attempt},
            payload,
            process=abs(compile.process),
            time=compile.time,
            line=line or self.line,
        )

    def _write_early(self, process: int) -> None:
        """Write what came before the first compile, as its process: the log does not always have the one that wrote it."""
        for header, payload, line in self._early:
            self._out.add(header, payload, process=abs(process), time="", line=line)
        self._early.clear()

    def start(self, compile: LoggedCompile, callers: Iterable[StackFrame] = ()) -> None:
        """Write that a compile began, which comes before all else but its reasons. One that hit the limit never begins.

        ``callers`` are the lines of the call, the outermost first.
        """
        if not compile.started:
            compile.started = True
            code = compile.code
            frames = [frame._replace(file=frame.file.replace("\\", "/")) for frame in callers]
            stack = [{"filename": frame.file, "line": frame.line, "name": frame.name, "loc": frame.code} for frame in frames]
            stack += [{"filename": code.file, "line": code.line, "name": code.name}] if code.name else []
            self.write(compile, {"dynamo_start": {"stack": stack}})

    def take_guards(self, compile: LoggedCompile) -> None:
        """Note that the log has the guards of a compile. Once it has those of one with an id, a compile without any left no entry."""
        compile.has_guards = True
        self._ids_have_guards |= compile.ids is not None

    def _close(self, compile: LoggedCompile, is_end: bool = False) -> None:
        """Write how a compile ended, as far as the log shows it."""
        if compile.is_closed:
            return
        compile.is_closed = True
        metrics = self._known_metrics(compile)
        if compile.limit is not None:
            metrics |= _limit_metrics(compile)
        else:
            self.start(compile)
            self.write_pins(compile, None)
            if compile.listed and not compile.has_guards:
                self.take_guards(compile)
                self.write(compile, {"dynamo_guards": {}}, orjson.dumps([{"code": guard} for guard in compile.listed]).decode())
            metrics |= self._result_metrics(compile, is_end)
        self.write(compile, {"compilation_metrics": {**metrics, **compile.printed}})

    def _known_metrics(self, compile: LoggedCompile) -> dict[str, Any]:
        """The function of a compile, and what the log lacks of it."""
        code = compile.code
        metrics: dict[str, Any] = {"is_unnumbered": True} if compile.ids is None else {}
        if code.name:
            metrics |= {"co_name": code.name, "co_filename": code.file, "co_firstlineno": code.line}
        if compile.lost_reasons:
            metrics["lost_reasons"] = compile.lost_reasons
        if compile.assumes_entries:
            metrics["assumes_entries"] = True
        is_cut = compile.lost_graph or not (compile.has_env or compile.reasons)  # what comes before a graph is not there, either
        if compile.has_guards and not compile.has_graph and self._contents.messages["graph_code"] and is_cut:
            metrics["lost_graph"] = True
        if compile.lost_guards:
            metrics["lost_guards"] = True
        return metrics

    def _result_metrics(self, compile: LoggedCompile, is_end: bool) -> dict[str, Any]:
        """Whether a compile left an entry, and how it failed. A log may end before its guards."""
        if compile.failure is not None and compile.failure.is_of_backward:
            self.write(compile, {"artifact": {"name": BACKWARD_FAILURE, "encoding": "string"}}, compile.failure.as_traceback)
            return {"has_guarded_code": True}
        if compile.failure is not None:
            return self._failure_metrics(compile, compile.failure)
        if compile.skipped:
            return compile.skipped
        if compile.has_guards or compile.is_implied or not self._ids_have_guards or self._left_entry(compile):
            return {"has_guarded_code": True}
        if not is_end or self._latest.get(compile.process) is not compile:
            return {"has_guarded_code": False}
        if not compile.reasons:
            return {}
        is_cut = not compile.has_graph and self._contents.messages["graph_code"]
        return {"has_guarded_code": True, "lost_graph": True} if is_cut else {"has_guarded_code": True}

    def _failure_metrics(self, compile: LoggedCompile, failure: FailureText) -> dict[str, Any]:
        """The metrics of a compile that failed; its text is a record of its own."""
        if failure.is_lost_violation and compile.fixed:
            source, value, place = compile.fixed[0]
            line = f'  File "{place.file}", line {place.line}, in {place.name}\n' if place else ""
            line += f"    {place.code}\n" if place and place.code else ""
            failure = failure.violating(source, value, f"\n\nUser stack:\n{line}" if line else "")
        metrics: dict[str, Any] = {"fail_type": failure.type, "fail_reason": failure.reason}
        metrics |= {"has_guarded_code": False, "is_forward": True}
        if failure.caller.name:
            metrics |= {"fail_user_frame_filename": failure.caller.file, "fail_user_frame_lineno": failure.caller.line}
        self.write(compile, {"artifact": {"name": "dynamo_error", "encoding": "string"}}, failure.text)
        return metrics

    def _left_entry(self, compile: LoggedCompile) -> bool:
        """Whether later calls were compared with the entry of a compile whose guards are not in the log."""
        ids = compile.ids or {}
        return (compile.process, f"{ids.get('frame_id')}/{ids.get('frame_compile_id')}") in self._entries

    def name(self, compile: LoggedCompile, code: LoggedCode) -> None:
        """Note the function of a compile, and of all others of its frame."""
        if code.name and (code.file or not compile.code.file):
            compile.code = code
            if compile.ids is not None and "frame_id" in compile.ids:
                self._names[compile.process, compile.ids["frame_id"]] = code

    def write_reasons(self, compile: LoggedCompile, reasons: Iterable[str]) -> None:
        """The reasons of a compile, with the entries that they are about, which old versions do not write."""
        compile.reasons = True
        listed = list(reasons)
        entries = {entry for reason in listed if (entry := split_entry(reason)[0])}
        self._entries |= {(compile.process, entry) for entry in entries}
        is_of_one = compile.is_of_oldest or (compile.ids or {}).get("frame_compile_id") == 1
        compile.assumes_entries = not (entries or is_of_one)
        if compile.ids is not None and not entries:
            listed = entries_named(listed, compile)
        self.write(compile, {"artifact": {"name": "recompile_reasons", "encoding": "json"}}, orjson.dumps(listed).decode())

    def take_metrics(self, head: Head, fields: dict[str, Any]) -> bool:
        """The metrics of a compile, which PyTorch prints at its end, and again for its backward pass. False where they name no compile."""
        named = str(fields.get("compile_id") or "")
        if named and named != head.compile.partition("_")[0]:
            head = head._replace(compile=named)
        if not _ID.fullmatch(head.compile) or not head.compile:
            return False
        code = code_of(fields)
        known = self.known(head)
        if known is not None and known.printed and fields.get("is_forward") is False:
            self._close(known)
            self.write(known, {"compilation_metrics": fields})
            return True
        compile = self.compile_of(head, "metrics", code)
        if compile is None:
            return False
        self.name(compile, code)
        compile.printed = fields
        if compile.limit is None and compile.failure is None:
            compile.limit = refused_at_limit(*(str(fields.get(name) or "") for name in ("fail_type", "fail_reason"))) or None
        if compile.has_ended:
            self._close(compile)
        return True

    def write_pins(self, compile: LoggedCompile, guard: AddedText | None) -> None:
        """Symbols that became a number, with the line of the guard that did it; at the end, those that no guard names have no line."""
        pins = [pin for pin in compile.waiting_pins if guard is None or guard.names(pin.symbol)]
        compile.waiting_pins = [pin for pin in compile.waiting_pins if pin not in pins]
        place = guard.place if guard else None
        for pin in pins:
            body = {"symbol": pin.symbol, "sources": compile.sources.get(pin.symbol, []), "value": pin.value, "reason": pin.reason}
            self.write(compile, {"symbolic_shape_specialization": {**body, **self.stack(place, guard.within if guard else None)}})
            compile.fixed += [(source, pin.value, place) for source in compile.sources.get(pin.symbol, ()) if ".size()[" in source]

    def stack(self, place: LoggedLine | None, within: LoggedLine | None = None) -> dict[str, Any]:
        """The fields of a record that hold a line of the user, with the whole path where the log has it elsewhere, and one of PyTorch."""
        stack = [{"filename": within.file, "line": within.line, "name": within.name, "loc": ""}] if within else []
        if place is None:
            return {"user_stack": [], "stack": stack}
        file = next((known for known in self._files if known.endswith(f"/{place.file}")), place.file)
        return {"user_stack": [{"filename": file, "line": place.line, "name": place.name, "loc": place.code}], "stack": stack}

    def know(self, file: str) -> None:
        """Note the path of a file, which other lines shorten."""
        if file and len(self._files) < _MOST_KNOWN_FILES:
            self._files[file] = None


def _limit_metrics(compile: LoggedCompile) -> dict[str, Any]:
    """The metrics of a call that hit the recompile limit."""
    metrics = {"fail_type": "RecompileLimitExceeded", "fail_reason": compile.limit}
    if compile.lacks_entries:
        metrics["recompile_reason"] = NO_REASON
    limits = {"recompile_limit": compile.limit_value, "accumulated_recompile_limit": compile.accumulated_limit}
    if config := {name: int(value) for name, value in limits.items() if value}:
        metrics["dynamo_config"] = orjson.dumps(config).decode()
    if compile.failure is not None:  # of those that PyTorch records, this one reached the caller
        metrics["fail_type"] = "FailOnRecompileLimitHit"
    return metrics


def _is_another(known: LoggedCode, code: LoggedCode) -> bool:
    """Whether two functions differ in what is known of both; paths may be shortened."""
    files = [path.replace("\\", "/").rpartition("/")[2] for path in (known.file, code.file)]
    return bool(known.name and code.name) and (known.name != code.name or (all(files) and files[0] != files[1]))
