"""``shapelog run``: the command runs as if alone, and what its processes compiled is reported on as one run."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import make
import pytest
from command_line import call

import shapelog
from shapelog.capture import run_command
from shapelog.errors import ShapelogError
from shapelog.model.load import load

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
MAIN = "from shapelog.cli.main import main; main()"
NAME = "dedicated_log_torch_trace_{}.log"
RANK = "dedicated_log_torch_trace_rank_{}_{}.log"
# Appends a trace to the file of that name where PyTorch would write it, as a program under torch.compile does; then prints.
SCRIBE = """
import os, sys
name, trace, status = sys.argv[1:]
if name:
    with open(os.path.join(os.environ["TORCH_TRACE"], name), "ab") as file, open(trace, "rb") as source:
        file.write(source.read())
print("the answer is 42")
sys.exit(int(status))
"""
# Says which signals come, and ends with the number of interrupts on SIGTERM. The alarm ends it should the test not.
LISTENER = """
import os, signal, sys
interrupts = 0
def take(number, frame):
    global interrupts
    interrupts += number == signal.SIGINT
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
    if number == signal.SIGTERM:
        sys.exit(40 + interrupts)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, take)
signal.alarm(60)
print("ready", flush=True)
while True:
    signal.pause()
"""
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture(autouse=True)
def _no_trace_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TORCH_TRACE", "TORCH_DTRACE", *run_command._SWITCHES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(temporary(tmp_path)))


def temporary(where: Path) -> Path:
    """The directory for temporary files, so that what is left in it can be looked at."""
    path = where / "temporary"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "written by torch"
    path.write_bytes(make.small_trace())
    return str(path)


def scribe(name: str, trace: str, status: int = 0) -> list[str]:
    return [sys.executable, "-c", SCRIBE, name, trace, str(status)]


# What the command sees of it: nothing.


@pytest.mark.parametrize("status", [0, 3])
def test_the_output_and_the_exit_code_are_those_of_the_command(python: Process, trace: str, status: int) -> None:
    done = python(MAIN, "run", "--", *scribe(NAME.format("aaaaaaaa"), trace, status))
    assert (done.returncode, done.stdout) == (status, b"the answer is 42" + os.linesep.encode())
    report = done.stderr.decode()
    assert "2 compilations" in report
    assert "warning[SL101]" in report


def test_the_page_of_a_run_is_written_with_its_report(python: Process, trace: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = python(MAIN, "run", "--html", str(page), "--", *scribe(NAME.format("aaaaaaaa"), trace))
    assert done.returncode == 0
    assert "warning[SL101]" in done.stderr.decode()
    assert "SL101" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_refused_before_the_command_runs(python: Process, tmp_path: Path) -> None:
    done = python(MAIN, "run", "--html", str(tmp_path / "nowhere" / "report.html"), "--", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"cannot write" in done.stderr


def test_standard_input_reaches_the_command(python: Process) -> None:
    done = python(MAIN, "run", sys.executable, "-c", "import sys; print(sys.stdin.read()[::-1])", stdin=b"desserts")
    assert done.stdout.split() == [b"stressed"]


@pytest.mark.parametrize("dashes", [["--"], []])
def test_options_of_the_command_are_its_own(python: Process, dashes: list[str]) -> None:
    done = python(MAIN, "run", *dashes, sys.executable, "-c", "import sys; print(sys.argv[1:])", "--verbose", "--", "-o", "x")
    assert done.stdout.strip() == b"['--verbose', '--', '-o', 'x']"


def test_an_unknown_option_before_the_command_is_refused(python: Process) -> None:
    done = python(MAIN, "run", "--trace-dri", "x", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_command_that_does_not_exist_ends_with_127(python: Process, tmp_path: Path) -> None:
    done = python(MAIN, "run", "--", "no-such-command-anywhere", "x")
    assert (done.returncode, done.stderr.splitlines()) == (127, [b"shapelog: no-such-command-anywhere: command not found"])
    assert list(temporary(tmp_path).iterdir()) == []


@needs_posix
def test_a_file_that_cannot_be_run_ends_with_126(python: Process, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("#!/no/such/interpreter\n")
    denied = python(MAIN, "run", str(path))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    without = python(MAIN, "run", str(path))
    assert (denied.returncode, without.returncode) == (126, 126)
    assert denied.stderr.count(b"\n") == without.stderr.count(b"\n") == 1
    assert b"its interpreter does not exist" in without.stderr


# Where the trace goes, and which of it is read.


def test_the_trace_is_kept_and_stderr_names_its_directory(python: Process, trace: str, tmp_path: Path) -> None:
    done = python(MAIN, "run", *scribe(NAME.format("aaaaaaaa"), trace))
    (folder,) = temporary(tmp_path).iterdir()
    assert done.stderr.decode().startswith(f"shapelog: the trace was kept in {folder}; to show the report again: shapelog report {folder}")
    assert (folder / NAME.format("aaaaaaaa")).read_bytes() == Path(trace).read_bytes()


def test_a_run_that_compiled_nothing_is_reported_and_leaves_nothing(python: Process, trace: str, tmp_path: Path) -> None:
    done = python(MAIN, "run", *scribe("", trace, 5))
    (line,) = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout.split()[:2]) == (5, [b"the", b"answer"])
    assert line.startswith("shapelog: no trace was written, so nothing was compiled")
    assert list(temporary(tmp_path).iterdir()) == []


def test_a_switch_that_turns_compilation_off_is_named(python: Process, trace: str) -> None:
    done = python(MAIN, "run", *scribe("", trace), TORCH_COMPILE_DISABLE="1")
    assert b"TORCH_COMPILE_DISABLE is set" in done.stderr


def test_files_of_earlier_runs_are_left_out(trace: str, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    first = run_command.run(scribe(NAME.format("firstrun"), trace), folder)
    second = run_command.run(scribe(NAME.format("secondru"), trace), folder)
    assert [[path.name for path in run.files] for run in (first, second)] == [[NAME.format("firstrun")], [NAME.format("secondru")]]
    assert [file.name for file in second.selection().files] == [NAME.format("secondru")]
    assert second.selection().notes == ()


def test_a_file_that_grew_is_read_with_a_note(trace: str, tmp_path: Path) -> None:
    name = NAME.format("aaaaaaaa")
    run_command.run(scribe(name, trace), tmp_path / "traces")
    again = run_command.run(scribe(name, trace), tmp_path / "traces")
    assert [path.name for path in again.grown] == [name]
    assert again.selection().notes == (f"{name} existed before the run and grew; all of it is read",)


def test_a_run_without_a_trace_cannot_be_read(trace: str, tmp_path: Path) -> None:
    run = run_command.run(scribe("train.log", trace), tmp_path)
    assert (run.files, run.has_trace, run.returncode) == ((), False, 0)
    with pytest.raises(ShapelogError, match="no trace was written"):
        run.selection()


def test_all_processes_of_a_job_are_one_run_in_the_order_of_their_ranks(python: Process, trace: str, tmp_path: Path) -> None:
    names = ["", RANK.format(10, "aaaaaaaa"), NAME.format("launcher"), RANK.format(9, "zzzzzzzz")]
    job = "import subprocess, sys; [subprocess.run([*sys.argv[1:4], name, *sys.argv[4:]], check=True) for name in {!r}]"
    command = [sys.executable, "-c", job.format(names), *scribe("", trace)[:3], trace, "0"]
    read = load(run_command.run(command, tmp_path / "traces").selection())
    assert [rank.number for rank in read.ranks] == [9, 10, None]
    assert python(MAIN, "run", "--format", "json", "-o", "report.json", "--", *command).returncode == 0
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert [rank["rank"] for rank in report["trace"]["ranks"]] == [9, 10, None]
    assert report["summary"]["compiles"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 16, 17, 64])
def test_a_job_of_any_number_of_ranks_is_reported_on_and_its_exit_code_kept(tmp_path: Path, ranks: int) -> None:
    job = f"for rank in {' '.join(map(str, range(ranks)))}; do cp made.log $TORCH_TRACE/{RANK.format('${rank}', 'aaaaaaaa')}; done; exit $1"
    (tmp_path / "made.log").write_bytes(make.small_trace())
    done = call("run", "-o", str(tmp_path / "report.json"), "--", "sh", "-c", f"cd '{tmp_path}'; {job}", "sh", "5")
    assert done.exit_code == 5
    assert json.loads((tmp_path / "report.json").read_bytes())["summary"]["compiles"] == 2 * ranks
    done = call("verify", "-o", str(tmp_path / "verified.json"), "--", "sh", "-c", f"cd '{tmp_path}'; {job}", "sh", "0")
    assert (done.exit_code, json.loads((tmp_path / "verified.json").read_bytes())["helped"]) == (1, False)


@pytest.mark.parametrize("change", ["rm -r $TORCH_TRACE", "rm -r $TORCH_TRACE; touch $TORCH_TRACE"])
@pytest.mark.parametrize("status", [0, 5])
def test_a_command_that_removes_the_directory_of_its_trace_keeps_its_exit_code(tmp_path: Path, change: str, status: int) -> None:
    command = ["sh", "-c", f"{change}; exit {status}"]
    done = call("run", "--trace-dir", str(tmp_path / "traces"), "--", *command)
    assert done.exit_code == status
    assert done.stderr.startswith(f"shapelog: {tmp_path / 'traces'}: cannot read the trace after the command ended: No")
    assert done.stderr.count("\n") == 1
    done = call("verify", "--trace-dir", str(tmp_path / "verified"), "--", *command)
    assert done.exit_code == (status or 2)
    assert status or f"{tmp_path / 'verified' / 'before'}: cannot read the trace after the command ended" in done.stderr


def test_a_second_run_that_removes_its_trace_did_not_help(tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(make.small_trace())
    job = f"[ $(basename $TORCH_TRACE) = after ] && rm -r $TORCH_TRACE || cp '{tmp_path}/made.log' $TORCH_TRACE/{NAME.format('aaaaaaaa')}"
    done = call("verify", "--trace-dir", str(tmp_path), "--", "sh", "-c", job)
    assert (done.exit_code, "after: cannot read the trace after the command ended" in done.stderr) == (1, True)


def test_a_trace_that_is_removed_before_it_is_read_is_named(trace: str, tmp_path: Path) -> None:
    done = run_command.run(scribe(NAME.format("aaaaaaaa"), trace), tmp_path / "traces")
    done.files[0].unlink()
    with pytest.raises(ShapelogError, match="it no longer exists"):
        load(done.selection())


def test_an_empty_file_of_a_run_is_left_out_and_counted(trace: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    both = f"import subprocess, sys; [subprocess.run(command, check=True) for command in {[scribe(NAME.format('a' * 8), trace)]!r}]"
    touched = "open(__import__('os').environ['TORCH_TRACE'] + '/" + NAME.format("b" * 8) + "', 'w').close(); "
    selection = run_command.run([sys.executable, "-c", touched + both], tmp_path / "traces").selection()
    assert [file.name for file in selection.files] == [NAME.format("a" * 8)]
    assert selection.notes == ("1 empty trace file ignored: those processes compiled nothing",)


@pytest.mark.parametrize("variable", ["TORCH_TRACE", "TORCH_DTRACE"])
def test_a_directory_in_torch_trace_is_used(python: Process, trace: str, tmp_path: Path, variable: str) -> None:
    done = python(MAIN, "run", *scribe(NAME.format("aaaaaaaa"), trace), **{variable: str(tmp_path / "mine")})
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "mine").iterdir()] == [NAME.format("aaaaaaaa")]
    assert list(temporary(tmp_path).iterdir()) == []


def test_the_given_directory_is_preferred_and_is_passed_as_a_full_path(trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TRACE", "elsewhere")
    monkeypatch.setenv("TORCH_DTRACE", "elsewhere")
    monkeypatch.chdir(tmp_path)
    show = "import os; print(os.environ['TORCH_TRACE'], os.environ['TORCH_DTRACE'], os.environ['MORE'], file=open('seen', 'w'))"
    run_command.run([sys.executable, "-c", show], Path("asked"), env={"MORE": "value"})
    assert Path("seen").read_text().split() == [str(tmp_path / "asked")] * 2 + ["value"]


def test_a_directory_that_cannot_be_used_is_refused_before_the_command_runs(python: Process, trace: str) -> None:
    done = python(MAIN, "run", "--trace-dir", trace, sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"shapelog: {trace}: cannot record a trace there: File exists\n"


@pytest.mark.parametrize("command", ["run", "verify"])
def test_under_debug_an_error_before_the_command_runs_is_raised(python: Process, trace: str, command: str) -> None:
    done = python(MAIN, command, "--debug", "-o", "nowhere/report.txt", "--", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Traceback" in done.stderr
    assert b"ShapelogError: nowhere/report.txt: cannot write" in done.stderr


# The report.


def test_the_report_is_written_to_the_given_file(python: Process, trace: str, tmp_path: Path) -> None:
    done = python(MAIN, "run", "-o", "report.txt", "--", *scribe(NAME.format("aaaaaaaa"), trace))
    assert b"2 compilations" not in done.stderr + done.stdout
    (folder,) = temporary(tmp_path).iterdir()
    assert (tmp_path / "report.txt").read_bytes() == python(MAIN, "report", str(folder / NAME.format("aaaaaaaa"))).stdout


def test_a_file_that_could_not_be_written_is_refused_before_the_command_runs(python: Process, trace: str) -> None:
    done = python(MAIN, "run", "-o", "nowhere/report.txt", "--", *scribe(NAME.format("aaaaaaaa"), trace))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"shapelog: nowhere/report.txt: cannot write")


@pytest.mark.parametrize(("status", "ends"), [(0, 2), (3, 3)])
def test_problems_under_strict_count_only_where_the_command_ended_well(python: Process, trace: str, status: int, ends: int) -> None:
    Path(trace).write_bytes(make.small_trace() + b"this is no record\n")
    command = scribe(NAME.format("aaaaaaaa"), trace, status)
    assert python(MAIN, "run", *command).returncode == status
    assert python(MAIN, "run", "--strict", "--", *command).returncode == ends


def test_a_trace_that_cannot_be_read_is_reported_and_the_exit_code_of_the_command_passed_on(python: Process, trace: str) -> None:
    Path(trace).write_bytes(b"no trace at all\n")
    done = python(MAIN, "run", *scribe(NAME.format("aaaaaaaa"), trace, 4))
    assert done.returncode == 4
    assert b"not a torch.compile trace" in done.stderr


# Signals.


@pytest.fixture
def listener(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """shapelog running a command that prints its signals, without a terminal, and not under ``nohup`` if the tests are."""
    where = {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1])}
    command = [sys.executable, "-c", MAIN, "run", "--", sys.executable, "-c", LISTENER]
    hears = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=where, text=True, start_new_session=True, cwd=tmp_path, preexec_fn=hears
    ) as process:
        assert heard(process) == "ready"
        yield process


def heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@needs_posix
def test_signals_go_on_to_the_command_and_shapelog_ends_when_it_ends(listener: "subprocess.Popen[str]") -> None:
    for name in ("SIGUSR1", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGINT", "SIGTERM"):
        listener.send_signal(signal.Signals[name])
        assert heard(listener) == name
    assert listener.wait(60) == 41


@needs_posix
def test_an_interrupt_from_the_terminal_reaches_the_command_once(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    own_terminal = "import fcntl, os, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    where = {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1])}
    command = [sys.executable, "-c", own_terminal + MAIN, "run", "--", sys.executable, "-c", LISTENER]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, env=where, text=True, cwd=tmp_path) as process:
        assert heard(process) == "ready"
        process.send_signal(signal.SIGSTOP)  # so that the command has its own SIGINT before shapelog could pass one on
        os.waitpid(process.pid, os.WUNTRACED)
        os.write(ours, b"\x03")
        assert heard(process) == "SIGINT"
        # Handlers run in the order of the numbers: were SIGINT passed on as well, it would come before SIGTERM.
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        assert heard(process) == "SIGTERM"
        assert process.wait(60) == 41
    os.close(ours)
    os.close(theirs)


def kill(name: str) -> list[str]:
    code = f"import os, signal; signal.signal(signal.{name}, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    return [sys.executable, "-c", code if name != "SIGKILL" else "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]


@needs_posix
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_command_that_a_signal_ended_ends_with_128_and_its_number(python: Process, name: str) -> None:
    done = python(MAIN, "run", *kill(name))
    assert done.returncode == 128 + signal.Signals[name]
    assert f"was terminated by signal {signal.Signals[name].value}" in done.stderr.decode()


@needs_posix
def test_a_command_that_an_interrupt_ended_ends_shapelog_the_same_way(python: Process) -> None:
    assert python(MAIN, "run", *kill("SIGINT")).returncode == -signal.SIGINT


@needs_posix
def test_an_ignored_signal_is_ignored_in_the_command_too(python: Process) -> None:
    ignore = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    show = "import signal; print(signal.getsignal(signal.SIGHUP).name, signal.getsignal(signal.SIGTERM).name)"
    assert python(ignore + MAIN, "run", sys.executable, "-c", show).stdout.split() == [b"SIG_IGN", b"SIG_DFL"]


@needs_posix
def test_handlers_are_put_back_after_the_run(tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    run_command.run([sys.executable, "-c", ""], tmp_path)
    assert [signal.getsignal(number) for number in numbers] == before


# The real thing.

RANKED = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
compiled = torch.compile(lambda x: torch.relu(x) * 2, backend="eager")
for size in ((4, 7), (4, 9))[dist.get_rank()]:
    compiled(torch.ones(size, 3))
dist.destroy_process_group()
"""


@pytest.mark.torch
def test_the_ranks_of_torchrun_are_reported_on_together(python: Process, tmp_path: Path) -> None:
    pytest.importorskip("torch", minversion="2.13")
    (tmp_path / "job.py").write_text(RANKED, encoding="utf-8")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "job.py"]
    done = python(MAIN, "run", "-f", "json", "-o", "report.json", "--", *launcher, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert [rank["rank"] for rank in report["trace"]["ranks"]] == [0, 1]
    changes = {(item["rank"], cause["before"], cause["after"]) for item in report["recompiles"] for cause in item["cause_details"]}
    assert changes == {(0, "4", "7"), (1, "4", "9")}
