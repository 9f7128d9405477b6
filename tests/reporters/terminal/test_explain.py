"""The explanation of one compile in a terminal: only what is known, and what has a name."""

from typing import Any

import make
import pytest
from make import compile as compiled
from make import tensor, trace
from payload_text import equals_match, graph_text, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

from shapelog.model.trace import Trace
from shapelog.report.explain_compile import explain_compile
from shapelog.reporters import Options, renderer

INPUT = 'L_x_: "f32[10, 8][8, 1]cpu"'


def explained(of: Trace | bytes, label: str, verbose: bool = False) -> str:
    of = make.load(of) if isinstance(of, bytes) else of
    return renderer("explanation", "terminal")(explain_compile(of, label), Options(color=False, width=80, verbose=verbose)).decode()


def section(text: str, title: str) -> str:
    return text.split(f"\n{title}")[1].split("\n\n")[0]


def test_objects_are_shown_by_their_types_and_never_by_their_addresses() -> None:
    guards = [f"ID_MATCH: ___check_obj_id(L['fn'], {93000000001 + number}), type=<class 'function'>" for number in (0, 1)]
    trees = [guard_tree(tensor_match(), guard_manager("L['fn']", guard, type="function")) for guard in guards]
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number]) for number in (0, 1)])
    text = explained(made, "0/1")
    assert section(text, "Guards that differ").endswith("only object identities differ (same types)")
    assert "9300000000" not in text.partition("\nIn PyTorch's words")[0]


def test_other_entries_with_the_same_value_have_the_sentence_of_their_cause() -> None:
    text = " ".join(explained(report_of("lab/callable_identity.log.gz").trace, "0/7").split())
    assert "other entries 0/5 0/4 0/3 0/2 0/1 0/0: fn is a different function: its code object changed" in text


@pytest.mark.parametrize(
    ("name", "label"),
    [("causes/dict_types_and_kwargs.log.gz", "2/1"), ("lab/int_drives_python.log.gz", "0/2"), ("lab/batch_varies.log.gz", "0/1")],
)
def test_the_remedy_of_the_recompilation_is_shown_also_where_it_is_none_of_a_cause(name: str, label: str) -> None:
    explanation = explain_compile(report_of(name).trace, label)
    assert explanation.recompile is not None
    remedy = explanation.remedies.of_recompile(explanation.recompile)
    assert " ".join(remedy.text.split()) in " ".join(explained(report_of(name).trace, label).split())


def test_where_two_changes_are_needed_each_is_shown_once() -> None:
    trees = [
        guard_tree(tensor_match(), *(equals_match(f"L['{name}']", value, kind) for name, value, kind in leaves))
        for leaves in (
            (("w", 0.5, "float"), ("k", 3, "int")),
            (("w", 0.25, "float"), ("k", "'a'", "str")),
        )
    ]
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=tree) for number, tree in enumerate(trees)])
    explanation = explain_compile(make.load(made), "0/1")
    assert explanation.recompile is not None
    assert "; and always pass the same type" in explanation.remedies.of_recompile(explanation.recompile).text
    shown = " ".join(explained(made, "0/1").split())
    assert [shown.count(words) for words in ("pass the float as a tensor", "always pass the same type")] == [1, 1]


def test_what_other_entries_require_of_a_size_is_no_value_that_it_had() -> None:
    """The entries have a symbol for the dim, and a bound each from the line that branched on it."""
    trees = [guard_tree(tensor_match(size=(None, 8)), shapes=(f"L['x'].size()[0] <= {most}",)) for most in (4, 6, 9, 30)]
    made = trace(*[compiled(f"0/{number}", tensor(size, 8), guards=trees[number]) for number, size in enumerate((3, 5, 8, 20))])
    assert "other entries 0/1 0/0: they require x.size()[0] <= 6, x.size()[0] <= 4" in " ".join(explained(made, "0/3").split())


def test_a_change_of_which_neither_value_is_known_has_no_line_of_its_own() -> None:
    reasons = ("0/0: ___check_torch_function_mode_stack()",)
    text = explained(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8), reasons=reasons)), "0/1")
    assert "the stack of torch function modes" in text
    assert "→ ?" not in text


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        (("add = l_x_ + 1", "mul = l_x_ * 2"), "different"),
        (("add = l_x_ + 1", "add = l_x_ + 2"), "similar: differs only in sizes or constants"),
        (("", "add = l_x_ + 1"), "not recorded"),
    ],
)
def test_what_is_known_of_two_graphs(graphs: tuple[str, str], words: str) -> None:
    texts = [graph_text(INPUT, statement) if statement else "" for statement in graphs]
    trees = [guard_tree(tensor_match(), equals_match("L['k']", number)) for number in (1, 2)]
    made = trace(*[compiled(f"0/{number}", tensor(10, 8), guards=trees[number], graph=texts[number]) for number in (0, 1)])
    assert section(explained(made, "0/1"), "Graph").split("\n")[0].strip() == words


def test_one_source_is_counted_as_one() -> None:
    trees = [guard_tree(tensor_match(), equals_match(f"L['{name}']", 3)) for name in "kj"]
    made = trace(*[compiled(f"0/{number}", tensor(10 + number, 8), guards=trees[number]) for number in (0, 1)])
    assert "1 source guarded in 0/0 only, 1 source guarded in 0/1 only" in explained(made, "0/1")


def test_symbols_that_pytorch_makes_up_are_shown_with_verbose_only() -> None:
    symbols = [("s1", 3, "L['x'].size()[0]"), ("s2", 4, "<ephemeral: tensor_visitor_fn>.size()[0]")]
    made = trace(compiled("0/0", tensor(3, 8), symbols=symbols)).replace(b'"vr": "[2, int_oo]", "source": "L[', b'"vr": "", "source": "L[')
    assert section(explained(made, "0/0"), "Symbols").strip() == "s1 = x.size()[0], was 3"
    assert "s2 = <ephemeral: tensor_visitor_fn>.size()[0]" in explained(made, "0/0", verbose=True)


def test_what_was_dynamic_from_the_start_did_not_become_so() -> None:
    for name, is_new in (("causes/truncated_path.log.gz", False), ("lab/batch_varies.log.gz", True)):
        assert ("became dynamic automatically: x dim 0" in explained(report_of(name).trace, "0/1")) is is_new


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith(("causes/", "lab/"))])
def test_no_line_consists_of_blanks(name: str) -> None:
    found = report_of(name).trace
    for compile in list(found.compiles)[:4]:
        lines = explained(found, compile.label).split("\n")
        assert [line for line in lines if line and not line.strip()] == []


BREAK = "Data-dependent branching\n  Explanation: Dynamo does not support it.\n  Hint: Use `torch.cond`.\n"
STACK = '\nUser code traceback:\n  File "/srv/app/model.py", line 7, in f\n'
STACK += "    if x.sum() < k:  # skip it\n       ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"


def test_a_graph_break_that_is_the_failure_itself_is_shown_once() -> None:
    failed = compiled("0/0", tensor(10, 8), **{**make.FAILED, "fail_reason": BREAK + STACK})
    reason = f"Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: {BREAK}{STACK}"
    text = explained(trace(failed, make.artifact("dynamo_graph_break_reason", reason, id="0/0")), "0/0")
    assert text.count("Data-dependent branching") == 1
    assert "   | if x.sum() < k:  # skip it\n   |    ^^^^^^^^^^^\n" in text


def test_the_rank_is_named() -> None:
    ranks = make.load_ranks(make.small_trace(), make.small_trace())
    text = renderer("explanation", "terminal")(explain_compile(ranks, "0/1", rank=1), Options(color=False, width=80)).decode()
    assert text.splitlines()[0] == "0/1  f  /srv/app/model.py:5  rank 1"


def unrecorded(*lengths: int) -> bytes:
    """Compiles without guards and graphs, as a text log has them."""
    reason = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"
    kept: dict[str, Any] = {"guards": "", "graph": "", "has_guarded_code": True}
    return trace(*(compiled(f"0/{number}", tensor(length, 8), reasons=(reason,) * number, **kept) for number, length in enumerate(lengths)))


def test_guards_that_are_not_recorded_are_not_the_same() -> None:
    text = explained(unrecorded(10, 12), "0/1")
    assert "\nGuards  not recorded\n" in text
    assert "Guards that differ" not in text


def test_without_graphs_and_guards_it_is_only_probable_that_marking_is_enough() -> None:
    assert "probably avoidable by marking inputs as dynamic\n" in explained(unrecorded(10, 12), "0/1")


def test_a_refused_call_has_neither_guards_nor_a_graph() -> None:
    made = trace(compiled("0/0", tensor(10, 8)), make.refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"))
    text = explained(made, "0/1")
    assert "\nGuards" not in text
    assert "\nGraph" not in text
    assert "compared with 0/0" in text


def test_the_guards_of_a_first_compilation_are_shown_each_with_its_line() -> None:
    text = section(explained(report_of("real/demo.log.gz").trace, "0/0"), "Guards")
    assert "\n  tokens: int64 [16, 32] on cpu\n  pooling == 'mean'  " in text
    assert "  demo/demo.py:16\n" in text
    assert text.endswith("\n  also grad mode on, the sizes and dtypes of 5 parameters, the type or identity\n    of 21 objects\n")


def test_the_guards_of_a_recompilation_are_shown_when_asked_for() -> None:
    made = report_of("real/demo.log.gz").trace
    assert "\nGuards  a call" not in explained(made, "0/1")
    assert "\nGuards  a call reuses this compilation only if all of these hold\n  tokens: int64 [" in explained(made, "0/1", verbose=True)


def test_other_compilations_with_the_id_are_named() -> None:
    """``torch._dynamo.reset()`` lets ids start again."""
    twice = trace(make.static_sizes(10, 12), make.static_sizes(10, 12))
    words = "has this id as well: ids started again, as after torch._dynamo.reset()"
    assert f"  0/1#2 {words}\n" in explained(twice, "0/1")
    assert f"  0/1 {words}\n" in explained(twice, "0/1#2")
    assert words not in explained(trace(make.static_sizes(10, 12)), "0/1")
