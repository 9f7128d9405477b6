"""Templates: every value is escaped, whatever was compiled and kept before."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment, UndefinedError
from markupsafe import Markup

from shapelog.reporters.html.environment import environment


class Text(str):
    """Text that is no markup."""


def shouted(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def with_template(made: Environment) -> Environment:
    made.loader = DictLoader({"greeting": "<p>{{ name }}</p>"})
    return made


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def greeting(made: Environment) -> str:
    return with_template(made).get_template("greeting").render(name="<b>")


def test_what_was_compiled_before_shows_values_as_each_page_wants_them(kept: Path) -> None:
    for _ in range(2):
        assert greeting(environment()) == "<p>&lt;b&gt;</p>"
        assert greeting(environment(shouted)) == "<p>&lt;B&gt;</p>"
    assert len(list(kept.rglob("*.cache"))) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<b>", "&lt;b&gt;"),
        (Markup("<b>"), "<b>"),
        (Path("<b>"), "&lt;b&gt;"),
        (Text("<i>"), "&lt;i&gt;"),
        (12, "12"),
        (0.5, "0.5"),
        (True, "True"),
        (None, "None"),
    ],
)
def test_every_value_but_markup_is_escaped(value: Any, text: str) -> None:
    assert environment().from_string("{{ value }} {{ value }}").render(value=value) == f"{text} {text}"


def test_the_same_text_is_escaped_where_it_is_no_markup() -> None:
    made = environment()
    shown = made.from_string("{{ text }} {{ markup }} {{ text }}")
    assert shown.render(text="<b>", markup=Markup("<b>")) == "&lt;b&gt; <b> &lt;b&gt;"


def test_macros_take_names_defaults_and_callers() -> None:
    plain = "{% macro plain(text, name='x', more='') %}<{{ text }} {{ name }}{{ more }}>{% endmacro %}"
    around = "{% macro around(text) %}<{{ text }} {{ caller() }}>{% endmacro %}"
    uses = "{{ plain('&', more=1) }} {% call around('a') %}{{ text }}{% endcall %}"
    assert environment().from_string(plain + around + uses).render(text="<b>") == "<&amp; x1> <a &lt;b&gt;>"


def test_without_a_place_to_keep_them_templates_are_compiled_each_time(kept: Path) -> None:
    (kept / "nothing").write_bytes(b"")
    tempfile.tempdir = str(kept / "nothing")
    assert greeting(environment(shouted)) == "<p>&lt;B&gt;</p>"


def test_a_full_disk_keeps_no_page_from_being_made(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    made = environment(shouted)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    assert greeting(made) == "<p>&lt;B&gt;</p>"
    assert list(kept.rglob("*.cache")) == []


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        with_template(environment()).get_template("greeting").render()
