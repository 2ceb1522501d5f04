"""The reader's own account: their record, password and personal access tokens."""

import json
from datetime import UTC, datetime, timedelta

from flask import Blueprint, Response, current_app, request

from blueprints.pages.page import page, require_reader
from rules.access import credentials
from sql import account, sessions
from sql.database import connection
from sql.people import past_passwords, personal_tokens
from sql.projects import list as project_list
from validators.people.users import PASSWORD_MAX_BYTES

# The choices for the expiry of a token, in days.
LIFETIMES = (("7 days", 7), ("30 days", 30), ("90 days", 90), ("1 year", 365))

bp = Blueprint("profile", __name__)


@bp.get("/profile")
def show_profile() -> Response:
    """Show the reader's account."""
    with connection() as conn:
        reader = require_reader(conn)
        profile = json.loads(account.get_profile(conn, reader.user_id) or "{}")
        tokens = json.loads(personal_tokens.list_of_user(conn, reader.user_id))["pats"]
        begun = json.loads(sessions.list_of_user(conn, reader.user_id, credentials(request)[1]))
        names = project_list.names_by_id(conn, reader.actor.viewer)
    now = datetime.now(UTC)
    soon = (now + timedelta(days=7)).isoformat()
    return page(
        "account/profile.html",
        profile=profile,
        **begun,
        names=names,
        tokens=tokens,
        expiring=[token["description"] for token in tokens if now.isoformat() <= (token["expiresAt"] or "") <= soon],
        lifetimes=[(text, (now + timedelta(days=days)).isoformat(timespec="seconds")) for text, days in LIFETIMES],
        most_tokens=current_app.config["MAX_PERSONAL_TOKENS"],
        password_min_length=current_app.config["PASSWORD_MIN_LENGTH"],
        password_max_bytes=PASSWORD_MAX_BYTES,
        remembered_passwords=past_passwords.REMEMBERED,
    )
