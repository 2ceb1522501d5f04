"""The web UI of Unleash 8.2 in front of this service: every page gets what it asks for, and none reports an error."""

import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.demo import ADMIN, OWNER, VIEWER
from tests.support.service import Service, wait_until
from tests.support.unleash_ui import UnleashUi
from tests.support.window import Window

pytestmark = pytest.mark.slow
Walk = Callable[[str, list[tuple[str, str]]], list[str]]

# The path of each page, and a request of it after /api/admin/. The UI sends those of paid parts only if it shows the
# page and not a notice.
PAGES = """
    /personal                                             personal-dashboard
    /projects                                             projects
    /projects-archive                                     projects
    /search                                               flag-creators
    /search?lifecycle=IS:archived                         lifecycle/count
    /playground                                           context
    /applications                                         metrics/applications
    /applications/{application}                           metrics/applications/{application}/overview
    /context                                              context
    /context/edit/{field}                                 context/{field}/strategies
    /feature-toggle-type                                  feature-types
    /strategies                                           strategies
    /strategies/flexibleRollout                           metrics/applications
    /tag-types                                            tag-types
    /tag-types/edit/simple                                tag-types/simple
    /segments                                             segments
    /segments/edit/{segment}                              segments/{segment}
    /environments                                         permissions
    /environments/development                             environments/development
    /history                                              search/events
    /insights                                             insights
    /unknown-flags                                        metrics/unknown-flags
    /profile                                              user/profile
    /profile/personal-api-tokens                          user/tokens
    /admin/users                                          user-admin
    /admin/users/1/edit                                   user-admin/1
    /admin/users/1/access                                 user-admin/1/permissions
    /admin/invite-link                                    invite-link/tokens
    /admin/service-accounts                               service-account
    /admin/groups                                         groups
    /admin/groups/{group}                                 groups/{group}
    /admin/roles                                          roles
    /admin/roles/project-roles                            roles
    /admin/api                                            api-tokens
    /projects/checkout                                    projects/checkout/status
    /projects/checkout/applications                       projects/checkout/applications
    /projects/checkout/logs                               search/events
    /projects/checkout/settings                           projects/checkout/context
    /projects/checkout/settings/access                    projects/checkout/access
    /projects/checkout/settings/access/create             user-admin/access
    /projects/checkout/settings/environments              environments/project/checkout
    /projects/checkout/settings/api-access                projects/checkout/api-tokens
    /projects/checkout/settings/context                   projects/checkout/context
    /projects/checkout/settings/segments                  segments
    /projects/checkout/settings/default-strategy          strategies
    /projects/checkout/features/{flag}                    projects/checkout/features/{flag}
    /projects/checkout/features/{flag}/metrics            client-metrics/features/{flag}/raw
    /projects/checkout/features/{flag}/variants           projects/checkout/context
    /projects/checkout/features/{flag}/settings           projects/checkout/features/{flag}
    /projects/checkout/features/{flag}/logs               search/events
    /projects/checkout/features/{flag}/copy               projects/checkout/features/{flag}
    /projects/checkout/features/{flag}/edit               feature-types
    /projects/checkout/features/{flag}/strategies/create?environmentId=production&strategyName=flexibleRollout
        projects/checkout/context
    /projects/checkout/features/{flag}/strategies/edit?environmentId=production&strategyId={strategy}
        projects/checkout/context
"""
# Requests for parts of Unleash that do not exist here, and for the flag default, as long as the UI knows no other: 404.
MISSING = re.compile(
    r"404 GET /api/admin/(insights/lifecycle|license/check|licensed-users|release-plan-templates|scim-settings"
    r"|user-access-requests|projects/Project/change-requests/config"
    r"|projects/checkout/features/default/parent-variants)(\?.*)?"
)
# Requests of users who read: of the profile for the name of their role and the login, and of a selection of tokens.
FORBIDDEN = re.compile(
    r"403 GET /api/admin/(roles(/\d+)?|auth/simple/settings|api-tokens|projects/checkout/api-tokens)"
)
# Ends when the page has nothing to do, or two seconds later.
IDLE = "return new Promise((done) => requestIdleCallback(done, { timeout: 2000 }))"
# What a user without the root role Admin sees.
PUBLIC = ("/personal", "/projects", "/search", "/playground", "/environments", "/insights", "/profile")


@pytest.fixture(scope="module")
def ui(demo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnleashUi]:
    """The UI, in front of a service with the demo."""
    with UnleashUi() as ui, Service(demo_url, tmp_path_factory.mktemp("service"), BASE_URL=ui.origin) as service:
        ui.service = service.port
        yield ui


@pytest.fixture(scope="module")
def pages(paths: dict[str, str]) -> list[tuple[str, str]]:
    """The path of each page, and its request."""
    words = iter(PAGES.format(**paths).split())
    return list(zip(words, words, strict=True))


@pytest.fixture
def walk(ui: UnleashUi, demo_url: str, session_window: Window) -> Iterator[Walk]:
    """A function that logs a user in and opens pages. It returns the requests of each page that were refused."""
    window = session_window.at(ui.origin)

    def refusals(path: str, request: str) -> list[str]:
        ui.requests.clear()
        window.visit(path)
        wanted = re.compile(rf"200 GET /api/admin/{re.escape(request)}(\?.*)?")
        wait_until(lambda: any(map(wanted.fullmatch, ui.requests)), f"{path} asked for {request}")
        # The UI draws the response, and reports an error to the service.
        window.run(IDLE)
        wait_until(lambda: ui.waiting == 0, f"{path} was complete")
        return [line for line in ui.requests if not line.startswith("2")]

    def walk(user: str, pages: list[tuple[str, str]]) -> list[str]:
        window.log_in(demo_url, user)
        return [f"{path}: {line}" for path, request in pages for line in refusals(path, request)]

    window.forget()
    yield walk
    window.forget()


def unexpected(refusals: list[str], *patterns: re.Pattern[str]) -> list[str]:
    return [line for line in refusals if not any(pattern.fullmatch(line.split(": ")[1]) for pattern in patterns)]


def test_every_page_works_for_an_administrator(walk: Walk, pages: list[tuple[str, str]]) -> None:
    assert unexpected(walk(ADMIN, pages), MISSING) == []


def test_pages_work_for_an_owner_of_a_project(walk: Walk, pages: list[tuple[str, str]]) -> None:
    own = [(path, request) for path, request in pages if path.startswith((*PUBLIC, "/projects/checkout"))]
    assert unexpected(walk(OWNER, own), MISSING, FORBIDDEN) == []


def test_pages_work_for_a_viewer(walk: Walk, pages: list[tuple[str, str]]) -> None:
    public = [(path, request) for path, request in pages if path in (*PUBLIC, "/projects/checkout")]
    assert unexpected(walk(VIEWER, public), MISSING, FORBIDDEN) == []
