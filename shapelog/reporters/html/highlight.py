"""Code as HTML: keywords, strings, numbers and comments are in colors, and what differs in a line of a diff is marked."""

from collections.abc import Sequence
from functools import cache
from itertools import groupby

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from shapelog.reporters.html.side_by_side import AlignedRow, Diff, Line
from shapelog.text import escape_controls, plural, start_of

_LEXER = PythonLexer()
# The CSS class of each kind of token; all others have no color.
_CLASSES = {Keyword: "hk", Operator.Word: "hk", Name.Builtin.Pseudo: "hk", String: "hs", Number: "hn", Comment: "hc"}
# Longer lines are shown without colors, and those beyond the second length without their end.
_MAX_COLORED, _MAX_SHOWN = 600, 4000


class Highlighter:
    """Draws lines of code. The same line, of which the graphs of a run have many, is drawn once."""

    def __init__(self) -> None:
        self._draw = cache(_draw)

    def line(self, text: str) -> Markup:
        """A line of Python."""
        return Markup(self._draw(text, 0, 0))

    def marked(self, text: str, part: str) -> Markup:
        """A line of Python with one occurrence of a part of it marked, "" for none."""
        found = start_of(part, text)
        start = max(0, found)
        return Markup(self._draw(text, start, start + len(part) if found >= 0 else start))

    def lines(self, texts: Sequence[str]) -> list[Markup]:
        """Lines of Python that follow each other, so that a string may span several of them."""
        return [Markup(_between(tokens, 0, _MAX_SHOWN)) for tokens in _by_line(texts)]

    def diff_rows(self, diff: Diff) -> Markup:
        """The rows of a table with four columns: number and line of either text."""
        return Markup("\n".join(map(self._row, diff.rows)))

    def _row(self, row: AlignedRow) -> str:
        if row.kind == "skipped":
            return f'<tr class="skipped"><td colspan="4">{plural(row.skipped, "line")} the same</td></tr>'
        return f'<tr class="{row.kind}">{self._cells(row.left)}{self._cells(row.right)}</tr>'

    def _cells(self, line: Line | None) -> str:
        if line is None:
            return '<td class="no"></td><td class="none"></td>'
        return f'<td class="no">{line.number}</td><td class="text">{self._draw(line.text, line.start, line.end)}</td>'


def _draw(text: str, start: int, end: int) -> str:
    """The line as HTML, with ``text[start:end]`` marked as what changed."""
    if len(text) > _MAX_SHOWN:
        text = f"{text[:_MAX_SHOWN]}… {len(text) - _MAX_SHOWN} characters left out"
    tokens = _tokens(text)
    changed = _between(tokens, start, end)
    return _between(tokens, 0, start) + (f"<mark>{changed}</mark>" if changed else "") + _between(tokens, end, len(text))


def _tokens(text: str) -> list[tuple[str, str]]:
    """(CSS class, part) for each part of the line; neighbours of one class are joined."""
    if len(text) > _MAX_COLORED:
        return [("", text)]
    found = [(_class_of(kind), value) for _, kind, value in _LEXER.get_tokens_unprocessed(text)]
    return [(name, "".join(value for _, value in group)) for name, group in groupby(found, lambda token: token[0])]


def _by_line(texts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """(CSS class, part) for each part of each line."""
    if any(len(text) > _MAX_COLORED for text in texts):
        return [_tokens(text) for text in texts]
    found: list[list[tuple[str, str]]] = [[]]
    tokens = ((_class_of(kind), value) for _, kind, value in _LEXER.get_tokens_unprocessed("\n".join(texts)))
    for name, group in groupby(tokens, lambda token: token[0]):
        first, *others = "".join(value for _, value in group).split("\n")
        found[-1].append((name, first))
        found += [[(name, part)] for part in others]
    return found


def _class_of(kind: _TokenType) -> str:
    return next((_CLASSES[parent] for parent in reversed(kind.split()) if parent in _CLASSES), "")


def _between(tokens: list[tuple[str, str]], start: int, end: int) -> str:
    """The HTML of the characters ``start`` to ``end`` of the line."""
    pieces, at = [], 0
    for name, value in tokens:
        piece = value[max(0, start - at) : max(0, end - at)]
        at += len(value)
        if piece:
            shown = str(escape(escape_controls(piece)))
            pieces.append(f'<span class="{name}">{shown}</span>' if name else shown)
    return "".join(pieces)
