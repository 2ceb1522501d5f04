"""What is hidden or elsewhere is as good as nothing: its answers and those for what does not exist are the same, for
every route.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from sql.database import value
from sql.people import personal_tokens
from tests.access import FAMILIES, ROUTES, Family, RouteWorld, parameters
from tests.support.fingerprint import fingerprint
from tests.support.openapi_document import DOCUMENT
from tests.support.verdicts import CLOSED, Asked, answer, changed, verdict
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

# Nothing has these.
MISSING = {"segment_id": 2**31 - 3, "strategy_id": "no-such-strategy"}
# What a path names within a project, and what a project has of it beside.
WITHIN = ("feature_name", "strategy_id", "parent")


def of(route_world: RouteWorld, route: str, project: str) -> Asked:
    """What asks a route for the things of a project."""
    words = route_world.words(route, project)
    if project == "nowhere":
        words |= {name: missing for name, missing in MISSING.items() if name not in words or name == "strategy_id"}
    body = route_world.body(route, project)
    names = [project, f"flag-of-{project}", f"parent-in-{project}", f"archived-in-{project}", f"old-flag-of-{project}"]
    return Asked(words, body, "", [*names, *(str(words[name]) for name in MISSING if name in words)])


def with_word(here: Asked, call: Asked, word: str) -> Asked:
    """The request here, but with one word of the path of another one."""
    return replace(call, words=here.words | {word: call.words[word]}, body=here.body)


def pairs(route_world: RouteWorld, route: str) -> Iterator[tuple[str, Asked, Asked]]:
    """Requests for things of apollo, and the same for what does not exist; none for a route without such things."""
    there, nowhere, here = (of(route_world, route, project) for project in ("apollo", "nowhere", "default"))
    asks_for = [word for word in ("project_id", *WITHIN, "segment_id") if word in parameters(route)]
    for word in asks_for:
        yield word, with_word(here, there, word), with_word(here, nowhere, word)
    if len(asks_for) > 1:
        yield "all", there, nowhere
    if there.body != nowhere.body:
        yield "body", replace(there, words=here.words), replace(nowhere, words=here.words)
        yield "all", there, nowhere


def differences(
    route_world: RouteWorld, caller: Caller, route: str, what: str, there: Asked, nowhere: Asked
) -> list[str]:
    """The difference between the answers, in a list of one line. An empty list: none."""
    one, other = (answer(route_world, caller, route, call) for call in (there, nowhere))
    return [] if one == other else [f"{route} by {what}: {one!s:.400}\n    but {other!s:.400}"]


# Strangers

WRONG = (
    {"Authorization": "forged"},
    {"Authorization": "user:" + "0" * 64},
    {"Cookie": "session=forged"},
    {"Authorization": "\xff"},
)


# The name of a flag is in every answer about it, whether there is such a flag or not.
REPEATING = "POST /ofrep/v1/evaluate/flags/<feature_name>"


def without_key(given: tuple[int, Any, str], asked: Asked) -> tuple[int, Any, str]:
    """An answer of REPEATING without what it repeats of the path."""
    status, headers, text = given
    body = json.loads(text)
    assert body.pop("key") in {asked.words["feature_name"].replace("\0", "\ufffd"), "NAME"}
    return status, headers, json.dumps(body)


@pytest.mark.parametrize("family", CLOSED)
def test_a_stranger_always_gets_the_same_answer(route_world: RouteWorld, app: Flask, family: Family) -> None:
    route_world.prepare(family)
    stranger, complaints = Caller(app), []
    for route in dict.fromkeys(row.route for row in family.rows):
        here = of(route_world, route, "default")
        asked = [here, *(call for _, *both in pairs(route_world, route) for call in both)]
        asked += [replace(here, words=dict.fromkeys(here.words, text)) for text in ("0", "no such thing", "\0", "%")]
        asked += [replace(here, body=body) for body in (None, [], {"name": "\0"})]
        requests: list[tuple[Asked, dict[str, str]]] = [(call, {}) for call in asked]
        requests += [(here, headers) for headers in WRONG]
        answers = set()
        for call, headers in requests:
            given = answer(route_world, stranger, route, call, **headers)
            answers.add(without_key(given, call) if route == REPEATING else given)
        if len(answers) > 1 or next(iter(answers))[0] != 401:
            complaints.append(f"{route}: {answers}")
    verdict(complaints)


def test_an_unknown_signup_token_is_one_like_another(route_world: RouteWorld, stranger: Caller) -> None:
    routes = [route for route, family in ROUTES.items() if route in family.public and parameters(route)]
    route_world.prepare(*(ROUTES[route] for route in routes))
    assert {tuple(parameters(route)) for route in routes} == {("token",)}
    for route in routes:
        right = route_world.words(route)["token"]
        wrong = [right[:-1], right.upper(), f"{right}0", "0" * len(right), "no such token", "%", "\0", "é"]
        asked = [Asked({"token": token}, route_world.body(route), names=[token]) for token in wrong]
        assert len({answer(route_world, stranger, route, call) for call in asked}) == 1, route


# Users who may not see a private project


@pytest.fixture
def powers(world: World, request: pytest.FixtureRequest) -> None:
    """What viewers may: as always; or whatever one can without administering, and still not see what is private."""
    if request.param:
        world.conn.execute(
            "INSERT INTO role_permissions (role_id, permission) SELECT 3, name FROM permissions WHERE name <> 'ADMIN'"
        )


@pytest.mark.usefixtures("powers")
@pytest.mark.parametrize("powers", [False, True], ids=["viewer", "mighty viewer"], indirect=True)
@pytest.mark.parametrize("family", CLOSED)
def test_records_of_a_hidden_project_look_like_unknown_records(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    outsider = route_world.cast["victor"]
    before, complaints = fingerprint(route_world.conn), []
    for route in dict.fromkeys(row.route for row in family.rows):
        for what, there, nowhere in pairs(route_world, route):
            complaints += differences(route_world, outsider, route, what, there, nowhere)
    verdict(complaints + changed(route_world, before))


def filters(route: str) -> list[str]:
    """The parameters of a query that take a text."""
    method, rule = route.split(" ")
    parameters = DOCUMENT["paths"].get(rule, {}).get(method.lower(), {"parameters": []})["parameters"]
    return [
        parameter["name"]
        for parameter in parameters
        if parameter["in"] == "query" and parameter["schema"].get("type") == "string"
    ]


FILTERED = [route for route in ROUTES if filters(route)]


@pytest.mark.parametrize("route", FILTERED)
def test_filters_treat_hidden_and_missing_alike(route_world: RouteWorld, route: str) -> None:
    alice, outsider = route_world.cast["alice"], route_world.cast["victor"]
    route_world.prepare(ROUTES[route])
    # That there is something to be found.
    for project in ("apollo", "default"):
        created = alice.post(f"/api/admin/projects/{project}/features", json={"name": f"new-in-{project}"})
        assert created.status_code == 201
    complaints = []
    for name in filters(route):
        for form in ("{}", "IS:{}", "IS_ANY_OF:{},default", "IS_NOT:{}", "IS_NONE_OF:{}"):
            for there, nowhere in (
                ("apollo", "nowhere"),
                ("new-in-apollo", "new-in-nowhere"),
                ("flag-of-apollo", "flag-of-nowhere"),
            ):
                both = (Asked({}, query=f"?{name}={form.format(call)}", names=[call]) for call in (there, nowhere))
                complaints += differences(route_world, outsider, route, f"{name} {form}", *both)
    verdict(complaints)


# What is elsewhere, asked for by those who see all


OF_PROJECTS = [entry for entry in FAMILIES if any("<project_id>" in row.route for row in entry.rows)]


@pytest.mark.parametrize("family", OF_PROJECTS, ids=lambda family: family.name)
def test_records_of_another_project_are_not_found(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    before, complaints = fingerprint(route_world.conn), []
    for route in dict.fromkeys(row.route for row in family.rows if "<project_id>" in row.route):
        here, nowhere = of(route_world, route, "default"), of(route_world, route, "nowhere")
        for elsewhere in ("hermes", "apollo"):
            there = of(route_world, route, elsewhere)
            for word in set(WITHIN) & set(parameters(route)):
                both = (with_word(here, call, word) for call in (there, nowhere))
                complaints += differences(route_world, route_world.cast["alice"], route, word, *both)
        if "strategy_id" in parameters(route):
            names = [route_world.strategies["default", "production"], MISSING["strategy_id"]]
            both = (replace(here, words=here.words | {"strategy_id": name}, names=names) for name in names)
            complaints += differences(
                route_world, route_world.cast["alice"], route, "strategy of another environment", *both
            )
    verdict(complaints + changed(route_world, before))


def test_records_of_other_users_are_404(route_world: RouteWorld, world: World) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    robot, other = (world.user(name, email=None, account_type="Service Account") for name in ("R2", "C3"))
    gone, human = world.user("Gone"), world.user("Human")
    route_world.cast["alice"].delete(f"/api/admin/user-admin/{gone.id}")
    tokens = {}
    for caller in (robot, other, human):
        personal_tokens.insert(world.conn, caller.id or 0, "one more", tomorrow)
        statement = "SELECT max(id) FROM personal_tokens WHERE user_id = %(id)s"
        tokens[caller.id] = value(world.conn, statement, {"id": caller.id})
    never = 2**31 - 3
    # By family: the word, of what is asked for what is not there, and what the others words are meanwhile.
    cases: list[tuple[str, str, list[Any], dict[str, Any]]] = [
        ("people.personal_tokens", "token_id", list(tokens.values()), {}),
        ("people.service_accounts", "token_id", [tokens[other.id], tokens[human.id]], {"account_id": robot.id}),
        ("people.service_accounts", "account_id", [human.id, gone.id, 1], {"token_id": tokens[human.id]}),
        ("people.users", "user_id", [robot.id, gone.id], {}),
        ("projects.access", "user_id", [gone.id], {}),
    ]
    before, complaints = None, []
    for name, word, ids, others in cases:
        family = next(entry for entry in FAMILIES if entry.name == name)
        route_world.prepare(family)
        before = fingerprint(route_world.conn)
        for route in dict.fromkeys(row.route for row in family.rows if word in parameters(row.route)):
            words = route_world.words(route) | others
            # The permissions of service accounts have the same address.
            for number in set(ids) - ({robot.id} if route.endswith("/permissions") else set()):
                both = (Asked(words | {word: id}, route_world.body(route), names=[str(id)]) for id in (number, never))
                complaints += differences(route_world, route_world.cast["alice"], route, f"{word} {number}", *both)
        complaints += changed(route_world, before)
    verdict(complaints)
