"""The options that commands share: width, color, limit."""

import json
import os
import re

import click
import pytest
from click.testing import CliRunner
from command_line import DEMO, SMALL, call

from shapelog.cli.options import (
    CommonOptions,
    format_options,
    input_options,
    list_options,
    needs_record_index,
    output_options,
    policy_options,
    reporter_options,
)
from shapelog.cli.output import Target


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(
    "arguments", [("report", DEMO, "-v"), ("report", DEMO, "--frame", "0"), ("explain", DEMO, "0/2"), ("suggest-dynamic", DEMO, "-v")]
)
def test_no_line_of_text_is_wider_than_width(arguments: tuple[str, ...], width: int) -> None:
    """Except for lines to be copied, which cannot be wrapped."""
    copied = ("export ", "torch.", "torch._dynamo.", "from torch.", "TORCH_", "= see: ", "https://")
    lines = [line for line in call(*arguments, "--width", str(width)).stdout.splitlines() if not line.strip().startswith(copied)]
    assert [line for line in lines if len(line) > width] == []
    assert max(map(len, lines)) > width * 0.7


def test_the_default_width_is_columns_or_100() -> None:
    assert call("report", DEMO, COLUMNS="60").stdout == call("report", DEMO, "--width", "60").stdout
    assert call("report", DEMO).stdout == call("report", DEMO, "--width", "100").stdout


@pytest.mark.parametrize("columns", ["abc", "-5", "1e3", "", "0", "\uff11\uff10"])
def test_a_columns_variable_that_is_not_a_number_is_ignored(columns: str) -> None:
    assert call("report", SMALL, COLUMNS=columns).stdout == call("report", SMALL).stdout


def test_without_a_terminal_color_is_used_only_on_request() -> None:
    assert "\x1b" not in call("report", SMALL).stdout
    assert "\x1b" not in call("report", SMALL, "--color", "never", FORCE_COLOR="1").stdout
    colored = call("report", SMALL, "--color", "always").stdout
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == call("report", SMALL).stdout


def test_color_always_overrides_no_color() -> None:
    assert call("report", SMALL, "--color", "always", NO_COLOR="1").stdout == call("report", SMALL, "--color", "always").stdout


@pytest.mark.parametrize(("environment", "is_colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_color_unless_no_color_is_set(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_colored: bool
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    assert ("\x1b[" in call("report", SMALL, **environment).stdout) is is_colored


@pytest.mark.parametrize("arguments", [("report", SMALL), ("explain", SMALL, "0/1")])
def test_json_is_one_document(arguments: tuple[str, ...]) -> None:
    data = json.loads(call(*arguments, "--format", "json").stdout)
    assert data["format"].startswith("shapelog ")
    assert isinstance(data["format_version"], int)


def options_of(*arguments: str) -> CommonOptions:
    """The options that a command with all groups gets."""
    given: list[CommonOptions] = []

    @click.command()
    @policy_options
    @list_options("Show everything.")
    @format_options
    @input_options
    @output_options(["terminal", "json", "html"], several=True)
    def command(options: CommonOptions) -> None:
        given.append(options)

    done = CliRunner().invoke(command, ["--config", os.devnull, *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return given[0]


def test_a_command_gets_the_values_of_all_groups() -> None:
    options = options_of("-n", "3", "--strict", "--html", "a.html", "--no-source", "--run", "2", "--max-unpacked", "2M", "--ignore", "SL1")
    assert options == CommonOptions(
        targets=(Target("terminal"), Target("html", "a.html", is_announced=True)),
        strict=True,
        limit=3,
        html="a.html",
        no_source=True,
        run="2",
        max_unpacked=2_000_000,
        ignore=("SL1",),
    )


def test_defaults_of_click_and_of_the_dataclass_are_the_same() -> None:
    """A command that does not offer a group gets it as if none of its options were given."""
    assert options_of() == CommonOptions((Target("terminal"),))


def test_verbose_shows_all_whatever_the_limit() -> None:
    for arguments, limit in (((), 6), (("-n", "2"), 2), (("-n", "2", "-v"), 0)):
        assert reporter_options(options_of(*arguments), Target("terminal")).limit == limit


@pytest.mark.parametrize(
    ("arguments", "is_needed"),
    [
        ((), False),
        (("-f", "json"), False),
        (("--html", "a.html"), True),
        (("-o", "a.html"), True),
        (("-o", "a.html", "--embed", "none"), False),
        (("-o", "a.html", "--no-source"), False),
    ],
)
def test_records_are_indexed_only_for_a_page_that_holds_them(arguments: tuple[str, ...], is_needed: bool) -> None:
    assert needs_record_index(options_of(*arguments)) is is_needed


@pytest.mark.parametrize(
    "arguments", [("report", SMALL, "--timeout"), ("check", SMALL, "--max-avoidable-seconds"), ("watch", SMALL, "--idle")]
)
@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_a_number_of_seconds_is_finite(arguments: tuple[str, ...], seconds: str) -> None:
    done = call(*arguments, seconds)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is not a finite number" in done.stderr
