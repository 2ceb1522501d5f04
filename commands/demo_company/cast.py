"""Who works at Brightcart, since when and until when, in days before today."""

from dataclasses import dataclass, field
from datetime import date, datetime
from random import Random

from commands.demo_company.dates import Dates

DOMAIN = "brightcart.example"
ADMIN, EDITOR, VIEWER = "Admin", "Editor", "Viewer"
RELEASE_MANAGER, AUDITOR = "Release Manager", "Auditor"

# A user who has left: his row stays for ever, whatever is done to the demo, and nobody else has his address.
MARKER = f"rasmus.berg@{DOMAIN}"


@dataclass
class Person:
    """A user or service account. diligence: the share of working days on which he logs in; away: spans in days before today."""

    full_name: str
    username: str | None
    root_role: str
    joined: int
    left: int | None = None
    diligence: float = 0.5
    away: tuple[tuple[int, int], ...] = ()
    invite: str | None = None  # the name of the signup token that he used
    is_service: bool = False
    email: str | None = None
    user_id: int | None = None
    seen: set[date] = field(default_factory=set)
    joined_at: datetime = field(init=False)
    left_at: datetime | None = field(init=False, default=None)
    away_at: list[tuple[datetime, datetime]] = field(init=False, default_factory=list)

    @property
    def name(self) -> str:
        """What the log calls him."""
        return self.email or self.username or self.full_name

    @property
    def id(self) -> int:
        """His user id, once he is in the database."""
        assert self.user_id is not None
        return self.user_id

    @property
    def key(self) -> str:
        """What this package calls him."""
        return self.name.split("@")[0]

    def begin(self, dates: Dates, rng: Random) -> None:
        """Settle when he came and left, and the days on which he logged in."""
        self.joined_at = dates.ago(self.joined, f"{rng.randrange(7, 10):02}:{rng.randrange(60):02}")
        self.left_at = None if self.left is None else dates.ago(self.left, "16:30")
        self.away_at = [(dates.ago(since, "00:00"), dates.ago(until, "00:00")) for since, until in self.away]
        for days_ago in range(0 if self.is_service else self.joined, self.left or 0, -1):
            noon = dates.ago(days_ago, "12:00")
            often = self.diligence * (1 if noon.weekday() < 5 else 0.06)
            if self.works_at(noon) and rng.random() < often:
                self.seen.add(noon.date())

    def works_at(self, instant: datetime) -> bool:
        """Whether he was there then: come, not gone and not away."""
        if instant <= self.joined_at or (self.left_at is not None and instant >= self.left_at):
            return False
        return not any(since <= instant < until for since, until in self.away_at)


People = dict[str, Person]  # by Person.key


def user(full_name: str, username: str, root_role: str, joined: int, left: int | None = None, **rest) -> Person:
    """Somebody with an address at the company."""
    return Person(full_name, username, root_role, joined, left, email=f"{username}@{DOMAIN}", **rest)


def invited(full_name: str, email: str, joined: int, invite: str, left: int | None = None, **rest) -> Person:
    """Somebody who signed up with a token, without a user name."""
    return Person(full_name, None, VIEWER, joined, left, email=email, invite=invite, **rest)


def service(full_name: str, username: str, root_role: str, joined: int) -> Person:
    """A service account."""
    return Person(full_name, username, root_role, joined, is_service=True)


SPRING, AGENCY, PARTNERS = "Engineering spring intake", "Agency Kontur", "Partner preview"


def everybody(dates: Dates, rng: Random) -> People:
    """All of them, in the order in which they came."""
    people = cast()
    assert any(person.email == MARKER and person.left for person in people)
    for person in people:
        person.begin(dates, rng)
    return {person.key: person for person in people}


def cast() -> list[Person]:
    return [
        user("Nora Lindqvist", "nora.lindqvist", ADMIN, 729, diligence=0.9),
        user("Tomasz Wójcik", "tomasz.wojcik", ADMIN, 728, diligence=0.7),
        user("Rasmus Berg", "rasmus.berg", EDITOR, 728, 402),
        user("Jonas Weber", "jonas.weber", EDITOR, 727, diligence=0.8),
        user("Priya Raman", "priya.raman", EDITOR, 727, diligence=0.7, away=((410, 260),)),
        user("Elif Yıldız", "elif.yildiz", EDITOR, 726, diligence=0.8),
        user("Anders Holm", "anders.holm", VIEWER, 725, diligence=0.6),
        user("Beatriz Santos", "beatriz.santos", VIEWER, 724, diligence=0.6, away=((560, 430),)),
        user("Ngozi Okafor", "ngozi.okafor", VIEWER, 722, diligence=0.7),
        user("Dóra Kiss", "dora.kiss", VIEWER, 718, 455),
        service("CI pipeline", "ci-pipeline", VIEWER, 716),
        service("Terraform", "terraform", ADMIN, 715),
        service("End-to-end tests", "e2e-tests", VIEWER, 714),
        user("Gunnar Dahl", "gunnar.dahl", VIEWER, 705, diligence=0.006),
        user("Yuki Tanaka", "yuki.tanaka", VIEWER, 701, diligence=0.6),
        user("Oskar Nilsson", "oskar.nilsson", VIEWER, 690, diligence=0.4, away=((300, 110),)),
        user("Mateo Fernández", "mateo.fernandez", EDITOR, 668, diligence=0.7),
        user("Inês Duarte", "ines.duarte", VIEWER, 661, diligence=0.6),
        user("Pavel Novák", "pavel.novak", VIEWER, 640, 171, diligence=0.5, away=((290, 171),)),
        user("Fatima Zahra", "fatima.zahra", VIEWER, 622, diligence=0.5, away=((330, 190),)),
        service("Incident bot", "incident-bot", VIEWER, 610),
        user("Hana Kovács", "hana.kovacs", RELEASE_MANAGER, 575, diligence=0.8),
        user("Greta Vogel", "greta.vogel", AUDITOR, 560, diligence=0.015),
        invited("Hugo Lefèvre", f"hugo.lefevre@{DOMAIN}", 541, SPRING, diligence=0.6),
        invited("Iris Papadaki", f"iris.papadaki@{DOMAIN}", 540, SPRING, diligence=0.5),
        invited("Ethan Cole", f"ethan.cole@{DOMAIN}", 538, SPRING, left=318),
        invited("João Pereira", f"joao.pereira@{DOMAIN}", 533, SPRING, diligence=0.6, away=((180, 62),)),
        user("Aisha Bello", "aisha.bello", ADMIN, 512, diligence=0.5, away=((175, 20),)),
        user("Katya Ivanova", "katya.ivanova", VIEWER, 470, diligence=0.6),
        invited("Lars Madsen", "lars@kontur.example", 433, AGENCY, left=205),
        invited("Mina Park", "mina@kontur.example", 431, AGENCY, diligence=0.4, away=((215, 0),)),
        user("Chloé Martin", "chloe.martin", EDITOR, 398, diligence=0.7),
        user("Samuel Adeyemi", "samuel.adeyemi", VIEWER, 352, diligence=0.3, away=((120, 0),)),
        user("Ruth Amsel", "ruth.amsel", VIEWER, 341, diligence=0.01),
        user("Liam O'Connor", "liam.oconnor", VIEWER, 330, diligence=0.6),
        user("Ulla Sørensen", "ulla.sorensen", VIEWER, 262, diligence=0.012),
        user("Daiki Sato", "daiki.sato", EDITOR, 240, diligence=0.7),
        user("Zeynep Arslan", "zeynep.arslan", VIEWER, 188, diligence=0.6),
        user("Viktor Horváth", "viktor.horvath", VIEWER, 131, diligence=0.5),
        invited("Wanjiru Kamau", "wanjiru@parcelwise.example", 66, PARTNERS, diligence=0.3),
        invited("Arun Mehta", "arun@parcelwise.example", 64, PARTNERS, diligence=0.2),
        user("Sofia Rossi", "sofia.rossi", VIEWER, 38, diligence=0.8),
        invited("Emil Strand", "emil@nordpack.example", 23, PARTNERS, diligence=0.3),
        user("Leila Haddad", "leila.haddad", VIEWER, 12, diligence=0.9),
    ]
