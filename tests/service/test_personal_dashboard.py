"""The personal dashboard."""

from datetime import UTC, datetime, timedelta

from rules.access import SYSTEM
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/personal-dashboard"
NOW = datetime(2026, 5, 31, 9, 30, tzinfo=UTC)


def test_projects_are_those_with_a_role(world: World, alice: Caller) -> None:
    ida, olaf = world.user("ida"), world.user("olaf")
    for project in ("hermes", "apollo", "zeus"):
        world.project(project, mode="private")
    world.member("hermes", ida)
    world.member("hermes", olaf)
    group = fixtures.insert(world.conn, "groups", name="g")["id"]
    fixtures.add_group_user(world.conn, group, ida.id or 0)
    fixtures.add_project_group(world.conn, "apollo", group, 5)
    world.flag("f", "hermes")
    world.flag("g", "hermes", stale_since=NOW)
    world.flag("h", "hermes", archived_at=NOW)
    counts = {"health": 100, "technicalDebt": 0, "memberCount": 1, "featureCount": 0}
    used = {"health": 50, "technicalDebt": 50, "memberCount": 2, "featureCount": 2}
    assert ida.get(PATH).json["projects"] == [
        {"id": "apollo", "name": "Apollo"} | counts,
        {"id": "hermes", "name": "Hermes"} | used,
    ]
    assert world.user("max").get(PATH).json["projects"] == []
    assert [one["id"] for one in alice.get(PATH).json["projects"]] == ["apollo", "default", "hermes", "zeus"]
    world.conn.execute("UPDATE projects SET archived_at = now() WHERE id = 'apollo'")
    assert [one["id"] for one in ida.get(PATH).json["projects"]] == ["hermes"]


def test_flags_are_own_and_favourite_ones(world: World) -> None:
    ida = world.user("ida")
    world.project("apollo", mode="private")
    for number, (name, project) in enumerate((("old", "default"), ("new", "default"), ("hidden", "apollo"))):
        world.flag(name, project, created_by_user_id=ida.id, created_at=NOW + timedelta(days=number))
    world.flag("archived", created_by_user_id=ida.id, archived_at=NOW)
    liked = world.flag("liked", type="experiment", created_at=NOW + timedelta(hours=1))
    world.flag("other")
    fixtures.insert(world.conn, "flag_favorites", user_id=ida.id, flag_id=liked)
    release = {"project": "default", "type": "release"}
    assert ida.get(PATH).json["flags"] == [
        {"name": "new"} | release,
        {"name": "liked", "project": "default", "type": "experiment"},
        {"name": "old"} | release,
    ]
    for number in range(100):
        world.flag(f"f-{number}", created_by_user_id=ida.id)
    assert len(ida.get(PATH).json["flags"]) == 100


def test_administrators_and_owners_are_named(world: World, alice: Caller) -> None:
    ida, olaf = world.user("ida"), world.user("olaf")
    for project, mode in (("hermes", "open"), ("apollo", "private")):
        world.project(project, mode=mode)
    world.member("hermes", ida, 4)
    world.member("default", ida, 4)
    world.member("apollo", olaf, 4)
    world.member("hermes", olaf, 5)
    found = world.user("max").get(PATH).json
    assert [(one["ownerType"], one["email"]) for one in found["projectOwners"]] == [("user", ida.email)]
    assert [one["id"] for one in found["admins"]] == [1, alice.id]


def test_a_project_has_its_roles_owners_and_health(world: World, alice: Caller) -> None:
    ida = world.user("ida")
    world.project("hermes")
    path = f"{PATH}/hermes"
    assert ida.get(path).json["owners"] == [{"ownerType": "system"}]
    world.member("hermes", ida, 4)
    world.flag("f", "hermes")
    world.flag("g", "hermes", stale_since=NOW)
    world.flag("h", "hermes", created_at=datetime.now(UTC) - timedelta(days=41))
    world.flag("i", "hermes", archived_at=NOW, stale_since=NOW)
    found = ida.get(path).json
    assert found["roles"] == [{"id": 4, "name": "Owner", "type": "project"}]
    assert [one["email"] for one in found["owners"]] == [ida.email]
    assert found["onboardingStatus"]["status"] == "first-flag-created"
    assert found["insights"] == {
        "avgHealthCurrentWindow": 33,
        "avgHealthPastWindow": None,
        "totalFlags": 3,
        "activeFlags": 1,
        "staleFlags": 1,
        "potentiallyStaleFlags": 1,
        "health": 33,
        "technicalDebt": 67,
    }
    assert alice.get(path).json["roles"] == []


def test_a_project_has_its_four_newest_events(world: World, alice: Caller, victor: Caller) -> None:
    world.flag("f")
    for number in range(6):
        at = NOW + timedelta(hours=number)
        fixtures.record(world.conn, "feature-archived", SYSTEM, created_at=at, project="default", feature="*f*")
    fixtures.record(world.conn, "feature-archived", SYSTEM, created_at=NOW + timedelta(days=1), project="hermes")
    secret = {"project": "default", "created_at": NOW + timedelta(days=1)}
    fixtures.record(world.conn, "project-access-added", SYSTEM, **secret)
    found = victor.get(f"{PATH}/default").json["latestEvents"]
    assert [(one["createdAt"], one["summary"]) for one in found] == [
        (f"2026-05-31T{hour}:30:00.000Z", r"**system** archived \*f\*") for hour in (14, 13, 12, 11)
    ]
    assert (found[0]["createdBy"], found[0]["createdByImageUrl"]) == ("system", "")
    # Only those who can read the access list see this event.
    assert alice.get(f"{PATH}/default").json["latestEvents"][0]["summary"] == "**system** added roles in default"
