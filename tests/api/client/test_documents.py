"""The response of GET /api/client/features: its ETag and its form."""

import gzip
import re

import pytest

from tests.support.world import Caller, World

FEATURES = "/api/client/features"
NEW = {"Unleash-Client-Spec": "5.2.0"}
FLAGS = "/api/admin/projects/default/features"
STATE = f"{FLAGS}/checkout/environments/development"


@pytest.fixture
def client(world: World) -> Caller:
    """A client token in development, where one flag is on."""
    world.flag("checkout", enabled_in=("development",))
    return world.api_key("client")


# The response


def test_the_document_names_its_query_and_its_etag(world: World, client: Caller) -> None:
    response = client.get(FEATURES, headers=NEW)
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


def test_each_query_has_an_etag_of_its_own(world: World, client: Caller) -> None:
    of_project, in_production = (
        world.api_key("client", projects=("default",)),
        world.api_key("client", environment="production"),
    )
    asked = [
        client.get(FEATURES, headers=NEW),
        client.get(FEATURES),
        client.get(f"{FEATURES}?namePrefix=c", headers=NEW),
        client.get(f"{FEATURES}?tag=simple:beta", headers=NEW),
        of_project.get(FEATURES, headers=NEW),
        in_production.get(FEATURES, headers=NEW),
    ]
    assert len({response.json["meta"]["queryHash"] for response in asked}) == len(asked)
    # The order of the parameters does not count, and another token for the same flags gets the same.
    same = [
        client.get(f"{FEATURES}?project=a&project=b"),
        world.api_key("client").get(f"{FEATURES}?project=b&project=a&project=b"),
    ]
    assert same[0].headers["ETag"] == same[1].headers["ETag"]


def test_a_client_with_the_current_flags_gets_304(client: Caller) -> None:
    full = client.get(FEATURES, headers=NEW)
    etag = full.headers["ETag"]
    # Apache appends -gzip or -br to the ETag of what it compresses.
    compressed = [f'{etag[:-1]}-gzip"', f'W/{etag[:-1]}-gzip"', f'"x", {etag[:-1]}-br"']
    for given in (etag, f"W/{etag}", "*", f'"x", W/{etag} , "y"', *compressed):
        response = client.get(FEATURES, headers=NEW | {"If-None-Match": given})
        assert (response.status_code, response.data) == (304, b""), given
        assert [response.headers[name] for name in ("ETag", "Vary", "Cache-Control")] == [
            etag,
            "Accept-Encoding, Unleash-Client-Spec",
            "private, no-cache",
        ]
    for given in ('"x"', f'{etag[:-1]}-x"', "", etag.strip('"')[:-1], etag.replace('"', "", 1)[:-2], "\xff", '"'):
        assert client.get(FEATURES, headers=NEW | {"If-None-Match": given}).status_code == 200, given


def test_the_response_is_compressed_if_the_client_accepts_that(client: Caller) -> None:
    plain = client.get(FEATURES, headers=NEW)
    assert "Content-Encoding" not in plain.headers
    for accepted in ("gzip", "deflate, gzip;q=0.5", "*", "GZIP"):
        response = client.app.test_client().get(
            FEATURES, headers=NEW | {"Authorization": client.key or "", "Accept-Encoding": accepted}
        )
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(response.data) == plain.data
        assert [response.headers[name] for name in ("ETag", "Content-Type")] == [
            plain.headers["ETag"],
            "application/json",
        ]
    for refused in ("identity", "gzip;q=0", "br", ""):
        assert "Content-Encoding" not in client.get(FEATURES, headers=NEW | {"Accept-Encoding": refused}).headers


def test_one_flag_is_as_in_the_document(world: World, client: Caller) -> None:
    for headers in (NEW, {}):
        [flag] = client.get(FEATURES, headers=headers).json["features"]
        assert client.get(f"{FEATURES}/checkout", headers=headers).json == flag
    world.flag("hidden", world.project("hermes"))
    for token, name in ((client, "unknown"), (world.api_key("client", projects=("default",)), "hidden")):
        response = token.get(f"{FEATURES}/{name}")
        assert (response.status_code, response.json["message"]) == (404, "The token has no flag with that name.")
