"""Export flags to a document, and import them into a project."""

from flask import Blueprint, Response, abort, current_app

from rules import exports, imports
from rules.access import require
from rules.refusals import Refusal
from serving.body_limits import maximum
from serving.caller_limit import one_validation
from serving.operation import operation
from serving.request_data import load, load_document
from serving.responses import bounded, empty_response, export_response, json_response, json_text
from sql.database import connection, transaction
from validators.flags.transfer import ExportFlags, ImportFlags

bp = Blueprint("flag_transfer", __name__)


@bp.post("/api/admin/features-batch/export")
@operation(record="exportDocument", body=ExportFlags, refuses=(401, 403, 404, 415))
def export_flags() -> Response:
    """Export flags as a document.

    Returns live flags with their strategies, variants and state in one environment, their tags and dependencies, and
    the segments, context fields and tag types that these use. Unknown, archived and hidden names are left out. With an
    empty list of names, it returns all flags of the project. Without a project, it returns all flags of all projects
    with the environment.
    """
    with transaction() as conn:
        require(conn)
        body = load(ExportFlags())
        # Our choice: a project that is unknown or hidden is 404, as an environment that is unknown.
        actor = require(conn, project=body.get("project"))
        document = bounded(exports.export_flags(conn, actor, body), "Export fewer flags at a time.")
    return export_response(document, body["environment"]) if body["downloadFile"] else json_response(document)


@bp.post("/api/admin/features-batch/validate")
@operation(record="importFindings", body=ImportFlags, refuses=(401, 403, 404, 415))
def validate_import() -> Response:
    """Validate an import.

    Changes nothing. If the response lists errors or missing permissions, an import of the same document is refused.
    """
    with connection() as conn:
        may_import = imports.may_import(conn, require(conn))
    limit = maximum() if may_import else current_app.config["MAX_BODY_BYTES"]
    with one_validation(), load_document(ImportFlags(), limit) as body, connection() as conn:
        actor = require(conn, project=body["project"], environment=body["environment"], direct=False)
        findings = imports.validate(conn, actor, body["project"], body["environment"], body["data"])
    return json_response(json_text(findings))


@bp.post("/api/admin/features-batch/import")
@operation(
    body=ImportFlags,
    refuses=(401, 403, 404, 409, 415),
    errors={
        400: Refusal(
            "The document is invalid, or has errors that the validation of an import finds. Nothing is imported.",
            "new-checkout: constraints.0.value: must be a number, such as 3.5",
        ),
        409: Refusal(
            "Another request created a strategy with one of the ids of the document meanwhile. Nothing is imported.",
            "A strategy with one of these ids was created during the import.",
            name="NameExistsError",
        ),
    },
)
def import_flags() -> Response:
    """Import flags from a document.

    Flags are created or overwritten, with their strategies, variants and state in one environment, their tags and their
    dependencies. Missing tag types and context fields are created. If one entry is refused, nothing is imported.
    """
    with connection() as conn:
        if not imports.may_import(conn, require(conn)):
            abort(403, "You lack the permission UPDATE_FEATURE in every project.")
    with load_document(ImportFlags(), maximum()) as body, transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=body["project"], environment=body["environment"])
        imports.import_flags(conn, actor, body["project"], body["environment"], body["data"])
    return empty_response()
