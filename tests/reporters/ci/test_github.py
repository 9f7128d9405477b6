"""Annotations on GitHub: commands as its runner reads them, and nothing from a trace is one."""

import re
from collections.abc import Callable

import ci
import make
import pytest

from shapelog.check.check import CheckResult, check
from shapelog.check.policy import Policy
from shapelog.reporters import Options
from shapelog.reporters.ci import github
from shapelog.rules import Level

Golden = Callable[[str, bytes], None]
_COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def lines_of(checked: CheckResult) -> list[str]:
    output = github.render_check(checked, Options()).decode()
    assert "##[" not in output
    assert output.endswith("\n")
    return output.removesuffix("\n").split("\n")


def commands_of(checked: CheckResult) -> list[tuple[str, dict[str, str], str]]:
    """(command, properties, message) as the runner takes a line apart: a command is what begins with two colons after any space."""
    found = []
    for line in lines_of(checked):
        if not line.lstrip().startswith("::") or line.startswith(("::group::", "::endgroup::")):
            continue
        match = _COMMAND.fullmatch(line)
        assert match, line
        pairs = (part.split("=", 1) for part in match[2].split(","))
        found.append((match[1], {name: unescaped(value) for name, value in pairs}, unescaped(match[3])))
    return found


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.github.txt", github.render_check(ci.demo(), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_each_alert_is_one_command_up_to_ten_of_a_level(name: str) -> None:
    checked = check(ci.fixture(name), ci.BUDGETS)
    levels = [item.level for item in checked.alerts]
    assert len(commands_of(checked)) == sum(min(levels.count(level), 10) for level in Level)
    assert str(checked.headline) in lines_of(checked)


def test_an_annotation_has_place_sentence_and_remedy() -> None:
    (found,) = (item for item in commands_of(ci.demo()) if "SL315" in item[1]["title"])
    assert found[0] == "error"
    assert found[1] == {"file": "demo/demo.py", "line": "29", "title": "SL315 module-int-varies: MovingAverage.forward"}
    assert found[2].split("\n")[1].endswith("add L['self'].step to TORCH_COMPILE_DYNAMIC_SOURCES.")


def test_names_that_try_to_be_something_else_stay_text() -> None:
    checked = ci.hostile()
    commands = commands_of(checked)
    assert [command for command, _, _ in commands] == ["error", "warning", "notice"]
    assert len(lines_of(checked)) == 3 + 5
    assert commands[0][1]["file"].startswith("d:e,f %41 ::warning::g|")
    assert commands[0][2].startswith("f ::error file=x::y\\x0d # #[error]z")


@pytest.mark.parametrize("text", ["::error::x", " \t::set-output name=a::b", "\u00a0::add-mask::x", "\n::stop-commands::y"])
def test_no_plain_line_begins_as_a_command_does(text: str) -> None:
    assert not github._plain(text).lstrip().startswith("::")


@pytest.mark.parametrize("text", ["##[error]x", "a ###[group]x", "##[##[a]"])
def test_the_old_form_of_a_command_is_broken_anywhere(text: str) -> None:
    assert "##[" not in github._plain(text)


def test_ten_of_each_level_are_annotations_and_the_rest_is_listed() -> None:
    checked = ci.checked(ci.varying(13))
    assert len(commands_of(checked)) == 10
    lines = lines_of(checked)
    assert "::group::Not annotated, because GitHub shows only 10 of each level: 3 errors" in lines
    assert sum(line.startswith("error: model.py:") for line in lines) == 3
    assert lines[-1] == "::endgroup::"


def test_a_place_outside_of_the_repository_is_in_the_message() -> None:
    ((_, properties, message),) = commands_of(ci.checked(ci.varying(1).replace(b"/srv/app/", b"/opt/elsewhere/")))
    assert set(properties) == {"title"}
    assert message.startswith("/opt/elsewhere/model.py:12: f0 was recompiled once")


def test_a_message_has_an_end() -> None:
    trace = ci.varying(1).replace(b'"f0"', b'"' + b"f" * 200_000 + b'"')
    ((_, properties, message),) = commands_of(ci.checked(trace, Policy()))
    assert len(message) <= 4096
    assert len(properties["title"]) < 200


def test_a_name_of_many_number_signs_takes_no_longer_than_others() -> None:
    trace = ci.varying(1).replace(
        make.MODEL.encode(), make.MODEL.encode() + b"#" * 500_000
    )  # the square of it would take a quarter of an hour
    assert commands_of(ci.checked(trace, Policy()))
