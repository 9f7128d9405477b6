"""The fuzzer of benchmarks/, for a few inputs of each kind: the same ones each time, and nothing is found."""

import gc
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from fuzz_kinds import KINDS, Kind, kinds

pytestmark = pytest.mark.slow

# Inputs of each kind; all of them together take some seconds.
INPUTS = {"traces": 60, "dimensions": 60, "text": 150, "text_logs": 60, "archives": 120, "settings": 200, "baselines": 150, "watch": 60}


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, Kind]]:
    gc.freeze()  # what is examined collects garbage, which would take long among all that tests keep
    with kinds() as found:
        yield {kind.name: kind for kind in found}
    gc.unfreeze()


@pytest.mark.parametrize("name", KINDS)
def test_whatever_the_input_is_the_promises_hold(name: str, made: dict[str, Kind]) -> None:
    chance, done = random.Random(1), Counter[str]()
    for _ in range(INPUTS[name]):
        data = made[name].input(chance)
        made[name].examine(data, done, zlib.crc32(data), False)
    assert done


@pytest.mark.parametrize("name", KINDS)
def test_the_same_seed_gives_the_same_inputs(name: str, made: dict[str, Kind]) -> None:
    one, other = ([made[name].input(random.Random(seed)) for seed in range(20)] for _ in range(2))
    assert one == other
