"""What the API says of a release, and the names that earlier versions 1.x promised to keep."""

import json

from serving.version import VERSION
from tests.support.openapi_document import DOCUMENT
from tests.support.promises import current, promised
from tests.support.service import ROOT


def test_the_api_shows_this_version() -> None:
    properties = json.loads((ROOT / "contract" / "records" / "uiConfig.json").read_text(encoding="utf-8"))["properties"]
    shown = [properties["version"], *properties["versionInfo"]["properties"]["current"]["properties"].values()]
    assert {example for each in shown for example in each["examples"]} == {DOCUMENT["info"]["version"]} == {VERSION}


def test_no_name_of_an_earlier_version_is_missing() -> None:
    before, now = promised(), current()
    assert len(before) > 900
    assert sorted(before.keys() - now.keys()) == []
    missing = {name: parts - now[name] for name, parts in before.items()}
    assert {name: parts for name, parts in missing.items() if parts} == {}
