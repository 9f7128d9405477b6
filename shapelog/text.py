"""Plain text for people: harmless characters, counted nouns, times that can be read, numbers of ranks."""

import re
import unicodedata
from collections.abc import Iterable

# Control characters (also the C1 range), those that turn the writing direction and those that nobody sees are shown as escapes.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_SPACES = re.compile(r"[\t\n]+\s*")
# Addresses and ids differ in every process.
_OWN = re.compile(r"0x[0-9a-fA-F]+|\d{9,}")
# So many runs of numbers are told of many ranks.
_RUNS = 8


def one_line(text: object) -> str:
    """One line of plain text: names and code from a trace never reach the terminal raw."""
    return escape_controls(_SPACES.sub(" ", str(text)))


def escape_controls(text: str) -> str:
    """The same lines, with an escape for each character that could hide or reorder what stands around it."""
    return UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, width: int) -> str:
    """``text`` in at most ``width`` terminal cells, its middle left out where it is longer."""
    if width < 5 or _cut(text, width) == text:
        return text
    head = (width - 1) * 2 // 3
    tail = width - 1 - head
    return f"{_cut(text, head)}…{_cut(text[::-1], tail)[::-1]}"


def _cut(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > width:
            return text[:index]
    return text


def file_name(file: str) -> str:
    """The last part of a path, of either kind: ``demo.py`` of ``/srv/demo.py``."""
    return file[max(file.rfind("/"), file.rfind("\\")) + 1 :]


def seconds(value: float) -> str:
    """Times to two or three figures: ``0.02 s``, ``1.4 s``, ``125 s``."""
    if value >= 100:
        return f"{value:.0f} s"
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def plural(number: int, noun: str) -> str:
    """``1 entry``, ``2 entries``."""
    if number == 1:
        return f"1 {noun}"
    for ending, many in (("y", "ies"), ("ss", "sses"), ("is", "es")):
        if noun.endswith(ending):
            return f"{number} {noun.removesuffix(ending)}{many}"
    return f"{number} {noun}s"


def without_addresses(text: str) -> str:
    """A text without the addresses and ids in it."""
    return _OWN.sub("$", text)


def rank_list(numbers: Iterable[int], most: int = _RUNS) -> str:
    """``rank 3``, ``ranks 0-2 and 5``, ``ranks 0, 2, 4, 6, 8 and 27 more``: so many runs of numbers at most."""
    runs: list[list[int]] = []
    ordered = sorted(set(numbers))
    for number in ordered:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = runs if len(runs) <= most else runs[: most - 1]
    words = [text for low, high in shown for text in ([f"{low}-{high}"] if high > low + 1 else [str(low), str(high)][: high - low + 1])]
    if shown is not runs:
        words.append(f"{sum(high - low + 1 for low, high in runs[len(shown) :])} more")
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
    return f"rank{'' if len(ordered) == 1 else 's'} {listed or 'none'}"


def file_size(count: int) -> str:
    """Bytes for people: ``812 bytes``, ``4.2 kB``, ``257.0 MB``."""
    if count < 1000:
        return plural(count, "byte")
    return f"{count / 1e3:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"
