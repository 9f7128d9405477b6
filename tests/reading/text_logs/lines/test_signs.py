"""Lines that cannot begin a message are skipped, and that makes no difference."""

import gc
import gzip
import random
import weakref
from pathlib import Path

import pytest

from shapelog.reading.payloads.recompile_reasons import parse
from shapelog.reading.text_logs.lines import whole_lines
from shapelog.reading.text_logs.lines.log_lines import log_runs
from shapelog.reading.text_logs.lines.signs import Signs, has_sign
from shapelog.reading.text_logs.messages import reason_lines
from shapelog.reading.text_logs.transcribe import transcribe

LOGS = Path(__file__).parents[4] / "fixtures" / "text_logs"
PROGRAM = (
    "step 12: loss=0.123, 8.1 it/s",
    "[2026-01-05 10:11:12] [INFO] [train.py:12] epoch 3",
    "  warnings.warn(",
    "",
    "I0105 10:11:12.000000 12 nccl.cc:12] ready",
    '  File "train.py", line 3, in main',
)
BEGINNINGS = (
    "V1120 08:27:33.313000 4242 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] x",
    "[0/1] [__guards] | +- x",
    "guards.py:12] [0/1] [__guards] x",
    "Recompiling function f in a.py:1",
    "    - 0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2",
    "   function: 'f' (a.py:1)",
    "   last reason: 0/7: y == 7",
    "  | | +- GuardManager: source=L['x']",
    "\x1b[33mtensor 'x' size mismatch at index 0. expected 1, actual 2",
    "create_symbol s0 = 3 for L['x'].size()[0] [2, 9]",
    "(EngineCore pid=3) ConstraintViolationError: Constraints violated",
    "Graph break in user code at a.py:3",
    "Traceback (most recent call last):",
    "  - Not all values of n = L['x'].size()[0] in the specified range n <= 9 are valid because n was inferred to be a constant (1).",
    "train.py:12:forward:",
)


@pytest.mark.parametrize("line", BEGINNINGS)
def test_a_line_that_begins_a_message_has_a_sign(line: str) -> None:
    assert has_sign(line)
    lines = [*PROGRAM, line, *PROGRAM]
    data = "".join(f"{text}\n" for text in lines).encode()
    at = len("".join(f"{text}\n" for text in PROGRAM).encode())
    signs = Signs(data)
    assert [signs.line_from(0), signs.line_from(at), signs.line_from(at + len(line.encode()) + 1)] == [at, at, len(data)]


@pytest.mark.parametrize("line", PROGRAM)
def test_a_line_of_a_program_has_none(line: str) -> None:
    assert not has_sign(line)


def mixed() -> bytes:
    """Recorded messages, far apart in the output of a program."""
    chance = random.Random(1)
    lines: list[bytes] = []
    for path in (LOGS / "2.6" / "n_dist.txt.gz", LOGS / "2.13" / "g_limit.txt.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            lines.append(line)
            if chance.random() < 0.01:
                lines += [text.encode() for text in chance.choices(PROGRAM, k=chance.choice((1, 50, 400)))]
    return b"\n".join(lines) + b"\n"


def trace_of(*chunks: bytes) -> bytes:
    file, _ = transcribe(chunks)
    with file:
        file.seek(0)
        return file.read()


def test_neither_skipping_nor_the_pieces_make_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_lines, "LONGEST_PASTE", 0)
    data = mixed()
    whole = trace_of(data)
    for size in (1_000, 77_777):
        assert trace_of(*(data[start : start + size] for start in range(0, len(data), size))) == whole
    monkeypatch.setattr(Signs, "line_from", lambda self, place: place)
    assert trace_of(data) == whole


def test_what_is_skipped_is_counted() -> None:
    data = "".join(f"{text}\n" for text in (*PROGRAM, BEGINNINGS[0], *PROGRAM)).encode()
    runs = list(log_runs([data], may_skip=lambda: True))
    assert [(run.number, len(run.lines)) for run in runs if not run.lines] == [(len(PROGRAM) + 1, 0)]
    assert runs[1].number == len(PROGRAM) + 1


def test_pieces_of_a_log_are_given_back_without_the_garbage_collector() -> None:
    """The program runs without it, so that a cycle of references would keep the whole log in memory."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        signs = Signs(b"a line\n" * 10)
        signs.line_from(0)
        kept = weakref.ref(signs)
        del signs
        assert kept() is None
    finally:
        if was_enabled:
            gc.enable()


def test_what_a_program_prints_after_a_recompile_is_not_taken_for_the_rest_of_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines may be as short as the rest of a wrapped line, and there may be millions."""
    parsed = []
    monkeypatch.setattr(reason_lines, "parse", lambda text: parsed.append(text) or parse(text))
    head = "V1120 08:27:39.534000 12062 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    lines = ("Recompiling function f in a.py:4", "    triggered by the following guard failure(s):", "    - 0/0: tensor 'x' size mismatch")
    mismatch = " at index 0. expected 10, actual 20"
    log = "".join(f"{head}{line}{mismatch if line is lines[-1] else ''}\n" for line in lines) + "0.4954\n" * 3_000
    _, contents = transcribe([log.encode()])
    assert contents.messages["recompiles"] == 1
    assert len(parsed) < 100
