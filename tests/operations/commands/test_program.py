"""./flags: its help, the folder that it is run in, and what it says of a .venv that cannot be used."""

import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from serving.version import VERSION
from tests.support.command_line import PATIENCE, clean, install, run_flags
from tests.support.service import ROOT


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of ./flags in a folder without .venv."""
    (tmp_path / "operations").mkdir()
    for name in ("flags", "operations/flags.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path / "flags"


def refusal(program: Path) -> str:
    """Run a command that cannot start, and return its only line on stderr."""
    done = subprocess.run([program, "user", "list"], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr.rstrip("\n")


def test_without_packages_the_program_says_make_install(program: Path) -> None:
    assert refusal(program) == f"The packages are not installed. Run make install in {program.parent}."


def test_a_python_that_no_longer_exists_says_make_clean(program: Path) -> None:
    (program.parent / ".venv" / "bin").mkdir(parents=True)
    (program.parent / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    folder = program.parent
    assert refusal(program) == (
        f"The Python of {folder}/.venv no longer exists, or is in a folder that this user cannot read. "
        f"Run make clean, then make install, in {folder}. If Python is in a home folder, add PYTHON=/usr/bin/python3."
    )


@pytest.mark.parametrize("folder", [".venv", ".venv-dev"])
def test_make_says_make_clean_too(tmp_path: Path, folder: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / folder / "bin").mkdir(parents=True)
    (tmp_path / folder / "bin" / "python").symlink_to("/nowhere/python3")
    expected = f"The Python of {folder} no longer exists. Run make clean, then this command again."
    for target in ("run", "test", "check"):
        # make test sets these variables. With them, make also names its folder.
        make = ["env", "--unset=MAKEFLAGS", "--unset=MAKELEVEL", "make"]
        done = subprocess.run([*make, target], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (2, "")
        assert expected in done.stderr
    for words in (["make"], ["make", "clean"]):
        assert subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=PATIENCE).returncode == 0
    assert not (tmp_path / folder).exists()


@pytest.mark.slow
def test_packages_that_are_missing_say_make_clean(program: Path) -> None:
    venv.create(program.parent / ".venv", symlinks=True)
    message = refusal(program)
    assert message.startswith("The packages cannot be loaded: ")
    assert message.endswith("without a PostgreSQL of your own; if needed, make clean first.")


@pytest.mark.slow
def test_the_help_lists_the_commands_and_none_of_flask() -> None:
    shown = run_flags().stderr
    assert shown == run_flags("--help").stdout
    assert re.findall(r"^  (-\S+)", shown, re.MULTILINE) == ["--version", "--help"]
    assert run_flags("--version").stdout == f"{VERSION}\n"
    commands = re.findall(r"^  ([a-z-]+) ", shown.partition("Commands:")[2], re.MULTILINE)
    assert commands == sorted(commands)
    assert {"serve", "user", "api-token"} <= set(commands)
    assert not {"run", "shell", "routes"} & set(commands)
    assert len(shown.splitlines()) <= 30
    assert "api-token" in run_flags("api-key", "list").stderr


@pytest.mark.slow
def test_another_folder_gives_the_same_data_and_its_own_files(make_database, tmp_path: Path) -> None:
    link, elsewhere = tmp_path / "link", tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = install(elsewhere)
    link.symlink_to(program)
    # A module of this name in the current folder is not loaded.
    (tmp_path / "app.py").write_text("raise SystemExit('the wrong app')")
    environ = clean({"DATABASE_URL": make_database()})
    for path in (program, link):
        done = subprocess.run(
            [path, "backup", f"{path.name}.dump"], cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"{path.name}.dump").exists()
    done = subprocess.run(
        [program, "user", "list"], cwd=tmp_path, env=clean({"DATA_DIR": "data-x"}), capture_output=True
    )
    assert f"{ROOT}/data-x contains no database." in done.stderr.decode()
