"""The version of this service, as in setup.cfg, and its commit."""

import re
from configparser import ConfigParser
from pathlib import Path

from serving.settings import PROJECT


def read() -> str:
    """Return the version, such as 1.0.0."""
    config = ConfigParser()
    config.read(PROJECT / "setup.cfg", encoding="utf-8")
    return config["metadata"]["version"]


def read_commit(folder: Path) -> str:
    """Return the commit of a clone, a worktree or a build, which has a file COMMIT, or "" if it is unknown."""
    file, git = folder / "COMMIT", folder / ".git"
    try:
        if not file.is_file():
            git = folder / text(git).removeprefix("gitdir: ") if git.is_file() else git
            file, name = git / "HEAD", text(git / "HEAD").removeprefix("ref: ")
            shared = git / text(git / "commondir") if (git / "commondir").is_file() else git
            if name.startswith("refs/") and not (file := shared / name).is_file():
                return re.findall(rf"^(\w{{7}})\w* {re.escape(name)}$", text(shared / "packed-refs"), re.MULTILINE)[0]
        return text(file)[:7]
    except (OSError, ValueError, IndexError):
        return ""


def text(file: Path) -> str:
    """Return the text of a file, without the end of its line."""
    return file.read_text(encoding="utf-8").strip()


# Read at the start: a running service keeps its version when the files are upgraded.
VERSION = read()
COMMIT = read_commit(PROJECT)
