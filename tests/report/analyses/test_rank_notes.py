"""What ranks compared or exchanged while they compiled."""

import make

from shapelog.report.report import analyze


def test_graphs_that_differ_come_before_what_was_agreed_and_exchanged() -> None:
    def artifact(name: str, text: str) -> bytes:
        return make.record("artifact", {"name": name, "encoding": "string"}, text, id="0/0", rank=1)

    data = make.trace(
        make.compile("0/0", make.tensor(8, 16)),
        artifact("aot_joint_graph_sync_decision_cross_ranks", "picked_rank_idx=0"),
        artifact("inductor_spmd_graph_mismatch", "rank 1 differs\nat node 3"),
    )
    table = analyze(make.load(data)).table("rank_notes")
    assert table
    assert [row[2:] for row in table.rows] == [
        ("graphs differ between ranks", "rank 1 differs at node 3"),
        ("agreed on what to save for the backward", "picked_rank_idx=0"),
    ]


def test_a_process_alone_has_none() -> None:
    assert analyze(make.load(make.small_trace())).table("rank_notes") is None
