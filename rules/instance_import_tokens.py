"""Move API tokens with their secrets, so that applications change only the address."""

import re
import shlex
from datetime import UTC, datetime

from rules.api_tokens import token_event
from rules.import_contents import Json
from rules.instance_import_move import Move, differing
from sql import events
from sql.tokens import api_tokens
from validators.fields import DateTime

SECRET_MIN = 16
# The beginning of a secret: project:environment. Old secrets do not have it.
SCOPE = re.compile(r"^[^:]*:[^.]*\.")
ADMIN = "Admin tokens are not moved. Create new ones with ./flags api-token create --name NAME --type admin"


def write_tokens(move: Move, places: set[str]) -> None:
    """Insert the tokens that do not exist here. places: the environments of this instance."""
    projects = {"*", *(project["id"] for project in move.contents.projects)}
    for token in move.contents.api_tokens:
        scope = {"*"}.intersection(token["projects"]) or projects.intersection(token["projects"])
        reason = reason_to_stay(token, scope, places)
        if reason is None:
            for left_out in sorted(set(token["projects"]) - scope):
                message = "This API token does not get a project that does not move"
                move.report.warn(message, f"{label(token)}: {left_out}")
            write_token(move, token, sorted(scope - {"*"}))
            continue
        move.report.count("API token", "not moved")
        if reason == ADMIN:
            move.report.warn(ADMIN, f'"{token["tokenName"]}" (last used {token["seenAt"] or "never"})')
        else:
            move.report.notes.append(f"{label(token)}: {reason}")


def reason_to_stay(token: Json, scope: set[str], places: set[str]) -> str | None:
    """Return why a token is not moved, or None if it is. scope: those of its projects that move."""
    secret = token["secret"]
    random = SCOPE.sub("", secret or "")
    if token["type"] == "admin":
        return ADMIN
    if secret is None or "*" in random or (random != secret and len(random) < SECRET_MIN):
        named = f"--name {shlex.quote(token['tokenName'])} --type {token['type']}"
        scoped = "".join(f" --project {project}" for project in token["projects"] if project != "*")
        return (
            "its secret is not stored in Unleash. Take it from your application's settings: ./flags api-token create "
            f"{named} --environment {token['environment']}{scoped} --secret-file F, or "
            f"INIT_{token['type'].upper()}_API_TOKENS before the first start"
        )
    if len(secret) < SECRET_MIN:
        return f"its secret is shorter than {SECRET_MIN} characters."
    if not scope:
        return "its projects do not move."
    if token["environment"] not in places:
        return f"it is for the environment {token['environment']}, which does not exist."
    return None


def write_token(move: Move, token: Json, projects: list[str]) -> None:
    """Insert a token, or compare it with the one that has its secret here. projects: [] for all."""
    conn, report = move.conn, move.report
    if known := api_tokens.lock_by_secret(conn, token["secret"]):
        found = api_tokens.lock(conn, known["id"]) or {}
        scope = {"environment": token["environment"], "projects": projects or ["*"]}
        is_frontend = token["type"] == "frontend"
        if any(found[key] != scope[key] for key in scope) or (known["kind"] == "frontend") is not is_frontend:
            here = f"{found['type']}, {found['environment']}, {found['project']}"
            report.conflict(f"{label(token)}: its secret exists here with another scope ({here}).")
        different = differing(token, found, ("tokenName",))
        different += ["expiresAt"] if instant(found["expiresAt"]) != instant(token["expiresAt"]) else []
        report.compare("API token", token["tokenName"], different)
        return
    columns = {"name": token["tokenName"], "kind": token["type"], "environment": token["environment"]}
    dates = {"expires_at": token["expiresAt"], "created_at": token["createdAt"]}
    token_id = api_tokens.insert(conn, token["secret"], **columns, projects=projects, **dates)
    events.record(conn, token_event("api-token-created", move.actor, data=api_tokens.lock(conn, token_id)))
    report.count("API token", "new")
    expiry = instant(token["expiresAt"])
    if expiry and expiry < datetime.now(UTC):
        report.warn("This API token has expired, and stays expired", label(token))


def instant(text: str | None) -> datetime | None:
    """Return a date-time, or None for never."""
    return None if text is None else DateTime().deserialize(text)


def label(token: Json) -> str:
    """Return how the report names a token, without its secret."""
    return f'Token "{token["tokenName"]}" ({token["type"]}, {token["environment"]})'
