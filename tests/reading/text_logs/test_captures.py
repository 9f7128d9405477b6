"""What compiled autograd writes when it captures a backward pass again."""

from pathlib import Path

from shapelog import load
from shapelog.report.report import Report, analyze

LOGGER = "DEBUG:torch._dynamo.compiled_autograd.__compiled_autograd_verbose:"
PLACE = "V1124 12:48:{}.027000 4193 torch/autograd/graph.py:979] [__compiled_autograd_verbose] "
FIRST = "Cache miss due to new autograd node: torch::autograd::GraphRoot (NodeCall 0) with key size 39, previous key sizes=[]"
NODE = "Cache miss due to new autograd node: MulBackward0 (NodeCall 2) with key size 71, previous key sizes=[]"
SIZES = "Cache miss due to 10 changed tensor shapes (total of 12): sizes[0], sizes[1], sizes[2]"
OLD_SIZE = "Cache miss due to dynamic shapes: collected size idx {} of {} (NodeCall {})"
MARK = "mark the sizes that vary in the inputs of the forward pass, or pass dynamic=True to torch.compile"


def report_of(folder: Path, *lines: str) -> Report:
    path = folder / "run.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return analyze(load(path), debug=True)


def test_the_first_capture_is_no_recompilation(tmp_path: Path) -> None:
    report = report_of(tmp_path, PLACE.format(42) + FIRST)
    assert (report.summary.compiles, len(report.recompiles)) == (1, 0)


def test_sizes_that_changed_are_counted_and_are_about_sizes(tmp_path: Path) -> None:
    report = report_of(tmp_path, PLACE.format(42) + FIRST, PLACE.format(43) + SIZES)
    (recompile,) = report.recompiles
    assert (recompile.codes, recompile.size_related) == (("SL101",), True)
    sentence = "10 of the 12 sizes in the backward pass changed, so compiled autograd captured it again"
    assert recompile.causes[0].sentence == sentence
    assert report.remedies.of_recompile(recompile).text == MARK


def test_sizes_that_old_versions_write_one_by_one_are_one_capture(tmp_path: Path) -> None:
    sizes = [("0", "torch::autograd::GraphRoot", "0"), ("2", "SumBackward0", "1"), ("4", "SumBackward0", "1")]
    (recompile,) = report_of(tmp_path, LOGGER + FIRST, "...", *(LOGGER + OLD_SIZE.format(*size) for size in sizes)).recompiles
    assert recompile.causes[0].sentence.startswith("sizes of GraphRoot, SumBackward0 in the backward pass changed")


def test_another_autograd_graph_names_the_first_node_that_is_new(tmp_path: Path) -> None:
    (recompile,) = report_of(tmp_path, LOGGER + FIRST, LOGGER + NODE).recompiles
    assert (recompile.codes, recompile.size_related) == (("SL324",), False)
    sentence = "the backward pass has another autograd graph: node 2, MulBackward0, is new"
    assert recompile.causes[0].sentence == sentence


def test_a_list_that_has_earlier_captures_again_adds_none(tmp_path: Path) -> None:
    lists = [f'  "!0: {FIRST}"', "]", "[", f'  "!0: {FIRST}",', f'  "!1: {SIZES}"', "]"]
    report = report_of(tmp_path, "[", *lists)
    assert (report.summary.compiles, len(report.recompiles)) == (2, 1)


def test_a_long_list_of_sizes_is_read(tmp_path: Path) -> None:
    many = ", ".join(f"sizes[{number}]" for number in range(2_000))
    miss = f"Cache miss due to 2000 changed tensor shapes (total of 2000): {many}"
    (recompile,) = report_of(tmp_path, FIRST, miss).recompiles
    assert "2000 of the 2000 sizes" in recompile.causes[0].sentence


def test_a_size_that_compiled_autograd_passes_to_its_graph_cannot_be_marked(tmp_path: Path) -> None:
    head = "V1124 12:48:45.027000 4193 torch/_dynamo/guards.py:5396] [!1/2/1] [__recompiles] "
    report = report_of(
        tmp_path,
        head + "Recompiling function forward in <eval_with_key>.9:4",
        head + "    triggered by the following guard failure(s):",
        head + "    - !0/2/0: tensor 'sizes[0]' size mismatch at index 1. expected 100, actual 7",
    )
    assert report.remedies.of_recompile(report.recompiles[0]).text == MARK
    assert report.advice is not None
    assert not report.advice.suggestions
