"""GET /api/admin/projects/{p}: the deprecated overview with flags."""

from tests.support.world import Caller, World

PATH = "/api/admin/projects/mobile"


def test_the_legacy_overview_is_the_health_report_without_counts(world: World, victor: Caller) -> None:
    world.project("mobile", description="An app", naming_pattern=".+")
    world.flag("checkout", "mobile", enabled_in=("production",))
    world.flag("archived", "mobile", archived_at="2026-01-01T00:00:00Z")
    report = victor.get(f"{PATH}/health-report").json
    for name in ("activeCount", "staleCount", "potentiallyStaleCount"):
        del report[name]
    response = victor.get(PATH)
    assert response.json == report
    assert [flag["name"] for flag in response.json["features"]] == ["checkout"]
    assert response.headers["Deprecation"] == "true"
    assert response.headers["Link"] == f'<http://localhost{PATH}/overview>; rel="successor-version"'


def test_the_link_to_the_successor_is_a_valid_address(victor: Caller) -> None:
    response = victor.get("/api/admin/projects/a%2F%3E%20b")
    assert (
        response.headers["Link"]
        == '<http://localhost/api/admin/projects/a%2F%3E%20b/overview>; rel="successor-version"'
    )
