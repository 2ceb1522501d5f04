"""The two event searches, and the one list of event types."""

from typing import Any

from marshmallow import post_load

from validators import Body, Query
from validators.fields import Day, Filter, IdFilter, Integer, OneOf, Text, WholeNumber

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


class EventSearch(Query):
    """The query parameters of GET /api/admin/search/events (api.md 3), as the filters of sql/events.py, with limit and offset."""

    query = Text(max=QUERY_MAX)
    feature = Filter()
    project = Filter()
    type = Filter()
    createdBy = IdFilter()
    from_ = Day(prefix="IS:", data_key="from")
    to = Day(prefix="IS:")
    offset = WholeNumber(min=0, load_default=0)
    limit = WholeNumber(min=1, max=1000, load_default=50)

    @post_load
    def as_filters(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """One value is named in the singular, several in the plural."""
        filters: dict[str, Any] = {"limit": asked["limit"], "offset": asked["offset"]}
        for name, one, many in (
            ("feature", "feature", "features"),
            ("project", "project", "projects"),
            ("type", "type", "types"),
            ("createdBy", "creator", "creators"),
        ):
            if name in asked:
                values = asked[name]
                filters |= {one: values[0]} if len(values) == 1 else {many: values}
        if "from_" in asked:
            filters["first_day"] = asked["from_"]
        if "to" in asked:
            filters["last_day"] = asked["to"]
        if asked.get("query"):
            filters |= {"payload": True, "pattern": literal(asked["query"])}
        return filters


class DeprecatedEventSearch(Body):
    """The body of POST /api/admin/events/search (api.md 9), as the filters of sql/events.py, with limit and offset. Its schema is open."""

    class Meta(Body.Meta):
        unknown = "exclude"

    # Our choice: api.md calls this "one of the event types"; in the GET search an unknown type matches nothing.
    type = OneOf(TYPES, "one of the event types")
    project = Text()
    feature = Text()
    query = Text(max=QUERY_MAX)
    limit = Integer(min=1, max=100, load_default=100)
    offset = Integer(min=0, load_default=0)

    @post_load
    def as_filters(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Offset 0 means the same as none: from the newest."""
        query = asked.pop("query", "")
        filters = {**asked, "offset": asked["offset"] or None}
        return filters | {"text": True, "pattern": literal(query)} if query else filters


def literal(text: str) -> str:
    """A PostgreSQL regular expression that matches this text, whatever characters it holds."""
    return "***=" + text
