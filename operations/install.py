"""Install pinned packages into a virtual environment: python3 operations/install.py FOLDER REQUIREMENTS ...

The Makefile uses this. Each file of requirements is installed by a pip of its own, at the same time as the others.
"""

import glob
import subprocess
import sys
import sysconfig
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}. Name another: make run PYTHON=python3.12"
    )
try:
    import ensurepip
    import venv
except ImportError:
    sys.exit("The Python module venv is missing. On Debian, install the package python3-venv.")


def pip() -> str:
    """Return the path of the pip that comes with Python. To install it into each environment takes 4 s."""
    folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or str(Path(ensurepip.__file__).with_name("_bundled"))
    return max(glob.glob(f"{folder}/pip-*.whl")) + "/pip"


def main(name: str, *files: str) -> None:
    """Create the environment, and install all packages of the files."""
    folder = Path(name)
    # Until 0.1.0, the packages for development were in this environment too.
    has_development = (folder / "installed-dev").exists()
    venv.create(folder, clear=has_development, symlinks=True)
    # The files also name all indirect dependencies.
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--requirement")
    pips = [[folder / "bin" / "python", pip(), "install", *options, file] for file in files]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, errors="replace") for command in pips]
    for process in running:
        assert process.stderr
        # Each pip warns of a package that another one is still installing.
        sys.stderr.writelines(line for line in process.stderr if "due to invalid metadata entry" not in line)
    if any([process.wait() for process in running]):
        sys.exit(1)


main(*sys.argv[1:])
