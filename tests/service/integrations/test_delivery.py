"""Deliveries: signatures, outcomes, repetitions and order."""

import json

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from sql.database import value
from tests.support.page import open_page
from tests.support.receiver import log, receiving, status


@pytest.fixture
def create(alice):
    """create(name…): flags of the project default."""

    def run(*names):
        for name in names:
            assert alice.post("/api/admin/projects/default/features", json={"name": name}).status_code == 201

    return run


def names(receiver):
    return [json.loads(body)["featureName"] for body in receiver.bodies]


def test_event_arrives_with_a_valid_signature(alice, receiver, subscribe, create, deliver):
    integration = subscribe()
    create("checkout")
    assert deliver() == 1
    (request,) = receiver.received
    found = alice.get("/api/admin/search/events?type=IS:feature-created").json["events"][0]
    assert json.loads(request.body) == found
    assert (request.headers["webhook-id"], request.headers["Content-Type"]) == (
        f"evt_{found['id']}",
        "application/json",
    )
    verifier = Webhook(integration["parameters"]["signingSecret"])
    assert verifier.verify(request.body, request.headers) == found
    with pytest.raises(WebhookVerificationError):
        verifier.verify(request.body.replace(b"checkout", b"checkin"), request.headers)
    (entry,) = log(alice, integration)
    details = {"attempts": 1, "status": 200, "milliseconds": entry["details"]["milliseconds"], "host": "127.0.0.1"}
    assert entry == {
        "id": str(found["id"]),
        "integrationId": integration["id"],
        "createdAt": entry["createdAt"],
        "state": "success",
        "stateDetails": "200 after 1 attempt",
        "event": found,
        "details": details,
    }
    assert deliver(later=True) == 0


def test_two_failures_are_repeated_with_the_same_id_and_valid_signatures(
    alice, eve, receiver, subscribe, create, deliver, capsys
):
    integration = subscribe()
    receiver.answers = [status(500), status(503)]
    create("checkout")
    assert deliver() == 1
    (entry,) = log(alice, integration)
    assert (entry["state"], entry["details"]["status"]) == ("failed", 500)
    assert entry["stateDetails"].startswith("500. Next attempt at 2")
    assert alice.get(f"/api/admin/addons/{integration['id']}").json["failingSince"] is not None
    assert "Integrations fail 1" in open_page(alice, "/").text
    assert "Integrations fail" not in open_page(eve, "/").text
    assert (deliver(), deliver(later=True), deliver(later=True), deliver(later=True)) == (0, 1, 1, 0)
    assert len({request.headers["webhook-id"] for request in receiver.received}) == 1
    for request in receiver.received:
        Webhook(integration["parameters"]["signingSecret"]).verify(request.body, request.headers)
    times = [request.headers["webhook-timestamp"] for request in receiver.received]
    assert times == sorted(times)
    assert log(alice, integration)[0]["stateDetails"] == "200 after 3 attempts"
    assert alice.get(f"/api/admin/addons/{integration['id']}").json["failingSince"] is None
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"delivery"' in line]
    assert [(line["delivery"], line["host"]) for line in lines] == [("failed", "127.0.0.1")] * 2
    about = {"integration": integration["id"], "provider": "webhook", "event": int(entry["id"]), "status": 500}
    assert lines[0].items() >= about.items()


@pytest.mark.parametrize(
    ("answer", "low", "high"),
    [
        (status(500), 4, 6),
        (status(404), 4, 6),
        (status(429, Retry_After="120"), 119, 121),
        (status(503, Retry_After="Fri, 01 Jan 2100 00:00:00 GMT"), 3599, 3601),
        (status(503, Retry_After="0"), 0.9, 1.1),
        (status(503, Retry_After="soon"), 4, 6),
        (status(503, Retry_After="Fri, 01 Jan 2100 00:00:00 +99999999999"), 4, 6),
        (status(302, Location="http://127.0.0.1/"), 4, 6),
    ],
)
def test_wait_after_a_failure(receiver, subscribe, create, deliver, conn, answer, low, high):
    subscribe()
    receiver.answers = [answer]
    create("checkout")
    assert deliver() == 1
    assert len(receiver.received) == 1
    assert low <= value(conn, "SELECT extract(epoch FROM next_at - last_at)::float FROM deliveries") <= high


def test_wait_doubles_up_to_an_hour(receiver, subscribe, create, deliver, conn):
    subscribe()
    create("checkout")
    for wait in (5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600):
        receiver.answers = [status(500)]
        assert deliver(later=True) == 1
        found = value(conn, "SELECT extract(epoch FROM next_at - last_at)::float FROM deliveries")
        assert wait * 0.79 <= found <= wait * 1.21


def save(caller, integration, receiver):
    """Save an integration as it is."""
    body = {name: integration[name] for name in ("provider", "enabled", "events", "projects", "environments")}
    body["parameters"] = {"url": receiver.url}
    assert caller.put(f"/api/admin/addons/{integration['id']}", json=body).status_code == 200


def test_saved_integration_repeats_at_once(alice, receiver, subscribe, create, deliver):
    integration = subscribe()
    receiver.answers = [status(500)]
    create("checkout")
    assert deliver() == 1
    assert deliver() == 0
    save(alice, integration, receiver)
    assert deliver() == 1
    assert deliver(later=True) == 0


def test_saved_integration_ignores_a_time_from_before_the_clock_was_set_back(
    alice, receiver, subscribe, create, deliver, conn
):
    integration = subscribe()
    create("checkout")
    ahead = "clock_timestamp() + interval '3 hours'"
    conn.execute(f"UPDATE deliveries SET next_at = {ahead}")
    conn.execute(f"UPDATE integrations SET blocked_until = {ahead}")
    assert deliver() == 0
    save(alice, integration, receiver)
    assert deliver() == 1


def test_later_events_wait_until_the_fifth_failure(receiver, subscribe, create, deliver):
    subscribe()
    receiver.answers = [status(500)] * 5
    create("first", "second", "third")
    assert [deliver(later=True) for _ in range(4)] == [1, 1, 1, 1]
    assert names(receiver) == ["first"] * 4
    assert deliver(later=True) == 3
    assert names(receiver) == ["first"] * 5 + ["second", "third"]
    assert deliver(later=True) == 1
    assert names(receiver)[-1] == "first"


def test_tenth_failure_is_final_if_another_delivery_succeeded(alice, receiver, subscribe, create, deliver):
    integration = subscribe()
    receiver.answers = [status(500)] * 10
    create("first")
    assert [deliver(later=True) for _ in range(10)] == [1] * 10
    create("second")
    receiver.answers = [status(500), status(200)]
    receiver.answers.reverse()
    assert deliver(later=True) == 2
    assert names(receiver)[-2:] == ["second", "first"]
    last, first = sorted(log(alice, integration), key=lambda entry: entry["event"]["featureName"], reverse=True)
    assert (last["state"], first["stateDetails"]) == ("success", "Gave up after 11 attempts: 500")
    assert deliver(later=True) == 0


@pytest.mark.parametrize("code", [400, 413, 422])
def test_refused_message_is_not_repeated(alice, receiver, subscribe, create, deliver, code):
    integration = subscribe()
    receiver.answers = [status(code)]
    create("first", "second")
    assert deliver() == 2
    assert names(receiver) == ["first", "second"]
    second, first = log(alice, integration)
    assert first["stateDetails"] == f"Gave up: the receiver refused the message with {code}"
    assert (first["state"], second["state"]) == ("failed", "success")


def test_receiver_that_is_gone_disables_the_integration(alice, receiver, subscribe, create, deliver, world):
    integration = subscribe()
    receiver.answers = [status(410)]
    create("first", "second")
    since = world.last_event_id()
    assert deliver() == 1
    assert alice.get(f"/api/admin/addons/{integration['id']}").json["enabled"] is False
    texts = [entry["stateDetails"] for entry in log(alice, integration)]
    gone = "Gave up: the receiver refused the message with 410"
    assert sorted(texts) == [gone, "Gave up: the integration was disabled"][::-1]
    (event,) = world.events(since)
    assert (event["type"], event["created_by"]) == ("addon-config-updated", "system")
    assert (event["pre_data"]["enabled"], event["data"]["enabled"]) == (True, False)


def test_72_hours_of_failures_disable_the_integration(alice, receiver, subscribe, create, deliver, conn):
    integration = subscribe()
    receiver.answers = [status(500)] * 3
    create("first", "second")
    assert deliver() == 1
    statement = "UPDATE {} SET {} = now() - interval '72 hours 1 minute'"
    conn.execute(statement.format("integrations", "failing_since"))
    assert deliver(later=True) == 1
    # The first attempt of this event was just now.
    assert alice.get(f"/api/admin/addons/{integration['id']}").json["enabled"] is True
    conn.execute(statement.format("deliveries", "first_at"))
    assert deliver(later=True) == 1
    assert alice.get(f"/api/admin/addons/{integration['id']}").json["enabled"] is False
    assert {entry["stateDetails"] for entry in log(alice, integration)} == {"Gave up: the integration was disabled"}


def test_disabled_integration_gives_up_and_gets_only_new_events(alice, receiver, subscribe, create, deliver):
    integration = subscribe()
    path, body = f"/api/admin/addons/{integration['id']}", {**integration, "parameters": {"url": receiver.url}}
    create("first")
    assert alice.put(path, json=body | {"enabled": False}).status_code == 200
    create("second")
    assert alice.put(path, json=body).status_code == 200
    create("third")
    assert deliver(later=True) == 1
    assert names(receiver) == ["third"]
    success, given_up = log(alice, integration)
    assert (success["state"], given_up["stateDetails"]) == ("success", "Gave up: the integration was disabled")
    assert given_up["details"] == {"attempts": 0, "status": None, "milliseconds": None, "host": None}


def test_integration_that_is_disabled_during_an_attempt_stays_so(alice, receiver, subscribe, create, deliver):
    integration = subscribe()
    body = {**integration, "parameters": {"url": receiver.url}, "enabled": False}

    def disable(handler):
        assert alice.put(f"/api/admin/addons/{integration['id']}", json=body).status_code == 200
        status(500)(handler)

    receiver.answers = [disable]
    create("checkout")
    assert (deliver(), deliver(later=True)) == (1, 0)
    assert log(alice, integration)[0]["stateDetails"] == "Gave up: the integration was disabled"


@pytest.mark.parametrize(
    ("filters", "arrives"),
    [
        ({}, ["checkout", "checkout"]),
        ({"projects": ["*"], "environments": ["*"]}, ["checkout", "checkout"]),
        ({"projects": ["default", "gone"]}, ["checkout", "checkout"]),
        ({"projects": ["gone"]}, []),
        ({"environments": ["production"]}, ["checkout"]),
        ({"environments": ["development"]}, ["checkout", "checkout"]),
        ({"events": ["feature-environment-enabled", "no-such-type"]}, ["checkout"]),
        ({"events": []}, []),
        ({"enabled": False}, []),
        ({"events": ["segment-created"]}, [None]),
        ({"events": ["segment-created"], "projects": ["default"]}, []),
    ],
)
def test_filters(alice, receiver, subscribe, create, deliver, filters, arrives):
    subscribe(**filters)
    create("checkout")
    alice.post("/api/admin/projects/default/features/checkout/environments/development/on")
    alice.post("/api/admin/segments", json={"name": "beta", "constraints": []})
    deliver()
    assert names(receiver) == arrives


def test_claimed_integration_waits_for_a_minute(receiver, subscribe, create, deliver, conn):
    subscribe()
    create("checkout")
    claimed = "UPDATE integrations SET blocked_until = clock_timestamp() + interval '1 minute'"
    conn.execute(claimed)
    assert deliver() == 0
    conn.execute("UPDATE integrations SET blocked_until = now()")

    def lose_claim(handler):
        conn.execute(claimed)
        status(200)(handler)

    # A worker that took longer than its claim writes no outcome: another one has taken over.
    receiver.answers = [lose_claim]
    assert deliver() == 1
    assert value(conn, "SELECT attempts FROM deliveries") == 0
    conn.execute("UPDATE integrations SET blocked_until = now()")
    assert deliver() == 1
    assert names(receiver) == ["checkout", "checkout"]


def test_one_integration_does_not_wait_for_another(subscribe, create, deliver, receiver):
    with receiving() as other:
        subscribe(url=other.url)
        subscribe()
        other.answers = [status(500)]
        create("checkout", "basket")
        deliver()
    assert (names(other), names(receiver)) == (["checkout"], ["checkout", "basket"])


def test_large_event_arrives_without_its_data(alice, receiver, subscribe, create, deliver):
    integration = subscribe(events=["feature-strategy-add"])
    values = [f"{number:0100}" for number in range(250)]
    constraint = {"contextName": "userId", "operator": "IN", "values": values}
    create("checkout")
    path = "/api/admin/projects/default/features/checkout/environments/development/strategies"
    for number in (1, 12):
        strategy = {"name": "flexibleRollout", "constraints": [constraint] * number}
        assert alice.post(path, json=strategy).status_code == 200
    assert deliver() == 2
    small, large = map(json.loads, receiver.bodies)
    assert (small["data"]["name"], "dataOmitted" in small) == ("flexibleRollout", False)
    assert (large["data"], large["preData"], large["dataOmitted"]) == (None, None, True)
    assert [entry["state"] for entry in log(alice, integration)] == ["successWithErrors", "success"]
    assert log(alice, integration)[0]["event"]["data"]["name"] == "flexibleRollout"


def test_template_that_repeats_a_large_event_is_not_sent(alice, receiver, subscribe, create, deliver):
    integration = subscribe(bodyTemplate="[" + ",".join(["{{{event}}}"] * 800) + "]")
    fields = {"name": "large", "description": "x" * 1200}
    assert alice.post("/api/admin/projects/default/features", json=fields).status_code == 201
    create("small")
    assert deliver() == 1
    assert json.loads(receiver.bodies[0])[0]["featureName"] == "small"
    small, large = log(alice, integration)
    assert (small["state"], large["state"]) == ("success", "failed")
    assert large["stateDetails"] == "Gave up: the message is longer than 1 MB"


def test_event_that_cannot_be_written_does_not_stop_the_others(alice, receiver, subscribe, create, deliver, conn):
    integration = subscribe()
    create("first", "second")
    conn.execute("""UPDATE events SET data = '{"size": 1e400}' WHERE feature_name = 'first'""")
    assert [deliver(later=True) for _ in range(5)] == [0, 0, 0, 0, 1]
    assert names(receiver) == ["second"]
    assert {entry["state"] for entry in log(alice, integration)} == {"success", "failed"}


def test_pruned_event_is_not_sent(receiver, subscribe, create, deliver, conn):
    subscribe()
    create("checkout")
    conn.execute("DELETE FROM events")
    assert deliver() == 0
    assert (receiver.received, value(conn, "SELECT count(*) FROM deliveries")) == ([], 0)
