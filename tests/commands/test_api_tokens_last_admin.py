"""flags api-token revoke: the last valid admin token."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine, run_flags_at_terminal


@pytest.fixture
def own(make_database: Callable[..., str], make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on a database of the test alone, with one admin token."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


def newest(line: CommandLine) -> int:
    """The id of the newest token."""
    return line.rows("SELECT max(id) AS id FROM api_keys")[0]["id"]


def test_the_last_valid_admin_token_needs_yes(own: CommandLine) -> None:
    own.does("api-token", "create", "--name", "sdk", "--type", "client")
    client = newest(own)
    own.does("api-token", "create", "--name", "old", "--type", "admin")
    expired = newest(own)
    own.conn.execute("UPDATE api_keys SET expires_at = now() WHERE id = %s", [expired])
    refusal = "Token 1 is the last valid admin token. To delete it, use --yes."
    assert own.refuses("api-token", "revoke", "1") == refusal
    # Neither of these is the last one: another admin token is valid, or it is no admin token.
    own.does("api-token", "revoke", str(expired))
    own.does("api-token", "revoke", str(client))
    assert own.refuses("api-token", "revoke", "1") == refusal
    assert own.does("api-token", "revoke", "--yes", "1") == "Deleted admin token 1.\n"
    assert own.rows("SELECT FROM api_keys") == []


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status", "left"), [("n", 1, 1), ("", 1, 1), ("y", 0, 0)])
def test_a_terminal_asks_before_the_last_admin_token(own: CommandLine, answer: str, status: int, left: int) -> None:
    url, asked = own.app.config["DATABASE_URL"], "Token 1 is the last valid admin token. Delete it? [y/N]: "
    done, _ = run_flags_at_terminal("api-token", "revoke", "1", typed=[(asked, answer)], DATABASE_URL=url)
    assert (done, len(own.rows("SELECT FROM api_keys"))) == (status, left)
