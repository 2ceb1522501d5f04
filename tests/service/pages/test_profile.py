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


def test_readers_see_their_own_record(olga: Caller) -> None:
    page = open_page(olga, "/profile")
    assert page.heading == "Your account"
    facts = dict(zip(page.texts(".//dt"), page.texts(".//dd"), strict=True))
    assert (facts["Name"], facts["User name"], facts["Email"]) == ("Olga", "olga", "olga@example.org")
    assert facts["Root role"].startswith("Viewer")
    assert page.links["Apollo"] == "/projects/apollo"


def test_password_form_sends_what_the_api_wants(world: World, stranger: Caller, conn: Connection) -> None:
    sessions.insert(conn, digest("Ada"), ada(world).id or 0, 1)
    page = open_page(world.user("Reader"), "/profile")
    form = f".//form[@data-path='{PASSWORDS}']"
    [element] = page.all(form)
    assert element.get("data-send") == "POST"
    assert page.fields(form).keys() == {"oldPassword", "password", "confirmPassword"}
    assert element.get("data-then") == "/login?notice=password-changed"
    body = {"oldPassword": PASSWORD, "password": NEW, "confirmPassword": NEW}
    assert stranger.post(PASSWORDS, json=body, headers=with_session("Ada")).status_code == 200


def test_tokens_are_created_listed_without_their_secrets_and_deleted(world: World, conn: Connection) -> None:
    user = world.user("Reader")
    page = open_page(user, "/profile")
    form = f".//form[@data-path='{TOKENS}']"
    [element] = page.all(form)
    assert page.all(f".//dialog[@id='{element.get('data-show')}']//*[@data-field='secret']")
    times = [option.get("value") for option in page.all(f"{form}//option")]
    assert len(times) == 4
    for time in times:
        assert user.post(TOKENS, json={"description": f"until {time}", "expiresAt": time}).status_code == 201
    assert page.all(".//*[@class='state bad']") == []
    conn.execute("UPDATE personal_tokens SET expires_at = now() WHERE description = %s", [f"until {times[0]}"])
    # The tests look for the secrets in every response.
    page = open_page(user, "/profile")
    assert all(f"until {time}" in page.text for time in times)
    assert page.texts(".//*[@class='state bad']") == ["expired"]
    deletions = {path for method, path in page.requests if method == "DELETE"}
    assert len(deletions) == 5
    assert all(path.startswith(f"{TOKENS}/") for path in deletions)
    assert user.delete(deletions.pop()).status_code == 200


def test_readers_without_tokens_and_projects_see_what_that_means(app: Flask, world: World, conn: Connection) -> None:
    user = ada(world)
    conn.execute("DELETE FROM personal_tokens")
    sessions.insert(conn, digest("Ada"), user.id or 0, 1)
    page = open_page(Caller(app), "/profile", environ_overrides={"HTTP_COOKIE": "session=Ada"})
    assert page.texts(".//*[@class='empty']") == ["You have no personal access tokens. Create one for each script."]
    assert page.texts(".//dd")[-3] == "none"
