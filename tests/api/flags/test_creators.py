"""createdBy of flags that no user created, and the filter of the search by it."""

from rules.access import SYSTEM
from rules.flags import insert_flags
from rules.imports import NEW


def test_a_flag_without_a_user_has_the_name_of_its_token(world, conn):
    token = world.api_key(name="ci")
    flags = "/api/admin/projects/default/features"
    assert token.post(flags, json={"name": "posted"}).status_code == 201
    assert token.post(f"{flags}/posted/clone", json={"name": "cloned"}).status_code == 201
    document = {"features": [{"name": "imported"}], "featureStrategies": [], "tagTypes": []}
    place = {"project": "default", "environment": "development", "data": document}
    assert token.post("/api/admin/features-batch/import", json=place).status_code == 200
    insert_flags(conn, SYSTEM, {"id": "default"}, [{"name": "own"} | NEW])
    assert token.delete(f"{flags}/cloned").status_code == 202
    search = "/api/admin/search/features"
    found = token.get(search).json["features"] + token.get(f"{search}?archived=IS:true").json["features"]
    expected = {name: {"id": -42, "name": "ci", "imageUrl": ""} for name in ("posted", "cloned", "imported")}
    expected["own"] = {"id": -1337, "name": "system", "imageUrl": ""}
    assert {flag["name"]: flag["createdBy"] for flag in found} == expected
    for query, names in (("IS:-1337", {"own"}), ("IS_NOT:-1337", {"posted", "imported"})):
        assert {flag["name"] for flag in token.get(f"{search}?createdBy={query}").json["features"]} == names
    live = ("posted", "imported", "own")
    assert {name: token.get(f"{flags}/{name}").json["createdBy"] for name in live} == {n: expected[n] for n in live}
