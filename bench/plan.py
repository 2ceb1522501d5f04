"""What a run is to do, as the environment says it: SCALE, ONLY, BENCH_DATABASE_URL, BENCH_DIR, BENCH_KEEP, BENCH_LOAD_MINUTES."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PARTS = ("searches", "projects", "insights", "changes", "logins", "writers", "memory", "sizes", "steps")
# The numbers of events of each scale.
SCALES = {"small": (10_000, 100_000), "usual": (10_000, 1_000_000), "full": (10_000, 1_000_000, 10_000_000)}
# The size at which most targets are set.
REFERENCE = 1_000_000


class PlanError(ValueError):
    """The environment asks for something that there is not; the message is a sentence."""


@dataclass(frozen=True)
class Plan:
    """sizes: events of each database; parts: what is measured; folder: for data, None for a temporary one; seconds: for each figure."""

    scale: str
    sizes: tuple[int, ...]
    parts: tuple[str, ...]
    url: str | None
    folder: Path | None
    keep: bool
    load_minutes: float
    seconds: float

    @property
    def is_whole(self) -> bool:
        """Whether the figures are fit for docs/performance.md: nothing left out, and no size that is for trying it out."""
        return self.scale != "small" and self.parts == PARTS

    @property
    def reference(self) -> int:
        """The size at which logins, writers and memory are looked at."""
        return max(size for size in self.sizes if size <= REFERENCE)


def load(environ: Mapping[str, str]) -> Plan:
    """The plan that the environment asks for; PlanError when it makes no sense."""
    scale = environ.get("SCALE") or "usual"
    if scale not in SCALES:
        raise PlanError(f"SCALE must be one of {', '.join(SCALES)}.")
    asked = [name.strip() for name in (environ.get("ONLY") or "").split(",") if name.strip()]
    if unknown := set(asked) - set(PARTS):
        raise PlanError(f"ONLY does not know {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.")
    try:
        minutes = float(environ.get("BENCH_LOAD_MINUTES") or (0.1 if scale == "small" else 1))
        seconds = float(environ.get("BENCH_SECONDS") or (0.3 if scale == "small" else 1.5))
    except ValueError:
        raise PlanError("BENCH_LOAD_MINUTES and BENCH_SECONDS must be numbers.") from None
    return Plan(
        scale=scale,
        sizes=SCALES[scale],
        parts=tuple(part for part in PARTS if not asked or part in asked),
        url=environ.get("BENCH_DATABASE_URL") or None,
        folder=Path(environ["BENCH_DIR"]).absolute() if environ.get("BENCH_DIR") else None,
        keep=environ.get("BENCH_KEEP") == "1",
        load_minutes=minutes,
        seconds=seconds,
    )
