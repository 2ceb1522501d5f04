"""Configuration for a web UI: the version, addresses and limits of this service."""

from flask import Blueprint, Response, current_app

from rules import password_login
from rules.access import require
from serving.operation import operation
from serving.responses import json_response, json_text
from serving.version import VERSION
from sql.database import connection

bp = Blueprint("ui_config", __name__)

# The settings of the limits, by their names in the response.
LIMITS = {
    "segmentValues": "MAX_SEGMENT_VALUES",
    "strategySegments": "MAX_STRATEGY_SEGMENTS",
    "featureEnvironmentStrategies": "MAX_STRATEGIES",
    "constraints": "MAX_CONSTRAINTS",
    "constraintValues": "MAX_CONSTRAINT_VALUES",
    "environments": "MAX_ENVIRONMENTS",
    "projects": "MAX_PROJECTS",
    "apiTokens": "MAX_API_TOKENS",
    "segments": "MAX_SEGMENTS",
    "featureFlags": "MAX_FLAGS",
}
# Our choice: this service has no signals and actions, so their limits are 0. Typed clients require these properties.
ZERO_LIMITS = (
    "actionSetActions",
    "actionSetsPerProject",
    "actionSetFilters",
    "actionSetFilterValues",
    "signalEndpoints",
    "signalTokensPerEndpoint",
)
# Our choice: the web UI of Unleash shows these parts, which exist here, only with these flags.
FLAGS = {"EEA": True, "regexConstraintOperator": True, "semverGteConstraintOperators": True}


@bp.get("/api/admin/ui-config")
@operation(record="uiConfig", refuses=(401, 403))
def get_ui_config() -> Response:
    """Get the configuration of a web UI.

    Returns the version, the addresses and the limits of this service, for the web UI of Unleash. That UI shows the
    parts of its enterprise edition that exist here.
    """
    with connection() as conn:
        require(conn)
    config = current_app.config
    limits = {name: config[setting] for name, setting in LIMITS.items()} | dict.fromkeys(ZERO_LIMITS, 0)
    document = {
        "name": "Flags",
        "version": VERSION,
        # Unleash's word for instances without paid features.
        "environment": "Open source",
        "unleashUrl": config["BASE_URL"],
        "baseUriPath": config["BASE_PATH"],
        "authenticationType": "open-source",
        "disablePasswordAuth": not password_login.is_permitted(is_admin=True),
        "oidcConfiguredThroughEnv": True,
        "emailEnabled": bool(config["SMTP_HOST"]),
        "maintenanceMode": False,
        "networkViewEnabled": False,
        "prometheusAPIAvailable": False,
        "frontendApiOrigins": list(config["FRONTEND_ORIGINS"]),
        "flags": FLAGS,
        "segmentValuesLimit": limits["segmentValues"],
        "strategySegmentsLimit": limits["strategySegments"],
        "resourceLimits": limits,
        # Our choice: with the second version, the web UI of Unleash shows project settings and access, environments,
        # roles, groups, service accounts and insights. All of them exist here. Nothing claims a license.
        "versionInfo": {"current": {"oss": VERSION, "enterprise": VERSION}, "latest": {}, "isLatest": True},
    }
    return json_response(json_text(document))
