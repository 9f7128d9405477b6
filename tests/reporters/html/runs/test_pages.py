"""The pages about several runs: one file, complete without its script, and with nothing of the traces but text."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import make
import pytest
from recorded import report_of

from shapelog.report.compare import Comparison, compare
from shapelog.report.trend import NamedRun, trend
from shapelog.reporters import Options
from shapelog.reporters.html.runs.comparison import render_comparison, render_verification
from shapelog.reporters.html.runs.trend_page import MAX_RUNS, render_trend
from shapelog.rule_docs import RULES_URL

DEMO = report_of("real/demo.log.gz")
MARKED = report_of("real/demo_marked.log.gz")
OPTIONS = Options()
VOID = frozenset(("meta", "link", "input", "br", "wbr", "img", "col"))


class Tags(HTMLParser):
    """Ids, links and script elements of a page; tags have to close."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(page.decode())
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [str(value) for name, value in attrs if name == "id"]
        self.links += [str(value) for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text(page: bytes) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", page.decode(), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def compared(one: bytes, other: bytes) -> Comparison:
    return compare(make.report(one), make.report(other))


BREAKS_URL = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"
PAGES = {
    "better": lambda: render_comparison(compare(DEMO, MARKED), OPTIONS),
    "worse": lambda: render_comparison(compare(MARKED, DEMO), OPTIONS),
    "same": lambda: render_comparison(compare(DEMO, DEMO), OPTIONS),
    "other code": lambda: render_comparison(compare(DEMO, report_of("lab/batch_varies.log.gz")), OPTIONS),
    "failures": lambda: render_comparison(compare(report_of("real/2.6/l_failures.log.gz"), DEMO), OPTIONS),
    "empty": lambda: render_comparison(compared(make.trace(), make.trace()), OPTIONS),
    "to share": lambda: render_comparison(compare(DEMO, MARKED), OPTIONS._replace(with_source=False)),
    "verification": lambda: render_verification(make.verification(DEMO, MARKED), OPTIONS),
    "trend": lambda: render_trend(trend("runs", [NamedRun("11-20 08:27:33", item) for item in (DEMO, MARKED, DEMO)]), OPTIONS),
    "no trend": lambda: render_trend(trend("runs", [], ["a.log: not a trace"]), OPTIONS),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_one_file_whose_links_lead_somewhere_and_whose_tags_close(name: str) -> None:
    page = PAGES[name]()
    tags = Tags(page)
    assert len(tags.ids) == len(set(tags.ids))
    assert {link.removeprefix("#") for link in tags.links if not link.startswith((RULES_URL, BREAKS_URL))} <= set(tags.ids)
    assert not {"img", "link", "iframe", "form"} & set(tags.tags)
    assert not {item for item in tags.attributes if item.startswith("on") or item == "style"}
    (script,) = re.findall(r"<script>(.*?)</script>", page.decode(), re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode().replace("+", "&#43;")
    assert f"default-src &#39;none&#39;; script-src &#39;sha256-{digest}&#39;; style-src" in page.decode().replace("+", "&#43;")
    assert len(page) < 200_000


def test_resolved_and_new_causes_have_their_causes_and_remedies() -> None:
    better, worse = text(PAGES["better"]()), text(PAGES["worse"]())
    assert "Resolved causes 5" in better
    assert "SL315 module-int-varies self.step 8 0" in better
    assert "New causes 0 No new cause." in better
    assert "New causes 5" in worse
    assert "SL315 module-int-varies self.step → " not in worse  # the arrow is of the style
    assert re.search(r"SL315 module-int-varies self\.step [A-Z].*? 0 8", worse)


def test_where_the_runs_have_no_code_in_common_no_cause_is_resolved_or_new() -> None:
    assert "Resolved causes" not in text(PAGES["other code"]())


def test_a_line_opens_in_an_editor_only_where_its_file_is_on_this_disk() -> None:
    assert "vscode://" not in PAGES["better"]().decode()


def test_the_totals_and_the_timelines_of_both_runs_are_shown() -> None:
    page = PAGES["better"]()
    assert "compilations 19 8 \N{MINUS SIGN}11" in text(page)
    ticks = re.findall(rb"<ol>.*?</ol>\s*<svg class=\"labels\".*?</svg>", page, re.S)
    axes = [re.findall(rb"<text x=\"([\d.]+%)\"[^>]*>([^<]+)", part[part.rindex(b"</ol>") :]) for part in ticks]
    assert len(axes) == 2
    assert axes[0] == axes[1] != []


def test_every_bar_leads_to_the_card_of_its_frame() -> None:
    page = PAGES["better"]().decode()
    card = re.search(r'id="(changed-\d+)-title"[^>]*>[^/]*/span> MovingAverage', page)
    assert card
    assert re.search(rf'<a href="#{card[1]}" class="k-limit"', page)


def test_without_source_there_are_no_directories() -> None:
    shown = render_comparison(compare(report_of("real/2.6/l_failures.log.gz"), DEMO), OPTIONS).decode()
    shared = render_comparison(compare(report_of("real/2.6/l_failures.log.gz"), DEMO), OPTIONS._replace(with_source=False)).decode()
    assert "/srv/ml" not in shared
    assert "--no-source" in shared
    assert "--no-source" not in shown


def test_a_verification_begins_with_what_was_predicted_and_measured() -> None:
    page = text(PAGES["verification"]())
    assert "It helped" in page
    slower = make.verification(DEMO, MARKED)
    slower = replace(slower, second=slower.first)
    assert "no time was saved" not in text(render_verification(slower, OPTIONS))  # that of the compilations was
    compiled = make.verification(make.trace(make.static_sizes(10, 12, 14)), make.trace(make.dynamic_size("0/0", seconds=9.0)), (0, 0))
    longer = replace(compiled, second=compiled.first)
    assert "Fewer compilations , but they took more time" in text(render_verification(longer, OPTIONS))
    assert "Predicted and measured" in page
    assert "L['tokens']:0,L['tokens']:1,L['self'].step,L[&#39;" not in page
    assert "MovingAverage.forward" in page.split("Totals")[0]


def test_the_difference_of_times_is_that_of_what_is_printed() -> None:
    one, other = (make.trace(make.compile("0/0", make.tensor(8), seconds=seconds)) for seconds in (1.004, 1.006))
    assert "compile time 1.00 s 1.01 s +0.01 s" in text(render_comparison(compared(one, other), OPTIONS))


def test_graph_breaks_that_came_or_went_have_their_line_and_its_number() -> None:
    reason = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: builtin: print\nUser code traceback:\n"
    reason += '  File "/srv/app/model.py", line 7, in f\n    print(x)\n'
    reason += "\n For more details about this graph break, please visit: https://docs.pytorch.org/compile/gb/gb0059.html\n"
    broken = make.static_sizes(8) + make.artifact("dynamo_graph_break_reason", reason, id="0/0")
    gone = text(render_comparison(compared(make.trace(broken), make.trace(make.static_sizes(8))), OPTIONS))
    assert "Graph break gone model.py:7: builtin: print GB0059 print(x)" in gone
    shared = render_comparison(compare(DEMO, report_of("lab/graph_break_resume.log.gz")), OPTIONS._replace(with_source=False)).decode()
    assert "New graph break" in shared
    assert BREAKS_URL not in shared


def test_the_trend_has_a_row_and_a_bar_for_each_run() -> None:
    page = PAGES["trend"]()
    assert page.count(b"<title>run ") == 3
    assert "first compilations avoidable by marking" in text(page)  # the legend, without sums over the runs
    assert "1 11-20 08:27:33 19 15 13 1 min 7 s 1 0 demo.log.gz" in text(page)
    assert (
        "<title>run 1, 11-20 08:27:33: first compilations 4, avoidable by marking 11, avoidable by a code change 2, other recompilations 2"
        in page.decode()
    )


def test_a_trend_of_exports_shows_them_in_the_chart_and_the_table() -> None:
    runs = [NamedRun("11-23 14:24:22", report_of(f"real/2.13/{name}.log.gz")) for name in ("export_violation", "export_good")]
    page = render_trend(trend("runs", runs), OPTIONS)
    assert "exports that did not fail failed exports 0 1" in text(page)  # the legend, then the numbers at the lines
    assert "<title>run 1, 11-23 14:24:22: failed exports 1</title>" in page.decode()
    assert "run began exports failed exports problems in exports change 1 11-23 14:24:22 1 1 3" in text(page)
    assert "export-dim-constrained exports.py:53" in text(page)


def test_of_many_runs_the_newest_are_shown() -> None:
    report = make.report(make.trace(make.static_sizes(8)))
    page = render_trend(trend("runs", [NamedRun("", report)] * (MAX_RUNS + 5)), OPTIONS)
    assert page.count(b"<title>run ") == MAX_RUNS
    assert "The 5 oldest are left out" in text(page)


@pytest.mark.parametrize("with_source", [True, False])
def test_names_in_a_trace_are_only_text(with_source: bool) -> None:
    evil = "<script>x</script>\"'\x1b\u202e{{ 7 * 191 }}"
    one = make.trace(make.compile("0/0", make.tensor(8, 16), name=evil, file=f"/a/{evil}.py"))
    two = one + make.compile("0/1", make.tensor(3, 16), name=evil, file=f"/a/{evil}.py", dynamic=[0])
    options = OPTIONS._replace(with_source=with_source)
    for page in (
        render_comparison(compared(one, two), options),
        render_trend(trend(evil, [NamedRun("", make.report(one)), NamedRun("", make.report(two))], [evil]), options),
    ):
        assert Tags(page).tags.count("script") == 1
        assert "x</script>" not in page.decode()
        assert not {"\x1b", "\u202e"} & set(page.decode())
        assert "1337" not in page.decode()


def test_the_page_of_two_runs_has_the_problems_of_exports_that_went_and_came() -> None:
    failed, good = (report_of(f"real/2.13/export_{name}.log.gz") for name in ("data_dependent", "good"))
    page = render_comparison(compare(good, failed), OPTIONS)
    Tags(page)
    shown = text(page)
    assert "failed exports 0 1 +1" in shown
    assert "New SL602 export-depends-on-data exports.py:28: export 1 stopped at a data-dependent expression: n &gt; 4 if n &gt; 4:" in shown
    assert "if n &gt; 4:" not in text(render_comparison(compare(good, failed), Options(with_source=False)))
