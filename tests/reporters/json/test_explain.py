"""Everything about one compile as JSON: exactly what its schema requires."""

import pytest
from json_schemas import faults
from recorded import report_of

from shapelog.report.explain_compile import explain_compile
from shapelog.reporters.json.explain import explanation_data

STORIES = [
    (name, compile.label)
    for name in (
        "real/demo.log.gz",
        "real/2.4/d_module.log.gz",
        "real/2.6/i_marks.log.gz",
        "real/2.13/compiled_autograd.log.gz",
        "lab/kv_cache_decode.log.gz",
        "lab/int_drives_python.log.gz",
        "lab/graph_break_resume.log.gz",
        "real/2.6/m_python_state.log.gz",
    )
    for compile in report_of(name).trace.compiles
]


@pytest.mark.parametrize(("name", "label"), STORIES)
def test_an_explanation_is_as_the_schema_requires(name: str, label: str) -> None:
    data = explanation_data(explain_compile(report_of(name).trace, label))
    assert faults("story", data) == []
    assert data["compile_id"] == label
