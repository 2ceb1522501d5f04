"""The tables of tests/access/, for each caller and route, and which credentials count."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from contract.routes import api_rules
from sql.people import personal_tokens
from tests.access import FAMILIES, PLACES, ROUTES, ROWS, Family, RouteWorld, Row
from tests.support.fingerprint import fingerprint
from tests.support.verdicts import CLOSED, changed, verdict
from tests.support.world import Caller, refused

UPDATE_TOKEN = "PUT /api/admin/invite-link/tokens/<token>"
DELETE_STRATEGY = (
    "DELETE "
    "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>"
)
# What is asked of these with every credential is read by the same code for all the others.
ORIGINAL = [
    UPDATE_TOKEN,
    "GET /api/admin/insights",
    "GET /api/admin/search/events",
    "POST /api/admin/events/search",
    "GET /api/admin/projects/<project_id>/overview",
    "GET /api/admin/projects/<project_id>/access",
    DELETE_STRATEGY,
]
EVIL = "http://evil.example"
OPEN = [pytest.param(family, id=family.name) for family in FAMILIES if family.public]


# The table


def test_every_route_is_in_a_table_and_no_other(app: Flask) -> None:
    served = {f"{method} {rule.rule}" for rule in api_rules(app) for method in rule.methods or () if method != "HEAD"}
    # What the page of the documentation is made of.
    served -= {route for route in served if route.startswith("GET /docs/")}
    assert served - ROUTES.keys() == set(), "served, and in no table"
    assert ROUTES.keys() - served == set(), "in a table, and not served"


def test_every_route_has_its_rows_once_in_one_family() -> None:
    public = [route for family in FAMILIES for route in family.public]
    assert {row.route for row in ROWS} & set(public) == set()
    homes = Counter(route for family in FAMILIES for route in {row.route for row in family.rows} | family.public.keys())
    assert [route for route, count in homes.items() if count > 1] == [], "in several families"
    assert [key for key, count in Counter((row.route, row.project) for row in ROWS).items() if count > 1] == [], "twice"


@pytest.mark.parametrize("family", CLOSED)
def test_every_route_has_a_row_for_each_project(family: Family) -> None:
    for first in family.firsts:
        places = {row.project for row in family.rows if row.route == first.route}
        if "<project_id>" in first.route:
            assert places == PLACES, first.route
        else:
            # The effect of some depends on a project that is not in the path.
            assert places <= {"-", *PLACES}, first.route


@pytest.mark.parametrize("family", CLOSED)
def test_the_table(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    before = fingerprint(route_world.conn)
    complaints = []
    for row in family.rows:
        for name, expected in row.statuses.items():
            complaints += route_world.mismatch(row, name, route_world.cast[name], expected)
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("credential", ["bearer", "session"])
@pytest.mark.parametrize("route", ORIGINAL)
def test_the_table_holds_for_every_credential(route_world: RouteWorld, app: Flask, route: str, credential: str) -> None:
    headers = {}
    for name, caller in route_world.cast.items():
        if credential == "bearer" and caller.key:
            headers[name] = {"Authorization": f"Bearer {caller.key}"}
        elif credential == "session" and caller.id:
            headers[name] = {"Cookie": route_world.session_of(caller)}
    route_world.prepare(ROUTES[route])
    before = fingerprint(route_world.conn)
    complaints = []
    for row in ROWS:
        for name in headers if row.route == route else ():
            complaints += route_world.mismatch(row, name, Caller(app), row.statuses[name], **headers[name])
    verdict(complaints + changed(route_world, before))


def test_each_mismatch_is_reported(route_world: RouteWorld) -> None:
    route_world.prepare(ROUTES[UPDATE_TOKEN])
    row, eve = Row(UPDATE_TOKEN, "-", {}), route_world.cast["eve"]
    assert route_world.mismatch(row, "eve", eve, 403) == []
    [complaint] = route_world.mismatch(row, "eve", eve, 200)
    assert complaint.startswith(f'{UPDATE_TOKEN} - eve: expected 200, got 403 {{"id" : ')
    [complaint] = route_world.mismatch(row, "eve", eve, 403, "another reason")
    assert complaint.endswith("does not say: another reason")
    route_world.arguments["tokens.signup_tokens"].words.clear()
    assert route_world.mismatch(row, "eve", eve, 403) == [
        f"{UPDATE_TOKEN} - eve: expected 403, but prepare() has no words for {{'token'}}"
    ]


@pytest.mark.parametrize("family", OPEN)
def test_a_public_route_answers_every_caller_alike(route_world: RouteWorld, app: Flask, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route, status in family.public.items():
        row = Row(route, "-", {})
        for name, caller in route_world.cast.items():
            complaints += route_world.mismatch(row, name, caller, status)
        wrong = ({"Authorization": "forged"}, {"Authorization": ""}, {"Cookie": "session=forged"}, {"Origin": EVIL})
        for header in wrong:
            complaints += route_world.mismatch(row, str(header), Caller(app), status, **header)
    verdict(complaints)


def test_the_page_of_the_documentation_is_public(app: Flask, stranger: Caller) -> None:
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/docs/"):
            assert stranger.get(rule.rule).status_code == 200, rule.rule


# Credentials


@pytest.mark.parametrize("family", CLOSED)
def test_no_route_takes_a_wrong_credential(route_world: RouteWorld, app: Flask, family: Family) -> None:
    route_world.prepare(family)
    cookie = route_world.session_of(route_world.cast["alice"])
    before = fingerprint(route_world.conn)
    complaints = []
    for row in family.firsts:
        for headers in ({}, {"Authorization": "forged", "Cookie": cookie}, {"Cookie": "session=forged"}):
            complaints += route_world.mismatch(row, f"a stranger with {headers}", Caller(app), 401, **headers)
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("family", CLOSED)
def test_changes_by_cookie_from_other_sites_are_refused(route_world: RouteWorld, app: Flask, family: Family) -> None:
    route_world.prepare(family)
    headers = {"Cookie": route_world.session_of(route_world.cast["alice"]), "Origin": EVIL}
    before, message = fingerprint(route_world.conn), "must come from this service's own pages"
    complaints = []
    for row in family.firsts:
        if row.method != "GET" and not row.client_side:
            complaints += route_world.mismatch(row, "alice elsewhere", Caller(app), 403, message, **headers)
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("route", ORIGINAL)
def test_the_header_counts_whatever_the_cookie_is(route_world: RouteWorld, app: Flask, route: str) -> None:
    alice, victor = route_world.cast["alice"], route_world.cast["victor"]
    key = alice.key or ""
    expired = personal_tokens.insert(route_world.conn, alice.id or 0, "expired", datetime.now(UTC) - timedelta(days=1))
    cookie = route_world.session_of(alice)
    route_world.prepare(ROUTES[route], ROUTES[UPDATE_TOKEN])
    before = fingerprint(route_world.conn)
    assert route_world.ask(Caller(app), route, Cookie=cookie).status_code == 200
    schemes = ("", " ", "Bearer", "Bearer ", "Basic YWxpY2U6YQ==", "forged", "Bearer forged")
    for header in (*schemes, key[:-1], f"{key}0", key.upper(), expired, f"Bearer {expired}"):
        refused(route_world.ask(Caller(app), route, Cookie=cookie, Authorization=header), 401, "AuthenticationRequired")
    refused(route_world.ask(victor, UPDATE_TOKEN, Cookie=cookie), 403, "NoAccessError")
    assert fingerprint(route_world.conn) == before
    for cookie in ("session=forged", "session=", route_world.session_of(victor)):
        assert route_world.ask(alice, route, Cookie=cookie).status_code == 200


OWN_ORIGIN = "http://localhost"
OTHER_ORIGINS = (EVIL, "null", "https://localhost", f"{OWN_ORIGIN}:81", f"{OWN_ORIGIN}.evil.example")
FOREIGN = [
    *({"Origin": origin} for origin in OTHER_ORIGINS),
    *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    {"Origin": EVIL, "Sec-Fetch-Site": "same-origin"},
    *({"Origin": OWN_ORIGIN, "Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
]
OWN = [
    {},
    {"Origin": OWN_ORIGIN},
    *({"Sec-Fetch-Site": site} for site in ("same-origin", "none")),
    {"Origin": OWN_ORIGIN, "Sec-Fetch-Site": "same-origin"},
]


@pytest.mark.parametrize("route", ORIGINAL)
def test_only_a_change_by_cookie_must_come_from_our_own_pages(route_world: RouteWorld, app: Flask, route: str) -> None:
    cookie = route_world.session_of(route_world.cast["alice"])
    route_world.prepare(ROUTES[route])
    before = fingerprint(route_world.conn)
    for headers in FOREIGN + OWN:
        response = route_world.ask(Caller(app), route, Cookie=cookie, **headers)
        if headers in FOREIGN and not route.startswith("GET"):
            refused(response, 403, "NoAccessError")
        else:
            assert response.status_code == 200, headers
        for caller, cookies in ((route_world.cast["alice"], {}), (route_world.cast["admin"], {"Cookie": cookie})):
            assert route_world.ask(caller, route, **cookies, **headers).status_code == 200, headers
    assert fingerprint(route_world.conn) == before
