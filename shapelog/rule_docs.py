"""The documentation of rules: what each rule means, an example, why it costs and how to fix it, from ``templates/rules/``."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from shapelog.errors import ShapelogError
from shapelog.resources import template_dir
from shapelog.rules import RULES, Rule

if TYPE_CHECKING:
    from markdown_it.token import Token

HOME = "https://github.com/shapelog/shapelog"
RULES_URL = f"{HOME}/blob/main/docs/rules.md"
# The sections of a text, in their order.
MEANING, EXAMPLE, COST, FIX = SECTIONS = ("What it means", "Example", "Why it costs", "How to fix it")
# By the beginning of the code.
_FAMILIES = {
    "SL1": "Sizes that vary",
    "SL2": "Sizes that the code specializes or branches on",
    "SL3": "Changes other than sizes",
    "SL4": "Limits and failures",
    "SL5": "Graph breaks and restarts",
    "SL6": "Exports",
    "SL7": "Ranks of a job",
    "SL8": "Budgets of a check",
    "SL9": "Problems with a trace",
}


_CODE = re.compile(r"sl\d+")
# A rule that is mentioned outside of code.
_MENTIONED = re.compile(r"(`[^`]*`)|\b(SL\d{3})\b")


class Entry(NamedTuple):
    """The documentation of a rule: four texts in Markdown, without their headings.

    They use paragraphs, lists of one level, fenced code and code in backticks alone.
    """

    rule: Rule
    meaning: str
    example: str
    cost: str
    fix: str

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """(title, text), in their order."""
        return tuple(zip(SECTIONS, (self.meaning, self.example, self.cost, self.fix), strict=True))


def entry(code_or_name: str) -> Entry:
    """The entry of ``SL307``, ``sl307`` or ``global-state-varies``. Raises ShapelogError if there is no such rule."""
    wanted = code_or_name.strip().lower()
    known = {name.lower(): rule for rule in RULES.values() for name in (rule.code, rule.name)}
    rule = known.get(wanted)
    if rule is None:
        nearest = _meant(wanted, known)
        hint = "".join(f"; the nearest is {item.code} {item.name}" for item in nearest)
        raise ShapelogError(f"no rule {code_or_name!r}{hint}; shapelog rules lists them all")
    return _read(rule)


def _meant(wanted: str, known: dict[str, Rule]) -> list[Rule]:
    """The rule whose name has this in it, or is spelled much like it. A code that does not exist is like no other but with a digit less."""
    if _CODE.fullmatch(wanted):
        return [rule for name, rule in known.items() if _CODE.fullmatch(name) and wanted.startswith(name)]
    names = [name for name in known if wanted and wanted in name and not _CODE.fullmatch(name)]
    return [known[name] for name in (names or difflib.get_close_matches(wanted, known))[:1]]


def entries() -> tuple[Entry, ...]:
    """All of them, in the order of their codes."""
    return tuple(_read(RULES[code]) for code in sorted(RULES))


def families(found: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Title → entries of the rules whose codes begin in the same way."""
    members: dict[str, list[Entry]] = {}
    for item in found:
        members.setdefault(_FAMILIES[item.rule.code[:3]], []).append(item)
    return members


def anchor(rule: Rule) -> str:
    """The anchor of a rule in docs/rules.md."""
    return rule.code.lower()


def link(rule: Rule) -> str:
    return f"{RULES_URL}#{anchor(rule)}"


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The blocks of a section: (``python``, code) for fenced code of that language, ("", Markdown) for paragraphs and lists."""
    for token, lines in _blocks(text):
        yield (token.info, token.content.removesuffix("\n")) if token.type == "fence" else ("", lines)


def mentioned(text: str) -> Iterator[str]:
    """The codes of rules that a text names outside of code."""
    for language, block in blocks(text):
        if not language:
            yield from (code for _, code in _MENTIONED.findall(block) if code in RULES)


def with_links(block: str, target: Callable[[Rule], str]) -> str:
    """A paragraph or list in Markdown with a link wherever it mentions a rule that has a target."""

    def link(match: re.Match[str]) -> str:
        rule = RULES.get(match[2] or "")
        address = target(rule) if rule else ""
        return f"[{match[0]}]({address})" if address else match[0]

    return _MENTIONED.sub(link, block)


def _blocks(text: str) -> "Iterator[tuple[Token, str]]":
    """Each block that is in no other one: its first token, and its lines."""
    from markdown_it import MarkdownIt  # which only those commands wait for that show a rule

    lines = text.split("\n")
    for token in MarkdownIt().parse(text):
        if token.map and not token.level:
            yield token, "\n".join(lines[slice(*token.map)]).rstrip()


def _read(rule: Rule) -> Entry:
    path = template_dir() / "rules" / f"{rule.code}.md"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ShapelogError(f"{path}: cannot read what {rule.code} means: {error.strerror}") from error
    return parsed(rule, text, str(path))


def parsed(rule: Rule, text: str, name: str) -> Entry:
    """The text of a rule; raises ShapelogError if a section is missing, empty, or not one of the four."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for token, lines in _blocks(text):
        if token.tag == "h2":
            section = found.setdefault(lines.removeprefix("##").strip(), [])
        else:
            section.append(lines)
    sections = {title: "\n\n".join(body) for title, body in found.items()}
    missing = [title for title in SECTIONS if not sections.get(title)]
    unknown = [title for title in sections if title not in SECTIONS]
    if missing or unknown:
        wrong = [f"no section {title!r}" for title in missing] + [f"an unknown section {title!r}" for title in unknown]
        raise ShapelogError(f"{name}: {', '.join(wrong)}")
    return Entry(rule, sections[MEANING], sections[EXAMPLE], sections[COST], sections[FIX])
