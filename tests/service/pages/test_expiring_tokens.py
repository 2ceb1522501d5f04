"""Tokens that expire within 7 days: pages name them to people who may read them."""

from datetime import UTC, datetime, timedelta

import pytest

from serving import clock
from tests.support.metrics import TOKEN, Scraped
from tests.support.page import open_page
from tests.support.world import Caller, World


def in_days(number: float) -> datetime:
    """Return the time in so many days."""
    return datetime.now(UTC) + timedelta(days=number)


@pytest.fixture
def keys(world: World) -> None:
    """Two API tokens that expire soon, and others."""
    world.api_key("admin", "ci", expires_at=in_days(5))
    world.api_key("client", "edge", expires_at=in_days(6))
    for name, expiry in (("later", in_days(8)), ("past", in_days(-1)), ("never", None)):
        world.api_key("client", name, expires_at=expiry)


def warnings(caller: Caller, path: str) -> list[str]:
    """The notices that warn on a page."""
    return open_page(caller, path).texts(".//div[@class='notice warn']")


@pytest.mark.usefixtures("keys")
def test_projects_and_admin_name_the_tokens_that_the_reader_may_read(alice, eve, victor) -> None:
    for path in ("/", "/admin"):
        assert warnings(alice, path) == ["2 API tokens expire within 7 days: ci, edge."]
        # Editors read no admin tokens.
        assert warnings(eve, path) == ["1 API token expires within 7 days: edge."]
        assert warnings(victor, path) == []
    assert open_page(alice, "/").links["2 API tokens expire"] == "/admin/api-tokens"


def test_many_tokens_are_counted(world: World, alice: Caller) -> None:
    for number in range(7):
        world.api_key("client", f"key-{number}", expires_at=in_days(6))
    assert warnings(alice, "/admin") == [
        "7 API tokens expire within 7 days: key-0, key-1, key-2, key-3, key-4 and 2 more."
    ]


def test_the_profile_names_own_personal_tokens(victor: Caller) -> None:
    for name, expiry in (("laptop", in_days(6)), ("server", in_days(8))):
        victor.post("/api/admin/user/tokens", json={"description": name, "expiresAt": expiry.isoformat()})
    assert warnings(victor, "/profile") == ["1 token expires within 7 days: laptop."]


def test_a_gauge_counts_them(make_app, make_database) -> None:
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    body = {"type": "client", "tokenName": "edge", "environment": "development", "expiresAt": in_days(6).isoformat()}
    assert scraped.admin.post("/api/admin/api-tokens", json=body).status_code == 201
    with scraped.app.app_context():
        clock.run_jobs()
    assert scraped.total("tokens_expiring") == 1
