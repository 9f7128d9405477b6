"""What a report has of each frame."""

import make
import pytest
from make import FAILED, static_sizes, tensor, trace
from make import compile as compiled

from shapelog.report.report import FrameReport


def frame_of(made: bytes) -> FrameReport:
    (found,) = make.report(made).frames
    return found


@pytest.mark.parametrize(
    ("made", "has_recompiled"),
    [
        (trace(static_sizes(10)), False),
        (trace(static_sizes(10, 12)), True),
        (trace(static_sizes(10), make.refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20")), True),
        (trace(static_sizes(10), compiled("0/1", tensor(12, 8), **FAILED)), False),
        (trace(compiled("0/0", tensor(10, 8), **FAILED), compiled("0/1", tensor(12, 8), **FAILED)), False),
    ],
    ids=["once", "twice", "limit", "failed", "only failed"],
)
def test_a_later_call_that_only_failed_is_no_recompile(made: bytes, has_recompiled: bool) -> None:
    assert frame_of(made).has_recompiled is has_recompiled
