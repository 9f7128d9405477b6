"""The ranked list of what to do: what is on it, what each step saves, and in which order."""

import gzip
import html
import json
import re
from collections.abc import Iterator

import make
import pytest
from payload_text import code_comment, equals_match, graph_text, guard_manager, guard_tree, tensor_match
from recorded import FIXTURES, RECORDED, report_of

from shapelog.check.check import without_policy
from shapelog.model.compile import Compile, Outcome
from shapelog.model.trace import merged
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import CHANCES, next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.steps import code_changes, limit
from shapelog.report.steps.marks import in_their_place
from shapelog.report.steps.step import Confidence, NextStep, Saving, StepKind, saving_words, with_references
from shapelog.reporters import Options, formats, renderer
from shapelog.rules import Verdict


def alerts(report: Report) -> Alerts:
    return collect_alerts(report, Repository("nowhere"))


def steps_of(report: Report) -> tuple[NextStep, ...]:
    return next_steps(alerts(report))


def words(text: str) -> str:
    return " ".join(text.split())


def letters(text: str) -> str:
    """What is left of a text however a format escapes it."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


@pytest.mark.parametrize("name", RECORDED)
def test_each_step_saves_something_and_the_most_comes_first(name: str) -> None:
    report = report_of(name)
    steps = steps_of(report)
    assert [step for step in steps if not step.saving.is_any and step.kind not in (StepKind.RANKS, StepKind.EXPORT)] == []
    hang = [any(rule.code == "SL703" for rule in step.rules) for step in steps]
    minor = [step.stake <= 0.05 * report.summary.seconds for step in steps]
    ranked = [
        (
            -hangs,
            is_minor and not (step.saving.failed or step.saving.refused),
            is_minor,
            -round(step.stake * CHANCES[step.confidence.level], 3),
        )
        for hangs, is_minor, step in zip(hang, minor, steps, strict=True)
    ]
    assert ranked == sorted(ranked)
    for step in steps:
        saving = step.saving
        assert 0 <= saving.least <= saving.most <= report.summary.compiles
        assert saving.refused <= report.summary.limit_hits + report.summary.failures
        assert saving.failed <= report.summary.failures
        assert saving.seconds.most is None or 0 <= saving.seconds.least <= saving.seconds.most


@pytest.mark.parametrize("name", RECORDED)
def test_marks_are_one_step_with_the_line_to_set(name: str) -> None:
    report = report_of(name)
    marks = [step for step in steps_of(report) if step.kind is StepKind.MARK]
    assert len(marks) == bool(report.advice and report.advice.suggestions)
    if marks and report.advice and report.advice.env:
        assert report.advice.env.replace("$", "\\$").split("[")[0] in marks[0].text[0]
        assert marks[0].saving.seconds == report.advice.saved_seconds


def test_what_marking_cannot_help_comes_first_where_nothing_is_to_mark() -> None:
    step, last = steps_of(report_of("lab/callable_identity.log.gz"))
    assert (step.kind, step.rules[0].code, step.saving.most) == (StepKind.CODE, "SL309", 7)
    assert (last.kind, last.saving.refused) == (StepKind.LIMIT, 1)
    assert last.title == "If apply still reaches the recompile limit, raise it"  # the first step removes what filled the cache


def test_a_setting_that_pytorch_names_is_the_text_to_type() -> None:
    steps = steps_of(report_of("lab/graph_break_resume.log.gz"))
    breaks = [step for step in steps if step.kind is StepKind.GRAPH_BREAK]
    assert {step.text for step in breaks} == {("torch._dynamo.config.capture_scalar_outputs = True",), ()}
    found = next(step for step in breaks if step.text)
    assert found.url.startswith("https://meta-pytorch.github.io/")
    assert found.saving.seconds.most is not None
    assert found.saving.most > 0


def test_an_error_of_the_users_own_code_is_what_to_fix() -> None:
    titles = [step.title for step in steps_of(report_of("lab/int_drives_python.log.gz"))]
    assert titles[-1] == "Fix the TypeError in f: object of type int has no len()"


def test_a_step_has_the_remedy_that_is_known_for_its_failure() -> None:
    step = steps_of(report_of("lab/int_drives_python.log.gz"))[-1]
    assert step.remedy.startswith("move this line out of the compiled code, or compile with dynamic=False")
    (removed,) = [step for step in steps_of(make.report(broken_below("other"))) if step.kind is StepKind.GRAPH_BREAK]
    assert removed.remedy == ""  # what helps against any graph break is no help


def test_the_lists_of_steps_are_compared_in_their_order() -> None:
    """The variable holds one list: what a step sets replaces what one before it set."""
    lists = ({"L['x']:0", "L['y']:0"}, set[str](), {"L['y']:0"}, {"L['x']:0", "L['y']:0", "L['k']"}, {"L['z']:0"})
    sure = Confidence("high", "")
    made = [NextStep(StepKind.MARK, "", (), Saving(), sure, stake=0.0, entries=frozenset(entries)) for entries in lists]
    assert [(step.list_of, step.replaces) for step in with_references(made)] == [(0, 0), (0, 0), (1, 0), (0, 1), (0, 0)]


def test_changes_that_a_recompilation_needs_together_name_each_other() -> None:
    """A dtype and a float: one of the two changes alone saves nothing of 0/1."""
    made = make.trace()
    for number, (value, dtype) in enumerate(((0.5, "float32"), (1.5, "float64"))):
        leaf = guard_manager("L['s']", f"EQUALS_MATCH: L['s'] == {value}", type="float")
        guards = guard_tree(tensor_match(dtype=dtype), leaf)
        made += make.compile(f"0/{number}", make.tensor(10, 8, dtype=f"torch.{dtype}"), guards=guards)
    report = make.report(made)
    one, other = with_references(steps_of(report))
    assert {*one.references, *other.references} == {"0/1 needs step 1 as well", "0/1 needs step 2 as well"}
    terminal = " ".join(renderer("report", "terminal")(report, Options()).decode().split())
    assert "0/1 needs step 2 as well" in terminal
    assert "also the" in terminal  # both are in one block
    assert "0/1 needs step 2 as well." in renderer("report", "html")(report, Options()).decode()


def test_a_step_names_an_earlier_one_that_removes_the_same() -> None:
    sure = Confidence("high", "")
    labels = (("0/1", "0/2"), ("0/2", "0/3"), ("0/3",))
    kinds = (StepKind.MARK, StepKind.CODE, StepKind.FAILURE)
    made = [
        NextStep(kind, "", (), Saving(), sure, stake=0.0, labels=own, enough_for=own if kind is StepKind.CODE else ())
        for kind, own in zip(kinds, labels, strict=True)
    ]
    assert [step.references for step in with_references(made)] == [(), ("0/2 goes away with step 1, too",), ()]


def test_alerts_of_one_rule_that_need_another_change_have_a_step_each() -> None:
    found = [step for step in steps_of(report_of("causes/inference_mode.log.gz")) if "SL303" in [rule.code for rule in step.rules]]
    assert [step.title.split(" in ")[0] for step in found] == [
        "h and 2 more: use the same mode",
        "g: warm up",
    ]
    assert [step.saving.most for step in found] == [3, 1]


def test_of_a_long_error_of_an_operation_a_step_has_the_first_sentence() -> None:
    begin, rest = "Output 0 of AsStrided is a view and is being modified inplace", f"This view was created {'inside ' * 10}a Function."
    ran = "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function"
    reason = f"{ran} <built-in function iadd>(*(FakeTensor(..., size=(2,)), 1), **{{}}): got RuntimeError('{begin}. {rest}')\n"
    failed = make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason})
    (step,) = steps_of(make.report(make.trace(failed)))
    assert step.title == f"Fix the RuntimeError in f: {begin}"


@pytest.mark.parametrize(
    "hint",
    [
        "Set `torch._dynamo.config.trace_numpy = True` to allow it.",
        "Set `torch._dynamo.config.trace_numpy` to True to trace numpy functions.",
        "Change `torch._dynamo.config.trace_numpy` to `True`.",
        "Set torch._dynamo.trace_numpy=True",
    ],
)
def test_a_setting_is_read_however_pytorch_writes_it(hint: str) -> None:
    text = f"Graph break in user code at {make.MODEL}:79\nGraph Break Reason: g() is no op\n  Explanation: It is.\n  Hint: {hint}\n"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    made += make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")
    assert [step.text for step in steps_of(make.report(made))] == [("torch._dynamo.config.trace_numpy = True",)]


def test_a_setting_with_a_condition_is_a_hint_and_no_text_to_type() -> None:
    hint = "It is kept. If you are ok with another result, try setting `torch._dynamo.config.trace_numpy = True`"
    text = f"Graph break in user code at {make.MODEL}:79\nGraph Break Reason: g() is no op\n  Explanation: It is.\n  Hint: {hint}\n"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    made += make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")
    assert [(step.text, step.hints) for step in steps_of(make.report(made))] == [((), (hint,))]


@pytest.mark.parametrize(
    ("file", "hint", "is_listed"),
    [
        ("/srv/app/model.py", "Remove the call.", True),
        ("/opt/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", "Remove the call.", False),
        ("/opt/venv/lib/python3.11/site-packages/models/t5.py", "Set `torch._dynamo.config.capture_scalar_outputs = True`.", True),
    ],
)
def test_a_graph_break_in_a_library_is_a_step_only_where_a_setting_avoids_it(file: str, hint: str, is_listed: bool) -> None:
    text = f"Graph break in user code at {file}:79\nGraph Break Reason: Call to graph_break()\n  Explanation: It is.\n  Hint: {hint}\n"
    rest = make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79", file=file)
    whole = make.compile("0/0", make.tensor(10, 8), file=file)
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), whole, rest)
    assert bool([step for step in steps_of(make.report(made)) if step.kind is StepKind.GRAPH_BREAK]) is is_listed


def test_a_graph_break_of_pytorch_itself_is_no_step() -> None:
    """Where an optimizer's step is compiled as a part of the user's function."""
    own = "/opt/venv/lib/python3.11/site-packages/torch/optim/optimizer.py"
    call = "`torch._dynamo.graph_break()`"
    text = f"Graph break in user code at {own}:79\nGraph Break Reason: Call to {call}\n  Explanation: User-inserted.\n"
    text += f'  Hint: Remove the {call} call.\nUser code traceback:\n  File "{make.MODEL}", line 7, in f\n    opt.step()\n'
    text += f'  File "{own}", line 79, in wrapper\n    torch._dynamo.graph_break()\n'
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    report = make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_7"))
    (alert,) = [alert for alert in alerts(report).alerts if alert.rule.code == "SL501"]
    assert alert.messages[0].hints == ("Accept it: PyTorch breaks the graph here itself, so that this part has a graph of its own.",)
    assert steps_of(report) == ()


def test_a_wrapper_of_pytorch_that_is_not_traced_is_no_step() -> None:
    """The step of an optimizer that has a scheduler."""
    text = "Attempted to call function marked as skipped\n  Explanation: It should not be traced.\n  Hint: Avoid calling it.\n\n"
    text += "  Developer debug context: module: torch.optim.adam, qualname: Adam.step, skip reason: file is force-skipped"
    text += (
        f' (/lib/site-packages/torch/optim/lr_scheduler.py)\n\nUser code traceback:\n  File "{make.MODEL}", line 7, in f\n    opt.step()\n'
    )
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    assert steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_7"))) == ()


@pytest.mark.parametrize(("is_at_limit", "least", "level"), [(False, 1, "medium"), (True, 0, "low")])
def test_a_call_that_was_refused_may_take_the_place_of_one_that_a_change_of_code_removes(is_at_limit: bool, least: int, level: str) -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)), make.compile("0/1", make.tensor(10, 8, dtype="torch.float64")))
    made += make.refused("0/2", "0/1: tensor 'L['x']' rank mismatch. expected 2, actual 3") if is_at_limit else b""
    (step,) = [step for step in steps_of(make.report(made)) if step.title.startswith("f: warm up with the dtype")]
    assert (step.saving.least, step.saving.most, step.confidence.level) == (least, 1, level)


@pytest.mark.parametrize("own", ["", f'  File "{make.MODEL}", line 7, in f\n    y = layer(x)\n'], ids=["without its own line", "whole"])
def test_what_lies_between_the_code_that_broke_and_the_break_is_part_of_its_graph_without_it(own: str) -> None:
    """The stack of a break further inside lacks the line of the code that was compiled."""
    lines = f'  File "/srv/app/main.py", line 20, in main\n    f(x)\n{own}  File "{make.MODEL}", line 31, in layer\n    y.item()\n'
    text = f"Graph break in user code at {make.MODEL}:31\nGraph Break Reason: no numbers\nUser code traceback:\n{lines}"
    made = make.trace(make.compile("3/0", make.tensor(10, 8), name="main", file="/srv/app/main.py", line=15))
    made += make.artifact("dynamo_graph_break_reason", text, id="0/0") + make.compile("0/0", make.tensor(10, 8))
    made += make.compile("1/0", make.tensor(10, 8), name="layer", line=30)
    (step,) = steps_of(make.report(made + make.compile("2/0", make.tensor(10, 8), name="torch_dynamo_resume_in_layer_at_31", line=30)))
    assert (step.kind, step.saving.most) == (StepKind.GRAPH_BREAK, 2)


@pytest.mark.parametrize(
    ("file", "where", "level"),
    [
        ("/opt/venv/lib/python3.11/site-packages/models/vits.py", ", called in library code (vits.py:20)", "low"),
        ("/opt/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", "", "medium"),
        ("main.py", "", "medium"),
    ],
    ids=["library", "Dynamo", "user"],
)
def test_a_layout_to_copy_may_be_that_of_a_tensor_which_a_library_passes_on(
    file: str, where: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_changes, "caller", lambda compile: StackFrame(file, 20, "forward", "y = self.layer(x.flip(1))", ""))
    made = make.trace(*(make.compile(f"0/{n}", make.tensor(10, 8, stride=stride)) for n, stride in enumerate(((8, 1), (1, 10)))))
    (step,) = steps_of(make.report(made))
    assert step.title.startswith(f"f (x.stride){where}: call .contiguous()")
    assert step.confidence.level == level


def test_a_view_to_copy_may_be_one_which_a_library_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of a linear layer, which a model of a library passes to a block that is compiled by itself."""
    file = "/opt/venv/lib/python3.11/site-packages/models/dit.py"
    monkeypatch.setattr(code_changes, "caller", lambda compile: StackFrame(file, 20, "forward", "x = block(x)", ""))
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=("2 <= L['x']._base.size()[0]  # return f(x)",))
    reason = "0/0: 'NoneType' object has no attribute 'size'"
    calls = make.compile("0/0", make.tensor(10, 8, is_view=True), guards=guards), make.compile("0/1", make.tensor(10, 8), reasons=(reason,))
    (step,) = steps_of(make.report(make.trace(*calls)))
    assert step.title == "f, called in library code (dit.py:20): pass a copy of x, made with clone(), in the calls in which it is a view"
    assert step.confidence.level == "low"


@pytest.mark.parametrize(
    ("file", "source", "where", "level"),
    [
        ("/opt/venv/lib/python3.11/site-packages/models/tcn.py", "L['self']._buffers['past']", ", a buffer of a library (tcn.py)", "low"),
        ("/opt/venv/lib/python3.11/site-packages/models/tcn.py", "L['past']", "", "medium"),
        ("/srv/app/model.py", "L['self']._buffers['past']", "", "medium"),
    ],
    ids=["library", "argument", "user"],
)
def test_a_layout_to_copy_may_be_that_of_a_buffer_which_a_library_sets(file: str, source: str, where: str, level: str) -> None:
    calls = (make.tensor(10, 8, source=source, stride=stride) for stride in ((8, 1), (1, 10)))
    (step,) = steps_of(make.report(make.trace(*(make.compile(f"0/{n}", call, file=file) for n, call in enumerate(calls)))))
    assert f"past.stride){where}: call .contiguous()" in step.title
    assert step.confidence.level == level


def test_the_same_change_in_two_places_is_one_step() -> None:
    first, second, mark = steps_of(report_of("causes/slices_of_a_buffer.log.gz"))
    assert first.title == "g and f (x.size[1]): clone() the slice or view before the call, and mark dim 1 of x"
    assert (first.labels, first.saving.least, first.saving.most, len(first.places)) == (("1/1", "0/1"), 2, 2, 2)
    assert second.title == "h (x.size[2]): clone() the slice or view before the call, and mark dims 2 and 3 of x"
    assert (mark.kind, mark.saving.most) == (StepKind.MARK, 1)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recompile_that_a_code_change_avoids_is_in_a_step(name: str) -> None:
    report = report_of(name)
    steps = [step for step in steps_of(report) if step.kind in (StepKind.CODE, StepKind.SETUP)]
    listed = {label for step in steps for label in step.labels}
    assert listed >= {item.compile.label for item in report.recompiles if item.verdict is Verdict.CODE}
    others = {item.compile.label for item in report.recompiles if item.verdict not in (Verdict.CODE, Verdict.SKIPPED)} & listed
    assert not (others and report.trace.version.reads_sources)


def test_an_int_that_varies_is_a_change_of_the_code_where_torch_has_no_list_of_sources() -> None:
    ints = make.int_values(4, 5, 6)
    old, new = (steps_of(make.report(make.trace(ints, version=version))) for version in ("2.6.0", "2.13.0"))
    ((step,), (mark,)) = old, new
    assert (step.kind, step.rules[0].code, step.saving.least, step.labels) == (StepKind.CODE, "SL102", 2, ("0/1", "0/2"))
    assert "pass a tensor instead of the int, or use torch 2.7" in step.title
    assert (mark.kind, mark.saving.most) == (StepKind.MARK, 2)


def test_a_change_that_two_functions_need_is_sure_only_where_nothing_else_changed() -> None:
    def two(frame: int, *second: str) -> bytes:
        dtype, grad = second
        inputs = make.tensor(10, 8), make.tensor(10, 8, dtype=dtype, requires_grad=bool(grad))
        return b"".join(make.compile(f"{frame}/{number}", item, name=f"f{frame}") for number, item in enumerate(inputs))

    (step, *_) = steps_of(make.report(make.trace(two(0, "torch.float64", ""), two(1, "torch.float64", "yes"))))
    assert (step.rules[0].code, step.title.partition(":")[0]) == ("SL301", "f0 and f1")
    assert (step.saving.least, step.saving.most, step.confidence.level) == (1, 2, "low")


def test_a_change_of_code_also_removes_what_it_repeats_for_other_sizes() -> None:
    """Each size was compiled for each of two floats: with the float in a tensor, one graph for each size is left."""
    made = make.trace()
    for number, (rows, rate) in enumerate(((8, 0.1), (8, 0.2), (9, 0.2), (9, 0.1), (8, 0.3))):
        guards = guard_tree(tensor_match(size=(rows, 8)), equals_match("L['rate']", rate, "float"))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), guards=guards)
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.CODE]
    assert (step.saving.least, step.saving.most) == (3, 3)


def test_code_that_was_cut_off_while_it_compiled_is_nothing_to_fix() -> None:
    started = make.record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 0}]}, id="0/1")
    report = make.report(make.trace(make.compile("0/0", make.tensor(10, 8))) + started)
    (alert,) = alerts(report).alerts
    assert "was still being compiled when the trace ended" in alert.sentence
    assert alert.remedy.text.startswith("let the process finish")
    assert steps_of(report) == ()


def test_a_limit_that_marks_lift_is_no_step_of_its_own() -> None:
    lifted = steps_of(report_of("real/demo.log.gz"))
    assert [step.saving.refused for step in lifted if step.kind is StepKind.MARK] == [1]
    assert [step for step in lifted if step.kind is StepKind.LIMIT] == []


def test_a_limit_that_other_calls_may_reach_although_marks_are_set_is_a_step() -> None:
    """The entries that go make room for calls that left no records: the limit was hit as before in half of such runs."""
    steps = {step.kind: step for step in steps_of(report_of("real/2.6/t_threads.log.gz"))}
    assert "calls beyond the recompile limit may no longer run eagerly" in saving_words(steps[StepKind.MARK].saving)
    assert steps[StepKind.LIMIT].title == "If f still reaches the recompile limit, raise it"
    assert steps[StepKind.LIMIT].text == ("torch._dynamo.config.cache_size_limit = 16",)


def test_several_lambdas_still_reach_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "_is_answered", lambda run, code: True)
    made = make.trace()
    for frame, line in enumerate((5, 9)):
        trees = [guard_tree(tensor_match(dtype=name)) for name in ("float32", "float64")]
        for number, tree in enumerate(trees):
            made += make.compile(f"{frame}/{number}", make.tensor(10, 8), guards=tree, name="<lambda>", line=line)
        made += make.refused(
            f"{frame}/2", *(f"{frame}/{number}: tensor 'x' dtype mismatch. expected Float, actual Int" for number in (1, 0))
        )
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.LIMIT]
    assert step.title == "If 2 lambdas still reach the recompile limit, raise it"


def test_classes_that_share_a_method_still_reach_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "_is_answered", lambda run, code: True)
    made = make.trace()
    for number, owner in enumerate(("app.Encoder", "app.Decoder")):
        of_class = guard_manager("L['self']", f"TYPE_MATCH: ___check_type_id(L['self'], {number}), type=<class '{owner}'>", type=owner)
        made += make.compile(f"0/{number}", make.tensor(10, 8), guards=guard_tree(of_class, tensor_match()), name="forward")
    made += make.refused("0/2", "0/1: tensor 'x' dtype mismatch. expected Float, actual Int")
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.LIMIT]
    assert step.title == "If Encoder.forward and Decoder.forward still reach the recompile limit, raise it"


def test_a_limit_that_one_cause_fills_has_its_remedy_once() -> None:
    """What removes that cause also keeps the code below the limit; the other step is for where it cannot be removed."""
    change, limit = steps_of(report_of("lab/fresh_classes.log.gz"))
    assert (change.kind, change.title) == (StepKind.CODE, "f (type(cfg)): define the class at module level")
    assert "calls beyond the recompile limit may no longer run eagerly" in saving_words(change.saving)
    assert (limit.kind, limit.title) == (StepKind.LIMIT, "If f still reaches the recompile limit, raise it")
    assert limit.text == ("torch._dynamo.config.recompile_limit = 16",)


def test_before_torch_2_7_an_int_is_to_blame_for_what_a_size_came_with() -> None:
    """A function marks the size, but only the list of sources the int, and 2.6 has none: one step has both."""
    report = report_of("real/2.6/w_kill.log.gz")
    change = [step for step in steps_of(report) if step.kind is StepKind.CODE]
    assert [step.title.partition(": ")[0] for step in change] == ["<lambda> (i)"]
    assert change[0].title.endswith("; also mark dim 0 of x")
    assert change[0].text == ()


def test_sizes_that_a_remedy_names_are_not_to_be_marked_twice() -> None:
    change = next(step for step in steps_of(report_of("lab/kept_kv_cache.log.gz")) if step.kind is StepKind.CODE)
    assert change.title.endswith(": clone() the slice or view before the call, and mark dim 1 of self.past[0] and dim 1 of self.past[1]")


@pytest.mark.parametrize(("source", "lines"), [("L['scale']", [6, 20]), ("L['self'].scale", [6])])
def test_a_float_that_is_passed_is_changed_where_the_call_is(source: str, lines: list[int]) -> None:
    """One that an object keeps is changed where it is set, which no record shows."""
    name = source.removeprefix("L['").replace("']", "")
    made = make.trace()
    for number, value in enumerate((1.0, 0.8)):
        leaf = equals_match(source, value, "float", comment=code_comment(6, f"return x * {name}"))
        made += make.compile(f"0/{number}", make.tensor(10, 8), guards=guard_tree(tensor_match(), leaf))
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.CODE]
    assert [place.line.line for place in step.places] == lines


@pytest.mark.parametrize("set_already", ["", "L['mask']:0,"])
def test_strides_that_a_mark_removes_are_not_to_blame_where_code_has_to_change(set_already: str) -> None:
    """Slices of another width, scaled by a float: with the float in a tensor and the sizes marked, nothing is left to copy."""
    more = {"dynamo_config": "{}", "compiler_config": json.dumps({"dynamic_sources": set_already.rstrip(",")})}
    made = make.trace()
    for number, (width, scale) in enumerate(((25, 1.0), (24, 0.8))):
        scaled = equals_match("L['scale']", scale, "float")
        guards = guard_tree(tensor_match(size=(8, width), stride=(width + 1, 1)), scaled)
        made += make.compile(f"0/{number}", make.tensor(8, width, stride=(width + 1, 1)), guards=guards, **more)
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.CODE]
    assert step.title.startswith("f (scale): pass the float as a tensor")
    assert step.title.endswith("; also mark dim 1 of x")
    assert step.text == (f"""export TORCH_COMPILE_DYNAMIC_SOURCES="{set_already}L['x']:1\"""",)  # the list alone has nothing that helps


@pytest.mark.parametrize(("is_inside", "saved"), [(True, 2), (False, 0)])
def test_what_runs_by_itself_since_a_break_made_its_caller_fail_goes_with_the_break(is_inside: bool, saved: int) -> None:
    """A branch in a loop: the function around it fails, and each function that it calls in the loop is compiled by itself."""
    line = f'  File "{make.MODEL}", line 79, in decoder\n    if torch.rand(()) < 0.0:\n'
    what = "Graph Break Reason: a branch\n  Explanation: It is.\n  Hint: Move it.\n"
    text = f"Graph break in user code at {make.MODEL}:79\n{what}User code traceback:\n{line}"
    failed = {**make.FAILED, "fail_reason": f"{what}\nfrom user code:\n{line}"}
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8), name="model"))
    made += make.compile("1/0", make.tensor(10, 8), name="decoder", **failed)
    caller = b'{"line": 20, "name": "main", "filename": 1, "loc": "f(x)"}'
    for number, rows in enumerate((10, 12)):
        inner = make.compile(f"2/{number}", make.tensor(rows, 8), name="attention")
        assert caller in inner
        made += inner.replace(caller, caller + b', {"line": 1166, "name": "compile_wrapper", "filename": 1}') if is_inside else inner
    assert sum(step.saving.most for step in steps_of(make.report(made)) if step.kind is StepKind.GRAPH_BREAK) == saved


def broken_below(step: str) -> bytes:
    """``update`` calls ``step``, that ``single``, whose line 79 breaks the graph; each is compiled by itself, ``step`` twice."""
    stack = [(6, "update"), (40, step), (79, "single")]

    def lines(calls: list[tuple[int, str]]) -> str:
        return "".join(f'  File "{make.MODEL}", line {number}, in {name}\n    x.item()\n' for number, name in calls)

    what = "Graph Break Reason: Unsupported item()\n  Hint: Move the line.\n"
    text = f"Graph break in user code at {make.MODEL}:79\n{what}User code traceback:\n{lines(stack)}"
    made = make.trace()
    for label, name in (("0/0", "update"), ("1/0", "step"), ("1/1", "step")):
        made += make.artifact("dynamo_graph_break_reason", text, id=label)
        made += make.compile(label, make.tensor(10, 8 + int(label[-1])), name=name)
    failed = {**make.FAILED, "fail_reason": f"{what}\nfrom user code:\n{lines(stack[2:])}"}
    return made + make.compile("2/0", make.tensor(10, 8), name="single", **failed)


def test_what_a_failure_hints_at_besides_is_no_way_to_remove_the_break() -> None:
    made = broken_below("step").replace(b"  Hint: Move the line.", b"").replace(b"\\n  Hint: Move the line.", b"")
    assert made != broken_below("step")
    hint = "\\n  Hint: Move the offending context manager(s) to outside the compiled region."
    made = made.replace(b"\\n\\nfrom user code", hint.encode() + b"\\n\\nfrom user code")
    report = make.report(made)
    (step,) = [step for step in steps_of(report) if step.kind is StepKind.GRAPH_BREAK]
    (failure,) = [alert for alert in alerts(report).alerts if alert.rule.code == "SL403"]
    assert (step.hints, step.confidence.level) == ((), "low")
    assert failure.messages[0].hints == ("Move the offending context manager(s) to outside the compiled region.",)


def test_code_that_fails_at_the_line_of_a_break_has_one_step_with_it() -> None:
    (step,) = [step for step in steps_of(make.report(broken_below("step"))) if step.kind in (StepKind.GRAPH_BREAK, StepKind.FAILURE)]
    assert step.title == "Remove the graph break in update, which keeps single from compiling: Unsupported item()"
    assert (step.saving.most, step.saving.failed) == (2, 1)
    assert saving_words(step.saving) == "saves up to 2 compilations (up to 2.00 s); calls no longer run eagerly or raise an error"


def test_code_that_fails_for_another_reason_at_the_line_of_a_break_has_a_step_of_its_own() -> None:
    made = broken_below("step")
    head, _, failed = made.rpartition(b"Unsupported item()")
    steps = steps_of(make.report(head + b"Fake tensor propagation exception" + failed))
    assert [step.title for step in steps if step.kind in (StepKind.GRAPH_BREAK, StepKind.FAILURE)] == [
        "Remove the graph break in update: Unsupported item()",
        "Fix the compile error in single: Fake tensor propagation exception",
    ]


def test_only_the_functions_on_the_way_to_a_break_go_with_it() -> None:
    (step,) = [step for step in steps_of(make.report(broken_below("other"))) if step.kind is StepKind.GRAPH_BREAK]
    assert (step.saving.most, step.saving.failed) == (0, 1)


def numbers_of_a_tensor() -> bytes:
    """A line asks a tensor for a number, which is another one in each call, and the rest of the function is compiled for each."""
    text = f"Graph break in user code at {make.MODEL}:79\nGraph Break Reason: Unsupported item()\n  Hint: Move the line.\n"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    resumed = {"name": "torch_dynamo_resume_in_f_at_79"}
    for number in range(8):
        guards = guard_tree(tensor_match(), equals_match("L['___stack1']", number / 10, "float"))
        made += make.compile(f"1/{number}", make.tensor(10, 8), guards=guards, **resumed)
    return made + make.refused("1/8", "1/7: ___stack1 == 0.7")


def test_a_number_that_a_graph_break_makes_an_input_goes_with_the_break() -> None:
    """A higher limit would take as many graphs as there are calls."""
    report = make.report(numbers_of_a_tensor())
    assert {item.verdict for item in report.explained.recompiles} == {Verdict.CODE, Verdict.LIMIT}
    assert report.explained.recompiles[0].causes[0].sentence == "the float ___stack1 (from line 79) changed from 0.0 to 0.1"
    (limit,) = [item for item in report.findings if item.rule.code == "SL401"]
    assert limit.remedy == "remove the graph break that makes this value an input, or keep it in a tensor"
    (step,) = steps_of(report)
    assert (step.kind, step.saving.most, step.saving.refused) == (StepKind.GRAPH_BREAK, 8, 1)


def test_a_setting_that_unrolls_loops_is_less_sure_and_explained() -> None:
    hint = "Set `torch._dynamo.config.allow_rnn = True` to trace it."
    text = (
        f"Graph break in user code at {make.MODEL}:79\nGraph Break Reason: Attempted to wrap RNN\n  Explanation: It is.\n  Hint: {hint}\n"
    )
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
    (setting,) = step.text
    assert setting.startswith("torch._dynamo.config.allow_rnn = True  # it unrolls the loop over time steps")
    assert (step.confidence.level, step.saving.seconds.least) == ("low", 0.0)


def test_a_size_that_depends_on_data_may_break_the_graph_again() -> None:
    hint = "Consider setting `torch._dynamo.config.capture_dynamic_output_shape_ops = True`."
    reason = f"Graph Break Reason: Dynamic shape operator\n  Explanation: Its size depends on data.\n  Hint: {hint}\n"
    text = f"Graph break in user code at {make.MODEL}:79\n{reason}"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
    assert (step.text, step.confidence.level) == (("torch._dynamo.config.capture_dynamic_output_shape_ops = True",), "low")


def test_an_operator_that_reads_the_number_in_a_tensor_may_raise_an_error_when_numbers_are_captured() -> None:
    hint = "Consider setting `torch._dynamo.config.capture_scalar_outputs = True`."
    reason = f"Graph Break Reason: Data dependent operator\n  Explanation: Its value depends on data.\n  Hint: {hint}\n"
    line = f'User code traceback:\n  File "{make.MODEL}", line 79, in f\n    y = F.pad(x, (0, extra))\n'
    text = f"Graph break in user code at {make.MODEL}:79\n{reason}{line}"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
    (setting,) = step.text
    assert setting == f"torch._dynamo.config.capture_scalar_outputs = True  # {step.confidence.reason}"
    assert (step.confidence.level, ".item()" in step.confidence.reason) == ("low", True)


@pytest.mark.parametrize(
    ("title", "code", "level"),
    [
        ("Data dependent operator", "dims = torch.arange(2, n).tolist()", "low"),
        ("Unsupported Tensor.item() call", "is_causal = bool((mask == causal).all())", "low"),
        ("Data dependent operator", "scale = x.max().item()", "medium"),
    ],
)
def test_numbers_in_a_list_or_a_truth_value_may_break_the_graph_again(title: str, code: str, level: str) -> None:
    hint = "Consider setting `torch._dynamo.config.capture_scalar_outputs = True`."
    reason = f"Graph Break Reason: {title}\n  Explanation: Its value depends on data.\n  Hint: {hint}\n"
    line = f'User code traceback:\n  File "{make.MODEL}", line 79, in f\n    {code}\n'
    text = f"Graph break in user code at {make.MODEL}:79\n{reason}{line}"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
    assert (step.text, step.confidence.level) == (("torch._dynamo.config.capture_scalar_outputs = True",), level)


@pytest.mark.parametrize(
    ("file", "title"),
    [
        (
            "/opt/venv/lib/python3.11/site-packages/models/t5.py",
            "no in library code (t5.py:7) keeps f from compiling: change the code that leads there",
        ),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Fix the compile error in f: no"),
        (make.MODEL, "Fix the compile error in f: no"),
    ],
    ids=["of a package", "of torch", "of the user"],
)
def test_a_failure_in_a_library_is_no_line_to_fix(file: str, title: str) -> None:
    reason = (
        f'no\n\nfrom user code:\n   File "{make.MODEL}", line 20, in main\n    model(x)\n  File "{file}", line 7, in forward\n    if x:\n'
    )
    (step,) = steps_of(make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason}))))
    assert step.title.startswith(title)
    hinted = reason.replace("\n", "\n  Hint: Set `torch._dynamo.config.trace_numpy = True`\n", 1)
    (step,) = steps_of(make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": hinted}))))
    assert (step.title, step.text) == ("Fix the compile error in f: no", ("torch._dynamo.config.trace_numpy = True",))


def test_an_export_that_the_code_of_a_library_stops_is_not_left_uncompiled() -> None:
    cause = "Caused by: (transformers/models/sam.py:7 in forward)\n\nThe error above occurred when calling torch.export.export."
    reason = f"Could not guard on data-dependent expression Ne(u0, 7)\n\n{cause}"
    (step,) = steps_of(make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason}))))
    assert step.title.endswith(" in library code (sam.py:7) stops torch.export: change the code that leads there")


@pytest.mark.parametrize("file", ["_ops.py", "_meta_registrations.py", "nn/modules/linear.py", "/opt/site-packages/torch/_ops.py"])
def test_a_line_of_torch_by_its_shortened_path_is_none_to_fix(file: str) -> None:
    reason = f"Could not guard on data-dependent expression Ne(u0, 7)\n\nCaused by: ({file}:7 in forward)\n"
    (step,) = steps_of(make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason}))))
    assert step.title.startswith("Fix the compile error in f: Could not guard")


def test_what_a_library_passes_to_torch_is_no_line_to_fix_either() -> None:
    """A package's code registers a hook, which sets an attribute of a class."""
    site = "/opt/venv/lib/python3.11/site-packages"
    stack = [(make.MODEL, "main"), (f"{site}/models/hooks.py", "install"), (f"{site}/torch/utils/hooks.py", "__init__")]
    lines = "".join(f'  File "{file}", line 7, in {name}\n    call()\n' for file, name in stack)
    reason = f"setattr() on unsupported type\n\nfrom user code:\n{lines}"
    (step,) = steps_of(make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason}))))
    assert step.title.startswith("setattr() on unsupported type in library code (hooks.py:7) keeps f from compiling")


@pytest.mark.parametrize(
    ("file", "where"),
    [
        ("/opt/venv/lib/python3.11/site-packages/models/t5.py", " in library code (t5.py:7)"),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", ""),
        (make.MODEL, ""),
    ],
    ids=["of a package", "of torch", "of the user"],
)
def test_a_break_step_names_the_line_of_a_library_that_broke_the_graph(file: str, where: str) -> None:
    """The user's line, which is its place, calls that code."""
    lines = f'  File "{make.MODEL}", line 79, in f\n    y = model(x)\n  File "{file}", line 7, in forward\n    if mask.all():\n'
    text = f"Graph break in user code at {file}:7\nGraph Break Reason: Data-dependent branching\nUser code traceback:\n{lines}"
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
    (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
    assert step.title == f"Remove the graph break in f: Data-dependent branching{where}"


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (
            "/opt/venv/lib/python3.11/site-packages/models/moe.py",
            "Backend compiler exception in library code, h (moe.py:5), keeps f and g from compiling: change the code that leads there, "
            "or wrap it in torch.compiler.disable",
        ),
        (make.MODEL, "Fix the compile error in h (model.py:5), which keeps f and g from compiling: Backend compiler exception"),
    ],
    ids=["of a package", "of the user"],
)
def test_of_code_that_failed_in_turn_the_innermost_has_the_error(path: str, title: str) -> None:
    """Each function runs in Python after it failed, and calls the next, which is compiled by itself."""
    made = make.trace(make.strings(path, first=7))
    for number, name in enumerate("fgh"):
        callers = [{"line": 9, "name": other, "filename": 7} for other in "fgh"[:number]]
        stack = [{"line": 20, "name": "main", "filename": 1}, *callers, {"line": 5, "name": name, "filename": 7}]
        made += make.record("dynamo_start", {"stack": stack}, id=f"{number}/0")
        failed = {**make.FAILED, "fail_reason": "Backend compiler exception\n  Explanation: It failed.\n"}
        made += make.metrics(f"{number}/0", co_name=name, co_filename=path, co_firstlineno=5, **failed)
    (step,) = steps_of(make.report(made))
    assert step.title == title


def test_code_that_failed_in_calls_of_its_own_is_named_together() -> None:
    """The second is called by code that has the name of the first, as lambdas and methods may."""
    made = make.trace(make.strings(make.MODEL, first=7))
    for number, caller in ((0, "main"), (1, "<lambda>")):
        name = ("<lambda>", "g")[number]
        stack = [{"line": 20 + number, "name": caller, "filename": 7}, {"line": 5 + number, "name": name, "filename": 7}]
        made += make.record("dynamo_start", {"stack": stack}, id=f"{number}/0")
        failed = {**make.FAILED, "fail_reason": "Backend compiler exception\n  Explanation: It failed.\n"}
        made += make.metrics(f"{number}/0", co_name=name, co_filename=make.MODEL, co_firstlineno=5 + number, **failed)
    (step,) = steps_of(make.report(made))
    assert step.title == "Fix the compile error in g and <lambda>: Backend compiler exception"


def test_code_that_failed_at_one_line_for_one_reason_has_one_step() -> None:
    library = "/opt/venv/lib/python3.11/site-packages/models/norm.py"
    lines = f'  File "{make.MODEL}", line 20, in f\n    h = g(h)\n  File "{library}", line 7, in inverse\n    if name.startswith("a"):\n'
    made = make.trace()
    for name, hint in (("f", ""), ("g", "  Hint: Move the context manager.\n")):
        reason = f"Unsupported method call\n  Hint: Avoid calling it.\n{hint}\nfrom user code:\n{lines}"
        made += make.compile("0/0" if name == "f" else "1/0", make.tensor(10, 8), name=name, **{**make.FAILED, "fail_reason": reason})
    (step,) = steps_of(make.report(made))
    assert step.title.startswith("Unsupported method call in library code (norm.py:7) keeps f and g from compiling")
    assert step.hints == ("Avoid calling it.", "Move the context manager.")


@pytest.mark.parametrize(("label", "is_captured"), [("!0/1/0", True), ("1/0", False)])
def test_the_graph_of_a_backward_pass_has_no_line_to_change(label: str, is_captured: bool) -> None:
    file = "<eval_with_key>.25"
    line = f'  File "{file}", line 7, in forward\n    getitem = inputs[0]\n'
    record = f"Graph break in user code at {file}:7\nGraph Break Reason: Odd\nUser code traceback:\n{line}"
    made = make.trace(make.artifact("dynamo_graph_break_reason", record, id=label))
    made += make.compile(label, make.tensor(10, 8), name="forward", file=file)
    fields = {**make.FAILED, "fail_reason": f"Even\n  Explanation: It is.\n\nfrom user code:\n{line}"}
    made += make.compile(label.replace("1/0", "2/0"), make.tensor(10, 8), name="torch_dynamo_resume_in_forward_at_7", file=file)
    made += make.compile(label.replace("1/0", "3/0"), make.tensor(10, 8), name="backward", file=file, **fields)
    steps = [step.title for step in steps_of(make.report(made))]
    without = "Run this backward pass without compiled autograd, or accept the graph break in its graph: Odd"
    assert (without in steps) is is_captured
    failed = "Even in the graph of a backward pass keeps backward from compiling: run it without compiled autograd"
    assert (failed in steps) is is_captured


def test_a_break_in_generated_code_has_no_line_to_change() -> None:
    code = "<@checked(models.Net.forward) at 0x7f3fe3125b20>"
    for text, where, level in (("", " in generated code (<@checked(models.Net.forward)>)", "low"), ("    y = f(x)\n", "", "medium")):
        lines = f'  File "{make.MODEL}", line 79, in f\n    y = model(x)\n  File "{code}", line 7, in forward\n{text}'
        reason = "Graph Break Reason: Attempted to call function marked as skipped\n  Explanation: A builtin.\n  Hint: Leave it out.\n"
        record = f"Graph break in user code at {code}:7\n{reason}User code traceback:\n{lines}"
        made = make.trace(make.artifact("dynamo_graph_break_reason", record, id="0/0"), make.compile("0/0", make.tensor(10, 8)))
        (step,) = steps_of(make.report(made + make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")))
        assert step.title == f"Remove the graph break in f: Attempted to call function marked as skipped{where}"
        assert step.confidence.level == level


@pytest.mark.parametrize("breaks_again", [True, False])
def test_numbers_of_the_data_may_raise_where_the_graph_breaks_again(breaks_again: bool) -> None:
    def broken(label: str, line: int, name: str, reason: str) -> bytes:
        lines = f'User code traceback:\n  File "{make.MODEL}", line {line}, in f\n    n = int(x.max())\n'
        text = f"Graph break in user code at {make.MODEL}:{line}\nGraph Break Reason: {reason}\n{lines}"
        return make.artifact("dynamo_graph_break_reason", text, id=label) + make.compile(label, make.tensor(10, 8), name=name)

    hint = "Consider setting `torch._dynamo.config.capture_scalar_outputs = True`."
    made = make.trace(broken("0/0", 79, "f", f"Unsupported Tensor.item()\n  Explanation: Its value depends on data.\n  Hint: {hint}"))
    size_hint = "Enable tracing with `torch._dynamo.config.capture_dynamic_output_shape_ops = True`"
    resumed = "torch_dynamo_resume_in_f_at_79"
    if breaks_again:
        made += broken("1/0", 85, resumed, f"Dynamic shape operator\n  Explanation: It depends.\n  Hint: {size_hint}")
    else:
        made += make.compile("1/0", make.tensor(10, 8), name=resumed)
    step = next(step for step in steps_of(make.report(made)) if "Tensor.item()" in step.title)
    assert step.confidence.level == ("low" if breaks_again else "medium")
    assert ("PyTorch may raise an error" in step.text[0]) is breaks_again


def test_in_a_loop_a_function_that_is_not_compiled_breaks_the_graph_too() -> None:
    library = "/opt/venv/lib/python3.11/site-packages/flows/norm.py"
    loop = "*** While handling this graph break, another graph break occurred: ***\n\ngraph break in loop\n"
    lines = f'  File "{make.MODEL}", line 20, in f\n    h = flow(h)\n  File "{library}", line 7, in inverse\n    if not self.done:\n'
    reason = f"Data-dependent branching\n\n{loop}\nfrom user code:\n{lines}"
    report = make.report(make.trace(make.compile("0/0", make.tensor(10, 8), **{**make.FAILED, "fail_reason": reason})))
    (step,) = steps_of(report)
    assert step.title.endswith("change the code that leads there (torch.compiler.disable helps only around the whole loop)")
    (failure,) = [item for item in report.findings if item.rule.code == "SL403"]
    assert (
        failure.own_remedy
        == "rewrite the line where Dynamo stops, or, without fullgraph=True, wrap the whole loop around it in a function with "
        "torch.compiler.disable"
    )


def test_what_does_not_help_in_one_of_several_functions_is_not_advised() -> None:
    library = "/opt/venv/lib/python3.11/site-packages/flows/norm.py"
    loop = "*** While handling this graph break, another graph break occurred: ***\n\ngraph break in loop\n"
    lines = f'  File "{make.MODEL}", line 20, in f\n    h = flow(h)\n  File "{library}", line 7, in inverse\n    if not self.done:\n'
    made = make.trace()
    for name, handled in (("f", ""), ("g", loop)):
        reason = f"Data-dependent branching\n\n{handled}\nfrom user code:\n{lines}"
        made += make.compile("0/0" if name == "f" else "1/0", make.tensor(10, 8), name=name, **{**make.FAILED, "fail_reason": reason})
    (step,) = [step for step in steps_of(make.report(made)) if step.kind is StepKind.FAILURE]
    assert step.title.startswith("Data-dependent branching in library code (norm.py:7) keeps f and g from compiling")
    assert step.title.endswith("(torch.compiler.disable helps only around the whole loop)")


def test_a_limit_that_no_mark_lifts_comes_with_the_setting_of_this_torch() -> None:
    made = make.trace(
        make.compile("0/0", make.tensor(8, 16)),
        make.refused("0/1", "0/0: tensor 'x' dtype mismatch. expected Float, actual Double"),
    )
    limits = [step for step in steps_of(make.report(made)) if step.kind is StepKind.LIMIT]
    assert [step.text for step in limits] == [("torch._dynamo.config.recompile_limit = 16",)]
    assert saving_words(limits[0].saving) == "calls beyond the recompile limit may no longer run eagerly"


def raw_hints(compile: Compile) -> Iterator[str]:
    """The hints of a compile as PyTorch wrote them, found without the parser: the first line of each."""
    texts = [item.text for item in compile.breaks]
    if compile.outcome in (Outcome.FAILED, Outcome.LIMIT):
        texts.append(compile.metrics.fail_reason)
    for text in texts:
        yield from re.findall(r"^  Hint: (.+)$", text, re.M)


@pytest.mark.slow
def test_every_hint_of_every_trace_is_in_every_format() -> None:
    seen = 0
    for name in RECORDED:
        report = report_of(name)
        hints = {words(hint) for compile in report.trace.compiles for hint in raw_hints(compile)}
        seen += len(hints)
        if not hints:
            continue
        shown = words(renderer("report", "terminal")(report, Options(width=1000, verbose=True, limit=0)).decode())
        data = json.loads(renderer("report", "json")(report, Options()))
        encoded = words(" ".join(_hints_in(data)))
        assert [hint for hint in hints if hint not in shown] == [], name
        assert [hint for hint in hints if hint not in encoded] == [], name
        overview = without_policy(collect_alerts(report, Repository()))
        for form in formats("overview"):
            text = renderer("overview", form)(overview, Options(width=1000, limit=0)).decode()
            plain = letters(html.unescape(re.sub(r"\\u[0-9a-f]{4}|\\n|%0A", " ", text)))
            assert [hint for hint in hints if letters(hint) not in plain] == [], (name, form)
    assert seen > 20


def _hints_in(data: dict[str, object]) -> Iterator[str]:
    for frame in data["frames"]:  # type: ignore[attr-defined]
        for compile in frame["compiles"]:
            for message in (*compile["graph_breaks"], *filter(None, [compile["failure"]])):
                yield from message["hints"]


@pytest.mark.parametrize("name", RECORDED)
def test_the_numbers_of_the_summary_add_up_on_the_screen(name: str) -> None:
    shown = renderer("report", "terminal")(report_of(name), Options(width=200)).decode()
    summary = "".join(shown.partition("\nSummary")[1:]).split("\n\n")[0]
    assert summary or report_of(name).trace.outside_frames
    total = re.search(r"including (\d+) recompilations? \(", summary)
    parts = [int(number) for number in re.findall(r"^ +(\d+)  [a-z]", summary, re.M)]
    assert sum(parts) == (int(total[1]) if total else 0)


def test_code_that_never_compiled_comes_before_minor_savings() -> None:
    failed = make.dynamo_start("g", id="1/0") + make.metrics(
        "1/0", co_name="g", fail_type="Unsupported", fail_reason="no", has_guarded_code=False, entire_frame_compile_time_s=0.01
    )
    other = make.compile("2/0", make.tensor(8, 16), name="h", seconds=30.0)
    for size, kinds in ((0.5, [StepKind.FAILURE, StepKind.MARK]), (50.0, [StepKind.MARK, StepKind.FAILURE])):
        sizes = make.static_sizes(10, seconds=size) + make.dynamic_size("0/1", 12, seconds=size)
        assert [step.kind for step in steps_of(make.report(make.trace(sizes, failed, other)))] == kinds


def test_each_kind_of_limit_has_a_step_with_its_own_setting() -> None:
    limits = ("recompile_limit", "accumulated_recompile_limit")
    hits = [
        make.compile(f"{frame}/0", make.tensor(4, 8), name=name)
        + make.metrics(
            f"{frame}/1",
            co_name=name,
            fail_type="RecompileLimitExceeded",
            fail_reason=f"{limit} reached",
            has_guarded_code=False,
        )
        for frame, (name, limit) in enumerate((("f", limits[0]), ("g", limits[1]), ("h", limits[1])))
    ]
    steps = [step for step in steps_of(make.report(make.trace(*hits))) if step.kind is StepKind.LIMIT]
    assert {step.text for step in steps} == {(f"torch._dynamo.config.{limits[0]} = 16",), (f"torch._dynamo.config.{limits[1]} = 512",)}
    for step in steps:
        assert step.text[0].split(" ")[0] in step.title
    assert sum(step.saving.refused for step in steps) == 3


def test_an_export_that_failed_comes_before_minor_savings() -> None:
    failed = gzip.decompress((FIXTURES / "real/2.13/export_missing_kernel.log.gz").read_bytes())
    other = make.compile("2/0", make.tensor(8, 16), name="h", seconds=30.0)
    for size, kinds in ((0.5, [StepKind.EXPORT, StepKind.MARK]), (50.0, [StepKind.MARK, StepKind.EXPORT])):
        sizes = make.static_sizes(10, seconds=size) + make.dynamic_size("0/1", 12, seconds=size)
        assert [step.kind for step in steps_of(make.report(make.trace(sizes, other) + failed))] == kinds


PLUS, RELU = (f'y: "f32[10, 8][8, 1]cpu" = {code}' for code in ("l_x_ + 1", "torch.relu(l_x_)"))


@pytest.mark.parametrize(
    ("value", "operation", "least"),
    [(("size", 3), PLUS, 1), (("t", 0.7, "float"), PLUS, 0), (("size", 3), RELU, 0)],
    ids=["same graph", "a float under the key", "other operations"],
)
def test_the_same_keys_may_not_be_enough(value: tuple[str, object], operation: str, least: int) -> None:
    name, *constant = value
    no_keys = guard_manager("L['kw']", type="dict", kind="DictGuardManager")
    trees = guard_tree(tensor_match(), no_keys), guard_tree(tensor_match(), equals_match(f"L['kw']['{name}']", *constant))
    graphs = (graph_text('L_x_: "f32[10, 8][8, 1]cpu"', "l_x_ = L_x_", code, "return (y,)") for code in (PLUS, operation))
    first, second = (
        make.compile(f"0/{number}", make.tensor(10, 8), guards=guards, graph=graph, reasons=["0/0: len(kw) != 0"] * number)
        for number, (guards, graph) in enumerate(zip(trees, graphs, strict=True))
    )
    (step,) = steps_of(make.report(make.trace(first, second)))
    assert (step.rules[0].code, step.saving.least, step.saving.most) == ("SL314", least, 1)
    assert step.confidence.level == ("medium" if least else "low")


@pytest.mark.parametrize(("code", "least"), [("return x * s", 1), ("if s > 0:", 0)])
def test_a_float_that_the_code_branches_on_may_need_a_graph_for_each_value(code: str, least: int) -> None:
    trees = (guard_tree(tensor_match(), equals_match("L['s']", value, "float", comment=code_comment(6, code))) for value in (0.5, 0.25))
    (step,) = steps_of(make.report(make.trace(*(make.compile(f"0/{n}", make.tensor(10, 8), guards=tree) for n, tree in enumerate(trees)))))
    assert (step.rules[0].code, step.saving.least, step.saving.most) == ("SL312", least, 1)


GRAD_MODE = "0/0: GLOBAL_STATE changed: grad_mode "


def test_a_step_is_placed_at_the_calling_line_where_the_code_has_none() -> None:
    first, second = (make.compile(f"0/{n}", make.tensor(10, 8), reasons=reasons) for n, reasons in enumerate(((), [GRAD_MODE])))
    (step,) = next_steps(make.alerts_of(make.trace(first, second)))
    (place,) = step.places
    assert (place.line.line, place.code) == (20, "f(x)")


@pytest.mark.parametrize(
    ("reason", "is_static", "is_step"),
    [
        ("TensorifyScalarRestartAnalysis", True, False),
        ("TensorifyScalarRestartAnalysis", False, True),
        ("RequiresGradRestartAnalysis", True, True),
    ],
)
def test_a_restart_is_a_step_where_something_avoids_it(reason: str, is_static: bool, is_step: bool) -> None:
    restarted = make.compile(
        "0/0",
        make.tensor(10, 8),
        restart_reasons=[f"<class 'torch._dynamo.exc.{reason}'>"],
        dynamo_time_before_restart_s=0.5,
        dynamo_config=json.dumps({"assume_static_by_default": is_static}),
    )
    steps = steps_of(make.report(make.trace(restarted)))
    assert any(step.kind is StepKind.RESTART for step in steps) == is_step


def test_a_step_whose_code_has_no_line_names_the_call() -> None:
    (_, step) = steps_of(report_of("real/2.15/k_pgo_warm.log.gz"))
    assert [(place.line.line, place.code) for place in step.places] == [(10, "r = fn(*a, **k)")]


def test_a_long_title_ends_with_its_first_sentence() -> None:
    titles = [step.title for step in steps_of(report_of("real/2.6/l_failures.log.gz"))]
    assert "Fix the compile error in fg2: Dynamic control flow is not supported at the moment" in titles


def test_settings_that_changed_are_named_and_set_together() -> None:
    reasons = ["0/0: GLOBAL_STATE changed: default_dtype num_threads "], ["0/1: GLOBAL_STATE changed: allow_tf32 "]
    compiles = [make.compile(f"0/{n}", make.tensor(10, 8), reasons=found) for n, found in enumerate(((), *reasons))]
    found = make.alerts_of(make.trace(*compiles, version="2.6.0"))
    (step,) = next_steps(found)
    settings = "the default dtype, the number of threads"
    assert step.title == f"f: set {settings} and TF32 once, before the first compiled call"
    assert [alert.remedy.text for alert in found.alerts] == [
        f"set {settings.replace(',', ' and')} once, before the first compiled call",
        "set TF32 once, before the first compiled call",
    ]


def test_failures_for_one_cause_are_one_step() -> None:
    names = ("f", "<lambda>", "<lambda>")
    parts = [make.compile(f"{number}/0", make.tensor(8), name=name, line=5 + number, **make.FAILED) for number, name in enumerate(names)]
    (step,) = steps_of(make.report(make.trace(*parts)))
    assert step.title.startswith("Fix the compile error in f and 2 lambdas")
    assert step.saving.failed == 3


def test_calls_that_raised_at_a_limit_are_counted_apart_from_those_that_ran_eagerly() -> None:
    """Six hits of the limit, of which two raised, and a recompilation that the program forbids; marks lift all."""
    report = report_of("real/2.6/g_limit.log.gz")
    (marks,) = (step for step in steps_of(report) if step.kind is StepKind.MARK)
    raised = [item for item in report.trace.compiles if item.raised_at_limit or item.is_forbidden]
    assert report.advice
    assert report.advice.after.limit_hits == 0
    assert (marks.saving.raised, bool(marks.saving.eager)) == (len(raised), True)


def test_calls_that_raised_on_several_ranks_are_counted_over_these() -> None:
    assert saving_words(Saving(failed=6, raised=6, ranks=2)) == "6 calls on 2 ranks no longer raise"
    assert saving_words(Saving(failed=1, raised=1, ranks=1)) == "1 call no longer raises"


def test_a_single_compilation_that_may_stay_is_one_that_a_step_may_save() -> None:
    assert saving_words(Saving(least=0, most=1)) == "may save 1 compilation"
    assert saving_words(Saving(least=0, most=2)) == "saves up to 2 compilations"


@pytest.mark.parametrize("name", ["lab/compiled_autograd_batch.log.gz", "real/demo.log.gz"])
def test_marks_that_remove_more_than_recompilations_explain_the_difference(name: str) -> None:
    report = report_of(name)
    step = next(step for step in steps_of(report) if step.kind is StepKind.MARK)
    avoidable = next(part.count for part in report.summary.parts if part.verdict is Verdict.MARKING)
    more = step.saving.most - avoidable
    assert step.explanation.startswith(f"{more} of these compilations ") is (more > 0)


def test_a_step_about_a_compile_cache_names_the_line_of_its_code() -> None:
    (step,) = [step for step in steps_of(report_of("real/2.13/cache_not_saved.log.gz")) if step.kind is StepKind.CACHE]
    assert [str(place.line) for place in step.places] == ["/srv/ml/caches.py:76"]


@pytest.mark.parametrize(
    ("file", "later", "is_named"),
    [
        ("/opt/venv/lib/python3.11/site-packages/transformers/hooks.py", "", True),
        ("/opt/venv/lib/python3.11/site-packages/transformers/hooks.py", "0/1", False),
        ("/srv/app/hooks.py", "", False),
    ],
    ids=["in the first compile alone", "in the second one as well", "in code of the user"],
)
def test_what_breaks_the_graph_of_the_first_call_alone_is_done_before(file: str, later: str, is_named: bool) -> None:
    text = f"Graph break in user code at {file}:7\nGraph Break Reason: a lock\n  Hint: Avoid it.\nUser code traceback:\n"
    text += f'  File "{make.MODEL}", line 79, in f\n    y = model(x)\n  File "{file}", line 7, in install\n    with lock:\n'
    made = make.trace()
    for number, rows in enumerate((10, 12)):
        label = f"0/{number}"
        made += make.artifact("dynamo_graph_break_reason", text, id=label) if label in ("0/0", later) else b""
        made += make.compile(label, make.tensor(rows, 8))
    made += make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_79")
    step = next(step for step in steps_of(make.report(made)) if step.kind is StepKind.GRAPH_BREAK)
    assert step.hints[0].startswith("if only the first call comes here" if is_named else "Avoid it")


def padded(*seconds: float) -> bytes:
    """Widths of which each needs a graph of its own: the first static, those after it dynamic."""
    made = [make.compile("0/0", make.tensor(10, 32), seconds=seconds[0])]
    rests = {33: "% 4) == 1", 38: "% 4) == 2", 43: "% 4) == 3"}
    for number, ((width, rest), spent) in enumerate(zip(rests.items(), seconds[1:], strict=False), 1):
        guard = f"(L['x'].size()[1] {rest}  {code_comment(7, 'x = pad(x, -w % 4)')}"
        operations = [f'p{at}: "f32[10, s71][s71, 1]cpu" = l_x_ + {at}' for at in range(number)]
        made.append(
            make.compile(
                f"0/{number}",
                make.tensor(10, width),
                dynamic=(1,),
                guards=guard_tree(tensor_match(size=(10, None), stride=(None, 1)), shapes=(guard,)),
                graph=graph_text('s71: "Sym(s71)", L_x_: "f32[10, s71][s71, 1]cpu"', *operations, f"return (p{number - 1},)"),
                seconds=spent,
            )
        )
    return make.trace(*made)


def test_graphs_that_are_slow_to_compile_with_symbolic_sizes_are_to_be_static_where_no_mark_makes_them_fewer() -> None:
    report = make.report(padded(9.0, 200.0, 150.0))
    assert {item.verdict for item in report.explained.recompiles} == {Verdict.JUSTIFIED}
    (step,) = steps_of(report)
    assert (step.kind, step.text) == (StepKind.SETUP, ("torch.compile(f, dynamic=False)",))
    took = "its 2 dynamic graphs took 2 min 30 s\u20133 min 20 s each, the static one 9.00 s"
    assert step.title == f"Compile f with dynamic=False: {took}, and no mark makes them fewer"
    assert (step.saving.seconds.least, step.saving.seconds.most) == (350 - 2 * 9 * 1.5, 350 - 2 * 9)
    assert step.confidence.level == "medium"


@pytest.mark.parametrize("seconds", [(9.0, 40.0, 40.0), (1.0, 9.0, 9.0), (9.0,), (0.0, 200.0, 200.0)])
def test_graphs_that_take_little_longer_stay_dynamic(seconds: tuple[float, ...]) -> None:
    assert steps_of(make.report(padded(*seconds))) == ()


def test_graphs_that_are_slow_on_several_ranks_are_one_step() -> None:
    ranks = [make.load(padded(9.0, 200.0, 150.0)), make.load(padded(9.0, 210.0, 160.0))]
    (step,) = [step for step in steps_of(analyze(merged(ranks))) if step.kind is StepKind.SETUP]
    assert (step.saving.seconds.least, step.saving.seconds.most) == (720 - 4 * 9 * 1.5, 720 - 4 * 9)


@pytest.mark.parametrize(("source", "line"), [("L['x']", 20), ("L['self'].x", 6)])
def test_a_tensor_that_is_passed_is_copied_at_the_call(source: str, line: int) -> None:
    """In the compiled code a copy saves nothing; one that an object keeps is copied where it is kept, which no record shows."""
    made, name = make.trace(), source.removeprefix("L['").replace("']", "")
    for number, stride in enumerate(((8, 1), (1, 10))):
        leaf = tensor_match(source, stride=stride, more=(code_comment(6, f"return {name} * 2"),))
        made += make.compile(f"0/{number}", make.tensor(10, 8, source=source, stride=stride), guards=guard_tree(leaf))
    (step,) = steps_of(make.report(made))
    assert [rule.code for rule in step.rules] == ["SL105"]
    assert [place.line.line for place in step.places] == [line]


def test_marks_that_remove_more_than_they_save_make_room_for_refused_calls() -> None:
    report = report_of("real/2.6/g_limit.log.gz")
    marked = sum(item.verdict is Verdict.MARKING for item in report.recompiles)
    assert marked > 1
    assert list(in_their_place(report, marked)) == []
    (words,) = in_their_place(report, marked - 1)
    assert words == f"removes {marked}, and calls that were refused at the limit may be compiled in their place"
