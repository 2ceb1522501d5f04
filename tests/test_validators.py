"""What load() and load_query() make of a request as a whole: every problem is named, and an answer stays small."""

import pytest

from tests.world import Caller


def test_a_repeated_parameter_and_a_wrong_one_are_both_named(alice: Caller) -> None:
    response = alice.get("/api/admin/search/events?limit=x&offset=1&offset=2&createdBy=IS:z")
    assert response.status_code == 400
    for field in ("limit: ", "offset: must not be given more than once", "createdBy: "):
        assert field in response.json["message"]


@pytest.mark.parametrize(("number", "named"), [(20, True), (21, False), (50000, False)])
def test_unknown_properties_are_named_while_they_are_few(stranger: Caller, number: int, named: bool) -> None:
    response = stranger.post("/auth/simple/login", json={f"property-{count}": 1 for count in range(number)})
    assert (response.status_code, response.json["name"]) == (400, "ValidationError")
    assert ("property-7" in response.json["message"]) is named
    assert len(response.data) < 4000
