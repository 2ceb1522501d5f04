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
    """Count a failed login of the name, and of its user if there is one, and return 0.

    Or return the seconds to wait.
    """
    wait = login_throttle.fail(conn, name, limits())
    if not wait:
        # No user has the id 0. Unknown names cost the same round trips as known ones.
        users.count_failed_login(conn, user["id"] if user else 0)
    return wait


def refuse_for(seconds: int) -> None:
    """Raise 429 if there are seconds to wait. Call it outside the transaction, so that its clean-up is committed."""
    if seconds:
        raise RateLimited("Too many login attempts. Try again later.", seconds)


def limits() -> login_throttle.Limits:
    """Return the limits in the settings."""
    config = current_app.config
    return login_throttle.Limits(config["LOGIN_FREE_FAILURES"], config["LOGIN_MAX_WAIT_SECONDS"])


def name_digest(name: str) -> bytes:
    """Return the digest of a user name, which is case-sensitive, or of an e-mail address, which is not."""
    # Our choice: people type passwords into the field for the name. At 4 ms a guess, a thief of the table cannot try
    # many words. The salt is constant because all processes have to find the name.
    return bcrypt.kdf(digest(name.lower() if "@" in name else name), b"login throttle", 32, 1, ignore_few_rounds=True)
