"""Logs that end, begin or go on where a person cut them still get the answer that is left in them."""

import textwrap
from pathlib import Path

import pytest

from shapelog import load
from shapelog.check.check import check
from shapelog.check.policy import Policy
from shapelog.errors import ShapelogError
from shapelog.recompiles.explain import explain_trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.explain_compile import explain_compile
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.reporters.terminal.report import render
from shapelog.rules import Verdict

RECOMPILING = "V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] Recompiling function f in a.py:1\n"
REASON = "V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]     - 0/0: tensor 'x' "
LIMIT = (
    "[rank{rank}]:W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8] torch._dynamo hit config.recompile_limit (8)\n"
    "[rank{rank}]:W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8]    function: 'f' (/srv/a.py:1)\n"
)
LAST = "{front}W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8]    last reason: 1/0: {reason}\n"


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def terminal(text: str, folder: Path) -> str:
    """The report as a terminal shows it, with blanks in place of line breaks."""
    return " ".join(render(report_of(text, folder), Options()).decode().split())


@pytest.mark.parametrize(
    "end", ["mismatch", "mismatch at", "mismatch at index 0", "mismatch at index 0. exp", "mismatch at index 0. expected 10"]
)
def test_a_stride_is_the_cause_wherever_its_reason_is_cut(end: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{REASON}stride {end}", tmp_path).explained.recompiles
    assert item.codes == ("SL105",)
    assert item.causes[0].sentence == "the memory layout of x changed (transposed, channels last, or a view)"


@pytest.mark.parametrize("dots", ["...", " ...", "…", " [...]"])
@pytest.mark.parametrize("end", ["mismatch at index 0.", "mismatch at index 0. exp", "mismatch at index 0. expected 10, act"])
def test_dots_may_stand_for_the_rest_of_a_reason(end: str, dots: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{REASON}size {end}{dots}\nand so on\n", tmp_path).explained.recompiles
    assert item.codes == ("SL101",)


def test_a_stride_alone_may_be_that_of_a_slice(tmp_path: Path) -> None:
    """A step of a decode loop takes the last column of a tensor that grows."""
    (item,) = report_of(f"{RECOMPILING}{REASON}stride mismatch at index 0. expected 356, actual 357", tmp_path).explained.recompiles
    assert item.verdict is Verdict.CODE  # PyTorch compares sizes first: none of them changed
    sentence = "the stride of x in dim 0 changed from 356 to 357: a slice of a different width, or a different memory layout"
    assert item.causes[0].sentence == sentence
    assert item.causes[0].own_remedy.startswith("copy a slice with clone(memory_format=torch.contiguous_format)")


@pytest.mark.parametrize(("was", "now"), [(4, 1), (1, 8)])
def test_a_stride_of_1_is_that_of_another_layout(was: int, now: int, tmp_path: Path) -> None:
    """PyTorch specializes on it, as on one of 0: no mark of a size would make it symbolic."""
    (item,) = report_of(f"{RECOMPILING}{REASON}stride mismatch at index 0. expected {was}, actual {now}", tmp_path).explained.recompiles
    assert (item.codes, item.size_related, item.verdict) == (("SL105",), False, Verdict.CODE)
    assert item.causes[0].sentence.endswith(": a different memory layout (transposed, channels last, or a view)")


def test_the_layout_of_a_parameter_is_that_of_its_model(tmp_path: Path) -> None:
    """A slice is no remedy for it."""
    reason = REASON.replace("'x'", "'L['self'].layer1[0].conv1.weight'")
    (item,) = report_of(f"{RECOMPILING}{reason}stride mismatch at index 2. expected 1, actual 64", tmp_path).explained.recompiles
    assert item.causes[0].own_remedy == "convert the model to one memory format before the first call: model.to(memory_format=...)"


@pytest.mark.parametrize(("now", "remedy"), [(51470, "pass dynamic=True to torch.compile, or use torch 2.1"), (1, "copy a slice")])
def test_a_stride_of_an_old_version_may_be_that_of_a_later_size(now: int, remedy: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{REASON}strides mismatch at index 0. expected 52637, actual {now}", tmp_path).explained.recompiles
    assert (item.codes, item.size_related) == (("SL105",), True)
    assert item.causes[0].own_remedy.startswith(remedy)


def test_strides_of_torch_2_4_that_differ_each_time_may_be_those_of_a_size_that_is_kept_static(tmp_path: Path) -> None:
    """As ``dynamic=False`` does: sizes that vary are dynamic from the second entry on otherwise."""
    start = "V0102 16:04:31.731000 13017 torch/_dynamo/guards.py:2611] [1/8] [__recompiles] "
    reasons = (f"    - tensor 'L['points'][0]' stride mismatch at index 0. expected {before}, actual 18" for before in (14, 12, 16))
    lines = ("Recompiling function f in a.py:1", "    triggered by the following guard failure(s):", *reasons)
    (item,) = report_of("".join(f"{start}{line}\n" for line in lines), tmp_path).explained.recompiles
    assert item.causes[0].sentence.endswith("or, with dynamic=False, another size of a later dim")
    assert item.causes[0].own_remedy.startswith("leave out dynamic=False where it is set, or mark the later dim")


@pytest.mark.parametrize(
    ("last", "room"), [(7, "has 8 cache entries (limit 8); the next recompilation"), (6, "has 7 cache entries"), (5, "")]
)
def test_the_id_of_the_last_compile_shows_how_many_entries_there_are(last: int, room: str, tmp_path: Path) -> None:
    text = RECOMPILING.replace("[0/1]", f"[0/{last}]") + REASON.replace("[0/1]", f"[0/{last}]").replace("0/0:", f"0/{last - 1}:")
    near = [
        item.sentence for item in report_of(f"{text}rank mismatch. expected 2, actual 3\n", tmp_path).findings if item.rule.code == "SL402"
    ]
    assert [room in sentence for sentence in near] == ([True] if room else [])


@pytest.mark.parametrize("reason", ["    - ", "   last reason: "])
def test_a_stride_of_torch_2_4_may_be_that_of_a_later_size(reason: str, tmp_path: Path) -> None:
    """Recorded with 2.4: ``y`` of size [3, 4], then [3, 5]. From 2.6 on, the reason of the same program is size[1]."""
    heading = "Recompiling function f in a.py:1\n    triggered by the following guard failure(s):\n"
    heading = "torch._dynamo hit config.cache_size_limit (8)\n   function: 'f' (a.py:1)\n" if "last" in reason else heading
    text = f"{heading}{reason}tensor 'L['y']' stride mismatch at index 0. expected 4, actual 5\n"
    (alert,) = collect_alerts(report_of(text, tmp_path), Repository()).alerts
    assert "the stride of y in dim 0 changed from 4 to 5: a later dim has another size, or else" in alert.sentence
    assert alert.remedy.text.startswith("mark the later dim whose size varies as dynamic; where none does, use one memory format")


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [(8, 0, "is expanded now and was not before"), (0, 8, "was expanded when this was compiled and is not now")],
)
def test_a_stride_of_0_alone_is_that_of_an_expanded_tensor(was: int, now: int, words: str, tmp_path: Path) -> None:
    reason = f"stride mismatch at index 1. expected {was}, actual {now}"
    (item,) = report_of(f"{RECOMPILING}{REASON}{reason}", tmp_path).explained.recompiles
    assert (item.codes, item.size_related, item.verdict) == (("SL105",), False, Verdict.CODE)
    assert item.causes[0].sentence == f"dim 1 of x {words}: stride {was}, now {now}"
    assert item.causes[0].own_remedy == "copy what expand() returns with contiguous(), or expand it in the compiled code"


def test_the_code_of_a_stack_whose_reason_is_lost_is_no_guard(tmp_path: Path) -> None:
    """Every second line of a log of torch 2.13."""
    head = RECOMPILING.partition("Recompiling")[0]
    lines = (
        "    triggered by the following guard failure(s):",
        "    - User stack trace:",
        '    -     def get(d, x): return x + d.get("k", 5)',
    )
    report = report_of("".join(f"{head}{line}\n" for line in (*lines, *lines[1:])), tmp_path)
    (alert,) = collect_alerts(report, Repository()).alerts
    assert alert.sentence.endswith("was recompiled once: the log ends before its reasons")


def test_equal_sizes_of_old_versions_share_a_symbol(tmp_path: Path) -> None:
    """The comment of torch 2.4 has no line of the code, and does not have why the guard is there."""
    guard = "L['v'].size()[3] == L['v'].size()[2]  # _dynamo/output_graph.py:451 in init_ambient_guards"
    (item,) = report_of(RECOMPILING + REASON.replace("tensor 'x' ", guard), tmp_path).explained.recompiles
    assert item.codes == ("SL103",)


def test_a_recompile_whose_reasons_are_cut_off_is_counted(tmp_path: Path) -> None:
    report = report_of(RECOMPILING.replace("[0/1]", "[7/2]"), tmp_path)
    assert [item.compile.label for item in report.explained.recompiles] == ["7/2"]


def test_lines_under_another_head_go_on_with_the_message_that_they_cannot_begin(tmp_path: Path) -> None:
    head = "torch._dynamo.guards.__recompiles: [DEBUG] "
    text = f"{head}Recompiling function f in a.py:1\n[2023-11-16 11:47:42,965] {head}    triggered by the following guard failure(s):\n"
    (item,) = report_of(f"{text}[2023-11-16 11:47:43,001] {head}    - L['k'] == 3\n", tmp_path).explained.recompiles
    assert (item.frame.title, item.codes) == ("f", ("SL102",))


def test_warnings_alone_do_not_show_that_ranks_differ(tmp_path: Path) -> None:
    """Nor does one rank's failure: what each compiled before is not in the text."""
    other = LIMIT.format(rank=1, process=144).replace("[1/8]", "[5/8]").replace("'f'", "'g'")
    report = report_of(LIMIT.format(rank=0, process=143) + other, tmp_path)
    assert [item.rule.code for item in report.findings] == ["SL401", "SL401"]


def test_ranks_do_not_differ_because_the_warning_of_one_is_cut(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(
        front="[rank0]:", process=143, reason="tensor 'x' size mismatch at index 0. expected 2, actual 3"
    )
    report = report_of(text + LIMIT.format(rank=1, process=144), tmp_path)
    assert {finding.rule.code for finding in report.findings} == {"SL401"}
    assert [problem.code for problem in report.problems] == []
    assert len({finding.remedy for finding in report.findings}) == 1
    assert not any("which are not in this text" in note for finding in report.findings for note in finding.notes)


@pytest.mark.parametrize(
    ("other", "number", "found"),
    [
        ("", 8, ["f"]),
        ("", 9, ["f", "a function not named in the log"]),
        (LIMIT.format(rank=2, process=145).replace("'f'", "'g'"), 8, ["f", "g", "a function not named in the log"]),
    ],
)
def test_a_rank_whose_warning_is_cut_was_refused_the_function_of_the_others(
    other: str, number: int, found: list[str], tmp_path: Path
) -> None:
    """Where they name the same one for that compile."""
    cut = LIMIT.format(rank=1, process=144).partition("(8)")[0].replace("[1/8]", f"[1/{number}]")
    report = report_of(f"{LIMIT.format(rank=0, process=143)}{other}{cut}(8\n", tmp_path)
    names = (item.sentence.partition(" hit the ")[0] for item in report.findings if item.rule.code == "SL401")
    assert list(dict.fromkeys(names)) == found


def test_a_reason_that_is_not_known_is_quoted_with_the_setting_of_the_version(tmp_path: Path) -> None:
    text = "torch._dynamo hit config.cache_size_limit (8)\n   function: 'f' (/srv/a.py:1)\n   last reason: ___opaque_guard.valid\n"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith("; the last reason: ___opaque_guard.valid")
    assert finding.remedy.endswith("torch._dynamo.config.cache_size_limit")


@pytest.mark.parametrize(
    ("reason", "last", "remedy"),
    [
        (
            "Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason analysis. Please open",
            "PyTorch could not determine which guard failed: the state changed during the check",
            "call the code once before several threads do",
        ),
        ("name 'Trunc' is not defined", "PyTorch wrote a guard that no call passes: name 'Trunc' is not defined", "update PyTorch, or"),
        (
            "2 <= ___stack2[0].size()[0] <= 2147483647  # y = g(x)  # a.py:50 in f (0/1 specialization) and (_inductor/codecache.py:1080)",
            "PyTorch always specializes on a size of 0 or 1: the cache entry requires 2 <= ___stack2[0].size()[0] <= 2147483647",
            "remove the graph break that makes this value an input",
        ),
        ("callable(L['f'])", "callable(L['f'])", "keep what this guard checks the same in all calls"),
        ("isinstance(L['x'], bool)", "x changed from type bool to another type", "always pass the same type"),
        (
            "___check_type_id(L['x'], 7001), type=<class 'app.nets.Mean'>  (HINT: type Mean)",
            "x changed from type app.nets.Mean to another type",
            "always pass the same type",
        ),
        ("", "blank, PyTorch gives none", "run every call with the same backend"),
    ],
)
@pytest.mark.parametrize("calls", [1, 3])
def test_a_reason_without_a_property_has_its_remedy_at_the_limit(reason: str, last: str, remedy: str, calls: int, tmp_path: Path) -> None:
    text = "".join(
        f"[0/{8 + call}] torch._dynamo hit config.recompile_limit (8)\n[0/{8 + call}]    function: 'f' (/srv/a.py:1)\n"
        f"[0/{8 + call}]    last reason: 0/7: {reason}\n"
        for call in range(calls)
    ).replace("[0/", "W0519 00:03:34.719000 72 torch/_dynamo/convert_frame.py:1986] [0/")
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith(f"; the last reason: {last}")
    assert finding.remedy.startswith(remedy)
    assert finding.remedy.endswith("_limit") or "type" in remedy or "no call passes" in last


def test_a_forbidden_recompile_is_explained_by_its_cause(tmp_path: Path) -> None:
    text = (
        f"torch._dynamo.exc.RecompileError: {RECOMPILING.partition('[__recompiles] ')[2]}    triggered by the following guard failure(s):\n"
    )
    (finding,) = report_of(text + "    - 0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20\n", tmp_path).findings
    assert finding.sentence.endswith("dim 0 of x changed from 10 to 20")
    assert "mark" in finding.remedy


def test_a_cut_recompile_adds_no_compile_to_a_frame_that_the_log_has(tmp_path: Path) -> None:
    first = RECOMPILING.replace("[0/1]", "[5/3]") + f"{REASON}size mismatch at index 0. expected 10, actual 11\n".replace("[0/1]", "[5/3]")
    report = report_of(first.replace("0/0:", "5/2:") + RECOMPILING.replace("[0/1]", "[5/4]"), tmp_path)
    assert [compile.label for frame in report.trace.frames for compile in frame.compiles] == ["5/3", "5/4"]


def test_a_first_line_that_lost_its_process_belongs_to_the_lines_below(tmp_path: Path) -> None:
    text = (
        RECOMPILING[1:].replace("0228 12:04:24.190000 2990033", "28 12:04:24.190000 29") + f"{REASON}rank mismatch. expected 2, actual 3\n"
    )
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert (item.frame.title, item.codes) == ("f", ("SL107",))


ITEM = """\
{0}Graph break from `Tensor.item()`, consider setting:
{0}    torch._dynamo.config.capture_scalar_outputs = True
{0}or:
{0}    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1
{0}to include these operations in the captured graph.
{0}
{0}Graph break: from user code at:
{0}  File "/srv/train.py", line 32, in step
{0}    loss = net(x)
{0}  File "/srv/net.py", line 17, in unpad
{0}    longest = lengths.max().item()
{0}
"""
WARNING = "W0112 02:58:28.700000 60377 torch/_dynamo/variables/tensor.py:1048] [6/0] "


@pytest.mark.parametrize("lost", [0, 1])
def test_an_old_graph_break_without_an_artifact_has_its_hint_and_its_line(lost: int, tmp_path: Path) -> None:
    text = "\n".join(ITEM.format(WARNING).split("\n")[lost:])
    report = report_of(f"loading\n{text}step=10 loss=264.4\n", tmp_path)
    ((frame, broken),) = ((frame, item) for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert (frame.title, broken.message.title) == ("step", "Unsupported Tensor.item() call")
    assert broken.message.hints == ("Set torch._dynamo.config.capture_scalar_outputs = True",)
    assert broken.place is not None
    assert (broken.place.file, broken.place.line) == ("/srv/net.py", 17)


def test_an_old_graph_break_without_heads_is_one(tmp_path: Path) -> None:
    report = report_of(f"Why is that?\n{ITEM.format('')}", tmp_path)
    (broken,) = (item for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert (broken.message.title, broken.place and broken.place.line) == ("Unsupported Tensor.item() call", 17)


HEADING = "V0520 14:53:14.120000 13 torch/_dynamo/symbolic_convert.py:530] [0/0] [__graph_breaks] "
BREAKS = [
    (["Graph break: from user code at:", '  File "/srv/a.py", line 5, in f', "    x = g(x)"], "the log does not have the reason"),
    (
        [
            "Graph break: from user code at:",
            '  File "/srv/a.py", line 5, in f',
            "    x = g(x)",
            "Traceback (most recent call last):",
            '  File "/opt/torch/_dynamo/symbolic_convert.py", line 494, in wrapper',
            "    return inner_fn(self, inst)",
            "torch._dynamo.exc.Unsupported: call torch._dynamo.disable() wrapped function",
        ],
        "call torch._dynamo.disable() wrapped function",
    ),
    (["    return inner_fn(self, inst)", '  File "/opt/torch/x.py", line 4, in g', "    h("], "the log does not have the reason"),
    (
        ["Graph break: call_function print in skip_files from user code at:", '  File "/srv/a.py", line 5, in f'],
        "call_function print in skip_files",
    ),
]


@pytest.mark.parametrize(("lines", "title"), BREAKS)
def test_what_an_old_graph_break_met_is_its_title(lines: list[str], title: str, tmp_path: Path) -> None:
    report = report_of("".join(f"{HEADING}{line}\n" for line in lines), tmp_path)
    (broken,) = (item for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert broken.message.title == title


@pytest.mark.parametrize(
    ("head", "lines", "title", "line"),
    [
        (HEADING, ('  File "/opt/torch/distributed/fsdp/x.py", line 3, in g', "    h("), "the log does not have the reason", 3),
        (HEADING, ('  File "/opt/torch/_dynamo/x.py", line 3, in g', "    h("), "the log does not have the reason", 0),
        (
            "W0718 20:32:55.420000 1 torch/_dynamo/variables/tensor.py:1048] [0/0] ",
            ('  File "/opt/torch/_dynamo/polyfills/x.py", line 3, in g', "    h()", '  File "/srv/a.py", line 8, in h', "    n = x.item()"),
            "Unsupported Tensor.item() call",
            8,
        ),
    ],
)
def test_a_graph_break_that_begins_within_its_stack_has_the_line(
    head: str, lines: tuple[str, ...], title: str, line: int, tmp_path: Path
) -> None:
    report = report_of("".join(f"{head}{text}\n" for text in lines), tmp_path)
    (broken,) = (item for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert (broken.message.title, broken.place.line if broken.place else 0) == (title, line)


def test_a_warning_of_which_the_graph_alone_is_left_has_the_line_of_the_node(tmp_path: Path) -> None:
    lines = (
        "While executing %item : [num_users=2] = call_method[target=item](args = (%getitem,), kwargs = {})",
        "GraphModule: class GraphModule(torch.nn.Module):",
        '    def forward(self, L_rows_: "i32[8]"):',
        "         # File: /srv/moe.py:70 in experts, code: rows = rows[:8]",
        "        getitem = L_rows_[0]",
        "         # File: /srv/moe.py:76 in experts, code: rows = rows.tolist()",
        '        item: "Sym(u0)" = getitem.item();  getitem = None',
        "         # File: /srv/moe.py:80 in experts, code: return rows",
    )
    text = "".join(f"[rank1]:W0923 22:43:08.375000 183294 torch/_dynamo/exc.py:525] [5/0_2]     {line}\n" for line in lines)
    (broken,) = (item for frame in report_of(text, tmp_path).trace.frames for compile in frame.compiles for item in compile.breaks)
    assert broken.message.title == "the log does not have the reason"
    assert [(line.file, line.line, line.code) for line in broken.message.stack] == [("/srv/moe.py", 76, "rows = rows.tolist()")]


def test_a_graph_break_without_heads_is_one_message(tmp_path: Path) -> None:
    text = (
        "Graph break in user code at /srv/a.py:8\nGraph Break Reason: Call to `torch._dynamo.graph_break()`\n"
        "  Explanation: User-inserted graph break. Message: None\n  Hint: Remove the `torch._dynamo.graph_break()` call.\n\n"
        'User code traceback:\n  File "/srv/a.py", line 8, in inner\n    torch._dynamo.graph_break()\n\n'
    )
    report = report_of(text, tmp_path)
    ((compile,),) = (frame.compiles for frame in report.trace.frames)
    assert [item.message.title for item in compile.breaks] == ["Call to `torch._dynamo.graph_break()`"]


@pytest.mark.parametrize(
    "words", ["Graph break due to unsupported builtin None.C.__new__.", "Dynamo does not know how to trace the builtin `None.C.__new__.`"]
)
def test_a_warning_about_a_builtin_is_a_graph_break(words: str, tmp_path: Path) -> None:
    more = " This function is either a builtin or an extension. If it is a Python builtin, file an issue. If it is an extension, wrap it."
    report = report_of(f"/opt/torch/_dynamo/variables/functions.py:679: UserWarning: {words}{more}\n  warn_once(msg)\n", tmp_path)
    (broken,) = (item for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert broken.message.title == "Unsupported builtin None.C.__new__"
    assert broken.message.hints == ("If it is a Python builtin, file an issue.", "If it is an extension, wrap it.")


def test_an_explanation_that_a_title_quotes_is_a_graph_break(tmp_path: Path) -> None:
    report = report_of("# [aot]Explanation: Dynamo does not know how to trace the builtin `time.time.`\n\nI compile it.\n", tmp_path)
    (broken,) = (item for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks)
    assert "time.time" in broken.message.title


def test_graph_breaks_in_the_report_of_a_profiler_are_read(tmp_path: Path) -> None:
    text = "Torchdynamo Profiler Report\n====\n\nGraph Breaks\n------\nGraph Break Reason      Count\n--------------------  -------\n"
    report = report_of(
        f"{text}hasattr: a class()        1\nhasattr no source         2\n\nRecompilation\nNo recompilation detected\n", tmp_path
    )
    titles = [item.message.title for frame in report.trace.frames for compile in frame.compiles for item in compile.breaks]
    assert titles == ["hasattr: a class()", "hasattr no source", "hasattr no source"]


def test_a_function_of_a_profiler_was_recompiled_as_often_as_its_count_has_it(tmp_path: Path) -> None:
    table = "Function              Recompiles  Recompile Reasons\n------------------  ------------  -------------------\n"
    rows = "'f' (a.py:11)                  5  L['k'] == 1\n                                  L['k'] == 2\n"
    report = report_of(f"{table}{rows}'g' (a.py:20)                  1  L['n'] == 1\n", tmp_path)
    assert [item.frame.title for item in report.explained.recompiles] == ["f"] * 5 + ["g"]
    assert {item.unexplained_because for item in report.recompiles if not item.causes} == {"the log leaves out its reasons"}


@pytest.mark.parametrize("line", ["PyTorch version: 2.7.1+cu118", "torch==2.7.0", "torch 2.7.0.dev20250726"])
def test_the_version_that_a_line_names_counts(line: str, tmp_path: Path) -> None:
    report = report_of(f"{RECOMPILING}{REASON}rank mismatch. expected 2, actual 3\n\n{line}\n", tmp_path)
    assert str(report.trace.version) == "2.7"


FAILED = [
    (
        "WON'T CONVERT f /srv/a.py line 9\ndue to:\nTraceback (most recent call last):\n",
        "f failed to compile: the exception is missing from the log",
    ),
    (
        "Constraints violated (batch)!\nNot all values of batch = L['x'].size()[0] in the specified range batch <= 128 are valid because "
        "batch was inferred to be a constant (3).\n\nI wonder why.\n",
        "torch.export failed: dim 0 of x (batch) is declared as dynamic, but the code fixes it to 3",
    ),
]


FAILED.append(
    (
        FAILED[1][0].replace("(batch)!", "(L['x'].size()[0])!").replace("of batch =", "of L['x'].size()[0] ="),
        "a function not named in the log failed to compile: dim 0 of x is marked as dynamic, but the code fixes it to 3",
    )
)


@pytest.mark.parametrize(("text", "sentence"), FAILED)
def test_a_failure_whose_exception_is_lost_is_one(text: str, sentence: str, tmp_path: Path) -> None:
    (finding,) = (item for item in report_of(text, tmp_path).findings if item.rule.code in ("SL203", "SL403"))
    assert finding.sentence == sentence


@pytest.mark.parametrize(
    "begin", ["", "RuntimeError: ", 'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\nRuntimeError: ']
)
def test_a_recompile_that_the_stance_forbids_is_a_failure(begin: str, tmp_path: Path) -> None:
    text = (
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '/srv/a.py', function name: 'f', line number: 3\n"
    )
    report = report_of(begin + text, tmp_path)
    assert [item.sentence for item in report.findings if item.rule.code == "SL403"] == [
        "f needed a recompilation, which the program forbids (the stance fail_on_recompile)"
    ]
    assert report.explained.recompiles == () or all(item.compile.is_forbidden for item in report.explained.recompiles)


def test_a_recompile_that_the_stance_forbids_with_its_reasons_is_no_compilation_that_failed(tmp_path: Path) -> None:
    text = (
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '/srv/a.py', function name: 'f', line number: 3\n"
        "    triggered by the following guard failure(s):\n    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 7\n"
        "    - 0/1: tensor 'x' size mismatch at index 0. expected 5, actual 7\n"
    )
    words = terminal(text, tmp_path)
    assert "Summary: 1 recompilation, which the program forbids" in words
    assert "succeeded" not in words


@pytest.mark.parametrize("begin", ["", 'Traceback (most recent call last):\n  File "/srv/b.py", line 3, in <module>\n    y = f(x)\n'])
def test_an_output_that_a_cuda_graph_overwrote_is_found_with_its_line(begin: str, tmp_path: Path) -> None:
    text = (
        f"{begin}RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: "
        'File "/srv/a.py", line 7, in model\n    y = torch.matmul(x, x). To prevent overwriting, clone the tensor.\n'
    )
    (finding,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL508")
    assert finding.sentence == "an output of model was read after the next run of its CUDA graph had overwritten it"
    assert finding.place is not None
    assert (finding.place.file, finding.place.line) == ("/srv/a.py", 7)


def test_a_sentence_is_no_reason_about_two_objects(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(front="[rank0]:", process=143, reason="the object 'Trunc' is not known")
    (finding,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL401")
    assert finding.sentence.endswith("; the last reason: the object 'Trunc' is not known")


def test_the_last_reason_is_in_words_where_it_is_all_that_is_known(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(
        front="[rank0]:", process=143, reason="tensor 'x' size mismatch at index 0. expected 2, actual 3"
    )
    (finding,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL401")
    assert finding.sentence.endswith("; the last reason: dim 0 of x changed from 2 to 3")


@pytest.mark.parametrize("rest", ["ten", "_", "___check_obj_i", "L['self'].par", "___check_current_scope(L['se"])
def test_a_guard_in_part_at_the_end_is_no_reason(rest: str, tmp_path: Path) -> None:
    first = LIMIT.format(rank=0, process=1) + LAST.format(front="[rank0]:", process=1, reason="___check_type_id(L['self'], 206876688)")
    second = LIMIT.format(rank=1, process=2) + LAST.format(front="[rank1]:", process=2, reason=rest)
    report = report_of(first + second.rstrip("\n"), tmp_path)
    assert [reason.code for compile in report.trace.compiles for reason in compile.reasons] == ["___check_type_id(L['self'], 206876688)"]
    assert "SL701" not in {item.rule.code for item in report.findings}


def test_an_unknown_guard_that_is_complete_is_a_reason(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=1) + LAST.format(front="[rank0]:", process=1, reason="___check_current_scope(L['self'])")
    (compile,) = report_of(text, tmp_path).trace.compiles
    assert [reason.code for reason in compile.reasons] == ["___check_current_scope(L['self'])"]


def test_the_reason_of_a_guard_manager_that_refuses_a_call_is_one(tmp_path: Path) -> None:
    text = "[CI]: Worker failed with error 'GuardManager check failed reason: 'GLOBAL_STATE changed: num_threads '\n"
    report = report_of(text, tmp_path)
    (item,) = report.explained.recompiles
    assert item.codes == ("SL307",)
    (finding,) = report.findings
    assert finding.sentence.startswith("a call of a function not named in the log raised an error, as it does not meet the guards")
    assert (report.summary.recompiles, report.summary.failures) == (0, 1)  # code that is compiled ahead of time is not compiled again


def test_a_blank_reason_is_none_of_pytorchs(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=1) + LAST.format(front="[rank0]:", process=1, reason="")
    (found,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL401")
    assert found.sentence.endswith("; the last reason: blank, PyTorch gives none")


def test_a_log_of_a_version_without_traces_is_not_asked_for_one(tmp_path: Path) -> None:
    head = "[2023-11-21 23:37:52,070] torch._dynamo.convert_frame: [WARNING] "
    old = f"{head}torch._dynamo hit config.cache_size_limit (8)\n{head}   function: 'f' (/srv/a.py:36)\n"
    (words,) = report_of(old, tmp_path).trace.what_is_missing
    assert words.endswith("needs torch 2.4; before that: TORCH_LOGS=recompiles,guards,graph_breaks python your_script.py")
    assert "TORCH_TRACE=" not in words


def test_a_cut_reason_in_a_list_is_left_out_and_the_others_are_kept(tmp_path: Path) -> None:
    reasons = (
        "0/2: len(L['x']) == 2",
        "0/1: tensor 'L['y']' size mismatch at index 1. expected 8, actual 4",
        "0/0: tensor 'L['x'][0]' str",
    )
    head = REASON.partition("    - ")[0].replace("[0/1]", "[0/3]")
    text = RECOMPILING.replace("[0/1]", "[0/3]") + "\n".join(f"{head}    - {reason}" for reason in reasons)
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert len(item.compile.reasons) == 2
    assert item.why_not_markable.endswith("; other entries: 0/2: x had 2 items and now has a different number")


def test_ranks_do_not_differ_because_the_name_of_the_code_is_cut_off(tmp_path: Path) -> None:
    """The text does not have all ranks either, without which they did not fail."""
    cut = LIMIT.format(rank=3, process=144).partition("ion: ")[0]
    report = report_of(LIMIT.format(rank=2, process=143) + cut, tmp_path)
    assert {finding.rule.code for finding in report.findings} == {"SL401"}
    shown = terminal(LIMIT.format(rank=2, process=143) + cut, tmp_path)
    assert "left no trace" not in shown
    assert "Ranks 2 and 3 behave the same: shown once error" in shown


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        (
            "tensor 'x' size mismatch at index 0. expected 1, actual 3",
            "only where no code branches on the size; find the other causes with TORCH_LOGS=recompiles; or raise torch",
        ),
        ("len(x) == 2", "or compile the code for a single item; or raise torch._dynamo.config"),
        ("___check_obj_id(self.processor, 140057847825888)", "raise torch._dynamo.config.recompile_limit above the number of instances"),
        ("d == 'a'", "move the value out of the compiled function; or raise torch._dynamo.config"),
    ],
)
def test_accepting_graphs_keeps_no_code_below_the_limit(reason: str, remedy: str, tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(front="[rank0]:", process=143, reason=reason)
    (finding,) = report_of(text, tmp_path).findings
    assert remedy in finding.remedy
    assert "accept" not in finding.remedy


@pytest.mark.parametrize(
    "reason",
    [
        "2 <= ___stack0[0].size()[0]",
        "tensor '___stack0' size mismatch at index 0. expected 1, actual 4",
        "tensor '___stack0' size mismatch at index 0. expected 4, actual 1",
    ],
)
def test_a_value_without_a_name_is_not_to_be_marked(reason: str, tmp_path: Path) -> None:
    """It is what a call returned before a graph break."""
    text = LIMIT.format(rank=0, process=143) + LAST.format(front="[rank0]:", process=143, reason=reason)
    (finding,) = report_of(text, tmp_path).findings
    assert finding.remedy.startswith("remove the graph break that makes this value an input; or raise")


def test_what_the_text_does_not_have_is_not_put_in_its_place(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(front="[rank0]:", process=143, reason="tensor 'key' requires_grad mismatch")
    (recompile,) = report_of(text, tmp_path).explained.recompiles
    assert recompile.causes[0].sentence == "requires_grad of key changed"


@pytest.mark.parametrize(
    ("entry", "reason", "note"),
    [
        ("1/0", "tensor 'x' size mismatch at index 0. expected 10, actual 12", "symbolic in later ones, unless"),
        ("1/0", "n == 10", "or the code needs its exact value"),
        ("1/7", "tensor 'x' size mismatch at index 0. expected 10, actual 12", "1/7 came after 7 other graphs, and is static"),
        ("1/1", "tensor 'x' size mismatch at index 0. expected 10, actual 12", ""),
        ("1/7", "n == 10", "1/7 came after 7 other graphs and is still static, as under dynamic=False"),
        ("1/2", "n == 10", ""),
        ("1/0", "d == 'a'", ""),
    ],
)
def test_the_last_reason_is_that_of_one_graph_of_many(entry: str, reason: str, note: str, tmp_path: Path) -> None:
    """The first is static in any case; one that came after others and still is has a size that marking may not make dynamic."""
    last = LAST.format(front="[rank0]:", process=143, reason=reason).replace("1/0:", f"{entry}:")
    (finding,) = report_of(LIMIT.format(rank=0, process=143) + last, tmp_path).findings
    assert [note in item for item in finding.notes] == ([True] if note else [])


def test_a_size_that_is_static_in_a_late_graph_is_no_reason_to_mark(tmp_path: Path) -> None:
    reason = "tensor 'x' size mismatch at index 1. expected 1920, actual 1280"
    last = LAST.format(front="[rank0]:", process=143, reason=reason).replace("1/0:", "1/7:")
    text = LIMIT.format(rank=0, process=143) + last
    remedy = "leave out dynamic=False where it is set; otherwise raise torch._dynamo.config.recompile_limit above the number of graphs"
    assert f"1. Keep f below the recompile limit: {remedy}" in terminal(text, tmp_path)
    assert "or x.size[1] had not changed before and the other graphs differ in something else" in terminal(text, tmp_path)
    report = report_of(text, tmp_path)
    assert report.findings[0].remedy.startswith(remedy)
    assert report.advice is not None
    assert report.advice.suggestions == ()
    shown = renderer("explanation", "terminal")(explain_compile(report.trace, "1/8"), Options()).decode()
    assert "a mark may not help: 1/7 came after 7 other graphs" in " ".join(shown.split())
    assert "SL201: record again with TORCH_LOGS=recompiles, which shows what the graphs" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("first", "last", "is_static"),
    [
        ("n == 0", "n == 7", True),
        ("0/0: n == 4", "0/7: n == 7", True),
        (
            "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5",
            "0/7: tensor 'x' size mismatch at index 0. expected 7, actual 8",
            True,
        ),
        ("n == 4", "n == 1", False),  # 0 and 1 are static in any case
        ("0/0: n == 4", "0/0: n == 4", False),
        ("self.n == 4", "self.n == 7", False),  # ints of modules are static until they are marked
        ("n == 4", "m == 7", False),
    ],
)
def test_what_had_changed_before_a_static_graph_is_no_reason_to_mark(first: str, last: str, is_static: bool, tmp_path: Path) -> None:
    """Automatic dynamic shapes make it symbolic unless the code needs its value."""
    recompiled = f"Recompiling function f in /x/model.py:7\n    triggered by the following guard failure(s):\n    - {first}\n"
    hit = f"torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (/x/model.py:7)\n   last reason: {last}\n"
    report = report_of(recompiled + hit, tmp_path)
    (recompile,) = (item for item in report.recompiles if not item.compile.is_refused)
    assert ("and is static nevertheless" in recompile.why_not_markable) == is_static
    assert report.advice is not None
    assert is_static == (not report.advice.suggestions)


def test_the_place_may_follow_the_function_at_once(tmp_path: Path) -> None:
    """As somebody retold it; the limit is that of the same function."""
    hit = "torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (/x/model.py:7)\n   last reason: n == 7\n"
    report = report_of(f"Recompiling function f /x/model.py:7\nn == 0\n...\n{hit}", tmp_path)
    assert {frame.title for rank in report.trace.ranks for frame in rank.frames} == {"f"}
    assert {(frame.file, frame.line) for rank in report.trace.ranks for frame in rank.frames} == {("/x/model.py", 7)}


@pytest.mark.parametrize("width", [37, 44, 60, 78, 120])
@pytest.mark.parametrize("front", ["", "  ", "> "])
def test_the_message_about_many_sizes_is_one_however_it_is_wrapped(width: int, front: str, tmp_path: Path) -> None:
    message = (
        "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs may lead "
        "to extra overhead. We have observed 12 distinct sizes. Please consider the following options for better performance: a) padding "
        "inputs to a few fixed number of shapes; or b) set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True."
    )
    lines = textwrap.wrap(message, width, break_long_words=False)
    report = report_of("".join(f"{front}{line}\n" for line in ("I see:", *lines, "We use a T4.")), tmp_path)
    (finding,) = report.findings
    assert (finding.rule.code, finding.sentence) == ("SL504", "compiled code has recorded CUDA graphs for 12 input sizes")
    assert report.table("performance_hints") is None


def test_a_guard_with_both_of_its_values_is_not_cut_off(tmp_path: Path) -> None:
    reason = "tensor 'x' storage_offset mismatch, expected 63, actual 64"
    text = f"torch._dynamo hit config.cache_size_limit (64)\n   function: 'f' (/srv/a.py:1)\n   reasons: reasons: {reason}"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith(f"the last reason: {reason}")


def test_a_reason_without_its_entry_is_not_that_of_the_newest(tmp_path: Path) -> None:
    """A person joined the lines, and left out what they had in common."""
    text = "[1/8] torch._dynamo hit config.recompile_limit (8)\n   function: 'g'  last reason: tensor 'x' size mismatch at index 0. "
    (finding,) = report_of(f"{text}expected 10, actual 12\n", tmp_path).findings
    assert finding.sentence.startswith("g hit the recompile limit at 1/8;")
    (note,) = finding.notes
    assert note.startswith("a size that varies makes 8 graphs only if the code needs its exact value, or under dynamic=False: ")


def test_a_limit_of_another_function_of_that_name_has_no_graphs_but_those_of_its_own(tmp_path: Path) -> None:
    """The other function became dynamic; of this one, the last of 7 graphs is static still."""
    text = (
        "[0/1] [__recompiles] Recompiling function f in train.py:3\n"
        "[0/1] [__recompiles]     triggered by the following guard failure(s):\n"
        "[0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5\n"
        "W [0/8] torch._dynamo hit config.recompile_limit (8)\n"
        "W [0/8]    function: 'f' (/srv/limit.py:3)\n"
        "W [0/8]    last reason: 0/7: tensor 'x' size mismatch at index 0. expected 11, actual 12\n"
    )
    report = report_of(text, tmp_path)
    finding = next(item for item in report.findings if item.rule.code == "SL401")
    assert any(note.startswith("a mark may not help: 0/7 came after 7 other graphs") for note in finding.notes)
    assert finding.remedy.startswith("leave out dynamic=False where it is set; ")
    assert [[compile.label for compile in frame.compiles] for frame in report.trace.frames] == [["0/0", "0/1"], ["0/8#2"]]


def test_what_keeps_a_function_below_its_limit_is_about_the_refused_call_too(tmp_path: Path) -> None:
    text = (
        "Recompiling function forward in model.py:52\n"
        "  triggered by the following guard failure(s):\n"
        "  - tensor 'L['x']' size mismatch at index 1. expected 128, actual 256\n\n"
        "[rank0] torch._dynamo hit config.cache_size_limit (8)\n"
        "   function: 'forward' (model.py:52)\n"
        "   last reason: tensor 'L['ids']' size mismatch at index 1. expected 384, actual 512\n"
    )
    report = report_of(text, tmp_path)
    finding = next(item for item in report.findings if item.rule.code == "SL401")
    assert finding.remedy.startswith("mark dim 1 of x and dim 1 of ids as dynamic: ")
    assert report.advice
    assert "calls beyond the limit left no record: these may need further compilations" in report.advice.warnings


def test_a_recompilation_that_the_program_forbids_is_no_call_beyond_a_limit(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.RecompileError: tensor 'h' size mismatch at index 1. expected 16, actual 32\n"
    advice = report_of(text, tmp_path).advice
    assert advice
    assert advice.warnings == ("the refused call may differ in more: only the first guard that failed is recorded",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LIMIT.format(rank=0, process=143), "the recompile limit was hit, but no reason is recorded"),
        (
            "[0/0] [__graph_breaks] Graph break in user code at /srv/a.py:3\n[0/0] [__graph_breaks] Reason: print\n",
            "the log has no recompilations",
        ),
        ("torch._dynamo.exc.RecompileError: Recompiling function f in /srv/a.py:3\n", "no reason is recorded for these recompilations"),
        (
            "torch._dynamo.exc.RecompileError: Recompiling function f in /srv/a.py:3\n"
            "[1/1] [__recompiles] Recompiling function g in /srv/a.py:9\n"
            "[1/1] [__recompiles]     triggered by the following guard failure(s):\n"
            "[1/1] [__recompiles]     - 1/0: tensor 'x' dtype mismatch. expected Half, actual Float\n",
            "none of the recompilations with a known reason is caused by a changing size",
        ),
    ],
)
def test_a_text_without_reasons_is_no_run_without_recompilations(text: str, reason: str, tmp_path: Path) -> None:
    advice = report_of(text, tmp_path).advice
    assert advice is not None
    assert advice.why_empty.startswith(reason)


def test_the_wrapper_of_pytorch_is_shared_by_all_models(tmp_path: Path) -> None:
    for path, notes in (("/opt/torch/_dynamo/external_utils.py", 1), ("/srv/a.py", 0)):
        (finding,) = report_of(LIMIT.format(rank=0, process=143).replace("/srv/a.py", path), tmp_path).findings
        assert sum("own wrapper" in note for note in finding.notes) == notes


@pytest.mark.parametrize(("line", "is_fixed"), [("for i in range(end):", True), ("y = x * end", False)])
def test_an_int_that_bounds_a_loop_takes_a_graph_for_each_value(line: str, is_fixed: bool, tmp_path: Path) -> None:
    text = RECOMPILING + REASON.replace("tensor 'x' ", f"L['end'] == 10  # {line}  # a.py:3 in f\n")
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert item.why_not_markable.startswith("marking does not help: a.py:3") is is_fixed
    assert (item.blocking_rule == "SL201") is is_fixed


@pytest.mark.parametrize(("sizes", "verdict"), [((8, 16, 32), Verdict.JUSTIFIED), ((8, 16, 16), Verdict.MARKING)])
def test_a_size_that_stays_static_although_it_varied_is_fixed_by_the_code(sizes: tuple[int, ...], verdict: Verdict, tmp_path: Path) -> None:
    """One forward of layers whose weights have different sizes: each entry was compiled because of the size, and is for one of them."""
    head, text = REASON.partition("    - ")[0], ""
    for number in range(1, len(sizes)):
        at = f"[0/{number}]"
        text += RECOMPILING.replace("[0/1]", at)
        for entry in range(number - 1, -1, -1) if sizes[number] != sizes[number - 1] else [0]:
            reason = f"0/{entry}: tensor 'x' size mismatch at index 1. expected {sizes[entry]}, actual {sizes[number]}"
            text += f"{head.replace('[0/1]', at)}    - {reason}\n"
    last = report_of(text, tmp_path).explained.recompiles[-1]
    assert last.verdict is verdict
    assert last.why_not_markable.startswith(
        "a mark helps only if the code is compiled with dynamic=False: 0/1 was compiled after x.size[1] had changed"
    ) is (verdict is Verdict.JUSTIFIED)
    (alert,) = collect_alerts(report_of(text, tmp_path), Repository()).alerts
    assert alert.remedy.text.startswith("leave out dynamic=False where it is set; otherwise ") is (verdict is Verdict.JUSTIFIED)


def test_the_rest_of_a_warning_is_one_of_its_own(tmp_path: Path) -> None:
    text = "    last reason: 8/0: tensor 'y' rank mismatch. expected 2, actual 3\n\n" + LIMIT.format(rank=0, process=1)
    found = [item.sentence for item in report_of(text, tmp_path).findings if item.rule.code == "SL401"]
    assert len(found) == 2
    assert sum("the number of dimensions of y changed" in sentence for sentence in found) == 1


def test_a_path_in_part_at_the_end_is_no_place(tmp_path: Path) -> None:
    head = "[2023-03-28 10:14:51,298] torch._dynamo.convert_frame: [WARNING] "
    limit = f"{head}torch._dynamo hit config.cache_size_limit (64)\n   function: 'draw' (/srv/backend.py:212)\n   reasons:  d == 2.0\n"
    report = report_of(f"{limit}{head}torch._dynamo hit config.cache_size_limit (64)\n   function: 'draw' (/srv/back", tmp_path)
    assert [(frame.name, frame.file, frame.line) for frame in report.trace.frames] == [("draw", "/srv/backend.py", 212)]
    recompile = RECOMPILING.replace(" in a.py:1\n", " in /srv/proj")
    assert [(frame.name, frame.file) for frame in report_of(recompile, tmp_path).trace.frames] == [("f", "")]


def test_a_title_that_names_the_limit_adds_no_hit_and_gives_the_reason_that_is_cut_off(tmp_path: Path) -> None:
    title = "[Bug]: torch._dynamo hit config.recompile_limit (8) ... tensor 'v' size mismatch at index 0 ...\n\nSee:\n\n"
    report = report_of(title + LIMIT.format(rank=0, process=1), tmp_path)
    (found,) = (item for item in report.findings if item.rule.code == "SL401")
    assert found.sentence.endswith("the last reason: dim 0 of v changed")
    whole = LIMIT.format(rank=0, process=1) + LAST.format(
        front="[rank0]:", process=1, reason="tensor 'w' rank mismatch. expected 2, actual 3"
    )
    (found,) = (item for item in report_of(title + whole, tmp_path).findings if item.rule.code == "SL401")
    assert found.sentence.endswith("the last reason: the number of dimensions of w changed from 2 to 3")
    again = report_of(f"{title}Any idea about torch._dynamo hit config.recompile_limit (8)?\n", tmp_path)
    (found,) = again.findings
    assert found.sentence.endswith("the last reason: dim 0 of v changed")
    assert len(again.trace.compiles) == 1


FLAT = (
    "to override this. [rank0]:W0316 00:20:26.470743 178163 site-packages/torch/_dynamo/convert_frame.py:906] [0/8] torch._dynamo hit "
    "config.cache_size_limit (8) [rank0]:W0316 00:20:26.470743 178163 site-packages/torch/_dynamo/convert_frame.py:906] [0/8] function: "
    "'scale' (/srv/app/norm.py:170) [rank0]:W0316 00:20:26.470743 178163 site-packages/torch/_dynamo/convert_frame.py:906] [0/8] last "
    "reason: 0/0: tensor 'L['x']' size mismatch at index 0. expected 64, actual 32 [rank0]:W0316 00:20:26.470743 178163 "
    'site-packages/torch/_dynamo/convert_frame.py:906] [0/8] To log all recompilation reasons, use TORCH_LOGS="recompiles".'
)


def test_a_warning_that_a_page_has_on_one_line_is_read(tmp_path: Path) -> None:
    shown = terminal(FLAT, tmp_path)
    assert "scale hit the recompile limit" in shown
    assert "the last reason: dim 0 of x changed from 64 to 32" in shown


def test_the_head_of_a_line_that_is_cut_off_is_no_reason(tmp_path: Path) -> None:
    text = (
        "torch/_dynamo/guards.py:2813] [1/4] [__recompiles] Recompiling function forward in /srv/llama.py:267 "
        "torch/_dynamo/guards.py:2813] [1/4] [__recompiles] triggered by the following guard failure(s): torch/_dynamo/guard..."
    )
    assert "the log ends before its reasons" in terminal(text, tmp_path)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("", "the log ends before its reasons"),
        ("```\nThis is what I get.\n", "the log ends before its reasons"),
        (
            RECOMPILING.replace("[0/1]", "[0/2]")
            + RECOMPILING.replace("[0/1]", "[0/2]").replace("Recompiling function f in a.py:1", "    - 0/1: L['n'] == 4"),
            "the log leaves out its reasons",
        ),
    ],
)
def test_lines_that_are_missing_are_asked_for_where_a_text_has_no_reasons(rest: str, why: str, tmp_path: Path) -> None:
    shown = terminal(RECOMPILING + rest, tmp_path)
    assert f"was recompiled once: {why}" in shown
    assert "help: add the lines with its reasons, which are not in this text, or record them: TORCH_LOGS=recompiles" in shown
    assert "recompiles_verbose" not in shown


def test_a_warning_whose_setting_is_on_the_next_line_has_it(tmp_path: Path) -> None:
    begin = "W torch/_dynamo/convert_frame.py:1994 [0/8] torch._dynamo hit\nconfig.recompile_limit (8)\n"
    text = f"{begin}    last reason: 0/3: GLOBAL_STATE changed: grad_mode"
    shown = terminal(text, tmp_path)
    assert "hit the recompile limit at 0/8" in shown
    assert "raise torch._dynamo.config.recompile_limit" in shown


def test_what_comes_below_the_advice_of_a_warning_is_no_reason(tmp_path: Path) -> None:
    warning = (
        "# [0/8] torch._dynamo hit config.cache_size_limit (8)\n# [0/8]    function: 'f' (/srv/a.py:4)\n# [0/8]    last reason: 0/0:\n"
    )
    text = f'{warning}# [0/8] To log all recompilation reasons, use TORCH_LOGS="recompiles".\n    torch._dynamo.reset()\n'
    assert "reset()" not in terminal(text, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'E0724 06:29:07.070951 1 pb_stub.cc:736] "Failed, message: FailOnRecompileLimitHit: recompile_limit reached with one_graph=True',
        "| smoke | 6 | kandinsky | `FailOnRecompileLimitHit: Hard failure due to fullgraph=True` |",
    ],
)
def test_an_exception_that_only_the_compiler_has_counts_without_its_module(text: str, tmp_path: Path) -> None:
    assert "hit the recompile limit; the call raised an error" in terminal(text, tmp_path)


def test_an_object_whose_address_is_left_out_is_one(tmp_path: Path) -> None:
    limit = "torch._dynamo hit config.accumulated_recompile_limit (256)\n   last reason: 0/255: ___check_obj_id(fn, ...)"
    operator = ", type=<OpOverload(op='aten.rsqrt', overload='default')>"
    assert "fn is a different operator than aten.rsqrt" in terminal(limit + operator, tmp_path)
    assert "fn is a different object" in terminal(f"{limit}\nTo log all recompilation reasons, use", tmp_path)


def test_a_line_that_is_not_known_is_not_shown(tmp_path: Path) -> None:
    lines = [
        "[0/0] [__guards] | | +- TENSOR_MATCH: check_tensor(L['a'], Tensor, ..., torch.float32, ..., size=[2, 4], stride=[4, 1])",
        "[0/1] [__recompiles] Recompiling function f in ...",
        "[0/1] [__recompiles]     triggered by the following guard failure(s):",
        "[0/1] [__recompiles]     - 0/0: tensor 'a' size mismatch at index 0. expected 2, actual 8",
        "[0/1] [__guards] | | +- TENSOR_MATCH: check_tensor(L['a'], Tensor, ..., torch.float32, ..., size=[None, 4], stride=[4, 1])",
    ]
    shown = terminal("\n".join(lines), tmp_path)
    assert "-->" not in shown
    assert "add L['a'] to" in shown


def test_a_function_that_hit_the_limit_twice_has_the_cause_of_it_alone(tmp_path: Path) -> None:
    warning = "torchdynamo hit config.cache_size_limit (64)\n   function: 'toy' (example.py:5)\n   reasons:  ['___guarded_code.valid']\n"
    (finding,) = report_of(f"Previously:\n{warning}\nNow:\n{warning}", tmp_path).findings
    assert [name for name, _ in finding.details] == ["lifetime"]


def test_a_graph_break_whose_traceback_is_cut_off_lacks_its_reason(tmp_path: Path) -> None:
    head = "[2024-02-06 10:32:24,334] [0/0] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] "
    (compile,) = report_of(f"{head}Graph break: Traceback (most recent call last):", tmp_path).trace.compiles
    assert [item.message.title for item in compile.breaks] == ["the log does not have the reason"]


@pytest.mark.parametrize("place", ["src/models/net.py", "src/models/net.py:N"])
def test_a_place_without_its_line_is_one_of_the_function(place: str, tmp_path: Path) -> None:
    text = f"torch._dynamo hit config.recompile_limit (8)\n  function: 'forward' ({place})\n  last reason: self.layer_id == 7\n"
    (frame,) = report_of(text, tmp_path).trace.frames
    assert (frame.name, frame.file, frame.line) == ("forward", "src/models/net.py", 0)
    text = text.replace(place, "C:\\Program Files (x86)\\net.py:12")
    (frame,) = report_of(text, tmp_path).trace.frames
    assert (frame.file, frame.line) == ("C:\\Program Files (x86)\\net.py", 12)


def test_a_guard_with_each_value_on_its_own_line_is_whole(tmp_path: Path) -> None:
    reason = (
        "tensor 'x' dispatch key set mismatch.\n       expected DispatchKeySet(CPU, ADInplaceOrView)\n       actual   DispatchKeySet(CPU)"
    )
    (item,) = report_of(
        f"Recompiling function f in a.py:1\ntriggered by the following guard failure(s):\n- 0/0: {reason}\n", tmp_path
    ).explained.recompiles
    assert item.causes[0].rule.code == "SL303"


def test_a_first_line_that_lost_its_head_is_of_the_message_below_it(tmp_path: Path) -> None:
    head = "V0920 13:54:56.179000 3904 torch/_dynamo/guards.py:4760] [0/4] [__recompiles]"
    text = f" [__recompiles] Recompiling function back in /srv/attention.py:4\n{head}     triggered by the following guard failure(s):\n"
    (item,) = report_of(
        f"{text}{head}     - 0/3: tensor 'O' dtype mismatch. expected Float, actual BFloat16\n", tmp_path
    ).explained.recompiles
    assert (item.frame.name, item.frame.line, item.compile.label, item.codes) == ("back", 4, "0/4", ("SL301",))


def test_the_file_of_a_logger_in_front_of_a_message_is_no_sentence(tmp_path: Path) -> None:
    text = "step 1 loss 9.1\nV0930 12:00:00 torch/_dynamo/guards.py Recompiling function forward in model.py:88\n"
    (item,) = report_of(f"{text}    triggered by the following guard failure(s):\nstep 2 loss 8.9\n", tmp_path).explained.recompiles
    assert (item.frame.name, item.frame.line) == ("forward", 88)


@pytest.mark.parametrize(("margin", "end"), [("  ", "\n"), ("", "\n\n")])
def test_guards_of_a_recompilation_that_a_stance_forbids_may_have_a_margin_or_empty_lines(margin: str, end: str, tmp_path: Path) -> None:
    lines = (
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: 'a.py', function name: 'f', line number: 3",
        "Failed on the following precompiled guards: ",
        "",
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        "| +- LAMBDA_GUARD: isinstance(L['x'], bool)",
        "GuardDebugInfo(",
        "result=0,",
        "verbose_code_parts=[\"isinstance(L['x'], bool)\"],",
        "num_guards_executed=1)",
    )
    text = "- I see this:\n" * bool(margin) + "".join(f"{margin}{line}{end}" for line in lines)
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert item.codes == ("SL310",)


def test_a_mark_may_not_be_enough_where_only_the_first_graph_has_a_reason(tmp_path: Path) -> None:
    text = "torch._dynamo hit config.cache_size_limit (8)\n   function: 'f' (/srv/net.py:3)\n"
    text += "   last reason: 1/0: tensor 'L['x']' size mismatch at index 2. expected 1696, actual 1248\n"
    (found,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL401")
    assert found.remedy.startswith("mark dim 2 of x as dynamic, and record again with TORCH_LOGS=recompiles, which shows why the later")


def test_the_line_of_a_guard_may_lack_its_function(tmp_path: Path) -> None:
    text = "Recompiling function f in srv/net.py:3\n    - 0/0: len(rows.lengths) == 26   # self.attend(rows)  # net.py:17\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    place = item.causes[0].place
    assert place is not None
    assert (place.file, place.line, place.code) == ("srv/net.py", 17, "self.attend(rows)")


def test_a_source_that_is_wrapped_has_no_blank_in_it(tmp_path: Path) -> None:
    reason = "self._modules['blocks']._modules['0']\n                          ._modules['gate'].count == 1474560"
    text = f"torch._dynamo hit config.recompile_limit (16)\n    function: 'forward'\n    last reason: 0/15: {reason}\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert str(item.causes[0].source) == "L['self']._modules['blocks']._modules['0']._modules['gate'].count"


def test_warnings_that_name_no_function_are_several_by_what_they_are_about(tmp_path: Path) -> None:
    hit = "```\nW torch._dynamo hit config.recompile_limit (8)\nlast reason: {}\n```\nThen I made it a tensor.\n"
    report = report_of("".join(map(hit.format, ("L['price'] == 2.5", "L['step'] == 0", "L['step'] == 3"))), tmp_path)
    (found,) = (item for item in report.findings if item.rule.code == "SL401")
    assert found.sentence.endswith("the last reasons: the float price was 2.5 and has changed; the int step was 3 and has changed")
    (found,) = (item for item in report_of(hit.format("L['price'] == 2.5"), tmp_path).findings if item.rule.code == "SL401")
    assert "the last reason: " in found.sentence


def test_an_id_that_another_function_has_is_of_another_run(tmp_path: Path) -> None:
    limit = "W [0/8] torch._dynamo hit config.recompile_limit (8)\nW [0/8]    function: 'f' (/srv/limit.py:3)\n"
    first = f"{RECOMPILING.replace(' f in a.py:1', ' f in train.py:3')}{REASON}size mismatch at index 0. expected 4, actual 5\n\n"
    limit += "W [0/8]    last reason: 0/7: tensor 'x' size mismatch at index 0. expected 11, actual 12\n"
    report = report_of(first + limit, tmp_path)
    assert [(frame.file, frame.line) for frame in report.trace.frames] == [("train.py", 3), ("/srv/limit.py", 3)]
    assert [finding.sentence.partition("reason: ")[2] for finding in report.findings] == ["dim 0 of x changed from 11 to 12"]
    same = report_of(first + limit.replace("/srv/limit.py", "/srv/train.py"), tmp_path)
    assert len(same.trace.frames) == 1


def test_ranks_do_not_differ_because_the_reason_of_one_is_cut_off(tmp_path: Path) -> None:
    first = f"{RECOMPILING}{REASON}size mismatch at index 0. expected 4, actual 5\n"
    lines = [f"[rank{rank}]:{line}" for rank, text in ((0, first), (1, RECOMPILING)) for line in text.splitlines(keepends=True)]
    report = report_of("".join(lines).replace("2990033", "1", 2), tmp_path)
    assert "SL701" not in {item.rule.code for item in report.findings}
    assert report.ranks is not None
    assert [item.name for item in report.ranks.properties if item.differs] == []


def test_a_recompile_that_is_refused_with_its_reasons_is_none_without_them(tmp_path: Path) -> None:
    error = "torch._dynamo.exc.RecompileError: Recompiling function f in /srv/a.py:1\n    triggered by the following guard failure(s):\n"
    error += "    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5\n"
    shown = terminal(error, tmp_path)
    assert "Summary: 2 compilations: 1 failed, 1 succeeded Next steps" in shown
    assert "TORCH_LOGS=recompiles shows why" not in shown


def test_a_recompile_whose_reasons_are_known_has_earlier_ones_without(tmp_path: Path) -> None:
    error = "torch._dynamo.exc.RecompileError: Recompiling function f in /srv/a.py:1\n    triggered by the following guard failure(s):\n"
    error += "    - 0/2: tensor 'x' size mismatch at index 0. expected 4, actual 5\n"
    other = "[7/0] torch.fx.experimental.symbolic_shapes: [INFO] create_env\n"
    shown = terminal(other + error, tmp_path)
    assert "1 succeeded, no reasons of earlier recompilations in this log 0/3 is compilation no. 4 of its function" in shown


def test_the_line_that_fixes_a_size_is_shown_with_what_to_do(tmp_path: Path) -> None:
    """Of several blanks in a line, a page leaves one."""
    text = "I0210 20:26:04.076000 12259 torch/fx/experimental/symbolic_shapes.py:7292] [8/47] eval Eq(s13, 256) [guard added] "
    shown = terminal(f"{text}y = pack(x) # /srv/net.py:25 in forward (_ops.py:1209 in call), for more info run with A=B\n", tmp_path)
    assert "s13 256 net.py:25 y = pack(x) by a guard 8/47 SL201 = help: rewrite the line that needs the exact value" in shown
    assert "About the rules: https:" in shown


@pytest.mark.parametrize(("kept", "place"), [(20, "model.py:7"), (3, ""), (0, "")])
def test_a_guard_that_is_cut_in_its_line_is_at_the_line_of_the_one_before(kept: int, place: str, tmp_path: Path) -> None:
    head = "I0325 16:38:11.195000 492961 torch/fx/experimental/symbolic_shapes.py:6630] [0/0] "
    line = "u5, u3 = x[2:].tolist()"
    text = (
        f"{head}create_symbol s0 = 4 for L['x'].size()[0] [2, int_oo] y = x  # model.py:6 in f (_dynamo/variables/builder.py:3033 in g)\n"
        f"{head}eval Ne(s0 - 2, 0) [guard added] {line}  # model.py:7 in f (_refs/__init__.py:3998 in unbind)\n"
        f"{head}eval Eq(s0 - 2, 2) [guard added] {line[:kept]}"
    )
    (compile,) = report_of(text, tmp_path).trace.compiles
    (found,) = compile.specializations
    assert (found.value, [f"{line.file}:{line.line}" for line in found.user_stack.frames]) == ("4", [place] if place else [])


def test_a_symbol_that_an_old_version_replaces_is_pinned(tmp_path: Path) -> None:
    head = "[0/1] torch.fx.experimental.symbolic_shapes: [INFO] "
    text = f"{head}create_env\n{head}create_symbol s0 = 3 for L['t'].size()[1] [2, 9223372036854775806]\n{head}set_replacement s0 = 3\n"
    shown = terminal(text, tmp_path)
    assert "t.size()[1] 3 unknown" in shown
    assert "0/1 is compilation no. 2 of its function: TORCH_LOGS=recompiles shows why" in shown


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (("0/41",), "0/41 is compilation no. 42: 40 recompilations of its function before that are not in this log"),
        (("0/2", "1/4", "1/5"), "1/5 is compilation no. 6: 3 recompilations of its function before that are not in this log"),
        (("0/1", "0/3"), "0/3 is compilation no. 4: 1 recompilation of its function before that is not in this log"),
        (("0/1", "0/2"), ""),
    ],
)
def test_how_many_recompilations_before_are_missing_is_known_from_the_ids(ids: tuple[str, ...], words: str, tmp_path: Path) -> None:
    text = ""
    for label in ids:
        head = f"V1226 11:51:27.633000 3727 torch/_dynamo/guards.py:3508] [{label}] [__recompiles] "
        frame, _, number = label.partition("/")
        text += f"{head}Recompiling function f{frame} in /srv/a.py:{frame}\n{head}    triggered by the following guard failure(s):\n"
        text += f"{head}    - {frame}/{int(number) - 1}: a == {number}.5\n"
    shown = terminal(text, tmp_path)
    assert words in shown
    assert words or "is compilation no." not in shown


def test_the_first_screen_is_the_answer_and_the_last_line_records_more(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(LIMIT.format(rank=0, process=1), encoding="utf-8")
    lines = render(analyze(load(path)), Options()).decode().splitlines()
    assert lines[1].startswith("This log has")
    assert lines.index("") < 4
    assert lines[lines.index("") + 1].startswith("error[SL401]")
    assert lines[-1] == "To record everything: TORCH_TRACE=/tmp/trace python your_script.py"


def test_messages_of_inductor_are_shown_where_they_are_all_that_a_text_has(tmp_path: Path) -> None:
    head = "I0616 15:51:12.474000 14057 torch/_inductor/x.py:360] [0/0] [__perf_hints] "
    shown = terminal(f"{head}reduction over non-contiguous dims\n" * 2, tmp_path)
    assert "reduction over non-contiguous dims 2" in shown


def test_code_without_a_name_is_left_out_of_sentences(tmp_path: Path) -> None:
    head = "V0515 21:32:02.058000 4909 torch/_dynamo/symbolic_convert.py:556] [0/0] [__graph_breaks] "
    shown = terminal(f"{head}Graph break in user code at /srv/model.py:102\n{head}Graph Break Reason: Data dependent operator\n", tmp_path)
    assert "graph break (once): Data dependent operator --> /srv/model.py:102" in shown
    shown = terminal("torch._dynamo.exc.FailOnRecompileLimitHit: Hard failure due to fullgraph=True\n", tmp_path)
    assert "1. Stay below the recompile limit: find the causes of the recompilations with TORCH_LOGS=recompiles" in shown
    assert "Summary: 1 compilation refused: recompile limit reached" in shown


OLD_LIMITS = """\
torchdynamo.convert_frame: [WARNING] torchdynamo hit config.cache_size_limit (64)
   function: 'fold' (/srv/ops.py:233)
   reasons:  ['len(x[0]) == 3']
torchdynamo.convert_frame: [WARNING] torchdynamo hit config.cache_size_limit (64)
   function: 'scale' (/srv/ops.py:229)
   reasons:  ["tensor 'x"""


def test_a_guard_in_part_in_the_list_of_an_old_version_is_no_reason(tmp_path: Path) -> None:
    first, second = report_of(OLD_LIMITS, tmp_path).findings
    assert "; the last reason: x[0] had 3 items" in first.sentence
    assert "reason" not in second.sentence


def test_functions_at_the_limit_for_other_reasons_are_not_given_the_remedy_of_one(tmp_path: Path) -> None:
    shown = terminal(OLD_LIMITS.removesuffix("""["tensor 'x""") + "['n == 4']\n", tmp_path)
    assert "Keep fold and scale below the recompile limit: fold: keep the length fixed" in shown


def test_a_function_at_the_limit_without_a_reason_leaves_the_others_their_remedy(tmp_path: Path) -> None:
    shown = terminal(OLD_LIMITS, tmp_path)
    assert "1. Keep fold below the recompile limit: keep the length fixed" in shown
    assert "2. Keep scale below the recompile limit: find the causes of the recompilations with TORCH_LOGS=recompiles" in shown


@pytest.mark.parametrize(
    ("rest", "place"), [("transformers/x.py:386\n", "--> /srv/models/transformers/x.py:386"), ("and so on\n", "SL308]: forward was")]
)
def test_a_path_that_a_mail_wrapped_is_whole_and_a_folder_is_no_place(rest: str, place: str, tmp_path: Path) -> None:
    head = "V0228 19:39:54.543000 1516 torch/_dynamo/guards.py:2791] [2/2] [__recompiles]"
    text = f"{head}\nRecompiling function forward in /srv/models/\n{rest}{head}\ntriggered by the following guard failure(s):\n"
    text += f"{head}\n- 2/1: ___check_obj_id(L['self'].processor, 131625167863296)\n"
    shown = terminal(text, tmp_path)
    assert place in shown
    assert "--> /srv/models/ " not in shown


def test_a_line_of_a_stack_without_its_number_has_its_function_and_its_code(tmp_path: Path) -> None:
    text = 'skipping cudagraphs due to cpu device (arg7_1). Found from :\n   File "srv/ops.py", in forward\n    y = cast(x)\n'
    shown = terminal(text, tmp_path)
    assert "--> srv/ops.py | y = cast(x)" in shown


def test_ids_of_two_excerpts_are_explained_as_those_of_two_runs(tmp_path: Path) -> None:
    text = RECOMPILING + REASON + "size mismatch at index 0. expected 4, actual 5\n\n"
    shown = terminal(text + text.replace("function f in a.py", "function g in b.py"), tmp_path)
    assert (
        "#2: compile ids restarted (in lines of another run, or after torch._dynamo.reset()), so PyTorch's own logs show 0/1 for 0/1#2"
        in shown
    )


def test_the_line_that_fixes_a_symbol_is_that_of_a_guard_that_names_it(tmp_path: Path) -> None:
    head = "[2024-03-02 18:11:44,258] [0/2] torch.fx.experimental.symbolic_shapes: [INFO] "
    lines = (
        "create_symbol s1 = 100 for L['x'].size()[0] [2, 9223372036854775806]",
        "create_symbol s6 = 155 for L['y'].size()[0] [2, 9223372036854775806]",
        "eval Eq(s4, s0) [guard added] at srv/passing.py:291 in _set_size (fx/experimental/sym_node.py:340 in guard_bool)",
        "set_replacement s1 = 100",
        "eval Eq(s1, 100) [guard added] at srv/linear.py:147 in forward (fx/experimental/sym_node.py:340 in guard_bool)",
        "set_replacement s6 = 155",
        "eval Eq(s4, 7) [guard added] at srv/passing.py:12 in _set_size (fx/experimental/sym_node.py:340 in guard_bool)",
    )
    text = terminal("".join(f"{head}{line}\n" for line in lines), tmp_path)
    assert "x.size()[0] 100 linear.py:147" in text
    assert "y.size()[0] 155 unknown" in text


def test_a_reason_that_a_text_repeats_is_of_one_recompilation(tmp_path: Path) -> None:
    lines = ["0/0: L['x'] == 1"] * 4 + ["", "0/0: L['x'] == 1", "0/1: L['x'] == 2", "0/2: L['x'] == 3"]
    report = report_of("now we log\n\n" + "\n".join(lines), tmp_path)
    assert [item.compile.label for item in report.explained.recompiles] == ["0/1", "0/2", "0/3"]
    assert report.problems == ()


BLANK = REASON.removesuffix("tensor 'x' ")


@pytest.mark.parametrize(
    ("code", "rule"), [("self._known[key] = value", "SL314"), ("self._known.append(value)", "SL313"), ("y[key] = value", "SL313")]
)
def test_setting_a_key_makes_a_container_a_dict(code: str, rule: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{BLANK}len(self._known) == 2  # {code}  # a.py:3 in f\n", tmp_path).explained.recompiles
    assert item.codes == (rule,)


def test_a_recompilation_without_a_reason_is_not_explained_by_more_logs(tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{BLANK}\n", tmp_path).explained.recompiles
    assert item.causes[0].own_remedy.startswith("run every call with the same backend")


def test_a_text_without_a_compilation_passes_the_check_with_a_note(tmp_path: Path) -> None:
    text = "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: "
    frames = 'File "/srv/a.py", line 5, in step y = f(x), File "/srv/b.py", line 7, in f return x @ x. To prevent overwriting'
    report = report_of(f"{text}{frames}\n", tmp_path)
    (finding,) = report.findings
    assert str(finding.place) == "/srv/b.py:7"
    result = check(collect_alerts(report, Repository()), Policy())
    assert str(result.headline) == "Check passed: no compilation is in this log"
    assert result.notes == ("1 finding in it on which the check does not fail: see shapelog report",)


def test_a_guard_that_a_text_quotes_twice_is_of_one_recompilation(tmp_path: Path) -> None:
    quoted = "GuardFail(reason=\"tensor 'L['x']' size mismatch at index 0. expected 146, actual 149\", orig_code=<code object f at 0x2)"
    (item,) = report_of(f"the culprit is\n{quoted}\n\nError logs\n\n{quoted}\n", tmp_path).explained.recompiles
    assert item.verdict is Verdict.MARKING


@pytest.mark.parametrize(("sizes", "verdict"), [((16, 8, 4), Verdict.JUSTIFIED), ((16, 16), Verdict.MARKING), ((1, 16), Verdict.MARKING)])
def test_entries_that_require_other_sizes_show_that_the_size_stays_static(sizes: tuple[int, ...], verdict: Verdict, tmp_path: Path) -> None:
    head = RECOMPILING.partition("Recompiling")[0].replace("[0/1]", "[0/9]")
    reasons = "".join(
        f"{head}    - 0/{8 - at}: tensor 'x' size mismatch at index 0. expected {size}, actual 22\n" for at, size in enumerate(sizes)
    )
    text = f"{head}Recompiling function f in a.py:1\n{head}    triggered by the following guard failure(s):\n{reasons}"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert item.verdict is verdict
    assert ("dynamic=False: 0/7 was compiled after x.size[0] had changed" in item.why_not_markable) is (verdict is Verdict.JUSTIFIED)


def test_a_function_whose_name_is_cut_has_none(tmp_path: Path) -> None:
    text = terminal(LIMIT.format(rank=0, process=1).replace("'f' (/srv/a.py:1)\n", "'forwar"), tmp_path)
    assert "a function not named in the log hit the recompile limit" in text


def test_a_source_that_is_written_in_full_shows_no_version(tmp_path: Path) -> None:
    reason = "1/0: Cache line invalidated because list.__getitem__(L['self'], 0) got deallocated"
    text = terminal(LIMIT.format(rank=0, process=1) + LAST.format(front="", process=1, reason=reason), tmp_path)
    assert "the last reason: self[0] was garbage-collected" in text
    assert "raise torch._dynamo.config.recompile_limit" in text


@pytest.mark.parametrize("end", ["", "[", "[W", "[WARNING"])
def test_a_line_that_ends_in_its_level_is_no_exception(end: str, tmp_path: Path) -> None:
    front = "[2026-01-31 17:52:38,326] torch._dynamo.convert_frame: "
    lines = (
        "WON'T CONVERT norm /srv/layers.py line 16",
        "due to:",
        "Traceback (most recent call last):",
        '  File "/srv/device.py", line 428, in check',
        "    raise AssertionError(name)",
    )
    text = "".join(f"{front}[WARNING] {line}\n" for line in lines) + front + end
    assert "norm failed to compile: the exception is missing from the log --> /srv/layers.py:16" in terminal(text, tmp_path)


def test_a_reason_that_a_terminal_cut_where_it_wraps_keeps_its_object(tmp_path: Path) -> None:
    front = "W0928 15:54:35.390000 303740 site-packages/torch/_dynamo/convert_frame.py:906] [0/9] "
    text = (
        f"{front}torch._dynamo hit config.cache_size_limit (\n8){' ' * 126}\n"
        f"{front}   function: 'forward' (/srv/miniconda3/env\ns/vec/lib/python3.10/site-packages/models/gemma.py:1275){' ' * 60}\n"
        f"{front}   last reason: 0/7: Cache line invalidate$\n because L['past'].keys[33] got deallocated{' ' * 24}\n"
    )
    assert "the last reason: past.keys[33] was garbage-collected" in terminal(text, tmp_path)


@pytest.mark.parametrize("end", ["", "$", "d", "d because", "d because L['pa"])
def test_an_object_that_died_is_the_cause_wherever_its_reason_is_cut(end: str, tmp_path: Path) -> None:
    text = terminal(
        LIMIT.format(rank=0, process=1) + LAST.format(front="[rank0]:", process=1, reason=f"Cache line invalidate{end}"), tmp_path
    )
    assert "was garbage-collected" in text
    assert "help: create the object once, and keep it alive" in text


def test_a_type_in_backquotes_is_read_without_them(tmp_path: Path) -> None:
    text = "Logs show a guard failure:\n> expected type of 'x' to be a tensor type, but found `torch.nn.parameter.Parameter`\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert item.causes[0].sentence == "x changed from a tensor to Parameter"


@pytest.mark.parametrize(
    ("entry", "verdict", "help"),
    [
        ("0/3", Verdict.MARKING, "mark dim 0 of x as dynamic"),
        ("0/0", Verdict.UNEXPLAINED, "paste the whole message: it has the reasons for the later entries"),
    ],
)
def test_a_size_that_the_first_entry_alone_is_known_for_may_be_dynamic_in_later_ones(
    entry: str, verdict: Verdict, help: str, tmp_path: Path
) -> None:
    reason = "size mismatch at index 0. expected 4, actual 5\n"
    report = report_of((RECOMPILING + REASON + reason).replace("[0/1]", "[0/4]").replace("- 0/0", f"- {entry}"), tmp_path)
    assert report.recompiles[0].verdict is verdict
    assert report.remedies.of_recompile(report.recompiles[0]).text.startswith(help)
    assert report.advice is not None
    assert bool(report.advice.suggestions) == (verdict is Verdict.MARKING)


@pytest.mark.parametrize(
    "place", ["torch/_dynamo/guards.py:7] ", ".../torch/_dynamo/guards.py:7] ", "site-packages/torch/_dynamo/guards.py:7] "]
)
def test_lines_that_somebody_joined_end_where_the_head_or_the_quote_of_the_next_one_begins(place: str, tmp_path: Path) -> None:
    head = f"{place}[2/2] [__recompiles_verbose] "
    lines = (
        "Recompiling function f in /srv/a.py:1",
        "    triggered by the following guard failure(s):",
        "    guard 0 failures:",
        "    - 2/1: n == 4",
    )
    (item,) = report_of(" > ".join(head + line for line in lines) + " > V0228", tmp_path).explained.recompiles
    assert (item.compile.label, item.frame.name, item.causes[0].sentence) == ("2/2", "f", "the int n was 4 and has changed")


@pytest.mark.parametrize("words", ["last reason: 3/7: ", "reasons:  "])
def test_a_warning_that_somebody_joined_has_no_more_than_its_reason(words: str, tmp_path: Path) -> None:
    joined = (
        "It prints: torch._dynamo hit config.cache_size_limit (8) function: 'draw' (/srv/a.py:212) "
        f"{words}d == 2.0 to diagnose recompilation issues, see https://pytorch.org/docs/master/dynamo/troubleshooting.html. Thanks!"
    )
    (item,) = report_of(joined, tmp_path).explained.recompiles
    assert (item.frame.name, item.causes[0].sentence) == ("draw", "the float d was 2.0 and has changed")


WRAPPED = "torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (/srv/a.py:1)\n   last reason: 0/7: {reason}\n\nThis goes on.\n"


@pytest.mark.parametrize("at", ["mismatch ", "at ", "index ", "4. ", "expected ", "5, ", "actual "])
def test_the_last_reason_is_whole_wherever_a_mail_wrapped_it(at: str, tmp_path: Path) -> None:
    reason = "tensor 'x' size mismatch at index 4. expected 5, actual 7".replace(at, f"{at.rstrip()}\n", 1)
    (item,) = report_of(WRAPPED.format(reason=reason), tmp_path).explained.recompiles
    assert item.causes[0].sentence == "dim 4 of x changed from 5 to 7"


def test_a_joined_error_about_a_recompilation_that_is_forbidden_has_its_reasons(tmp_path: Path) -> None:
    text = (
        "RuntimeError: Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: 'a.py', "
        "function name: 'f', line number: 8 triggered by the following guard failure(s): "
        "- 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 7"
        " - 0/1: tensor 'x' size mismatch at index 0. expected 5, actual 7"
    )
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert (item.frame.name, item.codes, len(item.compile.reasons)) == ("f", ("SL101",), 2)


EXPECTED = "Dynamo has detected that tracing the code will result in an error when running in eager."


def test_hints_of_a_joined_error_are_no_part_of_what_it_met(tmp_path: Path) -> None:
    stack = 'from user code: File "/srv/a.py", line 6, in f g(x)'
    text = f"torch._dynamo.exc.Unsupported: Observed exception Hint: run it without compile. {stack}"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.message is not None
    assert (finding.message.title, finding.message.hints) == ("Observed exception", ("run it without compile.",))


@pytest.mark.parametrize(
    ("hint", "is_expected"), [(EXPECTED, True), ("It may be possible to write Dynamo tracing rules for this code.", False)]
)
def test_an_exception_that_pytorch_expects_without_it_as_well_is_one_of_the_code(hint: str, is_expected: bool, tmp_path: Path) -> None:
    stack = 'from user code:\n   File "/srv/a.py", line 6, in f\n    g(x)'
    (finding,) = report_of(f"torch._dynamo.exc.Unsupported: Observed exception\n  Hint: {hint}\n\n{stack}\n", tmp_path).findings
    assert finding.remedy.startswith("most likely this line raises without torch.compile as well") is is_expected


def of_run(minute: int, number: int, before: int, after: int) -> str:
    guards = f"V1127 00:{minute}:10.211000 8756 torch/_dynamo/guards.py:2863] [0/{number}]"
    tensor = (
        f"check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{after}], stride=[1])"
    )
    tree = "TREE_GUARD_MANAGER:", "+- RootGuardManager", "| +- GuardManager: source=L['x']", f"| | +- TENSOR_MATCH: {tensor}"
    recompiled = (
        "Recompiling function f in /srv/net.py:4",
        "    triggered by the following guard failure(s):",
        f"    - 0/{number - 1}: tensor 'x' size mismatch at index 0. expected {before}, actual {after}",
    )
    lines = [f"{guards} [__recompiles] {line}" for line in recompiled if number]
    return "".join(f"{line}\n" for line in (*lines, *(f"{guards} [__guards] {line}" for line in tree)))


@pytest.mark.parametrize("minute", [30, 20])
def test_ids_that_started_again_are_of_another_frame_where_the_first_ones_are_cut_off(minute: int, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(of_run(29, 2, 4, 5) + of_run(29, 3, 5, 6) + of_run(minute, 0, 0, 4) + of_run(minute, 1, 4, 5), encoding="utf-8")
    trace = load(path)
    labels = [compile.label for frame in trace.frames for compile in frame.compiles]
    is_later = minute == 30  # excerpts may be in any order
    assert labels == (["0/2", "0/3", "0/0#2", "0/1#2"] if is_later else ["0/0", "0/1", "0/2", "0/3"])
    if is_later:
        assert {code for item in explain_trace(trace, debug=True).recompiles for code in item.codes} == {"SL101"}


def test_excerpts_of_which_the_later_one_is_first_are_of_entries_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    front = "[0/{0}] [__recompiles] "
    later = (
        "Recompiling function f in a.py:1\n",
        "    triggered by the following guard failure(s):\n",
        "    - 0/1: tensor 'x' size mismatch at index 1. expected 6, actual 7\n",
        "    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5\n",
    )
    first = "".join(front.format(1) + line for line in (*later[:2], later[3]))
    recompiles = report_of("".join(front.format(2) + line for line in later) + first, tmp_path).explained.recompiles
    assert sorted(item.compile.label for item in recompiles) == ["0/1", "0/2"]
    assert {item.codes for item in recompiles} == {("SL101",)}


def test_guards_of_which_those_of_the_later_entry_are_first_show_what_failed(tmp_path: Path) -> None:
    lines = "[0/1] [__guards] +- LAMBDA_GUARD: Ne({1}, {0})  # if a != b:\n", "[0/0] [__guards] +- LAMBDA_GUARD: {1} == {0}  # if a != b:\n"
    text = "".join(line.format("L['x'].size()[1]", "L['x'].size()[0]") for line in lines)
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert (item.compile.label, item.codes) == ("0/1", ("SL204",))


def test_a_tensor_of_which_a_log_has_lost_a_size_has_no_number_of_dimensions(tmp_path: Path) -> None:
    entry, call = of_run(29, 0, 0, 4), of_run(29, 1, 4, 5)
    head = "V1127 00:29:10.211000 8756 torch/fx/experimental/symbolic_shapes.py:3821] [0/1] track_symint L['x']."
    tracked = f"{head}size()[0] 5 None\n", f"{head}stride()[0] 1 None\n"
    for kept in ((0, 1), (1,), (0,)):
        path = tmp_path / f"{len(kept)}{kept[0]}.txt"
        reasons, guards = call[: call.index("TREE")].rsplit("\n", 1)[0], call[call.index("TREE") :]
        path.write_text(f"{entry}{reasons}\n" + "".join(tracked[at] for at in kept) + HEADED.format(guards), encoding="utf-8")
        inputs = [compile.inputs for frame in load(path).frames for compile in frame.compiles][-1]
        assert [item.size for item in inputs] == ([(5,)] if 0 in kept else [])


HEADED = "V1127 00:29:10.211000 8756 torch/_dynamo/guards.py:2863] [0/1] [__guards] {}"


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_a_limit_without_its_last_lines_asks_for_these(lines: int, tmp_path: Path) -> None:
    front = "W0414 02:40:14.779000 88614 site-packages/torch/_dynamo/convert_frame.py:1743] [0/8] "
    warning = (
        "torch._dynamo hit config.recompile_limit (8)",
        "   function: 'f' (/srv/a.py:118)",
        "   last reason: Unable to find recompilation reasons",
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".',
    )
    text = "".join(f"{front}{line}\n" for line in warning[:lines])
    (finding,) = report_of(text, tmp_path).findings
    assert finding.notes == (("the last reason is in the log lines below this warning, which are not in this text",) if lines < 3 else ())
    assert finding.remedy.startswith("find the causes of the recompilations with TORCH_LOGS=recompiles")


def test_a_recompilation_of_one_rank_has_the_function_that_another_names(tmp_path: Path) -> None:
    head = "[rank{0}]:V0616 10:01:38.800000 59506{0} torch/_dynamo/guards.py:3006] [1/1] [__recompiles] "
    reason = "    - 1/0: tensor 'x' size mismatch at index 0. expected 4, actual 5\n"
    below = "    triggered by the following guard failure(s):\n"
    whole = "".join(head.format(2) + line for line in ("Recompiling function top_k in /srv/draft.py:7\n", below, reason))
    cut = "".join(head.format(6) + line for line in (below, reason))
    found = report_of(f"{cut}{whole}", tmp_path).explained.recompiles
    assert {(item.frame.name, item.codes) for item in found} == {("top_k", ("SL101",))}


def test_a_reason_may_be_about_a_dim_that_a_damaged_guard_has_lost(tmp_path: Path) -> None:
    head = "V1120 08:56:34.359000 139780874988416 torch/_dynamo/guards.py:2611] [0/1]"
    tensor = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size[None], stride=[1])"
    lines = (
        f"{head} [__recompiles] Recompiling function f in /srv/a_sizes.py:4",
        f"{head} [__recompiles]     triggered by the following guard failure(s):",
        f"{head} [__recompiles]     - tensor 'L['x']' size mismatch at index 0. expected 10, actual 20",
        f"{head} create_env".replace("139780874988416", "13&780874988416"),
        f"{head} track_symint L['x'].storage_offset() 0 None",
        f"{head} [__guards] | | +- TENSOR_MATCH: {tensor}",
    )
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    report = analyze(load(tmp_path / "run.log"), debug=True)
    assert report.explained.recompiles[-1].codes == ("SL101",)
    assert report.advice is not None


@pytest.mark.parametrize("below", ["", "```\n", "\n```\n\nWhat is wrong?\n"])
def test_a_reason_within_whose_brackets_an_excerpt_ends_is_missing(below: str, tmp_path: Path) -> None:
    head = "V0924 15:11:45.333000 98048 torch/_dynamo/guards.py:2830] [0/2] [__recompiles] "
    lines = (
        "Recompiling function f in /srv/a.py:38",
        "    triggered by the following guard failure(s):",
        "    - 0/1: L['args'][1]._modules['",
    )
    report = report_of("".join(f"{head}{line}\n" for line in lines) + below, tmp_path)
    (recompile,) = report.recompiles
    assert not recompile.causes


@pytest.mark.parametrize("heading", ["triggered by the following guard failure(s):", "  guard 0 failures:"])
@pytest.mark.parametrize("front", ["", "> ", "It recompiles:\n\n"])
def test_reasons_below_their_heading_count_without_the_line_above_it(heading: str, front: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{front}{heading}\n{front[:2].replace('It', '')}    - L['end'] == 10\n", tmp_path).recompiles
    assert item.causes[0].sentence == "the int end was 10 and has changed"


def test_a_heading_below_reasons_is_that_of_another_recompile(tmp_path: Path) -> None:
    heading = "triggered by the following guard failure(s):\n    - L['end'] == "
    assert len(report_of(f"{heading}10\n{heading}11\n    - L['end'] == 10\n", tmp_path).recompiles) == 2


def test_a_sentence_about_the_heading_is_no_recompile(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of('What does "triggered by the following guard failure(s):" mean, and what is guard 0 here?\n', tmp_path)


def test_the_reason_at_the_limit_keeps_its_id_where_its_indent_is_lost(tmp_path: Path) -> None:
    (finding,) = report_of(
        "The log has\n```\n[1/8] last reason: tensor 'x' size mismatch at index 0. expected 5, actual 6\n```\n", tmp_path
    ).findings
    assert (finding.rule.code, finding.compile) == ("SL401", "1/8")


def test_a_set_in_the_last_reason_has_not_changed_into_itself(tmp_path: Path) -> None:
    text = "torch._dynamo hit config.cache_size_limit (8)\n   function: 'step' (/app/run.py:5)\n   last reason: L['kinds'] == {9, 3}\n"
    assert "the last reason: kinds was {3, 9} and has changed" in terminal(text, tmp_path)


def test_code_of_which_a_log_has_the_file_alone_is_located_by_it(tmp_path: Path) -> None:
    """Versions before torch 2.1 write no line of it."""
    head = "[2023-04-13 21:42:57,808] torch._dynamo.convert_frame.__recompiles: [DEBUG] "
    text = f"{head}('Recompiling function step in /srv/a.py', \"triggered by the following guard failure: L['t'] == 0\")\n"
    (alert,) = collect_alerts(report_of(text, tmp_path), Repository()).alerts
    assert str(alert.source_line) == "/srv/a.py"
    assert "--> /srv/a.py = help" in terminal(text, tmp_path)


@pytest.mark.parametrize("file", ["/srv/net.py", "/srv/lora.py"])
def test_the_line_that_reads_a_value_in_another_file_is_in_a_note(file: str, tmp_path: Path) -> None:
    """As that of a function which was inlined."""
    head = "V1105 11:09:28.197000 11820 torch/_dynamo/guards.py:4181] [0/1] [__recompiles] "
    reason = f"    - 0/0: self.patch.key == 'a'  # return patches[self.key]  # {file}:145 in __call__"
    text = f"{head}Recompiling function forward in /srv/net.py:7\n{head}    triggered by the following guard failure(s):\n{head}{reason}\n"
    shown = terminal(text, tmp_path)
    note = "= the guard comes from /srv/lora.py:145: return patches[self.key]"
    assert (note in shown, f"--> /srv/net.py:{145 if file == '/srv/net.py' else 7} " in shown) == (file == "/srv/lora.py", True)


def test_a_warning_of_python_is_no_part_of_the_last_reason(tmp_path: Path) -> None:
    """As deep as the warning at the limit, which somebody wrapped behind its head."""
    text = (
        "    W0903 18:41:46 torch/_dynamo/convert_frame.py:1358] [0/8]\n        torch._dynamo hit config.recompile_limit (8)\n"
        "        function: 'attend'\n        last reason: 0/7: tensor 'key' requires_grad mismatch\n"
        "    torch/nn/attention/flex_attention.py:1687: UserWarning:\n        flex_attention called without torch.compile()\n"
    )
    (found,) = report_of(text, tmp_path).findings
    assert found.sentence.endswith("the last reason: requires_grad of key changed")


def test_an_index_that_needs_64_bits_is_of_inductor_and_not_of_the_code(tmp_path: Path) -> None:
    guard = "0/0: x.size()[1]*y.size()[1] <= 2147483647  # (_inductor/codegen/simd.py:1877 in can_use_32bit_indexing)"
    (item,) = report_of(f"{RECOMPILING}{REASON.partition('0/0')[0]}{guard}\n", tmp_path).explained.recompiles
    assert item.causes[0].sentence.startswith("Inductor's 32-bit indices are too small for a tensor: the cache entry requires ")
    assert item.causes[0].own_remedy.startswith("accept a graph for tensors of more than 2147483647 elements")


def test_a_step_about_two_limits_has_the_remedy_of_each(tmp_path: Path) -> None:
    start = "V1101 02:43:39.336000 9 torch/_dynamo/guards.py:2813] "
    hits = (LIMIT.format(rank=0, process=9) + LAST.format(front="[rank0]:", process=9, reason="{}")).replace("[rank0]:", "")
    text = hits.format("L['c'] == 1.5") + hits.replace("1/8", "2/8").replace("1/0", "2/0").replace("'f'", "'g'").format("L['k'] == 'a'")
    (step,) = next_steps(collect_alerts(report_of(f"{start}\n{text}", tmp_path), Repository()))
    first, second = "f: pass the float as a tensor, torch.tensor(value), or store it as one", "g: "
    assert first in step.title
    assert f"; {second}" in step.title
