"""What no client should send in the paths and queries of the nine operations: a 4xx with the error body, and nothing
changed.
"""

import re
from urllib.parse import unquote_to_bytes

import pytest
from flask import Flask

from sql.database import Connection
from tests.support.hostile import (
    DISGUISES,
    HOSTILE_QUERIES,
    HOSTILE_WORDS,
    OPERATIONS,
    PUBLIC,
    WORDS,
    Probe,
    prepared,
    some,
)
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

QUERIES = {"insights": ["from", "to"]}
QUERIES["search"] = ["query", "feature", "project", "type", "createdBy", "from", "to", "offset", "limit"]


@pytest.fixture
def probe(world: World, alice: Caller) -> Probe:  # noqa: ARG001 (Alice must be there before the first look)
    """A probe in a prepared world."""
    return prepared(world)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_succeeds_with_valid_input(probe: Probe, alice: Caller, operation: str) -> None:
    probe.send(alice, operation, {200})
    assert probe.verdict() == []


def test_a_probe_sees_what_changed(probe: Probe, alice: Caller, conn: Connection) -> None:
    conn.execute("UPDATE users SET name = 'Eve' WHERE id = %s", [alice.id])
    assert probe.verdict() == ["users has changed"]


# Paths

PATH_WORDS = [(operation, word) for operation, (_, path) in OPERATIONS.items() for word in re.findall(r"{(\w+)}", path)]


@pytest.mark.parametrize(("operation", "word"), PATH_WORDS)
def test_hostile_words_in_a_path_are_not_there(probe: Probe, alice: Caller, operation: str, word: str) -> None:
    right = WORDS[word]
    nearly = [right.upper(), right[:-1], *(disguise.format(right) for disguise in DISGUISES)]
    for text in some(HOSTILE_WORDS, thorough=word != "project" or operation == "overview") + nearly:
        probe.send(alice, operation, {404}, words={word: text})
    assert probe.verdict() == []


@pytest.mark.parametrize(("operation", "word"), PATH_WORDS)
def test_a_stranger_learns_nothing_from_hostile_words(
    probe: Probe, stranger: Caller, operation: str, word: str
) -> None:
    for text in [*HOSTILE_WORDS[::3], *(disguise.format(WORDS[word]) for disguise in DISGUISES[::2])]:
        # With a slash in it, it is another address.
        other = operation in PUBLIC or not text or b"/" in unquote_to_bytes(text)
        probe.send(stranger, operation, {404} if other else {401}, words={word: text})
    assert probe.verdict() == []
    assert len({answer for answer in probe.answers if answer[0] == 401}) == (0 if operation in PUBLIC else 1)


NEARLY_RIGHT = ["{}/", "{}//", "{}%2F", "{}%00", "/..{}", "/x/..{}", "/.{}", "{}/.", "{}/..", "{};", "{}%20", "{}.json"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_address_that_is_nearly_right_is_not_there(probe: Probe, alice: Caller, operation: str) -> None:
    path = OPERATIONS[operation][1].format(**WORDS)
    # The last word of some paths may be any text: then it is not there, which is the same; or the address of another
    # operation.
    addresses = [unquote_to_bytes(change.format(path)).decode("latin-1") for change in NEARLY_RIGHT]
    for address in [
        *addresses,
        path.upper(),
        path.replace("i", "I", 1),
        path.replace("/", "//"),
        path.replace("/", "\\"),
        path[1:-1],
    ]:
        probe.send(alice, operation, {404, 405}, environ={"PATH_INFO": address})
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_slashes_before_an_address_lead_nowhere(app: Flask, alice: Caller, operation: str) -> None:
    method, path = OPERATIONS[operation]
    for slashes in ("/", "//", "/./", "/../"):
        environ = {"PATH_INFO": slashes + path.format(**WORDS)}
        # Not by the caller: its oracle asks Werkzeug for the route, which takes several slashes for one.
        response = app.test_client().open(
            "/", method=method, headers={"Authorization": alice.key or ""}, environ_overrides=environ
        )
        assert (response.status_code, response.json["name"]) == (404, "NotFoundError"), slashes
        assert response.json.keys() == {"id", "name", "message"}


# Query strings

HOSTILE_TEXTS = [
    "%00",
    "a%00b",
    "%ff",
    "%c3%28",
    "%ed%a0%80",
    "%zz",
    "%",
    "%2",
    "\xff",
    "\xe9",
    "+",
    "%20",
    "%0d%0aX-Evil:%201",
    "%27",
    "%27%20OR%201=1--",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-0",
    "null",
    "true",
    "[]",
    "{}",
    "%5B" * 10_000,
    "9" * 400,
    "9" * 10_000,
    "-" + "9" * 400,
    "0x7f",
    "%E2%80%AE",
    "%E2%80%8B",
    "%EF%BB%BF1",
    "%F0%9F%8E%89",
    "__proto__",
    "$(id)",
    "%25(limit)s",
    "%7Brecord%7D",
    "***=",
    "(((((",
    "x" * 8000,
]
HOSTILE_TEXTS += [
    f"{prefix}:{text}"
    for prefix in ("IS", "IS_ANY_OF")
    for text in ("%00", "%ff", "%ed%a0%80", "%zz", "\xff", "9" * 400, "," * 20_000, "1,%00")
]
HOSTILE_TEXTS += [
    "IS:2024-05-31%00",
    "IS:99999-01-01",
    "IS:2024-99-99",
    "IS:-2024-01-01",
    "IS:x%0a",
    "IS:%27;DROP%20TABLE%20events;--",
]
HOSTILE_TEXTS += ["IS:" + "1," * 9_999 + "1"]
QUERY_WORDS = [(operation, name) for operation, names in QUERIES.items() for name in names]


@pytest.mark.parametrize(("operation", "name"), QUERY_WORDS)
def test_hostile_texts_in_a_parameter_are_refused_or_read_as_text(
    probe: Probe, alice: Caller, stranger: Caller, operation: str, name: str
) -> None:
    for text in some(HOSTILE_TEXTS, thorough=name not in ("project", "type", "to", "offset")):
        probe.send(alice, operation, {200, 400}, query=f"{name}={text}")
    for text in HOSTILE_TEXTS[::5]:
        probe.send(stranger, operation, {401}, query=f"{name}={text}")
    for text in ("%00", "%ff", "%ed%a0%80", "\xff"):
        probe.send(alice, operation, {400}, query=f"{name}={text}")
    for twice in (f"{name}=&{name}=", f"{name}=1&{name}=1", "&".join([f"{name}=x"] * 1000)):
        probe.send(alice, operation, {400}, query=twice)
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_undocumented_parameter_is_ignored(probe: Probe, alice: Caller, operation: str) -> None:
    for query in HOSTILE_QUERIES:
        probe.send(alice, operation, {200}, query=query)
    for query in ("%ff=1", "\xff", "%00=1", "a=%ed%a0%80"):
        probe.send(alice, operation, {200, 400} if operation in QUERIES else {200}, query=query)
    for query in ("x" * 200_000, "a=1&" * 20_000, "=" * 10_000):
        probe.send(alice, operation, {400} if operation in QUERIES else {200}, query=query)
    assert probe.verdict() == []
