"""Users of the command line."""

from tests.support.command_line import CommandLine

PASSWORD = "correct horse battery"


def make_user(line: CommandLine, username: str, password_file: str, *options: str) -> int:
    """The id of a new user with that password, <username>@example.org."""
    line.does(
        "user",
        "create",
        "--username",
        username,
        "--email",
        f"{username}@example.org",
        *options,
        "--password-file",
        password_file,
    )
    return line.rows("SELECT id FROM users WHERE username = %s", username)[0]["id"]
