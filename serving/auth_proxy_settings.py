"""The settings of a proxy that has already checked who people are, and of the users that a first login creates."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rules.addresses import Network
from serving.setting_values import Setting, ascii_text, bearer_token, networks, switch


def header(text: str) -> str:
    """Read the name of a header. gunicorn drops those with an underscore."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", text):
        raise ValueError("must be the name of a header, such as Remote-User, with only letters, digits and hyphens")
    return text


def proxy_networks(text: str) -> tuple[Network, ...]:
    """Read networks that are not nearly all addresses, separated by commas."""
    found = networks(text)
    # Two halves are everybody too.
    if any(network.prefixlen < 4 for network in found):
        raise ValueError("must not trust all addresses, because everybody could log in as anybody")
    return found


def role(text: str) -> str:
    """Read the name of a root role of new users."""
    if text.lower() == "admin":
        raise ValueError("must not be Admin. Give the root role Admin to a group with mappings")
    return text


SETTINGS = (
    Setting("SSO_ROLE", role, "Viewer", "root role of users whom a first login creates"),
    Setting("AUTH_PROXY_HEADER", header, None, "header in which a proxy names the user; default: no proxy is trusted"),
    Setting("AUTH_PROXY_NETWORKS", proxy_networks, "", "addresses of this proxy, separated by commas"),
    Setting(
        "AUTH_PROXY_SECRET", bearer_token, None, "secret that this proxy sends in X-Auth-Proxy-Secret", secret=True
    ),
    Setting("AUTH_PROXY_EMAIL_HEADER", header, None, "header with the e-mail address of a new user"),
    Setting("AUTH_PROXY_NAME_HEADER", header, None, "header with the full name"),
    Setting("AUTH_PROXY_GROUPS_HEADER", header, None, "header with the groups, separated by commas"),
    Setting("AUTH_PROXY_CREATE_USERS", switch, "off", "`on` creates users whom the proxy names for the first time"),
    Setting("AUTH_PROXY_LOGOUT_URL", ascii_text, None, "link on the page after a logout, which logs out of the proxy"),
)


def conflicts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the setting that switches the proxy on, and why it cannot be on with the others."""
    if found["AUTH_PROXY_HEADER"] and not found["AUTH_PROXY_NETWORKS"]:
        yield "AUTH_PROXY_HEADER", "The setting AUTH_PROXY_NETWORKS is required with AUTH_PROXY_HEADER."
    if found["AUTH_PROXY_HEADER"] and found["OIDC_ISSUER"]:
        yield "AUTH_PROXY_HEADER", "Set only one of AUTH_PROXY_HEADER and OIDC_ISSUER."
