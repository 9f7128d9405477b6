"""The recompilations of a log, the calls that hit the recompile limit, and reasons that a text has alone."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import split_comment
from shapelog.reading.payloads.recompile_reasons import CHECK_FAILED, RECOMPILE_FORBIDDEN, split_entry
from shapelog.reading.payloads.recompile_reasons import parse as parse_reason
from shapelog.reading.text_logs import versions
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.failures.failure_text import FailureText
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.logged.checked_entries import newest_checked
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile
from shapelog.reading.text_logs.logged.logged_compiles import LoggedCompiles
from shapelog.reading.text_logs.message_kinds import MessageKind, is_cut_off
from shapelog.reading.text_logs.messages.bare_reasons import BareReasons, bare_reasons
from shapelog.reading.text_logs.messages.limit_text import LimitText, limits
from shapelog.reading.text_logs.messages.recompile_text import RecompileText, recompiles
from shapelog.reading.text_logs.messages.retold import retold_limits
from shapelog.reading.text_logs.messages.summaries import profiled_recompiles

# Limits that sentences mention, which are kept until the warning itself follows.
_MOST_MENTIONED = 100
# Reasons without their messages that are kept until the end, and those of messages that they are compared with.
_MOST_BARE = 10_000
# The recompiles that are looked at to tell the version; all of a log are of one.
_ENOUGH_FOR_VERSION = 100
_OF_FAILURE = re.compile(r"(?i)re-?compil|re-?trac|fail|miss(?:es|ed)?\b|mismatch|\u91cd\u65b0|\u7f16\u8bd1|\u518d\u30b3\u30f3")
# How a text has none of the reasons that PyTorch writes below each recompilation.
_ENDS, _LEAVES_OUT = "the log ends before its reasons", "the log leaves out its reasons"


class _Mention(NamedTuple):
    """What a sentence has about the limit, its line, and whether the text, or an excerpt in it, ends there."""

    limit: LimitText
    line: int
    is_end: bool


class LoggedRecompiles:
    """Takes the messages with reasons. What somebody quotes or mentions is held until all of the log is read."""

    def __init__(self, compiles: LoggedCompiles, contents: LogContents) -> None:
        self._compiles = compiles
        self._contents = contents
        self._mentioned: list[_Mention] = []
        self._bare: list[tuple[BareReasons, int]] = []
        self._reasons: set[tuple[str, str]] = set()

    def take(self, head: Head, lines: list[str], is_end: bool) -> None:
        """The recompilations of a message, each with its reasons. ``is_end``: the text, or an excerpt in it, ends in it."""
        items = list(recompiles(lines))
        for item in dict.fromkeys(items) if head.is_exact else items:
            if head == Head() and not item.reasons and item.is_mentioned:
                continue
            if item.suggested:
                self._contents.signs.add(versions.SUGGESTION)
            self._contents.suggested.update(dict.fromkeys(filter(None, item.suggested.split(","))))
            compile = self.add(head, item)
            if compile is not None and not item.reasons:
                compile.lost_reasons = _ENDS if is_end else _LEAVES_OUT

    def take_profile(self, head: Head, lines: list[str]) -> None:
        """Those in the table of a CompileProfiler, which prints the reason of each: the others were cut."""
        for item in profiled_recompiles(lines):
            compile = self.add(head, item)
            if compile is not None and not item.reasons:
                compile.lost_reasons = _LEAVES_OUT

    def add(self, head: Head, item: RecompileText, shows_version: bool = True, is_bare: bool = False) -> LoggedCompile | None:
        """The compile that it is, None where the log had it already. Reasons that are alone may have the id of another function's."""
        self._compiles.know(item.code.file)
        if shows_version and self._contents.messages["recompiles"] < _ENOUGH_FOR_VERSION:
            found = set(versions.of_reasons(item.reasons))
            self._contents.signs.update(found - {versions.WITHOUT_IDS} if is_bare else found)  # somebody left out all else as well
        frame, newest = newest_checked(item.reasons)
        if not head.compile and frame:  # a line that lost its head still names the entries that were checked
            named = head._replace(compile=f"{frame}/{1 + newest}")
            known = self._compiles.known(named) if is_bare and not item.code.name else None
            head = head if known and known.reasons and known.code.name else named
        self._know_reasons(item.reasons, head.compile, item.code.name)
        compile = (
            self._compiles.compile_of(head, "reasons", item.code, names_entries=bool(item.reasons))
            if head.compile
            else self._compiles.unnumbered(head, item.code)
        )
        if compile is None or (compile.reasons and not item.is_whole):
            return None
        self._contents.messages["recompiles"] += bool(item.reasons)
        self._compiles.name(compile, item.code)
        self._compiles.write_reasons(compile, item.reasons)
        return compile

    def take_limits(self, head: Head, lines: list[str], is_end: bool) -> None:
        """The warnings at the recompile limit. Sentences that mention it are held, as the warning itself may follow."""
        self._contents.signs.update(versions.of_text("\n".join(lines)))
        is_rest = is_cut_off(MessageKind.LIMIT, lines[0]) and "`last reason: " not in lines[0]
        for item in limits(lines):
            is_mention = head == Head() and not item.code.name and not is_rest
            if item.is_mentioned and head == Head() and not item.reasons:
                continue
            self._contents.signs.update(() if is_mention else versions.of_reasons(item.reasons))
            if is_mention:
                if len(self._mentioned) < _MOST_MENTIONED and not self._contents.limits:  # the warning itself may follow
                    self._mentioned.append(_Mention(item, self._compiles.line, is_end))
            else:
                same = [mention for mention in self._mentioned if mention.limit.setting == item.setting]
                known = next((mention.limit.reasons for mention in same if mention.limit.reasons), ())
                self._take_limit(head, item if item.reasons else item._replace(reasons=known), is_end)
                self._mentioned = [mention for mention in self._mentioned if mention not in same]

    def _take_limit(self, head: Head, item: LimitText, is_end: bool) -> None:
        self._contents.limits += 1
        self._compiles.know(item.code.file)
        frame, newest = newest_checked(item.reasons)
        if not head.compile and frame:
            head = head._replace(compile=f"{frame}/{max(1 + newest, int(item.limit or 0))}")
        self._know_reasons(item.reasons, head.compile)
        compile = self._compiles.compile_of(head, "limit", item.code) if head.compile else None
        compile = compile or self._compiles.unnumbered(head, item.code, is_recompile=False)
        self._compiles.name(compile, item.code)
        compile.limit = f"{item.setting} reached" + (f" ({item.limit})" if item.limit else "")
        compile.lacks_entries = item.has_none
        compile.limit_value, compile.accumulated_limit = ("", item.limit) if "accumulated" in item.setting else (item.limit, "")
        if item.reasons and not compile.reasons:
            compile.is_of_oldest = item.is_of_oldest
            self._compiles.write_reasons(compile, item.reasons)
        elif item.is_cut and not compile.reasons:
            compile.lost_reasons = _ENDS if is_end else _LEAVES_OUT

    def take_bare(self, lines: list[str]) -> None:
        """Reasons that somebody pasted without their messages, which may follow."""
        for item in bare_reasons(lines):
            if item.is_checked or len(self._bare) >= _MOST_BARE:
                self._take_bare(item)
            else:
                self._bare.append((item, self._compiles.line))

    def _take_bare(self, item: BareReasons) -> None:
        """The recompilation of reasons alone, unless the text has them once more, as in a summary, or before and after a change."""
        is_named = bool(item.code.name or split_entry(item.reasons[0])[0])
        if is_named and {(item.compile or item.code.name, _guard_of(reason)) for reason in item.reasons} <= self._reasons:
            return
        text = RecompileText(item.code, item.reasons)
        compile = self.add(Head(compile=item.compile), text, shows_version=not item.is_checked, is_bare=True)
        if compile is not None and item.is_checked:
            self._contents.failures += 1
            compile.failure = FailureText(RECOMPILE_FORBIDDEN, CHECK_FAILED, item.code, f"{CHECK_FAILED}, reason: {item.reasons[0]}")

    def finish_bare(self, are_quoted: bool, text: Iterable[str] = ()) -> None:
        """Take the reasons alone that were held: those that somebody quotes in a sentence, or the others.

        Guards that a text quotes may all hold where it has several ones, or no comment of PyTorch's, and no words about a failure.
        """
        guards = [item.reasons[0] for item, _ in self._bare if item.may_hold]
        is_list = (len(guards) > 1 or any("___check_" in guard for guard in guards)) and not any(map(_OF_FAILURE.search, text))
        taken = -1
        for item, line in self._bare:
            if (
                item.is_said == are_quoted
                and not (item.may_hold and is_list)
                and (not are_quoted or line == taken or self._contents.has_only_warnings)
            ):
                self._compiles.line = taken = line
                self._take_bare(item)

    def take_retold(self, lines: Iterable[str]) -> None:
        """What a person writes about the limit in a sentence, where the text has nothing else."""
        for item in retold_limits(lines) if self._contents.has_only_warnings else ():
            self._contents.signs.update(versions.of_text(f"config.{item.setting} ("))
            self._take_limit(Head(), item, is_end=False)

    def finish_limits(self, text: Sequence[str]) -> None:
        """Take what sentences mention of the limit, now that it is known that the text has no warning of it."""
        if not any(mention.limit.limit for mention in self._mentioned):  # sentences may have its value in front of the reason
            before = self._contents.limits
            self.take_retold(text)
            if self._contents.limits > before:
                return
        mentions = [mention for mention in self._mentioned if not mention.limit.is_mentioned]
        explained = {mention.limit.setting for mention in mentions if mention.limit.reasons}
        for limit, line, is_end in {_what_failed(mention.limit): mention for mention in mentions}.values():
            if limit.reasons or limit.setting not in explained:
                self._compiles.line = line
                self._take_limit(Head(), limit, is_end)

    def _know_reasons(self, reasons: Iterable[str], *of: str) -> None:
        """Note the reasons of a compile, as the text may have them once more, alone; ``of`` are its id and its function."""
        if len(self._reasons) < _MOST_BARE:
            self._reasons |= {(name, _guard_of(reason)) for reason in reasons for name in ("", *of)}


def _what_failed(limit: LimitText) -> tuple[str, ...]:
    """The setting, and what the last reason is about: a warning that names no function may be repeated with other values."""
    if not limit.reasons:
        return (limit.setting,)
    reason = parse_reason(limit.reasons[-1])
    return limit.setting, reason.source or reason.text, str(reason.prop)


def _guard_of(reason: str) -> str:
    """A reason without its line of code and its stack, which a person may leave out."""
    return split_comment(reason.partition("\n")[0].strip())[0]
