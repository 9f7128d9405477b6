"""Graphs of TORCH_LOGS=aot_graphs show which compilations there were, and of which functions; their inputs have no sources."""

from pathlib import Path

import pytest

from shapelog import analyze, load
from shapelog.report.report import Report

HEAD = "I1127 13:04:48.133000 31400 torch/_functorch/_aot_autograd/graph_capture.py:411] [{id}] [__aot_graphs] "
GRAPH = """TRACED GRAPH
 ===== {which} graph {number} =====
 /srv/lib/python3.11/site-packages/torch/fx/_lazy_graph_module.py class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[{size}, 3][3, 1]cpu"):
        # File: /srv/app/model.py:12 in scale, code: return torch.relu(x) * 2
        relu: "f32[{size}, 3][3, 1]cpu" = torch.ops.aten.relu.default(arg0_1);  arg0_1 = None
        return (relu,)
"""
METADATA = (
    "aot_config id: 0, fw_metadata=ViewAndMutationMeta(input_info=[InputAliasInfo(is_leaf=True)], inner_meta=ViewAndMutationMeta())\n"
)


def logged(id: str, text: str) -> str:
    return "".join(f"{HEAD.format(id=id)}{line}\n" for line in text.splitlines())


def graphs(id: str, number: int, size: str, *which: str) -> str:
    return logged(id, METADATA) + "".join(logged(id, GRAPH.format(which=one, number=number, size=size)) for one in which)


def report(tmp_path: Path, text: str) -> Report:
    path = tmp_path / "run.log"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path))


@pytest.mark.parametrize("which", [("Forward",), ("Joint", "Forward", "Backward")])
def test_each_compile_has_its_function_and_is_counted_once(tmp_path: Path, which: tuple[str, ...]) -> None:
    found = report(tmp_path, graphs("0/0", 0, "4", *which) + graphs("0/1", 1, "s77", *which))
    assert [(compile.label, compile.metrics.code_name) for compile in found.trace.compiles] == [("0/0", "scale"), ("0/1", "scale")]
    assert (found.summary.compiles, found.summary.recompiles) == (2, 1)
    (note,) = found.trace.what_is_missing
    assert note.startswith("This log has AOTAutograd's graphs, but no times, recompile reasons, guards or Dynamo's graphs.")


def test_beside_reasons_they_add_no_compile(tmp_path: Path) -> None:
    reasons = "V1127 13:04:48.140000 31400 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] "
    lines = [
        "Recompiling function scale in /srv/app/model.py:11",
        "    triggered by the following guard failure(s):",
        "    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5",
    ]
    text = "".join(f"{reasons}{line}\n" for line in lines)
    found = report(tmp_path, graphs("0/0", 0, "4", "Forward") + text + graphs("0/1", 1, "s77", "Forward"))
    assert [compile.label for compile in found.trace.compiles] == ["0/0", "0/1"]
    assert [item.codes for item in found.recompiles] == [("SL101",)]
