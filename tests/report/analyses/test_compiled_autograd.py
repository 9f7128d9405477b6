"""Backward graphs that compiled autograd captured: what each was compiled as, and why it was captured again."""

import make
import pytest
from payload_text import reason_list

from shapelog.report.explain_compile import explain_compile
from shapelog.reporters import Options, renderer

REASON = "new autograd node: TanhBackward0 (NodeCall 2) with key size 38, previous key sizes=[]"


def captured(number: int, *reasons: str) -> bytes:
    """The capture of a backward graph, and the compile of it."""
    where = {"compiled_autograd_id": number, "attempt": 0}
    texts = reason_list([f"!{number}: Cache miss due to {reason}" for reason in reasons])
    return (
        (make.artifact("compiled_autograd_compile_reasons", texts, **where) if reasons else b"")
        + make.record("compiled_autograd_graph", {}, "def forward(self): pass", **where)
        + make.dynamo_start("forward", id=f"{number}/0", compiled_autograd_id=number)
        + make.record(
            "compilation_metrics",
            {"co_name": "forward", "has_guarded_code": True, "entire_frame_compile_time_s": 0.5},
            id=f"{number}/0",
            compiled_autograd_id=number,
        )
    )


def shown(data: bytes) -> str:
    return renderer("report", "terminal")(make.report(data), Options(width=200, verbose=True)).decode()


def test_each_capture_has_the_compile_of_its_graph_and_pytorchs_reason() -> None:
    table = make.report(make.trace(captured(0), captured(1, REASON))).table("compiled_autograd")
    assert table
    assert [(row[0], row[1], row[3], row[4]) for row in table.rows] == [("!0", "!0/0/0", 0.5, ""), ("!1", "!1/1/0", 0.5, REASON)]
    assert table.note == ""


def test_what_records_the_reasons_is_named_where_there_are_none() -> None:
    table = make.report(make.trace(captured(0))).table("compiled_autograd")
    assert table
    assert "TORCH_LOGS=compiled_autograd_verbose" in table.note


@pytest.mark.parametrize(("reasons", "why"), [((REASON,), REASON), ((), "not recorded: set TORCH_LOGS=compiled_autograd_verbose")])
def test_a_capture_is_explained_with_pytorchs_reason(reasons: tuple[str, ...], why: str) -> None:
    found = explain_compile(make.load(make.trace(captured(0, *reasons))), "!0")
    page = renderer("explanation", "terminal")(found, Options(width=200)).decode()
    assert f"\n  {why}\n" in page
    assert "First compilation" not in page


def test_a_capture_is_no_function_without_a_name() -> None:
    page = shown(make.trace(captured(0)))
    assert "a function not named in the log" not in page
    assert "0 compilations" not in page
