"""Compressed traces: gzip and zstd, whole, truncated or damaged, and never more than the quota of them."""

import gzip
from pathlib import Path
from types import SimpleNamespace

import make
import pytest
from packing import FIRST, SECOND, TRACE, put, refusal, tarred, zipped, zstd

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.reading import compression
from shapelog.reading.compression import UnpackQuota, format_size, parse_size
from shapelog.reading.inputs import InputOptions, select
from shapelog.reading.open_trace import open_all, open_trace
from shapelog.reading.trace_files import TraceFile

zstandard = pytest.importorskip("zstandard")


def test_a_gzip_file_gives_the_same_trace_as_the_plain_one(tmp_path: Path) -> None:
    packed = open_trace(TraceFile(put(tmp_path, gzip.compress(TRACE), "a.log.gz"), "a.log.gz"))
    assert (bytes(packed.data[:]), packed.problems) == (TRACE, [])


def test_gzip_data_is_recognized_by_its_content_not_its_name(tmp_path: Path) -> None:
    assert len(load(put(tmp_path, gzip.compress(TRACE), "a.log")).compiles) == 2


def test_a_file_of_several_gzip_members_is_read_to_its_end(tmp_path: Path) -> None:
    half = len(TRACE) // 2
    path = put(tmp_path, gzip.compress(TRACE[:half]) + gzip.compress(TRACE[half:]), "a.gz")
    assert bytes(open_trace(TraceFile(path, "a.gz")).data[:]) == TRACE


def test_a_truncated_gzip_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path) -> None:
    packed = gzip.compress(TRACE)
    trace = load(put(tmp_path, packed[: len(packed) * 9 // 10], "cut.log.gz"))
    (damage,) = [problem for problem in trace.problems if problem.code == "damaged-archive"]
    assert (damage.file, damage.severity) == ("cut.log.gz", DATA_LOSS)
    assert make.only(trace, "0/0").inputs
    (account,) = trace.accounts
    assert account.balances
    assert 0 < account.size < len(TRACE)


def test_a_damaged_gzip_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TRACE * 50, compresslevel=1))
    packed[-8:-4] = b"\0\0\0\0"
    trace = load(put(tmp_path, bytes(packed), "bad.log.gz"))
    assert "damaged-archive" in {problem.code for problem in trace.problems}
    assert trace.compiles


def test_all_frames_of_a_zstd_file_are_read(tmp_path: Path) -> None:
    half = len(TRACE) // 2
    frames = zstd(TRACE[:half]) + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(TRACE[half:])
    (opened,) = open_all(select(str(put(tmp_path, frames))).files)
    assert (bytes(opened.data[:]), opened.problems) == (TRACE, [])


@pytest.mark.parametrize("cut", [5, 200, -1])
def test_a_truncated_zstd_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path, cut: int) -> None:
    packed = zstandard.ZstdCompressor(level=1).compress(TRACE)
    (opened,) = open_all(select(str(put(tmp_path, zstd(TRACE) + packed[:cut], "a.zst"))).files)
    assert bytes(opened.data[: len(TRACE)]) == TRACE
    (problem,) = opened.problems
    assert (problem.code, problem.file, problem.severity) == ("damaged-archive", "a.zst", DATA_LOSS)
    assert "zstd" in problem.message


def test_a_missing_zstd_package_is_named_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_ZSTD_MODULES", ("shapelog_has_no_such_module",))
    assert refusal(put(tmp_path, zstd(TRACE), "a.log.zst")).startswith("a.log.zst: zstd files require an extra package: pip install")


def test_a_bomb_of_zeros_is_refused_however_it_is_packed(tmp_path: Path) -> None:
    zeros = bytes(10_000_000)
    packings = [
        gzip.compress(zeros),
        zstd(zeros),
        zipped({FIRST: zeros}),
        gzip.compress(tarred({FIRST: zeros})),
        zstd(tarred({FIRST: zeros, SECOND: zeros})),
        zipped({f"{FIRST}.gz": gzip.compress(zeros)}),
    ]
    for number, data in enumerate(packings):
        assert len(data) < 30_000
        message = refusal(put(tmp_path, data, f"bomb{number}"), max_unpacked=2_000_000)
        assert message.endswith("not read, because it unpacks to more than 2 MB, the limit of --max-unpacked")


def test_the_usual_limit_depends_on_the_size_of_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_SMALL_QUOTA", 1_000_000)
    path = put(tmp_path, gzip.compress(bytes(10_000_000)), "bomb.gz")
    message = refusal(path)
    assert message.startswith("bomb.gz: not read, because it unpacks to more than 2.")
    assert message.endswith("too much for its size (it may be a zip bomb); --max-unpacked 100G allows more")
    assert load(put(tmp_path, gzip.compress(TRACE * 400), "real.gz"))
    assert "not a torch.compile trace" in refusal(path, max_unpacked=20_000_000)


def test_a_nearly_full_disk_is_not_filled_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda where: SimpleNamespace(free=100))
    assert "is nearly full; set TMPDIR to another directory" in refusal(put(tmp_path, gzip.compress(TRACE)))


def test_the_limit_applies_to_files_in_directories(tmp_path: Path) -> None:
    put(tmp_path, gzip.compress(bytes(10_000_000)), f"{FIRST}.gz")
    put(tmp_path, gzip.compress(TRACE), f"{SECOND}.gz")
    opened = open_all(select(str(tmp_path), InputOptions(run="all", max_bytes=1_000_000)).files)
    assert [trace.is_lost for trace in opened] == [True, False]


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1000", 1000), ("64G", 64 * 10**9), ("1.5 MB", 1_500_000), ("2tb", 2 * 10**12), (" 7 k ", 7000)]
)
def test_sizes_are_parsed_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "1e9", "64X", "1" * 20, "1,5G"])
def test_anything_else_is_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_size(text)


@pytest.mark.parametrize(("size", "text"), [(999, "999 bytes"), (2_000_000, "2 MB"), (1_250_000_000, "1.2 GB"), (10**12, "1 TB")])
def test_sizes_are_formatted_as_people_write_them(size: int, text: str) -> None:
    assert format_size(size) == text


def test_a_released_part_of_the_quota_can_be_reserved_again() -> None:
    quota = UnpackQuota("a.log", limit=10)
    quota.reserve(8)
    quota.release(8)
    quota.reserve(8)
    with pytest.raises(ShapelogError, match="unpacks to more than 10 bytes"):
        quota.reserve(3)
