"""Which recompiling frames call the user's own Triton kernels?"""

import make
from payload_text import graph_text
from recorded import report_of

from shapelog.report.analyses.triton_kernels import analyze
from shapelog.report.results import Table

CALL = (
    "triton_kernel_wrapper_mutation = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0, constant_args_idx = {index}, "
    "grid = [(1, 1, 1)], tma_descriptor_metadata = {{}}, kwargs = {{'in_ptr0': l_x_}});  l_x_ = triton_kernel_wrapper_mutation = None"
)


def tables(recording: bytes) -> list[Table]:
    return [table for table in analyze(make.explain(recording)) if isinstance(table, Table)]


def code(index: int) -> str:
    return graph_text('L_x_: "f32[10, 8][8, 1]cuda:0"', CALL.format(index=index), "return ()")


def test_a_kernel_in_a_frame_that_recompiles_is_shown() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), graph=code(0)), make.compile("0/1", make.tensor(12, 8), graph=code(1)))
    (table,) = tables(made)
    assert table.rows == (("f", "/srv/app/model.py:5", 1, 2),)
    assert "constexpr" in table.note


def test_a_kernel_in_a_frame_that_compiled_once_is_not() -> None:
    assert tables(make.trace(make.compile("0/0", make.tensor(10, 8), graph=code(0)))) == []


def test_a_frame_without_kernels_is_not_shown() -> None:
    assert tables(make.trace(make.compile("0/0", make.tensor(10, 8)), make.compile("0/1", make.tensor(12, 8)))) == []
    assert report_of("real/demo.log.gz").table("kernels") is None
