"""Records become compiles and frames: attempts joined, repeated ids distinguished, ends of compiles understood."""

import json
from pathlib import Path

import make
import pytest
from make import (
    artifact,
    cpp_guards,
    create_symbol,
    describe,
    dynamo_start,
    only,
    output_graph,
    reader,
    recompile_reasons,
    small_trace,
    split_records,
    strings,
    tensor,
    torch_version,
)
from make import compile as compiled
from payload_text import guard_tree, size_mismatch, tensor_match
from recorded import graph_of

from shapelog import load
from shapelog.errors import DATA_LOSS, INFO, ShapelogError
from shapelog.model import load as loading
from shapelog.model.compile import Outcome
from shapelog.model.trace import Trace
from shapelog.reading.inputs import Selection
from shapelog.reading.payloads.properties import size
from shapelog.reading.payloads.recompile_reasons import NO_REASON
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import StackFrame
from shapelog.reading.trace_files import TraceFile

REAL = Path(__file__).parents[2] / "fixtures" / "real"


def labels(trace: Trace) -> list[str]:
    return [compile.label for compile in trace.compiles]


def codes(trace: Trace) -> list[str]:
    return [problem.code for problem in trace.problems]


def test_a_symbol_of_a_tensor_that_fake_tensors_make_up_makes_no_compile_dynamic() -> None:
    made = make.trace(make.compile("0/0", make.tensor(4), symbols=[("s1", "4", "__meta_utils_unknown_tensor6.size()[0]")]))
    assert not make.load(made).compiles[0].is_dynamic


def test_a_compile_has_the_inputs_symbols_reasons_and_stack_of_its_records() -> None:
    trace = make.load(small_trace())
    first, second = trace.compiles
    assert [(item.source, item.size, item.stride, item.dtype) for item in first.inputs] == [("L['x']", (8, 16), (16, 1), "float32")]
    assert [(item.name, item.value, item.source) for item in second.symbols] == [("s70", 3, "L['x'].size()[0]")]
    assert [(reason.entry, reason.expected, reason.actual) for reason in second.reasons] == [("0/0", "8", "3")]
    assert [(frame.file, frame.line, frame.name, frame.code) for frame in second.stack.frames] == [
        (make.MAIN, 20, "main", "f(x)"),
        (make.MODEL, 5, "f", ""),
    ]
    assert (first.is_dynamic, second.is_dynamic) == (False, True)
    assert [compile.outcome for compile in trace.compiles] == [Outcome.COMPILED] * 2
    assert (trace.torch_version, codes(trace)) == ("2.13.0+cpu", [])


def test_a_frame_has_the_name_and_place_of_its_code_and_the_line_that_called_it() -> None:
    (frame,) = make.load(small_trace()).frames
    assert (frame.file, frame.line, frame.name, frame.label) == (make.MODEL, 5, "f", "0")
    assert frame.called_at is not None
    assert (frame.called_at.file, frame.called_at.line) == (make.MAIN, 20)


def test_guards_and_graph_are_read_from_the_file_when_asked_for() -> None:
    compile = only(make.load(small_trace()), "0/1")
    assert compile.guards is not None
    assert compile.guards.facts[Source("L['x']"), size(0)] == "dynamic"
    assert compile.guards.facts[Source("L['x']"), size(1)] == 16
    assert compile.graph is not None
    assert [item.name for item in compile.graph.placeholders] == ["s70", "L_x_"]
    assert "x + 1" in graph_of(compile)


def test_equal_graphs_are_parsed_once() -> None:
    first, second = make.load(make.trace(compiled("0/0", tensor(8, 16)), compiled("1/0", tensor(8, 16)))).compiles
    assert first.graph is second.graph


# Attempts.


def two_attempts() -> bytes:
    where = {"id": "0/0"}
    return make.trace(
        dynamo_start(**where),
        describe(tensor(8, 16), **where),
        describe(tensor(2, source="L['dropped']"), number=1, **where),
        create_symbol("s1", 8, "L['x'].size()[0]", **where),
        artifact("dynamo_graph_break_reason", "Graph break in user code at /srv/app/model.py:14\nReason: print\nmore", **where),
        describe(tensor(8, 16), describer=1, attempt=1, **where),
        create_symbol("s2", 16, "L['x'].size()[1]", attempt=1, **where),
        output_graph((8, 16), attempt=1, **where),
        cpp_guards(guard_tree(tensor_match(size=(8, 16))), attempt=1, **where),
        make.metrics("0/0", attempt=1, restart_reasons=["print"]),
    )


def test_attempts_are_one_compile_with_what_the_last_of_them_saw() -> None:
    (compile,) = make.load(two_attempts()).compiles
    assert compile.attempts == 2
    assert [item.source for item in compile.inputs] == ["L['x']"]
    assert [item.name for item in compile.symbols] == ["s2"]
    assert compile.outcome is Outcome.COMPILED


def test_a_graph_break_keeps_its_reason_and_place_over_the_attempts() -> None:
    (compile,) = make.load(two_attempts()).compiles
    (found,) = compile.breaks
    assert found.reason == "print"
    assert found.place is not None
    assert (found.place.file, found.place.line) == ("/srv/app/model.py", 14)


def test_the_error_of_a_backend_is_no_graph_break() -> None:
    text = "WON'T CONVERT f /srv/app/model.py line 5\n========== TorchDynamo Stack Trace ==========\nTraceback ..."
    made = make.trace(make.artifact("dynamo_graph_break_reason", text, id="0/0"), compiled("0/0", tensor(8, 16), **make.FAILED))
    (compile,) = make.load(made).compiles
    assert (compile.breaks, compile.outcome) == ((), Outcome.FAILED)


def test_a_graph_of_an_attempt_that_was_given_up_is_not_the_graph_of_the_compile() -> None:
    where = {"id": "0/0"}
    data = dynamo_start(**where) + output_graph((8, "s1"), **where) + describe(tensor(8, 2), attempt=1, **where)
    (compile,) = make.load(make.trace(data, make.metrics("0/0", attempt=1))).compiles
    assert (compile.graph_span, compile.is_dynamic) == (None, False)


# Ids that come again.


def test_ids_that_start_again_after_a_reset_get_a_generation() -> None:
    twice = compiled("0/0", tensor(8, 16)) + compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])
    trace = make.load(make.trace(twice, twice, compiled("0/0", tensor(8, 16), name="other")))
    assert labels(trace) == ["0/0", "0/1", "0/0#2", "0/1#2", "0/0#3"]
    assert [(frame.label, frame.name, len(frame.compiles)) for frame in trace.frames] == [
        ("0", "f", 2),
        ("0#2", "f", 2),
        ("0#3", "other", 1),
    ]


def test_a_frame_that_is_first_compiled_after_a_reset_belongs_to_the_new_generation() -> None:
    trace = make.load(make.trace(compiled("0/0", tensor(8, 16)), compiled("0/0", tensor(8, 16)), compiled("1/0", tensor(8, 16))))
    assert labels(trace) == ["0/0", "0/0#2", "1/0#2"]


def test_every_reset_of_a_real_program_starts_a_generation() -> None:
    trace = load(REAL / "2.4" / "e_tensor_props.log.gz")
    assert [frame.label for frame in trace.frames] == ["0"] + [f"0#{number}" for number in range(2, 18)]
    assert {frame.name for frame in trace.frames} == {"f"}


def test_each_process_counts_its_own_generations() -> None:
    trace = make.load(
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/0", tensor(8, 16), process=7), compiled("0/0", tensor(8, 16), process=7))
    )
    assert [(compile.process, compile.label) for compile in trace.compiles] == [(make.PROCESS, "0/0"), (7, "0/0"), (7, "0/0#2")]


# Order of records.


def test_reasons_that_come_before_the_start_belong_to_the_compile_that_starts() -> None:
    trace = make.load(small_trace())
    assert labels(trace) == ["0/0", "0/1"]
    assert only(trace, "0/1").has_reasons_record
    assert not only(trace, "0/0").has_reasons_record


def test_reasons_of_an_id_that_was_used_open_another_compile() -> None:
    again = compiled("0/1", tensor(5, 16), reasons=[size_mismatch("0/0", 8, 5)])
    trace = make.load(small_trace() + compiled("0/0", tensor(8, 16)) + again)
    assert labels(trace) == ["0/0", "0/1", "0/0#2", "0/1#2"]
    assert [reason.actual for reason in only(trace, "0/1#2").reasons] == ["5"]


@pytest.mark.parametrize("is_list", [True, False])
def test_one_reason_is_read_as_a_list_and_as_bare_text(is_list: bool) -> None:
    data = (
        compiled("0/0", tensor(8, 16))
        + recompile_reasons(size_mismatch("0/0", 8, 3), is_list=is_list, id="0/1")
        + compiled("0/1", tensor(3, 16))
    )
    (reason,) = only(make.load(make.trace(data)), "0/1").reasons
    assert (reason.entry, reason.source, str(reason.prop)) == ("0/0", "x", "size[0]")


def test_reasons_keep_the_order_in_which_pytorch_lists_the_entries() -> None:
    why = [size_mismatch("0/1", 3, 5), size_mismatch("0/0", 8, 5)]
    trace = make.load(
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 16)), compiled("0/2", tensor(5, 16), reasons=why))
    )
    assert [reason.entry for reason in only(trace, "0/2").reasons] == ["0/1", "0/0"]


def test_a_backward_that_is_compiled_later_joins_its_forward_and_its_cost() -> None:
    later = make.metrics("0/0", kind="bwd_compilation_metrics", is_forward=False, duration_us=500_000, entire_frame_compile_time_s=None)
    trace = make.load(make.trace(compiled("0/0", tensor(8, 16), seconds=2.0), compiled("1/0", tensor(8, 16)), later))
    compile = only(trace, "0/0")
    assert (compile.metrics.seconds, len(compile.backward)) == (2.0, 1)
    assert compile.seconds == pytest.approx(2.5)
    assert labels(trace) == ["0/0", "1/0"]


def test_the_backward_of_a_real_program_joins_its_forward() -> None:
    first, *others = load(REAL / "demo.log.gz").frames[0].compiles
    assert [part.is_forward for part in first.backward] == [False]
    assert first.seconds == pytest.approx((first.metrics.seconds or 0) + (first.backward[0].seconds or 0))
    assert [other.backward for other in others] == [()] * 4


def test_records_outside_of_any_compile_are_counted_and_reported() -> None:
    (problem,) = make.load(small_trace() + describe(tensor(1)) + create_symbol("s0", 4, "x", stack=[])).problems
    assert (problem.code, problem.severity, problem.count) == ("outside-compiles", INFO, 2)
    assert "1 create_symbol, 1 describe_source" in problem.message


# How a compile ends.


def limit(**fields: object) -> Trace:
    """A second compile that was refused: reasons and metrics, no start."""
    reasons = recompile_reasons(size_mismatch("0/0", 8, 3), id="0/1")
    return make.load(
        make.trace(compiled("0/0", tensor(8, 16)), reasons, make.metrics("0/1", co_name=None, has_guarded_code=None, **fields))
    )


@pytest.mark.parametrize(
    "fields",
    [
        {
            "kind": "bwd_compilation_metrics",
            "is_forward": None,
            "fail_type": "RecompileLimitExceeded",
            "fail_reason": "cache_size_limit reached",
        },
        {"fail_type": "RecompileLimitExceeded", "fail_reason": "recompile_limit reached"},
        {"fail_type": "RecompileLimitExceeded", "fail_reason": "accumulated_recompile_limit reached"},
        {"fail_type": "Unsupported", "fail_reason": "Dynamo recompile limit exceeded\n  Explanation: (currently set to 8)"},
        {"fail_type": "FailOnRecompileLimitHit", "fail_reason": "recompile_limit reached with one_graph=True"},
        {"fail_type": "FailOnRecompileLimitHit", "fail_reason": "Hard failure due to fullgraph=True"},
    ],
    ids=["2.6", "2.8", "2.8-accumulated", "2.13", "2.8-one-graph", "2.13-fullgraph"],
)
def test_a_hit_of_the_recompile_limit_is_known_in_the_words_of_each_version(fields: dict[str, object]) -> None:
    trace = limit(**fields)
    refused = only(trace, "0/1")
    assert refused.outcome is Outcome.LIMIT
    assert [reason.entry for reason in refused.reasons] == ["0/0"]
    (frame,) = trace.frames
    assert (frame.name, [entry.label for entry in frame.entries]) == ("f", ["0/0"])


def test_real_hits_of_the_limit_are_found_in_old_and_new_traces() -> None:
    for path, expected in (
        (REAL / "2.6" / "g_limit.log.gz", ["0/3", "1/3", "3/3", "3/4", "0/2#3", "0/3#3"]),
        (REAL / "demo.log.gz", ["1/8"]),
        (REAL / "2.4" / "g_limit.log.gz", []),
    ):
        trace = load(path)
        hit = [compile for compile in trace.compiles if compile.outcome is Outcome.LIMIT]
        assert [compile.label for compile in hit] == expected
        assert all(compile.reasons for compile in hit)


def test_code_that_started_and_failed_with_a_word_about_limits_did_not_hit_the_limit() -> None:
    failed = dynamo_start(id="0/0") + make.metrics("0/0", fail_type="Unsupported", fail_reason="call to recompile_limit()")
    (compile,) = make.load(make.trace(failed)).compiles
    assert compile.outcome is Outcome.FAILED


def test_a_failed_compile_has_its_error_and_no_entry() -> None:
    data = (
        dynamo_start(id="0/0")
        + artifact("dynamo_error", "Traceback ...\nUnsupported: no", id="0/0")
        + make.metrics("0/0", fail_type="Unsupported", fail_reason="no", has_guarded_code=False)
    )
    trace = make.load(make.trace(data))
    (compile,) = trace.compiles
    assert (compile.outcome, compile.error) == (Outcome.FAILED, "Traceback ...\nUnsupported: no")
    assert trace.frames[0].entries == ()


def test_a_compile_without_metrics_is_unfinished_unless_it_has_guards() -> None:
    where = {"id": "0/0"}
    begun = dynamo_start(**where) + describe(tensor(8, 16), **where)
    assert make.load(make.trace(begun)).compiles[0].outcome is Outcome.UNFINISHED
    assert make.load(make.trace(begun, cpp_guards(guard_tree(tensor_match(size=(8, 16))), **where))).compiles[0].outcome is Outcome.COMPILED


def test_code_without_operations_is_skipped() -> None:
    (compile,) = make.load(make.trace(dynamo_start(id="0/0"), make.metrics("0/0", has_guarded_code=False))).compiles
    assert compile.outcome is Outcome.SKIPPED


# Processes and string tables.


def test_forked_children_in_one_file_are_distinguished_by_process_id() -> None:
    parent = make.trace(compiled("0/0", tensor(8, 16), name="shared"))
    one, other = (compiled(f"1/{number % 2}", tensor(8, 16), name=f"child{number // 2}", process=100 + number // 2) for number in (0, 2))
    mixed = [record for pair in zip(split_records(one), split_records(other), strict=True) for record in pair]
    trace = make.load(parent + b"".join(mixed))
    assert [(rank.process, [frame.name for frame in rank.frames]) for rank in trace.ranks] == [
        (make.PROCESS, ["shared"]),
        (100, ["child0"]),
        (101, ["child1"]),
    ]
    assert [len(compile.inputs) for compile in trace.compiles] == [1, 1, 1]
    assert [(problem.code, problem.severity) for problem in trace.problems] == [("mixed-processes", INFO)]


def test_each_process_has_a_string_table_of_its_own() -> None:
    trace = load(REAL / "2.6" / "r2_fork_names.log.gz")
    assert [(rank.process, [len(frame.compiles) for frame in rank.frames]) for rank in trace.ranks] == [
        (18164, [1]),
        (18188, [3]),
        (18189, [3]),
    ]
    same = strings("/srv/app/one.py", first=9, process=1) + strings("/srv/app/two.py", first=9, process=2)
    started = dynamo_start(file=9, id="0/0", process=1) + dynamo_start(file=9, id="0/0", process=2)
    assert [frame.file for frame in make.load(same + started).frames] == ["/srv/app/one.py", "/srv/app/two.py"]


def test_a_string_id_that_was_never_defined_leaves_the_file_unknown() -> None:
    trace = make.load(dynamo_start(file=7, caller=8, id="0/0") + cpp_guards(guard_tree(tensor_match(size=(2,))), id="0/0"))
    (frame,) = trace.frames
    assert [(item.file, item.line, item.name) for item in frame.compiles[0].stack.frames] == [("", 20, "main"), ("", 5, "f")]
    assert (frame.file, frame.name) == ("", "f")
    assert codes(trace) == []


def test_thread_ids_of_old_versions_are_one_process() -> None:
    data = make.trace(compiled("0/0", tensor(8, 16), process=139758216661888), compiled("0/1", tensor(3, 16), process=139758216660000))
    trace = make.load(data.replace(str(make.PROCESS).encode() + b" torch", b"139758216661888 torch"))
    assert [(rank.process, len(rank.frames)) for rank in trace.ranks] == [(0, 1)]
    assert labels(trace) == ["0/0", "0/1"]


def test_indistinguishable_processes_of_old_versions_in_one_file_are_reported() -> None:
    problems = {problem.code: problem for problem in load(REAL / "2.4" / "r_fork_shared.log.gz").problems}
    assert "cannot be separated" in problems["overlapping-compiles"].message


def test_the_rank_of_a_file_without_one_in_its_name_is_that_of_its_records() -> None:
    trace = load(REAL / "2.6" / "n_dist_late_init" / "dedicated_log_torch_trace_tg0ni4w5.log.gz")
    assert [rank.number for rank in trace.ranks] == [1]
    assert {frame.rank for frame in trace.frames} == {1}


# Versions, settings, metrics.


@pytest.mark.parametrize(
    ("fixture", "version", "guess"),
    [
        ("2.4/a_auto.log.gz", "", "2.4 or older"),
        ("2.6/b_branches.log.gz", "", "2.6"),
        ("2.13/a_dynamic.log.gz", "2.13.0+cpu", ""),
        ("2.15/a_auto.log.gz", "2.15.0+cu132", ""),
    ],
)
def test_the_torch_version_is_read_or_guessed_from_the_records(fixture: str, version: str, guess: str) -> None:
    trace = load(REAL / fixture)
    assert (trace.torch_version, trace.version_guess) == (version, guess)


def test_without_the_artifact_the_torch_version_comes_from_the_metrics() -> None:
    assert make.load(compiled("0/0", tensor(8, 16), pytorch_version="2.10.0")).torch_version == "2.10.0"


@pytest.mark.parametrize(
    "names", [("recompile_limit", "accumulated_recompile_limit"), ("cache_size_limit", "accumulated_cache_size_limit")]
)
def test_settings_are_read_from_the_first_metrics_that_hold_them(names: tuple[str, str]) -> None:
    settings = json.dumps({names[0]: 3, names[1]: 64, "automatic_dynamic_shapes": False})
    config = make.load(make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 16), dynamo_config=settings))).config
    assert (config.recompile_limit, config.accumulated_recompile_limit, config.automatic_dynamic_shapes) == (3, 64, False)
    assert config.assume_static_by_default is None


def test_times_in_microseconds_become_seconds() -> None:
    (compile,) = make.load(
        make.trace(
            compiled(
                "0/0",
                tensor(8, 16),
                seconds=None,
                dynamo_cumulative_compile_time_us=2_500_000,
                backend_compile_time_s=1.25,
                aot_autograd_cumulative_compile_time_us=1_000_000,
                inductor_cumulative_compile_time_us=750_000,
                inductor_code_gen_cumulative_compile_time_us=500_000,
            )
        )
    ).compiles
    times = compile.metrics
    assert (times.seconds, times.backend, times.aot, times.inductor, times.codegen) == (2.5, 1.25, 1.0, 0.75, 0.5)
    assert times.backward is None
    assert compile.seconds == 2.5


def test_the_times_in_seconds_of_older_versions_come_first() -> None:
    (compile,) = make.load(
        make.trace(compiled("0/0", tensor(8, 16), inductor_compile_time_s=3.0, inductor_cumulative_compile_time_us=1, code_gen_time_s=2.0))
    ).compiles
    assert (compile.metrics.seconds, compile.metrics.inductor, compile.metrics.codegen) == (1.0, 3.0, 2.0)


def test_counts_names_and_failures_are_read_from_the_metrics() -> None:
    fields = {"fail_type": "<class 'torch._dynamo.exc.Unsupported'>", "fail_reason": "no", "fail_user_frame_lineno": 7}
    failed = dynamo_start(id="0/0") + make.metrics("0/0", restart_reasons=["a", "b"], cache_size=2, **fields)
    metrics = make.load(make.trace(failed)).compiles[0].metrics
    assert (metrics.fail_type, metrics.fail_reason, metrics.fail_line) == ("Unsupported", "no", 7)
    assert (metrics.guard_count, metrics.op_count, metrics.cache_size) == (3, 1, 2)
    assert (metrics.code_name, metrics.code_file, metrics.code_line) == ("f", make.MODEL, 5)
    assert metrics.restart_reasons == ("a", "b")


# Records that cannot be used.


@pytest.mark.parametrize(
    "bad",
    [
        make.record("describe_tensor", {"id": 0}, id="0/1"),
        make.record("describe_tensor", "text", id="0/1"),
        make.record("describe_source", {"describer_id": [], "id": {}, "source": 1}, id="0/1"),
        make.record("create_symbol", [], id="0/1"),
        make.record("compilation_metrics", None, id="0/1", compilation_metrics=[1]),
        make.record("compilation_metrics", {"restart_reasons": 5}, id="0/1"),
        make.record("compilation_metrics", {"dynamo_config": "{"}, id="0/1"),
        make.record("dynamo_output_graph", {"sizes": [1]}, id="0/1"),
        make.record("str", ["only text"]),
        make.record("str", None),
        make.record("artifact", {"name": "recompile_reasons"}, "x", frame_id=[0], frame_compile_id={}, attempt=0),
    ],
)
def test_a_record_with_fields_of_another_form_is_a_problem_and_the_rest_is_read(bad: bytes) -> None:
    trace = make.load(make.trace(bad, compiled("0/0", tensor(8, 16))))
    (problem,) = trace.problems
    assert (problem.code, problem.severity, problem.line) == ("bad-record", DATA_LOSS, 8)
    assert only(trace, "0/0").outcome is Outcome.COMPILED


def test_a_source_of_a_tensor_that_was_never_described_is_a_problem() -> None:
    data = dynamo_start(id="0/0") + make.record("describe_source", {"describer_id": 5, "id": 6, "source": "L['x']"}, id="0/0")
    (problem,) = make.load(make.trace(data)).problems
    assert problem.code == "missing-record"
    assert "L['x'] is named, but the tensor itself is not described" in problem.message


def test_a_trace_without_compiles_is_a_trace() -> None:
    trace = make.load(torch_version())
    assert (trace.compiles, trace.torch_version) == ((), "2.13.0+cpu")


def test_bytes_without_a_record_are_refused() -> None:
    with pytest.raises(ShapelogError, match=r"not a torch\.compile trace"):
        make.load(b"hello\n")


def test_a_refused_recompile_after_a_reset_does_not_join_the_compile_that_had_its_id_before() -> None:
    assert only(load(REAL / "2.6" / "g_limit.log.gz"), "0/1#3").backward == ()
    error = make.metrics(
        "0/1",
        kind="bwd_compilation_metrics",
        is_forward=None,
        has_guarded_code=None,
        co_name=None,
        fail_type="RecompileError",
        fail_reason="Recompiling function f3",
    )
    trace = make.load(
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 16)), compiled("0/0", tensor(8, 16), name="f3"), error)
    )
    assert only(trace, "0/1").backward == ()
    assert only(trace, "0/1#2").outcome is Outcome.FAILED


def test_a_forked_child_knows_the_strings_that_its_parent_defined() -> None:
    trace = load(REAL / "2.6" / "r2_fork_names.log.gz")
    files = [frame.file for frame in trace.frames[1].compiles[0].stack.frames[:2]]
    assert files == ["/srv/ml/versions/scripts/r2_fork_names.py", "/srv/ml/versions/scripts/common.py"]


@pytest.mark.parametrize("strange", [True, -1, 1.0, "1", None])
def test_what_is_no_number_of_a_compile_names_none(strange: object) -> None:
    odd = make.record("dynamo_start", {"stack": []}, frame_id=7, frame_compile_id=strange, attempt=0, rank=strange)
    trace = make.load(make.trace(odd, compiled("0/0", tensor(8, 16))))
    assert [compile.label for compile in trace.compiles] == ["0/0"]
    assert [rank.number for rank in trace.ranks] == [None]
    assert [(problem.code, problem.count) for problem in trace.problems] == [("outside-compiles", 1)]


def test_a_number_below_zero_counts_nothing() -> None:
    trace = make.load(make.trace(compiled("0/0", tensor(8, 16), graph_op_count=-1, guard_count=True, co_firstlineno=-5)))
    metrics = only(trace, "0/0").metrics
    assert (metrics.op_count, metrics.guard_count, metrics.code_line) == (None, None, 0)


def test_progress_is_reported_while_a_large_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_LARGE", 1000)
    monkeypatch.setattr(loading, "_PROGRESS_STEP", 10)
    data = make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 16)))
    reported: list[tuple[str, int, int]] = []
    loading.build(Selection((TraceFile(None, make.NAME),)), [reader(data)], progress=lambda *item: reported.append(item))
    assert [done for _, done, _ in reported] == sorted(done for _, done, _ in reported)
    assert reported[0] == (make.NAME, 0, len(data))
    assert reported[-1] == (make.NAME, len(data), -1)
    assert len(reported) > 2


@pytest.mark.parametrize("strange", [True, -3, 1.5, "7", None])
def test_a_line_of_a_stack_that_is_no_number_of_a_line_is_not_known(strange: object) -> None:
    start = make.record("dynamo_start", {"stack": [{"line": strange, "name": "f", "filename": "/srv/a.py"}]}, id="0/0")
    (frame,) = only(make.load(make.trace(start, make.metrics("0/0"))), "0/0").stack.frames
    assert (frame.file, frame.line) == ("/srv/a.py", 0)


def test_the_caller_is_the_innermost_line_that_a_symbol_knows_since_the_start_lacks_the_last_frames() -> None:
    inner = {"line": 25, "name": "wrapper", "filename": 1, "loc": "return fn(x)"}
    outer = {"line": 20, "name": "main", "filename": 1, "loc": "f(x)"}
    inside = {"line": 2628, "name": "__call__", "filename": "/opt/torch/_dynamo/convert_frame.py"}
    symbol = make.record(
        "create_symbol",
        {"symbol": "s7", "val": "9", "source": "L['x'].size()[0]", "user_stack": [], "stack": [outer, inner, inside]},
        id="0/1",
    )
    first, second = compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)])
    *head, last = make.split_records(second)
    trace = make.load(make.trace(first, *head, symbol, last))
    (frame,) = trace.frames
    assert [(found.line, found.code) for found in map(frame.caller, frame.compiles) if found] == [(25, "return fn(x)")] * 2
    assert make.load(make.trace(first)).frames[0].called_at == StackFrame(make.MAIN, 20, "main", "f(x)")


def test_a_function_is_called_at_the_innermost_line_that_is_known_also_where_several_lines_call_it() -> None:
    def called(id: str, line: int, length: int) -> bytes:
        stack = [
            {"line": 20, "name": "main", "filename": 1, "loc": "f(x)"},
            {"line": line, "name": "step", "filename": 1, "loc": f"return fn(x{line})"},
            {"line": 2628, "name": "__call__", "filename": "/opt/torch/_dynamo/convert_frame.py"},
        ]
        symbol = make.record("create_symbol", {"symbol": "s7", "val": "9", "source": "L['x'].size()[0]", "stack": stack}, id=id)
        *head, last = make.split_records(compiled(id, tensor(length, 16), reasons=[size_mismatch("0/0", 8, length)]))
        return b"".join((*head, symbol, last))

    (frame,) = make.load(make.trace(compiled("0/0", tensor(8, 16)), called("0/1", 25, 9), called("0/2", 31, 10))).frames
    assert [found.line for found in map(frame.caller, frame.compiles) if found] == [20, 25, 31]
    assert frame.called_at == StackFrame(make.MAIN, 25, "step", "return fn(x25)")


def test_the_caller_is_the_innermost_line_above_a_graph_break_where_no_symbol_knows_it() -> None:
    broken = f"""Graph break in user code at {make.MODEL}:6
Graph Break Reason: Failed to trace builtin operator

User code traceback:
  File "{make.MAIN}", line 20, in main
    f(x)
  File "{make.MAIN}", line 25, in wrapper
    return fn(x)
           ^^^^^
  File "{make.MODEL}", line 6, in f
    print("x")
"""
    made = make.trace(compiled("0/0", tensor(8, 16)), make.artifact("dynamo_graph_break_reason", broken, id="0/0"))
    (frame,) = make.load(made).frames
    assert frame.called_at == StackFrame(make.MAIN, 25, "wrapper", "return fn(x)", "fn(x)")


def started(name: str, *frames: tuple[int, str], file: int = 0) -> bytes:
    """The start of resumed code, with the stack that led there, and its metrics."""
    stack = [{"line": line, "name": function, "filename": file} for line, function in frames]
    return make.record("dynamo_start", {"stack": stack}, id="0/0") + compiled("0/0", tensor(8, 16), name=name, is_started=False, guards=" ")


def test_parts_of_a_function_that_were_resumed_before_do_not_call_the_next() -> None:
    resumed = [f"torch_dynamo_resume_in_f_at_{line}" for line in (6, 7, 8)]
    frames = (20, "main"), (6, "f"), (7, resumed[0]), (8, resumed[1]), (8, resumed[2])
    (frame,) = make.load(make.trace(started(resumed[2], *frames))).frames
    assert frame.called_at is not None
    assert (frame.called_at.name, frame.called_at.line) == ("main", 20)


def test_the_caller_of_code_that_is_resumed_is_above_a_graph_break_also_where_that_stack_lacks_the_wrappers() -> None:
    name = "torch_dynamo_resume_in_f_at_7"
    frames = (20, "main"), (20, "compile_wrapper"), (20, "compile_wrapper"), (23, "torch_dynamo_resume_in_main_at_22"), (7, name)
    broken = f"""Graph break in user code at {make.MODEL}:8
Graph Break Reason: Failed to trace builtin operator

User code traceback:
  File "{make.MODEL}", line 25, in main
    y = f(x)
  File "{make.MODEL}", line 8, in f
    print("x")
"""
    made = make.trace(started(name, *frames), make.artifact("dynamo_graph_break_reason", broken, id="0/0"))
    (frame,) = make.load(made).frames
    assert frame.called_at is not None
    assert (frame.called_at.name, frame.called_at.line) == ("main", 25)


def test_the_last_records_of_a_compile_may_lack_the_id_of_its_frame_within_a_capture() -> None:
    """As after a tensor subclass ran other compiled code while it was traced: neither is the compile cut off, nor is there a capture."""
    whole = compiled("!1/12/0", tensor(8, 16))
    ends = make.record("chromium_event", {}, "{}", id="!1/12/0") + make.metrics("!1/12/0")
    lost = ends.replace(b'"frame_id": 12, "frame_compile_id": 0, ', b"")
    assert lost != ends
    trace = make.load(make.trace(whole[: whole.rindex(make.metrics("!1/12/0"))], lost))
    assert [(str(compile.id), compile.outcome) for frame in trace.frames for compile in frame.compiles] == [("!1/12/0", Outcome.COMPILED)]


@pytest.mark.parametrize(("text", "found"), [("0/0: tensor 'x' rank mismatch. expected 1, actual 2", ["0/0"]), (NO_REASON, []), (None, [])])
def test_the_reason_in_the_metrics_counts_where_the_record_of_all_reasons_is_missing(text: str | None, found: list[str]) -> None:
    first, second = (make.dynamo_start(id=id) + make.metrics(id, recompile_reason=reason) for id, reason in (("0/0", None), ("0/1", text)))
    compile = make.only(make.load(make.trace(first, second)), "0/1")
    assert [reason.entry for reason in compile.reasons] == found
