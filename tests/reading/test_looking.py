"""The time of the last record of a file, and the code that belongs to a collective schedule."""

import make
import pytest

from shapelog.reading.looking import code_before, last_time
from shapelog.reading.payloads.collectives import SCHEDULE

CODE = "def call(args):\n    return torch.ops._c10d_functional.all_reduce_.default(args)\n"
OPERATORS = ["all_reduce_", "wait_tensor"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (make.small_run(), "1120 08:27:33.313000"),
        (make.small_run() + b"V0102 03:04:05.6 7 x.py:1] {}\n\ta payload\n\tV0102 00:00:00.0 7 x.py:1] {}\n", "0102 03:04:05.6"),
        (make.small_run() + b"V0102 03:04:05.6 7 x.py:1] {}\n\tcut o", "0102 03:04:05.6"),
        (make.prefix() + b'{"str": ["a", 1]}', "1120 08:27:33.313000"),
        (b"no record\n", ""),
        (b"", ""),
    ],
    ids=["plain", "behind a payload", "cut off", "one line", "foreign", "empty"],
)
def test_the_time_of_the_last_record_is_as_it_stands_there(data: bytes, told: str) -> None:
    assert last_time(make.reader(data)) == told


def test_a_last_record_that_is_very_long_tells_no_time() -> None:
    assert last_time(make.reader(make.small_run() + make.artifact("big", "x" * (1 << 20)))) == ""


def code_of(data: bytes) -> str:
    """The code that is found for the last schedule of the only compile."""
    (compile,) = make.built(data).compiles
    assert compile.payloads is not None
    name, offset, _ = compile.inductor[-1]
    assert name == SCHEDULE
    return code_before(compile.payloads.reader, offset, compile.offset)


def test_the_code_of_a_schedule_is_what_stands_before_it() -> None:
    assert code_of(make.run(make.lowered(make.compile(), OPERATORS, CODE))) == CODE


def test_of_two_graphs_each_has_its_own_code() -> None:
    twice = make.lowered(make.lowered(make.compile(), OPERATORS, "first"), OPERATORS, CODE)
    assert code_of(make.run(twice)) == CODE


@pytest.mark.parametrize(
    "data",
    [
        make.lowered(make.compile(), OPERATORS),
        make.lowered(make.compile(), OPERATORS, CODE).replace(b'"/tmp/a.py"}, "frame_id": 0', b'"/tmp/a.py"}, "frame_id": 7'),
        make.lowered(make.compile(), OPERATORS, 'V1120 x] {"inductor_output_code": {}}').replace(
            b'] {"inductor_output_code": {"f', b'] {"x": {"f'
        ),
    ],
    ids=["none", "of another compile", "quoted in a payload"],
)
def test_where_no_code_belongs_to_a_schedule_none_is_found(data: bytes) -> None:
    assert code_of(make.run(data)) == ""
