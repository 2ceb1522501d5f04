"""OFREP, the OpenFeature Remote Evaluation Protocol 0.3."""

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from evaluation.context import Fields
from evaluation.document import Document
from rules.ofrep import evaluation
from sql.database import Connection
from tests.support.evaluation import Json, addresses, one_of, rollout, switched_on
from tests.support.flags import depend
from tests.support.ofrep import PATH, add_variants, evaluated, listed
from tests.support.world import Caller, World, refused

USER_7 = one_of("userId", "7")


@pytest.fixture
def app_token(world: World) -> Caller:
    """An application with a client token for development."""
    return world.api_key("client")


@pytest.mark.parametrize("kind", ["client", "backend", "frontend", "admin"])
def test_a_flag_without_variants_is_a_boolean(world: World, kind: str) -> None:
    switched_on(world, stale_since="2020-01-01T00:00:00Z", type="experiment")
    metadata = {"project": "default", "type": "experiment", "stale": True, "enabled": True}
    assert evaluated(world.api_key(kind)) == {
        "key": "f",
        "value": True,
        "reason": "STATIC",
        "variant": "enabled",
        "metadata": metadata,
    }


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key", "Bearer"])
def test_the_token_is_in_one_of_two_headers(world: World, app: Flask, header: str) -> None:
    switched_on(world)
    key = world.api_key("client").key or ""
    headers = {"Authorization": f"Bearer {key}"} if header == "Bearer" else {header: key}
    response = Caller(app).post(f"{PATH}/f", json={}, headers=headers)
    assert response.json["value"] is True
    assert Caller(app, key).post(f"{PATH}/f", json={}, headers={"X-API-Key": "other"}).status_code == 200
    # Elsewhere, the second header means nothing.
    refused(Caller(app).get("/api/client/features", headers={"X-API-Key": key}), 401, "AuthenticationRequired")


REASONS = [
    ({}, {}, True, "STATIC"),
    (USER_7, {"targetingKey": "7"}, True, "TARGETING_MATCH"),
    (USER_7, {"targetingKey": "8"}, False, "TARGETING_MATCH"),
    (
        rollout(100, "default"),
        {"userId": "7"},
        True,
        "STATIC",
    ),
    (
        rollout(99, "userId"),
        {"userId": "7"},
        True,
        "SPLIT",
    ),
]


@pytest.mark.parametrize(("strategy", "context", "value", "reason"), REASONS)
def test_the_reason_says_what_decided(
    world: World, app_token: Caller, strategy: Json, context: Json, value: bool, reason: str
) -> None:
    switched_on(world, strategy=strategy or None)
    found = evaluated(app_token, **context)
    assert (found["value"], found["reason"]) == (value, reason)
    assert found["variant"] == ("enabled" if value else "disabled")


def test_a_result_is_not_static_if_an_earlier_strategy_or_a_parent_decides_too(
    world: World, app_token: Caller, conn: Connection
) -> None:
    # For user 7, the flag could have been on because of the first strategy, with another variant.
    world.strategy(switched_on(world, strategy=USER_7), name="default", sort_order=2)
    assert (evaluated(app_token)["value"], evaluated(app_token)["reason"]) == (True, "TARGETING_MATCH")
    depend(conn, switched_on(world, "child"), switched_on(world, "parent"))
    child = evaluated(app_token, "child")
    assert (child["value"], child["reason"]) == (True, "TARGETING_MATCH")


def test_a_flag_that_is_off_in_the_environment_is_disabled(world: World, app_token: Caller) -> None:
    world.flag("f", enabled_in=("production",))
    found = evaluated(app_token)
    assert (found["value"], found["reason"], found["variant"]) == (False, "DISABLED", "disabled")


def test_a_child_of_a_parent_that_is_off_is_off(world: World, app_token: Caller, conn: Connection) -> None:
    depend(conn, switched_on(world), world.flag("parent"))
    assert evaluated(app_token)["value"] is False


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
def test_a_payload_is_the_value_as_it_was_written(
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


def test_a_list_is_an_error_of_its_flag(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world)
    add_variants(alice, {"type": "json", "value": "[1]"})
    response = app_token.post(f"{PATH}/f", json={})
    message = refused(response)
    assert message == "The payload of the variant is a list. OFREP has no lists: use an object."
    error = {"key": "f", "errorCode": "PARSE_ERROR", "errorDetails": message}
    assert error.items() <= response.json.items()
    assert listed(app_token.post(PATH, json={})) == {"f": error}


def test_a_variant_without_payload_is_true(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world)
    add_variants(alice, None, None)
    found = [evaluated(app_token, targetingKey=str(user)) for user in range(20)]
    assert {(one["value"], one["reason"]) for one in found} == {(True, "SPLIT")}
    assert {one["variant"] for one in found} == {"1", "2"}


def test_a_result_is_written_once() -> None:
    # With the flags, so that their old payloads are forgotten after a change.
    flags = Document({"features": [{"name": "f", "enabled": True, "strategies": [{"name": "default"}]}]})
    assert evaluation(flags, "f", Fields()) is evaluation(flags, "f", Fields())


def test_a_flag_with_payloads_has_no_value_while_it_is_off(world: World, alice: Caller, app_token: Caller) -> None:
    switched_on(world, strategy=USER_7)
    add_variants(alice, {"type": "string", "value": "blue"})
    found = evaluated(app_token, targetingKey="8")
    assert (found["variant"], found["metadata"]["enabled"], "value" in found) == ("disabled", False, False)
    assert evaluated(app_token, targetingKey="7")["value"] == "blue"
    assert "value" not in listed(app_token.post(PATH, json={}))["f"]


@pytest.mark.parametrize(("type", "payload"), [("json", "{"), ("json", "NaN"), ("number", "three"), ("number", "1_0")])
def test_a_payload_that_cannot_be_parsed_is_an_error_of_its_flag(
    world: World, alice: Caller, app_token: Caller, conn: Connection, type: str, payload: str
) -> None:
    switched_on(world)
    switched_on(world, "good")
    add_variants(alice, {"type": "string", "value": "x"})
    # The admin API refuses such payloads.
    conn.execute("UPDATE variants SET payload_type = %s, payload_value = %s", [type, payload])
    world.conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    response = app_token.post(f"{PATH}/f", json={})
    message = refused(response)
    assert message in ("The payload of the variant is not JSON.", "The payload of the variant is not a number.")
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
    ],
)
def test_the_members_of_the_context_are_fields_or_properties(
    world: World, app_token: Caller, field: str, value: str, context: Json
) -> None:
    switched_on(world, strategy=one_of(field, value))
    assert evaluated(app_token, **context)["value"] is True


def test_the_address_of_the_client_is_the_default(world: World, app_token: Caller) -> None:
    switched_on(world, strategy=addresses("203.0.113.9"))
    response = app_token.post(f"{PATH}/f", json={}, environ_overrides={"REMOTE_ADDR": "203.0.113.9"})
    assert response.json["value"] is True


# All flags


def test_all_flags_are_listed_with_those_that_are_off(world: World, app_token: Caller) -> None:
    switched_on(world, "b", strategy=USER_7)
    switched_on(world, "a")
    world.flag("c")
    response = app_token.post(PATH, json={"context": {"targetingKey": "8"}})
    assert list(listed(response)) == ["a", "b", "c"]
    for key, flag in listed(response).items():
        assert flag == evaluated(app_token, key, targetingKey="8")
    assert [flag["value"] for flag in response.json["flags"]] == [True, False, False]


def test_another_user_with_the_etag_of_the_first_gets_their_own_flags(world: World, app_token: Caller) -> None:
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
    assert first.headers["Cache-Control"] == unchanged.headers["Cache-Control"] == "no-cache"


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
