"""What the shop is told at its start: command line first, then environment, then a default.

Refuses to know how the values are used; turns bad ones into one line that says what to do (`SettingsError`).
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

SEED_DAY = date(2026, 6, 2)
"""The day on which the seed data stands: its newest tickets came in that morning."""

STATE_TTL_SECONDS = 30 * 24 * 3600.0
"""How long a sealed requestState stays valid (spec S6: at least a question's life)."""

RELEASE_LIMIT_CENTS = 150_00
"""A refund above this is held until somebody releases it (spec S3)."""


class SettingsError(Exception):
    """A setting is missing or unreadable; the text says which one and what to do."""


@dataclass(frozen=True)
class ShopSettings:
    """Everything the API needs. `today` of None means the computer's own date (UTC)."""

    database: Path
    today: date | None = SEED_DAY
    quote_seed: str | None = None

    def current_day(self) -> date:
        return self.today or datetime.now(UTC).date()


def shop_settings(database: str | None, environment: Mapping[str, str]) -> ShopSettings:
    """From `--database` or SHOP_DATABASE, SHOP_TODAY (`2026-06-02`, or `system`) and SHOP_QUOTE_SEED.

    Raises:
        SettingsError: no database named, or SHOP_TODAY is not a date.
    """
    path = database or environment.get("SHOP_DATABASE")
    if not path:
        raise SettingsError("no database: give --database PATH or set SHOP_DATABASE (it is created when missing)")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise SettingsError(f"no folder {folder} for the database: create it first")
    return ShopSettings(Path(path), _today(environment.get("SHOP_TODAY")), environment.get("SHOP_QUOTE_SEED") or None)


def _today(text: str | None) -> date | None:
    if text == "system":
        return None
    try:
        return date.fromisoformat(text) if text else SEED_DAY
    except ValueError:
        raise SettingsError(f"SHOP_TODAY is {text!r}: write a date such as 2026-06-02, or system") from None


def state_key(database: str | None, environment: Mapping[str, str]) -> bytes:
    """The key that seals requestState: SHOP_STATE_KEY, else a random one kept beside the database file.

    Raises:
        SettingsError: the key is shorter than 32 bytes, or there is neither a key nor a database to keep one by.
    """
    given = environment.get("SHOP_STATE_KEY")
    if given:
        if len(given.encode()) < 32:
            raise SettingsError("SHOP_STATE_KEY is too short: give at least 32 bytes, e.g. `openssl rand -hex 32`")
        return given.encode()
    path = database or environment.get("SHOP_DATABASE")
    if not path:
        raise SettingsError("with --api alone there is no database to keep a key beside: set SHOP_STATE_KEY")
    return _kept_key(Path(path + ".state-key"))


def _kept_key(path: Path) -> bytes:
    """Several processes may start at once: whoever links its file first wins, all read the winner's."""
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_bytes()
