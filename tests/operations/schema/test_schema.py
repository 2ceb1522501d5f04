"""The schema: what it refuses, and what its triggers and views keep of the past."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from operations.postgres import migrate
from sql.database import Connection, rows, value
from sql.people import groups, roles
from tests.support import fixtures


def test_every_constraint_and_index_has_a_name_of_ours(conn):
    given = re.findall(
        r"(?:CONSTRAINT|INDEX(?: IF NOT EXISTS)?)\s+(\w+)", migrate.SCHEMA.read_text() + migrate.TRIGRAM_INDEXES
    )
    found = """
        SELECT conname AS name FROM pg_constraint
         WHERE connamespace = 'public'::regnamespace AND contype NOT IN ('n', 't')
         UNION
        SELECT indexname FROM pg_indexes WHERE schemaname = 'public'
    """
    assert {row["name"] for row in rows(conn, found)} - set(given) == set()
    assert len(given) == len(set(given))
    assert len(given) > 100


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("INSERT INTO schema_version (version, single_row) VALUES (2, false)", "schema_version_single_row_check"),
        ("INSERT INTO schema_version (version) VALUES (2)", "schema_version_single_row"),
        ("INSERT INTO roles (name, type) VALUES ('x', 'other')", "roles_type_check"),
        ("INSERT INTO roles (name, type) VALUES ('', 'custom')", "roles_name_length"),
        ("INSERT INTO roles (name, type) VALUES ('OWNER', 'custom')", "roles_name_key"),
        ("INSERT INTO permissions VALUES (99, 'X', 'other', 'X')", "permissions_type_check"),
        ("UPDATE environments SET name = 'a b'", "environments_name_format"),
        ("UPDATE flag_types SET lifetime_days = 0", "flag_types_lifetime_positive"),
        ("UPDATE users SET username = 'a@b'", "users_username_format"),
        ("UPDATE users SET username = NULL, email = NULL", "users_can_be_named"),
        ("UPDATE users SET email = repeat('x', 255)", "users_email_length"),
        ("UPDATE users SET login_attempts = -1", "users_login_attempts_not_negative"),
        ("UPDATE users SET account_type = 'Robot'", "users_account_type_check"),
        ("UPDATE projects SET mode = 'secret'", "projects_mode_check"),
        ("UPDATE projects SET name = '  '", "projects_name_not_blank"),
        ("UPDATE projects SET feature_limit = -1", "projects_feature_limit_not_negative"),
        ("UPDATE projects SET naming_example = 'x'", "projects_naming_needs_pattern"),
        ("INSERT INTO projects (id, name) VALUES ('a/b', 'x')", "projects_id_format"),
        ("INSERT INTO projects (id, name) VALUES (E'a\\n', 'x')", "projects_id_format"),
        ("INSERT INTO flags (name, project_id) VALUES ('', 'default')", "flags_name_format"),
        ("INSERT INTO flags (name, project_id) VALUES ('.', 'default')", "flags_name_format"),
        ("INSERT INTO flags (name, project_id) VALUES ('f', 'default')", "flags_name_key"),
        ("UPDATE flags SET type = 'other'", "flags_type_fkey"),
        ("UPDATE strategies SET parameters = '[]'", "strategies_parameters_object"),
        ("UPDATE strategies SET constraints = '{}'", "strategies_constraints_array"),
        ("UPDATE strategies SET environment = 'staging'", "strategies_flag_environment_fkey"),
        ("UPDATE variants SET weight = 1001", "variants_weight_range"),
        ("UPDATE variants SET weight_type = 'fixed'", "variants_weight_type_check"),
        ("UPDATE variants SET payload_type = 'xml', payload_value = 'x'", "variants_payload_type_check"),
        ("UPDATE variants SET payload_type = 'string'", "variants_payload_whole"),
        (
            (
                "INSERT INTO variants (flag_id, environment, name, weight) "
                "SELECT flag_id, environment, name, 1 FROM variants"
            ),
            "variants_name_key",
        ),
        ("INSERT INTO tags VALUES ('simple', repeat('x', 51))", "tags_value_length"),
        ("INSERT INTO api_keys (name, kind, digest, secret) VALUES ('x', 'other', 'x', 'x')", "api_keys_kind_check"),
        (
            "INSERT INTO api_keys (name, kind, digest, secret) VALUES ('x', 'admin', 'x', 'x')",
            "api_keys_admin_secret_not_kept",
        ),
        ("INSERT INTO events (type, created_by) VALUES ('', 'x')", "events_type_not_empty"),
        # A role is either for users and groups as such, or for projects.
        ("UPDATE users SET root_role_id = 4", "users_root_role_fkey"),
        ("INSERT INTO groups (name, root_role_id) VALUES ('x', 5)", "groups_root_role_fkey"),
        (
            "INSERT INTO signup_tokens (secret, name, expires_at, root_role_id) VALUES ('x', 'x', now(), 4)",
            "signup_tokens_root_role_fkey",
        ),
        ("INSERT INTO project_user_roles SELECT 'default', min(id), 1 FROM users", "project_user_roles_role_fkey"),
        ("INSERT INTO project_group_roles SELECT 'default', min(id), 2 FROM groups", "project_group_roles_role_fkey"),
    ],
)
def test_an_invalid_row_is_refused_by_the_name_of_the_constraint(world, conn, statement, constraint):
    flag = world.flag("f")
    world.strategy(flag)
    groups.insert(conn, "crew")
    conn.execute(
        "INSERT INTO variants (flag_id, environment, name, weight) VALUES (%s, 'development', 'a', 1000)", [flag]
    )
    with pytest.raises(psycopg.IntegrityError) as refused, conn.transaction():
        conn.execute(statement)
    assert refused.value.diag.constraint_name == constraint


def test_valid_rows_are_accepted(world, conn):
    role = roles.insert(conn, "Auditor")
    user = world.user("Ada", root_role=roles.insert(conn, "Root auditor", type="root-custom"))
    conn.execute("INSERT INTO project_user_roles VALUES ('default', %s, %s)", [user.id, role])
    for weight in (0, 1000):
        row = [world.flag(f"f{weight}"), weight]
        conn.execute(
            "INSERT INTO variants (flag_id, environment, name, weight) VALUES (%s, 'production', 'a', %s)", row
        )


def day(number: int) -> datetime:
    """Midnight of a day of 2024."""
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number)


def states(conn: Connection, flag: int) -> list[tuple[Any, ...]]:
    """When a flag was what."""
    statement = "SELECT state, started_at, ended_at FROM flag_states WHERE flag_id = %(id)s ORDER BY started_at, state"
    return [tuple(row.values()) for row in rows(conn, statement, {"id": flag})]


def test_the_past_states_of_a_flag_are_kept(world, conn):
    flag, other = world.flag("f"), world.flag("g")
    now = value(conn, "SELECT now()")
    assert states(conn, flag) == []
    fixtures.mark_stale(conn, flag, day(1))
    assert states(conn, flag) == [("stale", day(1), None)]
    fixtures.mark_stale(conn, flag, None)
    conn.execute("UPDATE flags SET archived_at = %s WHERE id = %s", [day(2), flag])
    fixtures.mark_stale(conn, flag, day(3))
    assert states(conn, flag) == [("stale", day(1), now), ("archived", day(2), None), ("stale", day(3), None)]
    conn.execute("UPDATE flags SET archived_at = NULL, description = 'back again' WHERE id = %s", [flag])
    assert states(conn, flag) == [("stale", day(1), now), ("archived", day(2), now), ("stale", day(3), None)]
    # What stays as it is has not ended.
    conn.execute("UPDATE flags SET stale_since = stale_since, description = 'again'")
    assert states(conn, flag) == [("stale", day(1), now), ("archived", day(2), now), ("stale", day(3), None)]
    assert states(conn, other) == []


def memberships(conn: Connection, project: str = "default") -> list[tuple[Any, ...]]:
    """The users of all times: user, from, to."""
    statement = (
        "SELECT user_id, started_at, ended_at FROM project_memberships "
        "WHERE project_id = %(id)s ORDER BY started_at, user_id"
    )
    return [tuple(row.values()) for row in rows(conn, statement, {"id": project})]


def test_former_members_are_kept(world, conn):
    ada, bob = world.user("Ada"), world.user("Bob")
    now = value(conn, "SELECT now()")
    world.member("default", ada, 5, created_at=day(1))
    world.member("default", ada, 4, created_at=day(2))
    world.member("default", bob, 5, created_at=day(3))
    assert memberships(conn) == [(ada.id, day(1), None), (ada.id, day(2), None), (bob.id, day(3), None)]
    conn.execute("DELETE FROM project_user_roles WHERE user_id = %s AND role_id = 5", [ada.id])
    conn.execute("DELETE FROM users WHERE id = %s", [bob.id])
    assert memberships(conn) == [(ada.id, day(1), now), (ada.id, day(2), None), (bob.id, day(3), now)]
    found = rows(conn, "SELECT user_id, role_id FROM past_project_user_roles ORDER BY user_id")
    assert found == [{"user_id": ada.id, "role_id": 5}, {"user_id": bob.id, "role_id": 5}]
    assert memberships(conn, "apollo") == []


@pytest.mark.parametrize(
    ("role", "member", "there"),
    [
        ((1, None), (5, None), (5, None)),
        ((5, None), (1, None), (5, None)),
        ((1, 9), (5, None), (5, 9)),
        ((1, None), (5, 9), (5, 9)),
        ((1, 9), (5, 20), (5, 9)),
        ((5, 9), (1, 20), (5, 9)),
        ((1, 5), (5, 9), None),
        ((5, 9), (1, 5), None),
        ((1, 3), (5, None), None),
        ((5, None), (1, 3), None),
    ],
)
def test_a_group_makes_its_users_members_while_the_group_has_a_role(world, conn, role, member, there):
    user, group, elsewhere = world.user("Ada"), groups.insert(conn, "crew"), groups.insert(conn, "others")
    fixtures.add_group_user(conn, elsewhere, world.user("Bob").id, created_at=day(0))
    fixtures.add_project_group(conn, "default", group, 5, day(role[0]))
    fixtures.add_group_user(conn, group, user.id, created_at=day(member[0]))
    if role[1]:
        conn.execute("DELETE FROM project_group_roles")
        conn.execute("UPDATE past_project_group_roles SET ended_at = %s", [day(role[1])])
    if member[1]:
        fixtures.remove_group_user(conn, group, user.id)
        conn.execute("UPDATE past_group_users SET ended_at = %s", [day(member[1])])
    expected = [] if there is None else [(user.id, day(there[0]), there[1] and day(there[1]))]
    assert memberships(conn) == expected


def test_a_membership_that_a_trigger_ends_ends_now(world, conn):
    user, group = world.user("Ada"), groups.insert(conn, "crew")
    fixtures.add_project_group(conn, "default", group, 5, day(1))
    fixtures.add_group_user(conn, group, user.id, created_at=day(2))
    conn.execute("DELETE FROM groups WHERE id = %s", [group])
    now = value(conn, "SELECT now()")
    assert rows(conn, "SELECT * FROM past_project_group_roles") == [
        {"project_id": "default", "group_id": group, "role_id": 5, "started_at": day(1), "ended_at": now}
    ]
    assert rows(conn, "SELECT * FROM past_group_users") == [
        {"group_id": group, "user_id": user.id, "started_at": day(2), "ended_at": now}
    ]
    assert memberships(conn) == [(user.id, day(2), now)]


@pytest.mark.parametrize(
    ("instant", "written"),
    [
        ("2024-02-29 12:34:56.789999+02", "2024-02-29T10:34:56.789Z"),
        ("2024-01-01 00:00:00+00", "2024-01-01T00:00:00.000Z"),
        ("0001-01-01 00:00:00+00", "0001-01-01T00:00:00.000Z"),
        (None, None),
    ],
)
def test_instants_are_written_in_utc_with_milliseconds(conn, instant, written):
    for zone in ("UTC", "Asia/Kathmandu"):
        conn.execute("SELECT set_config('TimeZone', %s, true)", [zone])
        assert value(conn, "SELECT iso(%(instant)s::timestamptz)", {"instant": instant}) == written
