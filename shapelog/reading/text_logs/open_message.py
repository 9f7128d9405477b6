"""A message whose lines are still being read, and which lines without a head go on with it."""

import re
from dataclasses import dataclass, field

from shapelog.reading.text_logs.lines.joined import is_in_span
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.message_kinds import (
    CHAINS,
    MessageKind,
    begins_break,
    ends_failure,
    ends_stack,
    ends_words,
    failure_goes_on,
    goes_on,
    goes_on_after_blank,
    has_title_below,
    heads_other,
    heads_output,
    heads_stack,
    heads_traceback,
    heads_user_stack,
    is_compiled_guard,
    is_error,
    is_in_own_words,
    is_in_stack,
    is_of_test,
    lists_compiled_guards,
    skips_blank,
)
from shapelog.reading.text_logs.messages.logged_warnings import warning_goes_on

MOST_LINES, _MOST_FAILURE_LINES = 200_000, 2_000
# Lines that may be the rest of a wrapped one, or a program's own.
_MOST_WRAPPED = {MessageKind.RECOMPILES: 30, MessageKind.LIMIT: 30, MessageKind.PROFILE: 20_000, MessageKind.FAILURE: 20}
# The exceptions that have what PyTorch logs about a recompilation or the limit as their message.
_ABOUT_RECOMPILES = re.compile(r"RecompileError\b|LimitHit\b|LimitExceeded\b")


@dataclass(slots=True, eq=False)
class OpenMessage:
    """Lines that were written at once; ``number`` is that of the first. Whether the exception of a traceback came already.

    ``also`` is another head that some of its lines have, ``wrapped`` how many lines came last that begin nothing by themselves,
    ``is_in_words`` whether the message of the exception may still go on, ``has_guards`` whether guards are listed in it,
    ``awaits_error`` whether the next line is to be the error of a backend, ``ends_block`` whether a block of code ends below it,
    ``is_in_output`` whether the output of a compiler may still go on, ``is_in_stack`` whether the stack of PyTorch's that torch 2.6 and
    older write below a graph break does, ``rank`` the one in front of the first line, without a head.
    """

    head: Head | None
    kind: MessageKind
    number: int
    lines: list[str] = field(default_factory=list)
    also: Head | None = None
    has_raised: bool = False
    awaits_error: bool = False
    is_after_blank: bool = False
    is_in_words: bool = False
    ends_block: bool = False
    has_guards: bool = False
    is_in_output: bool = False
    is_in_stack: bool = False
    wrapped: int = 0
    rank: int | None = None

    @property
    def has_fenced_stack(self) -> bool:
        """Whether its stack follows below a heading, in a block of code."""
        return self.kind is MessageKind.FAILURE and heads_stack(self.lines[-1])

    def begin(self, text: str, is_exception: bool = False) -> None:
        """Note whether the first line is an exception already, whose message may go on."""
        self.awaits_error = self.kind is MessageKind.FAILURE and text.rstrip().endswith("raised:")
        if is_exception or self.awaits_error or (self.kind is MessageKind.FAILURE and is_in_own_words(text)):
            self.has_raised = self.is_in_words = True

    def takes(self, text: str, begins: MessageKind) -> bool:
        """Whether a line without a head, which would begin a message of that kind, goes on with this one."""
        if self.kind is MessageKind.RECOMPILES:
            self.has_guards = self.has_guards or lists_compiled_guards(text)
            if self.has_guards and is_compiled_guard(text):
                return True
        if self.kind is MessageKind.WARNING:
            return begins is MessageKind.OTHER and warning_goes_on(self.lines, text)
        if self.kind is MessageKind.FAILURE:
            return self._takes_of_failure(text, begins)
        if self.kind is MessageKind.BREAK:
            if begins_break(text):
                return False
            if self._takes_of_break(text, begins):
                return True
        was_blank, self.is_after_blank = self.is_after_blank, not text.strip()
        if self.is_after_blank and skips_blank(self.kind):
            return True
        self.wrapped = 0 if begins is not MessageKind.OTHER else self.wrapped + 1
        if self.wrapped > _MOST_WRAPPED.get(self.kind, MOST_LINES):
            return False
        return goes_on(self.kind, text, begins) and (not was_blank or goes_on_after_blank(self.kind, text))

    def _takes_of_break(self, text: str, begins: MessageKind) -> bool:
        """Whether a line is the title of what was met, below a heading of PyTorch's, or of the traceback that old versions write at the
        end of a graph break; False does not mean that it is of none.
        """
        self.is_in_words = self.is_in_words and bool(text.strip())
        if heads_traceback(text) and (is_in_stack(self.lines[-1]) or (self.has_raised and CHAINS.match(self._words_above()))):
            self.is_in_stack = True
        if self.is_in_stack:
            self.is_in_stack = text.startswith('File "') or not ends_stack(text) or heads_traceback(text)
            self.has_raised = self.is_in_words = not self.is_in_stack
            return True
        if self.has_raised and (heads_user_stack(text) or ends_failure(text) or CHAINS.match(text)):
            return True
        return begins is MessageKind.OTHER and bool(text.strip()) and (self.is_in_words or has_title_below(self._words_above()))

    @property
    def _is_complete(self) -> bool:
        """Whether the last line is the end of an exception, below which the stack is that of another one."""
        last = self._words_above().rstrip()
        return ends_failure(last) or (is_error(last) and not last.endswith(":"))

    def _words_above(self) -> str:
        """The last line that is not empty."""
        return next((line for line in reversed(self.lines) if line.strip()), "")

    def _takes_of_failure(self, text: str, begins: MessageKind) -> bool:
        """Whether a line goes on with a traceback: anything up to the exception, and then what belongs to that."""
        if len(self.lines) >= _MOST_FAILURE_LINES or (begins is MessageKind.FAILURE and is_of_test(text)):
            return False
        if (
            begins in (MessageKind.RECOMPILES, MessageKind.LIMIT)
            and heads_other(text)
            and not _ABOUT_RECOMPILES.search(self._words_above())
        ):
            return False
        if not self.has_raised:
            self.has_raised = self.is_in_words = ends_stack(text)
            return True
        if heads_traceback(text) and any(map(heads_traceback, self.lines)) and self._is_complete:
            return False
        self.is_in_output = heads_output(text) or (self.is_in_output and bool(text.strip()))
        if self.is_in_output:
            return True
        self.wrapped += 1
        goes_on = not text.strip() and self.lines[-1].rstrip().endswith("graph break/error:")
        is_other = self.awaits_error and not is_error(text)
        self.awaits_error = False
        self.is_in_words = (
            self.is_in_words and not is_other and (not ends_words(text) or goes_on) and self.wrapped <= _MOST_WRAPPED[self.kind]
        )
        is_more = self.is_in_words and begins in (MessageKind.OTHER, MessageKind.FAILURE)
        return failure_goes_on(text) or is_more or is_in_span(self.lines[-1], [text])
