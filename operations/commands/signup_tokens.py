"""flags signup-token: manage signup tokens."""

import json

import click

from operations.commands.database import DatabaseCommand, service_address
from operations.commands.output import json_option, show
from rules.access import ID_MAX, SYSTEM
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.tokens import signup_tokens
from validators import load_or_400
from validators.commands import NewSignupToken


@click.group("signup-token")
def signup_token() -> None:
    """Manage signup tokens, with which people create accounts."""


@signup_token.command(cls=DatabaseCommand)
@click.option("--name", required=True, help="Name of the token. It need not be unique.")
@click.option("--expires", metavar="RFC3339", help="Expiry, such as 2030-01-31T00:00:00Z.  [default: in 7 days]")
def create(name: str, expires: str | None) -> None:
    """Create a signup token and print its link on stdout.

    Until the token expires or is disabled, anybody with the link can create an account with the role Viewer. The token
    is the part of the link after invite=.
    """
    options = load_or_400(NewSignupToken(), {"name": name} if expires is None else {"name": name, "expires": expires})
    address = service_address()
    with transaction() as conn:
        secret = signup_tokens.generate()
        token = signup_tokens.insert(conn, secret, options, created_by=SYSTEM.name)
        events.record(conn, Event("public-signup-token-created", SYSTEM, data=token))
        record = signup_tokens.get(conn, secret, address)
    assert record is not None
    click.echo(f"The link is valid until {json.loads(record)['expiresAt']}:", err=True)
    click.echo(json.loads(record)["url"])


@signup_token.command("list", cls=DatabaseCommand)
@json_option
def list_tokens(as_json: bool) -> None:
    """List all signup tokens, newest first.

    The list includes disabled and expired tokens. Keep it secret: everybody with a link can sign up.
    """
    address = service_address()
    with connection() as conn:
        tokens = signup_tokens.list_rows(conn, address)
    show(tokens, COLUMNS, as_json=as_json)


COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "state": "STATE",
    "expiresAt": "EXPIRES",
    "createdBy": "CREATED BY",
    "users": "USERS",
    "url": "LINK",
}


@signup_token.command(cls=DatabaseCommand)
@click.argument("token_id", metavar="ID", type=click.IntRange(1, ID_MAX))
def disable(token_id: int) -> None:
    """Disable the signup token with this ID. Its link stops working at once."""
    with transaction() as conn:
        before = signup_tokens.lock_by_id(conn, token_id)
        if before is None:
            raise click.ClickException(f"No signup token has the id {token_id}.")
        after = signup_tokens.update(conn, before | {"enabled": False})
        events.record_change(conn, Event("public-signup-token-updated", SYSTEM, data=after, pre_data=before))
    click.echo(f"Disabled signup token {token_id}.")
