"""What PyTorch prints on a line of its own is no event where a person only mentions it in a sentence."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.report.report import Report, analyze

REASON = "tensor 'x' size mismatch at index 0. expected 3, actual 4"
MENTIONS = [
    "If Dynamo recompiles too often, it prints\n`torch._dynamo hit config.recompile_limit (8)` and falls back to eager mode.",
    "When you see torch._dynamo hit config.recompile_limit (8) in the log, raise the limit.",
    "- Fixed: no more `torch._dynamo hit config.cache_size_limit (8)` warnings in generate (#1234)",
    '## 2.3.1\n* Avoids "torch._dynamo hit config.recompile_limit (8)" on long prompts',
    "torch._dynamo hit config.recompile_limit (8) is a warning that PyTorch prints when a function was compiled 8 times.",
    "It fails with a RecursionError, preceded by\n``torch._dynamo hit\nconfig.accumulated_recompile_limit (256)``. The rest never runs.",
    "In the log was\n`torch._dynamo hit config.recompile_limit (8)`\uff0creason `GLOBAL_STATE changed: ...`",
    "Under fullgraph it raises `torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True` instead.",
    '#   dies at step 0 with\n#   "FailOnRecompileLimitHit: Hard failure due to fullgraph=True", and\n#   raising the limit does not help.',
    'IGNORED = [\n    "torch._dynamo hit config.recompile_limit",\n]',
]
OTHERS = [
    f"We saw that the reason was `{REASON}`, so we padded.",
    "Since 2.8 `Recompiling function f in a.py:3` is followed by a hint.",
    "The log says Recompiling function forward in model.py:12, which is expected.",
    "Compile log showed `[__recompiles] Recompiling function forward ... self.logged == False`. After the fix it is gone.",
    "Expected output: many `[__recompiles] Recompiling function\nreplace` lines and `[__graph_breaks]` lines. The rest is slow.",
    '            f"Recompiling function {code.co_name} in {code.co_filename}:{code.co_firstlineno}\\n"',
    "If you see `skipping cudagraphs due to mutated inputs (2 instances)`, return a new tensor.",
    '                "torch._dynamo hit config.%s (%s)\\n"\n                "   function: %s\\n"\n                "   last reason: %s\\n"',
]
EVENTS = [
    "In the log was\n`torch._dynamo hit config.recompile_limit (8)`\uff0creason `GLOBAL_STATE changed: grad_mode`",
    "torch._dynamo hit config.recompile_limit (8)",
    "[Bug]: torch._dynamo hit config.recompile_limit (8)",
    "Error: `torch._dynamo hit config.recompile_limit (8)`",
    "12:03:04 WARNING torch._dynamo hit config.recompile_limit (8)",
    "I always get torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (a.py:3)",
    f"I get torch._dynamo hit config.recompile_limit (8)\n   last reason: 0/7: {REASON}",
    "**Symptom**: `torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with one_graph=True`, about 36 s per step.",
    "**\u73b0\u8c61**\uff1a`torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with one_graph=True`\uff0c36 s",
    "Got it: FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True",
    "| smoke/compile | 6 | `FailOnRecompileLimitHit: Hard failure due to fullgraph=True` |",
]


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return analyze(load(path), debug=True)


@pytest.mark.parametrize("text", MENTIONS)
def test_a_limit_that_a_sentence_mentions_is_no_hit(text: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match="mentions the recompile limit in a sentence; paste the warning itself"):
        report_of(text, tmp_path)


@pytest.mark.parametrize("text", OTHERS)
def test_a_message_that_a_sentence_mentions_is_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match=r"not a torch\.compile trace"):
        report_of(text, tmp_path)


@pytest.mark.parametrize("text", EVENTS)
def test_a_limit_on_a_line_of_its_own_or_with_the_other_lines_of_its_warning_is_a_hit(text: str, tmp_path: Path) -> None:
    assert [item.rule.code for item in report_of(text, tmp_path).findings] == ["SL401"]


def test_a_sentence_next_to_the_warning_adds_no_hit(tmp_path: Path) -> None:
    report = report_of(f"{MENTIONS[1]}\n\n{EVENTS[4]}\n   last reason: 0/7: {REASON}", tmp_path)
    assert len(report.trace.compiles) == 1


def test_a_message_behind_words_of_a_program_is_one(tmp_path: Path) -> None:
    report = report_of("cuda train hf_Bert           skipping cudagraphs due to mutated inputs", tmp_path)
    assert [item.rule.code for item in report.findings] == ["SL503"]
    text = f"I see Recompiling function f in a.py:3\n    triggered by the following guard failure(s):\n    - 0/0: {REASON}"
    report = report_of(text, tmp_path)
    assert [item.codes for item in report.explained.recompiles] == [("SL101",)]
