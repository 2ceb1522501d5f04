"""Invalid settings, and the sentence that names each of them."""

import pytest

from serving.settings import SETTINGS, SettingError, load
from tests.support.service import GUNICORN, IMPORT, run_together

NUMBERS = [
    "x",
    "-1",
    "1.5",
    "1e3",
    " 5",
    "5 ",
    "0x10",
    "５",
    "+5",
    "1_000",
    "9" * 10,
    "9" * 400,
]  # a full-width five among them


# Invalid values. Whole numbers have the edges of their range too.
UNUSABLE_HOSTS = [
    *("a b", "http://h", "[::1]", "h/p", "é", "h\n", "*", "127.0.0.1,::1", "127.0.0.1:80", "localhost:80"),
    *("[::1]:80", "::1:x", ":80", ":", "h..example", "a" * 64, ".example"),
]
SENSELESS = {
    "DATABASE_URL": [
        "x",
        "mysql://u@h/d",
        "postgresql:/h/d",
        "postgresql//h",
        "host=h dbname=d",
        "postgresql://u:p@h:x/d",
        "postgresql://u:p@h:123456/d",
        "postgresql://u:a/b@h/d",
        "postgresql://u:a@b@h/d",
        "postgresql://u:a b@h/d",
        "postgresql://u:a%zz@h/d",
        "postgresql://u:a%@h/d",
        "postgresql://h/d/e",
        "postgresql://[::1/d",
        " postgresql://h/d",
        "postgresql://h/d\n",
        "postgresql://h/\udcff",
        "postgresql://h/%00",
        "postgresql://h/%ff",
        "postgresql://h/d?sslmode",
        "postgresql://h/d?schema=public",
    ],
    "DATA_DIR": ["a\nb", "\x1b[31m", "data\x7f", "\udcff"],
    "HOST": UNUSABLE_HOSTS,
    "BASE_URL": [
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
        "http://h?q",
        "http://h/?",
        "http://h/#",
        "http://u@h",
        "http://u:p@h",
        "http://h/a b",
        "http://h//a",
        "http://h/a//",
        "http://h/%41",
        "http://h\n",
        " http://h",
        "http://h/é",
        "http://h é",
        "http://[::1",
        "http://h/a?b=c",
        "javascript:alert(1)",
    ],
    "FRONTEND_ORIGINS": [
        "x",
        "https://a/",
        "https://a,",
        "https://a;https://b",
        "https://*.a",
        "null",
        "//a",
    ],
    "WEB_CONCURRENCY": ["0", "257"],
    "THREADS": ["0", "513"],
    "WAIT_SECONDS": ["0", "61"],
    "DATABASE_POOL_SIZE": ["0", "513"],
    "STATEMENT_TIMEOUT_SECONDS": ["0", "3601"],
    "LOCK_TIMEOUT_SECONDS": ["0", "3601"],
    "DATABASE_POOLER": ["session", "Transaction", "yes", "statement", "pgbouncer"],
    "PORT": ["0", "65536"],
    "CONSOLE": ["On", "true", "1", "no", "off "],
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
        "x" * 15,
        "x" * 256,
        f"{'x' * 16},",
        f",{'x' * 16}",
        f"{'x' * 16},,{'y' * 16}",
        f"{'x' * 16},{'x' * 16}",
        "eight888 eight888",
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
    "CLIENT_KEEP_MS": ["60001"],
    "CLIENT_STALE_SECONDS": ["604801"],
    "EVENT_RETENTION_DAYS": ["36501"],
    "USAGE_RETENTION_DAYS": ["36501"],
    "METRICS_TOKEN": [
        "x" * 15,
        "x" * 256,
        "sixteen and more letters",
        f"{'x' * 16}\n",
        "é" * 16,
        f"{'x' * 16}\x7f",
        f"{'x' * 16}\udcff",
    ],
    "METRICS_PORT": ["0", "65536", "4242"],
    "METRICS_HOST": UNUSABLE_HOSTS,
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


UNKNOWN = "The setting DATABASE_URL must not have the parameter {}: PostgreSQL has no such connection parameter."


# An unencoded /, ? or & in a password makes the rest of it look like a parameter. No error may contain it.
SECRETS = [
    "postgresql://u:12/?secret=x@h/d",
    "postgresql://h/d?password=p&secret=1",
    "postgresql://h/d?sslpassword=p&secret=1",
    "postgresql://h/d?oauth_client_secret=p&secret=1",
    "postgresql://h/d?password=p@x?secret=1",
    "postgresql://h/d?sslmode=require&amp;password=p&secret=1",
    "postgresql://h/d?%70assword=p&secret=1",
    "postgresql://h/d??password=p&secret=1",
    "postgresql://h/d?user=u&pass-word=p&secret=1",
]


def test_an_unknown_parameter_is_named_but_no_part_of_a_password():
    unknown = {
        "schema=public": "schema",
        "sslmode=require&pgbouncer=true": "pgbouncer",
        "ssl=true&schema=public": "schema",
    }
    for query, name in unknown.items():
        for start in ("postgresql://h/d", "postgresql://u:p?a=b@h/d"):
            with pytest.raises(SettingError) as problem:
                load({"DATABASE_URL": f"{start}?{query}"})
            assert str(problem.value) == UNKNOWN.format(name)
    for text in [*SECRETS, "postgresql://h/d?sslmode"]:
        with pytest.raises(SettingError, match=r"^The setting DATABASE_URL must look like [^ ]+, with [a-z -]+\.$"):
            load({"DATABASE_URL": text})


@pytest.mark.parametrize("text", NUMBERS)
def test_a_text_that_is_not_a_whole_number_is_refused(text: str):
    with pytest.raises(SettingError, match=r"^The setting PORT must be a whole number from 1 to 65535\.$"):
        load({"PORT": text})


def test_every_setting_has_values_that_make_no_sense():
    assert set(SENSELESS) == {setting.name for setting in SETTINGS}


NO_HOST = "The setting HOST must be a host name or an address without a port, such as 127.0.0.1 or ::1."
UNUSABLE = "Cannot listen on {}:4242: {}. Set HOST or PORT to another value."


def test_the_start_is_refused_with_that_sentence_alone(tmp_path):
    refusals = [
        (IMPORT, {"TRUSTED_PROXIES": "all"}, "The setting TRUSTED_PROXIES must be a whole number from 0 to 10."),
        (GUNICORN, {"TRUSTED_PROXIES": "all"}, "The setting TRUSTED_PROXIES must be a whole number from 0 to 10."),
        (GUNICORN, {"HOST": "127.0.0.1:80"}, NO_HOST),
        (GUNICORN, {"HOST": "http://localhost"}, NO_HOST),
        (GUNICORN, {"HOST": "[::1]:80"}, NO_HOST),
        (GUNICORN, {"HOST": "192.0.2.1"}, UNUSABLE.format("192.0.2.1", "Cannot assign requested address")),
        (GUNICORN, {"HOST": "nowhere.invalid"}, UNUSABLE.format("nowhere.invalid", "Unknown host name")),
    ]
    data = tmp_path / "data"
    done = run_together([(arguments, {"DATA_DIR": data, **given}) for arguments, given, _ in refusals])
    assert [(process.returncode, process.stdout, process.stderr) for process in done] == [
        (1, "", f"{sentence}\n") for *_, sentence in refusals
    ]
    assert not data.exists()
