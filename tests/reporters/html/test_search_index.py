"""What the search finds: entries of every kind, cut off, each with an address that is in the page."""

import json
import re
import zlib
from base64 import b64decode
from functools import cache

import make
import pytest
from payload_text import size_mismatch
from recorded import report_of

from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.html.render import render
from shapelog.reporters.html.search_index import SearchEntry
from shapelog.rules import RULES


def entries_in(page: str) -> list[SearchEntry]:
    found = re.search(r'<script type="text/plain" id="search-index">(.*?)</script>', page)
    assert found
    return [SearchEntry(*item) for item in json.loads(zlib.decompress(b64decode(found[1]), -15))]


@cache
def page_of(name: str) -> str:
    return render(report_of(name), Options()).decode()


def entries_of(name: str, kind: str) -> list[SearchEntry]:
    return [item for item in entries_in(page_of(name)) if item.kind == kind]


def of(report: Report, kind: str) -> list[SearchEntry]:
    return [item for item in entries_in(render(report, Options()).decode()) if item.kind == kind]


@pytest.mark.parametrize(
    "name", ["real/demo.log.gz", "real/2.6/l_failures.log.gz", "lab/graph_break_resume.log.gz", "real/2.6/g_limit.log.gz"]
)
def test_every_entry_leads_to_something_that_is_in_the_page(name: str) -> None:
    page = page_of(name)
    for item in entries_in(page):
        assert f'id="{item.where.partition("?")[0]}"' in page, item


def test_functions_come_with_their_place() -> None:
    assert entries_of("real/demo.log.gz", "function")[0] == SearchEntry("frame-0", "Classifier.forward", "frame 0 · demo.py:14", "function")


def test_lines_come_with_their_code_each_once() -> None:
    lines = entries_of("real/demo.log.gz", "line")
    assert len({item.title for item in lines}) == len(lines)
    assert ("demo.py:50", "line 50 · loss = classify(torch.randint(100, (batch, length))).logsumexp(1).mean()") in [
        (item.title, item.text) for item in lines
    ]


def test_what_helps_is_found_where_it_is_not_what_the_rule_has() -> None:
    rules = {rule.remedy for rule in RULES.values()}
    found = entries_of("lab/graph_break_resume.log.gz", "help")
    assert ("frame-0", "x.size[0] in pipeline") in [(item.where, item.text) for item in found]
    assert not rules & {item.title for item in found}


def test_a_break_that_several_compiles_met_is_one_entry() -> None:
    (found,) = entries_of("real/demo.log.gz", "graph break")
    assert (found.where, found.title) == ("interruption-2", "graph break: Failed to trace builtin operator")
    assert "normalize at demo.py:38 · 2/0, 2/1, 2/2 · GB0059" in found.text


def test_failures_come_with_pytorchs_words_about_them() -> None:
    assert any("Explanation" not in item.text and len(item.text) > 40 for item in entries_of("real/2.6/l_failures.log.gz", "failure"))


def test_the_numbers_that_pytorch_gives_breaks_and_failures_are_found() -> None:
    found = {item.kind for item in entries_in(page_of("real/demo.log.gz")) if "GB0059" in item.text}
    assert found == {"graph break"}


def test_refused_compiles_are_found() -> None:
    (found,) = entries_of("real/demo.log.gz", "recompile limit")
    assert found.where == "interruption-1"
    assert found.title.startswith("refused: MovingAverage.forward hit the recompile limit at 1/8")
    assert found.text.startswith("1 compilation refused · later calls that miss the cache run in eager mode")


def test_failures_lead_to_their_cards() -> None:
    assert all(
        item.title.startswith("failed: ") and item.where.startswith("interruption-")
        for item in entries_of("real/2.6/l_failures.log.gz", "failure")
    )


def test_settings_and_the_file_for_trace_viewers_are_found() -> None:
    assert {item.where for item in entries_of("real/demo.log.gz", "setting")} == {"trace"}
    assert [item.where for item in entries_of("real/demo.log.gz", "download")] == ["viewer"]


def test_recompiles_come_with_the_reason_that_pytorch_gave() -> None:
    report = make.report(
        make.trace(make.compile("0/0", make.tensor(8)), make.compile("0/1", make.tensor(9), reasons=[size_mismatch("0/0", 8, 9)]))
    )
    (found,) = of(report, "recompilation")
    assert (found.where, found.title) == ("compile-0-1", "0/1")
    assert "expected 8, actual 9" in found.text


def test_suggestions_come_with_what_to_paste() -> None:
    first = entries_of("real/demo.log.gz", "suggestion")[0]
    assert (first.where, first.title) == ("a1", "A1 tokens")
    assert "L['tokens']:0" in first.text
    assert "torch._dynamo.mark_dynamic(tokens, 0)" in first.text


def test_rules_lead_to_their_pages_and_to_the_filter() -> None:
    assert "sl101" in [item.where for item in entries_of("real/demo.log.gz", "rule")]
    assert "frames?rule=SL101" in [item.where for item in entries_of("real/demo.log.gz", "filter")]


def test_records_lead_to_the_compile_that_has_them() -> None:
    found = entries_of("real/demo.log.gz", "record")
    assert (
        SearchEntry("compile-0-1?record=generated%20code", "generated code", "0/1 Classifier.forward · inductor_output_code", "record")
        in found
    )
    assert len(set(found)) == len(found)


def test_long_texts_are_cut_off() -> None:
    report = make.report(make.trace(make.compile("0/0", make.tensor(8), name="f" * 5000)))
    (found,) = of(report, "function")
    assert len(found.title) < 200


def test_a_page_for_sharing_finds_no_code() -> None:
    shared = entries_in(render(report_of("real/demo.log.gz"), Options(with_source=False)).decode())
    assert not any("logsumexp" in item.text for item in shared)
    assert "demo.py:50" in [item.title for item in shared]
