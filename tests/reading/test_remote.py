"""Traces behind URLs: those of fsspec's file system in memory, and of a web server on this machine."""

import builtins
import gzip
import io
import sys
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import make
import pytest

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.reading.inputs import Choice, select
from shapelog.reading.open_trace import open_all
from shapelog.reading.trace_files import shown

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

TRACE = make.small_run()
LONG = TRACE * 1000
OLD, NEW = "dedicated_log_torch_trace_oldoldol.log", "dedicated_log_torch_trace_newnewne.log"


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/secret.log":
            self.send_error(403)
        elif self.path == "/short.log":
            self.send_response(200)
            self.send_header("Content-Length", str(len(LONG)))
            self.end_headers()
            self.wfile.write(LONG[: len(LONG) // 2])
        else:
            super().do_GET()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def refusal(url: str) -> str:
    with pytest.raises(ShapelogError) as caught:
        load(url)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_remote_file_is_read_like_one_here(memory: Any) -> None:
    memory.pipe("/jobs/a.log", TRACE)
    memory.pipe("/jobs/b.log.gz", gzip.compress(TRACE))
    for name in ("a.log", "b.log.gz"):
        trace = load(f"memory://jobs/{name}")
        assert (trace.name, len(trace.compiles)) == (name, 2)


def test_a_remote_directory_stands_for_its_newest_run(memory: Any) -> None:
    memory.pipe(f"/jobs/{OLD}", TRACE.replace(b"V1120", b"V1119"))
    memory.pipe(f"/jobs/{NEW}", TRACE)
    memory.pipe("/jobs/deeper/other.log", TRACE)
    memory.pipe("/jobs/readme.txt", b"hello")
    trace = load("memory://jobs")
    assert trace.name == NEW
    assert trace.notes[0] == f"read {NEW}, the newest run in memory://jobs"
    assert load("memory://jobs/", run=2).name == OLD


def test_a_remote_archive_is_read_like_one_here(memory: Any) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo(f"job/{NEW}")
        info.size = len(TRACE)
        archive.addfile(info, io.BytesIO(TRACE))
    memory.pipe("/jobs/a.tgz", packed.getvalue())
    assert load("memory://jobs/a.tgz").notes == (f"read {NEW}, the newest run in a.tgz",)


def test_a_remote_place_without_a_trace_is_refused(memory: Any) -> None:
    assert refusal("memory://jobs/none.log") == "memory://jobs/none.log: there is no such file or directory"
    memory.pipe("/jobs/readme.txt", b"hello")
    assert refusal("memory://jobs").startswith("memory://jobs: no trace in this directory (files are named dedicated_log")


def test_the_progress_of_a_download_is_told(memory: Any) -> None:
    memory.pipe("/a.log", TRACE * 500)
    told: list[tuple[str, int, int]] = []
    select("memory://a.log", Choice(tell=lambda *state: told.append(state)))
    size = len(TRACE) * 500
    assert size > 1 << 20
    assert told[0][:2] == ("memory://a.log", 1 << 20)
    assert told[0][2] == size
    assert told[-1] == ("memory://a.log", size, -1)


def test_a_web_server_is_read(web: str, tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(TRACE))
    trace = load(f"{web}/a.log.gz")
    assert (trace.name, len(trace.compiles), trace.problems) == ("a.log.gz", 2, ())


def test_a_directory_of_a_web_server_stands_for_its_newest_run(web: str, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    for name, day in ((OLD, b"V1119"), (NEW, b"V1120")):
        (tmp_path / "job" / name).write_bytes(TRACE.replace(b"V1120", day))
    assert load(f"{web}/job/").name == NEW
    assert load(f"{web}/job/", run="oldold").name == OLD


def test_what_tlparse_wrote_is_read_from_a_web_server_by_its_first_page(web: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_bytes(b"<html><a href='-_0_0_0/graph.txt'>graph</a></html>")
    (tmp_path / "out" / "raw.log").write_bytes(TRACE)
    for url in (f"{web}/out/", f"{web}/out/index.html"):
        trace = load(url)
        assert (trace.name, len(trace.compiles)) == ("raw.log", 2)


def test_the_length_that_a_web_server_states_is_told(web: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LONG)
    told: list[int] = []
    select(f"{web}/a.log", Choice(tell=lambda name, done, size: told.append(size)))
    assert set(told) == {len(LONG), -1}


def test_errors_of_a_web_server_are_one_line_that_names_the_place(web: str) -> None:
    assert refusal(f"{web}/none.log") == f"{web}/none.log: there is no such file or directory"
    assert refusal(f"{web}/secret.log").startswith(f"{web}/secret.log: no permission to read it (")
    assert "there is no such file" in refusal(f"{web}/none/")
    nobody = "http://127.0.0.1:9/a.log"
    assert refusal(nobody).startswith(f"{nobody}: cannot read: ")


def test_what_came_before_a_connection_broke_is_read(web: str) -> None:
    (opened,) = open_all(select(f"{web}/short.log").files)
    assert 0 < opened.size <= len(LONG) // 2
    assert LONG.startswith(opened.data[:])
    (problem,) = opened.problems
    assert (problem.code, problem.severity) == ("damaged-archive", DATA_LOSS)


def test_passwords_and_signatures_are_never_shown(web: str) -> None:
    assert shown("https://me:secret@host:80/a.log?X-Amz-Signature=abc#d") == "https://host:80/a.log"
    said = refusal(web.replace("://", "://me:hidden@") + "/none.log?token=hidden")
    assert "hidden" not in said


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert refusal("s3://bucket/a.log") == "s3://bucket/a.log: reading s3:// takes one more package: pip install s3fs"
    assert refusal("nosuch://a/b") == "nosuch://a/b: cannot read: Protocol not known: nosuch"


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **others: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *arguments, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    assert refusal("https://host/a.log") == 'https://host/a.log: reading URLs takes one more package: pip install "shapelog[remote]"'


def test_the_url_of_a_local_file_needs_no_package(tmp_path: Path) -> None:
    path = tmp_path / "with a space.log"
    path.write_bytes(TRACE)
    assert load(path.as_uri()).name == "with a space.log"
