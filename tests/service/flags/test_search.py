"""GET /api/admin/search/features: filters, order, pages and the record."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.catalog import segments
from sql.database import Connection
from sql.flags import favorites as flag_favorites
from tests.support import fixtures
from tests.support.flags import depend
from tests.support.world import Caller, World, refused

PATH = "/api/admin/search/features"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def search(caller: Caller, **query: Any) -> tuple[list[str], int]:
    """The names that a search found, in order, and the total."""
    response = caller.get(PATH, query_string=query)
    assert response.status_code == 200, response.text
    assert list(response.json) == ["features", "total"]
    return [flag["name"] for flag in response.json["features"]], response.json["total"]


def names(caller: Caller, **query: Any) -> str:
    """The names that a search found, in order, as words; all of them."""
    found, total = search(caller, **query)
    assert total == len(found)
    return " ".join(found)


@pytest.fixture
def five(world: World, conn: Connection, alice: Caller, eve: Caller) -> dict[str, int]:
    """Flags a to e, made in this order, in two open projects."""
    world.project("hermes", environments=("development",))
    later = NOON + timedelta(hours=1)
    a = {"description": "The 100% cart", "type": "experiment", "created_by_user_id": alice.id}
    b = {"description": "über_all", "created_by_user_id": eve.id, "stale_since": NOON}
    created = {
        "a": world.flag("a", created_at=NOON, **a),
        "b": world.flag("b", created_at=later, **b),
        "c": world.flag("c", "hermes", type="kill-switch", created_at=NOON + timedelta(days=1)),
        "d": world.flag("d", enabled_in=("production",), created_at=NOON + timedelta(days=2)),
        "e": world.flag("e", "hermes", enabled_in=("development",), created_at=NOON + timedelta(days=3)),
    }
    for name, value in (("a", "beta"), ("a", "gamma"), ("b", "beta"), ("c", "x:y")):
        fixtures.tag(conn, created[name], "simple", value)
    one, two = segments.insert(conn, "one", []), segments.insert(conn, "two", [])
    for name, chosen in (("a", [one, two]), ("d", [one])):
        strategy = world.strategy(created[name])
        for segment in chosen:
            fixtures.add_segment(conn, strategy, segment)
    world.flag("z", archived_at=NOON, description="archived")
    world.flag("y", archived_at=NOON, deleted_at=NOON)
    return created


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "a b c d e"),
        ({"query": ""}, "a b c d e"),
        ({"query": "A"}, "a b"),
        ({"query": "100%"}, "a"),
        ({"query": "%"}, "a"),
        ({"query": "_"}, "b"),
        ({"query": "ÜBER"}, "b"),
        ({"query": "."}, ""),
        ({"query": "cart, über"}, "a b"),
        ({"query": "*, ***=a, (, [a-z], e.*, \\\\, ^, ALL"}, "b"),
        ({"query": ",".join(f"none{number}" for number in range(19)) + ",CART,"}, "a"),
        ({"query": ",c,"}, "a c"),
        ({"query": "archived"}, ""),
        ({"archived": "IS:false"}, "a b c d e"),
        ({"archived": "IS:true"}, "z"),
        ({"archived": "IS:true", "query": "nothing"}, ""),
        ({"project": "IS:hermes"}, "c e"),
        ({"project": "IS_NOT:hermes"}, "a b d"),
        ({"project": "IS_ANY_OF:hermes,default"}, "a b c d e"),
        ({"project": "IS_NONE_OF:hermes,default"}, ""),
        ({"project": "IS:Hermes"}, ""),
        ({"project": "IS:"}, ""),
        ({"type": "IS_ANY_OF:experiment,kill-switch"}, "a c"),
        ({"type": "IS_NONE_OF:experiment,kill-switch"}, "b d e"),
        ({"state": "IS:stale"}, "b"),
        ({"state": "IS_NOT:stale"}, "a c d e"),
        ({"state": "IS:active"}, "a c d e"),
        ({"state": "IS_ANY_OF:active,stale"}, "a b c d e"),
        ({"tag": "INCLUDE:simple:beta"}, "a b"),
        ({"tag": "INCLUDE_ANY_OF:simple:gamma,simple:x:y"}, "a c"),
        ({"tag": "INCLUDE_ALL_OF:simple:beta,simple:gamma"}, "a"),
        ({"tag": "DO_NOT_INCLUDE:simple:beta"}, "c d e"),
        ({"tag": "EXCLUDE_IF_ANY_OF:simple:gamma,simple:x:y"}, "b d e"),
        ({"tag": "EXCLUDE_ALL:simple:beta,simple:gamma"}, "b c d e"),
        ({"segment": "INCLUDE:one"}, "a d"),
        ({"segment": "INCLUDE_ALL_OF:one,two"}, "a"),
        ({"segment": "INCLUDE_ANY_OF:two,three"}, "a"),
        ({"segment": "DO_NOT_INCLUDE:one"}, "b c e"),
        ({"segment": "EXCLUDE_IF_ANY_OF:two,three"}, "b c d e"),
        ({"segment": "EXCLUDE_ALL:one,two"}, "b c d e"),
        ({"status": "production:enabled"}, "d"),
        ({"status": "production:disabled"}, "a b"),
        ({"status": ["production:enabled", "development:enabled"]}, "d e"),
        ({"status[]": ["production:enabled", "development:enabled"]}, "d e"),
        ({"status": "production:enabled", "status[]": "development:enabled"}, "d e"),
        ({"status": "nowhere:disabled"}, ""),
        ({"createdAt": "IS_BEFORE:2026-03-11"}, "a b"),
        ({"createdAt": "IS_ON_OR_AFTER:2026-03-11"}, "c d e"),
        ({"lifecycle": "IS:initial"}, "a b c d e"),
        ({"lifecycle": "IS_NOT:initial"}, ""),
        ({"lifecycle": "IS_NONE_OF:live,completed,pre-live"}, "a b c d e"),
        ({"lifecycle": "IS:archived"}, "z"),
        ({"lifecycle": "IS_ANY_OF:archived,initial"}, "a b c d e z"),
        ({"lifecycle": "IS_NOT:archived"}, "a b c d e"),
        ({"lifecycle": "IS:archived", "archived": "IS:false"}, ""),
        ({"lifecycle": "IS:archived", "archived": "IS:true"}, "z"),
        ({"lifecycle": "IS:initial", "archived": "IS:true"}, ""),
        ({"lifecycle": "IS_NONE_OF:initial", "archived": "IS:true"}, "z"),
        ({"tag": "INCLUDE:simple:beta", "state": "IS:stale"}, "b"),
        ({"sortBy": "name", "sortOrder": "desc"}, "e d c b a"),
        ({"sortBy": "createdAt", "sortOrder": "desc"}, "e d c b a"),
        ({"sortBy": "type"}, "a c b d e"),
        ({"sortBy": "project"}, "a b d c e"),
        ({"sortBy": "project", "sortOrder": "desc"}, "c e a b d"),
        ({"sortBy": "stale"}, "a c d e b"),
        ({"sortBy": "stale", "sortOrder": "desc"}, "b a c d e"),
        ({"sortBy": "environment:production"}, "a b d c e"),
        ({"sortBy": "environment:production", "sortOrder": "desc"}, "d a b c e"),
        ({"sortBy": "environment:'; --"}, "a b c d e"),
        ({"sortBy": "frobnication", "sortOrder": "desc"}, "e d c b a"),
        ({"favoritesFirst": "false"}, "a b c d e"),
    ],
    ids=str,
)  # fmt: skip
def test_a_search_finds(alice: Caller, query: dict[str, Any], found: str) -> None:
    assert names(alice, **query) == found


@pytest.mark.usefixtures("five")
def test_flags_are_found_by_their_creator(alice: Caller, eve: Caller) -> None:
    for creator, found in (
        (f"IS:{eve.id}", "b"),
        (f"IS_ANY_OF:{eve.id},{alice.id}", "a b"),
        (f"IS_NOT:{eve.id}", "a c d e"),
        (f"IS_NONE_OF:{eve.id},{alice.id}", "c d e"),
        ("IS:9999999999", ""),
        ("IS:", ""),
    ):
        assert names(alice, createdBy=creator) == found


def test_letters_are_found_in_any_case(world: World, alice: Caller) -> None:
    world.flag("greek", description="ΟΔΥΣΣΕΥΣ, Å, Ǆ")
    world.flag("long", description="µ ſ ϑ")
    for text in ("οδυσσευς", "ΟΔΥΣΣΕΥΣ", "Οδυσσεύσ".replace("ύ", "υ"), "å", "ǆ", "ǅ"):
        assert names(alice, query=text) == "greek", text
    for text in ("μ", "Μ", "µ", "s", "ſ", "θ"):
        assert names(alice, query=f"{text} ").split() in (["long"], ["greek", "long"]), text


def test_the_newest_usage_orders_and_flags_without_any_come_last(
    alice: Caller, conn: Connection, five: dict[str, int]
) -> None:
    assert five
    report = {"environment": "development", "app": "web", "yes": 1, "no": 0}
    later = NOON + timedelta(days=5)
    fixtures.report_usage(conn, [report | {"flag": "a", "project": "default", "at": later}])
    fixtures.report_usage(conn, [report | {"flag": "e", "project": "hermes", "at": later - timedelta(days=1)}])
    assert names(alice, sortBy="lastSeenAt") == "e a b c d"
    assert names(alice, sortBy="lastSeenAt", sortOrder="desc") == "a e b c d"
    # Reported usage is a sighting in the database, from which the stage follows.
    for query, listed in (
        ({"lastSeenAt": "IS_BEFORE:2026-03-15"}, "e"),
        ({"lastSeenAt": "IS_ON_OR_AFTER:2026-03-15"}, "a"),
        ({"lastSeenAt": "IS_ON_OR_AFTER:2026-03-14"}, "a e"),
        ({"lastSeenAt": "IS_BEFORE:2026-03-14"}, ""),
        ({"lastSeenAt": "IS_ON_OR_AFTER:2026-03-14", "createdAt": "IS_BEFORE:2026-03-11"}, "a"),
        ({"lifecycle": "IS:pre-live"}, "a e"),
        ({"lifecycle": "IS_NONE_OF:pre-live"}, "b c d"),
    ):
        assert names(alice, **query) == listed, query


def test_favourites_of_the_caller_come_first(
    world: World, conn: Connection, alice: Caller, eve: Caller, five: dict[str, int]
) -> None:
    flag_favorites.add(conn, alice.id or 0, five["d"])
    flag_favorites.add(conn, eve.id or 0, five["e"])
    assert names(alice, favoritesFirst="true") == "d a b c e"
    assert names(alice, favoritesFirst="true", sortBy="name", sortOrder="desc") == "d e c b a"
    assert names(world.api_key(), favoritesFirst="true") == "a b c d e"
    assert names(alice, favorite="IS:true") == "d"
    assert names(alice, favorite="IS:false") == names(alice, favorite="IS_NOT:true") == "a b c e"
    assert names(alice, favorite="IS_ANY_OF:true,false") == names(world.api_key(), favorite="IS:false") == "a b c d e"
    assert names(world.api_key(), favorite="IS:true") == ""
    found = {flag["name"]: flag["favorite"] for flag in alice.get(PATH).json["features"]}
    assert [name for name, is_favorite in found.items() if is_favorite] == ["d"]


@pytest.mark.usefixtures("five")
def test_pages_follow_each_other_and_the_total_counts_all(alice: Caller) -> None:
    assert search(alice, limit=2) == (["a", "b"], 5)
    assert search(alice, limit=2, offset=2) == (["c", "d"], 5)
    assert search(alice, limit=2, offset=4) == (["e"], 5)
    assert search(alice, offset=5) == ([], 5)
    assert search(alice, limit=1, project="IS:hermes") == (["c"], 2)


def test_flags_of_one_time_come_by_name_and_fifty_at_a_time(world: World, alice: Caller) -> None:
    expected = [f"n{number:03}" for number in range(101)]
    for name in reversed(expected):
        world.flag(name, created_at=NOON)
    assert search(alice) == (expected[:50], 101)
    assert search(alice, limit=100, sortBy="type", sortOrder="desc") == (expected[:100], 101)


def test_flags_of_hidden_projects_are_neither_found_nor_counted(
    world: World, apollo: str, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller
) -> None:
    world.flag("hidden", apollo)
    world.flag("shown")
    for caller in (alice, eve, olga, max, world.api_key()):
        assert search(caller, sortBy="name") == (["hidden", "shown"], 2)
    assert search(victor) == (["shown"], 1)
    assert search(victor, project=f"IS:{apollo}") == ([], 0)


@pytest.mark.parametrize(
    "query",
    [
        *("project=hermes", "project=IS", "project=is:a", "project=IS_BEFORE:a", "type=INCLUDE:a"),
        *("project=IS:a&project=IS:b", "state=IS:archived", "state=IS:", "state=IS:Stale"),
        *("archived=true", "archived=IS_NOT:true", "archived="),
        *("createdBy=IS:ada", "createdBy=IS:1,", "createdBy=IS:1.5"),
        *("tag=INCLUDE:beta", "tag=INCLUDE::beta", "tag=INCLUDE:simple:", "tag=IS:simple:beta", "tag=INCLUDE"),
        *("segment=one", "segment=IS:one"),
        *("status=production", "status=production:on", "status=:enabled", "status=a:enabled&status=b", "status[]=x"),
        *("createdAt=2026-03-10", "createdAt=IS:2026-03-10", "createdAt=IS_BEFORE:2026-02-30"),
        "createdAt=IS_BEFORE:2026-3-1",
        *("lastSeenAt=2026-03-10", "lastSeenAt=IS:2026-03-10", "lastSeenAt=IS_BEFORE:2026-02-30", "lastSeenAt="),
        *("favorite=true", "favorite=IS:", "favorite=IS:yes", "favorite=IS:true,"),
        *("lifecycle=live", "lifecycle=IS:", "lifecycle=IS:Live", "lifecycle=IS:live,", "lifecycle=INCLUDE:live"),
        *("sortOrder=up", "sortOrder=ASC", "favoritesFirst=1", "favoritesFirst=", "sortBy=name&sortBy=type"),
        *("query=%00", "sortBy=%00"),
        f"query={'a,' * 21}",
        *("limit=0", "limit=101", "limit=x", "limit=5.0", "offset=-1", "offset=9223372036854775808", "limit=1&limit=2"),
    ],
)  # fmt: skip
def test_an_invalid_query_is_refused(alice: Caller, query: str) -> None:
    message = refused(alice.get(f"{PATH}?{query}"), 400, "ValidationError")
    assert query.partition("=")[0].removesuffix("[]") in message


def test_a_hit_has_all_fields_of_its_flag(world: World, conn: Connection, alice: Caller) -> None:
    fields = {"created_by_user_id": alice.id, "description": "Ein Ü", "impression_data": True}
    flag = world.flag("f", enabled_in=("production",), **fields)
    fixtures.tag(conn, flag, "simple", "beta")
    fixtures.add_segment(conn, world.strategy(flag, "production"), segments.insert(conn, "one", []))
    depend(conn, world.flag("child"), flag)
    world.flag("other")
    report = {"flag": "f", "project": "default", "environment": "production", "app": "web", "yes": 3, "no": 2}
    fixtures.report_usage(conn, [report | {"at": datetime.now(UTC)}])
    conn.execute("UPDATE usage_metrics SET hour = date_trunc('hour', now())")
    found = {flag["name"]: flag for flag in alice.get(PATH).json["features"]}
    hit = found["f"]
    expected = {
        "description": "Ein Ü",
        "impressionData": True,
        "archivedAt": None,
        "createdBy": {"id": alice.id, "name": "Alice", "imageUrl": ""},
        "dependencyType": "parent",
        "segments": ["one"],
        "tags": [{"type": "simple", "value": "beta"}],
    }
    assert hit | expected == hit
    assert [(place["name"], place["enabled"], place["yes"], place["no"]) for place in hit["environments"]] == [
        ("development", False, 0, 0),
        ("production", True, 3, 2),
    ]
    assert hit["lifecycle"]["stage"] == "live"
    assert hit["lastSeenAt"] == hit["environments"][1]["lastSeenAt"] is not None
    assert (found["child"]["dependencyType"], found["other"]["dependencyType"]) == ("child", None)
    assert found["other"]["createdBy"] == {"id": -1337, "name": "system", "imageUrl": ""}
