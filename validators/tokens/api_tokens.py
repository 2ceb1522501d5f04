"""API tokens (neighbours.md 3.4)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import DateTime, ListOf, OneOf, Text

# Newer clients call a client token a backend token.
KINDS = ("admin", "client", "backend", "frontend")


class Kind(OneOf):
    """What a token may be used for, in any case of letters."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        return super()._deserialize(value.lower() if isinstance(value, str) else value, attr, data, **kwargs)


class CreateApiToken(Body):
    """A new token, as name, type, projects (empty: all), and environment and expiresAt where it says so."""

    example: ClassVar = {"type": "client", "tokenName": "checkout-service", "environment": "production", "projects": ["checkout"]}
    schema: ClassVar = {"anyOf": [{"required": ["tokenName"]}, {"required": ["username"]}]}
    unsaid: ClassVar = "must be omitted with|for an admin token|only admin tokens|at least one project"

    type = Kind(
        frozenset(KINDS),
        "admin, client, backend or frontend",
        required=True,
        metadata={"description": "What the token may be used for, in any case of letters; backend is another word for client."},
    )
    tokenName = Text(min=1, max=255, metadata={"description": "What the token is for; need not be unique."})
    username = Text(min=1, max=255, metadata={"description": "The old word for tokenName; one of the two is required, and not both."})
    environment = Text(metadata={"description": "Environment that the token is for; `*`, all, for an admin token alone."})
    project = Text(metadata={"description": "Project that the token is for; `*`: all."})
    projects = ListOf(Text(), what="projects", metadata={"description": "Projects that the token is for; not beside project; `*`: all."})
    expiresAt = DateTime(metadata={"description": "The instant until which the token works; for ever without one."})

    @validates_schema
    def says_each_thing_once(self, asked: dict[str, Any], **_: Any) -> None:
        """Two words for one thing would leave open which counts."""
        if "tokenName" in asked and "username" in asked:
            raise ValidationError("must be omitted with tokenName", "username")
        if "tokenName" not in asked and "username" not in asked:
            raise ValidationError("is required", "tokenName")
        if "project" in asked and "projects" in asked:
            raise ValidationError("must be omitted with project", "projects")
        # Our choice: a list that was meant to hold something must not become a token for everything.
        if asked.get("projects") == []:
            raise ValidationError("must have at least one project; omit it for all projects", "projects")

    @validates_schema
    def fits_its_kind(self, asked: dict[str, Any], **_: Any) -> None:
        """An admin token cannot be limited; any other is for one environment."""
        is_admin = asked["type"] == "admin"
        if is_admin and asked.get("environment", "*") != "*":
            raise ValidationError("must be * for an admin token", "environment")
        if is_admin and "*" not in asked.get("projects", [asked.get("project", "*")]):
            raise ValidationError("must be * for an admin token", "project" if "project" in asked else "projects")
        if not is_admin and asked.get("environment") == "*":
            raise ValidationError("must be one environment; only admin tokens are for all", "environment")

    @post_load
    def in_one_word_each(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Each thing under the newer of its names; a list with * in it is for all projects."""
        name = asked.pop("username", None) or asked.pop("tokenName")
        projects = [asked.pop("project")] if "project" in asked else asked.pop("projects", ["*"])
        return asked | {"name": name, "projects": [] if "*" in projects else list(dict.fromkeys(projects))}


class UpdateApiToken(Body):
    """Another expiry of a token."""

    example: ClassVar = {"expiresAt": "2030-01-31T00:00:00Z"}

    expiresAt = DateTime(required=True, metadata={"description": "The instant until which the token works; past or to come."})
