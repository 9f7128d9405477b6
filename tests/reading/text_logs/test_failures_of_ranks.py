"""A failure of a worker belongs to its rank, which its launcher writes in front of each line, and is one where PyTorch logged it, too."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.report import Report, analyze

VIOLATED = (
    "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])! "
    'For more information, run with TORCH_LOGS="+dynamic".'
)
CONDITION = (
    "  - Not all values of RelaxedUnspecConstraint(L['x'].size()[0]) are valid because L['x'].size()[0] was inferred to be a constant (8)."
)
CREATED = "create_symbol s0 = 8 for L['x'].size()[0] [2, int_oo] at a.py:4 in f (_dynamo/variables/builder.py:2710 in <lambda>)"
LOGGED = ("Error while creating guard:", "Name: ''", "    Source: shape_env", "    Create Function: SHAPE_ENV")
STACK = ("Traceback (most recent call last):", '  File "/srv/model.py", line 9, in forward', "    return self.inner(x)")
WORKERS = pytest.mark.parametrize(
    ("front", "level"),
    [
        ("(VllmWorker rank={rank} pid=29{rank}) ", "ERROR 06-18 08:08:25 [executor.py:522] "),
        ("[rank{rank}]: ", ""),
        ("(EngineCore pid=7) (Worker rank={rank} pid=29{rank}) ", ""),
        ("worker-rank{rank} | ", ""),
    ],
)


def of_worker(rank: int, front: str, level: str, is_raised: bool = True) -> list[str]:
    """What one worker writes: symbols, the exception as PyTorch logs it, and as it is raised."""
    start = front.format(rank=rank)
    head = f"[rank{rank}]:{{level}}0618 08:07:39.524000 29{rank} torch/{{place}}] [0/0] "
    symbols = f"{start}{head.format(level='I', place='fx/experimental/symbolic_shapes.py:3557')}"
    logged = f"{start}{head.format(level='E', place='_guards.py:283')}"
    lines = [f"{symbols}create_env", symbols + CREATED]
    lines += [logged + line for line in (*LOGGED, STACK[0], *STACK[1:], VIOLATED, CONDITION)] if is_raised else []
    return lines + [f"{start}{level}{line}" for line in (*STACK, VIOLATED, CONDITION)]


def report_of(lines: list[str], folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return analyze(load(path))


def failed(report: Report) -> list[tuple[int | None, str]]:
    """Rank and id of each compile that failed."""
    return [
        (rank.number, compile.label)
        for rank in report.trace.ranks
        for frame in rank.frames
        for compile in frame.compiles
        if compile.metrics.fail_type
    ]


@WORKERS
def test_each_worker_failed_once(front: str, level: str, tmp_path: Path) -> None:
    lines = [line for rank in (2, 3) for line in of_worker(rank, front, level)]
    assert failed(report_of(lines, tmp_path)) == [(2, "0/0"), (3, "0/0")]


@WORKERS
def test_an_exception_that_only_the_worker_writes_is_of_its_rank(front: str, level: str, tmp_path: Path) -> None:
    symbols = [line for rank in (3, 2) for line in of_worker(rank, front, level)[:2]]
    lines = symbols + of_worker(3, front, level, is_raised=False)[2:] + of_worker(2, front, level)[2:]
    report = report_of(lines, tmp_path)
    assert sorted(failed(report), key=str) == [(2, "0/0"), (3, "0/0")]
    assert not [finding for finding in report.findings if finding.rule.code == "SL701"]


@WORKERS
def test_a_long_log_has_the_ranks_of_its_workers(front: str, level: str, tmp_path: Path) -> None:
    others = [f"{front.format(rank=rank)}INFO step {step}" for step in range(4_000) for rank in (2, 3)]
    lines = [line for rank in (2, 3) for line in of_worker(rank, front, level)]
    assert failed(report_of([*others, *others, *lines], tmp_path)) == [(2, "0/0"), (3, "0/0")]


def test_what_pytorch_logs_and_then_raises_is_one_failure_with_the_line_of_the_caller(tmp_path: Path) -> None:
    lines = [line.removeprefix("[rank0]: ").replace("[rank0]:", "") for line in of_worker(0, "[rank{rank}]: ", "")]
    report = report_of(lines, tmp_path)
    assert failed(report) == [(None, "0/0")] or failed(report) == [(0, "0/0")]
    (finding,) = (finding for finding in report.findings if finding.rule.code == "SL203")
    assert finding.place is not None
    assert (finding.place.file, finding.place.line) == ("/srv/model.py", 9)


@pytest.mark.parametrize("front", ["[rank{rank}]: ", "(VllmWorker rank={rank} pid=29{rank}) ", "worker-rank{rank} | "])
@pytest.mark.parametrize("turns", [True, False])
def test_stacks_that_ranks_write_in_turns_are_whole(turns: bool, front: str, tmp_path: Path) -> None:
    raised = [
        "torch._dynamo.exc.Unsupported: call_method f",
        "",
        "from user code:",
        '   File "/srv/model.py", line 7, in g',
        "    y = x.f()",
    ]
    lines = [*STACK, *raised]
    written = [f"{front.format(rank=rank)}{line}" for rank in (0, 1) for line in lines]
    if turns:
        written = [line for pair in zip(written[: len(lines)], written[len(lines) :], strict=True) for line in pair]
    report = report_of(written, tmp_path)
    assert [rank for rank, _ in failed(report)] == [0, 1]
    assert {(str(item.place.file), item.place.line) for item in report.findings if item.place} == {("/srv/model.py", 7)}
