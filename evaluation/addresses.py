"""IP addresses and networks."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network


class Networks:
    """Networks in CIDR notation (10.0.0.0/8) and single addresses. Texts that are neither are ignored."""

    __slots__ = ("networks",)

    def __init__(self, texts: Iterable[str]) -> None:
        self.networks = tuple(network for text in texts if (network := network_of(text)) is not None)

    def contain(self, text: str) -> bool:
        """Return whether the text is an address in one of the networks. IPv4 and IPv6 never match each other."""
        address = address_of(text)
        return address is not None and any(address in network for network in self.networks)


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address, or None if the text is not one. The zone of an address (fe80::1%eth0) is not supported."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def network_of(text: str) -> IPv4Network | IPv6Network | None:
    """Return the network, or None if the text is not one."""
    try:
        return None if "%" in text else ip_network(text, strict=False)
    except ValueError:
        return None


def unmapped(text: str) -> str:
    """Return a mapped IPv4 address or network as IPv4: ::ffff:10.1.2.3 as 10.1.2.3. Other texts stay as they are."""
    network = network_of(text) if ":" in text else None
    if not isinstance(network, IPv6Network) or network.prefixlen < 96 or not network.network_address.ipv4_mapped:
        return text
    return f"{network.network_address.ipv4_mapped}/{network.prefixlen - 96}".removesuffix("/32")
