"""The data of the demo: a company whose log and state agree."""

import json
from datetime import timedelta

import pytest

from operations.commands import demo
from sql import insights
from sql.database import connect
from sql.projects import overview as project_overview
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller
from validators.events import TYPES

pytestmark = pytest.mark.slow

# What a company without logins, and without changes of its settings, leaves empty.
EMPTY = (
    "banners event_weeks frontend_additions known_logins login_addresses login_throttle past_environment_types "
    "past_group_users past_passwords past_private_projects personal_tokens reset_tokens sessions user_identities"
)


@pytest.mark.parametrize(
    "condition",
    [
        *(f"projects WHERE mode = '{mode}' AND archived_at IS NULL" for mode in ("open", "protected", "private")),
        "projects WHERE archived_at IS NOT NULL",
        "projects WHERE naming_pattern IS NOT NULL AND naming_example ~ naming_pattern",
        "project_environments WHERE default_strategy IS NOT NULL",
        "project_environments WHERE required_approvals IS NOT NULL",
        *(f"change_requests WHERE state = '{state}'" for state in ("In review", "Scheduled", "Applied", "Rejected")),
        "change_request_reviews JOIN change_request_comments USING (change_request_id, user_id) WHERE NOT approved",
        "users WHERE account_type = 'Service Account'",
        "users WHERE deleted_at IS NOT NULL",
        "users JOIN roles ON roles.id = root_role_id WHERE type = 'root-custom'",
        "role_permissions WHERE environment IS NOT NULL",
        "project_user_roles JOIN roles ON roles.id = role_id WHERE type = 'custom'",
        "environments WHERE type = 'preproduction'",
        "flags WHERE archived_at IS NOT NULL",
        "flags WHERE stale_since IS NOT NULL AND archived_at IS NULL",
        "past_flag_states WHERE state = 'stale'",
        "past_flag_states WHERE state = 'archived'",
        "flags WHERE first_in_production_at > now() - interval '30 days'",
        "segments WHERE project_id IS NULL",
        "segments WHERE project_id IS NOT NULL",
        "strategies WHERE disabled",
        "strategies WHERE constraints::text <> '[]'",
        "signup_tokens WHERE enabled AND expires_at > now()",
        "signup_tokens WHERE NOT enabled",
        "signup_tokens WHERE enabled AND expires_at < now()",
        "usage_metrics WHERE yes > 0 AND no > 0",
        "usage_metrics WHERE hour > now() - interval '3 hours'",
        "api_keys WHERE seen_at > now() - interval '3 hours'",
        "api_keys WHERE bulk_read_on > CURRENT_DATE - 5",
        "applications WHERE description IS NOT NULL",
        "unknown_flags WHERE flag_name NOT IN (SELECT name FROM flags)",
    ],
)
def test_the_demo_has_rows_of_each_kind(read, condition):
    assert read(f"SELECT count(*) FROM {condition}")[0]["count"] > 0


def test_the_demo_leaves_few_tables_empty(read):
    tables = [row["relname"] for row in read("SELECT relname FROM pg_stat_user_tables ORDER BY relname")]
    assert " ".join(table for table in tables if not read(f"SELECT FROM {table} LIMIT 1")) == EMPTY


@pytest.mark.parametrize(
    "wrong",
    [
        "flag_types WHERE id NOT IN (SELECT type FROM flags)",
        "flags JOIN projects ON projects.id = project_id WHERE flags.name !~ naming_pattern",
        (
            "projects WHERE feature_limit < (SELECT count(*) FROM flags "
            "WHERE project_id = projects.id AND archived_at IS NULL)"
        ),
        # On without an enabled strategy would be on for everybody.
        """flag_environments AS places WHERE enabled AND NOT EXISTS (
               SELECT FROM strategies
                WHERE flag_id = places.flag_id AND environment = places.environment AND NOT disabled)""",
        "flag_environments JOIN flags ON id = flag_id WHERE enabled AND archived_at IS NOT NULL",
        "(SELECT FROM variants GROUP BY strategy_id HAVING sum(weight) <> 1000) AS unbalanced",
        """strategy_segments JOIN segments ON segments.id = segment_id JOIN strategies ON strategies.id = strategy_id
               JOIN flags ON flags.id = flag_id WHERE segments.project_id <> flags.project_id
               OR segments.created_at > strategies.created_at""",
        (
            "usage_metrics LEFT JOIN flags ON flags.name = flag_name "
            "WHERE flags.id IS NULL OR hour < first_in_production_at"
        ),
        # The authors of events were there, had the name that the log gives them, and were seen on that day.
        """events LEFT JOIN users ON users.id = created_by_user_id
               WHERE CASE WHEN created_by_user_id IS NULL THEN created_by <> 'system'
                          ELSE created_by IS DISTINCT FROM coalesce(email, username)
                            OR events.created_at < users.created_at OR events.created_at > deleted_at END""",
        """events WHERE created_by_user_id > 1 AND (created_by_user_id, (created_at AT TIME ZONE 'UTC')::date)
               NOT IN (SELECT user_id, day FROM user_seen_days)""",
        # Ids follow the time.
        "(SELECT created_at < lag(created_at) OVER (ORDER BY id) AS backwards FROM events) AS pairs WHERE backwards",
        # The log and the state agree.
        """flags WHERE created_at IS DISTINCT FROM (
               SELECT min(created_at) FROM events WHERE feature_name = name AND type = 'feature-created')""",
        """flags WHERE first_in_production_at IS DISTINCT FROM (SELECT min(created_at) FROM events
               WHERE feature_name = name AND environment = 'production' AND type = 'feature-environment-enabled')""",
        """users WHERE username IS DISTINCT FROM 'admin' AND NOT EXISTS (SELECT FROM events
               WHERE type LIKE '%-created' AND data ->> 'name' = users.name
                 AND events.created_at = users.created_at)""",
        """users WHERE deleted_at IS DISTINCT FROM (
               SELECT created_at FROM events WHERE type = 'user-deleted' AND pre_data ->> 'name' = users.name)""",
        """flags WHERE description IS DISTINCT FROM (SELECT data ->> 'description' FROM events
               WHERE feature_name = name AND type IN ('feature-created', 'feature-metadata-updated')
               ORDER BY id DESC LIMIT 1)""",
        """events AS event WHERE type = 'feature-strategy-update' AND pre_data::text IS DISTINCT FROM (
               SELECT data::text FROM events AS before
                WHERE before.id < event.id AND before.feature_name = event.feature_name
                  AND before.data ->> 'id' = event.data ->> 'id' ORDER BY id DESC LIMIT 1)""",
        "events WHERE type = 'feature-tagged' AND NOT tags::jsonb @> jsonb_build_array(data::jsonb)",
        "events WHERE type = 'feature-untagged' AND tags::jsonb @> jsonb_build_array(pre_data::jsonb)",
        """events WHERE type LIKE 'change-request-%' AND pre_data ->> 'state' <> (
               SELECT data ->> 'state' FROM events AS before
                WHERE before.id < events.id AND type LIKE 'change-request-%'
                  AND before.data ->> 'id' = events.data ->> 'id' ORDER BY id DESC LIMIT 1)""",
        """change_requests AS requests WHERE state IS DISTINCT FROM (
               SELECT data ->> 'state' FROM events
                WHERE type LIKE 'change-request-%' AND data ->> 'id' = requests.id::text ORDER BY id DESC LIMIT 1)""",
        """change_request_changes AS changes JOIN change_requests AS requests ON requests.id = change_request_id
               WHERE state = 'Applied' AND NOT EXISTS (
                   SELECT FROM events WHERE change_request_id = requests.id AND feature_name = changes.feature_name
                      AND data #>> '{parameters,rollout}' = payload #>> '{parameters,rollout}')""",
        # No secret is in the log, and only the administrator has a password.
        """(SELECT secret FROM signup_tokens UNION ALL SELECT secret FROM api_keys WHERE secret IS NOT NULL) AS secrets
               JOIN events ON strpos(concat(data, pre_data), right(secret, 30)) > 0""",
        "users WHERE password_hash IS NOT NULL AND username <> 'admin'",
    ],
)
def test_the_demo_has_no_contradictory_rows(read, wrong):
    assert read(f"SELECT count(*) FROM {wrong}") == [{"count": 0}]


def test_the_log_covers_two_years_and_nothing_of_the_future(read, start):
    assert {row["type"] for row in read("SELECT DISTINCT type FROM events")} <= TYPES
    columns = read(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND data_type = 'timestamp with time zone' AND column_name NOT IN ('expires_at', 'filled_at', 'scheduled_at')"
    )
    # What every installation starts with.
    older = {
        "roles": "id < 6",
        "tag_types": "name = 'simple'",
        "environments": "name IN ('development', 'production')",
    }
    older |= {"context_fields": "sort_order < 5", "strategy_types": "NOT editable"}
    for column in columns:
        table, name = column["table_name"], column["column_name"]
        # Usage goes on until the demo was created.
        end = "now()" if name in ("hour", "first_at", "last_at", "seen_at") else f"'{start}'"
        late = f"SELECT count(*) FROM {table} WHERE {name} >= {end} AND NOT ({older.get(table, 'false')})"
        assert read(late) == [{"count": 0}], (table, name)
    (ends,) = read("SELECT min(created_at), max(created_at) FROM events")
    assert ends["min"] < start - timedelta(days=700)
    assert ends["max"] > start - timedelta(days=5)


def test_the_log_and_the_flags_agree(read):
    switches, strategies, tags = {}, {}, {}
    for event in read("SELECT * FROM events WHERE feature_name IS NOT NULL ORDER BY id"):
        flag, type = event["feature_name"], event["type"]
        if type in ("feature-environment-enabled", "feature-environment-disabled"):
            is_on = type == "feature-environment-enabled"
            assert switches.get((flag, event["environment"]), False) != is_on, event
            switches[flag, event["environment"]] = is_on
        elif type in ("feature-strategy-add", "feature-strategy-update"):
            strategies[event["data"]["id"]] = event["data"]
        elif type in ("feature-archived", "feature-revived"):
            switches |= dict.fromkeys((key for key in switches if key[0] == flag), False)
            switches[flag, "archived"] = type == "feature-archived"
        elif type in ("feature-tagged", "feature-untagged"):
            tags[flag] = event["tags"]
    state = read("""
        SELECT name, environment FROM flag_environments JOIN flags ON flags.id = flag_id WHERE enabled
         UNION ALL
        SELECT name, 'archived' FROM flags WHERE archived_at IS NOT NULL
    """)
    assert {tuple(row.values()) for row in state} == {key for key, is_on in switches.items() if is_on}
    held = read("SELECT name, flag_tags.type, value FROM flag_tags JOIN flags ON id = flag_id")
    assert {tuple(row.values()) for row in held} == {
        (flag, tag["type"], tag["value"]) for flag, kept in tags.items() for tag in kept
    }
    for strategy in read("SELECT id, name, title, disabled, parameters, constraints FROM strategies"):
        assert {key: strategies[strategy["id"]][key] for key in strategy} == strategy


def test_the_trends_are_those_of_a_living_company(url, start):
    today = start.date()
    with connect(url) as conn:
        found = json.loads(insights.trends(conn, today - timedelta(days=728), today - timedelta(days=7), None))
        stats = json.loads(project_overview.get(conn, "checkout", None) or "")["stats"]
        young = json.loads(project_overview.get(conn, "gift-registry", None) or "")
    assert len(found["userTrends"]) > 100
    assert all(week["active"] > 0 for week in found["userTrends"][2:])
    assert any(week["inactive"] > 0 for week in found["userTrends"])
    assert all(sum(week[kind] for week in found["flagTrends"]) > 0 for kind in ("active", "stale", "potentiallyStale"))
    checkout = [week for week in found["projectFlagTrends"] if week["project"] == "checkout"][20:]
    assert len({week["health"] for week in checkout}) > 3
    assert all(week["timeToProduction"] > 0 and week["users"] > 5 for week in checkout)
    assert {week["project"] for week in found["metricsSummaryTrends"]} >= {"checkout", "search", "payments-core"}
    assert {week["environmentType"] for week in found["environmentTypeTrends"]} == {
        "development",
        "test",
        "preproduction",
        "production",
    }
    now = ("avgTimeToProd", "created", "archived", "projectActivity", "projectMembersAdded")
    assert all(stats[f"{name}CurrentWindow"] > 0 for name in now), stats
    assert young["onboardingStatus"]["status"] == "first-flag-created"


def records(caller):
    """Yield each record as its GETs return it, with the path of its PUT."""

    def get(path):
        response = caller.get(f"/api/admin/{path}")
        assert response.status_code == 200, response.text
        return response.get_json()

    def items(path, key, put):
        for item in get(path)[key]:
            yield put.format(**item), item

    yield from ((f"context/{item['name']}", item) for item in get("context"))
    yield from items("tag-types", "tagTypes", "tag-types/{name}")
    yield from items("environments", "environments", "environments/update/{name}")
    yield from items("segments", "segments", "segments/{id}")
    yield from items("feature-types", "types", "feature-types/{id}/lifetime")
    yield from items("user-admin", "users", "user-admin/{id}")
    yield from items("groups", "groups", "groups/{id}")
    yield from items("service-account", "serviceAccounts", "service-account/{id}")
    # Built-in strategy types and predefined roles are 409.
    yield from (
        (path, item) for path, item in items("strategies", "strategies", "strategies/{name}") if item["editable"]
    )
    for path, role in items("roles", "roles", "roles/{id}"):
        if role["type"] not in ("root", "project"):
            yield from ((path, role), (path, get(path)))
    for path, project in items("projects", "projects", "projects/{id}"):
        get(f"{path}/access")
        forms = (project, get(path), get(f"{path}/overview"), get(f"{path}/health-report"))
        yield from ((target, form) for form in forms for target in (path, f"{path}/settings"))
        for flag_path, flag in items(f"{path}/features", "features", f"{path}/features/{{name}}"):
            whole = get(flag_path)
            yield from ((flag_path, flag), (flag_path, whole))
            for environment in whole["environments"]:
                for strategy in environment["strategies"]:
                    yield f"{flag_path}/environments/{environment['name']}/strategies/{strategy['id']}", strategy


def test_every_response_is_valid_and_can_be_sent_back_without_a_change(url, start, make_app):
    caller = Caller(make_app(url), ADMIN_KEY)
    for path in (
        f"insights?from={start.date() - timedelta(days=730)}",
        *(f"search/events?limit=1000&offset={offset}" for offset in range(0, 7500, 2500)),
    ):
        assert caller.get(f"/api/admin/{path}").status_code == 200
    with connect(url) as conn:
        before = fingerprint(conn)
        found = list(records(caller))
        answers = [(path, caller.put(f"/api/admin/{path}", json=record)) for path, record in found]
        refused = [(path, answer.text) for path, answer in answers if answer.status_code not in (200, 204)]
        assert (len(found) > 500, refused) == (True, [])
        assert fingerprint(conn) == before


def test_open_change_requests_can_be_applied(url, make_app):
    caller = Caller(make_app(url), ADMIN_KEY)
    path = "/api/admin/projects/payments-core/change-requests"
    found = caller.get(path).get_json()
    assert "conflict" not in str([caller.get(f"{path}/{one['id']}").get_json() for one in found])
    [scheduled] = [one["id"] for one in found if one["state"] == "Scheduled"]
    assert caller.put(f"{path}/{scheduled}/state", json={"state": "Applied"}).status_code == 200


def test_the_bar_has_a_step_for_each_part_of_the_script():
    assert demo.SQL.read_text().count(demo.STEP) == 6
