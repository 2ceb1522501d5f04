"""Log in, and throttle logins: a name has to wait after too many failures, an address after too many attempts."""

import secrets

import bcrypt
from flask import current_app
from psycopg.rows import DictRow
from werkzeug.exceptions import Unauthorized

from rules.passwords import password_hasher
from sql import login_throttle, sessions
from sql.access import digest, mark_user_seen
from sql.database import Connection, connection, transaction
from sql.people import users
from validators.errors import RateLimited


def log_in(username: str, password: str, address: str, replaced: str = "") -> tuple[str, str]:
    """Begin a session. Return its secret, which is the value of the cookie, and the user as JSON text.

    username: a user name or an e-mail address. address: that of the client, for the throttle. replaced: the secret of
    the session that the new one replaces. Raises 401 for a wrong name or password, and 429 for too many attempts.
    """
    with transaction() as conn:
        wait = login_throttle.admit_address(conn, address, current_app.config["LOGIN_ATTEMPTS_PER_MINUTE"])
    raise_if_throttled(wait)
    name = name_digest(username)
    with connection() as conn:
        wait = login_throttle.name_wait(conn, name)
        is_known = login_throttle.is_known(conn, known_digest(name, address))
    raise_if_throttled(wait)
    session = secrets.token_urlsafe(32)
    body, wait = try_password(username, name, password, address, session, replaced, is_known=is_known)
    raise_if_throttled(wait)
    # Our choice: a wrong password and an unknown, deleted or password-less user get the same response.
    if body is None:
        raise Unauthorized("Wrong user name or password.")
    return session, body


def try_password(
    username: str, name: bytes, password: str, address: str, session: str, replaced: str, *, is_known: bool
) -> tuple[str | None, int]:
    """Compare the password and begin the session. Return the user record or None, and the seconds to wait.

    Success: the record and 0. Wrong password: None and 0. Too many failures with this name: None and the seconds.
    """
    user = None
    # Try twice at most. A concurrent login may have replaced the compared hash by one with the current BCRYPT_ROUNDS.
    for _ in range(2):
        with connection() as conn:
            user = users.find_for_login(conn, username)
        password_hash = user["password_hash"] if user else None
        if not password_hasher().matches(password, password_hash, is_known) or user is None:
            break
        needs_rehash = password_hasher().needs_rehash(user["password_hash"])
        new_hash = password_hasher().hash(password, is_known) if needs_rehash else None
        names = [
            name,
            *(name_digest(other) for other in (user["username"], user["email"]) if other not in (None, username)),
        ]
        with transaction() as conn:
            # Other requests may have failed with this name while the password was compared.
            wait = login_throttle.name_wait(conn, name)
            body = None if wait else users.log_in(conn, user["id"], user["password_hash"], new_hash)
            # None: the user was deleted, or their password changed, while the password was compared.
            if body is not None:
                sessions.delete(conn, digest(replaced))
                sessions.insert(conn, digest(session), user["id"], current_app.config["SESSION_TTL_HOURS"])
                login_throttle.forget(conn, *names)
                login_throttle.remember(conn, {known_digest(each, address) for each in names})
                mark_user_seen(conn, user["id"])
        if body is not None or wait:
            return body, wait
    # Use a new transaction, because every transaction must lock rows of the throttle before rows of users.
    with transaction() as conn:
        return None, count_failure(conn, user, name)


def verify_password(user: DictRow, old_password: str) -> None:
    """Raise 401 unless this is the user's password. Failures count as failed logins, and then raise 429."""
    name = name_digest(user["email"] or user["username"])
    with transaction() as conn:
        wait = login_throttle.name_wait(conn, name)
    raise_if_throttled(wait)
    is_correct = password_hasher().matches(old_password, user["password_hash"])
    with transaction() as conn:
        # Other requests may have failed with this name while the password was compared.
        wait = login_throttle.name_wait(conn, name) if is_correct else count_failure(conn, user, name)
    raise_if_throttled(wait)
    if not is_correct:
        raise Unauthorized("oldPassword: must be your current password")


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


def known_digest(name: bytes, address: str) -> bytes:
    """Return the digest of a name_digest() and a network: 256 IPv4 addresses, or that of client_address()."""
    # Our choice: the address of a person often changes within such a network.
    return digest(f"{name.hex()} {address.rpartition('.')[0] or address}")
