"""Move projects, the links to their environments, and their settings."""

from collections import defaultdict
from collections.abc import Collection

from rules.import_contents import Json
from rules.instance_import_move import STRATEGY, Move, differing
from sql.flags.environments import list_linked
from sql.projects import core as projects
from sql.projects import environments
from validators.projects import naming

COMPARED = ("name", "description", "mode", "defaultStickiness", "featureLimit", "featureNaming")
BLANK: Json = {"description": None, "mode": "open", "defaultStickiness": "default", "featureLimit": None}
BLANK |= {"featureNaming": None, "environments": []}
# The project default of a new installation. While it has no flags, it takes the values of the source.
INSTALLED = BLANK | {"name": "Default", "description": "Default project"}


def write_projects(move: Move) -> None:
    """Write the projects that do not exist here, and the missing environments."""
    needed: dict[str, set[str]] = defaultdict(set)
    for flag in move.new_flags:
        needed[flag["project"]].update(state["environment"] for state in flag["environments"])
    wanted = {project["id"]: project for project in move.contents.projects}
    for project_id in sorted(needed.keys() | wanted.keys()):
        project, found = wanted.get(project_id), projects.lock(move.conn, project_id)
        places = {place["environment"] for place in (project or BLANK)["environments"]}
        if project:
            project = project | {"featureNaming": usable_naming(move, project)}
        if found is None:
            if project is None:
                move.report.warn("The source does not have this project. It is created for its flags", project_id)
                project = {"id": project_id, "name": project_id, **BLANK}
            insert_project(move, project, places | needed[project_id])
        elif found["archived_at"]:
            move.report.conflict(f"Project {project_id} is archived here. Revive it first.")
        else:
            compare_project(move, project or {"id": project_id}, found["logged"], places, needed[project_id])


def insert_project(move: Move, project: Json, places: Collection[str]) -> None:
    """Insert a project with these environments."""
    projects.create(move.conn, project)
    projects.add_environments(move.conn, project["id"], list(places))
    move.record("project-created", project=project["id"], data=projects.created(move.conn, project["id"])["record"])
    if project["featureNaming"]:
        update_project(move, project)
    move.report.count("project", "new")
    move.new.add(("project", project["id"]))


def update_project(move: Move, project: Json) -> None:
    """Give an existing project all settings of a moved one."""
    before = (projects.lock(move.conn, project["id"]) or {})["logged"]
    after = before | {key: project[key] for key in COMPARED}
    projects.update(move.conn, after)
    move.record("project-updated", project=project["id"], data=after, pre_data=before)


def compare_project(move: Move, project: Json, found: Json, places: Collection[str], needed: Collection[str]) -> None:
    """Compare a project with the one that exists here, which gets the environments that are new or that flags need.

    The unused project default takes the values of the source.
    """
    project_id, different = project["id"], differing(project, found, COMPARED)
    is_installed = project_id == "default" and not differing(INSTALLED, found, COMPARED)
    takes_values = bool(different) and is_installed and not projects.count_flags(move.conn, "default")
    if takes_values:
        update_project(move, project)
        move.report.change("project", "default", different)
        move.new.add(("project", "default"))
    for place in sorted({*places, *needed}.difference(list_linked(move.conn, project_id))):
        if takes_values or place in needed or ("environment", place) in move.new:
            environments.add(move.conn, project_id, place)
            move.record("project-environment-added", project=project_id, environment=place)
        else:
            different.append(f"{place} is not linked here")
    if "name" in project and not takes_values:
        move.report.compare("project", project_id, different)


def usable_naming(move: Move, project: Json) -> Json | None:
    """Return the naming pattern of a project with its example and description, or None if there is no usable one."""
    pattern = (project["featureNaming"] or {}).get("pattern")
    if not pattern:
        return None
    try:
        naming.compiled(pattern)
        return {"example": None, "description": None, **project["featureNaming"]}
    except naming.PatternError as error:
        move.report.warn("The naming pattern of this project is left out", f"{project['id']} ({pattern} {error})")
        return None


def write_default_strategies(move: Move) -> None:
    """Set the default strategies of environments that have none."""
    for project_id, place in ((item["id"], place) for item in move.contents.projects for place in item["environments"]):
        strategy, environment = place["defaultStrategy"], place["environment"]
        link = environments.lock_link(move.conn, project_id, environment)
        if not strategy or not link:
            continue
        wanted = move.with_segments_here({key: strategy[key] for key in STRATEGY if key in strategy})
        if found := link["default_strategy"]:
            different = differing(wanted, found, STRATEGY)
            move.report.compare("default strategy", f"{environment} of {project_id}", different)
        else:
            environments.set_default_strategy(move.conn, project_id, environment, wanted)
            move.record("default-strategy-updated", project=project_id, environment=environment, data=wanted)
            move.report.count("default strategy", "new")
