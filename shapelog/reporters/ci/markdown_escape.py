"""Text of a trace in Markdown as GitHub and GitLab render it: whatever it holds, it stays text."""

import re

from shapelog.text import escape_controls, one_line

# What markup is made of. A name such as ``self.last_step`` stays as it is: what matters only at the start of a line is seen to there.
_MARKUP = re.compile(r"[*<>|~&]|(?<![^\W_])_|_(?![^\W_])|^#")
_START = re.compile(r"^(?:[+=-]|\d{1,9}(?=[.)]))")
# Words that are better read as code, and those that GitHub and GitLab make something of whatever was escaped in them. In code they do not.
_CODE = re.compile(
    r"""[\[\]\\`]                                   # L['x'], links, pages, footnotes
    | @ | \$ | :// | www\.                          # mentions, addresses, formulas, links
    | [#!%~&^](?=[\w"{]) | [a-z_]-\d                # issues, requests, milestones, labels: #1 !1 %"x" ~x GH-1
    | :[\w+-]+:                                     # :smile:
    | (?<![0-9a-z])[0-9a-f]{7,}(?![0-9a-z])         # commits
    | [-+]\}                                        # the end of {+ what was added +}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Between the parts of what would else be a link in spite of <code>, which is HTML and no code for Markdown.
_SPLIT = "<!---->"
_LINKED = re.compile(r"&#(?:58|64);|www(?=\.)", re.IGNORECASE)
# What could mean something in either: not an underscore inside of a name, and the colon before a line.
_SPECIAL = re.compile(r"[!\"#$%&'*+;<>?@\[\\\]^`{|}~]|:(?!\d+$)|(?<![^\W_])_|_(?![^\W_])")
_TICKS = re.compile(r"`+")
# What is read as one word: blanks inside of backticks or brackets do not end it.
_WORD = re.compile(r"(?:`[^`]+`|\[[^\[\]`]*\]|\S)+")
# Code, as the writer marked it or as its brackets show, between the marks of a sentence.
_QUOTED = re.compile(r"(\(?)(?:`([^`]+)`|([^\s`,;:()]*\[[^`]*\]))([.,;:)]*)")
# GitHub knows no span of code in more than 80 backticks.
_MOST_TICKS = 60


def escaped(text: object) -> str:
    """Running text behind other text, on one line; words that could become something else are code."""
    return _WORD.sub(lambda match: _word(match[0]), one_line(text).strip())


def _word(word: str) -> str:
    if quoted := _QUOTED.fullmatch(word):
        before, marked, bracketed, after = quoted.groups()
        if span := code(marked or bracketed):
            return f"{before}{span}{after}"
    if not _CODE.search(word):
        return _MARKUP.sub(r"\\\g<0>", word)
    inside = word.rstrip(".,;:")
    return f"{code(inside)}{word[len(inside) :]}" if inside else code(word)


def paragraph(text: object) -> str:
    """Text at the start of a line, which must begin no list, heading or rule."""
    return _START.sub(lambda match: f"{match[0]}\\" if match[0][0].isdigit() else f"\\{match[0]}", escaped(text))


def listed(text: object) -> str:
    """A line of a list."""
    return f"- {paragraph(text)}"


def code(text: object) -> str:
    """A span of code, not for tables."""
    line = one_line(text)
    if not line.strip():
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    if len(ticks) > _MOST_TICKS:
        return cell(line)
    pad = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def cell(text: object) -> str:
    """Code in a table or in HTML, where both bars and backticks have to be escaped."""
    line = _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", one_line(text))
    parted = _LINKED.sub(rf"\g<0>{_SPLIT}", line)
    return f"<code>{parted}</code>"


def fenced(text: str, language: str) -> str:
    """A block of code, between more backticks or tildes than it has; GitHub counts no further than 255."""
    longest = {mark: max(map(len, re.findall(f"{mark}+", text)), default=0) for mark in "`~"}
    mark = min(longest, key=lambda mark: longest[mark])
    fence = mark * max(3, longest[mark] + 1)
    return f"{fence}{language}\n{escape_controls(text)}\n{fence}"


def folded(summary: str, body: str) -> str:
    """A part that is closed at first; the summary is HTML."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
