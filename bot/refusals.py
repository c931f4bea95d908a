"""What Slack refuses until somebody mends it, and when a question that therefore reaches nobody is given up (spec H12).

An operator may mend it in minutes (invite the bot, install it again), so nothing is final at once: it is said loudly at the
first time, tried again, and after a while the question's call is told that nobody could be asked. Refuses to know how a card is
drawn or posted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from host.port import Undelivered
from host.types import OutboxItem

log = logging.getLogger(__name__)

#: How long a question waits for somebody to mend it, in seconds.
PATIENCE = 600.0
#: Errors of Slack that no second try can mend, and what to do about them.
LASTING = {
    "channel_not_found": "Slack knows no such channel for this app: check `channel` in deskhand.toml and invite the bot to it",
    "not_in_channel": "the bot is not in the channel: invite it with /invite @deskhand",
    "is_archived": "the channel is archived: unarchive it or set another `channel`",
    "restricted_action": "the workspace lets the bot not post in this channel: allow it, or set another `channel`",
    "invalid_auth": "Slack does not accept the bot token: check SLACK_BOT_TOKEN",
    "not_authed": "no bot token was sent: set SLACK_BOT_TOKEN",
    "account_inactive": "the bot's token belongs to a removed app or account: install the app again",
    "token_revoked": "the bot's token was revoked: install the app again",
    "token_expired": "the bot's token has expired: install the app again",
    "missing_scope": "the app lacks a scope: install it again from manifest.yml",
    "user_not_in_channel": "the person is not in the channel, so Slack can't show it to them",
}


class Lasting(Undelivered):
    """Refused until somebody mends it."""


class Refusals:
    """Since when each item has been refused, in this process; one delivery between two refusals begins it anew."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since: dict[str, float] = {}
        #: Why tickets' cards can't be posted: their threads, where questions stand, don't come then.
        self._tickets = ""

    def delivered(self, item: OutboxItem) -> None:
        self._since.pop(item.key, None)
        if item.key.startswith("ticket:"):
            self._tickets = ""

    def no_thread(self, item: OutboxItem) -> Undelivered:
        """The ticket's card isn't there yet, or can't come."""
        words = f"the card of {item.ticket_id} is not in the channel yet"
        return Lasting(f"{words}: {self._tickets}", 1.0) if self._tickets else Undelivered(words, 1.0)

    def judged(self, item: OutboxItem, error: Lasting, *, gives_up: bool) -> Undelivered:
        """What to tell the outbox. `gives_up`: a call waits for this item's answer, and nobody can have seen it."""
        if item.key not in self._since:
            log.error("slack_refuses kind=%s: %s. Nothing can be decided until this is mended.", _kind(item), error)
        if item.key.startswith("ticket:"):
            self._tickets = str(error)
        since = self._since.setdefault(item.key, self._now())
        if not gives_up or self._now() - since < PATIENCE:
            return error
        self._since.pop(item.key)
        log.error("slack_refuses kind=%s: given up after %d minutes; nobody was asked", _kind(item), PATIENCE // 60)
        return Undelivered(str(error), final=True)


def _kind(item: OutboxItem) -> str:
    return item.key.partition(":")[0]
