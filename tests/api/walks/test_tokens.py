"""The web UI creates and deletes tokens of projects, of the instance and of users."""

from urllib.parse import quote

from tests.support.walks import ADMIN, PROJECT


def path_of(tokens: str, secret: str) -> str:
    """The path of a token as the UI writes it: the colon stays, the star too."""
    return f"{tokens}/{quote(secret, safe=':*')}"


def test_the_tokens_of_a_project(ui):
    tokens = f"{PROJECT}/api-tokens"
    form = {"username": "walk-token", "type": "CLIENT", "environment": "development", "projects": ["default"]}
    created = ui.send(("GET", tokens, None, 200), ("POST", tokens, form, 201))
    assert (created["tokenName"], created["type"], created["project"]) == ("walk-token", "client", "default")
    assert created["secret"].startswith("default:development.")
    assert [token["tokenName"] for token in ui.send(("GET", tokens, None, 200))["tokens"]] == ["walk-token"]
    left = ui.send(("DELETE", path_of(tokens, created["secret"]), None, 200), ("GET", tokens, None, 200))
    assert left["tokens"] == []


def test_the_tokens_of_the_instance(ui):
    tokens = f"{ADMIN}/api-tokens"
    form = {"username": "walk-token", "type": "FRONTEND", "environment": "development", "projects": ["*"]}
    created = ui.send(("GET", tokens, None, 200), ("POST", tokens, form, 201))
    assert (created["type"], created["project"], created["environment"]) == ("frontend", "*", "development")
    left = ui.send(("DELETE", path_of(tokens, created["secret"]), None, 200), ("GET", tokens, None, 200))
    assert created["secret"] not in {token["secret"] for token in left["tokens"]}


def test_the_personal_tokens_of_the_profile(ui):
    tokens = f"{ADMIN}/user/tokens"
    form = {"description": "walk pat", "expiresAt": "2099-12-22T17:51:06.136Z"}
    created = ui.send(("GET", tokens, None, 200), ("POST", tokens, form, 201))
    assert created["secret"].startswith("user:")
    assert [pat["description"] for pat in ui.send(("GET", tokens, None, 200))["pats"]] == ["walk pat"]
    ui.send(("DELETE", f"{tokens}/{created['id']}", None, 200))
    assert ui.send(("GET", tokens, None, 200))["pats"] == []
