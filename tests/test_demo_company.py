"""The company that flask demo makes: of everything something, and nothing that the service could not have made itself."""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from commands.demo_company import company
from sql import connect, insights, project_overview, rows
from tests.conftest import ADMIN_KEY
from tests.world import Caller
from validators.events import TYPES

pytestmark = pytest.mark.slow

TODAY = datetime.now(UTC).date()
START = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
SEVERAL = {"NOT_IN", "IN", "STR_ENDS_WITH", "STR_STARTS_WITH", "STR_CONTAINS"}
NUMBERS = {"NUM_EQ", "NUM_GT", "NUM_GTE", "NUM_LT", "NUM_LTE"}
VERSIONS = {"SEMVER_EQ", "SEMVER_GT", "SEMVER_LT"}
DATES = {"DATE_AFTER", "DATE_BEFORE"}

Read = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database with a small company."""
    url = make_database()
    with connect(url) as conn, conn.transaction():
        company.make(conn, 1, TODAY, 0.15, lambda _: None)
    return url


@pytest.fixture(scope="module")
def read(url: str) -> Read:
    """read(statement): its rows."""

    def read(statement: str) -> list[dict[str, Any]]:
        with connect(url) as conn:
            return rows(conn, statement)  # pyright: ignore

    return read


def only(read: Read, statement: str) -> Any:
    """The one value that a statement finds."""
    (row,) = read(statement)
    (value,) = row.values()
    return value


@pytest.mark.parametrize(
    "condition",
    [
        "projects WHERE mode = 'open' AND archived_at IS NULL",
        "projects WHERE mode = 'protected'",
        "projects WHERE mode = 'private'",
        "projects WHERE archived_at IS NOT NULL",
        "projects WHERE feature_limit IS NOT NULL",
        "projects WHERE naming_pattern IS NOT NULL AND naming_example ~ naming_pattern",
        "project_environments WHERE default_strategy IS NOT NULL",
        "users WHERE account_type = 'Service Account'",
        "users WHERE deleted_at IS NOT NULL",
        "users WHERE root_role_id = 1 AND email IS NOT NULL",
        "users WHERE root_role_id = 2",
        "users JOIN roles ON roles.id = root_role_id WHERE type = 'root-custom'",
        "groups WHERE root_role_id IS NOT NULL AND mappings_sso <> '{}'",
        "past_group_users",
        "roles WHERE type = 'custom'",
        "role_permissions WHERE environment IS NOT NULL",
        "project_user_roles JOIN roles ON roles.id = role_id WHERE type = 'custom'",
        "project_group_roles",
        "past_project_user_roles",
        "environments WHERE type = 'preproduction'",
        "environments WHERE type = 'test'",
        "flags WHERE archived_at IS NULL AND stale_since IS NULL",
        "flags WHERE archived_at IS NOT NULL",
        "flags WHERE stale_since IS NOT NULL",
        "past_flag_states WHERE state = 'stale'",
        "flags WHERE first_in_production_at > now() - interval '30 days'",
        "segments WHERE project_id IS NULL",
        "segments WHERE project_id IS NOT NULL",
        "strategy_segments",
        "strategies WHERE disabled",
        "variants WHERE strategy_id IS NULL",
        "variants WHERE strategy_id IS NOT NULL AND weight_type = 'variable'",
        "variants WHERE weight_type = 'fix'",
        "flag_tags",
        "flag_favorites",
        "project_favorites",
        "signup_tokens WHERE enabled AND expires_at > now()",
        "signup_tokens WHERE NOT enabled AND expires_at > now()",
        "signup_tokens WHERE enabled AND expires_at < now()",
        "signup_token_users",
        "usage_metrics WHERE environment = 'production' AND yes > 0 AND no > 0",
    ],
)
def test_there_is(read: Read, condition: str) -> None:
    assert only(read, f"SELECT count(*) FROM {condition}") > 0


def test_there_are_flags_of_every_type(read: Read) -> None:
    assert only(read, "SELECT count(DISTINCT type) FROM flags") == only(read, "SELECT count(*) FROM flag_types")


def test_flags_are_called_as_their_projects_demand(read: Read) -> None:
    assert read("SELECT flags.name FROM flags JOIN projects ON projects.id = project_id WHERE flags.name !~ naming_pattern") == []
    assert (
        only(read, "SELECT count(*) FROM projects WHERE feature_limit < (SELECT count(*) FROM flags WHERE project_id = projects.id)") == 0
    )


def test_there_are_constraints_of_every_operator_and_all_are_valid(read: Read) -> None:
    constraints = [one for row in read("SELECT constraints FROM strategies") for one in row["constraints"]]
    assert {one["operator"] for one in constraints} == SEVERAL | NUMBERS | VERSIONS | DATES
    segments = [one for row in read("SELECT constraints FROM segments") for one in row["constraints"]]
    for one in constraints + segments:
        assert one.keys() - {"value"} == {"contextName", "operator", "values", "inverted", "caseInsensitive"}
        assert (type(one["inverted"]), type(one["caseInsensitive"])) == (bool, bool)
        if one["operator"] in SEVERAL:
            assert "value" not in one
            assert one["values"]
            assert all(1 <= len(word) <= 100 for word in one["values"])
        else:
            assert one["values"] == []
            assert is_valid(one["operator"], one["value"]), one


def is_valid(operator: str, value: str) -> bool:
    """Whether a single value fits its operator (neighbours.md 1.5)."""
    if operator in NUMBERS:
        return re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    if operator in VERSIONS:
        return re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", value) is not None
    return datetime.fromisoformat(value).tzinfo is not None


def test_variants_share_a_thousand(read: Read) -> None:
    statement = """
        SELECT sum(weight) AS weight, bool_or(weight_type = 'variable') AS has_variable
          FROM variants GROUP BY flag_id, environment, strategy_id
    """
    assert {(row["weight"], row["has_variable"]) for row in read(statement)} == {(1000, True)}
    for row in read("SELECT payload_value FROM variants WHERE payload_type IN ('json', 'number')"):
        json.loads(row["payload_value"])


def test_no_flag_is_on_without_a_strategy(read: Read) -> None:
    on = "flag_environments AS places WHERE enabled"
    assert only(read, f"SELECT count(*) FROM {on}") > 0
    strategy = "SELECT FROM strategies WHERE flag_id = places.flag_id AND environment = places.environment AND NOT disabled"
    assert only(read, f"SELECT count(*) FROM {on} AND NOT EXISTS ({strategy})") == 0
    assert only(read, f"SELECT count(*) FROM {on} AND flag_id IN (SELECT id FROM flags WHERE archived_at IS NOT NULL)") == 0


def test_strategies_stand_in_order_and_only_use_segments_of_their_project(read: Read) -> None:
    orders = read("SELECT array_agg(sort_order ORDER BY sort_order) AS orders FROM strategies GROUP BY flag_id, environment")
    assert all(row["orders"] == list(range(len(row["orders"]))) for row in orders)
    foreign = """
        SELECT segments.name FROM strategy_segments JOIN segments ON segments.id = segment_id
          JOIN strategies ON strategies.id = strategy_id JOIN flags ON flags.id = flag_id
         WHERE segments.project_id <> flags.project_id OR segments.created_at > strategies.created_at
    """
    # A flag that moved took its strategies along.
    moved = "SELECT feature_name FROM events WHERE type = 'feature-project-change'"
    assert read(f"{foreign} AND flags.name NOT IN ({moved})") == []


def test_every_event_is_of_a_known_type_and_nothing_is_of_the_future(read: Read) -> None:
    assert {row["type"] for row in read("SELECT DISTINCT type FROM events")} <= TYPES
    columns = read(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'timestamp with time zone'"
        " AND column_name NOT IN ('expires_at', 'seen_at', 'noted_at')"
    )
    # What was there before the company was made a moment ago.
    older = {"users": "username = 'admin'", "api_keys": "kind = 'admin'", "events": "type IN ('user-created', 'api-token-created')"}
    older |= {"roles": "id < 6", "tag_types": "name = 'simple'", "environments": "name IN ('development', 'production')"}
    older |= {"context_fields": "sort_order < 5", "strategy_types": "NOT editable"}
    older |= {"projects": "id = 'default'", "project_environments": "project_id = 'default'"}
    for column in columns:
        table, name = column["table_name"], column["column_name"]
        late = f"SELECT count(*) FROM {table} WHERE {name} >= '{START.isoformat()}' AND NOT ({older.get(table, 'false')})"
        assert only(read, late) == 0, (table, name)
    assert only(read, "SELECT max(created_at) FROM events WHERE project IS NOT NULL AND project <> '*'") > START - timedelta(days=5)
    assert only(read, "SELECT min(created_at) FROM events") < START - timedelta(days=700)


def test_the_authors_of_events_were_there(read: Read) -> None:
    statement = """
        SELECT events.id, created_by, events.type FROM events LEFT JOIN users ON users.id = created_by_user_id
         WHERE CASE WHEN created_by_user_id IS NULL THEN created_by <> 'system'
                    ELSE created_by IS DISTINCT FROM coalesce(email, username)
                      OR events.created_at < users.created_at OR events.created_at > deleted_at END
    """
    assert read(statement) == []
    assert only(read, "SELECT count(DISTINCT created_by) FROM events") > 20
    unseen = """
        SELECT id FROM events WHERE created_by_user_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM user_seen_days WHERE user_id = created_by_user_id AND day = (events.created_at AT TIME ZONE 'UTC')::date)
    """
    assert read(unseen) == []


def test_the_log_and_the_flags_tell_the_same(read: Read) -> None:
    log = read("SELECT type, feature_name, project, environment, data, created_at FROM events WHERE feature_name IS NOT NULL ORDER BY id")
    instants = [event["created_at"] for event in log]
    assert instants == sorted(instants)
    homes, switches, strategies, archived, created = {}, {}, {}, {}, {}
    for event in log:
        flag, kind, place = event["feature_name"], event["type"], (event["feature_name"], event["environment"])
        homes[flag] = event["project"]
        created.setdefault(flag, (kind, event["created_at"]))
        if kind in ("feature-environment-enabled", "feature-environment-disabled"):
            switches[place] = kind == "feature-environment-enabled"
        elif kind in ("feature-strategy-add", "feature-strategy-update"):
            strategies[event["data"]["id"]] = event["data"]
        elif kind in ("feature-archived", "feature-revived"):
            archived[flag] = kind == "feature-archived"
            switches |= dict.fromkeys((key for key in switches if key[0] == flag), False)
        elif kind == "feature-deleted":
            del homes[flag], created[flag], archived[flag]
    flags = read("SELECT name, project_id, archived_at, created_at FROM flags")
    assert {flag["name"]: flag["project_id"] for flag in flags} == homes
    assert {flag["name"]: ("feature-created", flag["created_at"]) for flag in flags} == created
    assert {flag["name"] for flag in flags if flag["archived_at"]} == {flag for flag, gone in archived.items() if gone}
    places = read("SELECT name, environment FROM flag_environments JOIN flags ON flags.id = flag_id WHERE enabled")
    assert {(place["name"], place["environment"]) for place in places} == {place for place, on in switches.items() if on}
    for strategy in read("SELECT id, name, title, disabled, parameters, constraints FROM strategies"):
        told = strategies[strategy["id"]]
        assert {key: told[key] for key in strategy} == strategy


def test_flags_reached_production_when_the_log_says(read: Read) -> None:
    statement = """
        SELECT name FROM flags WHERE first_in_production_at IS DISTINCT FROM (
            SELECT min(created_at) FROM events
             WHERE feature_name = name AND environment = 'production' AND type = 'feature-environment-enabled')
    """
    assert read(statement) == []


def test_usage_is_of_flags_that_were_there(read: Read) -> None:
    statement = """
        SELECT flag_name FROM usage_metrics LEFT JOIN flags ON flags.name = flag_name
         WHERE flags.id IS NULL OR hour < flags.created_at
    """
    assert read(statement) == []


def test_the_trends_are_those_of_a_living_company(url: str) -> None:
    with connect(url) as conn:
        found = json.loads(insights.trends(conn, TODAY - timedelta(days=364), TODAY, None))
    assert all(week["active"] > 0 for week in found["userTrends"])
    assert any(week["inactive"] > 0 for week in found["userTrends"])
    assert len({week["total"] for week in found["userTrends"]}) > 5
    assert all(week["total"] >= week["active"] > 0 for week in found["flagTrends"])
    assert all(sum(week[kind] for week in found["flagTrends"]) > 0 for kind in ("stale", "potentiallyStale"))
    checkout = [week for week in found["projectFlagTrends"] if week["project"] == "checkout"]
    assert len({week["health"] for week in checkout}) > 3
    assert all(week["timeToProduction"] > 0 and week["users"] > 10 for week in checkout)
    assert {week["project"] for week in found["metricsSummaryTrends"]} >= {"checkout", "search", "payments-core"}
    assert {week["environmentType"] for week in found["environmentTypeTrends"]} == {"development", "test", "preproduction", "production"}


def test_a_busy_project_has_something_to_show(url: str) -> None:
    with connect(url) as conn:
        stats = json.loads(project_overview.get(conn, "checkout", None) or "")["stats"]
        young = json.loads(project_overview.get(conn, "gift-registry", None) or "")
    now = ("avgTimeToProd", "created", "archived", "projectActivity", "projectMembersAdded")
    assert all(stats[f"{name}CurrentWindow"] > 0 for name in now), stats
    assert stats["projectActivityPastWindow"] > 0
    assert young["onboardingStatus"]["status"] == "first-flag-created"


def test_every_answer_about_it_fits_its_record(url: str, make_app: Callable[..., Flask]) -> None:
    caller = Caller(make_app(url), ADMIN_KEY)
    ids = [project["id"] for project in rows_of(url, "SELECT id FROM projects")]
    paths = [f"/api/admin/projects/{project}/{what}" for project in ids for what in ("overview", "access")]
    paths += ["/api/admin/insights?from=" + (TODAY - timedelta(days=730)).isoformat()]
    paths += [f"/api/admin/search/events?limit=1000&offset={offset}" for offset in range(0, 7500, 2500)]
    answers = Counter(caller.get(path).status_code for path in paths)
    assert answers == {200: len(paths)}


def rows_of(url: str, statement: str) -> list[dict[str, Any]]:
    with connect(url) as conn:
        return rows(conn, statement)  # pyright: ignore
