"""The commit in the footer: of a clone, a worktree or a build."""

import subprocess
from pathlib import Path

import pytest

from serving.version import COMMIT, VERSION, read_commit
from tests.support.page import open_page, text_of
from tests.support.service import ROOT
from tests.support.world import Caller

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def git(folder: Path, *arguments: str) -> str:
    """Return what a command of git prints."""
    return subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a commit on the branch topic/one."""
    folder = tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--initial-branch=topic/one", str(folder))
    git(folder, "commit", "--quiet", "--allow-empty", "--message=one")
    return folder


def test_commit_of_a_clone(clone: Path) -> None:
    commit = git(clone, "rev-parse", "HEAD")[:7]
    assert read_commit(clone) == commit
    git(clone, "pack-refs", "--all")
    assert read_commit(clone) == commit
    git(clone, "checkout", "--quiet", "--detach")
    assert read_commit(clone) == commit


def test_commit_of_a_worktree(clone: Path) -> None:
    git(clone, "worktree", "add", "--quiet", "-b", "two", "../two")
    git(clone.parent / "two", "commit", "--quiet", "--allow-empty", "--message=two")
    assert read_commit(clone.parent / "two") == git(clone.parent / "two", "rev-parse", "HEAD")[:7] != read_commit(clone)


def test_commit_of_a_build(clone: Path) -> None:
    (clone / "COMMIT").write_text("0123456789abcdef\n")
    assert read_commit(clone) == "0123456"
    (clone / "COMMIT").write_text("\n")
    assert read_commit(clone) == ""


def test_unknown_commit_is_left_out(tmp_path: Path) -> None:
    assert read_commit(tmp_path) == ""
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert read_commit(tmp_path) == ""


def test_footer_shows_it(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_commit(ROOT) == COMMIT
    for commit, shown in (("0123456", f"{VERSION} (0123456)"), ("", VERSION)):
        monkeypatch.setattr("blueprints.pages.page.COMMIT", commit)
        [footer] = map(text_of, open_page(alice, "/").frame("./body/footer"))
        assert footer.startswith(f"Version {shown} ·")
