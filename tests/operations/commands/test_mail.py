"""flags mail test."""

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine
from tests.support.mail_server import mail_server


@pytest.fixture(scope="module")
def line(make_database, make_app):
    """The command line on a database that is set up."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


def test_a_message_is_sent(with_settings):
    with mail_server() as inbox:
        line = with_settings(**inbox.settings)
        assert (
            line.does("mail", "test", "ada@example.org") == "127.0.0.1 has accepted the message for ada@example.org.\n"
        )
        message = inbox.take()
        assert (message["To"], message["Subject"]) == ("ada@example.org", "Test message of Flags")
        assert message.get_content() == "http://localhost can send e-mail.\n"


def test_the_answer_of_the_mail_server_is_printed(with_settings):
    with mail_server() as inbox:
        inbox.refuses = "ada@example.org"
        answer = with_settings(**inbox.settings).refuses("mail", "test", "ada@example.org")
        assert "(550, b'5.1.1 <ada@example.org> is unknown')" in answer


def test_without_a_mail_server_it_says_what_to_set(line):
    assert line.refuses("mail", "test", "ada@example.org") == "E-mail is off. Set SMTP_HOST and SMTP_FROM."
