"""The record of a flag in the single read, field by field, as its statement gives it."""

import json

from rules.access import Actor
from sql import events
from sql.database import value
from sql.events import Event
from sql.flags import core as flags
from sql.flags import records as flag_records
from tests.support import fixtures
from tests.support.flags import ARCHIVE, FLAGS, depend


def read(conn, name="f", user_id=None, project="default"):
    """The Flag record, or None."""
    text = flag_records.get(conn, project, name, user_id)
    return None if text is None else json.loads(text)


def test_a_bare_flag_has_every_required_field_and_nothing_that_is_unset(world, conn):
    world.flag("f", created_at="2024-03-01T10:20:30.456Z")
    place = {
        "enabled": False,
        "variantCount": 0,
        "hasStrategies": False,
        "hasEnabledStrategies": False,
        "lastSeenAt": None,
        "strategies": [],
        "variants": [],
        "yes": 0,
        "no": 0,
    }
    assert read(conn) == {
        "name": "f",
        "type": "release",
        "description": None,
        "project": "default",
        "enabled": False,
        "stale": False,
        "impressionData": False,
        "archived": False,
        "createdAt": "2024-03-01T10:20:30.456Z",
        "archivedAt": None,
        "lastSeenAt": None,
        "environments": [
            {"name": name, "environment": name, "type": name, "sortOrder": order} | place
            for order, name in enumerate(("development", "production"), 1)
        ],
        "favorite": False,
        "tags": [],
        "children": [],
        "dependencies": [],
        "variants": [],
        "links": [],
        "createdBy": {"id": -1337, "name": "system", "imageUrl": ""},
        "lifecycle": {"stage": "initial", "enteredStageAt": "2024-03-01T10:20:30.456Z"},
        "collaborators": {"users": []},
    }


def test_a_flag_that_is_on_in_one_environment_is_enabled(world, alice, conn):
    fixtures.insert(conn, "environments", name="unlinked", type="test", sort_order=9)
    world.project("apollo", environments=("unlinked",))
    flags_in = {"off": (), "one": ("production",), "both": ("development", "production"), "elsewhere": ()}
    created = {name: world.flag(name, enabled_in=places) for name, places in flags_in.items()}
    fixtures.add_flag_environment(conn, created["elsewhere"], "unlinked", enabled=True)
    path = "/api/admin/projects/default/features"
    for name in created:
        answers = [alice.get(f"{path}/{name}"), alice.put(f"{path}/{name}", json={"stale": True})]
        answers += [alice.get(f"{path}?namePrefix={name}"), alice.get(f"/api/admin/search/features?query={name}")]
        records = [answer.json["features"][0] if "features" in answer.json else answer.json for answer in answers]
        assert [record["enabled"] for record in records] == [name in ("one", "both")] * 4, name


def test_an_environment_holds_its_strategies_in_order_and_its_variants(world, conn):
    flag = world.flag("f", enabled_in=("production",))
    later = world.strategy(flag, "production", sort_order=1, parameters={"rollout": "5"})
    first = world.strategy(flag, "production", sort_order=0, disabled=True, title="half")
    fixtures.insert_variant(conn, flag, "production", later, name="of-strategy", weight=1000)
    fixtures.insert_variant(conn, flag, "production", None, name="b", weight=500)
    fixtures.insert_variant(
        conn, flag, "production", None, name="a", weight=500, payload_type="string", payload_value="x"
    )
    development, production = read(conn)["environments"]
    assert (development["variantCount"], development["hasStrategies"]) == (0, False)
    assert (production["enabled"], production["variantCount"]) == (True, 2)
    assert (production["hasStrategies"], production["hasEnabledStrategies"]) == (True, True)
    assert [strategy["id"] for strategy in production["strategies"]] == [first, later]
    assert production["strategies"][0]["title"] == "half"
    assert [variant["name"] for variant in production["strategies"][1]["variants"]] == ["of-strategy"]
    assert production["variants"] == [
        {
            "name": "a",
            "weight": 500,
            "weightType": "variable",
            "stickiness": "default",
            "payload": {"type": "string", "value": "x"},
            "overrides": [],
        },
        {"name": "b", "weight": 500, "weightType": "variable", "stickiness": "default", "overrides": []},
    ]
    fixtures.insert_variant(conn, flag, "development", None, name="a", weight=2)
    # Of each name, the variant of the first environment.
    assert [(variant["name"], variant["weight"]) for variant in read(conn)["variants"]] == [("a", 2), ("b", 500)]


# --- Usage and life ---------------------------------------------------------------------------------------------------


def report(conn, at, environment="production", name="f", yes=1, no=0, project="default"):
    """Let usage of a flag be reported at an instant, PostgreSQL's words for it relative to now."""
    instant = value(conn, "SELECT now() + %(at)s::interval", {"at": at})
    reports = [
        {"project": project, "flag": name, "environment": environment, "app": "a", "yes": yes, "no": no, "at": instant}
    ]
    fixtures.report_usage(conn, reports)


def hour(conn, at):
    """The beginning of the hour of such an instant, as answers have it."""
    return value(conn, "SELECT iso(date_trunc('hour', now() + %(at)s::interval))", {"at": at})


def created(world, at, name="f", **fields):
    """A flag that was made at such an instant."""
    return world.flag(name, created_at=value(world.conn, "SELECT now() + %(at)s::interval", {"at": at}), **fields)


def test_last_seen_is_the_newest_report_of_each_environment(world, conn):
    created(world, "-3 days")
    report(conn, "-2 days", "development")
    report(conn, "-30 hours", "production", no=1, yes=0)
    report(conn, "-29 hours", "production", project=world.project("apollo"))
    report(conn, "-1 hour", name="other")
    record = read(conn)
    assert record["lastSeenAt"] == hour(conn, "-29 hours")
    assert [place["lastSeenAt"] for place in record["environments"]] == [hour(conn, "-2 days"), hour(conn, "-29 hours")]
    assert flags.read(conn, [value(conn, "SELECT id FROM flags")])[0]["record"]["lastSeenAt"] == hour(conn, "-29 hours")


def test_usage_from_before_its_creation_is_that_of_an_earlier_flag(world, conn):
    created(world, "-1 day", enabled_in=("production",))
    report(conn, "-26 hours")
    record = read(conn)
    assert record["lastSeenAt"] is record["environments"][1]["lastSeenAt"] is None
    assert record["lifecycle"] == {"stage": "initial", "enteredStageAt": record["createdAt"]}
    # Usage is reported by the hour: that in which the flag was made is its own.
    report(conn, "-1 day")
    assert read(conn)["lastSeenAt"] == record["createdAt"]
    assert read(conn)["lifecycle"] == {"stage": "live", "enteredStageAt": record["createdAt"]}


def test_yes_and_no_are_those_of_this_hour(world, conn):
    created(world, "-3 days")
    for at, yes, no in (("-61 minutes", 100, 100), ("0", 3, 4), ("0", 30, 40)):
        report(conn, at, yes=yes, no=no)
    report(conn, "0", "development", yes=0, no=5)
    assert [(place["yes"], place["no"]) for place in read(conn)["environments"]] == [(0, 5), (33, 44)]


def test_a_flag_is_initial_then_pre_live_then_live(world, conn):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('eu', 'production', 9)")
    flag = created(world, "-9 days")
    fixtures.add_flag_environment(conn, flag, "eu", enabled=True)
    assert read(conn)["lifecycle"]["stage"] == "initial"
    report(conn, "-5 days", "development")
    report(conn, "-7 days", "production")
    # Seen in production, but not on there; on in development, which is no production environment.
    conn.execute("UPDATE flag_environments SET enabled = true WHERE environment = 'development'")
    assert read(conn)["lifecycle"] == {"stage": "pre-live", "enteredStageAt": hour(conn, "-7 days")}
    report(conn, "-3 days", "eu")
    report(conn, "-1 days", "eu")
    assert read(conn)["lifecycle"] == {"stage": "live", "enteredStageAt": hour(conn, "-3 days")}
    conn.execute("UPDATE flag_environments SET enabled = true WHERE environment = 'production'")
    assert read(conn)["lifecycle"] == {"stage": "live", "enteredStageAt": hour(conn, "-7 days")}


def test_parents_and_children_are_listed(world, conn):
    ids = {name: world.flag(name) for name in ("f", "b", "a", "parent")}
    for child in ("b", "a"):
        depend(conn, ids[child], ids["f"])
    links = {"child_id": ids["f"], "parent_id": ids["parent"], "variants": ["x"]}
    fixtures.insert(conn, "flag_dependencies", **links)
    assert read(conn)["children"] == ["a", "b"]
    assert read(conn)["dependencies"] == [{"feature": "parent", "enabled": True, "variants": ["x"]}]
    assert read(conn, "a")["dependencies"] == [{"feature": "f", "enabled": True, "variants": []}]
    assert read(conn, "a")["children"] == read(conn, "parent")["dependencies"] == []


# --- People and others ------------------------------------------------------------------------------------------------


def test_the_creator_has_their_present_name(world, conn):
    named, nameless, faceless = world.user("Ada"), world.user("Bob"), world.user("Cyd", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = ANY(%s)", [[nameless.id, faceless.id]])
    conn.execute("UPDATE users SET image_url = 'https://example.org/bob.png' WHERE id = %s", [nameless.id])
    for name, user in (("a", named), ("b", nameless), ("c", faceless)):
        world.flag(name, created_by_user_id=user.id)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [named.id])
    assert [read(conn, name)["createdBy"] for name in "abc"] == [
        {"id": named.id, "name": "Ada", "imageUrl": ""},
        {"id": nameless.id, "name": "bob", "imageUrl": "https://example.org/bob.png"},
        {"id": faceless.id, "name": "cyd@example.org", "imageUrl": ""},
    ]


def test_collaborators_are_the_users_who_changed_this_flag(world, conn):
    people = [world.user(name) for name in ("Ada", "Bob", "Cyd", "Dan")]
    created(world, "-2 days")
    for user, type, name, at in (
        (people[1], "feature-metadata-updated", "f", "-1 day"),
        (people[0], "feature-environment-enabled", "f", "-2 days"),
        (people[1], "feature-tagged", "f", "0"),
        (people[2], "feature-created", "f", "-3 days"),  # an earlier flag of that name
        (people[2], "feature-created", "g", "0"),
        (people[3], "feature-favorited", "f", "0"),
    ):
        instant = value(conn, "SELECT now() + %(at)s::interval", {"at": at})
        author = Actor(user.email, user.id)
        fixtures.record(conn, type, author, project="default", feature=name, created_at=instant)
    events.record(conn, Event("feature-tagged", Actor("a key"), project="default", feature="f"))
    assert [person["name"] for person in read(conn)["collaborators"]["users"]] == ["Ada", "Bob"]


def test_the_environments_are_those_of_the_project_in_their_order(world, conn):
    conn.execute("UPDATE environments SET sort_order = 7 WHERE name = 'development'")
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('aaa', 'test', 2), ('zzz', 'test', 1)")
    conn.execute("INSERT INTO project_environments (project_id, environment) VALUES ('default', 'aaa')")
    flag = world.flag("f")
    # It has no row of its own in one, and one in an environment that is not linked.
    conn.execute("DELETE FROM flag_environments WHERE environment = 'aaa'")
    fixtures.add_flag_environment(conn, flag, "zzz", enabled=True)
    places = read(conn)["environments"]
    assert [(place["name"], place["enabled"], place["sortOrder"]) for place in places] == [
        ("aaa", False, 2),
        ("production", False, 2),
        ("development", False, 7),
    ]


def test_only_a_deleted_flag_loses_when_it_was_seen(world, alice, conn):
    seen = "SELECT count(*) FROM flag_sightings WHERE flag_id = %(id)s"
    flag = world.flag("f")
    report(conn, "0 hours")
    assert alice.post(f"{FLAGS}/f/clone", json={"name": "copy"}).json["lastSeenAt"] is None
    assert alice.delete(f"{FLAGS}/f").status_code == 202
    assert value(conn, seen, {"id": flag}) == 1
    assert alice.delete(f"{ARCHIVE}/f").status_code == 200
    assert value(conn, seen, {"id": flag}) == 0
