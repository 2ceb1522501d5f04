"""The targets, each beside what was measured, in words: they are ratios where they can be, so that they hold on any machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measure import Figure, Measured
from bench.plan import REFERENCE

FLAT = ("page", "one", "two", "days", "combined", "offset", "limit", "deprecated")
FILTERED = ("one", "two", "days", "combined")
# Of the server that people run today, for a word in every event.
OTHER_COMMON_WORD_MS = 5100
FULL = 10_000_000


@dataclass(frozen=True)
class Verdict:
    """A target, what was measured, and whether that is enough; None: not measured, or not on a log that large."""

    target: str
    measured: str
    is_met: bool | None

    @property
    def word(self) -> str:
        """The verdict."""
        if self.is_met is None:
            return "open" if self.measured else "not measured"
        return "reached" if self.is_met else "**missed**"


def verdicts(found: Sequence[Measured]) -> Iterator[Verdict]:
    """All targets, in the order of the issue that sets them."""
    smallest, largest = found[0], found[-1]
    usual = max((it for it in found if it.events <= REFERENCE), key=lambda it: it.events)
    yield flat(smallest, largest)
    yield writers(usual)
    yield at_most(usual, "a word in two events", 30)
    yield at_most(usual, "a word in every event", OTHER_COMMON_WORD_MS / 4)
    yield at_most(usual, "offset 90 %", 100)
    yield throughput(usual)
    yield from overview(smallest, usual, largest)
    yield at_most(largest, "insights, three years", 300, FULL)
    yield at_most(largest, "insights, default range", 60, FULL)
    yield from logins(usual)
    yield memory(usual)


def at(it: Measured) -> str:
    """Of which log a figure is."""
    return f"at {it.events:,} events"


def held(is_met: bool, it: Measured, set_at: int) -> bool | None:
    """A target that is met by a smaller log than it speaks of is not decided yet."""
    return None if is_met and it.events < set_at else is_met


def at_most(it: Measured, name: str, limit: float, set_at: int = REFERENCE) -> Verdict:
    """A request's p50 against a number of milliseconds, for the slower caller. set_at: the number of events that the target speaks of."""
    target = f"{name}: p50 at most {limit:,.0f} ms"
    figures = [figure for figure in it.figures if figure.name == name]
    if not figures:
        return Verdict(target, "", None)
    worst = max(figures, key=lambda figure: figure.p50)
    return Verdict(target, f"{worst.p50:,.1f} ms {at(it)} ({worst.caller})", held(worst.p50 <= limit and worst.status == 200, it, set_at))


def flat(small: Measured, large: Measured) -> Verdict:
    """Every search but for words, of the largest log against the smallest."""
    target = f"every search but for words: p50 at {FULL:,} events at most twice that at 10,000"
    ratios: list[tuple[float, Figure]] = []
    for figure in large.figures:
        before = small.find(figure.name, figure.caller)
        if figure.group in FLAT and before:
            ratios.append((figure.p50 / before.p50, figure))
    if not ratios or small is large:
        return Verdict(target, "", None)
    ratio, worst = max(ratios, key=lambda pair: pair[0])
    over = sum(ratio > 2 for ratio, _ in ratios)
    said = f"{len(ratios) - over} of {len(ratios)} are, {large.events:,} against {small.events:,}"
    return Verdict(
        target,
        f"{said}; the worst is {ratio:.1f} times: {worst.name} ({worst.caller})",
        held(over == 0, large, FULL),
    )


def writers(it: Measured) -> Verdict:
    """What writers lose to the kept totals."""
    target = "8 writers of events lose at most 15 % to the kept totals"
    if not it.writers:
        return Verdict(target, "", None)
    said = "; ".join(f"{one.loss:.0%} into {one.where}" for one in it.writers)
    return Verdict(target, f"{said} {at(it)}", all(one.loss <= 0.15 for one in it.writers) if it.writers[0].triggers else None)


def throughput(it: Measured) -> Verdict:
    """Filtered pages of 50 against their floor."""
    target = "a filtered page of 50: at least 50 % of the rate that pgbench reaches with the same statements"
    shares = [(figure.share, figure) for figure in it.figures if figure.group in FILTERED and figure.share]
    if not shares:
        return Verdict(target, "", None)
    share, worst = min(shares, key=lambda pair: pair[0])
    enough = sum(share >= 0.5 for share, _ in shares)
    said = f"{enough} of {len(shares)} do; the least is {share:.0%}, {worst.name} ({worst.caller}), {worst.rate:,.0f}/s {at(it)}"
    return Verdict(target, said, held(enough == len(shares), it, REFERENCE))


def overview(small: Measured, usual: Measured, large: Measured) -> Iterator[Verdict]:
    """Overview and access against the least that a request with one statement can take, and against themselves on a small log."""
    figures = [figure for figure in usual.figures if figure.group in ("overview", "access")]
    target = "overview and access: p50 at most 1.5 times one indexed statement and an empty answer"
    if not figures or usual.trivial.latency is None:
        yield Verdict(target, "", None)
        return
    least = usual.trivial.latency + usual.empty.p50
    worst = max(figures, key=lambda figure: figure.p50)
    said = f"{worst.p50 / least:.1f} times, {worst.p50:.2f} ms against {least:.2f} ms: {worst.name} ({worst.caller}), {at(usual)}"
    yield Verdict(target, said, worst.p50 <= 1.5 * least)
    pairs = [(figure, small.find(figure.name, figure.caller)) for figure in large.figures if figure.group in ("overview", "access")]
    ratios = [(figure.p50 / before.p50, figure) for figure, before in pairs if before]
    ratio, worst = max(ratios, key=lambda pair: pair[0])
    said = f"{ratio:.1f} times at {large.events:,} events what it is at {small.events:,}: {worst.name} ({worst.caller})"
    yield Verdict("overview and access: constant in the number of events", said, ratio <= 1.5 if small is not large else None)


def logins(it: Measured) -> Iterator[Verdict]:
    """Logins against bcrypt, and what others feel of them."""
    one, other = (
        "login: as many a second as bcrypt gives on two cores",
        "during logins, other requests keep their p95 within twice that while idle",
    )
    if it.logins is None:
        yield from (Verdict(one, "", None), Verdict(other, "", None))
        return
    share = it.logins.rate / it.logins.bcrypt
    # The requests beside, the service itself and the client take their part of the same cores.
    yield Verdict(one, f"{share:.0%}: {it.logins.rate:.1f}/s of {it.logins.bcrypt:.1f}/s", share >= 0.9)
    if it.logins.busy is None:
        yield Verdict(other, "", None)
        return
    ratio = it.logins.busy.p95 / it.logins.idle.p95
    yield Verdict(other, f"{ratio:.1f} times: {it.logins.busy.p95:.1f} ms after {it.logins.idle.p95:.1f} ms", ratio <= 2)


def memory(it: Measured) -> Verdict:
    """Memory after the load."""
    target = "memory: master and two workers at most 130 MB PSS after ten minutes of mixed load"
    if it.memory is None:
        return Verdict(target, "", None)
    said = f"{it.memory.after:.0f} MB after {it.memory.minutes:g} minutes, {it.memory.idle:.0f} MB before"
    return Verdict(target, said, it.memory.after <= 130)
