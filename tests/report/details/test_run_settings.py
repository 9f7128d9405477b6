"""Settings that differ between two runs, and in the middle of one."""

import json

import make
from recorded import report_of

from shapelog.model.trace import Trace
from shapelog.report.compare import compare
from shapelog.report.details.metric_fields import SettingChange
from shapelog.report.details.run_settings import changed_settings, settings_of_runs


def run(*settings: dict[str, object], **metrics: object) -> Trace:
    """A run that compiles once with each of these settings of Inductor."""
    compiles = [
        make.compile(f"0/{number}", make.tensor(number + 2), inductor_config=json.dumps(found), **metrics)
        for number, found in enumerate(settings)
    ]
    return make.load(make.trace(*compiles))


def test_a_setting_that_differs_between_runs_has_both_values() -> None:
    (found,) = settings_of_runs(run({"a": 1, "b": True}), run({"a": 1, "b": False}))
    assert found == SettingChange("torch._inductor.config.b", "true", "false")


def test_versions_come_first() -> None:
    one, other = (run({"a": value}, python_version=f"{version} (main)") for value, version in ((1, "3.11.7"), (2, "3.12.1")))
    assert settings_of_runs(one, other) == (
        SettingChange("Python", "3.11.7", "3.12.1"),
        SettingChange("torch._inductor.config.a", "1", "2"),
    )


def test_a_run_without_settings_differs_in_none() -> None:
    assert settings_of_runs(run({"a": 1}), make.load(make.small_trace())) == ()


def test_settings_of_the_second_run_that_the_first_does_not_know_are_listed() -> None:
    (found,) = settings_of_runs(run({}), run({"new": "x"}))
    assert found == SettingChange("torch._inductor.config.new", "", "x", is_in_both=False)


def test_settings_that_one_version_alone_has_come_last() -> None:
    found = settings_of_runs(run({"a": 1, "b": 2}), run({"b": 3, "c": 4}))
    assert [(item.name.rpartition(".")[2], item.is_in_both) for item in found] == [("b", True), ("a", False), ("c", False)]


def test_a_set_that_is_written_in_another_order_is_the_same() -> None:
    assert settings_of_runs(run({"ignored": ["x", "y"]}), run({"ignored": ["y", "x"]})) == ()


def test_each_change_in_a_run_is_listed_with_the_compile_from_which_on_it_holds() -> None:
    found = list(changed_settings(run({"a": 1}, {"a": 1}, {"a": 2}, {"a": 1})))
    assert [(item.compile.label, item.setting.before, item.setting.value) for item in found] == [("0/2", "1", "2"), ("0/3", "2", "1")]


def test_compare_lists_settings_and_does_not_note_them_again() -> None:
    before, after = report_of("real/demo.log.gz"), report_of("real/demo_marked.log.gz")
    found = compare(before, after)
    assert [item.name for item in found.settings] == ["torch.compiler.config.dynamic_sources"]
    assert not any("dynamic_sources" in note for note in found.notes)
