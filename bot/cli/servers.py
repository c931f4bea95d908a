"""`deskhand servers check`: connects to every server and says what it offers and what is usable (spec H5)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
import typer

from bot import wiring
from bot.cli.shared import Config, State, foreign, load, log_to_stderr, out, told
from bot.headless import HeadlessDesk, Rules
from bot.settings import Settings
from models.scripted import ScriptedModel

app = typer.Typer(help="The MCP servers.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `check` a subcommand of its own."""


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
