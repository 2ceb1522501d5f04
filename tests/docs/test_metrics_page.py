"""docs/reference/metrics.md describes every metric, and docs/alerts.yml alerts when it should. promtool reads both."""

import json
import re
from pathlib import Path

import pytest

from serving import metrics as meters
from tests.support.metrics import TOKEN, Scraped, needs_promtool, promtool, read
from tests.support.service import ROOT

TEXT = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
ALERTS = ROOT / "docs" / "alerts.yml"
RULES = ALERTS.read_text(encoding="utf-8")
NAMES = re.findall(r"- alert: (\w+)$", RULES, re.MULTILINE)
ROWS = re.findall(r"^\| `(\w+)` \| (counter|histogram|gauge) \| (.*?) ?\| (.*) \|$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def text(make_app, make_database) -> str:
    """What /metrics says after a change, a search of the log, a login and an error."""
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    scraped.app.add_url_rule("/broken", view_func=lambda: 1 // 0)
    assert scraped.admin.post("/api/admin/projects/default/features", json={"name": "flag"}).status_code == 201
    assert scraped.admin.get("/api/admin/search/events").status_code == 200
    assert scraped.log_in("a wrong password") == 401
    assert scraped.stranger.get("/broken").status_code == 500
    return scraped.text.decode()


def blocks(language: str) -> list[str]:
    """The blocks of that language in the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_page_lists_every_metric_with_type_and_labels(text):
    documented = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels, _ in ROWS}
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {name: set() for name in kinds}
    for series, its_labels in read(text.encode()):
        name = series if series in kinds else series.rpartition("_")[0]
        labels[name] |= {label for label, _ in its_labels} - {"le"}
    assert documented == {name: (kind, labels[name]) for name, kind in kinds.items()}


def test_page_lists_every_outcome_of_a_login(text):
    [meaning] = [meaning for name, _, _, meaning in ROWS if name == "flags_logins_total"]
    served = set(re.findall(r'^flags_logins_total\{outcome="(\w+)",via="password"\}', text, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", meaning)) == served > set(meters.OUTCOMES)


def queries() -> list[str]:
    """The expressions of the page and of the alerts."""
    documented = "".join(blocks("promql")) + "".join(re.findall(r"routes: (.*)\.\"$", RULES, re.MULTILINE))
    return [*(line for line in documented.splitlines() if line and not line.startswith("#")), RULES]


def test_metrics_and_labels_that_a_query_names_exist(text):
    has: dict[str, set[tuple[str, str]]] = {}
    for series, labels in read(text.encode()):
        has.setdefault(series, set()).update(labels)
    named = {name for query in queries() for name in re.findall(r"\b(?:flags|process)_\w+", query)}
    assert len(named) >= 8
    assert named - has.keys() == set()
    chosen = [
        (series, *choice)
        for query in queries()
        for series, braces in re.findall(r"\b((?:flags|process)_\w+)\{([^}]*)\}", query)
        for choice in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', braces)
        # Prometheus adds this one.
        if choice[0] != "job"
    ]
    assert len(chosen) >= 5
    for series, label, how, words in chosen:
        pattern = words if "~" in how else re.escape(words)
        found = [value for name, value in has[series] if name == label and re.fullmatch(pattern, value)]
        assert found, (series, label, words)


def test_page_lists_every_alert():
    assert re.findall(r"^\| `(Flags\w+)` \|", TEXT, re.MULTILINE) == NAMES


@needs_promtool
def test_promtool_takes_the_alerts_and_all_that_the_page_shows(tmp_path: Path):
    assert promtool("check", "rules", "--lint-fatal", ALERTS)[0] == 0
    shown = [{"record": f"shown:{number}", "expr": query} for number, query in enumerate(queries()[:-1])]
    assert len(shown) >= 6
    (tmp_path / "shown.yml").write_text(json.dumps({"groups": [{"name": "shown", "rules": shown}]}))
    status, output = promtool("check", "rules", tmp_path / "shown.yml")
    assert status == 0, output
    (config,) = blocks("yaml")
    (tmp_path / "prometheus.yml").write_text(config)
    status, output = promtool("check", "config", "--syntax-only", tmp_path / "prometheus.yml")
    assert status == 0, output


ONE = 'job="flags", instance="one"'
REQUESTS = 'flags_http_requests_total{%s, route="none", method="GET", status="%d"}'
BUCKET = 'flags_http_request_duration_seconds_bucket{%s, route="%s", method="GET", le="%s"}'

# What Prometheus sees, a value a minute, and the alerts that are on in the fifteenth.
SCENES: dict[str, tuple[dict[str, str], set[str]]] = {
    "all is well": (
        {
            f"up{{{ONE}}}": "1x30",
            REQUESTS % (ONE, 200): "0+600x30",
            REQUESTS % (ONE, 503): "0+1x30",
            f"flags_database_requests_refused_total{{{ONE}}}": "0x30",
            f"flags_database_requests_waiting{{{ONE}}}": "0 3 0 0 3 0 0 0 3 0 0 3 3 0 3 0",
            BUCKET % (ONE, "/ready", "0.005"): "0+60x30",
            BUCKET % (ONE, "/ready", "+Inf"): "0+60x30",
            BUCKET % (ONE, "/auth/simple/login", "0.25"): "0x30",
            BUCKET % (ONE, "/auth/simple/login", "+Inf"): "0+600x30",
            f'flags_logins_total{{{ONE}, outcome="refused"}}': "0+2x30",
            f'flags_logins_total{{{ONE}, outcome="succeeded"}}': "0+200x30",
            f"flags_workers{{{ONE}}}": "2 1 4 1 2x30",
            f"flags_workers_wanted{{{ONE}}}": "2x30",
            f"process_start_time_seconds{{{ONE}}}": "100 100 200x30",
        },
        set(),
    ),
    "it is down": ({f"up{{{ONE}}}": "1 1 0x30"}, {"FlagsDown"}),
    "it is not ready": ({'probe_success{job="flags-ready", instance="one"}': "1 1 0x30"}, {"FlagsNotReady"}),
    "the database is away": (
        {
            REQUESTS % (ONE, 200): "0+10x30",
            REQUESTS % (ONE, 503): "0+10x30",
            f"flags_database_requests_refused_total{{{ONE}}}": "0+10x30",
            f"flags_database_requests_waiting{{{ONE}}}": "3x30",
        },
        {"FlagsErrors", "FlagsDatabaseRefuses", "FlagsDatabaseBusy"},
    ),
    "it is slow": (
        {
            BUCKET % (ONE, "/ready", "0.25"): "0+60x30",
            BUCKET % (ONE, "/ready", "1.0"): "0+90x30",
            BUCKET % (ONE, "/ready", "+Inf"): "0+90x30",
        },
        {"FlagsSlow"},
    ),
    "somebody guesses": (
        {
            f'flags_logins_total{{{ONE}, outcome="refused"}}': "0+5x30",
            f'flags_logins_total{{{ONE}, outcome="throttled"}}': "0+9x30",
        },
        {"FlagsPasswordsGuessed"},
    ),
    "a receiver of events is down": (
        {f"flags_deliveries_oldest_seconds{{{ONE}}}": "0+120x30"},
        {"FlagsDeliveriesFail"},
    ),
    "a worker process does not come back": (
        {f"flags_workers{{{ONE}}}": "2 2 1x30", f"flags_workers_wanted{{{ONE}}}": "2x30"},
        {"FlagsWorkersMissing"},
    ),
    "streams find no place": (
        {f"flags_client_streams_refused_total{{{ONE}}}": "0 0 1x30"},
        {"FlagsStreamsFull"},
    ),
    "it starts again and again": (
        {f"process_start_time_seconds{{{ONE}}}": "100 100 200 200 300 300 400x30"},
        {"FlagsRestarts"},
    ),
    "tokens expire soon": ({f"flags_tokens_expiring{{{ONE}}}": "0 0 2x30"}, {"FlagsTokensExpire"}),
}


@needs_promtool
def test_each_scene_fires_exactly_its_alerts(tmp_path: Path):
    tests = []
    for series, on in SCENES.values():
        # A test of an expression does not look at the texts: ALERTS is the series that an alert which is on makes.
        asked = [
            {
                "expr": f'count by (alertname) (ALERTS{{alertstate="firing", alertname="{name}"}})',
                "eval_time": "15m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1}] if name in on else [],
            }
            for name in NAMES
        ]
        values = [{"series": name, "values": text} for name, text in series.items()]
        tests.append({"interval": "1m", "input_series": values, "promql_expr_test": asked})
    assert {name for _, on in SCENES.values() for name in on} == set(NAMES)
    (tmp_path / "test.yml").write_text(
        json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests})
    )
    status, output = promtool("test", "rules", tmp_path / "test.yml")
    assert status == 0, output
