"""What PGO read and wrote in each process, and the list of sources that it came to."""

import make
import pytest
from lab import analyzed, compile_of

from shapelog.model.profiles import suggested, would_suggest
from shapelog.model.trace import Trace

HEAD = "hash(00000000)/srv/app/model.py:12:forward:"
STATIC = f"{HEAD}\n  L['x']: tensor size=[8, 16] stride=[S(1), 1]"
DYNAMIC = f"{HEAD}\n  L['x']: tensor size=[?, 16] stride=[S(1), 1]\n  L['k']: fully dynamic scalar or tensor"


def closing(*sources: str) -> str:
    return (
        "\n\nPGO detected a recompilation due to dynamic shapes. To reduce shape recompilations by compiling dynamically to start, "
        f'set environment variable TORCH_COMPILE_DYNAMIC_SOURCES="{",".join(sources)}"'
    )


def run(*states: tuple[str, str, str], process: int = make.PROCESS) -> bytes:
    """A run of two compiles; ``states`` are (compile, name of the artifact, text)."""
    parts = [make.strings(make.MODEL, make.MAIN, process=process)]
    for label, why in (("0/0", ()), ("0/1", (make.mismatch("0/0", 8, 4),))):
        parts.append(make.compile(label, (8 if label == "0/0" else 4, 16), why, process=process))
        parts += [make.artifact(f"{name}_code_state", text, id=label, process=process) for at, name, text in states if at == label]
    return b"".join(parts)


def built(*states: tuple[str, str, str]) -> Trace:
    return make.built(run(*states))


def test_every_reading_and_writing_is_kept_in_its_compile() -> None:
    trace = built(
        ("0/0", "get_local", STATIC),
        ("0/0", "put_local", STATIC),
        ("0/0", "put_remote", STATIC),
        ("0/1", "put_extra_remote", DYNAMIC),
    )
    first, second = (make.only(trace, label).code_states for label in ("0/0", "0/1"))
    assert [(record.name, record.compile, record.storage, record.is_read) for record in first + second] == [
        ("get_local", "0/0", "local", True),
        ("put_local", "0/0", "local", False),
        ("put_remote", "0/0", "remote", False),
        ("put_extra_remote", "0/1", "extra remote", False),
    ]
    assert [record.text for record in first] == [STATIC] * 3
    assert first[0].state is first[2].state
    assert second[0].text == DYNAMIC


def test_a_state_without_payload_is_left_out() -> None:
    data = run() + make.record("artifact", {"name": "put_local_code_state", "encoding": "string"}, id="0/1")
    assert make.built(data).code_states == ()


def test_a_cold_run_read_nothing() -> None:
    (profile,) = built(("0/0", "put_local", STATIC), ("0/1", "put_local", DYNAMIC)).code_states
    assert profile.read is None
    assert profile.written is not None
    assert profile.written.text == profile.last.text == DYNAMIC


def test_what_is_read_after_a_reset_is_no_warm_start() -> None:
    (profile,) = built(("0/0", "put_local", STATIC), ("0/1", "get_local", STATIC)).code_states
    assert profile.read is None
    assert profile.last.is_read
    assert profile.written is not None
    assert profile.written.compile == "0/0"


def test_a_warm_run_that_learned_nothing_wrote_nothing() -> None:
    (profile,) = built(("0/0", "get_remote", DYNAMIC)).code_states
    assert profile.written is None
    assert profile.read is not None
    assert profile.read.storage == "remote"


def test_processes_are_told_apart() -> None:
    trace = make.built(run(("0/0", "put_local", STATIC)) + run(("0/0", "get_local", DYNAMIC), process=77) + run(process=78))
    assert [(profile.process, profile.last.name) for profile in trace.code_states] == [(make.PROCESS, "put_local"), (77, "get_local")]


def test_the_suggestion_is_the_last_one() -> None:
    trace = built(("0/0", "put_local", STATIC + closing("L['x']")), ("0/1", "put_local", DYNAMIC + closing("L['x']", "L['k']")))
    assert suggested(trace) == would_suggest(trace) == ("L['x']", "L['k']")


def test_the_suggestions_of_all_processes_are_one_list() -> None:
    one, other = (DYNAMIC + closing(*sources) for sources in (("L['x']", "L['k']"), ("L['k']", "L['y']")))
    trace = make.built(run(("0/0", "put_local", one)) + run(("0/0", "put_local", other), process=77))
    assert suggested(trace) == would_suggest(trace) == ("L['x']", "L['k']", "L['y']")


def test_without_a_sentence_the_list_is_made_of_what_is_dynamic() -> None:
    trace = built(("0/0", "put_local", STATIC), ("0/1", "put_local", DYNAMIC))
    assert suggested(trace) == ()
    assert would_suggest(trace) == ("L['x']", "L['k']")


def test_a_trace_without_states_has_no_suggestion() -> None:
    assert built().code_states == ()
    assert suggested(built()) == would_suggest(built()) == ()


@pytest.mark.parametrize("name", ["real/2.6/k_pgo_cold.log.gz", "real/2.6/k_pgo_warm.log.gz", "real/2.15/k_pgo_warm.log.gz"])
def test_the_list_of_a_real_program_is_the_same_in_every_version(name: str) -> None:
    trace = analyzed(name).trace
    assert would_suggest(trace) == ("L['x']", "L['m']", "L['s']", "L['self'].k")
    assert suggested(trace) == (would_suggest(trace) if "2.15" in name else ())


def test_what_a_real_warm_run_began_with() -> None:
    (cold,) = analyzed("real/2.6/k_pgo_cold.log.gz").trace.code_states
    (warm,) = analyzed("real/2.6/k_pgo_warm.log.gz").trace.code_states
    assert warm.read is not None
    assert warm.written is None
    assert cold.written is not None
    assert warm.read.text == cold.written.text


def test_a_profile_of_another_job() -> None:
    (profile,) = analyzed("real/2.13/pgo_remote.log.gz").trace.code_states
    assert profile.read is not None
    assert (profile.read.name, profile.read.storage) == ("get_extra_remote", "extra remote")
    names = [record.name for record in compile_of("real/2.13/pgo_remote.log.gz", "1/0").code_states]
    assert names == ["put_local", "put_remote", "put_remote"]
