"""The summary of a rank, and the comparison of ranks."""

import json
import pickle
from collections.abc import Sequence
from typing import Any

import make
import pytest
from payload_text import size_mismatch
from recorded import FIXTURES, report_of

from shapelog.distributed.agreement import ComparedProperty
from shapelog.distributed.compare_ranks import RankReport, compare_ranks
from shapelog.distributed.summarize import code_before, summaries
from shapelog.model.rank_summary import RankSummary, Tensor
from shapelog.model.trace import merged
from shapelog.reading.payloads.collectives import SCHEDULE, Parity
from shapelog.recompiles.explain import explain_trace

FIRST = make.compile("0/0", make.tensor(8, 16))
AGAIN = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0])
OTHER = make.compile("1/0", make.tensor(8, 16), name="head", line=40)
GATHER = ["all_reduce_", "wait_tensor", "all_gather_into_tensor"]
SCHEDULED_CODE = "def call(args):\n    return torch.ops._c10d_functional.all_reduce_.default(args)\n"
REDUCE = ["all_reduce_", "wait_tensor"]
SCATTER = ["all_reduce_", "wait_tensor", "reduce_scatter_tensor"]


def summarized(*traces: Sequence[bytes], numbers: Sequence[int] = ()) -> tuple[RankSummary, ...]:
    return summaries(explain_trace(make.load_ranks(*(make.trace(*parts) for parts in traces), numbers=numbers)))


def job(*traces: Sequence[bytes], numbers: Sequence[int] = ()) -> RankReport:
    return compare_ranks(summarized(*traces, numbers=numbers))


def groups(item: ComparedProperty) -> list[tuple[int, ...]]:
    return [group.ranks for group in item.groups]


def property_named(report: RankReport, name: str) -> ComparedProperty:
    return next(item for item in report.properties if item.name == name)


def differing(report: RankReport) -> set[str]:
    return {item.name for item in report.properties if item.differs}


# Summaries.


def test_a_summary_has_the_compiles_of_a_rank_in_order() -> None:
    rank, _ = summarized((FIRST, AGAIN), (FIRST, AGAIN))
    assert [(step.label, step.title, step.number, step.outcome, step.is_dynamic) for step in rank.steps] == [
        ("0/0", "f", 0, "compiled", False),
        ("0/1", "f", 1, "compiled", True),
    ]
    assert rank.steps[0].inputs == (Tensor("L['x']", (8, 16)),)
    assert rank.steps[1].inputs == (Tensor("L['x']", (24, 16), (0,)),)
    (change,) = rank.steps[1].changes
    assert (change.code, change.axis, change.before, change.after) == ("SL101", "x.size[0]", "8", "24")
    assert (rank.seconds, rank.torch_version, rank.ended) == (2.0, "2.13.0+cpu", "1120 08:27:33.313000")


def test_equal_steps_of_ranks_are_one_object_without_text_of_the_trace() -> None:
    one, two = summarized((FIRST, AGAIN), (FIRST, AGAIN))
    assert all(step is other for step, other in zip(one.steps, two.steps, strict=True))
    assert b"GraphModule" not in pickle.dumps(one)
    assert len(pickle.dumps(one)) < 3000


def test_the_summary_of_one_file_is_the_same_as_with_all_files() -> None:
    traces = [make.trace(FIRST, AGAIN), make.trace(FIRST)]
    alone = [explain_trace(make.load_ranks(data, numbers=[number])) for number, data in enumerate(traces)]
    made = tuple(pickle.loads(pickle.dumps(summaries(item, 1)[0])) for item in alone)
    assert made == summaries(explain_trace(make.load_ranks(*traces)))
    assert compare_ranks(made) == compare_ranks(summaries(explain_trace(make.load_ranks(*traces))))


def test_a_trace_of_one_process_has_no_ranks() -> None:
    assert summaries(explain_trace(make.load(make.small_trace()))) == ()
    assert summaries(explain_trace(make.load_ranks(make.small_trace(), numbers=[3]))) == ()


def test_addresses_make_no_difference() -> None:
    def recompiled(address: str) -> bytes:
        return make.compile("0/1", make.tensor(8, 16), reasons=[f"0/0: ___check_obj_id(L['f'], {address})  # f(x)"])

    report = job((FIRST, recompiled("140234567890123")), (FIRST, recompiled("140999999990000")))
    assert report.ranks[0].steps[1].changes
    assert report.agrees
    assert report.divergence is None


def test_of_several_processes_under_one_rank_the_one_that_compiled_most_counts() -> None:
    one, _ = summarized((FIRST, AGAIN, make.compile("0/0", make.tensor(8, 16), process=77)), (FIRST, AGAIN))
    assert (one.processes, len(one.steps), one.process) == (2, 2, make.PROCESS)


# Where ranks part.


def test_identical_ranks_agree_in_every_known_property() -> None:
    report = job((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN))
    assert report.agrees
    assert report.divergence is None
    assert [item.name for item in report.properties if item.is_known] == ["versions", "compiles", "graphs", "causes", "outcomes"]
    assert groups(property_named(report, "compiles")) == [(0, 1, 2)]


def test_a_rank_that_did_not_recompile_is_reported_with_its_size() -> None:
    report = job((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN), (FIRST,))
    assert groups(property_named(report, "compiles")) == [(0, 1, 2), (3,)]
    assert differing(report) == {"compiles", "graphs", "causes", "outcomes"}
    assert report.divergence is not None
    assert report.divergence.position == 1
    assert report.divergence.sentence == (
        "ranks 0-2 recompiled f at 0/1 because dim 0 of x changed from 8 to 24; rank 3 did not, since its cache entry "
        "(0/0, where x.size[0] is 8) matched later calls, if any: it compiled nothing after 0/0 (f)"
    )


def test_a_rank_that_recompiled_later_is_reported_with_the_compile() -> None:
    report = job((FIRST, AGAIN, OTHER), (FIRST, OTHER, AGAIN))
    assert report.divergence is not None
    one, two = report.divergence.sides
    assert one.words == "recompiled f at 0/1 because dim 0 of x changed from 8 to 24"
    assert two.words == "did so later, as compilation 3 (0/1): it compiled head for the first time at 1/0"
    assert differing(report) == {"compiles", "graphs", "outcomes"}


def test_ranks_that_compiled_other_code_diverge_at_the_first_compile() -> None:
    report = job((make.compile("0/0", make.tensor(8, 16), name="head", line=40),), (FIRST,), (FIRST,))
    assert report.divergence is not None
    assert report.divergence.position == 0
    assert report.divergence.sentence == (
        "ranks 1 and 2 compiled f for the first time at 0/0; rank 0 never compiled it: it compiled head for the first time at 0/0"
    )


def test_a_rank_that_failed_differs_only_in_its_outcome() -> None:
    failed = make.compile("0/0", make.tensor(8, 16), fail_type="RuntimeError", fail_reason="broken", has_guarded_code=False)
    report = job((FIRST,), (failed,))
    assert differing(report) == {"outcomes"}
    assert report.divergence is not None
    assert report.divergence.sides[1].words == "compiled f for the first time at 0/0, which failed"


def test_the_same_compile_with_a_dynamic_graph_on_one_rank_is_reported() -> None:
    report = job((FIRST,), (make.compile("0/0", make.tensor(8, 16), dynamic=[0]),))
    assert report.divergence is not None
    assert report.divergence.sides[1].words == "got a dynamic graph there"


def test_a_rank_whose_trace_ends_in_a_compile_is_reported() -> None:
    report = job((FIRST, AGAIN), (FIRST, b"".join(make.split_records(AGAIN)[:3])))
    assert report.divergence is not None
    assert report.divergence.sides[1].words.endswith(", which did not finish")


def test_a_process_that_compiled_nothing_is_a_rank_too() -> None:
    summary = summarized((FIRST,), (FIRST,))[0]
    report = compare_ranks([summary, summary._replace(number=1, steps=(), spent=())])
    assert report.divergence is not None
    assert report.divergence.sides[1].words == "never compiled it: it compiled nothing"


def test_missing_ranks_are_those_below_the_highest() -> None:
    assert job((FIRST,), (FIRST,), (FIRST,), numbers=[0, 1, 3]).missing == (2,)
    assert not job((FIRST,), (FIRST,), numbers=[0, 2]).agrees


def test_another_version_of_torch_on_one_rank_is_reported() -> None:
    one, two = summarized((FIRST,), (FIRST,))
    report = compare_ranks([one, two._replace(torch_version="2.10.0")])
    assert groups(property_named(report, "versions")) == [(0,), (1,)]


# Sizes.


def test_a_size_that_differs_in_a_static_compile_is_reported_with_its_ranks() -> None:
    def sized(size: int) -> tuple[bytes, bytes]:
        return make.compile("0/0", make.tensor(size, 16)), make.compile(
            "0/1", make.tensor(size + 4, 16), reasons=[size_mismatch("0/0", size, size + 4)], dynamic=[0]
        )

    report = job(sized(12), sized(10), sized(12))
    (size,) = report.sizes
    assert (size.label, size.axis, size.values) == ("0/0", "x.size[0]", (("12", (0, 2)), ("10", (1,))))
    assert (size.is_dynamic, size.recompiled) == (False, (0, 1, 2))
    assert size.sentence == "x.size[0] of f at 0/0 is 12 on ranks 0 and 2, 10 on rank 1"
    assert report.divergence is None


def test_a_size_that_is_dynamic_everywhere_is_reported_as_dynamic() -> None:
    (size,) = job((make.compile("0/0", make.tensor(8, 16), dynamic=[0]),), (make.compile("0/0", make.tensor(9, 16), dynamic=[0]),)).sizes
    assert (size.is_dynamic, size.recompiled) == (True, ())


def test_shards_of_a_parameter_are_not_compared() -> None:
    def shard(size: int) -> bytes:
        return FIRST.replace(b'"size": [8, 16], "is_leaf": true', b'"size": [%d, 16], "is_leaf": true, "is_parameter": true' % size)

    assert job((shard(4),), (shard(5),)).sizes == ()


def test_the_ranks_of_a_job_with_compiler_collectives_agree_although_sizes_differ() -> None:
    folder = FIXTURES / "real" / "2.13" / "n_dist_collpatched"
    report = report_of("real/2.13/n_dist_collpatched").ranks if folder.is_dir() else None
    assert report is not None
    assert report.has_collectives_on
    assert report.divergence is None
    assert [(item.axis, item.values, item.is_dynamic) for item in report.sizes] == [("x.size[0]", (("10", (0,)), ("11", (1,))), True)]


def uneven() -> RankReport:
    """Four ranks under Inductor, as fixtures/real/2.13/uneven_ranks.py ran them; what is right follows from that program."""
    report = report_of("real/2.13/uneven_ranks").ranks
    assert report is not None
    return report


def test_of_a_real_job_the_rank_with_smaller_shards_diverges() -> None:
    report = uneven()
    assert (report.numbers, report.missing, report.agrees) == ((0, 1, 2, 3), (), False)
    assert differing(report) == {"compiles", "graphs", "causes", "outcomes", "tensors", "order"}
    assert all(groups(item) == [(0, 1, 2), (3,)] for item in report.properties if item.differs)
    assert report.divergence is not None
    assert [(side.ranks, side.label, side.title) for side in report.divergence.sides] == [
        ((0, 1, 2), "5/1", "average"),
        ((3,), "0/1", "DistributedDataParallel.inner"),
    ]
    assert "dim 0 of args[0] changed from 12 to 10" in report.divergence.sides[1].words


def test_of_a_real_job_the_sizes_that_made_one_rank_recompile_are_named() -> None:
    values = (("16", (0, 1, 2)), ("12", (3,)))
    assert [(item.label, item.axis, item.values, item.is_dynamic, item.recompiled) for item in uneven().sizes] == [
        ("0/0", "args[0].size[0]", values, False, (3,)),
        ("4/0", "rows.size[0]", values, False, (3,)),
    ]


def test_of_a_real_job_the_collectives_are_the_same_and_the_order_is_recorded() -> None:
    report = uneven()
    assert (report.mismatches, report.parity) == ((), ())
    (group,) = property_named(report, "collectives").groups
    # all_reduce and all_gather_into_tensor, in the graph for vectors and in that for matrices.
    assert (group.ranks, group.words) == ((0, 1, 2, 3), "4 collectives in 2 compilations")
    # The f, backward and average of the first shards; then the graph for ten rows, which only the last rank has.
    assert report.order is not None
    assert (report.order.position, report.order.sides) == (3, (("4/0", (0, 1, 2)), ("4/1", (3,))))


def test_a_real_job_has_findings_for_divergence_and_sizes_and_none_for_collectives() -> None:
    found = report_of("real/2.13/uneven_ranks")
    assert [item.rule.code for item in found.findings if item.rule.code.startswith("SL7")] == ["SL701", "SL702"]
    assert found.advice is not None
    assert found.advice.env == "L['rows']:0,L['args'][0]:0"
    assert (found.advice.before.total, found.advice.after.total) == (26, 24)  # so it is when the program runs with it


# Records of Inductor.


def test_other_collectives_on_one_rank_are_reported_at_the_first_that_differs() -> None:
    report = job(*((make.with_collectives(FIRST, names),) for names in (GATHER, GATHER, SCATTER)))
    (found,) = report.mismatches
    assert (found.label, found.position, found.before) == ("0/0", 1, "all_reduce")
    assert found.sides == (("all_gather_into_tensor", (0, 1)), ("reduce_scatter_tensor", (2,)))
    assert differing(report) == {"collectives"}
    assert report.divergence is None


def test_a_rank_with_fewer_collectives_runs_no_more() -> None:
    (found,) = job((make.with_collectives(FIRST, GATHER),), (make.with_collectives(FIRST, GATHER[:1]),)).mismatches
    assert found.sentence.endswith("rank 0 runs all_gather_into_tensor, rank 1 runs no more")


def test_a_graph_out_of_the_cache_has_no_collectives_and_is_no_mismatch() -> None:
    *head, last = make.split_records(FIRST)
    hit = b"".join((*head, make.artifact("fx_graph_cache_hit", "{}", id="0/0"), last))
    report = job((make.with_collectives(FIRST, GATHER),), (hit,))
    assert report.mismatches == ()
    assert not property_named(report, "collectives").is_known
    assert "cache" in property_named(report, "collectives").note
    caches = property_named(report, "caches")
    assert groups(caches) == [(0,), (1,)]
    assert [group.words for group in caches.groups] == ["FX graph cache: 1 miss", "FX graph cache: 1 hit"]


def test_code_that_does_not_call_the_scheduled_collectives_is_reported() -> None:
    code = "torch.ops._c10d_functional.all_reduce_.default(x)"
    report = job((make.with_collectives(FIRST, GATHER, code),), (make.with_collectives(FIRST, GATHER, code),))
    assert report.parity == (("0/0", Parity(1, 1), (0, 1)),)


def executed(*labels: str) -> bytes:
    order = [{"compile_id": label} for label in labels]
    return make.artifact("graph_execution", json.dumps({"graph_execution_order": order}, indent=0))


def test_the_order_in_which_graphs_ran_is_compared() -> None:
    report = job((FIRST, executed("0/0", "0/0", "0/1")), (FIRST, executed("0/0", "0/1")), (FIRST, executed("0/0", "0/1")))
    assert groups(property_named(report, "order")) == [(1, 2), (0,)]
    assert report.order is not None
    assert (report.order.position, report.order.sides) == (1, (("0/1", (1, 2)), ("0/0", (0,))))
    assert job((FIRST, executed("0/0")), (FIRST, executed("0/0"))).order is None


def meta(shape: list[int], runtime: int) -> bytes:
    item: dict[str, Any] = {"name": "mm", "type": "compute", "estimated_runtime_ns": runtime}
    item["outputs"] = [{"shape": shape, "stride": [16, 1], "dtype": "float32"}]
    return make.artifact("inductor_runtime_and_tensor_meta", json.dumps({"ops": [item]}, indent=0), id="0/0")


def test_tensors_and_estimated_runtimes_of_graphs_are_compared() -> None:
    *head, last = make.split_records(FIRST)

    def tensor_records(shape: list[int], runtime: int) -> tuple[bytes]:
        return (b"".join((*head, meta(shape, runtime), last)),)

    report = job(tensor_records([8, 16], 2_000_000), tensor_records([8, 16], 6_000_000), tensor_records([8, 4], 2_000_000))
    assert groups(property_named(report, "tensors")) == [(0, 1), (2,)]
    (spread,) = report.runtime_spread
    assert (spread.fastest, spread.slowest) == ((0, 0.002), (1, 0.006))


@pytest.mark.parametrize("name", ["inductor_collective_schedule", "inductor_runtime_and_tensor_meta"])
def test_a_record_of_another_shape_is_a_problem_and_the_ranks_are_compared(name: str) -> None:
    *head, last = make.split_records(FIRST)
    trace = make.load_ranks(*(make.trace(*head, make.artifact(name, '{"ops": 5}', id="0/0"), last) for _ in range(2)))
    assert compare_ranks(summaries(explain_trace(trace))).divergence is None
    assert [problem.code for problem in trace.problems] == ["bad-json", "bad-json"]


def test_an_order_of_another_shape_is_a_problem() -> None:
    trace = make.load_ranks(*(make.trace(FIRST, make.artifact("graph_execution", "[1]")) for _ in range(2)))
    assert not property_named(compare_ranks(summaries(explain_trace(trace))), "order").is_known
    assert [problem.code for problem in trace.problems] == ["bad-json", "bad-json"]


# Times.


def test_a_compile_that_takes_longer_on_one_rank_is_reported_with_it() -> None:
    quick, slow = (make.compile("0/0", make.tensor(8, 16), seconds=value) for value in (1.5, 9.0))
    report = job((quick,), (slow,), (quick,))
    assert report.slow == ((1, 9.0),)
    assert [(item.fastest, item.median, item.slowest, item.width) for item in report.compile_spread] == [((0, 1.5), 1.5, (1, 9.0), 7.5)]


def test_the_time_by_which_a_rank_ends_before_the_last() -> None:
    one, two = summarized((FIRST,), (FIRST,))
    report = compare_ranks([one, two._replace(ended="1120 08:29:34.313000")])
    assert [(number, round(value, 3)) for number, value in report.early] == [(0, 121.0)]


@pytest.mark.parametrize("ended", ["", "no time", "1399 99:99:99.1"])
def test_a_time_that_cannot_be_read_is_not_compared(ended: str) -> None:
    one, two = summarized((FIRST,), (FIRST,))
    assert compare_ranks([one._replace(ended=ended), two]).early == ()


@pytest.mark.parametrize("number", ["true", "-1", "3.5", "1e99", '"1"', "null"])
def test_an_invalid_rank_number_makes_no_rank(number: str) -> None:
    data = make.trace(FIRST.replace(b'"frame_id": 0', b'"rank": %s, "frame_id": 0' % number.encode()))
    assert summaries(explain_trace(make.load(data))) == ()
    others = [make.trace(FIRST.replace(b'"frame_id": 0', b'"rank": %d, "frame_id": 0' % rank)) for rank in (0, 1)]
    trace = merged([make.load(item) for item in (data, *others)])
    assert [rank.number for rank in summaries(explain_trace(trace))] == [0, 1]


def test_a_rank_far_from_the_others_leaves_none_missing() -> None:
    assert job((FIRST,), (FIRST,), numbers=[0, 10**12]).missing == ()


# The code that belongs to a collective schedule.


def code_of(data: bytes) -> str:
    """The code that is found for the last schedule of the only compile."""
    (compile,) = make.load(data).compiles
    assert compile.payloads is not None
    name, offset, _ = compile.inductor[-1]
    assert name == SCHEDULE
    return code_before(compile.payloads.reader, offset, compile.offset)


def test_the_code_of_a_schedule_is_the_last_before_it() -> None:
    assert code_of(make.trace(make.with_collectives(make.compile("0/0", make.tensor(8, 16)), REDUCE, SCHEDULED_CODE))) == SCHEDULED_CODE


def test_of_two_graphs_each_has_its_own_code() -> None:
    twice = make.with_collectives(make.with_collectives(make.compile("0/0", make.tensor(8, 16)), REDUCE, "first"), REDUCE, SCHEDULED_CODE)
    assert code_of(make.trace(twice)) == SCHEDULED_CODE


@pytest.mark.parametrize(
    "data",
    [
        make.with_collectives(make.compile("0/0", make.tensor(8, 16)), REDUCE),
        make.with_collectives(make.compile("0/0", make.tensor(8, 16)), REDUCE, SCHEDULED_CODE).replace(
            b'"/tmp/a.py"}, "frame_id": 0', b'"/tmp/a.py"}, "frame_id": 7'
        ),
        make.with_collectives(make.compile("0/0", make.tensor(8, 16)), REDUCE, 'V1120 x] {"inductor_output_code": {}}').replace(
            b'] {"inductor_output_code": {"f', b'] {"x": {"f'
        ),
    ],
    ids=["none", "of another compile", "quoted in a payload"],
)
def test_a_schedule_without_code_of_its_own(data: bytes) -> None:
    assert code_of(make.trace(data)) == ""
