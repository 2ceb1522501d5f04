"""What a web UI needs to know about this service."""

import pytest

from blueprints.ui_config import LIMITS, ZERO_LIMITS
from serving.settings import SETTINGS
from serving.version import VERSION
from tests.support.world import Caller

PATH = "/api/admin/ui-config"


def test_version_and_addresses_are_true(make_app, shared_url, alice):
    below = Caller(make_app(shared_url, BASE_URL="https://example.org/flags", BASE_PATH="/flags"), alice.key)
    found = alice.get(PATH).json
    assert (found["version"], found["versionInfo"]["current"]) == (VERSION, {"oss": VERSION, "enterprise": VERSION})
    assert (found["unleashUrl"], found["baseUriPath"]) == ("http://localhost", "")
    assert below.get(f"/flags{PATH}").status_code == 401
    assert [setting for setting in LIMITS.values() if setting not in {entry.name for entry in SETTINGS}] == []


def test_base_url_and_path_are_the_settings(app, alice, monkeypatch):
    monkeypatch.setitem(app.config, "BASE_URL", "https://example.org/flags")
    monkeypatch.setitem(app.config, "BASE_PATH", "/flags")
    found = alice.get(PATH).json
    assert (found["unleashUrl"], found["baseUriPath"]) == ("https://example.org/flags", "/flags")


@pytest.mark.parametrize(("name", "setting"), LIMITS.items())
def test_each_limit_is_the_value_of_the_setting(app, alice, monkeypatch, name, setting):
    monkeypatch.setitem(app.config, setting, 77)
    found = alice.get(PATH).json
    assert {limit for limit, number in found["resourceLimits"].items() if number == 77} == {name}
    old = {"segmentValues": "segmentValuesLimit", "strategySegments": "strategySegmentsLimit"}
    assert all(found[key] == found["resourceLimits"][limit] for limit, key in old.items())


def test_every_limit_of_the_instance_is_there(alice):
    # Users count their own tokens.
    limits = {setting.name for setting in SETTINGS if setting.name.startswith("MAX_")} - {
        "MAX_BODY_BYTES",
        "MAX_PERSONAL_TOKENS",
    }
    assert set(LIMITS.values()) == limits
    assert alice.get(PATH).json["resourceLimits"].keys() == {*LIMITS, *ZERO_LIMITS}


def test_features_that_do_not_exist_are_off(alice):
    found = alice.get(PATH).json
    for name in (
        "emailEnabled",
        "maintenanceMode",
        "networkViewEnabled",
        "prometheusAPIAvailable",
        "disablePasswordAuth",
    ):
        assert found[name] is False
    assert {found["resourceLimits"][name] for name in ZERO_LIMITS} == {0}


def test_the_web_ui_shows_what_exists_here(app, alice, monkeypatch):
    monkeypatch.setitem(app.config, "FRONTEND_ORIGINS", ("https://shop.example",))
    found = alice.get(PATH).json
    assert found["flags"] == {"EEA": True, "regexConstraintOperator": True, "semverGteConstraintOperators": True}
    assert found["frontendApiOrigins"] == ["https://shop.example"]
    assert (found["environment"], found["authenticationType"]) == ("Open source", "open-source")
