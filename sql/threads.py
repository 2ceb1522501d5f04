"""Threads on a machine that may bound their number."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress


class Threads(ThreadPoolExecutor):
    """The original, where what finds no thread of its own waits for one that gets free."""

    def _adjust_thread_count(self) -> None:
        with suppress(RuntimeError):
            super()._adjust_thread_count()

    def are_there(self) -> bool:
        """Whether there is one at least: what was submitted will be done."""
        return bool(self._threads)
