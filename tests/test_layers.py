"""Data flows down the folders, imports follow it, and asking for help loads little."""

import ast
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import shapelog
from shapelog import rules
from shapelog.report import analyses

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
PACKAGE = Path(shapelog.__file__).parent
# Arguments without names.
_LONG_CALL = 6

# What a module of a folder may import besides its own folder; docs/architecture.md explains the stages.
LEAVES = ("errors", "text", "grouping", "display")
CATALOGUE = ("rules",)
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "text": (),
    "grouping": (),
    "display": (),
    "resources": (),
    "rules": (),
    "rule_docs": ("rules", "resources", "errors"),
    "reading": LEAVES,
    "model": (*LEAVES, "reading"),
    "recompiles": (*LEAVES, *CATALOGUE, "model", "reading"),
    "advice": (*LEAVES, *CATALOGUE, "recompiles", "model", "reading"),
    "distributed": (*LEAVES, "recompiles", "model", "reading"),
    "report": (*LEAVES, *CATALOGUE, "distributed", "advice", "recompiles", "model", "reading"),
    "tables": (*LEAVES, *CATALOGUE, "report", "distributed", "advice", "recompiles", "model", "reading"),
    "check": (*LEAVES, *CATALOGUE, "report", "distributed", "advice", "recompiles", "model", "reading"),
    "fix": (*LEAVES, *CATALOGUE, "report", "advice", "recompiles", "model", "reading"),
    "extract": (*LEAVES, "model", "reading"),
    "capture": (*LEAVES, "report", "advice", "recompiles", "model", "reading"),
}
STAGES = tuple(MAY_IMPORT)
MAY_IMPORT |= {
    "reporters": STAGES,
    **{f"reporters.{folder}": ("reporters", *STAGES) for folder in ("terminal", "html", "json", "ci", "chrome_trace")},
    "recording": ("reporters", *STAGES),
    "api": ("recording", *STAGES),
    "agents": ("api", "recording", "reporters", *STAGES),
    "pytest_plugin": ("recording", "reporters", "reporters.terminal", *STAGES),
    "cli": ("agents", "reporters", "reporters.terminal", "reporters.html", *STAGES),
    "__main__": ("cli",),
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"}


@cache
def nodes_of(module: str) -> list[ast.AST]:
    """The imports, classes, functions and long calls of a module, without their bodies: to keep whole trees slows all later tests down."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, kinds) or (isinstance(node, ast.Call) and len(node.args) >= _LONG_CALL)]
    for node in found:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            node.body = []
    return found


def folder_of(module: str) -> str:
    """The row of the table that a module belongs to: ``reporters.html``, else its top-level name."""
    head, _, rest = module.partition(".")
    inner = f"{head}.{rest.partition('.')[0]}"
    return inner if inner in MAY_IMPORT else head


def imported_by(module: str) -> set[str]:
    """The modules of shapelog that a module imports anywhere in it, also inside functions and for types alone."""
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{module}:{node.lineno} imports by a relative name")
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shapelog":
            base = (node.module or "").partition(".")[2]
            inner = {f"{base}.{alias.name}".strip(".") for alias in node.names}
            found |= {name for name in inner if name in MODULES} or {base}
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[2] for alias in node.names if alias.name.split(".")[0] == "shapelog"}
    return found - {""}


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports."""
    return {module: imported_by(module) for module in MODULES}


def test_every_module_has_a_place_in_the_table() -> None:
    assert {folder_of(module) for module in MODULES} == set(MAY_IMPORT)


def test_a_module_imports_only_what_its_folder_may() -> None:
    wrong = [
        (module, name)
        for module, folder in ((module, folder_of(module)) for module in MODULES)
        for name in imports()[module]
        if folder_of(name) not in (folder, *MAY_IMPORT[folder])
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    tuple(TopologicalSorter(imports()).static_order())  # raises CycleError


def test_a_folder_holds_few_enough_files_to_read_its_listing() -> None:
    sizes = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    assert {folder: size for folder, size in sizes.items() if size > 22} == {}


def parts(package: str) -> list[str]:
    return [module for module in sorted(MODULES) if module.startswith(f"{package}.")]


def test_an_analysis_knows_neither_its_siblings_nor_the_report() -> None:
    above = ("report.analyses", "report.report")
    assert [(module, name) for module in parts("report.analyses") for name in imports()[module] if name.startswith(above)] == []


def test_a_reporter_knows_neither_records_nor_analyses() -> None:
    below = ("reading.scanner", "model.builder", "reading.inputs", "reading.open_trace", "report.analyses")
    assert [(module, name) for module in parts("reporters") for name in imports()[module] if name.startswith(below)] == []


def test_every_analysis_is_listed() -> None:
    listed = [analysis.__name__.removeprefix("shapelog.") for analysis in analyses.ANALYSES]
    assert sorted(listed) == parts("report.analyses")


def test_no_code_or_name_of_a_rule_is_used_twice() -> None:
    text = (PACKAGE / "rules.py").read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Rule"]
    codes = [ast.literal_eval(call.args[0]) for call in calls]
    assert sorted(codes) == sorted(rules.RULES)
    names = [rule.name for rule in rules.RULES.values()]
    assert len(set(names)) == len(names)


def test_no_two_classes_have_the_same_name() -> None:
    names = Counter(node.name for module in MODULES for node in nodes_of(module) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_calls_of_six_or_more_arguments_name_them() -> None:
    nodes = [(module, node) for module in MODULES for node in nodes_of(module)]
    functions = [node for _, node in nodes if isinstance(node, ast.FunctionDef)]
    own = {node.name for _, node in nodes if isinstance(node, ast.ClassDef)} | {node.name for node in functions}
    own -= {node.name for node in functions if node.args.vararg}
    calls = [(module, node) for module, node in nodes if isinstance(node, ast.Call)]
    assert [(module, call.lineno) for module, call in calls if getattr(call.func, "id", "") in {"cls", *own}] == []


def patterns_in(value: object) -> Iterator[str]:
    if isinstance(value, re.Pattern):
        yield str(value.pattern)
    elif isinstance(value, (tuple, list, frozenset)):
        yield from (pattern for item in value for pattern in patterns_in(item))
    elif isinstance(value, dict):
        yield from patterns_in(tuple(value.values()))


def test_a_number_that_a_pattern_finds_has_few_enough_digits_for_int() -> None:
    unbounded = re.compile(r"\((?:\?P<\w+>)?-?(?:\\d|\[0-9\])[+*]\)")
    found = {(module, pattern) for module in MODULES for pattern in patterns_in(vars(import_module(f"shapelog.{module}")))}
    assert len(found) > 500
    assert [(module, pattern) for module, pattern in sorted(found) if unbounded.search(pattern)] == []


def loaded(python: Process, code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)")
    assert done.returncode == 0, done.stderr.decode()
    return set(done.stderr.decode().split(os.linesep))


HELP = """
from shapelog.cli.main import cli
try:
    cli(["{}", "--help"] if "{}" else ["--help"])
except SystemExit as end:
    assert end.code == 0
"""


@pytest.mark.parametrize(
    "command",
    [
        "",
        "report",
        "explain",
        "suggest-dynamic",
        "fix",
        "compare",
        "extract",
        "run",
        "watch",
        "verify",
        "check",
        "tables",
        "fleet",
        "rules",
        "rule",
        "mcp",
    ],
)
def test_help_loads_neither_libraries_nor_what_reads_traces(python: Process, command: str) -> None:
    modules = loaded(python, HELP.format(command, command))
    assert "shapelog.cli.main" in modules
    assert not modules & {
        "rich",
        "orjson",
        "jinja2",
        "markdown_it",
        "pygments",
        "shapelog.model.builder",
        "shapelog.reading.scanner",
        "shapelog.report.report",
        "shapelog.api",
    }
    assert not modules & {"pyarrow", "duckdb", "pandas", "shapelog.tables.schema", "shapelog.tables.fleet"}
    assert not modules & {"fsspec", "zstandard", "zipfile", "tarfile", "shapelog.reading.inputs"}
    assert not modules & {"tomllib", "tomli", "shapelog.cli.settings", "shapelog.report.alerts.alert", "shapelog.rule_docs"}


def test_importing_shapelog_loads_no_part_of_it(python: Process) -> None:
    assert [name for name in loaded(python, "import shapelog") if name.startswith("shapelog.")] == []


OPENING = """
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_trace
assert open_trace(select("a.log").files[0]).size
"""


def test_a_plain_file_is_opened_without_what_reads_archives_runs_and_urls(python: Process, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"V1120 08:27:33.313000 1 x] {}\n")
    modules = loaded(python, OPENING)
    assert not modules & {
        "fsspec",
        "zstandard",
        "zipfile",
        "tarfile",
        "shapelog.reading.archives",
        "shapelog.reading.remote",
        "shapelog.reading.web",
        "shapelog.reading.run_selection",
    }


def test_reading_a_trace_loads_no_reporter(python: Process) -> None:
    modules = loaded(python, "from shapelog import load, analyze\nload, analyze")
    assert "shapelog.report.report" in modules
    assert not {name for name in modules if name.startswith(("shapelog.reporters", "rich", "click", "jinja2"))}


def test_the_map_names_every_module_and_no_other() -> None:
    text = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.split("## Where is ...?")[1].split("```")[1]
    named = set(re.findall(r"\b[a-z_]+\b", tree))
    modules = {path.stem for module, path in MODULES.items() if "." in module and path.stem != "__init__"}
    assert modules - named == set()
    last_words = {word for line in tree.splitlines() for word in re.split(r"\s{2,}", line.strip())[2:]}
    assert {word for word in last_words if re.fullmatch(r"[a-z_]+", word)} - modules == set()


def test_no_test_imports_from_another() -> None:
    """Where a library is not there, the other one is skipped before its names exist."""
    importing = re.compile(r"^\s*from (?:\w+\.)*test_\w+ import", re.M)
    tests = Path(__file__).parent.rglob("test_*.py")
    assert [path.name for path in tests if importing.search(path.read_text(encoding="utf-8"))] == []
