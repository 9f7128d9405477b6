"""An id that is not in a log is not shown as if PyTorch had written it."""

import re
from pathlib import Path

from shapelog import load
from shapelog.report.explain_compile import explain_compile
from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.html.render import render as render_page
from shapelog.reporters.json.report import report_data
from shapelog.reporters.terminal.explain import render_explanation
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


RECOMPILED = (
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG] Recompiling function step in /srv/train.py:10\n"
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG]     triggered by the following guard failure(s):\n"
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG]     - L['n'] == {}\n"
)


def test_a_page_numbers_the_compiles_of_each_function_where_the_log_has_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(OLD + RECOMPILED.format(3) + RECOMPILED.format(4), encoding="utf-8")
    report = analyze(load(path), debug=True)
    shown = re.sub(r"<script.*?</script>|<[^>]*>", " ", render_page(report, Options()).decode(), flags=re.S)
    assert re.findall(r"\b\d+/\d+\b", shown) == []
    assert {"no. 1", "no. 2", "no. 3", "no. 65"} <= set(re.findall(r"no\. \d+", shown))
    (first, *_) = report_data(report)["recompiles"]
    assert not first["has_id"]
    story = render_explanation(explain_compile(load(path), "1/2"), Options()).decode()
    assert "no. 3 (the log has no id; 1/2 in commands)" in story
    assert "no. 2: L['n'] == 4" in story


def test_an_id_that_the_reasons_have_is_shown(tmp_path: Path) -> None:
    shown, _ = texts(f"Recompiling function f in /srv/a.py:4\n    triggered by the following guard failure(s):\n    - {REASON}\n", tmp_path)
    assert "compile 0/1" in shown
