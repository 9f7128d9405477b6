"""The code that belongs to a collective schedule."""

import make
import pytest

from shapelog.reading.looking import code_before
from shapelog.reading.payloads.collectives import SCHEDULE

CODE = "def call(args):\n    return torch.ops._c10d_functional.all_reduce_.default(args)\n"
OPERATORS = ["all_reduce_", "wait_tensor"]


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
