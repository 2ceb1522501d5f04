"""Parse YAML. Only commands do: the service does not load the package."""

import re
from typing import Any

import yaml
from werkzeug.exceptions import BadRequest

from validators import MAX_VALUES, parse
from validators.fields import MAX_LEVELS


class Loader(yaml.CSafeLoader):
    """A safe loader with the plain words of YAML 1.2: numbers, true, false and null. Dates and yes are texts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value) or not all(isinstance(key, str) for key in mapping):
            raise yaml.MarkedYAMLError(problem="a key occurs twice, or is no text", problem_mark=node.start_mark)
        return mapping


Loader.yaml_implicit_resolvers = {}
# Numbers with a leading zero are texts, such as postal codes.
for kind, words, first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", "true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", "-?(0|[1-9][0-9]*)", [*"-0123456789"]),
    ("float", r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", [*"-0123456789"]),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"(?:{words})$"), first)


def parse_yaml(raw: bytes, name: str) -> Any:
    """Parse a JSON or YAML text. Raise 400 for all else, and for aliases, with which a small text can become large."""
    if raw.lstrip().startswith((b"{", b"[")):
        return parse(raw, name)
    try:
        refuse_risks(raw)
        return yaml.load(raw, Loader=Loader)  # noqa: S506 (a subclass of the safe loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise BadRequest(f"{name} is not valid JSON or YAML: {problem}{line}.") from None


def refuse_risks(raw: bytes) -> None:
    """Raise YAMLError for aliases, for tags, and for more values or levels than a JSON text can have."""
    level = 0
    for number, event in enumerate(yaml.parse(raw, Loader=Loader)):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise yaml.MarkedYAMLError(problem="aliases and tags are not allowed", problem_mark=event.start_mark)
        # The loader in C ends the process at some thousand levels. A key and its value are two events.
        if level > MAX_LEVELS or number > 2 * MAX_VALUES:
            raise yaml.MarkedYAMLError(problem="it has too many values or levels", problem_mark=event.start_mark)
