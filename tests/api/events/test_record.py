"""Write many events at once: in the order of the list, with payloads as they were given."""

from rules.access import Actor
from sql import events
from sql.database import Connection, as_json
from sql.events import Event


def test_events_get_rising_ids_in_the_order_of_the_list_and_keep_their_payloads(conn: Connection) -> None:
    payload = {
        "zebra": None,
        "apple": [],
        "mango": {"z": 1.10, "a": {"null": None, "": False}},
        "B": 'é 漢字 🎉 \u2028 " \\ \n </script>',
    }
    tags = [{"value": "t", "type": "simple"}]
    log = [
        event
        for number in range(200)
        for event in (
            Event("flag-b", Actor("Ada", None), feature=f"f{number}", data=payload | {"number": number}, tags=tags),
            Event(
                "flag-a",
                Actor("Bo", number),
                project="p",
                environment="e",
                pre_data={"number": number, "data": payload},
            ),
        )
    ]
    before = conn.execute("SELECT max(id) FROM events").fetchone()
    events.record(conn, *log)
    found = conn.execute(
        "SELECT type, created_by, created_by_user_id, project, environment, feature_name,"
        " data::text, pre_data::text, tags::text,"
        " created_at >= lag(created_at) OVER (ORDER BY id) IS NOT FALSE"
        " FROM events WHERE id > coalesce(%(max)s, 0) ORDER BY id",
        before,
    ).fetchall()
    assert [tuple(row.values()) for row in found] == [
        (
            event.type,
            event.author.name,
            event.author.user_id,
            event.project,
            event.environment,
            event.feature,
            None if event.data is None else as_json(event.data),
            None if event.pre_data is None else as_json(event.pre_data),
            as_json(list(event.tags)),
            True,
        )
        for event in log
    ]
