"""The command line, on flask's own: ALL, one line a command or group."""

from commands import api_tokens as api_keys
from commands import backup, demo, doctor, events, migrate, schema_diff, signup_tokens, users

ALL = (
    migrate.migrate,
    doctor.doctor,
    schema_diff.schema_diff,
    backup.backup,
    backup.restore,
    demo.demo,
    users.user,
    api_keys.api_key,
    signup_tokens.signup_token,
    events.events,
)
