"""The GitHub Action: its scripts are taken out of action.yml and run as a runner runs them."""

import gzip
import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from jsonschema import Draft7Validator

import shapelog

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SCHEMAS = Path(__file__).parent / "schemas"
EXAMPLE = ROOT / "docs" / "examples" / "compile-health"
WORKFLOWS = [ROOT / "docs" / "github" / "compile-health.yml", EXAMPLE / ".github" / "workflows" / "compile-health.yml"]


class _Loader(yaml.SafeLoader):
    """Takes true and false for booleans, and nothing else, as YAML 1.2 does: "on" is the key of a workflow."""

    yaml_implicit_resolvers: ClassVar = {
        first: [known for known in resolvers if known[0] != "tag:yaml.org,2002:bool"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def parsed(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)


ACTION = parsed(ROOT / "action.yml")
STEPS = {step.get("id", step["name"]): step for step in ACTION["runs"]["steps"]}
DEMO = ROOT / "fixtures" / "real" / "demo.log.gz"
SMALL, OTHER = (ROOT / "fixtures" / "lab" / f"{name}.log.gz" for name in ("batch_varies", "two_dims"))
REPORTS = {"json": "check.json", "html": "report.html", "markdown": "summary.md", "sarif": "shapelog.sarif", "junit": "junit.xml"}
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
# Everything that a script must not take for more than text.
HOSTILE = "$(touch hacked) `touch hacked` '; touch hacked; ' \"; touch hacked; # && touch hacked\n; touch hacked\n::warning::hacked"


@dataclass(frozen=True, slots=True)
class Ran:
    """A step that a runner ran: its exit code, what the log shows, what it put out, and its summary."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str

    @property
    def commands(self) -> list[str]:
        """What the runner takes for commands: nothing between the line that stops them and the token that it names."""
        found, token = [], ""
        for line in self.log.splitlines():
            if token:
                token = "" if line.strip() == f"::{token}::" else token
            elif line.strip().startswith("::stop-commands::"):
                token = line.strip().removeprefix("::stop-commands::")
            elif line.strip().startswith("::"):
                found.append(line.strip())
        assert not token, "commands stay stopped"
        return found


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first step makes: a Python of its own in which shapelog is installed."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python3*/site-packages")
    known = [str(Path(shapelog.__file__).parents[1]), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "tested.pth").write_text("\n".join(known), encoding="utf-8")
    return place / "bin" / "python"


@pytest.fixture
def runner(tmp_path: Path) -> Callable[..., Ran]:
    """Runs a step of the action in an empty checkout; ``inputs`` are those that somebody gave, by their names."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "temp").mkdir()

    def run(step: str, inputs: dict[str, str] | None = None, **more: str) -> Ran:
        output, summary = tmp_path / "output", tmp_path / "summary"
        output.write_text("", encoding="utf-8")
        summary.write_text("", encoding="utf-8")
        given = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()} | (inputs or {})
        own = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text) for name, text in STEPS[step]["env"].items()
        }
        machine = {
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_ACTIONS": "true",
        }
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("SHAPELOG", "GITHUB"))}
        done = subprocess.run(
            [*BASH, STEPS[step]["run"]],
            cwd=tmp_path / "checkout",
            env={**plain, **machine, **own, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        return Ran(done.returncode, done.stdout, outputs, summary.read_text(encoding="utf-8"))

    return run


@pytest.fixture
def check(runner: Callable[..., Ran], interpreter: Path) -> Callable[..., Ran]:
    """Runs the step that checks; it does not fail itself, so that what follows it can show what it found."""

    def run(inputs: dict[str, str], **more: str) -> Ran:
        ran = runner("check", inputs, PYTHON=str(interpreter), **more)
        assert ran.code == 0, ran.log
        return ran

    return run


# What the files may hold.


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("github-actions", ROOT / "action.yml"),
        ("github-workflows", ROOT / "docs" / "github" / "compile-health.yml"),
        ("github-workflows", EXAMPLE / ".github" / "workflows" / "compile-health.yml"),
        ("gitlab-ci", ROOT / "docs" / "gitlab" / "shapelog.gitlab-ci.yml"),
        ("gitlab-ci", EXAMPLE / ".gitlab-ci.yml"),
    ],
)
def test_the_files_for_ci_systems_are_valid(schema: str, path: Path) -> None:
    validator = Draft7Validator(json.loads(gzip.decompress((SCHEMAS / f"{schema}.json.gz").read_bytes())))
    assert [error.message for error in validator.iter_errors(parsed(path))] == []
    assert not validator.is_valid({"jobs": [], "runs": 1, "stages": 3})


def test_no_script_holds_an_expression_and_every_input_is_used() -> None:
    assert not [name for name, step in STEPS.items() if "${{" in step.get("run", "")]
    assert set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"]))) == set(ACTION["inputs"])
    names = [name for step in STEPS.values() for name in step.get("env", {})]
    assert not [name for name in names if name.startswith("SHAPELOG_")], "these would be settings of shapelog"


def test_every_variable_of_an_input_is_named_after_it_and_read_by_its_script() -> None:
    for step in STEPS.values():
        for name, text in step.get("env", {}).items():
            if "inputs." in text:
                assert name == "IN_" + text.removeprefix("${{ inputs.").removesuffix(" }}").upper().replace("-", "_")
            assert re.search(rf"\${{?{name}\b", step["run"]), name


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS])
def test_actions_of_others_are_pinned_to_a_commit_with_the_version_beside_it(path: Path) -> None:
    uses = re.findall(r"^ *(?:- )?uses: (.+)$", path.read_text(encoding="utf-8"), re.M)
    others = [text for text in uses if not text.startswith("shapelog/")]
    assert len(others) == 2
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", text) for text in others)


@pytest.mark.parametrize("path", WORKFLOWS)
def test_the_workflows_ask_for_no_more_permissions_than_each_job_needs_and_keep_no_credentials(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["permissions"]["contents"] == "read"
        (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert checkout["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS)
def test_the_workflows_give_the_action_inputs_that_it_has(path: Path) -> None:
    jobs = parsed(path)["jobs"].values()
    given = [step["with"] for job in jobs for step in job["steps"] if step.get("uses", "").startswith("shapelog/shapelog@")]
    assert len(given) == 1
    assert set(given[0]) <= set(ACTION["inputs"])
    assert set(given[0]) >= {name for name, spec in ACTION["inputs"].items() if spec.get("required")}


# The check.


def test_a_failed_check_is_shown_in_every_output(check: Callable[..., Ran]) -> None:
    ran = check({"trace": str(DEMO)})
    assert {name: ran.outputs[name] for name in ("exit-code", "passed", "compiles", "recompiles")} == {
        "exit-code": "1",
        "passed": "false",
        "compiles": "19",
        "recompiles": "15",
    }
    directory = Path(ran.outputs["directory"])
    assert {name: ran.outputs[name] for name in REPORTS} == {name: str(directory / file) for name, file in REPORTS.items()}
    assert sorted(path.name for path in directory.iterdir()) == sorted(REPORTS.values())
    assert (directory / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert json.loads((directory / "shapelog.sarif").read_bytes())["version"] == "2.1.0"
    assert json.loads((directory / "check.json").read_bytes())["passed"] is False
    assert ran.summary.startswith("## Check failed: recompile limit hit in MovingAverage.forward; 13 avoidable recompilations\n")
    assert (directory / "summary.md").read_text(encoding="utf-8").startswith("## Check failed")
    assert "MovingAverage.forward hit the recompile limit at 1/8" in ran.log
    assert [line for line in ran.commands if line.startswith("::error title=SL401 ")]
    assert set(ran.outputs) == set(ACTION["outputs"])


def test_the_outputs_of_the_action_are_those_of_the_check() -> None:
    assert {name: output["value"] for name, output in ACTION["outputs"].items()} == {
        name: f"${{{{ steps.check.outputs.{name} }}}}" for name in ACTION["outputs"]
    }


def test_the_text_of_the_log_comes_while_no_commands_are_taken(check: Callable[..., Ran]) -> None:
    first, second = check({"trace": str(SMALL)}), check({"trace": "missing"})
    tokens = [re.findall(r"^::stop-commands::([0-9a-f]{32})$", ran.log, re.M) for ran in (first, second)]
    assert [len(found) for found in tokens] == [1, 1]
    assert tokens[0] != tokens[1]
    stopped = first.log.split(f"::{tokens[0][0]}::")[0]
    assert "What fails" in stopped
    assert "::error" not in stopped


def test_a_check_that_passes(check: Callable[..., Ran]) -> None:
    ran = check({"trace": str(DEMO), "fail-on": "none"})
    assert (ran.outputs["exit-code"], ran.outputs["passed"], ran.outputs["recompiles"]) == ("0", "true", "15")
    assert ran.summary.startswith("## Check passed")
    assert not [line for line in ran.commands if line.startswith("::error")]


def test_inputs_that_are_not_given_leave_the_settings_as_they_are(check: Callable[..., Ran], tmp_path: Path) -> None:
    settings = tmp_path / "checkout" / "pyproject.toml"
    settings.write_text('[tool.shapelog]\nfail-on = "none"\n', encoding="utf-8")
    assert check({"trace": str(SMALL)}).outputs["exit-code"] == "0"
    assert check({"trace": str(SMALL), "fail-on": "avoidable"}).outputs["exit-code"] == "1"
    settings.unlink()
    assert check({"trace": str(SMALL)}).outputs["exit-code"] == "1"
    assert check({"trace": str(SMALL)}, SHAPELOG_FAIL_ON="none").outputs["exit-code"] == "0"


def test_each_input_reaches_the_check_as_one_word(runner: Callable[..., Ran], tmp_path: Path) -> None:
    """The interpreter is one that notes what it is called with."""
    noted = tmp_path / "noted"
    recorder = tmp_path / "recorder"
    recorder.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{noted}'\n", encoding="utf-8")
    recorder.chmod(0o755)
    values = {
        "max-compiles": "7",
        "max-recompiles": "6",
        "max-avoidable-seconds": "1.5",
        "max-compiles-per-frame": "*=5\n  Net.forward=4\n",
        "max-recompiles-per-frame": "3",
        "max-avoidable-seconds-per-frame": "2.5",
        "select": "SL3\nSL4,SL5",
        "ignore": "SL1",
        "fail-on": "limit",
        "baseline": "known state.json",
        "source-root": "the sources",
        "strip-prefix": "/srv/app\n/srv/ml\n",
        "config": "other.toml",
    }
    ran = runner("check", {"trace": "one\n two \n", "strict": "false", "args": "--limit\n0 'a b' \"c d\"", **values}, PYTHON=str(recorder))
    assert ran.outputs["exit-code"] == "2"  # nothing was checked
    words = noted.read_text(encoding="utf-8").splitlines()
    given = [f"--{name}={line.strip()}" for name, text in values.items() for line in text.splitlines()]
    end = words.index("--")
    assert words[end - len(given) - 5 : end] == [*given, "--no-strict", "--limit", "0", "a b", "c d"]
    assert words[end + 1 :] == ["one", "two"]
    assert set(values) | {"trace", "strict", "args", "directory"} == set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS["check"]["env"])))


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"max-compiles-per-frame": "*=100\n  *f*=0\n"}, "1"),
        ({"select": "SL3\nSL4,SL5"}, "0"),
        ({"args": "--fail-on 'none' \"--verbose\"  --limit\n0"}, "0"),
    ],
)
def test_what_inputs_ask_for_decides(check: Callable[..., Ran], inputs: dict[str, str], code: str) -> None:
    assert check({"trace": str(SMALL), **inputs}).outputs["exit-code"] == code


def test_a_baseline_and_a_configuration_are_named_by_inputs(check: Callable[..., Ran], tmp_path: Path) -> None:
    assert check({"trace": str(SMALL), "args": "--write-baseline known.json"}).outputs["passed"] == "true"
    assert (tmp_path / "checkout" / "known.json").is_file()
    assert check({"trace": str(SMALL), "baseline": "known.json"}).outputs["passed"] == "true"
    (tmp_path / "checkout" / "other.toml").write_text('baseline = "known.json"\n', encoding="utf-8")
    assert check({"trace": str(SMALL), "config": "other.toml"}).outputs["passed"] == "true"
    assert check({"trace": str(SMALL)}).outputs["passed"] == "false"


def test_modules_of_the_checkout_do_not_get_in_the_way(check: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "checkout" / "click.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    assert check({"trace": str(SMALL)}, PYTHONPATH=str(tmp_path / "checkout")).outputs["exit-code"] == "1"


def test_traces_on_several_lines_are_one_run(check: Callable[..., Ran]) -> None:
    both = check({"trace": f"\n  {SMALL}\n  {OTHER}\n"})
    assert int(both.outputs["compiles"]) == sum(len(shapelog.load(path).compiles) for path in (SMALL, OTHER))


def test_reports_are_written_to_the_given_folder_and_old_ones_removed(check: Callable[..., Ran], tmp_path: Path) -> None:
    inputs = {"directory": "out/a b"}
    ran = check({"trace": str(SMALL), **inputs})
    assert (ran.outputs["directory"], ran.outputs["html"]) == ("out/a b", "out/a b/report.html")
    assert (tmp_path / "checkout" / "out" / "a b" / "report.html").is_file()
    assert not {"html", "json"} & set(check({"trace": "missing", **inputs}).outputs)
    assert not list((tmp_path / "checkout" / "out" / "a b").iterdir())


# What goes wrong.


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"trace": "missing"}, "missing"),
        ({"trace": " \n "}, "the input trace is empty"),
        ({"trace": str(SMALL), "max-compiles": "many"}, "'many' is not a valid integer"),
        ({"trace": str(SMALL), "fail-on": "avoidible"}, "did you mean avoidable?"),
        ({"trace": str(SMALL), "baseline": "none.json"}, "none.json"),
        ({"trace": str(SMALL), "strict": "yes"}, "the input strict is true or false, and not yes"),
        ({"trace": str(SMALL), "args": "it's"}, "the input args cannot be taken apart"),
        ({"trace": str(SMALL), "args": "--no-such-option"}, "--no-such-option"),
    ],
)
def test_an_unreadable_trace_ends_with_2_and_an_annotation_with_the_reason(
    check: Callable[..., Ran], inputs: dict[str, str], message: str
) -> None:
    ran = check(inputs)
    assert (ran.outputs["exit-code"], ran.outputs["passed"]) == ("2", "false")
    (annotation,) = ran.commands
    assert annotation.startswith("::error title=shapelog could not check::")
    assert message in annotation


def test_a_trace_that_is_damaged_under_strict_ends_with_2_and_shows_the_report(check: Callable[..., Ran], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.log"
    damaged.write_bytes(gzip.decompress(SMALL.read_bytes())[:-40])
    ran = check({"trace": str(damaged), "strict": "true", "fail-on": "none"})
    assert (ran.outputs["exit-code"], ran.outputs["passed"]) == ("2", "false")
    assert Path(ran.outputs["html"]).is_file()


@pytest.mark.parametrize("names", [["strict"], ["args"], ["trace"], None])
def test_nothing_of_an_input_is_executed(check: Callable[..., Ran], tmp_path: Path, names: list[str] | None) -> None:
    every = set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS["check"]["env"])))
    ran = check({"trace": str(SMALL), **dict.fromkeys(names or every - {"strict", "args", "trace"}, HOSTILE)})
    assert not list(tmp_path.rglob("hacked"))
    assert not [line for line in ran.commands if line.startswith("::warning")]
    assert set(ran.outputs) <= set(ACTION["outputs"])
    assert ran.outputs["exit-code"] in ("1", "2")


@pytest.mark.parametrize(
    ("code", "fail", "ended"), [("0", "true", 0), ("1", "true", 1), ("1", "", 1), ("1", "false", 0), ("2", "true", 2), ("2", "false", 2)]
)
def test_the_last_step_fails_the_job(runner: Callable[..., Ran], code: str, fail: str, ended: int) -> None:
    assert runner("Report the outcome", {"fail": fail}, EXIT_CODE=code).code == ended


def test_the_uploads_come_between_the_check_and_the_step_that_fails() -> None:
    assert list(STEPS) == ["install", "check", "Keep the reports", "Upload to code scanning", "Report the outcome"]


# The installation.


@pytest.fixture
def pythons(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes a command that is asked for like a Python: it writes down what, and makes environments of copies of itself."""

    def make(name: str, version: str) -> Path:
        tools = tmp_path / "tools"
        tools.mkdir(exist_ok=True)
        path = tools / name
        path.write_text(
            "#!/bin/bash\n"
            f'echo "$(basename "$0") $*" >>"{tmp_path}/asked"\n'
            f'if [ "$1" = -c ]; then exec "{sys.executable}" -c "import sys; sys.version_info = {version}; ${{2#import sys;}}"; fi\n'
            'if [ "$3" = venv ]; then mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; fi\n',
            encoding="utf-8",
        )
        path.chmod(0o755)
        return path

    return make


def test_shapelog_is_installed_into_an_environment_of_its_own(
    runner: Callable[..., Ran], pythons: Callable[[str, str], Path], tmp_path: Path
) -> None:
    pythons("python", "(3, 8)")
    pythons("python3", "(3, 10)")
    ran = runner("install", PATH=f"{tmp_path / 'tools'}:{os.environ['PATH']}")
    assert ran.code == 0, ran.log
    environment = Path(ran.outputs["python"]).parents[1]
    assert environment.parent == tmp_path / "temp"
    asked = [line for line in (tmp_path / "asked").read_text(encoding="utf-8").splitlines() if " -c " not in line]
    assert asked == [f"python3 -I -m venv {environment}", f"python -I -m pip install --quiet --disable-pip-version-check {ROOT}"]


def test_the_python_that_is_asked_for_is_the_only_one_that_is_tried(
    runner: Callable[..., Ran], pythons: Callable[[str, str], Path], tmp_path: Path
) -> None:
    old = pythons("python3.9", "(3, 9)")
    ran = runner("install", {"python": str(old)})
    assert (ran.code, ran.outputs) == (1, {})
    (annotation,) = ran.commands
    assert annotation.startswith(
        f"::error title=shapelog::shapelog needs Python 3.10 or later, and {old} is none: run actions/setup-python"
    )
    assert runner("install", {"python": str(pythons("python3.14", "(3, 14)"))}).code == 0


def test_nothing_of_the_input_python_is_executed(runner: Callable[..., Ran], tmp_path: Path) -> None:
    ran = runner("install", {"python": HOSTILE})
    assert ran.code == 1
    assert len(ran.commands) == 1
    assert not list(tmp_path.rglob("hacked"))
