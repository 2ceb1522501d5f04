"""The command line, on flask's own: ALL, one line a command or group."""

from commands import api_tokens, backup, demo, doctor, events, migrate, schema_diff, signup_tokens, users

ALL = (
    migrate.migrate,
    doctor.doctor,
    schema_diff.schema_diff,
    backup.backup,
    backup.restore,
    demo.demo,
    users.user,
    api_tokens.api_key,
    signup_tokens.signup_token,
    events.events,
)
