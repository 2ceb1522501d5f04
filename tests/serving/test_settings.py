"""The settings: defaults, invalid values, and the sentence that names each of them."""

import pytest

from serving.settings import PROJECT, SETTINGS, SettingError, load, read

SECRETS = [setting.name for setting in SETTINGS if setting.secret]


WHOLE_NUMBERS = [setting.name for setting in SETTINGS if setting.read.__qualname__.startswith("number")]


SENSIBLE = {
    "DATABASE_URL": [
        "postgresql://u:p@h:5432/d",
        "postgres://h",
        "postgresql://",
        "postgresql:///d?host=/run/postgresql",
        "postgresql://[::1]:5432/d",
        "postgresql://u:a%2Fb%40%20@h/d",
        "postgresql://u@h1:1,h2:2/d?target_session_attrs=read-write",
        "postgresql://%2Frun/d",
        "postgresql://u:?#=@h/d",
    ],
    "DATA_DIR": ["/", "a b", "~", "é", "data/", "../x", "a,b", "'\""],
    "HOST": ["0.0.0.0", "::", "::1", "fe80::1", "::ffff:10.0.0.1", "localhost", "flags.example.org", "my_host", "h."],
    "PORT": ["1", "65535", "0080"],
    "BASE_URL": [
        "http://h",
        "https://flags.example.org:8443/a/b-c_d.e~f",
        "http://[::1]:1",
        "http://127.0.0.1",
        "http://my_host",
    ],
    "WEB_CONCURRENCY": ["1", "256"],
    "PASSWORD_MIN_LENGTH": ["1", "72"],
    "MAX_BODY_BYTES": ["1024", "104857600"],
    "BCRYPT_ROUNDS": ["10", "20"],
    "TRUSTED_PROXIES": ["0", "10"],
    "METRICS_TOKEN": ["x" * 16, "!" + "~" * 254],
    "METRICS_PORT": ["1", "65535"],
    "METRICS_HOST": ["0.0.0.0", "::1", "metrics.internal"],
    "INIT_ADMIN_USERNAME": ["a", "x" * 255, "ada lovelace", "é"],
    "INIT_ADMIN_PASSWORD": ["12345678", "x" * 72, " with spaces ", "é" * 36],
    "INIT_ADMIN_API_TOKENS": ["x" * 16, "x" * 255, '*:*.é!"§$%&/()=?-long-enough'],
}


@pytest.mark.parametrize("name", SENSIBLE)
def test_a_valid_value_is_taken(name: str):
    for text in SENSIBLE[name]:
        expected = (
            int(text)
            if name in WHOLE_NUMBERS
            else PROJECT / text
            if name == "DATA_DIR"
            else (text,)
            if name.endswith("TOKENS")
            else text
        )
        assert load({name: text})[name] == expected


DEFAULTS = {
    "DATABASE_URL": None,
    "DATA_DIR": PROJECT / "data",
    "HOST": "127.0.0.1",
    "PORT": 4242,
    "BASE_URL": "http://127.0.0.1:4242",
    "WEB_CONCURRENCY": 2,
    "THREADS": 64,
    "WAIT_SECONDS": 5,
    "DATABASE_POOL_SIZE": 8,
    "STATEMENT_TIMEOUT_SECONDS": 30,
    "LOCK_TIMEOUT_SECONDS": 10,
    "DATABASE_POOLER": "none",
    "CONSOLE": True,
    "SESSION_TTL_HOURS": 48,
    "BCRYPT_ROUNDS": 12,
    "PASSWORD_MIN_LENGTH": 8,
    "MAX_BODY_BYTES": 1048576,
    "LOGIN_FREE_FAILURES": 5,
    "LOGIN_MAX_WAIT_SECONDS": 900,
    "LOGIN_ATTEMPTS_PER_MINUTE": 30,
    "SIGNUP_ATTEMPTS_PER_MINUTE": 30,
    "INIT_ADMIN_USERNAME": "admin",
    "INIT_ADMIN_PASSWORD": None,
    "INIT_ADMIN_API_TOKENS": None,
    "MAX_FLAGS": 5000,
    "MAX_PROJECTS": 500,
    "MAX_ENVIRONMENTS": 50,
    "MAX_SEGMENTS": 300,
    "MAX_API_TOKENS": 2000,
    "MAX_PERSONAL_TOKENS": 10,
    "MAX_STRATEGIES": 30,
    "MAX_STRATEGY_SEGMENTS": 5,
    "MAX_CONSTRAINTS": 30,
    "MAX_CONSTRAINT_VALUES": 250,
    "MAX_SEGMENT_VALUES": 1000,
    "CLIENT_KEEP_MS": 100,
    "CLIENT_STALE_SECONDS": 3600,
    "FRONTEND_ORIGINS": ("*",),
    "EVENT_RETENTION_DAYS": 0,
    "USAGE_RETENTION_DAYS": 0,
    "METRICS_TOKEN": None,
    "METRICS_PORT": None,
    "METRICS_HOST": "127.0.0.1",
    "SLOW_REQUEST_MS": 1000,
    "TRUSTED_PROXIES": 0,
    "BASE_PATH": "",
}


def test_each_setting_has_a_default():
    assert load({}) == DEFAULTS


def test_the_console_is_on_or_off():
    assert [load({"CONSOLE": text})["CONSOLE"] for text in ("on", "off")] == [True, False]


def test_a_pooler_stands_before_a_server_of_ones_own():
    for pooler in ("none", "transaction", "prepared"):
        assert load({"DATABASE_POOLER": pooler, "DATABASE_URL": "postgresql://h"})["DATABASE_POOLER"] == pooler
    with pytest.raises(SettingError) as problem:
        load({"DATABASE_POOLER": "transaction"})
    assert str(problem.value) == "The setting DATABASE_POOLER must be none without DATABASE_URL."


def test_metrics_need_a_port_of_their_own():
    with pytest.raises(SettingError) as problem:
        load({"PORT": "9100", "METRICS_PORT": "9100", "METRICS_HOST": "10.0.0.1"})
    assert str(problem.value) == "The setting METRICS_PORT must differ from PORT."
    assert load({"PORT": "9100", "METRICS_PORT": "4242"})["METRICS_PORT"] == 4242


def test_an_empty_value_counts_as_not_set():
    assert load({f"{setting.name}{end}": "" for setting in SETTINGS for end in ("", "_FILE")}) == DEFAULTS


@pytest.mark.parametrize(
    ("given", "base_url", "path"),
    [
        ({"HOST": "::1", "PORT": "80"}, "http://[::1]:80", ""),
        ({"HOST": "flags.example.org"}, "http://flags.example.org:4242", ""),
        ({"BASE_URL": "https://example.org/"}, "https://example.org", ""),
        ({"BASE_URL": "https://example.org/a/flags/"}, "https://example.org/a/flags", "/a/flags"),
    ],
)
def test_the_base_url_has_no_slash_at_its_end(given: dict[str, str], base_url: str, path: str):
    settings = load(given)
    assert (settings["BASE_URL"], settings["BASE_PATH"]) == (base_url, path)


def test_api_keys_are_separated_by_commas():
    keys = ("x" * 16, "y" * 16, "z" * 16)
    assert load({"INIT_ADMIN_API_TOKENS": f" {keys[0]} ,{keys[1]}, {keys[2]}"})["INIT_ADMIN_API_TOKENS"] == keys


def test_the_first_password_is_as_long_as_all_others_have_to_be():
    settings = {"INIT_ADMIN_PASSWORD": "x" * 19, "PASSWORD_MIN_LENGTH": "20"}
    with pytest.raises(SettingError) as problem:
        load(settings)
    assert str(problem.value) == "The setting INIT_ADMIN_PASSWORD must be at least 20 characters long."
    assert load(settings | {"PASSWORD_MIN_LENGTH": "19"})["INIT_ADMIN_PASSWORD"] == "x" * 19


def test_commands_run_with_the_default_of_a_setting_that_contradicts_another_one():
    found, errors = read({"METRICS_PORT": "4242"})
    assert (found["METRICS_PORT"], errors) == (None, ["The setting METRICS_PORT must differ from PORT."])
