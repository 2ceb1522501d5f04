"""Log in, and throttle logins: a name has to wait after too many failures, an address after too many attempts."""

import bcrypt
from flask import current_app
from psycopg.rows import DictRow
from werkzeug.exceptions import Unauthorized

from rules import password_login
from rules.passwords import password_hasher
from rules.sessions import begin, log_login
from sql import login_throttle
from sql.access import digest
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
    user, begun = None, None
    if not wait:
        user, begun, wait = try_name(username, password, address, replaced)
    outcome = "throttled" if wait else "succeeded" if begun else "refused"
    log_login(outcome, "password", address, user["id"] if user else None)
    raise_if_throttled(wait)
    # Our choice: a wrong password, an unknown, deleted or password-less user, and one whom PASSWORD_LOGIN excludes get
    # the same response.
    if begun is None:
        raise Unauthorized("Wrong user name or password.")
    return begun


def try_name(
    username: str, password: str, address: str, replaced: str
) -> tuple[DictRow | None, tuple[str, str] | None, int]:
    """Compare the password and begin the session. Return the user, what log_in() returns, and the seconds to wait.

    Wrong password: the user or None, None and 0. Too many failures with this name: likewise, with the seconds.
    """
    name = name_digest(username)
    user, begun = None, None
    with connection() as conn:
        wait = login_throttle.name_wait(conn, name)
        is_known = login_throttle.is_known(conn, known_digest(name, address))
    if wait:
        return None, None, wait
    # Try twice at most. A concurrent login may have replaced the compared hash by one with the current BCRYPT_ROUNDS.
    for _ in range(2):
        with connection() as conn:
            user = users.find_for_login(conn, username)
        password_hash = user["password_hash"] if user else None
        is_right = password_hasher().matches(password, password_hash, is_known)
        if user is None or not is_right or not password_login.is_permitted(is_admin=user["is_admin"]):
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
                login_throttle.forget(conn, *names)
                login_throttle.remember(conn, {known_digest(each, address) for each in names})
                begun = begin(conn, user["id"], "password", address, replaced), body
        if body is not None or wait:
            return user, begun, wait
    # Use a new transaction, because every transaction must lock rows of the throttle before rows of users.
    with transaction() as conn:
        return user, None, count_failure(conn, user, name)


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
