"""The events of one flag, and who made events."""

from datetime import timedelta

from rules.access import Actor
from sql.database import Connection
from tests.support import fixtures
from tests.support.event_search import NOON, Log
from tests.support.planner import plan_by_loops
from tests.support.world import Caller, World

CREATORS = "/api/admin/event-creators"


def events_of(caller: Caller, flag: str) -> tuple[list[int], int]:
    """The ids of a flag's events as a caller gets them, and the total."""
    response = caller.get(f"/api/admin/events/{flag}")
    assert response.status_code == 200, response.text
    assert list(response.json) == ["version", "toggleName", "events", "totalEvents"]
    assert response.json["version"] == 1
    return [event["id"] for event in response.json["events"]], response.json["totalEvents"]


def test_events_of_a_flag_come_newest_first_and_without_those_of_others(alice: Caller, conn: Connection) -> None:
    log = Log(conn)
    middle = log.add(feature="f", project="default", at=NOON)
    oldest = log.add(feature="f", project="default", at=NOON - timedelta(seconds=1))
    newest = log.add("feature-archived", feature="f", project="default", at=NOON + timedelta(seconds=1))
    twin = log.add(feature="f", project="default", at=NOON)
    log.add(feature="F", project="default")
    log.add(feature="f2", project="default")
    log.add(project="default")
    assert events_of(alice, "f") == ([newest, twin, middle, oldest], 4)
    assert alice.get("/api/admin/events/f").json["toggleName"] == "f"
    for name in ("nothing", "a%20b", "%00", "%F0%9F%8E%89"):
        assert events_of(alice, name) == ([], 0)


def test_only_the_newest_hundred_are_given_and_all_are_counted(alice: Caller, conn: Connection) -> None:
    log = Log(conn)
    ids = [log.add(feature="f", project="default", at=NOON + timedelta(seconds=second)) for second in range(103)]
    assert events_of(alice, "f") == (ids[:2:-1], 103)


def test_events_of_flags_in_hidden_projects_are_hidden(
    world: World, conn: Connection, alice: Caller, eve: Caller, victor: Caller, olga: Caller, apollo: str
) -> None:
    log = Log(conn)
    hidden, shown = log.add(feature="f", project=apollo, at=NOON), log.add(feature="f", project="default", at=NOON)
    nowhere = log.add(feature="f", at=NOON)
    for caller in (alice, world.api_key()):
        assert events_of(caller, "f") == ([nowhere, shown, hidden], 3)
    for caller in (eve, olga):
        assert events_of(caller, "f") == ([shown, hidden], 2)
    assert events_of(victor, "f") == ([shown], 1)


def test_the_word_search_is_not_a_flag(alice: Caller) -> None:
    response = alice.get("/api/admin/events/search")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


def test_creators_are_users_each_once_by_name(world: World, conn: Connection, alice: Caller, victor: Caller) -> None:
    log = Log(conn)
    nameless, addressed, gone = world.user("Bob"), world.user("Carl", username=None), world.user("Zoe")
    conn.execute("UPDATE users SET name = NULL WHERE username = 'bob' OR username IS NULL")
    for someone in (alice, alice, nameless, addressed, gone):
        log.add(project="default", by=Actor("whatever", someone.id))
    log.add(project="default", by=Actor("a key"))
    fixtures.update(conn, "users", gone.id or 0, deleted_at="now")
    expected = [(alice.id, "Alice"), (nameless.id, "bob"), (addressed.id, "carl@example.org"), (gone.id, "Zoe")]
    for caller in (alice, victor):
        assert sorted((creator["id"], creator["name"]) for creator in caller.get(CREATORS).json) == sorted(expected)
    names = [creator["name"] for creator in alice.get(CREATORS).json]
    assert names.index("Alice") < names.index("Zoe")
    assert alice.get("/api/admin/search/events", query_string={"createdBy": f"IS:{gone.id}"}).json["total"] == 1


def test_creators_of_hidden_events_only_are_not_listed(
    world: World, conn: Connection, alice: Caller, eve: Caller, victor: Caller, max: Caller, apollo: str
) -> None:
    log = Log(conn)
    log.add(project=apollo, by=Actor("alice", alice.id))
    log.add(by=Actor("eve", eve.id))
    assert [creator["id"] for creator in world.api_key().get(CREATORS).json] == [alice.id, eve.id]
    for caller in (eve, max):
        assert [creator["id"] for creator in caller.get(CREATORS).json] == [alice.id]
    # Projects of similar names are others.
    for name in ("defaul", "default2", "Default", 'default"', 'default", null', "default\\"):
        log.add(project=name, by=Actor("Alice", alice.id))
    assert victor.get(CREATORS).json == []
    log.add(project="default", by=Actor("Victor", victor.id))
    assert [creator["name"] for creator in victor.get(CREATORS).json] == ["Victor"]
    assert [creator["name"] for creator in alice.get(CREATORS).json] == ["Alice", "Eve", "Victor"]


def test_creators_among_many_users_and_projects_are_found_fast(eve: Caller, victor: Caller, conn: Connection) -> None:
    Log(conn).add(project="default", by=Actor("Eve", eve.id))
    conn.execute("INSERT INTO projects (id, name) SELECT 'p' || number, 'P' FROM generate_series(1, 1000) AS number")
    conn.execute(
        "INSERT INTO users (username, root_role_id) SELECT 'user' || number, 3 FROM generate_series(1, 10000) AS number"
    )
    # Users times projects, one lookup each, would take a minute. As the planner may choose when it takes users to be
    # few:
    plan_by_loops(conn)
    conn.execute("SET LOCAL statement_timeout = '10s'")
    assert [entry["name"] for entry in victor.get(CREATORS).json] == ["Eve"]
