"""Reads the answers of POST /api/admin/events/search."""

from werkzeug.test import TestResponse

PATH = "/api/admin/events/search"


def found(response: TestResponse) -> list[int]:
    """The ids that a search found; all of them, because the total says the same number."""
    ids, total = page(response)
    assert total == len(ids)
    return ids


def page(response: TestResponse) -> tuple[list[int], int]:
    """The ids and the total of a search that succeeded."""
    assert response.status_code == 200, response.text
    assert response.mimetype == "application/json"
    assert list(response.json) == ["version", "events", "totalEvents"]
    assert response.json["version"] == 1
    return [event["id"] for event in response.json["events"]], response.json["totalEvents"]
