"""Why a flag is on or off for a user: the playground for one flag."""

import json
from typing import Any, ClassVar

from flask import Blueprint, Response, abort

from blueprints.pages.constraints import describe
from blueprints.pages.page import page, require_reader
from rules.playground import evaluate
from rules.strategies import NO_FLAG_THERE
from serving.request_data import load_query
from sql.database import connection
from sql.flags import records
from validators import Query, load_or_400
from validators.fields import Text
from validators.playground import FlagEvaluation

bp = Blueprint("evaluation", __name__)

# The context fields that have a field of their own in the form.
FIELDS = ("userId", "sessionId", "remoteAddress", "appName")


class ContextQuery(Query):
    """The query parameters of the page. Without an environment, nothing is evaluated."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates"

    environment = Text(load_default="", max=100)
    userId = Text(load_default="", max=1000)
    sessionId = Text(load_default="", max=1000)
    remoteAddress = Text(load_default="", max=1000)
    appName = Text(load_default="", max=1000)
    properties = Text(load_default="", max=4000)


@bp.get("/projects/<project_id>/flags/<feature_name>/why")
def show_evaluation(project_id: str, feature_name: str) -> Response:
    """Show whether a flag is on for a context, and which strategies, constraints and buckets decided."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        flag = json.loads(records.get(conn, project_id, feature_name, reader.user_id) or abort(404, "No such flag."))
        query = load_query(ContextQuery)
        result = None
        if query["environment"]:
            context = load_or_400(FlagEvaluation(), {"context": context_of(query)})["context"]
            found = evaluate(conn, reader.actor.viewer, query["environment"], [project_id], context, feature_name)
            result = found[0] if found else abort(404, NO_FLAG_THERE)
    return page(
        "flag/why.html",
        flag=flag,
        project_id=project_id,
        query=query,
        fields=FIELDS,
        result=result,
        describe=describe,
    )


def context_of(query: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the form: the filled fields, and the properties, one name=value in each line."""
    lines = [line.partition("=") for line in query["properties"].splitlines() if line.strip()]
    wrong = [name for name, equals, _ in lines if not equals]
    if wrong:
        abort(400, f"properties: each line must look like plan=gold; this one does not: {wrong[0]}")
    context: dict[str, Any] = {name: query[name] for name in FIELDS if query[name]}
    return context | {"properties": {name.strip(): text.strip() for name, _, text in lines}}
