"""Applications that have registered or reported usage: what they ask for, and what they ask for in vain."""

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, run, value
from sql.projects.visibility import VISIBLE

# The most recently seen instances of an application in one response.
MAX_LISTED_INSTANCES = 1000

# CASE: PostgreSQL expects that it is true for half of the flags. Without statistics, it expects that one flag in 200 is
# not deleted, and looks up all flags for each application.
IS_NOT_DELETED: LiteralString = "CASE WHEN flags.deleted_at IS NULL THEN true END"

# The flags that an application has reported, in projects that the viewer sees.
SIGHTINGS: LiteralString = f"""
      FROM flag_sightings
      JOIN flags ON flags.id = flag_id AND {IS_NOT_DELETED}
      JOIN projects ON projects.id = flags.project_id
     WHERE app_name = applications.name
       AND {VISIBLE}
"""

# Our choice: an application that has reported flags of hidden projects only is hidden too.
SEEN: LiteralString = f"""
    (EXISTS (SELECT{SIGHTINGS})
     OR NOT EXISTS (
        SELECT FROM flag_sightings
          JOIN flags ON flags.id = flag_id AND {IS_NOT_DELETED}
         WHERE app_name = applications.name))
"""

USAGE: LiteralString = f"""
    (SELECT coalesce(json_agg(json_build_object('project', project_id, 'environments', environments)
                              ORDER BY project_id), '[]')
       FROM (SELECT flags.project_id, json_agg(DISTINCT environment ORDER BY environment) AS environments{SIGHTINGS}
             GROUP BY flags.project_id) AS used)
"""

RECORD: LiteralString = f"""
    json_build_object('appName', applications.name,
                      'strategies', applications.strategies,
                      'description', applications.description,
                      'url', applications.url,
                      'color', applications.color,
                      'icon', applications.icon,
                      'createdAt', iso(applications.created_at),
                      'usage', {USAGE})
"""


def page_of(record: LiteralString) -> LiteralString:
    """Return the end of a list: a page of the rows of matching, by their column place, and their total."""
    return f""",
    page AS (
        SELECT *, CASE WHEN %(descending)s THEN -place ELSE place END AS number
          FROM matching
         ORDER BY number
         LIMIT %(limit)s
        OFFSET %(offset)s
    )
    SELECT json_build_object(
               'applications', (SELECT coalesce(json_agg({record} ORDER BY number), '[]') FROM page AS applications),
               'total', (SELECT count(*) FROM matching))::text
    """


LIST: LiteralString = f"""
    WITH matching AS MATERIALIZED (
        SELECT applications.*,
               row_number() OVER (ORDER BY lower(name), name) AS place
          FROM applications
         WHERE strpos(lower(name), lower(%(query)s)) > 0
           AND {SEEN}
    ){page_of(RECORD)}
"""


def list_all(conn: Connection, viewer: int | None, *, query: str, descending: bool, limit: int, offset: int) -> str:
    """Return a page of the applications whose names contain a text, by name, and their total, as JSON text."""
    params = {"viewer": viewer, "query": query, "descending": descending, "limit": limit, "offset": offset}
    return value(conn, LIST, params)


GET: LiteralString = f"SELECT ({RECORD})::text FROM applications WHERE name = %(name)s AND {SEEN}"


def get(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return an application as JSON text, or None if the viewer sees none with this name."""
    return value(conn, GET, {"name": name, "viewer": viewer})


LOCK: LiteralString = f"""
    SELECT name, description, url, icon, color
      FROM applications
     WHERE name = %(name)s
       AND {SEEN}
       FOR UPDATE
"""


def lock(conn: Connection, name: str, viewer: int | None) -> DictRow | None:
    """Lock an application and return what people can change, or None if the viewer sees none with this name."""
    return one(conn, LOCK, {"name": name, "viewer": viewer})


UPDATE = """
    UPDATE applications
       SET description = %(description)s, url = %(url)s, icon = %(icon)s, color = %(color)s
     WHERE name = %(name)s
"""


def update(conn: Connection, after: Mapping[str, Any]) -> None:
    """Change what people can say about a locked application."""
    run(conn, UPDATE, after)


# Instances are deleted with the application.
DELETE = """
    WITH sightings AS (
        DELETE FROM flag_sightings WHERE app_name = %(name)s
    ),
    unknown AS (
        DELETE FROM unknown_flags WHERE app_name = %(name)s
    )
    DELETE FROM applications WHERE name = %(name)s
"""


def delete(conn: Connection, name: str) -> None:
    """Delete a locked application, its instances and sightings, and the unknown flags that it asked for."""
    run(conn, DELETE, {"name": name})


# Somebody can have created the flag since.
IS_UNKNOWN: LiteralString = """
    NOT EXISTS (SELECT FROM flags WHERE flags.name = unknown_flags.flag_name AND deleted_at IS NULL)
"""

# Our choice: strategy types of old SDKs, which Unleash 6 has no more, are not missing. They are in every registration.
MISSING_STRATEGIES: LiteralString = """
    (SELECT coalesce(json_agg(DISTINCT type ORDER BY type), '[]')
       FROM unnest(applications.strategies) AS type
      WHERE type NOT IN ('gradualRolloutUserId', 'gradualRolloutSessionId', 'gradualRolloutRandom')
        AND NOT EXISTS (SELECT FROM strategy_types WHERE strategy_types.name = type))
"""

# Our choice: outdatedSdks is empty, because this server does not know the newest versions, and frontendSdks, because
# browsers are not kept as instances.
OVERVIEW: LiteralString = f"""
    SELECT json_build_object(
               'projects', (SELECT coalesce(json_agg(DISTINCT flags.project_id ORDER BY flags.project_id), '[]')
                            {SIGHTINGS}),
               'featureCount', (SELECT count(DISTINCT flags.id){SIGHTINGS}),
               'environments', (
                   SELECT coalesce(json_agg(json_build_object(
                              'name', environment,
                              'instanceCount', instances,
                              'sdks', sdks,
                              'frontendSdks', '[]'::json,
                              'backendSdks', sdks,
                              'lastSeen', iso(seen_at),
                              'issues', json_build_object('missingFeatures', missing, 'outdatedSdks', '[]'::json))
                              ORDER BY environment), '[]')
                     FROM (SELECT environment,
                                  count(connection) AS instances,
                                  coalesce(json_agg(DISTINCT sdk_version ORDER BY sdk_version)
                                           FILTER (WHERE sdk_version IS NOT NULL), '[]') AS sdks,
                                  max(seen_at) AS seen_at,
                                  coalesce(json_agg(DISTINCT flag_name ORDER BY flag_name)
                                           FILTER (WHERE flag_name IS NOT NULL), '[]') AS missing
                             FROM (SELECT environment, connection, sdk_version, NULL AS flag_name, seen_at
                                     FROM application_instances
                                    WHERE app_name = applications.name
                                UNION ALL
                                   SELECT environment, NULL, NULL, flag_name, seen_at
                                     FROM unknown_flags
                                    WHERE app_name = applications.name
                                      AND {IS_UNKNOWN}
                                UNION ALL
                                   SELECT environment, NULL, NULL, NULL, last_at{SIGHTINGS}) AS facts
                            GROUP BY environment) AS places),
               'issues', json_build_object('missingStrategies', {MISSING_STRATEGIES}))::text
      FROM applications
     WHERE name = %(name)s
       AND {SEEN}
"""


def get_overview(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return the overview of an application as JSON text, or None if the viewer sees none with this name."""
    return value(conn, OVERVIEW, {"name": name, "viewer": viewer})


INSTANCES: LiteralString = f"""
    SELECT json_build_object('instances', (
               SELECT coalesce(json_agg(json_build_object(
                          'instanceId', instance_id,
                          'clientIp', address,
                          'sdkVersion', sdk_version,
                          'lastSeen', iso(seen_at)) ORDER BY seen_at DESC, connection), '[]')
                 FROM (SELECT *
                         FROM application_instances
                        WHERE app_name = applications.name
                          AND environment = %(environment)s
                        ORDER BY seen_at DESC, connection
                        LIMIT %(limit)s) AS newest))::text
      FROM applications
     WHERE name = %(name)s
       AND {SEEN}
"""


def list_instances(conn: Connection, name: str, environment: str, viewer: int | None) -> str | None:
    """Return the newest instances of an application in an environment as JSON text, or None as get() does."""
    params = {"name": name, "environment": environment, "viewer": viewer, "limit": MAX_LISTED_INSTANCES}
    return value(conn, INSTANCES, params)


FLAGS: LiteralString = f"""
    SELECT (SELECT coalesce(json_agg(json_build_object(
                       'name', name,
                       'project', project_id,
                       'archived', archived,
                       'environments', environments) ORDER BY name), '[]')
              FROM (SELECT flags.name,
                           flags.project_id,
                           flags.archived_at IS NOT NULL AS archived,
                           array_agg(DISTINCT environment ORDER BY environment) AS environments{SIGHTINGS}
                     GROUP BY flags.id) AS used)::text
      FROM applications
     WHERE name = %(name)s
       AND {SEEN}
"""


def list_flags(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return the flags that an application has reported, with their environments, as JSON text, or None as get()."""
    return value(conn, FLAGS, {"name": name, "viewer": viewer})


# appName, environment and seenAt are those of the newest report.
UNKNOWN_FLAGS: LiteralString = f"""
    WITH by_application AS (
        SELECT flag_name, app_name,
               max(unknown_flags.seen_at) AS seen_at,
               json_agg(json_build_object('environment', environment, 'seenAt', iso(unknown_flags.seen_at))
                        ORDER BY environment) AS places,
               (array_agg(environment ORDER BY unknown_flags.seen_at DESC, environment))[1] AS environment
          FROM unknown_flags
          JOIN applications ON applications.name = app_name
         WHERE {IS_UNKNOWN}
           AND {SEEN}
         GROUP BY flag_name, app_name
    ),
    by_flag AS (
        SELECT flag_name,
               iso(max(seen_at)) AS seen,
               (array_agg(app_name ORDER BY seen_at DESC, app_name))[1] AS app_name,
               (array_agg(environment ORDER BY seen_at DESC, app_name))[1] AS environment,
               json_agg(json_build_object('appName', app_name, 'environments', places) ORDER BY app_name) AS reports
          FROM by_application
         GROUP BY flag_name
    )
    SELECT json_build_object('unknownFlags', coalesce(json_agg(json_build_object(
               'name', flag_name, 'appName', app_name, 'environment', environment, 'seenAt', seen, 'lastSeenAt', seen,
               'reports', reports) ORDER BY flag_name), '[]'))::text
      FROM by_flag
"""


def list_unknown_flags(conn: Connection, viewer: int | None) -> str:
    """Return the names that applications ask for although no such flag exists, as JSON text."""
    return value(conn, UNKNOWN_FLAGS, {"viewer": viewer})
