"""Read the headers of a proxy that has already checked who a person is."""

import hmac
from ipaddress import IPv6Address, ip_address

from flask import current_app, request


def header(setting: str) -> str | None:
    """Return the header that a setting names. None if it is missing, or the proxy has not sent the request."""
    name = current_app.config[setting]
    sent = request.headers.get(name) if name else None
    # The character U+FFFD replaces bytes that are not UTF-8.
    return sent.encode("latin-1").decode(errors="replace") if sent is not None and is_from_proxy() else None


def is_from_proxy() -> bool:
    """Return whether the connection comes from the proxy, and has its secret. X-Forwarded-For is ignored."""
    try:
        peer = ip_address(request.remote_addr or "")
    except ValueError:
        # A Unix socket has no address.
        return False
    peer = (isinstance(peer, IPv6Address) and peer.ipv4_mapped) or peer
    secret = current_app.config["AUTH_PROXY_SECRET"] or ""
    sent = request.headers.get("X-Auth-Proxy-Secret", "") if secret else ""
    is_known = any(peer in network for network in current_app.config["AUTH_PROXY_NETWORKS"])
    return is_known and hmac.compare_digest(sent.encode("latin-1"), secret.encode())


def person_name() -> str | None:
    """Return the user name, or the e-mail address in lower case, that the proxy sends. None without the header."""
    name = header("AUTH_PROXY_HEADER")
    return name.lower() if name and "@" in name else name
