"""Refuse a name that is taken, and what would exceed a limit of the instance."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from flask import current_app
from psycopg.errors import UniqueViolation
from werkzeug.exceptions import BadRequest

from rules.refusals import Refuse, at_once
from sql import limits
from sql.database import Connection
from validators.errors import NameExists


@contextmanager
def unique(taken: Mapping[str, str]) -> Iterator[None]:
    """Turn a violation of one of these unique constraints into 409 NameExistsError with its message."""
    try:
        yield
    except UniqueViolation as error:
        message = taken.get(error.diag.constraint_name or "")
        if message is None:
            raise
        raise NameExists(message) from None


def refuse_excess(
    conn: Connection, setting: str, what: str, names: Collection[str] = ("",), refuse: Refuse = at_once
) -> None:
    """Refuse these new records, or one without a name, if the instance would exceed the setting.

    The count is locked until the transaction ends.
    """
    most = current_app.config[setting]
    if names and limits.count(conn, setting) + len(names) > most:
        refuse(BadRequest(f"There can be at most {most} {what} in this instance."), names)
