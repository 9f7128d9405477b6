"""Traces behind URLs: in fsspec's in-memory file system, and on a local web server."""

import builtins
import gzip
import io
import os
import re
import socket
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
from packing import refusal

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.reading import inputs, trace_files
from shapelog.reading.inputs import InputOptions, select
from shapelog.reading.open_trace import open_all

fsspec = pytest.importorskip("fsspec")

TRACE = make.small_trace()
LONG = TRACE * 1000
PACKED = gzip.compress(TRACE)
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
        elif self.path == "/compressed.log":
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(gzip.compress(TRACE))
        elif self.path == "/short.log.gz":
            self.send_response(200)
            self.send_header("Content-Length", str(len(PACKED)))
            self.end_headers()
            self.wfile.write(PACKED[:-100])
        elif self.path == "/cut.log":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(TRACE), TRACE))
        elif self.path == "/reset.log":
            self.send_response(200)
            self.send_header("Content-Length", str(len(LONG)))
            self.end_headers()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            os.close(self.connection.detach())  # with a reset
        elif self.path == "/noise.log":
            self.wfile.write(b"\x01\xff" * 20_000)
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
        elif self.path == "/mine.log" and self.headers["Authorization"] != "Basic bWU6YSBiOmM=":  # me:a b:c
            self.send_error(401)
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


def test_a_remote_file_is_read_like_a_local_one(memory: Any) -> None:
    memory.pipe("/jobs/a.log", TRACE)
    memory.pipe("/jobs/b.log.gz", gzip.compress(TRACE))
    for name in ("a.log", "b.log.gz"):
        trace = load(f"memory://jobs/{name}")
        assert (trace.name, len(trace.compiles)) == (name, 2)


def test_of_a_remote_directory_the_newest_run_is_read(memory: Any) -> None:
    memory.pipe(f"/jobs/{OLD}", TRACE.replace(b"V1120", b"V1119"))
    memory.pipe(f"/jobs/{NEW}", TRACE)
    memory.pipe("/jobs/deeper/other.log", TRACE)
    memory.pipe("/jobs/readme.txt", b"hello")
    trace = load("memory://jobs")
    assert trace.name == NEW
    assert trace.notes[0] == f"read {NEW}, the newest run in memory://jobs"
    assert load("memory://jobs/", run=2).name == OLD


def test_a_remote_archive_is_read_like_a_local_one(memory: Any) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo(f"job/{NEW}")
        info.size = len(TRACE)
        archive.addfile(info, io.BytesIO(TRACE))
    memory.pipe("/jobs/a.tgz", packed.getvalue())
    assert load("memory://jobs/a.tgz").notes == (f"read {NEW}, the newest run in a.tgz",)


def test_a_remote_file_that_is_missing_or_not_a_trace_is_refused(memory: Any) -> None:
    assert refusal("memory://jobs/none.log") == "memory://jobs/none.log: no such file or directory"
    memory.pipe("/jobs/readme.txt", b"hello")
    assert refusal("memory://jobs").startswith("memory://jobs: no trace in this directory (files are named dedicated_log")


def test_a_download_reports_its_progress(memory: Any) -> None:
    memory.pipe("/a.log", TRACE * 500)
    states: list[tuple[str, int, int]] = []
    select("memory://a.log", InputOptions(progress=lambda *state: states.append(state)))
    size = len(TRACE) * 500
    assert size > 1 << 20
    assert states[0][:2] == ("memory://a.log", 1 << 20)
    assert states[0][2] == size
    assert states[-1] == ("memory://a.log", size, -1)


def test_a_file_on_a_web_server_is_read(web: str, tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(TRACE))
    trace = load(f"{web}/a.log.gz")
    assert (trace.name, len(trace.compiles), trace.problems) == ("a.log.gz", 2, ())


def test_of_a_directory_on_a_web_server_the_newest_run_is_read(web: str, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    for name, day in ((OLD, b"V1119"), (NEW, b"V1120")):
        (tmp_path / "job" / name).write_bytes(TRACE.replace(b"V1120", day))
    assert load(f"{web}/job/").name == NEW
    assert load(f"{web}/job/", run="oldold").name == OLD


def test_the_output_of_tlparse_on_a_web_server_is_read_by_the_url_of_its_page(web: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_bytes(b"<html><a href='-_0_0_0/graph.txt'>graph</a></html>")
    (tmp_path / "out" / "raw.log").write_bytes(TRACE)
    for url in (f"{web}/out/", f"{web}/out/index.html"):
        trace = load(url)
        assert (trace.name, len(trace.compiles)) == ("raw.log", 2)


def test_the_progress_of_a_download_from_a_web_server_has_its_size(web: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LONG)
    sizes: list[int] = []
    select(f"{web}/a.log", InputOptions(progress=lambda name, done, size: sizes.append(size)))
    assert set(sizes) == {len(LONG), -1}


def test_errors_of_a_web_server_are_one_line_with_the_url(web: str) -> None:
    assert refusal(f"{web}/none.log") == f"{web}/none.log: no such file or directory"
    assert refusal(f"{web}/secret.log").startswith(f"{web}/secret.log: no permission to read it (")
    assert "no such file" in refusal(f"{web}/none/")
    closed_port = "http://127.0.0.1:9/a.log"
    assert refusal(closed_port).startswith(f"{closed_port}: cannot read: ")


@pytest.mark.parametrize(
    ("name", "sent", "message"),
    [
        ("short.log", len(LONG) // 2, f"only {len(LONG) // 2:,} of {len(LONG):,} bytes were received"),
        ("cut.log", len(TRACE), "the connection ended early (IncompleteRead(0 bytes read))"),
    ],
)
def test_what_was_received_before_the_connection_broke_is_read(web: str, name: str, sent: int, message: str) -> None:
    (opened,) = open_all(select(f"{web}/{name}").files)
    assert bytes(opened.data[:]) == LONG[:sent]
    (problem,) = opened.problems
    assert (problem.code, problem.message, problem.severity) == ("damaged-archive", message, DATA_LOSS)


def test_what_was_received_of_a_compressed_file_is_read(web: str) -> None:
    (opened,) = open_all(select(f"{web}/short.log.gz").files)
    assert len(opened.data) > len(TRACE) // 2
    assert TRACE.startswith(opened.data[:])
    assert [problem.message for problem in opened.problems] == [f"only {len(PACKED) - 100:,} of {len(PACKED):,} bytes were received"]


def test_a_connection_that_is_reset_is_an_error_of_one_line(web: str) -> None:
    assert refusal(f"{web}/reset.log") == f"{web}/reset.log: cannot read: [Errno 104] Connection reset by peer"


def test_an_answer_in_another_protocol_is_not_repeated(web: str) -> None:
    assert refusal(f"{web}/noise.log") == f"{web}/noise.log: cannot read: its answer is not HTTP"


def test_a_response_that_is_compressed_is_read(web: str) -> None:
    assert len(load(f"{web}/compressed.log").compiles) == 2


def test_a_server_that_accepts_and_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name in ("a.log", "traces/"):
            url = f"http://127.0.0.1:{server.getsockname()[1]}/{name}"
            with pytest.raises(ShapelogError) as caught:
                load(url, timeout=0.01)
            assert str(caught.value) == f"{url}: cannot read: the server is not responding; wait longer with --timeout SECONDS"


@pytest.mark.parametrize(
    "url", ["http://[::1/a.log", "http://h:x/a.log", "http://127.0.0.1:99999/a.log", "http://", "http:///a", "https://h\x00/a"]
)
def test_an_invalid_address_is_refused_in_one_line(url: str) -> None:
    assert refusal(url).startswith(f"{url}: cannot read: ")


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a.log", "data:text/plain,x", "/to//to/"])
def test_a_redirect_leads_to_web_servers_alone(web: str, target: str) -> None:
    assert refusal(f"{web}/to/{target}").startswith(f"{web}/to/{target}: cannot read: ")


def test_links_of_a_directory_that_lead_elsewhere_are_left_out(web: str, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / NEW).write_bytes(TRACE)
    elsewhere = (
        "//127.0.0.1:9/{}",
        "http://127.0.0.1:9/{}",
        "/{}",
        "../{}",
        "file:///job/{}",
        "deeper/{}",
        "javascript:{}",
        "http://[::1/{}",
        "",
    )
    links = [link.format(OLD) for link in elsewhere]
    (tmp_path / "job" / "index.html").write_text("".join(f'<a href="{link}">x</a>' for link in (*links, NEW, f"{web}/job/{NEW}#top")))
    assert load(f"{web}/job/").notes == (f"read {NEW}, the newest run in {web}/job/",)


@pytest.mark.parametrize("place", [3, 7])
def test_of_any_number_of_text_files_on_a_web_server_only_the_first_are_opened(
    web: str, tmp_path: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MOST_OPENED_REMOTELY", 5)
    monkeypatch.setattr(inputs, "MOST_OPENED_REMOTELY", 5)
    (tmp_path / "job").mkdir()
    for number in range(9):
        (tmp_path / "job" / f"{number}.txt").write_bytes(TRACE if number == place else b"nothing\n")
    note = f"only the first 5 of 9 text files in {web}/job/ were searched for output of the compiler"
    if place == 3:
        assert note in load(f"{web}/job/").notes
    else:
        with pytest.raises(ShapelogError, match=re.escape(f"{note}, and none has any; pass one of them by its own URL")):
            load(f"{web}/job/")


def test_a_password_is_sent_to_its_server_and_after_a_redirect_no_more(web: str, tmp_path: Path) -> None:
    (tmp_path / "mine.log").write_bytes(TRACE)
    address = web.replace("://", "://me:a%20b:c@")
    assert len(load(f"{address}/mine.log").compiles) == 2
    assert "no permission to read it" in refusal(f"{address}/to//mine.log")


def test_passwords_and_signatures_are_never_shown(web: str) -> None:
    assert "hidden" not in refusal(web.replace("://", "://me:hidden@") + "/none.log?token=hidden")


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert refusal("s3://bucket/a.log") == "s3://bucket/a.log: s3:// requires an extra package: pip install s3fs"
    assert refusal("nosuch://a/b") == "nosuch://a/b: cannot read: Protocol not known: nosuch"


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **others: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *arguments, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    assert refusal("s3://host/a.log") == 's3://host/a.log: such URLs require an extra package: pip install "shapelog[remote]"'


def test_the_url_of_a_local_file_needs_no_package(tmp_path: Path) -> None:
    path = tmp_path / "with a space.log"
    path.write_bytes(TRACE)
    assert load(path.as_uri()).name == "with a space.log"
