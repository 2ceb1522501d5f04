"""Let threads share a call: while one makes it, others with the same key wait for its result."""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SharedCalls(Generic[Result]):
    """The running calls of one function, by key."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[Hashable, tuple[float, Future[Result]]] = {}

    def call(self, key: Hashable, function: Callable[[], Result], since: float, timeout: float) -> Result:
        """Return function(), or the result of a running call with this key that began at `since` or later.

        since: a time of time.monotonic(). Raises what the call raises, and TimeoutError if another thread's call takes
        longer than this many seconds.
        """
        with self._lock:
            began, future = self._running.get(key, (0.0, None))
            is_own = future is None or began < since
            if future is None or is_own:
                future = Future()
                self._running[key] = time.monotonic(), future
        if not is_own:
            return future.result(timeout)
        try:
            result = function()
        except BaseException as error:
            future.set_exception(error)
            raise
        else:
            future.set_result(result)
            return result
        finally:
            with self._lock:
                if self._running.get(key, (0.0, None))[1] is future:
                    del self._running[key]
