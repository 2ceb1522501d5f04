"""Answers: JSON text that Postgres wrote, sent as it is; and a unique violation as the 409 that it means."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

from flask import Response, current_app
from psycopg.errors import UniqueViolation
from werkzeug.exceptions import BadRequest, NotFound

from sql import limits
from sql.database import Connection
from validators.errors import NameExists


def json_response(text: str | None) -> Response:
    """An answer of JSON text. None is 404: what was asked for is gone since the request began."""
    if text is None:
        raise NotFound("What was asked for is not there.")
    return Response(text, mimetype="application/json")


def bounded(text: str | None, advice: str) -> str:
    """Return JSON text. None means that it would exceed PAGE_BYTES: 400, with what to ask for instead."""
    if text is None:
        raise BadRequest(f"The response would exceed {limits.PAGE_BYTES >> 20} MiB. {advice}")
    return text


def created(text: str | None, location: str, *words: str | int) -> Response:
    """201 with the new record. location is where it is, seen from where it was made; {} in it stand for words, percent-encoded."""
    response = json_response(text)
    response.status_code = 201
    response.headers["Location"] = location.format(*(quote(str(word), safe="~") for word in words))
    return response


def empty_response(status: int = 200) -> Response:
    """An answer with no body. It names the JSON type all the same, for clients that ask for it before they look at the body."""
    return Response(status=status, mimetype="application/json")


@contextmanager
def unique(taken: Mapping[str, str]) -> Iterator[None]:
    """Inside the block, a violation of one of these constraints is 409 NameExistsError with its message; any other stays what it is."""
    try:
        yield
    except UniqueViolation as error:
        message = taken.get(error.diag.constraint_name or "")
        if message is None:
            raise
        raise NameExists(message) from None


def refuse_excess(conn: Connection, setting: str, what: str) -> None:
    """400 when there are as many already as the setting allows; otherwise the caller may make one more in this transaction."""
    most = current_app.config[setting]
    if limits.count(conn, setting) >= most:
        raise BadRequest(f"There can be at most {most} {what} in this instance.")
