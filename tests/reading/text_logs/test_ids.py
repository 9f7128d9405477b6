"""An id that is not in a log is not shown as if PyTorch had written it."""

import re
from pathlib import Path

from shapelog import load
from shapelog.agents import reading
from shapelog.report.explain_compile import explain_compile
from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.html.render import render as render_page
from shapelog.reporters.json.report import report_data
from shapelog.reporters.terminal.explain import render_explanation
from shapelog.reporters.terminal.report import render
from shapelog.tables.rows import rows_of

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
    assert "draw hit the recompile limit; all calls of it now run in eager mode" in " ".join(shown.split())
    assert "0/64" not in shown
    assert "0/64" in data


RECOMPILED = (
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG] Recompiling function step in /srv/train.py:10\n"
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG]     triggered by the following guard failure(s):\n"
    "[2023-11-06 14:54:54,011] torch._dynamo.guards.__recompiles: [DEBUG]     - L['self'].n == {}\n"
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
    assert "compared with an earlier entry" in story
    assert "an earlier entry: L['self'].n == 4" in story  # of the two, which is not in the log
    assert "no. 1: L['self'].n == 3" in render_explanation(explain_compile(load(path), "1/1"), Options()).decode()


def test_an_id_that_the_reasons_have_is_shown(tmp_path: Path) -> None:
    shown, _ = texts(f"Recompiling function f in /srv/a.py:4\n    triggered by the following guard failure(s):\n    - {REASON}\n", tmp_path)
    assert "compilation 0/1" in shown


def test_tables_number_the_compiles_of_each_function_where_the_log_has_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(RECOMPILED.format(3) + RECOMPILED.replace("step", "loss").format(4), encoding="utf-8")
    made = rows_of(analyze(load(path), debug=True), "job", str(path))
    names = [f"no. {number} of {name} (/srv/train.py:10)" for name in ("step", "loss") for number in (1, 2)]
    assert [row.compile_id for row in made["compiles"]] == names
    assert [(row.compile_id, row.nearest) for row in made["recompiles"]] == [(names[1], names[0]), (names[3], names[2])]
    assert [row.frame for row in made["frames"]] == ["step (/srv/train.py:10)", "loss (/srv/train.py:10)"]


def test_an_agent_is_shown_no_id_of_our_own_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(RECOMPILED.format(3) + RECOMPILED.format(4), encoding="utf-8")
    ids = ["no. 2 (the log has no id; 0/1 in calls of explain)", "no. 3 (the log has no id; 0/2 in calls of explain)"]
    assert reading.report(str(path)).steps[0].compilations == ids
    for number, entry, value in ((0, "no. 1", 3), (1, "an earlier entry", 4)):
        answer = reading.explain(str(path), f"0/{1 + number}")
        assert (answer.compilation, answer.compared_with, answer.reasons) == (ids[number], entry, [f"{entry}: L['self'].n == {value}"])
    assert reading.explain(str(path)).other_compilations == [ids[1]]
    (left,) = reading.suggest(str(path)).not_fixed
    assert left.compilations == ids
    assert report_data(analyze(load(path)))["next_steps"][0]["compile_ids"] == []


def test_ranks_of_a_log_without_ids_are_compared_by_function(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    ranks = [RECOMPILED.replace("[2023", f"[rank{rank}]:[2023") for rank in (0, 1)]
    path.write_text(ranks[0].format(3) + ranks[1].format(3) + ranks[1].format(4), encoding="utf-8")
    report = analyze(load(path), debug=True)
    (found,) = (item for item in report.findings if item.rule.code == "SL701")
    assert found.sentence.startswith("the ranks agree on the first 2 compilations; then rank 1 recompiled step at no. 3 because")
    assert "ending at no. 2" in render(report, Options()).decode()


def test_each_run_of_ids_has_a_first_compile_of_its_own(tmp_path: Path) -> None:
    """As after several calls of torch._dynamo.reset(), of a log that holds recompiles alone."""
    head = "V1127 00:30:36.{}000 9334 torch/_dynamo/guards.py:3508] [0/1] [__recompiles] "
    lines = ["Recompiling function f in /srv/train.py:5", "    triggered by the following guard failure(s):"]
    reasons = (
        "tensor 'x' dtype mismatch. expected Float, actual Double",
        "tensor 'x' requires_grad mismatch. expected requires_grad=0",
        "tensor 'x' rank mismatch. expected 2, actual 3",
    )
    log = "\n".join(head.format(300 + at) + line for at, reason in enumerate(reasons) for line in [*lines, f"    - 0/0: {reason}"])
    shown, _ = texts(log + "\n", tmp_path)
    assert "Summary: 6 compilations, including 3 recompilations" in shown
    assert all(rule in shown for rule in ("SL301", "SL302", "SL107"))
    assert "never finished" not in shown
    assert "only the first guard that failed" not in shown


def test_a_run_of_ids_with_another_function_begins_with_its_first_compile(tmp_path: Path) -> None:
    """Of a log that holds recompiles alone; the first function was compiled more often than the second."""
    head = "V1127 00:30:36.{}000 9334 torch/_dynamo/guards.py:3508] [0/{}] [__recompiles] "
    below = "    triggered by the following guard failure(s):"
    log = ""
    for at, (name, number) in enumerate((("f", 1), ("f", 2), ("f", 3), ("g", 1), ("g", 2))):
        reason = f"    - 0/{number - 1}: tensor 'x' dtype mismatch. expected Float, actual Double"
        for line in (f"Recompiling function {name} in /srv/train.py:{5 if name == 'f' else 9}", below, reason):
            log += head.format(300 + at, number) + line + "\n"
    path = tmp_path / "run.txt"
    path.write_text(log, encoding="utf-8")
    report = analyze(load(path))
    frames = {item.frame.name: [compile.label for compile in item.frame.compiles] for item in report.frames}
    assert frames == {"f": ["0/0", "0/1", "0/2", "0/3"], "g": ["0/0#2", "0/1#2", "0/2#2"]}
    assert len(report.recompiles) == 5


def test_a_compile_that_failed_left_no_entry_and_one_with_an_entry_did_not_fail(tmp_path: Path) -> None:
    """So ids began again, between a failure and a recompilation in either order."""
    head = "{}1127 00:30:36.{}000 9334 torch/_dynamo/guards.py:3508] [0/{}] {}"
    recompiling = ("Recompiling function f in /srv/train.py:5", "    triggered by the following guard failure(s):")
    reason = "    - 0/0: tensor 'x' dtype mismatch. expected Float, actual Double"
    recompiled = [head.format("V", "{}", 1, f"[__recompiles] {line}") for line in (*recompiling, reason)]
    error = "torch._dynamo.exc.InternalTorchDynamoError: ValueError: no such guard"
    failed = [head.format("E", "{}", 0, line) for line in ("Error while creating guard:", "Name: ''", error)]
    path = tmp_path / "run.txt"
    lines = [line.format(at) for at, lines in ((300, recompiled), (400, failed), (500, recompiled)) for line in lines]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    frames = [[(compile.label, compile.outcome.value) for compile in frame.compiles] for frame in load(path).frames]
    assert sorted(frames) == [
        [("0/0", "compiled"), ("0/1", "compiled")],
        [("0/0#2", "failed")],
        [("0/0#3", "compiled"), ("0/1#3", "compiled")],
    ]


def test_a_compile_with_guards_is_not_the_one_that_was_refused_after_ids_began_again(tmp_path: Path) -> None:
    """With TORCH_LOGS=guards, say, as the one that was refused has no other message."""
    head = "{}1127 00:30:36.{}00000 9334 torch/_dynamo/guards.py:3508] [0/{}] {}\n"
    guards = ("TREE_GUARD_MANAGER:", "+- RootGuardManager", "| +- GLOBAL_STATE: ___check_global_state()")
    limit = ("torch._dynamo hit config.recompile_limit (2)", "   function: 'g' (/srv/train.py:9)", "   last reason: 0/1: L['k'] == 4")
    compiled = [head.format("V", "{0}", "{1}", f"[__guards] {line}") for line in guards]
    refused = [head.format("W", "{0}", "{1}", line) for line in limit]
    of_f = [line.replace("'g' (/srv/train.py:9)", "'f' (/srv/train.py:5)") for line in refused]
    first = ((compiled, 0), (compiled, 1), (compiled, 2), (of_f, 3))
    second = ((compiled, 0), (compiled, 1), (refused, 2), (refused, 3), (compiled, 0))
    log = "".join(line.format(at, number) for at, (lines, number) in enumerate((*first, *second)) for line in lines)
    path = tmp_path / "run.txt"
    path.write_text(log, encoding="utf-8")
    frames = [[(compile.label, compile.outcome.value) for compile in frame.compiles] for frame in load(path).frames]
    assert sorted(frames) == [
        [("0/0", "compiled"), ("0/1", "compiled"), ("0/2", "compiled"), ("0/3", "limit")],
        [("0/0#2", "compiled"), ("0/1#2", "compiled"), ("0/2#2", "limit"), ("0/3#2", "limit")],
        [("0/0#3", "compiled")],
    ]


def test_limits_alone_of_two_functions_with_one_id_are_of_two_runs(tmp_path: Path) -> None:
    head = "W1127 00:30:36.{0}00000 9334 torch/_dynamo/convert_frame.py:1994] [0/{0}] "
    limit = ("torch._dynamo hit config.recompile_limit ({0})", "   function: '{1}' (/srv/train.py:{0})", "   last reason: 0/2: L['k'] == 4")
    path = tmp_path / "run.txt"
    path.write_text("".join(f"{head}{line}\n".format(at, name) for at, name in ((3, "f"), (4, "g")) for line in limit), encoding="utf-8")
    frames = {frame.name: [compile.label for compile in frame.compiles] for frame in load(path).frames}
    assert frames == {"f": ["0/3"], "g": ["0/4#2"]}


HEAD = "V0925 13:34:27.040958 139966991710016 torch/_dynamo/guards.py:2609] [0/{0}] [__recompiles_verbose] "
SIZE = "tensor 'L['x']' size mismatch at index 0. expected {}, actual 4"


def of_every_entry(number: int, *reasons: str) -> str:
    """As torch 2.4 lists them: the entry that was used last comes first, and none has its id."""
    lines = [f"    guard {at} failures:\n{HEAD}    - {reason}" for at, reason in enumerate(reasons)]
    text = "".join(
        f"{HEAD}{line}\n" for line in ("Recompiling function f in /srv/a.py:4", "    triggered by the following guard failure(s):", *lines)
    )
    return text.format(number)


def test_reasons_without_ids_are_of_no_entry_in_particular(tmp_path: Path) -> None:
    shown, data = texts(of_every_entry(3, "L['n'] == 0", SIZE.format(2), SIZE.format(3)), tmp_path)
    assert "compilation 0/3" in shown
    assert "an earlier graph was compiled after" in " ".join(shown.split())  # of those for 2 and 3, whichever came second
    assert "other entries: the int n was 0" in " ".join(shown.split())
    assert not any(entry in shown for entry in ("0/0", "0/1", "0/2"))
    assert "'entry': ''" in data


def test_the_reasons_for_the_first_recompilation_are_of_the_only_entry(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(of_every_entry(1, "L['n'] == 0") + of_every_entry(2, "L['n'] == 0", SIZE.format(2)), encoding="utf-8")
    first, second = (render_explanation(explain_compile(load(path), label), Options()).decode() for label in ("0/1", "0/2"))
    page = re.sub(r"<script.*?</script>|<[^>]*>", "", render_page(analyze(load(path), debug=True), Options()).decode(), flags=re.S)
    assert page.count("compared with 0/0") == 1
    assert page.count("compared with an earlier entry") == 1
    assert "compared with 0/0" in first
    assert "0/0: L['n'] == 0" in first
    assert "compared with an earlier entry" in second
    assert "other entry: the int n was 0" in second
