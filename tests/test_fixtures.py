"""The fixtures are small, whole, and each of them is listed in fixtures/README.md."""

import gzip
import json
import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
LOGS = [name for name in FILES if name.startswith("text_logs/")]
TRACES = [name for name in FILES if name not in LOGS]
PACKED = [name for name in TRACES if name.endswith(".gz")]
README = (FIXTURES / "README.md").read_text(encoding="utf-8")
LOGS_README = (FIXTURES / "text_logs" / "README.md").read_text(encoding="utf-8")
RECORD = re.compile(rb"V\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S+:\d+\] \{")


def test_the_fixtures_stay_small() -> None:
    sizes = {name: (FIXTURES / name).stat().st_size for name in FILES}
    assert max(sizes.values()) < 1_000_000, max(sizes, key=sizes.__getitem__)
    assert sum(sizes.values()) < 11_600_000


def test_the_readme_names_every_fixture() -> None:
    assert [name for name in TRACES if name != "README.md" and f"`{name}`" not in README] == []


def test_the_readme_of_text_logs_names_those_that_were_recorded() -> None:
    recorded = {name.removeprefix("text_logs/") for name in LOGS if name.endswith(".gz")}
    assert set(re.findall(r"`([\d.]+/\w+\.txt\.gz)`", LOGS_README)) == recorded
    pasted = {name.removeprefix("text_logs/") for name in LOGS if "/pasted/" in name}
    assert set(re.findall(r"`(pasted/[^`]+\.txt)`", LOGS_README)) <= pasted


def test_every_fixture_that_the_readme_names_exists() -> None:
    named = re.findall(r"`((?:real|made|lab|causes|tutorial)/[^`]+\.\w+)`", README)
    assert named
    assert set(named) - set(FILES) == set()


@pytest.mark.parametrize("name", [name for name in LOGS if name.endswith(".gz")])
def test_a_packed_text_log_is_no_trace_and_packed_without_a_date(name: str) -> None:
    packed = (FIXTURES / name).read_bytes()
    assert packed[4:8] == bytes(4), "pack it with gzip -n"
    assert not RECORD.search(gzip.decompress(packed))


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_fixture_is_a_whole_trace_packed_without_a_date(name: str) -> None:
    packed = (FIXTURES / name).read_bytes()
    assert packed[4:8] == bytes(4), "pack it with gzip -n"
    assert RECORD.match(gzip.decompress(packed))


def test_every_lab_trace_has_its_truth() -> None:
    truth = json.loads((FIXTURES / "lab" / "truth.json").read_text(encoding="utf-8"))
    assert sorted(truth) == sorted(Path(name).name.removesuffix(".log.gz") for name in PACKED if name.startswith("lab/"))
