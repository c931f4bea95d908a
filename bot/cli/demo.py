"""`deskhand demo`: everything on this machine, no Slack account, no model needed to begin."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from bot.cli.shared import Config, State, load, log_to_stderr, told
from bot.demo.supervisor import Supervisor, default_state


@told
def demo(
    port: Annotated[int, typer.Option(help="The page's port on 127.0.0.1.")] = 8765,
    config: Config = None,
    state: State = None,
) -> None:
    """Open a local workspace with Deskhand in it; the address is printed."""
    log_to_stderr()
    settings = load(config, state)
    if state is None:
        settings = load(config, default_state(settings))
    anyio.run(Supervisor(settings, port).serve)
