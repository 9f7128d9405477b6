"""What to do about a recompile: the same words from one place in every format, with the rule that they come from."""

import json
import re
from dataclasses import replace
from typing import Any

import make
import pytest
from make import compile as compiled
from make import explain, int_values, static_sizes, tensor, trace
from payload_text import RETURN_LINE, code_comment, equals_match, graph_text, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

from shapelog.advice.advise import advise
from shapelog.advice.remedies import Remedies
from shapelog.check.check import check
from shapelog.check.policy import Policy
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.properties import VALUE
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.explain_compile import explain_compile
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.reporters.json.explain import explanation_data
from shapelog.reporters.json.report import report_data
from shapelog.reporters.terminal import pytest as pytest_page
from shapelog.rules import RULES, Remedy, Verdict

TANH = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")
MARK = "mark dim 0 of x as dynamic"
ENTRY = "L['x']:0"
WHOLE = f"{MARK}: add {ENTRY} to TORCH_COMPILE_DYNAMIC_SOURCES"


def last(made: bytes) -> tuple[Report, Recompile]:
    report = make.report(made)
    return report, report.recompiles[-1]


def remedy(made: bytes) -> Remedy:
    report, recompile = last(made)
    return report.remedies.of_recompile(recompile)


def test_a_size_of_one_for_which_the_code_runs_other_operations_keeps_a_graph_of_its_own() -> None:
    """An unbacked size would meet the branch, and fail there."""
    made = trace(static_sizes(10), compiled("0/1", tensor(1, 8), graph=TANH))
    end = "accept the extra graph (PyTorch always specializes on 0 and 1); the code runs other operations for this size"
    assert remedy(made).text == end
    assert all(item.tool != "unbacked source" for item in advise(explain(made)).alternatives)
    another = compiled("0/1", tensor(1, 8), graph=TANH, more_guards=[equals_match("L['mode']", "'a'", "str")])
    first = compiled("0/0", tensor(10, 8), more_guards=[equals_match("L['mode']", "'b'", "str")])
    assert all(item.tool != "unbacked source" for item in advise(explain(trace(first, another))).alternatives)  # it needs a graph anyway
    assert any(item.tool == "unbacked source" for item in advise(explain(trace(static_sizes(10, 1)))).alternatives)


def test_it_is_the_mark_itself_with_the_rule_of_its_cause() -> None:
    assert remedy(make.small_trace()) == Remedy(RULES["SL101"], WHOLE)


@pytest.mark.parametrize("name", [name for name in formats("check") if name != "html"])
def test_every_format_of_a_check_shows_it(name: str) -> None:
    checked = check(make.alerts_of(make.small_trace()), Policy())
    assert MARK in renderer("check", name)(checked, Options(color=False, width=200)).decode().replace("Mark ", "mark ")


def test_report_explanation_and_pytest_show_it() -> None:
    report, recompile = last(make.small_trace())
    options = Options(color=False, width=200)
    assert f"help: {WHOLE}" in renderer("report", "terminal")(report, options).decode()
    explanation = explain_compile(report.trace, recompile.compile.label)
    assert f"→ {WHOLE}" in renderer("explanation", "terminal")(explanation, options).decode()
    assert f"→ {WHOLE}" in pytest_page.explanation(report, options)


def test_json_has_it_with_the_rule_for_the_recompile_and_for_each_cause() -> None:
    report, recompile = last(make.small_trace())

    def remedies(item: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each["remedy"], each["remedy_rule"]) for each in (item, *item["cause_details"])]

    assert remedies(report_data(report)["recompiles"][-1]) == [(WHOLE, "SL101")] * 2
    assert remedies(explanation_data(explain_compile(report.trace, recompile.compile.label))["recompile"]) == [(WHOLE, "SL101")] * 2


def test_the_page_shows_it() -> None:
    page = renderer("report", "html")(make.report(make.small_trace()), Options()).decode()
    assert '<p class="remedy">Mark dim 0 of x as dynamic: add L[&#39;x&#39;]:0 to TORCH_COMPILE_DYNAMIC_SOURCES.</p>' in page


def entries_in(remedy: Remedy) -> set[str]:
    """The entries of the list that a remedy has in full."""
    found = re.search(r"add (\S+) to TORCH_COMPILE_DYNAMIC_SOURCES", remedy.text)
    return set(found[1].split(",")) if found else set()


@pytest.mark.parametrize("name", RECORDED)
def test_an_alert_shows_what_the_explanations_of_its_recompiles_show_together(name: str) -> None:
    report = report_of(name)
    recompiles = {item.compile: item for item in report.recompiles}
    for alert in collect_alerts(report, Repository()).alerts:
        own = [item for occurrence in alert.occurrences if (item := recompiles.get(occurrence.compile))]
        causes = [[cause for cause in item.causes if cause.axis == alert.axis and cause.remedy_rule is alert.rule] for item in own]
        if len(alert.axes) == 1 and {item.verdict for item in own} == {Verdict.MARKING} and all(causes):
            found = [report.remedies.of((item,), blamed) for item, blamed in zip(own, causes, strict=True)]
            together = set().union(*map(entries_in, found))
            assert entries_in(alert.remedy) in (together, set())
            assert len(found) > 1 or alert.remedy == found[0]


def test_it_names_the_dims_that_this_function_needs_and_no_others() -> None:
    made = trace(
        static_sizes(10, 12),
        compiled("1/0", tensor(4, 5), name="g"),
        compiled("1/1", tensor(4, 7), name="g"),
    )
    report = make.report(made)
    assert [entries_in(report.remedies.of_recompile(item)) for item in report.recompiles] == [{"L['x']:0"}, {"L['x']:1"}]
    assert report.advice is not None
    assert report.advice.env == "L['x']:0,L['x']:1"


def test_what_changed_together_is_marked_together() -> None:
    first, second = (
        compiled(f"0/{number}", tensor(size, 8), tensor(other, source="L['y']")) for number, (size, other) in enumerate(((10, 4), (12, 5)))
    )
    report, recompile = last(trace(first, second))
    assert [cause.axis for cause in recompile.causes] == ["x.size[0]", "y.size[0]"]
    texts = {report.remedies.of((recompile,), (cause,)).text for cause in recompile.causes}
    assert texts == {"mark dim 0 of x and dim 0 of y as dynamic: add L['x']:0,L['y']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"}


def test_what_the_entry_that_would_serve_has_symbolic_does_not_have_its_size_from_a_mark() -> None:
    """The nearest entry of the last call is the third, which has another k; with a mark on m, the second serves it, where k is symbolic."""
    calls = []
    for number, (k, m) in enumerate(((1, 7), (2, 7), (1, 9), (2, 9))):
        symbols = [("s0", k, "L['k'].size()[0]")] if k > 1 else ()
        guards = guard_tree(tensor_match("L['k']", size=(None if k > 1 else 1, 8)), equals_match("L['m']", m))
        calls.append(compiled(f"0/{number}", tensor(k, 8, source="L['k']"), guards=guards, symbols=symbols))
    report, recompile = last(trace(*calls))
    assert [cause.axis for cause in recompile.causes] == ["k.size[0]"]
    assert report.remedies.of_recompile(recompile).text == "mark the int m as dynamic: add L['m'] to TORCH_COMPILE_DYNAMIC_SOURCES"


def test_a_call_is_compared_with_the_entry_that_marks_let_it_reuse() -> None:
    """The third call differs from the first entry in a size of 1 alone, which no mark removes, and from the second in two that marks do."""
    calls = []
    for number, (k, m, n) in enumerate(((1, 7, 5), (2, 6, 4), (2, 7, 5))):
        tensors = [("L['k']", k), ("L['m']", m), ("L['n']", n)]
        guards = guard_tree(*(tensor_match(source, size=(size, 8)) for source, size in tensors))
        calls.append(compiled(f"0/{number}", *(tensor(size, 8, source=source) for source, size in tensors), guards=guards))
    _, recompile = last(trace(*calls))
    assert recompile.nearest is recompile.served_by is not None
    assert (recompile.nearest.label, [cause.axis for cause in recompile.causes]) == ("0/1", ["m.size[0]", "n.size[0]"])


def test_at_the_recompile_limit_it_is_the_marks_that_keep_the_function_below_it() -> None:
    made = trace(static_sizes(10, 12), make.refused("0/2", "0/0: tensor 'L['x']' size mismatch at index 0. expected 10, actual 14"))
    (limit,) = [item for item in make.report(made).findings if item.rule.code == "SL401"]
    assert limit.remedy == WHOLE


def test_dims_of_which_the_list_has_no_mark_are_named_once() -> None:
    calls = [
        compiled(f"0/{number}", tensor(size, 8), tensor(other, source="L['y']")) for number, (size, other) in enumerate(((10, 4), (12, 5)))
    ]
    (recompile,) = make.report(trace(*calls)).recompiles
    twice = [*recompile.causes, *recompile.causes]
    found = Remedies(TorchVersion(2, 13)).of((recompile,), twice)
    assert found == Remedy(RULES["SL101"], "mark dim 0 of x and dim 0 of y as dynamic so that one graph handles every size")


def test_a_recompile_that_the_mark_does_not_remove_has_the_remedy_of_its_other_cause() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8, dtype="torch.float64")), compiled("0/2", tensor(14, 8)))
    alerts = collect_alerts(make.report(made), Repository()).alerts
    sizes = next(alert for alert in alerts if alert.rule.code == "SL101")
    assert sizes.helps == (
        f"0/2: {WHOLE}",
        f"0/1: the dtype of x changed as well: {RULES['SL301'].remedy}; and mark dim 0 of x as dynamic (SL301)",
    )


def test_a_mark_on_a_size_is_no_remedy_for_another_layout() -> None:
    alerts = collect_alerts(report_of("real/2.4/e_tensor_props.log.gz"), Repository()).alerts
    layout = next(alert for alert in alerts if alert.rule.code == "SL105")
    assert layout.remedy.text == RULES["SL105"].remedy


def test_what_changed_without_a_mark_that_helps_has_the_remedy_of_its_rule() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8, dtype="torch.float64")))
    assert remedy(made) == Remedy(RULES["SL301"], RULES["SL301"].remedy)


def test_where_marking_is_not_enough_it_is_that_of_what_stands_in_the_way() -> None:
    report, recompile = last(trace(compiled("0/0", tensor(3, 8)), compiled("0/1", tensor(10, 8), graph=TANH)))
    assert report.remedies.of_recompile(recompile) == Remedy(RULES["SL204"], RULES["SL204"].remedy)
    (alert,) = collect_alerts(report, Repository()).alerts
    assert (alert.rule.code, alert.helps) == ("SL101", (f"{RULES['SL204'].remedy} (SL204)",))


def test_another_memory_layout_is_not_removed_by_marks_on_the_sizes() -> None:
    turned = compiled("0/2", tensor(10, 8, stride=[1, 10]))
    report, recompile = last(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8)), turned))
    assert (recompile.codes, report.remedies.of_recompile(recompile)) == (("SL105",), Remedy(RULES["SL105"], RULES["SL105"].remedy))


def test_of_several_causes_the_one_that_no_mark_removes_comes_first() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8, dtype="torch.float64")))
    report, recompile = last(made)
    assert {cause.rule.code for cause in recompile.causes} == {"SL101", "SL301"}
    assert report.remedies.of_recompile(recompile).rule.code == "SL301"


def test_where_a_change_of_code_is_the_verdict_its_cause_comes_first() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8, dtype="torch.float64")))
    report, recompile = last(made)
    assert ([cause.rule.code for cause in recompile.causes], recompile.verdict) == (["SL301", "SL101"], Verdict.CODE)
    assert report.remedies.of_recompile(recompile).rule.code == "SL301"


def test_of_several_ints_that_are_pinned_the_remedy_is_of_one_that_is_not_0_or_1() -> None:
    """``torch.zeros(k, n)``: another k needs a graph whatever is done about the n of 1."""
    ints, compiles = ({"n": 5, "k": 8}, {"n": 1, "k": 9}), []
    line = {"line": 6, "name": "f", "filename": make.MODEL, "loc": "return torch.zeros(n, k) + x"}
    for number, values in enumerate(ints):
        guards = guard_tree(tensor_match(), *(equals_match(f"L['{name}']", value) for name, value in values.items()))
        pins = [
            {"symbol": f"s_{name}", "sources": [f"L['{name}']"], "value": str(value), "user_stack": [line]}
            for name, value in values.items()
        ]
        symbols = [(f"s_{name}", value, f"L['{name}']") for name, value in values.items()]
        more = {"symbols": symbols, "specializations": pins} if number else {}
        compiles.append(compiled(f"0/{number}", tensor(10, 8), guards=guards, **more))
    report, recompile = last(trace(*compiles))
    assert [cause.source for cause in recompile.causes] == ["L['n']", "L['k']"]
    assert report.remedies.of_recompile(recompile).text == "rewrite the line that needs the exact value, or accept one graph per value"


def test_no_change_of_code_avoids_a_recompile_that_needs_a_graph_of_its_own_for_another_cause() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8, 2, dtype="torch.float64")))
    _, recompile = last(made)
    assert ([cause.rule.code for cause in recompile.causes], recompile.verdict) == (["SL107", "SL301"], Verdict.JUSTIFIED)


def test_where_the_verdict_is_that_a_graph_is_needed_the_remedy_is_of_what_needs_it() -> None:
    """With one dtype, the size of 1 needs its own graph all the same."""
    made = trace(compiled("0/0", tensor(1, 8)), compiled("0/1", tensor(12, 8, dtype="torch.float64")))
    report, recompile = last(made)
    assert ([cause.rule.code for cause in recompile.causes], recompile.verdict) == (["SL301", "SL101"], Verdict.JUSTIFIED)
    assert report.remedies.of_recompile(recompile).rule.code == "SL104"


def test_an_int_that_makes_a_size_of_1_cannot_be_unbacked() -> None:
    """``x[:k]`` for a k of 1, and then of 4."""
    graphs = [
        graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'cut: "f32[{k}, 8][8, 1]cpu" = l_x_[slice(None, {k}, None)]', "return (cut,)")
        for k in (1, 4)
    ]
    made = trace(
        *(
            compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['k']", k)), graph=graph)
            for number, (k, graph) in enumerate(zip((1, 4), graphs, strict=True))
        )
    )
    report, recompile = last(made)
    remedy = report.remedies.of_recompile(recompile)
    assert (recompile.verdict, remedy.rule.code) == (Verdict.JUSTIFIED, "SL104")
    assert remedy.text.endswith("otherwise accept the extra graph (PyTorch always specializes on sizes 0 and 1)")


def test_a_slice_of_one_row_is_copied_with_its_format() -> None:
    """``clone()`` keeps the stride of a dim of size 1, which does not follow from the sizes."""
    report = report_of("causes/slices_of_a_buffer.log.gz")
    (recompile,) = [item for item in report.recompiles if item.compile.label == "0/1"]
    assert report.remedies.of_recompile(recompile).text == "clone() the slice or view before the call, and mark dim 1 of x"
    inputs = tuple(item._replace(size=(1, *item.size[1:])) for item in recompile.compile.inputs)
    of_row = recompile._replace(compile=replace(recompile.compile, inputs=inputs))
    copied = "copy the slice or view before the call, with clone(memory_format=torch.contiguous_format)"
    assert report.remedies.of_recompile(of_row).text == f"{copied}, and mark dim 1 of x"
    of_int = recompile.causes[0]._replace(source=Source("L['left']"), prop=VALUE)
    assert report.remedies.of((of_row,), [of_int]).text == f"{copied}, and mark dim 1 of x"


def test_a_mark_that_would_do_harm_is_not_recommended() -> None:
    made = trace(int_values(3, 4, comment=code_comment(7, "name = f'{k}'")))
    assert remedy(made) == Remedy(RULES["SL102"], "build the string outside the compiled code, or pass k as a tensor")


def test_what_varied_with_a_size_that_a_call_marks_is_marked_too() -> None:
    """Code in g puts the sizes of its own x into a string; without a mark on x, those on y and k save nothing."""
    made = make.trace()
    for number, (size, value) in enumerate(((10, 3), (12, 4))):
        inputs = (tensor(size, 8), tensor(size, 8, source="L['y']"))
        guards = guard_tree(tensor_match(size=(size, 8)), tensor_match("L['y']", size=(size, 8)), equals_match("L['k']", value))
        made += compiled(f"0/{number}", *inputs, guards=guards)
    labelled = tensor_match(size=(8, 4)).replace(RETURN_LINE, code_comment(7, 'sig = "x".join(str(d) for d in x.shape)', "g"))
    made += compiled("1/0", tensor(8, 4), guards=guard_tree(labelled), name="g")
    assert remedy(made).text == (
        "entries match by name in every frame: call torch._dynamo.mark_dynamic(x, 0) instead, which marks this tensor alone; "
        "and mark the int k and dim 0 of y as dynamic, too: add L['k'],L['y']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    )


@pytest.mark.parametrize(
    ("actual", "text"),
    [
        (12, "mark dim 0 of x and dim 0 of y as dynamic: add L['x']:0,L['y']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"),
        (1, "accept the extra graph"),  # of y, which no mark makes dynamic then
    ],
)
def test_a_refused_call_has_all_marks_that_it_takes(actual: int, text: str) -> None:
    guards = guard_tree(tensor_match(), tensor_match("L['y']"))
    made = compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']"), guards=guards)
    mismatches = (f"tensor '{name}' size mismatch at index 0. expected 10, actual {size}" for name, size in (("x", 12), ("y", actual)))
    made += make.refused("0/1", *(f"0/0: {mismatch}" for mismatch in mismatches))
    assert text in remedy(trace(made)).text


def test_a_size_whose_mark_would_do_harm_is_not_answered_by_the_mark_of_another_size() -> None:
    labelled = tensor_match(size=(8,)).replace(RETURN_LINE, code_comment(7, 'tmp = f"{x.shape[0]} bar"', "g"))
    sizes = [compiled(f"0/{number}", tensor(*size)) for number, size in enumerate(((10, 8), (10, 9), (12, 8)))]
    report, recompile = last(trace(*sizes, compiled("1/0", tensor(8), guards=guard_tree(labelled), name="g")))
    assert report.advice
    assert [(item.source, item.dims) for item in report.advice.suggestions] == [("L['x']", (1,))]
    assert recompile.causes[0].axis == "x.size[0]"
    assert "torch._dynamo.mark_dynamic(x, 0)" in report.remedies.of_recompile(recompile).text


def test_a_recompile_that_failed_asks_to_fix_the_error_whatever_led_to_it() -> None:
    """As the finding on the failure does, in an explanation, too."""
    report, recompile = last(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), **make.FAILED)))
    (failure,) = (item for item in report.findings if item.rule.code == "SL403")
    remedy = Remedy(RULES["SL403"], failure.remedy)
    assert failure.own_remedy
    assert (recompile.codes, report.remedies.of_recompile(recompile)) == (("SL101",), remedy)
    assert explain_compile(report.trace, "0/1").remedies.of_recompile(recompile).text == remedy.text
    assert Remedies(report.trace.version).of_recompile(recompile).text == RULES["SL403"].remedy


@pytest.mark.parametrize(("value", "more"), [(None, "; where it is None, as in 0/1, it needs a graph of its own"), (5, "")])
def test_an_int_that_was_none_in_another_call_may_be_none_in_a_refused_one(value: int | None, more: str) -> None:
    other = equals_match("L['k']", value) if value else guard_manager("L['k']", "ID_MATCH: L['k'] is None", type="NoneType")
    made = trace(
        compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['k']", -10), equals_match("L['m']", "a", "str")))
    )
    made += compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match(), other, equals_match("L['m']", "b", "str")))
    report, recompile = last(made + make.refused("0/2", "0/1: m == 'b'", "0/0: k == -10"))
    assert [cause.sentence for cause in recompile.causes] == ["the int k was -10 and has changed"]
    remedy = report.remedies.of_recompile(recompile).text
    assert remedy.startswith("mark the int k as dynamic")
    assert remedy.partition("; ")[2] == more.removeprefix("; ")


@pytest.mark.parametrize(("dim", "is_known"), [(0, True), (1, False)])
def test_a_mark_on_what_was_dynamic_when_the_compilation_failed_is_not_recommended(dim: int, is_known: bool) -> None:
    arguments = {"name": "L['x']", "dim_changed": dim, "reason": "size change", "cached": "10", "new": "12"}
    event = {"name": "automatic_dynamic", "args": arguments}
    became = make.record("chromium_event", {}, json.dumps(event, indent=0), id="0/1")
    report, recompile = last(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), **make.FAILED), became))
    assert recompile.compile.automatic_dynamic
    text = report.remedies.of((recompile,), recompile.causes).text
    assert (text == "a mark does not help: x.size[0] was dynamic in the compilation that failed") is is_known


@pytest.mark.parametrize("is_dynamic", [True, False])
def test_a_mark_on_what_was_dynamic_in_a_compilation_without_code_is_not_recommended(is_dynamic: bool) -> None:
    again = compiled("0/1", tensor(12, 8), dynamic=[0] if is_dynamic else [], guards="", has_guarded_code=False)
    report, recompile = last(trace(compiled("0/0", tensor(10, 8)), again))
    assert (recompile.verdict, recompile.codes) == (Verdict.SKIPPED, ("SL101",))
    text = report.remedies.of_recompile(recompile).text
    assert (text == "a mark does not help: x.size[0] was dynamic in the compilation, which produced no code") is is_dynamic


def test_before_torch_2_8_it_is_the_line_of_code() -> None:
    made = trace(static_sizes(10, 12), version="2.6.0")
    assert remedy(made).text.startswith(f"{MARK}: torch._dynamo.")
    assert "TORCH_COMPILE_DYNAMIC_SOURCES" not in remedy(made).text


@pytest.mark.parametrize(
    ("version", "begins"),
    [("2.13.0", "mark the int k as dynamic: add L['k'] to TORCH_COMPILE_DYNAMIC_SOURCES"), ("2.6.0", "pass a tensor")],
)
def test_an_int_that_the_advice_has_no_mark_for_has_its_entry(version: str, begins: str) -> None:
    report, recompile = last(trace(int_values(8, 10), version=version))
    assert Remedies(report.trace.version).of_recompile(recompile).text.startswith(begins)


def test_a_recompile_without_a_known_cause_asks_for_a_better_record() -> None:
    assert remedy(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8)))) == Remedy(RULES["SL399"], RULES["SL399"].remedy)


def test_an_int_that_an_operator_needs_exactly_cannot_be_unbacked() -> None:
    pinned = {"symbol": "s77", "sources": ["L['k']"], "value": "10", "user_stack": []}
    first = int_values(8, comment=code_comment(6, "return x * k"))
    again = compiled(
        "0/1", tensor(10, 8), symbols=[("s77", 10, "L['k']")], specializations=[pinned], guards=guard_tree(equals_match("L['k']", 10))
    )
    found = remedy(trace(first, again))
    assert found.rule.code == "SL202"
    assert "mark_unbacked" not in found.text
    assert found.text.startswith("a library, an operator or the backend needs the exact int: accept one graph per value")


def test_of_ints_that_the_code_needs_exactly_one_that_changed_alone_has_the_remedy() -> None:
    """The first call with another number of steps had another cause as well, and the later one did not."""
    made = trace()
    for number, mode in enumerate(("('a',)", "('b',)", "('b',)")):
        steps = equals_match("L['k']", number + 5, comment=code_comment(6, "for _ in range(k):"))
        guards = guard_tree(tensor_match(), steps, guard_manager("L['mode']", f"EQUALS_MATCH: L['mode'] == {mode}", type="tuple"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards)
    report = make.report(made)
    recompiles = report.recompiles
    causes = [cause for item in recompiles for cause in item.causes if cause.source == "L['k']"]
    assert report.remedies.of(recompiles[:1], causes[:1]).text == "a mark alone does not help: mode changed too (SL311)"
    assert report.remedies.of(recompiles, causes).text == "rewrite the line that needs the exact value, or accept one graph per value"


def test_a_mark_that_another_cause_of_the_same_call_makes_useless_is_not_recommended() -> None:
    made = trace(
        compiled("0/0", tensor(10, 8), tensor(1, 8, source="L['y']")), compiled("0/1", tensor(12, 8), tensor(2, 8, source="L['y']"))
    )
    report, recompile = last(made)
    of_x = report.remedies.of((recompile,), recompile.causes[:1])
    assert of_x == Remedy(RULES["SL101"], "a mark alone does not help: dim 0 of y changed too (SL104)")


@pytest.mark.parametrize(
    ("guard", "what"),
    [
        ("NO_HASATTR: {}hasattr(L['c'], 'available')", "the attributes of c changed too (SL320)"),
        ("DIMENSION_DYNAMIC_MARKING_GUARD: hasattr(L['c'], '_dynamo_dynamic_indices') == {}", "the marks of c changed too (SL321)"),
    ],
)
def test_what_else_changed_is_named_in_words(guard: str, what: str) -> None:
    values = ("not ", "") if guard.startswith("NO_") else ("False", "True")
    trees = [
        guard_tree(tensor_match(size=(n, 8)), guard_manager("L['c']", guard.format(text))) for n, text in zip((10, 12), values, strict=True)
    ]
    made = trace(compiled("0/0", tensor(10, 8), guards=trees[0]), compiled("0/1", tensor(12, 8), guards=trees[1]))
    report, recompile = last(made)
    assert report.remedies.of((recompile,), recompile.causes[:1]).text == f"a mark alone does not help: {what}"


@pytest.mark.parametrize(
    ("source", "is_nameless"),
    [
        ("L['___stack0']", True),
        ("L['__nested_frame_values'][0][3]", True),
        ("L['__resume_frame_values'][3]", True),
        ("L['scale']", False),
    ],
)
def test_a_value_that_a_graph_break_made_an_input_goes_with_the_break(source: str, is_nameless: bool) -> None:
    guards = [guard_tree(equals_match(source, value)) for value in (0.5, 0.7)]
    reason = f"{source} == 0.5"
    found = remedy(
        trace(
            compiled("0/0", tensor(10, 8), guards=guards[0]), compiled("0/1", tensor(10, 8), guards=guards[1], reasons=[f"0/0: {reason}"])
        )
    )
    assert found.rule.code == "SL312"
    assert found.text.startswith("remove the graph break" if is_nameless else "pass the float as a tensor")


def test_a_text_that_a_graph_break_makes_an_input_cannot_be_kept_in_a_tensor() -> None:
    """Nor can that of a refused call, whose records do not name the code."""
    resumed = {"name": "torch_dynamo_resume_in_f_at_79"}
    made = trace()
    for number, text in enumerate(("a", "b")):
        guards = guard_tree(tensor_match(), equals_match("L['___stack0']", text, "str"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, reasons=["0/0: ___stack0 == 'a'"] if number else (), **resumed)
    report = make.report(made + make.refused("0/2", "0/1: ___stack0 == 'b'", "0/0: ___stack0 == 'a'"))
    found = [report.remedies.of_recompile(item).text for item in report.explained.recompiles]
    assert found == ["remove the graph break that makes this value an input"] * 2


@pytest.mark.parametrize(
    ("changed", "kind", "also"),
    [
        ("L['self'].param_groups[0]['betas'][0]", "float", "; and pass cycle_momentum=False to the scheduler that sets it"),
        ("L['self'].param_groups[1]['lr']", "float", ""),
        ("L['mode']", "tuple", ""),
    ],
)
def test_where_two_changes_of_the_code_are_needed_both_are_named(changed: str, kind: str, also: str) -> None:
    """A scheduler may set the momentum, too. A text needs a graph for each value, with which nothing else saves one."""
    rate = "L['self'].param_groups[0]['lr']"
    values = ("('a',)", "('b',)") if kind == "tuple" else (0.5, 0.25)
    trees = [
        guard_tree(
            tensor_match(), equals_match(rate, number, "float"), guard_manager(changed, f"EQUALS_MATCH: {changed} == {value}", type=kind)
        )
        for number, value in zip((0.1, 0.2), values, strict=True)
    ]
    found = remedy(trace(*(compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees))))
    of_rate = "pass the optimizer a tensor as its learning rate, lr=torch.tensor(value)"
    assert found.text.startswith(f"{of_rate}{also}" if kind == "float" else "accept one graph per value")
    assert ("; and " in found.text) is bool(also)


@pytest.mark.parametrize("name", ["L['args'][0]", "L['k']"])
def test_what_goes_with_the_first_change_needs_no_second_one(name: str) -> None:
    """Floats that are passed as one tensor are no floats any more."""
    trees = []
    for number in (6, 7):
        checked = guard_manager("L['args']", f"LENGTH_CHECK: len(L['args']) == {number}", type="list")
        trees.append(guard_tree(tensor_match(), checked, equals_match(name, number / 2, "float")))
    found = remedy(trace(*(compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees))))
    assert found.rule.code == "SL313"
    assert ("; and pass the float as a tensor" in found.text) is (name == "L['k']")


def test_an_object_that_a_graph_break_made_an_input_can_be_made_before_the_call() -> None:
    """``optimizer = Adam(parameters)`` breaks the graph."""
    source = "L['___stack0']"
    trees = [guard_tree(tensor_match(), guard_manager(source, f"ID_MATCH: ___check_obj_id({source}, {number})")) for number in (7, 8)]
    gone = f"0/0: Cache line invalidated because {source} got deallocated"
    found = remedy(trace(compiled("0/0", tensor(10, 8), guards=trees[0]), compiled("0/1", tensor(10, 8), guards=trees[1], reasons=[gone])))
    assert found == Remedy(RULES["SL319"], f"{RULES['SL319'].remedy}, or remove the graph break that makes this value an input")


@pytest.mark.parametrize(
    ("kinds", "container", "code"),
    [
        (("app.One", "app.Two"), "list", "SL310"),
        (("app.One", "app.One"), "list", "SL313"),
        (("app.One", "app.Two"), "dict", "SL314"),
    ],
)
def test_of_a_list_with_items_of_other_types_the_types_are_what_to_change(kinds: tuple[str, str], container: str, code: str) -> None:
    trees = []
    for length, kind in zip((4, 3), kinds, strict=True):
        check = f"TYPE_MATCH: ___check_type_id(L['data'][0], {ord(kind[-1])}), type=<class '{kind}'>"
        item = guard_manager("L['data'][0]", check, type=kind)
        trees.append(
            guard_tree(tensor_match(), guard_manager("L['data']", f"LENGTH_CHECK: len(L['data']) == {length}", type=container), item)
        )
    made = trace(*(compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees)))
    assert remedy(made).rule.code == code


def test_the_marks_of_a_backward_pass_that_the_list_has_are_not_all_that_it_needs() -> None:
    made = trace()
    for number, rows in enumerate((10, 12)):
        tensors = [tensor(rows, 8, source=f"L['inputs'][{place}]") for place in (0, 1)]
        made += compiled(f"!0/3/{number}", *tensors, name="forward", file="<eval_with_key>.5", line=9)
    report, recompile = last(made)
    listed = [item for item in advise(explain(made)).suggestions if item.source == "L['inputs'][1]"]
    found = Remedies(report.trace.version, listed).of((recompile,), recompile.causes).text
    first, _, then = found.partition("; and ")
    assert first.startswith("mark the sizes that vary in the inputs of the forward pass")
    assert then == "mark dim 0 of inputs[1] as dynamic: add L['inputs'][1]:0 to TORCH_COMPILE_DYNAMIC_SOURCES"


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl", "create the GraphModule once"),
        ("app.make.<locals>.Net", "define the class at module level"),
    ],
)
def test_a_class_that_is_made_in_each_call_is_to_be_made_once(type: str, text: str) -> None:
    checks = [f"TYPE_MATCH: ___check_type_id(L['___stack0'], {address})" for address in (94416112235136, 94416112235200)]
    was, now = (guard_tree(tensor_match(), guard_manager("L['___stack0']", check, type=type)) for check in checks)
    reason = "0/0: ___check_type_id(___stack0, 94416112235136)"
    second = compiled("0/1", tensor(10, 8), guards=now, reasons=[reason])
    assert remedy(trace(compiled("0/0", tensor(10, 8), guards=was), second)).text.startswith(text)


def test_a_class_that_a_graph_break_made_an_input_is_to_be_defined_once() -> None:
    """The class statement is what breaks the graph."""
    checks = [f"ID_MATCH: ___check_obj_id(L['___stack0'], {number}), type=<class 'app.f.<locals>.Net'>" for number in (7, 8)]
    was, now = (guard_tree(tensor_match(), guard_manager("L['___stack0']", check, type="type")) for check in checks)
    second = compiled("0/1", tensor(10, 8), guards=now, reasons=["0/0: ___check_obj_id(___stack0, 7), type=<class 'app.f.<locals>.Net'>"])
    found = remedy(trace(compiled("0/0", tensor(10, 8), guards=was), second))
    assert found == Remedy(RULES["SL308"], "define the class at module level")


def test_none_that_a_graph_break_made_an_input_is_nothing_to_keep_in_a_tensor() -> None:
    none = guard_manager("L['___stack0']", "ID_MATCH: L['___stack0'] is None", type="NoneType")
    first = compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), none))
    second = compiled("0/1", tensor(10, 8), tensor(8, source="L['___stack0']"), reasons=["0/0: ___stack0 is None"])
    assert remedy(trace(first, second)) == Remedy(RULES["SL322"], "remove the graph break that makes this value an input")


@pytest.mark.parametrize(
    ("line", "is_branch"),
    [
        ("if t > 0.5:", True),
        ("y = x * t if t else x", True),
        ("while t < 1:", True),
        ("if t and t is not None:", True),
        ("return x * t", False),
        ("if t is not None: x = x * t", False),
        ("x = x * t if isinstance(t, float) else x", False),
    ],
)
def test_a_float_that_a_line_branches_on_is_not_wrapped_in_a_tensor(line: str, is_branch: bool) -> None:
    first, second = (
        compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(equals_match("L['t']", value, comment=code_comment(7, line))))
        for number, value in enumerate((0.25, 0.6))
    )
    found = remedy(trace(first, second))
    assert found.rule.code == "SL312"
    assert found.text.startswith("replace the branch on this float by torch.where" if is_branch else "pass the float as a tensor")


@pytest.mark.parametrize(
    ("line", "remedy_begins"),
    [
        ("x = F.dropout(x, p)", "rewrite the line that needs"),
        ("if p != 1.0:", "replace the branch on this float by"),
        ("if p.as_integer_ratio():", "rewrite the line that needs"),
    ],
)
def test_a_float_that_a_line_needs_as_a_number_is_not_wrapped_either(line: str, remedy_begins: str) -> None:
    where = {"user_stack": [{"filename": 0, "line": 7, "name": "f", "loc": line}]}
    pinned = ({"symbol": "zf1", "sources": ["L['p']"], "value": "0.6", **where},)
    first, second = (
        compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(equals_match("L['p']", value, comment=code_comment(7, line))), **more)
        for number, (value, more) in enumerate(((0.25, {}), (0.6, {"specializations": pinned})))
    )
    assert remedy(trace(first, second)).text.startswith(remedy_begins)


def test_an_int_of_another_function_is_named_with_it() -> None:
    """What ``expand`` returns has its size from the int k, which ``gather`` does not have."""
    report = report_of("lab/beam_step_tuples.log.gz")
    texts = {item.compile.label: report.remedies.of_recompile(item).text for item in report.recompiles}
    assert texts["0/1"].startswith("mark the int k as dynamic: add L['k']")
    assert texts["1/2"].startswith("mark dim 1 of state['prefix'] and the int k in expand as dynamic (the sizes of picked[0], ")


def test_a_view_is_cloned_and_its_dims_are_named() -> None:
    report = report_of("causes/slices_of_a_buffer.log.gz")
    (of_h,) = [item for item in report.recompiles if item.frame.name == "h"]
    assert report.remedies.of_recompile(of_h).text == "clone() the slice or view before the call, and mark dims 2 and 3 of x"


@pytest.mark.parametrize(
    ("sizes", "is_warm_up"),
    [((1, 8), True), ((8, 1), False), ((8, 0), False)],
)
def test_another_warm_up_is_recommended_only_where_the_first_call_had_a_size_of_0_or_1(sizes: tuple[int, ...], is_warm_up: bool) -> None:
    text = remedy_of(trace(static_sizes(*sizes)))
    assert text.startswith("if only the warm-up has a size of 0 or 1, warm up" if is_warm_up else "accept the extra graph")
    assert ("warm up" in text) is is_warm_up


def test_requires_grad_of_a_parameter_is_not_detached() -> None:
    source = "L['self']._parameters['weight']"
    made = [compiled(f"0/{n}", tensor(4, 4, source=source, requires_grad=bool(n))) for n in (0, 1)]
    assert remedy_of(trace(*made)).startswith("set requires_grad of this parameter once")
    made = [compiled(f"0/{n}", tensor(4, 4, requires_grad=bool(n))) for n in (0, 1)]
    assert "detach()" in remedy_of(trace(*made))


def test_an_object_of_which_only_the_address_is_known_may_be_a_class() -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['k']", f"ID_MATCH: ___check_obj_id(L['k'], {n})")) for n in (9000001, 9000002)]
    made = trace(*[compiled(f"0/{n}", tensor(10, 8), guards=trees[n]) for n in (0, 1)])
    assert remedy_of(made).endswith("if it is a class or an enum member, accept one graph for each")


def remedy_of(made: bytes) -> str:
    explained = explain(made)
    return advise(explained).remedies.of_recompile(explained.recompiles[-1]).text


def test_a_recompile_that_takes_a_mark_and_a_rename_names_both() -> None:
    """k varies together with a size; in g it is a constant that the code formats."""
    trees = [guard_tree(tensor_match(size=(length, 8)), equals_match("L['k']", k, RETURN_LINE)) for length, k in ((10, 3), (12, 4))]
    calls = [compiled(f"0/{number}", tensor(10 + 2 * number, 8), guards=tree) for number, tree in enumerate(trees)]
    sizes = static_sizes(10, 12, frame=2, name="h")
    made = trace(*calls, int_values(7, frame=1, name="g", comment=code_comment(7, "name = f'{k:02d}'", "g")), sizes)
    report = make.report(made)
    text = report.remedies.of_recompile(report.recompiles[0]).text
    assert text == f"entries match by name in every frame: rename k in f, or pass it as a tensor there; and {WHOLE}"


def test_what_each_call_makes_anew_is_what_to_change_first() -> None:
    """A list of fixed length would not help while each call has a GraphModule of its own."""
    kind, made = "torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl", trace()
    for number, length in enumerate((1, 2)):
        check = f"TYPE_MATCH: ___check_type_id(L['pruned'], {7 + number}), type=<class '{kind}'>"
        own = guard_manager("L['groups']", f"LENGTH_CHECK: len(L['groups']) == {length}", type="list")
        guards = guard_tree(tensor_match(), own, guard_manager("L['pruned']", check, type=kind))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, reasons=("0/0: len(groups) == 1",) if number else ())
    assert remedy(made).text.startswith("create the GraphModule once")


def test_where_the_code_has_to_change_a_size_that_changed_too_is_named_with_its_entry() -> None:
    """A mark alone would save nothing, so the list does not have it."""
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8, dtype="torch.float64")))
    assert remedy(made) == Remedy(RULES["SL301"], f"{RULES['SL301'].remedy}; and {WHOLE}")
