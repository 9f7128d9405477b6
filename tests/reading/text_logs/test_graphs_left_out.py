"""Logs that have guards and no graphs, as ``TORCH_LOGS=+recompiles,guards,dynamic`` writes them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shapelog import load
from shapelog.recompiles.explain import explain_trace
from shapelog.rules import Verdict

TENSOR = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{}], stride=[1])"
OF_X = "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"
WHERE = "# if n <= 16:  # srv/net.py:8 in f"


def first(size: int) -> Iterator[str]:
    tree = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", OF_X, f"| | +- TENSOR_MATCH: {TENSOR.format(size)}")
    yield from (f"V1127 00:29:10.211000 8756 torch/_dynamo/guards.py:2863] [0/0] [__guards] {line}" for line in tree)


def dynamic(number: int, size: int, guard: str, *reasons: str) -> Iterator[str]:
    guards, symbols = "V1127 00:29:11.752000 8756 torch/_dynamo/guards.py:3508]", "torch/fx/experimental/symbolic_shapes.py:5110]"
    yield f"{guards} [0/{number}] [__recompiles] Recompiling function f in /srv/net.py:4"
    yield f"{guards} [0/{number}] [__recompiles]     triggered by the following guard failure(s):"
    yield from (f"{guards} [0/{number}] [__recompiles]     - {reason}" for reason in reasons)
    symbol = f"create_symbol s77 = {size} for L['x'].size()[0] [2, int_oo] {WHERE[2:]} (_dynamo/variables/builder.py:3382 in <lambda>)"
    yield f"I1127 00:29:12.138000 8756 {symbols} [0/{number}] {symbol}"
    tree = (
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        OF_X,
        f"| | +- TENSOR_MATCH: {TENSOR.format(None)}",
        f"+- LAMBDA_GUARD: {guard}  {WHERE}",
    )
    yield from (f"{guards} [0/{number}] [__guards] {line}" for line in tree)


def size(entry: str, before: int, after: int) -> str:
    return f"{entry}: tensor 'x' size mismatch at index 0. expected {before}, actual {after}"


def test_a_dynamic_entry_that_does_not_accept_a_call_rules_out_the_static_one_on_its_path(tmp_path: Path) -> None:
    lines = (
        *first(10),
        *dynamic(1, 20, "2 <= L['x'].size()[0] <= 30", size("0/0", 10, 20)),
        *dynamic(2, 40, "31 <= L['x'].size()[0]", f"0/1: 2 <= x.size()[0] <= 30  {WHERE}", size("0/0", 10, 40)),
    )
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    _, other = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
    assert other.codes == ("SL204",)
    assert other.verdict is Verdict.JUSTIFIED


def test_one_on_another_path_does_not(tmp_path: Path) -> None:
    lines = (
        *first(4),
        *dynamic(1, 20, "17 <= L['x'].size()[0] <= 63", size("0/0", 4, 20)),
        *dynamic(2, 9, "2 <= L['x'].size()[0] <= 16", f"0/1: 17 <= x.size()[0] <= 63  {WHERE}", size("0/0", 4, 9)),
    )
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    _, same = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
    assert same.codes == ("SL101",)
    assert same.verdict is Verdict.MARKING


def test_a_stride_that_has_a_symbol_is_known(tmp_path: Path) -> None:
    """As of windows of larger tensors, which differ in it alone."""
    guards, head = "V1127 00:35:11.072000 114 torch/_dynamo/guards.py:2863]", "torch/fx/experimental/symbolic_shapes.py:5110]"
    window = TENSOR.replace("[{}]", "[4, 32]").replace("stride=[1]", "stride=[{}, 1]")
    lines = (
        *(f"{guards} [0/0] [__guards] {line}" for line in ("TREE_GUARD_MANAGER:", "+- RootGuardManager", OF_X)),
        f"{guards} [0/0] [__guards] | | +- TENSOR_MATCH: {window.format(100)}",
        f"{guards} [0/1] [__recompiles] Recompiling function f in /srv/net.py:4",
        f"{guards} [0/1] [__recompiles]     triggered by the following guard failure(s):",
        f"{guards} [0/1] [__recompiles]     - 0/0: tensor 'x' stride mismatch at index 0. expected 100, actual 130",
        f"I1127 00:35:11.623000 114 {head} [0/1] create_symbol s89 = 130 for L['x'].stride()[0] [2, int_oo] x.sum()  # srv/net.py:8 in f",
        *(f"{guards} [0/1] [__guards] {line}" for line in ("TREE_GUARD_MANAGER:", "+- RootGuardManager", OF_X)),
        f"{guards} [0/1] [__guards] | | +- TENSOR_MATCH: {window.format(None)}",
    )
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    [item] = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
    assert item.causes[0].sentence == "the stride of x in dim 0 changed from 100 to 130: a slice of a different width"
    assert item.verdict is Verdict.MARKING


GRAPH = "V1127 00:29:10.112000 8756 torch/_dynamo/output_graph.py:1291] [0/{0}] [__graph_code] "
BODY = (
    "TRACED GRAPH",
    " ===== __compiled_fn_1 =====",
    " class GraphModule(torch.nn.Module):",
    '    def forward(self, L_x_: "f32[{0}][1]cpu"):',
)


def graph(number: int, size: int, begin: int = 0) -> Iterator[str]:
    code = (
        "        # File: /srv/net.py:8 in f, code: return x * 2",
        '        mul: "f32[{0}][1]cpu" = l_x_ * 2;  l_x_ = None',
        "        return (mul,)",
    )
    yield from (GRAPH.format(number) + line.format(size) for line in (*BODY, *code)[begin:])


def test_a_graph_that_a_log_lost_with_its_beginning_is_no_other_graph(tmp_path: Path) -> None:
    second = [line for line in dynamic(1, 20, "2 <= L['x'].size()[0]", size("0/0", 10, 20)) if "create_symbol" not in line]
    lines = (*first(10), *second[:3], *graph(1, 20), *second[3:])
    for text in (lines, (*graph(0, 10, begin=1), *lines)):
        (tmp_path / "log.txt").write_text("\n".join(text) + "\n")
        (item,) = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
        assert (item.codes, item.blocking_rule) == (("SL101",), "")


def test_a_recompilation_whose_function_and_reasons_are_lost_has_no_invented_cause(tmp_path: Path) -> None:
    lines = (*first(10), *list(dynamic(1, 20, "2 <= L['x'].size()[0]"))[1:])
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n")
    (item,) = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
    assert item.compile.metrics.lost_reasons == "the log leaves out its reasons"


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_lost_guards_were_about_is_not_of_another_type(is_whole: bool, tmp_path: Path) -> None:
    head = "V1127 00:29:11.752000 8756 torch/_dynamo/guards.py:3508] [0/1] "
    recompiled = "Recompiling function f in /srv/net.py:4", "    triggered by the following guard failure(s):"
    orphan = "| | | +- ID_MATCH: ___check_obj_id(L['self'].flag, 7)"
    tree = (
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        OF_X,
        "| | +- TYPE_MATCH: ___check_type_id(L['x'], 7)",
        *(() if is_whole else (orphan,)),
    )
    call = (*(f"{head}[__recompiles] {line}" for line in recompiled), *(f"{head}[__guards] {line}" for line in tree))
    (tmp_path / "log.txt").write_text("\n".join((*first(10), *call)) + "\n")
    (item,) = explain_trace(load(tmp_path / "log.txt"), debug=True).recompiles
    assert item.codes == (("SL310",) if is_whole else ("SL399",))
