"""Archive, revive and delete a project: what is refused, what is deleted too, what stays, and the events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.api_tokens import new_secret
from sql.catalog import segments
from sql.database import Connection, rows, value
from sql.flags import favorites as flag_favorites
from sql.people import groups, roles
from sql.projects import favorites as project_favorites
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

PROJECTS = "/api/admin/projects"
PATH = f"{PROJECTS}/mobile"
THEN = datetime(2026, 1, 2, tzinfo=UTC)
USAGE = {"environment": "production", "app": "a", "at": THEN, "yes": 1, "no": 1}


@pytest.mark.parametrize(("change", "archived"), [("archive", None), ("revive", THEN)])
def test_a_project_is_archived_and_revived_once(conn, world, alice, victor, change, archived):
    world.project("mobile", archived_at=archived)
    flag = world.flag("old", "mobile", archived_at=THEN)
    since = world.last_event_id()
    answer = alice.post(f"{PROJECTS}/{change}/mobile")
    assert (answer.status_code, answer.data) == (200, b"")
    dates = "SELECT archived_at, updated_at = now() AS is_updated FROM projects WHERE id = 'mobile'"
    now = value(conn, "SELECT now()") if change == "archive" else None
    assert rows(conn, dates) == [{"archived_at": now, "is_updated": True}]
    assert events(world, since) == [event(f"project-{change}d", alice, project="mobile")]
    assert value(conn, "SELECT archived_at FROM flags WHERE id = %(id)s", {"id": flag}) == THEN
    for page in ("overview", "health-report"):
        assert (victor.get(f"{PATH}/{page}").json["archivedAt"] is None) is (now is None)
    before = fingerprint(conn)
    assert alice.post(f"{PROJECTS}/{change}/mobile").status_code == 200
    assert fingerprint(conn) == before


@pytest.mark.parametrize(("method", "path"), [("POST", f"{PROJECTS}/archive/{{}}"), ("DELETE", f"{PROJECTS}/{{}}")])
def test_the_default_project_and_projects_with_live_flags_stay(conn, world, alice, method, path):
    world.project("mobile")
    world.flag("old", "mobile", archived_at=THEN)
    world.flag("new", "mobile")
    before = fingerprint(conn)
    for project, message in (
        ("default", "The project default cannot be archived or deleted."),
        ("mobile", "The project has flags that are not archived. Archive them first: new."),
    ):
        assert refused(alice.request(method, path.format(project)), 409, "ConflictError") == message
    assert fingerprint(conn) == before


def test_no_more_live_projects_than_the_limit_are_revived(conn, app, world, alice, monkeypatch):
    world.project("mobile", archived_at=THEN)
    monkeypatch.setitem(app.config, "MAX_PROJECTS", 1)
    before = fingerprint(conn)
    assert "at most 1 " in refused(alice.post(f"{PROJECTS}/revive/mobile"))
    # A live project stays within the limit.
    assert alice.post(f"{PROJECTS}/revive/default").status_code == 200
    assert fingerprint(conn) == before
    monkeypatch.setitem(app.config, "MAX_PROJECTS", 2)
    assert alice.post(f"{PROJECTS}/revive/mobile").status_code == 200


# --- Deleting ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def full(conn: Connection, world: World, alice: Caller, olga: Caller, max: Caller) -> dict[str, Any]:
    """Projects mobile and web, each with something of everything; ids by name."""
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
            fixtures.insert_variant(conn, flag, "development", None, name="v", weight=1000)
        segment = segments.insert(conn, f"{project}-segment", [], project=project)
        fixtures.add_segment(conn, strategy, segment)
        child, parent = found[f"{project}-a"], found[f"{project}-b"]
        fixtures.insert(conn, "flag_dependencies", child_id=child, parent_id=parent)
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
        fixtures.allow(conn, role, "UPDATE_PROJECT", project=project)
        key: dict[str, Any] = {"kind": "client", "environment": "development", "projects": [project]}
        found[f"{project}-key"] = api_tokens.insert(conn, new_secret(project), name=f"{project} key", **key)
    shared: dict[str, Any] = {"kind": "frontend", "environment": "production", "projects": ["mobile", "web"]}
    found["shared-key"] = api_tokens.insert(conn, new_secret("[]"), name="shared key", **shared)
    free: dict[str, Any] = {"kind": "client", "environment": "production"}
    found["free-key"] = api_tokens.insert(conn, new_secret(), name="free key", **free)
    return found


OF_FLAGS = ("flag_environments", "strategies", "variants", "flag_tags", "flag_favorites")
OF_PROJECTS = (
    *("segments", "project_environments", "project_favorites", "project_memberships", "past_project_group_roles"),
    *("usage_metrics", "role_permissions", "api_key_projects"),
)
COUNTS = {
    "projects": "projects WHERE id = %(p)s",
    "flags": "flags WHERE project_id = %(p)s AND deleted_at IS NULL",
    "dependencies": "flag_dependencies JOIN flags ON id = child_id WHERE name LIKE %(p)s || '-%%'",
    **{t: f"{t} JOIN flags ON flags.id = flag_id WHERE flags.name LIKE %(p)s || '-%%'" for t in OF_FLAGS},
    **{table: f"{table} WHERE project_id = %(p)s" for table in OF_PROJECTS},
}


def count_rows(conn: Connection, project: str) -> dict[str, int]:
    """The number of rows of a project, by table."""
    counts = {table: f"SELECT count(*) FROM {rest}" for table, rest in COUNTS.items()}
    return {table: value(conn, count, {"p": project}) for table, count in counts.items()}  # pyright: ignore


def test_all_records_of_a_project_are_deleted_with_the_project(conn, world, alice, full):
    before = count_rows(conn, "web")
    assert 0 not in before.values()
    assert count_rows(conn, "mobile") == before
    created = value(conn, "SELECT iso(created_at) FROM api_keys WHERE id = %(id)s", {"id": full["mobile-key"]})
    since = world.last_event_id()
    answer = alice.delete(PATH)
    assert (answer.status_code, answer.data) == (200, b"")
    assert set(count_rows(conn, "mobile").values()) == {0}
    assert count_rows(conn, "web") == before
    flags = "SELECT id, project_id, deleted_at = now() AS is_now FROM flags WHERE name LIKE 'mobile-%%' ORDER BY name"
    gone = [{"id": full[name], "project_id": None, "is_now": True} for name in ("mobile-a", "mobile-b")]
    assert rows(conn, flags) == gone
    core = {
        "type": "release",
        "description": "é",
        "project": "mobile",
        "enabled": False,
        "stale": False,
        "impressionData": False,
        "archived": True,
        "createdAt": created,
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
        "createdAt": created,
        "expiresAt": None,
        "seenAt": None,
        "alias": None,
    }
    about = {"project": "mobile", "tags": [{"type": "simple", "value": "kept in the event"}]}
    assert events(world, since) == [
        event("feature-deleted", alice, feature_name="mobile-a", pre_data={"name": "mobile-a"} | core, **about),
        event("feature-deleted", alice, feature_name="mobile-b", pre_data={"name": "mobile-b"} | core, **about),
        event("api-token-deleted", alice, project="mobile", environment="development", pre_data=key),
        event("project-deleted", alice, project="mobile"),
    ]


def test_a_token_for_several_projects_stays_valid_for_the_others(conn, alice, full):
    alice.delete(PATH)
    ids = [row["id"] for row in rows(conn, "SELECT id FROM api_keys WHERE name LIKE '%% key' ORDER BY id")]
    assert ids == [full["web-key"], full["shared-key"], full["free-key"]]
    found = rows(conn, "SELECT api_key_id, project_id FROM api_key_projects ORDER BY 1, 2")
    assert found == [{"api_key_id": full[name], "project_id": "web"} for name in ("web-key", "shared-key")]
    # It does not become a token for all projects.
    alice.delete(f"{PROJECTS}/web")
    assert value(conn, "SELECT array_agg(id) FROM api_keys WHERE name LIKE '%% key'") == [full["free-key"]]


@pytest.mark.usefixtures("full")
def test_a_project_created_again_starts_empty(world, alice, victor, olga):
    alice.delete(PATH)
    assert alice.post(PROJECTS, json={"name": "Mobile", "id": "mobile"}).status_code == 201
    shown = victor.get(f"{PATH}/overview").json
    assert (shown["members"], shown["favorite"], shown["health"], shown["featureTypeCounts"]) == (1, False, 100, [])
    assert shown["onboardingStatus"] == {"status": "onboarding-started"}
    assert shown["stats"] | {"projectActivityCurrentWindow": 0} == dict.fromkeys(shown["stats"], 0) | {
        "projectMembersAddedCurrentWindow": 1
    }
    assert olga.put(PATH, json={"name": "Mine"}).status_code == 403
    world.flag("mobile-a", "mobile")
    status = victor.get(f"{PATH}/overview").json["onboardingStatus"]
    assert status == {"status": "first-flag-created", "feature": "mobile-a"}
    assert alice.get(PROJECTS).json["projects"][1]["lastReportedFlagUsage"] is None


def test_a_flag_of_another_project_loses_its_deleted_parent_and_segment(conn, world, alice):
    world.project("mobile")
    parent = world.flag("parent", "mobile", archived_at=THEN)
    child = world.flag("child", archived_at=THEN)
    fixtures.insert(conn, "flag_dependencies", child_id=child, parent_id=parent)
    fixtures.add_segment(conn, world.strategy(child), segments.insert(conn, "a segment", [], project="mobile"))
    assert alice.delete(PATH).status_code == 200
    for table in ("flag_dependencies", "strategy_segments"):
        assert value(conn, f"SELECT count(*) FROM {table}") == 0
    assert value(conn, "SELECT deleted_at FROM flags WHERE id = %(id)s", {"id": child}) is None


def test_an_archived_project_is_deleted_once_and_its_deleted_flags_are_not_recorded_again(conn, world, alice):
    world.project("mobile", archived_at=THEN)
    flag = world.flag("old", "mobile", archived_at=THEN)
    fixtures.update(conn, "flags", flag, deleted_at=THEN)
    since = world.last_event_id()
    assert alice.delete(PATH, data="not JSON", content_type="text/plain").status_code == 200
    assert events(world, since) == [event("project-deleted", alice, project="mobile")]
    assert value(conn, "SELECT deleted_at FROM flags WHERE id = %(id)s", {"id": flag}) == THEN
    assert alice.delete(PATH).status_code == 404
