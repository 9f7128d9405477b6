"""Writes the list of reasons in recompile-reasons.md from the table that shapelog reads them by: python docs/recompile_reasons.py"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from shapelog.reading.payloads.reason_families import FAMILIES, Family, Topic
from shapelog.reporters.rules_markdown import plain
from shapelog.rule_docs import anchor
from shapelog.rules import RULES

PAGE = Path(__file__).with_name("recompile-reasons.md")
_LIST = """## Every reason

Each example is followed by what it means, its usual causes, and what helps, with a link to the [rule](rules.md) that has programs to try.

"""


def page() -> str:
    """The page with its list written anew."""
    introduction = PAGE.read_text(encoding="utf-8").partition(_LIST.partition("\n")[0])[0]
    topics = {topic: [family for family in FAMILIES if family.topic is topic] for topic in Topic}
    lines = [_index(topic, families) for topic, families in topics.items()]
    for topic, families in topics.items():
        lines += [f"## {topic.value}", "", *(line for family in families for line in _entry(family))]
    return introduction + _LIST + "\n".join(lines).rstrip("\n") + "\n"


def _index(topic: Topic, families: list[Family]) -> str:
    links = "".join(f"\n- [{family.title}](#{family.name}): {', '.join(_beginnings(family))}" for family in families)
    return f"**{topic.value}**\n{links}\n"


def _beginnings(family: Family) -> list[str]:
    """What to look for in a reason: its examples without comments and values."""
    beginnings = (case.example.split("  # ")[0].split(". ")[0] for case in family.cases if case.example)
    return [f"`{text}`" for text in dict.fromkeys(beginnings)]


def _entry(family: Family) -> Iterator[str]:
    yield from (f'<a id="{family.name}"></a>', "", f"### {family.title}", "")
    for (rules, remedy), cases in groupby(family.cases, lambda case: (case.rules, case.remedy)):
        for case in cases:
            yield from ("```text", f"0/0: {case.example}".rstrip(), "```", "", case.meaning, "")
        yield from (*(_remedy(code, remedy) for code in rules), "")


def _remedy(code: str, remedy: str) -> str:
    rule = RULES[code]
    return f"- [{code} {rule.name}](rules.md#{anchor(rule)}): {plain(remedy or rule.remedy)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
