"""The nine operations asked of two instances, whose answers are compared as text."""

import re
from datetime import UTC, datetime
from typing import Any

from flask import Flask

from sql.database import Connection, rows, value

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NEWCOMER = {"name": "Zoë", "username": "zoe", "email": "zoe@example.org", "password": "a password of Zoë"}
STRATEGY = """
    SELECT format('/api/admin/projects/%s/features/%s/environments/%s/strategies/%s',
                  project_id, flags.name, environment, strategies.id)
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE archived_at IS NULL
     ORDER BY strategies.id
     LIMIT 1
"""
TOKEN = "SELECT secret FROM signup_tokens WHERE enabled AND expires_at > now() ORDER BY id LIMIT 1"


def requests(conn: Connection, admin: tuple[str, str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the requests: method, path and arguments. The last four before the events of them change the instance."""
    projects = [f"/api/admin/projects/{row['id']}" for row in rows(conn, "SELECT id FROM projects ORDER BY id")]
    token = value(conn, TOKEN)
    events = "/api/admin/search/events"
    return [
        *(("GET", f"{project}/{word}", {}) for project in projects for word in ("overview", "access")),
        ("GET", f"{events}?project=IS:default&limit=5", {}),
        ("GET", "/api/admin/insights", {}),
        ("GET", "/api/admin/insights?from=2025-01-01&to=2026-06-30", {}),
        ("GET", f"{events}?limit=1000", {}),
        ("GET", f"{events}?limit=10&offset=1500", {}),
        ("GET", events, {"query_string": {"query": "zürich"}}),
        ("GET", f"{events}?createdBy=IS:2&type=IS:feature-created", {}),
        ("GET", events, {"headers": {"Accept": "application/x-ndjson"}}),
        *(("POST", "/api/admin/events/search", {"json": body}) for body in ({}, {"query": "beta"})),
        ("PUT", f"/api/admin/invite-link/tokens/{token}", {"json": {"expiresAt": "2040-01-01T00:00:00Z"}}),
        ("POST", f"/invite/{token}/signup", {"json": NEWCOMER}),
        ("POST", "/auth/simple/login", {"json": dict(zip(("username", "password"), admin, strict=True))}),
        ("DELETE", value(conn, STRATEGY), {}),
        ("GET", f"{events}?limit=4", {}),
    ]


def differences(
    one: Flask, other: Flask, conn: Connection, key: str, admin: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """Ask two instances with the same data the same, and return the two answers where they differ: status and body,
    with the present instants as "now". conn: a connection to the database of one of them.
    """
    began = datetime.now(UTC)

    def answer(app: Flask, method: str, path: str, **kwargs: Any) -> str:
        headers = {"Authorization": key} | kwargs.pop("headers", {})
        client = app.test_client(use_cookies=False)
        response = client.open(path, method=method, headers=headers, buffered=True, **kwargs)
        body = INSTANT.sub(lambda at: "now" if datetime.fromisoformat(at[0]) >= began else at[0], response.text)
        assert response.status_code == 200, (path, body)
        return body

    found: dict[str, tuple[str, str]] = {}
    for method, path, arguments in requests(conn, admin):
        first, second = (answer(app, method, path, **arguments) for app in (one, other))
        if first != second and path.endswith(("/overview", "/insights")):
            # Their windows and weeks end at the request, so a count may have changed between the two answers.
            first = answer(one, method, path, **arguments)
        if first != second:
            found[f"{method} {path}"] = first, second
    return found
