"""Warnings of the compiler that no rule is about are listed, each once, with what to do about those that are known."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.report.report import analyze
from shapelog.report.results import Table
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

TORCH = "/opt/lib/python3.11/site-packages/torch"
HEAD = "W1128 04:19:33.088000 18795 torch/_inductor/"
CACHE = f"{HEAD}codecache.py:2193] [0/0] "
KERNEL = (
    "/tmp/torchinductor_me/ab/cab.py:36: unknown: block: [0,0,0], thread: [{},0,0] Assertion `index out of bounds: 0 <= tmp4 < 9` failed."
)


def rows_of(text: str, folder: Path) -> list[tuple[object, ...]]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    report = analyze(load(path), debug=True)
    table = report.table("performance_hints")
    assert not report.findings
    assert isinstance(table, Table)
    return list(table.rows)


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (
            f"{HEAD}utils.py:1953] [0/0] Not enough SMs to use max_autotune_gemm mode\n",
            "Not enough SMs to use max_autotune_gemm mode",
            "nothing",
        ),
        (
            "W1128 04:19:33.088000 18795 site-packages/torch/_inductor/utils.py:977] Not enough SMs to use max_autotune_gemm mode\n",
            "Not enough SMs to use max_autotune_gemm mode",
            "nothing",
        ),
        (
            "W1128 04:19:33.088000 18795 torch/_logging/_internal.py:1199] [0/0] Profiler function <class 'f'> will be ignored\n",
            "Profiler function <class 'f'> will be ignored",
            "nothing",
        ),
        (f"{HEAD}scheduler.py:5111] [0/0] Layout conflict detected\n", "Layout conflict detected", ""),
        (
            f"{TORCH}/_inductor/compile_fx.py:321: UserWarning: TensorFloat32 tensor cores are not enabled.\n  warn(\nmy own line\n",
            "TensorFloat32 tensor cores are not enabled.",
            "set_float32_matmul_precision",
        ),
        (
            f"{TORCH}/_inductor/lowering.py:7007: UserWarning: \nOnline softmax is disabled on the fly\nsplit it.\n w(\n\n",
            "Online softmax is disabled on the fly split it.",
            "nothing",
        ),
        (
            "/srv/train.py:12: UserWarning: Using `torch.compile(module)` when there are global hooks on modules\n  f()\n",
            "Using `torch.compile(module)` when there are global hooks on modules",
            "module.compile()",
        ),
        (
            f"{CACHE}fx graph unable to write to cache\n{CACHE}Traceback (most recent call last):\n"
            f'{CACHE}  File "/a.py", line 2, in f\n{CACHE}OSError: [Errno 28] No space left\n',
            "fx graph unable to write to cache: OSError: [Errno 28] No space left",
            "the directory of the caches",
        ),
    ],
)
def test_a_warning_is_listed_with_what_to_do(text: str, message: str, help: str, tmp_path: Path) -> None:
    (row,) = rows_of(text, tmp_path)
    assert row[:2] == (message, 1)
    assert help in str(row[2:])


def test_what_each_thread_of_a_kernel_asserts_is_one_message(tmp_path: Path) -> None:
    ((message, times, help),) = rows_of("".join(f"{KERNEL.format(at)}\n" for at in range(5)), tmp_path)
    assert (message, times) == ("Assertion `index out of bounds: 0 <= tmp4 < 9` failed.", 5)
    assert "out of range" in str(help)


def test_a_warning_without_a_compile_is_of_the_process_of_the_first_one(tmp_path: Path) -> None:
    head, path = "W1128 04:19:34.000000 18795 torch/_dynamo/convert_frame.py:964] [0/8] ", tmp_path / "run.txt"
    hit = f"{head}torch._dynamo hit config.recompile_limit (8)\n{head}   function: 'f' (/srv/a.py:1)\n{head}   last reason: 0/0: n == 1\n"
    path.write_text(f"{HEAD}utils.py:1953] Not enough SMs to use max_autotune_gemm mode\n{hit}", encoding="utf-8")
    assert len(load(path).ranks) == 1


def test_a_warning_about_the_export_may_have_another_place(tmp_path: Path) -> None:
    text = "/lib/contextlib.py:144: UserWarning: The tensor attribute self.c was assigned during export (see https://pytorch.org).\n  f()\n"
    ((message, _, help),) = rows_of(text, tmp_path)
    assert (message, help) == (
        "The tensor attribute self.c was assigned during export (see https://pytorch.org).",
        "register the tensor as a buffer, with register_buffer",
    )


def test_a_warning_that_the_end_of_a_text_cuts_is_one_more_of_those_that_begin_with_its_words(tmp_path: Path) -> None:
    text = "/lib/contextlib.py:144: UserWarning: The tensor attribute self.c was assigned during export (see https://pytorch.org).\n"
    ((message, times, _),) = rows_of(f"{text}\nAnd later:\n{text[:-7]}", tmp_path)
    assert (message, times) == ("The tensor attribute self.c was assigned during export (see https://pytorch.org).", 2)


@pytest.mark.parametrize(("owner", "named"), [("1/10", {"1/4", "1/10"}), ("0/0", set())])
def test_a_warning_of_a_recompilation_shows_that_there_was_one(owner: str, named: set[str], tmp_path: Path) -> None:
    head, path = "W1128 04:19:33.000000 18795 torch/fx/experimental/symbolic_shapes.py:4424] ", tmp_path / "run.txt"
    lines = [f"{head}[{each}] ps0 is not in var_ranges, defaulting to unknown range.\n" for each in ("1/4" if named else "0/0", owner)]
    path.write_text("".join(lines), encoding="utf-8")
    trace = load(path)
    assert {str(compile.id) for compile in trace.compiles} <= named
    assert ("1/10 is compilation no. 11" in render(analyze(trace), Options()).decode()) is bool(named)


@pytest.mark.parametrize(
    "text",
    [
        f"{TORCH}/jit/_trace.py:1006: DeprecationWarning: `torch.jit.trace` is deprecated. Please switch to `torch.compile`.\n",
        f"{TORCH}/nn/functional.py:5962: UserWarning: Support for mismatched masks is deprecated.\n  warnings.warn(\n",
        "I1128 04:19:33.088000 18795 torch/_inductor/codecache.py:1400] [0/0] fx graph cache hit for key f\n",
        "W1128 04:19:33.088000 18795 torch/_logging/_internal.py:1199] device_mesh is not set\n",
        "W1128 04:19:33.088000 18795 torch/distributed/run.py:792] \n",
    ],
)
def test_warnings_of_other_code_and_what_is_no_warning_are_not_listed(text: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match="not a"):
        rows_of(text, tmp_path)
