"""What vLLM compiled: parts of a model, pieces by range of sizes, passes; in a compile or outside of any."""

import make
import pytest
import vllm_traces
from recorded import report_of

from shapelog.model.trace import Trace


def loaded(*records: bytes) -> Trace:
    return make.load(make.trace(*records))


def test_a_part_has_its_settings_and_its_pieces() -> None:
    (part,) = loaded(vllm_traces.llama_with_passes()).vllm
    assert (part.event, part.is_cached, part.config["compile_sizes"]) == ("fresh_compile", False, "1, 8")
    assert [piece.piece.sizes for piece in part.pieces] == ["1 to 2048"] * 2 + ["2049 to 8192"] * 2 + ["size 1"] * 2 + ["size 8"] * 2
    assert [piece.cache for piece in part.pieces] == ["miss", "hit"] * 4
    assert [graph.name for graph in part.graphs] == ["vllm_piecewise_split_graph"]


def test_each_pass_follows_the_graph_of_the_one_before() -> None:
    (part,) = loaded(*vllm_traces.part(vllm_traces.piece_with_passes(0, 1, 2048))).vllm
    steps = part.pieces[0].steps
    assert [(before.name, after.title) for before, after in steps] == [
        ("before_post_grad_graph", "RMSNormQuantFusionPass"),
        ("vllm_post_grad.0.RMSNormQuantFusionPass", "PostCleanupPass"),
    ]
    assert [before.span.digest != after.span.digest for before, after in steps] == [True, False]


def test_a_part_from_the_cache_has_no_pieces() -> None:
    fresh, cached = loaded(vllm_traces.llama(), *vllm_traces.part(event="aot_cache_hit")).vllm
    assert (fresh.is_cached, cached.is_cached, len(cached.pieces)) == (False, True, 0)


def test_a_loaded_part_writes_its_execution_code_alone() -> None:
    loaded_part = vllm_traces.execution_code()
    parts = loaded(loaded_part, loaded_part, vllm_traces.llama()).vllm
    assert [(part.is_cached, part.is_compiled) for part in parts] == [(True, False), (True, False), (False, True)]
    assert [len(part.pieces) for part in parts] == [0, 0, 8]


def test_a_piece_that_pytorch_did_nothing_for_is_reused() -> None:
    own, again = vllm_traces.piece(0, 1, 2048), vllm_traces.start(1, 1, 2048)
    compiled, cached = loaded(*vllm_traces.part(own, again), *vllm_traces.part(again, again)).vllm
    assert [piece.is_compiled for piece in compiled.pieces] == [True, False]
    assert (compiled.is_cached, compiled.is_compiled) == (False, True)
    assert (cached.is_cached, cached.is_compiled) == (True, False)


def test_the_range_of_an_encoder_has_no_end() -> None:
    (part,) = loaded(*vllm_traces.part(vllm_traces.piece(0, 2049, 2**31 - 1))).vllm
    assert [piece.piece.sizes for piece in part.pieces] == ["2049 or more"]


def test_settings_have_names_without_those_of_their_classes() -> None:
    (part,) = loaded(*vllm_traces.part()).vllm
    assert (part.config["mode"], part.config["dynamic_shapes_type"]) == ("VLLM_COMPILE", "BACKED")


def test_versions_without_the_event_begin_a_part_with_its_settings() -> None:
    parts = loaded(*vllm_traces.part(vllm_traces.piece(0, 1, 8), event=""), *vllm_traces.part(event="", prefix="eagle")).vllm
    assert [(part.event, part.config["prefix"], len(part.pieces)) for part in parts] == [("", "backbone", 1), ("", "eagle", 0)]


def test_a_part_belongs_to_the_compile_that_it_happened_in() -> None:
    trace = loaded(make.compile("0/0", make.tensor(8, 16)), vllm_traces.llama("0/0"))
    assert [part.label for part in trace.vllm] == ["0/0"]
    assert len(trace.compiles) == 1


def test_a_payload_that_is_no_json_is_a_problem_and_the_rest_is_read() -> None:
    trace = loaded(
        vllm_traces.artifact("vllm_compilation_config", "[1]"),
        vllm_traces.artifact("vllm_piecewise_compile_start", "{"),
        vllm_traces.llama(),
    )
    assert sum(problem.code == "bad-record" for problem in trace.problems) == 2
    assert len(trace.vllm[-1].pieces) == 8


def test_other_programs_have_none() -> None:
    trace = loaded(make.compile("0/0", make.tensor(8, 16)), make.record("graph_dump", {"name": "mine"}, "g", id="0/0"))
    assert trace.vllm == ()
    (account,) = trace.accounts
    assert account.unused["graph_dump"] == 1


def at(moment: str, *records: bytes) -> bytes:
    """The same records, written at another time."""
    return b"".join(records).replace(b" 08:27:33.313000 ", f" {moment} ".encode())


def test_a_piece_lasts_until_the_next_one_and_a_part_until_its_end() -> None:
    (part,) = loaded(
        at("08:00:00.000000", *vllm_traces.part()),
        at("08:00:01.500000", vllm_traces.piece(0, 1, 2048)),
        at("08:00:05.000000", vllm_traces.piece(1, 1, 2048)),
        at("08:00:05.250000", vllm_traces.execution_code()),
    ).vllm
    assert (part.seconds, [piece.seconds for piece in part.pieces]) == (5.25, [3.5, 0.25])


def test_a_part_of_older_versions_ends_with_the_compile_that_it_is_the_backend_of() -> None:
    compiled = make.compile("0/0", make.tensor(8, 16))
    begin, guards, end = compiled.partition(compiled[compiled.index(b"V1120", compiled.index(b'"dynamo_output_graph"')) :])
    records = at("08:00:01.000000", *vllm_traces.part(id="0/0")), at("08:00:02.000000", vllm_traces.piece(0, 1, 2048, id="0/0"))
    (part,) = loaded(begin, *records, at("08:00:04.500000", guards), end).vllm
    assert (part.seconds, part.pieces[0].seconds, part.unfinished) == (3.5, 2.5, None)


def test_no_time_is_known_across_the_end_of_a_year() -> None:
    (part,) = loaded(*vllm_traces.part(vllm_traces.piece(0, 1, 8)), vllm_traces.execution_code().replace(b"V1120", b"V0101")).vllm
    assert (part.seconds, part.pieces[0].seconds, part.is_over) == (None, None, True)


def test_the_piece_in_which_the_trace_ends_is_unfinished() -> None:
    first, last = loaded(*vllm_traces.part(vllm_traces.piece(0, 1, 8)), *vllm_traces.part(vllm_traces.piece(1, 9, 64))).vllm
    assert first.unfinished is None
    assert last.unfinished
    assert last.unfinished.piece.submodule == "submod_2"


def test_a_part_whose_pieces_are_all_in_a_cache_is_loaded() -> None:
    hits = vllm_traces.start(0, 1, 8), vllm_traces.artifact("fx_graph_cache_hit", {"key": "k"})
    (part,) = loaded(*vllm_traces.part(*hits), vllm_traces.execution_code()).vllm
    assert (part.is_cached, part.is_compiled, part.reused) == (True, False, 0)


def test_the_eager_backend_compiles_and_reuses_nothing() -> None:
    starts = vllm_traces.start(0, 1, 8), vllm_traces.start(1, 1, 8)
    (part,) = loaded(*vllm_traces.part(*starts, backend="eager"), vllm_traces.execution_code()).vllm
    assert (part.is_cached, part.is_compiled, part.reused) == (False, False, 0)


def test_the_caches_of_a_compile_after_a_part_are_not_those_of_its_last_piece() -> None:
    later = vllm_traces.artifact("fx_graph_cache_hit", {"key": "k"}, id="1/0")
    trace = loaded(vllm_traces.llama(), make.compile("1/0", make.tensor(8, 16)), later)
    assert [piece.cache for piece in trace.vllm[0].pieces] == ["miss", "hit"] * 4


def test_a_loaded_part_has_the_graphs_that_were_loaded_for_it() -> None:
    hit = vllm_traces.artifact("fx_graph_bundled_cache_hit", {"key": "k"})
    fresh, again = loaded(vllm_traces.llama(), hit, hit, vllm_traces.execution_code()).vllm
    assert (len(fresh.loaded), len(again.loaded), again.is_cached) == (0, 2, True)


def test_the_guards_of_a_loaded_part_are_no_problem() -> None:
    guards = make.record("dynamo_cpp_guards_str", {}, "guards")
    one = loaded(vllm_traces.execution_code(), guards)
    assert [problem.code for problem in one.problems] == []
    two = loaded(vllm_traces.execution_code(), guards, guards)
    assert [problem.code for problem in two.problems] == ["outside-compiles"]


def test_recorded_parts_have_times_and_results() -> None:
    (compiled,) = report_of("real/2.13/vllm_sizes.log.gz").trace.vllm
    assert [(piece.piece.sizes, piece.piece.submodule) for piece in compiled.pieces[:4]] == [
        ("size 2", "submod_0"),
        ("size 8", "submod_0"),
        ("1 to 2048", "submod_0"),
        ("size 2", "submod_2"),
    ]
    assert compiled.seconds == pytest.approx(56.4, abs=0.1)
    assert {piece.cache for piece in compiled.pieces} == {"miss"}
    (again,) = report_of("real/2.13/vllm_loaded.log.gz").trace.vllm
    assert (again.is_cached, len(again.loaded)) == (True, 3)
    assert again.seconds == pytest.approx(35.85, abs=0.01)
