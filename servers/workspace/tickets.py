"""Short-lived permissions: trigger ids (3 s, one use), response URLs (30 min, five uses), socket tickets (one use)."""

import secrets
import time
from dataclasses import dataclass, field, replace

from servers.workspace.errors import ApiError

RESPONSE_URL_USES, RESPONSE_URL_SECONDS, SOCKET_TICKET_SECONDS = 5, 30 * 60, 30


@dataclass(frozen=True)
class Trigger:
    """Who acted, and until when (monotonic seconds) a view may be opened for it; `view_id` when they acted inside a modal."""

    user_id: str
    expires: float
    view_id: str | None = None
    used: bool = False


@dataclass(frozen=True)
class ResponseUrl:
    """What a response URL may write to. `original_ts` is the message acted on; None after a slash command."""

    user_id: str
    channel_id: str
    original_ts: str | None
    expires: float
    uses: int = 0


@dataclass
class Tickets:
    """All that are out, by id."""

    trigger_seconds: float
    triggers: dict[str, Trigger] = field(default_factory=dict)
    urls: dict[str, ResponseUrl] = field(default_factory=dict)
    _sockets: dict[str, float] = field(default_factory=dict)

    def trigger(self, user_id: str, view_id: str | None = None, expired: bool = False) -> str:
        """A new trigger id; `expired` makes one that has run out already (a fault a test ordered)."""
        trigger_id = f"{secrets.randbelow(10**6)}.{secrets.randbelow(10**6)}.{secrets.token_hex(8)}"
        life = -1.0 if expired else self.trigger_seconds
        self.triggers[trigger_id] = Trigger(user_id, time.monotonic() + life, view_id)
        return trigger_id

    def use_trigger(self, trigger_id: object) -> Trigger:
        """Spend a trigger id; unknown, run out or spent ones have an error each."""
        trigger = self.triggers.get(str(trigger_id))
        if trigger is None:
            raise ApiError("invalid_trigger_id")
        if trigger.used:
            raise ApiError("exchanged_trigger_id")
        if time.monotonic() > trigger.expires:
            raise ApiError("expired_trigger_id")
        self.triggers[str(trigger_id)] = replace(trigger, used=True)
        return trigger

    def response_url(self, user_id: str, channel_id: str, original_ts: str | None) -> str:
        """The secret part of a new response URL."""
        secret = secrets.token_urlsafe(18)
        expires = time.monotonic() + RESPONSE_URL_SECONDS
        self.urls[secret] = ResponseUrl(user_id, channel_id, original_ts, expires)
        return secret

    def use_url(self, secret: str) -> ResponseUrl:
        """Count one use of a response URL."""
        url = self.urls.get(secret)
        if url is None:
            raise ApiError("invalid_url")
        if time.monotonic() > url.expires:
            raise ApiError("expired_url")
        if url.uses >= RESPONSE_URL_USES:
            raise ApiError("used_url")
        self.urls[secret] = replace(url, uses=url.uses + 1)
        return url

    def socket(self) -> str:
        """A one-use ticket for a Socket Mode connection."""
        ticket = secrets.token_urlsafe(18)
        self._sockets[ticket] = time.monotonic() + SOCKET_TICKET_SECONDS
        return ticket

    def forget(self) -> None:
        """Forget all triggers and response URLs."""
        self.triggers.clear()
        self.urls.clear()

    def use_socket(self, ticket: str) -> bool:
        """Spend a socket ticket."""
        return self._sockets.pop(ticket, 0.0) > time.monotonic()
