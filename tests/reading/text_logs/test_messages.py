"""What one message of PyTorch's logging holds."""

import pytest

from shapelog.reading.text_logs.failures.failure import failure
from shapelog.reading.text_logs.messages.limit_text import LimitText, limits
from shapelog.reading.text_logs.messages.logged_code import LoggedCode, LoggedLine
from shapelog.reading.text_logs.messages.recompile_text import recompiles
from shapelog.reading.text_logs.messages.summaries import explained_breaks, profiled_recompiles
from shapelog.reading.text_logs.messages.symbol_text import AddedText, PinnedText, SymbolText, TrackedText, symbolic

SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20"


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_a_recompile_with_a_reason_for_each_entry() -> None:
    (found,) = recompiles(
        lines(f"""
Recompiling function f in /srv/train.py:4
    triggered by the following guard failure(s):
    - 0/1: k == 3
    - {SIZE}
""")
    )
    assert found.code == LoggedCode("f", "/srv/train.py", 4)
    assert found.reasons == ("0/1: k == 3", SIZE)


@pytest.mark.parametrize("rest", ["  last reason: 0/7: k == 3", " ()", ""])
def test_the_function_at_the_limit_has_its_name_whatever_follows(rest: str) -> None:
    (found,) = limits(["torch._dynamo hit config.recompile_limit (8)", f"   function: 'step'{rest}"])
    assert found.code == LoggedCode("step")
    assert found.reasons == (("0/7: k == 3",) if "reason" in rest else ())


@pytest.mark.parametrize("label", ["last reason: ", "reasons:    reasons: ", "   last reason: reason: "])
def test_the_reason_at_the_limit_is_what_follows_all_labels(label: str) -> None:
    (found,) = limits(["torch._dynamo hit config.cache_size_limit (64)", f"   {label}k == 3"])
    assert found.reasons == ("k == 3",)


def test_the_stack_of_a_reason_belongs_to_it() -> None:
    (found,) = recompiles(
        lines("""
Recompiling function f in train.py:4
    - 0/0: k == 3
    - User stack trace:
    -   File "/srv/train.py", line 5, in f
    -     return x * k
""")
    )
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("0/0: k == 3\nUser stack trace:\n")


def test_all_guards_that_failed_may_be_a_list_in_the_same_line() -> None:
    rest = "'triggered by the following guard failures: [\\'___ok.valid\\', \"L[\\'a\\'] == 0, with LHS value: 1\"]')"
    (found,) = recompiles([f"('Recompiling function step in /srv/a.py:3', {rest}"])
    assert found.code == LoggedCode("step", "/srv/a.py", 3)
    assert found.reasons == ("___ok.valid", "L['a'] == 0, with LHS value: 1")


def test_old_versions_write_the_reason_on_the_same_line() -> None:
    (found,) = recompiles(["('Recompiling function step in /srv/a.py', \"triggered by the following guard failure: L['t'] == 0\")"])
    assert found.code == LoggedCode("step", "/srv/a.py", 0)
    assert found.reasons == ("L['t'] == 0",)


def test_without_ids_each_line_is_a_reason() -> None:
    (found,) = recompiles(
        ["Recompiling function f in a.py:1", "  - tensor 'L['x']' rank mismatch. expected 2, actual 3", "  - L['k'] == 2"]
    )
    assert found.reasons == ("tensor 'L['x']' rank mismatch. expected 2, actual 3", "L['k'] == 2")


def test_what_pytorch_suggests_is_no_reason() -> None:
    hint = "The following environment variable would enable dynamic compilation to start, avoiding this recompile: "
    (found,) = recompiles(["Recompiling function f in a.py:1", f"  - {SIZE}", f"  - {hint}TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']\""])
    assert found.reasons == (SIZE,)
    assert found.suggested == "L['x']"


def test_a_wrapped_reason_is_whole_again() -> None:
    (found,) = recompiles(["Recompiling function f in a.py:1", "  - 0/0: tensor 'x' size mismatch at", "index 0. expected 10, actual 20"])
    assert found.reasons == (SIZE,)


def test_a_recompile_under_a_stance_that_forbids_it() -> None:
    (found,) = recompiles(
        [
            "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: 'a.py', function name: 'f', line number: 7",
            f"- {SIZE}",
        ]
    )
    assert found.code == LoggedCode("f", "a.py", 7)
    assert found.reasons == (SIZE,)


def test_the_warning_at_the_limit() -> None:
    (found,) = limits(
        lines("""
torch._dynamo hit config.recompile_limit (8)
   function: 'foo' (C:\\jobs\\train.py:4)
   last reason: 0/7: y == 7      # return x + y  # train.py:5 in foo
To log all recompilation reasons, use TORCH_LOGS="recompiles".
""")
    )
    assert (found.setting, found.limit, found.code) == ("recompile_limit", "8", LoggedCode("foo", "C:\\jobs\\train.py", 4))
    assert found.reasons == ("0/7: y == 7      # return x + y  # train.py:5 in foo",)


def test_a_warning_that_was_wrapped() -> None:
    (found,) = limits(
        [
            "torch._dynamo hit",
            "config.recompile_limit (8)",
            "   last reason: 0/7: tensor 'x' size mismatch",
            "      at index 0. expected 1, actual 2",
        ]
    )
    assert found.limit == "8"
    assert found.reasons == ("0/7: tensor 'x' size mismatch at index 0. expected 1, actual 2",)


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ("reasons:  L['k'] == 3", ("L['k'] == 3",)),
        ("reasons:  ['___check_obj_id(self, 14)']", ("___check_obj_id(self, 14)",)),
        ("reasons:  [\"tensor 'x' rank mismatch. expected 2, actual 3\"]", ("tensor 'x' rank mismatch. expected 2, actual 3",)),
    ],
)
def test_old_warnings_have_a_list_of_reasons(reasons: str, expected: tuple[str, ...]) -> None:
    assert list(limits(["torch._dynamo hit config.cache_size_limit (64)", reasons])) == [
        LimitText("cache_size_limit", "64", LoggedCode(), expected)
    ]


def test_two_warnings_are_two() -> None:
    assert [found.code.name for found in limits(["dynamo hit config.recompile_limit (8)", "function: 'a' (b.py:1)"] * 2)] == ["a", "a"]


def test_symbols_of_each_version() -> None:
    new = symbolic(
        "create_symbol s77 = 20 for L['x'].size()[0] [2, int_oo] return x * 2  # scripts/a.py:6 in f (_dynamo/b.py:4 in <lambda>)"
    )
    old = symbolic(
        "create_symbol s0 = 20 for L['x'].size()[0] [2, 9223372036854775806] at scripts/a.py:6 in f (_dynamo/b.py:2 in <lambda>)"
    )
    place, within = LoggedLine("scripts/a.py", 6, "f", "return x * 2"), LoggedLine("_dynamo/b.py", 4, "<lambda>")
    assert new == SymbolText("s77", "20", "L['x'].size()[0]", "[2, int_oo]", place, within)
    assert isinstance(old, SymbolText)
    assert old.place == LoggedLine("scripts/a.py", 6, "f")


def test_a_guard_that_equals_a_number_pins_its_symbol() -> None:
    found = symbolic(
        "eval Eq(s0, 33) [guard added] if self.x ==33:  # example.py:16 in forward (_dynamo/variables/tensor.py:1242 in evaluate_expr)"
    )
    assert isinstance(found, AddedText)
    assert found.place == LoggedLine("example.py", 16, "forward", "if self.x ==33:")
    assert found.pinned == PinnedText("s0", "33", "range_refined_to_singleton")
    assert symbolic("eval Ne(s0, 10) [guard added] at a.py:6 in g (b)") is not None
    assert symbolic("eval [guard suppressed] s0 <= 4 [guard added]") is None


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Eq(s0 - 2, 2)", "4"),
        ("Eq(s0 + 3, 7)", "4"),
        ("Eq(2*s0, 8)", "4"),
        ("Eq(3*s0 - 2, 10)", "4"),
        ("Eq(-s0, 4)", ""),
        ("Eq(s0, 1.5)", "1.5"),
        ("Eq(2*s0, 1.5)", ""),
        ("Eq(2*s0, 7)", ""),
        ("Eq(s0 - s1, 2)", ""),
        ("Eq(s0**2, 4)", ""),
        ("Eq(0*s0, 4)", ""),
    ],
)
def test_a_guard_that_one_number_alone_satisfies_pins_its_symbol(expression: str, value: str) -> None:
    found = symbolic(f"eval {expression} [guard added] if n == 2:  # a.py:6 in f (_dynamo/variables/tensor.py:1242 in evaluate_expr)")
    assert isinstance(found, AddedText)
    assert (found.pinned.value if found.pinned else "") == value


def test_what_a_symbol_became() -> None:
    assert symbolic("set_replacement s0 = 10 (solve) VR[10, 10]") == PinnedText("s0", "10", "solve")
    float_range = "VR[1.50000000000000, 1.50000000000000]"
    assert symbolic(f"set_replacement zf0 = 1.50000000000000 (trivial_lhs) {float_range}") == PinnedText(
        "zf0", "1.50000000000000", "trivial_lhs"
    )
    assert symbolic("_update_var_to_range s0 = VR[2, 30] (update)") is None


def test_sizes_strides_and_offsets_of_inputs() -> None:
    assert symbolic("track_symint L['x'].size()[0] 10 None") == TrackedText("L['x']", "size", 0, "10")
    assert symbolic("track_symint L['x'].stride()[1] s3 RelaxedUnspecConstraint(warn_only=True)") == TrackedText(
        "L['x']", "stride", 1, "s3"
    )
    assert symbolic("track_symint L['x'].size()[0] s54 + 1 None") == TrackedText("L['x']", "size", 0, "s54 + 1")
    assert symbolic("track_symint L['x'].size()[0] Max(1, s0) StrictMinMaxConstraint(vr=VR[2, 8])") == TrackedText(
        "L['x']", "size", 0, "Max(1, s0)"
    )
    assert symbolic("track_symint L['x'].size()[0] s54") == TrackedText("L['x']", "size", 0, "s54")
    assert symbolic("track_symint L['x'].storage_offset() 0 None") == TrackedText("L['x']", "", 0, "0")


def test_a_traceback_of_the_compiler_is_a_failure() -> None:
    found = failure(
        lines("""
Traceback (most recent call last):
  File "/srv/train.py", line 9, in <module>
    f(x)
torch._dynamo.exc.Unsupported: Tensor.item

from user code:
   File "/srv/train.py", line 5, in f
    return x.item()
""")
    )
    assert found is not None
    assert (found.type, found.code) == ("Unsupported", LoggedCode("f", "/srv/train.py", 5))
    assert not found.is_at_limit


def test_an_exception_of_the_program_is_none_of_its_failures() -> None:
    assert failure(["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "ValueError: no"]) is None


@pytest.mark.parametrize(
    "text",
    [
        "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached",
        "torch._dynamo.exc.Unsupported: Dynamo recompile limit exceeded",
    ],
)
def test_an_error_at_the_limit(text: str) -> None:
    found = failure([text])
    assert found is not None
    assert found.is_at_limit


def test_the_breaks_that_explain_lists() -> None:
    (found,) = explained_breaks(
        lines("""
Graph Break Count: 1
Op Count: 2
Break Reasons:
  Break Reason 1:
    Reason: Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`
    User Stack:
      <FrameSummary file /srv/a.py, line 4 in route>
""")
    )
    assert found.place == LoggedLine("/srv/a.py", 4, "route")
    assert found.reason.startswith("Failed to trace builtin operator\n  Explanation: ")


def test_the_table_of_a_profiler_has_a_line_for_each_recompile() -> None:
    found = list(
        profiled_recompiles(
            lines("""
Function                     Recompiles  Recompile Reasons
-------------------------  ------------  -----------------------------------------------------------
'attend' (attn.py:14)                 2  tensor 'L['q']' size mismatch at index 0. expected 4, actual 6
                                         tensor 'L['q']' size mismatch at index 0. expected 4, actual 9

Set torch._dynamo.config.cache_size_limit to 2 to avoid being cache limited.
""")
        )
    )
    assert [item.code for item in found] == [LoggedCode("attend", "attn.py", 14)] * 2
    assert found[1].reasons == ("tensor 'L['q']' size mismatch at index 0. expected 4, actual 9",)


def test_the_table_of_a_profiler_alone() -> None:
    guard = "__nn_module_guard_0(L['self'], debug_msg=\"versions(mod={})\")"
    lines = [
        "Function                Recompiles  Recompile Reasons",
        f"'forward' (a.py:11)             7  {guard.format(1)}",
        f"                                   {guard.format(2)}",
    ]
    found = list(profiled_recompiles(lines))
    assert {item.code for item in found} == {LoggedCode("forward", "a.py", 11)}
    assert [item.reasons for item in found] == [(guard.format(1),), (guard.format(2),), *[()] * 5]  # the table was cut


def test_the_breaks_that_explain_listed_in_torch_2_0() -> None:
    lines = [
        "Dynamo produced 2 graphs with 1 graph break and 6 ops",
        " Break reasons: ",
        "",
        "1. call_function BuiltinVariable(print) [ConstantVariable(str)] {}",
        '  File "t2.py", line 16, in foo',
        '    print("woo")',
    ]
    (found,) = explained_breaks(lines)
    assert found == ("call_function BuiltinVariable(print) [ConstantVariable(str)] {}", ("t2.py", 16, "foo", 'print("woo")'))


def test_a_guard_that_cannot_be_made_is_a_failure() -> None:
    lines = ["Error while creating guard:", "Name: \"L['self']\"", "    Source: local", "    Create Function: NN_MODULE"]
    found = failure(lines)
    assert found is not None
    assert found.message == "error while creating a guard of L['self'] (NN_MODULE)"


def test_a_logged_stack_without_its_exception_is_a_failure() -> None:
    lines = ['  File "/x/torch/_dynamo/convert_frame.py", line 12, in _compile', "    return f()"]
    assert failure(lines) is None
    found = failure(lines, is_logged=True)
    assert found is not None
    assert found.message == "the exception is missing from the log"


def test_a_stance_without_a_place() -> None:
    (found,) = recompiles(["RuntimeError: Detected recompile when torch.compile stance is 'fail_on_recompile'"])
    assert found.code == LoggedCode()


EXPLAINED = """\
  Explanation: Detected data-dependent branching.
  Hint: Use `torch.cond`.

  Developer debug context: attempted to jump with TensorVariable()

from user code:
   File "/srv/train.py", line 5, in f
    if x.sum() > 0:
"""


def test_an_explanation_before_the_users_code_is_the_message_of_an_exception() -> None:
    found = failure(lines(EXPLAINED))
    assert found is not None
    assert (found.type, found.code) == ("Unsupported", LoggedCode("f", "/srv/train.py", 5))
    assert found.message.startswith("  Explanation: Detected data-dependent branching.\n  Hint: ")
    assert failure(lines(EXPLAINED)[:5]) is None  # that of a graph break


def test_names_that_any_program_may_use_are_dynamos_where_the_text_shows_it() -> None:
    ended = 'UserError: Dynamic control flow is not supported\n\nfrom user code:\n   File "/srv/train.py", line 5, in f\n    if x:'
    found = failure(lines(ended))
    assert found is not None
    assert (found.type, found.code.name) == ("UserError", "f")
    assert failure(["UserError: no such user"]) is None


def test_a_guard_that_could_not_be_made_is_a_failure_where_its_description_is_cut_off() -> None:
    found = failure(["Error while creating guard:", "Name: ''", "    Source: "])
    assert found is not None
    assert found.message == "error while creating a guard"
    of_sizes = failure(["Error while creating guard:", "Name: ''", "    Source: shape_env"])
    assert of_sizes is not None
    assert of_sizes.is_lost_violation


def test_the_stack_below_a_violated_constraint_names_the_function() -> None:
    text = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])!\n\nUser stack:\n"
    found = failure(lines(text + '  File "/srv/train.py", line 5, in f\n    return torch.randn(5) * x'))
    assert found is not None
    assert found.code == LoggedCode("f", "/srv/train.py", 5)


def test_explain_as_an_object_lists_each_break() -> None:
    text = (
        "ExplainOutput(graphs=[GraphModule()], graph_count=2, graph_break_count=1, break_reasons=["
        "GraphCompileReason(reason='generic_jump', user_stack=[<FrameSummary file /srv/train.py, line 5 in f>, "
        "<FrameSummary file /srv/net.py, line 8 in g>], graph_break=True)], op_count=6)"
    )
    (found,) = explained_breaks([text])
    assert (found.reason, found.place) == ("generic_jump", LoggedLine("/srv/net.py", 8, "g"))
