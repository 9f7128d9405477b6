"""Logs that have the guards of some compilations, as where a person pasted one tree of them, or the log ends before the last one."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.model.compile import Outcome
from shapelog.report.report import analyze

HEAD = "V0715 13:55:12.206660 807339 torch/_dynamo/guards.py:2906]"
TENSOR = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{}], stride=[1])"


def guards(id: str, size: int) -> list[str]:
    tree = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", f"| +- TENSOR_MATCH: {TENSOR.format(size)}")
    return [f"{HEAD} [{id}] [__guards] {line}" for line in tree]


def recompile(number: int, reason: str) -> list[str]:
    lines = (
        "Recompiling function f in /w/net.py:16",
        "    triggered by the following guard failure(s):",
        f"    - 0/{number - 1}: {reason}",
    )
    return [f"{HEAD} [0/{number}] [__recompiles] {line}" for line in lines]


def size(before: int, after: int) -> str:
    return f"tensor 'x' size mismatch at index 0. expected {before}, actual {after}"


@pytest.mark.parametrize("reason", [size(3, 4), ""])
def test_a_recompilation_whose_guards_the_log_does_not_reach_counts(reason: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("\n".join([*guards("0/0", 3), *recompile(1, reason)]) + "\n")
    [one] = analyze(load(tmp_path / "log.txt"), debug=True).explained.recompiles
    assert one.compile.outcome is Outcome.COMPILED


def test_an_entry_that_a_later_reason_names_was_made(tmp_path: Path) -> None:
    lines = [*guards("0/0", 3), *recompile(1, size(3, 4)), *recompile(2, size(4, 5)), *recompile(3, size(5, 6)), *guards("0/3", 6)]
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    assert [item.compile.outcome for item in analyze(load(tmp_path / "log.txt"), debug=True).explained.recompiles] == [Outcome.COMPILED] * 3


def test_an_entry_whose_guards_hold_leaves_open_what_around_them_changed(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("\n".join([*guards("0/0", 3), *recompile(1, "")]) + "\n")
    [one] = analyze(load(tmp_path / "log.txt"), debug=True).explained.recompiles
    assert one.codes == ("SL318",)
    assert one.causes[0].sentence.startswith(
        "no guard failed, which happens when torch.compile is called with another backend, under another"
    )


def test_an_entry_of_an_earlier_run_of_ids_is_none_of_this_one(tmp_path: Path) -> None:
    """Code that breaks before its first operation leaves no entry, whatever had its id before torch._dynamo.reset()."""
    begins = "I0715 13:55:13.206660 807339 torch/fx/experimental/symbolic_shapes.py:4058] [{}] create_env"
    run = [*guards("0/0", 3), *recompile(1, size(3, 4)), *guards("0/1", 4)]
    lines = [*run, *map(begins.format, ("0/0", "0/1")), *guards("1/0", 3)]
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    *_, one = analyze(load(tmp_path / "log.txt"), debug=True).explained.recompiles
    assert one.codes == ("SL403",)


TWO = "TENSOR_MATCH: check_tensor(L['{}'], Tensor, {}, size=[{}, 4], stride=[4, 1])"
WHOLE, SHORTENED = "DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False", "..., torch.float32, ..."
ON_DEVICE = "..., torch.float32, device=0, requires_grad=False"


@pytest.mark.parametrize("middle", [WHOLE, SHORTENED, ON_DEVICE])
@pytest.mark.parametrize("equal", ["L['b'].size()[0] == L['a'].size()[0]", "L['a'].size()[0] == L['b'].size()[0]"])
@pytest.mark.parametrize("has_managers", [True, False])
def test_a_size_that_has_to_equal_the_one_that_changed_changed_too(has_managers: bool, equal: str, middle: str, tmp_path: Path) -> None:
    def tree(id: str, size: str, *shapes: str) -> list[str]:
        lines = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"] if has_managers else []
        for name in ("a", "b"):
            lines += [f"| +- GuardManager: source=L['{name}'], accessed_by=x"] if has_managers else []
            lines += [f"| | +- {TWO.format(name, middle, size)}"]
        return [f"{HEAD} [{id}] [__guards] {line}" for line in (*lines, *(f"+- LAMBDA_GUARD: {shape}  # a + b" for shape in shapes))]

    reason = size(2, 8).replace("'x'", "'a'")
    lines = [*tree("0/0", "2"), *recompile(1, reason), *tree("0/1", "None", equal, "2 <= L['a'].size()[0]")]
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    report = analyze(load(tmp_path / "log.txt"), debug=True)
    assert [item.sentence for item in report.explained.recompiles[0].causes] == [
        "dim 0 of a changed from 2 to 8",
        "dim 0 of b changed from 2 to 8",
    ]
    assert len(report.advice.suggestions) == 2
