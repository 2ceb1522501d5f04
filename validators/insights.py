"""The query parameters of the instance insights."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load

from validators import Query
from validators.fields import Text
from validators.query_fields import Day, Repeated

# Our choice: a longer range is refused, because it is a mistake or an attack.
MAX_YEARS = 5


class InsightsRange(Query):
    """from and to: days in UTC, both included.

    By default, to is today and from is 13 weeks before to. An empty string counts as omitted.
    """

    beyond_json_schema: ClassVar[str] = "years before"

    from_ = Day(
        data_key="from",
        empty_is_absent=True,
        description="First day of the range in UTC, as yyyy-MM-dd. By default, 13 weeks before `to`.",
    )
    to = Day(empty_is_absent=True, description="Last day of the range in UTC, as yyyy-MM-dd. By default, today.")

    @post_load
    def with_defaults(self, data: dict[str, Any], **_: Any) -> dict[str, date]:
        """Return the first and the last day."""
        last_day = data.get("to") or datetime.now(UTC).date()
        first_day = data.get("from_") or last_day - min(timedelta(weeks=13), last_day - date.min)
        # A range that begins on a 29th of February ends on the 28th at the latest, because the 29th does not exist
        # five years later.
        if (last_day.year - MAX_YEARS, last_day.month, last_day.day) > (
            first_day.year,
            first_day.month,
            first_day.day,
        ):
            raise ValidationError(f"must not be more than {MAX_YEARS} years before to", "from")
        return {"first_day": first_day, "last_day": last_day}


class InsightsForm(InsightsRange):
    """The filters of the page of insights. find: a part of names or ids of projects. project: repeatable."""

    project = Repeated(Text(), load_default=list)
    find = Text(load_default="", max=200)

    @post_load
    def with_defaults(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the first and the last day, the projects, and what to find."""
        if "from_" in data and "to" in data and data["from_"] > data["to"]:
            raise ValidationError("must not be before the first day", "to")
        return super().with_defaults(data) | {"projects": data["project"], "find": data["find"]}
