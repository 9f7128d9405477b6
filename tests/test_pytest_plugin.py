"""``pytest --shapelog``: marks, the fixture ``compile_trace``, what a failing test shows, and the summary at the end."""

import logging
import os
import sys
import types
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import make
import pytest
from fenced import blocks
from payload_text import guard_tree, tensor_match

import shapelog
from shapelog import api, recording
from shapelog.recording import Recording
from shapelog.reporters import Options
from shapelog.reporters.terminal.pytest import explanation, headline, summary

Session = Callable[..., pytest.RunResult]
ROOT = Path(shapelog.__file__).parents[1]
PAGE = Path(__file__).parents[1] / "docs" / "pytest.md"
MARKS = """
    import pytest

    @pytest.mark.no_recompiles
    def test_none(): pass

    @pytest.mark.max_recompiles(2)
    def test_two(): pass

    @pytest.mark.max_compiles(2)
    def test_compiles(): pass
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Runs pytest on one module of tests, in this process and without other plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("COLUMNS", "120")

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=tests)
        return pytester.runpytest_inprocess("-p", "shapelog.pytest_plugin", "--strict-markers", *options)

    return run


@pytest.fixture
def every_test_recompiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stands in for PyTorch: whatever a test does, it was compiled and then recompiled."""

    @contextmanager
    def made(path: Path) -> Iterator[Recording]:
        path.write_bytes(b"")
        yield Recording(path)
        with path.open("ab") as file:
            file.write(make.small_trace())

    for module in (api, recording):
        monkeypatch.setattr(module, "record", lambda: made(tmp_path / "made.log"))
    monkeypatch.setattr(recording, "record_to", made)


@pytest.mark.parametrize("ranks", [1, 16, 17, 64])
def test_a_test_whose_forked_children_are_ranks_is_counted_whole(session: Session, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    made = b"".join(make.trace(make.compile("0/0", make.tensor(8, 16), process=rank), process=rank) for rank in range(ranks))

    @contextmanager
    def recorded(path: Path) -> Iterator[Recording]:
        path.write_bytes(b"")
        yield Recording(path)
        path.write_bytes(made)

    monkeypatch.setattr(recording, "record_to", recorded)
    done = session(MARKS, "--shapelog-dir", "traces")
    done.assert_outcomes(passed=2 if ranks > 2 else 3, failed=1 if ranks > 2 else 0)
    done.stdout.fnmatch_lines([f"3 tests compiled: {3 * ranks} compilations, 0 recompilations"])


# Off, and wrong use.


def test_the_entry_point_names_the_plugin() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8") if (ROOT / "pyproject.toml").exists() else ""
    installed = [entry.value for entry in entry_points(group="pytest11") if entry.name == "shapelog"]
    assert '[project.entry-points.pytest11]\nshapelog = "shapelog.pytest_plugin"\n' in text or installed
    assert set(installed) <= {"shapelog.pytest_plugin"}


def test_it_is_off_unless_asked_for_and_then_the_marks_do_nothing(session: Session) -> None:
    done = session(MARKS)
    done.assert_outcomes(passed=3)
    assert "= shapelog =" not in done.stdout.str()


NOT_ENFORCED = (
    "shapelog: 3 tests have marks such as no_recompiles, not enforced without --shapelog (or shapelog = true in the pytest configuration)"
)


def test_marks_that_are_not_enforced_are_pointed_out_before_the_tests_run(session: Session) -> None:
    lines = session(MARKS).stdout.lines
    assert lines.count(NOT_ENFORCED) == 1
    assert lines.index(NOT_ENFORCED) == lines.index("collected 3 items") + 1
    one = session("import pytest\n@pytest.mark.no_recompiles\ndef test_a(): pass").stdout.str()
    assert "shapelog: 1 test has a mark such as no_recompiles, not enforced" in one


def test_marks_that_are_not_enforced_are_pointed_out_at_the_end_where_no_collection_is_shown(session: Session) -> None:
    assert session(MARKS, "-q").stdout.lines.count(NOT_ENFORCED) == 1
    parallel = session(MARKS, "-p", "xdist.plugin", "-n", "2")
    parallel.assert_outcomes(passed=3)
    assert parallel.stdout.lines.count(NOT_ENFORCED) == 1


@pytest.mark.usefixtures("every_test_recompiles")
def test_without_marks_or_with_the_option_nothing_is_pointed_out(session: Session) -> None:
    assert "not enforced" not in session("def test_a(): pass").stdout.str()
    assert "not enforced" not in session(MARKS, "--shapelog").stdout.str()


def test_off_it_loads_neither_torch_nor_any_other_part_of_shapelog(session: Session, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_loaded():
            loaded = {name for name in sys.modules if name.partition(".")[0] in ("shapelog", "torch", "rich")}
            assert loaded == {"shapelog", "shapelog.pytest_plugin"}
        """
    )
    pytester.runpytest_subprocess("-p", "shapelog.pytest_plugin").assert_outcomes(passed=1)


def test_without_the_plugin_the_fixture_skips_with_a_remedy(session: Session) -> None:
    done = session("def test_a(compile_trace): pass", "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines("*compile_trace records only with pytest --shapelog, or with shapelog = true*")


def test_the_marks_and_the_options_have_help(session: Session) -> None:
    done = session("", "--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.no_recompiles(*, reset=False): *", "@pytest.mark.max_compiles(n, *): *"])
    session("", "--help").stdout.fnmatch_lines(["*--shapelog *", "*--shapelog-dir=DIR*", "*shapelog (bool):*"])


@pytest.mark.parametrize("place", ["pytest.ini", "pyproject.toml"])
@pytest.mark.usefixtures("every_test_recompiles")
def test_the_configuration_turns_it_on(session: Session, pytester: pytest.Pytester, place: str) -> None:
    head = "[pytest]" if place == "pytest.ini" else "[tool.pytest.ini_options]"
    (pytester.path / place).write_text(f"{head}\nshapelog = true\n")
    session(MARKS).assert_outcomes(failed=1, passed=2)


@pytest.mark.parametrize(
    ("mark", "rule"),
    [
        ("no_recompiles(2)", "the mark no_recompiles takes no argument except reset=True (max_recompiles(n) takes a number); found"),
        ("no_recompiles(n=2)", "the mark no_recompiles takes no argument except reset=True"),
        (
            "max_recompiles",
            "the mark max_recompiles takes a whole number, 0 or more, and optionally reset=True, for example max_recompiles(2)",
        ),
        ("max_recompiles('two')", "found max_recompiles('two')"),
        ("max_recompiles(-1)", "found max_recompiles(-1)"),
        ("max_recompiles(True)", "found max_recompiles(True)"),
        ("max_recompiles(1, 2)", "found max_recompiles(1, 2)"),
        ("max_recompiles(1, reset=1)", "found max_recompiles(1, reset=1)"),
        ("max_compiles(1, limit=2)", "the mark max_compiles takes a whole number"),
    ],
)
@pytest.mark.usefixtures("every_test_recompiles")
def test_wrong_use_of_a_mark_is_an_error_of_that_test(session: Session, mark: str, rule: str) -> None:
    done = session(f"import pytest\n@pytest.mark.{mark}\ndef test_wrong(): pass\ndef test_right(): pass", "--shapelog")
    done.assert_outcomes(errors=1, passed=1)
    assert rule in done.stdout.str()
    assert "pytest_plugin.py" not in done.stdout.str()


@pytest.mark.parametrize(
    ("torch", "text"),
    [(None, "torch cannot be imported"), (types.SimpleNamespace(__version__="2.5.1"), "needs torch 2.6 or later, this is 2.5.1")],
)
def test_a_torch_that_cannot_be_recorded_fails_the_tests_that_need_it_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch, torch: object, text: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    done = session(f"{MARKS}\n    def test_fixture(compile_trace): pass\n    def test_other(): pass", "--shapelog")
    done.assert_outcomes(errors=4, passed=1)
    assert done.stdout.str().count(text) >= 4
    assert "pytest_plugin.py" not in done.stdout.str()
    assert "= shapelog =" not in done.stdout.str()


# What a failure shows.


def explained(recorded: bytes, limit: int = 0, **more: Any) -> str:
    return explanation(make.report(recorded), Options(limit=limit, color=False, width=100), **more)


def test_a_headline_counts_and_names_the_mark() -> None:
    assert headline(3, "recompilation", 0, "no_recompiles") == "3 recompilations, 0 allowed (no_recompiles)"
    assert headline(1, "compilation", 0, "max_compiles") == "1 compilation, 0 allowed (max_compiles)"


def test_each_recompile_is_shown_with_its_place_causes_line_and_remedy() -> None:
    assert explained(make.trace(make.static_sizes(10, 12)), root="/srv").split("\n") == [
        "0/1 compared with 0/0  f  app/model.py:5  avoidable by marking",
        "  SL101 size-varies: dim 0 of x changed from 10 to 12",
        "    at app/model.py:6  return x + 1",
        "  called at app/main.py:20  f(x)",
        "  → mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES",
        "",
        "Marking 1 input as dynamic removes it (estimated):",
        "  export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\"",
        "  or in code, before the call:",
        "    torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen; add min= and max= only if no other sizes occur",
    ]


def test_the_number_of_recompiles_that_marking_removes_is_shown() -> None:
    assert "Marking 1 input as dynamic removes 3 of 3 recompilations (estimated):" in explained(
        make.trace(make.static_sizes(10, 12, 14, 16))
    )


def test_if_marking_does_not_help_the_reason_is_shown() -> None:
    made = make.trace(
        make.compile("0/0", make.tensor(10, 8)),
        make.compile("0/1", make.tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64"))),
    )
    text = explained(made)
    assert "SL301 dtype-varies" in text
    assert "Nothing to mark as dynamic: none of these recompilations is caused by a changing size" in text
    assert "export" not in text


def test_long_lists_are_cut_with_a_hint_to_see_all() -> None:
    made = make.trace(make.static_sizes(*range(10, 20)))
    text = explained(made, limit=3)
    assert text.count("SL101") == 3
    assert "… 6 more recompiles, shown with -vv" in text
    assert "--shapelog-dir DIR to keep the trace of each test" in text
    assert "shapelog report kept/a.log" in explained(made, limit=3, kept="kept/a.log")
    assert explained(made).count("SL101") == 9
    assert "more" not in explained(made)


def test_entries_from_before_the_test_are_shown_in_one_line_with_the_remedy() -> None:
    late = make.trace(make.compile("0/2", make.tensor(5, 8), reasons=("0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5",)))
    lines = explained(late, with_reset="max_recompiles(1, reset=True)").split("\n")
    (line,) = [line for line in lines if "compiled before this test" in line]
    assert line.startswith("0/2: ")
    assert line.endswith("torch._dynamo.reset() in a fixture, or use the mark max_recompiles(1, reset=True)")
    assert "or the mark" not in explained(late)


def test_compiles_are_listed_if_compiles_are_counted() -> None:
    made = make.trace(make.static_sizes(10), make.static_sizes(10, 12, name="g", frame=1))
    text = explained(made, with_frames=True, limit=1)
    assert text.startswith("Compiled:\n  f  /srv/app/model.py:5  1 compilation: 0/0\n  … 1 more frame, shown with -vv\n")
    assert "g  /srv/app/model.py:5  2 compilations: 1/0 1/1" in explained(made, with_frames=True)


def test_nothing_of_a_trace_reaches_the_terminal_raw() -> None:
    hostile = "\x1b[2Jf\u202e\n[bold]"
    reasons = (f"0/0: L['mode'] == {hostile!r}",)
    made = make.trace(
        make.compile("0/0", make.tensor(10, 8), name=hostile), make.compile("0/1", make.tensor(10, 8), name=hostile, reasons=reasons)
    )
    text = explained(made, with_frames=True)
    assert "\\x1b[2Jf\\u202e [bold]" in text
    assert not set(text) & {"\x1b", "\u202e"}


def test_the_summary_names_the_worst_tests_first_and_cuts() -> None:
    tests = {f"t.py::test_{number}": (number + 1, number) for number in range(13)} | {"t.py::test_none": (0, 0)}
    total, *lines = summary(tests)
    assert total == "13 tests compiled: 91 compilations, 78 recompilations"
    assert lines[0] == "12 recompilations  13 compilations  t.py::test_12"
    assert len(lines) == 11
    assert lines[-1] == "… 2 more tests that recompiled"
    assert summary({"t.py::test_none": (0, 0)}) == ("nothing was compiled in any test",)
    assert "\x1b" not in summary({"t.py::test_a[\x1b[2J]": (2, 1)})[1]


# The plugin, without PyTorch.


@pytest.mark.usefixtures("every_test_recompiles")
def test_marks_are_enforced_and_a_violation_is_explained(session: Session) -> None:
    done = session(MARKS.replace("max_compiles(2)", "max_compiles(1)"), "--shapelog")
    done.assert_outcomes(failed=2, passed=1)
    text = done.stdout.str()
    done.stdout.fnmatch_lines(
        ["1 recompilation, 0 allowed (no_recompiles)", "", "0/1 compared with 0/0 *", "2 compilations, 1 allowed (max_compiles)"]
    )
    done.stdout.fnmatch_lines("FAILED test_it.py::test_none - Failed: 1 recompilation, 0 allowed (no_recompiles)")
    assert "pytest_plugin.py" not in text
    assert "--- shapelog ---" not in text
    done.stdout.fnmatch_lines(
        [
            "*= shapelog =*",
            "3 tests compiled: 6 compilations, 3 recompilations",
            "1 recompilation  2 compilations  test_it.py::test_none",
        ]
    )


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_failure_is_placed_in_the_test(session: Session) -> None:
    done = session(MARKS, "--shapelog", "--tb=line")
    done.stdout.fnmatch_lines("*test_it.py:[34]: *1 recompilation, 0 allowed (no_recompiles)")


@pytest.mark.usefixtures("every_test_recompiles")
def test_the_nearest_mark_of_each_kind_counts(session: Session) -> None:
    done = session(
        """
        import pytest
        pytestmark = pytest.mark.max_compiles(1)

        @pytest.mark.no_recompiles
        @pytest.mark.max_compiles(2)
        class TestNear:
            @pytest.mark.max_recompiles(1)
            def test_allowed(self): pass

            def test_refused(self): pass
        """,
        "--shapelog",
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines("1 recompilation, 0 allowed (no_recompiles)")
    assert "(max_compiles)" not in done.stdout.str()


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_violation_is_the_failure_that_an_xfail_mark_expects(session: Session) -> None:
    done = session(
        """
        import pytest
        pytestmark = pytest.mark.no_recompiles

        @pytest.mark.xfail
        def test_loose(): pass

        @pytest.mark.xfail(strict=True)
        def test_strict(): pass

        @pytest.mark.max_recompiles(1)
        @pytest.mark.xfail(strict=True)
        def test_unexpected(): pass

        @pytest.mark.xfail(raises=ValueError)
        def test_other(): pass
        """,
        "--shapelog",
    )
    done.assert_outcomes(xfailed=2, failed=2)
    done.stdout.fnmatch_lines("*XPASS(strict)*")


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_test_that_fails_by_itself_shows_the_explanation_in_a_section(session: Session) -> None:
    done = session("import pytest\n@pytest.mark.no_recompiles\ndef test_a():\n    assert 1 == 2", "--shapelog")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*assert 1 == 2", "*- shapelog -*", "0/1 compared with 0/0 *", "*export TORCH_COMPILE_DYNAMIC_SOURCES=*"])
    assert "allowed" not in done.stdout.str()


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_setup_that_fails_shows_it_too_and_a_skip_ends_the_recording(session: Session) -> None:
    done = session(
        """
        import pytest

        @pytest.fixture
        def broken(): raise ValueError("broken")

        def test_setup(compile_trace, broken): pass

        @pytest.mark.no_recompiles
        def test_skip(): pytest.skip("not here")

        @pytest.mark.skip
        @pytest.mark.max_recompiles("wrong, but never asked")
        def test_never(): pass
        """,
        "--shapelog",
    )
    done.assert_outcomes(errors=1, skipped=2)
    done.stdout.fnmatch_lines(["*ValueError: broken", "*- shapelog -*", "0/1 compared with 0/0 *"])


@pytest.mark.usefixtures("every_test_recompiles")
def test_the_marks_of_unittest_cases_are_enforced(session: Session) -> None:
    done = session(
        """
        import unittest
        import pytest

        @pytest.mark.no_recompiles
        class Case(unittest.TestCase):
            def test_violates(self): pass
            def test_fails(self): self.assertEqual(1, 2)
            def test_skips(self): self.skipTest("not here")
            @pytest.mark.max_recompiles(1)
            def test_keeps(self): pass
        """,
        "--shapelog",
    )
    done.assert_outcomes(failed=2, passed=1, skipped=1)
    done.stdout.fnmatch_lines(["*AssertionError: 1 != 2*", "*- shapelog -*", "1 recompilation, 0 allowed (*"])


@pytest.mark.usefixtures("every_test_recompiles")
def test_the_fixture_is_the_recording_and_can_be_asked_for_late(session: Session) -> None:
    done = session(
        """
        def test_names(compile_trace):
            assert compile_trace.path.exists()

        def test_late(request):
            assert request.getfixturevalue("compile_trace").path.exists()
        """,
        "--shapelog",
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines("2 tests compiled: 4 compilations, 2 recompilations")


@pytest.mark.usefixtures("every_test_recompiles")
def test_junit_properties_hold_the_counts(session: Session, pytester: pytest.Pytester) -> None:
    session(MARKS, "--shapelog", "--junit-xml=junit.xml")
    cases = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    found = [{item.get("name"): item.get("value") for item in case.iter("property")} for case in cases]
    assert found == [{"compiles": "2", "recompiles": "1"}] * 3


@pytest.mark.usefixtures("every_test_recompiles")
def test_traces_are_kept_one_a_test_and_the_failure_names_its_own(session: Session, pytester: pytest.Pytester) -> None:
    tests = (
        MARKS + '\n    @pytest.mark.no_recompiles\n    @pytest.mark.parametrize("size", ["a/b c", "é", "4"])\n    def test_many(size): pass'
    )
    done = session(tests, "--shapelog-dir", "kept here")
    done.assert_outcomes(failed=4, passed=2)
    names = sorted(path.name for path in (pytester.path / "kept here").iterdir())
    stem = "test_it.py"
    assert [f"{stem}.{name}.log" for name in ("test_compiles", "test_many-4", "test_none", "test_two")] == [
        name for name in names if "test_many-" not in name or "-4" in name
    ]
    assert len(names) == 6
    done.stdout.fnmatch_lines([f"full report: shapelog report 'kept here/{stem}.test_none.log'", "traces: kept here"])
    assert shapelog.load(pytester.path / "kept here" / f"{stem}.test_many-4.log").compiles


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_directory_that_cannot_be_written_is_reported_before_any_test(session: Session, pytester: pytest.Pytester) -> None:
    (pytester.path / "file").write_text("")
    done = session(MARKS, "--shapelog-dir", "file")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines("ERROR: *file: cannot write traces there: *")


@pytest.mark.usefixtures("every_test_recompiles")
def test_a_trace_that_the_test_took_away_fails_a_marked_test_with_one_line(session: Session) -> None:
    done = session(
        """
        import pathlib
        import pytest

        def gone(*_, **__):
            raise FileNotFoundError("gone")

        @pytest.mark.no_recompiles
        def test_a(monkeypatch):
            monkeypatch.setattr(pathlib.Path, "stat", gone)
        """,
        "--shapelog",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines("shapelog cannot read what this test compiled: gone")


# The plugin under torch.compile.

HEAD = """
import logging, logging.config, unittest
import pytest
import torch
import shapelog

def fresh():
    def relu(x):
        return torch.relu(x) * 2
    relu.__code__ = relu.__code__.replace()  # a code object of its own, since PyTorch caches by those
    return torch.compile(relu, backend="eager")

"""


@pytest.fixture
def compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Session]:
    """Runs tests under torch.compile in this process with the plugin on; nothing is compiled before, and no entries are left.

    Without pytester: it forgets the modules that were imported meanwhile, and those of torch cannot be imported twice.
    """
    torch = pytest.importorskip("torch", minversion="2.13")
    for name, value in {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    torch._dynamo.reset()

    def run(tests: str, *options: str, head: str = HEAD) -> pytest.RunResult:
        (tmp_path / "test_it.py").write_text(head + tests, encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]")
        ended = pytest.main(["-p", "shapelog.pytest_plugin", "-p", "no:cacheprovider", "--shapelog", *options, "test_it.py"])
        shown = capsys.readouterr()
        print(shown.out)
        return pytest.RunResult(ended, shown.out.splitlines(), shown.err.splitlines(), 0.0)

    yield run
    sys.modules.pop("test_it", None)
    torch._dynamo.reset()


@pytest.mark.torch
def test_recompiles_of_a_marked_test_fail_it_with_their_causes(compiling: Session) -> None:
    done = compiling(
        """
@pytest.mark.no_recompiles
def test_sizes():
    f = fresh()
    for size in (4, 7, 9):
        f(torch.ones(size, 3))

@pytest.mark.max_recompiles(1)
def test_enough():
    pass

@pytest.mark.max_compiles(0)
def test_compiles():
    fresh()(torch.ones(2, 2, 2))
""",
    )
    done.assert_outcomes(failed=2, passed=1)
    done.stdout.fnmatch_lines(
        [
            "1 recompilation, 0 allowed (no_recompiles)",
            "",
            "0/1 compared with 0/0  relu  test_it.py:8  avoidable by marking",
            "  SL101 size-varies: dim 0 of x changed from 4 to 7",
            "    at test_it.py:9  return torch.relu(x) * 2",
            "  → mark dim 0 of x as dynamic: add *",
            "",
            "Marking 1 input as dynamic removes it (estimated):",
            "  export TORCH_COMPILE_DYNAMIC_SOURCES=*",
            "    torch._dynamo.mark_dynamic(x, 0)  # sizes 4–7 seen*",
            "1 compilation, 0 allowed (max_compiles)",
            "Compiled:",
            "  relu  test_it.py:8  1 compilation: *",
            "2 tests compiled: 3 compilations, *",
        ]
    )
    assert "torch.__trace" not in done.stdout.str()
    assert "pytest_plugin.py" not in done.stdout.str()


@pytest.mark.torch
def test_the_fixture_has_the_compiles_so_far(compiling: Session) -> None:
    done = compiling(
        """
def test_sizes(compile_trace):
    f = fresh()
    f(torch.ones(4, 3))
    assert len(compile_trace.compiles) == 1
    assert not compile_trace.recompiles
    f(torch.ones(7, 3))
    assert [item.codes for item in compile_trace.recompiles] == [("SL101",)]
    assert compile_trace.advice.env == "L['x']:0"
    assert compile_trace.trace.torch_version == torch.__version__
    assert len(compile_trace.report.recompiles) <= 0
""",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*assert 1 <= 0*", "*<Recompile 0/1 of relu: SL101, avoidable by marking>*", "*- shapelog -*", "0/1 compared with 0/0 *"]
    )


@pytest.mark.torch
def test_code_that_an_earlier_test_compiled_is_reported_and_reset_begins_without_it(compiling: Session) -> None:
    done = compiling(
        """
compiled = fresh()

def test_first():
    compiled(torch.ones(4, 3))

@pytest.mark.no_recompiles
def test_second():
    compiled(torch.ones(7, 3))

@pytest.mark.max_recompiles(0, reset=True)
def test_reset():
    compiled(torch.ones(8, 3))

def test_own_reset(compile_trace):
    torch._dynamo.reset()
    compiled(torch.ones(9, 3))
    compiled(torch.ones(4, 3))
    torch._dynamo.reset()
    compiled(torch.ones(5, 3))
    assert (len(compile_trace.compiles), len(compile_trace.recompiles)) == (3, 1)
""",
    )
    done.assert_outcomes(failed=1, passed=3)
    done.stdout.fnmatch_lines(
        [
            "0/1  relu  test_it.py:8  *",
            "  SL101 size-varies: *",
            "0/1: the code was compiled before this test*, or use the mark no_recompiles(reset=True)",
        ]
    )
    assert "Marking" not in done.stdout.str()


@pytest.mark.torch
def test_compiles_in_setup_count_and_in_teardown_do_not(compiling: Session) -> None:
    done = compiling(
        """
@pytest.fixture(scope="class")
def model():
    f = fresh()
    f(torch.ones(4, 3))
    yield f
    f(torch.ones(4, 3, dtype=torch.float64))

class TestModel:
    def test_first(self, model, compile_trace):
        model(torch.ones(7, 3))
        assert len(compile_trace.compiles) == 2

    @pytest.mark.max_compiles(0)
    def test_last(self, model):
        model(torch.ones(9, 3))

@pytest.fixture
def broken():
    f = fresh()
    f(torch.ones(4, 3)), f(torch.ones(5, 3))
    raise ValueError("broken")

@pytest.mark.no_recompiles(reset=True)
def test_setup(broken):
    pass

def test_after(compile_trace):
    assert not compile_trace.compiles
""",
    )
    done.assert_outcomes(passed=3, errors=1)
    done.stdout.fnmatch_lines(
        ["*ValueError: broken", "*- shapelog -*", "0/1 compared with 0/0  relu *", "2 tests compiled: 4 compilations, 2 recompilations"]
    )


@pytest.mark.torch
def test_skips_xfails_subtests_and_test_cases_under_torch(compiling: Session) -> None:
    done = compiling(
        """
pytestmark = pytest.mark.no_recompiles(reset=True)

def recompile():
    f = fresh()
    f(torch.ones(4, 3)), f(torch.ones(5, 3))

def test_skip():
    recompile()
    pytest.skip("not here")

@pytest.mark.xfail(strict=True)
def test_expected():
    recompile()

@pytest.mark.parametrize("size", [4, 5, 6])
def test_many(size):
    fresh()(torch.ones(size, 3))

class Case(unittest.TestCase):
    def test_parts(self):
        for size in (1, 2):
            with self.subTest(size=size):
                fresh()(torch.ones(4, 3))
        recompile()
""",
    )
    done.assert_outcomes(skipped=1, xfailed=1, passed=3, failed=1)
    done.stdout.fnmatch_lines(["1 recompilation, 0 allowed (no_recompiles)", "", "2/1 compared with 2/0 *"])


def kept(logger: logging.Logger) -> tuple[dict[str, Any], list[logging.Handler]]:
    """What recordings leave as it was. PyTorch's own handler removes itself at the first record."""
    return dict(vars(logger)), [item for item in logger.handlers if type(item).__name__ != "LazyTraceHandler"]


@pytest.mark.torch
def test_logging_is_left_alone_and_does_not_hide_compiles(compiling: Session) -> None:
    logger = logging.getLogger("torch.__trace")
    before = kept(logger)
    done = compiling(
        """
def test_captured(caplog, compile_trace):
    with caplog.at_level(logging.DEBUG):
        fresh()(torch.ones(4, 3))
    assert [record for record in caplog.records if record.name == "torch.__trace"] == []
    assert compile_trace.compiles

def test_disabled(compile_trace):
    logging.disable(logging.CRITICAL)
    try:
        fresh()(torch.ones(4, 3, 2))
    finally:
        logging.disable(logging.NOTSET)
    assert compile_trace.compiles

def test_configured(compile_trace):
    logging.config.dictConfig({"version": 1})
    fresh()(torch.ones(4, 3, 2, 2))
    assert logging.getLogger("torch.__trace").disabled
    logging.getLogger("torch.__trace").disabled = False
    assert compile_trace.compiles
""",
    )
    done.assert_outcomes(passed=3)
    assert kept(logger) == before


@pytest.mark.torch
@pytest.mark.parametrize("options", [["-p", "no:logging"], ["-s", "--show-capture=no"], ["--tb=no"]])
def test_it_does_without_other_plugins(compiling: Session, options: list[str]) -> None:
    done = compiling("@pytest.mark.no_recompiles\ndef test_a():\n    f = fresh()\n    f(torch.ones(4)), f(torch.ones(5))\n", *options)
    done.assert_outcomes(failed=1)


@pytest.mark.torch
def test_recordings_of_the_test_itself_continue(compiling: Session) -> None:
    logger = logging.getLogger("torch.__trace")
    before = kept(logger)
    done = compiling(
        """
@pytest.fixture(scope="module")
def whole():
    with shapelog.record() as trace:
        yield trace
        fresh()(torch.ones(4, 3))
    assert len(trace.compiles) == 5

@pytest.fixture
def own():
    with shapelog.record() as trace:
        yield trace
        fresh()(torch.ones(4, 3))
    assert len(trace.compiles) == 3

def test_both(whole, own, compile_trace):
    fresh()(torch.ones(4, 3))
    with shapelog.record() as trace:
        fresh()(torch.ones(4, 3))
    assert (len(trace.compiles), len(own.compiles), len(whole.compiles), len(compile_trace.compiles)) == (1, 2, 2, 2)

def test_next(whole, compile_trace):
    fresh()(torch.ones(4, 3))
    assert (len(whole.compiles), len(compile_trace.compiles)) == (4, 1)
"""
    )
    done.assert_outcomes(passed=2)
    assert kept(logger) == before


@pytest.mark.torch
def test_an_unmarked_test_is_recorded_once_torch_is_there_and_kept_only_if_it_compiled(compiling: Session, tmp_path: Path) -> None:
    done = compiling(
        """
def test_nothing():
    pass

def test_something():
    f = fresh()
    f(torch.ones(4, 3)), f(torch.ones(5, 3))
""",
        "--shapelog-dir=kept",
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(
        ["1 test compiled: 2 compilations, 1 recompilation", "1 recompilation  2 compilations  test_it.py::test_something"]
    )
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["test_it.py.test_something.log"]


@pytest.mark.torch
def test_the_example_of_the_page_fails_as_the_page_shows(compiling: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (example,), (shown, *_) = blocks(PAGE, "python"), blocks(PAGE, "")
    done = compiling(example, head="")
    done.assert_outcomes(failed=1)
    assert shown in "\n".join(done.outlines) + "\n"


@pytest.mark.torch
def test_a_retried_compile_is_not_a_recompile_but_its_trace_is_kept(compiling: Session, tmp_path: Path) -> None:
    done = compiling(
        """
@pytest.mark.no_recompiles
def test_fails(compile_trace):
    @torch.compile(backend="eager", fullgraph=True)
    def f(x):
        print("break")
        return x + 1

    for size in (3, 4):
        with pytest.raises(torch._dynamo.exc.Unsupported):
            f(torch.ones(size))
    assert compile_trace.report.summary.failures == 2
""",
        "--shapelog-dir=kept",
    )
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines("nothing was compiled in any test")
    assert len(shapelog.load(tmp_path / "kept" / "test_it.py.test_fails.log").compiles) == 2


@pytest.mark.torch
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n1"]])
def test_in_a_process_of_its_own_with_torch_trace_and_under_xdist(
    session: Session, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    pytest.importorskip("torch", minversion="2.13")
    if workers:
        pytest.importorskip("xdist")
    monkeypatch.setenv("TORCH_TRACE", str(pytester.path / "traced"))
    tests = """
@pytest.mark.no_recompiles
def test_sizes():
    f = fresh()
    for size in (4, 7, 9):
        f(torch.ones(size, 3))
"""
    pytester.makepyfile(test_it=HEAD + tests)
    done = pytester.runpytest_subprocess("-p", "shapelog.pytest_plugin", "--shapelog", "--junit-xml=junit.xml", *workers)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["1 recompilation, 0 allowed (no_recompiles)", "1 test compiled: 2 compilations, 1 recompilation"])
    assert [len(shapelog.load(path).compiles) for path in (pytester.path / "traced").iterdir()] == [2]
    assert '<property name="recompiles" value="1"' in (pytester.path / "junit.xml").read_text(encoding="utf-8")
