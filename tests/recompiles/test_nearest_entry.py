"""Which entries a call is compared with, and that their number is bounded."""

from typing import Any

import pytest
from make import compile, describe, explain, int_values, last_recompile, load, report, tensor, trace
from payload_text import (
    CPU_KEYS,
    RETURN_LINE,
    equals_match,
    global_state,
    graph_text,
    guard_manager,
    guard_tree,
    size_mismatch,
    tensor_match,
)

from shapelog.model.compile import Compile
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.nearest_entry import MOST_COMPARED, Entries
from shapelog.rules import Verdict


def entries_of(compiles: tuple[Compile, ...]) -> Entries:
    found = Entries()
    for item in compiles:
        found.add(item)
    return found


def compiles_of(count: int, reasons: tuple[str, ...] = ()) -> tuple[Compile, ...]:
    made = (compile(f"0/{number}", tensor(number + 3, 8), reasons=reasons if number == count - 1 else ()) for number in range(count))
    return load(trace(*made)).compiles


def test_without_reasons_all_entries_are_compared_the_last_first() -> None:
    *earlier, last = compiles_of(4)
    found = entries_of(tuple(earlier))
    assert [item.label for item in found.compared_with(last, FactTable())] == ["0/2", "0/1", "0/0"]


def test_the_entries_that_pytorch_lists_are_compared_in_its_order() -> None:
    *earlier, last = compiles_of(4, (size_mismatch("0/0", 3, 6), size_mismatch("0/2", 5, 6)))
    assert [item.label for item in entries_of(tuple(earlier)).compared_with(last, FactTable())] == ["0/0", "0/2"]


@pytest.mark.parametrize("is_listed", [False, True])
def test_of_very_many_entries_the_last_and_the_first_are_compared(is_listed: bool) -> None:
    # Each was compiled for a tensor of its own, so no two are alike.
    made = [compile(f"0/{number}", tensor(8, 8, source=f"L['x{number}']")) for number in range(50)]
    reasons = [f"0/{number}: len(L['y']) == {number}" for number in range(49, -1, -1)] if is_listed else []
    *earlier, last = load(trace(*made, compile("0/50", tensor(8, 8), reasons=reasons))).compiles
    found = entries_of(tuple(earlier))
    labels = [item.label for item in found.compared_with(last, FactTable())]
    assert labels == [f"0/{number}" for number in (*range(49, 25, -1), *range(7, -1, -1))]
    assert (len(labels), found.left_out) == (MOST_COMPARED, 50 - MOST_COMPARED)


def test_of_very_many_entries_that_are_alike_the_last_and_the_first_are_compared() -> None:
    sizes = [(8, 8), *((number, 8) for number in range(10, 60)), (8, 9), (61, 8)]
    *earlier, last = load(trace(*(compile(f"0/{number}", tensor(*size)) for number, size in enumerate(sizes)))).compiles
    labels = [item.label for item in entries_of(tuple(earlier)).compared_with(last, FactTable())]
    assert labels == ["0/51", "0/50", "0/0"]  # one differs in both sizes, the others in the first


def test_entries_with_other_graphs_are_not_alike() -> None:
    def graph(number: int) -> str:
        return graph_text(
            'L_x_: "f32[10, 8][8, 1]cpu"',
            f'{"mul" if number % 2 else "add"}: "f32[10, 8][8, 1]cpu" = l_x_ {"*" if number % 2 else "+"} l_x_',
            "return ()",
        )

    *earlier, last = load(trace(*(compile(f"0/{number}", tensor(number + 10, 8), graph=graph(number)) for number in range(50)))).compiles
    labels = [item.label for item in entries_of(tuple(earlier)).compared_with(last, FactTable())]
    assert labels == ["0/48", "0/47", "0/1", "0/0"]


def test_entries_that_were_not_compared_are_reported() -> None:
    at_most = report(trace(int_values(*range(2, 2 + MOST_COMPARED + 1))))
    assert at_most.problems == ()
    (problem,) = report(trace(int_values(*range(2, 2 + MOST_COMPARED + 2)))).problems
    assert (problem.code, problem.severity) == ("many-entries", "info")
    assert "compared with 32 of 33 earlier cache entries" in problem.message


def test_an_entry_that_was_compiled_for_a_dict_of_another_length_does_not_require_the_one_before() -> None:
    """The guard on a dict lists only the keys that have a guard: one of two, from the second compile on."""
    keys = guard_manager("list(dict.keys(L['d']))[0]", "ID_MATCH: ___check_obj_id(list(dict.keys(L['d']))[0], 7)", type="type")
    owner = guard_manager("L['d']", type="dict")
    length = "len(d) != 1"
    made = trace(
        *(
            compile(
                f"0/{number}",
                tensor(rows, 8),
                more_guards=(owner, keys),
                reasons=[*(size_mismatch(entry, before, rows) for entry, before in others), *([f"0/0: {length}"] if number else [])],
            )
            for number, (rows, others) in enumerate(((10, []), (10, []), (12, [("0/1", 10)])))
        )
    )
    second, third = explain(made).recompiles
    assert [cause.axis for cause in second.causes] == ["len(d)"]
    assert [cause.axis for cause in third.causes] == ["x.size[0]"]


def test_of_entries_as_near_the_one_whose_difference_is_known_comes_first() -> None:
    guards = ("ID_MATCH: ___check_obj_id(L['k'], 7000)", "EQUALS_MATCH: L['k'] == 0", "ID_MATCH: ___check_obj_id(L['k'], 7032)")
    reasons = ("0/1: L['k'] == 0", "0/0: ___check_obj_id(L['k'], 7000)")
    made = [
        compile(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), guard_manager("L['k']", guard)), reasons=known)
        for number, (guard, known) in enumerate(zip(guards, ((), ("0/0: ___check_obj_id(L['k'], 7000)",), reasons), strict=True))
    ]
    found = last_recompile(trace(*made))
    assert [cause.sentence for cause in found.causes] == ["k changed between True and False"]


def test_an_entry_for_other_values_is_nearer_than_one_for_another_type() -> None:
    """The second call of the second kind of cache, after both calls of the first kind."""

    def tree(kind: str, is_filled: bool) -> str:
        own = guard_manager("L['cache']", f"TYPE_MATCH: ___check_type_id(L['cache'], {len(kind)}), type=<class 'app.{kind}'>", type=kind)
        return guard_tree(
            tensor_match(), own, equals_match("L['cache'].is_filled", is_filled, "bool"), equals_match("L['mode']", str(is_filled), "str")
        )

    kinds = [("Dynamic", False), ("Dynamic", True), ("Fixed", False), ("Fixed", True)]
    made = trace(*(compile(f"0/{number}", tensor(10, 8), guards=tree(*kind)) for number, kind in enumerate(kinds)))
    found = last_recompile(made)
    assert found.nearest is not None
    assert (found.nearest.label, [cause.axis for cause in found.causes]) == ("0/2", ["cache.is_filled", "mode"])


def test_a_list_of_as_many_items_of_another_type_is_nearer_than_one_of_another_length() -> None:
    def tree(kind: str, count: int) -> str:
        own = guard_manager("L['k']", f"LENGTH_CHECK: len(L['k']) == {count}", type="list")
        items = (f"L['k'][{at}]" for at in range(count))
        types = (
            guard_manager(item, f"TYPE_MATCH: ___check_type_id({item}, {len(kind)}), type=<class '{kind}'>", type=kind) for item in items
        )
        return guard_tree(tensor_match(), own, *types)

    kinds = [("int", 1), ("int", 2), ("list", 2)]
    reasons = ("0/1: ___check_type_id(k[0], 3), type=<class 'int'>", "0/0: len(k) == 1")
    made = [compile(f"0/{at}", tensor(10, 8), guards=tree(*kind), reasons=reasons if at == 2 else ()) for at, kind in enumerate(kinds)]
    found = last_recompile(trace(*made))
    assert found.nearest is not None
    assert (found.nearest.label, [cause.axis for cause in found.causes]) == ("0/1", ["type(k[0])", "type(k[1])"])


def test_a_list_of_as_many_items_that_are_one_tensor_is_nearer_than_one_of_another_length() -> None:
    names = ["L['xs'][0]", "L['xs'][1]"]

    def tree(count: int, *more: str) -> str:
        own = guard_manager("L['xs']", f"LENGTH_CHECK: len(L['xs']) == {count}", type="list")
        return guard_tree(own, tensor_match(names[0], size=(2,)), *more)

    shared = guard_manager(names[0], f"OBJECT_ALIASING: {names[0]} is {names[1]}")
    apart = f"| +- NO_TENSOR_ALIASING: check_no_aliasing({', '.join(names)})"
    second = tensor_match(names[1], size=(3,))
    reasons = (f"0/1: {names[0]} is {names[1]}", "0/0: len(xs) == 1")
    made = trace(
        compile("0/0", tensor(2, source=names[0]), guards=tree(1)),
        compile("0/1", tensor(2, source=names[0]), guards=tree(2, shared)),
        compile("0/2", tensor(2, source=names[0]), tensor(3, source=names[1]), guards=tree(2, second, apart), reasons=reasons),
    )
    found = last_recompile(made)
    assert found.nearest is not None
    assert (found.nearest.label, "SL317" in found.codes) == ("0/1", True)


@pytest.mark.parametrize(("last", "label"), [("Conv", "0/1"), ("Linear", "0/0")])
def test_an_entry_with_another_item_in_a_list_is_nearer_than_one_for_another_length(last: str, label: str) -> None:
    """Of the entry for another length no item is compared. With two other items it is the nearest one."""

    def tree(*kinds: str) -> str:
        own = guard_manager("L['models']", f"LENGTH_CHECK: len(L['models']) == {len(kinds)}", type="list")
        checks = (f"___check_type_id(L['models'][{at}], {len(kind)}), type=<class '{kind}'>" for at, kind in enumerate(kinds))
        types = (guard_manager(f"L['models'][{at}]", f"TYPE_MATCH: {check}") for at, check in enumerate(checks))
        return guard_tree(tensor_match(), own, *types)

    trees = tree("Conv"), tree("Linear", last), tree("Conv", "Conv")
    reasons = ("0/1: ___check_type_id(models[0], 6), type=<class 'Linear'>", "0/0: len(models) == 1")
    made = [compile(f"0/{at}", tensor(10, 8), guards=guards, reasons=reasons if at == 2 else ()) for at, guards in enumerate(trees)]
    found = last_recompile(trace(*made))
    assert found.nearest is not None
    assert found.nearest.label == label


def test_an_entry_that_pytorch_still_has_is_nearer_than_one_that_it_discarded() -> None:
    """The second call for the second of two optimizers, made in a loop: the entry of the first one is gone."""
    gone = "Cache line invalidated because L['opt'] got deallocated"
    states = [
        guard_tree(tensor_match(), equals_match("L['opt'].has_state", has_state, "bool"), equals_match("L['opt'].mode", mode, "str"))
        for has_state, mode in ((True, "a"), (False, "b"), (True, "c"))
    ]
    reasons = ((), (f"0/0: {gone}",), ("0/1: opt.has_state == False", f"0/0: {gone}"))
    made = trace(*(compile(f"0/{number}", tensor(10, 8), guards=states[number], reasons=reasons[number]) for number in range(3)))
    found = last_recompile(made)
    assert found.nearest is not None
    assert (found.nearest.label, [cause.axis for cause in found.causes]) == ("0/1", ["opt.has_state", "opt.mode"])


def test_an_entry_that_differs_in_strides_alone_is_nearer_than_one_for_another_branch_on_a_size() -> None:
    """A copy of a slice would be served by it: ``idx[:, -8:]`` of a sentence that has grown, after one of 8 words."""
    size = "L['idx'].size()[1]"
    dynamic = guard_tree(tensor_match("L['idx']", size=(1, None), stride=(None, 1)), shapes=[f"{size} != 8  {RETURN_LINE}"])
    graphs = [graph_text(f'L_idx_: "i64[1, {length}][{stride}, 1]cpu"') for length, stride in (("s75", "s75"), (8, 8), (8, 9))]
    made = trace(
        compile("0/0", tensor(1, 6, source="L['idx']"), guards=dynamic, symbols=[("s75", 6, size)], graph=graphs[0]),
        compile("0/1", tensor(1, 8, source="L['idx']"), graph=graphs[1]),
        compile("0/2", tensor(1, 8, source="L['idx']", stride=[9, 1]), graph=graphs[2]),
    )
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes, recompile.verdict) == ("0/1", ("SL105",), Verdict.CODE)


def test_an_entry_for_a_view_with_the_sizes_of_the_call_is_nearer_than_one_for_a_size_of_one() -> None:
    """The extra graph for another size than 1 exists, and was made for a view."""
    base = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x']._base.size()[0]  {RETURN_LINE}",))
    made = trace(
        compile("0/0", tensor(1, 8), guards=guard_tree(tensor_match(size=(1, 8)))),
        compile("0/1", tensor(2, 8, is_view=True), guards=base, reasons=(size_mismatch("0/0", 1, 2),)),
        compile("0/2", tensor(2, 8), reasons=("0/1: 'NoneType' object has no attribute 'size'", size_mismatch("0/0", 1, 2))),
    )
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/1", ("SL303",))


@pytest.mark.parametrize(("batch", "code", "verdict"), [(1, "SL104", Verdict.JUSTIFIED), (3, "SL101", Verdict.MARKING)])
def test_a_row_of_what_a_view_is_of_has_a_graph_of_its_own(batch: int, code: str, verdict: Verdict) -> None:
    """``f(x.reshape(-1, 8))``: under a mark, the first graph refuses a batch of one as the second one does."""

    def view(number: int, batch: int, length: int, *shapes: str, **fields: Any) -> bytes:
        own = describe(tensor(batch, length, 8, source="L['x']._base"), 7, number, id=f"0/{number}")
        item = tensor(batch * length, 8, is_view=True, base=7)
        dims = (None if shapes else batch * length, 8)
        return own + compile(
            f"0/{number}", item, dynamic=[0] if shapes else (), guards=guard_tree(tensor_match(size=dims), shapes=shapes), **fields
        )

    length, of_batch = f"2 <= L['x']._base.size()[1]  {RETURN_LINE}", f"2 <= L['x']._base.size()[0]  {RETURN_LINE}"
    refused = ("0/1: 2 <= x._base.size()[0]  # return f(x)", size_mismatch("0/0", 88, batch * 29))
    last = view(2, batch, 29, length, *(() if batch == 1 else (of_batch,)), reasons=refused if batch == 1 else refused[1:])
    made = trace(view(0, 8, 11), view(1, 5, 18, length, of_batch, reasons=(size_mismatch("0/0", 88, 90),)), last)
    recompile = last_recompile(made)
    assert (recompile.codes[0], recompile.verdict) == (code, verdict)
    if batch == 1:
        assert "(now x._base.size()[0] = 1): the size of what x is a view of" in recompile.causes[0].sentence
        assert recompile.causes[0].own_remedy.startswith("clone() the slice or view before the call")


def test_an_entry_for_the_same_function_is_nearer_than_one_of_a_function_that_takes_other_types() -> None:
    """A wrapper that several functions share: the call differs in two values from one for its own function."""
    made = trace()
    for number, (func, kind, value) in enumerate(((7, "app.Rows", 1), (8, "app.Columns", 2), (7, "app.Rows", 3))):
        comment = "# return func(*args, **kwargs)  # app/model.py:99 in wrapper"
        code = f"ID_MATCH: ___check_obj_id(L['func'].__code__, {func}), type=<class 'code'>"
        guards = guard_tree(
            guard_manager("L['func'].__code__", code, type="code", comment=comment),
            guard_manager("L['args'][3]", f"TYPE_MATCH: ___check_type_id(L['args'][3], {func}), type=<class '{kind}'>", type=kind),
            *(equals_match(f"L['args'][{place}]", f"'{value}'") for place in (1, 2) if kind == "app.Rows"),
        )
        made += compile(f"0/{number}", tensor(8, 8), guards=guards, name="wrapper")
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/0", ("SL311",))


def test_an_entry_for_another_int_is_nearer_than_one_for_an_int_of_1() -> None:
    """``torch.randn(shape)`` of 2 items, then of 3: the graph for an int of 1 is similar, but that is not what changed."""
    made, item = trace(), "L['shape'][1]"
    for number, (length, size) in enumerate(((2, 17), (2, 1), (3, 8))):
        own = guard_manager("L['shape']", f"LENGTH_CHECK: len(L['shape']) == {length}", type="list")
        of_int = guard_manager(item, f"TYPE_MATCH: ___check_type_id({item}, 7), type=<class 'int'>", type="int")
        known = equals_match(item, size) if number == 0 else of_int
        shapes = (f"{item} {'==' if size == 1 else '>='} {min(size, 2)}  {RETURN_LINE}",) if number else ()
        pins = [{"symbol": "s1", "sources": [item], "value": "1", "user_stack": []}] if size == 1 else []
        operator = "+" if number == 0 else "*"
        made += compile(
            f"0/{number}",
            tensor(50, 8),
            guards=guard_tree(tensor_match(size=(50, 8)), own, known, shapes=shapes),
            symbols=[("s1", size, item)] if number else [],
            specializations=pins,
            graph=graph_text('L_x_: "f32[50, 8][8, 1]cpu"', f'y: "f32[50, 8][8, 1]cpu" = l_x_ {operator} 2', "return (y,)"),
            reasons=("0/1: len(shape) == 2", "0/0: len(shape) == 2") if number == 2 else (),
        )
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, [cause.codes for cause in recompile.causes]) == ("0/0", [("SL313",), ("SL102",)])


def test_another_dtype_of_all_tensors_is_one_change() -> None:
    """The call is the first one in another dtype: no entry differs from it in the mode alone."""
    made = trace()
    for number, (mode, dtype) in enumerate((("a", "float16"), ("b", "float16"), ("a", "float32"))):
        sources = ("L['x']", "L['w']") if mode == "a" else ("L['x']",)
        tensors = [tensor(8, 8, source=source, dtype=f"torch.{dtype}") for source in sources]
        matches = [tensor_match(source, (8, 8), dtype=dtype) for source in sources]
        guards = guard_tree(*matches, equals_match("L['mode']", mode, "str"))
        made += compile(f"0/{number}", *tensors, guards=guards)
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/0", ("SL301",))


def test_an_entry_for_another_float_is_nearer_than_one_for_an_int_that_the_code_needs_exactly() -> None:
    """Stages of a network, each with its own blocks: the call differs from the one before in how far the new block is faded in."""
    made = trace()
    for number, (stage, alpha, batch) in enumerate(((0, 0.5, 16), (1, 0.5, 12), (1, 1.0, 12))):
        tensors, guards = tensor(batch, 8), [tensor_match(size=(batch, 8)), equals_match("L['stage']", stage)]
        guards += [equals_match("L['alpha']", alpha, "float")] if stage else []
        pinned = [{"symbol": "s7", "sources": ["L['stage']"], "value": str(stage), "user_stack": []}] if stage else []
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = f{number}(l_x_)', "return (y,)")
        made += compile(f"0/{number}", tensors, guards=guard_tree(*guards), specializations=pinned, graph=graph)
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/1", ("SL312",))


def test_an_entry_for_the_same_sizes_is_nearer_than_one_for_other_sizes_with_the_same_graph() -> None:
    """An adapter is merged: the graph is the one without an adapter, which was made for another size and before there was one."""
    made = trace()
    for number, (adapter, is_merged, rows) in enumerate(((None, None, 8), ("a", False, 12), ("a", True, 12))):
        guards = [tensor_match(size=(rows, 8)), guard_manager("L['adapter']", "ID_MATCH: ___check_obj_id(L['adapter'], 7000)")]
        if adapter:
            guards[1:] = [equals_match("L['adapter']", adapter, "str"), equals_match("L['is_merged']", is_merged, "bool")]
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = f{number % 2}(l_x_)', "return (y,)")
        made += compile(f"0/{number}", tensor(rows, 8), guards=guard_tree(*guards), graph=graph)
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, [cause.axis for cause in recompile.causes]) == ("0/1", ["is_merged"])


@pytest.mark.parametrize(("needs_grad", "label"), [((True, False), "0/1"), ((False, True), "0/0")])
def test_that_a_parameter_requires_a_gradient_is_no_change_of_its_own(needs_grad: tuple[bool, bool], label: str) -> None:
    """Two modules with a name, then two parameters, then two plain tensors: a frozen parameter differs from one that is trained in more."""
    sources, made = ("L['data'][0]", "L['data'][1]"), trace()
    for number, kind in enumerate(("app.Embedding", "torch.nn.Parameter", "torch.Tensor")):
        if kind == "app.Embedding":
            guards = [guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, 7000)", type=kind) for source in sources]
        else:
            grad = needs_grad[number - 1]
            match = (
                f"TENSOR_MATCH: check_tensor({{}}, {kind.rpartition('.')[2]}, {CPU_KEYS}, torch.float32, device=None, requires_grad={grad}"
            )
            guards = [guard_manager(source, f"{match.format(source)}, size=[10, 8], stride=[8, 1])", type=kind) for source in sources]
        made += compile(f"0/{number}", tensor(10, 8), guards=guard_tree(equals_match("L['name']", number > 0, "bool"), *guards))
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert recompile.nearest.label == label


def test_of_two_entries_that_differ_in_one_thing_the_one_for_the_same_grad_mode_is_nearer() -> None:
    """That calls with and without gradients need a graph each is no reason where there is one for either; the float is."""
    made = trace()
    for number, (is_on, value) in enumerate(((True, 1.5), (False, 1.5), (True, 2.5), (False, 2.5))):
        leaf = guard_manager("L['s']", f"EQUALS_MATCH: L['s'] == {value}", type="float")
        grad = tensor_match(requires_grad=True)
        made += compile(f"0/{number}", tensor(10, 8, requires_grad=True), guards=guard_tree(global_state(grad_mode=is_on), grad, leaf))
    recompile = last_recompile(made)
    assert recompile.nearest is not None
    assert (recompile.nearest.label, [cause.axis for cause in recompile.causes], recompile.verdict) == ("0/1", ["s"], Verdict.CODE)


def test_a_state_that_the_first_call_has_not_is_another_kind_of_call() -> None:
    """The first state is a part of a larger tensor, the next is copied: the entry for other strides is nearer than that for no state."""
    parts, state = ("L['state'].keys", "L['state'].values"), "TYPE_MATCH: ___check_type_id(L['state'], 140057847825888)"
    made = [compile("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['state']", None, "NoneType")))]
    for number, stride in enumerate(((1, 10), (8, 1)), 1):
        tensors = (tensor_match(part, stride=stride) for part in parts)
        guards = guard_tree(tensor_match(), guard_manager("L['state']", state, type="app.State"), *tensors)
        inputs = [tensor(10, 8, source=part, stride=stride) for part in parts]
        made.append(compile(f"0/{number}", tensor(10, 8), *inputs, guards=guards))
    recompile = last_recompile(trace(*made))
    assert recompile.nearest is not None
    assert (recompile.nearest.label, recompile.codes) == ("0/1", ("SL105",))


@pytest.mark.parametrize(("holder", "entry"), [("L['state'].", "0/1"), ("L['state_", "0/0")])
def test_a_cache_that_a_call_has_filled_is_one_change(holder: str, entry: str) -> None:
    """A function is trained without a cache, and then called with an empty and with a full one. Arguments are changes of their own."""
    parts = [f"{holder}{part}" + "']" * holder.endswith("_") for part in ("keys", "values", "frames")]
    modes = [equals_match("L['mode']", mode, "str") for mode in ("train", "serve", "serve")]
    kinds = [equals_match("L['kind']", kind, "str") for kind in ("whole", "chunk", "chunk")]
    cache = [[], [equals_match(part, None, "NoneType") for part in parts], [tensor_match(part) for part in parts]]
    trees = [guard_tree(tensor_match(), mode, kind, *own) for mode, kind, own in zip(modes, kinds, cache, strict=True)]
    inputs = [tensor(10, 8, source=part) for part in parts]
    made = [compile(f"0/{number}", tensor(10, 8), *inputs * (number == 2), guards=tree) for number, tree in enumerate(trees)]
    recompile = last_recompile(trace(*made))
    assert recompile.nearest is not None
    assert recompile.nearest.label == entry


def test_a_type_that_pytorch_names_of_one_entry_fails_in_every_entry_that_requires_it() -> None:
    """The model of the last call has another class, and its code does not look at the settings that the one before it has."""

    def of_type(source: str, kind: str) -> str:
        return guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, {len(kind)}), type=<class '{kind}'>", type=kind)

    def tree(mode: str, *types: str) -> str:
        return guard_tree(tensor_match(), equals_match("L['mode']", mode, "str"), *types)

    first = (of_type("L['settings']", "dict"), of_type("L['model']", "app.Plain"))
    made = trace(
        compile("0/0", tensor(10, 8), guards=tree("'train'", *first)),
        compile("0/1", tensor(10, 8), guards=tree("'test'", *first), reasons=["0/0: mode == 'train'"]),
        compile(
            "0/2",
            tensor(10, 8),
            guards=tree("'train'", of_type("L['model']", "app.Adapted")),
            reasons=["0/1: mode == 'test'", "0/0: ___check_type_id(settings, 4), type=<class 'dict'>"],
        ),
    )
    found = last_recompile(made)
    assert found.nearest is not None
    assert (found.nearest.label, {cause.axis for cause in found.causes}) == ("0/0", {"type(settings)", "type(model)"})


ADAPTER = "L['self']._modules['{}']._active_adapter"
PART = "L['self']._modules['lora_A']._modules['a']._parameters['weight']"
FORWARD = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'y: "f32[10, 8][8, 1]cpu" = l_x_.relu()', "return (y,)")
WITH_LOSS = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'y: "f32[][]cpu" = l_x_.mean()', "return (y,)")


def with_adapter(name: str, *, is_training: bool) -> str:
    """Three modules have the name of the adapter in use; the weights of the adapter a require gradients where that is the one."""
    names = [equals_match(ADAPTER.format(module), name, type="str") for module in ("q", "v", "score")]
    target = tensor_match("L['y']", (10,), (1,)) if is_training else equals_match("L['y']", None, type="NoneType")
    return guard_tree(global_state(grad_mode=is_training), *names, target, tensor_match(PART, requires_grad=name == "a"))


def test_an_adapter_that_was_switched_is_one_change_of_many_modules() -> None:
    failed = f"tensor '{PART}' requires_grad mismatch. expected requires_grad=1"
    reasons = (f"0/1: {failed}", "0/0: GLOBAL_STATE changed: grad_mode")
    made = [
        compile("0/0", tensor(10, 8), tensor(10, source="L['y']"), guards=with_adapter("b", is_training=True), graph=WITH_LOSS),
        compile("0/1", tensor(10, 8), guards=with_adapter("a", is_training=False), graph=FORWARD),
        compile("0/2", tensor(10, 8), guards=with_adapter("b", is_training=False), graph=FORWARD, reasons=reasons),
    ]
    found = last_recompile(trace(*made))
    assert found.nearest is not None
    assert (found.nearest.label, [cause.codes for cause in found.causes]) == ("0/1", [("SL311",)] * 3 + [("SL302",)])
    assert found.causes[-1].own_remedy.startswith("accept one graph for each selected part")


@pytest.mark.parametrize(("is_trained", "verdict"), [(False, Verdict.JUSTIFIED), (True, Verdict.CODE)])
def test_a_model_that_is_trained_and_a_frozen_copy_of_it_run_with_gradients_and_without(is_trained: bool, verdict: Verdict) -> None:
    weight, made = "L['self']._parameters['weight']", trace()
    for number, (is_on, requires_grad) in enumerate(((True, True), (False, is_trained))):
        parameter = tensor_match(weight, requires_grad=requires_grad)
        inputs = tensor(10, 8), tensor(10, 8, source=weight, requires_grad=requires_grad)
        made += compile(f"0/{number}", *inputs, guards=guard_tree(global_state(grad_mode=is_on), tensor_match(), parameter))
    recompile = last_recompile(made)
    assert (recompile.causes[0].codes, recompile.verdict) == (("SL305",), verdict)
