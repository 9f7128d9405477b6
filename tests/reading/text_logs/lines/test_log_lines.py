"""The lines of a text log, with what is in front of them."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from shapelog.reading.text_logs.lines import log_lines as reading
from shapelog.reading.text_logs.lines.log_lines import Head, LogLine, log_lines, log_runs

LOGS = Path(__file__).parents[4] / "fixtures" / "text_logs"
GUARDS = "torch/_dynamo/guards.py:2813"
HEAD = f"V1120 08:27:33.313000 4242 {GUARDS}] [0/1] [__recompiles]"
USUAL = Head("1120 08:27:33.313000", 4242, None, GUARDS, "0/1", "recompiles", "V")


def lines_of(text: str) -> list[LogLine]:
    return list(log_lines([text.encode()]))


@pytest.mark.parametrize(
    ("front", "head"),
    [
        (f"{HEAD} ", USUAL),
        (f"[rank3]:{HEAD} ", USUAL._replace(rank=3)),
        (f"2026-01-05 10:11:12,000 | INFO | {HEAD} ", USUAL),
        (f"[default2]:{HEAD} ", USUAL._replace(rank=2)),
        (f"> {HEAD} ", USUAL),
        (f"\x1b[31m{HEAD}\x1b[0m ", USUAL),
        (f"\ufeff{HEAD} ", USUAL),
        (
            "V1120 08:27:33.313000 4242 C:\\torch\\_dynamo\\guards.py:2813] [0/1_2] ",
            Head(*USUAL[:3], "C:/torch/_dynamo/guards.py:2813", "0/1_2", level="V"),
        ),
        (f"V1120 08:27:33.313000 4242 {GUARDS}] ", Head(*USUAL[:4], level="V")),
        (f".../{GUARDS}] [0/1] [__recompiles] ", Head(place=f".../{GUARDS}", compile="0/1", artifact="recompiles")),
        ("[0/1] [__recompiles] ", Head(compile="0/1", artifact="recompiles")),
        ("[__recompiles] ", Head(artifact="recompiles")),
        (
            "[2023-11-06 14:54:54,691] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] ",
            Head("1106 14:54:54", 0, None, "torch._dynamo.guards.__recompiles", "0/1", "recompiles", "D"),
        ),
        (
            "[2023-07-19 04:14:12,420] torch.fx.experimental.symbolic_shapes: [INFO] 2.1: ",
            Head("0719 04:14:12", 0, None, "torch.fx.experimental.symbolic_shapes", "2/1", "", "I"),
        ),
        ("DEBUG:torch._dynamo.guards.__recompiles:", Head("", 0, None, "torch._dynamo.guards.__recompiles", "", "recompiles", "D")),
        ("INFO:torch.fx.experimental.symbolic_shapes:", Head("", 0, None, "torch.fx.experimental.symbolic_shapes", "", "", "I")),
        ("torchdynamo.convert_frame: [ERROR] ", Head("", 0, None, "torchdynamo.convert_frame", "", "", "E")),
        ("", None),
        ("INFO:root:", None),
        ("epoch 1: ", None),
        ("2026-01-05 10:11:12 [1/2] ", None),
    ],
)
def test_what_is_in_front_of_a_line_is_its_head(front: str, head: Head | None) -> None:
    text = "Recompiling function f in a.py:1"
    (line,) = lines_of(f"{front}{text}\n")
    assert line == (head, text if head else f"{front}{text}", 1)


def test_lines_of_one_message_have_the_same_head() -> None:
    text = f"{HEAD} one\n{HEAD}     two\n{HEAD} \n{HEAD}\n[rank1]:{HEAD} other\nprogram\n{HEAD} three\n"
    found = lines_of(text)
    assert [line.text for line in found] == ["one", "    two", "", "", "other", "program", "three"]
    assert [line.number for line in found] == [1, 2, 3, 4, 5, 6, 7]
    assert len({id(found[at].head) for at in (0, 1, 2, 3, 6)}) == 1
    assert [len(run.lines) for run in log_runs([text.encode()])] == [4, 1, 1, 1]


def test_a_line_with_more_in_front_than_the_one_before_has_a_head_of_its_own() -> None:
    front = f"V1120 08:27:33.313000 4242 {GUARDS}]"
    first, second = lines_of(f"{front} one\n{front} [0/1] [__recompiles] two\n")
    assert (first.text, second) == ("one", (USUAL, "two", 2))


def test_what_is_drawn_over_the_same_line_are_lines_of_their_own_with_one_number() -> None:
    found = lines_of(f"a\n 12%\r 13%\r{HEAD} one\nb\n")
    assert [(line.text, line.number) for line in found] == [("a", 1), (" 12%", 2), (" 13%", 2), ("one", 2), ("b", 3)]


def test_a_progress_bar_is_taken_out_of_its_line() -> None:
    found = lines_of(f"  0%|  | 0/28 [00:00<?, ?it/s]{HEAD} one\nb 12%|## | 3/28 [00:01<00:09,  2.1it/s]\n")
    assert [(line.head, line.text) for line in found] == [(USUAL, "one"), (None, "b")]


@pytest.mark.parametrize("front", ["", f"{HEAD} ", "> "])
def test_of_a_long_line_the_beginning_is_read(front: str) -> None:
    first, second = lines_of(f"{front}{'é' * (1 << 18)}\n{HEAD} two\n")
    assert 60_000 < len(first.text) <= 1 << 16
    assert set(first.text) == {"é"}
    assert second == (USUAL, "two", 2)


def line_by_line(text: str, heads: reading._Heads) -> Iterable[reading._Found]:
    return reading._other_runs(text[:-1].split("\n"), heads)


@pytest.mark.parametrize("path", sorted((LOGS / "pasted").glob("*.txt")), ids=lambda path: path.name)
def test_lines_that_are_found_in_runs_are_those_that_are_found_one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    lines = [
        *path.read_text(encoding="utf-8").splitlines(),
        f"{HEAD} one",
        f"{HEAD} two",
        "program",
        f"V1120 08:27:33.313000 4242 {GUARDS}] x",
    ]
    texts = ["\n".join(chance.choices(lines, k=60)) for _ in range(5)]
    in_runs = [lines_of(text) for text in texts]
    monkeypatch.setattr(reading, "_usual_runs", line_by_line)
    assert [lines_of(text) for text in texts] == in_runs
