"""The options that commands share: width, color, limit."""

import json
import re

import pytest
from command_line import DEMO, SMALL, call


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(
    "arguments", [("report", DEMO, "-v"), ("report", DEMO, "--frame", "0"), ("explain", DEMO, "0/2"), ("suggest-dynamic", DEMO, "-v")]
)
def test_no_line_of_text_is_wider_than_width(arguments: tuple[str, ...], width: int) -> None:
    """But for lines to be copied, which would not be what they are were they folded."""
    copied = ("export ", "torch.", "torch._dynamo.", "from torch.", "TORCH_")
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
    done = call("report", SMALL, **environment)
    assert ("\x1b[" in done.stdout) is is_colored


@pytest.mark.parametrize("arguments", [("report", SMALL), ("explain", SMALL, "0/1")])
def test_json_is_one_document(arguments: tuple[str, ...]) -> None:
    data = json.loads(call(*arguments, "--format", "json").stdout)
    assert data["format"].startswith("shapelog ")
    assert isinstance(data["format_version"], int)
