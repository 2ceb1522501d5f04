"""Put tags on flags, and take them off."""

from collections.abc import Mapping, Sequence

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor
from rules.flags import flag_event, listed
from rules.refusals import Refuse, at_once
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import tags as flag_tags

Tag = Mapping[str, str]


def check_tag_types(
    conn: Connection, tags: Sequence[tuple[str, Tag]], field: str = "type", refuse: Refuse = at_once
) -> None:
    """Refuse flags with a tag whose type does not exist.

    tags: each with the name of its flag; field: what a message is about.
    """
    types = {tag["type"] for _, tag in tags}
    unknown = sorted(types - flag_tags.share_types(conn, types)) if types else []
    if unknown:
        flags = {flag for flag, tag in tags if tag["type"] in unknown}
        refuse(BadRequest(f"{field}: unknown tag types: {listed(unknown)}"), flags)


def add_tags(conn: Connection, actor: Actor, tags: Sequence[tuple[DictRow, Tag]]) -> None:
    """Put tags on locked flags, each given with its flag.

    Tags that a flag has already are left out, as are their events.
    """
    if not tags:
        return
    flags = {flag["id"]: flag for flag, _ in tags}
    log = []
    for added in flag_tags.add(conn, [{"flagId": flag["id"], **tag} for flag, tag in tags]):
        flag, tag = flags[added["flag_id"]], {"type": added["type"], "value": added["value"]}
        if added["is_new"]:
            log.append(Event("tag-created", actor, data=tag))
        # The tags of that time: this one, and those that came before it.
        flag["tags"] = sorted([*flag["tags"], tag], key=lambda one: (one["type"], one["value"]))
        log.append(flag_event("feature-tagged", actor, flag, data=tag))
    events.record(conn, *log)


def remove_tags(conn: Connection, actor: Actor, tags: Sequence[tuple[DictRow, Tag]]) -> None:
    """Take tags off locked flags, each given with its flag."""
    if not tags:
        return
    flags = {flag["id"]: flag for flag, _ in tags}
    log = []
    for removed in flag_tags.remove(conn, [{"flagId": flag["id"], **tag} for flag, tag in tags]):
        flag, tag = flags[removed["flag_id"]], {"type": removed["type"], "value": removed["value"]}
        flag["tags"] = [other for other in flag["tags"] if other != tag]
        log.append(flag_event("feature-untagged", actor, flag, pre_data=tag))
    events.record(conn, *log)
