"""The commands of the pages for operators print what the pages show, in this order, on one embedded instance that
serves.
"""

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from serving.settings import SETTINGS
from tests.support.page_examples import fits
from tests.support.service import PATIENCE, ROOT, Service

PAGES = "run backup upgrade tokens invite-people recover-an-administrator read-the-log monitor events".split()
TEXT = "\n".join((ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)


def blocks() -> list[tuple[str, str]]:
    """The commands of each block, and all that it shows of what they say."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        lines = textwrap.dedent(block).splitlines()
        commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found.append(("\n".join(commands), "\n".join(line for line in lines if not line.startswith("$ "))))
    return found


@pytest.mark.slow
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    # Nothing is installed by these tests.
    make = f"make --no-print-directory -o .venv/embedded flags='{sys.executable} operations/flags.py'"
    settings = {"DATA_DIR": str(tmp_path / "data"), "BCRYPT_ROUNDS": "12"}
    with Service(stdout=str(tmp_path / "log"), **settings) as service:
        known = {setting.name for setting in SETTINGS}
        environ = {name: text for name, text in os.environ.items() if name not in known}
        environ |= settings | {"BASE": service.origin, "BASE_URL": service.origin}
        for commands, shown in blocks():
            script = re.sub(r"^(DATA_DIR=\S+ )?make ", rf"\1{make} ", commands, flags=re.MULTILINE).replace(
                "/srv/flags/", f"{tmp_path}/"
            )
            # Doctor looks for the service at its port.
            script = in_this_environment(script.replace("./flags doctor", f"PORT={service.port} ./flags doctor"))
            # The page says so above that command.
            must_stop = "REPLACE=yes" in commands
            if must_stop:
                service.stop()
            command = ["bash", "-ec", script]
            done = subprocess.run(
                command, cwd=ROOT, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            output = done.stdout.replace(f"{tmp_path}/", "/srv/flags/").replace(f":{service.port}.", ":4242.")
            assert done.returncode == 0, f"{commands}\n{output}"
            assert fits(shown, output), f"{commands}\n{output}"
            if must_stop:
                service.start().ready()


def test_line_for_cron_works_in_the_environment_of_cron(make_database: Callable[[], str], tmp_path: Path) -> None:
    [line] = re.findall(r"^15 3 \* \* \*  (.*)$", TEXT, re.MULTILINE)
    (tmp_path / "flags.env").write_text(f"DATABASE_URL='{make_database()}'\n")
    backups = tmp_path / "backups"
    backups.mkdir()
    kept, old = backups / "flags-2026-01-02.dump", backups / "flags-2026-01-01.dump.part"
    for path, days in ((kept, 30), (old, 32)):
        path.touch()
        os.utime(path, (time.time() - days * 86400,) * 2)
    # Cron itself takes an escaped percent sign for one, and any other for the end of the line.
    assert "%" not in line.replace("\\%", "")
    script = in_this_environment(line.replace("\\%", "%").replace("cd /srv/flags ", f"cd {ROOT} "))
    script = script.replace("/srv/backups", str(backups)).replace("/etc/flags.env", f"{tmp_path}/flags.env")
    given = {"HOME": "/", "LOGNAME": "root", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}

    def run() -> int:
        return subprocess.run(["/bin/sh", "-c", script], cwd=ROOT, env=given, timeout=PATIENCE).returncode

    assert run() == 0
    created = backups / f"flags-{date.today()}.dump"
    assert sorted(backups.iterdir()) == [kept, created]
    assert created.stat().st_mode & 0o777 == 0o600
    # What was there before stays, also when no backup is made.
    os.utime(kept, (0, 0))
    assert run() == 1
    assert sorted(backups.iterdir()) == [kept, created]


def in_this_environment(script: str) -> str:
    """The script with the Python of these tests, because a clone can have no .venv."""
    python = Path(sys.executable)
    return script.replace(".venv/bin/", f"{python.parent}/").replace("./flags ", f"{python} operations/flags.py ")


def test_settings_of_the_pages_exist() -> None:
    assert len(blocks()) >= 10
    names = {setting.name for setting in SETTINGS}
    named = {name.removesuffix("_FILE") for name in re.findall(r"`([A-Z]{3,}(?:_[A-Z]+)+)\b", TEXT)}
    assert named <= names, named - names
