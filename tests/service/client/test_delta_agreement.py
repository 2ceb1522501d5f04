"""The flags of an SDK in delta mode are those of the document, after any changes."""

from random import Random
from typing import Any

import pytest

from tests.support.world import Caller, World

DELTA, FEATURES = "/api/client/delta", "/api/client/features"
SDK = {"Unleash-Client-Spec": "5.2.0"}
PROJECTS = "/api/admin/projects"
SEGMENTS = "/api/admin/segments"
STEPS = 80
USERS = ("1", "2", "3")
Json = dict[str, Any]


class Changes:
    """Random changes of the flags of two projects, and of their segments."""

    def __init__(self, alice: Caller, random: Random) -> None:
        self.alice = alice
        self.random = random
        self.number = 0
        self.flags: dict[str, str] = {}
        self.archived: dict[str, str] = {}
        self.segments = [self.send("POST", SEGMENTS, self.segment())["id"] for _ in range(2)]
        self.create()

    def change(self) -> None:
        """Change something."""
        of_a_flag = (self.switch, self.put_strategy, self.put_strategy, self.put_variants, self.describe, self.move)
        others = (self.create, self.archive, self.revive, self.put_segment)
        self.random.choice(of_a_flag + others if self.flags else (self.create,))()

    def send(self, method: str, path: str, json: Any = None) -> Any:
        response = self.alice.request(method, path, json=json)
        assert response.status_code < 300, (method, path, response.text)
        return response.json if response.data else None

    def text(self) -> str:
        """Return a new text."""
        self.number += 1
        return f"{self.random.choice('ab')}{self.number}"

    def flag(self) -> tuple[str, str]:
        """Return the name of a flag, and its path."""
        name, project = self.random.choice(sorted(self.flags.items()))
        return name, f"{PROJECTS}/{project}/features/{name}"

    def create(self) -> None:
        name, project = self.text(), self.random.choice(("default", "second"))
        self.send("POST", f"{PROJECTS}/{project}/features", {"name": name})
        self.flags[name] = project

    def switch(self) -> None:
        _, path = self.flag()
        self.send("POST", f"{path}/environments/development/{self.random.choice(('on', 'on', 'off'))}")

    def put_strategy(self) -> None:
        """Add a strategy, or change or delete one."""
        path = f"{self.flag()[1]}/environments/development/strategies"
        strategy = {
            "name": "flexibleRollout",
            "parameters": {"rollout": self.random.choice(("0", "50", "100")), "stickiness": "userId", "groupId": "g"},
            "segments": self.random.sample(self.segments, self.random.randrange(3)),
        }
        if found := self.send("GET", path):
            method = self.random.choice(("PUT", "DELETE"))
            self.send(method, f"{path}/{found[0]['id']}", strategy if method == "PUT" else None)
        else:
            self.send("POST", path, strategy)

    def put_variants(self) -> None:
        names = ("x", "y")[: self.random.randrange(3)]
        same = {"weightType": "variable", "stickiness": "userId", "payload": {"type": "string", "value": self.text()}}
        variants = [{"name": name, "weight": 1000 // len(names)} | same for name in names]
        self.send("PUT", f"{self.flag()[1]}/environments/development/variants", variants)

    def describe(self) -> None:
        change = {"description": self.text(), "impressionData": self.random.random() < 0.5}
        self.send("PUT", self.flag()[1], change)

    def move(self) -> None:
        name, path = self.flag()
        self.flags[name] = {"default": "second", "second": "default"}[self.flags[name]]
        self.send("POST", f"{path}/changeProject", {"newProjectId": self.flags[name]})

    def archive(self) -> None:
        name, path = self.flag()
        self.send("DELETE", path)
        self.archived[name] = self.flags.pop(name)

    def revive(self) -> None:
        if self.archived:
            name, project = self.archived.popitem()
            self.send("POST", f"/api/admin/archive/revive/{name}")
            self.flags[name] = project

    def segment(self) -> Json:
        users = self.random.sample(USERS, 2)
        return {"name": self.text(), "constraints": [{"contextName": "userId", "operator": "IN", "values": users}]}

    def put_segment(self) -> None:
        self.send("PUT", f"{SEGMENTS}/{self.random.choice(self.segments)}", self.segment())


class Application:
    """An SDK in delta mode, and a second engine with all flags."""

    def __init__(self, caller: Caller, query: str) -> None:
        from yggdrasil_engine.engine import UnleashEngine

        self.caller = caller
        self.query = query
        self.etag = ""
        self.flags: dict[str, Json] = {}
        self.segments: dict[int, Json] = {}
        self.engine, self.whole = UnleashEngine(), UnleashEngine()
        self.kinds: set[str] = set()

    def update(self) -> None:
        """Apply the events since the last time."""
        response = self.caller.get(DELTA + self.query, headers=SDK | {"If-None-Match": self.etag})
        assert response.status_code in (200, 304), response.text
        if response.status_code == 200:
            assert response.headers["ETag"] != self.etag
            for event in response.json["events"]:
                self.apply(event)
            assert not self.engine.take_state(response.text)
        self.etag = response.headers["ETag"]

    def apply(self, event: Json) -> None:
        """Do what unleash-client does. It uses no engine."""
        self.kinds.add(event["type"])
        match event["type"]:
            case "hydration":
                self.flags = {flag["name"]: flag for flag in event["features"]}
                self.segments = {segment["id"]: segment for segment in event["segments"]}
            case "feature-updated":
                self.flags[event["feature"]["name"]] = event["feature"]
            case "feature-removed":
                assert self.flags.pop(event["featureName"])["project"] == event["project"]
            case "segment-updated":
                self.segments[event["segment"]["id"]] = event["segment"]
            case "segment-removed":
                del self.segments[event["segmentId"]]

    def check(self) -> None:
        """Compare the flags with the document, and the decisions with those of an engine that gets the document."""
        response = self.caller.get(FEATURES + self.query, headers=SDK)
        assert response.headers["ETag"] == self.etag
        assert self.flags == {flag["name"]: flag for flag in response.json["features"]}
        assert self.segments == {segment["id"]: segment for segment in response.json["segments"]}
        self.whole.take_state(response.text)
        names = {flag.name for flag in self.engine.list_known_toggles()}
        assert names == self.flags.keys()
        for name in names:
            for user in USERS:
                results = [
                    (engine.is_enabled(name, {"userId": user}), engine.get_variant(name, {"userId": user}))
                    for engine in (self.engine, self.whole)
                ]
                assert results[0] == results[1], name


@pytest.mark.parametrize("seed", range(4))
def test_all_events_lead_to_the_document(world: World, alice: Caller, seed: int) -> None:
    random = Random(seed)
    world.project("second")
    changes = Changes(alice, random)
    client, second = world.api_key("client"), world.api_key("client", projects=("second",))
    # Each asks at other times, so their events span other numbers of changes.
    applications = [Application(client, ""), Application(second, ""), Application(client, "?namePrefix=a")]
    for _ in range(STEPS):
        changes.change()
        for application in random.sample(applications, random.randrange(len(applications) + 1)):
            application.update()
            application.check()
    for application in applications:
        application.update()
        application.check()
    kinds = {"hydration", "feature-updated", "feature-removed", "segment-updated", "segment-removed"}
    assert applications[0].kinds == kinds
