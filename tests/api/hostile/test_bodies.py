"""What no client should send in the bodies of the nine operations: a 4xx with the error body, and nothing changed."""

import json

import pytest

from serving.body_limits import PUBLIC_BYTES
from tests.support.hostile import BODIES, OPERATIONS, PUBLIC, Probe, prepared, some
from tests.support.hostile_bodies import NO_JSON, NO_OBJECT, NO_VALUES, OTHER_TYPES
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

TEXT, BOOLEAN, INSTANT, NUMBER = "text", "boolean", "instant", "number"
FIELDS = {
    "update token": {"expiresAt": INSTANT, "enabled": BOOLEAN},
    "log in": {"username": TEXT, "password": TEXT},
    "sign up": {"username": TEXT, "email": TEXT, "name": TEXT, "password": TEXT},
    "deprecated search": {
        "type": TEXT,
        "project": TEXT,
        "feature": TEXT,
        "query": TEXT,
        "limit": NUMBER,
        "offset": NUMBER,
    },
}
# One field of each kind is sent every value; the same code reads the others, which are sent every third.
THOROUGH = [
    ("update token", "expiresAt"),
    ("update token", "enabled"),
    ("log in", "username"),
    ("deprecated search", "limit"),
]
REQUIRED = [
    ("log in", "username"),
    ("log in", "password"),
    ("sign up", "email"),
    ("sign up", "name"),
    ("sign up", "password"),
]
EACH_FIELD = [(operation, field) for operation, fields in FIELDS.items() for field in fields]
GUARDED = [operation for operation in BODIES if operation not in PUBLIC]


@pytest.fixture
def probe(world: World, alice: Caller) -> Probe:  # noqa: ARG001 (Alice must be there before the first look)
    """A probe in a prepared world."""
    return prepared(world)


def test_every_field_of_every_body_is_in_the_table() -> None:
    assert {operation: list(fields) for operation, fields in FIELDS.items()} == {
        operation: list(body) for operation, body in BODIES.items()
    }


def with_field(operation: str, field: str, text: str) -> str:
    """The right body as JSON text, with this text in the place of one field's value."""
    others = {name: value for name, value in BODIES[operation].items() if name != field}
    return json.dumps(others)[:-1] + f'{", " if others else ""}"{field}": {text}}}'


# Values. What is no value of any field comes first: not the right type, or nothing that JSON knows.

# Right for some kind of field, and so wrong for the others.
OF_KIND = {TEXT: ['"a"'], BOOLEAN: ["true", "false"], INSTANT: [], NUMBER: ["5", "1"]}
WRONG_KIND = ["true", "false", "5", "0", "-5", '""', '"true"', '"5"', '"2024-05-31"', '"yes"', '"null"', '"٥"']


@pytest.mark.parametrize(("operation", "field"), EACH_FIELD)
def test_an_invalid_value_of_a_field_is_refused(probe: Probe, alice: Caller, operation: str, field: str) -> None:
    kind = FIELDS[operation][field]
    wrong = [text for text in WRONG_KIND if text not in OF_KIND[kind] and not (kind == TEXT and text.startswith('"'))]
    if (operation, field) == ("deprecated search", "offset"):
        wrong.remove("0")
    for text in [*some(NO_VALUES, thorough=(operation, field) in THOROUGH), *wrong]:
        probe.send(alice, operation, {400}, body=with_field(operation, field, text))
    assert probe.verdict() == []


ODD_TEXTS = [
    "'; DROP TABLE users; --",
    "' OR '1'='1",
    "%(username)s",
    "%s",
    "%",
    "{}",
    "{0}",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "\u202eabc",
    "\u200b",
    "\ufeff",
    "a\u0301",
    "ﬀ",
    "İ",
    "🎉" * 20,
    "漢字",
    "__proto__",
    "constructor",
    "null",
    "\x01\x02",
    "\r\nX-Evil: 1",
    "\t",
    " ",
    "a" * 73,
    "a" * 256,
    "a" * 10_000,
    "a" * 1_000_000,
    "é" * 150_000,
    "\uffff",
    "\U0010ffff",
    "../../etc/passwd",
    "COM1",
    "@",
    "a@b@c",
    "\\",
    "9999-12-31T23:59:59-23:59",
    "0000-00-00T00:00:00Z",
    "2024-05-31T12:00:00." + "9" * 100_000,
    "infinity",
    "now",
    "-infinity",
    "epoch",
]


@pytest.mark.parametrize(("operation", "field"), EACH_FIELD)
def test_odd_texts_are_refused_or_taken_as_they_are(probe: Probe, alice: Caller, operation: str, field: str) -> None:
    # A search that would take longer than this is one to complain of.
    probe.conn.execute("SET LOCAL statement_timeout = '2s'")
    taken = {"log in": {400, 401}, "sign up": {200, 400}, "deprecated search": {200, 400}}
    is_text = FIELDS[operation][field] == TEXT
    for text in some(ODD_TEXTS, thorough=field in ("username", "email", "password", "query")):
        body = with_field(operation, field, json.dumps(text, ensure_ascii=len(text) % 2 == 0))
        probe.send(alice, operation, taken[operation] if is_text else {400}, body=body.encode())
    assert probe.verdict() == []


@pytest.mark.parametrize(("operation", "field"), EACH_FIELD)
def test_a_field_given_twice_is_refused(probe: Probe, alice: Caller, operation: str, field: str) -> None:
    right = json.dumps(BODIES[operation][field])
    for twice in (
        f'{right}, "{field}": {right}',
        f'{right}, "{field}": null',
        f'{right}, "x": {{"a": 1, "a": 2}}',
        f'{right}, "\\u{ord(field[0]):04x}{field[1:]}": 1',
    ):
        probe.send(alice, operation, {400}, body=with_field(operation, field, twice))
    assert probe.verdict() == []


@pytest.mark.parametrize(("operation", "field"), REQUIRED)
def test_a_required_field_that_is_missing_is_refused(probe: Probe, alice: Caller, operation: str, field: str) -> None:
    others = {name: value for name, value in BODIES[operation].items() if name != field}
    for body in (
        others,
        {**others, field.upper(): "x"},
        {**others, f"{field} ": "x"},
        {**others, f"{field}\0": "x"},
        {},
    ):
        probe.send(alice, operation, {400}, body=json.dumps(body))
    assert probe.verdict() == []


UNKNOWN = [
    "",
    " ",
    "__proto__",
    "constructor",
    "_schema",
    "id",
    "rootRole",
    "createdAt",
    "\0",
    "\ud800",
    "'; --",
    "%s",
    "{}",
    "$where",
    "\u202e",
    "a.b.c",
]


@pytest.mark.parametrize("operation", BODIES)
def test_unknown_properties_are_refused_unless_the_schema_is_open(probe: Probe, alice: Caller, operation: str) -> None:
    open_to = operation == "deprecated search"
    for name in [*UNKNOWN, "x" * 100_000, "expiresat", "Enabled", "is_admin"]:
        body = json.dumps({**BODIES[operation], name: {"a": [{"b": None}]} if len(name) % 2 else None})
        probe.send(alice, operation, {200} if open_to else {400}, body=body)
    many = json.dumps({**BODIES[operation], **{f"x{number}": number for number in range(10_000)}})
    probe.send(alice, operation, {200} if open_to else {400}, body=many)
    assert probe.verdict() == []
    assert all(len(message) < 1_000_000 for _, _, message in probe.answers)


# Whole bodies


@pytest.mark.parametrize("operation", BODIES)
def test_a_body_that_is_not_a_json_object_is_refused(probe: Probe, alice: Caller, operation: str) -> None:
    for body in [*NO_JSON, *NO_OBJECT]:
        probe.send(alice, operation, {400}, body=body)
    right = json.dumps(BODIES[operation])
    for body in (
        right.encode("utf-16"),
        right.encode("utf-32"),
        b"\xef\xbb\xbf" + right.encode(),
        f"{right},",
        f"[{right}]",
        right[:-1],
        json.dumps(right),
    ):
        probe.send(alice, operation, {400}, body=body)
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", BODIES)
def test_white_space_around_the_right_body_does_not_matter(probe: Probe, alice: Caller, operation: str) -> None:
    body = f" \r\n\t{json.dumps(BODIES[operation], indent=4)}\n"
    probe.send(alice, operation, {200}, body=body + " " * (30_000 if operation in PUBLIC else 500_000))
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", BODIES)
def test_another_content_type_is_refused(probe: Probe, alice: Caller, operation: str) -> None:
    for content_type in OTHER_TYPES:
        probe.send(alice, operation, {415}, content_type=content_type)
    for body in ("{", b"\xff", "null", b""):
        probe.send(alice, operation, {415}, content_type="text/plain", body=body)
    probe.send(alice, operation, {415}, content_type="")
    probe.send(alice, operation, {400}, content_type="", body=b"")
    for content_type in (
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="utf-8"',
        "application/json;",
    ):
        probe.send(alice, operation, {200}, content_type=content_type)
        probe.send(alice, operation, {400}, content_type=content_type, body=b"")
    for content_type in (
        "application/json; charset=\xff",
        "application/json; charset=utf-16",
        "application/json;;;=;",
        "application/json; x=" + "y" * 10_000,
    ):
        probe.send(alice, operation, {200, 415}, content_type=content_type)
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if operation not in BODIES])
def test_a_body_where_none_is_asked_for_is_ignored(probe: Probe, alice: Caller, operation: str) -> None:
    for body in (b"{", b"\xff", b"null", b'{"limit": 0}', "[" * 10_000, b"--x"):
        for content_type in (
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded",
            "\xff",
        ):
            probe.send(alice, operation, {200}, body=body, content_type=content_type)
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_too_large_a_body_is_413_for_every_caller(
    probe: Probe, alice: Caller, stranger: Caller, operation: str
) -> None:
    largest = PUBLIC_BYTES if operation in PUBLIC else alice.app.config["MAX_BODY_BYTES"]
    for body in (b" " * (largest + 1), b"{" + b" " * largest + b"}", b"\xff" * (largest + 1)):
        for caller in (alice, stranger):
            for content_type in ("application/json", "text/plain"):
                probe.send(caller, operation, {413}, body=body, content_type=content_type)
    assert probe.verdict() == []
    assert len(probe.answers) == 1
    # One that is just not too large is read.
    padding = b" " * (largest - len(json.dumps(BODIES.get(operation, {}))))
    probe.send(alice, operation, {200}, body=json.dumps(BODIES.get(operation, {})).encode() + padding)
    assert probe.verdict() == []


@pytest.mark.parametrize("operation", GUARDED)
def test_a_stranger_gets_one_answer_whatever_the_body(probe: Probe, stranger: Caller, operation: str) -> None:
    for body in [*NO_JSON, *NO_OBJECT, json.dumps(BODIES[operation]), "{}"]:
        probe.send(stranger, operation, {401}, body=body)
    for content_type in OTHER_TYPES:
        probe.send(stranger, operation, {401}, content_type=content_type)
    for field in FIELDS[operation]:
        for text in NO_VALUES[::4]:
            probe.send(stranger, operation, {401}, body=with_field(operation, field, text))
    assert probe.verdict() == []
    assert len(probe.answers) == 1
