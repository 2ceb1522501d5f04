"""flags serve: start the service."""

import click

from operations import start


@click.command()
def serve() -> None:
    """Start the service. Press Ctrl-C to stop it."""
    start.serve()
