"""The setting PASSWORD_LOGIN: who can log in with a password, if people have single sign-on."""

from flask import current_app


def is_permitted(*, is_admin: bool) -> bool:
    """Return whether a user can log in with a password. is_admin: by their own root role."""
    mode = current_app.config["PASSWORD_LOGIN"]
    return mode == "on" or (mode == "admins" and is_admin)


def closed() -> str:
    """Return the sentence for everybody else: how to log in instead."""
    return f"Password login is off. Use {current_app.config['OIDC_NAME']}."
