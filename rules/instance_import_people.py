"""Move roles, users, groups and the access to projects. No password moves: each new user gets a link to set one."""

from collections.abc import Mapping
from typing import Any

from rules.import_contents import Json
from rules.instance_import_catalog import records_of
from rules.instance_import_move import Move, differing
from rules.project_access import by_role
from rules.refusals import quantity
from rules.reset_links import create_link
from rules.roles import permission_problem
from sql.people import groups, permissions, roles, root_roles, users
from sql.projects import access
from sql.projects.access import Holder, RoleGrant

# Admin, Editor and Viewer have the same ids in every Unleash. One without paid parts may not list its roles.
ROOT_ROLES = {role: role for role in (roles.ADMIN, roles.EDITOR, roles.VIEWER)}
# The id of the first administrator of every Unleash, who has no e-mail there.
FIRST_ADMIN = 1

Ids = Mapping[int, int]


def write_people(move: Move) -> None:
    """Write the roles, users, groups and roles in projects that do not exist here."""
    contents = move.contents
    here = {role["name"].lower(): role for role in records_of(roles.list_all(move.conn))}
    ids = {role["id"]: write_role(move, role, here) for role in contents.roles}
    if move.report.conflicts:
        return
    ids = ROOT_ROLES | ids
    members = {user["id"]: user_id for user in contents.users if (user_id := write_user(move, user, ids))}
    wanted_groups = {group["name"]: group for group in contents.groups}
    known = {group["name"]: group for group in records_of(groups.list_all(move.conn))}
    teams = {name: write_group(move, group, known.get(name), ids, members) for name, group in wanted_groups.items()}
    for entry in contents.access:
        wanted = grants("user", entry["users"], "id", members, ids)
        wanted |= grants("group", entry["groups"], "name", teams, ids)
        write_grants(move, entry["project"], wanted)


def grants(kind: Holder, entries: list[Json], key: str, holders: Mapping[Any, int], ids: Ids) -> set[RoleGrant]:
    """Return the roles that users or groups have in a project, with the ids that they have here."""
    known = [(holders[entry[key]], role) for entry in entries if entry[key] in holders for role in entry["roles"]]
    return {RoleGrant(ids[role], kind, holder) for holder, role in known if role in ids}


def write_role(move: Move, role: Json, here: Mapping[str, Json]) -> int:
    """Return the id that a role has here. Insert it if it does not exist. here: the roles by name."""
    conn, found = move.conn, here.get(role["name"].lower())
    if found and found["type"] != role["type"]:
        text = f"Role {role['name']} has the type {found['type']} here, not {role['type']}. Rename it first."
        move.report.conflict(text)
    if role["type"] in ("root", "project") and found:
        return found["id"]
    names, places = ([item.get(key) or None for item in role["permissions"]] for key in ("name", "environment"))
    resolved = permissions.resolve(conn, [None] * len(names), names, places)
    allowed = [(item["name"], item["environment"]) for item in resolved if not permission_problem(item, role["type"])]
    for name in sorted({name or "" for name in names} - {name for name, _ in allowed}):
        move.report.warn("Roles do not get this permission, which does not exist here", f"{name} (role {role['name']})")
    if found:
        held = {(item["name"], item.get("environment")) for item in roles.get_logged(conn, found["id"])["permissions"]}
        different = differing(role, found, ("description",)) + (["permissions"] if held != set(allowed) else [])
        move.report.compare("role", role["name"], different)
        return found["id"]
    role_id = roles.insert(conn, role["name"], type=role["type"], description=role["description"] or "")
    roles.set_permissions(conn, role_id, allowed)
    move.record("role-created", data=roles.get_logged(conn, role_id))
    move.report.count("role", "new")
    return role_id


def write_user(move: Move, user: Json, root: Ids) -> int | None:
    """Return the id that a user has here. Insert the user if they do not exist. None: they have no name to log in."""
    conn, report, account_type = move.conn, move.report, "Service Account" if user["isService"] else "User"
    email, username = (user["email"] or "").lower() or None, user["username"] or None
    if username and "@" in username:
        # Our choice: a user name is no e-mail address here, and people can log in with either.
        email, username = email or username.lower(), None
    if not email and not username:
        report.count("user", "not moved")
        report.warn("This user has neither an e-mail address nor a user name", login_of(user))
        return None
    found = [users.lock_by_login(conn, login, account_type) for login in (email, username) if login]
    ids = [account["id"] for account in found if account]
    if not ids and user["id"] == FIRST_ADMIN and not email:
        ids = sorted(root_roles.lock_administrators(conn, 0))
    if ids:
        report.count("user", "exists")
        return ids[0]
    if user["rootRole"] not in root:
        report.warn("The root role of this user is unknown. They become Viewer", login_of(user))
    role = root.get(user["rootRole"], roles.VIEWER)
    columns = {"name": user["name"], "username": username, "email": email, "password_hash": None}
    added = users.insert(conn, **columns, root_role=role, account_type=account_type)
    kind = "service-account" if user["isService"] else "user"
    move.record(f"{kind}-created", data=users.event_data(added))
    report.count("user", "new")
    move.new.add(("user", added["id"]))
    if not user["isService"] and (link := create_link(conn, move.actor, added, "reset-password")):
        report.reset_links.append((email or username or "", link))
    return added["id"]


def write_group(move: Move, group: Json, found: Json | None, root: Ids, members: Ids) -> int:
    """Return the id that a group has here. Insert it, with its members, if it does not exist. found: the group here."""
    conn, actor = move.conn, move.actor
    ids = [members[number] for number in group["users"] if number in members]
    role = root.get(group["rootRole"]) if group["rootRole"] else None
    if found:
        here = found | {"users": sorted(member["user"]["id"] for member in found["users"])}
        wanted = group | {"rootRole": role, "users": sorted(ids)}
        different = differing(wanted, here, ("description", "mappingsSSO", "rootRole", "users"))
        move.report.compare("group", group["name"], different)
        return found["id"]
    columns = {"description": group["description"], "root_role": role, "mappings_sso": group["mappingsSSO"]}
    group_id = groups.insert(conn, group["name"], **columns, created_by=actor.name)
    groups.set_users(conn, group_id, ids, created_by=actor.name)
    move.record("group-created", data=groups.get_logged(conn, group_id))
    move.report.count("group", "new")
    move.new.add(("group", group_id))
    return group_id


def write_grants(move: Move, project: str, wanted: set[RoleGrant]) -> None:
    """Give roles in a project, if the project or their holder is new here.

    Our choice: a role that was taken from an existing user here is not given again.
    """
    before = access.lock_grants(move.conn, project)
    if before is None:
        return
    is_new = ("project", project) in move.new
    added = {grant for grant in wanted - before if is_new or (grant.holder, grant.id) in move.new}
    if added:
        access.replace_grants(move.conn, project, before, before | added)
        data = by_role(added, "roleId", "userIds", "groupIds")
        move.record("project-access-added", project=project, data=data)
    move.report.count("project role", "new", len(added))
    move.report.count("project role", "exists", len(wanted & before))
    if lacking := len(wanted - before - added):
        move.report.count("project role", "differs", lacking - 1)
        move.report.compare("project role", f"in {project}", [f"{quantity(lacking, 'role')} not given here"])


def login_of(user: Json) -> str:
    """Return the e-mail address or the user name of a user of the source, or else their name."""
    return user["email"] or user["username"] or user["name"] or str(user["id"])
