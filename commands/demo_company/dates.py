"""The two years of the demo: days and working hours, busy weeks and quiet ones."""

from bisect import bisect
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from random import Random

DAYS = 730
NIGHTLY_HOUR = 2


class Dates:
    """From start to end, the beginning of today (UTC): nothing in the demo is later, whenever on that day it is made."""

    def __init__(self, seed: int, today: date) -> None:
        self.end = datetime(today.year, today.month, today.day, tzinfo=UTC)
        self.start = self.end - timedelta(days=DAYS)
        days = [self.start + timedelta(days=number) for number in range(DAYS)]
        self._busy_until = [0.0, *accumulate(busyness(seed, day, number) for number, day in enumerate(days))]

    def ago(self, days: float, clock: str = "10:00") -> datetime:
        """That many days before today, at this time of day."""
        hours, minutes = clock.split(":")
        return self.end - timedelta(days=days) + timedelta(hours=int(hours), minutes=int(minutes))

    def working_instant(self, rng: Random, since: datetime, until: datetime, part: tuple[float, float] = (0, 1)) -> datetime:
        """An instant from since to before until in which people work, more likely in a busy week than in a quiet one.

        part: between which shares of all the work of that time.
        """
        first, last = ((instant - self.start).days for instant in (since, until))
        low, high = self._busy_until[first], self._busy_until[min(last + 1, DAYS)]
        day = bisect(self._busy_until, low + (high - low) * rng.uniform(*part)) - 1
        instant = self.start + timedelta(days=min(day, DAYS - 1), hours=rng.triangular(7, 18.5, 12))
        return rounded(instant if since <= instant < until else since + (until - since) * rng.random())

    def night(self, rng: Random, since: datetime, until: datetime) -> datetime:
        """An instant from since to before until in which the nightly jobs run, on any day alike."""
        instant = since + (until - since) * rng.random()
        instant = instant.replace(hour=NIGHTLY_HOUR, minute=rng.randrange(60), second=rng.randrange(60))
        return rounded(instant if since <= instant < until else since + (until - since) * rng.random())


def busyness(seed: int, day: datetime, number: int) -> float:
    """How much is done on this day: ever more over the two years, little at weekends and at the end of the year."""
    year, week, weekday = day.isocalendar()
    factor = Random(f"{seed}/week/{year}/{week}").uniform(0.55, 1.45) * (0.6 + 0.8 * number / DAYS)
    factor *= (1.0, 1.15, 1.15, 1.05, 0.75, 0.05, 0.03)[weekday - 1]
    if (day.month, day.day) >= (12, 21) or (day.month, day.day) <= (1, 3):
        factor *= 0.2
    return factor * (0.6 if day.month in (7, 8) else 1)


def office_hours(rng: Random, instant: datetime) -> datetime:
    """The instant itself if people work then, else one in the morning of the next working day."""
    if instant.weekday() < 5 and 7 <= instant.hour < 18:
        return rounded(instant)
    day = instant if instant.hour < 7 else instant + timedelta(days=1)
    day += timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)
    return rounded(day.replace(hour=7, minute=0) + timedelta(hours=rng.uniform(0.2, 4)))


def rounded(instant: datetime) -> datetime:
    """Whole milliseconds, as the API tells them."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def iso(instant: datetime | None) -> str | None:
    """An instant as the API writes it."""
    return None if instant is None else f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"
