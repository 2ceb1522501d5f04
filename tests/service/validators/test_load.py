"""What load(), its kin and load_query() make of a request as a whole: every problem is named, and an answer stays
small.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from serving.request_data import load, load_many
from tests.support.world import Caller
from validators import MAX_ITEMS, MAX_MESSAGES, Body
from validators.fields import Integer, ListOf, Nested, ObjectOf, Text


def test_a_repeated_parameter_and_a_wrong_one_are_both_named(alice: Caller) -> None:
    response: Any = alice.get("/api/admin/search/events?limit=x&offset=1&offset=2&createdBy=IS:z")
    assert response.status_code == 400
    for field in ("limit: ", "offset: must not be given more than once", "createdBy: "):
        assert field in response.json["message"]


@pytest.mark.parametrize(("number", "named"), [(20, True), (21, False), (1500, False)])
def test_unknown_properties_are_named_while_they_are_few(stranger: Caller, number: int, named: bool) -> None:
    response: Any = stranger.post("/auth/simple/login", json={f"property-{count}": 1 for count in range(number)})
    assert (response.status_code, response.json["name"]) == (400, "ValidationError")
    assert ("property-7" in response.json["message"]) is named
    assert len(response.data) < 4000


class Constraint(Body):
    """What is nested below."""

    operator = Text(required=True)
    values = ListOf(Text(), load_default=list)


class Strategy(Body):
    """What holds it."""

    name = Text()
    sortOrder = Integer(min=0, load_default=0)
    constraints = ListOf(Nested(Constraint))
    parameters = ObjectOf(Text())


def sent(
    loader: Callable[[Body], Any],
    body: Any,
    *,
    schema: type[Body] = Strategy,
    content_type: str | None = "application/json",
) -> Any:
    """What a loader makes of a body: bytes as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    app = Flask(__name__)
    app.config["WAIT_SECONDS"] = 1
    with app.test_request_context("/", method="POST", data=data, content_type=content_type):
        return loader(schema())


def refusal(loader: Callable[[Body], Any], body: Any, **kwargs: Any) -> str:
    """The message with which a loader refuses a body."""
    with pytest.raises(BadRequest) as refused:
        sent(loader, body, **kwargs)
    assert refused.value.description
    return refused.value.description


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"constraints": [{}]}, "constraints.0.operator: is required"),
        ({"constraints": [{"operator": "IN"}, 5]}, "constraints.1: must be a JSON object"),
        ({"constraints": [None]}, "constraints.0: must not be null"),
        ({"constraints": {}}, "constraints: must be a list"),
        (
            {"constraints": [{"operator": "IN", "values": ["a", "b", "c", 5]}]},
            "constraints.0.values.3: must be a string",
        ),
        ({"constraints": [{"operator": "IN", "x": 1}]}, "constraints.0.x: unknown property"),
        ({"parameters": {"rollout": 50}}, "parameters.rollout: must be a string"),
        ({"parameters": {"x" * 200: 50}}, f"parameters.{'x' * 100}: must be a string"),
        (
            {"constraints": [{"operator": "IN", **dict.fromkeys(map(str, range(21)), 1)}]},
            "constraints.0: 21 unknown properties",
        ),
    ],
)
def test_a_message_names_the_place_inside_a_body(body: Any, message: str) -> None:
    assert refusal(load, body) == message
    assert refusal(load_many, [{}, body]) == f"1.{message}"


def test_an_array_is_read_item_by_item() -> None:
    assert sent(load_many, []) == []
    assert sent(load_many, [{"name": "a"}, {"sortOrder": 7}]) == [{"name": "a", "sortOrder": 0}, {"sortOrder": 7}]
    assert refusal(load_many, [{}], schema=Constraint) == "0.operator: is required"
    assert refusal(load_many, [{}, 5, {"x": 1}]) == "1: must be a JSON object; 2.x: unknown property"
    assert refusal(load_many, [{}] * (MAX_ITEMS + 1)) == f"body: must have at most {MAX_ITEMS} items"
    assert refusal(load_many, b"") == "A JSON body is required."
    with pytest.raises(UnsupportedMediaType):
        sent(load_many, [], content_type="text/plain")


@pytest.mark.parametrize("body", [None, True, 5, "", "[]", {}, {"0": {}}])
def test_a_body_that_is_not_an_array_is_refused(body: Any) -> None:
    assert refusal(load_many, body) == "body: must be a JSON array"


def test_a_message_stays_small_however_much_is_wrong() -> None:
    message = refusal(load_many, [{"x" * 60: 1}] * MAX_ITEMS)
    assert message.endswith(f"; and {MAX_ITEMS - MAX_MESSAGES} more")
    assert len(message) < 5000
    assert "more" not in refusal(load_many, [{"x": 1}] * MAX_MESSAGES)
