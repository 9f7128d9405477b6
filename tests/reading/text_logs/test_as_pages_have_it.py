"""Texts as pages and editors give them: lines numbered, spaced, indented, cut. What is still supported is answered, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository

OF_DATA = """# torch._dynamo.exc.UserError: Could not guard on data-dependent expression Eq(256*u0, 256) (unhinted: Eq(256*u0, 256)).

### Error logs

```python
....
File "/srv/track.py", line 415, in inference
    q = self.decoder(x)
  File "/srv/mha.py", line 51, in forward
    q = q + self.mha(q)

For C++ stack trace, run with TORC
"""
NOTEBOOK = """It fails:

```
---------------------------------------------------------------------------
Unsupported                               Traceback (most recent call last)
Cell In[89], line 1
----> 1 func(torch.zeros(3,3))

File /opt/lib/python3.10/site-packages/torch/_dynamo/eval_frame.py:209, in _TorchDynamoContext.__call__(*args, **kwargs)
    207 dynamic_ctx.__enter__()
    208 try:
--> 209     return fn(*args, **kwargs)
"""
BROKEN = """[47/0] [__graph_breaks] Graph break in user code at /srv/fn.py:146
[47/0] [__graph_breaks] Graph Break Reason: Attempted to call function marked as skipped
[47/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace the builtin `None.f.`
[47/0] [__graph_breaks] User code traceback:
[47/0] [__graph_breaks]   File "/srv/fn.py", line 146, in go
"""
RECOMPILED = """I see

V0726 07:04:24.836000 1780047 torch/_dynamo/guards.py:2688] [0/1] [__recompiles] Recompiling function f in /srv/nu.py:3
V0726 07:04:24.836000 1780047 torch/_dynamo/guards.py:2688] [0/1] [__recompiles]     triggered by the following guard failure(s):
V0726 07:04:24.836000 1780047 torch/_dynamo/guards.py:2688] [0/1] [__recompiles]     - 0/0: tensor 'L['y']' size mismatch at index 0. \
expected 4, actual 6
"""
CHANGES: dict[str, Callable[[str], str]] = {
    "numbered": lambda text: numbered(text, "{0:>4} {1}"),
    "numbered by two": lambda text: numbered(text, "{0:>4}  {2:>5} {1}"),
    "numbered with a bar": lambda text: numbered(text, "{0:>4} | {1}"),
    "spaced": lambda text: text.replace("\n", "\n\n"),
    "indented by a tab": lambda text: "".join(f"\t{line}\n" for line in text.splitlines()),
    "of Windows": lambda text: text.replace("\n", "\r\n"),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "with empty cells": lambda text: "".join(f"{line} | |\n" for line in text.splitlines()),
    "with a bar": lambda text: "".join(f"\u2502 {line}\n" for line in text.splitlines()),
}


def numbered(text: str, form: str) -> str:
    return "".join(form.format(number, line, number + 97) + "\n" for number, line in enumerate(text.splitlines(), 1))


def answer(text: str, folder: Path) -> list[tuple[str, str, str]]:
    path = folder / "run.txt"
    path.write_bytes(text.encode())
    report = analyze(load(path), debug=True)
    places = [str(item.place) for item in report.findings]
    return [(item.rule.code, item.sentence, str(item.source_line or places)) for item in collect_alerts(report, Repository()).alerts]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("text", [OF_DATA, NOTEBOOK, BROKEN, RECOMPILED])
def test_what_a_page_adds_makes_no_difference(text: str, change: str, tmp_path: Path) -> None:
    assert answer(CHANGES[change](text), tmp_path) == answer(text, tmp_path)


def test_rows_that_begin_with_numbers_are_not_numbered(tmp_path: Path) -> None:
    rows = "".join(f"{size} 3 torch._dynamo.exc.Unsupported: call_method {size}\n" for size in (10, 20, 40, 80, 160))
    assert len(answer(rows, tmp_path)) == 1


@pytest.mark.parametrize("begin", [1, 2, 3])
def test_the_label_of_a_reason_is_no_part_of_it(begin: int, tmp_path: Path) -> None:
    ((_, sentence, _),) = answer("\n".join(BROKEN.splitlines()[begin:]) + "\n", tmp_path)
    words = ("Attempted to call function marked as skipped", "Dynamo does not know how to trace", "the log does not have the reason")
    assert f"(once): {words[begin - 1]}" in sentence


def test_a_heading_of_markdown_is_no_message_of_an_exception(tmp_path: Path) -> None:
    ((_, sentence, _),) = answer('### Error logs\n\nfrom user code:\n   File "/srv/a.py", line 8, in f\n    g()\n', tmp_path)
    assert sentence == "f failed to compile: the exception is missing from the log"


def test_the_stack_of_a_traceback_below_a_warning_is_not_that_of_a_break(tmp_path: Path) -> None:
    text = "/torch/_dynamo/f.py:1262: UserWarning: Dynamo does not know how to trace the builtin `a.b.` This is a builtin.\n"
    text += '  torch._dynamo.utils.warn_once(explanation)\n  File "/srv/hook.py", line 15, in <module>\n    print(fn(x))\n'
    ((_, sentence, place),) = answer(text, tmp_path)
    assert sentence == "graph break (once): Unsupported builtin a.b"
    assert "hook" not in place


@pytest.mark.parametrize("front", ["", "# see "])
def test_the_longer_one_of_two_quotes_is_the_message(front: str, tmp_path: Path) -> None:
    ((_, sentence, _),) = answer(
        f"{front}torch._dynamo.exc.Unsupported: call_method SPLIT_\n\nand\n\ntorch._dynamo.exc.Unsupported: call_method SPLIT_WITH_SIZES\n",
        tmp_path,
    )
    assert sentence.endswith(": call_method SPLIT_WITH_SIZES")


@pytest.mark.parametrize("path", ["/srv/proj", "/srv/project/.ven", "/srv/"])
def test_the_cut_path_of_a_recompiled_function_is_no_place(path: str, tmp_path: Path) -> None:
    ((_, sentence, place),) = answer(f"torch._dynamo.exc.RecompileError: Recompiling function f in {path}\n\nHelp\n", tmp_path)
    assert sentence.startswith("f needed a recompilation")
    assert "srv" not in place


SOFT = "Recompiling function view in .../tool/beam.py:56\n    triggered by the following guard failure(s):\n    - 0/0: offset == 0.0\n"


@pytest.mark.parametrize("sign", ["# ", ""])
def test_the_comment_of_a_guard_may_be_on_two_lines_below_it(sign: str, tmp_path: Path) -> None:
    comment = f"      {sign}n_p = (x + offset) / delta_det_channel + det_center_channel\n      {sign}.../tool/beam.py:44 in _hfan_math\n"
    ((code, _, place),) = answer(f"```\n{SOFT}{comment}```\n\nDynamo specialized the first trace.\n", tmp_path)
    assert (code, place) == ("SL312", ".../tool/beam.py:44")


@pytest.mark.parametrize("upper", ["", " <= 2147483647"])
@pytest.mark.parametrize(
    "comment", ["", "           # due to 0/1 specialization in the framework;\n           # to avoid it, try mark_unbacked\n"]
)
def test_a_size_that_has_to_be_two_or_more_was_0_or_1(upper: str, comment: str, tmp_path: Path) -> None:
    """So it is where the other bound is that of 32-bit indices, whose comment may be on lines of its own."""
    lines = ("Recompiling function f", "    triggered by the following guard failure(s):", f"    - 0/2: 2 <= x.size()[0]{upper}")
    ((code, sentence, _),) = answer("[0/3] [__recompiles] " + "\n".join(lines) + f"\n{comment}", tmp_path)
    assert (code, sentence.count("#")) == ("SL104", 0)


def test_a_limit_without_a_reason_asks_for_the_reasons(tmp_path: Path) -> None:
    head = "[rank0]:[rank0]:W0819 05:54:10.552000 31473 torch/_dynamo/convert_frame.py:831] [2/256] "
    lines = ("torch._dynamo hit config.accumulated_cache_size_limit (256)", "   function: 'f' (/a/b.py:66)")
    text = "".join(f"#     {head}{line}\n" for line in (*lines, "   last reason: Unable to find recompilation reasons"))
    ((code, sentence, place),) = answer(text, tmp_path)
    assert (code, place) == ("SL401", "/a/b.py:66")
    assert sentence.startswith("f hit the accumulated recompile limit at 2/256")
    assert "last reason" not in sentence


@pytest.mark.parametrize("comment", ["", "  # Too restrictive!"])
def test_a_symbol_without_its_range_and_a_head_is_read(comment: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(f"[0/1] create_symbol s0 = 7 for L['x'].size()[0]\n[0/1] eval Eq(s0, 7) [guard added]{comment}\n", encoding="utf-8")
    ((event,),) = ([*compile.specializations] for frame in load(path).frames for compile in frame.compiles)
    assert (event.value, event.sources[0].display_name) == ("7", "x.size()[0]")


@pytest.mark.parametrize("lead", ["", "[rank0]: ", "(RayTrainWorker pid=77, ip=10.0.0.1) "])
@pytest.mark.parametrize(
    "lines",
    [
        [
            "[2023-04-13 21:42:57,808] torch._dynamo.convert_frame.__recompiles: [DEBUG] "
            f"('Recompiling function step in /srv/a.py', \"triggered by the following guard failure: L['t'] == {number}\")"
            for number in range(3)
        ],
        ["tensor 'L['x']' dtype mismatch. expected Float, actual Double", "and no more"],
    ],
)
def test_a_launcher_in_front_of_few_lines_changes_no_answer(lines: list[str], lead: str, tmp_path: Path) -> None:
    plain, led = (answer("".join(f"{front}{line}\n" for line in lines), tmp_path) for front in ("", lead))
    assert plain == led != []
