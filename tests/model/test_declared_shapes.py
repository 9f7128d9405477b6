"""Shapes that a program declares are read from the settings of its compilations, and compared with the sizes seen."""

import json
from typing import Any

import make
import orjson
import pytest

from shapelog.advice.advise import advise
from shapelog.model.declared_shapes import declarations
from shapelog.model.trace import Trace
from shapelog.recompiles.explain import explain_trace
from shapelog.report.report import analyze

BATCH = {"type": "ShapeVar", "name": "b", "min": 0, "max": 64, "optimization_hint": None}
TENSOR = {"type": "TensorSpec", "dims": [BATCH, None]}


def declaring(params: dict[str, Any], setting: str = "_shapes_spec") -> Trace:
    spec = {"type": "ShapesSpec", "params": {"type": "ParamsSpec", "params": params}, "assumptions": []}
    fields = {"dynamo_config": json.dumps({setting: spec}), "pytorch_version": "2.13.0"}
    calls = [make.compile(f"0/{number}", make.tensor(4, size), **fields) for number, size in enumerate((8, 5))]
    return make.load(make.trace(*calls))


def sizes(params: dict[str, Any]) -> list[tuple[str, int | None, str]]:
    (declared,) = declarations(declaring(params)).values()
    return [tuple(item) for item in declared.sizes]  # type: ignore[misc]


def test_a_tensor_has_a_range_or_a_value_for_each_dim() -> None:
    named = {**TENSOR, "dims": [BATCH, None, 16, {**BATCH, "name": None, "max": None}]}
    assert sizes({"x": named}) == [("L['x']", 0, "b, 0 to 64"), ("L['x']", 1, ""), ("L['x']", 2, "16"), ("L['x']", 3, "at least 0")]


def test_parts_of_objects_dicts_and_sequences_are_named_by_their_source() -> None:
    number = {"type": "IntVar", "name": "n", "min": None, "max": None}
    held = {"type": "ObjectSpec", "fields": {"n": number}}
    entries = {"type": "DictSpec", "entries": {"k": {"type": "SeqSpec", "entries": [{"type": "TensorSpec", "dims": [None]}]}}}
    assert sizes({"self": held, "d": entries}) == [("L['self'].n", None, "n, any"), ("L['d']['k'][0]", 0, "")]


@pytest.mark.parametrize(("setting", "argument"), [("_shapes_spec", "shapes_spec"), ("_dynamic_shapes_spec", "dynamic_shapes")])
def test_the_argument_is_that_of_the_version(setting: str, argument: str) -> None:
    (declared,) = declarations(declaring({"x": TENSOR}, setting)).values()
    assert declared.argument == argument


@pytest.mark.parametrize("params", [{}, {"x": {"type": "TensorSpec"}}, {"x": {"type": "DictSpec", "entries": 3}}])
def test_a_declaration_of_another_form_harms_nothing(params: dict[str, Any]) -> None:
    assert [item.sizes for item in declarations(declaring(params)).values()] in ([()], [])
    assert analyze(declaring(params)).table("declared_shapes") is None


def test_each_declared_size_is_compared_with_those_seen() -> None:
    table = analyze(declaring({"x": TENSOR})).table("declared_shapes")
    assert table is not None
    assert table.rows == (
        ("f", "x.size[0]", "b, 0 to 64", "4", "one value seen"),
        ("f", "x.size[1]", "static", "8, 5", "varies: declare it, too"),
    )


def test_advice_for_a_function_with_a_declaration_names_the_argument_that_decides() -> None:
    caveat = "f declares its shapes with shapes_spec=, where the list has no effect: declare x.size[1] there, too."
    assert caveat in advise(explain_trace(declaring({"x": TENSOR}))).caveats


def test_a_declaration_of_hundreds_of_levels_is_passed_over() -> None:
    levels = 490
    nested = '{"type": "SeqSpec", "entries": [' * levels + "null" + "]}" * levels
    settings = f'{{"_shapes_spec": {{"params": {{"params": {{"x": {nested}}}}}}}}}'
    assert orjson.loads(settings)
    call = make.compile("0/0", make.tensor(4, 8), dynamo_config=settings, pytorch_version="2.13.0")
    assert declarations(make.load(make.trace(call))) == {}
