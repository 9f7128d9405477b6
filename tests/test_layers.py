"""Imports go one way, lists of parts are complete, and asking for help loads little."""

import ast
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import shapelog
from shapelog import analyses, reporters, rules

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
PACKAGE = Path(shapelog.__file__).parent
# A module imports only from those above its own line. Modules in one line do not know each other.
LAYERS = (
    ("aside", "bundled", "errors", "ids", "wording", "writers"),
    ("cluster", "folders", "foreign", "processes", "unpacking"),
    ("archives", "config", "remote", "runs", "workers"),
    ("source",),
    ("payloads",),
    ("payloads.exprs", "payloads.sources"),
    ("payloads.distributed", "payloads.guards", "payloads.graphs", "payloads.pgo"),
    ("payloads.reasons",),
    ("labels", "repeats"),
    ("noting",),
    ("ahead",),
    ("scan",),
    ("looking", "rank_summary", "records"),
    ("model",),
    ("profiles",),
    ("build",),
    ("listing",),
    ("pinning",),
    ("axes",),
    ("layouts", "states"),
    ("judging",),
    ("rules",),
    ("handbook",),
    ("causes",),
    ("marks",),
    ("flows",),
    ("serving",),
    ("study",),
    ("matching",),
    ("ranks",),
    ("folding", "schedules"),
    ("agreeing",),
    ("diverging",),
    ("job",),
    ("replay",),
    ("placing",),
    ("uses",),
    ("choosing",),
    ("remains",),
    ("caveats", "knobs", "opinions"),
    ("advice",),
    ("advising",),
    ("shapes",),
    ("findings",),
    (
        "analyses.breaks",
        "analyses.failures",
        "analyses.kernels",
        "analyses.limits",
        "analyses.pgo",
        "analyses.ranks",
        "analyses.specializations",
        "analyses.time",
        "analyses.top_causes",
    ),
    ("analyses",),
    ("report",),
    ("checkout", "health", "joint"),
    ("alerts",),
    ("baseline", "policy"),
    ("check",),
    ("changes",),
    ("compare",),
    ("verifying",),
    ("story",),
    ("page",),
    ("page.anchors", "page.charts", "page.diff", "page.records", "page.redact", "page.store"),
    ("page.frames", "page.stacks", "page.time_axis"),
    ("page.groups", "page.icicle", "page.overview", "page.ranks", "page.timeline"),
    ("page.search",),
    ("page.around",),
    ("reporters",),
    ("recording", "runner", "watching"),
    ("proving",),
    ("api",),
    ("reporters.alert_text", "reporters.drawing", "reporters.json_text", "reporters.markdown_text", "reporters.markup"),
    ("reporters.advice_head", "reporters.html_filters", "reporters.terminal_ranks"),
    (
        "reporters.advice_env",
        "reporters.advice_python",
        "reporters.advice_shell",
        "reporters.github",
        "reporters.gitlab",
        "reporters.html",
        "reporters.json_report",
        "reporters.jsonl",
        "reporters.junit",
        "reporters.markdown",
        "reporters.markdown_rules",
        "reporters.notebook",
        "reporters.pytest_report",
        "reporters.sarif",
        "reporters.terminal",
        "reporters.terminal_advice",
        "reporters.terminal_check",
        "reporters.terminal_compare",
        "reporters.terminal_rules",
        "reporters.terminal_story",
        "reporters.terminal_verify",
        "reporters.terminal_watch",
    ),
    ("output", "pytest_plugin"),
    ("checking", "following", "reading"),
    ("pairing",),
    ("cli",),
    ("__main__",),
)
# What several reporters draw with.
SHARED = {
    "reporters.advice_head",
    "reporters.alert_text",
    "reporters.drawing",
    "reporters.html_filters",
    "reporters.json_text",
    "reporters.markdown_text",
    "reporters.markup",
    "reporters.terminal_ranks",
}
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = sorted(name_of(path) for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imported_by(module: str) -> set[str]:
    """The modules of shapelog that a module imports anywhere in it, also inside functions and for types alone."""
    path = PACKAGE.joinpath(*module.split("."))
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shapelog":
            base = (node.module or "").partition(".")[2]
            inner = {f"{base}.{alias.name}".strip(".") for alias in node.names}
            found |= {name for name in inner if name in RANK} or {base}
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[2] for alias in node.names if alias.name.split(".")[0] == "shapelog"}
    return found - {""}


def test_every_module_has_a_place_in_the_order() -> None:
    assert sorted(RANK) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_modules_above_its_own(module: str) -> None:
    wrong = [name for name in imported_by(module) if RANK[name] >= RANK[module]]
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_no_module_imports_by_a_relative_name(module: str) -> None:
    path = PACKAGE.joinpath(*module.split("."))
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    assert [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.level] == []


def parts(package: str) -> list[str]:
    return [module for module in MODULES if module.startswith(f"{package}.")]


@pytest.mark.parametrize("module", parts("analyses"))
def test_an_analysis_knows_neither_its_siblings_nor_any_format(module: str) -> None:
    assert [name for name in imported_by(module) if name.startswith(("analyses", "reporters", "report"))] == []


@pytest.mark.parametrize("module", parts("reporters"))
def test_a_reporter_knows_neither_records_nor_analyses_nor_its_siblings(module: str) -> None:
    known = imported_by(module)
    assert not known & {"records", "scan", "build", "source"}
    assert [name for name in known if name.startswith("analyses")] == []
    assert [name for name in known if name.startswith("reporters.") and name not in SHARED] == []


def test_every_analysis_is_listed() -> None:
    listed = [analysis.__name__.removeprefix("shapelog.") for analysis in analyses.ANALYSES]
    assert sorted(listed) == parts("analyses")


def test_every_reporter_is_listed() -> None:
    formats = (
        reporters.FORMATS,
        reporters.STORY_FORMATS,
        reporters.COMPARE_FORMATS,
        reporters.ADVICE_FORMATS,
        reporters.VERIFY_FORMATS,
        reporters.RULES_FORMATS,
        reporters.CHECK_FORMATS,
    )
    listed = {reporters.NOTEBOOK, reporters.PYTEST, reporters.WATCH, *(name for part in formats for name in part.values())}
    assert sorted({name.removeprefix("shapelog.") for name in listed} | SHARED) == parts("reporters")


@pytest.mark.parametrize("name", sorted(reporters.FORMATS))
def test_a_reporter_renders_and_names_its_suffix(name: str) -> None:
    found = reporters.reporter(name)
    assert callable(found.render)
    assert found.SUFFIX.startswith(".")


@pytest.mark.parametrize("name", sorted(reporters.COMPARE_FORMATS))
def test_a_comparison_reporter_renders_a_comparison_and_names_its_suffix(name: str) -> None:
    found = reporters.comparison_reporter(name)
    assert callable(found.render_comparison)
    assert found.SUFFIX.startswith(".")


@pytest.mark.parametrize("name", sorted(reporters.ADVICE_FORMATS))
def test_an_advice_reporter_renders_advice_and_names_its_suffix(name: str) -> None:
    found = reporters.advice_reporter(name)
    assert callable(found.render_advice)
    assert found.SUFFIX.startswith(".")


@pytest.mark.parametrize("name", sorted(reporters.CHECK_FORMATS))
def test_a_check_reporter_renders_a_check_and_names_its_suffix(name: str) -> None:
    found = reporters.check_reporter(name)
    assert callable(found.render_check)
    assert found.SUFFIX.startswith(".")


@pytest.mark.parametrize("name", sorted(reporters.VERIFY_FORMATS))
def test_a_verification_reporter_renders_a_verification_and_names_its_suffix(name: str) -> None:
    found = reporters.verification_reporter(name)
    assert callable(found.render_verification)
    assert found.SUFFIX.startswith(".")


@pytest.mark.parametrize("name", sorted(reporters.STORY_FORMATS))
def test_a_story_reporter_renders_a_story_and_names_its_suffix(name: str) -> None:
    found = reporters.story_reporter(name)
    assert callable(found.render_story)
    assert found.SUFFIX.startswith(".")


def test_no_code_or_name_of_a_rule_is_used_twice() -> None:
    text = (PACKAGE / "rules.py").read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_rule"]
    codes = [ast.literal_eval(call.args[0]) for call in calls]
    assert sorted(codes) == sorted(rules.RULES)
    names = [rule.name for rule in rules.RULES.values()]
    assert len(set(names)) == len(names)


def loaded(python: Process, code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)")
    assert done.returncode == 0, done.stderr.decode()
    return set(done.stderr.decode().split(os.linesep))


HELP = """
from shapelog.cli import cli
try:
    cli(["{}", "--help"] if "{}" else ["--help"])
except SystemExit as end:
    assert end.code == 0
"""


@pytest.mark.parametrize(
    "command", ["", "report", "explain", "suggest-dynamic", "compare", "run", "watch", "verify", "check", "rules", "rule"]
)
def test_help_loads_neither_libraries_nor_what_reads_traces(python: Process, command: str) -> None:
    modules = loaded(python, HELP.format(command, command))
    assert "shapelog.cli" in modules
    assert not modules & {"rich", "orjson", "jinja2", "shapelog.build", "shapelog.scan", "shapelog.report", "shapelog.api"}
    assert not modules & {"fsspec", "zstandard", "zipfile", "tarfile", "shapelog.source"}
    assert not modules & {"tomllib", "tomli", "shapelog.config", "shapelog.alerts", "shapelog.handbook"}


def test_importing_shapelog_loads_no_part_of_it(python: Process) -> None:
    assert [name for name in loaded(python, "import shapelog") if name.startswith("shapelog.")] == []


def test_a_plain_file_is_opened_without_what_reads_archives_runs_and_urls(python: Process, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"V1120 08:27:33.313000 1 x] {}\n")
    modules = loaded(python, "from shapelog.source import open_trace, select\nassert open_trace(select('a.log').files[0]).size")
    assert not modules & {"fsspec", "zstandard", "zipfile", "tarfile", "shapelog.archives", "shapelog.remote", "shapelog.runs"}


def test_reading_a_trace_loads_no_reporter(python: Process) -> None:
    modules = loaded(python, "from shapelog import load, analyze\nload, analyze")
    assert "shapelog.report" in modules
    assert not {name for name in modules if name.startswith(("shapelog.reporters", "rich", "click", "jinja2"))}
