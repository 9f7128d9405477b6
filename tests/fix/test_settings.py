"""Settings that PyTorch's hints name: placed once, after the imports of the file whose code runs first, or refused with the reason."""

from pathlib import Path

import make
import pytest
from programs import recorded

from shapelog.advice.paste_formats import as_python
from shapelog.fix.patches import Fix, patches_for
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.fix import render_fix

HEAD = "import torch\n"
REST = """

@torch.compile
def f(x):
    return x.item() * 2


f(batch)
"""
BREAK = """Graph break in user code at {path}:6
Graph Break Reason: {what}
  Explanation: Backend does not support this.
  Hint: {hint}
"""
SCALARS = "Set `torch._dynamo.config.capture_scalar_outputs = True` or TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1 to include these."
SHAPES = "Set `torch._dynamo.config.capture_dynamic_output_shape_ops = True` to include these."


def fixed(
    folder: Path,
    text: str,
    *hints: str,
    definition: str = "@torch.compile",
    is_there: bool = True,
    caller: str = "<stdin>",
    kind: str = "Unsupported operator {}",
) -> Fix:
    """What is made of a program with a graph break for each hint, and with one size that varies; ``caller`` is the outermost file."""
    path = folder / "train.py"
    if is_there:
        path.write_text(text)
    lost = {"restart_reasons": ["operator 0"], "dynamo_time_before_restart_s": 0.5}
    data = recorded(path, text, "f(batch)", definition=definition, **lost).replace(b'"<stdin>"', f'"{caller}"'.encode())
    for number, hint in enumerate(hints):
        data += make.artifact("dynamo_graph_break_reason", BREAK.format(path=path, what=kind.format(number), hint=hint), id=f"0/{number}")
    report = analyze(make.load(data))
    assert report.advice
    return patches_for(report, report.advice, Repository(str(folder)))


def module_lines(found: Fix) -> list[str]:
    """What the only changed file sets."""
    (patch,) = found.patches
    return [line for line in patch.after.splitlines() if "config" in line and line not in patch.file.text.splitlines()]


def test_a_setting_is_placed_after_the_imports(tmp_path: Path) -> None:
    found = fixed(tmp_path, HEAD + REST, SCALARS)
    assert found.patches[0].after.startswith("import torch\n\ntorch._dynamo.config.capture_scalar_outputs = True\n\n\n@torch.compile")
    hunks = [line for line in render_fix(found, Options()).decode().splitlines() if line.startswith("@@")]
    assert hunks[0].split("@@ ")[2].startswith("S1 capture_scalar_outputs = True: removes 1 graph break; saves ")


def test_a_setting_that_several_hints_name_is_placed_once(tmp_path: Path) -> None:
    found = fixed(tmp_path, HEAD + REST, SCALARS, SCALARS.replace("include", "capture"))
    assert module_lines(found) == ["torch._dynamo.config.capture_scalar_outputs = True"]


def test_several_settings_share_one_import(tmp_path: Path) -> None:
    text = "from torch import compile\n" + REST.replace("torch.compile", "compile") + "f(batch)\n"
    after = fixed(tmp_path, text, SCALARS, SHAPES, definition="@compile").patches[0].after
    assert after.startswith("from torch import compile\nimport torch\n\ntorch._dynamo.config.")
    assert (after.count("import torch\n"), after.count("torch._dynamo.config.")) == (1, 2)


@pytest.mark.parametrize(
    "hint",
    [
        "Set torch._dynamo.config.skip_fwd_side_effects_in_bwd_under_checkpoint = True to skip them.",
        "Set torch._dynamo.config.capture_scalar_outputs = False to skip them.",
        "Set torch._dynamo.config.capture_scalar_outputs = anything to skip them.",
    ],
)
def test_a_setting_that_changes_more_than_what_is_traced_is_left_to_the_user(tmp_path: Path, hint: str) -> None:
    found = fixed(tmp_path, HEAD + REST, hint)
    assert [item.reason for item in found.settings] == ["it changes more than what is traced, so read PyTorch's hint before you set it"]
    assert module_lines(found) == []


def test_a_setting_that_makes_some_operators_raise_errors_is_left_to_the_user(tmp_path: Path) -> None:
    text = HEAD + REST.replace("x.item() * 2", "torch.roll(x, x.sum())")
    found = fixed(tmp_path, text, SCALARS, kind="Data dependent operator")
    reason = "an operator that is passed the tensor rather than its .item() may raise an error then, so set it yourself"
    assert [(item.name, item.reason) for item in found.settings] == [("capture_scalar_outputs = True", reason)]
    assert module_lines(found) == []


@pytest.mark.parametrize(
    "line", ["torch._dynamo.config.capture_scalar_outputs = False", "torch._dynamo.config.patch(capture_scalar_outputs=False)"]
)
def test_a_setting_that_the_program_sets_itself_is_left_alone(tmp_path: Path, line: str) -> None:
    found = fixed(tmp_path, f"{HEAD}{line}\n{REST}", SCALARS)
    assert [item.reason for item in found.settings] == ["train.py:2 sets capture_scalar_outputs already: set capture_scalar_outputs = True"]


def test_code_that_runs_in_a_thread_has_settings_of_its_own(tmp_path: Path) -> None:
    """Since torch 2.13, what one thread sets does not hold in others."""
    found = fixed(tmp_path, HEAD + REST, SCALARS, caller="/opt/python3.11/lib/python3.11/threading.py")
    assert [item.reason for item in found.settings] == [
        "f runs in a thread, which has settings of its own: set capture_scalar_outputs = True there"
    ]
    assert "# before the first compiled call, in each thread that makes one: threads do not share settings\n" in as_python(found.advice)


def test_a_program_that_is_not_there_gets_no_setting(tmp_path: Path) -> None:
    found = fixed(tmp_path, HEAD + REST, SCALARS, is_there=False)
    assert [item.reason for item in found.settings] == [
        f"train.py is not found below {tmp_path}: run this where the program ran, or pass --source-root"
    ]
    assert (found.patches, found.is_any_placed) == ((), False)


def test_a_function_that_only_logs_is_left_to_the_user_to_add(tmp_path: Path) -> None:
    hint = "If you call a logging function (e.g. `_warnings.warn`), add it to `torch._dynamo.config.reorderable_logging_functions`."
    text = BREAK.replace("Backend does not support this", "Dynamo cannot trace `_warnings.warn`")
    path = tmp_path / "train.py"
    path.write_text(HEAD + REST)
    data = recorded(path, HEAD + REST, "f(batch)", restart_reasons=["operator 0"], dynamo_time_before_restart_s=0.5)
    data += make.artifact("dynamo_graph_break_reason", text.format(path=path, what="call", hint=hint), id="0/0")
    report = analyze(make.load(data))
    assert report.advice
    (setting,) = patches_for(report, report.advice, Repository(str(tmp_path))).settings
    assert setting.name == "reorderable_logging_functions.add(warnings.warn)"
    assert setting.reason.startswith("the call then writes its line later")
