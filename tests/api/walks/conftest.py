"""The web UI with the session of the administrator."""

import pytest
from flask import Flask

from sql.database import Connection
from tests.support.instance import SETTINGS
from tests.support.walks import Browser


@pytest.fixture
def ui(app: Flask, conn: Connection) -> Browser:  # noqa: ARG001
    """The web UI, after the administrator logged in."""
    browser = Browser(app)
    browser.log_in("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))
    return browser
