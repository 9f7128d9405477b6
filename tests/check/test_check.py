"""Whether a run is good enough: kinds, rules selected and ignored, budgets, and the sentences about it."""

import make
import pytest
from payload_text import graph_text, guard_tree, size_mismatch, tensor_match
from recorded import RECORDED, report_of
from vllm_traces import llama_with_passes, part

from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.model.trace import merged
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.rules import AlertKind, Level

NOTHING = Policy(fail_on=())


def of_fixture(name: str) -> Alerts:
    return collect_alerts(report_of(f"{name}.log.gz"), Repository("nowhere"))


def zero_one_and_dtype() -> Alerts:
    """A recompile for another dtype, whose size 1 came along; and one for a size of 1 alone."""
    recording = make.trace(make.static_sizes(10))
    odd = guard_tree(tensor_match(size=(1, 8), dtype="float64"))
    recording += make.compile("0/1", make.tensor(1, 8, dtype="torch.float64"), guards=odd)
    return collect_alerts(make.report(recording), Repository("nowhere"))


def budget(found: Alerts, metric: Metric, most: float, pattern: str = "", **policy: object) -> CheckResult:
    return check(found, Policy(budgets=(Budget(metric, most, pattern),), **policy))  # type: ignore[arg-type]


def failing(checked: CheckResult) -> list[str]:
    return [item.alert.rule.code for item in checked.failing]


# Kinds.


def test_a_run_without_compiles_passes_with_a_note() -> None:
    checked = check(make.alerts_of(make.trace()), Policy())
    assert not checked.has_failed
    assert str(checked.headline) == "Check passed: nothing was compiled"
    assert checked.notes[0].startswith("the trace contains no compilation: ")


def test_pieces_that_vllm_compiled_are_no_empty_trace() -> None:
    checked = check(make.alerts_of(make.trace(llama_with_passes())), Policy())
    assert str(checked.headline) == "Check passed: 8 piecewise compilations of vLLM"
    assert checked.notes == ()
    part_alone = check(make.alerts_of(make.trace(*part(event="aot_cache_hit"))), Policy())
    assert (str(part_alone.headline), part_alone.notes) == ("Check passed: 1 model part of vLLM", ())


@pytest.mark.parametrize(
    ("name", "kinds", "codes"),
    [
        ("lab/batch_varies", None, ["SL101"]),
        ("lab/batch_varies", (AlertKind.MARKING,), ["SL101"]),
        ("lab/batch_varies", (AlertKind.NON_SIZE, AlertKind.LIMIT, AlertKind.FAILURE), []),
        ("lab/batch_varies", (), []),
        ("lab/no_recompiles", tuple(AlertKind), []),
        ("lab/one_first", None, []),
        ("lab/one_first", (AlertKind.RECOMPILE,), ["SL104"]),
        ("lab/one_first", (AlertKind.SIZE,), ["SL104"]),
        ("lab/dict_keys", (AlertKind.SIZE,), []),
        ("lab/dict_keys", (AlertKind.NON_SIZE,), ["SL314"]),
        ("lab/fresh_classes", (AlertKind.LIMIT,), ["SL401"]),
        ("lab/graph_break_stack_tensor", (AlertKind.BREAK,), ["SL501"]),
        ("lab/float_arg_specialised", (AlertKind.RESTART,), ["SL502"]),
    ],
)
def test_a_check_fails_on_the_kinds_that_are_named(name: str, kinds: tuple[AlertKind, ...] | None, codes: list[str]) -> None:
    checked = check(of_fixture(name), Policy(fail_on=kinds))
    assert list(dict.fromkeys(failing(checked))) == codes
    assert checked.has_failed == bool(codes)
    assert bool(checked.reasons) == bool(codes)


def test_failures_and_unexplained_recompiles_are_kinds() -> None:
    assert "SL403" in failing(check(of_fixture("real/2.6/l_failures"), Policy(fail_on=(AlertKind.FAILURE,))))
    odd = make.alerts_of(make.trace(make.compile("0/0", make.tensor(8, 16)), make.compile("0/1", make.tensor(8, 16))))
    assert failing(check(odd, Policy())) == []
    assert failing(check(odd, Policy(fail_on=(AlertKind.UNEXPLAINED,)))) == ["SL399"]
    near = make.alerts_of(make.trace(make.static_sizes(*range(2, 9))))
    assert failing(check(near, Policy(fail_on=(AlertKind.LIMIT_NEAR,)))) == ["SL402"]


def test_what_came_along_with_a_size_of_one_does_not_fail() -> None:
    found = zero_one_and_dtype()
    checked = check(found, Policy())
    assert not checked.has_failed
    assert [(item.alert.rule.code, item.level) for item in checked.alerts] == [("SL104", Level.NOTE), ("SL301", Level.NOTE)]
    assert failing(check(found, Policy(fail_on=(AlertKind.RECOMPILE,)))) == ["SL104", "SL301"]


@pytest.mark.parametrize("name", RECORDED)
def test_the_next_steps_of_a_report_are_those_of_every_format(name: str) -> None:
    found = collect_alerts(report_of(name), Repository("nowhere"))
    assert [step.title for step in without_policy(found).next_steps] == [step.title for step in next_steps(found)]


def test_the_next_steps_begin_with_what_failed() -> None:
    found = of_fixture("real/demo")
    breaks = check(found, Policy(fail_on=(AlertKind.BREAK,))).next_steps
    assert [step.kind.name for step in breaks[:2]] == ["GRAPH_BREAK", "MARK"]
    assert check(found, Policy()).next_steps[0].kind.name == "MARK"
    assert len(breaks) == len(next_steps(found))


# Rules.


def test_what_is_not_selected_or_is_ignored_does_not_count() -> None:
    found = of_fixture("real/demo")
    assert set(failing(check(found, Policy()))) == {"SL101", "SL301", "SL315", "SL401"}
    assert set(failing(check(found, Policy(ignore=("SL3", "SL4"))))) == {"SL101"}
    assert set(failing(check(found, Policy(ignore=("SL3", "SL4", "SL101"))))) == set()
    assert set(failing(check(found, Policy(ignore=("SL",), select=("SL305",))))) == {"SL305"}
    assert failing(check(found, Policy(select=("SL104",)))) == ["SL104"]
    assert check(found, Policy(select=("SL104",))).ignored == len(found.alerts) - 1


def test_a_recompile_counts_until_all_of_its_causes_are_ignored() -> None:
    found = zero_one_and_dtype()
    for ignore, spent in (((), 1), (("SL301",), 1), (("SL104",), 1), (("SL301", "SL104"), 0), (("SL3", "SL1"), 0)):
        assert budget(found, Metric.RECOMPILES, 0, ignore=ignore).budgets[0].spent == spent
    assert budget(found, Metric.RECOMPILES, 0, select=("SL301",)).budgets[0].spent == 1
    assert budget(found, Metric.RECOMPILES, 0, select=("SL302",)).budgets[0].spent == 0


# Budgets.


@pytest.mark.parametrize("metric", list(Metric))
def test_a_budget_is_kept_at_its_limit_and_exceeded_by_one_more(metric: Metric) -> None:
    found = make.alerts_of(make.trace(make.static_sizes(8, 3, 5), make.static_sizes(4, frame=1, name="other", line=40)))
    spent = {Metric.COMPILES: 4, Metric.RECOMPILES: 2, Metric.AVOIDABLE: 2.0}[metric]
    assert not budget(found, metric, spent).has_failed
    checked = budget(found, metric, spent - 0.5 if metric is Metric.AVOIDABLE else spent - 1)
    assert checked.has_failed
    assert failing(checked) == ["SL801", "SL101"]
    assert [item.is_spent for item in checked.failing] == [False, True]
    assert len(checked.reasons) == 1
    assert str(checked.headline) == f"Check failed: {checked.exceeded[0].sentence}"


def test_a_budget_decides_about_recompiles_and_not_about_limits() -> None:
    assert not budget(make.alerts_of(make.small_trace()), Metric.COMPILES, 9).has_failed
    assert failing(budget(of_fixture("lab/fresh_classes"), Metric.COMPILES, 99)) == ["SL401"]
    assert budget(make.alerts_of(make.small_trace()), Metric.COMPILES, 9, fail_on=(AlertKind.AVOIDABLE,)).has_failed


def test_no_avoidable_second_is_a_budget_too() -> None:
    assert budget(make.alerts_of(make.small_trace()), Metric.AVOIDABLE, 0).has_failed
    assert not budget(zero_one_and_dtype(), Metric.AVOIDABLE, 0, ignore=("SL301",)).has_failed
    assert not budget(of_fixture("lab/one_first"), Metric.AVOIDABLE, 0).has_failed


def test_ranks_spend_together_and_so_do_traces_of_one_process_id() -> None:
    ranks = make.alerts_of(make.small_trace(), make.small_trace())
    assert not budget(ranks, Metric.RECOMPILES, 2).has_failed
    assert budget(ranks, Metric.RECOMPILES, 1).has_failed
    runs = collect_alerts(analyze(merged([make.load(make.small_trace()), make.load(make.small_trace())])), Repository("nowhere"))
    assert [item.spent for item in budget(runs, Metric.RECOMPILES, 1).budgets] == [2]
    assert not check(runs, Policy(), parse(as_bytes(make.alerts_of(make.small_trace())), "known.json")).has_failed


def test_budgets_of_frames_are_held_against_each() -> None:
    found = make.alerts_of(
        make.trace(make.static_sizes(8, 3, 5), make.static_sizes(4, 5, frame=1, name="other", line=40)), prefixes=("/srv",)
    )
    assert [item.code.title for item in budget(found, Metric.RECOMPILES, 1, "*").exceeded if item.code] == ["f"]
    assert [item.spent for item in budget(found, Metric.RECOMPILES, 9, "app/*.py").budgets] == [2, 1]
    assert budget(found, Metric.RECOMPILES, 0, "nothing").budgets == ()
    checked = budget(found, Metric.RECOMPILES, 1, "f")
    assert checked.reasons == ("2 recompilations in f, 1 allowed",)
    assert [(item.alert.title, item.alert.rule.code) for item in checked.failing] == [("f", "SL801"), ("f", "SL101")]
    several = Policy(budgets=(Budget(Metric.RECOMPILES, 0, "*"), Budget(Metric.RECOMPILES, 2, "f*"), Budget(Metric.RECOMPILES, 2)))
    assert check(found, several).reasons == ("3 recompilations, 2 allowed", "1 recompilation in other, 0 allowed")


def test_a_budget_that_fits_no_code_is_noted() -> None:
    (note,) = budget(make.alerts_of(make.small_trace()), Metric.RECOMPILES, 1, "Net.forwad").notes
    assert note == "no compiled code has the title, function, or file Net.forwad, so its budget has no effect"
    assert budget(make.alerts_of(make.small_trace()), Metric.RECOMPILES, 1, "f*").notes == ()


def test_a_budget_of_the_run_is_shown_at_the_code_that_spent_most() -> None:
    trace = make.trace(make.static_sizes(8, 3, 5, frame=1, line=40, name="cheap", seconds=0.1), make.static_sizes(8, 3))
    for metric, title in ((Metric.RECOMPILES, "cheap"), (Metric.AVOIDABLE, "f")):
        over = budget(make.alerts_of(trace), metric, 0).alerts[0].alert
        assert over.title == title
        assert over.sentence.endswith(f"; the most in {title}")
    known = parse(as_bytes(make.alerts_of(trace)), "known.json")
    later = make.alerts_of(trace + make.compile("0/2", make.tensor(5, 16), reasons=[size_mismatch("0/1", 3, 5)]))
    assert check(later, Policy(budgets=(Budget(Metric.RECOMPILES, 0),)), known).alerts[0].alert.title == "f"


def test_seconds_that_would_round_to_the_same_are_shown_exactly() -> None:
    found = make.alerts_of(make.trace(make.static_sizes(8, 3, seconds=0.002)))
    assert budget(found, Metric.AVOIDABLE, 0).reasons == ("0.002 s of avoidable recompilations, 0 s allowed",)
    assert budget(make.alerts_of(make.trace(make.static_sizes(8, 3, seconds=1.5))), Metric.AVOIDABLE, 1).reasons == (
        "1.50 s of avoidable recompilations, 1.00 s allowed",
    )


def test_alerts_of_budgets_have_fingerprints_of_their_own() -> None:
    found = make.alerts_of(make.trace(make.static_sizes(8, 3), make.static_sizes(8, 3, frame=1, line=40)))
    budgets = tuple(Budget(metric, 0, pattern) for metric in Metric for pattern in ("", "*"))
    names = [item.alert.fingerprint for item in check(found, Policy(budgets=budgets)).alerts]
    assert len(names) == 9 + 2
    assert len(set(names)) == len(names)


# Sentences.


def test_the_answer_names_limits_then_each_compile_under_its_worst_kind() -> None:
    assert str(check(of_fixture("real/demo"), Policy()).headline) == (
        "Check failed: recompile limit hit in MovingAverage.forward; 13 avoidable recompilations"
    )
    every = check(of_fixture("lab/graph_break_resume"), Policy(fail_on=tuple(AlertKind)))
    assert str(every.headline) == "Check failed: 3 avoidable recompilations; 4 graph breaks"
    restarts = check(of_fixture("real/2.4/f_graph_breaks"), Policy(fail_on=(AlertKind.RESTART,)))
    assert "restarted analyses" in str(restarts.headline)
    assert str(check(of_fixture("lab/no_recompiles"), Policy()).headline) == "Check passed: 2 compilations, 0 recompilations"


def test_a_report_asks_nothing_and_shows_the_same() -> None:
    shown = without_policy(of_fixture("real/demo"))
    assert not shown.has_failed
    assert str(shown.headline).startswith("19 compilations, 15 recompilations (39.1 s): recompile limit hit in ")
    assert [item.level for item in shown.alerts] == [item.alert.level for item in shown.alerts]
    assert shown.budgets == ()


def test_damage_makes_the_answer_less_sure() -> None:
    (note,) = check(make.alerts_of(make.small_trace() + b"this is no record\n"), Policy()).notes
    assert note.startswith("made.log:")
    assert note.endswith("compilations may be missing (--strict makes this an error)")


def test_the_remedy_is_the_line_to_set_with_its_saving() -> None:
    assert check(make.alerts_of(make.small_trace()), NOTHING).remedy == (
        "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\"  # 1 of 2 compilations goes away (saves 1.00 s of 2.00 s)"
    )
    assert check(of_fixture("lab/no_recompiles"), NOTHING).remedy == ""
    assert "export" not in check(of_fixture("lab/one_first"), NOTHING).remedy


@pytest.mark.parametrize("name", RECORDED)
def test_every_recompile_is_in_some_alert(name: str) -> None:
    found = collect_alerts(report_of(name), Repository("nowhere"))
    seen = {occurrence.compile for alert in found.alerts for occurrence in alert.occurrences if AlertKind.RECOMPILE in occurrence.kinds}
    assert len(seen) == found.report.summary.recompiles


def test_a_failed_check_counts_only_what_it_fails_for() -> None:
    tanh = graph_text('L_x_: "f32[10, 8][8, 1]cpu"', 'tanh: "f32[10, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")
    sizes = (make.tensor(10, 8), make.tensor(3, 8), make.tensor(14, 8))
    made = make.trace(*(make.compile(f"0/{number}", size, graph=tanh if number == 1 else None) for number, size in enumerate(sizes)))
    found = collect_alerts(make.report(made), Repository("nowhere"))
    assert str(check(found, Policy()).headline) == "Check failed: 1 avoidable recompilation"
    everything = check(found, Policy(fail_on=(AlertKind.RECOMPILE,)))
    assert str(everything.headline) == "Check failed: 1 avoidable recompilation; 1 justified recompilation"
