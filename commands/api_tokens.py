"""flask api-key: the keys of programs."""

import click

from commands.database import DatabaseCommand
from commands.output import json_option, show
from rules.bootstrap import System
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.tokens import api_tokens
from validators import checked
from validators.commands import NewApiKey

KINDS = ("admin", "client", "frontend")


@click.group("api-key")
def api_key() -> None:
    """The keys of programs."""


@api_key.command(cls=DatabaseCommand)
@click.option("--name", required=True, help="What the key is for; need not be unique.")
@click.option("--type", "kind", required=True, type=click.Choice(KINDS, case_sensitive=False), help="What the key may be used for.")
@click.option("--environment", help="Environment of a client or frontend key.  [default: development]")
@click.option("--project", "projects", multiple=True, help="Project of a client or frontend key, once for each.  [default: all]")
@click.option("--expires", metavar="RFC3339", help="When the key stops working, such as 2030-01-31T00:00:00Z.  [default: never]")
def create(name: str, kind: str, environment: str | None, projects: tuple[str, ...], expires: str | None) -> None:
    """Make a key and print it on stdout, this once.

    An admin key may do everything; client and frontend keys only what SDKs need.
    """
    options = {"name": name, "type": kind, "environment": environment, "projects": list(projects) or None, "expires": expires}
    asked = checked(NewApiKey(), {option: value for option, value in options.items() if value is not None})
    with transaction() as conn:
        key = scope(conn, asked)
        secret = api_tokens.generate(api_tokens.project_part(key["projects"]), key["environment"] or "*")
        key_id = api_tokens.insert(conn, secret, **key, expires_at=asked.get("expires"))
        data = api_tokens.lock(conn, key_id) or {}
        events.record(conn, Event("api-token-created", System(), project=data["project"], environment=data["environment"], data=data))
    click.echo(f"Made {kind} key {key_id}. It is shown only now:", err=True)
    click.echo(secret)


@api_key.command("list", cls=DatabaseCommand)
@json_option
def list_keys(as_json: bool) -> None:
    """List the keys, without their secrets."""
    with connection() as conn:
        found = api_tokens.list_all(conn)
    show(found, COLUMNS, as_json=as_json)


COLUMNS = {
    "id": "ID",
    "tokenName": "NAME",
    "type": "TYPE",
    "environment": "ENVIRONMENT",
    "projects": "PROJECTS",
    "expiresAt": "EXPIRES",
    "seenAt": "LAST SEEN",
}


@api_key.command(cls=DatabaseCommand)
@click.argument("key_id", metavar="ID", type=click.IntRange(min=1))
def revoke(key_id: int) -> None:
    """Delete the key with this ID, which stops working at once."""
    with transaction() as conn:
        data = api_tokens.lock(conn, key_id)
        if data is None:
            raise click.ClickException(f"No API key has the id {key_id}.")
        api_tokens.delete(conn, key_id)
        events.record(conn, Event("api-token-deleted", System(), project=data["project"], environment=data["environment"], pre_data=data))
    click.echo(f"Revoked {data['type']} key {key_id}.")


def scope(conn: Connection, asked: dict) -> dict:
    """name, kind, environment and projects of a new key as they are kept, all of which exist."""
    projects = list(dict.fromkeys(asked.get("projects", ())))
    projects = [] if "*" in projects else projects
    if asked["type"] == "admin":
        return {"name": asked["name"], "kind": "admin", "environment": None, "projects": []}
    environment = asked.get("environment", "development")
    found = api_tokens.hold_scope(conn, [environment], projects)
    if found["environment"] is None:
        raise click.ClickException(f"environment: no environment is called {environment}.")
    if found["unknown_projects"]:
        raise click.ClickException(f"project: no project has the id {', '.join(found['unknown_projects'])}.")
    return {"name": asked["name"], "kind": asked["type"], "environment": environment, "projects": projects}
