"""The commit on record is of the code that runs, and says when it may not be."""

import subprocess
from pathlib import Path

import pytest

from gateway.launch.plan import code_commit


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["/usr/bin/env", "git", *who, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module in a repository of one commit."""
    file = tmp_path / "code" / "module.py"
    file.parent.mkdir()
    file.write_text("1\n")
    (tmp_path / ".gitignore").write_text("state/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return file


def test_a_clean_tree_is_its_commit_whatever_lies_about(module: Path) -> None:
    head = git(module.parent, "rev-parse", "HEAD")
    git(module.parent, "tag", "v1")
    for name in ("state/ignored.py", "bundle.zip"):
        path = module.parents[1] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert len(head) == 40
    assert code_commit(module) == head


@pytest.mark.parametrize("staged", [True, False])
def test_a_changed_file_makes_it_dirty(module: Path, *, staged: bool) -> None:
    head = git(module.parent, "rev-parse", "HEAD")
    module.write_text("2\n")
    if staged:
        git(module.parent, "add", ".")
    assert code_commit(module) == f"{head}-dirty"


def test_a_file_that_is_gone_or_renamed_makes_it_dirty(module: Path) -> None:
    head = git(module.parent, "rev-parse", "HEAD")
    git(module.parent, "mv", str(module.parents[1] / ".gitignore"), "ignored")
    assert code_commit(module) == f"{head}-dirty"


def test_a_module_that_git_does_not_keep_makes_it_dirty(module: Path) -> None:
    head = git(module.parent, "rev-parse", "HEAD")
    (module.parent / "new").mkdir()
    (module.parent / "new" / "module.py").write_text("1\n")
    assert code_commit(module) == f"{head}-dirty"


def test_code_that_is_in_no_commit_is_unknown(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library folder inside somebody's checkout is not of that checkout's commit."""
    stranger = tmp_path / "state" / "library.py"
    stranger.parent.mkdir()
    stranger.write_text("1\n")
    assert code_commit(stranger) == "unknown"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_commit(module) == "unknown", "there is no git"
    monkeypatch.undo()
    (module.parents[1] / ".git").rename(tmp_path / "not-git")
    assert code_commit(module) == "unknown"


def test_a_repository_with_nothing_in_it_is_unknown(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "module.py").write_text("1\n")
    git(tmp_path, "add", ".")
    assert code_commit(tmp_path / "module.py") == "unknown"
