"""The rules as Markdown: docs/rules.md, or its part about one rule."""

import re
from collections.abc import Iterable

from shapelog.reporters import Options
from shapelog.rule_docs import Entry, anchor, blocks, families, with_links
from shapelog.rules import Rule
from shapelog.text import as_sentence

_INTRODUCTION = """# The rules

Everything that shapelog reports has a code, and rule codes are stable. `shapelog rules` lists them, and `shapelog rule SL307` explains one
in the terminal.

The kind of a rule is what can be done about it: *avoidable by marking* is removed by marking something as dynamic, *avoidable by a code
change* requires a change in the program, and *justified* may remain. A recompilation with several causes gets the verdict of the worst one.

The examples are complete programs for torch 2.13; each was run, and triggers the rule it is listed under. Differences in older versions are
noted.
"""
_MARKUP = re.compile(r"(?<!\w)_+|_+(?!\w)|[\\`*<\[]")


def render_rules(entries: Iterable[Entry], options: Options) -> bytes:
    grouped = families(entries)
    lines = [_INTRODUCTION]
    for title, members in grouped.items():
        lines += [f"**{title}**", ""]
        lines += [f"- [{item.rule.code} {item.rule.name}](#{anchor(item.rule)}): {plain(item.rule.remedy)}" for item in members]
        lines.append("")
    for title, members in grouped.items():
        lines += [f"## {title}", ""]
        for item in members:
            lines += _entry(item, "###")
    return _written(lines)


def render_rule(entry: Entry, options: Options) -> bytes:
    return _written(_entry(entry, "##", is_alone=True))


def _entry(item: Entry, heading: str, is_alone: bool = False) -> list[str]:
    rule = item.rule
    lines = [] if is_alone else [f'<a id="{anchor(rule)}"></a>', ""]
    lines += [f"{heading} {rule.code} {rule.name}", "", f"*{rule.verdict.value.capitalize()}.* {plain(as_sentence(rule.remedy))}", ""]
    for title, text in item.sections:
        lines += [f"{heading}# {title}", "", text if is_alone else _linked(text), ""]
    return lines


def plain(text: str) -> str:
    """Text whose ``__init__`` and the like are no emphasis."""
    return _MARKUP.sub(lambda match: "".join(f"\\{character}" for character in match[0]), text)


def _linked(text: str) -> str:
    """With a link wherever another rule is mentioned outside of code."""
    return "\n\n".join(f"```{language}\n{block}\n```" if language else with_links(block, _target) for language, block in blocks(text))


def _target(rule: Rule) -> str:
    return f"#{anchor(rule)}"


def _written(lines: list[str]) -> bytes:
    return ("\n".join(lines).rstrip("\n") + "\n").encode()
