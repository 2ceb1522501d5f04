"""null for an optional property of a body is the same as omitting it, except in the nine operations."""

from typing import Any

import pytest
from marshmallow import ValidationError

from tests.support.openapi_document import ALL_BODIES
from validators import Body, read
from validators.events import DeprecatedEventSearch
from validators.login import Login
from validators.people.users import InvitedUser
from validators.tokens.signup_tokens import SignupTokenUpdate

NINE = (SignupTokenUpdate, DeprecatedEventSearch, Login, InvitedUser)


def loaded(body: type[Body], asked: dict[str, Any]) -> Any:
    """What a schema makes of a body, or the messages of its refusal."""
    try:
        return read(body(), asked)
    except ValidationError as refusal:
        return refusal.messages


@pytest.mark.parametrize("body", [body for body in ALL_BODIES if body not in NINE])
def test_null_is_as_good_as_omitted(body: type[Body]) -> None:
    for name, field in body().fields.items():
        key = field.data_key or name
        omitted = {word: value for word, value in body.example.items() if word != key}
        if field.required and not field.allow_none:
            assert loaded(body, omitted | {key: None}) == {key: ["Field may not be null."]}
        elif not field.allow_none:
            assert loaded(body, omitted | {key: None}) == loaded(body, omitted), key


@pytest.mark.parametrize("body", NINE)
def test_the_nine_refuse_null(body: type[Body]) -> None:
    for name in body().fields:
        if (body, name) != (DeprecatedEventSearch, "offset"):
            assert name in loaded(body, body.example | {name: None}), name


@pytest.mark.parametrize("body", [body for body in ALL_BODIES if body not in NINE and body().unknown == "raise"])
def test_null_makes_no_property_known(body: type[Body]) -> None:
    assert loaded(body, body.example | {"other": None}) == {"other": ["unknown property"]}
