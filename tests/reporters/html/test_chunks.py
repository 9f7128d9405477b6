"""Payloads are compressed once, in order, within the budget, and come out as they went in; what is missing is reported."""

import gzip
import random
import zlib
from base64 import b64decode
from collections.abc import Callable
from functools import partial

import make
import pytest
from recorded import FIXTURES

from shapelog.model.load import build
from shapelog.model.record_index import index_records
from shapelog.reading.inputs import Selection
from shapelog.reading.trace_files import TraceFile
from shapelog.reporters.html.chunks import page_chunk, payload_chunks

Payload = Callable[[], bytes]


def noise(number: int, size: int = 1000) -> bytes:
    """Printable bytes that hardly compress, different for each number."""
    return bytes(random.Random(number).choices(range(32, 127), k=size))


def giving(raw: bytes) -> Payload:
    return lambda: raw


def inflated(text: str) -> bytes:
    return zlib.decompress(b64decode(text, validate=True), -15)


def unpacked(payloads: list[Payload], **options: int) -> dict[str, bytes]:
    return {chunk.id: inflated(chunk.text) for chunk in payload_chunks(payloads, **options)}


def noises(count: int) -> list[Payload]:
    return [giving(noise(number)) for number in range(count)]


def compressed_size(count: int) -> int:
    return sum(len(b64decode(chunk.text)) for chunk in payload_chunks(noises(count)))


@pytest.mark.parametrize(
    "raw", [b"", b"x", b"def forward(self):\n    return 1\n", "é ☃ 𝄞\n".encode() * 50, bytes(range(128)), noise(1, 100_000)]
)
@pytest.mark.parametrize("limit", [0, 2_500_000])
def test_a_payload_comes_out_as_it_went_in(raw: bytes, limit: int) -> None:
    assert unpacked([giving(raw)], limit=limit) == {"z0": raw}


def test_a_page_comes_out_as_it_went_in() -> None:
    chunk = page_chunk("d3", "<p>é ☃ 𝄞 &lt;</p>")
    assert (chunk.id, inflated(chunk.text).decode()) == ("d3", "<p>é ☃ 𝄞 &lt;</p>")


def test_payloads_come_in_the_order_given() -> None:
    found = unpacked([giving(b"text %d" % number) for number in range(200)])
    assert list(found.items()) == [(f"z{number}", b"text %d" % number) for number in range(200)]


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    raw = b"na\xefve \xed\xa0\x80 \xf0\x9f"
    assert unpacked([giving(raw)])["z0"].decode() == raw.decode("utf-8", "replace")


def test_payloads_within_the_budget_are_embedded_and_the_rest_is_left_out() -> None:
    assert unpacked(noises(20), limit=compressed_size(7) + 10) == {f"z{number}": noise(number) for number in range(7)}


def test_a_budget_that_is_met_exactly_is_not_exceeded() -> None:
    assert len(unpacked(noises(20), limit=compressed_size(7))) == 7
    assert len(unpacked(noises(20), limit=compressed_size(7) - 1)) == 6


def test_after_the_first_payload_beyond_the_budget_none_is_embedded() -> None:
    assert list(unpacked([giving(noise(size, size)) for size in (100, 50_000, 100)], limit=2000)) == ["z0"]


def test_once_the_budget_is_used_up_no_more_payloads_are_made() -> None:
    made: list[int] = []

    def recorded(number: int) -> bytes:
        made.append(number)
        return noise(number)

    found = unpacked([partial(recorded, number) for number in range(20)], limit=compressed_size(3))
    assert (len(found), made) == (3, [0, 1, 2, 3])


def test_without_a_budget_every_payload_is_embedded_whole() -> None:
    text = b"0123456789\n" * 300_000
    found = unpacked([*noises(20), giving(text)])
    assert len(found) == 21
    assert found["z20"] == text


def test_without_payloads_there_are_no_chunks() -> None:
    assert unpacked([]) == {}


def cut(raw: bytes, longest: int) -> tuple[str, str]:
    """What is left of ``raw``, and the note below it."""
    text, _, note = unpacked([giving(raw)], limit=2_500_000, longest=longest)["z0"].decode().rpartition("\n")
    return text, note


def test_a_long_text_is_cut_between_lines_with_a_note_on_how_much_is_missing() -> None:
    text, note = cut(b"".join(b"line %04d\n" % number for number in range(1000)), 2005)
    assert text.split("\n") == [f"line {number:04d}" for number in range(200)]
    assert note == "[8,001 of 10,000 bytes are left out here; they are in the trace]"


def test_a_text_of_the_greatest_length_is_whole() -> None:
    assert cut(b"x\n" * 500 + b"end", 1003) == ("\n".join(["x"] * 500), "end")


@pytest.mark.parametrize("character", ["é", "☃", "𝄞"])
@pytest.mark.parametrize("longest", range(1000, 1005))
def test_a_long_line_is_cut_between_characters(character: str, longest: int) -> None:
    raw = (character * 2000).encode()
    text, note = cut(raw, longest)
    kept = longest // len(character.encode())
    assert text == character * kept
    assert note.startswith(f"[{len(raw) - len(text.encode()):,} of {len(raw):,} bytes")


def test_a_long_line_of_bytes_that_are_not_characters_is_cut_all_the_same() -> None:
    text, note = cut(b"\x80" * 5000, 1000)
    assert set(text) == {"\ufffd"}
    assert "of 5,000 bytes" in note


def test_an_error_while_a_payload_is_made_is_not_lost() -> None:
    def broken() -> bytes:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        unpacked([broken, giving(b"after")])


def test_the_payloads_of_a_real_trace_come_out_as_they_are_listed() -> None:
    data = gzip.decompress((FIXTURES / "real/demo.log.gz").read_bytes())
    trace = build(Selection((TraceFile(None, make.NAME),)), [make.reader(data, with_positions=True)])
    found = index_records(trace)
    records = [item for compile in trace.compiles for item in found.of(compile) if item.span]
    texts = unpacked([partial(getattr, item, "raw") for item in records])
    assert [text.decode() for text in texts.values()] == [item.text for item in records]
