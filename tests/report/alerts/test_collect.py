"""What a CI system shows of a run: one alert for each code, rule and property, with its place, its cure and a lasting fingerprint."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import make
import pytest
from make import alerts_of, artifact, metrics, recompile_reasons, report, small_trace, static_sizes, tensor
from make import compile as compiled
from payload_text import RETURN_LINE, code_comment, equals_match, global_state, guard_manager, guard_tree, size_mismatch, tensor_match
from recorded import FIXTURES, RECORDED, report_of

from shapelog.model.compile import Outcome
from shapelog.reading.payloads.properties import Kind, Property, stride
from shapelog.report.alerts.alert import Alert, Alerts, RelatedLine, stable_text
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.alerts.recompile_alerts import most_common_first
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository, SourceLine
from shapelog.rules import AlertKind, Level

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
ELSEWHERE = Repository("nowhere")


def of_fixture(name: str, repository: Repository = ELSEWHERE) -> Alerts:
    return collect_alerts(report_of(f"{name}.log.gz"), repository)


def by_code(found: Alerts) -> dict[str, Alert]:
    return {alert.rule.code: alert for alert in found.alerts}


def fingerprints(*traces: bytes, **more: object) -> list[str]:
    found = alerts_of(*traces, **more)  # type: ignore[arg-type]
    names = [alert.fingerprint for alert in found.alerts]
    assert len(set(names)) == len(names)
    return sorted(names)


# What there is.


def test_later_values_of_a_guard_are_listed_with_the_first_one() -> None:
    alert = by_code(of_fixture("lab/detections_maybe_none"))["SL104"]
    assert alert.sentence.endswith("(now labels.size()[0] = 0, then labels.size()[0] = 1)")


def test_the_sentence_is_that_of_what_most_of_them_failed() -> None:
    """A stride of a slice failed a guard once, and changed twice."""
    members = [
        SimpleNamespace(cause=SimpleNamespace(prop=prop), label=label)
        for label, prop in enumerate((Property(Kind.SHAPE_GUARD), stride(0), stride(0)))
    ]
    assert [item.label for item in most_common_first(members)] == [1, 2, 0]  # type: ignore[arg-type]
    assert [item.label for item in most_common_first(members[:2])] == [0, 1]  # type: ignore[arg-type]


def test_one_alert_covers_every_recompile_of_one_property() -> None:
    (alert,) = alerts_of(make.trace(static_sizes(8, 3, 5, 7))).alerts
    assert (alert.rule.code, alert.axes, alert.level) == ("SL101", ("x.size[0]",), Level.WARNING)
    assert (alert.labels, alert.seconds) == (("0/1", "0/2", "0/3"), 3.0)
    assert alert.sentence == "f was recompiled 3 times (3.00 s): dim 0 of x changed from 8 to 3 (then 5, 7)"
    assert alert.remedy.text == "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    assert alert.kinds == {AlertKind.RECOMPILE, AlertKind.AVOIDABLE, AlertKind.MARKING, AlertKind.SIZE}


def test_ranks_share_an_alert_and_count_apart() -> None:
    (alert,) = alerts_of(small_trace(), small_trace(), small_trace()).alerts
    assert (alert.ranks, alert.labels) == ((0, 1, 2), ("0/1",))
    assert len(alert.occurrences) == len({occurrence.compile for occurrence in alert.occurrences}) == 3
    assert [occurrence.process for occurrence in alert.occurrences] == [0, 1, 2]


def test_a_limit_that_every_rank_hit_is_an_event_of_each() -> None:
    limit = {"fail_type": "Unsupported", "fail_reason": "recompile limit exceeded (recompile_limit)", "has_guarded_code": False}
    trace = make.trace(static_sizes(8, 3), recompile_reasons(size_mismatch("0/1", 3, 4), id="0/2"), metrics("0/2", co_name="f", **limit))
    alert = by_code(alerts_of(trace, trace))["SL401"]
    assert (alert.level, alert.kinds) == (Level.ERROR, {AlertKind.LIMIT})
    assert len({occurrence.compile for occurrence in alert.occurrences}) == len(alert.occurrences) == 2
    mark = "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    assert alert.remedy.text == f"{mark}; if calls are still refused, raise torch._dynamo.config.recompile_limit"


def test_what_came_along_with_a_size_of_one_is_not_avoidable() -> None:
    """The call needs a graph of its own, whatever else is changed."""
    recording = make.trace(static_sizes(10))
    odd = guard_tree(tensor_match(size=(1, 8), dtype="float64"))
    recording += compiled("0/1", tensor(1, 8, dtype="torch.float64"), guards=odd)
    found = by_code(collect_alerts(report(recording), ELSEWHERE))
    assert found["SL301"].kinds == {AlertKind.RECOMPILE, AlertKind.NON_SIZE}
    assert found["SL104"].kinds == {AlertKind.RECOMPILE, AlertKind.SIZE}
    assert found["SL104"].codes == ("SL101", "SL104")
    assert found["SL104"].level is Level.NOTE


def test_a_size_that_changed_with_the_grad_mode_is_not_to_blame_either() -> None:
    modes = [guard_tree(tensor_match(size=(size, 8)), global_state(grad_mode=mode)) for size, mode in ((10, True), (12, False))]
    made = make.trace(*(make.compile(f"0/{number}", make.tensor(10 + 2 * number, 8), guards=tree) for number, tree in enumerate(modes)))
    found = by_code(make.alerts_of(made))
    assert AlertKind.AVOIDABLE in found["SL305"].kinds
    assert AlertKind.AVOIDABLE not in found["SL101"].kinds


def test_what_is_known_of_a_size_in_one_of_several_calls_alone_is_a_note_and_not_in_the_heading() -> None:
    """The second call passes weights of the size that its code needs; the third one passes none."""
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "12"}
    symbols = (("s77", "12", "L['x'].size()[0]"),)
    made = make.trace(compiled("0/0", tensor(10, 8)))
    made += compiled("0/1", tensor(12, 8), tensor(12, source="L['w']"), symbols=symbols, specializations=(pinned,))
    made += compiled("0/2", tensor(14, 8))
    alert = by_code(alerts_of(made))["SL101"]
    assert alert.why == "dim 0 of x changed from 10 to 12 (then 14)"
    assert alert.notes[0] == "0/1: the code ties it to w.size[0], which only this call has"


def test_a_semicolon_in_a_value_ends_no_change() -> None:
    alert = by_code(of_fixture("real/2.6/s_encoding"))["SL311"]
    assert "; " in "".join(item.sentence for item in report_of("real/2.6/s_encoding.log.gz").explained.recompiles[3].causes)
    assert not any(note.startswith(("0/3: ", "0/4: ")) for note in alert.notes)


def test_properties_that_changed_together_are_one_alert() -> None:
    alert = by_code(of_fixture("lab/optimizer_loop"))["SL101"]
    assert alert.axes == ("g.size[0]", "g.size[1]", "m.size[0]", "m.size[1]", "p.size[0]", "p.size[1]")
    assert alert.sentence.endswith("; dim 1 of g, dim 0 of m, dim 1 of m, dim 0 of p and 1 more changed too")


def test_what_changed_too_is_named_as_in_a_sentence_and_the_subjects_as_in_a_title() -> None:
    made = make.trace(
        make.compile("0/0", make.tensor(10, 8), make.tensor(4, source="L['y']")),
        make.compile("0/1", make.tensor(10, 8, dtype="torch.float64"), make.tensor(4, source="L['y']", dtype="torch.float64")),
    )
    (alert,) = make.alerts_of(made).alerts
    assert alert.sentence.endswith("the dtype of x changed from float32 to float64; the dtype of y changed too")
    assert alert.subjects == ("x.dtype", "y.dtype")


@pytest.mark.parametrize(
    ("guards", "subject"),
    [
        (("ID_MATCH: ___check_obj_id(L['act'], 7), type=<class 'A'>", "ID_MATCH: ___check_obj_id(L['act'], 8), type=<class 'A'>"), "act"),
        (
            ("EQUALS_MATCH: L['f'].__closure__[0].cell_contents == 1", "EQUALS_MATCH: L['f'].__closure__[0].cell_contents == 2"),
            "a closure variable of f",
        ),
    ],
)
def test_a_title_names_no_id_and_no_cell(guards: tuple[str, str], subject: str) -> None:
    source = guards[0].partition("L['")[2].partition(" ")[0].rstrip(",)")
    trees = [guard_tree(tensor_match(), guard_manager(f"L['{source}", guard)) for guard in guards]
    made = make.trace(*[make.compile(f"0/{n}", make.tensor(10, 8), guards=tree) for n, tree in enumerate(trees)])
    (alert,) = make.alerts_of(made).alerts
    assert alert.subjects == (subject,)


def test_a_line_that_is_not_known_is_no_related_one() -> None:
    """A text may have the file of a function alone."""
    alerts = alerts_of(make.trace(*(make.compile(f"0/{number}", make.tensor(rows, 8), line=0) for number, rows in enumerate((10, 12)))))
    assert [line.place.line for alert in alerts.alerts for line in alert.related] == [20]


def test_a_mark_is_suggested_also_where_some_of_the_recompiles_remain() -> None:
    alert = by_code(of_fixture("lab/range_branch"))["SL101"]
    assert [AlertKind.MARKING in occurrence.kinds for occurrence in alert.occurrences] == [False, True]
    assert alert.remedy.text == "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"


def test_where_marking_removes_some_of_the_recompiles_the_others_have_their_own_note_and_remedy() -> None:
    (alert,) = [item for item in of_fixture("causes/slices_of_a_buffer").alerts if item.labels == ("0/1", "0/2")]
    assert alert.notes == ("0/1: marking is not enough: the strides of x do not follow from its sizes",)
    assert alert.helps == (
        "0/2: mark dim 1 of x as dynamic: add L['x']:1 to TORCH_COMPILE_DYNAMIC_SOURCES",
        "0/1: clone() the slice or view before the call, and mark dim 1 of x (SL105)",
    )


def test_a_remedy_for_what_the_alert_is_not_about_comes_with_what_that_is() -> None:
    made = make.trace()
    for number, (size, kind) in enumerate(((10, "a"), (12, "b"), (14, "a"))):
        guards = guard_tree(tensor_match(size=(size, 8)), equals_match("L['k']", kind, "str"))
        made += compiled(f"0/{number}", tensor(size, 8), guards=guards)
    marked, other = by_code(alerts_of(made))["SL101"].helps
    assert marked.startswith("0/2: mark dim 0 of x as dynamic")
    assert other.startswith("0/1: k changed as well: accept one graph per value")


def test_the_remedy_of_the_rule_comes_first_where_the_sentence_is_about_what_it_helps() -> None:
    found = by_code(of_fixture("lab/ring_cache_steps"))
    assert "the int self.position changed from 0 to 4 (then 5, 6)" in found["SL315"].sentence
    assert [text.partition(": ")[0] for text in found["SL315"].helps] == ["0/2, 0/3", "0/1"]


def test_values_that_came_later_are_listed_after_the_first() -> None:
    alert = by_code(of_fixture("lab/limit_module_widths"))["SL106"]
    words = "it is a parameter (of another module, or a new one), and parameters are static by default"
    assert alert.sentence.endswith(f"changed from 3 to 4 (then 5, 6, 7, 8, 9, 10); {words}")


def test_layouts_that_changed_in_another_way_than_the_first_one_have_notes() -> None:
    """First the stride of a size of 1 alone, then the order of the dims."""
    strides = ([4, 1, 1], [4, 4, 1], [1, 4, 2])
    made = make.trace(*(compiled(f"0/{number}", tensor(2, 1, 4, stride=stride)) for number, stride in enumerate(strides)))
    alert = by_code(alerts_of(made))["SL105"]
    assert alert.why.endswith("strides (4, 1, 1), now (4, 4, 1)")
    assert alert.notes == ("0/2: the memory layout of x changed (transposed, channels last, or a view): strides (4, 4, 1), now (1, 4, 2)",)


def test_branches_at_other_lines_are_named() -> None:
    def entry(number: int, length: int, guard: str, line: int, code: str) -> bytes:
        tree = guard_tree(tensor_match(size=(None, 8)), shapes=[f"{guard}  {code_comment(line, code)}"])
        return compiled(f"0/{number}", tensor(length, 8), dynamic=[0], guards=tree)

    made = make.trace(
        entry(0, 10, "L['x'].size()[0] <= 30", 7, "if n > 30:"),
        entry(1, 40, "31 <= L['x'].size()[0]", 9, "if n > 20:"),
        entry(2, 20, "L['x'].size()[0] != 10", 9, "if n > 20:"),
    )
    notes = [note for alert in alerts_of(made).alerts for note in alert.notes if "the branch is at" in note]
    assert notes == ["0/2: the branch is at model.py:9  if n > 20:"]


@pytest.mark.parametrize(
    ("other", "notes"),
    [
        (
            "(L['x'].size()[0] % 8) != 0",
            ("0/2: the code branches on a size: the cache entry requires (x.size()[0] % 8) != 0 (now x.size()[0] = 64)",),
        ),
        ("L['x'].size()[0] <= 50", ()),
    ],
    ids=["another condition", "another number"],
)
def test_conditions_on_a_size_that_are_of_another_kind_than_the_first_one_have_notes(other: str, notes: tuple[str, ...]) -> None:
    first, second = make.dynamic_size("0/0", 10, "L['x'].size()[0] <= 30"), make.dynamic_size("0/1", 50, other)
    made = make.trace(first, second, make.dynamic_size("0/2", 64, "65 != L['x'].size()[0]"))
    assert by_code(alerts_of(made))["SL204"].notes == notes


def test_tensors_that_are_the_same_in_another_way_than_the_first_have_notes() -> None:
    names = [f"L['{name}']" for name in "abc"]
    tensors = [tensor_match(name, size=(4,)) for name in names]
    made = make.trace()
    for number, pair in enumerate(((0, 1), (0, 2), (1, 2))):
        shared = guard_manager(names[pair[0]], f"OBJECT_ALIASING: {names[pair[0]]} is {names[pair[1]]}")
        reasons = ("0/1: a is c", "0/0: a is b")[2 - number :]
        inputs = (tensor(4, source=name) for name in names)
        made += compiled(f"0/{number}", *inputs, guards=guard_tree(*tensors, shared), reasons=reasons)
    alert = by_code(alerts_of(made))["SL317"]
    assert alert.sentence.endswith("a and b were the same tensor, and now differ")
    assert alert.notes == ("0/2: a and c were the same tensor, and now differ",)


def test_layouts_that_changed_in_several_ways_have_the_help_for_all() -> None:
    """To copy what is expanded does not help where it is transposed."""
    strides = ([4, 1], [1, 0], [1, 6])
    traces = [compiled(f"0/{number}", tensor(6, 4, stride=stride)) for number, stride in enumerate(strides)]
    expanded, made = traces[:2], make.trace(*traces)
    assert by_code(alerts_of(made))["SL105"].helps[0].startswith("call .contiguous() or use one memory format")
    (first,) = (alert for alert in alerts_of(make.trace(*expanded)).alerts if alert.rule.code == "SL105")
    assert first.helps[0].startswith("copy what expand() returns")


def test_classes_that_came_later_are_named_like_the_first() -> None:
    made = make.trace()
    for number, name in enumerate(("float32", "int32", "int64")):
        guard = f"ID_MATCH: ___check_obj_id(L['dt'], {1000 + number}), type=<class 'numpy.{name}'>"
        guards = guard_tree(tensor_match(), guard_manager("L['dt']", guard, type="type"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards)
    alert = by_code(alerts_of(made))["SL311"]
    assert alert.sentence.endswith("dt changed from the class float32 to int32 (then int64)")


def test_what_has_no_cause_is_unexplained() -> None:
    (alert,) = alerts_of(make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 16)))).alerts
    assert alert.rule.code == "SL399"
    assert alert.kinds == {AlertKind.RECOMPILE, AlertKind.UNEXPLAINED}


def test_failures_breaks_and_restarts_are_alerts() -> None:
    assert by_code(of_fixture("real/2.6/l_failures"))["SL403"].kinds == {AlertKind.FAILURE}
    assert by_code(of_fixture("lab/graph_break_resume"))["SL501"].kinds == {AlertKind.BREAK}
    assert by_code(of_fixture("lab/float_arg_specialised"))["SL502"].kinds == {AlertKind.RESTART}
    assert by_code(alerts_of(make.trace(static_sizes(*range(2, 9)))))["SL402"].kinds == {AlertKind.LIMIT_NEAR}


def test_a_compile_that_failed_with_a_graph_break_is_one_alert() -> None:
    report = report_of("lab/int_drives_python.log.gz")
    (failed,) = [item for item in report.trace.compiles if item.outcome is Outcome.FAILED]
    title = "Observed exception: TypeError: object of type int has no len()"
    assert [item.message.title for item in failed.breaks] == [failed.failure.title] == [title]
    about = [alert for alert in collect_alerts(report, ELSEWHERE).alerts if failed.label in alert.labels]
    assert [alert.rule.code for alert in about] == ["SL403"]
    assert about[0].helps[1:] == failed.failure.hints


def broken(*words: str) -> bytes:
    text = "Graph break in user code at /srv/app/model.py:14\nReason: {}"
    breaks = [
        artifact("dynamo_graph_break_reason", text.format(word), id=f"{number}/0") + compiled(f"{number}/0", tensor(8, 16), line=12)
        for number, word in enumerate(words)
    ]
    return make.trace(*breaks)


def test_breaks_with_the_same_words_are_known_apart_where_one_has_no_line() -> None:
    texts = ("Graph break in user code at /srv/app/model.py:14\nReason: print", "print")
    breaks = [artifact("dynamo_graph_break_reason", text, id="0/0") for text in texts]
    found = alerts_of(make.trace(*breaks, compiled("0/0", tensor(8, 16), line=12))).alerts
    assert [alert.rule.code for alert in found] == ["SL501", "SL501"]
    assert len({alert.fingerprint for alert in found}) == 2


LIBRARY = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"


@pytest.mark.parametrize(("file", "is_users"), [("/srv/app/model.py", True), (LIBRARY, False)])
def test_a_break_in_a_library_is_placed_on_the_line_of_the_user_that_calls_it(file: str, is_users: bool) -> None:
    """Where the code that broke is that of the user: a frame of a library has no line of the user in it."""
    lines = ("/srv/app/model.py", 14, "f", "torch.nn.Linear(3, 3)(x)"), (LIBRARY, 108, "__init__", "own(x)")
    stack = "".join(f'  File "{path}", line {number}, in {name}\n    {code}\n' for path, number, name, code in lines)
    text = f"Graph break in user code at {LIBRARY}:108\nGraph Break Reason: own() is no op\nUser code traceback:\n{stack}"
    made = make.trace(artifact("dynamo_graph_break_reason", text, id="0/0"), compiled("0/0", tensor(8, 16), line=12, file=file))
    alert = by_code(alerts_of(made))["SL501"]
    place = ("/srv/app/model.py", 14) if is_users else (LIBRARY, 108)
    assert alert.source_line is not None
    assert (alert.source_line.file, alert.source_line.line) == place
    assert alert.notes == (("Dynamo stopped at modules/linear.py:108: own(x)",) if is_users else ())


@pytest.mark.parametrize("origin", ["", " from /srv/app/model.py:9 in forward"])
def test_a_break_in_generated_code_quotes_the_line_of_the_call(origin: str) -> None:
    """The generated code lies in no file, so that the call is the place of the alert."""
    text = f"Graph break in user code at <eval_with_key>.4{origin}:32\nGraph Break Reason: no proxy\nUser code traceback:\n"
    text += f'  File "<eval_with_key>.4{origin}", line 32, in forward\n    h = ops.add(x)\n'
    made = make.trace(
        artifact("dynamo_graph_break_reason", text, id="0/0"), compiled("0/0", tensor(8, 16), file="<eval_with_key>.4", call=20)
    )
    alert = by_code(alerts_of(made))["SL501"]
    assert alert.source_line is not None
    assert (alert.source_line.file, alert.source_line.line, alert.snippet) == (make.MAIN, 20, "f(x)")
    assert alert.notes == ("Dynamo stopped at <eval_with_key>.4:32: h = ops.add(x)",)


def test_the_lines_that_call_are_counted() -> None:
    made = make.trace(*(compiled(f"0/{number}", tensor(8 + number, 16), call=call) for number, call in enumerate((20, 20, 30, 40))))
    (alert,) = [alert for alert in alerts_of(made).alerts if alert.rule.code == "SL101"]
    assert (alert.call and alert.call.place.line, alert.other_calls) == (20, 2)


@pytest.mark.parametrize(("second", "lines"), [(20, [20]), (30, [])])
def test_a_refused_call_is_placed_at_a_line_that_calls_only_where_there_is_one(second: int, lines: list[int]) -> None:
    """It has no stack. Training and evaluation may call from lines of their own."""
    made = make.trace(*(compiled(f"0/{number}", tensor(8 + number, 16), call=call) for number, call in enumerate((20, second))))
    found = alerts_of(made + make.refused("0/2", "0/1: tensor 'x' size mismatch at index 0. expected 9, actual 10"))
    (alert,) = [alert for alert in found.alerts if alert.rule.code == "SL401"]
    assert [item.place.line for item in alert.related] == lines


@pytest.mark.parametrize(("second", "other"), [("s == 'a'", True), ("k == 2", False)])
def test_code_that_hits_the_limit_for_several_reasons_has_a_remedy_for_each(second: str, other: bool) -> None:
    """As after a reset, where the same code is compiled anew."""
    made = make.trace()
    for frame, reason in enumerate(("k == 2", second)):
        guards = guard_tree(tensor_match(), equals_match(f"L['{reason[0]}']", reason[5:], "int" if reason[0] == "k" else "str"))
        made += compiled(f"{frame}/0", tensor(10, 8), guards=guards) + make.refused(f"{frame}/1", f"{frame}/0: {reason}")
    alert = by_code(alerts_of(made))["SL401"]
    rest = "move the value out of the compiled function; or raise torch._dynamo.config.recompile_limit"
    assert alert.labels == ("0/1", "1/1")
    assert [help.startswith("0/1: mark the int k") for help in alert.helps] == ([True, False] if other else [False])
    assert alert.helps[1:] == ((f"1/1: {rest}",) if other else ())
    assert alert.notes == (("the last reason at 1/1: s was 'a' and has changed",) if other else ())


def test_a_refused_call_is_not_placed_at_the_line_that_calls_other_code_of_its_name() -> None:
    """Two compiled objects of one function, or what is resumed after two graph breaks of it."""
    made = make.trace(
        compiled("0/0", tensor(8, 16), call=31), compiled("1/0", tensor(8, 16), call=20), compiled("1/1", tensor(9, 16), call=25)
    )
    found = alerts_of(made + make.refused("1/2", "1/1: tensor 'x' size mismatch at index 0. expected 9, actual 10"))
    (alert,) = [item for item in found.alerts if item.rule.code == "SL401"]
    assert alert.call is None


def test_a_recompile_whose_stack_has_no_line_of_the_user_is_not_called_where_another_one_was() -> None:
    """As where eager code of a library, such as a decorator, calls the function from a line that the stack leaves out."""
    caller = re.sub(
        rb'"filename": 1', b'"filename": "/opt/venv/lib/python3.11/site-packages/lib/wrap.py"', compiled("0/1", tensor(3)), count=1
    )
    first = alerts_of(make.trace(compiled("0/0", tensor(8)), caller)).alerts[0]
    assert (first.labels, first.call) == (("0/1",), None)
    assert report(make.trace(compiled("0/0", tensor(8)), caller)).frames[0].frame.called_at is not None


def test_a_break_at_another_line_is_another_one() -> None:
    """The first has the property that it has alone, so that a baseline that knows it still does."""
    text = "Graph break in user code at {line}\nReason: no item()\nUser code traceback:\n  {stack}\n    y = x.{call}().item()\n"
    lines = ((8, "mean"), (10, "max"), (8, "mean"))
    breaks = [
        artifact(
            "dynamo_graph_break_reason",
            text.format(line=f"{make.MODEL}:{line}", stack=f'File "{make.MODEL}", line {line}, in f', call=call),
            id=f"0/{number}",
        )
        + compiled(f"0/{number}", tensor(8 + number, 16), line=7)
        for number, (line, call) in enumerate(lines)
    ]
    found = [alert for alert in alerts_of(make.trace(*breaks)).alerts if alert.rule.code == "SL501"]
    assert [(alert.source_line.line, len(alert.occurrences), alert.axes) for alert in found if alert.source_line] == [
        (8, 2, ("no item()",)),
        (10, 1, ("no item() at y = x.max().item()",)),
    ]
    assert len({alert.fingerprint for alert in found}) == 2


def test_breaks_that_differ_in_an_address_or_a_directory_are_one() -> None:
    one, other = (f"call <function f at 0x7f{number}> in file /home/{number}/x.py, line 1{number}" for number in range(2))
    (alert,) = alerts_of(broken(one, other)).alerts
    assert len(alert.occurrences) == 2
    assert alert.facts == tuple(f"call <function f> in file /home/{number}/x.py, line 1{number}" for number in range(2))
    assert fingerprints(broken(one)) == fingerprints(broken(other))
    assert fingerprints(broken(one)) != fingerprints(broken("call g"))


@pytest.mark.parametrize(
    ("axis", "kept"),
    [
        ("x.size[0]", "x.size[0]"),
        ("id(G['__compiled_fn_12_0x7f12ab'])", "id(G['__compiled_fn_12_$'])"),
        ("type 94822334455", "type $"),
        ("d['/data/a/b.txt']", "d['/data/a/b.txt']"),
        ("in file /srv/a/b.py, line 12", "in file $b.py, line $"),
        (r"in file C:\a\b.py", "in file $b.py"),
        ("a / b / c", "a / b / c"),
    ],
)
def test_a_property_is_named_without_what_differs_from_run_to_run(axis: str, kept: str) -> None:
    assert stable_text(axis) == kept


# What it is called.


def shared_by(*calls: tuple[str, int]) -> bytes:
    """A wrapper that classes share: the class of each call ("" for a refused one), and the length of its tensor."""
    made = []
    for number, (owner, length) in enumerate(calls):
        of_class = guard_manager("L['self']", f"TYPE_MATCH: ___check_type_id(L['self'], {len(owner)}), type=<class '{owner}'>", type=owner)
        guards = guard_tree(of_class, tensor_match(size=(length, 8)))
        made.append(compiled(f"0/{number}", tensor(length, 8), guards=guards, name="wrapper") if owner else make.refused(f"0/{number}"))
    return make.trace(*made)


def test_an_alert_has_the_title_of_the_class_that_was_compiled() -> None:
    sizes = by_code(alerts_of(shared_by(("app.Vision", 6), ("app.Text", 6), ("app.Text", 7))))
    assert {alert.title for alert in sizes.values()} == {"Text.wrapper"}
    assert sizes["SL101"].sentence.startswith("Text.wrapper was recompiled once (1.00 s): dim 0 of x changed from 6 to 7")


def test_an_alert_about_several_classes_names_each() -> None:
    found = by_code(alerts_of(shared_by(("app.Vision", 6), ("app.Vision", 7), ("app.Text", 6), ("app.Text", 8), ("", 9))))
    assert found["SL101"].sentence.startswith("Vision.wrapper and Text.wrapper were recompiled twice (2.00 s): dim 0 of x changed")
    assert found["SL401"].title == "Vision.wrapper and Text.wrapper"
    assert found["SL401"].sentence.startswith("Vision.wrapper and Text.wrapper hit the recompile limit at 0/4")


# Where it is.


def test_the_place_is_the_line_that_a_guard_names_else_that_of_the_function() -> None:
    found = {alert.rule.code: alert for alert in of_fixture("real/demo").alerts if alert.title == "Classifier.forward"}
    assert found["SL101"].source_line == SourceLine("/srv/ml/demo/demo.py", 15, False)
    assert found["SL101"].snippet == "hidden = torch.relu(self.mix(self.embed(tokens)))"
    assert found["SL305"].source_line == SourceLine("/srv/ml/demo/demo.py", 14, False)
    assert [line.text for line in found["SL305"].related] == ["Classifier.forward is called here"]


def test_library_code_is_placed_where_the_user_calls_it() -> None:
    alert = by_code(of_fixture("lab/mixed_same_recompile"))["SL305"]
    assert alert.source_line == SourceLine("/srv/ml/lab/cases/mixed_same_recompile.py", 16, False)
    assert [line.text for line in alert.related] == ["Linear.inner begins here"]


def test_a_failure_in_a_library_shows_the_line_of_the_call_and_names_the_other() -> None:
    library = "/opt/python3.11/lib/python3.11/site-packages/transformers/modeling_utils.py"
    reason = f'No logging\n\nfrom user code:\n   File "{library}", line 4635, in forward\n    logger.warning_once(\n'
    fields = {**make.FAILED, "fail_reason": reason, "file": library, "line": 4600, "name": "forward"}
    (alert,) = alerts_of(make.trace(compiled("0/0", tensor(8, 16), **fields))).alerts
    assert (alert.source_line, alert.snippet) == (SourceLine(make.MAIN, 20, False), "f(x)")
    assert alert.notes == ("Dynamo stopped at transformers/modeling_utils.py:4635: logger.warning_once(",)


@pytest.mark.parametrize(
    ("code", "function", "place"),
    [
        ("return val is not None", "exists", (make.MAIN, 20, "f(x)", "x")),
        ("return x is not None", "exists", (make.MODEL, 11, "return x is not None", "x")),
        ("return val is not None", "f", (make.MODEL, 11, "return val is not None", "")),
    ],
)
def test_a_line_that_knows_the_value_by_another_name_gives_way_to_the_call(
    code: str, function: str, place: tuple[str, int, str, str]
) -> None:
    guards = guard_tree(tensor_match()).replace(RETURN_LINE, code_comment(11, code, function))
    made = make.compile("0/0", make.tensor(8, 16), guards=guards)
    made += make.compile("0/1", make.tensor(3, 16), reasons=[f"{size_mismatch('0/0', 8, 3)}  {code_comment(11, code, function)}"])
    alert = by_code(alerts_of(make.trace(made)))["SL101"]
    assert alert.source_line
    assert (alert.source_line.file, alert.source_line.line, alert.snippet, alert.marked) == place


@pytest.mark.parametrize(("function", "line"), [("<dictcomp>", 11), ("inner", 12)])
def test_a_comprehension_is_a_line_of_its_function(function: str, line: int) -> None:
    """Before Python 3.12, it has a name of its own."""
    lines = code_comment(11, "h = {k: f(v) for k, v in xs.items()}", function), code_comment(12, "return g(xs['b'])", "f")
    names = "L['xs']['a']", "L['xs']['b']"
    guards = guard_tree(
        *(tensor_match(name).replace(RETURN_LINE, comment) for name, comment in zip(names, lines, strict=True)),
    )
    sizes = [[make.tensor(rows, 16, source=name) for name in names] for rows in (8, 3)]
    made = make.compile("0/0", *sizes[0], guards=guards)
    made += make.compile("0/1", *sizes[1], guards=guards, reasons=[size_mismatch("0/0", 8, 3)])
    alert = by_code(alerts_of(make.trace(made)))["SL101"]
    assert alert.source_line is not None
    assert (alert.source_line.file, alert.source_line.line) == (make.MODEL, line)


def test_code_without_a_file_has_no_place() -> None:
    (alert,) = alerts_of(make.trace(static_sizes(8, 3, file="<string>")).replace(make.MAIN.encode(), b"<stdin>")).alerts
    assert alert.source_line is None
    assert alert.related == ()


def test_places_are_relative_to_the_repository() -> None:
    (alert,) = alerts_of(small_trace(), prefixes=("/srv",)).alerts
    assert alert.source_line == SourceLine("app/model.py", 5, True)
    assert alert.related == (RelatedLine(SourceLine("app/main.py", 20, True), "f is called here", "f(x)"),)


# Fingerprints.


def test_a_fingerprint_stays_when_lines_shift_and_ids_change() -> None:
    before = make.trace(static_sizes(8, 3), static_sizes(4, 5, frame=1, name="other", line=40))
    after = make.trace(static_sizes(4, 5, 9, name="other", line=49, call=77), static_sizes(8, 6, 3, frame=1, line=21))
    assert fingerprints(before) == fingerprints(after)


def test_a_fingerprint_stays_when_the_checkout_is_somewhere_else(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "model.py").touch()
    moved = small_trace().replace(b"/srv/app/", b"/home/runner/work/app/")
    here = small_trace().replace(b"/srv/", f"{tmp_path}/".encode())
    names = fingerprints(small_trace(), prefixes=("/srv",))
    assert names == fingerprints(moved, prefixes=("/home/runner/work/",)) == fingerprints(moved, root=str(tmp_path))
    assert names == fingerprints(here, root=str(tmp_path))
    assert fingerprints(small_trace()) == fingerprints(moved)


def test_different_alerts_have_different_fingerprints() -> None:
    traces = [
        make.trace(static_sizes(8, 3)),
        make.trace(static_sizes(8, 3, name="other")),
        make.trace(static_sizes(8, 3, file="/srv/app/other.py")),
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 3), reasons=[size_mismatch("0/0", 16, 3, 1)])),
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 16))),
    ]
    names = [name for trace in traces for name in fingerprints(trace)]
    assert len(set(names)) == len(names) == 5


@pytest.mark.parametrize("line", [5, 40])
@pytest.mark.parametrize("name", ["f", "<lambda>", "torch_dynamo_resume_in_f_at_7"])
def test_functions_of_one_name_in_one_file_have_fingerprints_of_their_own(name: str, line: int) -> None:
    """Also where both are on one line, as lambdas can be."""
    other = name.replace("7", str(line + 2))
    one = make.trace(static_sizes(8, 3, name=name), static_sizes(8, 3, frame=1, name=other, line=line, call=31))
    if line == 40:
        assert len(fingerprints(one)) == 2
        later = make.trace(
            static_sizes(8, 3, name=other.replace("42", "52"), line=50), static_sizes(8, 3, frame=1, name=name.replace("7", "17"), line=15)
        )
        assert fingerprints(one) == fingerprints(later)
    else:
        assert len(fingerprints(one)) == 1


def test_files_of_one_name_outside_of_the_repository_have_fingerprints_of_their_own() -> None:
    one, other = (static_sizes(8, 3, frame=number, file=f"/srv/{number}/model.py") for number in range(2))
    assert len(fingerprints(make.trace(one, other))) == 2
    swapped = [static_sizes(8, 3, frame=1 - number, file=f"/home/{number}/model.py") for number in (1, 0)]
    assert fingerprints(make.trace(one, other)) == fingerprints(make.trace(*swapped))


def test_a_notebook_has_the_same_fingerprints_each_time() -> None:
    one, other = (small_trace().replace(b"/srv/app/model.py", f"/tmp/ipykernel_{number}/{number}.py".encode()) for number in (71, 883))
    assert fingerprints(one) == fingerprints(other)


@pytest.mark.parametrize("name", RECORDED)
def test_every_alert_of_a_run_has_its_own_fingerprint(name: str) -> None:
    names = [alert.fingerprint for alert in collect_alerts(report_of(name), ELSEWHERE).alerts]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[0-9a-f]{32}", item) for item in names)


@pytest.mark.slow
def test_fingerprints_and_order_do_not_depend_on_hashes(python: Process) -> None:
    code = """
import sys, shapelog
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
for alert in collect_alerts(shapelog.analyze(shapelog.load(sys.argv[1])), Repository("nowhere")).alerts:
    print(alert.fingerprint, alert.sentence, alert.axes, alert.remedy.text)
"""
    fixture = str(FIXTURES / "lab" / "optimizer_loop.log.gz")
    one, other = (python(code, fixture, PYTHONHASHSEED=seed).stdout for seed in "12")
    assert one == other
    assert one.count(b"\n") > 1


def test_values_that_differ_across_ranks_are_shown_by_rank() -> None:
    ranks = [make.trace(make.static_sizes(*lengths)) for lengths in ((10, 20), (11, 21), (10, 20))]
    found = collect_alerts(analyze(make.load_ranks(*ranks)), Repository())
    alert = next(item for item in found.alerts if item.rule.code == "SL101")
    assert alert.sentence.endswith("dim 0 of x changed: 10 → 20 on ranks 0 and 2, 11 → 21 on rank 1")


@pytest.mark.parametrize(
    ("name", "code", "marked"),
    [
        ("real/demo", "SL301", "centred"),
        ("causes/super_int", "SL102", "self.k"),
        ("lab/callable_identity", "SL309", "fn"),
        ("lab/ragged_segments_tuple", "SL313", "lengths"),
    ],
)
def test_the_value_is_marked_whatever_of_it_changed(name: str, code: str, marked: str) -> None:
    found = [alert for alert in of_fixture(name).alerts if alert.rule.code == code and alert.snippet]
    assert marked in [alert.marked for alert in found]
