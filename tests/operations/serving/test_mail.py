"""E-mail and the clock of a real service, which have a thread in each worker."""

import pytest

from sql.database import connect, rows
from tests.support.mail_server import mail_server
from tests.support.service import Service, wait_until

pytestmark = pytest.mark.slow


def test_a_forgotten_password_gets_its_link_and_an_old_flag_its_event(url: str) -> None:
    with connect(url) as conn, mail_server() as inbox:
        conn.execute("UPDATE users SET email = 'admin@example.org' WHERE id = 1")
        conn.execute("INSERT INTO flags (name, project_id, created_at) VALUES ('old', 'default', '2020-01-01')")
        settings = {name: text for name, text in inbox.settings.items() if text is not None}
        with Service(url, WEB_CONCURRENCY=2, **settings) as service:
            answer = service.request("POST", "/auth/reset/password-email", json={"email": "admin@example.org"})
            assert answer.status == 200
            wait_until(lambda: inbox.messages, "the link arrives")
            assert "/reset-password?token=" in inbox.take().get_content()
            events = "SELECT feature_name FROM events WHERE type = 'feature-potentially-stale-on'"
            wait_until(lambda: rows(conn, events), "the clock has run")
            assert [event["feature_name"] for event in rows(conn, events)] == ["old"]
