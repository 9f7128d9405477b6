"""Dynamism travels through compiled outputs where AOTAutograd ran: the tensors of a resumed function need no mark of their own then."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

import make
import pytest
from dimensions import DIMENSIONS
from payload_text import RETURN_LINE, global_state, graph_text, guard_tree, tensor_match
from recorded import FIXTURES

from shapelog.advice.advise import advise
from shapelog.advice.dynamism.compiled_code import CompiledCode
from shapelog.advice.dynamism.propagation import DynamismPropagation
from shapelog.advice.marks import Mark
from shapelog.advice.routes import Router
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import explain_trace

RESUMED = "torch_dynamo_resume_in_f_at_7"
X = Mark(Source("L['x']"), 0)
BATCH = 's77: "Sym(s77)", L_x_: "f32[s77, 8][8, 1]cpu"'


def returning(*outputs: str, inputs: str = BATCH) -> str:
    """A graph with these outputs, ``h: "f32[s77, 8][8, 1]cpu"``, each made from its input."""
    made = [f"{item} = l_x_ + 1" for item in outputs]
    return graph_text(inputs, *made, f"return ({', '.join(item.partition(':')[0] for item in outputs)},)")


def broken(
    *outputs: str, local: str = "h", item: str = "", sizes: tuple[tuple[int, ...], ...] = ((10, 8), (12, 8)), is_aot: bool = True
) -> bytes:
    """f, dynamic from its second compile on, breaks; what resumes it gets a tensor of these sizes as a local, or an item of one."""
    made = make.trace()
    made += make.compile("0/0", make.tensor(10, 8), graph=returning('h: "f32[10, 8][8, 1]cpu"', inputs='L_x_: "f32[10, 8][8, 1]cpu"'))
    source = f"L['{local}']{item}"
    made += make.compile("1/0", make.tensor(*sizes[0], source=source), name=RESUMED)
    guards = guard_tree(tensor_match(size=(None, 8)))
    symbols = (("s77", "12", "L['x'].size()[0]"),)
    made += make.compile("0/1", make.tensor(12, 8), guards=guards, symbols=symbols, graph=returning(*outputs))
    made += make.compile("1/1", make.tensor(*sizes[1], source=source), name=RESUMED)
    for label in ("0/0", "0/1", "1/0", "1/1") if is_aot else ():
        made += make.record("aot_inference_graph", {}, "a graph", id=label)
    return made


def origins(made: bytes, source: str = "L['h']", dim: int = 0) -> tuple[Mark, ...]:
    explained = make.explain(made)
    resumed = next(frame for frame in explained.trace.frames if frame.number == 1)
    return DynamismPropagation(explained.trace).origins(resumed, Source(source), dim)


def test_an_output_of_the_same_name_and_sizes_is_where_the_tensor_comes_from() -> None:
    assert origins(broken('h: "f32[s77, 8][8, 1]cpu"')) == (X,)
    assert advise(make.explain(broken('h: "f32[s77, 8][8, 1]cpu"'))).env == "L['x']:0"


def test_a_name_that_fx_numbered_is_the_same() -> None:
    assert origins(broken('h_1: "f32[s77, 8][8, 1]cpu"')) == (X,)


def test_a_size_may_be_computed_from_the_symbol() -> None:
    assert origins(broken('h: "f32[2*s77 + 1, 8][8, 1]cpu"', sizes=((21, 8), (25, 8)))) == (X,)


@pytest.mark.parametrize(
    "made",
    [
        broken('h: "f32[s77, 9][9, 1]cpu"'),
        broken('h: "f32[s77][1]cpu"'),
        broken('h: "f32[s99, 8][8, 1]cpu"'),
    ],
    ids=["another size", "another rank", "a symbol of nowhere"],
)
def test_another_output_is_not_where_it_comes_from(made: bytes) -> None:
    assert origins(made) == ()
    assert "L['h']:0" in advise(make.explain(made)).entries


def test_the_only_output_that_it_can_be_is_where_it_comes_from_under_another_name() -> None:
    """It may have come out of the tuple that another function returned."""
    made = broken('other: "f32[s77, 8][8, 1]cpu"')
    assert origins(made) == (X,)
    assert advise(make.explain(made)).env == "L['x']:0"


def test_a_value_on_the_stack_has_no_name_and_may_be_any_output() -> None:
    assert origins(broken('other: "f32[s77, 8][8, 1]cpu"', local="___stack0"), "L['___stack0']") == (X,)


@pytest.mark.parametrize(
    ("reason", "line", "local", "expected"),
    [
        ("Dynamic shape operator", 7, "___stack0", ()),
        ("Dynamic shape operator", 7, "h", (X,)),
        ("Dynamic shape operator", 9, "___stack0", (X,)),  # further inside, in code that is compiled by itself
        ("Data-dependent branching", 7, "___stack0", (X,)),
    ],
)
def test_what_the_broken_operation_returned_is_no_output(reason: str, line: int, local: str, expected: tuple[Mark, ...]) -> None:
    """In ``return y[keep].amax(0)`` it is on top of Python's stack."""
    made = broken('h: "f32[s77, 8][8, 1]cpu"', local=local)
    assert origins(before_resuming(made, break_at(line, reason)), f"L['{local}']") == expected


@pytest.mark.parametrize(
    ("failed_at", "local", "more", "expected"),
    [
        (9, "___stack0", b"", ()),
        (9, "h", b"", (X,)),
        (8, "___stack0", b"", (X,)),
        (
            9,
            "___stack0",
            make.compile("3/0", make.tensor(10, 8), name="layer") + make.record("aot_inference_graph", {}, "", id="3/0"),
            (X,),
        ),
    ],
    ids=["result", "local", "another line", "compiled in parts"],
)
def test_what_code_returned_that_failed_to_compile_is_no_output(
    failed_at: int, local: str, more: bytes, expected: tuple[Mark, ...]
) -> None:
    """The graph broke in code that is called, which cannot be compiled by itself either: it returns what eager mode computed."""
    made = broken('h: "f32[s77, 8][8, 1]cpu"', local=local)
    failed = break_at(failed_at, id="2/0") + make.compile("2/0", name="called", fail_type="Unsupported", fail_reason="Tensor.item()")
    made = before_resuming(made, break_at(9) + failed + more)
    assert origins(made, f"L['{local}']") == expected
    assert (f"L['{local}']:0" in advise(make.explain(made)).entries) is (expected == ())


LAYER = make.compile("2/0", make.tensor(10, 8), name="layer") + make.record("aot_inference_graph", {}, "", id="2/0")


@pytest.mark.parametrize(
    ("inside", "local", "more", "expected"),
    [
        ("forward", "___stack0", b"", ()),
        ("forward", "h", b"", (X,)),
        ("layer", "___stack0", LAYER, (X,)),  # compiled by itself, for an earlier call
        ("forward", "___stack0", LAYER, (X,)),
    ],
)
def test_what_code_returned_that_left_no_record_is_no_output(inside: str, local: str, more: bytes, expected: tuple[Mark, ...]) -> None:
    """The graph broke in a module of PyTorch that runs in eager mode, as nothing of PyTorch is compiled by itself."""
    made = broken('h: "f32[s77, 8][8, 1]cpu"', local=local)
    records = break_at(7, inside=inside)
    if inside == "layer":
        made = make.trace() + more + made.removeprefix(make.trace())
    made = before_resuming(made, records + more if inside == "forward" else records)
    assert origins(made, f"L['{local}']") == expected


def break_at(line: int, reason: str = "Unsupported Tensor.item() call", id: str = "0/0", inside: str = "") -> bytes:
    """The record of a graph break at a line, or in a function that it calls."""
    text = f"Graph break in user code at {make.MODEL}:{3 if inside else line}\nGraph Break Reason: {reason}\nUser code traceback:\n"
    text += f'  File "{make.MODEL}", line {line}, in f\n    return y[keep].amax(0)\n'
    if inside:
        text += f'  File "{make.MODEL}", line 3, in {inside}\n    causal = bool(mask.all())\n'
    return make.artifact("dynamo_graph_break_reason", text, id=id)


def before_resuming(made: bytes, records: bytes) -> bytes:
    """A trace with more records where the code after a graph break is compiled first."""
    cut = made.rindex(b"\n", 0, made.index(b'"frame_id": 1')) + 1
    assert cut < made.index(make.record("aot_inference_graph", {}, "a graph", id="0/0"))
    return made[:cut] + records + made[cut:]


def test_a_static_dim_comes_from_nowhere() -> None:
    assert origins(broken('h: "f32[s77, 8][8, 1]cpu"'), dim=1) == ()


def test_backends_without_aotautograd_pass_nothing_on() -> None:
    made = broken('h: "f32[s77, 8][8, 1]cpu"', is_aot=False)
    assert origins(made) == ()
    assert advise(make.explain(made)).env == "L['h']:0,L['x']:0"


def test_one_graph_that_did_not_go_through_aotautograd_is_enough_to_be_careful() -> None:
    made = broken('h: "f32[s77, 8][8, 1]cpu"') + make.compile("2/0", make.tensor(10, 8), name="g")
    assert origins(made) == ()


def test_graphs_taken_from_the_cache_of_aotautograd_count() -> None:
    made = broken('h: "f32[s77, 8][8, 1]cpu"', is_aot=False)
    assert b"aotautograd" not in made
    for label in ("0/0", "0/1", "1/0", "1/1"):
        made += make.artifact("aotautograd_cache_hit", "{}", id=label)
    assert origins(made) == (X,)


def test_a_function_by_itself_gets_its_tensors_from_its_caller() -> None:
    explained = make.explain(broken('h: "f32[s77, 8][8, 1]cpu"'))
    first = next(frame for frame in explained.trace.frames if frame.number == 0)
    assert DynamismPropagation(explained.trace).origins(first, Source("L['x']"), 0) == ()


def two_towers(*sources: str, tie: str = "") -> bytes:
    """Two outputs of one size, each made by an entry that takes one of these inputs; a third function takes both. ``tie`` is a guard of
    each entry, which takes x then as well.
    """
    made = make.trace() + make.compile("0/0", make.tensor(10, 8), graph=returning('h: "f32[10, 8][8, 1]cpu"'))
    made += make.compile("1/0", make.tensor(10, 8, source="L['a']"), make.tensor(10, 8, source="L['b']"), name="score")
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=[tie] if tie else [])
    for number, source in enumerate(sources, 1):
        symbols = (("s77", "12", f"{source}.size()[0]"),)
        graph = returning('h: "f32[s77, 8][8, 1]cpu"')
        taken = dict.fromkeys((source, *(("L['x']",) if tie else ())))
        tensors = [make.tensor(12, 8, source=item) for item in taken]
        made += make.compile(f"0/{number}", *tensors, guards=guards, symbols=symbols, graph=graph)
    made += make.compile("1/1", make.tensor(12, 8, source="L['a']"), make.tensor(12, 8, source="L['b']"), name="score")
    for label in ("0/0", "1/0", "1/1", *(f"0/{number}" for number, _ in enumerate(sources, 1))):
        made += make.record("aot_inference_graph", {}, "a graph", id=label)
    return made


def test_as_many_outputs_as_inputs_of_one_size_come_from_what_their_makers_share() -> None:
    assert origins(two_towers("L['x']", "L['x']"), "L['a']") == origins(two_towers("L['x']", "L['x']"), "L['b']") == (X,)
    assert origins(two_towers("L['x']", "L['y']"), "L['a']") == ()
    tied = two_towers("L['x']", "L['y']", tie=f"L['y'].size()[0] == L['x'].size()[0]{RETURN_LINE}")
    assert X in origins(tied, "L['a']")  # the code needs both equal, so that one symbol is for both
    assert origins(two_towers("L['x']"), "L['a']") == ()


def listed(*sources: str, **fields: bool) -> bytes:
    """A function with one output is called for each of these inputs of another one, which also takes a tensor of the same sizes."""
    made, weight = make.trace(), make.tensor(5, source="L['self'].weight", requires_grad=True)
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        made += make.compile(f"0/{number}", make.tensor(rows, 8), weight, graph=graph, symbols=symbols)
        passed = [make.tensor(rows, 8, source=source, **fields) for source in sources]
        made += make.compile(f"1/{number}", *passed, make.tensor(rows, 8, source="L['target']"), name="loss")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    return made


def test_a_tensor_that_autograd_knows_is_told_apart_from_one_that_it_does_not() -> None:
    assert origins(listed("L['h']", requires_grad=True, is_leaf=False), "L['h']") == (X,)
    assert origins(listed("L['h']"), "L['h']") == origins(listed("L['h']", requires_grad=True, is_leaf=False), "L['target']") == ()


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (("L['real'][0][0]", "L['fake'][0][0]"), (X,)),
        (("L['preds'][0]", "L['preds'][1]", "L['preds'][2]"), (X,)),
        (("L['a']", "L['b']"), ()),
        (("L['args'][0]", "L['args'][1]"), ()),
    ],
)
def test_the_items_of_a_list_may_be_what_several_calls_returned(sources: tuple[str, ...], expected: tuple[Mark, ...]) -> None:
    made = listed(*sources, requires_grad=True, is_leaf=False)
    trace = make.explain(made).trace
    found, loss = DynamismPropagation(trace), trace.frames[1]
    assert [found.origins(loss, Source(source), 0) for source in sources] == [expected] * len(sources)
    assert all(found.is_guessed(loss, Source(source), 0) for source in sources) is bool(expected)


def test_a_local_of_resumed_code_is_an_output_that_fx_may_name_after_an_operation() -> None:
    """Only the call that broke the graph lies between them. Of two outputs of its sizes it may be either."""
    made = broken('view: "f32[s77, 8][8, 1]cpu"', 'other: "f32[s77, 8][8, 1]cpu"')
    assert origins(made) == (X,)
    assert advise(make.explain(made)).env == "L['x']:0"
    assert origins(broken('view: "f32[s77, 8][8, 1]cpu"', 'other: "f32[12, 8][8, 1]cpu"')) == ()


@pytest.mark.parametrize(("line", "expected"), [("h = x.detach()", ()), ("h, noise = x.detach(), n", (X,)), ("y = x.detach()", (X,))])
def test_a_local_that_no_line_before_the_break_assigns_is_no_output_where_one_assigns_another(
    line: str, expected: tuple[Mark, ...]
) -> None:
    """An argument of the function, which only the code after the graph break takes; fx names the output after an operation."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        comment = f"# File: {make.MODEL}:6 in f, code: {line}"
        graph = graph_text(
            BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"',
            comment,
            f'detach: "f32[{dim}, 8][8, 1]cpu" = l_x_.detach()',
            "return (detach,)",
        )
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), graph=graph, symbols=symbols, guards=guards)
        taken = make.tensor(rows, 8, source="L['h']"), make.tensor(rows, 8, source="L['noise']")
        made += make.compile(f"1/{number}", *taken, name=RESUMED)
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made) == (X,)
    assert origins(made, "L['noise']") == expected


def test_one_input_that_looks_like_two_outputs_may_be_computed_from_both() -> None:
    """An encoder returns mean and deviation; the decoder takes a sample that was drawn in eager mode."""
    made = broken('mean: "f32[s77, 8][8, 1]cpu"', 'std: "f32[s77, 8][8, 1]cpu"', local="z").replace(RESUMED.encode(), b"decode")
    assert origins(made, "L['z']") == ()
    assert advise(make.explain(made)).env == "L['x']:0,L['z']:0"


@pytest.mark.parametrize(("rows", "is_view", "expected"), [(12, False, (X,)), (6, False, (X,)), (6, True, ())])
def test_a_part_of_an_output_does_not_have_its_dynamic_dims(rows: int, is_view: bool, expected: tuple[Mark, ...]) -> None:
    """A function of its own is called with the output, then perhaps with a slice of it."""
    made = broken('h: "f32[s77, 8][8, 1]cpu"').replace(RESUMED.encode(), b"score")
    more = make.compile("1/2", make.tensor(rows, 8, source="L['h']", is_view=is_view), name="score")
    assert origins(made + more + make.record("aot_inference_graph", {}, "a graph", id="1/2")) == expected


@pytest.mark.parametrize(("rows", "expected"), [(6, (X,)), (7, ())])
def test_a_view_of_all_of_a_tensor_may_be_an_output(rows: int, expected: tuple[Mark, ...]) -> None:
    """AOTAutograd returns views of what it computed; an earlier graph may have made this one, as no compile shows it."""
    made = broken('h: "f32[s77, 8][8, 1]cpu"').replace(RESUMED.encode(), b"score")
    base, view = make.tensor(rows, 8, source="L['h']._base"), make.tensor(6, 8, source="L['h']", is_view=True, base=0)
    more = make.compile("1/2", base, view, name="score")
    assert origins(made + more + make.record("aot_inference_graph", {}, "a graph", id="1/2")) == expected


@pytest.mark.parametrize(
    ("grad_mode", "weight", "tensor", "expected"),
    [
        (True, True, {"requires_grad": True, "is_leaf": False}, (X,)),
        (False, True, {"requires_grad": True, "is_leaf": False}, ()),
        (True, False, {"requires_grad": True, "is_leaf": False}, ()),
        (False, True, {}, (X,)),
        (True, False, {}, (X,)),
        (True, True, {}, ()),
        (False, True, {"requires_grad": True, "is_leaf": True}, (X,)),
    ],
    ids=["trained", "no_grad", "nothing to train", "no gradient", "without weights", "output of a trained graph", "leaf"],
)
def test_what_requires_grad_comes_from_a_graph_that_is_trained(
    grad_mode: bool, weight: bool, tensor: dict[str, bool], expected: tuple[Mark, ...]
) -> None:
    """Positions are embedded under no_grad, and a layer takes their sum with what eager code made, which requires grad."""
    made, state = make.trace(), global_state(grad_mode=grad_mode)
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        inputs = make.tensor(rows, 8), make.tensor(5, source="L['self'].weight", requires_grad=weight)
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)), state)
        made += make.compile(f"0/{number}", *inputs, name="embed", graph=graph, symbols=symbols, guards=guards)
        made += make.compile(f"1/{number}", make.tensor(rows, 8, source="L['h']", **tensor), name="layer")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made, "L['h']") == expected


@pytest.mark.parametrize(("made_by", "expected"), [("y.detach()", (X,)), ("y.clone()", ())])
def test_a_graph_that_is_trained_returns_what_it_detaches_without_a_history(made_by: str, expected: tuple[Mark, ...]) -> None:
    """A memory of what was encoded, returned with that: both have the same sizes."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        parts = [f'{name}: "f32[{dim}, 8][8, 1]cpu" = {code}' for name, code in (("y", "l_x_ + l_w_"), ("h", made_by))]
        graph = graph_text(BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"', *parts, "return (y, h)")
        inputs = make.tensor(rows, 8), make.tensor(5, source="L['self'].weight", requires_grad=True)
        made += make.compile(f"0/{number}", *inputs, name="encode", graph=graph, symbols=symbols)
        made += make.compile(f"1/{number}", make.tensor(rows, 8, source="L['h']"), name="decode")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made) == expected


@pytest.mark.parametrize(("other", "expected"), [({"requires_grad": True, "is_leaf": False}, (X,)), ({}, ())], ids=["a prediction", "data"])
def test_what_requires_grad_is_apart_from_what_a_graph_returned_under_no_grad(other: dict[str, bool], expected: tuple[Mark, ...]) -> None:
    """The target that a teacher made, which the loss takes with a prediction of the same sizes."""
    made, state = make.trace(), global_state(grad_mode=False)
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)), state)
        made += make.compile(f"0/{number}", make.tensor(rows, 8), name="teacher", graph=graph, symbols=symbols, guards=guards)
        passed = make.tensor(rows, 8, source="L['h']"), make.tensor(rows, 8, source="L['p']", **other)
        made += make.compile(f"1/{number}", *passed, name="loss")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made, "L['h']") == expected
    assert origins(made, "L['p']") == ()


@pytest.mark.parametrize(("fx", "dtype", "expected"), [("b8", "bool", (X,)), ("i64", "int64", (X,)), ("bf16", "bfloat16", ())])
def test_a_graph_that_is_trained_returns_bools_and_ints_without_a_history(fx: str, dtype: str, expected: tuple[Mark, ...]) -> None:
    """A mask of what is no padding, returned with the encoded text. A float without a history is another tensor."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]")] if number else ()
        graph = returning(f'h: "{fx}[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        inputs = make.tensor(rows, 8), make.tensor(5, source="L['self'].weight", requires_grad=True)
        made += make.compile(f"0/{number}", *inputs, name="encode", graph=graph, symbols=symbols)
        made += make.compile(f"1/{number}", make.tensor(rows, 8, source="L['h']", dtype=f"torch.{dtype}"), name="decode")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made, "L['h']") == expected


@pytest.mark.parametrize(
    ("comment", "has_own", "is_needed"),
    [
        (RETURN_LINE, False, True),
        ("  # (unknown var s77, please file a bug)", False, False),
        ("  # (unknown var s17, please file a bug)", True, True),
    ],
    ids=["a line", "a shared symbol", "two symbols"],
)
def test_a_size_that_the_code_ties_to_the_origin_is_needed_with_it(comment: str, has_own: bool, is_needed: bool) -> None:
    """Where one of the two is static, both are. Sizes that were equal by chance may share a symbol without a line that needs it."""
    made, needed = make.trace(), (Mark(Source("L['mask']"), 0),) if is_needed else ()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        symbols = [("s77", rows, "L['x'].size()[0]"), *([("s17", rows, "L['mask'].size()[0]")] if has_own else [])] if number else ()
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        tie = f"L['mask'].size()[0] == L['x'].size()[0]{comment}"
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)), shapes=[tie] if number else [])
        inputs = make.tensor(rows, 8), make.tensor(rows, source="L['mask']")
        made += make.compile(f"0/{number}", *inputs, name="embed", graph=graph, symbols=symbols, guards=guards)
        made += make.compile(f"1/{number}", make.tensor(rows, 8, source="L['h']"), name="layer")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    trace = make.explain(made).trace
    found, layer = DynamismPropagation(trace), trace.frames[1]
    assert found.origins(layer, Source("L['h']"), 0) == (X,)
    assert found.partners(layer, Source("L['h']"), 0) == needed


def with_two_graphs(dim: str, pins: bool) -> bytes:
    """embed is called with a mask, for two lengths, then without one for another batch size; layer takes what it returns each time.

    ``dim`` is the batch size in what the dynamic graph with a mask returns, which needs that of x where it ``pins`` it.
    """
    made, x, mask = make.trace(), ("L['x'].size()[0]", "L['x'].size()[1]"), "L['mask']"
    symbols = (("s77", 10, x[0]), ("s27", 6, x[1]))
    static = graph_text('L_x_: "f32[10, 4][4, 1]cpu"', 'h: "f32[10, 4][4, 1]cpu" = l_x_ + 1', "return (h,)")
    longer = graph_text('s77: "Sym(s77)", L_x_: "f32[s77, s27][s27, 1]cpu"', f'h: "f32[{dim}, s27][s27, 1]cpu" = l_x_ + 1', "return (h,)")
    other = graph_text('s77: "Sym(s77)", L_x_: "f32[s77, s27][s27, 1]cpu"', 'h: "f32[s77, s27][s27, 1]cpu" = l_x_ - 1', "return (h,)")
    made += make.compile("0/0", make.tensor(10, 4), make.tensor(10, source=mask), name="embed", graph=static)
    made += make.compile("1/0", make.tensor(10, 4, source="L['h']"), name="layer")
    made += make.compile("0/1", make.tensor(12, 5), name="embed", graph=other, symbols=(("s77", 12, x[0]), ("s27", 5, x[1])))
    made += make.compile("1/1", make.tensor(12, 5, source="L['h']"), name="layer")
    pinned = [{"symbol": "s77", "sources": [x[0]], "value": "10"}] if pins else []
    inputs = make.tensor(10, 6), make.tensor(10, source=mask)
    made += make.compile("0/2", *inputs, name="embed", graph=longer, symbols=symbols, specializations=pinned)
    return made + b"".join(make.record("aot_inference_graph", {}, "a graph", id=id) for id in ("0/0", "0/1", "0/2", "1/0", "1/1"))


@pytest.mark.parametrize(("dim", "pins", "expected"), [("10", True, ()), ("s77", False, (X,)), ("s77", True, (X,)), ("10", False, (X,))])
def test_a_mark_passes_nothing_on_where_the_graph_of_the_first_call_needs_its_value(
    dim: str, pins: bool, expected: tuple[Mark, ...]
) -> None:
    """A further tensor of that call has the same size, static: so is what it returns, though another graph returns a dynamic one."""
    assert origins(with_two_graphs(dim, pins), "L['h']") == expected
    assert origins(with_two_graphs(dim, pins), "L['h']", 1) == (Mark(Source("L['x']"), 1),)


def layers(source: str) -> bytes:
    """f is called as an encoder, then as a decoder with what the encoder made as a further input, twice, for another size."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        x, symbols = make.tensor(rows, 8), [("s77", rows, "L['x'].size()[0]")] if number else ()
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        made += make.compile(f"0/{2 * number}", x, graph=graph, symbols=symbols)
        made += make.compile(f"0/{2 * number + 1}", make.tensor(5, 8), make.tensor(rows, 8, source=source))
    return made + b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"0/{number}") for number in range(4))


@pytest.mark.parametrize(("source", "expected"), [("L['args'][1]", (X,)), ("L['self'].memory", ())])
def test_a_function_may_be_passed_what_it_returned_when_called_without_it(source: str, expected: tuple[Mark, ...]) -> None:
    """What it keeps itself is known by the objects that it changes."""
    trace = make.explain(layers(source)).trace
    assert DynamismPropagation(trace).origins(trace.frames[0], Source(source), 0) == expected


def test_a_last_batch_of_one_leaves_open_where_the_others_come_from() -> None:
    """A size of 1 is a constant in the output, too."""
    made = layers("L['args'][1]")
    for number, sizes in enumerate(([1], [5, 1])):
        tensors = [make.tensor(size, 8, source=source) for size, source in zip(sizes, ("L['x']", "L['args'][1]"), strict=False)]
        graph = returning('h: "f32[1, 8][8, 1]cpu"', inputs='L_x_: "f32[1, 8][8, 1]cpu"') if not number else None
        made += make.compile(f"0/{4 + number}", *tensors, graph=graph)
        made += make.record("aot_inference_graph", {}, "a graph", id=f"0/{4 + number}")
    trace = make.explain(made).trace
    assert DynamismPropagation(trace).origins(trace.frames[0], Source("L['args'][1]"), 0) == (X,)


def test_dynamism_does_not_cross_between_ranks_that_share_a_process_id() -> None:
    """Only rank 1 returns a dynamic tensor, so that of rank 0 comes from nowhere."""
    ranks = (broken('h: "f32[10, 8][8, 1]cpu"'), broken('h: "f32[s77, 8][8, 1]cpu"'))
    trace = explain_trace(make.load_ranks(*(made for made in ranks))).trace
    propagation = DynamismPropagation(trace)
    resumed = {frame.rank: frame for frame in trace.frames if frame.number == 1}
    assert resumed[0].process == resumed[1].process
    assert [propagation.origins(resumed[rank], Source("L['h']"), 0) for rank in (0, 1)] == [(), (X,)]


def test_what_is_handed_on_twice_comes_from_where_the_first_function_got_it() -> None:
    """f returns h, g takes it and returns y of other columns, score takes y."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        batch = BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"'
        for frame, (name, source, columns, output) in enumerate(
            (("f", "L['x']", 8, "h"), ("g", "L['h']", 8, "y"), ("score", "L['y']", 4, "z"))
        ):
            graph = returning(f'{output}: "f32[{dim}, {4 if name == "g" else 8}][{4 if name == "g" else 8}, 1]cpu"', inputs=batch)
            symbols = [("s77", rows, f"{source}.size()[0]")] if number else ()
            tensor = make.tensor(rows, columns, source=source)
            made += make.compile(f"{frame}/{number}", tensor, name=name, graph=graph, symbols=symbols)
            made += make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}")
    trace = make.explain(made).trace
    score = next(frame for frame in trace.frames if frame.number == 2)
    assert DynamismPropagation(trace).origins(score, Source("L['y']"), 0) == (Mark(Source("L['h']"), 0), X)
    assert advise(make.explain(made)).env == "L['x']:0"


@pytest.mark.parametrize(("more", "expected"), [(0, (X,)), (1, ())])
def test_a_local_that_code_before_a_break_only_reads_comes_from_where_that_got_it(more: int, expected: tuple[Mark, ...]) -> None:
    """start returns h, f takes it, reads its size and breaks, the rest takes h and other; an h with more rows is another tensor."""
    made = make.trace()
    for number, (rows, dim) in enumerate(((10, "10"), (12, "s77"))):
        batch = BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"'
        for frame, (name, source, width) in enumerate((("start", "L['x']", 8), ("f", "L['h']", 4), (RESUMED, "L['h']", 4))):
            graph = returning(f'y: "f32[{dim}, {width}][{width}, 1]cpu"', inputs=batch)
            symbols = [("s77", rows, f"{source}.size()[0]")] if number else ()
            locals_ = (source, "L['other']") if frame == 2 else (source,)
            tensors = [make.tensor(rows + (more if frame == 2 else 0), 8, source=item) for item in locals_]
            made += make.compile(f"{frame}/{number}", *tensors, name=name, graph=graph, symbols=symbols)
            made += make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}")
    trace = make.explain(made).trace
    resumed = next(frame for frame in trace.frames if frame.number == 2)
    assert DynamismPropagation(trace).origins(resumed, Source("L['h']"), 0) == expected


def test_an_item_of_a_tuple_that_the_code_before_the_break_made_is_any_output_of_its_look() -> None:
    made = broken('alpha_src: "f32[s77, 8][8, 1]cpu"', 'alpha_dst: "f32[s77, 8][8, 1]cpu"', local="alpha", item="[1]")
    assert origins(made, "L['alpha'][1]") == (X,)


@pytest.mark.parametrize("source", ["L['self'].cache", "L['d']['h']", "G['h']"])
def test_only_locals_of_a_resumed_function_come_from_outputs(source: str) -> None:
    assert origins(broken('h: "f32[s77, 8][8, 1]cpu"'), source) == ()


# In microseconds; with backend="eager" it is a few hundred.
_TIME_OF_AUTOGRAD = re.compile(rb'("aot_autograd_cumulative_compile_time_us": ?)\d+')


@pytest.mark.parametrize(("name", "own"), [("graph_break_resume", "L['h']:0"), ("resume_int_special", "L['y']:0")])
def test_without_aotautograd_a_resumed_function_needs_an_entry_of_its_own(name: str, own: str) -> None:
    """The same calls with backend="eager" write no aot graphs; then the tensor of the resumed function has to be listed too."""
    records = make.split_records(gzip.decompress((FIXTURES / "lab" / f"{name}.log.gz").read_bytes()))
    eager = [_TIME_OF_AUTOGRAD.sub(rb"\g<1>200", item) for item in records if b'{"aot_' not in item[:150]]
    assert len(eager) < len(records)
    with_aot, without = (advise(explain_trace(make.load(b"".join(kept)))) for kept in (records, eager))
    assert set(without.entries) - set(with_aot.entries) == {own}
    assert without.after.total == with_aot.after.total


def test_one_mark_serves_however_many_parts_of_a_function() -> None:
    advice = advise(make.explain(DIMENSIONS["resumed functions that pass a size on"](50)))
    assert (advice.env, len(advice.suggestions[0].gone)) == ("L['h0']:0", 50)


CONVERTS = {"filename": "/opt/torch/_dynamo/convert_frame.py", "line": 900, "name": "__call__", "loc": "result = self._inner_convert("}


def called_at(line: int, code: str, source: str, rows: int, id: str, function: str = "main", dim: int = 0) -> bytes:
    """The symbol of a dim, by default the first, with the stack of a dynamic compile, through the line of its caller."""
    stack = [{"filename": "/srv/app/train.py", "line": line, "name": function, "loc": code}, CONVERTS]
    name = f"{source}.size()[{dim}]"
    symbol = {"symbol": "s77", "val": str(rows), "vr": "[2, int_oo]", "source": name, "user_stack": [], "stack": stack}
    return make.record("create_symbol", symbol, id=id)


def with_fewer_rows_later(making: str = "h = encode(x)", taking: str = "y = step(h)", rows: int = 10, later: int = 7) -> bytes:
    """encode and step are compiled in turns; what step takes the second time has fewer rows than encode returned, or ``later``."""
    made = make.trace()
    for number, (taken, dim) in enumerate(((10, "10"), (later, "s77"))):
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        made += called_at(3, making, "L['x']", 12, "0/1") if number else b""
        made += make.compile(f"0/{number}", make.tensor(12 if number else 10, 8), graph=graph, name="encode")
        made += called_at(6, taking, "L['h']", later, "1/1") if number else b""
        made += make.compile(f"1/{number}", make.tensor(taken if number else rows, 8, source="L['h']"), name="step")
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (with_fewer_rows_later(), (X,)),
        (with_fewer_rows_later(making="g = encode(x)"), ()),
        (with_fewer_rows_later(taking="y = step(h[:7])"), ()),
        (with_fewer_rows_later(rows=9), ()),
        (with_fewer_rows_later(later=24), ()),
    ],
    ids=["the first call took it", "another variable", "a part of it", "of other sizes", "more rows later"],
)
def test_what_the_first_graph_took_from_a_function_is_dynamic_there(made: bytes, expected: tuple[Mark, ...]) -> None:
    """Code in eager mode took rows out of it later: that graph serves the rest, too."""
    assert origins(made) == expected


def with_an_input_that_looks_like_it(symbolic: str = "h") -> bytes:
    """encode is dynamic in ``train``, then in ``main``, where step takes its input and what it returned: one of them came with symbols."""
    made = make.trace()
    for number, (rows, dim, function) in enumerate(((10, "10", ""), (12, "s77", "train"), (12, "s77", "main"))):
        graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        made += called_at(3, "h = encode(x)", "L['x']", 12, f"0/{number}", function) if number else b""
        made += make.compile(f"0/{number}", make.tensor(rows, 8), graph=graph, name="encode")
        made += make.record("aot_inference_graph", {}, "a graph", id=f"0/{number}")
    for number, rows in enumerate((12, 7)):
        source = symbolic if number == 0 else "x"
        made += called_at(6, "y = step(x, h)", f"L['{source}']", rows, f"1/{number}")
        made += make.compile(f"1/{number}", make.tensor(rows, 8), make.tensor(rows, 8, source="L['h']"), name="step")
        made += make.record("aot_inference_graph", {}, "a graph", id=f"1/{number}")
    return made


@pytest.mark.parametrize(("symbolic", "expected"), [("h", (X,)), ("x", ())])
def test_an_input_of_a_first_graph_that_came_without_symbols_is_not_what_a_dynamic_graph_returned(
    symbolic: str, expected: tuple[Mark, ...]
) -> None:
    """The code may need the values of these symbols, since the other input is static."""
    assert origins(with_an_input_that_looks_like_it(symbolic)) == expected


# What a function keeps for its next call.


def kept(changed: str = "L['self']", width: int = 8, before: bytes = b"", cut: Sequence[int] = (), made_as: str = "4, 1") -> bytes:
    """f makes a tensor of 4 columns from its x and keeps it as self.k if there is none; each other call takes it.

    ``made_as`` are the strides of what f makes; ``cut`` the rows of tensors that the other calls take and that are parts of others.
    """
    made = make.trace() + before
    for number, rows, dim in ((0, 10, "10"), (2, 12, "s77")):
        symbol = 's77: "Sym(s77)", ' if number else ""
        inputs = f'{symbol}L_x_: "f32[{dim}, {width}][{width}, 1]cpu"'
        graph = graph_text(
            inputs, f'k: "f32[{dim}, 4][{made_as}]cpu" = l_x_[:, :4].clone()', f'y: "f32[{dim}][1]cpu" = k.sum(1)', "return (y, k)"
        )
        x = make.tensor(rows, width)
        made += make.compile(f"0/{number}", x, graph=graph, symbols=[("s77", rows, "L['x'].size()[0]")] if number else ())
        effects = (
            f'Mutating object of type Net (source name: {changed})\n\n      File "/srv/app/model.py", line 6, in f\n        self.k = k\n'
        )
        made += make.artifact("dynamo_side_effects", effects, id=f"0/{number}")
        made += make.compile(f"0/{number + 1}", x, make.tensor(rows, 4, source="L['self'].k"))
    for number, rows in enumerate(cut, 4):
        made += make.compile(f"0/{number}", make.tensor(rows, width), make.tensor(rows, 4, source="L['self'].k", stride=(8, 1)))
    return made + b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"0/{number}") for number in range(5))


def origins_of_kept(made: bytes) -> tuple[Mark, ...]:
    trace = make.explain(made).trace
    return DynamismPropagation(trace).origins(trace.frames[0], Source("L['self'].k"), 0)


def test_what_a_function_keeps_has_its_size_from_what_it_was_made_of() -> None:
    assert origins_of_kept(kept()) == (X,)


@pytest.mark.parametrize(
    ("made", "expected"),
    [(kept(cut=[10]), ()), (kept(cut=[9]), (X,)), (kept(cut=[10], made_as="8, 1"), (X,))],
    ids=["as long as the first one", "of a length that is dynamic by then", "the function makes parts itself"],
)
def test_what_code_outside_cuts_from_a_kept_tensor_has_no_symbols(made: bytes, expected: tuple[Mark, ...]) -> None:
    """As a cache is cropped to the tokens that were accepted, ``k[:n]``."""
    assert origins_of_kept(made) == expected


@pytest.mark.parametrize(("after", "expected"), [("cache.reorder(rows)", ()), ("n = cache.length()", (X,))])
def test_what_the_loop_around_the_call_changes_is_not_what_the_function_kept(
    tmp_path: Path, after: str, expected: tuple[Mark, ...]
) -> None:
    """As beam search reorders a cache: that leaves no record, and is in the file of the code that calls."""
    code, file = "y = f(x, cache)", tmp_path / "search.py"
    file.write_text(f"for n in range(4):\n    {code}\n    {after}\n")
    stack = [{"filename": str(file), "line": 2, "name": "main", "loc": code}, CONVERTS]
    symbol = {"symbol": "s77", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": [], "stack": stack}
    made = kept(before=make.record("create_symbol", symbol, id="0/2")).replace(b"L['self']", b"L['cache']")
    trace = make.explain(made).trace
    assert DynamismPropagation(trace).origins(trace.frames[0], Source("L['cache'].k"), 0) == expected


def test_what_was_made_with_these_sizes_comes_before_what_could_have_had_them() -> None:
    """f also grows a tensor that it keeps, which could have had the columns of the other one."""
    trace = kept()
    growing = graph_text(
        's9: "Sym(s9)", L_old_: "f32[s9, 4][4, 1]cpu"', 'old: "f32[s9 + 1, 4][4, 1]cpu" = torch.cat([l_old_, l_old_[:1]])', "return (old,)"
    )
    effects = "Mutating object of type Net (source name: L['self'])\n\n      File \"/srv/app/model.py\", line 6, in f\n        self.k = k\n"
    old = make.tensor(3, 4, source="L['self'].old")
    made = make.trace() + make.compile("0/5", old, graph=growing, symbols=[("s9", 3, "L['self'].old.size()[0]")])
    made += make.artifact("dynamo_side_effects", effects, id="0/5") + make.record("aot_inference_graph", {}, "a graph", id="0/5")
    assert origins_of_kept(made + trace.removeprefix(make.trace())) == (X,)


@pytest.mark.parametrize(
    "made",
    [
        kept(changed="L['other']"),
        kept(width=4),
        kept(before=make.compile("0/4", make.tensor(9, 8), make.tensor(9, 4, source="L['self'].k"))),
    ],
    ids=["another object is changed", "it may be the input itself", "it was there before the function made one"],
)
def test_what_a_function_may_not_have_made_comes_from_nowhere(made: bytes) -> None:
    assert origins_of_kept(made) == ()


def test_strides_of_what_a_function_keeps_follow_from_what_it_was_made_of() -> None:
    k = Source("L['self'].k")
    made = kept()
    for number, width in ((4, 8), (5, 9)):
        graph = graph_text(f'L_x_: "f32[12, 8][8, 1]cpu", L_k_: "f32[12, 4][{width}, 1]cpu"', "y = l_k_.sum(1)", "return (y,)")
        made += make.compile(f"0/{number}", make.tensor(12, 8), make.tensor(12, 4, source=k, stride=(width, 1)), graph=graph)
    explained = make.explain(made + make.record("aot_inference_graph", {}, "a graph", id="0/5"))
    recompile = explained.recompiles[-1]
    (difference,) = (item for item in explained.compared[recompile.compile] if item.entry.label == "0/4")
    assert [cause.codes for cause in difference.causes] == [("SL105",)]
    route = Router(explained, DynamismPropagation(explained.trace)).route(recompile.frame, difference, recompile.compile)
    assert route is not None
    assert route.required_marks == (frozenset((X, Mark(k, 0), Mark(k, 1))),)


def cache(shapes: Sequence[str] = ()) -> bytes:
    """f makes the keys and values of a cache from its x, which look alike, and each other call adds a row to both."""
    effects = "Mutating object of type Net (source name: L['self'])\n\n      File \"/srv/app/model.py\", line 6, in f\n        self.k = k\n"
    row = make.tensor(1, 4, source="L['row']")
    k, v = (f"L['self'].{name}" for name in "kv")

    def made_of_x(id: str, rows: int, dim: str) -> bytes:
        symbol = f'{dim}: "Sym({dim})", ' if dim[0] == "s" else ""
        parts = (f'{name}: "f32[{dim}, 4][4, 1]cpu" = l_x_[:, :4].clone()' for name in "kv")
        graph = graph_text(f'{symbol}L_x_: "f32[{dim}, 8][8, 1]cpu"', *parts, "return (k, v)")
        symbols = [(dim, rows, "L['x'].size()[0]")] if symbol else ()
        guards = guard_tree(tensor_match(size=(None if symbol else rows, 8)), shapes=[f"{shape}  {RETURN_LINE}" for shape in shapes])
        mask = make.tensor(rows, 2, source="L['mask']")
        return make.compile(id, make.tensor(rows, 8), mask, graph=graph, symbols=symbols, guards=guards if symbol else None)

    def grown(id: str, rows: int, dims: tuple[str, str]) -> bytes:
        symbols = [(dim, rows, f"{of}.size()[0]") for dim, of in zip(dims, (k, v), strict=True) if dim[0] == "s"]
        inputs = [f'{dim}: "Sym({dim})"' for dim, _, _ in symbols]
        inputs += [f'L_{name}_: "f32[{dim}, 4][4, 1]cpu"' for name, dim in zip("kv", dims, strict=True)]
        after = [f"{dim} + 1" if symbols else str(rows + 1) for dim in dims]
        parts = (f'{name}: "f32[{dim}, 4][4, 1]cpu" = torch.cat([l_{name}_, l_row_])' for name, dim in zip("kv", after, strict=True))
        tensors = (make.tensor(rows, 4, source=k), make.tensor(rows, 4, source=v))
        graph = graph_text(", ".join((*inputs, 'L_row_: "f32[1, 4][4, 1]cpu"')), *parts, "return (k, v)")
        return make.compile(id, row, *tensors, graph=graph, symbols=symbols)

    compiles = made_of_x("0/0", 10, "10"), grown("0/1", 10, ("10", "10")), grown("0/2", 11, ("s1", "s2")), made_of_x("0/3", 15, "s77")
    made = make.trace()
    for number, compile in enumerate(compiles):
        made += compile + make.artifact("dynamo_side_effects", effects, id=f"0/{number}")
    return made + b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"0/{number}") for number in range(4))


def test_tensors_that_are_kept_and_grow_together_have_their_sizes_from_what_the_first_were_made_of() -> None:
    assert origins_of_kept(cache()) == (X,)


@pytest.mark.parametrize(
    ("shapes", "is_tied"),
    [
        (("L['mask'].size()[0] == L['x'].size()[0]",), True),
        (("L['mask'].size()[0] <= L['x'].size()[0]", "L['x'].size()[0] + ((-1)*L['mask'].size()[0]) <= 0"), True),
        (("L['mask'].size()[0] <= L['x'].size()[0]",), False),
        (("L['mask'].size()[0]*L['x'].size()[0] >= 2", "16*L['mask'].size()[0]*L['x'].size()[0] + (-16)*L['x'].size()[0] >= 2"), False),
        (("((L['mask'].size()[0] + L['x'].size()[0]) // 4) >= 1", "((L['mask'].size()[0] + L['x'].size()[0]) % 2) == 0"), False),
    ],
    ids=["equal", "neither is larger", "one may be larger", "products", "divided"],
)
def test_a_size_that_the_code_needs_equal_is_marked_with_the_one_behind_a_kept_tensor(shapes: tuple[str, ...], is_tied: bool) -> None:
    trace = make.explain(cache(shapes)).trace
    found = DynamismPropagation(trace).partners(trace.frames[0], Source("L['self'].k"), 0)
    assert found == ((Mark(Source("L['mask']"), 0),) if is_tied else ())


# Gradients.


def updated(*grads: str) -> bytes:
    """An optimizer's update of parameters, with their gradients: those are guarded, but not described by themselves."""
    made = make.trace()
    for number, rows in enumerate((10, 12)):
        guards = guard_tree(*(tensor_match(source, size=(rows, 8)) for source in ("L['p']", "L['m']", *grads)))
        inputs = make.tensor(rows, 8, source="L['p']", grad=1), make.tensor(rows, 8, source="L['m']")
        made += make.compile(f"0/{number}", *inputs, guards=guards, name="update")
    return made


def test_a_gradient_has_the_symbols_of_its_tensor() -> None:
    trace = make.explain(updated("L['g']")).trace
    propagation = DynamismPropagation(trace)
    assert propagation.origins(trace.frames[0], Source("L['g']"), 0) == (Mark(Source("L['p']"), 0),)
    assert propagation.origins(trace.frames[0], Source("L['m']"), 0) == ()
    assert make.advice(updated("L['g']")).env == "L['m']:0,L['p']:0"


def with_rows_taken_out_first(first: int = 2) -> bytes:
    """step gets fewer rows than encode returned, then encode is compiled for other sizes; the first token has a size of its own."""
    made = make.trace()
    for label, rows in (("0/0", 10), ("1/0", 10), ("1/1", 7), ("0/1", 12), ("1/2", 12)):
        if label[0] == "0":
            dim = "s77" if label == "0/1" else "10"
            made += called_at(3, "h = encode(x)", "L['x']", 12, label) if label == "0/1" else b""
            graph = returning(f'h: "f32[{dim}, 8][8, 1]cpu"', inputs=BATCH if label == "0/1" else 'L_x_: "f32[10, 8][8, 1]cpu"')
            made += make.compile(label, make.tensor(rows, 8), graph=graph, name="encode")
        else:
            token = make.tensor(3, first if label == "1/0" else 2, source="L['t']")
            made += called_at(6, "y = step(h, t)", "L['h']", rows, label) if label != "1/0" else b""
            made += make.compile(label, make.tensor(rows, 8, source="L['h']"), token, name="step")
        made += make.record("aot_inference_graph", {}, "a graph", id=label)
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (with_rows_taken_out_first(), (X,)),
        (with_rows_taken_out_first(first=1), ()),
    ],
    ids=["the first graph serves the rest", "the first token has a graph of its own"],
)
def test_sizes_that_no_graph_of_the_other_function_was_for_are_of_another_tensor(made: bytes, expected: tuple[Mark, ...]) -> None:
    """Unless the first graph, which took what the other function returned, serves them."""
    assert origins(made) == expected


def with_a_cache_that_both_take(rows: int = 12) -> bytes:
    """prefill puts a tensor into the cache that step is passed: for a batch of one first, then for two, where step takes ``rows``."""
    made = make.trace()
    for number, (batch, length) in enumerate(((1, 10), (2, 12))):
        sizes = f"{batch}, {'s77' if number else length}, 8"
        inputs = ('s77: "Sym(s77)", ' if number else "") + f'L_x_: "f32[{sizes}]cpu"'
        graph = graph_text(inputs, f'k: "f32[{sizes}]cpu" = l_x_.sin()', f'y: "f32[{batch}]cpu" = k.sum(2)', "return (y, k)")
        for frame, line, name in ((0, 3, "y = prefill(x, cache)"), (1, 6, "y = step(y, cache)")):
            source = "L['cache'].k" if frame else "L['x']"
            label, taken = f"{frame}/{number}", rows if frame and number else length
            made += called_at(line, name, source, taken, label, dim=1) if number else b""
            tensor = make.tensor(batch, taken, 8, source=source)
            code = name[4:].partition("(")[0]
            made += make.compile(label, tensor, name=code, graph=None if frame else graph) + make.record(
                "aot_inference_graph", {}, "a graph", id=label
            )
    return made


@pytest.mark.parametrize(("rows", "expected"), [(12, (Mark(Source("L['x']"), 1),)), (7, ())])
def test_each_graph_for_a_batch_of_one_or_more_took_what_the_other_function_put_into_a_cache(rows: int, expected: tuple[Mark, ...]) -> None:
    trace = make.explain(with_a_cache_that_both_take(rows)).trace
    assert DynamismPropagation(trace).origins(trace.frames[1], Source("L['cache'].k"), 1) == expected


def with_returned_cache(
    *others: str, stride: tuple[int, int] = (8, 1), is_view: bool = False, returned: tuple[str, ...] = ("k", "v")
) -> bytes:
    """decode returns a cache of two tensors, which it is passed again, and then starts anew with other sizes.

    ``others`` are inputs that look like the tensors of the first cache; these have ``stride`` and may be views. ``returned`` are the
    outputs that look like them.
    """
    made = make.trace()
    for label, rows, kept in (("0/0", 10, None), ("0/1", 1, 10), ("0/2", 1, 11), ("0/3", 12, None), ("0/4", 1, 12)):
        dim = "s77" if label == "0/3" else str(rows)
        inputs = BATCH if label == "0/3" else f'L_x_: "f32[{rows}, 8][8, 1]cpu"'
        if label == "0/3":
            made += called_at(3, "y, past = decode(x)", "L['x']", rows, label)
        elif label in ("0/2", "0/4"):
            made += called_at(6, "y, past = decode(x, past)", "L['past'][0]", kept or 0, label)
        outputs = (f'{name}: "f32[{dim}, 8][8, 1]cpu"' for name in returned)
        past = [f"L['past'][{number}]" for number in (0, 1) if kept]
        held = [*past, *others] if label == "0/1" else past
        view = {"is_view": True, "base": 9} if is_view else {}
        passed = [make.tensor(kept or 0, 8, source=source, stride=stride, **view) for source in held]
        graph = returning(*outputs, inputs=inputs) if kept is None else ""
        made += make.compile(label, make.tensor(rows, 8), *passed, graph=graph, name="decode")
        made += make.record("aot_inference_graph", {}, "a graph", id=label)
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (with_returned_cache(), (X,)),
        (with_returned_cache("L['z']"), ()),
        (with_returned_cache(is_view=True), (X,)),
        (with_returned_cache(is_view=True, stride=(16, 1)), ()),
    ],
    ids=["each output is passed", "one of three is another tensor", "both are views", "views of something else"],
)
def test_a_cache_that_a_function_returned_and_is_passed_is_dynamic_where_the_first_one_is(made: bytes, expected: tuple[Mark, ...]) -> None:
    trace = make.explain(made).trace
    assert DynamismPropagation(trace).origins(trace.frames[0], Source("L['past'][0]"), 0) == expected


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for n in range(4):\n    x = y\n    y, past = decode(x, past)\n", (X,)),
        ("for n in range(4):\n    past = pick(past)\n    y, past = decode(x, past)\n", ()),
        ("if y:\n    x = y\n    y, past = decode(x, past)\n", ()),
        ("", ()),
    ],
    ids=["a loop that leaves it", "a loop that changes it", "no loop", "no such line"],
)
def test_a_cache_of_some_outputs_is_the_one_that_a_function_returned_if_the_loop_leaves_it(
    tmp_path: Path, loop: str, expected: tuple[Mark, ...]
) -> None:
    """What else the function returned looks like the tensors in it."""
    file = tmp_path / "decode.py"
    file.write_text(f"\n\ny, past = decode(x)\n{loop}")
    made = with_returned_cache(returned=("q", "k", "v")).replace(b"/srv/app/train.py", str(file).encode())
    trace = make.explain(made).trace
    assert DynamismPropagation(trace).origins(trace.frames[0], Source("L['past'][0]"), 0) == expected


def test_of_several_dynamic_graphs_that_are_similar_the_one_with_the_most_symbols_counts() -> None:
    """Automatic dynamic shapes add one dim after the other."""
    sizes = [("s1", "9", "L['x'].size()[1]"), ("s77", "12", "L['x'].size()[0]")]
    made = make.trace(make.compile("0/0", make.tensor(10, 8), graph=returning('h: "f32[10, 8][8, 1]cpu"')))
    for number, symbols in enumerate((sizes[:1], sizes, sizes[:1]), 1):
        graph = returning('h: "f32[10, s1][s1, 1]cpu"', inputs='s1: "Sym(s1)", L_x_: "f32[10, s1][s1, 1]cpu"')
        made += make.compile(f"0/{number}", make.tensor(10, 8 + number), graph=graph, symbols=symbols)
    trace = make.load(made)
    entries = trace.frames[0].entries
    assert CompiledCode(trace).dynamic_entry_like(entries[0]) is entries[2]


# Views of what compiled code returns.


def with_views(*bases: int, small: int = 1) -> bytes:
    """score gets rows of what encode returned for 10 rows, ``boxes[k]``; encode is compiled for more rows, and for one, too."""
    made = make.trace()
    for label, rows in (("0/0", 10), ("0/1", 12), ("0/2", small)):
        is_dynamic = label == "0/1"
        inputs = BATCH if is_dynamic else f'L_x_: "f32[{rows}, 8][8, 1]cpu"'
        graph = returning(f'boxes: "f32[{"s77" if is_dynamic else rows}, 8][8, 1]cpu"', inputs=inputs)
        symbols = [("s77", rows, "L['x'].size()[0]")] if is_dynamic else ()
        guards = guard_tree(tensor_match(size=(None if is_dynamic else rows, 8)))
        made += make.compile(label, make.tensor(rows, 8), graph=graph, symbols=symbols, guards=guards, name="encode")
        if label == "0/0":
            for number, base in enumerate(bases):
                parts = make.tensor(base, 8, source="L['box']._base"), make.tensor(8, source="L['box']", is_view=True, base=0)
                made += make.compile(f"1/{number}", *parts, guards=guard_tree(tensor_match("L['box']", (8,))), name="score")
    return made + b"".join(make.record("aot_inference_graph", {}, "a graph", id=id) for id in ("0/0", "0/1", "0/2", "1/0"))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (with_views(10), {X}),
        (with_views(10, 1), set()),
        (with_views(9), set()),
        (with_views(10, small=3), set()),
    ],
    ids=["no graph for one row", "a graph for one row", "of another tensor", "never one row"],
)
def test_a_view_whose_base_becomes_dynamic_may_need_a_graph_for_a_base_of_one_row(made: bytes, expected: set[Mark]) -> None:
    trace = make.explain(made).trace
    score = next(frame for frame in trace.frames if frame.number == 1)
    assert DynamismPropagation(trace).splitting_marks(score) == expected


def test_the_graph_that_views_may_need_is_in_the_prediction() -> None:
    advice = advise(make.explain(with_views(10)))
    assert (advice.env, advice.after.total, advice.after.at_most) == ("L['x']:0", 3, 4)
    assert any(text.startswith("score takes views of a tensor that becomes dynamic") for text in advice.caveats)


@pytest.mark.parametrize(
    ("failed", "line", "expected"),
    [("encode", 30, ()), ("train", 30, (X,)), ("encode", 50, (X,))],
    ids=["caller", "another", "other class"],
)
def test_what_a_function_returns_that_failed_to_compile_may_be_made_behind_its_last_layer(
    failed: str, line: int, expected: tuple[Mark, ...]
) -> None:
    """It runs in eager mode, where a norm may come after the layers."""
    caller = {"filename": make.MODEL, "line": 40, "name": "encode", "loc": "x = layer(x)"}
    start = {"filename": "/opt/torch/_dynamo/convert_frame.py", "line": 900, "name": "__call__", "loc": "result = self._inner_convert("}
    body = {"symbol": "s77", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": [], "stack": [caller, start]}
    made = broken('h: "f32[s77, 8][8, 1]cpu"').replace(RESUMED.encode(), b"score")
    plain = make.create_symbol("s77", "12", "L['x'].size()[0]", id="0/1")
    assert plain in made
    made = made.replace(plain, make.record("create_symbol", body, id="0/1"))
    made += make.compile("2/0", name=failed, line=line, fail_type="Unsupported", fail_reason="Data-dependent branching")
    assert origins(made) == expected


@pytest.mark.parametrize(("source", "expected"), [("L['h']", ()), ("L['y']", (X,))])
def test_a_local_may_be_what_the_code_before_a_graph_break_took_under_another_name(source: str, expected: tuple[Mark, ...]) -> None:
    """``residual = h; h = norm(h)``, where ``h`` has a mark of its own, which is not one of the tensor."""
    made = make.trace()
    for number, rows in enumerate((10, 12)):
        graph = returning(f'h: "f32[{"s77" if number else rows}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        inputs = make.tensor(rows, 8), make.tensor(rows, 8, source=source)
        symbols = [("s77", str(rows), "L['x'].size()[0]")] * number
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)), tensor_match(source, size=(None if number else rows, 8)))
        made += make.compile(f"0/{number}", *inputs, graph=graph, symbols=symbols, guards=guards)
        both = (make.tensor(rows, 8, source=f"L['{name}']") for name in ("residual", "___stack0"))
        made += make.compile(f"1/{number}", *both, name=RESUMED)
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made, "L['residual']") == expected


@pytest.mark.parametrize(("line", "expected"), [(30, (X,)), (6, ())])
def test_methods_of_one_name_in_a_file_are_not_parts_of_one_function(line: int, expected: tuple[Mark, ...]) -> None:
    """What resumes at line 7 goes on from the one that starts above it."""
    made = make.trace(make.compile("2/0", make.tensor(3, source="L['z']"), name="f", line=line))
    for number, rows in enumerate((10, 12)):
        graph = returning(f'h: "f32[{"s77" if number else rows}, 8][8, 1]cpu"', inputs=BATCH if number else 'L_x_: "f32[10, 8][8, 1]cpu"')
        symbols = [("s77", str(rows), "L['x'].size()[0]")] * number
        guards = guard_tree(tensor_match(size=(None if number else rows, 8)))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), graph=graph, symbols=symbols, guards=guards)
        both = (make.tensor(rows, 8, source=f"L['{name}']") for name in ("y", "___stack0"))
        made += make.compile(f"1/{number}", *both, name=RESUMED, line=7)
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert origins(made + make.record("aot_inference_graph", {}, "a graph", id="2/0"), "L['y']") == expected
