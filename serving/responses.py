"""Answers: JSON text that Postgres wrote, sent as it is; and a unique violation as the 409 that it means."""

from urllib.parse import quote

from flask import Response
from werkzeug.exceptions import BadRequest, NotFound

from sql import limits


def json_response(text: str | None) -> Response:
    """An answer of JSON text. None is 404: what was asked for is gone since the request began."""
    if text is None:
        raise NotFound("Not found. It was deleted during the request.")
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
