"""What all projects of the company share: environments, tags, context fields, segments."""

from datetime import datetime
from random import Random
from typing import NamedTuple

from commands.demo_company.cast import DOMAIN, People
from commands.demo_company.dates import Dates, iso
from commands.demo_company.log import Log
from commands.demo_company.targeting import CONTEXT_FIELDS, SEVERAL, Document
from sql import Connection, context_fields, environments, segments, tag_types

ENVIRONMENTS = (("qa", "test"), ("staging", "preproduction"))
TAGS = (
    *(("team", team) for team in ("growth", "platform", "mobile", "money", "supply")),
    *(("simple", word) for word in ("black-friday", "gdpr", "q1-goal", "q3-goal", "tech-debt", "a11y", "needs-review", "höst-kampanj")),
)


def make_vocabulary(conn: Connection, dates: Dates, people: People, log: Log) -> None:
    """Environments, the tag type team, and what the log says of tags and context fields."""
    nora = people["nora.lindqvist"]
    for minute, (name, type) in enumerate(ENVIRONMENTS):
        at = dates.ago(728, f"10:{minute + 10}")
        # 1, as development has: by name they then come between development and production.
        environments.insert(conn, name, type, sort_order=1, created_at=at)
        record = {"name": name, "type": type, "enabled": True, "protected": False, "sortOrder": 1}
        log.add(at, "environment-created", nora, environment=name, data=record)
    at = dates.ago(728, "10:40")
    team = tag_types.insert(conn, "team", "The team that answers for the flag.", created_at=at)
    log.add(at, "tag-type-created", nora, data=team)
    for minute, (type, value) in enumerate(TAGS):
        log.add(dates.ago(728, f"11:{minute + 10}"), "tag-created", nora, data={"type": type, "value": value})
    for minute, (name, description) in enumerate(CONTEXT_FIELDS.items()):
        at = dates.ago(728, f"12:{minute + 10}")
        field = context_fields.insert(conn, name, description=description, created_at=at)
        log.add(at, "context-field-created", people["tomasz.wojcik"], data=field)


class Segment(NamedTuple):
    """A segment that strategies can use from an instant on; project None: of all projects."""

    id: int
    project: str | None
    since: datetime


Terms = tuple[str, str, tuple[str, ...]]  # context field, operator, and what it was compared with over time

# Name, description, project, days before today, what it asks, how often that was changed since.
SEGMENTS: tuple[tuple[str, str | None, str | None, int, tuple[Terms, ...], int], ...] = (
    ("Nordics", "Where it all began.", None, 705, (("country", "IN", ("SE", "NO", "DK", "FI", "IS")),), 3),
    ("Staff", "Everybody with an address of ours.", None, 703, (("email", "STR_ENDS_WITH", (f"@{DOMAIN}", "@kontur.example")),), 1),
    (
        "Current apps",
        None,
        None,
        640,
        (("appVersion", "SEMVER_GT", ("3.9.0", "4.2.0", "4.8.0", "5.0.0", "5.6.0", "5.11.3")), ("appVersion", "SEMVER_LT", ("7.0.0",))),
        5,
    ),
    (
        "Robots and probes",
        "Never show them an experiment.",
        None,
        600,
        (("appName", "IN", ("uptime-probe", "load-test", "price-scraper")), ("email", "STR_STARTS_WITH", ("test+",))),
        2,
    ),
    ("Loyal customers", "With us for a while.", None, 520, (("accountAgeDays", "NUM_GTE", ("730", "365", "180")),), 2),
    ("Süddeutschland-Pilot", "Café Zürich and its neighbours.", None, 260, (("country", "IN", ("CH", "AT", "DE")),), 2),
    ("Full baskets", "Worth a bigger van.", "checkout", 500, (("basketValue", "NUM_GT", ("100", "150", "120", "140.5")),), 3),
    (
        "Card testers",
        None,
        "payments-core",
        430,
        (("email", "STR_CONTAINS", ("+cc", ".cards", "+4111")), ("basketValue", "NUM_LTE", ("2",))),
        2,
    ),
    ("Enterprise partners", None, "partner-portal", 360, (("plan", "IN", ("enterprise", "enterprise-plus")),), 1),
)


def make_segments(conn: Connection, dates: Dates, rng: Random, people: People, log: Log) -> list[Segment]:
    """All segments, as they are today after some changes."""
    made: list[Segment] = []
    for name, description, project, days_ago, terms, changes in SEGMENTS:
        created_at = dates.ago(days_ago, "14:10")
        instants = sorted(dates.working_instant(rng, dates.ago(days_ago - 1), dates.end) for _ in range(changes))
        versions = [as_of(terms, number) for number in range(changes + 1)]
        author = people["tomasz.wojcik"]
        segment_id = segments.insert(
            conn, name, versions[-1], description=description, project=project, created_by=author.name, created_at=created_at
        )
        record: Document = {"id": segment_id, "name": name, "description": description} | ({"project": project} if project else {})
        record |= {"constraints": versions[0], "createdBy": author.name, "createdAt": iso(created_at)}
        log.add(created_at, "segment-created", author, project=project, data=record)
        for at, version in zip(instants, versions[1:], strict=True):
            before, record = record, record | {"constraints": version}
            log.add(at, "segment-updated", author, project=project, data=record, pre_data=before)
        made.append(Segment(segment_id, project, created_at))
    return made


def as_of(terms: tuple[Terms, ...], changes: int) -> list[Document]:
    """The constraints after so many changes: lists have grown, single values have been replaced."""
    made: list[Document] = []
    for context, operator, words in terms:
        now = min(changes, len(words) - 1)
        compared: Document = {"values": sorted(words[: now + 1])} if operator in SEVERAL else {"values": [], "value": words[now]}
        made.append({"contextName": context, "operator": operator, **compared, "inverted": False, "caseInsensitive": False})
    return made
