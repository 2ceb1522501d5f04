"""Requests of OpenFeature clients, in tests."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.evaluation import Json
from tests.support.world import Caller

PATH = "/ofrep/v1/evaluate/flags"


def add_variants(caller: Caller, *payloads: Json | None, flag: str = "f", stickiness: str = "userId") -> None:
    """Give a flag variants named 1, 2, … in development, with these payloads."""
    variants = [
        {"name": str(number), "weight": 1000 // len(payloads), "weightType": "variable", "stickiness": stickiness}
        | ({} if payload is None else {"payload": payload})
        for number, payload in enumerate(payloads, 1)
    ]
    response = caller.put(
        f"/api/admin/projects/default/features/{flag}/environments/development/variants", json=variants
    )
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
