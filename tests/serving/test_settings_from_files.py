"""Secrets in files: which settings may be read from a file, and which files are refused."""

import os

import pytest

from serving.settings import FOLDER, SETTINGS, SettingError, load

SECRETS = [setting.name for setting in SETTINGS if setting.secret]
VALUES = {
    "DATABASE_URL": "postgresql://u:p@h/d",
    "INIT_ADMIN_PASSWORD": " the password ",
    "INIT_ADMIN_API_TOKENS": "*:*.the-key-in-the-file",
    "METRICS_TOKEN": "the-token-in-the-file",
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_secret_can_stand_in_a_file_with_a_line_end_or_without(tmp_path, name, end):
    file = tmp_path / "secret"
    file.write_bytes(VALUES[name].encode() + end.encode())
    assert load({f"{name}_FILE": str(file)})[name] == load({name: VALUES[name]})[name]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("text", ["", "\n", " \t\r\n", "\n\n\n", " " * 20])
def test_an_empty_file_is_refused(tmp_path, name, text):
    (tmp_path / "secret").write_text(text)
    with pytest.raises(SettingError) as problem:
        load({f"{name}_FILE": str(tmp_path / "secret")})
    assert str(problem.value) == f"The file in {name}_FILE is empty. Write the value to it, or unset the variable."


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_stands_in_one_place(tmp_path, name):
    (tmp_path / "secret").write_text(VALUES[name])
    with pytest.raises(SettingError) as problem:
        load({name: VALUES[name], f"{name}_FILE": str(tmp_path / "secret")})
    assert str(problem.value) == f"Set only one of {name} and {name}_FILE."


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    ("path", "reason"),
    [("missing", "No such file or directory"), (".", "Is a directory"), ("latin", "it is not UTF-8 text")],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, path, reason):
    (tmp_path / "latin").write_bytes(b"\xe9" * 20)
    with pytest.raises(SettingError) as problem:
        load({f"{name}_FILE": str(tmp_path / path)})
    assert str(problem.value) == f"The file in {name}_FILE cannot be read: {reason}."


@pytest.mark.parametrize("name", SECRETS)
def test_an_invalid_value_in_a_file_is_refused(tmp_path, name):
    (tmp_path / "secret").write_text("x")
    with pytest.raises(SettingError, match=f"^The setting {name} must "):
        load({f"{name}_FILE": str(tmp_path / "secret")})
    (tmp_path / "secret").write_text("NUL \0 in the middle")
    with pytest.raises(SettingError) as problem:
        load({f"{name}_FILE": str(tmp_path / "secret")})
    assert str(problem.value) == f"The setting {name} must be UTF-8 text without the character NUL."


def test_only_secrets_are_read_from_files():
    assert load({"HOST_FILE": "missing"}) == load({})


def test_a_relative_path_begins_in_the_folder_of_the_project(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text(VALUES["METRICS_TOKEN"])
    monkeypatch.chdir(tmp_path)
    path = os.path.relpath(tmp_path / "secret", FOLDER)
    assert load({"METRICS_TOKEN_FILE": path})["METRICS_TOKEN"] == VALUES["METRICS_TOKEN"]
