"""The settings of single sign-on."""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from serving.setting_values import Setting, ascii_text, one_of, switch

# Secrets can be sent there: encrypted, or to this machine.
SAFE_URL = re.compile(r"https://[!-~]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[!-~]*)?")
DOMAIN = re.compile(r"([a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}")


def issuer(text: str) -> str:
    """Read the address of an identity provider. Nothing is changed, because it must be what the provider writes."""
    if not SAFE_URL.fullmatch(text) or set(text) & set("?#@"):
        raise ValueError("must look like https://id.example.org/realms/main; http is only for this machine")
    return text


def label(text: str) -> str:
    """Read what a button shows."""
    if not text.isprintable() or len(text) > 50:
        raise ValueError("must be at most 50 printable characters")
    return text


def scopes(text: str) -> str:
    """Read scopes, separated by spaces."""
    if "openid" not in ascii_text(text).split(" "):
        raise ValueError("must be scopes, separated by spaces, and one of them must be openid")
    return text


def domains(text: str) -> tuple[str, ...]:
    """Read domains of e-mail addresses, separated by commas."""
    found = tuple(domain.strip().lower() for domain in text.split(",") if text)
    if not all(DOMAIN.fullmatch(domain) for domain in found):
        raise ValueError("must be domains such as example.org, separated by commas")
    return found


SETTINGS = (
    Setting("OIDC_ISSUER", issuer, None, "identity provider (OpenID Connect), exactly as it writes its address"),
    Setting("OIDC_CLIENT_ID", ascii_text, None, "client id of this service at the identity provider"),
    Setting("OIDC_CLIENT_SECRET", ascii_text, None, "secret of the client; default: a public client", secret=True),
    Setting("OIDC_NAME", label, "single sign-on", "name of the identity provider, for the button `Log in with …`"),
    Setting("OIDC_SCOPES", scopes, "openid email profile", "what the identity provider is asked for"),
    Setting("OIDC_GROUPS_CLAIM", ascii_text, None, "claim with the groups of a user; default: groups do not change"),
    Setting("OIDC_CREATE_USERS", switch, "on", "`off`: only users with an account here can log in"),
    Setting("OIDC_EMAIL_DOMAINS", domains, "", "domains whose users get an account, separated by commas; default: all"),
    Setting("OIDC_EMAIL_VERIFIED", one_of("claim", "always"), "claim", "`always`: trust all e-mail addresses"),
)


def conflicts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting that is invalid because another one or a package is missing, and a message."""
    if (found["OIDC_ISSUER"] is None) != (found["OIDC_CLIENT_ID"] is None):
        yield "OIDC_ISSUER", "The settings OIDC_ISSUER and OIDC_CLIENT_ID are required together."
    elif found["OIDC_ISSUER"] and not find_spec("joserfc"):
        command = f"{sys.executable} -m pip install joserfc"
        yield "OIDC_ISSUER", f"The setting OIDC_ISSUER needs the package joserfc. Install it: {command}"
