"""Every program of the handbook is run: the example shows its rule, and the fixed one does not. So are the patterns that compile once."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shapelog
from shapelog.recording import Recording
from shapelog.rule_docs import blocks, entries

torch = pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

ENTRIES = {item.rule.code: item for item in entries()}
EXAMPLES = {code: [text for kind, text in blocks(item.example) if kind == "python"] for code, item in ENTRIES.items()}
FIXES = {code: [text for kind, text in blocks(item.fix) if kind == "python"] for code, item in ENTRIES.items()}
RUN = [code for code, programs in EXAMPLES.items() if programs]
# The error that an example ends with.
RAISES = {
    "SL203": "ConstraintViolationError",
    "SL403": "Unsupported",
    "SL601": "Unsupported",
    "SL602": "GuardOnDataDependentSymNode",
    "SL606": "UserError",
    "SL607": "UserError",
}
# Programs leave the backend to torch.compile, which is slow; this one needs more of the compiler than Dynamo.
BACKENDS = {"SL502": "aot_eager"}
# Examples that do not show their rule on a CPU with this version, with the reason.
NOT_RUN = {
    "SL324": "only text logs have the reason",
    "SL399": "torch 2.13 records a reason for every recompile",
    "SL503": "CUDA graphs need a GPU",
    "SL504": "CUDA graphs need a GPU",
    "SL508": "CUDA graphs need a GPU",
    **dict.fromkeys(("SL603", "SL604", "SL605"), "draft_export writes a trace of its own"),
}
# What comments of a fixed program promise.
ONE_COMPILE = re.compile(r"# (?:compiles once|the same graph|one graph|one compile)$", re.M)
# The last line of a pattern.
COMPILES = re.compile(r"^# (\d+) compilations?$", re.M)
PATTERNS = [
    text
    for kind, text in blocks((Path(__file__).parents[1] / "docs" / "patterns.md").read_text(encoding="utf-8"))
    if kind == "python" and "from peft" not in text  # peft is not installed where the tests run
]


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    """What programs set for the whole process does not reach the next one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch._dynamo.reset()
    with torch.compiler.config.patch(dynamic_sources="", unbacked_sources=""):
        yield
    torch.set_num_threads(threads)
    torch._dynamo.reset()


def ran(code: str, program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recording, str]:
    """The recording of a program, and the name of the error that it ended with."""
    compile = torch.compile

    def quick(model: Any = None, **options: Any) -> Any:
        return compile(model, **{"backend": BACKENDS.get(code, "eager"), **options})

    monkeypatch.setattr(torch, "compile", quick)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder / "cache"))  # no program finds what another one compiled
    path = folder / f"{code.lower()}.py"
    path.write_text(program, encoding="utf-8")
    error = ""
    with shapelog.record(folder) as trace:
        try:
            runpy.run_path(str(path))
        except Exception as raised:
            error = type(raised).__name__
    return trace, error


def shown(trace: Recording) -> set[str]:
    """The codes of all causes and findings, and of the breaks and restarts that the trace records."""
    report = trace.report
    assert not report.has_problems, [problem.message for problem in report.problems]
    found = {code for item in report.recompiles for code in item.codes} | {item.rule.code for item in report.findings}
    compiles = trace.trace.compiles
    found |= {"SL501" for compile in compiles if compile.breaks}
    return found | {"SL502" for compile in compiles if compile.metrics.restart_reasons and not compile.breaks}


def test_every_example_is_run_but_those_that_cannot_be() -> None:
    assert set(ENTRIES) - set(RUN) - set(NOT_RUN) == {code for code in ENTRIES if code.startswith(("SL7", "SL8", "SL9"))}
    assert set(RAISES) | set(BACKENDS) <= set(RUN)


@pytest.mark.parametrize("code", [code for code in RUN if code not in NOT_RUN])
def test_an_example_shows_its_rule(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = EXAMPLES[code]
    trace, error = ran(code, program, tmp_path, monkeypatch)
    assert error == RAISES.get(code, "")
    assert code in shown(trace)


@pytest.mark.parametrize("code", RUN)
def test_a_fixed_program_no_longer_shows_it(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = FIXES[code]
    trace, error = ran(code, program, tmp_path, monkeypatch)
    assert error == ""
    assert code not in shown(trace)
    summary = trace.report.summary
    assert summary.compiles or trace.trace.exports
    assert (summary.failures, summary.limit_hits) == (0, 0)
    if ONE_COMPILE.search(program):
        assert summary.compiles == 1


@pytest.mark.parametrize("program", PATTERNS)
def test_a_pattern_compiles_as_often_as_its_last_line_states(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (compiles,) = COMPILES.findall(program)
    trace, error = ran("pattern", program, tmp_path, monkeypatch)
    assert error == ""
    summary = trace.report.summary
    assert (summary.compiles, summary.failures, summary.limit_hits) == (int(compiles), 0, 0)
