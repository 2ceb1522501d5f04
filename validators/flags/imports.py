"""Documents of flags, as they are imported (neighbours.md 1.7 and 3.17). They are open: what other versions write is passed over."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import DESCRIPTION_MAX, Anything, Boolean, Integer, ListOf, Name, Nested, OneOf, Text, Trimmed
from validators.flags.core import TYPES, WHAT_TYPES
from validators.flags.strategies import StrategyInput, Variants
from validators.flags.variants import Override, Payload, StrategyVariant, Variant
from validators.vocabulary.constraints import Constraint
from validators.vocabulary.context_fields import CreateContextField, LegalValue
from validators.vocabulary.tag_types import CreateTagType


class Open(Body.Meta):
    """Ignore unknown properties."""

    unknown = "exclude"


class ImportedFeature(Body):
    """What a flag says of itself; of a flag that is here already, what is absent stays."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"name": "new-checkout", "type": "release", "description": "The checkout on one page."}

    name = Name(required=True, metadata={"description": "Name of the flag."})
    type = OneOf(TYPES, WHAT_TYPES, metadata={"description": "What kind of flag it is; release if absent."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, metadata={"description": "What it is for."})
    stale = Boolean(metadata={"description": "Whether it is marked stale."})
    impressionData = Boolean(metadata={"description": "Whether SDKs tell when it is asked for."})
    project = Anything(metadata={"description": "Ignored: the request says where it is to go."})
    archived = Anything(metadata={"description": "Ignored: what is imported is live."})


class ImportedConstraint(Constraint):
    """A condition of a strategy."""

    class Meta(Open):
        pass


class ImportedPayload(Payload):
    """What comes with a variant."""

    class Meta(Open):
        pass


class ImportedStrategyVariant(StrategyVariant):
    """One of a strategy's variants."""

    class Meta(Open):
        pass

    payload = Nested(ImportedPayload, metadata={"description": "What comes with the variant."})


class ImportedOverride(Override):
    """Gives a variant to those whose context field has one of the values."""

    class Meta(Open):
        pass


class ImportedVariant(Variant):
    """One of a flag's variants."""

    class Meta(Open):
        pass

    payload = Nested(ImportedPayload, metadata={"description": "What comes with the variant."})
    overrides = ListOf(Nested(ImportedOverride), load_default=list, metadata={"description": "Who gets the variant in any case."})


class ImportedStrategy(StrategyInput):
    """A strategy of one of the flags."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", **StrategyInput.example}

    # Our choice: it is kept when it is free, so that an instance can be made again as it was.
    id = Text(metadata={"description": "Id of the strategy, a UUID; another is made when it is none, or is taken."})
    featureName = Name(required=True, metadata={"description": "Name of the flag."})
    constraints = ListOf(Nested(ImportedConstraint), load_default=list, metadata={"description": "Conditions, all of which must hold."})
    variants = Variants(Nested(ImportedStrategyVariant), load_default=list, metadata={"description": "Variants of the strategy."})
    segments = ListOf(Integer(min=1), load_default=list, metadata={"description": "Ids of segments of this document."})


class ImportedEnvironment(Body):
    """Whether one of the flags is on, and its variants; what is absent stays as it is."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", "enabled": True, "variants": []}
    unsaid: ClassVar[str] = StrategyInput.unsaid

    featureName = Name(required=True, metadata={"description": "Name of the flag."})
    name = Anything(metadata={"description": "Ignored: the name of the flag, once more."})
    environment = Anything(metadata={"description": "Ignored: the request says where it is to go."})
    enabled = Boolean(metadata={"description": "Whether it is on."})
    variants = Variants(Nested(ImportedVariant), metadata={"description": "Variants of the flag."})


class ImportedLegalValue(LegalValue):
    """A value that a context field can have."""

    class Meta(Open):
        pass


class ImportedContextField(CreateContextField):
    """A context field that the strategies use; it is made when there is none of its name."""

    class Meta(Open):
        pass

    description = Text(max=250, allow_none=True, load_default=None, metadata={"description": "What the field says."})
    legalValues = ListOf(
        Nested(ImportedLegalValue), load_default=list, metadata={"description": "The values that the field can have; none: any."}
    )


class ImportedSegment(Body):
    """A segment that the strategies name; there must be one of its name."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"id": 1, "name": "beta testers"}

    id = Integer(min=1, required=True, metadata={"description": "Id by which the strategies of this document name it."})
    name = Text(min=1, max=255, required=True, metadata={"description": "Name of the segment."})


class ImportedTagType(CreateTagType):
    """A type of the tags; it is made when there is none of its name."""

    class Meta(Open):
        pass

    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, metadata={"description": "What tags of this type say."})


class ImportedTag(Body):
    """A tag of one of the flags."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"featureName": "new-checkout", "tagType": "simple", "tagValue": "beta"}

    featureName = Name(required=True, metadata={"description": "Name of the flag."})
    tagType = Text(min=1, max=50, required=True, metadata={"description": "Type of the tag."})
    tagValue = Trimmed(min=2, max=50, required=True, metadata={"description": "The tag's own word."})


class ImportedParent(Body):
    """A flag on which another one depends."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"feature": "new-cart", "enabled": True, "variants": []}
    unsaid: ClassVar[str] = "only be set if enabled"

    feature = Name(required=True, metadata={"description": "Name of the flag on which it depends."})
    enabled = Boolean(load_default=True, metadata={"description": "Whether that one must be on, or off."})
    variants = ListOf(
        Text(min=1, max=255), load_default=list, metadata={"description": "Variants of which that one must give one; none: any."}
    )

    @validates_schema
    def has_variants_of_enabled(self, asked: dict[str, Any], **_: Any) -> None:
        """A flag that is off gives no variant."""
        if asked["variants"] and not asked["enabled"]:
            raise ValidationError("can only be set if enabled is true", "variants")


class ImportedDependencies(Body):
    """What one of the flags depends on."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {"feature": "new-checkout", "dependencies": [ImportedParent.example]}
    unsaid: ClassVar[str] = ImportedParent.unsaid

    feature = Name(required=True, metadata={"description": "Name of the flag that depends on others."})
    dependencies = ListOf(Nested(ImportedParent), required=True, metadata={"description": "The flags on which it depends."})


class FlagDocument(Body):
    """An export of this service, or of one that is compatible with it."""

    class Meta(Open):
        pass

    example: ClassVar[dict[str, Any]] = {
        "features": [ImportedFeature.example],
        "featureStrategies": [ImportedStrategy.example],
        "featureEnvironments": [ImportedEnvironment.example],
        "contextFields": [],
        "segments": [],
        "tagTypes": [],
        "featureTags": [ImportedTag.example],
        "dependencies": [],
    }

    features = ListOf(Nested(ImportedFeature), required=True, metadata={"description": "The flags."})
    featureStrategies = ListOf(Nested(ImportedStrategy), required=True, metadata={"description": "Their strategies."})
    featureEnvironments = ListOf(Nested(ImportedEnvironment), load_default=list, metadata={"description": "Their states."})
    contextFields = ListOf(Nested(ImportedContextField), load_default=list, metadata={"description": "Context fields that they use."})
    segments = ListOf(Nested(ImportedSegment), load_default=list, metadata={"description": "Segments that they use."})
    tagTypes = ListOf(Nested(ImportedTagType), required=True, metadata={"description": "Types of their tags."})
    featureTags = ListOf(Nested(ImportedTag), metadata={"description": "Their tags; absent: they keep those that they have."})
    dependencies = ListOf(Nested(ImportedDependencies), load_default=list, metadata={"description": "What they depend on."})


class ImportFlags(Body):
    """A document, and where its flags are to go."""

    example: ClassVar[dict[str, Any]] = {"project": "default", "environment": "development", "data": FlagDocument.example}

    project = Text(min=1, required=True, metadata={"description": "Id of the project that the flags are to be in."})
    environment = Text(min=1, required=True, metadata={"description": "Environment that gets their strategies, variants and states."})
    data = Nested(FlagDocument, required=True, metadata={"description": "The document."})
