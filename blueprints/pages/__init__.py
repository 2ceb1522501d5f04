"""The pages that people open in a browser: ALL lists their blueprints, each with its addresses.

Pages read with the functions of sql/ that the API uses. Their forms call the documented API by static/console.js.
"""

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import NotFound

from blueprints.pages import (
    admin,
    applications,
    assets,
    catalog,
    change_requests,
    compare,
    errors,
    evaluation,
    events,
    flag,
    imports,
    insights,
    integrations,
    login,
    new_user,
    people,
    profile,
    project,
    project_admin,
    projects,
    reset_password,
    roles,
    search,
    segments,
    sign_in,
    strategy,
    tokens,
)
from blueprints.pages.plain_forms import see_other

ALL = (
    assets.bp,  # /static
    projects.bp,  # /, /archived-projects
    project.bp,  # /projects/…, /projects/…/archive, cleanup, export
    change_requests.bp,  # /projects/…/change-requests, /projects/…/change-requests/…
    project_admin.bp,  # /projects/…/access, environments, tokens, settings
    flag.bp,  # /projects/…/flags/…
    compare.bp,  # /projects/…/compare, /projects/…/flags/…/compare
    evaluation.bp,  # /projects/…/flags/…/why
    strategy.bp,  # /projects/…/flags/…/environments/…/strategies/…
    search.bp,  # /search
    events.bp,  # /events, /events/download
    insights.bp,  # /insights
    tokens.bp,  # /admin/api-tokens, /admin/signup-tokens
    segments.bp,  # /admin/segments, /admin/segments/…
    catalog.bp,  # /admin/context-fields, /admin/context-fields/…, /admin/environments, /admin/tag-types
    applications.bp,  # /admin/applications, /admin/applications/…
    login.bp,  # /login, /forgot-password
    sign_in.bp,  # /auth/oidc
    new_user.bp,  # /new-user
    reset_password.bp,  # /reset-password
    profile.bp,  # /profile
    admin.bp,  # /admin, /admin/banners
    people.bp,  # /admin/users, /admin/groups, /admin/groups/…, /admin/service-accounts
    roles.bp,  # /admin/roles, /admin/roles/new, /admin/roles/…
    integrations.bp,  # /admin/integrations, /admin/integrations/new, /admin/integrations/…
    imports.bp,  # /admin/import
)

# The pages that stay if the setting CONSOLE switches the others off.
ALWAYS_ON = {"pages.assets", "pages.login", "pages.new_user", "pages.reset_password", "pages.sign_in"}

bp = Blueprint("pages", __name__, template_folder="templates")
for blueprint in ALL:
    bp.register_blueprint(blueprint)
errors.init_blueprint(bp)


@bp.before_request
def refuse_if_off() -> Response | None:
    """Raise 404 for the pages of the console if it is off. The start page leads to the login form instead."""
    if current_app.config["CONSOLE"] or request.blueprint in ALWAYS_ON:
        return None
    # Our choice: logins and logouts end at the start page.
    if request.path == "/":
        return see_other("/login")
    raise NotFound
