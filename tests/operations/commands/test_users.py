"""flags user: create, list, reset-password, unlock, end-sessions, set-role, link, unlink, delete."""

import json
from typing import Any

import pytest

from rules.login import name_digest
from rules.passwords import PasswordHasher
from sql.people import roles
from tests.support.command_line import event, run_flags, run_flags_at_terminal
from tests.support.world import PASSWORD

ISSUER = "https://id.example.org"
CREATE = ("user", "create", "--username")
UNKNOWN = "No user has the user name or email "


@pytest.fixture
def password_file(tmp_path):
    """A file with a good password."""
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def make_user(line, password_file):
    """make_user(username): the id of a new user with that password, <username>@example.org."""

    def make_user(username, *options):
        email = f"{username}@example.org"
        line.does(*CREATE, username, "--email", email, *options, "--password-file", password_file)
        return line.rows("SELECT id FROM users WHERE username = %s", username)[0]["id"]

    return make_user


def test_create_adds_a_row_an_event_and_a_login(line, password_file):
    names = ("ada", "--email", "Ada@Example.org", "--name", "Ada L.", "--role", "editor")
    events = line.events_of(lambda: line.does(*CREATE, *names, "--password-file", password_file))
    [row] = line.rows("SELECT * FROM users WHERE username = 'ada'")
    assert (row["name"], row["email"], row["root_role_id"]) == ("Ada L.", "ada@example.org", 2)
    assert row["account_type"] == "User"
    assert PasswordHasher(4, queue=1).matches(PASSWORD, row["password_hash"])
    data = {"id": row["id"], "name": "Ada L.", "username": "ada", "email": "ada@example.org", "rootRole": 2}
    assert events == [event("user-created", data=data)]
    assert line.log_in("ada@example.org", PASSWORD).status_code == 200


def test_a_user_needs_only_a_user_name_or_an_email(line, password_file):
    file = ("--password-file", password_file)
    events = line.events_of(lambda: line.does("user", "create", "--email", "only@example.org", *file))
    assert list(events[0]["data"]) == ["id", "email", "rootRole"]
    line.does(*CREATE, "only", *file)
    found = line.rows("SELECT email, root_role_id FROM users WHERE username = 'only'")
    assert found == [{"email": None, "root_role_id": 3}]


def test_the_role_can_be_a_custom_root_role_in_any_case(line, make_user):
    role = roles.insert(line.conn, "Release managers", type="root-custom")
    make_user("rhea", "--role", "release MANAGERS")
    assert line.rows("SELECT root_role_id FROM users WHERE username = 'rhea'") == [{"root_role_id": role}]
    for name in ("Owner", "nobody", "", "Admin\n"):
        message = line.refuses(*CREATE, "x", "--role", name, "--generate")
        assert message.startswith("role: unknown root role")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "username: is required, unless email is given"),
        (("--email", "ada"), "email: must be an email address such as ada@example.org"),
        (("--username", "a@b"), "username: must not contain @"),
        (("--username", " a"), "username: must not begin or end with a space"),
        (("--username", "a" * 256), "username: must be at most 255 characters long"),
        (("--username", "a\udcff"), "username: must not contain lone surrogates"),
        (("--username", "x", "--name", ""), "name: must not be empty"),
        (("--username", "x", "--role", "a\udcff"), "role: must not contain lone surrogates"),
        (("--username", "admin"), "username: a user with this user name already exists"),
    ],
)
def test_an_invalid_user_is_refused(line, options, message):
    assert line.refuses("user", "create", *options, "--generate") == message


def test_an_email_in_use_is_refused(line, make_user):
    make_user("first")
    message = line.refuses("user", "create", "--email", "FIRST@example.org", "--generate")
    assert message == "email: a user with this email already exists"


def test_list_shows_users_in_aligned_columns_of_any_width(line, make_user):
    wide = "日本" * 50
    make_user("wide", "--name", wide)
    make_user("sly", "--name", "two\nlines \x1b[31mred")
    lines = line.does("user", "list").splitlines()
    assert lines[0].startswith("ID  USER NAME")
    assert lines[0].rstrip().endswith("CREATED")
    [of_wide] = [text for text in lines if wide in text]
    # Each of these characters takes two columns.
    assert of_wide.index("Viewer") + 100 == lines[0].index("ROLE")
    assert any(r"two\nlines \x1b[31mred" in text and text.index("Viewer") == lines[0].index("ROLE") for text in lines)
    assert len(lines) == 1 + len(line.lists("user"))


def test_list_as_json_has_all_columns_of_the_table(line, make_user):
    user_id = make_user("json", "--name", "Джейсон", "--role", "admin")
    line.log_in("json", "wrong password")
    [entry] = [entry for entry in line.lists("user") if entry["id"] == user_id]
    [row] = line.rows("SELECT iso(created_at) AS at FROM users WHERE id = %s", user_id)
    expected = {"id": user_id, "username": "json", "email": "json@example.org", "name": "Джейсон", "role": "Admin"}
    assert entry == expected | {"seenAt": None, "loginAttempts": 1, "createdAt": row["at"]}
    line.log_in("json", PASSWORD)
    [entry] = [entry for entry in line.lists("user") if entry["id"] == user_id]
    assert entry["seenAt"] is not None


def test_service_accounts_and_deleted_users_are_unknown(line, make_user):
    make_user("gone")
    make_user("robot")
    line.conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'gone'")
    line.conn.execute("UPDATE users SET account_type = 'Service Account' WHERE username = 'robot'")
    assert {"gone", "robot"}.isdisjoint(entry["username"] for entry in line.lists("user"))
    for name in ("gone", "robot@example.org"):
        assert line.refuses("user", "reset-password", name, "--generate") == f"{UNKNOWN}{name}."


@pytest.mark.parametrize("command", [("reset-password", "--generate"), ("unlock",), ("delete",), ("set-role", "admin")])
@pytest.mark.parametrize("name", ["nobody@example.org", "", "ADMIN", "two\nlines"])
def test_an_unknown_user_is_refused(line, command, name):
    args = (command[0], name, *command[1:])
    assert line.refuses("user", *args).startswith(UNKNOWN)


def test_a_name_with_a_lone_surrogate_is_refused(line):
    assert line.refuses("user", "unlock", "a\udcff") == "user: must not contain lone surrogates"


@pytest.mark.parametrize("by", ["username", "email"])
def test_unlock_works_for_both_names_of_a_user(line, make_user, by):
    names = {"username": f"locked-{by}", "email": f"locked-{by}@example.org"}
    user_id = make_user(names["username"])
    address = f"192.0.2.{10 if by == 'email' else 11}"
    for name in names.values():
        while line.log_in(name, "wrong password", address).status_code != 429:
            pass
    assert line.log_in("somebody else", "wrong password", address).status_code in (401, 429)
    assert line.events_of(lambda: line.does("user", "unlock", names[by])) == []
    assert line.rows("SELECT login_attempts FROM users WHERE id = %s", user_id) == [{"login_attempts": 0}]
    known = {bytes(row["name_digest"]) for row in line.rows("SELECT name_digest FROM login_throttle")}
    assert name_digest("somebody else") in known
    assert known.isdisjoint(map(name_digest, names.values()))
    assert [line.log_in(name, PASSWORD, address).status_code for name in names.values()] == [200, 200]


def test_set_role_changes_the_role_and_records_it(line, make_user):
    number = make_user("riser")
    [recorded] = line.events_of(lambda: line.does("user", "set-role", "Riser@example.org", "editor"))
    assert line.rows("SELECT root_role_id FROM users WHERE id = %s", number) == [{"root_role_id": 2}]
    data = {"id": number, "username": "riser", "email": "riser@example.org"}
    assert recorded == event("user-updated", data=data | {"rootRole": 2}, pre_data=data | {"rootRole": 3})
    assert line.events_of(lambda: line.does("user", "set-role", "riser", "Editor")) == []
    assert line.refuses("user", "set-role", "riser", "king") == "role: unknown root role king"


def test_delete_ends_sessions_and_records_it(line, make_user):
    number = make_user("leaver")
    assert line.log_in("leaver", PASSWORD).status_code == 200
    data = {"id": number, "username": "leaver", "email": "leaver@example.org", "rootRole": 3}
    assert line.events_of(lambda: line.does("user", "delete", "leaver")) == [event("user-deleted", pre_data=data)]
    assert line.rows("SELECT FROM sessions WHERE user_id = %s", number) == []
    assert line.log_in("leaver", PASSWORD, "192.0.2.9").status_code == 401


def test_the_last_administrator_keeps_the_role_and_the_account(line):
    admin, *others = line.rows(
        "SELECT coalesce(username, email) AS name FROM users WHERE root_role_id = %s AND deleted_at IS NULL",
        roles.ADMIN,
    )
    for other in others:
        line.does("user", "set-role", other["name"], "viewer")
    message = "This user is the last administrator. Make another user an administrator first."
    assert line.refuses("user", "delete", admin["name"]) == message
    assert line.refuses("user", "set-role", admin["name"], "viewer") == message


# Passwords


def test_only_a_generated_password_is_printed_on_stdout(line, with_settings):
    result = line.run(*CREATE, "grace", "--generate")
    password = result.stdout.removesuffix("\n")
    assert len(password) == 20
    assert password not in result.stderr
    assert line.log_in("grace", password).status_code == 200
    strict = with_settings(PASSWORD_MIN_LENGTH=72)
    assert len(strict.does(*CREATE, "long", "--generate").strip()) == 72


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "password: must be at least 8 characters long"),
        (b"x" * 100_000, "password: must be at most 72 bytes long"),
        (b"Username-Is-This", "password: must not be the user's own name, user name or email"),
        (b"one line\nand another", "The password file must have exactly one line."),
        (b"gr\xfcn und blau", "The password file must be UTF-8 text."),
    ],
)
def test_an_invalid_password_is_refused(line, tmp_path, text, message):
    (tmp_path / "password").write_bytes(text)
    assert line.refuses(*CREATE, "username-is-this", "--password-file", str(tmp_path / "password")) == message


def test_a_password_comes_from_standard_input_when_asked(line):
    line.does(*CREATE, "piped", "--password-file", "-", input=f"  {PASSWORD}\r\n")
    assert line.log_in("piped", f"  {PASSWORD}").status_code == 200
    message = line.refuses(*CREATE, "x", input=f"{PASSWORD}\n{PASSWORD}\n")
    assert message == "No terminal to ask for the password. Use --password-file or --generate."


def test_a_second_source_of_a_password_is_a_usage_error(line, password_file):
    two = ("--generate", "--password-file", password_file)
    for args in ((*CREATE, "two", *two), ("user", "reset-password", "admin", *two), (*CREATE, "x", "--password", "y")):
        before = line.everything()
        assert (line.run(*args).exit_code, line.everything()) == (2, before)


def test_a_terminal_asks_twice_and_never_shows_the_password(line, url):
    again = "Repeat the password: "
    typed: list[Any] = [("Password: ", PASSWORD), (again, "other words"), ("Password: ", PASSWORD), (again, PASSWORD)]
    status, screen = run_flags_at_terminal(*CREATE, "typist", typed=typed, DATABASE_URL=url, BCRYPT_ROUNDS="10")
    assert status == 0, screen
    assert "do not match" in screen
    assert PASSWORD not in screen
    assert line.log_in("typist", PASSWORD).status_code == 200


@pytest.mark.parametrize("by", ["username", "email"])
def test_reset_password_ends_the_sessions_of_that_user(line, make_user, by):
    username = f"olive-{by}"
    names = {"username": username, "email": f"{username}@EXAMPLE.org"}
    user_id = make_user(username, "--name", "Olive")
    other_id = make_user(f"{username}-2")
    assert [line.log_in(name, PASSWORD).status_code for name in (*names.values(), f"{username}-2")] == [200, 200, 200]
    output = []
    events = line.events_of(lambda: output.append(line.does("user", "reset-password", names[by], "--generate")))
    data = {"id": user_id, "name": "Olive", "username": username, "email": f"{username}@example.org", "rootRole": 3}
    assert events == [event("user-updated", data=data, pre_data=data)]
    sessions = "SELECT count(*) AS number FROM sessions WHERE user_id = %s"
    assert line.rows(sessions, user_id) == [{"number": 0}]
    assert line.rows(sessions, other_id) == [{"number": 1}]
    assert line.log_in(username, PASSWORD).status_code == 401
    assert line.log_in(username, output[0].strip()).status_code == 200


def test_reset_password_obeys_the_rules_of_passwords(line, make_user, tmp_path):
    make_user("patricia")
    for text in ("PATRICIA", "patricia@EXAMPLE.org", "short"):
        (tmp_path / "new").write_text(text)
        message = line.refuses("user", "reset-password", "patricia", "--password-file", str(tmp_path / "new"))
        assert message.startswith("password: must ")


def test_link_connects_a_user_and_unlink_undoes_it(line, make_user, monkeypatch):
    assert line.refuses("user", "link", "admin", "x") == "Set OIDC_ISSUER to the address of the identity provider."
    monkeypatch.setitem(line.app.config, "OIDC_ISSUER", ISSUER)
    made = {name: make_user(name) for name in ("lina", "lukas")}
    found = "SELECT user_id, issuer, subject FROM user_identities"
    before = {"id": made["lina"], "username": "lina", "email": "lina@example.org", "rootRole": 3}
    after = before | {"identity": ISSUER}
    events = line.events_of(lambda: line.does("user", "link", "LINA@example.org", "sub-1"))
    assert events == [event("user-updated", data=after, pre_data=before)]
    assert line.rows(found) == [{"user_id": made["lina"], "issuer": ISSUER, "subject": "sub-1"}]
    assert line.refuses("user", "link", "lukas", "sub-1") == "subject: a user has this identity already"
    message = "user: has an identity of this issuer already; unlink it first"
    assert line.refuses("user", "link", "lina", "sub-2") == message
    assert line.refuses("user", "link", "nobody", "x").startswith(UNKNOWN)
    assert line.log_in("lina", PASSWORD).status_code == 200
    events = line.events_of(lambda: line.does("user", "unlink", "lina"))
    assert line.rows("SELECT FROM sessions WHERE user_id = %s", made["lina"]) == []
    assert (events, line.rows(found)) == ([event("user-updated", data=before, pre_data=after)], [])
    assert line.events_of(lambda: line.does("user", "unlink", "lina")) == []
    assert line.refuses("user", "unlink", "nobody").startswith(UNKNOWN)


@pytest.mark.slow
def test_the_real_program_lists_json_in_any_encoding(url, make_user):
    make_user("latin", "--name", "日本 é")
    done = run_flags("user", "list", "--json", DATABASE_URL=url, PYTHONIOENCODING="ascii")
    assert "日本 é" in [entry["name"] for entry in json.loads(done.stdout)]
    done = run_flags("user", "list", DATABASE_URL=url, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "?? ?" in done.stdout


def test_end_sessions_ends_those_of_one_user(line, make_user):
    ada, bob = make_user("ada-ends"), make_user("bob-stays")
    for name in ("ada-ends", "ada-ends", "bob-stays"):
        assert line.log_in(name, PASSWORD).status_code == 200
    events = line.events_of(lambda: line.does("user", "end-sessions", "Ada-ends@example.org"))
    assert line.rows("SELECT user_id FROM sessions WHERE user_id = ANY(%s)", [ada, bob]) == [{"user_id": bob}]
    assert events == []
    assert line.does("user", "end-sessions", "ada-ends") == f"All sessions of user {ada} have ended.\n"
    assert line.refuses("user", "end-sessions", "absent") == f"{UNKNOWN}absent."


def test_an_administrator_is_recovered_while_single_sign_on_is_away(line, make_user, monkeypatch):
    make_user("sso")
    line.conn.execute("UPDATE users SET password_hash = NULL WHERE username = 'sso'")
    monkeypatch.setitem(line.app.config, "PASSWORD_LOGIN", "off")
    line.does("user", "set-role", "sso", "admin")
    done = line.run("user", "reset-password", "sso", "--generate")
    password = done.stdout.strip()
    problem = "PASSWORD_LOGIN is {}, so this user cannot log in with a password"
    warning = f"Warning: {problem}. To allow it, set PASSWORD_LOGIN={{}}.\n"
    assert done.stderr.startswith(warning.format("off", "admins"))
    assert line.log_in("sso", password).status_code == 401
    monkeypatch.setitem(line.app.config, "PASSWORD_LOGIN", "admins")
    assert line.log_in("sso", password).status_code == 200
    assert "Warning" not in line.run("user", "reset-password", "sso", "--generate").stderr
    line.does("user", "set-role", "sso", "viewer")
    assert line.log_in("sso", password).status_code == 401
    done = line.run(*CREATE, "late", "--role", "viewer", "--generate")
    assert done.stderr.startswith(warning.format("admins", "on"))


def test_a_full_disk_is_reported_in_the_words_of_the_service(line):
    fails = "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE SQLSTATE '53100'; END$$;"
    trigger = "CREATE TRIGGER fails BEFORE INSERT ON users EXECUTE FUNCTION fails()"
    with line.altered(f"{fails} {trigger}", "DROP FUNCTION fails CASCADE"):
        assert line.refuses(*CREATE, "full", "--generate") == "The disk of the database is full."
