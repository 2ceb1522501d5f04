"""What is known of a filled database beforehand: whom and what to search for, and the credentials of those who ask."""

from dataclasses import dataclass

from bench.company import Company, user_id

ADMIN_KEY = "*:*.bench-the-key-of-an-administrator"
ADMIN_PASSWORD = "the password of the administrator"  # noqa: S105
MEMBER_TOKEN = "user:bench-the-token-of-a-member"  # noqa: S105
# Everybody else's too: so many hashes would take minutes.
USER_PASSWORD = "the password of every user"  # noqa: S105
# Apart from those who write events.
MEMBER_ID = 100


@dataclass(frozen=True)
class Facts:
    """first_day, last_day: of the log. The busiest flag, project, type and creator, and the next ones."""

    first_day: str
    last_day: str
    flag: str
    other_flag: str
    project: str
    other_project: str
    # Private, of the middle; the member's own.
    own_project: str
    # The busiest in which the busiest creator never did anything.
    strange_project: str
    creator: int
    other_creator: int
    type: str = "feature-strategy-update"
    other_type: str = "feature-environment-enabled"


def of(company: Company) -> Facts:
    """The facts of a company: shares follow from ranks."""
    first, second = company.projects[:2]
    return Facts(
        first_day=str(company.start.date()),
        last_day=str(company.now.date()),
        flag=first.flags[0].name,
        other_flag=second.flags[0].name,
        project=first.id,
        other_project=second.id,
        own_project=company.member_project.id,
        strange_project=company.strange_project.id,
        creator=user_id(0),
        other_creator=user_id(1),
    )
