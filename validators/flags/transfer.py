"""Exports and imports of flags. Unknown properties of a document are ignored."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, pre_load, validates_schema
from marshmallow.fields import Raw

from validators import Body, OpenBody
from validators.catalog.constraints import Constraint
from validators.catalog.context_fields import LEGAL_VALUES, CreateContextField, LegalValue
from validators.catalog.tag_types import CreateTagType
from validators.fields import DAY, DESCRIPTION_MAX, Boolean, Integer, ListOf, Name, Nested, OneOf, Text, Trimmed
from validators.flags.core import TYPE_WORDS, TYPES
from validators.flags.dependencies import PARENT_VARIANTS
from validators.flags.links import URL_MAX, FlagLink
from validators.flags.strategies import StrategyInput, Variants
from validators.flags.variants import Override, Payload, StrategyVariant, Variant
from validators.returned import Ignored

# The maximum entries of each list of a document. 40,000 flags can have several strategies and tags each.
MAX_ENTRIES = 200_000
SELECTORS = ("features", "tag", "project")
FLAG_NAME = "Name of the flag."


class ExportFlags(Body):
    """An environment, and a choice of flags."""

    example: ClassVar[dict[str, Any]] = {
        "environment": "development",
        "features": ["new-checkout", "old-checkout"],
        "downloadFile": False,
    }
    beyond_json_schema: ClassVar[str] = "must have tag, features, project"
    drops_empty: ClassVar[frozenset[str]] = frozenset({"tag"})

    environment = Text(
        min=1, required=True, description="Environment whose strategies, variants and states are exported."
    )
    features = ListOf(
        Text(),
        what="names",
        description="Names of the flags. Unknown names are ignored. An empty list means all flags.",
    )
    tag = Text(description="Value of a tag of any type. Exports the flags with it. Ignored if empty.")
    project = Text(description="Id of a project. Exports only flags of this project.")
    downloadFile = Boolean(load_default=False, description="Whether browsers save the document as a file.")

    @validates_schema
    def require_selector(self, body: dict[str, Any], **_: Any) -> None:
        """Raise ValidationError unless the body has tag alone, or features or project."""
        given = [selector for selector in SELECTORS if selector in body]
        if not given or (len(given) > 1 and "tag" in given):
            raise ValidationError("must have tag, features, project, or features and project")

    # Our choice: features and project together mean the flags of the project with these names.
    @post_load
    def add_selectors(self, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add the key selectors: the conditions that a flag must meet, with their values."""
        selectors = {name: body[name] for name in SELECTORS if body.get(name, []) != []}
        return body | {"selectors": selectors or {"environment": body["environment"]}}


class ImportedLink(OpenBody, FlagLink):
    """A link of one of the flags. It gets another id."""

    url = Text(max=URL_MAX, required=True, description="URL of the page. Links without https: or http: are left out.")


class ImportedLinks(OpenBody):
    """The links of one of the flags, which replace those that it has."""

    example: ClassVar[dict[str, Any]] = {"feature": "new-checkout", "links": [ImportedLink.example]}

    feature = Name(required=True, description=FLAG_NAME)
    links = ListOf(Nested(ImportedLink), required=True, description="The links of the flag.")


class ImportedFeature(OpenBody):
    """The properties of a flag. Omitted properties of an existing flag keep their values."""

    example: ClassVar[dict[str, Any]] = {
        "name": "new-checkout",
        "type": "release",
        "description": "The checkout on one page.",
    }

    name = Name(required=True, description=FLAG_NAME)
    type = OneOf(TYPES, TYPE_WORDS, description="Type of the flag. Default: release.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Purpose of the flag.")
    stale = Boolean(description="Whether the flag is marked stale.")
    impressionData = Boolean(description="Whether SDKs emit impression events.")
    links = ListOf(Nested(ImportedLink), description="Links of the flag, unless the list links has it.")
    project = Ignored("The project of the request counts.", "flag")
    archived = Ignored("Imported flags are live.", "flag")


class ImportedConstraint(OpenBody, Constraint):
    """A condition of a strategy."""

    @pre_load
    def read_date_as_midnight(self, data: Any, **_: Any) -> Any:
        """Read a date without a time as midnight UTC."""
        if isinstance(data, dict) and isinstance(value := data.get("value"), str) and DAY.fullmatch(value):
            is_date = str(data.get("operator")).startswith("DATE_")
            return data | {"value": f"{value}T00:00:00Z"} if is_date else data
        return data


class ImportedPayload(OpenBody, Payload):
    """The payload of a variant."""


class ImportedStrategyVariant(OpenBody, StrategyVariant):
    """A variant of a strategy."""

    payload = Nested(ImportedPayload, description="Payload of the variant.")
    overrides = Ignored("Only variants of flags have overrides.", "flagVariant")


class ImportedOverride(OpenBody, Override):
    """An override: users whose context field has one of the values get the variant."""


class ImportedVariant(OpenBody, Variant):
    """A variant of a flag."""

    payload = Nested(ImportedPayload, description="Payload of the variant.")
    overrides = ListOf(Nested(ImportedOverride), load_default=list, description="Users who always get this variant.")


class ImportedStrategy(OpenBody, StrategyInput):
    """A strategy of one of the flags."""

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", **StrategyInput.example}

    # Our choice: the strategy keeps its id if the id is free, so that an import can restore an instance as it was.
    id = Text(description="Id of the strategy. If it is not a UUID, or is in use, the strategy gets another one.")
    featureName = Name(required=True, description=FLAG_NAME)
    constraints = ListOf(
        Nested(ImportedConstraint), load_default=list, description="Constraints. All of them must be true."
    )
    variants = Variants(Nested(ImportedStrategyVariant), load_default=list, description="Variants of the strategy.")
    segments = ListOf(Integer(min=1), load_default=list, description="Ids of segments of this document.")


class ImportedEnvironment(OpenBody):
    """The state of a flag and its variants. Omitted properties keep their values."""

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", "enabled": True, "variants": []}
    beyond_json_schema: ClassVar[str] = StrategyInput.beyond_json_schema

    featureName = Name(required=True, description=FLAG_NAME)
    name = Ignored("The name of the flag again.", "flag")
    environment = Ignored("The environment of the request counts.", "flagEnvironment")
    enabled = Boolean(description="Whether the flag is on.")
    variants = Variants(Nested(ImportedVariant), description="Variants of the flag.")


class ImportedLegalValue(OpenBody, LegalValue):
    """A legal value of a context field."""


class ImportedContextField(OpenBody, CreateContextField):
    """A context field that the strategies use. The import creates it if it does not exist."""

    description = Text(max=250, allow_none=True, load_default=None, description="Meaning of the field.")
    legalValues = ListOf(Nested(ImportedLegalValue), load_default=list, description=LEGAL_VALUES)


class ImportedSegment(OpenBody):
    """A segment that the strategies use. If it does not exist, the import creates it with the constraints."""

    example: ClassVar[dict[str, Any]] = {"id": 1, "name": "beta testers", "constraints": [Constraint.example]}
    beyond_json_schema: ClassVar[str] = Constraint.beyond_json_schema

    id = Integer(min=1, required=True, description="Id that the strategies of this document use.")
    name = Text(min=1, max=255, required=True, description="Name of the segment.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, description="Description.")
    project = Text(
        allow_none=True,
        load_default=None,
        description="Id of a project. With one, a new segment is for the project of the request, otherwise for all.",
    )
    constraints = ListOf(Nested(ImportedConstraint), description="Constraints. Without them, the segment must exist.")


class ImportedTagType(OpenBody, CreateTagType):
    """A tag type. The import creates it if it does not exist."""

    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, description="Meaning of its tags.")


class ImportedTag(OpenBody):
    """A tag of one of the flags."""

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", "tagType": "simple", "tagValue": "beta"}

    featureName = Name(required=True, description=FLAG_NAME)
    tagType = Text(min=1, max=50, required=True, description="Type of the tag.")
    tagValue = Trimmed(min=2, max=50, required=True, description="Value of the tag.")


class ImportedParent(OpenBody):
    """A parent that the flag depends on."""

    example: ClassVar[dict[str, Any]] = {"feature": "new-cart", "enabled": True, "variants": []}
    beyond_json_schema: ClassVar[str] = "only be set if enabled"

    feature = Name(required=True, description="Name of the parent.")
    enabled = Boolean(load_default=True, description="Whether the parent must be on (true) or off (false).")
    variants = ListOf(Text(min=1, max=255), load_default=list, description=PARENT_VARIANTS)

    @validates_schema
    def refuse_variants_of_disabled(self, parent: dict[str, Any], **_: Any) -> None:
        """Refuse variants of a parent that must be off, which returns none."""
        if parent["variants"] and not parent["enabled"]:
            raise ValidationError("can only be set if enabled is true", "variants")


class ImportedDependencies(OpenBody):
    """The parents of one of the flags."""

    example: ClassVar[dict[str, Any]] = {"feature": "new-checkout", "dependencies": [ImportedParent.example]}
    beyond_json_schema: ClassVar[str] = ImportedParent.beyond_json_schema

    feature = Name(required=True, description=FLAG_NAME)
    dependencies = ListOf(Nested(ImportedParent), required=True, description="The parents of the flag.")


class Entries(ListOf):
    """A list whose entries are not checked here. read_entries() loads them, to report errors by flag."""

    def load_value(self, value: Any) -> list[Any]:
        return ListOf(Raw(allow_none=True), max=MAX_ENTRIES).load_value(value)


class FlagDocument(OpenBody):
    """A document that this service or a compatible one exported."""

    example: ClassVar[dict[str, Any]] = {
        "features": [ImportedFeature.example],
        "featureStrategies": [ImportedStrategy.example],
        "featureEnvironments": [ImportedEnvironment.example],
        "contextFields": [],
        "segments": [],
        "tagTypes": [],
        "featureTags": [ImportedTag.example],
        "dependencies": [],
        "links": [ImportedLinks.example],
    }

    @pre_load
    def refuse_state_file(self, data: Any, **_: Any) -> Any:
        """Refuse a state file of Unleash 3 to 5, which has other lists."""
        if isinstance(data, dict) and data.get("version") in (1, 2, 3, 4):
            raise ValidationError("must not be a state file. Import it with the command ./flags import FILE")
        return data

    features = Entries(Nested(ImportedFeature), required=True, description="The flags.")
    featureStrategies = Entries(Nested(ImportedStrategy), required=True, description="Strategies of the flags.")
    featureEnvironments = Entries(
        Nested(ImportedEnvironment), load_default=list, description="States and variants of the flags."
    )
    contextFields = Entries(
        Nested(ImportedContextField), load_default=list, description="Context fields that they use."
    )
    segments = Entries(Nested(ImportedSegment), load_default=list, description="Segments that they use.")
    tagTypes = Entries(Nested(ImportedTagType), required=True, description="Types of their tags.")
    featureTags = Entries(
        Nested(ImportedTag), description="Tags of the flags. If they are omitted, flags keep their tags."
    )
    dependencies = Entries(Nested(ImportedDependencies), load_default=list, description="Dependencies of the flags.")
    links = Entries(Nested(ImportedLinks), description="Links of the flags. Flags that are omitted keep their links.")


class ImportFlags(Body):
    """A document, and the project and environment for its flags."""

    example: ClassVar[dict[str, Any]] = {
        "project": "default",
        "environment": "development",
        "data": FlagDocument.example,
    }

    project = Text(min=1, required=True, description="Id of the project for the flags.")
    environment = Text(min=1, required=True, description="Environment for their strategies, variants and states.")
    data = Nested(FlagDocument, required=True, description="The document.")
