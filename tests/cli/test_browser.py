"""``shapelog report --open``."""

import stat
import sys
import webbrowser
from pathlib import Path

import pytest
from command_line import call


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The addresses that were opened, on a machine with a display; temporary files are in a directory of their own."""
    addresses: list[str] = []
    for name in ("CI", "BROWSER", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "open", lambda address: not addresses.append(address))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return addresses


def is_page(address: str) -> bool:
    return Path(address.removeprefix("file://")).read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_the_page_that_is_written_is_opened(here: Path, opened: list[str], option: str) -> None:
    assert call("report", "made.log", option, "page.html", "--open").exit_code == 0
    assert opened == [(here / "page.html").as_uri()]
    assert is_page(opened[0])


def test_without_a_file_a_temporary_page_is_opened_beside_the_report(here: Path, opened: list[str]) -> None:
    done = call("report", "made.log", "--open")
    assert done.stdout == call("report", "made.log").stdout
    (address,) = opened
    assert is_page(address)
    assert f"wrote {address.removeprefix('file://')}, " in done.stderr


def test_a_page_for_standard_output_goes_to_the_temporary_file(here: Path, opened: list[str]) -> None:
    done = call("report", "made.log", "-f", "html", "--open")
    assert done.stdout == ""
    assert is_page(opened[0])


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("DISPLAY", "")])
def test_in_ci_and_without_a_display_the_path_is_printed(
    here: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    done = call("report", "made.log", "-o", "page.html", "--open")
    assert (done.exit_code, opened) == (0, [])
    assert done.stderr == "shapelog: page.html: no browser found to open this page\n"


@pytest.mark.parametrize(("name", "platform"), [("BROWSER", "linux"), ("WAYLAND_DISPLAY", "linux"), ("OTHER", "darwin")])
def test_a_page_is_opened_where_a_browser_can_be_seen(
    here: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, name: str, platform: str
) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.setenv(name, "something")
    monkeypatch.setattr(sys, "platform", platform)
    call("report", "made.log", "-o", "page.html", "--open")
    assert len(opened) == 1


def test_a_browser_that_cannot_be_started_is_no_failure(here: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(address: str) -> bool:
        raise webbrowser.Error(address)

    for browser in (fail, lambda address: False):
        monkeypatch.setattr(webbrowser, "open", browser)
        done = call("report", "made.log", "-o", "page.html", "--open")
        assert (done.exit_code, done.stderr) == (0, "shapelog: page.html: no browser found to open this page\n")


def test_a_page_that_was_not_written_is_not_opened_and_leaves_nothing_behind(here: Path, opened: list[str]) -> None:
    assert call("report", "none.log", "--open").exit_code == 2
    assert call("report", "made.log", "-o", "none/page.html", "--open").exit_code == 2
    assert opened == []
    assert list((here / "temporary").iterdir()) == []


def test_only_its_owner_can_read_the_temporary_page(here: Path, opened: list[str]) -> None:
    call("report", "made.log", "--open")
    (folder,) = (here / "temporary").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_temporary_file_that_cannot_be_made_is_refused_in_one_line(
    here: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(here / "none"))
    done = call("report", "made.log", "--open")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"shapelog: {here / 'none'}: cannot write the page there: ")
