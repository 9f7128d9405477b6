"""The patch as a diff that other tools apply, and applied to the files."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import make
import pytest
from programs import recorded

from shapelog.errors import ShapelogError
from shapelog.fix.patches import Fix, patches_for
from shapelog.fix.write import apply_patches
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.fix import render_fix

PROGRAM = "import torch\n\n\n@torch.compile\ndef f(x):\n    return x * 2\n\n\nf(batch)\ndone = [f(x) for x in data]\n"


def fixed(root: Path, content: bytes = PROGRAM.encode(), name: str = "train.py", encoding: str = "utf-8") -> Fix:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    report = analyze(make.load(recorded(path, content.decode(encoding).replace("\r\n", "\n"), "f(batch)")))
    assert report.advice
    found = patches_for(report, report.advice, Repository(str(root)))
    assert found.patches
    return found


SINGLE = PROGRAM.replace("done = [f(x) for x in data]\n", "")
ODD = [
    SINGLE.encode(),
    SINGLE.replace("\n", "\r\n").encode(),
    SINGLE.rstrip("\n").encode(),
    b"\xef\xbb\xbf" + SINGLE.encode(),
    b"# coding: latin-1\n" + SINGLE.replace("batch", "b\u00e4tch").replace("f(b\u00e4tch", "f(batch").encode("latin-1") + b"# \xe4\n",
]


@pytest.mark.parametrize("content", ODD, ids=["plain", "windows", "no end", "mark", "latin"])
def test_a_file_keeps_its_line_ends_its_encoding_and_its_mode(tmp_path: Path, content: bytes) -> None:
    encoding = "latin-1" if b"latin" in content else "utf-8-sig"
    found = fixed(tmp_path, content, encoding=encoding)
    path = tmp_path / "train.py"
    path.chmod(0o750)
    apply_patches(found.patches)
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    assert path.read_bytes() == content.replace(b"f(batch)", b"torch._dynamo.mark_dynamic(batch, 0)" + newline + b"f(batch)")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert os.listdir(tmp_path) == ["train.py"]


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("rot13", "train.py is not valid Python"),
        ("idna", "train.py is not valid Python"),
        ("unicode_escape", "train.py has an encoding (unicode_escape) in which the same text has other bytes"),
    ],
)
def test_a_file_whose_encoding_would_change_it_is_left_alone(tmp_path: Path, encoding: str, reason: str) -> None:
    path = tmp_path / "train.py"
    content = f"# coding: {encoding}\n{SINGLE}"
    path.write_text(content, encoding="ascii")
    report = analyze(make.load(recorded(path, content, "f(batch)")))
    assert report.advice
    found = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert (found.patches, [item.reason for item in found.not_placed]) == ((), [reason])


APPLY = (["patch", "-p0"], ["patch", "-p1"], ["git", "apply"])


@pytest.mark.parametrize("content", ODD, ids=["plain", "windows", "no end", "mark", "latin"])
@pytest.mark.parametrize("name", ["train.py", "app/train.py"])
@pytest.mark.parametrize("command", APPLY, ids=" ".join)
def test_the_diff_is_one_that_patch_and_git_apply(tmp_path: Path, command: list[str], name: str, content: bytes) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    found = fixed(tmp_path, content, name, "latin-1" if b"latin" in content else "utf-8-sig")
    diff = render_fix(found, Options())
    if command[0] == "git":
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = subprocess.run(command, input=diff, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert (tmp_path / name).read_bytes() == found.patches[0].content


def test_each_hunk_names_the_compilations_that_go_away(tmp_path: Path) -> None:
    lines = render_fix(fixed(tmp_path, SINGLE.encode()), Options()).decode().splitlines()
    hunks = [line for line in lines if line.startswith("@@")]
    assert hunks == ["@@ -6,4 +6,5 @@ A1 x: removes 0/1 (1.00 s)"]
    assert lines[0] == "# 1 of 1 suggestion placed, in 1 file"
    assert "# A1 x: removes 0/1 (1.00 s), before the call (train.py:9)" in lines


def test_a_file_that_changed_in_the_meantime_is_not_replaced(tmp_path: Path) -> None:
    found = fixed(tmp_path)
    (tmp_path / "train.py").write_text("other")
    with pytest.raises(ShapelogError, match=r"train.py: the file has changed; run shapelog fix again"):
        apply_patches(found.patches)
    assert (tmp_path / "train.py").read_text() == "other"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path: Path) -> None:
    found = fixed(tmp_path)
    (tmp_path / "train.py").chmod(0o444)
    with pytest.raises(ShapelogError, match=r"train.py: cannot write: permission denied"):
        apply_patches(found.patches)


def test_control_characters_of_a_file_do_not_reach_a_terminal(tmp_path: Path) -> None:
    found = fixed(tmp_path, SINGLE.replace("f(batch)", "'\x1b[31m'\nf(batch)").encode())
    assert b"\x1b" not in render_fix(found, Options(is_terminal=True, color=False))
    assert b"\x1b" in render_fix(found, Options())
