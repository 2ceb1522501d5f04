"""Limits of logins per name and per client address, and of signups, for all workers and machines together.

`name` is always the digest of a name, as name_digest() returns it. Only digests are stored. Failures and attempts in
the future, from before PostgreSQL's clock was set back, block no user.
"""

from dataclasses import dataclass

from sql.database import Connection, run, value


@dataclass(frozen=True)
class Limits:
    """The limits for names: failures in a row that are free, and the longest wait in seconds."""

    free_failures: int
    max_wait: int


# The array contains the attempts of the last minute. The row lock of the upsert serializes simultaneous attempts. If
# there are too many, the statement returns no row and does not store this attempt.
ADMIT_ADDRESS = """
    INSERT INTO login_addresses AS known (address, attempts, last_attempt_at)
    VALUES (%(address)s, ARRAY[clock_timestamp()], clock_timestamp())
    ON CONFLICT (address) DO UPDATE
       SET attempts = ARRAY(
               SELECT attempt
                 FROM unnest(known.attempts) AS attempt
                WHERE attempt BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp()
           ) || clock_timestamp(),
           last_attempt_at = clock_timestamp()
     WHERE %(limit)s > (
               SELECT count(*)
                 FROM unnest(known.attempts) AS attempt
                WHERE attempt BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp())
    RETURNING 0
"""

ADDRESS_WAIT = """
    SELECT greatest(1, ceil(extract(epoch FROM min(attempt) + interval '1 minute' - clock_timestamp())))::integer
      FROM login_addresses, unnest(attempts) AS attempt
     WHERE address = %(address)s
       AND attempt BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp()
"""

# SKIP LOCKED: deleting old rows must not wait for logins.
# Our choice: names are deleted after a day without a failure. Otherwise names that do not exist would stay for ever.
TIDY_UP = """
    WITH names AS (
        DELETE FROM login_throttle
         WHERE name_digest = ANY(ARRAY(
                SELECT name_digest
                  FROM login_throttle
                 WHERE last_failed_at < clock_timestamp() - interval '1 day'
                 LIMIT 100
                   FOR UPDATE SKIP LOCKED))
    ),
    known AS (
        DELETE FROM known_logins
         WHERE digest = ANY(ARRAY(
                SELECT digest
                  FROM known_logins
                 WHERE seen_at < clock_timestamp() - interval '30 days'
                 LIMIT 100
                   FOR UPDATE SKIP LOCKED))
    )
    DELETE FROM login_addresses
     WHERE address = ANY(ARRAY(
            SELECT address
              FROM login_addresses
             WHERE last_attempt_at < clock_timestamp() - interval '1 minute'
             LIMIT 100
               FOR UPDATE SKIP LOCKED))
"""


def admit_address(conn: Connection, address: str, limit: int) -> int:
    """Count an attempt of the address and return 0.

    If the last minute already had `limit` attempts, count nothing and return the seconds to wait. Also deletes old rows
    of all names and addresses.
    """
    # Lock the row of this address first: a transaction with locks on old rows must not wait for another row.
    admitted = value(conn, ADMIT_ADDRESS, {"address": address, "limit": limit})
    run(conn, TIDY_UP)
    if admitted is not None:
        return 0
    return value(conn, ADDRESS_WAIT, {"address": address}) or 1


NAME_WAIT = """
    SELECT CASE WHEN last_failed_at <= clock_timestamp()
                THEN greatest(0, ceil(extract(epoch FROM blocked_until - clock_timestamp())))::integer
           END
      FROM login_throttle
     WHERE name_digest = %(name)s
       FOR UPDATE
"""


def name_wait(conn: Connection, name: bytes) -> int:
    """Lock the row of the name and return the seconds for which the name has to wait, or 0."""
    return value(conn, NAME_WAIT, {"name": name}) or 0


# The wait doubles with each failure after the free ones: 1, 2, 4 … seconds. If the name has to wait already, the
# statement changes nothing and returns no row. So simultaneous guesses get no more answers than guesses one after the
# other.
FAIL = """
    INSERT INTO login_throttle AS known (name_digest, failures, last_failed_at, blocked_until)
    VALUES (%(name)s, 1, clock_timestamp(),
            clock_timestamp() + make_interval(secs => CASE WHEN %(free)s <= 1 THEN 1 ELSE 0 END))
    ON CONFLICT (name_digest) DO UPDATE
       SET (failures, last_failed_at, blocked_until) = (
               SELECT number,
                      clock_timestamp(),
                      clock_timestamp() + make_interval(secs =>
                          CASE WHEN number < %(free)s THEN 0
                               ELSE least(%(max_wait)s, power(2, least(number - %(free)s, 30)))
                          END)
                 FROM (SELECT CASE WHEN known.last_failed_at < clock_timestamp() - interval '1 day' THEN 1
                                   ELSE known.failures + 1
                              END AS number) AS counted)
     WHERE known.blocked_until <= clock_timestamp() OR known.last_failed_at > clock_timestamp()
    RETURNING 0
"""


def fail(conn: Connection, name: bytes, limits: Limits) -> int:
    """Count a failure of the name and return 0. If the name has to wait, count nothing and return the seconds."""
    is_counted = value(conn, FAIL, {"name": name, "free": limits.free_failures, "max_wait": limits.max_wait})
    return 0 if is_counted is not None else name_wait(conn, name) or 1


# SKIP LOCKED avoids a deadlock: a failure with another name of the same user locks that name and waits for the user's
# row.
FORGET = """
    DELETE FROM login_throttle
     WHERE name_digest IN (
            SELECT name_digest
              FROM login_throttle
             WHERE name_digest = ANY(%(names)s)
               FOR UPDATE SKIP LOCKED)
"""


def forget(conn: Connection, *names: bytes) -> None:
    """Delete the failures of these names."""
    run(conn, FORGET, {"names": list(names)})


IS_KNOWN = """
    SELECT EXISTS (
        SELECT FROM known_logins WHERE digest = %(digest)s AND seen_at > clock_timestamp() - interval '30 days')
"""


def is_known(conn: Connection, digest: bytes) -> bool:
    """Return whether a name has logged in from a network in the last 30 days. digest: of both."""
    return value(conn, IS_KNOWN, {"digest": digest})


REMEMBER = """
    INSERT INTO known_logins AS known (digest, seen_at)
    SELECT digest, clock_timestamp() FROM unnest(%(digests)s::bytea[]) AS digest ORDER BY digest
    ON CONFLICT (digest) DO UPDATE SET seen_at = excluded.seen_at
     WHERE known.seen_at < clock_timestamp() - interval '1 day'
"""


def remember(conn: Connection, digests: set[bytes]) -> None:
    """Remember for 30 days that names have logged in from a network. digests: as in is_known()."""
    run(conn, REMEMBER, {"digests": list(digests)})
