"""The operating-system user that runs the embedded PostgreSQL when we are root. PostgreSQL refuses to run as root."""

import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

FIRST_OWN_UID = 25432


@dataclass(frozen=True)
class Account:
    """A user, and the command line that switches to it (prefix)."""

    uid: int
    gid: int
    prefix: tuple[str, ...]


def account_for(folder: Path, program: Path) -> Account:
    """Return the user that runs the program for root: the owner of data or DATA_DIR, else postgres, else a new uid."""
    for path in (folder / "postgres", folder):
        if path.exists() and path.stat().st_uid != 0:
            return account(path.stat().st_uid, path.stat().st_gid, folder, program)
    uids = {user.pw_name: user.pw_uid for user in pwd.getpwall()}
    if "postgres" in uids:
        return account(*pwd.getpwnam("postgres")[2:4], folder, program)
    own = next(uid for uid in range(FIRST_OWN_UID, 2**31) if uid not in uids.values())
    return account(own, own, folder, program)


def account(uid: int, gid: int, folder: Path, program: Path) -> Account:
    """Return the user with these ids, with access to the program and to DATA_DIR."""
    prefix = ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
    probe = ["sh", "-c", 'cd "$1" && "$2" --version', "sh", str(folder), str(program)]
    if subprocess.run([*prefix, *probe], cwd="/", capture_output=True).returncode != 0:
        # The path leads through a folder that only root can enter, such as /root. Allow the server to enter it too.
        # Without the security bit, access() ignores the capability, and initdb finds no other program.
        capability = ("--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
        prefix = (*prefix, *capability)
    return Account(uid, gid, prefix)
