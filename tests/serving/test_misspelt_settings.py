"""Environment variables whose names are nearly those of settings."""

import pytest

from serving.misspelt_settings import misspelt
from serving.settings import SETTINGS
from tests.support.service import GUNICORN, SERVE, run_together


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
    "environ",
    [
        # Variables of systems, shells, container engines and PostgreSQL.
        dict.fromkeys(("HOSTNAME", "HOSTS", "PORTS", "PGHOST", "PGDATABASE", "XDG_DATA_DIRS", "OMP_NUM_THREADS"), "x"),
        dict.fromkeys(
            ("PATH", "HOME", "MAKEFLAGS", "PAGE_URL", "CACHE_DIR", "FLAGS_PORT", "DATABASE_HOST", "DATABASE_NAME"), "x"
        ),
        {setting.name: "x" for setting in SETTINGS},
        {f"{setting.name}_FILE": "x" for setting in SETTINGS if setting.secret},
        # The setting has a value, so this is another program's.
        {"BASE_URI": "x", "BASE_URL": "http://h"},
        {"BASE_URL\n": "x"},
        # Only secrets can be in files.
        {"DATA_DIR_FIEL": "x"},
    ],
)
def test_other_names_are_not(environ: dict[str, str]) -> None:
    assert misspelt(environ) == []


@pytest.mark.slow
def test_the_start_points_out_a_misspelt_name_and_names_all_invalid_settings() -> None:
    wrong = {"DATABSE_URL": "x", "PORT": "x", "THREADS": "0", "INIT_ADMIN_PASSWORD": "short"}
    expected = [
        "DATABSE_URL is not a setting. Did you mean DATABASE_URL?",
        "The setting PORT must be a whole number from 1 to 65535.",
        "The setting THREADS must be a whole number from 1 to 512.",
        "The setting INIT_ADMIN_PASSWORD must be at least 8 characters long.",
    ]
    programs = (SERVE, GUNICORN, ("flags.py", "user", "list"))
    for done in run_together([(program, wrong) for program in programs]):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.replace("Error: ", "").splitlines() == expected
