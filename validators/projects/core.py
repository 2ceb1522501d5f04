"""Projects: making and changing them, their settings, and the list of them (neighbours.md 3.8)."""

import re
import unicodedata
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body, Query
from validators.fields import DESCRIPTION_MAX, Anything, Integer, ListOf, Name, Nested, OneOf, Text
from validators.projects import naming

NAME_MAX = 255
FLAG_NAME_MAX = 100
PATTERN_MAX = 255
MODES = frozenset({"open", "protected", "private"})

# Our choice: words that stand where the id stands in the address of something else, so that such a project could not be reached everywhere.
RESERVED = frozenset({"archive", "revive", "validate", "roles"})
SLUG_MAX = 90
NO_SLUG = "project"
# Letters that no accent can be taken from.
SPELLINGS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ı": "i"})


def mode_field(**kwargs: Any) -> OneOf:
    """Who may see the project."""
    return OneOf(MODES, "open, protected or private", metadata={"description": "private: hidden from all but members."}, **kwargs)


def stickiness_field(**kwargs: Any) -> Text:
    """What new rollouts keep together."""
    return Text(min=1, max=255, metadata={"description": "Stickiness of new variants and gradual rollouts."}, **kwargs)


def feature_limit_field() -> Integer:
    """How large the project may grow."""
    return Integer(min=0, max=2**31 - 1, allow_none=True, metadata={"description": "Most flags that the project may have; null: no limit."})


class NamedProject(Body):
    """What a project is called, and what for."""

    name = Text(min=1, max=NAME_MAX, required=True, metadata={"description": "Name of the project, not blank."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, metadata={"description": "What the project is for."})

    @validates_schema
    def name_is_not_blank(self, asked: dict[str, Any], **_: Any) -> None:
        """Spaces around a name stay, because tools compare what they sent with what they get."""
        if not asked["name"].strip():
            raise ValidationError("must not be blank", "name")


class NewProject(NamedProject):
    """The body of the creation; id None: to be made from the name. environments None: all that are enabled."""

    example: ClassVar = {"name": "Mobile app", "id": "mobile", "description": "Everything in the app.", "environments": ["development"]}
    unsaid: ClassVar = "must not be blank|must contain only|must not be [a-z.]"

    id = Text(max=100, metadata={"description": "Id of the project: A-Z, a-z, 0-9, -, _, . and ~; empty or left out: made from the name."})
    mode = mode_field(load_default="open")
    defaultStickiness = stickiness_field(load_default="default")
    featureLimit = feature_limit_field()
    environments = ListOf(Name(), metadata={"description": "Environments of the project; left out: all that are enabled."})
    changeRequestEnvironments = Anything(metadata={"description": "Taken and ignored."})

    @validates_schema
    def id_can_stand_in_addresses(self, asked: dict[str, Any], **_: Any) -> None:
        """As the name of a flag, and none of the words that stand there already."""
        if asked.get("id"):
            try:
                Name().deserialize(asked["id"])
            except ValidationError as error:
                raise ValidationError(error.messages, "id") from None
            if asked["id"] in RESERVED:
                raise ValidationError(f"must not be {', '.join(sorted(RESERVED))}: these words are reserved", "id")

    @post_load
    def as_kept(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Without what is ignored, and with None for what is left out."""
        kept = {key: asked.get(key) for key in self.fields if key != "changeRequestEnvironments"}
        return kept | {"id": kept["id"] or None}


class ProjectChange(NamedProject):
    """The body of the change: the keys that are to be other than they are, beside the name."""

    example: ClassVar = {"name": "Mobile app", "description": None, "mode": "private"}
    unsaid: ClassVar = "must not be blank"

    mode = mode_field()
    defaultStickiness = stickiness_field()
    featureLimit = feature_limit_field()
    id = Anything(metadata={"description": "Taken and ignored."})

    @post_load
    def as_kept(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Without what is ignored."""
        return {key: word for key, word in asked.items() if key != "id"}


class NamingInput(Body):
    """How flags must be named; without a pattern, any name will do."""

    example: ClassVar = {"pattern": "[a-z]+-[a-z-]+", "example": "shop-new-checkout", "description": "The team, then what the flag does."}
    unsaid: ClassVar = "must not|must use|must escape|is not a valid|must match|requires a pattern"

    pattern = Text(
        max=PATTERN_MAX,
        allow_none=True,
        metadata={"description": "Regular expression (RE2) for whole names; empty: none."},
    )
    example_ = Text(data_key="example", max=FLAG_NAME_MAX, allow_none=True, metadata={"description": "A name that matches the pattern."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, metadata={"description": "Shown to users who create a flag."})

    @validates_schema
    def is_understood(self, asked: dict[str, Any], **_: Any) -> None:
        """The pattern is one that can be worked with, and its example fits."""
        pattern = asked.get("pattern")
        if not pattern:
            needy = sorted(field.data_key or key for key, field in self.fields.items() if asked.get(key))
            if needy:
                raise ValidationError({key: ["requires a pattern"] for key in needy})
            return
        try:
            mismatches = naming.mismatches(pattern, filter(None, [asked.get("example_")]))
        except naming.PatternError as error:
            raise ValidationError(str(error), "pattern") from None
        if mismatches:
            raise ValidationError("must match the pattern", "example")

    @post_load
    def as_kept(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """All three keys; an empty text is as good as none."""
        return {field.data_key or key: asked.get(key) or None for key, field in self.fields.items()}


class ProjectSettings(Body):
    """The body of the change of settings: the keys that are to be other than they are."""

    example: ClassVar = {"mode": "protected", "featureNaming": {"pattern": "[a-z-]+", "example": "new-checkout"}, "featureLimit": 100}

    mode = mode_field()
    featureNaming = Nested(NamingInput, metadata={"description": "How flags must be named."})
    defaultStickiness = stickiness_field()
    featureLimit = feature_limit_field()
    linkTemplates = Anything(metadata={"description": "Taken and ignored."})

    @post_load
    def as_kept(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Without what is ignored, and None for a naming without a pattern."""
        kept = {key: word for key, word in asked.items() if key != "linkTemplates"}
        if "featureNaming" in kept and not kept["featureNaming"]["pattern"]:
            kept["featureNaming"] = None
        return kept


class ProjectFilter(Query):
    """Which projects are listed."""

    archived = Text(load_default="", metadata={"description": "true: only archived projects; anything else: only live ones."})


# Our choice: what becomes of the letters of a name in an id.
def slug(name: str) -> str:
    """An id made from a name: lower case, accents taken off, a hyphen for whatever is neither letter nor digit; at most 90 characters."""
    apart = unicodedata.normalize("NFKD", name.casefold().translate(SPELLINGS))
    plain = "".join(character for character in apart if not unicodedata.combining(character))
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_MAX].rstrip("-") or NO_SLUG
