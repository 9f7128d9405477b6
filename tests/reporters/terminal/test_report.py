"""The first screen of a report: short enough to be read, with what matters whole."""

import make
import pytest
from payload_text import equals_match, guard_tree, tensor_match
from recorded import FIXTURES, RECORDED, report_of

from shapelog import analyze, load
from shapelog.errors import INFO
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.rule_docs import RULES_URL
from shapelog.rules import Section

FEW, LINES, MOST_LINES = 3, 45, 54


def causes(name: str) -> int:
    """How many diagnostics a report has: alerts, and what concerns exports."""
    report = report_of(name)
    return len(collect_alerts(report, Repository()).alerts) + sum(item.rule.section is Section.EXPORTS for item in report.findings)


def shown(name: str, width: int = 80, verbose: bool = False) -> str:
    return renderer("report", "terminal")(report_of(name), Options(color=False, width=width, verbose=verbose)).decode()


@pytest.mark.slow
def test_the_report_of_a_few_causes_fits_a_screen() -> None:
    short = [name for name in RECORDED if causes(name) <= FEW]
    assert len(short) > 100
    assert [name for name in short if len(shown(name).splitlines()) > MOST_LINES] == []


def test_texts_of_pytorch_are_cut_after_a_sentence_and_shown_whole_with_verbose() -> None:
    name = "lab/int_drives_python.log.gz"
    short, whole = (" ".join(shown(name, verbose=verbose).split()) for verbose in (False, True))
    explanation = "when encountering an exception. Exception will propagate outside the compiled region."
    assert explanation not in short
    assert "when encountering an exception. …" in short
    assert explanation in whole


@pytest.mark.parametrize("name", ["lab/int_drives_python.log.gz", "lab/resume_object_attr.log.gz"])
def test_addresses_are_never_folded(name: str) -> None:
    alerts = collect_alerts(report_of(name), Repository()).alerts
    lines = shown(name, width=60, verbose=True).splitlines()
    shown_addresses = {line.removeprefix("   = see: ") for line in lines if line.startswith("   = see: ")}
    assert shown_addresses
    assert shown_addresses <= {message.url for alert in alerts for message in alert.messages}


@pytest.mark.parametrize(("width", "line"), [(80, "About the rules"), (140, "More about a rule: shapelog rule SL401, or")])
def test_a_report_ends_with_the_address_of_the_rules(width: int, line: str) -> None:
    last = shown("real/demo.log.gz", width).splitlines()[-1]
    assert last.startswith(line)
    assert last.endswith(RULES_URL)
    assert len(last) <= width


def test_a_long_report_begins_with_the_first_step() -> None:
    first, second, third = shown("real/demo.log.gz").splitlines()[:3]
    assert second == "Start here: Mark 3 inputs (4 entries) as dynamic"
    assert third.startswith("  saves 11 compilations (22.3–30.0 s); calls beyond the recompile limit no")
    assert first.startswith("demo.log.gz")


@pytest.mark.slow
def test_start_here_is_in_a_report_with_steps_that_is_longer_than_a_screen_and_in_no_other() -> None:
    """By lines, whatever they are about; what a text log has to type is on its only screen."""
    pages = {name: shown(name) for name in RECORDED}
    starts = {name for name, page in pages.items() if "\nStart here: " in page}
    assert starts == {name for name, page in pages.items() if "\nNext steps" in page and len(page.splitlines()) > LINES}
    assert 20 < len(starts) < len(pages) // 2


@pytest.mark.slow
def test_the_health_of_a_trace_is_shown_where_something_is_wrong() -> None:
    harmless = next(name for name in RECORDED if {problem.severity for problem in report_of(name).problems} == {INFO})
    damaged = next(name for name in RECORDED if {problem.severity for problem in report_of(name).problems} - {INFO})
    assert "Health of the trace" not in shown(harmless)
    assert "Health of the trace" in shown(harmless, verbose=True)
    assert "Health of the trace" in shown(damaged)


def test_of_many_files_the_first_is_named() -> None:
    report = analyze(load(FIXTURES / "real/2.13/uneven_ranks"))
    text = renderer("report", "terminal")(report, Options(color=False, width=140)).decode()
    assert text.startswith("dedicated_log_torch_trace_rank_0_3zmnalsh.log.gz and 3 more files  torch 2.13.0+cpu  3.5 MB  4 ranks\n")


def test_a_table_without_rows_is_left_out() -> None:
    assert "known, not used" not in renderer("report", "terminal")(make.report(make.small_trace()), Options(verbose=True)).decode()
    unused = make.small_trace() + make.artifact("fx_graph_runnable", "import torch", id="0/0")
    assert "known, not used" in renderer("report", "terminal")(make.report(unused), Options(verbose=True)).decode()


def test_words_of_verdicts_and_of_similar_graphs_are_those_of_the_summary() -> None:
    lines = [line.strip() for line in shown("real/demo.log.gz", 140, verbose=True).splitlines()]
    assert "0/0 is static; 0/1 0/2 0/3 are dynamic; no similar recompilation after 0/3" in lines
    assert "1/8 against 1/7  refused  0.00 s" in lines
    assert not [line for line in lines if "over the limit" in line or "converged" in line]


def test_code_that_never_compiled_is_no_code_with_0_compilations() -> None:
    failed = make.trace(make.dynamo_start(id="0/0"), make.metrics("0/0", fail_type="Unsupported", fail_reason="no", has_guarded_code=False))
    page = renderer("report", "terminal")(make.report(failed), Options(verbose=True)).decode()
    assert "1 failed compilation 1.00 s" in page


def test_code_that_failed_with_the_same_words_is_one_diagnostic() -> None:
    """Each function on the way to the line at which Dynamo stopped failed by itself."""
    failed = [make.compile(f"{number}/0", make.tensor(10, 8), name=name, **make.FAILED) for number, name in enumerate("fghkm")]
    other = make.compile("5/0", make.tensor(10, 8), name="n", **{**make.FAILED, "fail_reason": "yes"})
    report = make.report(make.trace(*failed, other))
    text, whole = (
        renderer("report", "terminal")(report, Options(color=False, width=100, verbose=verbose)).decode() for verbose in (False, True)
    )
    assert [line for line in text.splitlines() if line.startswith("error")] == [
        "error[SL403]: f failed to compile in Dynamo (tracing the code): no",
        "error[SL403]: n failed to compile in Dynamo (tracing the code): yes",
    ]
    also = [line for line in text.splitlines() if "= also" in line]
    assert also == ["   = also g, compilation 1/0", "   = also h, compilation 2/0", "   = also k, compilation 3/0", *also[3:]]
    assert also[3:] == ["   = also 1 more, shown with --verbose"]
    assert "   = also m, compilation 4/0" in whole.splitlines()


def test_what_pytorch_wrote_about_two_failures_of_one_function_is_shown_once() -> None:
    more = "\n  Explanation: Dynamo has no handler.\n\n For more details about this graph break, please visit: {}\n"
    page = more.format("https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0088.html")
    failed = [make.compile(f"0/{n}", make.tensor(10, 8), **{**make.FAILED, "fail_reason": f"no {n}{page}"}) for n in range(2)]
    text = renderer("report", "terminal")(make.report(make.trace(*failed)), Options(color=False, width=100)).decode()
    notes = [line for line in text.splitlines() if "no handler" in line or "= see" in line]
    assert notes == [
        "   = Dynamo has no handler.",
        "   = see: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0088.html",
    ]


def test_code_of_a_library_has_its_line_as_many_have_its_name() -> None:
    file = "/opt/site-packages/whisper/model.py"
    failed = [make.compile(f"{n}/0", make.tensor(10, 8), name="forward", file=file, line=9 + n, **make.FAILED) for n in range(2)]
    text = renderer("report", "terminal")(make.report(make.trace(*failed)), Options(color=False, width=100)).decode()
    assert "   = also forward (model.py:10), compilation 1/0" in text.splitlines()


def test_what_one_remedy_removes_in_the_same_recompilations_is_one_diagnostic() -> None:
    first, second = (
        make.compile(f"0/{number}", make.tensor(size, 8), symbols=[("s0", value, "L['k']")] if number else (), guards=guards)
        for number, (size, value, guards) in enumerate(
            (
                (10, 3, guard_tree(tensor_match(), equals_match("L['k']", 3))),
                (12, 4, guard_tree(tensor_match(size=(12, 8)))),
            )
        )
    )
    text = renderer("report", "terminal")(make.report(make.trace(first, second)), Options(color=False, width=120)).decode()
    assert [line.partition(":")[0] for line in text.splitlines() if line.startswith("warning")] == ["warning[SL101]"]
    assert "   = also the int k changed from 3 to 4 (SL102)" in text.splitlines()


@pytest.mark.parametrize("verbose", [False, True])
def test_nothing_that_changed_is_left_out_of_a_diagnostic_of_several_rules(verbose: bool) -> None:
    """Two ints changed together with a size, which is of another rule."""
    ints = (guard_tree(tensor_match(), equals_match("L['k']", 3), equals_match("L['n']", 5)), guard_tree(tensor_match(size=(12, 8))))
    first, second = (
        make.compile(
            f"0/{number}",
            make.tensor(size, 8),
            symbols=[("s0", 4, "L['k']"), ("s1", 6, "L['n']")] if number else (),
            guards=guards,
        )
        for number, (size, guards) in enumerate(zip((10, 12), ints, strict=True))
    )
    options = Options(color=False, width=120, verbose=verbose)
    lines = renderer("report", "terminal")(make.report(make.trace(first, second)), options).decode().splitlines()
    assert "   = also the int k changed from 3 to 4; n changed too (SL102)" in lines
    assert ("   = also: the int n changed from 5 to 6" in lines) is verbose


def test_verbose_counts_the_parameters_of_another_module() -> None:
    """A method that modules of two widths share: all their parameters differ."""
    names = [f"L['self']._modules['{name}']._parameters['weight']" for name in "abcdef"]
    first, second = (
        make.compile(
            f"0/{number}",
            *(make.tensor(size, source=name, is_parameter=True) for name in names),
            guards=guard_tree(*(tensor_match(name, size=(size,)) for name in names)),
        )
        for number, size in enumerate((10, 12))
    )
    options = Options(color=False, width=180, verbose=True)
    text = renderer("report", "terminal")(make.report(make.trace(first, second)), options).decode()
    diagnostic, frames = text.split("\nFrames  ")
    assert "   = also: 5 more, listed under Frames\n" in diagnostic
    assert [line.strip() for line in frames.partition("\nTop causes")[0].splitlines() if "parameter" in line] == [
        "SL101 SL106 dim 0 of self.a.weight changed from 10 to 12; it is a parameter (of another module, or a new one), "
        "and parameters are static by default",
        "and 5 more sizes of parameters changed",
    ]
    assert all(f"self.{name}.weight.size[0]  10 12" in frames for name in "abcdef")


def test_verbose_quotes_a_line_once_for_a_frame() -> None:
    frames = shown("lab/optimizer_loop.log.gz", 120, verbose=True).partition("\nFrames  ")[2].partition("\nTop causes")[0]
    places = [line.strip() for line in frames.splitlines() if line.startswith("        at ")]
    assert len([place for place in places if "  " in place]) == len({place.partition("  ")[0] for place in places}) > 0


def summary_of(made: bytes) -> list[str]:
    """The lines from the summary on."""
    lines = renderer("report", "terminal")(make.report(made), Options(color=False, width=100)).decode().splitlines()
    return lines[next(number for number, line in enumerate(lines) if line.startswith("Summary: ")) :]


def timed(label: str, seconds: float, name: str = "f") -> bytes:
    times = {"inductor_compile_time_s": seconds / 2, "aot_autograd_cumulative_compile_time_us": int(750_000 * seconds)}
    return make.compile(label, make.tensor(8, 8), name=name, seconds=seconds, backend_compile_time_s=0.75 * seconds, **times)


def test_bars_are_shares_of_the_seconds_beside_them() -> None:
    sizes = make.static_sizes(8, 3, seconds=9.0)
    dtype = "{}: tensor 'x' dtype mismatch. expected Float, actual Double"
    others = [
        make.compile(f"1/{number}", make.tensor(8, 8), name="g", seconds=0.5, reasons=[dtype.format("1/0")] * bool(number))
        for number in range(3)
    ]
    rows = [line.split()[-1] for line in summary_of(make.trace(sizes, *others))[1:3]]
    assert list(map(len, rows)) == [14, 2]


def test_where_the_time_went_is_shown_where_nothing_needs_to_be_mended() -> None:
    assert summary_of(make.trace(timed("0/0", 4.0), timed("1/0", 12.0, "g"))) == [
        "Summary: 2 compilations (16.0 s), no recompilations",
        "  time: Inductor 8.00 s, Dynamo 4.00 s, AOTAutograd 4.00 s",
        "  most expensive: 1/0 g, 12.0 s, of which Inductor 6.00 s",
    ]
    assert summary_of(make.trace(timed("0/0", 8.0)))[1:] == ["  time: Inductor 4.00 s, Dynamo 2.00 s, AOTAutograd 2.00 s"]
    assert summary_of(make.trace(timed("0/0", 2.0), timed("1/0", 2.5, "g")))[1:] == []
    warned = summary_of(make.trace(make.static_sizes(10, 12, seconds=20.0)))
    assert not any(line.startswith(("  time: ", "  most expensive: ")) for line in warned)


@pytest.mark.parametrize(("hits", "line"), [("", None), ("0", "  1 from"), ("01", "  all from")])
def test_compilations_from_a_compile_cache_are_counted(hits: str, line: str | None) -> None:
    made = make.trace(timed("0/0", 1.0), timed("1/0", 1.0, "g"))
    made += b"".join(make.artifact("fx_graph_cache_hit", "{}", id=f"{number}/0") for number in hits)
    assert summary_of(made)[1:] == ([f"{line} a compile cache, so no kernels were generated"] if line else [])


def test_compilations_that_failed_count_in_the_first_sentence_of_the_summary() -> None:
    failed = make.dynamo_start(id="1/0") + make.metrics("1/0", fail_type="Unsupported", fail_reason="no", has_guarded_code=False)
    some = make.report(make.trace(make.static_sizes(10, 12), failed))
    lines = renderer("report", "terminal")(some, Options(color=False, width=120)).decode().splitlines()
    assert "Summary: 3 compilations: 1 failed (1.00 s), 2 succeeded (2.00 s), including 1 recompilation (1.00 s)" in lines
    assert not [line for line in lines if line.endswith(" failed (1.00 s)")]
    none = make.report(make.trace(failed))
    lines = renderer("report", "terminal")(none, Options(color=False, width=120)).decode().splitlines()
    assert lines[lines.index("Summary: no compilation succeeded") + 1] == "  1 compilation failed (1.00 s)"


def test_the_summary_counts_compilations_that_did_not_finish() -> None:
    report = make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), make.dynamo_start("g", id="1/0")))
    lines = renderer("report", "terminal")(report, Options(color=False, width=80)).decode().splitlines()
    summary = next(number for number, line in enumerate(lines) if line.startswith("Summary: 1 compilation"))
    assert "  1 compilation did not finish" in lines[summary:]
    assert "did not finish" not in shown("lab/compiled_autograd_batch.log.gz")
    alone = make.report(make.trace(make.dynamo_start("g", id="1/0"), make.dynamo_start("h", id="2/0")))
    text = renderer("report", "terminal")(alone, Options(color=False, width=80)).decode()
    assert "Summary: 2 compilations did not finish" in text
    assert "nothing was compiled" not in text
