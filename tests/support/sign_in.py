"""People of an identity provider, and the login of one. The settings of both ways to log in without a password."""

from typing import Any

from flask import Flask
from werkzeug.exceptions import Forbidden

from rules import sign_in as rules
from rules.sign_in import Person

ISSUER = "https://id.example.org"
PROVIDER = "Example"
OIDC = {
    "OIDC_ISSUER": ISSUER,
    "OIDC_NAME": PROVIDER,
    "OIDC_CREATE_USERS": True,
    "OIDC_EMAIL_DOMAINS": (),
    "OIDC_EMAIL_VERIFIED": "claim",
    "OIDC_GROUPS_CLAIM": "groups",
}
# The test client connects from 127.0.0.1.
PROXY = {"AUTH_PROXY_HEADER": "Remote-User", "AUTH_PROXY_NETWORKS": "127.0.0.1/32"}


def person(subject: str = "sub-ida", **fields: Any) -> Person:
    """Ida, as the identity provider knows her. It sends no groups, unless fields say otherwise."""
    names = {"email": "ida@example.org", "name": "Ida", "username": "ida"}
    return Person(**{"issuer": ISSUER, "subject": subject, "email_verified": True, "groups": None} | names | fields)


def sign_in(app: Flask, who: Person, **kwargs: str) -> str:
    """Log in, and return the secret of the session."""
    with app.test_request_context("/login"):
        return rules.sign_in(who, PROVIDER, "192.0.2.1", **kwargs)


def refusal(app: Flask, who: Person) -> str:
    """Return the sentence with which a login is refused."""
    try:
        sign_in(app, who)
    except Forbidden as error:
        return error.description or ""
    raise AssertionError("The login was not refused.")
