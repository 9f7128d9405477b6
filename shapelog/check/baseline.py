"""A recorded state of a run, so that a check fails only on what is new. Frames are matched by their code."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shapelog.check.export_alerts import with_exports
from shapelog.errors import ShapelogError
from shapelog.grouping import grouped
from shapelog.model.code_matching import Code, match_codes, without_installation
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.ids import CompileId
from shapelog.reading.records import Stack
from shapelog.report.alerts.alert import Alert, Alerts
from shapelog.text import file_name

# 1: first shape.
FORMAT_VERSION = 1
_FORMAT = "shapelog baseline"
_HEAD = re.compile(rb'\s*\{\s*"format"\s*:\s*"shapelog baseline"')
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """One piece of code as it was: how often it was compiled, and how often each (rule code, property) came up, in its worst process."""

    code: Code
    compiles: int
    alerts: Mapping[Key, int]


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A recorded state; ``name`` is that of its file, ``torch_version`` that of its trace, "" where that has none."""

    name: str
    torch_version: str
    known: tuple[Known, ...]


def match(baseline: Baseline, codes: Iterable[Code]) -> tuple[dict[Code, Known], list[Known]]:
    """What a baseline knows of each code of a run, and what it knows that the run does not have.

    Codes are the same by file and name, though lines shifted or directories are others.
    """
    known = {item.code: item for item in baseline.known}
    by_code: dict[Code, Known] = {}
    gone: list[Known] = []
    for pair in match_codes([item.code for item in baseline.known], list(codes)):
        if pair.before and pair.after:
            by_code[pair.after] = known[pair.before]
        elif pair.before:
            gone.append(known[pair.before])
    return by_code, gone


def worst(processes: Counter[int]) -> int:
    """What the process with most of it has, so that more ranks alone make nothing new."""
    return max(processes.values(), default=0)


def compiles_of(found: Alerts, code: Code) -> Counter[int]:
    """How often a piece of code was compiled in each process."""
    return Counter(found.processes[frame] for frame in code.frames for item in frame.compiles if item.outcome is Outcome.COMPILED)


def counts_of(alerts: Iterable[Alert]) -> dict[tuple[str, str], int]:
    """How often the worst process has each (rule code, property), of one code; two errors of it have one key."""
    processes: dict[tuple[str, str], Counter[int]] = {}
    for alert in alerts:
        for key in alert.keys:
            processes.setdefault(key, Counter()).update(occurrence.process for occurrence in alert.occurrences)
    return {key: worst(found) for key, found in processes.items()}


def as_bytes(found: Alerts) -> bytes:
    """The baseline of a run: JSON that changes as little as the run does, with neither times nor compile ids."""
    trace, found = found.report.trace, with_exports(found)
    alerts = grouped(found.alerts, lambda alert: alert.code)
    frames = [_frame_data(found, code, alerts.get(code, ())) for code in found.codes]
    frames.sort(key=lambda item: (item["file"], item["line"], json.dumps(item)))
    data = {"format": _FORMAT, "format_version": FORMAT_VERSION, "torch_version": trace.torch_version or None, "frames": frames}
    return json.dumps(data, indent=2).encode("ascii") + b"\n"


def _frame_data(found: Alerts, code: Code, alerts: Iterable[Alert]) -> dict[str, Any]:
    first, called = code.first, code.first.called_at
    own = found.repository.source_line(first.file, first.line)
    place = found.repository.source_line(called.file, called.line) if called else None
    file = own.file if own and file_name(own.file) == file_name(first.file) else first.file  # a name may end in a backslash
    return {
        "title": code.title,
        "name": first.name,
        "file": without_installation(file),
        "line": first.line,
        "called_at": {"file": place.file, "line": place.line, "name": called.name} if called and place else None,
        "compiles": worst(compiles_of(found, code)),
        "alerts": [{"code": rule, "axis": axis, "count": count} for (rule, axis), count in sorted(counts_of(alerts).items())],
    }


def is_one(content: bytes) -> bool:
    """Whether a file begins as a baseline does, of whatever version, whole or damaged."""
    return bool(_HEAD.match(content))


def parse(content: bytes, name: str) -> Baseline:
    """Raises ShapelogError when it is no baseline, or one of a later shapelog."""
    try:
        data = json.loads(content)
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ShapelogError(f"{name}: not a shapelog baseline (create one with `shapelog check TRACE --write-baseline {name}`)")
        found = data.get("format_version")
        if found != FORMAT_VERSION or isinstance(found, bool):
            raise ShapelogError(
                f"{name}: baseline version {found}, but this shapelog reads version {FORMAT_VERSION}; write it again with --write-baseline"
            )
        return Baseline(name, str(data.get("torch_version") or ""), tuple(_known(data["frames"])))
    except UnicodeDecodeError as error:
        raise ShapelogError(f"{name}: not a shapelog baseline: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ShapelogError(f"{name}:{error.lineno}: not a shapelog baseline: {error.msg}") from error
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        raise ShapelogError(f"{name}: damaged baseline ({type(error).__name__}: {error}); write it again with --write-baseline") from error


def _known(frames: list[dict[str, Any]]) -> Iterator[Known]:
    for number, item in enumerate(frames):
        called = item["called_at"]
        stack = [{"filename": str(called["file"]), "line": int(called["line"]), "name": str(called["name"])}] if called else []
        counts = {(str(part["code"]), str(part["axis"])): _count(part["count"]) for part in item["alerts"]}
        code = Code((_frame(number, item, stack),), str(item["title"]))
        yield Known(code, _count(item["compiles"]), counts)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _frame(number: int, item: dict[str, Any], stack: list[dict[str, Any]]) -> Frame:
    called = Stack(header=lambda offset: {"stack": stack}, keys=("stack",), strings={})
    compile = Compile(CompileId(number, 0), f"{number}/0", None, 0, number, stack=called)
    return Frame(
        number=number,
        rank=None,
        process=0,
        generation=1,
        name=str(item["name"]),
        file=str(item["file"]),
        line=int(item["line"]),
        compiles=(compile,),
    )
