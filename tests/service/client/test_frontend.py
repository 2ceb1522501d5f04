"""The flags of one user, for browsers."""

import gzip
import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support import fixtures
from tests.support.evaluation import Json, addresses, one_of, rollout, switched_on
from tests.support.world import Caller, World, refused

PATH = "/api/frontend"


def names(response: TestResponse) -> list[str]:
    """The names of the flags in a response."""
    assert response.status_code == 200, response.text
    return [flag["name"] for flag in response.json["toggles"]]


@pytest.fixture
def web(world: World) -> Caller:
    """A page with a frontend token for development."""
    return world.api_key("frontend")


def test_flags_that_are_on_are_listed_by_name_with_their_variants(world: World, web: Caller) -> None:
    flag = switched_on(world, "b", impression_data=True)
    payload = {"payload_type": "json", "payload_value": '{"colour": "blue"}'}
    fixtures.insert_variant(world.conn, flag, "development", None, name="blue", weight=1000, **payload)
    switched_on(world, "a")
    world.flag("off")
    world.flag("elsewhere", enabled_in=("production",))
    on = {"feature_enabled": True, "featureEnabled": True}
    none = on | {"name": "disabled", "enabled": False}
    blue = on | {"name": "blue", "enabled": True, "payload": {"type": "json", "value": payload["payload_value"]}}
    assert web.get(PATH).json == {
        "toggles": [
            {"name": "a", "enabled": True, "impressionData": False, "variant": none},
            {"name": "b", "enabled": True, "impressionData": True, "variant": blue},
        ]
    }


@pytest.mark.parametrize(
    ("field", "value", "query", "context"),
    [
        ("userId", "7", "userId=7", {"userId": "7"}),
        ("userId", "7", "userId=7", {"userId": 7}),
        ("sessionId", "s", "sessionId=s", {"sessionId": "s"}),
        ("remoteAddress", "10.0.0.1", "remoteAddress=10.0.0.1", {"remoteAddress": "10.0.0.1"}),
        ("appName", "shop", "appName=shop", {"appName": "shop"}),
        ("plan", "gold", "properties%5Bplan%5D=gold", {"properties": {"plan": "gold"}}),
        ("plan", "gold", "properties[plan]=gold", {"properties": {"plan": "gold"}, "other": [1]}),
        ("plan", "gold", "plan=gold", {"plan": "gold"}),
        ("vip", "true", "vip=true", {"properties": {"vip": True}}),
        ("a[b]", "é&", "properties[a[b]]=%C3%A9%26", {"properties": {"a[b]": "é&"}}),
    ],
)
def test_context_is_in_the_query_or_in_the_body(
    world: World, web: Caller, field: str, value: str, query: str, context: Json
) -> None:
    switched_on(world, strategy=one_of(field, value))
    assert names(web.get(f"{PATH}?{query}")) == ["f"]
    assert names(web.post(PATH, json={"context": context, "other": 1})) == ["f"]
    assert names(web.get(PATH)) == names(web.post(PATH, json={})) == []


def test_address_of_the_client_is_the_default(world: World, web: Caller) -> None:
    switched_on(world, "four", strategy=addresses("203.0.113.0/24"))
    switched_on(world, "six", strategy=addresses("2001:db8::1"))
    for address, expected in (("203.0.113.9", ["four"]), ("2001:db8::1", ["six"]), ("::ffff:203.0.113.9", ["four"])):
        assert names(web.get(PATH, environ_overrides={"REMOTE_ADDR": address})) == expected
    assert names(web.get(f"{PATH}?remoteAddress=10.0.0.1", environ_overrides={"REMOTE_ADDR": "203.0.113.9"})) == []


def test_session_is_random_by_default(world: World, web: Caller) -> None:
    switched_on(world, strategy=rollout(50, "sessionId"))
    for query in ("", "?sessionId="):
        assert {tuple(names(web.get(PATH + query))) for _ in range(40)} == {("f",), ()}
    assert len({tuple(names(web.get(f"{PATH}?sessionId=1"))) for _ in range(20)}) == 1


def test_empty_value_counts_as_missing(world: World, web: Caller) -> None:
    switched_on(world, "by-plan", strategy=one_of("plan", "gold"))
    for query, context in (
        ("plan=&properties[plan]=gold", {"plan": "", "properties": {"plan": "gold"}}),
        ("plan=gold&properties[plan]=", {"plan": "gold", "properties": {"plan": ""}}),
    ):
        assert names(web.get(f"{PATH}?{query}")) == names(web.post(PATH, json={"context": context})) == ["by-plan"]
    switched_on(world, "split", strategy=rollout(50, "default"))
    for session in map(str, range(10)):
        expected = names(web.get(f"{PATH}?sessionId={session}"))
        assert names(web.get(f"{PATH}?userId=&sessionId={session}")) == expected
        context = {"userId": "", "sessionId": session, "properties": {"userId": ""}}
        assert names(web.post(PATH, json={"context": context})) == expected


def test_without_a_value_a_sticky_rollout_is_off(world: World, web: Caller) -> None:
    switched_on(world, strategy=rollout(100, "userId"))
    for query in ("", "?userId=", "?userId=&properties[userId]="):
        assert names(web.get(PATH + query)) == []
    # Zero is a value.
    assert names(web.post(PATH, json={"context": {"userId": 0}})) == ["f"]


def test_environment_of_the_token_counts(world: World, web: Caller) -> None:
    switched_on(world, strategy=one_of("environment", "development"))
    world.flag("production-only", enabled_in=("production",))
    for response in (
        web.get(f"{PATH}?environment=production"),
        web.post(PATH, json={"context": {"environment": "production"}}),
        world.api_key("admin").get(f"{PATH}?environment=production"),
    ):
        assert names(response) == ["f"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_etag_depends_on_the_user(world: World, web: Caller, method: str) -> None:
    switched_on(world, strategy=one_of("userId", "7"))

    def ask(user: str, etag: str = "") -> TestResponse:
        sent: Any = {"json": {"context": {"userId": user}}} if method == "POST" else {"query_string": {"userId": user}}
        return web.request(method, PATH, headers={"If-None-Match": etag}, **sent)

    first = ask("7")
    assert names(first) == ["f"]
    etag = first.headers["ETag"]
    assert names(ask("8", etag)) == []
    for unchanged in (etag, f"W/{etag}", f'"other", {etag}', f'{etag[:-1]}-gzip"', "*"):
        response = ask("7", unchanged)
        assert (response.status_code, response.data, response.headers["ETag"]) == (304, b"", etag)
    for response in (first, ask("7", etag)):
        assert response.headers["Cache-Control"] == "private, no-cache"
        assert response.headers["Vary"] == "Accept-Encoding, Origin"
    # Another user with the same flags has the same ETag.
    assert ask("9", ask("8").headers["ETag"]).status_code == 304


def test_large_response_is_compressed_for_those_who_accept_it(world: World, web: Caller) -> None:
    switched_on(world, "small")
    assert "Content-Encoding" not in web.get(PATH, headers={"Accept-Encoding": "gzip"}).headers
    for number in range(20):
        switched_on(world, f"flag-{number}")
    plain = world.app.test_client().get(PATH, headers={"Authorization": web.key or ""})
    packed = world.app.test_client().get(PATH, headers={"Authorization": web.key or "", "Accept-Encoding": "br, gzip"})
    refusing = {"Authorization": web.key or "", "Accept-Encoding": "gzip;q=0"}
    assert "Content-Encoding" not in world.app.test_client().get(PATH, headers=refusing).headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(packed.data))["toggles"]) == 21
    assert gzip.decompress(packed.data) == plain.data
    assert packed.headers["Content-Length"] == str(len(packed.data))
    assert packed.headers["ETag"] == plain.headers["ETag"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "A JSON body is required."),
        (b"{", "The body is not valid JSON: it cannot be parsed."),
        (b"[]", "body: must be a JSON object"),
        (b'{"context": []}', "context: must be a JSON object"),
        (b'{"context": {"properties": []}}', "context.properties: must be a JSON object"),
        (b'{"context": {"userId": "%s"}}' % (b"x" * 1001), "context.userId: must be at most 1000 characters long"),
        (
            b'{"context": {"properties": {"a": "%s"}}}' % (b"x" * 1001),
            "context.a: must be at most 1000 characters long",
        ),
        (b'{"context": {"userId": "\\u0000"}}', "context.userId: must not contain the character NUL"),
        (b'{"context": {"a": "\\ud800"}}', "context.a: must not contain lone surrogates"),
    ],
)
def test_invalid_body_is_refused(web: Caller, body: bytes, message: str) -> None:
    assert refused(web.post(PATH, data=body, content_type="application/json")) == message


def test_at_most_100_properties_are_accepted(web: Caller) -> None:
    many = {f"p{number}": "x" for number in range(101)}
    assert refused(web.post(PATH, json={"context": {"properties": many}})) == "context.properties: must be at most 100"
    assert refused(web.get(PATH, query_string=many)) == "properties: must be at most 100"
    del many["p0"]
    assert names(web.post(PATH, json={"context": {"userId": "7", "properties": many}})) == []
    assert names(web.get(PATH, query_string=many | {"userId": "7"})) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("userId=1&userId=2", "userId: must not be given more than once"),
        ("properties[a]=1&properties[a]=2", "properties[a]: must not be given more than once"),
        (f"a={'x' * 1001}", "a: must be at most 1000 characters long"),
        (f"a={'x' * 8200}", "The query string must be at most 8192 bytes long."),
        ("a=%00", "a: must not contain the character NUL"),
        ("a=%ff", "The query string must be UTF-8, percent-encoded."),
    ],
)
def test_invalid_query_is_refused(web: Caller, query: str, message: str) -> None:
    assert refused(web.get(f"{PATH}?{query}")) == message
