"""GET /api/client/features: what a token gets, in which form, and with which ETag."""

import gzip
import json
import re

import pytest

from sql.database import Connection
from tests.support import fixtures
from tests.support.world import Caller, World, refused

FEATURES = "/api/client/features"
# An SDK that reads the list of segments.
NEW = {"Unleash-Client-Spec": "5.2.0"}
USER_7 = {"contextName": "userId", "operator": "IN", "values": ["7"]}
GOLD = {"contextName": "plan", "operator": "IN", "values": ["gold"]}


def features(caller: Caller, query: str = "", **headers: str) -> dict[str, dict]:
    """The flags that a caller gets, by name."""
    response = caller.get(f"{FEATURES}{query}", headers=NEW | headers)
    assert response.status_code == 200, response.text
    return {flag["name"]: flag for flag in response.json["features"]}


@pytest.fixture
def client(world: World) -> Caller:
    """A client token for all projects, in development."""
    return world.api_key("client")


def add_segment(conn: Connection, name: str, constraints: str, *strategies: str) -> int:
    """Insert a segment of these strategies, and return its id."""
    segment = fixtures.insert(conn, "segments", name=name, constraints=constraints)["id"]
    for strategy in strategies:
        conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [strategy, segment])
    return segment


def test_flag_has_all_that_sdks_evaluate(world: World, conn: Connection, client: Caller) -> None:
    parent = world.flag("new-cart")
    flag = world.flag("checkout", enabled_in=("development",), type="experiment", impression_data=True, description="x")
    second = world.strategy(flag, sort_order=2, parameters={"rollout": "50"}, constraints=[USER_7], title="Some users")
    world.strategy(flag, name="default", sort_order=1)
    world.strategy(flag, sort_order=3, disabled=True)
    world.strategy(flag, "production")
    segment = add_segment(conn, "Gold", json.dumps([GOLD]), second)
    overrides = '[{"contextName":"userId","values":["1"]}]'
    payload = {"payload_type": "string", "payload_value": '"#00f"'}
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000, overrides=overrides, **payload)
    fixtures.insert_variant(conn, flag, "development", second, name="a", weight=1000)
    conn.execute(
        "INSERT INTO flag_dependencies (child_id, parent_id, variants) VALUES (%s, %s, '{blue}')", [flag, parent]
    )
    body = client.get(FEATURES, headers=NEW).json
    assert body["version"] == 2
    assert body["segments"] == [{"id": segment, "name": "Gold", "constraints": [GOLD]}]
    assert [flag["name"] for flag in body["features"]] == ["checkout", "new-cart"]
    assert body["features"][0] == {
        "name": "checkout",
        "type": "experiment",
        "description": "x",
        "project": "default",
        "enabled": True,
        "stale": False,
        "impressionData": True,
        "strategies": [
            {"name": "default", "parameters": {}, "constraints": [], "variants": []},
            {
                "name": "flexibleRollout",
                "parameters": {"rollout": "50"},
                "constraints": [USER_7],
                "variants": [{"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default"}],
                "segments": [segment],
            },
        ],
        "variants": [
            {
                "name": "blue",
                "weight": 1000,
                "weightType": "variable",
                "stickiness": "default",
                "payload": {"type": "string", "value": '"#00f"'},
                "overrides": [{"contextName": "userId", "values": ["1"]}],
            }
        ],
        "dependencies": [{"feature": "new-cart", "enabled": True, "variants": ["blue"]}],
    }
    assert body["features"][1]["description"] is None


@pytest.mark.parametrize("spec", [None, "4.1.9", "4.2.0", "5.2.0", "10.0.0-beta.1+x"])
def test_sdks_without_lists_of_segments_get_their_constraints(
    world: World, conn: Connection, client: Caller, spec: str | None
) -> None:
    flag = world.flag("checkout")
    strategies = [world.strategy(flag, constraints=[USER_7], sort_order=1), world.strategy(flag, sort_order=2)]
    add_segment(conn, "Gold", json.dumps([GOLD]), *strategies)
    add_segment(conn, "Empty", " [ ]", *strategies)
    body = client.get(FEATURES, headers={"Unleash-Client-Spec": spec} if spec else {}).json
    served = body["features"][0]["strategies"]
    if spec in (None, "4.1.9"):
        assert "segments" not in body
        assert [strategy["constraints"] for strategy in served] == [[USER_7, GOLD], [GOLD]]
        assert not any("segments" in strategy for strategy in served)
    else:
        assert [segment["name"] for segment in body["segments"]] == ["Gold", "Empty"]
        assert [strategy["constraints"] for strategy in served] == [[USER_7], []]
        assert all(len(strategy["segments"]) == 2 for strategy in served)


@pytest.mark.parametrize(
    "spec", ["", "4", "4.2", "v4.2.0", "04.2.0", "4.2.0 ", "undefined", "4.2.0-ä", "1" * 99 + ".1.1"]
)
def test_malformed_version_of_the_specification_is_refused(client: Caller, spec: str) -> None:
    message = refused(client.get(FEATURES, headers={"Unleash-Client-Spec": spec}))
    assert message == "The header Unleash-Client-Spec must be a version such as 5.2.0."


def test_only_live_flags_of_live_projects_with_the_environment_are_served(world: World, conn: Connection) -> None:
    world.project("hermes", ("production",))
    world.project("gone")
    for name, project in (("a", "default"), ("b", "hermes"), ("c", "gone"), ("d", "default")):
        world.flag(name, project, enabled_in=("production",))
    conn.execute("UPDATE projects SET archived_at = now() WHERE id = 'gone'")
    conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'd'")
    assert list(features(world.api_key("client"))) == ["a"]
    assert list(features(world.api_key("client", environment="production"))) == ["a", "b"]
    # Our choice: an environment that is switched off still serves its flags.
    conn.execute("UPDATE environments SET enabled = false")
    served = features(world.api_key("client", environment="production"))
    assert [flag["enabled"] for flag in served.values()] == [True, True]


def test_token_gets_the_flags_of_its_projects(world: World) -> None:
    for project in ("hermes", "apollo", "zeus"):
        world.flag(f"of-{project}", world.project(project))
    of_two = world.api_key("client", projects=("hermes", "zeus"))
    assert list(features(of_two)) == list(features(of_two, "?project=apollo&project=zeus")) == ["of-hermes", "of-zeus"]
    of_all = world.api_key("client")
    assert list(features(of_all)) == ["of-apollo", "of-hermes", "of-zeus"]
    assert list(features(of_all, "?project=zeus&project=apollo&project=none")) == ["of-apollo", "of-zeus"]
    assert features(of_all, "?project=none") == {}
    assert list(features(of_all, "?project=")) == ["of-apollo", "of-hermes", "of-zeus"]


def test_token_for_all_environments_can_choose_one(world: World, conn: Connection) -> None:
    world.flag("checkout", enabled_in=("production",))
    admin, client = world.api_key(), world.api_key("client")
    assert features(admin, "?environment=production")["checkout"]["enabled"]
    assert not features(client, "?environment=production")["checkout"]["enabled"]
    assert not features(admin)["checkout"]["enabled"]
    assert features(admin, "?environment=unknown") == {}
    assert admin.get(f"{FEATURES}/checkout?environment=production").json["enabled"]
    for path in (FEATURES, f"{FEATURES}/checkout"):
        message = refused(admin.get(f"{path}?environment=%00"), 400, "ValidationError")
        assert message == "environment: must not contain the character NUL"
    fixtures.insert(conn, "environments", name="default", type="test", sort_order=9)
    assert features(admin) == {}


def test_flags_are_chosen_by_prefix_and_tags(world: World, conn: Connection, client: Caller) -> None:
    for name in ("shop.a", "shop.b", "shop_a", "x"):
        flag = world.flag(name)
        conn.execute("INSERT INTO tags VALUES ('simple', %s)", [f"of:{name}"])
        conn.execute("INSERT INTO flag_tags VALUES (%s, 'simple', %s)", [flag, f"of:{name}"])
    assert list(features(client, "?namePrefix=shop.")) == ["shop.a", "shop.b"]
    assert list(features(client, "?tag=simple:of:x&tag=simple:of:shop.a")) == ["shop.a", "x"]
    assert list(features(client, "?tag=simple:of:x&namePrefix=shop")) == []
    assert refused(client.get(f"{FEATURES}?tag=simple")) == "tag: must look like simple:beta, a type and a value"
    assert refused(client.get(f"{FEATURES}?namePrefix=")) == "namePrefix: must not be empty"


BROKEN = {
    "number in parameters": {"parameters": '{"rollout":50}'},
    "null in parameters": {"parameters": '{"rollout":null}'},
    "NUL in parameters": {"parameters": '{"rollout":"\\u0000"}'},
    "list in parameters": {"parameters": '{"rollout":["50"]}'},
    "lone surrogate": {"constraints": '[{"contextName":"a","operator":"IN","values":["\\ud800"]}]'},
    "constraint is a number": {"constraints": "[1]"},
    "constraint is a list": {"constraints": "[[]]"},
    "no operator": {"constraints": '[{"contextName":"a"}]'},
    "no field": {"constraints": '[{"operator":"IN"}]'},
    "operator is a number": {"constraints": '[{"contextName":"a","operator":1}]'},
    "value is a number": {"constraints": '[{"contextName":"a","operator":"IN","value":1}]'},
    "values is a text": {"constraints": '[{"contextName":"a","operator":"IN","values":"a"}]'},
    "values with a number": {"constraints": '[{"contextName":"a","operator":"IN","values":["a",1]}]'},
    "values with a list": {"constraints": '[{"contextName":"a","operator":"IN","values":[["a"]]}]'},
    "values with null": {"constraints": '[{"contextName":"a","operator":"IN","values":[null]}]'},
    "inverted is null": {"constraints": '[{"contextName":"a","operator":"IN","values":[],"inverted":null}]'},
    "case is a text": {"constraints": '[{"contextName":"a","operator":"IN","values":[],"caseInsensitive":"true"}]'},
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_strategy_switches_only_its_flag_off(world: World, client: Caller, conn: Connection, what: str) -> None:
    good, bad = (world.flag(name, enabled_in=("development",)) for name in ("good", "bad"))
    world.strategy(good, name="default")
    world.strategy(bad, name="default")
    fixtures.insert(conn, "strategies", id="x", flag_id=bad, environment="development", name="default", **BROKEN[what])
    served = features(client)
    assert (served["good"]["enabled"], len(served["good"]["strategies"])) == (True, 1)
    assert (served["bad"]["enabled"], served["bad"]["strategies"]) == (False, [])


@pytest.mark.parametrize("headers", [NEW, {}])
def test_broken_segment_switches_only_its_flags_off(
    world: World, client: Caller, conn: Connection, headers: dict[str, str]
) -> None:
    for name, constraints in (("good", '[{"contextName":"a","operator":"IN","values":["a"]}]'), ("bad", "[1]")):
        strategy = world.strategy(world.flag(name, enabled_in=("development",)))
        add_segment(conn, name, constraints, strategy)
    body = client.get(FEATURES, headers=headers).json
    assert [(flag["name"], flag["enabled"]) for flag in body["features"]] == [("bad", False), ("good", True)]
    assert [segment["name"] for segment in body.get("segments", [{"name": "good"}])] == ["good"]


def test_broken_overrides_switch_their_flag_off(world: World, client: Caller, conn: Connection) -> None:
    flag = world.flag("bad", enabled_in=("development",))
    broken = '[{"contextName":"a"}]'
    fixtures.insert_variant(conn, flag, "development", None, name="a", weight=1000, overrides=broken)
    assert features(client)["bad"] == features(client)["bad"] | {"enabled": False, "variants": []}


def test_token_is_marked_as_seen(conn: Connection, client: Caller) -> None:
    assert client.get(FEATURES).status_code == 200
    statement = "SELECT seen_at IS NOT NULL AS seen FROM api_keys WHERE secret = %s"
    assert conn.execute(statement, [client.key]).fetchone() == {"seen": True}


@pytest.fixture
def on(world: World, client: Caller) -> Caller:
    """The same client, where one flag is on."""
    world.flag("checkout", enabled_in=("development",))
    return client


def test_document_names_its_query_and_its_etag(world: World, on: Caller) -> None:
    response = on.get(FEATURES, headers=NEW)
    etag = response.headers["ETag"]
    assert re.fullmatch(r'"[0-9a-f]{12}:[0-9a-f]{16}"', etag)
    assert response.json["query"] == {"environment": "development", "inlineSegmentConstraints": False}
    meta = response.json["meta"]
    assert (meta["etag"], meta["queryHash"]) == (etag, etag[1:13])
    world.project("hermes")
    narrow = world.api_key("client", projects=("hermes", "default"))
    assert narrow.get(f"{FEATURES}?tag=simple:b&tag=simple:a&namePrefix=x&project=z").json["query"] == {
        "environment": "development",
        "inlineSegmentConstraints": True,
        "project": ["default", "hermes"],
        "namePrefix": "x",
        "tag": [["simple", "a"], ["simple", "b"]],
    }


def test_each_query_has_an_etag_of_its_own(world: World, on: Caller) -> None:
    of_project = world.api_key("client", projects=("default",))
    in_production = world.api_key("client", environment="production")
    asked = [
        on.get(FEATURES, headers=NEW),
        on.get(FEATURES),
        on.get(f"{FEATURES}?namePrefix=c", headers=NEW),
        on.get(f"{FEATURES}?tag=simple:beta", headers=NEW),
        of_project.get(FEATURES, headers=NEW),
        in_production.get(FEATURES, headers=NEW),
    ]
    assert len({response.json["meta"]["queryHash"] for response in asked}) == len(asked)
    # The order of the parameters does not count, and another token for the same flags gets the same.
    same = [
        on.get(f"{FEATURES}?project=a&project=b"),
        world.api_key("client").get(f"{FEATURES}?project=b&project=a&project=b"),
    ]
    assert same[0].headers["ETag"] == same[1].headers["ETag"]


def test_client_with_the_current_flags_gets_304(on: Caller) -> None:
    full = on.get(FEATURES, headers=NEW)
    etag = full.headers["ETag"]
    # Apache appends -gzip or -br to the ETag of what it compresses.
    compressed = [f'{etag[:-1]}-gzip"', f'W/{etag[:-1]}-gzip"', f'"x", {etag[:-1]}-br"']
    for given in (etag, f"W/{etag}", "*", f'"x", W/{etag} , "y"', *compressed):
        response = on.get(FEATURES, headers=NEW | {"If-None-Match": given})
        assert (response.status_code, response.data) == (304, b""), given
        expected = [etag, "Accept-Encoding, Unleash-Client-Spec", "private, no-cache"]
        assert [response.headers[name] for name in ("ETag", "Vary", "Cache-Control")] == expected
    for given in ('"x"', f'{etag[:-1]}-x"', "", etag.strip('"')[:-1], etag.replace('"', "", 1)[:-2], "\xff", '"'):
        assert on.get(FEATURES, headers=NEW | {"If-None-Match": given}).status_code == 200, given


def test_response_is_compressed_if_the_client_accepts_that(on: Caller) -> None:
    plain = on.get(FEATURES, headers=NEW)
    assert "Content-Encoding" not in plain.headers
    for accepted in ("gzip", "deflate, gzip;q=0.5", "*", "GZIP"):
        headers = NEW | {"Authorization": on.key or "", "Accept-Encoding": accepted}
        response = on.app.test_client().get(FEATURES, headers=headers)
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(response.data) == plain.data
        assert response.headers["ETag"] == plain.headers["ETag"]
        assert response.headers["Content-Type"] == "application/json"
    for refusing in ("identity", "gzip;q=0", "br", ""):
        assert "Content-Encoding" not in on.get(FEATURES, headers=NEW | {"Accept-Encoding": refusing}).headers


def test_one_flag_is_as_in_the_document(world: World, on: Caller) -> None:
    for headers in (NEW, {}):
        [flag] = on.get(FEATURES, headers=headers).json["features"]
        assert on.get(f"{FEATURES}/checkout", headers=headers).json == flag
    world.flag("hidden", world.project("hermes"))
    for token, name in ((on, "unknown"), (world.api_key("client", projects=("default",)), "hidden")):
        message = refused(token.get(f"{FEATURES}/{name}"), 404, "NotFoundError")
        assert message == "The token has no flag with that name."
