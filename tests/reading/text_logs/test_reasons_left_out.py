"""Logs that have guards or symbols of compilations, and no reason for all of them: a size that became a symbol has changed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from shapelog import load
from shapelog.recompiles.explain import explain_trace
from shapelog.recompiles.recompile import Recompile

GUARDS = "V0715 13:55:12.206660 807339 torch/_dynamo/guards.py:2906] [{}] [__guards] {}"
SYMBOLS = "I0715 13:55:12.206660 807339 torch/fx/experimental/symbolic_shapes.py:5743] [{}] {}"
REASONS = "V0715 13:55:12.206660 807339 torch/_dynamo/guards.py:2906] [{}] [__recompiles] {}"
TENSOR = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{}, 2], stride=[2, 1])"
MANAGER = "GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'torch.Tensor'>"
MARKED = "DIMENSION_DYNAMIC_MARKING_GUARD: {}"
UNMARKED = MARKED.format("hasattr(L['x'], '_dynamo_dynamic_indices') == False")
INDICES = MARKED.format("((L['x']._dynamo_dynamic_indices.issubset({0})) if hasattr(L['x'], '_dynamo_dynamic_indices') else True)")


def tree(label: str, size: object, mark: str = UNMARKED) -> list[str]:
    inner = (f"TENSOR_MATCH: {TENSOR.format(size)}", mark)
    lines = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", f"| +- {MANAGER}", *(f"| | +- {line}" for line in inner))
    return [GUARDS.format(label, line) for line in lines]


def symbol(label: str, name: str, value: int, source: str) -> str:
    return SYMBOLS.format(label, f"create_symbol {name} = {value} for {source} [2, int_oo] return x + k  # /w/net.py:7 in f")


def created(label: str) -> str:
    return SYMBOLS.format(label, "create_env")


def explained(lines: list[str], tmp_path: Path) -> Sequence[Recompile]:
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    return explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles


def sentences(lines: list[str], tmp_path: Path) -> list[tuple[str, str]]:
    return [(cause.codes[0], cause.sentence) for item in explained(lines, tmp_path) for cause in item.causes]


def test_guards_show_what_the_size_was(tmp_path: Path) -> None:
    assert sentences([*tree("0/0", 6), *tree("0/1", None)], tmp_path) == [("SL101", "dim 0 of x changed")]


def test_a_mark_made_it_a_symbol_otherwise(tmp_path: Path) -> None:
    found = sentences([*tree("0/0", 6), *tree("0/1", None, INDICES)], tmp_path)
    assert "SL101" not in [code for code, _ in found]


def test_an_older_entry_may_still_fit(tmp_path: Path) -> None:
    lines = [*tree("0/0", 6), *tree("0/1", None), *tree("0/2", None)]
    assert [item.codes for item in explained(lines, tmp_path)] == [("SL101",), ("SL399",)]


@pytest.mark.parametrize(
    ("source", "code", "sentence"),
    [("L['x'].size()[0]", "SL101", "dim 0 of x changed to 10"), ("L['k']", "SL102", "the int k changed to 10")],
)
def test_symbols_show_what_the_size_or_the_int_is(source: str, code: str, sentence: str, tmp_path: Path) -> None:
    lines = [created("0/0"), created("0/1"), symbol("0/1", "s59", 10, source)]
    assert sentences(lines, tmp_path) == [(code, sentence)]


@pytest.mark.parametrize(
    ("before", "source", "also"),
    [
        (created("0/0"), "L['x'].size()[1]", [("SL101", "dim 1 of x changed to 12")]),
        (created("0/0"), "L['k']", [("SL102", "the int k changed to 12")]),
        (created("0/0"), "L['x'].storage_offset()", []),
        (symbol("0/0", "s0", 4, "L['y'].size()[0]"), "L['x'].size()[1]", []),  # marked, or all are dynamic
    ],
)
def test_symbols_show_what_else_changed_where_a_reason_names_one_size(
    before: str, source: str, also: list[tuple[str, str]], tmp_path: Path
) -> None:
    reason = "tensor 'x' size mismatch at index 0. expected 6, actual 10"
    recompiled = ["Recompiling function f in /w/net.py:6", "    triggered by the following guard failure(s):", f"    - 0/0: {reason}"]
    lines = [before, *(REASONS.format("0/1", line) for line in recompiled), created("0/1")]
    lines += [symbol("0/1", "s59", 10, "L['x'].size()[0]"), symbol("0/1", "s60", 12, source)]
    assert sentences(lines, tmp_path) == [("SL101", "dim 0 of x changed from 6 to 10"), *also]


def test_symbols_from_the_start_show_no_change(tmp_path: Path) -> None:
    lines = [symbol("0/0", "s0", 6, "L['x'].size()[0]"), symbol("0/1", "s0", 8, "L['x'].size()[0]")]
    assert sentences(lines, tmp_path) == []


@pytest.mark.parametrize(("parts", "code"), [("L['self'].__dict__['_modules']", "SL315"), ("L['self'].__dict__['other']", "SL102")])
def test_an_object_with_the_dicts_of_a_module_is_one(parts: str, code: str, tmp_path: Path) -> None:
    def lines(label: str, step: int) -> list[str]:
        inner = (f"GuardManager: source={parts}, type=<class 'dict'>", f"EQUALS_MATCH: L['self'].step == {step}")
        whole = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", *(f"| +- {line}" for line in inner))
        return [GUARDS.format(label, line) for line in whole]

    assert [found for found, _ in sentences([*lines("0/0", 2), *lines("0/1", 3)], tmp_path)] == [code]


@pytest.mark.parametrize(("now", "codes"), [("2 <= L['x'].size()[1]", ["SL103"]), ("L['x'].size()[1] == L['x'].size()[0]", [])])
def test_sizes_that_need_not_be_equal_any_more_are_not(now: str, codes: list[str], tmp_path: Path) -> None:
    lines = [*tree("0/0", None), GUARDS.format("0/0", "+- LAMBDA_GUARD: L['x'].size()[0] == L['x'].size()[1]  # duck sizing added this")]
    lines += [
        *tree("0/1", None),
        *(GUARDS.format("0/1", f"+- LAMBDA_GUARD: {line}  # return x") for line in ("2 <= L['x'].size()[0]", now)),
    ]
    assert [found for found, _ in sentences(lines, tmp_path)] == codes
