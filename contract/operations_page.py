"""docs/reference/operations.md, with a curl command for each operation."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

HEAD = """# Every operation with curl
This page is generated from [openapi.json](../openapi.json). `BASE` is the address of the server, `KEY` an API token or
a personal access token. Names, ids and bodies are examples. The page `/docs` of the server describes parameters, bodies
and responses, and can send requests. [curl.md](../how-to/curl.md) shows common tasks with their responses.
"""


def page(document: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    sections = [HEAD]
    for tag in document["tags"]:
        sections.append(f"\n## {tag['name']}\n\n```sh\n" + "\n".join(commands(document, tag["name"])) + "\n```\n")
    return "".join(sections)


def commands(document: dict[str, Any], tag: str) -> Iterator[str]:
    """Yield the commands of the operations with this tag."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield command(method.upper(), path, operation)


def command(method: str, path: str, operation: dict[str, Any]) -> str:
    """Return the curl command of an operation, with the examples of its path, its required query and its body."""
    words = ["curl"]
    if method != "GET":
        words.append(f"-X {method}")
    if "security" not in operation:
        words.append('-H "Authorization: $KEY"')
    if "requestBody" in operation:
        example = operation["requestBody"]["content"]["application/json"]["examples"]["usual"]["value"]
        words += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}"]
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["schema"]["examples"][0])
    needed = [each for each in operation["parameters"] if each["in"] == "query" and each.get("required")]
    if needed:
        path += "?" + "&".join(f"{each['name']}={each['schema']['examples'][0]}" for each in needed)
    return " ".join([*words, f'"$BASE{path}"'])
