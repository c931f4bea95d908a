"""Builds the Bolt app and keeps its Socket Mode connection alive (spec B1).  Knows no host beyond its front door.

`clients` makes the two Web API clients: one that repeats nothing after a lost connection, for posts, and one that may, for all
else. The libraries' loggers are held at INFO: at DEBUG they write whole payloads (spec H16).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import anyio
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
    AsyncServerErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners import register
from bot.listeners.edge import Background, Edge, quiet
from bot.listeners.front import Front
from bot.roles import Roles
from host.errors import ConfigError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """How to reach Slack. `channel` is an id; `base_url` another Web API than Slack's own (the local workspace)."""

    bot_token: str
    app_token: str
    channel: str
    base_url: str = "https://slack.com/api/"
    command: str = "/deskhand"
    timeout_seconds: int = 15
    ping_seconds: float = 10.0
    stale_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are, as auth.test says."""

    team: str
    bot_user: str
    bot_id: str


@dataclass(frozen=True, slots=True)
class Clients:
    poster: AsyncWebClient
    web: AsyncWebClient


def clients(settings: SlackSettings) -> Clients:
    def made(handlers: list[Any]) -> AsyncWebClient:
        return AsyncWebClient(
            token=settings.bot_token,
            base_url=settings.base_url,
            timeout=settings.timeout_seconds,
            logger=quiet,
            retry_handlers=handlers,
        )

    # The poster does not wait out a 429: the outbox keeps the item and comes back when Slack says so.
    patient = [AsyncConnectionErrorRetryHandler(max_retry_count=1), AsyncRateLimitErrorRetryHandler(max_retry_count=1)]
    return Clients(poster=made([]), web=made([*patient, AsyncServerErrorRetryHandler(max_retry_count=1)]))


async def identify(web: AsyncWebClient) -> Identity:
    """Asked once at start, so that no press has to wait for it. Raises `ConfigError` in words."""
    try:
        answer = await web.auth_test()
    except SlackApiError as error:
        code = error.response.get("error") if error.response else "no answer"
        raise ConfigError(
            f"Slack does not accept the bot token ({code}): set SLACK_BOT_TOKEN to the app's xoxb- token"
        ) from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ConfigError(f"Slack can't be reached ({type(error).__name__}): check the network and `base_url`") from error
    return Identity(str(answer["team_id"]), str(answer["user_id"]), str(answer.get("bot_id") or ""))


async def check_app_token(web: AsyncWebClient, settings: SlackSettings) -> None:
    """Asked once: the library would try a refused token for ever. Raises `ConfigError` in words."""
    try:
        await web.apps_connections_open(app_token=settings.app_token)
    except SlackApiError as error:
        code = error.response.get("error") if error.response else "no answer"
        raise ConfigError(f"Slack does not accept the app token ({code}): set SLACK_APP_TOKEN to an xapp- token") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ConfigError(f"Slack can't be reached ({type(error).__name__}): check the network and `base_url`") from error


def build_app(
    settings: SlackSettings, identity: Identity, *, host: Front, roles: Roles, made: Clients, background: Background
) -> AsyncApp:
    """The app with every listener. `background` is drained by whoever stops the process."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team,
            bot_token=settings.bot_token,
            bot_id=identity.bot_id,
            bot_user_id=identity.bot_user,
        )

    quiet.setLevel(logging.ERROR)  # Bolt warns that `authorize` takes the token's place, which is what is meant
    app = AsyncApp(
        name="deskhand",
        client=made.web,
        authorize=authorize,
        logger=quiet,
        signing_secret="socket-mode-has-none",
        request_verification_enabled=False,
    )
    quiet.setLevel(logging.INFO)
    edge = Edge(host=host, roles=roles, web=made.web, background=background, channel=settings.channel, command=settings.command)
    register(app, edge)
    return app


class SocketRunner:
    """One Socket Mode connection, made anew when it has been dead for long; Slack spreads envelopes over all that are open."""

    def __init__(
        self, app: AsyncApp, settings: SlackSettings, *, on_state: Callable[[bool], None] | None = None, look_seconds: float = 1.0
    ) -> None:
        """`on_state` hears whether we are connected, each time that changes."""
        self._app = app
        self._settings = settings
        self._on_state = on_state
        self._look_seconds = look_seconds
        self._stop = asyncio.Event()
        self._connected: bool | None = None
        #: When the last envelope came, in `time.monotonic` seconds; None before the first.
        self.last_envelope: float | None = None
        #: How many connections Slack says this app has.
        self.connections = 0

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> None:
        """Connect, keep connected, close on `stop`. Raises `ConfigError` when Slack refuses the app token."""
        await check_app_token(self._app.client, self._settings)
        while not self._stop.is_set():
            handler = self._handler()
            try:
                await self._hold(handler)
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(5.0):
                    await handler.close_async()  # type: ignore[no-untyped-call]
                    await handler.client.aiohttp_client_session.close()
                self._say(False)

    def _handler(self) -> AsyncSocketModeHandler:
        handler = AsyncSocketModeHandler(
            self._app, self._settings.app_token, logger=quiet, ping_interval=self._settings.ping_seconds
        )
        handler.client.message_listeners.append(self._heard)
        return handler

    async def _hold(self, handler: AsyncSocketModeHandler) -> None:
        """Until stopped, or until the connection has been dead for `stale_seconds`."""
        connecting = asyncio.ensure_future(handler.connect_async())  # type: ignore[no-untyped-call]
        alive = time.monotonic()
        try:
            while not self._stop.is_set():
                connected = await handler.client.is_connected()
                alive = time.monotonic() if connected else alive
                self._say(connected)
                if time.monotonic() - alive > self._settings.stale_seconds:
                    log.error("slack_connection dead for %s s; a new one is made", self._settings.stale_seconds)
                    return
                await self._pause()
        finally:
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), self._look_seconds)
        except TimeoutError:
            return

    async def _heard(self, _client: Any, message: dict[str, Any], _raw: str | None = None) -> None:
        if message.get("type") != "hello":
            self.last_envelope = time.monotonic()
            return
        self.connections = int(message.get("num_connections") or 0)
        if self.connections > 1:
            log.error(
                "slack_connections=%s: another process uses this app token and takes some of the presses. Stop it.",
                self.connections,
            )

    def _say(self, connected: bool) -> None:
        if connected != self._connected:
            self._connected = connected
            log.info("slack_connected=%s", connected)
            if self._on_state:
                self._on_state(connected)
