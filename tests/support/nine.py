"""The nine operations asked of two instances, whose answers are compared as text."""

import re
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NEWCOMER = {"name": "Zoë", "username": "zoe", "email": "zoe@example.org", "password": "a password of Zoë"}


def differences(
    one: Flask, other: Flask, conn: Connection, key: str, admin: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """Ask two instances with the same data the same, and return the two answers where they differ, by what was asked:
    status and every byte of the body, with the present instants as "now".

    conn: a connection to the database of one of them. The last four requests change both instances.
    """
    began = datetime.now(UTC)
    clients = [app.test_client(use_cookies=False) for app in (one, other)]
    found: dict[str, tuple[str, str]] = {}

    def ask(method: str, path: str, **kwargs: Any) -> None:
        headers = {"Authorization": key} | kwargs.pop("headers", {})

        def answer(client: FlaskClient) -> str:
            return text_of(client.open(path, method=method, headers=headers, buffered=True, **kwargs), began)

        first, second = (answer(client) for client in clients)
        if first != second and path.endswith(("/overview", "/insights")):
            # Their windows and weeks end at the request, so a count may have changed between the two answers.
            first = answer(clients[0])
        asked = f"{method} {path} {kwargs or ''}"
        assert first.startswith("200 "), (asked, first)
        if first != second:
            found[asked] = first, second

    for project in rows(conn, "SELECT id FROM projects ORDER BY id"):
        ask("GET", f"/api/admin/projects/{project['id']}/overview")
        ask("GET", f"/api/admin/projects/{project['id']}/access")
        ask("GET", "/api/admin/search/events", query_string={"project": f"IS:{project['id']}", "limit": "5"})
    ask("GET", "/api/admin/insights")
    ask("GET", "/api/admin/insights", query_string={"from": "2025-01-01", "to": "2026-06-30"})
    for words in (
        {"limit": "1000"},
        {"limit": "10", "offset": "1500"},
        {"query": "zürich"},
        {"createdBy": "IS:2", "type": "IS:feature-created"},
    ):
        ask("GET", "/api/admin/search/events", query_string=words)
    ask("GET", "/api/admin/search/events", headers={"Accept": "application/x-ndjson"})
    for body in ({}, {"type": "feature-created"}, {"query": "beta"}):
        ask("POST", "/api/admin/events/search", json=body)
    token = value(conn, "SELECT secret FROM signup_tokens WHERE enabled AND expires_at > now() ORDER BY id LIMIT 1")
    ask("PUT", f"/api/admin/invite-link/tokens/{token}", json={"expiresAt": "2040-01-01T00:00:00Z"})
    ask("POST", f"/invite/{token}/signup", json=NEWCOMER)
    ask("POST", "/auth/simple/login", json=dict(zip(("username", "password"), admin, strict=True)))
    ask("DELETE", value(conn, STRATEGY))
    # The events of the changes.
    ask("GET", "/api/admin/search/events", query_string={"limit": "4"})
    return found


STRATEGY = """
    SELECT format('/api/admin/projects/%s/features/%s/environments/%s/strategies/%s',
                  project_id, flags.name, environment, strategies.id)
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE archived_at IS NULL
     ORDER BY strategies.id
     LIMIT 1
"""


def text_of(response: TestResponse, began: datetime) -> str:
    """Status and body, with "now" for all times since the comparison began."""
    body = INSTANT.sub(lambda at: "now" if datetime.fromisoformat(at[0]) >= began else at[0], response.text)
    return f"{response.status_code} {body}"
