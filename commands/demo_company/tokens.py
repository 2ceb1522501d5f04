"""Signup tokens of every kind, and the keys of the applications."""

from datetime import timedelta
from typing import NamedTuple

from commands.demo_company.cast import AGENCY, PARTNERS, SPRING, People
from commands.demo_company.dates import Dates, iso
from commands.demo_company.log import SYSTEM, Log
from commands.demo_company.portfolio import PORTFOLIO
from commands.demo_company.targeting import Document
from sql import Connection, api_keys, signup_tokens

FOR_ANYBODY = "New colleagues"


class Invite(NamedTuple):
    """A signup token, in days before today; expires below 0: after today. disabled: when it was switched off by hand."""

    name: str
    created: int
    expires: int
    disabled: int | None = None


INVITES = (
    Invite(SPRING, 545, 515),
    Invite(AGENCY, 436, -30, disabled=204),
    Invite(PARTNERS, 70, -110),
    Invite("Summer interns", 300, 270),
    Invite("Conference booth", 160, -200, disabled=150),
    Invite(FOR_ANYBODY, 20, -180),
)


def make_invites(conn: Connection, dates: Dates, people: People, log: Log) -> str:
    """Make the signup tokens and link those who used them; the secret of one that works and that nobody has used yet."""
    nora, secrets = people["nora.lindqvist"], {}
    for invite in INVITES:
        at, expires_at = dates.ago(invite.created, "12:15"), dates.ago(invite.expires, "12:00")
        made = signup_tokens.insert(
            conn, name=invite.name, expires_at=expires_at, created_by=nora.name, enabled=invite.disabled is None, created_at=at
        )
        secrets[invite.name] = made["secret"]
        said: Document = {"id": made["id"], "name": invite.name, "enabled": True, "expiresAt": iso(expires_at)}
        log.add(at, "public-signup-token-created", nora, data=said)
        if invite.disabled is not None:
            off = said | {"enabled": False}
            log.add(dates.ago(invite.disabled, "17:00"), "public-signup-token-updated", nora, data=off, pre_data=said)
        for person in people.values():
            if person.invite == invite.name:
                signup_tokens.add_user(conn, made["id"], person.id, person.joined_at)
                used = {"id": made["id"], "name": invite.name, "userId": person.id}
                log.add(person.joined_at + timedelta(milliseconds=1), "public-signup-token-user-added", person, data=used)
    return secrets[FOR_ANYBODY]


def make_keys(conn: Connection, dates: Dates, people: People, log: Log) -> int:
    """A key for each application that asks in production, random and shown to nobody; how many."""
    applications: list[str] = []
    for plan in PORTFOLIO:
        if plan.archived is not None:
            continue
        for application in plan.applications:
            at = dates.ago(min(plan.created - 3, 700), "15:20")
            kind = "frontend" if application.startswith(("web", "mobile-shop", "ios", "android")) else "client"
            key = {"name": f"{application} ({plan.id})", "kind": kind, "environment": "production", "projects": (plan.id,)}
            key_id = api_keys.insert(conn, api_keys.generate(plan.id, "production"), **key, created_at=at)
            data = api_keys.lock(conn, key_id)
            log.add(at, "api-token-created", people["terraform"], project=plan.id, environment="production", data=data)
            if application not in applications:
                log.add(at + timedelta(hours=18), "application-created", SYSTEM, data={"appName": application})
            applications.append(application)
    return len(applications)
