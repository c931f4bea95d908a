"""Presses, forms and commands over real Socket Mode, on the local workspace."""

import time

import anyio
import pytest
from slack_bolt.async_app import AsyncApp

from bot.app import SocketRunner
from bot.cards import ids
from bot.roles import RoleLists
from host.types import Actor, Flag, QuestionKind, QuestionState, Run, RunState

pytestmark = pytest.mark.anyio


async def test_an_approval_reaches_the_host_with_the_person_who_gave_it(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        assert (await office.press("U_MAYA", card, ids.CONSENT_APPROVE))["ok"]
        await office.background.drain()
    [(question_id, actor, answer)] = office.host.answers
    assert (question_id, answer.action) == ("q00c0ffee00c0ffee", "approve")
    assert (actor.subject, actor.user, actor.roles) == ("staff-0007", "U_MAYA", frozenset({"staff"}))


@pytest.mark.parametrize(
    ("user", "words"), [("U_ADA", "Only a lead"), ("U_GUS", "Guests"), ("U_SOL", "not set up for your workspace (T2)")]
)
async def test_the_wrong_person_is_told_so_alone_and_nothing_is_decided(office, views, user, words):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.press(user, card, ids.CONSENT_APPROVE)
        told = await office.told(user, words)
    assert told["to"] == user
    assert office.host.answers == []


async def test_nobody_configured_means_that_nobody_may_and_a_word_about_it(office, views):
    async with office.running(RoleLists(teams=frozenset({"T1"}))):
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "Only a lead")
    assert office.host.answers == []


async def test_of_two_quick_presses_one_counts_and_the_other_is_told_who(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.press("U_LEA", card, ids.CONSENT_APPROVE)
        await office.told("U_LEA", "Already decided by Maya Okafor")
    assert len(office.host.answers) == 1


async def test_a_decline_carries_its_reason(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.press("U_MAYA", card, ids.CONSENT_DECLINE)
        form = await office.form("U_MAYA", ids.FORM_CONSENT_DECLINE)
        assert form["private_metadata"] == "q00c0ffee00c0ffee"
        empty = await office.do("submit", user="U_MAYA", values={"f0": {ids.FIELD: "   "}})
        assert empty["errors"] == {"f0": "Please write a few words."}
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "Not before the goods are back"}})
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    [(_, _, answer)] = office.host.answers
    assert (answer.action, answer.reason) == ("decline", "Not before the goods are back")


async def test_a_form_is_opened_only_for_somebody_who_may_answer(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST))
        await office.press("U_MAYA", card, ids.INPUT_ANSWER)
        await office.form("U_MAYA", ids.FORM_WORDS, "Only a lead")


async def test_a_lead_fills_the_servers_form_and_its_content_reaches_the_host(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST))
        await office.press("U_LEA", card, ids.INPUT_ANSWER)
        await office.form("U_LEA", ids.FORM_INPUT, "Release the refund?")
        await office.ok("submit", user="U_LEA", values={"f0": {ids.FIELD: "true"}})
        await office.form("U_LEA", ids.FORM_WORDS, "Taken.")
    [(_, actor, answer)] = office.host.answers
    assert (actor.user, answer.action, answer.content) == ("U_LEA", "accept", {"release": True})


async def test_an_ambiguous_amount_is_refused_beside_its_field(office, views):
    schema = {"type": "object", "properties": {"amount": {"type": "number", "title": "Amount"}}, "required": ["amount"]}
    question = views.question(QuestionKind.INPUT_REQUEST)
    question = views.question(QuestionKind.INPUT_REQUEST, payload={**question.payload, "schema": schema})
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST, question=question))
        await office.press("U_LEA", card, ids.INPUT_ANSWER)
        await office.form("U_LEA", ids.FORM_INPUT)
        for typed in ("2.614", "6,95"):
            answer = await office.do("submit", user="U_LEA", values={"f0": {ids.FIELD: typed}})
            assert "two ways" in answer["errors"]["f0"]
        await office.ok("submit", user="U_LEA", values={"f0": {ids.FIELD: "2614.00"}})
        await office.form("U_LEA", ids.FORM_WORDS)
    assert office.host.answers[0][2].content == {"amount": 2614.0}


async def test_a_form_opens_again_after_a_reload_and_its_late_submit_is_answered_in_words(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST))
        await office.press("U_LEA", card, ids.INPUT_ANSWER)
        old = await office.form("U_LEA", ids.FORM_INPUT)
        await office.ok("reload", user="U_LEA")
        await office.press("U_LEA", card, ids.INPUT_ANSWER)
        await office.form("U_LEA", ids.FORM_INPUT)
        await office.ok("submit", user="U_LEA", values={"f0": {ids.FIELD: "true"}})
        await office.form("U_LEA", ids.FORM_WORDS, "Taken.")
        late = {"user": "U_LEA", "view_id": old["id"], "values": {"f0": {ids.FIELD: "false"}}, "late": True}
        await office.ok("submit", **late)
        await office.told("U_LEA", "Already decided by Lea Brandt")
    assert len(office.host.answers) == 1


async def test_an_edited_reply_that_does_not_pass_comes_back_as_it_was_typed(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.draft())
        await office.press("U_MAYA", card, ids.DRAFT_EDIT)
        form = await office.form("U_MAYA", ids.FORM_DRAFT_EDIT)
        assert form["blocks"][0]["element"]["initial_value"] == views.draft().text
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "Dear Tom,\n\nit is done."}})
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    assert office.host.answers[0][2].text == "Dear Tom,\n\nit is done."


async def test_sending_a_flagged_draft_where_that_needs_confirming_says_so_to_the_host(office, views):
    flag = Flag("We have refunded 343.49 EUR.", "no refund ran", "action")
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.draft(flags=(flag,), on_flag="confirm"))
        await office.press("U_MAYA", card, ids.DRAFT_SEND_CONFIRMED)
        await office.background.drain()
    assert office.host.answers[0][2].content == {"confirmed": True}


async def test_an_expired_question_answers_a_press_in_words(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        office.host.put(views.question_view(question=views.question(state=QuestionState.EXPIRED)))
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "expired, nothing ran")


async def test_a_question_that_no_longer_exists_is_answered_in_words(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        office.host.cards.clear()
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "no longer exists")


async def test_a_button_of_another_version_is_answered_in_words(office):
    button = {"type": "button", "action_id": "from.the.past", "text": {"type": "plain_text", "text": "Old"}, "value": "x"}
    async with office.running():
        posted = await office.made.poster.chat_postMessage(
            channel="C_SUPPORT", text="old", blocks=[{"type": "actions", "elements": [button]}]
        )
        await office.press("U_MAYA", posted, "from.the.past")
        await office.told("U_MAYA", "does not know this control")


async def test_a_handler_that_fails_right_after_its_acknowledgement_is_still_acknowledged(office, views):
    office.host.breaks = RuntimeError
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        pressed = await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        assert pressed["ok"], pressed
        await office.told("U_MAYA", "Something went wrong here (RuntimeError)")
        envelope = (await office.ok("wait", what="envelope", text=ids.CONSENT_APPROVE))["envelope"]
    assert envelope["state"] == "acked"


async def test_a_press_is_acknowledged_at_once_while_slack_itself_is_slow(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("fault", kind="delay", method="users.info", seconds=2.0)
        before = time.monotonic()
        assert (await office.press("U_MAYA", card, ids.CONSENT_APPROVE))["ok"]
        assert time.monotonic() - before < 1.0


async def test_when_slack_cannot_say_who_is_a_guest_nobody_counts(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("fault", kind="error", method="users.info", error="missing_scope")
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "could not ask Slack whether you are a guest (missing_scope)")
    assert office.host.answers == []


async def test_an_expired_trigger_is_told_in_words(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("fault", kind="expired_trigger")
        await office.press("U_MAYA", card, ids.CONSENT_DECLINE)
        await office.told("U_MAYA", "press again")


async def test_a_run_that_is_under_way_is_stopped_on_its_card_and_by_admins_alone(office, views):
    lea = Actor("staff-0002", "U_LEA", "Lea Brandt", frozenset({"lead"}))
    run = Run("r1", "T-0004", RunState.WAITING, lea, views.ticket().received_at)
    async with office.running():
        card = await office.post(views.ticket_view(run=run))
        await office.press("U_MAYA", card, ids.TICKET_STOP)
        await office.told("U_MAYA", "You may not stop")
        await office.press("U_ADA", card, ids.TICKET_STOP)
        await office.told("U_ADA", "stop T-0004 begun")
    assert [(what, on) for what, on, _ in office.host.did] == [("stop", "T-0004")]


@pytest.mark.parametrize(
    ("user", "text", "did"),
    [
        ("U_ADA", "run all", ("run", "None")),
        ("U_ADA", "run 5", ("run", "5")),
        ("U_ADA", "run", ("run", "None")),
        ("U_MAYA", "run T-0004", ("work", "T-0004")),
        ("U_ADA", "stop", ("stop", "")),
        ("U_ADA", "stop T-0009", ("stop", "T-0009")),
        ("U_ADA", "freeze partner", ("freeze", "partner")),
        ("U_ADA", "unfreeze partner", ("unfreeze", "partner")),
    ],
)
async def test_the_command_asks_the_host_and_shows_its_words(office, user, text, did):
    async with office.running():
        await office.ok("slash", user=user, command="/deskhand", text=text)
        await office.told(user, "begun")
    assert [(what, on) for what, on, _ in office.host.did] == [did]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "run [n | all | T-0009]"),
        ("help", "freeze SERVER"),
        ("status", "partner"),
        ("tools", "shop.find_orders"),
        ("dance <!channel>", "is not a command"),
        ("run 0", "is not a number of tickets"),
        ("run all", "You may not run"),
    ],
)
async def test_the_command_answers_whatever_is_typed(office, text, words):
    async with office.running():
        await office.ok("slash", user="U_MAYA", command="/deskhand", text=text)
        told = await office.told("U_MAYA", words)
    assert told["to"] == "U_MAYA"
    assert office.host.did == []


async def test_work_this_starts_the_ticket(office, views):
    async with office.running():
        card = await office.post(views.ticket_view())
        await office.press("U_MAYA", card, ids.TICKET_WORK)
        await office.told("U_MAYA", "work T-0004 begun")


async def test_somebody_outside_the_channel_still_gets_their_answer(office, views):
    """By the payload's own address, where the bot may not post to them."""
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("fault", kind="error", method="chat.postEphemeral", error="user_not_in_channel")
        await office.press("U_ADA", card, ids.CONSENT_APPROVE)
        await office.told("U_ADA", "Only a lead")


async def test_bolt_itself_loses_the_acknowledgement_of_a_listener_that_raises(office):
    """Why every handler works in a task of its own: this is red the day Bolt mends it, and then the detour may go."""
    app = AsyncApp(client=office.made.web)

    @app.action("raises")
    async def raises(ack):
        await ack()
        raise RuntimeError("at once")

    button = {"type": "button", "action_id": "raises", "text": {"type": "plain_text", "text": "Go"}, "value": "x"}
    posted = await office.made.poster.chat_postMessage(
        channel="C_SUPPORT", text="x", blocks=[{"type": "actions", "elements": [button]}]
    )

    await office.ok("settings", ack_seconds=0.5)
    runner = SocketRunner(app, office.access, look_seconds=0.02)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runner.run)
        await office.ok("wait", what="connected")
        pressed = await office.press("U_MAYA", posted, "raises")
        runner.stop()
    assert not pressed["ok"]


async def test_an_envelope_that_comes_twice_decides_once(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.ok("fault", kind="duplicate_envelope")
        await office.press("U_MAYA", card, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "Already decided by Maya Okafor")
    assert len(office.host.answers) == 1


async def test_of_two_questions_in_one_thread_a_press_decides_its_own(office, views):
    first, second = views.question(id="qa"), views.question(id="qb")
    async with office.running():
        await office.post(views.ticket_view())
        old = await office.post(views.question_view(question=first))
        new = await office.post(views.question_view(question=second))
        await office.press("U_MAYA", new, ids.CONSENT_APPROVE)
        office.host.put(views.question_view(question=views.question(id="qa", state=QuestionState.EXPIRED)))
        await office.press("U_MAYA", old, ids.CONSENT_APPROVE)
        await office.told("U_MAYA", "expired, nothing ran")
    assert [question_id for question_id, _, _ in office.host.answers] == ["qb"]


async def test_an_edited_argument_goes_to_the_host_as_edited(office, views):
    question = views.question(payload={**views.question().payload, "may_edit": ["quote_id"]})
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(question=question))
        await office.press("U_MAYA", card, ids.CONSENT_EDIT)
        await office.form("U_MAYA", ids.FORM_CONSENT_EDIT)
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "Q-ffffffffff"}})
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    assert office.host.answers[0][2].content == {"quote_id": "Q-ffffffffff"}


@pytest.mark.parametrize("words", ["2.614 can be read in two ways: write 2614 or 2.61", "over what the order is worth"])
async def test_an_edit_that_the_host_does_not_take_comes_back_with_the_reason_beside_its_field(office, views, words):
    payload = {**views.question().payload, "arguments": {"amount": 2614.5, "reason": "broken"}, "may_edit": ["amount", "reason"]}
    office.host.refuses = {"amount": words}
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(question=views.question(payload=payload)))
        await office.press("U_MAYA", card, ids.CONSENT_EDIT)
        await office.form("U_MAYA", ids.FORM_CONSENT_EDIT)
        empty = await office.do("submit", user="U_MAYA", values={"f0": {ids.FIELD: ""}, "f1": {ids.FIELD: "broken"}})
        assert not empty["ok"]
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "2.614"}, "f1": {ids.FIELD: "broken"}})
        form = await office.form("U_MAYA", ids.FORM_CONSENT_EDIT, words)
        kinds = [block["type"] for block in form["blocks"]]
        assert kinds == ["rich_text", "input", "rich_text", "input"]
        assert form["blocks"][1]["element"]["initial_value"] == "2.614"
        assert f"amount: {words}" in str(form["blocks"][2])
        office.host.refuses = {}
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "2614"}, "f1": {ids.FIELD: "broken"}})
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    assert office.host.answers[0][2].content == {"amount": "2614"}


async def test_an_argument_too_long_for_a_field_is_not_offered_for_editing_and_never_cut(office, views):
    payload = {**views.question().payload, "arguments": {"reason": "x" * 3_001, "sku": "KG-1008"}, "may_edit": ["reason", "sku"]}
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(question=views.question(payload=payload)))
        await office.press("U_MAYA", card, ids.CONSENT_EDIT)
        await office.form("U_MAYA", ids.FORM_CONSENT_EDIT, "Too long to be edited here: reason")
        await office.ok("submit", user="U_MAYA", values={"f0": {ids.FIELD: "KG-1011"}})
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    assert office.host.answers[0][2].content == {"sku": "KG-1011"}


async def test_the_first_of_two_leaves_the_button_for_another_and_may_not_press_it_twice(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(question=views.two_leads(approvals=())))
        await office.press("U_LEA", card, ids.CONSENT_APPROVE)
        await office.background.drain()
        card = await office.post(await office.host.card("question:q00c0ffee00c0ffee"))
        [shown] = [m for m in await office.messages() if m["ts"] == card["ts"]]
        assert "1 of 2 approvals" in str(shown["blocks"])
        await office.press("U_LEA", card, ids.CONSENT_APPROVE)
        await office.told("U_LEA", "You approved this already: it needs 2 different people.")
        await office.press("U_IVO", card, ids.CONSENT_APPROVE)
        await office.background.drain()
    assert [actor.user for _, actor, _ in office.host.answers] == ["U_IVO"]


async def test_agreeing_to_open_an_address_is_an_answer_without_content_and_asks_once_more(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST, question=views.address()))
        unsure = await office.do("click", user="U_LEA", ts=card["ts"], action_id=ids.INPUT_OPEN)
        assert unsure["error"] == "needs_confirm"
        await office.press("U_MAYA", card, ids.INPUT_OPEN)
        await office.told("U_MAYA", "Only a lead")
        await office.press("U_LEA", card, ids.INPUT_OPEN)
        await office.background.drain()
    [(_, actor, answer)] = office.host.answers
    assert (actor.user, answer.action, answer.content) == ("U_LEA", "accept", {})


async def test_a_changed_tool_is_accepted_by_an_admin_after_a_dialog_and_refused_to_others_in_words(office, views):
    async with office.running():
        card = await office.post(views.changed_tool())
        assert (await office.do("click", user="U_ADA", ts=card["ts"], action_id=ids.TOOL_ACCEPT))["error"] == "needs_confirm"
        await office.press("U_MAYA", card, ids.TOOL_ACCEPT)
        await office.told("U_MAYA", "Only a lead may decide this.")
        await office.press("U_MAYA", card, ids.QUESTION_DETAILS)
        await office.form("U_MAYA", ids.FORM_WORDS, "argument customer_email is new")
        await office.press("U_ADA", card, ids.TOOL_ACCEPT)
        await office.background.drain()
    assert [(actor.user, answer.action) for _, actor, answer in office.host.answers] == [("U_ADA", "accept")]


@pytest.mark.parametrize("state", [QuestionState.SUPERSEDED, QuestionState.CANCELLED, QuestionState.UNDELIVERABLE])
async def test_a_stale_press_on_any_ended_question_gets_words(office, views, state):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view(QuestionKind.INPUT_REQUEST))
        office.host.put(
            views.question_view(QuestionKind.INPUT_REQUEST, question=views.question(QuestionKind.INPUT_REQUEST, state=state))
        )
        await office.press("U_LEA", card, ids.INPUT_DECLINE)
        await office.told("U_LEA", f"This question is {state.value}")
    assert office.host.answers == []


# Documents for one ticket (spec H23)


@pytest.mark.parametrize(
    ("text", "did"),
    [
        ("run T-0004 with shop://policies/escalation", "T-0004 + shop://policies/escalation"),
        (
            "run T-0004 with shop://policies/refund, shop://policies/escalation",
            "T-0004 + shop://policies/refund + shop://policies/escalation",
        ),
        ("run T-0004 with <shop://policies/refund|shop://policies/refund>", "T-0004 + shop://policies/refund"),
    ],
)
async def test_the_command_names_documents_for_one_ticket(office, text, did):
    async with office.running():
        await office.ok("slash", user="U_MAYA", command="/deskhand", text=text)
        await office.told("U_MAYA", "begun")
    assert [(what, on) for what, on, _ in office.host.did] == [("work", did)]


async def test_with_nothing_behind_it_lists_what_may_stand_there(office):
    async with office.running():
        await office.ok("slash", user="U_MAYA", command="/deskhand", text="run T-0004 with")
        await office.told("U_MAYA", "shop://policies/escalation, or shop://policies/refund")
    assert office.host.did == []


async def test_a_ticket_is_worked_with_the_documents_that_a_person_chose(office, views):
    async with office.running():
        card = await office.post(views.ticket_view())
        await office.press("U_MAYA", card, ids.TICKET_WORK_WITH)
        form = await office.form("U_MAYA", ids.FORM_TICKET_WORK)
        options = {one["text"]["text"]: one["value"] for one in form["blocks"][0]["element"]["options"]}
        assert list(options) == ["shop: shop://policies/escalation", "shop: shop://policies/refund"]
        assert (await office.do("submit", user="U_MAYA", values={}))["error"] == "fields"
        chosen = {ids.RESOURCES: {ids.RESOURCES: [options["shop: shop://policies/escalation"]]}}
        await office.ok("submit", user="U_MAYA", values=chosen)
        await office.form("U_MAYA", ids.FORM_WORDS, "begun")
    assert [(what, on) for what, on, _ in office.host.did] == [("work", "T-0004 + shop://policies/escalation")]


async def test_many_documents_are_a_select_that_says_how_to_name_the_rest(office, views):
    office.host.listed = {f"shop://policies/{'very-long-' * 12}{n:03}": "shop" for n in range(130)}
    async with office.running():
        card = await office.post(views.ticket_view())
        await office.press("U_MAYA", card, ids.TICKET_WORK_WITH)
        form = await office.form("U_MAYA", ids.FORM_TICKET_WORK, "30 more can be named in the command")
        element = form["blocks"][0]["element"]
        assert (element["type"], len(element["options"])) == ("multi_static_select", 100)
        assert element["options"][7]["text"]["text"].endswith("007")
        values = [option["value"] for option in element["options"][:2]]
        await office.ok("submit", user="U_MAYA", values={ids.RESOURCES: {ids.RESOURCES: values}})
        await office.form("U_MAYA", ids.FORM_WORDS, "begun")
    [(_, on, _)] = office.host.did
    assert on.count("shop://policies/") == 2


async def test_a_document_that_is_no_longer_listed_starts_nothing(office, views):
    async with office.running():
        card = await office.post(views.ticket_view())
        await office.press("U_MAYA", card, ids.TICKET_WORK_WITH)
        form = await office.form("U_MAYA", ids.FORM_TICKET_WORK)
        value = form["blocks"][0]["element"]["options"][0]["value"]
        office.host.listed = {"shop://policies/refund": "shop"}
        await office.ok("submit", user="U_MAYA", values={ids.RESOURCES: {ids.RESOURCES: [value]}})
        await office.form("U_MAYA", ids.FORM_WORDS, "no longer listed")
    assert office.host.did == []


async def test_where_no_server_lists_a_document_it_says_so(office, views):
    office.host.listed = {}
    async with office.running():
        card = await office.post(views.ticket_view())
        await office.press("U_MAYA", card, ids.TICKET_WORK_WITH)
        await office.form("U_MAYA", ids.FORM_WORDS, "No server lists a document")


async def test_work_again_takes_a_hint_and_documents(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.draft())
        await office.press("U_MAYA", card, ids.DRAFT_AGAIN)
        form = await office.form("U_MAYA", ids.FORM_DRAFT_AGAIN)
        value = form["blocks"][1]["element"]["options"][0]["value"]
        await office.ok(
            "submit", user="U_MAYA", values={"f0": {ids.FIELD: "look at the policy"}, ids.RESOURCES: {ids.RESOURCES: [value]}}
        )
        await office.form("U_MAYA", ids.FORM_WORDS, "Taken.")
    [(_, _, answer)] = office.host.answers
    assert (answer.action, answer.reason) == ("work_again", "look at the policy")
    assert answer.content == {"resources": ["shop://policies/escalation"]}


async def test_details_show_every_argument_whole_to_whoever_asks(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.question_view())
        await office.press("U_ADA", card, ids.QUESTION_DETAILS)
        await office.form("U_ADA", ids.FORM_WORDS, "All lines at their price")


async def test_the_call_log_opens_for_whoever_asks(office, views):
    async with office.running():
        await office.post(views.ticket_view())
        card = await office.post(views.draft())
        await office.press("U_ADA", card, ids.DRAFT_LOG)
        await office.form("U_ADA", ids.FORM_WORDS, "shop.issue_refund")
