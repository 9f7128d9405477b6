"""``shapelog extract``."""

import json
import re
from pathlib import Path

import make
import pytest
from command_line import DEMO, SMALL, call, refusal
from json_schemas import faults


def test_extract_writes_files_and_both_indexes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("extract", SMALL, "-o", str(out))
    assert (done.exit_code, done.stderr) == (0, "")
    index = json.loads((out / "index.json").read_bytes())
    assert not faults("extraction", index)
    listed = {file["path"] for item in index["processes"] for compile in item["compiles"] for file in compile["files"]}
    listed |= {file["path"] for item in index["processes"] for file in item["outside"]}
    written = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert written == listed | {"index.html", "index.json"}
    assert index["is_complete"] is True
    assert f"{len(listed)} files" in done.stdout


def test_the_page_links_to_every_file_and_has_no_script(tmp_path: Path) -> None:
    call("extract", DEMO, "-o", str(tmp_path))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', page)
    assert all((tmp_path / link).is_file() for link in links)
    assert len(links) == len(set(links)) == sum(path.is_file() for path in tmp_path.rglob("*")) - 1
    assert "<script" not in page
    assert "default-src 'none'; style-src 'sha256-" in page.replace("&#39;", "'")


def test_a_name_from_the_trace_is_text_on_the_page(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>\u202e"
    (tmp_path / make.NAME).write_bytes(make.trace(make.compile("0/0", make.tensor(2), name=name), make.artifact(name, "x", id="0/0")))
    assert call("extract", str(tmp_path / make.NAME), "-o", str(tmp_path / "out")).exit_code == 0
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;\\u202e" in page


def test_an_extraction_can_be_replaced_and_nothing_else(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    call("extract", SMALL, "-o", out)
    assert "not empty" in refusal("extract", SMALL, "-o", out)
    done = call("extract", SMALL, "-o", out, "--overwrite", "--kind", "graph", "--compile", "0/1")
    assert done.exit_code == 0
    assert {path.name for path in (tmp_path / "out").rglob("*")} == {"index.html", "index.json", "0_1", "graph.py"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--compile", "7/7"), "no compilation 7/7; ids: 0/0 0/1"),
        (("--compile", "x"), "--compile 'x' is not a compile id"),
        (("--kind", "nothing"), "no payload of kind nothing"),
        (("--rank", "3"), "no rank 3; the trace has no ranks"),
    ],
)
def test_what_is_not_there_is_refused_and_leaves_nothing_behind(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refusal("extract", SMALL, "-o", str(tmp_path / "out"), *arguments)
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_a_cut_trace_is_extracted_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / make.NAME).write_bytes(make.small_trace()[:-200])
    done = call("extract", str(tmp_path / make.NAME), "-o", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "Incomplete or missing" in done.stdout
    assert not faults("extraction", json.loads((tmp_path / "out" / "index.json").read_bytes()))
    assert call("extract", str(tmp_path / make.NAME), "-o", str(tmp_path / "strict"), "--strict").exit_code == 2


def test_the_index_goes_to_standard_output_as_json(tmp_path: Path) -> None:
    done = call("extract", SMALL, "-o", str(tmp_path / "out"), "--format", "json")
    assert done.stdout_bytes == (tmp_path / "out" / "index.json").read_bytes()
