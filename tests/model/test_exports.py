"""Calls of torch.export: which records belong to which, and what came of each."""

from typing import Any

import make
from recorded import report_of

from shapelog.model.exports import Export, ExportResult
from shapelog.model.trace import Trace

EXPORT = "/srv/ml/lib/python3.11/site-packages/torch/export/__init__.py"
LINES = {0: make.MAIN, 1: EXPORT, 2: make.MODEL}


def strings() -> list[bytes]:
    return [make.record("str", [text, number]) for number, text in LINES.items()]


def stack(line: int, name: str = "export") -> list[dict[str, Any]]:
    """Of a record that the call at this line wrote."""
    return [
        {"line": line, "name": "<module>", "filename": 0, "loc": "export(model, inputs)"},
        {"line": 171, "name": name, "filename": 1, "loc": "return _export("},
        {"line": 28, "name": "forward", "filename": 2, "loc": "if n > 4:"},
    ]


def source(line: int, describer: int, **envelope: Any) -> bytes:
    tensor = {"id": 0, "describer_id": describer, "ndim": 1, "dtype": "torch.float32", "size": [8], "stride": [1]}
    named = {"id": 0, "describer_id": describer, "source": "L['x']"}
    envelope = envelope or {"stack": stack(line)}
    return make.record("describe_tensor", tensor, **envelope) + make.record("describe_source", named, **envelope)


def symbol(line: int, **envelope: Any) -> bytes:
    body = {"symbol": "s77", "val": "8", "vr": "[2, 64]", "source": "L['x'].size()[0]", "user_stack": [], "stack": stack(line)}
    return make.record("create_symbol", body, **(envelope or {"stack": stack(line)}))


def loaded(*records: bytes) -> Trace:
    return make.load(make.trace(*strings(), *records))


def calls(trace: Trace) -> list[int]:
    return [export.call.line for export in trace.exports if export.call]


def of_fixture(name: str) -> Export:
    (export,) = report_of(f"real/2.13/{name}.log.gz").trace.exports
    return export


def test_records_of_one_call_are_one_export() -> None:
    trace = loaded(source(10, 0), symbol(10))
    (export,) = trace.exports
    assert (export.result, [item.source for item in export.inputs], [item.name for item in export.symbols]) == (
        ExportResult.UNKNOWN,
        ["L['x']"],
        ["s77"],
    )
    assert not [problem for problem in trace.problems if problem.code == "outside-compiles"]


def test_another_line_or_another_describer_begins_another_export() -> None:
    assert calls(loaded(source(10, 0), symbol(10), source(12, 1), source(12, 2))) == [10, 12, 12]


def test_exports_with_ids_are_distinguished_by_their_tensors() -> None:
    trace = loaded(source(0, 0, id="0/0"), symbol(10, id="0/0"), source(0, 1, id="0/0"), symbol(12, id="0/0"))
    assert calls(trace) == [10, 12]
    assert trace.compiles == ()


def test_a_compile_without_its_start_is_no_export() -> None:
    trace = loaded(source(0, 0, id="0/0"))
    assert trace.exports == ()
    assert len(trace.compiles) == 1


def test_a_compile_next_to_exports_stays_a_compile() -> None:
    trace = loaded(source(10, 900), make.compile("0/0", make.tensor(8, 16)), source(10, 901))
    assert len(trace.exports) == 2
    assert [compile.label for compile in trace.compiles] == ["0/0"]


def test_an_export_with_the_id_of_a_finished_compile_is_no_part_of_it() -> None:
    graph = make.output_graph([8], id="0/0")
    trace = loaded(make.compile("0/0", make.tensor(8, 16)), source(0, 900, id="0/0"), symbol(10, id="0/0"), graph)
    assert calls(trace) == [10]
    (compile,) = trace.compiles
    assert (compile.symbols, compile.inputs[0].size) == ((), (8, 16))


def test_a_record_outside_of_ids_that_no_export_wrote_is_left_over() -> None:
    own = [{"line": 3, "name": "f", "filename": 0, "loc": ""}]
    trace = loaded(make.record("create_symbol", {"symbol": "s0", "val": "8"}, stack=own))
    assert trace.exports == ()
    assert [problem.code for problem in trace.problems if problem.code == "outside-compiles"]


def test_a_call_of_draft_export_is_known_by_its_name() -> None:
    trace = loaded(make.record("create_unbacked_symbol", {"symbol": "u0", "vr": "[0, 4]"}, stack=stack(10, "draft_export")))
    assert [export.is_draft for export in trace.exports] == [True]


def test_a_body_of_another_type_is_a_problem_and_no_crash() -> None:
    trace = loaded(source(10, 0), make.record("propagate_real_tensors_provenance", [1]), make.record("missing_fake_kernel", "op"))
    assert len(trace.exports) == 1
    assert sum(problem.code == "bad-record" for problem in trace.problems) == 2


def test_a_recorded_export_that_stopped_has_failed() -> None:
    for name in ("export_data_dependent", "export_data_dependent_strict", "export_missing_kernel", "export_violation"):
        assert of_fixture(name).result is ExportResult.FAILED, name


def test_without_dtrace_it_is_not_known_whether_a_program_came_out() -> None:
    assert of_fixture("export_violation_unrecorded").result is ExportResult.UNKNOWN


def test_the_program_of_a_recorded_export_has_the_ranges_of_its_symbols() -> None:
    export = of_fixture("export_good")
    assert export.result is ExportResult.EXPORTED
    assert {name: str(found) for name, found in export.final_ranges.items()} == {"s31": "0 to 64", "s27": "2 to 512"}


def test_exports_of_old_versions_are_found_outside_of_compile_ids() -> None:
    trace = report_of("real/2.6/o_export.log.gz").trace
    assert [export.result for export in trace.exports] == [ExportResult.UNKNOWN] * 2
