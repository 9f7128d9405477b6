"""A recorded state: what counts as new against it, and the error for a file that is not one."""

import json
import subprocess
from collections.abc import Callable

import make
import pytest
from make import alerts_of, small_trace, static_sizes, tensor, trace
from make import compile as compiled
from payload_text import size_mismatch
from recorded import FIXTURES, RECORDED, report_of

from shapelog.check.baseline import Baseline, as_bytes, is_one, parse
from shapelog.check.check import CheckResult, check
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.errors import ShapelogError
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.rules import AlertKind

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
ANYTHING = Policy(fail_on=tuple(AlertKind))
LIBRARY = "/usr/lib/python3/site-packages/torch/nn/modules/linear.py"
SELF = (
    "| +- GuardManager: source=L['self'], accessed_by=FrameLocalsGuardAccessor(key='self', framelocals_idx=0), "
    "type=<class '__main__.{}'>, tag_safe=(False, False)\n"
)


def against(before: bytes | tuple[bytes, ...], after: bytes | tuple[bytes, ...], policy: Policy = ANYTHING, **more: object) -> CheckResult:
    """The second run compared with what was recorded of the first; several traces are the ranks of one run."""
    one, other = (traces if isinstance(traces, tuple) else (traces,) for traces in (before, after))
    known = parse(as_bytes(alerts_of(*one)), "known.json")
    return check(alerts_of(*other, **more), policy, known)  # type: ignore[arg-type]


def new(checked: CheckResult) -> list[tuple[str, str, int]]:
    """(code, rule, how many are new) of each alert that has any."""
    return [(item.alert.title, item.alert.rule.code, len(item.new)) for item in checked.alerts if item.new]


def is_the_same(before: bytes | tuple[bytes, ...], after: bytes | tuple[bytes, ...], **more: object) -> bool:
    checked = against(
        before, after, Policy(fail_on=tuple(AlertKind), budgets=(Budget(Metric.COMPILES, 0), Budget(Metric.RECOMPILES, 0))), **more
    )
    return not checked.has_failed and not new(checked) and checked.fixed == ()


# What is the same.


@pytest.mark.parametrize("name", RECORDED)
def test_a_run_shows_nothing_new_against_itself(name: str) -> None:
    found = collect_alerts(report_of(name), Repository("nowhere"))
    checked = check(found, ANYTHING, parse(as_bytes(found), "known.json"))
    assert not checked.has_failed
    assert checked.fixed == ()


@pytest.mark.parametrize("name", ["f", "<lambda>"])
def test_lines_may_shift(name: str) -> None:
    before = trace(
        static_sizes(8, 3, name=name),
        static_sizes(8, 3, 5, frame=1, name=name, line=40),
        static_sizes(4, 5, frame=2, name="other", line=60),
    )
    after = trace(
        static_sizes(8, 3, name=name, line=22),
        static_sizes(8, 3, 5, frame=1, name=name, line=52),
        static_sizes(4, 5, frame=2, name="other", line=9),
    )
    assert is_the_same(before, after)


def test_what_resumes_after_a_graph_break_may_shift_too() -> None:
    def run(shift: int) -> bytes:
        names = [f"torch_dynamo_resume_in_forward_at_{line + shift}" for line in (14, 17)]
        resumed = [
            static_sizes(8, *range(2, number + 3), frame=number + 1, name=name, line=12 + shift) for number, name in enumerate(names)
        ]
        return trace(static_sizes(8, 3, line=12 + shift), *resumed)

    assert is_the_same(run(0), run(30))


def test_code_that_resumes_at_one_line_and_begins_at_another_is_other_code() -> None:
    resumed = "torch_dynamo_resume_in_h_at_13"
    alone = compiled("0/0", tensor(8, 8), name=resumed, line=14)
    run = trace(alone, static_sizes(8, 3, frame=1, name=resumed, line=13))
    assert is_the_same(run, run)


def test_classes_with_methods_of_one_name_are_distinguished() -> None:
    def run(shift: int, *names: str) -> bytes:
        lengths = {"Encoder": (8, 3), "Decoder": (8, 3, 5)}
        lines = {"Encoder": 12 + shift, "Decoder": 40 + shift}
        made = [
            static_sizes(*lengths[name], frame=frame, line=lines[name], name="forward", more_guards=[SELF.format(name)])
            for frame, name in enumerate(names or tuple(lengths))
        ]
        return trace(*made)

    assert is_the_same(run(0), run(9))
    assert is_the_same(run(0), run(40, "Decoder", "Encoder"))
    assert new(against(run(0, "Encoder"), run(0))) == [("Decoder.forward", "SL101", 2)]


def test_library_code_is_distinguished_by_the_line_that_calls_it() -> None:
    def run(shift: int, root: str = "/usr/lib/python3", *more: int) -> bytes:
        file = LIBRARY.replace("/usr/lib/python3", root)
        called = [static_sizes(8, 3, file=file, call=30 + shift), static_sizes(8, 3, 5, *more, frame=1, file=file, call=31 + shift)]
        return trace(*called)

    assert is_the_same(run(0), run(25))
    assert is_the_same(run(0), run(0, "/opt/venv/lib/python3.13"))
    assert new(against(run(0), run(5, "/opt", 7))) == [("f", "SL101", 1)]


def test_the_checkout_may_be_somewhere_else() -> None:
    moved = small_trace().replace(b"/srv/app/", b"/home/runner/work/repo/app/")
    assert is_the_same(small_trace(), moved)
    assert is_the_same(small_trace(), moved, prefixes=("/home/runner/work/repo",))
    assert is_the_same(small_trace(), small_trace().replace(b"/srv/app/", b"C:\\\\app\\\\"))


def test_a_notebook_may_be_run_again() -> None:
    one, other = (small_trace().replace(b"/srv/app/model.py", f"/tmp/ipykernel_{number}/{number}.py".encode()) for number in (71, 883))
    assert is_the_same(one, other)


def test_ids_and_order_may_be_others() -> None:
    before = trace(static_sizes(8, 3), static_sizes(4, 5, 6, frame=1, name="other", line=40))
    after = trace(static_sizes(4, 5, 6, frame=3, name="other", line=40), static_sizes(8, 3, frame=7))
    assert is_the_same(before, after)


def test_more_ranks_that_do_the_same_are_nothing_new() -> None:
    assert is_the_same(small_trace(), (small_trace(), small_trace()))
    assert is_the_same((small_trace(), small_trace()), small_trace())


def test_ranks_may_have_their_packages_in_different_places() -> None:
    homes = (f"/home/{name}/lib/python3.12/site-packages/torch/nn/modules/linear.py" for name in ("one", "two"))
    run = tuple(trace(static_sizes(8, 3, file=file)) for file in homes)
    assert len(alerts_of(*run).codes) == 1
    assert is_the_same(run, run)


def test_the_worst_rank_sets_what_each_may_do() -> None:
    before = (trace(static_sizes(8, 3, 5)), trace(static_sizes(8)))
    assert is_the_same(before, (trace(static_sizes(8)), trace(static_sizes(8, 3, 5))))
    checked = against(before, (trace(static_sizes(8, 3, 5, 6)), trace(static_sizes(8, 3))), Policy(budgets=(Budget(Metric.COMPILES, 0),)))
    assert new(checked)[1:] == [("f", "SL101", 1)]
    assert checked.budgets[0].spent == 1


# What is new.


def test_one_more_recompile_of_a_known_cause_is_new_and_counts_alone() -> None:
    budgets = tuple(Budget(metric, 0) for metric in Metric)
    checked = against(trace(static_sizes(8, 3)), trace(static_sizes(8, 3, 5)), Policy(budgets=budgets))
    assert checked.has_failed
    assert {item.budget.metric: item.spent for item in checked.budgets} == {Metric.COMPILES: 1, Metric.RECOMPILES: 1, Metric.AVOIDABLE: 1.0}
    (alert,) = (item for item in checked.alerts if item.alert.rule.code == "SL101")
    assert [occurrence.compile.label for occurrence in alert.new] == ["0/2"]
    assert (alert.known, alert.is_spent) == (1, True)
    assert (
        against(trace(static_sizes(8, 3)), trace(static_sizes(8, 3, 5)), Policy(budgets=(Budget(Metric.RECOMPILES, 1),))).has_failed
        is False
    )


def test_a_new_cause_in_known_code_is_new() -> None:
    dtype = "0/1: tensor 'x' dtype mismatch. expected Float, actual Double"
    after = trace(static_sizes(8, 3), compiled("0/2", tensor(3, 8), reasons=[dtype]))
    assert [item[1:] for item in new(against(trace(static_sizes(8, 3)), after))] == [("SL301", 1)]


def test_code_that_was_not_there_is_new() -> None:
    assert new(against(trace(static_sizes(8, 3)), trace(static_sizes(8, 3), static_sizes(8, 3, frame=1, name="other", line=40)))) == [
        ("other", "SL101", 1)
    ]
    assert (
        against(trace(static_sizes(8, 3)), trace(static_sizes(8, 3), static_sizes(8, frame=1, name="other", line=40))).has_failed is False
    )


def test_a_cause_goes_with_each_of_its_properties() -> None:
    """Two sizes that changed together may change one by one later, but not twice."""
    together = trace(
        compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 4), reasons=[size_mismatch("0/0", 8, 3), size_mismatch("0/0", 16, 4, 1)])
    )
    apart = trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)]))
    assert not against(together, apart).has_failed
    assert against(apart, together).has_failed


def test_what_is_fixed_is_shown() -> None:
    before = trace(static_sizes(8, 3, 5), static_sizes(8, 3, frame=1, name="other", line=40))
    checked = against(before, trace(static_sizes(8, 3)))
    assert not checked.has_failed
    assert checked.fixed == ("f: SL101 x.size[0], 2 before, 1 now", "other: no longer compiled")
    assert str(checked.headline) == "Check passed: nothing new; 2 compilations, 1 recompilation"


def test_another_torch_is_shown() -> None:
    other = small_trace().replace(b"2.13.0+cpu", b"2.12.0+cpu")
    note = "known.json was written with torch 2.13.0+cpu, this trace with 2.12.0+cpu; the differences count as new"
    assert against(small_trace(), other).notes == (note,)
    assert against(small_trace(), small_trace()).notes == ()


# The file.


def test_a_baseline_holds_neither_times_nor_ids_and_not_the_order_of_compiles() -> None:
    before = trace(static_sizes(8, 3), static_sizes(4, 5, frame=1, name="other", line=5))
    after = trace(static_sizes(4, 5, frame=2, name="other", line=5, seconds=9.75), static_sizes(8, 3, frame=6))
    content = as_bytes(alerts_of(before))
    assert content == as_bytes(alerts_of(after))
    assert content == as_bytes(alerts_of(before, before))
    assert json.loads(content) == {
        "format": "shapelog baseline",
        "format_version": 1,
        "torch_version": "2.13.0+cpu",
        "frames": [
            {
                "title": name,
                "name": name,
                "file": make.MODEL,
                "line": 5,
                "called_at": {"file": make.MAIN, "line": 20, "name": "main"},
                "compiles": 2,
                "alerts": [{"code": "SL101", "axis": "x.size[0]", "count": 1}],
            }
            for name in ("f", "other")
        ],
    }


def test_a_baseline_names_files_from_the_repository_on() -> None:
    assert b"/srv" not in as_bytes(alerts_of(small_trace(), prefixes=("/srv",)))
    library = trace(static_sizes(8, 3, file="/home/me/venv/lib/python3.12/site-packages/net/model.py"))
    assert b"/home/me" not in as_bytes(alerts_of(library))


@pytest.mark.slow
def test_a_baseline_does_not_depend_on_hashes(python: Process) -> None:
    code = """
import sys, shapelog
from shapelog.report.alerts.collect import collect_alerts
from shapelog.check.baseline import as_bytes
from shapelog.report.repository_paths import Repository
sys.stdout.buffer.write(as_bytes(collect_alerts(shapelog.analyze(shapelog.load(sys.argv[1])), Repository("nowhere"))))
"""
    fixture = str(FIXTURES / "real" / "2.4" / "d_module.log.gz")
    one, other = (python(code, fixture, PYTHONHASHSEED=seed).stdout for seed in "12")
    assert one == other
    assert is_one(one)


def readable(content: bytes) -> Baseline | None:
    try:
        return parse(content, "known.json")
    except ShapelogError:
        return None


def refusal(content: bytes) -> str:
    with pytest.raises(ShapelogError) as error:
        parse(content, "known.json")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("known.json")
    return str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe", b"\x1f\x8b\x08", b"[]", b"3", b"{}", b'{"format": "sarif"}', b"{", b"NaN", b"[" * 100_000]
)
def test_what_is_no_baseline_is_refused_in_one_line(content: bytes) -> None:
    refusal(content)
    assert not is_one(content)


@pytest.mark.parametrize("version", [2, 0, None, "1", [1], True])
def test_another_version_is_refused(version: object) -> None:
    content = json.dumps({"format": "shapelog baseline", "format_version": version, "frames": []}).encode()
    assert f"baseline version {version}, but this shapelog reads version 1; write it again with --write-baseline" in refusal(content)
    assert is_one(content)


def test_whatever_is_damaged_in_a_baseline_it_is_refused_or_read() -> None:
    whole = json.loads(as_bytes(alerts_of(small_trace())))
    for key in ("title", "name", "file", "line", "called_at", "compiles", "alerts"):
        for value in (None, -1, 1.5, float("inf"), "x", [], [1], {}, {"file": "a"}, 10**30, "\ud800"):
            content = json.dumps({**whole, "frames": [{**whole["frames"][0], key: value}]}).encode()
            known = readable(content)
            if known is None:
                assert "damaged baseline" in refusal(content)
            else:
                check(alerts_of(small_trace()), ANYTHING, known)
        assert "damaged baseline" in refusal(
            json.dumps({**whole, "frames": [{k: v for k, v in whole["frames"][0].items() if k != key}]}).encode()
        )
    for frames in (None, 3, "x", {"a": 1}, [[]], [None]):
        assert "damaged baseline" in refusal(json.dumps({**whole, "frames": frames}).encode())


@pytest.mark.parametrize("count", [-1, 1.5, True, "3", None, float("inf")])
def test_a_count_is_a_whole_number(count: object) -> None:
    whole = json.loads(as_bytes(alerts_of(small_trace())))
    whole["frames"][0]["alerts"][0]["count"] = count
    assert "is not a count" in refusal(json.dumps(whole).encode())


@pytest.mark.parametrize(("times", "is_new"), [(1, False), (2, True)])
def test_two_errors_of_one_code_share_what_the_baseline_has(times: int, is_new: bool) -> None:
    def run(number: int) -> bytes:
        reasons = ["cannot add"] * number + ["cannot multiply"]
        failed = [compiled(f"0/{at}", tensor(10, 8), **{**make.FAILED, "fail_reason": text}) for at, text in enumerate(reasons)]
        return trace(*failed)

    known = parse(as_bytes(alerts_of(run(1))), "known.json")
    checked = check(alerts_of(run(times)), Policy(fail_on=(AlertKind.FAILURE,)), known)
    assert len({alert.fingerprint for alert in checked.found.alerts}) == 2
    assert bool(checked.failing) is is_new
