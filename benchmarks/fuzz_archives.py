"""Inputs for the fuzzer that are packed: zip, tar, gzip and zstd, in one another, damaged, with members that overlap or are elsewhere."""

import gzip
import io
import random
import struct
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from make import small_trace
from mutations import Mutator, Records
from packing import RANK, streamed, tarred_members, zipped
from promises import command, demand, refusal, watched

import shapelog
from shapelog.errors import ShapelogError

_NAMES = (
    *(RANK.format(rank, "aaaaaaaa") for rank in (0, 0, 1, 2, 10**9)),
    *("dedicated_log_torch_trace_abcdefgh.log", "dedicated_log_torch_trace_abcdefgh.log.gz", "raw.log", "rank_1/raw.log", "a.log"),
    *("job/" + RANK.format(0, "bbbbbbbb"), "../../" + RANK.format(1, "cccccccc"), "/etc/passwd", "a.zip", "a.tar.gz", "d/", "", ".", ".."),
    *("x" * 300 + ".log", "é.log", "\u202e.log", "\x1b[31m.log", "a\nb.log", "a\0b.log", "raw.jsonl", "compile_directory.json"),
)
_TIMES = (0, 1, 1763627254, -1, 2**31, 2**33, 2**63)
_NUMBERS = (0, 1, 20, 100, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)
_PAX = {
    "mtime": ("1e300", "-1e300", "nan", "inf", "x", "9" * 99, "9" * 200, ""),
    "size": ("0", "1", "-1", "9" * 20, "x", "9" * 120, ""),
    "path": ("\0", "a" * 5000, "../x.log", RANK.format(3, "dddddddd"), ""),
    "linkpath": ("/etc/passwd",),
    "GNU.sparse.major": ("1", "x"),
    "GNU.sparse.map": ("0,1,2", "x", "9" * 50),
    "GNU.sparse.size": ("9" * 30, "x"),
    "hdrcharset": ("BINARY", "x"),
}
# As many different sets of options.
_OPTIONS = 4 * 6 * 4
Members = dict[str, bytes]


class Archives:
    """Archives of a few small members."""

    def __init__(self, work: Path, seeds: list[Records]) -> None:
        self.work = work
        self.seeds = seeds
        self.content = small_trace()

    def input(self, chance: random.Random) -> bytes:
        data = self._packed(chance, 0)
        for change, rate in ((_cut, 0.15), (_changed_bytes, 0.25), (_other_numbers, 0.2), (_twice, 0.05)):
            if chance.random() < rate:
                data = change(data, chance)
        return gzip.compress(data, 1, mtime=0) if chance.random() < 0.1 else data

    def _packed(self, chance: random.Random, depth: int) -> bytes:
        pack: Callable[[Members, random.Random], bytes] = chance.choice((_zip, _zip, _streamed, _tar, _tar, _gzips))
        members = {chance.choice(_NAMES): self._member(chance, depth) for _ in range(chance.choice((0, 1, 1, 2, 3, 5)))}
        return pack(members, chance)

    def _member(self, chance: random.Random, depth: int) -> bytes:
        kind = chance.random()
        if kind < 0.1 and depth < 2:
            return self._packed(chance, depth + 1)
        if kind < 0.2:
            return chance.choice((b"", b"hello\n", b"\0" * 2000, b"\n" * 20000, chance.randbytes(50)))
        data = Mutator(chance, self.seeds, []).input() if kind < 0.5 else self.content
        return gzip.compress(data, 1, mtime=0) if chance.random() < 0.1 else data

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """By the library, with the options that archives have; some by the command line."""
        path = self.work / ("given.zip", "given.log", "given.tgz", "x")[chosen % 4]
        path.write_bytes(data)
        try:
            with watched(self.work):
                for number in range(_OPTIONS) if everything else (chosen,):
                    self._load(path, counts, number)
                if everything or chosen % 60 == 0:
                    counts["by the command line"] += 1
                    command("report", str(path), "-f", "json", *(["--all-runs"] if chosen % 11 == 0 else []))
        finally:
            path.unlink()

    def _load(self, path: Path, counts: Counter[str], chosen: int) -> None:
        run = ("", "", "", "all", "2", "aaaaaaaa")[chosen // 4 % 6]
        limit = (None, None, None, 5000)[chosen // 24 % 4]
        try:
            trace = shapelog.load(path, strict=chosen % 9 == 0, run=run, max_unpacked=limit)
        except ShapelogError as error:
            counts["refused"] += 1
            refusal(error)
            return
        counts["read"] += 1
        demand(all(account.balances for account in trace.accounts), "an account does not balance")
        if chosen % 5 == 0:
            counts["analyzed"] += 1
            failed = [problem.message for problem in shapelog.analyze(trace).problems if problem.code == "analysis-failed"]
            demand(not failed, failed[0] if failed else "")


def _zip(members: Members, chance: random.Random) -> bytes:
    with suppress(ValueError, struct.error):
        return zipped(members, chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return zipped({})


def _streamed(members: Members, chance: random.Random) -> bytes:
    return streamed(members)


def _tar(members: Members, chance: random.Random) -> bytes:
    found = []
    for name, data in members.items():
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mtime = chance.choice(_TIMES[:5])
        info.type = chance.choice(
            (tarfile.REGTYPE,) * 6 + (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE, b"?")
        )
        if chance.random() < 0.2:
            info.pax_headers = {key: chance.choice(values) for key, values in _PAX.items() if chance.random() < 0.3}
        found.append((info, data))
    try:
        data = tarred_members(*found)
    except (ValueError, struct.error, UnicodeError):
        return tarred_members()
    return gzip.compress(data, 1, mtime=0) if chance.random() < 0.4 else data


def _gzips(members: Members, chance: random.Random) -> bytes:
    """Each packed by itself, one behind the other, as ``cat a.gz b.gz`` does."""
    return b"".join(gzip.compress(data, 1, mtime=0) for data in members.values())


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 10))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _other_numbers(data: bytes, chance: random.Random) -> bytes:
    """Other sizes and places in the tables of a zip file, so that members overlap; other fields of a tar header, with its checksum."""
    changed = bytearray(data)
    for mark, offsets in (
        (b"PK\x01\x02", (8, 10, 16, 20, 24, 28, 30, 38, 42)),
        (b"PK\x03\x04", (6, 8, 18, 22, 26)),
        (b"PK\x05\x06", (8, 12, 16)),
    ):
        at = changed.find(mark)
        while at >= 0:
            offset = at + chance.choice(offsets)
            if chance.random() < 0.5 and offset + 4 <= len(changed):
                changed[offset : offset + 4] = struct.pack("<I", chance.choice((*_NUMBERS, chance.randrange(len(data)))))
            at = changed.find(mark, at + 1)
    if changed[257:262] == b"ustar":
        _other_tar_field(changed, chance)
    return bytes(changed)


def _other_tar_field(changed: bytearray, chance: random.Random) -> None:
    start, length = chance.choice(((0, 100), (124, 12), (136, 12), (156, 1), (345, 155), (257, 8)))
    value = chance.choice(
        (b"%011o\0" % chance.choice(_NUMBERS), b"\x80" + chance.randbytes(11), b"\xff" * 12, b"9" * 12, b"x", b"", b"L", b"x", b"g")
    )
    changed[start : start + length] = value[:length].ljust(length, b"\0")
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % sum(changed[:512])


def _twice(data: bytes, chance: random.Random) -> bytes:
    made = io.BytesIO(data)
    made.seek(chance.randrange(len(data) + 1))
    made.write(data)
    return made.getvalue()
