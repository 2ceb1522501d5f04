"""Requests that no client should send, for every route: bodies that are not JSON, paths that are not text, odd queries,
compressed bodies, other methods, headers of all kinds, patterns in filters.
"""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest
from psycopg import Rollback
from werkzeug.test import TestResponse

from contract import document as openapi
from serving.body_limits import PUBLIC_BYTES
from serving.cross_origin import PATHS
from tests.access import FAMILIES, PARAMETER, ROUTES, ROWS, Family, RouteWorld, parameters
from tests.support.fingerprint import fingerprint
from tests.support.openapi_document import DOCUMENT
from tests.support.verdicts import CLOSED, Asked, answer, changed, verdict
from tests.support.world import Caller, refused

pytestmark = pytest.mark.slow

NESTED = ["[" * depth + "]" * depth for depth in (900, 10_000)]
NESTED_OBJECTS = '{"a":' * 10_000 + "1" + "}" * 10_000
DIGITS = "9" * 5000
# What no field can be.
NO_VALUES = r"""
    1e400 -1e400 1e-400 NaN Infinity -Infinity nan undefined True None 'a' 0x10 01 +1 .5 1. 1_0 1e --1 // [[1,2],[3]]
    "\u0000" "a\u0000b" "\ud800" "\udfff" "\udc00\ud800" "a "\x41" "\u12" {"$gt":""} {"__proto__":{"admin":true}}
    {"toString":1} {"length":5}
""".split()
NO_VALUES += [
    "",
    "9" * 400,
    "-" + "9" * 400,
    DIGITS,
    '"\\ud83d x"',
    '"\x00"',
    '"a\nb"',
    "[" * 500_000,
    '{"a":' * 10_000,
]
NO_VALUES += [*NESTED, "[" * 100_000 + "]" * 100_000, NESTED_OBJECTS]
NO_JSON: list[Any] = r"""
    { } [ ] " {] {,} {"a"} {"a":} {a:1} {'a':1} {}{} x{} //{} undefined NaN Infinity - 1e a=1&b=2 <xml/> limit=1
    {"\ud8":1}
""".split()
NO_JSON += [b"", b" ", b"\n", b"{} x", b"\x00", b"{}\x00", b"\xff", b"\x80\x81", b"\xc3\x28", b"\xed\xa0\x80"]
NO_JSON += [b"\xff\xfe{\x00}\x00", b"\xfe\xff\x00{\x00}", b"\xef\xbb\xbf{}", b"\x1f\x8b\x08", b'{"a":"\t\x01"}']
NO_JSON += [b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--', '"' + "a" * 999_999]
NO_JSON += [DIGITS, NESTED[1], "[" * 500_000 + "]" * 500_000, "[" * 1_000_000, '{"a":' * 100_000, NESTED_OBJECTS]
NO_OBJECT = """null true false 0 1 1.5 1e400 "" "{}" [] [{}] [[]] ["enabled"]""".split()
NO_OBJECT += ["9" * 400, NESTED[0], "[" + "1," * 99_999 + "1]"]
OTHER_TYPES = """
    text/plain text/json application/jsonp application/json-patch+json application/vnd.api+json application/* */* json
    application/x-www-form-urlencoded multipart/form-data application/xml application/octet-stream ; ;;; application
    application/json/x a=b
""".split()
OTHER_TYPES += ["multipart/form-data; boundary=x", "application/json, text/plain", "text/plain; application/json"]
OTHER_TYPES += ["\xff", "x" * 10_000]
UNNEEDED = [(b"{", "application/json"), (b"\xff", "multipart/form-data; boundary=x"), (b"[" * 10_000, "\xff")]
HOSTILE_WORDS = """
    %00 a%00b %ff %c3%28 %ed%a0%80 %f0%80%80%80 %zz % %2 %% .. . %2e%2e %2E %2F / ..%2F..%2Fetc%2Fpasswd
    %2f%2f %5c ..%5c ; a;b=c : * %25 %2500 %252e%252e + %20 %09 %0a %0d%0aX-Evil:%201 '%20OR%20'1'='1
    %27;%20DROP%20TABLE%20users;-- %25(id)s %25s $1 <script> {{7*7}} [] null None undefined NaN true 0 -1
    1e999 __proto__ constructor %E2%80%AE %E2%80%8B %EF%BB%BF %F0%9F%8E%89 a%CC%81 %u0041 & = @ # %7f %80 ~
""".split()
HOSTILE_WORDS += ["", "\xe9", "9" * 400, "x" * 100_000, "%00" * 10_000]
# Around the right word: a lenient reader would ignore the rest.
DISGUISES = """
    {}%00 %00{} {}%20 %20{} {}%0a {}%09 {}. {};x=1 {}%2F {}/ /{} ./{} {}%2F.. {}%E2%80%8B {}%ff {}%
""".split()
HOSTILE_QUERIES = "= & &&& =&= ? ??a ; # % %zz=%zz a[b]=1 limit[]=1 limit%00=0 __proto__=1 %ff=1 \xff %00=1".split()
HOSTILE_QUERIES += ["x" * 200_000, "a=1&" * 20_000, "=" * 10_000]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "WHATEVER")
# Every member of the context of a user is a property of the user, or ignored.
CONTEXTS = {"POST /api/frontend", "POST /ofrep/v1/evaluate/flags", "POST /ofrep/v1/evaluate/flags/<feature_name>"}
CONTEXTS |= {"POST /api/frontend/all", "POST /api/frontend/features/<feature_name>"}
CONTEXTS.add("POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate")
# Whatever the document allows, but no bug.
ANY = set(range(200, 500))
# By route, its place among all.
NUMBERS = {route: number for number, route in enumerate(ROUTES)}


def description(route: str) -> dict[str, Any]:
    """The operation of a route in the OpenAPI document."""
    method, rule = route.split(" ")
    return DOCUMENT["paths"][openapi.path_of(rule)][method.lower()]


def with_bodies(family: Family) -> list[str]:
    """The routes of a family that need a body."""
    needed = (route for route in ROUTES if description(route).get("requestBody", {}).get("required"))
    return [route for route in needed if ROUTES[route] is family]


# A password is changed by session alone.
WITH_BODIES = [
    pytest.param(family, id=family.name) for family in FAMILIES if with_bodies(family) and family.name != "account"
]
# Usage is never refused for its body, and a registration only without the name of its application.
[REPORTED] = [family for family in FAMILIES if family.name == "client.reports"]
REPORTS = with_bodies(REPORTED)
REFUSING = [family for family in WITH_BODIES if family.id != REPORTED.name]


def report_statuses(route: str) -> tuple[int, int]:
    """The statuses of a report with a name, and of one that cannot be read."""
    accepted = 202 if "/api/client/" in route else 200
    return accepted, 400 if route.endswith("/register") else accepted


def worse(body: Any) -> list[str]:
    """A body as JSON text with its first field (or that of its first item) twice, and with each of NO_VALUES."""
    if isinstance(body, list):
        return [f"[{text}]" for item in body[:1] for text in worse(item)]
    if not isinstance(body, dict) or not body:
        return []
    [(name, right), *others] = body.items()
    rest = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in others)
    twice = f"{{{json.dumps(name)}: {json.dumps(right)}{rest}, {json.dumps(name)}: {json.dumps(right)}}}"
    return [twice, *(f"{{{json.dumps(name)}: {text}{rest}}}" for text in NO_VALUES)]


def is_context(body: Any) -> bool:
    """Return whether a body is JSON with one context, which is an object."""
    try:
        return isinstance(json.loads(body)["context"], dict) and body.count('"context"') == 1
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


def share(inputs: list[Any], route: str, of: int) -> list[Any]:
    """Return every n-th input. n consecutive routes together get all of them."""
    return inputs[NUMBERS[route] % of :: of]


def path_of(route_world: RouteWorld, route: str, **others: str) -> str:
    """The path of a route as a server decodes it. others: words of it that are percent-encoded already."""
    words = {name: str(word) for name, word in route_world.words(route).items()} | others
    path = PARAMETER.sub(lambda word: words[word[1]], route.split(" ")[1])
    return unquote_to_bytes(path).decode("latin-1")


def query_of(route_world: RouteWorld, route: str) -> str:
    """The query of a valid request, with its question mark."""
    return route_world.arguments[ROUTES[route].name].queries.get(route, "")


def sent(
    route_world: RouteWorld, route: str, *, method: str = "", path: str = "", query: str = "", **kwargs: Any
) -> TestResponse:
    """The documented response to a request of an administrator. A success is undone."""
    environ = {"PATH_INFO": path or path_of(route_world, route), "QUERY_STRING": query}
    with route_world.conn.transaction():
        caller = route_world.cast[route_world.most_privileged(route)]
        response = caller.request(method or route.split(" ")[0], "/", environ_overrides=environ, **kwargs)
        if not 400 <= response.status_code < 500:
            raise Rollback
    return response


def complaint(route_world: RouteWorld, route: str, expected: set[int], **kwargs: Any) -> list[str]:
    """What is wrong with a response, in a list of one line. An empty list: nothing."""
    request = f"{route} {kwargs!a:.150}"
    try:
        response = sent(route_world, route, **kwargs)
    except AssertionError as error:
        return [f"{request}: {error!s:.200}"]
    # This is the lowest maximum of all operations. tests/service/serving/test_body_limits.py tests each.
    if response.status_code == 413 and len(kwargs.get("data", "")) > PUBLIC_BYTES:
        return []
    return [] if response.status_code in expected else [f"{request}: {response.status_code} {response.text:.200}"]


def valid_body(route_world: RouteWorld, route: str) -> dict[str, Any]:
    """The argument of a request with a valid body, if the route takes one."""
    body = route_world.body(route)
    return {} if body is None else {"json": body}


def test_every_input_is_sent_to_some_route() -> None:
    refusing = [family for family in FAMILIES if family.name not in {"account", REPORTED.name}]
    body = {NUMBERS[route] % 12 for family in refusing for route in with_bodies(family)}
    query = {NUMBERS[row.route] % 12 for row in ROWS}
    address = {NUMBERS[row.route] % 24 for row in ROWS if parameters(row.route)}
    assert (body, query, address) == ({*range(12)}, {*range(12)}, {*range(24)})


# --- Bodies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", REFUSING)
def test_body_that_is_not_json_is_refused(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    before, complaints = fingerprint(route_world.conn), []
    for route in with_bodies(family):
        right = route_world.body(route)
        no_object = [body for body in NO_OBJECT if not (isinstance(right, list) and body.startswith("["))]
        for body in share([*NO_JSON, *worse(right), *no_object], route, 12):
            expected = 200 if route in CONTEXTS and is_context(body) else 400
            complaints += complaint(route_world, route, {expected}, data=body, content_type="application/json")
        for content_type in share(OTHER_TYPES, route, 12):
            complaints += complaint(route_world, route, {415}, data=json.dumps(right), content_type=content_type)
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("route", REPORTS)
def test_report_that_is_not_json_is_refused_only_if_an_application_registers(
    route_world: RouteWorld, route: str
) -> None:
    route_world.prepare(REPORTED)
    right, (accepted, unreadable) = route_world.body(route), report_statuses(route)
    twice, *wrong = worse(right)
    before, complaints = fingerprint(route_world.conn), []
    for body in share([*NO_JSON, *wrong, *NO_OBJECT], route, 4):
        complaints += complaint(route_world, route, {unreadable}, data=body, content_type="application/json")
    # The last of two names counts. The type does not matter.
    complaints += complaint(route_world, route, {accepted}, data=twice, content_type="application/json")
    for content_type in OTHER_TYPES:
        complaints += complaint(route_world, route, {accepted}, data=json.dumps(right), content_type=content_type)
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("family", WITH_BODIES)
def test_long_text(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route in with_bodies(family):
        body = route_world.body(route)
        for field in body if isinstance(body, dict) else ():
            complaints += complaint(route_world, route, ANY, json=body | {field: "\u00e9" * 400_000})
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_unneeded_body_is_ignored(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route in [row.route for row in family.firsts if "requestBody" not in description(row.route)]:
        query = query_of(route_world, route).removeprefix("?")
        usual = {sent(route_world, route, query=query).status_code}
        for body, content_type in share(UNNEEDED, route, 3):
            complaints += complaint(route_world, route, usual, query=query, data=body, content_type=content_type)
    verdict(complaints)


# Much smaller than its contents.
BOMB = zlib.compress(zlib.compress(b" " * 10_000_000, 9), 9)
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": bytes,
    "gzip, identity": gzip.compress,
    "deflate, deflate": lambda _: BOMB,
    "x": bytes,
}


@pytest.mark.parametrize("family", REFUSING)
def test_compressed_body_is_refused(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    before, complaints = fingerprint(route_world.conn), []
    for route in with_bodies(family):
        caller, right = (
            route_world.cast[route_world.most_privileged(route)],
            json.dumps(route_world.body(route)).encode(),
        )
        for coding, compress in COMPRESSED.items():
            response = route_world.send(
                caller, route, route_world.words(route), compress(right), **{"Content-Encoding": coding}
            )
            if response.status_code != 415:
                complaints.append(f"{route} {coding}: {response.status_code} {response.text:.100}")
        # Not compressed, with the right header.
        response = route_world.send(caller, route, route_world.words(route), right, **{"Content-Encoding": "identity"})
        assert response.status_code < 300, f"{route}: {response.text}"
        # Compressed, without the header.
        refused(route_world.send(caller, route, route_world.words(route), gzip.compress(right)))
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("route", REPORTS)
def test_compressed_report_cannot_be_read(route_world: RouteWorld, route: str) -> None:
    route_world.prepare(REPORTED)
    caller, right = route_world.cast[route_world.most_privileged(route)], json.dumps(route_world.body(route)).encode()
    before, (accepted, unreadable) = fingerprint(route_world.conn), report_statuses(route)
    for coding, compress in {**COMPRESSED, "identity": bytes, "": gzip.compress}.items():
        headers = {"Content-Encoding": coding} if coding else {}
        response = route_world.send(caller, route, {}, compress(right), **headers)
        # The header does not matter.
        assert response.status_code == (accepted if compress is bytes else unreadable), coding
    assert changed(route_world, before) == []


# --- Addresses and methods --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", CLOSED)
def test_hostile_path(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route in [row.route for row in family.firsts]:
        for name in parameters(route):
            right = quote(str(route_world.words(route)[name]), safe="")
            for word in share([*HOSTILE_WORDS, *(disguise.format(right) for disguise in DISGUISES)], route, 24):
                path = path_of(route_world, route, **{name: word})
                complaints += complaint(route_world, route, ANY, path=path, **valid_body(route_world, route))
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_hostile_query(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route in [row.route for row in family.firsts]:
        for query in share(HOSTILE_QUERIES, route, 12):
            complaints += complaint(route_world, route, ANY, query=query, **valid_body(route_world, route))
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_other_methods_are_refused_and_head_is_get(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    stranger, before, complaints = route_world.cast["stranger"], fingerprint(route_world.conn), []
    for route in {row.route.split(" ")[1]: row.route for row in family.firsts}.values():
        path = path_of(route_world, route)
        allowed = route_world.world.app.url_map.bind("localhost").allowed_methods(path)
        # Browsers send OPTIONS before a request of another origin.
        answered = {*allowed, "OPTIONS"} if path.startswith(PATHS) else allowed
        others = share([method for method in METHODS if method not in answered], route, 3)
        for method in others:
            complaints += complaint(route_world, route, {405}, method=method, path=path)
        # It is the same for a stranger.
        assert stranger.request(others[0], "/", environ_overrides={"PATH_INFO": path}).status_code == 405
        if "GET" in allowed:
            get, head = (sent(route_world, route, method=method, path=path) for method in ("GET", "HEAD"))
            if (head.status_code, head.content_length, head.data) != (get.status_code, get.content_length, b""):
                complaints.append(f"{route}: HEAD is {head.status_code}, {head.headers}; GET is {get.headers}")
    verdict(complaints + changed(route_world, before))


@pytest.mark.parametrize("family", CLOSED)
def test_method_in_a_header_or_a_query_is_ignored(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    alice, before, complaints = route_world.cast["alice"], fingerprint(route_world.conn), []
    for route in [row.route for row in family.firsts if row.method == "GET" and row.route != "GET /logout"]:
        words, query = route_world.words(route), query_of(route_world, route)
        usual = answer(route_world, alice, route, Asked(words, query=query))
        for method in ("DELETE", "PUT", "POST", "PATCH"):
            for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"):
                if answer(route_world, alice, route, Asked(words, query=query), **{header: method}) != usual:
                    complaints.append(f"{route} with {header}: {method}")
            changed_query = f"{query}{'&' if query else '?'}_method={method}"
            if answer(route_world, alice, route, Asked(words, query=changed_query)) != usual:
                complaints.append(f"{route} with _method={method}")
    verdict(complaints + changed(route_world, before))


# --- Headers ----------------------------------------------------------------------------------------------------------

HEADED = ["GET /api/admin/search/events", "PUT /api/admin/invite-link/tokens/<token>"]
CREDENTIALS = ["", " ", "Bearer", "Bearer ", "bearer\t", "Basic", "Basic YTpi", "Basic !!!", "Digest x=", "null"]
CREDENTIALS += ["\xff\xfe", "%00", "*:*." + "0" * 64, "x" * 100_000, "Bearer " * 1000, "a,b", "\x7f"]
CREDENTIALS += ["{}x", '"{}"', "Token {}", "Bearer Bearer {}", "{0},{0}", "{0} {0}", "Bearer: {}", "Basic {}"]
COOKIES = ["session", "session=\xff", "session=%00", "session=" + "x" * 100_000, "session=a; session=b", "=;=;", ";;;;"]
HOSTS = ("", "[", "[::1", "a b", "\xff", "a:b:c", "localhost:99999", "<script>", "a/b", "@")
SOURCES = [("Host", text) for text in HOSTS]
SOURCES += [("Origin", text) for text in ("", "null", "[", "http://[", "\xff", "http://evil.example")]
SOURCES += [("Sec-Fetch-Site", "x"), ("Sec-Fetch-Site", "\xff"), ("Referer", "http://[")]
HEADERS = [("X-Request-ID", text) for text in ("", "\xff", "a b", "{}", "x" * 100_000, "<script>", "%0d%0a")]
HEADERS += [("Accept", "image/png"), ("Accept", "\xff;q=x"), ("Accept-Encoding", "x"), ("Range", "bytes=5-1")]
HEADERS += [("If-Match", '"'), ("If-None-Match", "*"), ("X-Forwarded-For", "\xff, ::::"), ("X-Forwarded-Host", "[")]


@pytest.mark.parametrize("route", HEADED)
def test_hostile_credential_is_none(route_world: RouteWorld, route: str) -> None:
    route_world.prepare(ROUTES[route])
    before, key = fingerprint(route_world.conn), route_world.cast["alice"].key or ""
    headers = [{"Authorization": text.replace("{}", key).replace("{0}", key)} for text in CREDENTIALS]
    for header in [*headers, {"Authorization": key[:-1]}, *({"Cookie": text} for text in COOKIES)]:
        refused(route_world.ask(Caller(route_world.world.app), route, **header), 401, "AuthenticationRequired")
    verdict(changed(route_world, before))


@pytest.mark.parametrize("route", HEADED)
def test_other_headers_do_not_matter_to_a_token_and_can_only_refuse_a_session(
    route_world: RouteWorld, route: str
) -> None:
    route_world.prepare(ROUTES[route])
    alice, session = route_world.cast["alice"], {"Cookie": route_world.session_of(route_world.cast["alice"])}
    for name, text in HEADERS + SOURCES + [("Cookie", text) for text in COOKIES]:
        assert route_world.ask(alice, route, **{name: text}).status_code == 200, (name, text)
    for name, text in SOURCES:
        response = route_world.ask(Caller(route_world.world.app), route, **session, **{name: text})
        assert response.status_code in ({200} if route.startswith("GET") else {200, 403}), (name, text)


@pytest.mark.parametrize("host", ["x" * 64, "x" * 9999, "a..b", ".a"])
def test_host_that_is_none_is_refused(route_world: RouteWorld, host: str) -> None:
    route_world.prepare(ROUTES[HEADED[0]])
    refused(route_world.ask(route_world.cast["alice"], HEADED[0], Host=host))


# --- Filters ----------------------------------------------------------------------------------------------------------

# If they were read as patterns or statements, they would find nearly everything. No text of the world has any of them.
PATTERNS = r"""
    %e% e% %%e __e _%_ %_e% e.* .*e.* ^[a-z] [a-z]+ (e|o) e|o [[:alpha:]] '||'e %(query)s {query} e/**/ *e* ?e
    ~e !e~ <-> e:* \%e %e\ \w+
""".split()
PATTERNS += ["' OR 'a'='a", "x' OR true --", "x%' OR '%'='", '" OR 1=1 --', "x'; SELECT 1; --", "\\' OR true --"]
PATTERNS += ["$1 OR true", "$$ OR true $$", "e & e", "e\u200b", "\ufeffe"]
NOTHING = "zzqxj"
FORMS = ["{}", "IS:{}", "IS_ANY_OF:{}", "INCLUDE:{}", "INCLUDE_ANY_OF:{},{}"]
# These do not filter.
OTHERS = {"sortBy", "sortOrder", "favoritesFirst", "shouldActivateDisabledStrategies", "token"}
SEARCH = "POST /api/admin/events/search"


def in_query(*kinds: str) -> list[tuple[str, str]]:
    """Every route with each parameter of its query that is of one of these types."""
    return [
        (route, parameter["name"])
        for route in ROUTES
        for parameter in description(route)["parameters"]
        if parameter["in"] == "query" and parameter["schema"]["type"] in kinds
    ]


def with_seed(route_world: RouteWorld, route: str) -> RouteWorld:
    """The world with what a route needs, and an event of everything that can be filtered by."""
    route_world.prepare(ROUTES[route])
    assert (
        route_world.cast["alice"].post("/api/admin/projects/default/features", json={"name": "seed"}).status_code == 201
    )
    return route_world


@pytest.mark.parametrize(("route", "name"), [each for each in in_query("string", "array") if each[1] not in OTHERS])
def test_text_in_a_filter_is_no_pattern_and_no_statement(route_world: RouteWorld, route: str, name: str) -> None:
    words, alice = with_seed(route_world, route).words(route), route_world.cast["alice"]

    def found(form: str, text: str) -> tuple[Any, ...]:
        query = f"?{quote(name)}={quote(form.replace('{}', text), safe='')}"
        return answer(route_world, alice, route, Asked(words, query=query, names=[text, json.dumps(text)[1:-1]]))

    complaints = []
    for form in FORMS:
        # A tag is in two parts.
        nothing = {text: found(form, text) for text in (NOTHING, f"{NOTHING}:{NOTHING}")}
        for pattern in PATTERNS:
            if found(form, pattern) != nothing[f"{NOTHING}:{NOTHING}" if ":" in pattern else NOTHING]:
                complaints.append(f"{route} {name} {form.replace('{}', pattern)}")
    verdict(complaints)


@pytest.mark.parametrize("field", ["project", "feature", "query"])
def test_pattern_in_the_body_of_a_search_is_plain_text(route_world: RouteWorld, field: str) -> None:
    alice = with_seed(route_world, SEARCH).cast["alice"]
    nothing, *others = (alice.post("/api/admin/events/search", json={field: text}) for text in (NOTHING, *PATTERNS))
    assert nothing.json["events"] == []
    assert [json.loads(answer.request.get_data() or b"{}") for answer in others if answer.json != nothing.json] == []


def test_filter_finds_its_text(route_world: RouteWorld) -> None:
    # Without this, the tests above could not see a pattern.
    alice = with_seed(route_world, SEARCH).cast["alice"]
    assert alice.get("/api/admin/search/events?query=seed").json["total"] == 1
    assert alice.get("/api/admin/search/features?query=eed").json["total"] == 1
    assert len(alice.get("/api/admin/user-admin/search?q=ict").json) == 1
    [flag] = alice.get("/api/admin/projects/default/features?namePrefix=se").json["features"]
    assert flag["name"] == "seed"


@pytest.mark.parametrize(("route", "name"), in_query("string", "integer"))
def test_parameter_is_given_once(route_world: RouteWorld, route: str, name: str) -> None:
    words, caller, body = (
        with_seed(route_world, route).words(route),
        route_world.cast[route_world.most_privileged(route)],
        route_world.body(route),
    )
    disguised = f"%{ord(name[0]):02x}{name[1:]}"
    for twice in (
        f"?{name}=&{name}=",
        f"?{name}=1&{name}=1",
        f"?{name}=1&{name}=2&{name}=3",
        f"?{name}=true&{disguised}=true",
    ):
        assert route_world.send(caller, route, words, body, twice).status_code == 400, twice
