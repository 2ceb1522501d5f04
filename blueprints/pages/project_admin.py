"""The other tabs of a project: environments, API tokens and settings."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import page, require_reader
from blueprints.pages.project import read_tabs
from blueprints.pages.strategy import stickiness_choices
from sql.catalog import context_fields
from sql.catalog import environments as all_environments
from sql.database import connection
from sql.projects import environments
from sql.tokens import api_tokens

bp = Blueprint("project_admin", __name__)


@bp.get("/projects/<project_id>/environments")
def show_environments(project_id: str) -> Response:
    """Show the environments of a project, and those that can be added."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        project = read_tabs(conn, project_id, reader)
        linked = json.loads(environments.list_all(conn, project_id))["environments"]
        known = json.loads(all_environments.list_all(conn))["environments"]
    names = {environment["name"] for environment in linked}
    others = [environment for environment in known if environment["name"] not in names]
    return page("project/environments.html", project=project, linked=linked, others=others)


@bp.get("/projects/<project_id>/tokens")
def show_tokens(project_id: str) -> Response:
    """Show the API tokens that work for a project, without their secrets."""
    with connection() as conn:
        reader = require_reader(conn, "READ_PROJECT_API_TOKEN", project=project_id)
        project = read_tabs(conn, project_id, reader)
        tokens = json.loads(api_tokens.list_by_project(conn, project_id, reader.actor.viewer))["tokens"]
        known = json.loads(all_environments.list_all(conn))["environments"]
    env_types = {environment["name"]: environment["type"] for environment in known}
    return page("project/tokens.html", project=project, env_types=env_types, **list_page(tokens, "tokenName"))


@bp.get("/projects/<project_id>/settings")
def show_settings(project_id: str) -> Response:
    """Show the settings of a project, and the button that archives it."""
    with connection() as conn:
        reader = require_reader(
            conn, "UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE", project=project_id, list_projects=True
        )
        project = read_tabs(conn, project_id, reader)
        newest = newest_change(conn, reader, project["version"], "project-updated", {}, project=project_id)
        fields = json.loads(context_fields.list_all(conn))
    return page("project/settings.html", project=project, stickiness=stickiness_choices(fields), **newest)
