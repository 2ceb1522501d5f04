"""What a move into this instance brings: the records of an Unleash server, or of a file."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from rules.import_report import first_names

Json = dict[str, Any]


@dataclass
class Contents:
    """Records in one form for every source. Readers fill it, and rules/instance_import.py writes it."""

    # Such as "Unleash 8.2.0 at https://old.example (OSS)" or "State file of version 4".
    source: str
    # Of a running Unleash, for the event instance-imported.
    url: str | None = None
    version: str | None = None
    # name, type, sortOrder, enabled
    environments: list[Json] = field(default_factory=list)
    # id, name, description, mode, defaultStickiness, featureLimit,
    # featureNaming {pattern, example, description} or None, environments: those that are linked,
    # [{environment, defaultStrategy or None}]
    projects: list[Json] = field(default_factory=list)
    # name, description, legalValues [{value, description?}], stickiness, sortOrder
    context_fields: list[Json] = field(default_factory=list)
    # name, description, icon
    tag_types: list[Json] = field(default_factory=list)
    # type, value; also those without a flag
    tags: list[Json] = field(default_factory=list)
    # Custom ones: name, description, parameters [{name, type, description, required}], deprecated, title, displayName
    strategy_types: list[Json] = field(default_factory=list)
    # id, name, description, lifetimeDays
    flag_types: list[Json] = field(default_factory=list)
    # id (of the source), name, description, project or None, constraints
    segments: list[Json] = field(default_factory=list)
    # name, project, type, description, stale, impressionData, createdAt, archivedAt, tags, links [{url, title}],
    # dependencies [{feature, enabled, variants}], environments: [{environment, enabled, variants, strategies}].
    # A strategy: name, title, disabled, parameters, constraints, variants, segments (ids of the source), in order.
    flags: list[Json] = field(default_factory=list)
    # secret or None, tokenName, type, environment, projects, createdAt, expiresAt, seenAt
    api_tokens: list[Json] = field(default_factory=list)
    # id (of the source), name, email, username, rootRole (id of the source), isService
    users: list[Json] = field(default_factory=list)
    # id (of the source), name, description, type, permissions [{name, environment}]
    roles: list[Json] = field(default_factory=list)
    # name, description, mappingsSSO, rootRole, users (ids of the source)
    groups: list[Json] = field(default_factory=list)
    # project, users [{id, roles}], groups [{name, roles}], with ids of the source
    access: list[Json] = field(default_factory=list)
    # Lines for the report: what was not readable, or is never moved.
    warnings: list[str] = field(default_factory=list)

    def warn(self, message: str, names: Collection[str]) -> None:
        """Add a warning with names, unless there are none."""
        if names:
            self.warnings.append(f"{message}: {first_names([*names])}.")
