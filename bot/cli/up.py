"""`deskhand up`: the bot, on real Slack or on the local workspace, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import anyio
import typer

from bot import wiring
from bot.app import Clients, SlackSettings, SocketRunner, build_app, check_app_token, clients, identify
from bot.cli.alone import alone
from bot.cli.shared import Config, State, console, fail, foreign, load, log_to_stderr, told
from bot.demo.engine import ready_marker
from bot.listeners.edge import Background
from bot.mailroom.files import FileInbox, FileOutgoing
from bot.mailroom.pump import take_in
from bot.mailroom.sending import Mailroom
from bot.roles import GuestLookup, Person, RoleLists, Roles
from bot.settings import Settings
from bot.surface import SlackDesk
from host.facade import Host
from host.outbox import drain
from host.port import Clock
from models.port import Model
from models.standby import StandbyModel

DRAIN_SECONDS = 5.0


@told
def up(
    config: Config = None,
    state: State = None,
    demo: Annotated[bool, typer.Option("--demo", hidden=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every call.")] = False,
) -> None:
    """Run the bot. Tokens come from SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…)."""
    log_to_stderr("INFO" if verbose or demo else "WARNING")
    settings = load(config, state)
    slack = _slack(settings)
    model = _standby(settings) if demo else wiring.build_model(settings)
    with alone(settings):
        anyio.run(serve, settings, slack, model, demo)


def _slack(settings: Settings) -> SlackSettings:
    environment = settings.environment
    bot, app = environment.slack_bot_token.get_secret_value(), environment.slack_app_token.get_secret_value()
    if not bot or not app:
        missing = "SLACK_BOT_TOKEN" if not bot else "SLACK_APP_TOKEN"
        raise fail(f"no {missing}: set it to the app's token (README, “On your own Slack”); `deskhand demo` needs none")
    if not settings.slack.channel:
        raise fail("no channel: set [slack] channel in deskhand.toml to the channel's id and invite the bot to it")
    return SlackSettings(bot, app, settings.slack.channel, environment.deskhand_slack_url or settings.slack.base_url)


def _standby(settings: Settings) -> Model:
    """Recorded replies until the real model is there (the marker is written once it is)."""
    marker = ready_marker(settings.state)
    recorded = wiring.build_model(wiring.with_model(settings, "recorded"))
    return StandbyModel(recorded, lambda: wiring.build_model(wiring.with_model(settings, "local")), marker.exists)


async def serve(settings: Settings, slack: SlackSettings, model: Model, demo: bool) -> None:
    """Serves until SIGTERM or Ctrl-C."""
    async with serving(settings, slack, model, settings.queue.env if demo else {}) as running:
        for line in running.report:
            console.print(foreign(line), style="dim")
        console.print(f"Deskhand is up: channel {slack.channel}, model {model.info.name}. Stop it with Ctrl-C.")
        await _until_signal()


@asynccontextmanager
async def serving(
    settings: Settings,
    slack: SlackSettings,
    model: Model,
    extra_env: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[wiring.Running]:
    """Everything at once, while the block runs; then it is ended in order, with what is due delivered first.

    The model is entered here. Raises `ConfigError` when Slack refuses a token; once connected, an error ends the block.
    """
    made = clients(slack)
    roles = _roles(settings, made)
    mail = Mailroom(FileOutgoing(Path(settings.mailroom.sent)), settings.mailroom.sender)

    def desk(host: Host) -> SlackDesk:
        return SlackDesk(
            card=host.card,
            receipt_of=host.receipt_of,
            reminder=host.reminder,
            mentions=roles.mentions,
            poster=made.poster,
            web=made.web,
            channel=slack.channel,
            mail=mail,
        )

    identity = await identify(made.web)
    await check_app_token(made.web, slack)
    async with model, wiring.running(settings, model, desk, extra_env=extra_env, clock=clock) as running:
        background = Background()
        app = build_app(slack, identity, host=running.host, roles=roles, made=made, background=background)
        socket = SocketRunner(app, slack)
        inbox = FileInbox(_inbox(settings))
        async with anyio.create_task_group() as group:
            group.start_soon(running.queue.serve)
            group.start_soon(running.outbox.serve)
            group.start_soon(take_in, inbox, running.host)
            group.start_soon(socket.run)
            yield running
            socket.stop()
            await background.drain(DRAIN_SECONDS)
            await drain(running.outbox, DRAIN_SECONDS)
            group.cancel_scope.cancel()


def _roles(settings: Settings, made: Clients) -> Roles:
    roles = settings.roles
    people = {user: Person(person.subject, person.name) for user, person in roles.people.items()}
    lists = RoleLists(
        staff=frozenset(roles.staff),
        leads=frozenset(roles.lead),
        admins=frozenset(roles.admin),
        teams=frozenset(settings.slack.teams),
        people=people,
    )
    return Roles(lists, GuestLookup(made.web))


def _inbox(settings: Settings) -> Path:
    inbox = Path(settings.mailroom.inbox)
    inbox.parent.mkdir(parents=True, exist_ok=True)
    inbox.touch()
    return inbox


async def _until_signal() -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            return
