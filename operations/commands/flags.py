"""flags flag: list flags, switch them on and off, and roll them out in steps."""

import shlex
from dataclasses import asdict
from typing import Any

import click
from psycopg.rows import DictRow

from operations.commands.database import DatabaseCommand
from operations.commands.output import json_option, show
from rules.access import SYSTEM
from rules.ramp_plans import create_plan, read_plans, skip_step, stop_plan
from rules.refusals import quantity
from rules.strategies import switch_off, switch_on
from sql.database import Connection, connection, transaction
from sql.flags import core as flag_core
from sql.flags import environments
from sql.projects import core as projects
from sql.projects.environments import lock_link
from validators import load_or_400
from validators.flags.ramp_plans import RampPlan


@click.group()
def flag() -> None:
    """List flags, switch them on and off, and roll them out in steps."""


@flag.command("list", cls=DatabaseCommand)
@click.option("--project", help="Only the flags of the project with this id.")
@json_option
def list_flags(project: str | None, as_json: bool) -> None:
    """List the flags, without archived ones."""
    with connection() as conn:
        if project is not None and not projects.is_taken(conn, project):
            raise click.ClickException(f"project: unknown project {project}")
        rows = environments.list_rows(conn, project)
    show(rows, COLUMNS, as_json=as_json)


COLUMNS = {"name": "NAME", "project": "PROJECT", "type": "TYPE", "enabledIn": "ON IN", "createdAt": "CREATED"}

environment_option = click.option("--environment", required=True, help="Name of the environment.")
skip_option = click.option("--skip-change-requests", is_flag=True, help="Change flags without a change request.")


@flag.command(cls=DatabaseCommand)
@click.argument("name")
@environment_option
@skip_option
def on(name: str, environment: str, *, skip_change_requests: bool) -> None:
    """Switch on the flag NAME in an environment.

    A flag without an enabled strategy gets the default strategy of its project in the environment. If the project has
    none, the flag is on for all users.
    """
    with transaction() as conn:
        switch_on(conn, SYSTEM, [lock_by_name(conn, name, environment, skip=skip_change_requests)])
    click.echo(f"{name} is on in {environment}.")


@flag.command(cls=DatabaseCommand)
@click.argument("name")
@environment_option
@skip_option
def off(name: str, environment: str, *, skip_change_requests: bool) -> None:
    """Switch off the flag NAME in an environment. Its strategies stay."""
    with transaction() as conn:
        switch_off(conn, SYSTEM, [lock_by_name(conn, name, environment, skip=skip_change_requests)])
    click.echo(f"{name} is off in {environment}.")


@flag.command(cls=DatabaseCommand)
@click.argument("name")
@environment_option
@click.option("--step", "steps", multiple=True, metavar="PERCENT@TIME", help="A step, such as 10@now. Repeatable.")
@click.option("--until", metavar="TIME", help="When the plan ends, for everybody.")
@click.option("--replaces", metavar="ID", help="The strategy, or a step of the plan, that this plan replaces.")
@click.option("--stop", is_flag=True, help="Delete the steps that are not reached.")
@click.option("--skip", is_flag=True, help="Begin the next step now.")
@skip_option
def plan(name: str, environment: str, steps: tuple[str, ...], *, stop: bool, skip: bool, **options: Any) -> None:
    """Roll the flag NAME out in steps, and print the steps with their ids.

    A time is now, or such as 2031-12-02T09:00:00+01:00. Without --step, --stop and --skip, only print the steps.
    """
    forced = options.pop("skip_change_requests")
    given = {option: text for option, text in options.items() if text is not None}
    if (bool(steps) + stop + skip) > 1 or (given and not steps):
        raise click.UsageError("Use --step, --stop or --skip. --until and --replaces need --step.")
    with transaction() as conn:
        locked = lock_by_name(conn, name, environment, skip=forced or not (steps or stop or skip))
        if steps:
            create_plan(conn, SYSTEM, locked, load_or_400(RampPlan(), {"steps": list(map(step_of, steps)), **given}))
        elif stop or skip:
            _, plans = read_plans(conn, locked)
            if len(plans) != 1:
                raise click.ClickException(f"The flag has {quantity(len(plans), 'plan')} in {environment}, not one.")
            (stop_plan if stop else skip_step)(conn, SYSTEM, locked, plans[0].ids[0])
        found = [asdict(step) for plan in read_plans(conn, locked)[1] for step in plan.steps]
    show(found, {"id": "ID", "percent": "PERCENT", "at": "FROM", "reached": "REACHED"}, as_json=False)
    if found and not locked["enabled"]:
        command = f"./flags flag on {shlex.quote(name)} --environment {shlex.quote(environment)}"
        click.echo(f"{name} is off for everybody in {environment}. Switch it on with {command}.", err=True)


def step_of(text: str) -> dict[str, Any]:
    """Return a step such as 10@now as the API gets it."""
    percent, _, time = text.partition("@")
    return {"percent": int(percent) if percent.isdecimal() else percent} | ({"at": time} if time != "now" else {})


def lock_by_name(conn: Connection, name: str, environment: str, *, skip: bool) -> DictRow:
    """Lock a live flag, and return it with its environment. Raise ClickException that says what is wrong.

    skip: whether the flag may change without a change request.
    """
    project = flag_core.project_of(conn, name, None)
    if project is None:
        raise click.ClickException(f"No flag has the name {name}.")
    found = environments.lock(conn, project, [name], environment)
    link = lock_link(conn, project, environment)
    if link is None:
        raise click.ClickException(f"The project {project} has no environment {environment}.")
    if not found:
        raise click.ClickException(f"The flag {name} is archived.")
    if link["required_approvals"] is not None and not skip:
        raise click.ClickException(
            f"Change requests are on in environment {environment} of the project {project}. Propose the change, or use"
            " --skip-change-requests."
        )
    return found[0]
