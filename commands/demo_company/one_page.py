"""The flag checkout-one-page, which the README tells of: the same on every day and for every seed."""

from commands.demo_company.dates import Dates
from commands.demo_company.plans import Step

NAME = "checkout-one-page"
STRATEGY_ID = "6e1b8d2c-4a7f-4f6e-9c1d-2b5a3c4d5e6f"
STAFF_STRATEGY_ID = "0b7c9f14-52ad-4a0e-8f3b-d1c6e27a9b58"

ANDERS, ELIF, YUKI, CHLOE, SOFIA = "anders.holm", "elif.yildiz", "yuki.tanaka", "chloe.martin", "sofia.rossi"
FOR_ALL = {"rollout": "100", "stickiness": "default", "groupId": NAME}
CAUTIOUS = {"rollout": "5", "stickiness": "default", "groupId": NAME}
COUNTRIES = {"contextName": "country", "operator": "IN", "values": ["DK", "FI", "NO", "SE"], "inverted": False, "caseInsensitive": False}
STAFF = {
    "contextName": "email",
    "operator": "STR_ENDS_WITH",
    "values": ["@brightcart.example"],
    "inverted": False,
    "caseInsensitive": True,
}
VARIANTS = [
    {"name": "compact", "weight": 500, "weightType": "variable", "stickiness": "default", "payload": {"type": "number", "value": "1"}},
    {"name": "roomy", "weight": 500, "weightType": "variable", "stickiness": "default", "payload": {"type": "number", "value": "2"}},
]

PRODUCTION = {"id": STRATEGY_ID, "title": "Nordic customers", "parameters": CAUTIOUS, "constraints": [COUNTRIES], "variants": VARIANTS}
COLLEAGUES = {"id": STAFF_STRATEGY_ID, "title": "Colleagues", "parameters": FOR_ALL, "constraints": [STAFF]}
DEVELOPMENT = {"id": "f2d61c38-7e95-4b1a-a6d4-90c8e5b37f21", "parameters": FOR_ALL}
QA = {"id": "83a4e0b9-1c67-4d52-b9f8-6e2d7a051c94", "parameters": FOR_ALL}
STAGING = {"id": "c95d3f70-b82e-46a1-9d07-4f1e6b8a2c53", "parameters": FOR_ALL}

FIRST_WORDS = "One page instead of four steps."
LATER_WORDS = "One page instead of four steps. Tried out at Café Zürich; ask Elif before you change it."


def steps(dates: Dates) -> list[Step]:
    """All that ever happened to it."""
    return [
        Step(dates.ago(26, "09:12"), "create", detail=FIRST_WORDS, by=ANDERS),
        Step(dates.ago(26, "09:13"), "tag", detail=("team", "growth"), by=ANDERS),
        Step(dates.ago(26, "09:40"), "add_this_strategy", "development", DEVELOPMENT, ANDERS),
        Step(dates.ago(26, "09:41"), "enable", "development", by=ANDERS),
        Step(dates.ago(25, "08:30"), "add_this_strategy", "qa", QA, YUKI),
        Step(dates.ago(25, "08:31"), "enable", "qa", by=YUKI),
        Step(dates.ago(22, "13:05"), "add_this_strategy", "staging", STAGING, YUKI),
        Step(dates.ago(22, "13:06"), "enable", "staging", by=YUKI),
        Step(dates.ago(20, "10:20"), "favorite", by=SOFIA),
        Step(dates.ago(15, "09:50"), "tag", detail=("simple", "q3-goal"), by=ELIF),
        Step(dates.ago(14, "10:00"), "add_this_strategy", "production", PRODUCTION, ELIF),
        Step(dates.ago(14, "10:02"), "add_this_strategy", "production", COLLEAGUES, ELIF),
        Step(dates.ago(14, "10:05"), "enable", "production", by=ELIF),
        Step(dates.ago(11, "14:30"), "roll_out", "production", 25, ANDERS),
        Step(dates.ago(7, "09:15"), "roll_out", "production", 50, CHLOE),
        Step(dates.ago(6, "15:45"), "describe", detail=LATER_WORDS, by=CHLOE),
        Step(dates.ago(5, "08:10"), "favorite", by=ELIF),
    ]
