"""Names of jobs: safe as names of folders, always the same for a source, and different for two."""

import re

import pytest

from shapelog.tables.names import job_name

HOSTILE = [
    "/",
    "",
    ".",
    "..",
    "/traces/..",
    "/traces/a=b/c",
    "/traces/rank=3",
    "/traces/a%2Fb",
    "/traces/\x1b[31mred",
    "/traces/line\nend",
    "/traces/\udcff",
    "/traces/" + "x" * 400,
    "/traces/__HIVE_DEFAULT_PARTITION__",
    "/traces/2026-11-23",
    "/traces/0123",
    "/traces/Größe",
    "/traces/-rf",
    "/traces/'; DROP TABLE jobs; --",
    "C:\\traces\\con",
    "s3://bucket/jobs/../../x",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_a_name_is_safe_as_that_of_a_folder_and_no_number(source: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,80}", job_name(source))


def test_no_two_sources_have_the_same_name() -> None:
    sources = [*HOSTILE, "/a/nightly", "/b/nightly", "/b/night-ly", "s3://b/nightly", "gs://b/nightly"]
    assert len({job_name(source) for source in sources}) == len(sources) - 2  # "", "." are both this directory, "/traces/.." is "/"


def test_a_name_is_the_last_part_of_a_path_that_means_something() -> None:
    assert job_name("/traces/nightly").startswith("nightly-")
    assert job_name("/traces/nightly/dedicated_log_torch_trace_abcdefgh.log").startswith("nightly-")
    assert job_name("/traces/nightly/dedicated_log_torch_trace_rank_0_abcdefgh.log.gz").startswith("nightly-")
    assert job_name("/traces/tl_out/raw.log").startswith("tl_out-")
    assert job_name("s3://bucket/nightly/").startswith("nightly-")


def test_a_source_has_one_name_however_it_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert job_name("runs/a") == job_name(f"{tmp_path}/runs/a/") == job_name("./runs/../runs/a")


def test_secrets_in_a_url_are_not_part_of_a_name() -> None:
    assert job_name("https://u:secret@h/run?sig=1") == job_name("https://u:other@h/run?sig=2")
