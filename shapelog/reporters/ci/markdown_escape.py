"""Text of a trace in Markdown as GitHub and GitLab render it: whatever it holds, it stays text."""

import re

from shapelog.text import escape_controls, one_line

# What markup is made of. A name such as ``self.step`` stays readable: what matters only at the start of a line is seen to there.
_MARKUP = re.compile(r"[\\`*_\[\]<>|~&]")
_START = re.compile(r"^(?:[#+=-]|(?<!\d)\d{1,9}(?=[.)]))")
# GitHub finds these after Markdown is done, in each text by itself, whatever was escaped: @name and addresses, #1 and GH-1, links,
# :smile: and commits. A comment in between makes two texts of one.
_FOUND = re.compile(
    r"@|#(?=\d)|\bGH-(?=\d)|\bwww(?=\.)|\b(?:https?|ftp)(?=:)|:(?=[\w+-]*[a-z+-][\w+-]*:)|\b[0-9a-f]{6}(?=[0-9a-f]{1,34}\b)", re.IGNORECASE
)
_SPLIT = "<!---->"
# All but what means nothing: an underscore inside of a name, and the colon before a line.
_PLAIN = re.compile(r"(?!(?<=[^\W_])_(?=[^\W_])|:(?=\d+$))[^\w ./,()=-]|(?<![^\W_])_|_(?![^\W_])")
_TICKS = re.compile(r"`+")


def escaped(text: object) -> str:
    """Running text behind other text, on one line."""
    line = _MARKUP.sub(r"\\\g<0>", one_line(text).strip())
    # A dollar sign may begin a formula; this is how GitHub's manual writes one that does not.
    return _FOUND.sub(rf"\g<0>{_SPLIT}", line).replace("$", "<span>$</span>")


def listed(text: object) -> str:
    """A line of a list, which must begin no list, heading or rule of its own."""
    line = _START.sub(lambda match: f"{match[0]}\\" if match[0][0].isdigit() else f"\\{match[0]}", escaped(text))
    return f"- {line}"


def code(text: object) -> str:
    """A span of code, not for tables."""
    line = one_line(text)
    if not line.strip():
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    pad = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def cell(text: object) -> str:
    """Code in a table or in HTML, where both bars and backticks have to be escaped."""
    line = _PLAIN.sub(lambda match: f"&#{ord(match[0])};", one_line(text)).replace("&#64;", f"&#64;{_SPLIT}")
    return f"<code>{line}</code>"


def fenced(text: str, language: str) -> str:
    """A block of code."""
    fence = "`" * max(3, max(map(len, _TICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{escape_controls(text)}\n{fence}"


def folded(summary: str, body: str) -> str:
    """A part that is closed at first; the summary is HTML."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
