"""Hands a signed-off reply to the configured way out, at most once (spec H27).  The outbox's mail items come in here."""

from __future__ import annotations

from collections.abc import Mapping

from bot.mailroom.port import Outgoing, Reply
from host.port import DeliveryUnknown, Undelivered
from host.types import Json, OutboxItem


class Mailroom:
    """`sender` stands in the reply's From."""

    def __init__(self, outgoing: Outgoing, sender: str) -> None:
        self._outgoing = outgoing
        self._sender = sender

    async def deliver(self, item: OutboxItem) -> Mapping[str, Json]:
        """Send the reply of an item {"question_id","to","subject","text"}. A mail that may have left is only looked for."""
        reply = reply_from(item.ticket_id, item.payload, self._sender)
        if not item.uncertain:
            return await self._outgoing.send(reply)
        if (found := await self._outgoing.find(reply)) is None:
            raise DeliveryUnknown("nobody knows whether the earlier attempt reached the customer")
        return found


def reply_from(ticket_id: str, payload: Mapping[str, Json], sender: str) -> Reply:
    """Raises `Undelivered`, final, when something without which there is no mail is missing."""
    missing = [key for key in ("question_id", "to", "text") if not str(payload.get(key) or "").strip()]
    if missing:
        raise Undelivered(f"the reply to {ticket_id} has no {' and no '.join(missing)}: nothing was sent", final=True)
    subject = " ".join(str(payload.get("subject") or ticket_id).split())
    answer = subject if subject.lower().startswith("re:") else f"Re: {subject}"
    return Reply(ticket_id, str(payload["question_id"]), str(payload["to"]), sender, answer, str(payload["text"]))
