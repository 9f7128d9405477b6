"""Graph breaks in the words of any version."""

import textwrap
from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.alerts.alert import Alert
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository

PROFILE = """Torchdynamo Profiler Report
===========================

Graph Break Reason                     Count
-----------------------------------  -------
hasattr: UserDefinedClassVariable()        1
hasattr no source                          2

Recompilation
-------------
No recompilation detected
"""
WARNING = """/torch/_dynamo/x.py:1262: UserWarning: Dynamo does not know how to trace the builtin `mod.pack.` It is either a builtin.
If it is a Python builtin, please file an issue on GitHub.
If it is a third-party C/C++ Python extension, please use `torch.compiler.allow_in_graph`.
  torch._dynamo.utils.warn_once(explanation)
"""
EXPLAINED = """ Explanation: Detected data-dependent branching (e.g. `if x.sum() > 0:`). Dynamo does not support it.

      The branch condition involves a tensor computed as follows:
        # File "/srv/net.py", line 132, in get_padding, code: n = x - 1
"""


def breaks(text: str, folder: Path, code: str = "SL501") -> list[Alert]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return [item for item in collect_alerts(analyze(load(path), debug=True), Repository()).alerts if item.rule.code == code]


def test_a_break_was_met_as_often_as_a_profiler_counted_it(tmp_path: Path) -> None:
    assert sorted(item.sentence.partition(" (")[2] for item in breaks(PROFILE, tmp_path)) == [
        "once): hasattr: UserDefinedClassVariable()",
        "twice): hasattr no source",
    ]


def test_hints_of_a_warning_may_be_on_lines_of_their_own(tmp_path: Path) -> None:
    (found,) = breaks(WARNING, tmp_path)
    assert found.helps[0] == "If it is a third-party C/C++ Python extension, please use `torch.compiler.allow_in_graph`."


def test_an_explanation_takes_the_place_of_what_is_cut_off_above_it(tmp_path: Path) -> None:
    (found,) = breaks(EXPLAINED, tmp_path)
    assert found.sentence == (
        "graph break in get_padding (once): Detected data-dependent branching (e.g. `if x.sum() > 0:`). Dynamo does not support it."
    )
    assert str(found.source_line) == "/srv/net.py:132"


def test_a_break_in_a_stand_in_of_dynamo_has_that_place_without_a_stack(tmp_path: Path) -> None:
    head = "[4/0] [__graph_breaks] "
    lines = ("Graph break in user code at /lib/torch/_dynamo/polyfills/x.py:241", "Graph Break Reason: Unsupported method call")
    (found,) = breaks("".join(f"{head}{line}\n" for line in lines), tmp_path)
    assert str(found.source_line) == "/lib/torch/_dynamo/polyfills/x.py:241"


def test_a_line_of_a_stack_whose_function_is_cut_off_is_a_place(tmp_path: Path) -> None:
    head = "[4/0] [__graph_breaks] "
    lines = ("Graph break in user code at /lib/torch/_dynamo/polyfills/x.py:1", "Graph Break Reason: Skipped", "User code traceback:")
    (found,) = breaks("".join(f"{head}{line}\n" for line in (*lines, '  File "/srv/net.py", line 497,')), tmp_path)
    assert str(found.source_line) == "/srv/net.py:497"


def test_warnings_about_two_builtins_are_two_breaks_and_an_extension_is_no_builtin_of_python(tmp_path: Path) -> None:
    found = breaks(
        WARNING.replace("mod.pack", "mod.PyCapsule.pack")
        + WARNING.replace("mod.pack", "mod.flip")
        + WARNING.replace("mod.pack", "mod.flip"),
        tmp_path,
    )
    hints = {item.sentence.rpartition(" ")[2]: [hint.partition(",")[0] for hint in item.messages[0].hints] for item in found}
    extension = "If it is a third-party C/C++ Python extension"
    assert hints == {"mod.PyCapsule.pack": [extension], "mod.flip": ["If it is a Python builtin", extension]}


def test_old_breaks_of_the_same_second_are_two_and_have_their_line_on_that_of_the_heading(tmp_path: Path) -> None:
    head = "[2023-04-03 10:12:33,{}] torch._dynamo.symbolic_convert: [WARNING] Graph break: "
    text = (
        f"{head.format(101)}call_function BuiltinVariable(print) [ConstantVariable(str)] {{}} from user code at   "
        'File "/srv/a.py", line 14, '
        f'in forward\n    print("shape")\n\n{head.format(770)}generic_jump TensorVariable() from user code at   File "/srv/a.py", line 20, '
        "in forward\n    if x.sum() > 0:\n\n"
    )
    first, second = breaks(text, tmp_path)
    assert (first.sentence, str(first.source_line)) == ("graph break in forward (once): a call of print()", "/srv/a.py:14")
    assert (second.sentence.rpartition(": ")[2], str(second.source_line)) == (
        "a branch on the value of a tensor (generic_jump)",
        "/srv/a.py:20",
    )


def test_a_break_on_purpose_in_torch_2_0_is_to_be_removed(tmp_path: Path) -> None:
    text = (
        "[2023-03-29 07:54:55,549] torch._dynamo.output_graph: [WARNING] Graph break: call_function graph_break in skip_files "
        '/lib/torch/_dynamo/__init__.py from user code at:\n  File "/srv/t.py", line 8, in f\n    torch._dynamo.graph_break()\n'
    )
    (found,) = breaks(text, tmp_path)
    assert found.messages[0].hints == ("Remove the `torch._dynamo.graph_break()` call.",)


HEADED = "Graph break in user code at {place}\nGraph Break Reason: Call of print\n  Explanation: it prints\n  Hint: remove it\n\n"


def test_a_break_is_where_its_heading_has_it_and_not_where_the_text_ends_in_its_stack(tmp_path: Path) -> None:
    """In a notebook, the stack begins with the lines of the kernel; a person leaves them out, or all that follows them."""
    stack = 'User code traceback:\n  File "/opt/launch.py", line 18, in <module>\n    start()\n  File "/opt/loop.py", line 7, in run\n'
    (found,) = breaks(HEADED.format(place="/srv/net.py:6") + stack, tmp_path)
    assert (found.sentence, str(found.source_line)) == ("graph break (once): Call of print", "/srv/net.py:6")


def test_the_stack_of_torch_2_5_and_2_6_begins_in_the_function_that_is_compiled(tmp_path: Path) -> None:
    stack = 'User code traceback:\n  File "/srv/net.py", line 9, in f\n    g(x)\n  File "/srv/util.py", line 6, in g\n    print(x)\n'
    lines = f"Graph break in user code at /srv/util.py:6\nReason: Unsupported: builtin: print\n{stack}".splitlines()
    (found,) = breaks(
        "".join(f"V1126 16:01:41.701000 13 torch/_dynamo/x.py:416] [0/0] [__graph_breaks] {line}\n" for line in lines), tmp_path
    )
    assert (found.sentence, str(found.source_line)) == ("graph break in f (once): builtin: print", "/srv/util.py:6")


def test_code_that_lies_in_no_file_has_its_line_in_the_sentence(tmp_path: Path) -> None:
    (found,) = breaks(HEADED.format(place="<stdin>:39"), tmp_path)
    assert found.sentence == "graph break at <stdin>:39 (once): Call of print"


def test_a_break_whose_lines_a_page_joined_has_the_same_parts(tmp_path: Path) -> None:
    stack = 'User code traceback:\n  File "/srv/main.py", line 5, in <module>\n    f(x)\n  File "/srv/net.py", line 6, in f\n    print(x)\n'
    (apart,) = breaks(HEADED.format(place="/srv/net.py:6") + stack, tmp_path)
    joined = " ".join(line.strip() for line in (HEADED.format(place="/srv/net.py:6") + stack).split("\n") if line.strip())
    for text in (joined, joined.replace(":6 Graph", ":6Graph").replace("it User", "itUser")):
        (found,) = breaks(text, tmp_path)
        assert (found.sentence, str(found.source_line), found.helps, found.snippet) == (
            apart.sentence,
            "/srv/net.py:6",
            apart.helps,
            "print(x)",
        )


@pytest.mark.parametrize("margin", ["", "  ", "    ", "\t"])
@pytest.mark.parametrize(
    "below",
    [
        "Reason: Unsupported: Data-dependent branching\nUser code traceback:\n",
        "Graph Break Reason: Data-dependent branching\n  Explanation: Detected it.\n",
        "Graph Break Reason: Data-dependent branching\n  Hint: Use `torch.cond`.\n\n",
    ],
)
def test_a_break_with_a_margin_of_its_own_is_one_without(margin: str, below: str, tmp_path: Path) -> None:
    text = textwrap.indent(f"Graph break in user code at /srv/net.py:12\n{below}", margin)
    (alert,) = breaks(f"This is what I see:\n{text}\nThanks.\n", tmp_path)
    assert "Data-dependent branching" in alert.sentence
    assert alert.source_line is not None
    assert (alert.source_line.file, alert.source_line.line) == ("/srv/net.py", 12)


@pytest.mark.parametrize("end", ["\n", ".\n", " in 3/4\n"])
def test_a_break_at_an_item_has_its_setting_where_a_person_left_that_out(end: str, tmp_path: Path) -> None:
    front = "W1109 00:08:59.079000 torch/_dynamo/variables/tensor.py:1048] [3/4] "
    (alert,) = breaks(f"{front}Graph break from `Tensor.item()`{end}", tmp_path)
    assert "Unsupported Tensor.item() call" in alert.sentence
    assert alert.helps == ("Set torch._dynamo.config.capture_scalar_outputs = True",)


def test_a_break_for_which_a_frame_was_skipped_is_a_failure_with_the_exception_below_it_as_its_reason(tmp_path: Path) -> None:
    front = "V1112 13:10:18.379000 52923 torch/_dynamo/convert_frame.py:1282] [5/0] [__graph_breaks] "
    lines = 'Graph break: skip: from user code at:\n  File "/srv/a.py", line 85, in f\n    if g(x):\nTraceback (most recent call last):\n'
    raised = '  File "/venv/site-packages/torch/_dynamo/exc.py", line 9, in unimplemented\n    raise Unsupported(msg)\n'
    (cut,) = breaks("".join(f"{front}{line}\n" for line in (lines + raised).splitlines()), tmp_path, "SL403")
    assert cut.sentence.endswith("f failed to compile in Dynamo (tracing the code): the log does not have the reason")
    text = f"{lines}{raised}torch._dynamo.exc.Unsupported: generic_jump TensorVariable()\n"
    (alert,) = breaks("".join(f"{front}{line}\n" for line in text.splitlines()), tmp_path, "SL403")
    assert "generic_jump" in alert.sentence
    assert str(alert.source_line) == "/srv/a.py:85"


def test_an_exception_that_no_code_handles_is_named_by_the_one_above_it(tmp_path: Path) -> None:
    front = "V1112 13:10:18.379000 52923 torch/_dynamo/convert_frame.py:1214] [5/0] [__graph_breaks] "
    text = (
        'Graph break: skip: from user code at:\n  File "/srv/a.py", line 85, in f\n    return x + d["k"]\n'
        'Traceback (most recent call last):\n  File "/lib/torch/_dynamo/exc.py", line 9, in raise_observed_exception\n    raise e\n'
        "torch._dynamo.exc.ObservedKeyError\n\n"
        "The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
        '  File "/lib/torch/_dynamo/exc.py", line 9, in unimplemented\n    raise Unsupported(msg)\n'
        "torch._dynamo.exc.Unsupported: Observed exception\n"
    )
    (alert,) = breaks("".join(f"{front}{line}\n" for line in text.splitlines()), tmp_path, "SL403")
    assert alert.sentence == "f failed to compile in Dynamo (tracing the code): Observed exception: KeyError"


def test_what_a_text_lacks_of_a_graph_break_is_its_help(tmp_path: Path) -> None:
    profile = "Torchdynamo Profiler Report\n===========================\n\nGraph Breaks\n------------\n\n"
    (unplaced,) = breaks(f"{profile}Graph Break Reason    Count\n------------------  -------\nhasattr no source        2\n", tmp_path)
    assert unplaced.helps == (f"{unplaced.rule.remedy}; TORCH_LOGS=graph_breaks shows the line",)
    (cut,) = breaks(
        'V1 torch/_dynamo/x.py:530] [0/0] [__graph_breaks] Graph break: from user code at:\n  File "/srv/a.py", line 5, in f\n', tmp_path
    )
    assert cut.helps == ("add the other log lines of this graph break: they name its reason",)


@pytest.mark.parametrize("front", ["torchdynamo.symbolic_convert: [WARNING] ", "WARNING:torchdynamo.symbolic_convert:"])
def test_the_breaks_of_torchdynamo_before_2_0_need_no_time_in_front(front: str, tmp_path: Path) -> None:
    first = 'Graph break: call_function Held(F) [] {} from user code at   File "/srv/a.py", line 2, in <graph break in f>\n    g(x)\n'
    second = 'Graph break: generic_jump from user code at   File "/srv/b.py", line 7, in h\n    if x:\n'
    found = breaks(f"{front}{first}\n{front}{second}\ntorchdynamo.x: [WARNING] incorrect arg count\n", tmp_path)
    assert sorted(str(alert.source_line) for alert in found) == ["/srv/a.py:2", "/srv/b.py:7"]


def test_a_warning_of_two_processes_has_its_advice_once(tmp_path: Path) -> None:
    text = "".join(f"[rank{rank}]:{line}\n" for rank in (0, 6) for line in WARNING.splitlines())
    (alert,) = breaks(text[: text.rindex("allow_in")], tmp_path)
    assert [hint for hint in alert.messages[0].hints if "third-party" in hint] == [WARNING.splitlines()[2]]
    assert alert.notes == ("TORCH_LOGS=graph_breaks shows the line that breaks the graph",)


def test_breaks_without_heads_have_their_title_behind_an_empty_line(tmp_path: Path) -> None:
    """As torch 2.9 and later print them."""
    builtin = (
        "\nFailed to trace builtin operator\n  Explanation: Dynamo does not know how to trace builtin operator `print`.\n"
        "\n  Developer debug context: builtin print\n\n For more details about this graph break, please visit: http://site/gb0059.html\n\n"
    )
    first = (
        "Graph break in user code at /srv/a.py:3\nGraph Break Reason: Failed to handle graph break gracefully. Graph break encountered:\n"
        f"{builtin}*** While handling this graph break, another graph break occurred: ***\n\ngraph break in loop\n"
        "  Explanation: torch.compile detected a graph break in a for/while loop.\n\n  Developer debug context: frame skipped: f\n\n"
        "Stack variable source attribution:\n  RangeIteratorVariable() originated from:\n"
        '  File "/srv/a.py", line 7\n        for i in range(2):\n\nUser code traceback:\n'
        '  File "/srv/a.py", line 8, in f\n    x = inner(x)\n  File "/srv/a.py", line 3, in inner\n    print("hi")\n\n'
    )
    second = (
        "Graph break in user code at /srv/a.py:12\nGraph Break Reason: Encountered graph break when attempting to trace CALL: f(x, y):\n"
        f'{builtin}User code traceback:\n  File "/srv/a.py", line 12, in g\n    print("ho")\n\nho\n'
    )
    one, other = breaks(first + second, tmp_path)
    assert one.sentence == "graph break in inner (once): Failed to trace builtin operator"
    assert other.sentence == "graph break in g (once): Failed to trace builtin operator"


@pytest.mark.parametrize("margin", ["", " "])
@pytest.mark.parametrize(
    "below", ["", 'Traceback (most recent call last):\nFile "/torch/_dynamo/exc.py", line 317, in unimplemented\n    raise X\n{}\n']
)
def test_a_break_without_a_head_has_its_reason_and_the_stack_of_its_exception(margin: str, below: str, tmp_path: Path) -> None:
    """As the pages about torch 2.5 and 2.6 have it."""
    reason = "Unsupported: builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False"
    text = f"Graph break in user code at /srv/a.py:7\nReason: {reason}\n"
    text += 'User code traceback:\n  File "/srv/a.py", line 7, in fn\n    print(1)\n'
    text += below.format(f"torch._dynamo.exc.{reason}")
    path = tmp_path / "run.txt"
    path.write_text(textwrap.indent(text, margin), encoding="utf-8")
    (found,) = collect_alerts(analyze(load(path), debug=True), Repository()).alerts
    assert (found.rule.code, found.sentence) == ("SL501", "graph break in fn (once): Dynamo cannot trace the builtin print")


def test_a_break_without_a_head_goes_on_to_the_end_of_a_chain_of_exceptions(tmp_path: Path) -> None:
    """As torch 2.4 to 2.6 write it where the whole function is skipped; a recompilation follows."""
    frame = '  File "/torch/_dynamo/exc.py", line 317, in unimplemented\n    raise X\n'
    text = (
        'Graph break: skip: from user code at:\n  File "/srv/a.py", line 7, in fn\n    return x.nonzero()\n'
        f"Traceback (most recent call last):\n{frame}"
        "RuntimeError: Failed running call_method nonzero(*(x,), **{}):\naten.nonzero.default\n\n"
        f"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n{frame}"
        "torch._dynamo.exc.Unsupported: dynamic shape operator: aten.nonzero.default\n\nfrom user code:\n"
        '   File "/srv/a.py", line 7, in fn\n    return x.nonzero()\n\n'
        'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n\n\n'
        "You can suppress this exception and fall back to eager by setting:\n    import torch._dynamo\n\n"
        "Recompiling function g in /srv/a.py:9\n    triggered by the following guard failure(s):\n    - L['n'] == 7\n"
    )
    path = tmp_path / "run.txt"
    path.write_text(text, encoding="utf-8")
    found = collect_alerts(analyze(load(path), debug=True), Repository()).alerts
    assert sorted(item.rule.code for item in found) == ["SL102", "SL403"]


@pytest.mark.parametrize(("lines", "named"), [((28,), "graph break (once)"), ((28, 61), "graph break in step (once)")])
def test_a_compile_is_not_that_of_a_function_which_its_break_is_not_in(lines: tuple[int, ...], named: str, tmp_path: Path) -> None:
    head = "V0120 22:19:48.783000 7 torch/_dynamo/{}] [1/0{}] [__{}] "
    of_break = head.format("symbolic_convert.py:611", "", "graph_breaks")
    text = "".join(
        f"{of_break}{line}\n"
        for line in (
            "Graph break in user code at /srv/a.py:62",
            "Graph Break Reason: Unsupported Tensor.backward() call",
            "  Explanation: Dynamo currently does not support tracing `Tensor.backward()`.",
            "",
            "User code traceback:",
            '  File "/srv/a.py", line 68, in <module>',
            "    step(x)",
            '  File "/srv/a.py", line 62, in step',
            "    loss.backward()",
        )
    )
    of_graph = head.format("output_graph.py:1983", "_1", "graph_code")
    text += f"{of_graph}TRACED GRAPH\n{of_graph} ===== __compiled_fn_4 =====\n{of_graph} class GraphModule(torch.nn.Module):\n"
    text += f'{of_graph}    def forward(self, L_x_: "f32[8][1]cpu"):\n'
    for line in lines:
        name = "forward" if line == 28 else "step"
        text += f"{of_graph}         # File: /srv/a.py:{line} in {name}, code: x\n{of_graph}        y{line} = L_x_ * 2\n"
    (found,) = breaks(text, tmp_path)
    assert found.sentence.startswith(f"{named}: ")
