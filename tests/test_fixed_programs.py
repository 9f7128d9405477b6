"""Programs run under torch.compile, changed by ``shapelog fix --write``, and run again: less is compiled, results are the same."""

import json
import sys
from pathlib import Path

import pytest
import torch_process
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
SCALAR = """
import torch


@torch.compile(backend="eager")
def scaled(x):
    factor = x.sum().item()
    return torch.relu(x) * factor


torch.manual_seed(0)
for size in (4, 7, 9):
    print("RESULT", scaled(torch.rand(size, 3)).sum().item())
"""
OUTPUT_SHAPE = """
from torch import compile, manual_seed, nn, rand


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 1)

    def forward(self, tokens):
        chosen = (self.gate(tokens)[:, 0] > 0).nonzero()[:, 0]
        return tokens[chosen].sum(0) + tokens.sum(0)


manual_seed(0)
router = compile(Router(), backend="eager")
for size in (6, 9, 12):
    tokens = rand(size, 4)
    print("RESULT", router(tokens).sum().item())
"""
BOTH = """
import torch


def step(x):
    rows = torch.unique(x[:, 0].round())
    share = rows.sum().item() + 1
    return x.mean(0) / share


def main():
    compiled = torch.compile(step, backend="eager")
    torch.manual_seed(0)
    return [compiled(torch.rand(size, 3)).sum().item() for size in (5, 8, 13)]


if __name__ == "__main__":
    print("RESULT", main())
"""
CACHE = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = torch.rand(3, 4)

    def forward(self, query):
        return (query @ self.keys.T).softmax(-1).sum(0)


torch.manual_seed(0)
attention = torch.compile(Attention().eval(), backend="eager")
for size in (3, 5, 8):
    attention.keys = torch.rand(size, 4)
    query = torch.rand(2, 4)
    print("RESULT", attention(query).sum().item())
"""
METHOD = """
import torch


class Trainer:
    def __init__(self):
        self.state = torch.zeros(2, 2)

    @torch.compile(backend="eager")
    def step(self, scale):
        return torch.relu(self.state - 0.5) * scale

    def run(self):
        for size in (4, 6, 9):
            self.state = torch.rand(size, 2)
            print("RESULT", self.step(torch.ones(2)).sum().item())


torch.manual_seed(0)
Trainer().run()
"""
BATCH = """
from dataclasses import dataclass

import torch


@dataclass
class Batch:
    ids: torch.Tensor
    masks: list
    extra: dict


@torch.compile(backend="eager")
def score(batch):
    return (batch.ids * batch.masks[0]).sum() + batch.extra["weights"].mean()


torch.manual_seed(0)
for size in (4, 7, 11):
    batch = Batch(torch.rand(size, 2), [torch.rand(size, 2)], {"weights": torch.rand(size + 3)})
    print("RESULT", score(batch).item())
"""
GLOBAL = """
import torch

table = torch.rand(2, 2)


@torch.compile(backend="eager")
def look_up(x):
    return x @ table


torch.manual_seed(0)
for size in (3, 6, 9):
    table = torch.rand(2, size)
    print("RESULT", look_up(torch.rand(4, 2)).sum().item())
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
    "scalar": (SCALAR, {"mark_dynamic", "capture_scalar_outputs"}, 4, 1),
    "output shape": (OUTPUT_SHAPE, {"mark_dynamic", "capture_dynamic_output_shape_ops"}, 4, 1),
    "two settings": (BOTH, {"dynamic_sources", "capture_scalar_outputs", "capture_dynamic_output_shape_ops"}, 5, 1),
    "attribute of a module": (CACHE, {"mark_dynamic"}, 2, 1),
    "attribute of self": (METHOD, {"mark_dynamic"}, 2, 1),
    "attributes and items": (BATCH, {"mark_dynamic"}, 2, 1),
    "global": (GLOBAL, {"mark_dynamic"}, 2, 1),
}

# Settings that are left to the user: with this one a program prints later.
LEFT = {"break": ["torch._dynamo.config.reorderable_logging_functions.add(print)"]}


def run(folder: Path, number: int) -> list[str]:
    """The results that the program prints, recorded in the folder of that number."""
    printed = torch_process.run(folder / "train.py", folder / str(number))
    return [line for line in printed.splitlines() if line.startswith("RESULT")]


def option(assignment: str) -> str:
    return assignment.partition(" = ")[0].rpartition(".")[2]


@pytest.mark.parametrize("name", CASES)
def test_a_fixed_program_compiles_less_and_gives_the_same(tmp_path: Path, name: str) -> None:
    text, how, before, after = CASES[name]
    (tmp_path / "train.py").write_text(text)
    results = run(tmp_path, 1)
    fixed = json.loads(call("fix", str(tmp_path / "1"), "--source-root", str(tmp_path), "--write", "-f", "json").stdout)
    assert fixed["not_placed"] == []
    placed = [item["text"] for item in fixed["settings"] if not item["reason"]]
    left = [item["text"] for item in fixed["settings"] if item["reason"]]
    assert left == LEFT.get(name, [])
    assert {item["how"] for item in fixed["placed"]} | {option(text) for text in placed} == how
    assert run(tmp_path, 2) == results
    compared = json.loads(call("compare", str(tmp_path / "1"), str(tmp_path / "2"), "-f", "json").stdout)
    assert (compared["before"]["totals"]["compiles"], compared["after"]["totals"]["compiles"]) == (before, after)
    assert compared["after"]["totals"]["failures"] == 0
    assert call("suggest-dynamic", str(tmp_path / "2"), "-f", "env").stdout == ""


@pytest.mark.parametrize("name", ["function", "module", "int", "pinned", "attribute of self"])
def test_verify_confirms_a_fixed_program(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_text(CASES[name][0])
    run(tmp_path, 1)
    assert call("fix", str(tmp_path / "1"), "--source-root", str(tmp_path), "--write").exit_code == 0
    done = call("verify", "--trace-dir", str(tmp_path / "traces"), "--", sys.executable, str(tmp_path / "train.py"))
    assert done.exit_code == 0
    assert "nothing to verify" in done.stderr
