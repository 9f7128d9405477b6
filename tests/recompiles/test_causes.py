"""Why compiles happened: the lab, whose right answers are known, and small made cases, one for each kind of cause."""

import json
from typing import Any

import make
import pytest
from make import (
    MODEL,
    cpp_guards,
    describe,
    explain,
    int_values,
    last_recompile,
    metrics,
    output_graph,
    recompile_reasons,
    record,
    report,
    tensor,
    trace,
)
from make import compile as compiled
from payload_text import (
    CPU_KEYS,
    RETURN_LINE,
    code_comment,
    equals_match,
    global_state,
    graph_text,
    guard_manager,
    guard_tree,
    size_mismatch,
    tensor_match,
)
from recorded import FIXTURES, LAB, recompile_of, report_of

from shapelog.advice.advise import advise
from shapelog.reading.payloads.guards.comments import places_of
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import with_locals
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.classification.result import shown_guard
from shapelog.rules import RULES, Remedy, Verdict

TRUTH: dict[str, Any] = json.loads((FIXTURES / "lab" / "truth.json").read_text(encoding="utf-8"))
SCORED = [
    (name, real["compile_id"], tuple(real["causes"]), real["size_related"])
    for name, truth in sorted(TRUTH.items())
    for real in truth["recompiles"]
    if not real["over_limit"] and not real["failed"]
]
# What really changed between the calls, in the words of truth.json -> the codes that say so.
CODES = {
    "size": {"SL101"},
    "int_value": {"SL102"},
    "nn_module_int": {"SL315", "SL102"},
    "param_shape": {"SL106"},
    "user_specialization": {"SL201", "SL202", "SL204"},
    "user_branch": {"SL204", "SL201"},
    "zero_one": {"SL104"},
    "duck_shape": {"SL103"},
    "stride": {"SL105"},
    "rank": {"SL107"},
    "requires_grad": {"SL302"},
    "grad_mode": {"SL305"},
    "module_training": {"SL316", "SL311"},
    "autocast_enabled": {"SL306"},
    "autocast_dtype": {"SL306"},
    "code_identity": {"SL309", "SL308"},
    "type_identity": {"SL310", "SL308"},
    "string": {"SL311", "SL322"},
    "float_value": {"SL312"},
    "dict_keys": {"SL314", "SL313"},
    "list_len": {"SL313"},
    "dispatch_keys": {"SL303"},
    "object_state": {"SL320", "SL311", "SL310", "SL322", "SL314", "SL313"},
}
# Which of these is said for a size is a finer question: that one of them is said is what counts.
SIZES = {"size", "duck_shape", "zero_one", "user_branch", "user_specialization", "param_shape"}
SIZE_CODES = {code for word in SIZES for code in CODES[word]}
# A changed training flag shows in a trace only where the program reads it.
UNSEEN = {"module_training"}


@pytest.mark.parametrize(("name", "label", "truth", "size_related"), SCORED)
def test_the_causes_of_the_lab_are_the_known_ones(name: str, label: str, truth: tuple[str, ...], size_related: bool) -> None:
    recompile = recompile_of(f"lab/{name}.log.gz", label)
    said = set(recompile.codes)
    allowed = {word: CODES[word] | (SIZE_CODES if word in SIZES else set()) for word in truth}
    required = [word for word in truth if word not in UNSEEN] or list(truth)
    assert [word for word in required if not said & allowed[word]] == [], "a true cause is not named"
    assert said <= set().union(*allowed.values()), "something is named that did not change"
    assert recompile.size_related is size_related


@pytest.mark.parametrize("name", LAB)
def test_the_lab_recompiles_are_all_there(name: str) -> None:
    truth = TRUTH[name[4:].removesuffix(".log.gz")]
    assert {item.compile.label for item in report_of(name).recompiles} == {real["compile_id"] for real in truth["recompiles"]}


def only(recording: bytes) -> Cause:
    causes = last_recompile(recording).causes
    assert len(causes) == 1, [cause.sentence for cause in causes]
    return causes[0]


def two(before: str, after: str, *reasons: str, same: bool = True) -> bytes:
    """A call that was compiled with one guard tree, and then one with another; both get the same tensor."""
    made = trace(compiled("0/0", *([tensor(10, 8)] if same else []), guards=before))
    return made + compiled("0/1", *([tensor(10, 8)] if same else []), guards=after, reasons=tuple(f"0/0: {reason}" for reason in reasons))


def resized(before: tuple[int, ...], after: tuple[int, ...], **more: Any) -> bytes:
    return trace(compiled("0/0", tensor(*before, **more)), compiled("0/1", tensor(*after, **more)))


def test_a_size_has_both_values_and_pytorchs_own_word() -> None:
    reason = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"
    cause = only(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), reasons=(reason,))))
    assert (cause.codes, cause.axis, cause.before, cause.after) == (("SL101",), "x.size[0]", "10", "12")
    assert cause.sentence == "dim 0 of x changed from 10 to 12"
    assert cause.named_by_pytorch
    assert cause.size_related


def test_a_size_that_pytorch_does_not_name_is_found_all_the_same() -> None:
    made = trace(compiled("0/0", tensor(10, 8), tensor(4, source="L['y']")))
    made += compiled(
        "0/1", tensor(12, 8), tensor(5, source="L['y']"), reasons=("0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12",)
    )
    causes = last_recompile(made).causes
    assert [(cause.axis, cause.named_by_pytorch) for cause in causes] == [("x.size[0]", True), ("y.size[0]", False)]


def test_strides_that_follow_from_a_size_are_consequences() -> None:
    recompile = last_recompile(resized((4, 6, 8), (4, 7, 8)))
    assert [cause.axis for cause in recompile.causes] == ["x.size[1]"]
    assert recompile.consequences == ("x.stride[0]",)


@pytest.mark.parametrize(("before", "after"), [((5, 8), (1, 8)), ((1, 8), (5, 8)), ((5, 8), (0, 8)), ((0, 8), (1, 8))])
def test_a_size_of_zero_or_one_bears_a_second_code(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    assert only(resized(before, after)).codes == ("SL101", "SL104")


def test_a_size_below_the_range_of_a_dynamic_entry_is_zero_or_one() -> None:
    comment = (
        "# return x + 1  # app/model.py:6 in f (user code shown is first use of this value--the guard itself is not due user code but due "
        "to 0/1 specialization in the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))"
    )
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x'].size()[0]  {comment}",))
    made = trace(compiled("0/0", tensor(10, 8), guards=guards, symbols=(("s77", "10", "L['x'].size()[0]"),)), compiled("0/1", tensor(1, 8)))
    cause = only(made)
    assert (cause.codes, cause.axis) == (("SL104",), "x.size[0]")
    assert cause.size_related


@pytest.mark.parametrize(
    ("origin", "code"),
    [("_dynamo/variables/builder.py:4960 in <lambda>", "SL321"), ("_dynamo/variables/tensor.py:2606 in evaluate_expr", "SL204")],
)
def test_the_range_of_a_mark_is_no_branch(origin: str, code: str) -> None:
    """``mark_dynamic(x, 0, min=2, max=16)``: such a guard comes with the symbol, and quotes the line that used the size first."""
    zero_one = "(user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization)"
    comment = f"# return x * 2  # app/model.py:6 in f {zero_one} and return x * 2  # app/model.py:6 in f ({origin})"
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x'].size()[0] <= 16  {comment}",))
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=guards, dynamic=[0]), compiled("0/1", tensor(20, 8))))
    assert cause.codes == (code,)
    if code == "SL321":
        assert (cause.sentence, cause.verdict) == (
            "dim 0 of x is marked as dynamic with a limited range: 2 <= x.size()[0] <= 16 (now x.size()[0] = 20)",
            Verdict.CODE,
        )


def test_a_branch_on_a_size_has_its_line() -> None:
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=("2 <= L['x'].size()[0] <= 30  # if x.size(0) <= 30:  # app/model.py:8 in f",))
    made = trace(
        compiled("0/0", tensor(10, 8), guards=guards, symbols=(("s77", "10", "L['x'].size()[0]"),)), compiled("0/1", tensor(40, 8))
    )
    cause = only(made)
    assert (cause.codes, cause.axis, cause.before) == (("SL204",), "x.size[0]", "2 <= x.size()[0] <= 30")
    assert cause.place is not None
    assert (str(cause.place), cause.place.code) == ("/srv/app/model.py:8", "if x.size(0) <= 30:")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("if x.size(0) <= 30:  # app/model.py:8 in f", ""),
        ("if k.is_integer():  # site-packages/lib/pad.py:4 in pad", " at lib/pad.py:4 (if k.is_integer())"),
        ("if n > 2:  # app/pad.py:4 in pad and if n <= 30:  # app/pad.py:9 in pad", " at app/pad.py:9 (if n <= 30)"),
    ],
)
def test_a_branch_elsewhere_than_in_the_code_itself_is_named(line: str, where: str) -> None:
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x'].size()[0] <= 30  # {line}",))
    symbols = (("s77", "10", "L['x'].size()[0]"),)
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=guards, symbols=symbols), compiled("0/1", tensor(40, 8))))
    assert cause.sentence.startswith(f"the code branches on a size{where}: the cache entry requires 2 <= x.size()[0] <= 30")


@pytest.mark.parametrize("note", [" (the guard itself is due to 0/1 specialization in the framework)", ""])
def test_which_end_of_a_range_a_refused_call_did_not_meet_is_left_open(note: str) -> None:
    bare = "L['x']"
    guard = f"2 <= {bare}.size()[0] <= 30  # if x.size(0) <= 30:  # app/model.py:8 in f{note}"
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(guard,))
    made = trace(compiled("0/0", tensor(10, 8), guards=guards, symbols=(("s77", "10", "L['x'].size()[0]"),)))
    made += make.refused("0/1", f"0/0: {guard.replace(bare, 'x')}")
    either = "a size is 0 or 1, on which PyTorch always specializes, or the code branches on it"
    assert only(made).sentence == f"{either if note else 'the code branches on a size'}: the cache entry requires 2 <= x.size()[0] <= 30"


@pytest.mark.parametrize(
    ("code", "is_refused", "codes"),
    [
        ("unfold(x, ks)", True, ("SL102", "SL201")),
        ("unfold(x, kernel_size=ks)", True, ("SL102", "SL201")),
        ("x[:, :ks[1]]", True, ("SL102",)),
        ("unfold(x, tasks)", True, ("SL102",)),
        ("unfold(x, ks)", False, ("SL102",)),  # whether it is pinned, too, the compilation shows
    ],
)
def test_an_item_of_a_list_is_pinned_as_another_one_was_that_the_line_takes_with_it(
    code: str, is_refused: bool, codes: tuple[str, ...]
) -> None:
    line = {"filename": 0, "line": 8, "name": "f", "loc": code}
    pinned = {"symbol": "s7", "sources": ["L['ks'][1]"], "value": "3", "user_stack": [line]}
    first, second = (guard_tree(tensor_match(), *(equals_match(f"L['ks'][{i}]", k) for i, k in enumerate(ks))) for ks in ((2, 3), (4, 3)))
    made = trace(compiled("0/0", tensor(10, 8), guards=first, specializations=(pinned,)))
    made += make.refused("0/1", "0/0: ks[0] == 2") if is_refused else compiled("0/1", tensor(10, 8), guards=second)
    cause = only(made)
    assert (cause.source.display_name, cause.codes) == ("ks[0]", codes)
    assert cause.sentence.endswith("needs the exact value of ks[1], which it takes together with this one") is (len(codes) > 1)


@pytest.mark.parametrize("dims", [2, 4])
def test_a_view_of_a_tensor_with_other_dims_has_no_other_layout(dims: int) -> None:
    """A compiled function returned it, which made it of another tensor than before; contiguous() leaves it as it is."""

    def call(number: int, *base: int, **fields: Any) -> bytes:
        own = make.record("describe_tensor", {"id": 7, "describer_id": number, "ndim": len(base), "size": base}, id=f"0/{number}")
        return own + compiled(f"0/{number}", tensor(10, 10, 8, is_view=True, base=7), **fields)

    tied = "L['x']._base.stride()[0] == L['x']._base.size()[1]"
    guards = guard_tree(tensor_match(size=(10, 10, 8), stride=(80, 8, 1)), shapes=(f"{tied}  # (unknown source)",))
    reasons = ("0/0: x._base.stride()[0] == x._base.size()[1]  # (unknown source)",)
    cause = only(trace(call(0, 100, 8, guards=guards), call(1, *((1, 10, 10, 8) if dims == 4 else (100, 8)), reasons=reasons)))
    assert cause.codes == ("SL105",)
    changed = "x was a view of a tensor with 2 dims when this was compiled, and is one of 4 now"
    assert (cause.sentence == changed, cause.own_remedy.startswith("clone() the view")) == (dims == 4, dims == 4)


@pytest.mark.parametrize(
    ("guard", "reason"),
    [
        ("L['x']._base.size()[1] == L['x'].size()[1]", "x._base.size()[1] == x.size()[1]"),
        ("L['x']._base.stride()[0] == L['x']._base.size()[1]*L['x']._base.size()[2]", "tuple index out of range"),
    ],
)
def test_no_guard_on_the_base_of_a_view_is_about_sizes_where_that_has_other_dims(guard: str, reason: str) -> None:
    """What is equal to a size of the view, or missing, is another dim: no mark on the view helps, and a copy of it does."""
    base = (8, 8, 10) if reason.startswith("tuple") else (10, 8)
    own = [
        make.record("describe_tensor", {"id": 7, "describer_id": number, "ndim": len(size), "size": size}, id=f"0/{number}")
        for number, size in enumerate((base, (4, 3, 2, 8) if len(base) == 2 else (8, 10)))
    ]
    tree = guard_tree(tensor_match(size=(None, None), stride=(None, 1)), shapes=(f"{guard}  # (unknown source)",))
    made = own[0] + compiled("0/0", tensor(10, 8, is_view=True, base=7), guards=tree)
    (cause,) = last_recompile(made + own[1] + compiled("0/1", tensor(24, 8, is_view=True, base=7), reasons=(f"0/0: {reason}",))).causes
    assert (cause.codes, cause.axis) == (("SL105",), "x._base")
    assert cause.sentence.startswith(f"x was a view of a tensor with {len(base)} dims when this was compiled")
    assert cause.own_remedy.startswith("clone() the view")


def test_two_sizes_that_were_equal_at_first_are_a_duck_shape() -> None:
    comment = "# duck sizing added this equality because these variables had the same size 10 (to avoid this specialization, set ...)"
    guards = guard_tree(
        tensor_match(size=(None, 8)),
        tensor_match("L['y']", (None, 8)),
        shapes=(f"L['y'].size()[0] == L['x'].size()[0]  {comment}", "2 <= L['x'].size()[0]  # a"),
    )
    symbols = (("s77", "10", "L['x'].size()[0]"),)
    made = trace(compiled("0/0", tensor(10, 8), tensor(10, 8, source="L['y']"), guards=guards, symbols=symbols))
    cause = only(made + compiled("0/1", tensor(12, 8), tensor(14, 8, source="L['y']")))
    assert cause.codes == ("SL103",)
    assert "y.size()[0] == x.size()[0]" in cause.sentence


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("if x.size(0) == 10:", "SL204", "branches on it (here 10)"),
        ("if x.shape[0] < 11 and x.shape[1] > 4:", "SL204", "branches on it (here 10)"),
        ("y = x if x.size() != (10, 8) else -x", "SL204", "branches on it (here 10)"),
        ("if math.log(x.shape[0]) > 2:", "SL201", "needs the exact value"),
        ("assert x.shape[0] == 10", "SL201", "needs the exact value"),
        ("while i < x.shape[0]:", "SL201", "needs the exact value"),
        ("if x.shape[0] in table:", "SL201", "needs the exact value"),
    ],
)
def test_a_size_that_is_only_compared_is_branched_on(line: str, code: str, words: str) -> None:
    user = {"user_stack": [{"filename": 0, "line": 8, "name": "f", "loc": line}]}
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10", **user}
    cause = only(trace(compiled("0/0", tensor(10, 8), specializations=(pinned,)), compiled("0/1", tensor(12, 8))))
    assert cause.codes == ("SL101", code)
    assert words in cause.sentence


def test_a_pinned_size_names_the_one_who_pinned_it() -> None:
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10"}
    user = {"user_stack": [{"filename": 0, "line": 8, "name": "f", "loc": "rows = list(range(x.size(0)))"}]}
    for stack, code in ((user, "SL201"), ({"user_stack": []}, "SL202")):
        made = trace(compiled("0/0", tensor(10, 8), specializations=({**pinned, **stack},)), compiled("0/1", tensor(12, 8)))
        assert only(made).codes == ("SL101", code)
        assert only(made).remedy_rule.code == code
        (axis,) = report(made).frames[0].axes
        assert ([rule.code for rule in axis.rules], list(axis.remedies)) == (["SL101", code], [Remedy(RULES[code], RULES[code].remedy)])


@pytest.mark.parametrize(
    ("code", "is_loop"),
    [("for t in range(seq_len):", True), ("y = [x[:, t] for t in range(n)]", True), ("for t in steps:", False), ("k = range_of(n)", False)],
)
def test_a_loop_in_a_library_is_unrolled_and_cannot_do_without_the_value(code: str, is_loop: bool) -> None:
    """Dynamo raises an error where the size is unbacked, or leaves the code to eager mode."""
    line = {"filename": "/opt/venv/lib/python3.11/site-packages/cells/rnn.py", "line": 163, "name": "forward", "loc": code}
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10", "user_stack": [line]}
    cause = only(trace(compiled("0/0", tensor(10, 8), specializations=(pinned,)), compiled("0/1", tensor(12, 8))))
    assert cause.codes == ("SL101", "SL202")
    assert ("is unrolled" in cause.own_remedy, "mark_unbacked" in cause.own_remedy) == (is_loop, False)
    assert cause.remedy_rule.code == "SL202"


@pytest.mark.parametrize(("is_pinned", "verdict"), [(False, Verdict.CODE), (True, Verdict.JUSTIFIED)])
def test_a_float_is_not_to_blame_where_a_library_needs_another_size_as_a_number(is_pinned: bool, verdict: Verdict) -> None:
    """The call needs a graph for its size, whether the float changes or not."""
    pinned = ({"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10", "user_stack": []},) if is_pinned else ()
    trees = [guard_tree(tensor_match(size=(n, 8)), equals_match("L['clip']", clip, "float")) for n, clip in ((10, 1.0), (12, 0.5))]
    made = trace(compiled("0/0", tensor(10, 8), specializations=pinned, guards=trees[0]))
    assert report(made + compiled("0/1", tensor(12, 8), guards=trees[1])).recompiles[0].verdict is verdict


def test_a_constant_of_a_module_with_parameters_of_other_shapes_is_that_of_another_module() -> None:
    made = trace()
    for number, width in enumerate((8, 16)):
        shape = guard_manager("L['self'].shape", f"EQUALS_MATCH: L['self'].shape == ({width},)", type="tuple")
        weights = [tensor(width, 4, source=f"L['self']._parameters['w{at}']", is_parameter=True) for at in range(3)]
        matches = [tensor_match(item.source, size=(width, 4)) for item in weights]
        made += compiled(f"0/{number}", *weights, guards=guard_tree(*matches, shape))
    constant = next(cause for cause in last_recompile(made).causes if "SL311" in cause.codes)
    assert constant.own_remedy.startswith("accept one graph for each module")


def test_a_parameter_bears_a_second_code() -> None:
    weight = "L['self']._modules['lin']._parameters['weight']"
    made = trace(
        compiled("0/0", tensor(4, 8, source=weight, is_parameter=True)), compiled("0/1", tensor(5, 8, source=weight, is_parameter=True))
    )
    cause = only(made)
    assert (cause.codes, cause.axis) == (("SL101", "SL106"), "self.lin.weight.size[0]")


def test_a_slice_of_another_width_is_about_sizes() -> None:
    made = trace(compiled("0/0", tensor(4, 8, stride=[100, 1])), compiled("0/1", tensor(4, 8, stride=[130, 1])))
    cause = only(made)
    assert (cause.codes, cause.axis, cause.size_related) == (("SL105",), "x.stride[0]", True)


def test_another_order_of_strides_is_not_about_sizes() -> None:
    made = trace(compiled("0/0", tensor(4, 8, stride=[8, 1])), compiled("0/1", tensor(4, 8, stride=[1, 4])))
    recompile = last_recompile(made)
    assert {cause.codes for cause in recompile.causes} == {("SL105",)}
    assert not recompile.size_related


def test_the_sizes_in_a_guard_on_strides_are_no_strides() -> None:
    """Those of a refused call are not recorded, but for a size that another entry is not for."""
    stride, size = "L['x'].stride()[0]", "L['y'].size()[1]"
    free = tensor_match(size=(None, None), stride=(None, None))
    guards = guard_tree(free, tensor_match("L['y']", (None, None)), shapes=[f"{stride} == {size}"])
    made = trace(compiled("0/0", tensor(5, 8), tensor(4, 5, source="L['y']")))
    made += compiled("0/1", tensor(4, 8, stride=[1, 4]), tensor(4, 4, source="L['y']"), guards=guards)
    reasons = ["0/1: x.stride()[0] == y.size()[1]", "0/0: tensor 'y' size mismatch at index 1. expected 5, actual 6"]
    [cause] = [
        cause
        for item in make.explain(made + make.refused("0/2", *reasons)).compared.popitem()[1]
        if item.entry.label == "0/1"
        for cause in item.causes
    ]
    assert (cause.axis, cause.before, cause.after) == ("x.stride", "(1, 4)", "")
    assert cause.sentence == "the memory layout of x changed (transposed, channels last, or a view)"


def test_another_order_of_strides_is_one_cause_with_both_layouts() -> None:
    cause = only(trace(compiled("0/0", tensor(4, 8, stride=[8, 1])), compiled("0/1", tensor(4, 8, stride=[1, 4]))))
    assert (cause.axis, cause.before, cause.after) == ("x.stride", "(8, 1)", "(1, 4)")


@pytest.mark.parametrize(
    ("guard", "shown"),
    [
        ("math.ceil(5.0*torch.sym_float(L['x'].size()[1]) / 4.0) == 20", "math.ceil(5.0*float(x.size()[1]) / 4.0) == 20"),
        ("torch._sym_sqrt(L['n']) < 4.0", "sqrt(n) < 4.0"),
        ("(-1)*L['n'] < 0", "-n < 0"),
        ("(3*L['n']) != 144", "n != 48"),
        ("(3*L['x'].size()[0]) <= 144", "x.size()[0] <= 48"),
        ("(3*L['n']) != 145", "(3*n) != 145"),
        (
            f"{' + '.join(f'{number}*(L[{name!r}].size()[2] // 4)' for number in range(6, 9) for name in 'xy')} <= 20480",
            "an expression of x.size()[2] and y.size()[2] <= 20480",
        ),
    ],
)
def test_a_guard_is_shown_without_what_pytorch_writes_for_symbols(guard: str, shown: str) -> None:
    assert shown_guard(guard) == shown


def test_a_tensor_that_was_guarded_by_its_id_has_no_other_type() -> None:
    """An optimizer's parameters, which two entries guard in two ways; the flag is what changed."""
    by_id = guard_manager("L['p']", "ID_MATCH: ___check_obj_id(L['p'], 1)", type="torch.nn.parameter.Parameter")
    seen = tensor_match("L['p']").replace("type=<class 'torch.Tensor'>", "type=<class 'torch.nn.parameter.Parameter'>", 1)
    trees = [guard_tree(equals_match("L['fused']", flag, "bool"), part) for flag, part in ((True, by_id), (False, seen))]
    assert only(two(*trees, "fused == True")).sentence == "fused changed from True to False"


def test_which_tensor_a_call_without_guards_had_is_no_change_of_an_entry_that_checks_the_object() -> None:
    step, own = "L['opt'].state['step']", "ID_MATCH: ___check_obj_id(L['opt'], 1), type=<class 'app.Opt'>"
    checks = guard_manager(step, f"ID_MATCH: ___check_obj_id({step}, 2), type=<class 'torch.Tensor'>", type="torch.Tensor")
    guards = guard_tree(guard_manager("L['opt']", own, type="app.Opt"), checks)
    reason = "0/0: ___check_obj_id(opt, 1), type=<class 'app.Opt'>"
    was_cut_off = compiled("0/1", tensor(1, source=step), reasons=[reason], guards="", has_guarded_code=None)
    recompile = last_recompile(trace(compiled("0/0", tensor(1, source=step), guards=guards), was_cut_off))
    assert [(cause.axis, cause.codes) for cause in recompile.causes] == [("id(opt)", ("SL308",))]


def test_a_slice_with_a_step_before_and_none_now_has_no_strides_that_stopped_following_from_sizes() -> None:
    stride = "L['x'].stride()[1]"
    own = guard_tree(tensor_match(size=(10, 8), stride=(None, None)), shapes=[f"2 <= {stride}"])
    made = trace(compiled("0/0", tensor(10, 8, stride=[24, 3]), guards=own, symbols=(("s1", "3", stride),)))
    cause = last_recompile(made + compiled("0/1", tensor(10, 8))).causes[0]
    assert cause.sentence == "x was a slice with a step in dim 1 (2 <= x.stride()[1]) and no longer is one (now x.stride()[1] = 1)"


def test_an_entry_for_strides_that_do_not_follow_from_sizes_does_not_serve_a_contiguous_tensor() -> None:
    """The last columns of a tensor, and then all of it; the code asks whether it is contiguous."""
    row, column = "L['x'].stride()[0]", "L['x'].size()[1]"
    symbols = (("s0", "9", row), ("s1", "8", column))
    free = guard_tree(tensor_match(size=(10, None), stride=(None, 1)), shapes=[f"{row} != {column}"])
    made = trace(compiled("0/0", tensor(10, 8, stride=[9, 1]), guards=free, symbols=symbols))
    made += compiled("0/1", tensor(10, 6, stride=[6, 1]), reasons=[f"0/0: {row} != {column}"])
    recompile = last_recompile(made)
    assert (recompile.verdict, recompile.blocking_rule) == (Verdict.CODE, "SL105")
    assert recompile.why_not_markable.endswith("the strides of x follow from its sizes now and did not when this was compiled")
    assert recompile.causes[0].sentence.startswith("the strides of x follow from its sizes, and did not before")


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ((0, 1), (8, 1), "x was expanded when this was compiled and is not now: strides (0, 1), now (8, 1)"),
        ((8, 1), (0, 1), "x is an expanded tensor now and was not before: strides (8, 1), now (0, 1)"),
    ],
)
def test_a_stride_of_0_is_that_of_an_expanded_tensor(first: tuple[int, int], second: tuple[int, int], what: str) -> None:
    cause = only(trace(*(compiled(f"0/{number}", tensor(4, 8, stride=stride)) for number, stride in enumerate((first, second)))))
    assert (cause.sentence, cause.own_remedy) == (what, "copy what expand() returns with contiguous(), or expand it in the compiled code")


def test_a_copy_of_what_expand_returns_has_not_the_strides_of_a_transposed_tensor() -> None:
    cause = only(trace(*(compiled(f"0/{number}", tensor(4, 8, stride=stride)) for number, stride in enumerate(((1, 0), (1, 4))))))
    assert cause.sentence == "x was expanded when this was compiled and is not now: strides (1, 0), now (1, 4)"
    assert cause.own_remedy == ""


@pytest.mark.parametrize(
    ("capture", "source", "inner", "verdict"),
    [
        ("!0/", "L['grads']", "L['grads'][0]", Verdict.JUSTIFIED),
        ("", "L['grads']", "L['grads'][0]", Verdict.CODE),
        ("!0/", "L['self'].grads", "L['self'].grads[0]", Verdict.CODE),
        ("!0/", "L['grads']", "L['x']", Verdict.CODE),
    ],
)
def test_a_hook_gets_as_many_gradients_as_the_node_has(capture: str, source: str, inner: str, verdict: Verdict) -> None:
    made = trace()
    for number in (0, 1):
        length = guard_manager(source, f"LENGTH_CHECK: len({source}) == {number + 1}", type="list")
        tree = guard_tree(length, tensor_match(inner))
        made += compiled(f"{capture}3/{number}", tensor(10, 8, source=inner), guards=tree)
    recompile = last_recompile(made)
    assert (recompile.codes, recompile.verdict) == (("SL313",), verdict)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("L['__resume_frame_values'][3]", "__resume_frame_values[3] (from line 7)"),
        ("L['__nested_frame_values'][0][2]", "__nested_frame_values[0][2] (from a function that the code calls)"),
    ],
)
def test_a_variable_of_resumed_code_that_has_a_number_alone_is_named_with_where_it_comes_from(source: str, named: str) -> None:
    """Where the code deletes a variable after the break, and where the break lies in a function that it calls, torch 2.13 passes lists."""
    trees = [guard_tree(equals_match(source, number)) for number in (2, 3)]
    made = (compiled(f"0/{number}", guards=tree, name="torch_dynamo_resume_in_f_at_7") for number, tree in enumerate(trees))
    assert only(trace(*made)).sentence == f"the int {named} changed from 2 to 3"


def test_in_a_backward_pass_autograd_itself_expands_gradients_and_makes_views() -> None:
    made = trace(*(compiled(f"!0/3/{number}", tensor(4, stride=[stride])) for number, stride in enumerate((0, 1))))
    assert "gradients that autograd expands" in only(made).own_remedy
    view = guard_tree(tensor_match(), shapes=(f"2 <= L['x']._base.size()[0]  {RETURN_LINE}",))
    reason = "!0/3/0: 'NoneType' object has no attribute 'size'"
    made = trace(compiled("!0/3/0", tensor(10, 8, is_view=True), guards=view), compiled("!0/3/1", tensor(10, 8), reasons=(reason,)))
    assert "gradients that autograd makes as views" in only(made).own_remedy


@pytest.mark.parametrize(
    ("strides", "words"),
    [
        (((64, 8, 1), (240, 20, 1)), "x is now a slice of a larger tensor: strides (64, 8, 1), now (240, 20, 1)"),
        (((64, 1, 8), (240, 1, 20)), "x is now a slice of a larger tensor"),
        (((64, 8, 1), (64, 1, 8)), "the memory layout of x changed"),
    ],
    ids=["sliced", "transposed and sliced", "transposed"],
)
def test_a_part_of_a_larger_tensor_has_other_strides(strides: tuple[tuple[int, ...], ...], words: str) -> None:
    made = trace(*(compiled(f"0/{number}", tensor(4, 8, 8, stride=item)) for number, item in enumerate(strides)))
    cause = only(made)
    assert cause.sentence.startswith(words)
    assert cause.own_remedy.startswith("copy the slice with contiguous()") is ("slice" in words)


def test_a_mark_on_a_slice_of_one_column_does_not_help() -> None:
    made = trace(*(compiled(f"0/{number}", tensor(4, 1, stride=[stride, 1])) for number, stride in enumerate((1, 2))))
    assert (
        only(made).own_remedy
        == "copy the slice or view before the call, with clone(memory_format=torch.contiguous_format), or use one memory format"
    )


def test_a_stride_that_was_tied_to_a_size_does_not_become_free_by_marking() -> None:
    """Rows one after the other, then every second row: a marked graph would still expect the product of the inner sizes."""
    made = trace(compiled("0/0", tensor(6, 4, stride=[4, 1])), compiled("0/1", tensor(6, 4, stride=[8, 1])))
    assert only(made).codes == ("SL105",)
    assert not last_recompile(made).size_related


def test_a_size_that_a_static_partner_pins_is_marked_with_it() -> None:
    first, second = (tensor(rows, 8, source="L['y']") for rows in (10, 12))
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "12"}
    made = trace(compiled("0/0", tensor(10, 8), first))
    made += compiled("0/1", tensor(12, 8), second, symbols=(("s77", "12", "L['x'].size()[0]"),), specializations=(pinned,))
    recompile = last_recompile(made)
    assert recompile.codes == ("SL101",)
    assert "the code ties it to y.size[0], which is static: mark that too" in recompile.causes[0].sentence
    assert recompile.verdict is Verdict.MARKING


def test_a_loop_needs_a_number_whatever_else_has_it() -> None:
    """As that over the channels, with a scale for each."""
    first, second = (tensor(rows, source="L['scale']") for rows in (10, 12))
    line = {"filename": 0, "line": 8, "name": "f", "loc": "for i in range(x.size(0)):"}
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "12", "user_stack": [line]}
    made = trace(compiled("0/0", tensor(10, 8), first))
    made += compiled("0/1", tensor(12, 8), second, symbols=(("s77", "12", "L['x'].size()[0]"),), specializations=(pinned,))
    (of_x,) = [cause for cause in last_recompile(made).causes if cause.source == "L['x']"]
    assert (of_x.codes, of_x.sentence.endswith("needs the exact value")) == (("SL101", "SL201"), True)
    assert last_recompile(made).verdict is not Verdict.MARKING


@pytest.mark.parametrize(("size", "code"), [(33, "SL104"), (34, "SL202")])
def test_the_last_part_of_a_size_may_be_one(size: int, code: str) -> None:
    """``x.split(16)`` of 33 rows: PyTorch asks whether the last part has one row, below a layer that gets it."""
    lines = [
        {"filename": 0, "line": 8, "name": "f", "loc": "parts = [self.layer(part) for part in x.split(16)]"},
        {"filename": "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", "line": 134, "name": "forward", "loc": "F.linear(x)"},
    ]
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": str(size), "user_stack": lines}
    other = {"symbol": "s78", "sources": ["L['y'].size()[0]"], "value": str(size), "user_stack": lines, "reason": "find"}
    symbols = (("s77", str(size), "L['x'].size()[0]"), ("s78", str(size), "L['y'].size()[0]"))
    first = compiled("0/0", tensor(size, 8), tensor(size, 8, source="L['y']"), symbols=symbols, specializations=(pinned, other))
    asked = record("guard_added_fast", {"expr": "Eq(s77 - 32, 1)", "user_stack": lines, "stack": []}, id="0/0")
    end = first.rindex(b"\nV") + 1
    made = trace(first[:end] + asked + first[end:], compiled("0/1", tensor(25, 8), tensor(25, 8, source="L['y']")))
    recompile = last_recompile(made)
    assert {cause.codes for cause in recompile.causes} == {("SL101", code)}
    assert recompile.verdict is Verdict.JUSTIFIED
    if code == "SL104":
        assert all("is computed from it at model.py:8 (parts = " in cause.sentence for cause in recompile.causes)
        assert all("is 1: x.size()[0] - 32; PyTorch always specializes" in cause.sentence for cause in recompile.causes)
        assert recompile.causes[0].own_remedy.startswith("pad, or make parts of another size")


@pytest.mark.parametrize(("other", "expected"), [(1, ["SL101", "SL102"]), (4, ["SL101"])], ids=["by itself", "always equal"])
def test_an_int_that_had_the_number_of_a_size_by_chance_changed_by_itself(other: int, expected: list[str]) -> None:
    """As another entry shows, in which the same line pinned it to a number that the size did not have."""
    line = {"filename": 0, "line": 8, "name": "f", "loc": "for layer in self.layers[:k]:"}

    def call(number: int, rows: int, k: int, size: str) -> bytes:
        pinned = {"symbol": "s1", "sources": ["L['k']"], "value": str(k), "user_stack": [line]}
        guards = guard_tree(tensor_match(size=(rows if size == "static" else None, 8)), shapes=(f"L['k'] == {k}",))
        return compiled(f"0/{number}", tensor(rows, 8), guards=guards, symbols=(("s1", str(k), "L['k']"),), specializations=(pinned,))

    made = trace(call(0, 4, other, "static")) + call(1, 4, 4, "static") + call(2, 2, 2, "dynamic")
    found = [cause.codes[0] for cause in last_recompile(made).causes]
    assert found == expected


def test_a_size_is_tied_to_a_tensor_that_the_entry_was_not_called_with() -> None:
    """Weights that were None: marking alone saves nothing, and no line needs the exact value."""
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "12"}
    weights = guard_tree(tensor_match(), guard_manager("L['w']", "NONE_MATCH: L['w'] is None"))
    made = trace(compiled("0/0", tensor(10, 8), guards=weights))
    made += compiled(
        "0/1", tensor(12, 8), tensor(12, source="L['w']"), symbols=(("s77", "12", "L['x'].size()[0]"),), specializations=(pinned,)
    )
    recompile = last_recompile(made)
    (of_x,) = [cause for cause in recompile.causes if cause.source == "L['x']"]
    assert (of_x.codes, of_x.sentence) == (
        ("SL101",),
        "dim 0 of x changed from 10 to 12; the code ties it to w.size[0], which only this call has",
    )
    assert recompile.verdict is not Verdict.MARKING


@pytest.mark.parametrize("more", [1, 2])
def test_a_size_that_a_later_graph_takes_from_another_one_is_tied_to_it(more: int) -> None:
    """Where one of the two was static at first, PyTorch pins the other: ``scores[:, :-1] == draft``."""
    pinned = {"symbol": "s3", "sources": ["L['x'].size()[0]"], "value": "5"}
    trees = [
        guard_tree(tensor_match(size=(5, 8)), tensor_match("L['y']", size=(5 - more, 8))),
        guard_tree(
            tensor_match(size=(None, 8)), tensor_match("L['y']", size=(None, 8)), shapes=[f"L['x'].size()[0] == {more} + L['y'].size()[0]"]
        ),
    ]
    symbols = ("s3", "5", "L['x'].size()[0]"), ("s12", str(7 - more), "L['y'].size()[0]")
    made = trace(
        compiled(
            "0/0", tensor(5, 8), tensor(5 - more, 8, source="L['y']"), guards=trees[0], symbols=symbols[:1], specializations=(pinned,)
        ),
        compiled("0/1", tensor(7, 8), tensor(7 - more, 8, source="L['y']"), guards=trees[1], symbols=symbols),
    )
    recompile = last_recompile(made)
    (of_x,) = [cause for cause in recompile.causes if cause.source == "L['x']"]
    assert of_x.sentence.endswith("; the code ties it to y.size[0], which is static: mark that too")
    assert recompile.verdict is Verdict.MARKING
    advice = make.report(made).advice
    assert advice
    assert advice.env == "L['y']:0"  # x was symbolic without a mark


@pytest.mark.parametrize(("guard", "verdict"), [("L['k'] != 1", Verdict.JUSTIFIED), ("1 <= L['k']", Verdict.MARKING)])
def test_a_guard_over_what_varies_counts_where_something_else_that_varies_is_static(guard: str, verdict: Verdict) -> None:
    made = trace()
    for number, (k, rows, width) in enumerate(((1, 10, 8), (1, 11, 8), (5, 12, 16))):
        x, y = tensor(rows, 4), tensor(width, source="L['y']")
        parts = tensor_match(size=(None if number else rows, 4)), tensor_match("L['y']", size=(width,))
        tree = guard_tree(*parts, shapes=[guard]) if number == 2 else guard_tree(*parts, equals_match("L['k']", k))
        symbols = [("s7", str(rows), "L['x'].size()[0]"), *([("s85", "5", "L['k']")] if number == 2 else [])]
        made += compiled(f"0/{number}", x, y, guards=tree, symbols=symbols if number else ())
    assert last_recompile(made).verdict is verdict


@pytest.mark.parametrize(("guard", "verdict"), [("2 <= L['k']", Verdict.JUSTIFIED), ("1 <= L['k']", Verdict.MARKING)])
def test_an_entry_for_calls_without_an_int_is_not_one_in_which_it_is_dynamic(guard: str, verdict: Verdict) -> None:
    """``f(x, **kwargs)``: the entry for calls that leave ``k`` out accepts any value of it, and shows nothing about one graph for all."""
    made = trace()
    for number, (k, rows) in enumerate(((None, 10), (None, 11), (1, 12), (5, 12))):
        tree = guard_tree(
            tensor_match(size=(None if number else rows, 8)),
            equals_match("L['mode']", k is None, "bool"),
            *([equals_match("L['k']", 1)] if k == 1 else []),
            shapes=[guard] if number == 3 else (),
        )
        symbols = [("s7", str(rows), "L['x'].size()[0]"), *([("s85", "5", "L['k']")] if number == 3 else [])]
        made += compiled(f"0/{number}", tensor(rows, 8), guards=tree, symbols=symbols if number else ())
    assert last_recompile(made).verdict is verdict


DOCS, PART = "L['docs']", "L['q']"


@pytest.mark.parametrize("is_view", [True, False])
def test_an_input_that_another_one_was_a_view_of_has_its_marked_sizes(is_view: bool) -> None:
    """``score(docs[:2], docs)``: once docs is marked, its sizes are required of the base of ``q``, too."""

    def called(number: int, rows: int, **fields: Any) -> bytes:
        return compiled(f"0/{number}", tensor(rows, 8, source=DOCS), tensor(rows // 2, 8, source=PART, **fields))

    made = trace(called(0, 10, is_view=True, base=0), called(1, 12, **({"is_view": True, "base": 0} if is_view else {})))
    recompile = last_recompile(made)
    assert recompile.verdict is (Verdict.MARKING if is_view else Verdict.CODE)
    assert advise(make.explain(made)).env == ("L['docs']:0,L['q']:0" if is_view else "")
    assert ("q was a view of docs" in recompile.why_not_markable) is not is_view


def test_a_view_of_another_tensor_is_no_chance_of_sizes() -> None:
    whole = tensor(10, 8, source=DOCS)
    required = "L['q']._base.size()[0] == L['docs'].size()[0]"
    guards = guard_tree(tensor_match(DOCS, (None, 8)), tensor_match(PART, (None, 8)), shapes=(f"{required}  # (unknown source)",))
    for fields, codes in (({"is_view": True, "base": 0}, ("SL317",)), ({}, ("SL103",))):
        first = compiled("0/0", whole, tensor(4, 8, source=PART, **fields), guards=guards, symbols=(("s7", "10", f"{DOCS}.size()[0]"),))
        reason = "0/0: q._base.size()[0] == docs.size()[0]  # (unknown source)"
        (cause, *_) = last_recompile(
            trace(first) + compiled("0/1", tensor(7, 8, source=DOCS), tensor(5, 8, source=PART), reasons=(reason,))
        ).causes
        assert cause.codes == codes
        assert (cause.sentence == "q was a view of docs, and no longer is") is (codes == ("SL317",))


def pinned_size(number: int, size: int, *others: bytes, **more: Any) -> bytes:
    """A compile in which line 7 pinned dim 0 of x."""
    line = [{"line": 7, "name": "f", "filename": "/srv/app/model.py", "loc": "y = table + x"}]
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": str(size), "user_stack": line}
    symbols = (("s77", str(size), "L['x'].size()[0]"),)
    return compiled(f"0/{number}", tensor(size, 8), *others, symbols=symbols, specializations=(pinned,), **more)


@pytest.mark.parametrize(
    ("other", "words"),
    [((), "ties it to y.size[0]"), (((9, 3),), "needs the exact value"), (((9, 3, 20),), "ties it to y.size[0]")],
    ids=["without it", "another length", "another rank"],
)
def test_a_tie_is_not_contradicted_by_a_call_without_that_tensor(other: tuple[tuple[int, ...], ...], words: str) -> None:
    """One function for different keys of a dict, or for parameters of several ranks."""

    def rows(length: int) -> make.Tensor:
        return tensor(length, 3, source="L['y']")

    explained = explain(
        trace(compiled("0/0", tensor(8, 8), rows(8)))
        + pinned_size(1, 20, *(tensor(*sizes, source="L['y']") for sizes in other))
        + pinned_size(2, 16, rows(16))
    )
    compared = explained.compared[explained.recompiles[-1].compile]
    (difference,) = [item for item in compared if item.entry.label == "0/0"]
    assert words in difference.causes[0].sentence


def test_a_tie_that_another_compile_of_the_line_contradicts_is_chance() -> None:
    def square(side: int) -> bytes:
        return tensor(side, side, source="L['y']")

    made = trace(compiled("0/0", tensor(8, 8), square(4))) + pinned_size(1, 16, square(8))
    assert "ties it to y.size[0] and y.size[1]" in last_recompile(made).causes[0].sentence
    against = last_recompile(made + pinned_size(2, 20, square(8)) + pinned_size(3, 16, square(8)))
    assert "needs the exact value" in against.causes[0].sentence


def sentence_about_x(sizes: tuple[int, ...], ints: list[tuple[int, ...]]) -> str:
    """What the last of several compiles has to do with dim 0 of x, with as many ints on the module."""
    made = trace()
    for number, (size, values) in enumerate(zip(sizes, ints, strict=True)):
        sides = (equals_match(f"L['self'].{name}", value) for name, value in zip("hw", values, strict=False))
        guards = guard_tree(tensor_match(size=(size, 8)), *sides)
        made += pinned_size(number, size, guards=guards) if number else compiled("0/0", tensor(size, 8), guards=guards)
    return next(cause.sentence for cause in last_recompile(made).causes if cause.source == "L['x']")


@pytest.mark.parametrize(("sizes", "sides"), [((4, 6, 10, 8), (8, 12, 20, 16)), ((8, 12, 20, 16), (4, 6, 10, 8))])
def test_a_size_is_tied_to_an_int_that_it_is_always_a_part_or_a_multiple_of(sizes: tuple[int, ...], sides: tuple[int, ...]) -> None:
    ints = [(side,) for side in sides]
    assert "needs the exact value" in sentence_about_x(sizes[:2], ints[:2])
    assert "the code ties it to self.h, which is static: mark that too" in sentence_about_x(sizes, ints)


def test_a_size_is_tied_to_the_sides_of_an_image_that_windows_cover() -> None:
    images = [(16, 16), (8, 12), (18, 22), (9, 11)]
    windows = tuple(-(-height // 4) * -(-width // 4) for height, width in images)
    assert "the code ties it to self.h and self.w, which are static: mark these too" in sentence_about_x(windows, images)


def test_a_guard_on_an_item_belongs_to_the_length_of_its_list() -> None:
    lens = guard_manager("L['n']", "LENGTH_CHECK: len(L['n']) == 2", type="list")
    sums = guard_tree(tensor_match(), lens, shapes=(f"(L['n'][0] + L['n'][1]) == L['x'].size()[0]  {RETURN_LINE}",))
    more = guard_tree(tensor_match(), lens.replace("== 2", "== 3"), equals_match("L['n'][0]", 3), equals_match("L['n'][1]", 3))
    made = trace(compiled("0/0", tensor(10, 8), guards=sums), compiled("0/1", tensor(10, 8), guards=more))
    assert last_recompile(made).codes == ("SL313",)


def test_another_type_is_seen_where_only_the_entry_checks_it() -> None:
    """A function in place of a partial object: its tree looks at the code, and names the type on the way."""
    was = guard_manager("L['fn']", "TYPE_MATCH: ___check_type_id(L['fn'], 94416112235136)", type="functools.partial")
    now = guard_manager("L['fn']", type="function")
    made = trace(
        compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), was)),
        compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match(), now)),
    )
    cause = only(made)
    assert (cause.codes, cause.before, cause.after) == (("SL310",), "functools.partial", "function")


def test_a_guard_that_something_is_not_none() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8), reasons=(f"0/0: p.grad is not None  {RETURN_LINE}",)))
    assert only(made).codes == ("SL322",)
    assert only(made).sentence == "p.grad was not None and is now None"


@pytest.mark.parametrize(
    ("source", "guard", "remedy"),
    [
        (
            "L['self'].processor",
            "ID_MATCH: ___check_obj_id(L['self'].processor, {})",
            "create the object once and reuse it; where each instance",
        ),
        ("L['processor']", "ID_MATCH: ___check_obj_id(L['processor'], {})", "create the object once, outside the call"),
        (
            "L['self']",
            "ID_MATCH: ___check_obj_id(L['self'], {})",
            "create the object once and reuse it; several objects need one graph each",
        ),
        ("L['self']", "TYPE_MATCH: ___check_type_id(L['self'], {})", "classes that share this method need one graph each"),
        (
            "L['self']._modules['mlp']",
            "TYPE_MATCH: ___check_type_id(L['self']._modules['mlp'], {})",
            "layers that hold modules of different",
        ),
        ("L['model']", "TYPE_MATCH: ___check_type_id(L['model'], {})", "always pass the same type"),
    ],
)
def test_what_instances_and_classes_do_not_share_needs_a_graph_for_each(source: str, guard: str, remedy: str) -> None:
    """Methods that are compiled one by one, as the blocks of a model are, have one cache for all instances and classes."""
    first, second = (guard_tree(tensor_match(), guard_manager(source, guard.format(140057847825888 + 4096 * number))) for number in (0, 1))
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=first), compiled("0/1", tensor(10, 8), guards=second)))
    assert (cause.own_remedy or cause.remedy_rule.remedy).startswith(remedy)
    assert (cause.verdict is Verdict.JUSTIFIED) is (source.startswith("L['self']") and guard.startswith("TYPE"))


@pytest.mark.parametrize(
    ("file", "line", "is_method"),
    [
        ("/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", "self = cast(Optimizer, self)", True),
        ("/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", "first = args[0]", False),
        (MODEL, "self = args[0]", False),
    ],
)
def test_the_object_whose_method_a_wrapper_of_a_library_calls_is_its_self(file: str, line: str, is_method: bool) -> None:
    made = trace()
    for number, name in enumerate(("torch.optim.adam.Adam", "torch.optim.adamw.AdamW")):
        check = f"TYPE_MATCH: ___check_type_id(L['args'][0], {7001 + number})  # {line}  # {file}:512 in wrapper"
        guards = guard_tree(tensor_match(), guard_manager("L['args'][0]", check, type=name))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, name="wrapper", file=file)
    cause = only(made)
    assert cause.sentence == "args[0] changed from Adam to AdamW"
    assert (cause.verdict is Verdict.JUSTIFIED, cause.own_remedy.startswith("classes that share this method")) == (is_method, is_method)


@pytest.mark.parametrize(
    ("names", "sentence", "verdict"),
    [
        (("update", "scale"), "fn changed from the function update to scale", Verdict.JUSTIFIED),
        (("update", "update"), "fn is a different function: its code object changed", Verdict.CODE),
    ],
)
def test_functions_whose_names_differ_are_not_made_anew(names: tuple[str, str], sentence: str, verdict: Verdict) -> None:
    """As those that a decorator wraps, where the code reads their names; that another one has another name is no cause by itself."""
    trees = [
        guard_tree(tensor_match(), identity("L['fn'].__code__", 7001 + number, "code"), equals_match("L['fn'].__name__", name, "str"))
        for number, name in enumerate(names)
    ]
    cause = only(two(*trees))
    assert (cause.codes, cause.sentence, cause.verdict) == (("SL309",), sentence, verdict)


def test_the_name_of_another_class_follows_from_it() -> None:
    trees = [
        guard_tree(
            guard_manager("L['m']", f"TYPE_MATCH: ___check_type_id(L['m'], {7001 + number})", type=f"app.{name}"),
            equals_match("L['m'].__class__.__name__", name, "str"),
        )
        for number, name in enumerate(("One", "Other"))
    ]
    assert only(two(*trees)).codes == ("SL310",)


def test_an_enum_member_is_a_constant() -> None:
    member = "ID_MATCH: ___check_obj_id(L['mode'], 140057847825888), type=<enum 'Mode'>"
    was = guard_manager("L['mode']", member).replace(", tag_safe", ", type=<enum 'Mode'>, tag_safe")
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), was)))
    made += compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match(), was.replace("140057847825888", "140057847829999")))
    assert only(made).codes == ("SL311",)
    assert only(made).sentence == "mode is a different member of the enum Mode"


@pytest.mark.parametrize(("short", "whole"), [("nn/modules/linear.py", "torch/nn/modules/linear.py"), ("layers/linear.py",) * 2])
def test_the_line_is_the_users_where_a_library_stands_in_the_guard(short: str, whole: str) -> None:
    """The guard on an input names the line of a library, by a shortened path; the symbol that its size became knows who called that."""
    stack = [
        {"line": 8, "name": "forward", "filename": 0, "loc": "return self.lin(x)"},
        {"line": 134, "name": "forward", "filename": 1, "loc": "return F.linear(input, self.weight, self.bias)"},
    ]
    made = trace(
        compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match()).replace("app/model.py:6 in f", f"{short}:134 in forward"))
    )
    made += record("str", [f"/opt/python3.11/lib/python3.11/site-packages/{whole}", 1])
    made += recompile_reasons(id="0/1") + record("dynamo_start", {"stack": []}, id="0/1")
    symbol = {"symbol": "s77", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": stack, "stack": []}
    made += record("create_symbol", symbol, id="0/1")
    made += compiled(
        "0/1", tensor(12, 8), reasons=None, is_started=False, guards=guard_tree(tensor_match(size=(None, 8))), graph=graph_text()
    )
    (cause,) = last_recompile(made).causes
    assert (str(cause.place), cause.place and cause.place.code) == ("/srv/app/model.py:8", "return self.lin(x)")


def test_a_line_of_an_inlined_function_that_does_not_name_the_value_gives_way_to_the_call_that_does() -> None:
    """``if exists(x):``, where the helper has ``return val is not None``; the symbol of the size has the stack of both."""
    helper = code_comment(11, "return val is not None", "exists")
    stack = [
        {"line": 7, "name": "f", "filename": 0, "loc": "if exists(x):"},
        {"line": 11, "name": "exists", "filename": 0, "loc": "return val is not None"},
    ]
    for frames, place in ((stack, "/srv/app/model.py:7"), (stack[1:], "/srv/app/model.py:11")):
        made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match()).replace(RETURN_LINE, helper)))
        made += recompile_reasons(id="0/1") + record("dynamo_start", {"stack": []}, id="0/1")
        symbol = {"symbol": "s77", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": frames, "stack": []}
        made += record("create_symbol", symbol, id="0/1")
        dynamic = guard_tree(tensor_match(size=(None, 8)))
        made += compiled("0/1", tensor(12, 8), reasons=None, is_started=False, guards=dynamic, graph=graph_text())
        (cause,) = last_recompile(made).causes
        assert str(cause.place) == place


def test_another_rank_is_one_cause_and_its_sizes_follow() -> None:
    recompile = last_recompile(resized((10, 8), (10, 8, 3)))
    assert recompile.codes == ("SL107",)
    assert not recompile.size_related
    assert [cause.axis for cause in recompile.causes] == ["x.rank"]


def test_an_int_argument() -> None:
    cause = only(
        two(
            guard_tree(tensor_match(), equals_match("L['k']", 3)),
            guard_tree(tensor_match(), equals_match("L['k']", 4)),
            f"k == 3  {RETURN_LINE}",
        )
    )
    assert (cause.codes, cause.axis, cause.before, cause.after) == (("SL102",), "k", "3", "4")
    assert cause.size_related
    assert str(cause.place) == "/srv/app/model.py:6"


def test_the_new_value_of_an_int_is_taken_from_its_symbol() -> None:
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['k']", 3))))
    made += compiled("0/1", tensor(10, 8), guards=guard_tree(tensor_match()), symbols=(("s5", "7", "L['k']"),), reasons=("0/0: k == 3",))
    assert (only(made).before, only(made).after) == ("3", "7")


def module(*parts: str) -> tuple[str, ...]:
    return (tensor_match(), equals_match("L['self'].training", True, "bool"), guard_manager("L['self']._modules", type="dict"), *parts)


def test_a_counter_on_a_module() -> None:
    made = two(
        guard_tree(*module(equals_match("L['self'].step", 2))), guard_tree(*module(equals_match("L['self'].step", 3))), "self.step == 2"
    )
    cause = only(made)
    assert (cause.codes, cause.axis, cause.size_related) == (("SL315",), "self.step", True)


def test_a_learning_rate_is_a_float_and_no_size() -> None:
    cause = only(
        two(
            guard_tree(tensor_match(), equals_match("L['lr']", 0.1, "float")),
            guard_tree(tensor_match(), equals_match("L['lr']", 0.05, "float")),
            "lr == 0.1",
        )
    )
    assert (cause.codes, cause.before, cause.after, cause.size_related) == (("SL312",), "0.1", "0.05", False)


def test_a_float_that_an_operator_takes_as_a_number_is_pinned() -> None:
    where = {"user_stack": [{"filename": 0, "line": 8, "name": "f", "loc": "return F.dropout(x, p)"}]}
    pinned = {"symbol": "zf1", "sources": ["L['p']"], "value": "0.2", **where}
    first, second = (guard_tree(tensor_match(), equals_match("L['p']", value, "float")) for value in (0.1, 0.2))
    made = trace(compiled("0/0", tensor(10, 8), guards=first), compiled("0/1", tensor(10, 8), guards=second, specializations=(pinned,)))
    cause = only(made)
    assert cause.sentence == "the float p changed from 0.1 to 0.2; model.py:8 (return F.dropout(x, p)) needs the exact value"
    assert (cause.codes, cause.verdict) == (("SL312",), Verdict.JUSTIFIED)
    assert report(made).recompiles[0].verdict is Verdict.JUSTIFIED


@pytest.mark.parametrize("is_rounded", [True, False])
def test_a_float_that_a_library_needs_the_exact_value_of_has_no_line_to_rewrite(is_rounded: bool) -> None:
    library = "/opt/venv/lib/python3.11/site-packages/lib/layers.py"
    frames = [{"filename": 0, "line": 8, "name": "f", "loc": "return layer(x)"}, {"filename": library, "line": 9, "name": "g", "loc": ""}]
    pinned = () if is_rounded else ({"symbol": "zf1", "sources": ["L['p']"], "value": "0.2", "user_stack": frames},)
    line = code_comment(6, "k = int(p * 8)").replace("app/model.py", "lib/layers.py") if is_rounded else RETURN_LINE
    made = trace()
    for number, value in enumerate((0.1, 0.2)):
        guards = guard_tree(tensor_match(), equals_match("L['p']", value, "float", line))
        file = library if is_rounded else make.MODEL
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, file=file, specializations=pinned if number else ())
    cause = only(made)
    assert cause.verdict is Verdict.JUSTIFIED
    assert cause.own_remedy == "a library needs the exact float: accept one graph per value"


@pytest.mark.parametrize("guard", ["LAMBDA_GUARD: __math_isnan(L['s'])", "FLOAT_IS_NAN: (type(L['s']) is float and __math_isnan(L['s']))"])
@pytest.mark.parametrize("is_nan_first", [False, True])
def test_a_float_that_is_not_a_number(guard: str, is_nan_first: bool) -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['s']", item)) for item in ("EQUALS_MATCH: L['s'] == 3.5", guard)]
    reason = guard.partition(": ")[2] if is_nan_first else "L['s'] == 3.5"
    cause = only(two(*(reversed(trees) if is_nan_first else trees), reason))
    assert cause.codes == ("SL312",)
    if not is_nan_first:
        assert cause.sentence == "the float s changed from 3.5 to nan"


@pytest.mark.parametrize(
    ("before", "after", "codes"),
    [
        ("device(type='cpu')", "'cpu'", ("SL310",)),
        ("'cpu'", "device(type='cpu')", ("SL310",)),
        ("device(type='cpu')", "device(type='cuda', index=0)", ("SL311",)),
        ("frozenset({1, 2})", "'ab'", ("SL310",)),
        ("(1, 2)", "(1, 3)", ("SL311",)),
    ],
)
def test_a_constant_of_another_type(before: str, after: str, codes: tuple[str, ...]) -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['dev']", f"EQUALS_MATCH: L['dev'] == {item}")) for item in (before, after)]
    assert only(two(*trees, f"dev == {before}")).codes == codes


def test_inputs_that_overlap_are_named() -> None:
    reason = "check_overlapping(overlapping=[L['a'], L['b'][0]], non_overlapping=[L['c'], L['d']])"
    sentence = "a and b[0] overlapped in memory when this was compiled, and c and d did not; that has changed"
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), reason))
    assert (cause.sentence, cause.own_remedy.partition(",")[0]) == (sentence, "pass views that overlap in the same way in every call")


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("L['self'].param_groups[0]['lr']", "pass the optimizer a tensor as its learning rate, lr=torch.tensor(value)"),
        (
            "L['self'].param_groups[0]['betas'][0]",
            "pass cycle_momentum=False to the scheduler that sets it (OneCycleLR, CyclicLR), or accept one graph per value",
        ),
        ("L['self'].param_groups[0]['eps']", ""),
    ],
)
def test_a_float_of_an_optimizer_is_set_by_a_scheduler(source: str, remedy: str) -> None:
    first, second = (guard_tree(tensor_match(), equals_match(source, value, "float")) for value in (0.1, 0.2))
    assert only(two(first, second)).own_remedy == remedy


@pytest.mark.parametrize(("foreach", "has_capturable"), [(True, True), (True, False), (False, True), (None, True)])
def test_a_tensor_as_rate_needs_a_capturable_optimizer_with_foreach(foreach: bool | None, has_capturable: bool) -> None:
    """Without that, torch 2.13 raises an error. SGD and Adagrad have no such argument, and need none."""
    group = "L['self'].param_groups[0]"
    flags = {"foreach": foreach} | ({"capturable": False} if has_capturable else {})
    of_group = [equals_match(f"{group}['{name}']", value, "bool") for name, value in flags.items()]
    first, second = (guard_tree(tensor_match(), equals_match(f"{group}['lr']", value, "float"), *of_group) for value in (0.1, 0.2))
    is_needed = foreach is True and has_capturable
    assert only(two(first, second)).own_remedy.endswith("capturable=True, which foreach=True needs for that") is is_needed


@pytest.mark.parametrize(
    ("file", "source", "is_of_optimizer"),
    [
        ("/lib/python3.11/site-packages/torch/optim/_adafactor.py", "L['lr']", True),
        ("/lib/python3.11/site-packages/torch/optim/optimizer.py", "L['kwargs']['lr']", True),
        ("/lib/python3.11/site-packages/torch/optim/_adafactor.py", "L['d']", False),
        ("/srv/app/training.py", "L['lr']", False),
    ],
)
def test_the_rate_that_functions_of_an_optimizer_get_is_set_where_that_is_made(file: str, source: str, is_of_optimizer: bool) -> None:
    trees = [guard_tree(tensor_match(), equals_match(source, value, "float")) for value in (0.1, 0.2)]
    made = trace(*(compiled(f"0/{number}", tensor(10, 8), guards=tree, file=file) for number, tree in enumerate(trees)))
    assert only(made).own_remedy.startswith("pass the optimizer a tensor as its learning rate") is is_of_optimizer


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("dict(type(L['b']).__mro__[2].__dict__)['scale']", Verdict.MARKING),
        ("type(L['b']).__mro__[2].scale", Verdict.JUSTIFIED),
    ],
    ids=["an attribute of a base class", "super().scale"],
)
def test_an_int_of_a_base_class_can_be_marked_and_one_of_super_cannot(source: str, verdict: Verdict) -> None:
    first, second = (guard_tree(tensor_match(), equals_match(source, value)) for value in (1, 42))
    assert report(two(first, second)).recompiles[0].verdict is verdict


def test_the_entry_for_any_other_float_is_nearer_to_nan_than_one_for_a_single_value() -> None:
    values = [guard_tree(tensor_match(), equals_match("L['s']", value, "float")) for value in (2.0, 5.0)]
    made = trace(compiled("0/0", tensor(10, 8), guards=values[0]))
    any_value = guard_tree(tensor_match(), shapes=("not math.isnan(L['s'])  # (unknown)",))
    made += compiled("0/1", tensor(10, 8), guards=any_value, symbols=(("zf1", "3.0", "L['s']"),), reasons=("0/0: s == 2.0",))
    made += compiled("0/2", tensor(10, 8), guards=values[1], reasons=("0/1: not math.isnan(s)", "0/0: s == 2.0"))
    nan = guard_tree(tensor_match(), guard_manager("L['s']", "FLOAT_IS_NAN: (type(L['s']) is float and __math_isnan(L['s']))"))
    made += compiled("0/3", tensor(10, 8), guards=nan, reasons=("0/2: s == 5.0", "0/1: not math.isnan(s)", "0/0: s == 2.0"))
    recompile = last_recompile(made)
    assert recompile.nearest.label == "0/1"
    assert recompile.causes[0].sentence == "the float s is now NaN"


@pytest.mark.parametrize(
    ("guard", "code", "sentence"),
    [
        ("EQUALS_MATCH: L['s'] == 3.0", "SL312", "the float s was NaN, and no longer is"),
        ("EQUALS_MATCH: L['s'] == 3", "SL310", "s changed from type float to int"),
        ("ID_MATCH: L['s'] is None", "SL322", "s changed from nan to None"),
    ],
)
def test_what_was_nan_may_be_no_float_any_more(guard: str, code: str, sentence: str) -> None:
    nan = guard_tree(tensor_match(), guard_manager("L['s']", "FLOAT_IS_NAN: (type(L['s']) is float and __math_isnan(L['s']))"))
    other = guard_tree(tensor_match(), guard_manager("L['s']", guard))
    (cause,) = last_recompile(two(nan, other, "(type(s) is float and __math_isnan(s))")).causes
    assert (cause.codes, cause.sentence) == ((code,), sentence)


@pytest.mark.parametrize(
    ("before", "after"), [("'mean'", "'max'"), ("True", "False"), ("torch.float32", "torch.float16"), ("(1, 2)", "(1, 3)")]
)
def test_another_constant(before: str, after: str) -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['mode']", f"EQUALS_MATCH: L['mode'] == {item}")) for item in (before, after)]
    cause = only(two(*trees, f"mode == {before}"))
    assert (cause.codes, cause.axis, cause.before, cause.after) == (("SL311",), "mode", before, after)


@pytest.mark.parametrize(("before", "after"), [("None", "3"), ("3", "None"), ("'a'", "None")])
def test_none_or_a_value(before: str, after: str) -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['n']", f"EQUALS_MATCH: L['n'] == {item}")) for item in (before, after)]
    assert only(two(*trees)).codes == ("SL322",)


def test_none_or_a_tensor() -> None:
    nothing = guard_tree(tensor_match(), guard_manager("L['mask']", "NONE_MATCH: L['mask'] is None", type="NoneType"))
    made = trace(
        compiled("0/0", tensor(10, 8), guards=nothing),
        compiled("0/1", tensor(10, 8), tensor(10, source="L['mask']"), reasons=("0/0: mask is None",)),
    )
    cause = only(made)
    assert (cause.codes, cause.before, cause.after) == (("SL322",), "None", "a tensor")


@pytest.mark.parametrize(
    ("code", "verdict", "remedy"),
    [
        ("return x * z", Verdict.CODE, "wrap the number in a tensor, torch.tensor(value)"),
        ("if z == 1j:", Verdict.JUSTIFIED, ""),
    ],
)
def test_a_complex_number_can_be_a_tensor_unless_the_code_branches_on_it(code: str, verdict: Verdict, remedy: str) -> None:
    line = code_comment(6, code)
    cause = only(two(*(guard_tree(tensor_match(), equals_match("L['z']", value, "complex", line)) for value in (1j, 2j))))
    assert (cause.codes, cause.verdict, cause.own_remedy) == (("SL311",), verdict, remedy)


@pytest.mark.parametrize(
    ("code", "expression", "what", "remedy"),
    [
        ("w = table(h.shape[1])", "({} // 4) == 8", "needs an exact size", "rewrite the line that needs the exact size, or "),
        ("w = torch.linspace(0, 1, h.shape[1])", "({} // 4) == 8", "needs an exact size", "linspace(a, b, n) needs the exact n: write "),
        ("if h.shape[1] == 8:", "({} // 4) == 8", "branches on a size", ""),
        ("w = a if h.shape[1] > 8 else b", "({} // 4) == 8", "branches on a size", ""),
        ("w = h.view(-1, 2)", "({} % 2) == 0", "branches on a size", ""),
    ],
)
def test_an_equation_on_a_line_that_compares_nothing_is_no_branch(code: str, expression: str, what: str, remedy: str) -> None:
    size = "L['x'].size()[1]"
    guard = f"{expression.format(size)}  # {code}  # app/model.py:7 in f (_dynamo/utils.py:4231 in run_node)"
    first = compiled("0/0", tensor(10, 32), guards=guard_tree(tensor_match(size=(10, None)), shapes=(guard,)))
    cause = only(trace(first, compiled("0/1", tensor(10, 29))))
    assert (cause.codes, cause.verdict) == (("SL204",), Verdict.CODE if "linspace" in code else Verdict.JUSTIFIED)
    assert cause.sentence.startswith(f"the code {what}: the cache entry requires ")
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


IN_EACH_GRAPH = "(16*(L['x'].size()[1] // 2)) == {}  # (_prims_common/__init__.py:351 in is_contiguous)"


def test_an_equation_that_has_another_number_in_each_graph_is_no_branch() -> None:
    trees = [guard_tree(tensor_match(size=(10, None)), shapes=(IN_EACH_GRAPH.format(number),)) for number in (160, 192)]
    made = trace(*(compiled(f"0/{place}", tensor(10, width), guards=trees[place]) for place, width in enumerate((20, 24))))
    cause = only(made)
    assert cause.codes == ("SL202",)
    required = "(16*(x.size()[1] // 2)) == 160 (now x.size()[1] = 24)"
    assert cause.sentence == f"PyTorch specialized on what it computes from a size: the cache entry requires {required}"


def test_an_equation_whose_other_side_has_a_graph_as_well_is_a_branch() -> None:
    equal = IN_EACH_GRAPH.format(160)
    trees = [guard_tree(tensor_match(size=(10, None)), shapes=(shape,)) for shape in (equal, equal.replace("==", "!="))]
    made = trace(*(compiled(f"0/{place}", tensor(10, width), guards=trees[place]) for place, width in enumerate((20, 24))))
    assert only(made).codes == ("SL204",)


def test_the_training_flag() -> None:
    trees = [guard_tree(tensor_match(), equals_match("L['self']._modules['drop'].training", item, "bool")) for item in (True, False)]
    cause = only(two(*trees))
    assert (cause.codes, cause.axis) == (("SL316",), "self.drop.training")


def test_dtype_and_requires_grad() -> None:
    half = trace(
        compiled("0/0", tensor(10, 8)),
        compiled("0/1", tensor(10, 8, dtype="torch.float16"), guards=guard_tree(tensor_match(dtype="float16"))),
    )
    assert [(cause.codes, cause.before, cause.after) for cause in last_recompile(half).causes] == [(("SL301",), "float32", "float16")]
    named = [("0/0", ()), ("0/1", ("0/0: tensor 'x' dtype mismatch. expected Half, actual Float",))]
    alone = trace(*(compiled(label, reasons=reasons) for label, reasons in named))
    assert last_recompile(alone).causes[0].sentence == "the dtype of x changed from float16 to float32"
    grad = trace(
        compiled("0/0", tensor(10, 8)),
        compiled("0/1", tensor(10, 8, requires_grad=True), guards=guard_tree(tensor_match(requires_grad=True))),
    )
    assert only(grad).codes == ("SL302",)


def test_the_value_that_old_versions_add_to_a_reason_is_that_of_the_call() -> None:
    named = [("0/0", ()), ("0/1", ("0/0: L['a'] == 0, with LHS value: 1",))]
    cause = last_recompile(trace(*(compiled(label, reasons=reasons) for label, reasons in named))).causes[0]
    assert cause.sentence == "the int a changed from 0 to 1"


def test_inference_mode_changes_the_dispatch_keys() -> None:
    inference = "DispatchKeySet(CPU, BackendSelect)"
    text = f"tensor 'x' dispatch key set mismatch. expected {CPU_KEYS}, actual {inference}"
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match(keys=inference)), text))
    assert (cause.codes, cause.size_related) == (("SL303",), False)


def test_grad_mode_from_the_tree_and_from_the_reason_alone() -> None:
    made = two(
        guard_tree(global_state(), tensor_match()),
        guard_tree(global_state(grad_mode=False), tensor_match()),
        "GLOBAL_STATE changed: grad_mode ",
    )
    assert (only(made).codes, only(made).axis) == (("SL305",), "grad_mode")
    assert "from on to off" in only(made).sentence
    old = two(guard_tree(tensor_match()), guard_tree(tensor_match()), "GLOBAL_STATE changed: grad_mode ")
    assert only(old).codes == ("SL305",)


def test_state_that_old_versions_do_not_name_may_be_grad_mode() -> None:
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "___check_global_state()"))
    assert cause.codes == ("SL307",)
    assert cause.sentence.startswith("grad mode, autocast or another global setting changed")
    assert cause.own_remedy.startswith("run every call in the same grad mode")


def test_a_size_that_hides_behind_grad_mode_is_found() -> None:
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    guards = guard_tree(global_state(grad_mode=False), tensor_match(size=(12, 8)))
    made += compiled("0/1", tensor(12, 8), guards=guards, reasons=("0/0: GLOBAL_STATE changed: grad_mode ",))
    recompile = last_recompile(made)
    assert set(recompile.codes) == {"SL305", "SL101"}
    assert recompile.size_related


def test_autocast() -> None:
    on = {"enabled": [True, False]}
    made = two(
        guard_tree(global_state(), tensor_match()),
        guard_tree(global_state(autocast_state=on), tensor_match()),
        "GLOBAL_STATE changed: autocast(cpu)_enabled ",
    )
    assert last_recompile(made).codes == ("SL306",)
    assert last_recompile(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "GLOBAL_STATE changed: autocast ")).codes == (
        "SL306",
    )


@pytest.mark.parametrize("field", ["num_threads", "default_dtype"])
def test_other_global_state(field: str) -> None:
    made = two(
        guard_tree(global_state(), tensor_match()),
        guard_tree(global_state(**{field: 11}), tensor_match()),
        f"GLOBAL_STATE changed: {field} ",
    )
    assert (only(made).codes, only(made).axis) == (("SL307",), field)


def test_function_modes_are_global_state() -> None:
    assert last_recompile(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "___check_torch_function_mode_stack()")).codes == (
        "SL307",
    )


def identity(source: str, number: int, kind: str) -> str:
    return guard_manager(source, f"ID_MATCH: ___check_obj_id({source}, {number}), type=<class '{kind}'>", type=kind)


def test_a_closure_made_anew_for_each_call() -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn'].__code__", number, "code")) for number in (7001, 7002)]
    cause = only(two(*trees, "___check_obj_id(fn.__code__, 7001), type=<class 'code'>"))
    assert (cause.codes, cause.size_related) == (("SL309",), False)


def test_a_function_that_was_compiled_after_its_first_call() -> None:
    plain = guard_tree(tensor_match(), identity("G['crop'].__code__", 7001, "code"))
    wrapped = guard_tree(tensor_match(), identity("G['crop']._torchdynamo_inline.__code__", 7002, "code"))
    cause = only(two(plain, wrapped))
    assert (cause.codes, cause.size_related) == (("SL309",), False)
    assert cause.sentence == "crop was replaced by the result of torch.compile after this was compiled"


def test_a_processor_for_each_layer_is_another_object() -> None:
    trees = [guard_tree(tensor_match(), identity("L['self'].processor", number, "app.Processor")) for number in (7001, 7002)]
    cause = only(two(*trees, "___check_obj_id(self.processor, 7001), type=<class 'app.Processor'>"))
    assert cause.codes == ("SL308",)
    assert "Processor" in cause.sentence


def test_another_type() -> None:
    trees = [
        guard_tree(
            tensor_match(),
            guard_manager("L['cfg']", f"TYPE_MATCH: ___check_type_id(L['cfg'], {number}), type=<class 'app.{name}'>", type=f"app.{name}"),
        )
        for number, name in ((7001, "One"), (7002, "Two"))
    ]
    cause = only(two(*trees, "___check_type_id(cfg, 7001), type=<class 'app.One'>"))
    assert (cause.codes, cause.before, cause.after) == (("SL310",), "app.One", "app.Two")


@pytest.mark.parametrize(
    ("line", "kinds", "verdict"),
    [
        ("return loss(x)", ("app.One", "app.Two"), Verdict.JUSTIFIED),
        ("return loss(x)", ("app.One", "dict"), Verdict.CODE),
        ("return loss.step(x)", ("app.One", "app.Two"), Verdict.JUSTIFIED),
        ("return loss.sum(x)", ("torch.nn.Parameter", "torch.nn.Buffer"), Verdict.CODE),
        ("return my.loss(x) + loss.weight", ("app.One", "app.Two"), Verdict.CODE),
    ],
)
def test_an_object_that_the_code_calls_needs_a_graph_for_each_class(line: str, kinds: tuple[str, str], verdict: Verdict) -> None:
    comment = code_comment(6, line)
    trees = [
        guard_tree(
            tensor_match(),
            guard_manager(
                "L['loss']", f"TYPE_MATCH: ___check_type_id(L['loss'], {number}), type=<class '{kind}'>", type=kind, comment=comment
            ),
        )
        for number, kind in zip((7001, 7002), kinds, strict=True)
    ]
    cause = only(two(*trees, f"___check_type_id(loss, 7001), type=<class '{kinds[0]}'>  {comment}"))
    assert (cause.codes, cause.verdict) == (("SL310",), verdict)
    assert cause.own_remedy.startswith(("the code calls this object", "the code calls a method")) is (verdict is Verdict.JUSTIFIED)


def test_an_object_whose_class_has_the_name_of_a_metaclass_is_no_class() -> None:
    dtype = guard_tree(tensor_match(), identity("L['dt']", 7001, "numpy.dtypes.Float64DType"))
    none = guard_tree(tensor_match(), guard_manager("L['dt']", "ID_MATCH: L['dt'] is None", type="NoneType"))
    assert only(two(none, dtype, "dt is None")).sentence == "dt changed from None to numpy.dtypes.Float64DType"


def test_functions_whose_backward_passes_break_the_graph_need_a_graph_each() -> None:
    made = trace()
    for number, kind in enumerate(("One", "Two")):
        guards = guard_tree(tensor_match(), guard_manager("L['backward_c_function']", f"TYPE_MATCH: {number}", type=f"app.{kind}Backward"))
        reasons = ("!0/3/0: ___check_type_id(backward_c_function, 0)",) if number else ()
        made += compiled(f"!{number}/3/{number}", tensor(10, 8), guards=guards, name="call_backward", reasons=reasons)
    recompile = last_recompile(made)
    assert recompile.nearest is not None  # frame 3 is one function in both captured graphs
    assert recompile.verdict is Verdict.JUSTIFIED
    assert recompile.causes[0].sentence == "backward_c_function changed from type app.OneBackward to app.TwoBackward"
    assert recompile.causes[0].own_remedy.startswith("each torch.autograd.Function whose backward pass breaks the graph")


@pytest.mark.parametrize(("maker", "verdict"), [("torch._functorch.autograd_function", Verdict.JUSTIFIED), ("app.model", Verdict.CODE)])
def test_a_class_that_pytorch_makes_for_a_custom_function_cannot_be_defined_once(maker: str, verdict: Verdict) -> None:
    made = trace()
    backward = "L['backward_c_function']"
    forward = f"dict(type({backward}).__dict__)['_forward_cls']"
    for number in (0, 1):
        own = guard_manager(
            backward, f"TYPE_MATCH: ___check_type_id({backward}, {7001 + number})", type="torch.autograd.function.OwnBackward"
        )
        identity = f"ID_MATCH: ___check_obj_id({forward}, {8001 + number}), type=<class '{maker}.call.<locals>.Own'>"
        tree = guard_tree(tensor_match(), own, guard_manager(forward, identity, type="torch.autograd.function.FunctionMeta"))
        made += compiled(f"!{number}/3/{number}", tensor(10, 8), guards=tree, name="call_backward")
    recompile = last_recompile(made)
    assert recompile.verdict is verdict
    start = "each torch.autograd.Function" if verdict is Verdict.JUSTIFIED else "define the class at module level"
    assert recompile.causes[0].own_remedy.startswith(start)


def test_compiled_autograd_and_autograd_itself_pass_contexts_of_different_types() -> None:
    types = "torch._dynamo.external_utils.FakeBackwardCFunction", "torch.autograd.function.OwnBackward"
    trees = [guard_tree(tensor_match(), guard_manager("L['ctx']", f"TYPE_MATCH: {name}", type=name)) for name in types]
    recompile = last_recompile(two(*trees, "___check_type_id(ctx, 0)"))
    assert recompile.verdict is Verdict.JUSTIFIED
    assert recompile.causes[0].own_remedy.startswith("accept one graph for each: compiled autograd")


@pytest.mark.parametrize(
    ("code", "lengths", "verdict"),
    [
        ("return bool(self.merged)", (0, 1), Verdict.JUSTIFIED),
        ("return not self.merged", (2, 0), Verdict.JUSTIFIED),
        ("return bool(self.merged)", (1, 2), Verdict.CODE),
        ("return bool(self.merged[0])", (0, 1), Verdict.CODE),
        ("return x + self.merged", (0, 1), Verdict.CODE),
    ],
)
def test_code_that_asks_whether_a_list_is_empty_needs_a_graph_for_either(code: str, lengths: tuple[int, int], verdict: Verdict) -> None:
    made, source = trace(), "L['self'].merged"
    for number, length in enumerate(lengths):
        check = f"LENGTH_CHECK: len({source}) == {length}" if length else f"LENGTH_CHECK: not {source}"
        leaf = guard_manager(source, check, type="list", comment=code_comment(6, code))
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = f{number}(l_x_)', "return (y,)")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), graph=graph)
    recompile = last_recompile(made)
    assert (recompile.verdict, recompile.codes) == (verdict, ("SL313",))


def test_the_strides_of_a_tensor_show_that_it_has_another_number_of_dims() -> None:
    """A parameter of an optimizer is guarded by its identity alone, and by guards over its sizes."""
    made, source = trace(), "L['p']"
    for number, size in enumerate(((10, 5), (10, 5, 2))):
        ties = (f"{source}.stride()[0] == {source}.size()[1]",) if len(size) == 2 else (f"{source}.stride()[1] == {source}.size()[2]",)
        guards = guard_tree(identity(source, 7001 + number, "torch.nn.parameter.Parameter"), shapes=ties)
        made += compiled(f"0/{number}", tensor(*size, source=source), guards=guards)
    recompile = last_recompile(made)
    of_rank = [cause for cause in recompile.causes if cause.codes != ("SL308",)]
    assert [(cause.codes, cause.axis) for cause in of_rank] == [(("SL107",), "p.rank")]
    assert of_rank[0].sentence == "the number of dimensions of p changed from 2 to 3"
    assert recompile.verdict is Verdict.JUSTIFIED


@pytest.mark.parametrize(
    ("code", "function", "verdict"),
    [
        ("if len(custom) == 0:", "merge", Verdict.JUSTIFIED),
        ("if not custom:", "merge", Verdict.JUSTIFIED),
        ("while custom:", "merge", Verdict.JUSTIFIED),
        ("if len(custom) == 0:", "f", Verdict.CODE),
        ("if len(custom.kinds) == 0:", "merge", Verdict.CODE),
        ("for item in custom:", "merge", Verdict.CODE),
    ],
)
def test_a_function_that_the_code_calls_has_its_own_name_for_a_list(code: str, function: str, verdict: Verdict) -> None:
    """Where a line of it asks how many items there are, and the graphs differ, each case needs a graph of its own."""
    made, source = trace(), "L['right']"
    for number, check in enumerate((f"not {source}", f"len({source}) == 1")):
        leaf = guard_manager(source, f"LENGTH_CHECK: {check}", type="list", comment=code_comment(9, code, function))
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = f{number}(l_x_)', "return (y,)")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), graph=graph)
    recompile = last_recompile(made)
    assert (recompile.verdict, recompile.codes) == (verdict, ("SL313",))


@pytest.mark.parametrize(
    ("code", "graphs", "is_needed"),
    [
        ("if isinstance(i, slice):", ("f(l_x_)", "g(l_x_)"), True),
        ("y = x + 1 if torch.is_tensor(i) else x + 2", ("f(l_x_, 1)", "f(l_x_, 2)"), True),
        ("if isinstance(i, slice):", ("f(l_x_)", "f(l_x_)"), False),
        ("if isinstance(other, slice):", ("f(l_x_)", "g(l_x_)"), False),
        ("y = x[i]", ("f(l_x_)", "g(l_x_)"), False),
    ],
)
def test_code_that_branches_on_a_type_needs_a_graph_for_each(code: str, graphs: tuple[str, str], is_needed: bool) -> None:
    made, source = trace(), "L['i']"
    for number, kind in enumerate(("slice", "list")):
        check = f"TYPE_MATCH: ___check_type_id({source}, {7 + number}), type=<class '{kind}'>"
        leaf = guard_manager(source, check, type=kind, comment=code_comment(6, code))
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = {graphs[number]}', "return (y,)")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), graph=graph)
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL310",), Verdict.JUSTIFIED if is_needed else Verdict.CODE)
    assert cause.own_remedy.startswith("accept one graph for each type, on which the code branches") is is_needed


@pytest.mark.parametrize(
    ("code", "is_other", "verdict", "is_passed_on"),
    [
        ("r = itertools.count(*args)", False, Verdict.CODE, True),
        ("return f0(x, *args) * 2", True, Verdict.JUSTIFIED, True),
        ("return sum([x, *args])", True, Verdict.CODE, False),
        ("return f0(x *args[0])", True, Verdict.CODE, False),
    ],
)
def test_arguments_that_the_code_passes_on_cannot_be_padded(code: str, is_other: bool, verdict: Verdict, is_passed_on: bool) -> None:
    made, source = trace(), "L['args']"
    for number in (1, 2):
        leaf = guard_manager(source, f"LENGTH_CHECK: len({source}) == {number}", type="tuple", comment=code_comment(6, code))
        operation = f"f{number}" if is_other else "f"
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = {operation}(l_x_)', "return (y,)")
        made += compiled(f"0/{number - 1}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), graph=graph)
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL313",), verdict)
    assert cause.own_remedy.startswith("pass the same number of these in every call") is is_passed_on


@pytest.mark.parametrize(
    ("code", "outside"),
    [
        ("y = torch.tensor(flags, device=x.device)", "torch.tensor(flags, device=x.device)"),
        ("y = torch.as_tensor(flags[0])", "torch.as_tensor(flags[0])"),
        ("y = torch.tensor(other)[flags]", ""),
    ],
)
def test_a_bool_or_another_type_of_which_a_line_makes_a_tensor_can_be_passed_as_one(code: str, outside: str) -> None:
    source, comment = "L['flags'][0]", code_comment(6, code)
    as_list = guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, 7), type=<class 'list'>", type="list", comment=comment)
    bools = [equals_match(source, flag, "bool", comment=comment) for flag in (True, False)]
    for code_of_rule, leaves in (("SL311", bools), ("SL310", [bools[0], as_list])):
        cause = only(two(*(guard_tree(tensor_match(), leaf) for leaf in leaves), f"flags[0] == True  {comment}"))
        expected = (Verdict.CODE, f"make {outside} outside the compiled code, and pass the tensor") if outside else (None, "")
        assert (cause.codes, cause.own_verdict, cause.own_remedy) == ((code_of_rule,), *expected)


def test_a_list_of_which_a_line_makes_a_tensor_can_be_passed_as_one() -> None:
    made, source = trace(), "L['ids']"
    for number in (2, 3):
        line = code_comment(6, "y = x[torch.tensor(ids)]")
        leaf = guard_manager(source, f"LENGTH_CHECK: len({source}) == {number}", type="list", comment=line)
        made += compiled(f"0/{number - 2}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf))
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL313",), Verdict.CODE)
    assert cause.own_remedy == "make torch.tensor(ids) outside the compiled code, and pass the tensor"


@pytest.mark.parametrize(
    ("capture", "file", "verdict"),
    [("!0/", "<eval_with_key>.5", Verdict.JUSTIFIED), ("", "<eval_with_key>.5", Verdict.CODE), ("!0/", MODEL, Verdict.CODE)],
)
def test_nobody_can_keep_the_way_that_compiled_autograd_passes_an_int(capture: str, file: str, verdict: Verdict) -> None:
    """As the size of an empty tensor, so that it can be dynamic, or as it is."""
    size = "L['sizes'][0]"
    wrapped, plain = tensor(0, 1, source=size, stride=[1, 1]), guard_manager(size, f"TYPE_MATCH: ___check_type_id({size}, 7)", type="int")
    reason = f"{capture}3/0: expected type of 'sizes[0]' to be a tensor type, ' but found <class 'int'>"
    made = compiled(f"{capture}3/0", wrapped, file=file) + compiled(f"{capture}3/1", guards=guard_tree(plain), file=file, reasons=[reason])
    recompile = last_recompile(trace(made))
    assert (recompile.verdict, recompile.codes) == (verdict, ("SL310",))


@pytest.mark.parametrize(
    ("capture", "file", "verdict"),
    [
        ("!0/", "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", Verdict.JUSTIFIED),
        ("", "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", Verdict.CODE),
        ("!0/", MODEL, Verdict.CODE),
    ],
)
def test_nobody_can_keep_the_number_of_gradients_that_a_node_has(capture: str, file: str, verdict: Verdict) -> None:
    lengths = [guard_manager("L['args'][0]", f"LENGTH_CHECK: len(L['args'][0]) == {number}", type="tuple") for number in (1, 2)]
    trees = [guard_tree(tensor_match(), length) for length in lengths]
    made = [compiled(f"{capture}3/{number}", tensor(10, 8), guards=trees[number], file=file, name="call_hook") for number in (0, 1)]
    recompile = last_recompile(trace(*made))
    assert (recompile.verdict, recompile.codes) == (verdict, ("SL313",))


@pytest.mark.parametrize(("weights", "verdict"), [(0, Verdict.CODE), (1, Verdict.CODE), (2, Verdict.JUSTIFIED)])
def test_another_model_has_lists_of_other_lengths(weights: int, verdict: Verdict) -> None:
    """A draft and a target model through one compiled method: the cache of each has an item for each layer."""
    made = trace()
    for number, width in enumerate((32, 64)):
        length = guard_manager("L['cache'].layers", f"LENGTH_CHECK: len(L['cache'].layers) == {number + 1}", type="list")
        names = [f"L['self']._modules['{name}']._parameters['weight']" for name in ("up", "down")]
        sizes = [width if place < weights else 32 for place in range(2)]
        parameters = [tensor(size, source=name, is_parameter=True) for size, name in zip(sizes, names, strict=True)]
        made += compiled(f"0/{number}", tensor(10, 8), *parameters, guards=guard_tree(tensor_match(), length))
    recompile = last_recompile(made)
    cause = next(item for item in recompile.causes if item.rule.code == "SL313")
    assert (recompile.verdict, cause.own_remedy.startswith("modules of a different structure")) == (verdict, weights == 2)


@pytest.mark.parametrize("is_refused", [True, False])
def test_another_class_that_pytorch_names_of_one_entry_of_a_call_without_guards_is_so_for_all(is_refused: bool) -> None:
    """Its reason for the other entry is what fails first there."""
    own = guard_manager("L['self']", "TYPE_MATCH: ___check_type_id(L['self'], 7001), type=<class 'app.Mean'>", type="app.Mean")
    arguments = guard_manager("L['args']", "LENGTH_CHECK: len(L['args']) == 2", type="tuple")
    made = trace(*(compiled(f"0/{n}", tensor(n + 5, 8), guards=guard_tree(arguments, own, tensor_match(size=(n + 5, 8)))) for n in (0, 1)))
    reasons = ("0/1: len(args) == 2", "0/0: ___check_type_id(self, 7001), type=<class 'app.Mean'>  (HINT: type Mean)")
    last = make.refused("0/2", *reasons) if is_refused else compiled("0/2", tensor(5, 8), reasons=reasons)
    explained = explain(made + last)
    compared = {item.entry.label: item for item in explained.compared[explained.recompiles[-1].compile]}
    sentences = {label: [cause.sentence for cause in item.causes] for label, item in compared.items()}
    assert sentences["0/0"][0] == "self changed from type app.Mean to another type"
    assert (sentences["0/1"] == sentences["0/0"]) is is_refused
    assert compared["0/1"].consequences == (("len(args)",) if is_refused else ())


@pytest.mark.parametrize(("file", "code"), [("/opt/venv/lib/python3.11/site-packages/lib/warp.py", "SL202"), ("/srv/app/warp.py", "SL201")])
def test_a_guard_of_a_number_that_a_library_pinned_is_the_library_s(file: str, code: str) -> None:
    """As where PyTorch names the number itself as what failed."""
    pinned = {"symbol": "s77", "sources": ["L['n']"], "value": "10", "user_stack": [{"filename": file, "line": 9, "name": "g", "loc": ""}]}
    line = code_comment(6, "y = linspace(n)").replace("app/model.py", file)
    guards = guard_tree(tensor_match(), shapes=(f"L['n'] == 10  {line}",))
    symbols = (("s77", "10", "L['n']"),)
    made = trace(compiled("0/0", tensor(10, 8), guards=guards, symbols=symbols, specializations=(pinned,)))
    cause = only(made + compiled("0/1", tensor(10, 8), symbols=(("s77", "12", "L['n']"),), reasons=("0/0: n == 10",)))
    assert cause.codes == ("SL102", code)


@pytest.mark.parametrize("kind", ["weakref.ReferenceType", "app.Getter"])
def test_the_object_of_a_weak_reference_may_be_gone(kind: str) -> None:
    owner = guard_manager("L['r']", f"TYPE_MATCH: ___check_type_id(L['r'], 7001), type=<class '{kind}'>", type=kind)
    check = "___check_type_id({}, 7002), type=<class 'app.O'>"
    referred = guard_manager("L['r']()", "TYPE_MATCH: " + check.format("L['r']()"), type="app.O")
    cause = only(two(guard_tree(tensor_match(), owner, referred), guard_tree(tensor_match(), owner), check.format("r()")))
    assert (cause.codes, cause.verdict) == (("SL310",), Verdict.CODE)
    assert (cause.sentence == "the object that r refers to is gone, or of another type") is (kind != "app.Getter")
    assert cause.own_remedy.startswith("keep the object alive") is (kind != "app.Getter")


def test_a_module_that_got_a_parameter_is_named_in_place_of_its_own_dict() -> None:
    module, kind = "L['self']._modules['weights']", "torch.nn.modules.container.ParameterDict"
    made = trace()
    for count in (1, 2):
        keys = [equals_match(f"list(dict.keys({module}._keys))[{n}]", f"w{n}", "str") for n in range(count)]
        own = guard_manager(module, f"TYPE_MATCH: ___check_type_id({module}, 7001), type=<class '{kind}'>", type=kind)
        parameters = [tensor(4, source=f"{module}._parameters['w{n}']", is_parameter=True) for n in range(count)]
        reasons = ("0/0: len(self._modules['weights']._keys) != 1",) if count == 2 else ()
        made += compiled(f"0/{count - 1}", tensor(10, 8), *parameters, more_guards=[own, *keys], reasons=reasons)
    cause = only(made)
    assert (cause.codes, cause.sentence) == (("SL314",), "self.weights (a ParameterDict) had 1 key and now has 2")
    assert cause.own_remedy == "add its parameters before the first compiled call"


@pytest.mark.parametrize("setting", ["", "0/0", "0/0 0/1"])
def test_an_attribute_that_the_compiled_code_set_once_costs_one_more_graph(setting: str) -> None:
    """A cache that the first call fills. Code that sets it in each call has the object as its own state."""
    made = trace()
    for number, text in enumerate(("not ", "")):
        label, has = f"0/{number}", f"NO_HASATTR: {text}hasattr(L['c'], 'found')"
        made += compiled(label, tensor(10, 8), guards=guard_tree(tensor_match(), guard_manager("L['c']", has, type="app.Cache")))
        effects = "Mutating object of type Cache (source name: L['c'])\n"
        made += make.artifact("dynamo_side_effects", effects, id=label) if label in setting else b""
    cause = only(made)
    assert (cause.codes, cause.sentence) == (("SL320",), "c now has the attribute found")
    assert (cause.verdict is Verdict.JUSTIFIED) is cause.own_remedy.startswith("accept one more graph") is (setting == "0/0")


@pytest.mark.parametrize(
    ("changing", "code", "why"),
    [
        ("0/0", "if self.table.size(0) < x.size(0):", "the code changes self.pos in 0/0 and not in 0/1"),
        ("0/1", "if self.table.size(0) < x.size(0):", "the code changes self.pos in 0/1 and not in 0/0"),
        ("0/0 0/1", "if self.table.size(0) < x.size(0):", ""),
        ("", "if self.table.size(0) < x.size(0):", ""),
        ("0/0", "if x.size(0) < 30:", ""),
    ],
    ids=["earlier", "later", "both", "none", "another branch"],
)
def test_a_branch_on_what_the_code_changes_in_one_of_two_calls_alone(changing: str, code: str, why: str) -> None:
    """As a table of positions that is made anew for longer inputs: it can be long enough from the start."""
    owner, made = "L['self']._modules['pos']", trace()
    comment = f"# {code}  # app/model.py:6 in f"
    parts = (tensor_match(size=(None, 8)), tensor_match(f"{owner}.table", (64, 8)))
    trees = (
        guard_tree(*parts, shapes=(f"L['x'].size()[0] <= 64  {comment}",)),
        guard_tree(*parts, shapes=(f"65 <= L['x'].size()[0]  {comment}",)),
    )
    for number, (rows, tree) in enumerate(zip((10, 70), trees, strict=True)):
        label = f"0/{number}"
        made += compiled(label, tensor(rows, 8), tensor(64, 8, source=f"{owner}.table"), guards=tree, dynamic=[0])
        effects = f"Mutating object of type Pos (source name: {owner})\n"
        made += make.artifact("dynamo_side_effects", effects, id=label) if label in changing.split() else b""
    recompile = last_recompile(made)
    assert recompile.why_not_markable.startswith(why) if why else "changes" not in recompile.why_not_markable
    assert recompile.verdict is (Verdict.CODE if why else Verdict.JUSTIFIED)


@pytest.mark.parametrize("is_first", [True, False])
def test_an_ellipsis_is_of_another_type_than_a_number(is_first: bool) -> None:
    leaves = [equals_match("L['i']", Ellipsis, "ellipsis"), equals_match("L['i']", 1)]
    made = two(*(guard_tree(tensor_match(), leaf) for leaf in (leaves if is_first else leaves[::-1])))
    sentence = "i changed from Ellipsis to 1" if is_first else "i changed from the int 1 to Ellipsis"
    assert (only(made).codes, only(made).sentence) == (("SL310",), sentence)


@pytest.mark.parametrize("file", ["/opt/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", "/srv/app/model.py"])
@pytest.mark.parametrize("is_named", [True, False])
def test_what_shares_the_wrapper_of_pytorch_needs_a_graph_each(file: str, is_named: bool) -> None:
    """A function of torch, and then a module in its place, which PyTorch need not name as what failed."""
    linear = guard_manager("L['fn']", "TYPE_MATCH: ___check_type_id(L['fn'], 7002), type=<class 'torch.nn.Linear'>", type="torch.nn.Linear")
    function = "\n".join((guard_manager("L['fn']", type="function"), identity("L['fn'].__code__", 7001, "code")))
    made = trace()
    for number, (callee, count) in enumerate(((function, 2), (linear, 1))):
        guards = guard_tree(guard_manager("L['args']", f"LENGTH_CHECK: len(L['args']) == {count}", type="tuple"), callee)
        reasons = ("0/0: CodeGuardAccessor: Not a function on fn.__code__" if is_named else "0/0: len(args) == 2",) if number else ()
        made += compiled(f"0/{number}", guards=guards, name="inner", file=file, reasons=reasons)
    recompile = last_recompile(made)
    causes = {cause.sentence: cause.own_remedy for cause in recompile.causes}
    if file.startswith("/srv"):  # a wrapper of the user's own
        assert len(causes) == 2
        assert "wrapper" not in causes["fn changed from a Python function to type torch.nn.Linear"]
    else:
        (remedy,) = causes.values()
        assert recompile.verdict is Verdict.JUSTIFIED
        assert remedy.startswith("functions and modules that share this wrapper of PyTorch need one graph each")
        assert recompile.consequences == ("len(args)",)


@pytest.mark.parametrize(
    ("second", "operation", "verdict"),
    [
        ("L['kw']['emb']", "mul", Verdict.JUSTIFIED),
        ("L['kw']['emb']", "add", Verdict.CODE),  # one graph would do for both
        ("L['kw']['ids']", "mul", Verdict.CODE),  # nothing came in place of it
    ],
)
def test_a_call_with_other_keywords_in_place_of_the_first_needs_its_own_graph(second: str, operation: str, verdict: Verdict) -> None:
    made = trace()
    for number, (source, operator) in enumerate((("L['kw']['ids']", "add"), (second, operation))):
        leaf = guard_manager("L['kw']", f"DICT_LENGTH: len(L['kw']) == {number + 1}", type="dict")
        graph = graph_text(
            'L_x_: "f32[10, 8][8, 1]cpu"', f'{operator}: "f32[10, 8][8, 1]cpu" = torch.{operator}(l_x_, 1)', f"return ({operator},)"
        )
        guards = guard_tree(leaf, tensor_match(source))
        reasons = ("0/0: len(kw) == 1",) if number else ()
        made += compiled(f"0/{number}", tensor(10, 8, source=source), guards=guards, graph=graph, reasons=reasons)
    recompile = last_recompile(made)
    assert (recompile.causes[0].codes, recompile.verdict) == (("SL314",), verdict)


@pytest.mark.parametrize(
    ("caller", "verdict"),
    [("/opt/venv/lib/python3.11/site-packages/lib/hooks.py", Verdict.JUSTIFIED), ("/srv/app/train.py", Verdict.CODE)],
)
def test_objects_that_library_code_passes_on_to_its_own_function_are_not_the_users_to_change(caller: str, verdict: Verdict) -> None:
    own, converts = (
        "/opt/venv/lib/python3.11/site-packages/lib/hooks.py",
        "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py",
    )
    stack = [{"filename": file, "line": 9, "name": "main", "loc": "install(model)"} for file in (caller, converts)]
    symbol = {"symbol": "s0", "val": "10", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": [], "stack": stack}
    made = trace()
    for number, kind in enumerate(("Vision", "Text")):
        guard = f"TYPE_MATCH: ___check_type_id(L['model'], 700{number}), type=<class 'lib.{kind}'>"
        guards = guard_tree(tensor_match(), guard_manager("L['model']", guard, type=f"lib.{kind}"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, name="install", file=own)
        made += make.record("create_symbol", symbol, id=f"0/{number}")
    cause = last_recompile(made).causes[0]
    assert (cause.sentence, cause.verdict) == ("model changed from type lib.Vision to lib.Text", verdict)


def test_a_function_of_a_library_that_the_user_compiles_takes_what_the_user_passes() -> None:
    """Between the line of the user and the function is what torch.compile returned, where the stack of a symbol has it."""
    packages = "/opt/venv/lib/python3.11/site-packages"
    stack = [
        {"filename": "/srv/app/train.py", "line": 9, "name": "main", "loc": "psnr(x, data_range=2.0)"},
        {
            "filename": f"{packages}/torch/_dynamo/eval_frame.py",
            "line": 1166,
            "name": "compile_wrapper",
            "loc": "result = fn(*args, **kwargs)",
        },
        {"filename": f"{packages}/torch/_dynamo/convert_frame.py", "line": 2, "name": "__call__", "loc": ""},
    ]
    symbol = {"symbol": "s0", "val": "10", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": [], "stack": stack}
    made = trace()
    for number, kind in enumerate(("tuple", "float")):
        guard = f"TYPE_MATCH: ___check_type_id(L['data_range'], 700{number}), type=<class '{kind}'>"
        guards = guard_tree(tensor_match(), guard_manager("L['data_range']", guard, type=kind))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, name="psnr", file=f"{packages}/lib/psnr.py")
        made += make.record("create_symbol", symbol, id=f"0/{number}")
    cause = last_recompile(made).causes[0]
    assert (cause.sentence, cause.verdict) == ("data_range changed from type tuple to float", Verdict.CODE)


def test_a_parameter_in_place_of_a_tensor_is_another_type() -> None:
    trees = guard_tree(tensor_match()), guard_tree(tensor_match().replace("Tensor, ", "Parameter, "))
    cause = only(two(*trees))
    assert (cause.codes, cause.sentence) == (("SL310",), "x changed from a tensor to torch.nn.Parameter")


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (("FakeTensor", "Tensor"), "x was a fake tensor, as export traces with, and is now a real one"),
        (("Parameter", "FakeTensor"), "x was a real tensor, and is now a fake one"),
    ],
)
def test_code_that_is_traced_with_fake_tensors_and_also_called_needs_two_graphs(kinds: tuple[str, str], sentence: str) -> None:
    off, on = global_state(autocast_state={"cached_enabled": False}), global_state()
    keys = {kind: CPU_KEYS.replace(")", ", Python, PythonDispatcher)") if kind == "FakeTensor" else CPU_KEYS for kind in kinds}
    trees = [
        guard_tree(off if kind == "FakeTensor" else on, tensor_match(keys=keys[kind]).replace("Tensor, ", f"{kind}, ", 1)) for kind in kinds
    ]
    recompile = last_recompile(two(*trees, "GLOBAL_STATE changed: autocast_cache_enabled"))
    assert [(cause.codes, cause.sentence) for cause in recompile.causes] == [(("SL310",), sentence)]
    assert (recompile.verdict, recompile.causes[0].own_remedy) == (
        Verdict.JUSTIFIED,
        "accept one graph for calls that are traced, as by torch.export, and one for others",
    )


def test_a_plain_tensor_is_a_real_one_where_a_reason_alone_names_it() -> None:
    was = guard_tree(tensor_match(keys=CPU_KEYS.replace(")", ", Python)")).replace("Tensor, ", "FakeTensor, ", 1))
    last = make.refused("0/1", "0/0: expected type of 'x' to be a tensor type, ' but found <class 'torch.Tensor'>")
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=was), last))
    assert (cause.sentence, cause.own_verdict) == ("x was a fake tensor, as export traces with, and is now a real one", Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("caches", "keys", "sentence"),
    [
        (
            (True, False),
            (CPU_KEYS, CPU_KEYS),
            "the cache of autocast alone changed from on to off: torch.export and make_fx turn it off while they trace a call",
        ),
        (
            (False, True),
            (CPU_KEYS.replace(")", ", PythonDispatcher)"), CPU_KEYS),
            "the cache of autocast alone changed from off to on: torch.export and make_fx turn it off while they trace a call",
        ),
    ],
)
def test_the_cache_of_autocast_alone_is_turned_off_by_what_traces_a_call(
    caches: tuple[bool, bool], keys: tuple[str, str], sentence: str
) -> None:
    states = [{"enabled": [False, False], "cached_enabled": cache} for cache in caches]
    trees = [guard_tree(global_state(autocast_state=state), tensor_match(keys=key)) for state, key in zip(states, keys, strict=True)]
    recompile = last_recompile(two(*trees, "GLOBAL_STATE changed: autocast_cache_enabled"))
    assert [(cause.codes, cause.sentence) for cause in recompile.causes] == [(("SL307",), sentence)]
    assert recompile.verdict is Verdict.JUSTIFIED


def test_a_call_that_is_traced_with_symbolic_sizes_has_tensors_of_another_kind() -> None:
    keys = CPU_KEYS, CPU_KEYS.replace(")", ", PythonDispatcher)")
    cause = only(two(*[guard_tree(tensor_match(keys=key)) for key in keys]))
    assert (cause.codes, cause.verdict) == (("SL303",), Verdict.JUSTIFIED)
    assert cause.sentence == "x is now traced with symbolic sizes, as by torch.export or make_fx"


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("FuncTorchDynamicLayerFrontMode", "x is now inside a torch.func transform such as vmap"),
        ("Functionalize", "x is now functionalized, as by torch.func.functionalize"),
        ("Functionalize, FuncTorchDynamicLayerFrontMode", "x is now functionalized, as by torch.func.functionalize"),
        ("Functionalize, FuncTorchBatched, FuncTorchDynamicLayerFrontMode", "x is now inside a torch.func transform such as vmap"),
        ("FuncTorchGradWrapper", "x is now inside a torch.func transform such as grad"),
        ("VmapMode", "x is now inside a torch.func transform such as vmap"),
    ],
)
def test_a_tensor_that_a_transform_does_not_wrap_is_inside_of_it_too(key: str, sentence: str) -> None:
    keys = CPU_KEYS, CPU_KEYS.replace(")", f", {key})")
    assert only(two(*[guard_tree(tensor_match(keys=text)) for text in keys])).sentence == sentence


def test_a_tensor_whose_keys_name_no_device_is_on_the_same_device() -> None:
    batched = tensor_match(keys="DispatchKeySet(BackendSelect, ADInplaceOrView, AutogradOther, Batched)")
    assert only(two(guard_tree(tensor_match()), guard_tree(batched))).sentence == "x is now inside a torch.func transform such as vmap"


def test_a_lazy_view_of_another_kind_was_one_before() -> None:
    keys = [CPU_KEYS.replace(")", f", {key})") for key in ("Conjugate", "Negative")]
    cause = only(two(*[guard_tree(tensor_match(keys=text)) for text in keys]))
    assert cause.sentence == "x is now a lazily negated view, and no longer a lazily conjugated view"
    assert cause.own_remedy.startswith("call resolve_conj() and resolve_neg() on it before the call")


def test_a_tensor_subclass_of_a_program_is_named_without_a_module_and_its_dispatch_keys_follow() -> None:
    subclass = tensor_match(keys=CPU_KEYS.replace(")", ", Python, PythonTLSSnapshot)")).replace("Tensor, ", "TwoTensor, ", 1)
    made = two(guard_tree(tensor_match()), guard_tree(subclass))
    assert only(made).sentence == "x changed from a tensor to TwoTensor"
    assert last_recompile(made).consequences == ("x dispatch keys",)


@pytest.mark.parametrize(
    ("before", "after", "end", "has_remedy"),
    [(5, 1, "model.py:6 (return torch.zeros(n) + x) specialized on 1", True), (5, 7, "needs the exact value", False)],
)
def test_an_int_of_one_needs_a_graph_of_its_own_where_the_line_takes_others(before: int, after: int, end: str, has_remedy: bool) -> None:
    line = {"line": 6, "name": "f", "filename": MODEL, "loc": "return torch.zeros(n) + x"}
    made = trace(compiled("0/0", tensor(1), guards=guard_tree(tensor_match(size=(1,)), equals_match("L['n']", before))))
    guards = guard_tree(tensor_match(size=(1,)), equals_match("L['n']", after))
    pins = [{"symbol": "s0", "sources": ["L['n']"], "value": str(after), "user_stack": [line]}]
    cause = only(made + compiled("0/1", tensor(1), guards=guards, symbols=[("s0", after, "L['n']")], specializations=pins))
    assert cause.codes == ("SL102", "SL201")
    assert cause.sentence.endswith(end)
    assert cause.own_remedy.startswith("accept the extra graph") == has_remedy


@pytest.mark.parametrize(
    ("code", "verdict", "remedy"),
    [
        ("torch.LongTensor([n])", Verdict.CODE, "make torch.LongTensor([n]) outside the compiled code, and pass the tensor"),
        ("torch.LongTensor(other) + hash(n)", Verdict.JUSTIFIED, ""),
    ],
)
def test_a_line_that_pins_an_int_and_makes_a_tensor_of_it_may_be_moved_out(code: str, verdict: Verdict, remedy: str) -> None:
    """The value may differ from that of an entry, or from what a guard over the symbol requires."""
    line = {"line": 6, "name": "f", "filename": MODEL, "loc": f"return x[{code}]"}
    comment = code_comment(6, line["loc"])
    of_int = guard_manager("L['n']", "TYPE_MATCH: ___check_type_id(L['n'], 7), type=<class 'int'>", type="int")
    shapes = [guard_tree(tensor_match(), of_int, shapes=(f"L['n'] == {value}  {comment}",)) for value in (5, 7)]
    for guards in ([guard_tree(tensor_match(), equals_match("L['n']", value, comment=comment)) for value in (5, 7)], shapes):
        made = trace()
        for number, value in enumerate((5, 7)):
            pins = [{"symbol": "s0", "sources": ["L['n']"], "value": str(value), "user_stack": [line]}]
            symbols = [("s0", value, "L['n']")]
            made += compiled(f"0/{number}", tensor(10, 8), guards=guards[number], symbols=symbols, specializations=pins)
        recompile = last_recompile(made)
        assert (recompile.verdict, recompile.codes, recompile.causes[0].own_remedy) == (verdict, ("SL102", "SL201"), remedy)


@pytest.mark.parametrize(("value", "has_remedy"), [(1, True), (3, False)])
def test_an_int_of_one_that_a_guard_over_its_symbol_requires_needs_a_graph_of_its_own(value: int, has_remedy: bool) -> None:
    line = {"line": 6, "name": "f", "filename": MODEL, "loc": "return torch.zeros(n) + x"}
    pins = [{"symbol": "s0", "sources": ["L['n']"], "value": str(value), "user_stack": [line]}]
    made = trace()
    for number, (shape, pinned) in enumerate(((f"L['n'] == {value}", pins), ("2 <= L['n']", []))):
        symbols = [("s0", 7 if number else value, "L['n']")]
        of_int = guard_manager("L['n']", "TYPE_MATCH: ___check_type_id(L['n'], 7), type=<class 'int'>", type="int")
        guards = guard_tree(tensor_match(), of_int, shapes=(f"{shape}  {RETURN_LINE}",))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, symbols=symbols, specializations=pinned)
    cause = only(made)
    assert (cause.codes, cause.sentence) == (
        ("SL102", "SL201"),
        f"the code specialized on an int: the cache entry requires n == {value} (now n = 7)",
    )
    assert cause.own_remedy.startswith("accept the extra graph") is has_remedy


def test_a_class_that_is_made_anew_is_to_be_defined_once() -> None:
    trees = [
        guard_tree(
            tensor_match(), guard_manager("L['op']", f"ID_MATCH: ___check_obj_id(L['op'], {number}), type=<class 'app.Op'>", type="type")
        )
        for number in (7001, 7002)
    ]
    cause = only(two(*trees))
    assert cause.sentence == "op is a new class Op, not the one this was compiled for"
    assert cause.own_remedy == "define the class at module level"


def test_a_size_that_is_a_symbol_of_what_traces_the_code_is_not_known() -> None:
    """Code of an operator that is compiled while ``torch.export`` traces it."""
    tree = guard_tree(tensor_match(size=(None, 8)), shapes=(f"2 <= L['x'].size()[0]  {RETURN_LINE}",))
    inputs = [tensor(*size, stride=(8, 1), dtype=f"torch.{dtype}") for size, dtype in ((("s77", 8), "float32"), (("s77", 8), "float64"))]
    made = trace(compiled("0/0", inputs[0], guards=tree), compiled("0/1", inputs[1], guards=tree.replace("float32", "float64")))
    assert [cause.axis for cause in last_recompile(made).causes] == ["x.dtype"]


def test_a_tensor_that_is_no_view_any_more_is_named() -> None:
    trees = [guard_tree(tensor_match(size=(None, 8)), shapes=shapes) for shapes in ((f"2 <= L['x']._base.size()[0]  {RETURN_LINE}",), ())]
    reason = "0/0: 'NoneType' object has no attribute 'size'"
    made = trace(
        compiled("0/0", tensor(10, 8, is_view=True), guards=trees[0]), compiled("0/1", tensor(12, 8), guards=trees[1], reasons=(reason,))
    )
    (cause,) = last_recompile(made).causes
    assert (cause.codes, cause.axis) == (("SL303",), "x view")
    assert cause.sentence == "x was a view of another tensor when this was compiled, and no longer is one"
    assert cause.own_remedy == "pass a copy of x, made with clone(), in the calls in which it is a view"


def test_all_tensors_that_are_no_view_any_more_have_to_be_copied() -> None:
    """PyTorch names the first one alone."""
    shapes = [f"2 <= L['{name}']._base.size()[0]  {RETURN_LINE}" for name in ("x", "y")]
    dynamic = tensor_match(size=(None, 8)), tensor_match("L['y']", size=(None, 8))
    views, others = ([tensor(10, 8, is_view=is_view, source=f"L['{name}']") for name in ("x", "y")] for is_view in (True, False))
    made = trace(compiled("0/0", *views, guards=guard_tree(*dynamic, shapes=shapes)))
    made += compiled("0/1", *others, guards=guard_tree(*dynamic), reasons=("0/0: 'NoneType' object has no attribute 'size'",))
    remedies = {cause.own_remedy for cause in last_recompile(made).causes}
    assert "pass copies of x and y, made with clone(), in the calls in which these are views" in remedies


def test_two_storage_offsets_that_were_equal_at_first_cannot_be_marked() -> None:
    """Two slices ``a[n:]`` and ``b[m:]`` with symbolic sizes, first called with n == m."""
    guard = (
        "L['y'].storage_offset() == L['x'].storage_offset()  # duck sizing added this equality because these variables had the same size 6"
    )
    trees = [guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", size=(None, 8)), shapes=shapes) for shapes in ((guard,), ())]
    calls = [(tensor(10, 8, storage_offset=x), tensor(12, 8, source="L['y']", storage_offset=y)) for x, y in ((6, 6), (8, 9))]
    made = trace(*(compiled(f"0/{number}", *call, guards=trees[number]) for number, call in enumerate(calls)))
    recompile = last_recompile(made)
    (cause,) = recompile.causes
    assert (cause.codes, recompile.verdict, cause.is_size) == (("SL103",), Verdict.CODE, False)
    assert cause.sentence.startswith("two storage offsets were equal when this was compiled, ")
    assert cause.own_remedy.endswith("offsets cannot be marked")


@pytest.mark.parametrize(
    ("strides", "columns", "words"),
    [((6, 9), 1, "a storage offset and a stride"), ((6, 8), 6, "a size and a storage offset")],
    ids=["of a column", "of a whole tensor"],
)
def test_a_stride_that_follows_from_no_size_cannot_be_marked_either(strides: tuple[int, int], columns: int, words: str) -> None:
    """A column ``a[:, n]`` and a slice ``b[m:]``; the stride of a whole tensor is a size of it, which a mark gives a symbol of its own."""
    guard = "L['y'].storage_offset() == L['x'].stride()[0]  # duck sizing added this equality because these variables had the same size 6"
    made = trace()
    for number, (step, offset) in enumerate(zip(strides, (6, 7), strict=True)):
        x = tensor(10, stride=[step]) if columns == 1 else tensor(10, step)
        free = tensor_match(size=(None,) * len(x.size), stride=(None, 1)[: len(x.size)])
        tree = guard_tree(free, tensor_match("L['y']", size=(None, 8)), shapes=() if number else (guard,))
        made += compiled(f"0/{number}", x, tensor(12, 8, source="L['y']", storage_offset=offset), guards=tree)
    recompile = last_recompile(made)
    cause = next(cause for cause in recompile.causes if cause.codes == ("SL103",))
    assert cause.sentence.startswith(f"{words} were equal when this was compiled, ")
    assert cause.own_remedy.endswith(": strides and offsets cannot be marked") is (columns == 1)
    assert (recompile.verdict is Verdict.CODE) is (columns == 1)


def test_the_base_of_a_view_cannot_be_marked() -> None:
    guard = "L['x']._base.size()[0] == L['x'].size()[1]"
    tree = guard_tree(tensor_match(size=(4, None)), shapes=(f"{guard}  # (unknown var s83, please file a bug)",))
    made = trace(compiled("0/0", tensor(4, 8), guards=tree), compiled("0/1", tensor(4, 6), guards=tree, reasons=(f"0/0: {guard}",)))
    (cause,) = last_recompile(made).causes
    assert (cause.codes, cause.is_size) == (("SL103",), True)
    assert cause.own_remedy.startswith("mark dim 1 of x as dynamic, ")


def test_a_storage_offset_of_0_is_no_int_and_no_size() -> None:
    guard = "2 <= L['x'].storage_offset()"
    tree = guard_tree(tensor_match(size=(None, 8)), shapes=(f"{guard}  {RETURN_LINE}",))
    made = trace(compiled("0/0", tensor(10, 8, storage_offset=80), guards=tree), compiled("0/1", tensor(12, 8), guards=tree))
    (cause,) = last_recompile(made).causes
    assert cause.codes == ("SL104",)
    assert cause.sentence.startswith("PyTorch always specializes on a storage offset of 0 or 1: ")
    assert cause.own_remedy.startswith("clone() the slice or view before the call, or accept the extra graph")


def test_what_lies_below_a_replaced_object_only_follows() -> None:
    trees = [
        guard_tree(tensor_match(), identity("L['self']", number, "app.Net"), identity("L['self'].act", number + 10, "app.Act"))
        for number in (7001, 7002)
    ]
    recompile = last_recompile(two(*trees))
    assert [cause.axis for cause in recompile.causes] == ["id(self)"]
    assert recompile.consequences == ("id(self.act)",)


def test_the_length_of_a_list() -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['xs']", f"LENGTH_CHECK: len(L['xs']) == {number}", type="list")) for number in (2, 3)
    ]
    cause = only(two(*trees, "len(xs) == 2"))
    assert (cause.codes, cause.before, cause.after) == (("SL313",), "2", "3")


def test_the_length_of_a_dict_is_its_keys() -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {number}", type="dict")) for number in (2, 3)]
    assert only(two(*trees, "len(d) != 2")).codes == ("SL314",)


@pytest.mark.parametrize(
    ("line", "operator", "verdict"),
    [
        ("if d:", "mul", Verdict.JUSTIFIED),
        ("if d:", "add", Verdict.CODE),  # one graph does for both
        ("for key in d:", "mul", Verdict.CODE),
    ],
)
@pytest.mark.parametrize(("kind_of", "code"), [("dict", "SL314"), ("list", "SL313")])
def test_code_that_asks_what_is_there_and_does_something_else_needs_a_graph_for_each_case(
    kind_of: str, code: str, line: str, operator: str, verdict: Verdict
) -> None:
    made = trace()
    for number, (kind, name) in enumerate((("not ", "add"), ("", operator))):
        asked = guard_manager("L['d']", f"BOOL_MATCH: {kind}L['d']", type=kind_of, comment=code_comment(6, line))
        check = "DICT_LENGTH" if kind_of == "dict" else "LENGTH_CHECK"
        keys = guard_manager("L['d']", f"{check}: len(L['d']) == {number}", type=kind_of, comment=code_comment(6, line))
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'{name}: "f32[10, 8][8, 1]cpu" = torch.{name}(l_x_, 1)', f"return ({name},)")
        reasons = (f"0/0: len(d) == 0  {code_comment(6, line)}",) if number else ()
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), asked, keys), graph=graph, reasons=reasons)
    recompile = last_recompile(made)
    assert (recompile.causes[0].codes, recompile.verdict) == ((code,), verdict)


def test_a_group_of_parameters_is_added_to_an_optimizer_before_its_first_step() -> None:
    groups = "L['self'].param_groups"
    lengths = [guard_manager(groups, f"LENGTH_CHECK: len({groups}) == {number}", type="list") for number in (1, 2)]
    trees = [guard_tree(tensor_match(), length) for length in lengths]
    cause = only(two(*trees, "len(self.param_groups) == 1"))
    assert (cause.codes, cause.own_remedy.partition(" to ")[0]) == (("SL313",), "add all groups of parameters")


def test_a_key_that_is_gone() -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['d']", f"DICT_CONTAINS: {no}___dict_contains('k', L['d'])", type="dict"))
        for no in ("not ", "")
    ]
    cause = only(two(*trees, "not ___dict_contains('k', d)"))
    assert (cause.codes, cause.sentence) == (("SL314",), "d now contains 'k'")
    assert (cause.before, cause.after) == ("without 'k'", "with 'k'")


@pytest.mark.parametrize(("lacks", "sentence"), [(0, "d now contains 'k'"), (1, "d no longer contains 'k'")])
def test_a_key_that_pytorch_does_not_name_is_seen_by_its_item(lacks: int, sentence: str) -> None:
    absent = guard_tree(tensor_match(), guard_manager("L['d']", "DICT_CONTAINS: not ___dict_contains('k', L['d'])", type="dict"))
    present = guard_tree(tensor_match(), equals_match("L['d']['k'].size", 3))
    trees = [absent, present] if lacks == 0 else [present, absent]
    made = trace(
        compiled("0/0", tensor(10, 8), guards=trees[0]),
        compiled("0/1", tensor(12, 8), guards=trees[1], reasons=[size_mismatch("0/0", 10, 12)]),
    )
    recompile = last_recompile(made)
    assert [(cause.codes[0], cause.sentence) for cause in recompile.causes[1:]] == [("SL314", sentence)]
    assert recompile.verdict is not Verdict.MARKING


def dict_of(*keys: str, length: int) -> str:
    items = (equals_match(f"L['d']['{key}']", 3) for key in keys)
    return guard_tree(tensor_match(), guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {length}", type="dict"), *items)


def test_other_keys_of_a_dict_of_the_same_length_are_seen_where_all_have_guards() -> None:
    cause = only(two(dict_of("a", "b", length=2), dict_of("b", "c", length=2)))
    assert cause.sentence == "the dict d has other keys (new: 'c'; gone: 'a')"
    some = last_recompile(two(dict_of("a", length=2), dict_of("c", length=2)))
    assert not some.causes  # both may have both keys


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [("bcd", "the dict d had 2 keys and now has 3 (new: 'c', 'd'; gone: 'a')"), ("bc", "d now contains 'c', and has 3 keys in place of 2")],
    ids=["all are known", "some are"],
)
def test_a_dict_with_another_number_of_keys_has_that_in_place_of_the_one_that_pytorch_names(keys: str, sentence: str) -> None:
    trees = dict_of("a", "b", length=2), dict_of(*keys, length=3)
    missing = guard_manager("L['d']", "DICT_CONTAINS: not ___dict_contains('c', L['d'])")
    made = two(trees[0] + missing, trees[1], "not ___dict_contains('c', d)")
    assert sentence in [cause.sentence for cause in last_recompile(made).causes]


def test_many_keys_of_one_dict_are_one_cause() -> None:
    trees = [
        guard_tree(
            tensor_match(),
            equals_match("list(dict.keys(L['d']))[0]", one, "str"),
            equals_match("list(dict.keys(L['d']))[1]", other, "str"),
            guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {number}", type="dict"),
        )
        for one, other, number in (("a", "b", 2), ("c", "d", 3))
    ]
    assert only(two(*trees, "list(dict.keys(d))[0] == 'a'")).codes == ("SL314",)


@pytest.mark.parametrize("changed", ["G['found']", "L['other']", None])
def test_a_dict_that_the_first_call_fills_has_more_keys_in_a_dynamic_graph_as_well(changed: str | None) -> None:
    """The backends of einops, by the class of a tensor: where a parameter is the first of its class, PyTorch names the size alone."""
    keys = [identity(f"list(dict.keys(G['found']))[{place}]", 7001 + place, "app.Kind") for place in range(2)]
    made = trace(compiled("0/0", tensor(10, 8), more_guards=keys[:1]))
    made += make.artifact("dynamo_side_effects", f"Mutating object of type dict (source name: {changed})\n", id="0/0") if changed else b""
    reason = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"
    symbols = (("s77", "12", "L['x'].size()[0]"),)
    recompile = last_recompile(made + compiled("0/1", tensor(12, 8), more_guards=keys, symbols=symbols, reasons=(reason,)))
    sentences = ["found had 1 key and now has 2"] if changed == "G['found']" else []
    assert [cause.sentence.removeprefix("the dict ") for cause in recompile.causes if cause.codes == ("SL314",)] == sentences


def test_hooks_are_kept_by_numbers_which_are_no_keys_to_pass() -> None:
    hooks = "L['self']._modules['net']._backward_hooks"
    trees = [guard_tree(tensor_match(), equals_match(f"list(dict.keys({hooks}))[0]", number)) for number in (30, 45)]
    cause = only(two(*trees, f"list(dict.keys({hooks}))[0] == 30"))
    assert (cause.codes, cause.sentence) == (("SL320",), "self.net has another backward hook than before")
    assert cause.own_remedy == "register the hooks before the first call, and keep them"


def test_submodules_have_names_which_are_no_keys_to_pass() -> None:
    layers = "L['self']._modules['layers']._modules"
    trees = [guard_tree(tensor_match(), equals_match(f"list(dict.keys({layers}))[0]", name, "str")) for name in ("conv", "fc")]
    cause = only(two(*trees, f"list(dict.keys({layers}))[0] == 'conv'"))
    assert (cause.codes, cause.sentence) == (("SL314",), "self.layers has modules of other names than before")
    assert (cause.verdict, cause.own_remedy[:33]) == (Verdict.JUSTIFIED, "modules of a different structure ")


def of_class(source: str, name: str, *parts: str) -> str:
    own = guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, {len(name)}), type=<class 'app.{name}'>", type=f"app.{name}")
    return guard_tree(tensor_match(), own, *parts)


@pytest.mark.parametrize(("weight", "verdict"), [("L['net']._parameters['w']", Verdict.JUSTIFIED), ("L['net'].w", Verdict.CODE)])
def test_each_class_of_module_whose_parameters_a_graph_takes_needs_its_own(weight: str, verdict: Verdict) -> None:
    made = trace()
    for number, name in enumerate(("Conv", "Linear")):
        reasons = ("0/0: ___check_type_id(net, 4), type=<class 'app.Conv'>",) if number else ()
        guards = of_class("L['net']", name, tensor_match(weight))
        made += compiled(f"0/{number}", tensor(10, 8), tensor(10, 8, source=weight), guards=guards, reasons=reasons)
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL310",), verdict)
    assert cause.own_remedy.startswith("the code computes with the parameters") is (verdict is Verdict.JUSTIFIED)


@pytest.mark.parametrize(("classes", "verdict"), [(("Gru", "Lstm"), Verdict.JUSTIFIED), (("Gru", "Gru"), Verdict.CODE)])
def test_a_decorator_of_a_library_calls_another_method_for_another_class(classes: tuple[str, str], verdict: Verdict) -> None:
    file, made = "/usr/lib/python3/site-packages/lib/common.py", trace()
    for number, name in enumerate(classes):
        code, comment = f"L['func'].__code__, {7 + number}", f"# return func(*args, **kwargs)  # {file}:234 in wrapper"
        func = guard_manager("L['func'].__code__", f"ID_MATCH: ___check_obj_id({code}), type=<class 'code'>", type="code", comment=comment)
        reasons = (f"0/0: ___check_obj_id(func.__code__, 7), type=<class 'code'>  {comment}",) if number else ()
        guards = of_class("L['args'][0]", name, func)
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, reasons=reasons, name="wrapper", file=file, line=219)
    found = {cause.codes[0]: cause for cause in last_recompile(made).causes}
    assert found.pop("SL309").verdict is verdict
    assert [cause.axis for cause in found.values()] == (["type(args[0])"] if verdict is Verdict.JUSTIFIED else [])


@pytest.mark.parametrize(("line", "axes"), [("return op(*args)", ["type(op)"]), ("return op(x)", ["type(op)", "args[0].rank"])])
def test_what_is_passed_on_to_a_function_of_another_kind_has_other_dimensions(line: str, axes: list[str]) -> None:
    made = trace()
    for number, (kind, size) in enumerate((("builtin_function_or_method", (10, 8)), ("function", (10,)))):
        check = f"TYPE_MATCH: ___check_type_id(L['op'], {7 + number}), type=<class '{kind}'>"
        op = guard_manager("L['op']", check, type=kind, comment=code_comment(7, line))
        of_args = tensor_match("L['args'][0]", size=size)
        made += compiled(f"0/{number}", tensor(*size, source="L['args'][0]"), guards=guard_tree(op, of_args), name="wrapper")
    assert [cause.axis for cause in make.last_recompile(made).causes] == axes


@pytest.mark.parametrize("types", [("app.Rows", "app.Columns"), ("app.Rows", "app.Rows")])
def test_what_a_decorator_passes_on_to_another_function_has_other_types(types: tuple[str, str]) -> None:
    """One wrapper is put around several functions, which all share its cache."""
    made = trace()
    for number, name in enumerate(types):
        code, comment = f"L['func'].__code__, {7 + number}", f"# return func(*args, **kwargs)  # {MODEL}:99 in wrapper"
        func = guard_manager("L['func'].__code__", f"ID_MATCH: ___check_obj_id({code}), type=<class 'code'>", type="code", comment=comment)
        reasons = (f"0/0: ___check_obj_id(func.__code__, 7), type=<class 'code'>  {comment}",) if number else ()
        made += compiled(f"0/{number}", tensor(10, 8), guards=of_class("L['args'][1]", name, func), reasons=reasons, name="wrapper")
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL309",), Verdict.JUSTIFIED if types[0] != types[1] else Verdict.CODE)


@pytest.mark.parametrize(
    ("capture", "file", "is_of_forward"),
    [
        ("!0/", "<eval_with_key>.5", True),
        ("!0/", "/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", True),
        ("!0/", MODEL, False),
        ("", "/venv/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", False),
    ],
)
def test_what_autograd_passes_has_the_dimensions_dtypes_and_layouts_of_the_forward_pass(
    capture: str, file: str, is_of_forward: bool
) -> None:
    first, transposed = compiled(f"{capture}3/0", tensor(10, 8), file=file), tensor(10, 8, stride=[1, 10])
    more = [tensor(10, 8, 2), tensor(10, 8, dtype="torch.float64"), transposed]
    causes = [only(trace(first, compiled(f"{capture}3/1", other, file=file))) for other in more]
    assert [cause.codes for cause in causes] == [("SL107",), ("SL301",), ("SL105",)]
    assert [bool(cause.own_remedy) for cause in causes] == [is_of_forward] * 3


@pytest.mark.parametrize(("capture", "is_captured"), [("!0/", True), ("", False)])
@pytest.mark.parametrize(
    ("inputs", "guard", "reason", "code"),
    [
        ((tensor(10, 8, dtype="torch.float64"),), tensor_match(dtype="float64"), "tensor 'x' dtype mismatch", "SL301"),
        ((), guard_manager("L['x']", type="app.T"), "expected type of 'x' to be a tensor type, ' but found <class 'app.T'>", "SL310"),
    ],
)
def test_the_user_passes_nothing_to_the_graph_of_a_backward_pass(
    capture: str, is_captured: bool, inputs: tuple[make.Tensor, ...], guard: str, reason: str, code: str
) -> None:
    first, reasons = compiled(f"{capture}3/0", tensor(10, 8), file="<eval_with_key>.5"), [f"{capture}3/0: {reason}"]
    again = compiled(f"{capture}3/1", *inputs, guards=guard_tree(guard), file="<eval_with_key>.5", reasons=reasons)
    cause = only(trace(first, again))
    assert (cause.codes, cause.verdict) == ((code,), Verdict.CODE)
    assert cause.own_remedy.startswith("pass the same types and dtypes to every forward pass") is is_captured


@pytest.mark.parametrize(
    ("before", "after", "words", "remedy"),
    [
        (4, 11, ": 11 in place of 4, which its class has", "set all attributes in __init__, and mark the int o.k as dynamic"),
        ("sum", "max", ": 'max' in place of 'sum', which its class has", "set all attributes in __init__, and accept one graph"),
        (4, 4, "", ""),
    ],
)
def test_an_attribute_of_its_own_hides_one_of_the_class(before: object, after: object, words: str, remedy: str) -> None:
    kind = type(before).__name__
    lacks = guard_manager("L['o']", "NO_HASATTR: not hasattr(L['o'], 'k')")
    first = guard_tree(tensor_match(), lacks, equals_match("dict(type(L['o']).__dict__)['k']", before, kind))
    cause = only(two(first, guard_tree(tensor_match(), equals_match("L['o'].k", after, kind)), "not hasattr(o, 'k')"))
    assert (cause.codes, cause.sentence) == (("SL320",), f"o now has the attribute k{words}")
    assert cause.own_remedy.partition(":")[0].startswith(remedy)
    assert bool(cause.own_remedy) == bool(remedy)


@pytest.mark.parametrize("is_dynamic", [True, False])
def test_a_float_in_place_of_an_int_needs_another_graph_for_each_value_unless_it_is_dynamic(is_dynamic: bool) -> None:
    first = guard_tree(tensor_match(), equals_match("L['s']", 3))
    second = guard_tree(tensor_match(), guard_manager("L['s']", "TYPE_MATCH: ___check_type_id(L['s'], 8)", type="float"))
    fixed = guard_tree(tensor_match(), equals_match("L['s']", 2.5, "float"))
    made = trace(compiled("0/0", tensor(10, 8), guards=first))
    symbols = (("zf0", 2.5, "L['s']"),) if is_dynamic else ()
    made += compiled("0/1", tensor(10, 8), guards=second if is_dynamic else fixed, symbols=symbols, reasons=("0/0: s == 3",))
    cause = only(made)
    assert cause.own_remedy.endswith("or accept one more graph: PyTorch made this float dynamic when it changed") is is_dynamic


def test_the_state_of_an_optimizer_that_was_cleared_is_kept() -> None:
    owner = guard_manager("L['opt']", type="torch.optim.rmsprop.RMSprop")
    full, empty = (guard_manager("L['opt'].state", f"DICT_LENGTH: len(L['opt'].state) == {n}", type="dict") for n in (4, 2))
    assert only(two(guard_tree(tensor_match(), owner, full), guard_tree(tensor_match(), owner, empty))).own_remedy.startswith(
        "keep the state"
    )
    other = guard_manager("L['opt']", type="app.Holder")
    assert not only(two(guard_tree(tensor_match(), other, full), guard_tree(tensor_match(), other, empty))).own_remedy


def test_an_attribute_that_came() -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['o']", f"NO_HASATTR: {no}hasattr(L['o'], 'cache')")) for no in ("not ", "")]
    cause = only(two(*trees, "not hasattr(o, 'cache')"))
    assert (cause.codes, cause.sentence) == (("SL320",), "o now has the attribute cache")


def test_what_an_object_still_lacks_itself_may_be_a_method_of_its_class() -> None:
    lacks = guard_manager("L['o'].__dict__", "DICT_CONTAINS: not ___dict_contains('run', L['o'].__dict__)")
    method = guard_manager("L['o'].run", type="method")
    trees = [guard_tree(tensor_match(), lacks, method, equals_match("L['k']", number)) for number in (3, 4)]
    assert only(two(*trees)).axis == "k"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("", "SL318"),
        ("BACKEND_MATCH failure: torch.compile detected different backend callables. More details: ...", "SL318"),
        ("Cache line invalidated because L['k'] got deallocated", "SL319"),
        ('Duplicate tensors found: ["x", "y"]', "SL317"),
        ("x is y", "SL317"),
        ("_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time", "SL321"),
        ("hasattr(x, '_dynamo_dynamic_indices') == False", "SL321"),
        ("getattr failed on source o", "SL320"),
        ("KeyError on G['GX']", "SL320"),
        ("ClosureGuardAccessor: Not a function on fn.__closure__", "SL309"),
        ("__math_isnan(s)", "SL312"),
        ("___normalize_range_iter(i) == (0, 3, 1)", "SL313"),
        ("Unexpected recompilation: runtime guards failed even though they passed", "SL399"),
        ("___check_opaque_guard_fn_3", "SL399"),
        ("L['self']._modules['to_k']._parameter", "SL399"),
    ],
)
def test_what_only_the_reason_tells(reason: str, code: str) -> None:
    recompile = last_recompile(two(guard_tree(tensor_match()), guard_tree(tensor_match()), reason))
    assert recompile.codes == (code,)
    assert not recompile.size_related
    assert recompile.causes[0].sentence


def test_a_reason_that_ends_within_a_source_is_cut_off() -> None:
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "L['self']._modules['to_k']._parameter"))
    assert cause.sentence == "the reason is cut off behind L['self']._modules['to_k']._parameter"
    assert cause.own_remedy.startswith("add the rest of the reason")


@pytest.mark.parametrize(
    ("type", "remedy"),
    [
        ("app.make.<locals>.Net", "define the class at module level"),
        ("torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl", "create the GraphModule once"),
        ("app.Net", ""),
    ],
)
def test_a_class_that_died_is_to_be_made_once(type: str, remedy: str) -> None:
    """Be it the class of an object, or passed itself."""
    of_class = guard_tree(tensor_match(), guard_manager("L['m']", "TYPE_MATCH: ___check_type_id(L['m'], 7)", type=type))
    passed = guard_tree(tensor_match(), a_class(type, 7))
    for tree, gone in ((of_class, "type(L['m'])"), (passed, "L['k']")):
        first = compiled("0/0", tensor(10, 8), guards=tree)
        second = compiled(
            "0/1", tensor(10, 8), guards=guard_tree(tensor_match()), reasons=[f"0/0: Cache line invalidated because {gone} got deallocated"]
        )
        cause = only(trace(first, second))
        assert (cause.codes, cause.own_remedy.startswith(remedy), bool(cause.own_remedy)) == (("SL319",), True, bool(remedy))


@pytest.mark.parametrize(
    ("source", "type", "named"),
    [("L['self']", "torch.optim.sgd.SGD", "self (an SGD)"), ("L['k']", "", "k")],
)
def test_an_object_that_died_is_named_with_its_class(source: str, type: str, named: str) -> None:
    leaf = guard_manager(source, f"ID_MATCH: ___check_obj_id({source}, 7)", type=type)
    cause = only(
        two(guard_tree(tensor_match(), leaf), guard_tree(tensor_match()), f"Cache line invalidated because {source} got deallocated")
    )
    assert cause.sentence == f"{named} was garbage-collected, which discards the code compiled for it"


@pytest.mark.parametrize(
    "reason", ["0/0: Cache line invalidated because L['self'] got deallocated", "0/0: ___check_obj_id(self, 1), type=<class 'app.Opt'>"]
)
@pytest.mark.parametrize(("other", "verdict"), [(2, Verdict.JUSTIFIED), (3, Verdict.CODE)])
def test_objects_that_hold_other_parts_need_a_graph_each(other: int, verdict: Verdict, reason: str) -> None:
    """As an optimizer of another model, of which one graph never does for both, however long each lives."""
    made = trace()
    for number, count in enumerate((3, other)):
        held = guard_manager("L['self'].groups", f"LENGTH_CHECK: len(L['self'].groups) == {count}", type="list")
        own = guard_manager("L['self']", f"ID_MATCH: ___check_obj_id(L['self'], {number + 1})", type="app.Opt")
        graph = graph_text(
            'L_x_: "f32[10, 8][8, 1]cpu"', *[f'y{at}: "f32[10, 8][8, 1]cpu" = l_x_ + {at}' for at in range(count)], "return ()"
        )
        made += compiled(
            f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), own, held), graph=graph, reasons=[reason] if number else ()
        )
    recompile = last_recompile(made)
    assert recompile.verdict is verdict
    assert ("accept one graph for each of these objects" in recompile.causes[0].own_remedy) is (verdict is Verdict.JUSTIFIED)


def test_an_object_that_died_stands_for_the_one_that_came_after_it() -> None:
    trees = [guard_tree(tensor_match(), identity("L['k']", number, "type")) for number in (7001, 7002)]
    assert last_recompile(two(*trees, "Cache line invalidated because L['k'] got deallocated")).codes == ("SL319",)
    assert last_recompile(two(*trees, "___guarded_code.valid")).codes == ("SL319", "SL308")  # which object, it does not name


@pytest.mark.parametrize(
    ("attribute", "function"),
    [
        ("_dynamo_dynamic_indices", "mark_dynamic"),
        ("_dynamo_weak_dynamic_indices", "maybe_mark_dynamic"),
        ("_dynamo_static_indices", "mark_static"),
    ],
)
def test_a_mark_that_an_entry_was_made_without(attribute: str, function: str) -> None:
    marked = f"((L['x'].{attribute}.issubset({{0}})) if hasattr(L['x'], '{attribute}') else True)"
    unmarked = f"hasattr(L['x'], '{attribute}') == False"
    made = two(
        guard_tree(tensor_match(more=(f"NO_HASATTR: {unmarked}",))),
        guard_tree(tensor_match(more=(f"DYNAMIC_INDICES: {marked}",))),
        unmarked,
    )
    cause = only(made)
    assert (cause.codes, cause.axis) == (("SL321",), f"x {function}")
    assert cause.sentence == f"x is now marked by {function}, but was not when this was compiled"


def test_a_source_that_a_setting_keeps_static_has_to_leave_it_first() -> None:
    setting = r"""{"dynamic_sources": "", "static_sources": "L['y'],L\\['x'\\]"}"""
    sizes = [compiled(f"0/{number}", tensor(size), compiler_config=setting) for number, size in enumerate((8, 9))]
    found = last_recompile(trace(*sizes))
    assert (found.verdict, found.blocking_rule) == (Verdict.CODE, "SL321")
    assert found.why_not_markable == "x is in torch.compiler.config.static_sources, which overrides the list of dynamic sources"
    unset = [compiled(f"0/{number}", tensor(size), compiler_config="{}") for number, size in enumerate((8, 9))]
    assert last_recompile(trace(*unset)).verdict is Verdict.MARKING


@pytest.mark.parametrize(("operator", "verdict"), [("-", Verdict.JUSTIFIED), ("+", Verdict.CODE)])
def test_an_attribute_of_a_tensor_that_a_line_branches_on_needs_a_graph_for_each(operator: str, verdict: Verdict) -> None:
    line = "return x + 1 if hasattr(x, 'tag') else x - 1"
    made = trace()
    for number, (text, used) in enumerate((("not ", "+"), ("", operator))):
        has = f"NO_HASATTR: {text}hasattr(L['x'], 'tag')  # {line}  # app/m.py:3 in f"
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = l_x_ {used} 1', "return (y,)")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(more=(has,))), graph=graph)
    assert only(made).verdict is verdict


def test_a_marking_that_pytorch_names_without_its_tensor_is_one_cause() -> None:
    ways = ("_dynamo_dynamic_indices", "_dynamo_unbacked_indices")
    plain = [f"NO_HASATTR: hasattr(L['x'], '{way}') == False" for way in ways]
    marked = [f"DYNAMIC_INDICES: ((L['x'].{way}.issubset({{0}})) if hasattr(L['x'], '{way}') else True)" for way in ways]
    reason = "_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time"
    cause = only(two(guard_tree(tensor_match(more=plain)), guard_tree(tensor_match(more=marked)), reason))
    assert (cause.codes, cause.source, cause.named_by_pytorch) == (("SL321",), "L['x']", True)


INPUT = 'L_x_: "f32[10, 8][8, 1]cpu"'
TWO_TENSORS = (tensor_match(), tensor_match("L['y']"))
TWO_OBJECTS = [guard_manager(f"L['{name}']", f"TYPE_MATCH: ___check_type_id(L['{name}'], 7)", type="app.Box") for name in "ab"]


@pytest.mark.parametrize(
    ("guards", "reason", "sentence"),
    [
        (TWO_TENSORS, 'Duplicate tensors found: ["x", "y"]', "x and y were different tensors, and are now the same one"),
        (TWO_TENSORS, "x is y", "x and y were the same tensor, and now differ"),
        (
            TWO_TENSORS,
            'Duplicate tensors found: ["x", "y", "z"]',
            "x, y and z were different tensors, and some of them are now the same one",
        ),
        (TWO_TENSORS[:1], "x is y", "x and y were the same tensor, and now differ"),
        (TWO_OBJECTS, "a is b", "a and b were the same object, and now differ"),
        (
            TWO_TENSORS,
            "check_overlapping(overlapping=[x], non_overlapping=[y])",
            "x overlapped in memory when this was compiled, and y did not; that has changed",
        ),
    ],
)
def test_what_became_one_or_two_is_named(guards: tuple[str, ...], reason: str, sentence: str) -> None:
    cause = only(two(guard_tree(*guards), guard_tree(*guards), reason))
    assert cause.codes == ("SL317",)
    assert cause.sentence.endswith(sentence)
    assert ("clone()" in (cause.own_remedy or cause.rule.remedy)) is ("object" not in sentence)


@pytest.mark.parametrize(
    ("use", "verdict"),
    [
        ("torch.add(l_x_, l_x_, alpha = item)", Verdict.JUSTIFIED),
        ("torch.nn.functional.leaky_relu(l_x_, item)", Verdict.JUSTIFIED),
        ("l_x_ * item", Verdict.CODE),
        ("torch.clamp(l_x_, min = item)", Verdict.CODE),
        ("torch.add(l_x_, l_x_, alpha = other)", Verdict.CODE),
        ("torch.add(l_x_, l_x_, alpha = scaled)", Verdict.JUSTIFIED),
        ("l_x_ * scaled", Verdict.CODE),
    ],
)
def test_a_float_that_an_operator_takes_as_a_number_is_not_wrapped_in_a_tensor(use: str, verdict: Verdict) -> None:
    trees = [guard_tree(tensor_match(), equals_match("L['s']", value, "float")) for value in (0.1, 0.2)]
    graph = graph_text(
        INPUT,
        "l_s_ = L_s_",
        'item: "Sym(zf72)" = l_s_.item();  l_s_ = None',
        'scaled: "Sym(0.5*zf72)" = item * 0.5',
        f'y: "f32[10, 8][8, 1]cpu" = {use}',
        "return (y,)",
    )
    made = trace(compiled("0/0", tensor(10, 8), guards=trees[0]), compiled("0/1", tensor(10, 8), guards=trees[1], graph=graph))
    assert (only(made).verdict, only(made).own_remedy.startswith("accept one more graph")) == (verdict, verdict is Verdict.JUSTIFIED)


def test_tensors_that_are_keys_of_a_dict_and_parameters_are_not_copied() -> None:
    """Nothing is found under a copy, and what changes a copy does not change the parameter."""
    guards = guard_tree(tensor_match(), tensor_match("list(dict.keys(L['self'].state))[0]"))
    cause = only(two(guards, guards, "x is list(dict.keys(self.state))[0]"))
    assert cause.sentence == "x and list(self.state)[0] were the same tensor, and now differ"
    assert cause.own_remedy.startswith("look up what belongs to the tensor before the call")
    inputs = [tensor(4, source=f"L['{name}']", is_parameter=True) for name in "ab"]
    made = trace(compiled("0/0", *inputs), compiled("0/1", *inputs, reasons=["0/0: a is b"]))
    assert only(made).own_remedy == "pass parameters that are always distinct or always the same, or accept one graph for each case"


@pytest.mark.parametrize(
    ("is_changed", "reason", "remedy"),
    [
        (True, "len(d) != 1", "the code itself adds keys to this dict: add them before the first compiled call (one call without"),
        (True, "len(d) == 1", "the code itself adds items: return them, and add them outside"),
        (False, "len(d) == 1", ""),
        (False, "len(d) == 1  # return y * len(d)  # app/m.py:3 in f", "pass the number of items as an int, which can be dynamic"),
        (False, "len(d) == 1  # return ones(len(d), d[-1])  # app/m.py:3 in f", "pass the number of items and the items that are used as"),
        (False, "len(d) == 1  # return y * len(old_d)  # app/m.py:3 in f", ""),
        (False, "len(d) == 1  # d.append(y.item())  # app/m.py:3 in f", "the code itself adds items: return them"),
        (False, "len(d) == 1  # d.append(len(d))  # app/m.py:3 in f", "the code itself adds items: return them"),
        (
            True,
            "len(d) == 1  # if i >= len(self.d):  # transformers/cache_utils.py:1508 in update",
            "accept the extra graph: library code adds the items (cache_utils.py:1508)",
        ),
        (False, "len(d) == 1  # old_d.append(y.item())  # app/m.py:3 in f", ""),
    ],
)
def test_a_container_that_the_code_fills_or_only_counts_has_a_remedy_of_its_own(is_changed: bool, reason: str, remedy: str) -> None:
    made = two(guard_tree(tensor_match()), guard_tree(tensor_match()), reason)
    effects = "Mutating object of type dict (source name: L['d'])\n" if is_changed else ""
    cause = only(made + (make.artifact("dynamo_side_effects", effects, id="0/0") if effects else b""))
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


def test_an_iterator_that_the_code_goes_through_gets_no_items() -> None:
    """As that of a list comprehension, whose position is a side effect."""
    made = trace()
    for number, length in enumerate((1, 3)):
        guard = f"TUPLE_ITERATOR_LEN: ___tuple_iterator_len(L['.0']) == {length}"
        guards = guard_tree(tensor_match(), guard_manager("L['.0']", guard, type="tuple_iterator"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards)
        made += make.artifact("dynamo_side_effects", "Mutating object of type tuple_iterator (source name: L['.0'])\n", id=f"0/{number}")
    assert (only(made).sentence, only(made).own_remedy) == (".0 (what this code iterates over) had 1 item and now has 3", "")


TANH = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")


@pytest.mark.parametrize(
    ("other", "begins"), [(graph_text(), "pass the number of items as an int"), (TANH, "accept one graph for each case")]
)
def test_a_number_of_items_that_leads_to_another_graph_needs_one_as_an_int_too(other: str, begins: str) -> None:
    """``__len__`` of an object, which ``if not obj`` calls."""
    made = trace()
    for number, graph in enumerate((graph_text(), other)):
        length = f"LENGTH_CHECK: len(L['o'].items) == {3 - number}  # return len(self.items)  # app/m.py:3 in __len__"
        guards = guard_tree(tensor_match(), guard_manager("L['o'].items", length, type="list", comment=""))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph=graph)
    cause = only(made)
    assert cause.own_remedy.startswith(begins)
    assert (cause.verdict is Verdict.JUSTIFIED) is (other == TANH)


def plus(number: int) -> str:
    added = f'add: "f32[10, 8][8, 1]cpu" = l_x_ + {number};  l_x_ = None'
    return graph_text('L_x_: "f32[10, 8][8, 1]cpu"', added, "return (add,)")


@pytest.mark.parametrize(("number", "other", "is_justified"), [(1, 2, True), (1, 1, False), (3, 2, False)])
def test_objects_that_hold_other_numbers_need_a_graph_each(number: int, other: int, is_justified: bool) -> None:
    """A ``numpy.finfo`` of another dtype; an int that differs, too, may be the number."""
    made = trace()
    for place, added in enumerate((1, other)):
        same = guard_manager(
            "L['info']", f"ID_MATCH: ___check_obj_id(L['info'], {700 + place}), type=<class 'numpy.finfo'>", type="numpy.finfo"
        )
        value = equals_match("L['k']", number if place else 1)
        made += compiled(f"0/{place}", tensor(10, 8), guards=guard_tree(tensor_match(), same, value), graph=plus(added))
    cause = next(cause for cause in last_recompile(made).causes if cause.codes == ("SL308",))
    assert (cause.verdict is Verdict.JUSTIFIED) is cause.own_remedy.startswith("accept one graph for each object") is is_justified


@pytest.mark.parametrize(("line", "is_justified"), [('if "k" in d:', True), ('y = d["k"]', False)])
def test_a_key_that_a_branch_asks_for_needs_a_graph_for_each_case_where_only_numbers_differ(line: str, is_justified: bool) -> None:
    made = trace()
    for number, (text, key) in enumerate((("", "k"), ("not ", "m"))):
        has = f"DICT_CONTAINS: {text}___dict_contains('k', L['d'])  # {line}  # app/m.py:3 in f"
        keys = equals_match("list(dict.keys(L['d']))[0]", key, "str")
        guards = guard_tree(tensor_match(), guard_manager("L['d']", has, type="dict", comment=""), keys)
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph=plus(number))
    cause = only(made)
    assert cause.codes == ("SL314",)
    assert (cause.verdict is Verdict.JUSTIFIED) is is_justified


@pytest.mark.parametrize(
    ("line", "other", "is_justified"),
    [
        ('if getattr(c, "flag", False):', TANH, True),
        ('if getattr(c, "flag", False):', graph_text(), False),
        ('if getattr(c, "flag", None) is None:', TANH, False),  # what is computed once can be there from the start
        ('if hasattr(c, "flag"):', TANH, False),
    ],
)
def test_an_attribute_whose_value_the_code_branches_on_needs_a_graph_for_each(line: str, other: str, is_justified: bool) -> None:
    made = trace()
    for number, (text, graph) in enumerate((("not ", graph_text()), ("", other))):
        has = f"NO_HASATTR: {text}hasattr(L['c'], 'flag')  # {line}  # app/m.py:3 in f"
        guards = guard_tree(tensor_match(), guard_manager("L['c']", has, type="app.Config", comment=""))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph=graph)
    cause = only(made)
    assert (cause.codes, cause.sentence) == (("SL320",), "c now has the attribute flag")
    assert (cause.verdict is Verdict.JUSTIFIED) is cause.own_remedy.startswith("accept one graph for each case") is is_justified


@pytest.mark.parametrize(
    ("line", "other", "is_justified"),
    [
        ("if is_profiled():", TANH, True),
        ("while is_profiled():", TANH, True),
        ("if is_profiled():", graph_text(), False),
        ("y = is_profiled()", TANH, False),
        ("except is_profiled():", TANH, False),
    ],
)
def test_a_condition_that_comes_from_a_graph_break_needs_a_graph_for_each_value(line: str, other: str, is_justified: bool) -> None:
    made = trace()
    for number, graph in enumerate((graph_text(), other)):
        leaf = equals_match("L['___stack0']", bool(number), "bool", comment=code_comment(7, line))
        guards = guard_tree(tensor_match(), leaf)
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph=graph, name="torch_dynamo_resume_in_f_at_7")
    cause = only(made)
    assert cause.codes == ("SL311",)
    assert (cause.verdict is Verdict.JUSTIFIED) is is_justified


@pytest.mark.parametrize(("source", "is_left"), [("L['___stack0']", True), ("L['___stack0'].dilation", False)])
def test_what_an_object_has_that_a_graph_break_left_is_not_left_by_it(source: str, is_left: bool) -> None:
    """A module that was made before the break, or was passed to the code: without the break it has other constants just as well."""
    made = trace()
    for number in (1, 2):
        guards = guard_tree(tensor_match(), guard_manager(source, f"EQUALS_MATCH: {source} == ({number}, {number})", type="tuple"))
        made += compiled(f"0/{number - 1}", tensor(10, 8), guards=guards, name="torch_dynamo_resume_in_f_at_7")
    assert only(made).verdict is (Verdict.CODE if is_left else Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("before", "after", "lines", "remedy"),
    [
        (3, 4, (), "the code itself adds items"),
        (3, 4, ("d.append(x)",), "the code itself adds items"),
        (3, 4, ("d[0] = 1", "d[0] = d[1]"), ""),
        (3, 4, ("d[0] = 1", "d += [x]"), "the code itself adds items"),
        (3, 4, ("d[3:] = [x]",), "the code itself adds items"),
        (4, 3, (), ""),
    ],
)
def test_a_list_that_the_code_only_sets_items_of_or_that_is_shorter_is_none_that_it_added_to(
    before: int, after: int, lines: tuple[str, ...], remedy: str
) -> None:
    trees = [guard_tree(tensor_match(), guard_manager("L['d']", f"LENGTH_CHECK: len(L['d']) == {n}", type="list")) for n in (before, after)]
    made = two(*trees, f"len(d) == {before}")
    effects = "Mutating object of type list (source name: L['d'])\n"
    effects += "".join(f'\n      File "/srv/app/model.py", line 6, in f\n        {line}\n' for line in lines)
    cause = only(made + make.artifact("dynamo_side_effects", effects, id="0/1"))
    assert cause.sentence == f"d had {before} items and now has {after}"
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


def a_class(name: str, number: int) -> str:
    return guard_manager("L['k']", f"ID_MATCH: ___check_obj_id(L['k'], {number}), type=<class '{name}'>", type="type")


@pytest.mark.parametrize(
    ("caller", "remedy"),
    [
        ("/usr/lib/python3.11/copy.py", "accept one graph for each class: library code calls this function with several"),
        (MODEL, "accept one graph for each class that this library code is called with"),  # the stack may lack the innermost calls
    ],
)
@pytest.mark.parametrize("has_metrics", [True, False])
def test_classes_that_a_library_passes_to_its_own_function_are_not_moved(caller: str, remedy: str, has_metrics: bool) -> None:
    """Where code is compiled within an export, its metrics may be missing, and its stack has its file."""
    made = trace()
    for number, name in enumerate(("app.A", "app.B")):
        where = {"id": f"0/{number}", "process": make.PROCESS}
        start = make.dynamo_start("__newobj__", 104, "/usr/lib/python3.11/copyreg.py", caller=caller, **where)
        whole = compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(tensor_match(), a_class(name, 7 + number)),
            reasons=("0/0: ___check_obj_id(k, 7), type=<class 'app.A'>",) if number else (),
            name="__newobj__",
            file="/usr/lib/python3.11/copyreg.py",
            line=104,
        )
        made += whole.replace(make.dynamo_start("__newobj__", 104, "/usr/lib/python3.11/copyreg.py", call=20, **where), start)
    lines = made.splitlines(keepends=True)
    cause = only(b"".join(line for line in lines if has_metrics or b'"compilation_metrics"' not in line))
    assert (cause.codes, cause.sentence, cause.own_remedy) == (("SL311",), "k changed from the class A to B", remedy)


@pytest.mark.parametrize(("capture", "is_of_forward"), [("!0/", True), ("", False)])
def test_an_object_that_a_backward_pass_takes_is_of_its_forward_pass(capture: str, is_of_forward: bool) -> None:
    """The parameters of another model."""
    source, made = "L['inputs'][2]", trace()
    for number in (1, 2):
        check = f"ID_MATCH: ___check_obj_id({source}, {number}), type=<class 'torch.nn.parameter.Parameter'>"
        guards = guard_tree(tensor_match(), guard_manager(source, check, type="torch.nn.parameter.Parameter"))
        made += compiled(f"{capture}3/{number - 1}", tensor(10, 8), guards=guards, file="<eval_with_key>.5", name="forward")
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL308",), Verdict.CODE)
    assert cause.own_remedy.startswith("create the model and its optimizer once") is is_of_forward


BY_LIBRARY = "accept one graph for each type: library code calls this function with several"


@pytest.mark.parametrize(
    ("source", "caller", "call", "remedy"),
    [
        ("k", "/usr/lib/python3.11/copy.py", "f(x)", BY_LIBRARY),
        ("k", MODEL, "f(x)", ""),
        ("k", MODEL, "optimizer.step()", BY_LIBRARY),  # which the stack lacks
        ("k", "/usr/lib/python3.11/unittest/case.py", "f(x)", ""),  # the test, which the stack lacks, passes it
        ("k.item", "/usr/lib/python3.11/copy.py", "f(x)", ""),
        ("args[0]", "/usr/lib/python3.11/copy.py", "f(x)", BY_LIBRARY),
        ("k[0]", "/usr/lib/python3.11/copy.py", "f(x)", ""),
        ("k[0]", MODEL, "optimizer.step()", BY_LIBRARY),
    ],
)
def test_types_that_a_library_passes_to_its_own_function_are_not_of_the_user(source: str, caller: str, call: str, remedy: str) -> None:
    made, name, file = trace(), with_locals(source), "/usr/lib/python3.11/copyreg.py"
    for number, type in enumerate(("app.A", "app.B")):
        where = {"id": f"0/{number}", "process": make.PROCESS}
        whole = compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(tensor_match(), guard_manager(name, f"TYPE_MATCH: ___check_type_id({name}, {7 + number})", type=type)),
            reasons=(f"0/0: ___check_type_id({source}, 7), type=<class 'app.A'>",) if number else (),
            name="reduce",
            file=file,
            line=104,
        )
        start = make.dynamo_start("reduce", 104, file, caller=caller, **where).replace(b"f(x)", call.encode())
        made += whole.replace(make.dynamo_start("reduce", 104, file, call=20, **where), start)
    assert (only(made).sentence, only(made).own_remedy) == (f"{source} changed from type app.A to app.B", remedy)


@pytest.mark.parametrize(
    ("before", "after", "reason", "sentence"),
    [
        (equals_match("L['k']", "a", "str"), a_class("app.A", 7), "k == 'a'", "k changed from the str 'a' to the class A"),
        (
            a_class("app.A", 7),
            equals_match("L['k']", "a", "str"),
            "___check_obj_id(k, 7), type=<class 'app.A'>",
            "k changed from the class A to 'a'",
        ),
        (equals_match("L['k']", b"a", "bytes"), equals_match("L['k']", "a", "str"), "k == b'a'", "k changed from the bytes b'a' to 'a'"),
        (equals_match("L['k']", True, "bool"), equals_match("L['k']", 3), "k == True", "k changed from the bool True to 3"),
        (equals_match("L['k']", 0.5, "float"), tensor_match("L['k']"), "k == 0.5", "k changed from the float 0.5 to a tensor"),
    ],
)
def test_a_constant_that_became_something_of_another_type(before: str, after: str, reason: str, sentence: str) -> None:
    cause = only(two(guard_tree(tensor_match(), before), guard_tree(tensor_match(), after), reason))
    assert (cause.codes, cause.sentence) == (("SL310",), sentence)


def test_a_set_is_equal_whatever_the_order_of_its_members() -> None:
    """And of another one what it gained and lost is named. The text of a set has its members as they came."""
    made, names = trace(), ("{'size', 'dtype'}", "{'dtype', 'size'}", "{'stride', 'size'}")
    for number, (value, other) in enumerate(zip(names, ("{1, 2}", "{2, 1}", "{1, 2}"), strict=True)):
        sets = [
            guard_manager(source, f"EQUALS_MATCH: {source} == {text}", type="set")
            for source, text in (("L['s']", value), ("L['t']", other))
        ]
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), *sets, equals_match("L['k']", number % 2)))
    first, last = explain(made).recompiles
    assert [cause.sentence for cause in first.causes] == ["the int k changed from 0 to 1"]
    assert [cause.sentence for cause in last.causes] == ["the set s gained 'stride' and lost 'dtype'"]


def test_long_texts_are_shown_where_they_differ() -> None:
    before, after = (f"{'a' * 300}{text}{'c' * 300}" for text in ("before", "after"))
    cause = only(two(*(guard_tree(tensor_match(), equals_match("L['k']", text, "str")) for text in (before, after)), f"k == '{before}'"))
    assert (cause.before, cause.after) == (f"'{before}'", f"'{after}'")
    assert cause.sentence == f"k changed from …{'a' * 33}before{'c' * 61}… to …{'a' * 33}after{'c' * 62}…"


@pytest.mark.parametrize(
    ("line", "remedy"),
    [("return x + id(k)", "leave id() of it out of the compiled code, or accept one graph for each class"), ("return k(x)", "")],
)
def test_a_class_whose_id_is_taken_needs_a_graph_for_that(line: str, remedy: str) -> None:
    trees = [
        guard_tree(tensor_match(), a_class(name, number).replace(RETURN_LINE, code_comment(7, line))) for number, name in enumerate("AB")
    ]
    cause = only(two(*trees))
    assert (cause.sentence, cause.own_remedy) == ("k changed from the class A to B", remedy)


def test_classes_of_different_metaclasses_are_classes_all_the_same() -> None:
    trees = [
        guard_tree(
            tensor_match(), guard_manager("L['k']", f"ID_MATCH: ___check_obj_id(L['k'], {number}), type=<class '{name}'>", type=meta)
        )
        for number, name, meta in ((7, "app.A", "type"), (8, "app.B", "app.Meta"))
    ]
    cause = only(two(*trees, "___check_obj_id(k, 7), type=<class 'app.A'>"))
    assert (cause.codes, cause.sentence) == (("SL311",), "k changed from the class A to B")


def test_a_class_is_one_whose_successor_is_not_recorded() -> None:
    """The call has no guards, as where its code compiles to nothing."""
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), a_class("app.A", 7))))
    made += compiled("0/1", reasons=("0/0: ___check_obj_id(k, 7), type=<class 'app.A'>",))
    (cause,) = explain(made).recompiles[-1].causes
    assert (cause.codes, cause.sentence) == (("SL311",), "k was the class A and has changed")


def test_an_array_that_became_none_was_no_tensor() -> None:
    reason = "expected type of '___from_numpy(a)' to be a tensor type, ' but found <class 'NoneType'>"
    trees = guard_tree(tensor_match(), tensor_match("___from_numpy(L['a'])")), guard_tree(tensor_match(), equals_match("L['a']", None))
    assert "numpy.ndarray" in last_recompile(two(*trees, reason)).causes[0].sentence


def test_an_attribute_that_is_looked_up_in_the_dict_of_an_object() -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['o'].__dict__", f"DICT_CONTAINS: {no}___dict_contains('cache', L['o'].__dict__)"))
        for no in ("not ", "")
    ]
    for reason in ("not ___dict_contains('cache', o.__dict__)", "x == 3"):
        causes = last_recompile(two(*trees, reason)).causes
        assert ("SL320", "o now has the attribute cache") in [(cause.codes[0], cause.sentence) for cause in causes]


@pytest.mark.parametrize(
    ("check", "values", "codes", "sentence"),
    [
        ("int({})", (3, 4), ("SL311",), "k, a MyInt, changed from 3 to 4"),
        ("str({})", ("'a'", "'b'"), ("SL311",), "k, a MyInt, changed from 'a' to 'b'"),
        ("___normalize_count_iter({})", ("(3, 1)", "(4, 1)"), ("SL311",), "k changed from (3, 1) to (4, 1)"),
    ],
)
def test_a_constant_that_python_code_checks(check: str, values: tuple[object, object], codes: tuple[str, ...], sentence: str) -> None:
    code = check.format("L['k']")
    trees = [guard_tree(tensor_match(), guard_manager("L['k']", f"LAMBDA_GUARD: {code} == {value}", type="app.MyInt")) for value in values]
    cause = only(two(*trees, f"{check.format('k')} == {values[0]}"))
    assert (cause.codes, cause.sentence, cause.size_related) == (codes, sentence, False)


def test_an_iterator_of_itertools_is_named() -> None:
    trees = [
        guard_tree(
            tensor_match(), guard_manager("L['c']", f"LAMBDA_GUARD: ___normalize_count_iter(L['c']) == {at}", type="itertools.count")
        )
        for at in ("(3, 1)", "(4, 1)")
    ]
    cause = only(two(*trees, "___normalize_count_iter(c) == (3, 1)"))
    assert cause.sentence == "c changed from itertools.count(3, 1) to itertools.count(4, 1)"
    assert (cause.verdict, cause.own_remedy) == (Verdict.CODE, "call next(c) outside the compiled function, and pass the number")


def test_of_the_strides_of_a_refused_call_the_reason_names_one() -> None:
    made = trace(compiled("0/0", tensor(3, 4, 5))) + make.refused(
        "0/1", "0/0: tensor 'x' stride mismatch at index 0. expected 20, actual 1"
    )
    cause = only(made)
    assert (cause.codes, cause.axis, cause.before, cause.after) == (("SL105",), "x.stride", "20", "1")
    assert cause.sentence.endswith("(transposed, channels last, or a view): stride 20 in dim 0, now 1")


def test_keys_that_came_in_another_order() -> None:
    trees = [
        guard_tree(
            tensor_match(),
            guard_manager("L['d']", type="dict"),
            *(equals_match(f"list(dict.keys(L['d']))[{at}]", key, "str") for at, key in enumerate(keys)),
        )
        for keys in ("ab", "ba")
    ]
    cause = only(two(*trees, "list(dict.keys(d))[0] == 'a'"))
    assert (cause.codes, cause.sentence) == (("SL314",), "the keys of the dict d are in a different order")


def test_keys_of_which_some_are_guarded_by_their_type_came_in_another_order() -> None:
    """A module that is a key has no value that a guard could check."""

    def key(at: int, name: str) -> str:
        source = f"list(dict.keys(L['d']))[{at}]"
        return guard_manager(source, f"TYPE_MATCH: ___check_type_id({source}, {len(name)}), type=<class '{name}'>", type=name)

    def tree(*keys: str) -> str:
        return guard_tree(tensor_match(), guard_manager("L['d']", type="dict"), *keys)

    module = "torch.nn.modules.linear.Linear"
    reason = f"___check_type_id(list(dict.keys(d))[0], {len(module)}), type=<class '{module}'>"
    swapped = only(two(tree(key(0, module), key(1, "int")), tree(key(0, "int"), key(1, module)), reason))
    assert (swapped.sentence, swapped.own_remedy) == (
        "the keys of the dict d are in a different order",
        "insert the keys in the same order every time",
    )
    other = only(two(tree(key(0, module), key(1, "int")), tree(key(0, "int"), key(1, "float")), reason))
    assert other.sentence == "the keys of the dict d changed"


def test_keys_of_which_one_is_a_tensor_came_in_another_order() -> None:
    """Of a tensor that is a key, the guards have its id, and of the number its value."""

    def tree(*keys: str) -> str:
        named = (text.replace("{}", f"list(dict.keys(L['d']))[{at}]") for at, text in enumerate(keys))
        return guard_tree(tensor_match(), guard_manager("L['d']", type="dict"), *named)

    keys = identity("{}", 7001, "torch.Tensor"), equals_match("{}", 3)
    cause = only(two(tree(*keys), tree(*keys[::-1]), "___check_obj_id(list(dict.keys(d))[0], 7001), type=<class 'torch.Tensor'>"))
    assert (cause.codes, cause.sentence) == (("SL314",), "the keys of the dict d are in a different order")


def test_a_tensor_of_which_an_entry_checks_the_type_alone_is_of_the_same_type() -> None:
    """A parameter of an optimizer that read nothing of it but its gradient, in calls in which that was not None."""
    parameter = "torch.nn.parameter.Parameter"
    of_type = guard_manager("L['p']", f"TYPE_MATCH: ___check_type_id(L['p'], 7), type=<class '{parameter}'>", type=parameter)
    checked = tensor_match("L['p']").replace("type=<class 'torch.Tensor'>", f"type=<class '{parameter}'>")
    before = guard_tree(guard_manager("L['p'].grad", "NOT_NONE: L['p'].grad is not None", type="torch.Tensor"), of_type)
    after = guard_tree(guard_manager("L['p'].grad", "NONE_MATCH: L['p'].grad is None", type="NoneType"), checked)
    assert parameter in checked
    assert only(two(before, after)).codes == ("SL322",)


@pytest.mark.parametrize(("constant", "type_"), [("Ellipsis", "ellipsis"), ("torch.Size([10, 20])", "torch.Size")])
def test_a_constant_that_is_of_another_type_now_is_no_other_value(constant: str, type_: str) -> None:
    """Of the tuple, the call checks its type and its items."""
    before = guard_tree(tensor_match(), guard_manager("L['i']", f"EQUALS_MATCH: L['i'] == {constant}", type=type_))
    types = "TYPE_MATCH: ___check_type_id(L['i'], 7), type=<class 'tuple'>"
    after = guard_tree(tensor_match(), guard_manager("L['i']", types, type="tuple"), equals_match("L['i'][0]", 0))
    cause = only(two(before, after, f"i == {constant}"))
    assert (cause.codes, cause.sentence) == (("SL310",), f"i changed from {constant} to tuple")


def test_another_member_of_an_enum_has_another_value() -> None:
    trees = [
        guard_tree(
            tensor_match(),
            f"| +- GuardManager: source=L['e'], accessed_by=FrameLocalsGuardAccessor(key='e', framelocals_idx=0), type=<flag 'F'>\n"
            f"| | +- ID_MATCH: ___check_obj_id(L['e'], {number}), type=<class 'app.F'>",
            equals_match("L['e']._value_", number),
        )
        for number in (1, 2)
    ]
    cause = only(two(*trees, "___check_obj_id(e, 1), type=<class 'app.F'>"))
    assert (cause.codes, cause.sentence) == (("SL311",), "e is a different member of the enum F")


def test_an_iterator_of_another_type_has_no_other_length() -> None:
    iterator = guard_manager("L['g']", "TUPLE_ITERATOR_LEN: ___tuple_iterator_len(L['g']) == 2", type="tuple_iterator")
    generator = guard_manager("L['g']", "TYPE_MATCH: ___check_type_id(L['g'], 7)", type="generator")
    cause = only(two(guard_tree(tensor_match(), iterator), guard_tree(tensor_match(), generator), "___tuple_iterator_len(g) == 2"))
    assert (cause.codes, cause.sentence) == (("SL310",), "g changed from type tuple_iterator to generator")


def test_a_constant_that_became_a_tensor_that_is_an_input_already() -> None:
    trees = guard_tree(tensor_match(), equals_match("L['k']", 1)), guard_tree(tensor_match(), "+- LAMBDA_GUARD: L['x'] is L['k']")
    cause = only(two(*trees, "k == 1"))
    assert (cause.codes, cause.sentence) == (("SL310",), "k changed from the int 1 to a tensor")


def test_the_keys_of_a_mapping_are_not_its_value() -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['d']", guard, type=kind))
        for guard, kind in (
            ("TYPE_MATCH: ___check_type_id(L['d'], 7)", "collections.OrderedDict"),
            ("MAPPING_KEYS_MATCH: list(L['d'].keys()) == ['a']", "mappingproxy"),
        )
    ]
    cause = only(two(*trees, "TYPE_MISMATCH(d)"))
    assert (cause.codes, cause.sentence) == (("SL310",), "d changed from type collections.OrderedDict to mappingproxy")


def test_the_cache_of_autocast_is_a_part_of_it() -> None:
    states = [{"enabled": [True, False], "cached_enabled": cache} for cache in (True, False)]
    cause = only(
        two(*[guard_tree(global_state(state), tensor_match()) for state in states], "GLOBAL_STATE changed: autocast_cache_enabled ")
    )
    assert (cause.codes, cause.verdict) == (("SL306",), Verdict.CODE)
    assert cause.sentence == "autocast changed its cache from on to off"


def test_the_frame_itself_is_no_function_that_was_passed() -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn'].__code__", number, "code")) for number in (7001, 7002)]
    inlined, called = graph_text(INPUT).replace("model.py:6 in f", "model.py:9 in <lambda>"), graph_text(INPUT, "b = torch.relu(l_x_)")
    made = trace(
        *[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graph) for number, graph in enumerate((inlined, called))]
    )
    assert only(made).sentence == "fn changed from the function <lambda> (model.py:9); the other one left no operation"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_function_of_a_library_is_named_as_what_the_line_that_calls_it_left_in_the_graph(is_first: bool) -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn'].__code__", number, "code")) for number in (7001, 7002)]
    calls = "# File: /srv/app/model.py:{} in {}, code: {}"
    graphs = [
        graph_text(INPUT, calls.format(6, "f", "y = fn(x)"), 'b: "f32[10, 8]" = torch.functional.unique(l_x_)'),
        graph_text(INPUT, calls.format(9, "<lambda>", "lambda x: x.unique()"), 'unique: "f32[10, 8]" = l_x_.unique()'),
    ]
    made = [compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number != is_first]) for number in (0, 1)]
    own, other = "the function <lambda> (model.py:9)", "torch.functional.unique"
    was, now = (own, other) if is_first else (other, own)
    assert only(trace(*made)).sentence == f"fn changed from {was} to {now}"


RECREATED = "fn is a different function: its code object changed"


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ((9, 22), "fn changed from the function left (model.py:9) to <lambda> (model.py:22)"),
        ((21, 22), "fn changed from the function <lambda> (model.py:21) to <lambda> (model.py:22)"),
        ((0, 22), "fn changed to the function <lambda> (model.py:22); the other one left no operation"),
        ((9, 10), RECREATED),
        ((21, 21), RECREATED),
        ((None, 22), RECREATED),
    ],
)
def test_functions_that_break_the_graph_at_different_places_are_passed_on_purpose(places: tuple[int | None, ...], sentence: str) -> None:
    """0: the graph broke at the call itself, of a function of a library; None: it did not break."""
    made = b""
    for number, place in enumerate(places):
        own = guard_tree(tensor_match(), identity("L['fn'].__code__", 7001 + number, "code"))
        if place is not None:
            function = "left" if place < 20 else "<lambda>"
            inner = f'  File "/srv/app/model.py", line {place}, in {function}\n    return x.item()\n' if place else ""
            text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: item\nUser code traceback:\n"
            text += f'  File "/srv/app/model.py", line 7, in f\n    y = fn(x)\n{inner}'
            made += make.artifact("dynamo_graph_break_reason", text, id=f"0/{number}")
        made += compiled(f"0/{number}", tensor(10, 8), guards=own)
    assert only(trace(made)).sentence == sentence
    assert last_recompile(trace(made)).verdict is (Verdict.CODE if sentence == RECREATED else Verdict.JUSTIFIED)


def test_a_library_function_is_not_named_by_other_operators_that_differ() -> None:
    trees = [guard_tree(tensor_match(), identity("L['op']", number, "builtin_function_or_method")) for number in (1, 2)]
    linear = "a = torch._C._nn.linear(l_x_)"
    graphs = graph_text(INPUT, linear, "b = torch.relu(a)"), graph_text(INPUT, linear, "s = a.item()", linear, "b = torch.sigmoid(a)")
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
    assert last_recompile(made).causes[0].sentence.endswith(": torch.relu, now torch.sigmoid")


def test_operations_of_another_path_through_the_code_are_no_function_that_was_passed() -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn']", number, "builtin_function_or_method")) for number in (1, 2)]
    branch, called, other = (
        graph_text(INPUT, statement).replace("model.py:6 in f, code: return x + 1", f"model.py:{line} in f, code: {code}")
        for line, code, statement in (
            (5, "if fn is torch.relu: return x + 1", "add = l_x_ + 1"),
            (6, "return fn(x)", "sin = torch.sin(l_x_)"),
            (7, "return -x", "neg = -l_x_"),
        )
    )
    for graphs, sentence in (
        ((branch, called), "fn changed to torch.sin (the earlier function is not recorded)"),
        ((called, branch), "fn was torch.sin and is now a different library function"),
        ((branch, other), "fn is a different library function"),
    ):
        made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
        assert only(made).sentence == sentence


def test_what_a_type_changed_to_is_a_type_where_the_trace_has_the_value() -> None:
    trees = [guard_tree(tensor_match()), guard_tree(guard_manager("L['x']", "EQUALS_MATCH: L['x'] == 3.5", type="float"))]
    cause = only(two(*trees, same=False))
    assert (cause.sentence, cause.after) == ("x changed from a tensor to float", "float")


def test_state_that_no_guard_writes_hides_behind_a_failure_of_another_entry() -> None:
    on, off = (guard_tree(global_state(grad_mode=mode), tensor_match()) for mode in (True, False))
    made = trace(compiled("0/0", tensor(10, 8), guards=on))
    made += compiled("0/1", tensor(10, 8), guards=off, reasons=("0/0: GLOBAL_STATE changed: grad_mode ",))
    reasons = ("0/1: GLOBAL_STATE changed: grad_mode ", "0/0: ___check_torch_function_mode_stack()")
    recompile = last_recompile(made + compiled("0/2", tensor(10, 8), guards=on, reasons=reasons))
    assert (recompile.nearest.label if recompile.nearest else "", recompile.codes) == ("0/0", ("SL307",))


def test_a_dict_without_keys_has_a_length_all_the_same() -> None:
    no_keys = guard_manager("L['k']", type="dict", kind="DictGuardManager")
    one_key = guard_manager("L['k']['q']", "EQUALS_MATCH: L['k']['q'] == 2.0", type="float")
    lists = [guard_manager("L['a']", f"LENGTH_CHECK: len(L['a']) == {number}", type="tuple") for number in (1, 2)]
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), lists[number], no_keys)) for number in (0, 1)])
    made += compiled(
        "0/2", tensor(10, 8), guards=guard_tree(tensor_match(), lists[0], one_key), reasons=("0/1: len(a) == 2", "0/0: len(k) != 0")
    )
    recompile = last_recompile(made)
    assert (recompile.nearest.label if recompile.nearest else "", recompile.codes) == ("0/0", ("SL314",))


def test_a_backend_made_anew_is_seen_in_every_generation_of_a_frame() -> None:
    backends = [f"_TorchCompileWrapper(compiler='<app.Backend object at 0x7f{digit}>', dynamic=None) (id=0x7e{digit})" for digit in (1, 2)]
    changed = f"BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: {backends[0]}. New backend: "
    once = int_values(8, 9) + compiled(
        "0/2",
        tensor(10, 8),
        guards=guard_tree(tensor_match(), equals_match("L['k']", 9)),
        reasons=(f"0/1: {changed}{backends[1]}. If this is unexpected, ...", "0/0: k == 8"),
    )
    last = [item for item in explain(trace(once, once)).recompiles if item.compile.id.compile == 2]
    assert [item.codes for item in last] == [("SL318",), ("SL318",)]


CHANGED = "0/0: BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: "
CONDITION = "/env/lib/python3.11/site-packages/torch/_higher_order_ops/cond.py"


@pytest.mark.parametrize("compiler", ["fn", "<app.Backend object at 0x7f{}>"])
def test_backends_that_are_made_anew_are_functions_of_one_name_or_objects_of_one_kind(compiler: str) -> None:
    first, second = (f"_TorchCompileWrapper(compiler='{compiler.format(digit)}', dynamic=None) (id=0x7e{digit})" for digit in (1, 2))
    again = compiled("0/1", tensor(10, 8), reasons=(f"{CHANGED}{first}. New backend: {second}. If ...",))
    made = trace(compiled("0/0", tensor(10, 8)), again, compiled("0/2", tensor(12, 8)))
    assert last_recompile(made).codes == ("SL101", "SL318")


def test_an_operator_that_pytorch_compiles_itself_needs_a_graph_for_each_traced_call_whatever_else_changed() -> None:
    backends = [f"_TorchCompileWrapper(compiler='fn', dynamic=None) (id=0x7e{digit})" for digit in (1, 2)]
    reason = f"{CHANGED}{backends[0]}. New backend: {backends[1]}. If this is unexpected, ..."
    from_data = [("u0", None, "")]
    again = compiled("0/1", tensor(10, 8), file=CONDITION, symbols=from_data, reasons=(reason,))
    double = compiled("0/2", tensor(10, 8, dtype="torch.float64"), file=CONDITION, guards=guard_tree(tensor_match(dtype="float64")))
    report = make.report(trace(compiled("0/0", tensor(10, 8), file=CONDITION), again, double))
    for item, codes in zip(report.recompiles, (["SL318"], ["SL301", "SL318"]), strict=True):
        assert ([cause.codes[0] for cause in item.causes], item.verdict) == (codes, Verdict.JUSTIFIED)
        assert item.causes[-1].sentence.startswith("PyTorch compiled this operator with a backend object of its own")
        assert report.remedies.of_recompile(item).text.startswith("accept it: PyTorch compiles this operator itself")


def test_a_cause_without_a_source_is_not_placed_at_a_value_from_data() -> None:
    line = {"line": 9, "name": "f", "filename": MODEL, "loc": "n = x.item()"}
    symbol = {"symbol": "u0", "val": "None", "vr": "[0, 4]", "source": "", "user_stack": [line], "stack": []}
    *started, end = make.split_records(compiled("0/1", tensor(10, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match())))
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())), *started)
    cause = only(made + record("create_symbol", symbol, id="0/1") + end)
    assert (cause.codes, cause.place) == (("SL305",), None)


@pytest.mark.parametrize("is_in_start", [True, False])
@pytest.mark.parametrize(
    ("name", "file"),
    [("__call__", "/env/torch/_ops.py"), ("__torch_dispatch__", MODEL), ("torch_dynamo_resume_in___torch_dispatch___at_7", MODEL)],
)
def test_below_autograd_is_no_inference_mode(name: str, file: str, is_in_start: bool) -> None:
    """The stack of ``dynamo_start`` may lack the innermost calls, which that of a symbol has."""
    keys, state = "DispatchKeySet(CPU, BackendSelect)", global_state(grad_mode=False)
    caller, own = {"line": 9, "name": name, "filename": file}, {"line": 5, "name": "f", "filename": MODEL}
    converts = {"line": 1, "name": "_compile", "filename": "/env/torch/_dynamo/convert_frame.py"}
    symbol = {"symbol": "s1", "val": "3", "vr": "[2, int_oo]", "source": "L['n']", "user_stack": [], "stack": [caller, converts]}
    where = {"id": "0/0"}
    below = b"".join(
        (
            record("dynamo_start", {"stack": [caller, own] if is_in_start else [own]}, **where),
            b"" if is_in_start else record("create_symbol", symbol, **where),
            describe(tensor(10, 8), **where),
            output_graph((10, 8), **where),
        )
    ) + cpp_guards(guard_tree(state, tensor_match(keys=keys)), **where)
    reason = f"0/0: tensor 'x' dispatch key set mismatch. expected {keys}, actual {CPU_KEYS}"
    above = compiled("0/1", tensor(10, 8), guards=guard_tree(state, tensor_match()), reasons=(reason,))
    cause = only(trace(below, metrics("0/0", has_guarded_code=True), above))
    assert (cause.codes, cause.sentence, cause.verdict) == (("SL303",), "x is now used with autograd again", Verdict.JUSTIFIED)


def test_a_guard_in_one_tree_alone_is_no_cause() -> None:
    made = trace(
        compiled("0/0", tensor(10, 8)),
        compiled("0/1", tensor(12, 8), guards=guard_tree(tensor_match(size=(12, 8)), equals_match("L['k']", 3))),
    )
    assert [cause.axis for cause in last_recompile(made).causes] == ["x.size[0]"]


@pytest.mark.parametrize(
    ("name", "label", "codes", "axes"),
    [
        ("a_auto", "0/1", ("SL101",), ["x.size[0]"]),
        ("c_int_arg", "3/1", ("SL101",), ["x.size[1]", "y.size[0]"]),
        ("c_int_arg", "5/2", ("SL204",), ["x.size[0]"]),
        ("d_module", "0/2", ("SL311",), ["self.mode"]),
        ("d_module", "0/6", ("SL313",), ["len(self.sizes)"]),
        ("e_tensor_props", "0/1", ("SL301",), ["x.dtype"]),
        ("e_tensor_props", "0/1#2", ("SL302",), ["x.requires_grad"]),
        ("e_tensor_props", "0/1#3", ("SL105",), ["x.stride"]),
        ("e_tensor_props", "0/1#4", ("SL107",), ["x.rank"]),
        ("e_tensor_props", "0/1#14", ("SL101", "SL104"), ["x.size[0]"]),
        ("f_graph_breaks", "6/1", ("SL101", "SL312"), ["x.size[0]", "___stack0"]),
        ("h_training_inductor", "0/1", ("SL101",), ["args[0].size[0]"]),
    ],
)
def test_torch_2_4_writes_no_reasons_and_the_guards_have_them(name: str, label: str, codes: tuple[str, ...], axes: list[str]) -> None:
    recompile = recompile_of(f"real/2.4/{name}.log.gz", label)
    assert recompile.codes == codes
    assert [cause.axis for cause in recompile.causes] == axes
    assert not any(cause.named_by_pytorch for cause in recompile.causes)


@pytest.mark.parametrize(
    ("name", "label", "code"),
    [
        ("real/2.6/b_branches.log.gz", "0/2", "SL204"),
        ("real/2.6/m_python_state.log.gz", "0/1#2", "SL314"),
        ("real/2.6/m_python_state.log.gz", "0/1#5", "SL102"),
        ("real/2.6/m_python_state.log.gz", "0/2#6", "SL309"),
        ("real/2.6/m_python_state.log.gz", "0/1#8", "SL317"),
        ("real/2.6/m_python_state.log.gz", "0/1#18", "SL320"),
        ("real/2.6/m_python_state.log.gz", "0/1#19", "SL311"),
        ("real/2.6/p_floats_numpy.log.gz", "0/1", "SL312"),
        ("real/2.6/p_floats_numpy.log.gz", "1/2", "SL301"),
        ("real/2.6/s_encoding.log.gz", "3/1", "SL102"),
        ("real/2.15/a_auto.log.gz", "0/1", "SL101"),
        ("real/demo.log.gz", "0/3", "SL305"),
        ("real/demo.log.gz", "1/5", "SL315"),
        ("real/demo.log.gz", "2/2", "SL301"),
    ],
)
def test_real_programs_of_later_versions(name: str, label: str, code: str) -> None:
    assert recompile_of(name, label).codes == (code,)


@pytest.mark.parametrize(
    "name", ["lab/mixed_same_recompile.log.gz", "real/demo.log.gz", "real/2.6/m_python_state.log.gz", "real/2.4/d_module.log.gz"]
)
def test_every_cause_is_one_sentence_with_a_rule(name: str) -> None:
    causes = [cause for item in report_of(name).recompiles for cause in item.causes]
    assert causes
    for cause in causes:
        assert set(cause.codes) <= set(RULES)
        assert cause.rule.code == cause.codes[0]
        assert cause.sentence
        assert not cause.sentence.endswith(".")
        assert "\n" not in cause.axis


METADATA = "LAMBDA_GUARD: ___check_metadata_140057847825888_c0/{}"


def test_the_metadata_of_a_tensor_subclass_is_that_of_the_tensor_whose_guard_it_is() -> None:
    scaled = [guard_tree(tensor_match(), guard_manager("L['w']", METADATA.format(n), type="app.Scaled")) for n in (0, 1)]
    cause = only(two(*scaled, "___check_metadata_140057847825888_c0/0  # return w * 2  # app/model.py:6 in f"))
    assert (cause.codes, cause.source, cause.axis) == (("SL303",), "L['w']", "w metadata")
    assert cause.sentence == "the metadata of w changed: what Scaled.__tensor_flatten__ returns in addition to its tensors"


def test_a_dtensor_and_an_object_with_a_guard_of_its_own() -> None:
    sentences = []
    for guard, kind in (("__dtensor_spec_140057847825888", "DTensor"), ("___check_opaque_guard_fn_140057847825888_c0/0", "app.Queue")):
        guards = guard_tree(tensor_match(), guard_manager("L['w']", f"LAMBDA_GUARD: {guard}", type=kind))
        cause = only(two(guards, guard_tree(tensor_match()), guard))
        sentences.append((cause.codes, cause.sentence))
    assert sentences == [
        (("SL303",), "the DTensor w has a different mesh, placement or dtype"),
        (("SL320",), "w (a Queue) is in a different state, as its own guard_fn reports"),
    ]


@pytest.mark.parametrize(("made_for", "axes"), [("x.size[0]", ["w metadata"]), ("metadata", ["w.size[0]"])], ids=["sizes", "metadata"])
def test_metadata_counts_for_every_entry_that_was_made_for_the_same(made_for: str, axes: list[str]) -> None:
    """A static entry, a dynamic one, and a call that fails on the size of one and on the metadata of the other."""
    spec = guard_manager("L['w']", "LAMBDA_GUARD: __dtensor_spec_140057847825888", type="DTensor")
    size = "0/0: tensor 'w' size mismatch at index 0. expected 10, actual {}"
    made = trace(compiled("0/0", tensor(10, 8, source="L['w']"), guards=guard_tree(tensor_match("L['w']"), spec)))
    first = size.format(12) if made_for == "x.size[0]" else "0/0: __dtensor_spec_140057847825888"
    dynamic = guard_tree(tensor_match("L['w']", (None, 8)), spec)
    made += compiled("0/1", tensor(12, 8, source="L['w']"), guards=dynamic, symbols=(("s0", "12", "L['w'].size()[0]"),), reasons=[first])
    made += compiled("0/2", tensor(14, 8, source="L['w']"), reasons=["0/1: __dtensor_spec_140057847825888", size.format(14)])
    assert [cause.axis for cause in last_recompile(made).causes] == axes


def test_requires_grad_that_is_guarded_as_an_attribute_is_that_of_the_tensor() -> None:
    trees = [guard_tree(tensor_match(), equals_match("L['w'].requires_grad", flag, "bool")) for flag in (True, False)]
    cause = only(two(*trees, "w.requires_grad == True"))
    assert (cause.codes, cause.sentence) == (("SL302",), "requires_grad of w changed from True to False")


def test_an_optimizer_makes_its_state_in_its_first_step() -> None:
    state = "L['self'].state[list(dict.keys(L['self'].state))[0]]"
    trees = [guard_tree(tensor_match(), guard_manager(state, f"DICT_LENGTH: len({state}) == {number}", type="dict")) for number in (0, 1)]
    cause = only(two(*trees))
    assert (cause.codes, cause.own_remedy.partition(",")[0]) == (("SL314",), "take one step before the first compiled call")


def test_another_size_of_a_nested_tensor_than_the_first_cannot_be_marked() -> None:
    sizes = [tensor(3, 5, width, layout="torch.jagged") for width in (4, 6)]
    cause = only(trace(*(compiled(f"0/{number}", item) for number, item in enumerate(sizes))))
    assert (cause.axis, cause.verdict) == ("x.size[2]", Verdict.CODE)
    assert cause.own_remedy.startswith("pass dynamic=True to torch.compile")


def test_the_tensors_of_which_a_subclass_consists_are_no_constant() -> None:
    source = "L['w'].__tensor_flatten__()[0]"
    trees = [guard_tree(tensor_match(), equals_match(source, names, "list")) for names in (["_data"], ["_data", "_scale"])]
    cause = only(two(*trees, "w.__tensor_flatten__()[0] == ['_data']"))
    assert (cause.codes, cause.sentence) == (
        ("SL303",),
        "the tensor subclass w consists of different tensors: ['_data'], now ['_data', '_scale']",
    )


@pytest.mark.parametrize(("is_first", "now"), [(False, "is now"), (True, "is no longer")])
def test_a_tensor_that_was_created_in_inference_mode_is_used_outside_of_it(is_first: bool, now: str) -> None:
    trees = [guard_tree(global_state(), tensor_match(keys=keys)) for keys in (CPU_KEYS, CPU_KEYS.replace(", AutogradCPU", ""))]
    cause = only(two(*(reversed(trees) if is_first else trees)))
    assert (cause.codes, cause.sentence) == (("SL303",), f"x {now} a tensor created in inference mode, which autograd does not track")


@pytest.mark.parametrize(
    ("state", "keys", "sentence"),
    [
        ("[('Vmap', 1, 'error')]", "FuncTorchGradWrapper, ", "inside of vmap and is now called inside of other transforms"),
        ("[('Vmap', 1, 'error')]", "", "inside of vmap and is now called elsewhere, or with other options"),
        ("[]", "FuncTorchBatched, ", "outside of transforms such as vmap and is now called inside of one"),
    ],
)
def test_a_call_that_failed_left_no_state_of_transforms(state: str, keys: str, sentence: str) -> None:
    """That it is inside of one is known from what PyTorch names of an entry that was made outside of them."""
    function = f"torch._functorch.pyfunctorch.compare_functorch_state({state})"
    inside = guard_tree(f"| +- LAMBDA_GUARD: {function}  # app/model.py:6 in f", tensor_match())
    actual = CPU_KEYS.replace("BackendSelect, ", f"BackendSelect, {keys}")
    expected = CPU_KEYS.replace("BackendSelect, ", "")
    mismatch = f"tensor 'x' dispatch key set mismatch. expected {expected}, actual {actual}"
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8), guards=inside))
    explained = explain(made + make.refused("0/2", f"0/1: {function}", f"0/0: {mismatch}"))
    found = next(item for item in explained.compared[explained.recompiles[-1].compile] if item.entry.label == "0/1")
    assert found.causes[0].sentence == f"the code was compiled {sentence}"


TRANSFORMS = "| +- LAMBDA_GUARD: torch._functorch.pyfunctorch.compare_functorch_state({})  # app/model.py:6 in f"
VMAP, SAME, NESTED = "[('Vmap', 1, 'error')]", "[('Vmap', 1, 'same')]", "[('Vmap', 1, 'error'), ('Grad', 2, True)]"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (VMAP, "", "the code was compiled inside of vmap and is now called outside of transforms such as vmap"),
        ("[]", NESTED, "the code was compiled outside of transforms such as vmap and is now called inside of grad inside of vmap"),
        (VMAP, SAME, "the code was compiled inside of vmap(randomness='error') and is now called inside of vmap(randomness='same')"),
        ("[]", "", "the code was compiled outside of transforms such as vmap and is now called inside of one"),
    ],
)
def test_transforms_of_torch_func_that_code_is_called_inside_of(before: str, after: str, sentence: str) -> None:
    trees = [guard_tree(TRANSFORMS.format(state) if state else tensor_match(), tensor_match()) for state in (before, after)]
    cause = only(two(*trees, f"torch._functorch.pyfunctorch.compare_functorch_state({before})"))
    assert (cause.codes, cause.sentence) == (("SL307",), sentence)


def test_forward_mode_ad_that_code_is_called_inside_of() -> None:
    level = "| +- DUAL_LEVEL_MATCH: torch.autograd.forward_ad._current_level == {}"
    trees = [guard_tree(level.format(number), tensor_match()) for number in (-1, 0)]
    cause = only(two(*trees, "torch.autograd.forward_ad._current_level == -1"))
    assert cause.sentence == "the code was compiled outside of forward-mode AD (dual_level) and is now called inside of it"


def test_a_class_is_no_function_whatever_the_name_of_its_module() -> None:
    kinds = ("app.functions.Rows", "list")
    guards = [f"ID_MATCH: ___check_obj_id(L['kind'], {number}), type=<class '{kind}'>" for number, kind in enumerate(kinds)]
    trees = [guard_tree(tensor_match(), guard_manager("L['kind']", guard, type="type")) for guard in guards]
    cause = only(two(*trees, "___check_obj_id(kind, 0), type=<class 'app.functions.Rows'>"))
    assert (cause.codes, cause.sentence) == (("SL311",), "kind changed from the class Rows to list")


@pytest.mark.parametrize("kind", ["numpy._ArrayFunctionDispatcher", "numpy.ufunc"])
def test_a_function_of_numpy_is_no_object_to_be_created_once(kind: str) -> None:
    trees = [guard_tree(tensor_match(), identity("L['op']", number, kind)) for number in (7001, 7002)]
    cause = only(two(*trees, f"___check_obj_id(op, 7001), type=<class '{kind}'>"))
    assert (cause.codes, cause.sentence) == (("SL311",), "op is a different library function")


def test_an_operator_of_python_is_named_as_its_node_in_the_graph() -> None:
    trees = [guard_tree(tensor_match(), identity("L['op']", number, "builtin_function_or_method")) for number in (1, 2)]
    graphs = graph_text(INPUT, "lt = l_x_ < 3;  l_x_ = None"), graph_text(INPUT, 'ge_1: "b8[10, 8]" = l_x_ >= 3;  l_x_ = None')
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
    assert only(made).sentence == "op is a different library function: lt, now ge"


@pytest.mark.parametrize(("line", "names"), [("return op(-10, x)", ""), ("return op(x, 3)", ": lt, now ge")])
def test_a_comparison_with_the_number_first_is_reflected_in_the_graph(line: str, names: str) -> None:
    trees = [guard_tree(tensor_match(), identity("L['op']", number, "builtin_function_or_method")) for number in (1, 2)]
    place = f"# File: /srv/app/model.py:6 in f, code: {line}"
    graphs = graph_text(INPUT, place, "lt = l_x_ < 3;  l_x_ = None"), graph_text(INPUT, place, "ge_1 = l_x_ >= 3;  l_x_ = None")
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
    assert only(made).sentence == f"op is a different library function{names}"


def test_a_function_with_different_code_is_passed_on_purpose() -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn'].__code__", number, "code")) for number in (7001, 7002)]
    calls = "# File: /srv/app/model.py:{} in {}, code: return x"
    graphs = [
        graph_text(INPUT, *[line for place in places for line in (calls.format(*place), "b = torch.relu(l_x_)")])
        for places in (
            [(20, "left"), (25, "shared")],
            [(30, "right"), (35, "other"), (25, "shared")],
        )
    ]
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
    assert (only(made).sentence, last_recompile(made).verdict) == ("fn changed to a function with different code", Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("mode", "operation", "verdict"),
    [
        (1, "torch._C._set_grad_enabled(False)", Verdict.JUSTIFIED),
        (2, "torch._C._set_grad_enabled(False)", Verdict.CODE),  # the mode may be what makes the graphs differ
        (1, "b = torch.relu(l_x_)", Verdict.CODE),
    ],
)
def test_functions_with_different_code_where_nothing_else_makes_the_graphs_differ(mode: int, operation: str, verdict: Verdict) -> None:
    """What Python calls by itself for ``a.b = c`` is no function that was passed."""
    line = "# File: /venv/torch/backends/cuda/__init__.py:20 in __setattr__, code: return set(value)"
    graphs = graph_text(INPUT, "b = torch.relu(l_x_)"), graph_text(INPUT, *([line] if operation.startswith("torch") else []), operation)
    made = trace()
    for number in (0, 1):
        guards = guard_tree(
            tensor_match(),
            identity("L['fn'].__code__", 7001 + number, "code"),
            equals_match("L['mode']", mode if number else 1),
        )
        reasons = ("0/0: ___check_obj_id(fn.__code__, 7001), type=<class 'code'>",) if number else ()
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph=graphs[number], reasons=reasons)
    cause = next(cause for cause in last_recompile(made).causes if cause.source == "L['fn'].__code__")
    different = "fn changed to a function with different code"
    assert (cause.sentence, cause.verdict) == (different if verdict is Verdict.JUSTIFIED else RECREATED, verdict)


BROKEN = """Graph break in user code at /srv/app/hooks.py:{line}
Graph Break Reason: Data dependent operator

User code traceback:
  File "/srv/app/main.py", line 20, in main
    f(x)
  File "/srv/app/model.py", line 6, in f
    return {called}(*args)
  File "/srv/app/hooks.py", line {line}, in {name}
    if bool(x.sum()):
"""


@pytest.mark.parametrize(
    ("called", "names", "verdict", "sentence"),
    [
        ("fn", ("before", "after"), Verdict.JUSTIFIED, "fn changed from the function before (hooks.py:7) to after (hooks.py:9)"),
        ("fn", ("before",), Verdict.CODE, "fn is a different function: its code object changed"),
        ("other", ("before", "after"), Verdict.CODE, "fn is a different function: its code object changed"),
    ],
)
def test_the_function_in_which_the_graph_broke_is_the_one_that_was_passed(
    called: str, names: tuple[str, ...], verdict: Verdict, sentence: str
) -> None:
    made = trace()
    for number in (0, 1):
        guards = guard_tree(tensor_match(), identity("L['fn'].__code__", 7001 + number, "code"))
        for name in names[number : number + 1]:
            text = BROKEN.format(line=7 + 2 * number, called=called, name=name)
            made += make.artifact("dynamo_graph_break_reason", text, id=f"0/{number}")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph="")
    assert (only(made).sentence, last_recompile(made).verdict) == (sentence, verdict)
    assert ("define the function once" in only(made).own_remedy) is (verdict is Verdict.CODE)


@pytest.mark.parametrize(
    ("caller", "value", "of_class"),
    [
        ("/usr/lib/python3.11/copy.py", "accept one graph for each value: library code", "accept one graph for each class: library code"),
        (MODEL, "keep the value out of the compiled function", ""),
    ],
)
def test_what_a_library_passes_to_its_own_function_is_not_moved_out_of_it(caller: str, value: str, of_class: str) -> None:
    """A text, and the class of a refused call, whose stack is not recorded."""
    file = "/usr/lib/python3.11/inspect.py"
    made = []
    for number, text in enumerate("ab"):
        where = {"id": f"0/{number}", "process": make.PROCESS}
        guards = guard_tree(tensor_match(), equals_match("L['attr']", text, "str"), a_class("app.A", 7))
        reasons = ["0/0: L['attr'] == 'a'"] if number else ()
        whole = compiled(f"0/{number}", tensor(10, 8), guards=guards, reasons=reasons, name="getattr_static", file=file, line=104)
        start = make.dynamo_start("getattr_static", 104, file, caller=caller, **where)
        made.append(whole.replace(make.dynamo_start("getattr_static", 104, file, call=20, **where), start))
    last = make.refused("0/1", "0/0: ___check_obj_id(k, 7), type=<class 'app.A'>")
    causes = only(trace(*made)), only(trace(made[0], last))
    assert [cause.codes for cause in causes] == [("SL311",), ("SL311",)]
    for cause, remedy in zip(causes, (value, of_class), strict=True):
        assert (cause.own_remedy.startswith(remedy), bool(cause.own_remedy)) == (True, bool(remedy))


SKIPPED = """Graph break in user code at {file}:3140
Graph Break Reason: Attempted to call function marked as skipped
  Explanation: Dynamo developers have intentionally marked that the function `{name}` in file `/lib/torch/quantize.py` should not be traced.
  Hint: Avoid calling the function `{name}`.

User code traceback:
  File "/srv/app/main.py", line 20, in main
    {name}(model)
  File "{file}", line 3140, in wrapper
    {code}
"""
IN_LIBRARY = "/venv/lib/python3.11/site-packages/typing_extensions.py"


@pytest.mark.parametrize(
    ("file", "code", "names", "sentence", "remedy"),
    [
        (
            IN_LIBRARY,
            "return fn(*args, **kwargs)",
            ("prepare", "convert"),
            "fn changed from the function prepare (quantize.py) to convert (quantize.py)",
            "accept one graph for each function that this library code calls",
        ),
        (MODEL, "return fn(*args, **kwargs)", ("prepare", "convert"), "fn changed from the function prepare", "pass fewer functions"),
        (IN_LIBRARY, "return fn(*args, **kwargs)", ("convert", "convert"), RECREATED, "define the function once"),
        (IN_LIBRARY, "return fn(convert(x))", ("prepare", "convert"), RECREATED, "define the function once"),
    ],
)
def test_a_function_that_pytorch_does_not_trace_is_the_one_that_was_called(
    file: str, code: str, names: tuple[str, ...], sentence: str, remedy: str
) -> None:
    made = trace()
    for number, name in enumerate(names):
        check = f"ID_MATCH: ___check_obj_id(L['fn'].__code__, {7001 + number}), type=<class 'code'>  # {code}  # {file}:3140 in wrapper"
        guards = guard_tree(tensor_match(), guard_manager("L['fn'].__code__", check, type="code"))
        made += make.artifact("dynamo_graph_break_reason", SKIPPED.format(name=name, file=file, code=code), id=f"0/{number}")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, graph="", name="wrapper", file=file)
    assert only(made).sentence.startswith(sentence)
    assert only(made).own_remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("file", "code", "remedy"),
    [
        (IN_LIBRARY, "return fn(*args, **kwargs)", "accept one graph for each function that this library code calls"),
        (IN_LIBRARY, "return fn(x)", "define the function once"),
        (MODEL, "return fn(*args, **kwargs)", "define the function once"),
    ],
)
def test_the_function_of_a_refused_call_that_a_decorator_calls_is_not_passed(file: str, code: str, remedy: str) -> None:
    place = f"# {code}  # {file}:3140 in wrapper"
    check = f"ID_MATCH: ___check_obj_id(L['fn'].__code__, 7001), type=<class 'code'>  {place}"
    guards = guard_tree(tensor_match(), guard_manager("L['fn'].__code__", check, type="code"))
    last = make.refused("0/1", f"0/0: ___check_obj_id(fn.__code__, 7001), type=<class 'code'>  {place}")
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=guards, name="wrapper", file=file), last))
    assert (cause.sentence, cause.own_remedy.startswith(remedy)) == (RECREATED, True)


@pytest.mark.parametrize(
    ("file", "caller", "code", "verdict"),
    [
        (IN_LIBRARY, "/usr/lib/python3.11/copy.py", "return fn(*args, **kwargs)", Verdict.JUSTIFIED),
        (IN_LIBRARY, "/usr/lib/python3.11/copy.py", "return kwargs['a'] + args[0]", Verdict.CODE),
        (IN_LIBRARY, MODEL, "return fn(*args, **kwargs)", Verdict.CODE),
        (MODEL, MODEL, "return fn(*args, **kwargs)", Verdict.CODE),
    ],
)
@pytest.mark.parametrize(("source", "type"), [("L['kwargs']", "dict"), ("L['args']", "tuple")])
def test_what_a_library_passes_on_has_as_many_items_as_it_passes(
    file: str, caller: str, code: str, verdict: Verdict, source: str, type: str
) -> None:
    place = f"# {code}  # {file}:3140 in wrapper"
    made = trace()
    for number, length in enumerate((1, 3)):
        guards = guard_tree(tensor_match(), guard_manager(source, f"LENGTH_CHECK: len({source}) == {length}  {place}", type=type))
        where = {"id": f"0/{number}", "process": make.PROCESS}
        start = make.dynamo_start("wrapper", 3139, file, caller=caller, **where)
        reasons = [f"0/0: len({source}) == 1  {place}"] if number else ()
        whole = compiled(f"0/{number}", tensor(10, 8), guards=guards, reasons=reasons, name="wrapper", file=file, line=3139)
        made += whole.replace(make.dynamo_start("wrapper", 3139, file, call=20, **where), start)
    cause = only(made)
    assert cause.verdict is verdict
    assert cause.own_remedy.startswith("accept one graph for each set of arguments") is (verdict is Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("code", "is_shape"),
    [
        ("x = torch.randn(shape, device=device)", True),
        ("y = x.view(*shape)", True),
        ("y = x.new_zeros(tuple(shape))", True),
        ("a = make_tensor((*shape, n, m), device=device)", True),
        ("y = vmap(lambda t: t.as_strided(shape, strides, offset))(x)", True),
        ("y = x.as_strided(sizes, shape)", True),
        ("y = torch.permute(x, shape)", True),
        ("y = torch.add(x, shape)", False),
        ("y = torch.zeros(shape[0])", False),
        ("y = torch.zeros(shape.numel())", False),
        ("y = x.sum(shape)", False),
    ],
)
def test_a_list_that_is_the_shape_of_a_tensor_has_an_item_for_each_dim(code: str, is_shape: bool) -> None:
    source, trees = "L['shape']", []
    for length in (2, 3):
        guard = f"LENGTH_CHECK: len({source}) == {length}  {code_comment(6, code)}"
        trees.append(guard_tree(tensor_match(), guard_manager(source, guard, type="list")))
    cause = only(two(*trees, f"len(shape) == 2  {code_comment(6, code)}"))
    assert (cause.codes, cause.verdict) == (("SL313",), Verdict.JUSTIFIED if is_shape else Verdict.CODE)
    assert cause.own_remedy.startswith("accept one graph for each number of dimensions") is is_shape


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("x = torch.zeros(size)", Verdict.JUSTIFIED),
        ("x = torch.zeros(size, dtype=dtype)", Verdict.JUSTIFIED),
        ("x = torch.zeros(n, m)", Verdict.CODE),
        ("x = combine(parts)", Verdict.CODE),
    ],
)
def test_a_list_on_the_stack_that_is_the_shape_of_a_tensor_has_an_item_for_each_dim(code: str, verdict: Verdict) -> None:
    """``size = [random.randint(1, 3) for _ in range(dims)]`` breaks the graph."""
    source, trees = "L['___stack0']", []
    for length in (1, 2):
        guard = f"LENGTH_CHECK: len({source}) == {length}  {code_comment(6, code)}"
        trees.append(guard_tree(tensor_match(), guard_manager(source, guard, type="list")))
    assert only(two(*trees, f"len(___stack0) == 1  {code_comment(6, code)}")).verdict is verdict


@pytest.mark.parametrize(("lengths", "value", "is_of_floats"), [((31, 8), "0.5", True), ((2, 3), "0.5", False), ((31, 8), "7", False)])
def test_a_list_of_floats_can_be_one_tensor(lengths: tuple[int, int], value: str, is_of_floats: bool) -> None:
    """A few numbers may be the sizes or strides of an operator, one for each dim, and ints those of a split."""
    source, trees = "L['samples']", []
    for length in lengths:
        first = equals_match(f"{source}[0]", value, "float" if "." in value else "int")
        guard = f"LENGTH_CHECK: len({source}) == {length}  {code_comment(6, 'return stats.kstest(samples)')}"
        trees.append(guard_tree(tensor_match(), guard_manager(source, guard, type="list"), first))
    cause = next(cause for cause in last_recompile(two(*trees, f"len(samples) == {lengths[0]}")).causes if cause.codes == ("SL313",))
    assert cause.own_remedy.startswith("pass the floats as one tensor or array") is is_of_floats


@pytest.mark.parametrize(("loc", "is_made"), [("optimizer.step()", True), ("combine(models)", False)])
def test_a_list_that_a_library_makes_is_not_passed_by_the_user(loc: str, is_made: bool) -> None:
    made = trace()
    for number, length in enumerate((8, 3)):
        where, own = {"id": f"0/{number}"}, {"line": 252, "name": "sgd", "filename": IN_LIBRARY}
        callers = [{"line": 20, "name": "main", "filename": MODEL, "loc": loc}, {"line": 160, "name": "step", "filename": IN_LIBRARY}]
        guards = guard_tree(tensor_match(), guard_manager("L['params']", f"LENGTH_CHECK: len(L['params']) == {length}", type="list"))
        start = record("dynamo_start", {"stack": [*callers, own]}, **where)
        reasons = recompile_reasons("0/0: len(params) == 8", **where) if number else b""
        end = metrics(f"0/{number}", has_guarded_code=True, co_name="sgd", co_filename=IN_LIBRARY, co_firstlineno=252)
        made += reasons + start + describe(tensor(10, 8), **where) + output_graph((10, 8), **where) + cpp_guards(guards, **where) + end
    cause = only(made)
    assert cause.codes == ("SL313",)
    assert cause.verdict is (Verdict.JUSTIFIED if is_made else Verdict.CODE)


@pytest.mark.parametrize(("holder", "sentence"), [("", "different code"), (".__func__", "the function forward (model.py:20)")])
def test_a_method_whose_code_is_in_the_graph_is_not_the_function_that_was_passed(holder: str, sentence: str) -> None:
    """``functional_call(module, x)`` leaves the code of ``forward`` alone, unless a method was passed."""
    trees = [guard_tree(tensor_match(), identity(f"L['fn']{holder}.__code__", number, "code")) for number in (7001, 7002)]
    place = "# File: /srv/app/model.py:20 in forward, code: return self.lin(x)"
    graphs = [graph_text(INPUT, *lines) for lines in ([], [place, "b = torch.relu(l_x_)"])]
    made = [compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)]
    assert sentence in only(trace(*made)).sentence
    assert last_recompile(trace(*made)).verdict is Verdict.JUSTIFIED


@pytest.mark.parametrize("is_first", [True, False])
def test_a_function_that_left_no_operation_is_another_one_than_one_that_did(is_first: bool) -> None:
    trees = [guard_tree(tensor_match(), identity("L['fn'].__code__", number, "code")) for number in (7001, 7002)]
    graphs = [graph_text(INPUT, *lines) for lines in ([], ["# File: /srv/app/model.py:20 in left, code: return x", "b = torch.relu(l_x_)"])]
    made = [compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number != is_first]) for number in (0, 1)]
    now = "from" if is_first else "to"
    assert only(trace(*made)).sentence == f"fn changed {now} the function left (model.py:20); the other one left no operation"
    assert last_recompile(trace(*made)).verdict is Verdict.JUSTIFIED


def test_the_view_of_a_dict_is_one_cause() -> None:
    trees = []
    for keys in (["a"], ["a", "b"]):
        guards = f"DICT_LENGTH: len(L['keys']) == {len(keys)}", f"EQUALS_MATCH: L['keys'] == dict_keys({keys})"
        trees.append(guard_tree(tensor_match(), guard_manager("L['keys']", *guards, type="dict_keys")))
    assert only(two(*trees, "len(keys) == 1")).sentence == "the dict keys had 1 key and now has 2"


def test_a_guard_over_an_int_is_no_branch_on_a_size() -> None:
    shape = "(L['k'] % 2) == 0  # if k % 2 == 0:  # app/model.py:6 in f"
    trees = guard_tree(guard_manager("L['k']", type="int"), shapes=(shape,)), guard_tree(equals_match("L['k']", 5))
    cause = only(two(*trees, shape.replace("L['k']", "k"), same=False))
    assert cause.sentence.startswith("the code branches on an int: the cache entry requires (k % 2) == 0")


def test_none_in_place_of_a_tensor_is_written_as_users_write_it() -> None:
    trees = guard_tree(tensor_match()), guard_tree(guard_manager("L['x']", type="NoneType"))
    cause = only(two(*trees, "expected type of 'x' to be a tensor type, ' but found <class 'NoneType'>", same=False))
    assert (cause.codes, cause.sentence) == (("SL322",), "x changed from a tensor to None")


def test_a_size_is_not_tied_to_one_that_shares_its_symbol() -> None:
    first, second = (tensor(rows, 8, source="L['out']") for rows in (10, 12))
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]", "L['out'].size()[0]"], "value": "12"}
    made = trace(compiled("0/0", tensor(10, 8), first))
    made += compiled("0/1", tensor(12, 8), second, symbols=(("s77", "12", "L['x'].size()[0]"),), specializations=(pinned,))
    assert not any("ties it" in cause.sentence for cause in last_recompile(made).causes)


def test_the_strides_of_one_slice_are_one_cause() -> None:
    ties = ("L['x'].stride()[0] == L['x'].size()[1]*L['x'].size()[2]", "L['x'].stride()[1] == L['x'].size()[2]")
    trees = guard_tree(tensor_match(size=(None, None, None), stride=(None, None, 1)), shapes=[f"{tie}  {RETURN_LINE}" for tie in ties])
    made = trace(compiled("0/0", tensor(4, 6, 8), guards=trees), compiled("0/1", tensor(4, 6, 7, stride=[48, 8, 1])))
    assert [cause.codes for cause in last_recompile(made).causes] == [("SL105",)]


def test_a_nested_tensor_with_as_many_rows_as_columns_has_a_remedy_of_its_own() -> None:
    square = "L['a']._offsets.size()[0] == 1 + L['a']._values.size()[1]"
    guards = guard_tree(tensor_match(), shapes=(f"{square}  {RETURN_LINE}",))
    parts = [[tensor(rows, source="L['a']._offsets"), tensor(9, 3, source="L['a']._values")] for rows in (4, 5)]
    made = trace(compiled("0/0", *parts[0], guards=guards), compiled("0/1", *parts[1], guards=guards, reasons=(f"0/0: {square}",)))
    item = report(made).recompiles[-1]
    assert (item.codes, item.verdict, item.blocking_rule) == (("SL103",), Verdict.CODE, "")
    assert report(made).remedies.of_recompile(item).text == "set torch.fx.experimental._config.use_duck_shape = False"


def test_an_item_of_a_dict_subclass_has_the_name_that_pytorch_gives_it() -> None:
    item = "dict.__getitem__(L['d'], list(dict.keys(L['d']))[0])"
    trees = []
    for guard in (f"EQUALS_MATCH: {item} == 2", f"TYPE_MATCH: ___check_type_id({item}, 7), type=<class 'int'>"):
        value = guard_manager("L['d']['a']", guard, type="int").replace("GuardManager:", "ValueManager: GuardManager:")
        trees.append(guard_tree(tensor_match(), guard_manager("L['d']", type="collections.Counter", kind="DictGuardManager"), value))
    made = trace(compiled("0/0", tensor(10, 8), guards=trees[0]))
    reasons = ("0/0: dict.__getitem__(d, list(dict.keys(d))[0]) == 2",)
    made += compiled("0/1", tensor(10, 8), guards=trees[1], reasons=reasons, symbols=(("s7", "3", item),))
    cause = only(made)
    assert (cause.codes, cause.source, cause.sentence) == (("SL102",), item, "the int d[key 0] changed from 2 to 3")


def test_a_tensor_in_a_dict_subclass_has_the_name_that_pytorch_gives_it() -> None:
    """The guards on it are those of the described tensor, so that its size is a cause where PyTorch names another one."""
    item, calls = "dict.__getitem__(L['d'], list(dict.keys(L['d']))[0])", []
    for number, rows in enumerate((10, 12)):
        value = tensor_match(item, size=(rows, 8)).replace(f"GuardManager: source={item}", "ValueManager: GuardManager: source=L['d']['h']")
        of_dict = guard_manager("L['d']", type="Output", kind="DictGuardManager")
        guards = guard_tree(tensor_match(size=(rows, 8)), of_dict, value)
        reasons = ("0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12",) if number else ()
        calls.append(compiled(f"0/{number}", tensor(rows, 8), tensor(rows, 8, source=item), guards=guards, reasons=reasons))
    (recompile,) = report(trace(*calls)).recompiles
    assert [cause.axis for cause in recompile.causes] == ["x.size[0]", "d[key 0].size[0]"]


def test_an_attribute_of_a_module_that_became_a_parameter_is_not_gone() -> None:
    before = guard_manager("L['self'].b", "ID_MATCH: L['self'].b is None", type="NoneType")
    after = tensor_match("L['self']._parameters['b']")
    made = two(guard_tree(tensor_match(), before), guard_tree(tensor_match(), after), "KeyError on self.b")
    cause = only(made)
    assert (cause.codes, cause.sentence) == (("SL322",), "self.b changed from None to a tensor")


def test_inference_mode_that_ended_for_a_tensor_created_in_it() -> None:
    states = (False, "DispatchKeySet(CPU, BackendSelect)"), (True, "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)")
    trees = [guard_tree(global_state(grad_mode=mode), tensor_match(keys=keys)) for mode, keys in states]
    cause = only(two(*trees, "GLOBAL_STATE changed: grad_mode "))
    assert cause.sentence == "compiled in inference mode, called outside it"


def test_vmap_takes_a_dim_from_a_tensor() -> None:
    trees = [guard_tree(TRANSFORMS.format(state), tensor_match(size=size)) for state, size in ((VMAP, (10, 8)), ("[]", (3, 10, 8)))]
    assert only(two(*trees, f"torch._functorch.pyfunctorch.compare_functorch_state({VMAP})", same=False)).codes == ("SL307",)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("KeyError on self._modules['relu']", "self has no module relu, and the one that this was compiled for had it"),
        ("KeyError on self._parameters['bias']", "self has no parameter bias, and the one that this was compiled for had it"),
        ("KeyError on dict(type(self).__dict__)['scale']", "type(self) no longer has the attribute scale"),
        ("len(self._forward_pre_hooks) != 1", "self had 1 forward pre hook and now has a different number"),
        ("not self._forward_hooks", "self had no forward hooks and now has some"),
    ],
)
def test_what_a_module_or_a_class_has_is_no_key_of_a_dict(reason: str, sentence: str) -> None:
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), reason))
    assert (cause.codes, cause.sentence) == (("SL320",), sentence)
    assert cause.own_remedy.startswith("modules with and without it need separate graphs") is ("the one that" in sentence)


@pytest.mark.parametrize(
    ("reason", "before", "after", "sentence"),
    [
        ("o", ("L['o']", "L['o'].a", "L['o'].a.b"), ("L['o']",), "o no longer has the attribute a"),
        ("o", ("L['o']", "L['o'].a", "L['o'].c"), ("L['o']",), "o no longer has an attribute that it had before"),
        ("o.p", ("L['o']", "L['o'].p", "L['o'].p.a"), ("L['o']", "L['o'].p"), "o.p no longer has the attribute a"),
        ("o.p", ("L['o']", "L['o'].p", "L['o'].p.a"), ("L['o']",), "o no longer has the attribute p"),
        ("o.p", ("L['o']", "L['o'].p", "L['o'].p.a"), None, "o.p, or an attribute of it, no longer exists"),
        ("o", ("L['o']", "L['o'].a"), None, "o no longer has the attribute a"),
    ],
)
def test_an_attribute_that_is_gone_is_named(reason: str, before: tuple[str, ...], after: tuple[str, ...] | None, sentence: str) -> None:
    """The reason names what the code read, or the object that it asked for an attribute with ``hasattr``."""

    def tree(sources: tuple[str, ...]) -> str:
        return guard_tree(tensor_match(), *(guard_manager(source, type="app.O") for source in sources))

    made = trace(compiled("0/0", tensor(10, 8), guards=tree(before)))
    made += compiled(
        "0/1", tensor(10, 8), guards="" if after is None else tree(after), reasons=(f"0/0: getattr failed on source {reason}",)
    )
    assert only(made).sentence == sentence


def test_the_defaults_of_a_function_are_no_container() -> None:
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "len(target.__defaults__) == 2"))
    assert (cause.sentence, cause.own_remedy) == (
        "target had 2 defaults and now has a different number",
        "set the defaults of the function once, before the first call",
    )


def test_a_switch_that_turns_all_off_is_off_where_it_is_true() -> None:
    states = [guard_tree(global_state(torch_function_all_disabled=off), tensor_match()) for off in (False, True)]
    assert only(two(*states)).sentence == "__torch_function__ of modes changed from on to off"


def test_the_layers_of_a_module_are_the_items_of_a_container() -> None:
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), "len(self._modules['layers']._modules) != 2"))
    assert (cause.codes, cause.sentence) == (("SL313",), "self.layers had 2 modules and now has a different number")
    assert (cause.verdict, cause.own_remedy.partition(":")[0]) == (
        Verdict.JUSTIFIED,
        "modules of a different structure need their own graphs",
    )


def test_the_tensors_of_a_subclass_have_its_new_size_where_they_became_dynamic() -> None:
    sizes = (10, 8), (None, 8)
    trees = [guard_tree(tensor_match("L['w']", size), tensor_match("L['w'].a", size), tensor_match("L['w'].k", (3, 8))) for size in sizes]
    rows = [tensor(number, 8, source="L['w']") for number in (10, 12)]
    made = trace(*[compiled(f"0/{number}", rows[number], guards=trees[number]) for number in (0, 1)])
    assert [cause.axis for cause in last_recompile(made).causes] == ["w.size[0]", "w.a.size[0]"]
    other = guard_tree(tensor_match("L['w']"), tensor_match("L['w'].a", (5, 8)))
    made = trace(compiled("0/0", rows[0], guards=other), compiled("0/1", rows[1], guards=trees[1]))
    assert [cause.axis for cause in last_recompile(made).causes] == ["w.size[0]"]


def test_an_operator_of_python_and_a_function_of_torch_are_both_named() -> None:
    trees = [guard_tree(tensor_match(), identity("L['op']", number, "builtin_function_or_method")) for number in (1, 2)]
    graphs = graph_text(INPUT, "mul = l_x_ * l_x_"), graph_text(INPUT, "add = torch.add(l_x_, l_x_)")
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)])
    assert only(made).sentence == "op is a different library function: mul, now torch.add"


def test_vmap_takes_a_dim_from_a_tensor_where_only_its_dispatch_keys_show_it() -> None:
    batched = CPU_KEYS.replace(")", ", FuncTorchBatched)")
    trees = [guard_tree(tensor_match(size=size, keys=keys)) for size, keys in (((10, 8), CPU_KEYS), ((8,), batched))]
    assert only(two(*trees, same=False)).sentence == "x is now inside a torch.func transform such as vmap"


@pytest.mark.parametrize(
    ("changed", "code", "is_set"),
    [
        ("L['self'].config", "if self.config.kind is None:", True),
        ("L['self'].config", "if self.config.kind is not None:", False),
        ("L['self'].cache", "if self.config.kind is None:", False),
    ],
)
def test_an_attribute_that_the_code_sets_where_it_is_none_can_be_set_before(changed: str, code: str, is_set: bool) -> None:
    """Classifiers of transformers find out in the first call what they are used for."""
    kind = "L['self'].config.kind"
    trees = [guard_tree(tensor_match(), equals_match(kind, value, comment=code_comment(7, code))) for value in (None, "one label")]
    line = '      File "/srv/lib/config.py", line 6, in __setattr__\n        super().__setattr__(key, value)\n'
    effects = make.artifact("dynamo_side_effects", f"Mutating object of type Config (source name: {changed})\n\n{line}", id="0/0")
    made = compiled("0/0", tensor(10, 8), guards=trees[0]) + effects + compiled("0/1", tensor(10, 8), guards=trees[1])
    recompile = last_recompile(trace(made))
    (cause,) = recompile.causes
    assert (cause.codes, recompile.verdict) == (("SL322",), Verdict.CODE if is_set else Verdict.JUSTIFIED)
    assert (cause.own_remedy == "set self.config.kind to 'one label' before the first call") == is_set


@pytest.mark.parametrize(("function", "is_vmap"), [("_flat_vmap", True), ("fn", False)])
def test_what_vmap_pins_for_an_operator_is_not_up_to_the_line_that_calls_it(function: str, is_vmap: bool) -> None:
    """The wrapper ``fn`` in its file is one of grad and jvp as well."""
    line = {"filename": 0, "line": 8, "name": "<lambda>", "loc": "conv1d(row, kernel)"}
    pinned = {
        "symbol": "s77",
        "sources": ["L['x'].size()[0]"],
        "value": "10",
        "user_stack": [{"filename": "/opt/torch/_functorch/vmap.py", "line": 507, "name": function}, line],
        "stack": [{"filename": "/opt/torch/_subclasses/fake_tensor.py", "line": 3590, "name": "<genexpr>"}],
    }
    cause = only(trace(compiled("0/0", tensor(10, 8), specializations=(pinned,)), compiled("0/1", tensor(12, 8))))
    assert cause.codes == ("SL101", "SL202" if is_vmap else "SL201")
    who = "vmap, for the operator at model.py:8 (conv1d(row, kernel))," if is_vmap else "model.py:8 (conv1d(row, kernel))"
    assert cause.sentence.endswith(f"{who} needs the exact value")
    if is_vmap:  # mark_unbacked raises
        assert cause.own_remedy == "vmap takes this size as a number: pad to fewer sizes, or accept one graph per value"


@pytest.mark.parametrize(
    ("file", "code"), [("/opt/venv/lib/python3.11/site-packages/torch/nn/attention/flex.py", "SL202"), (make.MODEL, "SL201")]
)
def test_a_call_of_mark_static_in_compiled_code_pins_a_size(file: str, code: str) -> None:
    dynamo = "/opt/venv/lib/python3.11/site-packages/torch/_dynamo"
    frames = [
        {"filename": file, "line": 9, "name": "f", "loc": "torch._dynamo.mark_static(x, 0)"},
        {"filename": f"{dynamo}/decorators.py", "line": 1388, "name": "mark_static", "loc": "comptime.force_static(t.size(index))"},
        {"filename": f"{dynamo}/comptime.py", "line": 407, "name": "force_static", "loc": "comptime(force)"},
    ]
    pinned = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10", "user_stack": frames}
    cause = only(trace(compiled("0/0", tensor(10, 8), specializations=(pinned,)), compiled("0/1", tensor(12, 8))))
    assert cause.codes == ("SL101", code)
    assert cause.sentence.endswith(f"; {file.rsplit('/', 1)[-1]}:9 (torch._dynamo.mark_static(x, 0)) needs the exact value")
    assert cause.own_remedy.startswith("accept one graph per value: the library makes this size static") is (code == "SL202")


def test_of_several_pinned_sizes_the_one_that_was_pinned_first_comes_first() -> None:
    def pinned(source: str, value: int, line: int) -> dict[str, object]:
        return {
            "symbol": f"s{line}",
            "sources": [f"{source}.size()[0]"],
            "value": str(value),
            "user_stack": [{"filename": 0, "line": line, "name": "f", "loc": f"line {line}"}],
        }

    y = "L['y']"
    one, other = ((tensor(n, 8), tensor(n + 1, 8, source=y)) for n in (10, 12))
    made = trace(compiled("0/0", *one), compiled("0/1", *other, specializations=(pinned(y, 13, 9), pinned("L['x']", 12, 14))))
    (recompile,) = explain(made).recompiles
    assert [cause.axis for cause in recompile.causes] == ["y.size[0]", "x.size[0]"]


@pytest.mark.parametrize(("other", "code"), [("L['k']", "SL204"), ("L['x'].size()[1]", "SL105")])
def test_a_stride_that_is_compared_with_an_int_is_a_branch_on_that_int(other: str, code: str) -> None:
    """``x[:, :k]`` is all of x where k is as large as its stride; what follows from sizes is a layout."""
    shape = f"L['x'].stride()[0] != {other}  # return x[:, :k]  # app/model.py:6 in f"
    guards = guard_tree(tensor_match(size=(None, None), stride=(None, 1)), shapes=(shape,))
    symbols = (("s0", "16", "L['x'].stride()[0]"), ("s1", "8", "L['x'].size()[1]"), ("s2", "4", "L['k']"))
    now = guard_tree(tensor_match(), equals_match("L['k']", 8))
    made = trace(compiled("0/0", tensor(10, 8, stride=(16, 1)), guards=guards, symbols=symbols))
    recompile = last_recompile(made + compiled("0/1", tensor(10, 8), guards=now))
    assert [cause.codes[0] for cause in recompile.causes if cause.prop.kind is Kind.SHAPE_GUARD] == [code]


@pytest.mark.parametrize(("position", "code"), [(9, "SL105"), (11, "SL204")])
def test_an_int_that_is_the_length_of_the_tensor_is_a_size_of_it(position: int, code: str) -> None:
    """A cache that is cropped to the position which is passed with it."""
    cache = "L['cache']"
    shape = f"{cache}.stride()[0] == 8*L['position']  # k = cache.view(-1)  # app/model.py:6 in f"
    guards = guard_tree(tensor_match(cache, (2, None, 8), stride=(None, 8, 1)), shapes=(shape,))
    symbols = (("s0", "7", f"{cache}.size()[1]"), ("s0", "7", "L['position']"))
    now = guard_tree(tensor_match(cache, (2, 9, 8), stride=(96, 8, 1)), equals_match("L['position']", position))
    made = trace(compiled("0/0", tensor(2, 7, 8, source=cache), guards=guards, symbols=symbols))
    recompile = last_recompile(made + compiled("0/1", tensor(2, 9, 8, source=cache, stride=(96, 8, 1)), guards=now))
    assert [cause.codes[0] for cause in recompile.causes if cause.prop.kind is Kind.SHAPE_GUARD] == [code]


def test_a_very_long_guard_is_short_in_the_sentence_and_whole_in_what_the_entry_requires() -> None:
    long = " + ".join(["(L['x'].size()[0] % 4)"] * 12) + " == 24"
    guards = guard_tree(tensor_match(size=(None, 8)), shapes=(f"{long}  # if x.size(0) % 4 == 2:  # app/model.py:8 in f",))
    symbols = (("s77", "10", "L['x'].size()[0]"),)
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=guards, symbols=symbols), compiled("0/1", tensor(12, 8))))
    assert "requires an expression of x.size()[0] == 24 (now" in cause.sentence
    assert len(cause.sentence) < 220
    assert cause.before.endswith("== 24")


@pytest.mark.parametrize(("size", "now"), [(30, " (now x.size()[0] = 30)"), (10, "")])
def test_a_size_that_satisfies_what_failed_is_no_size_of_the_call(size: int, now: str) -> None:
    """A mark with a hint has the hint recorded in its place."""
    shape = "L['x'].size()[0] <= 20  # if x.size(0) <= 20:  # app/model.py:6 in f"
    entry = compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), shapes=(shape,)))
    call = compiled("0/1", tensor(size, 8), guards=guard_tree(tensor_match()), reasons=(f"0/0: {shape}",))
    sentences = [cause.sentence for cause in last_recompile(trace(entry, call)).causes if "SL204" in cause.codes]
    assert [sentence.split("requires ")[1] for sentence in sentences] == [f"x.size()[0] <= 20{now}"]


@pytest.mark.parametrize(
    ("type", "verdict", "remedy"),
    [
        ("app.make.<locals>.Cfg", Verdict.CODE, "define the class at module level"),
        ("torch.nn.utils.parametrize.ParametrizedLinear", Verdict.JUSTIFIED, "each parametrized module has a class of its own"),
        ("torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl", Verdict.CODE, "create the GraphModule once"),
    ],
)
def test_another_class_of_the_same_name_is_to_be_defined_once_unless_pytorch_makes_it(type: str, verdict: Verdict, remedy: str) -> None:
    checks = (f"TYPE_MATCH: ___check_type_id(L['cfg'], {address})" for address in (94416112235136, 94416112235200))
    was, now = (guard_tree(tensor_match(), guard_manager("L['cfg']", check, type=type)) for check in checks)
    cause = only(two(was, now, "___check_type_id(L['cfg'], 94416112235136)"))
    assert (cause.codes, cause.verdict) == (("SL310",), verdict)
    assert cause.sentence == f"cfg is an instance of a different class with the same name ({type})"
    assert cause.own_remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("type", "remedy"),
    [
        ("torch.nn.utils.parametrize.ParametrizedLinear", "each parametrized module has a class of its own"),
        ("torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl", "create the GraphModule once"),
        ("app.make.<locals>.Cfg", "define the class at module level"),
        ("app.Cfg", ""),
    ],
)
def test_a_class_that_is_made_for_one_module_is_none_of_a_refused_call(type: str, remedy: str) -> None:
    was = guard_tree(tensor_match(), guard_manager("L['m']", "TYPE_MATCH: ___check_type_id(L['m'], 7)", type=type))
    last = make.refused("0/1", f"0/0: ___check_type_id(m, 7), type=<class '{type}'>")
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=was), last))
    assert (cause.codes, cause.sentence.rpartition(" to ")[2]) == (("SL310",), "another type")
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


@pytest.mark.parametrize(("name", "remedy"), [("app.make.<locals>.Net", "define the class at module level"), ("app.Net", "")])
def test_a_class_that_is_defined_in_a_function_is_one_for_each_call_of_it(name: str, remedy: str) -> None:
    """Also where the class of the call is not recorded."""
    last = make.refused("0/1", f"0/0: ___check_obj_id(k, 7), type=<class '{name}'>")
    cause = only(trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), a_class(name, 7))), last))
    assert (cause.codes, cause.sentence) == (("SL311",), "k was the class Net and has changed")
    assert cause.own_remedy.startswith(remedy)
    assert bool(cause.own_remedy) is bool(remedy)


def test_a_tensor_that_pytorch_traces_with_is_no_type_to_avoid() -> None:
    now = guard_tree(guard_manager("L['x']", "TYPE_MATCH: ___check_type_id(L['x'], 7)", type="FunctionalTensor"))
    cause = only(two(guard_tree(tensor_match()), now, "___check_type_id(x, 7)", same=False))
    assert (cause.codes, cause.verdict) == (("SL310",), Verdict.JUSTIFIED)
    assert cause.own_remedy.startswith("accept one graph for calls that are traced")


@pytest.mark.parametrize(
    ("source", "code", "verdict", "remedy"),
    [
        ("G['torch'].ops.lib.f", "SL308", Verdict.CODE, "register the operator once"),
        ("L['op']", "SL311", Verdict.JUSTIFIED, "pass fewer functions, or accept one graph for each"),
    ],
)
def test_an_operator_that_is_found_by_its_name_was_registered_again(source: str, code: str, verdict: Verdict, remedy: str) -> None:
    """One that is passed is another operator."""
    texts = (f"___check_obj_id({source}, {number}), type=<class 'torch._ops.OpOverloadPacket'>" for number in (7, 9))
    was, now = (
        guard_tree(tensor_match(), guard_manager(source, f"ID_MATCH: {text}", type="torch._ops.OpOverloadPacket")) for text in texts
    )
    cause = only(two(was, now, f"___check_obj_id({source}, 7), type=<class 'torch._ops.OpOverloadPacket'>"))
    assert (cause.codes, cause.verdict) == ((code,), verdict)
    assert cause.own_remedy.startswith(remedy)


@pytest.mark.parametrize(("kind", "verdict"), [("torch.Size", Verdict.JUSTIFIED), ("tuple", Verdict.CODE)])
def test_the_length_of_a_size_is_a_number_of_dimensions(kind: str, verdict: Verdict) -> None:
    trees = (
        guard_tree(
            tensor_match(),
            guard_manager(
                "L['shape']",
                f"TYPE_MATCH: ___check_type_id(L['shape'], 7), type=<class '{kind}'>",
                f"LENGTH_CHECK: len(L['shape']) == {number}",
                type=kind,
            ),
        )
        for number in (2, 4)
    )
    cause = only(two(*trees, "len(L['shape']) == 2"))
    assert (cause.codes, cause.verdict) == (("SL313",), verdict)
    assert cause.own_remedy.startswith("accept one graph for each number of dimensions") is (kind == "torch.Size")


def test_an_array_of_numpy_with_a_size_of_one_takes_no_mark() -> None:
    """It can be warmed up with another size, or be made a tensor."""
    shapes = (tensor(size, 8, source="___from_numpy(L['x'])") for size in (1, 10))
    cause = only(trace(*(compiled(f"0/{number}", shape) for number, shape in enumerate(shapes))))
    assert cause.own_remedy.startswith("if only the warm-up has a size of 0 or 1, warm up with 2 or more; otherwise accept the extra graph")
    assert cause.own_remedy.endswith("(convert the array with torch.from_numpy)")


@pytest.mark.parametrize(
    ("is_leaf", "verdict", "remedy"),
    [
        (True, Verdict.CODE, "detach() it where no gradient has to flow back through it"),
        (False, Verdict.JUSTIFIED, "accept two graphs"),
        (None, Verdict.CODE, "detach() it where no gradient has to flow back through it"),
    ],
    ids=["leaf", "computed", "not known"],
)
def test_a_tensor_that_gradients_flow_through_is_not_detached(is_leaf: bool | None, verdict: Verdict, remedy: str) -> None:
    other = tensor(10, 8, requires_grad=True, is_leaf=is_leaf)
    cause = only(trace(compiled("0/0", tensor(10, 8, requires_grad=False, is_leaf=True)), compiled("0/1", other)))
    assert (cause.codes, cause.verdict) == (("SL302",), verdict)
    assert remedy in (cause.own_remedy or cause.rule.remedy)
    assert ("where nothing else differs, calling requires_grad_()" in cause.own_remedy) is (verdict is Verdict.JUSTIFIED)


def test_a_tensor_that_is_changed_in_place_is_not_made_to_require_a_gradient() -> None:
    graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'mul_: "f32[10, 8][8, 1]cpu" = l_x_.mul_(2)', "return ()")
    made = [
        compiled(f"0/{number}", tensor(10, 8, requires_grad=needs, is_leaf=not needs), graph=graph)
        for number, needs in enumerate((False, True))
    ]
    cause = only(trace(*made))
    assert cause.own_remedy.startswith("accept two graphs")
    assert "requires_grad_()" not in cause.own_remedy


@pytest.mark.parametrize(
    ("modes", "verdict", "remedy"),
    [
        ((False, False), Verdict.CODE, "grad mode is off in these calls, so that no gradient flows back"),
        ((True, True), Verdict.JUSTIFIED, "accept two graphs"),
    ],
    ids=["off", "on"],
)
def test_no_gradient_flows_through_a_tensor_with_grad_mode_off(modes: tuple[bool, bool], verdict: Verdict, remedy: str) -> None:
    first, second = (guard_tree(global_state(grad_mode=mode), tensor_match()) for mode in modes)
    made = trace(
        compiled("0/0", tensor(10, 8, requires_grad=False, is_leaf=True), guards=first),
        compiled("0/1", tensor(10, 8, requires_grad=True, is_leaf=False), guards=second),
    )
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL302",), verdict)
    assert cause.own_remedy.startswith(remedy)


@pytest.mark.parametrize(("size", "line"), [(100, 10), (9, 8)])
def test_the_line_is_that_of_the_bound_which_failed(size: int, line: int) -> None:
    comment = (
        "if n <= 16:  # app/model.py:8 in f (_dynamo/variables/tensor.py:2606 in evaluate_expr)"
        " and elif n < 64:  # app/model.py:10 in f (_dynamo/variables/tensor.py:2606 in evaluate_expr)"
    )
    second = make.dynamic_size("0/1", 20, "17 <= L['x'].size()[0] <= 63")
    reason = f"0/1: 17 <= L['x'].size()[0] <= 63  # {comment}"
    made = make.trace(make.static_sizes(4), second, make.dynamic_size("0/2", size, reasons=[reason]))
    place = make.last_recompile(made).causes[0].place
    assert place is not None
    assert place.line == line


def test_a_line_that_only_used_the_value_first_is_not_the_line_of_its_branch() -> None:
    comment = (
        "if n == 10:  # app/model.py:6 in f (user code shown is first use of this value--the guard itself is not due user code but due"
        " to 0/1 specialization in the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))"
        " and if n <= 30 and m:  # app/model.py:8 in f (_dynamo/variables/tensor.py:2606 in evaluate_expr)"
    )
    assert [(place.line, place.code) for place in places_of(comment)] == [(8, "if n <= 30 and m:")]
    assert places_of("if n <= 30 and m:  # app/model.py:8 in f") == ()


def test_strides_of_a_decoded_step_follow_from_its_size_of_1() -> None:
    """``y[:, -1:]`` of a tensor that lies in memory as usual; the stride of the dim of size 1 means nothing."""
    made = make.trace(make.compile("0/0", make.tensor(2, 5, 4)), make.compile("0/1", make.tensor(2, 1, 4, stride=[4, 1, 1])))
    assert [cause.axis for cause in make.last_recompile(made).causes] == ["x.size[1]"]


def test_a_stride_that_only_differs_where_the_size_is_1_needs_a_copy_not_contiguous() -> None:
    made = make.trace(
        make.compile("0/0", make.tensor(2, 1, 4, stride=[4, 1, 1])), make.compile("0/1", make.tensor(2, 1, 4, stride=[4, 4, 1]))
    )
    (cause,) = make.last_recompile(made).causes
    assert cause.codes == ("SL105",)
    assert cause.sentence.startswith("only the stride of a dimension of size 1 of x changed")
    assert ".clone(memory_format=torch.contiguous_format)" in cause.own_remedy


def test_the_strides_of_an_empty_tensor_are_not_those_of_a_size_of_1() -> None:
    """``x[..., ::2]`` of a tensor without elements."""
    made = make.trace(make.compile("0/0", make.tensor(0, stride=[1])), make.compile("0/1", make.tensor(0, stride=[2])))
    (cause,) = make.last_recompile(made).causes
    assert cause.sentence == "only the strides of x changed, which PyTorch guards although it has no elements: strides (1,), now (2,)"


def test_two_grad_modes_are_justified_where_the_function_is_trained() -> None:
    first, second = (guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False))
    backward = make.metrics("0/0", kind="bwd_compilation_metrics", fail_type=None)
    compiles = make.compile("0/0", make.tensor(10, 8), guards=first), make.compile("0/1", make.tensor(10, 8), guards=second)
    only_run = make.last_recompile(make.trace(*compiles))
    trained = make.last_recompile(make.trace(compiles[0], backward, compiles[1]))
    assert (only_run.codes, only_run.verdict) == (("SL305",), Verdict.CODE)
    assert (trained.codes, trained.verdict) == (("SL305",), Verdict.JUSTIFIED)
    assert trained.causes[0].own_remedy.startswith("accept two graphs")


@pytest.mark.parametrize(("is_trained", "start"), [(True, "accept two graphs"), (False, "use the same mode in all calls without")])
def test_inference_mode_takes_the_place_of_no_grad_where_the_function_is_trained(is_trained: bool, start: str) -> None:
    outside = guard_tree(tensor_match(keys="DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)"), global_state(grad_mode=True))
    inside = guard_tree(tensor_match(keys="DispatchKeySet(CPU, BackendSelect)"), global_state(grad_mode=False))
    backward = make.metrics("0/0", kind="bwd_compilation_metrics", fail_type=None)
    made = make.compile("0/0", make.tensor(10, 8), guards=outside) + (backward if is_trained else b"")
    (cause,) = make.last_recompile(make.trace(made, make.compile("0/1", make.tensor(10, 8), guards=inside))).causes
    assert (cause.sentence, cause.own_remedy[: len(start)]) == ("compiled outside inference mode, called inside it", start)


@pytest.mark.parametrize(("requires_grad", "verdict"), [(True, Verdict.JUSTIFIED), (False, Verdict.CODE)])
def test_a_function_that_runs_with_gradients_again_after_inference_mode_needs_both_graphs(requires_grad: bool, verdict: Verdict) -> None:
    """Training with an evaluation after each epoch. Without anything that requires grad, some calls may have been left outside."""
    outside, inside = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)", "DispatchKeySet(CPU, BackendSelect)"
    made = make.trace()
    for number, (rows, keys) in enumerate(((10, outside), (10, inside), (12, outside))):
        guards = guard_tree(tensor_match(size=(rows, 8), requires_grad=requires_grad, keys=keys), global_state(grad_mode=keys == outside))
        made += make.compile(f"0/{number}", make.tensor(rows, 8, requires_grad=requires_grad), guards=guards)
    first = make.explain(made).recompiles[0]
    assert (first.codes, first.verdict) == (("SL303",), verdict)


@pytest.mark.parametrize(
    ("gradients", "verdict"),
    [((False, True), Verdict.JUSTIFIED), ((False, False), Verdict.CODE), ((True, True), Verdict.CODE)],
    ids=["trained in between", "only run", "trained before, perhaps in eager mode"],
)
def test_a_weight_that_has_a_gradient_later_was_trained(gradients: tuple[bool, bool], verdict: Verdict) -> None:
    """The backward pass of a dynamic graph leaves no record of its own. A first call with gradients alone may be a warm-up."""
    made = make.trace()
    for number, has_grad in enumerate(gradients):
        guards = guard_tree(tensor_match(), global_state(grad_mode=not number))
        weight = make.tensor(8, 8, source="L['self']._parameters['w']", requires_grad=True, **({"grad": 7} if has_grad else {}))
        made += make.compile(f"0/{number}", make.tensor(10, 8), weight, guards=guards)
    found = make.last_recompile(made)
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(
    ("training", "is_leaf", "verdict"),
    [
        ((True, False), False, Verdict.JUSTIFIED),
        ((True, True), False, Verdict.CODE),  # no evaluation
        ((True, False), True, Verdict.CODE),  # nothing that the module computed
    ],
)
def test_what_takes_the_output_of_a_module_that_is_trained_and_evaluated_runs_in_both_modes(
    training: tuple[bool, bool], is_leaf: bool, verdict: Verdict
) -> None:
    made = trace()
    for number, (flag, mode) in enumerate(zip(training, (True, False), strict=True)):
        state = equals_match("L['self'].training", flag, "bool")
        made += compiled(f"0/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), state, global_state(grad_mode=mode)), name="net")
    for number, mode in enumerate((True, False)):
        guards = guard_tree(tensor_match(requires_grad=mode), global_state(grad_mode=mode))
        made += compiled(f"1/{number}", tensor(10, 8, requires_grad=mode, is_leaf=is_leaf or not mode), guards=guards, name="loss")
    recompile = last_recompile(made)
    assert ("SL305",) in [cause.codes for cause in recompile.causes]
    assert recompile.verdict is verdict


@pytest.mark.parametrize(("is_leaf", "verdict"), [(False, Verdict.JUSTIFIED), (True, Verdict.CODE)])
def test_a_function_that_ran_with_gradients_before_a_loss_is_trained(is_leaf: bool, verdict: Verdict) -> None:
    """A dynamic backward graph is made with the forward graph, so that no record of its own shows that it ran."""
    modes = [guard_tree(tensor_match(requires_grad=True), global_state(grad_mode=mode)) for mode in (False, True)]
    made = [make.compile(f"0/{number}", make.tensor(10, 8, requires_grad=True), guards=guards) for number, guards in enumerate(modes)]
    loss = make.compile("1/0", make.tensor(10, 8, requires_grad=True, is_leaf=is_leaf), name="loss")
    loss += make.metrics("1/0", kind="bwd_compilation_metrics", fail_type=None)
    found = make.last_recompile(make.trace(*made, loss))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(("code", "verdict"), [("F.cross_entropy(x, y)", Verdict.JUSTIFIED), ("x * y", Verdict.CODE)])
def test_a_loss_shows_that_it_is_trained_where_the_backend_makes_no_backward_graph(code: str, verdict: Verdict) -> None:
    modes = [guard_tree(tensor_match(requires_grad=True), global_state(grad_mode=mode)) for mode in (False, True)]
    made = [make.compile(f"0/{number}", make.tensor(10, 8, requires_grad=True), guards=guards) for number, guards in enumerate(modes)]
    taken = make.tensor(10, 8, requires_grad=True, is_leaf=False)
    later = make.compile("1/0", taken, name="g", guards=modes[1], graph=graph_text().replace("x + 1", code))
    assert make.last_recompile(make.trace(*made, later)).verdict is verdict


@pytest.mark.parametrize(("capture", "start"), [("!0/", "pass the same create_graph to every call"), ("", "always call it in")])
def test_the_grad_mode_of_a_backward_pass_follows_from_create_graph(capture: str, start: str) -> None:
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (False, True)]
    made = make.trace(*(make.compile(f"{capture}3/{number}", make.tensor(10, 8), guards=guards) for number, guards in enumerate(modes)))
    assert make.last_recompile(made).causes[0].own_remedy.startswith(start)


@pytest.mark.parametrize(("trained", "verdict"), [("f", Verdict.JUSTIFIED), ("g", Verdict.CODE)])
def test_code_after_a_graph_break_runs_in_the_grad_modes_of_the_function_that_it_resumes(trained: str, verdict: Verdict) -> None:
    rest = "torch_dynamo_resume_in_f_at_7"
    first, second = (guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False))
    whole = make.compile("0/0", make.tensor(10, 8, requires_grad=True), name=trained)
    whole += make.metrics("0/0", kind="bwd_compilation_metrics", fail_type=None)
    compiles = [make.compile(f"1/{number}", make.tensor(10, 8), guards=guards, name=rest) for number, guards in enumerate((first, second))]
    found = make.last_recompile(make.trace(whole, *compiles))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(("is_broken", "verdict"), [(True, Verdict.JUSTIFIED), (False, Verdict.CODE)])
def test_code_before_a_graph_break_runs_in_the_grad_modes_of_the_code_after_it(is_broken: bool, verdict: Verdict) -> None:
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False)]
    begin = [make.compile(f"0/{number}", make.tensor(10, 8), guards=guards) for number, guards in enumerate(modes)]
    rest = make.compile("1/0", make.tensor(10, 8, requires_grad=True), name="torch_dynamo_resume_in_f_at_7" if is_broken else "g")
    rest += make.metrics("1/0", kind="bwd_compilation_metrics", fail_type=None)
    found = make.last_recompile(make.trace(begin[0], rest, begin[1]))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


def called(by: str, id: str = "1/0", **own: Any) -> bytes:
    """The compile of a function that another one calls."""
    stack = [{"line": 7, "name": by, "filename": 0}, {"line": 30, "name": own["name"], "filename": 0}]
    return make.record("dynamo_start", {"stack": stack}, id=id) + make.compile(id, make.tensor(10, 8), line=30, is_started=False, **own)


@pytest.mark.parametrize(
    ("caller", "is_broken", "verdict"), [("f", True, Verdict.JUSTIFIED), ("f", False, Verdict.CODE), ("main", True, Verdict.CODE)]
)
def test_a_broken_function_runs_in_the_grad_modes_of_its_caller(caller: str, is_broken: bool, verdict: Verdict) -> None:
    """What it runs at the break may be trained, in no graph."""
    whole = make.compile("0/0", make.tensor(10, 8, requires_grad=True)) + make.metrics(
        "0/0", kind="bwd_compilation_metrics", fail_type=None
    )
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False)]
    rest = make.compile("2/0", make.tensor(10, 8), name="torch_dynamo_resume_in_layer_at_31" if is_broken else "g")
    second = make.compile("1/1", make.tensor(10, 8), guards=modes[1], name="layer", line=30)
    found = make.last_recompile(make.trace(whole, called(caller, name="layer", guards=modes[0], graph=graph_text()), rest, second))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(
    ("caller", "has_failed", "needs_grad", "verdict"),
    [
        ("encode", True, True, Verdict.JUSTIFIED),
        ("encode", True, False, Verdict.CODE),
        ("encode", False, True, Verdict.CODE),
        ("main", True, True, Verdict.CODE),
    ],
)
def test_what_is_called_by_code_that_failed_to_compile_runs_in_its_grad_modes(
    caller: str, has_failed: bool, needs_grad: bool, verdict: Verdict
) -> None:
    """The same code calls a layer that is trained."""
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False)]
    outer = make.compile("0/0", make.tensor(10, 8), name="encode", **(make.FAILED if has_failed else {}))
    layer = called("encode", name="layer") + make.metrics("1/0", kind="bwd_compilation_metrics", fail_type=None)
    stack = [{"line": 8, "name": caller, "filename": 0}, {"line": 40, "name": "mask", "filename": 0}]
    own: dict[str, Any] = {"name": "mask", "line": 40, "is_started": False, "graph": graph_text()}
    first = make.record("dynamo_start", {"stack": stack}, id="2/0")
    first += make.compile("2/0", make.tensor(10, 8, requires_grad=needs_grad), guards=modes[0], **own)
    found = make.last_recompile(
        make.trace(outer, layer, first, make.compile("2/1", make.tensor(10, 8), guards=modes[1], name="mask", line=40, graph=graph_text()))
    )
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(
    ("caller", "needs_grad", "verdict"),
    [("encode", True, Verdict.JUSTIFIED), ("encode", False, Verdict.CODE), ("main", True, Verdict.CODE)],
)
def test_what_is_called_at_a_graph_break_of_trained_code_runs_in_its_grad_modes(caller: str, needs_grad: bool, verdict: Verdict) -> None:
    """It is passed a tensor that requires grad; the first layer, whose input does not, is compiled first."""
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False)]
    outer = make.compile("0/0", make.tensor(10, 8), name="encode")
    rest = make.compile("1/0", make.tensor(10, 8, requires_grad=True), name="torch_dynamo_resume_in_encode_at_9")
    rest += make.metrics("1/0", kind="bwd_compilation_metrics", fail_type=None)
    stack = [{"line": 8, "name": caller, "filename": 0}, {"line": 40, "name": "gather", "filename": 0}]
    own: dict[str, Any] = {"name": "gather", "line": 40, "graph": graph_text()}
    first = make.record("dynamo_start", {"stack": stack}, id="2/0")
    first += make.compile("2/0", make.tensor(10, 8), guards=modes[0], is_started=False, **own)
    second = make.compile("2/1", make.tensor(10, 8, requires_grad=needs_grad), guards=modes[0], **own)
    found = make.last_recompile(make.trace(outer, rest, first, second, make.compile("2/2", make.tensor(10, 8), guards=modes[1], **own)))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(("caller", "verdict"), [("f", Verdict.JUSTIFIED), ("main", Verdict.CODE)])
def test_a_function_that_calls_one_that_is_trained_runs_in_both_grad_modes(caller: str, verdict: Verdict) -> None:
    modes = [guard_tree(tensor_match(), global_state(grad_mode=mode)) for mode in (True, False)]
    begin = [make.compile(f"0/{number}", make.tensor(10, 8), guards=guards) for number, guards in enumerate(modes)]
    inside = called(caller, name="layer", graph=graph_text()) + make.metrics("1/0", kind="bwd_compilation_metrics", fail_type=None)
    found = make.last_recompile(make.trace(begin[0], inside, begin[1]))
    assert (found.codes, found.verdict) == (("SL305",), verdict)


@pytest.mark.parametrize(("sizes", "verdict"), [((10, 10, 12), Verdict.JUSTIFIED), ((10, 10), Verdict.CODE)], ids=["came back", "once"])
def test_a_mode_that_comes_back_is_no_other_warm_up(sizes: tuple[int, ...], verdict: Verdict) -> None:
    """Without a backend that compiles a backward graph; a third size is compiled in the first mode again."""
    compiles = (
        make.compile(
            f"0/{number}", make.tensor(rows, 8), guards=guard_tree(tensor_match(size=(rows, 8)), global_state(grad_mode=number == 1))
        )
        for number, rows in enumerate(sizes)
    )
    assert make.explain(make.trace(*compiles)).recompiles[0].verdict is verdict


@pytest.mark.parametrize(
    ("operator", "remedy"),
    [
        ("torch.ops.lab.smooth.default(l_x_, 3, {})", "let the operator lab::smooth take it as a tensor, or accept one graph per value"),
        ("torch.ops.aten.mul.Scalar(l_x_, {})", ""),
        ("torch.ops.lab.smooth.default(l_x_, 1{})", ""),
    ],
)
def test_a_float_that_an_operator_of_the_program_takes_cannot_become_a_tensor_there(operator: str, remedy: str) -> None:
    def of(number: int, value: float) -> bytes:
        statement = f'smooth: "f32[10, 8][8, 1]cpu" = {operator.format(value)};  l_x_ = None'
        guards = guard_tree(tensor_match(), equals_match("L['t']", value, "float"))
        return compiled(
            f"0/{number}", tensor(10, 8), guards=guards, graph=graph_text('L_x_: "f32[10, 8][8, 1]cpu"', statement, "return (smooth,)")
        )

    cause = only(trace(of(0, 0.1), of(1, 0.2)))
    assert (cause.codes, cause.own_remedy) == (("SL312",), remedy)


@pytest.mark.parametrize(
    ("layout", "verdict", "remedy"),
    [
        ("torch.strided", Verdict.MARKING, ""),
        ("torch.jagged", Verdict.CODE, "set torch.fx.experimental._config.use_duck_shape = False"),
    ],
)
def test_a_size_that_shared_its_symbol_with_a_pinned_one_needs_a_symbol_of_its_own(layout: str, verdict: Verdict, remedy: str) -> None:
    """x of 8 rows and 8 columns under dynamic=True, where line 7 loops over the rows."""
    line = [{"line": 7, "name": "f", "filename": 0, "loc": "for i in range(x.size(0)):"}]
    rows, columns = "L['x'].size()[0]", "L['x'].size()[1]"
    first = {"symbol": "s77", "sources": [rows, columns], "value": "8", "user_stack": line}
    second = {"symbol": "s77", "sources": [rows], "value": "8", "user_stack": line}
    made = trace(compiled("0/0", tensor(8, 8, layout=layout), symbols=(("s77", "8", rows),), specializations=(first,)))
    dynamic = guard_tree(tensor_match(size=(8, None), stride=(None, 1)))
    symbols = (("s77", "8", rows), ("s27", "12", columns))
    wider = tensor(8, 12, layout=layout)
    made += compiled("0/1", wider, guards=dynamic, symbols=symbols, specializations=(second,), reasons=[size_mismatch("0/0", 8, 12, 1)])
    recompile = last_recompile(made)
    (cause,) = recompile.causes
    assert (cause.codes, recompile.verdict, cause.own_remedy) == (("SL101", "SL103"), verdict, remedy)
    assert cause.sentence == (
        "dim 1 of x changed from 8 to 12; dim 0 of x had the same size when this was compiled, so PyTorch used one symbol for both, "
        "and model.py:7 (for i in range(x.size(0)):) needs the exact value of that one"
    )


@pytest.mark.parametrize(("guard", "kept"), [("L['t'] == 0.5", "its value"), ("(0.1 + L['t']) == 0.6", "the value computed from it")])
def test_a_float_that_was_taken_as_a_constant_is_no_branch(guard: str, kept: str) -> None:
    """The pass that makes tensors of floats leaves an equation where an operator takes no tensor (torch 2.13)."""
    where = "(fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
    guards = [guard_tree(tensor_match(), shapes=(f"{text}  # {where}",)) for text in (guard, guard.replace("0.", "1."))]
    first, second = (
        compiled(f"0/{number}", tensor(10, 8), guards=guards[number], symbols=(("zf1", value, "L['t']"),))
        for number, value in enumerate(("0.5", "0.75"))
    )
    cause = only(trace(first, second))
    assert (cause.codes, cause.verdict) == (("SL312",), Verdict.CODE)
    assert cause.sentence.startswith(
        f"PyTorch could not turn the float t into a tensor, so {kept} became a constant: the cache entry requires"
    )


@pytest.mark.parametrize("named", ["(0.1 + t) == 0.6", "(0.1 + L['t']) == 0.6"])
def test_a_number_that_is_calculated_from_a_float_is_no_value_of_its_own(named: str) -> None:
    """PyTorch's reason names the guard of the entry, of which the float is the cause."""
    where = "(fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
    made = trace()
    for number, (value, total) in enumerate((("0.5", "0.6"), ("0.75", "0.85"))):
        guards = guard_tree(tensor_match(), shapes=(f"(0.1 + L['t']) == {total}  # {where}",))
        reasons = [f"0/0: {named} # {where}"] if number else []
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, symbols=(("zf1", value, "L['t']"),), reasons=reasons)
    cause = only(made)
    assert (cause.codes, cause.axis, cause.named_by_pytorch) == (("SL312",), "t", True)


def test_a_float_that_a_line_needs_the_exact_value_of_is_no_branch() -> None:
    """Where the entry had it as a symbol, and a line pinned that."""
    code = "y = torch.quantize_per_tensor(x, t, 0, torch.quint8)"
    where = f"# {code}  # app/model.py:7 in f (_dynamo/variables/builder.py:2606 in wrap_fx_proxy)"
    frames = [{"filename": 0, "line": 7, "name": "f", "loc": code}]
    made = trace()
    for number, value in enumerate(("0.5", "0.75")):
        pinned = {"symbol": "zf1", "sources": ["L['t']"], "value": value, "user_stack": frames}
        guards = guard_tree(tensor_match(), shapes=(f"L['t'] == {value}  {where}",))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, symbols=(("zf1", value, "L['t']"),), specializations=(pinned,))
    cause = only(made)
    assert (cause.codes, cause.verdict, cause.size_related) == (("SL312",), Verdict.JUSTIFIED, False)
    line = "model.py:7 (y = torch.quantize_per_tensor(x, t, 0, torch.quint8))"
    assert cause.sentence == f"{line} needs the exact value of the float t: the cache entry requires t == 0.5 (now t = 0.75)"
    assert cause.own_remedy == "rewrite the line that needs the exact value of t, or accept one graph per value"


@pytest.mark.parametrize(("now", "causes"), [("-0.0", ["dim 0 of x changed from 10 to 12"]), ("1.0", None)])
def test_zero_has_two_signs_that_are_equal_to_a_guard(now: str, causes: list[str] | None) -> None:
    """A guard compares with ``==`` (torch 2.13)."""
    static = guard_tree(tensor_match(), guard_manager("L['t']", "EQUALS_MATCH: L['t'] == 0.0"))
    dynamic = guard_tree(tensor_match(size=(None, 8)), shapes=("not math.isnan(L['t'])  # (unknown)",))
    made = trace(compiled("0/0", tensor(10, 8), guards=static))
    reason = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"
    made += compiled("0/1", tensor(12, 8), guards=dynamic, dynamic=(0,), symbols=(("zf1", now, "L['t']"),), reasons=(reason,))
    found = [cause.sentence for cause in last_recompile(made).causes]
    assert found == causes if causes else f"the float t changed from 0.0 to {now}" in found


def test_a_rounded_float_that_pytorch_made_dynamic_needs_one_more_graph() -> None:
    line = code_comment(6, "k = round(t * 8)")
    static = guard_tree(tensor_match(), equals_match("L['t']", 0.5, "float", line))
    dynamic = guard_tree(tensor_match(), shapes=("not math.isnan(L['t'])  # (unknown)",))
    made = trace(compiled("0/0", tensor(10, 8), guards=static))
    made += compiled("0/1", tensor(10, 8), guards=dynamic, symbols=(("zf1", "0.75", "L['t']"),), reasons=(f"0/0: t == 0.5  {line}",))
    cause = only(made)
    assert cause.sentence.endswith("the code makes an int of it, which a tensor in its place would not be")
    assert cause.own_remedy == "accept one more graph: PyTorch made this float dynamic when it changed"


@pytest.mark.parametrize(
    ("guard", "maker", "verdict"),
    [
        ("L['t'] <= 0.0", "variables/tensor.py:2606 in evaluate_expr", Verdict.JUSTIFIED),
        ("L['t'] < 3.0", "variables/tensor.py:2606 in evaluate_expr", Verdict.CODE),
        ("L['t'] != 0.5", "symbolic_convert.py:962 in inner", Verdict.JUSTIFIED),  # of a branch on the float itself
    ],
)
def test_a_float_that_a_branch_is_on_cannot_be_a_tensor(guard: str, maker: str, verdict: Verdict) -> None:
    """The branch may be in a function such as ``__bool__``, and the guard shows on which side the entry is."""
    where = f"# if self:  # app/model.py:6 in f (_dynamo/{maker})"
    power = "L['t'] >= -1.0  # t**0.5  # app/model.py:7 in f (_dynamo/utils.py:4231 in run_node)"
    shapes = ("not math.isnan(L['t'])  # (unknown)", power, f"{guard}  {where}")
    static = guard_tree(tensor_match(), equals_match("L['t']", 0.5, "float", code_comment(4, "return self.t > 0", "__bool__")))
    made = trace(compiled("0/0", tensor(10, 8), guards=static))
    dynamic = guard_tree(tensor_match(), shapes=shapes)
    made += compiled("0/1", tensor(10, 8), guards=dynamic, symbols=(("zf1", "-0.5", "L['t']"),), reasons=("0/0: t == 0.5",))
    shown = guard.replace("L['t']", "t")
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL312",), verdict)
    same_arm, graphs = verdict is Verdict.CODE, "one more graph" if verdict is Verdict.CODE else "one graph per branch"
    assert cause.sentence == f"the float t changed from 0.5 to -0.5; the code branches on it ({shown}{' for both' if same_arm else ''})"
    assert cause.own_remedy.startswith(f"replace the branch on this float by torch.where on a tensor, or accept {graphs}")
    library = "/opt/venv/lib/python3.11/site-packages/app/model.py"
    second = last_recompile(made.replace(MODEL.encode(), library.encode()))
    assert (second.verdict, second.causes[0].own_remedy.partition(":")[0]) == (Verdict.JUSTIFIED, "accept one more graph")
    bounded = guard_tree(tensor_match(), shapes=shapes[:-1])
    assert not only(two(static, bounded, "t == 0.5")).own_remedy


@pytest.mark.parametrize(
    ("guard", "remedy"),
    [
        (
            "1.0 + ((-1)*L['t']) >= 0.0",
            "accept one more graph: PyTorch made this float dynamic when it changed, and an operator branches on it",
        ),
        ("L['t'] < 0.0", "accept one graph for each branch of the operator"),
    ],
)
def test_an_operator_that_branches_on_a_float_leaves_no_branch_to_replace(guard: str, remedy: str) -> None:
    """``lerp`` computes otherwise for a weight below 0.5."""
    where = "# torch._foreach_lerp_(a, b, 1 - t)  # app/model.py:6 in f (_dynamo/variables/tensor.py:2606 in evaluate_expr)"
    made = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['t']", 0.5, "float"))))
    dynamic = guard_tree(tensor_match(), shapes=(f"{guard}  {where}",))
    made += compiled("0/1", tensor(10, 8), guards=dynamic, symbols=(("zf1", "-0.5", "L['t']"),), reasons=("0/0: t == 0.5",))
    cause = only(made)
    assert "; an operator branches on it (" in cause.sentence
    assert (cause.verdict, cause.own_remedy) == (Verdict.JUSTIFIED, remedy)


@pytest.mark.parametrize(
    ("code", "verdict", "remedy"),
    [
        ("return x * print(t)", Verdict.CODE, ""),
        ("return x.view(int(2), -1) * t", Verdict.CODE, ""),
        ("return x * int(t)", Verdict.JUSTIFIED, "rewrite the line that needs the exact value of t, or accept one graph per value"),
        ("return torch.round(x / t)", Verdict.CODE, ""),
        ("return (x * t).floor() + x.mul(t).round(decimals=int(2))", Verdict.CODE, ""),
        ("k = math.floor(t)", Verdict.JUSTIFIED, "rewrite the line that needs the exact value of t, or accept one graph per value"),
        ("k = ceil((t + 1) * n)", Verdict.JUSTIFIED, "rewrite the line that needs the exact value of t, or accept one graph per value"),
    ],
)
def test_a_float_that_is_pinned_after_tracing_can_be_a_tensor(code: str, verdict: Verdict, remedy: str) -> None:
    """PyTorch makes a tensor of a float in the backend, and no line of code pins it where that fails."""
    pinned = {"symbol": "zf1", "sources": ["L['t']"], "value": "0.2", "user_stack": []}
    line = code_comment(6, code)
    first, second = (guard_tree(tensor_match(), equals_match("L['t']", value, "float", line)) for value in (0.1, 0.2))
    cause = only(
        trace(compiled("0/0", tensor(10, 8), guards=first), compiled("0/1", tensor(10, 8), guards=second, specializations=(pinned,)))
    )
    kept = "PyTorch could not turn it into a tensor, so its value became a constant"
    rounded = "the code makes an int of it, which a tensor in its place would not be"
    assert cause.sentence == f"the float t changed from 0.1 to 0.2; {kept if verdict is Verdict.CODE else rounded}"
    assert (cause.codes, cause.verdict, cause.own_remedy) == (("SL312",), verdict, remedy)


@pytest.mark.parametrize(
    ("use", "is_by_line", "verdict"),
    [
        ("torch.nn.functional.leaky_relu(l_x_, {})", False, Verdict.JUSTIFIED),
        ("torch.full_like(l_x_, fill_value = {})", False, Verdict.JUSTIFIED),
        ("l_x_.clamp(min = 0.0, max = {})", False, Verdict.JUSTIFIED),
        ("l_x_.clamp(max = {})", False, Verdict.CODE),
        ("torch.add(l_x_, l_x_, alpha = {})", False, Verdict.JUSTIFIED),
        ("l_x_.add_(l_x_, alpha = {})", False, Verdict.CODE),
        ("torch.nn.functional.normalize(l_x_, eps = {})", False, Verdict.CODE),
        ("torch.nn.functional.leaky_relu(l_x_, 0.75)", False, Verdict.CODE),
        ("torch.quantile(l_x_, {}, dim = -1)", True, Verdict.CODE),
        ("torch.normal(l_x_, {})", True, Verdict.CODE),
        ("torch.normal(0.0, {}, (3,))", True, Verdict.JUSTIFIED),
        ("torch.nn.functional.dropout(l_x_, {})", True, Verdict.JUSTIFIED),
    ],
)
@pytest.mark.parametrize("was_symbolic", [False, True])
def test_a_float_that_became_a_constant_can_be_a_tensor_where_the_operator_takes_one(
    use: str, is_by_line: bool, verdict: Verdict, was_symbolic: bool
) -> None:
    """Whether the backend made the constant of it, or an operator that needs the value of a number, and a tensor as it is."""
    code = "y = g(x, t)"
    where = f"# {code}  # app/model.py:7 in f (_dynamo/variables/builder.py:2606 in wrap_fx_proxy)"
    frames = [{"filename": 0, "line": 7, "name": "f", "loc": code}]
    made = trace()
    for number, value in enumerate(("0.25", "0.5")):
        pinned = {"symbol": "zf1", "sources": ["L['t']"], "value": value, "user_stack": frames if is_by_line else []}
        by_pass = "# (fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
        shape = f"L['t'] == {value}  {where if is_by_line else by_pass}"
        leaf = equals_match("L['t']", float(value), "float", code_comment(7, code))
        graph = graph_text(INPUT, f'y: "f32[10, 8][8, 1]cpu" = {use.format(value)};  l_x_ = None', "return (y,)")
        is_symbolic = was_symbolic or number == 1
        made += compiled(
            f"0/{number}",
            tensor(10, 8),
            guards=guard_tree(tensor_match(), shapes=(shape,)) if was_symbolic else guard_tree(tensor_match(), leaf),
            symbols=(("zf1", value, "L['t']"),) if is_symbolic else (),
            specializations=(pinned,) if is_symbolic else (),
            graph=graph,
        )
    cause = only(made)
    assert (cause.codes, cause.verdict, "as a tensor" in (cause.own_remedy or cause.rule.remedy)) == (
        ("SL312",),
        verdict,
        verdict is Verdict.CODE,
    )
    if is_by_line:
        made = made.replace(MODEL.encode(), b"/opt/venv/lib/python3.11/site-packages/app/model.py")
        assert only(made).own_remedy == "a library needs the exact float: accept one graph per value"


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("y = torch.tensor(w)", "make torch.tensor(w) outside the compiled code, and pass the tensor"),
        ("y = np.asarray([w[0], 1.0])[:, None]", "make np.asarray([w[0], 1.0]) outside the compiled code, and pass the tensor"),
        ("y = torch.tensor(v)", ""),
    ],
)
def test_a_number_of_which_a_line_makes_a_tensor_can_be_passed_as_one(code: str, remedy: str) -> None:
    """A line may have kept it constant, or the backend, where its symbol has the line."""
    frames = [{"filename": 0, "line": 7, "name": "f", "loc": code}]
    where = "(fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
    source = "L['w'][0]"
    for stack in ([], frames):
        made = trace()
        for number, value in enumerate(("0.25", "0.5", "0.75")):
            pinned = {"symbol": "zf1", "sources": [source], "value": value, "user_stack": stack}
            leaf = equals_match(source, 0.25, "float", code_comment(7, code))
            guards = guard_tree(tensor_match(), shapes=(f"{source} == {value}  # {where}",)) if number else guard_tree(tensor_match(), leaf)
            made += compiled(f"0/{number}", tensor(10, 8), guards=guards, specializations=(pinned,) if number else ())
            symbol = {"symbol": "zf1", "val": value, "vr": "[-oo, oo]", "source": source, "user_stack": frames, "stack": []}
            made += make.record("create_symbol", symbol, id=f"0/{number}") if number else b""
        causes = [cause for item in make.explain(made).recompiles for cause in item.causes]
        rest = "rewrite the line that needs the exact value of w[0], or accept one graph per value" if stack else ""
        assert [(cause.codes, cause.own_remedy) for cause in causes] == [(("SL312",), remedy or rest)] * 2


@pytest.mark.parametrize("is_guard_of_shape", [False, True])
def test_a_float_that_is_rounded_is_known_by_the_line_of_its_symbol(is_guard_of_shape: bool) -> None:
    """The guard is from the end of the compile, and names no line of code."""
    stack = [{"filename": 0, "line": 6, "name": "f", "loc": "k = max(1, int(math.ceil(t * n)))"}]
    where = "(_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs)"
    made = trace()
    for number, value in enumerate(("0.5", "0.75")):
        guard = f"L['t'] == {value}  # {where}"
        own = [guard_manager("L['t']", f"EQUALS_MATCH: L['t'] == {value}", type="float", comment=f"# {where}")]
        guards = guard_tree(tensor_match(), *([] if is_guard_of_shape else own), shapes=(guard,) if is_guard_of_shape else ())
        symbol = {"symbol": "zf1", "val": value, "vr": "[-oo, oo]", "source": "L['t']", "user_stack": stack, "stack": []}
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards) + make.record("create_symbol", symbol, id=f"0/{number}")
    cause = only(made)
    assert "the code makes an int of" in cause.sentence
    assert (cause.codes, cause.verdict) == (("SL312",), Verdict.JUSTIFIED)


@pytest.mark.parametrize(
    ("code", "is_converted"),
    [("max_norm = float(max_norm)", True), ("x = x * float(len(xs))", False), ("x = x.float() * t", False), ("y = x * t", False)],
)
def test_a_float_that_a_line_converts_stays_a_number(code: str, is_converted: bool) -> None:
    """``clip_grad_norm_`` does that: a tensor would break the graph there."""
    stack = [{"filename": 0, "line": 157, "name": "f", "loc": code}]
    made = trace()
    for number, value in enumerate(("0.5", "0.75")):
        guards = guard_tree(tensor_match(), guard_manager("L['t']", f"EQUALS_MATCH: L['t'] == {value}", type="float"))
        symbol = {"symbol": "zf1", "val": value, "vr": "[-oo, oo]", "source": "L['t']", "user_stack": stack, "stack": []}
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards) + make.record("create_symbol", symbol, id=f"0/{number}")
    cause = only(made)
    assert ("makes a Python float of it" in cause.sentence) is is_converted
    assert (cause.verdict is Verdict.JUSTIFIED) is is_converted


@pytest.mark.parametrize(
    ("part", "before", "sentence"),
    [
        (
            "modules",
            guard_manager(
                "L['self']._modules['act']", "TYPE_MATCH: ___check_type_id(L['self']._modules['act'], 7001)", type="torch.nn.modules.ReLU"
            ),
            "self.act changed from ReLU to None",
        ),
        ("parameters", tensor_match("L['self']._parameters['act']"), "self.act changed from a tensor to None"),
    ],
)
def test_a_module_or_parameter_that_became_none_is_not_gone(part: str, before: str, sentence: str) -> None:
    """``self.act = None`` where there was neither before is a plain attribute."""
    after = guard_manager("L['self'].act", "ID_MATCH: L['self'].act is None", type="NoneType", comment=code_comment(7, "if self.act:"))
    cause = only(two(guard_tree(tensor_match(), before), guard_tree(tensor_match(), after), f"KeyError on self._{part}['act']"))
    assert (cause.codes, cause.sentence) == (("SL322",), sentence)
    assert cause.place is not None
    assert cause.place.line == 7


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("_parameters['w']", "w", "self.w changed from type torch.nn.Parameter to a tensor"),
        ("_buffers['w']", "w", "self.w changed from type torch.nn.Buffer to a tensor"),
        ("_parameters['w']", "_buffers['w']", "self.w changed from type torch.nn.Parameter to torch.nn.Buffer"),
        ("w", "_parameters['w']", "self.w changed from a tensor to torch.nn.Parameter"),
    ],
)
def test_a_tensor_that_a_module_keeps_in_another_way_is_not_gone(before: str, after: str, sentence: str) -> None:
    trees = [guard_tree(tensor_match(), tensor_match(f"L['self'].{place}")) for place in (before, after)]
    cause = only(two(*trees, f"KeyError on self.{before}"))
    assert (cause.codes, cause.sentence) == (("SL310",), sentence)


def test_the_items_of_a_comprehension_are_what_it_iterates_over() -> None:
    item = "___tuple_iterator_getitem(L['.0'], 0)"
    cause = only(trace(*(compiled(f"0/{number}", tensor(rows, 8, source=item)) for number, rows in enumerate((10, 12)))))
    assert cause.sentence == "dim 0 of .0[0] (of what this code iterates over) changed from 10 to 12"


@pytest.mark.parametrize("source", ["L['.0']", "L['r']"])
def test_a_range_has_both_of_its_values(source: str) -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager(source, f"RANGE_ITERATOR_MATCH: ___normalize_range_iter({source}) == (0, {stop}, 1)"))
        for stop in (2, 3)
    ]
    reason, name = f"___normalize_range_iter({source[3:-2]}) == (0, 2, 1)", source[3:-2]
    name += " (what this code iterates over)" if name == ".0" else ""
    cause = only(two(*trees, reason))
    assert (cause.codes, cause.sentence) == (("SL313",), f"the range {name} changed from range(0, 2, 1) to range(0, 3, 1)")


@pytest.mark.parametrize(("source", "is_tensor"), [("L['x']", True), ("L['cfg']", False)])
def test_an_attribute_of_a_tensor_is_not_set_in_a_class_of_the_program(source: str, is_tensor: bool) -> None:
    absent, present = (guard_manager(source, f"{no}HASATTR: {word}hasattr({source}, 'tag')") for no, word in (("NO_", "not "), ("", "")))
    cause = only(two(guard_tree(tensor_match(), absent), guard_tree(tensor_match(), present), f"not hasattr({source[3:-2]}, 'tag')"))
    assert cause.codes == ("SL320",)
    assert cause.own_remedy == ("set this attribute on every tensor that is passed, or on none" if is_tensor else "")


PASSED, LOOKED_UP = (
    "pass fewer functions, or accept one graph for each",
    "set the function once, before the first compiled call, or accept one graph for each",
)


@pytest.mark.parametrize(
    ("source", "remedy"), [("L['op']", PASSED), ("L['self'].op", PASSED), ("G['op']", LOOKED_UP), ("type(L['self']).op", LOOKED_UP)]
)
@pytest.mark.parametrize("is_built_in_first", [False, True])
def test_a_built_in_function_and_one_of_python_need_a_graph_each(source: str, remedy: str, is_built_in_first: bool) -> None:
    """Whichever type were always passed. One that is looked up is not passed."""
    kinds = {"": "a built-in function", ".__code__": "a Python function"}
    trees = {
        "": identity(source, 7001, "builtin_function_or_method"),
        ".__code__": f"{guard_manager(source, type='function')}\n{identity(f'{source}.__code__', 7002, 'code')}",
    }
    order = ["", ".__code__"] if is_built_in_first else [".__code__", ""]
    short = source.replace("L['op']", "op").replace("L['self']", "self")
    reason = (
        f"___check_obj_id({short}, 7001), type=<class 'builtin_function_or_method'>"
        if is_built_in_first
        else f"CodeGuardAccessor: Not a function on {short}.__code__"
    )
    made = two(*(guard_tree(tensor_match(), trees[kind]) for kind in order), reason)
    cause = last_recompile(made).causes[0]
    assert (cause.codes, cause.verdict, cause.own_remedy) == (("SL310",), Verdict.JUSTIFIED, remedy)
    assert cause.sentence.endswith(f" changed from {kinds[order[0]]} to {kinds[order[1]]}")


def test_a_method_in_whose_place_the_call_recorded_nothing_is_no_longer_one() -> None:
    check = "___check_type_id({}, 7001), type=<class 'method'>"
    method = guard_manager("L['m']", "TYPE_MATCH: " + check.format("L['m']"), type="method")
    made = two(guard_tree(tensor_match(), method), guard_tree(tensor_match()), check.format("m"))
    cause = last_recompile(made).causes[0]
    assert (cause.sentence, cause.verdict) == ("m is no longer a method", Verdict.JUSTIFIED)


def test_a_member_of_an_enum_is_named_as_one() -> None:
    none = guard_tree(tensor_match(), guard_manager("L['t']", "ID_MATCH: L['t'] is None", type="NoneType"))
    member = "ID_MATCH: ___check_obj_id(L['t'], 7001), type=<enum 'LayerType'>"
    other = guard_tree(tensor_match(), guard_manager("L['t']", member).replace(", tag_safe", ", type=<enum 'LayerType'>, tag_safe"))
    assert only(two(none, other, "t is None")).sentence == "t changed from None to a member of the enum LayerType"


def test_a_method_that_was_replaced_is_not_passed() -> None:
    trees = [guard_tree(tensor_match(), identity("type(L['fn']).__call__.__code__", number, "code")) for number in (7001, 7002)]
    call = "# File: /srv/app/model.py:{} in {}, code: return x"
    graphs = [graph_text(INPUT, call.format(line, name), "b = torch.relu(l_x_)") for line, name in ((20, "__call__"), (30, "<lambda>"))]
    cause = only(trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=graphs[number]) for number in (0, 1)]))
    assert (cause.codes, cause.own_remedy) == (("SL309",), LOOKED_UP)


def test_entering_autocast_is_one_cause() -> None:
    states = ({"enabled": [False], "dtype": [15]}, {"enabled": [True], "dtype": [5], "cached_enabled": False})
    trees = [guard_tree(global_state(autocast_state=state), tensor_match()) for state in states]
    cause = only(two(*trees, "GLOBAL_STATE changed: autocast(cpu)_enabled "))
    assert cause.sentence == "autocast changed from off to on"
    other = guard_tree(global_state(autocast_state={"enabled": [True], "dtype": [15]}), tensor_match())
    of_dtype = only(two(other, trees[1].replace('"cached_enabled": false', '"cached_enabled": true')))
    assert of_dtype.sentence == "autocast changed its dtype from bfloat16 to float16"
    assert of_dtype.own_remedy == "use autocast with the same dtype in every call, or accept one graph for each dtype"
    named = only(two(tensor_match(), tensor_match(), "GLOBAL_STATE changed: autocast(cpu)_dtype "))
    assert named.own_remedy == of_dtype.own_remedy


def test_what_made_the_earlier_compilation_fail_is_to_be_fixed() -> None:
    cause = only(trace(compiled("0/0", tensor(10, 8), **make.FAILED), compiled("0/1", tensor(10, 8))))
    assert cause.codes == ("SL403",)
    assert cause.own_remedy.startswith("fix the earlier failure or graph break")


@pytest.mark.parametrize(
    ("hint", "name"),
    [('(HINT: guard on "k")', "k in the closure of inner"), ("", "inner.__closure__[0].cell_contents")],
)
def test_a_variable_of_a_closure_has_the_name_that_the_hint_gives_it(hint: str, name: str) -> None:
    source = "L['inner'].__closure__[0].cell_contents"
    line = f"{RETURN_LINE} {hint}".rstrip()
    trees = [guard_tree(tensor_match(), equals_match(source, value, comment=line)) for value in (3, 4)]
    assert only(two(*trees)).sentence == f"the int {name} changed from 3 to 4"
    reason = f"inner.__closure__[0].cell_contents == 3  {line}"
    assert only(two(*trees, reason)).sentence == f"the int {name} changed from 3 to 4"


@pytest.mark.parametrize(("of_type", "verdict"), [("set", Verdict.JUSTIFIED), ("dict", Verdict.CODE)])
def test_a_set_has_members_and_no_keys(of_type: str, verdict: Verdict) -> None:
    trees = [
        guard_tree(tensor_match(), guard_manager("L['d']", f"SET_CONTAINS: {no}set.__contains__(L['d'], 'a')", type=of_type))
        for no in ("", "not ")
    ]
    cause = only(two(*trees, "set.__contains__(d, 'a')"))
    assert (cause.codes, cause.sentence, cause.verdict) == (("SL314",), "d no longer contains 'a'", verdict)
    assert cause.own_remedy == ("" if of_type == "dict" else "always pass a set with the same members, or accept one graph for each case")


@pytest.mark.parametrize(
    ("line", "is_compared"),
    [
        ("seen = {a, b, c}", True),
        ("if a is not b:", True),
        ("y = a + b", False),
        ("name = f'{a}, {b}'", False),
        ("y = {'a': a, 'b': b}", False),
    ],
)
def test_tensors_that_the_code_compares_as_objects_are_not_to_be_copied(line: str, is_compared: bool) -> None:
    names = "L['a']", "L['b']"
    tensors = [tensor_match(source, size=(4,)) for source in names]
    shared = guard_manager(names[0], f"OBJECT_ALIASING: {names[0]} is {names[1]}", comment=code_comment(7, line))
    cause = only(two(guard_tree(*tensors, shared), guard_tree(*tensors), f"a is b  {code_comment(7, line)}"))
    assert (cause.codes, cause.sentence) == (("SL317",), "a and b were the same tensor, and now differ")
    assert (cause.verdict is Verdict.JUSTIFIED) is is_compared
    assert cause.own_remedy.startswith("accept one graph for each case") is is_compared


def test_tensors_whose_number_decides_what_is_computed_are_not_to_be_copied() -> None:
    """``return a + len({a, b})``: the set is on another line than the guard, if that has one at all."""
    names = "L['a']", "L['b']"
    tensors = [tensor_match(source, size=(4,)) for source in names]
    shared = guard_manager(names[0], f"OBJECT_ALIASING: {names[0]} is {names[1]}")
    graphs = [graph_text('L_a_: "f32[4][1]cpu"', f'y: "f32[4][1]cpu" = l_a_ + {number}', "return (y,)") for number in (1, 2)]
    inputs = [tensor(4, source=name) for name in names]
    made = trace(compiled("0/0", inputs[0], guards=guard_tree(*tensors, shared), graph=graphs[0]))
    made += compiled("0/1", *inputs, guards=guard_tree(*tensors), graph=graphs[1], reasons=("0/0: a is b",))
    cause = only(made)
    assert (cause.codes, cause.verdict) == (("SL317",), Verdict.JUSTIFIED)


@pytest.mark.parametrize("is_asked", [True, False])
def test_an_attribute_that_a_line_asks_for_decides_what_the_code_does(is_asked: bool) -> None:
    line = 'if hasattr(obj, "z"):' if is_asked else "y = copy(obj)"
    made = b""
    for number, text in enumerate(("not ", "")):
        has = f"NO_HASATTR: {text}hasattr(L['obj'], 'z')  # {line}  # app/m.py:3 in f"
        graph = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'y: "f32[10, 8][8, 1]cpu" = l_x_ + {number}', "return (y,)")
        reasons = (f"0/0: not hasattr(obj, 'z')  # {line}  # app/m.py:3 in f",) if number else ()
        tree = guard_tree(tensor_match(), guard_manager("L['obj']", has))
        made += compiled(f"0/{number}", tensor(10, 8), guards=tree, graph=graph, reasons=reasons)
    cause = only(trace(made))
    assert cause.sentence == "obj now has the attribute z"
    assert (cause.own_verdict is Verdict.JUSTIFIED) is is_asked


@pytest.mark.parametrize(
    ("now", "sentence"),
    [("1", "mark_dynamic marks dim 1 of x, and marked dim 0"), ("0, 1", "mark_dynamic marks dims 0 and 1 of x, and marked dim 0")],
)
def test_the_dims_that_are_marked_and_were_marked_are_named(now: str, sentence: str) -> None:
    marks = "((L['x']._dynamo_dynamic_indices.issubset({%s})) if hasattr(L['x'], '_dynamo_dynamic_indices') else True)"
    trees = [guard_tree(tensor_match(more=(f"DYNAMIC_INDICES: {marks % dims}",))) for dims in ("0", now)]
    reason = f"_dynamo_dynamic_indices not a subset: runtime {{{now}}} is not a subset of compiled {{0}}"
    cause = only(two(*trees, reason))
    assert (cause.codes, cause.sentence) == (("SL321",), f"{sentence} when this was compiled")


def test_nested_tensors_share_offsets_and_are_not_passed_twice() -> None:
    offsets = "L['a']._offsets", "L['b']._offsets"
    tensors = [tensor_match(source, size=(4,)) for source in offsets]
    shared = guard_manager(offsets[0], f"OBJECT_ALIASING: {offsets[0]} is {offsets[1]}")
    cause = only(two(guard_tree(*tensors, shared), guard_tree(*tensors), "a._offsets is b._offsets"))
    assert (cause.codes, cause.sentence) == (("SL317",), "a._offsets and b._offsets were the same tensor, and now differ")
    assert cause.own_remedy == "make the nested tensors with one offsets tensor in every call, or accept one graph for each case"


@pytest.mark.parametrize(
    ("of_type", "code", "remedy"),
    [
        ("app.Net", "if id(net) == first:", "leave id() of it out of the compiled code, or accept one graph for each object"),
        ("app.Net", "if net.id(net):", ""),
        (
            "torch.Tensor",
            "y = net + 1",
            "copy_() new values into the same tensor, or leave out guard=True where mark_static_address asks for this guard",
        ),
    ],
)
def test_an_object_that_is_guarded_by_its_identity_has_the_remedy_for_what_asks_for_that(of_type: str, code: str, remedy: str) -> None:
    line = code_comment(6, code)
    trees = [guard_tree(tensor_match(), identity("L['net']", number, of_type).replace(RETURN_LINE, line)) for number in (7001, 7002)]
    for cause in (only(two(*trees)), only(two(*trees, f"___check_obj_id(net, 7001), type=<class '{of_type}'>  {line}"))):
        assert (cause.codes, cause.own_remedy) == (("SL308",), remedy)


@pytest.mark.parametrize("is_frozen", [True, False])
def test_nothing_is_written_into_a_tensor_that_freezing_made_a_constant(is_frozen: bool) -> None:
    """The graph would not see it."""
    config = json.dumps({"freezing": is_frozen})
    made = trace()
    for number in (0, 1):
        guards = guard_tree(tensor_match(), identity("L['self'].buf", 7001 + number, "torch.Tensor"))
        made += compiled(f"0/{number}", tensor(10, 8), guards=guards, inductor_config=config)
    assert only(made).own_remedy.startswith("turn torch._inductor.config.freezing off" if is_frozen else "copy_() new values")


def test_a_float_that_became_nan_where_the_code_branches_on_it_is_no_tensor() -> None:
    """A branch on a tensor breaks the graph."""
    branch = "L['s'] != 5.0  # if s == 5.0:  # app/model.py:7 in f (_dynamo/symbolic_convert.py:700 in inner)"
    first = guard_tree(tensor_match(), shapes=(branch, "not math.isnan(L['s'])"))
    nan = guard_tree(tensor_match(), guard_manager("L['s']", "FLOAT_IS_NAN: (type(L['s']) is float and __math_isnan(L['s']))"))
    made = trace(compiled("0/0", tensor(10, 8), guards=first, symbols=(("zf1", "3.0", "L['s']"),)))
    cause = only(made + compiled("0/1", tensor(10, 8), guards=nan, reasons=("0/0: not math.isnan(s)",)))
    assert (cause.verdict, cause.own_remedy.partition(" on a tensor")[0]) == (
        Verdict.JUSTIFIED,
        "replace the branch on this float by torch.where",
    )


@pytest.mark.parametrize(
    ("backends", "which"),
    [
        (
            (
                "torch._dynamo.backends.debugging.eager defined at /v/lib/python3.11/site-packages/torch/_dynamo/backends/debugging.py:52",
                "functools.partial wrapping app.make.<locals>.own defined at /srv/app/model.py:7",
            ),
            "a different backend (functools.partial wrapping own (model.py:7) instead of eager)",
        ),
        (("app.own defined at /srv/app/model.py:7",) * 2, "a new backend object (own (model.py:7))"),
    ],
)
def test_a_backend_that_is_a_function_is_named_without_its_directory(backends: tuple[str, str], which: str) -> None:
    named = f"Cached backend: {backends[0]} (id=0x7f1). New backend: {backends[1]} (id=0x7f2). If this is unexpected, wrap your backend."
    reason = f"BACKEND_MATCH failure: torch.compile detected different backend callables. {named}"
    cause = only(two(guard_tree(tensor_match()), guard_tree(tensor_match()), reason))
    assert f"{which}, so the earlier cache entries do not apply" in cause.sentence


@pytest.mark.parametrize(
    ("of_type", "kind"), [("function", "a Python function"), ("builtin_function_or_method", "a built-in function"), ("app.Net", "app.Net")]
)
def test_none_in_place_of_a_function_is_written_as_users_write_it(of_type: str, kind: str) -> None:
    none = guard_tree(tensor_match(), guard_manager("L['act']", "ID_MATCH: L['act'] is None", type="NoneType"))
    some = guard_tree(tensor_match(), identity("L['act']", 7001, of_type))
    assert only(two(none, some, "act is None")).sentence == f"act changed from None to {kind}"
    assert only(two(some, none)).sentence == f"act changed from {kind} to None"


def test_objects_that_are_written_by_their_addresses_differ_where_pytorch_states_it() -> None:
    def tree(digit: int, number: int) -> str:
        state = guard_manager(
            "L['s']", f"EQUALS_MATCH: L['s'] == <app.f.<locals>.State object at 0x7f{digit}>", type="app.f.<locals>.State"
        )
        return guard_tree(tensor_match(), state, equals_match("L['k']", number))

    assert [cause.axis for cause in last_recompile(two(tree(1, 5), tree(2, 6), "k == 5")).causes] == ["k"]
    cause = only(two(tree(1, 5), tree(2, 5), "s == <app.f.<locals>.State object at 0x7f1>"))
    assert (cause.codes, cause.sentence) == (("SL311",), "s (a State) is not equal to the one this was compiled for")


@pytest.mark.parametrize(
    ("rows", "shapes", "codes", "verdict"),
    [
        (10, (), [("SL317",), ("SL101",)], Verdict.CODE),
        (None, (), [("SL317",)], Verdict.CODE),
        (None, ("L['x'].size()[0] != L['y'].size()[0]  # if x.size(0) == y.size(0):  # app/model.py:6 in f",), [("SL317", "SL204")], None),
    ],
)
def test_a_tensor_that_was_another_input_as_well_may_have_sizes_of_its_own(
    rows: int | None, shapes: tuple[str, ...], codes: list[tuple[str, ...]], verdict: Verdict | None
) -> None:
    """Copies of one tensor have the same sizes: where the code compares them, a copy does not help."""
    one = guard_tree(tensor_match(size=(rows, 8)), guard_manager("L['x']", "OBJECT_ALIASING: L['x'] is L['y']"))
    apart = "| +- NO_TENSOR_ALIASING: check_no_aliasing(L['x'], L['y'])"
    other = guard_tree(tensor_match(size=(rows, 8)), tensor_match("L['y']", (rows and 12, 8)), apart, shapes=shapes)
    made = trace(compiled("0/0", tensor(10, 8), guards=one))
    made += compiled("0/1", tensor(10, 8), tensor(12, 8, source="L['y']"), guards=other, reasons=["0/0: x is y"])
    recompile = last_recompile(made)
    assert [cause.codes for cause in recompile.causes] == codes
    assert recompile.verdict is (verdict or Verdict.JUSTIFIED)
    assert recompile.causes[0].own_remedy.startswith("accept one graph per branch") is (verdict is None)


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(("value", "kind", "code"), [(None, "NoneType", "SL322"), (2.5, "float", "SL310")])
def test_a_tensor_that_was_another_input_as_well_may_be_a_constant_now(is_named: bool, value: float | None, kind: str, code: str) -> None:
    one = guard_tree(tensor_match(), guard_manager("L['x']", "OBJECT_ALIASING: L['x'] is L['y']"), equals_match("L['k']", "a", "str"))
    other = guard_tree(tensor_match(), equals_match("L['y']", value, kind), equals_match("L['k']", "a" if is_named else "b", "str"))
    causes = last_recompile(two(one, other, "x is y" if is_named else "k == 'a'")).causes
    assert [cause.codes for cause in causes if cause.source == "L['y']"] == [(code,)]
    assert "SL317" not in [code for cause in causes for code in cause.codes]


@pytest.mark.parametrize(
    ("before", "after", "guarded", "named"),
    [
        ("", "a", "a", " (new: 'a')"),
        ("ab", "c", "c", " (new: 'c'; gone: 'a', 'b')"),
        ("", "abcde", "abcde", " (new: 'a', 'b', 'c' and 2 more)"),
        ("a", "ab", "a", ""),
    ],
)
def test_the_keys_that_a_dict_gained_or_lost_are_named_where_all_are_guarded(before: str, after: str, guarded: str, named: str) -> None:
    trees = []
    for keys, known in ((before, before), (after, guarded)):
        length = guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {len(keys)}" if keys else "DICT_LENGTH: not L['d']", type="dict")
        trees.append(guard_tree(tensor_match(), length, *(equals_match(f"L['d']['{key}']", 2) for key in known)))
    plural = "" if len(before) == 1 else "s"
    sentence = f"the dict d had {len(before) or 'no'} key{plural} and now has {len(after)}{named}"
    assert last_recompile(two(*trees, f"len(d) == {len(before)}" if before else "not d")).causes[0].sentence == sentence


@pytest.mark.parametrize(("file", "is_passed"), [("<eval_with_key>.5", True), ("/srv/app/hooks.py", False)])
def test_only_what_autograd_passes_is_marked_in_the_forward_pass(file: str, is_passed: bool) -> None:
    """A function of the user's that a hook calls takes inputs that can be marked."""
    calls = [compiled(f"!0/3/{number}", tensor(rows, 8), name="forward", file=file, line=9) for number, rows in enumerate((10, 12))]
    (cause,) = make.report(trace(*calls)).recompiles[0].causes
    assert cause.own_remedy.startswith("mark the sizes that vary in the inputs of the forward pass") is is_passed


@pytest.mark.parametrize(
    ("line", "is_cond"), [("return torch.cond(flag, true_fn, false_fn, [x])", True), ("return seconds(flag, x)", False)]
)
def test_a_bool_that_cond_takes_is_to_be_a_tensor(line: str, is_cond: bool) -> None:
    trees = [guard_tree(tensor_match(), equals_match("L['flag']", value, "bool", comment=code_comment(7, line))) for value in (True, False)]
    cause = only(two(*trees, f"L['flag'] == True  {code_comment(7, line)}"))
    assert cause.codes == ("SL311",)
    assert cause.own_remedy.startswith("pass a tensor, torch.tensor(flag)") is is_cond
    assert (cause.verdict is Verdict.CODE) is is_cond
