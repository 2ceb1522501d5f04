"""Fills an Unleash server of any version, or one of ours, with records of every kind and varied values."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.support.unleash import Api, path

Json = dict[str, Any]
NUMBERS = ("0", "7", "18", "65.5", "-3")
VERSIONS = ("1.0.0", "1.2.3", "2.0.0-rc.1")
DATES = ("2024-05-31T12:00:00.000Z", "2026-01-01T00:00:00.000Z", "2026-06-30T23:59:59.999Z")
COUNTRIES = ("no", "se", "DE", "fr")
# The texts and the field of each operator. Servers refuse those that they do not know yet.
OPERATORS = {
    **dict.fromkeys(("IN", "NOT_IN"), ("country", COUNTRIES)),
    **dict.fromkeys(("STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH"), ("email", ("@example", "anna", ".COM"))),
    **dict.fromkeys(("NUM_EQ", "NUM_GT", "NUM_GTE", "NUM_LT", "NUM_LTE"), ("age", NUMBERS)),
    **dict.fromkeys(("DATE_AFTER", "DATE_BEFORE"), ("currentTime", DATES)),
    **dict.fromkeys(("SEMVER_EQ", "SEMVER_GT", "SEMVER_LT", "SEMVER_GTE", "SEMVER_LTE"), ("version", VERSIONS)),
    "REGEX": ("email", ("^a.*@example\\.com$", "[0-9]{2}")),
    "IN_CIDR": ("ip", ("10.0.0.0/8", "192.168.1.0/24")),
}
LISTS = ("IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH", "IN_CIDR")
TOKENS = (
    ("web-server", "client", "development", None),
    ("web-server", "client", "production", timedelta(days=90)),
    ("shop only", "client", "production", None),
    ("browser", "frontend", "development", None),
    ("browser", "frontend", "production", timedelta(days=1)),
)


class Filling:
    """What fill() does, with the records that it has made so far."""

    def __init__(self, api: Api, seed: int) -> None:
        self.api = api
        self.random = Random(seed)
        self.operators: list[str] = []
        self.segments: list[int] = []
        self.projects = ["default"]
        self.environments = ["development", "production"]

    def constraint(self, operator: str) -> Json:
        """Return a constraint with this operator."""
        field, texts = OPERATORS[operator]
        inverted, ignores_case = (self.random.random() < 0.3 and operator != "REGEX" for _ in range(2))
        operand: Json = {"values": [], "value": self.random.choice(texts)}
        if operator in LISTS:
            operand = {"values": self.random.sample(texts, self.random.randint(1, 2))}
        return {
            "contextName": field, "operator": operator, "inverted": inverted, "caseInsensitive": ignores_case, **operand
        }  # fmt: skip

    def constraints(self, most: int) -> list[Json]:
        return [self.constraint(self.random.choice(self.operators)) for _ in range(self.random.randint(0, most))]

    def variants(self, *names: str, stickiness: str = "default") -> list[Json]:
        """Return variants: the first has a fixed weight, and each has another kind of payload."""
        payloads = (("string", "red"), ("json", '{"size": 3}'), ("csv", "a,b"), ("number", "7"))
        variants: list[Json] = []
        for position, (name, (type, text)) in enumerate(zip(names, payloads, strict=False)):
            first = position == 0
            weights: Json = {"weight": 300 if first else 700 // (len(names) - 1) if len(names) > 1 else 1000}
            weights["weightType"] = "fix" if first and len(names) > 1 else "variable"
            payload: Json = {"payload": {"type": type, "value": text}} if position != 1 else {}
            variants.append({"name": name, **weights, "stickiness": stickiness, **payload})
        return variants

    def strategy(self, flag: str) -> Json:
        """Return a strategy, mostly a gradual rollout."""
        rollout = str(self.random.choice((0, 1, 25, 50, 75, 99, 100)))
        stickiness = self.random.choice(("default", "userId", "sessionId", "random", "tenantId"))
        group = self.random.choice(({}, {"groupId": ""}, {"groupId": flag}, {"groupId": "checkout"}))
        gradual: Json = {"rollout": rollout, "stickiness": stickiness, **group}
        name, parameters = self.random.choice(
            (
                ("default", {}),
                *[("flexibleRollout", gradual)] * 6,
                ("remoteAddress", {"IPs": "10.1.2.3, 192.168.1.0/24"}),
                ("applicationHostname", {"hostNames": "web-1,web-2"}),
                ("userWithId", {"userIds": "7, 8,anna"}),
                ("byTenant", {"tenants": "a,b", "share": "50"}),
            )
        )
        strategy: Json = {"name": name, "parameters": parameters, "constraints": self.constraints(2)}
        if self.random.random() < 0.4:
            strategy["title"] = f"Strategy {self.random.randrange(99)} – pilot"
        if self.random.random() < 0.3:
            strategy["segments"] = self.random.sample(self.segments, self.random.randint(1, 2))
        if self.random.random() < 0.15:
            strategy["disabled"] = True
        if name == "flexibleRollout" and stickiness != "random" and self.random.random() < 0.4:
            strategy["variants"] = self.variants("blue", "red", "almost", stickiness=stickiness)
        return strategy

    def catalog(self) -> None:
        """Create context fields, tag types, tags, strategy types and lifetimes, and change built-in ones."""
        api = self.api
        legal = [{"value": country, "description": f"Country {country}"} for country in COUNTRIES[:2]]
        fields: list[Json] = [
            {"name": "country", "legalValues": [*legal, *({"value": country} for country in COUNTRIES[2:])]},
            {"name": "tenantId", "stickiness": True, "sortOrder": 3, "description": "The customer"},
            *({"name": name} for name in ("email", "age", "version", "ip")),
        ]
        for field in fields:
            api.post("/api/admin/context", field)
        built_in = next(field for field in api.get("/api/admin/context") if field["name"] == "appName")
        changed = {key: built_in[key] for key in ("legalValues", "sortOrder") if key in built_in}
        api.put("/api/admin/context/appName", {**changed, "description": "Our application", "stickiness": True})
        team: Json = {"name": "team", "description": "Owning team", "icon": "T"}
        if not api.accepts("POST", "/api/admin/tag-types", {**team, "color": "#FFFFFF"}):
            api.post("/api/admin/tag-types", team)
        api.post("/api/admin/tag-types", {"name": "area", "description": "Part of the product"})
        for type, value in (("simple", "unused"), ("team", "no flag yet")):
            api.accepts("POST", "/api/admin/tags", {"type": type, "value": value})
        tenants: Json = {"name": "tenants", "type": "list", "description": "Names", "required": True}
        share: Json = {"name": "share", "type": "percentage", "description": "", "required": False}
        for name, parameters in (("byTenant", [tenants, share]), ("byMoon", []), ("userWithId", [])):
            type: Json = {"name": name, "description": f"Our {name}", "parameters": parameters}
            if name != "userWithId" or api.send("GET", "/api/admin/strategies/userWithId")[0] == 404:
                api.post("/api/admin/strategies", type)
        api.post("/api/admin/strategies/byMoon/deprecate")
        for type, days in (("experiment", 14), ("operational", None)):
            api.accepts("PUT", f"/api/admin/feature-types/{type}/lifetime", {"lifetimeDays": days})

    def paid(self) -> None:
        """Create what only the paid edition and our service have: environments, projects and their settings."""
        api = self.api
        if not api.accepts("POST", "/api/admin/environments", {"name": "staging", "type": "preproduction"}):
            return
        self.environments.append("staging")
        api.post("/api/admin/environments", {"name": "lab", "type": "test"})
        for project in ({"id": "shop", "name": "Shop"}, {"id": "secret", "name": "Secret", "mode": "private"}):
            api.post("/api/admin/projects", {"description": "A project", **project})
            self.projects.append(project["id"])
        api.put("/api/admin/projects/shop", {"name": "The shop", "defaultStickiness": "tenantId"})
        for project in self.projects:
            for environment in ("development", "production", "staging"):
                body = {"environment": environment}
                api.accepts("POST", f"/api/admin/projects/{project}/environments", body)
        api.accepts("POST", "/api/admin/environments/lab/off")
        permissions = [{"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"}, {"name": "UPDATE_FEATURE"}]
        role: Json = {"name": "Release manager", "description": "Switches flags", "permissions": permissions}
        releasing = api.post("/api/admin/roles", role)["roles"]["id"]
        people = [
            api.post("/api/admin/user-admin", {"email": f"{name}@example.com", "name": name, "rootRole": 3})["id"]
            for name in ("anna", "bert")
        ]
        api.post("/api/admin/service-account", {"username": "terraform", "name": "Terraform", "rootRole": 2})
        group: Json = {"name": "Payments", "description": "A team", "mappingsSSO": ["pay"], "rootRole": 2}
        group["id"] = api.post("/api/admin/groups", group | {"users": [{"user": {"id": people[0]}}]})["id"]
        access: Json = {"roles": [releasing, 5], "users": people, "groups": [group["id"]]}
        api.post("/api/admin/projects/shop/access", access)

    def make_segments(self) -> None:
        for operator, (field, texts) in OPERATORS.items():
            constraint = {"contextName": field, "operator": operator, "values": list(texts), "value": texts[0]}
            if self.api.accepts("POST", "/api/admin/constraints/validate", constraint):
                self.operators.append(operator)
        for number in range(6):
            body: Json = {
                "name": f"Segment {number}",
                "description": "Some users" if number % 2 else "",
                "constraints": [self.constraint(self.random.choice(self.operators)) for _ in range(1 + number % 3)],
            }
            if number == 5:
                body["constraints"] = [
                    self.constraint("IN") | {"contextName": "userId", "values": [str(user) for user in range(0, 90, 3)]}
                ]
            self.segments.append(self.api.post("/api/admin/segments", body)["id"])
        self.api.accepts("POST", "/api/admin/segments", {"name": "Of shop", "project": "shop", "constraints": []})

    def flag(self, name: str, project: str, number: int) -> None:
        """Create a flag with strategies, variants, tags, links and switches."""
        api, at = self.api, f"/api/admin/projects/{project}/features"
        types = ("release", "experiment", "operational", "kill-switch", "permission", "sunset")
        body: Json = {"name": name, "type": types[number % 6], "impressionData": number % 5 == 1}
        if number % 3:
            body["description"] = f"Flag {number}: “für” & <all>"
        if not api.accepts("POST", at, body):
            api.post(at, {**body, "type": "release"})
        for environment in self.environments:
            self.environment(f"{at}/{path(name)}/environments/{environment}", name, number)
        for type, value in ((("team", "red"), ("area", "check out"), ("simple", f"t{number % 4}")))[: number % 4]:
            api.post(f"/api/admin/features/{path(name)}/tags", {"type": type, "value": value})
        if number % 9 == 2:
            api.accepts("POST", f"{at}/{path(name)}/link", {"url": f"https://example.com/{number}", "title": "Ticket"})
        if number % 10 == 4:
            api.expect("PATCH", f"{at}/{path(name)}", [{"op": "replace", "path": "/stale", "value": True}])

    def environment(self, at: str, name: str, number: int) -> None:
        """Set the variants of a flag in an environment, add strategies, sort them, and switch it on."""
        if number % 6 == 3:
            self.old_variants(at, name)
        strategies = [self.strategy(name) for _ in range(self.random.choice((0, 1, 1, 2, 3, 4)))]
        ids = [self.api.post(f"{at}/strategies", strategy)["id"] for strategy in strategies]
        if len(ids) > 1:
            order = self.random.sample(range(len(ids)), len(ids))
            sorted_ids = [{"id": id, "sortOrder": place} for id, place in zip(ids, order, strict=True)]
            self.api.post(f"{at}/strategies/set-sort-order", sorted_ids)
        if self.random.random() < 0.75:
            self.api.post(f"{at}/on")

    def old_variants(self, at: str, name: str) -> None:
        """Give a flag variants in an environment. Newer versions of Unleash only import them."""
        variants = self.variants("z-first", "a-second", "middle", stickiness="userId")
        variants[1]["overrides"] = [{"contextName": "userId", "values": ["7", "anna"]}]
        if not self.api.accepts("PUT", f"{at}/variants", variants):
            _, project, _, _, _, environment = at.removeprefix("/api/admin/").split("/")
            before = self.api.get(f"/api/admin/projects/{project}/features/{path(name)}")
            state = {"name": name, "featureName": name, "environment": environment, "variants": variants}
            data = {
                "features": [{key: before[key] for key in ("name", "type", "description", "impressionData")}],
                "featureStrategies": [],
                "featureEnvironments": [{**state, "enabled": False}],
                "contextFields": [],
                "featureTags": [],
                "segments": [],
                "tagTypes": [],
            }
            body = {"project": project, "environment": environment, "data": data}
            self.api.as_user().post("/api/admin/features-batch/import", body)

    def dependencies(self) -> None:
        at = "/api/admin/projects/default/features"
        for child, dependency in (
            ("flag-20", {"feature": "flag-01"}),
            ("flag-21", {"feature": "flag-03", "variants": ["z-first", "middle"]}),
            ("flag-22", {"feature": "flag-02", "enabled": False}),
            ("flag-23", {"feature": "flag-01", "enabled": True, "variants": []}),
        ):
            self.api.accepts("POST", f"{at}/{child}/dependencies", dependency)

    def tokens(self) -> None:
        for name, type, environment, lifetime in TOKENS:
            body: Json = {"tokenName": name, "type": type, "environment": environment, "projects": ["*"]}
            if name == "shop only":
                body["projects"] = self.projects[-2:]
            if lifetime:
                body["expiresAt"] = (datetime.now(UTC) + lifetime).isoformat()
            if not self.api.accepts("POST", "/api/admin/api-tokens", body):
                self.api.post("/api/admin/api-tokens", {**body, "username": name})
        expired = {"tokenName": "expired", "type": "client", "environment": "development", "projects": ["*"]}
        self.api.post("/api/admin/api-tokens", {**expired, "expiresAt": "2024-01-01T00:00:00.000Z"})

    def archive(self) -> None:
        """Archive flags with and without strategies."""
        for number in (50, 51, 52, 53):
            self.api.expect("DELETE", f"/api/admin/projects/default/features/flag-{number}", {})


def fill(api: Api, seed: int = 31, flags: int = 60) -> Filling:
    """Fill a server. The same seed gives the same records, as far as the version knows them."""
    filling = Filling(api, seed)
    filling.catalog()
    filling.paid()
    filling.make_segments()
    strategy: Json = {"name": "flexibleRollout", "title": "Half", "constraints": filling.constraints(1)}
    strategy["parameters"] = {"rollout": "50", "stickiness": "userId", "groupId": ""}
    api.expect("POST", "/api/admin/projects/default/environments/production/default-strategy", strategy)
    names = [f"flag-{number:02}" for number in range(flags)]
    names[5], names[6] = "odd-(flag)!*'", "dotted.Flag~_1"
    for number, name in enumerate(names):
        filling.flag(name, "default", number)
    for number, project in enumerate(filling.projects[1:]):
        for name in ("cart", "search", "checkout"):
            filling.flag(f"{project}.{name}", project, number)
    if len(filling.projects) > 1:
        naming = {"pattern": "secret\\..+", "example": "secret.flag", "description": "Begin with secret."}
        settings: Json = {"mode": "private", "featureLimit": 40, "featureNaming": naming, "defaultStickiness": "random"}
        api.put("/api/admin/projects/secret/settings", settings)
    filling.dependencies()
    filling.archive()
    filling.tokens()
    return filling
