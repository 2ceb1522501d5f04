"""make bench: it fills a log of this service, asks the floor what the service asks, and keeps what people wrote on its page."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from flask import Flask

from bench import fill, plan, report, shapes, steps
from bench.client import percentile, script
from bench.company import ABSENT_WORD, COMMON_WORD, RARE_WORD
from bench.fill import Filled
from bench.floor import Floor, as_script, floor, listening
from bench.measure import Figure, Measured
from bench.plots import LINE_HEIGHT, plot, spread
from bench.postgres import program
from bench.shapes import KEYS, OLD_SEARCH, SEARCH, Request, Shape
from bench.targets import at_most
from sql import connect, value

EVENTS = 2000


@pytest.fixture(scope="module")
def filled(server: str) -> Iterator[Filled]:
    """A small database as the bench fills it."""
    yield fill.fill(server, EVENTS, quiet=True)
    fill.drop(server, fill.name_of(EVENTS))


@pytest.fixture
def service(filled: Filled, make_app: Callable[..., Flask]) -> Flask:
    """The service on it."""
    return make_app(filled.url)


def total(service: Flask, query: dict[str, object], caller: str = "admin") -> int:
    """How many events a search finds."""
    response = service.test_client().get(SEARCH, query_string=query, headers={"Authorization": KEYS[caller]})
    assert response.status_code == 200, response.text
    return response.json["total"]


def test_planted_words_are_found_in_two_events_in_all_and_in_none(service: Flask):
    found = [total(service, {"query": word}) for word in (RARE_WORD, COMMON_WORD, ABSENT_WORD)]
    assert found == [2, EVENTS, 0]


def test_every_shape_is_answered_to_each_of_its_callers(service: Flask, filled: Filled):
    asked = [*shapes.searches(filled.facts, EVENTS), *shapes.projects(filled.facts), *shapes.insights(filled.facts)]
    empty: list[str] = []
    for shape in asked:
        for caller in shape.callers:
            request = shape.request(caller)
            response = service.test_client().open(request.path, method=request.method, headers=request.headers, data=request.body)
            assert response.status_code == 200, (shape.name, response.text)
            if caller == "admin" and response.json.get("events") == []:
                empty.append(shape.name)
    assert empty == ["project + creator that never met", "a word in none"]


def test_steps_of_scaling_are_asked_for_what_there_is(service: Flask, filled: Filled):
    for request in steps.requests(filled.facts, EVENTS).values():
        assert service.test_client().get(request.path, headers=request.headers).status_code == 200


def test_member_sees_his_private_project_and_none_of_the_others(service: Flask, filled: Filled):
    with connect(filled.url) as conn:
        hidden = value(conn, "SELECT id FROM projects WHERE mode = 'private' AND id <> %(own)s", {"own": filled.facts.own_project})
    assert total(service, {"project": f"IS:{hidden}"}, "member") == 0 < total(service, {"project": f"IS:{hidden}"})
    assert total(service, {"project": f"IS:{filled.facts.own_project}"}, "member") > 0


def test_events_are_in_the_order_of_their_instants(filled: Filled):
    statement = "SELECT bool_and(ok) FROM (SELECT created_at >= lag(created_at) OVER (ORDER BY id) AS ok FROM events) AS pairs"
    with connect(filled.url) as conn:
        assert value(conn, statement) is True
        assert value(conn, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'events'::regclass AND tgenabled = 'D'") == 0


def test_filled_database_is_used_again_unless_what_made_it_has_changed(server: str, filled: Filled, monkeypatch: pytest.MonkeyPatch):
    kept = fill.kept(server, EVENTS)
    assert kept is not None
    assert (kept.url, kept.facts) == (filled.url, filled.facts)
    monkeypatch.setattr(fill, "SOURCES", fill.SOURCES[1:])
    assert fill.kept(server, EVENTS) is None


@pytest.mark.skipif(program("pgbench") is None, reason="no pgbench")
def test_floor_runs_the_statements_of_the_service(filled: Filled):
    request = Shape("", "", f"{SEARCH}?feature=IS:{filled.facts.flag}&query=100%25").request("member")
    with listening(filled.url) as inside:
        statements = inside.statements(request)
    assert any(params.get("feature") == filled.facts.flag for _, params in statements)
    below = floor(filled.url, statements, 0.01, 1)
    assert below.latency
    assert below.rate


def test_parameters_of_statements_become_variables_and_null_becomes_none():
    params = {"a": [1, 'x"y'], "b": None, "c": b"\x01", "d": 5}
    text, variables = as_script([("SELECT %(a)s::text[], %(b)s, %(c)s WHERE 5 %% %(d)s = 0", params)])
    assert text == "SELECT :s0_a::text[], :s0_b, :s0_c WHERE 5 % :s0_d = 0;\n"
    assert variables == {"s0_a": r'{"1","x\"y"}', "s0_c": r"\x01", "s0_d": "5"}


def test_percentiles_lie_between_the_values_around_them():
    values = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert [percentile(values, share) for share in (0, 0.5, 0.95, 1)] == [1, 3, 4.8, 5]
    assert percentile([7.0], 0.95) == 7


def test_wrk_is_told_bodies_and_headers_of_each_request():
    text = script([Request("GET", "/a"), Request("POST", OLD_SEARCH, "key", json.dumps({"query": "x"}))])
    assert 'wrk.format("GET", "/a", {}, nil)' in text
    assert r'["Authorization"] = "key", ["Content-Type"] = "application/json"}, "{\"query\": \"x\"}")' in text


def test_plot_is_well_formed_and_labels_do_not_cover_each_other():
    lines = {"a < b": [(1e4, 0.5), (1e6, 0.7)], "c": [(1e4, 0.5), (1e6, 0.7)], "never measured": []}
    root = ElementTree.fromstring(plot("Words & pages", lines))
    said = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Words & pages", "a < b · 0.7", "c · 0.7"} <= set(said)
    places = sorted(spread([100.0, 101.0, 400.0, 100.0]))
    assert min(below - above for above, below in pairwise(places)) >= LINE_HEIGHT


def test_page_keeps_what_stands_around_the_figures():
    text = "# Words\n<!-- figures -->old<!-- end -->\nMore words\n"
    assert report.put(text, "new") == "# Words\n<!-- figures -->\n\nnew\n\n<!-- end -->\nMore words\n"
    with pytest.raises(ValueError, match="figures"):
        report.put("# Words", "new")


@pytest.mark.parametrize(
    ("environ", "named"), [({"SCALE": "huge"}, "SCALE"), ({"ONLY": "x"}, "ONLY"), ({"BENCH_LOAD_MINUTES": "x"}, "BENCH_LOAD")]
)
def test_plan_that_makes_no_sense_is_refused(environ: dict[str, str], named: str):
    with pytest.raises(plan.PlanError, match=named):
        plan.load(environ)


def test_only_whole_runs_are_written_into_the_documentation():
    assert [plan.load(environ).is_whole for environ in ({}, {"SCALE": "full"}, {"SCALE": "small"}, {"ONLY": "sizes"})] == [
        True,
        True,
        False,
        False,
    ]


def test_target_is_reached_only_by_a_log_as_large_as_it_speaks_of():
    def verdict(events: int, p50: float) -> str:
        it = Measured(events, {}, {}, empty=figure("", 1.0), trivial=Floor(None, None), figures=[figure("offset 90 %", p50)])
        return at_most(it, "offset 90 %", 100).word

    assert [verdict(1_000_000, 99), verdict(10_000, 99), verdict(10_000, 101)] == ["reached", "open", "**missed**"]


def figure(name: str, p50: float) -> Figure:
    """A figure of so many milliseconds."""
    return Figure(name, "offset", "admin", p50, p50, 5, 100, 200, None, None, 2)
