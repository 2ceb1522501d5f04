"""flags api-token: manage API tokens."""

import click

from commands.database import DatabaseCommand
from commands.output import json_option, show
from rules.bootstrap import System
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
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
@click.option("--environment", help="Environment of a client or frontend token.  [default: development]")
@click.option(
    "--project", "projects", multiple=True, help="Project of a client or frontend token; repeatable.  [default: all]"
)
@click.option("--expires", metavar="RFC3339", help="Expiry, such as 2030-01-31T00:00:00Z.  [default: never]")
def create(name: str, kind: str, environment: str | None, projects: tuple[str, ...], expires: str | None) -> None:
    """Create an API token and print it on stdout.

    The token is shown only once. Admin tokens have all permissions. Client and frontend tokens are for SDKs.
    """
    options = {
        "name": name,
        "type": kind,
        "environment": environment,
        "projects": list(projects) or None,
        "expires": expires,
    }
    token = load_or_400(NewApiToken(), {option: value for option, value in options.items() if value is not None})
    with transaction() as conn:
        columns = scope(conn, token)
        secret = api_tokens.generate(api_tokens.project_part(columns["projects"]), columns["environment"] or "*")
        token_id = api_tokens.insert(conn, secret, **columns, expires_at=token.get("expires"))
        data = api_tokens.lock(conn, token_id) or {}
        scope_fields = {"project": data["project"], "environment": data["environment"]}
        events.record(conn, Event("api-token-created", System(), **scope_fields, data=data))
    click.echo(f"Created {kind} token {token_id}. It is shown only once:", err=True)
    click.echo(secret)


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
    "expiresAt": "EXPIRES",
    "seenAt": "LAST SEEN",
}


@api_token.command(cls=DatabaseCommand)
@click.argument("token_id", metavar="ID", type=click.IntRange(min=1))
def revoke(token_id: int) -> None:
    """Delete the API token with this ID.

    It stops working at once. Applications can use it for another CLIENT_KEEP_MS.
    """
    with transaction() as conn:
        data = api_tokens.lock(conn, token_id)
        if data is None:
            raise click.ClickException(f"No API token has the id {token_id}.")
        api_tokens.delete(conn, token_id)
        scope_fields = {"project": data["project"], "environment": data["environment"]}
        events.record(conn, Event("api-token-deleted", System(), **scope_fields, pre_data=data))
    click.echo(f"Deleted {data['type']} token {token_id}.")


def scope(conn: Connection, token: dict) -> dict:
    """Return name, kind, environment and projects of a new token, as api_tokens.insert() takes them.

    Raise ClickException if the environment or a project does not exist.
    """
    projects = list(dict.fromkeys(token.get("projects", ())))
    projects = [] if "*" in projects else projects
    if token["type"] == "admin":
        return {"name": token["name"], "kind": "admin", "environment": None, "projects": []}
    environment = token.get("environment", "development")
    existing = api_tokens.share_scope(conn, [environment], projects)
    if existing["environment"] is None:
        raise click.ClickException(f"environment: unknown environment {environment}")
    if existing["unknown_projects"]:
        raise click.ClickException(f"project: unknown project {', '.join(existing['unknown_projects'])}")
    return {"name": token["name"], "kind": token["type"], "environment": environment, "projects": projects}
