"""What nearly every line of a log begins or ends with: times, levels, hosts, processes, line numbers of whoever kept it, signs of a quote.

Launchers, loggers and CI systems have endless forms of it. It is found in the lines themselves: whatever they have in common, apart
from numbers and levels, up to the head that PyTorch writes.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, takewhile

# The first line of a message of several lines, and how the others begin.
_FIRST_OF_MESSAGE = re.compile(
    rb"(?P<rank>[ \t]*\[rank ?\d{1,6}\]: ?)?(?P<lead>[ \t]*\S[^\n]{0,120}?)(?=torch\._dynamo hit config\.|Recompiling function \w)"
)
_NEXT_OF_MESSAGE = re.compile(rb"\s{0,12}(?:function: |last reason: |reasons?: |To log all |to diagnose |triggered by |- )")
# What PyTorch's own logging has in front of each, with the id of a compile or a time.
_OWN_HEAD = re.compile(rb"[VDIWEC]\d{4} \d\d:\d\d|\[(?:!\d{1,9}/?)?\d{1,9}/\d|\] \[__|\[[-\d]{10} [\d:,.]{8,15}\] torch[\w.]+: \[")
# Of how many lines the form is taken, and of how many characters of each.
_SAMPLED, _LONGEST = 1_000, 160
# How many lines of one message are looked at.
_MOST_OF_MESSAGE = 64
# Of fewer lines than this, all have to begin the same way.
_FEW, _FEWEST = 10, 3
# An empty line may have no more than the sign in front of it.
_WORD = re.compile(rb"[^\s!-/:-@\[-`{-~]")
# The upper or lower side of a box, in UTF-8 (U+2500 to U+257F) or ASCII.
_BORDER = re.compile(rb"(?:[\s|+=-]|\xe2[\x94\x95][\x80-\xbf])*$")
_HAS_WORD = re.compile(r"\w")
_NUMBER = re.compile(rb"(?:^ +)?\d+")
_COLUMNS = re.compile(rb" *(\d{1,9})(?: +(\d{1,9}))?(?: |$)")
_LEVEL = re.compile(rb"\b(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|debug|info|warning|error|critical)\b *")
_MASKED = re.compile(rb"0|\x00| +|[^0\x00 ]+")
# Where PyTorch's own head begins, and what only its messages have.
_OF_PYTORCH = re.compile(
    rb"[VDIWEC]0 0:0|\[rank|\[default0\]|\[0-0-0 0:0:0,?0?\] (?:\[0/0|torch|$)|\[0-0-0 0:0:0,0\]$|torch(?:[._/]|inductor_)"
    rb"|[Rr]ecording cuda|0/0|[\"'=]|\| \+-|\+- "
)
# The side of a box of rich's, in a text that has one.
_BOX, _SIDE = b" Traceback (most recent call last) ", re.compile(rb"\xe2\x94\x82|\|")
# What a launcher has in parentheses goes on behind that: ``(Worker pid=7)``.
_OPEN = re.compile(rb"\([^()]*$")
# How the field of logfmt begins that holds the line.
_FIELD = re.compile(rb".*\b(?:msg|message|event|log)=\"", re.S)
# The right side of a box or of a row of a table, and the end of a field of a logger's.
_ENDINGS = ("|", "\u2502", "\u2503", '"')
_ESCAPED = re.compile(r"\\([\"\\])")
_RANK = re.compile(rb"(?i)\brank[ =:_]?(\d{1,6})\b")
# It ends with a sign, or with a blank where a time is in it.
_TIME = re.compile(rb".*0:0:0.*[ \t]", re.S)
_ENDS = re.compile(rb".*(?:[\])}|:>+][ \t]?|\s-[ \t]|^\W{1,4}[ \t]|\t)", re.S)


def lead_of(text: bytes) -> re.Pattern[bytes] | None:
    """What at least four of five lines begin with, as it can be removed from each line; None where they have nothing in common."""
    lines = [line[:_LONGEST] for line in text.split(b"\n") if _WORD.search(line) and not _BORDER.match(line)]
    if 3 < len(lines) < _FEW and len(lines[-1]) < min(map(len, lines[:-1])):
        lines.pop()  # the text ends in it
    lines = lines if len(lines) <= 2 * _SAMPLED else lines[:_SAMPLED] + lines[-_SAMPLED:]
    masked = sorted(_LEVEL.sub(b"\x00", _NUMBER.sub(b"0", line)) for line in lines)
    if len(masked) < 3:
        return None
    some = len(masked) // 10
    first, last = masked[some], masked[-1 - some]
    shared = first[: next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))]
    if field := _FIELD.match(shared):
        return _as_removed(field[0])
    own = _OF_PYTORCH.search(shared)
    shared = _OPEN.sub(b"", shared[: own.start()]) if own else shared
    side = _SIDE.search(shared) if _BOX in text else None
    shared = shared[: side.start()] if side else shared
    found = max(_TIME.match(shared), _ENDS.match(shared), key=lambda match: match.end() if match else -1)
    if found is None or not found[0].strip():
        return _line_numbers(lines[:_SAMPLED])
    return _as_removed(found[0])


def without_loggers(text: bytes) -> bytes:
    """The text without what a logger wrote in front of each line of a message, ``WARNING:torch._dynamo.convert_frame:``, where other
    lines of the text do not have it.
    """
    lines, found = text.split(b"\n"), list[bytes]()
    while len(found) < len(lines):
        at = len(found)
        found += _without_lead(lines[at : at + _MOST_OF_MESSAGE]) if _FIRST_OF_MESSAGE.match(lines[at]) else lines[at : at + 1]
    return b"\n".join(found)


def _without_lead(lines: Sequence[bytes]) -> Sequence[bytes]:
    """The lines of a message, of which the first begins one, without what all of them begin with; else the first line as it is."""
    first = _FIRST_OF_MESSAGE.match(lines[0])
    if first is None or _OWN_HEAD.search(first["lead"]) or first["lead"].endswith((b'"', b"'")):  # in code, it is a string
        return lines[:1]
    lead = re.compile(rb"(?P<rank>[ \t]*\[rank ?\d{1,6}\]: ?)?" + _form_of(first["lead"]))
    own = [match for match in takewhile(bool, map(lead.match, lines)) if match]
    if len(own) < 2 or not _NEXT_OF_MESSAGE.match(lines[1], own[1].end()):
        return lines[:1]
    return [(match["rank"] or b"") + line[match.end() :] for match, line in zip(own, lines, strict=False)]


def _form_of(lead: bytes) -> bytes:
    """A pattern for a lead with any numbers and any level."""
    masked = _LEVEL.sub(b"\x00", _NUMBER.sub(b"0", lead))
    return b"".join(map(_form, _MASKED.findall(masked)))


def _as_removed(shared: bytes) -> re.Pattern[bytes]:
    parts = (_form(part) for part in _MASKED.findall(shared.rstrip(b" ")))
    return re.compile(b"(?m)^ *" + b"".join(parts) + (b" ?" if shared.endswith(b" ") else b""))


def without_ending(text: str) -> str:
    """The text without the sign that four of five lines end with: the side of a box, empty cells, or the mark that closes a quoted field.

    Other lines without a word, such as the upper side of the box, are empty then, and the escapes in such a field are undone. The box of
    a traceback is left as it is.
    """
    lines = text.split("\n")
    last = Counter(line.rstrip()[-1] for line in lines if _HAS_WORD.search(line))
    ending, count = max(last.items(), key=lambda item: item[1], default=("", 0))
    if ending not in _ENDINGS or count < _FEWEST or 5 * count < 4 * last.total():
        return text
    if _BOX.decode() in text and any(line.lstrip().startswith(ending) for line in lines if _HAS_WORD.search(line)):
        return text
    own = [line if _HAS_WORD.search(line) or line.rstrip().endswith(ending) else "" for line in lines]
    if ending == '"':
        return "\n".join(_ESCAPED.sub(r"\1", line.rstrip().removesuffix(ending).removesuffix(" ")) for line in own)
    return "\n".join(line.rstrip(f" \t{ending}") for line in own)


def ranks_in(text: bytes, lead: re.Pattern[bytes]) -> list[int | None]:
    """The rank that each line has in what is removed from it; [] where no line has one."""
    if b"rank" not in lead.pattern.lower():
        return []
    leads = (lead.match(line) for line in text.removesuffix(b"\n").split(b"\n"))
    found = [_RANK.search(match[0]) if match else None for match in leads]
    return [int(rank[1]) if rank else None for rank in found] if any(found) else []


def _line_numbers(lines: list[bytes]) -> re.Pattern[bytes] | None:
    """The numbers of the lines, in one or two columns with nothing but blanks between them and the text."""
    found = [_COLUMNS.match(line) for line in lines]
    columns = 0
    while columns < 2 and len(lines) > 2 and _is_counted([int(match[columns + 1] or -1) if match else -1 for match in found]):
        columns += 1
    return re.compile(rb"(?m)^" + rb" *\d+" * columns + rb"(?: |$)") if columns else None


def _is_counted(numbers: list[int]) -> bool:
    """Whether nearly each number is one more than that of the line before."""
    return 5 * sum(after == before + 1 for before, after in pairwise(numbers)) >= 4 * (len(numbers) - 1)


def _form(part: bytes) -> bytes:
    if part == b"0":
        return rb"\d+"
    if part == b"\x00":
        return _LEVEL.pattern
    return b" +" if part.isspace() and b"\t" not in part else re.escape(part)
