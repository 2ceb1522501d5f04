"""Clone and move a flag on its page."""

from tests.support import roles
from tests.support.page import open_page
from tests.support.world import Caller, World

API = "/api/admin/projects/default/features/checkout"
PAGE = "/projects/default/flags/checkout"


def test_a_flag_is_cloned(world: World, alice: Caller) -> None:
    world.strategy(world.flag("checkout"))
    form = ".//dialog[@id='clone-flag']//form"
    page = open_page(alice, PAGE)
    assert [(one.get("data-send"), one.get("data-path")) for one in page.all(form)] == [("POST", f"{API}/clone")]
    assert page.fields(form).keys() == {"name", "replaceGroupId"}
    assert alice.post(f"{API}/clone", json={"name": "copy", "replaceGroupId": True}).status_code == 201
    assert "Edit strategy 1 in development" in open_page(alice, "/projects/default/flags/copy").links


def test_a_flag_is_moved_to_a_project_where_the_reader_may_move_flags(world: World, alice: Caller) -> None:
    world.flag("checkout")
    form = ".//dialog[@id='move-flag']//form"
    assert open_page(alice, PAGE).all(form) == []
    for name in ("shop", "bank"):
        world.project(name)
    page = open_page(alice, PAGE)
    assert [(one.get("data-send"), one.get("data-path")) for one in page.all(form)] == [
        ("POST", f"{API}/changeProject")
    ]
    assert page.fields(form).keys() == {"newProjectId"}
    assert [option.get("value") for option in page.all(f"{form}//option")] == ["bank", "shop"]
    assert alice.post(f"{API}/changeProject", json={"newProjectId": "shop"}).status_code == 200
    assert open_page(alice, "/projects/shop/flags/checkout").heading.startswith("checkout")


def test_members_are_offered_the_projects_to_which_they_may_move_a_flag(
    world: World, victor: Caller, alice: Caller
) -> None:
    world.flag("checkout")
    for name in ("shop", "bank"):
        world.project(name)
    role = roles.make(alice, permissions=[{"name": "MOVE_FEATURE_TOGGLE"}])
    world.member("shop", victor, role)
    options = ".//select[@name='newProjectId']/option"
    assert open_page(victor, PAGE).all(options) == []
    world.member("default", victor, role)
    assert open_page(victor, PAGE).texts(options) == ["Shop"]
