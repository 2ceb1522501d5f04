"""Applications, their instances, and unknown flags (/api/admin/metrics)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sql import applications
from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import refused

METRICS = "/api/admin/metrics"
APPLICATIONS = f"{METRICS}/applications"
NOW = datetime(2026, 5, 31, 9, 30, tzinfo=UTC)


def make(conn, name="shop", **fields: Any) -> None:
    """An application."""
    fixtures.insert(conn, "applications", name=name, **fields)


def sight(conn, flag_id, app="shop", environment="production", at=NOW):
    """Let an application use a flag."""
    columns = {"flag_id": flag_id, "environment": environment, "app_name": app}
    fixtures.insert(conn, "flag_sightings", **columns, first_at=at, last_at=at)


def run_instance(conn, connection, app="shop", environment="production", at=NOW, **fields):
    """An instance of an application."""
    columns = {"app_name": app, "environment": environment, "connection": connection, "seen_at": at}
    fixtures.insert(conn, "application_instances", **columns, **({"instance_id": connection} | fields))


def ask_for(conn, name, app="shop", environment="production", at=NOW):
    """Let an application ask for a flag that does not exist."""
    columns = {"flag_name": name, "app_name": app, "environment": environment, "seen_at": at}
    fixtures.insert(conn, "unknown_flags", **columns)


def names(response):
    """The names of listed applications."""
    return [application["appName"] for application in response.json["applications"]]


def test_an_application_lists_where_it_uses_flags(world, alice, conn):
    world.project("hermes")
    make(conn, strategies=["default"], description="d", url="https://x.example", icon="i", color="c", created_at=NOW)
    flags = [world.flag("a"), world.flag("b"), world.flag("c", "hermes")]
    for flag_id, environment in zip([*flags, flags[0]], ["production"] * 3 + ["development"], strict=True):
        sight(conn, flag_id, environment=environment)
    record = {
        "appName": "shop",
        "strategies": ["default"],
        "description": "d",
        "url": "https://x.example",
        "color": "c",
        "icon": "i",
        "createdAt": "2026-05-31T09:30:00.000Z",
        "usage": [
            {"project": "default", "environments": ["development", "production"]},
            {"project": "hermes", "environments": ["production"]},
        ],
    }
    assert alice.get(f"{APPLICATIONS}/shop").json == record
    assert alice.get(APPLICATIONS).json == {"applications": [record], "total": 1}
    make(conn, "new", created_at=NOW)
    bare = {"appName": "new", "strategies": [], "usage": [], "createdAt": "2026-05-31T09:30:00.000Z"}
    assert alice.get(f"{APPLICATIONS}/new").json == bare | dict.fromkeys(("description", "url", "color", "icon"))


def test_applications_are_listed_by_name(alice, conn):
    for name in ("web-shop", "Billing", "shop_2"):
        make(conn, name)
    assert names(alice.get(APPLICATIONS)) == ["Billing", "shop_2", "web-shop"]
    assert names(alice.get(f"{APPLICATIONS}?sortOrder=desc&sortBy=anything")) == ["web-shop", "shop_2", "Billing"]
    page = alice.get(f"{APPLICATIONS}?limit=1&offset=1")
    assert (names(page), page.json["total"]) == (["shop_2"], 3)
    found = alice.get(f"{APPLICATIONS}?query=SHOP")
    assert (names(found), found.json["total"]) == (["shop_2", "web-shop"], 2)
    # No wildcards.
    assert names(alice.get(f"{APPLICATIONS}?query=p_")) == ["shop_2"]
    for query in ("limit=0", "limit=1001", "offset=-1", "sortOrder=up"):
        refused(alice.get(f"{APPLICATIONS}?{query}"))


def test_applications_of_hidden_projects_are_hidden(world, alice, conn):
    victor = world.user("Victor")
    world.project("apollo", mode="private")
    for name in ("secret", "both", "none", "past"):
        make(conn, name)
        run_instance(conn, "i", name)
        ask_for(conn, "typo", name)
    hidden, shown = world.flag("hidden", "apollo"), world.flag("shown")
    deleted = world.flag("deleted", "apollo", archived_at=NOW, deleted_at=NOW)
    for flag_id, app in ((hidden, "secret"), (hidden, "both"), (shown, "both"), (deleted, "past")):
        sight(conn, flag_id, app)
    assert names(alice.get(APPLICATIONS)) == ["both", "none", "past", "secret"]
    assert names(victor.get(APPLICATIONS)) == ["both", "none", "past"]
    paths = [f"{APPLICATIONS}/%s", f"{APPLICATIONS}/%s/overview", f"{METRICS}/instances/%s/environment/production"]
    for path in paths:
        assert [victor.get(path % name).status_code for name in ("both", "none", "secret")] == [200, 200, 404]
        assert alice.get(path % "secret").status_code == 200
    assert [one["project"] for one in alice.get(f"{APPLICATIONS}/both").json["usage"]] == ["apollo", "default"]
    assert [one["project"] for one in victor.get(f"{APPLICATIONS}/both").json["usage"]] == ["default"]
    overview = victor.get(f"{APPLICATIONS}/both/overview").json
    assert (overview["projects"], overview["featureCount"]) == (["default"], 1)
    unknown = victor.get(f"{METRICS}/unknown-flags").json["unknownFlags"]
    assert [report["appName"] for flag in unknown for report in flag["reports"]] == ["both", "none", "past"]


def test_an_unknown_application_is_not_found(alice):
    for path in ("", "/overview"):
        refused(alice.get(f"{APPLICATIONS}/shop{path}"), 404, "NotFoundError")
    refused(alice.get(f"{METRICS}/instances/shop/environment/production"), 404, "NotFoundError")
    refused(alice.post(f"{APPLICATIONS}/shop", json={}), 404, "NotFoundError")
    refused(alice.delete(f"{APPLICATIONS}/shop"), 404, "NotFoundError")


def test_an_application_is_described(world, alice, conn):
    make(conn, "a/b", color="red", icon="cart", strategies=["default"])
    since = world.last_event_id()
    response = alice.post(f"{APPLICATIONS}/a%2Fb", json={"description": "d", "url": "HTTPS://x.example", "icon": None})
    assert (response.status_code, response.data) == (202, b"")
    record = alice.get(f"{APPLICATIONS}/a%2Fb").json
    assert record["appName"] == "a/b"
    assert [record[key] for key in ("description", "url", "icon", "color")] == ["d", "HTTPS://x.example", None, "red"]
    # What was read can be sent back.
    assert alice.post(f"{APPLICATIONS}/a%2Fb", json=record).status_code == 202
    before = fingerprint(conn)
    refused(alice.post(f"{APPLICATIONS}/a%2Fb", json={"appName": "other"}))
    message = refused(alice.post(f"{APPLICATIONS}/a%2Fb", json={"url": "javascript:alert(1)", "color": "red"}))
    assert message == "url: must begin with http:// or https://"
    assert fingerprint(conn) == before
    assert alice.get(f"{APPLICATIONS}/a%2Fb").json == record
    assert world.events(since) == []


def test_a_deleted_application_leaves_its_usage(world, alice, conn):
    flag_id = world.flag("f")
    for name in ("shop", "other"):
        make(conn, name)
        run_instance(conn, "i", name)
        ask_for(conn, "typo", name)
        sight(conn, flag_id, name)
        fixtures.report_usage(
            conn,
            [{"project": "default", "flag": "f", "environment": "e", "app": name, "at": NOW, "yes": 1, "no": 0}],
        )
    since = world.last_event_id()
    assert alice.delete(f"{APPLICATIONS}/shop").status_code == 200
    assert world.events(since) == []
    for table in ("flag_sightings", "unknown_flags", "application_instances"):
        assert {row["app_name"] for row in rows(conn, f"SELECT app_name FROM {table}")} == {"other"}  # pyright: ignore
    assert value(conn, "SELECT count(*) FROM usage_metrics") == 2
    refused(alice.delete(f"{APPLICATIONS}/shop"), 404, "NotFoundError")


def test_an_overview_has_environments_and_problems(world, alice, conn):
    make(conn, strategies=["default", "flexibleRollout", "by-country", "gradualRolloutUserId"])
    later = NOW + timedelta(hours=1)
    flag_id = world.flag("f")
    sight(conn, flag_id)
    sight(conn, flag_id, environment="development", at=later)
    sight(conn, world.flag("gone", archived_at=NOW, deleted_at=NOW))
    for number, sdk in enumerate(("node:2", "node:1", "node:2", None)):
        run_instance(conn, f"i{number}", sdk_version=sdk, at=NOW - timedelta(minutes=number))
    ask_for(conn, "typo", at=later)
    ask_for(conn, "typo", environment="test")
    # Somebody has created it since.
    ask_for(conn, "f")
    environments = [
        ("development", 0, [], later, []),
        ("production", 4, ["node:1", "node:2"], later, ["typo"]),
        ("test", 0, [], NOW, ["typo"]),
    ]
    assert alice.get(f"{APPLICATIONS}/shop/overview").json == {
        "projects": ["default"],
        "featureCount": 1,
        "environments": [
            {
                "name": name,
                "instanceCount": instances,
                "sdks": sdks,
                "frontendSdks": [],
                "backendSdks": sdks,
                "lastSeen": seen.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "issues": {"missingFeatures": missing, "outdatedSdks": []},
            }
            for name, instances, sdks, seen, missing in environments
        ],
        "issues": {"missingStrategies": ["by-country"]},
    }


def test_instances_are_listed_newest_first(alice, conn, monkeypatch):
    make(conn)
    make(conn, "other")
    run_instance(conn, "c1", instance_id="host", address="10.0.0.1", sdk_version="node:1", at=NOW)
    run_instance(conn, "c2", at=NOW + timedelta(minutes=1))
    run_instance(conn, "c3", environment="development")
    run_instance(conn, "c4", "other")
    path = f"{METRICS}/instances/shop/environment/production"
    listed = alice.get(path).json["instances"]
    times = ["2026-05-31T09:31:00.000Z", "2026-05-31T09:30:00.000Z"]
    assert listed == [
        {"instanceId": "c2", "clientIp": None, "sdkVersion": None, "lastSeen": times[0]},
        {"instanceId": "host", "clientIp": "10.0.0.1", "sdkVersion": "node:1", "lastSeen": times[1]},
    ]
    assert alice.get(path.replace("production", "nowhere")).json == {"instances": []}
    monkeypatch.setattr(applications, "MAX_LISTED_INSTANCES", 1)
    assert alice.get(path).json["instances"] == listed[:1]


def test_unknown_flags_are_listed_until_they_exist(world, alice, conn):
    for name in ("shop", "other"):
        make(conn, name)
    ask_for(conn, "typo")
    ask_for(conn, "typo", "other", "development")
    ask_for(conn, "soon")
    newest = "2026-05-31T09:30:00.000Z"

    def unknown(name: str, *places: tuple[str, str]) -> dict[str, Any]:
        """The record of a name that applications ask for in environments."""
        newest_place = {"name": name, "appName": places[0][0], "environment": places[0][1]}
        reports = [
            {"appName": app, "environments": [{"environment": environment, "seenAt": newest}]}
            for app, environment in places
        ]
        return newest_place | {"seenAt": newest, "lastSeenAt": newest, "reports": reports}

    typo = unknown("typo", ("other", "development"), ("shop", "production"))
    listed = [unknown("soon", ("shop", "production")), typo]
    assert alice.get(f"{METRICS}/unknown-flags").json == {"unknownFlags": listed}
    flag_id = world.flag("soon")
    assert alice.get(f"{METRICS}/unknown-flags").json == {"unknownFlags": listed[1:]}
    fixtures.update(conn, "flags", flag_id, archived_at=NOW, deleted_at=NOW)
    assert alice.get(f"{METRICS}/unknown-flags").json == {"unknownFlags": listed}


PROJECT = "/api/admin/projects/default/applications"


def test_a_project_lists_the_applications_that_use_its_flags(world, alice, conn):
    world.project("hermes")
    flag, other = world.flag("a"), world.flag("b", "hermes")
    for app in ("shop", "Billing", "elsewhere", "unused"):
        make(conn, app)
    for environment in ("production", "development"):
        sight(conn, flag, environment=environment)
    sight(conn, flag, "Billing", "development")
    sight(conn, other, "elsewhere")
    for number, sdk in enumerate(("unleash-client-node:6.1.0", "unleash-client-node:5.0.0", "own", None)):
        run_instance(conn, f"i-{number}", sdk_version=sdk)
    run_instance(conn, "i-9", "Billing", "production", sdk_version="unused:1")
    billing = {"name": "Billing", "environments": ["development"], "instances": [], "sdks": []}
    sdks = [{"name": "own", "versions": []}, {"name": "unleash-client-node", "versions": ["5.0.0", "6.1.0"]}]
    places = {"environments": ["development", "production"], "instances": ["i-0", "i-1", "i-2", "i-3"]}
    shop = {"name": "shop", **places, "sdks": sdks}
    assert alice.get(PROJECT).json == {"applications": [billing, shop], "total": 2}
    assert alice.get(f"{PROJECT}?sortOrder=desc&limit=1").json == {"applications": [shop], "total": 2}
    assert alice.get(f"{PROJECT}?offset=1").json == {"applications": [shop], "total": 2}
    for query in ("SHO", "prod", "node:6"):
        assert alice.get(f"{PROJECT}?query={query}").json == {"applications": [shop], "total": 1}
    for query in ("unused", "100%25", "hermes", "{", ","):
        assert alice.get(f"{PROJECT}?query={query}").json == {"applications": [], "total": 0}
    fixtures.update(conn, "flags", flag, archived_at=NOW, deleted_at=NOW)
    assert alice.get(PROJECT).json["total"] == 0


def test_no_sdk_is_outdated(alice, conn):
    make(conn)
    run_instance(conn, "i-1", sdk_version="unleash-client-node:1.0.0")
    assert alice.get(f"{METRICS}/sdks/outdated").json == {"sdks": []}
