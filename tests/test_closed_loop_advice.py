"""The advice, followed: programs run once as they are and again with what was advised, in each form in which it is given."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shapelog
from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python
from shapelog.cli.main import cli
from shapelog.report.report import Report
from shapelog.report.verification import CommandResult, Verification, verify

pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

# Many small programs in one process. Arguments have names of their own, because the list goes by name in every frame. Where the
# file settings.py is there, it holds lines to run first; marks.json holds lines to run before each call, by function.
PROGRAMS = """
import json, os
import torch
from torch.nn import Module, Parameter

if os.path.exists("settings.py"):
    exec(open("settings.py").read())
MARKS = json.load(open("marks.json")) if os.path.exists("marks.json") else {}
results = {}


def call(title, function, **arguments):
    module = getattr(function, "__self__", None) or function
    for line in MARKS.get(title, ()):
        exec(line, {"torch": torch, "self": module, **arguments})
    results.setdefault(title, []).append(float(function(**arguments).double().sum()))


compiled = torch.compile(backend="aot_eager")


@compiled
def rows(matrix):
    return torch.relu(matrix) * 2

for size in (4, 7, 9):
    call("rows", rows, matrix=torch.ones(size, 3))


@compiled
def both(image):
    return torch.tanh(image).sum(1)

for high, wide in ((5, 6), (7, 6), (7, 8)):
    call("both", both, image=torch.ones(high, wide))


@compiled
def times(vector, count):
    return vector * count

for count in (3, 4, 5):
    call("times", times, vector=torch.ones(4), count=count)


@compiled
def looked_up(table):
    return table["one, two"] + table["three four"].sum()

for size in (4, 7, 9):
    call("looked_up", looked_up, table={"one, two": torch.ones(size, 3), "three four": torch.ones(size + 1)})


class Counter(Module):
    def __init__(self):
        super().__init__()
        self.step = 2

    def forward(self, signal):
        self.step += 1
        return signal * self.step

counter = Counter()
counter.compile(backend="aot_eager")
for _ in range(4):
    call("Counter.forward", counter, signal=torch.ones(4))


class Scale(Module):
    def __init__(self, width):
        super().__init__()
        self.gain = Parameter(torch.ones(width))

    def forward(self, signal):
        return signal * self.gain.sum()

for width in (4, 6, 8):
    scale = Scale(width)
    scale.compile(backend="aot_eager")
    call("Scale.forward", scale, signal=torch.ones(3))


class Centered(Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("center", torch.ones(width))

    def forward(self, signal):
        return signal - self.center.sum()

for width in (4, 6, 8):
    centered = Centered(width)
    centered.compile(backend="aot_eager")
    call("Centered.forward", centered, signal=torch.ones(3))


class Cached(Module):
    def forward(self, signal):
        return signal + self.cache.sum()

cached = Cached()
cached.compile(backend="aot_eager")
for size in (4, 6, 8):
    cached.cache = torch.ones(size, 2)
    call("Cached.forward", cached, signal=torch.ones(3))


@compiled
def broken(series):
    half = torch.relu(series) + 1
    torch._dynamo.graph_break()
    return half * 2

for size in (5, 7, 9):
    call("broken", broken, series=torch.ones(size, 3))


@compiled
def small(batch):
    return torch.relu(batch) * 2

for size in (5, 1, 6):
    call("small", small, batch=torch.ones(size, 3))


@compiled
def branching(text):
    return torch.relu(text) if text.shape[0] > 20 else torch.tanh(text)

for size in (4, 30, 8, 40):
    call("branching", branching, text=torch.ones(size, 3))


@torch.compile(backend="aot_eager", dynamic=True)
def paired(left, right):
    return torch.relu(left).sum() + torch.relu(right).sum()

for one, other in ((4, 4), (5, 6), (7, 8)):
    call("paired", paired, left=torch.ones(one, 3), right=torch.ones(other, 3))


@compiled
def scaled(tensor, k):
    return tensor * k

@compiled
def named(tensor, k):
    return tensor * len(f"{k:03d}")

for k in (3, 4, 5):
    call("scaled", scaled, tensor=torch.ones(4), k=k)
call("named", named, tensor=torch.ones(5), k=7)


class Windowed(Module):
    def forward(self, signal):
        return signal + torch.hann_window(self.length).sum()

class Stacked(Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.ReLU() for _ in range(6))

    def forward(self, signal):
        return signal * len(self.layers[: self.depth])

windowed, stacked = Windowed(), Stacked()
windowed.compile(backend="aot_eager")
stacked.compile(backend="aot_eager")
for number in (3, 4, 5):
    windowed.length = stacked.depth = number
    call("Windowed.forward", windowed, signal=torch.ones(4))
    call("Stacked.forward", stacked, signal=torch.ones(4))

json.dump(results, open("results.json", "w"))
"""
# Compiles as they are, with the list, and with mark_dynamic lines, which act neither on ints nor on what a module has registered.
EXPECTED = {
    "rows": (2, 1, 1),
    "both": (3, 1, 1),
    "times": (2, 1, 2),
    "looked_up": (2, 1, 1),
    "Counter.forward": (4, 1, 4),
    "Scale.forward": (3, 1, 3),
    "Centered.forward": (3, 1, 3),
    "Cached.forward": (2, 1, 1),
    "broken": (2, 1, 1),
    "broken (resumed": (2, 1, 1),
    "small": (3, 2, 2),
    "branching": (3, 2, 2),
    "paired": (2, 1, 1),
    "scaled": (2, 2, 2),
    "named": (1, 1, 1),
    "Windowed.forward": (3, 3, 3),
    "Stacked.forward": (3, 3, 3),
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run of the programs: the report, and what each call returned."""

    folder: Path
    report: Report
    results: dict[str, list[float]]

    @property
    def advice(self) -> Advice:
        assert self.report.advice is not None
        return self.report.advice


Runner = Callable[..., Recorded]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs the programs in a folder of their own, which holds these files; ``shell`` is run first by the shell that starts them."""

    def run(shell: str = "", **files: str) -> Recorded:
        folder = tmp_path_factory.mktemp("run")
        for name, text in {"program.py": PROGRAMS, **{name.replace("_", "."): text for name, text in files.items()}}.items():
            (folder / name).write_text(text, encoding="utf-8")
        command = f'{shell}\nexport TORCH_TRACE=trace\nexec "{sys.executable}" program.py'
        plain = {name: setting for name, setting in os.environ.items() if not name.startswith(("TORCH", "PGO"))}
        settings = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(shapelog.__file__).parents[1])}
        done = subprocess.run(["sh", "-c", command], env={**plain, **settings}, capture_output=True, cwd=folder, timeout=240)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        report = shapelog.analyze(shapelog.load(folder / "trace"))
        assert not report.has_problems
        return Recorded(folder, report, json.loads((folder / "results.json").read_text(encoding="utf-8")))

    return run


@pytest.fixture(scope="module")
def plain(recorded: Runner) -> Recorded:
    return recorded()


def proved(before: Recorded, after: Recorded) -> Verification:
    assert after.results == before.results
    return verify(before.report, after.report, before.advice, CommandResult(0, 1.0), CommandResult(0, 1.0))


def counted(report: Report) -> dict[str, int]:
    return {item.frame.title.partition(" at line")[0]: len(item.frame.entries) for item in report.frames}


def expected(which: int) -> dict[str, int]:
    return {title: counts[which] for title, counts in EXPECTED.items()}


def test_what_was_recorded_is_what_the_programs_do(plain: Recorded) -> None:
    assert counted(plain.report) == expected(0)
    assert {item.frame.title.partition(" at line")[0]: item.after.total for item in plain.advice.forecasts} == expected(1)


def test_what_would_do_harm_or_gain_nothing_is_left_out(plain: Recorded) -> None:
    left = {item.mark.source: (item.frame.title, item.reason) for item in plain.advice.left_out}
    assert set(left) == {"L['k']", "L['self'].depth"}
    assert left["L['k']"][0] == "named"
    assert "formats k into a string" in left["L['k']"][1]
    assert "uses self.depth in a way that a symbolic int does not support" in left["L['self'].depth"][1]
    stay = {item.axis: (item.rule.code, item.sentence) for item in plain.advice.remaining}
    assert stay["self.length"][0] == "SL202"
    assert "hann_window takes it as a constant" in stay["self.length"][1]


def test_the_shell_line_does_what_was_predicted(recorded: Runner, plain: Recorded) -> None:
    suggest = f'"{sys.executable}" -m shapelog suggest-dynamic "{plain.folder / "trace"}" --format shell'
    proof = proved(plain, recorded(f'eval "$({suggest})"'))
    assert (proof.helped, proof.is_exact, proof.faults, proof.notes) == (True, True, (), ())
    assert counted(proof.comparison.after) == expected(1)


def test_the_lines_of_python_do_what_was_predicted(recorded: Runner, plain: Recorded) -> None:
    proof = proved(plain, recorded(settings_py=as_python(plain.advice)))
    assert (proof.helped, proof.is_exact, proof.faults) == (True, True, ())
    assert counted(proof.comparison.after) == expected(1)


def test_the_marks_before_each_call_do_what_can_be_done_without_a_list(recorded: Runner, plain: Recorded) -> None:
    marks: dict[str, list[str]] = {}
    for item in plain.advice.suggestions:
        for frame in item.frames:
            marks.setdefault(frame.title, []).extend(item.python)
    after = recorded(marks_json=json.dumps(marks))
    assert after.results == plain.results
    assert counted(after.report) == expected(2)


# From the command line.


@pytest.fixture
def verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in [name for name in os.environ if name.startswith(("TORCH", "PGO"))]:
        monkeypatch.delenv(name)

    def run(program: str) -> Any:
        script = tmp_path / "program.py"
        script.write_text(program, encoding="utf-8")
        return CliRunner().invoke(cli, ["verify", "--trace-dir", str(tmp_path / "traces"), "--", sys.executable, str(script)])

    return run


# The trace of a run under dynamic=False does not show that kron() needs the exact size.
PINNED = """
import torch

@torch.compile(backend="eager", dynamic=False)
def f(x):
    return torch.kron(x, x)

for size in (4, 5, 6):
    f(torch.ones(size, 2))
"""
OTHER_TYPES = """
import torch

@torch.compile(backend="eager")
def f(x):
    return torch.relu(x) * 2

for dtype in (torch.float32, torch.float64):
    f(torch.ones(4, dtype=dtype))
"""


def test_verify_reports_a_mark_on_a_size_that_is_specialized_anyway(verified: Callable[[str], Any]) -> None:
    done = verified(PINNED)
    assert done.exit_code == 1
    assert "It did not help: 3 compilations, no fewer than the 3 before" in done.stderr
    assert "1 predicted, 3 measured" in done.stderr


def test_a_run_with_nothing_to_mark_is_no_failure(verified: Callable[[str], Any], tmp_path: Path) -> None:
    done = verified(OTHER_TYPES)
    assert done.exit_code == 0
    assert "nothing to verify: none of these recompilations is caused by a changing size" in done.stderr
    assert not (tmp_path / "traces" / "after").exists()
