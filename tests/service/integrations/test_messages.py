"""Messages: chats, templates and headers."""

import json
import re

import pytest

from tests.support.receiver import status
from tests.support.teams import Team

FLAGS = "/api/admin/projects/default/features"


def change(caller, *names):
    for name in names:
        assert caller.post(FLAGS, json={"name": name}).status_code == 201


def switch_on(caller, name):
    assert caller.post(f"{FLAGS}/{name}/environments/production/on").status_code == 200


def bodies(receiver):
    return [json.loads(body) for body in receiver.bodies]


URL = "http://localhost/projects/default/flags/new_checkout"


def test_chats_get_a_sentence_with_links(alice, subscribe, deliver, receiver):
    for provider, extra in (
        ("slack", {"username": "Flags", "emojiIcon": ":x:", "defaultChannel": "#a"}),
        ("discord", {"username": "Flags"}),
        ("teamsworkflow", {}),
    ):
        subscribe(provider, events=["feature-environment-enabled"], **extra)
    change(alice, "new_checkout")
    switch_on(alice, "new_checkout")
    assert deliver() == 3
    slack, discord, teams = sorted(bodies(receiver), key=lambda body: ("content" in body) + 2 * ("type" in body))
    text = f"*Alice* switched <{URL}|new_checkout> on in production"
    assert slack == {"text": text, "username": "Flags", "icon_emoji": ":x:", "channel": "#a"}
    markdown = rf"**Alice** switched [new\_checkout]({URL}) on in production"
    assert discord == {"content": markdown, "allowed_mentions": {"parse": []}, "username": "Flags"}
    card = teams["attachments"][0]["content"]
    assert (card["type"], card["version"], card["body"][0]["text"]) == ("AdaptiveCard", "1.4", markdown)
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open Flags", "url": "http://localhost/events"}]
    assert "webhook-signature" not in receiver.received[0].headers


def test_messages_about_a_change_request_have_its_link(world, subscribe, deliver, receiver):
    subscribe("slack", events=["change-request-sent-to-review"])
    number = Team(world).sent()
    deliver()
    assert f"<http://localhost/projects/shop/change-requests/{number}|{number}>" in bodies(receiver)[0]["text"]


def test_changes_of_a_single_event(alice, subscribe, deliver, receiver):
    change(alice, "checkout")
    path = f"{FLAGS}/checkout/environments/production/strategies"
    strategy = alice.post(path, json={"name": "flexibleRollout", "parameters": {"rollout": "25"}}).json
    subscribe("slack", events=["feature-strategy-update", "feature-metadata-updated"])
    parameters = strategy["parameters"] | {"rollout": "50"}
    assert alice.put(f"{path}/{strategy['id']}", json=strategy | {"parameters": parameters}).status_code == 200
    deliver()
    assert bodies(receiver)[0]["text"].splitlines()[1:] == ["rollout: 25 → 50"]
    alice.put(f"{FLAGS}/checkout", json={"type": "release", "description": f"<!channel> {'x' * 200}"})
    deliver()
    *_, line = bodies(receiver)[1]["text"].splitlines()
    assert line.startswith("description: &lt;!channel&gt; xxx")
    assert len(line.replace("&lt;", "<").replace("&gt;", ">")) == 100


def test_one_message_for_all_due_events(alice, subscribe, deliver, receiver):
    subscribe("slack")
    receiver.answers = [status(500)]
    names = [f"flag-{number}" for number in range(37)]
    change(alice, *names[:30])
    assert deliver() == 1
    change(alice, *names[30:])
    assert deliver(later=True) == 1
    lines = bodies(receiver)[1]["text"].splitlines()
    assert len(lines) == 21
    assert (names[0] in lines[0], names[19] in lines[19]) == (True, True)
    assert lines[20] == "and 17 more: http://localhost/events"
    assert deliver(later=True) == 0


def test_discord_takes_2000_characters(alice, subscribe, deliver, receiver):
    subscribe("discord")
    change(alice, *(f"{number:090}" for number in range(20)))
    deliver()
    assert len(bodies(receiver)[0]["content"]) == 2000


@pytest.mark.parametrize("provider", ["slack", "discord", "teamsworkflow"])
def test_test_message_of_a_chat(alice, subscribe, receiver, provider):
    integration = subscribe(provider)
    assert alice.post(f"/api/admin/addons/{integration['id']}/test").json["state"] == "success"
    assert "This is a test message from http://localhost." in receiver.bodies[0].decode()


@pytest.mark.parametrize(
    ("template", "kind", "expected"),
    [
        ('{"a": "{{event.type}} {{ event.data.name }}"}', "application/json", {"a": 'feature-created quo"te'}),
        ('{"a": {{{event.data.name}}}, "b": {{event.id}}}', "application/json", {"a": 'quo"te', "b": "ID"}),
        ('{"a": {{{eventJson}}}}', "application/json", {"a": "EVENT"}),
        ('{"a": "{{eventJson}}"}', "application/json", {"a": "EVENT TEXT"}),
        (
            '{"a": "{{event.tags.0.value}}{{event.tags.7.value}}{{event.no.such}}{{event.environment}}"}',
            "",
            {"a": "x&y"},
        ),
        ('{"a": "{{eventMarkdown}}"}', "", {"a": "**Alice** created "}),
        ("{{event.data.name}} {{{event.tags.0.value}}}", "text/plain", 'quo"te x&y'),
    ],
)
def test_template(alice, subscribe, deliver, receiver, conn, template, kind, expected):
    subscribe(bodyTemplate=template, contentType=kind, events=["feature-created"])
    change(alice, "checkout")
    data = '{"name": "quo\\"te"}'
    conn.execute('UPDATE events SET data = %s, tags = \'[{"type": "simple", "value": "x&y"}]\'', [data])
    event = alice.get("/api/admin/search/events?type=IS:feature-created").json["events"][0]
    assert deliver() == 1
    (request,) = receiver.received
    text = request.body.decode()
    assert request.headers["Content-Type"] == (kind or "application/json")
    if kind == "text/plain":
        assert text == expected
        return
    found = json.loads(text)
    if expected["a"] == "EVENT TEXT":
        found["a"], expected = json.loads(found["a"]), {"a": "EVENT"}
    expected = {key: {"EVENT": event, "ID": event["id"]}.get(value, value) for key, value in expected.items()}
    if "created " in str(expected["a"]) and "Alice" in str(expected["a"]):
        assert found["a"].startswith(expected["a"])
    else:
        assert found == expected


def test_author_is_the_name_of_the_user_or_what_the_event_says(world, subscribe, deliver, receiver):
    subscribe("slack")
    change(world.api_key(name="terraform"), "checkout")
    deliver()
    assert bodies(receiver)[0]["text"].startswith("*terraform* created <")


FORGED = "Eve* did~\n\r\v\f\x1c\x85\u2028\u2029*Max* _deleted_ `<!here>` **Thanks** [a](b),\n*Eve"


def test_names_and_values_forge_neither_lines_nor_markup(world, subscribe, deliver, receiver):
    providers = "slack", "discord", "teamsworkflow"
    for provider in providers:
        subscribe(provider, events=["segment-updated"])
    segment = {"name": FORGED, "description": FORGED, "constraints": []}
    eve = world.user(FORGED, root_role=1, username="eve", email="eve@example.org")
    number = eve.post("/api/admin/segments", json=segment | {"name": "old", "description": "old"}).json["id"]
    assert eve.put(f"/api/admin/segments/{number}", json=segment).status_code == 204
    assert deliver() == len(providers)
    for body in bodies(receiver):
        card = body["attachments"][0]["content"]["body"] if "attachments" in body else []
        text = body.get("text") or body.get("content") or "\n".join(one["text"] for one in card)
        first, *changes = text.split("\n")
        assert text.splitlines() == [first, *changes]
        assert [line.partition(":")[0] for line in changes] == ["name", "description"]
        plain = re.sub(r"\\[^a-z ]", "", text)
        assert not re.search(r"[_~`<>]" if "text" in body else r"[_~`<>\[\]]", plain)
        # What is left is the bold name of the author.
        assert (plain[0], plain.count("*")) == ("*", 2 if "text" in body else 4)


def test_names_with_markup_inside_stay_in_slack(alice, subscribe, deliver, receiver):
    subscribe("slack", events=["feature-created"])
    change(alice, "new_checkout", "_old_")
    deliver()
    assert bodies(receiver)[0]["text"].count("|new_checkout>") == 1
    assert "|ˍoldˍ>" in bodies(receiver)[0]["text"]


def test_control_characters_of_a_name_reach_no_header(world, subscribe, deliver, receiver):
    subscribe("slack")
    change(world.user("A\r\nX-Evil: 1", root_role=1, username="ab", email="ab@example.org"), "checkout")
    deliver()
    assert bodies(receiver)[0]["text"].startswith("*A  X-Evil: 1* created")
    assert "X-Evil" not in receiver.received[0].headers
