"""Integrations: created, listed, changed, deleted and tested; and what no response shows of them."""

import json
from base64 import b64encode

import pytest

from sql.database import value
from tests.support.event_log import event, events
from tests.support.receiver import log, status
from tests.support.world import refused

PATH = "/api/admin/addons"
BODY = {
    "provider": "webhook",
    "enabled": True,
    "events": ["feature-created"],
    "parameters": {"url": "https://a.test/x"},
}
SLACK = {**BODY, "provider": "slack"}


def test_new_webhook_shows_its_secret_once(alice, world, conn):
    since = world.last_event_id()
    response = alice.post(PATH, json=BODY)
    created = response.json
    assert (response.status_code, response.headers["Location"]) == (201, f"addons/{created['id']}")
    secret = created["parameters"]["signingSecret"]
    stored = value(conn, "SELECT parameters FROM integrations")
    assert stored == {"signingSecret": secret, "url": "https://a.test/x"}
    lists = {"events": ["feature-created"], "projects": [], "environments": []}
    logged = {"id": created["id"], "provider": "webhook", "description": None, "enabled": True} | lists
    parameters = {"signingSecret": secret, "url": "*****"}
    times = {"createdAt": created["createdAt"], "failingSince": None}
    assert created == logged | {"parameters": parameters} | times
    assert events(world, since) == [event("addon-config-created", alice, data=logged)]
    masked = created | {"parameters": {"signingSecret": "*****", "url": "*****"}}
    assert alice.get(f"{PATH}/{created['id']}").json == masked
    assert alice.get(PATH).json["addons"] == [masked]


def test_providers_offer_the_types_that_the_caller_may_choose(alice, eve):
    for caller, offers in ((alice, True), (eve, False)):
        providers = caller.get(PATH).json["providers"]
        assert [provider["name"] for provider in providers] == ["webhook", "slack", "teamsworkflow", "discord"]
        assert all(("user-created" in provider["events"]) == offers for provider in providers)
        assert all("feature-created" in provider["events"] for provider in providers)


def test_update_keeps_masked_parameters_and_names_changed_ones(alice, world, conn):
    created = alice.post(PATH, json=BODY | {"description": "log", "projects": ["default"]}).json
    path, secret = f"{PATH}/{created['id']}", created["parameters"]["signingSecret"]
    parameters = {"url": "*****", "authorization": "Bearer 1", "contentType": ""}
    since = world.last_event_id()
    answer = alice.put(path, json=BODY | {"parameters": parameters}).json
    assert (answer["description"], answer["projects"]) == ("log", [])
    assert answer["parameters"] == {"signingSecret": "*****", "url": "*****", "authorization": "*****"}
    stored = value(conn, "SELECT parameters FROM integrations")
    assert stored == {"signingSecret": secret, "url": "https://a.test/x", "authorization": "Bearer 1"}
    (change,) = world.events(since)
    assert change["data"] == change["pre_data"] | {"projects": [], "changedParameters": ["authorization"]}
    # The record as it was returned changes nothing.
    since = world.last_event_id()
    assert alice.put(path, json=answer).json == answer
    assert world.events(since) == []
    for length in (24, 25, 26, 62, 63, 64):
        own = f"whsec_{b64encode(bytes(length)).decode()}"
        assert alice.put(path, json=BODY | {"parameters": {"url": "*****", "signingSecret": own}}).status_code == 200
        assert value(conn, "SELECT parameters FROM integrations") == {"signingSecret": own, "url": "https://a.test/x"}


@pytest.mark.parametrize(("name", "text"), [("authorization", "Bearer 1"), ("customHeaders", '{"X-Key": "1"}')])
def test_new_url_needs_the_secret_headers_again(alice, conn, name, text):
    created = alice.post(PATH, json=BODY | {"parameters": {"url": "https://a.test/x", name: text}}).json
    path = f"{PATH}/{created['id']}"
    for url, answer in (("https://a.test/x", 200), ("https://b.test/x", 400), ("https://a.test/y", 400)):
        response = alice.put(path, json=BODY | {"parameters": {"url": url, name: "*****"}})
        assert response.status_code == answer
    assert f"parameters.{name}: must be sent again" in refused(response)
    assert alice.put(path, json=BODY | {"parameters": {"url": "https://b.test/x", name: text}}).status_code == 200
    stored = value(conn, "SELECT parameters FROM integrations")
    assert stored.items() >= {"url": "https://b.test/x", name: text}.items()


def test_integration_stays_editable_if_its_network_is_no_longer_allowed(alice, app, receiver, subscribe):
    integration = subscribe()
    path, body = f"{PATH}/{integration['id']}", integration | {"enabled": False}
    app.config["INTEGRATION_NETWORKS"] = ()
    for url in ("*****", receiver.url):
        assert alice.put(path, json=body | {"parameters": {"url": url}}).status_code == 200
    assert "must be https and public" in refused(
        alice.put(path, json=body | {"parameters": {"url": f"{receiver.url}2"}})
    )


def test_deleted_integration_has_no_deliveries(alice, world, subscribe, conn):
    integration = subscribe()
    alice.post("/api/admin/projects/default/features", json={"name": "checkout"})
    since = world.last_event_id()
    assert alice.delete(f"{PATH}/{integration['id']}").status_code == 200
    assert [event["type"] for event in world.events(since)] == ["addon-config-deleted"]
    assert value(conn, "SELECT count(*) FROM deliveries") == 0


def test_at_most_50_integrations(alice):
    for _ in range(50):
        assert alice.post(PATH, json=SLACK).status_code == 201
    assert refused(alice.post(PATH, json=SLACK)) == "There can be at most 50 integrations."


SHORT, LONG = ("whsec_" + b64encode(bytes(length)).decode() for length in (23, 65))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"provider": "datadog"}, "provider: must be webhook, slack, teamsworkflow or discord"),
        ({"provider": "discord", "parameters": {"url": "https://a.test", "emojiIcon": ":x:"}}, "unknown parameter"),
        ({"parameters": {}}, "parameters.url: is required"),
        ({"parameters": {"url": ""}}, "parameters.url: is required"),
        ({"parameters": {"url": "*****"}}, "parameters.url: must not be *****"),
        *(
            ({"parameters": {"url": url}}, "parameters.url: must be an https address")
            for url in (
                "ftp://a.test",
                "https://u:p@a.test/",
                "https://a.test/#x",
                "https://",
                "https://a.test:65536",
                "https://[abc]/",
                "https://[:::]/",
                "https://a.test/\r\nx",
                f"https://a.test/{'x' * 2000}",
            )
        ),
        *(
            ({"parameters": {"url": url}}, "parameters.url: must be https and public")
            for url in ("https://10.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "http://8.8.8.8/")
        ),
        *(
            ({"parameters": {"url": "https://a.test", "signingSecret": text}}, "must be whsec_ and 24 to 64 bytes")
            for text in (SHORT, LONG, "whsec_%", LONG[6:])
        ),
        ({"parameters": {"url": "https://a.test", "authorization": "a\r\nX: b"}}, "must not contain control"),
        *(
            (
                {"parameters": {"url": "https://a.test", "customHeaders": text}},
                "must be a JSON object with at most 20 headers",
            )
            for text in (
                "[1]",
                "[" * 9000,
                '{"X": 1}',
                '{"X": "a\\r\\nY: b"}',
                '{"X:": "a"}',
                json.dumps({f"X-{number}": "" for number in range(21)}),
                '{"host": "a"}',
                '{"Webhook-Id": "a"}',
            )
        ),
        *(
            ({"parameters": {"url": "https://a.test", "bodyTemplate": text}}, "must contain only parameters")
            for text in ("{{#event.tags}}{{/event.tags}}", "{{> part}}", "{{! no }}", "{{flag}}", "{{event.type")
        ),
    ],
)
def test_invalid_integration_is_400(alice, change, message):
    assert message in refused(alice.post(PATH, json=BODY | change))


def test_provider_cannot_change(alice):
    created = alice.post(PATH, json=SLACK).json
    assert "cannot change" in refused(alice.put(f"{PATH}/{created['id']}", json=BODY))


@pytest.mark.parametrize(
    "type",
    """user-created service-account-created group-updated role-created pat-created api-token-created
    public-signup-token-created project-access-added project-user-added project-group-added
    addon-config-created""".split(),
)
def test_types_about_people_need_admin(alice, eve, type):
    body = SLACK | {"events": ["feature-created", type]}
    assert type in refused(eve.post(PATH, json=body), 403, "NoAccessError")
    created = alice.post(PATH, json=body).json
    path = f"{PATH}/{created['id']}"
    assert eve.get(path).status_code == 200
    for response in (eve.put(path, json=SLACK), eve.post(f"{path}/test"), eve.get(f"{path}/events")):
        assert type in refused(response, 403, "NoAccessError")


def test_test_message_is_sent_at_once_and_not_in_the_log(alice, receiver, subscribe):
    integration = subscribe(enabled=False)
    path = f"{PATH}/{integration['id']}"
    receiver.answers = [status(200), status(500)]
    answer = alice.post(f"{path}/test").json
    details = {"attempts": 1, "status": 200, "milliseconds": answer["details"]["milliseconds"], "host": "127.0.0.1"}
    assert answer == {"state": "success", "stateDetails": "200 after 1 attempt", "details": details}
    (request,) = receiver.received
    assert json.loads(request.body)["type"] == "test"
    assert request.headers["webhook-id"].startswith("test_")
    answer = alice.post(f"{path}/test").json
    assert (answer["state"], answer["stateDetails"]) == ("failed", "Gave up after 1 attempt: 500")
    assert log(alice, integration) == []
    assert alice.get(path).json["failingSince"] is None
    for _ in range(8):
        assert alice.post(f"{path}/test").status_code == 200
    refused(alice.post(f"{path}/test"), 429, "RateLimitError")


def test_secrets_are_in_no_response_event_or_log(alice, receiver, subscribe, deliver, world, capsys, conn):
    since = world.last_event_id()
    secrets = {"authorization": "Bearer hush-1", "customHeaders": '{"X-Key": "hush-2"}'}
    integration = subscribe(url=f"{receiver.url}/hush-3", **secrets)
    hushed = ["hush", integration["parameters"]["signingSecret"]]
    receiver.answers = [lambda handler: handler.wfile.write(b"HTTP/1.1 hush-4\r\n\r\n"), status(500)]
    alice.post("/api/admin/projects/default/features", json={"name": "checkout"})
    deliver()
    deliver(later=True)
    path = f"{PATH}/{integration['id']}"
    texts = [alice.get(address).text for address in (PATH, path, f"{path}/events")]
    texts += [alice.put(path, json=integration | {"parameters": {"url": "*****", "x": "y"}}).text]
    texts += [alice.post(f"{path}/test").text, str(world.events(since)), *capsys.readouterr()]
    texts += [str(conn.execute("SELECT * FROM deliveries").fetchall())]
    for text in texts:
        assert not [secret for secret in hushed if secret in text], text
    assert receiver.received[0].headers["X-Key"] == "hush-2"
    assert receiver.received[0].headers["Authorization"] == "Bearer hush-1"
