"""The same code in two traces: shifted lines, moved directories, ids that began again, ranks, and what resumes after a graph break."""

import gzip
from pathlib import Path
from typing import Any

import make
import pytest
from payload_text import guard_manager, guard_tree
from recorded import FIXTURES

import shapelog
from shapelog.model.code_matching import Code, Pair, match
from shapelog.model.trace import Trace

HERE, THERE = "/srv/app/model.py", "/home/ada/checkout/app/model.py"
Given = tuple[str, int] | tuple[str, int, str]


def recorded(*codes: Given, file: str = HERE) -> Trace:
    """A trace with one compile of each code, given as its name, line and, for a method, class."""
    made = make.trace()
    for number, (name, line, *owner) in enumerate(codes):
        guards = guard_tree(guard_manager("L['self']", type=owner[0])) if owner else None
        made += make.compile(f"{number}/0", make.tensor(10, 8), guards=guards, name=name, co_firstlineno=line, co_filename=file)
    return make.load(made)


def place_of(code: Code | None) -> str:
    return f"{code.title}:{code.first.line}" if code else "-"


def pairs(before: Trace, after: Trace) -> dict[str, str]:
    return {place_of(pair.before): place_of(pair.after) for pair in match(before, after) if pair.before}


def found(name: str, before: Trace, after: Trace) -> Pair:
    """The pair that has a function of that name on either side."""
    (pair,) = (pair for pair in match(before, after) if name in {code.first.name for code in (pair.before, pair.after) if code})
    return pair


def test_every_code_of_a_trace_is_its_own_match() -> None:
    trace = shapelog.load(FIXTURES / "real/2.6/m_python_state.log.gz")
    for pair in match(trace, trace):
        assert pair.before is not None
        assert pair.after is not None
        assert pair.before.frames == pair.after.frames


def test_a_function_is_found_where_its_line_has_shifted() -> None:
    assert pairs(recorded(("f", 5), ("g", 30)), recorded(("f", 25), ("g", 50))) == {"f:5": "f:25", "g:30": "g:50"}


def test_a_name_that_is_new_or_gone_has_no_match() -> None:
    before, after = recorded(("f", 5), ("old", 9)), recorded(("f", 5), ("new", 9))
    assert [(place_of(pair.before), place_of(pair.after)) for pair in match(before, after)] == [
        ("f:5", "f:5"),
        ("-", "new:9"),
        ("old:9", "-"),
    ]


def test_methods_of_one_name_are_distinguished_by_class_and_not_by_line() -> None:
    before = recorded(("forward", 10, "app.Encoder"), ("forward", 30, "app.Decoder"))
    after = recorded(("forward", 30, "app.Encoder"), ("forward", 50, "app.Decoder"))
    assert pairs(before, after) == {"Encoder.forward:10": "Encoder.forward:30", "Decoder.forward:30": "Decoder.forward:50"}


def test_a_method_whose_class_one_trace_lacks_is_found_all_the_same() -> None:
    assert pairs(recorded(("forward", 10, "app.Net")), recorded(("forward", 12))) == {"Net.forward:10": "forward:12"}


def test_a_class_that_was_renamed_in_place_is_found_and_another_class_is_not() -> None:
    before = recorded(("forward", 10, "app.Net"))
    assert pairs(before, recorded(("forward", 10, "app.BetterNet"))) == {"Net.forward:10": "BetterNet.forward:10"}
    assert pairs(before, recorded(("forward", 70, "app.Other"))) == {"Net.forward:10": "-"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((10, 20, 30), (15, 25, 35), {10: 15, 20: 25, 30: 35}),  # as many as before: in their order
        ((10, 20), (10, 15, 20), {10: 10, 20: 20}),  # one was added: the same lines first
        ((10, 20, 30), (12, 31), {10: 12, 20: None, 30: 31}),  # one was removed: the nearest lines first
    ],
)
def test_functions_without_a_name_are_found_by_their_lines(
    before: tuple[int, ...], after: tuple[int, ...], expected: dict[int, int | None]
) -> None:
    one, other = (recorded(*(("<lambda>", line) for line in lines)) for lines in (before, after))
    lines = {pair.before.first.line: pair.after.first.line if pair.after else None for pair in match(one, other) if pair.before}
    assert lines == expected


@pytest.mark.parametrize("file", [THERE, "model.py", "C:\\work\\app\\model.py", "/tmp/ipykernel_77/1029.py"])
def test_code_is_found_in_a_checkout_elsewhere(file: str) -> None:
    here = "/tmp/ipykernel_12/4711.py" if "ipykernel" in file else HERE
    assert pairs(recorded(("f", 5), file=here), recorded(("f", 8), file=file)) == {"f:5": "f:8"}


def test_code_of_another_file_is_other_code() -> None:
    assert pairs(recorded(("f", 5)), recorded(("f", 5), file="/srv/app/other.py")) == {"f:5": "-"}


def both_models(root: str) -> Trace:
    made = make.trace()
    for number, (part, line) in enumerate((("bert", 5), ("gpt", 50))):
        made += make.compile(f"{number}/0", make.tensor(10, 8), name="f", co_filename=f"{root}/{part}/model.py", co_firstlineno=line)
    return make.load(made)


def test_of_several_files_with_one_name_that_with_the_longest_common_path_is_meant() -> None:
    assert pairs(both_models("/srv/a"), both_models("/home/b")) == {"f:5": "f:5", "f:50": "f:50"}


def test_the_frames_of_all_generations_are_one_code() -> None:
    made = make.trace()
    for _ in range(3):
        made += make.compile("0/0", make.tensor(10, 8), name="f")
    pair = found("f", make.load(made), make.load(make.trace(make.compile("0/0", make.tensor(10, 8), name="f"))))
    assert pair.before is not None
    assert [frame.label for frame in pair.before.frames] == ["0", "0#2", "0#3"]
    assert pair.after is not None
    assert len(pair.after.frames) == 1


def test_resume_functions_are_found_by_their_function_though_all_lines_have_shifted() -> None:
    before = recorded(("f", 5), ("torch_dynamo_resume_in_f_at_7", 7), ("torch_dynamo_resume_in_f_at_11", 11))
    after = recorded(("f", 9), ("torch_dynamo_resume_in_f_at_11", 11), ("torch_dynamo_resume_in_f_at_15", 15))
    assert pairs(before, after) == {
        "f:5": "f:9",
        "f (resumed at line 7):7": "f (resumed at line 11):11",
        "f (resumed at line 11):11": "f (resumed at line 15):15",
    }


def test_a_graph_break_that_was_added_has_no_match() -> None:
    before = recorded(("f", 5), ("torch_dynamo_resume_in_f_at_7", 7), ("torch_dynamo_resume_in_f_at_11", 11))
    lines = (7, 9, 11)
    after = recorded(("f", 5), *((f"torch_dynamo_resume_in_f_at_{line}", line) for line in lines))
    assert [place_of(pair.after) for pair in match(before, after) if pair.before is None] == ["f (resumed at line 9):9"]


def test_resume_functions_of_one_line_are_distinguished_by_the_lines_in_their_names() -> None:
    names = [("torch_dynamo_resume_in_f_at_2", 5), ("torch_dynamo_resume_in_f_at_1", 5)]
    paired = pairs(recorded(*names), recorded(*reversed(names)))
    assert paired == {place: place for place in ("f (resumed at line 2):5", "f (resumed at line 1):5")}


def test_what_resumes_a_method_belongs_to_the_class_in_which_it_lies() -> None:
    codes: tuple[Given, ...] = (("forward", 10, "app.Encoder"), ("forward", 30, "app.Decoder"))
    before = recorded(*codes, ("torch_dynamo_resume_in_forward_at_33", 33))
    after = recorded(*codes, ("torch_dynamo_resume_in_forward_at_13", 13))
    assert pairs(before, after)["forward (resumed at line 33):33"] == "-"
    moved = recorded(("forward", 30, "app.Encoder"), ("forward", 50, "app.Decoder"), ("torch_dynamo_resume_in_forward_at_53", 53))
    assert pairs(before, moved)["forward (resumed at line 33):33"] == "forward (resumed at line 53):53"


def test_a_new_resume_function_belongs_to_the_function_that_it_resumes() -> None:
    pair = found("torch_dynamo_resume_in_f_at_7", recorded(("f", 5)), recorded(("f", 5), ("torch_dynamo_resume_in_f_at_7", 7)))
    assert pair.before is None
    assert pair.owner is not None
    assert place_of(pair.owner.after) == "f:5"


def called_from(name: str, line: int, **of: Any) -> bytes:
    """A trace of ``f``, lines 5 and on, and of ``g`` that is called at a line of the function of that name."""
    made = make.trace(make.compile("0/0", make.tensor(10, 8), name="f"))
    stack = [{"line": line, "name": name, "filename": 0, "loc": "g(x)"}, {"line": 40, "name": "g", "filename": 0}]
    made += make.record("dynamo_start", {"stack": stack}, id="1/0")
    return made + make.compile(
        "1/0", make.tensor(10, 8), guards=guard_tree(), graph="", name="g", co_firstlineno=40, is_started=False, **of
    )


def test_code_that_compiled_code_calls_belongs_to_it() -> None:
    alone = make.load(make.trace(make.compile("0/0", make.tensor(10, 8), name="f")))
    pair = found("g", alone, make.load(called_from("f", 8)))
    assert (pair.before, place_of(pair.owner.after if pair.owner else None)) == (None, "f:5")
    pair = found("g", make.load(called_from("f", 8)), alone)
    assert (pair.after, place_of(pair.owner.before if pair.owner else None)) == (None, "f:5")
    assert found("g", make.load(called_from("main", 8)), alone).owner is None


def test_code_that_was_compiled_because_its_caller_was_refused_belongs_to_it() -> None:
    """The stack of torch 2.10 and later lacks the calls of that caller and of the wrapper around the code."""
    after = make.load(make.trace(make.dynamic_size("0/0")))
    pair = found("inside", make.load(make.trace(make.run_at_limit(20))), after)
    assert place_of(pair.owner.before if pair.owner else None) == "f:5"
    older = make.load(make.trace(make.run_at_limit(20, version="")))
    assert found("inside", older, after).owner is None
    other = make.static_sizes(3, frame=1, name="g", line=60, pytorch_version="2.13.0")  # which may have called it as well
    assert found("inside", make.load(make.trace(make.run_at_limit(20, more=other))), after).owner is None
    broken = make.artifact("dynamo_graph_break_reason", "Call to print", id="0/1")  # then its own graphs call it
    assert found("inside", make.load(make.trace(make.run_at_limit(20, more=broken))), after).owner is None


LIBRARY = "/opt/python3.11/lib/python3.11/site-packages/torch/_dynamo/external_utils.py"


def wrapped(*codes: tuple[str, int], file: str = LIBRARY) -> Trace:
    """Wrappers of torch, each with the class that it wraps, "" where the trace does not record it, and the line of its caller."""
    made = make.trace()
    for number, (owner, line) in enumerate(codes):
        stack = [{"line": line, "name": "main", "filename": 0, "loc": "model(x)"}]
        made += make.record("dynamo_start", {"stack": stack}, id=f"{number}/0")
        guards = guard_tree(guard_manager("L['self']", type=owner)) if owner else guard_tree()
        own = {"name": "inner", "co_firstlineno": 40, "co_filename": file}
        made += make.compile(f"{number}/0", make.tensor(10, 8), guards=guards, is_started=False, **own)
    return make.load(made)


def test_library_wrappers_are_distinguished_by_the_class_that_they_wrap() -> None:
    before, after = wrapped(("app.Norm", 20), ("app.Block", 21)), wrapped(("app.Block", 31), ("app.Norm", 30))
    titles = {pair.before.title: pair.after.title for pair in match(before, after) if pair.before and pair.after}
    assert titles == {"Norm.inner": "Norm.inner", "Block.inner": "Block.inner"}
    assert all(pair.after is None for pair in match(wrapped(("app.Norm", 20)), wrapped(("app.Block", 20))) if pair.before)


@pytest.mark.parametrize(
    ("owner", "title"), [("app.Norm", "Norm.inner"), ("function", "inner"), ("int", "inner"), ("torch.Tensor", "inner")]
)
def test_a_wrapper_has_the_name_of_a_class_only_where_that_is_what_it_wraps(owner: str, title: str) -> None:
    (frame,) = wrapped((owner, 20)).frames
    assert frame.title == title


@pytest.mark.parametrize(("source", "title"), [("L['self']", "Trainer.step"), ("L['model']", "step")])
def test_a_method_of_any_class_has_its_name_and_a_function_that_takes_an_object_has_not(source: str, title: str) -> None:
    tree = guard_tree(guard_manager(source, type="app.Trainer"))
    (frame,) = make.load(make.trace(make.compile("0/0", make.tensor(10, 8), guards=tree, name="step"))).frames
    assert frame.title == title


def test_a_compile_has_the_title_of_its_own_class() -> None:
    trees = [guard_tree(guard_manager("L['self']", type=owner)) for owner in ("app.Vision", "app.Text")]
    made = [make.compile(f"0/{number}", make.tensor(10, 8), guards=tree, name="wrapper") for number, tree in enumerate(trees)]
    (frame,) = make.load(make.trace(*made, make.compile("0/2", name="wrapper", **make.FAILED))).frames
    assert [frame.title_of([compile]) for compile in frame.compiles] == ["Vision.wrapper", "Text.wrapper", "wrapper"]
    assert frame.title_of(frame.compiles) == "Vision.wrapper and Text.wrapper"
    (frame,) = make.load(make.trace(made[0], make.compile("0/1", name="wrapper", **make.FAILED))).frames
    assert [frame.title_of([compile]) for compile in frame.compiles] == ["Vision.wrapper", "Vision.wrapper"]


def test_wrappers_without_a_known_class_are_distinguished_by_the_calling_line() -> None:
    before, after = wrapped(("", 20), ("", 60)), wrapped(("", 61), ("", 21), file=LIBRARY.replace("3.11", "3.12"))
    lines = {pair.before.position: pair.after.position for pair in match(before, after) if pair.before and pair.after}
    assert lines == {20: 21, 60: 61}


def distributed(where: Path, *ranks: int) -> Trace:
    where.mkdir()
    for rank in ranks:
        made = make.trace(make.compile("0/0", make.tensor(10, 8), name="f"))
        path = where / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        path.write_bytes(made)
    return shapelog.load(where)


def ranks_of(before: Trace, after: Trace) -> list[tuple[int | None, int | None]]:
    return [(pair.before.first.rank if pair.before else -1, pair.after.first.rank if pair.after else -1) for pair in match(before, after)]


def test_ranks_are_matched_by_number(tmp_path: Path) -> None:
    before, after = distributed(tmp_path / "before", 0, 1, 2), distributed(tmp_path / "after", 2, 0)
    assert sorted(ranks_of(before, after)) == [(0, 0), (1, -1), (2, 2)]


def test_a_single_process_is_matched_with_the_first_rank(tmp_path: Path) -> None:
    alone = make.load(make.trace(make.compile("0/0", make.tensor(10, 8), name="f")))
    many = distributed(tmp_path / "many", 0, 1)
    assert ranks_of(alone, many) == [(None, 0), (-1, 1)]
    assert ranks_of(many, alone) == [(0, None), (1, -1)]


def test_forked_children_are_matched_in_their_order() -> None:
    trace = shapelog.load(FIXTURES / "real/2.6/r2_fork_names.log.gz")
    assert len(trace.ranks) > 1
    assert [pair.before.first.process for pair in match(trace, trace) if pair.before] == [frame.process for frame in trace.frames]


def test_a_program_is_found_in_the_trace_of_another_torch(tmp_path: Path) -> None:
    moved = tmp_path / "moved.log"
    raw = gzip.decompress((FIXTURES / "real/2.4/f_graph_breaks.log.gz").read_bytes())
    moved.write_bytes(raw.replace(b"/srv/ml/versions/scripts/", b"/elsewhere/"))
    before, after = shapelog.load(FIXTURES / "real/2.4/f_graph_breaks.log.gz"), shapelog.load(moved)
    assert all(pair.before and pair.after for pair in match(before, after))
    assert len(match(before, after)) == 25
