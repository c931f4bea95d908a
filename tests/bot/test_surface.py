"""The desk on the local workspace: what is posted, where, how often, and what becomes of it when Slack has a bad day."""

import json
from dataclasses import replace

import pytest

from bot.cards.ticket import THREAD_NOTE
from host.port import DeliveryUnknown, Undelivered
from host.types import OutboxKind, QuestionKind, QuestionState

pytestmark = pytest.mark.anyio


def of(messages, key):
    """The messages that are this card."""
    return [m for m in messages if (m.get("metadata") or {}).get("event_payload", {}).get("key") == key]


async def test_a_ticket_stands_in_the_channel_and_its_threads_first_line_warns(office, views):
    receipt = await office.post(views.ticket_view())
    card, note = await office.messages()
    assert (card["ts"], card.get("thread_ts")) == (receipt["ts"], receipt["ts"])
    assert note["thread_ts"] == card["ts"]
    assert note["text"] == THREAD_NOTE
    assert receipt["note"] == note["ts"]


async def test_a_ticket_drawn_again_is_the_same_message_and_warns_no_second_time(office, views):
    await office.post(views.ticket_view())
    await office.post(views.ticket_view(line="Being worked now."))
    messages = await office.messages()
    assert len(messages) == 2
    assert "Being worked now." in json.dumps(messages[0]["blocks"])
    assert messages[0]["metadata"]["event_payload"] == {"key": "ticket:T-0004", "version": 2}


async def test_everything_else_goes_into_the_tickets_thread(office, views):
    ticket = await office.post(views.ticket_view())
    await office.post(views.draft())
    [draft] = of(await office.messages(), "question:q00c0ffee00c0ffee")
    assert draft["thread_ts"] == ticket["ts"]


async def test_a_leads_question_shows_in_the_channel_too(office, views):
    await office.post(views.ticket_view())
    await office.post(views.question_view(QuestionKind.INPUT_REQUEST))
    await office.post(views.draft(question=views.question(QuestionKind.SIGN_OFF, id="q2")))
    broadcast = [call for call in (await office.state())["calls"] if call.get("method") == "chat.postMessage"]
    assert [bool(call["args"].get("reply_broadcast")) for call in broadcast[-2:]] == [True, False]


async def test_a_question_waits_for_its_tickets_card(office, views):
    office.host.put(views.question_view())
    with pytest.raises(Undelivered, match="not in the channel yet"):
        await office.desk.deliver(office.item("question:q00c0ffee00c0ffee"))


async def test_a_progress_message_stands_in_the_channel(office, views):
    await office.post(views.progress())
    [message] = await office.messages()
    assert "thread_ts" not in message
    assert "12 of 48" in message["text"]


async def test_a_decided_question_is_redrawn_in_place_without_buttons(office, views):
    await office.post(views.ticket_view())
    await office.post(views.question_view())
    await office.post(views.question_view(question=views.question(state=QuestionState.EXPIRED)))
    [card] = of(await office.messages(), "question:q00c0ffee00c0ffee")
    assert "nobody answered, nothing ran" in json.dumps(card["blocks"])
    assert not [block for block in card["blocks"] if block["type"] == "actions"]


async def test_block_ids_differ_between_versions(office, views):
    await office.post(views.ticket_view())
    first = {block["block_id"] for block in (await office.messages())[0]["blocks"]}
    await office.post(views.ticket_view())
    second = {block["block_id"] for block in (await office.messages())[0]["blocks"]}
    assert not first & second


async def test_a_card_deleted_in_slack_is_posted_again(office, views):
    await office.post(views.ticket_view())
    card = await office.post(views.question_view())
    await office.ok("delete", user="U_ADA", ts=card["ts"])
    again = await office.post(views.question_view())
    assert again["ts"] != card["ts"]
    assert len(of(await office.messages(), "question:q00c0ffee00c0ffee")) == 1


async def test_a_connection_dropped_after_slack_took_the_card_leaves_one_message(office, views):
    """The first attempt may have arrived; the second finds it by its key and updates it."""
    await office.post(views.ticket_view())
    key = office.host.put(views.question_view())
    await office.ok("fault", kind="drop_after", method="chat.postMessage")
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(office.item(key))
    receipt = await office.desk.deliver(office.item(key, uncertain=True, attempts=1))
    [card] = of(await office.messages(), key)
    assert receipt["ts"] == card["ts"]
    assert card["metadata"]["event_payload"]["version"] == office.version


async def test_a_ticket_card_whose_posting_was_cut_off_is_found_in_the_channel(office, views):
    key = office.host.put(views.ticket_view())
    await office.ok("fault", kind="drop_after", method="chat.postMessage")
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(office.item(key))
    office.host.receipts[key] = await office.desk.deliver(office.item(key, uncertain=True, attempts=1))
    messages = await office.messages()
    assert len(of(messages, key)) == 1
    assert [m["text"] for m in messages[1:]] == [THREAD_NOTE]


async def test_a_connection_dropped_before_slack_took_the_card_leads_to_one_message_too(office, views):
    await office.post(views.ticket_view())
    key = office.host.put(views.question_view())
    await office.ok("fault", kind="drop_before", method="chat.postMessage")
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(office.item(key))
    await office.desk.deliver(office.item(key, uncertain=True, attempts=1))
    assert len(of(await office.messages(), key)) == 1


async def test_when_it_cannot_be_looked_up_nothing_is_posted_again(office, views):
    await office.post(views.ticket_view())
    key = office.host.put(views.question_view())
    await office.ok("fault", kind="http_500", method="conversations.replies", times=3)
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(office.item(key, uncertain=True, attempts=1))
    assert of(await office.messages(), key) == []


async def test_a_failed_thread_note_is_made_good_at_the_next_change(office, views):
    key = office.host.put(views.ticket_view())
    receipt = await _with_a_note_that_fails(office, key)
    assert "note" not in receipt
    office.host.receipts[key] = receipt
    again = await office.desk.deliver(office.item(key))
    assert again["note"]
    assert [m["text"] for m in (await office.messages())[1:]] == [THREAD_NOTE]


async def _with_a_note_that_fails(office, key):
    """Only the thread's first line fails: its card was posted a moment before."""
    receipt = dict(await office.desk.deliver(office.item(key)))
    await office.ok("delete", user="U_ADA", ts=receipt.pop("note"))
    return receipt


@pytest.mark.parametrize("error", ["invalid_blocks", "msg_blocks_too_long"])
async def test_a_card_that_slack_finds_unfit_is_shown_bare_and_cannot_be_decided(office, views, error):
    await office.post(views.ticket_view())
    await office.ok("fault", kind="error", method="chat.postMessage", error=error)
    await office.post(views.question_view())
    [card] = of(await office.messages(), "question:q00c0ffee00c0ffee")
    assert "Refund 343.49 EUR on order O-1145" in json.dumps(card["blocks"])
    assert "can't be decided here" in json.dumps(card["blocks"])
    assert not [block for block in card["blocks"] if block["type"] == "actions"]


async def test_being_slowed_down_says_for_how_long(office, views):
    key = office.host.put(views.ticket_view())
    await office.ok("fault", kind="ratelimited", method="chat.postMessage", seconds=7)
    with pytest.raises(Undelivered) as refused:
        await office.desk.deliver(office.item(key))
    assert refused.value.retry_after == 7.0
    assert await office.messages() == []


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("not_in_channel", "/invite"),
        ("channel_not_found", "deskhand.toml"),
        ("invalid_auth", "SLACK_BOT_TOKEN"),
        ("is_archived", "unarchive"),
    ],
)
async def test_what_slack_refuses_for_good_says_what_to_do(office, views, error, advice):
    key = office.host.put(views.ticket_view())
    await office.ok("fault", kind="error", method="chat.postMessage", error=error)
    with pytest.raises(Undelivered, match=advice):
        await office.desk.deliver(office.item(key))


async def refused(office, key, **changes):
    with pytest.raises(Undelivered) as error:
        await office.desk.deliver(office.item(key, **changes))
    return error.value


@pytest.mark.parametrize("kind", [QuestionKind.CONSENT, QuestionKind.INPUT_REQUEST])
async def test_a_question_that_slack_goes_on_refusing_is_given_up_after_ten_minutes_and_said_loudly(office, views, caplog, kind):
    await office.post(views.ticket_view())
    key = office.host.put(views.question_view(kind))
    await office.ok("fault", kind="error", method="chat.postMessage", error="is_archived", times=9)
    assert not (await refused(office, key)).final
    assert "slack_refuses kind=question: the channel is archived: unarchive it" in caplog.text
    office.minutes.now = 9
    assert not (await refused(office, key)).final
    assert caplog.text.count("slack_refuses") == 1
    office.minutes.now = 10
    last = await refused(office, key)
    assert last.final
    assert "archived" in str(last)


async def test_a_question_that_was_brought_out_meanwhile_has_its_ten_minutes_anew(office, views):
    await office.post(views.ticket_view())
    key = office.host.put(views.question_view())
    await office.ok("fault", kind="error", method="chat.postMessage", error="not_in_channel")
    await refused(office, key)
    office.minutes.now = 30
    await office.desk.deliver(office.item(key))
    await office.ok("fault", kind="error", method="chat.postMessage", error="not_in_channel")
    assert not (await refused(office, key)).final


async def test_what_may_have_been_seen_what_waits_for_no_call_and_the_ticket_itself_are_never_given_up(office, views):
    ticket = office.host.put(views.ticket_view())
    await office.post(views.ticket_view())
    seen, draft = (
        office.host.put(views.question_view()),
        office.host.put(views.draft(question=views.question(QuestionKind.SIGN_OFF, id="q2"))),
    )
    await office.ok("fault", kind="error", method="chat.postMessage", error="not_in_channel", times=9)
    await office.ok("fault", kind="error", method="conversations.replies", error="not_in_channel", times=9)
    for office.minutes.now in (0, 60):
        assert not (await refused(office, seen, uncertain=True)).final
        assert not (await refused(office, draft)).final
        assert not (await refused(office, ticket, receipt=None)).final


async def test_a_question_whose_tickets_card_cannot_come_is_given_up_too(office, views):
    ticket, key = office.host.put(views.ticket_view()), office.host.put(views.question_view())
    for office.minutes.now in (0, 60):
        assert not (await refused(office, key)).final, "the ticket's card may come any moment"
    await office.ok("fault", kind="error", method="chat.postMessage", error="channel_not_found", times=9)
    await refused(office, ticket)
    assert not (await refused(office, key)).final
    office.minutes.now = 70
    assert (await refused(office, key)).final


async def test_a_message_is_never_unfurled_or_parsed(office, views):
    await office.post(views.ticket_view())
    posts = [call["args"] for call in (await office.state())["calls"] if call.get("method") == "chat.postMessage"]
    assert posts
    for post in posts:
        assert (post["unfurl_links"], post["unfurl_media"], post["parse"]) == (False, False, "none")


async def test_a_ticket_that_wants_to_mention_and_link_is_shown_as_it_was_written(office, views):
    body = "<!channel> refund me <@U123> &amp;lt; https://x.example"
    await office.post(views.ticket_view(ticket=views.ticket(body=body, subject=body)))
    card = (await office.messages())[0]
    assert body in [
        part["text"] for block in card["blocks"] if block["type"] == "rich_text" for part in _parts(block) if "text" in part
    ]
    assert "<!channel>" not in card["text"]
    assert {part["type"] for block in card["blocks"] if block["type"] == "rich_text" for part in _parts(block)} <= {
        "text",
        "date",
    }


def _parts(block):
    return [part for row in block["elements"] for part in row["elements"]]


async def test_a_notice_goes_to_the_thread_and_a_private_one_to_its_person(office, views):
    ticket = await office.post(views.ticket_view())
    await office.desk.deliver(
        office.item("notice:1", kind=OutboxKind.NOTICE, payload={"text": "Half the time is over.", "roles": ["lead"]})
    )
    await office.desk.deliver(
        office.item("notice:2", kind=OutboxKind.NOTICE, payload={"text": "Only you see this.", "user": "U_MAYA"})
    )
    [notice] = of(await office.messages(), "notice:1")
    assert notice["thread_ts"] == ticket["ts"]
    assert {"type": "user", "user_id": "U_LEA"} in _parts(notice["blocks"][0])
    assert (await office.told("U_MAYA", "Only you see this."))["to"] == "U_MAYA"


async def test_a_changed_tool_stands_in_the_channel_itself_and_mentions_an_admin_once(office, views):
    view = views.changed_tool()
    await office.post(view)
    await office.post(replace(view, question=replace(view.question, state=QuestionState.EXPIRED)))
    [card] = await office.messages()
    assert card.get("thread_ts") in (None, card["ts"])
    assert "the tool stays off" in json.dumps(card["blocks"])
    posts = [call for call in (await office.state())["calls"] if call.get("method") == "chat.postMessage"]
    assert json.dumps(posts).count("U_ADA") == 1


# Reminders and other notices (spec H20, H31)


def reminder(office, number=1, **changes):
    payload = {"question": "q00c0ffee00c0ffee", "roles": ["staff", "lead"], "number": number}
    return office.item(f"reminder:q00c0ffee00c0ffee:{number}", kind=OutboxKind.NOTICE, payload=payload, **changes)


async def test_a_reminder_is_a_message_of_its_own_in_the_thread_and_an_overdue_one_shows_in_the_channel(office, views):
    ticket = await office.post(views.ticket_view())
    await office.post(views.question_view())
    for number in (1, 2):
        await office.desk.deliver(reminder(office, number))
    found = [of(await office.messages(), f"reminder:q00c0ffee00c0ffee:{n}") for n in (1, 2)]
    assert [len(one) for one in found] == [1, 1]
    for [message] in found:
        assert message["thread_ts"] == ticket["ts"]
        assert {"type": "user", "user_id": "U_MAYA"} in [p for b in message["blocks"] for p in _parts(b)]
    posts = [call["args"] for call in (await office.state())["calls"] if call.get("method") == "chat.postMessage"]
    assert [bool(post.get("reply_broadcast")) for post in posts[-2:]] == [False, True]
    assert not any(post["unfurl_links"] or post["unfurl_media"] for post in posts)


async def test_a_question_that_has_its_end_is_not_reminded_of(office, views):
    await office.post(views.ticket_view())
    await office.post(views.question_view(question=views.question(state=QuestionState.EXPIRED)))
    before = len(await office.messages())
    assert "has its end" in (await office.desk.deliver(reminder(office)))["receipt"]
    office.host.cards.clear()
    assert "has its end" in (await office.desk.deliver(reminder(office)))["receipt"]
    assert len(await office.messages()) == before


@pytest.mark.parametrize("fault", ["drop_after", "drop_before"])
async def test_a_reminder_whose_posting_was_cut_off_is_one_message(office, views, fault):
    await office.post(views.ticket_view())
    await office.post(views.question_view())
    await office.ok("fault", kind=fault, method="chat.postMessage")
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(reminder(office))
    await office.desk.deliver(reminder(office, uncertain=True, attempts=1))
    assert len(of(await office.messages(), "reminder:q00c0ffee00c0ffee:1")) == 1


async def test_a_reminder_that_slack_put_off_is_tried_again_after_what_slack_said(office, views):
    await office.post(views.ticket_view())
    await office.post(views.question_view())
    await office.ok("fault", kind="ratelimited", method="chat.postMessage", seconds=7)
    with pytest.raises(Undelivered) as refused:
        await office.desk.deliver(reminder(office))
    assert refused.value.retry_after == 7.0
    await office.desk.deliver(reminder(office, attempts=1))
    assert len(of(await office.messages(), "reminder:q00c0ffee00c0ffee:1")) == 1


async def test_the_days_head_goes_to_the_channel_itself(office):
    words = "Journal of 2026-06-01: 12 chains, head 5f2b<!channel>."
    await office.desk.deliver(office.item("head:2026-06-01", kind=OutboxKind.NOTICE, payload={"text": words}, ticket_id=""))
    [message] = await office.messages()
    assert message["text"] == "Journal of 2026-06-01: 12 chains, head 5f2b&lt;!channel&gt;."
    assert "thread_ts" not in message


MAIL = {"question_id": "q2", "run_id": "r1", "to": "tom.ashworth@example.com", "subject": "Mixer dead", "text": "Dear Tom"}


async def test_a_reply_leaves_through_the_mailroom_once(office):
    item = office.item("mail:q2", kind=OutboxKind.MAIL, payload=MAIL)
    first = await office.desk.deliver(item)
    assert await office.desk.deliver(item) == first
    [letter] = [json.loads(path.read_text("utf-8")) for path in _files(office.sent)]
    assert (letter["to"], letter["subject"], letter["body"]) == ("tom.ashworth@example.com", "Re: Mixer dead", "Dear Tom")
    assert letter["receipt"] == first["receipt"]


async def test_a_reply_that_may_have_left_is_only_looked_for(office):
    item = office.item("mail:q2", kind=OutboxKind.MAIL, payload=MAIL, uncertain=True)
    with pytest.raises(DeliveryUnknown):
        await office.desk.deliver(item)
    assert _files(office.sent) == []
    sent = await office.desk.deliver(office.item("mail:q2", kind=OutboxKind.MAIL, payload=MAIL))
    assert await office.desk.deliver(item) == sent


async def test_a_reply_to_nobody_is_refused_for_good(office):
    with pytest.raises(Undelivered, match="has no to") as refused:
        await office.desk.deliver(office.item("mail:q2", kind=OutboxKind.MAIL, payload={**MAIL, "to": ""}))
    assert refused.value.final


def _files(folder):
    return sorted(folder.glob("*.json")) if folder.exists() else []
