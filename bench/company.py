"""Who and what the events tell of: projects, flags and users of an instance of three years, the same for the same number of events."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

# Projects, flags and users of an instance with so many events, at least.
EXTENTS = ((10_000_000, 200, 20_000, 500), (1_000_000, 100, 5_000, 200), (100_000, 30, 1_000, 60), (0, 10, 100, 20))
USAGE_ROWS = 0.1
YEARS = timedelta(days=3 * 365)
FIRST_USER = 101
ENVIRONMENTS = ("development", "staging", "production")
FLAG_TYPES = ("release", "experiment", "operational", "kill-switch", "permission")

# In every event; in two; in none.
COMMON_WORD, RARE_WORD, ABSENT_WORD = "brightcart", "quetzalcoatl", "xylophagous"

SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "zi",
    "ster",
    "lin",
    "gram",
    "port",
)


@dataclass
class Flag:
    """A flag; created_at grows with its place in the list of its project. archived_at and stale_since as in the table flags."""

    name: str
    type: str
    created_at: datetime
    stale_since: datetime | None = None
    archived_at: datetime | None = None
    first_in_production_at: datetime | None = None


@dataclass
class Project:
    """A project; those with the lowest numbers are the busiest."""

    id: str
    is_private: bool
    flags: list[Flag] = field(default_factory=list)
    # Indexes of users who work there.
    users: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """Somebody, by his index or None for a key, who works in a project."""

    user: int | None
    project: Project
    weight: float


class Company:
    """Everything but the events. Shares follow Zipf's law: the second has half of the first, the third a third."""

    def __init__(self, events: int, now: datetime, seed: int = 4) -> None:
        self.rng = Random(seed)
        self.events = events
        self.now = now
        self.start = now - YEARS
        _, projects, flags, users = next(extent for extent in EXTENTS if events >= extent[0])
        self.words = sorted({"".join(self.rng.choices(SYLLABLES, k=self.rng.randint(2, 4))) for _ in range(3000)})
        # One in four is private, never the busiest.
        self.projects = [Project(f"{self.rng.choice(self.words)}-{number}", number % 4 == 2) for number in range(projects)]
        self.users = users
        self._hire()
        self._make_flags(flags)

    def _hire(self) -> None:
        weights = [1 / (rank + 1) for rank in range(len(self.projects))]
        self.work: list[Work] = []
        for user in range(self.users):
            chosen = set(self.rng.choices(range(len(self.projects)), weights, k=self.rng.randint(1, 3)))
            # The busiest user works in the busiest project, so that a search for both finds a lot.
            chosen |= {0} if user == 0 else set()
            share = sum(weights[rank] for rank in chosen)
            for rank in sorted(chosen):
                self.projects[rank].users.append(user)
                self.work.append(Work(user, self.projects[rank], weights[rank] / share / (user + 1)))
        total = sum(work.weight for work in self.work)
        # One change in twelve is made with a key, in any project.
        self.work += [
            Work(None, project, weight * total / 12 / sum(weights)) for project, weight in zip(self.projects, weights, strict=True)
        ]

    def _make_flags(self, number: int) -> None:
        shares = sum(1 / (rank + 1) for rank in range(len(self.projects)))
        for rank, project in enumerate(self.projects):
            many = max(2, round(number / (rank + 1) / shares))
            for place in range(many):
                created = self.start + YEARS * (place / many)
                name = f"{project.id}.{self.rng.choice(self.words)}-{self.rng.choice(self.words)}-{place}"
                flag = Flag(name, self.rng.choices(FLAG_TYPES, (50, 15, 15, 10, 10))[0], created)
                self._age(flag, is_old=place == 0)
                project.flags.append(flag)

    def _age(self, flag: Flag, *, is_old: bool) -> None:
        """Most flags reach production within weeks, and are archived within months."""
        life = self.now - flag.created_at
        released = timedelta(days=self.rng.expovariate(1 / 12))
        if released < life and self.rng.random() < 0.8:
            flag.first_in_production_at = flag.created_at + released
        over = timedelta(days=self.rng.expovariate(1 / 200))
        if over < life and not is_old:
            if self.rng.random() < 0.75:
                flag.archived_at = flag.created_at + over
            else:
                flag.stale_since = flag.created_at + over

    @property
    def member_project(self) -> Project:
        """The private project of the middle, of which the member is one."""
        return min(
            (project for project in self.projects if project.is_private),
            key=lambda it: abs(self.projects.index(it) - len(self.projects) // 2),
        )

    @property
    def strange_project(self) -> Project:
        """The busiest project in which the busiest user does not work."""
        return next(project for project in self.projects if 0 not in project.users)


def user_id(user: int) -> int:
    """The id of a user by his index."""
    return FIRST_USER + user


def email(user: int) -> str:
    """The e-mail address of a user by his index."""
    return f"user{user}@example.org"
