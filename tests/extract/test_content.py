"""What a payload becomes as a file."""

import ast

import pytest

from shapelog.extract.content import Contents
from shapelog.extract.graph_code import graph_head, is_graph, with_class_names

GRAPH = b"class <lambda>(torch.nn.Module):\n    def forward(self, x: \"f32[2]\"):\n        return (x.to(device(type='cpu')) + inf,)\n"


def suffix(kind: str, payload: bytes, name: str = "") -> str:
    return Contents().of(kind, name, payload, "md5").suffix


def test_a_graph_without_a_class_name_becomes_a_module_that_defines_what_it_uses() -> None:
    found = Contents().of("aot_inference_graph", "", GRAPH, "md5")
    assert found.suffix == ".py"
    assert not found.is_verbatim
    assert found.text.decode().splitlines()[:6] == [
        "import torch",
        "from torch import device",
        "from math import inf",
        "",
        "",
        "class Graph(torch.nn.Module):",
    ]
    ast.parse(found.text)


def test_functions_that_graphs_name_with_underscores_are_imported() -> None:
    name = b"torch__dynamo_external_utils_call_hook"
    head = graph_head(b"class A(torch.nn.Module):\n    def forward(self, x):\n        return " + name + b"(x) + made_up(x)\n")
    assert head is not None
    assert "from torch._dynamo.external_utils import call_hook as torch__dynamo_external_utils_call_hook" in head.decode()
    assert "# Not defined here: made_up" in head.decode()


@pytest.mark.parametrize(
    "text",
    [b"class A(torch.nn.Module):\n    x = <object at 0x7f>\n", b"class A(torch.nn.Module):\n  \x00", b"class A(torch.nn.Module):\n\xff"],
)
def test_a_graph_that_is_no_python_is_kept_as_text(text: bytes) -> None:
    found = Contents().of("dynamo_output_graph", "", text, "md5")
    assert (found.suffix, found.text, found.is_verbatim) == (".txt", text, True)


def test_a_graph_is_recognized_by_its_first_line() -> None:
    assert is_graph(GRAPH)
    assert not is_graph(b"ExportedProgram:\n    class GraphModule(torch.nn.Module):\n")
    assert with_class_names(b"x = 'class <lambda>('") == b"x = 'class <lambda>('"


@pytest.mark.parametrize(
    ("kind", "name", "payload", "expected"),
    [
        ("artifact", "fx_graph_cache_miss", b'{"key": "f"}', ".json"),
        ("artifact", "numbers", b'{"key": NaN}', ".json"),
        ("artifact", "recompile_reasons", b"[0/0] size", ".txt"),
        ("artifact", "deep", b"[" * 100_000, ".txt"),
        ("inductor_output_code", "", b"# AOT ID: ['0']\nimport torch\n", ".py"),
        ("inductor_output_code", "", b"\n#include <torch/x.h>\n", ".cpp"),
        ("artifact", "fx_graph_runnable", b"\r\nimport os", ".py"),
        ("artifact", "compiled_fn_wrapper", b"def f(x):\n    return x\n", ".py"),
        ("artifact", "words", b"def of the word\n", ".txt"),
        ("dynamo_cpp_guards_str", "", b"\nTREE_GUARD_MANAGER:\n", ".txt"),
        ("dump_file", "x", b"", ".py"),
    ],
)
def test_the_suffix_fits_what_the_payload_holds(kind: str, name: str, payload: bytes, expected: str) -> None:
    assert suffix(kind, payload, name) == expected
