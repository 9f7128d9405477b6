"""What happened at which line."""

import make
import pytest
from payload_text import size_mismatch
from recorded import RECORDED, report_of

from shapelog.model.compile import Outcome
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.line_marks import Changed, LineMark, MarkKind, line_marks
from shapelog.report.source_code.quoted_lines import FileLine, quoted_lines
from shapelog.rules import Verdict

DEMO = "real/demo.log.gz"
DEMO_FILE = "/srv/ml/demo/demo.py"


def marks_of(report: Report) -> dict[FileLine, tuple[LineMark, ...]]:
    return line_marks(report, quoted_lines(report))


def made(*parts: bytes) -> dict[FileLine, tuple[LineMark, ...]]:
    return marks_of(make.report(make.trace(*parts)))


def kinds(marks: tuple[LineMark, ...]) -> list[MarkKind]:
    return [mark.kind for mark in marks]


def test_the_first_line_of_a_function_has_its_compilations_and_what_varied() -> None:
    (mark,) = marks_of(report_of(DEMO))[FileLine(DEMO_FILE, 14)]
    assert (mark.kind, mark.times) == (MarkKind.COMPILED, 5)
    assert mark.changed[0] == Changed("tokens.size[0]", ("16", "7", "1"))
    assert mark.seconds == pytest.approx(45.54, abs=0.01)


def test_the_line_that_asked_for_what_changed_has_the_recompilations() -> None:
    (mark,) = marks_of(report_of(DEMO))[FileLine(DEMO_FILE, 29)]
    assert (mark.kind, mark.times, mark.verdict, mark.rule) == (MarkKind.RECOMPILED, 8, Verdict.MARKING, "SL315")
    assert mark.changed == (Changed("self.step", ("2", "3", "4", "5", "6", "7", "8", "9")),)


def test_a_line_has_the_rule_that_its_diagnostic_has() -> None:
    """Of a size that the code pins, that it is pinned (SL201), not that it changed (SL101)."""
    report = report_of("causes/out_pins_both.log.gz")
    rules = {mark.rule for own in marks_of(report).values() for mark in own if mark.kind is MarkKind.RECOMPILED}
    assert rules == {alert.rule.code for alert in collect_alerts(report, Repository()).alerts} == {"SL201"}


def test_properties_that_changed_together_in_the_same_recompilations_are_one_mark() -> None:
    marks = marks_of(report_of(DEMO))[FileLine(DEMO_FILE, 39)]
    assert [[item.name for item in mark.changed] for mark in marks] == [["features.dtype"], ["centred.size[0]", "features.size[0]"]]


def test_marks_are_joined_without_the_hash_of_a_recompilation_which_takes_as_long_as_it_has_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of("real/demo.log.gz")
    found = marks_of(report)
    monkeypatch.setattr(Recompile, "__hash__", None)
    assert marks_of(report) == found


def test_a_graph_break_and_what_goes_on_after_it_are_at_the_line_that_it_interrupted() -> None:
    broke, resumed = marks_of(report_of(DEMO))[FileLine(DEMO_FILE, 38)]
    assert (broke.kind, broke.title, broke.times) == (MarkKind.BROKE, "Failed to trace builtin operator", 3)
    assert (resumed.kind, resumed.times) == (MarkKind.RESUMED, 3)


def test_what_the_limit_refused_comes_before_what_was_compiled() -> None:
    refused, compiled = marks_of(report_of(DEMO))[FileLine(DEMO_FILE, 28)]
    assert (refused.kind, refused.verdict) == (MarkKind.REFUSED, Verdict.LIMIT)
    assert (compiled.kind, compiled.times) == (MarkKind.COMPILED, 9)


def test_the_line_of_a_call_has_the_compilations_that_it_led_to() -> None:
    found = made(
        make.compile("0/0", make.tensor(8, 16), call=20),
        make.compile("0/1", make.tensor(9, 16), call=30, reasons=[size_mismatch("0/0", 8, 9)]),
    )
    for line, label in ((20, "0/0"), (30, "0/1")):
        (mark,) = found[FileLine(make.MAIN, line)]
        assert (mark.kind, mark.title, [item.compile.label for item in mark.compiled]) == (MarkKind.CALLED, "f", [label])
        assert mark.changed == ()


@pytest.mark.parametrize(("file", "called"), [("/opt/venv/lib/python3.11/site-packages/hf/model.py", [MarkKind.CALLED]), (make.MODEL, [])])
def test_the_rest_of_a_function_of_a_library_is_called_by_the_users_line(file: str, called: list[MarkKind]) -> None:
    """That of a function of the user's is where it goes on."""
    rest = {"name": "torch_dynamo_resume_in_forward_at_12", "file": file, "call": 20}
    assert kinds(made(make.compile("0/0", make.tensor(8, 16), **rest)).get(FileLine(make.MAIN, 20), ())) == called


def test_the_call_of_code_in_a_library_has_what_varied_since_it_is_the_only_line_of_the_user() -> None:
    report = report_of("lab/hf_gpt2_seqlen.log.gz")
    marks = [mark for place, own in marks_of(report).items() for mark in own if place.file.endswith("cases/hf_gpt2_seqlen.py")]
    assert kinds(tuple(marks)) == [MarkKind.CALLED]
    assert Changed("kwargs['input_ids'].size[1]", ("8", "13")) in marks[0].changed


def test_a_specialization_is_at_the_innermost_line_of_the_user() -> None:
    stack = [
        {"line": 20, "name": "main", "filename": 1, "loc": "f(x)"},
        {"line": 6, "name": "f", "filename": 0, "loc": "int(x.shape[0])"},
        {"line": 9, "name": "g", "filename": "/venv/lib/python3.11/site-packages/torch/a.py", "loc": "guard()"},
    ]
    pinned = {"symbol": "s70", "sources": ["L['x'].size()[0]"], "value": "8", "user_stack": stack}
    (mark,) = made(make.compile("0/0", make.tensor(8, 16), specializations=[pinned]))[FileLine(make.MODEL, 6)]
    assert (mark.kind, mark.changed) == (MarkKind.SPECIALIZED, (Changed("x.size[0]", ("8",)),))


def test_a_failure_is_at_the_line_that_pytorch_names_else_where_the_code_begins() -> None:
    named = {"fail_user_frame_filename": make.MODEL, "fail_user_frame_lineno": 8}
    found = made(make.compile("0/0", make.tensor(8), **make.FAILED, **named), make.compile("1/0", make.tensor(8), **make.FAILED, line=40))
    assert kinds(found[FileLine(make.MODEL, 8)]) == [MarkKind.FAILED]
    assert kinds(found[FileLine(make.MODEL, 40)]) == [MarkKind.FAILED, MarkKind.COMPILED]


@pytest.mark.parametrize("name", RECORDED)
def test_every_compilation_and_graph_break_of_known_code_has_a_mark(name: str) -> None:
    report = report_of(name)
    found = [mark for own in marks_of(report).values() for mark in own]
    whole = {item.compile for mark in found if mark.kind in (MarkKind.COMPILED, MarkKind.RESUMED) for item in mark.compiled}
    assert whole == set(report.trace.compiles)
    broken = {item.compile for mark in found if mark.kind is MarkKind.BROKE for item in mark.compiled}
    assert broken == {item for item in report.trace.compiles if any(one.place for one in item.breaks)}
    ended = {item.compile for mark in found if mark.kind in (MarkKind.FAILED, MarkKind.REFUSED) for item in mark.compiled}
    assert ended == {item for item in report.trace.compiles if item.outcome in (Outcome.FAILED, Outcome.LIMIT)}


def test_a_cause_has_the_verdicts_of_its_recompilations_not_that_of_its_rule() -> None:
    marks = [mark for own in marks_of(report_of("lab/two_dims.log.gz")).values() for mark in own]
    for mark in marks + [mark for own in marks_of(report_of(DEMO)).values() for mark in own]:
        found = [item.recompile.verdict for item in mark.compiled if item.recompile]
        assert dict(mark.verdicts) == {verdict: found.count(verdict) for verdict in found}
        if mark.kind is MarkKind.RECOMPILED:
            assert mark.verdict in found


def test_of_a_size_that_became_0_or_1_the_size_is_shown_and_not_the_guard() -> None:
    every = [mark for marks in marks_of(report_of(DEMO)).values() for mark in marks if mark.kind is MarkKind.RECOMPILED]
    sizes = {item.name: item.values for mark in every if mark.rule in ("SL101", "SL104") for item in mark.changed}
    assert sizes["tokens.size[0]"][-1] == "1"
    assert not any("<=" in value for values in sizes.values() for value in values)
