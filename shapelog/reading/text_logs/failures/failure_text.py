"""A failure as a text has it, and whether two texts are about the same one."""

import re
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION
from shapelog.reading.payloads.python_tracebacks import exception_chain
from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN
from shapelog.reading.text_logs.failures.violations import ANY_TYPE, CONDITIONED, VIOLATED, VIOLATED_ALONE, VIOLATION
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode
from shapelog.text import cut

_AT_LIMIT = frozenset(("FailOnRecompileLimitHit", "FailOnCacheLimitHit", "RecompileLimitExceeded", "CacheLimitExceeded"))
# The last one is of torch 2.1 to 2.5, where the whole function has to be compiled.
_REACHED = re.compile(
    r"Dynamo recompile limit exceeded|Dynamo attempted to recompile the code object too many times"
    r"|(?:accumulated_)?cache_size_limit reached\b"
)
_ACCUMULATED = re.compile(r"\baccumulated_(?:recompile|cache_size)_limit\b")
_LIMIT_IN_MESSAGE = re.compile(r"currently\s+set\s+to\s+(\d{1,9})\)|(?:recompile|cache_size)_limit \((\d{1,9})\)")
SHAPE_ENV = "PyTorch could not make the guards on sizes; most often a size is marked as dynamic that the code fixes"
_LOST_VIOLATION = f"{SHAPE_ENV} (SHAPE_ENV)"
# Below it, Inductor logs the kernel and what it was to be compiled for, and then the stack.
OF_KERNEL = "Triton compilation failed: "
_KERNEL = re.compile(rf"\s*{OF_KERNEL}(?P<name>\w{{1,400}})")
_NAMED = re.compile(r"L\[[^\s()]{1,200}(?:\(\)\[\d{1,3}\])?")
IN_STACK = re.compile(r'File "|^(?:File |Cell In|Input In|<ipython-)|^-{2,}> ?\d', re.M)
_LONGEST_KEY, LONGEST_PRINTED = 200, 10_000
_FEW_WORDS, LONGEST_LINE, _LONGEST_KERNEL = 20, 600, 80


class FailureText(NamedTuple):
    """A compile that failed: the type of the exception without its module, its message from the first line on, the function where known.

    ``caller`` is the innermost line of the traceback that is not of a library, where the user's own stack is not in the text.
    ``is_mentioned``: it is only named in a sentence. ``is_announced``: PyTorch logged it, and then raised it. ``is_of_backward``: it is of
    the backward graph alone, which PyTorch compiled ahead of its use.
    """

    type: str
    message: str
    code: LoggedCode
    text: str
    caller: LoggedCode = UNKNOWN_CODE
    is_mentioned: bool = False
    is_announced: bool = False
    is_of_backward: bool = False

    @property
    def limit(self) -> str:
        """The recompile limit where the message has it, else ""."""
        found = _LIMIT_IN_MESSAGE.search(self.text)
        return (found[1] or found[2]) if found else ""

    @property
    def is_at_limit(self) -> bool:
        return self.type in _AT_LIMIT or _REACHED.match(self.message) is not None

    @property
    def is_accumulated(self) -> bool:
        """Whether that is the limit for the entries of all objects that share the code."""
        return _ACCUMULATED.search(self.text) is not None

    @property
    def is_violation(self) -> bool:
        """Whether the code does not allow what is marked or declared as dynamic."""
        return VIOLATED.match(self.message) is not None

    @property
    def is_quoted(self) -> bool:
        """Whether there is no stack, as where a person or a program repeats the exception alone."""
        is_named_in_stack = self.code.name and self.type != RECOMPILE_FORBIDDEN  # whose message names the function
        return not is_named_in_stack and IN_STACK.search(self.text) is None

    @property
    def as_traceback(self) -> str:
        """The text; the exception as Python ends a traceback where the heading of that is not there, and words for one that is lost."""
        if self.is_lost:
            return self.reason
        return self.text if exception_chain(self.text) else f"Traceback (most recent call last):\n{self.type}: {self.message}\n"

    @property
    def reason(self) -> str:
        """The message; with the kernel that Triton failed on where that is all that the text has."""
        kernel = _KERNEL.match(self.text) if self.is_lost else None
        return f"Triton failed on the kernel {_named_kernel(kernel)}: {self.message}" if kernel else self.message

    @property
    def is_lost(self) -> bool:
        """Whether the text does not have the message; it is of any type where that is missing, too."""
        return self.message == LOST_EXCEPTION

    @property
    def is_unnamed(self) -> bool:
        """Whether the text does not have the class of the exception, or its message."""
        return self.is_lost or self.type == ANY_TYPE

    def completed(self, other: "FailureText") -> "FailureText":
        """The same with what only the other text about this failure has: the message, or the place."""
        named = other if self.is_lost or (self.type == ANY_TYPE and not other.is_lost) else self
        placed = self if self.code.name or self.caller.name else other
        return placed._replace(type=named.type, message=named.message, is_mentioned=named.is_mentioned)

    def completes(self, other: "FailureText") -> bool:
        """Whether both have no more than the message, and that of the other one is cut."""
        return other.is_quoted and len(self.message) > len(other.message) > 0 and self.message.startswith(other.message)

    @property
    def is_lost_violation(self) -> bool:
        """Whether the guards on sizes failed, and the text does not have the exception."""
        return self.message == _LOST_VIOLATION

    def violating(self, source: str, value: str, stack: str) -> "FailureText":
        """The same where it is known which size the code fixes to which value, and at which line."""
        condition = (
            f"Not all values of RelaxedUnspecConstraint({source}) are valid because {source} was inferred to be a constant ({value})."
        )
        return self._replace(type=VIOLATION, message=f"Constraints violated!\n- {condition}{stack}")

    def is_same(self, other: "FailureText") -> bool:
        """Whether both are of one failure, by the type and the beginning of the message; that of one may be cut."""
        if {self.type, other.type} == {VIOLATION, ANY_TYPE} and (self.is_lost_violation or other.is_lost_violation):
            return True
        if self.is_of_backward != other.is_of_backward and (self.is_lost or other.is_lost):
            return False
        if self.is_lost and other.is_lost:
            return (self.type, self.code, self.caller) == (other.type, other.code, other.caller)
        if self.is_lost or other.is_lost:
            lost, known = (self, other) if self.is_lost else (other, self)
            return (known.is_quoted or known.type != ANY_TYPE) if lost.type == known.type else lost.type == ANY_TYPE and known.is_quoted
        mine, others = self._key, other._key
        if self.type != other.type:
            return self._includes(other) or other._includes(self)
        if self.type == VIOLATION and (self._names or other._names):
            return self._names <= set(_NAMED.findall(other.message)) if self._names else other._names <= set(_NAMED.findall(self.message))
        return mine.startswith(others) or others.startswith(mine)

    def _includes(self, other: "FailureText") -> bool:
        """Whether the message has another exception in it, or is printed behind words of the program's own and without its class."""
        mine, others = self._key, other._key
        is_end = self.type == ANY_TYPE and len(others) > _FEW_WORDS and mine.endswith(others)
        return is_end or f"{other.type}: {others}" in mine

    @property
    def _names(self) -> set[str]:
        """What constraints are violated for, where the message has nothing but that."""
        return set() if CONDITIONED.search(self.message) else set(_NAMED.findall(self.message))

    @property
    def _key(self) -> str:
        if alone := VIOLATED_ALONE.search(self.message):
            return alone[0].strip()[:_LONGEST_KEY]
        first, _, rest = self.message.partition("\n")
        text = f"{first} {rest.lstrip().partition(chr(10))[0]}" if first.endswith("raised:") else first
        return text.strip().rstrip(".…'\"`")[:_LONGEST_KEY]


def _named_kernel(found: re.Match[str]) -> str:
    """The name of a kernel, with a sign that more of it followed where the text ends in it."""
    return f"{cut(found['name'], _LONGEST_KERNEL)}{'' if found.string[found.end() :].strip() else '…'}"
