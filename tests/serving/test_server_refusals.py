"""A refused start: exit status 1 and one clear sentence on stderr, without a traceback and without a password."""

import re
import socket
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from serving.settings import SettingError
from serving.start import prepare_database_once
from sql.database.migrate import DatabaseProblem
from tests.support.embedded_server import own_server
from tests.support.instance import address_of
from tests.support.service import GUNICORN, IMPORT, address_in, free_port, run_together

# They start many real processes.
pytestmark = pytest.mark.slow

PASSWORD = "s3cret-of-the-database"


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """The address of a embedded PostgreSQL that lets `guest` in with the right password alone."""
    with own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as conn:
            conn.execute("CREATE ROLE guest LOGIN PASSWORD 'another'")
            rules = server.cluster / "pg_hba.conf"
            rules.write_text("local all guest scram-sha-256\n" + rules.read_text())
            conn.execute("SELECT pg_reload_conf()")
        yield address_in(server.folder).replace("postgres@", f"guest:{PASSWORD}@")


@pytest.fixture(scope="module")
def guest(server: str) -> Iterator[str]:
    """A role on the tests' server that may connect, and nothing else."""
    name = f"guest_{free_port()}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(name), PASSWORD))
        yield name
        conn.execute(SQL("DROP ROLE {}").format(Identifier(name)))


def changed(url: str, *statements: str) -> str:
    """A database after these statements."""
    with psycopg.connect(url, autocommit=True) as conn:
        for statement in statements:
            conn.execute(statement)  # pyright: ignore
    return url


def by(role: str, url: str) -> str:
    """The address of a database for another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}:{PASSWORD}@{place}").geturl()


@pytest.fixture(scope="module")
def refusals(
    make_database: Callable[..., str], server: str, guest: str, locked: str
) -> dict[str, list[CompletedProcess[str]]]:
    """By what is wrong with the database: how gunicorn, and how an import of wsgi, refused it.

    Two processes on one database would wait for each other and say so.
    So all databases are tried at once, first by gunicorn, then by imports.
    """
    urls = {
        "no server": f"postgresql://u:{PASSWORD}@127.0.0.1:{free_port()}/x",
        "no host": f"postgresql://u:{PASSWORD}@nowhere.invalid/x",
        "wrong password": locked,
        "no database": address_of(server, "absent"),
        "no rights": by(guest, changed(make_database(empty=True), "REVOKE CREATE ON SCHEMA public FROM PUBLIC")),
        "newer": changed(make_database(), "UPDATE schema_version SET version = version + 1"),
        "other tables": changed(make_database(empty=True), "CREATE TABLE customers (id integer)"),
    }
    rounds = [
        run_together([(arguments, {"DATABASE_URL": url, "PORT": free_port()}) for url in urls.values()])
        for arguments in (GUNICORN, IMPORT)
    ]
    return dict(zip(urls, (list(done) for done in zip(*rounds, strict=True)), strict=True))


SENTENCES = {
    "no server": r"The database cannot be reached: .*Connection refused\.",
    "no host": r"The database cannot be reached: .*nowhere\.invalid.*\.",
    "wrong password": r'The database cannot be reached: .*password authentication failed for user "guest"\.',
    "no database": r'The database cannot be reached: .*database "absent" does not exist\.',
    "no rights": r"The role \w+ cannot create the schema: permission denied for schema public\. "
    r"Run ./flags migrate as the owner of the schema\.",
    "newer": r"The database has schema version \d+; this service supports versions up to \d+\. Upgrade the service\.",
    "other tables": r"The database is not empty: it contains customers\. Use an empty database\.",
}


@pytest.mark.parametrize("wrong", SENTENCES)
def test_a_database_that_cannot_be_used_is_refused_in_one_sentence(refusals, wrong):
    assert len(refusals[wrong]) == 2
    for done in refusals[wrong]:
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert re.fullmatch(SENTENCES[wrong], done.stderr.removesuffix("\n")), done.stderr
        assert PASSWORD not in done.stderr


# Other obstacles: the statements that create them, and the sentence about them.
OBSTACLES = {
    "a function": (
        "CREATE FUNCTION iso(timestamptz) RETURNS text LANGUAGE sql RETURN ''",
        'The database is not empty: function "iso" already exists with same argument types. Use an empty database.',
    ),
    "another tool's table": (
        "CREATE TABLE schema_version (version text)",
        "The database is not empty: it contains schema_version. Use an empty database.",
    ),
    "no schema": ("DROP SCHEMA public", "The database cannot be set up: no schema has been selected to create in."),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_foreign_database_is_left_unchanged(make_database, obstacle):
    statement, sentence = OBSTACLES[obstacle]
    url = changed(make_database(empty=True), statement)
    before = contents(url)
    with pytest.raises(DatabaseProblem) as problem:
        prepare_database_once({"DATABASE_URL": url})
    assert str(problem.value) == sentence
    assert contents(url) == before


def contents(url: str) -> list[tuple[str, ...]]:
    """All that somebody has made in a database."""
    with psycopg.connect(url) as conn:
        return conn.execute(
            """
            SELECT 'relation', relname FROM pg_class WHERE oid >= 16384
             UNION ALL
            SELECT 'function', proname FROM pg_proc WHERE oid >= 16384
             ORDER BY 1, 2
            """
        ).fetchall()


def test_missing_read_rights_are_reported(make_database, guest):
    with pytest.raises(DatabaseProblem, match=r"^The database cannot be set up: permission denied for table \w+\.$"):
        prepare_database_once({"DATABASE_URL": by(guest, make_database())})


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
    "password",
    [
        "100%s3cret",
        "s3/cret",
        "s3@cret",
        "s3 cret",
        "s3%2Fcret",
        "s3%FFcret",
        "s3?cret",
        "s3#cret",
        "s3:cret",
        "s3=cret",
    ],
)
@pytest.mark.parametrize(
    "template", ["postgresql://u:{}@127.0.0.1:{}/x", "postgresql://127.0.0.1:{1}/x?user=u&password={0}"]
)
def test_no_part_of_a_password_is_shown(template: str, password: str):
    with pytest.raises((SettingError, DatabaseProblem)) as problem:
        prepare_database_once({"DATABASE_URL": template.format(password, free_port())})
    assert "cret" not in str(problem.value)


def test_a_port_that_is_taken_is_refused_before_a_database_is_made(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (done,) = run_together([(GUNICORN, {"PORT": port, "DATA_DIR": tmp_path / "data", "DATABASE_URL": ""})])
    assert done.returncode == 1
    assert (
        done.stderr
        == f"Cannot listen on 127.0.0.1:{port}: Address already in use. Set HOST or PORT to another value.\n"
    )
    assert not (tmp_path / "data").exists()


def test_preloading_is_refused_before_a_database_is_made(tmp_path):
    early = ("-m", "gunicorn", "--preload", "wsgi:app")
    (done,) = run_together([(early, {"PORT": free_port(), "DATA_DIR": tmp_path / "data", "DATABASE_URL": ""})])
    sentence = "Start gunicorn without --preload: the workers have to load the service themselves.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
    assert not (tmp_path / "data").exists()
