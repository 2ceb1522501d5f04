"""The two event searches, and the one list of event types."""

import re
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body, Query
from validators.fields import Anything, Day, Filter, IdFilter, Integer, OneOf, Text, WholeNumber

TYPES = frozenset(
    """
    application-created
    feature-created feature-deleted feature-updated feature-metadata-updated feature-variants-updated
    feature-environment-variants-updated feature-project-change feature-archived feature-revived feature-import
    feature-tagged feature-tag-import feature-strategy-update feature-strategy-add feature-strategy-remove
    feature-type-updated feature-completed feature-uncompleted strategy-order-changed drop-feature-tags feature-untagged
    feature-stale-on feature-stale-off drop-features feature-environment-enabled feature-environment-disabled
    strategy-created strategy-deleted strategy-deprecated strategy-reactivated strategy-updated strategy-import drop-strategies
    context-field-created context-field-updated context-field-deleted
    project-access-added project-access-user-roles-updated project-access-group-roles-updated
    project-access-user-roles-deleted project-access-group-roles-deleted project-access-updated
    project-created project-updated project-deleted project-archived project-revived project-import
    project-user-added project-user-removed project-user-role-changed project-group-role-changed
    project-group-added project-group-removed
    role-created role-updated role-deleted drop-projects
    tag-created tag-deleted tag-import drop-tags
    tag-type-created tag-type-deleted tag-type-updated tag-type-import drop-tag-types
    addon-config-created addon-config-updated addon-config-deleted db-pool-update
    user-created user-updated user-deleted
    drop-environments environment-import environment-created environment-updated environment-deleted
    segment-created segment-updated segment-deleted
    group-created group-updated group-deleted group-user-added group-user-removed
    setting-created setting-updated setting-deleted
    client-metrics client-register pat-created pat-deleted
    public-signup-token-created public-signup-token-user-added public-signup-token-updated
    change-request-created change-request-discarded change-added change-discarded change-edited
    change-request-rejected change-request-approved change-request-approval-added change-request-cancelled
    change-request-sent-to-review change-request-schedule-suspended change-request-applied change-request-scheduled
    change-request-scheduled-application-success change-request-scheduled-application-failure
    change-request-configuration-updated
    api-token-created api-token-updated api-token-deleted
    feature-favorited feature-unfavorited project-favorited project-unfavorited
    features-exported features-imported
    service-account-created service-account-deleted service-account-updated
    feature-potentially-stale-on feature-dependency-added feature-dependency-removed feature-dependencies-removed
    banner-created banner-updated banner-deleted
    project-environment-added project-environment-removed default-strategy-updated segment-import
    signal-endpoint-created signal-endpoint-updated signal-endpoint-deleted
    signal-endpoint-token-created signal-endpoint-token-updated signal-endpoint-token-deleted
    actions-created actions-updated actions-deleted
    """.split()  # noqa: SIM905 (so many quotes would hide the words)
)


# Our choice: a longer text is no search. PostgreSQL needs minutes for a pattern of half a megabyte, and cannot be interrupted in it.
QUERY_MAX = 1000


class EventFilters(Query):
    """What both forms of GET /api/admin/search/events (api.md 3) are told of the events to find, as the filters of sql/events.py."""

    unsaid: ClassVar[str] = "user ids|Accept: application/x-ndjson"

    query = Text(
        max=QUERY_MAX, metadata={"description": "A text that the event's data, previous data or tags hold, in any case of letters."}
    )
    feature = Filter(metadata={"description": "Names of flags, such as IS:new-checkout or IS_ANY_OF:new-checkout,old-checkout."})
    project = Filter(metadata={"description": "Ids of projects, such as IS:default or IS_ANY_OF:default,shop."})
    type = Filter(metadata={"description": "Types of events, such as IS:feature-created or IS_ANY_OF:feature-created,feature-archived."})
    createdBy = IdFilter(metadata={"description": "Ids of the users who did it, such as IS:1 or IS_ANY_OF:1,2."})
    from_ = Day(prefix="IS:", data_key="from", metadata={"description": "First day, in UTC, such as IS:2026-01-01."})
    to = Day(prefix="IS:", metadata={"description": "Last day, in UTC, such as IS:2026-03-31."})

    @post_load
    def as_filters(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Beside the filters stay limit, and offset or after."""
        return filters(asked)


class EventSearch(EventFilters):
    """The query parameters of a search that is answered by one document: the filters, limit and offset."""

    offset = WholeNumber(min=0, load_default=0, metadata={"description": "How many events to skip. Not for application/x-ndjson."})
    limit = WholeNumber(
        min=1,
        max=1000,
        load_default=50,
        metadata={"description": "How many events to give, at most. For application/x-ndjson any number; without it, all."},
    )
    after = WholeNumber(
        min=0,
        metadata={"description": "For application/x-ndjson alone: the id after which to begin."},
    )

    @validates_schema
    def is_no_stream(self, asked: dict[str, Any], **_: Any) -> None:
        """Not ignored: who pages by it would get the same page for ever."""
        if "after" in asked:
            raise ValidationError("can only be used with Accept: application/x-ndjson", "after")


class EventLines(EventFilters):
    """The query parameters of a search that is answered by lines: the filters, limit (None: there is none) and after."""

    limit = WholeNumber(min=1, load_default=None)
    after = WholeNumber(min=0, load_default=0)
    offset = Anything()

    @validates_schema
    def is_no_page(self, asked: dict[str, Any], **_: Any) -> None:
        """Who skips lines by their number loses events."""
        if "offset" in asked:
            raise ValidationError("cannot be used with Accept: application/x-ndjson; use after", "offset")


def filters(asked: dict[str, Any]) -> dict[str, Any]:
    """The filters of sql/events.py for what was asked for, no value twice and one in the singular, and the rest of it as it is."""
    found = dict(asked)
    for name, one, many in (
        ("feature", "feature", "features"),
        ("project", "project", "projects"),
        ("type", "type", "types"),
        ("createdBy", "creator", "creators"),
    ):
        if name in found:
            values = list(dict.fromkeys(found.pop(name)))
            found |= {one: values[0]} if len(values) == 1 else {many: values}
    for name, filter in (("from_", "first_day"), ("to", "last_day")):
        if name in found:
            found[filter] = found.pop(name)
    if query := found.pop("query", ""):
        found |= {"payload": True, "like": within(query), "pattern": literal(query)}
    return found


class DeprecatedEventSearch(Body):
    """The body of POST /api/admin/events/search (api.md 9), as the filters of sql/events.py, with limit and offset. Its schema is open."""

    class Meta(Body.Meta):
        unknown = "exclude"

    example: ClassVar[dict[str, Any]] = {"type": "feature-created", "limit": 10}

    # Our choice: api.md calls this "one of the event types"; in the GET search an unknown type matches nothing.
    type = OneOf(TYPES, "one of the event types", metadata={"description": "Type of the event."})
    project = Text(metadata={"description": "Id of the project."})
    feature = Text(metadata={"description": "Name of the flag."})
    query = Text(
        max=QUERY_MAX,
        metadata={
            "description": "A text that the event's type, its creator, its data, previous data or tags hold, in any case of letters."
        },
    )
    limit = Integer(min=1, max=100, load_default=100, metadata={"description": "How many events to give, at most."})
    offset = Integer(
        min=0, load_default=0, metadata={"description": "Id of the event to start from, going on to older ones; 0: from the newest."}
    )

    @post_load
    def as_filters(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Offset 0 means the same as none: from the newest."""
        query = asked.pop("query", "")
        filters = {**asked, "offset": asked["offset"] or None}
        # By name: an index of the words of types would be taken for searches for one type as well, and is worse at that.
        named = [type for type in sorted(TYPES) if query.lower() in type]
        return filters | {"text": True, "like": within(query), "pattern": literal(query), "types_named": named} if query else filters


def literal(text: str) -> str:
    """A PostgreSQL regular expression that matches this text, whatever characters it holds."""
    return "***=" + text


def within(text: str) -> str:
    """A pattern of LIKE for what holds this text, whatever characters it has."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
