"""Tells whoever listens (the page over SSE, the control API's waits) that something changed. Knows no message and no user."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from servers.workspace.settings import Json

Found = TypeVar("Found")
_BACKLOG = 1000


class Bus:
    """Fan-out of small change events, and waiting until a question about the state has an answer."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Json | None]] = set()
        self._changed = asyncio.Event()

    def publish(self, kind: str, **data: object) -> None:
        """Send `{"kind": kind, **data}` to every listener; one that is too far behind is told to start over (None)."""
        self._changed.set()
        self._changed = asyncio.Event()
        for queue in tuple(self._queues):
            if queue.qsize() >= _BACKLOG:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait({"kind": kind, **data})

    def listen(self) -> asyncio.Queue[Json | None]:
        """A queue that receives every change from now on."""
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        self._queues.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[Json | None]) -> None:
        """Stop filling the queue."""
        self._queues.discard(queue)

    def hang_up(self) -> None:
        """End every listener's stream (the server is closing)."""
        for queue in tuple(self._queues):
            queue.put_nowait(None)
        self._queues.clear()

    async def wait_for(self, look: Callable[[], Found | None], seconds: float) -> Found | None:
        """What `look` finds, as soon as it finds something; None when `seconds` have passed without."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (found := look()) is None:
                    await self._changed.wait()
                return found
        return look()
