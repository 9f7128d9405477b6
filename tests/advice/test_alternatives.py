"""The other tools: each is named where it would help and where this torch has it, with lines that Python can read."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from make import compile as compiled
from make import dynamic_size, explain, int_values, load, static_sizes, tensor, trace
from odd_sources import KEYS
from payload_text import code_comment, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

import shapelog
from shapelog.advice.advise import advise
from shapelog.advice.alternatives.alternative import Alternative
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Trace
from shapelog.reading.records import Input
from shapelog.recompiles.explain import explain_trace
from shapelog.rules import RULES

VERSIONS = V24, V26, V28, V210, V213, V214, V215 = [TorchVersion(2, minor) for minor in (4, 6, 8, 10, 13, 14, 15)]


def tools(made: bytes | Trace | str, version: TorchVersion | None = None) -> dict[str, Alternative]:
    if isinstance(made, str):
        made = report_of(made).trace
    found = advise(explain_trace(made if isinstance(made, Trace) else load(made)), version).alternatives
    return {item.tool: item for item in found}


@pytest.mark.parametrize(
    ("name", "tool", "subject"),
    [
        ("one_first", "unbacked source", "x.size[0]"),
        ("hf_vit_batch", "unbacked source", "kwargs['pixel_values'].size[0]"),
        ("batch_varies", "set_stance", "MLP.forward"),
        ("duck_dynamic_true", "use_duck_shape", "q.size[0] and k.size[0]"),
        ("param_shapes", "force_parameter_static_shapes", "self.up in Adapter.forward, self.down in Adapter.forward"),
        ("param_shapes", "isolate_recompiles", "Adapter.forward"),
        ("module_step_counter", "allow_unspec_int_on_nn_module", "self.step"),
        ("batch_varies", "PGO", "x"),
        ("two_dims", "shapes_spec=", "score"),
    ],
)
def test_a_tool_is_named_for_what_it_would_help(name: str, tool: str, subject: str) -> None:
    assert tools(f"lab/{name}.log.gz")[tool].subject == subject


@pytest.mark.parametrize("name", ["no_recompiles", "mark_dynamic_ok", "dict_keys", "callable_identity", "autocast_toggle"])
def test_a_run_that_is_healthy_or_varies_in_other_things_needs_none(name: str) -> None:
    assert tools(f"lab/{name}.log.gz") == {}


@pytest.mark.parametrize(
    ("made", "tool", "first"),
    [
        (trace(static_sizes(10, 1)), "unbacked source", V26),
        (trace(static_sizes(10, 12, 14, source="L['x']")), "PGO", V28),
        (trace(static_sizes(10, 12)), "shapes_spec=", V213),
        (trace(static_sizes(10, 12)), "dynamic_shapes=", V214),
        (trace(static_sizes(10, 12, source="L['x']")), "maybe_mark_dynamic with a range", V215),
    ],
    ids=["unbacked", "PGO", "shapes_spec", "dynamic_shapes", "maybe_mark_dynamic"],
)
def test_a_tool_is_named_from_the_version_on_that_has_it(made: bytes, tool: str, first: TorchVersion) -> None:
    has = [version for version in VERSIONS if tool in tools(made, version)]
    assert has[0] == first
    assert has == [version for version in VERSIONS if version >= first] or tool == "shapes_spec="


def test_the_argument_of_torch_compile_has_another_name_in_each_version() -> None:
    assert ["dynamic_shapes=" in tools(trace(static_sizes(10, 12)), version) for version in (V213, V214)] == [False, True]
    assert ["shapes_spec=" in tools(trace(static_sizes(10, 12)), version) for version in (V213, V214)] == [True, False]


@pytest.mark.parametrize(("part", "is_offered"), [("_local_tensor", False), ("_base", True)], ids=["DTensor", "view"])
def test_no_shape_is_declared_of_a_tensor_that_consists_of_others(part: str, is_offered: bool) -> None:
    symbols = [("s0", 12, f"L['x'].{part}.size()[0]")]
    made = trace(static_sizes(10, 12), compiled("0/2", tensor(14, 8), symbols=symbols, dynamic=[0]))
    assert ("shapes_spec=" in tools(made, V213)) == is_offered


@pytest.mark.parametrize(("owner", "is_offered"), [("L['self']", True), ("L['model']", False)])
def test_a_function_that_is_passed_a_model_has_no_instance_of_its_own(owner: str, is_offered: bool) -> None:
    weight = f"{owner}._modules['lin']._parameters['weight']"
    made = trace(*[compiled(f"0/{number}", tensor(4 + number, 8, source=weight, is_parameter=True)) for number in range(2)])
    assert ("isolate_recompiles" in tools(made, V213)) is is_offered


@pytest.mark.parametrize(
    ("guard", "is_offered"),
    [
        ("2 <= L['x'].size()[0]", True),
        ("L['x'].size()[0] <= 30", False),
        ("L['x'].size()[0] == L['y'].size()[0]", False),
    ],
)
def test_sizes_that_the_code_compares_are_not_to_be_unbacked(guard: str, is_offered: bool) -> None:
    made = trace(static_sizes(10, 12), dynamic_size("0/2", 14, guard))
    assert ("shapes_spec=" in tools(made, V213)) is is_offered
    assert ("unbacked source" in tools(made + compiled("0/3", tensor(1, 8)), V213)) is is_offered


# Lines.


def test_a_declaration_can_be_a_decorator_where_this_version_has_one() -> None:
    made = trace(static_sizes(10, 12))
    assert "dynamic_spec(" not in " ".join(tools(made, V213)["shapes_spec="].lines)
    imported, call, decorator, seen = tools(made, V214)["dynamic_shapes="].lines
    assert imported.endswith("import ShapeVar, TensorSpec, dynamic_spec")
    spec = call.removeprefix("torch.compile(f, dynamic_shapes=").removesuffix(")")
    assert decorator == f"# or, in place of the argument, above def f: @dynamic_spec({spec})"
    assert seen.startswith("# seen: ")


def test_a_mark_that_is_not_enforced_has_the_range_of_sizes_seen() -> None:
    (line,) = tools(trace(static_sizes(10, 12, 40, source="L['x']")), V215)["maybe_mark_dynamic with a range"].lines
    assert line == "torch._dynamo.maybe_mark_dynamic(x, 0, min=10, max=40)"
    assert "maybe_mark_dynamic with a range" not in tools(trace(static_sizes(10, 1, 12, 40, source="L['x']")), V215)


@pytest.mark.slow
def test_the_lines_can_be_read_by_python_or_a_shell() -> None:
    advices = [report_of(name).advice for name in RECORDED]
    found = [item for advice in advices if advice for item in advice.alternatives]
    assert len({item.tool for item in found}) > 8
    for item in found:
        assert item.sentence
        assert set(item.codes) <= {*RULES, "SL108", "SL702"}
        for line in item.lines:
            assert line.startswith("TORCH_") or ast.parse(line)


@pytest.mark.parametrize(("name", "is_offered"), [("L['y']", True), ("L['x']", False)])
def test_code_that_compares_nothing_is_offered_what_other_code_cannot_have(name: str, is_offered: bool) -> None:
    """But by name, so not where that other code has an input of the same."""
    compared = guard_tree(tensor_match(size=(None, 8)), shapes=("L['x'].size()[0] <= 512",))
    made = trace(*(compiled(f"0/{number}", tensor(size, 8), dynamic=[0], guards=compared) for number, size in enumerate((10, 12))))
    made += b"".join(compiled(f"1/{number}", tensor(size, 8, source=name), name="g") for number, size in enumerate((10, 1)))
    assert ("unbacked source" in tools(made, V213)) is is_offered


@pytest.mark.parametrize(("name", "callee"), [("<lambda>", "fn"), ("f", "f"), ("", "fn")])
def test_code_without_a_name_is_called_fn(name: str, callee: str) -> None:
    assert tools(trace(static_sizes(10, 12, name=name)))["shapes_spec="].lines[1].startswith(f"torch.compile({callee}, ")


def test_a_method_stands_for_its_model() -> None:
    assert tools("lab/batch_varies.log.gz")["shapes_spec="].lines[1].startswith("torch.compile(model, ")


@pytest.mark.parametrize("key", KEYS)
def test_a_list_in_a_line_is_a_string_that_holds_it(key: object) -> None:
    source = f"L['d'][{key!r}]"
    line = tools(trace(static_sizes(10, 1, source=source)))["unbacked source"].lines[0]
    torch = SimpleNamespace(compiler=SimpleNamespace(config=ModuleType("config")))
    exec(line, {"torch": torch})
    assert torch.compiler.config.unbacked_sources == advise(explain(trace(static_sizes(10, 12, source=source)))).env


def test_an_array_of_numpy_takes_no_mark_in_code() -> None:
    made = trace(static_sizes(10, 1, source="___from_numpy(L['x'])"))
    lines = tools(made, V213)["unbacked source"].lines
    assert lines[0].startswith("torch.compiler.config.unbacked_sources = \"___from_numpy(L['x']):0\"")
    assert not any("mark_unbacked" in line for line in lines)
    assert "unbacked source" not in tools(made, V26)
    (left,) = advise(explain(made)).remaining
    assert left.remedy.endswith("only where no code branches on the size (convert the array with torch.from_numpy)")


def test_a_value_that_a_graph_break_left_has_no_name_in_code() -> None:
    lines = tools(trace(static_sizes(10, 1, source="L['___stack0']")), V213)["unbacked source"].lines
    assert lines[0].startswith("torch.compiler.config.unbacked_sources = \"L['___stack0']:0\"")
    assert not any("mark_unbacked" in line for line in lines)


def test_an_unbacked_size_is_marked_in_code_where_there_is_no_list() -> None:
    assert tools(trace(static_sizes(10, 1)), V26)["unbacked source"].lines == ("torch._dynamo.decorators.mark_unbacked(x, 0)",)
    assert len(tools(trace(static_sizes(10, 1)), V213)["unbacked source"].lines) == 2


def test_the_specification_names_each_argument_and_dim() -> None:
    made = trace(
        compiled("0/0", tensor(10, 8), tensor(4, 10, source="L['y']")), compiled("0/1", tensor(12, 8), tensor(4, 12, source="L['y']"))
    )
    specified = 'torch.compile(f, shapes_spec={"x": TensorSpec([ShapeVar("x_0"), None]), "y": TensorSpec([None, ShapeVar("y_1")])})'
    assert tools(made)["shapes_spec="].lines[1] == specified


def test_the_specification_is_for_the_function_that_the_marks_help() -> None:
    other = compiled("0/0", tensor(10, 8), name="other"), compiled("0/1", tensor(10, 8, dtype="torch.float64"), name="other")
    alternative = tools(trace(*other, static_sizes(10, 12, frame=1, name="helped")))["shapes_spec="]
    assert alternative.lines[1:] == (
        'torch.compile(helped, shapes_spec={"x": TensorSpec([ShapeVar("x_0"), None])})',
        "# seen: x.shape[0] 10 to 12",
    )


@pytest.mark.parametrize("source", ["L['self'].cache", "L['d']['a']", "G['table']"])
def test_what_is_no_argument_cannot_be_specified(source: str) -> None:
    assert "shapes_spec=" not in tools(trace(static_sizes(10, 12, source=source)))


# When not.


def test_the_first_call_is_skipped_only_where_the_second_was_dynamic() -> None:
    assert "set_stance" not in tools(trace(static_sizes(10, 12)))
    free = guard_tree(tensor_match(size=(None, 8)))
    made = trace(static_sizes(10), compiled("0/1", tensor(12, 8), guards=free, symbols=(("s77", "12", "L['x'].size()[0]"),)))
    assert tools(made)["set_stance"].subject == "f"


def test_the_first_call_is_not_skipped_where_the_code_needs_the_number_anyway() -> None:
    pinned = [{"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10"}]
    made = trace(static_sizes(10), compiled("0/1", tensor(12, 8), dynamic=[1], specializations=pinned))
    assert "set_stance" not in tools(made)


def test_a_profile_is_not_named_where_there_was_one() -> None:
    assert "PGO" in tools("lab/batch_varies.log.gz")
    assert "PGO" not in tools("real/2.13/batch_varies.pgo_cold.log.gz")


def test_a_float_is_remembered_by_a_profile_alone() -> None:
    made = trace(
        compiled(
            "0/0", tensor(10, 8), guards=guard_tree(tensor_match(), guard_manager("L['s']", "EQUALS_MATCH: L['s'] == 1.5", type="float"))
        )
    )
    symbolic = guard_tree(tensor_match(), guard_manager("___as_tensor(L['s'])", type="torch.Tensor"))
    reason = "0/0: s == 1.5"
    made += compiled("0/1", tensor(10, 8), guards=symbolic, symbols=(("zf1", "2.5", "L['s']"),), reasons=(reason,))
    found = tools(made)["PGO"]
    assert found.subject == "s"
    assert "including floats" in found.sentence


def test_ints_before_the_list_need_dynamic_true() -> None:
    assert tools(trace(int_values(3, 4)), V26)["dynamic=True"].subject == "k"
    assert "dynamic=True" not in tools(trace(int_values(3, 4)), V28)


@pytest.mark.parametrize(("count", "other", "is_long"), [(11, 0, False), (12, 0, True), (12, 4, False)])
def test_a_long_list_of_dims_that_have_one_size_may_be_one_number(count: int, other: int, is_long: bool) -> None:
    made = trace()
    for number, size in enumerate((10, 12)):
        sizes = [size + other * (index == 0) for index in range(count)]
        made += compiled(f"0/{number}", *(tensor(size, 8, source=f"L['x{index}']") for index, size in enumerate(sizes)))
    found = tools(made)
    assert ("dynamic_values" in found) is is_long
    if is_long:
        assert found["dynamic_values"].subject == "12 marks"


def test_more_graphs_than_the_limit_allows_need_a_higher_limit() -> None:
    def modes(count: int) -> bytes:
        made = trace()
        for number in range(count):
            leaf = guard_manager(
                "L['mode']", f"EQUALS_MATCH: L['mode'] == 'mode {number}'", type="str", comment=code_comment(7, "if mode:")
            )
            made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf))
        return made

    assert "recompile_limit" not in tools(modes(8))
    assert tools(modes(9))["recompile_limit"].lines == ("torch.compile(f, recompile_limit=16)",)
    assert tools(modes(9), V28)["recompile_limit"].lines == ("torch._dynamo.config.recompile_limit = 16",)
    assert tools(modes(9), V26)["recompile_limit"].lines == ("torch._dynamo.config.cache_size_limit = 16",)


def test_no_limit_is_high_enough_for_what_is_made_anew_each_time() -> None:
    assert "recompile_limit" not in tools("lab/callable_identity.log.gz")


def test_what_is_pinned_again_and_again_may_be_static() -> None:
    made = trace(static_sizes(3, 4))
    for number in (2, 3):
        pinned = {"symbol": "s77", "sources": ["L['x'].size()[1]"], "value": "8"}
        symbols = (("s77", "8", "L['x'].size()[1]"), ("s78", str(number), "L['x'].size()[0]"))
        made += compiled(f"0/{number}", tensor(number + 3, 8), symbols=symbols, specializations=(pinned,), graph="")
    assert tools(made, V215)["static source"].subject == "x.size()[1]"
    assert "static source" not in tools(made, V213)


def ranks(where: Path, *made: bytes) -> Trace:
    for number, item in enumerate(made):
        path = where / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log"
        path.write_bytes(item)
    return shapelog.load(where)


@pytest.mark.parametrize(("other", "differ"), [((10, 14), True), ((10, 12), False)])
def test_ranks_that_saw_different_sizes_can_agree_on_what_is_dynamic(tmp_path: Path, other: tuple[int, ...], differ: bool) -> None:
    assert ("compiler collectives" in tools(ranks(tmp_path, trace(static_sizes(10, 12)), trace(static_sizes(*other))))) is differ


def test_a_mark_that_the_code_contradicts_is_named() -> None:
    advice = report_of("real/2.6/i_marks.log.gz").advice
    assert advice is not None
    first, second = (item for item in advice.alternatives if item.tool == "maybe_mark_dynamic")
    assert (first.subject, second.subject) == ("x.size[0] in violates", "x.size[0] in violates2")
    assert first.lines == ("torch._dynamo.maybe_mark_dynamic(x, 0)  # instead of mark_dynamic",)
    assert second.lines[1] == "torch._dynamo.mark_dynamic(y, 0)  # if the two sizes have to be equal"


class Counted(tuple[Input, ...]):
    """Inputs of a compile that count how often all of them are gone through."""

    times = 0

    def __iter__(self) -> Iterator[Input]:
        self.times += 1
        return super().__iter__()


def test_the_inputs_of_a_compile_are_gone_through_as_often_however_many_are_marked() -> None:
    def times(number: int) -> int:
        made = (
            compiled(f"0/{again}", *(tensor(size, 16, source=f"L['t{item}']") for item in range(number)))
            for again, size in enumerate((8, 3))
        )
        found = load(trace(*made))
        for compile in found.compiles:
            object.__setattr__(compile, "inputs", Counted(compile.inputs))
        assert "# seen: t0.shape[0] 3 to 8" in tools(found, V213)["shapes_spec="].lines[-1]
        return sum(compile.inputs.times for compile in found.compiles if isinstance(compile.inputs, Counted))

    assert times(11) == times(3)
