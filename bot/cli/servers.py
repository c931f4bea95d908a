"""`deskhand servers check|tools|pins`: what each server offers (spec H5), every tool, and what changed (spec H7)."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated

import anyio
import typer

from bot import wiring
from bot.cards.differences import differences, in_words
from bot.cli.alone import alone
from bot.cli.shared import Config, State, fail, foreign, load, log_to_stderr, out, told
from bot.headless import ADMIN, HeadlessDesk, Rules
from bot.settings import Settings
from host.prompt import tool_tokens
from host.types import ServerHealth, Tool
from models.scripted import ScriptedModel

app = typer.Typer(help="The MCP servers.", no_args_is_help=True)


@app.command()
@told
def check(config: Config = None, state: State = None) -> None:
    """Connect to each configured server and report; exit code 1 when one is down or a tool is off."""
    log_to_stderr()
    with tempfile.TemporaryDirectory(prefix="deskhand-check-") as folder:
        settings = load(config, state or Path(folder))
        with alone(settings):
            sound = anyio.run(_check, settings)
    if not sound:
        raise typer.Exit(1)


@app.command()
@told
def tools(config: Config = None, state: State = None) -> None:
    """Every tool by the name the model knows it by: its effect class, whether it may be used, and why not."""
    log_to_stderr()
    with tempfile.TemporaryDirectory(prefix="deskhand-tools-") as folder:
        settings = load(config, state or Path(folder))
        with alone(settings):
            anyio.run(_tools, settings)


@app.command()
@told
def pins(
    accept: Annotated[str, typer.Option(help="A tool that is off: accept what its server says of it now.")] = "",
    config: Config = None,
    state: State = None,
) -> None:
    """Show which tools are off until they are accepted, and what changed. Stop the bot first."""
    log_to_stderr()
    settings = load(config, state)
    with alone(settings):
        anyio.run(_pins, settings, accept)


async def _pins(settings: Settings, accept: str) -> None:
    async with _running(settings) as running:
        changes = {change.name: change for change in await running.host.changed_tools()}
        for change in changes.values():
            _say(f"{change.name}: {change.why}")
            _say(in_words(differences(change.before, change.after)) or "Nothing in it differs from what was accepted.")
        if not changes:
            out.print("Every tool is as it was accepted.")
        if accept and accept not in changes:
            raise fail(f"{accept} is not waiting to be accepted")
        if accept:
            _say((await running.host.accept_tool(changes[accept], ADMIN)).words)


async def _tools(settings: Settings) -> None:
    async with _running(settings) as running:
        for tool in await running.host.tools():
            _say(f"{tool.name}: {tool.effect}, {f'off: {tool.off}' if tool.off else 'usable'}")


async def _check(settings: Settings) -> bool:
    async with _running(settings) as running:
        for line in running.report:
            _say(line)
        status, offered = await running.host.status(), await running.host.tools()
        changes = await running.host.changed_tools()
    tokens, waiting = tool_tokens(offered), Counter(change.server for change in changes)
    for server in status.servers:
        mine = [tool for tool in offered if tool.server == server.prefix]
        share = tokens.get(server.prefix, 0) / settings.model.context
        _say(server_line(server, mine, share, waiting[server.prefix], server.prefix in status.frozen))
    return not status.off and all(server.state == "connected" for server in status.servers)


def server_line(server: ServerHealth, mine: Sequence[Tool], share: float, waiting: int, frozen: bool) -> str:
    """One server in one line: state, protocol, tools, their share of the model's context (0 to 1), how many wait to be accepted,
    whether it is frozen, how often it was started again, and what it calls itself, its claim alone."""
    parts = [
        f"{server.prefix}: {server.state}{f' ({server.why})' if server.why else ''}",
        f"protocol {server.protocol}" if server.protocol else "",
        f"{len(mine)} {'tool' if len(mine) == 1 else 'tools'}, {sum(not tool.off for tool in mine)} usable",
        f"{waiting} waiting to be accepted" if waiting else "",
        f"about {share:.0%} of the model's context",
        "frozen" if frozen else "",
        f"started again {server.restarts} times" if server.restarts else "",
        f"calls itself {server.claims}" if server.claims else "",
    ]
    return " · ".join(part for part in parts if part)


def _running(settings: Settings) -> AbstractAsyncContextManager[wiring.Running]:
    """The host as it is, with a model that is never asked."""
    return wiring.running(settings, ScriptedModel([]), lambda host: HeadlessDesk(host, Rules()))


def _say(words: str) -> None:
    out.print(foreign(words), soft_wrap=True)
