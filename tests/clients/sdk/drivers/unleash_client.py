"""Drive UnleashClient, the Unleash SDK for Python (tests/support/sdk.py)."""

import json
import sys
import threading

from UnleashClient import UnleashClient  # pyright: ignore[reportMissingImports]

given = json.loads(sys.argv[1])
ready = threading.Event()
client = UnleashClient(
    url=f"{given['url']}/api",
    app_name=given["appName"],
    custom_headers={"Authorization": given["token"]},
    metrics_interval=3600,
    cache_directory=".",
    event_callback=lambda event: ready.set() if event.event_type.name == "READY" else None,
    **{"refresh_interval": 1, **given.get("options", {})},
)
client.initialize_client()


def get_variant(flag: str, context: dict[str, object]) -> list[str | None]:
    """Return the name of the variant and the value of its payload."""
    variant = client.get_variant(flag, context)
    return [variant["name"], variant.get("payload", {}).get("value")]


commands = {
    "isReady": ready.is_set,
    "isEnabled": client.is_enabled,
    "getVariant": get_variant,
    # The SDK sends its last report when it stops.
    "sendReport": client.destroy,
}
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(commands[name](*arguments)), flush=True)
