"""The lines in what loggers export as one text of JSON or CSV."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from shapelog.reading.text_logs.lines.exports import exported_lines, message_in

LINES = (
    'torch/_dynamo/guards.py:2997] [0/1] [__recompiles] Recompiling function f in "/a, b.py":3',
    "    triggered by the following guard failure(s):",
    "",
    "torch/_dynamo/guards.py:2997] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4",
)
TEXT = "\n".join(LINES)
ENTRIES = [{"insertId": f"a{at}", "textPayload": line, "labels": {"pod": "t-0"}, "timestamp": f"10:0{at}"} for at, line in enumerate(LINES)]


def table(rows: list[tuple[str, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


def notebook(*outputs: dict[str, object]) -> dict[str, object]:
    cell = {"cell_type": "code", "source": ["f(x)  # torch._dynamo hit config.recompile_limit (8)\n"], "outputs": list(outputs)}
    return {"cells": [{"cell_type": "markdown", "source": ["torch.compile"]}, cell], "nbformat": 4}


EXPORTS: dict[str, Callable[[], str]] = {
    "a list": lambda: json.dumps(ENTRIES),
    "a list, printed": lambda: json.dumps(ENTRIES, indent=2),
    "newest first": lambda: json.dumps(ENTRIES[::-1], indent=2),
    "a field of an object": lambda: json.dumps(
        {"events": [{"message": f"{line}\n", "eventId": 7} for line in LINES], "next": "f/3"}, indent=4
    ),
    "objects": lambda: "".join(f"{json.dumps(entry)}\n" for entry in ENTRIES),
    "GELF": lambda: "".join(f"{json.dumps({'version': '1.1', 'short_message': line, 'level': 6})}\n" for line in LINES),
    "OpenTelemetry": lambda: "".join(f"{json.dumps({'timeUnixNano': '17', 'body': {'stringValue': line}})}\n" for line in LINES),
    "Splunk": lambda: "".join(f"{json.dumps({'offset': 3, 'result': {'_raw': line}})}\n" for line in LINES),
    "an object in a text": lambda: "".join(f"{json.dumps({'log': json.dumps({'msg': line}), 'pod': 't-0'})}\n" for line in LINES),
    "all in one field": lambda: json.dumps({"id": 4, "body": TEXT}),
    "a notebook": lambda: json.dumps(notebook({"output_type": "stream", "text": [f"{line}\n" for line in LINES]}), indent=1),
    "a notebook on one line": lambda: json.dumps(notebook({"output_type": "stream", "text": TEXT})),
    "CSV": lambda: table([(f"10:0{at}", line, "stderr") for at, line in enumerate(LINES)]),
}


@pytest.mark.parametrize("form", EXPORTS)
def test_each_entry_is_a_line(form: str) -> None:
    assert exported_lines(EXPORTS[form]()) == TEXT


def test_the_error_that_a_cell_of_a_notebook_stopped_at_follows_what_it_printed() -> None:
    error = {"output_type": "error", "ename": "Unsupported", "traceback": ["Unsupported  Traceback", "Unsupported: a\n  Hint: b"]}
    text = json.dumps(notebook({"output_type": "stream", "text": ["step 1\n"]}, error))
    assert exported_lines(text) == "step 1\nUnsupported  Traceback\nUnsupported: a\n  Hint: b"


def test_a_printed_list_may_be_cut_at_both_ends() -> None:
    lines = json.dumps(ENTRIES, indent=2).split("\n")
    cut = "\n".join(lines[3:-4]) + '\n      "pod": "t'
    assert exported_lines(cut) == TEXT


@pytest.mark.parametrize(("damage", "shown"), [("\udcff", "?"), ("\\q", "\\q"), ("\\ud800", "\\ud800")])
def test_a_field_may_be_damaged(damage: str, shown: str) -> None:
    lines = [line for line in LINES if '"' not in line]
    fields = [f'  "message": "{line} {damage}",' for line in lines]
    assert exported_lines("\n".join(fields)) == "\n".join(f"{line} {shown}" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\n".join(f"tensor 'x' size mismatch at index 0. expected {size}, actual {size + 1}" for size in range(4)),
        "\n".join(f'torch: "f", line {number}' for number in range(4)),
        json.dumps([["L['x'] == 3"], ["L['x'] == 4"]]),
        json.dumps({"stack": [{"line": 3}], "kind": "other"}),
        table([("a", f"b, {number}") for number in range(5)]),
        "[0/0] [__guards] GUARDS:\n[0/0] a\n[0/0] b",
        *(
            json.dumps({"cells": cells})
            for cells in (5, {"outputs": []}, [None, "f"], [{"outputs": 7}, {"outputs": ["f"]}, {"outputs": {"text": "f"}}])
        ),
        "",
    ],
)
def test_any_other_text_is_as_it_is(text: str) -> None:
    assert exported_lines(text) == text


@pytest.mark.parametrize("line", ['{"a": 1}', '{"log": ', "{}", '{"log": {"code": 3}}'])
def test_an_object_without_a_message_is_a_line_of_its_own(line: str) -> None:
    assert message_in(line) == line
