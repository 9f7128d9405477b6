"""Runs commands of shapelog in the tests, and the traces that most of them use."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from shapelog.cli.main import cli

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
FIXTURES = Path(__file__).parents[1] / "fixtures"
DEMO = str(FIXTURES / "real" / "demo.log.gz")
MARKED = str(FIXTURES / "real" / "demo_marked.log.gz")
SMALL = str(FIXTURES / "real" / "2.15" / "a_auto.log.gz")
MAIN = "from shapelog.cli.main import main; main()"


def call(*arguments: str, stdin: bytes | None = None, **environment: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin, env=environment, catch_exceptions=False)


def refusal(*arguments: str) -> str:
    """The one line on stderr that a refused request ends with."""
    done = call(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("shapelog: ")
    assert done.stderr.count("\n") == 1
    return done.stderr
