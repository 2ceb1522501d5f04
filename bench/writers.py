"""What the kept totals cost those who write: 8 writers of events in pgbench with fsync on, with the triggers of the log and without."""

from dataclasses import dataclass
from statistics import median

from psycopg.sql import SQL

from bench.client import CONNECTIONS
from bench.fill import checkpoint
from bench.floor import as_script, pgbench
from sql import Connection, connect, events, value
from sql.bootstrap import System

PAIRS = 4
TRIGGERS = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'events'::regclass AND NOT tgisinternal"
DOCUMENT = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "default", "groupId": "x" * 200}, "constraints": []}


@dataclass(frozen=True)
class Writers:
    """Events a second of each run, in turn with triggers and without; where: into one project, or into many by Zipf's law."""

    where: str
    kept: list[float]
    plain: list[float]
    triggers: int

    @property
    def loss(self) -> float:
        """The share of the rate that goes to the kept totals, by the medians."""
        return 1 - median(self.kept) / median(self.plain)


def script(project: str) -> tuple[str, dict[str, str]]:
    """One event as the service writes it. project: an expression of SQL that pgbench fills in."""
    row = events.row("feature-strategy-update", System(), "PROJECT", "production", "a-flag", DOCUMENT, DOCUMENT)
    text, variables = as_script([(events.INSERT, row)])
    del variables["s0_project"]
    return "\\set number random_zipfian(1, 100, 1.05)\n" + text.replace(":s0_project", project), variables


WHERE = {"one project": "'writers-1'", "100 projects": "('writers-' || :number::text)"}


def measure(url: str, seconds: int) -> list[Writers]:
    """Runs of so many seconds each on a database that is thrown away afterwards."""
    found: list[Writers] = []
    with connect(url) as conn:
        triggers = value(conn, TRIGGERS)
        for where, project in WHERE.items():
            rates: dict[str, list[float]] = {"ENABLE": [], "DISABLE": []}
            text, variables = script(project)
            for turn in range(2 * PAIRS):
                # A B B A A B B A: what drifts hits both alike.
                state = "ENABLE" if turn % 4 in (0, 3) else "DISABLE"
                switch(conn, state)
                ran = pgbench(url, [text], variables, clients=CONNECTIONS, seconds=seconds)
                if ran is None:
                    return []
                rates[state].append(ran[1])
            found.append(Writers(where, rates["ENABLE"], rates["DISABLE"], triggers))
    return found


def switch(conn: Connection, state: str) -> None:
    """Let the triggers of the log fire, or not. Each run begins with as little to flush."""
    conn.execute(SQL("ALTER TABLE events {} TRIGGER USER").format(SQL("ENABLE" if state == "ENABLE" else "DISABLE")))
    checkpoint(conn)
