"""Free texts have a maximum: 5,000 characters for a description, 255 for a title or a name, or less."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import validators
from tests.support.world import refused
from validators import Body
from validators.fields import DESCRIPTION_MAX, TITLE_MAX, Text

MOST = {
    "description": DESCRIPTION_MAX,
    "title": TITLE_MAX,
    "name": TITLE_MAX,
    "tokenName": TITLE_MAX,
    "username": TITLE_MAX,
}
# These only name something that exists. The texts are compared, and not stored.
REFERENCES = {"Login.username", "RolePermission.name", "NewPassword.name", "NewPassword.username"}


def bodies(kind: type[Body] = Body) -> Iterator[type[Body]]:
    """Yield the schemas of all bodies."""
    for body in kind.__subclasses__():
        if body.__module__.startswith("validators"):
            yield body
            yield from bodies(body)


for module in pkgutil.iter_modules(validators.__path__):
    import_module(f"validators.{module.name}")
TEXTS = {
    f"{body.__name__}.{field.data_key or name}": field
    for body in bodies()
    for name, field in body._declared_fields.items()
    if (field.data_key or name) in MOST and isinstance(field, Text)
}


def test_the_free_texts_are_those_of_all_records() -> None:
    assert len(TEXTS) > 60
    assert TEXTS.keys() >= REFERENCES
    assert {
        "CreateFlag.description",
        "ImportedFeature.description",
        "StrategyChange.title",
        "CreateGroup.name",
    } <= TEXTS.keys()


@pytest.mark.parametrize("path", sorted(TEXTS.keys() - REFERENCES))
def test_a_free_text_has_a_maximum(path: str) -> None:
    field = TEXTS[path]
    most = MOST[path.partition(".")[2]]
    assert field.max is not None
    assert 0 < field.max <= most
    with pytest.raises(validators.ValidationError, match=f"must be at most {field.max} characters long"):
        field.deserialize("x" * (field.max + 1))
    assert field.deserialize("x" * field.max) == "x" * field.max


def test_a_longer_text_that_is_stored_stays_readable(world, alice):
    """It was stored by a version without the maximum."""
    world.flag("old", description="ü" * 6000)
    flag = alice.get("/api/admin/projects/default/features/old").json
    assert flag["description"] == "ü" * 6000
    assert alice.get("/api/admin/search/features", query_string={"query": "ÜÜ"}).json["total"] == 1
    path = "/api/admin/projects/default/features/old"
    assert alice.put(path, json={"description": flag["description"]}).status_code == 200
    message = refused(alice.put(path, json={"description": "u" * 6000}))
    assert message == "description: must be at most 5000 characters long"
    assert alice.put(path, json={"stale": True}).status_code == 200
    assert alice.get(path).json["description"] == "ü" * 6000
    assert alice.put(path, json={"description": "ü" * 5000}).status_code == 200
    copied = alice.post(f"{path}/clone", json={"name": "new"})
    assert (copied.status_code, copied.json["description"]) == (201, "ü" * 5000)
