"""One process a SQLite database, and a database of their own for commands that answer by themselves (spec H30).

Knows files and settings, no host. PostgreSQL is shared by several bots on purpose, so it needs no lock.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bot.settings import DatabaseSettings, Settings
from host.errors import ConfigError


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """Nobody else opens this SQLite database while the block runs. Raises `ConfigError` that says who has it and what to do.

    The lock is the operating system's, so that it ends with its process, however that ends; its file stays.
    """
    database = _file(settings.database.url)
    if database is None:
        yield
        return
    lock = database.with_name(f"{database.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(f"{lock} can't be written ({error.strerror}): check the path and its rights") from error
    try:
        _take(held, database)
        yield
    finally:
        os.close(held)


def _take(held: int, database: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        who = os.read(held, 200).decode(errors="replace").strip() or "another process"
        raise ConfigError(f"{database} is in use by {who}: stop that first, or give another folder as --state") from error
    os.ftruncate(held, 0)
    os.write(held, f"process {os.getpid()} (deskhand {' '.join(sys.argv[1:2])})\n".encode())


def apart(settings: Settings) -> Settings:
    """The same settings on a new database in the state folder, whatever the configuration names: what answers by itself must
    meet no question, and take no reply, of a bot that works for real. Raises `ConfigError` when there is one already."""
    fresh = settings.state / "deskhand.db"
    configured = _file(settings.database.url) or fresh
    for path in (fresh, configured):
        if path.is_relative_to(settings.state) and path.exists():
            raise ConfigError(f"{path} is there already: this works on a new database alone; give a new folder as --state")
    return replace(settings, database=DatabaseSettings(url=f"sqlite:///{fresh}"))


def check_servers(settings: Settings, allowed: bool) -> None:
    """People by script would move real money there. Raises `ConfigError` unless that is wanted."""
    remote = [name for name, server in settings.host.servers.items() if server.url]
    if remote and not allowed:
        raise ConfigError(
            f"scripted people would answer for what is done on live servers (reached by url: {', '.join(remote)}). Give --config "
            "with servers that are started by a command, or --on-live-servers if that is wanted"
        )


def _file(url: str) -> Path | None:
    """The file of a SQLite database; None for one in memory, or on a server."""
    found = re.fullmatch(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", url)
    return None if found is None or found[1] == ":memory:" else Path(found[1])
