"""The timeline: every compile has its bar, as wide as it took, and the chart can be read whatever the times are."""

import re
from collections import defaultdict
from collections.abc import Iterator

import make
import pytest
from recorded import RECORDED, report_of

import shapelog
from shapelog.report.report import Report
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.timeline import Bar, Lane, Timeline, timeline
from shapelog.text import seconds

START = 1_795_171_332.0
HOSTILE = "</script><img onerror=alert(1)>\"' onload=x"


def chart(report: Report, with_code: bool = True) -> Timeline:
    return timeline(report, with_code)


def made(*times: tuple[float | None, float], **fields: object) -> Timeline:
    """The chart of one function, compiled at each of these (start, seconds); a start of None was not recorded."""
    parts = [
        make.compile(f"0/{number}", make.tensor(8 + number, 16), start_time=None if start is None else START + start, seconds=spent)
        for number, (start, spent) in enumerate(times)
    ]
    return chart(shapelog.analyze(make.load(make.trace(*parts))))


def functions(*times: tuple[float, float], name: str = "f") -> Timeline:
    """The chart of several functions, each compiled once."""
    parts = [
        make.compile(f"{number}/0", make.tensor(8, 16), name=f"{name}{number}", start_time=START + start, seconds=spent)
        for number, (start, spent) in enumerate(times)
    ]
    return chart(shapelog.analyze(make.load(make.trace(*parts))))


def markup(view: Timeline) -> str:
    anchors = defaultdict(lambda: "compile-10-10")
    return str(environment().get_template("report/timeline.html.j2", globals={"anchors": anchors}).module.timeline(view))  # type: ignore[attr-defined]


def bars(view: Timeline) -> Iterator[Bar]:
    return (bar for lane in view.lanes for bar in lane.bars)


def width(bar: Bar) -> float:
    return bar.right - bar.left


def lane(view: Timeline, name: str) -> Lane:
    (found,) = (item for item in view.lanes if item.name == name)
    return found


def test_each_frame_has_a_lane_in_order_of_first_compile() -> None:
    view = chart(report_of("real/demo.log.gz"))
    assert [(item.name, item.place, item.seconds) for item in view.lanes] == [
        ("Classifier.forward", "demo.py:14", "45.5 s"),
        ("MovingAverage.forward", "demo.py:28", "11.1 s"),
        ("normalize", "demo.py:35", "4.54 s"),
        ("↳ normalize, line 38", "demo.py:38", "6.07 s"),
    ]
    assert view.lanes[3].title == "normalize (resumed at line 38): 3 compilations, 6.07 s"
    assert [item.frame.label for item in view.lanes if item.frame] == ["0", "1", "2", "3"]


def test_each_compile_has_a_bar_that_links_to_it_and_shows_its_cause() -> None:
    view = chart(report_of("real/demo.log.gz"))
    first, backward, second, *_ = lane(view, "Classifier.forward").bars
    assert first.first.compile is backward.first.compile
    assert (first.first.is_backward, backward.first.is_backward, view.has_backward) == (False, True, True)
    assert first.title == "0/0 · Classifier.forward · 18.6 s\nfirst compilation"
    assert backward.title == "backward of 0/0 · Classifier.forward · 4.82 s\nfirst compilation"
    assert second.title == "0/1 · Classifier.forward · 7.55 s\navoidable by marking: dim 1 of tokens changed from 32 to 48"
    compiles = [interval.compile for bar in bars(view) for interval in bar.intervals]
    assert set(compiles) == set(report_of("real/demo.log.gz").trace.compiles)


def test_bars_begin_and_end_when_their_compiles_did() -> None:
    first, second = lane(made((0, 6.0), (8, 2.0)), "f").bars
    assert (first.left, first.right) == (0, 60)
    assert (second.left, second.right) == (80, 100)


def test_the_legend_counts_every_compile_once() -> None:
    report = report_of("real/demo.log.gz")
    view = chart(report)
    assert [(kind, count, seconds(spent)) for kind, count, spent in view.legend] == [
        ("first", 4, "28.2 s"),
        ("marking", 11, "30.3 s"),
        ("code", 2, "3.58 s"),
        ("justified", 2, "5.21 s"),
        ("limit", 1, "0.00 s"),
    ]
    assert sum(count for _, count, _ in view.legend) == len(report.trace.compiles)
    assert view.summary.startswith(
        "Timeline of 19 compilations + 1 refused of 4 frames, 1 min 7 s from the first to the end of the last: 4 first compilation (28.2 s)"
    )


def test_a_limit_hit_that_took_no_time_can_still_be_seen() -> None:
    (hit,) = (bar for bar in bars(chart(report_of("real/demo.log.gz"))) if bar.first.kind == "limit")
    assert hit.title.startswith("1/8 · MovingAverage.forward · 0.00 s\nrefused (limit reached)")
    assert width(hit) >= 0.7


def test_long_gaps_are_cut_with_a_note() -> None:
    view = made((0, 5.0), (3 * 3600, 5.0))
    first, second = lane(view, "f").bars
    assert width(first) > 45
    assert width(second) > 45
    assert [cut.text for cut in view.cuts] == ["2 h 59 min"]
    assert view.notes == ("time since the first compilation began: 1 gap without compilations not shown, 2 h 59 min in total",)
    assert "2 h 59 min without compilations, not shown" in markup(view)


def test_ticks_after_a_cut_count_from_where_compiling_went_on() -> None:
    assert [tick.text for tick in made((0, 5.0), (3 * 3600, 5.0)).ticks] == ["0", "2 s", "4 s", "3:00:00", "+2 s", "+4 s"]


def test_a_hundred_compiles_over_hours_share_the_width() -> None:
    view = functions(*((60.0 * item, 1.0) for item in range(100)))
    assert len(view.cuts) == 99
    assert max(width(bar) for bar in bars(view)) < 5
    assert min(width(bar) for bar in view.lanes[0].bars) > 0.5


def test_gaps_of_a_dense_run_are_not_cut() -> None:
    assert made((0, 1.0), (2, 1.0), (4, 1.0)).cuts == ()


def test_without_start_times_compiles_are_drawn_one_after_another() -> None:
    view = made((None, 3.0), (None, 1.0))
    assert [(bar.left, bar.right) for bar in bars(view)] == [(0, 75), (75, 100)]
    assert view.notes == ("compilations are drawn one after another, because this trace does not record when each began",)
    assert "from the first to the end" not in view.summary


def test_a_compile_without_a_start_time_is_drawn_after_the_one_before() -> None:
    view = made((0, 2.0), (None, 2.0), (6, 2.0))
    assert [(bar.left, bar.right) for bar in bars(view)] == [(0, 25), (25, 50), (75, 100)]
    assert view.notes[1] == "1 compilation without a recorded time drawn after the preceding one"


@pytest.mark.parametrize(
    "times",
    [
        [(0, 0.0)],
        [(0, 0.0), (0, 0.0)],
        [(0, 0.0), (50, 0.0), (51, 0.0)],
        [(100, 1.0), (0, 1.0), (50, 1.0)],
        [(0, 1.0), (1e17, 1.0)],
        [(0, 1e17), (1, 1.0), (None, 0.0)],
        [(0, 1e-9), (1e-6, 1e-9)],
        [(0, 9e17), (9e17, 9e17)],
        [(None, 9e17), (None, 9e17)],
        [(-START, 1.0), (0, 1.0)],
    ],
)
def test_whatever_the_times_are_every_number_can_be_drawn(times: list[tuple[float | None, float]]) -> None:
    view = made(*times)
    for bar in bars(view):
        assert 0 <= bar.left < bar.right <= 100
    for tick in view.ticks:
        assert 0 <= tick.x <= 100
    for cut in view.cuts:
        assert 0 <= cut.x <= cut.middle <= 100
        assert cut.width > 0
    assert not re.search(r"\b(nan|inf)\b", markup(view))


def test_a_single_compile_fills_the_width() -> None:
    (bar,) = bars(made((0, 2.5)))
    assert (bar.left, bar.right) == (0, 100)


def test_without_compiles_there_is_a_sentence_in_place_of_the_chart() -> None:
    view = chart(shapelog.analyze(make.load(make.trace())))
    assert (view.lanes, view.ticks, view.cuts, view.legend) == ((), (), (), ())
    assert markup(view).strip() == '<p class="dim">Nothing was compiled.</p>'


def test_functions_beyond_the_lanes_share_the_last_one() -> None:
    view = functions(*((float(item), 0.1 if item % 2 else 0.9) for item in range(40)))
    assert len(view.lanes) == 24
    assert (view.lanes[-1].name, view.lanes[-1].frame) == ("17 more functions", None)
    assert view.lanes[-1].title == "17 more functions: 17 compilations, 1.70 s"
    assert {f"f{item}" for item in range(0, 40, 2)} <= {item.name for item in view.lanes}


def test_all_frames_of_a_function_have_one_lane() -> None:
    parts = [make.compile(f"{number}/0", make.tensor(8, 16), start_time=START + number, seconds=0.5) for number in range(3)]
    (found,) = chart(shapelog.analyze(make.load(make.trace(*parts)))).lanes
    assert (found.name, found.title, len(found.bars)) == ("f ×3", "f, 3 frames: 3 compilations, 1.50 s", 3)


def test_twenty_four_frames_each_have_a_lane() -> None:
    assert [item.name for item in functions(*((float(item), 0.5) for item in range(24))).lanes][-1] == "f23"


def test_lanes_of_several_ranks_are_labeled_with_them() -> None:
    names = [item.name for item in chart(report_of("real/2.13/n_dist_collpatched")).lanes]
    assert names == ["rank 1 · f", "rank 0 · f"]


def test_compiles_too_short_for_bars_of_their_own_are_one_bar() -> None:
    first, rest = bars(made((0, 100.0), *((100 + item / 100, 0.005) for item in range(20))))
    assert first.title.startswith("0/0 · ")
    assert rest.title == "20 compilations, 0/1 to 0/20 · f · 0.10 s in total\navoidable by marking"
    assert rest.first.compile.label == "0/1"


def test_short_compiles_of_two_kinds_have_two_bars() -> None:
    parts = [make.compile("0/0", make.tensor(8, 16), start_time=START, seconds=100.0)]
    for item in range(1, 11):
        failed = {} if item % 2 else {"fail_type": "Unsupported", "fail_reason": "no", "has_guarded_code": False}
        parts.append(make.compile(f"0/{item}", make.tensor(8 + item, 16), start_time=START + 100 + item / 100, seconds=0.001, **failed))
    _, *short = bars(chart(shapelog.analyze(make.load(make.trace(*parts)))))
    assert [(bar.first.kind, bar.title.split(",")[0]) for bar in short] == [("marking", "5 compilations"), ("failed", "5 compilations")]
    assert short[0].right <= short[1].left


def many(frames: int, each: int) -> Report:
    parts = []
    for item in range(frames * each):
        label = f"{item % frames}/{item // frames}"
        times = {"start_time": START + 2.0 * item + item % 3, "entire_frame_compile_time_s": (0.1, 0.9, 1.9, 0.4)[item % 4]}
        name = f"layer_{item % frames}"
        parts.append(
            make.dynamo_start(name, 10 + item % frames, id=label)
            + make.metrics(label, co_name=name, co_firstlineno=10 + item % frames, **times)
        )
    return shapelog.analyze(make.load(make.trace(*parts)))


@pytest.mark.slow
def test_eight_hundred_compiles_stay_small() -> None:
    view = chart(many(40, 20))
    text = markup(view)
    assert len(text) < 180_000
    drawn = re.findall(r"<a [^>]*class=.*?</a>", text, re.S)
    assert len(drawn) == sum(1 for _ in bars(view))
    assert max(len(re.sub(r"<title>.*</title>", "", bar, flags=re.S)) for bar in drawn) <= 120


def test_thousands_of_compiles_do_not_make_thousands_of_bars() -> None:
    view = chart(many(24, 60))
    assert sum(1 for _ in bars(view)) <= 1200
    assert sum(count for _, count, _ in view.legend) == 1440


def test_many_bars_are_no_stops_of_the_tab_key() -> None:
    few, lots = chart(report_of("real/demo.log.gz")), chart(many(20, 20))
    assert (few.in_tab_order, few.is_wide) == (True, False)
    assert lots.in_tab_order is False
    assert "tabindex" not in markup(few)
    assert markup(lots).count('tabindex="-1"') == sum(1 for _ in bars(lots))


def test_without_code_causes_are_shown_by_their_rule() -> None:
    report = report_of("lab/int_drives_python.log.gz")
    assert any("GAINS[level]" in bar.title for bar in bars(chart(report)))
    titles = [bar.title for bar in bars(chart(report, with_code=False))]
    assert not any("GAINS" in title for title in titles)
    assert any("SL102 int-varies level" in title for title in titles)


def test_hostile_names_stay_text() -> None:
    text = markup(functions((0, 1.0), (1, 1.0), name=HOSTILE))
    assert "<img" not in text
    assert "</script>" not in text
    assert "&lt;/script&gt;&lt;img onerror=alert(1)&gt;&#34;&#39; onload=x0" in text


@pytest.mark.parametrize("name", RECORDED)
def test_every_fixture_can_be_drawn(name: str) -> None:
    report = report_of(name)
    view = chart(report)
    assert sum(count for _, count, _ in view.legend) == len(report.trace.compiles)
    assert all(0 <= bar.left < bar.right <= 100 for bar in bars(view))
    assert "style=" not in markup(view)
