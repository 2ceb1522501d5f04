"""What runs beside deliveries: the deletion of old outcomes, metrics and the thread."""

from ipaddress import ip_network
from threading import Event, Thread

import pytest

from serving import clock, deliveries
from sql import deliveries as rows
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
    rows.remove_old(conn)
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
        stopping = Event()
        # 0.01 s between two looks.
        args = (scraped.app, deliveries.run_once, 0.01, stopping)
        thread = Thread(target=clock.repeat, args=args, name="deliveries", daemon=True)
        thread.start()
        outcomes = ("delivered", "failed")
        wait_until(lambda: all(scraped.total("deliveries_total", outcome=name) for name in outcomes), "both were sent")
        with scraped.app.app_context():
            clock.run_jobs()
        assert [scraped.total("deliveries_total", outcome=name) for name in outcomes] == [1, 1]
        assert scraped.total("deliveries_waiting") == 1
        assert scraped.total("deliveries_oldest_seconds") > 0
        # An error of the database does not end the thread.
        conn.execute("ALTER TABLE deliveries RENAME TO away")
        wait_until(lambda: "after an error: UndefinedTable" in caplog.text, "the thread warned")
        assert thread.is_alive()
        stopping.set()
        thread.join(30)
        assert not thread.is_alive()
