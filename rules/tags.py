"""Put tags on flags, and take them off."""

from collections.abc import Mapping, Sequence

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor
from rules.flags import flag_event
from rules.refusals import Refuse, first_five, raise_error
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import tags as flag_tags

Tag = Mapping[str, str]


def check_tag_types(
    conn: Connection, tags: Sequence[tuple[str, Tag]], field: str = "type", refuse: Refuse = raise_error
) -> None:
    """Refuse flags with an unknown tag type. tags: pairs of flag name and tag. field: for the message."""
    types = {tag["type"] for _, tag in tags}
    unknown = sorted(types - flag_tags.hold_tag_types(conn, types)) if types else []
    if unknown:
        flags = {flag for flag, tag in tags if tag["type"] in unknown}
        refuse(BadRequest(f"{field}: unknown tag types: {first_five(unknown)}"), flags)


def add_tags(conn: Connection, actor: Actor, tags: Sequence[tuple[DictRow, Tag]]) -> None:
    """Add missing tags to locked flags, and record the events. tags: pairs of a flag and a tag."""
    if not tags:
        return
    flags = {flag["id"]: flag for flag, _ in tags}
    log = []
    for added in flag_tags.add(conn, [{"flagId": flag["id"], **tag} for flag, tag in tags]):
        flag, tag = flags[added["flag_id"]], {"type": added["type"], "value": added["value"]}
        if added["is_new"]:
            log.append(Event("tag-created", actor, data=tag))
        # Each event contains the tags that the flag has after this addition.
        flag["tags"] = sorted([*flag["tags"], tag], key=lambda tag: (tag["type"], tag["value"]))
        log.append(flag_event("feature-tagged", actor, flag, data=tag))
    events.record(conn, *log)


def remove_tags(conn: Connection, actor: Actor, tags: Sequence[tuple[DictRow, Tag]]) -> None:
    """Take tags off locked flags, and record the events. tags: pairs of a flag and a tag."""
    if not tags:
        return
    flags = {flag["id"]: flag for flag, _ in tags}
    log = []
    for removed in flag_tags.remove(conn, [{"flagId": flag["id"], **tag} for flag, tag in tags]):
        flag, tag = flags[removed["flag_id"]], {"type": removed["type"], "value": removed["value"]}
        flag["tags"] = [other for other in flag["tags"] if other != tag]
        log.append(flag_event("feature-untagged", actor, flag, pre_data=tag))
    events.record(conn, *log)


def change_tags(conn: Connection, actor: Actor, flags: Sequence[DictRow], change: Mapping[str, Sequence[Tag]]) -> None:
    """Add and remove tags of locked flags, and record the events. Raise 400 for an unknown tag type."""
    added = [(flag, tag) for flag in flags for tag in change["addedTags"]]
    check_tag_types(conn, [(flag["name"], tag) for flag, tag in added], "addedTags")
    add_tags(conn, actor, added)
    remove_tags(conn, actor, [(flag, tag) for flag in flags for tag in change["removedTags"]])
