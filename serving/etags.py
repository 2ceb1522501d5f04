"""Compare the ETags of a request, and refuse changes of records that have changed since the client read them."""

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from flask import request
from werkzeug.datastructures import ETags
from werkzeug.exceptions import NotFound, PreconditionFailed

from rules.refusals import Refusal
from sql.database import RecordText

CHANGED = "Somebody has changed this record since you read it. Read it again first."
# The refusal of operations whose records have no ETag in the API.
IF_SHOWN = {412: Refusal("If-Match, which only the pages send, does not name what they showed.", CHANGED)}


def is_named(given: ETags, etag: str) -> bool:
    """Return whether If-None-Match or If-Match names an ETag, here without its quotes. Weak ones count."""
    # Apache appends -gzip or -br to the ETag of a response that it compresses.
    return any(given.contains_weak(etag + suffix) for suffix in ("", "-gzip", "-br"))


def refuse_changed(lock: Callable[[], object], unknown: str | None) -> None:
    """Raise 412 if the request has an If-Match that does not name the version of the record. Call it before load().

    lock: locks the record and returns it (a RecordText), or its version, or None for 404.
    unknown: the message of 404, or None if lock raises it.
    """
    # Our choice: 412 comes before 400. A body that was made for another version may be invalid only for that reason.
    if "If-Match" in request.headers:
        found = lock()
        if found is None:
            raise NotFound(unknown)
        if not is_named(request.if_match, str(version_of(found))):
            raise PreconditionFailed(CHANGED)


def content_version(record: Mapping[str, Any] | None, *names: str) -> str | None:
    """Return the version of a record that the database does not number: h and a hash of these properties.

    Return None without the record.
    """
    if record is None:
        return None
    content = json.dumps([record.get(name) for name in names], sort_keys=True)
    return f"h{blake2b(content.encode(), digest_size=8).hexdigest()}"


def version_of(record: object) -> object:
    """Return the version of a RecordText, or any other value as it is."""
    return record.version if isinstance(record, RecordText) else record
