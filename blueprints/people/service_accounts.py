"""Service accounts: users for programs. They have tokens and no password."""

from typing import Any

from flask import Blueprint, Response, abort

from rules import personal_tokens
from rules.access import id_in_path, require
from rules.instance_limits import unique_or_409
from rules.refusals import Refusal
from rules.users import hold_role, lock_with_groups
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import past_users, service_accounts, users
from validators.people.personal_tokens import CreatePersonalToken
from validators.people.service_accounts import CreateServiceAccount, UpdateServiceAccount
from validators.returned import without_read_only

bp = Blueprint("service_accounts", __name__)


@bp.get("/api/admin/service-account")
@operation(record="serviceAccounts", refuses=(401, 403))
def list_service_accounts() -> Response:
    """List all service accounts and root roles.

    Returns each account with its tokens, without secrets.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = service_accounts.list_all(conn)
    return json_response(body)


@bp.post("/api/admin/service-account")
@operation(
    record="serviceAccount",
    body=CreateServiceAccount,
    status=201,
    refuses=(401, 403, 409, 415),
    errors={
        409: Refusal(
            "The user name is taken.", "username: a user with this user name already exists", name="NameExistsError"
        )
    },
)
def create_service_account() -> Response:
    """Create a service account.

    A service account cannot log in. It authenticates with its tokens.
    """
    with transaction() as conn, unique_or_409(users.TAKEN):
        actor = require(conn, "ADMIN")
        payload = load(CreateServiceAccount())
        role = hold_role(conn, payload.pop("rootRole"))
        account = users.insert(
            conn, **payload, email=None, password_hash=None, root_role=role["id"], account_type=ACCOUNT_TYPE
        )
        events.record(conn, Event("service-account-created", actor, data=users.event_data(account)))
        body = service_accounts.get(conn, account["id"])
    return created(body, "service-account/{}", account["id"])


@bp.put("/api/admin/service-account/<account_id>")
@operation(record="serviceAccount", body=UpdateServiceAccount, refuses=(401, 403, 404, 415), errors=IF_SHOWN)
def update_service_account(account_id: str) -> Response:
    """Update a service account.

    Changes its name, its root role, or both.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        refuse_changed(lambda: content_version(lock(conn, account_id), "id", "name", "rootRole"), None)
        change = load(UpdateServiceAccount(), lambda: service_accounts.get(conn, id_in_path(account_id)))
        before = lock(conn, account_id)
        change = without_read_only(change, lambda: service_accounts.get(conn, before["id"]))
        role = hold_role(conn, change.get("rootRole", before["rootRole"]))
        after = users.update(conn, before | change | {"rootRole": role["id"]})
        events.record_change(
            conn,
            Event("service-account-updated", actor, data=users.event_data(after), pre_data=users.event_data(before)),
        )
        body = service_accounts.get(conn, before["id"])
    return json_response(body)


@bp.delete("/api/admin/service-account/<account_id>")
@operation(refuses=(401, 403, 404))
def delete_service_account(account_id: str) -> Response:
    """Delete a service account.

    Its tokens stop working at once.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        before = lock_with_groups(conn, id_in_path(account_id), lambda: lock(conn, account_id))
        past_users.delete(conn, before["id"])
        events.record(conn, Event("service-account-deleted", actor, pre_data=users.event_data(before)))
    return empty_response()


@bp.get("/api/admin/service-account/<account_id>/token")
@operation(record="personalTokens", refuses=(401, 403, 404))
def list_service_account_tokens(account_id: str) -> Response:
    """List the tokens of a service account.

    Does not return their secrets.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = service_accounts.list_tokens(conn, id_in_path(account_id))
    return json_response(body)


@bp.post("/api/admin/service-account/<account_id>/token")
@operation(
    record="personalToken",
    body=CreatePersonalToken,
    status=201,
    refuses=(401, 403, 404, 409, 415),
    errors={
        409: Refusal(
            "The account has the maximum number of tokens, or a token with this description.",
            "description: a token with this description already exists",
            name="NameExistsError",
        )
    },
)
def create_service_account_token(account_id: str) -> Response:
    """Create a token of a service account.

    Only this response contains its secret.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        payload = load(CreatePersonalToken())
        account = lock(conn, account_id)
        token_id, body = personal_tokens.issue(conn, actor, account["id"], payload)
    return created(body, "token/{}", token_id)


@bp.delete("/api/admin/service-account/<account_id>/token/<token_id>")
@operation(refuses=(401, 403, 404))
def delete_service_account_token(account_id: str, token_id: str) -> Response:
    """Delete a token of a service account.

    It stops working at once.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        # Do not lock the account. A request with this token locks the token first and the account second, so the other
        # order could deadlock.
        if service_accounts.get(conn, id_in_path(account_id)) is None:
            abort(404, NOT_FOUND)
        personal_tokens.revoke(conn, actor, int(account_id), id_in_path(token_id))
    return empty_response()


ACCOUNT_TYPE = "Service Account"
NOT_FOUND = "No service account has that id."


def lock(conn: Connection, account_id: str) -> dict[str, Any]:
    """Lock a service account, and return it as users.lock() does. Raise 404 if it does not exist."""
    return users.lock(conn, id_in_path(account_id), ACCOUNT_TYPE) or abort(404, NOT_FOUND)
