"""What no client should send to any route: bodies that are not JSON, paths that are not text, and other methods."""

import json
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest
from psycopg import Rollback
from werkzeug.test import TestResponse

from serving.body_limits import PUBLIC_BYTES
from serving.cross_origin import PATHS
from tests.access import FAMILIES, PARAMETER, ROUTES, ROWS, Family, Stage, parameters
from tests.support.fingerprint import fingerprint
from tests.support.hostile import (
    NO_JSON,
    NO_OBJECT,
    NO_VALUES,
    OTHER_TYPES,
    REFUSING,
    REPORTED,
    REPORTS,
    WITH_BODIES,
    description,
    report_statuses,
    with_bodies,
)
from tests.support.verdicts import CLOSED, changed, verdict

pytestmark = pytest.mark.slow

HOSTILE_WORDS = """
    %00 a%00b %ff %c3%28 %ed%a0%80 %f0%80%80%80 %zz % %2 %% .. . %2e%2e %2E %2F / ..%2F..%2Fetc%2Fpasswd
    %2f%2f %5c ..%5c ; a;b=c : * %25 %2500 %252e%252e + %20 %09 %0a %0d%0aX-Evil:%201 '%20OR%20'1'='1
    %27;%20DROP%20TABLE%20users;-- %25(id)s %25s $1 <script> {{7*7}} [] null None undefined NaN true 0 -1
    1e999 __proto__ constructor %E2%80%AE %E2%80%8B %EF%BB%BF %F0%9F%8E%89 a%CC%81 %u0041 & = @ # %7f %80 ~
""".split()
HOSTILE_WORDS += ["", "\xe9", "9" * 400, "x" * 100_000, "%00" * 10_000]
# Behind or before the right word: what a lenient reader would take for it.
DISGUISES = """
    {}%00 %00{} {}%20 %20{} {}%0a {}%09 {}. {};x=1 {}%2F {}/ /{} ./{} {}%2F.. {}%E2%80%8B {}%ff {}%
""".split()
HOSTILE_QUERIES = """
    = & &&& =&= ? ??a ; # % %zz=%zz a[b]=1 limit[]=1 limit%00=0 __proto__=1
""".split()

# Whatever the document allows, but no bug.
ANY = set(range(200, 500))
# By route, its place among all.
NUMBERS = {route: number for number, route in enumerate(ROUTES)}
UNASKED = [(b"{", "application/json"), (b"\xff", "multipart/form-data; boundary=x"), (b"[" * 10_000, "\xff")]
# Every member of the context of a user is a property of the user, or ignored.
CONTEXTS = {"POST /api/frontend", "POST /ofrep/v1/evaluate/flags", "POST /ofrep/v1/evaluate/flags/<feature_name>"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "WHATEVER")


def routes(family: Family) -> list[str]:
    """The routes of a family that are closed to strangers."""
    return [row.route for row in family.firsts]


def worse(body: Any) -> list[str]:
    """A body as JSON text with its first field, or that of its first item, twice, and as whatever no field can be."""
    if isinstance(body, list):
        return [f"[{text}]" for item in body[:1] for text in worse(item)]
    if not isinstance(body, dict) or not body:
        return []
    [(name, right), *others] = body.items()
    rest = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in others)
    twice = f"{{{json.dumps(name)}: {json.dumps(right)}{rest}, {json.dumps(name)}: {json.dumps(right)}}}"
    return [twice, *(f"{{{json.dumps(name)}: {text}{rest}}}" for text in NO_VALUES[7:])]


def is_context(body: Any) -> bool:
    """Return whether a body is JSON with one context, which is an object."""
    try:
        return isinstance(json.loads(body)["context"], dict) and body.count('"context"') == 1
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


def share(inputs: list[Any], route: str, of: int) -> list[Any]:
    """The share that a route gets of what the same code reads for all of them: of so many routes that follow each
    other, one gets each.
    """
    return inputs[NUMBERS[route] % of :: of]


def path_of(stage: Stage, route: str, **others: str) -> str:
    """The path of a route as a server decodes it; others: words of it that are percent-encoded already."""
    words = {name: str(word) for name, word in stage.words(route).items()} | others
    path = PARAMETER.sub(lambda word: words[word[1]], route.split(" ")[1])
    return unquote_to_bytes(path).decode("latin-1")


def sent(stage: Stage, route: str, *, method: str = "", path: str = "", query: str = "", **kwargs: Any) -> TestResponse:
    """What Alice gets from a route, or by another method, at another path, held against the document.

    A success is undone.
    """
    environ = {"PATH_INFO": path or path_of(stage, route), "QUERY_STRING": query}
    with stage.conn.transaction():
        caller = stage.cast[stage.mightiest(route)]
        response = caller.request(method or route.split(" ")[0], "/", environ_overrides=environ, **kwargs)
        if not 400 <= response.status_code < 500:
            raise Rollback
    return response


def complaint(stage: Stage, route: str, expected: set[int], **kwargs: Any) -> list[str]:
    """What is wrong with an answer, in a list of one line; an empty list: nothing."""
    request = f"{route} {kwargs!a:.150}"
    try:
        response = sent(stage, route, **kwargs)
    except AssertionError as error:
        return [f"{request}: {error!s:.200}"]
    # This is the lowest maximum of all operations. tests/serving/test_body_limits.py tests each.
    if response.status_code == 413 and len(kwargs.get("data", "")) > PUBLIC_BYTES:
        return []
    return [] if response.status_code in expected else [f"{request}: {response.status_code} {response.text:.200}"]


def test_everything_is_sent_to_some_route() -> None:
    refusing = [family for family in FAMILIES if family.name not in {"account", REPORTED.name}]
    body = {NUMBERS[route] % 12 for family in refusing for route in with_bodies(family)}
    query = {NUMBERS[row.route] % 12 for row in ROWS}
    address = {NUMBERS[row.route] % 24 for row in ROWS if parameters(row.route)}
    assert (body, query, address) == ({*range(12)}, {*range(12)}, {*range(24)})


@pytest.mark.parametrize("family", REFUSING)
def test_a_body_that_is_no_json_is_refused(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    before, complaints = fingerprint(stage.conn), []
    for route in with_bodies(family):
        right = stage.body(route)
        none = [
            *NO_JSON,
            *worse(right),
            *(body for body in NO_OBJECT if not (isinstance(right, list) and body.startswith("["))),
        ]
        for body in share(none, route, 12):
            expected = 200 if route in CONTEXTS and is_context(body) else 400
            complaints += complaint(stage, route, {expected}, data=body, content_type="application/json")
        for content_type in share(OTHER_TYPES, route, 12):
            complaints += complaint(stage, route, {415}, data=json.dumps(right), content_type=content_type)
    verdict(complaints + changed(stage, before))


@pytest.mark.parametrize("route", REPORTS)
def test_a_report_that_is_no_json_is_refused_only_if_an_application_registers(stage: Stage, route: str) -> None:
    stage.furnish(REPORTED)
    right, (accepted, unreadable) = stage.body(route), report_statuses(route)
    twice, *wrong = worse(right)
    before, complaints = fingerprint(stage.conn), []
    for body in share([*NO_JSON, *wrong, *NO_OBJECT], route, 4):
        complaints += complaint(stage, route, {unreadable}, data=body, content_type="application/json")
    # The last of two names counts. The type does not matter.
    complaints += complaint(stage, route, {accepted}, data=twice, content_type="application/json")
    for content_type in OTHER_TYPES:
        complaints += complaint(stage, route, {accepted}, data=json.dumps(right), content_type=content_type)
    verdict(complaints + changed(stage, before))


@pytest.mark.parametrize("family", WITH_BODIES)
def test_a_long_text_is_refused_or_accepted_unchanged(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    complaints = []
    for route in with_bodies(family):
        body = stage.body(route)
        for field in body if isinstance(body, dict) else ():
            complaints += complaint(stage, route, ANY, json=body | {field: "\u00e9" * 400_000})
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_an_unneeded_body_is_ignored(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    complaints = []
    for route in routes(family):
        if "requestBody" not in description(route):
            query = stage.props[family.name].queries.get(route, "").removeprefix("?")
            usual = {sent(stage, route, query=query).status_code}
            for body, content_type in share(UNASKED, route, 3):
                complaints += complaint(stage, route, usual, query=query, data=body, content_type=content_type)
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_an_address_that_is_none_is_refused_or_not_there(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    complaints = []
    for route in routes(family):
        body = stage.body(route)
        for name in parameters(route):
            right = quote(str(stage.words(route)[name]), safe="")
            for word in share([*HOSTILE_WORDS, *(disguise.format(right) for disguise in DISGUISES)], route, 24):
                path = path_of(stage, route, **{name: word})
                complaints += complaint(stage, route, ANY, path=path, **({} if body is None else {"json": body}))
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_a_long_or_odd_query_does_no_harm(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    odd, complaints = [*HOSTILE_QUERIES, "%ff=1", "\xff", "%00=1", "x" * 200_000, "a=1&" * 20_000, "=" * 10_000], []
    for route in routes(family):
        body = stage.body(route)
        for query in share(odd, route, 12):
            complaints += complaint(stage, route, ANY, query=query, **({} if body is None else {"json": body}))
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_other_methods_are_refused_and_head_is_get(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    stranger, before, complaints = stage.cast["stranger"], fingerprint(stage.conn), []
    for route in {route.split(" ")[1]: route for route in routes(family)}.values():
        path = path_of(stage, route)
        allowed = stage.world.app.url_map.bind("localhost").allowed_methods(path)
        # Browsers send OPTIONS before a request of another origin.
        answered = {*allowed, "OPTIONS"} if path.startswith(PATHS) else allowed
        refused = share([method for method in METHODS if method not in answered], route, 3)
        for method in refused:
            complaints += complaint(stage, route, {405}, method=method, path=path)
        # What a stranger gets is no other.
        assert stranger.request(refused[0], "/", environ_overrides={"PATH_INFO": path}).status_code == 405
        if "GET" in allowed:
            get, head = (sent(stage, route, method=method, path=path) for method in ("GET", "HEAD"))
            if (head.status_code, head.content_length, head.data) != (get.status_code, get.content_length, b""):
                complaints.append(
                    f"{route}: HEAD is {head.status_code} {head.content_length}, GET "
                    f"{get.status_code} {get.content_length}"
                )
    verdict(complaints + changed(stage, before))
