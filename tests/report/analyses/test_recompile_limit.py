"""Which code ran into the recompile limit, and which axis ate the entries?"""

import make
import pytest
from payload_text import equals_match, global_state, guard_tree, tensor_match
from recorded import report_of

from shapelog.report.analyses.recompile_limit import analyze
from shapelog.report.results import Finding, Location


def found(recording: bytes) -> list[Finding]:
    return [item for item in analyze(make.explain(recording)) if isinstance(item, Finding)]


def sized(count: int, **metrics: object) -> bytes:
    made = make.trace()
    for number in range(count):
        made += make.compile(f"0/{number}", make.tensor(number + 2, 8), **metrics)
    return made


def test_a_refused_call_is_a_hit_and_its_axis_is_named() -> None:
    reason = "0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10"
    (finding,) = found(sized(8) + make.refused("0/8", reason))
    assert (finding.rule.code, finding.compile) == ("SL401", "0/8")
    assert finding.place == Location("/srv/app/model.py", 5)
    assert "f hit the recompile limit at 0/8, with 8 cache entries" in finding.sentence
    assert finding.details == (("x.size[0]", "in 8 of 8 recompilations"),)


def valued(*values: str) -> bytes:
    guards = [guard_tree(tensor_match(), equals_match("L['name']", value, "str")) for value in values]
    made = [make.compile(f"0/{number}", make.tensor(10, 8), guards=tree) for number, tree in enumerate(guards)]
    return make.trace(*made) + make.refused(f"0/{len(values)}", f"0/{len(values) - 1}: name == {values[-1]!r}")


def test_what_helps_against_nearly_all_recompilations_helps_against_the_limit() -> None:
    (finding,) = found(valued(*"abcdefgh"))
    remedy = "keep the value out of the compiled function, or always pass the same one: the graphs are the same"
    assert finding.remedy == f"{remedy}; or raise torch._dynamo.config.recompile_limit"
    (finding,) = found(
        valued(*"abcd") + make.compile("0/5", make.tensor(10, 8, dtype="torch.float64")) + make.compile("0/6", make.tensor(10))
    )
    assert finding.remedy.startswith("keep what adds cache entries the same in all calls (name, ")


def test_the_grad_mode_alone_fills_no_cache_and_is_not_to_be_kept_the_same() -> None:
    made = [make.trace()]
    for number, (name, is_on) in enumerate([("a", True), ("a", False), ("b", True), ("b", False), ("c", True), ("c", False), ("d", True)]):
        leaves = global_state(grad_mode=is_on), tensor_match(), equals_match("L['name']", name, "str")
        made.append(make.compile(f"0/{number}", make.tensor(10, 8), guards=guard_tree(*leaves)))
    (finding,) = found(b"".join(made) + make.refused("0/7", "0/6: GLOBAL_STATE changed: grad_mode "))
    assert finding.remedy.startswith("keep what adds cache entries the same in all calls (name), or raise ")


def test_the_end_of_an_object_is_nothing_to_keep_the_same() -> None:
    """Of an object that is gone, the calls after it have another one."""
    made = [make.trace()]
    for number, name in enumerate("abcdefgh"):
        leaves = equals_match("L['name']", name if number % 2 else "a", "str"), equals_match("L['part']", name, "str")
        gone = [f"0/{number - 1}: Cache line invalidated because L['k'] got deallocated"] if number % 2 else ()
        made.append(make.compile(f"0/{number}", make.tensor(10, 8), guards=guard_tree(tensor_match(), *leaves), reasons=gone))
    (finding,) = found(b"".join(made) + make.refused("0/8", "0/7: Cache line invalidated because L['k'] got deallocated"))
    assert finding.remedy.startswith("keep what adds cache entries the same in all calls (")
    assert "lifetime" not in finding.remedy


def called_with(*calls: tuple[int, str, str]) -> bytes:
    """Compiles for a length and two strings."""

    def called(number: int, length: int, name: str, part: str) -> bytes:
        leaves = (equals_match(f"L['{key}']", value, "str") for key, value in (("name", name), ("part", part)))
        return make.compile(f"0/{number}", make.tensor(length, 8), guards=guard_tree(tensor_match(size=(length, 8)), *leaves))

    return make.trace(*(called(number, *call) for number, call in enumerate(calls)))


def test_sizes_that_changed_together_with_something_else_are_not_to_be_kept_the_same() -> None:
    calls = [(10, "a", "x"), (10, "b", "x"), (11, "c", "x"), (12, "d", "x"), (12, "d", "y"), (13, "d", "z"), (14, "e", "z")]
    (finding,) = found(called_with(*calls))
    assert finding.remedy.startswith("keep what adds cache entries the same in all calls (name, part), or raise ")


def test_what_marks_remove_is_not_to_be_kept_the_same() -> None:
    calls = [(10, "a", "x"), (11, "a", "x"), (11, "b", "x"), (12, "b", "x"), (12, "b", "y"), (13, "b", "y"), (13, "c", "y")]
    (finding,) = found(called_with(*calls))
    assert finding.rule.code == "SL402"
    kept = "mark the sizes and ints that vary and keep name and part the same in all calls, or raise "
    assert finding.remedy.startswith(kept)


def in_modes(*calls: tuple[int, str, bool], is_trained: bool = False) -> bytes:
    """Calls of one function with a number of rows, a string and a grad mode, each of which needs an entry."""
    made = make.trace()
    for number, (rows, name, mode) in enumerate(calls):
        guards = guard_tree(tensor_match(size=(rows, 8)), global_state(grad_mode=mode), equals_match("L['name']", f"'{name}'", "str"))
        made += make.compile(f"0/{number}", make.tensor(rows, 8), guards=guards)
    return made + (make.metrics("0/0", kind="bwd_compilation_metrics", fail_type=None) if is_trained else b"")


@pytest.mark.parametrize(("is_trained", "kept"), [(True, "name"), (False, "name and grad_mode")])
def test_training_and_inference_are_not_to_be_kept_the_same(is_trained: bool, kept: str) -> None:
    calls = [*((rows, "a", True) for rows in (10, 11, 12, 13)), (13, "b", True), (13, "c", True), (13, "c", False)]
    (finding,) = found(in_modes(*calls, is_trained=is_trained))
    words = f"mark the sizes and ints that vary and keep {kept} the same in all calls, or raise torch._dynamo.config.recompile_limit"
    assert finding.remedy == words


def test_where_marks_leave_room_nothing_else_is_to_be_kept_the_same() -> None:
    (finding,) = found(in_modes(*((rows, "a", True) for rows in (10, 11, 12, 13, 14, 15)), (15, "b", True)))
    assert finding.remedy == "mark the sizes and ints that vary, or raise torch._dynamo.config.recompile_limit"


def test_the_mode_of_a_module_is_not_to_be_kept_the_same() -> None:
    calls = [(10, True), (11, True), (12, True), (13, True), (14, True), (15, True), (15, False)]
    flag = "L['self']._modules['drop'].training"
    trees = [guard_tree(tensor_match(size=(rows, 8)), equals_match(flag, training, "bool")) for rows, training in calls]
    made = make.trace(*(make.compile(f"0/{number}", make.tensor(rows, 8), guards=trees[number]) for number, (rows, _) in enumerate(calls)))
    (finding,) = found(made)
    assert finding.details[1] == ("self.drop.training", "in 1 of 6 recompilations")
    assert finding.remedy == "mark the sizes and ints that vary, or raise torch._dynamo.config.recompile_limit"


def test_several_refused_calls_of_one_frame_are_one_hit() -> None:
    reason = "0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10"
    assert [item.compile for item in found(sized(8) + make.refused("0/8", reason) + make.refused("0/9", reason))] == ["0/8"]


def test_a_full_cache_is_near_the_limit() -> None:
    (finding,) = found(sized(8))
    assert (finding.rule.code, finding.compile) == ("SL402", "0/7")


def test_few_entries_are_far_from_the_limit() -> None:
    assert found(sized(6)) == []
    assert found(sized(1)) == []


def test_a_function_that_has_more_entries_elsewhere_is_not_near_a_limit_of_8() -> None:
    """Such as on another rank: either the limit is another one, or several objects share the function."""
    more = b"".join(make.compile(f"1/{number}", make.tensor(number + 2, 8)) for number in range(9))
    assert found(sized(8) + more) == []
    other = b"".join(make.compile(f"1/{number}", make.tensor(number + 2, 8), name="g") for number in range(9))
    assert [item.rule.code for item in found(sized(8) + other)] == ["SL402"]


@pytest.mark.parametrize("name", ["recompile_limit", "cache_size_limit"])
def test_the_limit_is_the_one_of_the_configuration(name: str) -> None:
    assert [item.rule.code for item in found(sized(3, dynamo_config=f'{{"{name}": 3}}'))] == ["SL402"]
    assert found(sized(8, dynamo_config=f'{{"{name}": 64}}')) == []


def test_the_accumulated_limit_is_called_by_its_name() -> None:
    refused = {"fail_type": "RecompileLimitExceeded", "fail_reason": "accumulated_recompile_limit reached", "has_guarded_code": False}
    made = sized(2) + make.compile(
        "0/2", reasons=("0/1: tensor 'x' size mismatch at index 0. expected 3, actual 4",), is_started=False, **refused
    )
    (finding,) = found(made)
    assert "hit the accumulated recompile limit at 0/2" in finding.sentence


def test_an_accumulated_limit_without_an_entry_is_due_to_objects_that_died() -> None:
    refused = {"fail_type": "RecompileLimitExceeded", "fail_reason": "accumulated_recompile_limit reached", "has_guarded_code": False}
    reason = "Unable to find recompilation reasons"
    (finding,) = found(make.trace(make.compile("0/256", is_started=False, recompile_reason=reason, **refused)))
    assert "entries are dropped" in finding.notes[0]
    assert finding.remedy.startswith("create the object once, and keep it alive")


def test_two_four_leaves_no_record_so_a_full_cache_is_called_a_hit() -> None:
    findings = [item for item in report_of("real/2.4/d_module.log.gz").findings if item.rule.code == "SL401"]
    assert findings
    assert all("does not record" in item.sentence for item in findings)


@pytest.mark.parametrize(
    ("name", "axis"),
    [("module_step_counter", "self.step"), ("callable_identity", "id(fn.__code__)"), ("limit_module_widths", "self.weight.size[0]")],
)
def test_the_hits_of_the_lab_name_what_ate_the_entries(name: str, axis: str) -> None:
    (finding,) = [item for item in report_of(f"lab/{name}.log.gz").findings if item.rule.code == "SL401"]
    assert finding.details[0] == (axis, "in 8 of 8 recompilations")


def test_a_healthy_program_hits_nothing() -> None:
    assert [item for item in report_of("lab/no_recompiles.log.gz").findings if item.rule.code in ("SL401", "SL402")] == []


def test_the_last_reason_is_given_where_no_recompilation_before_it_had_that_cause() -> None:
    def sentence(reason: str) -> str:
        (finding,) = found(sized(8) + make.refused("0/8", reason))
        return finding.sentence

    assert sentence("0/7: G['step'] == 7").endswith("; the last reason: the global int step was 7 and has changed")
    assert "the last reason" not in sentence("0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10")


def test_a_float_that_differs_in_most_calls_is_to_be_a_tensor() -> None:
    """A sampler passes the time, which cannot be the same in all calls."""
    calls = [(0.0, "a"), (0.25, "a"), (0.5, "a"), (0.75, "a"), (1.0, "a"), (1.0, "b"), (1.0, "c"), (1.0, "d")]
    made = [make.trace()]
    for number, (time, name) in enumerate(calls):
        leaves = equals_match("L['t']", time, "float"), equals_match("L['name']", name, "str")
        made.append(make.compile(f"0/{number}", make.tensor(10, 8), guards=guard_tree(tensor_match(), *leaves)))
    (finding,) = found(b"".join(made) + make.refused("0/8", "0/7: name == 'd'"))
    assert finding.remedy.startswith("pass the float t as a tensor")
    assert finding.remedy.endswith("; or raise torch._dynamo.config.recompile_limit")
