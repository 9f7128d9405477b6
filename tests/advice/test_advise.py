"""What to mark dynamic: the list that experiments found, minimal, right for the torch version, with what it rests on and where it ends."""

import gzip
import json
from functools import cache
from itertools import chain
from pathlib import Path

import make
import pytest
from make import compile as compiled
from make import dynamic_size, explain, int_values, load, static_sizes, tensor, trace
from payload_text import RETURN_LINE, code_comment, equals_match, graph_text, guard_manager, guard_tree, size_mismatch, tensor_match
from recorded import FIXTURES, LAB, RECORDED, advice_of, report_of
from vllm_traces import llama

import shapelog
from shapelog.advice.advise import Advice, advise
from shapelog.advice.compile_seconds import RUN_TO_RUN, Seconds
from shapelog.advice.marks import Mark, matches
from shapelog.advice.replay import Cost, Replay, predicted, replay
from shapelog.advice.savings import Savings
from shapelog.advice.suggestions import Suggestion
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import merged
from shapelog.reading.payloads.source_names import with_locals
from shapelog.recompiles.explain import explain_trace

TRUTH = json.loads((FIXTURES / "lab" / "truth.json").read_text(encoding="utf-8"))
V26, V28, V210, V213, V215 = (TorchVersion(2, minor) for minor in (6, 8, 10, 13, 15))
NAMES = [name.removeprefix("lab/").removesuffix(".log.gz") for name in LAB]
NEVER_SYMBOLIC = (
    "This size changed but never became symbolic, as under dynamic=False. "
    "The list overrides dynamic=False; a backend that only supports static shapes will fail."
)
# Where another list costs no more than the one that was found: either of two tensors that shared a symbol; a size for calls that left no
# record, of which this program has none.
AS_GOOD = {"duck_dynamic_true": ["L['q']:0"], "rope_table_grows": ["L['x']:0", "L['x']:1"]}


@cache
def replayed(name: str) -> Replay:
    return replay(explain_trace(report_of(name).trace))


def only(advice: Advice) -> Suggestion:
    (found,) = advice.suggestions
    return found


def marks_of(advice: Advice) -> frozenset[Mark]:
    return frozenset(
        chain.from_iterable(([Mark(item.source, dim) for dim in item.dims] or [Mark(item.source)]) for item in advice.suggestions)
    )


# What experiments found.


@pytest.mark.parametrize("name", NAMES)
def test_the_costs_are_those_that_were_measured(name: str) -> None:
    advice, truth = advice_of(f"lab/{name}.log.gz"), TRUTH[name]
    over = sum(item["over_limit"] for item in truth["recompiles"])
    assert (advice.before.compiles, advice.before.limit_hits) == (truth["baseline_compiles"], over)
    assert advice.after.compiles == truth["best_compiles"]
    assert advice.after.limit_hits == (0 if truth["best_compiles"] < truth["baseline_compiles"] else over)


@pytest.mark.parametrize("name", NAMES)
def test_the_list_is_the_one_that_was_found(name: str) -> None:
    """Entry for entry, also where one has to be written as a regular expression."""
    entries = advice_of(f"lab/{name}.log.gz").entries
    wanted = AS_GOOD.get(name, TRUTH[name]["minimal_sources"])
    known = [
        (source, Mark(source.rpartition(":")[0], int(source.rpartition(":")[2])) if source[-2] == ":" else Mark(source))
        for source in wanted
    ]
    found = [[source for source, mark in known if matches(entry, mark, V213)] for entry in entries]
    assert sorted(found) == [[source] for source in sorted(wanted)]


@pytest.mark.parametrize("name", RECORDED)
def test_each_mark_earns_a_compile_or_settles_whether_one_comes_back(name: str) -> None:
    advice, found = advice_of(name), replayed(name)
    marks = marks_of(advice)
    assert predicted(found, marks) == advice.after
    assert found.cost(()) == advice.before
    counters = {mark for item in advice.suggestions if not item.gone for mark in item.marks}  # for calls beyond the recompile limit
    assert not counters or advice.before.limit_hits
    for mark in marks - counters:
        without = found.cost(marks - {mark})
        more = without.compiles + without.refused - advice.after.compiles - advice.after.refused
        assert Savings(found, marks).lost_without([mark]).total == more
        assert more or any(route.narrows(marks - {mark}) for _, route in found.served(marks - {mark}))


@pytest.mark.parametrize("name", RECORDED)
def test_no_recompile_both_goes_and_stays(name: str) -> None:
    advice = advice_of(name)
    gone = {label for item in advice.suggestions for label in item.gone}
    stay = {compile.label for item in advice.remaining for compile in item.compiles}
    assert bool(gone) == (advice.before.total > advice.after.total), name
    assert not gone & stay or len(report_of(name).trace.ranks) > 1, name


@pytest.mark.parametrize("name", RECORDED)
def test_a_list_or_the_reason_why_there_is_none(name: str) -> None:
    advice = advice_of(name)
    assert bool(advice.why_empty) is not bool(advice.suggestions), name
    assert bool(advice.env) is (bool(advice.suggestions) and advice.version.reads_sources), name
    assert [item.id for item in advice.suggestions] == [f"A{number}" for number in range(1, len(advice.suggestions) + 1)], name


# Versions of torch.


@pytest.mark.parametrize(
    ("name", "version", "env", "reason"),
    [
        ("real/2.4/a_auto.log.gz", "2.4", "", ""),
        ("real/2.6/k_pgo_cold.log.gz", "2.6", "", ""),
        ("real/2.4/d_module.log.gz", "2.4", "", "no mark would remove any of the recompilations; the reason is listed for each"),
        ("real/2.6/k_pgo_warm.log.gz", "2.6", "", "none of these recompilations is caused by a changing size"),
        ("real/2.10/user_triton.log.gz", "2.10", "L['x']", ""),
        ("real/2.15/a_auto.log.gz", "2.15", "L['x']:0", ""),
        ("real/2.15/k_pgo_warm.log.gz", "2.15", "L['self'].k", ""),
        ("real/2.13/a_dynamic.log.gz", "2.13", "", "nothing recompiled (every frame was compiled once)"),
        ("real/2.13/export_good.log.gz", "2.13", "", "the trace has 1 export, but no frame that could recompile"),
    ],
)
def test_the_version_of_the_trace_decides_about_the_list(name: str, version: str, env: str, reason: str) -> None:
    advice = advice_of(name)
    assert (str(advice.version), advice.is_version_given) == (version, False)
    assert (advice.env, advice.why_empty) == (env, reason)


@pytest.mark.parametrize(("version", "env"), [(V26, ""), (V28, "L['x']"), (V210, "L['x']"), (V213, "L['x']:0"), (V215, "L['x']:0")])
def test_another_version_than_that_of_the_trace_can_be_advised_for(version: TorchVersion, env: str) -> None:
    advice = make.advice(trace(static_sizes(10, 12)), version)
    assert (advice.env, advice.version, advice.is_version_given) == (env, version, True)
    assert only(advice).python == ("torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen; add min= and max= only if no other sizes occur",)
    assert (advice.before.total, advice.after.total) == (2, 1)


def test_a_whole_tensor_is_listed_once_and_the_advice_explains_what_that_means() -> None:
    advice = make.advice(trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 9))), V210)
    assert (advice.env, only(advice).dims) == ("L['x']", (0, 1))
    assert only(advice).recommendation == "mark dims 0 and 1 of x as dynamic (before torch 2.13, an entry covers the whole tensor)"
    assert any(caveat.startswith("torch before 2.13 can only list whole tensors") for caveat in advice.caveats)


def test_before_the_list_only_tensors_that_are_no_parameters_can_be_marked() -> None:
    assert make.advice(trace(int_values(3, 4)), V26).suggestions == ()
    assert make.advice(widths(), V26).suggestions == ()
    advice = make.advice(trace(int_values(3, 4), static_sizes(10, 12, frame=1, name="g")), V26)
    assert (only(advice).source, advice.entries) == ("L['x']", ())
    assert "torch before 2.7 has no list of dynamic sources. Mark the tensors in code before each call (--format python)." in advice.caveats


# Several traces.


def test_several_traces_give_one_list() -> None:
    advice = make.advice(merged([load(trace(static_sizes(10, 12))), load(trace(static_sizes(3, 4, source="L['y']", name="g")))]))
    assert (advice.env, advice.before.total, advice.after.total) == ("L['x']:0,L['y']:0", 4, 2)


def test_a_mark_that_one_trace_needs_is_listed_though_another_does_not() -> None:
    advice = make.advice(merged([load(trace(static_sizes(10, 12))), load(trace(static_sizes(10)))]))
    assert (advice.env, advice.before.total, advice.after.total) == ("L['x']:0", 3, 2)


def test_several_traces_are_advised_for_the_oldest_of_their_versions() -> None:
    old = trace(compiled("0/0", tensor(10, 8, source="L['y']")), compiled("0/1", tensor(12, 8, source="L['y']")), version="2.10.0")
    advice = make.advice(merged([load(trace(static_sizes(10, 12))), load(old)]))
    assert (advice.version, advice.env) == (V210, "L['x'],L['y']")


def test_all_ranks_of_a_run_get_one_list(tmp_path: Path) -> None:
    for rank, made in enumerate((trace(static_sizes(10, 12)), trace(static_sizes(10, 14)), trace(static_sizes(10)))):
        path = tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        path.write_bytes(made)
    advice = make.advice(shapelog.load(tmp_path))
    assert advice.env == "L['x']:0"
    assert [(item.frame.rank, item.before.total, item.after.total) for item in advice.forecasts] == [(0, 2, 1), (1, 2, 1), (2, 1, 1)]


# What a suggestion rests on.


def test_a_suggestion_has_what_varied_what_goes_and_where_the_call_is() -> None:
    advice = make.advice(trace(static_sizes(10, 12, 14, 16, seconds=1.5)))
    found = only(advice)
    assert (found.id, found.source, found.name, found.dims, found.codes) == ("A1", "L['x']", "x", (0,), ("SL101",))
    assert found.rationale == "x.size[0] was 10, 12, 14, 16"
    assert (found.gone, found.seconds) == (("0/1", "0/2", "0/3"), 4.5)
    assert [(seen.name, seen.values) for seen in found.seen] == [
        ("x.size[0]", (("0/0", "10"), ("0/1", "12"), ("0/2", "14"), ("0/3", "16")))
    ]
    assert [frame.title for frame in found.frames] == ["f"]
    assert found.place is not None
    assert (found.place.file, found.place.line, found.place.code) == ("/srv/app/main.py", 20, "f(x)")
    assert (advice.before, advice.after) == (Cost(4, 0, Seconds(6.0, 6.0)), Cost(1, 0, Seconds(1.5, 7.5).in_another_run))


def test_of_many_values_the_first_are_shown() -> None:
    assert only(make.advice(trace(static_sizes(*range(10, 20))))).rationale == "x.size[0] was 10, 11, 12, 13, 14, 15, …"


def test_what_saves_most_comes_first() -> None:
    made = trace(static_sizes(10, 12, source="L['a']", seconds=1.0))
    made += static_sizes(10, 12, frame=1, name="g", source="L['b']", seconds=5.0)
    advice = make.advice(made)
    assert [(item.id, item.source, item.seconds) for item in advice.suggestions] == [("A1", "L['b']", 5.0), ("A2", "L['a']", 1.0)]
    assert advice.env == "L['b']:0,L['a']:0"


def test_the_forecast_has_each_frame() -> None:
    made = trace(static_sizes(10, 12, 14))
    made += static_sizes(7, frame=1, name="g")
    shown = [(item.frame.title, item.before.total, item.after.total) for item in make.advice(made).forecasts]
    assert shown == [("f", 3, 1), ("g", 1, 1)]


def test_the_time_is_that_of_a_dynamic_compile_where_the_trace_has_one() -> None:
    made = trace(static_sizes(10, seconds=1.0), dynamic_size("0/1", 12, seconds=3.0))
    assert make.advice(made).after == Cost(1, 0, Seconds(3.0, 3.0).in_another_run)


def test_the_time_of_failed_compiles_stays() -> None:
    made = trace(
        static_sizes(10, 12, seconds=1.0),
        compiled("1/0", tensor(10, 8), guards="", graph="", seconds=4.0, name="g", fail_type="E", fail_reason="no"),
    )
    assert (make.advice(made).before.seconds, make.advice(made).after.seconds) == (Seconds(6.0, 6.0), Seconds(5.0, 9.0).in_another_run)


def test_a_mark_is_unsure_where_code_has_several_backends() -> None:
    """PyTorch names a changed backend only where all other guards hold, so that marks may bring it to light (measured: nothing saved)."""
    names = [f"_TorchCompileWrapper(compiler='{name}', dynamic=None) (id=0x7e{name})" for name in ("eager", "aot_eager")]
    changed = f"0/0: BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: {names[0]}. New backend: "
    guards = guard_tree(tensor_match(size=(10, 8)))
    other = compiled("0/1", tensor(10, 8), guards=guards, reasons=(f"{changed}{names[1]}. If ...",))
    last = compiled(
        "0/2", tensor(12, 8), guards=guard_tree(tensor_match(size=(None, 8))), dynamic=[0], reasons=(size_mismatch("0/1", 10, 12),)
    )
    found = only(make.advice(trace(compiled("0/0", tensor(10, 8), guards=guards), other, last)))
    assert found.confidence == "low"
    assert "several backends" in found.confidence_reason


@pytest.mark.parametrize(
    ("made", "confidence"),
    [
        (trace(static_sizes(10), dynamic_size("0/1", 12)), "high"),
        (trace(static_sizes(10, 12)), "medium"),
        (trace(static_sizes(10), make.refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20")), "low"),
        (
            trace(
                static_sizes(10),
                dynamic_size("0/1", 12),
                make.refused("0/2", *(f"0/{number}: tensor 'x' dtype mismatch. expected Float, actual Double" for number in (1, 0))),
            ),
            "medium",
        ),
    ],
    ids=["dynamic", "static", "limit", "calls-after-limit"],
)
def test_the_confidence_is_that_of_the_evidence(made: bytes, confidence: str) -> None:
    found = only(make.advice(made))
    assert found.confidence == confidence
    assert found.confidence_reason


def test_a_dim_that_never_varied_is_marked_for_the_stride_that_follows_from_it() -> None:
    found = only(advice_of("lab/stride_from_slices.log.gz"))
    assert "SL105" in found.codes
    assert "always" in found.rationale
    assert "a symbolic size makes the changing stride symbolic too" in found.rationale
    assert found.caveats == ()  # it is no dim that is marked by accident


def test_one_of_two_dims_that_shared_a_symbol_is_marked() -> None:
    found = only(advice_of("lab/duck_dynamic_true.log.gz"))
    assert "SL103" in found.codes
    assert "q.size[0] was" in found.rationale or "shared a symbol with a dimension of the same size" in found.rationale


# Where it ends.


def test_the_guards_that_bound_a_size_are_shown() -> None:
    made = trace(static_sizes(10), dynamic_size("0/1", 12, "4 <= L['x'].size()[0] <= 64", "2 <= L['x'].size()[0]"))
    found = only(make.advice(made))
    assert found.seen[0].bounds == ("4 <= L['x'].size()[0] <= 64",)
    assert found.caveats == ("A dynamic graph covers a limited range: 4 <= x.size()[0] <= 64",)


def test_the_ranges_of_two_graphs_are_not_taken_for_one() -> None:
    """For training and for evaluation, say, which ask for other sizes."""
    size = "L['x'].size()[0]"
    long = f"({size} + {'3*' * 30}{size}) % 7 != 1"
    first, second = (f"{size} % 16 == 0", f"{size} % 16 != 0")
    made = trace(static_sizes(10), dynamic_size("0/1", 32, first), dynamic_size("0/2", 17, second, long))
    caveats = [text for item in make.advice(made).suggestions for text in item.caveats if "limited range" in text]
    assert caveats == ["A dynamic graph covers a limited range: x.size()[0] % 16 == 0 or x.size()[0] % 16 != 0 and a longer condition"]


def test_a_range_that_another_graph_includes_is_left_out() -> None:
    inner, outer = "16 <= L['x'].size()[0] <= 17", "4 <= L['x'].size()[0]"
    made = trace(static_sizes(10), dynamic_size("0/1", 17, inner), dynamic_size("0/2", 32, outer))
    caveats = [text for item in make.advice(made).suggestions for text in item.caveats if "limited range" in text]
    assert caveats == ["A dynamic graph covers a limited range: 4 <= x.size()[0]"]
    other = dynamic_size("0/2", 32, "4 <= 2*L['x'].size()[0]")
    caveats = [
        text for item in make.advice(trace(static_sizes(10), dynamic_size("0/1", 17, inner), other)).suggestions for text in item.caveats
    ]
    assert [text for text in caveats if "16 <= x.size()[0] <= 17" in text]  # what is twice a size has other bounds


def test_the_graph_of_a_size_of_1_does_not_bound_the_others() -> None:
    one = dynamic_size("0/2", 1, "0 <= L['x'].size()[0] <= 1")
    found = only(make.advice(trace(static_sizes(10), dynamic_size("0/1", 12, "L['x'].size()[0] <= 64"), one)))
    assert found.seen[0].bounds == ("L['x'].size()[0] <= 64",)


def test_a_size_of_0_or_1_still_gets_a_graph_of_its_own() -> None:
    advice = make.advice(trace(static_sizes(10, 12, 1)))
    assert advice.after.total == 2
    assert "Calls in which x.size[0] is 0 or 1 still get a separate graph." in only(advice).caveats
    assert [item.rule.code for item in advice.remaining] == ["SL104"]


def test_what_never_became_symbolic_may_be_meant_to_be_static() -> None:
    assert NEVER_SYMBOLIC in only(make.advice(trace(static_sizes(10, 12)))).caveats
    assert NEVER_SYMBOLIC not in only(make.advice(trace(static_sizes(10, 12), dynamic_size("0/2", 14)))).caveats


@pytest.mark.parametrize("is_off", [True, False])
def test_settings_show_whether_automatic_dynamic_shapes_are_off(is_off: bool) -> None:
    made = trace(static_sizes(10, 12, dynamo_config=json.dumps({"automatic_dynamic_shapes": not is_off})))
    advice = make.advice(made)
    off = "Automatic dynamic shapes are off, as under dynamic=False."
    assert [caveat.startswith(off) for caveat in only(advice).caveats] == ([True] if is_off else [])
    assert advice.warnings == (
        ("automatic dynamic shapes are off, as under dynamic=False, which marks override; turning them on may be enough",) if is_off else ()
    )
    assert ("PGO" in {item.tool for item in advice.alternatives}) is not is_off


def test_where_the_rank_varied_other_dims_may_vary_too() -> None:
    made = trace(static_sizes(10, 12), compiled("0/2", tensor(4, 10, 8), graph=graph_text('L_x_: "f32[4, 10, 8][80, 8, 1]cpu"')))
    caveat = "The number of dimensions of x changed, so PyTorch made all of them dynamic; dimensions not listed here may change too."
    assert caveat in only(make.advice(made)).caveats


def widths() -> bytes:
    made = trace()
    for number, width in enumerate((8, 16)):
        made += compiled(
            f"0/{number}",
            tensor(width, source="L['self']._parameters['weight']", is_parameter=True),
            graph=graph_text('L_w_: "f32[8][1]cpu"'),
        )
    return made


def test_a_parameter_varies_with_the_instance_which_the_advice_notes() -> None:
    found = only(make.advice(widths()))
    assert (found.name, found.codes, found.entries) == ("self.weight", ("SL101", "SL106"), ("L['self']._parameters['weight']:0",))
    assert found.caveats[0].startswith("A parameter has one width per instance, so this saves a compilation per instance, not per call")


def test_a_tensor_of_that_name_in_another_frame_is_named() -> None:
    made = trace(static_sizes(10, 12), static_sizes(7, frame=1, name="g"))
    caveat = (
        "Entries match by name, so x of g is marked too, although it did not change there. "
        "As a rule this is harmless: PyTorch specializes it again where code needs its value."
    )
    assert only(make.advice(made)).caveats == (caveat, NEVER_SYMBOLIC)
    assert only(make.advice(made, V26)).caveats == (NEVER_SYMBOLIC,)
    assert only(make.advice(trace(static_sizes(10, 12), static_sizes(7, frame=1, name="g", source="L['y']")))).caveats == (NEVER_SYMBOLIC,)


@pytest.mark.parametrize("symbols", [[], [("s3", "64", "L['x'].size()[1]")]], ids=["static", "symbolic"])
def test_a_dim_that_stayed_where_another_one_changed_is_named(symbols: list[tuple[str, str, str]]) -> None:
    varied = (compiled(f"0/{number}", tensor(rows, columns)) for number, (rows, columns) in enumerate([(10, 8), (12, 8), (12, 9)]))
    stayed = (compiled(f"1/{number}", tensor(rows, 64), name="g", symbols=symbols) for number, rows in enumerate((10, 12)))
    found = make.advice(trace(*varied, *stayed))
    assert found.env == "L['x']:0,L['x']:1"
    named = [caveat for caveat in only(found).caveats if "match by name" in caveat]
    caveat = (
        "Entries match by name, so dim 1 of x of g is marked too, although it did not change there. "
        "As a rule this is harmless: PyTorch specializes it again where code needs its value."
    )
    assert named == ([] if symbols else [caveat])


def test_code_that_reads_the_sizes_of_a_tensor_of_that_name_may_fail_with_symbols() -> None:
    """Such as ``(side == "short") ^ (w / h < 1.0)``."""
    reads = guard_tree(tensor_match(size=(7, 8)).replace(RETURN_LINE, code_comment(6, "h, w = x.shape", "g")))
    found = only(make.advice(trace(static_sizes(10, 12), compiled("1/0", tensor(7, 8), name="g", guards=reads))))
    assert found.caveats[0].endswith(
        "The code there reads its sizes (model.py:6), which may fail or break the graph once they are symbolic; "
        "torch._dynamo.mark_dynamic marks the tensor alone."
    )


def test_an_int_that_selects_other_layers_is_not_marked() -> None:
    """The graphs have one form, through other parameters: one does not serve the call of the other."""
    made = b""
    for number, layer in enumerate("ab"):
        weight = tensor(8, 8, source=f"L['self']._modules['{layer}']._parameters['weight']")
        guards = guard_tree(tensor_match(), equals_match("L['self'].which", number + 2))
        graph = graph_text(f'L_x_: "f32[10, 8][8, 1]cpu", L_self_modules_{layer}_parameters_weight_: "f32[8, 8][8, 1]cpu"')
        made += compiled(f"0/{number}", tensor(10, 8), weight, guards=guards, graph=graph)
    assert make.advice(trace(made)).suggestions == ()


def test_a_frame_where_it_varied_as_well_is_no_caveat() -> None:
    found = only(make.advice(trace(static_sizes(10, 12), static_sizes(7, 8, frame=1, name="g"))))
    assert [frame.title for frame in found.frames] == ["f", "g"]
    assert found.caveats == (NEVER_SYMBOLIC,)


def widest(*second: int, takes_more: bool = False) -> bytes:
    """Two static entries that cannot be merged, with these sizes of the second dim, then one in which both dims are symbolic.

    ``takes_more``: the second one takes another tensor as well.
    """
    made = b""
    for number, size in enumerate(second):
        graph = graph_text(f'L_x_: "f64[10, {size}][{size}, 1]cpu"') if number == 0 else ""
        more = [tensor(3, source="L['memory']")] if takes_more and number else []
        made += compiled(f"0/{number}", tensor(10, size), *more, guards=guard_tree(tensor_match(size=(10, size))), graph=graph)
    last = second[0] if takes_more else second[-1]
    symbols = (("s77", "12", "L['x'].size()[0]"), ("s78", str(last), "L['x'].size()[1]"))
    return trace(made + compiled("0/2", tensor(12, last), guards=guard_tree(tensor_match(size=(None, None))), symbols=symbols))


def test_a_dim_in_which_the_compile_that_goes_was_symbolic_is_listed_with_the_other() -> None:
    """Later calls with other values of it hit the cache, and would compile again."""
    found = only(make.advice(widest(9, 8)))
    assert (found.dims, found.gone, found.confidence, found.caveats) == ((0, 1), ("0/2",), "high", ())


@pytest.mark.parametrize(("elsewhere", "dims"), [((1, 8, 5), (0, 1)), ((1, 5, 6), (0,)), ((1, 8), (0,))])
def test_so_is_one_that_was_1_and_a_size_which_other_code_had_among_others(elsewhere: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """The last batch of a request may have any size: the encoder hit its cache for 5, and what follows it was compiled again."""
    other = static_sizes(*elsewhere, frame=1, source="L['pooled']")
    found = next(item for item in make.advice(widest(1, 8) + other).suggestions if item.source == "L['x']")
    assert (found.dims, found.gone) == (dims, ("0/2",))


@pytest.mark.parametrize(("numbers", "entries"), [((9, 8), {"L['x']:0", "L['n']"}), ((1, 8), {"L['x']:0"})])
def test_so_is_an_int_that_had_several_values(numbers: tuple[int, int], entries: set[str]) -> None:
    """The number of nodes that a graph layer computes, which comes with the tensor."""
    made = b""
    for place, number in enumerate(numbers):
        graph = graph_text('L_x_: "f64[10, 8][8, 1]cpu"') if place == 0 else ""
        made += compiled(f"0/{place}", tensor(10, 8), guards=guard_tree(tensor_match(), equals_match("L['n']", number)), graph=graph)
    of_int = guard_manager("L['n']", "TYPE_MATCH: ___check_type_id(L['n'], 7), type=<class 'int'>", type="int")
    symbols = (("s77", "12", "L['x'].size()[0]"), ("s78", str(numbers[-1]), "L['n']"))
    made += compiled("0/2", tensor(12, 8), guards=guard_tree(tensor_match(size=(None, 8)), of_int), symbols=symbols)
    assert set(make.advice(trace(made)).entries) == entries


def test_a_dim_that_another_length_alone_of_calls_with_more_tensors_made_symbolic_is_not() -> None:
    """Layers of an encoder have one length, and those of a decoder, which take what the encoder returned, another."""
    assert only(make.advice(widest(8, 9, takes_more=True))).dims == (0,)


def test_what_the_code_needs_equal_to_such_a_dim_is_listed_with_it() -> None:
    """The steps are one for each column, or one for all: a graph for any number of columns needs both symbolic."""
    text = 'L_x_: "f64[10, 9][9, 1]cpu", L_t_: "f64[9][1]cpu"'
    made = compiled(
        "0/0",
        tensor(10, 9),
        tensor(9, source="L['t']"),
        guards=guard_tree(tensor_match(size=(10, 9)), tensor_match("L['t']", size=(9,))),
        graph=graph_text(text),
    )
    made += compiled(
        "0/1", tensor(10, 8), tensor(source="L['t']"), guards=guard_tree(tensor_match(size=(10, 8)), tensor_match("L['t']", ()))
    )
    named = (("s77", "12", "L['x'].size()[0]"), ("s78", "9", "L['x'].size()[1]"), ("s79", "9", "L['t'].size()[0]"))
    tied = "L['t'].size()[0] == L['x'].size()[1]  " + code_comment(6, "t * torch.ones(x.shape[1])")
    made += compiled(
        "0/2",
        tensor(12, 9),
        tensor(9, source="L['t']"),
        guards=guard_tree(tensor_match(size=(None, None)), tensor_match("L['t']", size=(None,)), shapes=(tied,)),
        symbols=named,
        graph=graph_text(text),
    )
    found = {item.source: (item.dims, item.gone) for item in make.advice(trace(made)).suggestions}
    assert found == {"L['x']": ((0, 1), ("0/2",)), "L['t']": ((0,), ("0/2",))}


def test_what_the_code_needs_equal_to_such_a_dim_is_not_listed_where_a_mark_makes_it_dynamic() -> None:
    """The steps are what another function returned, which takes a tensor with as many columns."""
    tied = "L['t'].size()[0] == L['x'].size()[1]  " + code_comment(6, "t * torch.ones(x.shape[1])")
    made = trace()
    for number, (rows, columns) in enumerate(((10, 9), (10, 8), (12, 9))):
        is_other, is_dynamic = number == 1, number == 2
        dims = ("s77", "s78") if is_dynamic else (str(rows), str(columns))
        sizes = (None, None) if is_dynamic else (rows, columns)
        inputs = f'L_z_: "f32[{dims[0]}, {dims[1]}][{dims[1]}, 1]cpu"'
        symbols = [(dim, size, f"L['z'].size()[{at}]") for at, (dim, size) in enumerate(zip(dims, (rows, columns), strict=True))]
        output = graph_text(inputs, f't: "f32[{dims[1]}][1]cpu" = l_z_.{"amax" if is_other else "sum"}(0)', "return (t,)")
        guards = guard_tree(tensor_match("L['z']", size=sizes))
        made += compiled(
            f"0/{number}",
            tensor(rows, columns, source="L['z']"),
            name="encode",
            graph=output,
            guards=guards,
            symbols=symbols if is_dynamic else (),
        )
        steps = () if is_other else (columns,)
        named = (("s77", rows, "L['x'].size()[0]"), ("s78", columns, "L['x'].size()[1]"), ("s79", columns, "L['t'].size()[0]"))
        made += compiled(
            f"1/{number}",
            tensor(rows, columns),
            tensor(*steps, source="L['t']"),
            name="score",
            guards=guard_tree(
                tensor_match(size=sizes),
                tensor_match("L['t']", (None,) if is_dynamic else steps),
                shapes=(tied,) if is_dynamic else (),
            ),
            symbols=named if is_dynamic else (),
            graph=graph_text('L_x_: "f32[10, 9][9, 1]cpu", L_t_: "f32[9][1]cpu"'),
        )
        made += b"".join(make.record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}") for frame in (0, 1))
    assert set(make.advice(made).entries) == {"L['x']:0", "L['x']:1", "L['z']:0", "L['z']:1"}


def test_a_compile_that_goes_and_could_do_more_is_named() -> None:
    """The static entry that takes the place of 0/2 fixes the second dim, which was 1 elsewhere and symbolic in 0/2."""
    found = only(make.advice(widest(1, 8)))
    assert (found.dims, found.gone, found.confidence) == ((0,), ("0/2",), "medium")
    assert found.caveats == (
        "The removed compilation 0/2 was also symbolic in x.size[1]: later calls with other values of it would compile again.",
    )


def test_the_prediction_speaks_of_the_calls_that_were_seen() -> None:
    assert make.advice(trace(static_sizes(10), make.dynamic_size("0/1", 12))).caveats == (
        "Estimated by replaying the recorded compilations. Other inputs may still recompile.",
    )
    assert make.advice(trace(static_sizes(10))).caveats == ()


def test_kernels_for_dynamic_sizes_may_be_slower_where_there_are_kernels() -> None:
    caveat = "Dynamic-shape kernels can be slower than specialized ones; measure step time before and after."
    assert caveat in make.advice(trace(static_sizes(10, 12, inductor_compile_time_s=0.5))).caveats
    assert caveat not in make.advice(trace(static_sizes(10, 12))).caveats


def test_a_list_that_was_set_stays() -> None:
    config = {"dynamo_config": "{}", "compiler_config": json.dumps({"dynamic_sources": "L['y']:0, L['k']"})}
    advice = make.advice(trace(static_sizes(10, 12, **config)))
    assert advice.entries == ("L['y']:0", "L['k']", "L['x']:0")
    assert any("L['y']:0, L['k']" in caveat for caveat in advice.caveats)
    assert make.advice(trace(static_sizes(10, **config))).env == ""


@pytest.mark.parametrize(("source", "is_named"), [("L['x']", True), ("L['y']", False)])
def test_marks_that_match_inputs_of_code_that_failed_may_compile_a_part_of_it(source: str, is_named: bool) -> None:
    """``length = x.shape[0]`` before a graph break that leaves no graph: with a symbolic size it is one."""
    failed = make.compile("1/0", make.tensor(10, 8, source=source), name="pad", **make.FAILED)
    advice = make.advice(trace(static_sizes(10, 12), failed))
    words = "pad failed to compile, and these marks also match x in it. The part before the failure may then become a graph"
    assert any(caveat.startswith(words) for caveat in advice.caveats) == is_named


# Limits.


def refused(*lengths: int, call: int) -> bytes:
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {size}, actual {call}" for number, size in enumerate(lengths)]
    return trace(static_sizes(*lengths), make.refused(f"0/{len(lengths)}", *reversed(reasons)))


def test_a_call_beyond_the_limit_is_served_as_well() -> None:
    advice = make.advice(refused(*range(3, 11), call=20))
    assert (advice.before, advice.after) == (Cost(8, 1, Seconds(8.0, 8.0)), Cost(1, 0, Seconds(1.0, 5.0).in_another_run, unexpected=8))
    assert only(advice).gone == tuple(f"0/{number}" for number in range(1, 9))
    words = (
        "After the recompile limit was hit, f ran in eager mode and left no records: "
        "calls with other values may compile again, up to 8 times, "
        "and functions that only these calls reach may compile for the first time."
    )
    assert words in advice.caveats
    assert (advice.after.total, advice.after.more, advice.after.at_most) == (1, 0, 9)


def test_a_limit_hit_that_no_mark_helps_stays_a_hit() -> None:
    made = trace(
        int_values(3, 4, comment=code_comment(7, "name = f'{k}'")),
        make.refused("0/2", "0/1: k == 4  # name = f'{k}'", "0/0: k == 3  # name = f'{k}'"),
    )
    advice = make.advice(made)
    assert (advice.suggestions, advice.after.compiles, advice.after.limit_hits) == ((), 2, 1)


def test_a_limit_hit_becomes_a_compile_where_marks_make_room() -> None:
    """The refused call had another dtype: nothing serves it, but there is room for its compile now."""
    made = trace(
        static_sizes(3, 4, 5),
        make.refused("0/3", *(f"0/{number}: tensor 'x' dtype mismatch. expected Float, actual Double" for number in (2, 1, 0))),
    )
    advice = make.advice(made)
    assert (advice.before.total, advice.after.compiles, advice.after.limit_hits, advice.remaining) == (4, 2, 0, ())


# Nothing to mark.


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (trace(), "nothing was compiled"),
        (trace(llama()), "the trace has 8 piecewise compilations of vLLM, but no frame that could recompile"),
        (trace(static_sizes(10)), "nothing recompiled (every frame was compiled once)"),
        (trace(static_sizes(10, 1)), "no mark would remove any of the recompilations; the reason is listed for each"),
        (
            trace(
                compiled("0/0", tensor(10, 8)),
                compiled("0/1", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64"))),
            ),
            "none of these recompilations is caused by a changing size",
        ),
        (
            trace(int_values(3, 4, comment=code_comment(7, "return f'{k}'"))),
            "the only marks that would save a compilation would do harm (see what was left out)",
        ),
    ],
    ids=["none", "vllm", "once", "one", "dtype", "harm"],
)
def test_an_empty_list_has_its_reason(made: bytes, reason: str) -> None:
    advice = make.advice(made)
    assert (advice.suggestions, advice.env, advice.why_empty) == ((), "", reason)
    assert advice.before == advice.after


def test_a_size_that_was_equal_to_another_one_is_marked_by_its_remedy(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    head = "V0605 16:16:18.739000 1 torch/_dynamo/guards.py:2610] [0/2] [__recompiles]"
    reason = "L['v'].size()[3] == L['v'].size()[2]  # _dynamo/output_graph.py:451 in init_ambient_guards"
    log.write_text(
        f"{head} Recompiling function f in /srv/a.py:4\n{head}     triggered by the following guard failure(s):\n{head}     - {reason}\n"
    )
    advice = make.advice(shapelog.load(log))
    assert advice.why_empty.endswith("where two sizes were equal, the remedy names what to mark")
    assert advice.remaining[0].remedy.startswith("mark one of the two dimensions as dynamic")


def test_a_branch_on_the_size_keeps_a_graph_for_each_side() -> None:
    other = graph_text('L_x_: "f32[s77, 8][8, 1]cpu"', 'tanh: "f32[s77, 8][8, 1]cpu" = torch.tanh(l_x_);  l_x_ = None', "return (tanh,)")
    made = trace(static_sizes(10), dynamic_size("0/1", 12, "L['x'].size()[0] <= 20"))
    advice = make.advice(made + dynamic_size("0/2", 30, "L['x'].size()[0] > 20", graph=other))
    assert (advice.env, advice.after.total) == ("L['x']:0", 2)
    (left,) = advice.remaining
    assert (left.rule.code, [compile.label for compile in left.compiles]) == ("SL204", ["0/2"])
    assert RETURN_LINE.endswith(f"{left.place.removeprefix('/srv/')} in f")


def test_a_name_that_is_an_int_in_one_function_and_a_tensor_in_another() -> None:
    tensors = static_sizes(10, 12, frame=1, source="L['k']", name="g")
    suggestion = only(make.advice(trace(int_values(3, 4), tensors)))
    assert suggestion.recommendation == "mark the int k, and dim 0 of k where it is a tensor, as dynamic"


def test_a_limit_hit_is_counted_beside_the_compilations_that_a_mark_saves() -> None:
    counter = next(item for item in advice_of("real/demo.log.gz").suggestions if item.name == "self.step")
    assert (counter.compiles, counter.limit_hits, counter.saved) == (7, 1, "7 compilations and 1 limit hit")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("real/demo.log.gz", ""),
        ("lab/graph_break_resume.log.gz", "a compilation that needs several of these marks is counted with each"),
    ],
)
def test_it_is_stated_where_savings_do_not_add_up(name: str, words: str) -> None:
    assert advice_of(name).how_savings_add_up == words


def test_what_is_saved_leaves_out_how_much_two_runs_differ() -> None:
    advice = advice_of("lab/batch_varies.log.gz")
    without = advice.replayed.cost(mark for item in advice.suggestions for mark in item.marks)
    assert advice.saved_seconds == without.seconds.left_of(advice.before.seconds.least)
    assert advice.after.seconds == without.seconds.in_another_run


@pytest.mark.parametrize(("one", "other", "cost"), [(True, False, 2), ("sum", "mean", 3)])
def test_a_bool_that_a_refused_call_does_not_have_is_the_other_one(one: object, other: object, cost: int) -> None:
    """A call that was refused has left the first failed guard of each entry; of a text it is not known what it is instead."""
    first, second = (guard_tree(tensor_match(), equals_match("L['mode']", value, type(value).__name__)) for value in (one, other))
    made = trace(
        compiled("0/0", tensor(10, 8), guards=first),
        compiled("0/1", tensor(10, 8), guards=second, graph=graph_text().replace("x + 1", "x + 2")),
        make.refused("0/2", f"0/1: L['mode'] == {other!r}", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12"),
    )
    assert make.advice(made).after.total == cost


@pytest.mark.parametrize(("failed", "cost"), [("d['x']", 2), ("x", 3)], ids=["of what is in the dict", "of something else"])
def test_guards_on_a_dict_held_where_one_on_its_items_failed(failed: str, cost: int) -> None:
    """The entry of two items serves the call only if it had two; that is known where a guard on an item of the dict failed."""
    source = with_locals(failed)
    lengths = (guard_manager("L['d']", f"DICT_LENGTH: len(L['d']) == {number}", type="dict") for number in (2, 3))
    first, second = (guard_tree(tensor_match(source), length) for length in lengths)
    made = trace(
        compiled("0/0", tensor(10, 8, source=source), guards=first),
        compiled("0/1", tensor(10, 8, source=source), guards=second, graph=graph_text().replace("x + 1", "x + 2")),
        make.refused("0/2", "0/1: len(d) == 3", f"0/0: tensor '{failed}' size mismatch at index 0. expected 10, actual 12"),
    )
    assert make.advice(made).after.total == cost


def test_an_int_is_marked_without_the_tensors_of_its_name() -> None:
    found = advise(make.explain(trace(int_values(2, 3), compiled("1/0", tensor(10, 8, source="L['k']"), name="g"))))
    assert found.env == "L['k']:2"
    assert "The entry ends in :2, a dimension that no tensor named k has, so that it marks the int alone." in found.suggestions[0].caveats
    assert not any("Entries match by name" in caveat for caveat in found.suggestions[0].caveats)


def test_a_name_of_an_int_and_of_a_tensor_that_varies_marks_other_tensors_too() -> None:
    tensors = (compiled(f"1/{number}", tensor(rows, 8, source="L['k']"), name="g") for number, rows in enumerate((10, 12)))
    found = advise(make.explain(trace(int_values(2, 3), *tensors, compiled("2/0", tensor(7, 8, source="L['k']"), name="h"))))
    (item,) = found.suggestions
    assert item.entries == ("L['k']:0",)
    assert any(caveat.startswith("Entries match by name, so k of h is marked too") for caveat in item.caveats)


@pytest.mark.parametrize(
    ("inner", "env"),
    [("._base.q", "L['w']:0,L['w']._base:0,L['w']._base.q:0"), ("._base", "L['w']:0")],
    ids=["of a tensor subclass", "of a plain tensor"],
)
def test_the_base_of_a_view_is_marked_where_it_consists_of_tensors(inner: str, env: str) -> None:
    """In a tensor subclass, the sizes of the base and of the tensors in it have symbols of their own."""
    places = [f"L['w']{part}.size()[0]" for part in dict.fromkeys(("", "._base", inner))]
    shapes = [f"{place} == {places[0]}  {RETURN_LINE}" for place in places[1:]]
    tree = guard_tree(tensor_match("L['w']", size=(None, 8)), shapes=shapes)
    symbols = [(f"s{number}", "12", place) for number, place in enumerate(places)]
    made = compiled("0/0", tensor(10, 8, source="L['w']")) + compiled("0/1", tensor(12, 8, source="L['w']"), guards=tree, symbols=symbols)
    assert make.advice(trace(made)).env == env


@pytest.mark.parametrize(("part", "env"), [(1, "L['b']:0,L['v']:0,L['v']._base:0"), (2, "L['b']:0,L['v']:0")], ids=["all of it", "a part"])
def test_the_base_of_a_view_is_marked_where_it_is_an_input_with_the_same_sizes(part: int, env: str) -> None:
    """``f(b.view(b.shape), b)``, of which ``f`` uses ``b`` first; the base of ``b[: n // 2]`` follows ``b``."""
    inputs = ([tensor(n, 8, source="L['b']"), tensor(n // part, 8, source="L['v']", is_view=True, base=0)] for n in (10, 12))
    assert make.advice(trace(*(compiled(f"0/{number}", *given) for number, given in enumerate(inputs)))).env == env


def test_an_input_that_is_described_as_the_base_of_a_view_is_marked_as_that() -> None:
    """``f(b.view(b.shape), b)``, of which ``f`` uses the view first: PyTorch describes ``b`` as its base alone."""
    made = [
        compiled(
            "0/0", tensor(10, 8, source="L['v']", is_view=True), guards=guard_tree(*(tensor_match(f"L['{x}']", (10, 8)) for x in "vb"))
        )
    ]
    shapes = [f"{place}.size()[0] == L['v'].size()[0]  {RETURN_LINE}" for place in ("L['v']._base", "L['b']")]
    tree = guard_tree(*(tensor_match(f"L['{name}']", (None, 8)) for name in "vb"), shapes=shapes)
    symbols = [("s1", "12", "L['v']._base.size()[0]"), ("s2", "12", "L['v'].size()[0]")]
    made.append(compiled("0/1", tensor(12, 8, source="L['v']", is_view=True), guards=tree, symbols=symbols))
    advice = make.advice(trace(*made))
    assert (advice.env, advice.after.total) == ("L['v']:0,L['v']._base:0", 1)


def test_what_the_next_line_takes_out_of_a_container_is_what_the_other_function_returned() -> None:
    advice = advice_of("lab/encoder_decoder_dicts.log.gz")
    assert (advice.before.compiles - advice.after.compiles, advice.after.unsure) == (4, 0)


def test_what_a_function_keeps_may_be_replaced_outside() -> None:
    """As beam search reorders a cache between the steps, which leaves no record."""
    advice = report_of("lab/kept_kv_cache.log.gz").advice
    assert advice is not None
    (caveat,) = [text for text in advice.caveats if "assumed to be kept by compiled code" in text]
    assert caveat.endswith("up to 3 compilations will remain: mark them as well.")
    assert advice.after.at_most == advice.after.total + 3


def advice_on_computed_memory() -> Advice:
    """A decoder that takes what eager code makes of the output of an encoder, which may be new tensors of the same sizes."""
    data = gzip.decompress((FIXTURES / "lab/encoder_decoder_dicts.log.gz").read_bytes())
    return make.advice(data.replace(b"o = dec(e,", b"o = dec(refined(e),"))


def test_compiles_that_may_stay_take_their_share_of_the_least_that_is_saved() -> None:
    advice = advice_on_computed_memory()
    assert (advice.before.compiles - advice.after.compiles, advice.after.unsure) == (4, 2)
    assert advice.saved_seconds.most is not None
    assert advice.saved_seconds.least == pytest.approx(advice.saved_seconds.most / 2, rel=0.01)


def test_the_time_of_compiles_that_may_stay_is_part_of_the_estimate() -> None:
    """The number is a range of two more, and so are the seconds."""
    advice = advice_on_computed_memory()
    assert advice.after.spread == 2
    assert advice.after.unsure_seconds > 0
    surely = advice.after.seconds.least * RUN_TO_RUN
    assert advice.after.seconds.most == pytest.approx((surely + advice.after.unsure_seconds) * RUN_TO_RUN)


def test_a_suggestion_is_called_where_its_source_is_there() -> None:
    """A model that keeps state has none in the first call."""
    state = "L['state']['k']"
    made = trace(make.compile("0/0", tensor(2, 8), call=30))
    for number, width in enumerate((8, 12), 1):
        of_state = tensor(2, width, source=state)
        reasons = (size_mismatch("0/1", 8, 12, name="state['k']", dim=1),) if number > 1 else ("0/0: type(state) mismatch",)
        made += make.compile(f"0/{number}", tensor(2, 8), of_state, call=40, reasons=reasons)
    (found,) = [item for item in make.advice(made).suggestions if item.source == state]
    assert found.place is not None
    assert found.place.line == 40


@pytest.mark.parametrize(("seconds", "is_warned"), [(3.0, True), (0.2, False)], ids=["more than is removed", "less"])
def test_a_list_that_makes_other_code_dynamic_may_not_save_time(seconds: float, is_warned: bool) -> None:
    made = trace(static_sizes(10, 12), compiled("1/0", tensor(16, 8), name="g", seconds=seconds))
    found = [text for text in advise(explain(made)).caveats if text.startswith("These marks also make 1 compilation of g")]
    assert bool(found) is is_warned
    assert all(text.endswith("Fewer compilations may not save time.") for text in found)
