"""flask user: the people who may log in."""

import secrets
import sys
from collections.abc import Callable
from typing import Any, TextIO

import click
from flask import current_app
from psycopg.rows import DictRow

from commands.database import DatabaseCommand
from commands.output import json_option, show
from rules.bootstrap import System
from rules.limits import unique
from rules.login import name_digest
from rules.passwords import passwords
from sql import events, login_throttle, sessions
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import past_passwords, root_roles, users
from validators import checked
from validators.commands import KnownUser, NewPassword, NewUser
from validators.people.users import PASSWORD_MAX_BYTES

# No password that we accept fills a file of this size.
MOST_OF_A_FILE = 1000


@click.group()
def user() -> None:
    """The people who may log in."""


def password_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that sets a password: never the password itself, which every process list would show."""
    by_file = click.option(
        "--password-file",
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help="Read the password from this file; - is standard input.",
    )
    by_chance = click.option("--generate", is_flag=True, help="Make a password up, and print it on stdout.")
    return by_file(by_chance(command))


@user.command(cls=DatabaseCommand)
@click.option("--username", help="User name to log in with.")
@click.option("--email", help="E-mail address to log in with.")
@click.option("--name", help="Name of the person.")
@click.option("--role", default="viewer", show_default=True, help="admin, editor, viewer, or the name of a custom root role.")
@password_options
def create(role: str, password_file: TextIO | None, generate: bool, **names: str | None) -> None:
    """Make a user.

    He can log in by user name or e-mail address, and needs one of them. Asks for the password unless it comes from a file or is made up.
    """
    refuse_both(password_file, generate)
    asked = checked(NewUser(), said(role=role, **names))
    with connection() as conn:
        role_id = root_role(conn, asked["role"])
    person: dict[str, Any] = {field: asked.get(field) for field in ("name", "username", "email")}
    password = new_password(password_file, generate)
    password_hash = hashed(password, person)
    with transaction() as conn, unique(users.TAKEN):
        user_id = users.insert(conn, **person, password_hash=password_hash, root_role=role_id)
        events.record(conn, Event("user-created", System(), data=users.event_data(user_id, **person, root_role=role_id)))
    click.echo(f"Made user {user_id}.", err=True)
    if generate:
        click.echo(password)


@user.command("list", cls=DatabaseCommand)
@json_option
def list_users(as_json: bool) -> None:
    """List the users, without service accounts."""
    with connection() as conn:
        found = users.list_all(conn)
    show(found, COLUMNS, as_json=as_json)


COLUMNS = {
    "id": "ID",
    "username": "USER NAME",
    "email": "E-MAIL",
    "name": "NAME",
    "role": "ROLE",
    "seenAt": "LAST LOGIN",
    "loginAttempts": "FAILED LOGINS",
    "createdAt": "CREATED",
}


@user.command("reset-password", cls=DatabaseCommand)
@click.argument("name")
@password_options
def reset_password(name: str, password_file: TextIO | None, generate: bool) -> None:
    """Give a user a new password, and end his sessions.

    NAME is his user name or his e-mail address. Asks for the password unless it comes from a file or is made up.
    """
    refuse_both(password_file, generate)
    with connection() as conn:
        found = known(conn, name)
    password = new_password(password_file, generate)
    password_hash = hashed(password, found)
    with transaction() as conn:
        found = known(conn, name)
        past_passwords.replace(conn, found["id"], password_hash)
        sessions.delete_of_user(conn, found["id"])
        data = users.event_data(found.pop("id"), **found)
        events.record(conn, Event("user-updated", System(), data=data, pre_data=data))
    click.echo(f"User {data['id']} has a new password, and no session.", err=True)
    if generate:
        click.echo(password)


@user.command(cls=DatabaseCommand)
@click.argument("name")
def unlock(name: str) -> None:
    """Let a user log in again at once after too many failed logins.

    NAME is his user name or his e-mail address; the failures of both are forgotten.
    """
    with connection() as conn:
        found = known(conn, name)
    names = [name_digest(own) for own in (found["username"], found["email"]) if own]
    with transaction() as conn:
        # Rows of the throttle are locked before those of users, as in a login; forget() passes over what others hold.
        for own in names:
            login_throttle.name_wait(conn, own)
        users.forget_failed_logins(conn, found["id"])
        login_throttle.forget(conn, *names)
    click.echo(f"User {found['id']} may log in again.")


def said(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {option: value for option, value in options.items() if value is not None}


def root_role(conn: Connection, name: str) -> int:
    """The id of the root role with this name."""
    role = root_roles.hold(conn, name)
    if role is None:
        raise click.ClickException(f"role: no root role is called {name}.")
    return role["id"]


def known(conn: Connection, name: str) -> DictRow:
    """id, name, username, email and root_role of the user with this user name or e-mail address, locked."""
    asked = checked(KnownUser(), {"user": name})
    found = users.lock(conn, asked["user"])
    if found is None:
        raise click.ClickException(f"No user has the user name or e-mail address {name}.")
    return found


def refuse_both(password_file: TextIO | None, generate: bool) -> None:
    """A password has one source."""
    if password_file is not None and generate:
        raise click.UsageError("Give --password-file or --generate, not both.")


def new_password(password_file: TextIO | None, generate: bool) -> str:
    """The password that the options of password_options() ask for, else the one that is typed in twice."""
    if generate:
        least = current_app.config["PASSWORD_MIN_LENGTH"]
        return secrets.token_urlsafe(PASSWORD_MAX_BYTES)[: max(20, least)]
    if password_file is not None:
        return read_password(password_file)
    if not sys.stdin.isatty():
        raise click.ClickException("There is no terminal to ask for the password: give --password-file or --generate.")
    return click.prompt("Password", hide_input=True, confirmation_prompt="Once more", err=True)


def read_password(file: TextIO) -> str:
    """The only line of a file."""
    try:
        text = file.read(MOST_OF_A_FILE)
    except UnicodeDecodeError:
        raise click.ClickException("The password file is not UTF-8 text.") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if "\n" in text:
        raise click.ClickException("The password file must hold one line.")
    return text


def hashed(password: str, person: dict[str, Any]) -> str:
    """The hash of a password that this person may have."""
    names = said(**{field: person[field] for field in ("name", "username", "email")})
    checked(NewPassword(current_app.config["PASSWORD_MIN_LENGTH"], partial=("name", "email")), {**names, "password": password})
    return passwords().hash(password)
