"""Traces in archives: they are found wherever they lie, and nothing that an archive holds can do harm."""

import contextlib
import gzip
import io
import os
import struct
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import make
import pytest

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.model.trace import Trace
from shapelog.reading import compression
from shapelog.reading.compression import parse_size
from shapelog.reading.inputs import Choice, select
from shapelog.reading.open_trace import open_all

zstandard = pytest.importorskip("zstandard")

TRACE = make.small_run()
NAME = "dedicated_log_torch_trace_rank_{}_{}.log"
FIRST, SECOND = NAME.format(0, "aaaaaaaa"), NAME.format(1, "bbbbbbbb")
WRITTEN = (2025, 11, 20, 8, 27, 34)  # just after its records
Pack = Callable[[dict[str, bytes]], bytes]


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, WRITTEN), data, method)
    return made.getvalue()


def streamed(members: dict[str, bytes]) -> bytes:
    """A zip file that was written to a pipe: the sizes stand behind the data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.written = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.written += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = zipfile.ZipInfo(name, WRITTEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w") as member:
                member.write(data)
    return bytes(pipe.written)


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    info.mtime = time.mktime((*WRITTEN, 0, 0, -1))
    return info, data


def tarred_members(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    return tarred_members(*(member(name, data) for name, data in members.items()))


def zstd(data: bytes) -> bytes:
    return bytes(zstandard.ZstdCompressor().compress(data))


PACKS: dict[str, Pack] = {
    "zip": zipped,
    "stored zip": lambda members: zipped(members, zipfile.ZIP_STORED),
    "streamed zip": streamed,
    "tar": tarred,
    "tar.gz": lambda members: gzip.compress(tarred(members)),
    "tar.zst": lambda members: zstd(tarred(members)),
}


def put(where: Path, data: bytes, name: str = "archive") -> Path:
    path = where / name
    path.write_bytes(data)
    return path


def refusal(path: Path, most: int | None = None) -> str:
    with pytest.raises(ShapelogError) as caught:
        load(path, max_unpacked=most)
    message = str(caught.value)
    assert "\n" not in message
    return message


def damages(trace: Trace) -> list[str]:
    return [f"{problem.file}: {problem.message}" for problem in trace.problems if problem.severity == DATA_LOSS]


@pytest.mark.parametrize("pack", PACKS)
def test_an_archive_is_read_as_the_directory_that_it_was_whatever_its_name(tmp_path: Path, pack: str) -> None:
    members = {f"job/logs/{FIRST}": TRACE, "job/readme.txt": b"hello", f"job/logs/{SECOND}": TRACE}
    trace = load(put(tmp_path, PACKS[pack](members), "attached"))
    assert [(rank.number, rank.process) for rank in trace.ranks] == [(0, make.PROCESS), (1, make.PROCESS)]
    assert trace.name == f"{FIRST}, {SECOND}"
    assert trace.notes == (f"read {FIRST}, {SECOND}, the newest run in attached",)
    assert damages(trace) == []
    assert [account.balances for account in trace.accounts] == [True, True]


@pytest.mark.parametrize("pack", PACKS)
def test_nothing_is_left_of_an_archive_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = put(tmp_path, PACKS[pack]({f"../../{FIRST}": TRACE, f"{tmp_path}/absolute/{SECOND}": TRACE}))
    opened = open_all(select(str(path)).files)
    assert [bytes(trace.data[:]) for trace in opened] == [TRACE, TRACE]
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["archive", "temporary"]


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("inner", [gzip.compress, zstd])
def test_packed_traces_in_archives_are_unpacked(tmp_path: Path, pack: str, inner: Callable[[bytes], bytes]) -> None:
    trace = load(put(tmp_path, PACKS[pack]({f"{FIRST}.gz": inner(TRACE), "other.html": b"<html>"})))
    assert len(trace.compiles) == 2


@pytest.mark.parametrize("pack", PACKS)
def test_the_only_file_of_an_archive_is_read_whatever_its_name(tmp_path: Path, pack: str) -> None:
    trace = load(put(tmp_path, PACKS[pack]({"my trace.txt": TRACE})))
    assert (trace.name, len(trace.compiles)) == ("my trace.txt", 2)


@pytest.mark.parametrize("pack", PACKS)
def test_what_tlparse_wrote_for_all_ranks_is_one_run(tmp_path: Path, pack: str) -> None:
    page = {"out/index.html": b"<html>", "out/rank_0/raw.jsonl": b"{}", "out/rank_1/index.html": b"<html>"}
    later = TRACE.replace(b"V1120", b"V1121")
    trace = load(
        put(tmp_path, PACKS[pack]({**page, "out/rank_0/raw.log": TRACE, "out/rank_10/raw.log": TRACE, "out/rank_2/raw.log": later}))
    )
    assert [rank.number for rank in trace.ranks] == [0, 2, 10]
    assert trace.name == "out/rank_0/raw.log, out/rank_2/raw.log, out/rank_10/raw.log"


def test_the_output_of_tlparse_is_read_as_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "tl_out"
    (out / "-_0_0_0").mkdir(parents=True)
    for name in ("index.html", "raw.jsonl", "-_0_0_0/dynamo_output_graph_1.txt"):
        put(out, b"<html>", name)
    put(out, TRACE, "raw.log")
    assert load(out).name == "raw.log"
    (out / "raw.log").unlink()
    assert "output of tlparse without its raw.log" in refusal(out)
    ranks = tmp_path / "ranks"
    for rank in (0, 3):
        (ranks / f"rank_{rank}").mkdir(parents=True)
        put(ranks / f"rank_{rank}", TRACE, "raw.log")
    put(ranks, b"<html>", "index.html")
    assert [rank.number for rank in load(ranks).ranks] == [0, 3]
    assert [rank.number for rank in load(ranks / "rank_3").ranks] == [3]


def test_an_archive_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for pack in PACKS.values():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack({FIRST: TRACE, SECOND: TRACE}))))
        assert [rank.number for rank in load("-").ranks] == [0, 1]


def test_zstd_is_unpacked_frame_by_frame(tmp_path: Path) -> None:
    half = len(TRACE) // 2
    frames = zstd(TRACE[:half]) + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(TRACE[half:])
    (opened,) = open_all(select(str(put(tmp_path, frames))).files)
    assert (bytes(opened.data[:]), opened.problems) == (TRACE, [])


@pytest.mark.parametrize("cut", [5, 200, -1])
def test_cut_off_zstd_data_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    packed = zstandard.ZstdCompressor(level=1).compress(TRACE)
    (opened,) = open_all(select(str(put(tmp_path, zstd(TRACE) + packed[:cut], "a.zst"))).files)
    assert bytes(opened.data[: len(TRACE)]) == TRACE
    (problem,) = opened.problems
    assert (problem.code, problem.file, problem.severity) == ("damaged-archive", "a.zst", DATA_LOSS)
    assert "zstd" in problem.message


def test_zstd_without_a_package_that_reads_it_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_ZSTD_MODULES", ("shapelog_has_no_such_module",))
    assert refusal(put(tmp_path, zstd(TRACE), "a.log.zst")).startswith(
        "a.log.zst: packed with zstd, which takes one more package: pip install"
    )


def test_links_and_devices_in_an_archive_are_not_followed_and_told_of(tmp_path: Path) -> None:
    secret = put(tmp_path, TRACE, "secret.log")
    members = [
        member(NAME.format(2, "cccccccc"), kind=tarfile.SYMTYPE, link=str(secret)),
        member(NAME.format(3, "dddddddd"), kind=tarfile.LNKTYPE, link=FIRST),
        member(NAME.format(4, "eeeeeeee"), kind=tarfile.CHRTYPE),
        member(NAME.format(5, "ffffffff"), kind=tarfile.FIFOTYPE),
    ]
    trace = load(put(tmp_path, tarred_members(member(FIRST, TRACE), *members)))
    assert [rank.number for rank in trace.ranks] == [0]
    assert damages(trace) == [
        "archive: a link, a device or a sparse file are not read from an archive: "
        f"{NAME.format(2, 'cccccccc')}, {NAME.format(3, 'dddddddd')}, {NAME.format(4, 'eeeeeeee')} and 1 more"
    ]
    info = zipfile.ZipInfo(SECOND)
    info.external_attr = 0o120777 << 16
    made = io.BytesIO(zipped({FIRST: TRACE}))
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(info, str(secret))
    trace = load(put(tmp_path, made.getvalue()))
    assert [rank.number for rank in trace.ranks] == [0]
    assert damages(trace) == [f"archive: a link is not read from an archive: {SECOND}"]


def test_of_members_with_one_name_the_last_is_read(tmp_path: Path) -> None:
    packed = tarred_members(member(FIRST, b"old\n"), member(FIRST, TRACE))
    trace = load(put(tmp_path, packed))
    assert len(trace.compiles) == 2
    assert [problem.code for problem in trace.problems] == ["named-twice"]
    made = io.BytesIO(zipped({FIRST: b"old\n"}))
    with zipfile.ZipFile(made, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(FIRST, TRACE)
    assert len(load(put(tmp_path, made.getvalue())).compiles) == 2


def test_archives_in_archives_are_not_looked_into(tmp_path: Path) -> None:
    inner = zipped({FIRST: TRACE})
    trace = load(put(tmp_path, zipped({SECOND: TRACE, "more.zip": inner})))
    assert [problem.message for problem in trace.problems] == ["archives inside this one are not looked into: more.zip; unpack it first"]
    assert "no trace in this archive, but an archive (more.zip); unpack it first" in refusal(
        put(tmp_path, tarred({"more.zip": inner, "a": b""}))
    )
    assert "looks like a zip archive in another archive" in refusal(put(tmp_path, gzip.compress(inner), "twice.gz"))


def encrypted(packed: bytes, name: str) -> bytes:
    """With the mark of an encrypted member in both of its headers."""
    data = bytearray(packed)
    local = data.find(b"PK\x03\x04", data.find(name.encode()) - 31)
    central = data.rfind(b"PK\x01\x02", 0, data.rfind(name.encode()))
    data[local + 6] |= 1
    data[central + 8] |= 1
    return bytes(data)


def test_an_encrypted_member_is_told_of_and_the_others_are_read(tmp_path: Path) -> None:
    packed = encrypted(zipped({FIRST: TRACE, SECOND: TRACE}), SECOND)
    trace = load(put(tmp_path, packed, "a.zip"))
    assert [rank.number for rank in trace.ranks] == [0]
    assert damages(trace) == [f"{SECOND}: encrypted in a.zip; unpack it first"]
    assert refusal(put(tmp_path, encrypted(zipped({FIRST: TRACE}), FIRST), "b.zip")) == f"{FIRST}: encrypted in b.zip; unpack it first"


def test_a_wrong_checksum_is_told_of_and_the_member_read(tmp_path: Path) -> None:
    packed = zipped({FIRST: TRACE, SECOND: TRACE}).replace(struct.pack("<L", zlib.crc32(TRACE)), b"\1\2\3\4")
    trace = load(put(tmp_path, packed, "a.zip"))
    assert len(trace.compiles) == 4
    assert [message.split(" (")[0] for message in damages(trace)] == [f"{name}: the member is damaged in a.zip" for name in (FIRST, SECOND)]


@pytest.mark.parametrize("pack", PACKS)
def test_of_a_cut_off_archive_what_is_there_is_read(tmp_path: Path, pack: str) -> None:
    padded = TRACE + make.artifact("noise", os.urandom(150_000).hex())
    packed = PACKS[pack]({FIRST: padded, SECOND: padded})
    trace = load(put(tmp_path, packed[: len(packed) * 3 // 4], "cut"))
    assert len([compile for compile in trace.compiles if compile.rank == 0]) == 2
    lost = damages(trace)
    assert any(message.startswith("cut: ") for message in lost)
    assert all(account.balances for account in trace.accounts)


@pytest.mark.parametrize("pack", PACKS)
def test_a_cut_at_any_place_ends_in_a_report_or_in_a_refusal(tmp_path: Path, pack: str) -> None:
    packed = PACKS[pack]({FIRST: TRACE + make.artifact("noise", os.urandom(150_000).hex())})
    read = 0
    for cut in range(1, len(packed), max(1, len(packed) // 25)):
        with contextlib.suppress(ShapelogError):
            trace = load(put(tmp_path, packed[:cut]))
            read += 1
            assert trace.problems or cut > len(packed) - tarfile.RECORDSIZE  # of a tar file only padding is missing
    assert read


def test_a_bomb_of_zeros_is_refused_in_each_wrapping(tmp_path: Path) -> None:
    zeros = bytes(10_000_000)
    wrappings = [
        gzip.compress(zeros),
        zstd(zeros),
        zipped({FIRST: zeros}),
        gzip.compress(tarred({FIRST: zeros})),
        zstd(tarred({FIRST: zeros, SECOND: zeros})),
        zipped({f"{FIRST}.gz": gzip.compress(zeros)}),
    ]
    for number, data in enumerate(wrappings):
        assert len(data) < 30_000
        said = refusal(put(tmp_path, data, f"bomb{number}"), most=2_000_000)
        assert said.endswith("not read, because it unpacks to more than 2 MB, the limit of --max-unpacked")


def test_the_usual_limit_depends_on_how_much_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_SMALL", 1_000_000)
    path = put(tmp_path, gzip.compress(bytes(10_000_000)), "bomb.gz")
    said = refusal(path)
    assert said.startswith("bomb.gz: not read, because it unpacks to more than 2.")
    assert said.endswith("too much for its size, as of a zip bomb; --max-unpacked 100G allows more")
    assert load(put(tmp_path, gzip.compress(TRACE * 400), "real.gz"))
    assert "no trace record in it" in refusal(path, most=20_000_000)


def test_a_bomb_beside_a_trace_is_told_of_and_the_trace_is_read(tmp_path: Path) -> None:
    packed = zipped({FIRST: TRACE, SECOND: bytes(10_000_000)})
    trace = load(put(tmp_path, packed, "a.zip"), max_unpacked=2_000_000)
    assert [rank.number for rank in trace.ranks] == [0]
    assert damages(trace) == [f"{SECOND}: a.zip: not read, because it unpacks to more than 2 MB, the limit of --max-unpacked"]


def test_a_full_disk_is_not_filled_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda where: shutil_usage(100))
    assert "is nearly full; TMPDIR names another place" in refusal(put(tmp_path, gzip.compress(TRACE)))


def shutil_usage(free: int) -> object:
    return type("Usage", (), {"free": free})()


def test_long_headers_and_many_members_of_an_archive_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_name, data = member("x", bytes(2_000_000), kind=tarfile.GNUTYPE_LONGNAME)
    packed = tarred_members(member(FIRST, TRACE), (long_name, data))
    trace = load(put(tmp_path, packed, "a.tar"))
    assert len(trace.compiles) == 2
    assert damages(trace) == ["a.tar: the archive is damaged or ends early behind 1 members (a header is longer than any real one)"]
    monkeypatch.setattr("shapelog.reading.archives._MOST_MEMBERS", 3)
    trace = load(put(tmp_path, tarred({FIRST: TRACE, **{f"{number}.txt": b"" for number in range(9)}}), "b.tar"))
    assert damages(trace) == ["b.tar: what comes behind the first 3 members is not looked at"]
    monkeypatch.setattr("shapelog.reading.archives._LARGEST_TABLE", 100)
    assert "the table of contents of this zip file is larger" in refusal(put(tmp_path, zipped({FIRST: TRACE, SECOND: TRACE})))


def test_a_zip_file_that_contradicts_itself_loses_only_what_it_says_wrongly(tmp_path: Path) -> None:
    packed = bytearray(zipped({FIRST: TRACE, SECOND: TRACE}))
    second = packed.find(b"PK\x03\x04", 4)
    packed[second : second + 4] = b"none"
    trace = load(put(tmp_path, bytes(packed), "a.zip"))
    assert [rank.number for rank in trace.ranks] == [0]
    assert damages(trace) == [f"{SECOND}: the member is not where the table of contents of a.zip says"]
    nameless = zipped({"x": b"", FIRST: TRACE})
    nameless = nameless[:30] + nameless[31:].replace(b"x", b"", 1)
    for data in (nameless, zipped({FIRST: TRACE}) + b"PK\x05\x06", zipped({FIRST: TRACE})[:-9]):
        with contextlib.suppress(ShapelogError):
            load(put(tmp_path, data))


def test_an_empty_archive_and_one_without_traces_say_so(tmp_path: Path) -> None:
    assert "the archive is empty" in refusal(put(tmp_path, zipped({}), "a.zip"))
    assert "no trace in this archive (files are named" in refusal(put(tmp_path, zipped({"a.txt": b"1", "b.txt": b"2"}), "a.zip"))
    assert refusal(put(tmp_path, b"PK\x03\x04" + bytes(20), "a.zip")).startswith("a.zip: nothing in this archive can be read; the table of")
    put(tmp_path, TRACE, "not.txt")
    assert "no trace in this directory, but an archive (a.zip); give it by its name" in refusal(tmp_path)


def test_an_older_run_in_an_archive_can_be_asked_for(tmp_path: Path) -> None:
    older = TRACE.replace(b"V1120", b"V1119")
    path = put(
        tmp_path, tarred({"a/dedicated_log_torch_trace_aaaaaaaa.log": older, "b/dedicated_log_torch_trace_bbbbbbbb.log": TRACE}), "a.tar"
    )
    assert load(path).name == "dedicated_log_torch_trace_bbbbbbbb.log"
    assert load(path, run=2).name == load(path, run="aaaa").name == "dedicated_log_torch_trace_aaaaaaaa.log"
    assert len(load(path, run="all").ranks) == 2


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1000", 1000), ("64G", 64 * 10**9), ("1.5 MB", 1_500_000), ("2tb", 2 * 10**12), (" 7 k ", 7000)]
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "1e9", "64X", "1" * 20, "1,5G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_size(text)


def test_the_choice_of_a_limit_reaches_files_in_directories(tmp_path: Path) -> None:
    put(tmp_path, gzip.compress(bytes(10_000_000)), f"{FIRST}.gz")
    put(tmp_path, gzip.compress(TRACE), f"{SECOND}.gz")
    opened = open_all(select(str(tmp_path), Choice(run="all", most=1_000_000)).files)
    assert [trace.is_lost for trace in opened] == [True, False]
