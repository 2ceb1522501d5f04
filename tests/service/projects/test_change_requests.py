"""Change requests: drafts, edits, approvals, applying, lists, and what ends them."""

from typing import Any

import pytest

from rules import change_request_states
from sql.catalog import environments
from sql.database import value
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.teams import REVIEWER, Team, later
from tests.support.wire import watched
from tests.support.world import refused

PLACE = {"project": "shop", "environment": "production"}


@pytest.fixture
def team(world) -> Team:
    """The project with its people."""
    return Team(world)


def logged(request: int, state: str, approvals: int = 1) -> dict[str, Any]:
    """A request as events have it."""
    return {"id": request, "title": f"Change request {request}", "state": state, "minApprovals": approvals}


def types(team: Team, since: int) -> list[str]:
    """The types of the events after the one with this id."""
    return [event["type"].replace("change-request-", "") for event in team.world.events(since)]


def test_draft_is_private_and_recorded_when_it_is_sent(team, alice):
    since = team.world.last_event_id()
    draft: Any = team.propose().json
    again: Any = team.propose(team.change("two")).json
    assert (again["id"], [flag["name"] for flag in again["features"]]) == (draft["id"], ["shop-one", "shop-two"])
    assert (draft["state"], draft["minApprovals"], draft["title"]) == ("Draft", 1, f"Change request {draft['id']}")
    for person in (team.people["reviewer"], alice):
        refused(person.get(f"{team.path}/{draft['id']}"), 404, "NotFoundError")
        assert person.get(team.path).json == []
        assert person.get("/api/admin/search/change-requests").json == {"changeRequests": [], "total": 0}
    assert team.world.events(since) == []
    team.require(3)
    team.move(draft["id"], "In review")
    team.require(1)
    author, sent = team.people["author"], logged(draft["id"], "In review", 3)
    changes = [change["id"] for flag in again["features"] for change in flag["changes"]]
    change = {"changeRequestId": draft["id"], "action": "updateEnabled", "payload": {"enabled": True}}
    assert events(team.world, since) == [
        event("change-request-created", author, **PLACE, data=sent | {"state": "Draft"}),
        *(
            event("change-added", author, **PLACE, feature_name=name, data=change | {"id": id, "feature": name})
            for id, name in zip(changes, ("shop-one", "shop-two"), strict=True)
        ),
        event("change-request-sent-to-review", author, **PLACE, data=sent, pre_data=sent | {"state": "Draft"}),
    ]
    assert team.get(draft["id"], "reviewer")["minApprovals"] == 3


def test_conflicts_of_a_hidden_request_are_not_computed(team):
    draft: Any = team.propose().json
    member = team.people["member"]
    member.get(team.path)
    with watched(team.world.conn) as wire:
        refused(member.get(f"{team.path}/{draft['id']}"), 404, "NotFoundError")
    assert wire.round_trips == 2


def test_withdrawn_draft_is_private_again_and_records_each_edit(team):
    request = team.sent("Approved", "Draft")
    refused(team.people["reviewer"].get(f"{team.path}/{request}"), 404, "NotFoundError")
    since = team.world.last_event_id()
    added: Any = team.propose(team.change("two")).json
    assert (added["id"], added["approvals"]) == (request, [])
    change = added["features"][1]["changes"][0]["id"]
    author = team.people["author"]
    author.put(f"{team.path}/{request}/changes/{change}", json=team.change("two", enabled=False))
    author.delete(f"{team.path}/{request}/changes/{change}")
    assert author.delete(f"{team.path}/{request}").data == b""
    assert types(team, since) == ["change-added", "change-edited", "change-discarded", "discarded"]
    edited = team.world.events(since)[1]
    assert (edited["pre_data"]["payload"], edited["data"]["payload"]) == ({"enabled": True}, {"enabled": False})
    assert value(team.world.conn, "SELECT count(*) FROM change_request_changes") == 0


def test_second_draft_cannot_be_made_by_withdrawing(team):
    request = team.sent()
    team.propose(team.change("two"))
    assert "another draft" in refused(team.put(request, "Draft"), 409, "ConflictError")


def test_edit_drops_approvals_and_asks_again(team):
    request = team.sent("Approved", changes=("one", "two"))
    before = team.get(request)
    change = before["features"][1]["changes"][0]["id"]
    assert team.people["author"].delete(f"{team.path}/{request}/changes/{change}").status_code == 200
    after = team.get(request)
    assert (after["state"], after["approvals"], after["revision"]) == ("In review", [], before["revision"] + 1)
    stale = team.put(request, "Approved", "reviewer", revision=before["revision"])
    assert refused(stale, 409, "ConflictError") == "The change request was edited. Read it again."
    assert team.put(request, "Approved", "reviewer", revision=after["revision"]).status_code == 200
    last = team.people["author"].delete(f"{team.path}/{request}/changes/{after['features'][0]['changes'][0]['id']}")
    assert "at least one change" in refused(last, 409, "ConflictError")


def test_without_approvals_a_request_is_approved_at_once_and_after_an_edit(team):
    team.require(0)
    since = team.world.last_event_id()
    request = team.sent()
    sent, approved = team.world.events(since)[-2:]
    assert [(one["type"], one["created_by"]) for one in (sent, approved)] == [
        ("change-request-sent-to-review", team.people["author"].email),
        ("change-request-approved", "system"),
    ]
    change = team.get(request)["features"][0]["changes"][0]["id"]
    since = team.world.last_event_id()
    body = team.change(enabled=False)
    answer = team.people["author"].put(f"{team.path}/{request}/changes/{change}", json=body)
    assert answer.json["state"] == "Approved"
    assert types(team, since) == ["change-edited", "sent-to-review", "approved"]


def test_edited_request_needs_the_approvals_that_are_configured_then(team):
    team.require(0)
    request, author = team.sent(), team.people["author"]
    path = f"{team.path}/{request}/changes/{team.get(request)['features'][0]['changes'][0]['id']}"
    for configured, state, needed in ((2, "In review", 2), (None, "In review", 2), (0, "Approved", 0)):
        team.require(configured)
        edited = author.put(path, json=team.change(enabled=False)).json
        assert (edited["state"], edited["minApprovals"]) == (state, needed)


def test_changes_of_a_request_have_at_most_1_mb_and_replace_at_most_4_mb(team):
    def variants(flag: str, size: int) -> dict[str, Any]:
        payload = {"type": "string", "value": "x" * size}
        variant = {"name": "a", "weight": 1000, "payload": payload}
        return {"feature": f"shop-{flag}", "action": "patchVariant", "payload": {"variants": [variant]}}

    request = team.propose(variants("one", 500_000), variants("two", 500_000)).json
    path = f"{team.path}/{request['id']}/changes/{request['features'][0]['changes'][0]['id']}"
    author, before = team.people["author"], fingerprint(team.world.conn)
    assert "at most 1 MB of payloads" in refused(team.propose(variants("one", 50_000)))
    assert "at most 1 MB of payloads" in refused(author.put(path, json=variants("one", 550_000)))
    assert fingerprint(team.world.conn) == before
    assert author.put(path, json=variants("one", 1)).status_code == 200
    team.move(request["id"], "In review", "Approved", "Applied")
    assert team.propose(*[variants("two", size) for size in range(8)]).status_code == 200
    assert "at most 4 MB of content" in refused(team.propose(variants("two", 1)))


def test_request_shows_nothing_of_another_project_that_got_its_flag_or_segment(team, conn, alice):
    segment = fixtures.insert(conn, "segments", name="beta", constraints="[]", project_id="shop")["id"]
    update = {"action": "updateSegment", "payload": {"id": segment, "name": "Beta", "constraints": []}}
    request = team.propose(team.change(), update).json["id"]
    assert "defaultChange" in team.get(request, "author")["features"][0]
    team.world.project("secret", mode="private")
    conn.execute("UPDATE flags SET project_id = 'secret'")
    tag = {"type": "simple", "value": "hidden"}
    assert alice.post("/api/admin/features/shop-one/tags", json=tag).status_code == 201
    conn.execute("UPDATE segments SET project_id = 'secret', name = 'hidden'")
    since = team.world.last_event_id()
    team.move(request, "In review")
    record = team.get(request)
    assert "defaultChange" not in record["features"][0]
    assert record["segments"][0]["name"] == "Beta"
    [found] = team.people["member"].get("/api/admin/search/change-requests").json["changeRequests"]
    assert found["segments"] == ["Beta"]
    _, of_flag, of_segment, _ = team.world.events(since)
    assert (of_flag["tags"], of_segment["data"]["segment"]) == ([], "Beta")


def test_change_of_another_flag_is_no_edit(team):
    request = team.sent()
    change = team.get(request)["features"][0]["changes"][0]["id"]
    path = f"{team.path}/{request}/changes"
    assert "feature" in refused(team.people["author"].put(f"{path}/{change}", json=team.change("two")))
    refused(team.people["author"].put(f"{path}/{change + 1}", json=team.change()), 404, "NotFoundError")


def test_draft_has_at_most_100_changes_and_takes_all_or_none(team):
    assert "1 to 100" in refused(team.propose(*[team.change()] * 101))
    assert "1 to 100" in refused(team.people["author"].post(team.propose().request.path, json=[]))
    off_and_on = [team.change(enabled=False), team.change()]
    assert team.propose(*off_and_on * 49, off_and_on[0]).status_code == 200
    before = fingerprint(team.world.conn)
    assert "at most 100" in refused(team.propose())
    refused(team.propose(team.change(), {"action": "unknown"}, by="member"))
    assert fingerprint(team.world.conn) == before


def test_change_that_the_draft_already_contains_is_not_added_again(team):
    strategy = team.world.strategy(team.flags["one"], "production")
    delete = {"feature": "shop-one", "action": "deleteStrategy", "payload": {"id": strategy}}
    archive = {"feature": "shop-one", "action": "archiveFeature"}
    add = {"feature": "shop-one", "action": "addStrategy", "payload": {"name": "default"}}

    def actions(*proposed):
        response = team.propose(*proposed)
        assert response.status_code == 200
        return [change["action"] for feature in response.json["features"] for change in feature["changes"]]

    assert actions(team.change()) == ["updateEnabled"]
    assert actions(team.change(enabled=True, shouldActivateDisabledStrategies=False)) == ["updateEnabled"]
    assert actions(delete, delete, archive, archive) == ["updateEnabled", "deleteStrategy", "archiveFeature"]
    assert actions(add, add)[3:] == ["addStrategy"] * 2
    assert actions(team.change(enabled=False), team.change())[5:] == ["updateEnabled"] * 2


def test_only_members_submit_where_the_project_is_protected(team, victor):
    team.people["victor"] = victor
    refused(team.propose(by="victor"), 403, "NoAccessError")
    for mode, status in (("private", 404), ("open", 200)):
        team.world.conn.execute("UPDATE projects SET mode = %s WHERE id = 'shop'", [mode])
        assert team.propose(by="victor").status_code == status
    team.world.conn.execute("UPDATE projects SET mode = 'protected' WHERE id = 'shop'")
    refused(team.propose(by="victor"), 403, "NoAccessError")
    group = fixtures.insert(team.world.conn, "groups", name="crew")["id"]
    fixtures.add_group_user(team.world.conn, group, victor.id)
    fixtures.add_project_group(team.world.conn, "shop", group, 5)
    assert team.propose(team.change("two"), by="victor").status_code == 200


def test_author_who_left_can_cancel_but_not_edit(team):
    request = team.sent()
    change = team.get(request)["features"][0]["changes"][0]["id"]
    author = team.people["author"]
    team.world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [author.id])
    refused(author.delete(f"{team.path}/{request}/changes/{change}"), 403, "NoAccessError")
    refused(team.put(request, "Draft"), 403, "NoAccessError")
    assert team.put(request, "Cancelled").status_code == 200


def test_approvals_are_counted_when_it_is_applied(team):
    team.require(2)
    request = team.sent("Approved")
    team.join("second", *REVIEWER)
    assert "already" in refused(team.put(request, "Approved", "reviewer"), 409, "ConflictError")
    assert team.put(request, "Approved", "second").json["state"] == "Approved"
    conn, second, since = team.world.conn, team.people["second"], team.world.last_event_id()
    losses = {
        "role": f"DELETE FROM project_user_roles WHERE user_id = {second.id}",
        "permission": "DELETE FROM role_permissions WHERE role_id = (SELECT id FROM roles WHERE name = 'shop second')",
        "user": f"UPDATE users SET deleted_at = now() WHERE id = {second.id}",
        "kind": f"UPDATE users SET account_type = 'Service Account' WHERE id = {second.id}",
    }
    for loss in losses.values():
        with conn.transaction(force_rollback=True):
            conn.execute(loss)
            message = refused(team.put(request, "Applied", "applier"), 409, "ConflictError")
            assert message == f"2 approvals are needed, 1 counts: {second.email} may no longer approve."
            # Another one can take the place.
            team.join("third", *REVIEWER)
            team.put(request, "Approved", "third")
            assert team.put(request, "Applied", "applier").status_code == 200
    assert (types(team, since), team.is_on()) == ([], False)


def test_more_approvals_that_are_configured_later_count_fewer_do_not(team):
    team.require(0)
    request = team.sent()
    team.require(2)
    message = refused(team.put(request, "Applied", "applier"), 409, "ConflictError")
    assert message == "2 approvals are needed, 0 count."
    for name in ("first", "second"):
        team.join(name, *REVIEWER)
        assert team.put(request, "Approved", name).status_code == 200
    assert team.put(request, "Applied", "applier").status_code == 200
    team.require(1)
    request = team.sent("Approved")
    team.require(0)
    team.world.conn.execute("DELETE FROM role_permissions WHERE permission = 'APPROVE_CHANGE_REQUEST'")
    assert "1 approval is needed, 0 count" in refused(team.put(request, "Applied", "applier"), 409, "ConflictError")


def test_author_has_at_most_100_open_requests_in_a_project(team, monkeypatch):
    monkeypatch.setattr(change_request_states, "MOST_OPEN", 2)
    first, _ = team.sent(), team.sent("Approved")
    draft = team.propose().json["id"]
    message = "You have 2 other open change requests in this project. Cancel some."
    assert refused(team.put(draft, "In review"), 409, "ConflictError") == message
    other = team.propose(by="member").json["id"]
    assert team.put(other, "In review", "member").status_code == 200
    team.move(first, "Cancelled")
    team.move(draft, "In review")


def test_author_with_all_permissions_applies_but_never_approves(team, alice):
    team.people["author"] = alice
    request = team.sent()
    refused(team.put(request, "Approved"), 403, "NoAccessError")
    team.move(request, "Approved")
    assert team.put(request, "Applied").status_code == 200
    assert team.is_on()


def test_permission_counts_in_its_environment(team):
    request = team.sent()
    team.world.conn.execute("UPDATE role_permissions SET environment = 'development' WHERE environment = 'production'")
    for state, by in (("Approved", "reviewer"), ("Rejected", "reviewer"), ("Applied", "applier")):
        refused(team.put(request, state, by), 403, "NoAccessError")
    assert team.people["reviewer"].get(f"{team.path}/actionable").json == {"total": 0}


def test_archived_project_takes_no_changes(team):
    team.world.conn.execute("UPDATE projects SET archived_at = now() WHERE id = 'shop'")
    refused(team.propose(), 404, "NotFoundError")


def test_rejection_replaces_an_approval_and_keeps_its_comment(team):
    team.require(2)
    request, since = team.sent("Approved"), team.world.last_event_id()
    rejected: Any = team.put(request, "Rejected", "reviewer", comment="Not on a Friday.").json
    assert (rejected["approvals"], len(rejected["rejections"])) == ([], 1)
    assert [comment["text"] for comment in rejected["comments"]] == ["Not on a Friday."]
    data = logged(request, "Rejected", 2) | {"comment": "Not on a Friday."}
    reviewer = team.people["reviewer"]
    assert events(team.world, since) == [
        event("change-request-rejected", reviewer, **PLACE, data=data, pre_data=logged(request, "In review", 2))
    ]


def test_applying_is_all_or_nothing(team):
    request = team.sent("Approved", changes=("one", "two"))
    team.world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'shop-two'")
    before = fingerprint(team.world.conn)
    refused(team.put(request, "Applied", "applier"), 409, "ConflictError")
    assert fingerprint(team.world.conn) == before
    found = team.get(request)
    conflicts = [[flag.get("conflict"), flag["changes"][0].get("conflict")] for flag in found["features"]]
    assert conflicts == [[None, None], ["The flag is archived."] * 2]
    listed: Any = team.people["member"].get(team.path).json
    assert "conflict" not in str(listed)


def test_applied_event_comes_first(team):
    request, since = team.sent("Approved"), team.world.last_event_id()
    team.move(request, "Applied")
    recorded = team.world.events(since)
    assert types(team, since) == ["applied", "feature-strategy-add", "feature-environment-enabled"]
    assert recorded[0]["data"] == logged(request, "Applied") | {"changes": 1}
    assert {one["created_by"] for one in recorded} == {team.people["applier"].email}
    query = f"project=IS:shop&groupId=IS:change-request-{request}"
    found: Any = team.people["author"].get(f"/api/admin/search/events?{query}").json["events"]
    assert [(one["id"], one["groupType"]) for one in found] == [(one["id"], "change-request") for one in recorded[::-1]]


def test_where_change_requests_are_off_open_ones_end_and_none_begin(team):
    first = team.sent("Approved")
    second: Any = team.propose(by="member").json
    team.require(None)
    off = "Change requests are off in environment production of this project."
    assert refused(team.propose(), 409, "ConflictError") == off
    assert refused(team.put(second["id"], "In review", "member"), 409, "ConflictError") == off
    assert team.put(first, "Applied", "applier").status_code == 200
    environments.insert(team.world.conn, "staging", "preproduction")
    path = "/api/admin/projects/shop/environments/staging/change-requests"
    refused(team.people["author"].post(path, json=team.change()), 404, "NotFoundError")


def test_empty_draft_cannot_be_sent(team):
    draft: Any = team.propose().json
    change = draft["features"][0]["changes"][0]["id"]
    assert team.people["author"].delete(f"{team.path}/{draft['id']}/changes/{change}").status_code == 200
    assert "at least one change" in refused(team.put(draft["id"], "In review"), 409, "ConflictError")
    found: Any = team.people["author"].get("/api/admin/search/change-requests").json["changeRequests"]
    assert [one["features"] for one in found] == [[]]


def test_each_response_of_one_request_has_its_default_changes(team):
    draft: Any = team.propose().json
    assert [one["defaultChange"]["action"] for one in draft["features"]] == ["addStrategy"]
    one = draft["features"][0]["changes"][0]
    path = f"{team.path}/{draft['id']}"
    author = team.people["author"]
    assert author.put(f"{path}/changes/{one['id']}", json=team.change("one")).json == author.get(path).json
    assert team.put(draft["id"], "In review").json == author.get(path).json


def test_title_and_comments(team):
    request, author = team.sent(), team.people["author"]
    assert author.put(f"{team.path}/{request}/title", json={"title": "<b>Launch</b>"}).status_code == 204
    assert team.people["member"].post(f"{team.path}/{request}/comments", json={"text": "Hm."}).status_code == 204
    record, member = team.get(request), team.people["member"]
    assert record["title"] == "<b>Launch</b>"
    by = {"id": member.id, "username": "shop-member", "imageUrl": None}
    assert [{"text": one["text"], "createdBy": one["createdBy"]} for one in record["comments"]] == [
        {"text": "Hm.", "createdBy": by}
    ]


def test_lists_counts_and_search(team, alice, victor):
    applied, approved = team.sent("Approved", "Applied"), team.sent("Approved")
    waiting, scheduled = team.sent(changes=("two",)), team.sent("Approved", "Scheduled", changes=("two",))
    cancelled = team.sent("Cancelled")
    draft: Any = team.propose().json

    def ids(path: str, by: str = "member") -> list[int]:
        return [one["id"] for one in team.people[by].get(f"{team.path}{path}").json]

    assert ids("") == [cancelled, scheduled, waiting, approved, applied]
    assert ids("/pending", "author") == [draft["id"], scheduled, waiting, approved]
    assert ids("/pending") == []
    assert ids("/pending/shop-one") == [approved]
    assert ids("/pending/shop-one", "author") == [draft["id"], approved]
    assert ids("/scheduled") == []
    assert ids("/scheduled?feature=shop-one&feature=shop-two") == [scheduled]
    assert ids("/scheduled?variantForFlag=shop-two&strategyId=unknown") == []
    counts = {"applied": 1, "rejected": 0, "reviewRequired": 1, "approved": 1, "scheduled": 1}
    assert team.people["member"].get(f"{team.path}/count").json == {"total": 5} | counts
    waits = {"member": 0, "reviewer": 1, "applier": 1, "author": 0, "alice": 2, "token": 1}
    team.people |= {"alice": alice, "token": team.world.api_key(name="a token"), "victor": victor}
    assert {by: team.people[by].get(f"{team.path}/actionable").json["total"] for by in waits} == waits

    def search(query: str, by: str = "victor") -> list[int]:
        found: Any = team.people[by].get(f"/api/admin/search/change-requests{query}").json
        assert found["total"] >= len(found["changeRequests"])
        return [one["id"] for one in found["changeRequests"]]

    author = team.people["author"].id
    assert search("") == [cancelled, scheduled, waiting, approved, applied]
    assert search("?state=IS:open&limit=2&offset=1") == [waiting, approved]
    assert search(f"?state=IS:closed&createdBy=IS:{author}") == [cancelled, applied]
    assert search(f"?createdBy=IS:{alice.id}") == []
    assert search("?state=IS:open", "author")[0] == draft["id"]
    refused(victor.get("/api/admin/search/change-requests?state=IS:Draft"))
    item: Any = victor.get("/api/admin/search/change-requests?offset=1&limit=1").json["changeRequests"][0]
    assert (item["features"], item["segments"], item["schedule"]["status"]) == (["shop-two"], [], "pending")
    team.world.conn.execute("UPDATE projects SET mode = 'private' WHERE id = 'shop'")
    assert (search(""), len(search("", "author"))) == ([], 6)


def test_schedule_needs_a_time_within_a_year(team):
    request = team.sent("Approved")
    assert "scheduledAt" in refused(team.put(request, "Scheduled", "applier"))
    for time in (later(seconds=-1), later(days=367), "tomorrow"):
        assert "scheduledAt" in refused(team.put(request, "Scheduled", "applier", scheduledAt=time))
    assert "scheduledAt" in refused(team.put(request, "Applied", "applier", scheduledAt=later(hours=1)))


def test_request_with_a_conflict_is_not_scheduled(team):
    request = team.sent("Approved")
    team.world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'shop-one'")
    answer = team.put(request, "Scheduled", "applier", scheduledAt=later(hours=1))
    assert refused(answer, 409, "ConflictError") == "The flag is archived."


def test_request_that_lacks_an_approval_or_a_permission_is_not_scheduled(team):
    draft = team.propose({"feature": "shop-one", "action": "archiveFeature"}).json["id"]
    team.move(draft, "In review", "Approved")

    def schedule() -> str:
        return refused(team.put(draft, "Scheduled", "applier", scheduledAt=later(hours=1)), 409, "ConflictError")

    reach = "shop-one: It also changes flags in development. It needs the permission DELETE_FEATURE."
    assert schedule() == reach
    team.require(2)
    assert schedule() == "2 approvals are needed, 1 counts."


def test_environment_and_project_end_their_open_requests(team, alice):
    conn = team.world.conn
    conn.execute("UPDATE environments SET protected = false")
    closed, scheduled, draft = team.sent("Cancelled"), team.sent("Approved", "Scheduled"), team.propose().json
    conn.execute("UPDATE flags SET archived_at = now() WHERE project_id = 'shop'")
    for method, path in (("DELETE", "environments/production"), ("POST", "projects/archive/shop")):
        with conn.transaction(force_rollback=True):
            since = team.world.last_event_id()
            assert alice.request(method, f"/api/admin/{path}").status_code == 200
            recorded = [one for one in team.world.events(since) if one["type"] == "change-request-cancelled"]
            assert [(one["data"]["id"], one["created_by"]) for one in recorded] == [
                (scheduled, "system"),
                (draft["id"], "system"),
            ]
            assert recorded[0]["pre_data"] == logged(scheduled, "Scheduled")
            states = "SELECT json_object_agg(id, state) FROM change_requests WHERE id <> %(closed)s"
            assert set(value(conn, states, {"closed": closed}).values()) == {"Cancelled"}
    alice.delete("/api/admin/projects/shop")
    assert value(conn, "SELECT count(*) FROM change_requests") == 0


def test_integrations_get_the_events_without_more(team):
    team.world.conn.execute("""
        INSERT INTO integrations (provider, parameters, enabled, events, projects, environments)
        VALUES ('webhook', '{"url": "http://a"}', true, '{change-request-sent-to-review}', '{*}', '{production}')
    """)
    request = team.sent()
    found = "SELECT json_agg(data) FROM deliveries JOIN events ON events.id = event_id"
    assert value(team.world.conn, found) == [logged(request, "In review")]
