"""Lines of the user's code open in VS Code: only of files on this disk, and never in a page without source."""

from pathlib import Path

import pytest

from shapelog.reporters.html.views.editor_links import EditorLinks, editor_address, existing_file


def address(file: str, path: str | None, is_shown: bool = True) -> str:
    """The address where this path is that of the file."""
    return EditorLinks({file: path}.get, is_shown).address(file, 3)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/srv/my app/a.py", "vscode://file/srv/my%20app/a.py:3"),
        ("C:\\src\\a.py", "vscode://file/C:/src/a.py:3"),
        ('/srv/"><script>?a=1#b.py', "vscode://file/srv/%22%3E%3Cscript%3E%3Fa%3D1%23b.py:3"),
        ("/srv/\ud800\n.py", "vscode://file/srv/%3F%0A.py:3"),
    ],
)
def test_nothing_in_a_path_ends_the_address(path: str, expected: str) -> None:
    assert editor_address(path, 3) == expected
    assert address("model.py", path) == expected


@pytest.mark.parametrize(
    "file",
    [
        "",
        "model.py",
        "src/model.py",
        "<string>",
        "//server/share/a.py",
        "\\\\server\\share\\a.py",
        "/\\server\\a.py",
        "C:a.py",
        "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/tmp/ipykernel_12/34.py",
        "javascript:alert(1)",
        "/" + "a" * 2000,
    ],
)
def test_what_is_not_a_file_of_the_user_with_an_absolute_path_has_no_link(file: str) -> None:
    assert address(file, file) == ""


def test_a_file_that_is_not_on_this_disk_has_no_link(tmp_path: Path) -> None:
    assert address("/srv/a.py", None) == ""
    assert existing_file("/srv/no such file.py") is None
    assert existing_file("//server/share/a.py") is None
    here = tmp_path / "a.py"
    here.touch()
    assert existing_file(str(here)) == str(here)


def test_a_file_on_this_disk_opens_by_its_path_there() -> None:
    assert address("src/model.py", "/home/me/project/src/model.py") == "vscode://file/home/me/project/src/model.py:3"


def test_without_source_there_are_no_links() -> None:
    assert address("/srv/a.py", "/srv/a.py", is_shown=False) == ""
