"""The groups of the company, and who is in them."""

from typing import NamedTuple

from commands.demo_company.cast import EDITOR, RELEASE_MANAGER, VIEWER, People
from commands.demo_company.dates import Dates
from commands.demo_company.log import Log
from sql import Connection, groups


class Group(NamedTuple):
    """A group; members are Person.key with the days before today since when and until when (0: to this day)."""

    name: str
    description: str | None
    created: int
    root_role: str | None
    mappings: tuple[str, ...]
    members: tuple[tuple[str, int, int], ...]


GROUPS = (
    Group(
        "Platform engineering",
        "What everything else runs on.",
        660,
        EDITOR,
        ("okta:platform-engineering",),
        (
            ("jonas.weber", 660, 0),
            ("pavel.novak", 620, 171),
            ("hana.kovacs", 570, 0),
            ("samuel.adeyemi", 345, 0),
            ("viktor.horvath", 128, 0),
        ),
    ),
    Group(
        "On-call",
        "Whoever has the pager.",
        608,
        RELEASE_MANAGER,
        ("okta:on-call", "pagerduty:primary"),
        (("jonas.weber", 608, 0), ("ngozi.okafor", 608, 0), ("incident-bot", 607, 0), ("hana.kovacs", 560, 0), ("liam.oconnor", 200, 0)),
    ),
    Group(
        "Growth",
        "Experiments, from the idea to the numbers.",
        655,
        None,
        ("okta:growth",),
        (("elif.yildiz", 655, 0), ("dora.kiss", 650, 455), ("iris.papadaki", 520, 0), ("chloe.martin", 390, 0), ("zeynep.arslan", 170, 0)),
    ),
    Group(
        "Mobile guild",
        None,
        645,
        None,
        (),
        (("ngozi.okafor", 645, 0), ("fatima.zahra", 600, 0), ("joao.pereira", 500, 0), ("liam.oconnor", 310, 0)),
    ),
    Group("Support desk", "Answers the telephone.", 405, VIEWER, ("okta:support",), (("ulla.sorensen", 255, 0), ("ines.duarte", 404, 0))),
    Group("Agency partners", "Kontur, Copenhagen.", 430, None, (), (("lars", 429, 205), ("mina", 429, 0))),
)


def make_groups(conn: Connection, dates: Dates, people: People, role_ids: dict[str, int], log: Log) -> dict[str, int]:
    """The ids of the groups by name."""
    ids: dict[str, int] = {}
    for group in GROUPS:
        author, at = people["tomasz.wojcik"], dates.ago(group.created, "13:05")
        root_role = role_ids[group.root_role] if group.root_role else None
        group_id = ids[group.name] = groups.insert(
            conn,
            group.name,
            description=group.description,
            root_role=root_role,
            mappings_sso=group.mappings,
            created_by=author.name,
            created_at=at,
        )
        record = {
            "id": group_id,
            "name": group.name,
            "description": group.description,
            "mappingsSSO": list(group.mappings),
            "rootRole": root_role,
            "users": [],
        }
        changes: list[tuple[int, str, int]] = []
        for key, since, until in group.members:
            user_id = people[key].id
            if until:
                groups.add_past_user(conn, group_id, user_id, since=dates.ago(since, "13:20"), until=dates.ago(until, "16:30"))
                changes.append((until, "16:30", -user_id))
            else:
                groups.add_user(conn, group_id, user_id, created_by=author.name, created_at=dates.ago(since, "13:20"))
            changes.append((since, "13:20", user_id))
        log.add(at, "group-created", author, data=record)
        # Who leaves the company leaves its groups, without an event of its own.
        for since, clock, user_id in sorted(changes, key=lambda change: (-change[0], change[1])):
            members = [*record["users"], user_id] if user_id > 0 else [one for one in record["users"] if one != -user_id]
            after = record | {"users": members}
            if user_id > 0:
                log.add(dates.ago(since, clock), "group-updated", author, data=after, pre_data=record)
            record = after
    return ids
