"""Every route with every field of its body, and every word of its address, as no client should send it: never a 500,
never undocumented.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from psycopg import Rollback

from tests.access import PARAMETER, ROUTES, Family, RouteWorld, Row, parameters
from tests.support.fingerprint import fingerprint
from tests.support.secrecy import VAULT
from tests.support.verdicts import CLOSED, changed, verdict

TEXTS = ["", "a", "\0", "\ud800", "x" * 300, "default", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]
LISTS = [[], [None], [[]], [{}], ["\0"], [1], [2**63], ["default"], [{"id": 1}], [{"name": "a", "weight": 1}]]
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    1.5,
    {},
    *TEXTS,
    *LISTS,
    [{"op": "add", "path": "/0", "value": 1}],
]
# A few of them for each change, where all take minutes.
FEW_VALUES: list[Any] = [None, 0, {}, "\0", "x" * 300, [None]]
FEW_WORDS = ["\0", "no-such-thing", "9" * 20]
WORDS = ["\0", "\ud7ff", "%", "..", "x" * 300, "0", "-1", "9" * 20, "é", "a b", "1"]


def spoiled(body: Any, values: list[Any]) -> Iterator[Any]:
    """A body with each of its fields as each of the values; of a list, of its first item."""
    yield from values
    if isinstance(body, dict):
        yield body | {"unknown": 1}
        for field in body:
            yield from (body | {field: value} for value in values)
    elif isinstance(body, list):
        yield from ([value] for value in values)
        for item in body[:1]:
            yield from ([worse] for worse in spoiled(item, values))


def requests(row: Row, route_world: RouteWorld, words: list[str], values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Address and body of each request to a route; ... is no body."""
    right, body = route_world.words(row.route), route_world.body(row.route)
    rule, query = row.route.split(" ")[1], route_world.arguments[ROUTES[row.route].name].queries.get(row.route, "")

    def address(words: dict[str, Any]) -> str:
        return PARAMETER.sub(lambda word: quote(str(words[word[1]]), safe=""), rule) + query

    for parameter in parameters(row.route):
        for word in words:
            yield address(right | {parameter: word}), ... if body is None else body
    for worse in spoiled(body, values):
        yield address(right), worse


@pytest.mark.parametrize(
    ("words", "values"),
    [(FEW_WORDS, FEW_VALUES), pytest.param(WORDS, VALUES, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
@pytest.mark.parametrize("family", CLOSED)
def test_invalid_input_is_refused_and_changes_nothing(
    route_world: RouteWorld, family: Family, words: list[str], values: list[Any]
) -> None:
    route_world.prepare(family)
    complaints, count, before = [], 0, fingerprint(route_world.conn)
    for row in family.firsts:
        caller = route_world.cast[route_world.most_privileged(row.route)]
        for path, body in requests(row, route_world, words, values):
            count += 1
            # What was sent as a password before is sent as a name now.
            VAULT.forget()
            try:
                with route_world.conn.transaction():
                    # The caller compares each response with what its operation documents.
                    answer = caller.request(row.method, path, **({} if body is ... else {"json": body}))
                    assert answer.status_code < 500, answer.text
                    # A refusal is not rolled back here, so what it changed is found below.
                    if answer.status_code < 400:
                        raise Rollback
            except AssertionError as error:
                complaints.append(f"{row.method} {path:.100} {body!r:.200}: {error!s:.200}")
    verdict(complaints + changed(route_world, before))
    assert count >= len(values) * len(family.firsts)
