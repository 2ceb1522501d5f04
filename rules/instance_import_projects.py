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
    """Write the projects that do not exist here, without their naming patterns, and the missing environments."""
    needed: dict[str, set[str]] = defaultdict(set)
    for flag in move.new_flags:
        needed[flag["project"]].update(state["environment"] for state in flag["environments"])
    wanted = {project["id"]: project for project in move.contents.projects}
    for project_id in sorted(needed.keys() | wanted.keys()):
        project, found = wanted.get(project_id), projects.lock(move.conn, project_id)
        places = {place["environment"] for place in (project or BLANK)["environments"]}
        if found is None:
            if project is None:
                move.report.warn("The source does not have this project. It is created for its flags", project_id)
            insert_project(
                move, project or {"id": project_id, "name": project_id, **BLANK}, places | needed[project_id]
            )
        elif found["archived_at"]:
            move.report.conflict(f"Project {project_id} is archived here. Revive it first.")
        else:
            if project:
                compare_project(move, project | {"featureNaming": usable_naming(move, project)}, found["logged"])
            link_environments(move, project_id, places, needed[project_id])


def insert_project(move: Move, project: Json, places: Collection[str]) -> None:
    """Insert a project with these environments."""
    projects.create(move.conn, project)
    projects.add_environments(move.conn, project["id"], list(places))
    move.record("project-created", project=project["id"], data=projects.created(move.conn, project["id"])["record"])
    move.report.count("project", "new")
    move.report.count("project environment", "new", len(places))
    move.new.add(("project", project["id"]))


def compare_project(move: Move, project: Json, found: Json) -> None:
    """Compare a project with the one that exists here. The unused project default takes its values."""
    different = differing(project, found, COMPARED)
    is_unused = project["id"] == "default" and not differing(INSTALLED, found, COMPARED)
    if different and is_unused and not projects.count_flags(move.conn, "default"):
        after = found | {key: project[key] for key in COMPARED if key != "featureNaming"}
        projects.update(move.conn, after)
        move.record("project-updated", project="default", data=after, pre_data=found)
        move.report.count("project", "new")
        move.new.add(("project", "default"))
    else:
        move.report.compare("project", project["id"], different)


def link_environments(move: Move, project_id: str, places: Collection[str], needed: Collection[str]) -> None:
    """Give an existing project the environments that new flags need, and those that are new here."""
    linked = set(list_linked(move.conn, project_id))
    move.report.count("project environment", "exists", len(linked.intersection(places)))
    for place in sorted({*places, *needed} - linked):
        if place in needed or {("environment", place), ("project", project_id)} & move.new:
            environments.add(move.conn, project_id, place)
            move.record("project-environment-added", project=project_id, environment=place)
            move.report.count("project environment", "new")
        else:
            move.report.compare("project environment", f"{place} of {project_id}", ["is not linked here"])


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


def write_settings(move: Move) -> None:
    """Set the naming patterns of new projects, after their flags, and the default strategies."""
    for project in move.contents.projects:
        pattern, found = usable_naming(move, project), projects.lock(move.conn, project["id"])
        if found and pattern and ("project", project["id"]) in move.new:
            after = found["logged"] | {"featureNaming": pattern}
            projects.update(move.conn, after)
            move.record("project-updated", project=project["id"], data=after, pre_data=found["logged"])
        for place in project["environments"]:
            if place["defaultStrategy"]:
                write_default_strategy(move, project["id"], place["environment"], place["defaultStrategy"])


def write_default_strategy(move: Move, project_id: str, environment: str, strategy: Json) -> None:
    """Set the default strategy of an environment that has none."""
    link = environments.lock_link(move.conn, project_id, environment)
    wanted = move.with_segments_here({key: strategy[key] for key in STRATEGY if key in strategy})
    if link and (found := link["default_strategy"]):
        move.report.compare("default strategy", f"{environment} of {project_id}", differing(wanted, found, STRATEGY))
    elif link:
        environments.set_default_strategy(move.conn, project_id, environment, wanted)
        about = {"project": project_id, "environment": environment}
        move.record("default-strategy-updated", **about, data=wanted)
        move.report.count("default strategy", "new")
