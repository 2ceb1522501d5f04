"""flask demo: fills an instance with a believable company."""

import re
import sys
from datetime import UTC, date, datetime, timedelta

import click
from flask import current_app
from psycopg.errors import UniqueViolation

from commands.database import Command, found_database
from commands.demo_company import company, fixed
from commands.output import say
from sql import bootstrap, migrate

EARLIEST = date(2010, 1, 1)
THERE = "The demo data is there already; nothing was changed."


def today_or_earlier(_context: click.Context, _option: click.Parameter, day: datetime | None) -> date:
    """The day for which the demo is made; by default the present one (UTC)."""
    now = datetime.now(UTC).date()
    chosen = now if day is None else day.date()
    if not EARLIEST <= chosen <= now:
        raise click.BadParameter(f"must be a day from {EARLIEST} to today, which is {now} (UTC)")
    return chosen


@click.command(cls=Command)
@click.option("--seed", default=1, show_default=True, help="Another number makes other data; the same number the same data.")
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    callback=today_or_earlier,
    help="The day on which the two years end.  [default: today]",
)
@click.option("--scale", type=click.FloatRange(0.05, 1), default=1.0, show_default=True, help="Less than 1 makes fewer flags and events.")
def demo(seed: int, today: date, scale: float) -> None:
    """Fill the instance with a believable company.

    Two years of Brightcart, an online shop: people, projects, flags, events and usage. All or nothing; where it is there already, nothing
    happens. Nobody of them has a password.
    """
    with found_database(may_be_made=True) as url:
        if made := bootstrap.bring_up(url, current_app.config):
            click.echo(bootstrap.announcement(made, current_app.config["BASE_URL"]), err=True)
        made = make(url, seed, today, scale)
    for line in [THERE] if made is None else [*summary(made), *hints(made, today, current_app.config["BASE_URL"])]:
        say(line)


def make(url: str, seed: int, today: date, scale: float) -> company.Made | None:
    """What was made; None: it was there already."""
    with migrate.open_database(url, current_app.config["DATABASE_POOLER"]) as conn:
        if company.is_there(conn):
            return None
        work = company.work(scale)
        try:
            # Of two at once, the second waits until the first is done.
            with (
                click.progressbar(length=work, label="Two years go by", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar,
                conn.transaction(),
            ):
                migrate.take_all_the_time(conn)
                return company.make(conn, seed, today, scale, bar.update)
        except UniqueViolation as error:
            # Another demo may have been quicker.
            if company.is_there(conn):
                return None
            raise click.ClickException(f"The demo data cannot be made: {taken(error)}. Nothing was changed.") from None


# What is unique, by the constraint that says so.
UNIQUE = {
    "context_fields_pkey": "a context field",
    "environments_pkey": "an environment",
    "groups_name_key": "a group",
    "flags_name_key": "a flag",
    "projects_pkey": "a project",
    "roles_name_key": "a role",
    "segments_name_key": "a segment",
    "tag_types_pkey": "a tag type",
    "users_email_key": "a user with the e-mail address",
    "users_username_key": "a user",
}


def taken(error: UniqueViolation) -> str:
    """Which name there is already."""
    kind = UNIQUE.get(error.diag.constraint_name or "", "something")
    name = re.search(r"\)=\((.*)\)", error.diag.message_detail or "")
    return f"there is {kind} {name[1] if name else 'of the same name'} already"


def summary(made: company.Made) -> list[str]:
    """How much there is of what."""
    width = max(map(len, made.counts))
    return ["Brightcart is open for business:", "", *(f"  {kind:<{width}}  {count:>7,}" for kind, count in made.counts.items())]


def hints(made: company.Made, today: date, base_url: str) -> list[str]:
    """What to look at, ready to be copied."""
    half_year = f"from={today - timedelta(days=182)}&to={today}"
    addresses = {
        "A busy project": "/api/admin/projects/checkout/overview",
        "Half a year of the whole company": f"/api/admin/insights?{half_year}",
        "The short life of one flag": f"/api/admin/search/events?feature=IS:{fixed.ONE_PAGE}",
        "Who wrote of Café Zürich, in flags, segments or strategies": "/api/admin/search/events?query=Z%C3%BCrich&limit=10",
        "Who may do what in a private project": "/api/admin/projects/payments-core/access",
    }
    lines = ["", "What to look at next, with an admin API key in place of <API_KEY>:"]
    for title, path in addresses.items():
        lines += ["", f"  # {title}", f"  curl -H 'Authorization: <API_KEY>' '{base_url}{path}'"]
    body = '{"name": "Kim", "email": "kim@brightcart.example", "password": "<PASSWORD>"}'
    return [
        *lines,
        "",
        f"  # Sign up with the token {made.invite}. It is shown only now: whoever has it becomes a Viewer.",
        f"  curl -H 'Content-Type: application/json' -d '{body}' '{base_url}/invite/{made.invite}/signup'",
        "",
        "  # Let nobody sign up with it any more",
        "  curl -X PUT -H 'Authorization: <API_KEY>' -H 'Content-Type: application/json' "
        f"-d '{{\"enabled\": false}}' '{base_url}/api/admin/invite-link/tokens/{made.invite}'",
    ]
