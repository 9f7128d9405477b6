"""Texts that somebody pasted twice, wrapped with what a launcher wrote in front of each line, or joined to one line."""

import textwrap
from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.report import Report, analyze

HEAD = "V0711 09:01:22.000000 221931 torch/_dynamo/guards.py:2997] [12/2] [__recompiles] "
LINES = (
    "Recompiling function forward_micro_batch in /srv/workers/actor.py:71",
    "    triggered by the following guard failure(s):",
    "    - 12/1: tensor 'batch['responses']' size mismatch at index 1. expected 1024, actual 2048",
)
LOG = "".join(f"{HEAD}{line}\n" for line in LINES)
OLD = "".join(
    f"torchdynamo.convert_frame: [WARNING] torchdynamo hit config.cache_size_limit (64)\n   function: '{name}' (/srv/ops.py:{line})\n"
    f'   reasons:  ["{reason}"]\nto diagnose recompilation issues, see https://github.com/pytorch/torchdynamo.\n'
    for name, line, reason in (("reduce", 3, "set(lengths.keys()) == {'c'}"), ("apply", 9, "len(items) == 3"))
)


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def sentences(report: Report) -> list[tuple[str, str]]:
    return [(item.frame.name, item.causes[0].sentence) for item in report.explained.recompiles]


@pytest.mark.parametrize("other", ["", LOG.replace("12/1", "12/3").replace("12/2", "12/4").replace(":22.", ":25.")])
def test_a_log_that_is_pasted_twice_counts_once(other: str, tmp_path: Path) -> None:
    assert sentences(report_of(f"{LOG}{other}\nOnce more:\n\n{LOG}{other}", tmp_path)) == sentences(report_of(LOG + other, tmp_path))


@pytest.mark.parametrize("width", [72, 80, 100])
@pytest.mark.parametrize("front", ["(TP0) ", "(Worker pid=221931) ", "2026-03-02T08:15:44.120391812Z stderr F "])
def test_a_wrap_does_not_matter_behind_what_a_launcher_wrote(front: str, width: int, tmp_path: Path) -> None:
    text = textwrap.indent(LOG, front)
    wrapped = "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width))
    assert sentences(report_of(f"{wrapped}\n", tmp_path)) == [
        ("forward_micro_batch", "dim 1 of batch['responses'] changed from 1024 to 2048")
    ]


def test_the_process_of_the_next_line_is_no_part_of_a_joined_reason(tmp_path: Path) -> None:
    later = LOG.replace("12/1", "12/3").replace("12/2", "12/4")
    joined = textwrap.indent(LOG + later, "(Worker pid=221931) ").replace("\n", " ")
    assert sentences(report_of(joined, tmp_path)) == 2 * [("forward_micro_batch", "dim 1 of batch['responses'] changed from 1024 to 2048")]


FOUND = [("reduce", "the keys of the dict lengths changed"), ("apply", "items had 3 items and now has a different number")]


def test_old_warnings_that_are_joined_keep_their_reasons(tmp_path: Path) -> None:
    assert sentences(report_of(OLD.replace("\n", " "), tmp_path)) == FOUND


def test_a_function_that_is_refused_twice_without_ids_has_the_reason_of_both(tmp_path: Path) -> None:
    report = report_of(OLD + OLD, tmp_path)
    assert sentences(report) == sorted(FOUND * 2, reverse=True)
    assert [item.sentence.endswith(f"; the last reason: {FOUND[at][1]}") for at, item in enumerate(report.findings)] == [True, True]


@pytest.mark.parametrize("sign", ["# ", "# >> ", "#> ", "// ", "    # ", "   //"])
def test_a_log_that_is_quoted_in_a_comment_has_its_reason(sign: str, tmp_path: Path) -> None:
    quoted = "".join(f"{sign}{line}\n" for line in LINES)
    text = f"for batch in data:\n    forward(batch)\n\n# Sample output:\n#\n{quoted}\nprint(3)\nprint(4)\n"
    assert sentences(report_of(text, tmp_path)) == [("forward_micro_batch", "dim 1 of batch['responses'] changed from 1024 to 2048")]
