"""Texts that people read are not blank."""

import pytest
from marshmallow import ValidationError

from validators import Body
from validators.banners import Banner
from validators.flags.ramp_plans import RampPlan
from validators.people.service_accounts import CreateServiceAccount, UpdateServiceAccount
from validators.people.users import CreateUser, InvitedUser, UpdateUser
from validators.projects.change_requests import ChangeRequestComment, ChangeRequestState, ChangeRequestTitle
from validators.projects.core import NewProject, ProjectChange
from validators.tokens.signup_tokens import PublicSignupTokenCreate

NAMED = (CreateUser, InvitedUser, UpdateUser, CreateServiceAccount, UpdateServiceAccount)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        *((schema, "name") for schema in (*NAMED, NewProject, ProjectChange, PublicSignupTokenCreate)),
        *((Banner, name) for name in ("message", "linkText", "dialogTitle")),
        *((schema, "title") for schema in (ChangeRequestTitle, RampPlan)),
        (ChangeRequestComment, "text"),
        (ChangeRequestState, "comment"),
    ],
)
@pytest.mark.parametrize("text", ["   ", "\u200b"])
def test_blank_text_is_refused(schema: type[Body], name: str, text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        schema().load(schema.example | {name: text})
    assert caught.value.messages == {name: ["must not be blank"]}
