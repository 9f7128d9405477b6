"""The rules in a terminal: all of them in a table, or the handbook on one."""

import re
from collections.abc import Sequence

from rich.text import Text

from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import COLORS, TextPage
from shapelog.rule_docs import Entry, blocks, families, link
from shapelog.rules import Rule

# The fewest columns that a remedy is read well in.
_READABLE = 44
_CODE = re.compile(r"`([^`]+)`")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def render_rules(entries: Sequence[Entry], options: Options) -> bytes:
    page = TextPage(options)
    names = max(len(item.rule.name) for item in entries)
    kinds = max(len(item.rule.verdict.short) for item in entries)
    for title, members in families(entries).items():
        page.heading(title)
        for item in members:
            _row(page, item.rule, names, kinds)
    page.blank()
    page.line(f"Run `shapelog rule {entries[0].rule.code}` for an explanation")
    return page.bytes()


def _row(page: TextPage, rule: Rule, names: int, kinds: int) -> None:
    """Code, name, kind and remedy in columns; the remedy below the others where it would be a narrow one."""
    head = Text(f"{rule.code}  {rule.name.ljust(names)}  ")
    head.append(rule.verdict.short.ljust(kinds), _color(rule))
    column = len(head.plain) + 2
    if page.width - column < _READABLE:
        head.rstrip()
        page.text(head, 2)
        page.line(rule.remedy, indent=4)
    else:
        page.text(head + Text(f"  {rule.remedy}"), 2, column)


def render_rule(entry: Entry, options: Options) -> bytes:
    page = TextPage(options)
    rule = entry.rule
    page.line((f"{rule.code} {rule.name}", "bold"), "  ", (rule.verdict.short, _color(rule)))
    page.line(f"→ {rule.remedy}", indent=2)
    for title, text in entry.sections:
        page.heading(title)
        _section(page, text)
    page.blank()
    page.raw(link(rule), style="dim")
    return page.bytes()


def _color(rule: Rule) -> str:
    return COLORS.get(rule.verdict, "red")


def _section(page: TextPage, text: str) -> None:
    for index, (language, block) in enumerate(blocks(text)):
        if index:
            page.blank()
        if language:
            for line in block.split("\n"):
                page.raw(_code(line, language), 4) if line else page.blank()
        else:
            for paragraph in _paragraphs(block):
                page.text(_styled(page, paragraph), 2, 2 if paragraph.startswith("- ") else 0)


def _code(line: str, language: str) -> Text:
    """A line of code, in which a comment steps back."""
    text = Text(line)
    comment = _COMMENT.search(line) if language != "text" else None
    if comment:
        text.stylize("dim", comment.start())
    return text


def _paragraphs(block: str) -> list[str]:
    """A paragraph, or the items of a list, each on one line, to be folded anew."""
    found: list[str] = []
    for line in block.split("\n"):
        if found and not line.startswith("- "):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


def _styled(page: TextPage, paragraph: str) -> Text:
    """Code in color without its backticks; without colors they stay."""
    if page.console.no_color:
        return Text(paragraph)
    text = Text()
    for index, part in enumerate(_CODE.split(paragraph)):
        text.append(part, "cyan" if index % 2 else "")
    return text
