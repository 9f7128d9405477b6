"""Which causes cost the most over the whole run?"""

import pytest
from make import compile as compiled
from make import explain, tensor, trace
from payload_text import global_state, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

from shapelog.model.compile import Outcome
from shapelog.report.analyses.top_causes import analyze, fold
from shapelog.report.results import Table


def rows(recording: bytes) -> list[tuple[object, ...]]:
    tables = list(analyze(explain(recording)))
    assert all(isinstance(table, Table) for table in tables)
    return [row for table in tables if isinstance(table, Table) for row in table.rows]


def test_the_cause_that_cost_most_comes_first() -> None:
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    made += compiled("0/1", tensor(12, 8), guards=guard_tree(global_state(), tensor_match(size=(12, 8))), seconds=1.0)
    made += compiled("0/2", tensor(10, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match()), seconds=3.0)
    assert rows(made) == [("SL305", "grad-mode-varies", "grad_mode", 1, 3.0), ("SL101", "size-varies", "x.size[0]", 1, 1.0)]


def test_a_recompile_with_several_causes_is_shared_among_them() -> None:
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    made += compiled("0/1", tensor(12, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match(size=(12, 8))), seconds=4.0)
    assert {row[0]: row[3:] for row in rows(made)} == {"SL305": (1, 2.0), "SL101": (1, 2.0)}


def test_layers_of_one_kind_are_folded_into_one_row() -> None:
    sources = [f"L['self']._modules['layers']._modules['{number}']._parameters['weight']" for number in (0, 1)]
    made = trace()
    for frame, source in enumerate(sources):
        for number, size in enumerate((4, 5)):
            made += compiled(f"{frame}/{number}", tensor(size, 8, source=source, is_parameter=True), name=f"f{frame}")
    (row,) = [row for row in rows(made) if row[0] == "SL106"]
    assert row[2:4] == ("self.layers.*.weight.size[*] (2 variants)", 2)


def test_a_run_without_recompiles_has_no_causes() -> None:
    assert rows(trace(compiled("0/0", tensor(10, 8)))) == []


def test_a_recompile_without_a_known_cause_has_no_row() -> None:
    assert rows(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8)))) == []


@pytest.mark.parametrize("name", RECORDED)
def test_the_seconds_add_up_to_those_of_the_explained_recompiles(name: str) -> None:
    report = report_of(name)
    table = report.table("top_causes")
    known = sum(item.compile.seconds for item in report.recompiles if item.causes and item.compile.outcome is Outcome.COMPILED)
    assert (sum(row[-1] for row in table.rows if isinstance(row[-1], float)) if table else 0.0) == pytest.approx(known)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("layers[3].weight", "layers[*].weight"),
        ("x.size[0]", "x.size[*]"),
        ("conv2d.weight", "conv2d.weight"),
        ("object at 0x7f7f95182a10", "object at *"),
        ("mode", "mode"),
    ],
)
def test_numbers_and_addresses_are_folded_and_names_are_not(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_two_dims_of_one_tensor_are_variants_of_one_cause() -> None:
    made = trace(compiled("0/0", tensor(4, 6, 8)), compiled("0/1", tensor(5, 6, 8)), compiled("0/2", tensor(5, 7, 8)))
    (row,) = rows(made)
    assert row[2:4] == ("x.size[*] (2 variants)", 2)


def test_two_dims_that_changed_in_one_recompile_are_variants_of_one_cause() -> None:
    made = trace(compiled("0/0", tensor(4, 6)), compiled("0/1", tensor(5, 7), seconds=2.0))
    assert rows(made) == [("SL101", "size-varies", "x.size[*] (2 variants)", 1, 2.0)]


def test_an_object_that_changed_is_named_by_its_axis() -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['xs']", f"LENGTH_CHECK: len(L['xs']) == {number}", type="list")) for number in (2, 3)
    ]
    made = trace(compiled("0/0", tensor(10, 8), guards=trees[0]), compiled("0/1", tensor(10, 8), guards=trees[1]))
    assert rows(made) == [("SL313", "container-length-varies", "len(xs)", 1, 1.0)]


@pytest.mark.parametrize("seconds", [1.0, None])
def test_the_note_on_time_is_there_where_times_are_known(seconds: float | None) -> None:
    made = trace(compiled("0/0", tensor(10, 8), seconds=seconds), compiled("0/1", tensor(12, 8), seconds=seconds))
    (table,) = (table for table in analyze(explain(made)) if isinstance(table, Table))
    assert bool(table.note) == (seconds is not None)
