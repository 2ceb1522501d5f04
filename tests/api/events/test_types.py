"""The list of event types: as documented, and used by the one search that knows it."""

from tests.support.deprecated_event_search import PATH as DEPRECATED
from tests.support.event_search import PATH
from tests.support.event_types_page import recorded, unrecorded
from tests.support.service import ROOT
from tests.support.world import Caller
from validators.events import TYPES

# The documented words in their order, once more: TYPES must not be compared with itself.
SPECIFIED = """
    application-created feature-created feature-deleted feature-updated feature-metadata-updated
    feature-variants-updated feature-environment-variants-updated feature-project-change feature-archived
    feature-revived feature-import feature-tagged feature-tag-import feature-strategy-update feature-strategy-add
    feature-strategy-remove feature-type-updated feature-completed feature-uncompleted strategy-order-changed
    drop-feature-tags feature-untagged feature-stale-on feature-stale-off drop-features feature-environment-enabled
    feature-environment-disabled strategy-created strategy-deleted strategy-deprecated strategy-reactivated
    strategy-updated strategy-import drop-strategies context-field-created context-field-updated context-field-deleted
    project-access-added project-access-user-roles-updated project-access-group-roles-updated
    project-access-user-roles-deleted project-access-group-roles-deleted project-access-updated project-created
    project-updated project-deleted project-archived project-revived project-import project-user-added
    project-user-removed project-user-role-changed project-group-role-changed project-group-added project-group-removed
    role-created role-updated role-deleted drop-projects tag-created tag-deleted tag-import drop-tags tag-type-created
    tag-type-deleted tag-type-updated tag-type-import drop-tag-types addon-config-created addon-config-updated
    addon-config-deleted db-pool-update user-created user-updated user-deleted drop-environments environment-import
    environment-created environment-updated environment-deleted segment-created segment-updated segment-deleted
    group-created group-updated group-deleted group-user-added group-user-removed setting-created setting-updated
    setting-deleted client-metrics client-register pat-created pat-deleted public-signup-token-created
    public-signup-token-user-added public-signup-token-updated change-request-created change-request-discarded
    change-added change-discarded change-edited change-request-rejected change-request-approved
    change-request-approval-added change-request-cancelled change-request-sent-to-review
    change-request-schedule-suspended change-request-applied change-request-scheduled
    change-request-scheduled-application-success change-request-scheduled-application-failure
    change-request-configuration-updated api-token-created api-token-updated api-token-deleted feature-favorited
    feature-unfavorited project-favorited project-unfavorited features-exported features-imported
    service-account-created service-account-deleted service-account-updated feature-potentially-stale-on
    feature-dependency-added feature-dependency-removed feature-dependencies-removed banner-created banner-updated
    banner-deleted project-environment-added project-environment-removed default-strategy-updated segment-import
    signal-endpoint-created signal-endpoint-updated signal-endpoint-deleted signal-endpoint-token-created
    signal-endpoint-token-updated signal-endpoint-token-deleted actions-created actions-updated actions-deleted
"""


def test_the_types_are_the_documented_ones() -> None:
    words = SPECIFIED.split()
    assert len(words) == len(set(words)) == 146
    assert sorted(TYPES) == sorted(words)


def test_every_type_is_recorded_or_the_reason_documented() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for room in ("blueprints", "rules")
        for path in (ROOT / room).rglob("*.py")
        # Pages only show events.
        if "pages" not in path.parts
    )
    assert len(unrecorded()) == len(set(unrecorded()))
    assert sorted(recorded()) == sorted(type for type in TYPES if f'"{type}"' in code)
    assert sorted(TYPES - recorded().keys()) == sorted(unrecorded())


def test_each_type_can_be_searched_for_in_both_forms(alice: Caller) -> None:
    for type in SPECIFIED.split():
        assert alice.post(DEPRECATED, json={"type": type, "limit": 1}).status_code == 200, type
    everything = ",".join(SPECIFIED.split())
    assert (
        alice.get(PATH, query_string={"type": f"IS_ANY_OF:{everything}"}).json["total"]
        == alice.get(PATH).json["total"]
        > 0
    )
