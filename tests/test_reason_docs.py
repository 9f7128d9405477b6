"""docs/recompile-reasons.md: made from the table that reasons are read by, and true."""

import re
import runpy
from pathlib import Path

import pytest
from command_line import call
from make import compile as compiled
from make import last_recompile, trace
from recorded import FIXTURES, RECORDED

import shapelog
from shapelog.reading.payloads.reason_families import FAMILIES, Case, Family
from shapelog.reading.payloads.recompile_reasons import parse
from shapelog.recompiles import causes
from shapelog.recompiles.classification.result import Classification
from shapelog.recompiles.evidence.violation import Violation

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "recompile-reasons.md").read_text(encoding="utf-8")
BY_NAME = {family.name: family for family in FAMILIES}
CASES = [pytest.param(family, case, id=f"{family.name}-{case.rules[0]}") for family in FAMILIES for case in family.cases]

per_case = pytest.mark.parametrize(("family", "case"), CASES)


def codes_of(family: Family) -> set[str]:
    return {code for case in family.cases for code in case.rules}


def test_the_page_is_made_from_the_table() -> None:
    page = runpy.run_path(str(DOCS / "recompile_reasons.py"))["page"]
    assert page() == PAGE, "write it anew: python docs/recompile_reasons.py"


@per_case
def test_an_example_is_read_as_the_family_that_it_stands_under(family: Family, case: Case) -> None:
    assert parse(f"0/0: {case.example}").family == family.name


@per_case
def test_the_first_rule_of_an_example_is_the_one_that_is_reported(family: Family, case: Case) -> None:
    recompile = last_recompile(trace(compiled("0/0"), compiled("0/1", reasons=(f"0/0: {case.example}",))))
    assert case.rules[0] in recompile.codes
    assert set(recompile.codes) <= codes_of(family)


@per_case
def test_an_example_stands_in_one_block_of_the_page(family: Family, case: Case) -> None:
    section = PAGE.split(f'<a id="{family.name}"></a>')[1].split("<a id=")[0]
    assert section.count("```text\n" + f"0/0: {case.example}".rstrip() + "\n```\n") == 1


def test_no_two_families_have_the_same_name_or_title() -> None:
    assert len(BY_NAME) == len({family.title for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.slow
@pytest.mark.slow
def test_reasons_of_recorded_programs_are_reported_under_the_rules_of_their_families(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[str, str]] = set()
    classify = causes.classify

    def noted(item: Violation, *more: object) -> Classification:
        found = classify(item, *more)  # type: ignore[arg-type]
        if item.reason:
            seen.update((item.reason.family, code) for code in found.codes)
        return found

    monkeypatch.setattr(causes, "classify", noted)
    for name in RECORDED:
        shapelog.analyze(shapelog.load(FIXTURES / name))
    assert len({name for name, _ in seen}) > 20
    assert sorted((name, code) for name, code in seen if code not in codes_of(BY_NAME[name])) == []


# What stands before the list.


def block(start: str) -> str:
    return next(text for text in re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S) if text.startswith(start))


@pytest.mark.parametrize(("start", "code"), [("[0/2] [__recompiles] Recompiling", "SL101"), ("torch._dynamo hit config", "SL401")])
def test_the_quoted_logs_are_logs_that_are_read(start: str, code: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(block(start), encoding="utf-8")
    assert f"[{code}]: " in call("report", str(log)).stdout


def test_every_link_leads_somewhere() -> None:
    headings = {re.sub(r"\W+", "-", heading.lower()).strip("-") for heading in re.findall(r"^##+ (.*)$", PAGE, re.M)}
    anchors = re.findall(r'<a id="(\w+)"></a>', PAGE)
    assert sorted(anchors) == sorted(BY_NAME)
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= headings | set(anchors)
    rules = set(re.findall(r'<a id="(\w+)"></a>', (DOCS / "rules.md").read_text(encoding="utf-8")))
    assert set(re.findall(r"\]\(rules\.md#(\w+)\)", PAGE)) <= rules
