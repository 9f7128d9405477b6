"""What code does with an int, read off the lines that a trace quotes, and whether PyTorch does what they suggest."""

import math

import make
import pytest
from payload_text import equals_match, graph_text, guard_manager, guard_tree, tensor_match

from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.int_usage import QuotedCode, Use, spelled, tensor_made_of, use_in, uses_whole_range

# Lines that use k, as PyTorch 2.13 takes them when k is a dynamic source.
MEASURED = (
    ("y = x * k", Use.PLAIN),
    ("y = x[:k]", Use.PLAIN),
    ("y = x.view(-1)[k:]", Use.PLAIN),
    ("y = torch.zeros(k) + x.sum()", Use.PLAIN),
    ("y = x if k > 1 else -x", Use.PLAIN),
    ("y = x * int(k) * float(k) * abs(k) * min(k, 9) * max(k, 1)", Use.PLAIN),
    ("y = x * pow(k, 2) * round(k) * sum([k, 1])", Use.PLAIN),
    ("y = x if isinstance(k, int) else -x", Use.PLAIN),
    ("y = x * (k // 2) + k % 2", Use.PLAIN),
    ("y = x * math.sqrt(k)", Use.PLAIN),
    ("y = x * getattr(torch, 'nothing', k)", Use.PLAIN),
    ("assert k > 2, f'got {k}'; y = x * k", Use.PLAIN),
    ("y = x * math.log(k)", Use.PINS),
    ("y = x * k.bit_length()", Use.PINS),
    ("y = x * len({k: 1})", Use.PINS),
    ("y = x * (k in {3, 4})", Use.PINS),
    ("y = x + torch.hann_window(k).sum()", Use.PINS),
    ("y = x * len(range(k))", Use.PINS),
    ("y = x * names[k]", Use.PINS),
    ("y = x * table[k]", Use.PINS),
    ("y = x * len([0] * k)", Use.PINS),
    ("y = x * len(k * (1,))", Use.PINS),
    ("y = x * len(f'{k}')", Use.FORMATS),
    ("y = x * len(f'{k:03d}')", Use.FORMATS),
    ("y = x * len('k=%d' % k)", Use.FORMATS),
    ("y = x * len('{}'.format(k))", Use.FORMATS),
    ("y = x * len(format(k))", Use.FORMATS),
    ("y = x * divmod(k, 2)[0]", Use.FAILS),
    ("y = x * ~k", Use.FAILS),
    ("y = x if k in range(9) else -x", Use.FAILS),
)
CONTAINERS = frozenset(("names", "table", "self.layers"))


@pytest.mark.parametrize(("code", "use"), MEASURED)
def test_a_line_is_known_by_what_it_does_with_the_int(code: str, use: Use) -> None:
    assert use_in(code, "k", CONTAINERS) is use


GRAPHS = {Use.PLAIN: 1, Use.PINS: 3, Use.FORMATS: 0, Use.FAILS: 0}


@pytest.mark.torch
@pytest.mark.parametrize(("code", "use"), MEASURED)
def test_pytorch_does_with_a_dynamic_int_what_is_expected_of_the_line(code: str, use: Use) -> None:
    """One graph for three values, a graph for each, or none at all."""
    torch = pytest.importorskip("torch", minversion="2.13")
    made: list[object] = []

    def backend(module: object, inputs: object) -> object:
        made.append(module)
        return module

    scope = {"torch": torch, "math": math, "names": list(range(9)), "table": {number: number for number in range(9)}}
    exec(f"def f(x, k):\n    {code}\n    return y + 1\n", scope)
    torch._dynamo.reset()
    with torch.compiler.config.patch(dynamic_sources="L['k']"):
        compiled = torch.compile(scope["f"], backend=backend)
        for value in (3, 4, 5):
            try:
                compiled(torch.ones(9), value)
            except torch._dynamo.exc.InternalTorchDynamoError:  # format() of a symbolic int is not even taken for a graph break
                assert use >= Use.FORMATS
    assert len(made) == GRAPHS[use]


@pytest.mark.parametrize(
    ("code", "name", "use"),
    [
        ("for i in range(0, k):", "k", Use.PINS),
        ("elif x and table[k]:", "k", Use.PINS),
        ("while k > 3:", "k", Use.PLAIN),
        ("with scope(k):", "k", Use.HANDS_ON),
        ("return helper(x, size=k)", "k", Use.HANDS_ON),
        ("x = self.run(k)", "k", Use.HANDS_ON),
        ("x = x.expand(k, -1)", "k", Use.PLAIN),
        ("while done < k:", "k", Use.PLAIN),
        ("if k in (2, 3):", "k", Use.PLAIN),
        ("if k in known:", "k", Use.PINS),
        ("return {(k, 1): x}", "k", Use.PINS),
        ("return table.get(k, 0)", "k", Use.PINS),
        ("parts = x.chunk(k, -1)", "k", Use.PINS),
        ("parts = x.split(k, -1)", "k", Use.PLAIN),
        ("order = sorted((k, 2))", "k", Use.FAILS),
        ("width = x.size(k)", "k", Use.FAILS),
        ("parts = x.shape[k:]", "k", Use.PINS),
        ("rows = x.size(0) // math.gcd(k, 4)", "k", Use.FAILS),
        ("self.step += 1", "self.step", Use.PLAIN),
        ("y = self.layers[self.step](x)", "self.step", Use.PINS),
        ("y = other[self.step]", "self.step", Use.PLAIN),
        ("log(f'step {self.step}')", "self.step", Use.FORMATS),
        ("assert k > 2, f'got {k}'", "k", Use.PLAIN),
        ("assert f'{k}' in names, 'unknown'", "k", Use.FORMATS),
        ("assert x.numel(), f'{k} rows'", "k", Use.UNSEEN),
        ("print(f'{x}', k)", "k", Use.PLAIN),
        ("y = f'{x}' if k else ''", "k", Use.PLAIN),
        ("return x + kk", "k", Use.UNSEEN),
        ("y = foo(x,", "k", Use.UNSEEN),
        ("y = foo(f'{k}',", "k", Use.FORMATS),
        ("x, k * 2)", "k", Use.PLAIN),
        ("", "k", Use.UNSEEN),
        ("x = 'unfinished {k", "k", Use.UNSEEN),
        ("(" * 500, "k", Use.UNSEEN),
        ("k\x00", "k", Use.UNSEEN),
    ],
)
def test_a_line_is_read_though_it_is_a_part_of_a_statement(code: str, name: str, use: Use) -> None:
    assert use_in(code, name, CONTAINERS) is use


@pytest.mark.parametrize("code", ["return f'{number:04d}'", "return '%d' % number", "return '{}'.format(number)", "return format(number)"])
def test_formatting_counts_where_the_line_has_another_name_for_the_int(code: str) -> None:
    assert use_in(code, "k") is Use.FORMATS
    assert use_in("return number * 2", "k") is Use.UNSEEN


def test_a_look_up_pins_only_where_the_container_is_one_of_python() -> None:
    """A tensor is sliced by a symbolic int without harm."""
    assert use_in("y = table[k]", "k", frozenset(("table",))) is Use.PINS
    assert use_in("y = table[k]", "k") is Use.PLAIN


def test_a_slice_of_a_list_fails_where_the_int_is_symbolic_before_it_is_used() -> None:
    assert use_in("for layer in self.layers[:self.k]:", "self.k", CONTAINERS, is_eager=True) is Use.FAILS
    assert use_in("for layer in self.layers[:self.k]:", "self.k", CONTAINERS) is Use.PINS
    assert use_in("layer = self.layers[self.k]", "self.k", CONTAINERS, is_eager=True) is Use.PINS
    assert use_in("x = x.view(x.shape[:self.k])", "self.k", is_eager=True) is Use.FAILS


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['k']", "k"),
        ("L['self'].step", "self.step"),
        ("G['STEP']", "STEP"),
        ("L['d']['n']", "d['n']"),
        ("L['a'][ 0 ]", "a[0]"),
        ("x y", "x y"),
    ],
)
def test_an_int_is_named_as_in_code(source: str, name: str) -> None:
    assert spelled(Source(source)) == name


# The lines that a trace quotes.


def quoted(line: int, code: str, name: str = "f", file: str = "app/model.py") -> str:
    return f"# {code}  # {file}:{line} in {name}"


def frame(*comments: str, containers: tuple[str, ...] = (), **more: object) -> Frame:
    """A function of x and k, from line 5 on, whose guards on k bear these comments; its graph quotes line 6."""
    parts = [guard_manager("L['k']", "EQUALS_MATCH: L['k'] == 3", type="int", comment=comment) for comment in comments]
    parts += [guard_manager(source, f"LENGTH_CHECK: len({source}) == 3") for source in containers]
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards=guard_tree(tensor_match(), *parts), **more))
    return make.load(made).frames[0]


def test_the_lines_of_a_function_are_those_that_its_guards_and_graphs_quote() -> None:
    found = frame(quoted(8, "y = x * k"), quoted(9, "return number", name="helper"), quoted(7, "z = 1", file="app/other.py"))
    assert QuotedCode(found).lines == {6: "return x + 1", 8: "y = x * k"}


def test_lines_of_another_file_of_a_like_name_are_not_its_own() -> None:
    assert QuotedCode(frame(quoted(7, "z = f'{k}'", file="app/supermodel.py"))).lines == {6: "return x + 1"}


def test_the_most_harmful_use_counts() -> None:
    assert QuotedCode(frame(quoted(8, "y = x * k"))).use_of(Source("L['k']")) is Use.PLAIN
    assert QuotedCode(frame(quoted(8, "y = x * k"), quoted(9, "z = y * range(k)[-1]"))).use_of(Source("L['k']")) is Use.PINS
    assert (
        QuotedCode(frame(quoted(8, "y = x * k"), quoted(9, "z = f'{k}'"), quoted(10, "range(k)"))).use_of(Source("L['k']")) is Use.FORMATS
    )


def test_a_use_in_a_function_that_is_called_counts() -> None:
    """The guard says where the int was looked at first, under whatever name."""
    assert QuotedCode(frame(quoted(30, "return f'{number}'", name="helper"))).use_of(Source("L['k']")) is Use.FORMATS
    assert QuotedCode(frame(quoted(30, "return number + 1", name="helper"))).use_of(Source("L['k']")) is Use.UNSEEN


def test_the_lists_and_dicts_of_a_function_are_known_by_its_guards() -> None:
    comment = quoted(8, "y = x * table[k]")
    assert QuotedCode(frame(comment)).use_of(Source("L['k']")) is Use.PLAIN
    assert QuotedCode(frame(comment, containers=("G['table']",))).use_of(Source("L['k']")) is Use.PINS


def test_an_int_that_no_line_names_is_unseen() -> None:
    assert QuotedCode(frame()).use_of(Source("L['k']")) is Use.UNSEEN


def test_a_function_is_seen_whole_when_each_line_up_to_the_last_is_quoted() -> None:
    assert QuotedCode(frame(quoted(7, "z = k"), quoted(8, "y = x * k"))).is_whole
    assert not QuotedCode(frame(quoted(9, "y = x * k"))).is_whole


def test_the_line_below_a_decorator_need_not_be_quoted() -> None:
    body = graph_text().replace("model.py:6", "model.py:7")
    assert QuotedCode(frame(graph=body)).is_whole
    assert QuotedCode(frame(quoted(8, "y = x * k"), graph=body)).is_whole
    assert not QuotedCode(frame(quoted(9, "y = x * k"), graph=body)).is_whole


def test_a_function_without_any_line_is_not_seen() -> None:
    bare = "\n".join(line for line in graph_text().splitlines() if "# File:" not in line)
    made = make.trace(
        make.compile(
            "0/0", make.tensor(10, 8), graph=bare, guards=guard_tree(guard_manager("L['k']", "EQUALS_MATCH: L['k'] == 3", comment=""))
        )
    )
    assert not QuotedCode(make.load(made).frames[0]).is_whole


@pytest.mark.parametrize("code", ["name = 'layer' + str(k)", "y = x * TABLE[repr(k)]", "label = format(k, 'd')"])
def test_spelling_an_int_out_is_formatting_though_it_only_breaks_the_graph(code: str) -> None:
    assert use_in(code, "k") is Use.FORMATS


def test_a_line_with_a_longer_name_does_not_count() -> None:
    found = frame(quoted(8, "y = x * k"), graph=graph_text().replace("code: return x + 1", "code: z = f'{key}'"))
    assert QuotedCode(found).use_of(Source("L['k']")) is Use.PLAIN


def test_a_function_is_quoted_whole_without_a_gap_or_its_decorator() -> None:
    assert QuotedCode(frame(quoted(7, "z = 1"), quoted(8, "y = x * k"))).is_whole
    assert not QuotedCode(frame(quoted(8, "y = x * k"))).is_whole
    assert QuotedCode(frame(quoted(7, "z = 1"), line=4)).is_whole  # line 5 may be the one with def


def test_a_line_far_below_is_not_counted_to() -> None:
    assert not QuotedCode(frame(quoted(999_999_999, "y = x * k"))).is_whole


def test_of_many_lines_with_self_only_those_with_the_int_are_looked_at() -> None:
    code = QuotedCode(frame(*(quoted(7 + number, f"x = x * self.k{number}") for number in range(50))))
    assert list(code._lines_with("self.k7")) == ["x = x * self.k7"]
    assert code.use_of(Source("L['self'].k7")) is Use.PLAIN


# Lines that use r, and whether PyTorch 2.13 fails on them when its ints are dynamic sources.
RANGES = (
    ("y = x * r.stop", False),
    ("y = x[r.start : r.stop]", False),
    ("y = x * len(r)", True),
    ("y = x + sum(list(r))", True),
    ("y = x + sum([i * 2 for i in r])", True),
    ("y = x * r[0]", True),
    ("y = x if 3 in r else -x", True),
    ("y = x if r else -x", True),
    ("for i, j in enumerate(r): y = x + i", True),
)


@pytest.mark.parametrize(("code", "fails"), RANGES)
def test_a_range_is_used_as_a_whole_where_the_line_goes_over_it_or_takes_items(code: str, fails: bool) -> None:
    assert uses_whole_range(code, "r") is fails


@pytest.mark.parametrize(("code", "fails"), [("for _ in range(n):", True), ("y = x[range(n).stop :]", False), ("for _ in rows:", False)])
def test_a_resumed_function_has_the_range_of_its_line_under_another_name(code: str, fails: bool) -> None:
    assert uses_whole_range(code, "___stack0") is fails
    assert not uses_whole_range(code, "r")


@pytest.mark.torch
@pytest.mark.parametrize(("code", "fails"), RANGES)
def test_pytorch_fails_on_a_range_of_dynamic_ints_that_is_used_as_a_whole(code: str, fails: bool) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.compiler.config, "dynamic_sources"):
        pytest.skip("this torch has no dynamic sources")
    scope: dict = {}
    exec(f"def f(x, r):\n    {code}\n    return y\n", scope)  # lines of this test
    made = []
    torch._dynamo.reset()
    with torch.compiler.config.patch(dynamic_sources="L['r'].start,L['r'].stop,L['r'].step"):
        compiled = torch.compile(scope["f"], backend=lambda module, inputs: made.append(module) or module.forward)
        for stop in (4, 5, 6):
            try:
                compiled(torch.ones(9), range(2, stop))
            except torch._dynamo.exc.InternalTorchDynamoError:
                assert fails
    assert (len(made) != 1) is fails


def test_the_ints_of_a_range_cannot_be_symbolic_where_it_is_used_as_a_whole() -> None:
    def of(kind: str) -> QuotedCode:
        of_range = (guard_manager("L['r']", type=kind), equals_match("L['r'].stop", 3, comment=quoted(8, "for i in r:")))
        made = make.trace(make.compile("0/0", make.tensor(10, 8), guards=guard_tree(tensor_match(), *of_range)))
        return QuotedCode(make.load(made).frames[0])

    assert of("range").use_of(Source("L['r'].stop")) is Use.FAILS
    assert of("list").use_of(Source("L['r'].stop")) is Use.UNSEEN
    assert of("range").use_of(Source("L['r'].size")) is Use.UNSEEN


@pytest.mark.parametrize(
    ("code", "source", "made"),
    [
        ("mask = positions < torch.tensor(lengths)[:, None]", "L['lengths']", "torch.tensor(lengths)"),
        (
            "return torch.as_tensor(self.sizes[0], device=x.device)",
            "L['self'].sizes[0][1]",
            "torch.as_tensor(self.sizes[0], device=x.device)",
        ),
        ("a = np.array((low, high))", "L['high']", "np.array((low, high))"),
        ("return torch.LongTensor(ids).to(device)", "L['ids'][0]", "torch.LongTensor(ids)"),
        ("mask = x.new_tensor([low, high])", "L['high']", "x.new_tensor([low, high])"),
        ("return torch.tensor(len(lengths))", "L['lengths']", ""),
        ("return torch.tensor([n * 2])", "L['n']", ""),
        ("return x[torch.tensor(other)] + scale", "L['scale']", ""),
        ("y = tensor(w)", "L['w']", ""),
        ("not a line (", "L['w']", ""),
    ],
)
def test_a_line_may_make_a_tensor_of_a_number_or_a_list(code: str, source: str, made: str) -> None:
    assert tensor_made_of(code, Source(source)) == made
