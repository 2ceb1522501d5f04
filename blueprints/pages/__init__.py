"""The pages that people open in a browser: ALL lists their blueprints, each with its addresses.

Pages read with the functions of sql/ that the API uses. Their forms call the documented API by static/console.js.
"""

from flask import Blueprint

from blueprints.pages import (
    admin,
    api_tokens,
    applications,
    assets,
    catalog,
    console,
    errors,
    evaluation,
    events,
    flag,
    groups,
    insights,
    login,
    new_user,
    profile,
    project,
    project_access,
    project_admin,
    projects,
    reset_password,
    roles,
    segments,
    service_accounts,
    signup_tokens,
    strategy,
    users,
)

ALL = (
    assets.bp,  # /static
    projects.bp,  # /, /archived-projects
    project.bp,  # /projects/…, /projects/…/archive
    project_access.bp,  # /projects/…/access
    project_admin.bp,  # /projects/…/environments, tokens, settings
    flag.bp,  # /projects/…/flags/…
    evaluation.bp,  # /projects/…/flags/…/why
    strategy.bp,  # /projects/…/flags/…/environments/…/strategies/…
    events.bp,  # /events, /events/download
    insights.bp,  # /insights
    api_tokens.bp,  # /admin/api-tokens
    segments.bp,  # /admin/segments, /admin/segments/…
    catalog.bp,  # /admin/context-fields, /admin/context-fields/…, /admin/environments, /admin/tag-types
    applications.bp,  # /admin/applications, /admin/applications/…
    login.bp,  # /login
    new_user.bp,  # /new-user
    reset_password.bp,  # /reset-password
    profile.bp,  # /profile
    admin.bp,  # /admin
    users.bp,  # /admin/users
    groups.bp,  # /admin/groups, /admin/groups/…
    roles.bp,  # /admin/roles, /admin/roles/new, /admin/roles/…
    service_accounts.bp,  # /admin/service-accounts
    signup_tokens.bp,  # /admin/signup-tokens
)

bp = Blueprint("pages", __name__, template_folder="templates")
for blueprint in ALL:
    bp.register_blueprint(blueprint)
console.init_blueprint(bp)
errors.init_blueprint(bp)
