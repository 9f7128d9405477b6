"""Alerts that people read as one."""

import make
import pytest
from payload_text import equals_match, global_state, guard_tree, tensor_match

from shapelog.report.alerts.groups import alert_groups
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render


def called(*calls: tuple[int, str]) -> bytes:
    """f was compiled for tensors of these lengths with these modes, which it branches on."""
    made = make.trace()
    for number, (length, mode) in enumerate(calls):
        guards = guard_tree(tensor_match(size=(length, 8)), equals_match("L['mode']", mode, "str"))
        made += make.compile(f"0/{number}", make.tensor(length, 8), guards=guards)
    return made


def groups(made: bytes) -> list[list[str]]:
    return [[alert.rule.code for alert in group] for group in alert_groups(make.alerts_of(made).alerts)]


def test_a_note_about_some_of_the_same_recompilations_is_with_them() -> None:
    assert groups(called((10, "sum"), (12, "sum"), (14, "max"))) == [["SL101", "SL311"]]
    assert groups(called((10, "sum"), (12, "sum"), (12, "max"))) == [["SL101"], ["SL311"]]


def test_what_marks_remove_is_with_what_needs_these_marks_among_others() -> None:
    """x changes twice, y and z in one of these calls each: the marks that remove both calls are those of all three."""
    made = make.trace()
    for number, sizes in enumerate(((10, 5, 6), (12, 7, 6), (14, 5, 8))):
        named = dict(zip(("x", "y", "z"), sizes, strict=True))
        guards = guard_tree(*(tensor_match(f"L['{name}']", (rows, 8)) for name, rows in named.items()))
        made += make.compile(f"0/{number}", *(make.tensor(rows, 8, source=f"L['{name}']") for name, rows in named.items()), guards=guards)
    (group,) = alert_groups(make.alerts_of(made).alerts)
    assert [alert.axes for alert in group] == [("x.size[0]",), ("y.size[0]",), ("z.size[0]",)]
    assert len({alert.remedy.text for alert in group}) > 1


def test_a_refused_call_is_where_the_code_was_called_last() -> None:
    """It has no stack: of a library that a validation and then a generation call, it is most likely of the second."""
    made = make.trace()
    for number, call in enumerate((20, 21)):
        made += make.compile(f"0/{number}", make.tensor(10 + number, 8), file="/lib/site-packages/net/model.py", call=call)
    made += make.refused("0/2", "0/1: tensor 'x' size mismatch at index 0. expected 11, actual 12")
    limit = next(alert for alert in make.alerts_of(made).alerts if alert.rule.code == "SL401")
    assert str(limit.source_line) == f"{make.MAIN}:21"


def test_what_needs_something_else_in_one_of_the_recompilations_is_named() -> None:
    """A batch of one in training, and an empty one in the evaluation, which has another graph whatever the size."""
    made = make.trace()
    for number, (rows, is_on) in enumerate(((4, True), (1, True), (0, False), (6, True))):
        guards = guard_tree(global_state(grad_mode=is_on), tensor_match(size=(rows, 8)))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), guards=guards)
    of_size = next(alert for alert in make.alerts_of(made).alerts if alert.rule.code == "SL104")
    assert of_size.shown_labels == ("0/1", "0/2")
    assert [text.partition(": ")[0] for text in of_size.helps] == ["0/1", "0/2"]
    assert of_size.helps[1].endswith("(SL305)")


@pytest.mark.parametrize(("calls", "line"), [((20,), 5), ((20, 20), 20), ((20, 21), 5)])
def test_a_refused_call_of_your_code_is_where_several_calls_are_known_to_be_made(calls: tuple[int, ...], line: int) -> None:
    made = make.trace()
    for number, call in enumerate(calls):
        made += make.compile(f"0/{number}", make.tensor(10 + number, 8), name="forward", call=call)
    last = len(calls) - 1
    made += make.refused(f"0/{len(calls)}", f"0/{last}: tensor 'x' size mismatch at index 0. expected {10 + last}, actual 30")
    limit = next(alert for alert in make.alerts_of(made).alerts if alert.rule.code == "SL401")
    assert (limit.call.place.line if limit.call else limit.source_line and limit.source_line.line) == line


def test_what_has_a_remedy_of_its_own_is_not() -> None:
    """A dtype that changed is avoided by another change than the mark on the size."""
    made = make.trace(make.static_sizes(10, 12))
    guards = guard_tree(tensor_match(size=(14, 8), dtype="float64"))
    made += make.compile("0/2", make.tensor(14, 8, dtype="torch.float64"), guards=guards)
    assert sorted(groups(made)) == [["SL101"], ["SL301"]]


def test_what_needs_a_graph_of_its_own_comes_before_what_code_could_remove() -> None:
    """A scale that a tensor could hold, and a margin that is there in some calls alone."""
    made = make.trace()
    for number, (scale, margin) in enumerate(((0.5, None), (0.7, "wide"))):
        guards = guard_tree(tensor_match(), equals_match("L['scale']", scale, "float"), equals_match("L['margin']", margin))
        made += make.compile(f"0/{number}", make.tensor(10, 8), guards=guards)
    assert groups(made) == [["SL322", "SL312"]]
    (left,) = make.advice(made).remaining
    assert (left.rule.code, left.axis) == ("SL322", "margin")


def test_what_needs_a_graph_of_its_own_comes_before_what_a_mark_would_remove() -> None:
    """Larger images, for which the code resizes its table of positions as well."""
    made = make.trace()
    for number, (rows, resizes) in enumerate(((10, False), (12, True))):
        guards = guard_tree(tensor_match(size=(rows, 8)), equals_match("L['resizes']", resizes))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), guards=guards)
    assert groups(made) == [["SL311", "SL101"]]
    (left,) = make.advice(made).remaining
    assert (left.rule.code, left.axis) == ("SL311", "resizes")


def test_the_report_has_the_compiles_that_it_is_about_and_its_help_with_verbose() -> None:
    report = make.report(called((10, "sum"), (12, "sum"), (14, "max")))
    shown, verbose = (" ".join(render(report, Options(width=200, verbose=more)).decode().split()) for more in (False, True))
    assert "= also in 0/2: mode changed from 'sum' to 'max' (SL311)" in shown
    assert "help for SL311: accept one graph per value" in verbose
    assert "help for SL311" not in shown
