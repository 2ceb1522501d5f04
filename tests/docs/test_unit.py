"""The systemd units of docs/how-to/deploy.md, as systemd itself sees them, and the program flags."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from operations.postgres.embedded import START_TIMEOUT
from serving.settings import SETTINGS
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


def single_file_unit() -> str:
    """Return the unit of docs/how-to/single-file.md."""
    page = (ROOT / "docs" / "how-to" / "single-file.md").read_text(encoding="utf-8")
    [unit] = re.findall(r"```ini\n(\[Unit\]\n.*?)```", page, re.DOTALL)
    return unit


@needs_systemd
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    units = {name: (FOLDER / name).read_text(encoding="utf-8") for name in UNITS}
    units["flags.service"] = single_file_unit().replace("User=flags", "User=root")
    for name, text in units.items():
        # Its programs are looked for.
        text = text.replace(f"{HOME}/.venv/bin", str(Path(sys.executable).parent)).replace(HOME, str(ROOT))
        (tmp_path / name).write_text(text, encoding="utf-8")
    drop_in = tmp_path / "flag-administration.service.d"
    drop_in.mkdir()
    shutil.copy(FOLDER / "database.conf", drop_in)
    done = analyze("verify", "--man=no", *(str(tmp_path / name) for name in units))
    # It may name units of this machine too.
    ours = [line for line in (done.stdout + done.stderr).splitlines() if any(name in line for name in units)]
    assert (done.returncode, ours) == (0, [])


@needs_systemd
@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_exposure_of_each_unit_is_the_documented_one(name: str) -> None:
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


def test_units_set_only_existing_settings() -> None:
    known = {name for setting in SETTINGS for name in (setting.name, f"{setting.name}_FILE")}
    given = [value for name in (*UNITS, "database.conf") for key, value in settings_of(name) if key == "Environment"]
    assert given
    assert {value.partition("=")[0] for value in given} <= known


def test_service_and_the_deletion_of_old_events_are_shut_in_alike() -> None:
    own = {
        *("After", "Wants", "Description", "Type", "ExecStart", "EnvironmentFile", "Environment", "LoadCredential"),
        "MemoryMax",
    }
    deletion = {line for line in settings_of(UNITS[1]) if line[0] not in own}
    assert {"NoNewPrivileges", "ProtectSystem"} <= dict(deletion).keys()
    assert deletion <= set(settings_of(UNITS[0]))


# What the units of an installation from one file and from a clone have in common.
SHARED = {
    *("Type", "ExecReload", "Restart", "RestartSec", "StartLimitIntervalSec", "TimeoutStartSec", "TimeoutStopSec"),
    *("KillMode", "MemoryMax", "OOMPolicy", "UMask", "LimitCORE", "NoNewPrivileges", "Wants", "WantedBy"),
}


def test_unit_of_the_single_file_has_the_same_limits() -> None:
    theirs = dict(re.findall(r"^(\w+)=(.*)$", single_file_unit(), re.MULTILINE))
    ours = dict(settings_of(UNITS[0]))
    assert {key: theirs.get(key) for key in SHARED} == {key: ours[key] for key in SHARED}
    assert theirs.keys() - SHARED == {"Description", "After", "User", "ExecStart"}
    assert (ours["TimeoutStartSec"], ours["UMask"]) == ("15min", "0077")


def wrapped(folder: Path, settings: str, *, has_service_url: bool = True, **environ: str) -> dict[str, str]:
    """The environment of a command that deploy/flags runs with this file of settings."""
    (folder / "settings").write_text(settings)
    if has_service_url:
        (folder / "service-url").write_text("postgresql://127.0.0.1/flags\n")
    text = (FOLDER / "flags").read_text().replace("/etc/flag-administration", str(folder))
    text = text.replace(f"{HOME}/flags", "/usr/bin/env")
    environ |= {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", text], env=environ, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_command_gets_the_settings_of_the_service_and_its_environment_replaces_them(tmp_path: Path) -> None:
    found = wrapped(tmp_path, "TRUSTED_PROXIES=1\nFRONTEND_ORIGINS='https://a.example, https://b.example'\n")
    assert (found["TRUSTED_PROXIES"], found["DATABASE_URL_FILE"]) == ("1", f"{tmp_path}/service-url")
    assert found["FRONTEND_ORIGINS"] == "https://a.example, https://b.example"
    assert "DATA_DIR" not in found
    given = {"DATABASE_POOLER": "none", "DATABASE_URL_FILE": "/a b/'c'"}
    found = wrapped(tmp_path, "DATABASE_POOLER=transaction\nPORT=80\n", **given)
    assert {name: found[name] for name in (*given, "PORT")} == given | {"PORT": "80"}
    found = wrapped(tmp_path, "", DATABASE_URL="postgresql://127.0.0.1/other")
    assert (found["DATABASE_URL"], found.get("DATABASE_URL_FILE")) == ("postgresql://127.0.0.1/other", None)


def test_command_without_a_database_server_finds_the_embedded_one(tmp_path: Path) -> None:
    found = wrapped(tmp_path, "", has_service_url=False)
    assert (found["DATA_DIR"], found.get("DATABASE_URL_FILE")) == ("/var/lib/flag-administration", None)
    assert wrapped(tmp_path, "", has_service_url=False, DATA_DIR="/srv/other")["DATA_DIR"] == "/srv/other"
