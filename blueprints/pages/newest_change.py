"""What the dialog of a form shows if somebody else has changed its record meanwhile."""

import json
from typing import Any

from blueprints.pages.events import names_of_people
from blueprints.pages.page import Reader
from rules.event_text import changes, sentence
from sql import event_search
from sql.database import Connection

FLAG = (
    "feature-created feature-metadata-updated feature-stale-on feature-stale-off feature-completed feature-uncompleted "
    "feature-project-change feature-revived"
)
STRATEGY = "feature-strategy-add feature-strategy-update strategy-order-changed"
# The record is searched for among so many events.
LIMIT = 50


def newest_change(
    conn: Connection, reader: Reader, etag: object, types: str, same: dict[str, Any], **filters: str
) -> dict[str, Any]:
    """Return the ETag of a record for parts.match_etag(), and the newest event about it for layout.html.

    types, filters: the types and other filters of the events. same: what their data says about the record, if they
    mention it. newest is None if the reader may not see the event: call require_reader() with list_projects.
    """
    query = {"types": types.split(), **filters}
    found = json.loads(event_search.search(conn, query, reader.actor.visible, limit=LIMIT, offset=0) or "{}")
    events = (event for event in found.get("events", ()) if {**same, **(event["data"] or {})}.items() >= same.items())
    newest = next(events, None)
    if newest:
        newest["createdBy"] = names_of_people(conn, reader.actor).get(newest["createdByUserId"], newest["createdBy"])
    return {"etag": etag, "newest": newest, "sentence": sentence, "changes": changes}
