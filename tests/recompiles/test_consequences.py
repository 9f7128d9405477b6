"""Each predicate of the table: a violation that only follows from others is recognized, and by itself the same one is a cause."""

from collections.abc import Iterator

import make
import pytest
from payload_text import CPU_KEYS, RETURN_LINE, equals_match, global_state, graph_text, guard_manager, guard_tree, tensor_match

from shapelog.recompiles.consequences.separate import CONSEQUENCES, separate
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.violations import violations
from shapelog.rules import Verdict

CHUNK = graph_text('L_x_: "f32[1, s7][s7, 1]cpu"', 'cat: "f32[1, s9][s9, 1]cpu" = torch.cat([l_past_, l_x_], -1)', "return (cat,)")
LONG, STEP = f"2 <= L['x'].size()[1]  {RETURN_LINE}", f"2 <= L['x'].stride()[0]  {RETURN_LINE}"
TIED = "L['x'].stride()[0] == 8*L['x'].size()[1]  # return x.view(-1)  # app/model.py:6 in f"
SUM = "L['x'].size()[0] == 2 + L['y'].size()[0]  # a, b, c = x.split((k, n, m))  # app/model.py:6 in f"
LONG_ITEM = "L['xs'][2].size()[0] <= 30  # if xs[2].size(0) <= 30:  # app/model.py:6 in f"
TRANSFORMS = "| +- LAMBDA_GUARD: torch._functorch.pyfunctorch.compare_functorch_state({})  # app/model.py:6 in f"
JVP_LEVEL = "G['__import_torch_dot__functorch_dot_eager_transforms'].JVP_NESTING"
MODE = "___get_torch_function_mode_stack_at(0).device"
COMPUTED = {"is_leaf": False}
METADATA = "LAMBDA_GUARD: ___check_metadata_140057847825888_c0/0"


def two(before: str, after: str, *reasons: str, inputs: tuple[list[make.Tensor], list[make.Tensor]] = ([], []), **code: str) -> bytes:
    """An entry with one guard tree, and a call that was compiled with another."""
    made = make.trace(make.compile("0/0", *inputs[0], guards=before, **code))
    return made + make.compile("0/1", *inputs[1], guards=after, reasons=tuple(f"0/0: {reason}" for reason in reasons), **code)


def chunks(before: tuple[int, int], after: tuple[int, int], graph: str = "", number: int = 2) -> bytes:
    """Two calls with other sizes of what is kept and of what comes; the first compile has a symbol for the latter, the second for both."""
    guards = (
        guard_tree(tensor_match("L['past']", (1, before[0])), tensor_match(size=(1, None)), shapes=("(L['x'].size()[1] // 8) == 1",)),
        guard_tree(
            tensor_match("L['past']", (1, None)),
            tensor_match(size=(1, None)),
            shapes=(f"((L['past'].size()[1] + L['x'].size()[1]) // 8) == {number}",),
        ),
    )
    made = make.trace()
    for place, (past, new) in enumerate((before, after)):
        tensors = make.tensor(1, past, source="L['past']"), make.tensor(1, new)
        made += make.compile(f"0/{place}", *tensors, guards=guards[place], graph=graph if place and graph else CHUNK)
    return made


def resized(before: tuple[int, ...], after: tuple[int, ...], guards: str | None = None) -> bytes:
    return make.trace(make.compile("0/0", make.tensor(*before), guards=guards), make.compile("0/1", make.tensor(*after)))


def attribute(number: int, size: int) -> str:
    """A tree with an object, and the int below it."""
    owner = guard_manager("L['act']", f"ID_MATCH: ___check_obj_id(L['act'], {number})", type="app.Act")
    return guard_tree(
        owner, guard_manager("L['act'].inner", f"ID_MATCH: ___check_obj_id(L['act'].inner, {number + size})", type="app.Inner")
    )


def function(number: int, value: int) -> str:
    """A tree with a function, and the int that its closure has."""
    code = guard_manager("L['fn'].__code__", f"ID_MATCH: ___check_obj_id(L['fn'].__code__, {number})", type="code")
    return guard_tree(code, equals_match("L['fn'].__closure__[0].cell_contents", value))


def method(name: str, number: int, length: int) -> str:
    """A tree with an object of a class, a function that it has in a closure, and positional arguments."""
    code = guard_manager("L['func'].__code__", f"ID_MATCH: ___check_obj_id(L['func'].__code__, {number})", type="code")
    own = guard_manager("L['self']", f"TYPE_MATCH: ___check_type_id(L['self'], {number})", type=name)
    return guard_tree(own, code, guard_manager("L['args']", f"LENGTH_CHECK: len(L['args']) == {length}", type="tuple"))


def wrapper(number: int, length: int) -> str:
    """A tree with the function that Dynamo's own wrapper calls, and positional arguments."""
    code = guard_manager("L['fn'].__code__", f"ID_MATCH: ___check_obj_id(L['fn'].__code__, {number})", type="code")
    return guard_tree(code, guard_manager("L['args']", f"LENGTH_CHECK: len(L['args']) == {length}", type="tuple"))


def of_parameter(name: str, requires_grad: bool) -> str:
    """A tree with a tensor of a class, as the checks of tensors name it."""
    of_values = f"requires_grad={requires_grad}, size=[4], stride=[1]"
    guard = f"TENSOR_MATCH: check_tensor(L['p'], {name}, {CPU_KEYS}, torch.float32, device=None, {of_values})"
    return guard_tree(guard_manager("L['p']", guard))


def of_class(name: str, width: int) -> str:
    """A tree with an object of a class, and an int that the class has from its parent."""
    own = guard_manager("L['o']", f"TYPE_MATCH: ___check_type_id(L['o'], {len(name)})", type=f"app.{name}")
    return guard_tree(own, equals_match("dict(type(L['o']).__mro__[1].__dict__)['width']", width))


def passing(number: int, length: int) -> str:
    """A tree with a function and positional arguments, which the user's code passes on to it."""
    return wrapper(number, length).replace("# return x + 1 ", "# return fn(self, *args, **kwargs) ")


def keys_of(*keys: str) -> str:
    return CPU_KEYS.replace("AutogradCPU", ", ".join(("AutogradCPU", *keys)))


FAKE = tensor_match(keys=keys_of("Python", "PythonTLSSnapshot", "PythonDispatcher")).replace("Tensor, ", "FakeTensor, ", 1)


def parts(number: int, *shapes: str) -> str:
    """A tree with two tensors of any length, and an int."""
    return guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), equals_match("L['k']", number), shapes=shapes)


def rows(x: int, y: int) -> list[make.Tensor]:
    return [make.tensor(x, 8), make.tensor(y, 8, source="L['y']")]


def with_switch(is_on: bool) -> str:
    """A tree with a switch of a model, and a layer that has an attribute of that name once it was on."""
    has = f"NO_HASATTR: {'' if is_on else 'not '}hasattr(L['m'].layer, 'saves')"
    return guard_tree(tensor_match(), equals_match("L['m'].saves", is_on, "bool"), guard_manager("L['m'].layer", has))


def of_device(device: str, mode: str = "") -> str:
    """A tree with the default device, and the device of a torch function mode."""
    own = [guard_manager(MODE, f"EQUALS_MATCH: {MODE} == {mode}", type="torch.device")] if mode else []
    return guard_tree(f"| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == {device}", *own)


def viewed(rows: int, *shape: int) -> dict[str, object]:
    """A tree of ``x.view(*shape)``, which pins the rows."""
    length = guard_manager("L['shape']", f"LENGTH_CHECK: len(L['shape']) == {len(shape)}", type="tuple")
    items = (equals_match(f"L['shape'][{place}]", size) for place, size in enumerate(shape))
    pin = {"symbol": "s7", "sources": ["L['x'].size()[0]"], "value": str(rows)}
    return {"guards": guard_tree(tensor_match(size=(rows, 8)), length, *items), "specializations": [pin]}


def reshaped(rows: int) -> bytes:
    first = make.compile("0/0", make.tensor(27, 8), **viewed(27, 3, 3, 3))
    return make.trace(first, make.compile("0/1", make.tensor(rows, 8), **viewed(rows, 3, 3)))


def assigned(rows: int, start: int, stop: int, guard: str) -> list[bytes]:
    """Two calls of ``x[start:stop] = y``: of one row, and then of others, whose number may not be that of y."""
    ends = (("s1", "1", "L['start']"), ("s2", "2", "L['stop']")), (("s1", str(start), "L['start']"), ("s2", str(stop), "L['stop']"))
    first = guard_tree(tensor_match("L['y']", (1, 8)), shapes=(f"{guard}  # x[start:stop] = y  # app/model.py:6 in f",))
    return [
        make.compile("0/0", make.tensor(1, 8, source="L['y']"), guards=first, symbols=ends[0]),
        make.compile("0/1", make.tensor(rows, 8, source="L['y']"), guards=guard_tree(tensor_match("L['y']", (rows, 8))), symbols=ends[1]),
    ]


def flattened(rows: int, columns: int, *shapes: str) -> tuple[list[make.Tensor], str]:
    """A call of ``x.flatten() + y`` with symbols for all sizes, and the tree of its entry."""
    code = "  # return x.flatten() + y  # app/model.py:6 in f"
    tree = guard_tree(tensor_match(size=(None, None)), tensor_match("L['y']", (None,)), shapes=tuple(f"{text}{code}" for text in shapes))
    return [make.tensor(rows, columns), make.tensor(rows * columns, source="L['y']")], tree


SQUARE = "L['x'].size()[1] == L['x'].size()[0]  # duck sizing added this equality because these variables had the same size 4"
ROWS_BY_ROWS, ROWS_BY_COLUMNS = (f"L['y'].size()[0] == L['x'].size()[0]*L['x'].size()[{dim}]" for dim in (0, 1))
FLATTENED = flattened(4, 4, SQUARE, ROWS_BY_ROWS), flattened(4, 6, ROWS_BY_COLUMNS)
ONE_ROW = "L['stop'] == 1 + L['start']"


CASES = {
    "below_replaced_object": (two(attribute(1, 1), attribute(2, 2)), "L['act'].inner id"),
    "of_another_class": (
        two(of_class("One", 3), of_class("Other", 5)),
        "dict(type(L['o']).__mro__[1].__dict__)['width'] value",
    ),
    "variable_of_another_function": (
        two(function(1, 3), function(2, 9)),
        "L['fn'].__closure__[0].cell_contents value",
    ),
    "belongs_to_another_class": (two(method("app.Encoder", 1, 2), method("app.Decoder", 2, 3)), "L['args'] len"),
    "passed_to_another_function": (two(passing(1, 2), passing(2, 1)), "L['args'] len"),
    "passed_to_another_callee": (
        two(wrapper(1, 2), wrapper(2, 1), name="inner", file="/opt/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py"),
        "L['args'] len",
    ),
    "rank_changed": (resized((10, 8), (10, 8, 2)), "L['x'] stride[0]"),
    "strides_follow_resized_tensor": (
        resized((4, 6, 8), (4, 6, 9), guard_tree(tensor_match(size=(None, None, 8), stride=(None, 8, 1)), shapes=(TIED,))),
        "L['x'].stride()[0] shape L['x'].stride()[0] == 8*L['x'].size()[1]",
    ),
    "stride_of_one_in_a_resized_tensor": (
        resized((4, 6), (4, 1), guard_tree(tensor_match(size=(4, None), stride=(None, 1)), shapes=(LONG, STEP))),
        "L['x'].stride()[0] shape 2 <= L['x'].stride()[0]",
    ),
    "in_container_of_other_length": (
        two(
            guard_tree(guard_manager("L['xs']", "LENGTH_CHECK: len(L['xs']) == 3", type="list"), shapes=(LONG_ITEM,)),
            guard_tree(guard_manager("L['xs']", "LENGTH_CHECK: len(L['xs']) == 4", type="list")),
            inputs=([make.tensor(20, 8, source="L['xs'][2]")], [make.tensor(40, 8, source="L['xs'][2]")]),
        ),
        "L['xs'][2].size()[0] shape L['xs'][2].size()[0] <= 30",
    ),
    "product_of_other_items": (reshaped(9), "L['x'] size[0]"),
    "length_of_another_value": (
        two(
            guard_tree(equals_match("L['text']", b"abc", type="bytes"), guard_manager("L['text']", "LENGTH_CHECK: len(L['text']) == 3")),
            guard_tree(equals_match("L['text']", b"abcd", type="bytes"), guard_manager("L['text']", "LENGTH_CHECK: len(L['text']) == 4")),
        ),
        "L['text'] len",
    ),
    "constant_in_guard_changed": (
        two(parts(2, SUM), parts(6), inputs=(rows(9, 7), rows(16, 10))),
        "L['x'].size()[0] shape L['x'].size()[0] == 2 + L['y'].size()[0]",
    ),
    "simplified_by_a_static_size": (chunks((8, 12), (12, 4)), "L['x'].size()[1] shape (L['x'].size()[1] // 8) == 1"),
    "met_by_equal_sizes": (
        two(FLATTENED[0][1], FLATTENED[1][1], inputs=(FLATTENED[0][0], FLATTENED[1][0])),
        f"L['y'].size()[0] shape {ROWS_BY_ROWS}",
    ),
    "length_that_fits_a_size": (make.trace(*assigned(3, 2, 5, ONE_ROW)), f"L['stop'] shape {ONE_ROW}"),
    "dtype_follows_default": (
        two(
            guard_tree(global_state(default_dtype=6), tensor_match(dtype="complex64")),
            guard_tree(global_state(default_dtype=7), tensor_match(dtype="complex128")),
        ),
        "L['x'] dtype",
    ),
    "set_by_default_device": (
        two(of_device("None"), of_device("device(type='cpu')"), "___check_torch_function_mode_stack()"),
        " function modes",
    ),
    "object_was_collected": (
        two(attribute(1, 1), attribute(2, 2), "Cache line invalidated because L['act'] got deallocated"),
        "L['act'] id",
    ),
    "below_collected_object": (
        two(
            guard_tree(equals_match("L['act'].width", 3)),
            guard_tree(equals_match("L['act'].width", 4)),
            "Cache line invalidated because L['act'] got deallocated",
        ),
        "L['act'].width value",
    ),
    "collected_object_of_another_type": (
        two(of_class("Lion", 1), of_class("Adamax", 1), "Cache line invalidated because L['o'] got deallocated"),
        "L['o'] lifetime",
    ),
    "not_named_by_pytorch": (
        two(
            guard_tree(equals_match("L['k']", "a", type="str")),
            guard_tree(equals_match("L['k']", "b", type="str")),
            "Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason analysis.",
        ),
        " ",
    ),
    "computed_under_other_grad_mode": (
        two(
            guard_tree(global_state(grad_mode=True), tensor_match(requires_grad=True)),
            guard_tree(global_state(grad_mode=False), tensor_match()),
            inputs=([make.tensor(10, 8, requires_grad=True, **COMPUTED)], [make.tensor(10, 8, **COMPUTED)]),
        ),
        "L['x'] requires_grad",
    ),
    "gradient_of_a_parameter": (two(of_parameter("Parameter", True), of_parameter("Tensor", False)), "L['p'] requires_grad"),
    "metadata_with_requires_grad": (
        two(
            guard_tree(tensor_match(requires_grad=False, more=[METADATA])),
            guard_tree(tensor_match(requires_grad=True, more=[METADATA])),
            "___check_metadata_140057847825888_c0/0  # return x * 2  # app/model.py:6 in f",
            inputs=([make.tensor(10, 8)], [make.tensor(10, 8, requires_grad=True)]),
        ),
        "L['x'] metadata",
    ),
    "changed_by_inference_mode": (
        two(
            guard_tree(global_state(grad_mode=True), tensor_match()),
            guard_tree(global_state(grad_mode=False), tensor_match(keys=CPU_KEYS.replace(", AutogradCPU", ""))),
        ),
        "L['x'] dispatch keys",
    ),
    "changed_by_transform": (
        two(
            guard_tree(TRANSFORMS.format("[]"), tensor_match(), equals_match(JVP_LEVEL, 0)),
            guard_tree(
                TRANSFORMS.format("[('Jvp', 1, True)]"), tensor_match(keys=keys_of("FuncTorchGradWrapper")), equals_match(JVP_LEVEL, 1)
            ),
        ),
        f"{JVP_LEVEL} value",
    ),
    "changed_by_tracing": (
        two(
            guard_tree(global_state(autocast_state={"cached_enabled": False}), FAKE),
            guard_tree(global_state(), tensor_match()),
            "GLOBAL_STATE changed: autocast_cache_enabled",
        ),
        "L['x'] dispatch keys",
    ),
    "dispatch_keys_of_autocast": (
        two(
            guard_tree(global_state(), tensor_match()),
            guard_tree(global_state(autocast_state={"enabled": [True, False]}), tensor_match(keys=keys_of("AutocastCPU"))),
        ),
        "L['x'] dispatch keys",
    ),
    "set_by_entering_autocast": (
        two(
            guard_tree(global_state(autocast_state={"enabled": [False, False], "dtype": [15, 5]}), tensor_match()),
            guard_tree(global_state(autocast_state={"enabled": [True, False], "dtype": [5, 5]}), tensor_match()),
        ),
        " autocast dtype",
    ),
    "stride_follows_size": (resized((4, 6, 8), (4, 7, 8)), "L['x'] stride[0]"),
    "stride_of_a_single_element": (
        make.trace(
            make.compile("0/0", make.tensor(4, 6, 8, stride=[64, 10, 1])), make.compile("0/1", make.tensor(4, 1, 8, stride=[64, 7, 1]))
        ),
        "L['x'] stride[1]",
    ),
    "offsets_of_other_rows": (
        make.trace(
            *(
                make.compile(f"0/{number}", make.tensor(rows, 7), make.tensor(rows + 1, source="L['x']._offsets"))
                for number, rows in enumerate((3, 4))
            )
        ),
        "L['x']._offsets size[0]",
    ),
    "dispatch_keys_of_device": (
        two(
            guard_tree(tensor_match(keys=CPU_KEYS)),
            guard_tree(tensor_match(keys=CPU_KEYS.replace("CPU", "CUDA")).replace("device=None", "device=0")),
        ),
        "L['x'] dispatch keys",
    ),
    "added_with_switch": (two(*map(with_switch, (False, True))), "L['m'].layer has attribute saves"),
}


def separated(made: bytes) -> tuple[list[str], dict[str, list[str]]]:
    """(what changed by itself, what follows from that by the predicate that recognized it), each as ``source property``."""
    entry, call = make.load(made).compiles
    table = FactTable()
    found = violations(table.of(entry), table.of(call), [reason for reason in call.reasons if reason.entry == entry.label])
    own, following = separate(found, table.of(entry), table.of(call))
    by_name: dict[str, list[str]] = {}
    for item in following:
        by_name.setdefault(item.because, []).append(f"{item.violation.source} {item.violation.prop}")
    return [f"{item.source} {item.prop}" for item in own], by_name


def test_there_is_a_case_for_every_predicate() -> None:
    assert list(CASES) == list(CONSEQUENCES)


@pytest.mark.parametrize("name", CASES)
def test_what_only_follows_is_recognized_by_its_predicate(name: str) -> None:
    made, follows = CASES[name]
    own, following = separated(made)
    assert follows in following.get(name, ())
    assert own
    assert follows not in own


@pytest.mark.parametrize("name", CASES)
def test_without_its_predicate_it_is_a_cause(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, follows = CASES[name]
    monkeypatch.setitem(CONSEQUENCES, name, lambda item, changes: False)
    own, following = separated(made)
    assert follows in own + [text for found in following.values() for text in found]
    assert name not in following


def test_a_tensor_that_grad_wraps_requires_a_gradient() -> None:
    wrapped = guard_tree(tensor_match(keys=keys_of("FuncTorchDynamicLayerBackMode", "FuncTorchGradWrapper"), requires_grad=True))
    made = make.last_recompile(two(guard_tree(tensor_match()), wrapped, "tensor 'x' dispatch key set mismatch."))
    assert ([cause.codes for cause in made.causes], made.consequences) == ([("SL303",)], ("x.requires_grad",))


def test_the_containers_of_another_object_may_have_other_items() -> None:
    """Two optimizers of one class, one with more groups; a list that grew in the same object is a cause."""

    def optimizer(number: int, length: int) -> str:
        own = guard_manager("L['self']", f"ID_MATCH: ___check_obj_id(L['self'], {number})", type="torch.optim.AdamW")
        return guard_tree(own, guard_manager("L['self'].groups", f"LENGTH_CHECK: len(L['self'].groups) == {length}", type="list"))

    assert separated(two(optimizer(1, 2), optimizer(2, 1))) == (["L['self'] id"], {"below_replaced_object": ["L['self'].groups len"]})
    assert separated(two(optimizer(1, 2), optimizer(1, 1))) == (["L['self'].groups len"], {})


def test_a_tuple_that_is_compared_as_a_whole_has_another_length_with_another_value() -> None:
    def order(*items: int) -> str:
        length = f"LENGTH_CHECK: len(L['self'].order) == {len(items)}"
        return guard_tree(guard_manager("L['self'].order", f"EQUALS_MATCH: L['self'].order == {items}", length, type="tuple"))

    made = two(order(0), order(0, 1), "len(self.order) == 1")
    assert separated(made) == (["L['self'].order value"], {"length_of_another_value": ["L['self'].order len"]})


@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("float32", "float16"), ("int64", "int32")])
def test_a_dtype_that_changed_in_another_way_than_the_default_dtype_is_a_cause(dtypes: tuple[str, str]) -> None:
    trees = [guard_tree(global_state(default_dtype=number), tensor_match(dtype=name)) for number, name in zip((6, 7), dtypes, strict=True)]
    assert [cause.axis for cause in make.last_recompile(two(*trees)).causes] == ["default_dtype", "x.dtype"]


def test_an_item_of_which_a_line_needs_the_exact_value_is_a_cause_beside_the_length() -> None:
    pin = {"symbol": "s1", "sources": ["L['xs'][0]"], "value": "0"}
    own = guard_manager("L['xs']", "LENGTH_CHECK: len(L['xs']) == 1", type="list")
    made = make.trace(
        make.compile("0/0", guards=guard_tree(own, shapes=["L['xs'][0] == 0"]), symbols=(("s1", "0", "L['xs'][0]"),), specializations=[pin])
    )
    longer = guard_tree(own.replace("== 1", "== 2"), equals_match("L['xs'][0]", 5))
    recompile = make.last_recompile(made + make.compile("0/1", guards=longer))
    assert [cause.axis for cause in recompile.causes] == ["len(xs)", "xs[0]"]
    assert recompile.verdict is Verdict.JUSTIFIED


def test_a_pinned_size_that_is_not_the_product_of_the_items_is_a_cause() -> None:
    assert [cause.axis for cause in make.last_recompile(reshaped(12)).causes] == ["x.size[0]", "len(shape)"]
    assert [cause.axis for cause in make.last_recompile(reshaped(9)).causes] == ["len(shape)"]


@pytest.mark.parametrize(("lengths", "number"), [((1, 2), 1), ((2, 2), 2)])
def test_the_items_of_an_argument_follow_from_another_function_with_another_number_of_them(lengths: tuple[int, int], number: int) -> None:
    items = [guard_manager("L['args'][0]", f"LENGTH_CHECK: len(L['args'][0]) == {count}", type="tuple") for count in (1, 0)]
    trees = [f"{passing(of, length)}{items[of]}" for of, length in enumerate(lengths)]
    assert len(make.last_recompile(two(*trees)).causes) == number


@pytest.mark.parametrize(("rows", "is_product"), [(75, True), (60, False)])
def test_a_number_in_an_equation_may_be_the_product_of_two_ints_that_changed(rows: int, is_product: bool) -> None:
    """``x.view(n, a, b)``, with 3 and 4 for a and b, and then 5 both."""
    tied = "L['x'].size()[0] == 12*L['n']  # return x.view(n, a, b)  # app/model.py:8 in f"
    trees = [
        guard_tree(
            tensor_match(size=(None, 8)),
            *(equals_match(f"L['{name}']", value) for name, value in zip("ab", values, strict=True)),
            shapes=own,
        )
        for values, own in (((3, 4), (tied,)), ((5, 5), ()))
    ]
    made = make.trace(
        *(
            make.compile(f"0/{number}", make.tensor(length, 8), guards=tree, symbols=(("s1", str(n), "L['n']"),))
            for number, (tree, length, n) in enumerate(zip(trees, (24, rows), (2, 3), strict=True))
        )
    )
    causes = [cause.axis for cause in make.last_recompile(made).causes]
    assert causes == ["a", "b"] + ([] if is_product else ["x.size[0]"])


def test_a_length_that_does_not_fit_what_is_assigned_is_a_cause() -> None:
    assert len(make.last_recompile(make.trace(*assigned(3, 2, 5, ONE_ROW))).causes) == 1
    assert len(make.last_recompile(make.trace(*assigned(3, 2, 6, ONE_ROW))).causes) == 2


def test_what_only_follows_from_itself_is_a_cause() -> None:
    assert separated(resized((10, 8), (10, 8), guard_tree(tensor_match(stride=(16, 1))))) == (["L['x'] stride[0]"], {})


@pytest.mark.parametrize(
    ("equation", "sizes", "number"),
    [
        (SUM, (16, 11), 6),
        (SUM.replace("==", "!=").replace("(k, n, m)", "(2, n, m)"), (12, 10), 6),
        (SUM.replace("2 +", "5 +"), (16, 10), 6),
        (SUM.replace("==", "<=").replace("(k, n, m)", "(3 - 1, n, m)"), (16, 10), 6),
    ],
    ids=["another sum", "not equal, with the number in the code", "a number that no int had", "a bound, with the number in the code"],
)
def test_an_equation_that_the_new_number_does_not_solve_is_a_cause(equation: str, sizes: tuple[int, int], number: int) -> None:
    made = two(parts(2, equation), parts(number), inputs=(rows(9, 7), rows(*sizes)))
    assert separated(made) == (["L['k'] value", f"L['x'].size()[0] shape {equation.partition('  #')[0]}"], {})


@pytest.mark.parametrize("guard", [SUM.replace("==", "!="), SUM.replace("==", "<="), SUM.replace("2 +", "1 +").replace("==", "<=")])
def test_a_number_that_the_code_does_not_have_is_the_int_that_changed(guard: str) -> None:
    made = two(parts(2, guard), parts(6), inputs=(rows(9, 7), rows(12, 10) if "!=" in guard else rows(14, 10)))
    assert separated(made) == (["L['k'] value"], {"constant_in_guard_changed": [f"L['x'].size()[0] shape {guard.partition('  #')[0]}"]})


@pytest.mark.parametrize(
    ("graph", "number"), [(CHUNK.replace("cat(", "stack("), 2), (CHUNK, 3)], ids=["another graph", "not for the earlier call"]
)
def test_a_guard_that_is_not_that_of_one_graph_for_both_calls_is_a_cause(graph: str, number: int) -> None:
    own, _ = separated(chunks((8, 12), (12, 4), graph, number))
    assert "L['x'].size()[1] shape (L['x'].size()[1] // 8) == 1" in own


def test_a_number_that_a_size_is_divided_by_is_a_cause() -> None:
    even = "L['x'].size()[0] % 2 == 0  # if x.size(0) % 2 == 0:  # app/model.py:6 in f"
    own, following = separated(two(parts(2, even), parts(3), inputs=(rows(8, 7), rows(9, 7))))
    assert (len(own), following) == (2, {})


@pytest.mark.parametrize(("order", "causes"), [("kx", ["L['k'] == 8", "size[0]"]), ("xk", ["size[0]"])])
def test_what_became_a_number_first_does_not_follow_from_what_became_one_later(order: str, causes: list[str]) -> None:
    """k is a key of a dict, and the size of x that of the tensor there."""
    sources = {"k": "L['k']", "x": "L['x'].size()[0]"}
    pinned = [{"symbol": f"s{name}", "sources": [sources[name]], "value": "8", "user_stack": []} for name in order]
    guard = "L['k'] == 8  # return x * tables[k]  # app/model.py:6 in f"
    made = make.trace(
        make.compile("0/0", make.tensor(8, 2), guards=guard_tree(tensor_match(size=(8, 2)), shapes=(guard,)), specializations=pinned),
        make.compile("0/1", make.tensor(12, 2), guards=guard_tree(tensor_match(size=(12, 2)), equals_match("L['k']", 12))),
    )
    assert sorted(item.rpartition("shape ")[2].removeprefix("L['x'] ") for item in separated(made)[0]) == causes


class Counted(tuple[Violation, ...]):
    """Violations that count how often all of them are gone through."""

    times = 0

    def __iter__(self) -> Iterator[Violation]:
        self.times += 1
        return super().__iter__()


def test_all_violations_are_gone_through_as_often_however_many_they_are() -> None:
    def times(number: int) -> int:
        before, after = (guard_tree(*(equals_match(f"L['v{item}']", item + step) for item in range(number))) for step in (2, 100))
        entry, call = make.load(two(before, after)).compiles
        table = FactTable()
        found = Counted(violations(table.of(entry), table.of(call), ()))
        assert len(found) == number
        separate(found, table.of(entry), table.of(call))
        return found.times

    assert times(20) == times(5)


def test_the_mode_of_the_default_device_has_that_device() -> None:
    devices = "device(type='cpu')", "device(type='meta')"
    assert separated(two(*(of_device(device, device) for device in devices)))[0] == [" default device"]


def test_what_a_branch_requires_of_one_size_it_does_not_require_of_an_equal_one() -> None:
    """The graph of the other call is that of the other branch: it requires nothing of the columns."""
    (before, entry), (after, call) = flattened(4, 4, SQUARE, ROWS_BY_ROWS), flattened(4, 6, ROWS_BY_ROWS.replace("==", "!="))
    own, _ = separated(two(entry, call, inputs=(before, after)))
    assert f"L['y'].size()[0] shape {ROWS_BY_ROWS}" in own


def test_marks_of_equal_sizes_also_help_where_a_guard_is_over_their_symbol() -> None:
    (before, entry), (after, call) = FLATTENED
    symbols = (("s7", "4", "L['x'].size()[0]"), ("s8", "16", "L['y'].size()[0]"))
    reason = f"0/0: {SQUARE}"
    more = (("s9", "6", "L['x'].size()[1]"),)
    made = make.last_recompile(
        make.trace(
            make.compile("0/0", *before, guards=entry, symbols=symbols),
            make.compile("0/1", *after, guards=call, reasons=(reason,), symbols=symbols + more),
        )
    )
    assert ([cause.codes for cause in made.causes], made.verdict) == ([("SL103",)], Verdict.MARKING)


@pytest.mark.parametrize(("rows", "number"), [(1, 1), (3, 0)])
def test_a_size_of_one_under_a_key_is_a_cause_whatever_other_keys_there_are(rows: int, number: int) -> None:
    source = "L['kwargs']['ids']"
    shape = f"2 <= {source}.size()[0]" if rows == 1 else f"8 <= {source}.size()[0]"
    sizes = [make.tensor(8, 4, source=source)], [make.tensor(rows, 4, source=source)]
    lengths = [guard_manager("L['kwargs']", f"DICT_LENGTH: len(L['kwargs']) == {count}", type="dict") for count in (3, 2)]
    first = guard_tree(lengths[0], tensor_match(source, (None, 4)), shapes=(shape,))
    trees = [first, guard_tree(lengths[1], tensor_match(source, (rows, 4)))]
    own, following = separated(two(*trees, inputs=sizes))
    assert len([text for text in own if "ids" in text]) == number
    assert bool(following) is not bool(number)
