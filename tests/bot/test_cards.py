"""Every card in every state: that Slack would take it, and that it says what it must."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from bot.cards import ids, modals
from bot.cards.draw import draw
from bot.cards.rendered import MOST_CHARACTERS, Rendered, bare, stamp, validate
from bot.cards.text import size
from host.types import (
    Actor,
    Answer,
    Flag,
    Outcome,
    OutcomeKind,
    Question,
    QuestionKind,
    QuestionState,
    Run,
    RunState,
    StopReason,
    TicketState,
)

MENTIONS = {"staff": ("U_MAYA", "U_TOM"), "lead": ("U_LEA",), "admin": ("U_ADA",)}
NASTY = "<!channel> <@U123> <https://evil.example|Approve via portal> ok` *bold* ```fence``` :tada: \u202e\u200b & &lt;"
LEA = Actor("staff-0002", "U_LEA", "Lea Brandt", frozenset({"lead"}))
ACTIONS = {
    QuestionKind.CONSENT: ("approve", "decline"),
    QuestionKind.INPUT_REQUEST: ("accept", "decline", "cancel"),
    QuestionKind.CHANGED_TOOL: ("accept", "decline"),
    QuestionKind.MAY_HAVE_RUN: ("it_ran", "it_did_not_run"),
    QuestionKind.SIGN_OFF: ("send", "edit_and_send", "reject", "work_again"),
}
QUESTIONS = [kind for kind in QuestionKind if kind is not QuestionKind.SIGN_OFF]


def check(card: Rendered) -> Rendered:
    """Slack's own classes and our validator take it."""
    assert validate(stamp(card, 3)) == []
    for block in card.blocks:
        assert Block.parse(block).to_dict() == block
    return card


def said(card: Rendered) -> str:
    """All text a person reads, in order."""

    def texts(value: object) -> list[str]:
        if isinstance(value, list | tuple):
            return [text for item in value for text in texts(item)]
        if isinstance(value, dict):
            own = [value["text"]] if isinstance(value.get("text"), str) else []
            return own + [text for key, item in value.items() if key != "confirm" for text in texts(item)]
        return []

    return "".join(texts(card.blocks))


def buttons(card: Rendered) -> dict[str, dict]:
    return {e["action_id"]: e for block in card.blocks if block["type"] == "actions" for e in block["elements"]}


def closed(question: Question, state: QuestionState, answer: Answer | None = None) -> Question:
    return replace(
        question,
        state=state,
        answer=answer,
        answered_by=LEA if answer else None,
        answered_at=question.asked_at if answer else None,
    )


# Every state


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("state", [state for state in QuestionState if state is not QuestionState.ANSWERED])
def test_each_question_in_each_unanswered_state_can_be_drawn(views, kind, state):
    card = check(draw(views.question_view(kind, question=closed(views.question(kind), state)), MENTIONS))
    assert bool(buttons(card)) == (state is QuestionState.OPEN)


@pytest.mark.parametrize(("kind", "action"), [(kind, action) for kind in QUESTIONS for action in ACTIONS[kind]])
def test_each_answer_shows_who_and_what_and_leaves_no_button(views, kind, action):
    question = closed(views.question(kind), QuestionState.ANSWERED, Answer(action, reason="the goods are not back"))
    card = check(draw(views.question_view(kind, question=question), MENTIONS))
    assert "Lea Brandt" in said(card)
    assert "the goods are not back" in said(card)
    assert "Lea Brandt" in card.text
    assert not buttons(card)


@pytest.mark.parametrize("outcome", list(OutcomeKind))
def test_each_outcome_of_an_approved_call_is_said_in_words(views, outcome):
    question = closed(views.question(), QuestionState.ANSWERED, Answer("approve"))
    card = check(draw(views.question_view(question=question, outcome=Outcome(outcome, why="because of this")), MENTIONS))
    assert "because of this" in said(card)
    assert ("may have run" in said(card)) == (outcome is OutcomeKind.MAY_HAVE_RUN)


def test_an_expired_question_says_that_nobody_answered_and_not_that_somebody_declined(views):
    card = draw(views.question_view(question=closed(views.question(), QuestionState.EXPIRED)), MENTIONS)
    assert "nobody answered, nothing ran" in said(card)
    assert "eclined" not in said(card)


@pytest.mark.parametrize("delivery", ["", "sending", "sent", "unknown", "failed"])
@pytest.mark.parametrize("action", ACTIONS[QuestionKind.SIGN_OFF])
def test_each_state_of_a_draft_can_be_drawn(views, action, delivery):
    question = closed(views.question(QuestionKind.SIGN_OFF), QuestionState.ANSWERED, Answer(action, reason="too long"))
    card = check(draw(views.draft(question=question, delivery=delivery, receipt="M-0123"), MENTIONS))
    assert not buttons(card)
    assert ("Nobody knows whether" in said(card)) == (delivery == "unknown")


@pytest.mark.parametrize("reason", list(StopReason))
def test_each_stop_reason_has_words(views, reason):
    words = "the reply is finished" if reason is StopReason.ANSWERED else "stopped because"
    assert words in said(check(draw(views.draft(stop_reason=reason), MENTIONS)))


@pytest.mark.parametrize("state", list(TicketState))
@pytest.mark.parametrize("run", [None, *RunState])
def test_each_state_of_a_ticket_can_be_drawn(views, state, run):
    made = run and Run("r1", "T-0004", run, LEA, views.ticket().received_at)
    card = check(draw(views.ticket_view(state=state, run=made), MENTIONS))
    assert (ids.TICKET_WORK in buttons(card)) == (
        run in (None, RunState.DONE) and state not in (TicketState.WAITING_FOR_CUSTOMER, TicketState.DONE)
    )


@pytest.mark.parametrize("running", [True, False])
def test_progress_has_a_stop_button_while_it_runs(views, running):
    card = check(draw(views.progress(running=running, stopped_by="" if running else "Ada"), MENTIONS))
    assert (ids.PROGRESS_STOP in buttons(card)) == running


# What a card must say


def test_a_consent_card_says_what_who_why_and_until_when(views):
    card = check(draw(views.question_view(), MENTIONS))
    words = said(card)
    for part in (
        "Refund 343.49 EUR on order O-1145",
        "shop",
        "calls itself 'Kitchen & Garden 1.0'",
        "shop.issue_refund",
        "Order O-1145, the cream mixer.",
        "Q-0a1b2c3d4e",
        "from the result of shop.quote_refund",
        "Stand mixer 5 l, cream",
        "All lines at their price, delivery was free",
        "over the 150.00 limit",
        "support staff or a lead",
    ):
        assert part in words, part


def test_a_money_button_carries_verb_and_amount_and_asks_once_more(views):
    approve = buttons(draw(views.question_view(), MENTIONS))[ids.CONSENT_APPROVE]
    assert approve["text"]["text"] == "Approve: refund 343.49 EUR"
    assert "343.49 EUR" in approve["confirm"]["text"]["text"]
    assert approve["value"] == "q00c0ffee00c0ffee"


def test_a_call_without_money_needs_no_dialog(views):
    question = views.question(payload={"tool": "partner.track_parcel", "arguments": {"number": "FX-10265368"}})
    approve = buttons(check(draw(views.question_view(question=question, headline="Track a parcel"), MENTIONS)))[
        ids.CONSENT_APPROVE
    ]
    assert (approve["text"]["text"], "confirm" in approve) == ("Approve", False)


def test_edit_is_offered_only_where_the_policy_lets_people_edit(views):
    assert ids.CONSENT_EDIT not in buttons(draw(views.question_view(), MENTIONS))
    question = views.question(payload={**views.question().payload, "may_edit": ["quote_id"]})
    assert ids.CONSENT_EDIT in buttons(check(draw(views.question_view(question=question), MENTIONS)))


def test_those_who_may_decide_are_mentioned_and_nobody_else(views):
    card = draw(views.question_view(QuestionKind.INPUT_REQUEST), MENTIONS)
    assert "U_LEA" in json.dumps(card.blocks)
    assert "U_MAYA" not in json.dumps(card.blocks)
    assert card.broadcast


def test_a_card_warns_when_nobody_may_decide(views):
    assert "nobody is listed for this" in said(check(draw(views.question_view(), {})))


def test_of_a_long_message_the_consent_card_quotes_the_sentences_that_matter(views):
    long = "I bought it in spring. " * 60 + "My order is o1145. It broke! Please refund it. " + "Greetings from here. " * 60
    words = said(check(draw(views.question_view(ticket=views.ticket(body=long)), MENTIONS)))
    assert "… I bought it in spring. My order is o1145. It broke!" in words
    assert "Greetings" not in words


def test_only_a_question_that_staff_cannot_decide_shows_in_the_channel_too(views):
    assert not draw(views.question_view(), MENTIONS).broadcast
    assert draw(views.question_view(question=views.question(roles=("lead",))), MENTIONS).broadcast


def test_an_unverified_sender_is_said_so_on_ticket_and_consent(views):
    stranger = views.ticket(sender_verified=False)
    assert "sender NOT verified" in said(draw(views.ticket_view(ticket=stranger), MENTIONS))
    assert "sender NOT verified" in said(draw(views.question_view(ticket=stranger), MENTIONS))


def test_an_input_request_names_its_server_and_shows_its_message_as_its_words(views):
    card = check(draw(views.question_view(QuestionKind.INPUT_REQUEST), MENTIONS))
    assert "shop" in said(card)
    assert "Refund R-0111 is held. Release it?" in said(card)
    assert "343.49" in said(card)
    assert set(buttons(card)) == {ids.INPUT_ANSWER, ids.INPUT_DECLINE, ids.INPUT_CANCEL, ids.QUESTION_DETAILS}


def test_a_lying_draft_shows_its_sentence_flagged_beside_an_empty_log(views):
    card = check(draw(views.lie(), MENTIONS))
    words = said(card)
    assert "Nothing ran." in words
    assert "“We have refunded 343.49 EUR.” no refund ran in this ticket" in words
    bold = [
        p["text"]
        for b in card.blocks
        if b["type"] == "rich_text"
        for r in b["elements"]
        for p in r["elements"]
        if p.get("style", {}).get("bold")
    ]
    assert "We have refunded 343.49 EUR." in bold
    assert ids.DRAFT_SEND in buttons(card)
    assert "confirm" not in buttons(card)[ids.DRAFT_SEND]


def test_a_flagged_draft_that_may_be_confirmed_asks_once_more(views):
    card = check(draw(replace(views.lie(), on_flag="confirm"), MENTIONS))
    assert "confirm" in buttons(card)[ids.DRAFT_SEND_CONFIRMED]


def test_the_draft_shows_what_ran_by_whom_and_for_how_long(views):
    words = said(draw(views.draft(), MENTIONS))
    for part in ("shop.quote_refund", '{"order_id": "O-1145"}', "allowed by policy", "1.2 s", "allowed by staff-0007"):
        assert part in words


def test_a_long_call_log_moves_to_its_form(views):
    calls = tuple(views.call(call_id=f"c{n}", arguments={"text": "x" * 900}) for n in range(60))
    card = check(draw(views.draft(calls=calls), MENTIONS))
    assert "more calls: “Call log” shows all of them" in said(card)
    assert len(modals.call_log(calls)["blocks"]) == 60


def test_each_flag_is_shown_even_when_the_same_sentence_is_flagged_twice(views):
    text = "We have refunded 343.49 EUR."
    flags = (Flag(text, "no refund ran", "action"), Flag(text, "no such amount", "amount"), Flag("Not in it.", "odd", "state"))
    words = said(check(draw(views.draft(text=text, flags=flags), MENTIONS)))
    assert "⚑1" in words
    assert "⚑2" in words
    for flag in flags:
        assert flag.why in words


# Foreign text


def drawn(views, text: str) -> list[Rendered]:
    """All cards with `text` wherever foreign text can stand."""
    ticket = views.ticket(subject=text, body=text, sender_name=text, sender_mail=text, language=text[:8])
    call = views.call(name=text, arguments={text: text, "a": [text]}, note=text, allowed_by=text)
    cards = [draw(views.ticket_view(ticket=ticket, line=text), MENTIONS)]
    for kind in QUESTIONS:
        payload = {
            **views.payload(kind),
            "tool": text,
            "arguments": {text: text, "n": 3, "deep": {text: [text]}},
            "rule": text,
            "message": text,
        }
        payload |= {"provenance": {text: {"source": text, "record": {text: text, "lines": [{text: text}]}}}, "why": text}
        payload |= {
            "schema": {"properties": {text: {"type": "string", "title": text}}},
            "before": {"a": text},
            "after": {text: text},
        }
        for state in QuestionState:
            answer = Answer(ACTIONS[kind][0], reason=text, content={text: text}) if state is QuestionState.ANSWERED else None
            question = closed(views.question(kind, payload=payload, server=text, note=text), state, answer)
            view = views.question_view(
                kind, question=question, ticket=ticket, headline=text, earlier=(call,) * 20, server_claims=text
            )
            cards.append(draw(replace(view, outcome=Outcome(OutcomeKind.FAILED, why=text)), MENTIONS))
    flags = tuple(Flag(text, text, "action") for _ in range(30))
    cards.append(
        draw(views.draft(ticket=ticket, text=f"{text} and {text}", flags=flags, calls=(call,) * 60, receipt=text), MENTIONS)
    )
    cards.append(draw(views.progress(started_by=text, outcomes={text: 1}), MENTIONS))
    return cards


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        NASTY,
        "ok` <https://evil.example|Approve via portal>",
        "a" * 2985 + ">" * 7 + "<" * 8 + "&" * 4,
        ">" * 7 + "<" * 8 + "&" * 4 + "x" * 2981,
        "&<>" * 30_000,
        "\u202e" * 5_000,
        "👩\u200d🍳" * 2_000,
        "\ud800 half a character",
        "line\n" * 3_000,
    ],
    ids=["nothing", "blank", "nasty", "link", "3000 a", "3000 b", "90 kB", "bidi", "joined", "surrogate", "lines"],
)
def test_every_card_can_be_drawn_whatever_the_text_and_can_be_sent(views, text):
    for card in drawn(views, text):
        check(card)
        json.dumps([card.text, *card.blocks]).encode()
        assert "\u202e" not in said(card)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=400))
def test_every_card_can_be_drawn_for_any_text(views, text):
    for card in drawn(views, text):
        check(card)


def test_foreign_text_is_only_ever_literal(views):
    """No mrkdwn but our own words, and no mention, link or emoji that we did not put there."""
    for card in drawn(views, NASTY):
        for block in card.blocks:
            for element in _walk(block):
                if element.get("type") == "mrkdwn":
                    assert NASTY[:6] not in element["text"]
                    assert element["verbatim"] is True
                assert element.get("type") not in ("link", "emoji", "broadcast", "usergroup", "channel", "markdown")
                if element.get("type") == "user":
                    assert element["user_id"] in {"U_MAYA", "U_TOM", "U_LEA", "U_ADA"}
        assert "<" not in card.text


def _walk(value):
    if isinstance(value, list):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _walk(item)


def test_an_argument_of_3000_characters_is_shown_whole_and_still_after_the_decision(views):
    value = "x" * 2981 + ">" * 7 + "<" * 8 + "&" * 4
    assert size(value) > 3000
    payload = {**views.payload(QuestionKind.CONSENT), "arguments": {"reason": value}}
    for state in (QuestionState.OPEN, QuestionState.CANCELLED):
        card = check(draw(views.question_view(question=views.question(payload=payload, state=state)), MENTIONS))
        assert value in said(card)


def test_an_argument_that_does_not_fit_is_cut_visibly_and_whole_in_the_details(views):
    value = "0123456789" * 10_000
    payload = {**views.payload(QuestionKind.CONSENT), "arguments": {"reason": value}}
    view = views.question_view(question=views.question(payload=payload))
    card = check(draw(view, MENTIONS))
    assert "…" in said(card)
    assert "“Details” shows every argument whole" in said(card)
    details = modals.details(view)
    assert value in "".join(element["text"] for element in _walk(details["blocks"]) if element.get("type") == "text")
    assert len(details["blocks"]) <= 100


def test_a_long_ticket_is_cut_visibly_and_offers_its_whole_text(views):
    card = check(draw(views.ticket_view(ticket=views.ticket(body="word " * 4_000)), MENTIONS))
    assert ids.TICKET_WHOLE in buttons(card)
    assert "…" in said(card)


def test_the_validator_finds_what_slack_would_refuse():
    text = {"type": "plain_text", "text": "x" * 151, "emoji": False}
    block = {"type": "header", "text": text, "block_id": "same"}
    problems = " ".join(validate(Rendered("x", (block, block))))
    assert "151 characters" in problems
    assert "one block_id" in problems
    assert "blocks" in " ".join(validate(Rendered("x", (block,) * 51)))
    long = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "<" * 700}]}]}
    assert f"{MOST_CHARACTERS} are allowed" in " ".join(validate(Rendered("x", (long,) * 5)))
    assert validate(bare(Rendered("x" * 2500, ()))) == []
