"""The labels of /metrics: each has a closed list of values, none of which is what somebody sent; and promtool likes them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from prometheus_client.mmap_dict import mmap_key

from blueprints import meters
from blueprints.contract import ALWAYS, CONTRACTS
from commands.metrics_folder import SIZES
from sql import database
from tests.metrics import TOKEN, Scraped, needs_promtool, promtool, read
from validators.events import TYPES

FEATURES = "/api/admin/projects/default/features"


@pytest.fixture
def it(make_app, make_database) -> Scraped:
    """The service, with metrics, on a database of its own."""
    return Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))


WORD = "h0stile"
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def be_hostile(it: Scraped) -> None:
    """Send the word at every place where there is room for one."""
    client = it.app.test_client()
    paths = [f"/{WORD}", f"/{WORD}/%22%7D%0A{WORD}", f"//{WORD}", f"/api/admin/projects/{WORD}/overview", f"/invite/{WORD}/validate"]
    paths += [f"/api/admin/tags/{WORD}/{WORD}%0A{WORD}", f"/api/admin/search/events?query={WORD}&type=IS:{WORD}", f"/metrics/{WORD}"]
    for path in paths:
        for method in ("GET", "DELETE", WORD.upper(), f'{WORD}"}}', "TRACE", "CONNECT", "PROPFIND", "get"):
            client.open(path, method=method, headers={"Authorization": f"Bearer {WORD}", "X-Request-ID": WORD, WORD: WORD, "Host": WORD})
    for name in (WORD, f"{WORD}-2", f'{WORD}"'):
        it.admin.post(FEATURES, json={"name": name, "type": "release", "description": WORD, "tags": [{"type": "simple", "value": WORD}]})
    it.admin.post(FEATURES, json={"name": "another", "type": WORD, WORD: WORD})
    it.admin.post("/api/admin/tag-types", json={"name": WORD, "description": WORD})
    it.admin.post("/api/admin/events/search", json={"type": WORD, "query": WORD})
    it.admin.post("/api/admin/api-tokens", json={"tokenName": WORD, "type": WORD})
    it.stranger.post("/auth/simple/login", json={"username": WORD, "password": WORD})
    it.stranger.post("/auth/simple/login", data=WORD, content_type=WORD)


def test_no_label_holds_what_somebody_sent(it):
    be_hostile(it)
    assert it.total("events_recorded_total", type="feature-created") == 2
    text = it.text
    assert WORD not in text.decode().lower()
    closed = {
        "route": {"none", *(rule.rule for rule in it.app.url_map.iter_rules())},
        "method": METHODS | {"other"},
        "outcome": {"succeeded", "refused", "throttled", "invalid", "unavailable"},
        "type": TYPES,
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


def test_an_event_or_a_method_that_nobody_knows_has_no_series_of_its_own(it):
    with it.app.app_context():
        database().meter.count_events([WORD, WORD])
    assert (it.total("events_recorded_total", type="other"), it.total("events_recorded_total")) == (2, 2)


def possible(app: Flask) -> Iterator[tuple[str, str]]:
    """The kind and the key of each series that there can be."""
    it: Any = app.extensions["metrics"]
    requests, duration = set(), {("GET", "none")}
    for rule in app.url_map.iter_rules():
        contract = CONTRACTS.get(app.view_functions[rule.endpoint])
        statuses = {contract.status, *contract.refuses, *ALWAYS} if contract else {200, 401, *ALWAYS}
        duration |= {(method, rule.rule) for method in (rule.methods or set()) - {"HEAD"}}
        requests |= {(method, rule.rule, str(status)) for method in rule.methods or () for status in statuses}
    for method in (*METHODS, "other"):
        duration.add((method, "none"))
        requests |= {(method, "none", str(status)) for status in (*ALWAYS, 404, 405)}
    for metric, values in (
        (it.requests, requests),
        (it.logins, {(outcome,) for outcome in (*meters.OUTCOMES.values(), "invalid", "unavailable")}),
        (it.events, {(type,) for type in (*TYPES, "other")}),
        (it.refused, {()}),
    ):
        for labels in values:
            yield "counter", mmap_key(metric._name, f"{metric._name}_total", metric._labelnames, labels, metric._documentation)
    for labels in duration:
        name, help = it.duration._name, it.duration._documentation
        yield "histogram", mmap_key(name, f"{name}_sum", ("method", "route"), labels, help)
        for edge in (*map(str, meters.BUCKETS), "+Inf"):
            yield "histogram", mmap_key(name, f"{name}_bucket", ("method", "route", "le"), (*labels, edge), help)


def test_all_series_that_there_can_be_fit_in_the_files_as_they_are_made(make_app, shared_url):
    needed = dict.fromkeys(SIZES, 8)
    for kind, key in possible(make_app(shared_url, METRICS_TOKEN=TOKEN)):
        # A length, the key and two numbers, aligned.
        needed[kind] += 4 + len(key.encode()) + 8 + 16
    assert needed["counter"] > 100_000
    assert needed["histogram"] > 200_000
    assert {kind: needed[kind] for kind in SIZES if needed[kind] > SIZES[kind]} == {}


@needs_promtool
def test_promtool_has_nothing_to_object_to(it):
    be_hostile(it)
    it.log_in("not his password")
    assert promtool("check", "metrics", text=it.text) == (0, "")
