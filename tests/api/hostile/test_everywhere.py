"""Every route with every field of its body, and every word of its address, as no client should send it: never a 500,
never undocumented.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from psycopg import Rollback

from tests.access import FAMILIES, PARAMETER, ROUTES, Family, Row, Stage, parameters
from tests.support.secrecy import VAULT

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
WORDS = ["\0", "\ud7ff", "%", "..", "x" * 300, "0", "-1", "9" * 20, "é", "a b", "1"]


def spoiled(body: Any) -> Iterator[Any]:
    """A body with each of its fields as each of the values; of a list, of its first item."""
    yield from VALUES
    if isinstance(body, dict):
        yield body | {"unknown": 1}
        for field in body:
            yield from (body | {field: value} for value in VALUES)
    elif isinstance(body, list):
        yield from ([value] for value in VALUES)
        for item in body[:1]:
            yield from ([worse] for worse in spoiled(item))


def requests(row: Row, stage: Stage) -> Iterator[tuple[str, Any]]:
    """Address and body of each request to a route; ... is no body."""
    words, body = stage.words(row.route), stage.body(row.route)
    rule, query = row.route.split(" ")[1], stage.props[ROUTES[row.route].name].queries.get(row.route, "")

    def address(words: dict[str, Any]) -> str:
        return PARAMETER.sub(lambda word: quote(str(words[word[1]]), safe=""), rule) + query

    for parameter in parameters(row.route):
        for word in WORDS:
            yield address(words | {parameter: word}), ... if body is None else body
    for worse in spoiled(body):
        yield address(words), worse


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in FAMILIES if family.rows], ids=lambda family: family.name)
def test_no_input_causes_a_server_error(stage: Stage, family: Family) -> None:
    stage.furnish(family)
    complaints, count = [], 0
    for row in family.firsts:
        for path, body in requests(row, stage):
            count += 1
            # What was sent as a password before is sent as a name now.
            VAULT.forget()
            try:
                with stage.conn.transaction():
                    # The caller holds each answer against what its operation documents.
                    answer = stage.cast[stage.mightiest(row.route)].request(
                        row.method, path, **({} if body is ... else {"json": body})
                    )
                    assert answer.status_code < 500, answer.text
                    raise Rollback
            except AssertionError as error:
                complaints.append(f"{row.method} {path:.100} {body!r:.200}: {error!s:.200}")
    assert complaints == []
    assert count >= 20 * len(family.firsts)
