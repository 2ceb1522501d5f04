"""Archive and revive: what is refused, what stays readable, and what the log says."""

from datetime import UTC, datetime

import pytest
from flask import Flask

from sql.database import Connection, value
from tests.support.fingerprint import fingerprint
from tests.support.projects import plain, recorded, stored
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects"
THEN = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_project_is_archived(conn: Connection, world: World, alice: Caller, victor: Caller) -> None:
    world.project("mobile")
    world.flag("old", "mobile", archived_at=THEN)
    since = world.last_event_id()
    answer = alice.post(f"{PATH}/archive/mobile")
    assert (answer.status_code, answer.data) == (200, b"")
    row = stored(conn, "mobile")
    assert row["archived_at"] == row["updated_at"] == value(conn, "SELECT now()")
    assert recorded(world, since) == [plain("project-archived", alice)]
    assert victor.get(f"{PATH}/mobile/overview").json["archivedAt"]
    assert victor.get(f"{PATH}/mobile/health-report").json["archivedAt"]
    before = fingerprint(conn)
    assert alice.post(f"{PATH}/archive/mobile").status_code == 200
    assert fingerprint(conn) == before


def test_a_project_is_revived(conn: Connection, world: World, alice: Caller) -> None:
    world.project("mobile", archived_at=THEN)
    flag = world.flag("old", "mobile", archived_at=THEN)
    since = world.last_event_id()
    answer = alice.post(f"{PATH}/revive/mobile")
    assert (answer.status_code, answer.data) == (200, b"")
    row = stored(conn, "mobile")
    assert (row["archived_at"], row["updated_at"]) == (None, value(conn, "SELECT now()"))
    assert recorded(world, since) == [plain("project-revived", alice)]
    assert value(conn, "SELECT archived_at FROM flags WHERE id = %(id)s", {"id": flag}) == THEN
    before = fingerprint(conn)
    assert alice.post(f"{PATH}/revive/mobile").status_code == 200
    assert fingerprint(conn) == before


END = [("POST", f"{PATH}/archive/{{}}"), ("DELETE", f"{PATH}/{{}}")]


@pytest.mark.parametrize(("method", "path"), END)
def test_the_default_project_stays(conn: Connection, alice: Caller, method: str, path: str) -> None:
    before = fingerprint(conn)
    assert "default" in refused(alice.request(method, path.format("default")), 409, "ConflictError")
    assert fingerprint(conn) == before


@pytest.mark.parametrize(("method", "path"), END)
def test_a_project_with_live_flags_stays(conn: Connection, world: World, alice: Caller, method: str, path: str) -> None:
    world.project("mobile")
    world.flag("old", "mobile", archived_at=THEN)
    world.flag("new", "mobile")
    before = fingerprint(conn)
    message = refused(alice.request(method, path.format("mobile")), 409, "ConflictError")
    assert message == "The project has flags that are not archived. Archive them first: new."
    assert fingerprint(conn) == before


@pytest.mark.parametrize(("method", "path"), [*END, ("POST", f"{PATH}/revive/{{}}")])
def test_an_unknown_project_is_not_found(conn: Connection, alice: Caller, method: str, path: str) -> None:
    before = fingerprint(conn)
    refused(alice.request(method, path.format("nowhere")), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_a_live_project_more_than_there_may_be_is_not_revived(
    conn: Connection, app: Flask, world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.project("mobile", archived_at=THEN)
    monkeypatch.setitem(app.config, "MAX_PROJECTS", 1)
    before = fingerprint(conn)
    assert "at most 1 " in refused(alice.post(f"{PATH}/revive/mobile"))
    assert fingerprint(conn) == before
    # One that is alive already is no one more.
    assert alice.post(f"{PATH}/revive/default").status_code == 200
    monkeypatch.setitem(app.config, "MAX_PROJECTS", 2)
    assert alice.post(f"{PATH}/revive/mobile").status_code == 200
