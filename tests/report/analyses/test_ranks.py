"""The report on several ranks: findings, tables, one list of advice, and what is the same on several ranks once."""

import re
from collections.abc import Callable
from typing import Any

import make
import pytest
from jobs import AGAIN, ALIKE, FIRST, FORWARD, HANGS, PARTED, SIZES, report, sized
from payload_text import size_mismatch
from recorded import report_of

from shapelog.check.check import check
from shapelog.check.policy import Policy, kinds_of
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.merge_ranks import merged_findings, merged_frames, merged_groups
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding, Location, Table
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.render import render as page
from shapelog.reporters.terminal.report import render
from shapelog.rules import AlertKind

Golden = Callable[[str, bytes], None]

ENCODER, DECODER = (make.compile("0/0", make.tensor(8, 16), name=name, line=line) for name, line in (("encode", 12), ("decode", 70)))
LONGER = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], name="decode", line=70, dynamic=[0])
SIZES_ALONE = report(*((make.compile("0/0", make.tensor(length, 16), **FORWARD),) for length in (12, 10)))


def test_the_stages_of_a_pipeline_are_compared_each_for_itself() -> None:
    """They share no code, and there are as many ranks of each."""
    stages = report((ENCODER,), (ENCODER,), (DECODER, LONGER), (DECODER, LONGER))
    assert of_ranks(stages) == []
    assert "ranks 0 and 1; ranks 2 and 3: no code in common, as in pipeline stages" in flat(stages)
    (found,) = of_ranks(report((ENCODER,), (ENCODER,), (DECODER, LONGER), (DECODER,)))
    assert found.sentence.startswith("ranks 2 and 3 agree on the first compilation; then rank 2 recompiled decode at 0/1")


@pytest.mark.parametrize(
    "traces",
    [[(ENCODER,), (DECODER,)], [(ENCODER,), (ENCODER,), (DECODER,)], [(ENCODER,), (ENCODER,), (DECODER,), (DECODER,), ()]],
    ids=["one each", "unequal", "one compiled nothing"],
)
def test_ranks_without_common_code_are_no_stages_where_they_are_not_several_and_equally_many(traces: list[tuple[bytes, ...]]) -> None:
    (found,) = of_ranks(report(*traces))
    assert found.rule.code == "SL701"
    assert found.sentence.startswith("the ranks differ from the first compilation on: ")


def of_ranks(item: Report) -> list[Finding]:
    return [found for found in item.findings if found.rule.code.startswith("SL7")]


def table(item: Report, name: str) -> Table:
    found = item.table(name)
    assert found is not None
    return found


def shown(item: Report, width: int = 100, **options: Any) -> str:
    return render(item, Options(width=width, **options)).decode()


def flat(item: Report, **options: Any) -> str:
    return " ".join(shown(item, **options).split())


def test_ranks_that_agree_are_no_finding() -> None:
    assert of_ranks(ALIKE) == []
    assert ALIKE.ranks is not None
    assert ALIKE.ranks.agrees


def test_ranks_that_agree_take_a_line_and_their_tables_are_verbose() -> None:
    text = shown(ALIKE, 80)
    assert "\nRanks 0-3 behave the same: shown once, with summed times\n\n" in text
    assert "Compilations of each rank" not in text
    assert shown(ALIKE, verbose=True).index("warning[SL101]") < shown(ALIKE, verbose=True).index("Compilations of each rank")
    assert "\n  sizes differ: x.size[0] of forward at 0/0; --verbose has the tables\n" in shown(SIZES_ALONE)
    assert shown(PARTED).index("Compilations of each rank") < shown(PARTED).index("warning[SL101]")


def test_one_process_has_no_ranks_at_all() -> None:
    alone = analyze(make.load(make.small_trace()), debug=True)
    assert alone.ranks is None
    assert of_ranks(alone) == []
    assert not [item for item in alone.tables if "rank" in item.name]
    assert "\nRanks" not in shown(alone)
    assert alone.ranks is None


@pytest.mark.parametrize(
    ("item", "code", "words"),
    [
        (PARTED, "SL701", "the ranks agree on the first compilation; then ranks 0-2 recompiled forward at 0/1"),
        (SIZES, "SL702", "x.size[0] of forward at 0/0 is 12 on ranks 0, 2 and 3, 10 on rank 1"),
        (HANGS, "SL703", "the collectives of forward at 0/0 agree up to number 1"),
    ],
    ids=["divergence", "sizes", "collectives"],
)
def test_what_differs_between_ranks_is_a_finding_at_its_code(item: Report, code: str, words: str) -> None:
    (found,) = of_ranks(item)
    assert found.rule.code == code
    assert found.sentence.startswith(words)
    assert (found.place, found.frame is not None) == (Location(make.MODEL, 12), True)


def test_sizes_that_no_rank_recompiled_for_are_in_the_table_alone() -> None:
    assert of_ranks(SIZES_ALONE) == []
    assert table(SIZES_ALONE, "rank_sizes").rows == (("0/0", "forward", "x.size[0]", "12 on rank 0; 10 on rank 1", "", "no"),)


def test_with_compiler_collectives_sizes_that_differ_are_no_finding() -> None:
    artifact = make.artifact("compiler_collective", "L['x']: tensor size=[12, 16] stride=[16, 1]", id="0/0")
    ranks = []
    for first, again in (sized(12, 16), sized(10, 14)):
        head, *rest = make.split_records(first)
        ranks.append((b"".join((head, artifact, *rest)), again))
    assert of_ranks(report(*ranks)) == []


def test_ranks_with_as_many_compiles_share_a_row() -> None:
    assert table(PARTED, "ranks").rows == (("ranks 0-2", 2, 1, 0, "3.00", "0/1 forward"), ("rank 3", 1, 0, 0, "1.50", "0/0 forward"))


def test_what_was_not_recorded_comes_with_how_to_record_it() -> None:
    rows = {row[0]: row for row in table(ALIKE, "rank_agreement").rows}
    assert rows["compile ids"][1:3] == ("same on all 4", "2 compilations, ending at 0/1")
    assert rows["tensor metadata"][1] == "not recorded"
    assert "log_tlparse" in str(rows["tensor metadata"][3])
    assert "record_and_log_graph_execution_order" in str(rows["order of execution"][3])


def test_a_run_that_ends_long_before_the_others_is_shown() -> None:
    item = report((FIRST, AGAIN.replace(b"V1120 08:27", b"V1120 08:37")), (FIRST,))
    assert table(item, "ranks").rows[1][-1] == "10 min"
    assert table(item, "ranks").note.startswith("rank 1 wrote nothing in the last minute or longer")


# What is the same on several ranks is shown once.


def test_frames_that_are_the_same_on_several_ranks_are_shown_once() -> None:
    (joint,) = merged_frames(ALIKE)
    assert (joint.owner, joint.seconds, len(joint.members)) == ("ranks 0-3", 12.0, 4)
    assert "forward was recompiled 4 times (6.00 s)" in flat(ALIKE)
    assert flat(ALIKE).count("forward was recompiled") == 1
    whole = " ".join(renderer("report", "terminal")(ALIKE, Options(width=200, verbose=True)).decode().split())
    assert "ranks 0-3 forward model.py:12 frame 0 2 compilations on each 12.0 s · 1 avoidable by marking 6.00 s" in whole


def test_frames_whose_sizes_differ_are_one_where_values_do_not_matter() -> None:
    (joint,) = merged_frames(SIZES)
    assert joint.axes[0].values == ("12", "16", "10", "14")
    assert [item.owner for item in merged_frames(SIZES, with_values=True)] == ["ranks 0, 2 and 3", "rank 1"]


def test_frames_of_ranks_that_parted_stay_apart() -> None:
    assert [item.owner for item in merged_frames(PARTED)] == ["ranks 0-2", "rank 3"]


def test_groups_and_findings_of_several_ranks_are_shown_once() -> None:
    failed = make.compile("0/0", make.tensor(8, 16), fail_type="RuntimeError", fail_reason="broken", has_guarded_code=False)
    item = report((failed,), (failed,), (FIRST,))
    assert [(found.rule.code, owner) for found, owner in merged_findings(item.findings, item.trace)] == [
        ("SL403", "ranks 0 and 1"),
        ("SL701", ""),
    ]
    assert [len(alike) for alike in merged_groups(ALIKE.groups)] == [4]
    assert flat(item).count("error[SL403]") == 1


def test_advice_is_one_list_for_the_whole_job() -> None:
    assert SIZES.advice is not None
    assert SIZES.advice.entries == ("L['x']:0",)
    (suggestion,) = SIZES.advice.suggestions
    assert {frame.rank for frame in suggestion.frames} == {0, 1, 2, 3}
    assert suggestion.caveats[0] == "x.size[0] differs across ranks: 12, 16 on ranks 0, 2 and 3; 10, 14 on rank 1"
    assert "compiler collectives" in {item.tool for item in SIZES.advice.alternatives}


def test_the_same_code_on_a_rank_where_it_did_not_vary_is_no_other_code() -> None:
    assert PARTED.advice is not None
    (suggestion,) = PARTED.advice.suggestions
    assert not [text for text in suggestion.caveats if "goes by name" in text]


# Where it shows.


@pytest.mark.parametrize("width", [80, 140])
def test_a_job_in_the_terminal_is_as_recorded(golden: Golden, width: int) -> None:
    golden(f"ranks.{width}.txt", render(PARTED, Options(width=width)))


def test_many_groups_of_ranks_are_shortened_unless_all_are_asked_for() -> None:
    item = report(*((make.compile("0/0", make.tensor(8, 16), name=f"f{number}"),) for number in range(15)))
    assert "… 3 more groups of 3 ranks, shown with --limit 0" in shown(item, limit=12)
    assert "more group" not in shown(item, limit=0)


def test_the_page_has_a_part_for_ranks_and_identical_frames_once() -> None:
    text = page(ALIKE, Options()).decode()
    assert '<section class="page" id="ranks"' in text
    assert '<a href="#ranks">Ranks <span class="count">4</span></a>' in text
    assert "frame 0, ranks 0-3" in text
    assert 'id="rank-1-frame-0"' not in text
    assert 'id="ranks"' not in page(analyze(make.load(make.small_trace())), Options()).decode()


def test_every_link_of_a_job_s_page_leads_somewhere() -> None:
    for item in (ALIKE, PARTED, SIZES):
        text = page(item, Options(embed="all")).decode()
        names = set(re.findall(r'\bid="([^"]+)"', text))
        assert set(re.findall(r'href="#([^"]+)"', text)) <= names


def alerts_of(item: Report) -> Alerts:
    return collect_alerts(item, Repository("nowhere", ()))


def test_ranks_that_part_fail_a_check_only_where_that_is_asked() -> None:
    (alert,) = [item for item in alerts_of(HANGS).alerts if item.rule.code == "SL703"]
    assert alert.kinds == frozenset({AlertKind.RANK})
    assert not check(alerts_of(HANGS), Policy()).has_failed
    asked = check(alerts_of(HANGS), Policy(fail_on=kinds_of(["rank"])))
    assert asked.has_failed
    assert "rank divergence" in str(asked.headline)


def test_compiles_without_code_are_counted_apart() -> None:
    """So that the compiles of all ranks add up to those of the run."""
    uneven = report_of("real/2.13/uneven_ranks")
    found = table(uneven, "ranks")
    assert [column.name for column in found.columns][:5] == ["ranks", "compiles", "recompiles", "failed", "no code"]
    assert [row[:5] for row in found.rows] == [("ranks 0-2", 6, 1, 0, 1), ("rank 3", 8, 3, 0, 1)]
    assert uneven.summary.compiles == 3 * 6 + 8
