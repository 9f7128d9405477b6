"""The calls of a trace under marks: which entry serves them, under which needs, and what the rest costs."""

import pytest
from dimensions import DIMENSIONS
from make import MODEL, dynamic_size, explain, int_values, last_recompile, record, refused, static_sizes, tensor, trace
from make import compile as compiled
from payload_text import RETURN_LINE, code_comment, equals_match, graph_text, guard_manager, guard_tree, tensor_match
from recorded import LAB, report_of

from shapelog.advice.advise import advise
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Call, Cost, Replay, replay
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import explain_trace
from shapelog.rules import Verdict

X0, X1, K, N = Mark(Source("L['x']"), 0), Mark(Source("L['x']"), 1), Mark(Source("L['k']")), Mark(Source("L['n']"))
K0 = Mark(Source("L['keys']"), 0)
TANH = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")
DUCK = "L['y'].size()[0] == L['x'].size()[0]  # duck sizing added this equality because these variables had the same size 10"
DOUBLE = compiled("1/1", tensor(16, 8, dtype="torch.float64"), dynamic=[0], name="g", seconds=4.0)


def replayed(made: bytes) -> Replay:
    return replay(explain(made))


def calls(made: bytes) -> tuple[Call, ...]:
    (plan,) = replayed(made).plans
    return plan.calls


def needs(made: bytes) -> list[set[Mark]]:
    """What the last call needs so that the first entry serves it."""
    route = next(item for item in calls(made)[-1].routes if item.entry.label == "0/0")
    return [set(choice) for choice in route.required_marks]


# What a call needs.


def test_each_size_that_differs_is_needed() -> None:
    assert needs(trace(static_sizes(10, 12))) == [{X0}]
    assert needs(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 9)))) == [{X0}, {X1}]


@pytest.mark.parametrize(("first", "needed"), [((5, 8), [{K0}]), ((6, 8), [{X0}, {K0}]), ((6,), [{K0}])])
def test_a_size_that_automatic_dynamic_made_symbolic_needs_no_mark_of_its_own(first: tuple[int, ...], needed: list[set[Mark]]) -> None:
    """A mask is one longer than the static keys that pinned it, and had another length or rank before there were any."""
    made = trace(compiled("0/0", tensor(*first)))
    for number, length in enumerate((6, 7), 1):
        both = tensor(length, 8), tensor(length - 1, 8, source="L['keys']")
        symbols = (("s77", str(length), "L['x'].size()[0]"),)
        made += compiled(f"0/{number}", *both, symbols=symbols, graph=graph_text())
    route = next(item for item in calls(made)[-1].routes if item.entry.label == "0/1")
    assert [set(choice) for choice in route.required_marks] == needed


def test_so_does_one_that_became_symbolic_after_the_first_compile() -> None:
    """A cache is empty in the first call; then its lengths vary, and in a model with a mask the static one pins them."""
    first = trace(compiled("0/0", tensor(9, 9, source="L['ids']")), compiled("0/1", tensor(8, 8, source="L['ids']"), tensor(5, 8)))
    for number, length in enumerate((6, 7), 2):
        both = tensor(length, 8), tensor(length - 1, 8, source="L['keys']")
        symbols = (("s77", str(length), "L['x'].size()[0]"),)
        first += compiled(f"0/{number}", *both, symbols=symbols, graph=graph_text())
    route = next(item for item in calls(first)[-1].routes if item.entry.label == "0/2")
    assert [set(choice) for choice in route.required_marks] == [{K0}]


@pytest.mark.parametrize(
    ("guard", "narrowed"),
    [("((-1) + L['x'].size()[1]) / 16 == 2.0", ()), ("((-1) + L['x'].size()[1]) % 16 == 0", ("L['x'].size()[1]",))],
    ids=["for one value", "for several"],
)
def test_a_compile_whose_guards_hold_for_one_size_alone_served_no_calls_with_another(guard: str, narrowed: tuple[str, ...]) -> None:
    sizes = [("s0", "3", "L['x'].size()[0]"), ("s1", "33", "L['x'].size()[1]")]
    both = guard_tree(tensor_match(size=(None, None)), shapes=[f"{guard}  {RETURN_LINE}"])
    made = compiled("0/0", tensor(2, 33), guards=guard_tree(tensor_match(size=(2, 33))))
    made += compiled("0/1", tensor(2, 49), graph=TANH, symbols=sizes[1:])
    made += compiled("0/2", tensor(3, 33), guards=both, symbols=sizes)
    route = next(item for item in calls(trace(made))[-1].routes if item.entry.label == "0/0")
    assert (route.narrows(frozenset((X0,))), route.narrows(frozenset((X0, X1)))) == (narrowed, ())


@pytest.mark.parametrize(
    ("other", "widened"),
    [
        (compiled("1/0", tensor(16, 8), name="g", seconds=3.0), [("g", 1, 3.0, 12.0)]),  # as long as any dynamic compile may take
        (compiled("1/0", tensor(16, 8), name="g", seconds=3.0) + DOUBLE, [("g", 1, 3.0, 1.0)]),
        (compiled("1/0", tensor(1, 8), name="g", seconds=3.0), []),  # no symbol
        (compiled("1/0", tensor(16, 8, source="L['y']"), name="g", seconds=3.0), []),
    ],
    ids=["unknown", "measured", "a size of 1", "another name"],
)
def test_marks_make_compiles_of_other_code_dynamic_without_making_them_fewer(
    other: bytes, widened: list[tuple[str, int, float, float]]
) -> None:
    found = replayed(trace(static_sizes(10, 12), other))
    marked = [(item.frame.name, item.compiles, item.seconds, item.more) for item in found.widened({X0})]
    assert marked == widened
    assert found.widened(()) == []


def test_a_float_that_became_symbolic_needs_no_mark() -> None:
    """No mark makes a float symbolic; PyTorch does once it changes."""
    dynamic = guard_tree(tensor_match(size=(None, 8)), shapes=("not math.isnan(L['t'])  # (unknown)",))
    made = compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['t']", 5.0, "float")))
    made += compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['t']", 7.5, "float")), graph=TANH)
    symbols = [("s0", "12", "L['x'].size()[0]"), ("zf1", "5.0", "L['t']")]
    made += compiled("0/2", tensor(12, 8), guards=dynamic, symbols=symbols, reasons=("0/0: tensor 'x' size mismatch at index 0",))
    route = next(item for item in calls(trace(made))[-1].routes if item.entry.label == "0/0")
    assert [source for source, _ in route.lost] == ["L['x'].size()[0]"]


def test_a_mark_serves_no_refused_call_where_other_entries_need_the_exact_value() -> None:
    """A step count that ``math.pow`` needs: the first entries, with no symbol for it yet, do not show that, but all others do."""
    stack = [{"line": 9, "name": "f", "filename": 0, "loc": "c = 1 - math.pow(beta, k)"}]
    made = trace(int_values(1, 2))
    for value in (3, 4, 5):
        pin = {"symbol": "s1", "sources": ["L['k']"], "value": str(value), "user_stack": stack}
        own = guard_tree(tensor_match(), equals_match("L['k']", value))
        made += compiled(f"0/{value - 1}", tensor(10, 8), guards=own, symbols=[("s1", value, "L['k']")], specializations=[pin])
    made += refused("0/5", *(f"0/{number}: k == {number + 1}" for number in reversed(range(5))))
    assert calls(made)[-1].routes == ()


@pytest.mark.parametrize(("lengths", "served"), [((0, 0, 1, 1), True), ((0, 0, 1, 2), False)], ids=["all came back", "one is new"])
def test_a_value_that_a_refused_call_does_not_have_is_the_only_one_left_where_all_came_back(lengths: tuple[int, ...], served: bool) -> None:
    """A cache has no keys in the first call for each text, and those of the layers later; a size of 1 has a graph of its own."""
    made = trace()
    sizes = (10, 12, 1, 11)
    for number, (size, length) in enumerate(zip(sizes, lengths, strict=True)):
        guards = guard_tree(tensor_match(size=(size, 8)), guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {length}", type="dict"))
        made += compiled(f"0/{number}", tensor(size, 8), guards=guards, graph=graph_text().replace("x + 1", f"x + {number}"))
    reasons = [f"0/3: len(L['d']) == {lengths[3]}", "0/2: tensor 'x' size mismatch at index 0. expected 1, actual 13"]
    reasons += [f"0/{number}: tensor 'x' size mismatch at index 0. expected {sizes[number]}, actual 13" for number in (1, 0)]
    assert bool(calls(made + refused("0/4", *reasons))[-1].routes) is served


@pytest.mark.parametrize(("line", "count"), [("for _ in range(k):", 0), ("y = x * k", 1)])
def test_a_mark_serves_no_refused_call_where_a_line_needs_the_exact_value(line: str, count: int) -> None:
    made = trace(int_values(3, comment=code_comment(7, line))) + refused("0/1", f"0/0: k == 3  {code_comment(7, line)}")
    assert len(calls(made)[-1].routes) == count
    recompile = last_recompile(made)
    assert recompile.verdict is Verdict.LIMIT
    assert bool(recompile.why_not_markable) is (count == 0)


def test_an_int_and_a_size_that_differ_together_are_both_needed() -> None:
    made = trace()
    for number, (size, constant) in enumerate(((10, 3), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")
        made += compiled(f"0/{number}", tensor(size, 8), guards=guard_tree(tensor_match(size=(size, 8)), leaf))
    assert sorted(map(sorted, needs(made))) == [[K], [X0]]


def test_a_stride_that_follows_from_a_size_needs_any_of_the_sizes() -> None:
    made = trace(compiled("0/0", tensor(10, 8, stride=[20, 1])), compiled("0/1", tensor(10, 8, stride=[30, 1])))
    assert needs(made) == [{X0, X1}]
    assert needs(trace(compiled("0/0", tensor(1, 8, stride=[20, 1])), compiled("0/1", tensor(1, 8, stride=[30, 1])))) == [{X1}]


@pytest.mark.parametrize(("sizes", "dims"), [((3, 1, 16), (0, 2)), ((1, 1, 16), (2,)), ((3, 4, 16), (0, 1, 2))])
def test_an_outer_stride_that_follows_from_an_inner_one_needs_nothing_more(sizes: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """Slices of a tensor that is longer in other calls: the stride of the outer dim is the size times the stride of the one inside."""
    both = (compiled(f"0/{number}", tensor(*sizes, stride=[row * sizes[1], row, 1])) for number, row in enumerate((20, 30)))
    assert needs(trace(*both)) == [{Mark(Source("L['x']"), dim) for dim in dims}]


@pytest.mark.parametrize("is_other_shared", [True, False])
def test_a_size_that_shared_a_symbol_with_a_storage_offset_is_needed(is_other_shared: bool) -> None:
    """So is it where an offset and the base of a view share another symbol: no record has the size of a base."""
    shared = DUCK.replace("L['y'].size()[0]", "L['y'].storage_offset()")
    other = DUCK.replace("L['y'].size()[0]", "L['z']._base.size()[0]").replace("L['x'].size()[0]", "L['w'].storage_offset()")
    shapes = (shared, other) if is_other_shared else (shared,)
    guards = guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), shapes=shapes)
    made = trace()
    for number, size in enumerate((10, 12)):
        views = [tensor(20, 8, source=f"L['{name}']", storage_offset=10) for name in "yw"]
        made += compiled(f"0/{number}", tensor(size, 8), *views, dynamic=[0], guards=guards)
    assert needs(made) == [{X0}]


def test_a_view_that_was_as_long_as_its_base_shared_its_symbol() -> None:
    shared = "L['x']._base.size()[0] == L['x'].size()[0]  # (unknown var s83, please file a bug)"
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(shared,))
    made = trace(compiled("0/0", tensor(10, 8), dynamic=[0], guards=guards))
    reason = "0/0: x._base.size()[0] == x.size()[0]  # (unknown var s83, please file a bug)"
    made += compiled(
        "0/1", tensor(8, 8, storage_offset=16), dynamic=[0], guards=guard_tree(tensor_match(size=(None, 8))), reasons=(reason,)
    )
    assert needs(made) == [{X0}]
    assert explain(made).recompiles[0].codes == ("SL103",)


def test_one_of_two_dims_that_shared_a_symbol_is_enough() -> None:
    guards = guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), shapes=(DUCK,))
    symbols = (("s77", "10", "L['x'].size()[0]"),)
    made = trace(compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']"), guards=guards, symbols=symbols))
    assert needs(made + compiled("0/1", tensor(12, 8), tensor(14, 8, source="L['y']"))) == [{X0, Mark(Source("L['y']"), 0)}]


# Which calls no mark serves.


@pytest.mark.parametrize(
    "made",
    [
        trace(static_sizes(10, 1)),
        trace(static_sizes(0, 10)),
        trace(static_sizes(8, 1, source="L['self']._parameters['weight']")),
        trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), graph=TANH)),
        trace(
            compiled("0/0", tensor(10, 8)),
            compiled("0/1", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64"))),
        ),
        trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8, 2))),
        trace(compiled("0/0", tensor(10, 8, stride=[8, 1])), compiled("0/1", tensor(10, 8, stride=[1, 10]))),
        trace(compiled("0/0", tensor(10, 8, storage_offset=16)), compiled("0/1", tensor(12, 8))),
        trace(compiled("0/0", tensor(10, 8, storage_offset=16)), compiled("0/1", tensor(12, 8, storage_offset=1), dynamic=[0])),
    ],
    ids=[
        "one",
        "zero",
        "a parameter of one",
        "another path",
        "another dtype",
        "another rank",
        "another order of strides",
        "a part of a tensor, then a whole one",
        "a dynamic one that has the offset as a constant",
    ],
)
def test_no_mark_makes_an_entry_serve_such_a_call(made: bytes) -> None:
    assert calls(made)[-1].routes == ()


@pytest.mark.parametrize("offsets", [(0, 16), (1, 16), (16, 2), (0, 1)])
def test_an_offset_that_is_a_constant_in_the_entry_is_not_checked(offsets: tuple[int, int]) -> None:
    first, second = offsets
    made = trace(compiled("0/0", tensor(10, 8, storage_offset=first)), compiled("0/1", tensor(12, 8, storage_offset=second)))
    assert needs(made) == [{X0}]


def columns(*calls: tuple[int, int, int]) -> bytes:
    """Column ``at`` of a mask with these numbers of rows and steps, and of scores with five values in each step."""
    made = trace()
    for number, (rows, steps, at) in enumerate(calls):
        mask = tensor(rows, stride=[steps], storage_offset=at)
        made += compiled(f"0/{number}", mask, tensor(rows, 5, source="L['y']", stride=[5 * steps, 1], storage_offset=5 * at))
    return made


@pytest.mark.parametrize(
    ("first", "is_served"),
    [((4, 6, 1), True), ((4, 5, 1), False), ((4, 10, 2), False), ((4, 5, 0), True)],
    ids=["all differ", "a stride and an offset", "in the third column", "offsets of 0"],
)
def test_strides_and_offsets_that_were_equal_would_share_a_symbol(first: tuple[int, int, int], is_served: bool) -> None:
    """``f(mask[:, t], scores[:, t])`` with as many steps as values (torch 2.13); the sizes that are marked share none."""
    made = columns(first, (7, 8, 1))
    assert bool(calls(made)[-1].routes) is is_served
    recompile = last_recompile(made)
    assert (recompile.verdict is Verdict.MARKING) is is_served
    shared = (
        "marking is not enough: x.stride()[0] and y.storage_offset() were equal when this was compiled, so that they would share a symbol"
    )
    assert (recompile.why_not_markable, recompile.blocking_rule) == (("", "") if is_served else (shared, "SL105"))
    assert bool(calls(columns(first, (first[0] + 3, *first[1:])))[-1].routes)  # they are equal in this call as well


@pytest.mark.parametrize("batch", [2, 1])
def test_strides_that_an_entry_ties_to_symbolic_sizes_stay_tied(batch: int) -> None:
    """A window that is full is a slice of seven rows with six of them; before, it was a tensor of its own."""
    tie = f"L['x'].stride()[0] == 8*L['x'].size()[1]  {RETURN_LINE}"
    guards = guard_tree(tensor_match(size=(batch, None, 8), stride=(None, 8, 1)), shapes=(tie,))
    made = trace(compiled("0/0", tensor(batch, 6, 8), dynamic=[1], guards=guards))
    free = guard_tree(tensor_match(size=(batch, None, 8), stride=(None, 8, 1)))
    symbols = (("s96", "56", "L['x'].stride()[0]"),)
    made += compiled("0/1", tensor(batch, 6, 8, stride=[56, 8, 1]), dynamic=[1], guards=free, symbols=symbols)
    assert calls(made)[-1].routes == ()


@pytest.mark.parametrize("length", [2, 12])
def test_a_guard_over_an_offset_is_none_where_the_offset_is_a_constant(length: int) -> None:
    """The batches of an epoch are slices of one tensor, and only the first begins where that does."""
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x'].storage_offset()  {RETURN_LINE}",))
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(length, 8, storage_offset=80), dynamic=[0], guards=guards))
    (way,) = calls(made)[-1].routes
    assert way.is_proven
    static = compiled("0/1", tensor(length, 8, storage_offset=80))
    dynamic = compiled("0/2", tensor(20, 8, storage_offset=40), dynamic=[0], guards=guards)
    assert [route.is_proven for route in calls(trace(compiled("0/0", tensor(10, 8)), static, dynamic))[1].routes] == [True]


def test_the_guards_of_the_dynamic_graph_have_to_hold_for_both_calls() -> None:
    even = "L['x'].size()[0] % 8 == 0"
    for size, routes in ((24, 1), (13, 0)):
        made = trace(static_sizes(8, size))
        made += dynamic_size("0/2", 32, even)
        assert len(calls(made)[1].routes) == routes


def test_a_constant_in_a_guard_gives_way_to_the_int_that_is_marked() -> None:
    """``x[:k]`` was compiled with k = 9: its guard 9 <= x.size()[0] speaks of k, which is 3 in the other call."""
    leaf = "EQUALS_MATCH: L['k'] == {}"
    static = guard_tree(tensor_match(size=(4, 8)), guard_manager("L['k']", leaf.format(3), type="int"))
    made = trace(compiled("0/0", tensor(4, 8), guards=static))
    free = guard_tree(
        tensor_match(size=(None, 8)), guard_manager("L['k']", leaf.format(9), type="int"), shapes=(f"9 <= L['x'].size()[0]  {RETURN_LINE}",)
    )
    made += compiled("0/1", tensor(12, 8), guards=free, symbols=(("s77", "12", "L['x'].size()[0]"),))
    assert sorted(map(sorted, needs(made))) == [[K], [X0]]
    other = trace(static_sizes(4))
    other += dynamic_size("0/1", 12, "9 <= L['x'].size()[0]")
    assert calls(other)[-1].routes == ()


def test_a_route_is_proven_by_a_dynamic_graph_for_both_calls() -> None:
    (way,) = calls(trace(static_sizes(10), dynamic_size("0/1", 12)))[-1].routes
    assert way.is_proven
    (way,) = calls(trace(static_sizes(10, 12)))[-1].routes
    assert not way.is_proven


# What a run costs.


def test_without_marks_it_costs_what_it_did() -> None:
    made = trace(static_sizes(10, 12, 1, seconds=2.0))
    assert replayed(made).cost(()) == Cost(3, 0, Seconds(6.0, 6.0))
    assert replayed(made).cost([X0]) == Cost(2, 0, Seconds(4.0, 12.0))


def test_marks_that_nothing_needs_change_nothing() -> None:
    assert replayed(trace(static_sizes(10, 12))).cost([X1, K, Mark(Source("L['other']"), 0)]) == Cost(2, 0, Seconds(2.0, 2.0))


def test_a_call_is_served_only_by_an_entry_that_is_still_made() -> None:
    """With the size marked 0/1 serves 0/2, which has the same k; with k marked 0/1 is not made, so that 0/0 has to serve both."""
    made = trace()
    for number, (size, constant) in enumerate(((10, 3), (10, 4), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")
        made += compiled(f"0/{number}", tensor(size, 8), guards=guard_tree(tensor_match(size=(size, 8)), leaf))
    found = replayed(made)
    assert [found.cost(marks).total for marks in ((), (K,), (X0,), (K, X0))] == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("first", "marks", "doubtful"), [(3, {X0}, 1), (3, {X0, K}, 0), (4, {X0}, 0), (4, {X0, K}, 0)], ids=["open", "marked", "same", "both"]
)
def test_a_refused_call_may_differ_in_what_its_record_does_not_have(first: int, marks: set[Mark], doubtful: int) -> None:
    """Its reasons have one failed guard for each entry: the int, which varies in this function, may be another one as well."""
    made = trace()
    for number, (size, constant) in enumerate(((10, first), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")
        made += compiled(f"0/{number}", tensor(size, 8), guards=guard_tree(tensor_match(size=(size, 8)), leaf))
    reasons = (f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual 13" for number, size in ((1, 12), (0, 10)))
    cost = replayed(made + refused("0/2", *reasons)).cost(marks)
    assert (cost.limit_hits, cost.doubtful) == (0, doubtful)
    assert cost.at_most - cost.total == cost.unrecorded >= doubtful


@pytest.mark.parametrize(
    ("last", "marks", "hits"), [(4, {K}, 1), (4, {K, N}, 0), (8, {K}, 0)], ids=["one of two", "both", "only the other changed"]
)
def test_a_refused_call_differs_in_the_ints_that_change_whenever_one_it_names_does(last: int, marks: set[Mark], hits: int) -> None:
    """Two layers have the same number of bits in each compile, so that a call with other bits in one has them in the other as well."""
    made = trace()
    for number, (mode, k, n) in enumerate(((True, 8, 8), (False, last, 4))):
        values = (("mode", mode), ("k", k), ("n", n))
        tree = guard_tree(tensor_match(), *(equals_match(f"L['{name}']", value, type(value).__name__) for name, value in values))
        made += compiled(f"0/{number}", tensor(10, 8), guards=tree, graph=graph_text().replace("x + 1", f"x + {number}"))
    cost = replayed(made + refused("0/2", "0/1: L['mode'] == False", "0/0: k == 8")).cost(marks)
    assert cost.limit_hits == hits


def test_a_refused_call_differs_in_the_sizes_that_change_with_the_one_that_it_names() -> None:
    """A cache of keys and values, of which one of two models has two layers: the record of the refused call names the first keys alone."""
    names = ("L['keys'][0]", "L['values'][0]", "L['keys'][1]")
    made = trace()
    for number, (length, layers) in enumerate(((5, 2), (6, 2), (7, 1), (8, 1))):
        sources = names if layers == 2 else names[:2]
        guards = guard_tree(*(tensor_match(source, (length, 8)) for source in sources))
        made += compiled(f"0/{number}", *(tensor(length, 8, source=source) for source in sources), guards=guards)
    reasons = (f"0/{number}: tensor 'keys[0]' size mismatch at index 0. expected {number + 5}, actual 11" for number in (3, 2, 1, 0))
    first = calls(made + refused("0/4", *reasons))[-1].routes[0]
    assert set(first.required_marks) == {frozenset((Mark(Source(name), 0),)) for name in names}


@pytest.mark.parametrize(("third", "is_marked"), [(None, True), (9, False)], ids=["symbolic", "pinned"])
def test_a_size_that_one_entry_pins_may_be_marked_where_another_has_it_symbolic(third: int | None, is_marked: bool) -> None:
    """It is pinned in the first to what was static then; that the code needs its value would show in the other one as well."""
    made = trace(compiled("0/0", tensor(5, 8), guards=guard_tree(tensor_match(size=(5, 8)))))
    for number, size in ((1, 6), (2, third)):
        pins = [{"symbol": "s0", "sources": ["L['x'].size()[0]"], "value": str(size)}] if size else []
        guards = guard_tree(tensor_match(size=(None if size is None else size, 8)), shapes=[f"L['x'].size()[0] == {size}"] if size else [])
        symbols = (("s0", size or 9, "L['x'].size()[0]"),)
        made += compiled(f"0/{number}", tensor(size or 9, 8), guards=guards, symbols=symbols, specializations=pins)
    reasons = (
        "0/2: tensor 'x' stride mismatch at index 0. expected 8, actual 16",
        "0/1: x.size()[0] == 6",
        "0/0: tensor 'x' size mismatch at index 0. expected 5, actual 11",
    )
    routes = calls(made + refused("0/3", *reasons))[-1].routes
    assert any(route.entry.label == "0/0" for route in routes) is is_marked


@pytest.mark.parametrize(("sizes", "doubtful"), [((10,), 1), ((10, 12), 0)], ids=["one entry", "two entries"])
def test_a_refused_call_may_take_another_branch_where_no_two_entries_show_that_sizes_share_one(
    sizes: tuple[int, ...], doubtful: int
) -> None:
    made = trace(static_sizes(*sizes))
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual 13" for number, size in enumerate(sizes)]
    assert replayed(made + refused(f"0/{len(sizes)}", *reversed(reasons))).cost([X0]).doubtful == doubtful


def full(*others: bytes) -> bytes:
    """f, at line 5 of the model, is compiled for two sizes and an int, then refused for another int; ``others`` are compiled by then."""
    made = trace()
    for number, (size, constant) in enumerate(((10, 3), (12, 3), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")
        made += compiled(f"0/{number}", tensor(size, 8), guards=guard_tree(tensor_match(size=(size, 8)), leaf))
    reasons = (f"0/{number}: k == {constant}" for number, constant in ((2, 4), (1, 3), (0, 3)))
    return made + b"".join(others) + refused("0/3", *reasons)


def called(name: str, *lengths: int, at: int, frame: int = 1, by: str = "f", line: int = 30, inside: tuple[str, ...] = ()) -> bytes:
    """A function compiled for these lengths, each of which line ``at`` of ``by`` calls, perhaps by way of other functions (``inside``);
    that is in the file of f.
    """
    caller = {"filename": MODEL, "line": at, "name": by, "loc": f"y = {name}(x)"}
    between = [{"filename": MODEL, "line": 90 + place, "name": other, "loc": "return self.run(x)"} for place, other in enumerate(inside)]
    start = {"filename": "/opt/torch/_dynamo/convert_frame.py", "line": 900, "name": "__call__", "loc": "result = self._inner_convert("}
    body = {"symbol": "s1", "val": "7", "vr": "[2, int_oo]", "source": "L['n']", "user_stack": [], "stack": [caller, *between, start]}
    return b"".join(
        compiled(f"{frame}/{number}", tensor(length, 8), name=name, line=line) + record("create_symbol", body, id=f"{frame}/{number}")
        for number, length in enumerate(lengths)
    )


@pytest.mark.parametrize(
    ("others", "more"),
    [
        ((), 1),
        ((called("g", 10, 12, at=7),), 2),
        ((called("g", 10, at=7),), 1),
        ((called("g", 10, 12, at=7, inside=("__call__", "h")),), 2),
        ((called("g", 10, 12, 13, 14, at=7),), 2),
        ((called("g", 10, 12, at=7, by="main"),), 1),
        ((called("g", 10, 12, at=7), called("h", 10, 12, at=8, frame=2)), 3),
        ((called("f", 10, 12, at=7, line=50), called("g", 10, 12, at=55, frame=2)), 2),
        ((static_sizes(10, 12, frame=1, name="torch_dynamo_resume_in_f_at_9", line=9),), 2),
        (
            (
                static_sizes(10, 12, frame=1, name="torch_dynamo_resume_in_f_at_55", line=55),
                called("f", 10, 12, at=20, by="m", frame=2, line=50),
            ),
            1,
        ),
    ],
    ids=[
        "alone",
        "calls g",
        "compiled once",
        "by way of others",
        "compiled often",
        "called by another",
        "calls two",
        "another f",
        "resumed",
        "another f resumed",
    ],
)
def test_what_a_full_function_calls_left_no_records_either(others: tuple[bytes, ...], more: int) -> None:
    """It runs in eager mode, and so does what it calls: once it has room again, each may be compiled."""
    cost = replayed(full(*others)).cost([X0])
    assert (cost.more, cost.limit_hits) == (more, 0)


def test_the_entries_that_pytorch_did_not_look_at_serve_nothing() -> None:
    reason = "0/1: tensor 'x' size mismatch at index 0. expected 12, actual 14"
    made = trace(static_sizes(10, 12), compiled("0/2", tensor(14, 8), reasons=(reason,)))
    assert [way.entry.label for way in calls(made)[-1].routes] == ["0/1"]
    assert replayed(made).cost([X0]).total == 2  # 0/1 is gone then


def test_a_dynamic_compile_takes_as_long_as_the_one_that_it_stands_for() -> None:
    found = replayed(trace(static_sizes(10, seconds=1.0), dynamic_size("0/1", 12, seconds=7.0)))
    assert found.cost([X0]) == Cost(1, 0, Seconds(7.0, 7.0))


def test_failed_compiles_are_no_calls_but_their_time_counts() -> None:
    made = trace(static_sizes(10, 12), compiled("0/2", tensor(10, 8), guards="", graph="", seconds=5.0, fail_type="E", fail_reason="no"))
    (plan,) = replayed(made).plans
    assert [call.compile.label for call in plan.calls] == ["0/0", "0/1"]
    assert plan.cost(frozenset([X0])) == Cost(1, 0, Seconds(6.0, 10.0))


def test_costs_add_up_over_frames() -> None:
    found = replayed(trace(static_sizes(10, 12), int_values(3, 4, frame=1, name="g")))
    assert [found.cost(marks).total for marks in ((), (X0,), (K,), (X0, K))] == [4, 3, 3, 2]
    assert {mark: [plan.frame.title for plan in plans] for mark, plans in found.by_mark.items()} == {X0: ["f"], K: ["g"]}


@pytest.mark.parametrize(("again", "total"), [("!0/3/1", 3), ("!1/3/1", 4)])
def test_a_backward_graph_that_compiled_autograd_runs_again_needs_its_own_mark_alone(again: str, total: int) -> None:
    """A new capture comes with the forward graph that was compiled anew, in which nothing can be marked here."""
    rows = [tensor(size, 8, source="L['inputs'][0]") for size in (10, 12)]
    first = [compiled("0/0", tensor(10, 8)), compiled("!0/3/0", rows[0], name="forward", line=9)]
    then = [compiled("0/1", tensor(10, 8, dtype="torch.float64")), compiled(again, rows[1], name="forward", line=9)]
    found = replayed(trace(*first, *then))
    assert found.cost((Mark(Source("L['inputs'][0]"), 0),)).total == total


@pytest.mark.parametrize("name", LAB[::3])
def test_more_marks_never_cost_more(name: str) -> None:
    """That a list can be made minimal by dropping marks one by one rests on this."""
    found = replay(explain_trace(report_of(name).trace))
    marks = sorted({mark for plan in found.plans for mark in plan.marks})
    totals = [found.cost(marks[:number]).total for number in range(len(marks) + 1)]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] == found.cost(()).total == sum(len(plan.calls) for plan in found.plans)


@pytest.mark.parametrize("number", [6, 40])
def test_of_dims_that_were_equal_those_with_the_rarer_sizes_are_marked(number: int) -> None:
    advice = advise(explain(DIMENSIONS["tensors that shared a size"](number)))
    assert set(advice.entries) == {f"L['t{item}']:0" for item in range(1, number, 2)}


def test_a_guard_on_a_float_keeps_an_entry_from_serving_a_call() -> None:
    """The entry took the branch for temperatures other than 1, and the call has 1.0."""
    first = compiled("0/0", tensor(4, 8), guards=guard_tree(tensor_match(size=(4, 8)), equals_match("L['t']", 0.9)))
    branch = guard_tree(tensor_match(size=(None, 8)), shapes=("L['t'] != 1.0",))
    second = compiled("0/1", tensor(6, 8), dynamic=[0], symbols=[("zf1", 0.7, "L['t']")], guards=branch)
    third = compiled("0/2", tensor(8, 8), dynamic=[0], symbols=[("zf1", 1.0, "L['t']")])
    explained = explain(trace(first, second, third))
    compared = {item.entry.label: item for item in explained.compared[explained.recompiles[-1].compile]}
    assert "L['t'] != 1.0" in [cause.prop.name for cause in compared["0/1"].causes]
    assert explained.recompiles[-1].served_by is None
