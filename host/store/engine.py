"""Opens the database and hands out transactions (spec H30: SQLite for one process, PostgreSQL for several).

A write transaction takes SQLite's lock at once, so that two writers queue instead of failing half-way.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from host.errors import ConfigError

Tx = AsyncConnection

_MIGRATIONS = Path(__file__).with_name("migrations")


class Store:
    """One database. `open` migrates it to the newest shape; use as an async context manager.

    `url` is "sqlite:///PATH" or "postgresql://…". Raises `ConfigError` in words when it can't be opened.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            raise ConfigError(f"database url {url!r} can't be read: write sqlite:///path/to/file.db or postgresql://…") from error
        driver = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}.get(parsed.get_backend_name())
        if driver is None:
            raise ConfigError(f"database url {url!r}: only sqlite and postgresql are supported")
        self._url = parsed.set(drivername=driver)
        self.single_process = driver.startswith("sqlite")
        self._engine: AsyncEngine | None = None

    async def __aenter__(self) -> Store:
        if self.single_process and self._url.database:
            Path(self._url.database).parent.mkdir(parents=True, exist_ok=True)
        logging.getLogger("aiosqlite").addFilter(_nothing)
        self._engine = create_async_engine(self._url, hide_parameters=True)
        if self.single_process:
            _prepare_sqlite(self._engine)
        try:
            async with self._engine.begin() as tx:
                await tx.run_sync(_migrate)
        except OperationalError as error:
            await self._engine.dispose()
            where = self._url.render_as_string(hide_password=True)
            raise ConfigError(f"the database {where} can't be opened ({error.orig}): check the path and its rights") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._engine is not None:
            await self._engine.dispose()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """A transaction that commits at its end and rolls back on any error.

        A stop waits until it is over: the driver can't give a connection back in the middle of a statement.
        """
        assert self._engine is not None, "open the store first"
        with anyio.CancelScope(shield=True):
            async with self._engine.begin() as tx:
                yield tx

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """A connection for reading."""
        assert self._engine is not None, "open the store first"
        with anyio.CancelScope(shield=True):
            async with self._engine.connect() as tx:
                reading = await tx.execution_options(deskhand_read=True)
                yield reading


def _nothing(_record: logging.LogRecord) -> bool:
    """The driver logs every statement with its values, at DEBUG: no ticket's text may get out that way (spec H16)."""
    return False


def _migrate(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _prepare_sqlite(engine: AsyncEngine) -> None:
    """Real transactions on SQLite: the driver's own begin is switched off and ours takes the write lock."""

    @event.listens_for(engine.sync_engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000", "secure_delete=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("deskhand_read")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
