"""The wheel holds all that the package needs, and works where no checkout is."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
import yaml

import shapelog

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist, and the wheel that is made from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def files(directory: Path) -> Iterator[str]:
    for path in directory.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(directory).as_posix()


def test_the_wheel_holds_the_package_and_the_templates_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {f"shapelog/{name}" for name in files(ROOT / "shapelog")}
    templates = {f"shapelog/templates/{name}" for name in files(ROOT / "templates")}
    assert held == package | templates


def test_the_wheel_is_marked_as_typed_and_has_the_json_schema(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
    assert "shapelog/py.typed" in held
    assert [name for name in held if name.startswith("shapelog/schema/") and name.endswith(".json")]


def test_the_sdist_holds_what_a_wheel_is_made_from_and_no_tests(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.partition("/")[0] for name in held} == {
        *("shapelog", "templates", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", ".gitignore"),
    }


def test_the_version_is_that_of_the_package(metadata: Message) -> None:
    assert metadata["Version"] == shapelog.__version__
    assert re.search(
        rf"^## \[(?:Unreleased|{re.escape(shapelog.__version__)})\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )


def test_links_and_pictures_of_the_description_lead_to_the_repository_at_this_version(metadata: Message) -> None:
    description = metadata.get_payload()
    assert isinstance(description, str)
    addresses = re.findall(r"\]\(([^)#][^)]*)\)", description) + re.findall(r'(?:src|srcset)="([^"]+)"', description)
    assert len(addresses) > 10
    for address in addresses:
        at_version = re.fullmatch(rf"https://\S+/shapelog/shapelog/(?:blob/)?v{re.escape(shapelog.__version__)}/(\S+)", address)
        assert at_version, address
        assert (ROOT / at_version[1]).exists(), address


def test_an_index_of_packages_would_take_both(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


def test_the_templates_hold_no_python_files() -> None:
    assert not [name for name in files(ROOT / "templates") if name.endswith(".py")]


def test_the_wheel_reports_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import shapelog, sys; from shapelog.cli.main import main; print(shapelog.__file__, file=sys.stderr); main()"
    command = [sys.executable, "-c", code, "report", str(ROOT / "fixtures" / "real" / "demo.log.gz")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "site") in done.stderr
    assert "MovingAverage" in done.stdout or "demo.py" in done.stdout


def test_the_release_pins_every_action_by_commit_and_asks_for_no_more_than_it_needs() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert len(used) > 4
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert workflow["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write", "attestations": "write"}
    assert "secrets." not in text
