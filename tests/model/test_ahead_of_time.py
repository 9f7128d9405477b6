"""Functions that are compiled ahead of time: no start, and their guards and metrics come without the id."""

from typing import Any

import make

STACK: list[dict[str, Any]] = [
    {"line": 10, "name": "<module>", "filename": 0, "loc": ""},
    {"line": 500, "name": "aot_compile", "filename": 1, "loc": ""},
]


def ahead(name: str = "aot_compile", **times: object) -> bytes:
    stack = [STACK[0], {**STACK[1], "name": name}]
    whole = make.compile("0/0", make.tensor(8, 16))
    kept = [item for item in make.split_records(whole) if b'"dynamo_start"' not in item]
    outside = (b'"dynamo_cpp_guards_str"', b'"compilation_metrics"')
    own = b"".join(item for item in kept if not any(kind in item for kind in outside))
    metrics = {"compile_id": None, "entire_frame_compile_time_s": 2.0, "has_guarded_code": True, **times}
    guards = make.record("dynamo_cpp_guards_str", {}, "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n", stack=stack)
    return make.trace(own, guards, make.record("compilation_metrics", metrics, stack=stack))


def test_it_is_a_compilation_with_its_time() -> None:
    (compile,) = make.load(ahead()).compiles
    assert (compile.outcome.value, compile.seconds) == ("compiled", 2.0)
    assert compile.guards_span


def test_metrics_that_something_else_wrote_are_left_over() -> None:
    trace = make.load(ahead("decorate"))
    assert [problem.count for problem in trace.problems if problem.code == "outside-compiles"] == [2]


def test_without_a_time_of_its_own_it_takes_from_its_start_to_its_end() -> None:
    times = {"duration_us": 1242, "aot_autograd_cumulative_compile_time_us": 1242, "start_time_us": 5_000_000, "end_time_us": 53_500_000}
    (compile,) = make.load(ahead(entire_frame_compile_time_s=None, **times)).compiles
    assert compile.seconds == 48.5
    assert {name: spent for name, spent in compile.phases if spent} == {"Dynamo and backend": 48.5}
    assert make.load(ahead(**times)).compiles[0].seconds == 2.0


def test_a_compilation_with_an_id_has_the_time_that_pytorch_gives_it() -> None:
    times = {"duration_us": 1242, "start_time_us": 5_000_000, "end_time_us": 53_500_000, "compile_id": "0/0"}
    (compile,) = make.load(ahead(entire_frame_compile_time_s=None, **times)).compiles
    assert compile.seconds == 0.001242


def test_what_inductor_took_within_it_is_recorded_after_it() -> None:
    times = {"start_time": 5.0, "start_time_us": 5_000_000, "end_time_us": 53_500_000}
    start = ahead(entire_frame_compile_time_s=None, **times)

    def phases(**changes: object) -> dict[str, float]:
        body = {"compile_id": None, "start_time": 6.0, "inductor_compile_time_s": 44.5, "code_gen_time_s": 43.5, **changes}
        trace = make.load(start + make.record("compilation_metrics_runtime", body))
        assert not trace.problems
        return {name: spent for name, spent in trace.compiles[0].phases if spent}

    assert phases() == {"Dynamo and backend": 4.0, "Inductor": 1.0, "code generation": 43.5}
    assert (
        phases(start_time=60.0)
        == phases(inductor_compile_time_s=49.0)
        == phases(inductor_compile_time_s=None)
        == {"Dynamo and backend": 48.5}
    )
