"""OFREP, the OpenFeature Remote Evaluation Protocol 0.3."""

from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from evaluation.context import Fields
from evaluation.document import Document
from rules.ofrep import result_of, text_of
from sql.database import Connection
from tests.support.evaluation import Json, one_of, rollout, switched_on
from tests.support.flags import depend
from tests.support.world import Caller, World, refused

PATH = "/ofrep/v1/evaluate/flags"
USER_7 = one_of("userId", "7")


@pytest.fixture
def app_token(world: World) -> Caller:
    """An application with a client token for development."""
    return world.api_key("client")


def add_variants(caller: Caller, *payloads: Json | None, stickiness: str = "userId") -> None:
    """Give flag f variants named 1, 2, … in development, with these payloads."""
    variants = [
        {"name": str(number), "weight": 1000 // len(payloads), "weightType": "variable", "stickiness": stickiness}
        | ({} if payload is None else {"payload": payload})
        for number, payload in enumerate(payloads, 1)
    ]
    response = caller.put("/api/admin/projects/default/features/f/environments/development/variants", json=variants)
    assert response.status_code == 200, response.text


def evaluated(caller: Caller, key: str = "f", **context: Any) -> Json:
    """The evaluation of a flag."""
    response = caller.post(f"{PATH}/{key}", json={"context": context})
    assert response.status_code == 200, response.text
    return response.json


def listed(response: TestResponse) -> dict[str, Json]:
    """The evaluations in the response for all flags, by key."""
    assert response.status_code == 200, response.text
    return {flag["key"]: flag for flag in response.json["flags"]}


def test_flag_without_variants_is_a_boolean(world: World, app_token: Caller) -> None:
    switched_on(world, stale_since="2020-01-01T00:00:00Z", type="experiment")
    metadata = {"project": "default", "type": "experiment", "stale": True, "enabled": True}
    expected = {"key": "f", "value": True, "reason": "STATIC", "variant": "enabled", "metadata": metadata}
    assert evaluated(app_token) == expected


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key", "Bearer"])
def test_token_is_in_one_of_two_headers(world: World, app: Flask, header: str) -> None:
    switched_on(world)
    key = world.api_key("client").key or ""
    headers = {"Authorization": f"Bearer {key}"} if header == "Bearer" else {header: key}
    response = Caller(app).post(f"{PATH}/f", json={}, headers=headers)
    assert response.json["value"] is True
    assert Caller(app, key).post(f"{PATH}/f", json={}, headers={"X-API-Key": "other"}).status_code == 200
    # Elsewhere, the second header means nothing.
    refused(Caller(app).get("/api/client/features", headers={"X-API-Key": key}), 401, "AuthenticationRequired")


@pytest.mark.parametrize(
    ("strategy", "context", "value", "reason"),
    [
        (None, {}, True, "STATIC"),
        (USER_7, {"targetingKey": "7"}, True, "TARGETING_MATCH"),
        (USER_7, {"targetingKey": "8"}, False, "TARGETING_MATCH"),
        (rollout(100, "default"), {"userId": "7"}, True, "STATIC"),
        (rollout(99, "userId"), {"userId": "7"}, True, "SPLIT"),
    ],
)
def test_reason_says_what_decided(
    world: World, app_token: Caller, strategy: Json | None, context: Json, value: bool, reason: str
) -> None:
    switched_on(world, strategy=strategy)
    found = evaluated(app_token, **context)
    assert (found["value"], found["reason"]) == (value, reason)
    assert found["variant"] == ("enabled" if value else "disabled")


def test_earlier_strategies_parents_and_environments_count_for_the_reason(
    world: World, app_token: Caller, conn: Connection
) -> None:
    # For user 7, the flag could have been on because of the first strategy, with another variant.
    world.strategy(switched_on(world, strategy=USER_7), name="default", sort_order=2)
    depend(conn, switched_on(world, "child"), switched_on(world, "parent"))
    for key in ("f", "child"):
        found = evaluated(app_token, key)
        assert (found["value"], found["reason"]) == (True, "TARGETING_MATCH")
    depend(conn, switched_on(world, "orphan"), world.flag("off", enabled_in=("production",)))
    assert evaluated(app_token, "orphan")["value"] is False
    found = evaluated(app_token, "off")
    assert (found["value"], found["reason"], found["variant"]) == (False, "DISABLED", "disabled")


@pytest.mark.parametrize(
    ("type", "payload", "literal"),
    [
        ("string", 'blue é "x"', '"blue é \\"x\\""'),
        ("string", "3", '"3"'),
        ("csv", "a,b", '"a,b"'),
        ("number", "3", "3"),
        ("number", "3.0", "3.0"),
        ("number", "1e3", "1e3"),
        ("number", "-0", "-0"),
        ("number", "007", "7"),
        ("number", "-007.50", "-7.50"),
        ("number", "0", "0"),
        ("number", "12345678901234567890", "12345678901234567890"),
        ("json", '{"colour": "blue", "size": 3.0}', '{"colour": "blue", "size": 3.0}'),
        ("json", '"text"', '"text"'),
        ("json", "true", "true"),
    ],
)
def test_payload_is_the_value_as_it_was_written(
    world: World, alice: Caller, app_token: Caller, type: str, payload: str, literal: str
) -> None:
    switched_on(world)
    add_variants(alice, {"type": type, "value": payload})
    single = app_token.post(f"{PATH}/f", json={})
    assert (single.json["variant"], single.json["reason"]) == ("1", "STATIC")
    for response in (single, app_token.post(PATH, json={})):
        assert f'"value":{literal},"reason"' in response.text


def test_null_is_no_value(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world)
    add_variants(alice, {"type": "json", "value": " null"})
    for found in (evaluated(app_token), listed(app_token.post(PATH, json={}))["f"]):
        assert (found["variant"], "value" in found) == ("1", False)


def test_list_is_an_error_of_its_flag(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world)
    add_variants(alice, {"type": "json", "value": "[1]"})
    response = app_token.post(f"{PATH}/f", json={})
    message = refused(response)
    assert message == "The payload of the variant is a list. OFREP has no lists: use an object."
    error = {"key": "f", "errorCode": "PARSE_ERROR", "errorDetails": message}
    assert error.items() <= response.json.items()
    assert listed(app_token.post(PATH, json={})) == {"f": error}


def test_variant_without_payload_is_true(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world)
    add_variants(alice, None, None)
    found = [evaluated(app_token, targetingKey=str(user)) for user in range(20)]
    assert {(one["value"], one["reason"]) for one in found} == {(True, "SPLIT")}
    assert {one["variant"] for one in found} == {"1", "2"}


def test_result_is_written_once() -> None:
    # With the flags, so that their old payloads are forgotten after a change.
    flags = Document({"features": [{"name": "f", "enabled": True, "strategies": [{"name": "default"}]}]})
    assert text_of(result_of(flags, "f", Fields())) is text_of(result_of(flags, "f", Fields()))


def test_flag_with_payloads_has_no_value_while_it_is_off(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world, strategy=USER_7)
    add_variants(alice, {"type": "string", "value": "blue"})
    found = evaluated(app_token, targetingKey="8")
    assert (found["variant"], found["metadata"]["enabled"], "value" in found) == ("disabled", False, False)
    assert evaluated(app_token, targetingKey="7")["value"] == "blue"
    assert "value" not in listed(app_token.post(PATH, json={}))["f"]


@pytest.mark.parametrize(
    ("type", "payload", "message"),
    [
        ("json", "{", "The payload of the variant is not JSON."),
        ("json", "NaN", "The payload of the variant is not JSON."),
        ("number", "three", "The payload of the variant is not a number."),
        ("number", "1_0", "The payload of the variant is not a number."),
    ],
)
def test_payload_that_cannot_be_parsed_is_an_error_of_its_flag(
    world: World, alice: Caller, app_token: Caller, conn: Connection, type: str, payload: str, message: str
) -> None:
    switched_on(world)
    switched_on(world, "good")
    add_variants(alice, {"type": "string", "value": "x"})
    # The admin API refuses such payloads.
    conn.execute("UPDATE variants SET payload_type = %s, payload_value = %s", [type, payload])
    conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    response = app_token.post(f"{PATH}/f", json={})
    assert refused(response) == message
    assert (response.json["key"], response.json["errorCode"]) == ("f", "PARSE_ERROR")
    found = listed(app_token.post(PATH, json={}))
    assert found["f"] == {"key": "f", "errorCode": "PARSE_ERROR", "errorDetails": message}
    assert found["good"]["value"] is True


@pytest.mark.parametrize(
    ("field", "value", "context"),
    [
        ("userId", "7", {"targetingKey": "7"}),
        ("userId", "7", {"targetingKey": "8", "userId": "7"}),
        ("sessionId", "s", {"sessionId": "s"}),
        ("appName", "shop", {"appName": "shop"}),
        ("remoteAddress", "10.0.0.1", {"remoteAddress": "10.0.0.1"}),
        ("plan", "gold", {"plan": "gold", "nested": {"a": 1}, "list": [1], "nothing": None}),
        ("vip", "true", {"vip": True}),
        ("age", "42", {"age": 42}),
        ("properties", "x", {"properties": "x"}),
        ("environment", "development", {"environment": "production"}),
        # An empty user does not hide the targeting key.
        ("userId", "7", {"targetingKey": "7", "userId": ""}),
        ("userId", "7", {"targetingKey": "7", "userId": None}),
    ],
)
def test_members_of_the_context_are_fields_or_properties(
    world: World, app_token: Caller, field: str, value: str, context: Json
) -> None:
    switched_on(world, strategy=one_of(field, value))
    assert evaluated(app_token, **context)["value"] is True


def test_all_flags_are_listed_with_those_that_are_off(world: World, app_token: Caller) -> None:
    switched_on(world, "b", strategy=USER_7)
    switched_on(world, "a")
    world.flag("c")
    response = app_token.post(PATH, json={"context": {"targetingKey": "8"}})
    assert list(listed(response)) == ["a", "b", "c"]
    for key, flag in listed(response).items():
        assert flag == evaluated(app_token, key, targetingKey="8")
    assert [flag["value"] for flag in response.json["flags"]] == [True, False, False]


def test_etag_depends_on_the_user(world: World, app_token: Caller) -> None:
    switched_on(world, strategy=USER_7)

    def ask(user: str, etag: str = "") -> TestResponse:
        query = {"flagConfigEtag": "x", "flagConfigLastModified": "1"}
        context = {"targetingKey": "same", "userId": user}
        return app_token.post(PATH, query_string=query, json={"context": context}, headers={"If-None-Match": etag})

    first = ask("7")
    etag = first.headers["ETag"]
    assert listed(first)["f"]["value"] is True
    assert listed(ask("8", etag))["f"]["value"] is False
    for given in (etag, f'{etag[:-1]}-gzip"'):
        unchanged = ask("7", given)
        assert (unchanged.status_code, unchanged.data, unchanged.headers["ETag"]) == (304, b"", etag)
    assert first.headers["Cache-Control"] == unchanged.headers["Cache-Control"] == "private, no-cache"


def test_only_projects_of_the_token_exist(world: World) -> None:
    world.project("hermes")
    switched_on(world, "mine", "hermes")
    switched_on(world, "other")
    token = world.api_key("client", projects=["hermes"])
    assert list(listed(token.post(PATH, json={}))) == ["mine"]
    for hidden in ("other", "nowhere"):
        response = token.post(f"{PATH}/{hidden}", json={})
        assert refused(response, 404, "NotFoundError") == "No flag has that name in the projects of the token."
        assert (response.json["key"], response.json["errorCode"]) == (hidden, "FLAG_NOT_FOUND")


# The targeting key


STICKY = {
    "default": rollout(50, "default"),
    "session": rollout(50, "sessionId"),
    "random": rollout(50, "random"),
    "user": rollout(50, "userId"),
}
NO_KEY = "context.targetingKey: is required, because a rollout or the variants of this flag depend on it"


@pytest.mark.parametrize("strategy", STICKY.values(), ids=STICKY)
def test_targeting_key_always_gets_the_same_result(world: World, app_token: Caller, strategy: Json) -> None:
    switched_on(world, strategy=strategy)
    seen: set[bool] = set()
    for key in map(str, range(12)):
        found = {evaluated(app_token, targetingKey=key)["value"] for _ in range(4)}
        assert len(found) == 1
        seen |= found
        etag = app_token.post(PATH, json={"context": {"targetingKey": key}}).headers["ETag"]
        again = app_token.post(PATH, json={"context": {"targetingKey": key}}, headers={"If-None-Match": etag})
        assert again.status_code == 304
    assert seen == {True, False}


def test_no_session_is_invented(world: World, app_token: Caller) -> None:
    session = {"contextName": "sessionId", "operator": "STR_CONTAINS", "values": ["7"]}
    switched_on(world, strategy={"constraints": [session]})
    switched_on(world, "by-session", strategy=rollout(50, "sessionId"))
    assert evaluated(app_token, targetingKey="7")["value"] is False
    # A session of the context decides, not the key.
    by_session = {str(n): evaluated(app_token, "by-session", targetingKey="1", sessionId=str(n)) for n in range(20)}
    assert {one["value"] for one in by_session.values()} == {True, False}


@pytest.mark.parametrize("context", [{}, {"targetingKey": ""}, {"targetingKey": None, "userId": ""}, {"plan": "gold"}])
@pytest.mark.parametrize("strategy", STICKY.values(), ids=STICKY)
def test_sticky_rollout_needs_a_targeting_key(world: World, app_token: Caller, strategy: Json, context: Json) -> None:
    switched_on(world, strategy=strategy)
    response = app_token.post(f"{PATH}/f", json={"context": context})
    assert refused(response) == NO_KEY
    error = {"key": "f", "errorCode": "TARGETING_KEY_MISSING", "errorDetails": NO_KEY}
    assert error.items() <= response.json.items()
    switched_on(world, "kill-switch")
    switched_on(world, "off", strategy=rollout(0, "userId"))
    switched_on(world, "all", strategy=rollout(100, "default"))
    found = listed(app_token.post(PATH, json={"context": context}))
    assert found.pop("f") == error
    assert {key: flag["value"] for key, flag in found.items()} == {"kill-switch": True, "off": False, "all": True}


@pytest.mark.parametrize("stickiness", ["default", "random", "userId", "sessionId"])
def test_several_variants_need_a_targeting_key(world: World, alice: Caller, app_token: Caller, stickiness: str) -> None:
    switched_on(world)
    add_variants(alice, None, None, stickiness=stickiness)
    response = app_token.post(f"{PATH}/f", json={})
    assert (refused(response), response.json["errorCode"]) == (NO_KEY, "TARGETING_KEY_MISSING")
    assert evaluated(app_token, userId="7")["value"] is True


# Refusals


@pytest.mark.parametrize("path", [PATH, f"{PATH}/f"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "PARSE_ERROR"),
        (b"{", "PARSE_ERROR"),
        (b"\xff", "PARSE_ERROR"),
        (b"[]", "INVALID_CONTEXT"),
        (b'{"context": "x"}', "INVALID_CONTEXT"),
        (b'{"context": {"a": "%s"}}' % (b"x" * 1001), "INVALID_CONTEXT"),
        (b'{"context": {"\\ud800": "x"}}', "INVALID_CONTEXT"),
    ],
)
def test_invalid_body_is_refused_in_the_form_of_ofrep(app_token: Caller, path: str, body: bytes, code: str) -> None:
    response = app_token.post(path, data=body, content_type="application/json")
    refused(response)
    assert response.json["errorCode"] == code
    assert response.json.get("key") == ("f" if path != PATH else None)


def test_other_refusals_have_the_form_of_ofrep_too(app: Flask, alice: Caller, app_token: Caller) -> None:
    unknown = {"X-API-Key": "unknown-token-1234"}
    for response, status, name in (
        (Caller(app).post(f"{PATH}/f", json={}), 401, "AuthenticationRequired"),
        (Caller(app).post(f"{PATH}/f", json={}, headers=unknown), 401, "AuthenticationRequired"),
        (alice.post(f"{PATH}/f", json={}), 403, "NoAccessError"),
        (app_token.post(f"{PATH}/f", data=b"x"), 415, "ContentTypeError"),
    ):
        refused(response, status, name)
        assert (response.json["key"], response.json["errorCode"]) == ("f", "GENERAL")


@pytest.mark.parametrize(("path", "key"), [(PATH, None), (f"{PATH}/f", "f"), (f"{PATH}/a%20b", "a b")])
def test_other_method_is_refused_in_the_form_of_ofrep(app_token: Caller, path: str, key: str | None) -> None:
    response = app_token.get(path)
    refused(response, 405, "MethodNotAllowedError")
    assert (response.json.get("key"), response.json["errorCode"]) == (key, "GENERAL")
