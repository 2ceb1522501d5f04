"""The index of the pages for administrators, with links to the pages that the reader may see, and the banners."""

from dataclasses import dataclass

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.tokens import expiring_tokens
from rules.api_tokens import permissions
from rules.integrations import HOLDER
from sql.database import connection

bp = Blueprint("admin", __name__)


@dataclass(frozen=True)
class Entry:
    """A page of the index. permissions: readers need one of them, or none if it is empty."""

    path: str
    title: str
    description: str
    permissions: tuple[str, ...] = ()


ENTRIES = (
    Entry("users", "Users", "Invite people, change their root roles, and help them with passwords.", ("ADMIN",)),
    Entry("groups", "Groups", "Give roles to several users at once.", ("ADMIN",)),
    Entry("roles", "Roles", "See and change what a role permits.", ("READ_ROLE",)),
    Entry("service-accounts", "Service accounts", "Tokens for programs that use the admin API.", ("ADMIN",)),
    Entry("signup-tokens", "Signup tokens", "Links with which people create their own account.", ("ADMIN",)),
    Entry("api-tokens", "API tokens", "Tokens for applications and scripts.", tuple(permissions("READ"))),
    Entry("applications", "Applications", "Which applications ask for flags, and how."),
    Entry("segments", "Segments", "Constraints that several strategies share."),
    Entry("context-fields", "Context fields", "What constraints can ask about users."),
    Entry("environments", "Environments", "Where flags are switched, such as development and production."),
    Entry("tag-types", "Tag types", "Kinds of tags that flags can have."),
    Entry("banners", "Banners", "Announce something at the top of every page.", ("ADMIN",)),
    Entry("integrations", "Integrations", "Tell Slack, Teams, Discord or a program what changes.", HOLDER),
    Entry("import", "Import", "Bring flags from Unleash, or from another instance, by a file.", ("ADMIN",)),
)


@bp.get("/admin")
def show_admin() -> Response:
    """Show links to the pages that the reader may see."""
    with connection() as conn:
        reader = require_reader(conn)
        expiring = expiring_tokens(conn, reader)
    return page("admin/admin.html", entries=entries(reader), expiring=expiring)


@bp.get("/admin/banners")
def show_banners() -> Response:
    """Show all banners, which are those of the reader."""
    with connection() as conn:
        reader = require_reader(conn, "ADMIN")
    return page("admin/banners.html", **list_page(reader.banners, "message"))


def entries(reader: Reader) -> list[Entry]:
    """Return the pages that the reader may see."""
    return [entry for entry in ENTRIES if not entry.permissions or reader.may(*entry.permissions)]
