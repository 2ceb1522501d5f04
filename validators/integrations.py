"""Integrations: what each provider needs, and the requests about them."""

import json
import re
from typing import Any, ClassVar
from urllib.parse import urlsplit

from marshmallow import ValidationError, validates_schema

from validators import Body, Query
from validators.fields import Boolean, ListOf, ObjectOf, OneOf, Text
from validators.query_fields import WholeNumber
from validators.returned import ResponseOnly

# What forms show of each parameter: its name, how to enter it, and an example.
PARAMETERS = {
    "url": {"displayName": "URL", "type": "url", "placeholder": "https://example.org/…"},
    "contentType": {"displayName": "Content-Type", "type": "text", "placeholder": "application/json"},
    "authorization": {"displayName": "Authorization", "type": "text", "placeholder": "Bearer …"},
    "customHeaders": {"displayName": "More headers", "type": "textfield", "placeholder": '{"X-Team": "shop"}'},
    "bodyTemplate": {"displayName": "Template", "type": "textfield", "placeholder": '{"a": "{{event.type}}"}'},
    "signingSecret": {"displayName": "Signing secret", "type": "text", "placeholder": "whsec_…"},
    "username": {"displayName": "Author of the messages", "type": "text", "placeholder": "Flags"},
    "emojiIcon": {"displayName": "Emoji of the author", "type": "text", "placeholder": ":checkered_flag:"},
    "defaultChannel": {"displayName": "Channel", "type": "text", "placeholder": "#flags"},
}
# The name of each provider, and its parameters. Each has a url, and only that is required.
PROVIDERS = {
    "webhook": ("Webhook", ("url", "contentType", "authorization", "customHeaders", "bodyTemplate", "signingSecret")),
    "slack": ("Slack", ("url", "username", "emojiIcon", "defaultChannel", "customHeaders")),
    "teamsworkflow": ("Microsoft Teams", ("url", "customHeaders")),
    "discord": ("Discord", ("url", "username")),
}
# What responses have instead of a sensitive parameter, and what requests send to keep it.
MASK = "*****"
URL = re.compile(r"(?!.{2001})https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?([/?][!\"$-~]*)?")
# A value in a template. Three braces: as JSON.
TAG = re.compile(r"\{\{(?P<raw>\{)? *(?P<name>event[\w.-]*) *\}\}(?(raw)\})")
# Base64 of 24 to 64 bytes.
SECRET = re.compile(r"whsec_(?=[^=]{32,86}=*$)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
PLAIN = re.compile(r"[^\x00-\x1f\x7f]*")
# What a header can be named: not as those that the service sets.
HEADER = re.compile(
    r"(?!(host|connection|transfer-encoding|content-(type|length)|webhook-.*)$)[!#$%&'*+.^`|~\w-]+", re.I | re.A
)


def check(name: str, text: str) -> str | None:
    """Return what is wrong with the value of a parameter, or None."""
    if name == "url":
        return None if is_url(text) else "must be an https address without a password or a fragment"
    if name == "bodyTemplate":
        return "must contain only parameters such as {{event.type}}" if "{{" in TAG.sub("", text) else None
    if name == "signingSecret":
        return None if SECRET.fullmatch(text) else "must be whsec_ and 24 to 64 bytes in base64"
    if name == "customHeaders":
        rule = "must be a JSON object with at most 20 headers, and without Host, Connection, Content-… and webhook-…"
        return None if are_headers(text) else rule
    return None if PLAIN.fullmatch(text) else "must not contain control characters"


def is_url(text: str) -> bool:
    """Return whether a text is a URL that an integration can have."""
    try:
        # ValueError: a port above 65535, or brackets without an IPv6 address.
        return URL.fullmatch(text) is not None and urlsplit(text).port != 0
    except ValueError:
        return False


def are_headers(text: str) -> bool:
    """Return whether a text is a JSON object of headers that an integration can set."""
    try:
        headers = json.loads(text).items()
        return len(headers) <= 20 and all(HEADER.fullmatch(name) and PLAIN.fullmatch(value) for name, value in headers)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


class Integration(Body):
    """Body of a new integration, or of an update, which replaces everything but the description."""

    class Meta(Body.Meta):
        include = ResponseOnly("addon", ignored=("id", "createdAt", "failingSince")).in_new()

    example: ClassVar[dict[str, Any]] = {
        "provider": "webhook",
        "enabled": True,
        "parameters": {"url": "https://example.org/flags"},
        "events": ["feature-environment-enabled"],
    }
    beyond_json_schema: ClassVar[str] = "parameters"

    provider = OneOf(
        frozenset(PROVIDERS), "webhook, slack, teamsworkflow or discord", required=True, description="Kind of receiver."
    )
    description = Text(max=250, description="Description.")
    enabled = Boolean(required=True, description="Whether events are sent.")
    parameters = ObjectOf(
        Text(max=10_000),
        required=True,
        description=f"Texts, such as the url. {MASK} keeps a sensitive parameter, and signingSecret stays if omitted. "
        "If the url changes, authorization and customHeaders have to be sent again.",
    )
    events = ListOf(Text(max=100), max=500, required=True, description="Types of events. Unknown types have no effect.")
    projects = ListOf(
        Text(max=100), max=500, load_default=list, description="Projects of the events. Empty, or with `*`: all."
    )
    environments = ListOf(
        Text(max=100), max=500, load_default=list, description="Environments of the events. Empty, or with `*`: all."
    )

    @validates_schema
    def check_parameters(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse unknown, missing and invalid parameters. An empty one is missing."""
        given = {name: text for name, text in data["parameters"].items() if text}
        wrong = {} if "url" in given else {"url": "is required"}
        for name, text in given.items():
            is_known = name in PROVIDERS[data["provider"]][1]
            if problem := (text != MASK and check(name, text)) if is_known else "unknown parameter":
                wrong[name] = problem
        if wrong:
            raise ValidationError({"parameters": {name: [problem] for name, problem in wrong.items()}})
        data["parameters"] = given


class IntegrationLog(Query):
    """A page of the log of an integration."""

    limit = WholeNumber(min=1, max=1000, load_default=50, description="Maximum number of deliveries.")
    offset = WholeNumber(min=0, load_default=0, description="Number of newer deliveries to skip.")
