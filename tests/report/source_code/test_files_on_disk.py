"""When a file on this disk is the one that the trace is about, and which functions it has."""

import os
from pathlib import Path

import pytest

from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.files_on_disk import DiskState, Extent, disk_file
from shapelog.report.source_code.quoted_lines import Quote

CODE = """import torch


class Net:
    @torch.compile
    def forward(self, x):  # the only one
        def inner(y):
            return y + 1

        return inner(x)


async def main():
    pass
"""
GOOD = {6: Quote("forward", "def forward(self, x):"), 10: Quote("forward", "return inner(x)"), 12: Quote("", "")}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(CODE)
    return path


def nowhere(tmp_path: Path) -> Repository:
    return Repository(str(tmp_path / "nowhere"))


def test_a_file_with_every_quoted_line_is_unchanged(model: Path, tmp_path: Path) -> None:
    found = disk_file(str(model), GOOD, nowhere(tmp_path))
    assert (found.state, found.path) == (DiskState.UNCHANGED, str(model))
    assert "\n".join(found.lines) + "\n" == CODE


@pytest.mark.parametrize(
    "quotes",
    [
        {10: Quote("forward", "return outer(x)")},
        {9: Quote("forward", "return inner(x)")},
        {400: Quote("forward", "return inner(x)")},
        {10: Quote("forward", "return inner(x)"), 400: Quote("", "")},
        {10: Quote("forward", "return")},
        {10: Quote("forward", "")},
        {},
    ],
)
def test_a_file_without_a_quoted_line_or_of_which_none_is_quoted_is_not_shown(
    quotes: dict[int, Quote], model: Path, tmp_path: Path
) -> None:
    found = disk_file(str(model), quotes, nowhere(tmp_path))
    assert (found.state, found.path, found.lines) == (DiskState.CHANGED, str(model), ())


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'\n", "# coding: nonsense\n", "# coding: rot13\n"])
def test_a_file_that_is_no_python_counts_as_changed(text: str, model: Path, tmp_path: Path) -> None:
    model.write_text(text)
    assert disk_file(str(model), GOOD, nowhere(tmp_path)).state is DiskState.CHANGED


def test_a_file_that_is_not_utf_8_counts_as_changed(model: Path, tmp_path: Path) -> None:
    model.write_bytes(b"x = '\xff'\n")
    assert disk_file(str(model), GOOD, nowhere(tmp_path)).state is DiskState.CHANGED


@pytest.mark.parametrize("name", ["/srv/none/model.py", "//server/share/model.py", "\\\\server\\share\\model.py", "model\0.py", "model.py"])
def test_a_file_that_is_not_here_is_not_looked_for_over_the_network(name: str, tmp_path: Path) -> None:
    assert disk_file(name, GOOD, nowhere(tmp_path)).state is DiskState.ELSEWHERE


def test_only_regular_python_files_of_a_readable_size_are_read(model: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.key"
    secret.write_text(CODE)
    large = tmp_path / "large.py"
    large.write_text(CODE + "#" * 500_000)
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for path in (secret, large, pipe, tmp_path):
        assert disk_file(str(path), GOOD, nowhere(tmp_path)).state is DiskState.ELSEWHERE, path


def test_a_file_of_another_machine_is_found_in_the_repository(model: Path, tmp_path: Path) -> None:
    found = disk_file("/srv/checkout/model.py", GOOD, Repository(str(tmp_path)))
    assert (found.state, found.path) == (DiskState.UNCHANGED, str(model))


def test_functions_have_the_names_of_what_is_around_them_and_begin_with_their_decorators(model: Path, tmp_path: Path) -> None:
    found = disk_file(str(model), GOOD, nowhere(tmp_path))
    assert found.functions == (Extent("Net.forward", 5, 10), Extent("Net.forward.inner", 7, 8), Extent("main", 13, 14))
    assert [item.name if (item := found.function_at(line)) else "" for line in (1, 5, 8, 10, 14)] == [
        "",
        "Net.forward",
        "Net.forward.inner",
        "Net.forward",
        "main",
    ]
