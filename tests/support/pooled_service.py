"""The real service behind PgBouncer."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg

from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.pooler import Pooler
from tests.support.service import Answer, Service

CLIENTS = 8
HEADERS = {"Authorization": ADMIN_KEY}
OVERVIEW = "/api/admin/projects/default/overview"


@dataclass
class Pooled:
    """A service, the pooler between it and the database, and the address of the database itself, where it is another
    time of day.
    """

    service: Service
    pooler: Pooler
    url: str

    def get(self, path: str = OVERVIEW) -> Answer:
        """GET, by the administrator's key."""
        return self.service.get(path, headers=HEADERS)

    def get_many(self) -> set[int]:
        """The statuses of as many answers at once as there are clients."""
        with ThreadPoolExecutor(CLIENTS) as threads:
            return {answer.status for answer in threads.map(lambda _: self.get(), range(CLIENTS))}


def alter(url: str, change: str) -> None:
    """ALTER DATABASE."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(f'ALTER DATABASE "{urlsplit(url).path[1:]}" {change}')  # pyright: ignore


def service_behind(pooler: Pooler, setting: str) -> Service:
    """A service whose connections, up to four, share two of the database."""
    given = {"INIT_ADMIN_PASSWORD": SETTINGS["INIT_ADMIN_PASSWORD"], "INIT_ADMIN_API_TOKENS": ADMIN_KEY}
    more = {"LOGIN_ATTEMPTS_PER_MINUTE": 1000, "WEB_CONCURRENCY": 2, "DATABASE_POOL_SIZE": 2}
    return Service(pooler.url, **given, **more, DATABASE_POOLER=setting)
