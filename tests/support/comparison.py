"""The nine operations asked of two instances, whose responses are compared as text."""

import re
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from sql.database import Connection, rows, value

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
EVENTS = "/api/admin/search/events"
ZOE = {"name": "Zoë", "username": "zoe", "email": "zoe@example.org", "password": "a password of Zoë"}
TOKEN = "SELECT secret FROM signup_tokens WHERE enabled AND expires_at > now() ORDER BY id LIMIT 1"
STRATEGY = """
    SELECT format('/api/admin/projects/%s/features/%s/environments/%s/strategies/%s',
                  project_id, flags.name, environment, strategies.id)
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE archived_at IS NULL
     ORDER BY strategies.id
     LIMIT 1
"""


def differences(
    one: Flask, other: Flask, conn: Connection, key: str, admin: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """Send the same requests to two instances with the same data, and return the two responses where they differ:
    status and every byte of the body, with "now" for all times since the comparison began.

    conn: a connection to the database of one of them. The last four requests change both instances.
    """
    began = datetime.now(UTC)
    clients = [app.test_client(use_cookies=False) for app in (one, other)]
    found: dict[str, tuple[str, str]] = {}

    def ask(method: str, path: str, **kwargs: Any) -> None:
        headers = {"Authorization": key} | kwargs.pop("headers", {})

        def answer(client: FlaskClient) -> str:
            response = client.open(path, method=method, headers=headers, buffered=True, **kwargs)
            body = INSTANT.sub(lambda at: "now" if datetime.fromisoformat(at[0]) >= began else at[0], response.text)
            return f"{response.status_code} {body}"

        first, second = (answer(client) for client in clients)
        if first != second and path.endswith(("/overview", "/insights")):
            # Their windows and weeks end at the request, so a count may have changed between the two answers.
            first = answer(clients[0])
        asked = f"{method} {path} {kwargs or ''}"
        assert first.startswith("200 "), (asked, first)
        if first != second:
            found[asked] = first, second

    def search(**words: str) -> None:
        ask("GET", EVENTS, query_string=words)

    for project in rows(conn, "SELECT id FROM projects ORDER BY id"):
        ask("GET", f"/api/admin/projects/{project['id']}/overview")
        ask("GET", f"/api/admin/projects/{project['id']}/access")
        search(project=f"IS:{project['id']}", limit="5")
    ask("GET", "/api/admin/insights")
    ask("GET", "/api/admin/insights", query_string={"from": "2025-01-01", "to": "2026-06-30"})
    search(limit="1000")
    search(limit="10", offset="1500")
    search(query="zürich")
    search(createdBy="IS:2", type="IS:feature-created")
    ask("GET", EVENTS, headers={"Accept": "application/x-ndjson"})
    for body in ({}, {"type": "feature-created"}, {"query": "beta"}):
        ask("POST", "/api/admin/events/search", json=body)
    token = value(conn, TOKEN)
    ask("PUT", f"/api/admin/invite-link/tokens/{token}", json={"expiresAt": "2040-01-01T00:00:00Z"})
    ask("POST", f"/invite/{token}/signup", json=ZOE)
    ask("POST", "/auth/simple/login", json=dict(zip(("username", "password"), admin, strict=True)))
    ask("DELETE", value(conn, STRATEGY))
    # The events of the changes.
    search(limit="4")
    return found
