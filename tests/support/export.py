"""Exports of flags, and the names of the flags in them."""

from tests.support.world import Caller

PATH = "/api/admin/features-batch/export"


def export(caller: Caller, environment="development", **body):
    response = caller.post(PATH, json={"environment": environment, **body})
    assert response.status_code == 200, response.text
    return response.json


def names(document):
    return [feature["name"] for feature in document["features"]]
