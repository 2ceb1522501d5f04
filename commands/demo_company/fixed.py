"""Two flags of checkout that are the same for every seed: checkout-one-page, of which the README tells, and one that has just gone."""

from commands.demo_company.dates import Dates
from commands.demo_company.plans import SYSTEM, Step

ONE_PAGE, EXPRESS_PAY = NAMES = ("checkout-one-page", "checkout-express-pay-new-api")
STRATEGY_ID = "6e1b8d2c-4a7f-4f6e-9c1d-2b5a3c4d5e6f"
STAFF_STRATEGY_ID = "0b7c9f14-52ad-4a0e-8f3b-d1c6e27a9b58"

ANDERS, ELIF, YUKI, CHLOE, SOFIA = "anders.holm", "elif.yildiz", "yuki.tanaka", "chloe.martin", "sofia.rossi"
FOR_ALL = {"rollout": "100", "stickiness": "default", "groupId": ONE_PAGE}
CAUTIOUS = {"rollout": "5", "stickiness": "default", "groupId": ONE_PAGE}
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


def steps(dates: Dates, name: str) -> list[Step]:
    """All that ever happened to one of the two."""
    return one_page(dates) if name == ONE_PAGE else express_pay(dates)


def express_pay(dates: Dates) -> list[Step]:
    """A flag that did what it was for, so that the project has archived one lately."""
    return [
        Step(dates.ago(88, "10:30"), "create", detail="Express pay by the new API of the wallet. Gone by winter.", by=YUKI),
        Step(dates.ago(88, "10:31"), "tag", detail=("team", "money"), by=YUKI),
        Step(dates.ago(88, "11:02"), "add_strategy", "development", by=YUKI),
        Step(dates.ago(88, "11:03"), "enable", "development", by=YUKI),
        Step(dates.ago(81, "09:20"), "add_strategy", "staging", by=ANDERS),
        Step(dates.ago(81, "09:21"), "enable", "staging", by=ANDERS),
        Step(dates.ago(74, "12:40"), "add_strategy", "production", 10, ANDERS),
        Step(dates.ago(74, "12:42"), "enable", "production", by=ANDERS),
        Step(dates.ago(68, "10:10"), "roll_out", "production", 50, YUKI),
        Step(dates.ago(63, "09:30"), "roll_out", "production", 100, YUKI),
        Step(dates.ago(47, "03:05"), "grow_old", by=SYSTEM),
        Step(dates.ago(33, "15:15"), "mark_stale", by=ELIF),
        Step(dates.ago(12, "14:00"), "archive", by=YUKI),
    ]


def one_page(dates: Dates) -> list[Step]:
    """A flag in the middle of its life."""
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
