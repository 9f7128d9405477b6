"""A symbol, or a guard over symbols, as ``torch/fx/experimental/symbolic_shapes.py`` words it, 2.0 to 2.15."""

import re
from typing import NamedTuple

from shapelog.reading.text_logs.messages.logged_code import LoggedLine

_INTEGER = r"-?\d{1,30}"
_NUMBER = rf"{_INTEGER}(?:\.\d{{1,30}})?(?:e[+-]?\d{{1,3}})?"
_CREATED = re.compile(
    r"create_symbol (?P<symbol>\w{1,40}) = (?P<value>\S{1,60}) for (?P<source>.+?)"
    r"(?: \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)|(?P<alone>))$"
)
_UNBACKED = re.compile(r"create_unbacked_sym(?:int|float|bool) (?P<symbol>\w{1,40}) \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)$")
_ADDED = re.compile(
    r"(?P<how>eval|runtime_assert) (?!\[guard suppressed\])(?P<expression>.{1,2000}?)(?: == True)? \[guard added\](?P<where>.*)$"
)
_ASSUMED = re.compile(
    r"could not evaluate (?P<expression>.{1,2000}?) due to data dependency, it was (?P<how>assumed to be (?:True|False)) with no "
    r"runtime assertions(?P<where>.*)$"
)
_REPLACED = re.compile(rf"set_replacement (?P<symbol>\w{{1,40}}) = (?P<value>{_NUMBER})(?: \((?P<reason>\w+)\)|$)")
_EQUAL = re.compile(
    rf"^Eq\((?:(?P<factor>-?\d{{1,18}})\*)?(?P<symbol>[a-z]\w{{0,20}})(?: (?P<sign>[+-]) (?P<added>\d{{1,18}}))?, (?P<value>{_INTEGER})\)$"
)
_EQUAL_SYMBOLS = re.compile(r"Eq\([a-z]\w{0,20}, [a-z]\w{0,20}\)")
_EQUAL_TO_FLOAT = re.compile(rf"^Eq\((?P<symbol>[a-z]\w{{0,20}}), (?P<value>{_NUMBER})\)$")
# PyTorch's word for a range with one number.
_SINGLETON = "range_refined_to_singleton"
_SINGLE = re.compile(rf"_update_var_to_range (?P<symbol>\w{{1,40}}) = VR\[(?P<value>{_NUMBER}), (?P=value)\]")
_TRACKED = re.compile(
    r"track_symint (?P<source>.+?)(?:\.(?P<part>size|stride)\(\)\[(?P<dim>\d{1,3})\]|\.storage_offset\(\))"
    r" (?P<value>.+?)(?: None| \w*Constraint\b.*)?$"
)
_WHERE = re.compile(r"^\s*(?:at )?(?:(?P<code>.*?) # )?(?P<file>[^\s#(][^#(]*?):(?P<line>\d{1,9}) in (?P<name>\S+?)(?:,|\s|\(|$)")
_WITHIN = re.compile(r"\s*(?:at )?\((?P<file>[^\s:()]{1,200}):(?P<line>\d{1,9}) in (?P<name>[\w<>]{1,200})\)")
_WORD = re.compile(r"\w+")
# How many characters of a line show which one it is.
_ENOUGH_OF_LINE = 8


class SymbolText(NamedTuple):
    """A size, int or float that became symbolic; ``within`` is the line of PyTorch's own code."""

    symbol: str
    value: str
    source: str
    range: str
    place: LoggedLine | None
    within: LoggedLine | None = None


class AddedText(NamedTuple):
    """A guard over symbols that a line of code asked for; ``cut`` is what is left of that line where the log has no more of its place.

    ``within`` is the line of PyTorch's own code. ``how`` is ``eval``, ``runtime_assert`` or, where only the data decide and nothing checks
    it, ``assumed to be False``.
    """

    expression: str
    place: LoggedLine | None
    cut: str = ""
    within: LoggedLine | None = None
    how: str = ""

    def placed_like(self, other: "AddedText | None") -> "AddedText":
        """The same at the line of another guard, where that begins with what is left of its own."""
        place = other.place if other is not None and len(self.cut) >= _ENOUGH_OF_LINE else None
        return self._replace(place=place) if place is not None and place.code.startswith(self.cut) else self

    def names(self, symbol: str) -> bool:
        """Whether it is about a symbol, perhaps among others."""
        return symbol in _WORD.findall(self.expression)

    def may_fix(self, symbol: str) -> bool:
        """Whether a symbol that became a number may be due to it: one that is equal to another is no number yet."""
        return self.names(symbol) and not _EQUAL_SYMBOLS.fullmatch(self.expression)

    @property
    def pinned(self) -> "PinnedText | None":
        """The symbol that the guard makes equal to a number: ``Eq(s0, 33)``, ``Eq(2*s0 - 2, 64)``, ``Eq(zf0, 1.5)``."""
        found = _EQUAL.match(self.expression)
        if found is None:
            of_float = _EQUAL_TO_FLOAT.match(self.expression)
            return PinnedText(of_float["symbol"], of_float["value"], _SINGLETON) if of_float else None
        factor = int(found["factor"] or 1)
        product = int(found["value"]) - int(f"{found['sign'] or ''}{found['added'] or 0}")
        return PinnedText(found["symbol"], str(product // factor), _SINGLETON) if factor and not product % factor else None


class PinnedText(NamedTuple):
    """A symbol that was replaced by a number."""

    symbol: str
    value: str
    reason: str


class TrackedText(NamedTuple):
    """A size, stride or (``part`` "") storage offset of an input: a number or an expression over symbols."""

    source: str
    part: str
    dim: int
    value: str


def symbolic(line: str) -> SymbolText | AddedText | PinnedText | TrackedText | None:
    """What a line of ``symbolic_shapes.py`` holds, None for one that nothing is taken from."""
    line = line.strip()
    if line.startswith("track_symint "):
        found = _TRACKED.match(line)
        return TrackedText(found["source"], found["part"] or "", int(found["dim"] or 0), found["value"]) if found else None
    if line.startswith("create_symbol ") and (found := _CREATED.match(line)):
        span = f"[{found['low'] or ''}, {found['high'] or ''}]"
        return SymbolText(found["symbol"], found["value"], found["source"], span, *_where(found["where"] or ""))
    if line.startswith("create_unbacked_") and (found := _UNBACKED.match(line)):
        return SymbolText(found["symbol"], "", "", f"[{found['low']}, {found['high']}]", *_where(found["where"]))
    if line.startswith(("eval ", "runtime_assert ", "could not evaluate ")) and (found := _ADDED.match(line) or _ASSUMED.match(line)):
        place, within = _where(found["where"])
        return AddedText(found["expression"], place, "" if place else found["where"].strip(), within, found["how"])
    if line.startswith("set_replacement ") and (found := _REPLACED.match(line)):
        return PinnedText(found["symbol"], found["value"], found["reason"] or "")  # torch 2.2 and older write no reason
    if line.startswith("_update_var_to_range ") and (found := _SINGLE.match(line)):
        return PinnedText(found["symbol"], found["value"], _SINGLETON)
    return None


def _where(text: str) -> tuple[LoggedLine | None, LoggedLine | None]:
    """The user's line, and the line of PyTorch's own code, as far as there are any."""
    found = _WHERE.match(text) if len(text) < 4000 else None
    place = LoggedLine(found["file"], int(found["line"]), found["name"], (found["code"] or "").strip()) if found else None
    own = _WITHIN.match(text, found.end("name") if found else 0)
    return place, LoggedLine(own["file"], int(own["line"]), own["name"]) if own else None
