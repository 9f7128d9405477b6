"""What marking will not fix: each recompile that stays, with the rule, a sentence, and what helps instead."""

import make
import pytest
from make import compile as compiled
from make import dynamic_size, int_values, load, static_sizes, tensor, trace
from payload_text import RETURN_LINE, code_comment, global_state, graph_text, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

from shapelog.advice.remaining_recompiles import Remaining
from shapelog.model.compile import Outcome
from shapelog.rules import RULES, Verdict

TANH = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")


def left(made: bytes) -> Remaining:
    (found,) = make.advice(made).remaining
    return found


def labels(item: Remaining) -> list[str]:
    return [compile.label for compile in item.compiles]


def constants(*modes: str) -> bytes:
    made = trace()
    for number, mode in enumerate(modes):
        leaf = guard_manager("L['mode']", f"EQUALS_MATCH: L['mode'] == {mode!r}", type="str", comment=code_comment(7, "if mode == 'max':"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), seconds=2.0)
    return made


def test_a_constant_keeps_a_graph_for_each_value() -> None:
    found = left(constants("mean", "max", "sum"))
    assert (found.frame.title, found.axis, found.rule.code, found.size_related) == ("f", "mode", "SL311", False)
    assert (found.sentence, found.remedy) == ("mode changed from 'mean' to 'max'", RULES["SL311"].remedy)
    assert (labels(found), found.seconds, found.place) == (["0/1", "0/2"], 4.0, "/srv/app/model.py:7")


def test_what_changed_beside_a_size_is_what_stands_in_the_way() -> None:
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    made += compiled("0/1", tensor(12, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match(size=(12, 8))))
    found = left(made)
    assert (found.axis, found.rule.code, found.size_related, found.verdict) == ("grad_mode", "SL305", True, Verdict.CODE)
    assert found.remedy == "always call it in the same grad mode, for example under torch.no_grad(): none of its inputs requires a gradient"


def test_a_size_of_one_stays_and_its_rule_explains_why() -> None:
    found = left(trace(static_sizes(10, 1)))
    assert (found.axis, found.rule.code, found.size_related) == ("x.size[0]", "SL104", True)
    assert found.sentence == "dim 0 of x changed from 10 to 1; PyTorch always specializes on sizes 0 and 1"


def test_a_size_of_one_beside_another_size_is_what_stands_in_the_way() -> None:
    made = trace(
        compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']")), compiled("0/1", tensor(12, 8), tensor(1, 8, source="L['y']"))
    )
    assert (left(made).axis, left(made).rule.code) == ("y.size[0]", "SL104")


def test_strides_that_marks_do_not_fix_stand_in_the_way_and_not_a_size_that_came_with_them() -> None:
    """The last columns of a tensor, then all of it, with a mask of another length."""
    row, column = "L['x'].stride()[0]", "L['x'].size()[1]"
    symbols = (("s0", "9", row), ("s1", "8", column))
    masks = [(tensor(rows, source="L['a']"), tensor_match("L['a']", (rows,))) for rows in (4, 6)]
    free = guard_tree(masks[0][1], tensor_match(size=(10, None), stride=(None, 1)), shapes=[f"{row} != {column}"])
    made = trace(compiled("0/0", masks[0][0], tensor(10, 8, stride=[9, 1]), guards=free, symbols=symbols))
    own = guard_tree(masks[1][1], tensor_match(size=(10, 6), stride=(6, 1)))
    made += compiled(
        "0/1",
        masks[1][0],
        tensor(10, 6, stride=[6, 1]),
        guards=own,
        reasons=["0/0: tensor 'a' size mismatch at index 0. expected 4, actual 6"],
    )
    stays = left(made)
    assert (stays.rule.code, stays.axis) == ("SL105", "x.stride[0]")
    assert stays.change.startswith("the strides of x follow from its sizes, and did not before")


def test_another_path_of_the_code_is_a_branch_on_the_size() -> None:
    found = left(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), graph=TANH)))
    assert (found.rule.code, found.verdict) == ("SL204", Verdict.JUSTIFIED)
    assert found.sentence.startswith("dim 0 of x changed from 10 to 12; marking is not enough: the code takes a different path")
    assert found.remedy == RULES["SL204"].remedy


def test_what_the_trace_lacks_is_unexplained() -> None:
    found = left(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8))))
    assert (found.rule.code, found.axis, found.verdict) == ("SL399", "", Verdict.UNEXPLAINED)
    assert found.sentence == "no reason is recorded for it"
    assert found.remedy == RULES["SL399"].remedy


def test_an_int_that_was_left_out_is_not_recommended() -> None:
    found = left(trace(int_values(3, 4, comment=code_comment(7, "name = f'{k}'"))))
    assert found.rule.code == "SL102"
    assert found.sentence.startswith("the int k changed from 3 to 4; a mark for it was left out: f formats k into a string at model.py:7")
    assert found.remedy == "build the string outside the compiled code, or pass k as a tensor"


def test_a_mark_that_was_left_out_has_nothing_to_do_with_another_dtype() -> None:
    labelled = tensor_match(size=(8, 4)).replace(RETURN_LINE, code_comment(7, 'tmp = f"{x.shape[0]} bar"', "g"))
    double = compiled("0/2", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64")))
    made = trace(static_sizes(10, 12), double, compiled("1/0", tensor(8, 4), guards=guard_tree(labelled), name="g"))
    found = {item.axis: item.sentence for item in make.advice(made).remaining}
    assert "; a mark for it was left out: " in found["x.size[0]"]
    assert found["x.dtype"] == "the dtype of x changed from float32 to float64"


def test_ints_have_another_remedy_in_a_version_without_a_list() -> None:
    made = trace(version="")
    for number, constant in enumerate((3, 4)):
        made += compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(tensor_match(), guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")),
        )
    assert not load(made).version.reads_sources
    assert left(made).remedy.startswith("pass a tensor instead of the int")


def test_recompiles_for_the_same_reason_are_grouped_the_most_expensive_first() -> None:
    made = trace(static_sizes(10, 12, 1, seconds=1.0))
    made += compiled("0/3", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64")), seconds=5.0)
    made += compiled("0/4", tensor(1, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(size=(1, 8), dtype="float64")), seconds=3.0)
    remaining = [(item.rule.code, item.axis, labels(item), item.seconds) for item in make.advice(made).remaining]
    assert remaining == [("SL301", "x.dtype", ["0/3"], 5.0), ("SL104", "x.size[0]", ["0/2", "0/4"], 4.0)]


def test_the_same_reason_in_another_function_is_kept_apart() -> None:
    made = trace(static_sizes(10, 1), static_sizes(10, 1, frame=1, name="g"))
    assert [(item.frame.title, labels(item)) for item in make.advice(made).remaining] == [("f", ["0/1"]), ("g", ["1/1"])]


def test_what_a_mark_removes_does_not_stay() -> None:
    assert make.advice(trace(static_sizes(10), dynamic_size("0/1", 12))).remaining == ()


def test_failed_compiles_are_not_counted() -> None:
    made = trace(
        static_sizes(10, 12), compiled("0/2", tensor(10, 8, dtype="torch.float64"), guards="", graph="", fail_type="E", fail_reason="no")
    )
    assert make.advice(made).remaining == ()


@pytest.mark.parametrize("name", RECORDED)
def test_every_recompile_that_left_code_goes_or_stays(name: str) -> None:
    advice = report_of(name).advice
    assert advice is not None, name
    stay = {id(compile) for item in advice.remaining for compile in item.compiles}
    recompiles = [item.compile for item in report_of(name).recompiles if item.compile.outcome is Outcome.COMPILED]
    # A capture of compiled autograd is a function of its own, compiled once.
    recompiles += [frame.compiles[0] for frame in report_of(name).trace.frames if frame.compiles[0].id.autograd is not None]
    gone = len(recompiles) - len(stay & set(map(id, recompiles)))
    assert gone >= advice.before.compiles - advice.after.compiles, name
    assert all(item.sentence and item.remedy for item in advice.remaining), name
    seconds = [item.seconds for item in advice.remaining]
    assert seconds == sorted(seconds, reverse=True), name


def test_what_the_limit_refused_is_counted_apart() -> None:
    made = constants("max", "mean") + make.refused("0/2", "0/0: L['mode'] == 'max'")
    assert left(made).counted == "1 recompilation and 1 limit hit"


def test_of_a_justified_recompilation_the_cause_is_one_that_justifies_it() -> None:
    """As in the report: that the grad mode changed as well could be avoided, and would save nothing."""
    made = trace()
    for number, (rows, is_on) in enumerate(((10, False), (1, True))):
        guards = guard_tree(global_state(grad_mode=is_on), tensor_match(size=(rows, 8)))
        made += compiled(f"0/{number}", tensor(rows, 8), guards=guards)
    item = left(made)
    assert (item.rule.code, item.verdict) == ("SL104", Verdict.JUSTIFIED)
