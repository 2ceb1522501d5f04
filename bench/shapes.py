"""Every read that is measured: searches, overview, access of a project, insights, each as an admin and as a member ask."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from bench.company import ABSENT_WORD, COMMON_WORD, RARE_WORD
from bench.facts import ADMIN_KEY, MEMBER_TOKEN, Facts
from bench.fill import days_before
from bench.plan import REFERENCE

KEYS = {"admin": ADMIN_KEY, "member": MEMBER_TOKEN}
SEARCH, OLD_SEARCH = "/api/admin/search/events", "/api/admin/events/search"
EVERYBODY, ADMIN = ("admin", "member"), ("admin",)


@dataclass(frozen=True)
class Request:
    """One request as it is sent."""

    method: str
    path: str
    key: str | None = None
    body: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Its headers."""
        headers = {} if self.key is None else {"Authorization": self.key}
        return headers | ({} if self.body is None else {"Content-Type": "application/json"})


@dataclass(frozen=True)
class Shape:
    """One kind of read. group: what it is compared with; callers: who asks."""

    name: str
    group: str
    path: str
    body: str | None = None
    callers: tuple[str, ...] = EVERYBODY

    def request(self, caller: str) -> Request:
        """It, as this caller asks."""
        return Request("GET" if self.body is None else "POST", self.path, KEYS[caller], self.body)


HEALTH = Request("GET", "/health")


def searches(facts: Facts, events: int) -> list[Shape]:
    """The searches; page is the newest 50 unless it says otherwise."""
    old_day, two_years = days_before(facts.last_day, 365), days_before(facts.last_day, 730)
    of = {
        "flag": {"feature": f"IS:{facts.flag}"},
        "project": {"project": f"IS:{facts.project}"},
        "type": {"type": f"IS:{facts.type}"},
        "creator": {"createdBy": f"IS:{facts.creator}"},
        "two flags": {"feature": f"IS_ANY_OF:{facts.flag},{facts.other_flag}"},
        "two projects": {"project": f"IS_ANY_OF:{facts.project},{facts.other_project}"},
        "two types": {"type": f"IS_ANY_OF:{facts.type},{facts.other_type}"},
        "two creators": {"createdBy": f"IS_ANY_OF:{facts.creator},{facts.other_creator}"},
        "from a day on": {"from": f"IS:{old_day}"},
    }
    named = {
        "page": {"no filter": {}},
        "one": {
            "one flag, the busiest": of["flag"],
            "one project, the busiest": of["project"],
            "one project, of the middle": {"project": f"IS:{facts.own_project}"},
            "one type": of["type"],
            "one creator": of["creator"],
        },
        "two": {name: of[name] for name in ("two flags", "two projects", "two types", "two creators")},
        "days": {
            "a month two years ago": {"from": f"IS:{two_years}", "to": f"IS:{days_before(two_years, -30)}"},
            "the last 7 days": {"from": f"IS:{days_before(facts.last_day, 6)}"},
            "the last year": of["from a day on"],
        },
        "combined": {
            "project + type": of["project"] | of["type"],
            "project + creator": of["project"] | of["creator"],
            "type + creator": of["type"] | of["creator"],
            "flag + type": of["flag"] | of["type"],
            "project + creator that never met": of["creator"] | {"project": f"IS:{facts.strange_project}"},
            "2 projects + 2 types + the last year": of["two projects"] | of["two types"] | of["from a day on"],
        },
        "words": {
            "a word in two events": {"query": RARE_WORD},
            "a word in every event": {"query": COMMON_WORD},
            "a word in none": {"query": ABSENT_WORD},
        },
        "offset": {"offset 10 %": {"offset": events // 10}, "offset 90 %": {"offset": events * 9 // 10}},
        "limit": {"limit 1": {"limit": 1}, "limit 1000": {"limit": 1000}},
    }
    if events > REFERENCE:
        # Their indexes are left out there.
        del named["words"]
    shapes = [
        Shape(name, group, f"{SEARCH}?{urlencode(query, safe=':,')}" if query else SEARCH)
        for group in named
        for name, query in named[group].items()
    ]
    old = {"type": {"type": facts.type}, "project": {"project": facts.project}}
    old |= {"word": {"query": RARE_WORD}} if "words" in named else {}
    return shapes + [Shape(f"deprecated, {name}", "deprecated", OLD_SEARCH, json.dumps(body)) for name, body in old.items()]


def projects(facts: Facts) -> list[Shape]:
    """The overview and the access of projects."""
    busiest, own = (f"/api/admin/projects/{project}" for project in (facts.project, facts.own_project))
    return [
        Shape("overview, the busiest project", "overview", f"{busiest}/overview"),
        Shape("overview, a project of the middle", "overview", f"{own}/overview"),
        # A member may not ask for it.
        Shape("access, the busiest project", "access", f"{busiest}/access", callers=ADMIN),
        Shape("access, a project of the middle", "access", f"{own}/access", callers=ADMIN),
    ]


def insights(facts: Facts) -> list[Shape]:
    """The insights, over the default range and over all there is."""
    path = "/api/admin/insights"
    return [
        Shape("insights, default range", "insights", path),
        Shape("insights, three years", "insights", f"{path}?from={facts.first_day}"),
    ]


def mixed(facts: Facts, events: int) -> Iterable[Request]:
    """What a busy instance is asked for, 1,000-event pages included: everything that is not slow by its nature."""
    for shape in (*searches(facts, events), *projects(facts), *insights(facts)):
        if shape.name not in ("a word in every event", "insights, three years"):
            for caller in shape.callers:
                yield shape.request(caller)
