"""Plain text for people: without control characters, in limited width, with counted nouns, readable times and ranges of ranks."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

# What is not seen: fillers, joiners, the soft hyphen, variation selectors, tags, and what changes the writing direction. The property
# Default_Ignorable_Code_Point of Unicode 17.0 (DerivedCoreProperties.txt), which is that of 14.0.
_IGNORABLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Control characters (the C1 range, too), line and paragraph separators, a Braille pattern and a musical note that are blank, what encloses
# hidden annotations, and halves of surrogate pairs.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u2800\U0001d159\ufff9-\ufffb\ud800-\udfff"
UNSAFE = re.compile(f"[{_CONTROL}{_IGNORABLE}]")
# The first word is code: ``x.shape[0]``, ``self.step``, ``mark_dynamic``, ``train()``.
_CODE = re.compile(r"\w+(?:[._\[]\w|\()")
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)\.(?=\s|$)")
_WORD = re.compile(r"\w")
_LINE_BREAKS = re.compile(r"[\t\n]+\s*")
# Addresses and ids differ from process to process.
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|\d{9,}")
_MAX_RANGES = 8
# How many names a sentence lists, unless it is asked for another number.
MOST_NAMED = 6
# Times from this one on, in seconds, are given in two units: seconds in each, their names.
_LONG_TIME = 60
# The least seconds that two decimals show.
LEAST_SECONDS = 0.005
# In a column of seconds such times would be wider than others up to this one.
_LONG_IN_COLUMN = 120
# A time as ``seconds`` writes it, from the last digit of its first number on.
_DIGITS = re.compile(r"(\d{1,18})")
_TIME = re.compile(r"\d (?:s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?")
_UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
# Of an option or a setting; every whole number up to it is exact as a float, too.
LARGEST_NUMBER = 10**15
_LONGEST_TYPED = 100


def one_line(text: object) -> str:
    """One line of plain text: names and code from a trace are never written to a terminal as they are."""
    line = str(text)
    return line if _is_plain_ascii(line) else escape_controls(_LINE_BREAKS.sub(" ", line))


def escape_controls(text: str) -> str:
    """The same lines, with an escape for each character that is invisible, or that could hide or reorder the text around it."""
    return text if _is_plain_ascii(text) else UNSAFE.sub(_escape, text)


def is_visible(text: str) -> bool:
    """Whether a text is one line of characters that are all seen, so that it may be copied from where it is shown."""
    return text.isprintable() and (text.isascii() or not UNSAFE.search(text))


def visible(text: str) -> str:
    """``text`` with an escape for each character that is no printable one, line ends and tabs included."""
    return text if is_visible(text) else "".join(character if is_visible(character) else _escaped(character) for character in text)


def _is_plain_ascii(text: str) -> bool:
    """Whether there is nothing to escape, as in most texts; much quicker than a search."""
    return text.isascii() and text.isprintable()


def _escape(match: re.Match[str]) -> str:
    return _escaped(match[0])


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, width: int) -> str:
    """``text`` without its middle where it takes more than ``width`` terminal cells; wide characters take two."""
    if width < 5 or _first_cells(text, width) == text:
        return text
    head, tail = _around_middle(width)
    return f"{_first_cells(text, head)}…{_first_cells(text[::-1], tail)[::-1]}"


# Several names that a line assigns to, ``x, feats =``.
_TARGETS = re.compile(r"\s*\(?(?:\*?[\w.]{1,80}(?:\[[^\[\]]{0,80}\])?, ){1,8}\*?[\w.]{1,80}(?:\[[^\[\]]{0,80}\])?\)? = ")


def start_of(part: str, code: str) -> int:
    """Where a line of code has a part of it: as a word of its own that is not assigned there, else anywhere but in another word; -1 where
    it does not. Next to the ellipsis of a shortened line, a word may be the rest of another one.
    """
    if not part:
        return -1
    before, after = r"(?<![\w…])" if _WORD.match(part) else "", r"(?![\w…])" if _WORD.match(part[-1]) else ""
    own = f"{before}{re.escape(part)}{after}"
    is_read = re.compile(rf"(?<![\w.…]){own}(?!\s*=[^=])")
    targets = _TARGETS.match(code)
    found = (is_read.search(code, targets.end()) if targets else None) or is_read.search(code) or re.search(own, code)
    return found.start() if found else -1


def cut(text: str, most: int) -> str:
    """``text`` without its middle where it has more than ``most`` characters."""
    if len(text) <= most:
        return text
    head, tail = _around_middle(most)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def around_difference(text: str, other: str, most: int) -> str:
    """Of a long text the ``most`` characters around the first one that another text does not have there."""
    if len(text) <= most:
        return text
    shared = min(len(text), len(other))
    same = next((at for at in range(shared) if text[at] != other[at]), shared)
    start = max(0, min(same - most // 3, len(text) - most))
    return f"{'…' if start else ''}{text[start : start + most]}{'…' if start + most < len(text) else ''}"


def beginning(text: str, most: int, rest: str = "…") -> str:
    """The first ``most`` characters of a text, with ``rest`` in place of what follows them."""
    return text if len(text) <= most else f"{text[:most]}{rest}"


def as_typed(value: str) -> str:
    """The value of an option or a setting, for an error that is about it; of a long one the beginning."""
    return beginning(value, _LONGEST_TYPED, "...")


def _around_middle(width: int) -> tuple[int, int]:
    """How much is kept before and after the ellipsis."""
    head = (width - 1) * 2 // 3
    return head, width - 1 - head


def _first_cells(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > width:
            return text[:index]
    return text


def file_name(path: str) -> str:
    """The last part of a POSIX or Windows path: ``demo.py`` of ``/srv/demo.py``.

    torch.fx names code that it makes after the line that had it made: ``<eval_with_key>.3 from /srv/demo.py:20 in forward``.
    """
    if path.startswith("<"):
        path = path.partition(" from ")[0]
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :]


def without_addresses(text: str) -> str:
    """``text`` with each address and each long id replaced by ``$``."""
    return _ADDRESS.sub("$", text)


def in_natural_order(text: str) -> tuple[str | int, ...]:
    """What to sort by so that ``layers[2]`` comes before ``layers[10]``."""
    return tuple(int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text)))


def plural(number: int, noun: str) -> str:
    """``1 entry``, ``2 entries``."""
    return f"{number} {plural_noun(number, noun)}"


def plural_noun(number: int, noun: str) -> str:
    """``entry`` for 1, ``entries`` for any other number."""
    if number == 1:
        return noun
    for ending, replacement in (("y", "ies"), ("ss", "sses"), ("is", "es")):
        if noun.endswith(ending):
            return noun.removesuffix(ending) + replacement
    return f"{noun}s"


def how_often(number: int) -> str:
    """``once``, ``twice``, ``3 times``."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def compilations(number: int, limit_hits: int | None = 0, noun: str = "compilation") -> str:
    """``7 compilations and 1 limit hit``; limit hits are counted apart from compilations, never among them."""
    parts = [plural(number, noun)] if number or not limit_hits else []
    return " and ".join([*parts, plural(limit_hits, "limit hit")] if limit_hits else parts)


def capitalized(text: str) -> str:
    """With a capital letter, unless it begins with a name in code, such as ``train()`` or ``x.size``."""
    return text if _CODE.match(text) else text[:1].upper() + text[1:]


def as_sentence(text: str) -> str:
    """``Pass one type.`` of ``pass one type``."""
    return f"{capitalized(text).rstrip('.')}."


def enumerated(parts: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; "" of none."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def some(parts: Sequence[str], most: int = MOST_NAMED, between: str = ", ") -> str:
    """``a, b and 3 more``: at most ``most`` of them."""
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return between.join(parts[:most]) + more


def names_of(titles: Sequence[str]) -> str:
    """``f``, ``f and g``, ``f and 3 more``."""
    return " and ".join(titles) if len(titles) < 3 else f"{titles[0]} and {len(titles) - 1} more"


def sentence_end(text: str, least: int = 0, most: int | None = None) -> int:
    """Where the last sentence ends that is whole within ``most`` characters (the first one without); -1 if none does.

    A full stop within an abbreviation, a name or brackets ends no sentence, and none ends before ``least``.
    """
    counted, open_brackets, found = 0, 0, -1
    for match in _SENTENCE_END.finditer(text, least):
        end = match.end()
        if most is not None and end > most:
            break
        open_brackets += text.count("(", counted, end) - text.count(")", counted, end)
        counted = end
        if open_brackets <= 0:
            found = end
            if most is None:
                break
    return found


def some_in_width(names: Sequence[str], width: int, between: str = ", ") -> str:
    """As many names as fit, each whole, and how many more there are; the first one is shortened where it does not fit."""
    for shown in range(min(len(names), width), 0, -1):
        text = some(names, shown, between)
        if _first_cells(text, width) == text:
            return text
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return shorten(names[0], max(5, width - len(more))) + more if names else ""


def rank_list(numbers: Iterable[int], most: int = _MAX_RANGES) -> str:
    """``rank 3``, ``ranks 0-2 and 5``, ``ranks 0, 2, 4, 6, 8 and 27 more``: at most ``most`` ranges."""
    ordered = sorted(set(numbers))
    # Within a range the numbers grow as their positions do.
    ranges = [[number for _, number in pairs] for _, pairs in groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])]
    shown = ranges if len(ranges) <= most else ranges[: most - 1]
    parts = [part for members in shown for part in ([f"{members[0]}-{members[-1]}"] if len(members) > 2 else map(str, members))]
    if shown is not ranges:
        parts.append(f"{sum(map(len, ranges[len(shown) :]))} more")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
    return f"{plural_noun(len(ordered), 'rank')} {listed or 'none'}"


def seconds(value: float) -> str:
    """A time for people: ``0.02 s``, ``14.3 s``, ``1 min 48 s``, ``36 min 14 s``, ``5 h 2 min``, ``3 d 4 h``."""
    whole = round(value)
    if whole < _LONG_TIME:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    size, name, part, small = next(unit for unit in _UNITS if whole >= unit[0])
    rest = whole % size // part
    return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")


def whole_times(text: str, space: str = "\u00a0") -> str:
    """A text in which nothing folds within a time: its blanks are ``space``, as long as they were."""
    return _TIME.sub(lambda found: found[0].replace(" ", space), text)


def measured(value: float | None) -> str:
    """The same of a time that may not have been measured: "" for 0 and None."""
    return seconds(value) if value else ""


def seconds_or_unknown(value: float | None) -> str:
    """The same; ``time unknown`` for 0 and None. No measured time is exactly 0."""
    return seconds(value) if value else "time unknown"


def with_article(name: str) -> str:
    """``a Queue``, ``an Adam``, ``an LBFGS``: an abbreviation is spelled."""
    is_spelled = name[:2].isupper()
    return f"{'an' if name[:1].upper() in ('AEFHILMNORSX' if is_spelled else 'AEIO') else 'a'} {name}"


def taking(value: float | None) -> str:
    """The same behind what took it, `` (0.02 s)``; "" for 0 and None, which were not measured."""
    return f" ({seconds(value)})" if value else ""


def seconds_in_column(value: float) -> str:
    """The same without the unit of seconds, which the head of the column names: ``14.30``, ``36 min 14 s``."""
    return f"{value:.2f}" if round(value) < _LONG_IN_COLUMN else seconds(value)


def seconds_as_printed(value: float, *, in_column: bool = False) -> float:
    """What ``seconds`` or ``seconds_in_column`` prints, as a number: differences of such times agree with what is printed."""
    whole = round(value)
    if whole < (_LONG_IN_COLUMN if in_column else _LONG_TIME):
        return round(value, 2)
    part = next(unit for unit in _UNITS if whole >= unit[0])[2]
    return float(whole // part * part)


def seconds_from_to(before: float, after: float) -> str:
    """``1.62 → 0.75 s``, ``1.62 s → 36 min 14 s``: the unit once where both are in seconds; ``unknown`` for 0, which was not measured."""
    if not before or not after:
        return f"{measured(before) or 'unknown'} → {measured(after) or 'unknown'}" if before or after else "time unknown"
    one, other = seconds(before), seconds(after)
    are_short = round(max(before, after)) < _LONG_TIME
    return f"{one.removesuffix(' s') if are_short else one} → {other}"


# Of an estimate, ends that differ by less are one.
_CLOSE = 0.1


def seconds_range(least: float, most: float | None) -> str:
    """``5.10–8.40 s``, ``50.0 s–36 min 14 s``, ``about 5.1 s`` where the ends are close, ``5.10 s`` where they are the same,
    ``at least 5.10 s`` without an upper one.
    """
    if most is None:
        return f"at least {seconds(least)}"
    low, high = seconds(least), seconds(most)
    if low == high:
        return low
    if most - least < _CLOSE * most:  # more figures than two runs share
        middle = (least + most) / 2
        return f"about {f'{middle:.2g} s' if middle < _LONG_TIME else seconds(middle)}"
    return f"{low.removesuffix(' s') if high.endswith(' s') and ' min' not in high else low}–{high}"


def file_size(count: int) -> str:
    """``812 bytes``, ``4.2 kB``, ``257.0 MB``."""
    if count < 1000:
        return plural(count, "byte")
    return f"{count / 1e3:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"
