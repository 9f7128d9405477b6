"""Recompile reasons in tables, in lists of strings and on lines of their own."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.text_logs.messages.bare_reasons import reasons_in
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository

OLDER, NEWER = (f"0/{entry}: tensor 'x' size mismatch at index 0. expected {size}, actual 13" for entry, size in ((0, 5), (1, 8)))


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (f"| 0/2 | | `{NEWER}` <br> `{OLDER}` |", ("0/2", (NEWER, OLDER))),
        (f"| [0/2_1] | {NEWER} |", ("0/2", (NEWER,))),
        (f"0/2\t\t{NEWER}", ("0/2", (NEWER,))),
        (f"| forward | {NEWER} |", ("", (NEWER,))),
        (f"| `[0/2]` | 21:47:29 | `{NEWER[5:]}` | another prompt |", ("0/2", (NEWER[5:],))),
        ("| 0/2 | 0/1: self.mode == 'a' |", ("0/2", ("0/1: self.mode == 'a'",))),
        (NEWER, ("", (NEWER,))),
        (f"[0/2] {NEWER}", ("0/2", (NEWER,))),
        (f"- `[0/2_1]` {NEWER}", ("0/2", (NEWER,))),
        (f"0/2 -> {NEWER}", ("0/2", (NEWER,))),
        (f"Recompile reason for 0/2: {NEWER}", ("0/2", (NEWER,))),
        (f"step 1/2: {OLDER}", ("", (OLDER,))),
        (f"It recompiles with the reason: `{NEWER}`.", ("", (NEWER,))),
        ("- 0/1: self.k == 'a: 1/2: b'", ("", ("0/1: self.k == 'a: 1/2: b'",))),
        ("reason: 0/1: self.k == 3", ("", ("0/1: self.k == 3",))),
        ("guard failure: 0/1: self.mode == 'a'", ("", ("0/1: self.mode == 'a'",))),
        (f"Guard fail: {NEWER[5:]}, which is odd", ("", (NEWER[5:],))),
    ],
)
def test_a_line_has_the_compile_and_its_reasons(line: str, row: tuple[str, tuple[str, ...]]) -> None:
    found = reasons_in(line)
    assert found is not None
    assert (found.compile, found.reasons) == row


@pytest.mark.parametrize(
    "line",
    [
        "| 0/2 | 0/1: done |",
        "Epoch: 1/10: loss is None",
        "Epoch: 1/10: loss == 2",
        "Why: tensor 'x' size mismatch at index 0",
        f"I see {NEWER[5:]}",
        "[0/2] 0/1: done",
    ],
)
def test_another_line_has_none(line: str) -> None:
    assert reasons_in(line) is None


def test_each_row_is_a_recompilation(tmp_path: Path) -> None:
    first = "0/0: tensor 'x' size mismatch at index 0. expected 5, actual 8"
    text = f"Id | Reason\n---|---\n0/0 |\n0/1 | {first}\n0/2 | {NEWER}<br>{OLDER}\n"
    assert [(item.compile.label, len(item.compile.reasons)) for item in report_of(text, tmp_path).explained.recompiles] == [
        ("0/1", 1),
        ("0/2", 2),
    ]


@pytest.mark.parametrize("text", [f"- {NEWER}\n- {OLDER}\n", f'[\n  "{NEWER}",\n  "{OLDER}"\n]\n', f"{NEWER}\n{OLDER}\n"])
def test_reasons_about_older_and_older_entries_are_of_one_recompilation(text: str, tmp_path: Path) -> None:
    (item,) = report_of(f"It shows:\n{text}Why?\n", tmp_path).explained.recompiles
    assert (item.compile.label, len(item.compile.reasons)) == ("0/2", 2)


@pytest.mark.parametrize("sign", ["[0/2] ", "0/2: ", "Recompile reason for 0/2: ", "| 0/2 | "])
def test_lines_about_one_compile_are_one_recompilation(sign: str, tmp_path: Path) -> None:
    text = f"{sign}{NEWER}\n{sign}{OLDER}\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert (item.compile.label, len(item.compile.reasons)) == ("0/2", 2)


_HEAD = "V0606 12:40:37.117000 14 torch/_dynamo/guards.py:2610] [0/2] [__recompiles] "
_MESSAGE = f"{_HEAD}Recompiling function f in /srv/a.py:3\n{_HEAD}    triggered by the following guard failure(s):\n"
_MESSAGE += f"{_HEAD}    - {NEWER}  # y = x + 1  # a.py:4 in f\n{_HEAD}    - {OLDER}\n"


@pytest.mark.parametrize(
    "quoted", [f"- {NEWER}", f"{NEWER}\n{OLDER}", f"[0/2] {NEWER}", f"| 0/2 | {NEWER} |", f"Reason: {NEWER}", f"I see {NEWER[5:]}"]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_reason_that_is_quoted_from_a_message_is_no_recompilation_of_its_own(quoted: str, is_first: bool, tmp_path: Path) -> None:
    text = f"{quoted}\n\nThe log:\n\n{_MESSAGE}" if is_first else f"{_MESSAGE}\nThis is it:\n\n{quoted}\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert (item.frame.title, item.compile.label) == ("f", "0/2")


def test_a_reason_in_quotation_marks_ends_with_them(tmp_path: Path) -> None:
    text = "# It names the guard, e.g. \"tensor 'ids' stride mismatch at index 0. expected 8, actual 16\" \u2014 silent otherwise.\n"
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert item.causes[0].sentence.startswith("the stride of ids in dim 0 changed from 8 to 16")


@pytest.mark.parametrize("words", ["It recompiles: ", "guard fail: ", "**Title** "])
def test_a_reason_behind_a_heading_counts_where_the_text_has_nothing_else(words: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{words}{NEWER[5:]}, which is odd.\n", tmp_path).explained.recompiles
    assert item.causes[0].sentence == "dim 0 of x changed from 8 to 13"


@pytest.mark.parametrize("cell", ["{}", "`{}`"])
@pytest.mark.parametrize(
    ("guard", "code"),
    [
        ("tensor 'L['x']' rank mismatch. expected 4, actual 3", "SL107"),
        ("tensor 'x' dtype mismatch. expected Float, actual Long", "SL301"),
        ("L['k'] == 3            # _dynamo/output_graph.py:463 in init_ambient_guards", "SL102"),
        ("len(L['out']) == 2", "SL313"),
        ("KeyError on L['out']['top1']", "SL314"),
        ("GLOBAL_STATE changed: grad_mode", "SL305"),
    ],
)
def test_a_row_of_a_program_s_own_table_names_the_function(guard: str, code: str, cell: str, tmp_path: Path) -> None:
    first = f"| update1:first(x) | f | srv/a.py:62 | {cell.format(guard)} | 2 |\n"
    other = "| update1:first(x) | <lambda> | b.py:4 | L['t'] == 0.9 | 2 |\n"
    items = report_of(f"| call | function | site | guard | n |\n|---|---|---|---|---|\n{first}{other}", tmp_path).explained.recompiles
    assert [(item.frame.title, item.codes) for item in items] == [("f", (code,)), ("<lambda>", ("SL312",))]


@pytest.mark.parametrize("row", ["| L['k'] == 3 | EQUALS_MATCH |", "| guards | a.py:3 | L['k'] holds |", "| f | L['k'] == 3 | a.py:3 |"])
def test_a_table_of_guards_has_no_recompilations(row: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError):
        report_of(f"| guard | kind |\n|---|---|\n{row}\n", tmp_path)


@pytest.mark.parametrize(("begin", "end"), [("*", "*"), ("`", "`!"), ("*", "*\u3002"), ("(", ")"), ("\uff1a", "\u3002")])
def test_the_marks_around_a_reason_in_a_sentence_are_no_part_of_it(begin: str, end: str, tmp_path: Path) -> None:
    report = report_of(
        f"\u91cd\u65b0\uff1a{begin}tensor 'L['b'].data['x']' size mismatch at index 1. expected 67, actual 50{end}\n", tmp_path
    )
    (item,) = report.explained.recompiles
    assert item.causes[0].sentence == "dim 1 of b.data['x'] changed from 67 to 50"


@pytest.mark.parametrize("sign", ["", "# "])
@pytest.mark.parametrize(
    "reason",
    [
        "- {guard}  # {line}  # {place}",
        "[__recompiles]     - {guard}  # {line}  # {place}",
        "[__recompiles]     - {guard}  # {line}\n{place}",
        "[__recompiles]     - {guard}  # {line}\n# {place}",
    ],
)
def test_the_line_of_a_reason_whose_function_is_not_named_is_shown(reason: str, sign: str, tmp_path: Path) -> None:
    place = "srv/a.py:19 in f (_decomp/decompositions.py:781 in slice_forward)"
    text = reason.format(guard="0/0: 4 <= L['x'].size()[1]", line="y = x[:, 3:4]", place=place)
    report = report_of("\n".join(sign + line for line in text.split("\n")), tmp_path)
    (alert,) = collect_alerts(report, Repository(str(tmp_path))).alerts
    assert alert.source_line is not None
    assert (alert.source_line.file, alert.source_line.line, alert.snippet) == ("srv/a.py", 19, "y = x[:, 3:4]")


def test_a_line_of_a_library_is_not_that_of_a_function_that_is_not_named(tmp_path: Path) -> None:
    report = report_of("- 0/0: 4 <= L['x'].size()[1]  # raise  # _dynamo/output_graph.py:19 in f", tmp_path)
    (alert,) = collect_alerts(report, Repository(str(tmp_path))).alerts
    assert alert.source_line is None


def test_a_reason_behind_words_counts_where_the_log_has_warnings_alone(tmp_path: Path) -> None:
    said = "\u5177\u4f53\u4e3a\uff1a*tensor 'x' size mismatch at index 1. expected 67, actual 50*\u3002\n"
    warning = "W0921 18:31:43.172000 6084 torch/_inductor/utils.py:1250] Not enough SMs to use max_autotune_gemm mode\n"
    alone, below = report_of(said, tmp_path), report_of(warning + said, tmp_path)
    assert [item.causes[0].sentence for item in below.recompiles] == [item.causes[0].sentence for item in alone.recompiles]
    assert below.recompiles


_DUCK = "x.size()[0] == y.size()[1]  # duck sizing added this equality because these variables had the same size 4"
_FIRST_USE = (
    "2 <= x.size()[0]  # y = x + 1  # a.py:3 in f (user code shown is first use of this value--the guard itself is not due user code)"
)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("GLOBAL_STATE changed: grad_mode", "SL305"),
        ("KeyError on L['kwargs']['mask']", "SL314"),
        ("expected type of 'L['x']' to be a tensor type, ' but found <class 'NoneType'>", "SL322"),
        ("- ___check_obj_id(L['self'].processor, 140576345756128)", "SL308"),
        ("2. `___check_global_state()`", "SL307"),
        ("It recompiles because: ___check_type_id(L['self'].mixer, 157671424)", "SL310"),
        (f"- **Guard message**: `{_DUCK}`", "SL103"),
        (f"- `{_DUCK}`, which is odd", "SL103"),
        (f"  - {_FIRST_USE}", "SL104"),
    ],
)
def test_a_guard_that_failed_is_a_reason_where_the_text_has_nothing_else(line: str, code: str, tmp_path: Path) -> None:
    (item,) = report_of(f"Why does this recompile?\n{line}\nIt runs slowly.\n", tmp_path).explained.recompiles
    assert item.codes == (code,)
    (item,) = report_of(f"{_MESSAGE}\nWhy is that?\n\n{line}\n", tmp_path).explained.recompiles
    assert item.codes == ("SL101",)


@pytest.mark.parametrize(
    ("state", "code"),
    [("grad_mode", "SL305"), ("autocast(cuda)_enabled", "SL306"), ("default_dtype", "SL307")],
)
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("the limit (`last reason: ", "` \u2014 the switch) and fell\nback to eager."),
        ('after a pass:   graphs = 3      guard failure "', '"'),
        ("two entries are kept\n(guard `", "`). It is not in every step."),
        ("It recompiles (", " is the reason)."),
    ],
)
def test_the_state_that_changed_is_read_without_the_words_around_it(begin: str, end: str, state: str, code: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{begin}GLOBAL_STATE changed: {state}{end}\n", tmp_path).explained.recompiles
    assert item.codes == (code,)
    assert "switch" not in item.causes[0].sentence


@pytest.mark.parametrize("mark", ["- ", "1. `"])
@pytest.mark.parametrize(
    "guards",
    [
        ("___check_global_state()", "___check_obj_id(L['self'].mod, 123)", "L['x'].size()[0] == 4"),
        ("___check_global_state()",),
        (_DUCK, _FIRST_USE),
    ],
)
def test_guards_in_a_list_hold_where_no_words_are_about_a_failure(mark: str, guards: tuple[str, ...], tmp_path: Path) -> None:
    listed = "".join(f"{mark}{guard}\n" for guard in guards)
    with pytest.raises(ShapelogError):
        report_of(f"Guards of this function:\n{listed}All are cheap.\n", tmp_path)
    assert report_of(f"Guards of this function:\n{listed}The first one failed.\n", tmp_path).explained.recompiles


def test_guards_in_a_list_with_one_that_failed_failed_too(tmp_path: Path) -> None:
    listed = f"# - {NEWER[5:]}\n#   - ___check_global_state()\n#   - G['scale'] == 3.0      # return x * scale  # misses.py:8 in f\n"
    assert [item.codes for item in report_of(listed, tmp_path).explained.recompiles] == [("SL101",), ("SL307",), ("SL312",)]


@pytest.mark.parametrize("guard", ["___check_global_state()", "___check_obj_id(L['self'], 139)", "hasattr(L['x'], 'k') == False", _DUCK])
def test_guards_below_a_heading_may_all_hold(guard: str, tmp_path: Path) -> None:
    report = report_of(f"GUARDS:\n    {guard}\n    ___check_obj_id(L['f'], 7)\n    utils_device.CURRENT_DEVICE == None\n", tmp_path)
    assert (report.summary.compiles, report.summary.recompiles) == (1, 0)


@pytest.mark.parametrize("front", ["", "| +- ", "    | | +- "])
@pytest.mark.parametrize(
    "guard", ["GLOBAL_STATE: ___check_global_state()", "ID_MATCH: ___check_obj_id(L['self'], 139)", f"LAMBDA_GUARD: {_DUCK}"]
)
def test_guards_with_their_kinds_may_all_hold(front: str, guard: str, tmp_path: Path) -> None:
    text = f"    $ TORCH_LOGS=guards python play.py\n    TREE_GUARD_MANAGER:\n    +- RootGuardManager\n    {front}{guard}\n"
    report = report_of(text, tmp_path)
    assert (report.summary.compiles, report.summary.recompiles) == (1, 0)


@pytest.mark.parametrize("front", ["", "> ", "           "])
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("tensor 'L['x']' size mismatch at@index 0. expected 4, actual 5", "SL101"),
        ("0/0: tensor 'x' size mismatch at index 0. expected 4,@actual 5", "SL101"),
        ("tensor 'x' dispatch key set mismatch. expected@DispatchKeySet(XPU, ADInplaceOrView), actual@DispatchKeySet(XPU)", "SL303"),
    ],
)
def test_a_reason_that_is_wrapped_is_read_whole(reason: str, code: str, front: str, tmp_path: Path) -> None:
    (item,) = report_of("\n".join(front + line for line in reason.split("@")), tmp_path).explained.recompiles
    assert item.codes == (code,)
