"""A check in a terminal: the answer first, then what to set, then what fails with its place and its cure."""

from collections.abc import Callable

import make
import pytest
from make import alerts_of, small_trace, tensor
from make import compile as compiled
from payload_text import guard_tree, size_mismatch, tensor_match
from recorded import RECORDED, report_of

from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import CheckResult, check
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.check import render_check
from shapelog.rules import AlertKind

Golden = Callable[[str, bytes], None]
DEMO = collect_alerts(report_of("real/demo.log.gz"), Repository("nowhere", ("/srv/ml",)))


def shown(checked: CheckResult, width: int = 100, **options: object) -> str:
    text = render_check(checked, Options(width=width, **options)).decode()  # type: ignore[arg-type]
    assert max(len(line) for line in text.split("\n") if not line.startswith((" " * 5, "   = see: "))) <= width
    return text


@pytest.mark.parametrize("width", [80, 140])
def test_a_check_is_as_recorded(golden: Golden, width: int) -> None:
    policy = Policy(budgets=(Budget(Metric.RECOMPILES, 10), Budget(Metric.RECOMPILES, 6, "*")))
    golden(f"demo.check.{width}.txt", render_check(check(DEMO, policy), Options(width=width)))


def test_the_answer_comes_first() -> None:
    assert (
        shown(check(DEMO, Policy())).split("\n")[2].startswith("Check failed: recompile limit hit in MovingAverage.forward; 13 avoidable")
    )
    passed = shown(check(DEMO, Policy(fail_on=())))
    assert "Check passed: 19 compilations, 15 recompilations" in passed
    assert "What to set" not in passed
    assert "What fails" not in passed
    assert "findings that do not fail (shown with --verbose)" in passed


def test_a_long_check_that_failed_begins_with_the_first_step() -> None:
    text = shown(check(DEMO, Policy()), 80)
    assert text.split("\n\n")[2].startswith("Start here: Mark 3 inputs (4 entries) as dynamic")
    short = check(alerts_of(make.trace(make.static_sizes(8, 3))), Policy())
    assert short.has_failed
    assert "Start here" not in shown(short)
    assert "Start here" not in shown(check(DEMO, Policy(fail_on=())), verbose=True)


def test_a_run_without_compiles_comes_with_possible_reasons() -> None:
    text = shown(check(alerts_of(make.trace()), Policy()))
    assert "Check passed: nothing was compiled" in text
    assert "the trace contains no compilation: was a function under torch.compile called" in " ".join(text.split())


def test_each_alert_has_its_place_its_sentence_and_its_cure() -> None:
    lines = [line.strip() for line in shown(check(DEMO, Policy()), 200).split("\n")]
    at = next(number for number, line in enumerate(lines) if line.startswith("error[SL315]: "))
    assert "MovingAverage.forward was recompiled 7 times (9.69 s): the int self.step changed from 2 to 3" in lines[at]
    assert lines[at + 1 : at + 4] == ["--> demo/demo.py:29", "| self.step += 1", "| ^^^^^^^^^"]
    assert lines[at + 4].startswith("= compilations 1/1, 1/2, 1/3, 1/4, 1/5, 1/6, 1/7, called at demo.py:57 and 1 other line  ")
    assert lines[at + 5] == "= help: mark the int self.step as dynamic: add L['self'].step to TORCH_COMPILE_DYNAMIC_SOURCES"


def test_what_the_same_marks_remove_is_one_finding() -> None:
    """As in a report: x changes in both recompilations, y in the second one as well."""
    made = make.trace()
    for number, (length, other) in enumerate(((10, 5), (12, 5), (14, 7))):
        guards = guard_tree(tensor_match(size=(length, 8)), tensor_match("L['y']", (other, 8)))
        made += compiled(f"0/{number}", tensor(length, 8), tensor(other, 8, source="L['y']"), guards=guards)
    text = shown(check(alerts_of(made), Policy()))
    assert text.count("error[SL101]") == 1
    assert "   = also in 0/2: dim 0 of y changed from 5 to 7 (SL101)\n" in text


def test_a_limit_cuts_the_list_with_a_note() -> None:
    checked = check(DEMO, Policy())
    assert f"… {len(checked.failing) - 2} more findings, shown with --limit 0" in shown(checked, limit=2)
    assert "more findings, shown with" not in shown(checked, limit=0)
    assert "What does not fail the check" in shown(checked, limit=0, verbose=True)


def test_budgets_are_shown_with_what_was_spent() -> None:
    budgets = (Budget(Metric.COMPILES, 30), Budget(Metric.AVOIDABLE, 1.5), Budget(Metric.RECOMPILES, 3, "*"))
    text = shown(check(DEMO, Policy(budgets=budgets)))
    rows = {tuple(line.split()) for line in text.split("\n")}
    assert ("compilations", "in", "the", "whole", "run", "19", "30", "ok") in rows
    assert any(row[:6] == ("avoidable", "seconds", "in", "the", "whole", "run") and row[-1] == "exceeded" for row in rows)
    assert ("recompilations", "in", "MovingAverage.forward", "7", "3", "exceeded") in rows
    assert not any("ok" in row and "whole" not in row for row in rows)
    assert "recompilations in normalize" in shown(check(DEMO, Policy(budgets=budgets)), verbose=True)


def test_what_a_baseline_knows_is_distinguished() -> None:
    known = parse(
        as_bytes(
            alerts_of(make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])))
        ),
        "known.json",
    )
    more = small_trace() + compiled("0/2", tensor(5, 5), reasons=[size_mismatch("0/1", 16, 5, 1)])
    text = shown(check(alerts_of(more), Policy(), known))
    assert "1 more finding that does not fail, already in known.json (shown with --verbose)" in text
    assert "1 of 1 were there" not in text
    same = check(alerts_of(small_trace()), Policy(), known)
    assert "Check passed: nothing new; 2 compilations, 1 recompilation" in shown(same)
    assert "1 finding that does not fail, already in known.json (shown with --verbose)" in shown(same)
    better = check(alerts_of(make.trace(compiled("0/0", tensor(8, 16)))), Policy(), known)
    assert "In the baseline known.json, but not in this run: f: SL101 x.size[0], 1 before, 0 now. Run with" in shown(better)


def test_ranks_are_named_where_there_are_several() -> None:
    assert "compilation 0/1 on ranks 0 and 1" in shown(check(alerts_of(small_trace(), small_trace()), Policy()))


def test_names_and_code_from_a_trace_are_harmless() -> None:
    name = "\x1b]0;owned\x07\u202egnp.exe"
    trace = make.trace(
        compiled("0/0", tensor(8, 16), name=name), compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], name=name)
    )
    text = shown(check(alerts_of(trace), Policy(budgets=(Budget(Metric.COMPILES, 0, "*"),))), color=False, verbose=True)
    assert "owned" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


@pytest.mark.parametrize("name", RECORDED)
def test_every_fixture_can_be_shown(name: str) -> None:
    checked = check(
        collect_alerts(report_of(name), Repository("nowhere")), Policy(budgets=(Budget(Metric.COMPILES, 1, "*"),), fail_on=tuple(AlertKind))
    )
    text = shown(checked, 60, limit=0, verbose=True)
    assert all(item.alert.rule.code in text for item in checked.alerts)


def test_a_finding_that_was_left_out_is_counted_with_the_option() -> None:
    found = alerts_of(small_trace())
    assert "1 finding left out by --select" in shown(check(found, Policy(select=("SL4",))))
    assert "1 finding left out by --ignore" in shown(check(found, Policy(ignore=("SL101",))))


def test_commands_to_copy_are_in_one_piece() -> None:
    again = "a/long/path/to/the/traces/of/a/job/train.log.gz"
    text = render_check(check(DEMO, Policy()), Options(width=60, again=again)).decode()
    assert "\nThe full report: shapelog report a/long/path/to/the/traces/of/a/job/train.log.gz\n" in text
