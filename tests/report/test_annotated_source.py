"""The user's code in functions: from the file where it is here and unchanged, else from what the trace quotes."""

import shutil
from pathlib import Path

import make
import pytest
from recorded import FIXTURES, RECORDED, report_of

import shapelog
from shapelog.report import annotated_source as module
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.annotated_source import TOP_LEVEL, AnnotatedSource, CodeFunction, annotated_source
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.files_on_disk import DiskState

DEMO = "real/demo.log.gz"


def source_of(report: Report, root: Path | str = "nowhere", with_code: bool = True) -> AnnotatedSource:
    return annotated_source(collect_alerts(report, Repository(str(root))), with_code)


def functions(source: AnnotatedSource) -> dict[str, CodeFunction]:
    return {item.title: item for file in source.files for item in (*file.functions, *file.quiet)}


def numbers(item: CodeFunction) -> list[int]:
    return [row.number for row in item.rows]


def made(*parts: bytes) -> AnnotatedSource:
    return source_of(make.report(make.trace(*parts)))


def test_without_the_file_only_the_quoted_lines_are_there_and_gaps_are_counted() -> None:
    (file,) = source_of(report_of(DEMO)).files
    assert file.disk.state is DiskState.ELSEWHERE
    average = functions(source_of(report_of(DEMO)))["MovingAverage.forward"]
    assert [(row.number, row.code, row.skipped) for row in average.rows] == [
        (28, None, 0),
        (29, "self.step += 1", 0),
        (31, "self.average.mul_(decay).add_(logits.mean(0) * (1 - decay))", 1),
    ]


def test_with_the_file_functions_are_whole_and_indented(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    source = source_of(report_of(DEMO), tmp_path)
    lines = (FIXTURES / "real/demo.py").read_text().split("\n")
    assert source.files[0].disk.state is DiskState.UNCHANGED
    found = functions(source)
    assert numbers(found["MovingAverage.forward"]) == list(range(28, 33))
    for item in found.values():
        assert [row.code for row in item.rows] == [lines[number - 1] for number in numbers(item)]


def test_a_file_in_which_one_quoted_line_is_another_is_not_shown(tmp_path: Path) -> None:
    text = (FIXTURES / "real/demo.py").read_text()
    (tmp_path / "demo.py").write_text(text.replace("self.step += 1", "self.step += 2"))
    source = source_of(report_of(DEMO), tmp_path)
    assert source.files[0].disk.state is DiskState.CHANGED
    assert functions(source)["MovingAverage.forward"].rows[1].code == "self.step += 1"


def test_without_code_nothing_is_read_and_no_line_is_shown(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    source = source_of(report_of(DEMO), tmp_path, with_code=False)
    rows = [row for item in functions(source).values() for row in item.rows]
    assert {row.code for row in rows} == {None}
    assert any(row.marks for row in rows)
    assert source.files[0].disk.path == ""


def test_a_function_has_the_compilations_of_all_its_parts() -> None:
    found = functions(source_of(report_of(DEMO)))["normalize"]
    assert [frame.label for frame in found.frames] == ["2", "3"]
    assert found.times == 6
    assert found.avoidable < found.seconds


def test_functions_are_in_the_order_of_their_lines_and_the_top_level_is_last() -> None:
    (file,) = source_of(report_of(DEMO)).files
    assert [item.title for item in file.functions] == ["Classifier.forward", "MovingAverage.forward", "normalize", "main"]
    (file,) = source_of(report_of("causes/isolate_recompiles.log.gz")).files
    assert [item.title for item in file.functions] == ["Layer.forward", "block", TOP_LEVEL]


def test_functions_of_one_name_end_where_the_code_of_another_frame_begins() -> None:
    source = made(make.compile("0/0", make.tensor(8), line=5, name="forward"), make.compile("1/0", make.tensor(9), line=30, name="forward"))
    file = next(file for file in source.files if file.file == make.MODEL)
    assert [(item.first, [frame.label for frame in item.frames]) for item in file.functions if item.frames] == [(5, ["0"]), (30, ["1"])]


def test_functions_in_which_nothing_happened_are_apart() -> None:
    (file,) = source_of(report_of("lab/graph_break_resume.log.gz")).files
    assert [item.title for item in file.quiet] == [TOP_LEVEL]
    assert all(not item.marks for item in file.quiet)


def test_code_of_packages_comes_last_and_only_where_something_happened() -> None:
    source = source_of(report_of("lab/hf_gpt2_seqlen.log.gz"))
    assert [(file.is_library, file.file.rpartition("/")[2]) for file in source.files] == [
        (False, "hf_gpt2_seqlen.py"),
        (True, "generic.py"),
    ]


def test_a_long_function_is_shown_around_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_WHOLE", 10)
    monkeypatch.setattr(module, "_AROUND", 1)
    shutil.copy(FIXTURES / "real/demo.py", tmp_path / "demo.py")
    main = functions(source_of(report_of(DEMO), tmp_path))["main"]
    assert numbers(main) == [49, 50, 51, 56, 57, 58, 59, 60, 61, 62, 63, 64]
    assert [row.skipped for row in main.rows if row.skipped] == [4]


def test_functions_and_lines_that_do_not_fit_are_counted_the_cheap_ones_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_FUNCTIONS", 2)
    source = source_of(report_of(DEMO))
    assert (set(functions(source)), source.left_out) == ({"Classifier.forward", "MovingAverage.forward"}, 3)
    monkeypatch.setattr(module, "_MAX_LINES", 5)
    source = source_of(report_of(DEMO))
    assert (set(functions(source)), source.left_out) == ({"Classifier.forward"}, 4)


@pytest.mark.parametrize("name", RECORDED)
def test_each_line_is_in_one_function_and_lines_go_down(name: str) -> None:
    for file in source_of(report_of(name)).files:
        seen: set[int] = set()
        for item in (*file.functions, *file.quiet):
            own = numbers(item)
            assert own == sorted(own)
            assert not seen.intersection(own)
            seen.update(own)


def test_in_a_text_log_a_function_is_one_although_its_first_line_and_that_of_its_code_differ() -> None:
    for name in ("text_logs/2.13/f_graph_breaks.txt.gz", "text_logs/2.13/g_limit.txt.gz"):
        report = shapelog.analyze(shapelog.load(FIXTURES / name))
        titles = [item.title for file in source_of(report).files for item in (*file.functions, *file.quiet)]
        assert len(titles) == len(set(titles)), name


def test_lines_that_no_file_can_have_are_left_out() -> None:
    far = {"symbol": "s70", "sources": ["L['x'].size()[0]"], "value": "8"}
    stacks = [[{"line": line, "name": "f", "filename": 0, "loc": ""}] for line in (0, 10**15)]
    source = made(make.compile("0/0", make.tensor(8), line=1, specializations=[{**far, "user_stack": stack} for stack in stacks]))
    shown = [row.number for item in functions(source).values() for row in item.rows]
    assert 0 not in shown
    assert 10**15 in shown
