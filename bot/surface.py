"""The desk in Slack: brings cards, notices and replies out, one item of the outbox at a time (spec B2, B10).

Implements `host.port.Desk`. Cards are drawn anew from state each time, never patched. A post is never repeated blindly: when an
attempt may have arrived, the channel or thread is searched for the item's key first. Refuses to know what an answer does.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NoReturn, Protocol, assert_never

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.cards import ids, reminder
from bot.cards.draw import draw
from bot.cards.elements import line, rich, t, user
from bot.cards.rendered import Rendered, bare, stamp, validate
from bot.cards.text import escaped, pieces
from bot.cards.ticket import THREAD_NOTE
from bot.cards.words import Mentions
from bot.refusals import LASTING, Lasting, Refusals
from host.errors import NotFound
from host.port import DeliveryUnknown, Undelivered
from host.types import Json, OutboxItem, OutboxKind, QuestionKind, QuestionState
from host.views import Card, QuestionView, ReminderView

log = logging.getLogger(__name__)
Receipt = Mapping[str, Json]
Draw = Callable[[str], Awaitable[Card]]
ReceiptOf = Callable[[str], Awaitable[Receipt | None]]
Remind = Callable[[str, int], Awaitable[ReminderView | None]]
_PAGES, _PAGE = 5, 200
#: Slack takes the message, but not what is in it.
_UNFIT = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})


class Mail(Protocol):
    """Where replies leave (`bot.mailroom.sending.Mailroom`)."""

    async def deliver(self, item: OutboxItem) -> Receipt: ...


class _Unfit(Undelivered):
    """Slack refused what the card holds, so it can't be drawn as it is."""


class SlackDesk:
    def __init__(
        self,
        *,
        card: Draw,
        receipt_of: ReceiptOf,
        reminder: Remind,
        mentions: Callable[[], Mentions],
        poster: AsyncWebClient,
        web: AsyncWebClient,
        channel: str,
        mail: Mail,
        refusals: Refusals | None = None,
    ) -> None:
        """`card`, `receipt_of` and `reminder` are the host's (`host.facade.Host`). `poster` repeats nothing after a lost
        connection, `web` may (`bot.app.clients`). `channel` is the channel's id."""
        self._card = card
        self._receipt_of = receipt_of
        self._reminder = reminder
        self._mentions = mentions
        self._poster = poster
        self._web = web
        self._channel = channel
        self._mail = mail
        self._refusals = refusals or Refusals()

    async def deliver(self, item: OutboxItem) -> Receipt:
        """Bring one item out (`host.port.Desk`)."""
        match item.kind:
            case OutboxKind.CARD:
                return await self._deliver_card(item)
            case OutboxKind.NOTICE:
                return await self._deliver_notice(item)
            case OutboxKind.MAIL:
                return await self._mail.deliver(item)
            case _:
                assert_never(item.kind)

    # Cards

    async def _deliver_card(self, item: OutboxItem) -> Receipt:
        state = await self._card(item.key)
        card = stamp(self._checked(item.key, draw(state, self._mentions())), item.version)
        try:
            receipt = await self._bring_fit(item, card)
        except Lasting as error:
            unseen = item.receipt is None and not item.uncertain
            raise self._refusals.judged(item, error, gives_up=unseen and _a_call_waits(state)) from error
        self._refusals.delivered(item)
        return await self._with_note(item, receipt) if item.key.startswith("ticket:") else receipt

    async def _bring_fit(self, item: OutboxItem, card: Rendered) -> Receipt:
        try:
            return await self._bring(item, card)
        except _Unfit as error:
            log.error("card_refused key=%s why=%s; shown without its blocks", item.key, error)
            return await self._bring(item, stamp(bare(card), item.version))

    async def _bring(self, item: OutboxItem, card: Rendered) -> Receipt:
        return await self._first(item, card) if item.receipt is None else await self._update(item, card, item.receipt)

    def _checked(self, key: str, card: Rendered) -> Rendered:
        problems = validate(card)
        if problems:
            log.error("card_invalid key=%s problems=%s", key, "; ".join(problems))
        return bare(card) if problems else card

    async def _first(self, item: OutboxItem, card: Rendered) -> Receipt:
        thread = await self._thread(item)
        if item.uncertain and (found := await self._find(item.key, thread)):
            return await self._update(item, card, found)
        return await self._post(item, card, thread)

    async def _post(self, item: OutboxItem, card: Rendered, thread: Receipt | None) -> Receipt:
        channel = str(thread["channel"]) if thread else self._channel
        extra: dict[str, Any] = {"thread_ts": thread["ts"], "reply_broadcast": card.broadcast} if thread else {}
        answer = await self._sending(
            self._poster.chat_postMessage(
                channel=channel,
                text=card.text,
                blocks=list(card.blocks),
                metadata=_metadata(item),
                unfurl_links=False,
                unfurl_media=False,
                parse="none",
                **extra,
            )
        )
        return {"channel": answer["channel"], "ts": answer["ts"]}

    async def _update(self, item: OutboxItem, card: Rendered, receipt: Receipt) -> Receipt:
        try:
            await self._web.chat_update(
                channel=receipt["channel"],
                ts=receipt["ts"],
                text=card.text,
                blocks=list(card.blocks),
                metadata=_metadata(item),
                parse="none",
            )
        except SlackApiError as error:
            if _error(error) not in ("message_not_found", "cant_update_message"):
                _refused(error)
            log.info("card_gone key=%s; posted again", item.key)
            return await self._post(item, card, await self._thread(item))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Undelivered(f"Slack could not be reached ({type(error).__name__})") from error  # an update may be repeated
        return receipt

    async def _thread(self, item: OutboxItem) -> Receipt | None:
        """The ticket's thread; None for what stands in the channel itself."""
        if item.key.startswith(("ticket:", "progress:")) or not item.ticket_id:
            return None
        receipt = await self._receipt_of(f"ticket:{item.ticket_id}")
        if receipt is None:
            raise self._refusals.no_thread(item)
        return receipt

    async def _with_note(self, item: OutboxItem, receipt: Receipt) -> Receipt:
        """The first line of a ticket's thread (spec B2). The card stands already: a failure is made good at its next change."""
        if item.receipt is not None and item.receipt.get("note") and item.receipt.get("ts") == receipt["ts"]:
            return item.receipt
        key = f"note:{item.ticket_id}:{receipt['ts']}"
        try:
            found = await self._find(key, receipt) if item.receipt is not None or item.uncertain else None
            note = found or await self._say(key, THREAD_NOTE, receipt)
        except (Undelivered, DeliveryUnknown) as error:
            log.warning("thread_note failed key=%s error=%s", item.key, type(error).__name__)
            return receipt
        return {**receipt, "note": note["ts"]}

    async def _find(self, key: str, thread: Receipt | None) -> Receipt | None:
        """The message that carries this key in its metadata, newest first."""
        try:
            async for message in self._messages(thread):
                if (message.get("metadata") or {}).get("event_payload", {}).get("key") == key:
                    return {"channel": thread["channel"] if thread else self._channel, "ts": message["ts"]}
        except SlackApiError as error:
            _refused(error)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DeliveryUnknown(f"Slack could not be asked whether {key} arrived ({type(error).__name__})") from error
        return None

    async def _messages(self, thread: Receipt | None) -> AsyncIterator[Mapping[str, Any]]:
        cursor = ""
        for _ in range(_PAGES):
            if thread:
                page = await self._web.conversations_replies(
                    channel=str(thread["channel"]),
                    ts=str(thread["ts"]),
                    include_all_metadata=True,
                    limit=_PAGE,
                    cursor=cursor or None,
                )
            else:
                page = await self._web.conversations_history(
                    channel=self._channel, include_all_metadata=True, limit=_PAGE, cursor=cursor or None
                )
            for message in page.get("messages") or ():
                yield message
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    # Notices

    async def _deliver_notice(self, item: OutboxItem) -> Receipt:
        """payload {"text", "user"?: only to this person, "channel"?, "roles"?: whom to mention}; a reminder's is
        {"question", "roles", "number"}."""
        thread = await self._thread(item)
        if item.key.startswith("reminder:"):
            return await self._remind(item, thread)
        words = str(item.payload.get("text") or "")
        if person := item.payload.get("user"):
            return await self._whisper(str(person), words, thread, str(item.payload.get("channel") or self._channel))
        if item.uncertain and (found := await self._find(item.key, thread)):
            return found
        roles = item.payload.get("roles") or ()
        people = [person for role in roles for person in self._mentions().get(role, ())]
        return await self._say(item.key, words, thread, people, str(item.payload.get("channel") or self._channel))

    async def _remind(self, item: OutboxItem, thread: Receipt | None) -> Receipt:
        """A reminder in a message of its own, exactly once; none where the question has its end by now (spec H20)."""
        if item.uncertain and (found := await self._find(item.key, thread)):
            return found
        try:
            view = await self._reminder(str(item.payload["question"]), int(item.payload["number"]))
        except NotFound:
            view = None
        if view is None:
            return {"receipt": "not needed any more: the question has its end"}
        card = self._checked(item.key, reminder.render(view, mentions=self._mentions()))
        return await self._post(item, card, thread)

    async def _say(
        self, key: str, words: str, thread: Receipt | None, people: list[str] | None = None, channel: str = ""
    ) -> Receipt:
        mention = [part for person in people or () for part in (user(person), t(" "))]
        answer = await self._sending(
            self._poster.chat_postMessage(
                channel=str(thread["channel"]) if thread else channel or self._channel,
                text=escaped(words, 3000) or "-",
                blocks=[rich(line(*mention, *(t(piece) for piece in pieces(words or "-", 2900)[:4])))],
                metadata={"event_type": ids.METADATA_EVENT, "event_payload": {"key": key, "version": 1}},
                unfurl_links=False,
                unfurl_media=False,
                parse="none",
                **({"thread_ts": thread["ts"]} if thread else {}),
            )
        )
        return {"channel": answer["channel"], "ts": answer["ts"]}

    async def _whisper(self, person: str, words: str, thread: Receipt | None, channel: str) -> Receipt:
        where = str(thread["channel"]) if thread else channel
        text = escaped(words, 3000) or "-"
        inside = str(thread["ts"]) if thread else None
        call = self._poster.chat_postEphemeral(channel=where, user=person, text=text, parse="none", thread_ts=inside)
        answer = await self._sending(call)
        return {"channel": where, "ts": answer["message_ts"]}

    async def _sending(self, call: Awaitable[Any]) -> Mapping[str, Any]:
        """A post: refused means that it did not arrive, a lost connection that it may have."""
        try:
            answer = await call
        except SlackApiError as error:
            _refused(error)
        except aiohttp.ClientConnectorError as error:
            raise Undelivered(f"Slack could not be reached ({type(error).__name__})") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DeliveryUnknown(f"the connection to Slack was lost ({type(error).__name__})") from error
        return dict(answer.data)


def _a_call_waits(state: Card) -> bool:
    """Whether a call of the model's waits for this card's answer; drafts and changed tools lose nothing by waiting."""
    kinds = (QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST)
    return isinstance(state, QuestionView) and state.question.kind in kinds and state.question.state is QuestionState.OPEN


def _metadata(item: OutboxItem) -> dict[str, Any]:
    """Readable to other apps of the workspace: an opaque key and a version, nothing else."""
    return {"event_type": ids.METADATA_EVENT, "event_payload": {"key": item.key, "version": item.version}}


def _error(error: SlackApiError) -> str:
    data = error.response.data if hasattr(error.response, "data") else error.response
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def _refused(error: SlackApiError) -> NoReturn:
    """Slack answered, so it did not arrive; a server error of its own leaves it open."""
    status = int(getattr(error.response, "status_code", 200) or 200)
    if status == 429:
        after = error.response.headers.get("Retry-After") or error.response.headers.get("retry-after") or "5"
        raise Undelivered("Slack asks us to slow down", retry_after=float(after)) from error
    code = _error(error)
    if status >= 500 or not code:
        raise DeliveryUnknown(f"Slack answered with an error of its own (HTTP {status})") from error
    if code in _UNFIT:
        raise _Unfit(f"Slack refused: {code}", retry_after=30.0) from error
    if code in LASTING:
        raise Lasting(LASTING[code], retry_after=30.0) from error
    raise Undelivered(f"Slack refused: {code}", retry_after=5.0) from error
