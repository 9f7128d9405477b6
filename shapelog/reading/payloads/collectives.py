"""What Inductor records about distributed graphs: collective schedules, estimated runtimes with tensor metadata, the order of execution.

PyTorch writes them as JSON (``torch/_inductor/debug.py``). Text of any other form raises ValueError, TypeError, KeyError or
AttributeError.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

SCHEDULE, TENSORS, EXECUTION = "inductor_collective_schedule", "inductor_runtime_and_tensor_meta", "graph_execution"
# A comment, or a call of a collective in generated code; comments mention collectives, too.
_CALL = re.compile(r"#.*|//.*|torch\s*\.\s*ops\s*\.\s*_?c10d_functional\s*\.\s*(\w+)\s*\.\s*\w+\s*\(")
_OPERATOR = re.compile(r"_?c10d_functional\.(\w+)")
WAIT = "wait_tensor"


class Parity(NamedTuple):
    """Collectives in generated code compared with the schedule: how many are extra or missing, and how many have no wait."""

    difference: int
    missing_waits: int


class Operation(NamedTuple):
    """An operation of a graph: its ``kind`` (``compute``, ``collective``), and how long it runs by Inductor's estimate, in seconds."""

    name: str
    kind: str
    seconds: float


def operator(name: str) -> str:
    """``torch.ops._c10d_functional.all_reduce_.default`` → ``all_reduce``; whether it works in place does not matter to the other ranks."""
    found = _OPERATOR.search(name)
    return (found[1] if found else name).rstrip("_")


def schedule(text: str) -> tuple[str, ...]:
    """The collectives of one graph in order, without the waits, which has to be the same on every rank."""
    names = orjson.loads(text)
    if not isinstance(names, list):
        raise ValueError("a list of collectives was expected")
    found = (operator(name) for name in names if isinstance(name, str))
    return tuple(name for name in found if name != WAIT)


def tensors(text: str) -> tuple[str, float]:
    """A digest of the operations of a graph with shape, stride and dtype of what each returns; estimated runtime in seconds."""
    found = orjson.loads(text)["ops"]
    described = [
        [item["name"], [[output.get(key) for key in ("shape", "stride", "dtype")] for output in item["outputs"]]] for item in found
    ]
    runtime = sum(_nanoseconds(item) for item in found)
    return hashlib.md5(orjson.dumps(described), usedforsecurity=False).hexdigest(), runtime / 1e9


def operations(text: str) -> tuple[Operation, ...]:
    """The operations of a graph in the order in which they run."""
    found = orjson.loads(text)["ops"]
    return tuple(Operation(str(item["name"]), str(item.get("type") or ""), _nanoseconds(item) / 1e9) for item in found)


def _nanoseconds(operation: Mapping[str, Any]) -> float:
    """The estimate of an operation, 0 without one."""
    value = operation.get("estimated_runtime_ns")
    return value if isinstance(value, (int, float)) and 0 <= value < 1e18 else 0.0


def execution(text: str) -> tuple[str, ...]:
    """The labels of the compiles whose graphs ran, in order; ``?`` for a graph from a cache, for which no compile is recorded."""
    return tuple(str(item.get("compile_id") or "?") for item in orjson.loads(text)["graph_execution_order"])


def parity(collectives: Iterable[str], code: str) -> Parity:
    """How the collectives of a schedule compare with those that the generated code calls."""
    called = Counter(found[1].rstrip("_") for found in _CALL.finditer(code) if found[1])
    waits = called.pop(WAIT, 0)
    scheduled = Counter(collectives)
    difference = sum(abs(scheduled[name] - called[name]) for name in scheduled | called)
    return Parity(difference, max(0, sum(called.values()) - waits))
