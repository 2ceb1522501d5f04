"""Service accounts: users for programs. They have personal tokens and no password."""

from typing import LiteralString

from sql.database import Connection, value
from sql.people import personal_tokens, root_roles, user_records

RECORD: LiteralString = f"""
    json_merge({user_records.FIELDS}, json_build_object('tokens', {personal_tokens.RECORDS_OF_USER}))
"""

LIST: LiteralString = f"""
    SELECT json_build_object(
               'serviceAccounts', (
                   SELECT coalesce(json_agg({RECORD} ORDER BY users.id), '[]')
                     FROM users
                    WHERE deleted_at IS NULL
                      AND account_type = 'Service Account'),
               'rootRoles', {root_roles.RECORDS})::text"""


def list_all(conn: Connection) -> str:
    """Return every service account with its tokens, oldest first, and the root roles, as JSON text."""
    return value(conn, LIST)


FROM_ACCOUNT: LiteralString = (
    " FROM users WHERE id = %(id)s AND deleted_at IS NULL AND account_type = 'Service Account'"
)

GET: LiteralString = f"SELECT ({RECORD})::text{FROM_ACCOUNT}"


def get(conn: Connection, account_id: int) -> str | None:
    """Return a service account with its tokens as JSON text, or None if there is none with this id."""
    return value(conn, GET, {"id": account_id})


LIST_TOKENS: LiteralString = f"SELECT json_build_object('pats', {personal_tokens.RECORDS_OF_USER})::text{FROM_ACCOUNT}"


def list_tokens(conn: Connection, account_id: int) -> str | None:
    """Return {"pats": [...]} as JSON text, or None if there is no service account with this id."""
    return value(conn, LIST_TOKENS, {"id": account_id})
