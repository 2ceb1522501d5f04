"""The systemd units of docs/how-to/deploy.md, as systemd itself sees them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serving.settings import SETTINGS
from sql.database.embedded import START_TIMEOUT
from tests.support.deployment import PAGE
from tests.support.service import ROOT

FOLDER = ROOT / "deploy"
UNITS = ("flag-administration.service", "flag-administration-prune.service", "flag-administration-prune.timer")
HOME = "/opt/flag-administration"
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze (on Debian: apt-get install systemd)")


def settings_of(name: str) -> list[tuple[str, str]]:
    """The lines of a unit, in order."""
    return re.findall(r"^(\w+)=(.*)$", (FOLDER / name).read_text(encoding="utf-8"), re.MULTILINE)


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """systemd-analyze, without a systemd that runs."""
    assert ANALYZE is not None
    return subprocess.run([ANALYZE, *arguments], capture_output=True, text=True, timeout=60)


@needs_systemd
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    for name in UNITS:
        # Its programs are looked for.
        text = (
            (FOLDER / name).read_text(encoding="utf-8").replace(f"{HOME}/.venv/bin", str(Path(sys.executable).parent))
        )
        text = text.replace(HOME, str(ROOT))
        (tmp_path / name).write_text(text, encoding="utf-8")
    drop_in = tmp_path / "flag-administration.service.d"
    drop_in.mkdir()
    shutil.copy(FOLDER / "database.conf", drop_in)
    done = analyze("verify", "--man=no", *(str(tmp_path / name) for name in UNITS))
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "flag-administration" in line]
    assert (done.returncode, ours) == (0, [])


@needs_systemd
@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_the_exposure_of_each_unit_is_the_documented_one(name: str) -> None:
    [exposure] = re.findall(r"an exposure of (\d)\.(\d) \(", PAGE.read_text(encoding="utf-8"))
    # In tenths, as systemd-analyze wants to have it; a newer systemd may look at more.
    most = int("".join(exposure)) + 2
    done = analyze("security", "--offline=true", f"--threshold={most}", "--no-pager", str(FOLDER / name))
    assert done.returncode == 0, done.stdout[-200:]


def test_gunicorn_has_enough_time_to_stop() -> None:
    # As in gunicorn.conf.py.
    defaults = {setting.name: int(setting.default) for setting in SETTINGS if (setting.default or "").isdigit()}
    graceful = defaults["STATEMENT_TIMEOUT_SECONDS"] + 2 * defaults["WAIT_SECONDS"]
    assert f"for {graceful} s at most" in PAGE.read_text(encoding="utf-8")
    unit = dict(settings_of(UNITS[0]))
    # pg_ctl waits as long for a stop as for a start.
    assert int(unit["TimeoutStopSec"]) >= graceful + START_TIMEOUT + 10
    # The workers, and PostgreSQL, are stopped by gunicorn, in that order.
    assert (unit["KillMode"], unit["Type"]) == ("mixed", "notify")


def test_each_unit_has_the_documented_memory_limit() -> None:
    limits = {name: dict(settings_of(name))["MemoryMax"] for name in (*UNITS[:2], "database.conf")}
    assert limits == {UNITS[0]: "2G", UNITS[1]: "512M", "database.conf": "1G"}
    assert "1 GB of memory (`MemoryMax=1G` in `database.conf`), or 2 GB with the embedded" in PAGE.read_text(
        encoding="utf-8"
    )


def test_the_units_set_only_existing_settings() -> None:
    known = {name for setting in SETTINGS for name in (setting.name, f"{setting.name}_FILE")}
    given = [value for name in (*UNITS, "database.conf") for key, value in settings_of(name) if key == "Environment"]
    assert given
    assert {value.partition("=")[0] for value in given} <= known


def test_the_service_and_the_deletion_of_old_events_are_shut_in_alike() -> None:
    own = {
        "After",
        "Wants",
        "Description",
        "Type",
        "ExecStart",
        "EnvironmentFile",
        "Environment",
        "LoadCredential",
        "MemoryMax",
    }
    service = set(settings_of(UNITS[0]))
    deletion = {line for line in settings_of(UNITS[1]) if line[0] not in own}
    assert deletion <= service
    assert {key for key, _ in service - deletion - {line for line in service if line[0] in own}} == {
        "StartLimitIntervalSec",
        "ExecReload",
        "Restart",
        "RestartSec",
        "TimeoutStartSec",
        "KillMode",
        "TimeoutStopSec",
        "OOMPolicy",
        "StateDirectory",
        "StateDirectoryMode",
        "RemoveIPC",
        "AmbientCapabilities",
        "SystemCallFilter",
        "WantedBy",
    }
