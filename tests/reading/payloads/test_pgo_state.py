"""Code states: what PGO knows about each source, as each torch version writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import report_of

from shapelog.reading.payloads.pgo_state import CodeEntry, CodeState, SourceState, StateKind, parse

SENTENCE = (
    "PGO detected a recompilation due to dynamic shapes. To reduce shape recompilations by compiling dynamically to start, "
    'set environment variable TORCH_COMPILE_DYNAMIC_SOURCES="{}"'
)
RECORDED = (
    "real/2.6/k_pgo_cold.log.gz",
    "real/2.13/dict_tuple_keys.pgo_cold.log.gz",
    "real/2.13/no_recompiles.pgo_warm.log.gz",
    "real/2.13/optimizer_loop.pgo_warm.log.gz",
    "real/2.13/pgo_remote.log.gz",
    "real/2.15/k_pgo_warm.log.gz",
)


def written(entries: tuple[CodeEntry, ...]) -> str:
    """The entries as PyTorch renders them."""
    heads = [f"{f'hash({entry.digest})' if entry.digest else ''}{entry.file}:{entry.line}:{entry.name}:\n" for entry in entries]
    bodies = ["\n".join(f"  {state.source}: {state.text}" for state in entry.states) for entry in entries]
    return "\n".join(head + body for head, body in zip(heads, bodies, strict=True))


def one(line: str) -> SourceState:
    state = parse(f"/srv/app/model.py:8:f:\n{line}")
    assert state.unread == 0
    return state.entries[0].states[0]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_state_is_read_completely(name: str) -> None:
    records = [record for compile in report_of(name).trace.compiles for record in compile.code_states]
    assert records
    for record in records:
        state = record.state
        assert state.unread == 0
        closing = f"\n\n{SENTENCE.format(state.suggestion_text)}" if state.suggestion_text else ""
        assert written(state.entries) + closing == record.payloads.text(record.span)


@pytest.mark.parametrize("name", RECORDED)
def test_dynamic_sources_are_those_that_pytorch_suggests(name: str) -> None:
    for compile in report_of(name).trace.compiles:
        for record in compile.code_states:
            if "2.6" not in name:
                assert record.state.suggestion == record.state.dynamic_sources
                assert record.state.suggestion_text == ",".join(record.state.dynamic_sources)


def test_a_tensor_with_dynamic_and_inferred_parts() -> None:
    state = one("  L['x']: tensor size=[?, 8, 4] stride=[S(1), ?, 1]")
    assert state.kind is StateKind.TENSOR
    assert (state.sizes, state.strides) == ((None, 8, 4), ("S(1)", None, 1))
    assert state.is_dynamic


def test_a_tensor_without_dims() -> None:
    state = one("  L['step']: tensor size=[] stride=[]")
    assert (state.kind, state.sizes, state.strides, state.is_varied) == (StateKind.TENSOR, (), (), False)


def test_a_source_with_only_dynamic_strides_is_not_suggested_by_pytorch() -> None:
    state = one("  L['x']: tensor size=[3, 4] stride=[?, ?]")
    assert state.is_varied
    assert not state.is_dynamic


def test_a_size_that_is_not_a_number_stays_text() -> None:
    assert one("  L['x']: tensor size=[auto unset, s0] stride=[1, 1]").sizes == ("auto unset", "s0")


@pytest.mark.parametrize("number", ["3", "-3", "1.5", "1e-06", "nan", "-inf"])
def test_a_number(number: str) -> None:
    state = one(f"  L['k']: scalar {number}")
    assert (state.kind, state.scalar, state.text, state.is_varied) == (StateKind.SCALAR, number, f"scalar {number}", False)


def test_a_fully_dynamic_source() -> None:
    state = one("  L['m']: fully dynamic scalar or tensor")
    assert state.kind is StateKind.ANYTHING
    assert state.is_dynamic


@pytest.mark.parametrize(
    "text", ["auto unset", "unusual {repr(self)}", "unusual FrameStateSizeEntry(scalar=<AutoUnset.token: 0>, size=(3, 4), stride=(4, 1))"]
)
def test_an_unusual_state_is_kept_as_text(text: str) -> None:
    state = one(f"  L['x']: {text}")
    assert (state.source, state.kind, state.text) == ("L['x']", StateKind.UNUSUAL, text)


@pytest.mark.parametrize(
    "key", ["a: scalar 3", 'it\'s, "b"', ": tensor size=[1] stride=[1]", "]: unusual x", "fully dynamic scalar or tensor"]
)
@pytest.mark.parametrize("text", ["tensor size=[?] stride=[1]", "scalar 2", "unusual FrameStateSizeEntry(scalar=<AutoUnset.token: 0>)"])
def test_a_key_may_look_like_a_state(key: str, text: str) -> None:
    source = f"L['d'][{key!r}]"
    state = one(f"  {source}: {text}")
    assert (state.source, state.text) == (source, text)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("/srv/app/model.py:8:f:", ("", "/srv/app/model.py", 8, "f")),
        ("hash(b795754d)/srv/app/model.py:8:<lambda>:", ("b795754d", "/srv/app/model.py", 8, "<lambda>")),
        (r"hash(b795754d)C:\app\a:b.py:12:f:", ("b795754d", r"C:\app\a:b.py", 12, "f")),
        ("hash(<ipython-input-3-a(1)>)<ipython-input-3-a(1)>:1:f:", ("<ipython-input-3-a(1)>", "<ipython-input-3-a(1)>", 1, "f")),
        ("hash(00000000)/srv/app/a:3:b.py:8:f:", ("00000000", "/srv/app/a:3:b.py", 8, "f")),
    ],
)
def test_the_header_names_the_function(header: str, code: tuple[str, str, int, str]) -> None:
    (entry,) = parse(f"{header}\n  L['x']: scalar 1").entries
    assert (entry.digest, entry.file, entry.line, entry.name) == code
    assert len(entry.states) == 1


def test_closures_of_one_function_stay_separate_entries() -> None:
    head = "hash(00000000)/srv/app/model.py:8:inner:"
    state = parse(f"{head}\n  L['x']: scalar 1\n{head}\n\n{head}\n  L['x']: scalar 2")
    assert [[item.scalar for item in entry.states] for entry in state.entries] == [["1"], [], ["2"]]
    assert state.unread == 0


def test_sources_of_the_suggestion_may_contain_commas_and_quotes() -> None:
    raw = "L['feats'][(0, 'a')],,L['d']['it\\'s, \"x\"'],G['N']"
    state = parse(f"/a.py:8:f:\n  L['x']: scalar 1\n\n{SENTENCE.format(raw)}")
    assert state.suggestion == ("L['feats'][(0, 'a')]", "L['d']['it\\'s, \"x\"']", "G['N']")
    assert state.suggestion_text == raw


def test_a_suggestion_that_cannot_be_split_is_matched_with_the_entries() -> None:
    sources = ("L['(]", 'L["', "L['b']")
    lines = "\n".join(f"  {source}: fully dynamic scalar or tensor" for source in sources)
    assert parse(f"/a.py:8:f:\n{lines}\n\n{SENTENCE.format(','.join(sources))}").suggestion == sources


def test_a_truncated_suggestion_is_ignored() -> None:
    closing = SENTENCE.format("L['x'],L['y']")[:-4]
    state = parse(f"/a.py:8:f:\n  L['x']: tensor size=[?] stride=[1]\n\n{closing}")
    assert (state.suggestion, state.suggestion_text, state.unread, state.dynamic_sources) == ((), "", 1, ("L['x']",))


def test_lines_that_cannot_be_read_are_counted() -> None:
    text = "  L['x']: scalar 1\nno code\n/a.py:8:f:\n  L['x']: of a kind that is new\n  L['y']: scalar 1 2\n\n  \n  L['z']: scalar 3"
    state = parse(text)
    assert state.unread == 4
    assert [item.source for item in state.entries[0].states] == ["L['z']"]


def test_an_empty_text_is_an_empty_state() -> None:
    assert parse("") == CodeState(())


PIECES = st.sampled_from(
    (
        "hash(00000000)",
        "/srv/app/model.py",
        ":8:f:",
        "\n",
        "  ",
        "L['x']",
        ": ",
        ",",
        "'",
        '"',
        "[",
        ")",
        "tensor size=[",
        "?",
        "] stride=[",
        "]",
        "scalar ",
        "fully dynamic scalar or tensor",
        "unusual ",
        "9" * 5000,
        "PGO detected a recompilation",
        'TORCH_COMPILE_DYNAMIC_SOURCES="',
        "\ud800",
        "\r",
        "\u2028",
        "٣",
    )
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_is_read_without_an_error(text: str) -> None:
    state = parse(text)
    assert sum(len(entry.states) for entry in state.entries) + len(state.entries) + state.unread <= text.count("\n") + 1


SOURCES = st.text(st.characters(exclude_characters="\n")).map(lambda text: f"L[{text!r}]")
STATES = st.sampled_from(
    ("tensor size=[?, 3] stride=[S(1), 1]", "tensor size=[3] stride=[1]", "scalar 3", "fully dynamic scalar or tensor")
)


@given(st.lists(st.tuples(SOURCES, STATES), max_size=5, unique_by=lambda pair: pair[0]))
def test_sources_with_any_key_are_read_back(states: list[tuple[str, str]]) -> None:
    dynamic = tuple(source for source, text in states if "?" in text or text.startswith("fully"))
    closing = f"\n\n{SENTENCE.format(','.join(dynamic))}" if dynamic else ""
    state = parse("\n".join(["hash(00000000)/a.py:8:f:", *(f"  {source}: {text}" for source, text in states)]) + closing)
    assert [(item.source, item.text) for entry in state.entries for item in entry.states] == states
    assert state.suggestion == dynamic
    assert state.unread == 0
