"""Two generators make typed clients from the OpenAPI document, and the clients call the nine operations of a real
service.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints.documentation import DOCS
from tests.support.instance import ADMIN_KEY
from tests.support.openapi_document import OPERATIONS
from tests.support.service import Service

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
# In seconds. Each step takes less than 10 on two cores.
PATIENCE = 120
FEATURES = "/api/admin/projects/default/features"
EXPECTED = {
    "updateSignupToken": [True, 2040],
    "getInsights": [2026],
    "getProjectOverview": ["Default", 1],
    "getProjectAccess": ["Member", "Owner"],
    "deleteStrategy": True,
    "searchEvents": ["feature-strategy-remove", True],
}


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(make_database(), tmp_path_factory.mktemp("service")) as service:
        yield service


def run(folder: Path, *command: str, **environment: str) -> str:
    """Run a program in a folder, and return what it prints on stdout and stderr. Fail if its exit status is not 0."""
    environ = os.environ | {"NO_COLOR": "1"} | environment
    done = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def create(service: Service, path: str, body: Any) -> Any:
    """Send a POST of the administrator and return the record."""
    answer = service.request("POST", path, body, headers={"Authorization": ADMIN_KEY})
    assert answer.status in (200, 201), answer.body
    return answer.json


def prepare(service: Service, name: str) -> dict[str, str]:
    """Create a flag with a strategy and a signup token, and return the input of a client."""
    create(service, FEATURES, {"name": name, "type": "release"})
    strategy = create(service, f"{FEATURES}/{name}/environments/development/strategies", {"name": "flexibleRollout"})
    token = create(service, "/api/admin/invite-link/tokens", {"name": name, "expiresAt": "2039-01-01T00:00:00Z"})
    return {
        "url": service.origin,
        "apiToken": ADMIN_KEY,
        "project": "default",
        "flag": name,
        "environment": "development",
        "strategy": strategy["id"],
        "signupToken": token["secret"],
        "username": name,
        "email": f"{name}@example.org",
        "password": f"the password of {name}",
    }


def check(output: str, name: str) -> None:
    """Compare what a client printed with what it should get."""
    assert json.loads(output) == EXPECTED | {
        "signUp": f"{name}@example.org",
        "logIn": name,
        "searchEventsDeprecated": [1, name],
    }


def test_openapi_python_client_generates_and_calls_every_operation(service: Service, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("openapi-python-client")
    # The program formats its output with ruff, which is beside it.
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    command = [str(program), "generate", "--path", str(DOCS / "openapi.json"), "--output-path", "client"]
    run(tmp_path, *command, "--meta", "none", "--fail-on-warning", PATH=path)
    functions = {module.stem for module in (tmp_path / "client" / "api").glob("*/*.py")} - {"__init__"}
    ids = {operation["operationId"].lower() for operation in OPERATIONS.values()}
    assert {name.replace("_", "") for name in functions} == ids
    given = prepare(service, "python")
    program = str(HERE / "nine_operations.py")
    check(run(tmp_path, sys.executable, program, json.dumps(given), PYTHONPATH=str(tmp_path)), "python")


def test_openapi_ts_generates_and_calls_every_operation(service: Service, tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("needs npm (on Debian: apt-get install npm)")
    shutil.copytree(HERE / "typescript", tmp_path, dirs_exist_ok=True)
    command = ["npm", "ci", "--engine-strict", "--no-audit", "--no-fund", "--ignore-scripts"]
    installed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    if installed.returncode:
        pytest.skip(f"npm cannot install the packages of tests/clients/generated/typescript: {installed.stderr[:500]}")
    programs = tmp_path / "node_modules" / ".bin"
    run(tmp_path, str(programs / "openapi-ts"), "--input", str(DOCS / "openapi.json"), "--output", "client")
    generated = (tmp_path / "client" / "sdk.gen.ts").read_text(encoding="utf-8")
    functions = re.findall(r"^export const (\w+) = ", generated, re.MULTILINE)
    assert set(functions) == {operation["operationId"] for operation in OPERATIONS.values()}
    run(tmp_path, str(programs / "tsc"))
    given = prepare(service, "typescript")
    check(run(tmp_path, "node", "compiled/nine_operations.js", json.dumps(given)), "typescript")
