"""The report of a move into this instance: what is new, changed, exists, differs or is not moved, and the warnings."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from rules.refusals import quantity

# The rows of the table, by the noun for a record, in the order of the table.
NOUNS = (
    *("project", "environment", "context field", "tag type", "tag", "strategy type"),
    *("flag type", "segment", "flag", "strategy", "dependency", "default strategy", "API token"),
    *("role", "user", "group", "project role"),
)
COLUMNS = ("new", "changed", "exists", "differs", "not moved")
# The last line begins with these, and continues with the others.
FIRST = ("flag", "strategy", "segment", "context field", "API token")
# As many names or lines are shown. The others are counted.
MOST_NAMES = 10
MOST_CONFLICTS = 20


class Conflicts(Exception):
    """The move is refused. conflicts: all reasons, as sentences. table: lines of the report until the first of them."""

    def __init__(self, conflicts: list[str], table: Sequence[str] = ()) -> None:
        super().__init__("Nothing was moved.")
        self.conflicts = conflicts
        self.table = table

    def lines(self) -> list[str]:
        """Return the text for a command."""
        shown = self.conflicts[:MOST_CONFLICTS]
        more = len(self.conflicts) - len(shown)
        last = f"Nothing was moved: {quantity(len(self.conflicts), 'conflict')}."
        return [*shown, *([f"… and {more} more"] if more else []), last]


@dataclass
class Report:
    """What a move does with each record. Numbers are by noun and column."""

    source: str
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    # Names by message, and whole lines.
    findings: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: list[str] = field(default_factory=list)
    # Such as "environment production (sortOrder)", in the records that take values of the source.
    changes: list[str] = field(default_factory=list)
    # Such as "flag many (development is off here)".
    differences: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    archived: int = 0
    # (e-mail or user name, address) of each new user. Print them last, and log them nowhere.
    reset_links: list[tuple[str, str]] = field(default_factory=list)

    def count(self, noun: str, column: str, number: int = 1) -> None:
        """Add records to the table."""
        self.counts[noun][column] += number

    def warn(self, message: str, name: str) -> None:
        """Add a name to a warning."""
        if name not in self.findings[message]:
            self.findings[message].append(name)

    def conflict(self, reason: str) -> None:
        """Add a reason to refuse the move."""
        if reason not in self.conflicts:
            self.conflicts.append(reason)

    def compare(self, noun: str, name: str, differences: list[str]) -> None:
        """Add a record that exists here. differences: what differs, such as "description"."""
        self.count(noun, "differs" if differences else "exists")
        if differences:
            self.differences.append(f"{noun} {name} ({', '.join(differences)})")

    def change(self, noun: str, name: str, changed: list[str]) -> None:
        """Add a record that exists here and takes these values of the source."""
        self.count(noun, "changed")
        self.changes.append(f"{noun} {name} ({', '.join(changed)})")

    def table(self) -> list[tuple[str, int, int, int, int, int, str]]:
        """Return a row for each kind of records that the source has: its name, the numbers of COLUMNS, and a note."""
        rows = []
        for noun in NOUNS:
            new, changed, exists, differs, not_moved = (self.counts[noun][column] for column in COLUMNS)
            label = quantity(2, noun)[2:]
            note = f"({self.archived} archived)" if noun == "flag" and self.archived else ""
            if new or changed or exists or differs or not_moved:
                rows.append((label[0].upper() + label[1:], new, changed, exists, differs, not_moved, note))
        return rows

    def warnings(self) -> list[str]:
        """Return the warnings, each in one line."""
        return [*(f"{message}: {first_names(names)}" for message, names in self.findings.items()), *self.notes]

    def summary(self, *, dry_run: bool = False, seconds: float | None = None) -> str:
        """Return the last line of the report."""
        order = sorted(NOUNS, key=lambda noun: FIRST.index(noun) if noun in FIRST else len(FIRST))
        numbers = {noun: self.counts[noun]["new"] + self.counts[noun]["changed"] for noun in order}
        moved = [quantity(number, noun) for noun, number in numbers.items() if number]
        if moved:
            listed = " and ".join(filter(None, [", ".join(moved[:-1]), moved[-1]]))
            time = "" if dry_run or seconds is None else f" in {seconds:.0f} s"
            return f"{'Would move' if dry_run else 'Moved'} {listed}{time}."
        differ = f"{len(self.differences)} differ{'s' if len(self.differences) == 1 else ''}"
        named = f" {differ}: {first_names(self.differences)}." if self.differences else ""
        return f"Nothing to move: everything exists.{named}"

    def table_lines(self, state: str = "") -> list[str]:
        """Return the title with the state, and the table."""
        rows = self.table()
        width = max([10, *(len(label) for label, *_ in rows)])
        title = f"{self.source}{f'            [{state}]' if state else ''}"
        lines = [title, f"{'':{width}}  {'new':>6}   changed   exists   differs   not moved"]
        for label, new, changed, exists, differs, not_moved, note in rows:
            row = f"{label:{width}}  {new:6}   {changed:7}   {exists:6}   {differs:7}   {not_moved:9}"
            lines.append(f"{row}      {note}".rstrip())
        return lines

    def lines(self, *, dry_run: bool = False, seconds: float | None = None) -> list[str]:
        """Return the text for a command."""
        lines, warnings = self.table_lines("Dry run: nothing was written." if dry_run else ""), self.warnings()
        changes, differences = ("Changed here", self.changes), ("Left as they are here", self.differences)
        for heading, items in (("Warnings", warnings), changes, differences):
            if items:
                lines += [f"{heading} ({len(items)})", *(f"  {item}" for item in items)]
        return [*lines, self.summary(dry_run=dry_run, seconds=seconds)]


def first_names(names: list[str]) -> str:
    """Return the first MOST_NAMES names and the number of the others."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
