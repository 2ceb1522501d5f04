"""The pages that people open in a browser: ALL lists their blueprints, each with its addresses.

Pages read with the functions of sql/ that the API uses. Their forms call the documented API by static/console.js.
"""

from flask import Blueprint

from blueprints.pages import assets, errors, evaluation, events, flag, insights, project, projects, strategy

ALL = (
    assets.bp,  # /static
    projects.bp,  # /, /archived-projects
    project.bp,  # /projects/…, /projects/…/archive
    flag.bp,  # /projects/…/flags/…
    evaluation.bp,  # /projects/…/flags/…/why
    strategy.bp,  # /projects/…/flags/…/environments/…/strategies/…
    events.bp,  # /events, /events/download
    insights.bp,  # /insights
)

bp = Blueprint("pages", __name__, template_folder="templates")
for blueprint in ALL:
    bp.register_blueprint(blueprint)
errors.init_blueprint(bp)
