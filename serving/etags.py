"""Compare the ETags of a request, and refuse changes of records that have changed since the client read them."""

from collections.abc import Callable

from flask import request
from werkzeug.datastructures import ETags
from werkzeug.exceptions import NotFound, PreconditionFailed

from sql.database import RecordText


def is_named(given: ETags, etag: str) -> bool:
    """Return whether If-None-Match or If-Match names an ETag, here without its quotes. Weak ones count."""
    # Apache appends -gzip or -br to the ETag of a response that it compresses.
    return any(given.contains_weak(etag + suffix) for suffix in ("", "-gzip", "-br"))


def refuse_changed(lock: Callable[[], object], unknown: str = "") -> None:
    """Raise 412 if the request has an If-Match that does not name the version of the record. Call it before load().

    lock: locks the record and returns it (a RecordText), or its version, or None for 404. unknown: the message of 404.
    """
    # Our choice: 412 comes before 400. A body that was made for another version may be invalid only for that reason.
    if "If-Match" in request.headers:
        found = lock()
        if found is None:
            raise NotFound(unknown)
        if not is_named(request.if_match, str(version_of(found))):
            raise PreconditionFailed("Somebody has changed this record since you read it. Read it again first.")


def version_of(record: object) -> object:
    """Return the version of a RecordText, or any other value as it is."""
    return record.version if isinstance(record, RecordText) else record
