"""Inputs for the fuzzer that are settings, of a file and of the environment, and baselines."""

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

from make import alerts_of, compile, small_trace, tensor, trace
from mutations import NASTY_JSON
from payload_text import size_mismatch
from promises import command, demand, refusal, watched

from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import check
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.cli.settings import KEYS, settings
from shapelog.errors import ShapelogError
from shapelog.report.alerts.alert import Alerts
from shapelog.reporters import Options, formats, renderer
from shapelog.rules import AlertKind

_OTHER_SECTIONS = """\
[tool]
[[tool.shapelog]]
[tool.other]
[project]
[tool.shapelog.check]
[tool."shapelog"]
tool.shapelog = 1
[tool.shapelog
tool = {shapelog = {}}
"""
_SECTIONS = (*("[tool.shapelog]",) * 8, "", *_OTHER_SECTIONS.splitlines())
_KEYS = (*KEYS, *KEYS, *(key.replace("-", "_") for key in KEYS), "max", "x", '""', '"a b"', "a.b", "é", '"\\u0000"', '"\\u001b[31m"')
_WORDS = r"""
0 1 3 -1 1.5 1e3 1e400 -0.0 nan inf true false [] {} 0x10 0o7 0b1 1_000 1__0 010 1979-05-27 07:32:00 1e-9
999999999999999 1000000000000000 1000000000000001 9223372036854775808
'' 'x' 'auto' 'all' 'new' 'SL101' '500M' '9e9G' 'true' [1] ['x','y,z'] [[]] [[1]] {a=1}
{"*"=1} {"*"=1.5} {"*"="x"} {"Net.forward"={}} "\u0000" "\ud800" "\u202e" "\u001b]0;x\u0007"
"../../../x" "/dev/null" "/dev/zero" "/etc/passwd" "given.log" "." "" "~" "//x" "a*b[c" "!" "[" "x=1" "=1" "*=x" "a=b=c"
"""
_LONG = ("9" * 400, "9" * 5000, "0x" + "f" * 5000, "1." + "9" * 5000, "[" * 400 + "]" * 400, '"' + "x" * 5000 + '"')
_VALUES = (*_WORDS.split(), *_LONG, "'''\nx\n'''", '"""\\\n"""')
_VARIABLES = (*(f"SHAPELOG_{key.upper().replace('-', '_')}" for key in KEYS), "SHAPELOG_X", "SHAPELOG_", "SHAPELOG_WIDTH_", "SHAPELOGS")
_ENVIRONMENT = re.compile(rb"(?m)^# (SHAPELOG\w*)=(.*)$")
_COMMANDS = (
    ("check",),
    ("report",),
    ("suggest-dynamic",),
    ("explain", "0/1"),
    ("check", "-f", "markdown"),
    ("check", "-f", "json", "--exit-zero"),
    ("report", "-f", "json", "--limit", "1"),
    ("check", "--max-recompiles", "0", "-v"),
)


class Settings:
    """TOML files; lines such as ``# SHAPELOG_WIDTH=80`` in one are the environment."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.trace = work / "given.log"
        self.trace.write_bytes(small_trace())

    def input(self, chance: random.Random) -> bytes:
        lines = [chance.choice(_SECTIONS)]
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 6))):
            lines.append(f"{chance.choice(_KEYS)} = {chance.choice(_VALUES)}")
        if chance.random() < 0.3:
            lines.append(chance.choice(_SECTIONS))
        if chance.random() < 0.3:
            lines.append(f"# {chance.choice(_VARIABLES)}={_unquoted(chance.choice(_VALUES))}")
        if chance.random() < 0.1:
            chance.shuffle(lines)
        data = chance.choice(("\n", "\n", "\n", "\r\n")).join((*lines, "")).encode("utf-8", "surrogatepass")
        while chance.random() < 0.2:
            at = chance.randrange(len(data) + 1)
            data = data[:at] + chance.choice((b"", b"\0", b"\xff", b'"', b"[", b"=", b"\n", b".", b"#")) + data[at + chance.randrange(3) :]
        return b"\xef\xbb\xbf" + data if chance.random() < 0.03 else data

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """Read as the nearest file, or as one that was named; some by the command line, which uses what they say."""
        is_named = chosen % 3 == 0
        path = self.work / ("pyproject.toml", "shapelog.toml")[chosen // 3 % 2]
        path.write_bytes(data)
        environment = {name.decode(): value.decode("utf-8", "replace") for name, value in _ENVIRONMENT.findall(data)}
        try:
            with watched(self.work):
                self._read(str(path) if is_named else None, environment, counts)
                if everything or chosen % 60 == 0:
                    counts["by the command line"] += 1
                    name, *more = _COMMANDS[chosen // 60 % len(_COMMANDS)]
                    command(name, str(self.trace), *more, *(["--config", str(path)] if is_named else []))
        finally:
            path.unlink()

    def _read(self, file: str | None, environment: dict[str, str], counts: Counter[str]) -> None:
        try:
            found = settings(file, str(self.work), environment)
        except ShapelogError as error:
            counts["refused"] += 1
            refusal(error)
        else:
            counts["read"] += 1
            demand(found.keys() <= {key.replace("-", "_") for key in KEYS}, "a setting that no command has")


def _unquoted(text: str) -> str:
    return text.strip("'\"").replace("\n", " ")


class Baselines:
    """Baselines of small traces with other values, or bytes."""

    def __init__(self, work: Path) -> None:
        self.work = work
        again = compile("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])
        more = compile("1/0", tensor(4, 4), name="g", line=20)
        self.found: tuple[Alerts, ...] = tuple(map(alerts_of, (small_trace(), trace(compile("0/0", tensor(8, 16)), again, more))))
        self.known = tuple(map(as_bytes, self.found))
        self.trace = work / "given.log"
        self.trace.write_bytes(small_trace())

    def input(self, chance: random.Random) -> bytes:
        data = json.loads(chance.choice(self.known))
        for _ in range(chance.choice((0, 1, 1, 2, 4))):
            _change(data, chance)
        text = json.dumps(data, indent=chance.choice((None, 2))).encode()
        for _ in range(chance.choice((0, 0, 1, 2))):
            values = list(re.finditer(rb'(?<=: )("[^"]*"|\d+|null)|(?<=\[)[^\[\]]*(?=\])', text))
            place = chance.choice(values) if values else None
            if place:
                text = text[: place.start()] + chance.choice(NASTY_JSON) + text[place.end() :]
        while chance.random() < 0.15:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.randbytes(chance.randrange(4)) + text[at + chance.randrange(40) :]
        return text

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """Parsed, and compared with runs; some by the command line."""
        try:
            known = parse(data, "known.json")
        except ShapelogError as error:
            counts["refused"] += 1
            refusal(error, "known.json")
        else:
            counts["read"] += 1
            budgets = tuple(Budget(metric, 0, pattern) for metric in Metric for pattern in ("", "*"))
            outcome = check(self.found[chosen % 2], Policy(fail_on=tuple(AlertKind), budgets=budgets), known)
            if everything or chosen % 40 == 0:
                counts["shown"] += 1
                for form in formats("check"):
                    renderer("check", form)(outcome, Options(width=80))
        if everything or chosen % 150 == 0:
            counts["by the command line"] += 1
            path = self.work / "known.json"
            path.write_bytes(data)
            with watched(self.work):
                command("check", str(self.trace), "--baseline", str(path), "--fail-on", "recompile")
            path.unlink()


def _change(data: Any, chance: random.Random) -> None:
    """Another value somewhere inside."""
    here: Any = data
    while isinstance(here, (dict, list)) and here:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = chance.choice(keys)
        if chance.random() < 0.4 or not isinstance(here[key], (dict, list)):
            kind = chance.randrange(5)
            if kind == 0:
                del here[key]
            elif kind == 1 and isinstance(here, list):
                here.extend(here[:3])
            else:
                here[key] = chance.choice((None, True, -1, 0, 2, 2**63, 1.5, "", "x", "\ud800", "\0", "../x", "f", [], [[]], {}, {"a": 1}))
            return
        here = here[key]
