"""Addresses that integrations may reach."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network
NAT64 = IPv6Network("64:ff9b::/96")
# Python 3.11 calls it global. A cloud has the credentials of its machines at 192.0.0.192.
PROTOCOLS = IPv4Network("192.0.0.0/24")


def is_allowed(text: str, networks: Sequence[Network], *, is_encrypted: bool) -> bool:
    """Return whether an integration may reach an address: one of these networks, or with https also a public one.

    Raises ValueError for other texts.
    """
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        inner = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None
        address = address.ipv4_mapped or address.sixtofour or inner or address
    if any(address in network for network in networks):
        return True
    # Python 3.11 calls multicast, fec0::/10 and reserved addresses such as ::127.0.0.1 global.
    is_special = address.is_multicast or address.is_reserved or getattr(address, "is_site_local", False)
    return is_encrypted and address.is_global and not is_special and address not in PROTOCOLS
