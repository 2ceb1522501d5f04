"""Ida, who logs in with an account of the identity provider of the tests."""

from typing import Any

from tests.support.identity_provider import Browser, IdentityProvider
from tests.support.page import Page

IDA = {"sub": "sub-ida", "email": "ida@example.org", "name": "Ida", "preferred_username": "ida"}


def sign_in(provider: IdentityProvider, status: int = 302, **claims: Any) -> str:
    """Log in Ida, or somebody with other claims, in a new browser. Return the session, or the sentence of a refusal."""
    browser, person = Browser(provider.app, provider), IDA | claims
    provider.userinfo = {"sub": person["sub"]}
    response = browser.log_in(**person)
    assert (response.status_code, browser.session() is not None) == (status, status == 302), response.text
    return browser.session() or " ".join(Page(response).texts(".//*[@role='alert']"))


def refusal(provider: IdentityProvider, **claims: Any) -> str:
    """Return the sentence with which sign_in() is refused."""
    return sign_in(provider, 403, **claims)
