"""What happens where an SDK is not installed."""

from collections.abc import Iterator

import pytest

from tests.support import sdk


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide all programs."""
    monkeypatch.setenv("PATH", "")
    sdk.missing.cache_clear()
    yield
    sdk.missing.cache_clear()


@pytest.mark.usefixtures("without_programs")
@pytest.mark.parametrize(("suffix", "program"), [(".rb", "ruby-unleash"), (".mjs", "Node.js")])
def test_a_missing_sdk_is_a_failure_in_ci_and_skips_elsewhere(
    suffix: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=program):
        sdk.require(suffix)
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match=program):
        sdk.require(suffix)
