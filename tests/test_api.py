"""The functions of the package itself, looked up when they are first used."""

import make
import pytest
from recorded import FIXTURES, report_of

import shapelog
from shapelog.errors import ShapelogError

BATCH = "lab/batch_varies.log.gz"


def test_the_advice_on_a_trace_is_that_of_its_report() -> None:
    advice, reported = shapelog.advise(shapelog.load(FIXTURES / BATCH)), report_of(BATCH).advice
    assert reported is not None
    assert (advice.env, advice.before, advice.after) == (reported.env, reported.before, reported.after)
    assert not advice.is_version_given


@pytest.mark.parametrize(("version", "env"), [("2.13", "L['x']:0"), ("2.10.1+cu126", "L['x']"), ("2.6", "")])
def test_the_list_is_written_for_the_version_that_is_asked_for(version: str, env: str) -> None:
    advice = shapelog.advise(make.load(make.trace(make.static_sizes(10, 12))), torch_version=version)
    assert (advice.env, advice.is_version_given) == (env, True)


@pytest.mark.parametrize("version", ["", "new", "2"])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ShapelogError, match=r"not a version such as 2\.13"):
        shapelog.advise(make.load(make.trace(make.static_sizes(10, 12))), version)


def test_each_public_name_is_there_and_no_other() -> None:
    assert all(getattr(shapelog, name) for name in shapelog.__all__)
    with pytest.raises(AttributeError, match="no attribute 'advice_of'"):
        _ = shapelog.advice_of
