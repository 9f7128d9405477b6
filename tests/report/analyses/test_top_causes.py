"""Which causes cost the most over the whole run?"""

import pytest
from lab import PACKED, Recording, analyzed, checked, manager, state, tensor, tree

from shapelog.report.analyses.top_causes import analyze, fold
from shapelog.report.results import Table


def rows(recording: Recording) -> list[tuple[object, ...]]:
    tables = list(analyze(recording.explained()))
    assert all(isinstance(table, Table) for table in tables)
    return [row for table in tables if isinstance(table, Table) for row in table.rows]


def test_the_cause_that_cost_most_comes_first() -> None:
    made = Recording().compile("0/0", tensor(), guards=tree(state(), checked()))
    made.compile("0/1", tensor(size=(12, 8)), guards=tree(state(), checked(size=(12, 8))), seconds=1.0)
    made.compile("0/2", tensor(), guards=tree(state(grad_mode=False), checked()), seconds=3.0)
    assert rows(made) == [("SL305", "grad-mode-varies", "grad_mode", 1, 3.0), ("SL101", "size-varies", "x.size[0]", 1, 1.0)]


def test_a_recompile_with_several_causes_is_shared_among_them() -> None:
    made = Recording().compile("0/0", tensor(), guards=tree(state(), checked()))
    made.compile("0/1", tensor(size=(12, 8)), guards=tree(state(grad_mode=False), checked(size=(12, 8))), seconds=4.0)
    assert {row[0]: row[3:] for row in rows(made)} == {"SL305": (1, 2.0), "SL101": (1, 2.0)}


def test_layers_of_one_kind_are_folded_into_one_row() -> None:
    sources = [f"L['self']._modules['layers']._modules['{number}']._parameters['weight']" for number in (0, 1)]
    made = Recording()
    for frame, source in enumerate(sources):
        for number, size in enumerate((4, 5)):
            made.compile(f"{frame}/{number}", tensor(source, (size, 8), is_parameter=True), name=f"f{frame}")
    (row,) = [row for row in rows(made) if row[0] == "SL101"]
    assert row[2:4] == ("self.layers.$.weight.size[$] (2 variants)", 2)


def test_a_run_without_recompiles_has_no_causes() -> None:
    assert rows(Recording().compile("0/0", tensor())) == []


def test_a_recompile_without_a_known_cause_has_no_row() -> None:
    assert rows(Recording().compile("0/0", tensor()).compile("0/1", tensor())) == []


@pytest.mark.parametrize("name", PACKED)
def test_the_seconds_add_up_to_those_of_the_explained_recompiles(name: str) -> None:
    report = analyzed(name)
    table = report.table("top_causes")
    known = sum(item.compile.seconds for item in report.recompiles if item.causes)
    assert (sum(row[-1] for row in table.rows if isinstance(row[-1], float)) if table else 0.0) == pytest.approx(known)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("layers[3].weight", "layers[$].weight"),
        ("x.size[0]", "x.size[$]"),
        ("conv2d.weight", "conv2d.weight"),
        ("object at 0x7f7f95182a10", "object at $"),
        ("mode", "mode"),
    ],
)
def test_numbers_and_addresses_are_folded_and_names_are_not(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_two_dims_of_one_tensor_are_variants_of_one_cause() -> None:
    made = Recording().compile("0/0", tensor(size=(4, 6, 8))).compile("0/1", tensor(size=(5, 6, 8))).compile("0/2", tensor(size=(5, 7, 8)))
    (row,) = rows(made)
    assert row[2:4] == ("x.size[$] (2 variants)", 2)


def test_two_dims_that_changed_in_one_recompile_are_variants_of_one_cause() -> None:
    made = Recording().compile("0/0", tensor(size=(4, 6))).compile("0/1", tensor(size=(5, 7)), seconds=2.0)
    assert rows(made) == [("SL101", "size-varies", "x.size[$] (2 variants)", 1, 2.0)]


def test_an_object_that_changed_is_named_by_its_axis() -> None:
    trees = [tree(checked(), manager("L['xs']", f"LENGTH_CHECK: len(L['xs']) == {number}", type="list")) for number in (2, 3)]
    made = Recording().compile("0/0", tensor(), guards=trees[0]).compile("0/1", tensor(), guards=trees[1])
    assert rows(made) == [("SL313", "container-length-varies", "len(xs)", 1, 1.0)]
