"""Requests for the flags of an application."""

import re
from typing import ClassVar

from werkzeug.exceptions import BadRequest

from validators import Query
from validators.fields import Text
from validators.flags.core import TagFilter
from validators.query_fields import Repeated

# Of semver.org. SDKs send the version of the client specification that they follow.
SPEC_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)
# From this version on, SDKs read the list of segments.
READS_SEGMENTS = (4, 2, 0)


class ClientFeature(Query):
    """The environment of a flag that an application wants."""

    environment = Text(load_default="", description="Name of the environment. Only for tokens for all environments.")


class ClientFeatures(ClientFeature):
    """Which flags of its token an application wants."""

    beyond_json_schema: ClassVar[str] = "a type and a value"

    project = Repeated(
        Text(),
        load_default=[],
        description="Id of a project. Several combine with OR. Only for tokens for all projects.",
    )
    namePrefix = Text(min=1, description="Text at the start of the name.")
    tag = Repeated(TagFilter(), load_default=[], description="Tag, such as simple:beta. Several combine with OR.")


def reads_segments(spec_version: str | None) -> bool:
    """Return whether an SDK with this header Unleash-Client-Spec reads the list of segments. Raise 400 if malformed."""
    if spec_version is None:
        return False
    matched = SPEC_VERSION.fullmatch(spec_version)
    if matched is None or len(spec_version) > 100:
        raise BadRequest("The header Unleash-Client-Spec must be a version such as 5.2.0.")
    return tuple(map(int, matched.groups()[:3])) >= READS_SEGMENTS
