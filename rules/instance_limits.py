"""Refuse names that are taken, and records that would exceed a limit of the instance."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from flask import current_app
from psycopg.errors import UniqueViolation
from werkzeug.exceptions import BadRequest

from rules.refusals import Refuse, quantity, raise_error
from sql import limits
from sql.database import Connection
from validators.errors import NameExists


@contextmanager
def unique_or_409(messages: Mapping[str, str]) -> Iterator[None]:
    """Raise 409 NameExistsError if the block violates a constraint. messages: by name of the constraint."""
    try:
        yield
    except UniqueViolation as error:
        message = messages.get(error.diag.constraint_name or "")
        if message is None:
            raise
        raise NameExists(message) from None


def refuse_excess(
    conn: Connection, setting: str, noun: str, names: Collection[str] = ("",), refuse: Refuse = raise_error
) -> None:
    """Refuse new records if the instance would have more than the setting allows.

    setting: such as MAX_FLAGS. noun: the noun of the message, in the singular. names: names of the new records; the
    default is one record without a name. The count is locked until the transaction ends.
    """
    limit = current_app.config[setting]
    if names and limits.count(conn, setting) + len(names) > limit:
        most = f"There can be at most {quantity(limit, noun)} in this instance."
        refuse(BadRequest(f"{most} The setting {setting} raises this limit."), names)
