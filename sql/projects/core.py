"""Change and look up projects."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql import locks
from sql.database import Connection, RecordText, as_json, one, run, value
from sql.people import roles
from sql.projects.visibility import VISIBLE

# The form of a project in events.
LOGGED: LiteralString = """
    json_build_object(
        'id', id,
        'name', name,
        'description', description,
        'mode', mode,
        'defaultStickiness', default_stickiness,
        'featureLimit', feature_limit,
        'featureNaming', CASE WHEN naming_pattern IS NOT NULL THEN json_build_object(
            'pattern', naming_pattern,
            'example', naming_example,
            'description', naming_description) END)
"""

# NO KEY: inserts that only refer to the project, such as segments, do not wait for this lock and cannot deadlock with
# it.
LOCK: LiteralString = (
    f"SELECT {LOGGED} AS logged, archived_at, version FROM projects WHERE id = %(id)s FOR NO KEY UPDATE"
)


def lock(conn: Connection, project_id: str) -> DictRow | None:
    """Lock a project. Return logged (the project in the form of events), archived_at and version, or None without it.

    A request that adds a flag to a project, or revives one, has the project FOR SHARE and waits.
    """
    return one(conn, LOCK, {"id": project_id})


UPDATE = """
    UPDATE projects
       SET name = %(name)s,
           description = %(description)s,
           mode = %(mode)s,
           default_stickiness = %(defaultStickiness)s,
           feature_limit = %(featureLimit)s,
           naming_pattern = %(naming)s::json ->> 'pattern',
           naming_example = %(naming)s::json ->> 'example',
           naming_description = %(naming)s::json ->> 'description',
           updated_at = now()
     WHERE id = %(id)s
"""


def update(conn: Connection, project: Mapping[str, Any]) -> None:
    """Set every field of a project that can change."""
    run(conn, UPDATE, {**project, "naming": as_json(project["featureNaming"])})


ARCHIVE = "UPDATE projects SET archived_at = now(), updated_at = now() WHERE id = %(id)s"

REVIVE = "UPDATE projects SET archived_at = NULL, updated_at = now() WHERE id = %(id)s"


def archive(conn: Connection, project_id: str) -> None:
    """Archive a project. It stays readable."""
    run(conn, ARCHIVE, {"id": project_id})


def revive(conn: Connection, project_id: str) -> None:
    """Revive an archived project."""
    run(conn, REVIVE, {"id": project_id})


CREATE = """
    INSERT INTO projects (id, name, description, mode, default_stickiness, feature_limit)
    VALUES (%(id)s, %(name)s, %(description)s, %(mode)s, %(defaultStickiness)s, %(featureLimit)s)
"""


def create(conn: Connection, project: Mapping[str, Any]) -> None:
    """Insert a project without environments. Raises UniqueViolation of projects_pkey if the id is taken."""
    run(conn, CREATE, project)


IS_TAKEN = "SELECT EXISTS (SELECT FROM projects WHERE id = %(id)s)"


def is_taken(conn: Connection, project_id: str) -> bool:
    """Return whether a project with this id exists, archived ones included."""
    return value(conn, IS_TAKEN, {"id": project_id})


WAS_PRIVATE = "SELECT EXISTS (SELECT FROM past_private_projects WHERE project_id = %(id)s)"


def was_private(conn: Connection, project_id: str) -> bool:
    """Return whether a project with this id was private before it was opened or deleted."""
    return value(conn, WAS_PRIVATE, {"id": project_id})


# The candidates are slug, slug-1, slug-2 and so on. One more than all taken ids is enough.
FREE_ID = """
    SELECT id
      FROM (SELECT number, CASE WHEN number = 0 THEN %(slug)s ELSE %(slug)s || '-' || number END AS id
              FROM generate_series(0, (SELECT count(*) FROM projects)
                                      + (SELECT count(*) FROM past_private_projects)
                                      + cardinality(%(reserved)s::text[])) AS number) AS candidates
     WHERE id <> ALL(%(reserved)s::text[])
       AND NOT EXISTS (SELECT FROM projects WHERE projects.id = candidates.id)
       AND NOT EXISTS (SELECT FROM past_private_projects WHERE project_id = candidates.id)
     ORDER BY number
     LIMIT 1
"""


def free_id(conn: Connection, slug: str, reserved: Collection[str]) -> str:
    """Return the first candidate that is not taken, not reserved, and not the id of a past private project."""
    return value(conn, FREE_ID, {"slug": slug, "reserved": list(reserved)})


ADD_OWNER = """
    INSERT INTO project_user_roles (project_id, user_id, role_id)
    SELECT %(id)s, %(user_id)s, %(owner)s
     WHERE %(user_id)s::integer IS NOT NULL
"""


def add_owner(conn: Connection, project_id: str, user_id: int | None) -> None:
    """Make a user the owner of a new project. None: an API token created it, and it has no owner."""
    run(conn, ADD_OWNER, {"id": project_id, "user_id": user_id, "owner": roles.OWNER})


# FOR KEY SHARE: an environment that another transaction is deleting counts as unknown.
ADD_ENVIRONMENTS = """
    WITH chosen AS (
        SELECT name
          FROM environments
         WHERE CASE WHEN %(names)s::text[] IS NULL THEN enabled ELSE name = ANY(%(names)s) END
         ORDER BY name
           FOR KEY SHARE
    ),
    linked AS (
        INSERT INTO project_environments (project_id, environment)
        SELECT %(id)s, name FROM chosen
        RETURNING environment
    )
    SELECT coalesce(array_agg(DISTINCT requested), '{}')
      FROM unnest(%(names)s::text[]) AS requested
     WHERE requested NOT IN (SELECT environment FROM linked)
"""


def add_environments(conn: Connection, project_id: str, names: Sequence[str] | None) -> list[str]:
    """Link environments, None for all enabled ones, to a new project. Return the names that do not exist."""
    return value(conn, ADD_ENVIRONMENTS, {"id": project_id, "names": None if names is None else list(names)})


# The response of POST /api/admin/projects. A null description is omitted, because a client written in Go fails on null.
CREATED = """
    WITH created AS (
        SELECT json_merge(
                   json_build_object('id', id, 'name', name),
                   CASE WHEN description IS NOT NULL THEN json_build_object('description', description) END,
                   json_build_object(
                       'mode', mode,
                       'defaultStickiness', default_stickiness,
                       'featureLimit', feature_limit,
                       'environments', (
                           SELECT coalesce(json_agg(environment ORDER BY sort_order, environment), '[]')
                             FROM project_environments
                             JOIN environments ON environments.name = environment
                            WHERE project_id = projects.id),
                       'changeRequestEnvironments', (
                           SELECT coalesce(json_agg(json_build_object(
                                      'name', environment, 'requiredApprovals', required_approvals)
                                      ORDER BY sort_order, environment), '[]')
                             FROM project_environments
                             JOIN environments ON environments.name = environment
                            WHERE project_id = projects.id
                              AND required_approvals IS NOT NULL))) AS record,
               version
          FROM projects
         WHERE id = %(id)s
    )
    SELECT record, record::text AS text, version FROM created
"""


def created(conn: Connection, project_id: str) -> DictRow:
    """Return a new project: record for the event, and text (a RecordText) for the response."""
    project = one(conn, CREATED, {"id": project_id})
    assert project is not None
    return project | {"text": RecordText(project["text"], project["version"])}


# FOR SHARE: a request that archives or deletes the project waits until the new flag is committed.
HOLD_LIVE = """
    SELECT id, feature_limit, naming_pattern
      FROM projects
     WHERE id = %(id)s
       AND archived_at IS NULL
       FOR SHARE
"""


def hold_live(conn: Connection, project: str) -> DictRow | None:
    """Keep a live project from changing. Return id, feature_limit and naming_pattern, or None."""
    return one(conn, HOLD_LIVE, {"id": project})


GET_NAMING: LiteralString = f"SELECT naming_pattern FROM projects WHERE id = %(id)s AND {VISIBLE}"


def get_naming(conn: Connection, project: str, viewer: int | None) -> DictRow | None:
    """Return the naming_pattern of a project, live or archived. None: unknown, or hidden from the viewer."""
    return one(conn, GET_NAMING, {"id": project, "viewer": viewer})


LOCK_COUNT: LiteralString = f"SELECT pg_advisory_xact_lock({locks.FEATURE_LIMIT}, {locks.of_text('%(project)s::text')})"

COUNT_FLAGS = "SELECT count(*) FROM flags WHERE project_id = %(project)s AND archived_at IS NULL"


def count_flags(conn: Connection, project: str) -> int:
    """Return the number of live flags of a project. Other transactions that count them wait for the end of this one."""
    run(conn, LOCK_COUNT, {"project": project})
    return value(conn, COUNT_FLAGS, {"project": project})
