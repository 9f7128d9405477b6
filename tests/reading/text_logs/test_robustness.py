"""Whatever happens to a text log on its way to a file, the trace that is made of it is whole, and time is linear."""

import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import make
import pytest

from shapelog import analyze, load
from shapelog.errors import ShapelogError
from shapelog.reading.text_logs.lines.log_lines import log_lines
from shapelog.reading.text_logs.transcribe import transcribe
from shapelog.reporters import Options, renderer

LOGS = Path(__file__).parents[3] / "fixtures" / "text_logs"
PASTED = sorted(path.name for path in (LOGS / "pasted").glob("*.txt"))
SMALL = gzip.decompress((LOGS / "2.4" / "a_auto.txt.gz").read_bytes())
LIMIT = gzip.decompress((LOGS / "2.13" / "g_limit.txt.gz").read_bytes())


def trace_of(*chunks: bytes) -> bytes:
    file, _ = transcribe(chunks)
    with file:
        file.seek(0)
        return file.read()


def survives(data: bytes) -> int:
    """Read, analyze and show a text log; gives how many compiles there are in it."""
    trace = trace_of(data)
    if not trace:
        return 0
    report = analyze(make.load(trace, strict=True))
    (account,) = report.accounts
    assert account.balances
    assert not account.unreadable_bytes
    assert renderer("report", "terminal")(report, Options(width=80)).decode()
    assert not [problem for problem in report.problems if problem.code == "analysis-failed"]
    return len(report.trace.compiles)


@pytest.mark.slow
@pytest.mark.parametrize("name", PASTED)
def test_every_beginning_and_every_end_of_a_pasted_log_is_read(name: str) -> None:
    data = (LOGS / "pasted" / name).read_bytes()
    for cut in range(0, len(data), 7):
        trace_of(data[:cut])
        trace_of(data[cut:])
    for cut in range(0, len(data), 97):
        survives(data[:cut])


def test_a_record_has_its_own_line_however_the_log_comes() -> None:
    head = b"V1120 09:01:52.148000 7 torch/fx/experimental/symbolic_shapes.py:2529] [4/1] create_env\n"
    whole = trace_of(head * 3)
    assert whole == trace_of(*[head] * 3)
    assert sorted(set(re.findall(rb"log:(\d)\] ", whole))) == [b"1", b"2", b"3"]


def test_a_recorded_log_can_end_anywhere() -> None:
    for cut in range(1, len(SMALL), 173):
        survives(SMALL[:cut])


def wrapped(lines: list[bytes], chance: random.Random) -> Iterator[bytes]:
    for line in lines:
        yield from (line[start : start + 80] + b"\n" for start in range(0, len(line), 80))


def shuffled(lines: list[bytes], chance: random.Random) -> list[bytes]:
    return chance.sample(lines, len(lines))


def interleaved(lines: list[bytes], chance: random.Random) -> list[bytes]:
    return [line for pair in zip(lines, [b"[rank1]:" + line for line in lines[40:]], strict=False) for line in pair]


def colored(lines: list[bytes], chance: random.Random) -> list[bytes]:
    return [b"\x1b[31m" + line[:-1] + b"\x1b[0m\n" for line in lines]


def with_random_bytes(lines: list[bytes], chance: random.Random) -> list[bytes]:
    return [line[: (at := chance.randrange(len(line)))] + chance.randbytes(3) + line[at:] for line in lines]


CHANGES: dict[str, Callable[[list[bytes], random.Random], Iterator[bytes] | list[bytes]]] = {
    "wrapped": wrapped,
    "shuffled": shuffled,
    "interleaved": interleaved,
    "colored": colored,
    "random bytes": with_random_bytes,
    "glued": lambda lines, chance: [line.rstrip(b"\n") if chance.random() < 0.3 else line for line in lines],
    "without heads": lambda lines, chance: [line.partition(b"] [")[2] for line in lines],
    "of Windows": lambda lines, chance: [line.replace(b"\n", b"\r\n") for line in lines],
    "quoted": lambda lines, chance: [b"> " + line for line in lines],
    "of a container": lambda lines, chance: [
        json.dumps({"log": line.decode(), "stream": "stderr"}, separators=(",", ":")).encode() + b"\n" for line in lines
    ],
    "one line": lambda lines, chance: [line.rstrip(b"\n") for line in lines],
    "twice": lambda lines, chance: lines * 2,
    "UTF-16": lambda lines, chance: [b"".join(lines).decode().encode("utf-16")],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_log_is_read(change: str) -> None:
    survives(b"".join(CHANGES[change](LIMIT.splitlines(keepends=True)[:400], random.Random(1))))


@pytest.mark.parametrize("change", ["colored", "of Windows", "quoted", "of a container"])
def test_what_only_looks_different_is_read_as_the_log_itself(change: str) -> None:
    lines = LIMIT.splitlines(keepends=True)
    assert trace_of(b"".join(CHANGES[change](lines, random.Random(1)))) == trace_of(LIMIT)


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_pieces_in_which_a_log_is_read_make_no_difference(size: int) -> None:
    data = LIMIT[:30_000]
    assert trace_of(*(data[start : start + size] for start in range(0, len(data), size))) == trace_of(data)


@pytest.mark.parametrize(
    "lines", [(b"[9/64]    function: 'f' (a.py:129)\n", b" 4)\n", b"    last reason: 9/63: tensor 'x'\n"), (b"", b" toram)\n", b"\n")]
)
def test_the_pieces_make_no_difference_where_lines_with_one_head_do_not_all_belong_to_a_message(
    lines: tuple[bytes, bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shapelog.reading.text_logs.lines.whole_lines.LONGEST_PASTE", 0)
    head = b"W0921 18:32:27.863000 6084 torch/_dynamo/convert_frame.py:964] [9/64]"
    data = head.join(lines)
    assert trace_of(*(data[start : start + 50] for start in range(0, len(data), 50))) == trace_of(data)


def test_lines_of_two_ranks_in_any_order_are_the_compiles_of_each() -> None:
    lines = LIMIT.splitlines(keepends=True)
    logs = [[b"[rank%d]:" % rank + line.replace(b" 14886 ", b" %d " % (14886 + rank)) for line in lines] for rank in (0, 1)]
    one = make.load(trace_of(b"".join(logs[0])))
    both = make.load(trace_of(b"".join(line for pair in zip(*logs, strict=True) for line in pair)))
    assert [rank.number for rank in both.ranks] == [0, 1]
    labels = [[item.label for frame in rank.frames for item in frame.compiles] for rank in (*one.ranks, *both.ranks)]
    assert labels[0] == labels[1] == labels[2]


HOSTILE = {
    "a line without end": b"x",
    "heads without end": b"V1120 08:27:33.313000 1 torch/_dynamo/guards.py:1] [0/1] [__recompiles] ",
    "ends of heads": b"/torch/a.py:1] [0",
    "brackets": b"[",
    "ids": b"[0/1] [__",
    "spaces": b" ",
    "quotes": b"> ",
    "escapes": b"\x1b]8;;",
    "carriage returns": b"\r 1%|# | [__guards] ",
    "heads cut": b"V1120 08:27:33.3 1 a.py:",
    "recompiles": b"[0/1] [__recompiles] Recompiling function f in a.py:1\n",
    "reasons": b"[0/1] [__recompiles]     - 0/0: L['x'] == 1\n",
    "functions": b"   function: 'f' (a.py:1)\n",
    "states": b"a.py:1:f:\n",
    "symbols": b"create_symbol s0 = 1 for L['x'] [1, 2] \n",
    "tracebacks": b"Traceback (most recent call last):\n",
    "exceptions": b"torch._dynamo.exc.Unsupported: no\n",
    "a growing tree": b"| +- \n",
}


def calls(data: bytes) -> int:
    """How many functions are called, in Python and in C, to read a log."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        trace_of(data)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_twice_as_much_takes_twice_the_calls(name: str) -> None:
    small, large = (calls(HOSTILE[name] * (size // len(HOSTILE[name]))) for size in (40_000, 80_000))
    assert large < 2.3 * small + 500


# What there is a lot of below a line.
BELOW = {
    "empty lines below a graph break": (b"Graph break in user code at /a/f.py:12\nGraph Break Reason: Unsupported:\n", b" \n"),
    "a chain of exceptions": (
        b"import torch\n",
        b'Traceback (most recent call last):\n  File "/a/f.py", line 3, in f\n    g()\nValueError: about torch\n\n'
        b"During handling of the above exception, another exception occurred:\n\n",
    ),
}


@pytest.mark.parametrize("name", BELOW)
def test_twice_as_much_below_a_line_takes_twice_the_calls(name: str) -> None:
    first, more = BELOW[name]
    small, large = (calls(first + more * (size // len(more))) for size in (10_000, 20_000))
    assert large < 2.3 * small


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_takes_no_second_to_split(name: str) -> None:
    """A pattern that tries every place again and again makes no calls, and takes minutes."""
    from time import process_time

    data, began = HOSTILE[name] * (1_000_000 // len(HOSTILE[name])), process_time()
    for _ in log_lines([data]):
        pass
    assert process_time() - began < 5


def test_of_a_line_of_100_megabytes_little_is_kept() -> None:
    lines = list(log_lines(b"[0/1] [__guards] " + b"x" * (1 << 20) for _ in range(100)))
    assert len(lines) == 1
    assert len(lines[0].text) < 1 << 17


def test_a_file_without_a_message_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    for data in (b"epoch 1\n" * 1000, b"\0" * 1000, b"> " * 100, b"[" * 10_000, b"\x1b[31m\n" * 10):
        path.write_bytes(data)
        with pytest.raises(ShapelogError, match=r"\Arun\.txt: [^\n]+\Z"):
            load(path)
