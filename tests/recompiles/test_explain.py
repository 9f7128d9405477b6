"""The nearest entry, what can be done about each recompile, which graphs are alike, and sums that add up."""

import json
import re
from collections.abc import Sequence

import make
import pytest
from dimensions import DIMENSIONS
from make import compile as compiled
from make import explain, last_recompile, load, output_graph, recompile_reasons, record, refused, static_sizes, tensor
from payload_text import (
    CPU_KEYS,
    RETURN_LINE,
    code_comment,
    equals_match,
    global_state,
    graph_text,
    guard_manager,
    guard_tree,
    size_mismatch,
    tensor_match,
)
from recorded import FIXTURES, LAB, RECORDED, recompile_of, report_of

from shapelog.advice.advise import advise
from shapelog.advice.remedies import Remedies
from shapelog.model.compile import Compile, Outcome
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import explain_trace, nearest
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.similar import similar
from shapelog.report.report import analyze
from shapelog.rules import RULES, Verdict

TRUTH = json.loads((FIXTURES / "lab" / "truth.json").read_text(encoding="utf-8"))
TANH = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")
SYMBOL = (("s77", "10", "L['x'].size()[0]"),)
EVEN = "L['x'].size()[0] % 8 == 0"


def sized(*sizes: int) -> bytes:
    """One compile for each size of dim 0, each static."""
    made = make.trace()
    for number, size in enumerate(sizes):
        made += compiled(f"0/{number}", tensor(size, 8))
    return made


def test_the_nearest_entry_is_the_one_with_fewest_causes_that_are_no_sizes() -> None:
    made = make.trace(compiled("0/0", tensor(5, 8), guards=guard_tree(global_state(), tensor_match(size=(5, 8)))))
    made += compiled("0/1", tensor(10, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match()))
    made += compiled("0/2", tensor(10, 8), guards=guard_tree(global_state(), tensor_match()))
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes, recompile.entries_checked) == ("0/0", ("SL101",), 2)


@pytest.mark.parametrize(
    ("guard", "graph", "verdict", "code"),
    [
        ("L['x'].size()[0] < L['x'].size()[1]", TANH, Verdict.JUSTIFIED, "SL204"),
        ("L['x'].size()[0] < L['x'].size()[1]", None, Verdict.CODE, "SL105"),  # the same graph
        ("L['x'].size()[0] < 8*L['x'].size()[1]", TANH, Verdict.CODE, "SL105"),  # so it is in both calls
        ("2 <= L['x'].size()[0]", TANH, Verdict.CODE, "SL105"),
    ],
)
def test_slices_of_two_widths_whose_graphs_are_those_of_two_branches(guard: str, graph: str | None, verdict: Verdict, code: str) -> None:
    shape = f"{guard}  # if n < k:  # app/model.py:6 in f"
    trees = [guard_tree(tensor_match(size=(size, size), stride=(None, 1)), shapes=(shape,) * (not size)) for size in (4, None)]
    made = make.trace(compiled("0/0", tensor(4, 4), guards=trees[0], symbols=(("s25", "4", "L['x'].stride()[0]"),)))
    made += compiled("0/1", tensor(3, 6, stride=[8, 1]), guards=trees[1], graph=graph or graph_text())
    recompile = last_recompile(made)
    assert (recompile.verdict, recompile.blocking_rule) == (verdict, code)


def test_of_those_the_one_with_a_similar_graph() -> None:
    made = make.trace(compiled("0/0", tensor(5, 9), graph=graph_text()), compiled("0/1", tensor(5, 8), graph=TANH))
    recompile = last_recompile(made + compiled("0/2", tensor(10, 8), graph=graph_text()))
    assert recompile.nearest is not None
    assert recompile.nearest.label == "0/0"
    assert [cause.axis for cause in recompile.causes] == ["x.size[0]", "x.size[1]"]


def test_of_those_the_one_with_fewest_sizes() -> None:
    made = make.trace(compiled("0/0", tensor(5, 8)), compiled("0/1", tensor(5, 9)))
    recompile = last_recompile(made + compiled("0/2", tensor(10, 8)))
    assert recompile.nearest is not None
    assert recompile.nearest.label == "0/0"


def test_of_those_the_most_recently_used() -> None:
    recompile = last_recompile(sized(3, 4, 5))
    assert recompile.nearest is not None
    assert recompile.nearest.label == "0/1"


def test_pytorch_lists_the_entries_in_the_order_of_their_use() -> None:
    reasons = tuple(
        f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual 6" for number, size in ((0, 3), (2, 5), (1, 4))
    )
    recompile = last_recompile(sized(3, 4, 5) + compiled("0/3", tensor(6, 8), reasons=reasons))
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.entries_checked) == ("0/0", 3)


def test_entries_that_pytorch_does_not_list_are_not_looked_at() -> None:
    reason = "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 6"
    recompile = last_recompile(sized(3, 4) + compiled("0/2", tensor(6, 8), reasons=(reason,)))
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.entries_checked) == ("0/0", 1)


def test_an_entry_that_does_not_differ_is_not_the_nearest() -> None:
    assert nearest([], last_recompile(sized(3, 4)).compile) is None


def test_marking_serves_a_call_whose_graph_is_the_same() -> None:
    recompile = last_recompile(sized(3, 4))
    assert recompile.verdict is Verdict.MARKING
    assert recompile.served_by is recompile.nearest
    assert recompile.why_not_markable == ""


def test_marking_does_not_serve_a_call_that_takes_another_path() -> None:
    recompile = last_recompile(make.trace(compiled("0/0", tensor(3, 8)), compiled("0/1", tensor(10, 8), graph=TANH)))
    assert recompile.verdict is Verdict.JUSTIFIED
    assert recompile.served_by is None
    assert "takes a different path" in recompile.why_not_markable


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        ("((-1*L['t']) / 10) == (-0.3)", "model.py:9 (return x * math.exp(-t / 10)) needs the exact value of t"),
        ("(L['t'] % 8) == 3", "the code takes a different path"),  # holds for 11 too
    ],
)
def test_a_guard_that_holds_for_one_value_alone_is_that_of_a_line_which_needs_it(guard: str, why: str) -> None:
    """``math.exp(-t / 10)`` needs a number: PyTorch pins what is computed from the int, not the int."""
    comment = code_comment(9, "return x * math.exp(-t / 10)")
    first = compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['t']", 2)))
    shape = guard_tree(tensor_match(), shapes=[f"{guard}  {comment}"])
    then = compiled("0/1", tensor(10, 8), guards=shape, graph=TANH, symbols=[("s1", 3, "L['t']")], reasons=["0/0: t == 2"])
    recompile = last_recompile(make.trace(first, then))
    assert recompile.verdict is Verdict.JUSTIFIED
    assert why in recompile.why_not_markable


@pytest.mark.parametrize("key", ["[{}]", "['{}']"])
def test_an_int_that_picks_an_element_cannot_be_marked(key: str) -> None:
    def picked(number: int, index: int) -> bytes:
        source = f"L['caches'][1].keys{key.format(index)}"
        guards = guard_tree(tensor_match(source), equals_match("L['self'].layer", index))
        return compiled(f"0/{number}", tensor(10, 8, source=source), guards=guards)

    for first, second in ((0, 1), (1, 0), (1, 2)):
        recompile = last_recompile(make.trace(picked(0, first), picked(1, second)))
        assert (recompile.blocking_rule, recompile.verdict) == ("SL201", Verdict.JUSTIFIED)
        assert recompile.why_not_markable.startswith("marking is not enough: self.layer picks an element: caches[1].keys[")
    unused = [guard_tree(tensor_match(), equals_match("L['k']", value)) for value in (4, 5)]
    same = [compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(unused)]
    assert last_recompile(make.trace(*same)).verdict is Verdict.MARKING


def test_a_static_mark_is_the_obstacle_only_where_nothing_else_needs_a_graph_of_its_own() -> None:
    def marked(number: int, size: int, mode: str) -> bytes:
        mark = "DYNAMIC_INDICES: ((L['x']._dynamo_static_indices.issubset({0})) if hasattr(L['x'], '_dynamo_static_indices') else True)"
        guards = guard_tree(tensor_match(size=(size, 8), more=(mark,)), equals_match("L['mode']", repr(mode)))
        return compiled(f"0/{number}", tensor(size, 8), guards=guards)

    of_size = last_recompile(make.trace(marked(0, 10, "mean"), marked(1, 12, "mean")))
    assert (of_size.blocking_rule, of_size.verdict) == ("SL321", Verdict.CODE)
    of_both = last_recompile(make.trace(marked(0, 10, "mean"), marked(1, 12, "max")))
    assert (of_both.blocking_rule, of_both.verdict) == ("", Verdict.JUSTIFIED)
    of_one = last_recompile(make.trace(marked(0, 10, "mean"), marked(1, 1, "mean")))
    assert (of_one.blocking_rule, of_one.verdict) == ("", Verdict.JUSTIFIED)


def test_another_layout_is_not_blamed_on_a_branch_on_the_size() -> None:
    second = tensor(10, 8, stride=(1, 10))
    recompile = last_recompile(make.trace(compiled("0/0", tensor(10, 8)), compiled("0/1", second, graph=TANH)))
    assert (recompile.codes, recompile.blocking_rule) == (("SL105",), "")


def test_a_tensor_that_was_a_part_of_a_larger_one_and_is_whole_now_has_a_graph_of_its_own() -> None:
    recompile = last_recompile(make.trace(compiled("0/0", tensor(3, 8, storage_offset=16)), compiled("0/1", tensor(10, 8))))
    assert (recompile.verdict, recompile.blocking_rule) == (Verdict.CODE, "SL105")
    assert "x starts at the beginning of its storage" in recompile.why_not_markable


def test_a_copy_of_a_part_does_not_help_where_the_graphs_have_other_operations() -> None:
    """As a model that resizes its table of positions for all sizes but one."""
    part, whole = tensor(3, 8, storage_offset=16), tensor(10, 8)
    recompile = last_recompile(make.trace(compiled("0/0", part), compiled("0/1", whole, graph=TANH)))
    assert (recompile.verdict, recompile.blocking_rule) == (Verdict.JUSTIFIED, "SL204")


def test_an_entry_that_is_not_the_nearest_may_serve_when_marked() -> None:
    nearer = guard_tree(tensor_match(size=(None, 8)), shapes=("2 <= L['x'].size()[0] <= 30  # if x.size(0) <= 30:  # a.py:8 in f",))
    made = make.trace(compiled("0/0", tensor(50, 8)))
    made += compiled("0/1", tensor(10, 8), guards=nearer, symbols=SYMBOL, graph=TANH)
    recompile = last_recompile(made + compiled("0/2", tensor(60, 8)))
    assert recompile.nearest is not None
    assert recompile.verdict is Verdict.MARKING
    assert recompile.served_by is not None
    assert recompile.served_by.label == "0/0"


@pytest.mark.parametrize(("size", "verdict"), [(24, Verdict.MARKING), (13, Verdict.JUSTIFIED)])
def test_the_guards_of_the_dynamic_graph_are_replayed_on_the_sizes_of_other_calls(size: int, verdict: Verdict) -> None:
    """A later call, of another dtype, became dynamic: what it checks is what a marked graph would have checked."""
    made = make.trace(compiled("0/0", tensor(8, 8)), compiled("0/1", tensor(size, 8)))
    dynamic = guard_tree(tensor_match(size=(None, 8)), shapes=(f"{EVEN}  {RETURN_LINE}",))
    made += compiled("0/2", tensor(32, 8), guards=dynamic, symbols=SYMBOL)
    recompile = explain(made).recompiles[0]
    assert recompile.verdict is verdict
    assert ("the dynamic graph 0/2 requires x.size()[0] % 8 == 0" in recompile.why_not_markable) is (verdict is Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("line", "values", "verdict"),
    [
        ("k += 1", (1, 2), Verdict.JUSTIFIED),
        ("k += 1", (2, 3), Verdict.MARKING),
        ("k = k * 2 - 1", (1, 2), Verdict.JUSTIFIED),
        ("k = k * 2 - 1", (2, 4), Verdict.MARKING),
        ("k = schedule(k)", (2, 3), Verdict.MARKING),
        ("n = k + 1", (2, 3), Verdict.JUSTIFIED),
    ],
)
def test_a_branch_is_taken_by_what_the_int_is_there(line: str, values: tuple[int, int], verdict: Verdict) -> None:
    """The branch is in the line after the one that may change the int."""
    limit = equals_match("L['limit']", 3, comment=code_comment(9, "if k < limit:"))
    made = make.trace()
    for number, value in enumerate(values):
        guards = guard_tree(tensor_match(), limit, equals_match("L['k']", value, comment=code_comment(8, line)))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards)
    recompile = last_recompile(made)
    assert recompile.verdict is verdict
    assert ("the code branches on this value (if k < limit:)" in recompile.why_not_markable) is (verdict is Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("line", "values", "verdict"),
    [
        ("momentum = 1.0 if self.updates == 0 else 0.1", (0, 1), Verdict.JUSTIFIED),
        ("momentum = 1.0 if self.updates == 0 else 0.1", (2, 3), Verdict.MARKING),
        ("if self.updates % 2 and self.quant.updates:", (2, 3), Verdict.MARKING),
        ("if self.updates > self.warmup:", (2, 3), Verdict.MARKING),
        ("if self.other.updates >= 3:", (2, 3), Verdict.JUSTIFIED),
        ("self.updates += 1", (2, 3), Verdict.MARKING),
    ],
)
def test_a_branch_in_a_function_that_was_inlined_knows_the_int_by_another_name(
    line: str, values: tuple[int, int], verdict: Verdict
) -> None:
    """self.quant.updates of the model is self.updates in a method of its quantizer."""
    comment = code_comment(21, line, "observe")
    made = make.trace()
    for number, value in enumerate(values):
        guards = guard_tree(tensor_match(), equals_match("L['self']._modules['quant'].updates", value, comment=comment))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards)
    recompile = last_recompile(made)
    assert recompile.verdict is verdict
    assert ("the code branches on this value" in recompile.why_not_markable) is (verdict is Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("for i in range(x.shape[0]):", Verdict.JUSTIFIED),
        ("for i in range(1, len(x), 2):", Verdict.JUSTIFIED),
        ("rows = [i for i in range(x.size(0) // 2)]", Verdict.JUSTIFIED),
        ("for i in range(x.shape[1]):", Verdict.MARKING),
        ("for i in range(3): y = x.view(x.shape[0])", Verdict.MARKING),
        ("i = torch.arange(x.shape[0])", Verdict.MARKING),
    ],
)
def test_a_loop_over_a_size_is_unrolled_for_each(line: str, verdict: Verdict) -> None:
    """The graphs are alike where the loop adds no operation."""
    guards = [guard_tree(tensor_match(size=(size, 8)), equals_match("L['k']", 3, comment=code_comment(7, line))) for size in (10, 12)]
    made = make.trace(*(compiled(f"0/{number}", tensor(size, 8), guards=guards[number]) for number, size in enumerate((10, 12))))
    recompile = last_recompile(made)
    assert recompile.verdict is verdict
    assert ("the code loops over this size" in recompile.why_not_markable) is (verdict is Verdict.JUSTIFIED)


def test_a_dynamic_graph_has_to_serve_both_calls() -> None:
    """Sizes 8 and 16 are served by the graph for multiples of 8, and 13 has a dynamic graph of its own."""
    made = make.trace(compiled("0/0", tensor(8, 8)))
    for number, size, guard in ((1, 16, "(L['x'].size()[0] % 8) == 0"), (2, 13, "(L['x'].size()[0] % 8) != 0")):
        dynamic = guard_tree(tensor_match(size=(None, 8)), shapes=(f"{guard}  {RETURN_LINE}",))
        made += compiled(f"0/{number}", tensor(size, 8), guards=dynamic, symbols=SYMBOL)
    recompiles = explain(made).recompiles
    assert [item.verdict for item in recompiles] == [Verdict.MARKING, Verdict.JUSTIFIED]
    assert recompiles[1].codes == ("SL204",)


def test_an_int_is_no_size_when_the_nearest_entry_is_looked_for() -> None:
    """The entry with the same index and another length is nearer than the one with another index."""
    made = make.trace(compiled("0/0", tensor(3, 8), guards=guard_tree(tensor_match(size=(3, 8)), equals_match("L['i']", 0))))
    made += compiled("0/1", tensor(5, 8), guards=guard_tree(tensor_match(size=(5, 8)), equals_match("L['i']", 1)))
    made += compiled("0/2", tensor(5, 8), guards=guard_tree(tensor_match(size=(5, 8)), equals_match("L['i']", 0)))
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/0", ("SL101",))


def test_a_recompilation_that_did_not_finish_has_not_failed() -> None:
    again = record("dynamo_start", {"stack": []}, id="0/1") + recompile_reasons(size_mismatch("0/0", 10, 11), id="0/1")
    found = last_recompile(sized(10) + again)
    assert (found.compile.outcome, found.verdict) == (Outcome.UNFINISHED, Verdict.UNFINISHED)


def test_a_call_with_a_size_of_one_is_not_served_by_marking() -> None:
    duck = "L['y'].size()[0] == L['x'].size()[0]  # duck sizing added this equality because these variables had the same size 10"
    guards = guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), shapes=(duck,))
    made = make.trace(compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']"), guards=guards, symbols=SYMBOL))
    made += compiled("0/1", tensor(12, 8), tensor(1, 8, source="L['y']"))
    assert last_recompile(made).verdict is not Verdict.MARKING


def test_an_equality_from_duck_sizing_does_not_speak_against_marking() -> None:
    made = make.trace(compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']")))
    made += compiled("0/1", tensor(12, 8), tensor(14, 8, source="L['y']"))
    duck = "L['y'].size()[0] == L['x'].size()[0]  # duck sizing added this equality because these variables had the same size 10"
    guards = guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), shapes=(duck,))
    made += compiled("0/2", tensor(16, 8), tensor(16, 8, source="L['y']"), guards=guards, symbols=SYMBOL)
    assert explain(made).recompiles[0].verdict is Verdict.MARKING


def test_what_leaves_its_sizes_to_the_static_graph_does_not_speak_against_marking() -> None:
    """With ``automatic_dynamic_exclusion_guard``, only a graph that became dynamic has such a guard, and no graph for a marked size."""
    guard = "L['x'].size()[0] != 10  # exclusion guard for automatic dynamic"
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=[guard])
    made = make.trace(compiled("0/0", tensor(10, 8)))
    found = last_recompile(made + compiled("0/1", tensor(12, 8), guards=guards, symbols=SYMBOL))
    assert found.verdict is Verdict.MARKING
    own = guard_tree(tensor_match(size=(None, 8)), shapes=[guard.replace("exclusion guard for automatic dynamic", "if x.shape[0] != 10:")])
    assert last_recompile(made + compiled("0/1", tensor(12, 8), guards=own, symbols=SYMBOL)).verdict is not Verdict.MARKING


def grad(size: int = 10) -> bytes:
    made = make.trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    return made + compiled("0/1", tensor(size, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match(size=(size, 8))))


def test_a_code_change_avoids_what_is_no_size_and_marking_does_not() -> None:
    assert last_recompile(grad()).verdict is Verdict.CODE
    both = last_recompile(grad(12))
    assert both.verdict is Verdict.CODE
    assert both.size_related
    assert both.served_by is None


def test_a_text_that_leaves_the_graph_as_it_is_can_be_kept_out() -> None:
    trees = [guard_tree(tensor_match(), equals_match("L['name']", name, "str")) for name in "ab"]
    found = last_recompile(make.trace(*[compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees)]))
    assert (found.codes, found.verdict) == (("SL311",), Verdict.CODE)
    assert found.causes[0].own_remedy.startswith("keep the value out of the compiled function")


def test_a_constant_that_the_code_branches_on_is_justified() -> None:
    comment = code_comment(7, "return x.mean() if mode == 'mean' else x.max()")
    trees = [guard_tree(tensor_match(), equals_match("L['mode']", mode, "str", comment)) for mode in ("mean", "max")]
    assert (
        last_recompile(make.trace(*[compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees)])).verdict
        is Verdict.JUSTIFIED
    )


def test_a_size_of_one_is_justified() -> None:
    assert last_recompile(sized(5, 1)).verdict is Verdict.JUSTIFIED


def test_a_refused_call_is_over_the_limit_and_its_cause_is_named() -> None:
    made = sized(3, 4) + refused("0/2", "0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5")
    recompile = last_recompile(made)
    assert (recompile.compile.outcome, recompile.verdict) == (Outcome.LIMIT, Verdict.LIMIT)
    assert recompile.codes == ("SL101",)
    assert recompile.served_by is None


@pytest.mark.parametrize(("pinned", "is_pinned"), [((1, 2), True), ((3, 2), True), ((2,), False), ((1, 0), False), ((3, None), False)])
def test_an_int_that_a_line_pinned_at_each_value_is_not_marked_for_a_refused_call(pinned: tuple[int | None, ...], is_pinned: bool) -> None:
    """One value, 0 and 1, or an entry that keeps the int symbolic do not show that the line needs each value."""
    stack = [{"line": 7, "name": "f", "filename": 0, "loc": "return helper(x, k)"}]
    made = make.trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['k']", 5))))
    for number, value in enumerate(pinned, 1):
        pin = {"symbol": "s1", "sources": ["L['k']"], "value": str(value), "user_stack": stack}
        made += compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(tensor_match(), shapes=[f"L['k'] == {value}"] if value is not None else []),
            symbols=(("s1", value or 9, "L['k']"),),
            specializations=[pin] if value is not None else [],
        )
    others = (f"0/{number}: tensor 'x' stride mismatch at index 1. expected 1, actual 8" for number in range(len(pinned), 0, -1))
    recompile = last_recompile(made + refused(f"0/{len(pinned) + 1}", *others, "0/0: k == 5"))
    why = "marking does not help: model.py:7 (return helper(x, k)) needs the exact value of k"
    assert recompile.why_not_markable == (why if is_pinned else "")


@pytest.mark.parametrize(("values", "is_pinned"), [((2, 3), True), ((2, 2), False)])
def test_a_line_that_pins_one_int_at_each_value_does_so_with_the_next(values: tuple[int, int], is_pinned: bool) -> None:
    """``unfold(x, (i, j))``, called for each j, and then for another i."""
    stack = [{"line": 7, "name": "f", "filename": 0, "loc": "return unfold(x, k)"}]
    made = make.trace(compiled("0/0", tensor(10, 8), guards=guard_tree(*(equals_match(f"L['k'][{place}]", 1) for place in range(2)))))
    for number, (first, second) in enumerate(((1, values[0]), (2, values[1])), 1):
        pins = [(place, value) for place, value in enumerate((first, second)) if value > 1]
        made += compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(
                *([equals_match("L['k'][0]", 1)] if first == 1 else []), shapes=[f"L['k'][{place}] == {value}" for place, value in pins]
            ),
            symbols=tuple((f"s{place}", str(value), f"L['k'][{place}]") for place, value in pins),
            specializations=[
                {"symbol": f"s{place}", "sources": [f"L['k'][{place}]"], "value": str(value), "user_stack": stack} for place, value in pins
            ],
        )
    others = (f"0/{number}: tensor 'x' stride mismatch at index 1. expected 1, actual 8" for number in (2, 1))
    recompile = last_recompile(made + refused("0/3", *others, "0/0: k[0] == 1"))
    why = "marking does not help: model.py:7 (return unfold(x, k)) needs the exact value of k[0]"
    assert recompile.why_not_markable == (why if is_pinned else "")


def test_a_mark_does_not_help_where_the_own_dynamic_graph_of_a_call_refuses_the_other_value() -> None:
    """An entry for inputs of another kind has no such guard, and shows nothing about this path."""
    made = make.trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['k']", 0))))
    ints = {"symbols": (("s1", "20", "L['k']"),)}
    guards = guard_tree(tensor_match(), guard_manager("L['k']"), shapes=["2 <= L['k']"])
    own = compiled("0/1", tensor(10, 8), guards=guards, **ints)
    other = compiled("0/2", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(), guard_manager("L['k']")), **ints)
    first, *_ = explain(made + own + other).recompiles
    assert (first.verdict, first.served_by) == (Verdict.JUSTIFIED, None)
    assert first.why_not_markable == "marking is not enough: the dynamic graph 0/1 requires 2 <= k"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("0/0", "0/0 ends at a graph break at hooks.py:7, which this call does not reach, so the graphs differ"),
        ("0/1", "the code takes a different path for this value, so the graphs differ"),
    ],
)
def test_a_call_that_does_not_reach_the_graph_break_of_an_entry_has_another_graph(broken: str, why: str) -> None:
    """As the first call of a model breaks, which installs hooks."""
    text = "Graph break in user code at /srv/app/hooks.py:7\nGraph Break Reason: a lock\n"
    made = make.trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), graph=TANH))
    made += make.artifact("dynamo_graph_break_reason", text, id=broken)
    assert last_recompile(made).why_not_markable == f"marking is not enough: {why}"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("argument 'is_causal' must be bool, not SymBool", "with a symbolic size or int, the graph breaks at model.py:9"),
        ("expected a tensor", "the code takes a different path for this value, so the graphs differ"),
    ],
)
def test_a_condition_that_is_symbolic_breaks_the_graph_where_an_operator_takes_a_bool(error: str, why: str) -> None:
    text = (
        "TypeError when making fake tensor call\n  Explanation: \n"
        f"  Developer debug context: TypeError <built-in function attend>: attend(): {error}\n\n"
        'User code traceback:\n  File "/srv/app/model.py", line 9, in f\n    attend(x, is_causal=len(x) > 1)\n'
    )
    made = make.trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), graph=TANH))
    recompile = last_recompile(made + make.artifact("dynamo_graph_break_reason", text, id="0/1"))
    assert recompile.why_not_markable == f"marking is not enough: {why}"
    is_symbolic = "SymBool" in error
    assert (
        Remedies(TorchVersion(2, 13)).of_recompile(recompile).text == "remove the graph break at model.py:9, and mark dim 0 of x"
    ) is is_symbolic


@pytest.mark.parametrize(
    ("shapes", "where"),
    [
        (
            ["(8 - L['x'].size()[0] % 8) % 8 < 5  # if pad < 5:  # app/model.py:6 in f", "L['x'].size()[0] <= 30"],
            " at model.py:6 (if pad < 5:)",
        ),
        (["L['x'].size()[0] != 10", "L['x'].size()[0] <= 30  # if n <= 30:  # app/model.py:6 in f"], ""),
        (["L['x'].stride()[0] == 9  # x.view(-1)  # app/model.py:6 in f"], ""),
    ],
    ids=["a branch", "no line", "a stride"],
)
def test_the_line_that_branches_is_the_one_whose_guard_the_other_call_does_not_meet(shapes: list[str], where: str) -> None:
    made = make.trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(size=(10, 8)))))
    dynamic = guard_tree(tensor_match(size=(None, 8)), shapes=shapes)
    made += compiled("0/1", tensor(12, 8), graph=TANH, guards=dynamic, symbols=SYMBOL)
    why = f"marking is not enough: the code takes a different path for this value{where}, so the graphs differ"
    assert last_recompile(made).why_not_markable == why


def of_kinds(*reasons: str) -> Recompile:
    """f was compiled for an int, for a float and for a tensor of two dims; the reasons are those of a call that was refused."""
    made = make.trace(compiled("0/0", guards=guard_tree(equals_match("L['s']", 3))))
    made += compiled("0/1", guards=guard_tree(guard_manager("L['s']", "TYPE_MATCH: ___check_type_id(L['s'], 71)", type="float")))
    made += compiled("0/2", guards=guard_tree(tensor_match("L['s']", (4, 8)), equals_match("L['n']", 2)))
    return last_recompile(made + refused("0/3", *reasons))


FLOAT = "0/1: ___check_type_id(s, 71), type=<class 'float'>"


@pytest.mark.parametrize(
    ("reasons", "sentences"),
    [
        (
            ("0/2: expected type of 's' to be a tensor type, ' but found <class 'NoneType'>", FLOAT, "0/0: s == 3"),
            ["s changed from a tensor to None"],
        ),
        (
            ("0/2: expected type of 's' to be a tensor type, ' but found <class 'str'>", FLOAT, "0/0: s == 3"),
            ["s changed from a tensor to str"],
        ),
        (
            ("0/2: n == 2", "0/1: tensor 's' rank mismatch. expected 1, actual 3"),
            ["the int n was 2 and has changed", "the number of dimensions of s changed from 2 to 3"],
        ),
    ],
    ids=["None", "a text", "another rank"],
)
def test_what_the_reasons_state_of_a_refused_call_holds_for_every_entry(reasons: tuple[str, ...], sentences: list[str]) -> None:
    """That an int was 3 in one entry is not the cause where the call was not made with an int at all."""
    assert [cause.sentence for cause in of_kinds(*reasons).causes] == sentences


def test_the_dtype_that_a_reason_states_of_a_refused_call_counts_for_every_entry() -> None:
    """The keys of a tensor are checked before its dtype, and hide it: the entry in which only the dtype differs is the nearest."""
    conjugated, negated = (CPU_KEYS.replace(")", f", {key})") for key in ("Conjugate", "Negative"))
    made = make.trace()
    for number, (dtype, keys) in enumerate((("float64", negated), ("complex64", conjugated))):
        made += compiled(f"0/{number}", guards=guard_tree(tensor_match(dtype=dtype, keys=keys)))
    other_keys = f"0/1: tensor 'x' dispatch key set mismatch. expected {conjugated}, actual {negated}"
    recompile = last_recompile(made + refused("0/2", other_keys, "0/0: tensor 'x' dtype mismatch. expected Double, actual Float"))
    assert recompile.nearest is not None
    assert recompile.nearest.label == "0/0"
    assert [cause.codes for cause in recompile.causes] == [("SL301",)]


def test_the_dispatch_keys_that_a_reason_states_of_a_refused_call_count_for_every_entry() -> None:
    """A gradient that became sparse. Both entries are for a dense one, the last one also for another dtype of the parameter."""
    sparse = CPU_KEYS.replace("CPU,", "SparseCPU,", 1)
    made = make.trace()
    for number, dtype in enumerate(("float32", "float64")):
        made += compiled(f"0/{number}", guards=guard_tree(tensor_match(dtype=dtype), tensor_match("L['x'].grad", dtype=dtype)))
    other_keys = f"0/0: tensor 'x.grad' dispatch key set mismatch. expected {CPU_KEYS}, actual {sparse}"
    recompile = last_recompile(made + refused("0/2", "0/1: tensor 'x' dtype mismatch. expected Double, actual Float", other_keys))
    assert recompile.nearest is not None
    assert recompile.nearest.label == "0/0"
    assert [cause.codes for cause in recompile.causes] == [("SL303",)]


def test_what_is_no_int_is_not_another_int() -> None:
    kinds = [
        guard_manager("L['s']", f"TYPE_MATCH: ___check_type_id(L['s'], {number})", type=name)
        for number, name in ((71, "float"), (72, "int"))
    ]
    made = make.trace(compiled("0/0", guards=guard_tree(equals_match("L['s']", 3))))
    made += b"".join(compiled(f"0/{number}", guards=guard_tree(kind)) for number, kind in enumerate(kinds, 1))
    reasons = ("0/2: ___check_type_id(s, 72), type=<class 'int'>", "0/1: ___check_type_id(s, 71), type=<class 'float'>", "0/0: s == 3")
    assert [cause.codes for cause in last_recompile(made + refused("0/3", *reasons)).causes] == [("SL310",)]


@pytest.mark.parametrize(
    ("others", "causes"), [((10, 12), ["x.size[0]", "y.size[0]"]), ((10, 13), ["x.size[0]"])], ids=["equal", "once apart"]
)
def test_a_refused_call_has_the_sizes_that_always_equal_the_one_in_its_reasons(others: tuple[int, int], causes: list[str]) -> None:
    made = make.trace()
    for number, (size, other) in enumerate(zip((10, 12), others, strict=True)):
        made += compiled(f"0/{number}", tensor(size, 8), tensor(other, 4, source="L['y']"))
    reasons = (f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual 14" for number, size in ((1, 12), (0, 10)))
    recompile = last_recompile(made + refused("0/2", *reasons))
    assert [cause.axis for cause in recompile.causes] == causes
    assert {(cause.before, cause.after) for cause in recompile.causes} == {("12", "14")}


def test_a_refused_call_has_the_sizes_that_are_equal_wherever_they_are_known() -> None:
    made = make.trace()
    for number, (size, more) in enumerate(((10, ()), (10, (10,)), (12, (12,)))):
        made += compiled(f"0/{number}", tensor(size, 8), *(tensor(other, 4, source="L['y']") for other in more))
    expected = ((2, 12), (1, 10), (0, 10))
    reasons = (f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual 14" for number, size in expected)
    explained = make.explain(made + refused("0/3", *reasons))
    differences = explained.compared[make.only(explained.trace, "0/3")]
    axes = {item.entry.label: [cause.axis for cause in item.causes] for item in differences}
    assert axes == {"0/0": ["x.size[0]"], "0/1": ["x.size[0]", "y.size[0]"], "0/2": ["x.size[0]", "y.size[0]"]}


def test_a_refused_call_that_failed_a_guard_over_sizes_met_all_others_of_that_entry() -> None:
    """These guards are checked last. Of a guard of another kind, the ones after it are unknown."""
    bare = "x.size()[0]"
    made = make.trace(compiled("0/0", guards=guard_tree(tensor_match(), equals_match("L['k']", 8), equals_match("L['m']", 1))))
    shape = f"{bare} <= 30  # if x.size(0) <= 30:  # app/model.py:8 in f"
    second = guard_tree(
        tensor_match(size=(None, 8)), equals_match("L['k']", 2), equals_match("L['m']", 3), shapes=(shape.replace("x", "L['x']", 1),)
    )
    made += compiled("0/1", tensor(10, 8), guards=second)
    known = {}
    for reason in (shape, "k == 2"):
        explained = make.explain(made + refused("0/2", f"0/1: {reason}", "0/0: k == 8"))
        [first] = [item for item in explained.compared[make.only(explained.trace, "0/2")] if item.entry.label == "0/0"]
        known[reason] = [(cause.axis, cause.before, cause.after) for cause in first.causes]
    assert known[shape] == [("k", "8", "2"), ("m", "1", "3")]
    assert known["k == 2"] == [("k", "8", "")]


@pytest.mark.parametrize(
    ("order", "dtype", "is_carried"),
    [
        (("0/0", "1/0", "0/1", "1/1"), "float64", True),
        (("0/0", "1/0", "1/1", "0/1"), "float64", False),
        (("0/0", "1/0", "0/1", "1/1"), "float16", False),
        (("0/0", "0/1", "1/0", "1/1"), "float64", False),
        (("2/0", "1/0", "2/1", "1/1"), "float64", False),
    ],
    ids=["in one call", "in a later call", "another change", "with another compile of the resumed code between", "behind the break"],
)
def test_what_changed_before_a_graph_break_is_why_it_changed_in_resumed_code(order: tuple[str, ...], dtype: str, is_carried: bool) -> None:
    dtypes = {"0/1": dtype, "1/1": "float64", "2/1": dtype}
    names = {"0": "f", "1": "torch_dynamo_resume_in_f_at_9", "2": "torch_dynamo_resume_in_f_at_12"}
    made = make.trace()
    for label in order:
        source = "L['___stack0']" if label[0] == "1" else "L['x']"
        made += compiled(label, tensor(10, 8, source=source, dtype=f"torch.{dtypes.get(label, 'float32')}"), name=names[label[0]])
    [after] = [item for item in make.explain(made).recompiles if item.compile.label == "1/1"]
    words = f"the dtype of x changed in the code before the graph break, too (0/1): {RULES['SL301'].remedy}"
    assert [cause.own_remedy for cause in after.causes] == [words if is_carried else ""]
    shown = make.report(made).remedies.of_recompile(after).text
    assert shown == (words if is_carried else "remove the graph break that makes this value an input")


@pytest.mark.parametrize(
    ("source", "dtypes", "has_tensor", "has_dtype", "is_made_with"),
    [
        ("L['___stack0']", ("float32", "float64"), (1,), (0,), True),
        ("L['y']", ("float32", "float64"), (1,), (0,), True),
        ("L['y']", ("float32", "float16"), (1,), (0,), False),
        ("L['y']", ("float32", "float64"), (0, 1), (0,), False),
        ("L['y']", ("float32", "float64"), (1,), (0, 1), False),
    ],
    ids=["on the stack", "a variable", "another dtype", "an input of the code before", "the dtype is there, too"],
)
def test_the_dtype_of_a_tensor_in_resumed_code_follows_from_the_one_that_was_passed(
    source: str, dtypes: tuple[str, str], has_tensor: tuple[int, ...], has_dtype: tuple[int, ...], is_made_with: bool
) -> None:
    """``y = torch.zeros(n, dtype=dtype)`` before the graph break."""
    made = make.trace()
    for label in ("0/0", "1/0", "0/1", "1/1"):
        frame, number = int(label[0]), int(label[-1])
        tensors = [tensor(10, 8, source=source, dtype=f"torch.{dtypes[number]}")] if frame in has_tensor else []
        value = f"EQUALS_MATCH: L['dtype'] == torch.float{(32, 64)[number]}"
        passed = [guard_manager("L['dtype']", value, type="torch.dtype")] if frame in has_dtype else []
        guards = guard_tree(*(tensor_match(source, dtype=dtypes[number]) for _ in tensors), *passed)
        made += compiled(label, *tensors, guards=guards, name=("f", "torch_dynamo_resume_in_f_at_9")[frame])
    [after] = [item for item in make.explain(made).recompiles if item.compile.label == "1/1"]
    [of_tensor] = [cause for cause in after.causes if cause.source == source]
    assert of_tensor.own_remedy.startswith("dtype changed in the code before the graph break, too (0/1)") is is_made_with
    assert of_tensor.needs_own_graph is is_made_with


@pytest.mark.parametrize(
    ("order", "line", "is_returned"),
    [
        (("0/0", "1/0", "0/1", "1/1"), "y = fn(x, 1)", True),
        (("0/0", "1/0", "1/1", "0/1"), "y = fn(x, 1)", False),
        (("0/0", "1/0", "0/1", "1/1"), "z = fn(x, 1)", False),
        (("0/0", "1/0", "0/1", "1/1"), "y = g(fn, x)", False),
    ],
    ids=["in one call", "in a later call", "another variable", "not called"],
)
def test_what_a_passed_function_returned_before_a_graph_break_is_of_another_type_as_that_is_another_function(
    order: tuple[str, ...], line: str, is_returned: bool
) -> None:
    made, names = make.trace(), {"0": "f", "1": "torch_dynamo_resume_in_f_at_9"}
    for label in order:
        number = int(label[-1])
        check = f"ID_MATCH: ___check_obj_id(L['fn'], {7001 + number}), type=<class 'builtin_function_or_method'>"
        of_function = guard_manager("L['fn']", check, type="builtin_function_or_method", comment=code_comment(8, line))
        kind = f"torch.return_types.{('cummax', 'cummin')[number]}"
        of_result = guard_manager("L['y']", f"TYPE_MATCH: ___check_type_id(L['y'], {7 + number}), type=<class '{kind}'>", type=kind)
        guards = guard_tree(tensor_match(), of_result if label[0] == "1" else of_function)
        made += compiled(label, tensor(10, 8), guards=guards, name=names[label[0]])
    [after] = [item for item in make.explain(made).recompiles if item.compile.label == "1/1"]
    assert after.verdict is (Verdict.JUSTIFIED if is_returned else Verdict.CODE)
    assert after.causes[0].own_remedy.startswith("fn changed in the code before the graph break, too (0/1)") is is_returned


@pytest.mark.parametrize(
    ("order", "source", "is_same"),
    [
        (("0/0", "1/0", "0/1", "1/1"), "L['fn']", True),
        (("0/0", "1/0", "1/1", "0/1"), "L['fn']", False),
        (("0/0", "1/0", "0/1", "1/1"), "L['other']", False),
    ],
    ids=["in one call", "in a later call", "another function"],
)
def test_a_function_that_the_code_before_a_break_shows_to_be_another_one_is_not_made_anew(
    order: tuple[str, ...], source: str, is_same: bool
) -> None:
    """What resumes calls the function, and leaves no graph that would show which it is."""
    made, names = make.trace(), {"0": "f", "1": "torch_dynamo_resume_in_f_at_9"}
    for label in order:
        name, number = source if label[0] == "1" else "L['fn']", int(label[-1])
        check = f"ID_MATCH: ___check_obj_id({name}.__code__, {7001 + number}), type=<class 'code'>"
        read = [equals_match("L['fn'].__name__", repr(("double", "halve")[number]), "str")] if label[0] == "0" else []
        guards = guard_tree(tensor_match(), guard_manager(f"{name}.__code__", check, type="code"), *read)
        made += compiled(label, tensor(10, 8), guards=guards, name=names[label[0]])
    [after] = [item for item in make.explain(made).recompiles if item.compile.label == "1/1"]
    assert after.verdict is (Verdict.JUSTIFIED if is_same else Verdict.CODE)
    assert after.causes[0].own_remedy.startswith("fn changed in the code before the graph break, too (0/1)") is is_same


@pytest.mark.parametrize(("source", "is_needed"), [("L['model']", True), ("L['other']", False)])
def test_an_object_that_another_part_of_the_function_calls_needs_a_graph_for_each_class(source: str, is_needed: bool) -> None:
    """The code before the graph break passes it to a function; what resumes calls it."""
    made = make.trace()
    for label in ("0/0", "1/0", "0/1", "1/1"):
        name, line = (source, "prepare(model)") if label[0] == "0" else ("L['model']", "return model(x)")
        kind = ("app.Small", "app.Large")[int(label[-1])]
        check = f"TYPE_MATCH: ___check_type_id({name}, {len(kind) + int(label[-1])}), type=<class '{kind}'>"
        guards = guard_tree(tensor_match(), guard_manager(name, check, type=kind, comment=code_comment(9, line)))
        names = {"0": "f", "1": "torch_dynamo_resume_in_f_at_8"}
        made += compiled(label, tensor(10, 8), guards=guards, name=names[label[0]])
    first, second = make.explain(made).recompiles
    assert second.verdict is Verdict.JUSTIFIED
    assert first.verdict is (Verdict.JUSTIFIED if is_needed else Verdict.CODE)
    assert (first.causes[0].own_remedy == second.causes[0].own_remedy) is is_needed


@pytest.mark.parametrize(("kind", "verdict"), [("app.Large", Verdict.JUSTIFIED), ("app.Other", Verdict.CODE)])
def test_what_a_graph_break_left_is_of_another_class_as_an_object_with_a_name_is(kind: str, verdict: Verdict) -> None:
    """``other = make(kind)`` breaks the graph, as ``model = make(kind)`` did before."""
    made = make.trace()
    for number, kinds in enumerate((("app.Small", "app.Small"), ("app.Large", kind))):
        guards = []
        for source, own in zip(("L['model']", "L['___stack0']"), kinds, strict=True):
            check = f"TYPE_MATCH: ___check_type_id({source}, {len(own) + number}), type=<class '{own}'>"
            guards.append(guard_manager(source, check, type=own, comment=code_comment(9, "model.step()")))
        made += compiled(f"1/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), *guards), name="torch_dynamo_resume_in_f_at_8")
    [item] = make.explain(made).recompiles
    assert item.causes[1].verdict is verdict


@pytest.mark.parametrize(
    ("name", "line", "is_needed"),
    [
        ("L['self']", "return total(x)", True),
        ("L['model']", "check(old.mask(), model.mask())", True),
        ("L['model']", "check(old.mask(), other_model.mask())", False),
    ],
)
def test_what_a_method_returned_before_a_graph_break_follows_from_the_class_of_its_object(name: str, line: str, is_needed: bool) -> None:
    made = make.trace()
    for number, (kind, dtype) in enumerate((("app.Small", "float32"), ("app.Large", "int8"))):
        check = f"TYPE_MATCH: ___check_type_id({name}, {kind.count('l') + number}), type=<class '{kind}'>"
        guards = (guard_manager(name, check, type=kind, comment=code_comment(8, line)), tensor_match("L['___stack0']", dtype=dtype))
        made += compiled(f"1/{number}", tensor(10, 8), guards=guard_tree(*guards), name="torch_dynamo_resume_in_f_at_8")
    [item] = make.explain(made).recompiles
    causes = {cause.source: cause for cause in item.causes}
    assert causes[Source("L['___stack0']")].needs_own_graph is is_needed


def test_a_refused_call_has_another_function_where_another_call_was_made_with_one() -> None:
    made, places = make.trace(), ("0/0", "0/1")
    for number, label in enumerate(places):
        check = f"ID_MATCH: ___check_obj_id(L['fn'].__code__, {7001 + number}), type=<class 'code'>"
        name = equals_match("L['fn'].__name__", repr(("double", "halve")[number]), "str")
        guards = guard_tree(tensor_match(), guard_manager("L['fn'].__code__", check, type="code"), name)
        made += compiled(label, tensor(10, 8), guards=guards)
    reasons = [f"{label}: ___check_obj_id(fn.__code__, {7001 + number}), type=<class 'code'>" for number, label in enumerate(places)]
    first, last = make.explain(made + refused("0/2", *reasons)).recompiles
    assert (first.verdict, last.verdict) == (Verdict.JUSTIFIED, Verdict.LIMIT)
    assert {cause.own_remedy for cause in last.causes} == {cause.own_remedy for cause in first.causes}


def test_a_failed_compile_is_failed_whatever_its_cause() -> None:
    failure = {"fail_type": "Unsupported", "fail_reason": "no", "has_guarded_code": False}
    recompile = last_recompile(sized(3) + compiled("0/1", tensor(4, 8), guards="", **failure))
    assert (recompile.compile.outcome, recompile.verdict) == (Outcome.FAILED, Verdict.FAILED)
    assert recompile.codes == ("SL101",)


def test_a_forbidden_recompile_is_explained_by_its_error() -> None:
    text = "Recompiling function f in /srv/app/model.py:5\n    triggered by the following guard failure(s):\n"
    text += "    - 0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4"
    failure = {"fail_type": "RecompileError", "fail_reason": text, "has_guarded_code": False}
    recompile = last_recompile(sized(3) + compiled("0/1", is_started=False, reasons=None, **failure))
    assert (recompile.verdict, recompile.codes) == (Verdict.FAILED, ("SL101",))


def test_a_value_that_is_used_on_another_line_shows_another_path() -> None:
    trees = [
        guard_tree(equals_match("L['k']", value), equals_match("G['n']", 0, comment=code_comment(line, "n += 1")))
        for value, line in ((2, 47), (3, 51))
    ]
    first, second = (compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees))
    recompile = last_recompile(make.trace(first, second))
    assert recompile.verdict is Verdict.JUSTIFIED
    assert recompile.why_not_markable.endswith("it uses n on a different line")


def test_a_failed_compile_is_no_entry_for_the_next_one() -> None:
    failure = {"fail_type": "Unsupported", "fail_reason": "no", "has_guarded_code": False}
    recompile = last_recompile(make.trace(compiled("0/0", tensor(10, 8), guards="", **failure), compiled("0/1", tensor(4, 8))))
    assert recompile.nearest is None
    assert recompile.entries_checked == 0


def test_no_known_difference_is_unexplained_and_names_what_is_missing() -> None:
    recompile = last_recompile(make.trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8))))
    assert (recompile.verdict, recompile.codes, recompile.nearest) == (Verdict.UNEXPLAINED, ("SL399",), None)
    assert recompile.unexplained_because


def test_a_group_has_static_and_dynamic_members() -> None:
    made = sized(3, 4) + compiled("0/2", tensor(5, 8), guards=guard_tree(tensor_match(size=(None, 8))), symbols=SYMBOL)
    (group,) = explain(made).groups
    assert [member.label for member in group.static] == ["0/0", "0/1"]
    assert [member.label for member in group.dynamic] == ["0/2"]
    assert group.converged is not None
    assert group.converged.label == "0/2"


@pytest.mark.parametrize(("guard", "converged"), [("L['x'].size()[0] <= 30", "0/2"), ("4 <= L['x'].size()[0]", None)])
def test_a_group_that_ended_in_a_branch_for_some_sizes_did_not_converge(guard: str, converged: str | None) -> None:
    tree = guard_tree(tensor_match(size=(None, 8)), shapes=(f"{guard}  # if x.shape[0] > 3:",))
    (group,) = explain(sized(3, 4) + compiled("0/2", tensor(5, 8), guards=tree, symbols=SYMBOL)).groups
    assert (group.converged and group.converged.label) == converged
    assert [member.label for member in group.dynamic] == ["0/2"]


def test_a_group_whose_last_member_is_static_did_not_converge() -> None:
    (group,) = explain(sized(3, 4)).groups
    assert group.converged is None


def test_a_graph_is_similar_to_itself_and_nothing_is_similar_to_no_graph() -> None:
    trace = load(sized(3, 4) + compiled("0/2", tensor(5, 8), graph=TANH) + compiled("0/3", tensor(10, 8), graph=""))
    first, second, other, without = trace.compiles
    assert similar(first, second)
    assert not similar(first, other)
    assert not similar(without, without)


def test_a_frame_after_a_reset_is_a_frame_of_its_own() -> None:
    explained = explain(sized(3, 4) + compiled("0/0", tensor(9, 8)) + compiled("0/1", tensor(7, 8)))
    assert [item.compile.label for item in explained.recompiles] == ["0/1", "0/1#2"]
    assert [item.nearest.label for item in explained.recompiles if item.nearest] == ["0/0", "0/0#2"]


def saved(name: str) -> int:
    truth = TRUTH[name[4:].removesuffix(".log.gz")]
    return int(truth["baseline_compiles"]) - int(truth["best_compiles"])


@pytest.mark.parametrize("name", LAB)
def test_marking_avoids_as_many_compiles_as_experiments_did(name: str) -> None:
    report = report_of(name)
    captures = [frame for frame in report.trace.frames if frame.compiles[0].id.autograd is not None and len(frame.entries) == 1]
    gone_with_forward = len(captures[1:])  # first compiles, which are no recompiles
    assert report.summary.part(Verdict.MARKING).count + gone_with_forward == saved(name)


@pytest.mark.parametrize("name", RECORDED)
def test_the_sums_add_up(name: str) -> None:
    report = report_of(name)
    summary, compiles = report.summary, report.trace.compiles
    recompiles = [item for item in report.recompiles if item.compile.outcome is Outcome.COMPILED]
    assert sum(part.count for part in summary.parts) == len(recompiles) == summary.recompiles
    assert sum(part.seconds for part in summary.parts) == pytest.approx(summary.recompile_seconds)
    assert summary.recompile_seconds == pytest.approx(sum(item.compile.seconds for item in recompiles))
    assert summary.compiles == sum(compile.outcome is Outcome.COMPILED for compile in compiles)
    assert summary.recompile_seconds <= summary.seconds + 1e-9
    refused = [compile for compile in compiles if compile.outcome is Outcome.LIMIT]
    assert (summary.limit_hits, summary.limit_seconds) == (len(refused), pytest.approx(sum(compile.seconds for compile in refused)))
    failed = [compile for compile in compiles if compile.outcome is Outcome.FAILED]
    assert (summary.failures, summary.failed_seconds) == (len(failed), pytest.approx(sum(compile.seconds for compile in failed)))
    assert len(report.recompiles) == len(compiles) - len(report.trace.frames)
    assert {item.compile.label for frame in report.frames for item in frame.recompiles} == {
        item.compile.label for item in report.recompiles
    }


@pytest.mark.parametrize("name", RECORDED)
def test_the_parts_of_an_explanation_fit_together(name: str) -> None:
    for item in report_of(name).recompiles:
        assert (item.served_by is not None) == (item.verdict is Verdict.MARKING)
        assert (item.verdict is Verdict.LIMIT) == (item.compile.outcome is Outcome.LIMIT)
        assert item.causes or item.unexplained_because
        assert item.nearest is None or earlier(item)


def earlier(item: Recompile) -> bool:
    assert item.nearest is not None
    order = [compile.label for compile in item.frame.compiles]
    return order.index(item.nearest.label) < order.index(item.compile.label) and item.nearest.outcome is Outcome.COMPILED


def test_a_compile_that_differs_in_the_guard_of_an_int_only() -> None:
    assert recompile_of("lab/resume_int_special.log.gz", "1/2").verdict is Verdict.JUSTIFIED
    assert recompile_of("lab/module_step_counter.log.gz", "0/8").verdict is Verdict.LIMIT


def test_an_int_on_a_module_is_avoidable_by_marking() -> None:
    parts = ("L['self'].training", "L['self']._modules")
    trees = [
        guard_tree(tensor_match(), equals_match("L['self'].step", step), *(guard_manager(part, type="dict") for part in parts))
        for step in (2, 3)
    ]
    compiles = [compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees)]
    assert last_recompile(make.trace(*compiles)).verdict is Verdict.MARKING
    assert last_recompile(make.trace(*compiles, version="2.6.0")).verdict is Verdict.CODE  # which reads no list of sources


@pytest.mark.parametrize("stride", [[], [8], [8, 1, 1]])
def test_a_tensor_whose_strides_are_fewer_or_more_than_its_sizes_is_no_end(stride: list[int]) -> None:
    made = make.trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8, stride=stride)))
    explained = explain(made + compiled("0/2", tensor(12, 9, stride=[9, 1])))
    assert explained.problems == ()
    assert advise(explained).before.total == 3


def plain(found: Sequence[Recompile]) -> list[object]:
    """Recompiles of one frame, as far as they do not say which frame."""
    return [
        (
            *(
                item.causes,
                item.consequences,
                item.verdict,
                item.entries_checked,
                item.why_not_markable,
                item.blocking_rule,
                item.unexplained_because,
            ),
            *(entry and entry.id.compile for entry in (item.compile, item.nearest, item.served_by)),
        )
        for item in found
    ]


@pytest.mark.parametrize("lengths", [(8, 3), (8, 3, 5), (8, 1, 3), (8, 8)])
def test_equal_frames_are_explained_the_same_each_with_its_own_compiles(lengths: tuple[int, ...]) -> None:
    both = explain_trace(load(make.trace(*(made(lengths, frame) for frame in range(2)))))
    first, second = (both.of_frame(frame) for frame in both.trace.frames)
    assert plain(first) == plain(second)
    for frame, found in zip(both.trace.frames, (first, second), strict=True):
        alone = explain_trace(load(make.trace(made(lengths, frame.number))))
        assert plain(found) == plain(alone.recompiles)
        for item in found:
            assert item.frame is frame
            assert all(entry is None or entry in frame.compiles for entry in (item.compile, item.nearest, item.served_by))
            assert [difference.entry in frame.compiles for difference in both.compared[item.compile]] == [True] * item.entries_checked


def made(lengths: tuple[int, ...], frame: int) -> bytes:
    """A function compiled for these lengths, the last time dynamic; PyTorch names the entry before."""
    return static_sizes(*lengths[:-1], frame=frame) + compiled(
        f"{frame}/{len(lengths) - 1}",
        tensor(lengths[-1], 16),
        reasons=[size_mismatch(f"{frame}/{len(lengths) - 2}", lengths[-2], lengths[-1])],
        dynamic=[0],
    )


@pytest.mark.parametrize("change", ["reason", "entry", "outcome", "input", "graph", "code"])
def test_frames_that_differ_are_explained_each_for_itself(change: str) -> None:
    other = static_sizes(8, 3, 5, frame=1)
    if change == "reason":
        other = static_sizes(8, 3, frame=1) + compiled("1/2", tensor(5, 16), reasons=["1/1: GLOBAL_STATE changed: grad_mode"])
    elif change == "entry":
        other = static_sizes(8, 3, frame=1) + compiled("1/2", tensor(5, 16), reasons=[size_mismatch("1/0", 8, 5)])
    elif change == "outcome":
        other = static_sizes(8, 3, 5, frame=1, fail_type="Unsupported", has_guarded_code=False)
    elif change == "input":
        other = static_sizes(8, 3, 6, frame=1)
    elif change == "code":
        other = static_sizes(8, 3, 5, frame=1, line=40)
    else:
        was = output_graph((8, 8), id="1/0")
        text = was.partition(b"\n\t")[2].decode().replace("\n\t", "\n").rstrip("\n")
        now = record("dynamo_output_graph", {"sizes": {"l_x_": [8, 8]}}, text.replace("l_x_ + 1", "l_x_ * l_x_"), id="1/0")
        assert was in other
        other = other.replace(was, now)
    frames = static_sizes(8, 3, 5), other
    both = explain_trace(load(make.trace(*frames)))
    for frame, data in zip(both.trace.frames, frames, strict=True):
        assert plain(both.of_frame(frame)) == plain(explain_trace(load(make.trace(data))).recompiles)


def test_guards_without_a_checksum_are_not_taken_for_each_other() -> None:
    node = "| +- GuardManager: source=L['mode'], accessed_by=F(key='mode'), type=<class 'str'>\n| | +- EQUALS_MATCH: L['mode'] == '{}'\n"
    compiles = (
        compiled(f"{frame}/{number}", tensor(8, 16), more_guards=[node.format(f"{frame}{number}")])
        for frame in range(2)
        for number in range(2)
    )
    data = make.trace(*compiles)
    bare = re.sub(rb', "has_payload": "\w{32}"\}(?=\n\t\n\tTREE)', b"}", data)
    assert bare != data
    for trace in (load(data), load(bare)):
        values = [(item.causes[0].before, item.causes[0].after) for item in explain_trace(trace).recompiles]
        assert values == [("'00'", "'01'"), ("'10'", "'11'")]


@pytest.mark.parametrize("name", ["attribute", "int", "tensor"])
def test_the_facts_of_a_compile_are_not_looked_up_for_each_source_that_another_one_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = 0
    of = FactTable.of

    def count(self: FactTable, compile: Compile) -> CompileFacts:
        nonlocal looked_up
        looked_up += 1
        return of(self, compile)

    monkeypatch.setattr(FactTable, "of", count)
    found = []
    for number in (60, 120):
        before = looked_up
        analyze(make.load(DIMENSIONS[f"compiles of one frame for another {name} each"](number)))
        found.append(looked_up - before)
    assert found[1] < 2.3 * found[0]


def test_a_refused_call_is_compared_with_the_entry_that_marks_would_let_it_use() -> None:
    """The cache has one position in 0/1, which no mark removes, and another number of rows in 0/0, which one does."""
    made = make.trace()
    for number, (rows, length) in enumerate(((3, 6), (5, 1))):
        guards = guard_tree(tensor_match(size=(rows, length)))
        made += make.compile(f"0/{number}", make.tensor(rows, length), guards=guards)
    first = "0/1: tensor 'x' size mismatch at index 1. expected 1, actual 6"
    made += make.refused("0/2", first, "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 5")
    item = make.last_recompile(made)
    assert item.nearest is not None
    assert (item.nearest.label, item.codes) == ("0/0", ("SL101",))


def test_a_group_after_which_a_call_was_refused_did_not_converge() -> None:
    """The call has no graph, and missed the dynamic entry."""
    made = make.trace(static_sizes(10, 12), make.dynamic_size("0/2", 14))
    (group,) = explain(made).groups
    assert group.converged is not None
    (group,) = explain(made + refused("0/3", "0/2: tensor 'x' stride mismatch at index 0. expected 8, actual 16")).groups
    assert group.converged is None
