"""Why a flag is on or off for a user: the playground for one flag."""

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from flask import Blueprint, Response, abort
from marshmallow import ValidationError

from blueprints.pages.constraints import describe, join
from blueprints.pages.filters import read_filters
from blueprints.pages.flag_text import texts_of
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.project import read_project
from rules.playground import evaluate
from rules.strategies import NO_FLAG_THERE
from serving.request_data import query_pairs
from sql.catalog import context_fields, segments
from sql.database import Connection, connection
from sql.flags import records
from validators import Query, load_or_400
from validators.fields import Text
from validators.playground import FlagEvaluation

bp = Blueprint("evaluation", __name__)

# The members of a context that are no properties. Only the used ones have a field of their own in the form, and userId.
FIELDS = ("userId", "sessionId", "remoteAddress", "appName")


class Properties(Text):
    """Properties of a context, one name=value on each line. Loaded as an object."""

    def load_value(self, value: Any) -> Any:
        # A colon is as clear as an equals sign: country: NO.
        lines = [
            re.split("([=:])", line, maxsplit=1) for line in super().load_value(value).splitlines() if line.strip()
        ]
        wrong = [line[0] for line in lines if len(line) == 1]
        if wrong:
            raise ValidationError(f"must have lines like plan: gold. This line is different: {wrong[0][:100]}")
        names = [line[0].strip() for line in lines]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValidationError(f"must name each field once. Duplicate: {twice[:100]}")
        return {name.strip(): text.strip() for name, _, text in lines}


class ContextQuery(Query):
    """The query parameters of the page. Without an environment, nothing is evaluated."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates"

    environment = Text(load_default="", max=100)
    userId = Text(load_default="", max=1000)
    sessionId = Text(load_default="", max=1000)
    remoteAddress = Text(load_default="", max=1000)
    appName = Text(load_default="", max=1000)
    properties = Properties(load_default=dict, max=4000)


@bp.get("/projects/<project_id>/flags/<feature_name>/why")
def show_evaluation(project_id: str, feature_name: str) -> Response:
    """Show whether a flag is on for a context, and which strategies, constraints and buckets decided."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        project = read_project(conn, project_id, reader)
        flag = json.loads(records.get(conn, project_id, feature_name, reader.user_id) or abort(404, "No such flag."))
        filters = read_filters(ContextQuery)
        chosen = environment_of(flag, filters.texts.get("environment"))
        known = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
        used = used_fields(chosen, {segment["id"]: segment for segment in known})
        fields = {name: json.loads(context_fields.get(conn, name) or "{}") for name in used}
        given = given_values(filters.texts, (filters.values or {}).get("properties", {}))
        result = None
        if filters.values and filters.values["environment"]:
            result = evaluate_given(conn, reader, flag, filters.values["environment"], given)
    return page(
        "flag/why.html",
        400 if filters.errors else 200,
        flag=flag,
        project=project,
        filters=filters,
        environment=chosen["name"],
        given=given,
        used={name: join(list(places), "and") for name, places in used.items()},
        fields=fields,
        standard=FIELDS,
        others={name: text for name, text in given.items() if name not in used},
        result=result,
        describe=describe,
        said=texts_of(chosen["strategies"], {segment["id"]: segment["name"] for segment in known}),
    )


def environment_of(flag: Mapping[str, Any], name: Any) -> dict[str, Any]:
    """Return the environment of a flag with this name, or the last one of production."""
    found = sorted(flag["environments"], key=lambda one: (one["name"] == name, one["type"] == "production"))
    return found[-1] if found else {"name": "", "strategies": []}


def used_fields(linked: Mapping[str, Any], known: Mapping[int, Mapping[str, Any]]) -> dict[str, dict[str, None]]:
    """Return the context fields that strategies use in an environment, with those that use them: strategy 1, Staff."""
    used: dict[str, dict[str, None]] = {"userId": {}}
    for number, strategy in enumerate(linked["strategies"], start=1):
        place = f"strategy {number}"
        sticky = {strategy["parameters"].get("stickiness"), *(one["stickiness"] for one in strategy["variants"])}
        pairs = [("userId" if name == "default" else name, place) for name in sorted(sticky - {None, "", "random"})]
        pairs += [(one["contextName"], place) for one in strategy["constraints"]]
        for segment in (known[one] for one in strategy["segments"] if one in known):
            pairs += [(one["contextName"], segment["name"]) for one in segment["constraints"]]
        for name, user in pairs:
            used.setdefault(name, {})[user] = None
    # The time and the environment are those of the evaluation.
    return {name: users for name, users in used.items() if name not in ("currentTime", "environment")}


def given_values(texts: Mapping[str, Any], properties: Mapping[str, str]) -> dict[str, str]:
    """Return what the reader filled in, by context field: FIELDS, those named field.country, and the other fields."""
    given = {name: texts[name] for name in FIELDS if name in texts} | dict(properties)
    return given | {
        name.removeprefix("field."): text for name, text in query_pairs() if name.startswith("field.") and text
    }


def evaluate_given(
    conn: Connection, reader: Reader, flag: Mapping[str, Any], environment: str, given: Mapping[str, str]
) -> dict[str, Any]:
    """Return why the flag is on or off for these values. Raise 404 if the project does not have the environment."""
    members = {name: text for name, text in given.items() if name in FIELDS}
    others = {name: text for name, text in given.items() if name not in FIELDS}
    context = load_or_400(FlagEvaluation(), {"context": members | {"properties": others}})["context"]
    found = evaluate(conn, reader.actor.viewer, environment, [flag["project"]], context, flag["name"])
    return found[0] if found else abort(404, NO_FLAG_THERE)
