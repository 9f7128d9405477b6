"""Which lines of a log may begin a message of PyTorch's. All others are a program's own, and most logs are made of those.

Every line that begins a message has one of these words or forms, as it is in the file. They are few and rare, and are looked for in
megabytes at once, of which most lines differ in their numbers alone.
"""

import re
from functools import cached_property

from shapelog.reading.text_logs.lines.surroundings import LONGEST_LINE

# The heading of the user's stack. Above it is an exception, of which some programs print the message alone.
USER_STACK = "from user code:"
_LINES_ABOVE = 6
# torch and Torch, recompile and BackendCompiler, graph break and cudagraph, the heading of a traceback, and parts of exceptions.
_WORDS = (
    "orch",
    "ompil",
    "raph",
    "raceback (most recent call last",
    "onstraint",
    "xception Type",
    "uardManager check",
    "uard check failed:",
    "mismatch at index ",
    "ailed running call_",
    "ailed to run FX node",
    "running with fake tensors",
    "not know how to trace",
    "following guard failure",
    "GLOBAL_STATE changed: ",
    " as dynamic but ",
    "KeyError on ",
    " to be a tensor type",
    "___check_",
    "duck sizing added",
    "shown is first use",
    " raised:",
    "FakeTensor",
    "ynamo",
    " InductorError: ",
    "oweringException: ",
    "nsupported: ",
    "  Explanation: ",
    "data-dependent exp",
    "DependentSymNode: ",
    "uard failed on the same frame",
    "nput data pointer changed",
    "<FrameSummary file",
    "Break Reason ",
    "`last reason: ",
    " triton installation",
    " triton GPU",
    "o valid triton configs. ",
    "or C++ stack trace, run with",
    "DYNAMO_VERBOSE=1 for ",
    "you are using FX to ",
    "xpected input at *args[",
    "yntaxError: failed to compile",
    "with program_source:",
    " - AssertionError: expected size ",
    USER_STACK,
)
_WORDS_IN_BYTES = tuple(word.encode() for word in _WORDS)
# An empty line is passed over at once. Ids of compiles and words, with at most some characters in front of them that are no letters.
_AT_BEGIN = (
    r"\n(?!\n)(?:\x1b\[[\d;]{0,9}m|\{\"log\":\")?[^\w\n]{0,%d}(?:function: |last reason: |tensor |GuardFail|TREE_GUARD|GUARDS:|\+- |create_"
    r"|set_repl|_update_var|track_sym|eval |runtime_assert |could not ev|dynamo hit|CacheLimit|InductorError|LoweringExc"
    r"|Unsupported|UserError"
    r"|Explanation: |TENSOR_MATCH|WON'?T CONV|Constraints violated|Not all values of |You marked |Error while creating|Re-record|___check_"
    r"|GLOBAL_STATE|__\w|\d{1,9}/\d|guard \d{1,9} fail|(?:\d{1,9}: )?Cache miss due|automatic dynamic "
    r"|AssertionError: (?:expected size \d|Guard failed: )|RuntimeError: Expected input |Error: input_handles\[)"
)
_AFTER_A_PLACE = r"\] \[(?:__\w|\d{1,9}/\d)"
# The cell of a table with an id begins with one of two characters, each of which is found faster alone.
_CELLS = (r"\|[ \t]{0,9}`?\d{1,9}/\d{1,9}: ", r"\t[ \t]{0,9}`?\d{1,9}/\d{1,9}: ")
_CELL_AFTER_A_PLACE = r"\.py:\d{1,9}`? {0,9}\| {0,9}`?(?:tensor '|GLOBAL_STATE |[^|\n]{0,20}[LG]\[|___\w)"
_BEHIND_WORDS = r": [\"'`]?\d{1,9}/\d{1,9}: "
_FUNCTION_OF_PGO = r":\d{1,9}:[\w<>.%s]{1,200}:\s*\n"
_WITHIN = (_AFTER_A_PLACE, *_CELLS, _CELL_AFTER_A_PLACE, _BEHIND_WORDS)
_IN_LINE = re.compile("|".join((_AT_BEGIN % 10, *_WITHIN, _FUNCTION_OF_PGO % "")), re.A)
# In bytes, which are up to four for a character.
_IN_BYTES = tuple(re.compile(text.encode()) for text in (_AT_BEGIN % 40, *_WITHIN, _FUNCTION_OF_PGO % r"\x80-\xff"))

_ONE_DIGIT = bytes.maketrans(b"123456789", b"000000000")


def has_sign(line: str) -> bool:
    """Whether a line, as it is in the file, may begin a message."""
    line = line[:LONGEST_LINE]
    return any(map(line.__contains__, _WORDS)) or _IN_LINE.search(f"\n{line}\n") is not None


class Signs:
    """Where in some whole lines of a log those with a sign begin."""

    def __init__(self, lines: bytes) -> None:
        self._lines = b"\n" + lines

    @cached_property
    def _found(self) -> list[int]:
        """Where each word and form is next, as far as that was looked for; the end of all where no line has any of them."""
        return [0 if _may_have_sign(self._lines) else len(self._lines)] * (len(_WORDS) + len(_IN_BYTES))

    def line_from(self, place: int) -> int:
        """Where the first line with a sign begins, from a line that begins at ``place`` on; the end of all where there is none."""
        for number, found in enumerate(self._found):
            if found <= place:
                self._found[number] = self._find(number, place)
        first = min(self._found)
        return self._lines.rfind(b"\n", place, first) if first < len(self._lines) else first - 1

    def _find(self, number: int, place: int) -> int:
        """Where a word or form is next, the end of all where it is not."""
        if number < len(_WORDS):
            found = self._lines.find(_WORDS_IN_BYTES[number], place + 1)
            if found >= 0 and _WORDS[number] == USER_STACK:
                found = self._above(found, place)
            return found if found >= 0 else len(self._lines)
        form = _IN_BYTES[number - len(_WORDS)].search(self._lines, place)
        return form.start() + 1 if form else len(self._lines)

    def _above(self, found: int, place: int) -> int:
        """A place in the first of the lines above the one at ``found``, or in the one at ``place`` where there are fewer."""
        begin = self._lines.rfind(b"\n", place, found)
        for _ in range(_LINES_ABOVE):
            begin = max(place, self._lines.rfind(b"\n", place, begin))
        return min(begin + 1, found)


def _may_have_sign(lines: bytes) -> bool:
    """Whether one of some whole lines has a sign; of those that differ in their numbers alone, one is looked at."""
    kinds = b"\n".join((b"", *set(lines.translate(_ONE_DIGIT).split(b"\n")), b""))
    return any(map(kinds.__contains__, _WORDS_IN_BYTES)) or any(form.search(kinds) for form in _IN_BYTES)
