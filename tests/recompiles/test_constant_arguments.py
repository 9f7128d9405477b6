"""Calls that pin an int, and whether PyTorch pins it there and nowhere else."""

import ast

import pytest
from make import compile as compiled
from make import last_recompile, tensor, trace
from payload_text import equals_match, graph_text, guard_tree, tensor_match

from shapelog.recompiles.constant_arguments import pinned_arguments, pinned_by, pinned_numbers
from shapelog.rules import Verdict

# Calls with k, and whether torch makes a constant of it.
MEASURED = (
    ("torch.linspace(0, 1, k)", True),
    ("torch.linspace(0, 1, steps=k)", True),
    ("torch.linspace(0, k, 5)", False),
    ("torch.arange(k)", False),
    ("torch.hann_window(k)", True),
    ("torch.tril_indices(k, 9)", True),
    ("torch.full((2, k), 1.0)", False),
    ("x.chunk(k)", True),
    ("torch.chunk(x, k)", True),
    ("x.chunk(2, dim=k)", True),
    ("x.sum(k)", True),
    ("torch.sum(x, dim=k)", True),
    ("x.sum((0, k))", True),
    ("x.narrow(0, 0, k)", False),
    ("x.narrow(k, 0, 1)", True),
    ("torch.narrow(x, k, 0, 1)", True),
    ("x.select(0, k)", False),
    ("x.select(k, 0)", True),
    ("x.topk(k, 0)", False),
    ("x.topk(1, k)", True),
    ("x.roll(k)", False),
    ("x.roll(1, k)", True),
    ("x.repeat(k, 1, 1, 1)", False),
    ("x.repeat_interleave(k, 0)", False),
    ("x.transpose(0, k)", True),
    ("torch.cat([x, x], k)", True),
    ("torch.stack((x, x), dim=k)", True),
    ("F.max_pool2d(x, k)", True),
    ("F.avg_pool2d(x, (k, k))", True),
    ("F.adaptive_avg_pool2d(x, k)", False),
    ("F.adaptive_max_pool2d(x, k)", True),
    ("F.pad(x, (0, k))", False),
    ("F.pad(x, (0, 1), value=k)", True),
    ("F.conv2d(x, torch.ones(4, 4, 2, 2), padding=k, stride=k)", False),
    ("F.interpolate(x, size=k)", False),
    ("F.softmax(x, dim=k)", True),
    ("F.dropout(x, 1 / k, False)", True),
    ("F.scaled_dot_product_attention(x, x, x, scale=1 / k)", True),
    ("F.one_hot(torch.tensor([0, 1]), k)", True),
    ("torch.tril(x, k)", False),
    ("x.diagonal(k)", True),
    ("x.unfold(0, 2, k)", True),
    ("F.unfold(torch.ones(1, 1, 8, 8), kernel_size=k)", True),
    ("F.fold(torch.ones(1, 4, 9)[..., :(6 // k) ** 2], (6, 6), 2, stride=k)", True),
    ("x.flatten(k)", True),
    ("x.view(-1, 8)[:k]", False),
    ("torch.ones(2) * math.log(k)", True),
    ("torch.ones(2) * math.sqrt(k)", False),
)


def is_pinned(code: str) -> bool:
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    arguments = [argument for call in calls for argument in pinned_arguments(call)]
    return any(isinstance(node, ast.Name) and node.id == "k" for argument in arguments for node in ast.walk(argument))


@pytest.mark.parametrize(("code", "expected"), MEASURED)
def test_a_call_is_known_by_its_name_and_the_place_of_the_argument(code: str, expected: bool) -> None:
    assert is_pinned(code) is expected


@pytest.mark.torch
@pytest.mark.parametrize(("code", "expected"), MEASURED)
def test_pytorch_pins_what_is_expected_to_be_pinned(code: str, expected: bool) -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    made: list[object] = []

    def backend(module: object, inputs: object) -> object:
        made.append(module)
        return module

    scope = {"torch": torch, "F": torch.nn.functional, "math": __import__("math")}
    exec(f"def f(x, k):\n    return {code}\n", scope)
    torch._dynamo.reset()
    with torch.compiler.config.patch(dynamic_sources="L['k']"):
        compiled = torch.compile(scope["f"], backend=backend, fullgraph=True)
        for value in (2, 3):
            compiled(torch.ones(4, 4, 8, 8), value)
    assert len(made) == (2 if expected else 1)


@pytest.mark.parametrize("code", ["chunk(x, k)", "self.net.forward(k)", "x[k]", "(lambda: x)(k)", "print(k)", "self.blocks[0](x, dim=k)"])
def test_of_a_call_with_another_name_nothing_is_known(code: str) -> None:
    assert not is_pinned(code)


BEFORE = (
    'view: "f32[6, 8][8, 1]cpu" = l_x_.view(6, 8);  l_x_ = None',
    'window: "f32[6][1]cpu" = torch.hann_window(6)',
    "chunk = view.chunk(3);  view = None",
    'pool: "f32[1]cpu" = torch._C._nn.avg_pool2d(window, (2, 6))',
    "return (chunk,)",
)


def after(**numbers: int) -> tuple[str, ...]:
    known = {"view": 6, "window": 6, "chunk": 3, "pool": 6} | numbers
    return (
        BEFORE[0].replace("(6,", f"({known['view']},"),
        BEFORE[1].replace("(6)", f"({known['window']})"),
        BEFORE[2].replace("(3)", f"({known['chunk']})"),
        BEFORE[3].replace("2, 6", f"2, {known['pool']}"),
        BEFORE[4],
    )


@pytest.mark.parametrize(
    ("changed", "numbers", "operator"),
    [
        ({"window": 7}, (6, 7), "hann_window"),
        ({"chunk": 4}, (3, 4), "chunk"),
        ({"pool": 7}, (6, 7), "avg_pool2d"),
        ({"view": 7}, (6, 7), ""),
        ({"window": 8}, (6, 7), ""),
        ({}, (6, 6), "hann_window"),
    ],
)
def test_two_graphs_show_which_operator_took_the_number_that_changed(
    changed: dict[str, int], numbers: tuple[int, int], operator: str
) -> None:
    assert pinned_by(pinned_numbers(BEFORE), pinned_numbers(after(**changed)), *numbers) == operator


def test_what_is_no_statement_of_python_is_passed_over() -> None:
    before = pinned_numbers(("= (", "x" * 3 + "\x00", "y = x.chunk(3)"))
    assert pinned_by(before, pinned_numbers(("y = x.chunk(4)",)), 3, 4) == "chunk"
    assert pinned_by((), (), 3, 4) == ""


@pytest.mark.parametrize(("steps", "operator"), [((11, 13), "linspace"), ((11, 11), ""), ((None, None), "")])
def test_a_number_that_changed_with_a_size_was_computed_from_it(steps: tuple[int | None, int | None], operator: str) -> None:
    """``torch.linspace(0, 1, x.shape[0] + 1)``: nothing but the size varied."""
    made = []
    for number, (rows, count) in enumerate(zip((10, 12), steps, strict=True)):
        taken = f"torch.linspace(0, 1, {count})" if count else f"torch.arange({rows + 1})"
        statements = (f"points = {taken}", f'add: "f32[{rows}, 8][8, 1]cpu" = l_x_ + 1;  l_x_ = None', "return (add, points)")
        made.append(compiled(f"0/{number}", tensor(rows, 8), graph=graph_text(f'L_x_: "f32[{rows}, 8][8, 1]cpu"', *statements)))
    recompile = last_recompile(trace(*made))
    assert recompile.blocking_rule == ("SL202" if operator else "")
    assert operator in recompile.why_not_markable


@pytest.mark.parametrize(("sizes", "is_apart"), [((1, 3), True), ((3, 1), True), ((2, 3), False), ((1, 1), False)])
def test_an_int_that_makes_a_size_of_one_has_a_graph_of_its_own(sizes: tuple[int, int], is_apart: bool) -> None:
    """``x[:k] + 1`` for a k of 1: without a dynamic graph nothing else in a trace shows it."""
    made = []
    for number, size in enumerate(sizes):
        part = f"f32[{size}, 8][8, 1]cpu"
        statements = (f'part: "{part}" = l_x_[slice(None, {size}, None)];  l_x_ = None', f'add: "{part}" = part + 1', "return (add,)")
        tree = guard_tree(tensor_match(), equals_match("L['k']", size if size != sizes[1 - number] else number + 4))
        made.append(compiled(f"0/{number}", tensor(10, 8), guards=tree, graph=graph_text('L_x_: "f32[10, 8][8, 1]cpu"', *statements)))
    recompile = last_recompile(trace(*made))
    assert recompile.verdict is (Verdict.JUSTIFIED if is_apart else Verdict.MARKING)
    assert ("has a size of 1" in recompile.why_not_markable) is is_apart
