"""flags import-unleash with real servers of Unleash: applications get the same from the new one, with their tokens."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from sql.database import connect
from tests.support.command_line import run_flags
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.moved_documents import SPECS, context, differences, evaluate
from tests.support.service import Service
from tests.support.unleash import ADMIN_TOKEN, VERSIONS, Api, unleash_server
from tests.support.unleash_contents import TOKENS, fill

pytestmark = pytest.mark.slow

SEED = 31
OURS = "ours"
# What a reader can compare: the paths of the old server, and what changes in them without a move.
READ = (
    "projects",
    "environments",
    "context",
    "tag-types",
    "tags",
    "strategies",
    "segments",
    "api-tokens",
    "user-admin",
)
VOLATILE = (
    *("seenAt", "lastSeenAt", "updatedAt", "lastUpdatedAt", "inviteLink", "health", "technicalDebt"),
    *("avgTimeToProduction", "usedInFeatures", "usedInProjects", "lastReportedFlagUsage"),
)


@dataclass
class Moved:
    """A server, and the new instance to which it was moved. dry_run, report, second: stdout of the three runs."""

    old: Api
    new: Api
    url: str
    dry_run: str
    report: str
    second: str
    # Fingerprints of the new database: before, and after each run.
    states: list[dict[str, str]]
    # What the old server answered before and after.
    answers: list[Any]


@contextmanager
def our_service(database: str, folder: Path) -> Iterator[Api]:
    """Run our own service, which has the records of the paid edition."""
    with Service(database, folder, INIT_ADMIN_API_TOKENS=ADMIN_TOKEN) as service:
        yield Api(service.origin)


def old_server(version: str, make_database: Callable[..., str], folder: Path) -> AbstractContextManager[Api]:
    database = make_database(empty=True)
    return our_service(database, folder) if version == OURS else unleash_server(version, database, folder)


@pytest.fixture(scope="module", params=[*VERSIONS, OURS])
def moved(request, make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    """A filled server, moved with the real command to an instance that serves at a port."""
    folder, url = tmp_path_factory.mktemp("old"), make_database()
    with old_server(request.param, make_database, folder) as old, connect(url) as conn:
        fill(old, SEED)
        (folder / "token").write_text(old.token)
        states, outputs, answers = [fingerprint(conn)], list[str](), [read(old)]
        for options in (["--dry-run"], [], []):
            command = ("import-unleash", old.url, "--token-file", str(folder / "token"), "--with-users", *options)
            done = run_flags(*command, DATABASE_URL=url, BCRYPT_ROUNDS="10")
            assert done.returncode == 0, done.stderr
            outputs.append(done.stdout)
            states.append(fingerprint(conn))
        answers.append(read(old))
        (folder / "new").mkdir()
        with Service(url, folder / "new") as service:
            yield Moved(old, Api(service.origin, ADMIN_KEY), url, *outputs, states, answers)


def read(old: Api) -> Any:
    """Return what the old server has, without what changes by itself."""

    def stable(value: Any) -> Any:
        if isinstance(value, list):
            return sorted(map(stable, value), key=json.dumps)
        if isinstance(value, dict):
            return {key: stable(item) for key, item in sorted(value.items()) if key not in VOLATILE}
        return value

    flags = [
        old.get(f"/api/admin/projects/{project['id']}/features")
        for project in old.get("/api/admin/projects")["projects"]
    ]
    return [stable(answer) for answer in (*(old.get(f"/api/admin/{path}") for path in READ), flags)]


def secrets(moved: Moved, *types: str) -> list[tuple[str, str]]:
    """Return the names and secrets of the tokens of these types that are valid."""
    tokens = moved.old.get("/api/admin/api-tokens")["tokens"]
    return [
        (token["tokenName"], token["secret"])
        for token in tokens
        if token["type"] in types and token["tokenName"] != "expired"
    ]


def test_each_token_gets_the_same_flags_and_decisions(moved: Moved) -> None:
    random = Random(SEED)
    contexts = [context(random) for _ in range(1000)]
    tokens = secrets(moved, "client", "backend")
    assert len(tokens) == len([token for token in TOKENS if token[1] == "client"])
    for name, secret in tokens:
        found = differences(moved.old, moved.new, secret, contexts)
        assert not found, (name, len(found), found[:3])


def test_an_expired_token_stays_expired(moved: Moved) -> None:
    tokens = moved.old.get("/api/admin/api-tokens")["tokens"]
    [secret] = [token["secret"] for token in tokens if token["tokenName"] == "expired"]
    assert Api(moved.new.url, secret).send("GET", "/api/client/features")[0] == 401


def test_archived_flags_keep_their_strategies(moved: Moved) -> None:
    names: list[list[str]] = [[], []]
    for number, environment in product((50, 51, 52, 53), ("development", "production")):
        path = f"/api/admin/projects/default/features/flag-{number}/environments/{environment}/strategies"
        for server, found in zip((moved.old, moved.new), names, strict=True):
            found += [strategy["name"] for strategy in sorted(server.get(path), key=lambda item: item["sortOrder"])]
    assert names[0]
    assert names[0] == names[1]


def test_web_pages_get_the_same_flags_or_those_of_the_engine(moved: Moved) -> None:
    random = Random(SEED)
    contexts = [context(random) for _ in range(60)]
    # Old servers read a time of a query differently from their SDKs.
    for one in contexts:
        one.pop("currentTime", None)
    tokens = moved.old.get("/api/admin/api-tokens")["tokens"]
    documents = {
        token["environment"]: Api(moved.new.url, token["secret"]).get("/api/client/features", **SPECS[1])
        for token in tokens
        if token["type"] in ("client", "backend") and token["projects"] == ["*"] and token["tokenName"] != "expired"
    }
    for token in (token for token in tokens if token["type"] == "frontend"):
        document = documents[token["environment"]]
        chance = {flag["name"] for flag in document["features"] if '"random"' in json.dumps(flag)}
        pages = [Api(server.url, token["secret"]) for server in (moved.old, moved.new)]
        answers = [[flags_of(page, one) for one in contexts] for page in pages]
        assert any(answers[1])
        environment = {"environment": token["environment"]}
        expected = evaluate(document, [environment | one for one in contexts])
        for old, new, engine in zip(*answers, expected, strict=True):
            assert {name for name in (old ^ new) - chance if (name in new) is not engine[name][0]} == set()


def flags_of(page: Api, one: Any) -> set[str]:
    """Return the names of the flags that a web page gets for a context."""
    texts = {name: text for name, text in one.items() if name != "properties"}
    query = urlencode(texts | {f"properties[{name}]": text for name, text in one["properties"].items()})
    return {flag["name"] for flag in page.get(f"/api/frontend?{query}")["toggles"]}


def test_a_dry_run_writes_nothing_and_prints_the_same_report(moved: Moved) -> None:
    assert moved.states[0] == moved.states[1]
    first, *report, last = [line for line in moved.report.splitlines() if "/reset-password?token=" not in line]
    assert moved.dry_run.splitlines()[:-1] == [f"{first}{' ' * 12}[Dry run: nothing was written.]", *report]
    assert last.startswith("Moved ")
    assert moved.dry_run.splitlines()[-1] == f"Would move {last.removeprefix('Moved ').rpartition(' in ')[0]}."


def test_a_second_run_changes_nothing(moved: Moved) -> None:
    assert moved.states[2] != moved.states[1]
    assert moved.states[3] == moved.states[2]
    assert moved.second.splitlines()[-1] == "Nothing to move: everything exists."


def test_the_old_server_is_only_read(moved: Moved) -> None:
    assert moved.answers[0] == moved.answers[1]


def test_the_report_contains_no_secret(moved: Moved) -> None:
    tokens = moved.old.get("/api/admin/api-tokens")["tokens"]
    random_parts = {token["secret"].rpartition(".")[2] for token in tokens} - {""}
    texts = moved.dry_run + moved.report + moved.second
    assert [part for part in random_parts if len(part) > 10 and part in texts] == []


def test_people_move_with_their_roles(moved: Moved) -> None:
    if not moved.old.accepts("GET", "/api/admin/groups"):
        return
    for server in (moved.old, moved.new):
        [group] = server.get("/api/admin/groups")["groups"]
        assert (group["name"], group["mappingsSSO"], group["rootRole"]) == ("Payments", ["pay"], 2)
        assert [member["user"]["email"] for member in group["users"]] == ["anna@example.com"]
        roles = {role["id"]: role["name"] for role in server.get("/api/admin/roles")["roles"]}
        access = server.get("/api/admin/projects/shop/access")
        held = {holder["name"]: {roles[id] for id in holder["roles"]} for holder in access["users"] + access["groups"]}
        assert held == {name: {"Release manager", "Member"} for name in ("anna", "bert", "Payments")}
        [account] = server.get("/api/admin/service-account")["serviceAccounts"]
        assert (account["username"], account["rootRole"]) == ("terraform", 2)
    links = moved.report.splitlines()[-2:]
    assert [link.partition(" ")[0] for link in links] == ["anna@example.com", "bert@example.com"]
    token = links[0].rpartition("=")[2]
    assert moved.new.send("GET", f"/auth/reset/validate?token={token}")[0] == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_project_that_the_open_source_edition_does_not_list_moves(version, make_database, tmp_path) -> None:
    source, url = make_database(empty=True), make_database()
    with unleash_server(version, source, tmp_path) as old, connect(source) as conn, connect(url) as moved:
        conn.execute("INSERT INTO projects (id, name) VALUES ('hidden', 'Hidden')")
        conn.execute("INSERT INTO project_environments SELECT 'hidden', environment_name FROM project_environments")
        for name in ("live", "old"):
            old.post("/api/admin/projects/hidden/features", {"name": name})
        old.expect("DELETE", "/api/admin/projects/hidden/features/old", None)
        assert [project["id"] for project in old.get("/api/admin/projects")["projects"]] == ["default"]
        (tmp_path / "token").write_text(old.token)
        done = run_flags("import-unleash", old.url, "--token-file", str(tmp_path / "token"), DATABASE_URL=url)
        assert done.returncode == 0, done.stderr
        found = moved.execute("SELECT name, project_id, archived_at IS NULL FROM flags ORDER BY name").fetchall()
        assert [tuple(row.values()) for row in found] == [("live", "hidden", True), ("old", "hidden", False)]
