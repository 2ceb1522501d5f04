"""The page of one's own account."""

from flask import Flask

from rules.access import digest
from sql import sessions
from sql.database import Connection
from tests.support.login import ada
from tests.support.page import open_page
from tests.support.sessions import NEW, with_session
from tests.support.world import PASSWORD, Caller, World

PASSWORDS, TOKENS = "/api/admin/user/change-password", "/api/admin/user/tokens"


def test_readers_see_their_own_record(olga: Caller, stranger: Caller) -> None:
    page = open_page(olga, "/profile")
    assert page.heading == "Your account"
    facts = dict(zip(page.texts(".//dt"), page.texts(".//dd"), strict=True))
    assert (facts["Name"], facts["User name"], facts["Email"]) == ("Olga", "olga", "olga@example.org")
    assert facts["Root role"].startswith("Viewer")
    assert page.links["apollo"] == "/projects/apollo"
    assert stranger.get("/profile").headers["Location"] == "/login?next=/profile"


def test_the_password_form_sends_what_the_api_wants(world: World, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    page = open_page(world.user("Reader"), "/profile")
    form = f".//form[@data-path='{PASSWORDS}']"
    [element] = page.all(form)
    assert element.get("data-send") == "POST"
    assert page.fields(form).keys() == {"oldPassword", "password", "confirmPassword"}
    assert element.get("data-then") == "/login?notice=password-changed"
    body = {"oldPassword": PASSWORD, "password": NEW, "confirmPassword": NEW}
    assert stranger.post(PASSWORDS, json=body, headers=with_session("Ada")).status_code == 200


def test_a_new_token_is_shown_once_and_then_listed_without_its_secret(world: World) -> None:
    user = world.user("Reader")
    page = open_page(user, "/profile")
    form = f".//form[@data-path='{TOKENS}']"
    [element] = page.all(form)
    assert page.all(f".//dialog[@id='{element.get('data-show')}']//*[@data-field='secret']")
    times = [option.get("value") for option in page.all(f"{form}//option")]
    assert len(times) == 4
    for time in times:
        assert user.post(TOKENS, json={"description": f"until {time}", "expiresAt": time}).status_code == 201
    # The tests look for the secrets in every response.
    text = open_page(user, "/profile").text
    assert all(f"until {time}" in text for time in times)


def test_each_token_has_a_form_that_deletes_it(world: World) -> None:
    user = world.user("Reader")
    [(_, path)] = [request for request in open_page(user, "/profile").requests if request[0] == "DELETE"]
    assert path.startswith(f"{TOKENS}/")
    assert user.delete(path).status_code == 200


def test_an_expired_token_is_marked(world: World, alice: Caller, conn: Connection) -> None:
    user = world.user("Reader")
    conn.execute(
        "INSERT INTO personal_tokens (user_id, description, digest, expires_at) VALUES (%s, 'old', 'x', now())",
        [user.id],
    )
    assert open_page(user, "/profile").texts(".//*[@class='state bad']") == ["expired"]
    assert open_page(alice, "/profile").all(".//*[@class='state bad']") == []


def test_readers_without_tokens_and_projects_see_what_that_means(app: Flask, world: World, conn: Connection) -> None:
    user = ada(world)
    conn.execute("DELETE FROM personal_tokens")
    sessions.insert(conn, digest("Ada"), user.id or 0, 1)
    page = open_page(Caller(app), "/profile", environ_overrides={"HTTP_COOKIE": "session=Ada"})
    assert page.texts(".//*[@class='empty']") == ["You have no personal access tokens."]
    assert page.texts(".//dd")[-3] == "none"


def test_hostile_descriptions_are_shown_as_text(world: World) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    user = world.user(evil)
    body = {"description": evil, "expiresAt": "2099-12-31T23:59:59Z"}
    assert user.post(TOKENS, json=body).status_code == 201
    page = open_page(user, "/profile")
    assert page.all(".//main//img") == []
    assert evil in page.texts(".//td")
    assert evil in page.links
