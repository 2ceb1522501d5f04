"""Throttle logins: count the failed logins of a name, and refuse the name while it has to wait."""

import bcrypt
from flask import current_app
from psycopg.rows import DictRow

from sql import login_throttle
from sql.access import digest
from sql.database import Connection
from sql.people import users
from validators.errors import RateLimited


def count_failure(conn: Connection, user: DictRow | None, name: bytes) -> int:
    """Count a failed login of the name and, if it exists, of its user. Return 0.

    If the name has to wait, count nothing and return the seconds to wait. name: as name_digest() returns it.
    """
    wait = login_throttle.fail(conn, name, limits())
    if not wait:
        # No user has the id 0. Unknown names take as many round trips as known ones.
        users.count_failed_login(conn, user["id"] if user else 0)
    return wait


def raise_if_throttled(seconds: int) -> None:
    """Raise 429 if seconds is not 0. Call it outside the transaction, so that the counts are committed."""
    if seconds:
        raise RateLimited("Too many login attempts. Try again later.", seconds)


def limits() -> login_throttle.Limits:
    """Return the limits in the settings."""
    config = current_app.config
    return login_throttle.Limits(config["LOGIN_FREE_FAILURES"], config["LOGIN_MAX_WAIT_SECONDS"])


def name_digest(name: str) -> bytes:
    """Return the digest of a user name, which is case-sensitive, or of an e-mail address, which is not."""
    # Our choice: a slow digest, because people type passwords into the field for the name. At 4 ms for each guess,
    # somebody who steals the table cannot guess many of them. The salt is constant because all processes must compute
    # the same digest.
    return bcrypt.kdf(digest(name.lower() if "@" in name else name), b"login throttle", 32, 1, ignore_few_rounds=True)
