"""The applications that use flags of a project."""

from typing import LiteralString

from sql.applications import MAX_LISTED_INSTANCES, page_of
from sql.database import Connection, value

# SDKs report name:version.
RECORD: LiteralString = """
    json_build_object(
        'name', name,
        'environments', environments,
        'instances', coalesce(instances, '{}'),
        'sdks', (
            SELECT coalesce(json_agg(json_build_object('name', sdk, 'versions', numbers) ORDER BY sdk), '[]')
              FROM (SELECT split_part(version, ':', 1) AS sdk,
                           array_remove(array_agg(split_part(version, ':', 2) ORDER BY version), '') AS numbers
                      FROM unnest(versions) AS version
                     GROUP BY sdk) AS named))
"""

LIST: LiteralString = f"""
    WITH used AS (
        SELECT app_name AS name, array_agg(DISTINCT environment ORDER BY environment) AS environments
          FROM flags
          JOIN flag_sightings ON flag_id = flags.id
         WHERE project_id = %(project)s
           AND deleted_at IS NULL
         GROUP BY app_name
    ),
    matching AS (
        SELECT used.*, instances, versions, row_number() OVER (ORDER BY lower(name), name) AS place
          FROM used
         CROSS JOIN LATERAL (
            SELECT (array_agg(DISTINCT instance_id ORDER BY instance_id))[:%(instances)s] AS instances,
                   array_agg(DISTINCT sdk_version) FILTER (WHERE sdk_version IS NOT NULL) AS versions
              FROM application_instances
             WHERE app_name = name
               AND environment = ANY(environments)) AS registered
         WHERE strpos(lower(concat_ws(' ', name, array_to_string(environments || versions, ' '))), lower(%(query)s)) > 0
    ){page_of(RECORD)}
"""


def list_all(conn: Connection, project: str, *, query: str, descending: bool, limit: int, offset: int) -> str:
    """Return a page of the applications with a text in name, environment or SDK, and their total, as JSON text."""
    params = {"project": project, "query": query, "descending": descending, "limit": limit, "offset": offset}
    return value(conn, LIST, params | {"instances": MAX_LISTED_INSTANCES})
