"""What is known of one compile of a log while it is read."""

import re
from dataclasses import dataclass, field
from typing import Any

from shapelog.reading.payloads.guards.expressions import parse
from shapelog.reading.text_logs.failures.failure_text import FailureText
from shapelog.reading.text_logs.messages.logged_code import LoggedCode, LoggedLine
from shapelog.reading.text_logs.messages.symbol_text import AddedText, PinnedText

_INTEGER, _SYMBOL = re.compile(r"-?\d{1,18}"), re.compile(r"[a-z]\w*")


@dataclass(slots=True, eq=False)
class LoggedCompile:
    """What is known so far of one compile. ``ids`` is None until one without an id gets one; what is written meanwhile waits.

    One that ``is_implied`` is not in the log, but its cache entry was checked. With one that ``begins_run``, ids started again. Of one
    that ``names_failure``, PyTorch logged the failure with its id. ``skipped``: the metrics of one that a graph break ended.
    For one that ``lacks_entries``, PyTorch found no reason, since its cache was empty; where ``is_of_oldest``, its reason is that of the
    first entry.
    """

    ids: dict[str, int] | None
    process: int
    time: str
    line: int
    attempt: int = 0
    code: LoggedCode = field(default_factory=LoggedCode)
    reasons: bool = False
    lost_reasons: str = ""
    assumes_entries: bool = False
    started: bool = False
    has_env: bool = False
    has_guards: bool = False
    has_graph: bool = False
    lost_graph: bool = False
    lost_guards: bool = False
    limit: str | None = None
    limit_value: str = ""
    accumulated_limit: str = ""
    lacks_entries: bool = False
    is_of_oldest: bool = False
    failure: FailureText | None = None
    names_failure: bool = False
    skipped: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    tensors: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    pinned: dict[str, None] = field(default_factory=dict)
    waiting_pins: list[PinnedText] = field(default_factory=list)
    last_guard: AddedText | None = None
    fixed: list[tuple[str, str, LoggedLine | None]] = field(default_factory=list)
    waiting: list[tuple[dict[str, Any], str | None, int]] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    is_implied: bool = False
    begins_run: bool = False
    is_closed: bool = False

    def number(self, text: str) -> int | str:
        """A size or stride as a number, where it is one or made of symbols that had one (``3*s0``); else as it is written."""
        known = self.values.get(text, text)
        if _INTEGER.fullmatch(known):
            return int(known)
        symbols = {name: int(value) for name in _SYMBOL.findall(text) if _INTEGER.fullmatch(value := self.values.get(name, ""))}
        computed = parse(text).value(symbols) if symbols else None
        return computed if type(computed) is int else text

    def begin_again(self, attempt: int) -> None:
        """Forget the symbols and the graph of the attempt before."""
        self.attempt = attempt
        self.values.clear()
        self.tensors.clear()
        self.sources.clear()
        self.pinned.clear()
        self.waiting_pins.clear()
        self.has_env = self.has_graph = False

    @property
    def has_symbols_alone(self) -> bool:
        has_message = any("artifact" in header for header, *_ in self.waiting)  # a graph break, say
        return not (self.is_over or self.has_graph or self.code.name or has_message)

    @property
    def has_ended(self) -> bool:
        """Whether its metrics show that it did not fail; the exception of one that did may follow."""
        return bool(self.printed) and not self.printed.get("fail_type")

    @property
    def is_over(self) -> bool:
        return self.has_guards or self.limit is not None or self.failure is not None or self.has_ended


def comes_again(compile: LoggedCompile, begins: str, attempt: int) -> bool:
    """Whether a message belongs to another compile of the same id, made after ids started again."""
    if (attempt < compile.attempt and begins != "limit") or (compile.printed and begins not in ("", "limit")):
        return True
    is_restart = attempt > compile.attempt
    if begins == "another":
        return True
    if begins == "limit":  # one that was traced was not refused, and one that was is over when the next one begins
        return compile.has_env or compile.has_graph or compile.has_guards or compile.is_closed
    if begins == "reasons":
        return compile.reasons or compile.started
    if begins == "start":
        return not is_restart and compile.is_over
    if begins == "env":
        return not is_restart and (compile.has_env or compile.has_guards)
    if begins == "graph":
        return compile.has_guards or (compile.has_graph and not is_restart)
    return begins == "guards" and compile.has_guards
