"""From the user's lines to kernels, and panes whose lines are linked."""

import gzip

import make
from recorded import FIXTURES, report_of

from shapelog.model.record_index import index_records
from shapelog.report.details.provenance import Provenance, provenances
from shapelog.reporters import Options, renderer

NAME = "real/2.13/provenance.log.gz"
MAPPINGS = {"name": "inductor_provenance_tracking_node_mappings", "encoding": "json"}


def tracked() -> Provenance:
    trace = report_of(NAME).trace
    (found,) = provenances(index_records(trace).of(trace.compiles[0]))
    return found


def test_a_kernel_has_its_nodes_and_the_lines_of_the_user() -> None:
    row = next(item for item in tracked().kernels if item.kernel.startswith("cpp_fused_mul_relu_sigmoid_sum"))
    assert set(row.after) == {"relu", "sigmoid", "sum_1", "mul"}
    assert set(row.before) == {"x_1", "x_2", "sum_1", "d"}
    assert [place.line for place in row.places] == [11, 8, 7, 9]


def test_without_a_record_of_them_the_lines_of_a_kernel_are_those_of_its_nodes() -> None:
    data = gzip.decompress((FIXTURES / NAME).read_bytes()).replace(b"_tracking_kernel_stack_traces", b"_tracking_of_something_else")
    trace = make.load(data)
    (found,) = provenances(index_records(trace).of(trace.compiles[0]))
    assert [sorted(place.line for place in row.places) for row in found.kernels] == [
        sorted(place.line for place in row.places) for row in tracked().kernels
    ]


def test_a_line_is_linked_with_its_nodes_and_its_kernel() -> None:
    before, after, code = tracked().panes
    relu = next(line for line in before.lines if "= torch.relu(" in line.text and line.own)
    lowered = next(line for line in after.lines if "aten.relu.default" in line.text)
    call = next(line for line in code.lines if line.text.strip().startswith("cpp_fused_mul_relu_sigmoid_sum_0(buf0"))
    assert set(lowered.own) & set(relu.linked)
    assert set(call.own) & set(relu.linked)
    assert set(relu.own) & set(call.linked)


def test_the_page_has_the_panes_and_a_table_that_needs_no_script() -> None:
    text = renderer("report", "html")(report_of(NAME), Options()).decode()
    assert text.count('class="pane"') == 3
    assert "From your lines to kernels" in text
    assert 'class="pane"' not in renderer("report", "html")(report_of(NAME), Options(with_source=False)).decode()


def test_mappings_that_cannot_be_read_are_left_out() -> None:
    trace = make.load(make.trace(make.compile("0/0", make.tensor(8, 16)), make.record("artifact", MAPPINGS, "[1]", id="0/0")))
    assert provenances(index_records(trace).of(trace.compiles[0])) == ()


def test_without_graphs_the_table_is_all_there_is() -> None:
    text = '{"preToPost": {"x": ["mm"]}, "cppCodeToPost": {"k:1": ["mm"]}}'
    trace = make.load(make.trace(make.compile("0/0", make.tensor(8, 16)), make.record("artifact", MAPPINGS, text, id="0/0")))
    (found,) = provenances(index_records(trace).of(trace.compiles[0]))
    assert found.panes == ()
    assert found.kernels[0][:3] == ("k:1", ("mm",), ("x",))


def ahead_of_time() -> bytes:
    """What Inductor writes without compile ids when it compiles ahead of time."""
    graph = "class <lambda>(torch.nn.Module):\n    def forward(self, x):\n        {} = torch.ops.{}(x)\n"
    code = "    // [Provenance debug handles] cpp_fused_relu_0:1\n    static int n = 8;\n    cpp_fused_relu_0(buf0);\n"
    mappings = '{"preToPost": {"relu": ["relu_1"]}, "cppCodeToPost": {"cpp_fused_relu_0:1": ["relu_1"]}, "version": 2.0}'
    return make.trace(
        make.compile("0/0", make.tensor(8, 16)),
        make.artifact("before_pre_grad_graph", graph.format("relu", "aten.relu")),
        make.artifact("inductor_post_grad_graph", graph.format("relu_1", "aten.relu.default")),
        make.record("graph_dump", {"name": "inductor_aot_wrapper_code", "type": "cpp"}, code),
        make.record("artifact", MAPPINGS, mappings),
    )


def test_ahead_of_time_compilation_has_the_way_to_its_wrapper_code() -> None:
    (found,) = provenances(index_records(make.load(ahead_of_time())).outside)
    assert found.kernels[0][:3] == ("cpp_fused_relu_0:1", ("relu_1",), ("relu",))
    assert [bool(line.linked) for line in found.panes[2].lines] == [True, True, True]


def test_the_page_shows_ahead_of_time_compilation_with_the_trace() -> None:
    text = renderer("report", "html")(make.report(ahead_of_time()), Options()).decode()
    assert "<h2>Ahead-of-time compilation</h2>" in text
    assert text.count('class="pane"') == 3
