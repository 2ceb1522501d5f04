"""flags api-token: manage API tokens."""

import json
import sys
from typing import TextIO

import click

from operations.commands.database import DatabaseCommand
from operations.commands.output import json_option, show
from operations.commands.secret_files import read_secret
from rules import api_tokens as rules
from rules.access import SYSTEM
from sql.database import connection, transaction
from sql.tokens import api_tokens
from validators import load_or_400
from validators.commands import NewApiToken

KINDS = ("admin", "client", "frontend")


@click.group("api-token")
def api_token() -> None:
    """Manage API tokens."""


@api_token.command(cls=DatabaseCommand)
@click.option("--name", required=True, help="Name of the token. It need not be unique.")
@click.option(
    "--type", "kind", required=True, type=click.Choice(KINDS, case_sensitive=False), help="Type of the token."
)
@click.option(
    "--environment",
    help="Environment of a client or frontend token. Without it: default if that exists, else development.",
)
@click.option(
    "--project", "projects", multiple=True, help="Project of a client or frontend token; repeatable.  [default: all]"
)
@click.option("--expires", metavar="RFC3339", help="Expiry, such as 2030-01-31T00:00:00Z.  [default: never]")
@click.option(
    "--secret-file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Take the token from FILE instead of a new one, and do not print it; - is stdin.",
)
def create(
    name: str,
    kind: str,
    environment: str | None,
    projects: tuple[str, ...],
    expires: str | None,
    secret_file: TextIO | None,
) -> None:
    """Create an API token and print it on stdout.

    The token is shown only once. Admin tokens have all permissions. Client and frontend tokens are for SDKs.
    """
    options = {
        "name": name,
        "type": kind,
        "environment": environment,
        "projects": list(projects) or None,
        "expires": expires,
        "secret": read_secret(secret_file, "secret") if secret_file else None,
    }
    payload = load_or_400(NewApiToken(), {option: value for option, value in options.items() if value is not None})
    with transaction() as conn:
        token = json.loads(rules.create(conn, SYSTEM, payload))
        token_id = (api_tokens.lock_by_secret(conn, token["secret"]) or {})["id"]
    expiry = f", which is valid until {token['expiresAt']}" if token["expiresAt"] else ""
    if secret_file:
        click.echo(f"Created {kind} token {token_id}{expiry}.", err=True)
        return
    click.echo(f"Created {kind} token {token_id}{expiry}. It is shown only once:", err=True)
    click.echo(token["secret"])


@api_token.command("list", cls=DatabaseCommand)
@json_option
def list_tokens(as_json: bool) -> None:
    """List API tokens, without their secrets."""
    with connection() as conn:
        tokens = api_tokens.list_rows(conn)
    show(tokens, COLUMNS, as_json=as_json)


COLUMNS = {
    "id": "ID",
    "tokenName": "NAME",
    "type": "TYPE",
    "environment": "ENVIRONMENT",
    "projects": "PROJECTS",
    "state": "STATE",
    "expiresAt": "EXPIRES",
    "seenAt": "LAST SEEN",
}


@api_token.command(cls=DatabaseCommand)
@click.argument("token_id", metavar="ID", type=click.IntRange(min=1))
@click.option("--yes", is_flag=True, help="Delete the last admin token without asking.")
def revoke(token_id: int, *, yes: bool) -> None:
    """Delete the API token with this ID.

    Admin tokens stop working at once, client and frontend tokens after CLIENT_KEEP_MS at most. Before the last valid
    admin token is deleted, the command asks.
    """
    with connection() as conn:
        problem = f"Token {token_id} is the last valid admin token."
        if api_tokens.is_last_admin(conn, token_id) and not yes:
            if not sys.stdin.isatty():
                raise click.ClickException(f"{problem} To delete it, use --yes.")
            click.confirm(f"{problem} Delete it?", abort=True, err=True)
    with transaction() as conn:
        token = api_tokens.lock(conn, token_id)
        if token is None:
            raise click.ClickException(f"No API token has the id {token_id}.")
        rules.delete(conn, SYSTEM, token_id)
    click.echo(f"Deleted {token['type']} token {token_id}.")
