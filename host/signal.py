"""A bell: whoever waits wakes when it rings.  Carries no data, so that nothing can be lost with it; state is in the database."""

from __future__ import annotations

import anyio


class Signal:
    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        """Wake everybody who waits now."""
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, seconds: float) -> None:
        """Until the next ring, or `seconds` at most."""
        event = self._event
        with anyio.move_on_after(seconds):
            await event.wait()
