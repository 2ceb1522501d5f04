"""What no client should send, of every route: patterns in filters, parameters twice, packed bodies, another method in a
header.
"""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.access import ROUTES, Family, Stage
from tests.support.fingerprint import fingerprint
from tests.support.hostile import REFUSING, REPORTED, REPORTS, description, report_statuses, with_bodies
from tests.support.verdicts import CLOSED, Asked, answer, changed, verdict
from tests.support.world import refused

pytestmark = pytest.mark.slow

# What would find nearly everything if it were read as a pattern or as a statement; no text of the stage has any of it.
PATTERNS = """
    %e% e% %%e __e _%_ %_e% e.* .*e.* ^[a-z] [a-z]+ (e|o) e|o [[:alpha:]] '||'e %(query)s {query} e/**/ *e* ?e
    ~e !e~ <-> e:*
""".split()
PATTERNS += [
    "\\%e",
    "%e\\",
    "\\w+",
    "' OR 'a'='a",
    "x' OR true --",
    "x%' OR '%'='",
    '" OR 1=1 --',
    "x'; SELECT 1; --",
    "\\' OR true --",
    "$1 OR true",
    "$$ OR true $$",
    "e & e",
    "e\u200b",
    "\ufeffe",
]
NOTHING = "zzqxj"
FORMS = ["{}", "IS:{}", "IS_ANY_OF:{}", "INCLUDE:{}", "INCLUDE_ANY_OF:{},{}"]
# These do not filter.
OTHERS = {"sortBy", "sortOrder", "favoritesFirst", "shouldActivateDisabledStrategies", "token"}
SEARCH = "POST /api/admin/events/search"


def parameters(route: str, kinds: tuple[str, ...]) -> list[str]:
    """The parameters of a route's query that are of these types."""
    return [
        parameter["name"]
        for parameter in description(route)["parameters"]
        if parameter["in"] == "query" and parameter["schema"]["type"] in kinds
    ]


ALL = [(route, name) for route in ROUTES for name in parameters(route, ("string", "array", "integer"))]
FILTERS = [(route, name) for route in ROUTES for name in parameters(route, ("string", "array")) if name not in OTHERS]


def furnished(stage: Stage, route: str) -> Stage:
    """The stage with what a route needs, and an event of everything that can be filtered by."""
    stage.furnish(ROUTES[route])
    assert stage.cast["alice"].post("/api/admin/projects/default/features", json={"name": "seed"}).status_code == 201
    return stage


@pytest.mark.parametrize(("route", "name"), FILTERS)
def test_a_text_in_a_filter_is_no_pattern_and_no_statement(stage: Stage, route: str, name: str) -> None:
    words, alice = furnished(stage, route).words(route), stage.cast["alice"]

    def found(form: str, text: str) -> tuple[Any, ...]:
        query = f"?{quote(name)}={quote(form.replace('{}', text), safe='')}"
        return answer(stage, alice, route, Asked(words, query=query, names=[text, json.dumps(text)[1:-1]]))

    complaints = []
    for form in FORMS:
        # A tag is in two parts.
        nothing = {text: found(form, text) for text in (NOTHING, f"{NOTHING}:{NOTHING}")}
        for pattern in PATTERNS:
            if found(form, pattern) != nothing[f"{NOTHING}:{NOTHING}" if ":" in pattern else NOTHING]:
                complaints.append(f"{route} {name} {form.replace('{}', pattern)}")
    verdict(complaints)


@pytest.mark.parametrize("field", ["project", "feature", "query"])
def test_a_pattern_in_the_body_of_a_search_is_plain_text(stage: Stage, field: str) -> None:
    alice = furnished(stage, SEARCH).cast["alice"]
    nothing, *others = (alice.post("/api/admin/events/search", json={field: text}) for text in (NOTHING, *PATTERNS))
    assert nothing.json["events"] == []
    assert [json.loads(answer.request.get_data() or b"{}") for answer in others if answer.json != nothing.json] == []


def test_a_filter_finds_what_has_its_text(stage: Stage) -> None:
    # The way by which a pattern would be seen above.
    alice = furnished(stage, SEARCH).cast["alice"]
    assert alice.get("/api/admin/search/events?query=seed").json["total"] == 1
    assert alice.get("/api/admin/search/features?query=eed").json["total"] == 1
    assert len(alice.get("/api/admin/user-admin/search?q=ict").json) == 1
    assert [
        flag["name"] for flag in alice.get("/api/admin/projects/default/features?namePrefix=se").json["features"]
    ] == ["seed"]


@pytest.mark.parametrize(
    ("route", "name"), [(route, name) for route, name in ALL if name not in parameters(route, ("array",))]
)
def test_a_parameter_is_given_once(stage: Stage, route: str, name: str) -> None:
    words, caller, body = furnished(stage, route).words(route), stage.cast[stage.mightiest(route)], stage.body(route)
    disguised = f"%{ord(name[0]):02x}{name[1:]}"
    for twice in (
        f"?{name}=&{name}=",
        f"?{name}=1&{name}=1",
        f"?{name}=1&{name}=2&{name}=3",
        f"?{name}=true&{disguised}=true",
    ):
        assert stage.send(caller, route, words, body, twice).status_code == 400, twice


# Much smaller than what is in it.
BOMB = zlib.compress(zlib.compress(b" " * 10_000_000, 9), 9)
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": bytes,
    "gzip, identity": gzip.compress,
    "deflate, deflate": lambda _: BOMB,
    "x": bytes,
}


@pytest.mark.parametrize("family", REFUSING)
def test_a_packed_body_is_refused(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    before, complaints = fingerprint(stage.conn), []
    for route in with_bodies(family):
        caller, right = stage.cast[stage.mightiest(route)], json.dumps(stage.body(route)).encode()
        for coding, pack in PACKED.items():
            response = stage.send(caller, route, stage.words(route), pack(right), **{"Content-Encoding": coding})
            if response.status_code != 415:
                complaints.append(f"{route} {coding}: {response.status_code} {response.text:.100}")
        # Not compressed, with the right header.
        response = stage.send(caller, route, stage.words(route), right, **{"Content-Encoding": "identity"})
        assert response.status_code < 300, f"{route}: {response.text}"
        # Compressed, without the header.
        refused(stage.send(caller, route, stage.words(route), gzip.compress(right)))
    verdict(complaints + changed(stage, before))


@pytest.mark.parametrize("route", REPORTS)
def test_a_packed_report_is_one_that_cannot_be_read(stage: Stage, route: str) -> None:
    stage.furnish(REPORTED)
    caller, right = stage.cast[stage.mightiest(route)], json.dumps(stage.body(route)).encode()
    before, (accepted, unreadable) = fingerprint(stage.conn), report_statuses(route)
    for coding, pack in {**PACKED, "identity": bytes, "": gzip.compress}.items():
        headers = {"Content-Encoding": coding} if coding else {}
        response = stage.send(caller, route, {}, pack(right), **headers)
        # The header does not matter.
        assert response.status_code == (accepted if pack is bytes else unreadable), coding
    assert changed(stage, before) == []


@pytest.mark.parametrize("family", CLOSED)
def test_a_method_in_a_header_or_a_query_is_none(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    alice, before, complaints = stage.cast["alice"], fingerprint(stage.conn), []
    for route in [row.route for row in family.firsts if row.method == "GET" and row.route != "GET /logout"]:
        words, query = stage.words(route), stage.props[family.name].queries.get(route, "")
        usual = answer(stage, alice, route, Asked(words, query=query))
        for method in ("DELETE", "PUT", "POST", "PATCH"):
            for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"):
                if answer(stage, alice, route, Asked(words, query=query), **{header: method}) != usual:
                    complaints.append(f"{route} with {header}: {method}")
            if (
                answer(stage, alice, route, Asked(words, query=f"{query}{'&' if query else '?'}_method={method}"))
                != usual
            ):
                complaints.append(f"{route} with _method={method}")
    verdict(complaints + changed(stage, before))
