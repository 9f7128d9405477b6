"""The view of failures, limits, graph breaks and restarts."""

import re

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html import render
from shapelog.reporters.html.overview import overview
from shapelog.reporters.html.page_context import PageContext, page_context
from shapelog.reporters.html.views.failures_page import Card, FailuresPage

DEMO, FAILURES = "real/demo.log.gz", "real/2.6/l_failures.log.gz"


def context_of(report: Report, **options: object) -> PageContext:
    return page_context(collect_alerts(report, Repository("nowhere")), Options(**options))  # type: ignore[arg-type]


def view_of(report: Report) -> FailuresPage:
    return context_of(report).failures


def page(report: Report, **options: object) -> str:
    return render._page(context_of(report, **options), None).decode()


def section(html: str) -> str:
    found = re.search(r'<section class="page" id="failures".*?(?=<section class="page" id="source")', html, re.S)
    return found[0] if found else ""


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))


def cards(view: FailuresPage) -> list[Card]:
    return [card for group in view.groups for card in group.cards]


def test_a_card_has_what_pytorch_wrote_what_it_cost_and_where() -> None:
    html = section(page(report_of(DEMO)))
    text = words(html)
    for part in (
        "Failed to trace builtin operator",
        "Dynamo does not know how to trace builtin operator print",
        "Avoid calling builtin print with argument types",
        "3 compilations broke here",
        "0.09 s of tracing repeated",
        "3 more compilations for the code after it (6.07 s)",
        "demo.py:38",
        "GB0059",
    ):
        assert part in text
    assert "<code>print</code>" in html
    assert 'href="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"' in html


def test_equal_ones_are_one_card_with_a_place_each() -> None:
    card = next(card for card in cards(view_of(report_of(FAILURES))) if "backend exploded" in card.item.title)
    assert [place.compiles[0].label for place in card.places] == ["0/0", "1/0", "8/0"]
    assert card.costs == ("3 compilations failed after 0.04 s", "2 calls raised an error", "the code runs in eager mode from then on")


@pytest.mark.parametrize(("lines", "shown"), [((12, 12), 1), ((12, 14), 2)])
def test_a_line_is_shown_once_for_places_with_the_same_line_and_stopping_place(lines: tuple[int, int], shown: int) -> None:
    """Each function on the way to the line in a library at which Dynamo stopped failed by itself."""
    failed = []
    for number, line in enumerate(lines):
        stack = 'no\n\nfrom user code:\n   File "/srv/app/model.py", line 7, in f\n    y = lib.g(x)\n'
        stack += f'  File "/opt/venv/lib/python3.11/site-packages/lib/g.py", line {line}, in g\n    if x.sum():\n'
        failed.append(make.compile(f"{number}/0", make.tensor(10, 8), name="fg"[number], **{**make.FAILED, "fail_reason": stack}))
    html = section(page(make.report(make.trace(*failed))))
    assert html.count('<pre class="snippet"') == shown
    assert [f"Dynamo stopped at lib/g.py:{line}: if x.sum():" in words(html) for line in lines] == [True, True]


def test_exceptions_are_shown_where_they_add_to_the_title() -> None:
    found = {card.item.title: [item.message for item in card.raised] for card in cards(view_of(report_of(FAILURES)))}
    assert found["Tensor.item"] == []
    (matmul,) = found["matmul failed: a and b must have same reduction dim, but got [3, 4] X [5, 6]."]
    assert matmul.startswith("Failed running call_function <built-in function matmul>(*(FakeTensor(..., size=(3, 4))")


def test_the_line_in_the_source_and_the_card_lead_to_each_other() -> None:
    context = context_of(report_of(DEMO))
    limit, broke = cards(context.failures)
    html = page(report_of(DEMO))
    for card in (limit, broke):
        assert f'href="#{card.places[0].source}"' in section(html)
        row = re.search(rf'<tr id="{card.places[0].source}".*?</tr>', html, re.S)
        assert row
        assert f'href="#{card.anchor}"' in row[0]


def test_the_view_counts_graph_breaks_and_their_places_and_those_that_are_failures() -> None:
    assert view_of(report_of(DEMO)).lead == "1 refused compilation, 3 graph breaks in 1 place"
    words = "Failed to trace builtin operator\n  Hint: Avoid calling builtin `print`"
    reason = f"Graph break in user code at {make.MODEL}:6\nGraph Break Reason: {words}\nUser code traceback:\n"
    failed = make.compile("0/0", make.tensor(8), **make.FAILED | {"fail_reason": words})
    report = make.report(make.trace(make.artifact("dynamo_graph_break_reason", reason, id="0/0") + failed))
    assert view_of(report).lead == "1 failure; 1 of the failures was a graph break"


def test_what_did_not_finish_is_no_failure() -> None:
    (group,) = view_of(make.report(make.trace(make.dynamo_start("f", id="0/0")))).groups
    assert (group.title, group.cards[0].kind) == ("Compilations that did not finish", "unfinished")
    assert group.cards[0].costs == ("1 compilation did not finish",)


def test_a_heading_counts_as_the_overview_does() -> None:
    tiles = {tile.label: tile.number for tile in overview(report_of(DEMO), (), ()).tiles}
    assert {group.title: group.times for group in view_of(report_of(DEMO)).groups} == {
        "Recompile limit": tiles["refused"],
        "Graph breaks": tiles["graph breaks"],
    }
    assert 'Graph breaks <span class="count">3</span>' in section(page(report_of(DEMO)))


def test_the_page_about_the_trace_leads_to_the_cards_and_does_not_repeat_them() -> None:
    trace = page(report_of(DEMO)).partition('<section class="page" id="trace"')[2].partition('<section class="page"')[0]
    assert '<a href="#failures">' in trace
    assert "Limits and failures" not in trace
    assert "Graph breaks</h2>" not in trace


def test_a_compilation_leads_to_its_first_card() -> None:
    found = view_of(report_of(DEMO)).of_compiles
    assert {compile.label for compile in found} == {"1/8", "2/0", "2/1", "2/2"}


@pytest.mark.parametrize("name", [DEMO, FAILURES])
def test_a_step_leads_to_the_card_of_what_it_is_against(name: str) -> None:
    context = context_of(report_of(name))
    items = {card.anchor: card.item for card in cards(context.failures)}
    led = [(step, anchor) for step in next_steps(context.found) if (anchor := context.failures.card_of(step))]
    assert led
    for step, anchor in led:
        assert items[anchor].rule in step.rules
        assert not {label for alert in items[anchor].alerts for label in alert.labels}.isdisjoint(step.labels)
    linked = re.findall(r'<a href="#(interruption-\d+)">all about it</a>', page(report_of(name)))
    assert linked == [anchor for _, anchor in led]


def test_the_navigation_has_the_view_only_where_there_is_something_in_it() -> None:
    assert '<a href="#failures">Failures and breaks <span class="count">2</span></a>' in page(report_of(DEMO))
    html = page(report_of("lab/no_recompiles.log.gz"))
    assert "#failures" not in html
    assert 'id="failures"' not in html


def test_without_source_neither_code_nor_the_address_of_a_page_is_shown() -> None:
    text = section(page(report_of(DEMO), with_source=False))
    assert "tuple(features.shape)" not in text
    assert "https:" not in text
    assert "3 compilations broke here" in words(text)


def test_code_between_backticks_stays_text() -> None:
    reason = (
        "Graph break in user code at /srv/app/model.py:6\nGraph Break Reason: no `<b>x</b>` and `open\n"
        "  Explanation: a `<i>` b\nUser code traceback:\n"
    )
    broken = make.artifact("dynamo_graph_break_reason", reason, id="0/0") + make.compile("0/0", make.tensor(8))
    html = section(page(make.report(make.trace(broken))))
    assert "no `&lt;b&gt;x&lt;/b&gt;` and `open" in html
    assert "a <code>&lt;i&gt;</code> b" in html


@pytest.mark.parametrize("name", [DEMO, FAILURES, "real/2.6/g_limit.log.gz"])
def test_every_tile_leads_to_the_part_that_explains_it(name: str) -> None:
    html = page(report_of(name))
    ids = set(re.findall(r'\bid="([^"]+)"', html))
    tiles = re.findall(r'<li class="tile[^"]*"><a href="#([^"]+)"><span class="big">\d+</span> <span class="what">([^<]*)', html)
    assert len(tiles) >= 3
    assert {where for where, _ in tiles} <= ids
    by_label = {label: where for where, label in tiles}
    assert by_label.get("failed", "failure-cards") == "failure-cards"
    assert by_label.get("refused", "limit-cards") == "limit-cards"
    assert by_label.get("graph breaks", "break-cards") == "break-cards"


@pytest.mark.parametrize("name", RECORDED[::16])
def test_each_thing_is_on_one_card(name: str) -> None:
    found = cards(view_of(report_of(name)))
    assert len({card.anchor for card in found}) == len(found)
    assert all(card.places and card.costs for card in found)


def test_the_lines_that_computed_a_tensor_are_below_the_explanation_one_by_one():
    def computed(file: str, line: int, code: str) -> str:
        return f'      # File "{file}", line {line}, in forward, code: {code}\n'

    reason = (
        "Data-dependent branching\n"
        "  Explanation: Detected data-dependent branching. The branch condition involves a tensor computed as follows:\n"
        f"{computed('/home/me/net.py', 7, 'p = torch.rand([])')}      p = rand([])\n{computed('/home/me/net.py', 8, 'if p < q:')}"
    )
    broken = make.artifact("dynamo_graph_break_reason", f"Graph break in user code at /home/me/net.py:8\nReason: {reason}", id="0/0")
    html = section(page(make.report(make.trace(broken + make.compile("0/0", make.tensor(8))))))
    assert "computed as follows:</p>" in html
    assert re.findall(r">(net\.py:\d)</\w+> <span class=\"dim\">in forward", html) == ["net.py:7", "net.py:8"]
    assert "# File" not in html


def test_functions_of_one_name_have_their_line_in_a_card():
    failed = [make.compile(f"{number}/0", make.tensor(8), line=10 + number, **make.FAILED) for number in (0, 1)]
    html = section(page(make.report(make.trace(*failed))))
    assert ".py:10</" in html
    assert ".py:11</" in html
