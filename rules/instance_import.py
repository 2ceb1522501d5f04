"""Move the contents of another instance, or of a file, into this one."""

from rules.access import Actor
from rules.import_contents import Contents
from rules.import_report import Report
from sql.database import Connection


def import_contents(conn: Connection, actor: Actor, contents: Contents) -> Report:
    """Write the records that do not exist here, in the transaction of the caller. Raise Conflicts, or 400."""
    raise NotImplementedError
