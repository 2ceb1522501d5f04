"""The start of flags-VERSION-….pyz: extract the server once, then run it. deploy/build.py names this file __main__.py.

The extracted folder looks like a clone after make install.
"""

import ctypes
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

FILE = Path(__file__).parent
OLDEST_GLIBC = (2, 28)
# google-re2 needs it, and does not bring it along.
LIBRARY = "libstdc++.so.6"


def main() -> None:
    """Run a command of the server."""
    with ZipFile(FILE) as archive:
        build = json.loads(archive.read("build.json"))
        require(build["python"], build["machine"])
        folder = find_folder("XDG_CACHE_HOME", ".cache") / build["folder"]
        data = find_folder("XDG_DATA_HOME", ".local/share")
        python = folder / ".venv" / "bin" / "python"
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_own(folder.parent)
            if not folder.is_dir():
                extract(archive, folder)
            require_own(folder)
            if not python.exists():
                link(python)
        except (BadZipFile, ZlibError):
            sys.exit("This file is damaged. Copy or build it again.")
        except OSError as error:
            reason = f"The server cannot be extracted to {folder}: {error.strerror}."
            sys.exit(f"{reason} Set XDG_CACHE_HOME to a folder on a disk with 150 MB, in which you can create files.")
    # In a clone, relative paths of settings begin in its folder. Here, each version has a folder of its own, and data
    # must not be in it.
    environ = {"FLAGS_FOLDER": str(data)} | os.environ
    os.execve(folder / "flags", [str(folder / "flags"), *sys.argv[1:]], environ)


def require(version: str, machine: str) -> None:
    """Exit if this file was made for another Python or platform."""
    major, minor = version.split(".")
    here = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"
    try:
        # Such as "glibc 2.36". Other C libraries do not have this.
        glibc = tuple(int(part) for part in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[1].split("."))
    except (AttributeError, ValueError, IndexError):
        glibc = (0,)
    is_python = sys.version_info[:2] == (int(major), int(minor)) and sys.implementation.name == "cpython"
    if not is_python or (platform.system(), platform.machine()) != ("Linux", machine) or glibc < OLDEST_GLIBC:
        needed = f"CPython {version} on Linux {machine} with glibc {'.'.join(map(str, OLDEST_GLIBC))} or newer"
        sys.exit(f"This file needs {needed}; this is {here}. Use the file that is made for this Python, or a clone.")
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        sys.exit(f"The library {LIBRARY} is missing. On Debian, install the package libstdc++6.")


def find_folder(variable: str, default: str) -> Path:
    """Return the folder "flags" in a folder of the XDG Base Directory Specification."""
    try:
        return Path(os.environ.get(variable) or Path.home() / default).absolute() / "flags"
    except RuntimeError:
        sys.exit(f"The home folder of this user is unknown. Set HOME or {variable}.")


def require_own(folder: Path) -> None:
    """Exit if the folder belongs to another user, who could choose what this user runs and overwrites."""
    if folder.stat().st_uid != os.geteuid():
        sys.exit(f"{folder} belongs to another user. Set XDG_CACHE_HOME to a folder of your own.")


def extract(archive: ZipFile, folder: Path) -> None:
    """Extract the server. The folder exists only when it is complete."""
    print(f"Extracting the server to {folder} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-", ignore_cleanup_errors=True) as new:
        for item in archive.infolist():
            if item.filename.startswith("server/"):
                path = archive.extract(item, new)
                os.chmod(path, item.external_attr >> 16)
        link(Path(new, "server", ".venv", "bin", "python"))
        try:
            os.rename(Path(new, "server"), folder)
        except OSError:
            # Another process was faster.
            if not folder.is_dir():
                raise


def link(python: Path) -> None:
    """Make the extracted packages a virtual environment of this Python."""
    real = Path(sys.executable).resolve()
    python.parent.mkdir(exist_ok=True)
    python.unlink(missing_ok=True)
    python.symlink_to(real)
    text = f"home = {real.parent}\ninclude-system-site-packages = false\n"
    (python.parent.parent / "pyvenv.cfg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
