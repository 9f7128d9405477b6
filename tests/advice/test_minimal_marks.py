"""Marks that would do harm are left out, with the reason and what to do instead; and of the others only those that earn something."""

from typing import Any

import make
import pytest
from make import compile as compiled
from make import explain, int_values, last_recompile, static_sizes, tensor, trace
from payload_text import RETURN_LINE, code_comment, equals_match, graph_text, guard_manager, guard_tree, tensor_match
from recorded import report_of

from shapelog.advice.advise import advise
from shapelog.advice.marks import Mark
from shapelog.advice.minimal_marks import Harm, HarmfulMark, MarkSelection, harms, select_marks
from shapelog.advice.replay import replay
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import explain_trace
from shapelog.rules import Verdict

V26, V210, V213 = (TorchVersion(2, minor) for minor in (6, 10, 13))
K, X0 = Mark(Source("L['k']")), Mark(Source("L['x']"), 0)


def chosen(made: bytes, version: TorchVersion = V213) -> MarkSelection:
    explained = explain(made)
    return select_marks(explained, replay(explained), version)


def left_out(made: bytes) -> HarmfulMark:
    """The one mark that is left out, where that leaves nothing to list."""
    found = chosen(made)
    assert found.marks == frozenset()
    (item,) = found.left_out
    return item


def body(*lines: str, name: str) -> str:
    """A graph that quotes these lines of a function, from its first on."""
    text = graph_text()
    quoted = "\n".join(f" # File: /srv/app/model.py:{number} in {name}, code: {line}" for number, line in enumerate(lines, 6))
    return text.replace(" # File: /srv/app/model.py:6 in f, code: return x + 1", quoted)


def test_an_int_of_which_only_arithmetic_is_seen_is_listed() -> None:
    found = chosen(trace(int_values(3, 4, 5)))
    assert (found.marks, found.left_out) == ({K}, ())


# Formatted, or needed as a number.


@pytest.mark.parametrize("code", ["name = f'{k}'", "name = 'layer %d' % k", "name = 'layer {}'.format(k)"])
def test_an_int_that_is_formatted_is_left_out(code: str) -> None:
    item = left_out(trace(int_values(3, 4, comment=code_comment(7, code))))
    assert (item.mark, item.frame.title) == (K, "f")
    assert item.reason == f"f formats k into a string at model.py:7 ({code}): its graph would be lost or split in two"
    assert item.remedy == "build the string outside the compiled code, or pass k as a tensor"


@pytest.mark.parametrize(("guard", "is_harm"), [("2 <= L['x'].size()[0]", True), ("11 <= L['x'].size()[0]", False)])
def test_a_graph_that_breaks_only_where_a_size_is_symbolic_breaks_by_the_mark(guard: str, is_harm: bool) -> None:
    """Not where its guards show that the code took another path, which breaks for any call that takes it."""
    text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: is_causal is no bool\nUser code traceback:\n"
    made = trace(static_sizes(10), make.dynamic_size("0/1", 12, guard), make.artifact("dynamo_graph_break_reason", text, id="0/1"))
    made += static_sizes(10, 12, frame=1, name="g")
    found = chosen(made)
    assert [item.reason.partition(" (")[0] for item in found.left_out] == (
        ["f has a graph break at model.py:7 once x.size[0] is symbolic"] if is_harm else []
    )
    assert found.marks == (frozenset() if is_harm else {Mark(Source("L['x']"), 0)})


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (None, "f has a graph break at model.py:7 once x.size[0] is symbolic (the backend failed), as in 0/1"),
        ("", "f broke before its first operation in 0/0, and not in 0/1: with the mark, it would run in parts as before"),
    ],
    ids=["later", "before any operation"],
)
def test_a_mark_that_lets_calls_use_an_entry_that_broke_at_once_is_left_out(graph: str | None, reason: str) -> None:
    """As the first call of a model breaks, which installs hooks: what follows is compiled in parts, which later calls need not be."""
    breaks = [
        make.artifact(
            "dynamo_graph_break_reason", f"Graph break in user code at /srv/app/model.py:{line}\nGraph Break Reason: {why}\n", id=id
        )
        for line, why, id in ((6, "a lock", "0/0"), (7, "the backend failed", "0/1"))
    ]
    made = trace(static_sizes(10, graph=graph), make.dynamic_size("0/1", 12, "2 <= L['x'].size()[0]"), *breaks)
    assert left_out(made + static_sizes(10, 12, frame=1, name="g")).reason == reason


@pytest.mark.parametrize(("call", "is_harm"), [("x.to_sparse_csc()", False), ("y.count()", True)])
def test_a_call_that_breaks_the_graph_in_either_case_breaks_it_not_by_the_mark(call: str, is_harm: bool) -> None:
    """As an operator without a fake kernel does, for another reason where its sizes are symbolic."""
    made = trace(static_sizes(10), make.dynamic_size("0/1", 12, "2 <= L['x'].size()[0]"))
    for number, (why, broken) in enumerate((("no sparse tensors", call), ("no fake tensors", "x.to_sparse_csc()"))):
        code = "return x.to_sparse_csc(), y.count()"
        text = f"Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: {why}\nUser code traceback:\n"
        text += f'  File "/srv/app/model.py", line 7, in f\n    {code}\n    {" " * code.index(broken)}{"^" * len(broken)}\n'
        made += make.artifact("dynamo_graph_break_reason", text, id=f"0/{number}")
    found = chosen(made)
    assert (len(found.left_out), len(found.marks)) == ((1, 0) if is_harm else (0, 1))


@pytest.mark.parametrize(
    ("file", "whose"),
    [
        ("/srv/app/model.py", "model.py:7"),
        ("/opt/venv/lib/python3.11/site-packages/transformers/import_utils.py", "what leads to import_utils.py:7 (library code)"),
    ],
)
def test_nobody_is_asked_to_change_a_line_of_a_library(file: str, whose: str) -> None:
    text = f"Graph break in user code at {file}:7\nGraph Break Reason: is_causal is no bool\nUser code traceback:\n"
    made = trace(static_sizes(10), make.dynamic_size("0/1", 12, "2 <= L['x'].size()[0]"))
    item = left_out(made + make.artifact("dynamo_graph_break_reason", text, id="0/1") + static_sizes(10, 12, frame=1, name="g"))
    assert item.remedy == f"before you mark x.size[0], change {whose} so that it works with a symbol"


@pytest.mark.parametrize(("line", "names"), [("math.gcd(n, k)", ["n", "k"]), ("check(n)", ["n"])])
def test_each_int_on_a_line_that_breaks_only_where_one_is_symbolic_may_break_it(line: str, names: list[str]) -> None:
    """n varied first, so that it was symbolic already when k varied."""
    text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: no tensor\nUser code traceback:\n"
    text += f'  File "/srv/app/model.py", line 7, in f\n    {line}\n'
    broken = [make.artifact("dynamo_graph_break_reason", text, id=f"0/{number}") for number in (1, 2)]
    n, k = ("s0", "5", "L['n']"), ("s1", "6", "L['k']")
    static = [
        guard_tree(tensor_match(), *(equals_match(f"L['{name}']", value) for name, value in values))
        for values in ((("n", 3), ("k", 4)), (("k", 4),), ())
    ]
    made = trace(
        compiled("0/0", tensor(10, 8), guards=static[0]),
        compiled("0/1", tensor(10, 8), guards=static[1], symbols=(n,), reasons=["0/0: L['n'] == 3"]) + broken[0],
        compiled("0/2", tensor(10, 8), guards=static[2], symbols=(n, k), reasons=["0/1: L['k'] == 4", "0/0: L['n'] == 3"]) + broken[1],
    )
    assert [item.mark.source.display_name for item in chosen(made).left_out] == sorted(names)


def test_a_call_without_the_int_shows_nothing_of_a_line_that_breaks_with_any_int() -> None:
    """Where it is None, the code took another path."""
    text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: no tensor\nUser code traceback:\n"
    text += '  File "/srv/app/model.py", line 7, in f\n    check(n)\n'
    broken = [make.artifact("dynamo_graph_break_reason", text, id=f"0/{number}") for number in (0, 1)]
    first, last = (guard_tree(tensor_match(), equals_match("L['n']", value)) for value in (3, None))
    made = trace(
        compiled("0/0", tensor(10, 8), guards=first) + broken[0],
        compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match()), symbols=(("s0", "5", "L['n']"),), reasons=["0/0: L['n'] == 3"])
        + broken[1],
        compiled("0/2", tensor(10, 8), guards=last, reasons=["0/1: ___check_type_id(L['n'], 1)", "0/0: L['n'] == 3"]),
    )
    assert chosen(made).left_out == ()


@pytest.mark.parametrize("line", ["for _ in range(k):", "width = x.size(k)", "y = x * x.stride(dim=k)"])
def test_an_int_that_pins_a_loop_or_picks_a_dim_is_nothing_to_mark(line: str) -> None:
    made = trace(int_values(3, 4, comment=code_comment(7, line)))
    found = chosen(made)
    assert (found.marks, found.left_out) == (frozenset(), ())
    recompile = last_recompile(made)
    assert recompile.verdict is Verdict.JUSTIFIED
    assert recompile.why_not_markable == f"marking does not help: model.py:7 ({line}) needs the exact value of k"


def test_an_int_that_is_handed_on_where_it_varies_is_listed() -> None:
    assert chosen(trace(int_values(3, 4, comment=code_comment(7, "return helper(x, k)")))).marks == {K}


def test_an_int_that_was_symbolic_and_compiled_is_listed_whatever_the_lines_say() -> None:
    comment = code_comment(7, "print(f'{k}')")
    made = trace(int_values(3, comment=comment))
    made += compiled(
        "0/1", tensor(10, 8), guards=guard_tree(tensor_match(), guard_manager("L['k']", comment=comment)), symbols=(("s1", "4", "L['k']"),)
    )
    assert chosen(made).marks == {K}


def test_a_mark_that_helps_only_together_with_a_harmful_one_is_left_out_with_the_harm() -> None:
    """Size and int change in the same call: marking the size alone saves nothing."""
    made = trace()
    for number, (size, constant) in enumerate(((10, 3), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int", comment=code_comment(7, "name = f'{k}'"))
        made += compiled(f"0/{number}", tensor(size, 8), guards=guard_tree(tensor_match(size=(size, 8)), leaf))
    item = left_out(made)
    assert item.mark == K
    assert "formats k" in item.reason


def test_a_harmful_int_that_would_save_nothing_is_not_mentioned() -> None:
    """The code takes another path for another dtype; that k varied as well changes nothing."""
    comment = code_comment(7, "name = f'{k}'")
    made = trace()
    for number, (constant, dtype) in enumerate(((3, "float32"), (4, "float64"))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int", comment=comment)
        made += compiled(f"0/{number}", tensor(10, 8, dtype=f"torch.{dtype}"), guards=guard_tree(tensor_match(dtype=dtype), leaf))
    found = chosen(made)
    assert (found.marks, found.left_out) == (frozenset(), ())


# The same name in another frame.


def clash(code: str, *lines: str) -> bytes:
    """k varies in f; in g it is a constant, looked at first in a line of code."""
    made = trace(int_values(3, 4))
    return made + int_values(7, frame=1, name="g", comment=code_comment(7, code, "g"), graph=body(*lines, name="g") if lines else None)


def test_an_int_that_another_frame_formats_is_left_out() -> None:
    item = left_out(clash("name = f'{k:02d}'"))
    assert (item.mark, item.frame.title) == (K, "g")
    assert item.reason.startswith("g formats k into a string at model.py:7 (name = f'{k:02d}'): ")
    assert item.remedy == "entries match by name in every frame: rename k in f, or pass it as a tensor there"


def test_code_that_was_compiled_again_cannot_have_another_name() -> None:
    made = trace(int_values(3, 4), int_values(7, frame=1, comment=code_comment(7, "name = f'{k}'"), graph=body("x = x + 1", name="f")))
    assert left_out(made).remedy == "build the string outside the compiled code, or pass k as a tensor"


SCHEDULER = "/opt/venv/lib/python3.11/site-packages/lib/scheduler.py"


@pytest.mark.parametrize(
    ("source", "file", "remedy"),
    [
        ("L['k']", make.MODEL, "accept one graph per value, or pass k as a tensor"),
        ("L['k']", SCHEDULER, "accept one graph per value, or pass k as a tensor"),
        ("L['self'].k", SCHEDULER, "accept one graph per value"),  # nobody passes it
    ],
)
def test_parts_of_one_function_cannot_have_names_of_their_own(source: str, file: str, remedy: str) -> None:
    """What goes on after a graph break has the variables of the function itself."""
    first, second = (f"torch_dynamo_resume_in_f_at_{line}" for line in (6, 8))
    handed_on = code_comment(7, f"y = helper(x, {Source(source).display_name})", second)
    varying = int_values(3, 4, name=first, source=source, file=file)
    other = int_values(7, frame=1, name=second, source=source, file=file, comment=handed_on, graph=body("x = x + 1", name=second))
    assert left_out(trace(varying, other)).remedy == remedy


@pytest.mark.parametrize(("name", "line", "is_listed"), [("f", 12, True), ("f", 6, False), ("g", 12, False)])
def test_code_after_a_graph_break_that_calls_its_function_has_traced_all_of_that(name: str, line: int, is_listed: bool) -> None:
    """Its guards quote lines of f before the break; of the function itself, a line between is not seen."""
    comment = code_comment(9, "if k > x.size(0):", name)
    varying = int_values(3, 4, name=f"torch_dynamo_resume_in_f_at_{line}", comment=comment)
    assert chosen(trace(varying, int_values(7, frame=1, name=name, comment=comment))).marks == ({K} if is_listed else set())


def test_nothing_is_to_be_renamed_in_a_library() -> None:
    other = int_values(7, frame=1, name="g", comment=code_comment(7, "name = f'{k:02d}'", "g"))
    item = left_out(trace(int_values(3, 4, file=SCHEDULER), other))
    assert item.remedy.startswith("accept one graph per value: entries match by name in every frame, and the code that needs the mark")


def test_an_item_is_renamed_with_what_holds_it() -> None:
    shape, handed_on = "L['shape'][1]", code_comment(7, "y = helper(x, shape[1])", "g")
    made = trace(
        int_values(3, 4, source=shape), int_values(7, frame=1, name="g", source=shape, comment=handed_on, graph=body("x = x + 1", name="g"))
    )
    assert left_out(made).remedy == "entries match by name in every frame: rename shape in f, or pass it as a tensor there"


def test_arithmetic_in_another_frame_is_allowed_when_all_its_lines_are_seen() -> None:
    assert chosen(clash("y = x * k", "x = x + 1")).marks == {K}


@pytest.mark.parametrize(
    "made",
    [
        clash("y = helper(x, k)", "x = x + 1"),
        trace(int_values(3, 4), int_values(7, frame=1, name="g", comment=code_comment(9, "y = x * k", "g"))),
    ],
    ids=["handed on", "a line between is not seen"],
)
def test_what_is_not_seen_in_another_frame_counts_as_harm(made: bytes) -> None:
    item = left_out(made)
    assert item.frame.title == "g"
    assert item.reason == "g has an int of the same name that never changed, and the trace does not show everything it does with it"
    assert item.remedy == "entries match by name in every frame: rename k in f, or pass it as a tensor there"


def test_a_global_of_one_file_is_the_same_int_in_each_of_its_functions() -> None:
    source = "G['k']"
    other = int_values(7, frame=1, name="g", source=source, comment=code_comment(9, "y = x * k", "g"))
    assert chosen(trace(int_values(3, 4, source=source), other)).marks == {Mark(Source(source))}


def test_code_that_was_compiled_again_after_a_reset_is_not_another_one() -> None:
    """Where it saw one value alone since, as a second process may."""
    again = int_values(7, frame=1, comment=code_comment(7, "y = helper(x, k)", "f"), graph=body("x = x + 1", name="f"))
    assert chosen(trace(int_values(3, 4), again)).marks == {K}


def test_a_tensor_of_that_name_in_another_frame_is_no_int() -> None:
    assert chosen(trace(int_values(3, 4), static_sizes(10, frame=1, name="g", source="L['k']"))).marks == {K}


def test_an_int_that_varies_in_both_frames_is_listed_for_both() -> None:
    assert chosen(trace(int_values(3, 4), int_values(3, 4, frame=1, name="g"))).marks == {K}


# Failed once it was symbolic.


def test_an_int_whose_symbolic_compile_failed_is_left_out() -> None:
    item = left_out(trace(int_values(3, 4), compiled("0/2", tensor(10, 8), symbols=(("s1", "5", "L['k']"),), **make.FAILED)))
    assert item.reason == "compilation 0/2 of f failed once k was symbolic, and the code ran in eager mode"
    assert item.remedy == "pass k as a tensor, or keep it out of strings and hashes"


def test_an_int_is_to_be_kept_out_of_the_line_in_which_its_symbolic_compile_failed() -> None:
    reason = f'Observed exception\n\nfrom user code:\n   File "{make.MODEL}", line 6, in f\n    q, r = divmod(k, 2)\n'
    failed = compiled("0/2", tensor(10, 8), symbols=(("s1", "5", "L['k']"),), **{**make.FAILED, "fail_reason": reason})
    item = left_out(trace(int_values(3, 4), failed))
    assert item.remedy == "pass k as a tensor, or keep it out of model.py:6, where Dynamo stops"


def test_what_failed_on_another_branch_is_no_failure_of_a_symbol() -> None:
    """An entry for any int works; a larger one takes a branch that breaks the graph."""
    symbols, free = (("s1", "5", "L['k']"),), guard_tree(tensor_match(), shapes=(f"L['k'] <= 5  {RETURN_LINE}",))
    made = trace(int_values(3, 4), compiled("0/2", tensor(10, 8), symbols=symbols, guards=free))
    assert chosen(made + compiled("0/3", tensor(10, 8), symbols=(("s1", "9", "L['k']"),), **make.FAILED)).marks == {K}


@pytest.mark.parametrize(("value", "is_harm"), [("3", True), ("9", False)])
def test_what_failed_as_a_symbol_and_compiled_as_a_constant_of_the_same_value_is_left_out(value: str, is_harm: bool) -> None:
    """As where a call that a symbolic int does not support is made for this value alone: the entry for any int took another way."""
    free = guard_tree(tensor_match(), shapes=(f"L['k'] != 0  {RETURN_LINE}",))
    made = trace(int_values(3, 4), compiled("0/2", tensor(10, 8), symbols=(("s1", "5", "L['k']"),), guards=free))
    made += compiled("0/3", tensor(10, 8), symbols=(("s1", value, "L['k']"),), **make.FAILED)
    found = chosen(made)
    assert (found.marks, len(found.left_out)) == ((frozenset(), 1) if is_harm else ({K}, 0))


def failed_with_rows(**more: Any) -> bytes:
    """Sizes 10 and 12, each static; then a failure where the rows are symbolic."""
    symbols = (("s1", "14", "L['x'].size()[0]"),)
    return trace(static_sizes(10, 12), compiled("0/2", tensor(14, 8), symbols=symbols, **{**make.FAILED, **more}))


def test_a_size_whose_symbolic_compile_failed_is_left_out() -> None:
    item = left_out(failed_with_rows())
    assert item.reason == "compilation 0/2 of f failed once x.size[0] was symbolic"
    assert item.remedy == "fix the error and then mark it, or keep it static: torch.compile(..., dynamic=False)"


def test_a_size_that_is_symbolic_in_a_graph_is_none_to_leave_out() -> None:
    dynamic = make.dynamic_size("0/3", 16, "2 <= L['x'].size()[0]")
    assert chosen(failed_with_rows() + dynamic).left_out == ()
    reason = f'Observed exception\n\nfrom user code:\n   File "{make.MODEL}", line 6, in f\n    raise ValueError("odd")\n'
    assert chosen(failed_with_rows(fail_reason=reason)).left_out == ()  # nor one for which the code itself raises


def test_an_error_that_the_code_raises_itself_is_no_failure_of_a_symbol() -> None:
    reason = f'Observed exception\n\nfrom user code:\n   File "{make.MODEL}", line 6, in f\n    raise ValueError("odd")\n'
    failed = compiled("0/2", tensor(10, 8), symbols=(("s1", "5", "L['k']"),), **{**make.FAILED, "fail_reason": reason})
    assert chosen(trace(int_values(3, 4), failed)).marks == {K}


def test_a_failure_in_another_frame_counts_as_well() -> None:
    made = trace(
        int_values(3, 4), int_values(7, frame=1, name="g", comment=code_comment(6, "y = x * k", "g"), graph=body("y = x * k", name="g"))
    )
    assert chosen(made).marks == {K}
    item = left_out(made + compiled("1/1", tensor(10, 8), symbols=(("s1", "5", "L['k']"),), name="g", **make.FAILED))
    assert (item.frame.title, item.reason) == ("g", "compilation 1/1 of g failed once k was symbolic, and the code ran in eager mode")


def test_a_failure_without_the_symbol_is_none_of_its_doing() -> None:
    assert chosen(trace(int_values(3, 4), compiled("0/2", tensor(10, 8), **make.FAILED))).marks == {K}


# Minimal.


def test_dims_that_vary_together_are_all_needed_and_a_dim_that_does_not_vary_is_not() -> None:
    made = trace(compiled("0/0", tensor(10, 8, 3)), compiled("0/1", tensor(12, 9, 3)))
    assert chosen(made).marks == {Mark(Source("L['x']"), 0), Mark(Source("L['x']"), 1)}


def with_base(*bases: tuple[int, int, int]) -> bytes:
    """``states[k]`` of stacks of these sizes, [steps, rows, columns]: static, then symbolic with its base, then for another dtype."""
    made = trace()
    places = [f"L['x'].size()[{dim}]" for dim in range(2)] + [f"L['x']._base.size()[{dim}]" for dim in range(3)]
    for number, (steps, rows, columns) in enumerate(bases):
        dtype = "float32" if number < 2 else "float64"
        stack = tensor(steps, rows, columns, source="L['x']._base", dtype=f"torch.{dtype}")
        inputs = stack, tensor(rows, columns, is_view=True, base=0, dtype=f"torch.{dtype}")
        symbols = [(f"s{dim}", "9", place) for dim, place in enumerate(places)] if number else ()
        guards = guard_tree(tensor_match(size=(None, None) if number else (rows, columns), dtype=dtype))
        made += compiled(f"0/{number}", *inputs, guards=guards, symbols=symbols)
    return made


@pytest.mark.parametrize(
    ("bases", "listed"),
    [
        (((3, 10, 8), (4, 12, 9), (5, 14, 8)), [1, 2]),
        (((3, 10, 8), (4, 12, 9)), []),
        (((3, 10, 8), (4, 12, 9), (5, 10, 8)), []),
        (((3, 10, 8), (4, 12, 9), (5, 14, 7)), []),
        (((3, 10, 8), (1, 12, 9), (5, 14, 8)), []),
    ],
    ids=["in part", "no graph later", "static later as well", "all of it", "of one step"],
)
def test_the_base_of_a_view_is_marked_where_a_later_graph_would_guard_it_in_part(
    bases: tuple[tuple[int, int, int], ...], listed: list[int]
) -> None:
    """A base has no guards while it is static; in a later graph, what changed of it is symbolic, and the strides hold the rest."""
    found = chosen(with_base(*bases))
    assert sorted(mark.dim for mark in found.marks if mark.source == "L['x']._base") == listed
    assert {mark.dim for mark in found.marks if mark.source == "L['x']"} == {0, 1}


def test_what_varies_only_where_something_else_changed_too_is_not_listed() -> None:
    made = trace(static_sizes(10, 12))
    made += compiled("0/2", tensor(12, 9, dtype="torch.float64"), guards=guard_tree(tensor_match(size=(12, 9), dtype="float64")))
    assert chosen(made).marks == {Mark(Source("L['x']"), 0)}


def test_of_two_ways_one_is_enough() -> None:
    """Equal sizes shared a symbol; a mark on either tensor ends that."""
    explained = explain_trace(report_of("lab/duck_dynamic_true.log.gz").trace)
    replayed = replay(explained)
    wanted = {mark for plan in replayed.plans for mark in plan.marks}
    assert {mark.source for mark in wanted} == {"L['q']", "L['k']"}
    assert len(select_marks(explained, replayed, V213).marks) == 1


def test_where_the_list_knows_no_dims_a_source_is_kept_or_dropped_as_a_whole() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8)), compiled("0/2", tensor(12, 9)))
    assert chosen(made, V210).marks == {Mark(Source("L['x']"), 0), Mark(Source("L['x']"), 1)}


def test_without_a_list_each_dim_is_marked_by_itself() -> None:
    """The stride of a window follows from its length: one symbolic dim is enough."""
    explained = explain_trace(report_of("lab/stride_from_slices.log.gz").trace)
    replayed = replay(explained)
    assert select_marks(explained, replayed, V26).marks == select_marks(explained, replayed, V213).marks == {Mark(Source("L['w']"), 0)}


def test_without_a_list_neither_ints_nor_parameters_are_chosen() -> None:
    assert chosen(trace(int_values(3, 4)), V26).marks == frozenset()
    parameter = trace()
    for number, width in enumerate((8, 16)):
        parameter += compiled(f"0/{number}", tensor(width, 8, source="L['weight']", is_parameter=True))
    assert chosen(trace(static_sizes(8, 16, source="L['self'].weight")), V26).marks == {Mark(Source("L['self'].weight"), 0)}
    assert chosen(parameter, V26).marks == frozenset()
    assert chosen(parameter, V210).marks == {Mark(Source("L['weight']"), 0)}


@pytest.mark.parametrize("kind", ["_parameters", "_buffers"])
def test_without_a_list_nothing_registered_with_a_module_is_chosen(kind: str) -> None:
    """PyTorch forces their sizes static, and mark_dynamic does not change that."""
    made = trace(static_sizes(8, 16, source=f"L['self'].{kind}['weight']"))
    assert chosen(made, V26).marks == frozenset()
    assert chosen(made, V210).marks == {Mark(f"L['self'].{kind}['weight']", 0)}


def test_a_dim_is_left_out_where_other_code_puts_the_sizes_of_its_own_tensor_into_a_string() -> None:
    labelled = tensor_match(size=(8, 4)).replace(RETURN_LINE, code_comment(7, 'sig = "x".join(str(d) for d in x.shape)', "g"))
    item = left_out(trace(static_sizes(10, 12, 14), compiled("1/0", tensor(8, 4), guards=guard_tree(labelled), name="g")))
    assert item.mark == Mark(Source("L['x']"), 0)
    assert item.reason.startswith("g formats sizes of its own x into a string at model.py:7")
    assert (
        item.remedy == "entries match by name in every frame: call torch._dynamo.mark_dynamic(x, 0) instead, which marks this tensor alone"
    )


def test_a_dim_is_left_out_where_other_code_formats_an_int_of_that_name() -> None:
    """An entry for the tensor marks the int as well, be it with a dim."""
    other = int_values(7, frame=1, name="g", source="L['x']", comment=code_comment(7, 'y = table[f"{x}"]', "g"))
    item = left_out(trace(static_sizes(10, 12), other))
    assert (item.mark, item.frame.title) == (X0, "g")
    assert item.reason.startswith("entries also match the int x of g, which cannot be symbolic at model.py:7")
    assert "call torch._dynamo.mark_dynamic(x, 0) instead" in item.remedy


def in_parts(*used: str) -> str:
    """The graph of code that makes a tensor of the first size of ``x``."""
    made = "div: \"i64[][]cpu\" = torch.div(8, 4, rounding_mode = 'trunc')"
    return graph_text('L_x_: "f32[8, 4][4, 1]cpu"', made, *used, "return (y,)")


def test_a_dim_is_left_out_where_other_code_needs_the_value_of_a_tensor_made_of_it() -> None:
    """As Longformer's attention: with a symbol, Dynamo stops there with "Data dependent operator" (torch 2.13)."""
    parts = in_parts('y: "f32[2, 16][16, 1]cpu" = l_x_.view(div, 16);  l_x_ = div = None')
    item = left_out(trace(static_sizes(10, 12, 14), compiled("1/0", tensor(8, 4), graph=parts, name="g")))
    assert (item.mark, item.frame.title) == (X0, "g")
    assert item.reason == (
        "entries also match x of g, which makes a tensor of the size 8 (torch.div(8, 4, rounding_mode = 'trunc')) and needs its value: "
        "once x.size[0] is symbolic there, its graph would be lost"
    )
    assert "call torch._dynamo.mark_dynamic(x, 0) instead" in item.remedy


def test_a_tensor_made_of_a_size_that_is_only_calculated_with_does_no_harm() -> None:
    scaled = in_parts('y: "f32[8, 4][4, 1]cpu" = l_x_ * div;  l_x_ = div = None')
    found = chosen(trace(static_sizes(10, 12, 14), compiled("1/0", tensor(8, 4), graph=scaled, name="g")))
    assert (found.marks, found.left_out) == ({X0}, ())


def test_an_int_of_that_name_in_other_code_is_a_caveat() -> None:
    other = int_values(7, frame=1, name="g", source="L['x']", comment=code_comment(7, "y = z * x", "g"))
    (suggestion,) = advise(explain(trace(static_sizes(10, 12), other))).suggestions
    assert any("There it is an int, which may break a graph once it is symbolic" in text for text in suggestion.caveats)


def test_a_parameter_has_to_be_renamed_where_other_code_puts_the_sizes_of_its_own_tensor_into_a_string() -> None:
    labelled = tensor_match(size=(8, 4)).replace(RETURN_LINE, code_comment(7, 'sig = "x".join(str(d) for d in x.shape)'))
    other = compiled("1/0", tensor(8, 4), guards=guard_tree(labelled), line=30)
    parameters = (compiled(f"0/{number}", tensor(width, 8, is_parameter=True)) for number, width in enumerate((8, 16)))
    assert left_out(trace(*parameters, other)).remedy == "entries match by name in every frame: rename x in f (model.py:5)"


def test_the_remedy_of_a_harmful_mark_is_that_of_the_dim_which_changed() -> None:
    """Rows are put into a string by g, and the columns by h: both change in f, one after the other."""
    columns = guard_tree(tensor_match(size=(10, 4)).replace(RETURN_LINE, code_comment(8, "s = f'{x.shape}'", "h")))
    rows = guard_tree(tensor_match(size=(8, 8)).replace(RETURN_LINE, code_comment(7, "s = str(x.shape[0])", "g")))
    made = trace(static_sizes(10, 12), compiled("0/2", tensor(12, 9)))
    made += compiled("1/0", tensor(8, 8), guards=rows, name="g") + compiled("2/0", tensor(10, 4), guards=columns, name="h")
    found = make.report(made)
    assert [found.remedies.of_recompile(item).text.partition(" instead")[0].rpartition(": ")[2] for item in found.recompiles] == [
        "call torch._dynamo.mark_dynamic(x, 0)",
        "call torch._dynamo.mark_dynamic(x, 1)",
    ]


def test_a_string_that_other_code_makes_of_something_else_does_no_harm() -> None:
    labelled = tensor_match(size=(8, 4)).replace(RETURN_LINE, code_comment(7, "y = x * TABLE[str(mode)]", "g"))
    found = chosen(trace(static_sizes(10, 12, 14), compiled("1/0", tensor(8, 4), guards=guard_tree(labelled), name="g")))
    assert (found.marks, found.left_out) == ({Mark(Source("L['x']"), 0)}, ())


def test_marks_that_do_the_same_harm_are_named_together() -> None:
    frame = make.load(trace(compiled("0/0", tensor(10, 8)))).frames[0]
    left_out = [
        HarmfulMark(mark, frame, f"f breaks at a.py:3 once {mark.name} is symbolic", f"before you mark {mark.name}, change a.py:3")
        for mark in (Mark(Source("L['x']"), 0), Mark(Source("L['x']"), 1), Mark(Source("L['k']")))
    ]
    left_out.append(HarmfulMark(Mark(Source("L['y']"), 0), frame, "g breaks at a.py:9 once y.size[0] is symbolic", "change a.py:9"))
    assert harms(left_out) == [
        Harm(
            ("x.size[0]", "x.size[1]", "k"),
            "f breaks at a.py:3 once any of these is symbolic",
            "before you mark any of these, change a.py:3",
        ),
        Harm(("y.size[0]",), "g breaks at a.py:9 once y.size[0] is symbolic", "change a.py:9"),
    ]
