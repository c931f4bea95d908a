"""The main job on the page, as people do it: a customer writes, three of the team decide, the customer reads the answer."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.anyio, pytest.mark.browser]


async def _write(story, sender, subject, body):
    """As a customer, on the page."""
    await story.place("customers")
    await story.page.select_option("#letter-from", label=sender)
    await story.page.fill("#letter-subject", subject)
    await story.page.fill("#letter-body", body)
    await story.page.get_by_role("button", name="Send to the shop").click()
    told = story.page.locator(".told")
    await expect(told).to_contain_text("Sent as ticket")
    await story.place("C_SUPPORT")


async def test_a_customer_asks_three_people_decide_and_the_money_is_requested_once(story):
    page = story.page
    await _write(story, "Ingrid Solberg <ingrid.solberg@example.com>", "Order 1387", "The crock leaks. Refund 1387, please.")
    await _write(
        story,
        "Tom Ashworth <tom.ashworth@example.com>",
        "Mixer dead",
        "Order O-1145, the cream stand mixer plus the pasta roller. It ran for two doughs, then nothing. "
        "I don't want it mended and I don't want another, please just refund the whole order.",
    )
    ticket = story.card("Mixer dead")
    await expect(ticket).to_contain_text("New: nobody has worked this yet.")
    await story.become("U_MAYA")
    await story.press(ticket, "ticket.work")
    await expect(ticket).to_contain_text("Waiting for consent")
    await expect(ticket.locator("[data-thread]")).to_contain_text("waits for you")
    await story.shot("channel")

    await ticket.locator("[data-thread]").click()
    consent = story.answer("Refund 343.49 EUR on order O-1145")
    await story.shot("consent", consent)
    await story.press(consent, "consent.approve")
    await expect(page.locator("#confirm")).to_contain_text("343.49 EUR")
    await story.confirm()
    await expect(consent).to_contain_text("Approved by Maya Okafor")
    asked = story.answer("asks a lead")
    await story.press(asked, "input.answer")
    await expect(page.locator("#modal")).to_contain_text("Only a lead may decide this")
    await page.click("[data-modal=close]")

    await story.become("U_LEA")
    await story.press(asked, "input.answer")
    modal = page.locator("#modal")
    await expect(modal).to_contain_text("Release the refund")
    await modal.get_by_label("Yes", exact=True).check()
    await story.shot("form")
    await page.click("[data-modal=submit]")
    await expect(modal).to_contain_text("Your answer goes to the server")
    await page.click("[data-modal=close]")
    await expect(asked).to_contain_text("Answered by Lea Brandt")

    await story.become("U_TOM")
    draft = story.answer("has been requested")
    await story.press(draft, "draft.send")
    await expect(draft).to_contain_text("Delivered to the customer")
    await expect(ticket).to_contain_text("Answered: waiting for the customer.")
    await ticket.scroll_into_view_if_needed()
    await story.shot("sent")

    await story.place("customers")
    letter = page.locator("[data-receipt]")
    await expect(letter).to_have_count(1)
    await expect(letter).to_contain_text("343.49 EUR")
    row = page.locator("[data-refund-id]", has_text="O-1145")
    await expect(row).to_have_count(1)
    await expect(row).to_contain_text("requested")

    await story.place("C_SUPPORT")
    lied = story.card("Order 1387")
    await story.press(lied, "ticket.work")
    await expect(lied).to_contain_text("A draft waits")
    await lied.locator("[data-thread]").click()
    flagged = story.answer("1 sentence flagged")
    await expect(flagged).to_contain_text("Nothing ran.")
    await story.shot("flagged-draft", flagged)
    await story.press(flagged, "draft.send")
    await expect(page.locator("#thread-messages .ephemeral").last).to_contain_text("Not sent")
