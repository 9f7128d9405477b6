"""What several tests need: golden files, and shapelog run as a program of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from recorded import RECORDED

import shapelog

pytest_plugins = ["pytester"]

GOLDEN = Path(__file__).parent / "golden"
Golden = Callable[[str, bytes], None]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

# The recorded traces that only slow tests are run with.
OTHERS = frozenset(name for number, name in enumerate(RECORDED) if number % 6)
# A busy machine is no fault of what is tested.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Interrupts reach the programs that tests start also where the tests run in the background of a shell, which ignores them.

    Without the slow tests, those for most recorded traces are not collected at all.
    """
    if "not slow" in config.option.markexpr:
        RECORDED[:] = [name for name in RECORDED if name not in OTHERS]
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew from what shapelog puts out now")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is tested with every recorded trace is tested with each sixth one; with all of them among the slow tests."""
    for item in items:
        values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        if any(isinstance(value, str) and value in OTHERS for value in values):
            item.add_marker(pytest.mark.slow)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The id of a made trace is the name of its argument, not its bytes."""
    return argname if isinstance(val, bytes) and len(val) > 200 else None


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares an output with the file of that name in tests/golden/."""

    def check(name: str, output: bytes) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(output)
        assert output.decode() == path.read_text(encoding="utf-8"), f"{name} changed; if that is meant: pytest --update-golden"

    return check


@pytest.fixture
def python(tmp_path: Path) -> Process:
    """Runs Python code in another process and another directory, with the package that is tested."""

    def run(code: str, *arguments: str, stdin: bytes = b"", **environment: str) -> "subprocess.CompletedProcess[bytes]":
        where = {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1]), **environment}
        return subprocess.run([sys.executable, "-c", code, *arguments], input=stdin, capture_output=True, cwd=tmp_path, env=where)

    return run


@pytest.fixture(scope="session", autouse=True)
def _templates_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A page compiles its templates, which takes most of the time of a small one: here all pages of a process share them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs do not depend on the terminal that the tests run in."""
    for name in ("COLUMNS", "LINES", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
