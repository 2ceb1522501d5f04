"""The settings: defaults, valid and invalid values, secrets in files, and the message about each error."""

import os
import sys
from ipaddress import ip_network

import pytest

from operations.misspelt_settings import misspelt
from serving import auth_proxy_settings, settings
from serving.settings import FOLDER, PROJECT, SETTINGS, SettingError, load, read
from tests.support.service import GUNICORN, IMPORT, SERVE, run_together

SECRETS = [setting.name for setting in SETTINGS if setting.secret]

# The default, the minimum and the maximum of whole numbers.
NUMBERS = {
    "PORT": (4242, 1, 65535),
    "SMTP_PORT": (587, 1, 65535),
    "WEB_CONCURRENCY": (2, 1, 256),
    "THREADS": (64, 1, 512),
    "WAIT_SECONDS": (5, 1, 60),
    "DATABASE_POOL_SIZE": (8, 1, 512),
    "STATEMENT_TIMEOUT_SECONDS": (30, 1, 3600),
    "LOCK_TIMEOUT_SECONDS": (10, 1, 3600),
    "SESSION_TTL_HOURS": (48, 1, 8760),
    "BCRYPT_ROUNDS": (12, 10, 20),
    "PASSWORD_MIN_LENGTH": (8, 1, 72),
    "MAX_BODY_BYTES": (1048576, 1024, 104857600),
    "LOGIN_FREE_FAILURES": (5, 1, 1000),
    "LOGIN_MAX_WAIT_SECONDS": (900, 1, 86400),
    "LOGIN_ATTEMPTS_PER_MINUTE": (30, 1, 100000),
    "SIGNUP_ATTEMPTS_PER_MINUTE": (30, 1, 100000),
    "MAX_FLAGS": (5000, 1, 1000000),
    "MAX_PROJECTS": (500, 1, 100000),
    "MAX_ENVIRONMENTS": (50, 1, 1000),
    "MAX_SEGMENTS": (300, 1, 100000),
    "MAX_API_TOKENS": (2000, 1, 100000),
    "MAX_PERSONAL_TOKENS": (10, 1, 1000),
    "MAX_STRATEGIES": (30, 1, 1000),
    "MAX_STRATEGY_SEGMENTS": (5, 0, 1000),
    "MAX_CONSTRAINTS": (30, 0, 1000),
    "MAX_CONSTRAINT_VALUES": (250, 1, 10000),
    "MAX_SEGMENT_VALUES": (1000, 1, 100000),
    "CLIENT_KEEP_MS": (100, 0, 60000),
    "CLIENT_STALE_SECONDS": (3600, 0, 604800),
    "CLIENT_STREAMS": (400, 0, 20000),
    "EVENT_RETENTION_DAYS": (0, 0, 36500),
    "USAGE_RETENTION_DAYS": (0, 0, 36500),
    "SLOW_REQUEST_MS": (1000, 0, 3600000),
    "TRUSTED_PROXIES": (0, 0, 10),
}

PROXY_HEADERS = tuple(f"AUTH_PROXY_{name}HEADER" for name in ("", "EMAIL_", "NAME_", "GROUPS_"))
SCOPED = ("INIT_CLIENT_API_TOKENS", "INIT_BACKEND_API_TOKENS", "INIT_FRONTEND_API_TOKENS")

DEFAULTS = {name: default for name, (default, _, _) in NUMBERS.items()} | {
    "DATABASE_URL": None,
    "DATA_DIR": PROJECT / "data",
    "HOST": "127.0.0.1",
    "BASE_URL": "http://127.0.0.1:4242",
    "BASE_PATH": "",
    "DATABASE_POOLER": "none",
    "CONSOLE": True,
    "PASSWORD_LOGIN": "on",
    "INIT_ADMIN_USERNAME": "admin",
    "INIT_ADMIN_PASSWORD": None,
    "INIT_ADMIN_API_TOKENS": None,
    **dict.fromkeys((*SCOPED, "IMPORT_FILE")),
    "IMPORT_PROJECT": "default",
    "IMPORT_ENVIRONMENT": "development",
    "FRONTEND_ORIGINS": ("*",),
    "INTEGRATION_NETWORKS": (),
    "METRICS_TOKEN": None,
    "AUTH_PROXY_NETWORKS": (),
    "AUTH_PROXY_CREATE_USERS": False,
    **dict.fromkeys((*PROXY_HEADERS, "AUTH_PROXY_SECRET", "AUTH_PROXY_LOGOUT_URL")),
    "SMTP_SECURITY": "starttls",
    **dict.fromkeys(("SMTP_HOST", "SMTP_USERNAME", "SMTP_PASSWORD", "SMTP_FROM")),
    **dict.fromkeys(("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_GROUPS_CLAIM")),
    "OIDC_NAME": "single sign-on",
    "OIDC_SCOPES": "openid email profile",
    "OIDC_CREATE_USERS": True,
    "OIDC_EMAIL_DOMAINS": (),
    "OIDC_EMAIL_VERIFIED": "claim",
    "SSO_ROLE": "Viewer",
}

VALID = {
    "DATABASE_URL": [
        *("postgres://h", "postgresql://", "postgresql:///d?host=/run/postgresql", "postgresql://[::1]:5432/d"),
        *("postgresql://u:p@h:5432/d", "postgresql://u:a%2Fb%40%20@h/d", "postgresql://u:?#=@h/d"),
        *("postgresql://u@h1:1,h2:2/d?target_session_attrs=read-write", "postgresql://%2Frun/d"),
    ],
    "DATA_DIR": ["/", "a b", "~", "é", "data/", "../x", "a,b", "'\""],
    "HOST": ["0.0.0.0", "::", "::1", "fe80::1", "::ffff:10.0.0.1", "localhost", "flags.example.org", "my_host", "h."],
    "BASE_URL": [
        "http://h",
        "https://f.example:8443/a/b-c_d.e~f",
        "http://[::1]:1",
        "http://127.0.0.1",
        "http://my_h",
        "http://api",
    ],
    "METRICS_TOKEN": ["x" * 16, "!" + "~" * 254],
    "SSO_ROLE": ["Editor", "Release managers"],
    **{name: ["Remote-User", "X1"] for name in PROXY_HEADERS[1:]},
    "AUTH_PROXY_SECRET": ["x" * 16],
    "AUTH_PROXY_LOGOUT_URL": ["https://id.example.org/logout?rd=/", "/oauth2/sign_out"],
    "SMTP_SECURITY": ["starttls", "tls", "none"],
    "SMTP_FROM": ["flags@example.org", "Flags <flags@example.org>", '"Flags, é" <f@h>'],
    **{name: ["x", " a b ", "x" * 255] for name in ("SMTP_USERNAME", "SMTP_PASSWORD", "OIDC_CLIENT_SECRET")},
    "OIDC_NAME": ["x", "Müller & Söhne", "x" * 50],
    "OIDC_GROUPS_CLAIM": ["realm_access.roles", "https://example.org/claims/" + "x" * 200],
    "OIDC_SCOPES": ["openid", "groups openid"],
    "OIDC_EMAIL_VERIFIED": ["claim", "always"],
    "INIT_ADMIN_USERNAME": ["a", "x" * 255, "ada lovelace", "é"],
    "INIT_ADMIN_PASSWORD": ["12345678", "x" * 72, " with spaces ", "é" * 36],
    **{
        name: ["*:production.0123456789", "shop:a-b_c.1.2:3456789", f"*:d.{'x' * 251}", "é:é.0123456789ab"]
        for name in SCOPED
    },
    "IMPORT_FILE": ["/", "a b.json", "flags.yml"],
    "IMPORT_PROJECT": ["default", "a~b"],
    "IMPORT_ENVIRONMENT": ["production"],
    "INIT_ADMIN_API_TOKENS": ["x" * 16, "x" * 255, '*:*.é!"§$%&/()=?-long-enough'],
}

INVALID = {
    "DATABASE_URL": [
        *("x", "mysql://u@h/d", "postgresql:/h/d", "postgresql//h", "host=h dbname=d", "postgresql://u:p@h:x/d"),
        *("postgresql://u:p@h:123456/d", "postgresql://u:a/b@h/d", "postgresql://u:a@b@h/d", "postgresql://u:a b@h/d"),
        *("postgresql://u:a%zz@h/d", "postgresql://u:a%@h/d", "postgresql://h/d/e", "postgresql://[::1/d"),
        *(" postgresql://h/d", "postgresql://h/d\n", "postgresql://h/\udcff", "postgresql://h/%00"),
        *("postgresql://h/%ff", "postgresql://h/d?sslmode", "postgresql://h/d?schema=public"),
    ],
    "DATA_DIR": ["a\nb", "\x1b[31m", "data\x7f", "\udcff"],
    "HOST": [
        *("a b", "http://h", "[::1]", "h/p", "é", "h\n", "*", "127.0.0.1,::1", "127.0.0.1:80", "localhost:80"),
        *("[::1]:80", "::1:x", ":80", ":", "h..example", "a" * 64, ".example"),
    ],
    "BASE_URL": [
        *("x", "h.example", "//h", "ftp://h", "http://", "http:///p", "http://:80", "http://h:x", "http://h:0"),
        *("http://h:65536", "https:h", "http://h?q", "http://h/?", "http://h/#", "http://u@h", "http://u:p@h"),
        *("http://h/a b", "http://h//a", "http://h/a//", "http://h/%41", "http://h\n", " http://h", "http://h/é"),
        *("http://h é", "http://[::1", "http://h/a?b=c", "javascript:alert(1)"),
        *("http://h/api", "http://h/flags/api/"),
    ],
    "FRONTEND_ORIGINS": ["x", "https://a/", "https://a,", "https://a;https://b", "https://*.a", "null", "//a"],
    "INTEGRATION_NETWORKS": ["x", "10.0.0.1/8", "10.0.0.0/8;10.1.0.0/16", "10.0.0.0/8,", "10.0.0.0/33"],
    "AUTH_PROXY_NETWORKS": [
        *("x", "10.0.0.1/8", "10.0.0.0/8;10.1.0.0/16", "10.0.0.0/33", "0.0.0.0/0", "::/0", "127.0.0.1,::/0"),
        *("0.0.0.0/1,128.0.0.0/1", "::/1,8000::/1"),
    ],
    **{name: ["Remote_User", "a b", "a:", "x" * 101, "é"] for name in PROXY_HEADERS},
    "AUTH_PROXY_SECRET": ["x" * 15, "x" * 256, "sixteen and more letters", "é" * 16],
    "AUTH_PROXY_CREATE_USERS": ["On", "true"],
    "AUTH_PROXY_LOGOUT_URL": ["https://id.example.org/é", "/x\n", "x" * 256],
    "SSO_ROLE": ["ADMIN", "aDmin"],
    "DATABASE_POOLER": ["session", "Transaction", "yes", "statement", "pgbouncer"],
    "PASSWORD_LOGIN": ["Off", "true", "none"],
    **{name: ["On", "true", "1", "no", "off "] for name in ("CONSOLE", "OIDC_CREATE_USERS")},
    "INIT_ADMIN_USERNAME": ["a@b", " a", "a ", "\n", "x" * 256, "\udcff"],
    "INIT_ADMIN_PASSWORD": ["1234567", "é" * 7, "x" * 73, "é" * 37, "\udcffsixteen-and-more"],
    "INIT_ADMIN_API_TOKENS": [
        *("x" * 15, "x" * 256, f"{'x' * 16},", f",{'x' * 16}", f"{'x' * 16},,{'y' * 16}", f"{'x' * 16},{'x' * 16}"),
        *("eight888 eight888", f"{'x' * 16}\t{'y' * 16}", f"{'x' * 16}\udcff", f"{'x' * 16}\x00"),
    ],
    **{
        name: [
            *(
                "x" * 16,
                "*:production.",
                "*:production.12",
                f"*:d.{'x' * 252}",
                "*:*.0123456789abcdef",
                ":d.0123456789abcdef",
            ),
            *(
                "[]:production.0123456789",
                "[a,b]:production.0123456789",
                "a*:production.0123456789",
                "*:a b.0123456789abc",
            ),
            *(
                "*:d.0123456789a\x07",
                "*:.0123456789abcd",
            ),
        ]
        for name in SCOPED
    },
    "IMPORT_FILE": ["a\nb", "\x7f"],
    **{name: ["a b", "..", "x" * 101, "é"] for name in ("IMPORT_PROJECT", "IMPORT_ENVIRONMENT")},
    "SMTP_HOST": ["a b", "smtp://h", "h:25", "h/p"],
    "SMTP_SECURITY": ["ssl", "STARTTLS", "yes"],
    "SMTP_FROM": ["somebody", "a@b@c", "A name <x y>", "a@b\nBcc: c@d"],
    **{
        name: ["a\nb", "\x7f", "é", "x" * 256]
        for name in ("SMTP_USERNAME", "SMTP_PASSWORD", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_GROUPS_CLAIM")
    },
    "OIDC_NAME": ["a\nb", "x" * 51],
    "OIDC_ISSUER": [
        *("id.other.org", "http://id.example.org", "https://a b", "https://h?a=b", "https://h#a"),
        *("https://u@h", "http://127.0.0.1.evil.example", "http://127.0.0.1:80@h", "http://localhost:a", "https://é"),
    ],
    "OIDC_SCOPES": ["email", "openid,email", "openid é"],
    "OIDC_EMAIL_DOMAINS": ["localhost", "@b.example", "a.org,", "a b.org"],
    "OIDC_EMAIL_VERIFIED": ["on", "never"],
    "METRICS_TOKEN": [
        *("x" * 15, "x" * 256, "sixteen and more letters", f"{'x' * 16}\n", "é" * 16),
        *(f"{'x' * 16}\x7f", f"{'x' * 16}\udcff"),
    ],
}


def error_of(settings: dict[str, str]) -> str:
    """Return why these settings are invalid."""
    with pytest.raises(SettingError) as problem:
        load(settings)
    return str(problem.value)


# --- Values -----------------------------------------------------------------------------------------------------------


def test_each_setting_has_a_default_which_an_empty_value_means():
    empty = {f"{setting.name}{end}": "" for setting in SETTINGS for end in ("", "_FILE")}
    for given in ({}, empty):
        assert load(given) == DEFAULTS


@pytest.mark.parametrize("name", VALID)
def test_a_valid_value_is_taken(name: str):
    for text in VALID[name]:
        paths = dict.fromkeys(("DATA_DIR", "IMPORT_FILE"), PROJECT / text)
        taken = (paths | dict.fromkeys(("INIT_ADMIN_API_TOKENS", *SCOPED), (text,))).get(name, text)
        assert load({name: text})[name] == taken


def assert_refused(name: str, text: str) -> None:
    """Assert that the error names the setting and does not contain the value."""
    sentence = error_of({name: text})
    assert sentence.startswith(f"The setting {name} must "), ascii(text)
    assert sentence.endswith("."), ascii(text)
    assert sentence.isprintable(), ascii(text)
    assert len(text) < 3 or text not in sentence


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_value_is_refused_by_name(name: str):
    for text in INVALID[name]:
        assert_refused(name, text)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_whole_number_has_a_minimum_and_a_maximum(name: str):
    _, low, high = NUMBERS[name]
    assert [load({name: text})[name] for text in (f"0{low}", str(high))] == [low, high]
    for number in (low - 1, high + 1):
        sentence = error_of({name: str(number)})
        assert sentence == f"The setting {name} must be a whole number from {low} to {high}."
    for text in ("x", "-1", "1.5", "1e3", "0x10", "５", "+5", "1_000", " 5", "5 ", "9" * 10, "9" * 400):
        assert_refused(name, text)


def test_each_setting_has_invalid_values():
    assert {*INVALID, *NUMBERS} == {setting.name for setting in SETTINGS}


def test_lists_and_switches():
    assert [load({"CONSOLE": text})["CONSOLE"] for text in ("on", "off")] == [True, False]
    keys = ("x" * 16, "y" * 16, "z" * 16)
    assert load({"INIT_ADMIN_API_TOKENS": f" {keys[0]} ,{keys[1]}, {keys[2]}"})["INIT_ADMIN_API_TOKENS"] == keys
    tokens = tuple(f"*:production.{key}" for key in keys)
    for name in SCOPED:
        assert load({name: f"\n {tokens[0]} ,{tokens[1]}\r\n\n{tokens[2]}\n"})[name] == tokens


@pytest.mark.parametrize("name", SCOPED)
def test_an_invalid_token_is_named_by_its_position(name: str):
    right = "shop:production.0123456789"
    sentence = error_of({name: f"{right}\nshop:production"})
    assert sentence.endswith("; token 2 is not.")
    assert "shop" not in sentence


def test_a_pooler_needs_a_database_url():
    for pooler in ("none", "transaction", "prepared"):
        assert load({"DATABASE_POOLER": pooler, "DATABASE_URL": "postgresql://h"})["DATABASE_POOLER"] == pooler
    sentence = "The setting DATABASE_POOLER must be none without DATABASE_URL."
    assert error_of({"DATABASE_POOLER": "transaction"}) == sentence
    # Commands run with the default.
    found, errors = read({"DATABASE_POOLER": "transaction"})
    assert (found["DATABASE_POOLER"], errors) == ("none", [sentence])


@pytest.mark.parametrize(
    ("given", "base_url", "path"),
    [
        ({"HOST": "::1", "PORT": "80"}, "http://[::1]:80", ""),
        ({"HOST": "flags.example.org"}, "http://flags.example.org:4242", ""),
        ({"BASE_URL": "https://example.org/"}, "https://example.org", ""),
        ({"BASE_URL": "https://example.org/a/flags/"}, "https://example.org/a/flags", "/a/flags"),
    ],
)
def test_the_base_url_ends_without_a_slash(given: dict[str, str], base_url: str, path: str):
    settings = load(given)
    assert (settings["BASE_URL"], settings["BASE_PATH"]) == (base_url, path)


def test_the_settings_of_e_mail_fit_together():
    on = {"SMTP_HOST": "smtp.example.org", "SMTP_FROM": "flags@example.org"}
    login = {"SMTP_USERNAME": "flags", "SMTP_PASSWORD": "secret"}
    for more in ({}, login, {"SMTP_SECURITY": "none"}, {"SMTP_SECURITY": "none", "SMTP_HOST": "127.0.0.1"} | login):
        assert load(on | more)["SMTP_FROM"] == "flags@example.org"
    assert error_of({"SMTP_HOST": "h"}) == "The setting SMTP_FROM is required with SMTP_HOST."
    both = "Set both SMTP_USERNAME and SMTP_PASSWORD, or none of them."
    assert [error_of(on | {name: value}) for name, value in login.items()] == [both, both]
    plain = "The setting SMTP_SECURITY must be starttls or tls, because SMTP_PASSWORD is sent."
    assert error_of(on | login | {"SMTP_SECURITY": "none"}) == plain


def test_the_settings_of_a_proxy_fit_together():
    on = {"AUTH_PROXY_HEADER": "Remote-User", "AUTH_PROXY_NETWORKS": "172.18.0.5/32, ::1"}
    assert load(on)["AUTH_PROXY_NETWORKS"] == (ip_network("172.18.0.5/32"), ip_network("::1/128"))
    assert load(on | {"AUTH_PROXY_CREATE_USERS": "on"})["AUTH_PROXY_CREATE_USERS"] is True
    needed = "The setting AUTH_PROXY_NETWORKS is required with AUTH_PROXY_HEADER."
    assert error_of({"AUTH_PROXY_HEADER": "Remote-User"}) == needed
    everybody = "must not trust all addresses, because everybody could log in as anybody."
    assert error_of(on | {"AUTH_PROXY_NETWORKS": "0.0.0.0/0"}).startswith(
        f"The setting AUTH_PROXY_NETWORKS {everybody}"
    )
    [(_, both)] = auth_proxy_settings.conflicts(load(on) | {"OIDC_ISSUER": "https://id.example.org"})
    assert both == "Set only one of AUTH_PROXY_HEADER and OIDC_ISSUER."


@pytest.mark.parametrize("mode", ["admins", "off"])
def test_password_login_is_limited_only_beside_another_login(mode: str):
    refusal = "The setting PASSWORD_LOGIN must be on without OIDC_ISSUER and AUTH_PROXY_HEADER."
    assert error_of({"PASSWORD_LOGIN": mode}) == refusal
    for door in ("OIDC_ISSUER", "AUTH_PROXY_HEADER"):
        found = load({}) | {"PASSWORD_LOGIN": mode, door: "set"}
        assert "PASSWORD_LOGIN" not in dict(settings.conflicts(found))


def test_the_settings_of_single_sign_on_fit_together(monkeypatch: pytest.MonkeyPatch):
    for issuer in ("https://id.example.org/", "http://localhost:8080/realms/a", "http://[::1]", "http://127.0.0.1:1"):
        assert load({"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "flags"})["OIDC_ISSUER"] == issuer
    assert load({"OIDC_EMAIL_DOMAINS": "A.example, b.example"})["OIDC_EMAIL_DOMAINS"] == ("a.example", "b.example")
    on = {"OIDC_ISSUER": "https://h"}
    together = "The settings OIDC_ISSUER and OIDC_CLIENT_ID are required together."
    assert error_of(on) == error_of({"OIDC_CLIENT_ID": "flags"}) == together
    monkeypatch.setattr("serving.sign_in_settings.find_spec", lambda _: None)
    problem = "The setting OIDC_ISSUER needs the package joserfc. Install it: "
    assert error_of(on | {"OIDC_CLIENT_ID": "flags"}) == f"{problem}{sys.executable} -m pip install joserfc"


def test_the_first_password_has_the_minimum_length():
    settings = {"INIT_ADMIN_PASSWORD": "x" * 19, "PASSWORD_MIN_LENGTH": "20"}
    assert error_of(settings) == "The setting INIT_ADMIN_PASSWORD must be at least 20 characters long."
    assert load(settings | {"PASSWORD_MIN_LENGTH": "19"})["INIT_ADMIN_PASSWORD"] == "x" * 19


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("schema=public", "schema"),
        ("sslmode=require&pgbouncer=true", "pgbouncer"),
        ("ssl=true&schema=public", "schema"),
    ],
)
def test_an_unknown_parameter_of_the_database_is_named(query: str, name: str):
    problem = f"must not have the parameter {name}: PostgreSQL has no such connection parameter."
    for start in ("postgresql://h/d", "postgresql://u:p?a=b@h/d"):
        assert error_of({"DATABASE_URL": f"{start}?{query}"}) == f"The setting DATABASE_URL {problem}"


# An unencoded /, ? or & in a password makes the rest of it look like a parameter. No error may contain it.
@pytest.mark.parametrize(
    "rest",
    [
        *("d?sslmode", "12/?secret=x@h/d", "d?password=p&secret=1", "d?sslpassword=p&secret=1"),
        *("d?oauth_client_secret=p&secret=1", "d?password=p@x?secret=1", "d?sslmode=require&amp;password=p&secret=1"),
        *("d?%70assword=p&secret=1", "d??password=p&secret=1", "d?user=u&pass-word=p&secret=1"),
    ],
)
def test_no_part_of_a_password_is_named(rest: str):
    url = f"postgresql://{'u:' if '@h' in rest else 'h/'}{rest}"
    with pytest.raises(SettingError, match=r"^The setting DATABASE_URL must look like [^ ]+, with [a-z -]+\.$"):
        load({"DATABASE_URL": url})


# --- Secrets in files -------------------------------------------------------------------------------------------------

VALUES = {
    "DATABASE_URL": "postgresql://u:p@h/d",
    "INIT_ADMIN_PASSWORD": " the password ",
    "INIT_ADMIN_API_TOKENS": "*:*.the-key-in-the-file",
    **dict.fromkeys(SCOPED, "*:production.the-token-in-the-file"),
    "METRICS_TOKEN": "the-token-in-the-file",
    "AUTH_PROXY_SECRET": "the-secret-in-the-file",
    "SMTP_PASSWORD": " the password ",
    "OIDC_CLIENT_SECRET": " the secret ",
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_can_be_in_a_file(tmp_path, name):
    file, value = tmp_path / "secret", VALUES[name]
    given = {f"{name}_FILE": str(file)}
    for end in ("", "\n", "\r\n"):
        file.write_bytes(value.encode() + end.encode())
        assert load(given)[name] == load({name: value})[name]
    assert error_of({name: value} | given) == f"Set only one of {name} and {name}_FILE."
    for text in ("", "\n", " \t\r\n", "\n\n\n", " " * 20):
        file.write_text(text)
        assert error_of(given) == f"The file in {name}_FILE is empty. Write the value to it, or unset the variable."
    file.write_text("x\ty")
    assert error_of(given).startswith(f"The setting {name} must ")
    file.write_text("NUL \0 in the middle")
    assert error_of(given) == f"The setting {name} must be UTF-8 text without the character NUL."
    file.write_bytes(b"\xe9" * 20)
    assert error_of(given) == f"The file in {name}_FILE cannot be read: it is not UTF-8 text."
    file.unlink()
    assert error_of(given) == f"The file in {name}_FILE cannot be read: No such file or directory."
    file.mkdir()
    assert error_of(given) == f"The file in {name}_FILE cannot be read: Is a directory."


def test_only_secrets_are_read_from_files():
    assert load({"HOST_FILE": "missing"}) == load({})


def test_a_relative_path_begins_in_the_folder_of_the_project(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text(VALUES["METRICS_TOKEN"])
    monkeypatch.chdir(tmp_path)
    path = os.path.relpath(tmp_path / "secret", FOLDER)
    assert load({"METRICS_TOKEN_FILE": path})["METRICS_TOKEN"] == VALUES["METRICS_TOKEN"]


# --- Misspelt names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DATABSE_URL", "DATABASE_URL"),
        ("DATABSAE_URL", "DATABASE_URL"),
        ("DATABASE_URL_FIEL", "DATABASE_URL_FILE"),
        ("LOGIN_ATEMPTS_PER_MINUTE", "LOGIN_ATTEMPTS_PER_MINUTE"),
        ("MAX_FLAG", "MAX_FLAGS"),
        ("DATADIR", "DATA_DIR"),
        ("BASE-URL", "BASE_URL"),
    ],
)
def test_a_name_that_is_nearly_a_setting_is_pointed_out(name: str, meant: str) -> None:
    assert misspelt({name: "x"}) == [f"{name} is not a setting. Did you mean {meant}?"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("IMPORT_FIL", "IMPORT_FILE"),
        ("IMPORT_DROP_BEFORE_IMPORT", "IMPORT_FILE, IMPORT_PROJECT, IMPORT_ENVIRONMENT"),
        (
            "INIT_TOKENS",
            "INIT_ADMIN_USERNAME, INIT_ADMIN_PASSWORD, INIT_ADMIN_API_TOKENS, INIT_CLIENT_API_TOKENS, "
            "INIT_BACKEND_API_TOKENS, INIT_FRONTEND_API_TOKENS",
        ),
    ],
)
def test_every_unknown_setting_of_the_first_start_is_pointed_out(name: str, meant: str) -> None:
    assert misspelt({name: "x"}) == [f"{name} is not a setting. Did you mean {meant}?"]


@pytest.mark.parametrize("given", [("METRICS_PORT",), ("METRICS_HOST",), ("METRICS_PORT", "METRICS_HOST")])
def test_a_removed_setting_gives_one_line(given: tuple[str, ...]) -> None:
    advice = "is no longer a setting. Unset it, set METRICS_TOKEN, and read /metrics on the port of the service."
    assert misspelt(dict.fromkeys(given, "9100")) == [f"{given[0]} {advice}"]
    assert misspelt({"METRICS_PORT": ""}) == []


@pytest.mark.parametrize(
    "environ",
    [
        # Variables of systems, shells, container engines and PostgreSQL.
        dict.fromkeys(("HOSTNAME", "HOSTS", "PORTS", "PGHOST", "PGDATABASE", "XDG_DATA_DIRS", "OMP_NUM_THREADS"), "x"),
        dict.fromkeys(("PATH", "HOME", "MAKEFLAGS", "PAGE_URL", "CACHE_DIR", "FLAGS_PORT", "DATABASE_HOST"), "x"),
        {"DATABASE_NAME": "x"},
        {setting.name: "x" for setting in SETTINGS},
        {f"{setting.name}_FILE": "x" for setting in SETTINGS if setting.secret},
        # The setting has a value, so this is another program's.
        {"BASE_URI": "x", "BASE_URL": "http://h"},
        {"BASE_URL\n": "x"},
        # Only secrets can be in files.
        {"DATA_DIR_FIEL": "x"},
    ],
)
def test_other_names_are_not_pointed_out(environ: dict[str, str]) -> None:
    assert misspelt(environ) == []


# --- The real service -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_start_points_out_a_misspelt_name_and_names_all_invalid_settings() -> None:
    wrong = {"DATABSE_URL": "x", "PORT": "x", "THREADS": "0", "INIT_ADMIN_PASSWORD": "short"}
    expected = [
        "DATABSE_URL is not a setting. Did you mean DATABASE_URL?",
        "The setting PORT must be a whole number from 1 to 65535.",
        "The setting THREADS must be a whole number from 1 to 512.",
        "The setting INIT_ADMIN_PASSWORD must be at least 8 characters long.",
    ]
    programs = (SERVE, GUNICORN, ("operations/flags.py", "user", "list"))
    for done in run_together([(program, wrong) for program in programs]):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.replace("Error: ", "").splitlines() == expected


def test_the_start_is_refused_with_the_error_alone(tmp_path):
    number = "The setting TRUSTED_PROXIES must be a whole number from 0 to 10."
    host = "The setting HOST must be a host name or an address without a port, such as 127.0.0.1 or ::1."
    unusable = "Cannot listen on {}:4242: {}. Set HOST or PORT to another value."
    refusals = [
        (IMPORT, {"TRUSTED_PROXIES": "all"}, number),
        (GUNICORN, {"TRUSTED_PROXIES": "all"}, number),
        (GUNICORN, {"HOST": "[::1]:80"}, host),
        (GUNICORN, {"HOST": "192.0.2.1"}, unusable.format("192.0.2.1", "Cannot assign requested address")),
        (GUNICORN, {"HOST": "nowhere.invalid"}, unusable.format("nowhere.invalid", "Unknown host name")),
    ]
    data = tmp_path / "data"
    done = run_together([(arguments, {"DATA_DIR": data, **given}) for arguments, given, _ in refusals])
    assert [(process.returncode, process.stdout, process.stderr) for process in done] == [
        (1, "", f"{sentence}\n") for *_, sentence in refusals
    ]
    assert not data.exists()
