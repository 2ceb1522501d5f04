"""Manage users. Needs an administrator, except for the search."""

import json
from typing import Any

from flask import Blueprint, Response, abort, current_app

from rules import password_login
from rules.access import id_in_path, require
from rules.instance_limits import unique_or_409
from rules.passwords import password_hasher
from rules.refusals import USER_TAKEN, Refusal
from rules.reset_links import create_link
from rules.users import UNKNOWN_USER, change_user, hold_role, lock_user, remove_user, replace_password
from serving import mail
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import created, empty_response, json_response, json_text
from sql import events, sessions
from sql.database import connection, transaction
from sql.events import Event
from sql.people import user_permissions, user_records, users
from validators.people.users import (
    CheckPassword,
    CreateResetLink,
    CreateUser,
    PermissionScope,
    SetPassword,
    UpdateUser,
    UserSearch,
    refuse_own_name,
)
from validators.returned import without_read_only

bp = Blueprint("users", __name__)


@bp.get("/api/admin/user-admin")
@operation(record="managedUsers", refuses=(401, 403))
def list_users() -> Response:
    """List all users and root roles.

    Does not include service accounts.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = user_records.list_all(conn)
    return json_response(body)


@bp.post("/api/admin/user-admin")
@operation(record="managedUser", body=CreateUser, status=201, refuses=(401, 403, 409, 415), errors={409: USER_TAKEN})
def create_user() -> Response:
    """Create a user.

    Users log in with their user name or e-mail address and the password. Without a password, the response has a link
    with which the user sets the first one. It works once, for 24 hours. Users with an e-mail address get it by e-mail,
    unless `sendEmail` is false or the setting SMTP_HOST is missing. `emailSent` is true if the mail server accepted it.
    There is no link if the setting PASSWORD_LOGIN excludes the user.
    """
    with connection() as conn:
        require(conn, "ADMIN")
    payload = load(CreateUser(current_app.config["PASSWORD_MIN_LENGTH"]))
    password_hash = password_hasher().hash(payload["password"]) if "password" in payload else None
    person: dict[str, Any] = {field: payload.get(field) for field in ("name", "username", "email")}
    with transaction() as conn, unique_or_409(users.TAKEN):
        actor = require(conn, "ADMIN")
        role = hold_role(conn, payload["rootRole"])
        user = users.insert(conn, **person, password_hash=password_hash, root_role=role["id"])
        events.record(conn, Event("user-created", actor, data=users.event_data(user)))
        # Our choice: only a user without a password needs a link to set the first one.
        link = create_link(conn, actor, user, "new-user") if password_hash is None else ""
        body = user_records.get_created(conn, user["id"], link)
    if link and payload["sendEmail"] and mail.send_link("invitation", user["email"], link, actor.name):
        body = json_text(json.loads(body) | {"emailSent": True})
    return created(body, "user-admin/{}", user["id"])


@bp.get("/api/admin/user-admin/search")
@operation(record="userHits", query=UserSearch, refuses=(401, 403))
def search_users() -> Response:
    """Search for users.

    Finds users whose name, user name or e-mail address contains the text, ignoring case. The text needs at least two
    characters.
    """
    with connection() as conn:
        require(conn)
        text = load_query(UserSearch)["q"]
        body = user_records.search(conn, text) if len(text) >= 2 else "[]"
    return json_response(body)


@bp.get("/api/admin/user-admin/access")
@operation(record="usersAndGroups", refuses=(401, 403))
def list_users_and_groups() -> Response:
    """List users and groups that can get a role in a project.

    Includes service accounts.
    """
    with connection() as conn:
        require(conn)
        body = user_records.list_users_and_groups(conn)
    return json_response(body)


@bp.get("/api/admin/user-admin/admin-count")
@operation(record="adminCount", refuses=(401, 403))
def get_admin_count() -> Response:
    """Get the number of administrators.

    Counts users and service accounts whose own root role has ADMIN. Administrators by a group do not count.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = user_records.count_admins(conn)
    return json_response(body)


@bp.post("/api/admin/user-admin/validate-password")
@operation(body=CheckPassword, refuses=(401, 403, 415))
def validate_password() -> Response:
    """Check a new password.

    200 if its length is valid. When it is set, the user's names are refused too. Users cannot choose one of their last
    five passwords.
    """
    with connection() as conn:
        require(conn)
    load(CheckPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    return empty_response()


@bp.post("/api/admin/user-admin/reset-password")
@operation(
    record="resetLink",
    body=CreateResetLink,
    refuses=(401, 403, 404, 409, 415),
    errors={
        404: Refusal("No user has that user name or e-mail address."),
        409: Refusal("PASSWORD_LOGIN excludes the user.", "Password login is off. Use single sign-on."),
    },
)
def create_reset_link() -> Response:
    """Create a link with which a user sets a new password.

    It works once, for 24 hours. A new link of the same user voids the older ones, and so does a new password. Send the
    link to the user yourself, or set `sendEmail`. `emailSent` is true if the mail server accepted it.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        payload = load(CreateResetLink())
        user = users.lock_by_login(conn, payload["id"]) or abort(404, "No user has that user name or e-mail address.")
        link = create_link(conn, actor, user, "reset-password") or abort(409, password_login.closed())
    body: dict[str, Any] = {"resetPasswordUrl": link}
    if payload["sendEmail"]:
        body["emailSent"] = mail.send_link("reset", user["email"], link)
    return json_response(json_text(body))


@bp.get("/api/admin/user-admin/<user_id>")
@operation(record="managedUser", refuses=(401, 403, 404))
def get_user(user_id: str) -> Response:
    """Get a user.

    Service accounts are 404 here.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = user_records.get(conn, id_in_path(user_id)) or abort(404, UNKNOWN_USER)
    return json_response(body)


@bp.get("/api/admin/user-admin/<user_id>/permissions")
@operation(record="userPermissions", query=PermissionScope, refuses=(401, 403, 404))
def get_user_permissions(user_id: str) -> Response:
    """Get the permissions of a user or a service account.

    Returns all permissions and whether the user has them, by a role or a group. Without a project, these are
    permissions in every project. Permissions in an environment need the name of the environment.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        scope = load_query(PermissionScope)
        body = user_permissions.get(conn, id_in_path(user_id), scope["project"], scope["environment"])
    return json_response(body or abort(404, UNKNOWN_USER))


@bp.put("/api/admin/user-admin/<user_id>")
@operation(
    record="managedUser",
    body=UpdateUser,
    refuses=(401, 403, 404, 409, 415),
    errors={
        409: Refusal(
            "The e-mail address is taken, or the user is the last administrator.",
            "This user is the last administrator. Make another user an administrator first.",
        ),
        **IF_SHOWN,
    },
)
def update_user(user_id: str) -> Response:
    """Update a user.

    Changes the name, e-mail address, root role, or several of them. The last administrator must keep the role Admin.
    """
    with transaction() as conn, unique_or_409(users.TAKEN):
        actor = require(conn, "ADMIN")
        edited = "id", "name", "email", "rootRole"
        refuse_changed(lambda: content_version(lock_user(conn, id_in_path(user_id))[0], *edited), None)
        change = load(UpdateUser(), lambda: user_records.get(conn, id_in_path(user_id)))
        before, administrators = lock_user(conn, id_in_path(user_id))
        change = without_read_only(change, lambda: user_records.get(conn, before["id"]))
        change_user(conn, actor, before, administrators, change)
        body = user_records.get(conn, before["id"])
    return json_response(body)


@bp.delete("/api/admin/user-admin/<user_id>")
@operation(
    refuses=(401, 403, 404, 409),
    errors={
        409: Refusal(
            "The user is the last administrator.",
            "This user is the last administrator. Make another user an administrator first.",
        )
    },
)
def delete_user(user_id: str) -> Response:
    """Delete a user.

    Also deletes the user's sessions, personal access tokens, roles, memberships and favorites. Events still name the
    user. The last administrator cannot be deleted.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        remove_user(conn, actor, id_in_path(user_id))
    return empty_response()


@bp.post("/api/admin/user-admin/<user_id>/change-password")
@operation(body=SetPassword, refuses=(401, 403, 404, 415))
def set_user_password(user_id: str) -> Response:
    """Set the password of a user.

    All sessions of the user end.
    """
    with connection() as conn:
        require(conn, "ADMIN")
    payload = load(SetPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    password_hash = password_hasher().hash(payload["password"])
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        user = users.lock(conn, id_in_path(user_id)) or abort(404, UNKNOWN_USER)
        refuse_own_name(payload["password"], user)
        replace_password(conn, actor, user, password_hash)
    return empty_response()


@bp.delete("/api/admin/user-admin/<user_id>/sessions")
@operation(refuses=(401, 403, 404))
def delete_user_sessions(user_id: str) -> Response:
    """End all sessions of a user.

    Their personal access tokens keep working.
    """
    with transaction() as conn:
        require(conn, "ADMIN")
        user = users.lock(conn, id_in_path(user_id)) or abort(404, UNKNOWN_USER)
        sessions.delete_of_user(conn, user["id"])
    return empty_response()
