"""Throttle logins: count failures of a name, and refuse it while it has to wait."""

import bcrypt
from flask import current_app
from psycopg.rows import DictRow

from sql import login_throttle
from sql.access import digest
from sql.database import Connection
from sql.people import users
from validators.errors import RateLimited


def count_failure(conn: Connection, user: DictRow | None, name: bytes) -> int:
    """0 and one more failure counts against the name, and against its user if it has one; or the seconds for which the name must wait."""
    wait = login_throttle.fail(conn, name, limits())
    if not wait:
        # Nobody has the id 0: a name that nobody has costs the same round trips.
        users.count_failed_login(conn, user["id"] if user else 0)
    return wait


def refuse_for(seconds: int) -> None:
    """429 when there are seconds to wait. Raised outside a transaction: one who is refused clears away what is old, too."""
    if seconds:
        raise RateLimited("There were too many attempts to log in. Try again later.", seconds)


def limits() -> login_throttle.Limits:
    """The limits that the settings give."""
    config = current_app.config
    return login_throttle.Limits(config["LOGIN_FREE_FAILURES"], config["LOGIN_MAX_WAIT_SECONDS"])


def name_digest(name: str) -> bytes:
    """What the throttle knows a user name (case-sensitive) or an e-mail address (not) by."""
    # Our choice: people type passwords into the field for the name. With bcrypt's 4 ms, whoever reads the table cannot try many words.
    # The salt is the same everywhere, because all processes have to find the name.
    return bcrypt.kdf(digest(name.lower() if "@" in name else name), b"login throttle", 32, 1, ignore_few_rounds=True)
