"""Who may call the shop over HTTP: bearer tokens from a file, each with a subject and the tickets it may handle.

The file is JSON: `{"<token>": {"subject": "staff-0007", "tickets": "*"}}`, or a list of ticket ids instead of "*".
It is read anew when it changes, so a token can be withdrawn without a restart. Refuses to know the tools.
"""

import hmac
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from servers.shop.settings import SettingsError

logger = logging.getLogger(__name__)

SCOPE = "shop"


@dataclass(frozen=True)
class Holder:
    """One token's subject and tickets; None means every ticket."""

    subject: str
    tickets: frozenset[str] | None


class TokenFile:
    """An mcp `TokenVerifier` over a tokens file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._holders: dict[str, Holder] = {}
        self._refresh()

    async def verify_token(self, token: str) -> AccessToken | None:
        """None for a token that isn't in the file, and for every one while the file can't be read."""
        try:
            self._refresh()
        except SettingsError as error:
            logger.warning("%s; nobody is let in", error)
            return None
        for known, holder in self._holders.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                tickets = None if holder.tickets is None else sorted(holder.tickets)
                claims: dict[str, Any] = {"tickets": tickets}
                return AccessToken(token=token, client_id=holder.subject, scopes=[SCOPE], subject=holder.subject, claims=claims)
        return None

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._read_at:
                self._holders = read_holders(self._path)
                self._read_at = stamp
        except OSError as error:
            raise SettingsError(f"tokens file {self._path}: {error.strerror}") from None


def read_holders(path: Path) -> dict[str, Holder]:
    """Raises SettingsError when the file isn't what the module's docstring shows."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {token: _holder(row) for token, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        shape = '{"<token>": {"subject": "staff-0007", "tickets": "*"}}'
        raise SettingsError(f"tokens file {path} is unreadable: write JSON of the form {shape}") from None


def _holder(row: dict[str, Any]) -> Holder:
    tickets = row["tickets"]
    if tickets != "*" and not (isinstance(tickets, list) and all(isinstance(name, str) for name in tickets)):
        raise TypeError("tickets")
    return Holder(str(row["subject"]), None if tickets == "*" else frozenset(tickets))


def current_holder() -> Holder | None:
    """The caller's, when this request came with a token; None over stdio or where no tokens are configured."""
    token = get_access_token()
    if token is None or token.subject is None:
        return None
    tickets = (token.claims or {}).get("tickets")
    return Holder(token.subject, None if tickets is None else frozenset(tickets))
