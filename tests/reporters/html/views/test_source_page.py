"""The view of the source: its lines, marks and links."""

import os
import re
import shutil
from pathlib import Path

import make
import pytest
from payload_text import guard_tree, size_mismatch, tensor_match
from recorded import FIXTURES, RECORDED, report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.annotated_source import annotated_source
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.quoted_lines import FileLine
from shapelog.reporters import Options
from shapelog.reporters.html import render
from shapelog.reporters.html.anchors import anchors_of
from shapelog.reporters.html.page_context import page_context
from shapelog.reporters.html.search_index import Searchable, search_entries
from shapelog.reporters.html.views.source_page import SourcePage, source_page

DEMO = "real/demo.log.gz"


def view_of(report: Report, root: Path | str = "nowhere", with_source: bool = True) -> SourcePage:
    repository = Repository(str(root))
    source = annotated_source(collect_alerts(report, repository), with_source)
    return source_page(source, repository, anchors_of(report.trace), with_source)


def section(html: str, name: str = "source") -> str:
    found = re.search(rf'<section class="page" id="{name}".*?\n</section>\n(?=\s*<section class="page"|\s*<article|</main>)', html, re.S)
    return found[0] if found else ""


def page(report: Report, root: Path | str = "nowhere", **options: object) -> str:
    found = collect_alerts(report, Repository(str(root)))
    return render._page(page_context(found, Options(**options)), None).decode()  # type: ignore[arg-type]


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))


def test_each_line_with_marks_has_a_name_that_other_parts_of_the_page_lead_to() -> None:
    report = report_of(DEMO)
    view = view_of(report)
    file = "/srv/ml/demo/demo.py"
    assert view.of_place[FileLine(file, 38)].endswith("-38")
    assert set(view.of_frame) == set(report.trace.frames)
    html = page(report)
    for anchor in (*view.of_place.values(), *view.of_frame.values()):
        assert f'id="{anchor}"' in html


def test_a_line_of_the_repository_is_known_by_its_name_there_too(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    view = view_of(report_of(DEMO), tmp_path)
    assert view.of_place[FileLine("demo.py", 29)] == view.of_place[FileLine("/srv/ml/demo/demo.py", 29)]


def test_a_file_that_was_saved_after_the_run_is_shown_with_a_note(tmp_path: Path) -> None:
    copied = tmp_path / "demo.py"
    shutil.copyfile(FIXTURES / "real/demo.py", copied)
    last = max(compile.metrics.start_time or 0.0 for compile in report_of(DEMO).trace.compiles)
    assert last > 1.7e9
    os.utime(copied, (last - 60, last - 60))
    assert view_of(report_of(DEMO), tmp_path).files[0].note == "read from this disk, where every line is as the trace quotes it"
    os.utime(copied, (last + 60, last + 60))
    assert view_of(report_of(DEMO), tmp_path).files[0].note.endswith("quotes it, though it was saved after the run")


def test_frames_lead_to_their_function_and_back() -> None:
    html = page(report_of(DEMO))
    anchor = view_of(report_of(DEMO)).of_frame[report_of(DEMO).trace.frames[0]]
    article = re.search(r'<article class="page frame" id="frame-0".*?</article>', html, re.S)
    assert article
    assert f'href="#{anchor}"' in article[0]
    assert 'href="#frame-0"' in section(html)


def test_the_lines_that_cost_most_are_those_whose_cost_can_be_avoided() -> None:
    hot = view_of(report_of(DEMO)).hot
    assert [(item.row.row.number, item.cost) for item in hot] == [
        (15, "16.9 s avoidable"),
        (29, "9.69 s avoidable"),
        (39, "4.08 s avoidable"),
        (37, "1.68 s avoidable"),
    ]
    assert "self.step += 1" in words(section(page(report_of(DEMO))))


def test_a_compilation_that_two_marks_of_a_line_are_about_costs_it_once() -> None:
    sizes = ((8, 16), (9, 17))
    line = f"{make.MODEL}:6"
    reasons = [f"0/0: L['x'].size()[{dim}] == {8 * (dim + 1)}  # y = x + 1  # {line} in f" for dim in (0, 1)]
    parts = [
        make.compile(f"0/{number}", make.tensor(*size), reasons=reasons if number else (), seconds=3.0) for number, size in enumerate(sizes)
    ]
    (hot,) = view_of(make.report(make.trace(*parts))).hot
    assert (len(hot.marks), hot.cost) == (1, "3.00 s avoidable")


def test_a_compilation_that_two_lines_are_about_is_listed_once() -> None:
    def compiled(number: int, length: int) -> bytes:
        both = [make.tensor(length, 8), make.tensor(length, 8, source="L['y']")]
        used = [tensor_match(item.source, (length, 8)) for item in both]
        guards = guard_tree(used[0], used[1].replace(":6 in f", ":7 in f"))
        return make.compile(f"0/{number}", *both, guards=guards, seconds=3.0)

    marked = view_of(make.report(make.trace(compiled(0, 10), compiled(1, 12))))
    assert [item.row.row.number for item in marked.hot] == [6]
    assert [row.row.number for row in marked.functions[0].rows if row.marks] == [5, 6, 7]


def test_functions_with_one_name_are_distinguished_by_their_files() -> None:
    parts = [
        make.compile(f"{number}/0", make.tensor(8), name="step", co_filename=f"/srv/app/{name}.py") for number, name in enumerate("ab")
    ]
    assert {"step · a.py", "step · b.py"} <= set(view_of(make.report(make.trace(*parts))).labels.values())


def test_a_line_has_the_color_of_its_worst_mark() -> None:
    rows = {row.row.number: row.kind for file in view_of(report_of(DEMO)).files for item in file.functions for row in item.rows}
    assert {number: rows[number] for number in (14, 16, 17, 28, 29)} == {14: "marking", 16: "justified", 17: "", 28: "limit", 29: "marking"}


def test_compilations_beyond_the_first_are_counted() -> None:
    lengths = range(8, 28)
    parts = [
        make.compile(f"0/{number}", make.tensor(size, 16), reasons=[size_mismatch("0/0", 8, size)] if number else ())
        for number, size in enumerate(lengths)
    ]
    view = view_of(make.report(make.trace(*parts)))
    mark = view.functions[0].rows[0].marks[0]
    assert (len(mark.squares), mark.more) == (16, 4)


def test_lines_open_in_an_editor_by_their_path_on_this_disk(tmp_path: Path) -> None:
    assert "vscode://" not in page(report_of(DEMO))
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    html = page(report_of(DEMO), tmp_path)
    assert f'href="vscode://file{tmp_path}/demo.py:28"' in html
    assert "vscode://file/srv" not in html
    assert "vscode://" not in page(report_of(DEMO), tmp_path, with_source=False)


def test_without_source_the_marks_are_there_and_no_code(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    html = section(page(report_of(DEMO), tmp_path, with_source=False))
    assert "recompiled 7 times + 1 refused" in words(html)
    assert "self.step += 1" not in words(html)
    assert "def forward" not in words(html)
    assert "/srv/ml" not in html
    assert str(tmp_path) not in html


def test_gaps_are_named_for_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1 line that the trace does not quote" in words(section(page(report_of(DEMO))))
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    monkeypatch.setattr("shapelog.report.annotated_source._MAX_WHOLE", 10)
    monkeypatch.setattr("shapelog.report.annotated_source._AROUND", 1)
    html = words(section(page(report_of(DEMO), tmp_path)))
    assert "lines not shown" in html
    assert "does not quote" not in html


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED[::12])
def test_links_of_the_source_lead_somewhere(name: str) -> None:
    html = page(report_of(name))
    ids = set(re.findall(r'\bid="([^"]+)"', html)) | set(re.findall(r'"(compile-[^"]+|rank-[^"]+|process-[^"]+)":', html))
    assert set(re.findall(r'href="#([^"]+)"', section(html))) <= ids


def test_the_search_leads_from_a_line_to_the_source() -> None:
    context = page_context(collect_alerts(report_of(DEMO), Repository("nowhere")), Options())
    searchable = Searchable(context.report, context.views, context.handbook, context.records, context.source, context.failures)
    found = {entry.title: entry.where for entry in search_entries(searchable) if entry.kind == "line"}
    assert found["demo.py:50"] == context.source.of_place[FileLine("/srv/ml/demo/demo.py", 50)]


def test_values_that_are_cut_off_have_one_ellipsis() -> None:
    shown = words(section(page(make.report(make.trace(make.static_sizes(*range(10**15, 10**15 + 8)))))))
    assert "1000000000000000 · 1000000000000001" in shown
    assert "… 8 values" in shown
    assert "… …" not in shown
