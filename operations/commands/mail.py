"""flags mail: test the mail server."""

import click
from flask import current_app
from flask.cli import with_appcontext

from operations.commands.output import say
from serving import mail as mails


@click.group()
def mail() -> None:
    """Test the mail server of the settings."""


@mail.command()
@click.argument("address")
@with_appcontext
def test(address: str) -> None:
    """Send a test message to ADDRESS. Print what the mail server answers if it does not accept the message."""
    if not current_app.config["SMTP_HOST"]:
        raise click.ClickException("E-mail is off. Set SMTP_HOST and SMTP_FROM.")
    try:
        mails.send(address, "Test message of Flags", f"{current_app.config['BASE_URL']} can send e-mail.\n")
    except Exception as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from None
    say(f"{current_app.config['SMTP_HOST']} has accepted the message for {address}.")
