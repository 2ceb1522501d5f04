"""docs/how-to/move-from-unleash.md: each command prints what the page shows, with a real Unleash server."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import PATIENCE, install
from tests.support.instance import ADMIN_KEY
from tests.support.page_examples import fits
from tests.support.service import ROOT, Service
from tests.support.unleash import ADMIN_TOKEN, Api, unleash_server

PAGE = ROOT / "docs" / "how-to" / "move-from-unleash.md"
FEATURES = "/api/admin/projects/default/features"


def fill(api: Api) -> dict[str, str]:
    """Give a server the flags, tokens and users of the page, and return the secrets by name."""
    api.post("/api/admin/context", {"name": "plan", "legalValues": [{"value": "free"}, {"value": "pro"}]})
    api.post("/api/admin/tag-types", {"name": "team", "description": "Owning team", "color": "#AA0000"})
    constraint = {"contextName": "plan", "operator": "IN", "values": ["pro"]}
    segment = api.post("/api/admin/segments", {"name": "Paying customers", "constraints": [constraint]})["id"]
    rollout: dict[str, Any] = {"rollout": "25", "stickiness": "default", "groupId": "new-checkout"}
    for name, environment, strategy in (
        ("new-checkout", "production", {"name": "flexibleRollout", "parameters": rollout}),
        ("dark-mode", "production", {"name": "flexibleRollout", "parameters": rollout, "segments": [segment]}),
        ("invoices", "development", {"name": "default"}),
        ("old-search", "production", {"name": "default"}),
    ):
        api.post(FEATURES, {"name": name})
        at = f"{FEATURES}/{name}/environments/{environment}"
        api.post(f"{at}/strategies", strategy)
        api.post(f"{at}/on")
    api.post("/api/admin/features/dark-mode/tags", {"type": "team", "value": "web"})
    api.expect("DELETE", f"{FEATURES}/old-search", {})
    api.post("/api/admin/invite-link/tokens", {"name": "all", "expiresAt": "2100-01-01T00:00:00.000Z"})
    api.post("/api/admin/user-admin", {"email": "anna@example.com", "name": "Anna", "rootRole": 2})
    scope = {"environment": "production", "projects": ["*"]}
    kinds = {"shop": "client", "browser": "frontend"}
    return {
        name: api.post("/api/admin/api-tokens", {"tokenName": name, "type": type, **scope})["secret"]
        for name, type in kinds.items()
    }


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_each_command_prints_what_the_page_shows(make_database: Callable[..., str], tmp_path: Path) -> None:
    url = make_database()
    install(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    entries = [entry for block in blocks for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(entries) >= 6
    with unleash_server("8.2.0", make_database(empty=True), tmp_path) as old, Service(url) as service:
        secrets = fill(old)
        given = {"UNLEASH": old.url, "ADMIN_TOKEN": ADMIN_TOKEN, "BASE": service.origin, "KEY": ADMIN_KEY}
        environment = os.environ | given | {"TOKEN": secrets["shop"], "DATABASE_URL": url, "BASE_URL": service.origin}
        for entry in entries:
            command, _, shown = entry.partition("\n")
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
            )
            assert fits(shown.strip(), done.stdout), f"{command}\n{done.stdout}"
