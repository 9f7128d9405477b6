"""Templates: every value is escaped, and a name that does not exist is an error."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import make
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from shapelog.reporters.html.environment import environment

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]


class Text(str):
    """Text that is not markup."""


def shouted(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def test_values_pass_through_finalize_before_they_are_escaped() -> None:
    assert environment().from_string("<p>{{ name }}</p>").render(name="<b>") == "<p>&lt;b&gt;</p>"
    assert environment(shouted).from_string("<p>{{ name }}</p>").render(name="<b>") == "<p>&lt;B&gt;</p>"


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


def test_equal_texts_are_escaped_only_where_they_are_not_markup() -> None:
    shown = environment().from_string("{{ text }} {{ markup }} {{ text }}")
    assert shown.render(text="<b>", markup=Markup("<b>")) == "&lt;b&gt; <b> &lt;b&gt;"


def test_macros_take_names_defaults_and_callers() -> None:
    plain = "{% macro plain(text, name='x', more='') %}<{{ text }} {{ name }}{{ more }}>{% endmacro %}"
    around = "{% macro around(text) %}<{{ text }} {{ caller() }}>{% endmacro %}"
    uses = "{{ plain('&', more=1) }} {% call around('a') %}{{ text }}{% endcall %}"
    assert environment().from_string(plain + around + uses).render(text="<b>") == "<&amp; x1> <a &lt;b&gt;>"


def test_a_name_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("<p>{{ name }}</p>").render()


@pytest.mark.slow
def test_a_page_leaves_compiled_templates_in_the_cache_directory_and_nothing_else(python: Process, tmp_path: Path) -> None:
    trace, temporary, cache = tmp_path / "t.log", tmp_path / "temporary", tmp_path / "cache"
    trace.write_bytes(make.small_trace())
    temporary.mkdir()
    folders = {"TMPDIR": str(temporary), "HOME": str(temporary), "XDG_CACHE_HOME": str(cache)}
    done = python("from shapelog.cli.main import main; main()", "report", str(trace), "-o", "page.html", **folders)
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(temporary.iterdir()) == []
    left = [path for path in cache.rglob("*") if path.is_file()]
    assert left
    assert all(path.parent == cache / "shapelog" / "templates" and path.suffix == ".cache" for path in left)
