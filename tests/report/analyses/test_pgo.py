"""What did PGO know before the run and after it?"""

import json

import make
import pytest
from payload_text import equals_match, guard_tree, tensor_match
from recorded import report_of

from shapelog.report.analyses.pgo import analyze
from shapelog.report.results import Table
from shapelog.reporters import Options, renderer

HEAD = "hash(00000000)/srv/app/model.py:5:f:"


def state(*lines: str, head: str = HEAD, suggestion: str = "") -> str:
    closing = f'PGO detected a recompilation due to dynamic shapes. Set TORCH_COMPILE_DYNAMIC_SOURCES="{suggestion}"'
    return "\n".join([head, *(f"  {line}" for line in lines)]) + (f"\n\n{closing}" if suggestion else "")


def pgo_table(made: bytes) -> Table:
    (table,) = (item for item in analyze(make.explain(made)) if isinstance(item, Table))
    return table


def put(*lines: str, **more: str) -> Table:
    """The table of a cold run of one compile that wrote a state."""
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    made += make.artifact("put_local_code_state", state(*lines, **more), id="0/0")
    return pgo_table(made)


def words(table: Table) -> list[tuple[object, ...]]:
    return [row[2:] for row in table.rows]


def test_a_size_that_became_dynamic() -> None:
    table = put("L['x']: tensor size=[?, 8] stride=[S(1), 1]", suggestion="L['x']")
    assert table.name == "pgo"
    assert [column.name for column in table.columns] == ["frame", "where", "source", "state", "when"]
    assert table.rows == (("f", "model.py:5", "x", "dim 0 dynamic in [?, 8]", "written"),)
    assert table.note == (
        "cold run: no state was read at the start; one was written to local storage; "
        "PyTorch suggests TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']\""
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("L['x']: tensor size=[?, 8, ?] stride=[S(1), 1, 1]", "dims 0, 2 dynamic in [?, 8, ?]"),
        ("L['x']: tensor size=[?, 8] stride=[?, 1]", "dim 0 dynamic in [?, 8], stride 0 varied"),
        ("L['x']: tensor size=[4, 8] stride=[?, ?]", "strides 0, 1 varied at sizes [4, 8]"),
        ("L['x']: fully dynamic scalar or tensor", "rank changed"),
        ("L['k']: fully dynamic scalar or tensor", "int or float varied, or the rank changed"),
    ],
)
def test_the_state_of_a_source_in_words(line: str, expected: str) -> None:
    assert [row[3] for row in put(line).rows] == [expected]


def test_what_never_varied_is_left_out() -> None:
    table = put("L['x']: tensor size=[10, 8] stride=[8, 1]", "L['k']: scalar 3", "L['u']: unusual {repr(self)}")
    assert table.rows == ()
    assert "nothing that varied" in table.note
    assert "suggests" not in table.note


def test_a_dim_that_the_program_marked() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8, dynamo_dynamic_indices=[0])))
    made += make.artifact("put_local_code_state", state("L['x']: tensor size=[?, 8] stride=[S(1), 1]"), id="0/0")
    assert words(pgo_table(made)) == [("x", "dim 0 dynamic in [?, 8], marked by the program", "written")]


def test_a_number_that_varied_is_distinguished_from_a_rank() -> None:
    symbols = (("s0", "4", "L['k']"), ("zf0", "2.5", "L['s']"), ("s1", "4", "L['both']"))
    made = make.trace(make.compile("0/0", make.tensor(10, 8), make.tensor(10, 8, source="L['both']"), symbols=symbols))
    lines = [f"L['{name}']: fully dynamic scalar or tensor" for name in ("k", "s", "x", "both", "unseen")]
    made += make.artifact("put_local_code_state", state(*lines), id="0/0")
    expected = [
        "int varied",
        "float varied",
        "rank changed",
        "sometimes a tensor, sometimes a number",
        "int or float varied, or the rank changed",
    ]
    assert [row[3] for row in pgo_table(made).rows] == expected


def test_a_number_that_stays_a_constant_is_known_from_its_guard() -> None:
    guards = guard_tree(tensor_match(), equals_match("L['self'].k", 3), equals_match("L['self'].p", 0.5, type="float"))
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards=guards))
    lines = [f"L['self'].{name}: fully dynamic scalar or tensor" for name in "kp"]
    made += make.artifact("get_local_code_state", state(*lines), id="0/0")
    assert [row[3] for row in pgo_table(made).rows] == ["int varied", "float varied"]


def test_what_was_known_at_the_start_and_what_came_anew() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    before = ("L['x']: tensor size=[?, 8] stride=[S(1), 1]", "L['y']: tensor size=[?, 8] stride=[S(1), 1]", "L['k']: scalar 3")
    after = (before[0], "L['y']: tensor size=[?, ?] stride=[S(1), 1]", "L['k']: fully dynamic scalar or tensor")
    made += make.artifact("get_local_code_state", state(*before), id="0/0")
    made += make.artifact("put_local_code_state", state(*after), id="0/0")
    made += make.artifact("put_remote_code_state", state(*after), id="0/0")
    table = pgo_table(made)
    assert words(table) == [
        ("x", "dim 0 dynamic in [?, 8]", "read at start"),
        ("y", "dims 0, 1 dynamic in [?, ?]; at the start: dim 0 dynamic in [?, 8]", "written"),
        ("k", "int or float varied, or the rank changed", "written"),
    ]
    assert table.note == "warm run: a state was read from local storage at the start, and written again to local and remote storage"


def test_a_closure_that_pytorch_did_not_recognize_learns_again() -> None:
    known, new = (f"  L['x']: tensor size=[{size}] stride=[S(1), 1]" for size in ("?, 8", "?, ?"))
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    made += make.artifact("get_local_code_state", f"{HEAD}\n{known}", id="0/0")
    made += make.artifact("put_local_code_state", f"{HEAD}\n{known}\n{HEAD}\n{known}\n{HEAD}\n{new}", id="0/0")
    table = pgo_table(made)
    assert words(table) == [("x", "dim 0 dynamic in [?, 8]", "read, learned again"), ("x", "dims 0, 1 dynamic in [?, ?]", "written")]
    assert "closures that PyTorch did not match with those of the profile" in table.note


def test_code_of_an_earlier_run_comes_last_and_is_shown() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    line = "L['x']: tensor size=[?, 8] stride=[S(1), 1]"
    both = state(line, head="hash(11111111)/srv/app/old.py:30:g:") + "\n" + state(line)
    made += make.artifact("get_local_code_state", both, id="0/0")
    assert [row[:2] for row in pgo_table(made).rows] == [("f", "model.py:5"), ("g (not in this run)", "old.py:30")]


def test_code_that_was_copied_to_another_directory_is_known() -> None:
    table = put("L['x']: tensor size=[?, 8] stride=[S(1), 1]", head="hash(00000000)/mnt/job/model.py:5:f:")
    assert [row[:2] for row in table.rows] == [("f", "model.py:5")]


def test_lines_that_cannot_be_read_are_shown() -> None:
    assert "2 lines of the state could not be read" in put("L['x']: of a new kind", "L['y']: scalar 1 2").note


def test_a_run_without_pgo_is_not_shown() -> None:
    assert list(analyze(make.explain(make.trace(make.compile("0/0", make.tensor(10, 8)))))) == []
    assert report_of("lab/batch_varies.log.gz").table("pgo") is None


def test_several_processes_are_one_table() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    lines = ("L['x']: tensor size=[?, 8] stride=[S(1), 1]", "L['k']: fully dynamic scalar or tensor")
    made += make.artifact("put_local_code_state", state(*lines), id="0/0")
    made += make.compile("0/0", make.tensor(10, 8), process=77)
    made += make.artifact("get_local_code_state", state(lines[0]), id="0/0", process=77)
    table = pgo_table(made)
    assert table.columns[-1].name == "processes"
    assert [row[2:] for row in table.rows] == [
        ("x", "dim 0 dynamic in [?, 8]", "written", "4242"),
        ("k", "int or float varied, or the rank changed", "written", "4242"),
        ("x", "dim 0 dynamic in [?, 8]", "read at start", "77"),
    ]
    assert table.note.startswith("process 4242: cold run")
    assert "process 77: warm run" in table.note


def test_processes_that_agree_are_shown_once() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    made += make.artifact("put_local_code_state", state("L['x']: tensor size=[?, 8] stride=[S(1), 1]", suggestion="L['x']"), id="0/0")
    made += made.replace(b" 4242 torch", b" 77 torch")
    table = pgo_table(made)
    assert [row[-1] for row in table.rows] == ["all"]
    assert table.note.count("cold run") == table.note.count("PyTorch suggests") == 1
    assert "process" not in table.note


@pytest.mark.parametrize("name", ["real/2.6/k_pgo_cold.log.gz", "real/2.6/k_pgo_warm.log.gz", "real/2.15/k_pgo_warm.log.gz"])
def test_a_real_program_in_several_versions(name: str) -> None:
    table = report_of(name).table("pgo")
    assert table is not None
    when = "written" if "cold" in name else "read at start"
    assert {row[1:] for row in table.rows} == {
        ("k_pgo.py:8", "x", "dim 0 dynamic in [?]", when),
        ("k_pgo.py:8", "m", "int varied", when),
        ("k_pgo.py:6", "x", "dim 0 dynamic in [?, 8]", when),
        ("k_pgo.py:6", "s", "float varied", when),
        ("k_pgo.py:6", "self.k", "int varied", when),
        ("k_pgo.py:17", "x", "rank changed", when),
    }
    assert ("PyTorch suggests" in table.note) is ("2.15" in name)


def test_a_profile_from_another_job_is_shown_with_its_storage() -> None:
    table = report_of("real/2.13/pgo_remote.log.gz").table("pgo")
    assert table is not None
    assert "read from extra remote storage" in table.note
    assert "written again to local and remote storage" in table.note
    assert ("features['a: scalar 3']", "dim 0 dynamic in [?, 3]", "read at start") in words(table)
    assert ("by", "sometimes a tensor, sometimes a number", "read, learned again") in words(table)


def test_a_healthy_program_has_a_note_and_no_rows() -> None:
    report = report_of("real/2.13/no_recompiles.pgo_warm.log.gz")
    shown = renderer("report", "terminal")(report, Options(width=100, verbose=True)).decode()
    section = shown.partition("What PGO knew\n")[2].partition("\n\n")[0]
    assert section.startswith("  warm run: a state was read")
    assert "when" not in section


def test_pytorchs_suggestion_is_in_the_json_as_written_and_whole_with_verbose() -> None:
    sources = ",".join(f"L['batch']['feature_{number}']" for number in range(200))
    made = make.trace(make.compile("0/0", make.tensor(10, 8)))
    made += make.artifact("put_local_code_state", state("L['x']: tensor size=[?, 8] stride=[S(1), 1]", suggestion=sources), id="0/0")
    report = make.report(made)
    (table,) = (item for item in json.loads(renderer("report", "json")(report, Options()))["tables"] if item["name"] == "pgo")
    assert table["note"].endswith(f'TORCH_COMPILE_DYNAMIC_SOURCES="{sources}"')
    whole = renderer("report", "terminal")(report, Options(width=80, verbose=True)).decode()
    assert sources in whole.replace("\n    ", "")
