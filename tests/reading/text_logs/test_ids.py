"""An id that is not in a log is not shown as if PyTorch had written it."""

from pathlib import Path

from shapelog import load
from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.json.report import report_data
from shapelog.reporters.terminal.report import render

OLD = (
    "[2023-03-28 10:14:51,227] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit config.cache_size_limit (64)\n"
    "   function: 'draw' (/srv/backend.py:212)\n   reasons:  d == 2.0\n"
)
REASON = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20"


def texts(log: str, folder: Path) -> tuple[str, str]:
    """The report in a terminal, and as JSON."""
    path = folder / "run.txt"
    path.write_text(log, encoding="utf-8")
    report = analyze(load(path), debug=True)
    return render(report, Options()).decode(), str(report_data(report))


def test_an_id_of_our_own_is_in_json_alone(tmp_path: Path) -> None:
    shown, data = texts(OLD, tmp_path)
    assert "draw hit the recompile limit; any call" in shown
    assert "0/64" not in shown
    assert "0/64" in data


def test_an_id_that_the_reasons_have_is_shown(tmp_path: Path) -> None:
    shown, _ = texts(f"Recompiling function f in /srv/a.py:4\n    triggered by the following guard failure(s):\n    - {REASON}\n", tmp_path)
    assert "compile 0/1" in shown
