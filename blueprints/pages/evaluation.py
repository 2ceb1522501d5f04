"""Why a flag is on or off for a user: the playground for one flag."""

import json
from typing import Any, ClassVar

from flask import Blueprint, Response, abort
from marshmallow import ValidationError

from blueprints.pages.constraints import describe
from blueprints.pages.filters import read_filters
from blueprints.pages.page import page, require_reader
from blueprints.pages.project import read_project
from rules.playground import evaluate
from rules.strategies import NO_FLAG_THERE
from sql.database import connection
from sql.flags import records
from validators import Query, load_or_400
from validators.fields import Text
from validators.playground import FlagEvaluation

bp = Blueprint("evaluation", __name__)

# The context fields that have a field of their own in the form.
FIELDS = ("userId", "sessionId", "remoteAddress", "appName")


class Properties(Text):
    """Properties of a context, one name=value on each line. Loaded as an object."""

    def load_value(self, value: Any) -> Any:
        lines = [line.partition("=") for line in super().load_value(value).splitlines() if line.strip()]
        wrong = [name for name, equals, _ in lines if not equals]
        if wrong:
            raise ValidationError(f"must have lines like plan=gold. This line is different: {wrong[0][:100]}")
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
        result = None
        if filters.values and filters.values["environment"]:
            query = filters.values
            given = {name: query[name] for name in FIELDS if query[name]} | {"properties": query["properties"]}
            context = load_or_400(FlagEvaluation(), {"context": given})["context"]
            found = evaluate(conn, reader.actor.viewer, query["environment"], [project_id], context, feature_name)
            result = found[0] if found else abort(404, NO_FLAG_THERE)
    return page(
        "flag/why.html",
        400 if filters.errors else 200,
        flag=flag,
        project=project,
        filters=filters,
        query=filters.texts,
        fields=FIELDS,
        result=result,
        describe=describe,
    )
