"""Links of flags to other pages. The caller has locked the flags."""

from collections.abc import Mapping, Sequence
from typing import Any

from sql.database import Connection, as_json, rows, run

INSERT = """
    INSERT INTO flag_links (flag_id, url, title)
    SELECT %(flag_id)s, url, title
      FROM ROWS FROM (json_to_recordset(%(links)s::json) AS (url text, title text)) WITH ORDINALITY
     ORDER BY ordinality
"""


def insert(conn: Connection, flag_id: int, links: Sequence[Mapping[str, Any]]) -> None:
    """Add links (url, title) to a flag, in their order."""
    run(conn, INSERT, {"flag_id": flag_id, "links": as_json(links)})


LIST = "SELECT id, url, title FROM flag_links WHERE flag_id = %(flag_id)s ORDER BY id"


def by_id(conn: Connection, flag_id: int) -> dict[str, dict[str, Any]]:
    """Return url and title of each link of a flag by its id, in their order."""
    return {str(row.pop("id")): row for row in rows(conn, LIST, {"flag_id": flag_id})}


UPDATE = "UPDATE flag_links SET url = %(url)s, title = %(title)s WHERE id = %(id)s::bigint"


def update(conn: Connection, link_id: str, link: Mapping[str, Any]) -> None:
    """Change url and title of a link."""
    run(conn, UPDATE, {"id": link_id, **link})


DELETE = "DELETE FROM flag_links WHERE id = %(id)s::bigint"


def delete(conn: Connection, link_id: str) -> None:
    """Delete a link."""
    run(conn, DELETE, {"id": link_id})
