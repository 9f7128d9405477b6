"""The version is guessed from what each version of PyTorch writes, as its sources have it."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.versions import Versions, common, of_guards, of_reasons, of_text, stated_in

WARNING = (
    "torch._dynamo hit config.{} (8)\n   function: 'f' (a.py:1)\n   {}: 0/0: tensor '{}' size mismatch at index 0. expected 2, actual 3\n{}"
)
SEE = "To diagnose recompilation issues, see https://pytorch.org/docs/main/{}"


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        (WARNING.format("cache_size_limit", "reasons", "x", "").replace("0/0: ", "").replace("torch._d", "torchd"), "2.0 or older"),
        (WARNING.format("cache_size_limit", "reasons", "L['x']", "").replace("0/0: ", ""), "2.1 or older"),
        (WARNING.format("cache_size_limit", "last reason", "L['x']", "").replace("0/0: ", ""), "2.2 to 2.4"),
        (WARNING.format("cache_size_limit", "last reason", "L['x']", ""), "2.5 or 2.6"),
        (WARNING.format("accumulated_cache_size_limit", "last reason", "L['x']", ""), "2.5 or 2.6"),
        (WARNING.format("recompile_limit", "last reason", "x", ""), "2.7 or newer"),
        (WARNING.format("recompile_limit", "last reason", "x", SEE.format("torch.compiler_troubleshooting.html")), "2.7 to 2.9"),
        (WARNING.format("recompile_limit", "last reason", "x", SEE.format("compile/programming_model.recompilation.html")), "2.10"),
        ("torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with one_graph=True.", "2.7 or 2.8"),
        ("torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True.", "2.9 or 2.10"),
        ("torch._dynamo.exc.FailOnRecompileLimitHit: Hard failure due to fullgraph=True", "2.11 or newer"),
        ("Both jobs ended with\ntorch._dynamo.exc.FailOnRecompileLimitHit: Hard failure due to\nfullgraph=True", "2.11 or newer"),
        ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0", "2.7 or newer"),
        ("tensor 'x' size mismatch at index 1. expected 3, actual 4", "of unknown version"),
        ("tensor 'L['x']' size mismatch at index 1. expected 3, actual 4", "2.6 or older"),
        ("0/0: ___check_type_id(x, 94293277447968), type=<class 'app.Sub'>", "2.10 or newer"),
        ("Traceback (most recent call last):\ntorch._dynamo.exc.Unsupported: x", "of unknown version"),
    ],
)  # fmt: skip
def test_the_version_that_writes_all_of_a_text(text: str, guess: str, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(text + "\n", encoding="utf-8")
    assert load(tmp_path / "run.txt").version_guess == guess


def test_a_text_that_no_version_writes_alone_is_of_any() -> None:
    assert str(common([Versions(None, 6), Versions(7)])) == ""
    assert str(common([*of_reasons(["L['x'] == 3"]), *of_text("recompile_limit reached with one_graph=True")])) == ""


def test_ids_that_a_person_left_out_do_not_make_a_text_old() -> None:
    assert str(common([*of_reasons(["self.layer_id == 7"]), *of_text("torch._dynamo hit config.recompile_limit (8)")])) == "2.7 or newer"
    assert str(common(of_reasons(["self.layer_id == 7"]))) == ""


def test_stacks_below_reasons_are_new() -> None:
    assert str(common(of_reasons(['0/0: k == 3\nUser stack trace:\n  File "a.py", line 5, in f']))) == "2.11 or newer"


def test_a_tree_of_guards_has_signs_of_its_version() -> None:
    manager = "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"
    marking = "| | +- DIMENSION_DYNAMIC_MARKING_GUARD: hasattr(L['x'], '_dynamo_dynamic_indices') == False"
    assert str(common(of_guards(manager))) == "2.7 or newer"
    assert str(common(of_guards(f"{manager}\n{marking}"))) == "2.13 or newer"


@pytest.mark.parametrize(
    "line",
    [
        "PyTorch version: 2.1.1+cu121",
        "PyTorch version                  : 2.1.1+cu121",
        "[pip3] torch==2.1.1+cu121",
        "[pip] torch==2.1.1",
        "[conda] torch                     2.1.1+cu121              pypi_0    pypi",
        "torch                         2.1.1",
        "torch==2.1.1",
        "- PyTorch version (GPU?): 2.1.1+cu121 (True)",
        "* **PyTorch version**: 2.1.1",
        "## Pytorch Version: 2.1.1",
        "Pytorch Version=2.1.1+cu121",
        "torch version: 2.1.1",
        "**Versions**: PyTorch 2.1.1+cu130, TRL 1.5.1, Transformers 5.3.0",
        "I am on Ubuntu 24.04 with torch==2.1.1+cpu",
    ],
)
def test_a_line_states_the_version(line: str) -> None:
    assert str(stated_in(line)) == "2.1"


@pytest.mark.parametrize(
    "line",
    [
        "[pip3] torchaudio==2.1.1",
        "[conda] pytorch-cuda 12.1",
        "since PyTorch version: 2.1.1",
        "PyTorch 2.1.1 works, 2.2.0 fails",
        "torch 3.1.1",
        "it works with torch 2.1.1+cu118 and fails with 2.2.0+cu118",
    ],
)
def test_other_lines_do_not(line: str) -> None:
    assert stated_in(line) is None


def test_the_version_below_an_error_decides_how_to_record_more(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.Unsupported: call_method split\n\n### Versions\n\n[pip3] numpy==1.24.1\n[pip3] torch==2.1.1+cu121\n"
    (tmp_path / "run.txt").write_text(text, encoding="utf-8")
    (log,) = load(tmp_path / "run.txt").text_logs
    assert log.version_guess == "2.1"
    assert log.how_to_record.startswith("TORCH_TRACE, which records everything, needs torch 2.4")
