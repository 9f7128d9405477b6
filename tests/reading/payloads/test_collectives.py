"""What Inductor writes about distributed graphs: schedules, tensor metadata with runtimes, the order of execution, parity with the code."""

import json
from typing import Any

import pytest

from shapelog.reading.payloads import collectives
from shapelog.reading.payloads.collectives import Parity, execution, operator, parity, schedule

NAMES = ["all_reduce_", "wait_tensor", "all_gather_into_tensor", "wait_tensor"]


def full(name: str) -> str:
    return f"torch.ops._c10d_functional.{name}.default"


def operation(shape: list[int], runtime: Any = 1500, name: str = "extern_kernels.mm") -> dict[str, Any]:
    outputs = [{"shape": shape, "stride": [16, 1], "dtype": "float32"}]
    return {"name": name, "type": "compute", "estimated_runtime_ns": runtime, "outputs": outputs}


def metadata(*operations: dict[str, Any]) -> tuple[str, float]:
    return collectives.tensors(json.dumps({"ops": operations}))


def test_a_schedule_is_its_collectives_without_the_waits() -> None:
    assert schedule(json.dumps([full(name) for name in NAMES])) == ("all_reduce", "all_gather_into_tensor")
    assert schedule("[null, 3]") == ()


@pytest.mark.parametrize("name", ["torch.ops._c10d_functional.all_reduce_.default", "_c10d_functional.all_reduce", "all_reduce_"])
def test_an_operator_is_named_without_its_namespace_and_overload(name: str) -> None:
    assert operator(name) == "all_reduce"


@pytest.mark.parametrize("text", ["{}", "no JSON", "3", '"all_reduce"'])
def test_a_schedule_that_is_not_a_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unexpected|EOF|JSON|invalid"):
        schedule(text)


def test_metadata_describes_what_operations_return_and_not_their_runtimes() -> None:
    assert metadata(operation([8, 16]))[0] == metadata(operation([8, 16], 99))[0]
    assert metadata(operation([8, 16]))[0] != metadata(operation([12, 16]))[0]
    assert metadata(operation([8, 16]))[0] != metadata(operation([8, 16], name="other"))[0]


def test_runtimes_are_summed_and_invalid_ones_ignored() -> None:
    assert metadata(operation([8], 1500), operation([8], 500), operation([8], None), operation([8], -1))[1] == pytest.approx(2e-6)


@pytest.mark.parametrize("text", ["{}", "[]", '{"ops": [1]}', '{"ops": [{"name": "x"}]}', "null"])
def test_metadata_of_another_form_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        collectives.tensors(text)


def test_the_order_of_execution_is_a_list_of_labels() -> None:
    order = [{"compile_id": "0/0"}, {"compile_id": None}, {"compile_id": "0/1"}]
    assert execution(json.dumps({"graph_execution_order": order})) == ("0/0", "?", "0/1")


CODE = """
# Topologically Sorted Source Nodes: torch.ops._c10d_functional.all_reduce.default(x)
buf1 = torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')
torch.ops._c10d_functional.wait_tensor.default(buf1)
buf2 = torch . ops . c10d_functional . all_gather_into_tensor . default(buf1, 2, '0')
"""


def test_code_is_compared_with_the_schedule_ignoring_comments() -> None:
    assert parity(("all_reduce", "all_gather_into_tensor"), CODE) == Parity(0, 1)
    assert parity(("all_reduce", "broadcast"), CODE) == Parity(2, 1)
    assert parity((), "") == Parity(0, 0)
