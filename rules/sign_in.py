"""Log in people whom an identity provider or a proxy has checked: find or create their user, and set their groups."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import abort, current_app
from marshmallow import ValidationError
from psycopg.errors import UniqueViolation
from werkzeug.exceptions import Forbidden

from rules import proxy_header, sessions
from rules.access import SYSTEM
from sql import events
from sql.database import Connection, transaction
from sql.events import Event
from sql.people import identities, root_roles, users
from validators.fields import Email, Text, Username

log = logging.getLogger(__name__)

EMAIL, USERNAME, NAME = Email(), Username(), Text(min=1, max=255)
NO_ACCOUNT = "There is no account for you here."
TAKEN = "Your e-mail address belongs to another account. Ask an administrator."
# The constraints that a login then violates: of the user, and of the identity that the other account has.
OF_ADDRESS = ("users_email_key", "user_identities_user_key")
MOST_GROUPS = 500
TOO_MANY_GROUPS = "You are in too many groups. Ask an administrator to send only the groups that this service needs."


@dataclass(frozen=True)
class Person:
    """What an identity provider or a proxy says about a person. groups: None if the settings name no groups."""

    issuer: str
    subject: str
    email: str | None
    email_verified: bool
    name: str | None
    username: str | None
    groups: tuple[str, ...] | None


# The user of a login before it, whether the user is new, and what the event says besides the user.
Found = tuple[dict[str, Any], bool, dict[str, str]]
Find = Callable[[Connection, Person], Found | None]


def sign_in(person: Person, provider_name: str, address: str, replaced: str = "") -> str:
    """Log in a person of the identity provider, and return the secret of the session. Raise 403 without an account."""
    return log_in(person, "oidc", partial(find_by_identity, provider_name), NO_ACCOUNT, address, replaced)


def sign_in_by_proxy(address: str, replaced: str = "") -> str | None:
    """Log in the person whom the proxy names, and return the secret of the session. None: it sends no name."""
    name = proxy_header.person_name()
    if name is None:
        return None
    email, username = (name, None) if "@" in name else (proxy_header.header("AUTH_PROXY_EMAIL_HEADER"), name)
    listed = (proxy_header.header("AUTH_PROXY_GROUPS_HEADER") or "").split(",")
    groups = tuple(filter(None, map(str.strip, listed))) if current_app.config["AUTH_PROXY_GROUPS_HEADER"] else None
    person = Person("", name, email, True, proxy_header.header("AUTH_PROXY_NAME_HEADER"), username, groups)
    unknown = f"There is no account for {name}. Ask an administrator."
    return log_in(person, "proxy", find_by_name, unknown, address, replaced)


def log_in(person: Person, via: str, find: Find, unknown: str, address: str, replaced: str) -> str:
    """Log in the user whom find() returns. unknown: the sentence of the 403 if it returns None."""
    try:
        if len(person.groups or ()) > MOST_GROUPS:
            raise Forbidden(TOO_MANY_GROUPS)
        taken = None
        # Of two first logins at the same time, one violates a constraint. It then finds what the other one has created.
        for _ in range(2):
            try:
                with transaction() as conn:
                    user_id = update_user(conn, person, find(conn, person) or abort(403, unknown))
                    session = sessions.begin(conn, user_id, via, address, replaced)
            except UniqueViolation as error:
                taken = error.diag.constraint_name
            else:
                sessions.log_login("succeeded", via, address, user_id)
                return session
        if taken in OF_ADDRESS:
            log.warning("A login was refused because its e-mail address belongs to another account.")
        raise Forbidden(TAKEN if taken in OF_ADDRESS else unknown)
    except Forbidden:
        sessions.log_login("refused", via, address)
        raise


def update_user(conn: Connection, person: Person, found: Found) -> int:
    """Set the memberships and the name of the user of a login, record the events, and return the id."""
    before, is_new, identity = found
    claimed = None if person.groups is None else [group for group in person.groups if valid(NAME, group)]
    groups = [] if claimed is None else identities.set_memberships(conn, before["id"], claimed)
    # None: the user was deleted meanwhile.
    after = identities.log_in(conn, before["id"], valid(NAME, person.name)) or abort(403, NO_ACCOUNT)
    data, pre_data = users.event_data(after) | identity, None if is_new else users.event_data(before)
    changes = [Event("user-created" if is_new else "user-updated", SYSTEM, data=data, pre_data=pre_data)]
    for group in groups:
        name = after["email"] or after["username"]
        about = {"groupId": group["id"], "name": group["name"], "userId": after["id"], "userName": name}
        event = ("group-user-added", about, None) if group["joins"] else ("group-user-removed", None, about)
        changes.append(Event(event[0], SYSTEM, data=event[1], pre_data=event[2]))
    events.record(conn, *(change for change in changes if change.data != change.pre_data))
    return after["id"]


def find_by_identity(provider_name: str, conn: Connection, person: Person) -> Found | None:
    """Find, link or create the user of a person of the identity provider. Raise 403 for an unverified address."""
    config, email = current_app.config, valid(EMAIL, person.email)
    found = identities.find(conn, person.issuer, person.subject, email, None)
    if found and found["is_linked"]:
        return found["user"], False, {}
    if email and not (person.email_verified or config["OIDC_EMAIL_VERIFIED"] == "always"):
        log.warning("A login was refused because its e-mail address is not verified (OIDC_EMAIL_VERIFIED).")
        unsure = f"{provider_name} does not confirm that"
        if found:
            advice = "Ask an administrator to connect it."
            abort(403, f"An account with your e-mail address exists, but {unsure} the address is yours. {advice}")
        abort(403, f"{unsure} your e-mail address is yours. Ask an administrator.")
    # Our choice: the user name of a person with an e-mail address is not used. It can be that of another person.
    username = None if person.email else valid(USERNAME, person.username)
    domains = config["OIDC_EMAIL_DOMAINS"]
    may_create = config["OIDC_CREATE_USERS"] and (not domains or (email or "").rpartition("@")[2] in domains)
    user = found["user"] if found else create(conn, person, email, username) if may_create else None
    # A user with another identity of the issuer is another person. This violates a constraint.
    if user:
        identities.insert(conn, user["id"], person.issuer, person.subject)
    return (user, not found, {"identity": person.issuer}) if user else None


def find_by_name(conn: Connection, person: Person) -> Found | None:
    """Find or create the user whom the proxy names."""
    # gunicorn joins repeated headers with a comma. One of them can be that of a client.
    if not person.subject or not person.subject.isprintable() or set(person.subject) & {",", "\ufffd"}:
        return None
    # The header with the e-mail address finds no user.
    if found := identities.find(conn, "", "", None if person.username else person.email, person.username):
        return found["user"], False, {}
    username = valid(USERNAME, person.username)
    may_create = current_app.config["AUTH_PROXY_CREATE_USERS"] and username == person.username
    user = create(conn, person, valid(EMAIL, person.email), username) if may_create else None
    return (user, True, {}) if user else None


def create(conn: Connection, person: Person, email: str | None, username: str | None) -> dict[str, Any] | None:
    """Create a user with SSO_ROLE and without a password. None without a name. Raises UniqueViolation."""
    if not (email or username):
        return None
    role = root_roles.hold(conn, current_app.config["SSO_ROLE"]) or abort(403, "No root role has the name in SSO_ROLE.")
    name = valid(NAME, person.name)
    return users.insert(conn, name=name, username=username, email=email, password_hash=None, root_role=role["id"])


def valid(field: Text, text: str | None) -> str | None:
    """Return a text as the field of a request stores it, or None if it is missing or invalid."""
    try:
        return field.load_value(text)
    except ValidationError:
        return None
