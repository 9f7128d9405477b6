"""What the fuzzer does with an input: everything a user can do with a trace, and what must hold of the outcome."""

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mutations  # makes the modules of the tests known  # noqa: F401
from jsonschema import Draft202012Validator
from make import NAME, reader, small_trace
from make import load as load_bytes
from promises import Flaw, demand, plain, refusal

import shapelog
from shapelog.advice.advise import advise
from shapelog.advice.paste_formats import as_python, as_shell
from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.distributed.large_jobs import ReadOptions, load_large_job
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.model.ids import TorchVersion
from shapelog.model.load import load
from shapelog.model.trace import Trace
from shapelog.reading.inputs import select_files
from shapelog.reading.reader import Reader
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.compare import compare
from shapelog.report.explain_compile import explain_compile
from shapelog.report.next_steps import advised_run
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.rules import AlertKind

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_COMMAND = re.compile(r"^\s*::(?!(?:error|warning|notice) |group::|endgroup::$)", re.MULTILINE)
_BUDGETS = Policy(budgets=tuple(Budget(metric, 0, pattern) for metric in Metric for pattern in ("", "*")))
_VERSIONS = (None, TorchVersion(2, 6), TorchVersion(2, 10), TorchVersion(2, 15))
# Bytes of output that any input may make, and for each byte of input.
_FREE, _EACH = 120_000, 60
_PAGE = 400_000
_FOREIGN_TAGS = frozenset(("img", "iframe", "object", "embed", "base", "form", "link", "video", "audio", "frame", "applet"))


@dataclass
class Subject:
    """One input with what was made of it so far."""

    data: bytes
    trace: Trace
    made: dict[str, object] = field(default_factory=dict)

    @property
    def report(self) -> Report:
        found = self.made.get("report")
        if not isinstance(found, Report):
            found = self.made["report"] = analyze(self.trace)
        return found

    @property
    def alerts(self) -> Alerts:
        found = self.made.get("alerts")
        if not isinstance(found, Alerts):
            found = self.made["alerts"] = collect_alerts(self.report, Repository("nowhere", ("/srv",)))
        return found


def _no_json(constant: str) -> None:
    raise Flaw(f"{constant} is no JSON")


def _bounded(subject: Subject, output: bytes, free: int = _FREE) -> str:
    demand(len(output) <= free + _EACH * len(subject.data), "the output is much larger than the input")
    return output.decode()


def balanced(subject: Subject) -> None:
    (account,) = subject.trace.accounts
    demand(account.balances and account.size == len(subject.data), "the account does not balance")
    demand(not account.unreadable_bytes or bool(subject.trace.problems), "bytes were unreadable, and no problem reports it")


def strict(subject: Subject) -> None:
    with suppress(ShapelogError):  # the only record may be one that is merely counted, and damaged
        balanced(Subject(subject.data, load_bytes(subject.data, strict=True)))


def analyzed(subject: Subject) -> None:
    failed = [problem.message for problem in subject.report.problems if problem.code == "analysis-failed"]
    demand(not failed, failed[0] if failed else "")


def advised(subject: Subject) -> None:
    advice = advise(subject.report.explained, _VERSIONS[len(subject.data) % len(_VERSIONS)])
    if advice.suggestions:
        compile(as_python(advice), "advice.py", "exec")
        demand(_shell_value(as_shell(advice)) == advice.env, "the shell line is not the value")
    for form in ("env", "shell", "python"):
        plain(_bounded(subject, renderer("advice", form)(advice, Options(width=80, verbose=True))))
    run = advised_run(subject.report, advice)
    plain(_bounded(subject, renderer("advised run", "terminal")(run, Options(width=80, verbose=True))))


def _shell_value(line: str) -> str:
    """What a POSIX shell takes an export line for."""
    value = line.partition("=")[2]
    return "".join(shlex.split(value.replace("\\$", "$")))  # shlex does not know that one


def as_json(subject: Subject) -> None:
    json.loads(_bounded(subject, renderer("report", "json")(subject.report, Options())), parse_constant=_no_json)


@cache
def _validator(schema: str) -> Any:
    where = Path(shapelog.__file__).parent / "schema" / f"{schema}.schema.json"
    return Draft202012Validator(json.loads(where.read_text(encoding="utf-8")))


def _valid(schema: str, text: bytes) -> None:
    error = next(_validator(schema).iter_errors(json.loads(text)), None)
    # Not its words: they repeat the input.
    demand(error is None, f"{schema}.schema.json: {error.validator} of {error.json_path}" if error else "")


def by_schema(subject: Subject) -> None:
    """Everything that is written for programs fits its schema."""
    _valid("report", renderer("report", "json")(subject.report, Options()))
    checked = check(subject.alerts, _BUDGETS)
    _valid("check", renderer("check", "json")(checked, Options()))
    for outcome in (checked, without_policy(subject.alerts)):
        for line in renderer("check", "jsonl")(outcome, Options()).splitlines():
            _valid("lines", line)
    found = compare(analyze(load_bytes(small_trace())), subject.report)
    _valid("comparison", renderer("comparison", "json")(found, Options()))
    for item in subject.trace.compiles[:3]:
        with suppress(ShapelogError):  # several processes have it
            _valid("story", renderer("explanation", "json")(explain_compile(subject.trace, item.label), Options()))


def narrow(subject: Subject) -> None:
    plain(_bounded(subject, renderer("report", "terminal")(subject.report, Options(width=40))))


def wide(subject: Subject) -> None:
    output = _bounded(subject, renderer("report", "terminal")(subject.report, Options(width=400, verbose=True, limit=0, color=True)))
    plain(_STYLE.sub("", output))


def for_ci(subject: Subject) -> None:
    checked = without_policy(subject.alerts)
    for form in formats("overview"):
        output = _bounded(subject, renderer("check", form)(checked, Options()))
        if form in ("sarif", "gitlab"):
            json.loads(output, parse_constant=_no_json)
        elif form == "jsonl":
            for line in output.splitlines():
                json.loads(line, parse_constant=_no_json)
        elif form == "junit":
            ElementTree.fromstring(output)
        else:
            plain(output)
        if form == "github":
            demand(not _COMMAND.search(output) and "##[" not in output, "a trace gives commands to GitHub")


# PyTorch's page about a graph break, a line in the editor, and the trace viewers that the page names.
_OUTSIDE = re.compile(
    r"https://(?:meta-pytorch\.github\.io|(?:docs\.)?pytorch\.org)/[\w./#-]*|vscode://file/[\w.%/:~-]+:\d+"
    r"|https://(?:ui\.perfetto\.dev|www\.speedscope\.app)",
    re.ASCII,
)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] += 1
        for name, value in attrs:
            demand(not name.startswith("on") and name != "style", f"an attribute {name} in the page")
            is_inside = (value or "").startswith("#") or (name == "href" and _OUTSIDE.fullmatch(value or ""))
            demand(name not in ("href", "src", "action") or is_inside, f"{name} leads out of the page")


def _is_page(subject: Subject, output: bytes) -> None:
    tags = _Tags()
    tags.feed(_bounded(subject, output, _PAGE))
    tags.close()
    demand(not _FOREIGN_TAGS & tags.seen.keys(), "a foreign element in the page")
    demand(output.count(b"<script>") == 1, "another script in the page")


def page(subject: Subject) -> None:
    _is_page(subject, renderer("report", "html")(subject.report, Options(embed="all")))


def page_without_source(subject: Subject) -> None:
    output = renderer("report", "html")(subject.report, Options(with_source=False))
    _is_page(subject, output)
    demand(b"/srv/app/model.py" not in output, "a directory in a page without source")


def page_of_a_check(subject: Subject) -> None:
    _is_page(subject, renderer("check", "html")(check(subject.alerts, _BUDGETS), Options(embed="none")))


def stories(subject: Subject) -> None:
    for item in subject.trace.compiles[:6]:
        try:
            story = explain_compile(subject.trace, item.label)
        except ShapelogError:
            continue  # several processes have it
        json.loads(_bounded(subject, renderer("explanation", "json")(story, Options())), parse_constant=_no_json)
        plain(_bounded(subject, renderer("explanation", "terminal")(story, Options(width=80, verbose=True))))


def checked(subject: Subject) -> None:
    found = subject.alerts
    demand(len({alert.fingerprint for alert in found.alerts}) == len(found.alerts), "two alerts with one fingerprint")
    known = parse(as_bytes(found), "known.json")
    same = check(found, Policy(fail_on=tuple(AlertKind)), known)
    demand(not same.failing and not same.fixed, "a run is not like itself")
    check(found, _BUDGETS, known)
    outcome = check(found, _BUDGETS)
    plain(_bounded(subject, renderer("check", "terminal")(outcome, Options(width=80, verbose=True))))
    json.loads(_bounded(subject, renderer("check", "json")(outcome, Options())), parse_constant=_no_json)


def compared(subject: Subject) -> None:
    usual = analyze(load_bytes(small_trace()))
    for one, other in ((usual, subject.report), (subject.report, usual), (subject.report, subject.report)):
        found = compare(one, other)
        json.loads(_bounded(subject, renderer("comparison", "json")(found, Options())), parse_constant=_no_json)
        plain(_bounded(subject, renderer("comparison", "terminal")(found, Options(width=80, verbose=True))))


def as_a_rank(subject: Subject) -> None:
    """The input as one rank of a job that is summed up, against the same job read in full."""
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log") for number in range(3)]
        for file, data in zip(files, (small_trace(), subject.data, small_trace()), strict=True):
            file.write_bytes(data)
        selection = select_files(files)
        short, whole = analyze(load_large_job(selection, ReadOptions())), analyze(load(selection))
        demand(all(item.balances for item in short.accounts), "an account of a rank does not balance")
        # Of a file that cannot be read there is a problem, and nothing to account for.
        sizes = [sorted((item.name, item.size) for item in job.accounts if item.size) for job in (short, whole)]
        unread = [sorted(problem.file for problem in job.problems if problem.code == "unreadable-file") for job in (short, whole)]
        demand(sizes[0] == sizes[1] and unread[0] == unread[1], "a file of the job is lost")
        if short.ranks and all(rank.processes == 1 for rank in short.ranks.ranks):
            counts = [
                (job.summary.compiles, job.summary.recompiles, job.summary.limit_hits, job.summary.failures) for job in (short, whole)
            ]
            demand(counts[0] == counts[1], f"the ranks together made {counts[0]}, and read in full {counts[1]}")
        plain(_bounded(subject, renderer("report", "terminal")(short, Options(width=80, verbose=True))))
        json.loads(_bounded(subject, renderer("report", "json")(short, Options())), parse_constant=_no_json)


def positions_found_later(subject: Subject) -> None:
    """Where the records lie, noted while the file is read, compared with what a second pass finds."""
    at_once, later = reader(subject.data, with_positions=True), reader(subject.data)
    for item in (at_once, later):
        for _ in item.records():
            pass
    demand(_positions(at_once) == _positions(later), "a second pass finds the records elsewhere")
    demand(at_once.ledger == later.ledger, "noting positions changes the account")


def _positions(reader: Reader) -> list[object]:
    found = reader.all_positions()
    return [
        (owner, at[:4], found.labels[at.label], at.attempt, found.payload(at))
        for owner, indexes in found.owned.items()
        for at in map(found.__getitem__, indexes)
    ]


# Each stage, and of how many inputs one goes through it: what is cheap is done with every input.
STAGES: tuple[tuple[Callable[[Subject], None], int], ...] = (
    (balanced, 1),
    (analyzed, 1),
    (strict, 12),
    (as_json, 12),
    (advised, 20),
    (for_ci, 40),
    (checked, 60),
    (stories, 60),
    (by_schema, 80),
    (narrow, 100),
    (wide, 100),
    (compared, 120),
    (as_a_rank, 120),
    (page, 500),
    (page_without_source, 1000),
    (page_of_a_check, 1000),
    (positions_found_later, 20),
)


def examine(data: bytes, counts: Counter[str], everything: bool = False, must_be_whole: bool = False) -> None:
    """Put one input through its stages, those that its checksum chooses unless it is ``everything``, and count them.

    One that ``must_be_whole`` has no byte that cannot be read. Raises whatever goes wrong.
    """
    chosen = zlib.crc32(data)
    try:
        trace = load_bytes(data)
    except ShapelogError as error:
        demand(not must_be_whole, f"refused: {error}")
        counts["refused"] += 1
        refusal(error, NAME)
        return
    counts["read"] += 1
    if must_be_whole:
        lost = next((problem for problem in trace.problems if problem.severity == DATA_LOSS), None)
        demand(lost is None, f"{lost.code}: {lost.message[:200]}" if lost else "")
    subject = Subject(data, trace)
    for number, (stage, rate) in enumerate(STAGES):
        if everything or (chosen >> number) % rate == 0:
            counts[stage.__name__] += 1
            stage(subject)
