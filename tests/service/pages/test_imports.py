"""The page that imports a file: what it accepts and shows, and who may use it."""

import base64
import io
import json
import zlib
from typing import Any

import pytest
from werkzeug import formparser
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from serving import body_limits, uploads
from sql.database import Connection
from tests.support import segments
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

PAGE = "/admin/import"
EVIL = "<img src=x onerror=alert(1)>"
CHOICE = {"project": "default", "environment": "development"}


def send(caller: Caller, status: int, headers: dict[str, str] | None = None, **fields: Any) -> Page:
    """Send a form of the page as a browser does."""
    boundary, body = encode_multipart(fields)
    headers = {"Accept": "text/html", "Content-Type": f'multipart/form-data; boundary="{boundary}"'} | (headers or {})
    response = caller.post(PAGE, data=body, headers=headers)
    assert response.status_code == status, response.text[:3000]
    return Page(response)


def send_file(
    caller: Caller, content: bytes, status: int = 200, name: str = "flags.json", headers: dict[str, str] | None = None
) -> Page:
    """Send the form with a file."""
    return send(caller, status, headers, **CHOICE, file=FileStorage(io.BytesIO(content), name))


def document(*names: str) -> bytes:
    """An export document with these flags."""
    flags = [{"name": name, "type": "release", "description": None} for name in names]
    return json.dumps({"features": flags, "featureStrategies": [], "tagTypes": []}).encode()


def names(conn: Connection) -> list[str]:
    return [row["name"] for row in conn.execute("SELECT name FROM flags ORDER BY name").fetchall()]


def events(conn: Connection) -> list[str]:
    return [row["type"] for row in conn.execute("SELECT type FROM events ORDER BY id").fetchall()]


def test_file_is_imported_after_its_report(alice: Caller, conn: Connection) -> None:
    form = open_page(alice, f"{PAGE}?project=default")
    assert form.fields(".//form").keys() == {"file", "project", "environment"}
    before = events(conn)
    report = send_file(alice, document("one", "two"))
    assert report.heading == "Dry run of flags.json"
    assert "Would move 2 flags" in report.text
    assert (names(conn), events(conn)) == ([], before)
    fields = report.fields(".//form")
    assert fields | CHOICE | {"name": "flags.json"} == fields

    done = send(alice, 200, **fields)
    assert done.heading == "Import of flags.json"
    assert "Moved 2 flags" in done.text
    assert done.fields(".//form") == {}
    assert names(conn) == ["one", "two"]
    assert events(conn)[-1] == "instance-imported"

    again = send_file(alice, document("one", "two"))
    assert "Nothing to move: everything exists." in again.text
    assert again.texts(".//button") == []


def test_a_file_that_only_changes_a_built_in_record_can_be_imported(alice: Caller) -> None:
    tag_type = {"name": "simple", "description": "Mine.", "icon": None}
    report = send_file(alice, json.dumps({"features": [], "featureStrategies": [], "tagTypes": [tag_type]}).encode())
    assert "Would move 1 tag type. Nothing has changed yet. Other records here stay as they are." in report.text
    assert report.texts(".//td[@data-label='Changed']") == ["1"]
    assert "tag type simple (description)" in report.text
    assert report.texts(".//button") == ["Import"]


def test_problems_are_shown_with_the_form(world: World, alice: Caller, conn: Connection) -> None:
    for content, problem in (
        (b"", "flags.json is empty."),
        (b'{"features": [', "flags.json is not valid JSON: it cannot be parsed."),
        (b"version: 3\nfeatures: []\n", "flags.json is not valid JSON: it cannot be parsed."),
        (b'{"features": [], "features": []}', "an object has a key twice"),
        (b'{"flags": []}', "is neither an export document nor a state file of Unleash."),
    ):
        page = send_file(alice, content, 400)
        assert problem in page.texts(".//*[@role='alert']")[0], content
        assert page.texts(".//select[@name='project']/option[@selected]") == ["Default"]
    assert "Choose a file." in send(alice, 400, **CHOICE).text
    assert "flags import FILE" in page.text
    # All conflicts at once, and names as text.
    world.project("apollo")
    for name in ("one", "two"):
        world.flag(name, "apollo")
    page = send_file(alice, document("one", "three", "two"), 409)
    assert len(page.all(".//*[@role='alert']//li")) == 2
    assert names(conn) == ["one", "two"]


def test_texts_of_a_file_are_shown_as_text(alice: Caller) -> None:
    segments.make(alice, EVIL)
    content = json.loads(document("one"))
    constraint = {"contextName": "userId", "operator": "IN", "values": [EVIL]}
    content["segments"] = [{"id": 1, "name": EVIL, "constraints": [constraint]}]
    for raw, status in ((b"{", 400), (json.dumps(content).encode(), 200)):
        page = send_file(alice, raw, status, name=f"{EVIL}.json")
        assert page.all(".//img") == []
        assert EVIL in page.text
    assert EVIL in page.texts("./ul")[0]


def test_an_unknown_project_is_pointed_out_and_an_invalid_one_is_400(alice: Caller) -> None:
    # With many projects, the field is a text field.
    for project, status in (("unknown", 200), ("a\0b", 400), ("a b/c", 400), ("x" * 300, 400)):
        file = FileStorage(io.BytesIO(document("one")), "flags.json")
        page = send(alice, status, **CHOICE | {"project": project}, file=file)
        assert ("does not have this project. It is created" in page.text) == (status == 200), project
        assert len(page.all(".//*[@role='alert']")) == (status == 400), project


def test_only_administrators_import(alice: Caller, victor: Caller, stranger: Caller) -> None:
    open_page(victor, PAGE, 403)
    assert "Import" not in open_page(victor, "/admin").links
    assert open_page(alice, "/admin").links["Import"] == PAGE
    link = "import a file"
    assert open_page(alice, "/projects/default").links[link] == f"{PAGE}?project=default"
    assert link not in open_page(victor, "/projects/default").links
    with body_limits.LARGE_IMPORTS:
        # They are refused before the service reads the file.
        send_file(victor, document("one"), 403)
        send_file(stranger, document("one"), 401)
        send_file(alice, document("one"), 403, headers={"Origin": "https://evil.example"})


def test_files_take_turns(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(alice.app.config, "WAIT_SECONDS", 0.01)
    with body_limits.LARGE_IMPORTS:
        assert "Too many large requests." in send_file(alice, document("one"), 503).text
    send_file(alice, document("one"))


def test_a_file_has_at_most_50_mb(alice: Caller) -> None:
    large = document("one").ljust(body_limits.IMPORT_BYTES)
    kept = send_file(alice, large).fields(".//form")
    assert "Moved 1 flag" in send(alice, 200, **kept).text
    for content in (large + b" ", large + b" " * (25 * 10**6)):
        assert "The file is larger than 50 MB." in send_file(alice, content, 413).text
    # A small text can become a large file.
    page = send(alice, 413, **kept | {"kept": uploads.pack(large + b" ")})
    assert "The file is larger than 50 MB." in page.text


def test_a_damaged_form_is_400(alice: Caller) -> None:
    for kept in ("é", "AAAA", base64.b64encode(zlib.compress(document("one"))[:-20]).decode()):
        send(alice, 400, **CHOICE, kept=kept)


def test_an_incompressible_file_fits_into_the_form() -> None:
    content = bytes(range(256)) * 8
    assert uploads.unpack(uploads.pack(content)) == content
    assert len(uploads.unpack(uploads.pack(bytes(body_limits.IMPORT_BYTES + 9)))) == body_limits.IMPORT_BYTES + 1
    # Of stored blocks, with base64.
    assert body_limits.IMPORT_BYTES * 1.001 * 4 / 3 < body_limits.FORM_BYTES - (1 << 20)


def test_the_service_writes_no_file(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formparser, "SpooledTemporaryFile", None)
    monkeypatch.setattr(formparser, "TemporaryFile", None, raising=False)
    send_file(alice, document("one").ljust(1 << 20))
