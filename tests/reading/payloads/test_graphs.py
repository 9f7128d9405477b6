"""Graphs: which differences make two graphs dissimilar, and which do not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_text import graph_text
from recorded import FIXTURES, LAB, compile_of, report_of

from shapelog.reading.payloads.graphs import Graph, Placeholder, parse


def printed(inputs: str, *statements: str, indent: str = "        ") -> str:
    """A graph as fx prints it."""
    return "\n".join(
        ["class GraphModule(torch.nn.Module):", f"    def forward(self, {inputs}):", *(indent + line for line in statements), ""]
    )


def of(inputs: str, *statements: str) -> Graph:
    return parse(printed(inputs, *statements))


X = 'L_x_: "f32[10, 8][8, 1]cpu"'
DYNAMIC_X = 's77: "Sym(s77)", L_x_: "f32[s77, 8][8, 1]cpu"'
XY = 'L_x_: "f32[10, 8][8, 1]cpu", L_y_: "f32[10, 8][8, 1]cpu"'
STATIC = of(X, "l_x_ = L_x_", 'relu: "f32[10, 8][8, 1]cpu" = torch.relu(l_x_);  l_x_ = None', "return (relu,)")

ALIKE = {
    "sizes": (
        of(X, "l_x_ = L_x_", 'relu: "f32[10, 8][8, 1]cpu" = torch.relu(l_x_);  l_x_ = None', "return (relu,)"),
        of('L_x_: "f32[20, 8][8, 1]cpu"', "l_x_ = L_x_", 'relu: "f32[20, 8][8, 1]cpu" = torch.relu(l_x_);  l_x_ = None', "return (relu,)"),
    ),
    "symbols": (STATIC, of(DYNAMIC_X, "l_x_ = L_x_", 'relu: "f32[s77, 8][8, 1]cpu" = torch.relu(l_x_);  l_x_ = None', "return (relu,)")),
    "strides and devices": (
        STATIC,
        of('L_x_: "f32[10, 8][1, 10]cuda:0"', "l_x_ = L_x_", 'relu: "f32[10, 8][1, 10]cuda:0" = torch.relu(l_x_)', "return (relu,)"),
    ),
    "numbers": (
        of(X, "l_x_ = L_x_", 'mul: "f32[10, 8]" = l_x_ * 3;  l_x_ = None', "return (mul,)"),
        of(X, "l_x_ = L_x_", 'mul: "f32[10, 8]" = l_x_ * -4.5e-3;  l_x_ = None', "return (mul,)"),
    ),
    "an int that became a symbol": (
        of(X, "l_x_ = L_x_", 'mul: "f32[10, 8]" = l_x_ * 3;  l_x_ = None', "return (mul,)"),
        of(f'{X}, L_k_: "Sym(s5)"', "l_x_ = L_x_", "l_k_ = L_k_", 'mul: "f32[10, 8]" = l_x_ * l_k_;  l_x_ = l_k_ = None', "return (mul,)"),
    ),
    "torch.Size": (
        of(X, "l_x_ = L_x_", 'view: "f32[80]" = l_x_.view(torch.Size([80]))', "return (view,)"),
        of(DYNAMIC_X, "l_x_ = L_x_", 'mul: "Sym(8*s77)" = 8 * s77', 'view: "f32[8*s77]" = l_x_.view(mul)', "return (view,)"),
    ),
    "size arithmetic": (
        of(X, "l_x_ = L_x_", 'view: "f32[5, 16]" = l_x_.view(5, 16)', "return (view,)"),
        of(
            DYNAMIC_X,
            "l_x_ = L_x_",
            "size = l_x_.size()",
            'getitem: "Sym(s77)" = size[0];  size = None',
            'floordiv: "Sym(s77//2)" = getitem // 2;  getitem = None',
            'view: "f32[s77//2, 16]" = l_x_.view(floordiv, 16)',
            "return (view,)",
        ),
    ),
    "checks of sizes": (
        STATIC,
        of(
            DYNAMIC_X,
            "l_x_ = L_x_",
            'ge: "Sym(s77 >= 2)" = s77 >= 2',
            "_assert_scalar_default = torch.ops.aten._assert_scalar.default(ge, 'why');  ge = _assert_scalar_default = None",
            'relu: "f32[s77, 8]" = torch.relu(l_x_)',
            "return (relu,)",
        ),
    ),
    "names": (
        STATIC,
        of('L_tokens_: "f32[3, 8][8, 1]cpu"', "l_tokens_ = L_tokens_", 'relu_1: "f32[3, 8]" = torch.relu(l_tokens_)', "return (relu_1,)"),
    ),
    "comments, blank lines and annotations": (
        STATIC,
        of(X, "l_x_ = L_x_", "", " # File: /srv/a.py:3 in f, code: return relu(x)", "relu = torch.relu(l_x_)", "return (relu,)"),
    ),
    "unused inputs": (
        STATIC,
        of(f'{X}, L_unused_: "i64[3][1]cpu"', "l_x_ = L_x_", 'relu: "f32[10, 8]" = torch.relu(l_x_)', "return (relu,)"),
    ),
    "the order of inputs": (
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", 'sub: "f32[10, 8]" = l_x_ - l_y_', "return (sub,)"),
        of(
            'L_y_: "f32[10, 8][8, 1]cpu", L_x_: "f32[10, 8][8, 1]cpu"',
            "l_y_ = L_y_",
            "l_x_ = L_x_",
            'sub: "f32[10, 8]" = l_x_ - l_y_',
            "return (sub,)",
        ),
    ),
    "a slice that grew": (
        of(X, "l_x_ = L_x_", "getitem = l_x_[(slice(None, None, None), slice(0, 3, None))]", "return (getitem,)"),
        of(
            f'{X}, L_n_: "Sym(s1)"',
            "l_x_ = L_x_",
            "l_n_ = L_n_",
            "getitem = l_x_[(slice(None, None, None), slice(0, l_n_, None))]",
            "return (getitem,)",
        ),
    ),
}

DIFFERENT = {
    "the operation": (STATIC, of(X, "l_x_ = L_x_", 'tanh: "f32[10, 8]" = torch.tanh(l_x_)', "return (tanh,)")),
    "one more operation": (STATIC, of(X, "l_x_ = L_x_", "relu = torch.relu(l_x_)", "relu_1 = torch.relu(relu)", "return (relu_1,)")),
    "the dtype of an input": (
        STATIC,
        of('L_x_: "f64[10, 8][8, 1]cpu"', "l_x_ = L_x_", 'relu: "f64[10, 8]" = torch.relu(l_x_)', "return (relu,)"),
    ),
    "the rank of an input": (STATIC, of('L_x_: "f32[10][1]cpu"', "l_x_ = L_x_", 'relu: "f32[10]" = torch.relu(l_x_)', "return (relu,)")),
    "a rank of none": (
        of('L_x_: "f32[10][1]cpu"', "l_x_ = L_x_", 'relu: "f32[10]" = torch.relu(l_x_)', "return (relu,)"),
        of('L_x_: "f32[][]cpu"', "l_x_ = L_x_", 'relu: "f32[]" = torch.relu(l_x_)', "return (relu,)"),
    ),
    "a dtype in a call": (
        of(X, "l_x_ = L_x_", "to = l_x_.to(torch.float16)", "return (to,)"),
        of(X, "l_x_ = L_x_", "to = l_x_.to(torch.bfloat16)", "return (to,)"),
    ),
    "a bool": (
        of(X, "l_x_ = L_x_", "drop = torch.nn.functional.dropout(l_x_, 0.1, True, False)", "return (drop,)"),
        of(X, "l_x_ = L_x_", "drop = torch.nn.functional.dropout(l_x_, 0.1, False, False)", "return (drop,)"),
    ),
    "a string": (
        of(X, "l_x_ = L_x_", "gelu = torch._C._nn.gelu(l_x_, approximate = 'none')", "return (gelu,)"),
        of(X, "l_x_ = L_x_", "gelu = torch._C._nn.gelu(l_x_, approximate = 'tanh')", "return (gelu,)"),
    ),
    "None or a number": (
        of(X, "l_x_ = L_x_", "clamp = l_x_.clamp(None, 3)", "return (clamp,)"),
        of(X, "l_x_ = L_x_", "clamp = l_x_.clamp(3, None)", "return (clamp,)"),
    ),
    "which value goes where": (
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", "mul = l_x_ * l_y_", "sub = mul - l_x_", "return (sub,)"),
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", "mul = l_x_ * l_y_", "sub = mul - l_y_", "return (sub,)"),
    ),
    "one tensor twice": (
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", "add = l_x_ + l_y_", "return (add,)"),
        of(X, "l_x_ = L_x_", "add = l_x_ + 1", "return (add,)"),
    ),
    "what is returned": (
        of(X, "l_x_ = L_x_", "relu = torch.relu(l_x_)", "tanh = torch.tanh(relu)", "return (tanh,)"),
        of(X, "l_x_ = L_x_", "relu = torch.relu(l_x_)", "tanh = torch.tanh(relu)", "return (tanh, relu)"),
    ),
    "what is written into a tensor": (
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", "l_x_[0] = l_y_;  setitem = l_x_;  l_x_ = None", "return (l_y_,)"),
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", "relu = torch.relu(l_x_)", "l_x_[0] = relu;  setitem = l_x_;  l_x_ = None", "return (l_y_,)"),
    ),
}


@pytest.mark.parametrize("what", ALIKE)
def test_graphs_that_differ_only_in_this_are_similar(what: str) -> None:
    one, other = ALIKE[what]
    assert one.key
    assert one.key == other.key


@pytest.mark.parametrize("what", DIFFERENT)
def test_graphs_that_differ_in_this_are_not_similar(what: str) -> None:
    one, other = DIFFERENT[what]
    assert one.key
    assert other.key
    assert one.key != other.key


def test_writing_into_a_slice_is_an_operation_whose_numbers_do_not_matter() -> None:
    graphs = [
        of(XY, "l_x_ = L_x_", "l_y_ = L_y_", f"l_x_[slice(0, {end}, None)] = l_y_;  setitem = l_x_;  l_x_ = l_y_ = None", "return ()")
        for end in (3, 9)
    ]
    assert graphs[0].op_count == 1
    assert graphs[0].key == graphs[1].key != ""


def nested(inner: str) -> Graph:
    text = printed(
        X,
        "l_x_ = L_x_",
        "",
        "wrap_body_0 = self.wrap_body_0",
        "wrap = torch.ops.higher_order.wrap(wrap_body_0, l_x_);  wrap_body_0 = l_x_ = None",
        'getitem: "f32[10, 8]" = wrap[0];  wrap = None',
        "return (getitem,)",
        "",
        "class wrap_body_0(torch.nn.Module):",
        '    def forward(self, l_x_: "f32[10, 8][8, 1]cpu"):',
        f'        found: "f32[10, 8]" = {inner};  l_x_ = None',
        "        return (found,)",
    )
    return parse(text)


def test_an_inner_graph_matters_but_its_numbers_do_not() -> None:
    assert nested("torch.relu(l_x_)").key != nested("torch.tanh(l_x_)").key
    assert nested("l_x_ * 2").key == nested("l_x_ * 3").key


def test_a_symbol_passed_to_an_inner_graph_does_not_matter() -> None:
    static = of(X, "l_x_ = L_x_", "wrap = torch.ops.higher_order.wrap(wrap_body_0, l_x_)", "return (wrap,)")
    dynamic = of(
        's77: "Sym(s77)", L_x_: "f32[s77, 8][8, 1]cpu"',
        "l_x_ = L_x_",
        "wrap = torch.ops.higher_order.wrap(wrap_body_0, s77, l_x_)",
        "return (wrap,)",
    )
    assert static.key == dynamic.key != ""


def test_the_inputs_are_those_of_the_outer_graph() -> None:
    assert nested("torch.relu(l_x_)").placeholders == (Placeholder("L_x_", "f32[10, 8][8, 1]cpu"),)


def kernel(constants: int, kernel_index: int = 0) -> Graph:
    call = (
        f"triton_kernel_wrapper_mutation = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = {kernel_index}, "
        f"constant_args_idx = {constants}, grid = [(1, 1, 1)], tma_descriptor_metadata = {{}}, kwargs = {{'in_ptr0': l_x_, 'out': empty}})"
    )
    return of(
        X, "l_x_ = L_x_", "empty = torch.empty_like(l_x_)", f"{call};  l_x_ = triton_kernel_wrapper_mutation = None", "return (empty,)"
    )


def test_triton_kernels_of_the_user_are_listed_by_number() -> None:
    assert kernel(0).triton_kernels == (0,)
    assert kernel(0, kernel_index=3).triton_kernels == (3,)
    assert STATIC.triton_kernels == ()


def test_the_constants_of_a_kernel_do_not_matter() -> None:
    assert kernel(0).key == kernel(1).key


def test_a_graph_with_only_size_arithmetic_has_no_key() -> None:
    found = of(
        DYNAMIC_X,
        "l_x_ = L_x_",
        "size = l_x_.size()",
        'getitem: "Sym(s77)" = size[0]',
        'add: "Sym(s77 + 1)" = getitem + 1',
        "return (add,)",
    )
    assert (found.key, found.op_count) == ("", 0)


def test_an_empty_text_is_an_empty_graph() -> None:
    found = parse("")
    assert (found.key, found.placeholders, found.statements, found.op_count) == ("", (), (), 0)


def test_number_inputs_are_distinguished_from_tensors() -> None:
    found = of('s77: "Sym(s77)", L_x_: "f32[s77, 8][8, 1]cpu", L_plain_', "return ()")
    assert [(item.name, item.is_number) for item in found.placeholders] == [("s77", True), ("L_x_", False), ("L_plain_", False)]


def test_a_def_over_several_lines_is_one_line() -> None:
    head = '    def forward(self, L_x_: "f32[3][1]cpu",\n        L_y_: "f32[3][1]cpu"):'
    text = f"class GraphModule(torch.nn.Module):\n{head}\n        return (L_x_,)\n"
    assert [item.name for item in parse(text).placeholders] == ["L_x_", "L_y_"]


def test_user_lines_come_from_the_comments_without_duplicates() -> None:
    found = compile_of("lab/int_and_tensor.log.gz", "0/2").graph
    assert found is not None
    assert [(line.file.rsplit("/", 1)[-1], line.line, line.name, line.code) for line in found.user_lines] == [
        ("int_and_tensor.py", 8, "step", "view = buf[start : start + chunk.shape[0]]"),
        ("int_and_tensor.py", 9, "step", "return (view * chunk).sum() + start"),
    ]


@pytest.mark.parametrize("name", LAB)
def test_the_similar_graphs_of_the_lab_are_found(name: str) -> None:
    truth = json.loads((FIXTURES / "lab/truth.json").read_text(encoding="utf-8"))[name[4:].removesuffix(".log.gz")]
    found = {frozenset(member.label for member in group.members) for group in report_of(name).groups if len(group.members) > 1}
    assert found == {frozenset(group) for group in truth["graphs_similar_groups"] if len(group) > 1}


LINES = st.sampled_from(
    [
        "class G(M):",
        "def forward(self, x):",
        "x = ",
        "torch.relu(",
        ")",
        ': "Sym(s0)"',
        "return (x,)",
        "# File: a.py:3 in f, code: x",
        ";  x = None",
        "[",
        "'",
        '"',
    ]
)


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_any_text_can_be_read_as_a_graph(text: str) -> None:
    found = parse(text)
    assert (found.key == "") is (found.op_count == 0)


@given(st.text(max_size=100))
def test_any_text_gives_the_same_graph_each_time(text: str) -> None:
    assert parse(text) == parse(text)


def test_a_negated_comparison_of_sizes_is_no_operation() -> None:
    """Where the sizes are numbers, nothing is left of ``if one.shape != other.shape``."""
    static = parse(graph_text('L_x_: "f32[4][1]cpu"', 'relu: "f32[4][1]cpu" = torch.relu(l_x_)', "return (relu,)"))
    compared = ('eq: "Sym(Eq(s77, 4))" = s77 == 4;  s77 = None', "not_ = _operator_not_(eq);  eq = not_ = None")
    symbolic = graph_text(
        's77: "Sym(s77)", L_x_: "f32[s77][1]cpu"', *compared, 'relu: "f32[s77][1]cpu" = torch.relu(l_x_)', "return (relu,)"
    )
    assert parse(symbolic).key == static.key
