"""`deskhand servers check|pins`: what each server offers and what is usable (spec H5), and what changed (spec H7)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import anyio
import typer

from bot import wiring
from bot.cards.changed_tool import difference
from bot.cli.shared import Config, State, fail, foreign, load, log_to_stderr, out, told
from bot.headless import ADMIN, HeadlessDesk, Rules
from bot.settings import Settings
from models.scripted import ScriptedModel

app = typer.Typer(help="The MCP servers.", no_args_is_help=True)


@app.command()
@told
def check(config: Config = None, state: State = None) -> None:
    """Connect to each configured server and report; exit code 1 when one is down or a tool is off."""
    log_to_stderr()
    with tempfile.TemporaryDirectory(prefix="deskhand-check-") as folder:
        settings = load(config, state or Path(folder))
        sound = anyio.run(_check, settings)
    if not sound:
        raise typer.Exit(1)


@app.command()
@told
def pins(
    accept: Annotated[str, typer.Option(help="A tool that is off: accept what its server says of it now.")] = "",
    config: Config = None,
    state: State = None,
) -> None:
    """Show which tools are off until they are accepted, and what changed; a running bot learns of it at its next start."""
    log_to_stderr()
    anyio.run(_pins, load(config, state), accept)


async def _pins(settings: Settings, accept: str) -> None:
    async with wiring.running(settings, ScriptedModel([]), lambda host: HeadlessDesk(host, Rules())) as running:
        changes = {change.name: change for change in await running.host.changed_tools()}
        for change in changes.values():
            out.print(foreign(f"{change.name}: {change.why}"))
            out.print(foreign(difference(change.before, change.after)))
        if not changes:
            out.print("Every tool is as it was accepted.")
        if accept and accept not in changes:
            raise fail(f"{accept} is not waiting to be accepted")
        if accept:
            out.print(foreign((await running.host.accept_tool(changes[accept], ADMIN)).words))


async def _check(settings: Settings) -> bool:
    model = ScriptedModel([])
    async with wiring.running(settings, model, lambda host: HeadlessDesk(host, Rules())) as running:
        for line in running.report:
            out.print(foreign(line))
        status = await running.host.status()
    for server in status.servers:
        claims = f", calls itself {server.claims}" if server.claims else ""
        out.print(foreign(f"{server.prefix}: {server.state} {server.protocol}{claims} {server.why}".rstrip()))
    return not status.off and all(server.state == "connected" for server in status.servers)
