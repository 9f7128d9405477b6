"""Inputs for the fuzzer: real and made traces, and what is done to them. The same seed gives the same inputs."""

import gzip
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import make  # noqa: E402
from payload_text import code_comment, equals_match, size_mismatch  # noqa: E402

Records = tuple[bytes, ...]
# Of a fixture, so many records in a row make one input, and longer ones are left out.
_ROW, _LONG = 40, 6000
_VALUE = re.compile(rb'(?<=[:\[,] )(?:-?\d[\d.e+-]*|"(?:[^"\\]|\\.)*"|true|false|null|\[[^\[\]{}]*\]|\{\})')
_TOKEN = re.compile(rb"\d+|\w+|[^\w\s]+")
_ID = re.compile(rb'"(frame_id|frame_compile_id|attempt|compiled_autograd_id)": \d+')
_DIGEST = re.compile(rb'"has_payload": "(\w*)"')
_PROCESS = re.compile(rb"^(V\d{4} [\d:.]+ )\d+")
_DIGITS, _DEPTH = 5000, 3000
NASTY_JSON = (
    *(b"null true false -1 0 1 1.5 1e400 -1e400 NaN Infinity -Infinity 9223372036854775808 1e-400 [] {} [[]] [null] [{}]".split()),
    b"1" + b"0" * 30,
    b"9" * 400,
    b"9" * _DIGITS,
    b"[" * _DEPTH + b"]" * _DEPTH,
    b'{"a":' * 200 + b"1" + b"}" * 200,
    b'""',
    b'"x"',
    b'"' + b"9" * 40 + b'"',
    b'"' + b"9" * _DIGITS + b'"',
    b'"\\ud800"',
    b'"\\u0000\\u001b]0;x\\u0007\\u202e"',
    b'"</script><img src=x onerror=alert(1)>"',
    b'"x\\n::error::y\\n##[error]z"',
    b'"$(id)`id`!!\\"\'\\\\"',
    b"\"L['x'], 0); import os  # \"",
    b'"../../../../etc/passwd"',
    b'"(a+)+$,(x*)*y,.*.*.*.*z,L..x"',
    b'"(a|a)*$' + b"a" * 40 + b'"',
    b'"' + b"a" * 3000 + b'"',
    b'"caf\xc3\xa9 \xe2\x80\xae \xf0\x9f\x92\xa5"',
    b'"\xff\xfe"',
)
NASTY_TEXT = (
    *(b"L['x'] L[''] L[' G['x'] None True nan inf -1 0 1 s77 u0 Eq( Mod( ((( ))) [[[ ]]] || == != <= # , ; : \\ ' \" ${ `".split()),
    b"| " * 300,
    b"9" * 30,
    b"9" * _DIGITS,
    b"(" * 400,
    b"-" * _DEPTH + b"1",
    b"a." * _DEPTH + b"a",
    b"not " * 500 + b"1",
    b"1+" * _DEPTH + b"1",
    b"2**" * 60 + b"2",
    b"L['x'].size()[" + b"9" * _DIGITS + b"]",
    b"L['a\x1b[31m'].size()[0]",
    b"L['x\n'].size()[0]",
    b"L['x # '].size()[0]",
    b"L['x']*2**999999999",
    b"size=[" + b"1, " * 200 + b"]",
    b"size=[8, None, 99999999999999999999]",
    b"\0",
    b"\r",
    b"\n",
    b"\n\t",
    b"\x1b]8;;http://x\x07",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"</script><script>alert(1)</script>",
    b"::error::x",
    b"[bold][link=x]y[/link]",
    b"{{ 7 * 7 }}",
    b"L['(a+)+$']",
    b"a" * 60,
    b"a" * 60 + b"!",
    b"L['" * 300,
    b"list(dict.keys(" * 100,
)
_BYTES = b"\0\n\t\r {}[]()<>\",:'`$\\|#019aszAL_\x1b\x7f\x80\xff"


_PRODUCT = code_comment(7, "return x * k")


def made_seeds() -> list[Records]:
    """Small traces with a record of every kind that the model uses, and runs that make every part of a report."""
    first = make.compile("0/0", make.tensor(8, 16))
    numbers = (
        make.compile(f"0/{number}", make.tensor(8, 16), more_guards=_int_guards(number), reasons=_int_reasons(number))
        for number in range(3)
    )
    failed = make.compile("1/0", make.tensor(8, 16), fail_type="Unsupported", fail_reason="no", has_guarded_code=False)
    again = make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])
    traces = (
        *((make.trace(first),) * 4),
        make.trace(first, make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], dynamic=[0])),
        make.trace(*numbers),
        make.trace(first, failed),
        _every_kind(),
        make.trace(first, again, make.refused("0/2", size_mismatch("0/0", 8, 5))),
    )
    return [tuple(make.split_records(trace)) for trace in traces]


def _int_guards(number: int) -> list[str]:
    branch = f"+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= {30 + number}  {code_comment(6, 'return x')}"
    return [equals_match("L['k']", number, comment=_PRODUCT), branch]


def _int_reasons(number: int) -> list[str]:
    return [f"0/{earlier}: L['k'] == {earlier}  {_PRODUCT}" for earlier in reversed(range(number))]


def _every_kind() -> bytes:
    config = {"dynamo_config": json.dumps({"recompile_limit": 8}), "compiler_config": json.dumps({"dynamic_sources": "L['y']:0,a b"})}
    compiles = (
        make.compile(f"2/{number}", make.tensor(number + 3, 16), reasons=why, **config)
        for number, why in enumerate(([], [size_mismatch("2/0", 3, 4)]))
    )
    return make.trace(make.every_kind(**config), *compiles)


def recorded_seeds(folder: Path) -> list[Records]:
    """Of each trace below a folder the records that the model uses, without the longest."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith((".log.gz", ".log"))):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        records = [record for record in make.split_records(data) if len(record) < _LONG and b'{"chromium_event"' not in record[:120]]
        found.append(tuple(records) or (data[:_LONG],))
    return [records for records in found if records]


@dataclass(frozen=True)
class Mutator:
    """Makes inputs of seeds: a few changes each, of records, fields and bytes."""

    chance: random.Random
    made: list[Records]
    recorded: list[Records]

    def input(self) -> bytes:
        return self.changed(self._seed())

    def changed(self, seed: Records) -> bytes:
        chance = self.chance
        records = list(seed)
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
            chance.choice(_CHANGES)(self, records)
            if not records:
                break
        data = b"".join(records)
        while chance.random() < 0.3:
            data = self._bytes(data)
        return data

    def _seed(self) -> Records:
        if not self.recorded or self.chance.random() < 0.95:
            return self.chance.choice(self.made)
        records = self.chance.choice(self.recorded)
        start = self.chance.randrange(len(records))
        return records[:2] + records[start : start + self.chance.randrange(2, _ROW)]

    def _some(self, records: list[bytes]) -> int:
        return self.chance.randrange(len(records))

    def shuffled(self, records: list[bytes]) -> None:
        self.chance.shuffle(records)

    def lost_and_doubled(self, records: list[bytes]) -> None:
        records[:] = [record for record in records for _ in range(self.chance.choice((0, 1, 1, 1, 1, 2)))]

    def cut(self, records: list[bytes]) -> None:
        del records[self._some(records) + 1 :]
        records[-1] = records[-1][: self.chance.randrange(1, len(records[-1]) + 1)]

    def interleaved(self, records: list[bytes]) -> None:
        queues = [list(reversed(records)), list(reversed(self._seed()))]
        if self.chance.random() < 0.5:
            process = b"%d" % self.chance.randrange(1, 10**6)
            queues[1] = [_PROCESS.sub(rb"\g<1>" + process, record) for record in queues[1]]
        records.clear()
        while any(queues):
            records.append(self.chance.choice([queue for queue in queues if queue]).pop())

    def restarted(self, records: list[bytes]) -> None:
        """The same ids once more, as after torch._dynamo.reset()."""
        start = self._some(records)
        records.extend(records[start:] if self.chance.random() < 0.5 else list(records))

    def spliced(self, records: list[bytes]) -> None:
        """The payload of one record behind the header of another, with the checksum that it has."""
        one, other = self._some(records), self._some(records)
        head, (theirs, _, payload) = records[one].partition(b"\n")[0], records[other].partition(b"\n")
        digest = _DIGEST.search(theirs)
        head = _DIGEST.sub(b'"has_payload": "%s"' % digest[1], head) if digest and self.chance.random() < 0.7 else head
        records[one] = head + b"\n" + payload

    def field(self, records: list[bytes]) -> None:
        """A value in a header becomes another one."""
        index = self._some(records)
        head, newline, payload = records[index].partition(b"\n")
        places = list(_VALUE.finditer(head))
        if places:
            place = self.chance.choice(places)
            value = self.chance.choice(NASTY_JSON) if self.chance.random() < 0.8 else self.chance.choice(places)[0]
            records[index] = head[: place.start()] + value + head[place.end() :] + newline + payload

    def word(self, records: list[bytes]) -> None:
        """A word of a payload becomes another one, sometimes everywhere."""
        index = self._some(records)
        head, newline, payload = records[index].partition(b"\n")
        at = self.chance.randrange(len(payload)) if payload else 0
        token = _TOKEN.search(payload, at)
        if token:
            text = self.chance.choice(NASTY_TEXT)
            if self.chance.random() < 0.2:
                payload = payload.replace(token[0], text, 20)
            else:
                payload = payload[: token.start()] + text + payload[token.end() :]
            records[index] = head + newline + payload

    def everywhere(self, records: list[bytes]) -> None:
        """A name or a number becomes another one in the whole trace."""
        token = self.chance.choice((b"forward", b"'x'", b"L['x']", b"model.py", b"8", b"16", b"0/0", b"/srv/app/", b"s70"))
        text = self.chance.choice(NASTY_TEXT if self.chance.random() < 0.5 else (b"7", b"0", b"x.y", b"caf\xc3\xa9", b"a-b", b"l, 0"))
        if len(text) < 100:
            records[:] = [record[:40] + record[40:].replace(token, text) for record in records]

    def numbers(self, records: list[bytes]) -> None:
        """Other compile ids, and other numbers in the table of strings."""
        for index in range(len(records)):
            if self.chance.random() < 0.3:
                number = b"%d" % self.chance.choice((0, 0, 1, 1, 2, 7, 10**6, 10**19))
                records[index] = _ID.sub(rb'"\g<1>": ' + number, records[index], count=1)

    def deepened(self, records: list[bytes]) -> None:
        """Lines of a payload, many times over and one level deeper."""
        index = self._some(records)
        head, newline, payload = records[index].partition(b"\n")
        lines = payload.splitlines(keepends=True)
        if lines:
            line = self.chance.choice(lines)
            step = self.chance.choice((b"", b"| ", b"  "))
            lines[-1:-1] = [line[:1] + step * depth + line[1:] for depth in range(self.chance.choice((2, 10, 60)))]
            records[index] = head + newline + b"".join(lines)

    def _bytes(self, data: bytes) -> bytes:
        chance, at = self.chance, self.chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            return data[:at] + bytes([chance.choice(_BYTES)]) + data[at + 1 :]
        if kind == 1:
            return data[:at] + chance.choice(NASTY_TEXT) + data[at:]
        if kind == 2:
            return data[:at] + data[at + chance.randrange(40) :]
        if kind == 3:
            return data[:at] + data[max(0, at - chance.randrange(200)) :]
        return data[:at] + chance.randbytes(chance.randrange(8)) + data[at:]


_CHANGES: tuple[Callable[[Mutator, list[bytes]], None], ...] = (
    Mutator.shuffled,
    Mutator.lost_and_doubled,
    Mutator.cut,
    Mutator.interleaved,
    Mutator.restarted,
    Mutator.spliced,
    *((Mutator.field,) * 5),
    *((Mutator.word,) * 5),
    *((Mutator.everywhere,) * 2),
    Mutator.numbers,
    Mutator.deepened,
)
