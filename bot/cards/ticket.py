"""The ticket's card in the channel: who wrote what, where it stands, Work this (spec B2)."""

from __future__ import annotations

from bot.cards import ids
from bot.cards.elements import Block, Part, actions, button, confirm, header, line, own, quote, rich, t, when
from bot.cards.rendered import Rendered
from bot.cards.text import escaped, is_cut
from bot.cards.words import Mentions
from host.types import RunState, Ticket, TicketState
from host.views import TicketView

THREAD_NOTE = "Nothing typed in this thread reaches the customer or the model. Use the buttons."
_BODY = 2600


def render(view: TicketView, *, mentions: Mentions) -> Rendered:
    """Mentions nobody: whoever must decide is mentioned on the question's own card."""
    del mentions
    ticket = view.ticket
    blocks: list[Block] = [header(f"{ticket.id} · {ticket.subject or '(no subject)'}"), rich(_sender(ticket), _dates(ticket))]
    blocks.append(rich(quote(ticket.body or "(no text)", _BODY)))
    long = is_cut(ticket.body, _BODY)
    if long:
        blocks.append(own("The message is longer than what fits here: “Whole text” shows all of it."))
    blocks.append(rich(line(t(view.line, 800, bold=True))))
    buttons: list[Part] = []
    if can_work(view):
        buttons.append(button("Work this", ids.TICKET_WORK, ticket.id, style="primary"))
        buttons.append(button("Work with documents…", ids.TICKET_WORK_WITH, ticket.id))
    if can_stop(view):
        asked = confirm(
            "Stop this run?", "It ends now, also where it waits: its questions are closed, nothing more runs.", "Stop"
        )
        buttons.append(button("Stop", ids.TICKET_STOP, ticket.id, style="danger", confirm=asked))
    if long:
        buttons.append(button("Whole text", ids.TICKET_WHOLE, ticket.id))
    if buttons:
        blocks.append(actions(*buttons))
    text = f"{ticket.id} · {ticket.subject} · from {ticket.sender_name}: {view.line}"
    return Rendered(escaped(text, 1000), tuple(blocks))


def can_work(view: TicketView) -> bool:
    """Whether the card offers Work this: nothing runs on it now, and it is our turn. The host decides again on the click."""
    idle = view.run is None or view.run.state is RunState.DONE
    return idle and not view.waiting and view.state not in (TicketState.WAITING_FOR_CUSTOMER, TicketState.DONE)


def can_stop(view: TicketView) -> bool:
    """Whether a run is under way or waits. The host decides on the click, and who may."""
    return view.run is not None and view.run.state is not RunState.DONE


def _sender(ticket: Ticket) -> Part:
    verified = "sender verified" if ticket.sender_verified else "sender NOT verified"
    who = f" <{ticket.sender_mail}>" if ticket.sender_mail else ""
    customer = f"customer {ticket.customer_id}" if ticket.customer_id else "no customer record"
    return line(
        t("From ", bold=True),
        t(f"{ticket.sender_name}{who}", 400),
        t(" · "),
        t(verified, bold=not ticket.sender_verified),
        t(f" · {customer}"),
    )


def _dates(ticket: Ticket) -> Part:
    parts = [t("Received "), when(ticket.received_at)]
    if ticket.due_at:
        parts += [t(" · due "), when(ticket.due_at)]
    if ticket.language:
        parts.append(t(f" · language {ticket.language}", 40))
    return line(*parts)
