"""Requests about change requests."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body, Query
from validators.fields import TITLE_MAX, Anything, Boolean, DateTime, Integer, Name, NotBlank, OneOf, Text
from validators.query_fields import IdFilter, Repeated, WholeNumber

COMMENT_MAX = 1000
APPROVALS: dict[str, Any] = {
    "min": 0,
    "max": 10,
    "description": "How many others must approve a change request. 0: it needs no review.",
}
STATES = frozenset({"Draft", "In review", "Approved", "Rejected", "Cancelled", "Applied", "Scheduled"})


class UpdateChangeRequestEnvironmentConfig(Body):
    """Whether changes need a change request. Without requiredApprovals, it stays as it is, at first 1."""

    example: ClassVar = {"changeRequestsEnabled": True, "requiredApprovals": 1}

    changeRequestsEnabled = Boolean(required=True, description="Whether changes need a change request.")
    requiredApprovals = Integer(**APPROVALS)


class ChangeRequestEnvironment(Body):
    """An environment of a new project in which changes need a change request."""

    example: ClassVar = {"name": "production", "requiredApprovals": 1}

    name = Name(required=True, description="Name of the environment.")
    requiredApprovals = Integer(load_default=1, **APPROVALS)


class ProposedChange(Body):
    """A proposed change of a flag or a segment. The payload is the body of the operation that makes it directly."""

    beyond_json_schema: ClassVar[str] = "action|payload|feature"
    example: ClassVar = {"feature": "new-checkout", "action": "updateEnabled", "payload": {"enabled": True}}

    feature = Text(min=1, max=100, description="Name of the flag. Omitted for a change of a segment.")
    action = Text(min=1, max=100, required=True, description="What the change does, such as updateEnabled.")
    payload = Anything(description="Body of the operation that makes the same change directly.")


class ChangeRequestState(Body):
    """A new state of a change request."""

    example: ClassVar = {"state": "Approved", "comment": "Go ahead", "revision": 1}

    state = OneOf(STATES, "a state of change requests", required=True, description="State to bring the request into.")
    comment = NotBlank(min=1, max=COMMENT_MAX, description="Comment on the change request.")
    scheduledAt = DateTime(description="When to apply it. Required for the state Scheduled, and only for it.")
    revision = Integer(min=1, description="Revision that the caller has read. 409 if it was edited since.")

    beyond_json_schema: ClassVar[str] = "scheduledAt"

    @validates_schema
    def check_time(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a schedule without a time, and a time without a schedule."""
        if ("scheduledAt" in data) != (data.get("state") == "Scheduled"):
            raise ValidationError("is required for the state Scheduled, and only for it", "scheduledAt")


class ChangeRequestTitle(Body):
    """The title of a change request."""

    example: ClassVar = {"title": "Launch of the new checkout"}

    title = NotBlank(min=1, max=TITLE_MAX, required=True, description="Title of the change request.")


class ChangeRequestComment(Body):
    """A comment on a change request."""

    example: ClassVar = {"text": "Please wait for the release."}

    text = NotBlank(min=1, max=COMMENT_MAX, required=True, description="Text of the comment.")


class ScheduledQuery(Query):
    """What scheduled change requests may change. Any match counts."""

    feature = Repeated(Text(), load_default=list, description="Name of a flag.")
    strategyId = Repeated(Text(), load_default=list, description="Id of a strategy.")
    variantForFlag = Repeated(Text(), load_default=list, description="Name of a flag whose variants change.")


class ChangeRequestSearch(Query):
    """The filters of the search for change requests."""

    beyond_json_schema: ClassVar[str] = "user ids"

    createdBy = IdFilter(load_default=None, description="Ids of authors, such as IS:1 or IS_ANY_OF:1,2.")
    state = OneOf(
        frozenset({"IS:open", "IS:closed"}),
        "IS:open or IS:closed",
        load_default=None,
        description="IS:open for those that can still be applied, or IS:closed.",
    )
    offset = WholeNumber(min=0, load_default=0, description="Number of change requests to skip.")
    limit = WholeNumber(min=1, max=1000, load_default=50, description="Maximum number of change requests to return.")
