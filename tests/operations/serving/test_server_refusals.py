"""A refused start: exit status 1 and one clear sentence on stderr, without a traceback and without a password."""

import re
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from operations.postgres.migrate import DatabaseProblem
from operations.start import prepare_database_once
from serving.settings import SettingError
from tests.support.embedded_server import own_server
from tests.support.instance import address_of
from tests.support.service import GUNICORN, IMPORT, address_in, free_port, run_together

# They start many real processes.
pytestmark = pytest.mark.slow

PASSWORD = "s3cret-of-the-database"


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """The address of an embedded PostgreSQL, for a guest with a wrong password."""
    with own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as conn:
            conn.execute("CREATE ROLE guest LOGIN PASSWORD 'another'")
            rules = server.cluster / "pg_hba.conf"
            rules.write_text("local all guest scram-sha-256\n" + rules.read_text())
            conn.execute("SELECT pg_reload_conf()")
        yield address_in(server.folder).replace("postgres@", f"guest:{PASSWORD}@")


@pytest.fixture(scope="module")
def guest(server: str) -> Iterator[Callable[[str], str]]:
    """guest(url): the address of a database for a role that may only connect."""
    name = f"guest_{free_port()}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(name), PASSWORD))
        yield (
            lambda url: urlsplit(url)._replace(netloc=f"{name}:{PASSWORD}@{url.split('/')[2].split('@')[-1]}").geturl()
        )
        conn.execute(SQL("DROP ROLE {}").format(Identifier(name)))


def changed(url: str, statement: str) -> str:
    """Return the address of a database after this statement."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(statement)  # pyright: ignore
    return url


def test_a_database_that_cannot_be_used_is_refused_in_one_sentence(make_database, server, guest, locked):
    unreachable = r"The database cannot be reached: .+\."
    newer = r"The database has schema version \d+; this service supports versions up to \d+\. Upgrade the service\."
    no_rights = r"The role \w+ cannot create the schema: .+\. Run ./flags migrate as the owner of the schema\."
    refusals = {
        f"postgresql://u:{PASSWORD}@127.0.0.1:{free_port()}/x": unreachable,
        f"postgresql://u:{PASSWORD}@nowhere.invalid/x": unreachable,
        locked: unreachable,
        address_of(server, "absent"): unreachable,
        guest(changed(make_database(empty=True), "REVOKE CREATE ON SCHEMA public FROM PUBLIC")): no_rights,
        guest(make_database()): r"The database cannot be set up: .+\. Run ./flags doctor, and read .+\.",
        changed(make_database(), "UPDATE schema_version SET version = version + 1"): newer,
        changed(make_database(empty=True), "CREATE TABLE customers (id integer)"): (
            r"The database is not empty: it contains customers\. Use an empty database\."
        ),
    }
    # Two processes on one database would wait for each other and say so.
    for arguments in (GUNICORN, IMPORT):
        done = run_together([(arguments, {"DATABASE_URL": url, "PORT": free_port()}) for url in refusals])
        for process, sentence in zip(done, refusals.values(), strict=True):
            assert (process.returncode, process.stdout) == (1, ""), process.stderr
            assert re.fullmatch(sentence, process.stderr.removesuffix("\n")), process.stderr
            assert PASSWORD not in process.stderr


CONTENTS = """
    SELECT 'relation', relname FROM pg_class WHERE oid >= 16384
     UNION ALL
    SELECT 'function', proname FROM pg_proc WHERE oid >= 16384
     ORDER BY 1, 2
"""


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("CREATE FUNCTION iso(timestamptz) RETURNS text LANGUAGE sql RETURN ''", "The database is not empty: "),
        (
            "CREATE TABLE schema_version (version text)",
            "The database is not empty: it contains schema_version. Use an empty database.",
        ),
        ("DROP SCHEMA public", "The database cannot be set up: "),
    ],
)
def test_a_foreign_database_is_left_unchanged(make_database, statement, sentence):
    url = changed(make_database(empty=True), statement)
    with psycopg.connect(url, autocommit=True) as conn:
        before = conn.execute(CONTENTS).fetchall()
        with pytest.raises(DatabaseProblem, match=f"^{re.escape(sentence)}"):
            prepare_database_once({"DATABASE_URL": url})
        assert conn.execute(CONTENTS).fetchall() == before


def test_a_database_that_cannot_hold_every_text_is_refused(server):
    name = f"latin_{free_port()}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'").format(Identifier(name)))
        try:
            with pytest.raises(DatabaseProblem) as problem:
                prepare_database_once({"DATABASE_URL": address_of(server, name)})
        finally:
            conn.execute(SQL("DROP DATABASE {}").format(Identifier(name)))
    assert str(problem.value) == "The database has the encoding LATIN1. Use a database with the encoding UTF8."


# libpq quotes what it cannot read, and takes a piece of such a password for something else: a host, a port, a database.
@pytest.mark.parametrize(
    "template", ["postgresql://u:{}@127.0.0.1:{}/x", "postgresql://127.0.0.1:{1}/x?user=u&password={0}"]
)
def test_no_part_of_a_password_is_shown(template: str):
    for separator in ("%s", "/", "@", " ", "%2F", "%FF", "?", "#", ":", "="):
        with pytest.raises((SettingError, DatabaseProblem)) as problem:
            prepare_database_once({"DATABASE_URL": template.format(f"100{separator}3cret", free_port())})
        assert "cret" not in str(problem.value), separator


def test_a_taken_port_and_preloading_are_refused_before_a_database_is_created(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        given = {"DATA_DIR": tmp_path / "data", "DATABASE_URL": ""}
        early = ("-m", "gunicorn", "--preload", "wsgi:app")
        done = run_together([(GUNICORN, given | {"PORT": port}), (early, given | {"PORT": free_port()})])
    assert [(process.returncode, process.stdout, process.stderr) for process in done] == [
        (1, "", f"Cannot listen on 127.0.0.1:{port}: Address already in use. Set HOST or PORT to another value.\n"),
        (1, "", "Start gunicorn without --preload: the workers have to load the service themselves.\n"),
    ]
    assert not (tmp_path / "data").exists()
