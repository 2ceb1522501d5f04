"""Requests about the tokens of applications."""

from typing import ClassVar

from marshmallow import EXCLUDE

from validators import Body
from validators.fields import ListOf, Text

# Our choice: a proxy for SDKs asks for the few tokens of its clients. More are 400.
MAX_TOKENS = 100


class ValidateTokens(Body):
    """Tokens to check. Unknown properties are ignored."""

    class Meta:
        unknown = EXCLUDE

    example: ClassVar = {"tokens": ["*:development.5f0c9e2b7a1d4c3e8f6b0a9d2c1e4f7a5f0c9e2b7a1d4c3e8f6b0a9d2c1e4f7a"]}

    tokens = ListOf(Text(), max=MAX_TOKENS, required=True, description="Secrets of API tokens.")
