"""The HTML report as a file: what is in it, what links to what, and what never gets into it. tests/browser opens it."""

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from html import escape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import ci
import make
import pytest
from payload_text import guard_tree, size_mismatch, tensor_match
from recorded import FIXTURES, RECORDED, graph_of, guards_of, report_of

import shapelog
from shapelog.model.trace import Trace
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import NextStep, saving_words
from shapelog.reporters import Options, renderer
from shapelog.reporters.html import render
from shapelog.text import file_name

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!-- -->",
    "a\u202eb\u2066c\u200bd\x1b[31me\x00f\ud800g",
)
VOID = {"meta", "link", "br", "wbr", "input", "col", "rect", "path", "line"}


class Outline(HTMLParser):
    """The tags of a page with their attributes, its text, and the text of its scripts and style by position."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.raw: list[tuple[dict[str, str], str]] = []
        self.inside = ""
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        if tag in ("script", "style"):
            self.inside = tag
            self.raw.append((found | {"": tag}, ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = ""
        if tag in VOID:
            return
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.raw[-1] = (self.raw[-1][0], self.raw[-1][1] + data)
        else:
            self.words.append(data)

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.tags if "id" in attrs]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def chunk(self, name: str) -> str:
        """What the browser unpacks of a chunk."""
        packed = next(text for attrs, text in self.raw if attrs.get("id") == name)
        return zlib.decompress(base64.b64decode(packed), -15).decode()

    @property
    def index(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(next(text for attrs, text in self.raw if attrs.get("id") == "index"))
        return found


def page_of(report: shapelog.report.report.Report, **options: object) -> str:
    return renderer("report", "html")(report, Options(**options)).decode()  # type: ignore[arg-type]


# The addresses outside of the page that it links to: what PyTorch writes about a graph break or a failure, and trace viewers. Lines open in
# an editor.
OUTSIDE = re.compile(
    r"https://(?:meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d+\.html|pytorch\.org/docs/main/generated/exportdb/index\.html#[\w-]+"
    r"|ui\.perfetto\.dev|www\.speedscope\.app)"
)
VIEWERS = {"https://ui.perfetto.dev", "https://www.speedscope.app"}
EDITOR = re.compile(r"vscode://file/[\w.%/:~-]+:\d+", re.A)


@cache
def page(name: str) -> str:
    return page_of(report_of(name))


DEMO = "real/demo.log.gz"
# Making a page takes a fifth of a second, so not all.
SOME = [DEMO, *RECORDED[::9]]


@cache
def outline(name: str) -> Outline:
    return Outline(page(name))


def inner_targets(found: Outline) -> set[str]:
    """What the links of a page lead to in it."""
    return {attrs["href"][1:] for tag, attrs in found.tags if tag == "a" and attrs["href"].startswith("#")}


def made(*parts: bytes) -> Trace:
    return make.load(make.trace(*parts))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_every_trace_gives_a_page_whose_links_lead_somewhere_and_whose_tags_close(name: str) -> None:
    found = outline(name)
    known = set(found.ids) | set(found.index["inside"])  # type: ignore[call-overload]
    targets = inner_targets(found)
    assert (found.unbalanced, found.open) == ([], [])
    assert targets <= known
    assert len(found.ids) == len(set(found.ids))
    links = [attrs["href"] for tag, attrs in found.tags if tag == "a"]
    assert all(link.startswith("#") or OUTSIDE.fullmatch(link) or EDITOR.fullmatch(link) for link in links)


@pytest.mark.parametrize("name", [DEMO, "real/2.13/compiled_autograd.log.gz"])
def test_headings_go_down_one_level_at_a_time(name: str) -> None:
    levels = [int(tag[1]) for tag, _ in outline(name).tags if tag in ("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", [DEMO, "lab/limit_module_widths.log.gz"])
def test_the_page_fetches_nothing_and_runs_nothing_but_its_own_script(name: str) -> None:
    found = outline(name)
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "source"}
    for tag, attrs in found.tags:
        assert not {
            key for key in attrs if key.startswith("on") or key in ("src", "style", "action", "formaction", "xlink:href", "srcdoc")
        }, tag
    policy = next(attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    code = [(attrs[""], text) for attrs, text in found.raw if attrs.get("type") is None]
    assert [kind for kind, _ in code] == ["style", "script"]
    for kind, text in code:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_page_is_the_same_each_time() -> None:
    assert page_of(report_of(DEMO)) == page(DEMO)


def test_the_verdict_and_the_line_to_set_come_first() -> None:
    text = outline(DEMO).text
    assert "11 of 19 compilations are avoidable by marking, 2 more by a code change." in text
    assert text.index("export TORCH_COMPILE_DYNAMIC_SOURCES=") < text.index("Functions, by avoidable time")


@pytest.mark.parametrize("name", [DEMO, "real/2.6/l_failures.log.gz", "lab/graph_break_resume.log.gz"])
def test_the_overview_lists_the_next_steps_in_order(name: str) -> None:
    text = "".join(outline(name).text.replace("`", "").split())
    text = text[text.index("Nextsteps") : text.index("Timeline")]
    at = 0
    for step in next_steps(collect_alerts(report_of(name), Repository())):
        shown = [step.title[:200], saving_words(step.saving), f"{step.confidence.level} confidence {step.confidence.reason}"]
        shown += [*step.text, *step.hints[:1]]
        shown += [f"{file_name(place.line.file)}:{place.line.line} {place.code}" for place in step.places[:3]]
        for part in shown:
            at = text.index("".join(part.replace("`", "").split()), at)


def test_without_source_the_next_steps_have_neither_code_nor_directories() -> None:
    report = report_of("lab/graph_break_resume.log.gz")
    page = page_of(report, with_source=False)
    places = [place for step in next_steps(collect_alerts(report, Repository())) for place in step.places]
    assert any(place.code for place in places)
    for place in places:
        assert f"{file_name(place.line.file)}:{place.line.line}" in page
        assert not place.code or str(escape(place.code)) not in page


def test_the_next_steps_are_computed_once_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(found: Alerts) -> tuple[NextStep, ...]:
        asked.append(found)
        return next_steps(found)

    monkeypatch.setattr("shapelog.reporters.html.page_context.next_steps", counted)
    assert "Next steps" in Outline(render.render(report_of(DEMO), Options()).decode()).text
    assert len(asked) == 1


def test_where_nothing_can_be_saved_there_are_no_next_steps() -> None:
    assert "Next steps" not in outline("lab/no_recompiles.log.gz").text


def test_where_torch_reads_no_list_the_lines_for_the_program_are_shown() -> None:
    text = outline("real/2.4/a_auto.log.gz").text
    assert "does not read a list of dynamic sources, so mark the tensors instead." in text
    assert "torch._dynamo.mark_dynamic(x, 0)" in text
    assert "export TORCH_COMPILE_DYNAMIC_SOURCES" not in text.partition("What the codes in this report mean")[0]


def test_every_recompile_is_shown_with_its_causes() -> None:
    text = outline(DEMO).text
    for item in report_of(DEMO).recompiles:
        for cause in item.causes:
            assert cause.sentence in text


def test_a_payload_unpacks_to_what_the_trace_holds() -> None:
    found = outline(DEMO)
    compile = report_of(DEMO).trace.compiles[0]
    texts = [found.chunk(attrs["data-chunk"]) for tag, attrs in found.tags if tag == "button" and "data-chunk" in attrs]
    assert graph_of(compile) in texts
    assert guards_of(compile) in texts


@pytest.mark.parametrize(("embed", "has"), [("none", False), ("fit", True), ("recompiled", True), ("all", True)])
def test_payloads_are_embedded_as_asked(embed: str, has: bool) -> None:
    found = Outline(page_of(report_of(DEMO), embed=embed))
    assert any("data-chunk" in attrs for _, attrs in found.tags) is has


def test_recompiled_embeds_those_of_frames_that_recompiled_and_all_those_of_others_too() -> None:
    trace = made(
        make.compile("0/0", make.tensor(8, 16)),
        make.compile("0/1", make.tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)]),
        make.compile("1/0", make.tensor(8, 16), name="other"),
    )
    report = shapelog.analyze(trace)
    assert "not embedded (<code>--embed all</code>)" in page_of(report, embed="recompiled")
    assert "not embedded" not in page_of(report, embed="all")


def test_frames_beyond_the_limits_are_compressed_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "page_context._MAX_FRAMES": 12,
        "page_context._MAX_FULL": 10,
        "render._MAX_INLINE": 20_000,
        "render._MAX_FIRST_COMPILES": 6,
    }.items():
        monkeypatch.setattr(f"shapelog.reporters.html.{name}", value)
    report = shapelog.analyze(made(*[make.compile(f"{number}/0", make.tensor(8, 16), name=f"f{number}") for number in range(15)]))
    found = Outline(page_of(report))
    articles = [attrs for tag, attrs in found.tags if tag == "article"]
    packed = [attrs for attrs in articles if "data-chunk" in attrs]
    assert len(articles) == 12
    assert "3 more frames" in found.text
    assert {attrs["data-chunk"][0] for attrs in packed} == {"d", "e"}
    assert len(packed) < len(articles)
    for attrs in packed:
        inside = Outline(found.chunk(attrs["data-chunk"]))
        assert attrs["id"] in inside.ids
        assert inside.unbalanced == []


def test_a_compile_that_is_not_shown_in_full_names_the_command_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "explain TRACE" not in outline(DEMO).text
    monkeypatch.setattr(render, "_FIRST_BUDGET", 20_000)
    text = Outline(page_of(report_of(DEMO))).text
    assert "shapelog explain TRACE 1/7" in text
    for item in report_of(DEMO).recompiles:
        assert all(cause.sentence in text for cause in item.causes)
    assert "explain TRACE" not in Outline(page_of(report_of(DEMO), embed="all")).text


def test_runs_without_compiles_and_without_recompiles_have_their_own_headlines() -> None:
    assert "Nothing was compiled in this run." in Outline(page_of(shapelog.analyze(made()))).text
    assert "Nothing was recompiled." in outline("lab/no_recompiles.log.gz").text


def hostile_trace() -> Trace:
    """A run in which all that a program can name is one of ``HOSTILE``, a frame for each."""
    parts = []
    for number, text in enumerate(HOSTILE):
        first = 10 * number
        payload = text.encode("utf-8", "replace")  # a lone surrogate is in headers alone, where JSON escapes it
        once, again = {"id": f"{number}/0"}, {"id": f"{number}/1"}
        source = f"L['{text}']"
        code: dict[str, Any] = {"co_name": text, "co_filename": f"/srv/{text}/model.py"}
        parts += [
            make.strings(f"/srv/{text}/model.py", text, first=first),
            make.dynamo_start(text, file=first, caller=first + 1, **once),
            make.describe(make.tensor(8, 16, source=source), describer=first, **once),
            make.output_graph((8, 16), **once),
            make.metrics(once["id"], **code),
            make.artifact("recompile_reasons", b"%d/0: %s\nUser stack trace:\n  %s" % (number, payload, payload), **again),
            make.dynamo_start(text, file=first, caller=first + 1, **again),
            make.describe(make.tensor(9, 16, source=source), describer=first + 1, **again),
            make.create_symbol("s0", 9, f"{source}.size()[0]", **again),
            make.artifact("dynamo_graph_break_reason", b"Graph break in user code at %s:3\nReason: %s\n" % (payload, payload), **again),
            make.artifact(text, payload, **again),
            make.output_graph(("s0", 16), **again),
            make.metrics(again["id"], fail_type=text, fail_reason=text, has_guarded_code=False, **code),
        ]
    return make.load(make.torch_version(HOSTILE[0]) + b"".join(parts))


@pytest.mark.parametrize("with_source", [True, False])
def test_text_of_a_trace_stays_text(with_source: bool) -> None:
    written = page_of(shapelog.analyze(hostile_trace()), with_source=with_source)
    found = Outline(written)
    assert [attrs.get("type") for tag, attrs in found.tags if tag == "script"].count(None) == 1
    assert "img" not in {tag for tag, _ in found.tags}
    links = {attrs["href"] for tag, attrs in found.tags if tag == "a"}
    assert all(link.startswith("#") or EDITOR.fullmatch(link) or link in VIEWERS for link in links)
    assert not [attrs for _, attrs in found.tags if any(key.startswith("on") for key in attrs)]
    assert found.unbalanced == []
    shown = written + json.dumps(found.index, ensure_ascii=False)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]", shown)
    for text in (text for text in HOSTILE if text.isprintable() and (with_source or "/" not in text)):
        assert re.sub(r"\s+", " ", text) in found.text


@pytest.mark.parametrize("name", SOME[::2])
def test_without_source_no_code_no_payload_and_no_directory_is_in_the_page(name: str) -> None:
    report = report_of(name)
    # The examples of the rules may have the same lines as the program.
    found = Outline(re.sub(r'<section class="page" id="rules".*(?=</main>)', "", page_of(report, with_source=False), flags=re.S))
    # Frames that are not at hand come out of chunks, which payloads would, too.
    inside = [Outline(found.chunk(attrs["data-chunk"])) for tag, attrs in found.tags if tag == "article" and "data-chunk" in attrs]
    tags = [tag for part in (found, *inside) for tag in part.tags]
    shown = " ".join(
        [json.dumps(found.index), *(part.text for part in (found, *inside)), *(value for _, attrs in tags for value in attrs.values())]
    )
    assert not [attrs for tag, attrs in tags if tag != "article" and "data-chunk" in attrs]
    places = {item for compile in report.trace.compiles for item in compile.stack.frames}
    places |= {item for compile in report.trace.compiles for mark in compile.specializations for item in mark.user_stack.frames}
    for place in places:
        folder = place.file.rpartition("/")[0]
        assert not folder.startswith("/") or folder not in shown
        assert len(place.code) < 8 or re.fullmatch(r"[\w\s.,]*", place.code) or place.code not in shown
    for compile in report.trace.compiles:
        for line in compile.graph.user_lines if compile.graph else ():
            assert len(line.code) < 8 or re.fullmatch(r"[\w\s.,]*", line.code) or line.code not in shown


def test_the_page_of_the_demo_without_source_still_shows_the_advice() -> None:
    text = Outline(page_of(report_of(DEMO), with_source=False)).text
    assert "11 of 19 compilations are avoidable by marking, 2 more by a code change." in text
    assert "demo.py:14" in text
    assert "logsumexp" not in text


def test_names_and_lines_without_end_do_not_fill_the_page() -> None:
    name = "x" * 500_000
    long = make.output_graph((8, 16), id="0/0").replace(b"l_x_ + 1", b"l_x_ + " + name.encode())
    other = make.output_graph((8, 16), id="0/1").replace(b"l_x_ + 1", b"l_x_ - " + name.encode())
    parts = [
        make.dynamo_start(name, id="0/0"),
        make.describe(make.tensor(8, 16), id="0/0"),
        long,
        make.cpp_guards(guard_tree(tensor_match(size=(8, 16))), id="0/0"),
        make.metrics("0/0"),
    ]
    parts += [
        make.recompile_reasons(size_mismatch("0/0", 8, 9), id="0/1"),
        make.dynamo_start(name, id="0/1"),
        make.describe(make.tensor(9, 16), number=1, id="0/1"),
    ]
    parts += [other, make.cpp_guards(guard_tree(tensor_match(size=(9, 16))), id="0/1"), make.metrics("0/1", co_name=name)]
    text = page_of(shapelog.analyze(made(*parts)), embed="none")
    assert "characters left out" in text
    assert len(text) < 1_500_000


def test_ranks_have_names_of_their_own() -> None:
    files = sorted(path for path in FIXTURES.rglob("*rank_*.log.gz"))
    assert files
    report = shapelog.analyze(shapelog.load(files[0].parent))
    found = Outline(page_of(report))
    assert len(found.ids) == len(set(found.ids))
    assert len(report.trace.ranks) < 2 or any(name.startswith("rank-0-frame-") for name in found.ids)
    assert Path(files[0]).exists()


def test_the_kinds_of_compiles_fill_their_bar_where_ranks_are_merged() -> None:
    run = make.trace(make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", make.tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)]))
    text = page_of(shapelog.analyze(make.load_ranks(run, run, run)))
    bars = re.findall(r'<svg class="stacked".*?</svg>', text, re.S)
    widths = [[float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)%"', bar)] for bar in bars]
    assert [(len(parts), round(sum(parts))) for parts in widths] == [(2, 100)] * 3  # run, function, frame


# The page of a check.


@pytest.mark.parametrize("with_source", [True, False])
def test_the_page_of_a_check_begins_with_its_outcome(with_source: bool) -> None:
    found = Outline(render.render_check(ci.demo(), Options(with_source=with_source)).decode())
    assert found.unbalanced == []
    assert inner_targets(found) <= set(found.ids) | set(found.index["inside"])  # type: ignore[call-overload]
    whole = found.text
    assert whole.index("Check failed") < whole.index("Next steps")
    for item in ci.demo().failing:
        assert item.alert.rule.code in whole
    assert "recompilations in the whole run 15 3 exceeded" in whole
    assert "compilations in Classifier.forward 5 9 within budget" in whole
    assert ("/srv/ml/" in whole) == with_source


def test_the_page_of_a_report_has_no_section_of_a_check() -> None:
    assert "Check" not in outline(DEMO).text


def test_the_page_of_a_passed_check_shows_so_and_what_a_baseline_has_too_much() -> None:
    trace = make.trace(
        make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], dynamic=[0])
    )
    passed = ci.checked(make.trace(make.compile("0/0", make.tensor(8, 16))), baseline=trace)
    text = Outline(render.render_check(passed, Options()).decode()).text
    assert "Check passed" in text
    assert "In baseline.json, but not in this run: 1 finding" in text


def test_names_of_a_hostile_trace_stay_text_in_the_page_of_a_check() -> None:
    found = Outline(render.render_check(ci.hostile(), Options()).decode())
    assert [attrs.get("type") for tag, attrs in found.tags if tag == "script"].count(None) == 1
    assert found.unbalanced == []
    links = {attrs["href"] for tag, attrs in found.tags if tag == "a"}
    assert all(link.startswith("#") or EDITOR.fullmatch(link) or link in VIEWERS for link in links)


def test_frames_of_one_function_are_one_row_of_the_overview() -> None:
    sizes = [(8, 12), (8, 12), (8, 12, 16), (8, 12)]
    parts = [make.compile(f"{frame}/{number}", make.tensor(size, 16)) for frame, own in enumerate(sizes) for number, size in enumerate(own)]
    overview = page_of(shapelog.analyze(made(*parts))).partition('id="overview"')[2].partition("</section>\n</section>")[0]
    table = overview.partition("functions-table")[2].partition("</table>")[0]
    assert re.findall(r'<span class="dim small">(×[^<]*)', table) == ["×4 frames"]
    assert 'href="#frames">All 4 frames' in overview
