"""The throttle of logins, per name and per client address, and of signups, shared by all workers and machines (decisions.md, 6 and 8).

A name is given as the digest under which it is kept.
"""

from dataclasses import dataclass

from sql.database import Connection, run, value


@dataclass(frozen=True)
class Limits:
    """free_failures: failures in a row before a name has to wait; max_wait: the longest wait in seconds."""

    free_failures: int
    max_wait: int


# The array holds the attempts of the last minute. The row lock of the upsert makes simultaneous ones wait in line. Nothing is returned, and
# nothing kept of this attempt, when there are too many already.
ADMIT_ADDRESS = """
    INSERT INTO login_addresses AS known (address, attempts, last_attempt_at)
    VALUES (%(address)s, ARRAY[clock_timestamp()], clock_timestamp())
    ON CONFLICT (address) DO UPDATE
       SET attempts = ARRAY(
               SELECT attempt
                 FROM unnest(known.attempts) AS attempt
                WHERE attempt > clock_timestamp() - interval '1 minute'
           ) || clock_timestamp(),
           last_attempt_at = clock_timestamp()
     WHERE %(most)s > (
               SELECT count(*)
                 FROM unnest(known.attempts) AS attempt
                WHERE attempt > clock_timestamp() - interval '1 minute')
    RETURNING 0
"""

ADDRESS_WAIT = """
    SELECT greatest(1, ceil(extract(epoch FROM min(attempt) + interval '1 minute' - clock_timestamp())))::integer
      FROM login_addresses, unnest(attempts) AS attempt
     WHERE address = %(address)s
       AND attempt > clock_timestamp() - interval '1 minute'
"""

# SKIP LOCKED: tidying up must not wait for anybody who is logging in.
# Our choice: after a day without a failure a name starts afresh, or names that nobody has would be kept for ever.
TIDY_UP = """
    WITH names AS (
        DELETE FROM login_throttle
         WHERE name_digest = ANY(ARRAY(
                SELECT name_digest
                  FROM login_throttle
                 WHERE last_failed_at < clock_timestamp() - interval '1 day'
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


def admit_address(conn: Connection, address: str, most: int) -> int:
    """0 and the attempt is counted; or the seconds to wait, because the last minute held so many from this address.

    What is too old to count, of anybody, goes meanwhile.
    """
    # One's own row first: who holds rows that he tidies away must not wait for another.
    admitted = value(conn, ADMIT_ADDRESS, {"address": address, "most": most})
    run(conn, TIDY_UP)
    if admitted is not None:
        return 0
    return value(conn, ADDRESS_WAIT, {"address": address}) or 1


NAME_WAIT = """
    SELECT greatest(0, ceil(extract(epoch FROM blocked_until - clock_timestamp())))::integer
      FROM login_throttle
     WHERE name_digest = %(name)s
       FOR UPDATE
"""


def name_wait(conn: Connection, name: bytes) -> int:
    """The seconds for which this name has to wait; 0: none. Locks what is known of the name."""
    return value(conn, NAME_WAIT, {"name": name}) or 0


# The wait doubles with each failure past the free ones: 1, 2, 4 … seconds. A name that has to wait meanwhile is left as it is and nothing
# is returned: of many simultaneous guesses no more are answered than of as many one after the other.
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
     WHERE known.blocked_until <= clock_timestamp()
    RETURNING 0
"""


def fail(conn: Connection, name: bytes, limits: Limits) -> int:
    """0 and one more failure in a row is counted for this name; or the seconds for which it has to wait."""
    counted = value(conn, FAIL, {"name": name, "free": limits.free_failures, "max_wait": limits.max_wait})
    return 0 if counted is not None else name_wait(conn, name) or 1


# SKIP LOCKED: who fails with another name of the same user at this moment holds its row and waits for the user's; waiting here would be a
# deadlock.
FORGET = """
    DELETE FROM login_throttle
     WHERE name_digest IN (
            SELECT name_digest
              FROM login_throttle
             WHERE name_digest = ANY(%(names)s)
               FOR UPDATE SKIP LOCKED)
"""


def forget(conn: Connection, *names: bytes) -> None:
    """These names have no failures."""
    run(conn, FORGET, {"names": list(names)})
