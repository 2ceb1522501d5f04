"""Builds what a test needs: the cast, projects, flags.

By the sql modules of the service, on the test's own connection.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from flask import Flask
from werkzeug.test import TestResponse

from rules.api_tokens import new_secret
from sql.database import Connection, as_json, value
from sql.people import personal_tokens, users
from sql.tokens import api_tokens
from tests.support import fixtures, records

PASSWORD = "correct horse battery"
# Columns that few tests of events compare.
HIDDEN = ("created_by_token_id", "group_id", "undoes", "change_request_id")


@dataclass
class Caller:
    """A caller with its own client. Without a key, a stranger."""

    app: Flask
    key: str | None = None
    id: int | None = None
    email: str | None = None

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send one request without cookies, and check that its operation documents the response."""
        headers = dict(kwargs.pop("headers", None) or {})
        if self.key is not None:
            headers.setdefault("Authorization", self.key)
        response = self.app.test_client(use_cookies=False).open(
            path, method=method, headers=headers, buffered=True, **kwargs
        )
        records.check(self.app, response)
        return response

    def get(self, path: str, **kwargs: Any) -> TestResponse:
        return self.request("GET", path, **kwargs)

    def post(self, path: str, **kwargs: Any) -> TestResponse:
        return self.request("POST", path, **kwargs)

    def put(self, path: str, **kwargs: Any) -> TestResponse:
        return self.request("PUT", path, **kwargs)

    def delete(self, path: str, **kwargs: Any) -> TestResponse:
        return self.request("DELETE", path, **kwargs)


class World:
    """The contents of a test's database. Each method creates one record, and returns its id, secret or Caller."""

    def __init__(self, app: Flask, conn: Connection) -> None:
        self.app = app
        self.conn = conn

    def user(self, name: str, root_role: int = 3, **fields: Any) -> Caller:
        """A user <name>@example.org with a personal token; root roles: 1 Admin, 2 Editor, 3 Viewer."""
        email = f"{name.lower()}@example.org"
        fields = {"name": name, "username": name.lower(), "email": email, "password_hash": None} | fields
        dates = {name: fields.pop(name) for name in ("created_at", "seen_at") if name in fields}
        user_id = users.insert(self.conn, root_role=root_role, **fields)["id"]
        fixtures.update(self.conn, "users", user_id, **dates)
        token = personal_tokens.insert(self.conn, user_id, "test", datetime(2100, 1, 1, tzinfo=UTC))
        return Caller(self.app, token, user_id, fields["email"])

    def api_key(self, kind: str = "admin", name: str = "a key", **fields: Any) -> Caller:
        """An API token. Client and frontend tokens are for environment development unless fields say otherwise."""
        if kind != "admin":
            fields = {"environment": "development"} | fields
        secret = new_secret(environment=fields.get("environment") or "*")
        dates = {name: fields.pop(name) for name in ("created_at",) if name in fields}
        fixtures.update(
            self.conn, "api_keys", api_tokens.insert(self.conn, secret, name=name, kind=kind, **fields), **dates
        )
        return Caller(self.app, secret)

    def project(
        self, project_id: str, environments: tuple[str, ...] = ("development", "production"), **fields: Any
    ) -> str:
        fixtures.insert_project(self.conn, project_id, fields.pop("name", project_id.title()), **fields)
        for environment in environments:
            fixtures.add_project_environment(self.conn, project_id, environment)
        return project_id

    def member(self, project_id: str, user: Caller, role: int = 5, **fields: Any) -> None:
        """Give a user a role in a project: 4 Owner, 5 Member."""
        assert user.id is not None
        fixtures.add_project_user(self.conn, project_id, user.id, role, **fields)

    def flag(self, name: str, project: str = "default", *, enabled_in: tuple[str, ...] = (), **fields: Any) -> int:
        """A flag in every environment of its project, switched on in some."""
        flag_id = fixtures.insert(self.conn, "flags", name=name, project_id=project, **fields)["id"]
        statement = "SELECT array_agg(environment) FROM project_environments WHERE project_id = %(id)s"
        for environment in value(self.conn, statement, {"id": project}) or ():
            fixtures.add_flag_environment(self.conn, flag_id, environment, enabled=environment in enabled_in)
        return flag_id

    def strategy(self, flag_id: int, environment: str = "development", **fields: Any) -> str:
        row = {"id": fields.pop("strategy_id", None) or str(uuid4()), "name": fields.pop("name", "flexibleRollout")}
        row |= {name: as_json(fields.pop(name)) for name in ("parameters", "constraints") if name in fields}
        return fixtures.insert(self.conn, "strategies", flag_id=flag_id, environment=environment, **row, **fields)["id"]

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """The events after the one with this id, oldest first, without the ids of their API tokens and groups."""
        found = self.conn.execute("SELECT * FROM events WHERE id > %s ORDER BY id", [since]).fetchall()
        return [{name: item for name, item in row.items() if name not in HIDDEN} for row in found]

    def last_event_id(self) -> int:
        """Return the id of the newest event, or 0 if there is none."""
        return value(self.conn, "SELECT coalesce(max(id), 0) FROM events")


def refused(response: TestResponse, status: int = 400, name: str = "ValidationError") -> str:
    """Return the message of a refusal. Assert that it has this status and name, and the error body of all errors."""
    assert (response.status_code, response.content_type) == (status, "application/json"), response.text
    error, request, more = response.json, response.request, set[str]()
    if (status, request.method) == (401, "GET") and request.path.endswith("/api/admin/user"):
        # The web UI makes its login form from this.
        more = {"type", "path", "defaultHidden", "options"}
    if request.path.startswith("/ofrep/v1/evaluate/flags"):
        more = {"errorCode", "errorDetails"} | (error.keys() & {"key"})
        assert error["errorDetails"] == error["message"]
    assert error.keys() == {"id", "name", "message"} | more
    assert error["name"] == name, response.text
    assert str(UUID(error["id"])) == error["id"]
    assert error["message"]
    return error["message"]
