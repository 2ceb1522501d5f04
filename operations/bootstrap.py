"""Prepare the database at each start. In an empty database, create the first administrator, tokens and flags."""

import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from flask import Flask
from werkzeug.exceptions import HTTPException

from operations.import_files import open_file
from operations.postgres import migrate
from rules.access import SYSTEM
from rules.api_tokens import create, new_secret
from rules.import_report import Conflicts
from rules.instance_import import import_contents
from rules.passwords import PasswordHasher
from serving.settings import SettingError
from sql import events
from sql.database import Connection, is_read_only
from sql.events import Event
from sql.people import roles, users
from sql.tokens import api_tokens


@dataclass(frozen=True)
class FirstStart:
    """The credentials of the first start, to be shown once. A secret is None if a setting provides it."""

    username: str
    password: str | None
    api_token: str | None


def prepare_database(url: str, config: Mapping[str, Any]) -> FirstStart | None:
    """Create or upgrade the schema in one transaction. In an empty database, create the first administrator.

    Return what was generated for an empty database, or None. If several processes start at once, one does the work and
    the others wait. Prints a note about an upgrade, and if the database is read-only. Raises DatabaseProblem if
    PostgreSQL reports an error, and SettingError if an empty database cannot be filled.
    """
    try:
        with migrate.open_database(url, config["DATABASE_POOLER"]) as conn, conn.transaction():
            migrate.disable_timeout(conn)
            old_version = migrate.migrate(conn)
            if old_version == 0:
                migrate.index_words(conn)
            elif old_version < migrate.VERSION:
                message = f"Upgraded the schema from version {old_version} to {migrate.VERSION}."
                print(message, file=sys.stderr, flush=True)
            if not users.any_exists(conn):
                first_start = create_administrator(conn, config)
                create_contents(conn, config)
                return first_start
            if config["IMPORT_FILE"]:
                message = "IMPORT_FILE is ignored, because only the first start with an empty database reads it."
                print(message, file=sys.stderr, flush=True)
            if is_read_only(conn):
                message = "The database is read-only. Requests that change something get 503 until it is writable."
                print(message, file=sys.stderr, flush=True)
            return None
    except psycopg.Error as error:
        raise migrate.DatabaseProblem(f"The database cannot be set up: {migrate.reason_and_advice(error)}") from None


def create_administrator(conn: Connection, config: Mapping[str, Any]) -> FirstStart:
    """Create the first administrator and admin tokens from the settings INIT_ADMIN_…, and record the events."""
    password = config["INIT_ADMIN_PASSWORD"] or secrets.token_urlsafe(54)[: max(20, config["PASSWORD_MIN_LENGTH"])]
    fields = {"name": "Administrator", "username": config["INIT_ADMIN_USERNAME"], "email": None}
    password_hash = PasswordHasher(config["BCRYPT_ROUNDS"], queue=1).hash(password)
    user = users.insert(conn, **fields, password_hash=password_hash, root_role=roles.ADMIN)
    events.record(conn, Event("user-created", SYSTEM, data=users.event_data(user)))
    tokens = config["INIT_ADMIN_API_TOKENS"] or (new_secret(),)
    for number, secret in enumerate(tokens, start=1):
        token = api_tokens.lock(conn, api_tokens.insert(conn, secret, name=f"init-{number}"))
        events.record(conn, Event("api-token-created", SYSTEM, project="*", environment="*", data=token))
    return FirstStart(
        config["INIT_ADMIN_USERNAME"],
        None if config["INIT_ADMIN_PASSWORD"] else password,
        None if config["INIT_ADMIN_API_TOKENS"] else tokens[0],
    )


def create_contents(conn: Connection, config: Mapping[str, Any]) -> None:
    """Import the file in IMPORT_FILE, and create the tokens of applications. Raises SettingError."""
    app = Flask(__name__)
    app.config.from_mapping(config)
    with app.app_context():
        if config["IMPORT_FILE"]:
            import_first_file(conn, config)
        for kind, type in (("client", "client"), ("backend", "client"), ("frontend", "frontend")):
            setting = f"INIT_{kind.upper()}_API_TOKENS"
            tokens: Iterable[str] = config[setting] or ()
            for number, secret in enumerate(tokens, start=1):
                project, _, rest = secret.partition(":")
                scope = {"environment": rest.partition(".")[0], "projects": [] if project == "*" else [project]}
                token = {"name": f"init-{kind}-{number}", "type": type, "secret": secret, "expiresAt": None}
                try:
                    create(conn, SYSTEM, token | scope)
                except HTTPException as error:
                    raise SettingError(f"The setting {setting}, token {number}: {error.description}.") from None


def import_first_file(conn: Connection, config: Mapping[str, Any]) -> None:
    """Import the file in IMPORT_FILE and print the report. Raises SettingError if it is refused."""
    try:
        contents = open_file(config["IMPORT_FILE"], config["IMPORT_PROJECT"], config["IMPORT_ENVIRONMENT"])
        report = import_contents(conn, SYSTEM, contents)
    except HTTPException as error:
        raise SettingError(f"IMPORT_FILE: {error.description}") from None
    except Conflicts as error:
        raise SettingError("IMPORT_FILE: " + "\n".join(error.lines())) from None
    for line in report.lines():
        print(line if line.isprintable() else ascii(line), file=sys.stderr, flush=True)


def announcement(first_start: FirstStart, base_url: str) -> str:
    """Return the message for the operator after the first start, with the generated secrets."""
    token = first_start.api_token or "<API_TOKEN>"
    generated = []
    if first_start.password:
        generated.append(f"    admin password   {first_start.password}   (user name {first_start.username})")
    if first_start.api_token:
        generated.append(f"    API token        {first_start.api_token}")
    if generated:
        lines = ["The database is new. These secrets are shown only now:", "", *generated]
    else:
        lines = ["The database is new. Its administrator and API tokens are those in the settings."]
    command = f"    curl -H 'Authorization: {token}' {base_url}/api/admin/projects/default/overview"
    return "\n".join(["", *lines, "", "Try it:", "", command, ""])
