"""flask signup-token: the links by which people make accounts of their own."""

import json
from datetime import UTC, datetime, timedelta

import click
from flask import current_app

from commands.database import DatabaseCommand
from commands.output import json_option, show
from rules.bootstrap import System
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.tokens import signup_tokens
from validators import checked
from validators.commands import NewSignupToken

LIFETIME = timedelta(days=7)


@click.group("signup-token")
def signup_token() -> None:
    """The links by which people make accounts of their own."""


@signup_token.command(cls=DatabaseCommand)
@click.option("--name", required=True, help="What the link is for; need not be unique.")
@click.option("--expires", metavar="RFC3339", help="When it stops working, such as 2030-01-31T00:00:00Z.  [default: 7 days ahead]")
def create(name: str, expires: str | None) -> None:
    """Make a link for new users and print it on stdout.

    What stands behind invite= in it is the token: whoever has it can sign up, and becomes a Viewer. This service has no page at the link;
    sign up by POST /invite/TOKEN/signup.
    """
    asked = checked(NewSignupToken(), {"name": name} if expires is None else {"name": name, "expires": expires})
    expires_at = asked.get("expires") or datetime.now(UTC) + LIFETIME
    with transaction() as conn:
        token = signup_tokens.insert(conn, name=asked["name"], expires_at=expires_at, created_by=System().name)
        data = {field: word for field, word in token.items() if field != "secret"}
        events.record(conn, Event("public-signup-token-created", System(), data=data))
        record = signup_tokens.get(conn, token["secret"], current_app.config["BASE_URL"])
    assert record is not None
    click.echo(f"The link works until {json.loads(record)['expiresAt']}:", err=True)
    click.echo(json.loads(record)["url"])


@signup_token.command("list", cls=DatabaseCommand)
@json_option
def list_tokens(as_json: bool) -> None:
    """List the links, newest first, with those that are disabled or expired."""
    with connection() as conn:
        found = signup_tokens.list_all(conn, current_app.config["BASE_URL"])
    show(found, COLUMNS, as_json=as_json)


COLUMNS = {
    "name": "NAME",
    "state": "STATE",
    "expiresAt": "EXPIRES",
    "createdBy": "CREATED BY",
    "users": "USERS",
    "url": "LINK",
}
