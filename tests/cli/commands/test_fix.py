"""``shapelog fix``."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import DEMO, FIXTURES, call, refusal
from json_schemas import faults

ONCE = str(FIXTURES / "lab" / "no_recompiles.log.gz")
PROGRAM = FIXTURES / "real" / "demo.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with the program of the demo."""
    shutil.copy(PROGRAM, tmp_path)
    return tmp_path


def test_a_diff_is_printed_and_nothing_is_changed(root: Path) -> None:
    done = call("fix", DEMO, "--source-root", str(root))
    assert done.exit_code == 0
    assert done.stdout.startswith("# 3 of 3 suggestions placed, in 1 file\n")
    assert "+        torch._dynamo.mark_dynamic(tokens, (0, 1))\n+        loss = classify(tokens)" in done.stdout
    assert "+torch.compiler.config.dynamic_sources = \"L['self'].step\"\n" in done.stdout
    assert done.stderr == f"shapelog: no file was changed; to apply this patch: shapelog fix {DEMO} --source-root {root} --write\n"
    assert (root / "demo.py").read_bytes() == PROGRAM.read_bytes()


def test_the_files_are_changed_on_request_and_then_refused(root: Path) -> None:
    done = call("fix", DEMO, "--source-root", str(root), "--write")
    assert done.exit_code == 0
    assert done.stderr == "shapelog: changed demo.py; to confirm, record again and run shapelog compare\n"
    assert (root / "demo.py").read_text().count("mark_dynamic") == 6
    again = call("fix", DEMO, "--source-root", str(root), "--write")
    assert again.exit_code == 1
    assert again.stderr == "shapelog: no suggestion could be placed\n"
    assert "demo.py has changed since the trace was recorded" in again.stdout


def test_the_patch_is_written_to_a_file(root: Path) -> None:
    out = root / "fix.patch"
    assert call("fix", DEMO, "--source-root", str(root), "-o", str(out)).stdout == ""
    assert out.read_text() == call("fix", DEMO, "--source-root", str(root)).stdout


def test_json_agrees_with_its_schema(root: Path) -> None:
    data = json.loads(call("fix", DEMO, "--source-root", str(root), "-f", "json").stdout)
    assert faults("fix", data) == []
    assert [(item["id"], item["how"]) for item in data["placed"]] == [
        ("A1", "mark_dynamic"),
        ("A2", "dynamic_sources"),
        ("A3", "mark_dynamic"),
    ]
    nothing = json.loads(call("fix", DEMO, "--source-root", str(FIXTURES / "lab"), "-f", "json").stdout)
    assert faults("fix", nothing) == []
    assert (nothing["placed"], nothing["files"], len(nothing["not_placed"])) == ([], [], 3)


def test_without_a_suggestion_nothing_is_printed_but_the_reason() -> None:
    done = call("fix", ONCE)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "shapelog: nothing to change: nothing recompiled (every frame was compiled once)\n"


def test_what_is_no_trace_is_refused() -> None:
    assert "not a torch.compile trace" in refusal("fix", __file__)
