"""The command line: program is the group of all commands."""

import click

from operations.commands import (
    api_tokens,
    backup,
    demo,
    doctor,
    events,
    flags,
    import_unleash,
    mail,
    metrics,
    migrate,
    projects,
    schema_diff,
    serve,
    signup_tokens,
    transfer,
    users,
)
from serving.version import VERSION

program = click.Group(
    "flags",
    help="Run and manage Flags, the feature-flag server. COMMAND --help explains a command.",
    commands=[
        api_tokens.api_token,
        backup.backup,
        demo.demo,
        doctor.doctor,
        events.events,
        transfer.export,
        flags.flag,
        transfer.import_file,
        import_unleash.import_unleash,
        mail.mail,
        metrics.metrics,
        migrate.migrate,
        projects.project,
        backup.restore,
        schema_diff.schema_diff,
        serve.serve,
        signup_tokens.signup_token,
        users.user,
    ],
)
click.version_option(VERSION, message="%(version)s")(program)
