"""The first start on an empty database: the administrator and his API key. And every start: bring_up()."""

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from rules.passwords import Passwords
from sql import events
from sql.database import Connection, migrate, value
from sql.events import Event
from sql.people import users
from sql.tokens import api_tokens

HAS_USERS = "SELECT EXISTS (SELECT FROM users)"

IS_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean"


@dataclass(frozen=True)
class System:
    """The service itself, as the author of events."""

    name: str = "system"
    user_id: int | None = None


@dataclass(frozen=True)
class Made:
    """What a first start generated, to be shown once; None: given by a setting."""

    username: str
    password: str | None
    api_key: str | None


def bring_up(url: str, config: Mapping[str, Any]) -> Made | None:
    """Make the database fit for this version, and bootstrap it if it is empty; what was made then, else None.

    All or nothing; of several processes at once, one does it and the others wait. DatabaseProblem when it cannot be done. Where nothing is
    to be done and nothing could be, that is said.
    """
    try:
        with migrate.open_database(url, config["DATABASE_POOLER"]) as conn, conn.transaction():
            migrate.take_all_the_time(conn)
            found = migrate.migrate(conn)
            if found == 0:
                migrate.index_words(conn)
            if not value(conn, HAS_USERS):
                return bootstrap(conn, config)
            if value(conn, IS_READ_ONLY):
                print("The database can only be read: every change is answered 503 until it can be written.", file=sys.stderr, flush=True)
            return None
    except psycopg.Error as error:
        raise migrate.DatabaseProblem(f"The database cannot be set up: {migrate.reason(error)}.") from None


def bootstrap(conn: Connection, config: Mapping[str, Any]) -> Made:
    """Make the first administrator and the first admin keys, as the settings INIT_ADMIN_… say."""
    password = config["INIT_ADMIN_PASSWORD"] or secrets.token_urlsafe(54)[: max(20, config["PASSWORD_MIN_LENGTH"])]
    person = {"name": "Administrator", "username": config["INIT_ADMIN_USERNAME"], "email": None}
    password_hash = Passwords(config["BCRYPT_ROUNDS"], queue=1).hash(password)
    user_id = users.insert(conn, **person, password_hash=password_hash, root_role=1)
    events.record(conn, Event("user-created", System(), data=users.event_data(user_id, **person, root_role=1)))
    keys = config["INIT_ADMIN_API_TOKENS"] or (api_tokens.generate(),)
    for number, secret in enumerate(keys, start=1):
        key = api_tokens.lock(conn, api_tokens.insert(conn, secret, name=f"init-{number}"))
        events.record(conn, Event("api-token-created", System(), project="*", environment="*", data=key))
    return Made(
        config["INIT_ADMIN_USERNAME"],
        None if config["INIT_ADMIN_PASSWORD"] else password,
        None if config["INIT_ADMIN_API_TOKENS"] else keys[0],
    )


def announcement(made: Made, base_url: str) -> str:
    """What the operator of a new database is told, once."""
    key = made.api_key or "<API_KEY>"
    lines = ["", "The database is new. What was generated is shown only now:", ""]
    lines += [f"    admin password   {made.password}   (user name {made.username})"] if made.password else []
    lines += [f"    API key          {made.api_key}"] if made.api_key else []
    if len(lines) == 3:
        lines = ["", "The database is new; the administrator and the API keys are those of the settings."]
    return "\n".join([*lines, "", "Try it:", "", f"    curl -H 'Authorization: {key}' {base_url}/api/admin/projects/default/overview", ""])
