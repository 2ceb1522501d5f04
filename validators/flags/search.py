"""The query parameters of the flag search."""

from collections.abc import Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, pre_load

from validators import Query
from validators.events import QUERY_MAX
from validators.fields import BIGINT_MAX, DAY, INTEGER, OneOf, Text
from validators.query_fields import Day, Repeated, WholeNumber

# For each operator: True if it includes the flags with one of the values, False if it excludes them. IS accepts several
# values, like IS_ANY_OF.
VALUE_OPERATORS = {"IS": True, "IS_ANY_OF": True, "IS_NOT": False, "IS_NONE_OF": False}
# For each operator: whether a flag matches that has any of the values or only one that has all of them, and whether
# matching flags are included (True) or excluded.
SET_OPERATORS = {
    "INCLUDE": ("any", True),
    "INCLUDE_ANY_OF": ("any", True),
    "INCLUDE_ALL_OF": ("all", True),
    "DO_NOT_INCLUDE": ("any", False),
    "EXCLUDE_IF_ANY_OF": ("any", False),
    "EXCLUDE_ALL": ("all", False),
}
DATE_OPERATORS = ("IS_BEFORE", "IS_ON_OR_AFTER")
SORT_KEYS = frozenset({"createdAt", "name", "type", "project", "stale", "lastSeenAt"})
ENVIRONMENT_PREFIX = "environment:"
# Our choice: a limit, because PostgreSQL compares each text with the name and the description of each flag.
MAX_TEXTS = 20


def split(text: str, operators: Sequence[str], example: str) -> tuple[str, str]:
    """Return the operator and the text after the colon. Raise ValidationError if the operator is unknown."""
    operator, colon, rest = text.partition(":")
    if not colon or operator not in operators:
        raise ValidationError(f"must look like {example}")
    return operator, rest


class ValueFilter(Text):
    """A filter such as IS:a, IS_NOT:a, IS_ANY_OF:a,b or IS_NONE_OF:a,b, loaded as (is_included, values)."""

    def load_value(self, value: Any) -> Any:
        text = super().load_value(value)
        operator, rest = split(text, list(VALUE_OPERATORS), "IS:one or IS_NONE_OF:one,two")
        return VALUE_OPERATORS[operator], self.read(rest.split(","))

    def read(self, values: list[str]) -> list[Any]:
        """Return the values in the form in which they are compared."""
        return values


class UserIdFilter(ValueFilter):
    """A value filter with user ids. An empty value matches no flag."""

    def read(self, values: list[str]) -> list[Any]:
        if values == [""]:
            return []
        if not all(INTEGER.fullmatch(word) and len(word) <= 40 and abs(int(word)) <= BIGINT_MAX for word in values):
            raise ValidationError("must be user ids, which are integers")
        return [int(word) for word in values]


class WordFilter(ValueFilter):
    """A value filter with some of these words."""

    def __init__(self, words: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = words.split()

    def read(self, values: list[str]) -> list[Any]:
        if not set(values) <= set(self.words):
            raise ValidationError(f"must have only these values: {', '.join(self.words)}")
        return values


class SetFilter(Text):
    """A filter such as INCLUDE:a or EXCLUDE_ALL:a,b, loaded as ("any" or "all", is_included, values)."""

    def load_value(self, value: Any) -> Any:
        text = super().load_value(value)
        operator, rest = split(text, list(SET_OPERATORS), "INCLUDE:one or EXCLUDE_IF_ANY_OF:one,two")
        return *SET_OPERATORS[operator], self.read(rest.split(","))

    def read(self, values: list[str]) -> list[str]:
        """Return the values in the form in which they are compared."""
        return values


class TagFilter(SetFilter):
    """A set filter with tags in the form type:value. The value of a tag can contain colons."""

    def read(self, values: list[str]) -> list[str]:
        if not all(0 < word.find(":") < len(word) - 1 for word in values):
            raise ValidationError("must be tags such as simple:beta")
        return values


class DateFilter(Text):
    """A filter IS_BEFORE:yyyy-MM-dd or IS_ON_OR_AFTER:yyyy-MM-dd, loaded as (operator, day)."""

    def load_value(self, value: Any) -> Any:
        text = super().load_value(value)
        operator, rest = split(text, DATE_OPERATORS, "IS_BEFORE:2024-05-31 or IS_ON_OR_AFTER:2024-05-31")
        if not DAY.fullmatch(rest):
            raise ValidationError("must look like IS_BEFORE:2024-05-31 or IS_ON_OR_AFTER:2024-05-31")
        return operator, Day().deserialize(rest)


class EnvironmentState(Text):
    """A state such as production:enabled or production:disabled, loaded as (environment, is_enabled)."""

    def load_value(self, value: Any) -> Any:
        environment, colon, word = super().load_value(value).rpartition(":")
        if not colon or not environment or word not in ("enabled", "disabled"):
            raise ValidationError("must look like production:enabled or production:disabled")
        return environment, word == "enabled"


class FeatureSearch(Query):
    """The query parameters of GET /api/admin/search/features, loaded for sql/flags/search.py."""

    beyond_json_schema: ClassVar[str] = (
        "a valid date|user ids|only these values|must be tags|must have at most|NUL|surrogates"
    )

    query = Text(
        max=QUERY_MAX, description=f"At most {MAX_TEXTS} texts, separated by commas. Searches names and descriptions."
    )
    project = ValueFilter(description="Ids of projects, such as IS:default or IS_NONE_OF:default,shop.")
    type = ValueFilter(description="Types of flags, such as IS_ANY_OF:release,experiment.")
    state = WordFilter("active stale", description="IS:active or IS:stale.")
    createdBy = UserIdFilter(
        description="Ids of the creators of flags, such as IS:1 or IS_ANY_OF:1,2. -42 means API tokens."
    )
    favorite = WordFilter("true false", description="IS:true returns your favorites, IS:false the other flags.")
    lifecycle = WordFilter(
        "initial pre-live live completed archived",
        description="Stages: initial, pre-live, live, completed or archived. If it includes archived, archived flags "
        "are found too, unless the parameter archived says otherwise.",
    )
    tag = TagFilter(description="Tags, such as INCLUDE:simple:beta or EXCLUDE_IF_ANY_OF:simple:a,simple:b.")
    segment = SetFilter(description="Names of segments that strategies use, such as INCLUDE:Beta testers.")
    status = Repeated(
        EnvironmentState(), description="State in an environment, such as production:enabled. Several combine with OR."
    )
    # Our choice: other forms are 400. Ignoring them would return live flags to callers that asked for archived ones.
    archived = OneOf(
        frozenset({"IS:true", "IS:false"}),
        "IS:true or IS:false",
        description="IS:true returns archived flags, IS:false live ones. Default: IS:false, unless lifecycle includes "
        "archived.",
    )
    createdAt = DateFilter(description="Day of creation in UTC, such as IS_ON_OR_AFTER:2026-01-01.")
    lastSeenAt = DateFilter(
        description="Day in UTC when an application last reported the flag, such as IS_BEFORE:2026-01-01."
    )
    sortBy = Text(
        load_default="createdAt",
        description="Sort key: createdAt, name, type, project, stale, lastSeenAt or environment:<name>.",
    )
    sortOrder = OneOf(frozenset({"asc", "desc"}), "asc or desc", load_default="asc", description="Sort order.")
    favoritesFirst = OneOf(
        frozenset({"true", "false"}),
        "true or false",
        load_default="false",
        description="Whether your favorites come first.",
    )
    offset = WholeNumber(min=0, load_default=0, description="Number of flags to skip.")
    limit = WholeNumber(min=1, max=100, load_default=50, description="Maximum number of flags to return.")

    @pre_load
    def join_spellings(self, parameters: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Treat status[] as another spelling of status."""
        values = [*parameters.get("status", ()), *parameters.get("status[]", ())]
        return parameters | {"status": values} if values else parameters

    @post_load
    def as_filters(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the arguments of sql/flags/search.py: filters and their values, the order, limit and offset."""
        values: dict[str, Any] = {}
        includes, stages = data.get("lifecycle", (False, ()))
        # Our choice: a stage that asks for archived flags finds them, as in Unleash.
        either = "archived" not in data and includes and "archived" in stages
        names = ["existing" if either else "archived" if data.get("archived") == "IS:true" else "live"]
        texts = [text.strip() for text in data.get("query", "").split(",") if text.strip()]
        if len(texts) > MAX_TEXTS:
            raise ValidationError(f"must have at most {MAX_TEXTS} texts", "query")
        if texts:
            names.append("texts")
            values["texts"] = texts
        for name in ("project", "type", "state", "createdBy", "favorite", "lifecycle"):
            if name in data:
                is_included, values[name] = data[name]
                names.append(name if is_included else f"not_{name}")
        for name in ("tag", "segment"):
            if name in data:
                any_or_all, is_included, values[name] = data[name]
                names.append(f"{name}_{any_or_all}" if is_included else f"not_{name}_{any_or_all}")
        if "status" in data:
            names.append("status")
            values["status_environments"], values["status_states"] = zip(*data["status"], strict=True)
        for name in ("createdAt", "lastSeenAt"):
            if name in data:
                operator, values[name] = data[name]
                names.append(f"{name}_{operator}")
        # Our choice: an unknown sort key is no error. The default order applies.
        sort = data["sortBy"] if data["sortBy"] in SORT_KEYS else "createdAt"
        if data["sortBy"].startswith(ENVIRONMENT_PREFIX):
            sort, values["sort_environment"] = "environment", data["sortBy"].removeprefix(ENVIRONMENT_PREFIX)
        return {
            "filters": names,
            "values": {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()},
            "sort": sort,
            "descending": data["sortOrder"] == "desc",
            "favorites_first": data["favoritesFirst"] == "true",
            "limit": data["limit"],
            "offset": data["offset"],
        }
