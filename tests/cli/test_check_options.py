"""The baseline that ``shapelog check`` reads and writes."""

import os
import threading
from pathlib import Path

import make
import pytest
from command_line import call, refusal


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("made.log", "--write-baseline"), "shapelog-baseline.json"),
        (("--write-baseline", "made.log"), "shapelog-baseline.json"),
        (("--write-baseline", "--", "made.log"), "shapelog-baseline.json"),
        (("made.log", "--write-baseline", "--strict"), "shapelog-baseline.json"),
        (("made.log", "--write-baseline", "known.json"), "known.json"),
        (("--write-baseline=known.json", "made.log"), "known.json"),
        (("--write-baseline", "known.json", "made.log"), "known.json"),
        (("made.log", "--baseline", "known.json", "--write-baseline"), "known.json"),
        (("--baseline", "known.json", "--write-baseline", "made.log"), "known.json"),
    ],
)
def test_a_baseline_is_written_and_the_next_check_passes(here: Path, arguments: tuple[str, ...], written: str) -> None:
    done = call("check", *arguments)
    assert done.exit_code == 0
    assert done.stderr == f"shapelog: wrote {written}: 1 function, 1 finding that is known from now on\n"
    content = (here / written).read_bytes()
    assert call("check", *arguments).exit_code == 0
    assert (here / written).read_bytes() == content
    assert call("check", "made.log", "--baseline", written).exit_code == 0
    assert (here / "made.log").read_bytes() == make.small_trace()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--write-baseline", "made.log", "fine.log"),
        ("fine.log", "--write-baseline", "made.log"),
        ("made.log", "--write-baseline", "none.log"),
        ("made.log", "--baseline", "fine.log", "--write-baseline"),
        ("made.log", "--write-baseline", "."),
        ("made.log", "--write-baseline", "-"),
        ("made.log", "--write-baseline", "nowhere/known.json"),
        ("--write-baseline", "nowhere.json"),
    ],
)
def test_a_baseline_never_replaces_another_file(here: Path, arguments: tuple[str, ...]) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    refusal("check", *arguments)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_baseline_of_another_version_or_a_damaged_one_can_be_rewritten(here: Path) -> None:
    call("check", "made.log", "--write-baseline")
    path = here / "shapelog-baseline.json"
    whole = path.read_bytes()
    for content in (whole.replace(b'"format_version": 1', b'"format_version": 2'), whole[:100]):
        path.write_bytes(content)
        refusal("check", "made.log", "--baseline", path.name)
        assert call("check", "made.log", "--write-baseline").exit_code == 0
        assert path.read_bytes() == whole


def test_a_pipe_after_write_baseline_is_read_as_a_trace(here: Path) -> None:
    pipe = here / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(make.small_trace()))
    writer.start()
    assert call("check", "--write-baseline", "pipe").exit_code == 0
    writer.join()
    assert (here / "shapelog-baseline.json").exists()
