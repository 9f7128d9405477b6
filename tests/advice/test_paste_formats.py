"""The forms of the advice that people paste: a shell and Python take back exactly the value that was meant."""

import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import make
import pytest
from hostile_names import trace_with
from odd_sources import SOURCES

from shapelog.advice.advise import Advice, advise
from shapelog.advice.marks import printable
from shapelog.advice.paste_formats import VARIABLE, as_python, as_shell, why_nothing
from shapelog.model.ids import TorchVersion
from shapelog.reporters import Options, renderer
from shapelog.text import is_visible

V26, V213 = TorchVersion(2, 6), TorchVersion(2, 13)
HOSTILE = "f\nraise SystemExit\r\x85\u2028raise SystemExit"


def varying(*sources: str, name: str = "f", file: str = "") -> bytes:
    """A function of these tensors whose batch varies."""
    made = make.trace()
    if file:
        made += make.record("str", [file, 0])
    for number, size in enumerate((10, 12)):
        made += make.compile(f"0/{number}", *(make.tensor(size, 8, source=source) for source in sources), name=name)
    return made


def advice_on(*sources: str, version: TorchVersion | None = None, **more: str) -> Advice:
    return advise(make.explain(varying(*sources, **more)), version)


PLAIN = advice_on("L['x']")


def listing(*entries: str) -> Advice:
    """Advice to list these entries, whatever they are."""
    (suggestion,) = PLAIN.suggestions
    return PLAIN._replace(suggestions=(suggestion._replace(entries=entries),))


def random_values() -> list[str]:
    draw = random.Random(2)
    return ["".join(draw.choices("ab \\\\'\"$`!(){}[]|&;<>*?~#%^=-\n\té☃", k=draw.randrange(1, 12))) for _ in range(60)]


# What a shell would take for something else: expansions, quotes, history, options, line ends.
VALUES = (
    *(advice_on(source).env for source in SOURCES if source),
    advice_on(*SOURCES).env,
    "$(touch x)",
    "`touch x`",
    "${HOME} $HOME $$ $? $1 $@",
    "!! !x a!b",
    "'",
    '"',
    "'\"'\"'",
    "\\",
    "\\\\",
    "a\\nb\\0",
    "\\$(touch x)\\`touch x\\`",
    "a\nb",
    "~ * ? [a-z]",
    "; touch x",
    '"; touch x; "',
    "'; touch x; '",
    "#",
    "-n",
    "é☃\u202e",
    *random_values(),
)


# Shells.


def pasted(command: list[str], lines: list[str], folder: Path) -> list[str]:
    """What the variable is behind each line that is typed into an interactive shell at a terminal."""
    import pty

    process, terminal = pty.fork()
    if not process:  # the shell, in the new terminal
        os.chdir(folder)
        os.execvpe(
            command[0],
            command,
            {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder / "home"), "LANG": "C.UTF-8", "HISTFILE": ""},
        )
    found = []
    try:
        for number, line in enumerate(lines):
            # The whole line, as a terminal sends what is pasted, and then where the value goes.
            for text in (line, f'printf %s "${VARIABLE}" >{number}.new && mv {number}.new {number}'):
                os.write(terminal, text.encode() + b"\r")
            wanted = folder / str(number)
            silence = 0
            while not wanted.exists() and silence < 400:  # a shell draws a long line anew with each character
                if select.select([terminal], [], [], 0.05)[0]:
                    os.read(terminal, 1 << 16)
                    silence = 0
                else:
                    silence += 1
            found.append(wanted.read_text(encoding="utf-8") if wanted.exists() else "nothing was set")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
    return found


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "ksh", "fish"])
def test_a_shell_takes_back_exactly_the_value_and_runs_nothing(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    for number, value in enumerate(VALUES):
        (tmp_path / f"{number:04}").write_bytes(as_shell(listing(value)).encode() + b"\n")
    script = f'for file in *; do eval "$(cat "$file")"; printf \'%s\\0\' "${VARIABLE}"; done'
    if shell == "fish":
        script = f'for file in *; eval (cat $file); printf "%s\\0" ${VARIABLE}; end'
    done = subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\0")[:-1] == [listing(value).env for value in VALUES]
    assert len(list(tmp_path.iterdir())) == len(VALUES)


def test_what_a_shell_evaluates_is_seen_by_the_programs_that_it_starts() -> None:
    if shutil.which("sh") is None:
        pytest.skip("there is no sh here")
    rendered = renderer("advice", "shell")(PLAIN, Options())
    show = f"import os; print(os.environ[{VARIABLE!r}])"
    command = ["sh", "-c", 'eval "$(cat)"; exec "$0" -c "$1"', sys.executable, show]
    assert subprocess.run(command, input=rendered, capture_output=True, timeout=60).stdout == b"L['x']:0\n"


@pytest.mark.parametrize(
    "command", [["bash", "--norc", "--noprofile", "-i"], ["zsh", "-f", "-i"], ["fish", "--no-config", "-i"]], ids=lambda command: command[0]
)
def test_what_is_pasted_into_an_interactive_shell_sets_the_value_and_runs_nothing(command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    (tmp_path / "home").mkdir()
    advice = [listing(value) for value in VALUES]
    assert pasted(command, [as_shell(item) for item in advice], tmp_path) == [item.env for item in advice]
    assert len(list(tmp_path.iterdir())) == len(VALUES) + 1  # what was asked for, and nothing else


def test_an_exclamation_mark_is_safe_where_it_recalls_commands() -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    lines = "".join(f"{as_shell(listing(value))}\nprintf '%s\\n' \"${VARIABLE}\"\n" for value in ("a!b", "L['d']['!!']:0", '!"\\$'))
    options = ["--norc", "--noprofile", "-o", "history", "-o", "histexpand"]
    done = subprocess.run(["bash", *options], input=lines.encode(), capture_output=True, timeout=60, env={"HISTFILE": "/dev/null"})
    assert done.stdout.decode().splitlines() == ["a!b", "L['d']['!!']:0", '!"\\$']


def test_the_usual_names_read_well() -> None:
    assert as_shell(PLAIN) == "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\""
    assert PLAIN.env == "L['x']:0"


# Python.


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What replaces torch: it keeps the list, and the marks as (function, tensor, dim)."""
    marks: list[tuple[str, object, int]] = []
    names = ("mark_dynamic", "maybe_mark_dynamic")
    dynamo = {name: lambda item, dim, name=name: marks.append((name, item, dim)) for name in names}
    found: dict[str, Any] = {"config": SimpleNamespace(dynamic_sources="before"), "marks": marks}
    torch, compiler, dynamo_module = (ModuleType(name) for name in ("torch", "torch.compiler", "torch._dynamo"))
    compiler.config = found["config"]  # type: ignore[attr-defined]
    vars(dynamo_module).update(dynamo)
    vars(torch).update(compiler=compiler, _dynamo=dynamo_module)
    for module in (torch, compiler, dynamo_module):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return SimpleNamespace(**found)


def test_python_takes_back_exactly_the_value(torch: SimpleNamespace) -> None:
    for value in VALUES:
        exec(as_python(listing(value)), {})
        assert torch.config.dynamic_sources == listing(value).env
    assert torch.marks == []


def test_python_joins_several_entries_as_the_list_does(torch: SimpleNamespace) -> None:
    advice = advice_on("L['x']", "L['d'][(0, 'a')]", "L['self'].cache")
    assert len(advice.entries) == 3
    exec(as_python(advice), {})
    assert torch.config.dynamic_sources == advice.env
    exec(as_python(listing("a", 'b"', "c\\")), {})
    assert torch.config.dynamic_sources == 'a,b",c\\'


def test_python_marks_the_tensors_themselves_where_there_is_no_list(torch: SimpleNamespace) -> None:
    advice = advice_on("L['x']", "L['d'][(0, 'a')]", "L['self']._modules['0'].cache", version=V26)
    assert advice.env == ""

    class Block:
        cache = "the cache"

    class Model(list[Block]):
        pass

    exec(as_python(advice), {"x": "the input", "d": {(0, "a"): "an item"}, "self": Model([Block()])})
    assert sorted(torch.marks) == [("mark_dynamic", item, 0) for item in ("an item", "the cache", "the input")]
    assert torch.config.dynamic_sources == "before"


def test_python_imports_nothing_for_comments_alone() -> None:
    converted = as_python(advice_on("___from_numpy(L['x'])", version=V26))
    assert "convert it" in converted
    assert all(line.startswith("#") for line in converted.splitlines())


def test_python_marks_nothing_by_itself_where_there_is_a_list(torch: SimpleNamespace) -> None:
    text = as_python(PLAIN)
    assert "\n# torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen; add min= and max= only if no other sizes occur" in text
    exec(text, {})
    assert torch.marks == []


def test_python_marks_what_is_not_a_tensor_in_every_call_only_where_it_is_one() -> None:
    x, cache = make.tensor(10, 8), make.tensor(10, 8, source="L['cache']")
    first = make.compile("0/0", x)
    others = [make.compile(f"0/{number}", x, cache._replace(size=(size, 8))) for number, size in ((1, 10), (2, 12))]
    lines = as_python(make.advice(make.trace(first, *others))).splitlines()
    assert [line.partition("  #")[0] for line in lines if "cache" in line and "mark_dynamic" in line] == [
        "# in calls in which cache is a tensor with dim 0: torch._dynamo.mark_dynamic(cache, 0)"
    ]


def test_suggestions_for_the_same_code_have_one_heading() -> None:
    made = [
        make.compile(f"0/{number}", make.tensor(size, 8), make.tensor(size + 1, 8, source="L['y']")) for number, size in ((0, 10), (1, 12))
    ]
    lines = as_python(make.advice(make.trace(*made))).splitlines()
    assert len([line for line in lines if line.startswith("# f, called at")]) == 1
    assert len([line for line in lines if "mark_dynamic(" in line]) == 2


@pytest.mark.parametrize("version", [V26, V213])
def test_names_of_a_trace_stay_in_their_comments(torch: SimpleNamespace, version: TorchVersion) -> None:
    text = as_python(advice_on("L['x']", version=version, name=HOSTILE, file=f"/srv/{HOSTILE}.py"))
    assert "raise SystemExit" in text
    exec(text, {"x": None})
    assert torch.marks == ([("mark_dynamic", None, 0)] if version is V26 else [])


@pytest.mark.parametrize("version", [V26, V213])
def test_a_source_with_line_ends_stays_on_its_line(torch: SimpleNamespace, version: TorchVersion) -> None:
    exec(as_python(advice_on("___from_numpy(L['a']\nraise SystemExit)", version=version)), {})
    assert torch.marks == []


def test_nothing_is_pasted_when_nothing_helps() -> None:
    empty = advise(make.explain(make.trace(make.compile("0/0", make.tensor(10, 8)))))
    assert (empty.env, as_shell(empty), as_python(empty)) == ("", "", "")
    for form in ("env", "shell", "python"):
        assert renderer("advice", form)(empty, Options()) == b""


def test_what_is_pasted_ends_with_one_line_end() -> None:
    for form in ("env", "shell", "python"):
        rendered = renderer("advice", form)(PLAIN, Options())
        assert rendered.endswith(b"\n")
        assert not rendered.endswith(b"\n\n")


def test_a_name_that_no_encoding_knows_is_written_all_the_same() -> None:
    advice = listing("L['\ud800']:0")
    for form in ("env", "shell", "python"):
        assert b"\\U0000d800" in renderer("advice", form)(advice, Options())


@pytest.mark.parametrize("version", [TorchVersion(2, minor) for minor in (4, 6, 8, 10, 13, 15)], ids=str)
def test_whatever_a_source_is_called_each_line_is_of_visible_characters(version: TorchVersion) -> None:
    for name in ("\ud800", "a\nb", "\r", "\x1b[31m", "\t", "\u202e", "\u3164", "\ufe0f", "\xad", "\u2028"):
        advice = make.advice(trace_with(name), version)
        assert advice.suggestions
        for form in ("env", "shell", "python"):
            assert all(map(is_visible, renderer("advice", form)(advice, Options()).decode().split("\n")))


def test_an_entry_that_is_shown_matches_what_it_matched() -> None:
    for entry in ("a\nb", "a\\\nb", "a\\\\\nb", "a\u3164?b", "[\t]"):
        shown = printable(entry)
        assert is_visible(shown)
        for source in ("a\nb", "a\\\nb", "ab", "a\u3164b", "\t", "a\\U0000000ab", "aU0000000ab"):
            assert bool(re.match(shown, source)) == bool(re.match(entry, source))


# Why there is nothing.


def test_a_version_without_a_list_is_the_reason_though_marks_would_help() -> None:
    assert why_nothing(advice_on("L['x']", version=V26)) == (
        "torch before 2.7 does not read a list of dynamic sources; --format python prints mark_dynamic calls"
    )
    assert why_nothing(PLAIN) == ""


@pytest.mark.parametrize("version", [TorchVersion(2, minor) for minor in (4, 6, 8, 10, 13, 15)])
def test_a_lone_surrogate_in_a_name_is_written_as_an_escape(version: TorchVersion) -> None:
    name, parts = "L['\ud800']", []
    for number, size in enumerate((8, 3, 5)):
        id, reason = f"0/{number}", f"0/0: tensor '{name}' size mismatch at index 0. expected 8, actual {size}"
        parts += [
            make.artifact("recompile_reasons", json.dumps([reason]), id=id),
            make.dynamo_start("f\ud800", id=id),
            make.describe(make.tensor(size, 16, source=name), number, number, id=id),
            make.output_graph([size, 16], id=id),
            make.record("dynamo_guards", None, json.dumps([{"code": f"check_tensor({name}, Tensor, size=[{size}, 16])"}]), id=id),
            make.metrics(id),
        ]
    advice = advise(make.explain(make.trace(*parts)), version)
    assert name in [suggestion.source for suggestion in advice.suggestions]
    for form in ("env", "shell", "python"):
        assert renderer("advice", form)(advice, Options()).decode("utf-8").isascii()
    assert renderer("advised run", "json")(make.advised(advice), Options()).decode("utf-8").isascii()
    assert renderer("advised run", "terminal")(make.advised(advice), Options()).decode("utf-8")
