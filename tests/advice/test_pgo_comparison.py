"""PyTorch's own list compared with shapelog's: where they differ, and why."""

import make
import pytest
from payload_text import code_comment, guard_manager, guard_tree, tensor_match
from recorded import RECORDED, advice_of, report_of

from shapelog.advice.advise import advise
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.pgo_comparison import Difference, PgoSuggestion, would_suggest
from shapelog.advice.replay import Cost
from shapelog.model.ids import TorchVersion

SENTENCE = (
    "PGO detected a recompilation due to dynamic shapes. To reduce shape recompilations by compiling dynamically to start, set environment "
    'variable TORCH_COMPILE_DYNAMIC_SOURCES="{}"'
)
V28, V210 = TorchVersion(2, 8), TorchVersion(2, 10)


def profiled(made: bytes, *sources: str) -> bytes:
    """A run whose last compile wrote a code state that suggests these sources."""
    states = "\n".join(f"  {source}: tensor size=[?, 8] stride=[8, 1]" for source in sources)
    label = made.rpartition(b'"compile_id": "')[2].partition(b'"')[0].decode()
    made += make.artifact(
        "put_local_code_state", f"hash(b795754d)/srv/app/model.py:5:f:\n{states}\n\n{SENTENCE.format(','.join(sources))}", id=label
    )
    return made


def suggestion(made: bytes, version: TorchVersion | None = None) -> PgoSuggestion:
    found = advise(make.explain(made), version).pgo
    assert found is not None
    return found


def differences(made: bytes, version: TorchVersion | None = None) -> list[Difference]:
    return list(suggestion(made, version).differences)


def why(made: bytes, source: str = "L['x']") -> str:
    """Why shapelog does not list what PyTorch does."""
    (found,) = (item for item in differences(made) if item.source == source)
    assert (found.theirs, found.ours) == (source, "")
    return found.why


@pytest.mark.parametrize("name", [name for name in RECORDED if "pgo" in name])
def test_each_source_on_which_the_lists_differ_is_named_once(name: str) -> None:
    advice, trace = advice_of(name), report_of(name).trace
    assert advice.pgo is not None
    shown = [item.source for item in advice.pgo.differences]
    ours, theirs = {item.source for item in advice.suggestions}, set(would_suggest(trace))
    assert len(shown) == len(set(shown))
    assert set(shown) >= ours ^ theirs
    assert all(bool(item.theirs) is (item.source in theirs) and item.why for item in advice.pgo.differences)
    assert advice.pgo.cost.total >= advice.after.total


# What its list would come to.


def test_the_list_of_a_run_with_one_size() -> None:
    found = suggestion(profiled(make.trace(make.static_sizes(10, 12, 14)), "L['x']"))
    assert (found.env, found.is_warm, found.problem) == ("L['x']", False, "")
    assert found.states == (("L['x']", "tensor size=[?, 8] stride=[8, 1]"),)
    assert found.cost == Cost(1, 0, Seconds(1.0, 5.0).in_another_run)


def test_a_list_that_misses_what_varies_saves_nothing() -> None:
    assert suggestion(profiled(make.trace(make.static_sizes(10, 12)), "L['y']")).cost.total == 2


def test_a_list_of_which_a_part_is_no_regular_expression_saves_nothing_and_fails() -> None:
    found = suggestion(profiled(make.trace(make.static_sizes(10, 12)), "L['x']", "L['d'][('(', 1)]"))
    assert found.env == "L['x'],L['d'][('(', 1)]"
    assert found.problem.endswith("is not a valid regular expression after PyTorch has split the list, so every compilation would fail")
    assert found.cost.total == 2


def test_a_warm_run_began_with_what_another_had_learned() -> None:
    found = {name: advice_of(f"real/2.13/batch_varies.pgo_{name}.log.gz").pgo for name in ("cold", "warm")}
    assert {name: item.is_warm for name, item in found.items() if item} == {"cold": False, "warm": True}


# Where the lists differ.


def test_lists_that_agree_are_not_mentioned() -> None:
    assert differences(profiled(make.trace(make.static_sizes(10, 12)), "L['x']"), V28) == []
    assert advise(make.explain(make.trace(make.static_sizes(10, 12)))).pgo is None


def test_a_whole_tensor_where_dims_are_enough() -> None:
    (found,) = differences(profiled(make.trace(make.static_sizes(10, 12)), "L['x']"))
    assert (found.theirs, found.ours) == ("L['x']", "L['x']:0")
    assert found.why == "PGO lists the whole tensor; dim 1 does not need to be dynamic"


def test_an_int_whose_name_is_that_of_a_tensor_elsewhere() -> None:
    of_tensor = make.compile("1/0", make.tensor(10, 8, source="L['k']"), name="g")
    (found,) = differences(make.trace(of_tensor, profiled(make.int_values(2, 3), "L['k']")))
    assert found == Difference("L['k']", "L['k']", "L['k']:2", "PGO's entry also marks the tensors of that name in other code")


def test_a_name_that_pytorch_would_split() -> None:
    profile = advice_of("real/2.13/dict_tuple_keys.pgo_cold.log.gz").pgo
    assert profile is not None
    (found, _) = profile.differences
    assert (found.source, found.ours) == ("L['feats'][(0, 'a')]", r"L\['feats'\]\[\(0..'a'\)\]$:0")
    assert found.why == "unescaped, the name would be split or read as a regular expression"


def test_what_shapelog_leaves_out_has_its_reason() -> None:
    made = profiled(make.trace(make.int_values(3, 4, comment=code_comment(7, "name = f'{k}'"))), "L['k']")
    assert why(made, "L['k']").startswith("f formats k into a string at model.py:7")


def test_a_float_is_dynamic_on_no_list() -> None:
    made = make.trace()
    for number, scale in enumerate((1.5, 2.5)):
        made += make.compile(
            f"0/{number}",
            make.tensor(10, 8),
            guards=guard_tree(tensor_match(), guard_manager("L['s']", f"EQUALS_MATCH: L['s'] == {scale}", type="float")),
        )
    assert why(profiled(made, "L['s']"), "L['s']") == "a float: no list entry can make a float dynamic"


def test_another_number_of_dims() -> None:
    made = make.trace(make.static_sizes(10), make.compile("0/1", make.tensor(10, 8, 2)))
    assert why(profiled(made, "L['x']")) == "its number of dimensions changed, and no mark prevents that"


def test_a_source_that_the_program_marks_already() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8, dynamo_dynamic_indices=[0])))
    assert why(profiled(made, "L['x']")) == "the program already marks it"


def test_the_base_of_a_view() -> None:
    assert (
        why(profiled(make.trace(make.static_sizes(10, 12)), "L['x']", "L['x']._base"), "L['x']._base")
        == "the tensor behind a view: marking the view is enough"
    )


def test_a_source_that_never_varied_or_caused_no_recompile() -> None:
    assert why(profiled(make.trace(make.static_sizes(10, 12)), "L['y']"), "L['y']") == "it caused no recompilation in this run"


def test_a_size_of_one() -> None:
    assert (
        why(profiled(make.trace(make.static_sizes(10, 1)), "L['x']"))
        == "its value is specialized, branched on, or 0 or 1, so a mark would not save a compilation"
    )


def test_something_else_that_changed_at_the_same_calls() -> None:
    made = make.trace(
        make.static_sizes(10),
        make.compile("0/1", make.tensor(12, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(size=(12, 8), dtype="float64"))),
    )
    assert why(profiled(made, "L['x']")) == "other properties changed in the same calls, so a mark would not save a compilation"


def test_what_another_entry_covers() -> None:
    """Of two tensors that shared a symbol, one is enough."""
    made = make.trace()
    duck = "L['y'].size()[0] == L['x'].size()[0]  # duck sizing added this equality because these variables had the same size 10"
    guards = guard_tree(tensor_match(size=(None, 8)), tensor_match("L['y']", (None, 8)), shapes=(duck,))
    made += make.compile(
        "0/0", make.tensor(10, 8), make.tensor(10, 8, source="L['y']"), guards=guards, symbols=(("s77", "10", "L['x'].size()[0]"),)
    )
    made += make.compile("0/1", make.tensor(12, 8), make.tensor(14, 8, source="L['y']"))
    (mine,) = advise(make.explain(made)).suggestions
    other = ({"L['x']", "L['y']"} - {mine.source}).pop()
    shown = f"marking {mine.name} is enough: dynamic sizes propagate, and of two equal sizes only one needs a mark"
    assert why(profiled(made, "L['x']", "L['y']"), other) == shown


def test_what_pytorch_does_not_see() -> None:
    parameter = make.trace()
    for number, width in enumerate((8, 16)):
        parameter += make.compile(f"0/{number}", make.tensor(width, 8, source="L['w']", is_parameter=True))
    (found,) = differences(profiled(parameter))
    assert (found.source, found.theirs, found.ours) == ("L['w']", "", "L['w']:0")
    assert found.why == "a parameter: PyTorch forces parameters to be static before PGO sees them; the list overrides that"
    strides = make.trace(make.compile("0/0", make.tensor(10, 8, stride=[20, 1])), make.compile("0/1", make.tensor(10, 8, stride=[30, 1])))
    assert [item.why for item in differences(profiled(strides))] == [
        "only a stride of x changed; a symbolic size makes the stride symbolic"
    ]
    static = profiled(make.trace(make.static_sizes(10, 12)))
    assert [item.why for item in differences(static)] == [
        "PGO's state does not list it as changed: dynamic=False, code that PGO does not recognize, or a run that saved no state"
    ]
    off = profiled(make.trace(make.static_sizes(10, 12, dynamo_config='{"automatic_dynamic_shapes": false}')))
    assert [item.why for item in differences(off)] == [
        "automatic dynamic shapes are off, as under dynamic=False, so PGO remembers nothing of it"
    ]
    assert differences(profiled(make.trace(make.static_sizes(10), make.dynamic_size("0/1", 12)), "L['x']"), V210) == []


STATIC = "hash(00000000)/srv/app/model.py:12:forward:\n  L['x']: tensor size=[8, 16] stride=[S(1), 1]"
VARIED = f"{STATIC.replace('[8,', '[?,')}\n  L['k']: fully dynamic scalar or tensor"


def suggesting(*sources: str) -> str:
    return f"{VARIED}\n\n{SENTENCE.format(','.join(sources))}"


def listed(*states: tuple[str, str, str]) -> tuple[str, ...]:
    return would_suggest(make.load(make.with_code_states(*states)))


def test_the_last_suggestion_of_a_process_counts() -> None:
    first, last = suggesting("L['x']"), suggesting("L['x']", "L['k']")
    assert listed(("0/0", "put_local", first), ("0/1", "put_local", last)) == ("L['x']", "L['k']")


def test_the_suggestions_of_all_processes_are_one_list() -> None:
    one, other = suggesting("L['x']", "L['k']"), suggesting("L['k']", "L['y']")
    data = make.with_code_states(("0/0", "put_local", one)) + make.with_code_states(("0/0", "put_local", other), process=77)
    assert would_suggest(make.load(data)) == ("L['x']", "L['k']", "L['y']")


def test_without_a_suggestion_the_list_is_made_of_what_is_dynamic() -> None:
    assert listed(("0/0", "put_local", STATIC), ("0/1", "put_local", VARIED)) == ("L['x']", "L['k']")


def test_a_trace_without_states_has_no_suggestion() -> None:
    assert listed() == ()


@pytest.mark.parametrize("name", ["real/2.6/k_pgo_cold.log.gz", "real/2.6/k_pgo_warm.log.gz", "real/2.15/k_pgo_warm.log.gz"])
def test_the_list_of_a_real_program_is_the_same_in_every_version(name: str) -> None:
    assert would_suggest(report_of(name).trace) == ("L['x']", "L['m']", "L['s']", "L['self'].k")
