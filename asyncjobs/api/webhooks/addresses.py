"""Which addresses are on the public internet. Behind all others there may be something of our own."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_UNICAST: Final = IPv6Network("2000::/3")  # all that was ever given out; the rest is for other uses, or for none
_NAT64: Final = IPv6Network("64:ff9b::/96")

# Not all versions of Python know these, or can.
_NOT_PUBLIC: Final = (
    IPv4Network("192.0.0.0/24"),  # for protocols; some clouds have their metadata here
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("168.63.129.16/32"),  # looks public, and is the inside of a cloud
)


def is_public(address: str) -> bool:
    """Whether it leads to the public internet, also if another address is embedded in it."""
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NOT_PUBLIC)
    embedded = _embedded(ip)
    if embedded is not None:
        return is_public(str(embedded))
    return ip in _UNICAST and ip.is_global  # Teredo is not global


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    if ip in _NAT64:
        return IPv4Address(ip.packed[-4:])
    return ip.ipv4_mapped or ip.sixtofour
