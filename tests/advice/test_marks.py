"""How sources are spelled in the list of dynamic sources: PyTorch finds the ones that are meant, no others, and never fails on an entry."""

import re
import warnings

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from odd_sources import SOURCES

from shapelog.advice.marks import Mark, SourceNames, entries, is_expression, matched, matches, pattern, split_list
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source

V26, V28, V210, V213 = (TorchVersion(2, minor) for minor in (6, 8, 10, 13))
READERS = (V28, V210, V213)
FEW = settings(max_examples=60, deadline=None, derandomize=True)


def dynamic_in_pytorch(value: str, source: str, version: TorchVersion) -> tuple[bool, set[int] | None]:
    """(whether PyTorch finds the source in a list, which of its dims; None is all), by the rule in its source since torch 2.8."""
    found, dims = False, set()
    whole = False
    for entry in filter(None, value.replace(" ", "").split(",")):
        name, dim = entry, None
        split = re.match(r"^(.+):(\d+)$", entry) if (version.major, version.minor) >= (2, 13) else None
        if split:
            name, dim = split.group(1), int(split.group(2))
        if name == source or re.match(name, source):
            found = True
            whole = whole or dim is None
            dims.add(dim)
    return found, None if whole else {dim for dim in dims if dim is not None}


# What the entries look like.


@pytest.mark.parametrize(
    "source",
    [
        "L['x']",
        "L['self'].step",
        "L['args'][0]",
        "G['CHUNK']",
        "L['d'][\"it's\"]",
        "L['d']['[[x']",
        "L['d']['x:3']",
        "___from_numpy(L['a'])",
    ],
)
def test_a_name_that_pytorch_reads_as_it_stands_stays_as_it_is(source: str) -> None:
    assert pattern(source, SourceNames(SOURCES)) == source


@pytest.mark.parametrize(
    ("source", "spelled"),
    [
        ("L['feats'][(0, 'a')]", r"L\['feats'\]\[\(0..'a'\)\]$"),
        ("L['d']['a b']", r"L\['d'\]\['a.b'\]$"),
        ("L['d']['layer-0']", r"L\['d'\]\['layer\-0'\]$"),
        ("L['d']['](']", r"L\['d'\]\['\]\('\]$"),
        ("*bad", r"\*bad$"),
        ("x:3", "x:3$"),
        ("a\x1b", r"a\U0000001b$"),
    ],
)
def test_any_other_name_is_a_regular_expression_for_it_alone(source: str, spelled: str) -> None:
    assert pattern(source) == spelled


def test_a_name_that_finds_others_is_escaped_and_one_that_is_only_alike_is_not() -> None:
    assert pattern("a.b", SourceNames(["a.b", "a.c"])) == "a.b"
    assert pattern("a.b", SourceNames(["a.b", "axb"])) == r"a\.b$"
    assert pattern("x", SourceNames(["xy"])) == "x$"


def test_a_dot_stands_for_a_comma_or_a_blank_unless_it_would_find_others() -> None:
    blank, comma = "L['d']['a b']", "L['d']['a,b']"
    assert pattern(blank, SourceNames([blank, "L['d']['ab']"])) == r"L\['d'\]\['a.b'\]$"
    both = SourceNames([blank, comma])
    assert (pattern(blank, both), pattern(comma, both)) == (r"L\['d'\]\['a\x20b'\]$", r"L\['d'\]\['a\x2cb'\]$")


@pytest.mark.parametrize(
    "entry", [*(name for name in SOURCES if is_expression(name, may_warn=False)), "L['x']|b", "L['x']*", "L[^x]", "L[a-z]", "L[x]?"]
)
def test_the_names_that_an_entry_finds_are_those_that_it_matches(entry: str) -> None:
    names = [*SOURCES, "L", "Lx", "L'", "L['x']", "Lb", "b"]
    assert set(SourceNames(names).found_by(entry)) == {name for name in names if re.match(entry, name)}


def test_no_warning_comes_of_a_name() -> None:
    """``[a--b]`` is a regular expression that Python warns of: in this process, and in every compile that holds it against a source."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in SOURCES:
            entry = pattern(source, SourceNames(SOURCES))
            re.purge()
            assert re.match(entry, source) or entry == source


@pytest.mark.parametrize("source", SOURCES)
def test_the_list_is_one_printable_line_whatever_the_name(source: str) -> None:
    assert all(entry.isprintable() for entry in entries([Mark(Source(source), 0)], V213, SourceNames(SOURCES)))


def test_a_dim_is_named_from_torch_2_13_on() -> None:
    marks = [Mark(Source("L['x']"), 1), Mark(Source("L['x']"), 0), Mark(Source("L['k']"))]
    assert entries(marks, V213) == ("L['k']", "L['x']:0", "L['x']:1")
    assert entries(marks, V210) == ("L['k']", "L['x']")
    both = [Mark(Source("L['x']")), Mark(Source("L['x']"), 0)]  # an int of one frame has the name of a tensor of another
    assert entries(both, V213) == ("L['x']:0",)
    assert matched(entries(both, V213), both, V213) == set(both)


def test_an_int_has_a_dim_that_no_tensor_of_its_name_has() -> None:
    names = SourceNames(["L['x']"], {"L['x']": 4})
    assert entries([Mark(Source("L['x']"))], V213, names) == ("L['x']:4",)
    assert entries([Mark(Source("L['x']")), Mark(Source("L['x']"), 1)], V213, names) == ("L['x']:1",)
    assert entries([Mark(Source("L['k']"))], V213, names) == ("L['k']",)
    assert entries([Mark(Source("L['x']"))], V210, names) == ("L['x']",)


def test_a_version_that_reads_no_list_gets_none() -> None:
    assert entries([Mark(Source("L['x']"), 0), Mark(Source("L['k']"))], V26) == ()


# What PyTorch makes of them.


@pytest.mark.parametrize("version", READERS)
def test_each_entry_finds_its_own_source_and_no_other(version: TorchVersion) -> None:
    for source in SOURCES:
        for mark in (Mark(Source(source), 3), Mark(Source(source))):
            value = ",".join(entries([mark], version, SourceNames(SOURCES)))
            dims = {3} if version is V213 and not mark.is_int else None
            assert [item for item in SOURCES if dynamic_in_pytorch(value, item, version)[0]] == [source]
            assert dynamic_in_pytorch(value, source, version) == (True, dims)


@pytest.mark.parametrize("version", READERS)
def test_a_list_of_all_finds_all_with_the_dims_of_each(version: TorchVersion) -> None:
    wanted = {source: {number % 3, 7} for number, source in enumerate(SOURCES)}
    value = ",".join(entries([Mark(Source(source), dim) for source, dims in wanted.items() for dim in dims], version, SourceNames(SOURCES)))
    for source, dims in wanted.items():
        assert dynamic_in_pytorch(value, source, version) == (True, dims if version is V213 else None)


PARTS = st.text(alphabet=st.sampled_from("ab01,.* []()'\"\\$^|-:{}?+&~#!`é☃\n\t\x1b\u2028"), max_size=6)
DICT_KEYS = st.one_of(PARTS, st.text(max_size=6), st.integers(), st.tuples(PARTS, st.integers()), st.none(), st.booleans())
NAMES = st.from_regex(r"\A[a-z_][a-z0-9_]{0,3}\Z")
ROOTS = st.one_of(NAMES.map("L['{}']".format), NAMES, PARTS.map(str.strip).filter(bool))
NAMED = st.one_of(
    ROOTS,
    st.builds("{}[{!r}]".format, ROOTS, DICT_KEYS),
    st.builds("{}._modules[{!r}].{}".format, ROOTS, PARTS, NAMES),
    st.builds("___from_numpy({}[{!r}])".format, ROOTS, DICT_KEYS),
)


@FEW
@given(st.sets(NAMED, min_size=1, max_size=6), st.sampled_from(READERS))
@example({"L['d']['a b']", "L['d']['a,b']", "L['d']['axb']"}, V213)
@example({"L['d'][(0, 'a')]", "L['d'][(0, ' a')]", "L['d']['(0, a)']"}, V28)
@example({"x", "x:1", "xy", "x.", "x.y"}, V213)
def test_whatever_the_names_an_entry_finds_its_own_and_no_other(names: set[str], version: TorchVersion) -> None:
    for name in names:
        for mark in (Mark(name, 1), Mark(name)):
            value = ",".join(entries([mark], version, SourceNames(names)))
            assert {item for item in names if dynamic_in_pytorch(value, item, version)[0]} == {name}
            assert dynamic_in_pytorch(value, name, version)[1] == ({1} if version is V213 and not mark.is_int else None)


@FEW
@given(st.lists(st.one_of(NAMED, PARTS), min_size=1, max_size=4), NAMED, st.sampled_from(READERS), st.integers(-1, 2))
@example(["L['x']:0"], "L['x']", V28, 0)
@example(["L['x']:0", "L['x']:2"], "L['x']", V213, 1)
@example([r"L\['x"], "L['xy']", V28, 0)
def test_an_entry_matches_as_pytorch_reads_it(listed: list[str], source: str, version: TorchVersion, dim: int) -> None:
    value = ",".join(listed)
    assume(not re.search(r"\)[*+?{]", value))  # a repeated group, which could take for ever, is taken to match nothing
    mark = Mark(Source(source), dim)
    is_matched = mark in matched(split_list(value), [mark, Mark(Source("another"))], version)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, dims = dynamic_in_pytorch(value, source, version)
    except re.error:  # PyTorch fails on it; the other entries are taken by their own
        return
    assert is_matched == (found and (dims is None or mark.is_int or dim in dims))


def test_an_entry_that_is_no_regular_expression_matches_nothing_but_itself() -> None:
    assert not matches("*bad", Mark(Source("bad"), 0), V213)
    assert not matches("L['d']['a-0']", Mark(Source("L['d']['a-1']")), V28)


def test_nothing_matches_in_a_version_that_reads_no_list() -> None:
    assert not matches("L['x']", Mark(Source("L['x']"), 0), V26)


def test_a_list_is_split_as_pytorch_splits_it() -> None:
    assert split_list(" L['x'] : 0,, L['d'][(0, 'a')],") == ("L['x']:0", "L['d'][(0", "'a')]")
    assert split_list("") == ()


def test_marks_are_ordered_by_source_and_an_int_comes_before_a_dim() -> None:
    a, b = Source("a"), Source("b")
    assert sorted([Mark(b, 0), Mark(a, 1), Mark(a), Mark(a, 0)]) == [Mark(a), Mark(a, 0), Mark(a, 1), Mark(b, 0)]
    assert (Mark(a).is_int, Mark(a, 0).is_int) == (True, False)


# PyTorch itself.


@pytest.mark.torch
def test_pytorch_finds_what_is_meant() -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    from torch._dynamo.variables.builder import is_dynamic_source

    for source in SOURCES:
        names = SourceNames(SOURCES)
        dim, whole = entries([Mark(Source(source), 1)], V213, names), entries([Mark(Source(source))], V213, names)
        with torch.compiler.config.patch(dynamic_sources=",".join(dim)):
            assert [item for item in SOURCES if is_dynamic_source(item)] == [source]
            assert [number for number in range(3) if is_dynamic_source(source, number)] == [1]
        with torch.compiler.config.patch(dynamic_sources=",".join(whole)):
            assert [item for item in SOURCES if is_dynamic_source(item, 2)] == [source]


@pytest.mark.torch
@settings(parent=FEW, max_examples=60)
@given(st.sets(NAMED, min_size=1, max_size=5))
def test_pytorch_finds_each_of_any_names_and_no_other(names: set[str]) -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    from torch._dynamo.variables.builder import is_dynamic_source

    for name in names:
        with torch.compiler.config.patch(dynamic_sources=",".join(entries([Mark(name, 0)], V213, SourceNames(names)))):
            assert {item for item in names if is_dynamic_source(item, 0)} == {name}
            assert not is_dynamic_source(name, 1)
