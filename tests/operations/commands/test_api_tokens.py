"""flags api-token: create, list, revoke."""

import hashlib
import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from sql.database import connect
from tests.support import fixtures
from tests.support.command_line import CommandLine, event, only_line, run_flags, run_flags_at_terminal
from tests.support.races import wait_for
from tests.support.world import Caller

CREATE = ("api-token", "create", "--name")


@pytest.fixture(scope="module")
def line(make_database, make_app):
    """The command line on a database with projects apollo and gemini."""
    url = make_database()
    with connect(url) as conn:
        fixtures.insert_project(conn, "apollo", "Apollo")
        fixtures.insert_project(conn, "gemini", "Gemini")
        yield CommandLine(make_app(url), conn)


def newest(line):
    """The row of the newest token, with its projects."""
    return line.rows(
        "SELECT *, ARRAY(SELECT project_id FROM api_key_projects WHERE api_key_id = id ORDER BY 1) AS projects"
        "  FROM api_keys ORDER BY id DESC LIMIT 1"
    )[0]


def logged(row):
    """What the log says of a token that has not been used."""
    created, ends = (
        at and at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for at in (row["created_at"], row["expires_at"])
    )
    projects = row["projects"] or ["*"]
    return {
        "tokenName": row["name"],
        "username": row["name"],
        "type": row["kind"],
        "environment": row["environment"] or "*",
        "project": ",".join(projects),
        "projects": projects,
        "createdAt": created,
        "expiresAt": ends,
        "seenAt": None,
        "alias": None,
    }


def test_an_admin_token_works_and_is_kept_as_a_digest(line):
    results = []
    events = line.events_of(lambda: results.append(line.run(*CREATE, "deploy", "--type", "admin")))
    key = results[0].stdout.removesuffix("\n")
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}", key)
    assert key not in results[0].stderr
    row = newest(line)
    assert (row["name"], row["kind"], row["environment"], row["projects"]) == ("deploy", "admin", None, [])
    assert (row["secret"], row["expires_at"]) == (None, None)
    assert bytes(row["digest"]) == hashlib.sha256(key.encode()).digest()
    assert events == [event("api-token-created", project="*", environment="*", data=logged(row))]
    assert Caller(line.app, key).get("/api/admin/projects/default/overview").status_code == 200


@pytest.mark.parametrize(
    ("kind", "options", "environment", "kept", "prefix"),
    [
        ("client", (), "development", [], "*:development."),
        ("FRONTEND", (), "development", [], "*:development."),
        (
            "client",
            ("--environment", "production", "--project", "apollo"),
            "production",
            ["apollo"],
            "apollo:production.",
        ),
        (
            "client",
            ("--project", "gemini", "--project", "apollo", "--project", "gemini"),
            "development",
            ["apollo", "gemini"],
            "[]:development.",
        ),
        ("client", ("--project", "apollo", "--project", "*"), "development", [], "*:development."),
        ("admin", ("--environment", "*", "--project", "*"), None, [], None),
    ],
)
def test_a_token_has_an_environment_and_projects(line, kind, options, environment, kept, prefix):
    events = line.events_of(lambda: line.does(*CREATE, "sdk", "--type", kind, *options))
    row = newest(line)
    assert (row["kind"], row["environment"], row["projects"]) == (kind.lower(), environment, kept)
    if prefix:
        assert re.fullmatch(rf"{re.escape(prefix)}[0-9a-f]{{64}}", row["secret"])
    assert events == [
        event("api-token-created", project=",".join(kept) or "*", environment=environment or "*", data=logged(row))
    ]


def test_a_token_can_expire(line):
    done = line.run(*CREATE, "brief", "--type", "admin", "--expires", "2099-02-03T04:05:06+02:00")
    row = newest(line)
    assert row["expires_at"] == datetime(2099, 2, 3, 2, 5, 6, tzinfo=UTC)
    until = "which is valid until 2099-02-03T02:05:06.000Z"
    assert done.stderr == f"Created admin token {row['id']}, {until}. It is shown only once:\n"
    key = line.does(*CREATE, "late", "--type", "admin", "--expires", "2020-01-01T00:00:00Z").strip()
    assert Caller(line.app, key).get("/api/admin/insights").status_code == 401


@pytest.mark.parametrize("kind", ["client", "admin"])
@pytest.mark.parametrize("from_stdin", [False, True])
def test_a_secret_from_a_file_is_not_printed(line, tmp_path, kind, from_stdin):
    secret, file = f"{kind}-{from_stdin}-0123456789abcdef", tmp_path / "secret"
    file.write_text(f"{secret}\n")
    args = (*CREATE, "moved", "--type", kind, "--secret-file", "-" if from_stdin else str(file))
    results = []
    [logged_event] = line.events_of(lambda: results.append(line.run(*args, input=f"{secret}\n")))
    row = newest(line)
    assert (results[0].stdout, results[0].stderr) == ("", f"Created {kind} token {row['id']}.\n")
    assert row["secret"] == (secret if kind == "client" else None)
    assert bytes(row["digest"]) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(logged_event)
    assert line.refuses(*args, input=f"{secret}\n") == "secret: an API token with this secret already exists"


@pytest.mark.parametrize("secret", ["", "x" * 15, "x" * 256, "a secret with spaces in it", "control\x07character"])
def test_an_invalid_secret_is_refused(line, secret):
    message = line.refuses(*CREATE, "x", "--type", "client", "--secret-file", "-", input=secret)
    assert message == "secret: must have 16 to 255 printable characters without spaces"


def test_a_secret_file_of_several_lines_is_refused(line):
    message = line.refuses(*CREATE, "x", "--type", "client", "--secret-file", "-", input="x" * 20 + "\n" + "y" * 20)
    assert message == "The secret file must have exactly one line."


def test_the_limit_for_tokens_holds_for_commands(with_settings):
    message = with_settings(MAX_API_TOKENS=1).refuses(*CREATE, "x", "--type", "client")
    assert message.startswith("There can be at most 1 API token in this instance.")


NO_ENVIRONMENT = "environment: must be an existing environment"


@pytest.mark.parametrize(
    ("name", "kind", "options", "message"),
    [
        (
            "x",
            "admin",
            ("--environment", "development"),
            "environment: must be omitted: admin tokens are for all environments",
        ),
        ("x", "admin", ("--project", "default"), "projects: must be omitted: admin tokens are for all projects"),
        ("x", "client", ("--environment", "moon"), NO_ENVIRONMENT),
        ("x", "client", ("--environment", "*"), NO_ENVIRONMENT),
        ("x", "client", ("--environment", "Production"), NO_ENVIRONMENT),
        ("x", "client", ("--environment", "a\udcff"), "environment: must not contain lone surrogates"),
        (
            "x",
            "frontend",
            ("--project", "x\n", "--project", "default", "--project", "moon"),
            r"projects: unknown projects: x\n, moon",
        ),
        ("x", "client", ("--project", "a\udcff"), "projects.0: must not contain lone surrogates"),
        (
            "x",
            "client",
            ("--expires", "2030-01-01"),
            "expires: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
        ("", "admin", (), "name: must not be empty"),
        ("x" * 256, "admin", (), "name: must be at most 255 characters long"),
    ],
)
def test_an_invalid_token_is_refused(line, name, kind, options, message):
    assert line.refuses(*CREATE, name, "--type", kind, *options) == message


@pytest.mark.parametrize(
    "args",
    [
        ("create", "--name", "x"),
        ("create", "--type", "admin"),
        ("create", "--name", "x", "--type", "root"),
        *(("revoke", "--", key_id) for key_id in ("0", "-1", "x", "1.5")),
    ],
)
def test_a_missing_or_invalid_argument_is_a_usage_error(line, args):
    before = line.everything()
    assert line.run("api-token", *args).exit_code == 2
    assert line.everything() == before


def test_list_shows_everything_but_the_secret(line):
    options = ("--project", "gemini", "--project", "apollo", "--expires", "2099-01-01T00:00:00Z")
    key = line.does(*CREATE, "a name of many words", "--type", "client", *options).strip()
    row = newest(line)
    line.conn.execute("UPDATE api_keys SET seen_at = '2026-05-04T03:02:01Z' WHERE id = %s", [row["id"]])
    entries = line.lists("api-token")
    more = {"id": row["id"], "seenAt": "2026-05-04T03:02:01.000Z", "state": "active"}
    assert entries[-1] == logged(row) | more
    lines = line.does("api-token", "list").splitlines()
    assert lines[0].split("  ")[0] == "ID"
    for heading, cell in {
        "NAME": "a name",
        "TYPE": "client",
        "ENVIRONMENT": "development",
        "PROJECTS": "apollo",
        "EXPIRES": "2099-01-01",
    }.items():
        assert lines[-1][lines[0].index(heading) :].startswith(cell)
    assert len(lines) == 1 + len(entries)
    for form in ([], ["--json"]):
        assert key.split(".")[1] not in line.does("api-token", "list", *form)


@pytest.mark.parametrize("options", [("client", "--project", "gemini", "--project", "apollo"), ("admin",)])
def test_revoke_ends_a_token(line, options):
    key = line.does(*CREATE, "brief", "--type", *options).strip()
    row = newest(line)
    data = logged(row)
    events = line.events_of(lambda: line.does("api-token", "revoke", str(row["id"])))
    assert line.rows("SELECT FROM api_keys WHERE id = %s", row["id"]) == []
    assert line.rows("SELECT FROM api_key_projects WHERE api_key_id = %s", row["id"]) == []
    assert events == [
        event("api-token-deleted", project=data["project"], environment=data["environment"], pre_data=data)
    ]
    assert Caller(line.app, key).get("/api/admin/insights").status_code == 401
    for number in (str(row["id"]), "9" * 30):
        assert line.refuses("api-token", "revoke", number) == f"No API token has the id {number}."


def test_a_token_being_deleted_is_not_revoked(line, url):
    line.does(*CREATE, "brief", "--type", "admin")
    key_id = newest(line)["id"]
    is_going = threading.Event()

    def others_delete():
        with connect(url) as other, other.transaction():
            other.execute("DELETE FROM api_keys WHERE id = %s", [key_id])
            is_going.set()
            wait_for(line.conn, [Future()])

    def revoke():
        with ThreadPoolExecutor(1) as others:
            deletion = others.submit(others_delete)
            assert is_going.wait(20)
            message = only_line(line.run("api-token", "revoke", str(key_id)).stderr)
            assert message == f"No API token has the id {key_id}."
            deletion.result()

    assert line.events_of(revoke) == []


def test_the_last_valid_admin_token_needs_yes(own):
    own.does(*CREATE, "sdk", "--type", "client")
    client = newest(own)["id"]
    own.does(*CREATE, "old", "--type", "admin")
    expired = newest(own)["id"]
    own.conn.execute("UPDATE api_keys SET expires_at = now() WHERE id = %s", [expired])
    refusal = "Token 1 is the last valid admin token. To delete it, use --yes."
    assert own.refuses("api-token", "revoke", "1") == refusal
    # Neither of these is the last one: another admin token is valid, or it is no admin token.
    own.does("api-token", "revoke", str(expired))
    own.does("api-token", "revoke", str(client))
    assert own.refuses("api-token", "revoke", "1") == refusal
    assert own.does("api-token", "revoke", "--yes", "1") == "Deleted admin token 1.\n"
    assert own.rows("SELECT FROM api_keys") == []


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status", "left"), [("n", 1, 1), ("", 1, 1), ("y", 0, 0)])
def test_a_terminal_asks_before_the_last_admin_token(own, answer, status, left):
    url, asked = own.app.config["DATABASE_URL"], "Token 1 is the last valid admin token. Delete it? [y/N]: "
    done, _ = run_flags_at_terminal("api-token", "revoke", "1", typed=[(asked, answer)], DATABASE_URL=url)
    assert (done, len(own.rows("SELECT FROM api_keys"))) == (status, left)


@pytest.mark.slow
def test_the_real_program_prints_only_the_token_on_stdout(line, url):
    done = run_flags(*CREATE, "ci", "--type", "admin", DATABASE_URL=url)
    assert done.returncode == 0
    assert Caller(line.app, done.stdout.removesuffix("\n")).get("/api/admin/insights").status_code == 200
