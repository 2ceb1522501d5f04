"""Requests about the usage of a flag."""

from validators import Query
from validators.query_fields import WholeNumber


class UsageHours(Query):
    """Query parameters of the reported usage of a flag."""

    hoursBack = WholeNumber(
        min=1, max=2160, load_default=48, description="Number of hours to look back: at most 90 days."
    )
