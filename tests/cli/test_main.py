"""How the program ends, and text from a trace that could harm a terminal."""

import re
from pathlib import Path

import make
import pytest
from command_line import DEMO, FIXTURES, MAIN, SMALL, Process, call, refusal
from payload_text import guard_tree, size_mismatch, tensor_match

import shapelog

# A code whose name and source would set the title of a terminal, clear it, and turn the writing direction.
TITLE, TURN = "\x1b]0;owned\x07\x1b[2J", "\u202egnp.exe"


def test_problems_are_shown_and_end_with_2_only_under_strict(damaged: Path) -> None:
    lenient, strict = call("report", str(damaged)), call("report", str(damaged), "--strict")
    assert (lenient.exit_code, strict.exit_code) == (0, 2)
    for done in (lenient, strict):
        assert f"damaged.log:{make.small_trace().count(10) + 1}: not a trace record" in done.stdout
        assert "3 compilations" in done.stdout
    assert lenient.stderr == ""
    assert strict.stderr == "shapelog: the trace has problems (--strict); shapelog report lists them under Health\n"


def test_an_undamaged_trace_ends_with_0_under_strict() -> None:
    assert call("report", DEMO, "--strict").exit_code == 0


def test_informational_problems_do_not_count_under_strict() -> None:
    done = call("report", str(FIXTURES / "real" / "2.6" / "r2_fork_names.log.gz"), "--strict")
    assert " kB  3 processes\n" in done.stdout
    assert done.exit_code == 0


def test_bad_usage_ends_with_2() -> None:
    for arguments in (["report"], ["report", SMALL, "--limit", "-1"], ["report", SMALL, "--width", "3"], ["nothing"]):
        assert call(*arguments, TORCH_TRACE="").exit_code == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["made.log"], "shapelog report made.log"),
        (["made.log", "-o", "a b.html"], "shapelog report made.log -o 'a b.html'"),
        (["made.log"] * 9, "shapelog report made.log made.log made.log made.log ..."),
        (["."], "shapelog report ."),
        (["https://example.com/a.log"], "shapelog report https://example.com/a.log"),
        (["reprot", "made.log"], "shapelog report made.log"),
        (["sugest-dynamic"], "shapelog suggest-dynamic"),
        (["[2/1]", "made.log"], "shapelog explain made.log '[2/1]'"),
        (["2/1"], "shapelog explain TRACE 2/1"),
        (["SL307"], "shapelog rule SL307"),
    ],
)
def test_what_is_no_command_is_refused_with_the_line_that_was_meant(here: Path, typed: list[str], meant: str) -> None:
    assert refusal(*typed) == f"shapelog: {typed[0]!r} is not a command; did you mean: {meant}\n"


def test_a_word_like_no_command_and_no_file_is_refused_with_the_commands(here: Path) -> None:
    assert "'gone.log' is not a command or a file; commands: report, check, " in refusal("gone.log")


def test_debug_raises_the_error(tmp_path: Path) -> None:
    with pytest.raises(shapelog.errors.ShapelogError, match=r"gone\.log"):
        call("report", str(tmp_path / "gone.log"), "--debug")


def test_the_program_ends_with_the_status_of_the_command(python: Process, damaged: Path) -> None:
    assert python(MAIN, "report", str(damaged)).returncode == 0
    assert python(MAIN, "report", str(damaged), "--strict").returncode == 2
    missing = python(MAIN, "report", "gone.log")
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert re.fullmatch(rb"shapelog: gone\.log: no such file or directory; .*\n", missing.stderr)


def test_the_version_is_that_of_the_package() -> None:
    assert call("--version").stdout == f"shapelog, version {shapelog.__version__}\n"


def test_control_characters_in_a_file_name_are_escaped_in_the_error(tmp_path: Path) -> None:
    assert "a\\x1b]0;x\\x07\\x0ab: no such file" in refusal("report", str(tmp_path / "a\x1b]0;x\x07\nb"))


def hostile_run() -> bytes:
    name, file = f"f{TITLE}{TURN}", f"/srv/app/{TURN}{TITLE}.py"
    source = f"L['{TITLE}{TURN}']"
    size = f"{source}: {TITLE}"
    where = {"id": "0/2"}
    return b"".join(
        (
            make.torch_version(f"2.13{TITLE}"),
            make.strings(file, file),
            make.compile("0/0", make.tensor(8, 16), name=name, co_filename=file),
            make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3) + TITLE + TURN], name=name, co_filename=file),
            make.recompile_reasons(f"0/1: {source} == {TURN}{TITLE}  # {TITLE}{TURN}  # {file}:3 in {name}", f"0/0: {size}", **where),
            make.dynamo_start(name, **where),
            make.describe(make.tensor(3, 16, source=source), **where),
            make.create_symbol(f"s{TITLE}", 4, f"{source}.size()[0]", **where),
            make.artifact("dynamo_graph_break_reason", f"Graph break in user code at {file}:14\nReason: {TURN}{TITLE}", **where),
            make.cpp_guards(
                guard_tree(
                    tensor_match(size=(3, 16)),
                    f"| +- GuardManager: source={source}, type={TITLE}\n| | +- EQUALS_MATCH: {source} == '{TURN}{TITLE}'\n",
                ),
                **where,
            ),
            make.output_graph((f"s{TITLE}", TURN), **where),
            make.metrics("0/2", co_name=name, co_filename=file, restart_reasons=[TITLE + TURN]),
            make.dynamo_start(name, id="1/0"),
            make.artifact("dynamo_error", TITLE + TURN, id="1/0"),
            make.metrics("1/0", co_name=name, fail_type=TITLE, fail_reason=TURN + TITLE, fail_user_frame_filename=file),
            make.record(f"kind{TITLE}{TURN}", {}, "x"),
            make.artifact(f"name{TITLE}{TURN}", "x"),
            f"no record {TITLE}{TURN}\n".encode(),
        )
    )


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize(
    "more",
    [
        ("report",),
        ("report", "-v"),
        ("report", "--frame", "0"),
        ("report", "--frame", "1"),
        ("explain", "0/2", "-v"),
        ("suggest-dynamic", "-v"),
    ],
)
def test_control_characters_in_a_trace_never_reach_the_output(tmp_path: Path, more: tuple[str, ...], color: str) -> None:
    path = tmp_path / "hostile.log"
    path.write_bytes(hostile_run())
    command, *options = more
    done = call(command, str(path), *options, "--color", color)
    assert done.exit_code == 0
    assert "\\x1b]0;owned" in done.stdout
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert [character for character in plain if not character.isprintable() and character != "\n"] == []


def test_control_characters_in_a_trace_never_reach_the_errors(tmp_path: Path) -> None:
    path = tmp_path / "hostile.log"
    path.write_bytes(hostile_run())
    for arguments in (("report", str(path), "--frame", "none"), ("explain", str(path), "9/9"), ("explain", str(path), TITLE)):
        message = refusal(*arguments)
        assert message[:-1].isprintable()
