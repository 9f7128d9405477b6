"""``with shapelog.record() as trace:``, what it writes, what it leaves behind, and how it shows itself."""

import gc
import html
import logging
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import make
import pytest
from payload_text import code_comment, guard_manager, guard_tree
from recorded import report_of

import shapelog
from shapelog.advice.paste_formats import as_python
from shapelog.errors import ShapelogError
from shapelog.recording import Recording
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.rules import Verdict

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
HOSTILE = "</style></div><script>alert(1)</script><img src=x onerror=alert(2)>"
TURN = "\u202egnp.exe"


# How a recording shows itself.


@pytest.mark.parametrize("ranks", [1, 16, 17, 64])
def test_a_recording_of_one_rank_is_its_own_and_those_of_all_are_one_job(tmp_path: Path, ranks: int) -> None:
    for rank in range(ranks):
        made = written(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log", make.small_trace())
    assert (len(made.compiles), made.trace.ranks[0].number) == (2, ranks - 1)
    trace = shapelog.load(tmp_path)
    assert sum(len(members) for members in trace.representatives.values()) == (ranks if ranks > 16 else 0)
    assert ranks > 16 or len(trace.ranks) == ranks


def test_a_recording_that_was_removed_is_an_error_with_its_name(recording: Recording) -> None:
    recording.path.unlink()
    with pytest.raises(ShapelogError, match=r"aaaaaaaa\.log: cannot read what was recorded: No such file"):
        _ = recording.report


def written(path: Path, data: bytes) -> Recording:
    path.write_bytes(data)
    return Recording(path)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return written(tmp_path / "dedicated_log_torch_trace_aaaaaaaa.log", make.small_trace())


class _Tags(HTMLParser):
    """The elements and attributes of a fragment, and those that were not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(f"{tag}.{name}" for name, _ in attrs)}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_recording_is_loaded_and_analyzed_as_its_file_is(recording: Recording) -> None:
    assert [compile.label for compile in recording.trace.compiles] == ["0/0", "0/1"]
    assert [item.codes for item in recording.report.recompiles] == [("SL101",)]
    assert recording.report is recording.report
    assert recording.trace.notes == ()


def test_its_compiles_and_recompiles_are_at_hand_and_short_when_printed(recording: Recording) -> None:
    assert repr(recording.compiles) == "(<Compile 0/0: compiled>, <Compile 0/1: compiled>)"
    assert repr(recording.recompiles) == "(<Recompile 0/1 of f: SL101, avoidable by marking>,)"


def test_a_compile_after_one_that_failed_is_no_recompile(tmp_path: Path) -> None:
    failed = {"fail_type": "Unsupported", "fail_reason": "no", "has_guarded_code": False}
    recording = written(
        tmp_path / "failed.log",
        make.trace(make.compile("0/0", make.tensor(8, 16), **failed), make.compile("0/1", make.tensor(8, 16), **failed)),
    )
    assert (recording.compiles, recording.recompiles, len(recording.report.recompiles)) == ((), (), 1)


def test_later_records_are_read_on_the_next_access(recording: Recording) -> None:
    assert recording.report.summary.compiles == 2
    with recording.path.open("ab") as file:
        file.write(make.compile("1/0", make.tensor(8, 16)))
    assert recording.report.summary.compiles == 3


def test_the_advice_is_that_of_the_report_and_includes_later_records(recording: Recording) -> None:
    assert recording.advice is recording.report.advice
    assert recording.advice.env == "L['x']:0"
    before = recording.advice.before.total
    with recording.path.open("ab") as file:
        file.write(make.compile("1/0", make.tensor(8, 16)))
    assert recording.advice.before.total == before + 1


def test_failed_advice_is_an_error_with_the_command_that_shows_why(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no advice")

    monkeypatch.setattr("shapelog.report.report.advise", fail)
    assert "2 compilations" in recording._repr_html_()
    with pytest.raises(ShapelogError, match=r"the advice failed; shapelog suggest-dynamic .* --debug shows why"):
        _ = recording.advice


def test_printed_it_is_the_report_without_color(recording: Recording) -> None:
    shown = renderer("report", "terminal")(recording.report, Options(color=False)).decode()
    assert str(recording) == shown
    assert "warning[SL101]" in shown
    assert "\x1b" not in shown
    assert repr(recording) == f"<shapelog.Recording {str(recording.path)!r}>"


def test_in_a_notebook_it_shows_numbers_frames_and_recompiles(recording: Recording) -> None:
    shown = recording._repr_html_()
    for text in (
        "2 compilations",
        "1 recompilation",
        "torch 2.13.0+cpu",
        "avoidable by marking",
        "x.size[0]",
        "dim 0 of x changed from 8 to 3",
    ):
        assert text in shown
    assert shown.startswith("<div")
    tags = _Tags(shown)
    assert tags.open == []
    assert tags.seen <= {"br", "b", "code", "li", "ol", "p", "pre", "style", "caption", "thead", "tbody", "tr"} | {
        name if part == "" else f"{name}.{part}" for name in ("div", "span", "table", "td", "th") for part in ("", "class", "style")
    }


def shown(report: Report, limit: int = 0) -> str:
    """The fragment without its style, its entities read, blanks folded."""
    text = renderer("recording", "notebook")(report, Options(limit=limit)).decode()
    return " ".join(html.unescape(re.sub(r"(?s)<style>.*?</style>", "", text)).split())


def test_in_a_notebook_it_shows_what_to_set_as_a_line_to_copy(recording: Recording) -> None:
    text = shown(recording.report)
    assert "<b>Mark 1 input as dynamic</b>: 1 of 2 compilations goes away (saves " in text
    assert f"<pre><code>{' '.join(as_python(recording.advice).split())}</code></pre>" in text
    assert "export " not in text
    assert "What marking will not fix" not in text


def test_in_a_notebook_the_three_first_steps_come_before_everything_else() -> None:
    report = report_of("real/2.6/l_failures.log.gz")
    text = shown(report, limit=12)
    steps = next_steps(collect_alerts(report, Repository()))
    assert len(steps) > 3
    places = [text.index("Next steps"), *(text.index(html.escape(step.title, quote=False)[:60]) for step in steps[:3])]
    assert places == sorted(places)
    assert html.escape(steps[0].hints[0].split(".")[0], quote=False) in text
    assert html.escape(steps[4].title, quote=False) not in text
    assert f"… {len(steps) - 3} more step" in text


def test_in_a_notebook_it_shows_what_marking_will_not_fix_and_what_was_left_out() -> None:
    report = report_of("lab/callable_identity.log.gz")
    text = shown(report)
    assert report.advice is not None
    assert "<b>Nothing to mark as dynamic</b>" in text
    assert f'<p class="dim">{report.advice.why_empty}</p>' in text
    (left,) = report.advice.remaining
    for part in ("What marking will not fix", left.frame.title, left.rule.code, left.sentence, f"→ {left.remedy}"):
        assert part in text
    formatted = make.report(make.trace(make.int_values(3, 4, comment=code_comment(7, "name = f'{k}'"))))
    assert "Left out: <code>L['k']</code> f formats k into a string" in shown(formatted)


def test_a_list_that_is_too_long_is_not_shown_but_where_to_get_it() -> None:
    made = make.trace()
    for number, size in enumerate((10, 12)):
        made += make.compile(f"0/{number}", *(make.tensor(size, 8, source=f"L['{'x' * 40}{index}']") for index in range(60)))
    text = shown(make.report(made))
    assert '<p class="dim">60 entries: print(advice.env) shows them, and print(trace.advice.env) those of a recording</p>' in text
    assert "export " not in text


def test_nothing_in_the_fragment_is_fetched_or_run(recording: Recording) -> None:
    assert not re.search(r"(?i)https?:|url\(|@import|<script|<link|<iframe|\son\w+=|src=", recording._repr_html_())


@pytest.mark.parametrize("text", [HOSTILE, TURN])
def test_names_and_values_of_a_trace_stay_text_in_a_notebook(text: str) -> None:
    trace = make.trace(version=f"2.13.0{text}")
    trace += make.compile("0/0", make.tensor(10, 8), name=text) + make.compile(
        "0/1",
        make.tensor(10, 8),
        name=text,
        reasons=(f"0/0: L['mode'] == {text!r}",),
        guards=guard_tree(guard_manager("L['mode']", f"EQUALS_MATCH: L['mode'] == {text!r}")),
    )
    trace += make.refused("0/2", f"0/1: L['mode'] == {text!r}")
    shown = renderer("recording", "notebook")(make.report(trace), Options()).decode()
    tags = _Tags(shown)
    assert tags.open == []
    assert not tags.seen & {"script", "img", "img.onerror"}
    assert "\u202e" not in shown
    assert ("&lt;script&gt;" if text == HOSTILE else "\\u202egnp.exe") in shown


def test_long_lists_are_cut_in_a_notebook_and_what_is_left_out_is_counted() -> None:
    shown = renderer("recording", "notebook")(report_of("real/demo.log.gz"), Options(limit=3)).decode()
    assert "… 1 more frame<" in shown
    assert "… 13 more recompilations<" in shown
    assert "Recompile limit reached" in shown
    assert "more" not in re.sub(
        r"(?s)<style>.*?</style>", "", renderer("recording", "notebook")(report_of("real/demo.log.gz"), Options(limit=0)).decode()
    )


def test_a_run_without_compiles_and_one_with_problems_are_reported(tmp_path: Path) -> None:
    assert "Nothing was compiled in this run." in written(tmp_path / "empty.log", make.trace())._repr_html_()
    damaged = written(tmp_path / "damaged.log", make.small_trace() + b"this is no record\n")
    assert "<b>1 problem</b> in the trace" in damaged._repr_html_()


# Entries that were made before the recording began.


def late(reason: str, *more: str, **fields: Any) -> Report:
    """The report on a first recorded compile that is its frame's third."""
    return make.report(make.trace(make.compile("0/2", make.tensor(5, 8), reasons=(f"0/1: {reason}", *more), **fields)))


def test_a_recompile_against_an_entry_that_was_not_recorded_is_explained_in_the_words_of_pytorch() -> None:
    report = late("tensor 'x' size mismatch at index 0. expected 4, actual 5")
    (recompile,) = report.recompiles
    (cause,) = recompile.causes
    assert (cause.codes, cause.source, cause.axis, cause.before, cause.after) == (("SL101",), "L['x']", "x.size[0]", "4", "5")
    assert (recompile.nearest, recompile.entries_checked, report.summary.recompiles) == (None, 0, 1)
    assert recompile.unexplained_because.startswith("for 0/1, only the first failed guard is recorded")


def test_whether_marking_is_enough_is_not_promised_without_the_graph_of_the_entry() -> None:
    assert late("tensor 'x' size mismatch at index 0. expected 4, actual 5").recompiles[0].verdict is Verdict.UNEXPLAINED
    assert late("GLOBAL_STATE changed: grad_mode").recompiles[0].verdict is Verdict.CODE


def test_of_several_entries_that_were_not_recorded_the_nearest_counts_and_all_are_named() -> None:
    size = "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5"
    (recompile,) = late("GLOBAL_STATE changed: grad_mode", size).recompiles
    assert recompile.codes == ("SL101",)
    assert recompile.unexplained_because.startswith("for 0/1, 0/0, only the first failed guard is recorded")


def test_a_recorded_entry_is_compared_with_and_the_others_left_aside() -> None:
    recorded = make.trace(make.compile("0/1", make.tensor(5, 8)))
    recorded += make.compile(
        "0/2",
        make.tensor(6, 8),
        reasons=(
            "0/1: tensor 'x' size mismatch at index 0. expected 5, actual 6",
            "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6",
        ),
    )
    (recompile,) = make.report(recorded).recompiles
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.verdict, recompile.unexplained_because) == ("0/1", Verdict.MARKING, "")


def test_unknown_facts_are_reported_in_the_terminal_and_in_a_notebook(tmp_path: Path) -> None:
    report = late("tensor 'x' size mismatch at index 0. expected 4, actual 5")
    for render in (renderer("report", "terminal"), renderer("recording", "notebook")):
        assert "for 0/1, only the first failed guard is recorded" in " ".join(render(report, Options(width=300)).decode().split())


# Without PyTorch, or with one that cannot be recorded.


def test_without_torch_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ShapelogError, match="torch cannot be imported"), shapelog.record():
        pass


def test_a_torch_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.5.1+cu124"))
    with pytest.raises(ShapelogError, match=r"needs torch 2\.6 or later, this is 2\.5\.1\+cu124"), shapelog.record():
        pass


# The real thing.


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """A compiled function of a tensor with ``size`` rows; no entries from before, none left."""
    torch = pytest.importorskip("torch", minversion="2.13")
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    torch._dynamo.reset()

    @torch.compile(backend="eager")
    def double(x: Any) -> Any:
        return torch.relu(x) * 2

    yield lambda size: double(torch.ones(size, 3))
    torch._dynamo.reset()


def verdicts(recording: Recording) -> list[tuple[str, tuple[str, ...], Verdict]]:
    assert not recording.report.has_problems, recording.report.problems
    return [(item.compile.label, item.codes, item.verdict) for item in recording.report.recompiles]


@pytest.mark.torch
def test_compiles_in_the_block_are_recorded(compiled: Callable[..., Any]) -> None:
    with shapelog.record() as trace:
        compiled(4)
        compiled(7)
    compiled(1)
    assert verdicts(trace) == [("0/1", ("SL101",), Verdict.MARKING)]
    assert (trace.trace.torch_version, trace.report.summary.compiles) == (sys.modules["torch"].__version__, 2)
    assert trace.report.frames[0].frame.file == __file__


@pytest.mark.torch
def test_a_recording_can_be_looked_at_before_it_ends(compiled: Callable[..., Any]) -> None:
    with shapelog.record() as trace:
        assert "nothing was compiled" in str(trace)
        compiled(4)
        assert verdicts(trace) == []
        compiled(7)
        assert verdicts(trace) == [("0/1", ("SL101",), Verdict.MARKING)]


@pytest.mark.torch
def test_recordings_nest_and_repeat_and_file_names_are_known_in_each(compiled: Callable[..., Any]) -> None:
    traces = []
    with shapelog.record() as outer:
        compiled(4)
        for size in (7, 1):
            with shapelog.record() as inner:
                compiled(size)
            traces.append(inner)
    assert [compile.label for compile in outer.trace.compiles] == ["0/0", "0/1", "0/2"]
    assert [[compile.label for compile in trace.trace.compiles] for trace in traces] == [["0/1"], ["0/2"]]
    for compile in (compile for trace in (outer, *traces) for compile in trace.trace.compiles):
        assert compile.stack.frames[-1].file == __file__
        assert all(frame.file for frame in compile.stack.frames)


@pytest.mark.torch
def test_an_entry_from_before_the_block_is_known_from_its_reasons(compiled: Callable[..., Any]) -> None:
    compiled(4)
    with shapelog.record() as trace:
        compiled(7)
    assert verdicts(trace) == [("0/1", ("SL101",), Verdict.UNEXPLAINED)]
    assert "dim 0 of x" in str(trace)
    assert "for 0/0, only the first failed guard is recorded" in str(trace)


@pytest.mark.torch
def test_an_exception_passes_through_and_leaves_a_readable_trace(compiled: Callable[..., Any]) -> None:
    with pytest.raises(ZeroDivisionError), shapelog.record() as trace:  # noqa: PT012
        compiled(4)
        compiled(1 // 0)
    assert [compile.label for compile in trace.trace.compiles] == ["0/0"]


@pytest.mark.torch
@pytest.mark.parametrize("is_off", [False, True])
def test_the_logger_is_left_as_it_was_and_recorded_from_though_switched_off(compiled: Callable[..., Any], is_off: bool) -> None:
    logger = logging.getLogger("torch.__trace")
    compiled(4)  # PyTorch's own handler has gone by now
    before = (list(logger.handlers), logger.level, logger.isEnabledFor)
    try:
        logger.disabled = is_off
        logging.disable(logging.CRITICAL if is_off else logging.NOTSET)
        with shapelog.record() as trace:
            compiled(7)
        assert (list(logger.handlers), logger.level, logger.isEnabledFor) == before
        assert logger.disabled is is_off
    finally:
        logger.disabled = False
        logging.disable(logging.NOTSET)
    assert [compile.label for compile in trace.trace.compiles] == ["0/1"]


@pytest.mark.torch
def test_recordings_may_end_in_the_order_in_which_they_began(compiled: Callable[..., Any]) -> None:
    logger = logging.getLogger("torch.__trace")
    compiled(4)
    before = (dict(vars(logger)), list(logger.handlers))
    first, second = shapelog.record(), shapelog.record()
    earlier, later = first.__enter__(), second.__enter__()
    compiled(7)
    first.__exit__(None, None, None)
    compiled(1)
    second.__exit__(None, None, None)
    assert (dict(vars(logger)), list(logger.handlers)) == before
    assert [[compile.label for compile in trace.compiles] for trace in (earlier, later)] == [["0/1"], ["0/1", "0/2"]]


@pytest.mark.torch
def test_handlers_of_the_root_logger_get_nothing_and_one_of_the_trace_logger_gets_all(compiled: Callable[..., Any]) -> None:
    for_people, for_traces = _Kept(), _Kept()
    logger, root = logging.getLogger("torch.__trace"), logging.getLogger()
    root.addHandler(for_people)
    logger.addHandler(for_people)
    logger.addHandler(for_traces)
    try:
        with shapelog.record() as trace:
            logger.disabled = True  # as logging.config.dictConfig leaves it
            compiled(4)
    finally:
        logger.disabled = False
        logger.removeHandler(for_people)
        logger.removeHandler(for_traces)
        root.removeHandler(for_people)
    assert len(trace.compiles) == 1
    assert for_people.records == []
    assert len(for_traces.records) > 10


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.mark.torch
def test_a_temporary_trace_is_removed_with_its_recording_and_any_other_is_not(compiled: Callable[..., Any], tmp_path: Path) -> None:
    with shapelog.record() as temporary:
        compiled(4)
    with shapelog.record(tmp_path / "new" / "folder") as kept:
        compiled(7)
    gone, stays = temporary.path, kept.path
    assert gone.exists()
    del temporary, kept
    gc.collect()
    assert not gone.parent.exists()
    assert shapelog.load(stays.parent).torch_version
    assert stays.parent == tmp_path / "new" / "folder"


@pytest.mark.torch
def test_a_directory_that_cannot_be_made_is_an_error(compiled: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ShapelogError, match="cannot record there"), shapelog.record(tmp_path / "file"):
        pass


BOTH = """
import os, sys
import torch
import shapelog

compiled = torch.compile(lambda größe: torch.relu(größe) * 2, backend="eager")
with shapelog.record("recorded"):
    for size in (4, 7, 1):
        compiled(torch.ones(size, 3))
compiled(torch.ones(3, 3, dtype=torch.float64))
"""
FORK = """
import os, sys
import torch
import shapelog

compiled = torch.compile(lambda x: torch.relu(x) * 2, backend="eager")
with shapelog.record("recorded") as kept, shapelog.record() as trace:
    compiled(torch.ones(4))
    child = os.fork()
    compiled(torch.ones(7) if child else torch.ones(5, dtype=torch.float64))
    if not child:
        del trace
        sys.exit()
    os.waitpid(child, 0)
assert trace.path.exists()
print(*sorted(str(compile.label) for compile in trace.trace.compiles))
"""


def run(python: Process, tmp_path: Path, program: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    pytest.importorskip("torch", minversion="2.13")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = python("import runpy; runpy.run_path('program.py', run_name='__main__')", OMP_NUM_THREADS="1", **environment)
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.mark.torch
def test_torch_trace_is_written_too_with_the_same_records(python: Process, tmp_path: Path) -> None:
    run(python, tmp_path, BOTH, TORCH_TRACE="traced")
    recorded, traced = (shapelog.analyze(shapelog.load(tmp_path / name)) for name in ("recorded", "traced"))
    assert not recorded.has_problems
    assert [compile.label for compile in recorded.trace.compiles] == ["0/0", "0/1", "0/2"]
    assert [compile.label for compile in traced.trace.compiles] == ["0/0", "0/1", "0/2", "0/3"]
    assert [(item.causes, item.verdict) for item in recorded.recompiles] == [(item.causes, item.verdict) for item in traced.recompiles[:2]]
    shared = {"compilation_metrics": 1, "str": 0, "dynamo_start": 1}
    assert {kind: traced.accounts[0].records[kind] - recorded.accounts[0].records[kind] for kind in shared} == shared


@pytest.mark.torch
def test_nothing_is_lost_where_the_locale_is_ascii(python: Process, tmp_path: Path) -> None:
    done = run(python, tmp_path, BOTH, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", LC_ALL="C")
    assert b"Logging error" not in done.stderr
    report = shapelog.analyze(shapelog.load(tmp_path / "recorded"))
    (path,) = (tmp_path / "recorded").iterdir()
    text = path.read_text(encoding="utf-8")
    assert text.count('"ph": "B"') == text.count('"ph": "E"') > 0  # the very first record is the beginning of a phase
    assert [item.causes[0].axis for item in report.recompiles] == ["größe.size[0]"] * 2


@pytest.mark.torch
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_recorded_too_and_does_not_take_the_trace_away(python: Process, tmp_path: Path) -> None:
    assert run(python, tmp_path, FORK).stdout.split() == [b"0/0", b"0/1", b"0/1"]
