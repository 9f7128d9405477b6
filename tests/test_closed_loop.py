"""Programs run under torch.compile now, recorded, and explained: the explanations match what they did."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch_process
from click.testing import CliRunner

import shapelog
from shapelog.cli.main import cli
from shapelog.model.compile import Outcome
from shapelog.report.report import Report
from shapelog.report.verification import CommandResult, verify
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render
from shapelog.rules import Verdict

pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

HEAD = """
import torch
compiled = torch.compile(backend="eager")
"""
SIZE_THEN_DYNAMIC = """
@compiled
def f(x):
    return torch.relu(x) * 2

for size in (4, 7, 9, 30):
    f(torch.ones(size, 3))
"""
INT = """
@compiled
def f(x, k):
    return x * k

for k in (3, 4, 5):
    f(torch.ones(4), k)
"""
GRAD_MODE_AND_SIZE = """
@compiled
def f(x):
    return torch.relu(x) * 2

f(torch.ones(4, 3))
with torch.no_grad():
    f(torch.ones(7, 3))
"""
CLOSURE = """

@compiled
def f(fn, x):
    return fn(x) + 1

x = torch.ones(4)
for name in ("one", "two", "three"):
    scope = {}
    exec(f"def {name}(x):\\n    return x * 2\\n", scope)
    f(scope[name], x)
"""
COUNTER = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 2

    def forward(self, x):
        self.step += 1
        return x * self.step

net = Net()
net.compile(backend="eager")
for _ in range(12):
    net(torch.ones(4))
"""
ZERO_ONE = """
@compiled
def f(x):
    return torch.relu(x) * 2

for size in (5, 1, 6):
    f(torch.ones(size, 3))
"""
BRANCH = """
@compiled
def f(x):
    if x.shape[0] > 20:
        return torch.relu(x)
    return torch.tanh(x)

for size in (4, 8, 30):
    f(torch.ones(size, 3))
"""

GROWS = """
class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.grow(START)

    def grow(self, n):
        self.table = torch.arange(n)[:, None] * 0.1

    def forward(self, x):
        if self.table.size(0) < x.size(1):
            self.grow(x.size(1))
        return x + self.table[: x.size(1)]

net = Positions()
net.compile(backend="eager")
for size in (12, 20, 16, 28, 25, 40, 33):
    net(torch.ones(2, size, 1))
"""

Recorder = Callable[..., Report]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorder:
    """Runs a program, and explains its trace."""

    def run(program: str, sources: str = "") -> Report:
        folder = tmp_path / ("with_sources" if sources else "plain")
        script = tmp_path / "program.py"
        script.write_text(HEAD + program, encoding="utf-8")
        torch_process.run(script, folder, sources)
        report = shapelog.analyze(shapelog.load(folder))
        assert not report.has_problems, [problem.message for problem in report.problems]
        return report

    return run


def recompiles_of(report: Report) -> list[tuple[str, tuple[str, ...], Verdict]]:
    return [(item.compile.label, item.codes, item.verdict) for item in report.recompiles]


def promised(report: Report) -> int:
    """How many compiles the program has with everything marked, as reported."""
    return report.summary.compiles - report.summary.part(Verdict.MARKING).count


def test_a_size_that_varies_becomes_dynamic_and_marking_it_saves_a_compile(recorded: Recorder) -> None:
    report = recorded(SIZE_THEN_DYNAMIC)
    assert recompiles_of(report) == [("0/1", ("SL101",), Verdict.MARKING)]
    (recompile,) = report.recompiles
    (cause,) = recompile.causes
    assert (cause.axis, cause.before, cause.after, cause.named_by_pytorch) == ("x.size[0]", "4", "7", True)
    assert (report.frames[0].frame.title, recompile.compile.is_dynamic) == ("f", True)
    assert recorded(SIZE_THEN_DYNAMIC, "L['x']:0").summary.compiles == promised(report) == 1


def test_an_int_argument_and_marking_it(recorded: Recorder) -> None:
    report = recorded(INT)
    assert recompiles_of(report) == [("0/1", ("SL102",), Verdict.MARKING)]
    assert recorded(INT, "L['k']").summary.compiles == promised(report) == 1


def test_a_size_that_hides_behind_grad_mode(recorded: Recorder) -> None:
    report = recorded(GRAD_MODE_AND_SIZE)
    (recompile,) = report.recompiles
    assert set(recompile.codes) == {"SL305", "SL101"}
    assert recompile.size_related
    assert recompile.verdict is Verdict.CODE
    assert [reason.family for reason in recompile.compile.reasons] == ["global_state"]
    assert recorded(GRAD_MODE_AND_SIZE, "L['x']:0").summary.compiles == promised(report) == 2


def test_a_function_made_anew_for_each_call(recorded: Recorder) -> None:
    report = recorded(CLOSURE)
    assert recompiles_of(report) == [(label, ("SL309",), Verdict.CODE) for label in ("0/1", "0/2")]
    assert not any(item.size_related for item in report.recompiles)


def test_a_counter_on_a_module_runs_into_the_limit_and_marking_it_does_not(recorded: Recorder) -> None:
    report = recorded(COUNTER)
    *made, refused = report.recompiles
    assert [item.codes for item in made] == [("SL315",)] * 7
    assert {item.verdict for item in made} == {Verdict.MARKING}
    assert (refused.compile.outcome, refused.verdict, refused.codes) == (Outcome.LIMIT, Verdict.LIMIT, ("SL315",))
    assert (report.summary.compiles, report.summary.limit_hits) == (8, 1)
    (hit,) = [item for item in report.findings if item.rule.code == "SL401"]
    assert (hit.compile, hit.details) == ("0/8", (("self.step", "in 8 of 8 recompilations"),))
    marked = recorded(COUNTER, "L['self'].step")
    assert (marked.summary.compiles, marked.summary.limit_hits) == (promised(report), 0) == (1, 0)


def test_a_size_of_one_keeps_its_own_graph_however_it_is_marked(recorded: Recorder) -> None:
    report = recorded(ZERO_ONE)
    assert "SL104" in report.recompiles[0].codes
    assert report.recompiles[0].verdict is Verdict.JUSTIFIED
    assert recorded(ZERO_ONE, "L['x']:0").summary.compiles == promised(report) == 2


def test_a_branch_on_the_size_keeps_a_graph_for_each_branch(recorded: Recorder) -> None:
    report = recorded(BRANCH)
    assert [verdict for _, _, verdict in recompiles_of(report)] == [Verdict.MARKING, Verdict.JUSTIFIED]
    assert report.recompiles[1].codes == ("SL204",)
    assert recorded(BRANCH, "L['x']:0").summary.compiles == promised(report) == 2


def test_the_terminal_report_names_the_code_and_the_cause(recorded: Recorder) -> None:
    text = render(recorded(COUNTER), Options(width=100)).decode()
    assert "Net.forward" in text
    assert "[SL315]: " in text
    assert "[SL401]: " in text
    assert "Next steps" in text


# The advice, followed.

TUPLE_KEYS = """
@compiled
def f(d):
    return sum(torch.relu(item) for item in d.values())

for size in (4, 7, 9):
    f({(0, "a"): torch.ones(size, 3), "b c": torch.ones(size, 3), "layer-0": torch.ones(size, 3)})
"""
FORMATTED_ELSEWHERE = """
@compiled
def f(x, k):
    return x * k

@compiled
def g(x, k):
    return x * len(f"{k:02d}")

for k in (3, 4, 5):
    f(torch.ones(4), k)
g(torch.ones(4), 7)
"""
DUCK = """
@torch.compile(backend="eager", dynamic=True)
def f(x, y):
    return torch.relu(x).sum() + torch.relu(y).sum()

for one, other in ((4, 4), (5, 6), (7, 8)):
    f(torch.ones(one, 3), torch.ones(other, 3))
"""
WIDTHS = """
class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch.relu(x) * self.weight.sum()

for width in (4, 6, 8):
    module = Scale(width)
    module.compile(backend="eager")
    module(torch.ones(3))
"""
RESUMED = """
import sys

@torch.compile(backend="{backend}")
def f(x):
    h = torch.relu(x) + 1
    torch._dynamo.graph_break()
    return h * 2

for size in (5, 7, 9):
    f(torch.ones(size, 3))
"""
# What is listed, and the compiles that are left.
PROGRAMS = {
    "dict keys": (TUPLE_KEYS, {r"L\['d'\]\[\(0..'a'\)\]$:0", r"L\['d'\]\['b.c'\]$:0", r"L\['d'\]\['layer\-0'\]$:0"}, 1),
    "a branch": (BRANCH, {"L['x']:0"}, 2),
    "widths": (WIDTHS, {"L['self']._parameters['weight']:0"}, 1),
    "one symbol for two": (DUCK, {"L['y']:0"}, 1),
    "resumed, with AOTAutograd": (RESUMED.format(backend="aot_eager"), {"L['x']:0"}, 2),
    "resumed, without": (RESUMED.format(backend="eager"), {"L['x']:0", "L['h']:0"}, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_does_with_the_list_what_was_predicted(recorded: Recorder, name: str) -> None:
    program, entries, compiles = PROGRAMS[name]
    before = recorded(program)
    assert before.advice is not None
    assert set(before.advice.entries) == entries
    after = recorded(program, before.advice.env)
    proof = verify(before, after, before.advice, CommandResult(0, 1.0), CommandResult(0, 1.0))
    assert (proof.helped, proof.is_exact, proof.faults, proof.notes) == (True, True, (), ())
    assert (proof.measured, after.summary.compiles) == (compiles, compiles)


def test_an_int_that_another_function_formats_is_left_out_and_listing_it_would_lose_a_graph(recorded: Recorder) -> None:
    before = recorded(FORMATTED_ELSEWHERE)
    assert before.advice is not None
    assert before.advice.env == ""
    (left,) = before.advice.left_out
    assert (left.mark.source, left.frame.title) == ("L['k']", "g")
    after = recorded(FORMATTED_ELSEWHERE, "L['k']")
    assert not verify(before, after, before.advice, CommandResult(0, 1.0), CommandResult(0, 1.0)).helped
    assert [item.outcome for item in after.trace.compiles if item.metrics.code_name == "g"] == [Outcome.FAILED]


VERIFIED = """
import torch

@torch.compile(backend="eager")
def f(x, k):
    return torch.relu(x) * k

for size, k in ((4, 3), (7, 3), (7, 5)):
    f(torch.ones(size, 3), k)
"""


def test_a_program_is_verified_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "program.py"
    script.write_text(VERIFIED, encoding="utf-8")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("TORCH_COMPILE_DYNAMIC_SOURCES", raising=False)
    done = CliRunner().invoke(cli, ["verify", "--trace-dir", str(tmp_path / "traces"), "--", sys.executable, str(script)])
    assert done.exit_code == 0, done.stderr
    assert "It helped: 3 compilations became 1, exactly as predicted" in done.stderr
    assert "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['k'],L['x']:0\"" in done.stderr or "L['x']:0,L['k']" in done.stderr


def test_a_table_that_the_code_makes_longer_is_to_be_long_enough_from_the_start(recorded: Recorder) -> None:
    report = recorded(GROWS.replace("START", "4"))
    remedy = "make what self holds large enough for every input before the first call"
    avoidable = [item for item in report.recompiles if item.verdict is Verdict.CODE]
    assert avoidable
    assert all(item.why_not_markable.startswith("the code changes self in 0/") for item in avoidable)
    assert remedy in " ".join(render(report, Options()).decode().split())
    long_enough = recorded(GROWS.replace("START", "64"), "L['nothing']")  # which is recorded apart from the first run
    assert long_enough.summary.compiles <= report.summary.compiles - len(avoidable)
