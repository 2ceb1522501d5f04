"""DELETE /api/admin/projects/{p}: all that is deleted too, what stays, and the log in its order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.database import Connection, rows, value
from sql.flags import favorites as flag_favorites
from sql.people import groups, roles
from sql.projects import favorites as project_favorites
from sql.tokens import api_tokens
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.projects import plain, recorded
from tests.support.world import Caller, World

PATH = "/api/admin/projects/mobile"
THEN = datetime(2026, 1, 2, tzinfo=UTC)
USAGE = {"environment": "production", "app": "a", "at": THEN, "yes": 1, "no": 1}


@pytest.fixture
def full(conn: Connection, world: World, alice: Caller, olga: Caller, max: Caller) -> dict[str, Any]:
    """Project mobile with something of everything, and project web beside it, with as much; ids by name."""
    found: dict[str, Any] = {}
    for project in ("mobile", "web"):
        world.project(project)
        for name in ("b", "a"):
            flag = world.flag(
                f"{project}-{name}", project, archived_at=THEN, created_by_user_id=alice.id, description="é"
            )
            found[f"{project}-{name}"] = flag
            strategy = world.strategy(flag, name="default")
            fixtures.tag(conn, flag, "simple", "kept in the event")
            flag_favorites.add(conn, alice.id or 0, flag)
            conn.execute(
                "INSERT INTO variants (flag_id, environment, name, weight) VALUES (%s, 'development', 'v', 1000)",
                [flag],
            )
        segment = segments.insert(conn, f"{project}-segment", [], project=project)
        conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [strategy, segment])
        child, parent = found[f"{project}-a"], found[f"{project}-b"]
        conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", [child, parent])
        project_favorites.add(conn, alice.id or 0, project)
        world.member(project, olga, 4)
        group = groups.insert(conn, f"{project} team")
        fixtures.add_group_user(conn, group, max.id or 0)
        fixtures.add_project_group(conn, project, group, 5)
        dates = {"role_id": 5, "started_at": THEN, "ended_at": THEN + timedelta(days=1)}
        fixtures.insert(conn, "past_project_user_roles", project_id=project, user_id=max.id, **dates)
        fixtures.insert(conn, "past_project_group_roles", project_id=project, group_id=group, **dates)
        fixtures.report_usage(conn, [USAGE | {"project": project, "flag": f"{project}-a"}])
        role = roles.insert(conn, f"{project} role", type="root-custom")
        conn.execute("INSERT INTO role_permissions VALUES (%s, 'UPDATE_PROJECT', %s)", [role, project])
        key = {"kind": "client", "environment": "development", "projects": [project]}
        found[f"{project}-key"] = api_tokens.insert(conn, api_tokens.generate(project), name=f"{project} key", **key)
    shared = {"kind": "frontend", "environment": "production", "projects": ["mobile", "web"]}
    found["shared-key"] = api_tokens.insert(conn, api_tokens.generate("[]"), name="shared key", **shared)
    found["free-key"] = api_tokens.insert(
        conn, api_tokens.generate(), name="free key", kind="client", environment="production"
    )
    return found


LEFT = """
    SELECT (SELECT count(*) FROM projects WHERE id = %(p)s) AS projects,
           (SELECT count(*) FROM flags WHERE project_id = %(p)s AND deleted_at IS NULL) AS flags,
           (SELECT count(*) FROM flag_environments JOIN flags ON id = flag_id
             WHERE name LIKE %(p)s || '-%%') AS flag_environments,
           (SELECT count(*) FROM strategies JOIN flags ON flags.id = flag_id
             WHERE flags.name LIKE %(p)s || '-%%') AS strategies,
           (SELECT count(*) FROM variants JOIN flags ON flags.id = flag_id
             WHERE flags.name LIKE %(p)s || '-%%') AS variants,
           (SELECT count(*) FROM flag_tags JOIN flags ON id = flag_id WHERE name LIKE %(p)s || '-%%') AS flag_tags,
           (SELECT count(*) FROM flag_favorites JOIN flags ON id = flag_id
             WHERE name LIKE %(p)s || '-%%') AS flag_favorites,
           (SELECT count(*) FROM flag_dependencies JOIN flags ON id = child_id
             WHERE name LIKE %(p)s || '-%%') AS dependencies,
           (SELECT count(*) FROM segments WHERE project_id = %(p)s) AS segments,
           (SELECT count(*) FROM project_environments WHERE project_id = %(p)s) AS environments,
           (SELECT count(*) FROM project_favorites WHERE project_id = %(p)s) AS favorites,
           (SELECT count(*) FROM project_memberships WHERE project_id = %(p)s) AS memberships,
           (SELECT count(*) FROM past_project_group_roles WHERE project_id = %(p)s) AS past_group_roles,
           (SELECT count(*) FROM usage_metrics WHERE project_id = %(p)s) AS usage,
           (SELECT count(*) FROM role_permissions WHERE project_id = %(p)s) AS permissions,
           (SELECT count(*) FROM api_key_projects WHERE project_id = %(p)s) AS keys
"""


def left(conn: Connection, project: str) -> dict[str, int]:
    """How much there is of a project, by table."""
    return dict(rows(conn, LEFT, {"p": project})[0])


def test_all_records_of_a_project_are_deleted_with_the_project(
    conn: Connection, alice: Caller, full: dict[str, Any]
) -> None:
    before = left(conn, "web")
    assert 0 not in before.values()
    assert left(conn, "mobile") == before
    answer = alice.delete(PATH)
    assert (answer.status_code, answer.data) == (200, b"")
    assert set(left(conn, "mobile").values()) == {0}
    assert left(conn, "web") == before
    gone = rows(
        conn,
        (
            "SELECT id, project_id, deleted_at = now() AS is_deleted_now "
            "FROM flags WHERE name LIKE 'mobile-%%' ORDER BY name"
        ),
    )
    assert gone == [{"id": full[name], "project_id": None, "is_deleted_now": True} for name in ("mobile-a", "mobile-b")]


def test_the_log_has_flags_then_tokens_then_the_project(
    conn: Connection, world: World, alice: Caller, full: dict[str, Any]
) -> None:
    created = "SELECT iso(created_at) FROM api_keys WHERE id = %(id)s"
    at = value(conn, created, {"id": full["mobile-key"]})
    since = world.last_event_id()
    alice.delete(PATH)
    core = {
        "type": "release",
        "description": "é",
        "project": "mobile",
        "enabled": False,
        "stale": False,
        "impressionData": False,
        "archived": True,
        "createdAt": at,
        "lastSeenAt": None,
        "archivedAt": "2026-01-02T00:00:00.000Z",
    }
    key = {
        "tokenName": "mobile key",
        "username": "mobile key",
        "type": "client",
        "environment": "development",
        "project": "mobile",
        "projects": ["mobile"],
        "createdAt": at,
        "expiresAt": None,
        "seenAt": None,
        "alias": None,
    }
    tags = [{"type": "simple", "value": "kept in the event"}]
    assert recorded(world, since) == [
        plain("feature-deleted", alice, feature_name="mobile-a", pre_data={"name": "mobile-a"} | core, tags=tags),
        plain("feature-deleted", alice, feature_name="mobile-b", pre_data={"name": "mobile-b"} | core, tags=tags),
        plain("api-token-deleted", alice, environment="development", pre_data=key),
        plain("project-deleted", alice),
    ]


def test_the_events_have_no_secret_of_a_token(
    conn: Connection, world: World, alice: Caller, full: dict[str, Any]
) -> None:
    secrets = [row["secret"] for row in rows(conn, "SELECT secret FROM api_keys WHERE secret IS NOT NULL")]
    assert len(secrets) >= len([name for name in full if name.endswith("key")])
    since = world.last_event_id()
    alice.delete(PATH)
    log = str(world.events(since))
    assert not any(secret in log or secret.rpartition(".")[2] in log for secret in secrets)


def test_a_shared_key_stays_for_the_others_and_never_becomes_one_for_all(
    conn: Connection, alice: Caller, full: dict[str, Any]
) -> None:
    alice.delete(PATH)
    ids = [row["id"] for row in rows(conn, "SELECT id FROM api_keys WHERE name LIKE '%% key' ORDER BY id")]
    assert ids == [full["web-key"], full["shared-key"], full["free-key"]]
    found = rows(conn, "SELECT api_key_id, project_id FROM api_key_projects ORDER BY 1, 2")
    assert found == [{"api_key_id": full[name], "project_id": "web"} for name in ("web-key", "shared-key")]
    alice.delete("/api/admin/projects/web")
    assert value(conn, "SELECT array_agg(id) FROM api_keys WHERE name LIKE '%% key'") == [full["free-key"]]


def test_a_project_made_again_starts_empty_and_names_are_free(
    world: World, alice: Caller, victor: Caller, olga: Caller, full: dict[str, Any]
) -> None:
    assert full
    alice.delete(PATH)
    assert alice.post("/api/admin/projects", json={"name": "Mobile", "id": "mobile"}).status_code == 201
    shown = victor.get(f"{PATH}/overview").json
    assert (shown["members"], shown["favorite"], shown["health"], shown["featureTypeCounts"]) == (1, False, 100, [])
    assert shown["onboardingStatus"] == {"status": "onboarding-started"}
    assert shown["stats"] | {"projectActivityCurrentWindow": 0} == dict.fromkeys(shown["stats"], 0) | {
        "projectMembersAddedCurrentWindow": 1
    }
    assert olga.put(PATH, json={"name": "Mine"}).status_code == 403
    world.flag("mobile-a", "mobile")
    assert victor.get(f"{PATH}/overview").json["onboardingStatus"] == {
        "status": "first-flag-created",
        "feature": "mobile-a",
    }
    assert alice.get("/api/admin/projects").json["projects"][1]["lastReportedFlagUsage"] is None


def test_a_flag_of_another_project_loses_its_deleted_parent_and_segment(
    conn: Connection, world: World, alice: Caller
) -> None:
    world.project("mobile")
    parent = world.flag("parent", "mobile", archived_at=THEN)
    child = world.flag("child", archived_at=THEN)
    conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", [child, parent])
    strategy = world.strategy(child)
    segment = segments.insert(conn, "a segment", [], project="mobile")
    conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [strategy, segment])
    assert alice.delete(PATH).status_code == 200
    assert (
        value(conn, "SELECT count(*) FROM flag_dependencies")
        == value(conn, "SELECT count(*) FROM strategy_segments")
        == 0
    )
    assert value(conn, "SELECT deleted_at FROM flags WHERE id = %(id)s", {"id": child}) is None


def test_an_archived_project_can_be_deleted_once(world: World, alice: Caller) -> None:
    world.project("mobile", archived_at=THEN)
    since = world.last_event_id()
    assert alice.delete(PATH, data="not JSON", content_type="text/plain").status_code == 200
    assert recorded(world, since) == [plain("project-deleted", alice)]
    assert alice.delete(PATH).status_code == 404


def test_a_flag_deleted_before_is_not_recorded_again(conn: Connection, world: World, alice: Caller) -> None:
    world.project("mobile")
    flag = world.flag("old", "mobile", archived_at=THEN)
    conn.execute("UPDATE flags SET deleted_at = %s WHERE id = %s", [THEN, flag])
    since = world.last_event_id()
    assert alice.delete(PATH).status_code == 200
    assert recorded(world, since) == [plain("project-deleted", alice)]
    assert value(conn, "SELECT deleted_at FROM flags WHERE id = %(id)s", {"id": flag}) == THEN
