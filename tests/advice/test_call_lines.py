"""The lines that call two functions: whether one is passed what the other returned."""

from collections.abc import Sequence
from pathlib import Path

import make
import pytest
from payload_text import graph_text, guard_tree, tensor_match

from shapelog.advice.advise import advise
from shapelog.advice.call_lines import Link, link
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source

CONVERTS = {"filename": "/opt/torch/_dynamo/convert_frame.py", "line": 900, "name": "__call__", "loc": "result = self._inner_convert("}
WRAPPER = {"filename": "/opt/torch/nn/modules/module.py", "line": 1789, "name": "_call_impl", "loc": "return forward_call(*args, **kwargs)"}
H = "L['h']"


def symbol(line: str, function: str, number: int, source: str, id: str) -> bytes:
    """The symbol of dim 0, with the stack through the line that called its code."""
    caller = {"filename": "/srv/app/train.py", "line": number, "name": function, "loc": line}
    body = {"symbol": "s1", "val": "12", "vr": "[2, int_oo]", "source": f"{source}.size()[0]", "user_stack": []}
    return make.record("create_symbol", {**body, "stack": [caller, WRAPPER, CONVERTS]}, id=id)


def called(
    line: str, id: str, name: str, function: str = "main", number: int = 7, source: str = "L['x']", graph: str | None = None
) -> Compile:
    made = make.record("dynamo_start", {"stack": []}, id=id) + symbol(line, function, number, source, id)
    guards = guard_tree(tensor_match(source))
    made += make.compile(id, make.tensor(12, 8, source=source), name=name, is_started=False, guards=guards, graph=graph)
    return make.load(make.trace(made)).frames[0].compiles[0]


@pytest.mark.parametrize(
    ("making", "taking", "source", "expected"),
    [
        ("h = encode(x)", "y = score(h)", H, Link.NAMED),  # it may be another h by then
        ("h, _ = encode(x)", "y = score(q, h=h)", H, Link.NAMED),
        ("p = encode(h)", "y = score(h)", H, Link.NONE),
        ("p: Tensor = encode(h)", "y = score(q, k, h=h)", H, Link.NONE),
        ("p = encode(h)", "y = score(p, h, **rest)", "L['args'][1]", Link.NONE),
        ("p = encode(h)", "y = score(p, h, **rest)", "L['args'][0]", Link.NAMED),
        ("p = encode(h)", "y = score(*h)", "L['args'][0]", Link.UNKNOWN),
        ("p = encode(h)", "y = score(h, **rest)", H, Link.UNKNOWN),
        ("p = encode(h)", "y = score(h)", "L['kwargs']['h']", Link.UNKNOWN),
        ("p = encode(h)", "y = score(state)", "L['state'].h", Link.UNKNOWN),  # which p may be by then
        ("state = encode(h)", "y = score(state)", "L['state'].h", Link.NAMED),
        ("y, past = encode(x)", "y, past = score(y, past)", "L['past'][0][1]", Link.NAMED),
        ("y, past = encode(x)", "y, past = score(y, past)", "L['past']['keys']", Link.NAMED),
        ("y, past = encode(x)", "y, past = score(y, past)", "L['self'].past[0]", Link.UNKNOWN),
        ("y = encode(x, past)", "y = score(y, past)", "L['past'].layers[0].keys", Link.NAMED),  # it may have been put there
        ("y = encode(x, past=past)", "y = score(y, past=past)", "L['past']['keys']", Link.NAMED),
        ("y = encode(x, past.copy())", "p = score(q, past)", "L['past'].layers[0].keys", Link.UNKNOWN),
        ("state.p = encode(h)", "y = score(h)", H, Link.UNKNOWN),
        ("p = encode(", "y = score(h)", H, Link.UNKNOWN),
        ("p = encode(h)", "y = score(", H, Link.UNKNOWN),
        ("p = encode(h)", "y, _ = self.d(self.a(h, 2), t)", H, Link.NONE),  # whichever of the two calls is that of score
        ("p = encode(h)", "y, _ = self.d(self.a(p, 2), t)", H, Link.UNKNOWN),
        ("return encode(h)", "y = score(h)", H, Link.UNKNOWN),
        ("h = normalize(encode(x), dim=-1)", "y = score(h)", H, Link.NONE),
        ("h = x - encode(x)", "y = score(h)", H, Link.NONE),
        ("h = -energy(x) - network(x)", "y = score(h)", H, Link.NONE),  # whichever of the two is the module
        ("h = first(x) + second(x)", "y = score(h)", "L['h'][0]", Link.UNKNOWN),  # of two lists
        ("h += encode(h)", "y = score(h)", H, Link.NONE),
        ("h = list(encode(x))", "y = score(h)", H, Link.UNKNOWN),
        ("h = encode(x).contiguous()", "y = score(h)", H, Link.UNKNOWN),
        ("y = score(encode(x))", "y = score(encode(x))", H, Link.DIRECT),
        ("for x in data: y = score(q, h=encode(x)[0])", "for x in data: y = score(q, h=encode(x)[0])", H, Link.DIRECT),
        ("y = score(x + encode(x))", "y = score(x + encode(x))", H, Link.NONE),
        ("p = encode(h); h = h + p; y = score(h)", "p = encode(h); h = h + p; y = score(h)", H, Link.NONE),
    ],
)
def test_what_two_lines_show(making: str, taking: str, source: str, expected: Link) -> None:
    maker, taker = called(making, "0/0", "encode"), called(taking, "1/0", "score")
    assert link(maker, taker, Source(source)) is expected


@pytest.mark.parametrize(
    ("making", "taking", "number", "expected"),
    [
        ("h = model(torch.rand(n, 8))", 'print(f"{n}: {sure(h[0]):.2f}")', 8, Link.DIRECT),
        ("h = model(torch.rand(n, 8))", 'print(f"{n}: {sure(h):.2f}")', 9, Link.NAMED),
        ("h = model(torch.rand(n, 8))", "y = score(h * 2)", 8, Link.NONE),
        ("h = model(torch.rand(n, 8))", "y = score(g)", 8, Link.NONE),
        ("h = model(x.tanh())", "y = score(x)", 8, Link.NONE),  # whichever call is that of the module
        ("n = len(x); h = model(x.tanh())", "y = score(x)", 8, Link.NONE),
        ("self.n = len(x); h = model(x.tanh())", "y = score(x)", 8, Link.UNKNOWN),
        ("h = model(x.tanh())", "y = score(h)", 8, Link.UNKNOWN),  # h may be what was made of it
    ],
)
def test_on_the_next_line_it_is_still_what_was_returned(making: str, taking: str, number: int, expected: Link) -> None:
    maker, taker = called(making, "0/0", "forward"), called(taking, "1/0", "score", number=number)
    assert link(maker, taker, Source(H)) is expected


@pytest.mark.parametrize(
    ("taking", "outputs", "expected"),
    [
        ("y = score(h[live], a)", 1, Link.NONE),
        ("y = score(h[live], a)", 2, Link.UNKNOWN),  # an item of what was returned
        ("y = score(h[0], a)", 1, Link.UNKNOWN),
        ("y = score(h.detach(), a)", 1, Link.NONE),
        ("y = score(h.to(device), a)", 1, Link.UNKNOWN),  # the same tensor, if it is there already
        ("y = score(h.get('k'), a)", 2, Link.UNKNOWN),
        ("y = score(torch.relu(h), a)", 2, Link.NONE),
        ("y = score(h + 1, a)", 2, Link.NONE),
        ("y = score(h + 1, h)", 1, Link.NAMED),
        ("y = score(h.logits[:, -1], a)", 2, Link.NONE),  # lists have no ranges of several dims
        ("y = score(h[:2], a)", 2, Link.UNKNOWN),
    ],
)
def test_what_is_computed_of_it_in_the_call_is_a_new_tensor(taking: str, outputs: int, expected: Link) -> None:
    names = ("a", "b")[:outputs]
    graph = graph_text('L_x_: "f32[12, 8][8, 1]cpu"', *(f"{name} = l_x_ + 1" for name in names), f"return ({', '.join(names)},)")
    maker, taker = called("h = encode(x)", "0/0", "encode", graph=graph), called(taking, "1/0", "score")
    assert link(maker, taker, Source(H)) is expected


@pytest.mark.parametrize(
    ("making", "outputs", "expected"),
    [
        ("h = encode(x).detach()", 1, Link.NONE),
        ("h = encode(x).logits[:, -1].argmax(-1)", 1, Link.NONE),
        ("h = encode(x).detach()", 2, Link.UNKNOWN),
        ("h = encode(x).to(device)", 1, Link.UNKNOWN),
        ("h = encode(x).values()", 1, Link.UNKNOWN),
        ("y = score(encode(x).detach())", 1, Link.NONE),
        ("h = model(torch.ones(n, 8).view(2, -1)).detach()", 1, Link.NONE),
        ("h = pick(n)(x).detach()", 1, Link.UNKNOWN),
    ],
)
def test_what_a_method_of_it_returns_is_a_new_tensor(making: str, outputs: int, expected: Link) -> None:
    names = ("a", "b")[:outputs]
    graph = graph_text('L_x_: "f32[12, 8][8, 1]cpu"', *(f"{name} = l_x_ + 1" for name in names), f"return ({', '.join(names)},)")
    taking = making if making.startswith("y") else "y = score(h)"
    assert link(called(making, "0/0", "encode", graph=graph), called(taking, "1/0", "score"), Source(H)) is expected


@pytest.mark.parametrize(
    ("line", "outputs", "expected"),
    [
        ("y = score(encode(x).logits[:, -3:], a)", 2, Link.NONE),
        ("y = score(encode(x)[:n])", 1, Link.NONE),
        ("y = score(encode(x)[:n])", 2, Link.UNKNOWN),  # a part of a list
        ("y = score(encode(x)[0])", 2, Link.DIRECT),
        ("y = score(model(x).logits[:, -3:], a); n = y.item()", 2, Link.NONE),  # the module's name in the code is not known
        ("y = score(model(x).logits[:, -3:], embed(a)); n = y.item()", 2, Link.UNKNOWN),
    ],
)
def test_a_slice_of_it_is_a_new_tensor(line: str, outputs: int, expected: Link) -> None:
    names = ("a", "b")[:outputs]
    graph = graph_text('L_x_: "f32[12, 8][8, 1]cpu"', *(f"{name} = l_x_ + 1" for name in names), f"return ({', '.join(names)},)")
    maker = called(line, "0/0", "encode" if "encode" in line else "forward", graph=graph)
    assert link(maker, called(line, "1/0", "score"), Source(H)) is expected


@pytest.mark.parametrize(("resumed", "expected"), [("forward", Link.DIRECT), ("other", Link.UNKNOWN)])
def test_what_the_last_part_of_a_function_returns_goes_to_the_line_that_calls_the_function(resumed: str, expected: Link) -> None:
    """Below that line, the stack has the line of the function itself at which the graph broke."""
    outer = {"filename": "/srv/app/train.py", "line": 7, "name": "main", "loc": "h = model(x)"}
    inner = {"filename": make.MODEL, "line": 23, "name": "forward", "loc": "x = act(conv(x))"}
    body = {"symbol": "s1", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": []}
    made = make.record("create_symbol", {**body, "stack": [outer, WRAPPER, inner, CONVERTS]}, id="0/1")
    made += make.compile("0/1", make.tensor(12, 8), name=f"torch_dynamo_resume_in_{resumed}_at_23")
    (maker,) = make.load(make.trace(made)).compiles
    assert link(maker, called("y = score(h)", "1/1", "score", number=8, source=H), Source(H)) is expected


def test_a_module_is_the_only_call_of_its_line_or_any_of_those_whose_result_it_holds() -> None:
    taker = called("hidden = layer(hidden, mask=mask, **kwargs)", "1/0", "__call__")
    for making, expected in (
        ("position = self.embed(hidden)", Link.NONE),
        ("position = self.a(self.b(hidden))", Link.NONE),
        ("hidden = self.a(self.b(hidden))", Link.UNKNOWN),
    ):
        assert link(called(making, "0/0", "forward"), taker, Source("L['args'][0]")) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = self.post(self.model(**b).logits, mask)", Link.DIRECT),
        ("y = self.post(self.model(**b).logits, mask, **kw)", Link.UNKNOWN),  # h may be one of kw
        ("b = tok(texts); y = self.post(self.model(**b).logits, mask)", Link.DIRECT),
        ("y = self.post(torch.relu(self.model(x)))", Link.UNKNOWN),
        ("y = self.post(x, self.model(x))", Link.DIRECT),
        ("y = self.post(x, h=self.model(x))", Link.DIRECT),
        ("y = self.post(self.model(x), h=z)", Link.UNKNOWN),
        ("y = self.post(self.feed(x)) + self.model(x)", Link.UNKNOWN),
        ("y = self.post(x) + self.model(x)", Link.UNKNOWN),
        ("y = self.post(x), self.model(x)", Link.UNKNOWN),
    ],
)
def test_of_two_modules_one_takes_what_the_other_returns(line: str, expected: Link) -> None:
    maker, taker = called(line, "0/0", "forward"), called(line, "1/0", "forward")
    assert link(maker, taker, Source(H)) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("na, nl = act(x); h = target(x, na) - nl; y = score(h)", Link.NONE),
        ("na, nl = act(x); h = target(x, na); y = score(h)", Link.UNKNOWN),
        ("na, nl = act(x); h = target(x, na) - nl; k = nl; y = score(h, k)", Link.UNKNOWN),
        ("na, h = act(x); h += target(x, na); y = score(h)", Link.UNKNOWN),  # in place
        ("na, nl = act(x); h.k = target(x, na); h = h - nl; y = score(h)", Link.UNKNOWN),
    ],
)
def test_what_another_statement_of_the_line_computes_is_new_whichever_call_is_the_module(line: str, expected: Link) -> None:
    taker = called(line, "1/0", "score", source=H)
    assert link(called(line, "0/0", "forward"), taker, Source(H)) is expected


@pytest.mark.parametrize(
    ("taking", "expected"),
    [
        ("y = score(h)", Link.UNKNOWN),
        ("y = score(h[live] - self.mean)", Link.NONE),
        ("y = score(h - mean, table)", Link.UNKNOWN),  # perhaps the table
        ("y = score(h=h - mean, table=table)", Link.NONE),
    ],
)
def test_lines_of_different_functions_show_nothing_but_what_a_call_computes(taking: str, expected: Link) -> None:
    maker, taker = called("p = encode(h)", "0/0", "encode", function="prepare"), called(taking, "1/0", "score")
    assert link(maker, taker, Source(H)) is expected


@pytest.mark.parametrize(
    ("making", "function"),
    [("p = encode(h)", "prepare"), ("table = encode(h)", "add")],  # the table is what the line before returned, and h is not
)
def test_an_argument_with_the_name_of_another_parameter_is_that_one(making: str, function: str) -> None:
    tensors = make.tensor(12, 8, source=H), make.tensor(4, 8, source="L['table']")
    made = make.record("dynamo_start", {"stack": []}, id="1/0") + symbol("y = score(h - mean, table)", "add", 7, H, "1/0")
    made += make.compile("1/0", *tensors, name="score", is_started=False, guards=guard_tree(tensor_match(H)))
    taker = make.load(make.trace(made)).frames[0].compiles[0]
    maker = called(making, "0/0", "encode", function=function)
    assert link(maker, taker, Source(H)) is Link.NONE
    assert link(maker, taker, Source("L['table']")) is not Link.NONE


def handed(
    making: str,
    taking: str,
    outputs: Sequence[str] = ("h",),
    between: int = 1,
    others: Sequence[str] = (),
    apart: Sequence[str] = (),
    view: str = "",
) -> bytes:
    """encode and score are compiled for two sizes, and score takes what looks like the outputs of encode.

    ``between`` is how many lines there are between the two that call them, ``others`` are tensors that score takes besides,
    ``apart`` those of another width that vary with it. ``view`` is the first output with a further dim, and flattened.
    """
    made = make.trace()
    for number, rows in enumerate((10, 12)):
        dim, length = ("s1", None) if number else ("10", 10)
        for frame, (name, source, line) in enumerate((("encode", "L['x']", making), ("score", H, taking))):
            id = f"{frame}/{number}"
            made += make.recompile_reasons(id=id) if number else b""
            made += make.record("dynamo_start", {"stack": []}, id=id)
            made += symbol(line, "main", 7 if making == taking else 7 + (1 + between) * frame, source, id) if number else b""
            made_of_x = [f'{name}: "f32[{dim}, 8][8, 1]cpu" = l_x_ + 1' for name in outputs]
            if view:
                made_of_x[0] = f'{outputs[0]}: "f32[{dim}, 8, 1][8, 1, 1]cpu" = l_x_[..., None]'
            graph = graph_text(f'L_x_: "f32[{dim}, 8][8, 1]cpu"', *made_of_x, f"return ({', '.join(outputs)},)")
            own = apart if frame else ()
            views = (
                [make.tensor(rows, 8, 1, source=f"{view}._base"), make.tensor(rows, 8, source=view, is_view=True, base=0)]
                if view and frame
                else []
            )
            guards = guard_tree(tensor_match(source, (length, 8)), *(tensor_match(item, (length, 3)) for item in own))
            made += make.compile(
                id,
                *views,
                *(make.tensor(rows, 8, source=item) for item in (source, *(others if frame else ()))),
                *(make.tensor(rows, 3, source=item) for item in own),
                name=name,
                is_started=False,
                reasons=None,
                guards=guards,
                graph=graph,
            )
            made += make.record("aot_inference_graph", {}, "a graph", id=id)
    return made


@pytest.mark.parametrize(
    ("lines", "env", "is_sure"),
    [
        (("h = encode(x)", "y = score(h)"), "L['x']:0", False),
        (("y = score(encode(x))",) * 2, "L['x']:0", True),
        (("p = encode(h)", "y = score(h)"), "L['h']:0,L['x']:0", True),
    ],
)
def test_a_tensor_that_the_lines_contradict_is_marked_by_itself(lines: tuple[str, str], env: str, is_sure: bool) -> None:
    """Where they leave it open, the prediction is a range, and a caveat has the reason."""
    advice = advise(make.explain(handed(*lines)))
    assert (advice.env, advice.after.total, advice.after.at_most) == (env, 2, 2 if is_sure else 3)
    assert any("Judging by its sizes, h is returned by other compiled code" in item for item in advice.caveats) is not is_sure


@pytest.mark.parametrize(("end", "env"), [("return self.norm(h)", "L['h']:0,L['x']:0"), ("return h", "L['x']:0")])
def test_a_tensor_that_the_calling_function_makes_before_it_returns_is_marked_by_itself(tmp_path: Path, end: str, env: str) -> None:
    """The last block of a model is compiled by itself, and the loss of what the model returns."""
    file = tmp_path / "model.py"
    file.write_text(f"def forward(self, x):\n    h = encode(x)\n    {end}\n")
    made = handed("h = encode(x)", "y = score(model(x))")
    places = [
        f'"filename": "{path}", "line": {line}, "name": "{name}"'
        for path, line, name in (("/srv/app/train.py", 7, "main"), (file, 2, "forward"))
    ]
    assert advise(make.explain(made.replace(*(place.encode() for place in places)))).env == env


def test_the_remedy_names_the_function_whose_input_is_marked() -> None:
    """The code that was recompiled has no such tensor, or another one of that name."""
    shown = make.report(handed(*("y = score(encode(x))",) * 2))
    remedies = {item.frame.title: shown.remedies.of_recompile(item).text for item in shown.recompiles}
    assert remedies["encode"].startswith("mark dim 0 of x as dynamic: add L['x']:0")
    assert remedies["score"].startswith("mark dim 0 of x in encode as dynamic (the size of h follows from this): add L['x']:0")


@pytest.mark.parametrize(("making", "env", "declared"), [("h = encode(x)", "L['mask']:0", []), ("p = encode(x)", "L['h']:0", ["score"])])
def test_no_shape_is_declared_where_an_input_is_dynamic_without_a_mark(making: str, env: str, declared: list[str]) -> None:
    """What a declaration does not name is static: ``h``, which encode returns with a symbolic size, would be."""
    made = handed(making, "y = score(h)", apart=("L['mask']",)).replace(b'"encode"', b'"torch_dynamo_resume_in_encode_at_3"')
    advice = advise(make.explain(made))
    assert env in advice.env
    assert ("L['h']:0" in advice.env) == bool(declared)
    assert [item.subject for item in advice.alternatives if item.tool == "shapes_spec="] == declared


def test_of_many_inputs_the_first_is_one_of_the_recompiled_code_and_those_of_other_functions_are_counted() -> None:
    shown = make.report(handed(*("y = score(encode(x))",) * 2, apart=("L['a']", "L['b']", "L['c']")))
    (of_score,) = (item for item in shown.recompiles if item.frame.title == "score")
    found = shown.remedies.of_recompile(of_score).text
    assert found.startswith(
        "mark dim 0 of a and 3 more inputs (1 of them in encode) as dynamic (the size of h follows from this): add L['a']:0"
    )
    assert found.endswith(",L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES")


@pytest.mark.parametrize(("between", "env"), [(0, "L['x']:0"), (1, "L['h']:0,L['x']:0")])
def test_one_of_two_outputs_that_look_alike_is_known_by_the_next_line(between: int, env: str) -> None:
    assert advise(make.explain(handed("h, p = encode(x)", "y = score(h)", ("h", "p"), between))).env == env


@pytest.mark.parametrize(("others", "env"), [(["L['b']", "L['z']"], "L['h']:0,L['x']:0"), (["L['p']", "L['z']"], "L['x']:0")])
def test_of_three_inputs_that_look_like_two_outputs_one_is_another_tensor(others: list[str], env: str) -> None:
    """Which one, the names of the parameters may show."""
    lines = "h, p = encode(x)", "y = score(h, p, zeros)"
    assert advise(make.explain(handed(*lines, ("h", "p"), 0, others))).env == env


def test_a_view_of_an_output_of_other_sizes_is_not_another_tensor() -> None:
    """Three inputs look like the two outputs h and p: of these, the lines show that one is a view of v."""
    lines = "v, h, p = encode(x)", "y = score(v.flatten(1), h, p)"
    assert advise(make.explain(handed(*lines, ("v", "h", "p"), 0, ["L['p']"], view="L['v']"))).env == "L['x']:0"


def test_a_function_that_failed_to_compile_computes_something_between_its_calls() -> None:
    """It runs in eager mode, as the forward of a large model often does, and its layers are compiled one by one."""
    made = handed("h = encode(x)", "y = score(h)")
    failed = make.compile("2/0", make.tensor(10, 8), name="main", file="/srv/app/train.py", **make.FAILED)
    for more, env in ((b"", "L['x']:0"), (failed, "L['h']:0,L['x']:0")):
        assert advise(make.explain(made + more)).env == env
