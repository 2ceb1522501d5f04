"""Drive the OpenFeature SDK for Python with its OFREP provider (tests/support/sdk.py)."""

import json
import sys
from typing import Any

from openfeature import api  # pyright: ignore[reportMissingImports]
from openfeature.contrib.provider.ofrep import OFREPProvider  # pyright: ignore[reportMissingImports]
from openfeature.evaluation_context import EvaluationContext  # pyright: ignore[reportMissingImports]

given = json.loads(sys.argv[1])
api.set_provider(OFREPProvider(given["url"], headers_factory=lambda: {"Authorization": f"Bearer {given['token']}"}))
client = api.get_client()
METHODS = {
    bool: client.get_boolean_details,
    str: client.get_string_details,
    int: client.get_integer_details,
    dict: client.get_object_details,
}


def evaluate(flag: str, default: Any, context: dict[str, Any]) -> dict[str, Any]:
    """Return the value of a flag, its variant, the reason and the code of the error."""
    attributes = dict(context)
    found = METHODS[type(default)](flag, default, EvaluationContext(attributes.pop("targetingKey", None), attributes))
    code = found.error_code.value if found.error_code else None
    return {"value": found.value, "variant": found.variant, "reason": found.reason, "error": code}


for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps({"evaluate": evaluate}[name](*arguments)), flush=True)
