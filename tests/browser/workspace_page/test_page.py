"""The page, driven as a person would, with a foreign app behind it."""

import re

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.anyio, pytest.mark.browser]


def _text(words):
    return {"type": "plain_text", "text": words}


def _row(*elements):
    return {"type": "actions", "elements": list(elements)}


def _button(action_id, words="Go", **more):
    return {"type": "button", "action_id": action_id, "text": _text(words), **more}


_ID = re.compile(r"^V[0-9A-F]{8}$")
CONFIRM = {"title": _text("Pay?"), "text": _text("Money leaves."), "confirm": _text("Pay 5"), "deny": _text("No")}


async def test_a_button_with_a_confirm_dialog_is_pressed_only_when_confirmed(desk):
    ts = await desk.post(_row(_button("pay", "Pay 5 EUR", style="primary", confirm=CONFIRM)))
    card = desk.page.locator(f'#messages [data-ts="{ts}"]')
    await card.locator('[data-action-id="pay"]').click()
    await expect(desk.page.locator("#confirm")).to_contain_text("Money leaves.")
    await expect(desk.page.locator("[data-confirm=deny]")).to_be_focused()
    await desk.page.click("[data-confirm=deny]")
    assert desk.heard == []
    await desk.become("U_LEA")
    await card.locator('[data-action-id="pay"]').click()
    await desk.page.click("[data-confirm=confirm]")
    await expect(card).to_contain_text("paid by lea")
    await expect(card.locator("button[data-action-id]")).to_have_count(0)
    assert len(desk.heard) == 1


async def test_a_form_shows_its_errors_beside_the_fields_and_keeps_what_was_typed(desk):
    ts = await desk.post(_row(_button("open")))
    await desk.page.click(f'#messages [data-ts="{ts}"] [data-action-id="open"]')
    modal = desk.page.locator("#modal")
    await expect(modal).to_have_attribute("data-view-id", _ID)
    await expect(modal.locator('[data-action-id="why"]')).to_be_focused()
    await expect(modal.locator('[data-action-id="day"]')).to_have_value("2026-12-01")
    await modal.locator('[data-action-id="amount"]').fill("343.49")
    await modal.locator("[data-modal=submit]").click()
    why = modal.locator('[data-block-id="why"]')
    await expect(why.locator(".error")).to_have_text("Please complete this required field.")
    await expect(modal.locator('[data-block-id="amount"] .error')).to_contain_text("at most 150")
    await why.locator("textarea").fill("because")
    await modal.locator('[data-action-id="amount"]').fill("12.50")
    await modal.locator('[data-action-id="kind"]').select_option("n")
    papers = modal.locator('[data-action-id="papers"]')
    await expect(papers.get_by_label("Paper 3")).to_be_checked()
    await papers.get_by_label("Paper 11").check()
    await expect(papers.get_by_label("Paper 4"), "two may be chosen").to_be_disabled()
    await modal.locator("[data-modal=submit]").click()
    await expect(why.locator(".error")).to_have_text("That is no reason.")
    await expect(modal.locator('[data-action-id="amount"]')).to_have_value("12.50")
    await expect(papers.get_by_label("Paper 11")).to_be_checked()
    await why.locator("textarea").fill("the lid broke")
    await modal.get_by_label("No", exact=True).first.check()
    await modal.locator("[data-modal=submit]").click()
    await expect(modal).to_be_hidden()
    values = desk.heard[0]
    assert values["why"]["why"]["value"] == "the lid broke"
    assert values["amount"]["amount"]["value"] == "12.50"
    assert values["release"]["release"]["selected_option"]["value"] == "n"
    assert [option["value"] for option in values["papers"]["papers"]["selected_options"]] == ["3", "11"]
    assert values["kind"]["kind"]["selected_option"]["value"] == "n"


async def test_a_modal_belongs_to_its_person_and_escape_closes_it(desk):
    ts = await desk.post(_row(_button("open")))
    await desk.become("U_TOM")
    await desk.page.click(f'#messages [data-ts="{ts}"] [data-action-id="open"]')
    await expect(desk.page.locator("#modal")).to_be_visible()
    await desk.page.keyboard.press("Escape")
    await expect(desk.page.locator("#modal")).to_be_hidden()
    await expect(desk.page.locator("#modal[open]")).to_have_count(0)


async def test_the_focus_stays_inside_an_open_modal(desk):
    ts = await desk.post(_row(_button("open")))
    await desk.page.click(f'#messages [data-ts="{ts}"] [data-action-id="open"]')
    await expect(desk.page.locator("#modal")).to_be_visible()
    outside = "document.activeElement !== document.body && !document.getElementById('modal').contains(document.activeElement)"
    for _ in range(25):
        await desk.page.keyboard.press("Tab")
        assert not await desk.page.evaluate(outside)


async def test_a_slash_command_is_hinted_and_answered_to_its_person_alone(desk):
    box = desk.page.locator("#composer-text")
    await box.fill("/desk")
    await expect(desk.page.locator(".hints")).to_contain_text("/deskhand run [n | all | T-0009]")
    await desk.page.get_by_role("option", name="/deskhand status").click()
    await expect(box).to_have_value("/deskhand status ")
    await box.press("Enter")
    whisper = desk.page.locator("#messages .ephemeral")
    await expect(whisper).to_contain_text("heard status")
    await desk.become("U_LEA")
    await expect(whisper).to_have_count(0)
    await desk.become("U_MAYA")
    await whisper.get_by_role("button", name="Dismiss").click()
    await expect(whisper).to_have_count(0)


async def test_an_unanswered_button_says_so_beside_its_card(desk):
    ts = await desk.post(_row(_button("silent")))
    await desk.page.click(f'#messages [data-ts="{ts}"] [data-action-id="silent"]')
    await expect(desk.page.locator(f'[data-ts="{ts}"] .notice')).to_contain_text("did not answer within 0.8 s")
    await desk.client.chat_update(channel="C_SUPPORT", ts=ts, text="settled")
    await expect(desk.page.locator(f'[data-ts="{ts}"] .notice')).to_have_count(0)


async def test_what_customers_write_is_shown_as_typed_and_never_as_markup(desk):
    typed = "<!channel> refund me <@U_LEA> &amp;lt; <b>now</b> <https://x.example|click>"
    escaped = typed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quote = {"type": "rich_text_quote", "elements": [{"type": "text", "text": typed}]}
    ts = await desk.post(
        {"type": "section", "text": {"type": "mrkdwn", "text": escaped, "verbatim": True}},
        {"type": "rich_text", "elements": [quote]},
        {"type": "section", "text": _text(typed)},
    )
    card = desk.page.locator(f'#messages [data-ts="{ts}"]')
    assert (await card.inner_text()).count(typed) == 3
    await expect(card.locator(".mention, a, b:not(.byline b)")).to_have_count(0)


async def test_mrkdwn_is_drawn_and_a_live_mention_is_seen_as_one(desk):
    ts = await desk.post(text="*bold* _it_ `co<de` <@U_LEA> <https://example.com|site>\n&gt; quoted\n```a *b*```")
    card = desk.page.locator(f'#messages [data-ts="{ts}"] .text')
    await expect(card.locator("strong")).to_have_text("bold")
    await expect(card.locator("em")).to_have_text("it")
    await expect(card.locator(".mention")).to_have_text("@Lea Brandt")
    await expect(card.locator("a")).to_have_attribute("href", "https://example.com")
    await expect(card.locator("blockquote")).to_have_text("quoted")
    await expect(card.locator("pre")).to_have_text("a *b*")


async def test_a_bare_address_is_a_link_unless_the_app_forbids_it(desk):
    linked = await desk.post(text="see https://example.com/a?b=1&amp;c=2.")
    literal = await desk.post(text="see https://example.com/a", parse="none")
    address = desk.page.locator(f'#messages [data-ts="{linked}"] .text a')
    await expect(address).to_have_attribute("href", "https://example.com/a?b=1&c=2")
    await expect(desk.page.locator(f'#messages [data-ts="{literal}"] .text')).to_have_text("see https://example.com/a")
    await expect(desk.page.locator(f'#messages [data-ts="{literal}"] .text a')).to_have_count(0)


async def test_a_date_is_shown_in_the_readers_own_words(desk):
    leaf = {"type": "date", "timestamp": 1780306200, "format": "{date_num} {time}", "fallback": "2026-06-01 09:30 UTC"}
    ts = await desk.post({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [leaf]}]})
    moment = desk.page.locator(f'#messages [data-ts="{ts}"] .rich time')
    await expect(moment).to_have_attribute("title", "2026-06-01 09:30 UTC")
    await expect(moment).to_contain_text("2026-0")


async def test_a_link_to_a_script_is_no_link(desk):
    ts = await desk.post(text="<javascript:alert(1)|press me>")
    card = desk.page.locator(f'#messages [data-ts="{ts}"]')
    await expect(card).to_contain_text("press me")
    await expect(card.locator("a")).to_have_count(0)


async def test_an_unknown_block_is_loud(desk):
    ts = await desk.post({"type": "markdown", "text": "# x"})
    await expect(desk.page.locator(f'[data-ts="{ts}"] [data-unknown-block="markdown"]')).to_be_visible()


async def test_a_thread_is_opened_answered_and_says_who_is_waited_for(desk):
    ts = await desk.post(text="ticket")
    await desk.post({"type": "section", "text": {"type": "mrkdwn", "text": "<@U_MAYA>?"}}, _row(_button("pay")), thread_ts=ts)
    line = desk.page.locator(f'[data-thread="{ts}"]')
    await expect(line).to_contain_text("waits for you")
    await line.click()
    thread = desk.page.locator("#thread-messages")
    await expect(thread.locator('[data-action-id="pay"]')).to_be_visible()
    await desk.page.locator("#thread-text").fill("on it")
    await desk.page.locator("#thread-text").press("Enter")
    await expect(thread).to_contain_text("on it")
    await expect(line).to_contain_text("2 replies")
    await thread.locator('[data-action-id="pay"]').click()
    await expect(line).not_to_contain_text("waits for you")


async def test_the_pinned_message_is_open_at_first_and_a_home_tab_is_shown(desk):
    ts = await desk.post(text="Start here")
    await desk.client.pins_add(channel="C_SUPPORT", timestamp=ts)
    await expect(desk.page.locator(f'[data-pinned-ts="{ts}"]')).to_be_visible()
    await desk.client.views_publish(
        user_id="U_MAYA", view={"type": "home", "blocks": [{"type": "header", "text": _text("For Maya")}]}
    )
    await desk.page.click("[data-place=home]")
    await expect(desk.page.locator("#pane-home")).to_contain_text("For Maya")
    await desk.become("U_TOM")
    await expect(desk.page.locator("#pane-home")).to_contain_text("has not published")


async def test_the_inspector_shows_each_envelope_with_its_answer(desk):
    ts = await desk.post(_row(_button("whisper", "Whisper")))
    await desk.page.click(f'[data-ts="{ts}"] [data-action-id="whisper"]')
    await expect(desk.page.locator("#messages .ephemeral")).to_contain_text("not you")
    await desk.page.click(".inspector-head")
    envelope = desk.page.locator("[data-envelope-id]").first
    await expect(envelope).to_contain_text("Maya Okafor: Whisper (whisper)")
    await envelope.locator("summary").click()
    await expect(envelope.locator("pre")).to_contain_text('"type": "block_actions"')


async def test_people_are_chosen_with_the_arrow_keys(desk):
    await desk.page.focus('[data-user-id="U_MAYA"]')
    await desk.page.keyboard.press("ArrowRight")
    await expect(desk.page.locator('[data-user-id="U_TOM"]')).to_have_attribute("aria-checked", "true")
    await expect(desk.page.locator('[data-user-id="U_TOM"]')).to_be_focused()


async def test_on_a_narrow_screen_the_thread_is_a_view_of_its_own(narrow_desk):
    page = narrow_desk.page
    ts = await narrow_desk.post(text="ticket")
    await narrow_desk.post(_row(_button("pay")), thread_ts=ts)
    await page.click(f'[data-thread="{ts}"]')
    await expect(page.locator('#thread-messages [data-action-id="pay"]')).to_be_visible()
    await expect(page.locator("#pane-channel")).to_be_hidden()
    await page.get_by_role("button", name="Back to the channel").click()
    await expect(page.locator("#pane-channel")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= 400")
