"""Every record kind is either used or counted, and a new one takes an entry in ``KINDS`` and a parser."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import make
import pytest

from shapelog.model.trace import Trace
from shapelog.reading import records
from shapelog.reading.kinds import COUNTED, DECODED, DECODED_ARTIFACTS, KINDS
from shapelog.reading.records import Body, Stacks


def with_record(kind: str, body: Any) -> Trace:
    """A compile with one more record of this kind."""
    return make.load(make.trace(make.compile("0/0", make.tensor(8, 16)), make.record(kind, body, id="0/0")))


def unused(trace: Trace) -> Mapping[str, int]:
    (account,) = trace.accounts
    return account.unused


def outside(trace: Trace) -> str:
    return " ".join(problem.message for problem in trace.problems if problem.code == "outside-compiles")


OF_NO_FRAME = "compiled_autograd_graph"


@pytest.mark.parametrize("kind", [kind for kind, use in KINDS.items() if use == DECODED and kind != OF_NO_FRAME])
def test_a_kind_that_is_decoded_is_used(kind: str) -> None:
    """Its fields may be missed, but it is not left over."""
    trace = with_record(kind, {})
    assert kind not in outside(trace)
    assert kind not in unused(trace)


def test_a_graph_of_compiled_autograd_belongs_to_no_frame() -> None:
    assert f"1 {OF_NO_FRAME}" in outside(
        make.load(make.trace(make.compile("0/0", make.tensor(8, 16)), make.record(OF_NO_FRAME, {}, "a graph")))
    )


@pytest.mark.parametrize("kind", [kind for kind, use in KINDS.items() if use == COUNTED and kind != "artifact"])
def test_a_kind_that_is_not_used_is_counted(kind: str) -> None:
    trace = with_record(kind, {})
    assert outside(trace) == ""
    assert unused(trace)[kind] == 1


@pytest.mark.parametrize("name", sorted(DECODED_ARTIFACTS))
def test_an_artifact_that_is_decoded_is_not_counted_as_unused(name: str) -> None:
    assert not any(name in kind for kind in unused(with_record("artifact", {"name": name, "encoding": "string"})))


class Quantum(NamedTuple):
    state: str


def quantum(body: Body, stacks: Stacks) -> Quantum:
    return Quantum(body["state"])


def test_a_new_kind_takes_an_entry_in_the_list_of_kinds_and_a_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unused(with_record("quantum_graph", {"state": "up"}))["quantum_graph"] == 1
    monkeypatch.setitem(KINDS, "quantum_graph", DECODED)
    monkeypatch.setitem(records.PARSERS, "quantum_graph", quantum)
    trace = with_record("quantum_graph", {"state": "up"})
    assert make.only(trace, "0/0").other_records == {Quantum: (Quantum("up"),)}
    assert "quantum_graph" not in unused(trace)
    assert trace.problems == ()
