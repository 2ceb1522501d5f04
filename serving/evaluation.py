"""Requests that evaluate flags for one user: the context of the request, and the response."""

import gzip
from datetime import timedelta
from hashlib import blake2b

from flask import Response

from rules.client_access import ClientToken, environment_of
from serving.client_address import exact_address
from serving.responses import etag_response
from validators.client.contexts import Context

# A shorter body fits into one packet anyway.
GZIP_FROM_BYTES = 1400
# A higher level costs three times as much CPU time and saves a tenth.
GZIP_LEVEL = 1


def completed(token: ClientToken, context: Context) -> Context:
    """Return a context with the environment of the token, and with what the request says about its sender."""
    address = exact_address()
    known = {} if address is None else {"remoteAddress": str(address)}
    # Our choice: the token decides, because the JS SDK always sends environment=default.
    return known | context | {"environment": environment_of(token, None)}


def hashed_response(text: str, age: timedelta | None) -> Response:
    """Return JSON text, or 304 by its ETag. age: of the flags, if they may not be current."""
    body = text.encode()
    # The hash of the body, not a revision of the flags: SDKs send the ETag of the last user with the next one.
    etag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    is_long = len(body) >= GZIP_FROM_BYTES
    gzipped = (lambda: gzip.compress(body, GZIP_LEVEL, mtime=0)) if is_long else None
    return etag_response(etag, lambda: body, gzipped, age=age)
