"""What a report has on vLLM, in its own terms."""

import make
import vllm_traces
from recorded import report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import StepKind, saving_words
from shapelog.reporters import Options, renderer


def report(*records: bytes) -> Report:
    return analyze(make.load(make.trace(*records)))


RANGES = vllm_traces.piece(0, 1, 8), vllm_traces.piece(0, 9, 64)


def rows(found: Report, name: str) -> list[tuple[object, ...]]:
    table = found.table(name)
    return list(table.rows) if table else []


def test_pieces_are_counted_by_range_and_size() -> None:
    found = report(vllm_traces.llama_with_passes())
    assert [row[1:7] for row in rows(found, "vllm_pieces")] == [
        ("1 to 2048", 2, 1, 0, 4, 2),
        ("2049 to 8192", 2, 1, 0, 4, 2),
        ("size 1", 2, 1, 0, 4, 2),
        ("size 8", 2, 1, 0, 4, 2),
    ]
    assert rows(found, "vllm_passes") == [("RMSNormQuantFusionPass", 8, 8), ("PostCleanupPass", 8, 0)]


def test_the_advice_names_the_settings_of_vllm() -> None:
    table = report(vllm_traces.llama()).table("vllm_pieces")
    assert table
    assert "4 of 8 piecewise compilations are for 2 sizes in compile_sizes" in table.note
    assert "each point in compile_ranges_endpoints adds" in table.note
    assert "1 part was compiled, not loaded from VLLM_CACHE_ROOT" in table.note


def test_the_setting_of_ranges_has_the_name_of_the_version() -> None:
    table = report(*vllm_traces.part(*RANGES, compile_ranges_split_points="8")).table("vllm_pieces")
    assert table
    assert "each point in compile_ranges_split_points adds" in table.note


def test_releases_without_graphs_of_passes_have_no_columns_for_them() -> None:
    table = report(*vllm_traces.part(*RANGES, vllm_traces.start(1, 9, 64))).table("vllm_pieces")
    assert table
    assert [column.name for column in table.columns] == ["part", "sizes", "pieces", "cached", "reused", "submodules"]
    assert table.rows == ((1, "1 to 8", 1, 0, 0, "submod_0"), (1, "9 to 64", 2, 0, 1, "submod_0, submod_2"))
    assert "reused: loaded from vLLM's cache" in table.note


def test_settings_that_differ_are_listed_by_part() -> None:
    found = report(vllm_traces.llama(), *vllm_traces.part(event="aot_cache_hit", prefix="eagle", compile_sizes=""))
    settings = rows(found, "vllm_config")
    assert ("model", "acme/llama-8b", "") in settings
    assert [row for row in settings if row[0] == "compile_sizes"] == [("compile_sizes", "1, 8", "1"), ("compile_sizes", "none", "2")]
    assert [row for row in settings if row[0] == "prefix"] == [("prefix", "backbone", "1"), ("prefix", "eagle", "2")]


def test_a_trace_without_records_of_dynamo_is_not_empty() -> None:
    text = renderer("report", "terminal")(report(vllm_traces.llama()), Options(width=100)).decode()
    assert "vLLM: 1 part of the model, 8 piecewise compilations (4 found in a cache)" in text
    assert "nothing was compiled" not in text


def test_the_page_shows_the_same_change_of_a_pass_once() -> None:
    text = renderer("report", "html")(report(vllm_traces.llama_with_passes()), Options()).decode()
    assert text.count("<b>RMSNormQuantFusionPass</b>") == 1
    assert "and 7 more pieces" in text
    assert "<ins>+    out = torch.ops.vllm.rms_norm_quant(x)</ins>" in text


def test_marks_are_given_as_dynamic_arg_dims() -> None:
    data = make.small_trace()
    found = analyze(make.load(data + vllm_traces.llama()))
    assert found.advice
    (shown,) = (item for item in found.advice.alternatives if item.tool == "dynamic_arg_dims")
    assert '@support_torch_compile(dynamic_arg_dims={"x": 0})' in shown.lines
    assert "only the dims that it names are dynamic" in shown.warning


def test_times_are_given_by_part_range_and_submodule() -> None:
    found = report_of("real/2.13/vllm_sizes.log.gz")
    assert rows(found, "vllm") == [(1, "unknown", "backbone", "compiled", 56.357, 9, "0/0")]
    longest, *_ = rows(found, "vllm_pieces")
    assert longest == (1, "size 2", 36.521, 3, 0, 0, "submod_0 29.6 s, submod_2 6.61 s, submod_4 0.33 s")
    table = found.table("vllm_pieces")
    assert table
    assert "6 of 9 piecewise compilations (45.7 s) are for 2 sizes in compile_sizes" in table.note
    assert "1 part was compiled (56.4 s), not loaded" in table.note


def test_the_next_steps_are_settings_of_vllm_with_what_they_save() -> None:
    found = next_steps(collect_alerts(report_of("real/2.13/vllm_sizes.log.gz"), Repository()))
    assert [(item.kind, item.title, saving_words(item.saving)) for item in found] == [
        (StepKind.CACHE, "Keep vLLM's cache between starts: the directory VLLM_CACHE_ROOT", "saves up to 56.4 s in each later run"),
        (StepKind.SETUP, "Of the 2 sizes in vLLM's compile_sizes, keep those that need kernels of their own", "saves up to 45.7 s"),
    ]
    assert next_steps(collect_alerts(report_of("real/2.13/vllm_loaded.log.gz"), Repository())) == ()


def test_ranges_are_a_step_of_their_own_without_the_one_that_took_longest() -> None:
    pieces = vllm_traces.start(0, 1, 8), vllm_traces.piece(0, 9, 64), vllm_traces.piece(0, 65, 512)
    run = report(*vllm_traces.part(*pieces, compile_sizes=""))
    for number, piece in enumerate(run.trace.vllm[0].pieces):
        piece.seconds = 2.0**number
    last = next_steps(collect_alerts(run, Repository()))[-1]
    assert last.title == "Have vLLM compile fewer than 3 ranges of sizes: remove points from compile_ranges_endpoints"
    assert saving_words(last.saving) == "saves up to 3.00 s"


def test_the_time_of_an_ahead_of_time_compilation_has_that_of_vllm_in_it() -> None:
    text = renderer("report", "terminal")(report_of("real/2.13/vllm_sizes.log.gz"), Options(width=100)).decode()
    assert "vLLM: 1 part of the model, 9 piecewise compilations (56.4 s)" in text
    assert "Summary: 1 compilation (57.1 s), no recompilations" in text
    assert "time: code generation 27.8 s, Inductor 26.0 s, Dynamo and backend 3.25 s" in text


def test_a_loaded_part_has_the_number_of_its_graphs() -> None:
    text = renderer("report", "terminal")(report_of("real/2.13/vllm_loaded.log.gz"), Options(width=100)).decode()
    assert "vLLM: 1 part of the model (1 loaded from the cache in 35.8 s, 3 graphs)" in text


def test_the_page_begins_with_what_vllm_did() -> None:
    pages = [renderer("report", "html")(report_of(f"real/2.13/vllm_{name}.log.gz"), Options()).decode() for name in ("sizes", "loaded")]
    assert "Nothing was recompiled; vLLM compiled 9 pieces.</h1>" in pages[0]
    assert "vLLM: 1 part of the model, 9 piecewise compilations (56.4\u00a0s)." in pages[0]
    assert "vLLM loaded everything from its cache." in pages[1]


def test_what_was_loaded_or_not_compiled_gets_no_advice_on_the_cache() -> None:
    hits = vllm_traces.start(0, 1, 8), vllm_traces.artifact("fx_graph_cache_hit", {"key": "k"})
    end = vllm_traces.execution_code()
    found = report(*vllm_traces.part(*hits), end, *vllm_traces.part(vllm_traces.start(0, 1, 8), backend="eager"), end)
    assert [row[3] for row in rows(found, "vllm")] == ["loaded from the cache", "not compiled (backend eager)"]
    table = found.table("vllm_pieces")
    assert table
    assert table.note == ""


def test_a_part_in_which_the_trace_ends_did_not_finish() -> None:
    found = report(*vllm_traces.part(vllm_traces.piece(0, 1, 2048)))
    assert [row[3] for row in rows(found, "vllm")] == ["did not finish"]
    table = found.table("vllm_pieces")
    assert table
    assert table.note == "the trace ends while part 1 is compiled: submod_0 for 1 to 2048"
