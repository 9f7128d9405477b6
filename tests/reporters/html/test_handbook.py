"""The rules that a report mentions are in its page, and every code in it leads to them."""

import re
import zlib
from base64 import b64decode

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html import handbook as module
from shapelog.reporters.html.handbook import handbook_of
from shapelog.reporters.html.render import render
from shapelog.rule_docs import entry, mentioned, with_links

CODE = re.compile(r"\bSL\d{3}\b")
# What the search knows is no text of the page.
DATA = re.compile(r"<script\b.*?</script>|<style>.*?</style>|<code>.*?</code>", re.S)


def page_of(name: str) -> str:
    return render(report_of(name), Options()).decode()


def unpacked(page: str, id: str) -> str:
    found = re.search(rf'<script type="text/plain" id="{id}">(.*?)</script>', page)
    assert found
    return zlib.decompress(b64decode(found[1]), -15).decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED[::9])
def test_every_code_on_a_page_is_that_of_a_rule_in_its_handbook(name: str) -> None:
    codes = handbook_of(collect_alerts(report_of(name), Repository())).codes
    assert set(CODE.findall(DATA.sub("", page_of(name)))) <= codes


def test_a_code_leads_to_its_page() -> None:
    page = page_of("lab/batch_varies.log.gz")
    assert '<a class="code" href="#sl101">SL101</a>' in page
    assert page.count('id="sl101"') == 1
    assert '<a href="#frames" data-to="frames?rule=SL101">' in page


def test_a_rule_has_all_its_sections_and_its_code_in_colors() -> None:
    page = page_of("lab/batch_varies.log.gz")
    article = page[page.index('id="sl101"') :].partition("</article>")[0]
    for title, _ in entry("SL101").sections:
        assert f"<h3>{title}</h3>" in article
    assert '<span class="hk">import</span> torch' in article
    assert "<code>shapelog suggest-dynamic</code>" in article


def test_rules_that_a_rule_mentions_are_there_too() -> None:
    book = handbook_of(make.alerts_of(make.trace(make.static_sizes(8, 9))))
    assert {"SL101", "SL203"} <= book.codes
    assert "SL203" in set(mentioned(entry("SL101").fix))


def test_only_rules_with_a_target_become_links() -> None:
    text = "see SL101, SL999 and `SL101`"
    assert with_links(text, lambda rule: f"#{rule.name}") == "see [SL101](#size-varies), SL999 and `SL101`"
    assert with_links(text, lambda rule: "") == text


def test_a_long_handbook_is_compressed_and_each_rule_has_its_remedy_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_INLINE", 0)
    page = page_of("lab/batch_varies.log.gz")
    assert 'id="rules" data-chunk="handbook"' in page
    assert 'id="sl101"' not in page
    assert "mark this dimension as dynamic so that one graph handles every size" in page
    whole = unpacked(page, "handbook")
    assert whole.lstrip().startswith('<section class="page" id="rules"')
    assert 'id="sl101"' in whole
    assert '"sl101":"rules"' in page.replace(" ", "")


def test_a_healthy_trace_has_no_empty_handbook() -> None:
    page = render(make.report(make.trace()), Options()).decode()
    assert page.count('id="rules"') == page.count('href="#rules"')
