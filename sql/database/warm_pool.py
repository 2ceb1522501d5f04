"""psycopg's pool, lending the connection that was used last.

Written for psycopg_pool 3.3 (bounded in setup.cfg). All that we override of it is here, and not documented:
ConnectionPool._get_ready_connection() and the deque _pool. An option of the pool for the order of its connections would
replace both.
"""

from psycopg_pool import ConnectionPool

from sql.database.connections import DeadlineConnection


class WarmPool(ConnectionPool[DeadlineConnection]):
    """A pool that lends the connection that was used last. PostgreSQL has planned its statements already.

    psycopg's pool lends the connection that was not used for the longest time. After a burst of requests, a single
    client then gets another connection at each request, and waits for its plans.
    """

    def _get_ready_connection(self, timeout: float | None) -> DeadlineConnection | None:
        self._pool.rotate(1)
        return super()._get_ready_connection(timeout)
