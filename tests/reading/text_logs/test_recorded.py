"""A log with guards, graphs and symbols gives the answer of the trace of the same program."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.model.compile import Outcome
from shapelog.reading.payloads.properties import size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import explain_trace

FIXTURES = Path(__file__).parents[3] / "fixtures"
LOGS = sorted(FIXTURES.glob("text_logs/2.*/*.txt.gz"))
RECOMPILING = [path for path in LOGS if "failures" not in path.name]


@pytest.mark.parametrize("path", RECOMPILING, ids=[f"{path.parent.name}-{path.name.partition('.')[0]}" for path in RECOMPILING])
def test_every_recompile_has_a_cause_and_its_frame_a_name(path: Path) -> None:
    explained = explain_trace(load(path), debug=True)
    assert explained.recompiles
    assert {item.codes for item in explained.recompiles}.isdisjoint({("SL399",)})
    assert all(item.frame.name for item in explained.recompiles)


def test_a_size_is_known_from_its_symbol_where_the_tensor_is_not_described(tmp_path: Path) -> None:
    """``TORCH_LOGS=dynamic`` has no ``track_symint``, from which the tensors of a log are put together; ``+dynamic`` has."""
    head, where = "V1124 17:18:32.051000 28752 torch/_dynamo/guards.py:4514] [0/2] [__recompiles]", "app/model.py:8 in g"
    lines = (
        f"{head} Recompiling function g in /srv/app/model.py:4",
        f"{head}     triggered by the following guard failure(s):",
        f"{head}     - 0/1: 2 <= x.size()[0] <= 30  # if x.size()[0] <= 30:  # {where} (_dynamo/variables/tensor.py:1514 in evaluate_expr)",
        "I1124 17:18:32.058000 28752 torch/fx/experimental/symbolic_shapes.py:5225] [0/2] create_symbol s77 = 40 for L['x'].size()[0] "
        f"[2, int_oo] if x.size()[0] <= 30:  # {where} (_dynamo/variables/builder.py:3702 in <lambda>)",
    )
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    explained = explain_trace(load(tmp_path / "run.log"), debug=True)
    (recompile,) = explained.recompiles
    assert recompile.codes == ("SL204",)
    assert explained.facts.of(recompile.compile).facts[Source("L['x']"), size(0)] == 40


def test_symbols_of_the_programs_own_fake_tensors_are_no_compile_where_others_have_ids(tmp_path: Path) -> None:
    head, file = "V1124 17:18:32.051000 28752 torch/fx/experimental/symbolic_shapes.py:5743]", "/srv/app/model.py"
    own = f"{head} create_symbol s26 = 3 for __meta_utils_unknown_tensor0.size()[0] [2, int_oo] (app/model.py:9 in main)"
    (tmp_path / "own.log").write_text(f"{own}\n")
    (tmp_path / "run.log").write_text(
        f"{own}\n{head} [0/1] [__recompiles] Recompiling function f in {file}:4\n"
        f"{head} [0/1] [__recompiles]     triggered by the following guard failure(s):\n"
        f"{head} [0/1] [__recompiles]     - 0/0: k == 3\n{own}\n"
    )
    assert [compile.label for compile in load(tmp_path / "own.log").compiles] == ["0/0"]
    assert [compile.label for compile in load(tmp_path / "run.log").compiles] == ["0/0", "0/1"]


def test_a_tensor_has_the_strides_that_its_symbols_make_and_may_be_a_leaf(tmp_path: Path) -> None:
    head = "V1124 17:18:32.051000 28752 torch/_dynamo/guards.py:4514] [0/0]"
    parts = ("size()[0] s1 None", "size()[1] s0 None", "stride()[0] 2*s0 None", "stride()[1] s9 None", "storage_offset() 0 None")
    tensor = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=True, size=[None, None])"
    lines = (
        *(f"{head} create_symbol s{number} = {number + 3} for L['x'].size()[{1 - number}] [2, int_oo] y = x + 1" for number in (0, 1)),
        *(f"{head} track_symint L['x'].{part}" for part in parts),
        f"{head} [__guards] GUARDS:",
        f"{head} [__guards] TREE_GUARD_MANAGER:",
        f"{head} [__guards] +- RootGuardManager",
        f"{head} [__guards] | +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)",
        f"{head} [__guards] | | +- TENSOR_MATCH: {tensor}",
    )
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    (made,) = load(tmp_path / "run.log").compiles[0].inputs
    assert (made.size, made.stride) == ((4, 3), (6, -1))
    assert (made.requires_grad, made.is_leaf, made.has_history) == (True, None, False)


@pytest.mark.parametrize("path", LOGS, ids=[f"{path.parent.name}-{path.name.partition('.')[0]}" for path in LOGS])
def test_no_function_is_called_at_its_own_first_line(path: Path) -> None:
    trace = load(path)
    callers = [(frame.name, frame.caller(compile)) for frame in trace.frames for compile in frame.compiles]
    assert [name for name, caller in callers if caller and caller.name == name] == []


def test_a_condition_on_data_that_is_assumed_is_no_failure(tmp_path: Path) -> None:
    head, place = "I1120 08:36:03.686000 19122 torch/fx/experimental/symbolic_shapes.py:8249] [0/0]", "app/model.py:7 in forward"
    lines = (
        f"could not evaluate Eq(u0, 0) due to data dependency, it was assumed to be False with no runtime assertions y  # {place}",
        "User Stack (most recent call last):",
        "  (snipped, see stack below for prefix)",
        '  File "/srv/app/model.py", line 7, in forward',
        "    return self.lin(x)",
        "",
        "For C++ stack trace, run with TORCHDYNAMO_EXTENDED_DEBUG_CPP=1",
    )
    guards = "V1120 08:36:03.992000 19122 torch/_dynamo/guards.py:4483] [0/0] [__guards]"
    tree = f"{guards} GUARDS:\n{guards} TREE_GUARD_MANAGER:\n{guards} +- RootGuardManager\n"
    (tmp_path / "run.log").write_text("".join(f"{head} {line}\n" for line in lines * 2) + tree)
    assert [compile.outcome for compile in load(tmp_path / "run.log").compiles] == [Outcome.COMPILED]


def test_a_frame_whose_id_came_again_is_another_function() -> None:
    trace = load(FIXTURES / "text_logs" / "2.13" / "g_limit.txt.gz")
    names = {frame.label: frame.name for frame in trace.frames}
    assert [names[label] for label in ("0", "0#2", "0#3")] == ["f", "forward", "f2"]


def test_a_function_is_where_a_later_message_has_its_first_line() -> None:
    """The first compile is known by a line of its graph, and a recompilation by the line of the function."""
    frame = load(FIXTURES / "text_logs" / "2.13" / "g_limit.txt.gz").frames[0]
    assert (frame.name, frame.line) == ("f", 5)


def test_exceptions_are_failures_with_the_function_that_was_compiled() -> None:
    trace = load(FIXTURES / "text_logs" / "2.6" / "l_failures.txt.gz")
    failed = [compile for compile in trace.compiles if compile.outcome is Outcome.FAILED]
    assert "BackendCompilerFailed" in {compile.metrics.fail_type for compile in failed}
    assert all(compile.failure.title for compile in failed)


def test_a_log_has_no_times() -> None:
    trace = load(FIXTURES / "text_logs" / "2.13" / "g_limit.txt.gz")
    assert {compile.metrics.seconds for compile in trace.compiles} == {None}
    assert trace.is_text


def test_two_ranks_in_one_file() -> None:
    trace = load(FIXTURES / "text_logs" / "2.6" / "n_dist.txt.gz")
    assert [rank.number for rank in trace.ranks] == [0, 1]


def test_sizes_and_strides_are_those_of_the_call() -> None:
    trace = load(FIXTURES / "text_logs" / "2.4" / "a_auto.txt.gz")
    first = trace.frames[0].compiles[1].inputs[0]
    assert (first.source, first.size, first.stride, first.dtype) == ("L['x']", (20,), (1,), "float32")
