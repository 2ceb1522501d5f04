"""Find the client address of a request."""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from flask import current_app, request

# Our choice: the length of the IPv6 network that counts as one address. Most providers give a customer such a network
# or a larger one, so a limit for single addresses would have no effect.
CUSTOMER_BITS = 56
# Some proxies add the port.
WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](?::\d+)?|(?P<four>[^:]*):\d+")


def client_address() -> str:
    """Return the client address for rate limits, or "unknown" if it is invalid. IPv6 addresses are networks."""
    address = exact_address()
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address.packed, CUSTOMER_BITS), strict=False))
    return str(address or "unknown")


def exact_address() -> IPv4Address | IPv6Address | None:
    """Return the address of the connection, or the one that the trusted proxies report. None if it is invalid."""
    text = forwarded_for(current_app.config["TRUSTED_PROXIES"]) or request.remote_addr or ""
    match = WITH_PORT.fullmatch(text)
    try:
        address = ip_address((match["six"] or match["four"] or "") if match else text)
    except ValueError:
        return None
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def forwarded_for(proxies: int) -> str:
    """Return the address that the first of the trusted proxies has seen, or an empty string."""
    # Each proxy appends one address. Werkzeug's ProxyFix is not used: if a client sends a quotation mark, it mistakes
    # everything after the mark for one address.
    chain = request.headers.get("X-Forwarded-For", "").split(",")
    return chain[-proxies].strip() if 0 < proxies <= len(chain) else ""
