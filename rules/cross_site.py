"""Refuse changes that pages of other sites send with the session cookie."""

from urllib.parse import urlsplit

from flask import Request, current_app
from werkzeug.exceptions import Forbidden

from validators.tokens.origins import written_by_browsers


def refuse_cross_site(request: Request) -> None:
    """Raise 403 if a page of another site sent this request. Call it for requests with the session cookie."""
    origin = request.headers.get("Origin")
    # Our choice: the origin of BASE_URL is allowed. If BASE_URL is http, the address of the request is allowed too. If
    # BASE_URL is https, it is not: behind a proxy that address is http, and anybody on the network can forge an http
    # page.
    base = origin_of(current_app.config["BASE_URL"])
    allowed = {base} if base.startswith("https:") else {base, origin_of(request.host_url)}
    if (origin is not None and origin not in allowed) or request.headers.get("Sec-Fetch-Site", "none") not in (
        "same-origin",
        "none",
    ):
        raise Forbidden("A change with a session must come from this service's own pages.")


def origin_of(url: str) -> str:
    """Return scheme://host[:port] of a URL as browsers write it: in lower case, without the default port."""
    parts = urlsplit(url)
    return written_by_browsers(f"{parts.scheme}://{parts.netloc}")
