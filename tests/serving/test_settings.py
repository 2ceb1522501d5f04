"""The settings: defaults, invalid values, and the sentence that names each of them."""

from pathlib import Path

import pytest

from serving.settings import PROJECT, SETTINGS, SettingError, load
from tests.support.service import GUNICORN, IMPORT, run_together

SECRETS = [setting.name for setting in SETTINGS if setting.secret]


NUMBERS = ["x", "-1", "1.5", "1e3", " 5", "5 ", "0x10", "５", "+5", "1_000", "9" * 10, "9" * 400]  # a full-width five among them


# Invalid values. Whole numbers have the edges of their range too.
SENSELESS = {
    "DATABASE_URL": [
        *(
            "x",
            "mysql://u@h/d",
            "postgresql:/h/d",
            "postgresql//h",
            "host=h dbname=d",
            "postgresql://u:p@h:x/d",
            "postgresql://u:p@h:123456/d",
        ),
        *("postgresql://u:a/b@h/d", "postgresql://u:a@b@h/d", "postgresql://u:a b@h/d", "postgresql://u:a%zz@h/d", "postgresql://u:a%@h/d"),
        *("postgresql://h/d/e", "postgresql://[::1/d", " postgresql://h/d", "postgresql://h/d\n", "postgresql://h/\udcff"),
    ],
    "DATA_DIR": ["a\nb", "\x1b[31m", "data\x7f", "\udcff"],
    "HOST": ["a b", "http://h", "[::1]", "h/p", "é", "h\n", "*", "127.0.0.1,::1"],
    "BASE_URL": [
        *(
            "x",
            "h.example",
            "//h",
            "ftp://h",
            "http://",
            "http:///p",
            "http://:80",
            "http://h:x",
            "http://h:0",
            "http://h:65536",
            "https:h",
        ),
        *(
            "http://h?q",
            "http://h/?",
            "http://h/#",
            "http://u@h",
            "http://u:p@h",
            "http://h/a b",
            "http://h//a",
            "http://h/a//",
            "http://h/%41",
        ),
        *("http://h\n", " http://h", "http://h/é", "http://h é", "http://[::1", "http://h/a?b=c", "javascript:alert(1)"),
    ],
    "WEB_CONCURRENCY": ["0", "257"],
    "THREADS": ["0", "513"],
    "WAIT_SECONDS": ["0", "61"],
    "DATABASE_POOL_SIZE": ["0", "513"],
    "STATEMENT_TIMEOUT_SECONDS": ["0", "3601"],
    "LOCK_TIMEOUT_SECONDS": ["0", "3601"],
    "DATABASE_POOLER": ["session", "Transaction", "yes", "statement", "pgbouncer"],
    "PORT": ["0", "65536"],
    "SESSION_TTL_HOURS": ["0", "8761"],
    "BCRYPT_ROUNDS": ["9", "21"],
    "PASSWORD_MIN_LENGTH": ["0", "73"],
    "MAX_BODY_BYTES": ["1023", "104857601"],
    "LOGIN_FREE_FAILURES": ["0", "1001"],
    "LOGIN_MAX_WAIT_SECONDS": ["0", "86401"],
    "LOGIN_ATTEMPTS_PER_MINUTE": ["0", "100001"],
    "SIGNUP_ATTEMPTS_PER_MINUTE": ["0", "100001"],
    "INIT_ADMIN_USERNAME": ["a@b", " a", "a ", "\n", "x" * 256, "\udcff"],
    "INIT_ADMIN_PASSWORD": ["1234567", "é" * 7, "x" * 73, "é" * 37, "\udcffsixteen-and-more"],
    "INIT_ADMIN_API_TOKENS": [
        *("x" * 15, "x" * 256, f"{'x' * 16},", f",{'x' * 16}", f"{'x' * 16},,{'y' * 16}", f"{'x' * 16},{'x' * 16}", "eight888 eight888"),
        *(f"{'x' * 16}\t{'y' * 16}", f"{'x' * 16}\udcff", f"{'x' * 16}\x00"),
    ],
    "MAX_FLAGS": ["0", "1000001"],
    "MAX_PROJECTS": ["0", "100001"],
    "MAX_ENVIRONMENTS": ["0", "1001"],
    "MAX_SEGMENTS": ["0", "100001"],
    "MAX_API_TOKENS": ["0", "100001"],
    "MAX_PERSONAL_TOKENS": ["0", "1001"],
    "MAX_STRATEGIES": ["0", "1001"],
    "MAX_STRATEGY_SEGMENTS": ["1001"],
    "MAX_CONSTRAINTS": ["1001"],
    "MAX_CONSTRAINT_VALUES": ["0", "10001"],
    "MAX_SEGMENT_VALUES": ["0", "100001"],
    "EVENT_RETENTION_DAYS": ["36501"],
    "METRICS_TOKEN": ["x" * 15, "x" * 256, "sixteen and more letters", f"{'x' * 16}\n", "é" * 16, f"{'x' * 16}\x7f", f"{'x' * 16}\udcff"],
    "METRICS_PORT": ["0", "65536", "4242"],
    "METRICS_HOST": ["a b", "http://h", "[::1]", "h/p", "é", "h\n", "*", "127.0.0.1,::1"],
    "SLOW_REQUEST_MS": ["3600001"],
    "TRUSTED_PROXIES": ["11"],
}


WHOLE_NUMBERS = [setting.name for setting in SETTINGS if setting.read.__qualname__.startswith("number")]


@pytest.mark.parametrize("name", SENSELESS)
def test_an_invalid_value_is_refused_by_name(name: str):
    for text in [*SENSELESS[name], *("x", "-1") * (name in WHOLE_NUMBERS)]:
        with pytest.raises(SettingError) as problem:
            load({name: text})
        sentence = str(problem.value)
        assert sentence.startswith(f"The setting {name} must "), ascii(text)
        assert sentence.endswith("."), ascii(text)
        assert sentence.isprintable(), ascii(text)
        assert len(text) < 3 or text not in sentence


@pytest.mark.parametrize("text", NUMBERS)
def test_what_is_no_whole_number_is_refused(text: str):
    with pytest.raises(SettingError, match=r"^The setting PORT must be a whole number from 1 to 65535\.$"):
        load({"PORT": text})


def test_every_setting_has_values_that_make_no_sense():
    assert set(SENSELESS) == {setting.name for setting in SETTINGS}


SENSIBLE = {
    "DATABASE_URL": [
        *(
            "postgresql://u:p@h:5432/d",
            "postgres://h",
            "postgresql://",
            "postgresql:///d?host=/run/postgresql",
            "postgresql://[::1]:5432/d",
        ),
        *(
            "postgresql://u:a%2Fb%40%20@h/d",
            "postgresql://u@h1:1,h2:2/d?target_session_attrs=read-write",
            "postgresql://%2Frun/d",
            "postgresql://u:?#=@h/d",
        ),
    ],
    "DATA_DIR": ["/", "a b", "~", "é", "data/", "../x", "a,b", "'\""],
    "HOST": ["0.0.0.0", "::", "::1", "localhost", "flags.example.org", "my_host"],
    "PORT": ["1", "65535", "0080"],
    "BASE_URL": ["http://h", "https://flags.example.org:8443/a/b-c_d.e~f", "http://[::1]:1", "http://127.0.0.1", "http://my_host"],
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
            int(text) if name in WHOLE_NUMBERS else Path(text) if name == "DATA_DIR" else (text,) if name.endswith("TOKENS") else text
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
    "EVENT_RETENTION_DAYS": 0,
    "METRICS_TOKEN": None,
    "METRICS_PORT": None,
    "METRICS_HOST": "127.0.0.1",
    "SLOW_REQUEST_MS": 1000,
    "TRUSTED_PROXIES": 0,
    "BASE_PATH": "",
}


def test_each_has_a_default():
    assert load({}) == DEFAULTS


def test_a_pooler_stands_before_a_server_of_ones_own():
    for pooler in ("none", "transaction", "prepared"):
        assert load({"DATABASE_POOLER": pooler, "DATABASE_URL": "postgresql://h"})["DATABASE_POOLER"] == pooler
    with pytest.raises(SettingError) as problem:
        load({"DATABASE_POOLER": "transaction"})
    assert str(problem.value) == "The setting DATABASE_POOLER must be none without DATABASE_URL."


def test_metrics_have_a_port_of_their_own_wherever_it_is():
    with pytest.raises(SettingError) as problem:
        load({"PORT": "9100", "METRICS_PORT": "9100", "METRICS_HOST": "10.0.0.1"})
    assert str(problem.value) == "The setting METRICS_PORT must differ from PORT."
    assert load({"PORT": "9100", "METRICS_PORT": "4242"})["METRICS_PORT"] == 4242


def test_empty_is_as_good_as_not_set():
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


UNUSABLE = "Cannot listen on {}:4242: {}. Set HOST or PORT to another value."


def test_the_start_is_refused_with_that_sentence_alone(tmp_path):
    refusals = [
        (IMPORT, {"TRUSTED_PROXIES": "all"}, "The setting TRUSTED_PROXIES must be a whole number from 0 to 10."),
        (GUNICORN, {"TRUSTED_PROXIES": "all"}, "The setting TRUSTED_PROXIES must be a whole number from 0 to 10."),
        (GUNICORN, {"HOST": "192.0.2.1"}, UNUSABLE.format("192.0.2.1", "Cannot assign requested address")),
        (GUNICORN, {"HOST": "nowhere.invalid"}, UNUSABLE.format("nowhere.invalid", "Unknown host name")),
    ]
    data = tmp_path / "data"
    done = run_together([(arguments, {"DATA_DIR": data, **given}) for arguments, given, _ in refusals])
    assert [(it.returncode, it.stdout, it.stderr) for it in done] == [(1, "", f"{sentence}\n") for *_, sentence in refusals]
    assert not data.exists()
