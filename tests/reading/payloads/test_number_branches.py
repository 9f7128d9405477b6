"""Lines that branch on a number of a tensor: the setting that captures such numbers does not keep the graph in one piece there."""

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
