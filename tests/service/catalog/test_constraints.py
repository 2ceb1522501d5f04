"""POST /api/admin/constraints/validate, and legal values."""

import pytest

from rules.constraints import value_problems
from sql.catalog import context_fields
from tests.support.world import refused

PATH = "/api/admin/constraints/validate"
IN_QUOTES = 'must be a string: write the number in quotes, such as "5"'
BIG_VERSION = "must be a version with numbers of at most 9007199254740991, which all SDKs can compare"
GOOD = [
    {"operator": "IN", "values": ["7"], "value": ""},
    {"operator": "NOT_IN", "values": ["7"], "inverted": True, "caseInsensitive": True},
    {"operator": "STR_CONTAINS", "values": ["7"]},
    {"operator": "NUM_GTE", "value": "-3.5"},
    {"operator": "DATE_AFTER", "value": "2026-05-31T12:00:00+02:00", "values": []},
    {"operator": "SEMVER_LT", "value": "1.2.3-beta.1"},
    {"operator": "SEMVER_EQ", "value": f"{2**53 - 1}.0.0-rc-{2**64}.a{2**64}+{2**64}"},
]
BAD = [
    ({"operator": "EQUALS"}, "operator: must be one of the operators"),
    ({"operator": "IN", "values": [None]}, "values.0: must not be null"),
    ({"operator": "IN", "values": [""]}, "values.0: must not be empty"),
    ({"operator": "IN", "values": ["x" * 101]}, "values.0: must be at most 100 characters long"),
    ({"operator": "IN", "inverted": "true"}, "inverted: must be true or false"),
    ({"operator": "STR_ENDS_WITH", "values": []}, "values: must have at least one value"),
    ({"operator": "IN"}, "values: must have at least one value"),
    ({"operator": "NOT_IN", "value": "blocked-user"}, "values: must have at least one value"),
    ({"operator": "IN", "values": [7]}, f"values.0: {IN_QUOTES}"),
    ({"operator": "NUM_EQ", "value": 5.5}, f"value: {IN_QUOTES}"),
    ({"operator": "SEMVER_EQ", "value": "99999999999999999999.1.1"}, f"value: {BIG_VERSION}"),
    ({"operator": "SEMVER_GT", "value": f"1.0.{2**53}"}, f"value: {BIG_VERSION}"),
    ({"operator": "SEMVER_LT", "value": f"1.0.0-rc.{2**53}"}, f"value: {BIG_VERSION}"),
    ({"operator": "NUM_EQ", "values": ["1"]}, "value: is required with this operator"),
    ({"operator": "NUM_EQ", "value": "one"}, "value: must be a number, such as 3.5"),
    (
        {"operator": "DATE_BEFORE", "value": "2026-05-31"},
        "value: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
    ),
    ({"operator": "SEMVER_EQ", "value": "v1.2.3"}, "value: must be a version such as 1.2.3, without a v"),
    ({"operator": "IN", "contextName": "unknown"}, "contextName: must be an existing context field, not unknown"),
    ({"operator": "IN", "values": ["7"] * 251}, "values: must have at most 250 values (setting MAX_CONSTRAINT_VALUES)"),
]


@pytest.mark.parametrize("constraint", GOOD)
def test_valid_constraint_is_204(victor, constraint):
    answer = victor.post(PATH, json={"contextName": "userId"} | constraint)
    assert (answer.status_code, answer.data) == (204, b"")


@pytest.mark.parametrize(("constraint", "message"), BAD)
def test_invalid_constraint_is_refused(victor, constraint, message):
    assert refused(victor.post(PATH, json={"contextName": "userId"} | constraint)) == message


def test_field_and_operator_are_required(victor):
    assert refused(victor.post(PATH, json={})) == "contextName: is required; operator: is required"


@pytest.mark.parametrize(
    ("constraint", "legal"),
    [
        ({"operator": "IN", "values": ["1", "2"]}, True),
        ({"operator": "IN", "values": ["1", "3"]}, False),
        ({"operator": "NUM_EQ", "value": "2"}, True),
        ({"operator": "NUM_EQ", "value": "3"}, False),
    ],
)
# A name can look like a place in a list.
@pytest.mark.parametrize("name", ["plan", "constraints.0."])
def test_only_legal_values_are_valid(victor, conn, name, constraint, legal):
    context_fields.insert(conn, name, legal_values=[{"value": "1"}, {"value": "2"}])
    answer = victor.post(PATH, json={"contextName": name} | constraint)
    message = f"body: must have only legal values of the context field {name}"
    assert answer.status_code == 204 if legal else refused(answer) == message


@pytest.mark.parametrize("legal", ["2026-05-31T12:00:00Z", "2026-05-31T14:00:00+02:00", "2026-05-31t12:00:00.0000z"])
@pytest.mark.parametrize("date", ["2026-05-31T12:00:00Z", "2026-05-31T13:00:00.000+01:00"])
def test_legal_dates_are_compared_as_instants(victor, conn, legal, date):
    context_fields.insert(conn, "day", legal_values=[{"value": "never"}, {"value": legal}])
    asked = {"contextName": "day", "operator": "DATE_AFTER"}
    assert victor.post(PATH, json=asked | {"value": date}).status_code == 204
    message = "body: must have only legal values of the context field day"
    assert refused(victor.post(PATH, json=asked | {"value": "2026-05-31T12:00:00.001Z"})) == message


class LegalValues:
    """Legal values that can be compared with, but not copied."""

    def __init__(self, *values: str) -> None:
        self.issuperset = frozenset(values).issuperset


def test_legal_values_are_not_copied() -> None:
    country = LegalValues("NO", "SE")
    problems = value_problems(
        [{"contextName": "country", "operator": "IN", "values": [value]} for value in ("NO", "XX")],
        {"country": country},
    )
    assert list(problems) == ["constraints.1: must have only legal values of the context field country"]
