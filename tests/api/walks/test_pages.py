"""What the pages of the web UI read when they load: each page with its requests and their statuses.

Parts that do not exist here are 404, and their pages show nothing or little instead: docs/reference/compatibility.md.
"""

from collections.abc import Iterator

import pytest

from tests.support.walks import ADMIN, FLAGS, PROJECT

SEARCH = f"{ADMIN}/search"
OF_PROJECT = "offset=0&limit=25&favoritesFirst=true&sortBy=createdAt&sortOrder=desc&project=IS%3Adefault"
SINCE = "from=IS%3A2025-11-22&to=IS%3A2026-11-22"
TIMELINE = (
    "type=IS_ANY_OF%3Astrategy-reactivated%2Cstrategy-updated%2Csegment-updated%2Csegment-deleted%2Cfeature-created"
    "%2Cfeature-updated%2Cfeature-variants-updated%2Cfeature-archived%2Cfeature-revived%2Cfeature-strategy-update"
    "%2Cfeature-strategy-add%2Cfeature-strategy-remove%2Cfeature-environment-enabled%2Cfeature-environment-disabled"
    "%2Crelease-plan-added%2Crelease-plan-removed%2Crelease-plan-milestone-started"
)

# The page, and what it asks for besides the configuration and the user.
PAGES = {
    "/personal": (
        f"{ADMIN}/environments",
        f"{SEARCH}/events?{SINCE}&{TIMELINE}",
        f"404 {ADMIN}/personal-dashboard",
    ),
    "/projects": (f"{ADMIN}/projects", f"{ADMIN}/user/profile", f"{ADMIN}/context"),
    "/projects/default": (
        f"{ADMIN}/projects",
        f"{ADMIN}/projects?archived=true",
        f"{ADMIN}/tags",
        f"{ADMIN}/feature-types",
        f"{PROJECT}/flag-creators",
        f"{PROJECT}/overview",
        f"{SEARCH}/features?{OF_PROJECT}",
        # The page has no flag to ask about yet, and asks about one called default.
        f"404 {FLAGS}/default/parent-variants",
    ),
    "/projects/default/insights": (f"404 {PROJECT}/insights",),
    "/projects/default/logs": (f"{SEARCH}/events?offset=0&limit=25&{SINCE}&project=IS%3Adefault",),
    "/projects/default/applications": (
        f"404 {PROJECT}/applications?offset=0&limit=25&sortBy=createdAt&sortOrder=desc",
    ),
    "/projects/default/settings/environments": (f"{ADMIN}/environments/project/default",),
    "/projects/default/settings/segments": (f"{ADMIN}/segments",),
    "/projects/default/settings/api-access": (f"{ADMIN}/api-tokens", f"{PROJECT}/api-tokens"),
    "/projects/default/settings/default-strategy": (f"{ADMIN}/strategies", f"{PROJECT}/overview"),
    "/projects/default/features/walk": (
        f"{ADMIN}/tag-types",
        f"{ADMIN}/tags/simple",
        f"{ADMIN}/features/walk/tags",
        f"{FLAGS}/walk?variantEnvironments=true",
        f"{FLAGS}/walk/parent-variants",
        f"{PROJECT}/dependencies",
        f"{ADMIN}/client-metrics/features/walk",
    ),
    "/projects/default/features/walk/metrics": (f"{ADMIN}/client-metrics/features/walk/raw?hoursBack=48",),
    "/projects/default/features/walk/logs": (f"{SEARCH}/events?offset=0&limit=25&{SINCE}&feature=IS%3Awalk",),
    "/projects/default/features/walk/strategies/create": (
        f"{ADMIN}/segments",
        f"{ADMIN}/context",
        f"{ADMIN}/strategies/flexibleRollout",
    ),
    "/archive": (f"{ADMIN}/archive/features", f"404 {ADMIN}/projects/undefined/overview"),
    "/search": (f"{SEARCH}/features?offset=0&limit=25&favoritesFirst=true&sortBy=createdAt&sortOrder=desc",),
    "/applications": (f"{ADMIN}/metrics/applications?offset=0&limit=25&sortBy=appName&sortOrder=asc",),
    "/context/edit/userId": (f"{ADMIN}/context/userId", f"{ADMIN}/context/userId/strategies"),
    "/strategies/flexibleRollout": (f"{ADMIN}/metrics/applications?",),
    "/integrations": (f"404 {ADMIN}/addons",),
    "/history": (f"{SEARCH}/events?offset=0&limit=25&{SINCE}",),
    "/admin": (f"404 {ADMIN}/instance-admin/statistics",),
    "/admin/users": (f"{ADMIN}/invite-link/tokens", f"{ADMIN}/user-admin"),
    "/admin/users/1/edit": (f"{ADMIN}/user-admin/1",),
    "/admin/users/1/access": (f"404 {ADMIN}/user-admin/1/permissions",),
    "/admin/network": (
        "404 /api/instance/trafficBundles",
        f"404 {ADMIN}/metrics/traffic-search?grouping=daily&from=2026-11-01&to=2026-11-30",
    ),
    "/admin/maintenance": (f"404 {ADMIN}/maintenance",),
    "/admin/billing": (f"404 {ADMIN}/invoices", "404 /api/instance/refresh"),
    "/admin/instance-privacy": (f"404 {ADMIN}/telemetry/settings",),
    "/profile/personal-api-tokens": (f"{ADMIN}/user/tokens",),
}


# The filters and the order of the list of flags of a project, and of the event log, as the UI writes them.
FILTERS = (
    f"{SEARCH}/features?archived=IS%3Atrue&{OF_PROJECT}",
    f"{SEARCH}/features?state=IS%3Astale&{OF_PROJECT}",
    f"{SEARCH}/features?type=IS_ANY_OF%3Arelease%2Cexperiment&{OF_PROJECT}",
    f"{SEARCH}/features?tag=INCLUDE%3Asimple%3Ateam&{OF_PROJECT}",
    f"{SEARCH}/features?createdBy=IS%3A1&{OF_PROJECT}",
    f"{SEARCH}/features?createdAt=IS_ON_OR_AFTER%3A2026-11-20&{OF_PROJECT}",
    f"{SEARCH}/features?segment=INCLUDE%3Aglobal&{OF_PROJECT}",
    f"{SEARCH}/features?query=walk&{OF_PROJECT}",
    f"{SEARCH}/features?sortBy=environment%3Adevelopment&sortOrder=asc&offset=0&limit=25&favoritesFirst=true",
    f"{SEARCH}/events?createdBy=IS%3A1&type=IS%3Afeature-created&feature=IS%3Awalk&project=IS%3Adefault&{SINCE}",
    f"{SEARCH}/events?query=walk&offset=0&limit=25&from=IS%3A2026-11-01&to=IS%3A2026-11-22",
)


def requests(page: str) -> Iterator[tuple[str, str, None, int]]:
    """The requests of a page."""
    for path in (f"{ADMIN}/ui-config", f"{ADMIN}/user", *PAGES[page]):
        status, _, path = f"200 {path}".rpartition(" ")
        yield "GET", path, None, 404 if "404" in status else 200


@pytest.mark.parametrize("page", PAGES)
def test_a_page_reads_what_it_shows(ui, page):
    flag = {"type": "release", "name": "walk", "description": "", "impressionData": False}
    ui.send(("POST", FLAGS, flag, 201), *requests(page))


@pytest.mark.parametrize("path", FILTERS)
def test_a_list_takes_its_filters(ui, path):
    ui.send(("GET", path, None, 200))
