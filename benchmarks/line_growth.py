#!/usr/bin/env python3
"""Functions whose lines run too often on larger traces: python benchmarks/line_growth.py [--number 40] [DIMENSION ...]

Each dimension of tests/dimensions.py goes through the steps of tests/test_scaling.py at a number and at twice that. What runs more than
2.5 times as many lines then, or more than the trace grew, is listed: a loop without a call, such as a list comprehension, counts with
every item. What stops growing at a bound, such as the 32 entries that a call is compared with, is listed where the number is below it.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from dimensions import DIMENSIONS, SQUARE  # noqa: E402
from test_scaling import steps  # noqa: E402

_PACKAGE = str(ROOT / "shapelog")
# Growth of a function for a trace twice as large, or for each byte more; fewer lines than these are no matter.
_MOST, _MOST_BY_SIZE, _FEW = 2.5, 1.3, 1500


def lines_run(data: bytes) -> Counter[CodeType]:
    """How many lines of each function of the package run in all steps."""
    counts: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        counts[frame.f_code] += 1
        return count

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return count if frame.f_code.co_filename.startswith(_PACKAGE) else None

    sys.settrace(enter)
    try:
        dict(steps(data))
    finally:
        sys.settrace(None)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", nargs="*", help="part of a dimension's name; all by default")
    parser.add_argument("--number", type=int, default=40)
    given = parser.parse_args()
    found = 0
    for name in DIMENSIONS:
        if given.dimension and not any(part in name for part in given.dimension):
            continue
        number = given.number // 3 if name in SQUARE else given.number
        small, large = (DIMENSIONS[name](times * number) for times in (1, 2))
        before, after = lines_run(small), lines_run(large)
        most = max(_MOST, _MOST_BY_SIZE * len(large) / len(small))
        print(f"{name}: {after.total() / before.total():.2f} times the lines for {len(large) / len(small):.2f} times the bytes", flush=True)
        for code, times in after.most_common():
            if times > max(_FEW, most * before[code]):
                found += 1
                place = f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_firstlineno}"
                print(f"    {times} instead of {before[code]}: {place} {code.co_name}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
