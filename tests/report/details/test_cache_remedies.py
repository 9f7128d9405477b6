"""What to do about each reason for which a compile cache is not used."""

import json

import make
import pytest
from recorded import report_of

from shapelog.model.cache_uses import CacheUse, cache_uses
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.details.cache_remedies import cache_problem
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import NextStep, StepKind

HASHES = [letter * 51 for letter in "abcdef"]


def use_of(reason: str, artifact: str = "aotautograd_cache_bypass", field: str = "cache_bypass_reason") -> CacheUse:
    event = make.artifact(artifact, json.dumps({field: reason}), id="0/0")
    (use,) = cache_uses(make.load(make.trace(make.compile("0/0", make.tensor(2)), event))).uses
    return use


def steps_of(report: Report) -> list[NextStep]:
    found = next_steps(collect_alerts(report, Repository("nowhere")))
    return [step for step in found if step.kind is StepKind.CACHE]


@pytest.mark.parametrize(
    ("reason", "remedy", "text"),
    [
        ("Unsupported post grad custom pass", "derive the post grad custom pass", "def uuid(self): return"),
        ("Unsupported _pre_fusion_custom_pass", "CustomSchedulerPass", "def uuid(self): return"),
        (
            "Unsupported call_function target <function f at 0x7f4e3f5604a0>. \n Function module: app.ops, \nFunction name: f",
            "declare f as cacheable",
            'unsafe_marked_cacheable_functions["app.ops.f"] = "1"',
        ),
        (
            "Unsupported call_function target while_loop. \n Function module: torch.ops.higher_order, \nFunction name: while_loop",
            "declare the operator while_loop",
            'unsafe_marked_cacheable_functions["torch.ops.higher_order.while_loop"] = "1"',
        ),
        (
            "Unsupported call_function target x. \n Function module: torch.ops.higher_order, \nFunction name: autograd_function_apply",
            "your autograd functions",
            "autograd_cache_allow_custom_autograd_functions = True",
        ),
        ("Can't cache HigherOrderOperator: while_loop", "declare the operator while_loop", "torch.ops.higher_order.while_loop"),
        ("SAC context_fn does not have a cache_hash attribute. To enable", "cache_hash", "context_fn.cache_hash ="),
        ("FX graph cache is not enabled", "enable the FX graph cache", "TORCHINDUCTOR_FX_GRAPH_CACHE=1"),
        ("Cannot cache a graph with freezing enabled", "without freezing", "torch._inductor.config.freezing = False"),
        ("Cannot produce stable cache key for unpicklable type Handle", "make Handle picklable", ""),
        ("<class '__main__.make.<locals>.Local'> was not found as __main__", "make __main__.make.<locals>.Local picklable", ""),
        (
            "activation_memory_budget_solver is a raw callable without uuid() method, bypassing",
            "activation_memory_budget_solver a uuid()",
            "",
        ),
        ("No shape env", "", ""),
    ],
)
def test_a_reason_has_its_remedy_and_what_to_type(reason: str, remedy: str, text: str) -> None:
    problem = cache_problem(use_of(reason))
    assert problem is not None
    assert (problem.rule.code, problem.reason) == ("SL505", reason)
    assert remedy in problem.remedy
    assert bool(problem.remedy) == bool(remedy)
    assert text in " ".join(problem.text)
    assert bool(problem.text) == bool(text)


def test_an_entry_that_cannot_be_pickled_names_what_cannot() -> None:
    problem = cache_problem(use_of("Can't pickle local object 'f.<locals>.g'", "aotautograd_cache_pickle_failure", "error"))
    assert problem is not None
    assert (problem.rule.code, problem.remedy.partition(":")[0]) == ("SL506", "make f.<locals>.g picklable")


@pytest.mark.parametrize(
    ("name", "code", "kept", "rank"),
    [
        ("cache_bypassed", "SL505", "square bypasses the AOTAutograd cache and the FX graph cache (2 compilations)", 0),
        ("cache_unstable_key", "SL507", "post_grad_custom_post_pass: pass-", 0),
        ("cache_not_saved", "SL506", "could not be saved in the AOTAutograd cache: runtime_metadata cannot be saved", 0),
        ("cache_settings", "SL507", "inductor_config[max_fusion_size]: 64 → 8", 0),
    ],
)
def test_a_recorded_trace_shows_the_rule(name: str, code: str, kept: str, rank: int) -> None:
    found = [item for item in report_of(f"real/2.13/{name}.log.gz").findings if item.rule.code.startswith("SL50")]
    assert [item.rule.code for item in found] == [code]
    assert kept in found[rank].sentence


@pytest.mark.parametrize(("name", "labels"), [("cache_bypassed", ("0/0", "0/1")), ("cache_unstable_key", ("0/0", "0/1"))])
def test_a_cache_that_would_save_seconds_in_later_runs_is_a_next_step(name: str, labels: tuple[str, ...]) -> None:
    report = report_of(f"real/2.13/{name}.log.gz")
    (step,) = steps_of(report)
    assert step.labels == labels  # a key that is never the same keeps each lookup from a hit
    assert step.saving.is_later
    assert step.saving.seconds.most is not None
    assert 0 < step.saving.seconds.most < report.summary.seconds  # Dynamo runs in any case
    assert step.text == ("def uuid(self): return torch._inductor.custom_graph_pass.get_hash_for_files((__file__,))",)


def test_what_the_fx_graph_cache_still_serves_is_not_counted_as_saved() -> None:
    report = report_of("real/2.13/cache_not_saved.log.gz")
    (compile,) = report.trace.compiles
    (step,) = steps_of(report)
    assert step.saving.seconds.most == pytest.approx(dict(compile.phases)["AOTAutograd"])


def test_a_bypass_without_a_remedy_is_no_step() -> None:
    data = make.trace(make.compile("0/0", make.tensor(2)), make.artifact("fx_graph_cache_bypass", "{}", id="0/0"))
    assert steps_of(make.report(data)) == []


def test_settings_that_a_program_changed_are_a_table() -> None:
    table = report_of("real/2.13/cache_settings.log.gz").table("setting_changes")
    assert table is not None
    assert table.rows == (("0/0#2", "torch._inductor.config.max_fusion_size", "64", "8"),)


def test_hits_of_remote_caches_are_distinguished_from_local_ones() -> None:
    report = report_of("real/2.13/cache_remote.log.gz")
    table = report.table("cache_lookups")
    assert table is not None
    remote = [row for row in table.rows if str(row[1]).startswith("remote")]
    assert [(row[0], row[2], row[3]) for row in remote] == [("FX graph cache", 2, 0), ("AOTAutograd cache", 2, 0)]
    assert {use.storage for use in report.caches.uses} == {"remote"}


def test_what_a_remote_cache_took_is_summed() -> None:
    metrics = {
        "inductor_fx_remote_cache_hit_count": 1,
        "inductor_fx_remote_cache_backend_type": "redis",
        "remote_fx_graph_cache_get_time_us": 250_000,
    }
    compiles = (make.compile(f"0/{number}", make.tensor(number + 2), **metrics) for number in range(2))
    table = make.report(make.trace(*compiles)).table("cache_lookups")
    assert table is not None
    assert table.rows == (("FX graph cache", "remote (redis)", 2, 0, 2, 0.5, None),)


def test_lookups_are_counted_for_each_cache() -> None:
    table = report_of("real/2.13/cache_bypassed.log.gz").table("cache_lookups")
    assert table is None  # it was not even asked
    settings = report_of("real/2.13/cache_settings.log.gz").table("cache_lookups")
    assert settings is not None
    assert [row[:5] for row in settings.rows] == [("FX graph cache", "local", 0, 2, 2), ("AOTAutograd cache", "local", 0, 2, 2)]
