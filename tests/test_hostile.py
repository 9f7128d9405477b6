"""What a trace may try: each kind of damage with its exit code, its words and what is still reported, and that nothing gets out of it.

test_robustness.py has arbitrary bytes, changed fields and every truncation of a small trace; benchmarks/fuzz.py has many more.
"""

import ast
import gc
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result
from make import compile as compiled
from make import create_symbol, digest, dynamo_start, load, metrics, only, small_trace, split_records, tensor, torch_version
from packing import PACKS, RANK, zipped
from payload_text import size_mismatch

import shapelog
from shapelog.advice.advise import Advice
from shapelog.advice.mark_dynamic_code import mark_line
from shapelog.advice.marks import Mark, SourceNames, entries, is_expression, matches
from shapelog.advice.paste_formats import as_python, as_shell
from shapelog.cli.main import cli
from shapelog.errors import ShapelogError
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Trace
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_trace
from shapelog.reading.payloads import graphs, recompile_reasons
from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.guards.expressions import canonical, parse
from shapelog.reading.payloads.guards.tree import parse_list, parse_tree
from shapelog.reading.payloads.python_code import syntax_tree
from shapelog.reading.payloads.source_names import Source, without_locals

pytestmark = pytest.mark.slow

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
FIXTURES = Path(__file__).parents[1] / "fixtures"
MAIN = "from shapelog.cli.main import main; main()"
V213, V26 = TorchVersion(2, 13), TorchVersion(2, 6)
LONG = 50_000


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def reported(tmp_path: Path, data: bytes, *options: str) -> Result:
    path = tmp_path / "made.log"
    path.write_bytes(data)
    return call("report", str(path), *options)


@cache
def recorded(name: str) -> tuple[bytes, ...]:
    """The records of a fixture, without those that are only counted."""
    found = split_records(gzip.decompress((FIXTURES / name).read_bytes()))
    return tuple(record for record in found if b'{"chromium_event"' not in record[:120])


# Cut off, changed, mixed.


def test_a_real_trace_cut_off_behind_any_record_has_the_compiles_before_it() -> None:
    records = recorded("real/2.13/a_dynamic.log.gz")
    labels: list[str] = []
    for end in range(1, len(records) + 1):
        trace = load(b"".join(records[:end]))
        assert trace.accounts[0].balances
        assert not [problem for problem in trace.problems if problem.severity == "data loss"]
        assert [compile.label for compile in trace.compiles][: len(labels)] == labels
        labels = [compile.label for compile in trace.compiles]
    assert labels


def test_a_header_with_any_byte_changed_loses_no_other_record() -> None:
    before, header, after = torch_version(), create_symbol("s70", 8, "L['x'].size()[0]", id="0/0"), metrics("1/0")
    whole = len(split_records(before + header + after))
    for at in range(len(header) - 1):
        for value in {*b'\0\n\t\r {}[]",:\\\x7f\xff9', *(header[at] ^ 1 << bit for bit in (0, 5))}:
            trace = load(before + header[:at] + bytes([value]) + header[at + 1 :] + after)
            (account,) = trace.accounts
            assert account.balances
            assert sum(account.records.values()) >= whole - 1
            assert "1/0" in [compile.label for compile in trace.compiles]


def test_two_processes_that_write_one_file_by_turns_are_kept_apart() -> None:
    one, other = (split_records(small_trace()), split_records(make.trace(compiled("0/0", tensor(5, 16), process=77), process=77)))
    turns = [part for pair in zip(one, other, strict=False) for part in pair] + one[len(other) :] + other[len(one) :]
    trace = load(b"".join(turns))
    assert {rank.process: [frame.name for frame in rank.frames] for rank in trace.ranks} == {make.PROCESS: ["f"], 77: ["f"]}
    assert [compile.label for compile in trace.compiles] == ["0/0", "0/1", "0/0"]


def test_string_ids_that_nothing_defines_cost_the_file_names_alone() -> None:
    trace = load(b"".join(record for record in split_records(small_trace()) if b'{"str"' not in record))
    assert [compile.label for compile in trace.compiles] == ["0/0", "0/1"]
    assert len(shapelog.analyze(trace).recompiles) == 1


def test_ids_that_restart_are_compiles_of_their_own() -> None:
    trace = load(small_trace() + compiled("0/0", tensor(8, 16)) + compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)]))
    assert [compile.label for compile in trace.compiles] == ["0/0", "0/1", "0/0#2", "0/1#2"]


def test_a_wrong_checksum_is_reported_and_the_payload_used(tmp_path: Path) -> None:
    wrong = small_trace().replace(digest(size_mismatch("0/0", 8, 3)).encode(), b"0" * 32)
    loose, strict = reported(tmp_path, wrong), reported(tmp_path, wrong, "--strict")
    assert (loose.exit_code, strict.exit_code) == (0, 2)
    assert "1 recompilation (" in loose.stdout
    assert "checksum" in strict.stdout


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_a_trace_in_another_encoding_is_refused_in_one_line(encoding: str, tmp_path: Path) -> None:
    done = reported(tmp_path, small_trace().decode().encode(encoding))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("shapelog: made.log: ")
    assert done.stderr.count("\n") == 1


def test_nul_bytes_between_records_are_reported_and_cost_nothing_else(tmp_path: Path) -> None:
    first, *rest = split_records(small_trace())
    done = reported(tmp_path, first + b"\0" * 4096 + b"\n" + b"".join(rest), "--format", "json")
    data = json.loads(done.stdout)
    assert (done.exit_code, data["summary"]["recompiles"]) == (0, 1)
    assert [problem["code"] for problem in data["health"]["problems"]] == ["bad-prefix"]


# Large.

HUGE = 70 << 20


def with_a_hole(path: Path, before: bytes, after: bytes) -> Path:
    """A file with many NUL bytes between two pieces, which take no place on the disk."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(HUGE, os.SEEK_CUR)
        file.write(after)
        file.truncate()
    return path


def loaded(path: Path, strict: bool = False) -> tuple[Trace, int]:
    """The trace in a file, and the most bytes that were in use while it was read."""
    tracemalloc.start()
    try:
        return shapelog.load(path, strict=strict), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rest", [b'", 0]}\n', b'", 0]}\n' + compiled("1/0", tensor(8, 16)), b""], ids=["last", "inside", "cut off"])
@pytest.mark.parametrize(("begin", "kind"), [(b'{"str": ["', "str"), (b'{"artifact": {"name": "', "artifact"), (b'{"', "of unknown kind")])
def test_a_header_that_is_too_long_costs_itself_and_no_memory(begin: bytes, kind: str, rest: bytes, strict: bool, tmp_path: Path) -> None:
    before = small_trace()
    path = with_a_hole(tmp_path / "long.log", before + make.prefix() + begin, rest)
    trace, peak = loaded(path, strict)
    assert peak < HUGE // 10
    assert [compile.label for compile in trace.compiles] == ["0/0", "0/1"] + ["1/0"] * (b"V" in rest)
    (problem,) = trace.problems
    assert (problem.code, problem.line, problem.severity) == ("bad-size", before.count(b"\n") + 1, "data loss")
    assert problem.message.startswith(f"the header of this record ({kind}) has 73,4")
    (account,) = trace.accounts
    assert account.balances
    assert (account.size, account.unreadable_records) == (path.stat().st_size, 1)


@pytest.mark.parametrize("rest", [b"\n", b"\n" + compiled("1/0", tensor(8, 16)), b""], ids=["last", "inside", "cut off"])
def test_a_payload_that_is_too_long_is_reported_and_not_read(rest: bytes, tmp_path: Path) -> None:
    reasons = make.record("artifact", {"name": "recompile_reasons"}, "", id="0/2").removesuffix(b"\n")
    trace, peak = loaded(with_a_hole(tmp_path / "long.log", small_trace() + dynamo_start(id="0/2") + reasons, rest))
    assert peak < HUGE // 10
    assert trace.accounts[0].balances
    assert [problem.code for problem in trace.problems] == ["oversized-payload"]
    assert "this payload has 73,400," in trace.problems[0].message
    assert only(trace, "0/2").reasons == ()


@pytest.mark.parametrize(
    "data",
    [
        small_trace() + b"x" * 10_000_000,
        small_trace() + make.line(json.dumps({"str": ["x" * 10_000_000, 0]})),
        small_trace() + make.record("artifact", {"name": "x"}, "y" * 10_000_000, id="0/1"),
        small_trace() + make.line("{}") * 30_000,
        small_trace() + b"\xff\n" * 50_000,
        small_trace() + make.line('{"str": ' + "[" * 500_000 + "]" * 500_000 + "}"),
    ],
    ids=["a line", "a header", "a payload", "tiny records", "lines that are none", "nested JSON"],
)
def test_what_is_large_and_useless_is_passed_over(data: bytes, tmp_path: Path) -> None:
    done = reported(tmp_path, data)
    assert done.exit_code == 0
    assert "1 recompilation (" in done.stdout
    assert len(done.stdout) < 20_000


DEEP = [f"{'| ' * depth}+- GuardManager: source=L['k']" for depth in (0, 100_000)]


def test_a_hundred_thousand_levels_of_guards_are_read(tmp_path: Path) -> None:
    leaf = f"{'| ' * 100_001}+- EQUALS_MATCH: L['k'] == 1"
    tree = parse_tree("\n".join([*DEEP, leaf]))
    assert [guard.text for guard in tree.guards] == ["L['k'] == 1"]
    done = reported(
        tmp_path, make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 16), more_guards=["\n".join([*DEEP, leaf]) + "\n"]))
    )
    assert (done.exit_code, "1 recompilation (" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    "step", ["({})", "-{}", "1+{}", "{}+1", "not {}", "2**{}", "{}[0]", "{}()", "{}.a", "Max({}, 1)", "1 if 1 else {}"]
)
def test_a_hundred_thousand_levels_of_an_expression_are_nothing(step: str) -> None:
    head, tail = step.split("{}")
    for depth in (90, 1000, 100_000):
        text = head * depth + "1" + tail * depth
        expression = parse(text)
        assert expression.value({}) is None or depth < 1000
        expression.with_constants({1: 2})
        assert canonical(text)
        assert syntax_tree(text) is None or depth < 1000
        assert mark_line(Mark(Source(text), 0), [], ()).startswith(("# ", "torch."))


# In each, something could be looked for from every place in vain. Were the time not linear, that would take minutes.
ENDLESS = [
    " " * LONG,
    "(HINT: " * (LONG // 7),
    " # '" * (LONG // 4),
    "L['" * (LONG // 3),
    "a == " * (LONG // 5),
    "(" * LONG + " % 2",
    ", " * (LONG // 2),
    "___dict_contains(" + "'a', " * (LONG // 5),
    "set.__contains__(" + "a, " * (LONG // 3),
    "expected type of '" + "' to be a" * (LONG // 9),
    "(type(" + ") is float and __math_isnan(" * (LONG // 27),
    "check_tensor(" + ", a, DispatchKeySet(" * (LONG // 19),
    "tensor 'x' dispatch key set mismatch. expected " + "), actual (" * (LONG // 11),
    'File "' * (LONG // 6),
    "list(dict.keys(" * (LONG // 15),
    "s" + "1" * LONG + "_",
    "a" * LONG,
    "a = " * (LONG // 4),
    "def f(self, a) -> :" * (LONG // 19),
    "# File: a:1 in " * (LONG // 15),
    "(#,#" * (LONG // 4),
    "(" * (LONG // 2) + "1" + ")" * (LONG // 2),
    "G['__import_" * (LONG // 12),
]


@pytest.mark.parametrize("text", ENDLESS, ids=[text[:12] for text in ENDLESS])
def test_no_text_takes_the_square_of_its_length(text: str) -> None:
    assert recompile_reasons.parse(f"0/0: {text}").entry == "0/0"
    tree = parse_tree(f"+- RootGuardManager\n| +- EQUALS_MATCH: {text}\n| +- DICT_CONTAINS: {text}\n| +- TENSOR_MATCH: {text}\n")
    assert len(tree.guards) == 3
    parse_list(json.dumps([{"code": text}]))
    signature = f'    def forward(self, {text}: "f32[8]"):\n'
    assert graphs.parse(f"class GraphModule(torch.nn.Module):\n{signature}        {text}\n        b = f({text})\n").statements
    for found in (Source(text).display_name, without_locals(text), canonical(text)):
        assert found
    assert not Source(text).tensor_part
    assert not Source(text).dict_of_key


def test_numbers_of_thousands_of_digits_are_text() -> None:
    many = "9" * 5000
    assert Source(f"L['x'].size()[{many}]").tensor_part is None
    assert recompile_reasons.parse(f"0/0: tensor 'x' size mismatch at index 0. expected {many}, actual 3").family != "size"
    tree = parse_tree(f"+- RootGuardManager\n| +- LENGTH_CHECK: len(L['x']) == {many}  # x  # a.py:{many} in f\n")
    assert [guard.kind for guard in tree.guards] == ["LENGTH_CHECK"]
    assert place_of(f"x  # a.py:{many} in f") is None
    assert graphs.parse(f"class G:\n    def forward(self):\n        # File: a.py:{many} in f, code: x\n").user_lines == ()


# Lists of dynamic sources are regular expressions, and a trace may hold one.


@pytest.mark.parametrize("entry", ["(a+)+$", "(a|a)*$", "(?:a?){40}a{40}$", "a?" * 40 + "a" * 40, "a*" * 30 + "$", "(((a*)*)*)*$"])
def test_an_entry_that_takes_for_ever_to_match_is_not_tried(entry: str) -> None:
    source = "a" * 60 + "!"
    assert not matches(entry, Mark(Source(source)), V213)
    (written,) = entries([Mark(Source(entry))], V213, SourceNames([source]))
    assert written != entry
    assert matches(written, Mark(Source(entry)), V213)


def test_an_entry_that_python_warns_of_is_one_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    assert is_expression("[!--a]")
    assert not is_expression("[!--a]", may_warn=False)
    assert not matches("[!--a]", Mark(Source("b")), V213)
    assert list(recwarn) == []


# What is pasted or evaluated.

NAMES = (
    "x # ",
    "x\n",
    "x\nimport os",
    "x), ('y'",
    "x, 0); __import__('os').system('id'); (x",
    "x'] or L['y",
    "'''",
    '"""',
    "\\",
    "x\\\n",
    "\x1b]0;x\x07",
    "\u202e",
    "\ud800",
    "$(id)`id`${x}!!",
    "(x:=1)",
    "lambda: 0",
    "{x}",
    "é",
    "x.__class__",
)


def advised(name: str, version: TorchVersion, set_already: str = "") -> Advice:
    config = {"dynamo_config": "{}", "compiler_config": json.dumps({"dynamic_sources": set_already})} if set_already else {}
    data = b""
    for number, size in enumerate((8, 3, 5)):
        inner = compiled(f"0/{number}", tensor(size, 16), reasons=[size_mismatch("0/0", 8, size)] if number else [], **config)
        data += inner.replace(json.dumps("L['x']").encode(), json.dumps(f"L['{name}']").encode())
    return shapelog.advise(load(make.trace(data)), f"{version.major}.{version.minor}")


@pytest.mark.parametrize("version", [V26, V213], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_pasted_is_python_that_only_marks(name: str, version: TorchVersion) -> None:
    tree = ast.parse(as_python(advised(name, version)).encode("utf-8", "backslashreplace"))
    for node in tree.body:
        assert isinstance(node, (ast.Import, ast.Assign, ast.Expr))
        if isinstance(node, ast.Assign):
            ast.literal_eval(node.value)
        elif isinstance(node, ast.Expr):
            assert ast.unparse(node).startswith("torch._dynamo.")
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert all(call.startswith(("torch._dynamo.mark_dynamic(", "torch._dynamo.maybe_mark_dynamic(")) for call in calls)


@pytest.mark.parametrize(
    "source", ["L['x # '].y", "L['x']['#']", "L['x']), (L['y']", "L['x'] ; y", "L['x']\n", "L['x'].y\n.z", "L['x'](0)"]
)
def test_a_mark_is_one_line_of_python_or_a_comment(source: str) -> None:
    written = mark_line(Mark(Source(source), 0), ["3", "4"], ())
    assert written.startswith("#") or ast.unparse(ast.parse(written)) == written.partition("  #")[0]


SET = "\x1b]0;owned\x07,\u202ea,L['x']:0,$(id)`id`,(a+)+$"


def test_a_list_that_the_run_had_set_reaches_no_terminal_as_it_was() -> None:
    advice = advised("x", V213, SET)
    assert advice.set_already[:2] == (r"\U0000001b]0;owned\U00000007", r"\U0000202ea")
    assert matches(advice.set_already[0], Mark("\x1b]0;owned\x07"), V213)
    for text in (advice.env, as_shell(advice), as_python(advice)):
        assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_a_shell_line_of_a_hostile_trace_sets_the_value_and_runs_nothing(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    advice = advised("$(touch a)`touch b`", V213, f"{SET},;touch c,\\$(touch d),'\"touch e")
    script = as_shell(advice) + '\nprintf %s "$TORCH_COMPILE_DYNAMIC_SOURCES"'
    done = subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True)
    assert (done.stdout.decode(), done.stderr) == (advice.env, b"")
    assert list(tmp_path.iterdir()) == []


# What is written to the terminal, and where files are looked for.

MARKUP = "[bold red]x[/] [link=http://evil]y[/link] :smile: \x1b]8;;http://evil\x07z"


def test_markup_and_links_of_a_trace_are_text_in_a_terminal(tmp_path: Path) -> None:
    data = make.trace(compiled("0/0", tensor(8, 16), name=MARKUP, file=f"/srv/{MARKUP}.py"), compiled("0/1", tensor(3, 16), name=MARKUP))
    done = reported(tmp_path, data, "--color", "always", "--width", "300")
    assert done.exit_code == 0
    assert "[bold red]x[/] [link=http://evil]y[/link] :smile: \\x1b]8;;http://evil\\x07z" in done.stdout
    assert "\x1b]" not in done.stdout


def test_the_name_of_a_file_is_shown_in_harmless_characters(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]0;x\x07\nb.log"
    for content in (small_trace(), b"no trace"):
        path.write_bytes(content)
        done = call("report", str(path))
        assert not set("\x1b\x07") & set(done.stdout + done.stderr)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["/../../etc/passwd", "/\0", "/" + "a" * 5000, "/\ud800", "//host/share", "C:\\x", "/a/../b", "."])
def test_a_file_that_a_trace_names_is_neither_read_nor_looked_for_outside(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []
    usual = os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda path: bool(looked_at.append(os.fspath(path))) or usual(path))
    data = make.trace(
        compiled("0/0", tensor(8, 16), file=name), compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], file=name)
    )
    assert reported(tmp_path, data, "--format", "sarif", "--source-root", str(tmp_path)).exit_code == 0
    inside = [path for path in looked_at if not path.startswith(str(tmp_path))]
    assert [path for path in inside if "passwd" in path or "aaa" in path or "share" in path] == []


@pytest.mark.parametrize("file", ["a\\", "$(id)`id`\\", "\\", "a/./b.py", "a//", "C:\\x\\y.py", "../x.py"])
def test_a_run_is_like_itself_whatever_its_files_are_called(file: str, tmp_path: Path) -> None:
    path = tmp_path / "made.log"
    path.write_bytes(
        make.trace(
            compiled("0/0", tensor(8, 16), file=file), compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], file=file)
        )
    )
    known = str(tmp_path / "known.json")
    assert call("check", str(path), "--write-baseline", known).exit_code == 0
    assert call("check", str(path), "--baseline", known).exit_code == 0


# Streams, disks, files that change, and Ctrl-C.


def test_a_directory_that_is_read_only_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("nothing is closed to this user")
    done = reported(tmp_path, small_trace(), "-o", str(folder / "out.json"))
    assert (done.exit_code, list(folder.iterdir())) == (2, [])


@pytest.mark.parametrize(
    ("stream", "arguments"),
    [
        ("stdout", ["report", "made.log"]),
        ("stdout", ["--help"]),
        ("stderr", ["report", "none.log"]),
        ("stderr", ["report", "made.log", "--html", "a.html"]),
    ],
)
def test_a_stream_on_a_full_disk_ends_with_2_and_no_traceback(stream: str, arguments: list[str], tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (tmp_path / "made.log").write_bytes(small_trace())
    with open("/dev/full", "wb") as full:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full}
        done = subprocess.run([sys.executable, "-c", MAIN, *arguments], cwd=tmp_path, env=environment(), **streams)  # type: ignore[call-overload]
    assert done.returncode == 2
    assert b"Traceback" not in (done.stderr or b"")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1])}


def test_a_pipe_that_is_closed_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(small_trace())
    receive, send = os.pipe()
    os.close(receive)
    command = [sys.executable, "-c", MAIN, "report", "made.log", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), stdout=send, stderr=subprocess.PIPE)
    os.close(send)
    assert done.stderr == b""
    assert done.returncode in (0, 2)


def test_a_file_that_is_gone_once_it_was_chosen_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "made.log"
    path.write_bytes(small_trace())
    selection = select(str(path))
    path.unlink()
    with pytest.raises(ShapelogError, match=r"made\.log: .*(?:no longer exists|No such file)"):
        open_trace(selection.files[0])


def test_a_file_that_grows_while_it_is_read_is_reported_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "made.log"
    path.write_bytes(small_trace())
    opened = open_trace(select(str(path)).files[0])
    with path.open("ab") as file:
        file.write(compiled("1/0", tensor(8, 16)))
    path.unlink()
    assert opened.size == len(small_trace())
    assert opened.data[:] == small_trace()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc alone")
@pytest.mark.parametrize("pack", ["plain", "gz", "zip", "tar.gz", "job"])
def test_a_file_is_closed_with_its_trace_without_a_collection(tmp_path: Path, pack: str) -> None:
    members = {RANK.format(rank, "aaaaaaaa"): small_trace() for rank in range(20 if pack == "job" else 3)}
    for name, data in members.items():
        (tmp_path / name).write_bytes(data)
    path = tmp_path if pack in ("plain", "job") else tmp_path / "packed"
    if path is not tmp_path:
        path.write_bytes(gzip.compress(small_trace()) if pack == "gz" else PACKS[pack](members))
    assert shapelog.load(path).compiles
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    gc.disable()
    try:
        assert shapelog.analyze(shapelog.load(path)).advice
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("is_packed", [False, True])
def test_what_is_piped_or_packed_may_be_made_shorter_while_it_is_read(is_packed: bool, python: Process, tmp_path: Path) -> None:
    path = tmp_path / "made.log"
    path.write_bytes(gzip.compress(small_trace()) if is_packed else small_trace())
    code = """
import os, sys
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_trace
if sys.argv[1] == "-":
    os.dup2(os.open("made.log", os.O_RDONLY), 0)
opened = open_trace(select(sys.argv[1]).files[0])
os.truncate("made.log", 0)
sys.stdout.buffer.write(opened.data[:])
"""
    done = python(code, "made.log" if is_packed else "-")
    assert (done.returncode, done.stdout) == (0, small_trace())


@pytest.fixture
def interrupted(tmp_path: Path) -> Iterator[tuple[int, bytes, Path]]:
    """How shapelog ended (code, standard error, its directory for temporary files) when Ctrl-C came while it read standard input."""
    where = tmp_path / "temporary"
    where.mkdir()
    command = [sys.executable, "-c", MAIN, "report", "-", "-o", str(tmp_path / "out.html")]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment() | {"TMPDIR": str(where)}, start_new_session=True, **streams)  # type: ignore[call-overload]
    try:
        process.stdin.write(small_trace() + b"\n" * 4_000_000)  # a pipe holds far less, so by the end it is being read
        process.stdin.flush()
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)  # ends when no process of the group holds the streams any more
        yield process.returncode, said, where
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_with_130_and_leaves_nothing_behind(interrupted: tuple[int, bytes, Path], tmp_path: Path) -> None:
    code, said, where = interrupted
    assert (code, said) == (130, b"")
    assert [path for path in where.iterdir() if "jinja2" not in path.name] == []
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]


# Ctrl-C comes when the module that the first argument names is about to be imported, or everything has been.
PRESSED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
wanted = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from shapelog.__main__ import main
main()
"""
IMPORTED = (
    "shapelog.cli.main",
    "click",
    "shapelog.cli.output",
    "shapelog.cli.load",
    "orjson",
    "shapelog.reading.scanner",
    "shapelog.report.report",
    "rich.console",
)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("module", IMPORTED)
def test_ctrl_c_ends_with_130_from_the_first_import_on(module: str, python: Process, tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(small_trace())
    done = python(PRESSED, module, "report", "made.log")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


# Ctrl-C comes while a class is made, in a module that is imported late.
MADE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "shapelog.report.report":
            type("Owner", (), {"field": Field()})
sys.meta_path.insert(0, Finder())
from shapelog.__main__ import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_with_130_while_a_class_is_made(python: Process, tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(small_trace())
    done = python(MADE, "report", "made.log")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


# A signal comes while the members of an archive are with the workers, or when the first results of workers are waited for.
SIGNALED = """
import os, sys
from shapelog.distributed import executor, large_jobs
number, place = int(sys.argv.pop(1)), sys.argv.pop(1)
module, name = {"unpacked": (large_jobs, "_unpack"), "waiting": (executor, "wait")}[place]
before = getattr(module, name)
def signaled(*given):
    found = before(*given) if place == "unpacked" else None
    os.kill(os.getpid(), number)
    return found
setattr(module, name, signaled)
from shapelog.__main__ import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("place", ["unpacked", "waiting"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_temporary_directory_and_is_not_waited_with(name: str, place: str, python: Process, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "ranks.zip").write_bytes(zipped({RANK.format(rank, "aaaaaaaa"): small_trace() for rank in range(17)}))
    number = int(getattr(signal, name))
    code = (
        f"import signal; signal.signal(signal.{name}, signal.default_int_handler if '{name}' == 'SIGINT' else signal.SIG_DFL)\n{SIGNALED}"
    )
    done = python(code, str(number), place, "report", "ranks.zip", TMPDIR=str(tmp_path / "temporary"))
    assert (done.returncode, done.stdout) == (128 + number, b"")
    assert b"Traceback" not in done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_with_too_few_open_files_for_workers_a_job_is_read_in_this_process(python: Process, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    for rank in range(17):
        (tmp_path / "job" / RANK.format(rank, "aaaaaaaa")).write_bytes(small_trace())
    limit = "import resource, sys\nfrom shapelog.distributed import large_jobs\nresource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))\n"
    done = python(limit + MAIN, "report", "job", "-f", "json")
    assert (done.returncode, json.loads(done.stdout)["summary"]["compiles"]) == (0, 34)
    assert b"the ranks are read one by one, because no other process can be started ([Errno 24] Too many open files)" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="only there a directory in use can be removed")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["report"], 0, b""),
        (["check"], 1, b""),
        (["check", "-f", "sarif"], 1, b""),
        (["fix"], 1, b"shapelog: no suggestion could be placed\n"),
        (["report", "-o", "x.html"], 2, b"shapelog: x.html: cannot write: the current directory was removed\n"),
        (["check", "--write-baseline", "b.json"], 2, b"shapelog: b.json: cannot write: the current directory was removed\n"),
    ],
    ids=("report", "check", "sarif", "fix", "output", "baseline"),
)
def test_in_a_directory_that_was_removed_a_trace_is_reported(
    arguments: list[str], status: int, said: bytes, python: Process, tmp_path: Path
) -> None:
    (tmp_path / "made.log").write_bytes(small_trace())
    removal = "import os, sys\nsys.path.remove('')\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\n"
    done = python(removal + MAIN, arguments[0], str(tmp_path / "made.log"), *arguments[1:])
    assert (done.returncode, done.stderr) == (status, said)


def test_a_closed_standard_input_is_reported_in_one_line(python: Process) -> None:
    done = python("import sys\nsys.stdin = None\n" + MAIN, "report", "-")
    assert (done.returncode, done.stderr) == (2, b"shapelog: standard input: cannot read: it is closed\n")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_without_a_directory_for_temporary_files_a_pipe_is_refused_in_one_line(python: Process) -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    done = python(limit + MAIN, "report", "-", stdin=small_trace())
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert b"standard input: not read, because no directory for temporary files is writable; set TMPDIR to one" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_where_no_file_may_grow_the_exit_code_is_kept_without_a_message(python: Process) -> None:
    limit = """
import os, resource
os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT), 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""
    done = python(limit + MAIN, "report", "-", stdin=small_trace())
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_process_that_may_have_no_more_open_files_ends_with_one_line(python: Process) -> None:
    limit = "import resource\nfrom shapelog.__main__ import main\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nmain()"
    done = python(limit, "report", "made.log")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"shapelog: cannot start: Too many open files\n")


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_what_was_made_in_part_when_open_files_ran_out_is_taken_down_in_silence(python: Process) -> None:
    code = """
import resource
import shapelog.cli.main
from shapelog.reading import inputs

class Half:
    def __del__(self):
        raise AttributeError("half")

def select(*_):
    half = Half()
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    open("made.log")

inputs._select = inputs.select = select
"""
    done = python(code + MAIN, "suggest-dynamic", "made.log")
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1:]) == (2, b"", [b"shapelog: made.log: Too many open files"])
    assert b"half" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_where_ctrl_c_is_ignored_it_stays_so(python: Process, tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(small_trace())
    done = python(PRESSED.replace("default_int_handler", "SIG_IGN"), "click", "report", "made.log")
    assert (done.returncode, b"1 recompilation (" in done.stdout) == (0, True)
