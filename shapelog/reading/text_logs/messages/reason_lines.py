"""The lines of a message that give a reason: alone, continued on the next line, or cut."""

import re
from collections.abc import Iterable, Iterator

from shapelog.reading.payloads.recompile_reasons import parse, split_entry

STACK_LINE = re.compile(r"\s*(?:User stack trace:|File \"|\^|~)")
_PLACE_OF_GUARD = re.compile(r"\s*(?:# )?(\S{1,400}:\d{1,9} in \w.*)")
_ACTUAL = re.compile(r"\s*actual\s+(\S.*)")
# What follows an item or a call in a source.
_GOES_ON_IN_SOURCE = re.compile(r"\.[A-Za-z_]|\[")
_ALONE = re.compile(
    r"tensor '.+?' (?:size|strides?|rank|dtype|requires_grad|dispatch key set|Tensor device index) mismatch"
    r"|___check_\w+\(|GLOBAL_STATE changed"
    r"|[A-Za-z_][\w.\[\]'\"]* (?:==|is) \S+\s*$|len\(.+\) == \d+|Cache line invalidated|expected type of '|KeyError on [LG]\["
)
# The reason at the end of a line, and a function whose place the text does not have to its end.
_ENDS_IN_REASON = re.compile(r"^(?P<before>.*(?:- |last reason: *|reasons?: *|guard failure(?:\(s\))?: ))(?P<reason>\S.*)$")
_DOTS = re.compile(r"(?:\.{3,}|\u2026|\[(?:\.{3}|\u2026)\])\s*$")
_LONGEST_DOTS = 20
_ENDS_IN_PLACE = re.compile(r"^(?P<before>.*Recompiling function [^\s'\"]+) in [^'\"`]*$|^(?P<function>.*\bfunction: '[^']*') \([^)]*$")
# What may be the beginning of any guard: a word, a tensor, a source without an operator, and what is in open brackets.
_IN_PART = re.compile(r"\w*|tensor '.*|[LG]\[[^\s()]*|[^()]*\([^()]*(?:\([^()]*\)[^()]*)*")
# A guard with both of its values, and behind it words that are not a comment of PyTorch's.
_WHOLE_GUARD = re.compile(
    r"(?P<guard>(?:\d{1,9}/\d{1,9}: )?tensor '.{1,400}?' (?:[\w ]{1,40}mismatch|mismatch)(?: at index \d{1,3})?"
    r"[.,] expected [^\s,]{1,200}, actual \S{0,200}?\w)[.,;:!?`'\")]{0,4}(?=\s+[^\s#]|\s*$)(?!\s+(?:actual|expected)\b)"
)
# What changed of the global state, each with a name of several words, up to those of a sentence.
_WHOLE_STATE = re.compile(
    r"(?:\d{1,9}/\d{1,9}: )?GLOBAL_STATE changed:(?: (?:autocast[\w()]*|[a-z\d]+(?:_[a-z\d]+)+)){1,40}(?!\w|.{0,400}expected )"
)
# That of a sentence: no number of Python's ends with one.
_PERIOD = re.compile(r"(?<=\d)\.$")

# A reason up to where a page or a person wrapped it, and how the rest of it begins.
_HALF = re.compile(
    r"tensor '[^`]{1,400}' (?:size|strides?|rank|dtype|requires_grad|dispatch key set)\s*$"
    r"|tensor '[^']{0,400}(?:'[^']{0,400}'[^']{0,400}){0,9}'? ?[\w ]{0,40} (?:mismatch[.,]?(?: at(?: index(?: \d+\.?)?)?)?)?"
    r"(?: expected(?: (?:DispatchKeySet\([^()]*\)|[^\s,()]+),?(?: actual)?)?)?\s*$"
)
_REST = re.compile(r"\s*(?:mismatch|at index|index \d|expected|actual|\d|DispatchKeySet\()")


def unwrapped(lines: Iterable[str], before_all: re.Pattern[str] | None = None) -> Iterator[str]:
    """The lines, with the parts of a reason together that a page or a person wrapped. What ends with ``before_all`` goes on, too."""
    held = ""
    for line in lines:
        if held and (_REST.match(line) or not _HALF.search(held)):
            line = f"{held.rstrip()} {line.strip()}"
        elif held:
            yield held
        held = ""
        if _HALF.search(line) or (before_all is not None and before_all.search(line)):
            held = line
        else:
            yield line
    if held:
        yield held


def continued(reason: str, text: str, is_item: bool) -> str:
    """A reason with one more line: that of its stack, or the rest of a line that was wrapped where it was shown."""
    if is_item or "\n" in reason or STACK_LINE.match(text):
        return f"{reason}\n{text}"
    if "  # " in reason and "  # " not in reason.partition("  # ")[2] and (place := _PLACE_OF_GUARD.match(text)):
        return f"{reason.rstrip()}  # {place[1]}"
    blank = "" if _GOES_ON_IN_SOURCE.match(text.strip()) and reason.rstrip()[-1:] in "])" else " "
    if (actual := _ACTUAL.match(text)) and not reason.rstrip().endswith(","):  # somebody has each value on a line of its own
        text, blank = f"actual {actual[1]}", ", "
    joined = f"{reason.rstrip()}{blank}{text.strip()}"
    return joined if parse(reason).family in ("other", "backend") and len(joined) < 10_000 else reason


def is_reason(text: str) -> bool:
    """Whether a line is one of the reasons that PyTorch gives, by itself."""
    text = text.strip()
    return bool(text) and (bool(split_entry(text)[0]) or _ALONE.match(text) is not None) and parse(text).family not in ("other", "backend")


def whole_guard(reason: str) -> str:
    """A reason without the words of a sentence that follow it on its line, and the period."""
    if state := _WHOLE_STATE.match(reason):
        return state[0]
    found = _WHOLE_GUARD.match(reason)
    return found["guard"] if found and not parse(reason).actual else _PERIOD.sub("", reason)


def without_dots(line: str) -> str:
    """A line that ends in a reason without the dots that somebody put in place of the rest of it."""
    found = _DOTS.search(line[-_LONGEST_DOTS:])
    return line[: found.start() - min(len(line), _LONGEST_DOTS)].rstrip() if found and _ENDS_IN_REASON.match(line) else line


# As old versions write reasons: ``["tensor 'x' size mismatch at index 0. expected 4, actual 8"]``.
_WHOLE_LIST = re.compile(r"\[\[?(?P<quote>['\"]).*(?P=quote)\]?\]")


def is_left_open(line: str) -> bool:
    """Whether a line ends within the brackets of its guard."""
    found = _ENDS_IN_REASON.match(line)
    return found is not None and "#" not in found["reason"] and found["reason"].count("[") > found["reason"].count("]")


def without_cut_end(line: str) -> str:
    """The last line of a text without what it holds in part: a guard, or the path of a file. A name that is complete stays."""
    place = _ENDS_IN_PLACE.match(line)
    if place and not re.search(r":\d{1,9}\s*$", line):
        return place["before"] or place["function"]
    found = _ENDS_IN_REASON.match(line)
    if not found or _WHOLE_GUARD.match(found["reason"]) or parse(found["reason"]).family != "other":
        return line
    if _WHOLE_LIST.fullmatch(found["reason"].strip()):
        return line
    if not _IN_PART.fullmatch(split_entry(found["reason"].strip())[1].lstrip("[\"'")):  # old versions write a list
        return line
    return found["before"] if found["before"].strip() != "-" else ""
