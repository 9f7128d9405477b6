"""Files of a trace are found in the repository, whatever directory they were recorded in, and nothing outside of it is taken for one."""

from pathlib import Path

import pytest

from shapelog.report.repository_paths import Repository, SourceLine


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for name in ("app/model.py", "model.py", "lib/app/model.py", "train.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def placed(repository: Repository, file: str) -> tuple[str, bool]:
    source_line = repository.source_line(file, 3)
    assert source_line is not None
    assert source_line.line == 3
    return source_line.file, source_line.is_inside


def test_a_file_below_the_root_is_named_from_there_whether_it_exists_or_not(repo: Path) -> None:
    repository = Repository(str(repo))
    assert placed(repository, f"{repo}/app/model.py") == ("app/model.py", True)
    assert placed(repository, f"{repo}/generated/later.py") == ("generated/later.py", True)
    assert placed(repository, f"{repo}/app/../train.py") == ("train.py", True)


def test_a_root_that_is_a_link_has_the_files_of_either_name(repo: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repo)
    for root in (repo, link):
        for file in (f"{link}/new.py", f"{repo}/new.py"):
            if root == link or str(repo) in file:
                assert placed(Repository(str(root)), file) == ("new.py", True)
    assert placed(Repository(str(repo)), f"{link}/train.py") == ("train.py", True)


def test_the_root_may_be_relative(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)
    assert placed(Repository(), f"{repo}/app/model.py") == ("app/model.py", True)
    assert placed(Repository("app"), f"{repo}/app/model.py") == ("model.py", True)


def test_of_a_path_from_elsewhere_the_longest_end_that_is_there_counts(repo: Path) -> None:
    repository = Repository(str(repo))
    assert placed(repository, "/home/runner/lib/app/model.py") == ("lib/app/model.py", True)
    assert placed(repository, "/home/runner/app/model.py") == ("app/model.py", True)
    assert placed(repository, "/home/runner/other/model.py") == ("model.py", True)
    assert placed(repository, "/home/runner/app/loss.py") == ("/home/runner/app/loss.py", False)
    assert placed(repository, "/home/runner//app//model.py") == ("app/model.py", True)


def test_a_path_without_end_is_searched_only_so_far(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr("os.path.isfile", lambda path: bool(tried.append(path)))
    assert placed(Repository(str(repo)), "/a" * 5000) == ("/a" * 5000, False)
    assert len(tried) < 100


def test_paths_of_windows_get_slashes(repo: Path) -> None:
    repository = Repository(str(repo), (r"D:\build\repo",))
    assert placed(repository, r"C:\Users\me\app\model.py") == ("app/model.py", True)
    assert placed(repository, r"C:\Users\me\loss.py") == ("C:/Users/me/loss.py", False)
    assert placed(repository, r"D:\build\repo\new\loss.py") == ("new/loss.py", True)
    assert placed(repository, r"\\server\share\train.py") == ("train.py", True)
    assert placed(repository, r"app\model.py") == ("app/model.py", True)


@pytest.mark.parametrize("prefix", ["/srv/build", "/srv/build/"])
def test_a_prefix_is_taken_off_with_or_without_its_slash(prefix: str) -> None:
    repository = Repository("nowhere", ("/other", prefix))
    assert placed(repository, "/srv/build/app/model.py") == ("app/model.py", True)
    assert placed(repository, "/srv/builder/app/model.py") == ("/srv/builder/app/model.py", False)
    assert placed(repository, "/other/x.py") == ("x.py", True)


@pytest.mark.parametrize(
    "file", ["/srv/build/../../etc/passwd", "/srv/build/..", "/srv/build//etc/passwd", "../etc/passwd", "a/../../b.py"]
)
def test_no_path_leads_out_of_the_repository(file: str) -> None:
    name, is_inside = placed(Repository("nowhere", ("/srv/build",)), file)
    assert not is_inside
    assert name == file


def test_nor_does_one_that_begins_with_the_root(repo: Path) -> None:
    assert placed(Repository(str(repo)), f"{repo}/../secret.py") == (f"{repo}/../secret.py", False)
    assert placed(Repository(str(repo)), "/srv/../app/model.py") == ("/srv/../app/model.py", False)


def test_a_directory_may_begin_with_two_dots() -> None:
    assert placed(Repository("nowhere"), "..app/model.py") == ("..app/model.py", True)


@pytest.mark.parametrize("where", [".venv/lib/python3.11/site-packages/net/model.py", "env/lib/python3.12/asyncio/runners.py"])
def test_what_is_installed_inside_the_repository_is_none_of_its_files(repo: Path, where: str) -> None:
    for repository in (Repository(str(repo)), Repository("nowhere", (str(repo),))):
        assert placed(repository, f"{repo}/{where}") == (f"{repo}/{where}", False)


def test_what_is_installed_elsewhere_is_not_looked_for(repo: Path) -> None:
    file = "/usr/lib/python3/dist-packages/app/model.py"
    assert placed(Repository(str(repo)), file) == (file, False)
    assert placed(Repository(str(repo), ("/usr/lib/python3/dist-packages",)), file) == ("app/model.py", True)


@pytest.mark.parametrize(
    "file", ["", "<string>", "<stdin>", "<eval_with_key>.1", "...", "<ipython-input-1-abc>", "/tmp/ipykernel_77/123.py"]
)
def test_code_that_lies_in_no_file_has_no_place(file: str) -> None:
    assert Repository().source_line(file, 1) is None


@pytest.mark.parametrize("file", ["/a\0b.py", "/\ud800.py", "/" + "x" * 5000 + ".py"])
def test_a_name_that_no_file_can_have_is_kept(file: str) -> None:
    assert placed(Repository(), file) == (file, False)


def test_a_line_that_is_not_known_is_not_shown() -> None:
    place = Repository("nowhere").source_line("app.py", -1)
    assert (place, str(place)) == (SourceLine("app.py", 0, True), "app.py")
