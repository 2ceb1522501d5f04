"""What make installs, and where: install.py, and the targets of the Makefile."""

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.service import PATIENCE, ROOT, environment

BOTH = "operations/install.py .venv requirements.txt requirements-embedded.txt"
SERVER = "operations/install.py .venv requirements.txt\n"
DEVELOPMENT = "operations/install.py .venv-dev requirements-uv.txt"


DATABASE_URL = {"DATABASE_URL": "postgresql:///flags"}


@pytest.mark.parametrize(
    ("target", "settings", "wanted"),
    [
        ("run", {}, BOTH),
        ("run", DATABASE_URL, SERVER),
        ("run", {"DATABASE_URL_FILE": "/run/secrets/url"}, SERVER),
        ("backup", DATABASE_URL, SERVER),
        # The demo ignores DATABASE_URL.
        ("demo", DATABASE_URL, BOTH),
        ("install", {}, SERVER),
        ("install-embedded", DATABASE_URL, BOTH),
        ("test", {}, DEVELOPMENT),
        ("check", {}, DEVELOPMENT),
    ],
)
def test_make_installs_what_the_target_needs(target: str, settings: dict[str, str], wanted: str) -> None:
    command = ["make", "--dry-run", "--always-make", target]
    environ = environment(**settings)
    shown = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
    assert shown.count("operations/install.py") == 1
    assert wanted in shown


def make_requirements(folder: Path, name: str, digest: str | None = None) -> Path:
    """Create a package, and return a file that pins it with this hash, or with its own."""
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    files = {
        f"{name}.py": "",
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: absent\n",
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in files.items()
    ]
    with ZipFile(wheel, "w") as archive:
        for path, text in (files | {f"{name}-1.0.dist-info/RECORD": "\n".join(record)}).items():
            archive.writestr(path, text)
    digest = digest or hashlib.sha256(wheel.read_bytes()).hexdigest()
    file = folder / f"{name}.txt"
    file.write_text(f"{wheel} --hash=sha256:{digest}\n")
    return file


def install(folder: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    """Run install.py without a package index."""
    command = [sys.executable, ROOT / "operations/install.py", folder, *files]
    environ = os.environ | {"PIP_NO_INDEX": "1"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=4 * PATIENCE)


def packages_in(folder: Path) -> set[str]:
    """Return the names of the modules that are installed in an environment."""
    return {path.stem for path in folder.glob("lib/python*/site-packages/*.py")}


@pytest.mark.slow
def test_install_installs_every_file_and_keeps_what_is_installed(tmp_path: Path) -> None:
    one, two, three = (make_requirements(tmp_path, name) for name in ("one", "two", "three"))
    done = install(tmp_path / "env", one, two)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # As a package looks while another pip installs it.
    (unfinished,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (unfinished / "unfinished-1.0.dist-info").mkdir()
    done = install(tmp_path / "env", three)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert packages_in(tmp_path / "env") == {"one", "two", "three"}


@pytest.mark.slow
def test_install_fails_if_the_hash_of_a_package_differs_or_is_missing(tmp_path: Path) -> None:
    done = install(tmp_path / "env", make_requirements(tmp_path, "bad", "0" * 64), make_requirements(tmp_path, "good"))
    assert done.returncode == 1
    assert "bad" not in packages_in(tmp_path / "env")
    unpinned = make_requirements(tmp_path, "unpinned")
    unpinned.write_text(unpinned.read_text().partition(" ")[0])
    assert install(tmp_path / "env", unpinned).returncode == 1
    assert "unpinned" not in packages_in(tmp_path / "env")


@pytest.mark.slow
def test_install_removes_the_packages_for_development_of_an_older_version(tmp_path: Path) -> None:
    assert install(tmp_path / "env", make_requirements(tmp_path, "pytest")).returncode == 0
    (tmp_path / "env" / "installed-dev").touch()
    assert install(tmp_path / "env", make_requirements(tmp_path, "server")).returncode == 0
    assert packages_in(tmp_path / "env") == {"server"}
    assert not (tmp_path / "env" / "installed-dev").exists()


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        (
            "sys.version_info, sys.version = (3, 10, 2), '3.10.2 (main)'",
            "Python 3.11 or newer is needed; this is 3.10.2. Name another: make run PYTHON=python3.12\n",
        ),
        (
            "sys.modules['ensurepip'] = None",
            "The Python module venv is missing. On Debian, install the package python3-venv.\n",
        ),
    ],
)
def test_install_says_what_it_needs(lacking: str, message: str) -> None:
    code = f"import runpy, sys; {lacking}; runpy.run_path('operations/install.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)
