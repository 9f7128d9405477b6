"""A trace and a text log of the same run: what the trace leaves out is taken from the log."""

from dataclasses import replace
from pathlib import Path

import make
import pytest

from shapelog import load
from shapelog.model.compile import Outcome
from shapelog.model.supplement import supplemented
from shapelog.model.trace import Trace

HEAD = "V1105 09:11:30.030000 4242 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] "
REASONS = ["Recompiling function {name} in /srv/app/model.py:5", "    triggered by the following guard failure(s):", "    - {reason}"]
LIMIT = """\
W1105 09:11:31.030000 4242 torch/_dynamo/convert_frame.py:844] [0/8] torch._dynamo hit config.cache_size_limit (8)
W1105 09:11:31.030000 4242 torch/_dynamo/convert_frame.py:844] [0/8]    function: 'f' (/srv/app/model.py:5)
W1105 09:11:31.030000 4242 torch/_dynamo/convert_frame.py:844] [0/8]    last reason: L['x'].size()[0] == 8
"""
SKIPPED = "W1105 09:11:31.040000 4242 torch/_inductor/utils.py:1250] [0/1] skipping cudagraphs due to mutated inputs (1 instances)\n"
# Torch 2.4 leaves the reasons of some recompiles out of its trace.
WITHOUT_REASONS = make.trace(make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", make.tensor(3, 16), reasons=None))


def log(tmp_path: Path, *more: str, name: str = "f") -> Trace:
    lines = [HEAD + line.format(name=name, reason="tensor 'L['x']' size mismatch at index 0. expected 8, actual 3") for line in REASONS]
    path = tmp_path / "run.txt"
    path.write_text("\n".join(lines) + "\n" + "".join(more), encoding="utf-8")
    return load(path)


def test_reasons_that_the_trace_lacks_are_taken_from_the_log(tmp_path: Path) -> None:
    both = supplemented(make.load(WITHOUT_REASONS), [log(tmp_path)])
    first, second = both.compiles
    assert not first.reasons
    assert [reason.code for reason in second.reasons] == ["tensor 'L['x']' size mismatch at index 0. expected 8, actual 3"]
    assert second.seconds == 1.0
    assert both.notes == ("run.txt: a text log of the same run; the reasons of 1 recompilation taken from it",)


def test_reasons_of_the_trace_stay(tmp_path: Path) -> None:
    trace = make.load(make.small_trace())
    both = supplemented(trace, [log(tmp_path)])
    assert [compile.reasons for compile in both.compiles] == [compile.reasons for compile in trace.compiles]
    assert both.notes == (f"run.txt left out: a text log, and the trace ({trace.name}) holds more",)


def test_a_call_refused_at_the_limit_is_taken_once(tmp_path: Path) -> None:
    trace = replace(make.load(WITHOUT_REASONS), version_guess="2.4 or older")
    both = supplemented(trace, [log(tmp_path, LIMIT)])
    assert [(compile.label, compile.outcome) for compile in both.compiles] == [
        ("0/0", Outcome.COMPILED),
        ("0/1", Outcome.COMPILED),
        ("0/8", Outcome.LIMIT),
    ]
    assert len({compile.order for compile in both.compiles}) == 3
    assert supplemented(both, [log(tmp_path, LIMIT)]).compiles == both.compiles


def test_a_version_that_records_refused_calls_takes_none(tmp_path: Path) -> None:
    trace = replace(make.load(WITHOUT_REASONS), version_guess="2.7 to 2.9")
    assert [compile.label for compile in supplemented(trace, [log(tmp_path, LIMIT)]).compiles] == ["0/0", "0/1"]


def test_messages_of_inductor_are_taken(tmp_path: Path) -> None:
    both = supplemented(make.load(WITHOUT_REASONS), [log(tmp_path, SKIPPED)])
    assert both.compiles[1].inductor_messages == ("skipping cudagraphs due to mutated inputs (1 instances)",)


def test_a_log_of_another_program_adds_nothing(tmp_path: Path) -> None:
    both = supplemented(make.load(WITHOUT_REASONS), [log(tmp_path, LIMIT.replace("'f'", "'g'"), name="g")])
    assert [compile.label for compile in both.compiles] == ["0/0", "0/1"]
    assert not both.compiles[1].reasons
    assert "left out" in both.notes[0]


@pytest.mark.parametrize("is_trace_first", [True, False])
def test_a_directory_with_both_is_read_as_one_run(tmp_path: Path, is_trace_first: bool) -> None:
    names = ("a.log", "b.log") if is_trace_first else ("b.log", "a.log")
    (tmp_path / names[0]).write_bytes(WITHOUT_REASONS)
    log(tmp_path)
    (tmp_path / "run.txt").rename(tmp_path / names[1])
    found = load(tmp_path, run="all")
    assert [compile.label for compile in found.compiles] == ["0/0", "0/1"]
    assert found.compiles[1].reasons
    assert not found.is_text
