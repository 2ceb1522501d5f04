"""The cases of the client specification, with flags of the admin API and answers of POST /api/frontend.

A case is left out if the admin API refuses its flag, or if the frontend API adds to its context what decides.
"""

import json
from typing import Any

import pytest

from tests.support.client_specification import FILES, FOLDER, without_events
from tests.support.evaluation import Json
from tests.support.world import Caller, World

ADMIN = "/api/admin"
FLAGS = f"{ADMIN}/projects/default/features"
# The server fills these in, so a case without them expects something else.
FILLED_IN = ("sessionId", "remoteAddress")
CASES = {file: json.loads((FOLDER / file).read_text(encoding="utf-8")) for file in FILES}
# Of 279. Most of the others have operators, flag names, weights or addresses that the admin API refuses.
LEAST = 149


def done(caller: Caller, method: str, path: str, body: Any = None) -> Any:
    """Return the JSON of a success, or raise Refused."""
    response = caller.request(method, path, **({} if body is None else {"json": body}))
    if response.status_code >= 400:
        raise Refused(response.text)
    return response.get_json(silent=True)


class Refused(Exception):
    """The admin API cannot have this flag."""


def fields_of(value: Any) -> set[str]:
    """The context fields that some JSON names, in constraints, overrides and stickiness."""
    if isinstance(value, list):
        return set().union(*map(fields_of, value))
    if not isinstance(value, dict):
        return set()
    named = {value[key] for key in ("contextName", "stickiness") if isinstance(value.get(key), str)}
    return named.union(*map(fields_of, value.values()))


def create_segments(caller: Caller, state: Json) -> dict[int, int]:
    """Create the segments, and return their new ids by those of the specification."""
    ids: dict[int, int] = {}
    for segment in state.get("segments") or ():
        body = {"name": f"segment {segment['id']}", "constraints": segment["constraints"]}
        response = caller.post(f"{ADMIN}/segments", json=body)
        if response.status_code == 201:
            ids[segment["id"]] = response.json["id"]
    return ids


def create_flag(caller: Caller, flag: Json, segments: dict[int, int]) -> None:
    """Create a flag in development, or raise Refused."""
    place = f"{FLAGS}/{flag['name']}/environments/development"
    done(caller, "POST", FLAGS, {"name": flag["name"]})
    for strategy in flag.get("strategies") or ():
        used = strategy.get("segments") or []
        if not segments.keys() >= set(used):
            raise Refused("a segment")
        body = {key: strategy[key] for key in ("name", "parameters", "constraints") if key in strategy}
        body["segments"] = [segments[number] for number in used]
        body["variants"] = [
            {"weightType": "variable", "stickiness": strategy.get("parameters", {}).get("stickiness", "default")}
            | variant
            for variant in strategy.get("variants") or ()
        ]
        stored = done(caller, "POST", f"{place}/strategies", body)
        refuse_difference(strategy.get("variants") or [], stored["variants"])
    if flag.get("variants"):
        stored = done(caller, "PUT", f"{place}/variants", flag["variants"])
        refuse_difference(flag["variants"], stored["variants"])
    for parent in flag.get("dependencies") or ():
        done(caller, "POST", f"{FLAGS}/{flag['name']}/dependencies", parent)
    if flag["enabled"]:
        done(caller, "POST", f"{place}/on")


def refuse_difference(sent: list[Json], stored: list[Json]) -> None:
    """Raise Refused if the admin API has sorted the variants, or made their weights add up to 1000."""
    lists = [[(variant["name"], variant["weight"]) for variant in variants] for variants in (sent, stored)]
    if len(sent) > 1 and lists[0] != lists[1]:
        raise Refused("its variants")


def prepare(world: World, caller: Caller, state: Json) -> set[str]:
    """Create what the flags name, and the flags, parents first. Return the names of the flags that exist."""
    flags = state["features"]
    for field in fields_of(state) - {"", "default", "random"}:
        caller.post(f"{ADMIN}/context", json={"name": field, "stickiness": True})
    for name in {strategy["name"] for flag in flags for strategy in flag.get("strategies") or ()}:
        caller.post(f"{ADMIN}/strategies", json={"name": name, "parameters": []})
    segments, created = create_segments(caller, state), set()
    for flag in sorted(flags, key=lambda flag: bool(flag.get("dependencies"))):
        try:
            with world.conn.transaction():
                create_flag(caller, flag, segments)
            created.add(flag["name"])
        except Refused:
            continue
    return created


def is_split(flag: Json) -> bool:
    """Return whether a flag has a rollout below 100 % or several variants."""
    parts = (flag, *(flag.get("strategies") or ()))
    several = any(len(part.get("variants") or ()) > 1 for part in parts)
    return several or any(part.get("parameters", {}).get("rollout", "100") != "100" for part in parts)


def can_be_asked(flag: Json | None, state: Json, case: Json, created: set[str]) -> bool:
    """Return whether the frontend API gets the context of the case as it is, without additions that decide."""
    if flag is None or flag["name"] not in created:
        return False
    context, names = case["context"], fields_of([flag, state.get("segments")])
    sticky = is_split(flag) and not context.get("userId")
    uses = names | ({"sessionId"} if sticky or "Session" in str(flag) else set())
    uses |= {"remoteAddress"} if "remoteAddress" in str(flag) or (sticky and not context.get("sessionId")) else set()
    return "environment" not in names and not any(field in uses and not context.get(field) for field in FILLED_IN)


@pytest.mark.slow
def test_the_frontend_api_agrees_with_the_specification(world: World, alice: Caller) -> None:
    agreed, wrong = 0, []
    web = world.api_key("frontend")
    for file, content in CASES.items():
        state = without_events(content["state"])
        flags = {flag["name"]: flag for flag in state["features"]}
        with world.conn.transaction(force_rollback=True):
            created = prepare(world, alice, state)
            for case in (*content.get("tests", ()), *content.get("variantTests", ())):
                if not can_be_asked(flags.get(case["toggleName"]), state, case, created):
                    continue
                response = web.post("/api/frontend", json={"context": case["context"]})
                found = {flag["name"]: flag for flag in response.json["toggles"]}.get(case["toggleName"])
                if answer(found, case["expectedResult"]) == case["expectedResult"]:
                    agreed += 1
                else:
                    wrong.append(f"{file}: {case['description']}: {found}")
    assert not wrong, f"{agreed} agreed\n" + "\n".join(wrong)
    assert agreed >= LEAST, agreed


def answer(found: Json | None, expected: Any) -> Any:
    """Return what was found in the form of what is expected: whether the flag is on, or its variant."""
    if isinstance(expected, bool):
        return found is not None
    if found is None:
        return {"name": "disabled", "enabled": False, "feature_enabled": False}
    return {key: value for key, value in found["variant"].items() if key != "featureEnabled"}
