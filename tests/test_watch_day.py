"""The simulated day of benchmarks/watch_day.py, with shorter hours: what ``shapelog watch`` keeps in memory does not grow."""

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from watch_day import HAPPENS, growth, hours

pytestmark = pytest.mark.slow

COMPILES = 3


@pytest.fixture
def _traced() -> Iterator[None]:
    gc.freeze()  # a watch collects garbage, which would take long among all that tests keep
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.unfreeze()


@pytest.mark.usefixtures("_traced")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
def test_what_a_watch_keeps_does_not_grow_while_jobs_come_and_go(tmp_path: Path) -> None:
    number = 3 * len(HAPPENS)
    found = list(hours(tmp_path, number, length=60, compiles=COMPILES))
    assert len(found) == number
    assert found[-1].events >= number * COMPILES
    assert list(growth(found)) == []
