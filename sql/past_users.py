"""What is known of the past of users: when they were seen, when they left, and whether there ever was one."""

from collections.abc import Sequence
from datetime import date, datetime

from sql import Connection, run, value

ADD_SEEN_DAYS = """
    INSERT INTO user_seen_days (user_id, day)
    SELECT %(user_id)s, unnest(%(days)s::date[])
    ON CONFLICT DO NOTHING
"""


def add_seen_days(conn: Connection, user_id: int, days: Sequence[date]) -> None:
    """Remember that the user was here on these days (UTC)."""
    run(conn, ADD_SEEN_DAYS, {"user_id": user_id, "days": list(days)})


MARK_DELETED = "UPDATE users SET deleted_at = %(at)s WHERE id = %(user_id)s"


def mark_deleted(conn: Connection, user_id: int, at: datetime) -> None:
    """Remember that the user was deleted then. His roles, groups and keys are the caller's business."""
    run(conn, MARK_DELETED, {"user_id": user_id, "at": at})


EVER_WAS = "SELECT EXISTS (SELECT FROM users WHERE email = %(email)s)"


def ever_was(conn: Connection, email: str) -> bool:
    """Whether a user has or had this address, given in lower case; also one who is deleted by now."""
    return value(conn, EVER_WAS, {"email": email})
