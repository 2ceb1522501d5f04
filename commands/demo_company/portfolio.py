"""What Brightcart builds: its projects, who works in them, and what runs there. Days are days before today."""

from dataclasses import dataclass
from typing import NamedTuple

OWNER, MEMBER = "Owner", "Member"
TESTER, RESPONDER, PROJECT_AUDITOR = "Tester", "Incident Responder", "Project Auditor"

ALL_ENVIRONMENTS = ("development", "qa", "staging", "production")
SHORT_WAY = ("development", "staging", "production")


class Membership(NamedTuple):
    """A role in a project of a user (by Person.key) or a group (by name); until None: to this day."""

    who: str
    role: str
    since: int
    until: int | None = None


class Naming(NamedTuple):
    """How the flags of a project must be called."""

    pattern: str
    example: str
    description: str


@dataclass(frozen=True)
class Plan:
    """A project as it is meant to be: flags is how many it ever had, traffic how much its applications ask, in requests a day."""

    id: str
    name: str
    description: str | None
    created: int
    flags: int
    prefix: str
    members: tuple[Membership, ...]
    groups: tuple[Membership, ...] = ()
    mode: str = "open"
    stickiness: str = "default"
    limit: int | None = None
    naming: Naming | None = None
    environments: tuple[str, ...] = ALL_ENVIRONMENTS
    default_strategies: tuple[str, ...] = ()  # the environments that have one
    archived: int | None = None
    applications: tuple[str, ...] = ()
    traffic: int = 0
    favorites: tuple[str, ...] = ()


M = Membership

PORTFOLIO = (
    Plan(
        "checkout", "Checkout", "From the basket to the confirmation: the pages that earn the money.", 720, 62, "checkout",
        members=(
            M("elif.yildiz", OWNER, 719), M("anders.holm", MEMBER, 719), M("rasmus.berg", MEMBER, 717, 402),
            M("dora.kiss", MEMBER, 700, 455),
            M("yuki.tanaka", MEMBER, 690), M("ines.duarte", MEMBER, 640), M("anders.holm", OWNER, 452), M("hugo.lefevre", MEMBER, 520),
            M("lars", MEMBER, 428, 205), M("chloe.martin", MEMBER, 380), M("zeynep.arslan", MEMBER, 175),
            M("greta.vogel", PROJECT_AUDITOR, 150),
            M("sofia.rossi", MEMBER, 26), M("leila.haddad", MEMBER, 9),
        ),
        groups=(M("Growth", MEMBER, 610), M("On-call", RESPONDER, 560)),
        limit=80, default_strategies=("development", "production"), applications=("web-shop", "checkout-api", "mobile-shop"),
        traffic=240_000,
        favorites=("nora.lindqvist", "elif.yildiz", "anders.holm", "chloe.martin", "sofia.rossi"),
    ),
    Plan(
        "search", "Search", "Finding things: index, ranking and suggestions.", 718, 52, "search",
        members=(
            M("priya.raman", OWNER, 717), M("beatriz.santos", MEMBER, 715), M("pavel.novak", MEMBER, 630, 171),
            M("iris.papadaki", MEMBER, 530),
            M("mateo.fernandez", OWNER, 420), M("katya.ivanova", MEMBER, 462), M("daiki.sato", MEMBER, 233),
        ),
        groups=(M("Growth", MEMBER, 500),),
        stickiness="sessionId", default_strategies=("development",), applications=("web-shop", "search-api"), traffic=410_000,
        favorites=("priya.raman", "katya.ivanova", "nora.lindqvist"),
    ),
    Plan(
        "mobile-app", "Mobile app", "The shop on iOS and Android.", 716, 58, "mobile",
        members=(
            M("ngozi.okafor", OWNER, 715), M("jonas.weber", MEMBER, 714), M("oskar.nilsson", MEMBER, 680),
            M("fatima.zahra", MEMBER, 610),
            M("ethan.cole", MEMBER, 530, 318), M("joao.pereira", MEMBER, 525), M("liam.oconnor", MEMBER, 321),
            M("viktor.horvath", MEMBER, 125),
            M("leila.haddad", TESTER, 8),
        ),
        groups=(M("Mobile guild", MEMBER, 640), M("On-call", RESPONDER, 550)),
        stickiness="userId", limit=75, applications=("ios-app", "android-app", "mobile-gateway"), traffic=180_000,
        naming=Naming("^mobile-[a-z0-9-]+$", "mobile-dark-mode", "The word mobile, then what it changes, in lower case."),
        favorites=("ngozi.okafor", "liam.oconnor"),
    ),
    Plan(
        "payments-core", "Payments core", "Cards, refunds, ledgers. Only for those who have to.", 712, 46, "pay",
        members=(
            M("tomasz.wojcik", OWNER, 712), M("jonas.weber", OWNER, 705), M("rasmus.berg", MEMBER, 700, 402),
            M("yuki.tanaka", MEMBER, 610),
            M("aisha.bello", OWNER, 505), M("hana.kovacs", MEMBER, 490), M("samuel.adeyemi", MEMBER, 340),
            M("greta.vogel", PROJECT_AUDITOR, 330),
            M("zeynep.arslan", MEMBER, 92),
        ),
        groups=(M("On-call", RESPONDER, 555),),
        mode="private", limit=60, applications=("payment-service", "ledger"), traffic=90_000, default_strategies=("production",),
        naming=Naming("^pay-[a-z0-9-]{3,60}$", "pay-refunds-v2", "Starts with pay, because the ledger greps for it."),
        favorites=("tomasz.wojcik", "aisha.bello"),
    ),
    Plan(
        "recommendations", "Recommendations", "What others bought, and what you might want.", 640, 40, "rec",
        members=(
            M("mateo.fernandez", OWNER, 639), M("priya.raman", MEMBER, 630), M("iris.papadaki", MEMBER, 500), M("mina", MEMBER, 425),
            M("daiki.sato", OWNER, 220), M("sofia.rossi", MEMBER, 20),
        ),
        groups=(M("Growth", MEMBER, 480),),
        mode="protected", stickiness="userId", applications=("recommender", "web-shop"), traffic=310_000,
        favorites=("mateo.fernandez", "daiki.sato"),
    ),
    Plan(
        "notifications", "Notifications", "Mail, SMS and push, at the right hour.", 600, 36, "notify",
        members=(
            M("beatriz.santos", OWNER, 599, 560), M("jonas.weber", OWNER, 590), M("fatima.zahra", MEMBER, 588),
            M("pavel.novak", MEMBER, 540, 171),
            M("katya.ivanova", MEMBER, 440), M("beatriz.santos", MEMBER, 425), M("liam.oconnor", MEMBER, 210),
        ),
        mode="protected", environments=SHORT_WAY, applications=("notifier", "mail-renderer"), traffic=60_000,
        favorites=("fatima.zahra",),
    ),
    Plan(
        "identity", "Identity", "Sign-in, sessions and consent.", 560, 34, "id",
        members=(
            M("tomasz.wojcik", OWNER, 560), M("hana.kovacs", OWNER, 548), M("ngozi.okafor", MEMBER, 530),
            M("joao.pereira", MEMBER, 500),
            M("chloe.martin", MEMBER, 300), M("viktor.horvath", MEMBER, 110),
        ),
        groups=(M("Platform engineering", MEMBER, 550), M("On-call", RESPONDER, 545)),
        mode="private", applications=("identity-provider",), traffic=150_000, default_strategies=("staging", "production"),
        favorites=("hana.kovacs",),
    ),
    Plan(
        "partner-portal", "Partner portal", "Where suppliers keep prices and stock.", 470, 26, "partner",
        members=(
            M("chloe.martin", OWNER, 390), M("mateo.fernandez", OWNER, 469, 385), M("ines.duarte", MEMBER, 450),
            M("samuel.adeyemi", MEMBER, 300),
            M("wanjiru", TESTER, 60), M("arun", TESTER, 58), M("emil", TESTER, 19),
        ),
        groups=(M("Support desk", TESTER, 400),),
        mode="protected", environments=SHORT_WAY, applications=("partner-portal", "stock-sync"), traffic=22_000,
        naming=Naming("^partner-[a-z0-9-]+$", "partner-bulk-upload", "The word partner, then what it changes."),
    ),
    Plan(
        "warehouse", "Warehouse", "Robots, routes and labels.", 380, 24, "wh",
        members=(
            M("katya.ivanova", OWNER, 379), M("hugo.lefevre", MEMBER, 360), M("liam.oconnor", MEMBER, 300),
            M("oskar.nilsson", MEMBER, 100),
        ),
        groups=(M("Platform engineering", MEMBER, 350, 140),),
        mode="private", stickiness="random", environments=SHORT_WAY, applications=("route-planner", "dock-tablet"), traffic=14_000,
        favorites=("katya.ivanova",),
    ),
    Plan(
        "gift-registry", "Gift registry", "Lists for weddings and births. Just begun.", 16, 3, "registry",
        members=(M("sofia.rossi", OWNER, 16), M("yuki.tanaka", MEMBER, 12)),
        stickiness="userId", environments=SHORT_WAY,
    ),
    Plan(
        "legacy-web", "Legacy web shop", "The shop as it was before the great rewrite.", 727, 12, "legacy",
        members=(M("jonas.weber", OWNER, 726, 240), M("rasmus.berg", MEMBER, 724, 402), M("oskar.nilsson", MEMBER, 660, 310)),
        environments=SHORT_WAY, archived=236, applications=("legacy-shop",), traffic=35_000,
    ),
    Plan(
        "loyalty-pilot", "Loyalty pilot", "Points for purchases, tried in two countries.", 450, 7, "loyalty",
        members=(M("nora.lindqvist", OWNER, 450, 300), M("elif.yildiz", MEMBER, 445, 298)),
        groups=(M("Agency partners", MEMBER, 420, 296),),
        archived=292, applications=("web-shop",), traffic=9_000,
    ),
)  # fmt: skip
