"""Starts and watches the demo's programs: the shop's API, the local workspace, the bot; kills and resets on request.

A small HTTP side on loopback is what the page's two buttons reach; nothing of it is part of the product's safety.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import uvicorn
from rich.console import Console
from rich.markup import escape
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo import engine
from bot.demo.engine import ready_marker
from bot.demo.processes import Program, check_port, free_port, until_answering
from bot.demo.scenes import read_scenes, seed
from bot.settings import Settings
from bot.wiring import check_recordings

console = Console(stderr=True, highlight=False)
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-local", "SLACK_APP_TOKEN": "xapp-local"}


class _Server(uvicorn.Server):
    """Leaves signals to the supervisor, which has children to end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Supervisor:
    """One demo. `serve` runs until cancelled."""

    def __init__(self, settings: Settings, port: int) -> None:
        self._settings, self._port = settings, port
        self._state = settings.state
        self._shop_port, self._own_port = free_port(), free_port()
        self._model: Mapping[str, str] = {"state": "recorded", "detail": "real model: not there yet; recordings answer"}
        self._reset = anyio.Event()
        self._bot: Program | None = None
        self._logs = self._state.with_name(self._state.name + "-logs")

    async def serve(self) -> None:
        check_port(self._port)
        check_recordings(self._settings)
        self._logs.mkdir(parents=True, exist_ok=True)
        async with anyio.create_task_group() as group:
            group.start_soon(self._serve_http)
            group.start_soon(self._make_model_ready)
            group.start_soon(self._live)
            with anyio.open_signal_receiver(*_ending()) as signals:
                async for _ in signals:
                    break
            group.cancel_scope.cancel()
        console.print("The demo has ended; its state is kept.")

    async def _live(self) -> None:
        while True:
            self._reset = anyio.Event()
            await self._one_life()
            await anyio.to_thread.run_sync(self._wipe)

    async def _one_life(self) -> None:
        """From the programs' start to a reset."""
        self._state.mkdir(parents=True, exist_ok=True)
        shop, workspace, bot = self._programs()
        self._bot = bot
        try:
            await shop.start()
            await workspace.start()
            await until_answering(shop, f"http://127.0.0.1:{self._shop_port}/stats")
            await until_answering(workspace, f"http://127.0.0.1:{self._port}/")
            await self._seed_once()
            await bot.start()
            console.print(f"[bold]Deskhand's demo: http://127.0.0.1:{self._port}/[/bold]  (Ctrl-C ends it; logs in {self._logs})")
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep, bot)
                await self._reset.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for program in (bot, workspace, shop):
                    await program.stop()

    def _programs(self) -> tuple[Program, Program, Program]:
        python, state = sys.executable, self._state
        shop_url = f"http://127.0.0.1:{self._shop_port}"
        shop_command = [python, "-m", "servers.shop", "api", "--database", str(state / "shop.db"), "--port", str(self._shop_port)]
        workspace_command = [python, "-m", "servers.workspace", "--port", str(self._port)]
        for option, value in {
            "--state": state / "workspace.db",
            "--customer-intake": self._settings.mailroom.inbox,
            "--mail": self._settings.mailroom.sent,
            "--shop": shop_url,
            "--supervisor": f"http://127.0.0.1:{self._own_port}",
            "--trigger-seconds": "10",
        }.items():
            workspace_command += [option, str(value)]
        bot_command = [python, "-m", "bot", "up", "--demo", "--config", str(self._settings.path), "--state", str(state)]
        slack = {**TOKENS, "DESKHAND_SLACK_URL": f"http://127.0.0.1:{self._port}/api/"}
        env = (
            {**self._settings.host.servers["shop"].env, **self._settings.queue.env}
            if "shop" in self._settings.host.servers
            else {}
        )
        return (
            Program("the shop", shop_command, self._logs / "shop.log", env),
            Program("the workspace", workspace_command, self._logs / "workspace.log"),
            Program("the bot", bot_command, self._logs / "bot.log", slack),
        )

    async def _seed_once(self) -> None:
        marker = self._state / "seeded"
        if marker.exists():
            return
        scenes = read_scenes()
        slack = AsyncWebClient(token=TOKENS["SLACK_BOT_TOKEN"], base_url=f"http://127.0.0.1:{self._port}/api/")
        channel = self._settings.slack.channel
        posted = await slack.chat_postMessage(channel=channel, text="\n".join(scenes.welcome), unfurl_links=False)
        await slack.pins_add(channel=channel, timestamp=posted["ts"])
        await seed(self._settings, scenes)
        marker.touch()

    async def _keep(self, program: Program) -> None:
        """Start a program again whenever it ends, a moment later; one that can't start is told and tried less often."""
        while True:
            started = anyio.current_time()
            await program.wait()
            quick = anyio.current_time() - started < 5.0
            if quick:
                console.print(f"{program.name} ended at once: {escape(program.last_words())}", soft_wrap=True)
            await anyio.sleep(10.0 if quick else 1.5)
            await program.start()

    async def _make_model_ready(self) -> None:
        here = self._settings.path.parent
        marker = ready_marker(self._state)

        def say(state: str, detail: str) -> None:
            self._model = {"state": state, "detail": detail}

        await engine.make_ready(here, self._settings.model.name, marker, say)

    def _wipe(self) -> None:
        shutil.rmtree(self._state, ignore_errors=True)

    async def _serve_http(self) -> None:
        routes = [
            Route("/status", self._status),
            Route("/kill-bot", self._kill, methods=["POST"]),
            Route("/reset", self._ask_reset, methods=["POST"]),
        ]
        config = uvicorn.Config(panel(routes), host="127.0.0.1", port=self._own_port, log_level="error", lifespan="off")
        await _Server(config).serve()

    async def _status(self, _: Request) -> JSONResponse:
        bot = self._bot
        pid = bot.process.pid if bot is not None and bot.process is not None else None
        up = bot is not None and bot.running
        return JSONResponse({"model": dict(self._model), "bot": {"state": "up" if up else "down", "pid": pid}})

    async def _kill(self, _: Request) -> JSONResponse:
        if self._bot is not None:
            await self._bot.kill()
        return JSONResponse({"ok": True})

    async def _ask_reset(self, _: Request) -> JSONResponse:
        self._reset.set()
        return JSONResponse({"ok": True})


def _ending() -> tuple[signal.Signals, ...]:
    """A closed terminal ends the demo too, or its programs would stay behind; not where it was started to outlive one (nohup)."""
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGTERM, signal.SIGINT) if outlives else (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def panel(routes: Sequence[Route]) -> Starlette:
    """For programs on this machine: no page of a browser may kill or reset anything."""
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1"])
    return Starlette(routes=routes, middleware=[hosts, Middleware(BaseHTTPMiddleware, dispatch=_programs_only)])


async def _programs_only(request: Request, go_on: RequestResponseEndpoint) -> Response:
    if "origin" in request.headers:
        return JSONResponse({"ok": False, "error": "programs only: send no Origin"}, 403)
    return await go_on(request)


def default_state(settings: Settings) -> Path:
    return settings.path.parent / "var" / "demo"
