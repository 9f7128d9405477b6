"""Programs run under torch.compile, changed by ``shapelog fix --write``, and run again: less is compiled, results are the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call

pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

FUNCTION = """
import torch


@torch.compile(backend="eager")
def scale(x, factor=2):
    return torch.relu(x) * factor


def main():
    torch.manual_seed(0)
    total = 0.0
    for size in (4, 7, 9, 30):
        batch = torch.rand(size, 3)
        total += scale(batch).sum().item()
    return total


print("RESULT", main())
"""
EXPRESSION = """
import torch


def norm(first, x):
    return (x - x.mean()) / (first.std() + 1)


norm = torch.compile(norm, backend="eager")
torch.manual_seed(0)
print("RESULT", norm(torch.rand(3, 3), torch.rand(5, 3)).sum().item())
total = 0.0
for size in (6, 8, 12):
    total += float(norm(torch.rand(3, 3), torch.rand(size, 3)).sum())
print("RESULT", total)
"""
MODULE = """
from torch import manual_seed, nn, rand, compile


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x, mask=None):
        self.calls += 1
        x = self.body(x) * (self.calls / 2)
        return x if mask is None else x * mask


manual_seed(0)
net = compile(Net(), backend="eager")
data = {"x": [rand(size, 4) for size in (3, 5, 8)]}
for item in data["x"]:
    print("RESULT", net(mask=item.new_ones(4), x=item).sum().item())
"""
INT = """
import torch


@torch.compile(backend="eager")
def repeat(x, count):
    return x.repeat(count, 1).sum(0) * count


torch.manual_seed(0)
for count in (2, 3, 5):
    print("RESULT", repeat(torch.rand(4, 2), count).sum().item())
"""
PINNED = """
import torch


@torch.compile(backend="eager")
def both(x, y):
    if x.shape[0] > 100:
        return x.sum()
    return x.sum() + y.sum()


def step(x, y):
    return both(x, y).item()


torch.manual_seed(0)
print("RESULT", [step(torch.rand(n, 2), torch.rand(2, n)) for n in (4, 6, 9)])
"""
BREAK = """
import torch


@torch.compile(backend="eager")
def noisy(features):
    centered = features - features.mean()
    print("seen")
    return centered * 2


torch.manual_seed(0)


def run(data):
    result = noisy(data[:, :2])
    return result.sum().item()


for n in (3, 5, 6):
    print("RESULT", run(torch.rand(n, 4)))
"""
COMPREHENSION = """
import torch


@torch.compile(backend="eager")
def f(x):
    return x.cos()


torch.manual_seed(0)
print("RESULT", [f(torch.rand(n, 2)).sum().item() for n in (3, 5, 6)])
"""
# The program, how its suggestions are followed, and the compilations before and after.
CASES = {
    "function": (FUNCTION, {"mark_dynamic"}, 2, 1),
    "expression": (EXPRESSION, {"mark_dynamic"}, 2, 1),
    "module": (MODULE, {"mark_dynamic", "dynamic_sources"}, 3, 1),
    "int": (INT, {"dynamic_sources"}, 2, 1),
    "pinned": (PINNED, {"mark_dynamic"}, 2, 1),
    "break": (BREAK, {"mark_dynamic", "dynamic_sources"}, 4, 2),
    "comprehension": (COMPREHENSION, {"dynamic_sources"}, 2, 1),
}


def run(folder: Path, number: int) -> list[str]:
    """The results that the program prints, recorded in the folder of that number."""
    environment = {**os.environ, "TORCH_TRACE": str(folder / str(number)), "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO": "0"}
    done = subprocess.run([sys.executable, "train.py"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("RESULT")]


@pytest.mark.parametrize("name", CASES)
def test_a_fixed_program_compiles_less_and_gives_the_same(tmp_path: Path, name: str) -> None:
    text, how, before, after = CASES[name]
    (tmp_path / "train.py").write_text(text)
    results = run(tmp_path, 1)
    fixed = json.loads(call("fix", str(tmp_path / "1"), "--source-root", str(tmp_path), "--write", "-f", "json").stdout)
    assert fixed["not_placed"] == []
    assert {item["how"] for item in fixed["placed"]} == how
    assert run(tmp_path, 2) == results
    compared = json.loads(call("compare", str(tmp_path / "1"), str(tmp_path / "2"), "-f", "json").stdout)
    assert (compared["before"]["totals"]["compiles"], compared["after"]["totals"]["compiles"]) == (before, after)
    assert compared["after"]["totals"]["failures"] == 0
    assert call("suggest-dynamic", str(tmp_path / "2"), "-f", "env").stdout == ""


def test_verify_confirms_a_fixed_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FUNCTION)
    run(tmp_path, 1)
    assert call("fix", str(tmp_path / "1"), "--source-root", str(tmp_path), "--write").exit_code == 0
    done = call("verify", "--trace-dir", str(tmp_path / "traces"), "--", sys.executable, str(tmp_path / "train.py"))
    assert done.exit_code == 0
    assert "nothing to verify" in done.stderr
