"""Usage that applications report: what is counted, for which hour, environment and project, what is dropped, and what
people read of it.
"""

import json
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from serving import body_limits
from sql.database import Connection, rows, value
from tests.support import fixtures
from tests.support.reports import (
    BULK,
    METRICS,
    counts,
    hour,
    instances,
    metrics,
    names,
    report,
    unknown,
    usage,
    variants,
)
from tests.support.world import Caller, World, refused

YES = {"yes": 1, "no": 0}
FLAG = "/api/admin/projects/default/features/f"


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for development, and the flag f of last week."""
    world.flag("f", created_at=hour(days=7))
    return world.api_key("client")


def test_usage_adds_up_by_flag_and_hour(world: World, client: Caller, conn: Connection) -> None:
    world.flag("g")
    now, past = hour(), hour(hours=3)
    for _ in range(2):
        report(client, {"f": {"yes": 3, "no": 1}, "g": {"yes": 0, "no": 5}}, start=now.isoformat())
    report(client, {"f": {"yes": 1, "no": 0}}, app="other", start=now.isoformat())
    report(client, {"f": {"yes": 7, "no": 0}}, start=past.isoformat())
    # Without usage, an entry is no row.
    report(client, {"f": {"yes": 0, "no": 0, "variants": {"disabled": 0}}}, app="quiet")
    assert names(conn) == ["other", "quiet", "shop"]
    assert usage(conn) == [
        ("f", "development", "other", now, 1, 0),
        ("f", "development", "shop", past, 7, 0),
        ("f", "development", "shop", now, 6, 2),
        ("g", "development", "shop", now, 0, 10),
    ]


def test_variants_of_the_flag_are_counted(world: World, client: Caller, conn: Connection) -> None:
    flag = world.flag("v")
    fixtures.insert_variant(conn, flag, "production", None, name="blue", weight=1000)
    chosen = {"blue": 2, "disabled": 1, "invented": 9, "zero": 0, "": 4, "bad": -1}
    for name in ("variants", "variants", "variant"):  # The last is what Ruby sends. It does not count.
        report(client, {"v": {"yes": 3, "no": 1, name: chosen}})
    # Names of variants that the flag does not have come from anybody with a frontend token.
    assert variants(conn) == [("v", "blue", 4), ("v", "disabled", 2)]
    assert counts(conn) == {"v": (9, 3)}


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (hour(hours=5).strftime("%Y-%m-%dT%H:59:59.880779193Z"), hour(hours=5)),
        (hour(hours=5).strftime("%Y-%m-%dT%H:00:00"), hour(hours=5)),
        (hour(hours=5).strftime("%Y-%m-%d %H:10:00+00:00"), hour(hours=5)),
        ((hour(hours=5) + timedelta(hours=2)).strftime("%Y-%m-%dT%H:30:00+0200"), hour(hours=5)),
        (int(hour(hours=5).timestamp() * 1000) + 5, hour(hours=5)),
        (hour(hours=5).timestamp() * 1000 + 0.5, hour(hours=5)),
        ("2001-01-01t00:00:00z", hour(hours=48)),
        ("0001-01-01T00:00:00+14:00", hour()),
        (0, hour(hours=48)),
        ("9999-12-31T23:59:59Z", None),
        (-5, hour()),
        (10**30, hour()),
        ("yesterday", hour()),
        ("2026-02-31T00:00:00Z", hour()),
        (None, hour()),
        ([], hour()),
        (True, hour()),
    ],
    # pytest-xdist refuses workers whose tests have different names, so the names do not tell the hour.
    ids=count(),
)
def test_hour_is_that_of_the_start_of_the_bucket(client: Caller, conn: Connection, start: Any, expected: Any) -> None:
    document = metrics({"f": YES})
    document["bucket"]["start"] = start
    assert client.post(METRICS, json=document).status_code == 202
    [(_, _, _, found, _, _)] = usage(conn)
    # None: ten minutes in the future, which can be the present hour or the next one. The hour may have changed.
    within = timedelta(hours=1)
    assert (expected or hour()) <= found <= (expected or hour()) + within


GARBAGE = [
    b"",
    b"not JSON",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b"[" * 100_000,
    b'{"a":' * 10_000,
    b"{}",
    b'{"appName": "shop"}',
    b'{"appName": "shop", "bucket": []}',
    b'{"appName": "shop", "bucket": {}}',
    b'{"appName": "shop", "bucket": {"toggles": []}}',
    b'{"appName": "shop", "bucket": {"toggles": {"f": null, "g": [], "h": 1}}}',
    b'{"appName": "shop", "bucket": {"toggles": {"f": {"yes": 1e400}}}}',
    b'{"appName": "shop", "bucket": {"toggles": {"f": {"yes": NaN}}}}',
    b'{"appName": "shop", "bucket": {"toggles": {"f": {"yes": ' + b"9" * 5000 + b"}}}}",
    b'{"bucket": {"toggles": {"f": {"yes": 1}}}}',
    b'{"appName": 5, "bucket": {"toggles": {"f": {"yes": 1}}}}',
    b'{"appName": "", "bucket": {"toggles": {"f": {"yes": 1}}}}',
    b'{"appName": "a\\u0000b", "bucket": {"toggles": {"f": {"yes": 1}}}}',
    b'{"appName": "\\ud800", "bucket": {"toggles": {"f": {"yes": 1}}}}',
    b'{"appName": "' + b"x" * 256 + b'", "bucket": {"toggles": {"f": {"yes": 1}}}}',
    # Above the ten mebibytes of a report.
    json.dumps(metrics({"f": YES}, start="2026-01-01")).encode() + b" " * (10 << 20),
]


@pytest.mark.parametrize("path", [METRICS, BULK])
@pytest.mark.parametrize("body", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_accepted_and_the_next_report_counts(
    client: Caller, conn: Connection, path: str, body: bytes
) -> None:
    assert client.post(path, data=body).status_code == 202
    assert usage(conn) == []
    report(client, {"f": YES})
    assert counts(conn) == {"f": (1, 0)}


@pytest.mark.parametrize("wrong", [-1, 2**31, 2**63, 10**400, 1.5, True, "1", None, [], {}], ids=str)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_entry_with_an_invalid_count_is_dropped_alone(
    client: Caller, world: World, conn: Connection, wrong: Any, answer: str
) -> None:
    world.flag("g")
    report(client, {"f": YES | {answer: wrong}, "g": {"yes": 3.0}})
    assert counts(conn) == {"g": (3, 0)}


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 101])
def test_entry_with_an_invalid_name_is_dropped_alone(client: Caller, conn: Connection, name: str) -> None:
    body = json.dumps(metrics({name: YES, "f": YES | {"variants": {name: 1, "disabled": 1}}}))
    assert client.post(METRICS, data=body).status_code == 202
    assert counts(conn) == {"f": (1, 0)}
    assert variants(conn) == [("f", "disabled", 1)]
    assert unknown(conn) == []


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "\xff", "multipart/form-data"]
)
def test_any_content_type_is_read_above_the_limit_of_other_bodies(
    client: Caller, conn: Connection, content_type: str
) -> None:
    body = json.dumps(metrics({"f": YES})).encode() + b" " * client.app.config["MAX_BODY_BYTES"]
    assert client.post(METRICS, data=body, content_type=content_type).status_code == 202
    assert counts(conn) == {"f": (1, 0)}


def test_worker_reads_one_large_report_at_a_time(
    client: Caller, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(client.app.config, "WAIT_SECONDS", 0.01)
    small = metrics({"f": YES})
    large = b" " * (2 << 20)
    with body_limits.LARGE_REPORTS:
        message = refused(client.post(METRICS, data=large), 503, "UnavailableError")
        assert message == "Too many large requests. Try again later."
        assert client.post(METRICS, json=small).status_code == 202
    assert client.post(METRICS, data=large).status_code == 202
    assert counts(conn) == {"f": (1, 0)}


def test_entries_after_the_first_20000_are_dropped(client: Caller, world: World, conn: Connection) -> None:
    flags = {f"x{number}": YES for number in range(20_000)}
    world.flag("zz")
    report(client, flags | {"zz": YES})
    assert usage(conn) == []
    assert value(conn, "SELECT count(*) FROM unknown_flags") == 10_000


def test_archived_flags_count_and_deleted_ones_do_not(world: World, client: Caller, conn: Connection) -> None:
    world.flag("archived", archived_at="now")
    world.flag("deleted", archived_at="now", deleted_at="now")
    report(client, {"archived": YES, "deleted": YES})
    assert counts(conn) == {"archived": (1, 0)}
    assert unknown(conn) == [("deleted", "shop", "development")]


def test_token_reports_for_its_own_projects(world: World, conn: Connection, caplog: Any) -> None:
    for project in ("here", "there", "elsewhere"):
        world.flag(f"flag-{project}", world.project(project))
    flags = {f"flag-{project}": YES for project in ("here", "there", "elsewhere")}
    report(world.api_key("client", projects=["here", "there"]), flags, app="of two projects")
    assert counts(conn) == {"flag-here": (1, 0), "flag-there": (1, 0)}
    # The flag of the other project exists, so it is not unknown.
    assert unknown(conn) == []
    assert "usage of a flag that the token cannot see" in caplog.text


@pytest.mark.parametrize(
    ("kind", "requested", "expected"),
    [
        ("client", {"environment": "production"}, "development"),
        ("admin", {"environment": "production"}, "production"),
        ("admin", {}, "development"),
        ("admin", {"environment": 5}, "development"),
    ],
)
def test_only_tokens_for_all_environments_choose_one(
    world: World, conn: Connection, kind: str, requested: dict[str, Any], expected: str
) -> None:
    world.flag("f")
    report(world.api_key(kind), {"f": YES}, **requested)
    assert [row[1] for row in usage(conn)] == [expected]


def test_unknown_environment_is_dropped(world: World, conn: Connection, caplog: Any) -> None:
    world.flag("f")
    report(world.api_key("admin"), {"f": YES, "g": YES}, app="of nowhere", environment="nowhere")
    assert (usage(conn), unknown(conn), instances(conn)) == ([], [], [])
    assert "usage in an environment that does not exist" in caplog.text


def test_bulk_reports_of_several_applications(client: Caller, world: World, conn: Connection) -> None:
    world.flag("g")
    past = hour(hours=1)
    entry = {"featureName": "f", "appName": "a", "environment": "development", "yes": 2, "no": 1}
    entry["timestamp"] = past.isoformat()
    entries: list[Any] = [
        entry,
        entry | {"featureName": "g", "appName": "b", "variants": {"disabled": 2}},
        {name: each for name, each in entry.items() if name != "environment"},
        # The token is for development alone.
        entry | {"environment": "production"},
        entry | {"appName": None},
        entry | {"yes": -1},
        None,
        7,
    ]
    applications = [{"appName": "c", "instanceId": "c-1", "strategies": ["default"]}, {"appName": ""}, None, []]
    response = client.post(BULK, json={"applications": applications, "metrics": entries})
    assert (response.status_code, response.data) == (202, b"")
    assert usage(conn) == [
        ("f", "development", "a", past, 4, 2),
        ("g", "development", "b", past, 2, 1),
    ]
    assert variants(conn) == [("g", "disabled", 2)]
    assert names(conn) == ["a", "b", "c"]
    assert [(row["app_name"], row["instance_id"]) for row in instances(conn)] == [("c", "c-1")]


def test_admin_token_reports_in_bulk_for_all_environments(world: World, conn: Connection) -> None:
    world.flag("f")
    entry = {"featureName": "f", "appName": "a", "yes": 1, "no": 0}
    entries = [entry | {"environment": name} for name in ("development", "production")]
    assert world.api_key("admin").post(BULK, json={"metrics": entries}).status_code == 202
    assert [row[1] for row in usage(conn)] == ["development", "production"]


def test_browsers_report_with_frontend_tokens(world: World, conn: Connection) -> None:
    world.flag("f")
    document = metrics({"f": YES}, instanceId="browser", impactMetrics=[])
    for kind in ("frontend", "admin"):
        response = world.api_key(kind).post("/api/frontend/client/metrics", json=document)
        assert (response.status_code, response.data) == (200, b"")
    assert counts(conn) == {"f": (2, 0)}
    assert names(conn) == ["shop"]
    # Each page is another instance.
    assert instances(conn) == []


# When flags were seen


def sightings(conn: Connection) -> list[tuple[Any, ...]]:
    """Return (environment, application, first_at, last_at) of all flags. None: now."""
    statement = """
        SELECT environment, app_name, nullif(first_at, now()) AS first_at, nullif(last_at, now()) AS last_at
          FROM flag_sightings ORDER BY environment, app_name
    """
    return [tuple(row.values()) for row in rows(conn, statement)]


def test_each_application_is_seen_now_or_at_the_end_of_a_past_hour(client: Caller, conn: Connection) -> None:
    report(client, {"f": YES}, app="now")
    past, earlier = hour(hours=4), hour(hours=8)
    report(client, {"f": YES}, app="past", start=(past - timedelta(hours=1)).isoformat())
    assert sightings(conn) == [("development", "now", None, None), ("development", "past", past, past)]
    report(client, {"f": YES}, app="past", start=(earlier - timedelta(hours=1)).isoformat())
    report(client, {"f": YES}, app="past")
    assert sightings(conn)[1] == ("development", "past", earlier, None)


def test_sighting_is_written_once_a_minute(client: Caller, conn: Connection) -> None:
    report(client, {"f": YES})
    for seconds, is_written in ((59, False), (61, True)):
        conn.execute("UPDATE flag_sightings SET last_at = now() - %s * interval '1 second'", [seconds])
        report(client, {"f": YES})
        assert (sightings(conn)[0][3] is None) == is_written


def test_usage_from_before_the_flag_is_no_sighting(world: World, client: Caller, conn: Connection) -> None:
    world.flag("new", created_at=hour(hours=2) + timedelta(minutes=59))
    report(client, {"new": YES}, start=hour(hours=3).isoformat())
    assert sightings(conn) == []
    assert counts(conn) == {"new": (1, 0)}
    report(client, {"new": YES}, start=hour(hours=2).isoformat())
    assert len(sightings(conn)) == 1


@pytest.mark.parametrize(("kind", "path", "status"), [("client", "", 202), ("frontend", "/frontend", 200)])
def test_reported_usage_is_read_everywhere(
    world: World, alice: Caller, conn: Connection, kind: str, path: str, status: int
) -> None:
    world.flag("f", enabled_in=("production",), created_at=value(conn, "SELECT now() - interval '1 minute'"))
    overview = "/api/admin/projects/default/overview"
    assert alice.get(overview).json["onboardingStatus"]["status"] == "first-flag-created"
    caller = world.api_key(kind, environment="production")
    body: dict[str, Any] = metrics({"f": {"yes": 3, "no": 4}, "typo": {"yes": 1, "no": 0}})
    url = f"/api{path}/client/metrics"
    assert [caller.post(url, json=body).status_code for _ in range(2)] == [status, status]
    assert alice.get(overview).json["onboardingStatus"] == {"status": "onboarded"}
    flag = alice.get(FLAG).json
    assert [(place["yes"], place["no"]) for place in flag["environments"]] == [(0, 0), (6, 8)]
    now = value(conn, "SELECT iso(now())")
    assert [flag["lastSeenAt"], *(place["lastSeenAt"] for place in flag["environments"])] == [now, None, now]
    assert [stage["stage"] for stage in alice.get(f"{FLAG}/lifecycle").json] == ["initial", "live"]
    [trend] = alice.get("/api/admin/insights").json["metricsSummaryTrends"]
    totals = {"totalYes": 6, "totalNo": 8, "totalRequests": 14, "totalApps": 1, "totalFlags": 1, "totalEnvironments": 1}
    assert {name: trend[name] for name in totals} == totals
    [row] = alice.get("/api/admin/client-metrics/features/f/raw").json["data"]
    assert (row["appName"], row["environment"], row["yes"], row["no"]) == ("shop", "production", 6, 8)
    assert alice.get("/api/admin/client-metrics/features/f").json["seenApplications"] == ["shop"]
    shop = alice.get("/api/admin/metrics/applications/shop").json
    assert shop["usage"] == [{"project": "default", "environments": ["production"]}]
    [unknown] = alice.get("/api/admin/metrics/unknown-flags").json["unknownFlags"]
    assert (unknown["name"], unknown["appName"], unknown["environment"]) == ("typo", "shop", "production")
