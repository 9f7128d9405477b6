"""Compiled templates are kept where nobody else can change them, and a cache that cannot be used is no error."""

import os
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment
from make import load, small_trace

from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.html.render import render
from shapelog.reporters.html.template_cache import template_cache


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "shapelog" / "templates"


def rendered(text: str, form: str = "plain") -> str:
    return Environment(loader=DictLoader({"a": text}), bytecode_cache=template_cache(form)).get_template("a").render(x=1)


def test_a_template_is_compiled_once_and_again_when_its_text_changes(cache_home: Path) -> None:
    assert rendered("one {{ x }}") == "one 1"
    (compiled,) = cache_home.iterdir()
    before = compiled.read_bytes()
    assert rendered("one {{ x }}") == "one 1"
    assert compiled.read_bytes() == before
    assert rendered("two {{ x }}") == "two 1"
    assert compiled.read_bytes() != before


def test_a_damaged_file_is_compiled_again(cache_home: Path) -> None:
    rendered("one {{ x }}")
    (compiled,) = cache_home.iterdir()
    for damage in (b"", b"\x00" * 100, compiled.read_bytes()[:-20]):
        compiled.write_bytes(damage)
        assert rendered("one {{ x }}") == "one 1"


def test_forms_do_not_share_what_was_compiled(cache_home: Path) -> None:
    rendered("one {{ x }}", "plain")
    rendered("one {{ x }}", "finalized")
    assert len(list(cache_home.iterdir())) == 2


def test_a_directory_that_others_can_write_is_not_used(cache_home: Path) -> None:
    cache_home.mkdir(parents=True)
    cache_home.chmod(0o777)
    assert template_cache("plain") is None


def test_a_directory_of_somebody_else_is_not_used(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert template_cache("plain") is None


def test_a_page_is_the_same_where_there_can_be_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = analyze(load(small_trace()))
    page = render(report, Options())
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert template_cache("plain") is None
    assert render(report, Options()) == page


def test_a_full_disk_only_means_that_nothing_is_kept(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jinja2.bccache.tempfile.NamedTemporaryFile", full)
    assert rendered("one {{ x }}") == "one 1"
    assert list(cache_home.iterdir()) == []


def test_a_relative_directory_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    rendered("one {{ x }}")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["home"]
