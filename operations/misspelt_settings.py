"""Find environment variables that have no effect: those with nearly the name of a setting, and old settings."""

from collections.abc import Mapping
from difflib import SequenceMatcher

from serving.settings import SETTINGS

# Variables of other programs: make sets it for the programs that it runs.
FOREIGN = {"MAKEFLAGS"}
# Settings of older versions, with what to do instead.
REMOVED = {
    name: f"{name} is no longer a setting. Unset it, set METRICS_TOKEN, and read /metrics on the port of the service."
    for name in ("METRICS_PORT", "METRICS_HOST")
}


def misspelt(environ: Mapping[str, str]) -> list[str]:
    """Return a message for an old setting, and for each environment variable with nearly the name of an unset setting.

    A name is nearly another if at most two characters were added, omitted or changed, not the first one. A name that
    begins with INIT_ or IMPORT_ is always one.
    """
    # Our choice: a message is no error, because the variable may belong to another program. Shorter names are too
    # similar to those of other programs, such as HOSTS.
    names = {f"{setting.name}{end}" for setting in SETTINGS for end in ("", "_FILE") if not end or setting.secret}
    unset = [name for name in sorted(names) if len(name) >= 8 and not environ.get(name)]
    return [message for name, message in REMOVED.items() if environ.get(name)][:1] + [
        f"{name} is not a setting. Did you mean {near}?"
        for name in sorted(environ.keys() - names - FOREIGN - REMOVED.keys())
        if name.isprintable() and (near := near_names(name, unset))
    ]


def near_names(name: str, unset: list[str]) -> str:
    """Return the unset setting with nearly this name, or "". For a name like INIT_X or IMPORT_X, return all such."""
    near = next((other for other in unset if is_near(name, other)), "")
    prefix = next((prefix for prefix in ("INIT_", "IMPORT_") if name.startswith(prefix)), None)
    return near or ", ".join(setting.name for setting in SETTINGS if prefix and setting.name.startswith(prefix))


def is_near(name: str, other: str) -> bool:
    """Return whether two names differ in at most two characters, not in the first one."""
    if name[:1] != other[0] or abs(len(name) - len(other)) > 2:
        return False
    changes = SequenceMatcher(None, name, other, autojunk=False).get_opcodes()
    return sum(max(end - start, to - from_) for tag, start, end, from_, to in changes if tag != "equal") <= 2
