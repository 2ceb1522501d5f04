"""Projects: who may see them, and the project overview record of api.md."""

from datetime import datetime
from typing import Any, LiteralString

from sql import Connection, as_json, run, value

# Our choice: a private project is hidden from all but its members and those who see all.
# Which projects a viewer may see, of rows of the table projects. A null viewer sees all; authenticate() has decided that.
VISIBLE: LiteralString = """
    (%(viewer)s::integer IS NULL
     OR projects.mode <> 'private'
     OR EXISTS (
            SELECT FROM project_user_roles
             WHERE project_user_roles.project_id = projects.id
               AND project_user_roles.user_id = %(viewer)s::integer)
     OR EXISTS (
            SELECT FROM project_group_roles
              JOIN group_users USING (group_id)
             WHERE project_group_roles.project_id = projects.id
               AND group_users.user_id = %(viewer)s::integer))
"""

# Of how many flags how many are active, as a whole number; a project without flags is healthy (decisions.md, 2).
HEALTH: LiteralString = "CASE WHEN total = 0 THEN 100 ELSE round(100.0 * active / total)::integer END"

# Our choice: also in the insights, where 0 means that there is none.
# A mean number of days with one decimal, never below 0.1 when there is one; 0: there is none.
MEAN_DAYS: LiteralString = "CASE WHEN days IS NULL THEN 0 ELSE trim_scale(greatest(0.1, round(days, 1))) END"

# Our choice: the current window is the last 30 days, the past window the 30 days before; all is computed when it is asked for.
OVERVIEW: LiteralString = (
    """
    WITH windows AS (
        SELECT tstzrange(now() - interval '30 days', now(), '(]') AS this,
               tstzrange(now() - interval '60 days', now() - interval '30 days', '(]') AS last
    ),
    live_flags AS (
        SELECT flags.id,
               flags.name,
               flags.type,
               flags.created_at,
               stale_since IS NULL
                   AND coalesce(now() - flags.created_at <= make_interval(days => lifetime_days), true) AS is_active
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE project_id = %(id)s
           AND archived_at IS NULL
    ),
    health AS (
        SELECT """
    + HEALTH
    + """ AS percent
          FROM (SELECT count(*) AS total, count(*) FILTER (WHERE is_active) AS active FROM live_flags) AS live
    ),
    created AS (
        SELECT count(*) FILTER (WHERE created_at <@ this) AS this,
               count(*) FILTER (WHERE created_at <@ last) AS last
          FROM live_flags, windows
    ),
    archived AS (
        SELECT count(DISTINCT flag_id) FILTER (WHERE started_at <@ this) AS this,
               count(DISTINCT flag_id) FILTER (WHERE started_at <@ last) AS last
          FROM flags
          JOIN flag_states ON flag_states.flag_id = flags.id AND state = 'archived',
               windows
         WHERE project_id = %(id)s
    ),
    time_to_production AS (
        SELECT """
    + MEAN_DAYS
    + """ AS days
          FROM (SELECT avg(extract(epoch FROM first_in_production_at - created_at) / 86400) AS days
                  FROM flags, windows
                 WHERE project_id = %(id)s
                   AND first_in_production_at <@ this) AS mean
    ),
    activity AS (
        SELECT count(*) FILTER (WHERE created_at <@ this) AS this,
               count(*) FILTER (WHERE created_at <@ last) AS last
          FROM events, windows
         WHERE project = %(id)s
           AND created_at > now() - interval '60 days'
    ),
    members AS (
        SELECT count(DISTINCT user_id) FILTER (WHERE ended_at IS NULL) AS present,
               count(DISTINCT user_id) FILTER (WHERE started_at <@ this) AS added
          FROM project_memberships, windows
         WHERE project_id = %(id)s
    ),
    type_counts AS (
        SELECT coalesce(json_agg(json_build_object('type', type, 'count', number) ORDER BY type), '[]') AS list
          FROM (SELECT type, count(*) AS number FROM live_flags GROUP BY type) AS counted
    ),
    own_environments AS (
        SELECT coalesce(json_agg(entry ORDER BY sort_order, name), '[]') AS list
          FROM project_environments
          JOIN environments ON environments.name = project_environments.environment
         CROSS JOIN LATERAL (
            SELECT CASE WHEN default_strategy IS NULL
                        THEN json_build_object('environment', name, 'changeRequestsEnabled', false)
                        ELSE json_build_object('environment', name, 'changeRequestsEnabled', false,
                                               'defaultStrategy', default_strategy)
                   END AS entry) AS entries
         WHERE project_id = %(id)s
    ),
    onboarding AS (
        SELECT CASE
                   WHEN NOT EXISTS (SELECT FROM live_flags)
                       THEN json_build_object('status', 'onboarding-started')
                   WHEN EXISTS (SELECT FROM usage_metrics WHERE project_id = %(id)s)
                     OR EXISTS (SELECT FROM flags JOIN usage_metrics ON flag_name = flags.name WHERE flags.project_id = %(id)s)
                       THEN json_build_object('status', 'onboarded')
                   ELSE json_build_object(
                       'status', 'first-flag-created',
                       'feature', (SELECT name FROM live_flags ORDER BY created_at, id LIMIT 1))
               END AS status
    )
    SELECT (jsonb_build_object(
                'stats', jsonb_build_object(
                    'avgTimeToProdCurrentWindow', time_to_production.days,
                    'createdCurrentWindow', created.this,
                    'createdPastWindow', created.last,
                    'archivedCurrentWindow', archived.this,
                    'archivedPastWindow', archived.last,
                    'projectActivityCurrentWindow', activity.this,
                    'projectActivityPastWindow', activity.last,
                    'projectMembersAddedCurrentWindow', members.added),
                'version', 1,
                'name', projects.name,
                'description', projects.description,
                'defaultStickiness', projects.default_stickiness,
                'mode', projects.mode,
                'featureLimit', projects.feature_limit,
                'members', members.present,
                'health', health.percent,
                'environments', own_environments.list,
                'featureTypeCounts', type_counts.list,
                'updatedAt', iso(projects.updated_at),
                'archivedAt', iso(projects.archived_at),
                'createdAt', iso(projects.created_at),
                'favorite', EXISTS (
                    SELECT FROM project_favorites
                     WHERE project_id = projects.id
                       AND user_id = %(user_id)s::integer),
                'onboardingStatus', onboarding.status)
            || CASE WHEN projects.naming_pattern IS NULL THEN '{}'
                    ELSE jsonb_build_object('featureNaming', jsonb_build_object(
                        'pattern', projects.naming_pattern,
                        'example', projects.naming_example,
                        'description', projects.naming_description))
               END)::text
      FROM projects, health, created, archived, time_to_production, activity, members, type_counts, own_environments, onboarding
     WHERE projects.id = %(id)s
"""
)


def overview(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """The project overview record as JSON text, favorite as this user (None: a key) has it. None: no such project."""
    return value(conn, OVERVIEW, {"id": project_id, "user_id": user_id})


INSERT = """
    INSERT INTO projects (id, name, description, mode, default_stickiness, feature_limit,
                          naming_pattern, naming_example, naming_description, created_at, updated_at, archived_at)
    VALUES (%(id)s, %(name)s, %(description)s, %(mode)s, %(default_stickiness)s, %(feature_limit)s,
            %(naming_pattern)s, %(naming_example)s, %(naming_description)s,
            coalesce(%(created_at)s::timestamptz, now()), %(updated_at)s, %(archived_at)s)
"""


def insert(
    conn: Connection,
    project_id: str,
    name: str,
    *,
    description: str | None = None,
    mode: str = "open",
    default_stickiness: str = "default",
    feature_limit: int | None = None,
    naming_pattern: str | None = None,
    naming_example: str | None = None,
    naming_description: str | None = None,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
    archived_at: datetime | None = None,
) -> None:
    """Make a project, without environments. UniqueViolation of projects_pkey when the id is taken."""
    params: dict[str, Any] = {
        "id": project_id,
        "name": name,
        "description": description,
        "mode": mode,
        "default_stickiness": default_stickiness,
        "feature_limit": feature_limit,
        "naming_pattern": naming_pattern,
        "naming_example": naming_example,
        "naming_description": naming_description,
        "created_at": created_at,
        "updated_at": updated_at,
        "archived_at": archived_at,
    }
    run(conn, INSERT, params)


ADD_ENVIRONMENT = """
    INSERT INTO project_environments (project_id, environment, default_strategy, created_at)
    VALUES (%(project_id)s, %(environment)s, %(default_strategy)s::json, coalesce(%(created_at)s::timestamptz, now()))
"""


def add_environment(
    conn: Connection, project_id: str, environment: str, default_strategy: Any = None, created_at: datetime | None = None
) -> None:
    """Link an environment to a project, with the strategy that flags get there when they have none."""
    params: dict[str, Any] = {
        "project_id": project_id,
        "environment": environment,
        "default_strategy": None if default_strategy is None else as_json(default_strategy),
        "created_at": created_at,
    }
    run(conn, ADD_ENVIRONMENT, params)


ADD_FAVORITE = """
    INSERT INTO project_favorites (user_id, project_id, created_at)
    VALUES (%(user_id)s, %(project_id)s, coalesce(%(created_at)s::timestamptz, now()))
    ON CONFLICT DO NOTHING
"""


def add_favorite(conn: Connection, user_id: int, project_id: str, created_at: datetime | None = None) -> None:
    """Make a project one of a user's favourites."""
    run(conn, ADD_FAVORITE, {"user_id": user_id, "project_id": project_id, "created_at": created_at})
