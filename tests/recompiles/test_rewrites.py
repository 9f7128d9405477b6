"""Lines that need an exact number, and what computes the same of a symbolic one."""

import math

import pytest

from shapelog.reading.records import StackFrame
from shapelog.recompiles.classification.rewrites import IN_PLACE_OF, OUTSIDE, rewriting

OWN, LIBRARY = "/srv/app/model.py", "/opt/venv/lib/python3.11/site-packages/transformers/masks.py"
POOLED = (
    "max_pool1d(x, k, stride, padding) needs the exact length: write "
    "F.max_pool2d(x.unsqueeze(-2), (1, k), (1, stride), (0, padding)).squeeze(-2)"
)
ARGUMENTS = {"linspace": "-1, 2, n", "logspace": "-1, 2, n", "one_hot": "x, n"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("grid = torch.linspace(0, 1, h)", "linspace(a, b, n) needs the exact n: write a + (b - a) * torch.arange(n) / (n - 1)"),
        (
            "k = fft.rfftfreq(n, d=1 / n, device=x.device)",
            "rfftfreq(n) needs the exact n: write torch.arange(n // 2 + 1) / n, with the same device=",
        ),
        ("m = linspace(", "linspace(a, b, n) needs the exact n: write a + (b - a) * torch.arange(n) / (n - 1)"),
        ("i = torch.tril_indices(n, n)", "tril_indices() needs the exact size: call it outside the compiled code, and pass the tensor"),
        (
            "y = F.avg_pool2d(x, x.shape[-2:])",
            "avg_pool2d() needs an exact window: where it is all of a dim, write x.mean(dim, keepdim=True)",
        ),
        ("y = F.max_pool1d(x, n)", "max_pool1d() needs an exact window: where it is all of a dim, write x.amax(dim, keepdim=True)"),
        ("y = F.max_pool1d(F.elu(self.conv(x.mT)), 3, 2, 1)", POOLED),
        ("y = F.max_pool1d(x, kernel_size=3)", POOLED),
        ("y = F.avg_pool2d(x, (2, 2))", ""),
        ("for row in x.unbind(0):", "unbind() makes a tensor of each part: compute with the whole tensor, or reshape it"),
        ("parts = (x + 1).split(2)", "split() makes a tensor of each part: compute with the whole tensor, or reshape it"),
        ("a, b = x.split([2, n - 2])", ""),
        ("grid = np.linspace(0, 1, h)", ""),
        ("grid = self.linspace_of(h)", ""),
        ("y = x * table[n]", ""),
        ("", ""),
    ],
)
def test_a_call_that_has_a_symbolic_form_is_known_by_its_line(code: str, expected: str) -> None:
    assert rewriting([StackFrame(OWN, 7, "f", code)]) == expected


def test_lines_of_a_library_and_unknown_ones_are_left_alone() -> None:
    assert rewriting([None, StackFrame(LIBRARY, 7, "f", "grid = torch.linspace(0, 1, h)")]) == ""


def compilations_of(code: str) -> tuple[int, list[object]]:
    """How many graphs a line needs for four sizes, and what it returns for each."""
    torch = pytest.importorskip("torch", minversion="2.13")
    made: list[object] = []

    def backend(module: object, inputs: object) -> object:
        made.append(module)
        return module

    scope = {"torch": torch, "math": math, "F": torch.nn.functional}
    exec(f"def f(rows, x):\n    n, a, b = rows.shape[0], -1, 2\n    y = {code}\n    return y, rows + 1\n", scope)
    torch._dynamo.reset()
    compiled = torch.compile(scope["f"], backend=backend, dynamic=True)
    results = [compiled(torch.ones(size, 3), torch.arange(3))[0] for size in (12, 15, 20, 24)]
    return len(made), results


@pytest.mark.torch
@pytest.mark.parametrize("call", IN_PLACE_OF)
def test_pytorch_needs_the_number_for_the_call_and_not_for_what_replaces_it(call: str) -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    name = call.partition("(")[0]
    modules = {"torch": torch, "torch.fft": torch.fft, "F": torch.nn.functional}
    owner = next(prefix for prefix, module in modules.items() if hasattr(module, name))
    graphs, expected = compilations_of(f"{owner}.{name}({ARGUMENTS.get(name, 'n')})")
    assert graphs >= 4
    graphs, found = compilations_of(IN_PLACE_OF[call])
    assert graphs == 1
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(torch.as_tensor(one).double(), torch.as_tensor(other).double(), atol=1e-5)


@pytest.mark.torch
def test_a_pool_over_one_dim_needs_the_exact_length_and_one_over_two_does_not() -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    graphs, expected = compilations_of("F.max_pool1d(rows.cumsum(0).mT[None], 3, 2, 1)")
    assert graphs >= 4
    graphs, found = compilations_of("F.max_pool2d(rows.cumsum(0).mT[None].unsqueeze(-2), (1, 3), (1, 2), (0, 1)).squeeze(-2)")
    assert graphs == 1
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


@pytest.mark.torch
@pytest.mark.parametrize("name", OUTSIDE)
def test_pytorch_needs_the_number_for_what_is_to_be_called_outside(name: str) -> None:
    arguments = {"affine_grid": "torch.ones(1, 2, 3), (1, 1, n, n), False", "kaiser_window": "n", "vander": "x, n"}.get(name, "n, n")
    graphs, _ = compilations_of(f"{'F' if name == 'affine_grid' else 'torch'}.{name}({arguments})")
    assert graphs >= 4
