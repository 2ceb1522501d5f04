"""Find, add and replace links of flags."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, NotFound

from rules.access import Actor
from rules.flags import flag_event
from rules.refusals import Refuse, raise_error
from sql import events
from sql.database import Connection
from sql.flags import links as flag_links
from validators.flags.links import MAX_LINKS, URL

Links = Sequence[Mapping[str, Any]]


def find_link(conn: Connection, flag: DictRow, link_id: str) -> dict[str, Any]:
    """Return url and title of a link of a locked flag. Raise 404 if the flag does not have it."""
    if link := flag_links.by_id(conn, flag["id"]).get(link_id):
        return link
    raise NotFound("The flag has no link with this id.")


def usable_links(links: Links) -> list[dict[str, Any]]:
    """Return url and title of the links to web addresses."""
    return [{"url": link["url"], "title": link.get("title")} for link in links if URL.fullmatch(link["url"])]


def add_links(conn: Connection, actor: Actor, flag: DictRow, links: Links, refuse: Refuse = raise_error) -> None:
    """Add links to a locked flag, and record the events. Refuse a flag that would have more than MAX_LINKS."""
    if links:
        number = len(flag_links.by_id(conn, flag["id"])) + len(links)
        refuse(BadRequest(f"links: a flag can have at most {MAX_LINKS}"), [flag["name"]] if number > MAX_LINKS else [])
        flag_links.insert(conn, flag["id"], links)
        events.record(conn, *[flag_event("feature-link-added", actor, flag, data=link) for link in links])


def replace_links(conn: Connection, actor: Actor, flag: DictRow, links: Links, refuse: Refuse) -> None:
    """Give a locked flag these links, and record the events. Links that it has already keep their ids."""
    present = flag_links.by_id(conn, flag["id"])
    for link_id, link in present.items():
        if link not in links:
            flag_links.delete(conn, link_id)
            events.record(conn, flag_event("feature-link-removed", actor, flag, pre_data=link))
    add_links(conn, actor, flag, [link for link in links if link not in present.values()], refuse)
