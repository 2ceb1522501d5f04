"""The web UI makes a link, people sign up by it, and the link ends."""

from tests.support.walks import ADMIN, Browser

TOKENS = f"{ADMIN}/invite-link/tokens"
PASSWORD = "Walk-3-the-line!"
GUEST = {"name": "Grace", "email": "grace@example.org", "password": PASSWORD}


def test_people_sign_up_by_a_link(ui, app):
    form = {"name": "default", "expiresAt": "2099-11-24T17:49:26.400Z"}
    token = ui.send(("GET", TOKENS, None, 200), ("POST", TOKENS, form, 201))
    assert token["url"] == f"http://localhost/new-user?invite={token['secret']}"
    one = f"{TOKENS}/{token['secret']}"
    ui.send(("PUT", one, {"expiresAt": "2099-12-24T17:50:13.651Z"}, 200))
    guest = Browser(app)
    guest.send(
        ("GET", f"/invite/{token['secret']}/validate", None, 200),
        ("POST", "/auth/reset/validate-password", {"password": PASSWORD}, 200),
        ("POST", f"/invite/{token['secret']}/signup", GUEST, 200),
    )
    guest.log_in("grace@example.org", PASSWORD)
    me = guest.send(
        ("GET", f"{ADMIN}/ui-config", None, 200),
        ("GET", f"{ADMIN}/projects", None, 200),
        ("GET", f"{ADMIN}/user", None, 200),
    )
    assert me["user"]["email"] == "grace@example.org"
    # "Delete link" disables it.
    ui.send(("PUT", one, {"enabled": False}, 200))
    late = Browser(app)
    late.send(
        ("GET", f"/invite/{token['secret']}/validate", None, 403),
        ("POST", f"/invite/{token['secret']}/signup", GUEST | {"email": "late@example.org"}, 403),
    )
