"""flags user: manage users."""

import secrets
import sys
from collections.abc import Callable
from typing import Any, TextIO

import click
from flask import current_app

from operations.commands.database import DatabaseCommand
from operations.commands.output import json_option, show
from operations.commands.secret_files import read_secret
from rules import password_login
from rules import users as rules
from rules.access import SYSTEM
from rules.instance_limits import unique_or_409
from rules.login import name_digest
from rules.passwords import password_hasher
from sql import events, login_throttle, sessions
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import identities, root_roles, users
from validators import load_or_400
from validators.commands import NewPassword, NewUser, UserName
from validators.people.users import PASSWORD_MAX_BYTES


@click.group()
def user() -> None:
    """Manage users."""


def password_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that sets a password. The password is not an option: process lists show options."""
    by_file = click.option(
        "--password-file",
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help="Read the password from FILE; - is stdin.",
    )
    generated = click.option("--generate", is_flag=True, help="Generate a password and print it on stdout.")
    return by_file(generated(command))


@user.command(cls=DatabaseCommand)
@click.option("--username", help="User name for the login.")
@click.option("--email", help="Email for the login.")
@click.option("--name", help="Full name.")
@click.option(
    "--role", default="viewer", show_default=True, help="admin, editor, viewer, or the name of a custom root role."
)
@password_options
def create(role: str, password_file: TextIO | None, generate: bool, **names: str | None) -> None:
    """Create a user.

    Give --username, --email or both: users can log in with either. Without --password-file and --generate, the command
    asks for a password.
    """
    refuse_both(password_file, generate)
    options = load_or_400(NewUser(), without_none(role=role, **names))
    with connection() as conn:
        role_id = root_role(conn, options["role"])
        warn_if_password_login_off(conn, role_id)
    person: dict[str, Any] = {field: options.get(field) for field in ("name", "username", "email")}
    password = new_password(password_file, generate)
    password_hash = hashed(password, person)
    with transaction() as conn, unique_or_409(users.TAKEN):
        created = users.insert(conn, **person, password_hash=password_hash, root_role=role_id)
        events.record(conn, Event("user-created", SYSTEM, data=users.event_data(created)))
    click.echo(f"Created user {created['id']}.", err=True)
    if generate:
        click.echo(password)


@user.command("list", cls=DatabaseCommand)
@json_option
def list_users(as_json: bool) -> None:
    """List the users, without service accounts."""
    with connection() as conn:
        rows = users.list_rows(conn)
    show(rows, COLUMNS, as_json=as_json)


COLUMNS = {
    "id": "ID",
    "username": "USER NAME",
    "email": "EMAIL",
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
    """Set a new password for a user and end the user's sessions.

    NAME is the user name or the email. Without --password-file and --generate, the command asks for a password.
    """
    refuse_both(password_file, generate)
    with connection() as conn:
        person = lock_user(conn, name)
        warn_if_password_login_off(conn, person["rootRole"])
    password = new_password(password_file, generate)
    password_hash = hashed(password, person)
    with transaction() as conn:
        person = lock_user(conn, name)
        rules.replace_password(conn, SYSTEM, person, password_hash)
    click.echo(f"User {person['id']} has a new password. All their sessions have ended.", err=True)
    if generate:
        click.echo(password)


@user.command(cls=DatabaseCommand)
@click.argument("name")
def unlock(name: str) -> None:
    """Let a user log in again after too many failed logins.

    NAME is the user name or the email. The command forgets the failed logins with both.
    """
    with connection() as conn:
        person = lock_user(conn, name)
    digests = [name_digest(login) for login in (person["username"], person["email"]) if login]
    with transaction() as conn:
        # Lock the throttle before the user, as a login does. forget() skips rows that others have locked.
        for digest in digests:
            login_throttle.name_wait(conn, digest)
        users.forget_failed_logins(conn, person["id"])
        login_throttle.forget(conn, *digests)
    click.echo(f"User {person['id']} can log in again.")


@user.command("end-sessions", cls=DatabaseCommand)
@click.argument("name")
def end_sessions(name: str) -> None:
    """End all sessions of a user.

    NAME is the user name or the email. Their tokens keep working.
    """
    with transaction() as conn:
        number = user_id(conn, name)
        sessions.delete_of_user(conn, number)
    click.echo(f"All sessions of user {number} have ended.")


@user.command("set-role", cls=DatabaseCommand)
@click.argument("name")
@click.argument("role")
def set_role(name: str, role: str) -> None:
    """Change the root role of a user.

    NAME is the user name or the email. ROLE is admin, editor, viewer, or the name of a custom root role. The last
    administrator must keep the role admin.
    """
    with transaction() as conn:
        before, administrators = rules.lock_user(conn, user_id(conn, name))
        rules.change_user(conn, SYSTEM, before, administrators, {"rootRole": root_role(conn, role)})
    click.echo(f"User {before['id']} has the root role {role}.")


@user.command(cls=DatabaseCommand)
@click.argument("name")
@click.argument("subject")
def link(name: str, subject: str) -> None:
    """Let a user log in with an account of the identity provider (OIDC_ISSUER).

    NAME is the user name or the email. SUBJECT is the claim sub of the account.
    """
    issuer = current_app.config["OIDC_ISSUER"]
    if not issuer:
        raise click.ClickException("Set OIDC_ISSUER to the address of the identity provider.")
    with transaction() as conn, unique_or_409(identities.TAKEN):
        person = lock_user(conn, name)
        identities.insert(conn, person["id"], issuer, subject)
        data = users.event_data(person)
        events.record(conn, Event("user-updated", SYSTEM, data=data | {"identity": issuer}, pre_data=data))
    click.echo(f"User {person['id']} can log in with this account of {issuer}.")


@user.command(cls=DatabaseCommand)
@click.argument("name")
def unlink(name: str) -> None:
    """Disconnect a user from their accounts of the identity provider.

    NAME is the user name or the email. All their sessions end.
    """
    with transaction() as conn:
        person = lock_user(conn, name)
        sessions.delete_of_user(conn, person["id"])
        data = users.event_data(person)
        for issuer in identities.delete_of_user(conn, person["id"]):
            events.record(conn, Event("user-updated", SYSTEM, data=data, pre_data=data | {"identity": issuer}))
    click.echo(f"User {person['id']} has no account of the identity provider.")


@user.command(cls=DatabaseCommand)
@click.argument("name")
def delete(name: str) -> None:
    """Delete a user.

    NAME is the user name or the email. Also deletes the user's sessions, personal access tokens, roles and memberships.
    The last administrator cannot be deleted.
    """
    with transaction() as conn:
        number = user_id(conn, name)
        rules.remove_user(conn, SYSTEM, number)
    click.echo(f"Deleted user {number}.")


def without_none(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {option: value for option, value in options.items() if value is not None}


def root_role(conn: Connection, name: str) -> int:
    """Return the id of the root role with this name."""
    role = root_roles.hold(conn, name)
    if role is None:
        raise click.ClickException(f"role: unknown root role {name}")
    return role["id"]


def warn_if_password_login_off(conn: Connection, role_id: int) -> None:
    """Print a warning if PASSWORD_LOGIN does not let users with this root role log in with a password."""
    is_admin = rules.hold_role(conn, role_id)["is_admin"]
    if not password_login.is_permitted(is_admin=is_admin):
        mode, needed = current_app.config["PASSWORD_LOGIN"], "admins" if is_admin else "on"
        problem = f"PASSWORD_LOGIN is {mode}, so this user cannot log in with a password"
        click.echo(f"Warning: {problem}. To allow it, set PASSWORD_LOGIN={needed}.", err=True)


def user_id(conn: Connection, name: str) -> int:
    """Return the id of the user with this user name or email."""
    return known_user(users.find_for_login, conn, name)["id"]


def lock_user(conn: Connection, name: str) -> dict[str, Any]:
    """Lock the user with this user name or email. Return the same as users.lock_by_login()."""
    return known_user(users.lock_by_login, conn, name)


def known_user(find: Callable[[Connection, str], dict[str, Any] | None], conn: Connection, name: str) -> dict[str, Any]:
    """Return what find() returns for a user name or email. Raise ClickException if it finds no user."""
    person = find(conn, load_or_400(UserName(), {"user": name})["user"])
    if person is None:
        raise click.ClickException(f"No user has the user name or email {name}.")
    return person


def refuse_both(password_file: TextIO | None, generate: bool) -> None:
    """Raise UsageError if both sources of a password are given."""
    if password_file is not None and generate:
        raise click.UsageError("Use --password-file or --generate, not both.")


def new_password(password_file: TextIO | None, generate: bool) -> str:
    """Return the password from the options of password_options(), or ask for it twice."""
    if generate:
        length = max(20, current_app.config["PASSWORD_MIN_LENGTH"])
        return secrets.token_urlsafe(PASSWORD_MAX_BYTES)[:length]
    if password_file is not None:
        return read_secret(password_file, "password")
    if not sys.stdin.isatty():
        raise click.ClickException("No terminal to ask for the password. Use --password-file or --generate.")
    return click.prompt("Password", hide_input=True, confirmation_prompt="Repeat the password", err=True)


def hashed(password: str, person: dict[str, Any]) -> str:
    """Check the password for this person, and return its hash."""
    names = without_none(**{field: person[field] for field in ("name", "username", "email")})
    schema = NewPassword(current_app.config["PASSWORD_MIN_LENGTH"], partial=("name", "email"))
    load_or_400(schema, {**names, "password": password})
    return password_hasher().hash(password)
