"""Puts the workspace together and serves it on loopback. The only file that names every part."""

import asyncio
import contextlib
import json
import socket as socketlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

from servers.workspace.acting import Acting
from servers.workspace.answers import Answers
from servers.workspace.control import Control, in_words
from servers.workspace.errors import ApiError
from servers.workspace.faults import Faults
from servers.workspace.guard import HOSTS, Handler, allowed_hosts, guard
from servers.workspace.outside import Outside
from servers.workspace.page import Page
from servers.workspace.settings import BadSettings, Settings, load_seed
from servers.workspace.socketmode import SocketMode
from servers.workspace.store import Store
from servers.workspace.tickets import Tickets
from servers.workspace.webapi.server import WebApi
from servers.workspace.workspace import Workspace

HOST = "127.0.0.1"
_MOST_BODY = 4 * 1024 * 1024


@dataclass(frozen=True)
class Running:
    """A workspace that is being served at `url` (no slash at the end)."""

    url: str
    port: int
    workspace: Workspace


@contextlib.asynccontextmanager
async def serve(settings: Settings) -> AsyncIterator[Running]:
    """Serve until the block ends. Port 0 takes a free one. A taken port or an unusable file raises BadSettings."""
    store = Store(settings.state)
    listener = _listen(settings.port)
    port: int = listener.getsockname()[1]
    try:
        app, socket, workspace, page = build(settings, store, port)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        watch = asyncio.create_task(page.watch_mail())
        try:
            yield Running(f"http://{HOST}:{port}", port, workspace)
        finally:
            watch.cancel()
            workspace.bus.hang_up()
            await socket.close()
            await runner.cleanup()
    finally:
        listener.close()
        store.close()


def build(settings: Settings, store: Store, port: int) -> tuple[web.Application, SocketMode, Workspace, Page]:
    """The parts, wired."""
    seed = load_seed(settings.manifest)
    workspace = Workspace(settings, seed, store)
    tickets, faults = Tickets(settings.trigger_seconds), Faults()
    api = WebApi(workspace, tickets, faults)
    socket = SocketMode(settings, seed, tickets, faults, workspace.bus)
    answers = Answers(workspace, tickets)
    acting = Acting(workspace, tickets, faults, socket, answers, f"http://{HOST}:{port}")
    control = Control(workspace, tickets, faults, socket, api, acting)
    page = Page(workspace, control)
    app = web.Application(middlewares=[guard, in_words], client_max_size=_MOST_BODY)
    app[HOSTS] = allowed_hosts(port)
    app.router.add_route("*", "/api/{method}", api.handle)
    app.router.add_get("/link/", socket.handle)
    app.router.add_post("/{kind:actions|commands}/{team}/{secret}", _response_url(answers))
    app.add_routes([*control.routes(), *page.routes(), *Outside(settings).routes()])
    return app, socket, workspace, page


def _response_url(answers: Answers) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await request.text())
            return web.json_response(answers.to_url(request.match_info["secret"], body))
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except ApiError as error:
            gone = error.answer["error"] in ("used_url", "expired_url", "invalid_url")
            return web.json_response(error.answer, status=404 if gone else 400)

    return handle


def _listen(port: int) -> socketlib.socket:
    listener = socketlib.socket(socketlib.AF_INET, socketlib.SOCK_STREAM)
    listener.setsockopt(socketlib.SOL_SOCKET, socketlib.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise BadSettings(f"port {port} is taken ({error.strerror}); choose another with --port, or 0 for any") from error
    return listener
