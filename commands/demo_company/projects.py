"""The projects of the company: made, staffed, some archived."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random

from commands.demo_company.cast import People, Person
from commands.demo_company.dates import Dates
from commands.demo_company.groups import GROUPS
from commands.demo_company.log import SYSTEM, Log
from commands.demo_company.portfolio import MEMBER, OWNER, PORTFOLIO, RESPONDER, TESTER, Membership, Plan
from commands.demo_company.targeting import Document
from commands.demo_company.vocabulary import Segment
from sql import Connection, project_access, project_favorites, projects
from sql.bootstrap import System

NOW = datetime.max  # of a membership that has not ended; only ever compared


class Project:
    """A project, with who works on its flags when."""

    def __init__(self, plan: Plan, dates: Dates, people: People) -> None:
        self.plan = plan
        self.people = people
        self.created_at = dates.ago(plan.created, "09:40")
        self.archived_at = None if plan.archived is None else dates.ago(plan.archived, "15:00")
        self.segments: Sequence[Segment] = ()
        self.updated_at: datetime | None = None
        self.memberships = (*plan.members, *self._services())
        self._workers: list[tuple[Person, datetime, datetime | None]] = []
        for who, role, since, until in self.memberships:
            if role in (OWNER, MEMBER):
                self._workers.append((people[who], dates.ago(since, "10:30"), dates.ago(until, "16:00") if until else None))
        members = {group.name: group.members for group in GROUPS}
        for name, role, since, until in plan.groups:
            for who, joined, left in members[name] if role == MEMBER else ():
                end = max(until or 0, left)
                self._workers.append((people[who], dates.ago(min(since, joined), "13:30"), dates.ago(end, "16:00") if end else None))

    def _services(self) -> list[Membership]:
        """Service accounts work everywhere, from shortly after a project or they themselves began."""
        roles = {"ci-pipeline": MEMBER, "e2e-tests": TESTER, "incident-bot": RESPONDER}
        until = self.plan.archived
        begin = {who: min(self.plan.created, self.people[who].joined) - 1 for who in roles}
        return [Membership(who, role, begin[who], until) for who, role in roles.items() if begin[who] > (until or 0) + 30]

    def is_worker(self, person: Person, at: datetime) -> bool:
        """Whether somebody was there then and could change flags here."""
        return person.works_at(at) and any(
            worker is person and since <= at and (until is None or at < until) for worker, since, until in self._workers
        )

    def somebody(self, rng: Random, at: datetime) -> Person | System:
        """Somebody who worked on flags here then; of the administrators one, or the service itself, when nobody did."""
        there = [
            worker
            for worker, since, until in self._workers
            if since <= at and (until is None or at < until) and not worker.is_service and worker.works_at(at)
        ]
        if not there:
            there = [person for person in map(self.people.__getitem__, ("tomasz.wojcik", "nora.lindqvist")) if person.works_at(at)]
        return rng.choice(there) if there else SYSTEM

    def some_segments(self, rng: Random, at: datetime) -> list[int]:
        """The ids of one or two segments that there were then for this project."""
        there = [one.id for one in self.segments if one.since < at and one.project in (None, self.plan.id)]
        return sorted(rng.sample(there, min(len(there), rng.choice((1, 1, 2)))))


def make_projects(
    conn: Connection, dates: Dates, rng: Random, people: People, ids: tuple[Mapping[str, int], Mapping[str, int]], log: Log
) -> dict[str, Project]:
    """All projects by id. ids: those of the roles and of the groups, by name."""
    made = {plan.id: Project(plan, dates, people) for plan in PORTFOLIO}
    for project in made.values():
        tell_settings(dates, rng, project, log)
        insert(conn, project)
        let_people_in(conn, dates, project, ids, log)
        for who in project.plan.favorites:
            at = dates.working_instant(rng, max(project.created_at, people[who].joined_at), dates.end)
            project_favorites.add(conn, people[who].id, project.plan.id, at)
            log.add(at, "project-favorited", people[who], project=project.plan.id, data={"project": project.plan.id})
    return made


def default_strategy(project: Project) -> Document:
    """What a flag gets that is switched on without a strategy."""
    return {
        "name": "flexibleRollout",
        "title": "Bit by bit",
        "disabled": False,
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {"rollout": "10", "stickiness": project.plan.stickiness, "groupId": project.plan.id},
        "segments": [],
    }


def record(project: Project, description: str | None) -> Document:
    """What the log says of a project when it is made."""
    plan = project.plan
    return {
        "id": plan.id,
        "name": plan.name,
        "description": description,
        "mode": plan.mode,
        "defaultStickiness": plan.stickiness,
        "featureLimit": plan.limit,
        "environments": list(plan.environments),
        "changeRequestEnvironments": [],
    }


def tell_settings(dates: Dates, rng: Random, project: Project, log: Log) -> None:
    """How the project came to be as it is: made, described, given default strategies, perhaps archived."""
    plan = project.plan
    owner = project.people[plan.members[0].who]
    end = project.archived_at or dates.end
    log.add(
        project.created_at,
        "project-created",
        owner if owner.works_at(project.created_at) else SYSTEM,
        project=plan.id,
        data=record(project, None),
    )
    if plan.created > 30:
        at = dates.working_instant(rng, dates.ago(plan.created - 2), dates.ago(plan.created - 20))
        project.updated_at = at
        log.add(
            at, "project-updated", project.somebody(rng, at), project=plan.id,
            data=record(project, plan.description), pre_data=record(project, None),
        )  # fmt: skip
    for environment in plan.default_strategies:
        at = dates.working_instant(rng, dates.ago(plan.created - 20), end)
        author = project.somebody(rng, at)
        log.add(at, "default-strategy-updated", author, project=plan.id, environment=environment, data=default_strategy(project))
    if project.archived_at:
        log.add(project.archived_at, "project-archived", project.people["nora.lindqvist"], project=plan.id)


def insert(conn: Connection, project: Project) -> None:
    """Make the project, with its environments."""
    plan = project.plan
    naming = plan.naming
    projects.insert(
        conn,
        plan.id,
        plan.name,
        description=plan.description,
        mode=plan.mode,
        default_stickiness=plan.stickiness,
        feature_limit=plan.limit,
        naming_pattern=naming and naming.pattern,
        naming_example=naming and naming.example,
        naming_description=naming and naming.description,
        created_at=project.created_at,
        updated_at=project.updated_at,
        archived_at=project.archived_at,
    )
    for environment in plan.environments:
        strategy = default_strategy(project) if environment in plan.default_strategies else None
        projects.add_environment(conn, plan.id, environment, strategy, project.created_at)


def let_people_in(conn: Connection, dates: Dates, project: Project, ids: tuple[Mapping[str, int], Mapping[str, int]], log: Log) -> None:
    """Give users and groups their roles, and take those away that have ended."""
    role_ids, group_ids = ids
    plan, people = project.plan, project.people
    boss = people["tomasz.wojcik"]
    for who, role, since, until in project.memberships:
        user_id, role_id, at = people[who].id, role_ids[role], dates.ago(since, "10:30")
        assert people[who].joined >= since, (plan.id, who)
        grant = {"roles": [{"roleId": role_id, "userIds": [user_id], "groupIds": []}]}
        log.add(at, "project-access-added", boss if boss.works_at(at) else people["nora.lindqvist"], project=plan.id, data=grant)
        if until is None:
            project_access.add_user(conn, plan.id, user_id, role_id, at)
            continue
        end = dates.ago(until, "16:00")
        project_access.add_past_user(conn, plan.id, user_id, role_id, since=at, until=end)
        # Who leaves the company leaves its projects, without an event of its own.
        if people[who].left != until:
            taken = {"roles": [role_id], "userId": user_id}
            log.add(end, "project-access-user-roles-deleted", boss, project=plan.id, pre_data=taken)
    for name, role, since, until in plan.groups:
        group_id, role_id, at = group_ids[name], role_ids[role], dates.ago(since, "13:30")
        grant = {"roles": [{"roleId": role_id, "userIds": [], "groupIds": [group_id]}]}
        log.add(at, "project-access-added", boss, project=plan.id, data=grant)
        if until is None:
            project_access.add_group(conn, plan.id, group_id, role_id, at)
            continue
        end = dates.ago(until, "16:00")
        project_access.add_past_group(conn, plan.id, group_id, role_id, since=at, until=end)
        log.add(end, "project-access-group-roles-deleted", boss, project=plan.id, pre_data={"roles": [role_id], "groupId": group_id})
