"""What compile caches did for each compilation, and why an entry was missing."""

import json

import make
from recorded import report_of

from shapelog.model.cache_uses import cache_uses
from shapelog.report.compare import compare

ONE, TWO = "a" * 51, "b" * 51
SETTING = "inductor_config[max_autotune]"


def lookup(id: str, key: str, *components: str, result: str = "miss", **more: object) -> bytes:
    body = {"key": key, "components": list(components), **more}
    return make.artifact(f"fx_graph_cache_{result}", json.dumps(body), id=id)


def run(*lookups: bytes) -> bytes:
    return make.trace(make.compile("0/0", make.tensor(2)), make.compile("0/1", make.tensor(3)), *lookups)


FALSE, TRUE = f"[{ONE}] {SETTING}: False", f"[{TWO}] {SETTING}: True"


def test_a_miss_names_what_the_most_similar_earlier_key_does_not_share() -> None:
    first, second = cache_uses(make.load(run(lookup("0/0", "f1", FALSE), lookup("0/1", "f2", TRUE)))).uses
    assert first.why == "the first key"
    assert second.why == f"unlike 0/0: {SETTING}: False → True"


def test_of_several_earlier_keys_the_one_that_shares_most_is_named() -> None:
    far = [f"[{TWO}] x{number}: 1" for number in range(5)]
    uses = cache_uses(make.load(run(lookup("0/0", "f1", FALSE), lookup("0/0", "f2", *far), lookup("0/1", "f3", TRUE)))).uses
    assert uses[-1].why == f"unlike 0/0: {SETTING}: False → True"


def test_settings_come_before_the_graph() -> None:
    before, after = f"[{ONE}] gm: def f(a)", f"[{TWO}] gm: def f(b)"
    uses = cache_uses(make.load(run(lookup("0/0", "f1", before, FALSE), lookup("0/1", "f2", after, TRUE)))).uses
    assert uses[1].why == f"unlike 0/0: {SETTING}: False → True; another graph"


def test_the_same_key_again_means_that_its_entry_was_not_found() -> None:
    uses = cache_uses(make.load(run(lookup("0/0", "f1"), lookup("0/1", "f1")))).uses
    assert [use.why for use in uses] == ["a new key; its components are not recorded", "same key as 0/0, whose entry was not found"]


def test_a_key_of_a_backward_graph_is_compared_with_those_of_backward_graphs() -> None:
    backward = f"[{ONE}] fx_kwargs[is_backward]: True"
    keys = [lookup("0/0", "f1", FALSE), lookup("0/0", "b1", backward), lookup("0/1", "f2", TRUE), lookup("0/1", "b2", backward, TRUE)]
    uses = cache_uses(make.load(run(*keys))).uses
    assert [use.title for use in uses] == ["FX graph cache", "FX graph cache, backward"] * 2
    assert [use.why for use in uses] == [
        "the first key",
        "the first key of a backward graph",
        f"unlike 0/0: {SETTING}: False → True",
        f"unlike 0/0: {SETTING} (True) is new",
    ]


def test_what_an_autograd_cache_does_not_record_is_named_with_the_setting_that_records_it() -> None:
    miss = make.artifact("aotautograd_cache_miss", json.dumps({"key": "a1", "components": []}), id="0/0")
    (use,) = cache_uses(make.load(run(miss))).uses
    assert use.why == "a new key; only under TORCH_LOGS=+aot does PyTorch record its components"


def test_a_hit_needs_no_reason_and_a_bypass_has_that_of_pytorch() -> None:
    uses = cache_uses(
        make.load(run(lookup("0/0", "f1", result="hit"), lookup("0/1", "", result="bypass", cache_bypass_reason="freezing")))
    ).uses
    assert [(use.event.result, use.why) for use in uses] == [("hit", ""), ("bypass", "freezing")]


def test_an_entry_that_could_not_be_saved_is_a_use() -> None:
    failure = make.artifact("aotautograd_cache_pickle_failure", json.dumps({"error": "no", "field": "fw"}), id="0/0")
    (use,) = cache_uses(make.load(run(failure))).uses
    assert (use.event.cache, use.event.result, use.why) == ("AOTAutograd cache", "not saved", "fw cannot be saved: no")


def test_a_damaged_payload_harms_nothing() -> None:
    (use,) = cache_uses(make.load(run(make.artifact("fx_graph_cache_miss", '{"key": "f', id="0/0")))).uses
    assert (use.event.result, use.why) == ("miss", "")


def test_keys_of_another_run_come_before_those_of_this_one() -> None:
    before, after = make.load(run(lookup("0/0", "f1", FALSE))), make.load(run(lookup("0/0", "f2", TRUE)))
    (use,) = cache_uses(after, before).uses
    assert use.why == f"unlike 0/0 of the first run: {SETTING}: False → True"


def test_compare_names_what_kept_the_second_run_from_the_entries_of_the_first() -> None:
    before, after = make.report(run(lookup("0/0", "f1", FALSE))), make.report(run(lookup("0/0", "f2", TRUE)))
    (note,) = [text for text in compare(before, after).notes if text.startswith("FX graph cache")]
    assert f"1 lookup of the second run found no entry of the first for other reasons than the graph: {SETTING}: False → True" in note
    assert note.endswith("give torch._inductor.config.max_autotune the same value each time, unless this code needs both")


def test_compare_is_silent_about_another_graph_and_about_the_same_key() -> None:
    graph = make.report(run(lookup("0/0", "f1", f"[{ONE}] gm: a"))), make.report(run(lookup("0/0", "f2", f"[{TWO}] gm: b")))
    assert compare(*graph).notes == ()
    assert compare(graph[0], graph[0]).notes == ()


def test_the_table_joins_lookups_with_the_same_answer() -> None:
    table = make.report(
        run(lookup("0/0", "f1", result="hit", time_saved_ns=2e9), lookup("0/1", "f1", result="hit", time_saved_ns=1e9))
    ).table("caches")
    assert table is not None
    assert table.rows == (("f", "FX graph cache", "hit", "0/0 0/1", "", None, 3.0),)


def test_a_recorded_recompile_names_the_shape_that_its_key_has() -> None:
    rows = report_of("lab/inductor_conv.log.gz").table("caches")
    assert rows is not None
    whys = [str(row[4]) for row in rows.rows]
    assert any("unlike 0/0: input 2 (s77) is new; input 3: shape [2, 3, 16, 20] → shape [s77, 3, 16, 20]" in why for why in whys)
