"""Whatever the bytes, the report is made: only a file without one trace record is refused, and every byte is accounted for."""

import gzip
import json
import random
from functools import cache
from pathlib import Path

import make
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payload_text import guard_tree, tensor_match

from shapelog import analyze
from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.errors import ShapelogError
from shapelog.model.trace import Trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.explain_compile import explain_compile
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.rules import AlertKind

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "fixtures"
FEW = settings(max_examples=10, deadline=None, derandomize=True)


def no_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def survives(data: bytes, strict: bool = False) -> Trace | None:
    """Read, analyze and show ``data`` as text and as JSON; None if it is refused as no trace at all."""
    try:
        trace = make.load(data, strict)
    except ShapelogError:
        return None
    report = analyze(trace)
    assert renderer("report", "terminal")(report, Options(width=80)).decode()
    json.loads(renderer("report", "json")(report, Options()), parse_constant=no_json)
    is_checked(report)
    (account,) = report.accounts
    assert account.balances
    assert account.size == len(data)
    assert account.unreadable_bytes == 0 or report.problems
    assert not [problem for problem in report.problems if problem.code == "analysis-failed"]
    return trace


def is_checked(report: Report) -> None:
    """Hold a report against every policy and against itself, which shows nothing new, and show what came out."""
    found = collect_alerts(report, Repository("nowhere"))
    assert len({alert.fingerprint for alert in found.alerts}) == len(found.alerts)
    known = parse(as_bytes(found), "known.json")
    same = check(found, Policy(fail_on=tuple(AlertKind)), known)
    assert not same.failing
    assert same.fixed == ()
    budgets = tuple(Budget(metric, 0, pattern) for metric in Metric for pattern in ("", "*"))
    assert without_policy(found).headline
    check(found, Policy(budgets=budgets), known)
    checked = check(found, Policy(budgets=budgets))
    for form in ("json", *formats("overview")):
        shown = renderer("check", form)(checked, Options())
        if form in ("json", "sarif", "gitlab"):
            json.loads(shown, parse_constant=no_json)


@cache
def fixture(name: str) -> tuple[bytes, ...]:
    """The records of a small fixture, without those that are only counted."""
    data = gzip.decompress((FIXTURES / name).read_bytes())
    return tuple(record for record in make.split_records(data) if b'{"chromium_event"' not in record[:120])


FIXTURE_NAMES = ("lab/batch_varies.log.gz", "real/2.6/g_limit.log.gz", "real/2.4/c_int_arg.log.gz", "lab/graph_break_resume.log.gz")


@FEW
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert survives(data) is None or b"{" in data


@FEW
@given(
    st.lists(st.sampled_from([b"\n", b"\t", b"{", b'"', b"V1120 ", b"\r", b"\0", b"\xff", make.prefix(), b'{"str": ', b"}", b"[", b"a"]))
)
def test_any_order_of_pieces_of_a_trace_is_read_or_refused(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    for strict in (False, True):
        survives(data, strict)


@FEW
@given(st.binary(min_size=1, max_size=60), st.integers(0, 10_000))
def test_bytes_thrown_into_a_trace_cost_no_record_but_those_they_hit(rubbish: bytes, at: int) -> None:
    data = make.small_trace()
    at %= len(data) + 1
    trace = survives(data[:at] + rubbish + data[at:])
    assert trace is not None
    read, whole = (sum(trace.accounts[0].records.values()), len(make.split_records(data)))
    assert read >= whole - 1


def test_every_truncation_of_a_small_trace_is_read_or_refused() -> None:
    data = make.trace(make.compile("0/0", make.tensor(8, 16)))
    for end in range(len(data)):
        try:
            trace = make.load(data[:end])
        except ShapelogError:
            assert end < len(make.torch_version())
            continue
        assert trace.accounts[0].balances
        assert len(trace.compiles) <= 1


def test_what_is_left_of_a_truncated_trace_is_reported_on() -> None:
    data = make.small_trace()
    for end in range(len(make.torch_version()), len(data), 31):
        assert survives(data[:end]) is not None


def test_every_truncation_inside_the_last_record_keeps_the_compiles_before_it() -> None:
    data = make.small_trace()
    start = len(data) - len(make.split_records(data)[-1])
    for end in range(start, len(data)):
        trace = make.load(data[:end])
        assert [compile.label for compile in trace.compiles] == ["0/0", "0/1"]
        assert trace.accounts[0].balances


@FEW
@given(st.sampled_from(FIXTURE_NAMES), st.randoms(use_true_random=False))
def test_shuffled_records_are_read(name: str, order: random.Random) -> None:
    records = list(fixture(name))
    order.shuffle(records)
    assert survives(b"".join(records)) is not None


@FEW
@given(st.sampled_from(FIXTURE_NAMES), st.randoms(use_true_random=False))
def test_records_that_are_lost_or_doubled_are_no_end(name: str, chance: random.Random) -> None:
    records = [record for record in fixture(name) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
    survives(b"".join(records))


@FEW
@given(st.sampled_from(FIXTURE_NAMES), st.sampled_from(FIXTURE_NAMES), st.randoms(use_true_random=False))
def test_records_of_several_programs_in_one_file_are_read(one: str, other: str, chance: random.Random) -> None:
    queues = [list(reversed(fixture(one))), list(reversed(fixture(other)))]
    mixed = []
    while any(queues):
        queue = chance.choice([queue for queue in queues if queue])
        mixed.append(queue.pop())
    assert survives(b"".join(mixed)) is not None


@FEW
@given(st.sampled_from(FIXTURE_NAMES), st.randoms(use_true_random=False))
def test_changed_bytes_are_read(name: str, chance: random.Random) -> None:
    data = bytearray(b"".join(fixture(name)))
    for _ in range(chance.choice((1, 10, 100))):
        data[chance.randrange(len(data))] = chance.choice(b'\0\n\t{}[]",:019x\xff')
    survives(bytes(data), strict=chance.random() < 0.3)


VALUES = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        2**63,
        10**30,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        "\ud800",
        "\0\x1b]0;",
        "9" * 40,
        [],
        [[]],
        [None],
        {},
        {"a": {}},
    ]
)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.data())
def test_a_field_of_any_other_value_is_no_end(data: st.DataObject) -> None:
    records = make.split_records(make.small_trace() + make.every_kind(dynamo_config=json.dumps({"recompile_limit": 8})))
    index = data.draw(st.integers(0, len(records) - 1))
    head, _, payload = records[index].partition(b"\n")
    header = json.loads(head[len(make.prefix()) :])
    place = data.draw(st.sampled_from(_places(header)[1:]))
    parent = header
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = data.draw(VALUES)
    records[index] = make.line(json.dumps(header)) + payload
    assert survives(b"".join(records)) is not None


def test_numbers_and_text_that_json_cannot_hold_make_json_all_the_same() -> None:
    for value in (float("nan"), float("inf"), "\ud800", 10**30):
        odd = make.compile("0/0", make.tensor(8, 16), start_time=float("nan"), seconds=value, co_name="\ud800", co_firstlineno=10**30)
        trace = survives(make.trace(odd, make.metrics("0/1", graph_op_count=10**30, entire_frame_compile_time_s=float("inf"))))
        assert trace is not None
        for compile in trace.compiles:
            json.loads(renderer("explanation", "json")(explain_compile(trace, compile.label), Options()), parse_constant=no_json)


@pytest.mark.parametrize("name", FIXTURE_NAMES)
def test_every_compile_of_shuffled_records_can_be_explained(name: str) -> None:
    records = list(fixture(name))
    random.Random(1).shuffle(records)
    trace = make.load(b"".join(records))
    for compile in trace.compiles:
        story = explain_compile(trace, compile.label)
        for form in formats("explanation"):
            assert renderer("explanation", form)(story, Options(width=80))


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # of code that means nothing
@FEW
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_may_be_a_name_a_source_or_a_reason(name: str, text: str) -> None:
    where = {"id": "0/1"}
    data = make.small_trace() + b"".join(
        (
            make.recompile_reasons(f"0/0: {text}", **where),
            make.dynamo_start(name, **where),
            make.describe(make.tensor(1, 2, source=f"L['{text}']"), **where),
            make.cpp_guards(
                guard_tree(tensor_match(size=(1, 2)), f"| +- GuardManager: source=L['{name}'], type={text}\n| | +- EQUALS_MATCH: {text}\n"),
                **where,
            ),
            make.metrics("0/1", co_name=name, co_filename=text, fail_type=text, fail_reason=name),
        )
    )
    assert survives(data) is not None
