"""Segments for tests: creates them, the caller that may, their rows and limits."""

from typing import Any

import pytest
from flask import Flask

from sql.database import Connection
from sql.people import roles
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/segments"
ASKED = {"contextName": "userId", "operator": "IN", "values": ["7", "12"]}
KEPT = ASKED | {"inverted": False, "caseInsensitive": False}


def make(caller: Caller, name: str = "Beta", **fields: Any) -> int:
    answer = caller.post(PATH, json={"name": name, "constraints": [ASKED]} | fields)
    assert answer.status_code == 201, answer.text
    return answer.get_json()["id"]


def curator(world: World, *projects: str, name: str = "Carla") -> Caller:
    """Return a user whose only permission is to change segments in these projects."""
    role = roles.insert(world.conn, f"Curator {name}")
    fixtures.allow(world.conn, role, "UPDATE_PROJECT_SEGMENT")
    caller = world.user(name)
    for project in projects:
        world.member(project, caller, role)
    return caller


def stored(conn: Connection, segment: int) -> dict[str, Any]:
    """The row of a segment, without its instant and version; {} when there is none."""
    row = conn.execute("SELECT * FROM segments WHERE id = %s", [segment]).fetchone() or {}
    return {column: word for column, word in row.items() if column not in ("created_at", "version")}


def limit(app: Flask, monkeypatch: pytest.MonkeyPatch, **settings: int) -> None:
    for name, limit in settings.items():
        monkeypatch.setitem(app.config, name, limit)


def body(name: str = "Beta", **fields: object) -> dict[str, object]:
    return {"name": name, "constraints": [ASKED]} | fields
