"""The requests of the two event searches, and the list of event types."""

import re
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import OpenBody, Query
from validators.fields import Anything, Integer, OneOf, Text
from validators.query_fields import Day, Filter, GroupFilter, IdFilter, WholeNumber

TYPES = frozenset(
    """
    application-created
    feature-created feature-deleted feature-updated feature-metadata-updated feature-variants-updated
    feature-environment-variants-updated feature-project-change feature-archived feature-revived feature-import
    feature-tagged feature-tag-import feature-link-added feature-link-updated feature-link-removed
    feature-strategy-update feature-strategy-add feature-strategy-remove
    feature-type-updated feature-completed feature-uncompleted strategy-order-changed drop-feature-tags feature-untagged
    feature-stale-on feature-stale-off drop-features feature-environment-enabled feature-environment-disabled
    strategy-created strategy-deleted strategy-deprecated strategy-reactivated strategy-updated strategy-import
    drop-strategies
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
    features-exported features-imported instance-imported
    service-account-created service-account-deleted service-account-updated
    feature-potentially-stale-on feature-dependency-added feature-dependency-removed feature-dependencies-removed
    banner-created banner-updated banner-deleted
    project-environment-added project-environment-removed default-strategy-updated segment-import
    signal-endpoint-created signal-endpoint-updated signal-endpoint-deleted
    signal-endpoint-token-created signal-endpoint-token-updated signal-endpoint-token-deleted
    actions-created actions-updated actions-deleted
    """.split()  # noqa: SIM905 (so many quotes would hide the words)
)


# Our choice: the maximum length of a search text. PostgreSQL needs minutes for a pattern of half a megabyte, and the
# statement cannot be cancelled during this time.
QUERY_MAX = 1000


# Names of parameters and of their filters in sql/events.py, where they differ.
RENAMED = {"from_": "first_day", "to": "last_day", "id": "ids", "groupId": "groups"}


class EventFilters(Query):
    """The filters of GET /api/admin/search/events, for a page and for a stream of events."""

    beyond_json_schema: ClassVar[str] = "user ids|token ids|event ids|Accept: application/x-ndjson"

    query = Text(
        max=QUERY_MAX, description="Text that the data, previous data or tags of the event contain, ignoring case."
    )
    feature = Filter(description="Names of flags, such as IS:new-checkout or IS_ANY_OF:new-checkout,old-checkout.")
    project = Filter(description="Ids of projects, such as IS:default or IS_ANY_OF:default,shop.")
    type = Filter(
        description="Types of events, such as IS:feature-created or IS_ANY_OF:feature-created,feature-archived."
    )
    createdBy = IdFilter(description="Ids of the users who made the change, such as IS:1 or IS_ANY_OF:1,2.")
    createdByToken = IdFilter(
        "token", description="Ids of the API tokens that made the change, also deleted ones, such as IS:1."
    )
    environment = Filter(
        description="Names of environments, such as IS:production or IS_ANY_OF:development,production."
    )
    id = IdFilter("event", description="Ids of events, such as IS:42 or IS_ANY_OF:42,43.")
    groupId = GroupFilter(
        "change-request-<id> or event",
        description="Ids of events, such as IS:42, or change requests, such as IS:change-request-7. Returns all events "
        "of the same import, bulk change, request or applied change request.",
    )
    from_ = Day(prefix="IS:", data_key="from", description="First day in UTC, such as IS:2026-01-01.")
    to = Day(prefix="IS:", description="Last day in UTC, such as IS:2026-03-31.")

    @post_load
    def as_filters(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the filters for sql/event_search.py, and limit, offset and after as they are."""
        return filters(data)


class EventSearch(EventFilters):
    """The query parameters of a page of events: the filters, limit and offset."""

    offset = WholeNumber(
        min=0, load_default=0, description="Number of events to skip. Invalid for application/x-ndjson."
    )
    limit = WholeNumber(
        min=1,
        max=1000,
        load_default=50,
        description="Maximum number of events to return. For application/x-ndjson, the default is all.",
    )
    after = WholeNumber(
        min=0, description="Only for application/x-ndjson: return the events after the one with this id."
    )

    @validates_schema
    def refuse_after(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse `after`. If it were ignored, a client that pages with it would get the same page forever."""
        if "after" in data:
            raise ValidationError("can only be used with Accept: application/x-ndjson", "after")


class EventStreamSearch(EventFilters):
    """The query parameters of a stream of events: the filters, limit (None for no limit) and after."""

    limit = WholeNumber(min=1, load_default=None)
    after = WholeNumber(min=0, load_default=0)
    offset = Anything()

    @validates_schema
    def refuse_offset(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse `offset`. A client that skips events by their number would miss some."""
        if "offset" in data:
            raise ValidationError("cannot be used with Accept: application/x-ndjson; use after", "offset")


class EventsForm(Query):
    """The filters of the page of events, as its form sends them. Fields that are not filled in are omitted."""

    query = Text(max=QUERY_MAX)
    flag = Text(max=QUERY_MAX)
    feature = Text()
    project = Text()
    environment = Text()
    type = OneOf(TYPES, "one of the event types")
    createdBy = WholeNumber(min=1)
    from_ = Day(data_key="from")
    to = Day()
    offset = WholeNumber(min=0, load_default=0)

    @validates_schema
    def refuse_reversed_days(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a range without days. People have then swapped the fields."""
        if "from_" in data and "to" in data and data["from_"] > data["to"]:
            raise ValidationError("must not be before the first day", "to")

    @post_load
    def as_filters(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the filters for sql/event_search.py, and offset as it is."""
        names = ("feature", "project", "environment", "type", "createdBy")
        lists = {name: [data[name]] for name in names if name in data}
        part = {"flag_pattern": literal_pattern(data.pop("flag"))} if "flag" in data else {}
        return filters(data | lists) | part


class NewestEvents(Query):
    """The query parameters of GET /api/admin/events."""

    project = Text(description="Id of a project. By default, events of all projects.")


def filters(data: dict[str, Any]) -> dict[str, Any]:
    """Return the filters for sql/event_search.py.

    Duplicate values are removed. A filter with one value has its singular name, such as feature; one with several has
    its plural name, such as features. limit, offset and after are unchanged.
    """
    result = dict(data)
    for name, singular, plural in (
        ("feature", "feature", "features"),
        ("project", "project", "projects"),
        ("type", "type", "types"),
        ("createdBy", "creator", "creators"),
        ("createdByToken", "token", "tokens"),
        ("environment", "environment", "environments"),
    ):
        if name in result:
            values = list(dict.fromkeys(result.pop(name)))
            result |= {singular: values[0]} if len(values) == 1 else {plural: values}
    result |= result.pop("groupId", {})
    for name, filter in RENAMED.items():
        if name in result:
            result[filter] = result.pop(name)
    if query := result.pop("query", ""):
        result |= {"payload": True, "like": like_pattern(query), "pattern": literal_pattern(query)}
    return result


class DeprecatedEventSearch(OpenBody):
    """The body of POST /api/admin/events/search. Unknown properties are ignored."""

    example: ClassVar[dict[str, Any]] = {"type": "feature-created", "limit": 10}
    drops_nulls: ClassVar[bool] = False

    # Our choice: an unknown type is 400 here, because the specification says "one of the event types". In the GET
    # search it matches nothing.
    type = OneOf(TYPES, "one of the event types", description="Type of the event.")
    project = Text(description="Id of the project.")
    feature = Text(description="Name of the flag.")
    environment = Text(description="Name of the environment.")
    id = Integer(min=1, description="Id of the event.")
    groupId = Integer(
        min=1, description="Id of an event. Returns all events of the same import, bulk change or request."
    )
    query = Text(
        max=QUERY_MAX, description="Text in the type, creator, data, previous data or tags of the event, ignoring case."
    )
    limit = Integer(min=1, max=100, load_default=100, description="Maximum number of events to return.")
    offset = Integer(
        min=0,
        load_default=0,
        description="Id of the event to start from. Older events follow. 0 starts from the newest event.",
    )

    @post_load
    def as_filters(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the filters for sql/event_search.py, with limit and offset. offset 0 becomes None."""
        query = data.pop("query", "")
        ids = {filter: [data.pop(name)] for name, filter in RENAMED.items() if name in data}
        filters = {**data, **ids, "offset": data["offset"] or None}
        # Compare the text with the names of types here. For this, PostgreSQL would need an index on the words of types,
        # and it would use that index for searches for one type too, which are slower with it.
        types = [type for type in sorted(TYPES) if query.lower() in type]
        return (
            filters
            | {"text": True, "like": like_pattern(query), "pattern": literal_pattern(query), "types_named": types}
            if query
            else filters
        )


def literal_pattern(text: str) -> str:
    """Return a PostgreSQL regular expression that takes this text literally."""
    return "***=" + text


def like_pattern(text: str) -> str:
    """Return a LIKE pattern that matches texts with this text in them."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
