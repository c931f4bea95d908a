"""A listed resource that a person adds for one ticket, by command and by form: the model reads it with this ticket alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

ADDRESS = "shop://policies/escalation"


def _shop_alone(settings):
    return replace(settings, host=settings.host.model_copy(update={"servers": {"shop": settings.host.servers["shop"]}}))


@pytest.fixture
def answering(script):
    return lambda _request: script.reply("A colleague will look at it.")


def _read(request):
    return ADDRESS in "\n".join(message.content for message in request.messages)


async def test_a_document_is_added_by_command_for_one_ticket_alone(floor, start_bot, lines, answering):
    async with start_bot(answering, change=_shop_alone) as model:
        await floor.write_tickets(lines("T-0004"), lines("T-0025"))
        cards = {one: await floor.card(f"{one} · ", action_id="ticket.work") for one in ("T-0004", "T-0025")}
        await floor.slash("U_MAYA", "run T-0004 with shop://policies/nowhere")
        await floor.whispered("U_MAYA", "shop://policies/escalation")
        await floor.slash("U_SOL", f"run T-0004 with {ADDRESS}")
        await floor.whispered("U_SOL", "not set up for your workspace")
        assert model.requests == []
        await floor.slash("U_MAYA", f"run T-0004 with {ADDRESS}")
        await floor.card("", action_id="draft.send", thread_ts=cards["T-0004"])
        assert [_read(request) for request in model.requests] == [True] * len(model.requests)
        worked = len(model.requests)
        await floor.press("U_MAYA", cards["T-0025"], "ticket.work")
        await floor.card("", action_id="draft.send", thread_ts=cards["T-0025"])
        assert not any(_read(request) for request in model.requests[worked:])


async def test_a_document_is_chosen_in_a_form(floor, start_bot, lines, answering):
    async with start_bot(answering, change=_shop_alone) as model:
        await floor.write_tickets(lines("T-0004"))
        card = await floor.card("T-0004 · ", action_id="ticket.work.with")
        form = await floor.open_form("U_MAYA", card, "ticket.work.with", "form.ticket.work")
        options = {one["text"]["text"]: one["value"] for one in form["blocks"][0]["element"]["options"]}
        assert f"shop: {ADDRESS}" in options
        assert (await floor.submit("U_MAYA", form["id"], resources=[options[f"shop: {ADDRESS}"]]))["ok"]
        await floor.form("U_MAYA", "form.words", "T-0004 is being worked.")
        await floor.card("", action_id="draft.send", thread_ts=card)
        assert model.requests
        assert all(_read(request) for request in model.requests)
