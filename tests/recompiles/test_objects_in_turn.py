"""Objects that a program uses in turn."""

import make
import pytest
from make import compile as compiled
from payload_text import equals_match, guard_manager, guard_tree, tensor_match

from shapelog.rules import Verdict


def stepped(*calls: tuple[int, int], kind: str = "app.Optimizer", reason: str = "") -> bytes:
    """A step of these objects, by their ids, with these values of a flag; ``reason`` is one of the last recompilation."""
    made = make.trace()
    for number, (id, flag) in enumerate(calls):
        holder = guard_manager("L['opt']", f"ID_MATCH: ___check_obj_id(L['opt'], {id})", type=kind)
        guards = guard_tree(tensor_match(), holder, equals_match("L['flag']", f"mode {flag}", "str"))
        reasons = (reason,) if reason and number == len(calls) - 1 else ()
        made += compiled(f"0/{number}", make.tensor(10, 8), guards=guards, reasons=reasons)
    return made


@pytest.mark.parametrize(
    ("calls", "reason", "verdict"),
    [
        (((7, 0), (8, 0), (8, 1)), "", Verdict.JUSTIFIED),
        (((7, 0), (8, 0), (9, 0)), "", Verdict.CODE),
        (((7, 0), (8, 0), (8, 1)), "0/1: Cache line invalidated because L['opt'] got deallocated", Verdict.CODE),
    ],
    ids=["in turn", "new in each call", "another one with the id"],
)
def test_an_object_that_comes_back_is_one_of_several(calls: tuple[tuple[int, int], ...], reason: str, verdict: Verdict) -> None:
    first = make.explain(stepped(*calls, reason=reason)).recompiles[0]
    assert (first.codes, first.verdict) == (("SL308",), verdict)
    assert first.causes[0].own_remedy.startswith("accept one graph for each of these objects") is (verdict is Verdict.JUSTIFIED)


def test_a_tensor_that_comes_back_may_as_well_be_written_into() -> None:
    first = make.explain(stepped((7, 0), (8, 0), (8, 1), kind="torch.Tensor")).recompiles[0]
    assert (first.codes, first.verdict) == (("SL308",), Verdict.CODE)


def test_another_change_that_the_code_is_to_blame_for_stays_so() -> None:
    """Its object is used in turn, and its type of number changed as well."""
    made = make.trace()
    for number, (id, scale) in enumerate(((7, 3), (8, 2.5), (8, 3))):
        holder = guard_manager("L['opt']", f"ID_MATCH: ___check_obj_id(L['opt'], {id})", type="app.Optimizer")
        guards = guard_tree(tensor_match(), holder, equals_match("L['scale']", scale, type(scale).__name__))
        made += compiled(f"0/{number}", make.tensor(10, 8), guards=guards)
    first = make.explain(made).recompiles[0]
    assert first.verdict is Verdict.CODE
    assert {cause.codes[0]: cause.verdict for cause in first.causes}["SL308"] is Verdict.JUSTIFIED
