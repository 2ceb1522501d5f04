"""flags doctor: its checks, what it calls FAIL, and its exit status; and flags schema-diff."""

import os
import re
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from threading import Thread
from urllib.parse import quote

import pytest

from operations.commands import doctor, program
from operations.postgres import embedded, migrate
from sql.database import connect, value
from sql.people import groups, users
from tests.support import fixtures
from tests.support.command_line import CommandLine, run_flags
from tests.support.embedded_server import own_server
from tests.support.identity_provider import identity_provider
from tests.support.mail_server import mail_server
from tests.support.service import wait_until
from tests.support.silent_proxy import Proxy
from tests.support.standby import standby_of

SUBJECTS = "settings,service,database,connections,privileges,schema,search,event log,administrators".split(",")
GRANTS = "Run deploy/grants.sql (docs/how-to/deploy.md)."
BEHIND = {"BASE_URL": "https://flags.example.org", "TRUSTED_PROXIES": 1}
PROXY = {"AUTH_PROXY_HEADER": "Remote-User", "AUTH_PROXY_NETWORKS": (ip_network("10.0.0.0/24"),)}
SOUND = (0, "ok", "All settings are valid.")
STREAMED = "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() + 17000000"


@pytest.fixture(scope="module")
def line(make_database, make_app):
    """The command line on a database that is set up; who changes it changes it back."""
    url = make_database()
    with connect(url) as conn:
        # No service has the port 1.
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12, PORT=1), conn)


def examine(line):
    """The exit status, and grade, subject and sentence of every line. It changes nothing."""
    before = line.everything()
    result = line.run("doctor")
    assert line.everything() == before
    assert result.stderr == ""
    return result.exit_code, parsed(result.stdout)


def parsed(text):
    """Grade, subject and sentence of every line."""
    return [(row[:4].strip(), row[6:20].strip(), row[22:]) for row in text.splitlines()]


def of(text, wanted):
    """Grade and sentence of each line about a subject."""
    return [(grade, sentence) for grade, subject, sentence in parsed(text) if subject == wanted]


def about(line, subject):
    """The exit status, and grade and sentence of the only line about a subject."""
    status, found = examine(line)
    [(grade, sentence)] = [(grade, sentence) for grade, of, sentence in found if of == subject]
    return status, grade, sentence


def test_a_sound_instance_has_a_line_for_each_check(line):
    status, found = examine(line)
    assert (status, [subject for _, subject, _ in found]) == (0, SUBJECTS)
    # The server of the tests may lose data in a power cut, so that the tests are fast.
    assert all(grade == "ok" for grade, subject, _ in found if subject not in ("search", "database", "service"))
    assert all(sentence[0].isupper() or sentence[0].isdigit() for _, _, sentence in found)


# Settings


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"BASE_URL": "http://flags.example.org"}, "BASE_URL is http://flags.example.org"),
        ({"BASE_URL": "http://192.0.2.1:4242"}, "BASE_URL"),
        ({"BASE_URL": "http://0.0.0.0:4242"}, "BASE_URL is http://0.0.0.0:4242: links with it work"),
        ({"BASE_URL": "http://[::]:4242"}, "BASE_URL is http://[::]:4242: links with it work"),
        ({"BASE_URL": "https://flags.example.org"}, "TRUSTED_PROXIES is 0"),
        ({"HOST": "0.0.0.0"}, "HOST is 0.0.0.0"),
        ({"BASE_URL": "http://localhost", "TRUSTED_PROXIES": 1}, "TRUSTED_PROXIES is 1"),
        ({"BCRYPT_ROUNDS": 11}, "BCRYPT_ROUNDS is 11"),
        ({"INIT_ADMIN_PASSWORD": "Unleash4all"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        (
            {"INIT_ADMIN_PASSWORD": "AdaLovelace1815", "INIT_ADMIN_USERNAME": "adalovelace1815"},
            "INIT_ADMIN_PASSWORD is easy to guess",
        ),
        ({"INIT_ADMIN_PASSWORD": "eleven_long"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        ({"INIT_ADMIN_PASSWORD": "Administrator"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        ({"INIT_ADMIN_API_TOKENS": ("*:*.unleash-insecure-admin-api-token",)}, "INIT_ADMIN_API_TOKENS contains"),
        ({"INIT_ADMIN_API_TOKENS": ("x" * 40, "y" * 31)}, "INIT_ADMIN_API_TOKENS contains"),
        (PROXY | {"AUTH_PROXY_NETWORKS": (ip_network("10.0.0.0/23"),)}, "AUTH_PROXY_NETWORKS is large: each of 512"),
        (PROXY | {"AUTH_PROXY_NETWORKS": (ip_network("fd00::/64"),)}, "AUTH_PROXY_NETWORKS is large"),
        (PROXY | BEHIND | {"HOST": "0.0.0.0"}, "HOST is 0.0.0.0, but only the proxy"),
        (PROXY | BEHIND | {"HOST": "::"}, "HOST is ::, but only the proxy"),
        (PROXY, None),
        (PROXY | {"AUTH_PROXY_NETWORKS": (ip_network("10.0.0.0/23"),), "AUTH_PROXY_SECRET": "x" * 16}, None),
        ({"BASE_URL": "http://127.0.0.5:4242"}, None),
        ({"BASE_URL": "http://[::1]:4242"}, None),
        ({"BASE_URL": "http://unleash.localhost"}, None),
        ({"BASE_URL": "https://flags.example.org", "TRUSTED_PROXIES": 1}, None),
        ({"HOST": "0.0.0.0", "BASE_URL": "https://flags.example.org", "TRUSTED_PROXIES": 3}, None),
        ({"HOST": "::1", "BCRYPT_ROUNDS": 13}, None),
        ({"INIT_ADMIN_PASSWORD": "twelve__long", "INIT_ADMIN_API_TOKENS": ("x" * 32,)}, None),
        ({"INIT_ADMIN_PASSWORD": None, "INIT_ADMIN_API_TOKENS": None}, None),
    ],
)
def test_a_weak_setting_is_a_warning(with_settings, settings, named):
    status, grade, sentence = about(with_settings(**settings), "settings")
    assert (status, grade) == (0, "warn" if named else "ok")
    assert sentence.startswith(named or "All settings are valid.")
    assert not any(secret in sentence for secret in ("nleash4all", "eleven_long", "y" * 31, "unleash-insecure"))


def test_the_mail_server_is_checked(with_settings):
    with mail_server() as inbox:
        line = with_settings(**inbox.settings)
        assert about(line, "mail") == (0, "ok", "127.0.0.1 is ready to accept e-mails.")
    status, grade, sentence = about(line, "mail")
    assert (status, grade) == (0, "warn")
    assert sentence.startswith("127.0.0.1 accepts no e-mails: ConnectionRefusedError: ")


def test_the_identity_provider_is_checked(with_settings):
    with identity_provider() as provider:
        line = with_settings(**provider.settings)
        assert about(line, "single sign-on") == (0, "ok", f"{provider.url} answers.")
        provider.discovery = {"issuer": "https://other.example"}
        wrong = f"The identity provider calls itself https://other.example, but OIDC_ISSUER is {provider.url}."
        assert about(with_settings(**provider.settings), "single sign-on") == (1, "FAIL", wrong)
    status, grade, sentence = about(with_settings(**provider.settings), "single sign-on")
    assert (status, grade, "Connection refused" in sentence) == (1, "FAIL", True)


def test_google_needs_domains(line):
    config = dict(line.app.config) | {"OIDC_ISSUER": "https://accounts.google.com"}
    assert [sentence[:26] for sentence in doctor.weak_settings(config)] == ["OIDC_EMAIL_DOMAINS is empt"]
    assert list(doctor.weak_settings(config | {"OIDC_EMAIL_DOMAINS": ("a.example",)})) == []


def test_the_role_of_new_users_must_exist(with_settings):
    proxy = {"AUTH_PROXY_HEADER": "Remote-User", "AUTH_PROXY_NETWORKS": ()}
    sentence = "They cannot log in, because SSO_ROLE is Owner: no root role has this name."
    assert about(with_settings(SSO_ROLE="Owner", **proxy), "new users") == (0, "warn", sentence)
    for settings in (proxy, {"SSO_ROLE": "Owner"}):
        assert "new users" not in [subject for _, subject, _ in examine(with_settings(**settings))[1]]


def test_tokens_that_expire_soon_or_have_expired_are_named(line):
    soon = (datetime.now(UTC) + timedelta(days=6)).isoformat(timespec="seconds")
    line.does("api-token", "create", "--name", "edge", "--type", "admin", "--expires", soon)
    assert about(line, "API tokens") == (0, "warn", "These expire within 7 days: edge.")
    assert line.lists("api-token")[-1]["state"] == "active"
    line.conn.execute("UPDATE api_keys SET expires_at = now() WHERE name = 'edge'")
    assert about(line, "API tokens") == (0, "warn", "These have expired: edge. Replace or delete them.")
    assert line.lists("api-token")[-1]["state"] == "expired"
    line.does("api-token", "revoke", str(line.lists("api-token")[-1]["id"]))


def test_stopped_schedules_are_named(line):
    add = """
        INSERT INTO change_requests (project_id, environment, title, state, created_by_user_id, scheduled_at,
                                     scheduled_by_user_id, schedule_status, schedule_reason)
        SELECT 'default', 'production', '', 'Scheduled', 1, now(), 1, status, reason
          FROM (VALUES ('failed', 'x'), ('suspended', 'x'), ('pending', NULL)) AS stopped (status, reason)
    """
    with line.altered(add, "TRUNCATE change_requests RESTART IDENTITY CASCADE"):
        found = about(line, "schedules")
    problem = "The schedules of these change requests failed or are suspended: 2 (project default), 1 (project default)"
    assert found == (0, "warn", f"{problem}. Their pages say why.")


def test_the_service_is_asked(with_settings, tmp_path):
    statuses = [200, 503]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(statuses.pop(0))
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        line, address = (
            with_settings(PORT=server.server_port, DATA_DIR=str(tmp_path)),
            f"http://127.0.0.1:{server.server_port}",
        )
        unhealthy = f"{address} answers /health with 503 instead of 200."
        for found in ((0, "ok", f"It responds at {address}."), (1, "FAIL", unhealthy)):
            asked = Thread(target=server.handle_request)
            asked.start()
            assert about(line, "service") == found
            asked.join()
        # It hangs: no server handles the request.
        hangs = f"{address} does not respond: timed out. If the service runs, restart it."
        assert about(line, "service") == (1, "FAIL", hangs)
    advice = "Start the service, or set HOST and PORT to those of the running service."
    assert about(line, "service") == (0, "warn", f"Nothing answers at {address}. {advice}")


def test_service_on_another_port_of_this_data_folder_is_named(with_settings, tmp_path):
    (tmp_path / "address").write_text("http://127.0.0.1:4510\n")
    found = about(with_settings(DATA_DIR=str(tmp_path), PORT=1), "service")
    assert found[2].endswith(" The service of this data folder was started last at http://127.0.0.1:4510.")


@pytest.mark.parametrize(
    ("free", "found"),
    [
        (2**30, ("ok", "disk", "1.0 GB are free in data.")),
        (100 * 2**20, ("warn", "disk", "0.1 GB are free in data.")),
        (12 * 2**20, ("FAIL", "disk", "12 MB are free in data. When it is full, changes and logins fail")),
    ],
)
def test_a_full_disk_is_a_failure(free, found):
    grade, subject, sentence = doctor.disk_finding(free, "data")
    assert (grade, subject, sentence[: len(found[2])]) == found


def test_every_invalid_setting_is_named(line, monkeypatch):
    for name, text in {
        "PORT": "x",
        "THREADS": "0",
        "PASSWORD_MIN_LENGTH": "30",
        "INIT_ADMIN_PASSWORD": "too short",
        "HOST": "::1",
    }.items():
        monkeypatch.setenv(name, text)
    status, found = examine(line)
    assert status == 1
    assert [(grade, sentence) for grade, subject, sentence in found if subject == "settings"] == [
        ("FAIL", "The setting PORT must be a whole number from 1 to 65535."),
        ("FAIL", "The setting THREADS must be a whole number from 1 to 512."),
        ("FAIL", "The setting INIT_ADMIN_PASSWORD must be at least 30 characters long."),
    ]
    assert [subject for _, subject, _ in found if subject != "settings"] == SUBJECTS[1:]


def test_settings_of_the_environment(line, monkeypatch):
    """A password is as long as another setting asks, a misspelt name is a warning, and no invalid address is tried."""
    monkeypatch.setenv("PASSWORD_MIN_LENGTH", "5")
    monkeypatch.setenv("INIT_ADMIN_PASSWORD", "12345")
    assert about(line, "settings") == SOUND
    monkeypatch.setenv("DATABSE_URL", "x")
    assert about(line, "settings") == (0, "warn", "DATABSE_URL is not a setting. Did you mean DATABASE_URL?")
    monkeypatch.delenv("DATABSE_URL")
    monkeypatch.setenv("DATABASE_URL", "mysql://root:the-secret@127.0.0.1")
    status, found = examine(line)
    assert (status, [(grade, subject) for grade, subject, _ in found]) == (1, [("FAIL", "settings")])
    assert "the-secret" not in str(found)


# The connection


@pytest.mark.skipif("TEST_DATABASE_URL" in os.environ, reason="the way leads to the socket of a private server")
@pytest.mark.parametrize(("name", "is_told"), [("db.example.org", True), ("localhost", False)])
def test_an_unencrypted_network_connection_is_a_warning(line, make_app, name, is_told):
    with Proxy(line.app.config["DATABASE_URL"]) as proxy:
        url = f"{proxy.url.replace('@127.0.0.1', f'@{name}')}?hostaddr=127.0.0.1"
        found = of(make_app(url).test_cli_runner().invoke(program, ["doctor"]).stdout, "database")
    assert len(found) == 1 + is_told
    assert any(grade == "warn" and "not encrypted" in sentence for grade, sentence in found) is is_told


def test_an_unreachable_database_is_a_failure(make_app):
    app = make_app("postgresql://somebody:the-secret@127.0.0.1:1/nowhere", BCRYPT_ROUNDS=12, PORT=1)
    result = app.test_cli_runner().invoke(program, ["doctor"])
    [settings, _, database] = parsed(result.stdout)
    assert (result.exit_code, settings[0], database[:2]) == (1, "ok", ("FAIL", "database"))
    assert database[2].startswith("The database cannot be reached: ")
    assert "the-secret" not in result.output


def test_a_read_only_database_is_a_failure(line):
    line.alter_database("SET default_transaction_read_only = on")
    status, grade, sentence = about(line, "database")
    line.alter_database("RESET default_transaction_read_only")
    assert (status, grade) == (1, "FAIL")
    assert "read-only" in sentence


@pytest.mark.parametrize(
    ("server", "grade"),
    [
        ({}, "ok"),
        ({"version": 13}, "FAIL"),
        ({"encoding": "LATIN1"}, "FAIL"),
        ({"is_standby": True}, "FAIL"),
        ({"unsafe": "fsync"}, "warn"),
    ],
)
def test_version_encoding_and_durability_are_checked(server, grade):
    sound = {"version": 14, "encoding": "UTF8", "is_read_only": False, "is_standby": False, "unsafe": ""}
    assert doctor.database_finding(sound | server)[:2] == (grade, "database")


def test_a_server_that_may_lose_commits_is_a_warning(line):
    line.alter_database("SET synchronous_commit = off")
    status, grade, sentence = about(line, "database")
    assert (status, grade) == (0, "warn")
    assert re.match(r"These PostgreSQL settings are off: [a-z_, ]*synchronous_commit\. ", sentence)
    line.alter_database("SET synchronous_commit = local")
    assert "synchronous_commit" not in about(line, "database")[2]
    line.alter_database("RESET synchronous_commit")


def test_more_connections_than_the_server_has_are_a_warning(line, with_settings):
    [row] = line.rows(
        "SELECT current_setting('max_connections')::int - "
        "current_setting('superuser_reserved_connections')::int AS most"
    )
    most, needed = row["most"], row["most"] + 1
    assert about(with_settings(DATABASE_POOL_SIZE=most, WEB_CONCURRENCY=1), "connections")[:2] == (0, "ok")
    found = about(with_settings(DATABASE_POOL_SIZE=needed, WEB_CONCURRENCY=1), "connections")
    assert found == (0, "warn", f"This service needs up to {needed} connections; {most} are available.")
    for limit, grade in ((31, "warn"), (32, "ok"), (-1, "ok")):
        line.alter_database(f"CONNECTION LIMIT {limit}")
        assert about(line, "connections")[1] == grade


def test_missing_session_settings_of_a_pooler_are_reported(with_settings):
    status, found = examine(with_settings(DATABASE_POOLER="transaction"))
    sentence = "The pooler does not set statement_timeout and jit. Set it as in docs/how-to/scale.md."
    assert (status, found[2:]) == (1, [("FAIL", "database", sentence)])


# Privileges and the schema


def test_missing_and_excessive_privileges_are_reported(own, make_app):
    role = f"clerk_{own.conn.info.dbname}"
    own.conn.execute(
        f"CREATE ROLE {role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
    )
    url = own.app.config["DATABASE_URL"]
    url = f"{url}{'&' if '?' in url else '?'}options={quote(f'-crole={role}')}"
    clerk = CommandLine(make_app(url, BCRYPT_ROUNDS=12), own.conn)

    try:
        for right in (
            "INSERT, UPDATE, DELETE ON schema_version, permissions",
            "UPDATE, DELETE ON past_flag_states",
            "UPDATE, DELETE ON events",
        ):
            own.conn.execute(f"REVOKE {right} FROM {role}")
        assert about(clerk, "privileges") == (0, "ok", f"The role {role} has the privileges that the service needs.")
        for right in ("UPDATE ON events", "DELETE ON events"):
            with own.altered(f"GRANT {right} TO {role}", f"REVOKE {right} FROM {role}"):
                assert about(clerk, "privileges") == (
                    0,
                    "warn",
                    f"The role {role} can change or delete events. {GRANTS}",
                )
        assert about(own, "privileges")[1] == "ok"
        for right, message in (
            ("INSERT ON events, users", "cannot insert into events, users"),
            ("SELECT ON schema_version", "cannot read schema_version"),
            ("SELECT ON project_memberships", "cannot read project_memberships"),
        ):
            with own.altered(f"REVOKE {right} FROM {role}", f"GRANT {right} TO {role}"):
                assert about(clerk, "privileges") == (1, "FAIL", f"The role {role} {message}. {GRANTS}")
        with own.altered("REVOKE USAGE ON SCHEMA public FROM public", "GRANT USAGE ON SCHEMA public TO public"):
            status, grade, sentence = about(clerk, "schema")
        assert (status, grade) == (1, "FAIL")
        assert sentence.endswith(f" cannot use the schema. {GRANTS}")
    finally:
        own.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_an_empty_database_has_to_be_migrated(make_database, make_app):
    result = make_app(make_database(empty=True)).test_cli_runner().invoke(program, ["doctor"])
    found = parsed(result.stdout)
    assert result.exit_code == 1
    assert [subject for _, subject, _ in found] == ["settings", "service", "database", "connections", "schema"]
    assert found[4] == ("FAIL", "schema", "The database has no schema. Run ./flags migrate.")


def test_a_newer_schema_needs_a_newer_service(line):
    with line.altered(
        "UPDATE schema_version SET version = version + 1", "UPDATE schema_version SET version = version - 1"
    ):
        status, grade, sentence = about(line, "schema")
    assert (status, grade) == (1, "FAIL")
    assert sentence.endswith(f"supports versions up to {migrate.VERSION}. Upgrade the service.")


def test_schema_diff_shows_differences_from_schema_sql(own):
    for change in (
        "ALTER TABLE flags DROP COLUMN impression_data CASCADE",
        "ALTER TABLE flags ADD mine integer",
        "DROP INDEX events_type_idx",
        "ALTER TABLE flags DISABLE TRIGGER keep_past_flag_states",
        "CREATE OR REPLACE FUNCTION keep_past_group_user() "
        "RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    ):
        own.conn.execute(change)
    result = own.run("schema-diff")
    assert (result.exit_code, result.stderr) == (1, "")
    assert {
        "-    impression_data boolean DEFAULT false NOT NULL,",
        "+    mine integer,",
        "-CREATE INDEX events_type_idx ON public.events USING btree (type, created_at, id);",
        "+ALTER TABLE public.flags DISABLE TRIGGER keep_past_flag_states;",
        "+    AS $$BEGIN RETURN NULL; END$$;",
    } <= set(result.stdout.splitlines()), result.stdout


def test_missing_search_indexes_are_a_warning(line):
    line.conn.execute("DROP EXTENSION IF EXISTS pg_trgm CASCADE")
    status, grade, sentence = about(line, "search")
    assert (status, grade) == (0, "warn")
    assert "read the whole event log" in sentence
    [row] = line.rows("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS can")
    assert sentence.endswith("Run ./flags migrate as a role that can create it.") is row["can"]
    # Only their names are looked at: the server may not have the extension.
    for column in ("data", "pre_data", "tags", "type", "created_by"):
        assert about(line, "search")[1] == "warn"
        line.conn.execute(f"CREATE INDEX events_{column}_trgm ON events (id)")
    found = about(line, "search")
    line.conn.execute("DROP INDEX events_data_trgm, events_pre_data_trgm, events_tags_trgm, events_created_by_trgm")
    assert found == (0, "ok", "Text searches of the event log use an index (pg_trgm).")


# Data


def test_the_first_event_and_the_retention_are_reported(line, with_settings):
    first = line.conn.execute("SELECT min(created_at) AT TIME ZONE 'UTC' AS at FROM events").fetchone()
    begins = f"The first event is from {first['at']:%F}."
    assert about(line, "event log") == (0, "ok", f"{begins} Events are kept for ever.")
    keeps_90 = with_settings(EVENT_RETENTION_DAYS=90)
    assert about(keeps_90, "event log") == (0, "ok", f"{begins} EVENT_RETENTION_DAYS is 90.")
    for days, grade in ((92, "ok"), (93, "warn")):
        old = f"now() - interval '{days} days'"
        with line.altered(
            f"INSERT INTO events (created_at, type, created_by) VALUES ({old}, 'x', 'y')",
            "DELETE FROM events WHERE type = 'x'",
        ):
            assert about(keeps_90, "event log")[1] == grade
            assert about(line, "event log")[1] == "ok"
    # A young instance of which everything was pruned.
    restore = "INSERT INTO events OVERRIDING SYSTEM VALUE TABLE kept; DROP TABLE kept"
    with line.altered("CREATE TABLE kept AS TABLE events; TRUNCATE events", restore):
        assert about(keeps_90, "event log") == (0, "ok", "The event log is empty. EVENT_RETENTION_DAYS is 90.")


def test_integrations_that_fail_or_are_disabled_are_reported(line):
    add = """
        INSERT INTO integrations (id, provider, enabled, failing_since, parameters, events, projects, environments)
        VALUES (7, 'slack', false, NULL, '{}', '{}', '{}', '{}'), (8, 'webhook', true, NULL, '{}', '{}', '{}', '{}'),
               (9, 'discord', true, '2026-11-26 10:00Z', '{}', '{}', '{}', '{}');
        INSERT INTO deliveries (integration_id, event_id, state, state_details, last_at)
        SELECT 9, min(id), 'failed', 'TimeoutError', '2026-11-26 10:00Z'::timestamptz FROM events
         UNION ALL SELECT 9, max(id), 'failed', '404', '2026-11-26 11:00Z' FROM events
    """
    with line.altered(add, "DELETE FROM integrations; DELETE FROM deliveries"):
        found = of(line.run("doctor").stdout, "integrations")
    first, second = (
        "The slack integration 7 is disabled.",
        "The discord integration 9 has failed since 2026-11-26T10:00:00.000Z. Last attempt: 404.",
    )
    assert found == [("warn", f"{first} See its log."), ("warn", f"{second} See its log.")]


@pytest.mark.parametrize(
    ("loss", "undo"),
    [
        ("password_hash = NULL", "password_hash = '$2b$'"),
        ("deleted_at = now()", "deleted_at = NULL"),
        ("root_role_id = 2", "root_role_id = 1"),
        ("account_type = 'Service Account'", "account_type = 'User'"),
    ],
)
def test_an_instance_without_administrator_is_a_failure(line, loss, undo):
    with line.altered(f"UPDATE users SET {loss} WHERE id = 1", f"UPDATE users SET {undo} WHERE id = 1"):
        status, grade, sentence = about(line, "administrators")
    assert (status, grade) == (1, "FAIL")
    assert "./flags user create --role admin" in sentence


def test_administrators_by_group_count(line):
    ada = users.insert(line.conn, name=None, username="ada", email=None, password_hash="$2b$", root_role=3)["id"]
    assert about(line, "administrators") == (0, "ok", "1 can log in.")
    fixtures.add_group_user(line.conn, groups.insert(line.conn, "Keepers", root_role=1), ada)
    found = about(line, "administrators")
    line.conn.execute("DELETE FROM users WHERE id = %s", [ada])
    assert found == (0, "ok", "2 can log in.")


def test_administrators_need_a_login_that_is_open(line, monkeypatch):
    def doors(**settings):
        for name, setting in ({"OIDC_ISSUER": None, "AUTH_PROXY_HEADER": None} | settings).items():
            monkeypatch.setitem(line.app.config, name, setting)
        return about(line, "administrators")[1:]

    closed = "No administrator can log in. Set PASSWORD_LOGIN=admins (docs/how-to/recover-an-administrator.md)."
    issuer, one = "https://id.example.org", ("ok", "1 can log in.")
    ada = users.insert(line.conn, name=None, username="ada", email=None, password_hash="$2b$", root_role=3)["id"]
    fixtures.add_group_user(line.conn, groups.insert(line.conn, "Doors", root_role=1), ada)
    assert doors(PASSWORD_LOGIN="on") == ("ok", "2 can log in.")
    assert doors(PASSWORD_LOGIN="admins", OIDC_ISSUER=issuer) == one
    assert doors(PASSWORD_LOGIN="off", OIDC_ISSUER=issuer) == ("FAIL", closed)
    assert doors(PASSWORD_LOGIN="off", AUTH_PROXY_HEADER="Remote-User") == ("ok", "2 can log in.")
    line.conn.execute("INSERT INTO user_identities (user_id, issuer, subject) VALUES (%s, %s, '1')", [ada, issuer])
    assert doors(PASSWORD_LOGIN="off", OIDC_ISSUER=issuer) == one
    assert doors(PASSWORD_LOGIN="off", OIDC_ISSUER=f"{issuer}/other") == ("FAIL", closed)
    line.conn.execute("DELETE FROM users WHERE id = %s", [ada])


# Standbys, and the real program


@pytest.mark.parametrize(
    ("size", "seconds", "grade"),
    [(0, None, "ok"), (2**24, 10.0, "ok"), (2**24 + 1, 0.0, "warn"), (0, 10.1, "warn"), (None, None, "ok")],
)
def test_a_standby_is_late_by_size_or_by_time(size, seconds, grade):
    found = doctor.standby_finding({"name": "second", "is_connected": True, "bytes": size, "seconds": seconds})
    assert found[:2] == (grade, "standby")


@pytest.mark.slow
def test_a_standby_is_shown_on_both_servers():
    with own_server() as first, standby_of(first) as second:
        environ = {"DATABASE_URL": first.url, "BCRYPT_ROUNDS": "12"}
        assert run_flags("migrate", **environ).returncode == 0
        with connect(first.url) as conn, connect(second.url) as follower:
            streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
            wait_until(lambda: value(conn, streaming) == 1, "it streamed")
            conn.execute("CREATE TABLE early (id integer)")
            wait_until(lambda: value(follower, "SELECT to_regclass('early') IS NOT NULL"), "it showed a change")
            [(grade, sentence)] = of(run_flags("doctor", **environ).stdout, "standby")
            assert (grade, sentence) == ("ok", "second is 0 MB and 0 s behind.")
            follower.execute("SELECT pg_wal_replay_pause()")
            wait_until(lambda: value(follower, "SELECT pg_get_wal_replay_pause_state()") == "paused", "it paused")
            # As much as 17 MB of changes.
            for _ in range(17):
                conn.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
            conn.execute("CREATE TABLE late (id integer)")
            wait_until(lambda: value(follower, STREAMED), "it had got all of that")
            [(grade, sentence)] = of(run_flags("doctor", **environ).stdout, "standby")
            assert grade == "warn"
            assert sentence.startswith("second is 1")
            done = run_flags("doctor", DATABASE_URL=second.url)
            [(grade, sentence)] = of(done.stdout, "database")
            assert (done.returncode, grade) == (1, "FAIL")
            assert sentence == "This PostgreSQL is a read-only standby. Set DATABASE_URL to the primary server."
            follower.execute("SELECT pg_wal_replay_resume()")
            wait_until(lambda: value(follower, "SELECT to_regclass('late') IS NOT NULL"), "it was there")
            conn.execute("SELECT pg_create_physical_replication_slot('away', true)")
            (grade, sentence), _ = of(run_flags("doctor", **environ).stdout, "standby")
            assert grade == "warn"
            assert re.fullmatch(
                r"away is disconnected\. \d+ MB of WAL are kept for it\. Start it, or drop its replication slot\.",
                sentence,
            )


@pytest.mark.slow
def test_the_real_program_examines_the_private_database(tmp_path):
    server = embedded.Server(tmp_path / "data")
    url = server.ensure()
    try:
        # Invalid ones are named, and the rest is checked too.
        done = run_flags("doctor", DATA_DIR=str(tmp_path / "data"), PORT="abc", BASE_URL="y")
        assert (done.returncode, done.stderr) == (1, "")
        port, base_url, *_ = parsed(done.stdout)
        assert port == ("FAIL", "settings", "The setting PORT must be a whole number from 1 to 65535.")
        assert base_url[2].startswith("The setting BASE_URL")
        assert ("FAIL", "schema", "The database has no schema. Run ./flags migrate.") in parsed(done.stdout)
        [(_, sentence)] = of(done.stdout, "disk")
        assert sentence.endswith(f" GB are free in {tmp_path}/data.")
        # Another process had it before: it is still there.
        with connect(url) as conn:
            conn.execute("SELECT 1")
    finally:
        server.release()


def test_a_command_without_settings_creates_no_database(make_app, tmp_path):
    runner = make_app(None, DATA_DIR=tmp_path / "data").test_cli_runner()
    for command in (["doctor"], ["backup", str(tmp_path / "y.dump")], ["user", "list"]):
        result = runner.invoke(program, command, catch_exceptions=False)
        assert result.exit_code == 1
        assert f"{tmp_path}/data contains no database. Set DATABASE_URL" in result.output
        assert list(tmp_path.iterdir()) == []
