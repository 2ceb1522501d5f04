"""The web UI administers segments, context fields, strategy types and the lifetimes of flag types."""

from tests.support.walks import ADMIN

CONSTRAINT = {
    "contextName": "userId",
    "operator": "IN",
    "values": ["7", "8"],
    "caseInsensitive": False,
    "inverted": False,
}


def test_the_pages_of_a_segment(ui):
    path = f"{ADMIN}/segments"
    new = {"name": "walkers", "description": "For all", "constraints": [CONSTRAINT]}
    # The form checks the name while it is typed.
    segment = ui.send(
        *(("POST", f"{path}/validate", {"name": "walkers"[:length]}, 204) for length in range(1, 8)),
        ("POST", f"{ADMIN}/constraints/validate", CONSTRAINT, 204),
        ("POST", path, new, 201),
    )
    one = f"{path}/{segment['id']}"
    ui.send(
        ("GET", one, None, 200),
        ("PUT", one, new | {"description": "For all of them"}, 204),
        ("GET", f"{one}/strategies", None, 200),
    )
    assert ui.send(("GET", one, None, 200))["description"] == "For all of them"
    ui.send(("DELETE", one, None, 204), ("GET", one, None, 404))


def test_the_pages_of_a_segment_of_a_project(ui):
    path = f"{ADMIN}/segments"
    new = {"name": "walkers", "description": "", "project": "default", "constraints": []}
    segment = ui.send(("POST", f"{path}/validate", {"name": "walkers"}, 204), ("POST", path, new, 201))
    changed = new | {"description": "For all of them"}
    ui.send(("PUT", f"{path}/{segment['id']}", changed, 204))
    (listed,) = ui.send(("GET", path, None, 200))["segments"]
    assert changed == {name: listed[name] for name in changed}


def test_the_pages_of_a_context_field(ui):
    path = f"{ADMIN}/context/tariff"
    new = {
        "name": "tariff",
        "description": "What the user pays",
        "legalValues": [{"value": "small", "description": "The small one"}],
        "stickiness": True,
    }
    changed = new | {"description": "What they pay"}
    ui.send(
        ("POST", f"{ADMIN}/context/validate", {"name": "tariff"}, 200),
        ("POST", f"{ADMIN}/context", new, 201),
        ("GET", path, None, 200),
        ("PUT", path, changed, 200),
        ("GET", f"{path}/strategies", None, 200),
    )
    field = ui.send(("GET", path, None, 200))
    assert changed == {name: field[name] for name in changed}
    ui.send(("DELETE", path, None, 200), ("GET", path, None, 404))


def test_the_pages_of_a_strategy_type(ui):
    path = f"{ADMIN}/strategies/byTariff"
    parameters = [{"name": "tariffs", "type": "string", "description": "Which ones", "required": False}]
    new = {"name": "byTariff", "description": "By tariff", "parameters": parameters}
    ui.send(
        ("POST", f"{ADMIN}/strategies", new, 201),
        ("GET", path, None, 200),
        ("PUT", path, new | {"description": "By the tariff"}, 200),
        ("POST", f"{path}/deprecate", None, 200),
        ("POST", f"{path}/reactivate", None, 200),
    )
    found = ui.send(("GET", path, None, 200))
    assert (found["description"], found["deprecated"]) == ("By the tariff", False)
    ui.send(("DELETE", path, None, 200), ("GET", path, None, 404))


def test_the_form_of_the_lifetime_of_a_flag_type(ui):
    ui.send(("PUT", f"{ADMIN}/feature-types/kill-switch/lifetime", {"lifetimeDays": 12}, 200))
    types = ui.send(("GET", f"{ADMIN}/feature-types", None, 200))["types"]
    assert {type["id"]: type["lifetimeDays"] for type in types}["kill-switch"] == 12
