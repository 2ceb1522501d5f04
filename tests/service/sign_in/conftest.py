"""A service that uses an identity provider, and a browser."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.support.identity_provider import Browser, IdentityProvider, provider_of


@pytest.fixture
def provider(app: Flask) -> Iterator[IdentityProvider]:
    """A provider that the service uses."""
    with provider_of(app) as provider:
        yield provider


@pytest.fixture
def browser(app: Flask, provider: IdentityProvider) -> Browser:
    return Browser(app, provider)
