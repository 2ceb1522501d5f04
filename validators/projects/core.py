"""Requests about projects and their settings."""

import re
import unicodedata
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates, validates_schema

from validators import Body, Query
from validators.fields import DESCRIPTION_MAX, Anything, Integer, ListOf, Name, Nested, NotBlank, OneOf, Text
from validators.projects import naming
from validators.projects.change_requests import ChangeRequestEnvironment
from validators.returned import UNLEASH_ONLY, ReadOnly, ResponseOnly

NAME_MAX = 255
FLAG_NAME_MAX = 100
PATTERN_MAX = 255
MODES = frozenset({"open", "protected", "private"})

PATH = "/api/admin/projects/{projectId}"
# Of all forms: the item of the list, the response of POST, the overviews and the health report.
PROJECT = ResponseOnly(
    "projectOverview project projectCreated legacyProjectOverview healthReport",
    ignored=(
        *("id", "version", "createdAt", "updatedAt", "archivedAt", "lastUpdatedAt", "lastReportedFlagUsage"),
        *("health", "featureCount", "memberCount", "members", "stats", "featureTypeCounts", "onboardingStatus"),
        *("features", "activeCount", "staleCount", "potentiallyStaleCount", "changeRequestEnvironments"),
        *UNLEASH_ONLY["project"],
    ),
    read_only={
        "environments": f"POST {PATH}/environments or DELETE {PATH}/environments/{{environment}}",
        "featureNaming": f"PUT {PATH}/settings",
        "favorite": f"POST {PATH}/favorites or DELETE {PATH}/favorites",
        "owners": f"PUT {PATH}/access",
    },
)

# Our choice: these words are invalid ids, because other paths have them in place of a project id. * means all projects.
RESERVED = ("archive", "revive", "roles", "validate", "*")
SLUG_MAX = 90
# The id of a project whose name has no letters and digits.
NO_SLUG = "project"
# The ASCII spellings of letters that are not a base letter with an accent.
SPELLINGS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ı": "i"}
)


def mode_field(**kwargs: Any) -> OneOf:
    """Return the field for the visibility of the project."""
    return OneOf(
        MODES,
        "open, protected or private",
        description="Mode of the project. Only members see a private project, and propose changes in a protected one.",
        **kwargs,
    )


def stickiness_field(**kwargs: Any) -> Text:
    """Return the field for the stickiness of new rollouts."""
    return Text(min=1, max=255, description="Stickiness of new variants and gradual rollouts.", **kwargs)


FEATURE_LIMIT = Integer(
    min=0, max=2**31 - 1, allow_none=True, description="Maximum number of flags in the project. null means no limit."
)


class EnvironmentName(Name):
    """The name of an environment, or an object with it, as overviews have them."""

    def load_value(self, value: Any) -> str:
        name = value.get("environment") if isinstance(value, dict) else value
        return super().load_value(name)


class LinkedEnvironments(ReadOnly):
    """The environments of a project, by name or as objects. Loads objects."""

    def deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the value as ReadOnlyValue."""
        if isinstance(value, list):
            value = [{"environment": item} if isinstance(item, str) else item for item in value]
        return super().deserialize(value, *args, **kwargs)


def read_only_fields(*set_here: str) -> dict[str, Anything]:
    """Return the fields of a PUT of a project that change nothing, without those that the PUT sets itself."""
    return PROJECT.in_change(*set_here) | {
        "environments": LinkedEnvironments(PROJECT.read_only["environments"], PROJECT.records)
    }


class NamedProject(Body):
    """The name and the description of a project."""

    name = NotBlank(min=1, max=NAME_MAX, required=True, description="Name of the project. It must not be blank.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Description of the project.")


class ProjectId(Body):
    """An id for a new project."""

    example: ClassVar = {"id": "mobile"}
    beyond_json_schema: ClassVar = "must not be archive"

    id = Name(required=True, description="Id to check.")

    @validates("id")
    def refuse_reserved_words(self, id: str, **_: Any) -> None:
        """Refuse words that are part of other paths."""
        refuse_reserved(id)


def refuse_reserved(id: str) -> None:
    """Raise ValidationError for reserved words."""
    if id in RESERVED:
        raise ValidationError(f"must not be {', '.join(RESERVED)}: these words are reserved", "id")


class NewProject(NamedProject):
    """Body of a new project. Loaded id None: make the id from the name. environments None: all enabled ones."""

    class Meta(Body.Meta):
        include = PROJECT.in_new("id", "environments", "changeRequestEnvironments")

    example: ClassVar = {
        "name": "Mobile app",
        "id": "mobile",
        "description": "Everything in the app.",
        "environments": ["development"],
    }
    beyond_json_schema: ClassVar = "must contain only|must not be [a-z.]"
    drops_empty: ClassVar = frozenset({"id"})

    id = Text(
        max=100, description="Id of the project: A-Z, a-z, 0-9 and - _ . ~ ! * ' ( ). By default, made from the name."
    )
    mode = mode_field(load_default="open")
    defaultStickiness = stickiness_field(load_default="default")
    featureLimit = FEATURE_LIMIT
    environments = ListOf(
        EnvironmentName(), description="Environments of the project. By default, all enabled environments."
    )
    changeRequestEnvironments = ListOf(
        Nested(ChangeRequestEnvironment),
        load_default=list,
        description="Environments of the project in which changes need a change request.",
    )

    @validates_schema
    def check_id(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse ids that are invalid in a path, and reserved words."""
        if "id" in data:
            try:
                Name().deserialize(data["id"])
            except ValidationError as error:
                raise ValidationError(error.messages, "id") from None
            refuse_reserved(data["id"])

    @post_load
    def fill_omitted(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Set omitted properties to None."""
        optional = ("id", "description", "featureLimit", "environments")
        return dict.fromkeys(optional) | data


class ProjectChange(NamedProject):
    """Body of an update: the name and the changed properties."""

    class Meta(Body.Meta):
        include = read_only_fields()

    example: ClassVar = {"name": "Mobile app", "description": None, "mode": "private"}

    mode = mode_field()
    defaultStickiness = stickiness_field()
    featureLimit = FEATURE_LIMIT


class NamingInput(Body):
    """The naming rule for flags. Without a pattern, every name is valid."""

    example: ClassVar = {
        "pattern": "[a-z]+-[a-z-]+",
        "example": "shop-new-checkout",
        "description": "The team, then what the flag does.",
    }
    beyond_json_schema: ClassVar = "must not|must use|must escape|is not a valid|must match|requires a pattern"

    pattern = Text(
        max=PATTERN_MAX,
        allow_none=True,
        description="Regular expression (RE2) for whole names. An empty text means no pattern.",
    )
    example_ = Text(
        data_key="example", max=FLAG_NAME_MAX, allow_none=True, description="A name that matches the pattern."
    )
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Shown to users who create a flag.")

    @validates_schema
    def check_pattern(self, data: dict[str, Any], **_: Any) -> None:
        """Check that the pattern is valid and that the example matches."""
        pattern = data.get("pattern")
        if not pattern:
            others = sorted(field.data_key or key for key, field in self.fields.items() if data.get(key))
            if others:
                raise ValidationError({key: ["requires a pattern"] for key in others})
            return
        try:
            mismatches = naming.mismatches(pattern, filter(None, [data.get("example_")]))
        except naming.PatternError as error:
            raise ValidationError(str(error), "pattern") from None
        if mismatches:
            raise ValidationError("must match the pattern", "example")

    @post_load
    def fill_omitted(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return all three keys. Empty texts become None."""
        return {field.data_key or key: data.get(key) or None for key, field in self.fields.items()}


class ProjectSettings(Body):
    """Body of an update of the settings: the changed properties."""

    class Meta(Body.Meta):
        include = read_only_fields("featureNaming") | {
            "name": ReadOnly(f"PUT {PATH}", PROJECT.records),
            "description": ReadOnly(f"PUT {PATH}", PROJECT.records),
        }

    example: ClassVar = {
        "mode": "protected",
        "featureNaming": {"pattern": "[a-z-]+", "example": "new-checkout"},
        "featureLimit": 100,
    }

    mode = mode_field()
    featureNaming = Nested(NamingInput, description="Naming rule for flags.")
    defaultStickiness = stickiness_field()
    featureLimit = FEATURE_LIMIT

    @post_load
    def drop_empty_naming(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return None for a naming without a pattern."""
        naming = data.get("featureNaming")
        return data | {"featureNaming": None} if naming and not naming["pattern"] else data


class ProjectFilter(Query):
    """Query parameters of the list of projects."""

    archived = Text(
        load_default="", description="true returns only archived projects. Any other value returns only live ones."
    )


# Our choice: how the letters of a name become an id.
def slug(name: str) -> str:
    """Return an id made from a name: in lower case, without accents, at most 90 characters.

    A hyphen replaces everything that is neither a letter nor a digit.
    """
    decomposed = unicodedata.normalize("NFKD", name.casefold().translate(SPELLINGS))
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_MAX].rstrip("-") or NO_SLUG
