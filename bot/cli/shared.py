"""What the commands share: the console, settings from --config, and errors as one line with an exit code."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from bot import settings as bot_settings
from bot.cards.text import visible
from bot.settings import Settings
from host.errors import HostError
from models.errors import ModelError

console = Console(stderr=True, highlight=False)
out = Console(highlight=False)

Config = Annotated[Path | None, typer.Option("--config", help="deskhand.toml, when not in this folder.")]
State = Annotated[Path | None, typer.Option("--state", help="Folder for databases and files (default: var beside the file).")]

P = ParamSpec("P")
R = TypeVar("R")


def fail(words: str, code: int = 2) -> typer.Exit:
    """One line on stderr that says what to do; raise the result."""
    console.print(f"[red]deskhand:[/red] {escape(words)}", soft_wrap=True)
    return typer.Exit(code)


def told(command: Callable[P, R]) -> Callable[P, R]:
    """The process's edge: errors meant for people become one line, never a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (HostError, ModelError) as error:
            raise fail(str(error)) from error
        except BaseExceptionGroup as group:
            raise fail(str(_first(group))) from group

    return wrapped


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    if isinstance(group, HostError | ModelError):
        return group
    raise group


def foreign(words: str) -> str:
    """Others' words for a terminal: no control sequence and no markup can come from them (spec B9)."""
    return escape(visible(words))


def load(config: Path | None, state: Path | None) -> Settings:
    return bot_settings.load(config, state)


def log_to_stderr(level: str = "WARNING") -> None:
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("slack_sdk", "slack_bolt", "aiosqlite", "mcp", "httpx2", "httpcore2", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
