"""What changed from one run to another, whether that is better or worse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import make
import pytest
import vllm_traces
from make import artifact, record, report, tensor, trace
from make import compile as compiled
from payload_text import equals_match, global_state, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

import shapelog
from shapelog.report.compare import Comparison, FrameChange, compare
from shapelog.report.frame_changes import CauseChange, DynamicSince, Effect, Gain, Loss
from shapelog.rules import RULES, Remedy

BREAK = "Graph break in user code at /srv/app/model.py:{line}\nGraph Break Reason: {reason}\nUser code traceback:\n"
SETTINGS: dict[str, object] = {"recompile_limit": 8, "automatic_dynamic_shapes": True}
MARK = "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"


def compared(before: bytes, after: bytes) -> Comparison:
    return compare(report(before), report(after))


def only(comparison: Comparison) -> FrameChange:
    (found,) = comparison.frames
    return found


def sizes(*lengths: int, made: bytes | None = None, frame: int = 0, name: str = "f", **more: Any) -> bytes:
    """A function that was compiled for each of these batch sizes."""
    made = made or trace()
    for number, length in enumerate(lengths):
        made += compiled(f"{frame}/{number}", tensor(length, 8), name=name, **more)
    return made


def dynamic(made: bytes | None = None, frame: int = 0, name: str = "f", number: int = 0) -> bytes:
    """A function whose batch is dynamic."""
    symbols = (("s77", "10", "L['x'].size()[0]"),)
    guards = guard_tree(tensor_match(size=(None, 8)))
    return (made or trace()) + compiled(f"{frame}/{number}", tensor(10, 8), guards=guards, symbols=symbols, name=name)


def failed(made: bytes | None = None, label: str = "0/0", name: str = "f", reason: str = "Observed exception") -> bytes:
    return (made or trace()) + compiled(label, tensor(10, 8), guards="", graph="", fail_type="Unsupported", fail_reason=reason, name=name)


def broken(made: bytes, label: str = "0/0", line: int = 7, reason: str = "builtin: print") -> bytes:
    made += artifact("dynamo_graph_break_reason", BREAK.format(line=line, reason=reason), id=label)
    return made


# Nothing changed.


@pytest.mark.parametrize("name", RECORDED)
def test_a_trace_does_not_differ_from_itself(name: str) -> None:
    found = compare(report_of(name), report_of(name))
    assert (found.outcome, found.was) == (Effect.SAME, found.now)
    known = "torch 2.5 and older", "without a recorded result"
    assert [note for note in found.notes if not any(text in note for text in known)] == []
    assert str(found.headline).startswith("No difference: ")
    assert (found.changed, found.new, found.gone) == ((), (), ())
    assert sum(len(part.before.frames) for part in found.frames if part.before) == len(report_of(name).trace.frames)


@pytest.mark.parametrize("name", RECORDED)
def test_the_totals_are_those_of_the_reports(name: str) -> None:
    found, summary = compare(report_of(name), report_of("lab/batch_varies.log.gz")), report_of(name).summary
    assert (found.was.compiles, found.was.recompiles) == (summary.compiles, summary.recompiles)
    assert found.was.limit_hits in (summary.limit_hits, None)
    assert found.was.failures >= summary.failures
    assert found.was.seconds == pytest.approx(summary.seconds)


def test_times_alone_are_no_difference() -> None:
    found = compared(sizes(10, 12), sizes(10, 12, seconds=90.0))
    assert (found.outcome, found.changed, found.now.seconds) == (Effect.SAME, (), 180.0)
    assert str(found.headline) == "No difference: 2 compilations in both runs, for the same reasons"


def cause_change(code: str, axis: str, before: int, after: int, remedy: str = "") -> CauseChange:
    return CauseChange(code, axis, before, after, Remedy(RULES[code], remedy or RULES[code].remedy))


# Better.


def test_fewer_compiles_are_better() -> None:
    found = compared(dynamic(sizes(10, 12), number=2), dynamic())
    assert (found.outcome, found.was.compiles, found.now.compiles) == (Effect.BETTER, 3, 1)
    assert str(found.headline) == "Better: 1 compilation instead of 3; no recompilations remain"
    frame = only(found)
    assert (frame.gains, frame.losses, frame.effect) == ((Gain.COMPILES,), (), Effect.BETTER)
    assert frame.causes == (cause_change("SL101", "x.size[0]", 2, 0, MARK),)
    assert [(dim.axis, dim.source, dim.before, dim.after) for dim in frame.dims] == [
        ("x.size[0]", "L['x']", DynamicSince.LATER, DynamicSince.FIRST)
    ]
    assert frame.verdict == "1 compilation instead of 3, no recompilations remain; x.size[0] is dynamic from the first compile on"


@pytest.mark.parametrize(
    ("program", "compiles", "left"),
    [("graph_break_resume", (6, 3), ()), ("optimizer_loop", (3, 2), ("SL107",)), ("batch_varies", (2, 1), ())],
)
def test_what_a_profile_of_an_earlier_run_gains(program: str, compiles: tuple[int, int], left: tuple[str, ...]) -> None:
    found = compare(report_of(f"lab/{program}.log.gz"), report_of(f"real/2.13/{program}.pgo_warm.log.gz"))
    assert (found.outcome, (found.was.compiles, found.now.compiles)) == (Effect.BETTER, compiles)
    assert tuple(dict.fromkeys(cause.code for cause in found.causes if cause.after)) == left
    assert all(dim.after is DynamicSince.FIRST for frame in found.frames for dim in frame.dims)


def test_a_program_with_its_sources_marked() -> None:
    found = compare(report_of("real/demo.log.gz"), report_of("real/demo_marked.log.gz"))
    assert (found.outcome, found.was.compiles, found.now.compiles) == (Effect.BETTER, 19, 8)
    assert str(found.headline) == "Better: 8 compilations instead of 19; the recompile limit is no longer hit"
    average, *_ = found.frames
    assert (average.title, average.gains) == ("MovingAverage.forward", (Gain.LIMIT, Gain.COMPILES))
    assert {cause.code for cause in found.causes if cause.after} == {"SL104", "SL301", "SL305", "SL311"}
    assert found.notes == ()
    (setting,) = found.settings
    assert (setting.name, setting.before) == ("torch.compiler.config.dynamic_sources", "")
    assert setting.value.startswith("L['tokens']:0")


def test_a_graph_break_that_was_mended_takes_what_resumed_after_it_along() -> None:
    before = broken(sizes(10)) + compiled("1/0", tensor(10, 8), name="torch_dynamo_resume_in_f_at_7")
    found = compared(before, sizes(10))
    assert (found.outcome, found.was.breaks, found.now.breaks) == (Effect.BETTER, 1, 0)
    (gone,) = found.gone
    assert (gone.part_of, gone.gains, gone.losses) == ("f", (Gain.COMPILES,), ())


def test_code_that_failed_and_is_compiled_now_is_better_however_often() -> None:
    found = compared(failed(sizes(10, frame=1, name="g")), sizes(10, frame=1, name="g", made=sizes(10, 12)))
    frame, _ = found.frames
    assert (found.outcome, frame.losses) == (Effect.BETTER, ())
    assert frame.facts == ("now compiled (2 compilations); it was not before",)


# Worse, and lost graphs.


def test_more_compiles_are_worse_and_the_cause_is_named() -> None:
    found = compared(sizes(10), sizes(10, 12, 14))
    assert (found.outcome, only(found).losses) == (Effect.WORSE, (Loss.COMPILES,))
    assert only(found).verdict == "3 compilations instead of 1, because of x.size[0] (SL101)"
    assert not only(found).lost_graph


def lost(how: str) -> bytes:
    """The function that compiled for two sizes, one compile of it left, or none."""
    made = trace()
    if how == "fails":
        return failed(made)
    if how == "left without code":
        return made + compiled("0/0", tensor(10, 8), guards="", graph="", name="f")
    if how == "killed":
        made += record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 0}]}, id="0/0")
        return made
    made = sizes(10, made=made)
    if how == "limit":
        return made + make.refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12")
    return failed(made, "0/1") if how == "fails later" else broken(made)


@pytest.mark.parametrize(
    ("how", "loss", "words"),
    [
        ("fails", Loss.CODE, "0/0 failed: Observed exception"),
        ("left without code", Loss.CODE, "0/0 produced no code"),
        ("killed", Loss.CODE, "0/0 did not finish"),
        ("limit", Loss.LIMIT, "now hits the recompile limit (0/1 was refused)"),
        ("fails later", Loss.FAILURES, "1 failed compilation instead of none (0/1 failed: Observed exception)"),
        ("breaks", Loss.BREAKS, "1 graph break instead of none"),
    ],
)
def test_a_lost_graph_is_a_loss_though_it_looks_like_fewer_compiles(how: str, loss: Loss, words: str) -> None:
    found = compared(sizes(10, 12), lost(how))
    frame = only(found)
    assert found.now.compiles < found.was.compiles
    assert (found.outcome, frame.effect, frame.gains, frame.losses) == (Effect.WORSE, Effect.WORSE, (), (loss,))
    assert found.lost_graphs == (frame,)
    assert words in frame.verdict
    assert "fewer compilations are not an improvement here" in frame.facts
    assert str(found.headline).startswith("Worse: ")
    assert "lost" in str(found.headline)


def test_a_graph_that_a_mark_loses() -> None:
    found = compare(report_of("lab/int_drives_python.log.gz"), report_of("real/2.13/int_drives_python.marked.log.gz"))
    assert (found.outcome, found.was.compiles, found.now.compiles) == (Effect.WORSE, 2, 0)
    assert str(found.headline) == "Worse: nothing is compiled anymore (2 compilations before): f lost compiled code"
    assert only(found).losses == (Loss.CODE,)
    back = compare(found.after, found.before)
    assert (back.outcome, str(back.headline)) == (
        Effect.BETTER,
        "Better: nothing was compiled in the first run, 2 compilations in the second",
    )


def test_fewer_compilations_that_take_much_longer_are_stated() -> None:
    slower = compared(sizes(10, 12, 14, seconds=1.0), sizes(10, 12, seconds=9.0))
    assert str(slower.headline) == "Better: 2 compilations instead of 3; they took 18.0 s instead of 3.00 s"
    alike = compared(sizes(10, 12, 14, seconds=1.0), sizes(10, 12, seconds=2.0))
    assert str(alike.headline) == "Better: 2 compilations instead of 3"


def test_a_lost_graph_outweighs_what_became_better_elsewhere() -> None:
    before, after = sizes(10, 12, frame=1, name="g", made=sizes(10, 12)), sizes(10, frame=1, name="g", made=failed())
    found = compared(before, after)
    assert found.outcome is Effect.MIXED
    assert str(found.headline).startswith(
        "Mixed: f lost compiled code; 1 compilation instead of 4 (not an improvement where compiled code was lost)"
    )
    assert [(frame.title, frame.effect) for frame in found.frames] == [("f", Effect.WORSE), ("g", Effect.BETTER)]


def test_a_limit_that_is_no_longer_hit_though_more_is_compiled_is_mixed() -> None:
    found = compared(
        sizes(10, 12) + make.refused("0/2", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 14"), sizes(10, 12, 14)
    )
    assert (found.outcome, only(found).gains, only(found).losses) == (Effect.MIXED, (Gain.LIMIT,), (Loss.COMPILES,))


def test_a_run_in_which_vllm_loads_everything_is_not_worse() -> None:
    compiled, loaded = report(sizes(10, 12)), report(trace(vllm_traces.execution_code()))
    found = compare(compiled, loaded)
    assert found.outcome is Effect.SAME
    assert str(found.headline) == "vLLM loaded everything from its cache in the second run (2 compilations in the first)"
    assert str(compare(loaded, loaded).headline) == "No difference: nothing was compiled in either run"


def test_more_pieces_that_vllm_compiles_are_a_difference() -> None:
    parts = [b"".join(vllm_traces.part(*(vllm_traces.piece(0, *sizes) for sizes in ranges))) for ranges in ([(1, 8)], [(1, 8), (2, 2)])]
    before, after = (report(sizes(10) + part) for part in parts)
    found = compare(before, after)
    assert (found.outcome, str(found.headline)) == (
        Effect.SAME,
        "vLLM compiled 2 pieces instead of 1: 1 compilation in both runs",
    )
    (note,) = (note for note in found.notes if note.startswith("vLLM"))
    assert note.startswith("vLLM: 1 part of the model, 1 piecewise compilation")
    assert "before; 1 part of the model, 2 piecewise compilations" in note
    assert str(compare(before, before).headline) == "No difference: 1 compilation in both runs"


def test_a_full_trace_against_one_in_which_nothing_was_compiled() -> None:
    empty, full = report(trace()), report(sizes(10, 12))
    found = compare(full, empty)
    assert (found.outcome, str(found.headline)) == (Effect.WORSE, "Worse: nothing is compiled anymore (2 compilations before)")
    assert [frame.losses for frame in found.gone] == [(Loss.CODE,)]
    found = compare(empty, full)
    assert (found.outcome, str(found.headline)) == (Effect.MIXED, "Nothing was compiled in the first run, 2 compilations in the second")
    assert str(compare(empty, empty).headline) == "No difference: nothing was compiled in either run"


def test_runs_that_share_no_code_are_not_compared() -> None:
    found = compared(sizes(10, 12, name="old"), sizes(10, name="new"))
    assert (found.outcome, str(found.headline)) == (Effect.MIXED, "No code was compiled in both runs, so there is nothing to compare")


def test_code_that_is_gone_keeps_the_rest_from_being_better() -> None:
    found = compared(sizes(10, frame=1, name="g", made=sizes(10, 12)), sizes(10))
    assert found.outcome is Effect.MIXED
    assert str(found.headline) == "Mixed: 1 compilation instead of 3; no recompilations remain; g is gone"


def test_new_code_is_neither_better_nor_worse_unless_it_costs_more_than_was_gained() -> None:
    helper = {"frame": 1, "name": "g"}
    assert compared(sizes(10, 12, 14), sizes(10, made=sizes(10), **helper)).outcome is Effect.BETTER
    assert compared(sizes(10, 12), sizes(10, 12, made=sizes(10), **helper)).outcome is Effect.MIXED
    assert compared(sizes(10), sizes(10, made=sizes(10), **helper)).outcome is Effect.MIXED


def test_new_code_that_fails_is_worse() -> None:
    found = compared(sizes(10), failed(sizes(10), "1/0", "g"))
    (new,) = found.new
    assert (found.outcome, str(found.headline)) == (Effect.WORSE, "Worse: 1 compilation as before; g is new")
    assert (new.losses, new.lost_graph) == ((Loss.FAILURES,), False)
    assert new.verdict == "only in the second run, no compilations and 1 failed compilation"


def test_code_split_off_by_a_graph_break_makes_it_worse() -> None:
    after = broken(sizes(10)) + compiled("1/0", tensor(10, 8), name="torch_dynamo_resume_in_f_at_7")
    found = compared(sizes(10), after)
    (piece,) = found.new
    assert (found.outcome, piece.part_of, piece.losses) == (Effect.WORSE, "f", (Loss.COMPILES,))
    assert piece.verdict == "only in the second run, 1 compilation: split off from f"


# Causes and dims.


def test_as_many_compiles_for_other_reasons() -> None:
    before = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())), compiled("0/1", tensor(12, 8)))
    after = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    after += compiled("0/1", tensor(10, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match()))
    found = compared(before, after)
    assert found.outcome is Effect.SAME
    assert str(found.headline) == "Neither better nor worse: 2 compilations as before, but 1 frame changed"
    one_mode = "always call it in the same grad mode, for example under torch.no_grad(): none of its inputs requires a gradient"
    assert only(found).causes == (cause_change("SL305", "grad_mode", 0, 1, one_mode), cause_change("SL101", "x.size[0]", 1, 0, MARK))
    assert only(found).verdict == "2 compilations as before, for other reasons"


def test_a_cause_is_counted_in_each_recompile_that_it_took_part_in() -> None:
    found = compared(sizes(10, 12, 14), sizes(10, 12))
    assert found.causes == only(found).causes == (cause_change("SL101", "x.size[0]", 2, 1, MARK),)
    assert only(found).verdict == "2 compilations instead of 3, still recompiles for x.size[0] (SL101)"


def test_the_remedy_of_a_size_that_the_code_pins_is_not_to_mark_it() -> None:
    found = compare(report_of("real/2.13/int_drives_python.marked.log.gz"), report_of("lab/int_drives_python.log.gz"))
    (level,) = (cause for cause in found.causes if cause.axis == "level")
    assert (level.code, level.remedy.rule.code) == ("SL201", "SL201")


def test_a_compile_without_a_known_cause_is_unexplained() -> None:
    found = compared(trace(compiled("0/0", tensor(10, 8))), trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(10, 8))))
    assert only(found).causes == (cause_change("SL399", "", 0, 1),)


@pytest.mark.parametrize(
    ("before", "after", "expected", "words"),
    [
        (lambda: sizes(10), dynamic, (DynamicSince.NEVER, DynamicSince.FIRST), "x.size[0] is dynamic from the first compile on"),
        (
            lambda: sizes(10, 12),
            lambda: dynamic(sizes(10), number=1),
            (DynamicSince.NEVER, DynamicSince.LATER),
            "dynamic from a later compile on",
        ),
        (lambda: dynamic(sizes(10), number=1), lambda: sizes(10, 12), (DynamicSince.LATER, DynamicSince.NEVER), "x.size[0] is static"),
        (dynamic, lambda: sizes(10), (DynamicSince.FIRST, DynamicSince.NEVER), "x.size[0] is static"),
    ],
)
def test_dims_that_became_dynamic_or_static(
    before: Callable[[], bytes], after: Callable[[], bytes], expected: tuple[DynamicSince, DynamicSince], words: str
) -> None:
    found = compared(before(), after())
    (dim,) = only(found).dims
    assert (dim.axis, (dim.before, dim.after)) == ("x.size[0]", expected)
    assert (found.outcome, only(found).is_changed) == (Effect.SAME, True)
    assert words in only(found).verdict


def test_an_int_that_became_dynamic() -> None:
    static = guard_tree(equals_match("L['k']", 3), tensor_match())
    before = trace(compiled("0/0", tensor(10, 8), guards=static))
    symbols = (("s1", "3", "L['k']"),)
    after = trace(compiled("0/0", tensor(10, 8), guards=guard_tree(guard_manager("L['k']", type="int"), tensor_match()), symbols=symbols))
    assert [(dim.axis, dim.before, dim.after) for dim in only(compared(before, after)).dims] == [
        ("k", DynamicSince.NEVER, DynamicSince.FIRST)
    ]


def test_a_failed_compile_does_not_make_a_dim_dynamic() -> None:
    before = sizes(10)
    after = sizes(10) + compiled(
        "0/1", tensor(12, 8), guards="", graph="", symbols=(("s1", "12", "L['x'].size()[0]"),), fail_type="E", fail_reason="no"
    )
    assert only(compared(before, after)).dims == ()


# Generations, ranks, versions.


def test_the_compiles_of_all_generations_count_together() -> None:
    found = compared(sizes(10, 12, made=sizes(10, 12)), sizes(10, made=sizes(10)))
    assert (only(found).was.compiles, only(found).was.recompiles) == (4, 2)
    assert (only(found).now.compiles, only(found).now.recompiles, found.outcome) == (2, 0, Effect.BETTER)


def test_each_rank_is_compared_with_itself(tmp_path: Path) -> None:
    def load(name: str, *ranks: bytes) -> shapelog.report.report.Report:  # type: ignore[name-defined]
        where = tmp_path / name
        where.mkdir()
        for number, made in enumerate(ranks):
            path = where / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log"
            path.write_bytes(made)
        return shapelog.analyze(shapelog.load(where))

    found = compare(load("before", sizes(10, 12), sizes(10, 12)), load("after", sizes(10, 12), sizes(10), sizes(10)))
    by_rank = {frame.code.first.rank: (frame.was.compiles, frame.now.compiles) for frame in found.frames}
    assert by_rank == {0: (2, 2), 1: (2, 1), 2: (0, 1)}
    assert "rank 2 only in the second run" in found.notes


def test_what_a_version_does_not_record_is_noted_and_not_compared() -> None:
    old, new = trace(version=""), trace()
    found = compared(sizes(10, 12, made=old), broken(sizes(10, 12, made=new)))
    assert (found.was.breaks, found.was.limit_hits, found.now.breaks) == (None, None, 1)
    assert (found.outcome, only(found).breaks) == (Effect.SAME, ())
    assert found.notes[0] == "torch version differs: 2.4 or older before, 2.13.0+cpu after"
    assert (
        found.notes[1]
        == "torch 2.5 and older record neither graph breaks nor recompile limit hits, so they are not known for the first run"
    )


def test_fewer_compiles_are_no_gain_where_the_limit_is_hit_and_may_have_been_before() -> None:
    refused = sizes(10) + make.refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12")
    found = compared(sizes(10, 12, made=trace(version="")), refused)
    assert (found.outcome, only(found).gains) == (Effect.SAME, ())
    assert "the recompile limit is hit, and may have been hit before" in only(found).verdict


def test_two_versions_of_torch_agree_on_a_simple_program() -> None:
    found = compare(report_of("real/2.4/a_auto.log.gz"), report_of("real/2.15/a_auto.log.gz"))
    assert (found.outcome, found.was.compiles, found.now.compiles) == (Effect.SAME, 2, 2)
    assert [frame.title for frame in found.unchanged] == ["f"]


def test_another_setting_and_another_cache_are_noted() -> None:
    settings = [{**SETTINGS, "recompile_limit": limit} for limit in (8, 64)]
    before, after = (trace(compiled("0/0", tensor(10, 8), dynamo_config=json.dumps(item))) for item in settings)
    after += artifact("fx_graph_cache_hit", "{}", id="0/0")
    found = compared(before, after)
    assert found.notes == ("0 compilations before and 1 after came from a compile cache, so the times are not comparable",)
    assert [item[:3] for item in found.settings] == [("torch._dynamo.config.recompile_limit", "8", "64")]
    assert (found.was.cached, found.now.cached, found.outcome) == (0, 1, Effect.SAME)


def test_a_trace_that_lost_data_is_noted() -> None:
    cut = sizes(10, 12)
    cut += make.line('{"compilation_metrics": {"compile_id"')
    assert (
        "the trace of the second run lost data (see shapelog report), so compilations may be missing from it"
        in compared(sizes(10, 12), cut).notes
    )


def quoted(line: int, code: str, reason: str = "builtin: print", label: str = "0/0", number: str = "") -> bytes:
    """A graph break with the line of code that it is at, as torch 2.8 and later write it."""
    text = BREAK.format(line=line, reason=reason) + f'  File "/srv/app/model.py", line {line}, in f\n    {code}\n'
    url = f"\n For more details about this graph break, please visit: https://docs.pytorch.org/compile/gb/{number}.html\n" if number else ""
    return artifact("dynamo_graph_break_reason", text + url, id=label)


def breaks_of(found: Comparison) -> list[tuple[str, bool, str]]:
    """Of each frame, whether a graph break is new, and its line."""
    return [(item.title, one.is_new, one.place.code if one.place else "") for item in found.frames for one in item.breaks]


def test_graph_breaks_that_came_and_went_are_listed_with_line_reason_and_number() -> None:
    before = sizes(10) + quoted(7, "print(x)") + quoted(9, "print(y)")
    found = compared(before, sizes(10) + quoted(8, "print(x)") + quoted(11, "x.item()", "Tensor.item", number="gb0124"))
    new, gone = only(found).breaks
    assert (new.is_new, str(new.location), new.place and new.place.code) == (True, "/srv/app/model.py:11", "x.item()")
    assert new.words == "Tensor.item (GB0124)"
    assert (gone.is_new, gone.place and gone.place.code, gone.words) == (False, "print(y)", "builtin: print")
    assert (only(found).effect, only(found).is_changed, found.outcome) == (Effect.SAME, True, Effect.SAME)
    assert str(found.headline) == "Neither better nor worse: 1 compilation as before, but 1 frame changed"


def test_a_graph_break_whose_line_moved_or_whose_reason_is_worded_otherwise_is_the_same() -> None:
    before = sizes(10) + quoted(7, "print(x)") + quoted(9, "print(y)")
    assert only(compared(before, sizes(10) + quoted(17, "print(x)") + quoted(19, "print(y)", "Call to print"))).breaks == ()
    unquoted = broken(sizes(10), line=7)
    assert only(compared(unquoted, broken(sizes(10), line=9))).breaks == ()


def test_a_graph_break_in_code_that_is_part_of_another_graph_now_is_the_same() -> None:
    resumed = compiled("1/0", tensor(10, 8), name="torch_dynamo_resume_in_f_at_7")
    before = sizes(10) + quoted(7, "print(x)") + resumed + quoted(9, "print(y)", label="1/0")
    found = compared(before, sizes(10) + quoted(9, "print(y)"))
    assert breaks_of(found) == [("f", False, "print(x)")]
    mended = found.frames[1]
    assert (mended.gains, mended.facts, mended.was.breaks, mended.now.breaks) == ((Gain.BREAKS,), ("fewer graph breaks",), 1, 1)


def test_more_graph_breaks_are_named_as_what_was_lost() -> None:
    found = compared(sizes(10), broken(sizes(10)))
    assert str(found.headline) == "Worse: more graph breaks in f; 1 compilation as before"
    assert only(found).verdict == "1 graph break instead of none; new graph break at model.py:7: builtin: print"


def test_a_graph_break_counts_once_however_often_its_code_is_compiled() -> None:
    before = broken(broken(sizes(10, 12)), "0/1")
    assert report(before).table("graph_breaks") is not None
    found = compared(before, broken(sizes(10)))
    assert (found.was.breaks, found.now.breaks, found.outcome) == (1, 1, Effect.BETTER)


def test_code_that_nothing_calls_anymore_has_not_lost_its_graph_breaks() -> None:
    other = make.static_sizes(10, frame=1, name="g", line=30)
    assert breaks_of(compared(sizes(10) + quoted(7, "print(x)"), make.trace(other))) == []


def test_what_only_one_of_two_logs_has_is_noted() -> None:
    logs = Path(__file__).parents[2] / "fixtures" / "text_logs" / "2.13"
    before, after = (shapelog.analyze(shapelog.load(logs / f"debug_levels_{level}.txt.gz")) for level in ("dynamo", "all"))
    assert (
        "only the log of the first run has graph breaks, graphs and guards; the other may have left them out"
        in compare(before, after).notes
    )
    assert not any("left them out" in note for note in compare(before, before).notes)


def test_a_call_that_dynamo_skipped_is_no_recompilation_that_is_left() -> None:
    skipped = {"guards": "", "graph": "", "guard_count": None, "ir_count": 3, "has_guarded_code": True}
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 8), **skipped))
    (item,) = compared(made, made).frames
    assert item.now.recompiles == 0
    assert item.causes == ()
