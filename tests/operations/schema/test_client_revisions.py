"""client_revisions: which events raise which revisions, at the commit."""

import pytest

from rules.access import digest
from rules.api_tokens import new_secret
from sql.client import tokens
from sql.database import connect, rows
from sql.tokens import api_tokens

INSERT = "INSERT INTO events (type, created_by, project, environment) VALUES (%s, 'test', %s, %s)"


@pytest.fixture(scope="module")
def url(make_database):
    """The address of a database of its own."""
    return make_database()


@pytest.fixture
def conn(url):
    """A connection without revisions."""
    with connect(url) as conn:
        conn.execute("TRUNCATE client_revisions")
        yield conn


def revisions(conn):
    """The revisions by project and environment."""
    return {
        (row["project_id"], row["environment"]): row["revision"] for row in rows(conn, "SELECT * FROM client_revisions")
    }


def revision(conn, token):
    """The revision of a token, by its digest."""
    return (tokens.find(conn, token) or {})["revision"]


def test_a_transaction_raises_each_revision_once_at_the_commit(conn):
    with conn.transaction(force_rollback=True):
        conn.execute(INSERT, ["feature-archived", "a", None])
        assert revisions(conn) == {}
    for _ in range(2):
        with conn.transaction():
            for place in (("a", "x"), ("b", "x"), ("a", "x"), ("a", None), (None, "x"), (None, None)):
                conn.execute(INSERT, ["feature-environment-enabled", *place])
            with conn.transaction():
                conn.execute(INSERT, ["feature-strategy-add", "c", "x"])
            # Other events of the transaction do not count.
            conn.execute(INSERT, ["tag-created", "d", "x"])
    assert revisions(conn) == {("a", "x"): 2, ("b", "x"): 2, ("a", ""): 2, ("", "x"): 2, ("", ""): 2, ("c", "x"): 2}


@pytest.mark.parametrize(
    ("type", "raised"),
    [
        # A flag that moves changes all projects.
        ("feature-project-change", {("", ""): 1}),
        ("feature-favorited", {}),
        ("feature-unfavorited", {}),
        ("user-created", {}),
        ("project-updated", {}),
    ],
)
def test_the_type_of_an_event_decides_which_revision_it_raises(conn, type, raised):
    conn.execute(INSERT, [type, "a", None])
    assert revisions(conn) == raised


def test_transactions_that_raise_the_same_revisions_do_not_deadlock(conn, url):
    with connect(url) as other:
        for first, second in ((conn, other), (other, conn)):
            for connection, places in ((first, "ab"), (second, "ba")):
                connection.execute("BEGIN")
                for place in places:
                    connection.execute(INSERT, ["feature-tagged", place, None])
            first.execute("COMMIT")
            second.execute("COMMIT")
    assert revisions(conn) == {("a", ""): 4, ("b", ""): 4}


def test_the_revision_of_a_token_sees_a_change_that_commits_late(conn, url):
    secret = new_secret()
    api_tokens.insert(conn, secret, name="test", kind="client", environment="development")
    with connect(url) as late:
        late.execute("BEGIN")
        late.execute(INSERT, ["feature-archived", "default", None])
        conn.execute(INSERT, ["feature-archived", "default", None])
        seen = revision(conn, digest(secret))
        late.execute("COMMIT")
    assert revision(conn, digest(secret)) > seen


def test_the_revision_of_a_token_is_that_of_its_environment_and_projects(conn):
    conn.execute("INSERT INTO projects (id, name) VALUES ('a', 'A'), ('b', 'B') ON CONFLICT DO NOTHING")
    bound = {"development": "development", "all": None}
    made = {}
    for projects in ((), ("a",), ("a", "b")):
        for name, environment in bound.items():
            secret = new_secret()
            kind = "client" if environment else "admin"
            api_tokens.insert(conn, secret, name="test", kind=kind, environment=environment, projects=projects)
            made[name, projects] = digest(secret)

    def raised_by(*place):
        before = {key: revision(conn, found) for key, found in made.items()}
        conn.execute(INSERT, ["feature-archived", *place])
        return {key for key, found in made.items() if revision(conn, found) > before[key]}

    of_all = {("all", ()), ("development", ())}
    of_a = {(name, projects) for name in bound for projects in (("a",), ("a", "b"))}
    of_two = {(name, ("a", "b")) for name in bound}
    assert raised_by(None, None) == raised_by(None, "development") == set(made)
    assert raised_by("a", None) == raised_by("a", "development") == of_all | of_a
    assert raised_by("b", None) == of_all | of_two
    assert raised_by("b", "production") == {("all", ()), ("all", ("a", "b"))}
    assert raised_by("c", "production") == {("all", ())}
