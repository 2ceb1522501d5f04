"""make dist: the server in one file, on machines that have Python and nothing else of ours."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from zipfile import ZipFile

import pytest

from deploy import single_file
from serving.version import COMMIT, VERSION
from tests.support.embedded_server import root_only
from tests.support.instance import ADMIN_KEY
from tests.support.service import AS_UNPRIVILEGED, PATIENCE, ROOT, UNPRIVILEGED, free_port, wait_until

# Extraction and the first start, on a busy machine.
LONG = 4 * PATIENCE
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHER = "3.13"
AS_USER = AS_UNPRIVILEGED if os.getuid() == 0 else ()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with a short path, which every user can enter."""
    with tempfile.TemporaryDirectory(prefix="dist-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def build(folder: Path, version: str) -> Path:
    """Build the file for a version of Python."""
    if not Path(sys.executable).with_name("uv").exists():
        pytest.skip("uv is not installed in this environment; make sdks installs it")
    command = [sys.executable, ROOT / "deploy" / "build.py", folder, version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """The file for this Python."""
    return build(folder, HERE)


@pytest.fixture(scope="module")
def python() -> str:
    """A Python of this version that an ordinary user can run."""
    for path in (f"/usr/bin/python{HERE}", str(Path(sys.executable).resolve())):
        if (
            shutil.which(path)
            and subprocess.run([*AS_USER, path, "-c", ""], cwd="/", capture_output=True).returncode == 0
        ):
            return path
    pytest.skip(f"no Python {HERE} that an ordinary user can run")


@pytest.fixture
def home(folder: Path) -> Path:
    """An empty home of the ordinary user."""
    home = Path(tempfile.mkdtemp(dir=folder))
    if AS_USER:
        os.chown(home, UNPRIVILEGED, UNPRIVILEGED)
    return home


def settings(home: Path) -> dict[str, str]:
    """The whole environment of a process."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "WEB_CONCURRENCY": "1", "BCRYPT_ROUNDS": "10"}


def run(command: tuple[object, ...], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the file as an ordinary user."""
    arguments = [str(part) for part in (*AS_USER, *command)]
    return subprocess.run(arguments, cwd="/", env=settings(home), capture_output=True, text=True, timeout=LONG)


@contextmanager
def served(command: list[str], environ: dict[str, str], log: Path) -> Iterator[Callable[..., dict]]:
    """Run the server during the block, and yield ask(method, path, body). Ctrl-C ends the embedded PostgreSQL too."""
    port = free_port()
    environ = environ | {"PORT": str(port), "INIT_ADMIN_API_TOKENS": ADMIN_KEY}
    with log.open("a") as output:
        process = subprocess.Popen(command, cwd="/", env=environ, stdout=output, stderr=output)

    def ask(method: str, path: str, body: object = None) -> dict:
        headers = {"Authorization": ADMIN_KEY, "Content-Type": "application/json"}
        content = json.dumps(body).encode() if body else None
        request = Request(f"http://127.0.0.1:{port}{path}", content, headers, method=method)
        with urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        with suppress(OSError):
            return bool(ask("GET", "/ready"))
        return False

    try:
        wait_until(is_ready, "the file serves", LONG)
        yield ask
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 0, log.read_text()


def keeps_a_flag(command: list[str], environ: dict[str, str], log: Path) -> None:
    """Assert that a flag is there after a restart, and that the server is extracted only once."""
    flags = "/api/admin/projects/default/features"
    with served([*command, "serve"], environ, log) as ask:
        ask("POST", flags, {"name": "kept", "type": "release"})
    with served([*command, "serve"], environ, log) as ask:
        assert ask("GET", f"{flags}/kept")["name"] == "kept"
    assert log.read_text().count("Extracting the server to ") == 1


@pytest.mark.slow
def test_the_file_serves_in_an_empty_environment(file: Path, python: str, home: Path, tmp_path: Path) -> None:
    keeps_a_flag([*AS_USER, python, str(file)], settings(home), tmp_path / "log")
    # An upgrade and a cleaned cache leave the data as they are.
    shutil.rmtree(home / ".cache")
    done = run((python, file, "user", "list"), home)
    assert done.returncode == 0, done.stderr
    assert " admin " in done.stdout
    assert (home / ".local" / "share" / "flags" / "data").is_dir()
    assert {path.name for path in home.iterdir()} == {".cache", ".local"}


@pytest.mark.slow
@root_only
def test_root_runs_the_file_in_a_home_that_only_root_can_enter(file: Path, python: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="root-") as home:
        keeps_a_flag([python, str(file)], settings(Path(home)), tmp_path / "log")


@pytest.mark.slow
def test_two_first_starts_at_the_same_time_extract_one_server(file: Path, python: str, home: Path) -> None:
    command = [*AS_USER, python, str(file), "--help"]
    both = [
        subprocess.Popen(command, cwd="/", env=settings(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    for process in both:
        shown = process.communicate(timeout=LONG)[0].decode()
        assert process.returncode == 0
        assert "  serve " in shown
    assert len([*(home / ".cache" / "flags").iterdir()]) == 1


@pytest.mark.slow
def test_a_home_without_room_for_the_server_is_refused_in_one_sentence(file: Path, python: str, home: Path) -> None:
    home.chmod(0o555)
    done = run((python, file, "serve"), home)
    assert (done.returncode, done.stdout) == (1, "")
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"The server cannot be extracted to {home}/.cache/flags/flags-")
    assert line.endswith(
        ": Permission denied. Set XDG_CACHE_HOME to a folder on a disk with 150 MB, in which you can create files."
    )
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.001, 0.5, 0.999999])
def test_an_incomplete_or_damaged_file_says_so(file: Path, python: str, home: Path, share: float) -> None:
    whole = file.read_bytes()
    size = int(len(whole) * share)
    (home / "part.pyz").write_bytes(whole[:size])
    done = run((python, home / "part.pyz", "serve"), home)
    assert done.returncode == 1
    assert "This file is incomplete. Copy or build it again." in done.stderr
    if share == 0.5:
        (home / "damaged.pyz").write_bytes(whole[:size] + bytes(100) + whole[size + 100 :])
        done = run((python, home / "damaged.pyz", "serve"), home)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "This file is damaged. Copy or build it again.")


@pytest.mark.slow
@pytest.mark.parametrize("owned", ["the server", "the folder around it"])
def test_the_folder_of_another_user_is_neither_run_nor_changed(file: Path, python: str, home: Path, owned: str) -> None:
    if not AS_USER:
        pytest.skip("only root can create files of another user")
    with ZipFile(file) as archive:
        name = json.loads(archive.read("build.json"))["folder"]
    around = home / ".cache" / "flags"
    theirs = around / name if owned == "the server" else around
    (theirs / ".venv").mkdir(parents=True, mode=0o777)
    # Another user could make the start overwrite any file of its user by a link.
    precious = home / "precious"
    precious.write_text("kept")
    (theirs / ".venv" / "pyvenv.cfg").symlink_to(precious)
    for path in (precious, *(() if theirs == around else (around,))):
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
    for path in (theirs, theirs / ".venv"):
        path.chmod(0o777)
    done = run((python, file, "serve"), home)
    assert (done.returncode, done.stderr) == (
        1,
        f"{theirs} belongs to another user. Set XDG_CACHE_HOME to a folder of your own.\n",
    )
    assert precious.read_text() == "kept"
    assert [path.name for path in theirs.iterdir()] == [".venv"]


@pytest.mark.slow
def test_the_file_has_only_what_a_server_needs(file: Path) -> None:
    assert file.name.startswith("flags-")
    assert file.name.endswith(f"-cp{HERE.replace('.', '')}-linux_{os.uname().machine}.pyz")
    with ZipFile(file) as archive:
        names = archive.namelist()
        assert archive.read("server/COMMIT").decode().startswith(COMMIT or "missing")
    assert file.stat().st_size < 25 * 10**6
    for unwanted in ("server/tests/", "server/bench/", "server/.ci/", "/pginstall/", "/pginstall18/include/"):
        assert [name for name in names if unwanted in name] == []


# Runs a script as if it was another year.
IN_ANOTHER_YEAR = """
import runpy, sys, time
time.time = lambda: 10**9
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes_everywhere(folder: Path) -> None:
    def build_in(clone: Path, *options: str, **settings: Any) -> Path:
        (clone / ".venv-dev").symlink_to(Path(sys.executable).parents[1])
        command = [
            clone / ".venv-dev" / "bin" / "python",
            *options,
            clone / "deploy" / "build.py",
            clone / "dist",
            HERE,
        ]
        done = subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True, timeout=LONG, **settings)
        (clone / ".venv-dev").unlink()
        return Path(done.stdout.strip())

    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "one"], check=True, umask=0o022)
    one = build_in(folder / "one").read_bytes()
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "another folder"], check=True, umask=0o077)
    # uv writes the path of this Python into programs.
    (folder / "another folder" / ".venv").symlink_to(Path(sys.executable).parents[1])
    for path in (folder / "another folder").rglob("*"):
        os.utime(path, (10**9, 10**9), follow_symlinks=False)
    environ = os.environ | {"TZ": "Pacific/Auckland", "LC_ALL": "C", "UV_COMPILE_BYTECODE": "1", "PYTHONHASHSEED": "7"}
    other = build_in(folder / "another folder", "-c", IN_ANOTHER_YEAR, env=environ, umask=0o077)
    assert other.read_bytes() == one
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=other.parent).returncode == 0
    other.write_bytes(one + b"!")
    assert subprocess.run(check, cwd=other.parent, capture_output=True).returncode == 1


@pytest.mark.slow
def test_the_file_for_python_3_13_serves_there(folder: Path, home: Path, tmp_path: Path) -> None:
    """On Debian 13, made by mmdebstrap."""
    if os.getuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not installed, or this is not root")
    root = folder / "debian"
    made = ["mmdebstrap", "--quiet", "--variant=essential", "--include=python3,libstdc++6", "trixie", root]
    file = build(folder, OTHER)
    if subprocess.run(made, capture_output=True, timeout=20 * PATIENCE).returncode != 0:
        pytest.skip("mmdebstrap cannot create a Debian 13 here")
    shutil.copy(file, root / "srv")
    inside = root / "srv" / "home"
    inside.mkdir()
    os.chown(inside, UNPRIVILEGED, UNPRIVILEGED)
    # The mounts exist only for this process and its children.
    mount = f"mount --bind /dev {root}/dev && mount --bind /proc {root}/proc"
    chroot = f'exec /usr/sbin/chroot --userspec={UNPRIVILEGED}:{UNPRIVILEGED} {root} python3 "$@"'
    command = ["unshare", "--mount", "sh", "-c", f"{mount} && {chroot}", "sh", f"/srv/{file.name}"]
    keeps_a_flag(command, settings(Path("/srv/home")), tmp_path / "log")
    # Python 3.11 refuses this file.
    done = run((sys.executable if not AS_USER else "/usr/bin/python3", file, "serve"), home)
    assert done.returncode == 1
    assert done.stderr.startswith(f"This file needs CPython {OTHER} on Linux ")
    assert done.stderr.count("\n") == 1


def test_the_page_names_the_file_of_this_version() -> None:
    text = (ROOT / "docs" / "how-to" / "single-file.md").read_text(encoding="utf-8")
    assert set(re.findall(r"flags-(\d\S*?)-cp", text)) == {VERSION}


@pytest.mark.parametrize(
    ("version", "machine", "needed"),
    [
        ("3.99", os.uname().machine, f"CPython 3.99 on Linux {os.uname().machine}"),
        (HERE, "pdp11", f"CPython {HERE} on Linux pdp11"),
    ],
)
def test_another_python_or_machine_is_refused_in_one_sentence(version: str, machine: str, needed: str) -> None:
    with pytest.raises(SystemExit) as refused:
        single_file.require(version, machine)
    message = str(refused.value)
    assert message.startswith(f"This file needs {needed} with glibc 2.28 or newer; this is CPython {HERE}.")
    assert message.endswith(". Use the file that is made for this Python, or a clone.")
    single_file.require(HERE, os.uname().machine)


def test_a_missing_library_and_an_old_glibc_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("glibc 2.27", "", None):
        monkeypatch.setattr(os, "confstr", lambda _name, text=text: text)
        with pytest.raises(SystemExit, match=r"with glibc 2\.28 or newer"):
            single_file.require(HERE, os.uname().machine)
    monkeypatch.undo()
    monkeypatch.setattr(single_file, "LIBRARY", "libabsent.so.6")
    with pytest.raises(SystemExit, match=r"^The library libabsent.so.6 is missing\. On Debian, install "):
        single_file.require(HERE, os.uname().machine)
