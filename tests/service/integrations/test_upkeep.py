"""What runs beside deliveries: the deletion of old outcomes, metrics and the thread."""

from ipaddress import ip_network

import pytest

from sql import deliveries
from sql.database import connect, value
from tests.support.metrics import TOKEN, Scraped
from tests.support.receiver import receiving, status
from tests.support.service import wait_until

ADD = """
    INSERT INTO deliveries (integration_id, event_id, next_at, last_at, state)
    SELECT %(id)s, -number, NULL, now() - %(age)s::interval, 'success' FROM generate_series(1, %(number)s) AS number
"""


@pytest.mark.parametrize(
    ("number", "age", "kept"), [(1000, "29 days", 1000), (1001, "1 hour", 1000), (3, "30 days 1 minute", 0)]
)
def test_old_outcomes_are_deleted(subscribe, conn, number, age, kept):
    conn.execute(ADD, {"id": subscribe()["id"], "number": number, "age": age})
    conn.execute("INSERT INTO deliveries (integration_id, event_id) VALUES (%s, 1)", [subscribe()["id"]])
    conn.execute("INSERT INTO deliveries (integration_id, event_id) VALUES (1000, 1)")
    # A change that was recorded while the integration was disabled.
    disabled = subscribe(enabled=False)["id"]
    conn.execute("INSERT INTO deliveries (integration_id, event_id) VALUES (%s, 1)", [disabled])
    deliveries.remove_old(conn)
    assert value(conn, "SELECT count(*) FROM deliveries WHERE next_at IS NULL") == kept
    # What waits stays, unless its integration is disabled or deleted.
    assert value(conn, "SELECT count(*) FROM deliveries WHERE next_at IS NOT NULL") == 1


def test_thread_sends_and_measures(make_app, make_database, caplog):
    url = make_database()
    with receiving() as receiver, connect(url) as conn:
        networks = (ip_network("127.0.0.0/8"),)
        scraped = Scraped(make_app(url, METRICS_TOKEN=TOKEN, INTEGRATION_NETWORKS=networks))
        for provider in ("webhook", "slack"):
            body = {"provider": provider, "enabled": True, "events": ["feature-created"]}
            body |= {"parameters": {"url": receiver.url + provider}}
            assert scraped.admin.post("/api/admin/addons", json=body).status_code == 201
        receiver.answers = [status(200), status(503)]
        assert scraped.admin.post("/api/admin/projects/default/features", json={"name": "a"}).status_code == 201
        worker = scraped.app.extensions["deliveries"]
        worker.thread.start()
        outcomes = ("delivered", "failed")
        wait_until(lambda: all(scraped.total("deliveries_total", outcome=name) for name in outcomes), "both were sent")
        # An error of the database does not end the thread.
        conn.execute("ALTER TABLE deliveries RENAME TO away")
        wait_until(lambda: "because of an error: UndefinedTable" in caplog.text, "the thread warned")
        assert worker.thread.is_alive()
        worker.stop()
        assert not worker.thread.is_alive()
        assert [scraped.total("deliveries_total", outcome=name) for name in outcomes] == [1, 1]
        assert scraped.total("deliveries_waiting") == 2
        assert scraped.total("deliveries_oldest_seconds") > 0
