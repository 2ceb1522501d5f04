"""Lists come back in the order in which they were sent. Terraform takes any other order for a failed change."""

from tests.support.world import Caller, World

WORDS = ["b", "c", "a"]


def test_lists_keep_the_order_in_which_they_were_sent(world: World, alice: Caller) -> None:
    world.flag("f")
    world.flag("parent")
    legal = [{"value": word} for word in WORDS]
    for sent in (legal, legal[::-1]):
        assert alice.put("/api/admin/context/appName", json={"legalValues": sent}).status_code == 200
        assert alice.get("/api/admin/context/appName").json["legalValues"] == sent
    constraint = {"contextName": "appName", "operator": "IN", "values": WORDS}
    development = "/api/admin/projects/default/features/f/environments/development"
    strategy = {"name": "default", "constraints": [constraint, constraint | {"values": WORDS[::-1]}]}
    stored = alice.post(f"{development}/strategies", json=strategy).json["constraints"]
    assert [one["values"] for one in stored] == [WORDS, WORDS[::-1]]
    segment = alice.post("/api/admin/segments", json={"name": "s", "constraints": [constraint]}).json
    assert segment["constraints"][0]["values"] == WORDS
    group = alice.post("/api/admin/groups", json={"name": "g", "mappingsSSO": WORDS}).json
    assert alice.get(f"/api/admin/groups/{group['id']}").json["mappingsSSO"] == group["mappingsSSO"] == WORDS
    overrides = [{"contextName": "userId", "values": WORDS}]
    variant = {"name": "v", "weight": 1000, "overrides": overrides}
    assert alice.put(f"{development}/variants", json=[variant]).json["variants"][0]["overrides"] == overrides
    parent = {"feature": "parent", "variants": WORDS}
    assert alice.post("/api/admin/projects/default/features/f/dependencies", json=parent).status_code == 200
    assert alice.get("/api/admin/projects/default/features/f").json["dependencies"][0]["variants"] == WORDS
    parameters = [{"name": word, "type": "string"} for word in WORDS]
    kind = alice.post("/api/admin/strategies", json={"name": "custom", "parameters": parameters}).json
    assert [one["name"] for one in kind["parameters"]] == WORDS
    origins = [f"https://{word}.example.org" for word in WORDS]
    token = {"tokenName": "t", "type": "frontend", "environment": "development", "origins": origins}
    assert alice.post("/api/admin/api-tokens", json=token).json["origins"] == origins
