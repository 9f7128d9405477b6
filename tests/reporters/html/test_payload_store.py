"""Texts are packed once, in order, within the budget, and come out as they went in; what does not fit is said."""

import gzip
import random
import threading
import zlib
from base64 import b64decode
from collections.abc import Callable
from functools import partial

import lab
import make
import pytest

from shapelog.model.load import build
from shapelog.model.record_index import listing
from shapelog.reading.inputs import Selection
from shapelog.reading.trace_files import TraceFile
from shapelog.reporters.html.payload_store import Store


def noise(number: int, size: int = 1000) -> bytes:
    """Printable bytes that hardly pack, others for each number."""
    return bytes(random.Random(number).choices(range(32, 127), k=size))


def giving(raw: bytes) -> Callable[[], bytes]:
    return lambda: raw


def unpacked(store: Store) -> dict[str, bytes]:
    return {chunk: zlib.decompress(b64decode(text, validate=True), -15) for chunk, text in store.chunks()}


def filled(store: Store, count: int = 20) -> Store:
    for number in range(count):
        store.add(f"key {number}", giving(noise(number)))
    return store


def packed_size(count: int) -> int:
    return sum(len(b64decode(text)) for _, text in filled(Store(0), count).chunks())


@pytest.mark.parametrize(
    "raw", [b"", b"x", b"def forward(self):\n    return 1\n", "é ☃ 𝄞\n".encode() * 50, bytes(range(128)), noise(1, 100_000)]
)
def test_a_text_comes_out_as_it_went_in(raw: bytes) -> None:
    store = Store()
    assert store.add("a", giving(raw)) == "z0"
    assert unpacked(store) == {"z0": raw}


def test_texts_come_in_the_order_in_which_they_were_added() -> None:
    store = Store()
    ids = [store.add(f"key {number}", giving(b"text %d" % number)) for number in range(200)]
    assert ids == [f"z{number}" for number in range(200)]
    assert list(unpacked(store).items()) == [(f"z{number}", b"text %d" % number) for number in range(200)]


def test_an_equal_key_is_packed_once_and_has_one_id() -> None:
    made: list[str] = []

    def text(name: str) -> bytes:
        made.append(name)
        return name.encode()

    store = Store()
    assert [store.add(key, partial(text, key)) for key in ("a", "b", "a", "b", "a")] == ["z0", "z1", "z0", "z1", "z0"]
    assert store.packed() == {"z0", "z1"}
    assert store.add("a", partial(text, "again")) == "z0"
    assert unpacked(store) == {"z0": b"a", "z1": b"b"}
    assert made == ["a", "b"]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    store = Store()
    store.add("a", giving(b"na\xefve \xed\xa0\x80 \xf0\x9f"))
    assert unpacked(store)["z0"].decode() == b"na\xefve \xed\xa0\x80 \xf0\x9f".decode("utf-8", "replace")


def test_what_fits_into_the_budget_is_kept_and_the_rest_left_out() -> None:
    store = filled(Store(packed_size(7) + 10))
    kept = {f"z{number}" for number in range(7)}
    assert store.packed() == kept
    assert unpacked(store) == {f"z{number}": noise(number) for number in range(7)}
    assert [store.chunk_of(f"key {number}") for number in (0, 6, 7, 19)] == ["z0", "z6", "", ""]
    assert store.chunk_of("never added") == ""


def test_a_budget_that_is_met_exactly_is_not_exceeded() -> None:
    assert len(filled(Store(packed_size(7))).packed()) == 7
    assert len(filled(Store(packed_size(7) - 1)).packed()) == 6


def test_after_the_first_text_that_does_not_fit_none_is_kept() -> None:
    store = Store(2000)
    for key, size in (("small", 100), ("large", 50_000), ("other", 100)):
        store.add(key, giving(noise(size, size)))
    assert store.packed() == {"z0"}


def test_once_the_budget_is_used_up_nothing_is_taken_any_more() -> None:
    store = filled(Store(packed_size(3)))
    store.packed()
    assert store.add("late", giving(b"late")) == ""
    assert [store.add(f"key {number}", giving(b"")) for number in (2, 3)] == ["z2", ""]
    assert len(unpacked(store)) == 3


def test_more_can_be_added_after_packing_as_long_as_it_fits() -> None:
    store = filled(Store(), 3)
    assert len(store.packed()) == 3
    assert store.add("late", giving(b"late")) == "z3"
    assert store.packed() == {"z0", "z1", "z2", "z3"}
    assert unpacked(store)["z3"] == b"late"


def test_without_a_budget_everything_is_kept_whole() -> None:
    text = b"0123456789\n" * 300_000
    store = filled(Store(0))
    store.add("long", giving(text))
    assert len(store.packed()) == 21
    assert unpacked(store)["z20"] == text


def test_nothing_added_is_nothing_kept() -> None:
    store = Store()
    assert (store.packed(), list(store.chunks())) == (frozenset(), [])


def cut(raw: bytes, longest: int) -> tuple[str, str]:
    """What is left of ``raw``, and the line that says so."""
    store = Store(longest=longest)
    store.add("a", giving(raw))
    text, _, said = unpacked(store)["z0"].decode().rpartition("\n")
    return text, said


def test_a_long_text_is_cut_between_lines_and_says_how_much_is_missing() -> None:
    text, said = cut(b"".join(b"line %04d\n" % number for number in range(1000)), 2005)
    assert text.split("\n") == [f"line {number:04d}" for number in range(200)]
    assert said == "[8,001 of 10,000 bytes are left out here; they are in the trace]"


def test_a_text_of_the_greatest_length_is_whole() -> None:
    assert cut(b"x\n" * 500 + b"end", 1003) == ("\n".join(["x"] * 500), "end")


@pytest.mark.parametrize("character", ["é", "☃", "𝄞"])
@pytest.mark.parametrize("longest", range(1000, 1005))
def test_a_long_line_is_cut_between_characters(character: str, longest: int) -> None:
    raw = (character * 2000).encode()
    text, said = cut(raw, longest)
    kept = longest // len(character.encode())
    assert text == character * kept
    assert said.startswith(f"[{len(raw) - len(text.encode()):,} of {len(raw):,} bytes")


def test_a_long_line_of_bytes_that_are_no_characters_is_cut_all_the_same() -> None:
    text, said = cut(b"\x80" * 5000, 1000)
    assert set(text) == {"\ufffd"}
    assert "of 5,000 bytes" in said


@pytest.mark.parametrize("limit", [3000, 30_000, 0])
def test_the_order_decides_and_no_thread(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same chunks when the thread packs all, when it packs none, and when it is held up in the middle."""
    alone = Store(limit)
    monkeypatch.setattr(alone, "_start", lambda: None)
    everything = list(filled(alone, 60).chunks())

    reached, go_on = threading.Event(), threading.Event()

    def held_up() -> bytes:
        if threading.current_thread() is not threading.main_thread():
            reached.set()
            go_on.wait()
        return noise(0)

    def letting_go() -> bytes:
        go_on.set()  # the last one is packed here, while the first one is still in the other thread's hands
        return noise(59)

    slow = Store(limit)
    slow.add("key 0", held_up)
    assert reached.wait(60)
    for number in range(1, 59):
        slow.add(f"key {number}", giving(noise(number)))
    slow.add("key 59", letting_go)
    assert list(slow.chunks()) == everything
    assert list(filled(Store(limit), 60).chunks()) == everything


def test_where_no_thread_can_be_had_all_is_packed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert len(unpacked(filled(Store()))) == 20


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_while_a_text_is_made_is_not_lost() -> None:
    reached = threading.Event()

    def broken() -> bytes:
        reached.set()
        raise ValueError("broken")

    store = Store()
    store.add("broken", broken)
    assert reached.wait(60)  # the other thread has it in its hands
    store.add("after", giving(b"after"))
    with pytest.raises(ValueError, match="broken"):
        store.packed()


def test_once_the_budget_is_used_up_no_more_texts_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(number: int) -> bytes:
        made.append(number)
        return noise(number)

    store = Store(packed_size(3))
    monkeypatch.setattr(store, "_start", lambda: None)
    for number in range(20):
        store.add(f"key {number}", partial(counted, number))
    assert (len(store.packed()), made) == (3, [0, 1, 2, 3])


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        filled(Store()).packed()
    assert set(threading.enumerate()) <= before


def test_the_payloads_of_a_real_trace_come_out_as_they_are_listed() -> None:
    data = gzip.decompress((lab.FIXTURES / "real/demo.log.gz").read_bytes())
    trace = build(Selection((TraceFile(None, make.NAME),)), [make.reader(data, with_positions=True)])
    found = listing(trace)
    records = [item for compile in trace.compiles for item in found.of(compile) if item.span]
    store = Store(0)
    ids = [store.add(item.key, partial(getattr, item, "raw")) for item in records]
    texts = unpacked(store)
    assert len(texts) == len({item.key for item in records}) < len(records)
    assert [texts[chunk].decode() for chunk in ids] == [item.text for item in records]
