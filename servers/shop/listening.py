"""Serves an ASGI app on loopback and says on stdout where, once it answers: `listening on http://127.0.0.1:8931`.

Port 0 takes any free one. Refuses to know what the app does.
"""

import socket

import uvicorn
from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"


class PortTaken(Exception):
    """Another process listens there already."""


def bound_socket(port: int) -> socket.socket:
    """Raises PortTaken, with words that say what to do."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((LOOPBACK, port))
    except OSError as error:
        sock.close()
        raise PortTaken(f"port {port} can't be used ({error.strerror}): give another --port") from None
    return sock


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and self.started:
            print(f"listening on http://{LOOPBACK}:{sockets[0].getsockname()[1]}", flush=True)


async def serve(app: ASGIApp, sock: socket.socket) -> None:
    await _Server(uvicorn.Config(app, log_level="warning", access_log=False)).serve(sockets=[sock])
