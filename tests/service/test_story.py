"""A story over HTTP alone, from an empty instance on, and all that the nine operations return at its end."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from tests.support.event_types_page import unrecorded
from tests.support.story import LATER, PASSWORDS, SEARCH, Having, Story, whole_story
from tests.support.world import Caller, refused
from validators.events import TYPES

PROJECTS = "/api/admin/projects"


@pytest.fixture(scope="module")
def story(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Story:
    """All of it, in order."""
    return whole_story(make_app(make_database()))


@pytest.fixture(scope="module")
def overview(story):
    """overview(project, by=None): the answer of operation 5."""
    return lambda project, by=None: story.read(f"{PROJECTS}/{project}/overview", by)


# The story itself


def test_every_type_of_event_was_recorded_or_has_a_reason(story):
    assert len(unrecorded()) == len(set(unrecorded())) > 35
    # Moves of an instance and what the clock finds are no requests. Groups of an identity provider come with logins.
    others = {"instance-imported", "feature-potentially-stale-on", "group-user-added", "group-user-removed"}
    others |= {f"change-request-scheduled-application-{end}" for end in ("success", "failure")}
    others |= {"change-request-schedule-suspended"}
    assert {event["type"] for event in story.ledger} == set(TYPES) - {*unrecorded(), *others}


# Project overview


def test_the_overview_of_apollo(story, overview):
    found = overview("apollo")
    # Live: launch, engine, boost, relay, relic, lunar, and orbit, which came from hermes. Archived: dust and fossil;
    # relic and debris, which came back and was deleted.
    assert found["stats"] == {
        "avgTimeToProdCurrentWindow": 0.1,
        "createdCurrentWindow": 7,
        "createdPastWindow": 0,
        "archivedCurrentWindow": 4,
        "archivedPastWindow": 0,
        "projectActivityCurrentWindow": story.count(project="apollo"),
        "projectActivityPastWindow": 0,
        # Eve, Max, Olga, and Nora by the crew.
        "projectMembersAddedCurrentWindow": 4,
    }
    assert (found["health"], found["members"], found["favorite"]) == (100, 4, False)
    types = {entry["type"]: entry["count"] for entry in found["featureTypeCounts"]}
    assert types == {"release": 3, "experiment": 2, "operational": 1, "kill-switch": 1}
    assert found["onboardingStatus"] == {"status": "first-flag-created", "feature": "launch"}


def test_the_overview_of_hermes(story, overview):
    found = overview("hermes")
    # Live: mail and letter, which are stale, post, and parcel, which was imported.
    assert found["stats"] == {
        "avgTimeToProdCurrentWindow": 0.1,
        "createdCurrentWindow": 4,
        "createdPastWindow": 0,
        "archivedCurrentWindow": 0,
        "archivedPastWindow": 0,
        "projectActivityCurrentWindow": story.count(project="hermes"),
        "projectActivityPastWindow": 0,
        # Olga, Max, and Nora by two groups.
        "projectMembersAddedCurrentWindow": 3,
    }
    assert (found["health"], found["members"]) == (50, 3)
    types = {entry["type"]: entry["count"] for entry in found["featureTypeCounts"]}
    assert types == {"release": 2, "permission": 1, "experiment": 1}
    assert found["onboardingStatus"] == {"status": "first-flag-created", "feature": "mail"}


def test_overviews_have_the_settings_of_the_projects(overview):
    apollo, hermes = overview("apollo"), overview("hermes")
    assert apollo == Having(
        version=1,
        name="Apollo",
        description="To the moon",
        mode="private",
        defaultStickiness="default",
        featureLimit=20,
        featureNaming={"pattern": "[a-z0-9-]+", "example": "lunar-1", "description": "lower case"},
        archivedAt=None,
    )
    assert hermes == Having(version=1, name="Hermes", description=None, mode="open", featureLimit=None, archivedAt=None)
    for project in (apollo, hermes):
        names = [environment["environment"] for environment in project["environments"]]
        assert names == ["development", "staging", "production"]
    defaults = [environment.get("defaultStrategy", {}) for environment in apollo["environments"]]
    assert [default.get("title") for default in defaults] == [None, None, "A quarter"]
    assert ["defaultStrategy" in environment for environment in hermes["environments"]] == [False] * 3


def test_overviews_depend_on_the_caller(story, overview):
    assert [overview("hermes", name)["favorite"] for name in ("victor", "olga", "root")] == [True, False, False]
    for name, status in {"root": 200, "eve": 200, "olga": 200, "max": 200, "robot": 200, "victor": 404}.items():
        assert story.people[name].get(f"{PROJECTS}/apollo/overview").status_code == status, name


# Project access


def test_access_lists_users_and_groups(story):
    id = story.ids
    apollo = story.read(f"{PROJECTS}/apollo/access", "eve")
    hermes = story.read(f"{PROJECTS}/hermes/access", "olga")
    assert [(user["name"], user["roles"]) for user in apollo["users"]] == [("Eve", [4]), ("Max", [5]), ("Olga", [4])]
    assert [(group["name"], sorted(group["roles"])) for group in apollo["groups"]] == [("crew", [5, id["Operator"]])]
    assert [member["user"]["name"] for member in apollo["groups"][0]["users"]] == ["Max", "Nora N."]
    assert [(user["name"], user["roleId"]) for user in hermes["users"]] == [("Olga", 4), ("Max", 5)]
    assert {group["name"]: group["roles"] for group in hermes["groups"]} == {"visitors": [5], "crew": [id["Operator"]]}
    visitors = next(group for group in hermes["groups"] if group["name"] == "visitors")
    assert (visitors["description"], visitors["mappingsSSO"], visitors["rootRole"]) == ("Look around", ["guests"], 3)
    for found in (apollo, hermes):
        roles = [(entry["id"], entry["name"]) for entry in found["roles"]]
        assert roles == [(4, "Owner"), (5, "Member"), (id["Operator"], "Operator")]


# Insights of the running week


@pytest.fixture(scope="module")
def insights(story):
    """insights(name): that array, of which there is only the running week, as somebody sees it."""

    def read(name, by=None):
        found = story.read("/api/admin/insights", by)[name]
        last = max((entry["date"] for entry in found), default="")
        return [entry for entry in found if entry["date"] == last]

    return read


def test_insights_count_users_and_flags(insights):
    # Nora never logged in; Rex is gone; robots are no users.
    (users,) = insights("userTrends")
    assert users == Having(total=6, active=5, inactive=1)
    (all_flags,) = insights("flagTrends")
    assert all_flags == Having(total=11, active=9, stale=2, potentiallyStale=0)
    assert datetime.now(UTC) - datetime.fromisoformat(users["date"]) < timedelta(minutes=5)


def test_insights_count_the_flags_and_members_of_projects(insights):
    common = {"potentiallyStale": 0}
    default = Having(common, project="default", health=100, timeToProduction=0, total=0, active=0, stale=0, users=0)
    hermes = Having(common, project="hermes", health=50, timeToProduction=0.1, total=4, active=2, stale=2, users=3)
    apollo = Having(common, project="apollo", health=100, timeToProduction=0.1, total=7, active=7, stale=0, users=4)
    assert insights("projectFlagTrends") == [apollo, default, hermes]
    assert insights("projectFlagTrends", "victor") == [default, hermes]


def test_insights_count_changes_by_type_of_environment(story, insights):
    types = {"development": "development", "preproduction": "staging", "production": "production"}
    found = {entry["environmentType"]: entry["totalUpdates"] for entry in insights("environmentTypeTrends")}
    # What happened to attic counts as what it was then: it was made for tests, and then changed to be from scratch.
    attic = {"test": found.pop("test"), "scratch": found.pop("scratch")}
    assert sum(attic.values()) == story.count(environment="attic")
    assert attic == {"test": 2, "scratch": 5}
    # Change requests are no updates of the environment.
    others = [event for event in story.ledger if not event["type"].startswith("change-")]
    assert found == {type: sum(event["environment"] == name for event in others) for type, name in types.items()}
    assert min(found.values()) > 5


def test_insights_have_no_metrics_without_usage(story):
    assert story.read("/api/admin/insights")["metricsSummaryTrends"] == []


# Both event searches


def test_all_pages_of_the_log_have_the_recorded_events(story):
    pages = [story.read(SEARCH, limit=40, offset=offset) for offset in range(0, len(story.ledger) + 1, 40)]
    assert {page["total"] for page in pages} == {len(story.ledger)}
    assert [event for page in pages for event in page["events"]] == story.ledger[::-1]
    assert len(story.ledger) > 150


@pytest.mark.parametrize(
    ("parameter", "column"), [("project", "project"), ("feature", "featureName"), ("type", "type")]
)
def test_searches_count_events(story, parameter, column):
    counted = Counter(event[column] for event in story.ledger if event.get(column))
    for value, number in counted.items():
        assert story.total(**{parameter: f"IS:{value}"}) == number, value
        body = {parameter: value, "limit": 1}
        found = story.key.post("/api/admin/events/search", json=body).json
        assert (found["totalEvents"], len(found["events"])) == (number, 1)
    two = sorted(counted)[:2]
    assert story.total(**{parameter: f"IS_ANY_OF:{','.join(two)}"}) == sum(counted[value] for value in two)


def test_a_creators_events_are_counted(story):
    everybody = {creator["id"] for creator in story.read("/api/admin/event-creators")}
    assert everybody == {event["createdByUserId"] for event in story.ledger if event["createdByUserId"]}
    assert everybody == {story.people[name].id for name in ("root", "eve", "olga", "max", "victor", "robot")}
    for id in everybody:
        assert story.total(createdBy=f"IS:{id}") == story.count(createdByUserId=id) > 0
    # By address, in the deprecated form.
    found = story.key.post("/api/admin/events/search", json={"query": "max@example.org"}).json
    assert found["totalEvents"] >= story.count(createdBy="max@example.org")


def test_all_events_are_of_today(story):
    days = [datetime.fromisoformat(event["createdAt"]).astimezone(UTC).date() for event in story.ledger]
    first, last = days[0], days[-1]
    assert story.total(**{"from": f"IS:{first}", "to": f"IS:{last}"}) == len(story.ledger)
    assert story.total(**{"to": f"IS:{first - timedelta(days=1)}"}) == 0


def test_events_of_the_private_project_are_hidden(story):
    victor = story.people["victor"]

    def shown(*projects):
        """How many events there are of these projects, without those of their access lists."""
        return sum(
            event["project"] in projects and not event["type"].startswith("project-access-") for event in story.ledger
        )

    assert story.total("victor") == shown("hermes", "default")
    assert (story.total("victor", project="IS:apollo"), story.total("victor", feature="IS:launch")) == (0, 0)
    assert victor.post("/api/admin/events/search", json={"project": "apollo"}).json["totalEvents"] == 0
    assert story.total("max") == shown("hermes", "default", "apollo")


def test_the_events_of_a_flag(story):
    found = story.read("/api/admin/events/launch")
    assert (found["toggleName"], found["totalEvents"]) == ("launch", story.count(featureName="launch"))
    assert found["events"] == [event for event in story.ledger[::-1] if event["featureName"] == "launch"]


# Login, signup, the signup token, and the strategy that was deleted


def test_login_and_signup_returned_the_user(story):
    first = {user["id"]: user for user in reversed(story.answers["logins"])}
    for name, role in (("eve", 2), ("olga", story.ids["Founder"]), ("max", 3), ("victor", 3)):
        assert first[story.ids[name]] == Having(
            email=f"{name}@example.org", rootRole=role, seenAt=None, loginAttempts=0, accountType="User"
        )
    assert story.answers["signup"] == Having(
        id=story.ids["victor"], name="Victor", username="victor", rootRole=3, seenAt=None
    )
    stranger = Caller(story.app)
    again = stranger.post("/auth/simple/login", json={"username": "victor", "password": PASSWORDS["victor"]}).get_json()
    assert again["id"] == story.ids["victor"]
    assert again["seenAt"] >= again["createdAt"]
    of_eve = {"username": "eve", "password": PASSWORDS["eve"]}
    refused(Caller(story.app).post("/auth/simple/login", json=of_eve), 401, "AuthenticationRequired")
    assert story.since() == []


def test_the_signup_token_lists_its_users(story):
    token = story.read(f"/api/admin/invite-link/tokens/{story.ids['newcomers']}")
    assert token == story.answers["invitation"] | {"users": token["users"]}
    assert token == Having(name="newcomers", enabled=True, expiresAt=LATER, createdBy="admin")
    assert token["url"] == f"http://localhost/new-user?invite={token['secret']}"
    assert (token["role"]["id"], token["role"]["name"]) == (3, "Viewer")
    assert [user["id"] for user in token["users"]] == [story.ids["victor"]]
    assert story.answers["invitation"]["users"] == []


def test_a_deleted_strategy_is_gone(story):
    path = f"{PROJECTS}/apollo/features/launch/environments/development/strategies"
    (left,) = story.read(path, "max")
    assert (left["title"], left["sortOrder"], left["segments"]) == ("Full moon", 0, [story.ids["martians"]])
    assert story.answers["operation 4"] is None
    gone = next(event for event in story.ledger if event["type"] == "feature-strategy-remove")["preData"]["id"]
    refused(story.people["max"].delete(f"{path}/{gone}"), 404, "NotFoundError")
    assert story.since() == []


def test_the_log_holds_no_secret(story):
    log = story.key.get(SEARCH, query_string={"limit": 1000}).text
    keys = [caller.key for caller in story.people.values() if caller.key]
    keys += [story.answers[kind]["secret"] for kind in ("client", "frontend", "admin")]
    secrets = [*PASSWORDS.values(), *keys, story.ids["newcomers"]]
    assert len(keys) == 8
    assert [secret for secret in secrets if secret in log] == []
