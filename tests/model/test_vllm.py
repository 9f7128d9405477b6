"""What vLLM compiled: parts of a model, pieces by range of sizes, passes; in a compile or outside of any."""

import make
import vllm_traces

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
