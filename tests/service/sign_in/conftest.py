"""A service that uses an identity provider, and a browser."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.support.identity_provider import Browser, IdentityProvider, identity_provider


@pytest.fixture
def provider(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[IdentityProvider]:
    """A provider that the service uses. The service has not asked it anything."""
    app.extensions.pop("oidc", None)
    with identity_provider() as provider:
        for name, setting in provider.settings.items() | {("LOGIN_ATTEMPTS_PER_MINUTE", 100_000)}:
            monkeypatch.setitem(app.config, name, setting)
        yield provider
    app.extensions.pop("oidc", None)


@pytest.fixture
def browser(app: Flask, provider: IdentityProvider) -> Browser:
    return Browser(app, provider)
