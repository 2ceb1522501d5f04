"""The labels of /metrics: each has a closed list of values, none of which is what somebody sent; and promtool likes
them.
"""

import re

import pytest

from sql.database import database
from tests.support.metrics import TOKEN, Scraped, needs_promtool, promtool, read
from validators.events import TYPES

FEATURES = "/api/admin/projects/default/features"


@pytest.fixture
def scraped(make_app, make_database) -> Scraped:
    """The service, with metrics, on a database of its own."""
    return Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))


WORD = "h0stile"
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def be_hostile(scraped: Scraped) -> None:
    """Send the word at every place where there is room for one."""
    client = scraped.app.test_client()
    paths = [
        f"/{WORD}",
        f"/{WORD}/%22%7D%0A{WORD}",
        f"//{WORD}",
        f"/api/admin/projects/{WORD}/overview",
        f"/invite/{WORD}/validate",
    ]
    paths += [
        f"/api/admin/tags/{WORD}/{WORD}%0A{WORD}",
        f"/api/admin/search/events?query={WORD}&type=IS:{WORD}",
        f"/metrics/{WORD}",
    ]
    for path in paths:
        for method in ("GET", "DELETE", WORD.upper(), f'{WORD}"}}', "TRACE", "CONNECT", "PROPFIND", "get"):
            client.open(
                path,
                method=method,
                headers={"Authorization": f"Bearer {WORD}", "X-Request-ID": WORD, WORD: WORD, "Host": WORD},
            )
    for name in (WORD, f"{WORD}-2", f'{WORD}"'):
        scraped.admin.post(
            FEATURES,
            json={"name": name, "type": "release", "description": WORD, "tags": [{"type": "simple", "value": WORD}]},
        )
    scraped.admin.post(FEATURES, json={"name": "another", "type": WORD, WORD: WORD})
    scraped.admin.post("/api/admin/tag-types", json={"name": WORD, "description": WORD})
    scraped.admin.post("/api/admin/events/search", json={"type": WORD, "query": WORD})
    scraped.admin.post("/api/admin/api-tokens", json={"tokenName": WORD, "type": WORD})
    scraped.stranger.post("/auth/simple/login", json={"username": WORD, "password": WORD})
    scraped.stranger.post("/auth/simple/login", data=WORD, content_type=WORD)


def test_no_label_contains_client_input(scraped):
    be_hostile(scraped)
    assert scraped.total("events_recorded_total", type="feature-created") == 2
    text = scraped.text
    assert WORD not in text.decode().lower()
    closed = {
        "route": {"none", *(rule.rule for rule in scraped.app.url_map.iter_rules())},
        "method": METHODS | {"other"},
        "outcome": {"succeeded", "refused", "throttled", "invalid", "unavailable"},
        "type": TYPES,
        "what": {"applications", "instances", "usage_rows"},
    }
    seen: dict[str, set[str]] = {}
    for _, labels in read(text):
        for label, word in labels:
            seen.setdefault(label, set()).add(word)
    assert {label: seen[label] - words for label, words in closed.items()} == {label: set() for label in closed}
    assert seen.keys() == {*closed, "status", "le", "version", "schema"}
    assert all(re.fullmatch(r"[2345]\d\d", status) for status in seen["status"])
    assert {"other", "GET"} <= seen["method"]
    assert "none" in seen["route"]


def test_unknown_events_and_methods_get_no_series(scraped):
    with scraped.app.app_context():
        database().meter.count_events([WORD, WORD])
    assert (scraped.total("events_recorded_total", type="other"), scraped.total("events_recorded_total")) == (2, 2)


@needs_promtool
def test_promtool_has_nothing_to_object_to(scraped):
    be_hostile(scraped)
    scraped.log_in("a wrong password")
    assert promtool("check", "metrics", text=scraped.text) == (0, "")
