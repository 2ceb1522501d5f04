"""Deliveries of events to integrations: claims, outcomes, and the log. sql/events.py inserts them.

A claim keeps other workers from an integration until its end, blocked_until, which identifies it. Sending has no
transaction and no lock, so an outcome is written only if the claim is still valid. After a failure, blocked_until is
the time of the next attempt, so that later events wait. statement_timestamp(), because now() stands still in a long
transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run
from sql.events import READABLE as READABLE_ACCESS
from sql.events import RECORD, VISIBLE, VisibleEvents
from sql.integrations import READABLE
from sql.people import roles

CLAIM = """
    UPDATE integrations
       SET blocked_until = statement_timestamp() + interval '1 minute'
     WHERE id = (
            SELECT id
              FROM integrations
             WHERE enabled
               AND blocked_until <= statement_timestamp()
               AND EXISTS (
                    SELECT FROM deliveries
                     WHERE integration_id = integrations.id AND next_at <= statement_timestamp())
             ORDER BY blocked_until, id
             LIMIT 1
               FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING id, blocked_until, provider, parameters
"""


def claim(conn: Connection) -> DictRow | None:
    """Claim an integration with a due delivery for a minute. Return id, blocked_until, provider and parameters."""
    return one(conn, CLAIM)


# Our choice: after five failures, later deliveries overtake it. A delivery that has failed 10 times is given up, if
# another one succeeded meanwhile. A message of a chat is about at most 10,000 events: it tells 20 and counts the rest.
DUE: LiteralString = f"""
    WITH due AS (
        SELECT event_id,
               attempts,
               events.id IS NOT NULL AND {READABLE} AS is_readable,
               attempts + 1 >= 10 AND coalesce(failing_since > first_at, true) AS is_last_attempt,
               first_at < statement_timestamp() - interval '72 hours'
                   AND failing_since < statement_timestamp() - interval '72 hours' AS is_hopeless
          FROM integrations
          JOIN deliveries ON integration_id = integrations.id
          LEFT JOIN events ON events.id = event_id
         WHERE integrations.id = %(id)s
           AND next_at <= statement_timestamp()
           AND (attempts >= 5) = NOT EXISTS (
                SELECT FROM deliveries
                 WHERE integration_id = %(id)s AND attempts < 5 AND next_at <= statement_timestamp())
         ORDER BY event_id
         LIMIT CASE %(provider)s WHEN 'webhook' THEN 1 ELSE 10000 END
    ),
    discarded AS (
        DELETE FROM deliveries
         WHERE integration_id = %(id)s
           AND event_id IN (SELECT event_id FROM due WHERE NOT is_readable)
    ),
    released AS (
        UPDATE integrations
           SET blocked_until = statement_timestamp()
         WHERE id = %(id)s AND NOT EXISTS (SELECT FROM due WHERE is_readable)
    )
    SELECT due.*,
           CASE WHEN row_number() OVER (ORDER BY event_id) <= 20 THEN {RECORD} END AS event,
           coalesce((SELECT name FROM users WHERE id = created_by_user_id), created_by) AS author
      FROM due
      JOIN events ON id = event_id
     WHERE is_readable
     ORDER BY event_id
"""


def list_due(conn: Connection, claim: DictRow) -> list[DictRow]:
    """Return the deliveries of the next message of a claimed integration, or end the claim if there are none.

    Delete those of events that do not exist or that the last editor may not read. event: the record, for the first 20.
    author: the name of a person or token. is_last_attempt: if it fails, it is given up. is_hopeless: the integration
    has failed for 72 hours.
    """
    return rows(conn, DUE, {**claim, "editor": roles.EDITOR})


# next_at IS NOT NULL: what was given up during the attempt stays so.
FINISH: LiteralString = """
    WITH claimed AS (
        UPDATE integrations
           SET blocked_until = statement_timestamp() + make_interval(secs => %(pause)s),
               failing_since = CASE %(state)s WHEN 'failed' THEN coalesce(failing_since, statement_timestamp()) END
         WHERE id = %(id)s AND blocked_until = %(blocked_until)s
        RETURNING id
    )
    UPDATE deliveries
       SET attempts = attempts + 1,
           first_at = coalesce(first_at, statement_timestamp()),
           last_at = statement_timestamp(),
           next_at = statement_timestamp() + make_interval(secs => %(wait)s),
           state = %(state)s,
           state_details = %(text)s,
           details = %(details)s
      FROM claimed
     WHERE integration_id = claimed.id AND event_id = ANY(%(events)s) AND next_at IS NOT NULL
"""


def finish(conn: Connection, claim: DictRow, due: Sequence[Mapping[str, Any]], outcome: Mapping[str, Any]) -> None:
    """Write the outcome of an attempt and end the claim, if it is still valid."""
    row = {**claim, **outcome, "details": as_json(outcome["details"]), "events": [row["event_id"] for row in due]}
    # After the fifth failure, the others go first.
    pause = outcome["wait"] if due[-1]["attempts"] < 4 else None
    run(conn, FINISH, {**row, "pause": pause or 0})


LOG: LiteralString = f"""
    SELECT events AS types, json_build_object('integrationEvents', ARRAY(
               SELECT json_build_object(
                          'id', event_id::text, 'integrationId', integration_id, 'createdAt', iso(last_at),
                          'state', state, 'stateDetails', state_details, 'event', {RECORD}, 'details', details)
                 FROM deliveries
                 JOIN events ON events.id = event_id
                WHERE integration_id = %(id)s
                  AND last_at IS NOT NULL
                  AND (%(visible)s::text[] IS NULL OR {VISIBLE} AND {READABLE_ACCESS})
                ORDER BY last_at DESC, event_id DESC
                LIMIT %(limit)s
               OFFSET %(offset)s))::text AS body
      FROM integrations
     WHERE id = %(id)s
"""


def log(
    conn: Connection, integration_id: int, visible: VisibleEvents | None, page: Mapping[str, int]
) -> DictRow | None:
    """Return body, {"integrationEvents": [...]} as JSON text, newest first, and types. None if it is unknown.

    visible: None for all events. types: those of the integration.
    """
    seen = {"visible": visible and list(visible.projects), "readable": visible and list(visible.access)}
    return one(conn, LOG, {"id": integration_id, **page, **seen})


LAST_ATTEMPTS = """
    SELECT integration_id, iso(max(last_at)) AS at FROM deliveries WHERE attempts > 0 GROUP BY integration_id
"""


def last_attempts(conn: Connection) -> dict[int, str]:
    """Return the time of the last attempt of each integration that has one in its log."""
    return {row["integration_id"]: row["at"] for row in rows(conn, LAST_ATTEMPTS)}


# Our choice: outcomes stay for 30 days, the newest 1,000 of each integration. A change that was recorded while its
# integration was disabled or deleted has left deliveries that are never sent.
REMOVE_OLD = """
    DELETE FROM deliveries
     WHERE next_at IS NOT NULL AND integration_id NOT IN (SELECT id FROM integrations WHERE enabled)
        OR (integration_id, event_id) IN (
            SELECT integration_id, event_id
              FROM (SELECT *, row_number() OVER (PARTITION BY integration_id ORDER BY last_at DESC) AS position
                      FROM deliveries
                     WHERE next_at IS NULL) AS finished
             WHERE position > 1000 OR last_at < statement_timestamp() - interval '30 days')
"""


def remove_old(conn: Connection) -> None:
    """Delete old outcomes."""
    run(conn, REMOVE_OLD)


BACKLOG = """
    SELECT number, coalesce(extract(epoch FROM now() - created_at), 0)::float AS seconds
      FROM (SELECT count(*) AS number, min(event_id) AS oldest_id FROM deliveries WHERE next_at IS NOT NULL) AS waiting
      LEFT JOIN events ON id = oldest_id
"""


def measure_backlog(conn: Connection) -> DictRow:
    """Return the number of waiting deliveries, and the age of their oldest event in seconds."""
    return rows(conn, BACKLOG)[0]
