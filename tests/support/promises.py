"""The names that stay in all versions 1.x (docs/reference/promises.md), and how a release adds its new ones.

python -m tests.support.promises adds the names of this version to promised.txt. It removes none.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from app import create_app
from contract.routes import is_page
from operations.commands import program
from serving.errors import NAMES
from serving.settings import SETTINGS
from tests.support.openapi_document import DOCUMENT, OPERATIONS
from tests.support.service import ROOT
from validators.events import TYPES

FILE = Path(__file__).with_name("promised.txt")
METRICS, ALERTS = (
    (ROOT / "docs" / path).read_text(encoding="utf-8") for path in ("reference/metrics.md", "alerts.yml")
)
SCHEMAS = DOCUMENT["components"]["schemas"]

# What has a name, such as "setting PORT", and the names of its parts, such as the options of a command.
Names = Mapping[str, set[str]]


def promised() -> Names:
    """Return the names that earlier versions have promised."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    return {name: set(parts.split()) for name, _, parts in (line.partition(" : ") for line in lines)}


def current() -> Names:
    """Return the names of this version."""
    pages = create_app({"DATABASE_URL": "postgresql://127.0.0.1/none"}).url_map.iter_rules()
    metrics = re.findall(r"^\| `(\w+)` \| (counter|histogram|gauge) \| (.*?) ?\| ", METRICS, re.MULTILINE)
    return {
        **{f"setting {setting.name}": set() for setting in SETTINGS},
        **{f"command {name}": options for name, options in commands_in(program)},
        **{f"metric {name}": {kind, *re.findall(r"`(\w+)`", labels)} for name, kind, labels in metrics},
        **{f"alert {name}": set() for name in re.findall(r"- alert: (\w+)$", ALERTS, re.MULTILINE)},
        **{f"error {status}": {name} for status, name in NAMES.items()},
        **{f"event {type}": set() for type in TYPES},
        **{f"page {rule.rule}": set() for rule in pages if is_page(rule.endpoint) and "GET" in (rule.methods or ())},
        **{f"operation {method.upper()} {path}": parts_of(it) for (method, path), it in OPERATIONS.items()},
        **{f"schema {name}": properties(name) for name in SCHEMAS},
        # What a request may omit, and what a response always has.
        **{f"optional {name}": properties(name) - required(name) for name in schemas_in("requestBody")},
        **{f"always {name}": required(name) for name in schemas_in("responses")},
    }


def properties(schema: str) -> set[str]:
    """Return the names of the properties of a schema."""
    return {*SCHEMAS[schema].get("properties", ())}


def required(schema: str) -> set[str]:
    """Return the names of its required properties."""
    return {*SCHEMAS[schema].get("required", ())}


def schemas_in(part: str) -> set[str]:
    """Return the names of the schemas in this part of all operations, with those inside them."""
    found, new = set[str](), [operation.get(part) for operation in OPERATIONS.values()]
    while new:
        names = {*re.findall(r"#/components/schemas/(\w+)", json.dumps(new))} - found
        found |= names
        new = [SCHEMAS[name] for name in names]
    return found


def parts_of(operation: dict) -> set[str]:
    """Return the id of an operation, its parameters, and its statuses without those of errors."""
    statuses = {status for status in operation["responses"] if status < "4"}
    return {operation["operationId"], *statuses, *(parameter["name"] for parameter in operation["parameters"])}


def commands_in(group: click.Group, *names: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each command of a group that is not hidden: its words, and its options."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group) and not command.hidden:
            yield from commands_in(command, *names, name)
        elif not command.hidden:
            options = {option for parameter in command.params for option in parameter.opts}
            yield " ".join((*names, name)), {option for option in options if option.startswith("--")}


if __name__ == "__main__":
    before, now = promised(), current()
    merged = {name: before.get(name, set()) | now.get(name, set()) for name in sorted({*before, *now})}
    lines = (" : ".join([name, " ".join(sorted(parts))][: 1 + bool(parts)]) for name, parts in merged.items())
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
