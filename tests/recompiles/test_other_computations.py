"""Changes with which the code computes something else: no advice to pass the same type or keys, which would not remove the graph."""

import pytest
from make import compile as compiled
from make import explain, last_recompile, tensor, trace
from payload_text import code_comment, equals_match, graph_text, guard_manager, guard_tree, tensor_match

from shapelog.reading.payloads.properties import Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.classification.objects import identity
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict

X = 'L_x_: "f32[10, 8][8, 1]cpu"'
SIN, COS = (graph_text(X, f'y: "f32[10, 8][8, 1]cpu" = l_x_.{name}();  l_x_ = None', "return (y,)") for name in ("sin", "cos"))
TWICE, THRICE = (graph_text(X, f'y: "f32[10, 8][8, 1]cpu" = l_x_ * {number};  l_x_ = None', "return (y,)") for number in (2, 3))
LIBRARY = "opt/venv/lib/python3.11/site-packages/app/model.py"


def typed(source: str, name: str) -> str:
    return guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, {len(name)})", type=name)


def explained(leaves: tuple[str, str], graphs: tuple[str, str] = (SIN, SIN), shapes: tuple[str, ...] = ()) -> Recompile:
    first, second = (guard_tree(tensor_match(), leaf) for leaf in leaves)
    if shapes:
        second = guard_tree(tensor_match(), leaves[1], shapes=shapes)
    made = compiled("0/0", tensor(10, 8), guards=first, graph=graphs[0])
    return last_recompile(trace(made, compiled("0/1", tensor(10, 8), guards=second, graph=graphs[1])))


@pytest.mark.parametrize(
    ("after", "shapes", "verdict", "remedy"),
    [
        (3.0, (), Verdict.CODE, ""),
        (2.5, (), Verdict.CODE, "wrap the number in a tensor, torch.tensor(float(value))"),
        (2.5, ("L['k'] != 3.0  # if k != 3:  # app/model.py:6 in f (_dynamo/a.py:1 in evaluate_expr)",), Verdict.JUSTIFIED, "replace the"),
        (2.5, (f"L['k'] != 3.0  # if k != 3:  # {LIBRARY}:6 in f (_dynamo/a.py:1 in evaluate_expr)",), Verdict.JUSTIFIED, "accept one"),
        (2.5, ("L['k'] != 7.0  # if k != 7:  # app/model.py:6 in f (_dynamo/a.py:1 in evaluate_expr)",), Verdict.CODE, "wrap the number"),
    ],
    ids=["the same number", "another number", "another arm", "another arm of a library", "the same arm"],
)
def test_a_number_of_another_type(after: float, shapes: tuple[str, ...], verdict: Verdict, remedy: str) -> None:
    recompile = explained((equals_match("L['k']", 3), equals_match("L['k']", after, "float")), shapes=shapes)
    (cause,) = recompile.causes
    assert cause.sentence.startswith(f"k changed from the int 3 to {after}")
    assert (cause.codes, recompile.verdict) == (("SL310",), verdict)
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


@pytest.mark.parametrize(
    ("now", "graph", "verdict"), [("tuple", COS, Verdict.JUSTIFIED), ("tuple", SIN, Verdict.CODE), ("float", COS, Verdict.CODE)]
)
def test_several_values_in_place_of_one(now: str, graph: str, verdict: Verdict) -> None:
    leaves = (typed("L['n']", "int"), typed("L['n']", now))
    recompile = explained(leaves, (SIN, graph))
    assert [(cause.codes, cause.sentence) for cause in recompile.causes] == [(("SL310",), f"n changed from type int to {now}")]
    assert recompile.verdict is verdict


@pytest.mark.parametrize(("graph", "verdict"), [(COS, Verdict.JUSTIFIED), (SIN, Verdict.CODE)])
def test_what_functools_partial_fixes(graph: str, verdict: Verdict) -> None:
    leaves = tuple(guard_manager("L['p'].keywords", f"DICT_LENGTH: len(L['p'].keywords) == {number}", type="dict") for number in (1, 2))
    recompile = explained(leaves, (SIN, graph))
    assert [cause.codes for cause in recompile.causes] == [("SL314",)]
    assert recompile.verdict is verdict


@pytest.mark.parametrize(
    ("code", "graph", "verdict"),
    [("if KEY in d:", THRICE, Verdict.JUSTIFIED), ("if KEY in d:", TWICE, Verdict.CODE), ("for key in d:", THRICE, Verdict.CODE)],
    ids=["a branch on a key", "the same numbers", "no branch"],
)
def test_other_numbers_where_a_line_asks_for_a_key(code: str, graph: str, verdict: Verdict) -> None:
    key = "list(dict.keys(L['d']))[0]"
    leaves = tuple(equals_match(key, name, "str", code_comment(6, code)) for name in ("a", "b"))
    recompile = explained(leaves, (TWICE, graph))
    assert [cause.codes for cause in recompile.causes] == [("SL314",)]
    assert recompile.verdict is verdict


def test_a_layer_of_another_class_whatever_the_method_calls_its_object() -> None:
    layer = "L['s']._modules['layers']._modules['0']"
    leaves = (typed(layer, "app.nn.Linear"), typed(layer, "app.nn.Identity"))
    recompile = explained(leaves)
    assert [cause.codes for cause in recompile.causes] == [("SL310",)]
    assert recompile.verdict is Verdict.JUSTIFIED


def test_other_members_of_a_set_are_no_keys_to_pass() -> None:
    members = tuple(equals_match("list(dict.keys(L['s']))[0]", name, "str") for name in ("a", "b"))
    recompile = explained(tuple("\n".join((guard_manager("L['s']", type="set"), member)) for member in members))
    assert [(cause.codes, cause.sentence) for cause in recompile.causes] == [(("SL314",), "the members of the set s changed")]
    assert recompile.verdict is Verdict.JUSTIFIED


def test_a_class_that_each_call_makes_anew_is_no_object() -> None:
    """PyTorch writes the class itself as the type that an object of this identity has."""
    explained = explain(trace(compiled("0/0", tensor(10, 8))))
    known = explained.facts.of(explained.trace.compiles[0])
    was, now = "app.model.make.<locals>.Foo", "torch.autograd.function.FunctionMeta"
    found = identity(Violation(Source("L['Foo']"), Property(Kind.ID), was, now), "Foo", known, known)
    assert (found.codes, found.sentence) == (("SL308",), "Foo is a new class Foo, not the one this was compiled for")
    assert found.remedy == "define the class at module level"
