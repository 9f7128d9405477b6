"""Traces in archives: they are found in whatever directory they are, and nothing in an archive can do harm."""

import contextlib
import gc
import gzip
import io
import os
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import make
import pytest
from packing import FIRST, PACKS, RANK, SECOND, TARS, TRACE, ZIPS, losses, member, put, refusal, tarred, tarred_members, zipped, zstd

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_all

NO_TABLE = "not read, because the table of contents at the end of this zip file is missing or damaged; copy or download it again"


@pytest.mark.parametrize("pack", PACKS)
def test_an_archive_of_any_name_is_read_like_a_directory(tmp_path: Path, pack: str) -> None:
    members = {f"job/logs/{FIRST}": TRACE, "job/readme.txt": b"hello", f"job/logs/{SECOND}": TRACE}
    trace = load(put(tmp_path, PACKS[pack](members), "attached"))
    assert [(rank.number, rank.process) for rank in trace.ranks] == [(0, make.PROCESS), (1, make.PROCESS)]
    assert trace.name == f"{FIRST}, {SECOND}"
    assert trace.notes == (f"read {FIRST}, {SECOND}, the newest run in attached",)
    assert losses(trace) == []
    assert [account.balances for account in trace.accounts] == [True, True]


@pytest.mark.parametrize("time", ["1e300", "-1e300", "nan", "inf", "99999999999999"])
def test_times_that_no_clock_shows_count_as_missing(tmp_path: Path, time: str) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (f"a/{FIRST}", f"b/{SECOND}"):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(TRACE), {"mtime": time}
            archive.addfile(info, io.BytesIO(TRACE))
    assert f"mtime={time}\n".encode() in data.getvalue()
    assert len(load(put(tmp_path, data.getvalue())).ranks) == 2


def test_a_number_of_many_digits_in_a_header_is_refused_and_not_searched(tmp_path: Path) -> None:
    header = tarfile.TarInfo("PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 1_000_000
    padded = header.tobuf(tarfile.USTAR_FORMAT) + b"1" * header.size + bytes(-header.size % tarfile.BLOCKSIZE)
    assert "truncated after 0 members (a header is unreasonably long)" in refusal(put(tmp_path, padded + tarred({FIRST: TRACE})))
    whole = tarfile.BLOCKSIZE * (1 + -(-len(TRACE) // tarfile.BLOCKSIZE))
    assert len(load(put(tmp_path, tarred({FIRST: TRACE})[:whole] + padded)).compiles) == 2


def test_of_members_of_a_zip_file_that_overlap_one_is_read(tmp_path: Path) -> None:
    first, second = FIRST.encode(), SECOND.encode()
    data = zipped({FIRST: TRACE})
    table, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entry = data[table:end]
    entries = entry + entry.replace(first, second)
    path = put(tmp_path, data[:table] + entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(entries), table, 0))
    trace = load(path)
    assert (trace.name, len(trace.compiles)) == (FIRST, 2)
    assert losses(trace) == [f"archive: not read from the archive because it is a member that overlaps another, as in a zip bomb: {SECOND}"]


@pytest.mark.parametrize("pack", PACKS)
def test_no_file_of_an_archive_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = put(tmp_path, PACKS[pack]({f"../../{FIRST}": TRACE, f"{tmp_path}/absolute/{SECOND}": TRACE}))
    opened = open_all(select(str(path)).files)
    assert [bytes(trace.data[:]) for trace in opened] == [TRACE, TRACE]
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["archive", "temporary"]


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("inner", [gzip.compress, zstd])
def test_compressed_traces_in_archives_are_decompressed(tmp_path: Path, pack: str, inner: Callable[[bytes], bytes]) -> None:
    assert len(load(put(tmp_path, PACKS[pack]({f"{FIRST}.gz": inner(TRACE), "other.html": b"<html>"}))).compiles) == 2


@pytest.mark.parametrize("pack", PACKS)
def test_the_only_file_of_an_archive_is_read_whatever_its_name(tmp_path: Path, pack: str) -> None:
    trace = load(put(tmp_path, PACKS[pack]({"my trace.txt": TRACE})))
    assert (trace.name, len(trace.compiles)) == ("my trace.txt", 2)


@pytest.mark.parametrize("pack", PACKS)
def test_the_output_of_tlparse_for_several_ranks_is_one_run(tmp_path: Path, pack: str) -> None:
    page = {"out/index.html": b"<html>", "out/rank_0/raw.jsonl": b"{}", "out/rank_1/index.html": b"<html>"}
    later = TRACE.replace(b"V1120", b"V1121")
    trace = load(
        put(tmp_path, PACKS[pack]({**page, "out/rank_0/raw.log": TRACE, "out/rank_10/raw.log": TRACE, "out/rank_2/raw.log": later}))
    )
    assert [rank.number for rank in trace.ranks] == [0, 2, 10]
    assert trace.name == "out/rank_0/raw.log, out/rank_2/raw.log, out/rank_10/raw.log"


def test_an_archive_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for pack in PACKS.values():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack({FIRST: TRACE, SECOND: TRACE}))))
        assert [rank.number for rank in load("-").ranks] == [0, 1]


def test_links_and_devices_in_an_archive_are_reported_and_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path, TRACE, "secret.log")
    members = [
        member(RANK.format(2, "cccccccc"), kind=tarfile.SYMTYPE, link=str(secret)),
        member(RANK.format(3, "dddddddd"), kind=tarfile.LNKTYPE, link=FIRST),
        member(RANK.format(4, "eeeeeeee"), kind=tarfile.CHRTYPE),
        member(RANK.format(5, "ffffffff"), kind=tarfile.FIFOTYPE),
    ]
    trace = load(put(tmp_path, tarred_members(member(FIRST, TRACE), *members)))
    assert [rank.number for rank in trace.ranks] == [0]
    assert losses(trace) == [
        "archive: not read from the archive because it is a link, a device or a sparse file: "
        f"{RANK.format(2, 'cccccccc')}, {RANK.format(3, 'dddddddd')}, {RANK.format(4, 'eeeeeeee')} and 1 more"
    ]
    info = zipfile.ZipInfo(SECOND)
    info.external_attr = 0o120777 << 16
    made = io.BytesIO(zipped({FIRST: TRACE}))
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(info, str(secret))
    trace = load(put(tmp_path, made.getvalue()))
    assert [rank.number for rank in trace.ranks] == [0]
    assert losses(trace) == [f"archive: not read from the archive because it is a link: {SECOND}"]


def test_of_members_with_the_same_name_the_last_is_read(tmp_path: Path) -> None:
    trace = load(put(tmp_path, tarred_members(member(FIRST, b"old\n"), member(FIRST, TRACE))))
    assert len(trace.compiles) == 2
    assert [problem.code for problem in trace.problems] == ["named-twice"]
    made = io.BytesIO(zipped({FIRST: b"old\n"}))
    with zipfile.ZipFile(made, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(FIRST, TRACE)
    assert len(load(put(tmp_path, made.getvalue())).compiles) == 2


def test_archives_in_archives_are_not_opened(tmp_path: Path) -> None:
    inner = zipped({FIRST: TRACE})
    trace = load(put(tmp_path, zipped({SECOND: TRACE, "more.zip": inner})))
    assert [problem.message for problem in trace.problems] == ["archives inside this one are not opened: more.zip; unpack it first"]
    assert "no trace in this archive, only an archive (more.zip); unpack it first" in refusal(
        put(tmp_path, tarred({"more.zip": inner, "a": b""}))
    )
    assert refusal(put(tmp_path, gzip.compress(inner), "twice.gz")) == "twice.gz: a zip archive in the place of a trace; unpack it first"


@pytest.mark.parametrize("name", ["more.tar.gz", "more.log"])
@pytest.mark.parametrize("outer", [zipped, tarred])
def test_an_archive_that_is_alone_in_another_is_no_trace(outer: Callable[[dict[str, bytes]], bytes], name: str, tmp_path: Path) -> None:
    # Stored without compression, its records could be read.
    inner = tarred({FIRST: TRACE})
    packed = put(tmp_path, outer({name: gzip.compress(inner) if name.endswith("gz") else inner}), "made")
    assert refusal(packed) == f"made: {name}: a tar archive in the place of a trace; unpack it first"


def test_an_archive_among_traces_is_left_out(tmp_path: Path) -> None:
    trace = load(put(tmp_path, zipped({RANK.format(0, "aaaaaaaa"): TRACE, RANK.format(1, "bbbbbbbb"): tarred({FIRST: TRACE})})))
    assert [rank.number for rank in trace.ranks if rank.frames] == [0]
    assert losses(trace) == [f"{RANK.format(1, 'bbbbbbbb')}: a tar archive in the place of a trace; unpack it first"]


def encrypted(packed: bytes, name: str) -> bytes:
    """With the mark of an encrypted member in both of its headers."""
    data = bytearray(packed)
    local = data.find(b"PK\x03\x04", data.find(name.encode()) - 31)
    central = data.rfind(b"PK\x01\x02", 0, data.rfind(name.encode()))
    data[local + 6] |= 1
    data[central + 8] |= 1
    return bytes(data)


def test_an_encrypted_member_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    trace = load(put(tmp_path, encrypted(zipped({FIRST: TRACE, SECOND: TRACE}), SECOND), "a.zip"))
    assert [rank.number for rank in trace.ranks] == [0]
    assert losses(trace) == [f"{SECOND}: encrypted in a.zip; unpack it first"]
    assert refusal(put(tmp_path, encrypted(zipped({FIRST: TRACE}), FIRST), "b.zip")) == f"{FIRST}: encrypted in b.zip; unpack it first"


def test_a_member_with_a_wrong_checksum_is_read_and_reported(tmp_path: Path) -> None:
    packed = zipped({FIRST: TRACE, SECOND: TRACE}).replace(struct.pack("<L", zlib.crc32(TRACE)), b"\1\2\3\4")
    trace = load(put(tmp_path, packed, "a.zip"))
    assert len(trace.compiles) == 4
    assert [message.split(" (")[0] for message in losses(trace)] == [f"{name}: the member is damaged in a.zip" for name in (FIRST, SECOND)]


def test_a_member_with_damaged_data_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    packed = bytearray(zipped({FIRST: TRACE, SECOND: TRACE}))
    middle = (packed.find(b"PK\x03\x04", 4) + packed.find(b"PK\x01\x02")) // 2
    packed[middle : middle + 20] = bytes(20)
    trace = load(put(tmp_path, bytes(packed), "a.zip"))
    assert len([compile for compile in trace.compiles if compile.rank == 0]) == 2
    assert losses(trace)[0].startswith(f"{SECOND}: the member is damaged in a.zip (")


def test_a_member_missing_from_its_offset_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    packed = bytearray(zipped({FIRST: TRACE, SECOND: TRACE}))
    second = packed.find(b"PK\x03\x04", 4)
    packed[second : second + 4] = b"none"
    trace = load(put(tmp_path, bytes(packed), "a.zip"))
    assert [rank.number for rank in trace.ranks] == [0]
    assert losses(trace) == [f"{SECOND}: the member is not at the position given in the table of contents of a.zip"]
    nameless = zipped({"x": b"", FIRST: TRACE})
    nameless = nameless[:30] + nameless[31:].replace(b"x", b"", 1)
    for data in (nameless, zipped({FIRST: TRACE}) + b"PK\x05\x06", zipped({FIRST: TRACE})[:-9]):
        with contextlib.suppress(ShapelogError):
            load(put(tmp_path, data))


@pytest.mark.parametrize("pack", ZIPS)
def test_a_truncated_zip_file_is_refused_in_one_line(tmp_path: Path, pack: str) -> None:
    packed = PACKS[pack]({FIRST: TRACE, SECOND: TRACE})
    for cut in (30, len(packed) // 2, len(packed) * 3 // 4, len(packed) - 22, len(packed) - 1):
        assert refusal(put(tmp_path, packed[:cut], "cut.zip")) == f"cut.zip: {NO_TABLE}"


@pytest.mark.parametrize(("before", "after"), [(b"PK\x01\x02", b"none"), (b"PK\x05\x06", b"none")])
def test_a_zip_file_with_a_damaged_table_of_contents_is_refused_in_one_line(tmp_path: Path, before: bytes, after: bytes) -> None:
    packed = zipped({FIRST: TRACE, SECOND: TRACE})
    assert before in packed
    assert refusal(put(tmp_path, packed.replace(before, after), "a.zip")) == f"a.zip: {NO_TABLE}"


@pytest.mark.parametrize("pack", TARS)
def test_a_truncated_tar_archive_is_read_as_far_as_it_goes(tmp_path: Path, pack: str) -> None:
    padded = TRACE + make.artifact("noise", os.urandom(150_000).hex())
    packed = PACKS[pack]({FIRST: padded, SECOND: padded})
    trace = load(put(tmp_path, packed[: len(packed) * 3 // 4], "cut"))
    assert len([compile for compile in trace.compiles if compile.rank == 0]) == 2
    assert any(message.startswith("cut: ") for message in losses(trace))
    assert all(account.balances for account in trace.accounts)


@pytest.mark.parametrize("pack", TARS)
def test_a_tar_archive_truncated_anywhere_is_reported_or_refused(tmp_path: Path, pack: str) -> None:
    packed = PACKS[pack]({FIRST: TRACE + make.artifact("noise", os.urandom(150_000).hex())})
    read = 0
    for cut in range(1, len(packed), max(1, len(packed) // 25)):
        with contextlib.suppress(ShapelogError):
            trace = load(put(tmp_path, packed[:cut]))
            read += 1
            assert trace.problems or cut > len(packed) - tarfile.RECORDSIZE  # of a tar file only padding is missing
    assert read


def test_a_bomb_next_to_a_trace_is_reported_and_the_trace_is_read(tmp_path: Path) -> None:
    trace = load(put(tmp_path, zipped({FIRST: TRACE, SECOND: bytes(10_000_000)}), "a.zip"), max_unpacked=2_000_000)
    assert [rank.number for rank in trace.ranks] == [0]
    assert losses(trace) == [f"{SECOND}: a.zip: not read, because it unpacks to more than 2 MB, the limit of --max-unpacked"]


def test_long_headers_and_many_members_of_an_archive_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_name, data = member("x", bytes(2_000_000), kind=tarfile.GNUTYPE_LONGNAME)
    trace = load(put(tmp_path, tarred_members(member(FIRST, TRACE), (long_name, data)), "a.tar"))
    assert len(trace.compiles) == 2
    assert losses(trace) == ["a.tar: the archive is damaged or truncated after 1 members (a header is unreasonably long)"]
    monkeypatch.setattr("shapelog.reading.archives._MAX_MEMBERS", 3)
    trace = load(put(tmp_path, tarred({FIRST: TRACE, **{f"{number}.txt": b"" for number in range(9)}}), "b.tar"))
    assert losses(trace) == ["b.tar: members after the first 3 are ignored"]
    monkeypatch.setattr("shapelog.reading.archives._MAX_ZIP_TABLE", 100)
    assert "the table of contents of this zip file is unreasonably large" in refusal(put(tmp_path, zipped({FIRST: TRACE, SECOND: TRACE})))


def test_an_archive_without_traces_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "no file is in this archive" in refusal(put(tmp_path, zipped({}), "a.zip"))
    message = refusal(put(tmp_path, zipped({"a.txt": b"1", "b.txt": b"2"}), "a.zip"))
    assert "a.zip: no trace in this archive (files are named" in message
    assert "only a.txt, b.txt; record one" in message
    for name in ("notes.txt", FIRST):
        assert refusal(put(tmp_path, zipped({name: b"words"}), "a.zip")).startswith(f"a.zip: {name}: not a torch.compile trace")
    assert refusal(put(tmp_path, b"PK\x03\x04" + bytes(20), "a.zip")) == f"a.zip: {NO_TABLE}"
    cut_tar = refusal(put(tmp_path, tarred({FIRST: TRACE})[:500], "cut"))
    assert cut_tar.startswith("cut: nothing in this archive is readable; the archive is damaged or truncated")
    put(tmp_path, b"words", "not.txt")
    assert "no trace in this directory, only an archive (a.zip); pass it by name" in refusal(tmp_path)


def test_an_older_run_in_an_archive_can_be_selected(tmp_path: Path) -> None:
    older = TRACE.replace(b"V1120", b"V1119")
    path = put(
        tmp_path, tarred({"a/dedicated_log_torch_trace_aaaaaaaa.log": older, "b/dedicated_log_torch_trace_bbbbbbbb.log": TRACE}), "a.tar"
    )
    assert load(path).name == "dedicated_log_torch_trace_bbbbbbbb.log"
    assert load(path, run=2).name == load(path, run="aaaa").name == "dedicated_log_torch_trace_aaaaaaaa.log"
    assert len(load(path, run="all").ranks) == 2


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
def test_a_refused_or_damaged_archive_is_closed_with_the_trace(tmp_path: Path) -> None:
    """Not when garbage is collected, though an exception holds what it came through."""
    whole, packed = tarred({FIRST: TRACE, SECOND: TRACE}), gzip.compress(TRACE)
    damaged = zipped({FIRST: packed, SECOND: TRACE}).replace(struct.pack("<I", zlib.crc32(packed)), b"\0" * 4)
    archives = {
        "too large": (zipped({FIRST: packed}), 100, ""),
        "cut": (whole[: len(whole) // 3], None, "2"),
        "damaged": (damaged, None, ""),
        "long header": (tarred_members(member(FIRST, b"0" * (2 << 20), tarfile.XHDTYPE)), None, ""),
    }
    gc.disable()
    try:
        for name, (data, limit, run) in archives.items():
            path = put(tmp_path, data, name)
            before = os.listdir("/proc/self/fd")
            with contextlib.suppress(ShapelogError):
                assert losses(load(path, max_unpacked=limit, run=run))
                assert name == "damaged"
            assert len(os.listdir("/proc/self/fd")) == len(before), name
    finally:
        gc.enable()


def test_a_refusal_is_one_line_whatever_a_member_is_called(tmp_path: Path) -> None:
    assert refusal(put(tmp_path, zipped({"a\nb\u2028.log": b"x"}))).count("a\\x0ab\\u2028.log: not a torch.compile trace") == 1
