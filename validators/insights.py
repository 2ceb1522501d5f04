"""The query parameters of the instance insights (api.md 2)."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load

from validators import Query
from validators.fields import Day

# Our choice: more than that is a mistake, or an attack.
MOST_YEARS = 5


class InsightsRange(Query):
    """from and to: days in UTC, both included. to defaults to today, from to thirteen weeks before to; an empty string is none."""

    unsaid: ClassVar[str] = "years before"

    from_ = Day(
        data_key="from",
        empty_is_absent=True,
        metadata={"description": "First day of the range, yyyy-MM-dd, in UTC. Default: thirteen weeks before to."},
    )
    to = Day(empty_is_absent=True, metadata={"description": "Last day of the range, yyyy-MM-dd, in UTC. Default: today."})

    @post_load
    def with_defaults(self, asked: dict[str, Any], **_: Any) -> dict[str, date]:
        """The first and the last day."""
        last_day = asked.get("to") or datetime.now(UTC).date()
        first_day = asked.get("from_") or last_day - min(timedelta(weeks=13), last_day - date.min)
        # A later 29th of February is not there: then the 28th is the day five years on.
        if (last_day.year - MOST_YEARS, last_day.month, last_day.day) > (first_day.year, first_day.month, first_day.day):
            raise ValidationError(f"must not be more than {MOST_YEARS} years before to", "from")
        return {"first_day": first_day, "last_day": last_day}
