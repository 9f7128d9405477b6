"""Settings: where they are found, which override which, and the errors for invalid ones."""

import json
import os
from pathlib import Path

import make
import pytest
from command_line import call

from shapelog.cli.settings import KEYS, settings
from shapelog.errors import ShapelogError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a trace in it, and a directory below it that is the current one."""
    for name in [name for name in os.environ if name.startswith("SHAPELOG_")]:
        monkeypatch.delenv(name)
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "project" / "made.log").write_bytes(make.small_trace())
    monkeypatch.chdir(inner)
    return inner


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def found(text: str, where: Path, name: str = "shapelog.toml", **environment: str) -> dict[str, object]:
    write(where / name, text)
    return settings(start=str(where), environment=environment)


def refusal(text: str, where: Path, **environment: str) -> str:
    with pytest.raises(ShapelogError) as error:
        found(text, where, **environment)
    return str(error.value)


def test_without_a_file_there_are_no_settings(here: Path) -> None:
    assert settings(environment={}) == {}


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('fail-on = ["limit", "avoidble"]', "fail-on avoidble: no such kind; did you mean avoidable?"),
        ('fail-on = "Limits"', "fail-on limits: no such kind; did you mean limit?"),
        ('select = ["SL1", "SL999"]', "select SL999: no such rule; did you mean SL909? (run `shapelog rules` for a list)"),
        ('ignore = "xx"', "ignore xx: no rule code starts with that (run `shapelog rules` for a list)"),
        ('source-root = "nowhere"', "source-root nowhere: no such directory"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_file_and_line(here: Path, setting: str, reason: str) -> None:
    write(here / "pyproject.toml", f"[project]\nname = 'a'\n\n[tool.shapelog]\nlimit = 3\n{setting}\n")
    done = call("check", "../made.log")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"shapelog: pyproject.toml:6: {reason}\n")


def test_a_variable_that_means_nothing_is_refused_with_its_name(here: Path) -> None:
    assert refusal("", here, SHAPELOG_FAIL_ON="avoidble") == (
        "SHAPELOG_FAIL_ON in the environment: fail-on avoidble: no such kind; did you mean avoidable?"
    )


def test_only_the_nearest_file_is_used(here: Path) -> None:
    write(here.parent / "shapelog.toml", "limit = 1\nstrict = true")
    assert settings(environment={}) == {"limit": 1, "strict": True}
    write(here / "pyproject.toml", "[tool.shapelog]\nlimit = 2")
    assert settings(environment={}) == {"limit": 2}
    write(here / "shapelog.toml", "limit = 3")
    assert settings(environment={}) == {"limit": 3}


@pytest.mark.parametrize(
    "text", ["[project]\nname = 'a'", "[tool.ruff]\n", "[project]\nname = 'shapelog'", "shapelog = [", "tool = 3  # shapelog"]
)
def test_a_pyproject_without_settings_is_skipped(here: Path, text: str) -> None:
    write(here.parent / "pyproject.toml", "[tool.shapelog]\nlimit = 2")
    write(here / "pyproject.toml", text)
    assert settings(environment={}) == {"limit": 2}


def test_a_directory_of_that_name_is_skipped(here: Path) -> None:
    (here / "shapelog.toml").mkdir()
    (here / "pyproject.toml").mkdir()
    assert settings(environment={}) == {}


def test_a_removed_directory_has_no_settings(here: Path) -> None:
    here.rmdir()
    assert settings(environment={}) == {}


def test_a_shapelog_toml_may_have_the_section_of_a_pyproject(here: Path) -> None:
    assert found("[tool.shapelog]\nlimit = 2", here) == {"limit": 2}


def test_the_file_can_be_chosen_or_turned_off(here: Path) -> None:
    write(here / "shapelog.toml", "limit = 1")
    assert settings(str(write(here / "ci.toml", "limit = 2")), environment={}) == {"limit": 2}
    assert settings("", environment={}) == {}


def test_underscores_and_a_byte_order_mark_are_accepted(here: Path) -> None:
    assert found("\ufeffmax_recompiles = 2", here) == {"max_recompiles": 2}


def test_every_kind_of_value_is_read(here: Path) -> None:
    text = """
baseline = "ci/known.json"
color = "never"
exit-zero = true
fail-on = "limit, failure"
max-avoidable-seconds = 2
max-recompiles-per-frame = {"Net.f" = 2, "*" = 1}
max-avoidable-seconds-per-frame = 0.5
select = ["SL1", "SL301,SL302"]
strip-prefix = "/srv"
"""
    assert found(text, here.parent) == {
        "baseline": os.path.join(os.pardir, "ci", "known.json"),
        "color": "never",
        "exit_zero": True,
        "fail_on": ("limit", "failure"),
        "max_avoidable_seconds": 2.0,
        "max_recompiles_per_frame": ("Net.f=2", "*=1"),
        "max_avoidable_seconds_per_frame": ("0.5",),
        "select": ("SL1", "SL301", "SL302"),
        "strip_prefix": ("/srv",),
    }


def test_budgets_can_be_a_toml_table(here: Path) -> None:
    assert found("[tool.shapelog.max-compiles-per-frame]\n'Net.*' = 4", here, "pyproject.toml") == {"max_compiles_per_frame": ("Net.*=4",)}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_refuses_invalid_values_and_names_the_valid_ones(here: Path, key: str) -> None:
    for value in ("{a = true}", "1979-05-27", "[1]", "[[]]", "nan"):
        error_text = refusal(f"# first\n{key} = {value}", here)
        assert error_text.startswith(f"shapelog.toml:2: {key} = ")
        assert error_text.endswith(f": expected {KEYS[key].expected}")


@pytest.mark.parametrize(
    "line",
    [
        "limit = true",
        "limit = -1",
        "limit = '3'",
        "width = 39",
        "strict = 1",
        "max-avoidable-seconds = inf",
        "color = 'red'",
        'baseline = "\\u0000"',
        f"limit = 0x{'9' * 5000}",
        f"max-compiles = {10**15 + 1}",
        "max-avoidable-seconds = 1e300",
    ],
)
def test_a_value_out_of_range_is_refused(here: Path, line: str) -> None:
    assert refusal(line, here).startswith(f"shapelog.toml:1: {line.split()[0]} = ")


def test_an_unknown_key_is_reported_with_its_line_and_the_nearest_key(here: Path) -> None:
    text = "[tool.other]\nmax-recompile = 1\n\n[tool.shapelog]\nlimit = 1\nmax-recompile = 3\n"
    write(here / "pyproject.toml", text)
    with pytest.raises(ShapelogError, match=r"^pyproject.toml:6: unknown key 'max-recompile'; did you mean max-recompiles\?$"):
        settings(environment={})
    assert "unknown key 'wrong'; settings: baseline, " in refusal("wrong = 1", here)
    assert "unknown key 'check'; settings for all commands go directly in [tool.shapelog]" in refusal(
        "[tool.shapelog.check]\nlimit = 1", here
    )
    assert refusal("[max-recompile]\nx = 1", here).startswith("shapelog.toml:1: unknown key")


def test_no_other_keys_can_be_set(here: Path) -> None:
    for key in ("output", "format", "html", "trace", "debug", "write-baseline", "config", "tool"):
        assert key not in KEYS
        assert "unknown key" in refusal(f"{key} = 'x'", here)


@pytest.mark.parametrize(
    ("content", "error_text"),
    [
        (b"limit = \n", "not valid TOML: "),
        (b"limit = '\xff'", "are not UTF-8 (byte 9)"),
        (b"a = " + b"[" * 100_000, "not valid TOML: "),
        (b"tool.shapelog = 3", "tool.shapelog is not a table"),
        (b"limit = 1\nwidth = " + b"9" * 5000, "shapelog.toml:2: a number has too many digits"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(here: Path, content: bytes, error_text: str) -> None:
    (here / "shapelog.toml").write_bytes(content)
    with pytest.raises(ShapelogError, match=r"shapelog\.toml(:2)?: ") as error:
        settings(environment={})
    assert error_text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_without_read_permission_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "shapelog.toml", "limit = 1")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shapelog.cli.settings.read_small_file", refuse)
    with pytest.raises(ShapelogError, match=r"shapelog\.toml: cannot read the settings: Permission denied"):
        settings(environment={})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes and devices as POSIX has them")
def test_a_device_a_pipe_or_an_empty_file_that_is_named_is_refused_at_once(here: Path) -> None:
    os.mkfifo(here / "pipe")
    write(here / "empty.toml", "\n")
    (here / "made.log").write_bytes(make.small_trace())
    for name, words in (
        ("/dev/zero", "it is larger than 67,108,864 bytes"),
        ("pipe", "this file is empty"),
        ("empty.toml", "this file is empty"),
    ):
        done = call("report", "made.log", "--config", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr
    for name in ("/dev/zero", "pipe"):
        done = call("check", "made.log", "--baseline", name)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert call("report", "made.log", "--config", os.devnull).exit_code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes as POSIX has them")
def test_settings_may_come_through_a_pipe(here: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"limit = 3")
    os.close(writing)
    assert settings(f"/dev/fd/{reading}", environment={}) == {"limit": 3}
    os.close(reading)


def test_numbers_that_are_too_large_for_any_use_are_refused(here: Path) -> None:
    (here / "made.log").write_bytes(make.small_trace())
    for option in ("--max-compiles", "--max-recompiles"):
        assert "99...: expected a number from 0 to 10^15" in call("check", "made.log", option, "9" * 300).stderr
        assert "0 to 10^15" in call("check", "made.log", f"{option}-per-frame", "f=" + "9" * 300).stderr


def test_a_broken_pyproject_is_an_error_only_if_it_has_the_section(here: Path) -> None:
    write(here / "pyproject.toml", "[tool.other]\nname = 'shapelog'\nx = [")
    assert settings(environment={}) == {}
    write(here / "pyproject.toml", f"[tool.other]\nname = 'shapelog'\nx = {'9' * 5000}")
    assert settings(environment={}) == {}
    write(here / "pyproject.toml", "[tool.shapelog]\nx = [")
    with pytest.raises(ShapelogError, match="not valid TOML"):
        settings(environment={})


# The environment.


def test_the_environment_overrides_the_file(here: Path) -> None:
    text = "limit = 1\nselect = ['SL1']\nstrict = true\nmax-recompiles-per-frame = 3"
    environment = {
        "SHAPELOG_LIMIT": "2",
        "SHAPELOG_SELECT": "SL3, SL4",
        "SHAPELOG_STRICT": "No",
        "SHAPELOG_MAX_RECOMPILES_PER_FRAME": "f=1,*=2",
        "SHAPELOG_STRIP_PREFIX": os.pathsep.join(("/a", "/b")),
        "SHAPELOG_WIDTH": "",
        "PATH": "/bin",
    }
    assert found(text, here, **environment) == {
        "limit": 2,
        "select": ("SL3", "SL4"),
        "strict": False,
        "max_recompiles_per_frame": ("f=1", "*=2"),
        "strip_prefix": ("/a", "/b"),
    }


@pytest.mark.parametrize(
    ("variable", "text", "error_text"),
    [
        ("SHAPELOG_LIMITS", "3", "SHAPELOG_LIMITS in the environment: no such setting; did you mean SHAPELOG_LIMIT?"),
        ("SHAPELOG_LIMIT", "-3", "SHAPELOG_LIMIT=-3 in the environment: expected a whole number from 0 to 10^15"),
        ("SHAPELOG_LIMIT", "x", "expected a whole number"),
        ("SHAPELOG_WIDTH", "3", "expected a number of columns from 40 to 10^15"),
        ("SHAPELOG_STRICT", "maybe", "expected true or false"),
        ("SHAPELOG_MAX_AVOIDABLE_SECONDS", "nan", "expected a number of seconds"),
        ("SHAPELOG_COLOR", "red", "expected one of auto, always, never"),
    ],
)
def test_an_invalid_variable_is_refused(here: Path, variable: str, text: str, error_text: str) -> None:
    assert error_text in refusal("", here, **{variable: text})


# The commands.


def is_failing(*arguments: str, **environment: str) -> bool:
    done = call("check", "../made.log", *arguments, **environment)
    assert done.exit_code in (0, 1), done.stderr
    return done.exit_code == 1


def test_the_command_line_overrides_the_environment_and_the_file(here: Path) -> None:
    assert is_failing()
    write(here / "shapelog.toml", "max-recompiles = 1")
    assert not is_failing()
    assert is_failing(SHAPELOG_MAX_RECOMPILES="0")
    assert not is_failing("--max-recompiles", "1", SHAPELOG_MAX_RECOMPILES="0")


def test_a_list_on_the_command_line_replaces_the_others(here: Path) -> None:
    write(here / "shapelog.toml", "ignore = ['SL1']")
    assert not is_failing()
    assert is_failing(SHAPELOG_IGNORE="SL3")
    assert is_failing("--ignore", "SL4", SHAPELOG_IGNORE="SL1")


def test_a_table_of_budgets_is_replaced_as_a_whole(here: Path) -> None:
    write(here / "shapelog.toml", "max-recompiles-per-frame = {f = 0, '*' = 5}")
    assert is_failing()
    assert not is_failing(SHAPELOG_MAX_RECOMPILES_PER_FRAME="3")
    assert is_failing("--max-recompiles-per-frame", "0", SHAPELOG_MAX_RECOMPILES_PER_FRAME="3")


def test_a_flag_can_be_turned_off(here: Path) -> None:
    write(here / "shapelog.toml", "exit-zero = true\nstrict = true")
    assert not is_failing()
    assert is_failing("--no-exit-zero")
    assert is_failing(SHAPELOG_EXIT_ZERO="0")
    (here.parent / "made.log").write_bytes(make.small_trace() + b"this is no record\n")
    assert call("check", "../made.log").exit_code == 2
    assert call("check", "../made.log", "--no-strict").exit_code == 0


def test_paths_in_a_file_are_relative_to_that_file(here: Path) -> None:
    write(here.parent / "shapelog.toml", "baseline = 'known.json'\nsource-root = 'src'")
    (here.parent / "src" / "app").mkdir(parents=True)
    write(here.parent / "src" / "app" / "model.py", "")
    assert "Directory 'nowhere'" in call("check", "../made.log", "--source-root", "nowhere").stderr
    assert call("check", "../made.log", "--write-baseline").exit_code == 0
    assert json.loads((here.parent / "known.json").read_text(encoding="utf-8"))["frames"][0]["file"] == "app/model.py"
    assert not is_failing()


def test_other_commands_use_the_settings_that_they_know(here: Path) -> None:
    write(here / "shapelog.toml", "width = 50\ncolor = 'always'\nlimit = 1\nmax-recompiles = 3")
    for arguments in (("report", "../made.log"), ("suggest-dynamic", "../made.log"), ("explain", "../made.log", "0/1"), ("rules",)):
        shown = call(*arguments).stdout
        assert "\x1b[" in shown
        assert call(*arguments, "--color", "never", "--width", "140").stdout != shown
        assert "\x1b[" not in call(*arguments, SHAPELOG_COLOR="never").stdout


@pytest.mark.parametrize("command", ["report", "check", "suggest-dynamic", "explain", "compare", "run", "verify", "rules", "rule"])
def test_help_is_shown_whatever_the_settings(here: Path, command: str) -> None:
    write(here / "shapelog.toml", "limit = [")
    done = call(command, "--help", SHAPELOG_NONSENSE="1")
    assert done.exit_code == 0
    assert "--config FILE" in done.stdout


def test_settings_that_cannot_be_read_end_every_command_with_2(here: Path) -> None:
    write(here / "shapelog.toml", "limits = 1")
    done = call("report", "../made.log")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "shapelog: shapelog.toml:1: unknown key 'limits'; did you mean limit?\n"
    assert call("report", "../made.log", "--config", str(write(here / "ci.toml", "limit = 1"))).exit_code == 0
    assert call("report", "../made.log", "--config", "nowhere.toml").exit_code == 2
    assert call("report", "../made.log", SHAPELOG_LIMIT="x").exit_code == 2


def test_control_characters_in_a_settings_file_are_escaped(here: Path) -> None:
    write(here / "shapelog.toml", '"\\u001b]0;owned" = 1')
    stderr = call("report", "../made.log").stderr
    assert "\x1b" not in stderr
    assert stderr.count("\n") == 1


def test_blank_lines_before_a_section_do_not_take_the_square_of_their_number(here: Path) -> None:
    many = "\n" * 200_000  # were the time not linear, that would take minutes
    assert found(f"{many}shapelog =\n", here, "pyproject.toml") == {}
    assert refusal(f"{many} [ tool . 'shapelog' ]\nx = 1\n", here).startswith("shapelog.toml:200002: unknown key")
