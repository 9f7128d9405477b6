"""The names of trace files and their ranks, and URLs without secrets."""

from pathlib import Path

from packing import RANK, put

from shapelog import load
from shapelog.reading.trace_files import rank_of, redacted_url, trace_names


def test_the_rank_is_taken_from_the_file_name() -> None:
    assert rank_of("dedicated_log_torch_trace_rank_3_za_kxuo3.log") == 3
    assert rank_of("dedicated_log_torch_trace_rank_12__729d9_a.log.gz") == 12
    assert rank_of("dedicated_log_torch_trace_0ivm9fjp.log") is None
    assert rank_of("frank_3.log") is None


def test_the_rank_in_the_file_name_is_the_rank_of_the_trace(tmp_path: Path) -> None:
    trace = load(put(tmp_path, name=RANK.format(5, "aaaaaaaa")))
    assert [rank.number for rank in trace.ranks] == [5]
    assert {compile.label for compile in trace.compiles} == {"0/0", "0/1"}


def test_names_given_by_pytorch_come_before_the_log_of_tlparse_and_other_logs() -> None:
    names = ["a.txt", "b.log.gz", "out/raw.log", f"._{RANK.format(0, 'aaaaaaaa')}", RANK.format(1, "bbbbbbbb")]
    assert trace_names(names) == [RANK.format(1, "bbbbbbbb")]
    assert trace_names(names[:4]) == ["out/raw.log"]
    assert trace_names(names[:2]) == ["b.log.gz"]
    assert trace_names(names[:1]) == []


def test_passwords_and_signatures_are_removed_from_urls() -> None:
    assert redacted_url("https://me:secret@host:80/a.log?X-Amz-Signature=abc#d") == "https://host:80/a.log"
    assert redacted_url("/tmp/a?b.log") == "/tmp/a?b.log"
