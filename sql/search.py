"""The search of the pages: flags, projects, segments and pages that contain all words, in one statement."""

from collections.abc import Mapping
from typing import LiteralString

from sql.database import Connection, value
from sql.flags import search as flag_search
from sql.projects.visibility import VISIBLE

# What can be found. name decides about the order, text contains the words. flag_id: 0 for all but flags, whose tags
# contain words too.
ENTRIES: LiteralString = """
    SELECT 'flag' AS kind, flags.id AS flag_id, flags.name, concat_ws(' ', flags.name, description) AS text, '' AS path
      FROM flags
      JOIN seen ON seen.id = project_id
     WHERE archived_at IS NULL
 UNION ALL
    SELECT 'project', 0, name, concat_ws(' ', name, id), 'projects/' || id
      FROM seen
 UNION ALL
    SELECT 'segment', 0, name, concat_ws(' ', name, description), 'admin/segments/' || id
      FROM segments
     WHERE project_id IS NULL
        OR project_id IN (SELECT id FROM seen)
 UNION ALL
    SELECT 'page', 0, name, name, path
      FROM unnest(%(page_names)s::text[], %(page_paths)s::text[]) AS page (name, path)
 UNION ALL
    SELECT 'page', 0, 'Clean up ' || name, concat_ws(' ', 'Clean up', name, id), concat('projects/', id, '/cleanup')
      FROM seen
"""

# Our choice: upper() first, as in sql/flags/search.py. OFFSET 0 makes PostgreSQL fold each text once. Flags share their
# tags, whose texts are searched once, before the flags.
SEARCH: LiteralString = f"""
    WITH words AS MATERIALIZED (
        SELECT lower(upper(word)) AS word FROM unnest(%(words)s::text[]) AS word
    ),
    seen AS MATERIALIZED (
        SELECT id, name FROM projects WHERE archived_at IS NULL AND {VISIBLE}
    ),
    tagged AS MATERIALIZED (
        SELECT flag_id, word
          FROM words
          JOIN tags ON strpos(lower(upper(type || ':' || value)), word) > 0
          JOIN flag_tags USING (type, value)
    ),
    matching AS (
        SELECT kind, flag_id, entries.name, path,
               row_number() OVER (
                   PARTITION BY kind
                   ORDER BY folded.name <> phrase, NOT starts_with(folded.name, phrase),
                            EXISTS (SELECT FROM words WHERE strpos(folded.name, word) = 0), entries.name, path
               ) AS place,
               count(*) OVER (PARTITION BY kind) AS total
          FROM ({ENTRIES}) AS entries
         CROSS JOIN (SELECT lower(upper(array_to_string(%(words)s::text[], ' ')))) AS searched (phrase)
         CROSS JOIN LATERAL (SELECT lower(upper(entries.name)), lower(upper(text)) OFFSET 0) AS folded (name, text)
         WHERE NOT EXISTS (
            SELECT FROM words
             WHERE strpos(folded.text, word) = 0
               AND (flag_id, word) NOT IN (SELECT flag_id, word FROM tagged))
    )
    SELECT json_build_object(
               'total', coalesce((SELECT max(total) FROM matching WHERE kind = 'flag'), 0),
               'flags', (
                   SELECT coalesce(json_agg(json_merge(
                              {flag_search.ROW},
                              json_build_object('projectName', (SELECT name FROM seen WHERE id = flags.project_id)))
                              ORDER BY place), '[]')
                     FROM matching
                     JOIN flags ON flags.id = flag_id
                    WHERE place - %(offset)s BETWEEN 1 AND %(limit)s),
               'others', (
                   SELECT coalesce(json_agg(json_build_object('kind', kind, 'name', name, 'path', path)
                                            ORDER BY array_position(ARRAY['project', 'segment'], kind), place), '[]')
                     FROM matching
                    WHERE kind <> 'flag'
                      AND place <= %(others)s))::text
"""


def search(
    conn: Connection,
    words: list[str],
    pages: Mapping[str, str],
    *,
    viewer: int | None,
    user_id: int,
    limit: int,
    offset: int,
    others: int,
) -> str:
    """Return {"total", "flags": ROW[], "others": {"kind", "name", "path"}[]} as JSON text, the best matches first.

    flags: as ROW of sql/flags/search.py, with the projectName. pages: the names of fixed pages by path. others: the
    maximum of each other kind.
    """
    texts = {"words": words, "page_names": list(pages.values()), "page_paths": list(pages)}
    params = {"viewer": viewer, "user_id": user_id, "limit": limit, "offset": offset, "others": others}
    return value(conn, SEARCH, texts | params)
