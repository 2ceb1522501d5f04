"""The contents of a database, to compare before and after a backup."""

from flask import Flask

from sql.database import Connection, rows
from tests.support.command_line import CommandLine
from tests.support.event_rows import fill_weeks
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

TABLES = """
    SELECT relname FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') ORDER BY relname
"""


def contents(conn: Connection, omit: str = "") -> dict[str, list[str]]:
    """The rows of each table, without the column omit."""
    found: dict[str, list[str]] = {}
    for name in [table["relname"] for table in rows(conn, TABLES)]:
        row = "(to_jsonb(it) - 'log_cnt' - %(omit)s::text)::text"
        statement = f"SELECT {row} AS row FROM (SELECT * FROM {name}) AS it ORDER BY 1"
        found[name] = [row["row"] for row in rows(conn, statement, {"omit": omit})]  # pyright: ignore
    return found


def fill_the_rest(app: Flask, conn: Connection) -> None:
    """Put something into each table that the demo leaves empty."""
    admin = Caller(app, ADMIN_KEY)
    login = Caller(app).post("/auth/simple/login", json={"username": "nobody", "password": "is wrong"})
    created = admin.post("/api/admin/projects", json={"name": "Hidden", "mode": "private"})
    deleted = admin.delete("/api/admin/projects/hidden")
    assert (login.status_code, created.status_code, deleted.status_code) == (401, 201, 200)
    conn.execute("""
        INSERT INTO sessions (digest, user_id, expires_at) VALUES ('a digest', 1, now() + interval '1 day');
        INSERT INTO personal_tokens (user_id, description, digest, expires_at)
        VALUES (1, 'a token', 'a digest', now() + interval '1 day');
        INSERT INTO user_identities VALUES (1, 'https://id.example.org', 'a subject', now());
        INSERT INTO reset_tokens VALUES (1, 'a digest', 'admin', now() + interval '1 day');
        INSERT INTO past_passwords (user_id, password_hash) VALUES (1, 'a hash');
        INSERT INTO past_group_users VALUES (1, 1, now() - interval '2 days', now());
        INSERT INTO past_environment_types VALUES ('production', 'development', now() - interval '100 days');
        INSERT INTO banners (message, enabled, variant, sticky) VALUES ('Welcome', true, 'info', false);
        INSERT INTO known_logins VALUES ('a digest', now());
        INSERT INTO frontend_additions VALUES (1, date_trunc('hour', now()), 1);
        WITH request AS (
            INSERT INTO change_requests (project_id, environment, title, created_by_user_id)
            VALUES ('default', 'production', 'a request', 1) RETURNING id
        ), change AS (
            INSERT INTO change_request_changes (change_request_id, feature_name, flag_id, action)
            SELECT id, 'a flag', 1, 'archiveFeature' FROM request
        ), review AS (
            INSERT INTO change_request_reviews (change_request_id, user_id, approved) SELECT id, 1, true FROM request
        )
        INSERT INTO change_request_comments (change_request_id, user_id, text) SELECT id, 1, 'a comment' FROM request
    """)
    fill_weeks(conn)


def make_url(url: str, options: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}options={options.replace('=', '%3D')}"


def holds_nothing(line: CommandLine) -> bool:
    return line.rows("SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace") == []
