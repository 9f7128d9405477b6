"""Compile time by call stack: the trie of user stacks, and the icicle that is drawn of it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import make
import pytest
from recorded import RECORDED, report_of

import shapelog
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import anchors_of
from shapelog.reporters.html.call_tree import CallNode, call_tree
from shapelog.reporters.html.chart_text import KIND_LABELS
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.icicle import Icicle, icicle

HOSTILE = "</script><img onerror=alert(1)>\"' onload=x"
LIBRARY = "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py"


def trie(report: Report, with_code: bool = True) -> list[CallNode]:
    return call_tree(report, with_code)


def of(*compiles: tuple[str, str, Sequence[tuple[Any, ...]]], spent: float = 1.0) -> list[CallNode]:
    """The trie of compiles given as (label, function, calls above it); a call is (file, line, function, code)."""
    parts = []
    for label, name, calls in compiles:
        stack = [{"filename": file, "line": line, "name": caller, "loc": code} for file, line, caller, code in calls]
        stack.append({"filename": make.MODEL, "line": 5, "name": name})
        parts.append(make.record("dynamo_start", {"stack": stack}, id=label))
        parts.append(make.metrics(label, co_name=name, entire_frame_compile_time_s=spent))
    return trie(shapelog.analyze(make.load(make.trace(*parts))))


def call(line: int, name: str = "main", file: str = make.MAIN) -> tuple[str, int, str, str]:
    return (file, line, name, f"step({line})")


def walk(nodes: Sequence[CallNode]) -> Iterator[CallNode]:
    for node in nodes:
        yield node
        yield from walk(node.children)


def outline(nodes: Sequence[CallNode]) -> list[Any]:
    """Names and places alone, children after their parent."""
    return [(f"{node.name} {node.place}", outline(node.children)) if node.children else f"{node.name} {node.place}" for node in nodes]


def labels(node: CallNode) -> list[tuple[str, list[str]]]:
    return [
        (f"{owner} {KIND_LABELS[kind]}".strip(), [compile.label for compile in compiles]) for (owner, kind), compiles in node.own.items()
    ]


def named(nodes: Sequence[CallNode], name: str) -> CallNode:
    (found,) = (node for node in walk(nodes) if node.name == name)
    return found


def markup(macro: str, view: Icicle | list[CallNode], report: Report | None = None) -> str:
    anchors = anchors_of(report.trace) if report else defaultdict(lambda: "compile")
    return str(getattr(environment().get_template(f"report/{macro}.html.j2", globals={"anchors": anchors}).module, macro)(view))


def test_calls_lead_to_what_was_compiled_the_costliest_first() -> None:
    (root,) = trie(report_of("real/demo.log.gz"))
    assert (root.name, root.place, root.code, root.cost) == ("<module>", "demo.py:68", "main()", "1 min 7 s · 19 compilations + 1 refused")
    assert outline(root.children) == [
        ("main demo.py:50", ["Classifier.forward demo.py:14"]),
        ("normalize demo.py:35", ["line 38, resumed demo.py:38"]),
        ("main demo.py:60", ["MovingAverage.forward demo.py:28"]),
        ("main demo.py:57", ["MovingAverage.forward demo.py:28", "Classifier.forward demo.py:14"]),
        ("main demo.py:58", ["Classifier.forward demo.py:14"]),
    ]


def test_a_compiled_function_lists_its_compiles_by_kind() -> None:
    (root,) = trie(report_of("real/demo.log.gz"))
    (leaf,) = root.children[0].children
    assert (leaf.frame.label, leaf.shares[0][0]) == ("0", "first")  # type: ignore[union-attr]
    assert labels(leaf) == [("first compilation", ["0/0"]), ("avoidable by marking", ["0/1", "0/2"])]
    assert root.frame is None


def test_resumed_code_is_below_its_function() -> None:
    below = named(trie(report_of("real/2.4/f_graph_breaks.log.gz")), "brk_explicit")
    assert [node.name for node in below.children] == ["line 28, resumed", "line 30, resumed"]
    assert below.seconds > below.children[0].seconds + below.children[1].seconds


def test_resumed_code_is_below_the_call_of_its_function_that_it_came_from() -> None:
    resumed = "torch_dynamo_resume_in_f_at_20"
    found = of(("0/0", "f", [call(3), call(9, "train")]), ("0/1", "f", [call(4)]), ("1/0", resumed, [call(3), call(8, "train")]))
    assert outline(found) == [
        ("main main.py:3", [("train main.py:9", [("f model.py:5", ["line 20, resumed model.py:5"])])]),
        ("main main.py:4", ["f model.py:5"]),
    ]


def test_resumed_code_of_a_function_that_was_not_compiled_names_it() -> None:
    found = of(("1/0", "torch_dynamo_resume_in_f_at_20", [call(3)]))
    assert outline(found) == [("main main.py:3", [("f model.py", ["line 20, resumed model.py:5"])])]


def test_a_limit_hit_without_a_stack_is_where_its_function_was_called() -> None:
    leaf = named(trie(report_of("real/2.6/w_kill.log.gz")), "<lambda>")
    assert leaf.compiles == 9
    assert ("refused (limit reached)", ["0/8"]) in labels(leaf)


def test_what_starts_threads_and_programs_is_left_out() -> None:
    (root,) = trie(report_of("real/2.6/t_threads.log.gz"))
    assert root.name == "work"
    starters = [("C:\\Python\\Lib\\threading.py", 1, "_bootstrap", ""), ("/opt/x/runpy.py", 88, "_run_code", "")]
    assert outline(of(("0/0", "f", [*starters, (LIBRARY, 9, "_call_impl", ""), call(3)]))) == [("main main.py:3", ["f model.py:5"])]


def test_calls_of_a_library_are_left_out_but_not_what_was_compiled_in_it() -> None:
    (root,) = trie(report_of("lab/hf_bert_train.log.gz"))
    assert outline([root])[0][1][0] == ("main hf_bert_train.py:15", ["BertForSequenceClassification.wrapper generic.py:933"])


def test_code_lines_are_shown_only_where_they_may_be() -> None:
    report = report_of("real/demo.log.gz")
    assert any(node.code for node in walk(trie(report)))
    without = trie(report, with_code=False)
    assert not any(node.code for node in walk(without))
    assert "logsumexp" in markup("call_tree", trie(report))
    assert "logsumexp" not in markup("call_tree", without) + markup("icicle", icicle(without))


def test_ranks_with_the_same_calls_share_nodes_and_label_their_own_compiles() -> None:
    (root,) = trie(report_of("real/2.13/n_dist_collpatched"))
    assert (root.name, root.compiles) == ("worker", 2)
    assert labels(root.children[0]) == [("rank 0 first compilation", ["0/0"]), ("rank 1 first compilation", ["0/0"])]


def test_of_deep_recursion_the_middle_is_left_out() -> None:
    found = of(("0/0", "f", [call(line, "walk") for line in range(1, 5001)]))
    names = [f"{node.name} {node.place}" for node in walk(found)]
    assert len(names) == 42
    assert names[15:18] == ["walk main.py:16", "4960 more calls ", "walk main.py:4977"]


def test_a_recursive_call_of_the_compiled_function_itself_is_shown() -> None:
    own = (make.MODEL, 5, "f", "")
    assert outline(of(("0/0", "f", [own, call(3)]))) == [("f model.py:5", [("main main.py:3", ["f model.py:5"])])]


def test_of_very_many_compiles_the_first_are_linked() -> None:
    found = of(*((f"0/{item}", "f", [call(3)]) for item in range(260)))
    assert named(found, "f").compiles == 260
    text = markup("call_tree", found)
    assert text.count('class="made"') == 201
    assert "59 more</a>" in text


def test_endless_names_files_and_code_are_cut_off() -> None:
    found = of(("0/0", "f" * 10_000, [(f"/x/{'y' * 10_000}.py", 1, "m" * 10_000, "c" * 10_000)]))
    assert len(markup("call_tree", found)) + len(markup("icicle", icicle(found))) < 4000


@pytest.mark.parametrize("name", RECORDED)
def test_every_compile_is_in_the_tree_once_and_no_second_is_lost(name: str) -> None:
    report = report_of(name)
    found = trie(report)
    compiles = [compile for node in walk(found) for own in node.own.values() for compile in own]
    assert Counter(compiles) == Counter(report.trace.compiles)
    assert sum(node.seconds for node in found) == pytest.approx(report.summary.seconds)
    for node in walk(found):
        assert node.seconds >= sum(child.seconds for child in node.children) - 1e-6
        assert sum(spent for _, spent in node.shares) == pytest.approx(node.seconds)
        assert [child.seconds for child in node.children] == sorted((child.seconds for child in node.children), reverse=True)


def test_the_trie_folds_and_links() -> None:
    report = report_of("real/demo.log.gz")
    text = markup("call_tree", trie(report), report)
    assert text.count("<details") == 3
    assert 'href="#compile-0-1"' in text
    assert 'href="#frame-3"' in text
    assert "style=" not in text


def test_calls_that_all_compiles_share_are_shown_above_the_chart() -> None:
    view = icicle(trie(report_of("real/demo.log.gz")))
    assert [(step.name, step.place, step.code) for step in view.common] == [("<module>", "demo.py:68", "main()")]
    assert [box.node.name for box in view.rows[0]] == ["main", "normalize", "main", "main", "main"]
    assert view.rows[0][0].x == 0
    assert sum(box.width for box in view.rows[0]) == pytest.approx(100, abs=0.05)
    assert view.summary.startswith(
        "Icicle of compile time by call stack: 1 min 7 s · 19 compilations + 1 refused, most of it in main (40.3 s · 3 compilations)."
    )


def test_a_box_shows_place_code_cost_and_kinds() -> None:
    view = icicle(trie(report_of("real/demo.log.gz")))
    call_box, function = (row[0] for row in view.rows)
    assert call_box.title == (
        "main · demo.py:50\nloss = classify(torch.randint(100, (batch, length))).logsumexp(1).mean()\n"
        "40.3 s · 3 compilations\nfirst compilation 23.4 s, avoidable by marking 16.9 s"
    )
    assert (call_box.node.frame, function.node.frame.label) == (None, "0")  # type: ignore[union-attr]
    assert markup("icicle", view).count('<rect class="strip k-marking" x="58.03%" width="41.97%" y="25"/>') == 2


@pytest.mark.parametrize("name", RECORDED)
def test_boxes_lie_below_their_callers_and_never_cover_each_other(name: str) -> None:
    view = icicle(trie(report_of(name)))
    above = [(0.0, 100.0)]
    for row in view.rows:
        spans = [(box.x, box.x + box.width) for box in row]
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(spans))
        assert all(any(left - 1e-9 <= span[0] and span[1] <= right + 1e-9 for left, right in above) for span in spans)
        above = spans
    assert len(view.rows) <= 12
    assert "style=" not in markup("icicle", view)


def test_small_siblings_are_one_box() -> None:
    parts = [make.metrics("0/0", co_name="large", entire_frame_compile_time_s=1000.0)]
    parts += [make.metrics(f"{item}/0", co_name=f"f{item}", co_firstlineno=item, entire_frame_compile_time_s=0.5) for item in range(1, 11)]
    view = icicle(trie(shapelog.analyze(make.load(make.trace(*parts)))))
    large, rest = view.rows[0]
    assert (large.node.name, rest.node.name, rest.is_rest, rest.node.frame) == ("large", "… 10 more", True, None)
    assert rest.title == "… 10 more, too small to be shown\n5.00 s · 10 compilations"
    assert rest.width == pytest.approx(0.5, abs=0.01)
    assert markup("icicle", view).count("<text") == 1  # there is no room in the narrow one


def test_a_box_notes_calls_that_are_deeper_than_the_chart() -> None:
    stacks = [[call(1), *(call(line, "walk") for line in range(10, 40))], [call(2)]]
    view = icicle(of(("0/0", "f", stacks[0]), ("1/0", "g", stacks[1])))
    assert len(view.rows) == 12
    assert view.rows[-1][0].title.endswith("the calls below it are not shown: the stacks are deeper than the chart")


def test_without_stacks_the_functions_themselves_are_shown() -> None:
    recording = make.trace()
    for item in range(3):
        recording += make.compile(f"{item}/0", is_started=False, name=f"f{item}", seconds=3.0 - item, co_firstlineno=item)
    view = icicle(trie(make.report(recording)))
    assert [(box.node.name, box.node.cost) for box in view.rows[0]] == [
        ("f0", "3.00 s · 1 without code"),
        ("f1", "2.00 s · 1 without code"),
        ("f2", "1.00 s · 1 without code"),
    ]
    assert "the compiled functions themselves are shown" in markup("icicle", view)


def test_without_times_widths_are_numbers_of_compiles() -> None:
    view = icicle(of(("0/0", "f", [call(1)]), ("0/1", "f", [call(1)]), ("0/2", "f", [call(2)]), spent=0.0))
    assert [round(box.width, 2) for box in view.rows[0]] == [66.67, 33.33]
    assert view.note == "this trace records no times, so widths are numbers of compilations"


def test_huge_times_can_be_drawn() -> None:
    view = icicle(of(("0/0", "f", [call(1)]), ("1/0", "g", [call(2)]), spent=9e17))
    assert [box.width for box in view.rows[0]] == pytest.approx([50, 50])


def test_one_compile_fills_the_chart() -> None:
    view = icicle(of(("0/0", "f", [call(1), call(2)])))
    assert [(box.node.name, box.width) for row in view.rows for box in row] == [("f", 100)]
    assert len(view.common) == 2


def test_without_compiles_there_is_a_sentence_in_place_of_the_chart() -> None:
    nodes = trie(shapelog.analyze(make.load(make.trace())))
    assert nodes == []
    assert markup("icicle", icicle(nodes)).strip() == '<p class="dim">Nothing was compiled.</p>'
    assert markup("call_tree", nodes).strip() == '<p class="dim">Nothing was compiled.</p>'


def test_many_boxes_are_no_stops_of_the_tab_key() -> None:
    view = icicle(of(*((f"{item}/0", f"f{item}", [call(item + 1)]) for item in range(120))))
    assert not view.in_tab_order
    assert markup("icicle", view).count('tabindex="-1"') == 120


def test_hostile_names_and_code_stay_text() -> None:
    nodes = of(("0/0", HOSTILE, [(f"/x/{HOSTILE}.py", 1, HOSTILE, HOSTILE)]), ("1/0", "g", [call(2)]))
    for text in (markup("icicle", icicle(nodes)), markup("call_tree", nodes)):
        assert "<img" not in text
        assert "</script>" not in text
        assert "&lt;/script&gt;&lt;img onerror=alert(1)&gt;&#34;&#39; onload=x" in text
