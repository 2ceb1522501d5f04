"""Refuse changes that pages of other sites send with the session cookie."""

from urllib.parse import urlsplit

from flask import Request, current_app
from werkzeug.exceptions import Forbidden

DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def refuse_cross_site(request: Request) -> None:
    """Refuse with 403 a change that a page of another site sent with the session cookie."""
    origin = request.headers.get("Origin")
    # Our choice: the origin of BASE_URL is allowed. If it is http, so is the origin of the request's own address. With
    # https it is not: an http page could have been written by anybody on the network. (Behind a proxy, requests to
    # this process are http too.)
    own = origin_of(current_app.config["BASE_URL"])
    ours = {own} if own.startswith("https:") else {own, origin_of(request.host_url)}
    if (origin is not None and origin not in ours) or request.headers.get("Sec-Fetch-Site", "none") not in (
        "same-origin",
        "none",
    ):
        raise Forbidden("A change with a session must come from this service's own pages.")


def origin_of(url: str) -> str:
    """Return scheme://host[:port] of a URL as browsers write it: in lower case, without the default port."""
    parts = urlsplit(url.lower())
    return f"{parts.scheme}://{parts.netloc.removesuffix(DEFAULT_PORTS.get(parts.scheme, '/'))}"
