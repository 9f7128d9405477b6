"""``shapelog rules`` and ``shapelog rule``: the options that they offer. Their output is tested with the rules."""

from pathlib import Path

import pytest
from command_line import call, refusal


@pytest.mark.parametrize("command", [("rules",), ("rule", "SL307")])
@pytest.mark.parametrize("option", ["--strict", "--debug"])
def test_options_about_a_trace_are_not_offered(command: tuple[str, ...], option: str) -> None:
    assert option not in call(command[0], "--help").stdout
    done = call(*command, option)
    assert done.exit_code == 2
    assert f"No such option: {option}" in done.stderr or f"No such option '{option}'" in done.stderr


@pytest.mark.parametrize("command", [("rules",), ("rule", "SL307")])
def test_color_and_width_settings_are_used_and_the_others_are_ignored(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("color = 'always'\nwidth = 50\nstrict = true\n", encoding="utf-8")
    done = call(*command, "--config", str(file))
    assert done.exit_code == 0
    assert done.stdout == call(*command, "--color", "always", "--width", "50").stdout


def test_an_unknown_rule_is_refused() -> None:
    assert "SL000" in refusal("rule", "SL000")
