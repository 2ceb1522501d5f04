"""%2F never separates the segments of a path. In the last segment of some paths it is part of the value. So are line
breaks.
"""

from urllib.parse import quote

import pytest
from flask import Flask, request, request_started

from tests.access import PARAMETER
from tests.support.world import Caller, World, refused

# Slashes, percent signs, and what could be taken for either.
VALUES = ["24/7", "/first", "last/", "a//b", "%2F", "%252F", "100%", "100%25", "ü/%?#&=+;"]
VALUES += ["two\nlines", "a\r\n/b", "a\u2028b"]


@pytest.mark.parametrize(
    "path",
    [
        "/api%2fadmin%2fuser",
        "/api%2Fadmin%2Fuser",
        "/api/admin%2Fuser",
        "/api%2Fadmin/user",
        "/%2Fapi/admin/user",
        "/api/admin/user%2F",
        "/api%252Fadmin%252Fuser",
        "/api/admin/projects%2Fdefault/overview",
        "/api/admin/search%2Fevents",
        "http://localhost/api%2Fadmin%2Fuser",
    ],
)
def test_an_encoded_slash_separates_no_segments(alice: Caller, path: str) -> None:
    refused(alice.get(path), 404, "NotFoundError")


def test_an_encoded_name_is_one_segment_and_decoded_once(alice: Caller) -> None:
    assert "project" in refused(alice.get("/api/admin/projects/a%2Fb/overview"), 404, "NotFoundError")
    assert alice.get("/api/admin/events/a%2Fb").json["toggleName"] == "a/b"
    assert alice.get("/api/admin/events/a%25b%252F").json["toggleName"] == "a%b%2F"


@pytest.mark.parametrize("value", VALUES)
def test_tags_and_names_of_api_tokens_can_contain_slashes(world: World, alice: Caller, value: str) -> None:
    world.flag("f")
    assert alice.post("/api/admin/features/f/tags", json={"type": "simple", "value": value}).status_code == 201
    quoted = quote(value, safe="")
    path = f"/api/admin/tags/simple/{quoted}"
    assert alice.get(path).json["tag"] == {"type": "simple", "value": value}
    if not value.endswith("/") and "%" not in value and "\n" not in value:
        # Slashes need not be encoded.
        assert alice.get(f"/api/admin/tags/simple/{value}").json["tag"]["value"] == value
    found = alice.get(f"/api/admin/search/features?tag=INCLUDE:simple:{quoted}").json
    assert [flag["name"] for flag in found["features"]] == ["f"]
    assert alice.delete(f"/api/admin/features/f/tags/simple/{quoted}").status_code == 200
    assert alice.get("/api/admin/features/f/tags").json["tags"] == []
    assert alice.delete(path).status_code == 200
    refused(alice.get(path), 404, "NotFoundError")
    token = alice.post("/api/admin/api-tokens", json={"type": "client", "tokenName": value}).json
    assert alice.get(f"/api/admin/api-tokens/{quoted}").json["tokens"] == [token]


def test_each_path_parameter_can_be_any_text(app: Flask, stranger: Caller) -> None:
    reached: list[str | None] = []

    def note(_app: Flask) -> None:
        reached.append(request.url_rule and request.endpoint)

    # Files and the tabs of Unleash are not names of ours.
    rules = [rule for rule in app.url_map.iter_rules() if rule.arguments and "<path:" not in rule.rule]
    assert len(rules) > 100
    with request_started.connected_to(note, app):
        for rule in rules:
            for text in ("a\nb", "\n", "\r", "a/b", "a\0b", "%", "..", "\u2028"):
                method = min((rule.methods or set()) - {"HEAD", "OPTIONS"})
                stranger.request(method, PARAMETER.sub(quote(text, safe=""), rule.rule))
                assert reached[-1] == rule.endpoint, (rule.rule, text)
