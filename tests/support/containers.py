"""Build the image of Containerfile with podman, and run it, without a registry.

The base image is a Debian system made by mmdebstrap, kept in .sdks. Images are in a folder of their own.
"""

import ensurepip
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.service import ROOT

MISSING = [program for program in ("podman", "mmdebstrap", "unshare") if shutil.which(program) is None]
CAN_RUN = os.geteuid() == 0 and not MISSING
BASE = ROOT / ".sdks" / "base.tar"
# Debian 12 has Python 3.11.
SUITE, PYTHON = "bookworm", "3.11"
# In memory if there is enough: unpacking packages takes half as long there.
FAST = "/dev/shm" if shutil.disk_usage("/dev/shm").free > 4 << 30 else tempfile.gettempdir()
PATIENCE = 300  # seconds, for what downloads and copies much
# crun refuses a machine with both versions of cgroups, so podman does not see the second one. The other options let
# podman run inside of a container.
PODMAN = ("unshare", "--mount", "sh", "-c", 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"', "podman")
LIMITS = ("--cgroups=disabled", "--ulimit=nofile=1024:1024", "--ulimit=nproc=10000:10000")
RUN = ("run", "--rm", "--network=host", "--no-healthcheck", *LIMITS)
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVER: dict[str, Any] = COMPOSE["services"]["server"]


def restrictions() -> list[str]:
    """Return the restrictions of the server in compose.yaml as options of podman. No folder on disk is writable."""
    assert SERVER["read_only"] is True
    options = [f"--cap-drop={name}" for name in SERVER["cap_drop"]]
    options += [f"--security-opt={text.removesuffix(':true')}" for text in SERVER["security_opt"]]
    return ["--read-only", "--read-only-tmpfs=false", *options]


@dataclass(frozen=True)
class Image:
    """An image of the server. folder: where podman keeps its images."""

    folder: Path
    name: str = "localhost/server:test"

    def podman(self, *arguments: str) -> list[str]:
        """Return a command line of podman."""
        stores = (f"--root={self.folder}/images", f"--runroot={self.folder}/run", "--cgroup-manager=cgroupfs")
        return [*PODMAN, *stores, *arguments]

    def do(self, *arguments: str) -> str:
        """Run podman, and return its output. Fail if it fails."""
        done = subprocess.run(
            self.podman(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def command(self, *arguments: str, settings: Mapping[str, object], options: tuple[str, ...] = ()) -> list[str]:
        """Return the command line that runs a command in the image, or without arguments, the command of the image."""
        variables = [f"--env={name}={text}" for name, text in settings.items()]
        return self.podman(*RUN, *options, *variables, self.name, *arguments)

    def run(
        self, *arguments: str, options: tuple[str, ...] = (), **settings: object
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the image until it ends."""
        command = self.command(*arguments, settings=settings, options=options)
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


@contextmanager
def built() -> Iterator[Image]:
    """Build the image from a checkout with files that must not be in it."""
    with tempfile.TemporaryDirectory(prefix="containers-", dir=FAST) as folder:
        image = Image(Path(folder))
        context = image.folder / "checkout"
        copy_checkout(context)
        packages = download(image.folder)
        image.do("import", "--quiet", str(base()), "base:test")
        image.do(
            *("build", "--isolation=chroot", "--network=host", "--format=docker", "--layers=false"),
            "--build-arg=BASE=base:test",
            *(f"--volume={source}:{target}:ro" for source, target in packages.items()),
            f"--tag={image.name}",
            str(context),
        )
        yield image


def base() -> Path:
    """Return the base image as an archive."""
    if not BASE.exists():
        BASE.parent.mkdir(exist_ok=True)
        new = BASE.with_suffix(f".{os.getpid()}.tar")
        command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-venv", SUITE, str(new)]
        subprocess.run(command, env={**os.environ, "TMPDIR": FAST}, check=True, capture_output=True, timeout=PATIENCE)
        new.rename(BASE)
    return BASE


def copy_checkout(folder: Path) -> None:
    """Copy this checkout as it is with the strictest umask, and add data, secrets and tests."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
            target.chmod(0o700 if os.access(ROOT / name, os.X_OK) else 0o600)
    (folder / "app.py").chmod(0o666)
    for name in (".env", "data/postgres/PG_VERSION", ".venv/bin/python", ".git/config", "cookies.txt", "flags-1.dump"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("POSTGRES_PASSWORD=not for the image")
    (folder / ".git" / "HEAD").write_text("0123456789abcdef")


def download(folder: Path) -> dict[Path, str]:
    """Download the packages with pip's settings of this machine. Return paths and where the build sees them."""
    wheels, settings = folder / "wheels", folder / "pip.conf"
    # The pip that comes with Python, as in install.py.
    bundled = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).with_name("_bundled")
    pip = f"{max(Path(bundled).glob('pip-*.whl'))}/pip"
    options = ["--only-binary=:all:", f"--python-version={PYTHON}", "--no-deps", "--quiet", f"--dest={wheels}"]
    command = [sys.executable, pip, "download", *options, "--requirement", ROOT / "requirements.txt"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    settings.write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    return {wheels: "/wheels", settings: "/etc/pip.conf"}
