"""Your own account: your record and permissions, your password, your sessions, and logout."""

from flask import Blueprint, Response, abort, current_app, request

from rules.access import credentials, id_in_path, require, require_user
from rules.login import verify_password
from rules.passwords import password_hasher, refuse_reused_password
from rules.refusals import Refusal
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import empty_response, json_response
from serving.session_cookie import logged_out
from sql import account as accounts
from sql import sessions
from sql.database import connection, transaction
from sql.people import past_passwords, users
from validators.people.users import ChangePassword, OwnRoles

bp = Blueprint("account", __name__)
NO_SESSION = Refusal(
    "The request has no valid session.", "A valid API token in the header Authorization, or a session, is required."
)


@bp.get("/api/admin/user")
@operation(record="me", refuses=(401, 403))
def get_account() -> Response:
    """Get your own account.

    Returns your record and your permissions. Administrators have the single permission ADMIN. A permission without a
    project applies in all projects. A permission without an environment applies in all environments.
    """
    with connection() as conn:
        actor = require(conn)
        body = actor.account or accounts.get(conn, actor.user_id)
    return json_response(body)


@bp.get("/api/admin/user/profile")
@operation(record="profile", refuses=(401, 403))
def get_own_profile() -> Response:
    """Get your own root role and projects.

    Lists the projects in which you have a role, directly or by a group. For administrators, it lists all live projects.
    API tokens have no profile.
    """
    with connection() as conn:
        _, user_id = require_user(conn)
        body = accounts.get_profile(conn, user_id)
    return json_response(body)


@bp.get("/api/admin/user/roles")
@operation(record="roles", query=OwnRoles, refuses=(401, 403))
def list_own_roles() -> Response:
    """List your own roles in a project.

    Includes your root role, and the roles of your groups. API tokens have no roles.
    """
    with connection() as conn:
        _, user_id = require_user(conn)
        body = accounts.list_roles(conn, user_id, load_query(OwnRoles)["projectId"])
    return json_response(body)


@bp.post("/api/admin/user/change-password")
@operation(
    body=ChangePassword,
    refuses=(401, 403, 415),
    errors={
        401: Refusal(
            "Authorization is missing or invalid, or the old password is wrong.",
            "oldPassword: must be your current password",
        ),
        429: Refusal(
            "There were too many failed attempts with the old password.", "Too many login attempts. Try again later."
        ),
    },
)
def update_own_password() -> Response:
    """Change your own password.

    Needs a session, not a token. All of your sessions end, including the current one.
    """
    with connection() as conn:
        _, user_id = require_user(conn, credential="session")
        payload = load(ChangePassword(current_app.config["PASSWORD_MIN_LENGTH"]))
        user = past_passwords.find(conn, user_id) or abort(404, "This user has been deleted.")
    verify_password(user, payload["oldPassword"])
    refuse_reused_password(user, payload["password"])
    password_hash = password_hasher().hash(payload["password"])
    with transaction() as conn:
        # Lock the row first. If another request changes the password at the same time, this session has ended when
        # require_user() checks it.
        users.lock(conn, user_id)
        require_user(conn, credential="session")
        past_passwords.replace(conn, user_id, password_hash)
        sessions.delete_of_user(conn, user_id)
    return empty_response()


@bp.get("/api/admin/user/sessions")
@operation(record="sessions", refuses=(401, 403))
def list_sessions() -> Response:
    """List your sessions.

    Newest first, with the way, the client address and the browser of each login.
    """
    with connection() as conn:
        _, user_id = require_user(conn)
        body = sessions.list_of_user(conn, user_id, credentials(request)[1])
    return json_response(body)


@bp.delete("/api/admin/user/sessions/<session_id>")
@operation(refuses=(401, 403, 404), errors={404: Refusal("You have no session with that id.")})
def delete_session(session_id: str) -> Response:
    """End one of your sessions.

    Needs a session, not a token. The current one can be ended too.
    """
    with transaction() as conn:
        _, user_id = require_user(conn, credential="session")
        if not sessions.delete_one(conn, user_id, id_in_path(session_id)):
            abort(404, "You have no session with that id.")
    return empty_response()


@bp.delete("/api/admin/user/sessions")
@operation(refuses=(401, 403))
def delete_other_sessions() -> Response:
    """End all of your sessions except the current one.

    Needs a session, not a token.
    """
    with transaction() as conn:
        _, user_id = require_user(conn, credential="session")
        sessions.delete_of_user(conn, user_id, kept=credentials(request)[1])
    return empty_response()


@bp.post("/logout")
@operation(status=302, refuses=(401, 403), errors={401: NO_SESSION})
def log_out() -> Response:
    """Log out.

    Ends all sessions of the user, on all devices, and redirects to the start page.
    """
    with transaction() as conn:
        _, user_id = require_user(conn, credential="session")
        sessions.delete_of_user(conn, user_id)
    return logged_out()


@bp.get("/logout")
@operation(status=302, refuses=(401, 403), errors={401: NO_SESSION})
def log_out_by_link() -> Response:
    """Log out by a link.

    Does the same as POST /logout, so that a link can log out. A link on a page of another site gets 403.
    """
    return log_out()
