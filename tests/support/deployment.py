"""The database of docs/how-to/deploy.md for a test, set up by the SQL of the page and by its owner, under names of its
own.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from app import create_app
from operations import bootstrap
from operations.postgres.embedded import BINARIES
from tests.support.instance import SETTINGS
from tests.support.service import PATIENCE, ROOT

PAGE = ROOT / "docs" / "how-to" / "deploy.md"
ROLES = ROOT / "deploy" / "roles.sql"
GRANTS = ROOT / "deploy" / "grants.sql"
PSQL = BINARIES / "psql"


@dataclass(frozen=True)
class Deployment:
    """A database and its roles. server: a superuser's address; suffix: the difference between their names and those of
    the page.
    """

    server: str
    suffix: str

    @property
    def database(self) -> str:
        return f"flags_{self.suffix}"

    def renamed(self, script: str) -> str:
        """A script of the page with the names of this database and its roles."""
        script = re.sub(r"\bflags_(owner|service|prune)\b", rf"flags_\1_{self.suffix}", script)
        return re.sub(r"(DATABASE |connect |--dbname=)flags\b", rf"\1{self.database}", script)

    def address(self, role: str | None = None) -> str:
        """The address of the database, for one of its roles; None: for the superuser."""
        parts = urlsplit(self.server)
        place = parts.netloc.rpartition("@")[2]
        user = parts.netloc if role is None else f"flags_{role}_{self.suffix}:secret@{place}"
        return urlunsplit(parts._replace(netloc=user, path=f"/{self.database}"))

    def psql(self, path: Path, role: str | None = None) -> str:
        """What psql says of a file of ours, run by a role; None: by the superuser, in a database that is not ours."""
        command = [PSQL, "--no-psqlrc", "--set=ON_ERROR_STOP=1", self.address(role) if role else self.server]
        script = self.renamed(path.read_text(encoding="utf-8"))
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


ROLE_NAMES = ("owner", "service", "prune")


@contextmanager
def deployment(server: str) -> Iterator[Deployment]:
    """The database of the page and its roles, set up and granted, dropped at the end."""
    with dropped(server) as deployed:
        deployed.psql(ROLES)
        with psycopg.connect(server, autocommit=True) as conn:
            for role in ROLE_NAMES:
                # For servers that ask for passwords. Other servers ignore them.
                conn.execute(deployed.renamed(f"ALTER ROLE flags_{role} PASSWORD 'secret'"))  # pyright: ignore
        bootstrap.prepare_database(deployed.address("owner"), create_app(SETTINGS).config)
        deployed.psql(GRANTS, "owner")
        yield deployed


@contextmanager
def dropped(server: str) -> Iterator[Deployment]:
    """Unused names on the server. At the end, roles and databases with these names are dropped."""
    deployed = Deployment(server, uuid4().hex[:8])
    try:
        yield deployed
    finally:
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(f"DROP DATABASE IF EXISTS {deployed.database} WITH (FORCE)")  # pyright: ignore
            for role in ROLE_NAMES:
                conn.execute(deployed.renamed(f"DROP ROLE IF EXISTS flags_{role}"))  # pyright: ignore
