"""The operations that change something, each on a row prepared for it: token update, strategy deletion, signup, login."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat

from bench.client import Latency, latency, together
from bench.facts import ADMIN_KEY, Facts
from bench.logins import in_turn
from bench.shapes import Request
from sql import Connection, connect, rows, run, value

TOKEN = "bench0token0of0the0signups00000"  # noqa: S105
ROWS = 1500

INSERT_INVITE = """
    INSERT INTO signup_tokens (secret, name, expires_at, created_by)
    VALUES (%(secret)s, 'bench', now() + interval '1 day', 'bench')
"""

# Beside the strategies that there are, so that no environment is switched off with the last one.
ADD_STRATEGIES = """
    INSERT INTO strategies (id, flag_id, environment, name, title, parameters)
    SELECT gen_random_uuid()::text, flags.id, 'production', 'flexibleRollout', 'bench', '{"rollout":"50"}'
      FROM flags
     CROSS JOIN generate_series(1, %(each)s)
     WHERE project_id = %(project)s
       AND archived_at IS NULL
    RETURNING id, (SELECT name FROM flags WHERE flags.id = flag_id) AS flag
"""

COUNT_FLAGS = "SELECT count(*) FROM flags WHERE project_id = %(project)s AND archived_at IS NULL"
NEWEST = "SELECT coalesce(max(id), 0) AS id FROM events"

FORGET = (
    "DELETE FROM events WHERE id > %(newest)s",
    "DELETE FROM strategies WHERE title = 'bench'",
    "DELETE FROM users WHERE email LIKE 'newcomer%%@example.org'",
    "DELETE FROM signup_tokens WHERE name = 'bench'",
    "DELETE FROM sessions",
)


def measure(url: str, port: int, facts: Facts, users: int, seconds: float) -> dict[str, tuple[Latency, float]]:
    """For each, its latency at one client, and requests a second over 8 connections."""
    with connect(url) as conn, prepared(conn, facts) as requests:
        requests["log in"] = in_turn(users)
        found: dict[str, tuple[Latency, float]] = {}
        for name, asked in requests.items():
            alone = latency(port, asked, seconds)
            rate, worst = together(port, asked, seconds)
            if max(worst, alone.status) >= 300:
                raise RuntimeError(f"{name} was answered {max(worst, alone.status)}")
            found[name] = (alone, rate)
        return found


@contextmanager
def prepared(conn: Connection, facts: Facts) -> Iterator[dict[str, Iterator[Request]]]:
    """The requests, each to be used once. Afterwards the database is what it was, for the sake of later runs."""
    newest = value(conn, NEWEST)
    run(conn, INSERT_INVITE, {"secret": TOKEN})
    flags = value(conn, COUNT_FLAGS, {"project": facts.project})
    strategies = rows(conn, ADD_STRATEGIES, {"project": facts.project, "each": 1 + ROWS // flags})
    try:
        yield {
            "update a signup token": chain.from_iterable(repeat([update(True), update(False)])),
            "delete a strategy": (delete(facts.project, row["flag"], row["id"]) for row in strategies),
            "sign up": signups(conn),
        }
    finally:
        conn.execute("SET statement_timeout = 0")
        for statement in FORGET:
            run(conn, statement, {"newest": newest} if "%(newest)s" in statement else {})
        conn.execute("VACUUM (ANALYZE) events")


def update(enabled: bool) -> Request:
    """Switch the token on or off."""
    return Request("PUT", f"/api/admin/invite-link/tokens/{TOKEN}", ADMIN_KEY, json.dumps({"enabled": enabled}))


def delete(project: str, flag: str, strategy: str) -> Request:
    """Delete a strategy of a flag."""
    return Request("DELETE", f"/api/admin/projects/{project}/features/{flag}/environments/production/strategies/{strategy}", ADMIN_KEY)


def signups(conn: Connection) -> Iterator[Request]:
    """People who use the token, which is switched on for the first of them."""
    run(conn, "UPDATE signup_tokens SET enabled = true WHERE secret = %(secret)s", {"secret": TOKEN})
    for number in range(ROWS):
        body = {"name": f"Newcomer {number}", "email": f"newcomer{number}@example.org", "password": f"a password of newcomer {number}"}
        yield Request("POST", f"/invite/{TOKEN}/signup", body=json.dumps(body))
