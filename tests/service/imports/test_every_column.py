"""Exports and imports keep every column of the exported tables, except those that are left out on purpose."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from psycopg.sql import SQL, Identifier

from rules.access import SYSTEM
from rules.import_files import read_file
from rules.instance_import import import_contents
from sql.database import Connection, as_json, connect, rows, transaction
from sql.flags.transfer import DOCUMENT
from tests.support import fixtures
from tests.support.documents import IMPORT, body
from tests.support.export import PATH
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

# Tables that an export reads, but does not contain.
READ = {"projects", "project_environments", "environments"}
# What an import gives new values, in every table.
NEW = {"id", "version", "created_by", "created_by_user_id"}
REFERENCES = {"flag_id", "strategy_id", "segment_id", "child_id", "parent_id"}
# Exports have live flags, without their history.
HISTORY = {"archived_at", "deleted_at", "completed_at", "completed_status", "completed_value", "potentially_stale_at"}
LEFT_OUT = NEW | REFERENCES | HISTORY
# By the kind of import: the API sorts variants by name.
WAYS = {"API": LEFT_OUT | {"position"}, "command": LEFT_OUT}
COLUMNS = """
    SELECT column_name AS name, data_type AS type, column_default AS default
      FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = %(table)s AND column_name <> ALL(%(left_out)s)
"""
CONSTRAINT = {"contextName": "country", "operator": "IN", "values": ["NO"], "inverted": True, "caseInsensitive": False}
PARAMETERS = {"rollout": "50", "stickiness": "userId", "groupId": "g"}
VARIANT = {"weight": 500, "stickiness": "userId", "payload_type": "string", "payload_value": "x"}


def fill(conn: Connection) -> None:
    """Insert rows with a value in each column that is not left out."""

    def insert(table: str, **fields: Any) -> Any:
        texts = {name: as_json(item) for name, item in fields.items() if isinstance(item, dict | list)}
        return fixtures.insert(conn, table, **fields | texts)

    texts = {"type": "experiment", "description": "Is it on?", "project_id": "default"}
    dates = {"stale_since": "2026-01-01", "first_in_production_at": "2026-01-01"}
    flag = insert("flags", name="f", impression_data=True, **texts, **dates)["id"]
    parents = [insert("flags", name=name, project_id="default")["id"] for name in ("on", "off")]
    for parent, enabled, variants in zip(parents, (True, False), ("{a}", "{}"), strict=True):
        insert("flag_dependencies", child_id=flag, parent_id=parent, enabled=enabled, variants=variants)
    for each in (flag, *parents):
        for name in ("development", "production"):
            insert("flag_environments", flag_id=each, environment=name, enabled=(each, name) == (flag, "production"))
    place = {"flag_id": flag, "environment": "production"}
    ids = [f"b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6{number}" for number in range(2)]
    for number, id in enumerate(ids):
        content = {"name": "flexibleRollout", "parameters": PARAMETERS, "constraints": [CONSTRAINT]}
        insert("strategies", id=id, **place, title="half", disabled=number == 1, sort_order=number, **content)
    overrides = [{"contextName": "country", "values": ["NO"]}]
    for position, type in enumerate(("variable", "fix")):
        insert("variants", **place, name=type, weight_type=type, position=position, overrides=overrides, **VARIANT)
    segment = {"name": "beta", "description": "Early.", "project_id": "default", "constraints": [CONSTRAINT]}
    number = insert("segments", **segment)["id"]
    insert("strategy_segments", strategy_id=ids[0], segment_id=number)
    legal = [{"value": "NO", "description": "Norway"}]
    insert("context_fields", name="country", description="Where.", stickiness=True, sort_order=7, legal_values=legal)
    insert("tag_types", name="team", description="Whose.", icon="T")
    insert("tags", type="team", value="web")
    insert("flag_tags", flag_id=flag, type="team", value="web")
    insert("flag_links", flag_id=flag, url="https://example.org/f", title="Issue")


def content(conn: Connection, table: str, left_out: set[str]) -> list[str]:
    """The rows of a table without these columns. Of a time, only whether it is set."""
    columns = rows(conn, COLUMNS, {"table": table, "left_out": [*left_out]})
    found = conn.execute(SQL("SELECT * FROM {}").format(Identifier(table))).fetchall()
    is_time = {column["name"]: column["type"].startswith("timestamp") for column in columns}
    kept = [{name: row[name] is not None if is_time[name] else row[name] for name in is_time} for row in found]
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def unset(conn: Connection, table: str) -> Iterator[str]:
    """The columns of a table that are null or the default in all rows."""
    for column in rows(conn, COLUMNS, {"table": table, "left_out": [*LEFT_OUT]}):
        default = "NULL" if column["type"].startswith("timestamp") else column["default"] or "NULL"
        statement = (
            f"SELECT EXISTS (SELECT FROM {table} WHERE {column['name']}::text IS DISTINCT FROM ({default})::text)"
        )
        if not conn.execute(statement).fetchone()["exists"]:  # pyright: ignore
            yield f"{table}.{column['name']}"


def exported_tables(conn: Connection) -> list[str]:
    """The tables that the statement of an export names."""
    names = {"flags", *re.findall(r"(?:FROM|JOIN) (\w+)", DOCUMENT)} - READ
    found = rows(conn, "SELECT tablename FROM pg_tables WHERE tablename = ANY(%(names)s)", {"names": [*names]})
    return sorted(row["tablename"] for row in found)


@pytest.mark.parametrize("way", WAYS)
def test_imports_keep_every_column_of_an_export(
    make_database: Callable[..., str], make_app: Callable[..., Flask], way: str
) -> None:
    urls = make_database(), make_database()
    with connect(urls[0]) as first, connect(urls[1]) as second:
        fill(first)
        tables = exported_tables(first)
        # Give these a value in fill(), or add them to what is left out.
        assert [name for table in tables for name in unset(first, table)] == []
        source, target = (Caller(make_app(url), ADMIN_KEY) for url in urls)
        document = source.post(PATH, json={"environment": "production", "features": []}).json
        if way == "API":
            response = target.post(IMPORT, json=body(document, environment="production"))
            assert response.status_code == 200, response.text
        else:
            with target.app.app_context(), transaction() as conn:
                import_contents(conn, SYSTEM, read_file(document, "flags.json"))
        # What differs is lost by the export or by this import.
        for table in tables:
            assert content(second, table, WAYS[way]) == content(first, table, WAYS[way]), table
