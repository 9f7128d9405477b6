"""What PGO read and wrote in each process."""

import make
from recorded import compile_of, report_of

from shapelog.model.payloads import CodeStateRecord
from shapelog.model.trace import Trace

HEAD = "hash(00000000)/srv/app/model.py:12:forward:"
STATIC = f"{HEAD}\n  L['x']: tensor size=[8, 16] stride=[S(1), 1]"
DYNAMIC = f"{HEAD}\n  L['x']: tensor size=[?, 16] stride=[S(1), 1]\n  L['k']: fully dynamic scalar or tensor"


def text_of(record: CodeStateRecord) -> str:
    return record.payloads.text(record.span)


def built(*states: tuple[str, str, str]) -> Trace:
    return make.load(make.with_code_states(*states))


def test_every_reading_and_writing_is_kept_in_its_compile() -> None:
    trace = built(
        ("0/0", "get_local", STATIC), ("0/0", "put_local", STATIC), ("0/0", "put_remote", STATIC), ("0/1", "put_extra_remote", DYNAMIC)
    )
    first, second = (make.only(trace, label).code_states for label in ("0/0", "0/1"))
    assert [(record.name, record.compile, record.storage, record.is_read) for record in first + second] == [
        ("get_local", "0/0", "local", True),
        ("put_local", "0/0", "local", False),
        ("put_remote", "0/0", "remote", False),
        ("put_extra_remote", "0/1", "extra remote", False),
    ]
    assert [text_of(record) for record in first] == [STATIC] * 3
    assert first[0].state is first[2].state
    assert text_of(second[0]) == DYNAMIC


def test_a_state_without_payload_is_left_out() -> None:
    data = make.with_code_states() + make.record("artifact", {"name": "put_local_code_state", "encoding": "string"}, id="0/1")
    assert make.load(data).code_states == ()


def test_a_cold_run_read_nothing() -> None:
    (profile,) = built(("0/0", "put_local", STATIC), ("0/1", "put_local", DYNAMIC)).code_states
    assert profile.read is None
    assert text_of(profile.last) == DYNAMIC


def test_what_is_read_after_a_reset_is_no_warm_start() -> None:
    (profile,) = built(("0/0", "put_local", STATIC), ("0/1", "get_local", STATIC)).code_states
    assert profile.read is None
    assert profile.last.is_read
    assert [record.compile for record in profile.records if not record.is_read] == ["0/0"]


def test_a_warm_run_that_learned_nothing_wrote_nothing() -> None:
    (profile,) = built(("0/0", "get_remote", DYNAMIC)).code_states
    assert all(record.is_read for record in profile.records)
    assert profile.read is not None
    assert profile.read.storage == "remote"


def test_each_process_has_a_profile_of_its_own() -> None:
    trace = make.load(
        make.with_code_states(("0/0", "put_local", STATIC))
        + make.with_code_states(("0/0", "get_local", DYNAMIC), process=77)
        + make.with_code_states(process=78)
    )
    assert [(profile.process, profile.last.name) for profile in trace.code_states] == [(make.PROCESS, "put_local"), (77, "get_local")]


def test_what_a_real_warm_run_began_with() -> None:
    (cold,) = report_of("real/2.6/k_pgo_cold.log.gz").trace.code_states
    (warm,) = report_of("real/2.6/k_pgo_warm.log.gz").trace.code_states
    assert warm.read is not None
    assert all(record.is_read for record in warm.records)
    assert text_of(warm.read) == text_of(cold.last)


def test_a_profile_of_another_job() -> None:
    (profile,) = report_of("real/2.13/pgo_remote.log.gz").trace.code_states
    assert profile.read is not None
    assert (profile.read.name, profile.read.storage) == ("get_extra_remote", "extra remote")
    names = [record.name for record in compile_of("real/2.13/pgo_remote.log.gz", "1/0").code_states]
    assert names == ["put_local", "put_remote", "put_remote"]
