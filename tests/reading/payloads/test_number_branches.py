"""Lines that branch on a number of a tensor: the setting that captures such numbers does not keep the graph in one piece there."""

from collections.abc import Callable
from typing import Any

import pytest

from shapelog.reading.payloads.compiler_messages import MOVE_BRANCH, compiler_message
from shapelog.reading.payloads.number_branches import branches_on_number

BREAK = """Graph break in user code at train.py:43
Graph Break Reason: Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.
  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True` or `export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1` to do so.

User code traceback:
  File "train.py", line 43, in forward
    {code}
"""


@pytest.mark.parametrize(
    "code",
    [
        "if loss.item() > 100:",
        "if not x.sum().item():",
        "elif int(x.sum()) > 3:",
        "while x.sum().item() < 100 and n < 3: x = x + 1",
        "y = x + 1 if x.sum().item() > 3 else x - 1",
        "ok = x.sum().item() > 3 and x.sum().item() < 100",
        "for i in range(n.item()):",
    ],
)
def test_a_branch_breaks_the_graph_with_captured_numbers_as_well(code: str) -> None:
    assert branches_on_number(code)
    assert compiler_message(BREAK.format(code=code)).hints == (MOVE_BRANCH,)


@pytest.mark.parametrize(
    "code",
    [
        "return x * x.sum().item()",
        "assert x.sum().item() > 3",
        "return torch.zeros(n.item()) + 1",
        "x = x[: n.item()]",
        "for i in items(n.item()):",
        "if (",
        "",
    ],
)
def test_the_setting_is_a_remedy_elsewhere(code: str) -> None:
    assert not branches_on_number(code)
    (hint,) = compiler_message(BREAK.format(code=code)).hints
    assert "capture_scalar_outputs = True" in hint


OF_OPERATOR = """Graph break in user code at train.py:43
Graph Break Reason: Data dependent operator
  Explanation: Operator `aten._local_scalar_dense.default` has a non-Tensor output whose value is dependent on the data of Tensor inputs.
  Hint: Enable tracing of data-dependent output operators with `torch._dynamo.config.capture_scalar_outputs = True`

User code traceback:
  File "train.py", line 43, in forward
    {code}
"""


@pytest.mark.parametrize(
    ("code", "index"),
    [
        ("return rest[n] + 1", "n"),
        ("rest = (probs - pad).clamp(min=0)[n]", "n"),
        ("y = x[n.item()]", ""),
        ("if x[n] > 0:", ""),
        ("y = x[n] + z[k]", ""),
        ("y = x[:n]", ""),
        ("y = x.repeat_interleave(n)", ""),
    ],
)
def test_an_index_without_dims_is_a_number_that_no_setting_makes_symbolic(code: str, index: str) -> None:
    (hint,) = compiler_message(OF_OPERATOR.format(code=code)).hints
    assert hint.startswith(f"Index with a tensor that has a dimension, [{index}.reshape(1)][0]") is bool(index)
    assert ("capture_scalar_outputs = True" in hint) is not bool(index)


@pytest.mark.torch
def test_an_index_with_a_dim_stays_in_the_graph() -> None:
    torch = pytest.importorskip("torch", minversion="2.13")

    def breaks(index: Callable[[Any], Any]) -> int:
        def f(x: Any, u: Any) -> Any:
            return x[index((u > 0.5).sum())]

        torch._dynamo.reset()
        return len(torch._dynamo.explain(f)(torch.rand(5, 4), torch.rand(4)).break_reasons)

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        assert breaks(lambda n: n) == 1
    assert breaks(lambda n: n.reshape(1)) == 0
