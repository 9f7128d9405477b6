"""Lines that mark a dim in code, with the tensor named as the code that makes the call would."""

import pytest

from shapelog.advice.mark_dynamic_code import expression, mark_line
from shapelog.advice.marks import Mark
from shapelog.reading.payloads.source_names import Source


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['x']", "x"),
        ("G['TABLE']", "TABLE"),
        ("L['args'][0]", "args[0]"),
        ("L['kwargs']['input_ids']", "kwargs['input_ids']"),
        ("L['d'][(0, 'a')]", "d[(0, 'a')]"),
        ("L['self'].cache", "self.cache"),
        ("L['self']._parameters['weight']", "self.weight"),
        ("L['self']._buffers['mean']", "self.mean"),
        ("L['self']._modules['lin']._parameters['weight']", "self.lin.weight"),
        ("L['self']._modules['layers']._modules['0'].k_cache", "self.layers[0].k_cache"),
        ("L['self']._modules['a-b']._parameters['w']", "self._modules['a-b'].w"),
    ],
)
def test_a_tensor_is_named_as_in_code(source: str, name: str) -> None:
    assert expression(source) == name
    line = mark_line(Mark(Source(source), 1), [], ())
    if Source(source).is_registered:
        assert line == f"# {name} is a parameter or buffer, which mark_dynamic does not affect: use the list"
    else:
        assert line == f"torch._dynamo.mark_dynamic({name}, 1)"


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["8", "3", "33"], "  # sizes 3–33 seen; add min= and max= only if no other sizes occur"),
        (["8", "1"], "  # sizes 1–8 seen"),
        (["0", "8"], "  # sizes 0–8 seen"),
        (["8", "8"], ""),
        (["8"], ""),
        ([], ""),
        (["8", "s77", "9"], "  # sizes 8–9 seen; add min= and max= only if no other sizes occur"),
    ],
)
def test_the_sizes_seen_are_a_comment_since_a_range_would_shut_out_others(values: list[str], note: str) -> None:
    assert mark_line(Mark(Source("L['x']"), 0), values, ("SL101",)) == f"torch._dynamo.mark_dynamic(x, 0){note}"


@pytest.mark.parametrize("code", ["SL201", "SL202", "SL203"])
def test_a_size_that_is_pinned_somewhere_is_marked_without_a_promise(code: str) -> None:
    """mark_dynamic raises where the code needs the exact size, and so would a range."""
    assert mark_line(Mark(Source("L['x']"), 0), ["8", "9"], ("SL101", code)) == "torch._dynamo.maybe_mark_dynamic(x, 0)  # sizes 8–9 seen"


@pytest.mark.parametrize("source", ["___from_numpy(L['a'])", "___as_tensor(L['a'])"])
def test_what_is_no_tensor_before_the_call_has_to_be_made_one(source: str) -> None:
    line = mark_line(Mark(Source(source), 0), ["8", "9"], ())
    assert line == "# a is not a tensor before the call: convert it (torch.from_numpy) and mark dim 0"


def test_a_range_is_not_proposed_where_the_size_is_compared() -> None:
    """mark_dynamic raises when a guard is narrower than the range it was given."""
    assert mark_line(Mark(Source("L['x']"), 0), ["8", "9"], ("SL101", "SL204")) == "torch._dynamo.mark_dynamic(x, 0)  # sizes 8–9 seen"


def test_code_after_a_graph_break_cannot_mark_its_own_tensors() -> None:
    line = mark_line(Mark(Source("L['y']"), 0), ["8", "9"], ("SL101",), is_resumed=True)
    assert line == "# y is created before a graph break: mark dim 0 in a function under @torch.compiler.disable, or use the list"


def test_no_line_of_the_user_marks_what_a_library_passes_itself() -> None:
    line = mark_line(Mark(Source("L['mask']"), 1), ["8", "9"], ("SL101",), is_within_library=True)
    assert line == "# mask is passed by code of a library: mark dim 1 of the input that it is made of, or use the list"
