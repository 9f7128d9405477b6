"""The wheel holds all that the package needs, and works where no checkout is."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return path


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
