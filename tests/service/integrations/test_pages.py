"""The pages of integrations: their forms, which work without JavaScript, and who may do what."""

import re

import pytest

from rules.event_text import SENTENCES
from sql.database import value
from tests.support.page import Page, open_page, text_of
from tests.support.receiver import status
from tests.support.roles import make as make_role

LIST, API = "/admin/integrations", "/api/admin/addons"


def form_of(page):
    """What a browser sends of the form of an integration that is not changed."""
    form = next(form for form in page.all(".//form") if form.find(".//*[@name='enabled']") is not None)
    fields = {}
    for control in [*form.iter("input"), *form.iter("textarea")]:
        if control.get("type") not in ("checkbox", "radio") or "checked" in control.attrib:
            text = control.get("value", "on" if control.get("type") == "checkbox" else "")
            # Browsers send line breaks as CR LF.
            text = text or (control.text or "").removeprefix("\n").replace("\n", "\r\n")
            fields.setdefault(control.get("name"), []).append(text)
    return form.get("action"), fields


def save(caller, path, code=303, **changes):
    """Send the form of a page with these changes, and return the next page. __ in names stands for a dot."""
    action, fields = form_of(open_page(caller, path))
    fields |= {name.replace("__", "."): text for name, text in changes.items()}
    response = caller.post(action, data=fields, headers={"Accept": "text/html"})
    assert response.status_code == code, response.text
    return open_page(caller, response.headers["Location"]) if code == 303 else Page(response)


def new(provider):
    return f"{LIST}/new?provider={provider}"


def read(caller):
    """The newest integration, as the API returns it."""
    return caller.get(API).json["addons"][-1]


def test_new_webhook_gets_all_changes_of_flags_and_shows_its_secret_once(alice, conn, receiver):
    page = save(alice, new("webhook"), 200, parameters__url=receiver.url, description="CI", environments="production")
    secret = value(conn, "SELECT parameters->>'signingSecret' FROM integrations")
    assert page.texts(".//code[@id='signing-secret']") == [secret]
    saved = read(alice)
    assert (saved["description"], saved["enabled"], saved["projects"]) == ("CI", True, [])
    assert saved["environments"] == ["production"]
    flags = {"feature-created", "feature-environment-enabled", "feature-strategy-update", "strategy-order-changed"}
    assert flags <= set(saved["events"])
    assert not {"feature-favorited", "project-created", "segment-created"} & set(saved["events"])
    again = open_page(alice, f"{LIST}/{saved['id']}").response.text
    assert secret not in again
    assert receiver.url not in again


def test_saving_without_a_change_keeps_everything(alice, world, subscribe):
    types = ["user-created", "new-in-2030", "feature-created", "project-created"]
    before = subscribe(
        events=types,
        projects=["gone", "default"],
        authorization="Bearer 1",
        bodyTemplate="{{event.type}}\n{{eventJson}}",
    )
    since = world.last_event_id()
    page = save(alice, f"{LIST}/{before['id']}")
    assert "The integration is saved." in page.text
    assert world.events(since) == []
    assert "Unknown to this version, without effect" in page.text
    assert "gone (unknown)" in page.text


def test_fields_of_the_form_become_the_integration(alice, conn, subscribe):
    path = f"{LIST}/{subscribe(authorization='Bearer 1', events=['segment-created'])['id']}"
    changes = {"group__flags": "some", "group__catalog": "none", "group__people": "all"}
    events = ["feature-archived", "segment-created", "project-created"]
    page = save(alice, path, **changes, events=events, **{"remove.authorization": "on"}, description="New")
    assert page.heading == "New"
    saved = read(alice)
    assert set(saved["parameters"]) == {"url", "signingSecret"}
    assert saved["events"][0] == "feature-archived"
    assert {"user-created", "project-access-added", "api-token-deleted"} <= set(saved["events"])
    assert not {"segment-created", "project-created"} & set(saved["events"])
    save(alice, path, description="", group__people="none", parameters__signingSecret="whsec_" + "A" * 32)
    assert (read(alice)["description"], read(alice)["events"]) == ("", ["feature-archived"])
    assert value(conn, "SELECT parameters->>'signingSecret' FROM integrations") == "whsec_" + "A" * 32


def test_each_type_belongs_to_a_group_of_its_kind(alice):
    boxes = {}
    for group in open_page(alice, new("slack")).all(".//fieldset[@class='some']"):
        texts = {box.get("value") for box in group.iter("input") if box.get("name") == "events"}
        boxes[text_of(group.find("legend"))] = texts
    assert {text for texts in boxes.values() for text in texts} == set(SENTENCES)
    assert {text.split("-")[0] for text in boxes["Projects"]} == {"project", "default"}
    assert "feature-type-updated" in boxes["Segments, environments, tags"]
    assert "project-favorited" in boxes["Others"]
    assert {"change-added", "change-request-approved"} <= boxes["Change requests"]


def test_problems_are_shown_beside_the_fields_with_what_was_typed(app, alice):
    page = save(alice, new("webhook"), 400, parameters__url="ftp://a", parameters__bodyTemplate="{{#a}}", enabled=[])
    assert page.texts(".//p[@class='problem']") == [
        "URL must be an https address without a password or a fragment.",
        "Template must contain only parameters such as {{event.type}}.",
    ]
    _, fields = form_of(page)
    assert (fields["parameters.url"], fields["parameters.bodyTemplate"]) == (["ftp://a"], ["{{#a}}"])
    assert "enabled" not in fields
    assert alice.get(API).json["addons"] == []
    app.config["INTEGRATION_NETWORKS"] = ()
    page = save(alice, new("discord"), 400, parameters__url="https://10.0.0.1/")
    problem = "URL must be https and public. The setting INTEGRATION_NETWORKS allows others."
    assert page.texts(".//p[@class='problem']") == [problem]
    assert [control.get("name") for control in page.all(".//*[@autofocus]")] == ["parameters.url"]
    open_page(alice, new("pager"), 404)


def test_test_message_and_deliveries_show_their_outcome(alice, receiver, subscribe, deliver):
    path = f"{LIST}/{subscribe()['id']}"
    assert "No event sent yet. Send a test message" in open_page(alice, path).text

    def test_message():
        return Page(alice.post(f"{path}/test", headers={"Accept": "text/html"})).text

    outcome = test_message()
    assert "The test message arrived: 200 after 1 attempt" in outcome
    assert "No event sent yet." in outcome
    assert "Send a test message to" not in outcome
    receiver.answers.append(status(400))
    assert "The test message failed: Gave up: the receiver refused the message with 400" in test_message()
    open_page(alice, f"{path}/test")
    for _ in range(8):
        test_message()
    assert "You can send 10 test messages in a minute." in test_message()
    for code in (200, 500):
        receiver.answers.append(status(code))
        assert alice.post("/api/admin/projects/default/features", json={"name": f"flag-{code}"}).status_code == 201
        deliver()
    page = open_page(alice, path)
    [failed, delivered] = page.texts(".//section//tbody/tr")
    assert re.match(r"Alice created flag-500 failed 500\. Next attempt: \d+ \w+ \d{4} \d\d:\d\d UTC", failed)
    assert "created flag-200 delivered 200 after 1 attempt" in delivered
    assert page.links["flag-500"] == "/projects/default/flags/flag-500"


def test_list_says_whether_each_works(alice, receiver, subscribe, deliver):
    page = open_page(alice, LIST)
    assert "No integrations yet." in page.text
    assert {"Webhook", "Slack", "Microsoft Teams", "Discord"} <= page.links.keys()
    subscribe(enabled=False)
    subscribe("slack", events=["project-created"], environments=["production"])
    subscribe("discord")
    subscribe("teamsworkflow", projects=["*"])
    receiver.answers += [status(200), status(500)]
    alice.post("/api/admin/projects/default/features", json={"name": "checkout"})
    assert "Discord Discord no event sent yet 2 types" in open_page(alice, LIST).texts(".//tbody/tr")
    deliver()
    assert open_page(alice, LIST).texts(".//tbody/tr") == [
        "Webhook Webhook off 2 types",
        "Slack Slack no event sent yet 1 type in production",
        "Discord Discord working last message just now 2 types",
        "Microsoft Teams Microsoft Teams failing since just now 2 types",
    ]
    assert "* (unknown)" not in open_page(alice, f"{LIST}/{read(alice)['id']}").text


@pytest.mark.parametrize("permission", ["CREATE_ADDON", "UPDATE_ADDON", "DELETE_ADDON"])
def test_each_permission_shows_its_own_controls(world, alice, victor, receiver, subscribe, permission):
    path = f"{LIST}/{subscribe()['id']}"
    for page in (LIST, path, new("slack")):
        open_page(victor, page, 403)
    reader = world.user("Rita", make_role(alice, type="root-custom", permissions=[{"name": permission}]))
    own = {name: name == permission for name in ("CREATE_ADDON", "UPDATE_ADDON", "DELETE_ADDON")}
    assert ("Slack" in open_page(reader, LIST).links) == own["CREATE_ADDON"]
    open_page(reader, new("slack"), 200 if own["CREATE_ADDON"] else 403)
    page = open_page(reader, path)
    buttons = page.texts(".//button")
    assert ("Send a test message" in buttons, "Save integration" in buttons) == (own["UPDATE_ADDON"],) * 2
    assert ("Last deliveries" in page.text) == own["UPDATE_ADDON"]
    assert ("disabled" in page.all(".//fieldset[@class='form']")[0].attrib) != own["UPDATE_ADDON"]
    assert ("Delete integration" in buttons) == own["DELETE_ADDON"]

    def send(address, **fields):
        return reader.post(address, data=fields, headers={"Accept": "text/html"}).status_code

    url = {"parameters.url": receiver.url}
    assert send(f"{path}/test") == (200 if own["UPDATE_ADDON"] else 403)
    assert send(path) == (303 if own["UPDATE_ADDON"] else 403)
    assert send(new("slack"), **url) == (303 if own["CREATE_ADDON"] else 403)
    assert send(f"{path}/delete") == (303 if own["DELETE_ADDON"] else 403)
    open_page(alice, path, 404 if own["DELETE_ADDON"] else 200)


def test_events_about_people_are_for_administrators(alice, eve, subscribe):
    path = f"{LIST}/{subscribe(events=['user-created', 'feature-created'])['id']}"
    page = open_page(eve, path)
    assert "Only administrators can change it" in page.text
    assert "Last deliveries" not in page.text
    assert "Save integration" not in page.texts(".//button")
    for address in (path, f"{path}/test"):
        assert eve.post(address, headers={"Accept": "text/html"}).status_code == 403
    assert "People, tokens and access" not in open_page(eve, new("slack")).text
    assert "People, tokens and access" in open_page(alice, new("slack")).text


def test_integration_that_was_changed_meanwhile_is_not_overwritten_unasked(alice, subscribe):
    path = f"{LIST}/{subscribe()['id']}"
    action, mine = form_of(open_page(alice, path))
    mine["description"] = ["Mine"]
    save(alice, path, description="Theirs")

    def send(fields):
        return alice.post(action, data=fields, headers={"Accept": "text/html"})

    refused = send(mine)
    assert refused.status_code == 412
    assert "Somebody has changed this integration meanwhile." in Page(refused).text
    assert read(alice)["description"] == "Theirs"
    _, kept = form_of(Page(refused))
    assert kept["description"] == ["Mine"]
    # A third change comes before the answer.
    save(alice, path, description="Newer")
    refused = send(kept)
    assert refused.status_code == 412
    assert send(form_of(Page(refused))[1]).status_code == 303
    assert read(alice)["description"] == "Mine"
