"""The command line: ALL lists its commands and groups."""

import click

from commands import api_tokens, backup, demo, doctor, events, metrics, migrate, schema_diff, signup_tokens, users

ALL = (
    migrate.migrate,
    doctor.doctor,
    schema_diff.schema_diff,
    backup.backup,
    backup.restore,
    demo.demo,
    users.user,
    api_tokens.api_token,
    # The name in 0.1.0.
    click.Group("api-key", commands=api_tokens.api_token.commands, help=api_tokens.api_token.help, hidden=True),
    signup_tokens.signup_token,
    events.events,
    metrics.metrics,
)
