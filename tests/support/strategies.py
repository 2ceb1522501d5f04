"""A constraint, variants, and a flag with tags for the tests of strategies."""

from tests.support.flag_environments import tagged_flag as tagged_flag

CONSTRAINT = {
    "contextName": "userId",
    "operator": "IN",
    "values": ["7", "3"],
    "inverted": True,
    "caseInsensitive": False,
}
VARIANTS = [
    {
        "name": "blue",
        "weight": 500,
        "weightType": "variable",
        "stickiness": "userId",
        "payload": {"type": "json", "value": "[1]"},
    },
    {"name": "red", "weight": 500, "weightType": "variable", "stickiness": "default"},
]
