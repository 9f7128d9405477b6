"""A graph break that an exception of the backend caused is in a log up to three times, and counts once."""

from itertools import combinations
from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.alerts.alert import Alert
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render
from shapelog.rules import Verdict

ANNOUNCED = (
    "WON'T CONVERT fn /srv/be.py line 5",
    "========== TorchDynamo Stack Trace ==========",
    "Traceback (most recent call last):",
    '  File "/venv/lib/python3.11/site-packages/torch/_dynamo/output_graph.py", line 3119, in _call_user_compiler',
    "    compiled_fn = compiler_fn(gm, example_inputs)",
    '  File "/srv/be.py", line 4, in mine',
    "    raise DataDependentOutputException(torch.ops.aten._local_scalar_dense.default)",
    "torch._subclasses.fake_tensor.DataDependentOutputException: aten._local_scalar_dense.default",
    "",
)
EXPLAINED = (
    "Backend compiler exception",
    "  Explanation: Backend compiler `mine` failed with aten._local_scalar_dense.default. Adding a graph break.",
    "  Hint: Report an issue to the backend compiler repo.",
    "",
    "  Developer debug context: Backend: mine",
    "    Exception:aten._local_scalar_dense.default",
    "    Traceback:",
    '      File "/srv/be.py", line 7, in fn',
    "        return torch.sum(x, dim=1) + 1",
    "",
)
BROKEN = (
    "Graph break in user code at /srv/be.py:5",
    "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    "Graph break encountered:",
    "",
    *EXPLAINED,
    "User code traceback:",
    '  File "/srv/be.py", line 8, in <module>',
    "    fn(torch.ones(4,4))",
)
OLD = "Backend compiler failed with a fake tensor exception"


def breaks(text: str, folder: Path) -> list[Alert]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return [item for item in collect_alerts(analyze(load(path), debug=True), Repository()).alerts if item.rule.code in ("SL403", "SL501")]


def logged(lines: tuple[str, ...], head: str) -> str:
    return "".join(f"{head} {line}\n" for line in lines)


PARTS = {
    "announced": logged(ANNOUNCED, "V1127 04:01:12.272000 22967 torch/_dynamo/exc.py:597] [0/0] [__graph_breaks]"),
    "explained": logged(EXPLAINED, "W1127 04:01:12.274000 22967 torch/_dynamo/exc.py:713] [0/0]"),
    "broken": logged(BROKEN, "V1127 04:01:12.282000 22967 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks]"),
}


@pytest.mark.parametrize("parts", [names for count in (1, 2, 3) for names in combinations(PARTS, count)])
def test_a_break_of_the_backend_counts_once(parts: tuple[str, ...], tmp_path: Path) -> None:
    (found,) = breaks("".join(PARTS[name] for name in parts), tmp_path)
    if parts == ("announced",):
        assert found.sentence.endswith("(once): DataDependentOutputException: aten._local_scalar_dense.default")
    elif "broken" in parts:  # which alone shows that the whole function is skipped
        assert found.sentence.endswith("failed to compile in the backend: Backend compiler exception")
        assert str(found.source_line) == "/srv/be.py:5"
    else:
        assert found.sentence.endswith("(once): Backend compiler exception")
        assert str(found.source_line) == "/srv/be.py:7"


def test_breaks_of_other_compiles_are_others(tmp_path: Path) -> None:
    other = "".join(PARTS.values()).replace("[0/0]", "[1/0]").replace("be.py", "cd.py").replace("mine", "his")
    assert len(breaks("".join(PARTS.values()) + other, tmp_path)) == 2


@pytest.mark.parametrize("end", ["Adding a graph break.", "Falling back to eager for this frame. Please use TORCH_LOGS=graph_breaks."])
@pytest.mark.parametrize("cut", ["", "[2023-08-14 14:54:15,690] torch._dynamo.output_graph.__graph_breaks:\n"])
def test_old_versions_name_the_line_in_a_warning(end: str, cut: str, tmp_path: Path) -> None:
    warned = (f"{OLD} at ", '  File "/srv/spl.py", line 5, in fn', "    return x.sum().tolist()", end)
    text = logged(warned, "[2023-08-14 14:53:48,863] torch._dynamo.output_graph: [WARNING]")
    announced = ("WON'T CONVERT fn /srv/spl.py line 3", *ANNOUNCED[1:])
    text += logged(announced, "[2023-08-14 14:54:15,689] torch._dynamo.output_graph.__graph_breaks: [DEBUG]")
    (found,) = breaks(text + cut, tmp_path)
    assert found.sentence == f"graph break in fn (once): {OLD}"
    assert str(found.source_line) == "/srv/spl.py:5"


def test_the_warning_may_have_lost_its_heads(tmp_path: Path) -> None:
    (found,) = breaks(f'It prints\n\n{OLD} at \n  File "/srv/a.py", line 5, in fn\n    return x\nAdding a graph break.\n', tmp_path)
    assert found.sentence == f"graph break in fn (once): {OLD}"


def test_a_cut_head_is_no_break(tmp_path: Path) -> None:
    text = PARTS["broken"] + "V1127 04:01:12.283000 22967 torch/_dynamo/symbolic_convert.py:5124] [1/0] [__graph_breaks]\n"
    assert len(breaks(text, tmp_path)) == 1


def test_a_break_without_a_place_counts_where_recompilations_have_ids(tmp_path: Path) -> None:
    recompiled = "Recompiling function f in a.py:3\n    triggered by the following guard failure(s):\n    - 0/0: L['scale'] == 2\n"
    text = f"{recompiled}\nAnd the breaks:\nGraph break in user code at exp06.py:XX\nReason: .item() call was found\n"
    (tmp_path / "run.txt").write_text(text, encoding="utf-8")
    breaks = [item.message.title for frame in load(tmp_path / "run.txt").frames for compile in frame.compiles for item in compile.breaks]
    assert breaks == [".item() call was found"]


WARNED = (
    "Graph break from `Tensor.item()`, consider setting:",
    "    torch._dynamo.config.capture_scalar_outputs = True",
    "",
    "Graph break: from user code at:",
    '  File "/srv/be.py", line 9, in fn',
    "    n = int(x.sum().item())",
    "",
)


@pytest.mark.parametrize("head", ["", "W1127 04:01:12.274000 22967 torch/_dynamo/variables/tensor.py:1759] [0/0]"])
def test_the_first_line_of_a_warning_is_enough_to_know_the_setting(head: str, tmp_path: Path) -> None:
    (item,) = breaks(logged(WARNED[:1], head), tmp_path)
    assert "Unsupported Tensor.item() call" in item.sentence
    assert item.messages[0].hints == ("Set torch._dynamo.config.capture_scalar_outputs = True",)


@pytest.mark.parametrize("title", ["Unsupported Tensor.item() call with capture_scalar_outputs=False", "Unsupported: Tensor.item"])
def test_a_break_that_a_warning_has_at_the_same_line_counts_once(title: str, tmp_path: Path) -> None:
    warning = logged(WARNED, "W1127 04:01:12.274000 22967 torch/_dynamo/variables/tensor.py:1759] [0/0]")
    broken = ("Graph break in user code at /srv/be.py:9", f"Graph Break Reason: {title}", "User code traceback:", *WARNED[-3:])
    (item,) = breaks(
        warning + logged(broken, "V1127 04:01:12.282000 22967 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks]"), tmp_path
    )
    assert "(once)" in item.sentence
    (item,) = breaks(warning, tmp_path)
    assert "(once)" in item.sentence


def test_the_compile_of_a_warning_comes_before_those_that_follow(tmp_path: Path) -> None:
    head = "V1127 04:01:13.282000 22967 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    text = logged(WARNED, "W1127 04:01:12.274000 22967 torch/_dynamo/variables/tensor.py:1759] [0/0]")
    text += f"{head}Recompiling function fn in /srv/be.py:7\n{head}    - 0/0: tensor 'x' rank mismatch. expected 2, actual 3\n"
    path = tmp_path / "run.txt"
    path.write_text(text, encoding="utf-8")
    assert [item.compile.label for item in analyze(load(path), debug=True).recompiles] == ["0/1"]


def test_a_sentence_within_which_the_log_ends_goes_on_as_in_another_break(tmp_path: Path) -> None:
    """Two ranks have the same break; of the second, the end of the text cuts the explanation, so that it has no hints."""
    heading = "Graph break in user code at /srv/a.py:8\nGraph Break Reason: Failed to trace builtin operator\n"
    explained = "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs False)\n"
    lines = f"{heading}{explained}  Hint: Avoid calling builtin `print`.\n".splitlines()
    text = "".join(
        f"[rank{rank}]:V1126 16:01:41.701000 1{rank} torch/_dynamo/x.py:416] [0/0] [__graph_breaks] {line}\n"
        for rank in (0, 1)
        for line in lines
    )
    path = tmp_path / "run.txt"
    path.write_text(text[: text.rindex("tr'] (has")], encoding="utf-8")
    (found,) = collect_alerts(analyze(load(path), debug=True), Repository()).alerts
    assert (found.count, found.helps) == (2, ("Avoid calling builtin `print`.",))


SKIPPED = (
    "Graph break in user code at /srv/{file}:7",
    "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    "Graph break encountered:",
    "",
    "Observed exception",
    "  Explanation: Dynamo found no exception handler.",
    "",
    "User code traceback:",
    '  File "/srv/main.py", line 12, in <module>',
    "    f(x)",
    '  File "/srv/{file}", line 7, in g',
    "    return x[k]",
)


def test_a_break_for_which_the_function_is_skipped_is_a_failed_compilation_with_its_own_place(tmp_path: Path) -> None:
    """As a trace of the same run has it."""
    head = "V1127 04:01:12.282000 22967 torch/_dynamo/symbolic_convert.py:5124] [{}/0] [__graph_breaks]"
    text = "".join(logged(SKIPPED, head.format(at)).format(file=file) for at, file in enumerate(("a.py", "b.py")))
    found = breaks(text, tmp_path)
    assert [str(alert.source_line) for alert in found] == ["/srv/a.py:7", "/srv/b.py:7"]
    assert {alert.sentence.partition(" failed to compile ")[2] for alert in found} == {"in Dynamo (tracing the code): Observed exception"}
    assert len({alert.fingerprint for alert in found}) == 2
    report = render(analyze(load(tmp_path / "run.txt")), Options()).decode()
    assert "2 compilations failed" in report
    assert "calls no longer run eagerly  " in report


def test_a_skipped_function_ends_before_the_next_one_of_the_same_id_begins(tmp_path: Path) -> None:
    """Ids start again after a reset: f is skipped in its second compile, then h is compiled twice."""
    start = "I1127 04:01:1{}.282000 22967 torch/fx/experimental/symbolic_shapes.py:4058] [0/{}] create_env\n"
    again = "V1127 04:01:1{}.282000 22967 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    text = ""
    for at, name in ((0, "f"), (5, "h")):
        head = again.format(at + 1)
        text += start.format(at, 0) + f"{head}Recompiling function {name} in /srv/a.py:{7 + at}\n"
        text += f"{head}    - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual {9 + at}\n" + start.format(at + 2, 1)
        if not at:
            broken = logged(SKIPPED, "V1127 04:01:13.282000 22967 torch/_dynamo/symbolic_convert.py:5124] [0/1] [__graph_breaks]")
            text += broken.replace("{file}", "a.py")
    path = tmp_path / "run.txt"
    path.write_text(text, encoding="utf-8")
    found = analyze(load(path), debug=True).recompiles
    assert [(item.frame.name, item.verdict, item.codes) for item in found] == [
        ("f", Verdict.FAILED, ("SL101",)),
        ("h", Verdict.MARKING, ("SL101",)),
    ]


CANNOT_RESUME = (
    "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.",
    "torch.compile will skip tracing the frame fn (/srv/a.py line 5) and fall back to eager.",
    "The graph break occurred in the following user code:",
    '  File "/srv/a.py", line 7, in fn',
    "    assert x is None",
    "",
    "Traceback (most recent call last):",
    '  File "/venv/lib/torch/_dynamo/exc.py", line 12, in unimplemented_v2',
    "    raise Unsupported(msg)",
)


@pytest.mark.parametrize("is_cut", [False, True])
def test_what_torch_2_8_skips_a_function_for_is_the_exception_below(is_cut: bool, tmp_path: Path) -> None:
    raised = ("torch._dynamo.exc.Unsupported: Data-dependent assert", "  Hint: Remove it.", "", "from user code:", *CANNOT_RESUME[3:5])
    head = "V1127 04:01:12.282000 22967 torch/_dynamo/convert_frame.py:1505] [0/0] [__graph_breaks]"
    (found,) = breaks(logged(CANNOT_RESUME if is_cut else CANNOT_RESUME + raised, head), tmp_path)
    error = "the log does not have the reason" if is_cut else "Data-dependent assert"
    assert found.sentence == f"fn failed to compile in Dynamo (tracing the code): {error}"
    assert found.helps == (("add the other log lines of this graph break: they name its reason",) if is_cut else ("Remove it.",))
    assert str(found.source_line) == "/srv/a.py:7"
    if is_cut:
        report = render(analyze(load(tmp_path / "run.txt")), Options()).decode()
        assert "1. Find and fix the graph break in fn: the log does not have its reason" in report
