"""Where a request comes from, as the throttles count it."""

import re
from ipaddress import IPv6Address, IPv6Network, ip_address

from flask import current_app, request

# Our choice: a provider gives each customer of IPv6 at least this much, so single addresses there would be no limit at all.
CUSTOMER_BITS = 64
# Some proxies say the port too.
WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](?::\d+)?|(?P<four>[^:]*):\d+")


def client_address() -> str:
    """The address of the connection, or what as many proxies as are trusted say; of IPv6 its network. Whatever is no address is one."""
    text = forwarded_for(current_app.config["TRUSTED_PROXIES"]) or request.remote_addr or ""
    found = WITH_PORT.fullmatch(text)
    try:
        address = ip_address((found["six"] or found["four"] or "") if found else text)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((address.packed, CUSTOMER_BITS), strict=False))
    return str(address)


def forwarded_for(proxies: int) -> str:
    """What the first of so many trusted proxies took for the client; empty where it says nothing."""
    # Each has added one at the end. Not by Werkzeug's ProxyFix: for it, all behind a quotation mark, which a client can send, is one.
    chain = request.headers.get("X-Forwarded-For", "").split(",")
    return chain[-proxies].strip() if 0 < proxies <= len(chain) else ""
