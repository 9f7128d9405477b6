"""What a terminal, a mail or Markdown did to the lines of a text is undone, and other texts stay as they are."""

import textwrap
from pathlib import Path

import pytest

from shapelog.reading.text_logs.lines.copied import as_written, once, together
from shapelog.reading.text_logs.lines.whole_lines import whole_lines

HEAD = "V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] "
LOG = "\n".join(
    HEAD + line
    for line in (
        "Recompiling function forward_with_attention in /home/somebody/projects/model/attention.py:37",
        "    triggered by the following guard failure(s):",
        "    - 0/0: tensor 'L['positions']' size mismatch at index 0. expected 3560, actual 3570",
    )
)
TRACEBACK = """Traceback (most recent call last):
  File "/home/somebody/projects/training/examples/language/train.py", line 250, in <module>
    trainer.fit(model, datamodule=data, ckpt_path=arguments.checkpoint if arguments.resume else None)
  File "/home/somebody/projects/training/library/training/loops/epoch.py", line 1007, in advance
    self.outputs = self.trainer.strategy.training_step(*self.batch_arguments, **self.keyword_arguments)
torch._dynamo.exc.Unsupported: call_method UserDefinedObjectVariable(Sampler) __contains__ [ConstantVariable(str)] {}"""
PROSE = "\n".join(textwrap.wrap("Nobody has to mark any of these sizes, because the code is always called with the same ones. " * 20, 80))
ROWS = "\n".join(f"Recording cudagraph tree for symint key {size}, of the function that is called {size}" for size in range(10, 16))
DUMP = "\n".join(f"step {step:04} loss {1 / (step + 1):.8f} " + "x" * 44 for step in range(30))


def by_words(text: str, width: int) -> str:
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width, break_long_words=False))


def by_columns(text: str, width: int) -> str:
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, len(line), width))


@pytest.mark.parametrize("width", [72, 80, 100])
@pytest.mark.parametrize("text", [LOG, TRACEBACK])
def test_lines_that_a_terminal_broke_are_whole(text: str, width: int) -> None:
    assert as_written(by_columns(text, width)) == text


def test_a_stack_below_them_may_have_a_longer_line() -> None:
    joined = f"    output = model.generate(**inputs, max_new_tokens=30){'^' * 120}"
    assert as_written(f"{by_columns(LOG, 100)}\n{joined}") == f"{LOG}\n{joined}"


def test_lines_that_a_terminal_of_windows_broke_are_whole() -> None:
    (found,) = whole_lines([by_columns(LOG, 100).replace("\n", "\r\n").encode()])
    assert found.lines.decode() == f"{LOG}\n"


@pytest.mark.parametrize("width", [72, 80, 100])
def test_lines_of_a_log_that_a_mail_broke_are_whole_but_for_their_blanks(width: int) -> None:
    assert [line.split() for line in as_written(by_words(LOG, width)).split("\n")] == [line.split() for line in LOG.split("\n")]


OLD_LIMIT = """torchdynamo.convert_frame: [WARNING] torchdynamo hit{0}
config.cache_size_limit (64)
   function: 'apply_recipe'{0}
(/opt/environments/dynamo/lib/python3.8/site-packages/einops/einops.py:3
)
   reasons:  ["tensor 'tensor' requires_grad mismatch. expected{0}
requires_grad=0"]
to diagnose recompilation issues, see{0}
https://github.com/pytorch/torchdynamo/blob/main/TROUBLESHOOTING.md.
"""


@pytest.mark.parametrize("blank", ["", " "])
def test_so_are_those_of_the_first_versions(blank: str) -> None:
    """Some editors keep the blank at the end of a line, and break a path that is longer than a line."""
    assert as_written(2 * OLD_LIMIT.format(blank)).split("\n")[:4] == [
        "torchdynamo.convert_frame: [WARNING] torchdynamo hit config.cache_size_limit (64)",
        "   function: 'apply_recipe' (/opt/environments/dynamo/lib/python3.8/site-packages/einops/einops.py:3)",
        "   reasons:  [\"tensor 'tensor' requires_grad mismatch. expected requires_grad=0\"]",
        "to diagnose recompilation issues, see https://github.com/pytorch/torchdynamo/blob/main/TROUBLESHOOTING.md.",
    ]


@pytest.mark.parametrize(
    "text", [LOG, TRACEBACK, PROSE, f"{PROSE}\n\n```\n{LOG}\n```", ROWS, DUMP, Path(__file__).read_text(encoding="utf-8")]
)
def test_what_nobody_broke_stays_as_it_is(text: str) -> None:
    assert as_written(text) == text


@pytest.mark.parametrize("margin", ["    ", "\t", " "])
def test_what_indents_all_of_a_text_or_a_block_is_left_out(margin: str) -> None:
    assert as_written(textwrap.indent(TRACEBACK, margin)) == TRACEBACK
    fenced = f"```pytb\n{TRACEBACK}\n```"
    listed = f"- It fails:\n\n{textwrap.indent(fenced, margin)}\n\n- It has:\n\n{textwrap.indent(fenced, margin)}"
    assert as_written(listed) == f"- It fails:\n\n{fenced}\n\n- It has:\n\n{fenced}"


def test_a_block_that_is_not_closed_has_a_margin_too() -> None:
    assert as_written("Before\n  ~~~\n  f\n    g") == "Before\n~~~\nf\n  g"


def test_a_stack_without_its_heading_keeps_its_margin() -> None:
    stack = '  File "/srv/net.py", line 7, in f\n    return x\n'
    assert as_written(stack) == stack


@pytest.mark.parametrize("blanks", [2, 3, 4])
def test_lines_that_a_terminal_broke_within_their_margin_are_whole(blanks: int) -> None:
    assert as_written(by_columns(LOG, len(HEAD) + blanks)) == LOG


REASON = "Recompiling function scale in /srv/app/scale.py:5\n    triggered by the following guard failure(s):\n    - 0/0: factor == 0.5"
BREAK = """Graph break in user code at /srv/app/net.py:7
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching.

User code traceback:
  File "/srv/app/net.py", line 7, in forward
    if x.sum() > 0:"""


@pytest.mark.parametrize("text", [LOG, REASON, BREAK])
@pytest.mark.parametrize("sign", ["# ", "#", "## ", "// ", "    # ", "\t// ", "#    "])
def test_a_log_in_a_comment_of_a_program_has_no_signs_of_it(sign: str, text: str) -> None:
    quoted = "\n".join(sign + line for line in text.split("\n"))
    assert as_written(f"x = run()\n{quoted}\nprint(x)") == f"x = run()\n{text}\nprint(x)"
    assert as_written(f"def run():\n{quoted}\n    return 3") == f"def run():\n{text}\n    return 3"


@pytest.mark.parametrize(
    "text",
    [
        "# A title\n\nSome words.\n\n# Another title",
        "x = 3  # one\ny = 4  # two",
        "#include <vector>\nint main() {}",
        "# File: /srv/app/net.py:7 in forward, code: y = x + 1\n# File: /srv/app/net.py:8 in forward, code: return y\nadd = x + 1",
        "http://host/a\n//host/b\n://c",
    ],
)
def test_other_signs_at_the_begin_of_a_line_stay(text: str) -> None:
    assert as_written(text) == text


@pytest.mark.parametrize("name", ["", "_<listcomp>"])
def test_a_stack_that_has_lost_its_margin_has_one(name: str) -> None:
    stack = f"""Traceback (most recent call last):
  File "/srv/app/train.py", line 8, in main{name}
    out = model(x)
          ~~~~~^^^
  File "/srv/app/net.py", line 7, in forward
    return super().__call__(x)

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app/net.py", line 9, in forward
torch._dynamo.exc.Unsupported: Data-dependent branching

from user code:
  File "/srv/app/net.py", line 7, in forward
    if x.sum() > 0:

Some words."""
    without = "\n".join(line.lstrip() for line in stack.split("\n"))
    assert as_written(without).replace("    ~~~~~^^^", "          ~~~~~^^^") == stack


def test_a_frame_whose_function_a_page_took_for_a_tag_has_none() -> None:
    text = 'Traceback (most recent call last):\nFile "/srv/app/train.py", line 8, in\nrun()\nValueError: 3'
    assert as_written(text) == 'Traceback (most recent call last):\n  File "/srv/app/train.py", line 8\n    run()\nValueError: 3'


PAGE = "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-operands"


@pytest.mark.parametrize("at", [40, 47, 51])
def test_the_address_of_a_page_that_a_terminal_broke_is_whole(at: int) -> None:
    assert as_written(f"See {PAGE[:at]}\n{PAGE[at:]}\n\nmore") == f"See {PAGE}\n\nmore"
    other = f"See {PAGE}\nmodels\nhttps://host/docs/exportdb/i\nndex.html"
    assert as_written(other) == other


@pytest.mark.parametrize("margin", ["    ", "      ", "\t"])
@pytest.mark.parametrize("text", [LOG, REASON, BREAK])
def test_a_block_of_code_that_is_only_indented_has_no_margin(margin: str, text: str) -> None:
    block = "\n".join(margin + line if line else "" for line in text.split("\n"))
    expected = f"This is what I see:\n\n{text}\n\nThanks"
    assert as_written(f"This is what I see:\n\n{block.replace(chr(9), ' ' * 4)}\n\nThanks") == expected


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    x = 3\n\n    return x",
        'RuntimeError: 3\n\n    File "/srv/a.py", line 3, in f\n\nmore',
        "Words:\n\n  - one\n  - two\n\nmore",
        "Words:\n    x = 3\n\nmore",
    ],
)
def test_other_indented_lines_keep_their_margin(text: str) -> None:
    assert as_written(text) == text


@pytest.mark.parametrize("text", [REASON, BREAK, TRACEBACK])
def test_lines_with_an_empty_one_below_each_have_none(text: str) -> None:
    lines = [line for line in text.split("\n") if line]
    spaced = "\n\n".join(lines)
    without = "\n".join(lines)
    assert as_written(f"{spaced}\n\n") == f"{without}\n"


def test_paragraphs_are_no_spaced_lines() -> None:
    text = "\n\n".join(("One line.", "torch._dynamo.exc.Unsupported: generic_jump", "Another line.", "- A list", "And more words."))
    assert as_written(text) == text


def test_a_stack_that_begins_on_the_line_of_its_message_has_its_margin() -> None:
    text = 'Error: x. Stack trace: File "/srv/a.py", line 9, in f\n    y = g(x)\n  File "/srv/a.py", line 7, in g\n    return x'
    assert as_written("\n".join(line.lstrip() for line in text.split("\n"))) == text


def test_a_line_of_a_stack_behind_a_rank_is_not_indented() -> None:
    text = '[rank3] Error: x. Stack trace: File "/srv/a.py", line 9, in f\n[rank3]     y = g(x)\n[rank3]   File "/srv/a.py", line 7, in g'
    assert as_written(text) == text


def test_guards_from_one_line_of_code_are_equally_long_and_no_broken_lines() -> None:
    comment = "# return self.lin(x) * n + self.k  # scripts/q.py:7 in forward"
    head = "Recompiling function forward in /srv/q.py:6\n    triggered by the following guard failure(s):"
    first, second = (f"    - {guard:60}{comment}" for guard in ("L['n'] == 7", "L['self'].k == 2"))
    text = "\n".join((head, first, head, second, first, "Recompiling function f in /srv/q.py:12"))
    assert as_written(text) == text


def test_an_exception_that_a_person_made_bold_is_one() -> None:
    raised = "torch._dynamo.exc.Unsupported: dynamic shape operator; to enable, set torch._dynamo.config.a = True"
    assert as_written(f"  a()\n**{raised}**\n\n**Note:** no\n") == f"  a()\n{raised}\n\n**Note:** no\n"


HEAD_OF_RECOMPILES = "V1120 08:29:26.080000 13085 torch/_dynamo/guards.py:2791] [0/1] [__recompiles] "
RECOMPILED = f"""\
{HEAD_OF_RECOMPILES}Recompiling function f in /app/train.py:4
{HEAD_OF_RECOMPILES}    triggered by the following guard failure(s):
{HEAD_OF_RECOMPILES}    - 0/0: tensor 'L['x']' size mismatch at index 0. expected 10, actual 20
"""


@pytest.mark.parametrize(("written", "copied"), [("    - ", "    \u2013 "), ("    - ", "    \u2014 "), ("[__recompiles]", "[recompiles]")])
def test_signs_that_a_chat_changed_are_those_of_pytorch(written: str, copied: str) -> None:
    assert as_written(RECOMPILED.replace(written, copied)) == RECOMPILED


def test_dashes_within_a_line_and_other_brackets_stay() -> None:
    text = "x = 1  # one \u2013 or two\nopen] [guardsmen] 3\n"
    assert as_written(text) == text


def test_lines_that_were_written_twice_are_there_once() -> None:
    twice = "".join(f"{line}\n{line}\n" for line in RECOMPILED.splitlines())
    assert once(twice).rstrip() == RECOMPILED.rstrip()


def test_a_few_equal_lines_stay() -> None:
    text = "f(\n    [\n    ]\n    ]\n)\n)\nend\n"
    assert once(text) == text


@pytest.mark.parametrize("foreign", ["...", "{'loss': 0.5}\nepoch 2"])
def test_what_a_program_wrote_between_the_lines_of_a_message_is_below_it(foreign: str) -> None:
    first, second, third = RECOMPILED.splitlines()
    mixed = "\n".join((first, foreign, second, third, "done"))
    assert together(mixed) == "\n".join((first, second, third, foreign, "done"))


@pytest.mark.parametrize("time", ["08:29:26.080001", "08:29:27.080000"])
def test_what_is_between_two_messages_stays_there(time: str) -> None:
    text = "\n".join((RECOMPILED.rstrip(), "...", RECOMPILED.replace("08:29:26.080000", time).rstrip()))
    assert together(text) == text


def test_the_rest_of_a_line_that_a_terminal_broke_stays_behind_it() -> None:
    wrapped = "\n".join(line[at : at + 100] for line in RECOMPILED.splitlines() for at in range(0, len(line), 100))
    assert together(wrapped) == wrapped


@pytest.mark.parametrize(("before", "after"), [("", ""), ("- ", ""), ("| ", " |")])
def test_each_line_as_a_span_of_code(before: str, after: str) -> None:
    lines = LOG.split("\n")
    ticked = "\n".join(f"{before}`{line}`{after}" if line.strip() else line for line in lines)
    found = as_written(f"What I see:\n{ticked}").split("\n")[1:]
    assert [line.removeprefix(before).removesuffix(after) for line in found] == lines


def test_a_field_of_an_error_that_a_mail_broke_is_one_line() -> None:
    field = "  Developer debug context: Called `torch._dynamo.graph_break()` with args"
    assert as_written(f"{field}\n`[]`, kwargs `{{}}`\n\n\nfrom user code:") == f"{field} `[]`, kwargs `{{}}`\n\n\nfrom user code:"
    assert as_written(f"{field}\nOps per Graph:\n  add") == f"{field}\nOps per Graph:\n  add"
    constraint = "  - Not all values of batch = L['x'].size()[0] in the specified range batch <="
    whole = as_written(f"{constraint}\n32 are valid because batch was inferred to be a constant (1).")
    assert whole.strip().startswith(f"{constraint.strip()} 32 are valid because")


def test_spans_of_code_in_prose_stay() -> None:
    text = "`foo`\nis what I call, and it is slow.\nIt goes on\n```\nx\n```"
    assert as_written(text) == text
