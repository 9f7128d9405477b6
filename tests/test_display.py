"""What notebooks and consoles show of the objects that people get from Python."""

import html
import re
from typing import Any

import make
import pytest
from recorded import FIXTURES, report_of
from vllm_traces import llama

import shapelog
from shapelog.model.trace import Trace

DEMO = FIXTURES / "real" / "demo.log.gz"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return shapelog.load(DEMO)


def read(fragment: str) -> str:
    """The text of a fragment, without its style."""
    return html.unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", "", fragment))


def test_a_trace_shows_its_functions_and_what_to_do_with_it(trace: Trace) -> None:
    text = read(trace._repr_html_())
    assert "demo.log.gz torch 2.13.0+cpu · 19 compilations in 1 min 7 s" in text
    assert text.index("Classifier.forward demo.py:14") < text.index("MovingAverage.forward demo.py:28")
    assert "shapelog.analyze(trace)" in text


def test_what_was_compiled_outside_of_frames_is_no_empty_trace() -> None:
    found = report_of("real/2.13/export_violation.log.gz")
    assert "torch 2.13.0+cpu · 1 export shapelog.analyze" in " ".join(read(found.trace._repr_html_()).split())
    assert "1 export failed. torch" in read(found._repr_html_())
    found = make.report(make.trace(llama()))
    assert "torch 2.13.0+cpu · 8 piecewise compilations of vLLM" in read(found.trace._repr_html_())
    assert "8 piecewise compilations of vLLM. torch" in read(found._repr_html_())
    assert "Nothing was compiled in this run." in read(make.report(make.trace())._repr_html_())


def test_a_report_and_the_advice_show_python_to_paste_and_no_shell(trace: Trace) -> None:
    report = shapelog.analyze(trace)
    assert report.advice is not None
    for fragment in (report._repr_html_(), report.advice._repr_html_(), shapelog.advise(trace)._repr_html_()):
        (code,) = re.findall(r"(?s)<pre><code>(.*?)</code></pre>", fragment)
        compile(html.unescape(code), "pasted", "exec")
        assert "torch.compiler.config.dynamic_sources" in code
        assert "export " not in fragment


def test_python_for_a_torch_without_a_list_marks_the_tensors() -> None:
    advice = shapelog.advise(make.load(make.trace(make.static_sizes(10, 12), version="2.6.0")))
    assert "torch._dynamo.mark_dynamic(x, 0)" in read(advice._repr_html_())


def large() -> Trace:
    frames = [make.static_sizes(*range(10, 17), frame=number, name=f"f{number}" * 50, line=number + 1) for number in range(60)]
    return make.load(make.trace(*frames))


def test_every_object_stands_in_one_line_and_a_display_of_bounded_size() -> None:
    trace = large()
    report = shapelog.analyze(trace)
    advice = report.advice
    assert advice is not None
    for item in (trace, report, advice):
        assert len(item._repr_html_()) < 60_000
    for one in (trace, trace.ranks[0], trace.frames[0], report, report.frames[0], report.explained, advice, advice.suggestions[0]):
        assert re.fullmatch(r"<[A-Z].{,300}>", repr(one)), type(one)


def test_the_line_of_an_object_counts_and_names(trace: Trace) -> None:
    report = shapelog.analyze(trace)
    assert repr(trace) == "<Trace demo.log.gz: torch 2.13.0+cpu, 4 functions, 19 compilations>"
    assert repr(trace.frames[1]) == "<Frame 1 MovingAverage.forward: 8 compilations>"
    assert repr(report) == "<Report on demo.log.gz: 15 recompilations in 39.1 s>"
    assert repr(report.advice) == "<Advice for torch 2.13: mark 3 inputs (4 entries)>"
    nothing = shapelog.advise(make.load(make.trace(make.static_sizes(10))))
    assert repr(nothing) == "<Advice for torch 2.13: nothing to mark>"


def objects(trace: Trace) -> list[Any]:
    """One object of each kind inside a trace and its report."""
    report = shapelog.analyze(trace)
    assert report.advice is not None
    parts = [trace.ranks[0], trace.frames[0], trace.frames[0].compiles[1], report.frames[0], report.explained]
    parts += [report.recompiles[0], report.recompiles[0].causes[0], report.advice.suggestions[0], *report.findings[:1], *report.tables]
    return parts


def test_every_object_inside_has_a_display_of_its_own(trace: Trace) -> None:
    shown = {type(item).__name__: read(item._repr_html_()) for item in objects(trace)}
    assert set(shown) == {
        *("Rank", "Frame", "Compile", "FrameReport", "Explanations", "Recompile", "Cause", "Suggestion", "Finding", "Table"),
    }
    assert "Classifier.forwarddemo.py:14" in shown["Rank"]
    assert "Compilation 0/1 compiled" in shown["Compile"]
    assert "dim 1 of tokens changed from 32 to 48" in shown["Cause"]
    assert "A1: mark dims 0 and 1 of tokens as dynamic" in shown["Suggestion"]
    assert "SL401 recompile-limit-hit" in shown["Finding"]


def test_what_stays_the_alternatives_and_exports_have_a_display_too() -> None:
    assert "SL314" in read(report_of("lab/dict_keys.log.gz").advice.remaining[0]._repr_html_())
    assert "set_stance" in read(report_of("lab/batch_varies.log.gz").advice.alternatives[0]._repr_html_())
    (export,) = report_of("real/2.13/export_draft.log.gz").trace.exports
    assert "u3 >= 3True" in read(export._repr_html_())
    assert repr(export) == "<Export 1: exported>"


@pytest.mark.slow
def test_displays_inside_are_bounded_and_harmless() -> None:
    many = objects(large())
    name = "f\x1b[2J\n<script>alert(1)</script>\u202e"
    hostile = objects(make.load(make.trace(make.static_sizes(10, 12, name=name, source="L['<b>']"))))
    for item in (*many, *hostile):
        fragment = item._repr_html_()
        assert len(fragment) < 60_000
        assert "<script" not in fragment
        assert "<b>'" not in fragment
        assert "\u202e" not in fragment
        assert "\x1b" not in fragment


def test_names_of_a_trace_harm_neither_a_console_nor_a_notebook() -> None:
    name = "f\x1b[2J\n<script>alert(1)</script>\u202e"
    trace = make.load(make.trace(make.static_sizes(10, 12, name=name), version="2.13\x1b[2J"))
    report = shapelog.analyze(trace)
    for item in (trace, trace.frames[0], report, report.advice):
        assert repr(item).isprintable()
    for fragment in (trace._repr_html_(), report._repr_html_()):
        assert "<script" not in fragment
        assert "\u202e" not in fragment
