"""Set the session cookie after a login, and delete it after a logout."""

from typing import Any

from flask import Response, current_app

from rules.access import SESSION_COOKIE
from serving.responses import empty_response


def set_session(response: Response, session: str) -> None:
    """Set the session cookie. It lasts as long as the session in the database."""
    response.set_cookie(SESSION_COOKIE, session, max_age=current_app.config["SESSION_TTL_HOURS"] * 3600, **attributes())


def logged_out() -> Response:
    """Return a redirect that deletes the session cookie. With single sign-on, the start page would log in again."""
    response = empty_response(302)
    has_sso = current_app.config["OIDC_ISSUER"] or current_app.config["AUTH_PROXY_HEADER"]
    response.headers["Location"] = f"{current_app.config['BASE_PATH']}/{'login?notice=logged-out' if has_sso else ''}"
    # The cookies of a provider or a proxy in the same domain would go too.
    response.headers["Clear-Site-Data"] = '"storage"' if has_sso else '"cookies", "storage"'
    response.delete_cookie(SESSION_COOKIE, **attributes())
    return response


def attributes(path: str = "") -> dict[str, Any]:
    """Return the attributes of a cookie. A cookie is deleted only with the attributes that it was set with."""
    return {
        "path": f"{current_app.config['BASE_PATH']}{path}" or "/",
        "secure": current_app.config["BASE_URL"].startswith("https:"),
        "httponly": True,
        "samesite": "Lax",
    }
