"""Requests about API tokens."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import DateTime, ListOf, NotBlank, OneOf, Text
from validators.returned import UNLEASH_ONLY, ResponseOnly
from validators.tokens.origins import ANY, Origin

# Newer clients call a client token a backend token.
KINDS = ("admin", "client", "backend", "frontend")
TYPE = "Type of the token. Case is ignored. backend is another word for client."

API_TOKEN = ResponseOnly(
    "apiToken",
    ignored=("secret", "createdAt", "seenAt", "alias", *UNLEASH_ONLY["API token"]),
    read_only=dict.fromkeys(("tokenName", "username", "type", "environment", "project", "projects"), ""),
)

# Our choice: the maximum number of origins of a token.
MAX_ORIGINS = 100
ONLY_FRONTEND = "must be omitted or null; only a frontend token has origins"


class Origins(ListOf):
    """The origins whose pages can use a frontend token, or None for those of the setting FRONTEND_ORIGINS."""

    def __init__(self) -> None:
        description = (
            "Origins whose pages can use a frontend token, such as `https://shop.example.org`. `*` means all. null "
            "means those of the setting FRONTEND_ORIGINS."
        )
        super().__init__(Origin(), max=MAX_ORIGINS, what="origins", allow_none=True, description=description)

    def load_value(self, value: Any) -> list[str]:
        origins = list(dict.fromkeys(super().load_value(value)))
        # Our choice: an empty list is refused, so that a mistake is not taken for null.
        if not origins:
            raise ValidationError("must have at least one origin; null means those of the setting FRONTEND_ORIGINS")
        return [ANY] if ANY in origins else origins


class Secret(Text):
    """A secret that an operator chose."""

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if not (16 <= len(value) <= 255 and value.isprintable() and " " not in value):
            raise ValidationError("must have 16 to 255 printable characters without spaces")
        return value


class Kind(OneOf):
    """The type of a token, ignoring case."""

    def load_value(self, value: Any) -> str:
        return super().load_value(value.lower() if isinstance(value, str) else value)


class CreateApiToken(Body):
    """Body of a new token. Loaded as type, name, projects ([] for all), expiresAt, and environment or origins."""

    class Meta(Body.Meta):
        include = API_TOKEN.in_new(*API_TOKEN.read_only)

    example: ClassVar = {
        "type": "client",
        "tokenName": "checkout-service",
        "environment": "production",
        "projects": ["checkout"],
    }
    schema: ClassVar = {"anyOf": [{"required": ["tokenName"]}, {"required": ["username"]}]}
    # tokenName or username is required, and null counts as omitted.
    beyond_json_schema: ClassVar = (
        "is required|must be omitted with|for an admin token|only admin tokens|at least one|only a frontend token"
    )

    type = Kind(frozenset(KINDS), "admin, client, backend or frontend", required=True, description=TYPE)
    tokenName = NotBlank(min=1, max=255, description="Name of the token. It need not be unique.")
    username = NotBlank(
        min=1, max=255, description="The old name of tokenName. Send one of the two, or both if they are equal."
    )
    environment = Text(description="Environment of the token. An admin token has `*`, which means all.")
    project = Text(description="Project of the token. `*` means all.")
    projects = ListOf(
        Text(), what="projects", description="Projects of the token. `*` means all. With project, only the same ones."
    )
    expiresAt = DateTime(allow_none=True, load_default=None, description="Expiry of the token. null means never.")
    origins = Origins()

    @validates_schema
    def refuse_duplicate_properties(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two properties with the same meaning, and require a name."""
        if "tokenName" in data and data.get("username", data["tokenName"]) != data["tokenName"]:
            raise ValidationError("must be omitted with tokenName, or equal to it", "username")
        if "tokenName" not in data and "username" not in data:
            raise ValidationError("is required", "tokenName")
        # A token for several projects has them in project too, separated by commas.
        if "project" in data and sorted(data.get("projects", ())) not in ([], sorted(data["project"].split(","))):
            raise ValidationError("must be omitted with project, or equal to it", "projects")
        # Our choice: an empty list is refused, so that a mistake does not create a token for all projects.
        if data.get("projects") == []:
            raise ValidationError("must have at least one project; omit it for all projects", "projects")

    @validates_schema
    def check_limits(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse an admin token for one environment or some projects, and another token for all environments."""
        is_admin = data["type"] == "admin"
        if is_admin and data.get("environment", "*") != "*":
            raise ValidationError("must be * for an admin token", "environment")
        if is_admin and "*" not in data.get("projects", [data.get("project", "*")]):
            raise ValidationError("must be * for an admin token", "project" if "project" in data else "projects")
        if not is_admin and data.get("environment") == "*":
            raise ValidationError("must be one environment; only admin tokens are for all", "environment")
        if data["type"] != "frontend" and data.get("origins") is not None:
            raise ValidationError(ONLY_FRONTEND, "origins")

    @post_load
    def use_newer_names(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return each property under its newer name."""
        username = data.pop("username", None)
        name = data.pop("tokenName", username)
        project = data.pop("project", "*")
        projects = data.pop("projects", [project])
        return data | {"name": name, "projects": named_projects(projects)}


def named_projects(projects: list[str]) -> list[str]:
    """Return the different projects of a list, or [] for all projects if it contains *."""
    return [] if "*" in projects else list(dict.fromkeys(projects))


class CreateProjectApiToken(CreateApiToken):
    """Body of a new token for one project. projects None: the body names none."""

    example: ClassVar = {"type": "client", "tokenName": "checkout-service", "environment": "production"}

    type = Kind(frozenset(KINDS) - {"admin"}, "client, backend or frontend", required=True, description=TYPE)
    project = Text(description="The project of the path. You can omit it.")
    projects = ListOf(Text(), what="projects", description="A list with only the project of the path. You can omit it.")

    @post_load
    def use_newer_names(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return each property under its newer name."""
        names_projects = "project" in data or "projects" in data
        token = super().use_newer_names(data)
        return token if names_projects else token | {"projects": None}


class UpdateApiToken(Body):
    """Body of an update of a token: a new expiry, new origins, or both."""

    class Meta(Body.Meta):
        include = API_TOKEN.in_change()

    example: ClassVar = {"expiresAt": "2030-01-31T00:00:00Z"}
    schema: ClassVar = {"anyOf": [{"required": ["expiresAt"]}, {"required": ["origins"]}]}
    beyond_json_schema: ClassVar = "at least one|only a frontend token"

    expiresAt = DateTime(allow_none=True, description="Expiry of the token. It can be in the past. null means never.")
    origins = Origins()

    @validates_schema
    def require_change(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a body that changes nothing."""
        if "expiresAt" not in data and "origins" not in data:
            raise ValidationError("must have expiresAt or origins")
