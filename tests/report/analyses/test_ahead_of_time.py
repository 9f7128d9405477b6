"""What AOTInductor compiled has no compile id and no frame, and is no run in which nothing was compiled."""

import make
from recorded import report_of

from shapelog.model.record_index import index_records
from shapelog.report.details.provenance import provenances
from shapelog.report.report import Report
from shapelog.reporters import Options, renderer

NAME = "real/2.13/ahead_of_time.log.gz"
STACK = [
    {"line": 9, "name": "<module>", "filename": "/srv/app/serve.py", "loc": "compile_all(program)"},
    {"line": 4, "name": "compile_all", "filename": "/srv/app/build.py", "loc": "aoti_compile_and_package(program)"},
    {"line": 1, "name": "compile_fx_aot", "filename": "/opt/lib/python3.11/site-packages/torch/_inductor/compile_fx.py", "loc": "x"},
]


def alone(*stacks: list[dict[str, object]]) -> Report:
    """Programs that were exported by another process, compiled in this one."""
    dump = {"name": "inductor_aot_wrapper_code", "type": "cpp"}
    return make.report(make.trace(*(make.record("graph_dump", dump, "int main;", stack=stack) for stack in stacks)))


def shown(report: Report) -> list[str]:
    return renderer("report", "terminal")(report, Options(color=False, width=100)).decode().splitlines()


def test_each_graph_has_the_innermost_line_of_the_user() -> None:
    table = alone(STACK, STACK[:1], STACK[2:]).table("ahead_of_time")
    assert table is not None
    assert table.rows == (
        (1, "build.py:4", "aoti_compile_and_package(program)"),
        (2, "serve.py:9", "compile_all(program)"),
        (3, "not recorded", ""),
    )


def test_it_is_the_summary_of_a_run_that_compiled_nothing_else() -> None:
    lines = shown(alone(STACK, STACK))
    assert lines[-1] == "2 graphs compiled ahead of time"
    assert not any("nothing was compiled" in line for line in lines)
    page = renderer("report", "html")(alone(STACK), Options()).decode()
    assert "1 graph was compiled ahead of time." in page


def test_an_exported_program_that_was_compiled_is_counted_with_its_export() -> None:
    lines = shown(report_of(NAME))
    assert lines[lines.index("Summary: 1 export, 1 without a recorded result") + 1] == "  1 graph compiled ahead of time"
    assert any(line.startswith("      1  ahead_of_time.py:20  ") for line in lines)


def test_recorded_kernels_have_the_lines_of_the_user() -> None:
    (found,) = provenances(index_records(report_of(NAME).trace).outside)
    kernel = next(row for row in found.kernels if row.kernel.startswith("cpp_fused_add_gelu"))
    assert sorted(place.line for place in kernel.places) == [12, 13]
    assert [bool(pane.lines) for pane in found.panes] == [True, True, True]
