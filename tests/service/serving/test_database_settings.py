"""Databases and environments with other settings than the defaults of PostgreSQL."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from operations import bootstrap
from operations.postgres import migrate
from sql.database import Connection, connect, value
from tests.support.command_line import CommandLine
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller, World

FLAGS = "/api/admin/projects/default/features"
OTHER = {
    "DateStyle": "'German'",
    "client_encoding": "'LATIN1'",
    "standard_conforming_strings": "off",
    "array_nulls": "off",
    "idle_session_timeout": "'9s'",
}


def test_settings_of_the_database_do_not_matter(
    make_database: Callable[..., str], make_app: Callable[..., Flask], tmp_path: Path
) -> None:
    url = make_database(empty=True)
    with connect(url) as conn:
        for name, setting in OTHER.items():
            conn.execute(f'ALTER DATABASE "{conn.info.dbname}" SET {name} = {setting}')  # pyright: ignore
    app = make_app(url)
    bootstrap.prepare_database(url, app.config)
    admin = Caller(app, ADMIN_KEY)
    assert admin.post(FLAGS, json={"name": "f", "description": "日"}).status_code == 201
    # The flag gets a strategy.
    assert admin.post(f"{FLAGS}/f/environments/development/on").status_code == 200
    with connect(url) as conn:
        client = World(app, conn).api_key("client")
        assert client.get("/api/client/features").status_code == 200
        assert value(conn, "SHOW idle_session_timeout") == "0"
        line = CommandLine(app, conn)
        line.does("backup", str(tmp_path / "backup"))
        line.does("schema-diff")
    roles = {"name": "operator", "type": "root-custom", "permissions": [{"name": "CREATE_PROJECT"}]}
    assert admin.post("/api/admin/roles", json=roles).status_code == 200


@pytest.mark.parametrize("name", ["DateStyle", "client_encoding", "standard_conforming_strings", "array_nulls"])
def test_a_pooler_that_does_not_set_what_the_service_needs_is_refused(conn: Connection, name: str) -> None:
    migrate.require_settings(conn, "transaction")
    conn.execute(f"SET LOCAL {name} = {OTHER[name]}")  # pyright: ignore
    with pytest.raises(migrate.DatabaseProblem, match=rf"^The pooler does not set {name}\."):
        migrate.require_settings(conn, "transaction")
