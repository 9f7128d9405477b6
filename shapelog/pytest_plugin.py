"""``pytest --shapelog``: fails tests that recompile more often than their marks allow, and explains the recompiles.

By default it is off, and imports nothing. When on, it records what each test compiles, from the start of its setup to the end of its
call.
"""

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from pluggy import Result

    from shapelog.recording import Recording

_RECORDER = "shapelog-recorder"
_FIXTURE = "compile_trace"
# The attribute of a test's report with its counts; pytest-xdist sends it between processes.
_COUNTS = "shapelog"
_MARKS = {
    "no_recompiles(*, reset=False)": "torch.compile may not recompile in this test",
    "max_recompiles(n, *, reset=False)": "torch.compile may recompile at most n times in this test",
    "max_compiles(n, *, reset=False)": "torch.compile may compile at most n times in this test, including first compilations",
}
_MARK_NAMES = frozenset(usage.partition("(")[0] for usage in _MARKS)
_OFF = "compile_trace records only with pytest --shapelog, or with shapelog = true in the pytest configuration"
_LONGEST_NAME = 120
# Raised on recording if torch is missing, too old or a fake.
_NOT_RECORDABLE = (ImportError, AttributeError, OSError)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shapelog", "torch.compile recompilations")
    group.addoption("--shapelog", action="store_true", help="record what tests compile, enforce the marks, and explain recompilations")
    group.addoption("--shapelog-dir", metavar="DIR", help="keep the trace of each test that compiles in DIR (implies --shapelog)")
    parser.addini("shapelog", "record what tests compile (same as --shapelog)", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    for usage, meaning in _MARKS.items():
        config.addinivalue_line(
            "markers", f"{usage}: {meaning}; reset=True calls torch._dynamo.reset() before the test (requires --shapelog)"
        )
    folder = config.getoption("--shapelog-dir")
    if folder or config.getoption("--shapelog") or config.getini("shapelog"):
        config.pluginmanager.register(_Recorder(config, _make_folder(config.invocation_params.dir / folder) if folder else None), _RECORDER)
    else:
        config.pluginmanager.register(_Reminder())


def _make_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--shapelog-dir {path}: cannot write traces there: {error.strerror or error}") from error
    return path


@pytest.fixture
def compile_trace(request: pytest.FixtureRequest) -> "Recording":
    """What this test compiles, from the start of its setup to the end of its call: a shapelog.recording.Recording.

    ``compile_trace.recompiles``, ``.compiles``, ``.report``, ``.advice`` and ``.trace`` are about the compiles so far.
    """
    recorder = cast("_Recorder | None", request.config.pluginmanager.get_plugin(_RECORDER))
    if recorder is None:
        pytest.skip(_OFF)
    return recorder.recording(request.node)


class _Reminder:
    """The hooks, registered only if the plugin is off: one line where tests have marks, which nothing enforces then."""

    def __init__(self) -> None:
        self.is_shown = False
        self.marked: set[str] = set()

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        marked = [item for item in items if any(item.get_closest_marker(name) for name in _MARK_NAMES)]
        self.is_shown = bool(marked)
        return [_not_enforced(len(marked))] if marked else []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not _MARK_NAMES.isdisjoint(report.keywords):
            self.marked.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Under pytest-xdist and -q, where nothing is shown after the collection."""
        if self.marked and not self.is_shown:
            terminalreporter.write_line(_not_enforced(len(self.marked)))


def _not_enforced(tests: int) -> str:
    which = "1 test has a mark" if tests == 1 else f"{tests} tests have marks"
    return f"shapelog: {which} such as no_recompiles, not enforced without --shapelog (or shapelog = true in the pytest configuration)"


@dataclass(frozen=True, slots=True)
class _Limit:
    """The limit of one mark: ``allowed`` recompiles, or compiles of any kind; ``mark`` is its name."""

    mark: str
    allowed: int
    is_reset: bool

    @property
    def noun(self) -> str:
        return "compilation" if self.mark == "max_compiles" else "recompilation"

    @property
    def with_reset(self) -> str:
        return f"{self.mark}({'' if self.mark == 'no_recompiles' else f'{self.allowed}, '}reset=True)"


def _limits(item: pytest.Item) -> tuple[_Limit, ...]:
    """The nearest mark about recompiles and the nearest about compiles. An invalid mark fails the test."""
    kinds = ("no_recompiles", "max_recompiles"), ("max_compiles",)
    marks = [next((mark for mark in item.iter_markers() if mark.name in names), None) for names in kinds]
    return tuple(_limit(mark) for mark in marks if mark)


def _limit(mark: pytest.Mark) -> _Limit:
    given = {**dict(zip(("n",), mark.args, strict=False)), **mark.kwargs}
    is_reset, allowed = given.pop("reset", False), given.pop("n", None) if mark.name != "no_recompiles" else 0
    is_count = isinstance(allowed, int) and not isinstance(allowed, bool) and allowed >= 0
    if is_count and isinstance(is_reset, bool) and not given and len(mark.args) <= 1:
        return _Limit(mark.name, allowed, is_reset)
    written = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
    if mark.name == "no_recompiles":
        rule = "takes no argument except reset=True (max_recompiles(n) takes a number)"
    else:
        rule = f"takes a whole number, 0 or more, and optionally reset=True, for example {mark.name}(2)"
    pytest.fail(f"the mark {mark.name} {rule}; found {mark.name}({written})", pytrace=False)


class _Watch:
    """The recording of one test, until ``stop``."""

    def __init__(self, recording: "AbstractContextManager[Recording]", limits: tuple[_Limit, ...]) -> None:
        self.limits = limits
        self.is_open = True
        self.violation: BaseException | None = None
        self._context = recording
        self.recording = recording.__enter__()
        self._empty = self.recording.path.stat().st_size

    def stop(self) -> None:
        if self.is_open:
            self.is_open = False
            self._context.__exit__(None, None, None)

    @property
    def is_empty(self) -> bool:
        return self.recording.path.stat().st_size == self._empty

    @cached_property
    def counts(self) -> tuple[int, int]:
        """(compiles, recompiles); the trace is read only if something was added to it."""
        if self.is_empty:
            return 0, 0
        return len(self.recording.compiles), len(self.recording.recompiles)


class _Recorder:
    """The hooks, registered only if the plugin is on. ``watch`` is of the running test."""

    def __init__(self, config: pytest.Config, folder: Path | None) -> None:
        self.config = config
        self.folder = folder
        self.watch: _Watch | None = None
        self.counts_by_test: dict[str, tuple[int, int]] = {}

    def recording(self, item: pytest.Item) -> "Recording":
        """The recording of the running test; it begins now if the test did not request it in advance."""
        if self.watch is None:
            self._begin(item, ())
        assert self.watch is not None
        return self.watch.recording

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        # Not a wrapper: it runs after the skip marks were evaluated, and before the fixtures are made.
        limits = _limits(item)
        if limits or _FIXTURE in getattr(item, "fixturenames", ()):
            self._begin(item, limits)
        elif sys.modules.get("torch") is not None:
            self._begin(item, limits, is_wanted=False)

    def _begin(self, item: pytest.Item, limits: tuple[_Limit, ...], is_wanted: bool = True) -> None:
        from shapelog.errors import ShapelogError
        from shapelog.recording import record, record_to

        self._end()
        failure = ""
        try:
            recording = record_to(self.folder / _file_name(item.nodeid)) if self.folder else record()
            self.watch = _Watch(recording, limits)
        except (ShapelogError, *_NOT_RECORDABLE) as error:
            failure = str(error)
        if failure and is_wanted:  # outside of the except block, so that no other exception is shown with it
            pytest.fail(failure, pytrace=False)
        if any(limit.is_reset for limit in limits):
            import_module("torch._dynamo").reset()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, "Result[None]", None]:
        outcome = yield
        watch = self.watch
        if watch is None:
            return
        watch.stop()
        # A unittest.TestCase does not raise its failure.
        if watch.limits and outcome.excinfo is None and not getattr(item, "_excinfo", None):
            text = self._violation(watch)
            if text:
                watch.violation = pytest.fail.Exception(text, pytrace=False)
                outcome.force_exception(watch.violation)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: "pytest.CallInfo[None]"
    ) -> Generator[None, "Result[pytest.TestReport]", None]:
        watch = self.watch
        if watch is not None and call.when == "setup" and call.excinfo is not None:
            watch.stop()
        # An open recording means that it is the report of a subtest or of a successful setup.
        if watch is None or watch.is_open or call.when == "teardown":
            yield
            return
        counts = self._counts(watch)
        if any(counts):
            new = [pair for pair in zip(("compiles", "recompiles"), counts, strict=True) if pair not in item.user_properties]
            item.user_properties.extend(new)
        outcome = yield
        report = outcome.get_result()
        vars(report)[_COUNTS] = list(counts)
        if not report.failed or call.excinfo is None:
            return
        if call.excinfo.value is watch.violation:
            _point_to_test(report, item)
        elif counts[1]:
            report.sections.append(("shapelog", self._explained(watch)))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        if self.watch is not None:
            self.watch.stop()
        yield
        self._end()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        counts = getattr(report, _COUNTS, None)
        if counts is not None:
            self.counts_by_test[report.nodeid] = (counts[0], counts[1])

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        from shapelog.reporters.terminal.pytest import summary

        if not self.counts_by_test:
            return
        terminalreporter.section("shapelog")
        for line in summary(self.counts_by_test):
            terminalreporter.write_line(line)
        if self.folder and any(any(counts) for counts in self.counts_by_test.values()):
            terminalreporter.write_line(f"traces: {self._shown(self.folder)}")

    def pytest_unconfigure(self) -> None:
        """If a session was interrupted in the middle of a test."""
        self._end()

    def _end(self) -> None:
        watch, self.watch = self.watch, None
        if watch is None:
            return
        watch.stop()
        if self.folder and watch.recording.path.exists() and watch.is_empty:
            watch.recording.path.unlink()

    def _counts(self, watch: _Watch) -> tuple[int, int]:
        """The counts for the summary; none if the test removed the trace."""
        from shapelog.errors import ShapelogError

        try:
            return watch.counts
        except (ShapelogError, OSError):
            return 0, 0

    def _violation(self, watch: _Watch) -> str:
        """The message of a test that exceeded its limits, with the explanation; "" if it did not."""
        from shapelog.errors import ShapelogError

        try:
            counts = dict(zip(("compilation", "recompilation"), watch.counts, strict=True))
            exceeded = [limit for limit in watch.limits if counts[limit.noun] > limit.allowed]
            problems = watch.recording.report.explained.problems if any(watch.counts) else ()
        except (ShapelogError, OSError) as error:
            return f"shapelog cannot read what this test compiled: {error}"
        if not exceeded:
            return "\n".join(f"shapelog cannot determine whether this test recompiled: {problem.message}" for problem in problems)
        from shapelog.reporters.terminal.pytest import headline

        heads = [headline(counts[limit.noun], limit.noun, limit.allowed, limit.mark) for limit in exceeded]
        with_frames = any(limit.noun == "compilation" for limit in exceeded)
        return "\n".join([*heads, "", self._explained(watch, with_frames)])

    def _explained(self, watch: _Watch, with_frames: bool = False) -> str:
        from shapelog.reporters import Options
        from shapelog.reporters.terminal.pytest import LIMIT, explanation

        is_reset = any(limit.is_reset for limit in watch.limits)
        mark = watch.limits[0].with_reset if watch.limits else "no_recompiles(reset=True)"
        return explanation(
            watch.recording.report,
            Options(limit=0 if self.config.option.verbose >= 2 else LIMIT, color=False, width=100),
            root=str(self.config.invocation_params.dir),
            kept=shlex.quote(self._shown(watch.recording.path)) if self.folder else "",
            with_reset="" if is_reset else mark,
            with_frames=with_frames,
        )

    def _shown(self, path: Path) -> str:
        """A path as it is typed where pytest was started."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _file_name(nodeid: str) -> str:
    """``tests/test_a.py::test_b[x]`` → ``tests.test_a.py.test_b-x.log``; with a digest if characters of the id are lost."""
    plain = re.sub(r"::|/", ".", re.sub(r"\[(.*)\]$", r"-\1", nodeid))
    name = re.sub(r"[^\w.-]+", "_", plain, flags=re.ASCII)[:_LONGEST_NAME]
    if name != plain:
        name = f"{name}-{hashlib.md5(nodeid.encode('utf-8', 'surrogatepass'), usedforsecurity=False).hexdigest()[:8]}"
    return f"{name}.log"


def _point_to_test(report: pytest.TestReport, item: pytest.Item) -> None:
    """Let the failure point to the test, not to this module, where the exception was created."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        file, line, _ = item.reportinfo()
        crash.path, crash.lineno = os.fspath(file), (line or 0) + 1
